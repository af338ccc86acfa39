"""Joint types that break the contract, each in one line, and the line that names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.joints import Ball, Swivel
from linkwork.expr import sin, where
from linkwork.joints import JointType, Revolute, SphericalEuler
from linkwork.spatial import Force, Inertia, Motion, Pose, Rotation, Subspace, Vec3

__all__ = ["BREAKS", "SLIGHT", "Broken", "Crank", "Hinge", "Stated", "WrongSlides", "WrongZero"]

Z = Vec3(0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Hinge(Revolute):
    """A revolute joint to break."""

    axis: Vec3 = Z

    def reversed(self) -> Revolute:
        return type(self)(-self.axis)


@dataclass(frozen=True)
class Turned(Hinge):
    """A hinge in general position."""

    axis: Vec3 = Vec3(0.48, 0.6, 0.64)


class WrongZero(Hinge):
    def zero(self) -> list[float]:
        return [0.5]


class FalseZero(Hinge):
    def pose_residual(self, X: Pose) -> Motion:
        """Sines: zero half a turn away."""
        R = X.rotation
        return Motion(R.inv_act(Z).cross(Z), R.inv_act(X.translation))


class WrongUnits(Hinge):
    q_units = ("rad", "m")


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


class WrongReversed(Hinge):
    def reversed(self) -> Revolute:
        return Revolute(self.axis)


class ReversedOnce(Hinge):
    def reversed(self) -> Revolute:
        return Revolute(-self.axis)


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


class MissedSingularity(SphericalEuler):
    """A joint that hides its singularity: an angle does not move in half of its configurations."""

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


class WithoutChecks(Hinge):
    def checked(self, q: Any, name: str = "") -> np.ndarray:
        return np.asarray(q, dtype=float)


class OffManifold(Ball):
    def random(self, rng: Any, lower: Any, upper: Any, size: Any) -> np.ndarray:
        return 1.0005 * Ball.random(self, rng, lower, upper, size)


class Drifts(Ball):
    """Its steps leave the manifold."""

    def integrate(self, q: Any, phi: Any) -> list[Any]:
        return [a + b for a, b in zip(q, Ball.q_dot(self, q, phi), strict=True)]

    def difference(self, q: Any, q1: Any) -> list[Any]:
        return Ball.velocity_from_rate(self, q, [b - a for a, b in zip(q, q1, strict=True)])


class WrongRates(Hinge):
    """q̇ is v with a factor, and steps know nothing of it."""

    by = 1.0

    def q_dot(self, q: Any, v: Any) -> list[Any]:
        return [(1.0 + self.by) * v[0]]

    def velocity_from_rate(self, q: Any, q_dot: Any) -> list[Any]:
        return [q_dot[0] / (1.0 + self.by)]

    def integrate(self, q: Any, phi: Any) -> list[Any]:
        return [q[0] + phi[0]]

    def difference(self, q: Any, q1: Any) -> list[Any]:
        return [q1[0] - q[0]]


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

    def difference(self, q: Any, q1: Any) -> list[Any]:
        return [(q1[0] - q[0]) / (1.0 + self.by)]


class OnlyScalars(Hinge):
    def canonical(self, q: Any) -> list[Any]:
        return [float(q[0])]


def _scaled(x: Any, by: float) -> Any:
    if isinstance(x, list):
        return [_scaled(scalar, by) for scalar in x]
    return Subspace(tuple(c * (1.0 + by) for c in x.columns)) if isinstance(x, Subspace) else x * (1.0 + by)


def _shifted(q: Any, by: float) -> list[Any]:
    return [x + by for x in q]


def _tilted(axes: Any, by: float) -> tuple[Vec3, ...]:
    return (axes[0] + Vec3(-0.64, 0.48, 0.6) * by,)


def _stretched(X: Pose, by: float) -> Pose:
    R = X.rotation
    return Pose(Rotation(R.x, R.y, R.z * (1.0 + by)), X.translation)


def _leaning(wrenches: tuple[Force, ...], by: float) -> tuple[Force, ...]:
    return (wrenches[0] + Force(Vec3(0.48, 0.6, 0.64) * by, Vec3.zero()), *wrenches[1:])


def _heavier(inertia: Inertia, by: float) -> Inertia:
    return Inertia(inertia.mass, inertia.moment, inertia.about * (1.0 + by))


def _on_symbols(x: list[Any], by: float) -> list[Any]:
    return x if isinstance(x[0], float | np.ndarray) else _scaled(x, by)


def slight(base: type[JointType], method: str, change: Any = _scaled) -> type[JointType]:
    """Return a joint type one method of which deviates by its attribute ``by``."""

    def changed(self: Any, *arguments: Any) -> Any:
        return change(getattr(base, method)(self, *arguments), self.by)

    return type(f"{base.__name__}_{method}", (base,), {"by": 0.0, method: changed})


# a type, the requirements that it breaks, a deviation that breaks them, and one that breaks none
SLIGHT: tuple[tuple[type[JointType], set[str], float, float], ...] = (
    (slight(Crank, "X", _stretched), {"X", "normalize", "reversed"}, 3e-8, 1e-9),
    (slight(Turned, "S"), {"S", "dynamics"}, 3e-8, 3e-9),
    (slight(Crank, "bias"), {"bias", "dynamics"}, 3e-7, 3e-10),
    (slight(Turned, "twist"), {"twist, acceleration", "torque"}, 3e-8, 3e-9),
    (slight(Turned, "acceleration"), {"twist, acceleration"}, 3e-8, 3e-9),
    (slight(Turned, "torque"), {"torque"}, 3e-8, 3e-9),
    (slight(Turned, "canonical", _on_symbols), {"symbols"}, 3e-8, 3e-9),
    (
        slight(Turned, "constraint_wrench_subspace", _leaning),
        {"constraint_wrench_subspace", "pose_residual"},
        3e-8,
        3e-9,
    ),
    (slight(Turned, "q_dot_jacobian"), {"jacobians"}, 3e-8, 3e-9),
    (slight(Turned, "velocity_from_rate_jacobian"), {"jacobians"}, 3e-8, 3e-9),
    (slight(Turned, "velocity_from_rate_adjoint"), {"velocity_from_rate_adjoint", "jacobians"}, 3e-8, 3e-9),
    (slight(Turned, "difference_rate"), {"difference_rate"}, 3e-8, 3e-9),
    (slight(Turned, "deflection"), {"deflection"}, 3e-8, 3e-9),
    (slight(Turned, "deflection_rate"), {"deflection", "deflection_rate"}, 3e-8, 3e-9),
    (slight(Turned, "normalize", _shifted), {"normalize", "distance", "checked", "random"}, 3e-8, 1e-9),
    (slight(Ball, "normalize"), {"normalize"}, 3e-8, 3e-10),
    (slight(Turned, "canonical", _shifted), {"canonical"}, 3e-8, 3e-9),
    (slight(Turned, "zero", _shifted), {"zero"}, 3e-8, 3e-9),
    (slight(Turned, "distance", lambda x, by: x + by), {"distance"}, 3e-9, 3e-10),
    (slight(Turned, "checked", _shifted), {"checked"}, 3e-8, 3e-9),
    (slight(Turned, "random", lambda q, by: 0.0 * q + 0.5 + by), {"random"}, 1e-15, 0.0),
    (slight(Turned, "configuration_from_pose", _shifted), {"configuration_from_pose"}, 3e-8, 3e-9),
    (slight(Turned, "velocity_from_twist"), {"velocity_from_twist"}, 3e-8, 3e-9),
    (slight(Turned, "pose_residual"), {"pose_residual"}, 3e-8, 3e-9),
    (slight(Turned, "regularity"), {"regularity"}, 1e-15, 0.0),
    (
        slight(Turned, "commuting_translations", lambda x, by: (x[0] * (1.0 + by),)),
        {"commuting_translations", "reversed"},
        3e-8,
        3e-9,
    ),
    (slight(Turned, "commuting_translations", _tilted), {"commuting_translations", "reversed"}, 1e-7, 3e-9),
    (slight(Turned, "commuting_rotations", _tilted), {"commuting_rotations", "reversed"}, 1e-7, 3e-9),
    (slight(Turned, "reduced_inertia", _heavier), {"reduced_inertia", "reversed", "dynamics"}, 1e-6, 1e-9),
    (WrongRates, {"S", "q_dot", "deflection"}, 3e-5, 3e-9),
    (WrongInverse, {"velocity_from_rate", "velocity_from_rate_adjoint", "jacobians"}, 3e-8, 3e-9),
    (WrongLocal, {"integrate, difference", "deflection"}, 3e-8, 3e-9),
)

BREAKS: dict[type[JointType], str] = {
    WrongZero: "zero",
    FalseZero: "pose_residual",
    WrongUnits: "sizes",
    NotOverSymbols: "symbols",
    Broken: "bias",
    Stated: "reduced_inertia",
    WrongSlides: "commuting_translations",
    WrongReversed: "reversed",
    ReversedOnce: "reversed",
    WrongUnitLength: "unit_length",
    FarDistance: "distance",
    NoDistance: "distance",
    WrongRegularity: "regularity",
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
    WithoutChecks: "checked",
    OffManifold: "random",
    Drifts: "distance",
    OnlyScalars: "batches",
}
