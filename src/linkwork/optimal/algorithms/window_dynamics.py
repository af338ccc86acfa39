"""Dynamics of a window: joint forces by inverse dynamics with their Jacobians, power, momentum and energy.

Joint forces of step t are evaluated at its middle (Störmer-Verlet),

    τ_t = M(q) a_t + h(q, v̄) − Σ Jᵀ f_t,      q = q_{t−1},  v̄ = (v_t + v_{t−1})/2,

since q_{t−1} belongs to the middle of the step, and v_{t−1} and v_t belong to its ends.  Forces τ_t that are constant
in each step move the robot along the path with an error of second order in the time step.  Contact forces f_t act in
step t: the force that keeps a point fixed from q_{t−1} to q_t is part of τ_t.

Sources: Hairer, Lubich and Wanner, Geometric numerical integration illustrated by the Störmer-Verlet method, Acta
Numerica 12, 2003; Stewart and Trinkle, An implicit time-stepping scheme for rigid body dynamics, Int. J. Numerical
Methods in Engineering 39, 1996 (forces of contacts with the velocities after them).

Joint forces of a motion with contact wrenches f and constraint forces λ are

    τ(q, v, a, f) = M(q) a + h(q, v) − Σ Jᵀ f − Σ Gᵀ λ.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import carriers, joint_force_of_wrench
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import (
    inverse_dynamics_hessian,
    rows_of_inverse_dynamics_derivatives,
)
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import derivatives
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.dynamics.algorithms.momentum.energy_and_power import kinetic_energy, potential_energy
from linkwork.dynamics.algorithms.momentum.momentum import centroidal_momentum, momentum
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState, rates_of_some
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact
from linkwork.optimal.features.feature import FeatureJacobian

if TYPE_CHECKING:
    from linkwork.constraints import Constraint
    from linkwork.model.tree import Tree
    from linkwork.optimal.features.feature import Window

__all__ = ["JointForces", "WindowDynamics"]


Scalars = Sequence[Any]
Matrix = list[list[Any]]


class WindowDynamics:
    """Dynamics of the steps of a path's window: joint forces, power, momentum and energy.

    ``contacts`` are the contact and constraint forces on the robot.
    """

    tree: Tree
    contacts: tuple[PathContact | ConstraintForce, ...] = ()
    passive: bool = True  # joint forces include passive ones by default

    if TYPE_CHECKING:
        time: Any

        @property
        def width(self) -> int: ...
        @property
        def parameter_count(self) -> int: ...
        @property
        def step(self) -> Any: ...
        @property
        def end_gap(self) -> Any: ...

        def configuration(self, back: int = 0) -> list[Any]: ...
        def step_of(self, back: int, order: int = 1) -> Any: ...
        def velocity(self, back: int = 0) -> list[Any]: ...
        def acceleration(self, back: int = 0) -> list[Any]: ...
        def variables(self, name: str, back: int = 0) -> list[Any]: ...
        def columns(self, name: str) -> slice: ...
        def derived(self, values: Callable[[Window], Scalars], depth: int) -> FeatureJacobian: ...

    def torque(self, passive: bool | None = None) -> list[Any]:
        """Return the joint forces τ_t (nv) [N·m, N] by inverse dynamics at (q_{t−1}, v̄, a_t).

        v̄ is `mean_velocity`.  With ``passive`` the forces include damping, friction, springs and armature of joints.
        """
        return self._joint_forces(passive).torque(*self._midpoint_motion(), self._forces())

    def torque_jacobian(self, passive: bool | None = None, indices: Sequence[int] | None = None) -> FeatureJacobian:
        """Return the joint forces τ_t and their Jacobian, by the chain rule from inverse dynamics.

        ``indices`` are the indices in τ of the joint forces to return; None for all.
        """
        motion, forces, dynamics, n = (
            self._midpoint_motion(),
            self._forces(),
            self._joint_forces(passive),
            self.tree.nv,
        )
        indices = range(n) if indices is None else indices
        by_q, by_v, by_a, by_forces = dynamics.torque_derivatives(*motion, forces, rows=frozenset(indices))
        by_q, by_v, by_a = ([by[k] for k in indices] for by in (by_q, by_v, by_a))
        rates = self.derived(lambda w: [*w.mean_velocity(), *w.acceleration()], 2)
        rows = [_summed(_product(by_v, block[:n]), _product(by_a, block[n:])) for block in rates.rows]
        rows[1] = _summed(rows[1], [[*row, *[0.0] * (self.width - self.tree.nv)] for row in by_q])
        for name, result in by_forces.items():
            columns = range(self.width)[self.columns(name)]
            for row, i in zip(rows[0], indices, strict=True):
                for k, x in zip(columns, result[i], strict=True):
                    row[k] = row[k] + x
        parameters = _summed(_product(by_v, rates.parameters[:n]), _product(by_a, rates.parameters[n:]))
        tau = dynamics.torque(*motion, forces)
        return FeatureJacobian([tau[k] for k in indices], rows, parameters)

    def mean_velocity(self) -> list[Any]:
        """Return the velocity v̄ (nv) in the middle of step t."""
        return [0.5 * (x + y) for x, y in zip(self.velocity(), self.velocity(1), strict=True)]

    def power(self, passive: bool | None = None) -> Any:
        """Return the power of joint forces, v̄ · τ_t [W]."""
        _, v, _ = self._midpoint_motion()
        return sum((rate * force for rate, force in zip(v, self.torque(passive), strict=True)), 0.0)

    def momentum(self, about: str = "center_of_mass") -> list[Any]:
        """Return the momentum (angular; linear) (6) at the end of step t [kg·m²/s, kg·m/s].

        ``about`` is "center_of_mass" or "world".
        """
        compute = centroidal_momentum if about == "center_of_mass" else momentum
        return [*compute(self.tree, self.end_configuration(), self.velocity()).elements()]

    def kinetic_energy(self) -> Any:
        """Return the kinetic energy at the end of step t [J]."""
        return kinetic_energy(self.tree, self.end_configuration(), self.velocity())

    def potential_energy(self, back: int = 0) -> Any:
        """Return the potential energy of a step's configuration [J]."""
        return potential_energy(self.tree, self.configuration(back))

    def end_potential_energy(self) -> Any:
        """Return the potential energy at the end of step t [J]."""
        return potential_energy(self.tree, self.end_configuration())

    def end_configuration(self) -> list[Any]:
        """Return the configuration (nq) at the end of step t: q_{t−1} ⊕ ½ τ_t v_t, from the step's middle."""
        gap = self.end_gap
        return integrate(self.tree, self.configuration(1), [gap * x for x in self.velocity()])

    def constraint_velocity(self, constraint: Constraint) -> list[Any]:
        """Return the error A(q) v_t + σ(q, t) of a velocity constraint [m/s, rad/s], at the end of step t."""
        q = self.end_configuration()
        return list(constraint.velocity(KinematicState(self.tree, q, self.velocity(), self.end_time)))

    @property
    def end_time(self) -> Any:
        """Time [s] of the end of step t."""
        return self.time - (self.step - self.end_gap)

    def _midpoint_motion(self) -> tuple[list[Any], list[Any], list[Any]]:
        return self.configuration(1), self.mean_velocity(), self.acceleration()

    def _joint_forces(self, passive: bool | None) -> JointForces:
        """Return the function of joint forces, with constraints at the time of q_{t−1}."""
        passive = self.passive if passive is None else passive
        return JointForces(self.tree, self.contacts, passive, self.time - self.step)

    def _forces(self) -> dict[str, list[Any]]:
        """Return the contact and constraint forces by name."""
        return {force.name: self.variables(force.name) for force in self.contacts}


