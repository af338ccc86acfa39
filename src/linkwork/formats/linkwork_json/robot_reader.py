"""Reading of a whole robot from linkwork's own JSON files, with all checks before a tree is built."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal

from linkwork._util.collection_pauses import without_collections
from linkwork._util.file_access import ROBOT, Budget
from linkwork._util.messages import nearest, quoted
from linkwork.errors import Findings, Issue, ModelError, UnknownNameError
from linkwork.formats.actuation_entries import read_actuator, read_named_configuration
from linkwork.formats.constraint_entries import EntryReader
from linkwork.formats.constructor_reader import OF_Q, PlainReader
from linkwork.formats.data_values import Value, values_of
from linkwork.formats.file_reading import path_text, read_regular
from linkwork.formats.json_and_yaml import parse_json
from linkwork.formats.linkwork_json.shape_entries import read_geometry
from linkwork.joints import JointType
from linkwork.model.attached_constraints import attached
from linkwork.model.body import WORLD, Body, Direction, DisabledPair, Drive, Following, Frame, Limits, Point
from linkwork.model.composite_body import with_summed_inertias
from linkwork.model.description import Attachments, Description, FrameDescription, JointDescription, LinkDescription
from linkwork.model.inertia_check import check_inertial, mass_properties
from linkwork.model.tree import Report, Tree
from linkwork.model.value_check import check_values
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Pose, Symmetric3, Vec3
from linkwork.spatial.arguments import LARGEST

__all__ = ["BUDGET", "VERSION", "parse_robot", "read_data", "read_robot"]

VERSION = 1
BUDGET = ROBOT
_TITLE = "a robot file of linkwork"


def read_robot(path: str | os.PathLike[str], *, strict: bool, budget: Budget | None = None) -> Tree:
    """Return the tree of the robot in a file that `Robot.save` wrote.

    Raises ModelError with all errors, and the operating system's error if the file cannot be read.
    """
    budget = budget or BUDGET
    return parse_robot(read_regular(path, budget), source=path_text(path), strict=strict, budget=budget)


@partial(without_collections, drops_cycles=True)  # values of the document know what contains them
def parse_robot(text: str | bytes, *, source: str | None = None, strict: bool = False, budget: Budget = BUDGET) -> Tree:
    """Return the tree of the robot in the text of a file.  Raises ModelError; with ``strict`` also for warnings."""
    findings = Findings(strict=strict)
    root = parse_json(text, source, findings, budget, signed_zeros=True)
    return _read(root, source, findings)


@partial(without_collections, drops_cycles=True)  # values of the document know what contains them
def read_data(data: Any) -> Tree:
    """Return the tree of the robot in the data of a file, as from `json.loads`.  Raises ModelError."""
    findings = Findings()
    return _read(values_of(data, None, findings, BUDGET), None, findings)


def _read(root: Value, source: str | None, findings: Findings) -> Tree:
    reader = _Robot(PlainReader(source, findings))
    reader.check_format(root)
    return reader.read(root)


@dataclass(slots=True)
class _ReadBody:
    """Body read from its entry in the file, with data for later checks of its values."""

    body: Body
    parent: str
    value: Value


class _Robot:
    """Reader of the entries of a robot's file; a `PlainReader` reads their values."""

    def __init__(self, reader: PlainReader) -> None:
        self.reader, self.entries = reader, EntryReader(reader)
        self.bodies: dict[str, int] = {"world": WORLD}  # index by name

    # -- the document

    def check_format(self, root: Value) -> None:
        """Raise ModelError (WRONG_FORMAT, VERSION) unless the document is a robot's file of a known version."""
        reader, content = self.reader, root.content
        if not isinstance(content, dict) or "linkwork" not in content:
            got = root.kind if not isinstance(content, dict) else f"the keys {_some(content)}"
            hint: str | None = f'it begins with "linkwork": {VERSION}; Robot.save writes one'
            if isinstance(content, dict) and "version" in content:
                hint = "a loops file goes with a robot's file: lw.load(path, loops=...)"
            elif isinstance(content, dict) and "cell" in content:
                hint = 'a cell has the first key "cell"; or read it by load(path, format="cell")'
            reader.error(root, "WRONG_FORMAT", f"expected {_TITLE}, got {got}", hint)
        elif (version := content["linkwork"]).content != float(VERSION) or isinstance(version.content, bool):
            later = isinstance(version.content, float) and version.content > VERSION
            hint = "a later version of linkwork wrote it: update linkwork" if later else None
            reader.error(version, "VERSION", f"expected version {VERSION} of {_TITLE}, got {version.kind}", hint)
        reader.findings.raise_errors()

    def read(self, root: Value) -> Tree:
        """Return the tree of a document.  Raises ModelError with all errors."""
        reader, findings = self.reader, self.reader.findings
        reader.known(root, _KEYS)
        name, gravity = reader.text(root, "name"), reader.required(root, "gravity")
        ignored = root.content.get("inertias_ignored")
        read = [entry for entry in self.entries.each(root, "bodies", self._body) if entry is not None]
        bodies = [entry.body for entry in read]
        frames = self.entries.each(root, "frames", self._frame)
        points = tuple([Point(m.name, m.on, Vec3.of(m.vector)) for m in self._marks(root, "points")])
        directions = tuple([Direction(m.name, m.on, Vec3.of(m.vector)) for m in self._marks(root, "directions")])
        more = Attachments(
            constraints=self.entries.each(root, "constraints", self.entries.constraint),
            force_elements=self.entries.each(root, "force_elements", self.entries.element),
            actuators=self.entries.each(root, "actuators", partial(read_actuator, reader)),
            named_configurations=self.entries.each(
                root, "named_configurations", partial(read_named_configuration, reader)
            ),
        )
        parts: dict[str, Any] = {
            "name": name,
            "gravity": Vec3.of(reader.number_list(gravity, 3)) if gravity is not None else Vec3.zero(),
            "inertias_ignored": ignored is not None and reader.converted(ignored, bool),
            "stacking": self._stacking(root, bodies),
            "disabled_collisions": self.entries.each(root, "disabled_collisions", self._disabled),
            "enabled_collisions": self._enabled(root),
        }
        findings.raise_errors()
        self._check_values(name, read, [frame for frame, _ in frames], [value for _, value in frames])
        self._check_names(root, [frame for frame, _ in frames])
        findings.raise_errors()
        whole = tuple([frame for frame, _ in frames])
        summed = with_summed_inertias(bodies, whole)
        stated = [
            entry.body if "inertia" in entry.value.content else body for entry, body in zip(read, summed, strict=True)
        ]
        try:
            tree = Tree(
                bodies=tuple(stated),
                frames=whole,
                points=points,
                directions=directions,
                source=reader.file,
                report=Report(tuple(findings.warnings)),
                **parts,
            )
        except (UnknownNameError, ValueError) as error:
            raise ModelError(Issue("ROBOT", str(error), reader.where(root))) from error
        return attached(tree, more, with_implied=False, strict=findings.strict)

    # -- bodies

    def _body(self, value: Value) -> _ReadBody | None:
        reader, content = self.reader, value.content
        errors = len(reader.findings.errors)
        reader.known(value, _BODY_KEYS)
        name, parent = reader.text(value, "name"), reader.text(value, "parent")
        index = self._carrier(value, "parent", parent)
        if name in self.bodies:
            reader.error(value, "DUPLICATE_NAME", f"two bodies are named {quoted(name)}, or one is the world")
        elif name:
            self.bodies[name] = len(self.bodies) - 1
        joint_entry = reader.required(value, "joint")
        if joint_entry is None or not reader.is_object(joint_entry, "joint"):
            return None
        joint_name, joint = reader.text(joint_entry, "name"), reader.joint(joint_entry, more=("name",))
        if joint is None:
            return None
        links = content.get("links")
        body: dict[str, Any] = {
            "name": name,
            "parent": index,
            "joint_name": joint_name,
            "joint": joint,
            "placement": self._pose(value, "placement"),
            "rotor": self._pose(value, "rotor"),
            "inertia": self._inertia(value),
            "limits": self._limits(content.get("limits"), joint),
            "damping": self._each(value, "damping", joint) or (0.0,) * joint.nv,
            "friction": self._each(value, "friction", joint) or (0.0,) * joint.nv,
            "mimic": self._following(content.get("mimic")),
            "coupling": self._following(content.get("coupling")),
            "dynamics": reader.converted(content["dynamics"], _DYNAMICS) if "dynamics" in content else "urdf",
            "links": self._pair(links) if links is not None else None,
            "drive": Drive(**{field.name: self._each(value, field.name, joint) for field in fields(Drive)}),
        }
        return _ReadBody(Body(**body), parent, value) if len(reader.findings.errors) == errors else None

    def _carrier(self, value: Value, key: str, name: str) -> int:
        """Return the index of the body that an entry names; error UNKNOWN_BODY if no earlier entry has this name."""
        index = self.bodies.get(name, WORLD)
        if name and name not in self.bodies:
            message = f"{key}: no body before this one is named {quoted(name)}"
            self.reader.error(value.content[key], "UNKNOWN_BODY", message, nearest(name, self.bodies))
        return index

    def _each(self, value: Value, key: str, joint: JointType) -> tuple[float, ...]:
        entry = value.content.get(key)
        if entry is None:
            return ()
        return self.reader.each(entry, joint.nq if key in OF_Q else joint.nv, any_sign=True)

    def _limits(self, value: Value | None, joint: JointType) -> Limits:
        reader, limits = self.reader, Limits.none(joint)
        if value is None or not reader.is_object(value, "limits"):
            return limits
        reader.known(value, [field.name for field in fields(Limits)])
        result: dict[str, Any] = {}
        for key, entry in value.content.items():
            if key == "enabled":
                result[key] = reader.converted(entry, bool)
            elif hasattr(limits, key):
                no_bound = -math.inf if key == "lower" else math.inf
                count = joint.nq if key in ("lower", "upper") else joint.nv
                result[key] = reader.each(entry, count, True, no_bound) or getattr(limits, key)
        return Limits(**{field.name: result.get(field.name, getattr(limits, field.name)) for field in fields(Limits)})

    def _following(self, value: Value | None) -> Following | None:
        if value is None or not self.reader.is_object(value, str(value.step)):
            return None
        errors = len(self.reader.findings.errors)
        arguments = self.reader.arguments(value, Following)
        return Following(**arguments) if len(self.reader.findings.errors) == errors else None

    def _pair(self, value: Value) -> tuple[str, str]:
        pair: tuple[str, ...] = self.reader.converted(value, tuple[str, str])
        return (pair[0], pair[1]) if len(pair) == 2 else ("", "")

    def _pose(self, value: Value, key: str) -> Pose:
        entry = value.content.get(key)
        return self.reader.pose(entry) if entry is not None else Pose.identity()

    def _inertia(self, value: Value) -> Inertia:
        """Return the inertia of an entry about the origin of its frame; zero if it states none, or after an error."""
        reader, entry = self.reader, value.content.get("inertia")
        if entry is None or not reader.is_object(entry, "inertia"):
            return Inertia.zero()
        reader.known(entry, _INERTIA_KEYS)
        mass, moment, about = (reader.required(entry, key) for key in _INERTIA_KEYS)
        if mass is None or moment is None or about is None:
            return Inertia.zero()
        elements = reader.number_list(moment, 3, _LARGE), reader.number_list(about, 6, _LARGE)
        return Inertia(reader.number(mass), Vec3.of(elements[0]), Symmetric3(*elements[1]))

    # -- frames, marks and pairs

    def _frame(self, value: Value) -> tuple[Frame, Value]:
        reader, content = self.reader, value.content
        reader.known(value, _FRAME_KEYS)
        name, on = reader.text(value, "name"), reader.text(value, "on")
        body, placement = self._carrier(value, "on", on), self._pose(value, "placement")
        if name == "world" and (body != WORLD or placement is not Pose.identity()):
            message = "'world' is the name of the world's frame: only a link at its place may have it"
            reader.error(value, "BAD_NAME", message)
        visuals, collisions = (self._shapes(value, key) for key in ("visuals", "collisions"))
        joint, link = (reader.text(value, key) if key in content else None for key in ("fixed_joint", "welded_to"))
        return Frame(name, body, placement, self._inertia(value), visuals, collisions, joint, link), value

    def _shapes(self, value: Value, key: str) -> tuple[Geometry, ...]:
        return self.entries.each(value, key, partial(read_geometry, self.reader))

    def _marks(self, root: Value, key: str) -> Iterator[Any]:
        read = self.entries.point if key == "points" else self.entries.direction
        for mark in self.entries.each(root, key, read):
            length = math.hypot(*mark.vector)
            if key == "directions" and abs(length - 1.0) > _UNIT:
                message = f"vector: expected a unit vector, got one of length {length!r}"
                self.reader.findings.error(Issue("AXIS_NORM", message, mark.where))
            yield mark

    def _stacking(self, root: Value, bodies: list[Body]) -> tuple[int, ...]:
        """Return the order of the joints in q and v, as indices of bodies."""
        value = root.content.get("stacking")
        if value is None:
            return ()
        index = {body.joint_name: i for i, body in enumerate(bodies)}
        names = self.reader.converted(value, tuple[str, ...])
        if sorted(names) == sorted(index):
            return tuple([index[name] for name in names])
        if not self.reader.findings.errors:
            self.reader.error(value, "STACKING", "expected the name of every joint once")
        return ()

    def _disabled(self, value: Value) -> DisabledPair | None:
        self.reader.known(value, ("links", "reason"))
        links = self.reader.required(value, "links")
        if links is None:
            return None
        reason = self.reader.text(value, "reason") if "reason" in value.content else "User"
        return DisabledPair(*self._pair(links), reason)

    def _enabled(self, root: Value) -> tuple[tuple[str, str], ...]:
        value = root.content.get("enabled_collisions")
        pairs: tuple[tuple[str, str], ...] = ()
        if value is not None:
            pairs = self.reader.converted(value, tuple[tuple[str, str], ...])
        return pairs

    # -- checks of the whole

    def _check_values(self, name: str, read: list[_ReadBody], frames: list[Frame], values: list[Value]) -> None:
        """Record an error or a warning for each impossible or suspicious value; see `check_values`."""
        reader, findings = self.reader, self.reader.findings
        locations = [reader.where(value) for value in values]
        joints = [
            JointDescription(
                body.joint_name,
                entry.parent,
                body.name,
                body.joint,
                body.placement,
                body.limits,
                body.damping,
                body.friction,
                body.mimic,
                body.rotor,
                reader.where(entry.value),
                body.dynamics,
                body.drive,
            )
            for entry in read
            for body in [entry.body]
        ]
        links = [LinkDescription(f.name, f.inertia, where=where) for f, where in zip(frames, locations, strict=True)]
        placed = [FrameDescription(f.name, "", f.placement, where) for f, where in zip(frames, locations, strict=True)]
        check_values(findings, Description(name, tuple(links), tuple(joints), frames=tuple(placed)))
        if findings.errors:
            return
        for frame, where in zip(frames, locations, strict=True):
            if frame.inertia != _NO_INERTIA:
                parts = mass_properties(frame.inertia)
                check_inertial(findings, where, *parts, (*frame.visuals, *frame.collisions))

    def _check_names(self, root: Value, frames: list[Frame]) -> None:
        """Record an error for each name that occurs twice, and for each reference to a name that does not exist."""
        link_names = {frame.name for frame in frames} | {"world"}
        marks: set[str] = set()
        for key, kind in (("bodies", "joint"), ("frames", "frame"), ("points", "point"), ("directions", "direction")):
            taken: set[str] = set()
            for value in _entries(root, key):
                content = value.content
                name = (content["joint"].content if kind == "joint" else content)["name"].content
                if name in taken or (kind in ("point", "direction") and name in link_names | marks):
                    self.reader.error(value, "DUPLICATE_NAME", f"another {kind} or frame is named {quoted(name)}")
                taken.add(name)
            marks |= taken if kind == "point" else set()
            if kind == "joint":
                joints = taken
        for value in _entries(root, "bodies"):
            for key in ("mimic", "coupling"):
                if key in value.content:
                    own_name = value.content["joint"].content["name"].content
                    if key == "mimic" and value.content[key].content["joint"].content == own_name:
                        self.reader.error(value, "MIMIC_SELF", f"joint {quoted(own_name)} mimics itself")
                    self._known(value.content[key].content["joint"], "joint", joints, "UNKNOWN_JOINT")
            for item in value.content["links"].items if "links" in value.content else ():
                self._known(item, "link", link_names, "UNKNOWN_LINK")
        for key, inner in (("frames", "welded_to"), ("points", "on"), ("directions", "on")):
            for value in _entries(root, key):
                if inner in value.content:
                    self._known(value.content[inner], "frame", link_names, "UNKNOWN_FRAME")
        pairs = [value.content["links"] for value in _entries(root, "disabled_collisions")]
        for pair in (*pairs, *_entries(root, "enabled_collisions")):
            for item in pair.items:
                self._known(item, "link", link_names, "UNKNOWN_LINK")

    def _known(self, value: Value, kind: str, names: Collection[str], code: str) -> None:
        if value.content not in names:
            message = f"no {kind} is named {quoted(value.content)}"
            self.reader.error(value, code, message, nearest(value.content, names))


def _entries(root: Value, key: str) -> list[Value]:
    """Return the entries of the list under a key."""
    value = root.content.get(key)
    return [] if value is None or value.content is None else value.items


def _some(names: Collection[str]) -> str:
    return ", ".join([quoted(name) for name in [*names][:5]]) or "none"


_KEYS = (
    *("linkwork", "name", "gravity", "inertias_ignored", "bodies", "frames", "stacking", "points", "directions"),
    *("constraints", "force_elements", "actuators", "named_configurations"),
    *("disabled_collisions", "enabled_collisions", "$schema"),
)
_BODY_KEYS = (
    *("name", "parent", "joint", "placement", "rotor", "limits", "damping", "friction"),
    *(field.name for field in fields(Drive)),
    *("mimic", "coupling", "dynamics", "links", "inertia"),
)
_FRAME_KEYS = ("name", "on", "placement", "inertia", "visuals", "collisions", "fixed_joint", "welded_to")
_INERTIA_KEYS = ("mass", "moment", "about")
_DYNAMICS = Literal["urdf", "none"]
_LARGE = 10.0 * LARGEST**3  # of moments of inertia
_UNIT = 1e-9  # largest deviation of a direction's length from 1
_NO_INERTIA = Inertia.zero()
