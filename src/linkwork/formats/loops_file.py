"""Loops files: loops, constraints, force elements, actuators, named configurations and frames next to a robot's file.

The page docs/robot_files.md describes their content.  They are read from JSON or YAML, and written as JSON.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any, cast

from linkwork._util.file_access import LOOPS, Budget
from linkwork._util.messages import quoted
from linkwork.constraints import Constraint, LoopJoint
from linkwork.errors import Findings, Issue, Location, ModelError
from linkwork.formats.actuation_entries import (
    actuator_entry,
    named_configuration_entry,
    read_actuator,
    read_named_configuration,
)
from linkwork.formats.constraint_entries import (
    EntryReader,
    constraint_entry,
    document_lines,
    element_entry,
    loop_entry,
)
from linkwork.formats.constructor_reader import PlainReader
from linkwork.formats.constructor_schema import plain
from linkwork.formats.data_values import Value
from linkwork.formats.file_reading import path_text, read_regular
from linkwork.formats.json_and_yaml import parse_json, parse_yaml
from linkwork.model.attached_constraints import attached
from linkwork.model.body import WORLD, Frame
from linkwork.model.composite_body import compose
from linkwork.model.description import Attachments, FrameDescription
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["BUDGET", "loops_text", "parse_loops", "read_loops", "with_loops", "with_loops_of_file"]


VERSION = 1
BUDGET = LOOPS
_YAML, _JSON = (".yaml", ".yml"), (".json",)


def read_loops(path: str | os.PathLike[str], *, budget: Budget = BUDGET) -> Attachments:
    """Return the content of a loops file: YAML if its name ends in .yaml or .yml, JSON if it ends in .json.

    Raises ModelError with all errors, the operating system's error if it cannot be read, and ImportError for YAML
    without PyYAML.
    """
    return _correct(_file_content(path, budget))


def parse_loops(
    text: str | bytes, *, source: str | None = None, form: str = "json", budget: Budget = BUDGET
) -> Attachments:
    """Return the content of a loops file from its text, in ``form`` "json" or "yaml".  Raises ModelError."""
    return _correct(_content(text, source, form, budget))


def with_loops_of_file(
    tree: Tree, path: str | os.PathLike[str], *, budget: Budget = BUDGET, strict: bool = False
) -> Tree:
    """Return the tree with the content of a loops file.

    Raises ModelError with all errors of the file, those of names that the tree does not have among them, and the errors
    of `read_loops`.
    """
    return attached(tree, _file_content(path, budget), strict=strict)


def with_loops(tree: Tree, document: str | bytes | os.PathLike[str], form: str = "json") -> Tree:
    """Return the tree with the content of a loops file, a text in ``form`` "json" or "yaml" or the path of a file.

    A string is a path if it is a single line without a brace that ends like the name of a loops file.  Raises the
    errors of `with_loops_of_file`.
    """
    if isinstance(document, os.PathLike):
        return with_loops_of_file(tree, os.path.expanduser(document))
    if isinstance(document, str):
        line = document.strip()
        if "{" not in line and "\n" not in line and line.lower().endswith((*_YAML, *_JSON)):
            return with_loops_of_file(tree, os.path.expanduser(document))
    return attached(tree, _content(document, None, form, BUDGET))


def _correct(content: Attachments) -> Attachments:
    """Return the content of a file without errors.  Raises ModelError."""
    if content.errors:
        raise ModelError(content.errors)
    return content


def _file_content(path: str | os.PathLike[str], budget: Budget) -> Attachments:
    """Return the content of a loops file; errors of values are in its findings.

    Raises the other errors of `read_loops`.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"loops: expected the path of a file, got {path!r}")
    text = path_text(path)
    if text.lstrip().startswith(("{", "version:")):
        message = f"expected the path of a file, got its text ({quoted(text.lstrip())})"
        raise ModelError(Issue("NOT_A_PATH", message, hint="use Robot.with_loops_document for the text of a file"))
    ending = os.path.splitext(text)[1].lower()
    if ending not in (*_YAML, *_JSON):
        message = f"expected a loops file (.yaml, .yml or .json), got {quoted(os.path.basename(text))}"
        raise ModelError(Issue("WRONG_FORMAT", message, Location(text)))
    return _content(read_regular(path, budget), text, "json" if ending in _JSON else "yaml", budget)


def _content(text: Any, source: str | None, form: str, budget: Budget) -> Attachments:
    """Return the content of a loops file from its text; errors of values are in its findings.

    Raises ModelError if the document is not a loops file.
    """
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"loops: expected a string, got {text!r}")
    findings = Findings()
    root = (parse_yaml if form == "yaml" else parse_json)(text, source, findings, budget)
    result = _Document(PlainReader(source, findings)).read(root)
    return replace(result, errors=tuple(findings.errors))


