"""Discrete mechanics of a tree: the momenta at both ends of a step, from a discrete Lagrangian.

Step manifold (`StepSpace`): the displacement φ of a step is in the joints' local coordinates, except for joints that
rotate and translate freely (floating and planar joints, alone or in a composite).  Their frame rotates by φ_ω, and its
origin moves straight by φ_v in the axes of the step's start.  At the midpoint the displacement is (φ_ω, exp(−φ_ω/2)
φ_v) in the axes there.  The path of the origin does not depend on the body's rotation, so a force on the origin does
not rotate the body.

The kinetic energy is evaluated at the midpoint, and the potential energy at both ends (trapezoidal rule),

    S(q, q⁺) = h T(q ⊕ φ/2, w) − h/2 (U(q) + U(q⁺)),      φ = q⁺ ⊖ q,

with w the displacement divided by h, in the axes of the midpoint.  A potential force at an end only acts on the
momentum there, so a force through the centre of mass of a free body does not rotate it.  The momenta p = −D₁S and p⁺ =
D₂S of the kinetic part are, in Euclidean coordinates,

    p = M w − h/2 ∂T/∂q,      p⁺ = M w + h/2 ∂T/∂q      at (q ⊕ φ/2, w),

and otherwise follow by the derivatives of φ and q ⊕ φ/2 by both ends, joint by joint.

Sources: Marsden and West, Discrete mechanics and variational integrators, Acta Numerica 2001, part 1; Lee, Liu, Park
and Srinivasa, A linear-time variational integrator for multibody systems, WAFR 2016 (momenta by recursion).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.dynamics.algorithms.derivatives.momentum_and_energy_derivatives import (
    kinetic_energy_derivatives,
)
from linkwork.dynamics.algorithms.inverse_dynamics import gravity_force
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.dynamics.algorithms.mass_matrix_inverse import ArticulatedInverse, FactoredInverse, inverse_mass_matrix
from linkwork.dynamics.algorithms.momentum.energy_and_power import potential_energy
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.joints.base.checks import call_joint
from linkwork.joints.composite import Composite
from linkwork.joints.planar import Planar
from linkwork.joints.straight_motion import straight_motion_joint
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves.curve_space import CurveSpace, JointSlice
from linkwork.spatial import Quaternion, Vec3
from linkwork.spatial.quaternion import twist_of_translation

__all__ = ["DiscreteMechanics", "Resisted", "with_resistance"]


Scalars = Sequence[Any]
Matrix = list[list[Any]]
Resisted = Sequence[tuple[Scalars, Any]]  # rows r (nv) and coefficients c of resistance c rᵀr


@dataclass(frozen=True, slots=True)
class DiscreteMechanics:
    """Momentum, mass matrix and gravity of a tree, with the momenta at both ends of a step of a discrete Lagrangian.

    ``armature`` includes the inertia of the joints' rotors.
    """

    tree: Tree
    armature: bool

    def momentum(self, q: Scalars, v: Scalars) -> list[Any]:
        """Return the momentum M(q) v (nv), with the mass matrix M."""
        return kinetic_energy_derivatives(self.tree, q, v, self.armature)[1]

    def weight(self, q: Scalars) -> list[Any]:
        """Return ∂U/∂q (nv), the gradient of the potential energy of gravity."""
        return gravity_force(self.tree, q)

    def potential(self, q: Scalars) -> Any:
        """Return the potential energy of gravity [J]."""
        return potential_energy(self.tree, q)

    def inverse(
        self, q: Scalars, added: Scalars | None = None, resisted: Resisted = ()
    ) -> FactoredInverse | ArticulatedInverse:
        """Return the inverse of M(q) + diag(``added``) + Σ c rᵀr.

        ``added`` is (nv), and ``resisted`` contains pairs of a row r (nv) and a coefficient c.
        """
        if not resisted and (added is None or all(map(is_zero, added))):
            return inverse_mass_matrix(self.tree, q, self.armature)
        M = [list(row) for row in mass_matrix(self.tree, q, self.armature)]
        return FactoredInverse.of(self.tree, with_resistance(M, resisted, added))

    @property
    def space(self) -> StepSpace:
        """Space of the configurations, and steps between them."""
        return StepSpace.of(self.tree)

    def halfway(self, q: Scalars, w: Scalars, h: Any) -> tuple[list[Any], list[Any]]:
        """Return the configuration (nq) and the velocity (nv) at the midpoint of a step h w from q."""
        middle, moved = self.space.halfway(q, [h * x for x in w])
        return middle, [x / h for x in moved]

    def leaving_momentum(self, q: Scalars, w: Scalars, h: Any) -> list[Any]:
        """Return the momentum (nv) at the start of a step h w from q, without potential forces.

        It is the negative derivative of h T with respect to the start of the step, with the kinetic energy T at the
        midpoint.
        """
        return self._momentum_at_end(q, w, h, first=True)

    def arriving_momentum(self, q: Scalars, w: Scalars, h: Any) -> list[Any]:
        """Return the momentum (nv) at the end of a step h w from q, without potential forces.

        It is the derivative of h T with respect to the end of the step, with the kinetic energy T at the midpoint.
        """
        return self._momentum_at_end(q, w, h, first=False)

    def _momentum_at_end(self, q: Scalars, w: Scalars, h: Any, first: bool) -> list[Any]:
        """Return the momentum (nv) at one end of a step, the ``first`` or the other."""
        space, phi = self.space, [h * x for x in w]
        middle, moved = space.halfway(q, phi)
        by_q, by_v = kinetic_energy_derivatives(self.tree, middle, [x / h for x in moved], self.armature)
        if space.is_plain:
            return _straight_momentum(by_v, by_q, h, first)
        masses = _carried_masses(self.tree)
        result: list[Any] = []
        for joint_slice in space.joints:
            in_q, in_v = joint_slice.in_q, joint_slice.in_v
            m, g = by_v[in_v], by_q[in_v]
            if joint_slice.is_plain:
                result += _straight_momentum(m, g, h, first)
                continue
            turning = _without_translation(joint_slice, m, [x / h for x in moved[in_v]], masses)
            if joint_slice.has_twist:
                result += _free_momentum(m, g, turning[0][3:6], phi[in_v], moved[in_v], h, first)
                continue
            end = retracted(joint_slice, q[in_q], phi[in_v])
            displacements, turns = _rates_of_step(joint_slice, q[in_q], end, middle[in_q], first)
            each = zip(turning, displacements, turns, strict=True)
            momentum = [
                dot(joint_momentum, displacement_column) + h * dot(g, turn)
                for joint_momentum, displacement_column, turn in each
            ]
            result += [-x for x in momentum] if first else momentum
        return result


def _straight_momentum(m: Scalars, g: Scalars, h: Any, first: bool) -> list[Any]:
    """Return the momentum m ∓ h/2 g at the first or last end of a step, for coordinates with q̇ = v.

    m is the momentum and g = ∂T/∂q the derivative of the kinetic energy at the midpoint; h is the step [s].
    """
    if first:
        return [a - 0.5 * h * b for a, b in zip(m, g, strict=True)]
    return [a + 0.5 * h * b for a, b in zip(m, g, strict=True)]


def _free_momentum(
    m: Scalars, g: Scalars, across: Scalars, phi: Scalars, moved: Scalars, h: Any, first: bool
) -> list[Any]:
    """Return the momentum at an end of the step φ of a joint that rotates and translates freely.

    m and g are the derivatives of the kinetic energy T by velocity and by displacement (6 each), ``moved`` is the
    displacement (6), all in the axes of the midpoint.  ``across`` (3) is the linear part of m without the momentum of
    the carried mass.  With the rotation exp(φ_ω/2) from the start to the midpoint and J the Jacobian of exp, a rotation
    ε of an end changes φ_ω by ∓J(±φ_ω)⁻¹ ε.  It rotates the midpoint by (ε ∓ σ × ε)/2, with σ = tan(|φ_ω|/4) along φ_ω.
    """
    turn = Vec3.of(phi[:3])
    half = Quaternion.exp(turn * 0.5)
    sigma = half.vector * (1.0 / half.w)
    pull = Vec3.of(moved[3:6]).cross(Vec3.of(across)) - Vec3.of(g[:3]) * h
    across_pull = sigma.cross(pull)
    if first:
        angular = twist_of_translation(-turn, Vec3.of(m[:3])) + (pull + across_pull) * 0.5
        return [*angular, *(half.rotation() @ (Vec3.of(m[3:6]) - Vec3.of(g[3:6]) * (0.5 * h)))]
    angular = twist_of_translation(turn, Vec3.of(m[:3])) - (pull - across_pull) * 0.5
    return [*angular, *half.rotation().inv_act(Vec3.of(m[3:6]) + Vec3.of(g[3:6]) * (0.5 * h))]


def _carried_masses(tree: Tree) -> dict[int, Any]:
    """Return the mass [kg] of all bodies that each joint carries, by the index of the joint's first velocity."""
    mass: dict[int, Any] = {}
    for i, p, body in tree.inward():
        mass[i] = mass.get(i, 0.0) + body.inertia.mass
        mass[p] = mass.get(p, 0.0) + mass[i]
    return {range(tree.nv)[tree.v_slices[i]].start: mass[i] for i, _, body in tree.outward() if body.joint.nv}


