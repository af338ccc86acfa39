"""Joints of linkwork as MuJoCo's joints (hinges, slides, balls, free joints), with coordinates, springs and actuators.

A MuJoCo body may have several joints.  Their motions follow one another, each about or along an axis that is fixed in
the body when the others have moved.  A joint whose pose is a product of rotations and translations about fixed axes is
such a sequence: X(q) = X(0) exp(B₁ q₁) ... exp(Bₙ qₙ), with the screws Bₖ at zero in the frame after the joint.
Source: Lynch and Park, Modern Robotics, 2017, section 4.1.2 (product of exponentials in the end-effector frame).

Where MuJoCo's velocities are not those of the joint, as for a planar joint, a damper or a motor acts along other
directions.  A quantity is written if it has the same power or energy in random configurations, otherwise it is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from linkwork.formats.written_content import is_own
from linkwork.joints import (
    Composite,
    Cylindrical,
    Fixed,
    Floating,
    FloatingEuler,
    FloatingMRP,
    JointType,
    Planar,
    Prismatic,
    Reversed,
    Revolute,
    Spherical,
    SphericalEuler,
    SphericalMRP,
    Translational,
    UnboundedRevolute,
    Universal,
)
from linkwork.model import Body, compose
from linkwork.spatial import Pose, Quaternion, Vec3

__all__ = [
    "BALL",
    "FREE",
    "HINGE",
    "SLIDE",
    "JointMap",
    "Part",
    "keeps_coordinates",
    "mujoco_parts",
    "placed_parts",
    "qpos_of",
    "qvel_of",
    "zero_pose",
]

HINGE, SLIDE, BALL, FREE = "hinge", "slide", "ball", "free"
_AXES = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Part:
    """A MuJoCo joint: its kind, its axis, and its position.

    Axis and position are in the child frame of linkwork's joint, at the joint's zero configuration.
    """

    kind: str
    axis: Vec3 = _AXES[2]
    position: Vec3 = Vec3(0.0, 0.0, 0.0)
    coordinate: int = 0  # index of its first coordinate in the joint's v

    def in_frame(self, X: Pose) -> Part:
        """Return the MuJoCo joint with its axis and position in another frame, whose pose in the present frame is X."""
        axis = X.rotation.inv_act(self.axis)
        return replace(self, axis=axis, position=X.rotation.inv_act(self.position - X.translation))


def mujoco_parts(joint: JointType) -> tuple[Part, ...] | None:
    """Return the sequence of MuJoCo joints that is equivalent to ``joint``, in the coordinates of its child frame M.

    It is empty for a fixed joint, and None if MuJoCo has no equivalent.
    """
    if not is_own(joint):
        return None
    match joint:
        case Fixed():
            return ()
        case Revolute() | UnboundedRevolute():
            parts = [Part(HINGE, joint.axis)]
        case Prismatic():
            parts = [Part(SLIDE, joint.axis)]
        case Universal():
            parts = [Part(HINGE, joint.first), Part(HINGE, joint.second)]
        case Cylindrical():
            parts = [Part(HINGE, joint.axis), Part(SLIDE, joint.axis)]
        case Planar():
            parts = [Part(SLIDE, joint.x_axis), Part(SLIDE, joint.y_axis), Part(HINGE, joint.normal)]
        case Translational():
            parts = [Part(SLIDE, axis) for axis in _AXES]
        case Spherical() | SphericalMRP() | SphericalEuler():
            return (Part(BALL),)
        case Floating() | FloatingMRP() | FloatingEuler():
            return (Part(FREE),)
        case Reversed():
            return _reversed(joint.joint)
        case Composite():
            return _in_sequence(joint.joints, joint.placements)
        case _:
            return None
    return tuple(replace(part, coordinate=k) for k, part in enumerate(parts))


def _reversed(joint: JointType) -> tuple[Part, ...] | None:
    parts, before = mujoco_parts(joint), joint.X(joint.zero()).inv().formed()
    if parts is None or any(part.kind == FREE for part in parts):
        return None
    return tuple(replace(part, axis=-part.axis).in_frame(before) for part in reversed(parts))


def _in_sequence(joints: Sequence[JointType], placements: Sequence[Pose]) -> tuple[Part, ...] | None:
    result: list[Part] = []
    start = 0
    for joint, placement in zip(joints, placements, strict=True):
        parts = mujoco_parts(joint)
        if parts is None or any(part.kind in (BALL, FREE) for part in parts):
            return None  # MuJoCo has no rotation after a ball in one body
        result = [part.in_frame(compose(placement, joint.X(joint.zero()))) for part in result]
        result += [replace(part, coordinate=start + part.coordinate) for part in parts]
        start += joint.nv
    return tuple(result)


def keeps_coordinates(joint: JointType) -> bool:
    """Return True if q and v of the MuJoCo joints equal those of ``joint``; free joints may differ in the order."""
    if isinstance(joint, Composite):
        return all(map(keeps_coordinates, joint.joints))
    if isinstance(joint, (Spherical, Floating)):
        return not joint.scalar_last
    return isinstance(joint, (Revolute, Prismatic, Universal, Cylindrical, Translational))


def placed_parts(parts: Sequence[Part], rotor: Pose) -> list[Part]:
    """Return MuJoCo joints in the coordinates of a body.

    ``rotor`` is the pose of the body in the child frame M of linkwork's joint.
    """
    return list(parts) if rotor.is_identity else [part.in_frame(rotor) for part in parts]


def zero_pose(joint: JointType, placement: Pose, rotor: Pose) -> Pose:
    """Return X_parent_body at the joint's zero configuration."""
    X = joint.X(joint.zero())
    return compose(compose(placement, X) if not X.is_identity else placement, rotor)


