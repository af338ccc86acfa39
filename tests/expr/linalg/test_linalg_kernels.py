"""Linear algebra in kernels: the interpreter, float32, nested kernels, loops and CasADi."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.matrices import check_derivatives, positive, random
from linkwork.expr import adjoint, fori_loop, linalg
from linkwork.expr.control.loop_instruction import LOOP

MATRICES, SIDES = positive(1, 9, n=3), random(2, 9, 3)


def several(A: Any, b: Any) -> dict[str, Any]:
    """One function of each kind, except for those whose signs are arbitrary."""
    spectrum = linalg.eigh(A)
    return {
        "general": linalg.solve(A, b),
        "positive": linalg.solve(A, b, assume="pos"),
        "inverse": linalg.inv(A),
        "determinant": linalg.det(A, assume="pos"),
        "lower": linalg.cholesky(A),
        "upper": linalg.lu(A)[1],
        "R": linalg.qr(A).R,
        "least": linalg.lstsq(A[:, :2], b),
        "damped": linalg.lstsq(A[:2], b[:2], damping=0.1),
        "values": spectrum.eigenvalues,
        "vectors": spectrum.eigenvectors**2,
        "singular": linalg.svdvals(A),
        "status": linalg.solve(A, b, status=True)[1],
    }


@pytest.fixture(scope="module")
def kernel() -> lw.Kernel:
    return lw.compile(several, A=(3, 3), b=3)


def test_compiled_linear_algebra_equals_the_interpreter(kernel: lw.Kernel) -> None:
    results, expected = kernel(MATRICES, SIDES), kernel.interpret(MATRICES, SIDES)
    for name, first, second in zip(several(np.eye(3), np.ones(3)), results, expected, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-13, err_msg=name)
    for k, (a, b) in enumerate(zip(MATRICES, SIDES, strict=True)):
        alone = kernel(a, b)
        for name, value in several(a, b).items():
            np.testing.assert_allclose(getattr(alone, name), value, rtol=1e-12, atol=1e-13, err_msg=name)
            np.testing.assert_array_equal(getattr(alone, name), getattr(results, name)[k])  # to the bit


def test_linear_algebra_kernels_in_float32_are_close_to_float64(kernel: lw.Kernel) -> None:
    single = kernel(MATRICES.astype(np.float32), SIDES.astype(np.float32))
    for first, second in zip(single, kernel(MATRICES, SIDES), strict=True):
        assert first.dtype == np.float32
        np.testing.assert_allclose(first, second, rtol=0.0, atol=3e-5 * max(1.0, float(np.abs(second).max())))


def test_kernels_called_inside_kernels_use_derivative_rules_of_linear_algebra() -> None:
    inner = lw.compile(lambda A, b: linalg.solve(A, b), name="inner", A=(3, 3), b=3)

    def gradient(solve: Any) -> lw.Kernel:
        return lw.compile(
            lambda A, b, w: np.array(adjoint(list(solve(A, b)), [*A.ravel(), *b], list(w))),
            A=(3, 3),
            b=3,
            w=3,
            name="g",
        )

    through, direct = gradient(inner), gradient(linalg.solve)
    assert through.operations == direct.operations
    weights = random(3, 9, 3)
    np.testing.assert_array_equal(through(MATRICES, SIDES, weights), direct(MATRICES, SIDES, weights))


def test_linear_algebra_can_be_converted_to_casadi(kernel: lw.Kernel) -> None:
    pytest.importorskip("casadi")
    function = kernel.to_casadi()
    results = function(MATRICES[0], SIDES[0])
    for value, reference in zip(results, kernel(MATRICES[0], SIDES[0]), strict=True):
        expected = np.reshape(reference, value.shape)
        np.testing.assert_allclose(value.full(), expected, rtol=1e-12, atol=1e-13)


def test_linear_solutions_in_loops_can_be_differentiated() -> None:
    def filtered(a: Any, b: Any) -> Any:
        return fori_loop(0, 3, lambda k, x: linalg.solve(a, x + b, assume="pos"), b)

    check_derivatives(filtered, MATRICES[0], SIDES[0])


def loops(kernel: lw.Kernel) -> int:
    """Return the number of outermost loops of the compiled program."""
    return sum(instruction.operation is LOOP for instruction in kernel.program.instructions)


def test_sweeps_of_the_eigenvalue_algorithm_are_compiled_to_loops() -> None:
    """They equal the unrolled sweeps on floats, also in their derivatives."""
    a = positive(4, 5, n=6)
    kernel = lw.compile(lambda A: (linalg.eigvalsh(A), linalg.svdvals(A)), name="kernel", A=(6, 6))
    assert loops(kernel) == 2
    for values, expected in zip(kernel(a), (linalg.eigvalsh(a), linalg.svdvals(a)), strict=True):
        np.testing.assert_allclose(values, expected, rtol=0.0, atol=1e-14)

    def gradient(A: Any) -> Any:
        return np.array(adjoint([linalg.eigvalsh(A)[5]], A.ravel(), [1.0]))

    largest = np.linalg.eigh(a[0]).eigenvectors[:, 5]
    outer = np.tril(np.outer(largest, largest)) + np.tril(np.outer(largest, largest), -1)  # the lower triangle is read
    np.testing.assert_allclose(lw.compile(gradient, A=(6, 6))(a[0]), outer.ravel(), rtol=0.0, atol=1e-12)


@pytest.mark.slow(every=5)
def test_elimination_of_large_matrices_is_compiled_to_loops() -> None:
    """For 18 rows: with row exchanges, the status of a pivot, and the gradient."""
    n = 18
    orders = np.random.default_rng(1).permuted(np.tile(np.arange(n), (5, 1)), axis=1)
    a, b = random(5, 5, n, n) + n * np.eye(n)[orders], random(6, 5, n)
    a[3, :, 2] = 0.0  # no pivot in the third column
    a[4, 7, 7] = np.nan

    def both(A: Any, b: Any, w: Any) -> Any:
        x, status = linalg.solve(A, b, status=True)
        return x, status, np.array(adjoint(list(x), [*A.ravel(), *b], list(w)))

    kernel = lw.compile(both, name="kernel", A=(n, n), b=n, w=n)
    assert loops(kernel) == 7
    weights = random(7, n)
    x, status, gradient = kernel(a, b, weights)
    assert status[:4].tolist() == [0.0, 0.0, 0.0, 3.0] and status[4] > 0.0
    np.testing.assert_allclose(x[:3], linalg.solve(a[:3], b[:3]), rtol=0.0, atol=1e-13)  # the same, step by step
    np.testing.assert_allclose(x[:3], np.linalg.solve(a[:3], b[:3, :, None])[..., 0], rtol=0.0, atol=1e-13)
    for k in range(3):
        pulled = np.linalg.solve(a[k].T, weights)
        np.testing.assert_allclose(gradient[k], [*-np.outer(pulled, x[k]).ravel(), *pulled], rtol=0.0, atol=1e-13)