def _without_translation(joint_slice: JointSlice, m: Scalars, u: Scalars, masses: dict[int, Any]) -> list[Scalars]:
    """Return the part of a joint's momentum m (nv) that acts on each velocity of an end of a step.

    u is the joint's velocity, and ``masses`` are the masses that joints carry.  A rotation of an end about its origin
    changes the displacement of the origin perpendicular to itself.  The momentum M u of the carried mass M is parallel
    to the displacement and has no effect.  It is left out, so rounding does not rotate bodies that move straight.
    """
    result, mass = [m] * joint_slice.joint.nv, masses[joint_slice.v]
    for turns, slides in _translations(joint_slice):
        across = [x - mass * u[k] if k in slides else x for k, x in enumerate(m)]
        result = [across if k in turns else x for k, x in enumerate(result)]
    return result


def _translations(joint_slice: JointSlice) -> list[tuple[range, range]]:
    """Return for each freely moving part of a joint the indices of its angular and of its linear velocities.

    The linear velocities are in axes that rotate with the part.
    """
    if isinstance(joint_slice.joint, Composite):
        each = [(part, in_v.start) for part, _, in_v in composite_parts(joint_slice)]
    else:
        each = [(joint_slice, 0)]
    result = []
    for part, k in each:
        if isinstance(part.joint, Planar):
            result.append((range(k + 2, k + 3), range(k, k + 2)))
        elif part.has_twist:
            result.append((range(k, k + 3), range(k + 3, k + 6)))
    return result


