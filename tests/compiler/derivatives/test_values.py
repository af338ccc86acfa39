"""Derivatives of kernels of user functions, against dual numbers, differences and each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import NotDifferentiableError
from linkwork.expr import cos, exp, fabs, root, sin, sqrt, where
from linkwork.expr.autodiff.dual_numbers import parts, seeded


def smooth(x: Any, y: Any) -> Any:
    return np.stack([sin(x[0]) * y[0], x[1] * x[2] / (2.0 + y[1] * y[1]), exp(x[0] * 0.3) * cos(y[1] - x[2])])


def chosen(x: Any, y: Any) -> Any:
    a = where(x[0] > 0.0, sqrt(fabs(x[0])) * y[0], x[1] * x[1])
    b = lw.cond(x[1] > y[0], lambda z: sin(z) * x[2], lambda z: exp(-z) * y[1], x[0])
    return np.stack([a, b, lw.take([1.0, 4.0, 9.0], x[2] * 3.0) * x[0]])


def rolled(x: Any, y: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        return state + 0.1 * np.stack([state[1], -sin(state[0]) * row, state[0] * state[2]]), None

    final, _ = lw.scan(step, x, np.stack([y[0], y[1], y[0] * y[1], x[0]]))
    return final


def solved(x: Any, y: Any) -> Any:
    matrix = np.array([[4.0 + x[0], y[0], 0.3], [y[0], 5.0, x[1]], [0.3, x[1], 6.0 + y[1]]])
    return lw.solve(matrix, x, assume="pos")


def rooted(x: Any, y: Any) -> Any:
    z = root(lambda z: z + 0.3 * sin(z + y[1]) - x[0] * y[0], x[0])
    scaled = lw.call(lambda s: s * s + cos(s), z.value)
    return np.stack([z.value, scaled * x[1], lw.fori_loop(0, 5, lambda s, k: s + 0.1 * sin(s * x[2]), x[1])])


FUNCTIONS = (smooth, chosen, rolled, solved, rooted)


@pytest.fixture(scope="module", params=FUNCTIONS, ids=lambda f: f.__name__)
def function(request: pytest.FixtureRequest) -> Callable[..., Any]:
    kind: Callable[..., Any] = request.param
    return kind


@pytest.fixture(scope="module")
def kernel(function: Callable[..., Any]) -> lw.Kernel:
    return lw.compile(function, x=3, y=2)


def states(count: int = 5) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return tuple(rng.uniform(-1.0, 1.0, (count, n)) for n in (3, 2, 3, 2, 3))  # x, y, directions of both, weights


def close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(
        actual, expected, rtol=tolerance, atol=tolerance * (1.0 + np.abs(expected).max(initial=0.0))
    )


def test_first_derivatives_of_kernels_equal_dual_number_derivatives(
    function: Callable[..., Any], kernel: lw.Kernel
) -> None:
    x, y, dx, dy, w = states()
    jvp = kernel.jvp()(x, y, dx, dy)
    for k in range(len(x)):
        moving = seeded([*x[k], *y[k]], [*dx[k], *dy[k]])
        dual_results = function(np.array(moving[:3]), np.array(moving[3:]))
        close(jvp[k], [float(parts(z, moving[0].level)[1]) for z in dual_results])
    jacobians = [kernel.jacobian(mode=mode)(x, y) for mode in ("forward", "reverse", "auto")]
    for by_x, by_y in jacobians:
        close(jvp, np.einsum("bij,bj->bi", by_x, dx) + np.einsum("bij,bj->bi", by_y, dy))
    gradients = kernel.vjp()(x, y, w)
    for gradient, whole in zip(gradients, jacobians[0], strict=True):
        close(gradient, np.einsum("bij,bi->bj", whole, w))


def test_hessian_kernels_equal_directional_derivatives_of_jacobian_kernels(kernel: lw.Kernel) -> None:
    x, y, dx, dy, w = states()
    hessian = kernel.hessian(weights=True)
    xx, xy, yy = hessian(x, y, w)
    np.testing.assert_array_equal(xx, np.swapaxes(xx, -1, -2))
    np.testing.assert_array_equal(yy, np.swapaxes(yy, -1, -2))
    vjp, step = kernel.vjp(), 1e-6
    ahead, behind = (vjp(x + s * dx, y + s * dy, w) for s in (step, -step))
    rates = [(a - b) / (2.0 * step) for a, b in zip(ahead, behind, strict=True)]
    by_x = np.einsum("bij,bj->bi", xx, dx) + np.einsum("bij,bj->bi", xy, dy)
    by_y = np.einsum("bji,bj->bi", xy, dx) + np.einsum("bij,bj->bi", yy, dy)
    close(by_x, rates[0], 1e-6)
    close(by_y, rates[1], 1e-6)
    for product in (kernel.hessian(weights=True, vector=True)(x, y, w, dx, dy), vjp.jvp("x", "y")(x, y, w, dx, dy)):
        close(product[0], by_x)
        close(product[1], by_y)
    twice = np.einsum("bi,bi->b", by_x, dx) + np.einsum("bi,bi->b", by_y, dy)
    again = kernel.jvp().jvp("x", "y")(x, y, dx, dy, dx, dy)
    close(np.einsum("bi,bi->b", again, w), twice)
    (whole,) = [kernel.jacobian("x").jacobian("x")(x, y)]
    close(np.einsum("bijk,bi->bjk", whole, w), xx)


def test_sparse_derivatives_equal_the_nonzero_entries_of_dense_derivatives(kernel: lw.Kernel) -> None:
    x, y, _, _, w = states()
    for dense, sparse, patterns in (
        (kernel.jacobian()(x, y), kernel.jacobian(sparse=True)(x, y), kernel.jacobian_pattern()),
        (
            kernel.hessian(weights=True)(x, y, w),
            kernel.hessian(weights=True, sparse=True)(x, y, w),
            kernel.hessian_pattern(weights=True),
        ),
    ):
        assert list(patterns) == list(dense._fields)
        for whole, values, pattern in zip(dense, sparse, patterns.values(), strict=True):
            assert values.shape == (5, pattern.nnz) and pattern.shape == whole.shape[1:]
            np.testing.assert_array_equal(pattern.dense(values), whole)
            flat = np.ravel_multi_index(tuple(pattern.indices.T), pattern.shape) if pattern.nnz else np.zeros(0)
            assert (np.diff(flat) > 0).all()


def test_derivative_kernels_accept_batches_and_output_arrays_and_can_be_interpreted(kernel: lw.Kernel) -> None:
    x, y, _, _, w = states(300)
    vjp = kernel.vjp()
    by_x, by_y = vjp(x, y, w)
    for k in (0, 7):
        np.testing.assert_array_equal(vjp(x[k], y[k], w[k])[0], by_x[k])
    np.testing.assert_array_equal(vjp(x[:, None], y, w[0])[1].shape, (300, 300, 2))
    close(vjp.interpret(x, y, w)[1], by_y)
    out = np.empty_like(by_x), np.empty_like(by_y)
    vjp(x, y, w, out=out)
    np.testing.assert_array_equal(out[0], by_x)
    single = vjp(*(z.astype(np.float32) for z in (x, y, w)))
    assert single[0].dtype == np.float32
    close(single[0], by_x, 1e-3)
    assert sum(vjp.operations.values()) > 0
    with pytest.raises(TypeError, match="not compiled from a Python function"):
        vjp.call_python(x, y, w)


def test_derivative_kernels_can_be_called_with_symbols() -> None:
    kernel = lw.compile(smooth, x=3, y=2)
    jacobian = kernel.jacobian("x")
    outer = lw.compile(lambda x, y, d: jacobian(x, y) @ d, x=3, y=2, d=3)
    x, y, dx, *_ = states()
    close(outer(x, y, dx), kernel.jvp("x")(x, y, dx))
    constant = lw.compile(lambda x: np.array([1.0, 2.0]), x=0)
    assert constant.jacobian()(np.zeros((4, 0))).shape == (4, 2, 0)
    assert constant.vjp()(np.zeros(0), [1.0, 1.0]).shape == (0,)


def test_while_loops_can_be_differentiated_in_forward_mode_only() -> None:
    def newton(a: Any) -> Any:
        def step(z: Any) -> Any:
            return 0.5 * (z + a[0] / z)

        return lw.while_loop(lambda z: fabs(z * z - a[0]) > 1e-15 * a[0], step, a[0] + a[1] * 0.0, max_iterations=60)[0]

    kernel, a = lw.compile(newton, a=2), np.array([[2.0, 1.0], [9.0, 4.0]])
    expected = np.stack([0.5 / np.sqrt(a[:, 0]), 0.0 * a[:, 0]], axis=-1)
    close(kernel.jacobian()(a), expected, 1e-10)
    close(kernel.jacobian(mode="forward")(a), expected, 1e-10)
    close(kernel.hessian()(a)[:, 0, 0], -0.25 * a[:, 0] ** -1.5, 1e-8)
    for reverse in (kernel.vjp(), kernel.jacobian(mode="reverse"), kernel.value_and_gradient()):
        with pytest.raises(NotDifferentiableError, match=rf"{reverse.name}: while_loop.*jvp and jacobian"):
            reverse(*[a, np.ones(2)][: len(reverse.inputs)])


def test_reverse_mode_solves_a_shared_linear_system_once() -> None:
    """Several outputs cost little more than one; derivatives are finite where an output ignores a NaN solution."""

    def both(x: Any, y: Any) -> Any:
        z = lw.solve(np.array([[x[0] * x[0], 0.1 * x[1]], [0.1 * x[1], 2.0 + y[1]]]), y, assume="pos")
        safe = where(x[0] > 0.0, z, x[:2])
        return {"first": np.stack([z[0], 2.0 * z[1], z[1] + x[0]]), "second": np.stack([*(sin(safe) * y[0]), *safe])}

    kernel = lw.compile(both, x=3, y=2)
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 1.0, (5, 3)), rng.uniform(0.2, 1.0, (5, 2))
    pulled, pushed = kernel.jacobian(mode="reverse"), kernel.jacobian(mode="forward")
    for first, second in zip(pulled(x, y), pushed(x, y), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-13)
    small = 1e-6
    for k in range(3):
        move = small * np.eye(3)[k]
        sides = kernel(x + move, y).second, kernel(x - move, y).second
        np.testing.assert_allclose(pulled(x, y).d_second_d_x[..., k], (sides[0] - sides[1]) / (2 * small), atol=1e-8)
    count = lambda of: kernel.jacobian(of=of, mode="reverse").arithmetic  # noqa: E731
    assert count(("first", "second")) < 0.8 * (count("first") + count("second"))
    arrays = np.zeros(3), np.ones(2)
    assert not np.isfinite(kernel(*arrays).first).all()
    jacobian = pulled(*arrays)
    assert np.array_equal(jacobian.d_second_d_x[2:], np.eye(3)[:2]) and np.isfinite(jacobian.d_second_d_y).all()
