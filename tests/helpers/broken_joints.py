"""Joint types that break the contract, each in one line, and the line that names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.joints import Ball, Swivel
from linkwork.expr import sin, where
from linkwork.joints import JointType, Revolute, SphericalEuler
from linkwork.spatial import Inertia, Motion, Pose, Rotation, Subspace, Vec3

__all__ = ["BREAKS", "Broken", "Crank", "Hinge", "Stated", "WrongSlides", "WrongZero"]

Z = Vec3(0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Hinge(Revolute):
    """A revolute joint to break."""

    axis: Vec3 = Z


class WrongSubspace(Hinge):
    def S(self, q: Any) -> Subspace:
        return Subspace((Motion(Vec3.zero(), Z),))


class WrongBias(Hinge):
    def bias(self, q: Any, v: Any) -> Motion:
        return Motion(Z, Vec3.zero())


class WrongZero(Hinge):
    def zero(self) -> list[float]:
        return [0.5]


class NotRigid(Hinge):
    def X(self, q: Any) -> Pose:
        R = Rotation.about(Z, q[0])
        return Pose(Rotation(R.x, R.y, R.z * 2.0), Vec3.zero())


class WrongReached(Hinge):
    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return [0.1]


class WrongVelocity(Hinge):
    def velocity_from_twist(self, q: Any, V: Motion) -> list[Any]:
        return [2.0 * Z.dot(V.angular)]


class FalseZero(Hinge):
    def pose_residual(self, X: Pose) -> Motion:
        """Sines: zero half a turn away."""
        R = X.rotation
        return Motion(R.inv_act(Z).cross(Z), R.inv_act(X.translation))


class WrongUnits(Hinge):
    q_units = ("rad", "m")


class WrongRandom(Hinge):
    def random(self, rng: Any, lower: Any, upper: Any, size: Any) -> np.ndarray:
        return np.full((*size, 1), 10.0)


class WrongNormal(Hinge):
    def normalize(self, q: Any) -> list[Any]:
        return [q[0] + 1.0]


class WrongPrincipal(Hinge):
    def canonical(self, q: Any) -> list[Any]:
        return [0.0]


class NotOverSymbols(Hinge):
    def X(self, q: Any) -> Pose:
        if q[0] > 0.0:
            return super().X(q)
        return super().X(q)


class Broken(Hinge):
    def bias(self, q: Any, v: Any) -> Motion:
        return q.nonsense


@dataclass(frozen=True)
class Crank(Hinge):
    """A hinge whose frame also swings: what a hinge says of itself does not hold for it."""

    def X(self, q: Any) -> Pose:
        return Pose(Rotation.about(Z, q[0]), Vec3(0.3 * sin(q[0]), 0.0, 0.1 * q[0]))


@dataclass(frozen=True)
class Stated(Crank):
    """A crank that says of itself what a hinge may say: outright, so that it is kept."""

    commuting_translations = Revolute.commuting_translations
    commuting_rotations = Revolute.commuting_rotations
    reduced_inertia = Revolute.reduced_inertia

    def X(self, q: Any) -> Pose:
        return Crank.X(self, q)


class WrongSlides(Hinge):
    """M of a robot with it would be wrong, where the robot's lengths invite sliding."""

    def commuting_translations(self) -> tuple[Vec3, ...]:
        return (Vec3(1.0, 0.0, 0.0),)


class LongSlides(Hinge):
    def commuting_translations(self) -> tuple[Vec3, ...]:
        return (Vec3(0.0, 0.0, 2.0),)


class WrongTurns(Hinge):
    def commuting_rotations(self) -> tuple[Vec3, ...]:
        return (Vec3(0.0, 1.0, 0.0),)


class WrongFelt(Hinge):
    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        return Inertia(0.0, Vec3.zero(), inertia.about)


class WrongReversed(Hinge):
    def reversed(self) -> Revolute:
        return Revolute(self.axis)