def with_resistance(M: Matrix, resisted: Resisted, added: Scalars | None = None) -> Matrix:
    """Return M + diag(``added``) + Σ c rᵀr of rows r (nv) with coefficients c."""
    for k, x in enumerate(added or ()):
        M[k][k] = M[k][k] + x
    for row, c in resisted:
        moved = [(k, x) for k, x in enumerate(row) if not is_zero(x)]
        for i, x in moved:
            for j, y in moved:
                if j < len(M[i]):
                    M[i][j] = M[i][j] + c * (x * y)
    return M


def _rates_of_step(
    joint_slice: JointSlice, q: Scalars, end: Scalars, middle: Scalars, first: bool
) -> tuple[Matrix, Matrix]:
    """Return the effect of each unit velocity at one end of a step on the midpoint of a joint.

    It is the rate of the joint's displacement, and the velocity of the configuration at the midpoint.  The end is the
    ``first`` or the other.
    """
    joint, n = joint_slice.joint, joint_slice.joint.nv
    rows = call_joint(joint_slice.name, joint, "q_dot_jacobian", q if first else end)
    moving = seeded(q if first else end, [SparseTangent(dict(enumerate(row))) for row in rows])
    level = moving[0].level
    begin, last = (moving, end) if first else (q, moving)
    from_middle, moved = halved(joint_slice, begin, displacement(joint_slice, begin, last))
    displacements, rates = (_columns([parts(x, level)[1] for x in displaced], n) for displaced in (moved, from_middle))
    return displacements, [
        list(call_joint(joint_slice.name, joint, "velocity_from_rate", middle, rate)) for rate in rates
    ]


def _columns(tangents: Scalars, n: int) -> Matrix:
    return [[row.get(k) if isinstance(row, SparseTangent) else 0.0 for row in tangents] for k in range(n)]


