"""Joint prims: type, frames, limits, drives, and the friction and armature that simulators add.

UsdPhysics states angles in degrees, and the stiffness and damping of angular drives per degree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.formats.description import Actuator, Drive, Following, Limits
from linkwork.formats.usd.prim_values import DEGREE, PrimReader
from linkwork.joints import (
    Composite,
    Cylindrical,
    Fixed,
    Floating,
    JointType,
    Prismatic,
    Revolute,
    Spherical,
    Translational,
)
from linkwork.spatial import Pose, Vec3

__all__ = ["End", "JointPrim", "read_joint"]

_AXES = {"X": Vec3(1.0, 0.0, 0.0), "Y": Vec3(0.0, 1.0, 0.0), "Z": Vec3(0.0, 0.0, 1.0)}
_INF = math.inf


@dataclass(frozen=True)
class End:
    """The frame of a joint on a link: the link's name, and the frame's pose on the link."""

    link: str
    pose: Pose  # of the joint's frame in the link


@dataclass
class JointPrim:
    """A joint prim. Its type describes the motion of the frame of the second end relative to that of the first."""

    prim: Any
    name: str
    joint: JointType
    ends: tuple[End, End]
    directions: tuple[str, ...]  # of the joint's velocities: "transX", "rotX" ..., all that have one
    limits: Limits
    damping: tuple[float, ...]
    friction: tuple[float, ...]
    drive: Drive = field(default_factory=Drive)
    mimic: Any = None  # path of the joint that it follows
    ratio: tuple[float, float] = (1.0, 0.0)  # of the mimic, and its offset, in units of the stage
    excluded: bool = False  # from articulations
    collides: bool = False  # the two links with each other
    actuators: tuple[Actuator, ...] = ()
    targets: tuple[tuple[str, float], ...] = ()  # controls of the actuators


def read_joint(reader: PrimReader, prim: Any, name: str, ends: tuple[End, End]) -> JointPrim | None:
    """Return the joint of a prim; None, after a finding, for one that linkwork does not have."""
    kind = str(prim.GetTypeName())
    read = _TYPES.get(kind)
    if read is None:
        reader.warn(prim, "UNSUPPORTED", f"joints of type {kind} are not supported: the joint is left out")
        return None
    description = read(reader, prim)
    if description is None:
        return None
    joint, directions, lower, upper = description
    result = JointPrim(
        prim=prim,
        name=name,
        joint=joint,
        ends=ends,
        directions=directions,
        limits=Limits.none(joint),
        damping=(0.0,) * joint.nv,
        friction=(0.0,) * joint.nv,
        excluded=reader.flag(prim, "physics:excludeFromArticulation", False),
        collides=reader.flag(prim, "physics:collisionEnabled", False),
    )
    bounds = (_INF,) * joint.nv
    if joint.nq == joint.nv == len(lower):
        result.limits = Limits(lower, upper, bounds, bounds)
    for name_of_break in ("physics:breakForce", "physics:breakTorque"):
        if reader.number(prim, name_of_break, _INF, infinite=True) < _INF:
            reader.warn(prim, "UNSUPPORTED", f"{name_of_break}: joints do not break")
    _read_extensions(reader, result)
    _read_drives(reader, result)
    _read_mimic(reader, result)
    return result


JointReading = tuple[JointType, tuple[str, ...], tuple[float, ...], tuple[float, ...]] | None


def _fixed(reader: PrimReader, prim: Any) -> JointReading:
    return Fixed(), (), (), ()


def _one_axis(build: Callable[[Vec3], JointType], kind: str) -> Callable[[PrimReader, Any], JointReading]:
    def read(reader: PrimReader, prim: Any) -> JointReading:
        axis = reader.word(prim, "physics:axis", "XYZ", "X")
        scale = _scale(reader, kind + axis)
        lower = _bound(reader, prim, "physics:lowerLimit", -_INF, scale)
        upper = _bound(reader, prim, "physics:upperLimit", _INF, scale)
        return build(_AXES[axis]), (kind + axis,), (lower,), (upper,)

    return read


def _scale(reader: PrimReader, direction: str) -> float:
    """Return the unit of a coordinate [rad or m]: one degree, or the stage's unit of length."""
    return DEGREE if direction.startswith("rot") else reader.units.length


