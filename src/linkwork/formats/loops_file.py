"""Reading the file beside a robot's that closes its loops: frames, loops and constraints as plain data.

The page docs/robot_files.md says what may stand in it.

Writing what a robot obeys besides its joints: the file of loops, as JSON text.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

from linkwork._util.messages import nearest, quoted
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
LOOP = "loop"  # the kind of a loop where it stands among constraints
BUDGET = Budget(max_bytes=8 * 2**20, max_elements=200_000, max_depth=64)
_YAML, _JSON = (".yaml", ".yml"), (".json",)


def read_loops(path: str | os.PathLike[str], *, budget: Budget = BUDGET) -> Attachments:
    """What a file says: YAML where its name ends in .yaml or .yml, JSON where it ends in .json.

    Raises ModelError with all that is wrong, the operating system's error where it cannot be read, and ImportError for
    YAML without PyYAML.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"loops: expected the path of a file, got {path!r}")
    text = path_text(path)
    if text.lstrip().startswith(("{", "version:")):
        message = f"expected the path of a file, got its text ({quoted(text.lstrip())})"
        raise ModelError(Issue("NOT_A_PATH", message, hint="Robot.with_loops_document takes a text"))
    ending = os.path.splitext(text)[1].lower()
    if ending not in (*_YAML, *_JSON):
        message = f"expected a file of loops, .yaml, .yml or .json, got {quoted(os.path.basename(text))}"
        raise ModelError(Issue("WRONG_FORMAT", message, Location(text)))
    data = read_regular(path, budget.max_bytes)
    return parse_loops(data, source=text, form="json" if ending in _JSON else "yaml", budget=budget)


def parse_loops(
    text: str | bytes, *, source: str | None = None, form: str = "json", budget: Budget = BUDGET
) -> Attachments:
    """What the text of such a file says, in ``form`` "json" or "yaml".  Raises ModelError."""
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"loops: expected a string, got {text!r}")
    findings = Findings()
    root = (parse_yaml if form == "yaml" else parse_json)(text, source, findings, budget)
    result = _Document(PlainReader(source, findings)).read(root)
    findings.raise_errors()
    return result


class _Document:
    """Reads the document's own keys; what joints and constraints are made of is the `PlainReader`'s."""

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
                root, "WRONG_FORMAT", f"expected a file of loops, with {', '.join(_KEYS)}: got the keys {got}", hint
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
            message = f"expected version {VERSION} of files of loops, got {version.kind}"
            self.reader.error(version, "VERSION", message)

    def _each(self, root: Value, key: str, read: Callable[[Value], Any]) -> tuple[Any, ...]:
        """What stands in a list, but for what is wrong."""
        given = root.content.get(key)
        if given is None or given.content is None:
            return ()
        if not isinstance(given.content, list):
            self.reader.error(given, "DATA_TYPE", f"{key}: expected a list, got {given.kind}")
            return ()
        result = [read(item) for item in given.content if self.reader.is_object(item, key)]
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
        numbers = reader.required(value, key)
        vector = reader.numbers(numbers, 3) if numbers is not None else (0.0, 0.0, 1.0)
        return MarkDescription(reader.text(value, "name"), reader.text(value, "on"), vector, reader.where(value))

    # -- what closes loops

    def _loop(self, value: Value, *more: str) -> ConstraintDescription | None:
        reader = self.reader
        errors = len(reader.findings.errors)
        name, frame, other = (reader.text(value, key) for key in ("name", "frame", "other"))
        joint = reader.joint(value, "type", more=(*_LOOP_KEYS, *more))
        values = reader.loop_values(value, joint) if joint is not None else {}
        if len(reader.findings.errors) > errors or joint is None:
            return None
        return self._made(value, LoopJoint, dict(name=name, joint=joint, frame=other, relative_to=frame, **values))

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
                hint = "a joint closes a loop under loops" if word in TYPES else nearest(word, [*KINDS, LOOP])
                reader.error(where, "CONSTRAINT_KIND", f"unknown kind {quoted(word)}: {expected}", hint)
            return None
        if not is_plain(kind):
            hint = f"put it on in Python: robot.with_constraints(linkwork.constraints.{kind.__name__}(...))"
            message = f"a constraint of kind {quoted(word)} is made from a function, which no file can say"
            reader.error(value.content["kind"], "CONSTRAINT_KIND", message, hint)
            return None
        given = reader.arguments(value, kind, more=("kind",))
        if len(reader.findings.errors) > errors:
            return None
        return self._made(value, kind, given)

    def _element(self, value: Value) -> ForceElementDescription | None:
        """A spring, a damper or a bushing between bodies."""
        reader = self.reader
        errors = len(reader.findings.errors)
        word = reader.text(value, "kind")
        kind = ELEMENTS.get(word)
        if kind is None:
            if word:
                message = f"unknown kind {quoted(word)}: expected one of {', '.join(sorted(ELEMENTS))}"
                reader.error(value.content["kind"], "FORCE_ELEMENT", message, nearest(word, [*ELEMENTS]))
            return None
        given = reader.arguments(value, kind, more=("kind",))
        if len(reader.findings.errors) > errors:
            return None
        try:
            return ForceElementDescription(kind(**given), reader.where(value))
        except (TypeError, ValueError) as error:
            reader.error(value, "FORCE_ELEMENT", f"{in_words(kind)}: {error}")
            return None

    def _made(self, value: Value, kind: type[Constraint], given: dict[str, Any]) -> ConstraintDescription | None:
        try:
            return ConstraintDescription(kind(**given), self.reader.where(value))
        except (TypeError, ValueError) as error:
            self.reader.error(value, "CONSTRAINT", f"{in_words(kind)}: {error}")
            return None


