"""Sweeps, roll-outs and their loop on problems with known answers."""

from __future__ import annotations

from functools import cache

import numpy as np

import linkwork as lw
from linkwork.optimal.algorithms.shooting.augmented_cost import TermRequest, WeightedRows, quadratic
from linkwork.optimal.algorithms.shooting.ilqr import Shooting
from linkwork.optimal.algorithms.shooting.search_state import RollOut
from linkwork.optimal.algorithms.shooting.step_dynamics import Dynamics

T, H = 30, 0.05
A = np.array([[1.0, H], [0.0, 1.0]])
B = np.array([[0.5 * H * H], [H]])
SCALARS = ("cost", "violation", "gap", "decrement", "iterations", "status")
FREE = np.zeros((T, 2))
MOTION = np.stack([np.linspace(0.0, 1.0, T), np.full(T, 0.3)], axis=1)


class VectorDynamics(Dynamics):
    """Dynamics of a state of two values by a function of state and control (1) that returns the next state."""

    state_size, size, controls = 2, 2, 1

    def __init__(self, function):
        self.function = function

    def step(self, x, u):
        return self.function(x, u)


CART = VectorDynamics(lambda x, u: [x[0] + H * x[1] + 0.5 * H * H * u[0], x[1] + H * u[0]])


@cache
def _solver(kinds: tuple[str, ...], limited: bool, gaps: bool, linear: bool = True) -> lw.Kernel:
    """Solve for a cart on a line with the target 1, at rest: rows of position, speed, and speed beyond 0.95."""

    def solved(start, w0, w1, u, x, bound):
        terms = TermRequest(("least_squares",), kinds, lambda x, u, g: u, lambda y, g: [y[0] - 1.0, y[1], y[1] - 0.95])
        limits = ([-bound], [bound]) if limited else None
        problem = Shooting(CART, terms, list(start), np.zeros((T, 0)), (w0, w1), limits, gaps)
        state = problem.solve(RollOut(x, u))
        scalars = np.array([getattr(state, name) for name in SCALARS])
        return {
            "x": state.motion.x,
            "u": state.motion.u,
            "K": state.gains,
            "forces": state.multipliers[1],
            "told": scalars,
        }

    return lw.compile(solved, start=2, w0=(T, 1), w1=(T, 3), u=(T, 1), x=(T, 2), bound=())


def _scalars_of(state) -> dict[str, float]:
    return dict(zip(SCALARS, state.told.tolist(), strict=True))


def test_linear_quadratic_problem_is_solved_by_shooting_in_one_iteration() -> None:
    """The second iteration confirms the optimum; policy and cost are those of Riccati's sweep."""
    w1 = np.tile([1.0, 0.5, 0.0], (T, 1))
    w1[-1] = [4.0, 2.0, 0.0]
    start = np.array([0.2, -0.4])
    state = _solver(("least_squares",) * 3, False, False)(start, np.full((T, 1), 0.3), w1, np.zeros((T, 1)), FREE, 1.0)
    scalars = _scalars_of(state)
    Q = np.diag([1.0, 0.25])
    known = lw.control.finite_horizon_lqr(A, B, Q, [[0.09]], end=np.diag([16.0, 4.0]), num_steps=T)
    assert scalars["status"] == 0 and scalars["iterations"] == 2 and scalars["decrement"] < 1e-25
    assert np.abs(state.K + known.K).max() < 1e-12 * np.abs(known.K).max()
    away = start - [1.0, 0.0]
    first = away @ Q @ away  # what the start costs is no matter of the control
    assert abs(2.0 * scalars["cost"] - (away @ known.X[0] @ away - first)) < 1e-11
    assert np.abs(state.u[0] + known.K[0] @ away).max() < 1e-12


def test_equality_constrained_optimal_motions_have_controls_of_least_norm() -> None:
    """Motion from rest to rest with least Σ u²: the least-norm solution; with control limits a convex program."""
    reach = np.hstack([np.linalg.matrix_power(A, T - 1 - t) @ B for t in range(T)])  # x_T = reach u
    w1 = np.zeros((T, 3))
    w1[-1, :2] = 1.0
    arguments = np.zeros(2), np.full((T, 1), 0.1), w1, np.zeros((T, 1)), MOTION
    known = np.linalg.pinv(reach) @ [1.0, 0.0]
    kinds = ("equality", "equality", "inequality")
    for limited, gaps in ((False, False), (True, False), (True, True)):
        state = _solver(kinds, limited, gaps)(*arguments, 100.0)
        scalars = _scalars_of(state)
        assert scalars["status"] == 0 and scalars["violation"] < 1.0 and scalars["gap"] < 1e-9, (limited, gaps, scalars)
        assert np.abs(state.u[:, 0] - known).max() < 1e-6
        forces = state.forces[-1, :2]
        assert np.abs(0.01 * state.u[:, 0] + reach.T @ forces).max() < 1e-8  # the gradient of the Lagrangian
    bound, w1[:, 2] = 2.5, 1.0
    for gaps in (False, True):
        state = _solver(kinds, True, gaps)(*arguments, bound)
        scalars, u, x = _scalars_of(state), state.u[:, 0], state.x
        assert scalars["status"] == 0 and scalars["violation"] < 1.0
        assert np.abs(u).max() == bound and 0 < (np.abs(u) == bound).sum() < T  # exactly
        assert (x[:, 1] < 0.95 + 1e-9).all() and (x[:, 1] > 0.95 - 1e-8).any()
        speed = np.zeros((T, T))  # of all steps, by all controls
        for t in range(T):
            speed[t:, t] = H
        slope = 0.01 * u + reach.T @ state.forces[-1, :2] + speed.T @ state.forces[:, 2]
        inside = np.abs(u) < bound
        assert np.abs(slope[inside]).max() < 1e-7
        assert (slope[~inside] * np.sign(u[~inside]) < 1e-9).all() and (state.forces[:, 2] >= 0.0).all()
        assert np.abs(state.forces[:, 2] * (x[:, 1] - 0.95)).max() < 1e-9