def _bound(reader: PrimReader, prim: Any, name: str, no_bound: float, scale: float) -> float:
    """Return a limit [rad, m]; ``no_bound`` if it is not stated, infinite, or beyond 1e20."""
    value = reader.value(prim, name)
    if isinstance(value, float) and math.isnan(value):
        reader.error(prim, "LIMIT_FINITE", f"{name}: expected a number, got nan")
        return no_bound
    return scale * reader.number(prim, name, no_bound, infinite=True)


def _spherical(reader: PrimReader, prim: Any) -> JointReading:
    names = ("physics:coneAngle0Limit", "physics:coneAngle1Limit")
    if any(0.0 <= reader.number(prim, name, -1.0, infinite=True) < _INF for name in names):
        reader.warn(prim, "UNSUPPORTED", "the cone limit of a spherical joint is left out: the joint has no limits")
    return Spherical(), ("rotX", "rotY", "rotZ"), (), ()


def _generic(reader: PrimReader, prim: Any) -> JointReading:
    """Return the joint of a prim with limits for each direction: a direction with low > high is locked."""
    free, lower, upper = [], {}, {}
    for direction in (kind + axis for kind in ("trans", "rot") for axis in "XYZ"):
        scale = _scale(reader, direction)
        low, high = -_INF, _INF
        if _applied(prim, f"PhysicsLimitAPI:{direction}"):
            low = _bound(reader, prim, f"limit:{direction}:physics:low", -_INF, scale)
            high = _bound(reader, prim, f"limit:{direction}:physics:high", _INF, scale)
        if low <= high:
            free.append(direction)
            lower[direction], upper[direction] = low, high
    if _applied(prim, "PhysicsLimitAPI:distance"):
        reader.warn(prim, "UNSUPPORTED", "the limit of the distance is left out")
    moves, turns = [d for d in free if d.startswith("trans")], [d for d in free if d.startswith("rot")]
    if len(turns) == 2:
        message = f"a joint that turns about two axes ({', '.join(turns)}) is not supported: it is left out"
        reader.warn(prim, "UNSUPPORTED", message, "lock one of them, or use two revolute joints")
        return None
    limited = any(abs(x) < _INF for x in (*lower.values(), *upper.values()))
    order, joint = (*moves, *turns), _generic_type(moves, turns)
    if joint.nq != joint.nv:
        if limited:
            reader.warn(prim, "UNSUPPORTED", "the limits of a joint that turns about three axes are left out")
        return joint, order, (), ()
    if isinstance(joint, Cylindrical):
        order = (turns[0], moves[0])
    return joint, order, tuple(lower[d] for d in order), tuple(upper[d] for d in order)


def _generic_type(moves: Sequence[str], turns: Sequence[str]) -> JointType:
    if len(moves) == 3 and len(turns) == 3:
        return Floating()
    if len(moves) == len(turns) == 1 and moves[0][-1] == turns[0][-1]:
        return Cylindrical(_AXES[moves[0][-1]])
    parts: list[JointType] = [Prismatic(_AXES[d[-1]]) for d in moves]
    if len(moves) == 3:
        parts = [Translational()]
    if len(turns) == 3:
        parts.append(Spherical())
    else:
        parts += [Revolute(_AXES[d[-1]]) for d in turns]
    if not parts:
        return Fixed()
    return parts[0] if len(parts) == 1 else Composite(tuple(parts))


