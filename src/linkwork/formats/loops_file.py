"""Loops files: loops, constraints, force elements, actuators, named configurations and frames next to a robot's file.

The page docs/robot_files.md describes their content.  They are read from JSON or YAML, and written as JSON.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

from linkwork._util.messages import did_you_mean, quoted
from linkwork.constraints import Constraint, LoopJoint
from linkwork.errors import Findings, Issue, Location, ModelError
from linkwork.force_elements import ForceElement
from linkwork.formats.actuation_entries import (
    actuator_entry,
    named_configuration_entry,
    read_actuator,
    read_named_configuration,
)
from linkwork.formats.constructor_reader import BOUNDS, RESISTING, PlainReader
from linkwork.formats.constructor_schema import (
    ELEMENTS,
    KINDS,
    TYPES,
    arguments,
    constructor_arguments,
    in_words,
    is_plain,
    plain,
)
from linkwork.formats.file_reading import path_text, read_regular
from linkwork.formats.json_and_yaml import Value, parse_json, parse_yaml
from linkwork.formats.xml_document import Budget
from linkwork.model.body import WORLD, Frame
from linkwork.model.composite_body import compose
from linkwork.model.description import (
    Attachments,
    ConstraintDescription,
    ForceElementDescription,
    FrameDescription,
    MarkDescription,
)
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["BUDGET", "loops_text", "parse_loops", "read_loops"]


VERSION = 1
LOOP = "loop"  # the kind of a loop among constraints
BUDGET = Budget(max_bytes=8 * 2**20, max_elements=200_000, max_depth=64)
_YAML, _JSON = (".yaml", ".yml"), (".json",)


def read_loops(path: str | os.PathLike[str], *, budget: Budget = BUDGET) -> Attachments:
    """Return the content of a loops file: YAML if its name ends in .yaml or .yml, JSON if it ends in .json.

    Raises ModelError with all errors, the operating system's error if it cannot be read, and ImportError for YAML
    without PyYAML.
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
    data = read_regular(path, budget.max_bytes)
    return parse_loops(data, source=text, form="json" if ending in _JSON else "yaml", budget=budget)


def parse_loops(
    text: str | bytes, *, source: str | None = None, form: str = "json", budget: Budget = BUDGET
) -> Attachments:
    """Return the content of a loops file from its text, in ``form`` "json" or "yaml".  Raises ModelError."""
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"loops: expected a string, got {text!r}")
    findings = Findings()
    root = (parse_yaml if form == "yaml" else parse_json)(text, source, findings, budget)
    result = _Document(PlainReader(source, findings)).read(root)
    findings.raise_errors()
    return result


