"""Joints as a user would write them, and every type of joint there is with a random example or two."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr.scalar.functions import cos, sin
from linkwork.joints import ALL, Composite, Ellipsoid, JointType, Reversed
from linkwork.joints.axis import random_axis
from linkwork.spatial import Pose, Quaternion, Rotation, Vec3

Scalars = Sequence[Any]


@dataclass(frozen=True)
class Helical(JointType):
    """q (1,): angle [rad]; it advances along its axis as it turns.  Written with its transform alone."""

    axis: Vec3
    pitch: Any  # advance per radian [m/rad]

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Helical:
        return cls(random_axis(rng), float(rng.normal()))

    def X(self, q: Scalars) -> Pose:
        return Pose(Rotation.about(self.axis, q[0]), self.axis * (self.pitch * q[0]))


@dataclass(frozen=True)
class Cam(JointType):
    """q (1,): the cam's angle [rad]; what follows it turns and moves in the plane, both nonlinearly."""

    lift: float
    wobble: float

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Cam:
        return cls(float(rng.uniform(0.1, 0.5)), float(rng.uniform(0.1, 0.5)))

    def X(self, q: Scalars) -> Pose:
        turn = q[0] + self.wobble * sin(2.0 * q[0])
        return Pose(
            Rotation.about(Vec3(0.0, 0.0, 1.0), turn),
            Vec3(self.lift * (1.0 - cos(q[0])), self.lift * q[0] * q[0], 0.0),
        )


@dataclass(frozen=True)
class Swivel(JointType):
    """q (2,): two angles [rad] about crossing axes, with an arm between that lengthens as they turn."""

    arm: float

    nq, nv = 2, 2
    q_units, v_units = ("rad", "rad"), ("rad/s", "rad/s")
    q_names = v_names = ("first", "second")

    @classmethod
    def example(cls, rng: np.random.Generator) -> Swivel:
        return cls(float(rng.uniform(0.2, 1.0)))

    def X(self, q: Scalars) -> Pose:
        first = Pose(Rotation.about(Vec3(0.48, 0.6, 0.64), q[0]), Vec3(1.0, 0.3, -0.4) * (self.arm * sin(q[0] * q[1])))
        second = Pose(Rotation.about(Vec3(-0.64, 0.48, 0.6), q[1]), Vec3(0.2, -0.3, 1.0) * (self.arm * q[0]))
        return first @ second


@dataclass(frozen=True)
class Ball(JointType):
    """q (4,): unit quaternion (w, x, y, z) of R_FM.  v (3,): angular velocity in M [rad/s].  S is derived."""

    nq, nv = 4, 3
    q_units, v_units = ("1",) * 4, ("rad/s",) * 3
    q_names, v_names = ("qw", "qx", "qy", "qz"), ("wx", "wy", "wz")
    unit_length = ((0, 1, 2, 3),)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Ball:
        return cls()

    def X(self, q: Scalars) -> Pose:
        return Pose(Quaternion(*q).rotation(), Vec3.zero())

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        return [0.5 * x for x in (Quaternion(*q) @ Quaternion(0.0, *v)).elements()]

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        return list((Quaternion(*q).conjugate() @ Quaternion(*q_dot)).vector * 2.0)

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        return list((Quaternion(*q) @ Quaternion.exp(Vec3.of(phi))).normalized().elements())

    def difference(self, q: Scalars, q1: Scalars) -> list[Any]:
        return list((Quaternion(*q).conjugate() @ Quaternion(*q1)).log())

    def zero(self) -> list[float]:
        return [1.0, 0.0, 0.0, 0.0]

    def normalize(self, q: Scalars) -> list[Any]:
        return list(Quaternion(*q).normalized().elements())

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        q = rng.normal(size=(*size, 4))
        return q / np.linalg.norm(q, axis=-1, keepdims=True)


def bare(joint: JointType) -> JointType:
    """The same joint with nothing but what the contract derives from its transform."""
    stripped = {
        name: getattr(JointType, name) for name in ("S", "bias", "constraint_wrench_subspace", "has_fixed_subspaces")
    }
    parameters = {field.name: getattr(joint, field.name) for field in dataclasses.fields(joint)}
    return type(f"Bare{type(joint).__name__}", (type(joint),), stripped)(**parameters)


def transform_at_zero(joint: JointType) -> Pose:
    """The identity, but for the types that have no configuration of this transform."""
    if isinstance(joint, Reversed):
        return transform_at_zero(joint.joint).inv().formed()
    if isinstance(joint, Ellipsoid):
        return Pose(Rotation.identity(), Vec3(0.0, 0.0, joint.c))
    X = Pose.identity()
    for part, placement in zip(joint.joints, joint.placements, strict=True) if isinstance(joint, Composite) else ():
        X = X @ placement @ transform_at_zero(part)
    return X


def unit_length_indices(joint: JointType) -> list[int]:
    """The places in q of numbers that bounds do not apply to: of a quaternion, say."""
    return [k for positions in joint.unit_length for k in positions]


def scaled(value: Any, L: float) -> Any:
    """The joint with its lengths times L: numbers among the parameters of a joint are lengths, but for axes."""
    if isinstance(value, Pose):
        return Pose(value.rotation, value.translation * L)
    if isinstance(value, tuple):
        return tuple(scaled(x, L) for x in value)
    if isinstance(value, JointType):
        parameters = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **{name: scaled(x, L) for name, x in parameters.items()})
    return value * L if isinstance(value, float) else value


def rotation_vector(joint: JointType) -> list[int]:
    """The places in v of angular velocities where q̇ is not v: their steps are found again up to half a turn."""
    free = type(joint).q_dot is not JointType.q_dot
    return [k for k, unit in enumerate(joint.v_units) if unit == "rad/s"] if free else []


WRITTEN_BY_USERS: tuple[type[JointType], ...] = (Helical, Cam, Swivel, Ball)
EXAMPLES: dict[str, JointType] = {
    f"{kind.type_name()}-{k}": kind.example(np.random.default_rng(k))
    for kind in ALL
    for k in range(2 if dataclasses.fields(kind) else 1)
}
THEIRS: dict[str, JointType] = {t.type_name(): t.example(np.random.default_rng(5)) for t in WRITTEN_BY_USERS}
EVERY = EXAMPLES | THEIRS
