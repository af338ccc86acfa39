"""KKT conditions of one step of an optimal motion, and their derivatives, for the motion's sensitivity.

A step has a state x, decision variables z, and the next state y.  Its equations are implicit, e(x, z, y) = 0; for
forward dynamics with z = (u; f)

    S u − (M(q) a + c(q, v) + R(v⁺) − Gᵀ f) = 0,      a = (v⁺ − v)/h,      q⁺ = q ⊕ h v⁺,      r(q⁺, q) = 0,

with contact forces f, contact residuals r, and damping and friction R.  So no derivative of M⁻¹ is needed.  With the
rows r of cost terms, their multipliers μ and the multipliers p of the step equations, an optimal motion satisfies,
with a sum over all of its steps,

    ∂/∂(x, z, y) Σ (costs and half the squares + μᵀ r + pᵀ e) = 0.

As in `path_kkt`, the derivative of the motion with respect to an input θ follows from the second derivatives of this
sum.

The equations of all steps are banded.  `solve_stages` solves them by orthogonal (QR) elimination, step by step.
Overdetermined equations are solved in the least-squares sense; undetermined unknowns have least norm.

Sources: Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, 1983; Golub and Van Loan,
Matrix Computations, 4th ed., 2013, section 5.3 (least squares), applied to a band.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import where
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.algorithms.shooting.augmented_cost import CONSTRAINTS, counts
from linkwork.optimal.algorithms.shooting.contact_dynamics import ContactDynamics
from linkwork.optimal.algorithms.shooting.cost_terms import CostTerms
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import RobotDynamics
from linkwork.optimal.algorithms.shooting.inverse_dynamics_steps import InverseDynamics, joint_forces
from linkwork.optimal.algorithms.shooting.resisted_velocities import added_resistance
from linkwork.optimal.algorithms.window_dynamics import JointForces

__all__ = ["StageRows", "StepConditions", "decision_count", "solve_stages", "step_equation_count"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def uses_inverse_dynamics(dynamics: RobotDynamics) -> bool:
    """Return True if the equations of a step are inverse dynamics, False if they are y ⊖ f(x, u) = 0."""
    return not isinstance(dynamics, InverseDynamics) and dynamics.staggers


def decision_count(dynamics: RobotDynamics) -> int:
    """Return the number of decision variables of a step: controls and contact forces."""
    return dynamics.controls + dynamics.more


def step_equation_count(dynamics: RobotDynamics) -> int:
    """Return the number of equations e(x, z, y) = 0 of a step between states x and y, with decision variables z."""
    return dynamics.size + dynamics.more


@dataclass(frozen=True)
class StepConditions:
    """KKT conditions of one step of an optimal motion.

    The methods need Lagrange multipliers for all components of `rows`; those of costs and squares are not used.
    """

    terms: CostTerms
    weights: Scalars  # of moving and of reached rows
    data: Scalars

    @property
    def _dynamics(self) -> RobotDynamics:
        dynamics = self.terms.dynamics.at(list(self.data))
        assert isinstance(dynamics, RobotDynamics)
        return dynamics

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each component of `rows`.

        A component has the kind of its term, "equality" for step equations, and "output" for motor forces.
        """
        terms = self.terms
        step = ("equality",) * step_equation_count(terms.dynamics)
        return (*terms.moving_kinds, *terms.reached_kinds, *step, *("output",) * len(terms.dynamics.actuated))

    def rows(self, x: Scalars, z: Scalars, y: Scalars, needed: bool = True) -> list[Any]:
        """Return weighted components of terms, errors e of the step equations, and motor forces, as one list.

        x and y are the states before and after the step. z are the controls, followed by the contact and constraint
        forces. A component is 0 where its term does not apply. If ``needed`` is False, joint forces due to the motion
        and to contacts are left out of e.
        """
        dynamics, data = self._dynamics, list(self.data)
        u, more = z[: dynamics.controls], z[dynamics.controls :]
        values = [*self.terms.moving(x, u, [*y, *more], data), *self.terms.reached(y, data)]
        values = [w * where(counts(w), r, 0.0) for r, w in zip(values, self.weights, strict=True)]
        return [*values, *self._step(dynamics, x, u, more, y, needed), *self._motors(dynamics, x, u)]

    def _motors(self, dynamics: RobotDynamics, x: Scalars, u: Scalars) -> list[Any]:
        if not isinstance(dynamics, InverseDynamics):
            return list(u)
        tau = dynamics.torque(x, u, dynamics.passive, self.data[0])
        return [tau[k] for k in dynamics.actuated]

    def _step(
        self, dynamics: RobotDynamics, x: Scalars, u: Scalars, more: Scalars, y: Scalars, needed: bool
    ) -> list[Any]:
        if not uses_inverse_dynamics(dynamics):
            return dynamics.state_difference(y, dynamics.step(x, u))
        tree, h, gap = dynamics.tree, dynamics.h, dynamics.gap
        (q, v), (p, w) = dynamics.split_state(x), dynamics.split_state(y)
        contact_models = dynamics.contact_models if isinstance(dynamics, ContactDynamics) else ()
        forces = self._forces(dynamics)
        if needed:
            tau = joint_forces(forces, [*q, *v, *self._accelerations(dynamics, x, y), *more])
        else:
            tau = forces.constraint_part(q, dynamics.forces_by_name(more))
        residual = [b if is_zero(c) else b - c for b, c in zip(dynamics.forces(u), tau, strict=True)]
        if dynamics.is_resisted:
            residual = [b - c for b, c in zip(residual, added_resistance(tree, v, w), strict=True)]
        residual += difference(tree, p, integrate(tree, q, [b * gap for b in w]))
        start = 0
        window = PathWindow(tree, [p, q], [h, h], self.data[0], gaps=[gap, gap])
        for model, on in zip(
            contact_models, dynamics.active if isinstance(dynamics, ContactDynamics) else (), strict=True
        ):
            force = more[start : start + model.force.size]
            residual += [on * r + (1.0 - on) * f for r, f in zip(model.feature.values(window, ()), force, strict=True)]
            start += model.force.size
        return residual

    def _accelerations(self, dynamics: RobotDynamics, x: Scalars, y: Scalars) -> list[Any]:
        return [
            (c - b) / dynamics.h for b, c in zip(dynamics.split_state(x)[1], dynamics.split_state(y)[1], strict=True)
        ]

    def _forces(self, dynamics: RobotDynamics) -> JointForces:
        contact_models = dynamics.contact_models if isinstance(dynamics, ContactDynamics) else ()
        acting = tuple(contact.force for contact in contact_models)
        return JointForces(dynamics.tree, acting, dynamics.passive, self.data[0] - dynamics.gap)

    # ---- derivatives

    @property
    def size(self) -> int:
        """Number of unknowns of (x, z, y), with tangent vectors of the states x and y."""
        return 2 * self.terms.dynamics.size + decision_count(self.terms.dynamics)

    def _varied(self, of: Any, x: Scalars, z: Scalars, y: Scalars) -> tuple[list[Any], Matrix]:
        """Return the values of a function ``of`` (x, z, y), and its Jacobian, for the states x and y of a step.

        z are the controls and forces of the step. The Jacobian has columns for tangent vectors of x and y.
        """
        dynamics = self.terms.dynamics
        n, m = dynamics.size, len(z)
        rates: list[dict[Any, Any]] = [*dynamics.rates(x), *({n + k: 1.0} for k in range(m))]
        rates += [{n + m + k: rate for k, rate in row.items()} for row in dynamics.rates(y)]
        moving = seeded([*x, *z, *y], [SparseTangent(row) for row in rates])
        first, second = len(x), len(x) + m
        values = of(moving[:first], moving[first:second], moving[second:])
        split = [parts(value, moving[0].level) for value in values]
        tangents = [t if isinstance(t, SparseTangent) else SparseTangent({}) for _, t in split]
        return [value for value, _ in split], [[t.get(k) for k in range(self.size)] for t in tangents]

    def gradient(self, x: Scalars, z: Scalars, y: Scalars, multipliers: Scalars) -> tuple[list[Any], list[Any]]:
        """Return the gradient of the Lagrangian in (x, z, y), and the values of `rows`.

        x and y are the states before and after the step, z its controls and forces.
        """
        values, J = self._varied(self.rows, x, z, y)
        return self._lagrangian_gradient(values, J, multipliers), values

    def hessian(self, x: Scalars, z: Scalars, y: Scalars, multipliers: Scalars) -> tuple[Matrix, Matrix]:
        """Return the Hessian of the Lagrangian in (x, z, y), and the Jacobian of `rows`.

        x and y are the states before and after the step, z its controls and forces.
        """
        dynamics = self._dynamics
        closed = uses_inverse_dynamics(dynamics)

        def gradient(x: Scalars, z: Scalars, y: Scalars) -> list[Any]:
            values, J = self._varied(lambda x, z, y: self.rows(x, z, y, not closed), x, z, y)
            return self._lagrangian_gradient(values, J, multipliers)

        _, raw = self._varied(gradient, x, z, y)
        _, J = self._varied(self.rows, x, z, y)
        H = [[0.5 * (raw[i][j] + raw[j][i]) for j in range(self.size)] for i in range(self.size)]
        if closed:
            start = len(self.weights)
            more = self._force_hessian(dynamics, x, z, y, [-p for p in multipliers[start : start + dynamics.tree.nv]])
            H = [
                [a if is_zero(b) else a + b for a, b in zip(*lines, strict=True)] for lines in zip(H, more, strict=True)
            ]
        return H, J

    def _force_hessian(self, dynamics: RobotDynamics, x: Scalars, z: Scalars, y: Scalars, weights: Scalars) -> Matrix:
        """Return the second derivatives of Σ wᵢ τᵢ with respect to (x, z, y), in closed form.

        τ are the joint forces due to motion and contacts, without constraint forces.
        """
        n, m = dynamics.tree.nv, len(z)
        q, v = dynamics.split_state(x)
        forces, named = self._forces(dynamics), dynamics.forces_by_name(z[dynamics.controls :])
        by_qq, by_qv, by_vv, by_qa = forces.curvature(q, v, self._accelerations(dynamics, x, y), named, weights)
        rate = 1.0 / dynamics.h  # of accelerations, by velocities
        H: Matrix = [[0.0] * self.size for _ in range(self.size)]
        last = 3 * n + m  # of v⁺
        for i in range(n):
            for j in range(n):
                H[i][j] = by_qq[i][j]
                H[n + i][n + j] = by_vv[i][j]
                H[i][n + j] = H[n + j][i] = by_qv[i][j] - by_qa[i][j] * rate
                H[i][last + j] = H[last + j][i] = by_qa[i][j] * rate
        hessians, start = forces.force_curvature(q, weights), 2 * n + dynamics.controls
        for name, values in named.items():
            for k, row in enumerate(hessians.get(name, [])):
                for i, b in enumerate(row):
                    H[start + k][i] = H[i][start + k] = b
            start += len(values)
        return H

    def _lagrangian_gradient(self, values: Scalars, J: Matrix, multipliers: Scalars) -> list[Any]:
        total: list[Any] = [0.0] * self.size
        for kind, value, row, multiplier in zip(self.kinds, values, J, multipliers, strict=True):
            if kind == "output":
                continue
            force = multiplier if kind in CONSTRAINTS else 1.0 if kind == "cost" else value
            total = [a if is_zero(b) else a + force * b for a, b in zip(total, row, strict=True)]
        return total