_KEYS: Collection[str] = (
    *("version", "frames", "points", "directions", "loops", "constraints", "force_elements"),
    *("actuators", "named_configurations"),
)
_LOOP_KEYS = ("name", "frame", "other", "limits", *RESISTING)


def loops_text(tree: Tree) -> str:
    """Return the JSON text of the loops file of a tree.

    It has the tree's constraints, force elements, actuators and named configurations, and the frames, points and
    directions that a user added.  A tree without them that reads the text is equal to this one.  Raises TypeError for a
    constraint or force element that a file cannot represent, with its name.
    """
    document: dict[str, Any] = {
        "version": VERSION,
        "frames": [_frame(tree, frame) for frame in tree.frames if _is_mark(frame)],
        "points": [{"name": p.name, "on": p.frame, "xyz": [*p.position]} for p in tree.points],
        "directions": [{"name": d.name, "on": d.frame, "vector": [*d.vector]} for d in tree.directions],
    }
    own = _own(tree)
    first = next((i for i, c in enumerate(own) if not isinstance(c, LoopJoint)), len(own))
    document["loops"] = [_loop(c) for c in own[:first] if isinstance(c, LoopJoint)]
    document["constraints"] = [_constraint(c) for c in own[first:]]  # loops among them: rows keep their order
    document["force_elements"] = [_element(element) for element in tree.force_elements]
    document["actuators"] = [actuator_entry(actuator) for actuator in tree.actuators]
    document["named_configurations"] = [named_configuration_entry(state) for state in tree.named_configurations]
    lines = "\n".join(_lines({key: value for key, value in document.items() if value}))
    return lines + "\n"


def _own(tree: Tree) -> list[Constraint]:
    """The constraints but for companions of others, which come with them; without those that were taken off."""
    by_name = {c.name: c for c in tree.constraints}
    companions = {companion.name: companion for c in tree.constraints for companion in c.implied_constraints}
    own = [c for c in tree.constraints if companions.get(c.name) != c]
    for i, c in enumerate(own):
        if any(by_name.get(companion.name) != companion for companion in c.implied_constraints):
            own[i] = replace(cast(Any, c), contact=False)
    return own


def _is_mark(frame: Frame) -> bool:
    """Whether a frame is one of a user's own: no link, which has a joint before it or is a root."""
    return frame.fixed_joint is None and frame.welded_to is not None


def _frame(tree: Tree, frame: Frame) -> dict[str, Any]:
    """By its pose on the frame that it was put on, where that gives the same numbers, or else on its body."""
    assert frame.welded_to is not None
    carrier = tree.frame(frame.welded_to)
    X = frame.placement if carrier.placement.is_identity else (carrier.placement.inv() @ frame.placement)
    on = carrier.name
    if compose(carrier.placement, X) != frame.placement:
        on, X = "world" if frame.body == WORLD else tree.bodies[frame.body].name, frame.placement
    result: dict[str, Any] = {"name": frame.name, "on": on}
    return result if X.is_identity else result | {"placement": plain(X, frame.name)}


def _loop(loop: LoopJoint) -> dict[str, Any]:
    what = f"loop {loop.name!r}"
    result = {"name": loop.name, **plain(loop.joint, what), "frame": loop.relative_to, "other": loop.frame}
    limits = {key: _each(getattr(loop, name)) for key, name in BOUNDS.items() if getattr(loop, name)}
    resisting = {key: _each(getattr(loop, key)) for key in RESISTING if getattr(loop, key)}
    return result | ({"limits": limits} if limits else {}) | resisting


def _each(numbers: tuple[float, ...]) -> Any:
    """A number, or one for each; null where there is none."""
    result = [None if math.isinf(x) else x for x in numbers]
    return result[0] if len(result) == 1 else result


def _constraint(constraint: Constraint) -> dict[str, Any]:
    if isinstance(constraint, LoopJoint):
        return {"kind": LOOP, **_loop(constraint)}
    what, kind = f"constraint {constraint.name!r}", type(constraint)
    if KINDS.get(in_words(kind)) is not kind:
        raise TypeError(f"{what}: its kind {kind.__name__} is none of linkwork.constraints, and can stand in no file")
    result = {"kind": in_words(kind), "name": constraint.name}
    if not any(argument.name == "name" for argument in arguments(kind)):
        result.pop("name")
    return result | constructor_arguments(constraint, kind, what)


def _element(element: ForceElement) -> dict[str, Any]:
    """A force element as plain data.  Raises TypeError for a kind that is none of linkwork's own."""
    what, kind = f"force element {element.name!r}", type(element)
    if ELEMENTS.get(in_words(kind)) is not kind:
        raise TypeError(
            f"{what}: its kind {kind.__name__} is none of linkwork.force_elements, and can stand in no file"
        )
    return {"kind": in_words(kind)} | constructor_arguments(element, kind, what)


def _lines(document: dict[str, Any]) -> Iterator[str]:
    """A line an entry, as people would write it."""
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
