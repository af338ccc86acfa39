"""JSON Schemas of the pages: they accept all files that are written, and refuse the same broken ones as the readers."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from formats.test_cells import CELL
from formats.test_scene_files import drawn_entry, everything
from linkwork import shapes
from linkwork.errors import ModelError
from linkwork.formats import constructor_schema
from linkwork.joints import ALL
from linkwork.model.random_tree import random_tree

jsonschema = pytest.importorskip("jsonschema", reason="schemas are checked by jsonschema: pip install jsonschema")
referencing = pytest.importorskip("referencing")

OPEN = {"shape", "loops", "constraints", "force_elements", "joint", "q"}  # readers check arguments and joint names
DOCS = Path(__file__).parents[2] / "docs"


def validator(name: str) -> Any:
    """Return the validator of a schema, which is checked against JSON Schema's own."""
    files = {x.name: json.loads(x.read_text(encoding="utf-8")) for x in DOCS.glob("*.schema.json")}
    schema = files[f"{name}.schema.json"]
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    resources = [(x, referencing.Resource.from_contents(content)) for x, content in files.items()]
    return kind(schema, registry=referencing.Registry().with_resources(resources))


def assert_accepts(schema: Any, document: Any, name: str) -> None:
    errors = [f"{error.json_path}: {error.message}" for error in schema.iter_errors(document)]
    assert not errors, f"{name}: {errors[:3]}"


def robots() -> list[lw.Robot]:
    """Return bundled robots, and robots of all joint types with shapes."""
    drawn = [lw.Robot(random_tree(np.random.default_rng(k), 2 * len(ALL))) for k in range(3)]
    rough = replace(
        shapes.Box((0.1, 0.2, 0.3)).at((1, 0, 0)), friction=0.5, material=shapes.Material("a", None, "b.png")
    )
    boxed = lw.load("arm7").with_collisions("base", rough, shapes.Capsule(0.1, 0.2))
    return [*(lw.load(name) for name in lw.robots.names()), *drawn, boxed]


@pytest.mark.slow(every=5)
def test_schemas_of_robots_and_loops_accept_all_written_files(tmp_path: Path) -> None:
    of_robots, of_loops = validator("robot"), validator("loops")
    for robot in robots():
        path = tmp_path / "robot.json"
        robot.save(path)
        assert_accepts(of_robots, json.loads(path.read_text()), robot.name)
    bundled = sorted(Path(lw.robots.path("fourbar")).parent.glob("*.loops.json"))
    assert len(bundled) > 5
    for file in bundled:
        assert_accepts(of_loops, json.loads(file.read_text()), file.name)
    lw.load("stewart").to_urdf(tmp_path / "stewart.urdf", loops=tmp_path / "loops.json")
    assert_accepts(of_loops, json.loads((tmp_path / "loops.json").read_text()), "stewart")


def test_schemas_of_scenes_and_cells_accept_all_written_files(tmp_path: Path) -> None:
    of_scenes = validator("scene")
    everything().save(tmp_path / "scene.json")
    assert_accepts(of_scenes, json.loads((tmp_path / "scene.json").read_text()), "all shapes")
    rng = np.random.default_rng(2)
    entries = [drawn_entry(rng, k, 0.01, np.pi / 180.0) for k in range(40)]
    document = {"version": 1, "units": {"length": "cm", "angle": "deg"}, "obstacles": entries}
    assert_accepts(of_scenes, document, "drawn obstacles")
    assert_accepts(validator("cell"), CELL, "cell")


def changes(document: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """Return broken copies of a document: an unknown key or a value of another kind in each object and list.

    Each comes with the path of the change.
    """
    result = []

    def visit(path: tuple[Any, ...], value: Any) -> None:
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        if isinstance(value, dict):
            broken = copy.deepcopy(document)
            inside(broken, path)["no such key"] = 1
            result.append(((*path, "no such key"), broken))
        for key, content in entries:
            if len(path) < 4 and (not isinstance(key, int) or key == 0):
                broken = copy.deepcopy(document)
                inside(broken, path)[key] = [[["text"]]]
                result.append(((*path, key), broken))
                visit((*path, key), content)

    visit((), document)
    return result


def inside(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


@pytest.mark.parametrize("name", ["robot", "loops", "scene", "cell"])
def test_broken_files_are_refused_by_the_reader_and_by_the_schema(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    robot = lw.load("fourbar").with_named_configuration("home", lw.load("fourbar").assemble().q)
    robot.save(tmp_path / "fourbar.json")
    (tmp_path / "a.json").write_text((tmp_path / "fourbar.json").read_text())
    if name == "robot":
        document = json.loads((tmp_path / "fourbar.json").read_text())
        read = lw.load
    elif name == "loops":
        document = json.loads(Path(lw.robots.loops("fourbar")).read_text())

        def read(path: Path) -> Any:
            return lw.load(lw.robots.path("fourbar"), loops=path)
    elif name == "scene":
        document = {"version": 1, "obstacles": [drawn_entry(np.random.default_rng(1), k, 1.0, 1.0) for k in range(2)]}
        read = lw.load_scene
    else:
        document = {
            "cell": 1,
            "name": "c",
            "robots": [{"name": "a", "file": "a.json", "base": {"xyz": [0.1, 0.2, 0.3]}}],
        }
        read = lw.load
    schema, path = validator(name), tmp_path / f"broken_{name}.json"
    path.write_text(json.dumps(document))
    assert_accepts(schema, document, name)
    read(path)
    broken = changes(document)
    assert len(broken) > 8
    by_schema = 0
    for change, content in broken:
        is_refused = not schema.is_valid(content)
        by_schema += is_refused
        assert is_refused or OPEN.intersection(change[:-1]), f"the schema accepts {change}"
        path.write_text(json.dumps(content))
        with pytest.raises((ModelError, ValueError, TypeError), match=r"."):
            read(path)
    assert by_schema > 6


def test_arguments_of_a_constructor_are_its_named_parameters() -> None:
    def constructor(a: float, *more: float, b: int = 3, **options: str) -> None: ...

    assert [(x.name, x.hint, x.required, x.default) for x in constructor_schema.arguments(constructor)] == [
        ("a", float, True, None),
        ("b", int, False, 3),
    ]
