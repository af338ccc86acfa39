"""SDF joints: type, axes, limits, dynamics and mimicry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork._util.messages import did_you_mean, nearest, quoted
from linkwork.formats.description import LARGEST
from linkwork.formats.sdf.sdf_elements import SdfReader
from linkwork.formats.sdf.sdf_frames import Frames, Node
from linkwork.formats.sdf.sdf_schema import AXES, states_dynamics
from linkwork.formats.xml_document import Element
from linkwork.joints import Fixed, Helical, JointType, Prismatic, Revolute, Spherical, UnboundedRevolute, Universal
from linkwork.spatial import Rotation, Vec3

__all__ = ["TYPES", "Axis", "SdfJoint", "read_joint", "values_of"]

TYPES = ("revolute", "continuous", "prismatic", "ball", "universal", "revolute2", "screw", "fixed", "gearbox")
_Z = Vec3(0.0, 0.0, 1.0)
_INF = math.inf
_PARALLEL = 1e-9  # difference of the cosine of two axes from 1 that counts as parallel


@dataclass(frozen=True)
class Axis:
    """An axis of a joint: its direction, not normalised, in the joint's frame, and the values stated for it."""

    direction: Vec3 = _Z
    lower: float = -_INF
    upper: float = _INF
    velocity: float = _INF
    effort: float = _INF
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    spring_position: float = 0.0
    initial: float = 0.0
    mimic: Element | None = None


@dataclass(frozen=True, eq=False)
class SdfJoint:
    """A joint between two links: the links that its parent frame and its child frame are fixed to."""

    node: Node
    kind: str
    parent: Node  # a link or the world
    child: Node
    axes: tuple[Axis, ...]
    make: Callable[[Rotation], JointType]  # the type, in axes that the rotation R_ab turns from the joint's b to a
    gear_ratio: float = 1.0
    gear_reference: Node | None = None  # a link or the world

    @property
    def element(self) -> Element:
        return self.node.element

    @property
    def reader(self) -> SdfReader:
        return self.node.reader


def read_joint(frames: Frames, node: Node, continuous: str = "angle") -> SdfJoint | None:
    """Return the joint that a `<joint>` describes; None after an error.

    ``continuous`` selects the configuration of a continuous joint: its "angle", or its sine and cosine ("sincos").
    """
    reader, element, scope = node.reader, node.element, node.scope
    assert scope is not None
    kind = _type(reader, element)
    parent_name = reader.string(element, "parent")
    if kind is None or parent_name is None:
        return None
    start = frames.world if parent_name == "world" else scope.find(parent_name)
    if start is None:
        message = f"joint {quoted(node.name)}: its parent {quoted(parent_name)} does not exist"
        where = element.first("parent") or element
        reader.error(where, "UNKNOWN_LINK", message, nearest(parent_name, dict.fromkeys(("world", *scope.known()))))
        return None
    parent, child = frames.body_of(start), frames.body_of(node)
    if parent is child:
        reader.error(element, "SELF_JOINT", f"joint {quoted(node.name)} connects link {quoted(child.name)} to itself")
        return None
    errors = len(reader.findings.errors)
    count = AXES.get(kind, 0)
    axes = tuple(_axis(frames, node, tag, kind) for tag in ("axis", "axis2")[:count])
    for tag in ("axis", "axis2")[count:]:
        if (unused := element.first(tag)) is not None and states_dynamics(unused):
            reader.warn(
                unused, "UNSUPPORTED", f"<{tag}> of a {kind} joint is ignored: SDF does not define it for this type"
            )
    if kind in ("universal", "revolute2") and frames.is_resolved and len(reader.findings.errors) == errors:
        _refuse_parallel(node, axes)
    joint = SdfJoint(node, kind, parent, child, axes, _maker(node, kind, axes, continuous))
    if kind == "gearbox":
        joint = _with_gear(frames, joint)
    return joint if len(reader.findings.errors) == errors else None


def _type(reader: SdfReader, element: Element) -> str | None:
    kind = element.attributes.get("type")
    if kind is not None and kind.strip().lower() in TYPES:
        return kind.strip().lower()
    allowed = "expected one of " + ", ".join(TYPES)
    if kind is None:
        reader.error(element, "JOINT_TYPE", f"<joint> needs the attribute 'type': {allowed}")
    else:
        message = f"unknown joint type {quoted(kind)}: {allowed}"
        reader.error(element, "JOINT_TYPE", message, did_you_mean(kind, TYPES) or None)
    return None


def _maker(node: Node, kind: str, axes: tuple[Axis, ...], continuous: str) -> Callable[[Rotation], JointType]:
    """Return a function that creates the joint type from a rotation, which is applied to the axes."""
    directions = [axis.direction for axis in axes]
    pitch = _pitch(node) if kind == "screw" else 0.0

    def make(turn: Rotation) -> JointType:
        turned = directions if turn is _NO_TURN else [turn @ direction for direction in directions]
        match kind:
            case "continuous" if continuous == "sincos":
                return UnboundedRevolute(turned[0])
            case "revolute" | "continuous":
                return Revolute(turned[0])
            case "prismatic":
                return Prismatic(turned[0])
            case "screw":
                return Helical(turned[0], pitch)
            case "universal" | "revolute2":
                return Universal(turned[0], turned[1], right_angle=False)
            case "ball":
                return Spherical()
        return Fixed()

    return make


def _refuse_parallel(node: Node, axes: Sequence[Axis]) -> None:
    a, b = (_scaled(axis.direction) for axis in axes)
    if abs(a.dot(b)) > (1.0 - _PARALLEL) * (a.dot(a) * b.dot(b)) ** 0.5:
        message = f"joint {quoted(node.name)}: its two axes are parallel: expected axes that are not"
        node.reader.error(node.element, "PARAMETER", message)