_TYPES: dict[str, Callable[[PrimReader, Any], JointReading]] = {
    "PhysicsFixedJoint": _fixed,
    "PhysicsRevoluteJoint": _one_axis(Revolute, "rot"),
    "PhysicsPrismaticJoint": _one_axis(Prismatic, "trans"),
    "PhysicsSphericalJoint": _spherical,
    "PhysicsJoint": _generic,
}


def _applied(prim: Any, schema: str) -> bool:
    return schema in prim.GetAppliedSchemas()


# -- what simulators add


def _read_extensions(reader: PrimReader, joint: JointPrim) -> None:
    """Read armature, damping, friction and bounds from attributes of PhysX, Newton and the URDF converter."""
    prim = joint.prim
    if not joint.joint.nv:
        return

    def first(direction: str, names: Sequence[str], default: float = 0.0) -> float:
        for name in names:
            full = name.replace("<axis>", _physx_axis(joint, direction))
            if reader.value(prim, full) is not None:
                return reader.at_least_zero(prim, full, default, infinite=default == _INF)
        return default

    units, armature, damping, friction, static, speeds, efforts = reader.units, [], [], [], [], [], []
    for direction in joint.directions:
        is_turn = direction.startswith("rot")
        effort = units.torque if is_turn else units.force
        per = effort / (DEGREE if is_turn else units.length)
        armature.append((units.torque if is_turn else units.mass) * first(direction, _ARMATURE))
        damping.append(per * first(direction, _DAMPING))
        friction.append(effort * first(direction, _FRICTION))
        static.append(effort * first(direction, _STATIC))
        speeds.append(_scale(reader, direction) * first(direction, _SPEED, _INF))
        efforts.append(effort * first(direction, ("urdf:limit:effort",), _INF))
    joint.damping, joint.friction = tuple(damping), tuple(friction)
    static_friction = tuple(max(a, b) for a, b in zip(static, friction, strict=True)) if any(static) else ()
    joint.drive = Drive(armature=tuple(armature) if any(armature) else (), static_friction=static_friction)
    limits = joint.limits
    joint.limits = Limits(limits.lower, limits.upper, tuple(speeds), tuple(efforts))
    if reader.at_least_zero(prim, "physxJoint:jointFriction") > 0.0:
        message = "physxJoint:jointFriction, a coefficient without unit, is left out"
        reader.warn(prim, "UNSUPPORTED", message)


_ARMATURE = ("newton:armature", "physxJointAxis:<axis>:armature", "physxJoint:armature")
_DAMPING = ("newton:damping", "physxJointAxis:<axis>:viscousFrictionCoefficient")
_FRICTION = ("newton:friction", "physxJointAxis:<axis>:dynamicFrictionEffort")
_STATIC = ("physxJointAxis:<axis>:staticFrictionEffort",)
_SPEED = ("newton:velocityLimit", "physxJointAxis:<axis>:maxJointVelocity", "physxJoint:maxJointVelocity")


def _physx_axis(joint: JointPrim, direction: str) -> str:
    return {Revolute: "angular", Prismatic: "linear"}.get(type(joint.joint), direction)


def _read_mimic(reader: PrimReader, joint: JointPrim) -> None:
    """Read the coupling of the joint to another joint from NewtonMimicAPI."""
    masters = reader.targets(joint.prim, "newton:mimicJoint")
    if not masters or not reader.flag(joint.prim, "newton:mimicEnabled", True):
        return
    if joint.joint.nv != 1:
        reader.warn(joint.prim, "UNSUPPORTED", "newton:mimicJoint of a joint with several velocities is left out")
        return
    joint.mimic = masters[0]
    joint.ratio = (
        reader.number(joint.prim, "newton:mimicCoef1", 1.0),
        reader.number(joint.prim, "newton:mimicCoef0", 0.0),
    )


# -- drives


