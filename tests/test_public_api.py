"""Public names and their signatures, recorded in a file that is reviewed when it changes; and imported modules.

Public modules are found from `linkwork.__all__`.  A class lists its own members and names its public bases, whose
members stand with these; a class that several modules publish stands with the innermost of them.

`python -m pytest tests/test_public_api.py --update-golden` writes the file anew.
"""

import inspect
import pickle
import re
import subprocess
import sys
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from tests.helpers.public_interface import Field, all_members, own_members, public_classes, public_modules

import linkwork
from linkwork._util.result import ReturnedValue

GOLDEN = Path(__file__).parent / "golden" / "public_api.txt"
MODULES = public_modules()
CLASSES = public_classes()
SPECIAL = ("__init__", "__call__")
HEAVY = ("scipy", "jax", "torch", "casadi", "pinocchio", "mujoco", "rich", "pytest", "matplotlib", "gymnasium")


def called(function):
    """Return a function's signature: parameters by name and kind, with defaults that are plain values.

    Annotations are left out: how a type is spelled is nobody's interface.
    """
    signature = inspect.signature(function)
    blank = [p.replace(annotation=p.empty, default=shown(p.default)) for p in signature.parameters.values()]
    return str(signature.replace(parameters=blank, return_annotation=signature.empty))


def named(function):
    """Return the names of a function's parameters, without ``*args`` and ``**options``."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)} - {"self", "cls"}


def shown(default):
    """A default as the file has it: plain values as they are, others by their type."""
    plain = default is inspect.Parameter.empty or isinstance(default, (bool, int, float, str, tuple, type(None)))
    return default if plain else type(default)


def described(name, value):
    """A line for a name: what it is, and how it is called."""
    if isinstance(value, (property, cached_property)):
        return f"{name}: property"
    if isinstance(value, (staticmethod, classmethod)):
        return described(name, value.__func__)
    if value is Field:
        return f"{name}: field"
    if inspect.isclass(value):
        return f"class {name}({', '.join(bases(value))})".removesuffix("()")
    if inspect.isroutine(value):
        return f"{name}{called(value)}"
    if inspect.ismodule(value):
        return f"module {name}"
    return f"{name}: attribute" if inspect.ismemberdescriptor(value) else f"{name}: {type(value).__name__}"


def bases(cls):
    """The nearest public bases of a class, by their full names, and those that are not of linkwork."""
    results = []
    for base in cls.__bases__:
        if base in CLASSES:
            results.append(f"{CLASSES[base]}.{base.__name__}")
        elif base.__module__.startswith("linkwork"):
            results += bases(base)
        elif base is not object:
            results.append(base.__name__)
    return list(dict.fromkeys(results))


def members(result):
    """The public attributes among those of a class, without a constructor that refuses to construct."""
    public = {name: value for name, value in result.items() if not name.startswith("_") or name in SPECIAL}
    return {name: value for name, value in public.items() if value is not ReturnedValue.__init__}


def public_api():
    lines = []
    for title, module in MODULES.items():
        lines.append(f"[{title}]")
        assert len(set(module.__all__)) == len(module.__all__)
        for name in sorted(module.__all__):
            value = getattr(module, name)
            home = CLASSES.get(value, title) if inspect.isclass(value) else title
            lines.append(described(name, value) if home == title else f"class {name}: {home}.{value.__name__}")
        lines.append("")
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if inspect.isclass(value) and CLASSES[value] == title:
                lines.append(f"[{title}.{name}]")
                lines += sorted(described(*item) for item in members(own_members(value, CLASSES)).items())
                lines.append("")
    return "\n".join(lines)


def test_dir_of_modules_lists_public_names_only():
    for module in MODULES.values():
        optional = ["environments"] if module is linkwork else []  # which needs gymnasium: ``import *`` leaves it out
        assert dir(module) == sorted([*module.__all__, *optional]), module.__name__


def test_public_interface_equals_the_golden_file(update_golden):
    result = public_api()
    if update_golden:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(result, encoding="utf-8")
    hint = "python -m pytest tests/test_public_api.py --update-golden writes the new one"
    assert result.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines(), hint


def test_every_public_name_has_a_docstring():
    for title, module in MODULES.items():
        assert module.__doc__, title
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                assert inspect.getdoc(value), f"{title}.{name}"
    for cls in (linkwork.Robot, linkwork.Kernel, linkwork.Joint):
        for name, value in members(all_members(cls)).items():
            if isinstance(value, property) or inspect.isroutine(value):
                assert inspect.getdoc(value) or name in (*SPECIAL, "name"), f"{cls.__name__}.{name}"


def test_public_classes_have_their_public_module_path():
    assert {f"{kind.__module__}.{kind.__name__}" for kind in CLASSES} == {
        f"{title}.{kind.__name__}" for kind, title in CLASSES.items()
    }
    for kind in CLASSES:
        assert pickle.loads(pickle.dumps(kind)) is kind
        with suppress(OSError):  # of a class whose module does not define it
            assert f"class {kind.__name__}" in inspect.getsource(kind)


def test_pickles_of_earlier_versions_are_loaded_after_modules_moved():
    assert pickle.loads(b"clinkwork.parts.joint.joint\nJoint\n.") is linkwork.Joint
    assert pickle.loads(b"clinkwork.ik.ik_problem\nIKProblem\n.") is linkwork.ik.IKProblem
    assert pickle.loads(b"clinkwork.robot\nRobot\n.") is linkwork.Robot


def test_importing_linkwork_imports_no_heavy_libraries():
    code = f"import sys, linkwork; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_loading_a_robot_and_computing_imports_no_heavy_libraries():
    code = (
        "import sys, linkwork; robot = linkwork.load('double_pendulum'); robot.mass_matrix(robot.neutral());"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_parameter_is_explained_in_its_docstring():
    silent = set()
    for position in (*MODULES.values(), *CLASSES):
        for name in position.__all__ if inspect.ismodule(position) else dir(position):
            value = getattr(position, name, None) if not name.startswith("_") or name in SPECIAL else None
            is_function = inspect.isfunction(value) or inspect.ismethod(value)
            if is_function and value.__name__ == name and value.__module__.startswith("linkwork"):
                doc = f"{position.__doc__} {value.__doc__}" if name == "__init__" else inspect.getdoc(value) or ""
                silent |= {(value.__qualname__, parameter) for parameter in named(value) - {*re.findall(r"\w+", doc)}}
    assert silent == set()
