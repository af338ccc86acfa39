"""Linear quadratic regulators: SciPy, closed forms and costs of motions; derivatives; unsolvable systems."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are, solve_discrete_are
from scipy.signal import cont2discrete

import linkwork as lw
from helpers.overconstrained import bennett, bennett_angles
from linkwork.control import finite_horizon_lqr, lqr
from linkwork.control.linear_quadratic import dense_riccati
from linkwork.control.linear_quadratic.dense_riccati import _sizes
from linkwork.expr import adjoint, tangent
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_construction import through_states

_SIZES = (3, 2)


def _systems(seed: int, many: int, n: int, m: int, discrete: bool) -> list[np.ndarray]:
    """A, B, Q, R, N with a cost that is positive."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(many, n, n)) * 0.5 + discrete * np.eye(n)
    B, F = rng.normal(size=(many, n, m)), rng.normal(size=(many, n + m, n + m))
    C = F @ F.swapaxes(-1, -2) + 0.1 * np.eye(n + m)
    return [A, B, C[:, :n, :n], C[:, n:, n:], C[:, :n, n:]]


@pytest.mark.parametrize("discrete", [False, True])
def test_lqr_equals_scipys_solution_and_stabilises_the_system(discrete: bool) -> None:
    solver = solve_discrete_are if discrete else solve_continuous_are
    A, B, Q, R, N = _systems(0, 40, *_SIZES, discrete)
    regulator = lqr(A, B, Q, R, N, discrete=discrete)
    assert regulator.residual.max() < 1e-10
    roots = np.linalg.eigvals(A - B @ regulator.K)
    assert (np.abs(roots) < 1.0).all() if discrete else (roots.real < 0.0).all()
    for k in range(40):
        known = solver(A[k], B[k], Q[k], R[k], s=N[k])
        assert np.abs(regulator.X[k] - known).max() < 1e-7 * np.abs(known).max()
        single = lqr(A[k], B[k], Q[k], R[k], N[k], discrete=discrete)
        assert all(
            np.array_equal(a, b[k]) for a, b in zip(single, regulator, strict=True)
        )  # the same alone and in a batch
    # of Q and R the lower triangle is read
    upper = np.triu(np.ones(_SIZES[0]), 1)
    assert np.array_equal(lqr(A, B, Q + upper, R, N, discrete=discrete).X, regulator.X)
    # without N
    plain = lqr(A[0], B[0], Q[0], R[0], discrete=discrete)
    assert np.abs(plain.X - solver(A[0], B[0], Q[0], R[0])).max() < 1e-8 * np.abs(plain.X).max()


def test_lqr_equals_closed_form_solutions_in_any_units() -> None:
    # a pushed mass: X = [[√3, 1], [1, √3]]; times and lengths in other units change nothing but units
    for time in (1e-3, 1.0, 1e3):
        A, B = [[0.0, 1.0 / time], [0.0, 0.0]], [[0.0], [1.0 / time]]
        regulator = lqr(A, B, np.eye(2) / time, [[1.0 / time]])
        assert np.abs(regulator.X - [[3**0.5, 1.0], [1.0, 3**0.5]]).max() < 1e-9
    # also where an eigenvalue of A is what the transform might have subtracted
    B = [[(0.999**2 - 0.5) ** 0.5, 0.0], [0.0, 1.0]]
    regulator = lqr(np.diag([1.0, 0.0]), B, np.eye(2), np.eye(2))
    assert np.abs(regulator.X - solve_continuous_are(np.diag([1.0, 0.0]), B, np.eye(2), np.eye(2))).max() < 1e-12
    # what costs nothing and ends by itself is left alone
    regulator = lqr([[-1.0]], [[1.0]], [[0.0]], [[1.0]])
    assert abs(regulator.K[0, 0]) < 1e-12 and regulator.residual < 1e-9