def _drives(joint: JointPrim) -> Iterator[tuple[str, str, int]]:
    """Yield the applied drives: the name of the instance, the direction, and the index among the joint's velocities."""
    single = {"angular": "rot", "linear": "trans"}
    for name in ("angular", "linear", *(kind + axis for kind in ("trans", "rot") for axis in "XYZ")):
        if not _applied(joint.prim, f"PhysicsDriveAPI:{name}"):
            continue
        match = [
            d
            for d in joint.directions
            if d == name or (len(joint.directions) == 1 and d.startswith(single.get(name, "-")))
        ]
        yield name, match[0] if match else "", joint.directions.index(match[0]) if match else -1


def _read_drives(reader: PrimReader, joint: JointPrim) -> None:
    """Read the drives of a joint as actuators: servos of the position or the velocity, and motors without gains."""
    actuators, targets, efforts = [], [], [*joint.limits.effort]
    drives = [*_drives(joint)]
    for instance, direction, index in drives:
        prefix = f"drive:{instance}:physics"
        if index < 0:
            reader.note(joint.prim, f"the drive {instance!r} is ignored: the joint has no such motion")
            continue
        is_turn = direction.startswith("rot")
        unit = _scale(reader, direction)
        effort = reader.units.torque if is_turn else reader.units.force
        stiffness = effort / unit * reader.at_least_zero(joint.prim, f"{prefix}:stiffness")
        damping = effort / unit * reader.at_least_zero(joint.prim, f"{prefix}:damping")
        most = effort * reader.at_least_zero(joint.prim, f"{prefix}:maxForce", _INF, infinite=True)
        position = unit * reader.number(joint.prim, f"{prefix}:targetPosition")
        velocity = unit * reader.number(joint.prim, f"{prefix}:targetVelocity")
        if (stiffness or damping) and reader.word(
            joint.prim, f"{prefix}:type", ("force", "acceleration"), "force"
        ) == "acceleration":
            message = f"the drive {instance!r} states accelerations, not forces: it is left out"
            reader.warn(joint.prim, "UNSUPPORTED", message, 'author the drive with the type "force"')
            continue
        if joint.joint.nq != joint.joint.nv and (stiffness or damping):
            message = f"the drive {instance!r} of a joint that turns about three axes is left out"
            reader.warn(joint.prim, "UNSUPPORTED", message)
            continue
        if most < _INF:
            efforts[index] = min(efforts[index], most)
        gear = tuple(1.0 if k == index else 0.0 for k in range(joint.joint.nv))
        name = joint.name if len(drives) == 1 else f"{joint.name}_{instance}"
        force = (-most, most)
        gain, bias = (stiffness, 0.0, 0.0), (0.0, -stiffness, -damping)
        if stiffness:
            bias = (damping * velocity, -stiffness, -damping)
            targets.append((name, position))
        elif damping:
            gain = (damping, 0.0, 0.0)
            targets.append((name, velocity))
        else:
            gain, bias = (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        bias = (bias[0], bias[1] + 0.0, bias[2] + 0.0)  # no −0
        actuators.append(Actuator(name, ((joint.name, gear),), gain=gain, bias=bias, force_range=force))
    limits = joint.limits
    joint.limits = Limits(limits.lower, limits.upper, limits.velocity, tuple(efforts))
    joint.actuators, joint.targets = tuple(actuators), tuple(targets)


def following(reader: PrimReader, joint: JointPrim, by_path: Mapping[str, JointPrim]) -> Following | None:
    """Return the linear relation of a joint to another joint, with coefficients in units of the stage's coordinates."""
    if joint.mimic is None:
        return None
    ratio, offset = joint.ratio
    scale, master = _scale(reader, joint.directions[0]), by_path.get(str(joint.mimic))
    if master is None:
        return Following(str(joint.mimic), ratio, scale * offset)
    same = not master.directions or master.directions[0][:-1] == joint.directions[0][:-1]
    unit = scale if same else _scale(reader, master.directions[0])
    return Following(master.name, ratio * (scale / unit), scale * offset)
