"""Import contracts: every package is in them by name, new files are covered, and generic code stays apart."""

import re
import tomllib
from collections import Counter
from pathlib import Path
from types import ModuleType

from tests.helpers.public_interface import public_modules

import linkwork
from helpers.source_imports import SOURCE, imports_of, modules, tables
from linkwork import formats, geometry, kernels, model

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
PURE_ROOMS = {"spatial", "joints", "shapes", "geometry", "constraints", "force_elements", "model", "formats", "expr"}
LOWEST = {"_util", "errors", "robots"}
ATTACHMENTS = (
    *("viewer", "workspace", "environments", "identify", "cli", "interop", "compare"),
    *("formats.mjcf", "formats.sdf", "formats.usd"),
)
FACES = (formats, formats.description, geometry, kernels, model)  # public names for extensions
NOT_PUBLIC = Path(__file__).parent / "golden" / "attachment_imports.txt"


def contracts():
    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def is_pure(module):
    """Return True for modules of text over any scalar."""
    parts = module.split(".")[1:]
    folders = ("algorithms" in parts[1:2], parts[:2] == ["ik", "tasks"], parts[:2] == ["optimal", "features"])
    return parts[0] in PURE_ROOMS or any(folders)


def imports():
    """Pairs of a module and what it imports."""
    for name, path in modules().items():
        yield from ((name, f"{module}.{member}".rstrip(".")) for module, member in imports_of(path))


def attachment(name):
    """Return the attachment that contains a module or a name of it, or None."""
    return next((room for room in ATTACHMENTS if f"{name}.".startswith(f"linkwork.{room}.")), None)


def test_packages_of_the_mechanics_shelf_import_no_attachments():
    """Tables of public names import them at first access, and the list of a robot's methods for type checkers."""
    exempt = {*tables(), "linkwork.robot.robot_methods", "linkwork.__main__"}
    arrows = [(a, b) for a, b in imports() if attachment(b) and not attachment(a)]
    assert {a for a, _ in arrows} >= {"linkwork", "linkwork.robot.robot_methods"}
    assert [(a, b) for a, b in arrows if a not in exempt] == []


def test_attachment_packages_import_public_names_only(update_golden):
    """The list of imports that are not public only becomes shorter; `--update-golden` removes lines."""
    modules = public_modules() | {module.__name__: module for module in FACES}
    public = {f"{title}.{name}" for title, module in modules.items() for name in module.__all__}
    imported = set()
    for a, b in imports():
        room, is_public = attachment(a), b in public or b in modules or not b.startswith("linkwork.")
        package_names = f"linkwork.{room.split('.')[0]}." if room else ""
        if room and not (is_public or attachment(b) or b.startswith(("linkwork._util.", package_names))):
            imported.add(f"{room}: {b}")
    known = set(NOT_PUBLIC.read_text(encoding="utf-8").splitlines())
    assert sorted(imported - known) == [], "import a public name"
    if update_golden:
        NOT_PUBLIC.write_text("".join(f"{line}\n" for line in sorted(imported)), encoding="utf-8")
    assert imported == known or update_golden, "python -m pytest tests/test_contracts.py --update-golden removes lines"


def test_no_two_public_classes_have_the_same_name():
    """Only an ellipsoid may be a joint and a shape, as in textbooks; all other names are unique."""
    modules = [getattr(linkwork, name) for name in linkwork.__all__ if isinstance(getattr(linkwork, name), ModuleType)]
    members = {getattr(m, name) for m in (linkwork, *modules) for name in m.__all__}
    names = Counter(member.__name__ for member in members if isinstance(member, type))
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == ["Ellipsoid"] and names["Ellipsoid"] == 2


def test_all_packages_are_in_import_contracts():
    layered = [contract for contract in contracts() if contract["type"] == "layers"]
    assert [(c["containers"], c["exhaustive"]) for c in layered] == [(["linkwork"], True)]
    rooms = {p.stem for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()} - {"__init__"}
    assert {name for layer in layered[0]["layers"] for name in layer.split() if name not in "|:"} == rooms
    named = [
        m for contract in contracts() for key in ("source_modules", "forbidden_modules") for m in contract.get(key, ())
    ]
    package_names = [m for m in named if m.startswith("linkwork.")]
    assert package_names and all(m.endswith(".**") or m.count(".") == 1 for m in package_names), (
        "a contract lists files"
    )


def test_code_generic_over_scalars_imports_only_code_generic_over_scalars():
    imports_seen = [(a, b) for a, b in imports() if b.startswith("linkwork.") and a != "linkwork" and is_pure(a)]
    assert len(imports_seen) > 1000
    assert [(a, b) for a, b in imports_seen if not is_pure(b) and b.split(".")[1] not in LOWEST] == []


def test_code_generators_are_imported_only_by_the_backend():
    """Outside of `codegen`, nobody imports it but for types of numbers, processors and the backend."""
    writers = "linkwork.compiler.codegen."
    outside = [(a, b) for a, b in imports() if b.startswith(writers) and not f"{a}.".startswith(writers)]
    doors = ("float_type", "target", "cpu_backend")
    assert [(a, b) for a, b in outside if b.split(".")[3] not in doors] == []
    assert {a for a, b in outside if b.split(".")[3] == "cpu_backend"} == {"linkwork.compiler.backends"}
    assert {a for a, b in imports() if b.startswith("llvmlite") and not f"{a}.".startswith(writers)} <= {
        "linkwork.compiler.runtime.threads"  # LLVM's lock, which is also a lock of the process
    }


def test_only_two_files_request_compilation_before_calls():
    """Planners declare their kernels; the controller, and precompilation, request their code."""
    importers = {(a, b.rpartition(".")[2]) for a, b in imports() if b.startswith("linkwork.kernels.compiler_api.make_")}
    assert {pair for pair in importers if pair[1].endswith("ready")} == {
        ("linkwork.control.mpc.mpc", "make_call_ready"),
        ("linkwork.precompilation", "make_ready"),
    }


def test_no_test_is_skipped_because_linkwork_cannot_be_imported():
    files = Path(__file__).parent.rglob("*.py")
    assert not [file.name for file in files if re.search(r"importorskip\(\s*.linkwork", file.read_text("utf-8"))]
