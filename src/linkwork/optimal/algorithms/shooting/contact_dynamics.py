"""Contact dynamics by time stepping: forward dynamics with contacts and constraints, and their linearisation.

A step of h seconds leads from (q, v) with motor forces u to velocities v⁺ and q⁺ = q ⊕ g v⁺, such that

    M (v⁺ − v) + h (c(q, v) + R(v⁺)) = h (τ(u) + Gᵀ f),      r(q⁺, q) = 0,

with bias forces c, damping and dry friction R of joints (`resisted_velocities`), the constraint Jacobian G at q, and
residuals r of the path's features: a contact point has not moved since the previous step, a loop is closed, wheels roll
at the end of the step.  An inactive contact has f = 0 instead of r = 0.  When a contact begins while the robot moves
against it, the impulse h f stops this motion within the step: an impact without restitution.

f is computed by Newton's method: v⁺ is linear in f, and r and R are linearised about the previous iterate, at first
about rest.  The derivatives of a step follow from the implicit function theorem, with the derivatives of inverse
dynamics and of r,

    dv⁺ = A dx + B du + h M⁻¹Gᵀ df,      S df = −∂r/∂v⁺ (A dx + B du) − ∂r/∂q dq,      S = ∂r/∂v⁺ h M⁻¹Gᵀ,

where M contains h ∂R/∂v⁺.

S is not exactly symmetric, because r is evaluated at the end of the step.  For dependent rows a small diagonal E is
added to S, and the iterations x ← x + (S + E)⁻¹(b − S x) converge to a solution with the robot's motion.

Sources: Stewart and Trinkle, An implicit time-stepping scheme for rigid body dynamics, Int. J. Numerical Methods in
Engineering 39, 1996; Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988 (impacts in steps);
Ryckaert, Ciccotti and Berendsen, Numerical integration of the Cartesian equations of motion of a system with
constraints, J. Comput. Phys. 23, 1977 (Jacobian at the beginning, constraints at the end).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import carriers, joint_force_of_wrench
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import derivatives, integrate_derivatives
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix
from linkwork.expr.control.loops import map_rows, watching_while_loop
from linkwork.expr.linalg.matrix_product import large_product
from linkwork.expr.linalg.sparse_dot import (
    dot,
    identity,
    is_zero,
    product,
    reciprocal_or_zero,
    transposed,
)
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, lt
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.mechanisms.algorithms.constraint_rows import rates_of_some
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import RobotDynamics
from linkwork.optimal.algorithms.shooting.resisted_velocities import (
    friction_velocities,
    linear_resistance,
    next_velocities,
    resistance_slopes,
    velocity_error,
    with_diagonal,
)
from linkwork.optimal.algorithms.shooting.step_dynamics import Dynamics, LinearStep
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact
from linkwork.optimal.features.feature import Feature

__all__ = ["ContactDynamics", "ContactModel", "NearlySymmetricFactors"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]

_TOLERANCE, _MAX_ITERATIONS = 1e-8, 25  # change by the last Newton step [m, rad], whose error is its square
_REGULARIZATION, _REFINEMENTS = 1e-9, 3  # E relative to S's diagonal; solutions with the same factors
_LONG = 1500  # of right-hand sides times contact forces squared, from which on they are solved in a loop
_NOISE = 1e-18  # squared relative size below which a row counts as zero


@dataclass(frozen=True)
class ContactModel:
    """A contact or constraint of a step: the variable of its force, and a feature that is zero while it is active."""

    force: PathContact | ConstraintForce
    feature: Feature


class _StepSolution(NamedTuple):
    """Velocities v⁺ (nv) and contact forces at the end of a step, with the matrices of their equations."""

    v: list[Any]  # v⁺
    forces: list[Any]
    W: Matrix  # h M⁻¹, with the slopes of damping and friction in M
    moving: Matrix  # h M⁻¹Gᵀ
    floors: list[Any]


@dataclass(frozen=True)
class ContactDynamics(RobotDynamics):
    """Forward-dynamics step of a robot with contacts and constraints, by time stepping.

    ``active`` has 1 for each active contact or constraint of ``contact_models``, and 0 for an inactive contact.
    ``time`` is the time [s] of the next configuration.
    """

    contact_models: tuple[ContactModel, ...] = ()
    active: tuple[Any, ...] = ()
    time: Any = 0.0

    @property
    def more(self) -> int:  # type: ignore[override]
        return sum(contact.force.size for contact in self.contact_models)

    def at(self, data: Scalars) -> Dynamics:
        """Return the dynamics of one step, for its entries of ``data``.

        The entries are the time [s] of the next configuration, the time to it divided by h, and a flag for each
        contact: 1 if active.
        """
        active = tuple(data[len(data) - len(self.contact_models) :])
        return replace(self, time=data[0], share=data[1], active=active)

    def forces_by_name(self, values: Scalars) -> Mapping[str, list[Any]]:
        forces, start = {}, 0
        for contact in self.contact_models:
            forces[contact.force.name] = list(values[start : start + contact.force.size])
            start += contact.force.size
        return forces

    def outputs_of_step(self, x: Scalars, u: Scalars) -> list[Any]:
        q, _ = self.split_state(x)
        solution = self._solve_step(x, u)
        return [*integrate(self.tree, q, [a * self.gap for a in solution.v]), *solution.v, *solution.forces]

    def step(self, x: Scalars, u: Scalars) -> list[Any]:
        return self.outputs_of_step(x, u)[: self.state_size]

    # ---- the step

    def _solve_step(self, x: Scalars, u: Scalars) -> _StepSolution:
        (q, v), h, tree = self.split_state(x), self.h, self.tree
        pushes, is_resisted = _less(self.forces(u), bias_force(tree, q, v, (), self.passive)), self.is_resisted
        M = mass_matrix(tree, q, True) if is_resisted else []

        def linearised(z: Scalars) -> tuple[list[Any], Matrix]:
            """Return the velocity v⁺ without contact forces, and the matrix W = h (M + h S)⁻¹ from forces to v⁺.

            S are the slopes of damping and dry friction, which are linearised about the velocity z.
            """
            slopes, added = linear_resistance(tree, v, z) if is_resisted else ([], [0.0] * tree.nv)
            free_inverse = inverse_mass_matrix(tree, q, self.passive) if not is_resisted else None
            inverse = free_inverse or self.resisted_inverse(M, slopes)
            W = [[a if is_zero(a) else a * h for a in row] for row in inverse.matrix]
            return [a + b * h for a, b in zip(v, inverse.applied(_less(pushes, added)), strict=True)], W

        free, W = linearised(v)
        G, floors = self._rows(q, W)
        if not G:
            after = self.velocity(x, u)
            return _StepSolution(after, [], linearised(after)[1] if self.is_resisted else W, [], floors)
        moving = large_product(W, transposed(G))  # h M⁻¹Gᵀ
        scales = friction_velocities(tree) if is_resisted else []

        def more(state: Any) -> Any:
            return and_(lt(1.0, state[3]), lt(state[4], _MAX_ITERATIONS - 0.5))

        def step(state: Any) -> Any:
            before, z = list(state[0]), list(state[1])
            r, D, _ = self._residual(q, before)
            at_forces, by_forces = free, moving
            if scales:
                at_forces, inverse = linearised(z)
                by_forces = large_product(inverse, transposed(G))
            right = [dot(row, before) - a - dot(row, at_forces) for row, a in zip(D, r, strict=True)]
            forces = self._factors(D, by_forces, floors).solved(right)
            new = [a + dot(row, forces) for a, row in zip(at_forces, by_forces, strict=True)]
            changes = (fabs(a - b) * h * (1.0 / _TOLERANCE) for a, b in zip(new, before, strict=True))
            far: Any = reduce(fmax, changes, 0.0)
            if scales:
                far, z = fmax(far, velocity_error(z, new, scales)), next_velocities(z, new)
            return np.array(new), np.array(z), np.array(forces), far, state[4] + 1.0

        # begin at rest: without contacts the robot may move far
        start = np.zeros(tree.nv), np.array(list(v) if scales else []), np.zeros(self.more), 2.0, 0.0
        solution = watching_while_loop(more, step, start, _MAX_ITERATIONS, within=free).state
        after = list(solution[0])
        if scales:
            _, W = linearised(after)
            moving = large_product(W, transposed(G))
        return _StepSolution(after, list(solution[2]), W, moving, floors)

    def _masks(self) -> list[Any]:
        """Return, for each component of the contact forces, 1 if its contact is active, else 0."""
        return [on for model, on in zip(self.contact_models, self.active, strict=True) for _ in range(model.force.size)]

    def _rows(self, q: Scalars, W: Matrix) -> tuple[Matrix, list[Any]]:
        """Return the constraint Jacobian G at q, and a small number for each diagonal element of S, its rounding error.

        S = ∂r/∂v⁺ h M⁻¹Gᵀ is the matrix of the contact forces. Inactive contacts have zero rows in G. ``W`` is h M⁻¹.
        """
        tree, rows, sizes = self.tree, [], []
        split = tree.split_q(q)
        zero = tree.split_v([0.0] * tree.nv)
        at = (
            carriers(tree, split, zero, zero)
            if any(isinstance(x.force, PathContact) for x in self.contact_models)
            else {}
        )
        for contact in self.contact_models:
            if isinstance(contact.force, PathContact):
                frame, axes, _ = contact.force.wrench([0.0] * contact.force.size)
                lines = transposed(joint_force_of_wrench(tree, split, at, frame, axes, contact.force.size))
                squares = [[sum((a * a for a in column), 0.0) for column in zip(*block, strict=True)]
                           for block in (lines[:-3], lines[-3:])]  # fmt: skip
                sizes += [squares[0]] * (len(lines) - 3) + [squares[1]] * 3
                rows += lines
            else:
                rates = rates_of_some(tree, [contact.force.constraint], q, [0.0] * tree.nv, self.time - self.gap)
                rows += rates.rows
                sizes += rates.sizes or [[a * a for a in row] for row in rates.rows]
        rows = [[a if is_zero(a) else a * on for a in row] for row, on in zip(rows, self._masks(), strict=True)]
        diagonal = [row[k] * self.h * _NOISE for k, row in enumerate(W)]
        return rows, [dot(diagonal, size) for size in sizes]

    def _residual(self, q: Scalars, v: Scalars) -> tuple[list[Any], Matrix, Matrix]:
        """Return the residuals r of contacts and constraints at the end of a step, ∂r/∂v⁺ and ∂r/∂q.

        ``v`` is v⁺, the velocity at the end. Inactive contacts have zeros.
        """
        tree, gap, n = self.tree, self.gap, self.tree.nv
        displacement = [a * gap for a in v]
        by_configuration, by_step = integrate_derivatives(tree, q, displacement)
        q_next, gaps = integrate(tree, q, displacement), [gap, gap]
        window = PathWindow(tree, [q_next, list(q)], [self.h, self.h], self.time, gaps=gaps)
        residual: list[Any] = []
        by_v: Matrix = []
        by_q: Matrix = []
        for contact in self.contact_models:
            jacobian = contact.feature.jacobian(window, ())
            end = jacobian.rows[0]
            begin = jacobian.rows[1] if len(jacobian.rows) > 1 else [[0.0] * n for _ in end]
            residual += jacobian.values
            by_v += [_times(row, gap) for row in product(end, by_step)]
            by_q += [_sum(a, b) for a, b in zip(product(end, by_configuration), begin, strict=True)]
        masks = self._masks()
        residual = _each(residual, masks)
        by_v, by_q = ([_times(row, on) for row, on in zip(block, masks, strict=True)] for block in (by_v, by_q))
        return residual, by_v, by_q

    def _factors(self, D: Matrix, moving: Matrix, floors: Scalars) -> NearlySymmetricFactors:
        """Return the factors of S = ∂r/∂v⁺ h M⁻¹Gᵀ, the matrix of the contact forces.

        ``D`` is ∂r/∂v⁺, and ``moving`` is h M⁻¹Gᵀ. ``floors`` are rounding errors of the diagonal elements, which are
        added to S. Inactive contacts have ones on the diagonal.
        """
        S = product(D, moving)
        for k, on in enumerate(self._masks()):
            S[k][k] = S[k][k] + (1.0 - on)
        return NearlySymmetricFactors.of(S, floors)

    # ---- linearisation

    def linear(self, x: Scalars, u: Scalars) -> tuple[list[Any], LinearStep]:
        (q, v), h, gap, tree, n, m = self.split_state(x), self.h, self.gap, self.tree, self.tree.nv, self.controls
        solution = self._solve_step(x, u)
        a = [(b - c) / h for b, c in zip(solution.v, v, strict=True)]
        by_q, by_v = self._force_derivatives(q, v, a, solution.forces)
        if self.is_resisted:
            slopes, begin_slopes = (resistance_slopes(tree, at) for at in (solution.v, v))
            by_v = with_diagonal(by_v, _less(slopes, begin_slopes))
        W = solution.W
        by_both = large_product(W, [[*row_q, *row_v] for row_q, row_v in zip(by_q, by_v, strict=True)])
        unit, zeros = identity(n), [0.0] * n
        left = [
            [
                *(_minus(c) for c in row_q),
                *(_plus(unit[i][k], _minus(c)) for k, c in enumerate(row_v)),
                *(W[i][k] for k in self.actuated),
            ]
            for i, (row_q, row_v) in enumerate((row[:n], row[n:]) for row in by_both)
        ]
        moving = solution.moving
        _, D, by_configuration = self._residual(q, solution.v)
        factors = self._factors(D, moving, solution.floors)
        right = [
            _sum(row, [*position_row, *([0.0] * (n + m))])
            for row, position_row in zip(large_product(D, left), by_configuration, strict=True)
        ]
        sides = [[_minus(b) for b in column] for column in transposed(right)]
        columns = map_rows(factors.solved, sides, in_loops=len(sides) * len(right) ** 2 > _LONG, alike=True)
        forces = transposed(columns)  # df by (dq, dv, du)
        velocity_rows = [_sum(*rows) for rows in zip(left, large_product(moving, forces), strict=True)]
        displacement = [b * gap for b in solution.v]
        by_begin, by_step = integrate_derivatives(tree, q, displacement)
        rows = [[*row, *zeros, *([0.0] * m)] for row in unit]
        position_rows = [[*by_begin[i], *(b if is_zero(b) else b * gap for b in by_step[i])] for i in range(n)]
        identity_rows = [[*zeros, *row] for row in unit]
        y = [*integrate(tree, q, displacement), *solution.v, *solution.forces]
        return y, LinearStep(([*position_rows, *identity_rows], [*rows, *velocity_rows]), tuple(map(tuple, forces)))

    def _force_derivatives(self, q: Scalars, v: Scalars, a: Scalars, forces: Scalars) -> tuple[Matrix, Matrix]:
        """Return the derivatives of M a + c − Gᵀ f with respect to q and to v (nv × nv each), with constant a and f."""
        tree = self.tree
        named = self.forces_by_name(forces)
        acting = [(contact.force, on) for contact, on in zip(self.contact_models, self.active, strict=True)]
        wrenches = [x.wrench(_times(named[x.name], on)) for x, on in acting if isinstance(x, PathContact)]
        by_q, by_v, _ = inverse_dynamics_derivatives(tree, q, v, a, wrenches, self.passive)
        constraints = [contact.force for contact in self.contact_models if isinstance(contact.force, ConstraintForce)]
        if constraints:

            def constraint_forces(q: Scalars) -> list[Any]:
                total: list[Any] = [0.0] * tree.nv
                for constraint in constraints:
                    rates = rates_of_some(tree, [constraint.constraint], q, [0.0] * tree.nv, self.time - self.gap)
                    for row, force in zip(rates.rows, named[constraint.name], strict=True):
                        total = _sum(total, [c if is_zero(c) else c * force for c in row])
                return total

            (of_q,) = derivatives(tree, constraint_forces, q)
            by_q = [_sum(row, [_minus(c) for c in less]) for row, less in zip(by_q, of_q, strict=True)]
        return by_q, by_v

    def curvature(self, x: Scalars, u: Scalars, gradients: Sequence[Scalars]) -> list[list[list[Any]]]:
        raise ValueError("second derivatives of a step are not available with contacts or constraints")


@dataclass(frozen=True, slots=True)
class NearlySymmetricFactors:
    """Factors L U of S + E, for a nearly symmetric, positive semidefinite S and a small diagonal matrix E."""

    E: list[Any]
    L: list[dict[int, Any]]  # below the diagonal, by column
    U: list[dict[int, Any]]  # right of the diagonal, by row
    D_inv: list[Any]

    @staticmethod
    def of(S: Matrix, floors: Scalars) -> NearlySymmetricFactors:
        n = len(S)
        E = [row[k] * _REGULARIZATION + floors[k] for k, row in enumerate(S)]
        left = [{j: x for j, x in enumerate(row) if not is_zero(x)} for row in S]
        for k in range(n):
            left[k][k] = S[k][k] + E[k]
        L: list[dict[int, Any]] = []
        D_inv = []
        for k in range(n):
            inverse = reciprocal_or_zero(left[k][k], eq(left[k][k], 0.0))
            column = {i: left[i][k] * inverse for i in range(k + 1, n) if k in left[i]}
            row = {j: x for j, x in left[k].items() if j > k}
            for i, factor in column.items():
                for j, x in row.items():
                    left[i][j] = left[i].get(j, 0.0) - factor * x
            L.append(column)
            D_inv.append(inverse)
        return NearlySymmetricFactors(
            E, L, [{j: x for j, x in row.items() if j > k} for k, row in enumerate(left)], D_inv
        )

    def solved(self, b: Scalars) -> list[Any]:
        """Return the solution x of S x = b, by three iterations with the same factors."""
        step = x = self._once(b)
        for _ in range(_REFINEMENTS - 1):
            step = self._once([0.0 if is_zero(e) or is_zero(d) else e * d for e, d in zip(self.E, step, strict=True)])
            x = _sum(x, step)
        return x

    def _once(self, b: Scalars) -> list[Any]:
        y = list(b)
        for k, column in enumerate(self.L):
            for i, factor in column.items():
                if not is_zero(y[k]):
                    y[i] = y[i] - factor * y[k]
        for k in range(len(y) - 1, -1, -1):
            for j, x in self.U[k].items():
                if not is_zero(y[j]):
                    y[k] = y[k] - x * y[j]
            y[k] = y[k] if is_zero(y[k]) else y[k] * self.D_inv[k]
        return y


def _less(a: Scalars, b: Scalars) -> list[Any]:
    return [x if is_zero(y) else x - y for x, y in zip(a, b, strict=True)]


def _sum(a: Scalars, b: Scalars) -> list[Any]:
    return [_plus(x, y) for x, y in zip(a, b, strict=True)]


def _plus(x: Any, y: Any) -> Any:
    return y if is_zero(x) else x if is_zero(y) else x + y


def _minus(x: Any) -> Any:
    return x if is_zero(x) else -x


def _each(a: Scalars, b: Scalars) -> list[Any]:
    return [x if is_zero(x) else x * y for x, y in zip(a, b, strict=True)]


def _times(row: Scalars, by: Any) -> list[Any]:
    return [x if is_zero(x) else x * by for x in row]