_SAMPLES = 3  # random configurations in which quantities are compared
_ROUNDING = 1e-12

_SIZES = {BALL: 3, FREE: 6}  # velocities of one joint of MuJoCo, by kind


def qpos_of(body: Body, parts: Sequence[Part], q: Sequence[float]) -> list[float]:
    """Return the coordinates qpos of the MuJoCo joints ``parts`` of a body's joint at the joint's configuration q."""
    kind = parts[0].kind
    if kind == BALL:
        R = body.rotor.rotation
        return [*Quaternion.of(R.T @ body.joint.X(q).rotation @ R).elements()]
    if kind == FREE:
        X = body.placement @ body.joint.X(q) @ body.rotor
        return [*X.translation, *Quaternion.of(X.rotation).elements()]
    values = _values(body.joint, q)
    return [values[part.coordinate] for part in parts]


def qvel_of(body: Body, parts: Sequence[Part], q: Sequence[float], v: Sequence[float]) -> list[float]:
    """Return the velocities qvel of the MuJoCo joints ``parts`` of a body's joint at q with the velocities v."""
    kind = parts[0].kind
    if kind == BALL:
        return [*body.rotor.rotation.inv_act(body.joint.twist(q, v).angular)]
    if kind == FREE:
        twist = body.rotor.inv() @ body.joint.twist(q, v)
        R = (body.placement @ body.joint.X(q) @ body.rotor).rotation
        return [*(R @ twist.linear), *twist.angular]
    rates = _rates(body.joint, q, v)
    return [rates[part.coordinate] for part in parts]


def _values(joint: JointType, q: Sequence[float]) -> list[float]:
    """Return an angle or length for each of the joint's velocities, if it is written as hinges and slides."""
    if joint.parts:
        result, start = [], 0
        for part in joint.parts:
            result += _values(part, q[start : start + part.nq])
            start += part.nq
        return result
    return [float(x) for x in (q if joint.nq == joint.nv else joint.difference(joint.zero(), q))]


def _rates(joint: JointType, q: Sequence[float], v: Sequence[float]) -> list[float]:
    """Return the time derivatives of the angles and lengths of `_values`."""
    if joint.parts:
        result, start, first = [], 0, 0
        for part in joint.parts:
            result += _rates(part, q[start : start + part.nq], v[first : first + part.nv])
            start, first = start + part.nq, first + part.nv
        return result
    return [float(x) for x in (joint.q_dot(q, v) if joint.nq == joint.nv else v)]


@dataclass(frozen=True, slots=True)
class _Sample:
    """Random configuration q of a joint, MuJoCo's coordinates qpos of it, and the matrix G with qvel = G v."""

    q: list[float]
    qpos: list[float]
    G: np.ndarray


