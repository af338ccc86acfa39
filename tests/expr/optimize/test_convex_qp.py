"""Quadratic programs: the Karush–Kuhn–Tucker conditions, certificates, and calls."""

import itertools

import numpy as np
import pytest
from scipy import optimize

import linkwork as lw
from helpers.programs import kkt_errors, random_program, rows_of, times, transposed
from linkwork.cli.function_timings import threads
from linkwork.expr.optimize import quadratic_program
from linkwork.expr.optimize.dual_active_set import (
    CONTRADICTION,
    RUNNING,
    ActiveSetState,
    ScaledBounds,
    _choose_next,
    _pivot,
)


def satisfied(program, solution, tolerance=1e-8):
    """Assert that the Karush–Kuhn–Tucker conditions hold in all samples."""
    assert np.all(solution.status == 0.0), np.unique(solution.status, return_counts=True)
    for name, error in kkt_errors(program, solution).items():
        assert np.all(error <= tolerance), (name, float(np.max(error)))


CASES = [
    (1, 0, {}), (1, 0, {"box": True}), (1, 3, {}), (2, 5, {"box": True}), (3, 2, {"equalities": 2}),
    (5, 12, {"box": True, "equalities": 2}), (7, 0, {"box": True}), (6, 9, {"box": True, "rank": 2, "definite": False}),
    (5, 4, {"box": True, "rank": 0, "definite": False}), (4, 6, {"scale": 6.0}),
]  # fmt: skip


@pytest.mark.costly
@pytest.mark.parametrize(("n", "m", "how"), CASES)
def test_solutions_of_quadratic_programs_satisfy_the_kkt_conditions(n, m, how):
    rng = np.random.default_rng(n + 10 * m)
    program = random_program(rng, n, m, batch=(200,), **how)
    satisfied(program, lw.quadratic_program(**program))


def test_infeasible_quadratic_programs_return_a_certificate():
    rng = np.random.default_rng(3)
    program = random_program(rng, 4, 7, batch=(100,), box=True)
    low, high = program["lower"], program["upper"]
    A = program["A"]
    A[:, 6] = A[:, 0] - 2.0 * A[:, 1] + A[:, 2]
    low[:, 6] = high[:, 0] - 2.0 * low[:, 1] + high[:, 2] + 0.1
    high[:, 6] = low[:, 6] + 1.0
    solution = lw.quadratic_program(**program)
    assert np.all(solution.status == 3.0)
    C, lower, upper = rows_of(program)
    y = np.concatenate([solution.multipliers, solution.bound_multipliers], -1)
    value = np.where(y > 0, y * upper, np.where(y < 0, y * lower, 0.0)).sum(-1)
    assert np.all(abs(transposed(C, y)).max(-1) <= 1e-9 * abs(y).max(-1))
    assert np.all(value < 0.0)


def test_unbounded_quadratic_programs_return_a_direction_of_descent():
    rng = np.random.default_rng(4)
    program = random_program(rng, 4, 2, batch=(50,), rank=1, definite=False)
    solution = lw.quadratic_program(**program)
    assert np.all(solution.status == 4.0)
    d = solution.x / abs(solution.x).max(-1, keepdims=True)
    assert abs(times(program["H"], d)).max() < 1e-8 and abs(times(program["A"], d)).max() < 1e-8
    assert np.all((program["g"] * d).sum(-1) < 0.0)


SLOW = pytest.mark.slow(every=3)
DERIVED = [
    (3, 2, {"box": True, "equalities": 1}),
    pytest.param(3, 2, {"box": True}, marks=SLOW),
    pytest.param(4, 5, {"box": True, "equalities": 1}, marks=SLOW),
    pytest.param(4, 6, {"rank": 0, "definite": False, "box": True}, marks=SLOW),
    pytest.param(12, 3, {"box": True, "equalities": 1}, marks=SLOW),  # rows in loops
]


