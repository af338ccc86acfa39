"""Kernels of derivatives are kernels: kept in the cache, explained, written for CasADi."""

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


def test_what_the_cache_holds_is_not_traced(cache_folder: Path) -> None:
    def made() -> list[lw.Kernel]:
        robot, own = lw.load("double_pendulum").compile("forward_dynamics"), lw.compile(pendulum, q=2, v=2)
        return [robot.vjp("q"), robot.jacobian(), own.hessian("q", weights=True), own.jvp("v").jvp("q"), own.jvp("q")]

    numbers = np.random.default_rng(0).normal(size=(9, 2))
    first = [kernel(*numbers[: len(kernel.inputs)]) for kernel in made()]
    assert sum(path.is_file() for path in cache_folder.rglob("*")) >= 5
    for kernel, before in zip(made(), first, strict=True):
        source, code = source_and_code(kernel)
        found = kernel(*numbers[: len(kernel.inputs)])
        assert code.cached and not source.is_traced
        for one, other in zip(_listed(found), _listed(before), strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_cache_tells_derivatives_apart(cache_folder: Path) -> None:
    """Names take no part in it: these two are of one program."""
    one = lw.compile(lambda x, y: sin(x) * y * y, x=(), y=(), name="f")
    other = lw.compile(lambda y, x: sin(y) * x * x, y=(), x=(), name="f")
    assert one.vjp("x")(0.3, 2.0, 1.0) == pytest.approx(np.cos(0.3) * 4.0)
    assert other.vjp("x")(0.3, 2.0, 1.0) == pytest.approx(np.sin(0.3) * 4.0)
    assert one.jacobian("x")(0.3, 2.0) == pytest.approx(np.cos(0.3) * 4.0)
    assert one.hessian("y")(0.3, 2.0) == pytest.approx(np.sin(0.3) * 2.0)


def test_they_are_compiled_when_they_are_called_first() -> None:
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


def test_casadi_takes_them() -> None:
    pytest.importorskip("casadi")
    kernel = lw.compile(pendulum, q=2, v=2).jacobian("q")
    q, v = [0.1, 0.2], [0.3, 0.4]
    np.testing.assert_allclose(np.array(kernel.to_casadi()(q, v)), kernel(q, v), rtol=1e-14)


def test_the_way_of_fewer_operations_is_taken() -> None:
    many_in = lw.compile(lambda x: sin(x @ x) * x[0], x=9)
    many_out = lw.compile(lambda t: np.stack([sin(t * k) for k in range(1, 9)]), t=())
    for kernel, way, other in ((many_in, "reverse", "forward"), (many_out, "forward", "reverse")):
        auto, best, worse = (
            sum(kernel.jacobian(mode=mode).operations.values())  # type: ignore[arg-type]
            for mode in ("auto", way, other)
        )
        assert auto == best < worse or (auto == best and way == "forward")


def test_estimates_are_those_of_products_and_sums() -> None:
    kernel = lw.compile(lambda x: np.stack([x[0] * x[1], x[1] * x[2] + x[0]]), x=3)
    found = estimate(source_and_code(kernel)[0].traced, {k: 1 << k for k in range(3)}, [1, 2])
    assert found == (4, 4)  # two products have four partial derivatives


def test_patterns_are_values() -> None:
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


def test_a_sparse_jacobian_has_no_values_where_nothing_depends() -> None:
    kernel = lw.compile(lambda x, y: {"a": x * x, "b": np.array([1.0, 2.0])}, x=3, y=2)
    sparse, patterns = kernel.jacobian(sparse=True), kernel.jacobian_pattern()
    assert [pattern.nnz for pattern in patterns.values()] == [3, 0, 0, 0]
    found = sparse(np.arange(6.0).reshape(2, 3), np.zeros(2))
    np.testing.assert_array_equal(found[0], 2.0 * np.arange(6.0).reshape(2, 3))
    assert found[3].shape == (2, 0) and patterns["d_b_d_y"].dense(found[3]).shape == (2, 2, 2)


def _listed(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)
