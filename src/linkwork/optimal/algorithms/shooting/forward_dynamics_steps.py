"""Steps of forward dynamics: x = (q, v), and controls u are the forces of the joints with motors.

    semi_implicit_euler    v⁺ = v + h a(q, v, τ, v⁺),   q⁺ = q ⊕ g v⁺
    runge_kutta_4          the classical four stages

With semi-implicit Euler, q is the configuration in the middle of a step, h/2 after its velocity v, as in
`linkwork.optimal.algorithms.path_nlp`.  So the error due to positions, gravity and position-dependent forces is of
second order in h, and the error due to velocity-dependent forces of first order.  Damping and dry friction of joints
are evaluated at v⁺ (`resisted_velocities`).  The gap g is h, and h/2 in the last step, which ends at q⁺.  All stages
of "runge_kutta_4" are explicit.

The linearisation follows from the derivatives of forward dynamics.

Sources: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed., 2006, chapters I and IV.8; Carpentier and
Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linkwork.dynamics.algorithms.derivatives.forward_dynamics_derivatives import implicit_hessian
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import (
    inverse_dynamics_derivatives,
    inverse_dynamics_hessian,
)
from linkwork.dynamics.algorithms.derivatives.linearize import System, free_accelerations, linear_system
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import (
    integrate_derivatives,
    joint_bracket,
    rate_derivatives,
    tangent_rates,
)
from linkwork.dynamics.algorithms.forward_dynamics import forward_dynamics
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.dynamics.algorithms.mass_matrix_inverse import FactoredInverse
from linkwork.expr.linalg.sparse_dot import dot, identity, is_zero, product, transposed
from linkwork.expr.scalar.functions import fabs
from linkwork.joints import JointType
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.model.body import Body
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_nlp import coordinate_units
from linkwork.optimal.algorithms.shooting.resisted_velocities import (
    resistance_slopes,
    resisted_velocity,
    resists,
    second_slopes,
    with_diagonal,
)
from linkwork.optimal.algorithms.shooting.step_dynamics import (
    Dynamics,
    LinearStep,
    Rates,
    second_derivatives,
    value_and_jacobian,
)

__all__ = ["INTEGRATORS", "RobotDynamics"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]

INTEGRATORS = ("semi_implicit_euler", "runge_kutta_4")


@dataclass(frozen=True)
class RobotDynamics(Dynamics):
    """Step of h seconds by forward dynamics; the controls are motor forces at the indices ``actuated`` of v."""

    tree: Tree
    h: Any
    actuated: tuple[int, ...]
    integrator: str = "semi_implicit_euler"
    passive: bool = False
    share: Any = field(default=1.0, kw_only=True)  # of a step until the next configuration

    @property
    def gap(self) -> Any:
        """Time [s] from the configuration before a step to the configuration after it: h, or h/2 in the last step."""
        return self.h if self.share.__class__ is float and self.share == 1.0 else self.h * self.share

    @property
    def staggers(self) -> bool:
        """True if configurations belong to the middles of steps and velocities to their ends.

        Then the next configuration and velocity determine the configuration before.
        """
        return self.integrator != "runge_kutta_4"

    def at(self, data: Scalars) -> Dynamics:
        """Return the dynamics of one step, for its entries of ``data``.

        The first entries are the time [s] of the next configuration, and the time to it divided by h.
        """
        return replace(self, share=data[1])

    @property
    def is_resisted(self) -> bool:
        """True if damping or dry friction of joints act, with the velocity at the end of a step."""
        return self.passive and self.integrator == INTEGRATORS[0] and resists(self.tree)

    def by_begin(self, x: Scalars, rows: Matrix) -> Matrix:
        """Convert derivatives with respect to the staggered state x to those with respect to a step's initial state.

        ``rows`` (..., 2nv) are the derivatives. In a staggered state, q is h/2 later than v.
        """
        if not self.staggers:
            return rows
        (q, v), n, half = self.split_state(x), self.tree.nv, 0.5 * self.h
        begin = integrate(self.tree, q, [-half * b for b in v])
        by_q, by_step = integrate_derivatives(self.tree, begin, [half * b for b in v])
        positions = [row[:n] for row in rows]
        moved = zip(product(positions, by_q), product(positions, by_step), rows, strict=True)
        return [[*a, *(c + half * b for b, c in zip(moves, row[n:], strict=True))] for a, moves, row in moved]

    @property
    def state_size(self) -> int:  # type: ignore[override]
        return self.tree.nq + self.tree.nv

    @property
    def size(self) -> int:  # type: ignore[override]
        return 2 * self.tree.nv

    @property
    def controls(self) -> int:  # type: ignore[override]
        return len(self.actuated)

    def forces(self, u: Scalars) -> list[Any]:
        """Return the joint forces τ (nv): the motor forces ``u`` at their indices, and 0 at joints without motors."""
        tau: list[Any] = [0.0] * self.tree.nv
        for k, x in zip(self.actuated, u, strict=True):
            tau[k] = x
        return tau

    def forces_by_name(self, values: Scalars) -> Mapping[str, list[Any]]:
        """Return contact forces as a dict by name; ``values`` are the outputs of a step after the next state."""
        return {}

    def split_state(self, x: Scalars) -> tuple[list[Any], list[Any]]:
        """Split x into q and v."""
        return list(x[: self.tree.nq]), list(x[self.tree.nq :])

    def accelerations(self, x: Scalars, u: Scalars) -> list[Any]:
        """Return the accelerations a(q, v, u)."""
        return forward_dynamics(self.tree, *self.split_state(x), self.forces(u), passive=self.passive)

    def step(self, x: Scalars, u: Scalars) -> list[Any]:
        if self.integrator == "runge_kutta_4":
            return self._runge_kutta_4(x, u)
        (q, _), v = self.split_state(x), self.velocity(x, u)
        return [*integrate(self.tree, q, [a * self.gap for a in v]), *v]

    def velocity(self, x: Scalars, u: Scalars) -> list[Any]:
        """Return the velocity v⁺ at the end of a step of semi-implicit Euler."""
        q, v = self.split_state(x)
        if not self.is_resisted:
            return [a + b * self.h for a, b in zip(v, self.accelerations(x, u), strict=True)]
        bias = bias_force(self.tree, q, v, (), True)
        forces = [tau - b for tau, b in zip(self.forces(u), bias, strict=True)]
        return resisted_velocity(self.tree, mass_matrix(self.tree, q, True), v, self.h, forces)

    def resisted_inverse(self, M: Matrix, slopes: Scalars) -> FactoredInverse:
        """Return (M + h S)⁻¹, the inverse mass matrix of a step with implicit damping and friction.

        ``slopes`` S (nv) are the derivatives of damping and friction with respect to the velocity after the step.
        """
        return FactoredInverse.of(self.tree, with_diagonal(M, [self.h * s for s in slopes]))

    def _runge_kutta_4(self, x: Scalars, u: Scalars) -> list[Any]:
        (q, v), h = self.split_state(x), self.h
        rates, accelerations = [v], [self.accelerations(x, u)]
        for share in (0.5, 0.5, 1.0):
            phi = [a * (h * share) for a in rates[-1]]
            w = [a + b * (h * share) for a, b in zip(v, accelerations[-1], strict=True)]
            rates.append(rate_derivatives(self.tree, q, phi, w)[0])
            accelerations.append(self.accelerations([*integrate(self.tree, q, phi), *w], u))
        parts = (rates, accelerations)
        phi, change = ([(a + (b + c) * 2.0 + d) * (h / 6.0) for a, b, c, d in zip(*k, strict=True)] for k in parts)
        return [*integrate(self.tree, q, phi), *(a + b for a, b in zip(v, change, strict=True))]

    def moved(self, x: Scalars, change: Scalars) -> list[Any]:
        (q, v), n = self.split_state(x), self.tree.nv
        return [*integrate(self.tree, q, change[:n]), *(a + b for a, b in zip(v, change[n:], strict=True))]

    def state_difference(self, x: Scalars, y: Scalars) -> list[Any]:
        (q, v), (p, w) = self.split_state(x), self.split_state(y)
        return [*difference(self.tree, q, p), *(b - a for a, b in zip(v, w, strict=True))]

    def size_of(self, change: Scalars) -> Any:
        """Return Σ |dq| + h |dv| of a tangent vector (dq; dv) of the state, each coordinate divided by its unit."""
        n, total = self.tree.nv, 0.0
        for a, b, unit in zip(change[:n], change[n:], coordinate_units(self.tree), strict=True):
            total = total + (fabs(a) + self.h * fabs(b)) * (1.0 / unit)
        return total

    def rates(self, x: Scalars) -> Rates:
        n = self.tree.nv
        return [*tangent_rates(self.tree, self.split_state(x)[0]), *({n + k: 1.0} for k in range(n))]

    def tangent(self, y: Scalars, rates: Scalars) -> list[Any]:
        q, _ = self.split_state(y)
        columns: list[Any] = []
        for i, body in self.tree.stacked():
            span = self.tree.q_slices[i]
            columns += body.call_joint("velocity_from_rate", q[span], list(rates[span]))
        return [*columns, *rates[self.tree.nq :]]

    def linear(self, x: Scalars, u: Scalars) -> tuple[list[Any], LinearStep]:
        n, h, gap = self.tree.nv, self.h, self.gap
        q, v = self.split_state(x)
        system = System(self.tree, self.forces(u), (), self.passive, free_accelerations)
        if self.integrator == "runge_kutta_4":
            A, B = linear_system(system, q, v, [h], self.integrator)
            return self.step(x, u), LinearStep(
                ([[*a, *(b[k] for k in self.actuated)] for a, b in zip(A, B, strict=True)],)
            )
        if self.is_resisted:
            v, (by_q, by_v, by_tau) = self._resisted_rows(x, u)
        else:
            a, (by_q, by_v, by_tau, *_) = free_accelerations(self.tree, q, v, self.forces(u), (), self.passive)
            v = [x + y * h for x, y in zip(v, a, strict=True)]
        displacement = [x * gap for x in v]
        by_configuration, by_step = integrate_derivatives(self.tree, q, displacement)
        unit, zeros = identity(n), [0.0] * n
        velocity_rows = [
            [
                *(_times(x, h) for x in by_q[i]),
                *(_times(x, h) + unit[i][k] for k, x in enumerate(by_v[i])),
                *(_times(by_tau[i][k], h) for k in self.actuated),
            ]
            for i in range(n)
        ]
        rows = [[*row, *zeros, *([0.0] * self.controls)] for row in unit]
        position_rows = [[*by_configuration[i], *(_times(x, gap) for x in by_step[i])] for i in range(n)]
        identity_rows = [[*zeros, *row] for row in unit]
        return [*integrate(self.tree, q, displacement), *v], LinearStep(
            ([*position_rows, *identity_rows], [*rows, *velocity_rows])
        )

    def _resisted_rows(self, x: Scalars, u: Scalars) -> tuple[list[Any], tuple[Matrix, Matrix, Matrix]]:
        """Return the velocity v⁺ after a step, and derivatives of the mean acceleration (v⁺ − v)/h in q, v and τ.

        The step has a resistance R, damping and dry friction. With W = (M + h S)⁻¹ and S = ∂R/∂v⁺ the derivatives are
        −W ∂ID/∂q, −W (∂ID/∂v − ∂R/∂v + S) and W; ID is inverse dynamics.
        """
        (q, v), after = self.split_state(x), self.velocity(x, u)
        slopes, begin_slopes = (resistance_slopes(self.tree, at) for at in (after, v))
        W = self.resisted_inverse(mass_matrix(self.tree, q, True), slopes).matrix
        a = [(b - c) / self.h for b, c in zip(after, v, strict=True)]
        by_q, by_v, _ = inverse_dynamics_derivatives(self.tree, q, v, a, (), True)
        by_v = with_diagonal(by_v, [s - begin_s for s, begin_s in zip(slopes, begin_slopes, strict=True)])
        by_q, by_v = ([[_times(y, -1.0) for y in row] for row in product(W, rows)] for rows in (by_q, by_v))
        return after, (by_q, by_v, W)

    def _bent(self, x: Scalars, u: Scalars, weights: Scalars) -> tuple[list[Any], tuple[Matrix, ...], list[Any]]:
        """Return the velocity v⁺ after a step, and second derivatives of the step's equations, weighted by λ = W w.

        ``weights`` are w. W is (M + h S)⁻¹, with the slopes S of the resistance R (damping and dry friction). The
        second derivatives are those of λ·ID − λ·R(v) in q, v and a, with the inverse dynamics ID. The last result has
        those of λ·R in v⁺.
        """
        q, v = self.split_state(x)
        if not self.is_resisted:
            a, H = implicit_hessian(self.tree, q, v, self.forces(u), weights, passive=self.passive)
            return [x + y * self.h for x, y in zip(v, a, strict=True)], H, [0.0] * self.tree.nv
        after = self.velocity(x, u)
        slopes, M = resistance_slopes(self.tree, after), mass_matrix(self.tree, q, True)
        multipliers = self.resisted_inverse(M, slopes).applied(weights)
        a = [(b - c) / self.h for b, c in zip(after, v, strict=True)]
        by_qq, by_qv, by_vv, by_qa = inverse_dynamics_hessian(self.tree, q, v, a, multipliers, (), True)
        bent, begin_bent = (
            [_times(b, y) for b, y in zip(second_slopes(self.tree, at), multipliers, strict=True)] for at in (after, v)
        )
        return after, (by_qq, by_qv, with_diagonal(by_vv, [_times(b, -1.0) for b in begin_bent]), by_qa), bent

    def curvature(self, x: Scalars, u: Scalars, gradients: Sequence[Scalars]) -> list[Matrix]:
        """Return second derivatives of a step, weighted by ``gradients``, as two matrices: see `Dynamics.curvature`.

        The first is in (δq, δv⁺), the second in (δq, δv, ε) with the change ε of the control. Let w be the gradient
        with respect to v⁺, λ = M⁻¹ w, and H the second derivatives of λ · ID (inverse dynamics). Then the second
        derivatives of w · v⁺ are

            −h (δqᵀH_qq δq + 2 δqᵀH_qv δv + δvᵀH_vv δv) − 2 δqᵀH_qa h δa,      h δa = δv⁺ − δv.

        Damping and friction R add −h δv⁺ᵀH_RR δv⁺, where H_RR are the second derivatives of λ · R.
        """
        if self.integrator == "runge_kutta_4":
            return super().curvature(x, u, gradients)
        n, h = self.tree.nv, self.h
        q, _ = self.split_state(x)
        after, (by_qq, by_qv, by_vv, by_qa), bent = self._bent(x, u, gradients[1][n:])
        outer = _square(2 * n + self.controls)
        inner = _square(2 * n)
        for i in range(n):
            for j in range(n):
                outer[i][j] = _times(by_qq[i][j], -h)
                outer[i][n + j] = outer[n + j][i] = _plus(_times(by_qv[i][j], -h), by_qa[i][j])
                outer[n + i][n + j] = _times(by_vv[i][j], -h)
                inner[i][n + j] = inner[n + j][i] = -by_qa[i][j]
            inner[n + i][n + i] = _times(bent[i], -h)
        for i, body in self.tree.stacked():
            if type(body.joint).integrate is JointType.integrate:
                continue
            span = self.tree.v_slices[i]
            curved = joint_curvature(body, q[self.tree.q_slices[i]], after[span], self.gap, gradients[0][span])
            indices = [*range(n)[span], *(n + k for k in range(n)[span])]
            for k, row in zip(indices, curved, strict=True):
                for j, x in zip(indices, row, strict=True):
                    inner[k][j] = _plus(inner[k][j], x)
        return [inner, outer]


def _square(n: int) -> Matrix:
    return [[0.0] * n for _ in range(n)]


def _plus(x: Any, y: Any) -> Any:
    return y if is_zero(x) else x if is_zero(y) else x + y


def _times(x: Any, h: Any) -> Any:
    return x if is_zero(x) else x * h


# -- second derivatives of the configuration of a joint after a step, (q ⊕ δ) ⊕ h (v + ε), by (δ, ε)


def joint_curvature(body: Body, q: Scalars, v: Scalars, h: Any, weights: Scalars) -> Matrix:
    """Return the second derivatives of w · δq⁺ with respect to (δ, ε), for a step of one joint.

    The joint moves from q at velocity v for h seconds. δ is the change of q, ε that of v, and δq⁺ the change of q ⊕ h v
    as a tangent vector. ``weights`` w are constant. ``body`` is the body of the joint.
    """
    if body.joint.has_fixed_subspaces:
        return _of_group(body, v, h, weights)
    n = len(v)
    end_q = body.call_joint("integrate", q, [x * h for x in v])

    def displaced(change: Scalars) -> Any:
        begin = body.call_joint("integrate", q, change[:n])
        end = body.call_joint("integrate", begin, [(x + y) * h for x, y in zip(v, change[n:], strict=True)])
        return dot(weights, body.call_joint("difference", end_q, end))

    return second_derivatives(displaced, 2 * n)


def _of_group(body: Body, v: Scalars, h: Any, weights: Scalars) -> Matrix:
    n = len(v)
    q = body.call_joint("zero")
    rates: Rates = [dict(enumerate(row)) for row in body.call_joint("q_dot_jacobian", q)]
    units: Rates = [{k: 1.0} for k in range(n)]

    def there(q: Scalars, v: Scalars) -> Scalars:
        return body.call_joint("integrate", q, [x * h for x in v])  # type: ignore[no-any-return]

    def columns_by_v(v: Scalars) -> Matrix:
        end, rows = value_and_jacobian(lambda v, _: there(q, v), v, (), units)
        return _as_velocities(body, end, rows, n)

    def slopes(v: Scalars, _: Scalars) -> Scalars:
        return [dot(weights, column) for column in columns_by_v(v)]

    _, bent = value_and_jacobian(slopes, v, (), units)
    J = columns_by_v(v)
    A = _as_velocities(body, *value_and_jacobian(lambda q, _: there(q, v), q, (), rates), n)
    # w · [e_k, e_l] / 2, where the bracket of the group is that of `bracket` with the other sign
    half = [
        [dot(weights, [-0.5 * x for x in column]) for column in transposed(joint_bracket(body, q, unit))]
        for unit in unit_vectors(n)
    ]
    along = [[dot(row, column) for column in J] for row in half]
    mixed = [[dot(column, second) for second in transposed(along)] for column in A]
    H: Matrix = [[0.0] * (2 * n) for _ in range(2 * n)]
    for i in range(n):
        for j in range(n):
            H[i][n + j] = H[n + j][i] = mixed[i][j]
            a, b = bent[i].get(j, 0.0), bent[j].get(i, 0.0)
            H[n + i][n + j] = 0.0 if is_zero(a) and is_zero(b) else 0.5 * (a + b)
    return H


def _as_velocities(body: Body, q: Scalars, rates: Sequence[dict[Any, Any]], n: int) -> Matrix:
    """Return, for each of ``n`` directions, the joint's velocity at which q changes at the given ``rates``.

    ``rates`` has a dict for each element of q, from direction to derivative.
    """
    return [body.call_joint("velocity_from_rate", q, [row.get(k, 0.0) for row in rates]) for k in range(n)]
