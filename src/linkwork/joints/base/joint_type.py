"""The contract of a joint type, over any scalar, and the defaults that follow from its transform.

A joint connects two frames: F, fixed to the body before it (the stator), and M, fixed to the body after it (the
rotor).  Its configuration q (nq numbers) gives the pose X_FM, its velocity v (nv numbers) the twist of M relative to
F, S(q) v, in M's coordinates.  A type states nq, nv and ``X``; where a closed form is known it also states the motion
subspace and its bias.  The rest are defaults derived from ``X`` by differentiation.  A type whose q̇ is not v (a
quaternion's) also states the four maps of its manifold: ``q_dot``, ``velocity_from_rate``, ``integrate`` and
``difference``.

Every method takes and gives sequences of scalars of any kind, except the configurations drawn at random, which are
arrays.  A subclass that overrides a transform or a rate does not inherit the closed forms of its base that no longer
hold (`inherited_methods.py`).

Sources: Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, sections 3.5 and 4.4; Duindam, Port-Based
Modeling and Control for Efficient Bipedal Walking Robots, 2006, definition 2.9.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar.functions import fabs, sqrt
from linkwork.joints.base.checks import checked
from linkwork.joints.base.from_transform import Span, independence, rows, square, twist_along, units
from linkwork.joints.base.generic_rank import known_independent, rank, same_motions
from linkwork.joints.base.inherited_methods import drop_outdated_methods
from linkwork.joints.base.pose_inversion import least_squares, left_over, nearest
from linkwork.spatial import Force, Inertia, Motion, Pose, Subspace, Vec3

__all__ = ["JointType"]


Scalars = Sequence[Any]


class JointType(ABC):
    """A joint type with its parameters (an axis, a pitch): an immutable value.

    What is said here of a type is an attribute of the class, or of each joint where it depends on parameters.
    """

    nq: int  # numbers in the configuration q
    nv: int  # numbers in the velocity v: degrees of freedom
    q_units: tuple[str, ...]  # unit of each number of q
    v_units: tuple[str, ...]  # unit of each number of v
    q_names: tuple[str, ...] = ()  # what each number of q is called, where there is more than one
    v_names: tuple[str, ...] = ()
    unit_length: tuple[tuple[int, ...], ...] = ()  # places in q of numbers whose squares add up to 1

    def __init_subclass__(cls, **options: Any) -> None:
        """What is inherited and was said about another transform, or other rates, is dropped or refused."""
        super().__init_subclass__(**options)
        drop_outdated_methods(cls, JointType)

    @classmethod
    def example(cls, rng: np.random.Generator) -> JointType:
        """A joint of this type with random parameters: what random trees and linkwork's own tests are made of.

        Default: NotImplementedError; a type needs it for these alone.
        """
        raise NotImplementedError(f"{cls.__name__}: no random examples: the type does not write `example`")

    # -- kinematics

    @abstractmethod
    def X(self, q: Scalars) -> Pose:
        """The pose X_FM of the frame after the joint in the frame before it."""

    def S(self, q: Scalars) -> Subspace:
        """The motion subspace: the twist of M relative to F, in M's coordinates, is S(q) v.

        Default: S e_k = (X⁻¹ ∂X/∂q q̇(e_k))^∨, by differentiating ``X``.
        """
        return Subspace(tuple(twist_along(self, q, self.q_dot(q, unit)) for unit in units(self.nv)))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """The spatial acceleration of M relative to F, in M's coordinates, while v̇ = 0: Ṡ v.

        Default: by differentiating ``S`` along q̇(v).
        """
        if self.nv == 0:
            return Motion.zero()
        moving = seeded(q, self.q_dot(q, v))
        return Motion.of([parts(x, moving[0].level)[1] for x in (self.S(moving) @ v).elements()])

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        """A basis of the 6 − nv wrenches, in M's coordinates, that do no work on any motion of the joint.

        Where motions depend on each other there are more such wrenches than 6 − nv, of which it gives as many.
        Default: orthonormal ones, by Householder reflections with pivots, good to the last digits at and near such
        configurations.
        """
        return tuple(map(Force.of, Span.of([column.elements() for column in self.S(q).columns]).complement()))

    def twist(self, q: Scalars, v: Scalars) -> Motion:
        """The twist of M relative to F, in M's coordinates: S(q) v."""
        return self.S(q) @ v

    def acceleration(self, q: Scalars, v: Scalars, a: Scalars) -> Motion:
        """The spatial acceleration of M relative to F, in M's coordinates: S(q) a + Ṡ v."""
        return self.S(q) @ a + self.bias(q, v)

    def torque(self, q: Scalars, F: Force) -> list[Any]:
        """The joint forces (nv) of the wrench F that the joint exerts on what is after it, in M's coordinates: Sᵀ F."""
        return self.S(q).T @ F

    # -- the other way: from poses and twists to the joint's numbers

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        """A configuration whose transform is nearest to X: X itself where the joint can take it.

        What is nearest where it cannot, a type says itself: its rotation first, say.  Default: least squares of the
        rotation vector [rad] and position [m] that are left, from zero, and from other configurations where that does
        not lead to X.  Its derivative is right where the joint can take X.
        """
        return nearest(self, X)

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        """The velocity whose twist S(q) v is nearest to V, in M's coordinates: V itself where the joint can move so.

        Least squares of six numbers, in rad/s and m/s.  A motion that depends on others is not used.
        """
        return least_squares([column.elements() for column in self.S(q).columns], V.elements())

    def pose_residual(self, X: Pose) -> Motion:
        """What is left to a pose X from the joint's nearest configuration, in M's coordinates: (rotation vector;
        position).

        Zero where the joint can take X, and there alone: of the wrenches of `constraint_wrench_subspace` some do work
        on any other.  Near there it is the twist that leads to X, as far as these do work on it.
        Default: what is left in X_J⁻¹ X, the rotation vector up to half a turn.
        """
        return left_over(self.X(self.configuration_from_pose(X)), X)

    # -- the configuration's manifold

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        """The configuration's time derivative at velocity v.  Default, where nq = nv: q̇ = v."""
        self._needs("q_dot")
        return list(v)

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        """The velocity at which the configuration changes at rate q̇: the inverse of ``q_dot``."""
        self._needs("velocity_from_rate")
        return list(q_dot)

    def q_dot_jacobian(self, q: Scalars) -> list[list[Any]]:
        """The matrix J (nq × nv) with q̇ = J v: ``q_dot`` is linear in v."""
        return rows([self.q_dot(q, unit) for unit in units(self.nv)], self.nq)

    def velocity_from_rate_jacobian(self, q: Scalars) -> list[list[Any]]:
        """The matrix J (nv × nq) with v = J q̇: ``velocity_from_rate`` is linear in q̇."""
        return rows([self.velocity_from_rate(q, unit) for unit in units(self.nq)], self.nv)

    def velocity_from_rate_adjoint(self, q: Scalars, f_v: Scalars) -> list[Any]:
        """The f_q (nq) with ⟨f_q, q̇⟩ = ⟨f_v, v⟩ for every motion: Jᵀ f_v with J of `velocity_from_rate_jacobian`."""
        columns = [self.velocity_from_rate(q, unit) for unit in units(self.nq)]
        return [sum((a * b for a, b in zip(column, f_v, strict=True)), 0.0) for column in columns]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        """The configuration reached from q by the local coordinates φ (nv): moving at v = φ for unit time."""
        self._needs("integrate")
        return [a + b for a, b in zip(q, phi, strict=True)]

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        """The local coordinates φ (nv) that lead from q to another configuration: ``integrate(q, φ) = other``.

        Angles are counted, whole turns and all: where q has the angle itself, φ is zero only at q.  Rotations written
        in other numbers (quaternions, modified Rodrigues parameters, sine and cosine) go the short way, and φ is zero
        wherever the rotation is the same.
        """
        self._needs("difference")
        return [b - a for a, b in zip(q, other, strict=True)]

    def difference_rate(self, q: Scalars, other: Scalars, v: Scalars) -> list[Any]:
        """φ̇ (nv): how the local coordinates of a configuration change while it moves at velocity v and q stays."""
        if self.nv == 0:
            return []
        moving = seeded(other, self.q_dot(other, v))
        return [parts(x, moving[0].level)[1] for x in self.difference(q, moving)]

    def zero(self) -> list[float]:
        """The configuration that others are measured from: its transform is the identity, if that of any is."""
        return [0.0] * self.nq

    def normalize(self, q: Scalars) -> list[Any]:
        """The configuration on the manifold that is nearest to q.

        Default: numbers that together have length 1 are divided by their length; others are as they are.
        """
        result = list(q)
        for places in self.unit_length:
            length = sqrt(square([q[k] for k in places]))
            for k in places:
                result[k] = q[k] / length
        return result

    def distance(self, q: Scalars) -> Any:
        """How far q is from the manifold, near it: 0 on it, and the Python float 0.0 where every q is a configuration.

        Default: the sum of |x·x − 1|/2 over the numbers x of unit length, which is how far their lengths are from 1;
        for a type that writes ``normalize`` and states no unit length, the length of normalize(q) − q.  NaN where no
        configuration is nearest.
        """
        if self.unit_length:
            return sum((fabs(square([q[k] for k in places]) - 1.0) * 0.5 for places in self.unit_length), 0.0)
        if type(self).normalize is JointType.normalize:
            return 0.0
        return sqrt(sum(((a - b) * (a - b) for a, b in zip(self.normalize(q), q, strict=True)), 0.0))

    def canonical(self, q: Scalars) -> list[Any]:
        """The one of the configurations of the same transform that the type's convention prefers."""
        return list(q)

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Configurations between the bounds, of shape (*size, nq).

        A coordinate without bounds: an angle from [-π, π], a length from [-1, 1] m; with one bound, as far from it.
        """
        low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
        reach = np.array([math.pi if unit == "rad" else 1.0 for unit in self.q_units])
        free = np.isinf(low) & np.isinf(high)
        low, high = np.where(free, -reach, low), np.where(free, reach, high)
        low = np.where(np.isinf(low), high - 2.0 * reach, low)
        high = np.where(np.isinf(high), low + 2.0 * reach, high)
        return rng.uniform(low, high, size=(*size, self.nq))

    # -- where it must not be

    def regularity(self, q: Scalars) -> Any:
        """How far the configuration is from a singularity of the coordinates: 1 far from any, 0 at one.

        There, some motion of the joint has no rate of q, or none of v.  Each type says which it is.
        Default: how independent the motions are, the least part of its size (angles in rad, lengths in m) that one of
        them has beyond those before it; 1 for a single one, and where they are known to be independent.
        """
        if self.nv < 2 or known_independent(self):
            return 1.0
        return independence([column.elements() for column in self.S(q).columns])

    def checked(self, q: Any, name: str = "") -> np.ndarray:
        """The configuration (..., nq) as floats, on the manifold; ``name`` is the joint's, for messages.

        Off it, by ``distance``, it is normalised: with a warning where it is off by more than rounding, 1e-6.
        Raises ValueError for the wrong number of numbers, for what is not finite, and beyond 1e-3.
        """
        return checked(self, q, name)

    # -- the other way round

    def reversed(self) -> JointType:
        """The joint of the opposite direction: X is inverted, and the numbers of q, v and τ are the same.

        ``joint.reversed().reversed() == joint``.
        """
        opposite: JointType = self._reversed_type(self)
        return opposite

    _reversed_type: ClassVar[Any]  # `Reversed`, which sets it where it is defined, as it is a joint type itself

    @property
    def parts(self) -> tuple[JointType, ...]:
        """The joints that it is made of, if it is made of others."""
        return ()

    # -- what makes no difference to it

    def commuting_translations(self) -> tuple[Vec3, ...]:
        """Unit vectors, the same in F and M, along which both frames may be moved together.  Default: none.

        For a translation T along one of them, T⁻¹ X_FM(q) T = X_FM(q) for every q.
        """
        return ()

    def commuting_rotations(self) -> tuple[Vec3, ...]:
        """Unit vectors, the same in F and M, about which both frames may be turned together.  Default: none.

        For a rotation T about one of them, T⁻¹ X_FM(q) T = X_FM(q) for every q.
        """
        return ()

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """The part of an inertia in M that makes a difference to motions of the joint.  Default: all of it.

        The rest, δ, must not resist the joint, δ S(q) = 0, and look the same from F in every configuration,
        X_FM(q) δ = δ: then it acts as if it were fixed to F.
        """
        return inertia

    # -- what kind of joint it is

    @property
    def num_constraints(self) -> int:
        """How many of the six relative motions the joint rules out, in nearly every configuration: 6 less S's rank.

        That is 6 − nv: joints and robots refuse a type whose motions depend on each other everywhere.
        """
        return 6 - rank(self)

    @property
    def is_floating(self) -> bool:
        """Whether the joint rules nothing out."""
        return self.num_constraints == 0

    @property
    def has_fixed_subspaces(self) -> bool:
        """Whether S is the same in every configuration.  Default: as it is in random ones, within 1e-9."""
        return same_motions(self)

    @classmethod
    def type_name(cls) -> str:
        """The type's name in tables and messages: the class's, in words."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cls.__name__).lower()

    # -- how the defaults are derived

    def _say(self, **attributes: Any) -> None:
        """Sets what is said of the type where it depends on parameters; when it is made."""
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def _needs(self, method: str) -> None:
        if self.nq != self.nv:
            raise TypeError(
                f"{type(self).__name__}.{method}: a joint with nq = {self.nq} and nv = {self.nv} has no default here, "
                f"because its configuration's rate is not its velocity; write {type(self).__name__}.{method}"
            )