def test_finite_horizon_lqr_attains_the_stated_cost() -> None:
    n, m = _SIZES
    A, B, Q, R, N = _systems(1, 12, n, m, True)  # twelve steps
    end = np.diag([1.0, 2.0, 3.0])
    regulator = finite_horizon_lqr(A, B, Q, R, N, end=end)
    rng = np.random.default_rng(2)
    x = start = rng.normal(size=n)
    cost, worse = 0.0, 0.0
    y = start
    for k in range(12):
        u, w = -regulator.K[k] @ x, -regulator.K[k] @ y + 0.1 * rng.normal(size=m)
        cost += x @ Q[k] @ x + 2.0 * x @ N[k] @ u + u @ R[k] @ u
        worse += y @ Q[k] @ y + 2.0 * y @ N[k] @ w + w @ R[k] @ w
        x, y = A[k] @ x + B[k] @ u, A[k] @ y + B[k] @ w
    upper = np.triu(np.ones((n, n)), 1)  # is not read
    assert np.array_equal(finite_horizon_lqr(A, B, Q, R, N, end=end + upper).X, regulator.X)
    cost, worse = cost + x @ end @ x, worse + y @ end @ y
    assert abs(cost - start @ regulator.X[0] @ start) < 1e-9 * cost and worse > cost
    # of one system, many steps lead to the regulator without end; batches go along
    long = finite_horizon_lqr(A[:2, None] * 0.5, B[:2, None], Q[0], R[0], num_steps=None, end=np.zeros((n, n)))
    assert long.K.shape == (2, 1, m, n)
    settled = finite_horizon_lqr(A[0], B[0], Q[0], R[0], num_steps=400)
    assert np.abs(settled.X[0] - lqr(A[0], B[0], Q[0], R[0], discrete=True).X).max() < 1e-8 * np.abs(settled.X[0]).max()


@pytest.mark.parametrize("discrete", [False, True])
def test_derivatives_of_lqr_equal_finite_differences_of_the_solution(discrete: bool) -> None:
    n, m = 2, 1
    shapes = [(n, n), (n, m), (n, n), (m, m), (n, m)]
    ends = np.cumsum([a * b for a, b in shapes])

    def answer(p: Any) -> Any:
        A, B, Q, R, N = (p[e - a * b : e].reshape(a, b) for e, (a, b) in zip(ends, shapes, strict=True))
        regulator = lqr(A, B, 0.5 * (Q + Q.T), R, N, discrete=discrete)
        return np.concatenate([regulator.X.ravel(), regulator.K.ravel()])

    size, out = int(ends[-1]), n * n + n * m
    value = lw.compile(answer, p=size)
    forward = lw.compile(lambda p, d: np.array(tangent(list(answer(p)), p, list(d))), p=size, d=size)
    reverse = lw.compile(lambda p, w: np.array(adjoint(list(answer(p)), p, list(w))), p=size, w=out)
    p = np.concatenate([x[0].ravel() for x in _systems(3, 1, n, m, discrete)])
    rng = np.random.default_rng(4)
    for _ in range(3):
        d, w, h = rng.normal(size=size), rng.normal(size=out), 1e-5
        difference = (value(p + h * d) - value(p - h * d)) / (2.0 * h)
        rate = forward(p, d)
        assert np.abs(rate - difference).max() < 1e-6 * np.abs(difference).max()
        assert abs(reverse(p, w) @ d - rate @ w) < 1e-9 * (np.abs(rate) @ np.abs(w))


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("discrete", [False, True])
def test_second_derivatives_of_lqr_are_correct_where_first_derivatives_are_zero(discrete: bool) -> None:
    """A state without coupling has X = q/(1 − a²) or −q/(2a), twice differentiated at q = 0, where it has no cost."""
    a = 0.8 if discrete else -0.8
    A, B, Q, R = np.diag([0.5, a]), np.array([[1.0], [0.0]]), np.diag([1.0, 0.0]), np.eye(1)

    def mixed(A: Any, Q: Any) -> Any:
        X = lqr(A, B, Q, R, discrete=discrete).X
        by_a = tangent([X[1, 1]], [*A.ravel(), *Q.ravel()], [0.0, 0.0, 0.0, 1.0] + [0.0] * 4)
        forward = tangent(by_a, [*A.ravel(), *Q.ravel()], [0.0] * 7 + [1.0])
        return np.array([forward[0], adjoint(by_a, Q.ravel(), [1.0])[3], adjoint(by_a, A.ravel(), [1.0])[3]])

    expected = 2.0 * a / (1.0 - a * a) ** 2 if discrete else 0.5 / a**2
    np.testing.assert_allclose(lw.compile(mixed, A=(2, 2), Q=(2, 2))(A, Q), [expected, expected, 0.0], atol=1e-12)