@pytest.mark.costly
@pytest.mark.parametrize(("n", "m", "how"), DERIVED)
def test_derivatives_of_quadratic_programs_equal_finite_differences(n, m, how):
    rng = np.random.default_rng(n)
    program = random_program(rng, n, m, **how)

    def function(H, g, A, lower, upper, x_lower, x_upper):
        return lw.quadratic_program(H, g, A, lower=lower, upper=upper, x_lower=x_lower, x_upper=x_upper)[:3]

    kernel = lw.compile(function, **{name: x.shape for name, x in program.items()})
    direction = {name: rng.standard_normal(x.shape) for name, x in program.items()}
    direction["H"] = (direction["H"] + direction["H"].T) * (how.get("rank") != 0)
    direction["upper"][: how.get("equalities", 0)] = direction["lower"][: how.get("equalities", 0)]
    h = 1e-6
    ahead, behind = (kernel(**{name: x + s * direction[name] for name, x in program.items()}) for s in (h, -h))
    expected = np.concatenate([(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)])
    derivatives = np.concatenate(kernel.jvp()(*program.values(), *direction.values())[-3:])
    np.testing.assert_allclose(derivatives, expected, rtol=0, atol=1e-7 * max(1.0, abs(expected).max()))
    weights = [rng.standard_normal(size) for size in (n, m, n)]
    gradients = kernel.vjp()(*program.values(), *weights)[-7:]
    total = sum((x * direction[name]).sum() for x, name in zip(gradients, program, strict=True))
    np.testing.assert_allclose(total, np.concatenate(weights) @ derivatives, rtol=1e-10)


def test_linear_programs_and_bounded_least_squares_equal_scipys_solutions():
    """Independent solvers: of the linear program HiGHS, of bounded least squares SciPy's."""
    rng = np.random.default_rng(6)
    for _ in range(10):
        program = random_program(rng, 4, 6, box=True, rank=0, definite=False)
        bounds = np.stack([program["x_lower"], program["x_upper"]], -1)
        rows = np.vstack([program["A"], -program["A"]])
        right = np.concatenate([program["upper"], -program["lower"]])
        expected = optimize.linprog(program["g"], rows, right, bounds=bounds)
        solution = lw.quadratic_program(**program)
        assert solution.status == 0.0
        np.testing.assert_allclose(program["g"] @ solution.x, expected.fun, rtol=1e-9)
        J, b = rng.standard_normal((7, 4)), rng.standard_normal(7) * 3.0
        expected = optimize.lsq_linear(J, b, (bounds[:, 0], bounds[:, 1]), method="bvls", tol=1e-14)
        solution = lw.quadratic_program(J.T @ J, -J.T @ b, x_lower=bounds[:, 0], x_upper=bounds[:, 1])
        np.testing.assert_allclose(solution.x, expected.x, rtol=0, atol=1e-9)


def enumerated(program):
    """The solution by trying all sets of rows that may be held: of few rows."""
    C, lower, upper = rows_of(program)
    H, g, n = program["H"], program["g"], len(program["g"])
    best, value = None, np.inf
    for count in range(n + 1):
        for rows in itertools.combinations(range(len(C)), count):
            for ends in itertools.product((0, 1), repeat=count):
                b = np.array([(lower, upper)[end][row] for row, end in zip(rows, ends, strict=True)])
                if not np.isfinite(b).all():
                    continue
                K = np.block([[H, C[list(rows)].T], [C[list(rows)], np.zeros((count, count))]])
                if np.linalg.cond(K) > 1e12:
                    continue
                x = np.linalg.solve(K, np.concatenate([-g, b]))[:n]
                v, at = C @ x, 0.5 * x @ H @ x + g @ x
                if at < value and np.all(v >= lower - 1e-9) and np.all(v <= upper + 1e-9):
                    best, value = x, at
    return best


def test_solutions_of_small_quadratic_programs_equal_enumeration_of_active_sets():
    rng = np.random.default_rng(8)
    for n, m in ((2, 3), (3, 2)):
        program = random_program(rng, n, m, batch=(6,), box=True)
        solution = lw.quadratic_program(**program)
        for k in range(6):
            expected = enumerated({name: x[k] for name, x in program.items()})
            np.testing.assert_allclose(solution.x[k], expected, rtol=0, atol=1e-8)