class _Document:
    """Reader of the top-level keys and entries of a loops file; a `PlainReader` reads their values."""

    def __init__(self, reader: PlainReader) -> None:
        self.reader, self.entries = reader, EntryReader(reader)

    def read(self, root: Value) -> Attachments:
        reader = self.reader
        if not isinstance(root.content, dict):
            reader.error(root, "WRONG_FORMAT", f"expected an object with the keys {', '.join(_KEYS)}, got {root.kind}")
            reader.findings.raise_errors()
        if "version" not in root.content and not any(key in root.content for key in _KEYS):
            got = ", ".join(quoted(key) for key in [*root.content][:5]) or "none"
            hint = 'it begins with "version": 1'
            reader.error(
                root, "WRONG_FORMAT", f"expected a loops file, with keys {', '.join(_KEYS)}; got the keys {got}", hint
            )
            reader.findings.raise_errors()
        reader.known(root, _KEYS)
        self._version(root)
        return Attachments(
            frames=self.entries.each(root, "frames", self._frame),
            points=self.entries.each(root, "points", self.entries.point),
            directions=self.entries.each(root, "directions", self.entries.direction),
            constraints=(
                *self.entries.each(root, "loops", self.entries.loop),
                *self.entries.each(root, "constraints", self.entries.constraint),
            ),
            force_elements=self.entries.each(root, "force_elements", self.entries.element),
            actuators=self.entries.each(root, "actuators", partial(read_actuator, reader)),
            named_configurations=self.entries.each(
                root, "named_configurations", partial(read_named_configuration, reader)
            ),
        )

    def _version(self, root: Value) -> None:
        version = self.reader.required(root, "version")
        if version is not None and (isinstance(version.content, bool) or version.content != float(VERSION)):
            message = f"expected version {VERSION} of loops files, got {version.kind}"
            self.reader.error(version, "VERSION", message)

    def _frame(self, value: Value) -> FrameDescription:
        reader = self.reader
        reader.known(value, ("name", "on", "placement"))
        placement = value.content.get("placement")
        pose = reader.pose(placement) if placement is not None else Pose.identity()
        return FrameDescription(reader.text(value, "name"), reader.text(value, "on"), pose, reader.where(value))


_KEYS: Collection[str] = (
    *("version", "frames", "points", "directions", "loops", "constraints", "force_elements"),
    *("actuators", "named_configurations", "$schema"),
)


def loops_text(tree: Tree) -> str:
    """Return the text of a loops file, in JSON, for everything that was added to a robot's tree.

    It has the tree's constraints, force elements, actuators and named configurations, and the frames, points and
    directions that a user added. Adding them to the tree that lacks them, from this text, gives an equal tree. Raises
    TypeError for a constraint or force element that a file cannot represent, with its name.
    """
    document: dict[str, Any] = {
        "version": VERSION,
        "frames": [_frame(tree, frame) for frame in tree.frames if _is_added_frame(frame)],
        "points": [{"name": p.name, "on": p.frame, "xyz": [*p.position]} for p in tree.points],
        "directions": [{"name": d.name, "on": d.frame, "vector": [*d.vector]} for d in tree.directions],
    }
    constraints = _own_constraints(tree)
    first = next((i for i, c in enumerate(constraints) if not isinstance(c, LoopJoint)), len(constraints))
    document["loops"] = [loop_entry(c) for c in constraints[:first] if isinstance(c, LoopJoint)]
    document["constraints"] = [
        constraint_entry(c) for c in constraints[first:]
    ]  # including later loops, to preserve the order of equations
    document["force_elements"] = [element_entry(element) for element in tree.force_elements]
    document["actuators"] = [actuator_entry(actuator) for actuator in tree.actuators]
    document["named_configurations"] = [named_configuration_entry(state) for state in tree.named_configurations]
    lines = "\n".join(document_lines({key: value for key, value in document.items() if value}))
    return lines + "\n"


def _own_constraints(tree: Tree) -> list[Constraint]:
    """Return the constraints to write: all constraints except those that another constraint implies.

    Where an implied constraint was removed from the tree, the constraint that implies it is written with
    contact=False.
    """
    by_name = {c.name: c for c in tree.constraints}
    companions = {companion.name: companion for c in tree.constraints for companion in c.implied_constraints}
    constraints = [c for c in tree.constraints if companions.get(c.name) != c]
    for i, c in enumerate(constraints):
        if any(by_name.get(companion.name) != companion for companion in c.implied_constraints):
            constraints[i] = replace(cast(Any, c), contact=False)
    return constraints


def _is_added_frame(frame: Frame) -> bool:
    """Return True if a user added the frame; False for links, which have a joint or are a root."""
    return frame.fixed_joint is None and frame.welded_to is not None


def _frame(tree: Tree, frame: Frame) -> dict[str, Any]:
    """Return the data of a frame's entry: its pose relative to the frame that it was added to.

    If that does not reproduce the frame's placement exactly, the pose is relative to the body.
    """
    assert frame.welded_to is not None
    carrier = tree.frame(frame.welded_to)
    X = frame.placement if carrier.placement.is_identity else (carrier.placement.inv() @ frame.placement)
    on = carrier.name
    if compose(carrier.placement, X) != frame.placement:
        on, X = "world" if frame.body == WORLD else tree.bodies[frame.body].name, frame.placement
    result: dict[str, Any] = {"name": frame.name, "on": on}
    return result if X.is_identity else result | {"placement": plain(X, frame.name)}