class _Document:
    """Reader of the top-level keys and entries of a loops file; a `PlainReader` reads their values."""

    def __init__(self, reader: PlainReader) -> None:
        self.reader = reader

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
            frames=self._each(root, "frames", self._frame),
            points=self._each(root, "points", self._point),
            directions=self._each(root, "directions", self._direction),
            constraints=(
                *self._each(root, "loops", self._loop),
                *self._each(root, "constraints", self._constraint),
            ),
            force_elements=self._each(root, "force_elements", self._element),
            actuators=self._each(root, "actuators", partial(read_actuator, reader)),
            named_configurations=self._each(root, "named_configurations", partial(read_named_configuration, reader)),
        )

    def _version(self, root: Value) -> None:
        version = self.reader.required(root, "version")
        if version is not None and (isinstance(version.content, bool) or version.content != float(VERSION)):
            message = f"expected version {VERSION} of loops files, got {version.kind}"
            self.reader.error(version, "VERSION", message)

    def _each(self, root: Value, key: str, read: Callable[[Value], Any]) -> tuple[Any, ...]:
        """Return the entries of the list under a key, as ``read`` returns them, without those that have errors."""
        values = root.content.get(key)
        if values is None or values.content is None:
            return ()
        if not isinstance(values.content, list):
            self.reader.error(values, "DATA_TYPE", f"{key}: expected a list, got {values.kind}")
            return ()
        result = [read(item) for item in values.content if self.reader.is_object(item, key)]
        return tuple(item for item in result if item is not None)

    # -- frames, points and directions

    def _frame(self, value: Value) -> FrameDescription:
        reader = self.reader
        reader.known(value, ("name", "on", "placement"))
        placement = value.content.get("placement")
        pose = reader.pose(placement) if placement is not None else Pose.identity()
        return FrameDescription(reader.text(value, "name"), reader.text(value, "on"), pose, reader.where(value))

    def _point(self, value: Value) -> MarkDescription:
        return self._mark(value, "xyz")

    def _direction(self, value: Value) -> MarkDescription:
        return self._mark(value, "vector")

    def _mark(self, value: Value, key: str) -> MarkDescription:
        reader = self.reader
        reader.known(value, ("name", "on", key))
        components = reader.required(value, key)
        vector = reader.number_list(components, 3) if components is not None else (0.0, 0.0, 1.0)
        return MarkDescription(reader.text(value, "name"), reader.text(value, "on"), vector, reader.where(value))

    # -- loops, constraints and force elements

    def _loop(self, value: Value, *more: str) -> ConstraintDescription | None:
        reader = self.reader
        errors = len(reader.findings.errors)
        name, frame, other = (reader.text(value, key) for key in ("name", "frame", "other"))
        joint = reader.joint(value, "type", more=(*_LOOP_KEYS, *more))
        values = reader.loop_values(value, joint) if joint is not None else {}
        if len(reader.findings.errors) > errors or joint is None:
            return None
        return self._constructed(
            value, LoopJoint, dict(name=name, joint=joint, frame=other, relative_to=frame, **values)
        )

    def _constraint(self, value: Value) -> ConstraintDescription | None:
        reader = self.reader
        errors = len(reader.findings.errors)
        word = reader.text(value, "kind")
        if word == LOOP:
            return self._loop(value, "kind")
        kind = KINDS.get(word)
        if kind is None:
            if word:
                expected = "expected one of " + ", ".join(sorted([LOOP, *(k for k in KINDS if is_plain(KINDS[k]))]))
                where = value.content["kind"]
                hint = (
                    "write joints that close loops under loops" if word in TYPES else did_you_mean(word, [*KINDS, LOOP])
                )
                reader.error(where, "CONSTRAINT_KIND", f"unknown kind {quoted(word)}: {expected}", hint or None)
            return None
        if not is_plain(kind):
            hint = f"add it in Python: robot.with_constraints(linkwork.constraints.{kind.__name__}(...))"
            message = f"a constraint of kind {quoted(word)} needs a function, which a file cannot represent"
            reader.error(value.content["kind"], "CONSTRAINT_KIND", message, hint)
            return None
        values = reader.arguments(value, kind, more=("kind",))
        if len(reader.findings.errors) > errors:
            return None
        return self._constructed(value, kind, values)

    def _element(self, value: Value) -> ForceElementDescription | None:
        """Return the spring, damper or bushing that an entry describes; None after an error."""
        reader = self.reader
        errors = len(reader.findings.errors)
        kind = reader.kind(value, dict(sorted(ELEMENTS.items())), "FORCE_ELEMENT")
        if kind is None:
            return None
        values = reader.arguments(value, kind, more=("kind",))
        if len(reader.findings.errors) > errors:
            return None
        try:
            return ForceElementDescription(kind(**values), reader.where(value))
        except (TypeError, ValueError) as error:
            reader.error(value, "FORCE_ELEMENT", f"{in_words(kind)}: {error}")
            return None

    def _constructed(
        self, value: Value, kind: type[Constraint], values: dict[str, Any]
    ) -> ConstraintDescription | None:
        try:
            return ConstraintDescription(kind(**values), self.reader.where(value))
        except (TypeError, ValueError) as error:
            self.reader.error(value, "CONSTRAINT", f"{in_words(kind)}: {error}")
            return None