@pytest.mark.slow(every=3)
def test_degenerate_quadratic_programs_are_solved():
    """Many rows through the solution, repeated rows, dependent equations, fixed variables."""
    rng = np.random.default_rng(9)
    program = random_program(rng, 4, 9, batch=(100,))
    v = times(program["A"], rng.standard_normal((100, 4)))
    satisfied(
        program | {"upper": v, "lower": np.full_like(v, -np.inf)},
        lw.quadratic_program(**program | {"upper": v, "lower": np.full_like(v, -np.inf)}),
    )
    factors = np.array([1.0, -1.0, 1e4])[:, None]
    low, high = program["lower"][:, :3], program["upper"][:, :3]
    for k, factor in enumerate(factors[:, 0]):
        part = slice(3 * k, 3 * k + 3)
        program["A"][:, part] = factor * program["A"][:, :3]
        program["lower"][:, part], program["upper"][:, part] = np.sort([factor * low, factor * high], 0)
    satisfied(program, lw.quadratic_program(**program))
    program = random_program(rng, 4, 9, batch=(100,), equalities=3)
    for name in ("A", "lower", "upper"):
        program[name][:, 3] = program[name][:, 0] + program[name][:, 1]
    satisfied(program, lw.quadratic_program(**program))
    for name in ("A", "lower", "upper"):  # these rows contradict each other by rounding errors, and then by more
        program[name][:, 3] = 0.1 * program[name][:, 0] + 0.3 * program[name][:, 1]
    assert not lw.quadratic_program(**program, tolerance=1e-15).status.any()
    for name in ("lower", "upper"):
        program[name][:, 3] += 1e-10
    assert (lw.quadratic_program(**program, tolerance=1e-15).status == 3.0).all()
    program = random_program(rng, 4, 9, batch=(100,), box=True, equalities=1)
    free = dict(program)
    for name in ("x_lower", "x_upper"):
        free[name] = free[name].copy()
    x = 0.5 * (free["x_lower"] + free["x_upper"])
    free["x_lower"][:, 1] = free["x_upper"][:, 1] = x[:, 1]
    free["x_lower"][:, 2], free["x_upper"][:, 3] = -np.inf, np.inf
    free["lower"], free["upper"] = free["lower"] - 10.0, free["upper"] + 10.0
    solution = lw.quadratic_program(**free)
    satisfied(free, solution)
    np.testing.assert_array_equal(solution.x[:, 1], x[:, 1])