def _scaled(v: Vec3) -> Vec3:
    largest = max(abs(x) for x in v)
    return Vec3(*(x / largest for x in v))


def _pitch(node: Node) -> float:
    """Return the advance of a screw per radian [m/rad].

    ``<screw_thread_pitch>`` is in m per revolution, and positive for a right-hand thread.  ``<thread_pitch>`` is in
    rad/m, and positive for a left-hand thread.
    """
    reader, element = node.reader, node.element
    if element.first("screw_thread_pitch") is not None:
        return reader.value(element, "screw_thread_pitch") / (2.0 * math.pi)
    pitch = reader.value(element, "thread_pitch", -2.0 * math.pi)
    if abs(pitch) * LARGEST < 1.0:
        where = element.first("thread_pitch") or element
        reader.error(where, "ZERO_VALUE", f"<thread_pitch> is in rad per metre, and must not be zero, got {pitch!r}")
        return 0.0
    return -1.0 / pitch


# -- axes


def _axis(frames: Frames, node: Node, tag: str, kind: str) -> Axis:
    """Return an axis of a joint, with the limits and dynamics that its element states."""
    reader, element = node.reader, node.element.first(tag)
    if element is None:
        if kind != "gearbox":
            reader.error(node.element, "ELEMENT_MISSING", f"a {kind} joint needs an <{tag}>")
        return Axis()
    dynamics, limit = element.first("dynamics"), element.first("limit")
    lower, upper = reader.bound(limit, "lower", -_INF), reader.bound(limit, "upper", _INF)
    if kind == "continuous":
        if (lower, upper) != (-_INF, _INF):
            message = "lower and upper of a continuous joint are ignored: it has no bounds"
            reader.note(limit or element, "IGNORED", message, 'make it type="revolute" to keep them')
        lower, upper = -_INF, _INF
    elif lower > upper or lower == _INF or upper == -_INF:
        reader.error(limit or element, "LIMIT_ORDER", f"lower limit {lower!r} is above upper limit {upper!r}")
    return Axis(
        direction=_direction(frames, node, element),
        lower=lower,
        upper=upper,
        velocity=reader.bound(limit, "velocity", _INF, positive=True),
        effort=reader.bound(limit, "effort", _INF, positive=True),
        damping=reader.value_at_least_zero(dynamics, "damping"),
        friction=reader.value_at_least_zero(dynamics, "friction"),
        stiffness=reader.value_at_least_zero(dynamics, "spring_stiffness"),
        spring_position=reader.value(dynamics, "spring_reference", 0.0),
        initial=reader.value(element, "initial_position", 0.0) if reader.release <= (1, 8) else 0.0,
        mimic=element.first("mimic"),
    )


def _direction(frames: Frames, node: Node, axis: Element) -> Vec3:
    """Return the direction of an axis in the joint's frame; the z direction if it has no `<xyz>`.

    It is stated in the joint's frame or in the frame that ``expressed_in`` names; up to SDF 1.4, and with
    ``use_parent_model_frame`` up to 1.6, in the model's frame. Errors: AXIS_ZERO, UNKNOWN_FRAME. Warning: AXIS_NORM.
    """
    reader, element, scope = node.reader, axis.first("xyz"), node.scope
    assert scope is not None
    direction, name = _Z, ""
    if element is not None:
        direction, name = (
            Vec3.of(reader.values(element, 3, _Z, _INF)),
            element.attributes.get("expressed_in", "").strip(),
        )
    largest = max(abs(x) for x in direction)
    if largest == 0.0:
        reader.error(element or axis, "AXIS_ZERO", "the axis of a joint that moves must not be zero")
        return _Z
    length = math.hypot(*direction)
    if abs(length - 1.0) > 1e-6:
        message = f"the axis has length {length:.9g}, not 1: normalised; positions stay in rad or m"
        reader.warn(element or axis, "AXIS_NORM", message)
    direction = direction if 1e-100 < length < 1e100 else _scaled(direction)
    is_old = reader.release <= (1, 4)
    is_in_model = reader.release < (1, 7) and reader.flag(axis, "use_parent_model_frame", is_old)
    if name:
        frame = frames.lookup(scope, name, "expressed_in", reader, element or axis)
    elif is_in_model:
        frame = scope.owner
    else:
        frame = node
    if frame is None or frame is node:
        return direction
    turn = frames.relative(node, frame).rotation
    return direction if turn is _NO_TURN else turn @ direction


# -- gears


def _with_gear(frames: Frames, joint: SdfJoint) -> SdfJoint:
    """Return a gearbox joint with its gear ratio and its reference body, as its element states them."""
    reader, element, scope = joint.reader, joint.element, joint.node.scope
    assert scope is not None
    name, ratio = reader.string(element, "gearbox_reference_body"), reader.value(element, "gearbox_ratio", 1.0)
    if ratio == 0.0:
        reader.error(element.first("gearbox_ratio") or element, "ZERO_VALUE", "<gearbox_ratio> must not be zero")
    if name is None:
        return joint
    reference = frames.world if name == "world" else scope.find(name)
    if reference is None:
        message = f"joint {quoted(joint.node.name)}: its gearbox_reference_body {quoted(name)} does not exist"
        where = element.first("gearbox_reference_body") or element
        reader.error(where, "UNKNOWN_LINK", message, nearest(name, dict.fromkeys(scope.known())))
        return joint
    return replace(joint, gear_ratio=ratio, gear_reference=frames.body_of(reference))


def values_of(axes: Iterable[Axis], name: str) -> tuple[Any, ...]:
    """Return the values called ``name`` of all axes, one after the other."""
    return tuple(getattr(axis, name) for axis in axes)


_NO_TURN = Rotation.identity()
