"""Derivatives of kernels are kernels: cached, described and converted to CasADi."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.derivatives.sparsity import Pattern, estimate
from linkwork.compiler.kernel import source_and_code
from linkwork.expr import cos, sin, where


def pendulum(q: Any, v: Any) -> Any:
    return np.stack([v[0] * cos(q[1]), where(q[0] > v[1], sin(q[0]), q[1] * v[1])])


def test_derivative_kernels_loaded_from_the_cache_are_not_traced_again(cache_folder: Path) -> None:
    def derivative_kernels() -> list[lw.Kernel]:
        robot, user_kernel = lw.load("double_pendulum").compile("forward_dynamics"), lw.compile(pendulum, q=2, v=2)
        return [
            robot.vjp("q"),
            robot.jacobian(),
            user_kernel.hessian("q", weights=True),
            user_kernel.jvp("v").jvp("q"),
            user_kernel.jvp("q"),
        ]

    samples = np.random.default_rng(0).normal(size=(9, 2))
    first = [kernel(*samples[: len(kernel.inputs)]) for kernel in derivative_kernels()]
    assert sum(path.is_file() for path in cache_folder.rglob("*")) >= 5
    for kernel, before in zip(derivative_kernels(), first, strict=True):
        source, code = source_and_code(kernel)
        results = kernel(*samples[: len(kernel.inputs)])
        assert code.cached and not source.is_traced
        for left, right in zip(_listed(results), _listed(before), strict=True):
            np.testing.assert_array_equal(left, right)


def test_cache_distinguishes_derivatives_of_one_kernel_by_different_inputs(cache_folder: Path) -> None:
    """Names are not part of the key, and both kernels have the same program."""
    by_x = lw.compile(lambda x, y: sin(x) * y * y, x=(), y=(), name="f")
    by_y = lw.compile(lambda y, x: sin(y) * x * x, y=(), x=(), name="f")
    assert by_x.vjp("x")(0.3, 2.0, 1.0) == pytest.approx(np.cos(0.3) * 4.0)
    assert by_y.vjp("x")(0.3, 2.0, 1.0) == pytest.approx(np.sin(0.3) * 4.0)
    assert by_x.jacobian("x")(0.3, 2.0) == pytest.approx(np.cos(0.3) * 4.0)
    assert by_x.hessian("y")(0.3, 2.0) == pytest.approx(np.sin(0.3) * 2.0)


def test_derivative_kernels_are_compiled_at_their_first_call() -> None:
    kernel = lw.compile(pendulum, q=2, v=2).vjp("q")
    source, code = source_and_code(kernel)
    second = kernel.jvp("q")
    second([0.1, 0.2], [0.3, 0.4], [1.0, 2.0], [0.5, 0.6])
    assert source.is_traced and not code.sizes  # what is between was never compiled
    assert kernel.operations["sin"] == 1 and "define" in kernel.llvm_ir
    assert copy.deepcopy(kernel) is kernel
    with pytest.raises(TypeError, match="missing argument 'w_output'"):
        kernel([0.1, 0.2], [0.3, 0.4])
    with pytest.raises(ValueError, match="pendulum_vjp"):
        kernel([0.1], [0.3, 0.4], [1.0, 2.0])


def test_jacobian_kernels_can_be_converted_to_casadi() -> None:
    pytest.importorskip("casadi")
    kernel = lw.compile(pendulum, q=2, v=2).jacobian("q")
    q, v = [0.1, 0.2], [0.3, 0.4]
    np.testing.assert_allclose(np.array(kernel.to_casadi()(q, v)), kernel(q, v), rtol=1e-14)


def test_jacobian_in_automatic_mode_uses_the_mode_with_fewer_operations() -> None:
    many_in = lw.compile(lambda x: sin(x @ x) * x[0], x=9)
    many_out = lw.compile(lambda t: np.stack([sin(t * k) for k in range(1, 9)]), t=())
    for kernel, best_mode, worst_mode in ((many_in, "reverse", "forward"), (many_out, "forward", "reverse")):
        auto, best, worse = (
            sum(kernel.jacobian(mode=mode).operations.values())  # type: ignore[arg-type]
            for mode in ("auto", best_mode, worst_mode)
        )
        assert auto == best < worse or (auto == best and best_mode == "forward")


def test_estimated_operations_of_a_jacobian_equal_the_count_of_its_products_and_sums() -> None:
    kernel = lw.compile(lambda x: np.stack([x[0] * x[1], x[1] * x[2] + x[0]]), x=3)
    result = estimate(source_and_code(kernel)[0].traced, {k: 1 << k for k in range(3)}, [1, 2])
    assert result == (4, 4)  # two products have four partial derivatives


def test_sparsity_patterns_compare_by_value_and_cannot_be_changed() -> None:
    pattern = Pattern((2, 3), [1, 5])
    assert pattern == Pattern((2, 3), [1, 5]) != Pattern((3, 2), [1, 5]) and hash(pattern) == hash(copy.copy(pattern))
    np.testing.assert_array_equal(pattern.indices, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(pattern.dense([[7.0, 8.0]]), [[[0.0, 7.0, 0.0], [0.0, 0.0, 8.0]]])
    assert Pattern((), [0]).dense([3.0]) == 3.0 and Pattern((), []).dense(np.zeros((4, 0))).shape == (4,)
    assert Pattern((0, 3), []).dense([]).shape == (0, 3) and repr(pattern) == "<Pattern 2 of (2, 3)>"
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 2\), got \(3,\)"):
        pattern.dense([1.0, 2.0, 3.0])
    with pytest.raises(AttributeError, match="is immutable"):
        pattern.shape = (1,)
    with pytest.raises(ValueError, match="read-only"):
        pattern.indices[0] = 0


def test_sparse_jacobians_omit_entries_that_are_zero_for_all_inputs() -> None:
    kernel = lw.compile(lambda x, y: {"a": x * x, "b": np.array([1.0, 2.0])}, x=3, y=2)
    sparse, patterns = kernel.jacobian(sparse=True), kernel.jacobian_pattern()
    assert [pattern.nnz for pattern in patterns.values()] == [3, 0, 0, 0]
    result = sparse(np.arange(6.0).reshape(2, 3), np.zeros(2))
    np.testing.assert_array_equal(result[0], 2.0 * np.arange(6.0).reshape(2, 3))
    assert result[3].shape == (2, 0) and patterns["d_b_d_y"].dense(result[3]).shape == (2, 2, 2)


def _listed(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)