@pytest.mark.slow(every=3)
def test_lqr_controller_returns_an_arm_to_the_reference_state() -> None:
    arm = lw.load("arm6")
    n = arm.nv
    q, v = arm.random_configuration(seed=0), np.zeros(n)
    tau = arm.inverse_dynamics(q, v, v)
    K = lqr(*arm.linearize(q, v, tau, dt=0.01, passive=False), np.eye(2 * n), 1e-3 * np.eye(n), discrete=True).K
    at, rate = arm.integrate(q, np.full(n, 0.02)), v
    for _ in range(1500):
        x = np.concatenate([arm.difference(q, at), rate])
        rate = rate + 0.01 * arm.forward_dynamics(at, rate, tau - K @ x)
        at = arm.integrate(at, 0.01 * rate)
    assert np.abs(arm.difference(q, at)).max() < 1e-4 and np.abs(rate).max() < 1e-4


def test_regulators_accept_single_and_diagonal_weights() -> None:
    A, B = np.array([[0.0, 1.0], [3.0, -0.2]]), np.array([[0.0], [2.0]])
    for f, how in ((lqr, {}), (lqr, {"discrete": True}), (finite_horizon_lqr, {"num_steps": 4})):
        expected = f(A, B, np.diag([10.0, 1.0]), [[0.1]], **how)
        for Q, R in (((10.0, 1.0), 0.1), (np.array([10, 1]), [0.1])):
            assert np.array_equal(f(A, B, Q, R, **how).K, expected.K)
        assert np.array_equal(f(A, B, 2, 0.1, **how).K, f(A, B, 2.0 * np.eye(2), [[0.1]], **how).K)


def test_invalid_and_unstabilisable_systems_of_lqr_are_refused() -> None:
    A, B, Q, R = np.diag([1.0, -1.0]), np.array([[0.0], [1.0]]), np.eye(2), np.eye(1)
    for how in ({}, {"discrete": True}):
        with pytest.raises(ValueError, match="eigenvalue 1 of A does not decay and is not controllable"):
            lqr(A, B, Q, R, **how)
    with pytest.raises(ValueError, match="has no cost in Q"):
        lqr([[0.0, 1.0], [0.0, 0.0]], B, np.diag([0.0, 1.0]), R)
    with pytest.raises(ValueError, match="eigenvalue 1 does not decay and has no cost in Q"):
        lqr([[1.0]], [[1.0]], [[0.0]], R, discrete=True)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"R": [[-1.0]]}, "R: expected a positive (semi)?definite matrix"),
        ({"Q": -np.eye(2)}, "expected a positive semidefinite cost"),
        ({"N": [[0.0], [3.0]]}, "expected a positive semidefinite cost"),
        ({"B": np.eye(3)}, r"B: expected \(..., 2, 3\)"),
        ({"A": np.full((2, 2), np.nan)}, "A: expected finite numbers, got nan"),
        ({"Q": np.ones(3)}, r"Q: expected a number, a diagonal \(2,\), or a matrix \(..., 2, 2\); got shape \(3,\)"),
    ]
    for change, message in cases:
        arguments = {"A": A, "B": B, "Q": Q, "R": R, **change}
        with pytest.raises(ValueError, match=message):
            lqr(**arguments)
        with pytest.raises(ValueError, match=message):
            finite_horizon_lqr(**arguments, num_steps=3)
    for end in (np.diag([1.0, -1.0]), [[0.0, 9.0], [1.0, 0.0]]):
        with pytest.raises(ValueError, match=r"end: expected a positive semidefinite matrix, .* eigenvalue -1"):
            finite_horizon_lqr(A, B, Q, R, end=end, num_steps=3)
    with pytest.raises(TypeError, match="expected an array of real numbers"):
        lqr(A * 1j, B, Q, R)
    for name in "ABQR":
        arguments = {"A": A, "B": B, "Q": Q, "R": R, name: None}
        for function, options in ((lqr, {}), (finite_horizon_lqr, {"num_steps": 3})):
            with pytest.raises(TypeError, match=f"{name}: expected an array of real numbers, got None"):
                function(**arguments, **options)
    with pytest.raises(ValueError, match="num_steps: expected an integer, or matrices"):
        finite_horizon_lqr(A, B, Q, R)
    with pytest.raises(ValueError, match="the same number of steps in all arguments"):
        finite_horizon_lqr(np.tile(A, (3, 1, 1)), B, Q, R, num_steps=4)
    # in a batch, one that has no regulator leaves the others alone
    A_valid = np.array([[0.0, 1.0], [0.0, 0.0]])
    both = lqr(np.array([A, A_valid]), B, Q, R)
    assert not np.isfinite(both.residual[0])
    assert np.array_equal(both.K[1], lqr(A_valid, B, Q, R).K)


