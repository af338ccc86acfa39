"""docs/reference.md: the tables of functions, a method for each, and all other published names.

`python -m pytest tests/kernels/test_reference_page.py --update-golden` writes them anew.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.helpers.public_interface import Field

import linkwork as lw
from linkwork._util.foreign_names import ForeignName
from linkwork._util.lazy_imports import LazyAttribute
from linkwork.dynamics.base_parameters import BaseParameters
from linkwork.kinematics.algorithms.joint_functions import TABLE as JOINT
from linkwork.kinematics.point_methods import PlacedDirection, PlacedPoint
from linkwork.mechanisms.integrability import Integrability
from linkwork.mechanisms.mobility.minimal_coordinates import MinimalCoordinates
from linkwork.mechanisms.mobility.mobility_analysis import Mobility
from linkwork.model.function_spec import QUANTITIES, FunctionSpec, Shape
from linkwork.robot.placed_link import PlacedLink
from linkwork.robot.robot_table import ROBOT

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
BEGIN = "## "
MORE = (
    ("Robots: other methods and properties", lw.Robot, ROBOT),
    ("Joints: other methods and properties", lw.Joint, JOINT),
    ("Links to build with, `linkwork.Link`", lw.Link, {}),
    ("Links of a robot, `robot.links`", PlacedLink, {}),
    ("Points of a robot, `robot.points`", PlacedPoint, {}),
    ("Directions of a robot, `robot.directions`", PlacedDirection, {}),
    ("Kernels", lw.Kernel, {}),
    ("Scenes, `linkwork.Scene`", lw.Scene, {}),
    ("Result of `Robot.base_parameters`", BaseParameters, {}),
    ("Result of `Robot.integrability`", Integrability, {}),
    ("Result of `Robot.mobility`", Mobility, {}),
    ("Minimal coordinates: result of `Robot.minimal_coordinates`", MinimalCoordinates, {}),
    ("Reports of checks, `linkwork.ContractReport`", lw.ContractReport, {}),
)
COLUMNS = "| method | takes | gives | units | |\n|---|---|---|---|---|\n"


def shaped(name: str, shape: Shape) -> str:
    return f"{name} ({', '.join(['...', *map(str, shape)])})".strip()


def line(row: FunctionSpec) -> str:
    takes = [shaped(name, QUANTITIES[name].shape) for name in row.inputs]
    takes += [f"[{shaped(name, QUANTITIES[name].shape)}]" for name in row.optional]
    takes += [f"[{name}]" for name in row.wrench_arguments]
    takes += [option.name if option.required else f"[{option.name}]" for option in row.options]
    more = (
        [replace(row.per_wrench_output, name=f"{row.per_wrench_output.name}wrench_<frame>")]
        if row.per_wrench_output
        else []
    )
    outputs = [*row.outputs, *more]
    gives = ", ".join(shaped(output.name, output.shape) for output in outputs)
    units = "; ".join(dict.fromkeys(output.units for output in row.outputs if output.units))
    return f"| `{row.name}` | {', '.join(takes)} | {gives} | {units} | {row.doc} |\n".replace("|  |", "| |")


SUBJECTS = ("constraint_rows", "jacobians", "joint_functions", "point_kinematics", "regressors")
"""Modules of algorithms that are a subject of their own."""


def part(title: str, rows: Mapping[str, FunctionSpec]) -> str:
    """Return the entries of a table by subject: the package of their algorithms, or a module of its own."""
    text, subject = f"{BEGIN}{title}\n", ""
    for row in rows.values():
        package, _, module = row.compute.__module__.rpartition(".")
        submodule = f"{package}.{module}" if module in SUBJECTS else package
        if submodule != subject:
            subject = submodule
            says = (inspect.getdoc(importlib.import_module(submodule)) or "").split("\n")[0]
            text += f"\n{says}\n\n{COLUMNS}"
        text += line(row)
    return text


def says(text: str | None) -> str:
    """The first sentence of a docstring, or its first line where that is shorter, as a cell of a table."""
    line = (text or "").split("\n")[0]
    sentence = line.split(".  ")[0]
    return (sentence if sentence.endswith("...") else sentence.removesuffix(".")).replace("``", "`").replace("|", "\\|")


def names(title: str, members: Mapping[str, Any], kind: str = "name") -> str:
    """Return a table of names with their docstrings, and a line of plain values."""
    documented = {name: says(inspect.getdoc(value)) for name, value in members.items() if not is_plain(value)}
    rows = "".join(f"| `{name}` | {text} |\n" for name, text in documented.items())
    values = ", ".join(f"`{name}`" for name, value in members.items() if is_plain(value))
    more = f"\nFurther attributes and constants are {values}.\n" if values else ""
    return f"\n{BEGIN}{title}\n\n| {kind} | |\n|---|---|\n{rows}{more}"


def is_plain(value: Any) -> bool:
    """Return True for a field or a tuple, which has no docstring of its own."""
    return inspect.ismemberdescriptor(value) or isinstance(value, tuple) or value is Field


def other_members(kind: type, rows: Mapping[str, FunctionSpec]) -> dict[str, Any]:
    """Return the public members of a class that are in no table of functions."""
    fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    every = sorted({*dir(kind), *fields} - {*rows})
    members = {name: inspect.getattr_static(kind, name, Field) for name in every}
    members = {name: value.value() if isinstance(value, LazyAttribute) else value for name, value in members.items()}
    members = {
        name: value for name, value in members.items() if not (name.startswith("_") or isinstance(value, ForeignName))
    }
    return {name: getattr(value, "__func__", value) for name, value in members.items()}


def reference() -> str:
    tables = f"{part('Functions of a robot', ROBOT)}\n{part('Functions of a joint', JOINT)}"
    for title, kind, rows in MORE:
        tables += names(title, other_members(kind, rows), "method or property")
    types = {kind.__name__: kind for kind in lw.joints.ALL}
    tables += names("Joint types, `linkwork.joints`", types, "type")
    kinds = {
        kind.__name__: kind
        for kind in (lw.constraints.Constraint, lw.constraints.StateQuery, lw.constraints.Curve, *lw.constraints.ALL)
    }
    tables += names("Constraints, `linkwork.constraints`", kinds)
    elements = {kind.__name__: kind for kind in (lw.force_elements.ForceElement, *lw.force_elements.ALL)}
    tables += names("Force elements, `linkwork.force_elements`", elements)
    more = (
        ("Errors and warnings", lw.errors),
        ("Shapes", lw.shapes),
        ("Inertial parameters of a body", lw.parameters),
        ("Identification", lw.identify),
        ("Results of distances and collision checks", lw.collision),
        ("Values of kinematics", lw.kinematics),
        ("Values of dynamics", lw.dynamics),
        ("Results of mechanisms", lw.mechanisms),
        ("Values of joints and links", lw.parts),
    )
    for title, module in more:
        members = {name: getattr(module, name) for name in module.__all__}
        tables += names(f"{title}, `{module.__name__}`", members)
    return tables


def test_every_public_name_is_on_a_documentation_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted(PAGE.parent.glob("*.md")))
    words = set(re.findall(r"\w+", pages))
    modules = (lw, lw.errors, lw.expr, lw.identify, lw.joints, lw.parameters, lw.robots, lw.shapes)
    modules += (lw.collision, lw.dynamics, lw.kinematics, lw.mechanisms, lw.parts)
    published = {name for module in modules for name in module.__all__ if not name.startswith("__")}
    assert len(published) > 60 and published - words == set()


def test_reference_page_has_the_current_tables(update_golden: bool) -> None:
    text = PAGE.read_text(encoding="utf-8")
    head = text[: text.find(BEGIN)] if BEGIN in text else text
    if update_golden:
        PAGE.write_text(head + reference(), encoding="utf-8")
        return
    hint = "python -m pytest tests/kernels/test_reference_page.py --update-golden writes it anew"
    assert text[len(head) :] == reference(), hint


def test_every_entry_of_the_function_table_has_a_method() -> None:
    for owner, rows in ((lw.Robot, ROBOT), (lw.Joint, JOINT)):
        for name, row in rows.items():
            method = getattr(owner, name)
            taken = inspect.signature(method).parameters
            assert inspect.getdoc(method), name
            assert [*taken][1 : 1 + len(row.inputs)] == [*row.inputs], name
            assert {*row.optional, *(option.name for option in row.options)} <= {*taken}, name