def test_shooting_problems_of_a_batch_are_not_affected_by_nan_in_others() -> None:
    """The bits are equal, and NaN is reported for its own problem alone."""
    kernel = _solver(("equality", "equality", "inequality"), True, True)
    w1 = np.zeros((T, 3))
    w1[-1, :2] = 1.0
    starts = np.random.default_rng(0).uniform(-0.5, 0.5, (11, 2))
    starts[4, 0] = np.nan
    arguments = np.full((T, 1), 0.1), w1, np.zeros((T, 1)), MOTION, 8.0
    together = kernel(starts, *arguments)
    for k in (0, 3, 4, 5, 10):
        alone = kernel(starts[k], *arguments)
        assert all(np.array_equal(a, b[k], equal_nan=True) for a, b in zip(alone, together, strict=True))
    assert together.told[:, -1].tolist() == [3.0 if k == 4 else 0.0 for k in range(11)]


def test_augmented_cost_equals_its_formulas_with_derivatives_and_next_multipliers():
    rng, rho, h = np.random.default_rng(3), 7.0, 1e-6
    kinds = ("cost", "least_squares", "equality", "inequality", "inequality")
    w, multipliers, r = rng.uniform(0.5, 2.0, 5), np.array([0.0, 0.0, -1.3, 0.4, 0.2]), rng.normal(size=5)
    r[3:] = 0.7, -0.9  # active, and not
    rows = WeightedRows(kinds, w.tolist(), multipliers.tolist(), rho)
    x = w * r
    shifted = np.maximum(0.0, multipliers + rho * x)
    terms = [x[0], 0.5 * x[1] ** 2, multipliers[2] * x[2] + 0.5 * rho * x[2] ** 2]
    terms += ((shifted**2 - multipliers**2) / (2.0 * rho))[3:].tolist()
    assert abs(rows.cost(r.tolist()) - sum(terms)) < 1e-14 and shifted[3] > 0.0 == shifted[4]
    ends = [[rows.cost((r + k * step).tolist()) for k in (h, -h)] for step in np.eye(5)]
    assert np.allclose(rows.derivatives(r.tolist()), np.subtract(*np.transpose(ends)) / (2.0 * h), atol=1e-8)
    assert np.allclose(rows.new_multipliers(r.tolist()), [0.0, 0.0, multipliers[2] + rho * x[2], *shifted[3:]])
    assert rows.beyond(r.tolist(), [1.0, 1.0, 0.5, 2.0, 2.0]) == max(abs(r[2]) / 0.5, r[3] / 2.0)
    absent = WeightedRows(kinds, [0.0] * 5, [0.0] * 5, rho)
    assert absent.cost([np.nan] * 5) == absent.beyond([np.nan] * 5, [1.0] * 5) == 0.0


def test_quadratic_models_of_terms_of_a_step_are_exact_for_costs_and_gauss_newton_for_others():
    """The terms depend on state, control and the next state; second derivatives are differences of gradients."""
    rng, h = np.random.default_rng(5), 1e-5
    step = VectorDynamics(lambda x, u: [x[0] * u[0] + x[1] ** 2, x[1] * (1.0 + x[0]) + u[0] ** 3])
    z, w = rng.normal(size=3), rng.uniform(0.5, 2.0, 2)

    def terms(x, u, y):
        return [x[0] * u[0] * y[1] + y[0] ** 2, x[1] + y[0] * y[1]]

    def model(kind, z):
        rows = WeightedRows((kind, kind), w.tolist(), [0.0, 0.0], 1.0)
        x, u = z[:2].tolist(), z[2:].tolist()
        values, g, H = quadratic(terms, step, x, u, rows, step.linear(x, u))
        return rows.cost(terms(x, u, step.step(x, u))), np.array(values), np.array(g), np.array(H)

    for kind in ("cost", "least_squares"):
        _, _, g, H = model(kind, z)
        near = [[model(kind, z + k * d) for k in (h, -h)] for d in np.eye(3)]
        assert np.allclose(g, [(a[0] - b[0]) / (2.0 * h) for a, b in near], atol=1e-7)
        J = np.array([(a[1] - b[1]) / (2.0 * h) for a, b in near]).T * w[:, None]
        exact = np.array([(a[2] - b[2]) / (2.0 * h) for a, b in near])
        assert np.allclose(H, exact if kind == "cost" else J.T @ J, atol=1e-6) and not np.allclose(exact, J.T @ J)