_KEYS: Collection[str] = (
    *("version", "frames", "points", "directions", "loops", "constraints", "force_elements"),
    *("actuators", "named_configurations"),
)
_LOOP_KEYS = ("name", "frame", "other", "limits", *RESISTING)


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
    own = _own_constraints(tree)
    first = next((i for i, c in enumerate(own) if not isinstance(c, LoopJoint)), len(own))
    document["loops"] = [_loop(c) for c in own[:first] if isinstance(c, LoopJoint)]
    document["constraints"] = [
        _constraint(c) for c in own[first:]
    ]  # including later loops, to preserve the order of equations
    document["force_elements"] = [_element(element) for element in tree.force_elements]
    document["actuators"] = [actuator_entry(actuator) for actuator in tree.actuators]
    document["named_configurations"] = [named_configuration_entry(state) for state in tree.named_configurations]
    lines = "\n".join(_lines({key: value for key, value in document.items() if value}))
    return lines + "\n"


def _own_constraints(tree: Tree) -> list[Constraint]:
    """Return the constraints to write: without those that others imply.

    Where an implied constraint was removed from the tree, the constraint that implies it is written with
    contact=False.
    """
    by_name = {c.name: c for c in tree.constraints}
    companions = {companion.name: companion for c in tree.constraints for companion in c.implied_constraints}
    own = [c for c in tree.constraints if companions.get(c.name) != c]
    for i, c in enumerate(own):
        if any(by_name.get(companion.name) != companion for companion in c.implied_constraints):
            own[i] = replace(cast(Any, c), contact=False)
    return own


def _is_added_frame(frame: Frame) -> bool:
    """Return True if a user added the frame.

    A link is no such frame: it has a joint or is a root.
    """
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


def _loop(loop: LoopJoint) -> dict[str, Any]:
    owner = f"loop {loop.name!r}"
    result = {"name": loop.name, **plain(loop.joint, owner), "frame": loop.relative_to, "other": loop.frame}
    limits = {key: _each(getattr(loop, name)) for key, name in BOUNDS.items() if getattr(loop, name)}
    resisting = {key: _each(getattr(loop, key)) for key in RESISTING if getattr(loop, key)}
    return result | ({"limits": limits} if limits else {}) | resisting


def _each(components: tuple[float, ...]) -> Any:
    """Return the values of a joint's coordinates as data: one number, or a list; null for infinity."""
    result = [None if math.isinf(x) else x for x in components]
    return result[0] if len(result) == 1 else result


def _constraint(constraint: Constraint) -> dict[str, Any]:
    if isinstance(constraint, LoopJoint):
        return {"kind": LOOP, **_loop(constraint)}
    owner, kind = f"constraint {constraint.name!r}", type(constraint)
    if KINDS.get(in_words(kind)) is not kind:
        raise TypeError(
            f"{owner}: its kind {kind.__name__} is not one of linkwork.constraints, so it cannot be written to a file"
        )
    result = {"kind": in_words(kind), "name": constraint.name}
    if not any(argument.name == "name" for argument in arguments(kind)):
        result.pop("name")
    return result | constructor_arguments(constraint, kind, owner)


def _element(element: ForceElement) -> dict[str, Any]:
    """Return the data of a force element's entry.  Raises TypeError for a kind that linkwork does not define."""
    owner, kind = f"force element {element.name!r}", type(element)
    if ELEMENTS.get(in_words(kind)) is not kind:
        raise TypeError(
            f"{owner}: its kind {kind.__name__} is not one of linkwork.force_elements, so it cannot be written to "
            f"a file"
        )
    return {"kind": in_words(kind)} | constructor_arguments(element, kind, owner)


def _lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a JSON document in which each entry of a list has its own line."""
    yield "{"
    keys = [*document]
    for key, value in document.items():
        comma = "," if key != keys[-1] else ""
        if isinstance(value, list):
            yield f"  {json.dumps(key)}: ["
            yield ",\n".join(f"    {json.dumps(item, ensure_ascii=False, allow_nan=False)}" for item in value)
            yield f"  ]{comma}"
        else:
            yield f"  {json.dumps(key)}: {json.dumps(value)}{comma}"
    yield "}"