@pytest.mark.slow(every=3)
def test_solutions_of_quadratic_programs_do_not_depend_on_batches_and_threads():
    rng = np.random.default_rng(10)
    program = random_program(rng, 5, 9, batch=(300,), box=True)
    whole = lw.quadratic_program(**program)
    with threads(2):
        again = lw.quadratic_program(**{name: np.tile(x, (8,) + (1,) * (x.ndim - 1)) for name, x in program.items()})
    for a, b in zip(whole, again, strict=True):
        np.testing.assert_array_equal(np.tile(a, (8,) + (1,) * (a.ndim - 1)), b)
    for k in (0, 7, 150, 299):
        for a, b in zip(lw.quadratic_program(**{name: x[k] for name, x in program.items()}), whole, strict=True):
            np.testing.assert_array_equal(a, b[k])
    one_by_one = lw.quadratic_program(**program, max_iterations=289)  # pivots, whose tableau is written after each
    for a, b in zip(one_by_one, whole, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize(("n", "m"), [(12, 34), (46, 3)])
def test_solutions_of_large_quadratic_programs_in_loops_satisfy_the_kkt_conditions(n, m):
    """Large programs compile to loops whose states are moved by tables; single samples equal the batch."""
    rng = np.random.default_rng(11)
    program = random_program(rng, n, m, batch=(24,), equalities=2)
    whole = lw.quadratic_program(**program)
    satisfied(program, whole)
    for a, b in zip(lw.quadratic_program(**{name: x[3] for name, x in program.items()}), whole, strict=True):
        np.testing.assert_array_equal(a, b[3])


@pytest.mark.slow(every=5)
def test_warm_started_quadratic_programs_need_fewer_changes_of_the_active_set():
    rng = np.random.default_rng(12)
    program = random_program(rng, 6, 6, batch=(100,), box=True)
    cold = lw.quadratic_program(**program)
    warm = lw.quadratic_program(**program, warm_start=cold.active)
    np.testing.assert_allclose(warm.x, cold.x, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(warm.active, cold.active)
    assert warm.iterations.max() == 0.0 and cold.iterations.mean() > 3.0
    misleading = np.where(rng.uniform(size=cold.active.shape) < 0.5, 1.0, -1.0)
    misled = lw.quadratic_program(**program, warm_start=misleading)
    satisfied(program, misled)
    np.testing.assert_allclose(misled.x, cold.x, rtol=0, atol=1e-7)


def test_quadratic_programs_in_float32_are_close_to_float64():
    rng = np.random.default_rng(13)
    program = {name: x.astype(np.float32) for name, x in random_program(rng, 4, 4, batch=(100,), box=True).items()}
    solution = lw.quadratic_program(**program)
    assert solution.x.dtype == np.float32 and np.all(solution.status == 0.0)
    expected = lw.quadratic_program(**{name: x.astype(float) for name, x in program.items()})
    assert abs(solution.x - expected.x).max() < 1e-4


def test_quadratic_programs_with_nan_or_nonconvex_costs_have_their_own_statuses():
    H, g = np.eye(2), np.ones(2)
    for bad in (
        {"g": [1.0, np.nan]},
        {"H": [[1.0, 0.0], [np.nan, 1.0]]},
        {"A": [[1.0, np.nan]], "lower": [0.0]},
        {"A": [[1.0, 1.0]], "lower": [np.nan]},
        {"g": [np.inf, 0.0]},
    ):
        solution = lw.quadratic_program(**{"H": H, "g": g} | bad)
        assert solution.status == 2.0 and np.isnan(solution.x).all()
    assert lw.quadratic_program(-H, g).status == 5.0
    assert lw.quadratic_program(H, g, [[1.0, 0.5]], lower=[3.0], max_iterations=0).status == 1.0
    assert lw.quadratic_program(H, g, np.zeros((1, 2)), lower=[1.0]).status == 3.0


def test_quadratic_programs_without_variables_are_solved():
    assert lw.quadratic_program(np.zeros((0, 0)), np.zeros(0)).x.shape == (0,)
    assert lw.quadratic_program(np.zeros((0, 0)), np.zeros(0), np.zeros((1, 0)), lower=[1.0], upper=[2.0]).status == 3.0
    solution = lw.quadratic_program(np.eye(2), [1.0, 2.0], np.zeros((0, 2)), lower=np.zeros(0), upper=np.zeros(0))
    assert solution.x.tolist() == [-1.0, -2.0] and solution.multipliers.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"H": np.eye(3)}, ValueError, r"H: expected an array of shape \(..., 2, 2\) for g of shape \(2,\), got"),
        ({"lower": [1.0]}, TypeError, "A: expected the matrix of the rows"),
        ({"A": np.ones((1, 3))}, ValueError, r"A: expected an array of shape \(..., 1, 2\)"),
        ({"g": None}, TypeError, "g: expected an array, got None"),
        ({"x_lower": [0.0, 2.0], "x_upper": [1.0, 1.0]}, ValueError, "expected at most x_upper, got 2.0 > 1.0 at 1"),
        ({"x_lower": 1.0, "x_upper": 0.0}, ValueError, "x_lower: expected at most x_upper, got 1.0 > 0.0 at 0"),
        ({"x_lower": np.ones((3, 2)), "x_upper": [1.0, 0.0]}, ValueError, r"got 1.0 > 0.0 at \[0, 1\]"),
        ({"x_lower": 1.0, "x_upper": 0.0, "max_iterations": 1}, ValueError, "at most x_upper"),
        ({"A": np.eye(2), "lower": 1.0, "upper": [2.0, 0.0]}, ValueError, "lower: expected at most upper, .* at 1"),
        ({"x_lower": np.inf}, ValueError, "x_lower: expected numbers, or -inf for no bound, got inf at 0"),
        ({"x_lower": [0.0, np.inf], "x_upper": np.inf}, ValueError, "x_lower: .* got inf at 1"),
        ({"x_upper": [[0.0, 1.0], [-np.inf, 1.0]]}, ValueError, r"x_upper: .* or inf .* got -inf at \[1, 0\]"),
        ({"A": np.eye(2), "upper": -np.inf}, ValueError, "^quadratic_program: upper: .* got -inf at 0"),
        ({"A": np.eye(2), "lower": [0.0, np.inf]}, ValueError, "^quadratic_program: lower: .* got inf at 1"),
        ({"H": np.zeros((3, 2, 2)), "g": np.ones((4, 2))}, ValueError, r"broadcast, got H \(3, 2, 2\), g \(4, 2\)"),
        ({"H": np.ones((3, 2, 2)), "x_upper": np.ones((4, 2))}, ValueError, r"g \(2,\), x_upper \(4, 2\)"),
        ({"tolerance": -1.0}, ValueError, "tolerance: expected a number"),
        ({"max_iterations": 1.5}, ValueError, "max_iterations: expected an integer"),
        ({"x_lower": ["a", "b"]}, TypeError, "x_lower: expected an array of real numbers"),
    ],
)  # fmt: skip
def test_quadratic_program_refuses_invalid_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        lw.quadratic_program(**{"H": np.eye(2), "g": np.ones(2)} | arguments)


