"""Linear equations on all scalars, against numpy.linalg."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.matrices import EPS, check_derivatives, hilbert, on_symbols, positive, random, traced
from linkwork.errors import SingularMatrixError
from linkwork.expr import adjoint
from linkwork.expr.linalg import solve, solve_triangular
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

ASSUMED = ("gen", "sym", "pos", "lower", "upper")


def suited(assume: str, seed: int, *batch: int, n: int) -> np.ndarray:
    """Matrices for which this may be assumed."""
    if assume == "gen":
        return random(seed, *batch, n, n)
    matrices = positive(seed, *batch, n=n)
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)
    if assume == "sym":  # quasidefinite after a permutation: strong diagonal, of both signs
        return 0.1 * matrices + np.diag(signs) * n
    return {"pos": matrices, "lower": np.tril(matrices), "upper": np.triu(matrices)}[assume]


def test_linear_solutions_on_floats_batches_and_symbols_equal_numpys() -> None:
    for assume in ASSUMED:
        for n in (0, 1, 2, 3, 7):
            a, b, c = suited(assume, n, 5, n=n), random(n + 50, 5, n), random(n + 60, 5, n, 2)
            expected = np.linalg.solve(a, b[..., None])[..., 0]
            solution = solve(a, b, assume=assume)
            bound = 50 * EPS * (np.linalg.cond(a).max() if n else 1.0) * np.abs(expected).max(initial=1.0)
            np.testing.assert_allclose(solution, expected, rtol=0.0, atol=bound)
            np.testing.assert_allclose(solve(a, c, assume=assume), np.linalg.solve(a, c), rtol=0.0, atol=8 * bound)
            for k in range(5):
                np.testing.assert_allclose(solve(a[k], b[k], assume=assume), expected[k], rtol=0.0, atol=bound)
            alone = on_symbols(lambda a, b, assume=assume: solve(a, b, assume=assume), a[0], b[0])
            np.testing.assert_allclose(alone, expected[0], rtol=0.0, atol=bound)


def test_solve_does_not_read_the_triangle_that_its_assumption_excludes() -> None:
    """numpy.linalg.cholesky and scipy.linalg.solve_triangular have the same convention."""
    a, b = positive(0, n=4), random(1, 4)
    spoilt = np.tril(a) + np.triu(np.full((4, 4), np.nan), 1)
    np.testing.assert_array_equal(solve(spoilt, b, assume="pos"), solve(a, b, assume="pos"))
    np.testing.assert_array_equal(solve(spoilt, b, assume="lower"), solve(np.tril(a), b, assume="lower"))
    np.testing.assert_array_equal(solve(spoilt.T, b, assume="upper"), solve(np.triu(a), b, assume="upper"))


def test_triangular_linear_equations_are_solved() -> None:
    a, b = positive(3, 6, n=5), random(4, 6, 5)
    for lower in (False, True):
        for transposed in (False, True):
            for unit in (False, True):
                solution = solve_triangular(a, b, lower=lower, transposed=transposed, unit_diagonal=unit)
                t = np.tril(a) if lower else np.triu(a)
                if unit:
                    t = t - t * np.eye(5) + np.eye(5)
                t = t.swapaxes(-1, -2) if transposed else t
                np.testing.assert_allclose(np.einsum("bij,bj->bi", t, solution), b, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("assume", ASSUMED)
def test_derivatives_of_linear_solutions_equal_finite_differences(assume: str) -> None:
    check_derivatives(lambda a, b: solve(a, b, assume=assume), suited(assume, 5, n=3), random(6, 3))
    check_derivatives(lambda a, b: solve(a, b, assume=assume), suited(assume, 7, n=2), random(8, 2, 3))


def test_derivatives_of_linear_solutions_with_row_exchanges_equal_finite_differences() -> None:
    a = np.array([[0.0, 2.0, 1.0], [1e-3, 1.0, -1.0], [4.0, 0.5, 0.25]])
    check_derivatives(solve, a, random(9, 3))


def test_derivative_rule_of_linear_solutions_equals_differentiated_elimination() -> None:
    """The reference is the same elimination without a rule."""
    inputs, outputs = traced(lambda a, b: solve(a, b), random(10, 2, 2), random(11, 2))
    a, b, c, d, e, f = inputs
    by_hand = [(d * e - b * f) / (a * d - b * c), (a * f - c * e) / (a * d - b * c)]
    weights = [0.3, -1.7]
    values = dict(zip(inputs, random(12, 6).tolist(), strict=True))
    derivatives = evaluate(adjoint(outputs, inputs, weights), values)
    np.testing.assert_allclose(derivatives, evaluate(adjoint(by_hand, inputs, weights), values), rtol=1e-12)


def test_gradient_of_a_linear_solution_needs_at_most_twice_its_operations() -> None:
    def costs(assume: str) -> tuple[int, int]:
        alone = lw.compile(lambda a, b: solve(a, b, assume=assume), name="alone", a=(7, 7), b=7)

        def both(a: np.ndarray, b: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            x = solve(a, b, assume=assume)
            return x, np.array(adjoint(list(x), [*a.ravel(), *b], list(w)))

        return sum(alone.operations.values()), sum(lw.compile(both, a=(7, 7), b=7, w=7).operations.values())

    for assume, most in (("gen", 1.5), ("pos", 2.0)):
        alone, both = costs(assume)
        assert both <= most * alone


def test_equal_matrices_of_several_linear_solves_are_factored_once() -> None:
    def count(*sides: int) -> int:
        kernel = lw.compile(
            lambda a, b: tuple(solve(a, b[:, k], assume="pos") for k in sides), name="k", a=(6, 6), b=(6, 2)
        )
        return kernel.operations["div"]

    assert count(0, 1) == count(0) == 6


def test_block_diagonal_matrices_cost_no_more_than_their_blocks() -> None:
    """The blocks of a block-diagonal matrix are solved separately."""

    def blocks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        whole = np.zeros((4, 4), dtype=object)
        whole[:2, :2], whole[2:, 2:] = a[:2, :2], a[2:, 2:]
        return solve(whole, b)

    whole = lw.compile(blocks, a=(4, 4), b=4)
    half = lw.compile(solve, name="half", A=(2, 2), b=2)
    assert sum(whole.operations.values()) <= 2 * sum(half.operations.values())
    a, b = random(1, 4, 4), random(2, 4)
    np.testing.assert_allclose(whole(a, b)[:2], np.linalg.solve(a[:2, :2], b[:2]), rtol=1e-12)


def test_backward_errors_of_linear_solutions_are_small_for_ill_conditioned_matrices() -> None:
    """‖A x − b‖ ≤ c ε ‖A‖ ‖x‖, whatever the condition number is."""
    cases = {f"Hilbert {n}": (hilbert(n), ("gen", "pos")) for n in (4, 8, 12)}
    cases["zero pivots first"] = (np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), ("gen",))
    cases["graded"] = (np.diag([1e-12, 1.0, 1e12]) + 1e-13 * hilbert(3), ("gen", "pos"))
    cases["permuted"] = (hilbert(6)[::-1], ("gen",))
    for name, (a, assumptions) in cases.items():
        for assume in assumptions:
            b = random(3, len(a))
            x = solve(a, b, assume=assume)
            residual = np.abs(a @ x - b).max() / (np.abs(a).max() * np.abs(x).max() + np.abs(b).max())
            assert residual <= 20 * len(a) * EPS, (name, assume)


def test_solving_with_a_singular_matrix_of_floats_raises_an_error() -> None:
    batch = np.stack([np.eye(3), np.diag([1.0, 0.0, 0.0]), np.diag([1.0, 1.0, np.nan])])
    b = np.ones((3, 3))
    with pytest.raises(
        SingularMatrixError, match=r"solve: matrix \[1\] of the batch .*, and 1 more fail.*pivot 1"
    ) as e:
        solve(batch, b)
    assert (e.value.function, e.value.pivot, e.value.sample, e.value.samples) == ("solve", 1, (1,), 2)
    assert isinstance(e.value, np.linalg.LinAlgError)
    assert solve(batch, b, status=True)[1].tolist() == [0.0, 2.0, 3.0]
    with pytest.raises(SingularMatrixError, match=r"the matrix is not positive definite.*pivot 0.*not positive"):
        solve(np.diag([-1.0, 1.0]), np.ones(2), assume="pos")
    x, status = solve(np.zeros((2, 2)), np.ones(2), status=True)
    assert status == 1.0 and not np.isfinite(x).any()
    with pytest.raises(SingularMatrixError, match="pivot 0"):
        solve_triangular(np.diag([0.0, 1.0]), np.ones(2))


def test_kernels_return_the_status_of_a_linear_solution() -> None:
    kernel = lw.compile(lambda a, b: solve(a, b, status=True), name="kernel", a=(3, 3), b=3)
    batch = np.stack([np.eye(3), np.diag([1.0, 0.0, 0.0]), np.diag([2.0, 1.0, np.inf]), np.full((3, 3), np.nan)])
    x, status = kernel(batch, np.ones((4, 3)))
    assert status.tolist() == [0.0, 2.0, 3.0, 1.0]
    np.testing.assert_array_equal(x[0], 1.0)
    without = lw.compile(solve, name="without", A=(3, 3), b=3)(batch, np.ones((4, 3)))
    assert np.isfinite(without[0]).all()
    assert not np.isfinite(without[1]).all()  # IEEE's answer, as of any other formula


def test_pivot_that_is_zero_for_all_inputs_raises_an_error_while_tracing() -> None:
    x = Graph().input("x")
    a = np.array([[x, 0.0], [1.0, 0.0]], dtype=object)
    with pytest.raises(SingularMatrixError, match=r"solve: the matrix is singular .* pivot 1"):
        solve(a, np.ones(2))
    assert evaluate([solve(a, np.ones(2), status=True)[1]], {x: 3.0}) == [2.0]


def test_wrong_shapes_and_types_of_solve_are_refused() -> None:
    wrong = [
        (lambda: solve(np.ones((2, 3)), np.ones(2)), r"A: expected a square matrix.*got the shape \(2, 3\)"),
        (lambda: solve(np.ones(3), np.ones(3)), r"A: expected a square matrix.*got the shape \(3,\)"),
        (lambda: solve(np.eye(3), np.ones(2)), r"b: expected .* 3 rows.*\(3, 3\), got the shape \(2,\)"),
        (lambda: solve(np.eye(3), 1.0), r"b: expected .* got the shape \(\)"),
        (lambda: solve(np.ones((4, 2, 2)), np.ones((3, 2))), r"expected batches that broadcast"),
        (lambda: solve(np.eye(2), np.ones(2), assume="poss"), r"assume: .*'poss'; did you mean 'pos'"),
    ]
    for call, message in wrong:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="A: expected an array of real numbers or symbols, got an array of complex128"):
        solve(np.eye(2) * 1j, np.ones(2))


def test_linear_solutions_have_the_float_type_of_the_matrix() -> None:
    for kind in (np.float32, np.longdouble):
        assert solve(np.eye(2, dtype=kind), np.ones(2, dtype=kind)).dtype == kind
        assert solve(np.ones((3, 2, 2), dtype=kind) + np.eye(2, dtype=kind), np.ones(2, dtype=kind)).dtype == kind
    assert solve([[2, 1], [1, 3]], [3, 4]).tolist() == [1.0, 1.0]


def test_linear_systems_with_object_arrays_of_batches_are_solved() -> None:
    """Elements of the array are arrays, with an entry for each sample."""
    a, b = random(1, 6, 2, 2), random(2, 6, 2)
    wide, side = np.empty((2, 2), object), np.empty(2, object)
    for i in range(2):
        side[i] = b[:, i]
        for j in range(2):
            wide[i, j] = a[:, i, j]
    solution = solve(wide, side)
    np.testing.assert_allclose(np.stack(solution.tolist(), axis=-1), solve(a, b), rtol=1e-14)
    wide[0, 0], wide[0, 1] = a[:, 0, 0] * (np.arange(6) != 3), a[:, 0, 1] * (np.arange(6) != 3)
    with pytest.raises(SingularMatrixError, match=r"solve: matrix \[3\] of the batch"):
        solve(wide, side)
    assert solve(wide, side, status=True)[1].item().tolist() == [0.0, 0.0, 0.0, 2.0, 0.0, 0.0]