@pytest.mark.slow(every=9)
def test_lqr_of_fast_growing_systems_with_small_costs_is_computed() -> None:
    """Systems whose motions grow fourfold in a step, with one cost, and with none."""
    n = 14
    draws = []
    for seed in (2, 22, 36, 93):
        rng = np.random.default_rng(seed)
        draws.append((rng.normal(size=(n, n)), rng.normal(size=(n, 2))))
    A, B = (np.array(x) for x in zip(*draws, strict=True))
    Q, R = np.diag([1.0] + [0.0] * (n - 1)), np.eye(2)
    together = lw.control.lqr(A, B, Q, R, discrete=True)
    assert np.abs(np.linalg.eigvals(A)).max(axis=1).min() > 3.5
    for k in range(len(draws)):
        K, X, residual = lw.control.lqr(A[k], B[k], Q, R, discrete=True)
        assert (
            np.array_equal(K, together.K[k])
            and residual < (1e-7 if k == 1 else 1e-9)
            and np.linalg.eigvalsh(X).min() > -1e-7 * np.abs(X).max()
        )
        closed = A[k] - B[k] @ K
        assert np.abs(np.linalg.eigvals(closed)).max() < 0.9
        # what the law costs, by its own sum over time
        cost, P = Q + K.T @ K, np.zeros((n, n))
        for _ in range(2000):
            P = cost + closed.T @ P @ closed
        rounding = np.finfo(float).eps * np.linalg.cond(closed)  # 5e-9 to 8e-5
        assert np.abs(P - X).max() < rounding * np.abs(X).max()
    # beside one that neither ends by itself nor costs anything there is none
    zeros = np.zeros((n + 1, n + 1))
    zeros[:n, :n], zeros[n, n] = A[1], 1.0
    with pytest.raises(ValueError, match="lqr: "):
        lw.control.lqr(zeros, np.vstack([B[1], [[1.0, 1.0]]]), np.diag([1.0] + [0.0] * n), R, discrete=True)


@pytest.mark.parametrize("discrete", [False, True])
def test_lqr_of_systems_too_large_for_a_kernel_equals_scipys_solution(discrete: bool) -> None:
    """Systems beyond the kernels' size equal SciPy's to rounding, alone and in batches."""
    solver = solve_discrete_are if discrete else solve_continuous_are
    for n, m in ((14, 7), (39, 13)):
        A, B, Q, R, N = _systems(n, 3, n, m, discrete)
        A = A / np.sqrt(n) + discrete * (1.0 - 1.0 / np.sqrt(n)) * np.eye(n)
        regulator = lqr(A, B, Q, R, N, discrete=discrete)
        assert regulator.residual.max() < 1e-12
        for k in range(3):
            known = solver(A[k], B[k], Q[k], R[k], s=N[k])
            assert np.abs(regulator.X[k] - known).max() < 1e-9 * np.abs(known).max()
        single = lqr(A[0], B[0], Q[0] + np.triu(np.ones((n, n)), 1), R[0], N[0], discrete=discrete)
        assert np.array_equal(single.K, regulator.K[0])  # lower triangles are read, too


