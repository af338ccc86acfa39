"""Contract of a joint type over any scalar, with defaults derived from its transform.

A joint connects two frames: F, fixed to the body before it (the stator), and M, fixed to the body after it (the
rotor).  Its configuration q (nq,) determines the pose X_FM.  Its velocity v (nv,) determines the twist S(q) v of M
relative to F, in M's coordinates.  A type states nq, nv and ``X``; where a closed form is known it also states the
motion subspace and its bias.  All other methods have defaults derived from ``X`` by differentiation.  A type with q̇ ≠
v, such as a quaternion's, also states the four maps of its manifold: ``q_dot``, ``velocity_from_rate``, ``integrate``
and ``difference``.

Arguments and results of all methods are sequences of scalars of any kind; only random configurations are arrays.  A
subclass that overrides a transform or a rate does not inherit the closed forms of its base that no longer hold
(`inherited_methods.py`).

Sources: Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, sections 3.5 and 4.4; Duindam, Port-Based Modeling
and Control for Efficient Bipedal Walking Robots, 2006, definition 2.9.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.lazy_imports import LazyModule
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar.functions import fabs, sqrt
from linkwork.joints.base.checks import checked_configuration
from linkwork.joints.base.from_transform import Span, independence, rows, square, twist_along, unit_vectors
from linkwork.joints.base.generic_rank import has_constant_subspace, is_elementary, subspace_rank
from linkwork.joints.base.inherited_methods import drop_outdated_methods
from linkwork.spatial import Force, Inertia, Motion, Pose, Subspace, Vec3

if TYPE_CHECKING:
    from linkwork.joints.base import pose_inversion
else:
    pose_inversion = LazyModule("linkwork.joints.base.pose_inversion")

__all__ = ["JointType"]


Scalars = Sequence[Any]


class JointType(ABC):
    """Joint type with its parameters, such as an axis or a pitch: an immutable value.

    The attributes below are class attributes, or instance attributes where they depend on the parameters.
    """

    nq: int  # size of the configuration q
    nv: int  # size of the velocity v: degrees of freedom
    q_units: tuple[str, ...]  # unit of each coordinate of q
    v_units: tuple[str, ...]  # unit of each coordinate of v
    q_names: tuple[str, ...] = ()  # names of the coordinates of q, if there are several
    v_names: tuple[str, ...] = ()
    unit_length: tuple[tuple[int, ...], ...] = ()  # indices in q of coordinates that together have length 1

    def __init_subclass__(cls, **options: Any) -> None:
        """Replace or refuse inherited methods that were written for another transform or other rates."""
        super().__init_subclass__(**options)
        drop_outdated_methods(cls, JointType)

    @classmethod
    def example(cls, rng: np.random.Generator) -> JointType:
        """Return a joint of this type with random parameters from ``rng``, for random trees and linkwork's own tests.

        Default: raises NotImplementedError.
        """
        raise NotImplementedError(f"{cls.__name__}: no random examples: the type does not write `example`")

    # -- kinematics

    @abstractmethod
    def X(self, q: Scalars) -> Pose:
        """Return the pose X_FM of the frame after the joint in the frame before it, at q (nq,)."""

    def S(self, q: Scalars) -> Subspace:
        """Return the motion subspace, whose product with v is the twist of M relative to F, in M's coordinates.

        Default: S e_k = (X⁻¹ ∂X/∂q q̇(e_k))^∨, by differentiating ``X``.
        """
        return Subspace(tuple(twist_along(self, q, self.q_dot(q, unit)) for unit in unit_vectors(self.nv)))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """Return the spatial acceleration Ṡ v of M relative to F at v̇ = 0, in M's coordinates.

        Default: by differentiating ``S`` along q̇(v).
        """
        if self.nv == 0:
            return Motion.zero()
        moving = seeded(q, self.q_dot(q, v))
        return Motion.of([parts(x, moving[0].level)[1] for x in (self.S(moving) @ v).elements()])

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        """Return a basis of the 6 − nv wrenches, in M's coordinates, that do no work on its motions at q.

        Where motions are linearly dependent, more than 6 − nv such wrenches exist; the method returns 6 − nv of them.
        Default: orthonormal wrenches by pivoted Householder reflections, accurate to rounding at and near such
        configurations.
        """
        return tuple(map(Force.of, Span.of([column.elements() for column in self.S(q).columns]).complement()))

    def twist(self, q: Scalars, v: Scalars) -> Motion:
        """Return the twist S(q) v of M relative to F, in M's coordinates."""
        return self.S(q) @ v

    def acceleration(self, q: Scalars, v: Scalars, a: Scalars) -> Motion:
        """Return the spatial acceleration S(q) a + Ṡ v of M relative to F, in M's coordinates."""
        return self.S(q) @ a + self.bias(q, v)

    def torque(self, q: Scalars, F: Force) -> list[Any]:
        """Return the joint forces Sᵀ F (nv,) of the wrench F at q, in M's coordinates.

        F is the wrench that the joint exerts on the body after it.
        """
        return self.S(q).T @ F

    # -- inverse: from poses and twists to coordinates

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        """Return a configuration whose transform is X, or is nearest to X if the joint cannot reach it.

        Each type defines which pose is nearest; some match the rotation first. Default: nonlinear least squares of the
        remaining rotation vector [rad] and position [m]. The search begins at zero; if it does not reach X, other
        initial configurations are tried. The derivative is exact, also where the joint cannot reach X.
        """
        return pose_inversion.nearest_configuration(self, X)

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        """Return the velocity whose twist S(q) v is nearest to V, in M's coordinates.

        Least squares over the six components, in rad/s and m/s. A column of S that is a linear combination of columns
        before it is not used; its velocity is zero.
        """
        return pose_inversion.least_squares([column.elements() for column in self.S(q).columns], V.elements())

    def pose_residual(self, X: Pose) -> Motion:
        """Return the residual (rotation vector [rad]; position [m]) of a pose that the joint cannot reach.

        It is the difference from the transform of the nearest configuration to X, in M's coordinates.  It is zero if
        and only if the joint can reach X; otherwise some wrench of `constraint_wrench_subspace` does work on it.  Near
        the reachable poses, these wrenches do the same work on the residual as on the twist that leads to X.  Default:
        the difference X_J⁻¹ X, with a rotation vector of up to half a revolution.
        """
        return pose_inversion.pose_error(self.X(self.configuration_from_pose(X)), X)

    # -- the configuration's manifold

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        """Return the time derivative of the configuration at velocity v.  Default for nq = nv: q̇ = v."""
        self._require_default("q_dot")
        return list(v)

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        """Return the velocity at which the configuration changes at rate q̇: the inverse of ``q_dot``."""
        self._require_default("velocity_from_rate")
        return list(q_dot)

    def q_dot_jacobian(self, q: Scalars) -> list[list[Any]]:
        """Return the matrix J (nq × nv) with q̇ = J v."""
        return rows([self.q_dot(q, unit) for unit in unit_vectors(self.nv)], self.nq)

    def velocity_from_rate_jacobian(self, q: Scalars) -> list[list[Any]]:
        """Return the matrix J (nv × nq) with v = J q̇."""
        return rows([self.velocity_from_rate(q, unit) for unit in unit_vectors(self.nq)], self.nv)

    def velocity_from_rate_adjoint(self, q: Scalars, f_v: Scalars) -> list[Any]:
        """Return the force f_q (nq,) on the coordinates q with the same power as the force f_v on the velocities v.

        ⟨f_q, q̇⟩ = ⟨f_v, v⟩ for every motion, so f_q = Jᵀ f_v with J of `velocity_from_rate_jacobian`.
        """
        columns = [self.velocity_from_rate(q, unit) for unit in unit_vectors(self.nq)]
        return [sum((a * b for a, b in zip(column, f_v, strict=True)), 0.0) for column in columns]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        """Return the configuration reached from q by moving at the constant velocity ``phi`` (nv,) for unit time."""
        self._require_default("integrate")
        return [a + b for a, b in zip(q, phi, strict=True)]

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        """Return the tangent vector φ (nv,) from q to another configuration: ``integrate(q, φ) = other``.

        Angles count full revolutions: where q contains the angle itself, φ is zero only at q.  Rotations in other
        coordinates (quaternions, modified Rodrigues parameters, sine and cosine) take the shortest rotation; φ is zero
        wherever the rotation is the same.
        """
        self._require_default("difference")
        return [b - a for a, b in zip(q, other, strict=True)]

    def difference_rate(self, q: Scalars, other: Scalars, v: Scalars) -> list[Any]:
        """Return φ̇ (nv,), the rate of ``difference(q, other)`` while ``other`` moves at velocity v.

        q is constant.
        """
        if self.nv == 0:
            return []
        moving = seeded(other, self.q_dot(other, v))
        return [parts(x, moving[0].level)[1] for x in self.difference(q, moving)]

    def deflection(self, q_rest: Scalars, q: Scalars) -> list[Any]:
        """Return the deflection φ (nv,) at q of springs along the velocity components, at rest at ``q_rest``.

        φ is zero at rest, where its rate is v. Springs of stiffness K have the energy ½ φᵀ K φ. Default:
        ``difference(q_rest, q)``. For planar and floating joints, the linear part of φ is the displacement in the axes
        of M at rest. Springs of positions and of rotations are then independent.
        """
        return self.difference(q_rest, q)

    def deflection_rate(self, q_rest: Scalars, q: Scalars, v: Scalars) -> list[Any]:
        """Return φ̇ (nv,), the rate of ``deflection(q_rest, q)`` while q moves at velocity v."""
        if self.nv == 0:
            return []
        moving = seeded(q, self.q_dot(q, v))
        return [parts(x, moving[0].level)[1] for x in self.deflection(q_rest, moving)]

    def zero(self) -> list[float]:
        """Return the reference configuration: all coordinates zero, by default.

        Its transform is the identity if there is a configuration with this transform.
        """
        return [0.0] * self.nq

    def normalize(self, q: Scalars) -> list[Any]:
        """Return the configuration on the manifold that is nearest to q.

        Default: each group of coordinates in ``unit_length`` is divided by its length; other coordinates are unchanged.
        """
        result = list(q)
        for indices in self.unit_length:
            length = sqrt(square([q[k] for k in indices]))
            for k in indices:
                result[k] = q[k] / length
        return result

    def distance(self, q: Scalars) -> Any:
        """Return the distance of q from the manifold, accurate near it: 0 on it.

        The value is the Python float 0.0 if every q is a configuration, and NaN where no nearest configuration exists.
        Default: the sum of |x·x − 1|/2 over the groups x in ``unit_length``, which approximates how far their lengths
        are from 1.  For a type that overrides ``normalize`` and has no unit length, it is the norm of normalize(q) − q.
        """
        if self.unit_length:
            return sum((fabs(square([q[k] for k in indices]) - 1.0) * 0.5 for indices in self.unit_length), 0.0)
        if type(self).normalize is JointType.normalize:
            return 0.0
        return sqrt(sum(((a - b) * (a - b) for a, b in zip(self.normalize(q), q, strict=True)), 0.0))

    def canonical(self, q: Scalars) -> list[Any]:
        """Return the preferred configuration with the same transform as q.

        Each type defines its convention, for example Euler angles in their principal range.
        """
        return list(q)

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Draw configurations of shape (*size, nq) by ``rng`` within the bounds.

        The bounds ``lower`` and ``upper`` (nq,) may be infinite. A coordinate without bounds is drawn from [-π, π] for
        an angle and from [-1, 1] m for a length.  With one bound, the interval has the same width, 2π or 2 m, from that
        bound.
        """
        low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
        reach = np.array([math.pi if unit == "rad" else 1.0 for unit in self.q_units])
        free = np.isinf(low) & np.isinf(high)
        low, high = np.where(free, -reach, low), np.where(free, reach, high)
        low = np.where(np.isinf(low), high - 2.0 * reach, low)
        high = np.where(np.isinf(high), low + 2.0 * reach, high)
        return rng.uniform(low, high, size=(*size, self.nq))

    # -- singularities and checks

    def regularity(self, q: Scalars) -> Any:
        """Return the regularity of the coordinates at q: 1 far from any singularity, 0 at a singularity.

        At a singularity, some motion of the joint has no finite rate q̇ or no finite v.  Default: the linear
        independence of the columns of S, i.e. the minimum norm of a column's component orthogonal to the earlier
        columns, relative to its own norm (angles in rad, lengths in m).  It is 1 for a single column, and for types
        with columns known to be independent.
        """
        if self.nv < 2 or is_elementary(self):
            return 1.0
        return independence([column.elements() for column in self.S(q).columns])

    def checked(self, q: Any, name: str = "") -> np.ndarray:
        """Return a configuration q (..., nq) as floats on the manifold; ``name`` is the joint's name, for messages.

        A configuration off the manifold, by ``distance``, is normalised, with a ConfigurationWarning if the distance is
        above 1e-6.  Raises ValueError for a wrong size, for values that are not finite, and for distances above 1e-3.
        """
        return checked_configuration(self, q, name)

    # -- reversed direction

    def reversed(self) -> JointType:
        """Return the joint of the opposite direction, with the inverse of X and the same q, v and τ.

        ``joint.reversed().reversed() == joint``.
        """
        from linkwork.joints.reversed import Reversed

        return Reversed(self)

    @property
    def parts(self) -> tuple[JointType, ...]:
        """Joints that this joint is composed of, () for none."""
        return ()

    # -- symmetries

    def commuting_translations(self) -> tuple[Vec3, ...]:
        """Return unit vectors, equal in F and M, along which both frames may be translated together.

        T⁻¹ X_FM(q) T = X_FM(q) for every q and every translation T along one of them.  Default: ().
        """
        return ()

    def commuting_rotations(self) -> tuple[Vec3, ...]:
        """Return unit vectors, equal in F and M, about which both frames may be rotated together.

        T⁻¹ X_FM(q) T = X_FM(q) for every q and every rotation T about one of them.  Default: ().
        """
        return ()

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return the part of a body's inertia, in M, that affects the motions of the joint.  Default: all of it.

        The remainder δ must not resist the joint, δ S(q) = 0, and must be the same in F in every configuration,
        X_FM(q) δ = δ.  It then acts as if it were fixed to F.
        """
        return inertia

    # -- classification

    @property
    def num_constraints(self) -> int:
        """Number of the six relative motions that the joint prevents, in almost every configuration.

        It is 6 minus the rank of S.  This is 6 − nv, as joints and robots refuse types with linearly dependent motions
        in all configurations.
        """
        return 6 - subspace_rank(self)

    @property
    def is_floating(self) -> bool:
        """True if the joint prevents no relative motion."""
        return self.nv >= 6 and self.num_constraints == 0

    @property
    def has_fixed_subspaces(self) -> bool:
        """True if S is the same in every configuration.

        Default: S at random configurations is equal within 1e-9.
        """
        return has_constant_subspace(self)

    @classmethod
    def type_name(cls) -> str:
        """Return the type's name in tables and messages: the name of the class in lower-case words."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cls.__name__).lower()

    # -- for subclasses and defaults

    def _set_attributes(self, **attributes: Any) -> None:
        """Set attributes of the type that depend on its parameters; called by constructors."""
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def _require_default(self, method: str) -> None:
        if self.nq != self.nv:
            raise TypeError(
                f"{type(self).__name__}.{method}: a joint with nq = {self.nq} and nv = {self.nv} has no default, "
                f"because its configuration's rate is not its velocity; write {type(self).__name__}.{method}"
            )