def _product(A: Matrix, B: Matrix) -> Matrix:
    """Return A B, skipping structural zeros."""
    columns = len(B[0]) if B else 0
    product = [[0.0] * columns for _ in A]
    elements = [[(k, y) for k, y in enumerate(row) if not is_zero(y)] for row in B]
    for row, out in zip(A, product, strict=True):
        for x, elements_of in zip(row, elements, strict=True):
            if not is_zero(x):
                for k, y in elements_of:
                    out[k] = out[k] + x * y
    return product


def _summed(A: Matrix, B: Matrix) -> Matrix:
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]


class TorqueDerivatives(NamedTuple):
    """Derivatives of joint forces τ with respect to q, v and a (nv × nv each), and to the force of each contact.

    Derivatives with respect to q are taken along tangent vectors. ``by_forces`` is a dict by name of the contact or
    constraint.
    """

    by_q: Matrix
    by_v: Matrix
    by_a: Matrix
    by_forces: Mapping[str, Matrix]


@dataclass(frozen=True)
class JointForces:
    """Joint forces τ (nv) as a function of q, v, a, and the forces of contacts and constraints.

    With ``passive`` the joint forces include damping, friction, springs and armature of joints.  Time-dependent
    constraints are evaluated at ``time`` [s].
    """

    tree: Tree
    acting: tuple[PathContact | ConstraintForce, ...] = ()
    passive: bool = False
    time: Any = 0.0

    def torque(self, q: Scalars, v: Scalars, a: Scalars, forces: Mapping[str, Scalars]) -> list[Any]:
        """Return the joint forces τ (nv) [N·m, N] by inverse dynamics."""
        tau = inverse_dynamics(self.tree, q, v, a, self._wrenches(forces), self.passive)
        return self._minus_constraint_forces(q, tau, forces)

    def constraint_part(self, q: Scalars, forces: Mapping[str, Scalars]) -> list[Any]:
        """Return −Σ Gᵀ λ (nv) [N·m, N], the part of the joint forces due to constraint forces λ with Jacobians G."""
        return self._minus_constraint_forces(q, [0.0] * self.tree.nv, forces)

    def torque_derivatives(
        self,
        q: Scalars,
        v: Scalars,
        a: Scalars,
        forces: Mapping[str, Scalars],
        *,
        rows: Container[int] | None = None,
    ) -> TorqueDerivatives:
        """Return the derivatives of τ in q, v, a and forces, from the derivatives of inverse dynamics.

        ``rows`` are the indices in τ whose derivatives are needed, None for all; other rows are incomplete.
        """
        tree, wrenches = self.tree, self._wrenches(forces)
        by_q, by_v, by_a = rows_of_inverse_dynamics_derivatives(tree, q, v, a, rows, wrenches, self.passive)
        by_forces: dict[str, Matrix] = {}
        for name, columns in self._wrench_columns(self._contacts, q).items():
            by_forces[name] = _negative(columns)
        for constraint in self._constraint_forces:
            by_forces[constraint.name] = _negative(transposed(self._constraint_jacobian(constraint, q)))
        if self._constraint_forces:
            (of_q,) = derivatives(tree, lambda moved: self._minus_constraint_forces(moved, [0.0] * tree.nv, forces), q)
            by_q = [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(by_q, of_q, strict=True)]
        return TorqueDerivatives(by_q, by_v, by_a, by_forces)

    def curvature(
        self, q: Scalars, v: Scalars, a: Scalars, forces: Mapping[str, Scalars], weights: Scalars
    ) -> tuple[Matrix, ...]:
        """Return the second derivatives of Σ wᵢ τᵢ with respect to (q, q), (q, v), (v, v) and (q, a).

        τ does not include constraint forces.
        """
        return inverse_dynamics_hessian(self.tree, q, v, a, weights, self._wrenches(forces), self.passive)

    def force_curvature(self, q: Scalars, weights: Scalars) -> dict[str, Matrix]:
        """Return the mixed second derivatives of Σ wᵢ τᵢ with respect to a contact's force and q.

        The result is a dict by name of the contact, with arrays (size, nv).
        """
        result = {}
        for contact in self._contacts:

            def along(q: Scalars, contact: PathContact = contact) -> list[Any]:
                (rows,) = self._wrench_columns([contact], q).values()
                return [-dot([row[k] for row in rows], weights) for k in range(contact.size)]

            (result[contact.name],) = derivatives(self.tree, along, q)
        return result

    def _wrench_columns(self, contacts: Sequence[PathContact], q: Scalars) -> dict[str, Matrix]:
        """Return for each contact, by name, the matrix Jᵀ (nv × size) from its force or wrench to joint forces."""
        tree = self.tree
        split, zero = tree.split_q(q), tree.split_v([0.0] * tree.nv)
        at = carriers(tree, split, zero, zero) if contacts else {}
        result: dict[str, Matrix] = {}
        for contact in contacts:
            frame, axes, _ = contact.wrench([0.0] * contact.size)
            result[contact.name] = joint_force_of_wrench(tree, split, at, frame, axes, contact.size)
        return result

    @property
    def _contacts(self) -> list[PathContact]:
        return [force for force in self.acting if isinstance(force, PathContact)]

    @property
    def _constraint_forces(self) -> list[ConstraintForce]:
        return [force for force in self.acting if isinstance(force, ConstraintForce)]

    def _wrenches(self, forces: Mapping[str, Scalars]) -> list[tuple[str, str, Scalars]]:
        return [contact.wrench(forces[contact.name]) for contact in self._contacts]

    def _constraint_jacobian(self, force: ConstraintForce, q: Scalars) -> Matrix:
        """Return the Jacobian G of a constraint."""
        return rates_of_some(self.tree, [force.constraint], q, [0.0] * self.tree.nv, self.time).rows

    def _minus_constraint_forces(self, q: Scalars, tau: list[Any], forces: Mapping[str, Scalars]) -> list[Any]:
        """Return joint forces ``tau`` minus the joint forces of constraints, Gᵀ λ."""
        for constraint in self._constraint_forces:
            for row, force in zip(self._constraint_jacobian(constraint, q), forces[constraint.name], strict=True):
                tau = [x if is_zero(y) else x - y * force for x, y in zip(tau, row, strict=True)]
        return tau


def _negative(A: Matrix) -> Matrix:
    return [[x if is_zero(x) else -x for x in row] for row in A]