def test_bounds_of_quadratic_programs_are_checked_in_every_call():
    """Repeated calls with arrays of equal shapes are checked, too."""
    low, high = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    for shape in ((2,), (3, 2)):
        lower, upper = np.tile(low, (*shape[:-1], 1)), np.tile(high, (*shape[:-1], 1))
        for _ in range(2):
            assert (
                lw.quadratic_program(np.eye(2), np.array([3.0, 0.0]), x_lower=lower, x_upper=upper).x[..., 0] == -1
            ).all()
        for wrong, max_iterations in ((np.inf, "expected numbers"), (2.0, "expected at most x_upper")):
            lower[..., 1] = wrong
            with pytest.raises(ValueError, match=max_iterations):
                lw.quadratic_program(np.eye(2), np.array([3.0, 0.0]), x_lower=lower, x_upper=upper)


def test_quadratic_program_inside_a_kernel_solves_a_differential_ik_step():
    """Differential inverse kinematics within limits, on symbols, floats and batches."""

    def step(J, v):
        solution = lw.quadratic_program(J.T @ J + 1e-3 * np.eye(3), -J.T @ v, x_lower=-1.0, x_upper=np.ones(3))
        return solution.x, solution.status

    kernel = lw.compile(step, J=(2, 3), v=2)
    rng = np.random.default_rng(14)
    J, v = rng.standard_normal((20, 2, 3)), 3.0 * rng.standard_normal((20, 2))
    x, status = kernel(J, v)
    assert np.all(status == 0.0) and abs(x).max() == 1.0
    for k in range(3):
        np.testing.assert_allclose(x[k], step(J[k], v[k])[0], rtol=0, atol=1e-12)
        plain = quadratic_program(J[k].T @ J[k] + 1e-3 * np.eye(3), -J[k].T @ v[k], x_lower=-1.0, x_upper=np.ones(3))
        np.testing.assert_allclose(x[k], plain.x, rtol=0, atol=1e-12)


def test_pivots_after_the_end_of_the_search_for_an_active_set_make_no_change():
    """Several pivots are written together, and the search may end before the last of them: here a contradiction."""
    zeros, unit = [0.0] * 3, 2.0**-52
    lower, upper, base, marks = [0.6, -0.7, 0.5], [0.6, 0.4, 0.5], [0.2, -0.4, 0.0], [0.0, 1.0, 0.0]
    bounds = ScaledBounds(lower, upper, [1e-12] * 3, [1.0] * 3, unit**0.75, 64 * unit, 100 * unit, True, base)
    tableau = [1.0] * 6  # of three bounds on one variable
    columns = (zeros, zeros, zeros, marks)
    begun = ActiveSetState(*columns, -1.0, -1.0, 0.0, RUNNING, 0.0, _choose_next(bounds, columns), tableau)
    end, count = begun, 0
    while end.phase == RUNNING:
        end, count = _pivot(end, bounds, 1), count + 1
    assert end.phase == CONTRADICTION and count > 1
    for more in range(5):
        together = _pivot(begun, bounds, count + more)
        for name in ("targets", "multipliers", "sides", "marks", "phase", "changes"):
            before, after = (np.array(getattr(state, name), dtype=float) for state in (end, together))
            assert (before == after).all(), (name, more)
