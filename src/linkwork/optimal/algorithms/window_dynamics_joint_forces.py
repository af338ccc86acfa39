"""Joint forces of a motion, by inverse dynamics and less those of what else acts, and how they vary with all of it.

    τ(q, v, a, f) = M(q) a + h(q, v) − Σ Jᵀ f − Σ Gᵀ λ,

f being wrenches of contacts and λ what keeps the robot's constraints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import carriers, joint_force_of_wrench
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives_inverse_dynamics_hessian import (
    inverse_dynamics_hessian,
)
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import derivatives
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.mechanisms.algorithms.constraints.constraint_rows import rates_of_some
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact

if TYPE_CHECKING:
    from linkwork.model.tree import Tree

__all__ = ["JointForces", "TorqueSlopes"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


class TorqueSlopes(NamedTuple):
    """How τ varies: by tangent vectors of q, by v and by a, nv × nv each, and by forces of their names."""

    by_q: Matrix
    by_v: Matrix
    by_a: Matrix
    by_forces: Mapping[str, Matrix]


@dataclass(frozen=True)
class JointForces:
    """τ (nv) of what acts on a robot; constraints that depend on time are those at ``time``.

    With ``passive`` it is with what overcomes damping, friction, springs and armature of joints.
    """

    tree: Tree
    acting: tuple[PathContact | ConstraintForce, ...] = ()
    passive: bool = False
    time: Any = 0.0

    def torque(self, q: Scalars, v: Scalars, a: Scalars, forces: Mapping[str, Scalars]) -> list[Any]:
        """τ [N·m, N]."""
        tau = inverse_dynamics(self.tree, q, v, a, self._wrenches(forces), self.passive)
        return self._kept(q, tau, forces)

    def keeping(self, q: Scalars, forces: Mapping[str, Scalars]) -> list[Any]:
        """Of them the part of what keeps constraints, −Σ Gᵀ λ."""
        return self._kept(q, [0.0] * self.tree.nv, forces)

    def slopes(self, q: Scalars, v: Scalars, a: Scalars, forces: Mapping[str, Scalars]) -> TorqueSlopes:
        """By the derivatives of inverse dynamics."""
        tree, wrenches = self.tree, self._wrenches(forces)
        by_q, by_v, by_a = inverse_dynamics_derivatives(tree, q, v, a, wrenches, self.passive)
        by_forces: dict[str, Matrix] = {}
        for contact in self._contacts:
            by_forces[contact.name] = _negative(self._wrench_columns(contact, q))
        for keeping in self._keeping:
            by_forces[keeping.name] = _negative(transposed(self._rows_of(keeping, q)))
        if self._keeping:
            (of_q,) = derivatives(tree, lambda moved: self._kept(moved, [0.0] * tree.nv, forces), q)
            by_q = [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(by_q, of_q, strict=True)]
        return TorqueSlopes(by_q, by_v, by_a, by_forces)

    def curvature(
        self, q: Scalars, v: Scalars, a: Scalars, forces: Mapping[str, Scalars], weights: Scalars
    ) -> tuple[Matrix, ...]:
        """Second derivatives of Σ wᵢ τᵢ by q twice, by q and v, by v twice, and by q and a; of contacts, but not of
        what keeps constraints."""
        return inverse_dynamics_hessian(self.tree, q, v, a, weights, self._wrenches(forces), self.passive)

    def force_curvature(self, q: Scalars, weights: Scalars) -> dict[str, Matrix]:
        """The same by each number of contacts' forces and by q, by name."""
        found = {}
        for contact in self._contacts:

            def along(q: Scalars, contact: PathContact = contact) -> list[Any]:
                rows = self._wrench_columns(contact, q)
                return [-dot([row[k] for row in rows], weights) for k in range(contact.size)]

            (found[contact.name],) = derivatives(self.tree, along, q)
        return found

    def _wrench_columns(self, contact: PathContact, q: Scalars) -> Matrix:
        """Jᵀ (nv × size) of a contact."""
        tree = self.tree
        frame, axes, _ = contact.wrench([0.0] * contact.size)
        split, still = tree.split_q(q), tree.split_v([0.0] * tree.nv)
        found = joint_force_of_wrench(tree, split, carriers(tree, split, still, still), frame, axes)
        return [row[6 - contact.size :] for row in found]

    @property
    def _contacts(self) -> list[PathContact]:
        return [one for one in self.acting if isinstance(one, PathContact)]

    @property
    def _keeping(self) -> list[ConstraintForce]:
        return [one for one in self.acting if isinstance(one, ConstraintForce)]

    def _wrenches(self, forces: Mapping[str, Scalars]) -> list[tuple[str, str, Scalars]]:
        return [contact.wrench(forces[contact.name]) for contact in self._contacts]

    def _rows_of(self, keeping: ConstraintForce, q: Scalars) -> Matrix:
        """G of a constraint."""
        return rates_of_some(self.tree, [keeping.constraint], q, [0.0] * self.tree.nv, self.time).rows

    def _kept(self, q: Scalars, tau: list[Any], forces: Mapping[str, Scalars]) -> list[Any]:
        """Joint forces less those of what keeps constraints, Gᵀ λ."""
        for keeping in self._keeping:
            for row, force in zip(self._rows_of(keeping, q), forces[keeping.name], strict=True):
                tau = [x if is_zero(y) else x - y * force for x, y in zip(tau, row, strict=True)]
        return tau


def _negative(A: Matrix) -> Matrix:
    return [[x if is_zero(x) else -x for x in row] for row in A]