@pytest.mark.slow(every=5)
def test_lqr_accepts_semidefinite_costs() -> None:
    """Inputs may cost zero in discrete time, and states if A's motions grow by themselves."""
    rng = np.random.default_rng(5)
    for n in (1, 3, 14):
        A, B, zeros = rng.normal(size=(n, n)), rng.normal(size=(n, 2 if n > 1 else 1)), np.zeros((n, n))
        m = B.shape[1]
        regulator = lqr(A, B, np.eye(n), np.zeros((m, m)), discrete=True)
        assert (
            np.abs(regulator.X - solve_discrete_are(A, B, np.eye(n), np.zeros((m, m)))).max() < 1e-6 * regulator.X.max()
        )
        # without a cost of states, motions that grow are mirrored: eigenvalues −λ, or 1/λ
        for discrete in (False, True):
            K = lqr(A, B, zeros, np.eye(m), discrete=discrete).K
            roots = np.linalg.eigvals(A)
            grows = np.abs(roots) > 1.0 if discrete else roots.real > 0.0
            known = np.where(grows, 1.0 / roots.conj() if discrete else -roots.conj(), roots)
            assert np.abs(np.sort_complex(np.linalg.eigvals(A - B @ K)) - np.sort_complex(known)).max() < 1e-7
    both = lqr(np.array([[[2.0]], [[0.5]]]), np.eye(1), np.zeros((1, 1)), np.eye(1), discrete=True)
    assert np.allclose(both.K.ravel(), [1.5, 0.0]) and both.residual.max() < 1e-9
    assert np.allclose(lqr([[2.0]], [[1.0]], [[1.0]], [[0.0]], discrete=True).K, 2.0)
    with pytest.raises(ValueError, match="R: expected a positive definite matrix"):
        lqr([[2.0]], [[1.0]], [[1.0]], [[0.0]])
    with pytest.raises(ValueError, match="R is singular, and R \\+ B'XB is singular"):
        lqr([[0.5]], [[1.0]], [[0.0]], [[0.0]], discrete=True)
    with pytest.raises(ValueError, match=r"the mode of the eigenvalue .* has no cost in Q"):
        lqr([[0.0, 1.0], [-1.0, 0.0]], [[0.0], [1.0]], np.zeros((2, 2)), np.eye(1))
    # on symbols, too, where derivatives by R = 0 are those of its solution
    of = {"A": (3, 3), "B": (3, 2), "R": (2, 2)}
    solved = lw.compile(lambda A, B, R: lqr(A, B, np.eye(3), R, discrete=True)[:3], **of)
    for R in (np.zeros((2, 2)), np.diag([1.0, 0.0]), np.eye(2)):
        A, B = rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
        K, X, residual = solved(A, B, R)
        known = solve_discrete_are(A, B, np.eye(3), R)
        assert residual < 1e-9 and np.abs(X - known).max() < 1e-7 * np.abs(known).max()
        assert np.allclose(K, np.linalg.solve(R + B.T @ known @ B, B.T @ known @ A))

    def gain(r: Any) -> Any:
        A, B = np.diag([2.0, 1.5]), np.ones((2, 1))
        return lqr(A, B, np.eye(2), lw.expr.array([[r]]), discrete=True).K[0, 0]

    both = lw.compile(lambda r: (gain(r), lw.expr.jacobian([gain(r)], [r])[0][0]), r=())
    assert np.isclose(both(0.0)[1], (both(1e-6)[0] - both(0.0)[0]) / 1e-6, rtol=1e-4)
    kernel = lw.compile(lambda a: lqr(lw.expr.array([[a]]), np.eye(1), np.zeros((1, 1)), np.eye(1)).K[0, 0], a=())
    assert np.allclose(kernel(np.array([0.5, 2.0])), [1.0, 4.0])


def test_powers_of_a_matrix_bound_the_largest_modulus_of_its_eigenvalues() -> None:
    rng = np.random.default_rng(2)
    for scale in (1e-3, 1.0, 1e4):
        M = scale * rng.normal(size=(30, 30))
        known = _sizes(M)
        sizes = np.abs(np.linalg.eigvals(M))
        assert known == pytest.approx((sizes.max(), np.exp(np.log(sizes).mean())), rel=1e-9)
        with mock.patch.object(dense_riccati, "_MANY", 0):
            largest, mean = _sizes(M)
        assert known[0] <= largest * (1.0 + 1e-9) < 1.2 * known[0]
        assert mean == pytest.approx(known[1], rel=1e-9)
    # a nilpotent matrix, of which powers end
    with mock.patch.object(dense_riccati, "_MANY", 0):
        assert _sizes(np.triu(np.ones((4, 4)), 1))[0] >= 1e-3


def test_lqr_algorithm_for_large_systems_gives_the_same_solution() -> None:
    """Bounds by powers change the transform's γ; the regulator is the same."""
    for discrete in (False, True):
        A, B, Q, R, N = (M[0] for M in _systems(6, 1, 14, 3, discrete))
        known = lqr(A, B, Q, R, N, discrete=discrete)
        with mock.patch.object(dense_riccati, "_MANY", 0):
            regulator = lqr(A, B, Q, R, N, discrete=discrete)
        assert regulator.residual < 1e-10
        assert np.abs(regulator.X - known.X).max() < 1e-8 * np.abs(known.X).max()


