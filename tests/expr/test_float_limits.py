"""Limits of the float types: code in float32 uses those of float32."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.expr.equations.linear_quadratic import LinearQuadratic
from linkwork.expr.equations.riccati import riccati
from linkwork.expr.scalar.float_limits import FLOAT32, FLOAT64, MODERATE, by_type, in_float32
from linkwork.expr.scalar.precision import float_limits_of

TYPES = [np.float64, np.float32]


def test_constants_of_float_limits_agree_with_numpys_finfo() -> None:
    for limits, kind in ((FLOAT64, DOUBLE), (FLOAT32, SINGLE)):
        info = np.finfo(kind.dtype)
        assert kind.limits is limits
        assert limits.epsilon == info.eps
        assert info.tiny < limits.smallest_divisor < limits.negligible and 1.0 / limits.smallest_divisor < info.max
        assert info.eps < limits.negligible < limits.flat < 1.0
        assert max(limits.largest_input**2, MODERATE**1.9) < info.max


@pytest.mark.parametrize("dtype", TYPES)
def test_compiled_code_uses_the_limits_of_its_float_type(dtype: Any) -> None:
    kernel = lw.compile(lambda x: tuple(asdict(float_limits_of([1.0, x])).values()), x=())
    expected = [dtype(limit) for limit in asdict(FLOAT64 if dtype is np.float64 else FLOAT32).values()]
    for x in (dtype(2.0), np.array([0.0, np.nan, np.inf, 1.0], dtype)):
        for actual, limit in zip(kernel(x), expected, strict=True):
            assert actual.dtype == dtype and np.all(actual == limit)
    assert float_limits_of([1.0, 2.0]) is FLOAT64


@pytest.mark.parametrize("dtype", TYPES)
def test_tolerances_derived_from_rounding_units_depend_on_the_float_type(dtype: Any) -> None:
    """The bound is the same power of the rounding unit, or as near to an end of the range; factors are allowed."""
    bounds = [2.0**-52, 2.0**-104, 1e-14, -1e-14, 1e9, 1e-300, 1e-150, 1e300]
    single = [2.0**-23, 2.0**-46, 1e-14 ** (23 / 52), -(1e-14 ** (23 / 52)), 1e9 ** (23 / 52), 1e-36, 1e-18, 1e36]
    kernel = lw.compile(lambda x: np.array([x + 0.0 * x, *(by_type(bound) * x for bound in bounds)]), x=())
    np.testing.assert_allclose(kernel(dtype(1.0))[1:], bounds if dtype is np.float64 else single, rtol=2e-5)
    np.testing.assert_allclose([in_float32(by_type(bound)) for bound in bounds], single, rtol=2e-5)
    assert all(in_float32(x) == x for x in (0.0, 1.0, 1e-14, -np.inf, 2.0**-52, 1e300))
    chained = lw.compile(lambda x: (x * by_type(1e-14)) * 3.0, x=())
    assert chained(dtype(1.0)) == pytest.approx(3.0 * (bounds if dtype is np.float64 else single)[2], rel=2e-5)


def programs(kind: str) -> tuple[np.ndarray, ...]:
    """Two hundred quadratic programs (H, g, A, b) with A x <= b, of which H has the rank 2 where it has a direction."""
    rng, size = np.random.default_rng(3), 200
    roots, A, b = rng.normal(size=(size, 4, 2)), rng.normal(size=(size, 3, 4)), rng.uniform(0.5, 1.0, (size, 3))
    if kind == "no costs":
        return np.zeros((size, 4, 4)), np.zeros((size, 4)), A, b
    if kind == "no linear term":
        return roots @ roots.swapaxes(1, 2) + np.eye(4), np.zeros((size, 4)), A, b
    flat = np.linalg.svd(roots.swapaxes(1, 2))[2][:, -1]  # H flat = 0
    g = -flat + 0.3 * (roots @ rng.normal(size=(size, 2, 1)))[..., 0]
    A = A - (A @ flat[..., None]) * flat[:, None] - rng.uniform(0.2, 1.0, (size, 3, 1)) * flat[:, None]
    return roots @ roots.swapaxes(1, 2), g, A, b


@pytest.mark.slow(every=5)
@pytest.mark.parametrize(
    ("kind", "status", "least"), [("no costs", 0, 200), ("no linear term", 0, 200), ("flat", 4, 150)]
)
def test_quadratic_programs_have_equal_statuses_in_float32_and_float64(kind: str, status: int, least: int) -> None:
    def solve(H: Any, g: Any, A: Any, b: Any) -> Any:
        solution = lw.quadratic_program(H, g, A=A, upper=b)
        return solution.x, solution.status

    kernel = lw.compile(solve, H=(4, 4), g=4, A=(3, 4), b=3)
    arrays = programs(kind)
    assert np.sum(kernel(*arrays)[1] == status) >= 198
    x, status_of_samples = kernel(*(array.astype(np.float32) for array in arrays))
    assert np.sum(status_of_samples == status) >= least and np.isfinite(x).all()
    assert set(np.unique(status_of_samples)) <= {status, 1}  # it never states another result


@pytest.mark.parametrize("dtype", TYPES)
def test_riccati_equations_without_costs_are_solved_in_float32_and_float64(dtype: Any) -> None:
    def gains(A: Any, B: Any) -> Any:
        zeros = [[0.0] * 2 for _ in range(2)]
        solution = riccati(LinearQuadratic(A.tolist(), B.tolist(), zeros, [[1.0]], [[0.0], [0.0]]), continuous=True)
        return np.array(solution.K), solution.residual

    kernel = lw.compile(gains, A=(2, 2), B=(2, 1))
    A, B = np.array([[1.0, 0.5], [0.0, -2.0]]), np.array([[1.0], [1.0]])
    K, residual = kernel(A.astype(dtype), B.astype(dtype))
    assert residual < 1e-8 and K.dtype == dtype
    # the unstable eigenvalue is mirrored, the other one stays
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(A - B @ K).real), [-2.0, -1.0], rtol=1e-5)


@pytest.mark.parametrize("dtype", TYPES)
def test_pseudoinverses_have_the_numerical_rank_of_their_float_type(dtype: Any) -> None:
    kernel = lw.compile(lambda x, y: np.linalg.pinv(x[:, None] * y), x=3, y=2)
    x, y = np.random.default_rng(4).normal(size=(2, 50, 3))
    P = kernel(x.astype(dtype), y[:, :2].astype(dtype))
    size = np.sum(x * x, axis=1) * np.sum(y[:, :2] ** 2, axis=1)
    expected = y[:, :2, None] * x[:, None, :] / size[:, None, None]
    assert np.all(abs(P - expected) < 1e3 * np.finfo(dtype).eps * abs(expected).max(axis=(1, 2), keepdims=True))