@dataclass(frozen=True, slots=True)
class StepSpace:
    """Space of the configurations of a tree, with steps q ⊕ φ, φ = q⁺ ⊖ q, and their midpoints."""

    joints: tuple[JointSlice, ...]  # empty if q is additive and q̇ = v

    @staticmethod
    def of(tree: Tree) -> StepSpace:
        """Return the configuration space of a kinematic tree."""
        return StepSpace(CurveSpace.of(tree).joints)

    @property
    def is_plain(self) -> bool:
        """True if q is additive and q̇ = v."""
        return not self.joints

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        """Return the configuration q ⊕ φ (nq) at the end of a step φ from q."""
        if self.is_plain:
            return [a + b for a, b in zip(q, phi, strict=True)]
        return [
            x for joint_slice in self.joints for x in retracted(joint_slice, q[joint_slice.in_q], phi[joint_slice.in_v])
        ]

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        """Return the step other ⊖ q (nv) that leads from the configuration q to ``other``."""
        if self.is_plain:
            return [b - a for a, b in zip(q, other, strict=True)]
        return [
            x
            for joint_slice in self.joints
            for x in displacement(joint_slice, q[joint_slice.in_q], other[joint_slice.in_q])
        ]

    def halfway(self, q: Scalars, phi: Scalars) -> tuple[list[Any], list[Any]]:
        """Return the configuration (nq) at the midpoint of a step φ, and its displacement (nv) in the axes there."""
        if self.is_plain:
            return [a + 0.5 * b for a, b in zip(q, phi, strict=True)], list(phi)
        middle: list[Any] = []
        moved: list[Any] = []
        for joint_slice in self.joints:
            at, displacement = halved(joint_slice, q[joint_slice.in_q], phi[joint_slice.in_v])
            middle += at
            moved += displacement
        return middle, moved


def retracted(joint_slice: JointSlice, q: Scalars, phi: Scalars) -> list[Any]:
    """Return the configuration q ⊕ φ of a joint at the end of its step φ from q."""
    joint = joint_slice.joint
    if isinstance(joint, Composite):
        return _of_parts(joint_slice, lambda part, q, phi: retracted(part, q, phi), q, phi)
    if isinstance(joint, Planar):
        dx, dy, _ = joint.q_dot(q, phi)
        return [q[0] + dx, q[1] + dy, q[2] + phi[2]]
    return joint_slice.integrate(q, phi, True)


def displacement(joint_slice: JointSlice, q: Scalars, end: Scalars) -> list[Any]:
    """Return the step end ⊖ q of a joint that leads from its configuration q to ``end``."""
    joint = joint_slice.joint
    if isinstance(joint, Composite):
        result: list[Any] = []
        for part, in_q, _ in composite_parts(joint_slice):
            result += displacement(part, q[in_q], end[in_q])
        return result
    if isinstance(joint, Planar):
        return joint.velocity_from_rate(q, [b - a for a, b in zip(q, end, strict=True)])
    return joint_slice.difference(q, end, True)


def halved(joint_slice: JointSlice, q: Scalars, phi: Scalars) -> tuple[list[Any], list[Any]]:
    """Return the configuration at the midpoint of a joint's step φ, and the displacement in the axes there."""
    joint = joint_slice.joint
    if isinstance(joint, Composite):
        middle: list[Any] = []
        moved: list[Any] = []
        for part, in_q, in_v in composite_parts(joint_slice):
            at, displacement = halved(part, q[in_q], phi[in_v])
            middle += at
            moved += displacement
        return middle, moved
    at = retracted(joint_slice, q, [0.5 * x for x in phi])
    if isinstance(joint, Planar):
        return at, joint.velocity_from_rate(at, joint.q_dot(q, phi))
    if joint_slice.has_twist:
        along = joint.X(q).rotation @ Vec3.of(phi[3:6])
        return at, [*phi[:3], *joint.X(at).rotation.inv_act(along)]
    straight = straight_motion_joint(joint)
    if straight is not joint:  # a reversed joint, whose step is uniform in other velocities
        steady = straight.velocity_from_rate(q, joint.q_dot(q, phi))
        return at, joint.velocity_from_rate(at, straight.q_dot(at, steady))
    return at, list(phi)


def composite_parts(joint_slice: JointSlice) -> list[tuple[JointSlice, slice, slice]]:
    """Return the parts of a composite joint, with their slices of its q and v."""
    result, q, v = [], 0, 0
    for part in joint_slice.joint.parts:
        result.append((JointSlice(joint_slice.name, part, 0, 0), slice(q, q + part.nq), slice(v, v + part.nv)))
        q, v = q + part.nq, v + part.nv
    return result


def _of_parts(joint_slice: JointSlice, compute: Callable[..., list[Any]], q: Scalars, phi: Scalars) -> list[Any]:
    return [x for part, in_q, in_v in composite_parts(joint_slice) for x in compute(part, q[in_q], phi[in_v])]