def test_lqr_gains_do_not_depend_on_units() -> None:
    """Gains are exactly zero without costs, and scale as the units of time, cost and inputs."""
    for n in (1, 2, 14):
        for A in (np.zeros((n, n)), -np.eye(n)):
            assert not lqr(A, np.eye(n), np.zeros((n, n)), np.eye(n)).K.any()
        assert not lqr(0.5 * np.eye(n), np.eye(n), np.zeros((n, n)), np.eye(n), discrete=True).K.any()
        with pytest.raises(ValueError, match="cannot be stabilised"):  # a cost that no input can change
            lqr(np.zeros((n, n)), np.zeros((n, n)), np.eye(n), np.eye(n))
    for cost in (1e-100, 1e-30, 1e-8, 1e30):
        assert np.isclose(lqr([[0.0]], [[2.0]], [[cost]], [[1.0]]).K, np.sqrt(cost), rtol=1e-9, atol=0.0), cost
    rng = np.random.default_rng(0)
    for n in (2, 13):
        A, B, Q, R = rng.normal(size=(n, n)), rng.normal(size=(n, 1)), np.eye(n), np.eye(1)
        K = lqr(A, B, Q, R).K
        for s in (1e-12, 1e-4, 1e4, 1e12):  # units of time; of costs
            assert np.allclose(lqr(s * A, s * B, Q, R).K, K, rtol=1e-6, atol=1e-8 * np.abs(K).max()), (n, s)
            assert np.allclose(lqr(A, B, s * Q, s * R).K, K, rtol=1e-6, atol=1e-8 * np.abs(K).max()), (n, s)


def test_lqr_of_a_four_bar_equals_the_lqr_of_its_crank() -> None:
    """A four-bar with a motor at its crank has the gains of a system in the crank's angle."""
    robot: Any = lw.load("fourbar")
    crank = robot.v_names[0]
    minimal = robot.minimal_coordinates(crank)
    q = np.array([robot.assemble(robot.assemble().q, hold={crank: angle}).q for angle in (0.6, 2.0)])
    weights = {"Q": (10.0, 1.0), "R": 0.5, "actuators": crank}
    for dt in (None, 0.01):
        regulator = lw.control.lqr_about_state(robot, q, dt=dt, **weights)
        assert (
            (regulator.residual < 1e-9).all()
            and np.abs(regulator.tau[:, 0]).min() > 0.1
            and not regulator.tau[:, 1:].any()
        )
        accelerations = robot.constrained_forward_dynamics(q, 0.0 * q, regulator.tau).a
        assert np.abs(accelerations).max() < 1e-9
        for k, at in enumerate(q):
            u = minimal.coordinates_of(at)
            J = np.kron(np.eye(2), minimal.jacobian(u))
            A, B = minimal.linearize(u, np.zeros(1), regulator.tau[k])
            if dt is not None:
                A, B, *_ = cont2discrete((A, B, A, B), dt)
            known = lqr(A, B[:, :1], J.T @ np.diag([10.0] * 3 + [1.0] * 3) @ J, [[0.5]], discrete=dt is not None)
            assert np.allclose(regulator.K[k] @ J, known.K, rtol=1e-8, atol=1e-8)
            assert np.allclose(J.T @ regulator.X[k] @ J, known.X, rtol=1e-8, atol=1e-8)