Array = np.ndarray[Any, Any]

_DEPENDENT = 1e-12  # of the largest singular value of a stage: cutoff
_FINE = 1e-8  # residual of the equations, relative to their right sides


class StageRows(NamedTuple):
    """Linear equations A (x_k; x_{k+1}; ...) = b, where x_k are the unknowns of step k of a motion.

    The first unknowns are those of step ``first``.
    """

    first: int
    A: Array
    b: Array  # (rows, right sides)


def solve_stages(sizes: Sequence[int], rows: Sequence[StageRows]) -> list[Array]:
    """Return the solution of banded equations whose unknowns belong to successive steps: an array for each step.

    The arrays are (size, right sides), where ``sizes`` are the numbers of unknowns of each step. An equation involves
    at most three successive steps.
    """
    result = _eliminated(sizes, rows)
    scale = 1.0 + max((np.abs(row.b).max(initial=0.0) for row in rows), default=0.0)
    square = sum(len(row.A) for row in rows) == sum(sizes)
    if square and not _residual(rows, result) <= _FINE * scale:
        result = _least_squares(sizes, rows)
    return result


def _eliminated(sizes: Sequence[int], rows: Sequence[StageRows]) -> list[Array]:
    T, count = len(sizes), rows[0].b.shape[-1] if rows else 0
    carried, factors = np.zeros((0, count)), []
    for k in range(T):
        n, width = sizes[k], sum(sizes[k : k + 3])
        blocks = [_wide(carried, width, count)]
        blocks += [_wide(np.hstack([row.A, row.b]), width, count) for row in rows if row.first == k]
        R: Array = np.asarray(np.linalg.qr(np.vstack(blocks), mode="r"))
        R = np.vstack([R, np.zeros((max(n - len(R), 0), width + count))])
        factors.append((R[:n, :n], R[:n, n:width], R[:n, width:]))
        carried = R[n:width, n:]
    result: list[Array] = [np.zeros((0, count))] * T
    for k in reversed(range(T)):
        R, more, right = factors[k]
        later = np.vstack([np.zeros((0, count)), *result[k + 1 : k + 3]])
        result[k] = np.linalg.lstsq(R, right - more @ later, rcond=_DEPENDENT)[0]
    return result