class ReversedOnce(Hinge):
    def reversed(self) -> Revolute:
        return Revolute(-self.axis)


class WrongDistance(Hinge):
    def distance(self, q: Any) -> Any:
        return 1e-3 * q[0] * q[0]


class WrongUnitLength(Hinge):
    unit_length = ((0,),)


class FarDistance(Ball):
    def distance(self, q: Any) -> Any:
        return 100.0 * Ball.distance(self, q)


class NoDistance(Ball):
    def distance(self, q: Any) -> Any:
        return 0.0


class WrongRegularity(Hinge):
    """Singular far out, where nothing is."""

    def regularity(self, q: Any) -> Any:
        return 1.0 / (1.0 + q[0] * q[0])


class LargeRegularity(Hinge):
    def regularity(self, q: Any) -> Any:
        return 2.0


class MissedSingularity(SphericalEuler):
    """In half of its configurations an angle stands still, and it does not say so."""

    def X(self, q: Any) -> Pose:
        return SphericalEuler.X(self, [q[0], where(q[0] > 0.0, q[1], 0.3), q[2]])

    def regularity(self, q: Any) -> Any:
        return 1.0


class WrongFixed(Hinge):
    @property
    def has_fixed_subspaces(self) -> bool:
        return False


class NotFixed(Crank):
    @property
    def has_fixed_subspaces(self) -> bool:
        return True


class WrongCount(Hinge):
    @property
    def num_constraints(self) -> int:
        return 4


class Floats(Hinge):
    @property
    def is_floating(self) -> bool:
        return True


class WrongParts(Hinge):
    @property
    def parts(self) -> Any:
        return ("axis",)


class NoUnits(Hinge):
    q_units = ("degrees",)


class OtherUnits(Hinge):
    v_units = ("m/s",)


class OneName(Swivel):
    q_names = ("angle", "angle")


class NoTypeName(Hinge):
    @classmethod
    def type_name(cls) -> str:
        return ""


class WrongExample(Hinge):
    @classmethod
    def example(cls, rng: np.random.Generator) -> Any:
        return Revolute((0.0, 0.0, 1.0))


class WrongTwist(Hinge):
    def twist(self, q: Any, v: Any) -> Motion:
        return Motion(Z * (2.0 * v[0]), Vec3.zero())


class WrongAcceleration(Hinge):
    def acceleration(self, q: Any, v: Any, a: Any) -> Motion:
        return Motion(Z * (a[0] + v[0]), Vec3.zero())


class WrongTorque(Hinge):
    def torque(self, q: Any, F: Any) -> list[Any]:
        return [F.moment.x]


class WrongWrenches(Hinge):
    def constraint_wrench_subspace(self, q: Any) -> Any:
        return JointType.constraint_wrench_subspace(Revolute((1.0, 0.0, 0.0)), q)


class WrongJacobian(Hinge):
    def q_dot_jacobian(self, q: Any) -> list[list[Any]]:
        return [[2.0]]


class WrongOtherJacobian(Hinge):
    def velocity_from_rate_jacobian(self, q: Any) -> list[list[Any]]:
        return [[2.0]]


class WrongAdjoint(Hinge):
    def velocity_from_rate_adjoint(self, q: Any, f_v: Any) -> list[Any]:
        return [-f_v[0]]


class WrongLocalRate(Hinge):
    def difference_rate(self, q: Any, other: Any, v: Any) -> list[Any]:
        return [0.0]


class ChecksNothing(Hinge):
    def checked(self, q: Any, name: str = "") -> np.ndarray:
        return np.asarray(q, dtype=float)


class OffManifold(Ball):
    def random(self, rng: Any, lower: Any, upper: Any, size: Any) -> np.ndarray:
        return 1.0005 * Ball.random(self, rng, lower, upper, size)