@pytest.mark.slow(every=9)
def test_lqr_controllers_of_loops_keep_states_and_follow_trajectories() -> None:
    """A four-bar at rest and along a trajectory, refused arguments, and a Delta robot in minimal coordinates."""
    robot: Any = lw.load("fourbar")
    crank = robot.v_names[0]
    q = np.array([robot.assemble(robot.assemble().q, hold={crank: angle}).q for angle in (0.6, 2.0)])
    weights: dict[str, Any] = {"Q": (10.0, 1.0), "R": 0.5, "actuators": crank}
    law = lw.control.lqr_about_state(robot, q[0], **weights)
    start = robot.assemble(q[0], hold={crank: 0.7}).q
    run = robot.simulate(start, controller=law, duration=3.0, dt=2e-3, record_every=100, passive=False)
    assert np.abs(run.q[-1] - q[0]).max() < 1e-4
    # along a trajectory, on numbers and on symbols
    rest_trajectory = robot.spline([0.0, 0.1], [q[0], q[0]], boundary="clamped")
    along = lw.control.lqr_about_trajectory(robot, rest_trajectory, Q=(10.0, 1.0), R=0.5, actuators=crank)
    kernel = lw.compile(lambda t, q, v: along(t, q, v), t=(), q=3, v=3)
    for tau in (along.feedforward(0.05), along(0.05, q[0], np.zeros(3)), kernel(0.05, q[0], np.zeros(3))):
        assert np.allclose(tau, law.tau, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="v: expected a state at rest, since the robot has constraints"):
        lw.control.lqr_about_state(robot, q[0], np.ones(3), actuators=crank)
    with pytest.raises(
        ValueError, match="lqr_about_state: state 1: expected a configuration that satisfies the constr"
    ):
        lw.control.lqr_about_state(robot, [q[0], q[0] + 0.1], actuators=crank)
    driven = robot.with_constraints(lw.constraints.Holonomic("motor", lambda k: k.q(crank) - 0.6 - k.time))
    with pytest.raises(ValueError, match="lqr_about_state: constraint 'motor' depends on time"):
        lw.control.lqr_about_state(driven, q[0], tau=np.zeros(3))
    # a Delta robot with motors at its shoulders
    delta: Any = lw.load("delta")
    at, motors = delta.assemble().q, ["shoulder_1", "shoulder_2", "shoulder_3"]
    minimal = delta.minimal_coordinates(motors, q=at)
    regulator = lw.control.lqr_about_state(delta, at, Q=(10.0, 1.0), R=0.5, actuators=motors)
    y, costs = minimal.coordinates_of(at), np.diag([10.0] * delta.nv + [1.0] * delta.nv)
    J = np.kron(np.eye(2), minimal.jacobian(y, near=at))
    A, B = minimal.linearize(y, 0.0 * y, regulator.tau, near=at)
    known = lqr(A, B[:, delta.v_index(motors)], J.T @ costs @ J, 0.5 * np.eye(3))
    assert np.allclose(regulator.K @ J, known.K, rtol=1e-9, atol=1e-9)


@pytest.mark.slow(every=9)
def test_lqr_along_trajectories_that_violate_redundant_loops_slightly_equals_that_of_closed_loops() -> None:
    """Quintics between states of Bennett's linkage open it by 1e-4, where its constraints are not redundant."""
    robot: Any = bennett()
    times = np.linspace(0.0, 1.0, 5)
    closed = robot.spline(times, [bennett_angles(x) for x in np.linspace(0.6, 1.4, 5)], boundary="clamped")

    def rough(offset: float) -> Trajectory:
        q, v, a = closed(times)
        return Trajectory([through_states(CurveSpace.of(robot.tree), times, q + offset, v, a)], robot)

    assert np.abs(robot.constraint_error(rough(0.0)(np.linspace(0.0, 1.0, 50)).q)).max() > 3e-5
    known, result = (
        lw.control.lqr_about_trajectory(robot, path, Q=(100.0, 1.0), R=0.01, dt=0.02, actuators=robot.v_names[0])
        for path in (closed, rough(0.0))
    )
    forces = [controller.feedforward(known.times) for controller in (known, result)]
    for x, y, share in ((known.K, result.K, 1e-3), (known.X, result.X, 1e-3), (*forces, 3e-3)):
        assert np.abs(y - x).max() < share * np.abs(x).max()
    with pytest.raises(ValueError, match="lqr_about_trajectory: state 0: expected a configuration that satisfies the"):
        lw.control.lqr_about_trajectory(robot, rough(0.1), dt=0.02)


def test_motors_in_place_of_joints_are_refused_with_their_joints() -> None:
    motor = lw.Actuator.motor("force", "rail", gear=20.0)
    robot = lw.Robot.build(
        "cart",
        lw.Joint.of(lw.joints.Prismatic("x"), name="rail", parent="world", child="cart"),
        lw.Link("cart", mass=1.0),
        actuators=[motor],
    )
    with pytest.raises(
        lw.errors.UnknownNameError, match="no joint named 'force'; it is a motor; name its joint: 'rail'"
    ):
        lw.control.lqr_about_state(robot, [0.0], Q=1.0, R=1.0, actuators="force")
    with pytest.raises(lw.errors.UnknownNameError, match="did you mean 'rail'"):
        lw.control.lqr_about_state(robot, [0.0], Q=1.0, R=1.0, actuators="rial")