def _wide(rows: Array, width: int, count: int) -> Array:
    """Return linear equations [A b], with zero columns added to A so that it has ``width`` columns.

    ``count`` is the number of right-hand sides b.
    """
    columns = rows.shape[1] - count
    result = np.zeros((len(rows), width + count))
    result[:, :columns], result[:, width:] = rows[:, :columns], rows[:, columns:]
    return result


def _residual(rows: Sequence[StageRows], result: Sequence[Array]) -> float:
    """Return the largest residual of the equations; infinite if an unknown is not finite."""
    largest = 0.0
    for first, A, b in rows:
        x = np.vstack([b[:0], *result[first : first + 3]])[: A.shape[1]]
        largest = max(largest, float(np.abs(A @ x - b).max(initial=0.0)))
    return largest if np.isfinite(largest) else np.inf


def _least_squares(sizes: Sequence[int], rows: Sequence[StageRows]) -> list[Array]:
    """Return the least-squares solution of banded equations, solved as one system: an array for each step.

    The method also works for dependent equations.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    A, b = np.zeros((sum(len(row.A) for row in rows), starts[-1])), np.vstack([row.b for row in rows])
    start = 0
    for row in rows:
        A[start : start + len(row.A), starts[row.first] : starts[row.first] + row.A.shape[1]] = row.A
        start += len(row.A)
    x = np.linalg.lstsq(A, b, rcond=_DEPENDENT)[0]
    return [x[a:b] for a, b in pairwise(starts)]