class Drifts(Ball):
    """Its steps leave the manifold."""

    def integrate(self, q: Any, phi: Any) -> list[Any]:
        return [a + b for a, b in zip(q, Ball.q_dot(self, q, phi), strict=True)]

    def difference(self, q: Any, other: Any) -> list[Any]:
        return Ball.velocity_from_rate(self, q, [b - a for a, b in zip(q, other, strict=True)])


class WrongRates(Hinge):
    """v is half of q̇, and steps know nothing of it."""

    def q_dot(self, q: Any, v: Any) -> list[Any]:
        return [2.0 * v[0]]

    def velocity_from_rate(self, q: Any, q_dot: Any) -> list[Any]:
        return [0.5 * q_dot[0]]

    def integrate(self, q: Any, phi: Any) -> list[Any]:
        return [q[0] + phi[0]]

    def difference(self, q: Any, other: Any) -> list[Any]:
        return [other[0] - q[0]]


class WrongInverse(WrongRates):
    def q_dot(self, q: Any, v: Any) -> list[Any]:
        return [v[0]]

    velocity_from_rate, integrate, difference = (
        WrongRates.velocity_from_rate,
        WrongRates.integrate,
        WrongRates.difference,
    )


class WrongLocal(WrongRates):
    q_dot, velocity_from_rate, integrate = JointType.q_dot, JointType.velocity_from_rate, JointType.integrate

    def difference(self, q: Any, other: Any) -> list[Any]:
        return [0.5 * (other[0] - q[0])]


class OtherOnSymbols(Hinge):
    """On floats and arrays one thing, on symbols another."""

    def torque(self, q: Any, F: Any) -> list[Any]:
        return [F.moment.z] if isinstance(q[0], float | np.ndarray) else [F.moment.x]


class OnlyScalars(Hinge):
    def canonical(self, q: Any) -> list[Any]:
        return [float(q[0])]


BREAKS: dict[type[JointType], str] = {
    WrongSubspace: "S",
    WrongBias: "bias",
    WrongZero: "zero",
    NotRigid: "X",
    WrongReached: "configuration_from_pose",
    WrongVelocity: "velocity_from_twist",
    FalseZero: "pose_residual",
    WrongUnits: "sizes",
    WrongRandom: "random",
    WrongNormal: "normalize",
    WrongPrincipal: "canonical",
    NotOverSymbols: "symbols",
    Broken: "bias",
    Stated: "reduced_inertia",
    WrongSlides: "commuting_translations",
    LongSlides: "commuting_translations",
    WrongTurns: "commuting_rotations",
    WrongFelt: "reduced_inertia",
    WrongReversed: "reversed",
    ReversedOnce: "reversed",
    WrongDistance: "distance",
    WrongUnitLength: "unit_length",
    FarDistance: "distance",
    NoDistance: "distance",
    WrongRegularity: "regularity",
    LargeRegularity: "regularity",
    MissedSingularity: "regularity",
    WrongFixed: "has_fixed_subspaces",
    NotFixed: "has_fixed_subspaces",
    WrongCount: "degrees of freedom",
    Floats: "degrees of freedom",
    WrongParts: "value",
    NoUnits: "names and units",
    OtherUnits: "names and units",
    OneName: "names and units",
    NoTypeName: "names and units",
    WrongExample: "value",
    WrongTwist: "twist, acceleration",
    WrongAcceleration: "twist, acceleration",
    WrongTorque: "torque",
    WrongWrenches: "constraint_wrench_subspace",
    WrongJacobian: "jacobians",
    WrongOtherJacobian: "jacobians",
    WrongAdjoint: "velocity_from_rate_adjoint",
    WrongLocalRate: "difference_rate",
    ChecksNothing: "checked",
    OffManifold: "random",
    Drifts: "distance",
    WrongRates: "q_dot",
    WrongInverse: "velocity_from_rate",
    WrongLocal: "integrate, difference",
    OtherOnSymbols: "symbols",
    OnlyScalars: "batches",
}