class JointMap:
    """Relation between the coordinates of a body's joint and of the MuJoCo joints (parts) that represent it."""

    def __init__(self, body: Body, parts: Sequence[Part]) -> None:
        self.body, self.parts, joint = body, parts, body.joint
        self._samples: list[_Sample] = []
        if joint.nq == joint.nv == 1:  # a hinge or a slide, with the same coordinate
            return
        free = [math.inf] * joint.nq
        drawn = joint.random(np.random.default_rng(0), [-x for x in free], free, (_SAMPLES,)).tolist()
        for q in drawn:
            columns = [qvel_of(body, parts, q, unit) for unit in np.eye(joint.nv).tolist()]
            self._samples.append(_Sample(q, qpos_of(body, parts, q), np.array(columns).T))

    def each(self, values: Sequence[float]) -> list[float]:
        """Return values for the MuJoCo joints from ``values``, one for each velocity of linkwork's joint."""
        return [values[part.coordinate] for part in self.parts]

    def keeps_velocity(self, part: Part) -> bool:
        """Return True if a hinge or slide is one velocity of linkwork's joint, which moves no other MuJoCo joint."""
        k = self.parts.index(part)
        if part.kind in _SIZES:
            return False
        unit = np.eye(len(self.parts))[k]
        rows = [(sample.G[:, part.coordinate], sample.G[k]) for sample in self._samples]
        return all(_same(column, unit) and _same(np.abs(row).sum(), 1.0) for column, row in rows)

    def keeps_resistance(self, values: Sequence[float], power: int) -> bool:
        """Return True if the sum Σ cₖ |vₖ|ᵖ has the same value over MuJoCo's velocities as over those of the joint.

        c are ``values``, p is ``power``, and each MuJoCo joint has a single number c.
        """
        written = self._spread(self.each(values))
        units = np.eye(self.body.joint.nv)
        tries = [*units, *np.random.default_rng(1).normal(size=(2, len(units)))]
        pairs = [
            (np.dot(values, np.abs(v) ** power), np.dot(written, np.abs(sample.G @ v) ** power))
            for sample in self._samples
            for v in tries
        ]
        return all(_near(a, b) for a, b in pairs)

    def keeps_springs(self, stiffness: Sequence[float], spring_position: Sequence[float]) -> bool:
        """Return True if springs of MuJoCo's joints, each with one stiffness and rest position, have the same energy.

        Hinges and slides have a rest position. For an angle by sine and cosine this must be 0: its spring pulls the
        shorter way round.
        """
        body, each = self.body, self.each(stiffness)
        if body.joint.nq != body.joint.nv and any(
            k * x for k, x in zip(each, self.rests(spring_position), strict=True)
        ):
            return False
        for sample in self._samples:
            phi = np.array(body.joint.deflection(spring_position or body.joint.zero(), sample.q), dtype=float)
            if not _near(np.dot(stiffness, phi**2), np.dot(each, self._stretches(sample.qpos, spring_position))):
                return False
        return True

    def rests(self, spring_position: Sequence[float]) -> list[float]:
        """Return the rest position of the spring of each MuJoCo joint; 0 for a ball or free joint."""
        if self.parts[0].kind in _SIZES or not spring_position:
            return [0.0] * len(self.parts)
        return self.each(_values(self.body.joint, spring_position))

    def gears(self, gears: Sequence[float]) -> list[float] | None:
        """Return the gears of MuJoCo's joints that give the same joint force; None if none do.

        ``gears`` has one number for each velocity of linkwork's joint.
        """
        if not self._samples:
            return [*gears]
        result: np.ndarray = self._samples[0].G @ gears
        same = all(_same(sample.G.T @ result, gears) for sample in self._samples)
        return result.tolist() if same else None

    def _spread(self, each: Sequence[float]) -> list[float]:
        """Return a number for each of MuJoCo's velocities, from numbers for each MuJoCo joint.

        The number of a ball or free joint is repeated.
        """
        return [x for x, part in zip(each, self.parts, strict=True) for _ in range(_SIZES.get(part.kind, 1))]

    def _stretches(self, qpos: Sequence[float], spring_position: Sequence[float]) -> list[float]:
        """Return the squared displacement of each MuJoCo joint's spring from its rest position."""
        if self.parts[0].kind not in _SIZES:
            return [(x - y) ** 2 for x, y in zip(qpos, self.rests(spring_position), strict=True)]
        zero = qpos_of(self.body, self.parts, self.body.joint.zero())
        moved = [x - y for x, y in zip(qpos[:-4], zero[:-4], strict=True)]
        turn = (Quaternion(*zero[-4:]).conjugate() @ Quaternion(*qpos[-4:])).log()
        return [float(turn.dot(turn)) + sum(x * x for x in moved)]


def _same(a: ArrayLike, b: ArrayLike) -> bool:
    return np.allclose(a, b, rtol=0.0, atol=_ROUNDING)


def _near(a: float, b: float) -> bool:
    return bool(abs(a - b) <= _ROUNDING * max(1e-300, abs(a), abs(b)))
