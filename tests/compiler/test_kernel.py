"""Kernels: calls, descriptions, and independence of samples."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from compiler.support import TARGETS, bits_equal, every_target, sample_values
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.target import Target, host
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.program import Port
from linkwork.compiler.trace.trace import compile, trace
from linkwork.expr.scalar import functions as f


def mixed(q: Any, v: Any) -> Any:
    """Sines, fused products, roots, choices and functions of the C library."""
    s, c = f.sin(q[0]), f.cos(q[0])
    size = f.sqrt(q[1] * q[1] + v[0] * v[0])
    near = f.where(size < 1e-3, 1.0 - size * size / 6.0, f.sin(size) / size)
    angle = f.atan2(s * q[2] + c, v[1] - s * q[1])
    return np.array([s * v[0] + c * v[1], near, angle, f.exp(-size), f.fmin(q[2], v[1]) * 3.0 - f.floor(v[2])]), size


SHAPES = {"q": 3, "v": 3}
KERNELS: dict[Target, Kernel] = {}


def kernel_for(target: Target) -> Kernel:
    if target not in KERNELS:
        KERNELS[target] = Kernel(trace(mixed, "mixed", SHAPES), backend=CPUBackend(target))
    return KERNELS[target]


# -- a sample's result depends on nothing but the sample


@every_target
def test_results_of_a_sample_do_not_depend_on_its_batch(target: Target) -> None:
    kernel = kernel_for(target)
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-4.0, 4.0, size=(2, 41, 3))
    alone = [kernel(q[k], v[k]) for k in range(41)]
    first, second = (np.array([result[j] for result in alone]) for j in range(2))
    for n in range(1, 41):
        for start in {0, 41 - n}:
            part = slice(start, start + n)
            a, b = kernel(q[part], v[part])
            assert bits_equal(a, first[part]) and bits_equal(b, second[part])
            a, b = kernel(np.asfortranarray(q)[part][::-1], v[part][::-1])
            assert bits_equal(a[::-1], first[part]) and bits_equal(b[::-1], second[part])


@every_target
def test_results_of_a_sample_do_not_depend_on_neighbouring_samples(target: Target) -> None:
    kernel = kernel_for(target)
    rng = np.random.default_rng(1)
    q, v = rng.uniform(-4.0, 4.0, size=(2, 3))
    expected = kernel(q, v)
    for n in (2, 3, target.lanes, 2 * target.lanes + 1):
        for index in range(n):
            for neighbour in (np.nan, np.inf, -np.inf, 1e300, 5e-324, 1e7):
                many_q, many_v = np.full((n, 3), neighbour), np.full((n, 3), neighbour)
                many_q[index], many_v[index] = q, v
                a, b = kernel(many_q, many_v)
                assert bits_equal(a[index], expected[0]) and bits_equal(b[index], expected[1])


@every_target
def test_nan_input_changes_only_the_results_that_depend_on_it(target: Target) -> None:
    kernel = Kernel(
        trace(lambda x: np.array([x[0] + x[1], f.sin(x[2]), x[1] * 2.0]), "apart", {"x": 3}), backend=CPUBackend(target)
    )
    x = np.ones((11, 3))
    x[4, 0] = x[7, 2] = np.nan
    expected = np.zeros((11, 3), dtype=bool)
    expected[4, 0] = expected[7, 1] = True
    assert np.array_equal(np.isnan(kernel(x)), expected)


def test_simd_targets_with_fused_multiply_add_agree_bit_for_bit() -> None:
    rng = np.random.default_rng(2)
    q, v = sample_values(rng, 200, 3), sample_values(rng, 200, 3)
    known = [target for target in TARGETS.values() if target.fma == host().fma]
    results = [kernel_for(target)(q, v) for target in known]
    for result in results[1:]:
        assert bits_equal(result[0], results[0][0]) and bits_equal(result[1], results[0][1])


def test_simd_targets_agree_bit_for_bit_without_fused_multiply_add() -> None:
    rng = np.random.default_rng(3)
    x = sample_values(rng, 200, 4)
    program = trace(lambda x: np.cumprod(x) + x[::-1] / f.sqrt(x) - x * x[::-1], "plain", {"x": 4})
    results = [Kernel(program, backend=CPUBackend(target), without_passes=["fuse"])(x) for target in TARGETS.values()]
    assert all(bits_equal(result, results[0]) for result in results)


@every_target
def test_compiled_kernels_are_close_to_the_interpreter(target: Target) -> None:
    rng = np.random.default_rng(4)
    q, v = rng.uniform(-2.0, 2.0, size=(2, 500, 3))
    kernel = kernel_for(target)
    for got, expected in zip(kernel(q, v), kernel.interpret(q, v), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-14)


# -- warnings


@every_target
@pytest.mark.parametrize("batch", [(), (1,), (2,), (3,), (8,), (17,)])
def test_infinite_and_nan_inputs_of_kernels_cause_no_warning(target: Target, batch: tuple[int, ...]) -> None:
    kernel = kernel_for(target)
    with np.errstate(all="raise"):
        for value in (np.nan, np.inf, 0.0, 1e300, 5e-324, -1.0):
            results = kernel(np.full((*batch, 3), value), np.full((*batch, 3), value))
            arrays = results if isinstance(results, tuple) else (results,)
            assert all(array.shape[: len(batch)] == batch for array in arrays)


def test_kernel_calls_restore_the_callers_floating_point_settings() -> None:
    kernel = compile(lambda x: 1.0 / x, x=())
    with np.errstate(divide="raise"):
        assert kernel(0.0) == np.inf
        with pytest.raises(FloatingPointError, match="divide by zero"):
            np.divide(1.0, np.zeros(1))


# -- calls


def test_kernel_arguments_may_be_positional_or_named() -> None:
    kernel = compile(lambda a, b, c: a - 2.0 * b + 4.0 * c, a=(), b=(), c=())
    assert kernel(1.0, 2.0, 3.0) == 9.0
    assert kernel(1.0, c=3.0, b=2.0) == 9.0
    assert kernel(c=3.0, b=2.0, a=1.0) == 9.0


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((1.0,), {"b": 2.0}, "missing argument 'c'"),
        ((), {"b": 2.0}, "missing argument 'a'"),
        ((1.0, 2.0, 3.0), {"a": 1.0}, "unexpected or repeated argument 'a'"),
        ((1.0,), {"b": 2.0, "d": 1.0}, "unexpected or repeated argument 'd'"),
        ((1.0, 2.0), {}, "missing argument 'c'; the inputs are"),
        ((1.0, 2.0, 3.0, 4.0, 5.0), {}, "expected 3 arguments, .*, got 5; out= takes"),
    ],
)
def test_missing_and_unexpected_kernel_arguments_are_refused_with_their_names(
    args: tuple[float, ...], named: dict[str, float], message: str
) -> None:
    kernel = compile(lambda a, b, c: a + b + c, name="total", a=(), b=(), c=())
    with pytest.raises(TypeError, match=rf"^total.*{message}"):
        kernel(*args, **named)


def test_kernel_input_may_be_named_self() -> None:
    kernel = compile(lambda self, function: self - function, self=(), function=())
    assert kernel(function=1.0, self=3.0) == 2.0


def test_kernel_returns_one_output_as_an_array_and_several_as_a_named_tuple() -> None:
    single_output = compile(lambda x: 2.0 * x, x=2)
    assert type(single_output(np.ones(2))) is np.ndarray
    assert isinstance(compile(lambda x: x @ x, x=2)(np.ones(2)), np.float64)
    several = compile(lambda x: {"twice": 2.0 * x, "square": x @ x}, name="pair", x=2)
    result = several(np.ones((5, 2)))
    assert type(result).__name__ == "pair_result"
    assert result._fields == ("twice", "square")
    assert result.twice.shape == (5, 2) and result.square.shape == (5,)
    interpreted = several.interpret(np.ones((5, 2)))
    assert type(interpreted) is type(result)
    assert np.array_equal(interpreted.twice, result.twice)


def test_argument_out_of_a_kernel_accepts_an_array_or_a_tuple_of_arrays() -> None:
    single_output = compile(lambda x: 2.0 * x, x=2)
    out = np.zeros((3, 2))
    assert single_output(np.ones((3, 2)), out=out) is out and single_output(np.ones((3, 2)), out=(out,)) is out
    several = compile(lambda x: (2.0 * x, x @ x), x=2)
    outs = np.zeros((3, 2)), np.zeros(3)
    result = several(np.ones((3, 2)), out=outs)
    assert result[0] is outs[0] and result[1] is outs[1]
    result = several(np.ones((3, 2)), out=(None, outs[1]))
    assert result[0].shape == (3, 2) and result[1] is outs[1]
    with pytest.raises(TypeError, match=r"out: expected a tuple of 2 arrays \(output0, output1\)"):
        several(np.ones(2), out=np.zeros(2))


def test_kernel_rejects_dicts_of_joint_values() -> None:
    with pytest.raises(TypeError, match=r"^twice: x: expected an array of shape .*, got a dict; .* robot's methods"):
        compile(lambda x: 2.0 * x, name="twice", x=2)({"elbow": 1.0})


def test_kernel_interpret_accepts_the_arguments_of_a_call_and_returns_its_results() -> None:
    kernel = compile(lambda x, y: x @ x - y, x=3, y=())
    x, y = np.arange(12.0).reshape(4, 3), np.arange(4.0)
    assert np.array_equal(kernel.interpret(x, y), kernel(x, y))
    assert kernel.interpret(x[0], y[0]) == kernel(x[0], y[0])


# -- dimensions of size zero, which NumPy's gufuncs do not know


def test_kernels_accept_and_return_empty_arrays() -> None:
    kernel = compile(lambda q, r: {"none": q, "some": r * 2.0, "part": r[:0]}, q=(0,), r=(3,))
    for batch in [(), (1,), (4,), (0,), (2, 5)]:
        result = kernel(np.ones((*batch, 0)), np.ones(3))
        assert result.none.shape == (*batch, 0)
        assert np.array_equal(result.some, np.full((*batch, 3), 2.0))
        assert result.part.shape == (*batch, 0)


def test_kernels_with_non_empty_inputs_may_return_empty_outputs() -> None:
    kernel = compile(lambda q: (q[:0].reshape(2, 0), q @ q), q=(3,))
    result = kernel(np.ones((5, 3)))
    assert result[0].shape == (5, 2, 0) and result[1].tolist() == [3.0] * 5
    assert kernel([1.0, 2.0, 2.0])[1] == 9.0
    only = compile(lambda q: q[:0], q=(3,))
    assert only(np.ones((2, 3))).shape == (2, 0)
    out = np.zeros((2, 0))
    assert only(np.ones((2, 3)), out=out) is out
    assert only(np.ones((2, 3)), out=(out,)) is out


def test_shapes_of_empty_kernel_arguments_are_checked() -> None:
    kernel = compile(lambda q: (q, q + 1.0), q=(2, 0))
    for shape in [(), (5,), (2, 5), (1, 0), (3, 2, 1)]:
        with pytest.raises(ValueError, match=r"q: expected an array of shape \(..., 2, 0\), got"):
            kernel(np.zeros(shape))
    with pytest.raises(ValueError, match=r"output1: expected an array of shape"):
        kernel(np.zeros((2, 0)), out=(None, np.zeros((2, 3))))
    with pytest.raises(TypeError, match="tuple"):
        kernel(np.zeros((2, 0)), out=np.zeros((2, 0)))
    with pytest.raises(TypeError, match="missing argument 'q'"):
        kernel()


# -- what it says of itself


def test_kernel_describes_its_ports_and_counts_its_operations() -> None:
    kernel = compile(lambda x, A: {"y": A @ x, "z": x @ x}, name="product", x=3, A=(2, 3))
    assert repr(kernel) == "<Kernel product: x(3), A(2, 3) -> y(2), z()>"
    assert kernel.name == "product"
    assert kernel.inputs == (Port("x", (3,)), Port("A", (2, 3)))
    assert kernel.outputs == (Port("y", (2,)), Port("z", ()))
    assert kernel.signature == "(3),(2,3)->(2),()"
    assert kernel.operations == {"add": 6, "mul": 9}
    assert kernel.arithmetic == 15
    assert kernel.compile_time > 0.0
    assert "define void @product.loop" in kernel.llvm_ir
    assert kernel.program.name == "product"


def test_operation_counts_of_a_kernel_are_those_before_fusing() -> None:
    kernel = compile(lambda x, y: x * y + 1.0, x=(), y=())
    assert kernel.operations == {"add": 1, "mul": 1}
    assert kernel.program.operations == ({"fma": 1} if host().fma else {"add": 1, "mul": 1})


def test_targets_without_fused_multiply_add_compile_none() -> None:
    for target in TARGETS.values():
        names = set(kernel_for(target).program.operations)
        assert bool(names & {"fma", "fms", "fnma"}) == target.fma
        if not target.fma:
            assert "@llvm.fma" not in kernel_for(target).llvm_ir


def test_compiler_passes_can_be_left_out_by_name() -> None:
    program = trace(lambda x: f.sin(x) + f.cos(x), "waves", {"x": ()})
    with pytest.raises(ValueError, match="unknown passes"):
        Kernel(program, without_passes=["nothing"])
    kernel = Kernel(program, without_passes=["schedule", "fuse"])
    assert bits_equal(kernel(np.arange(9.0)), Kernel(program)(np.arange(9.0)))


def test_copying_or_unpickling_a_kernel_in_its_process_gives_the_same_kernel() -> None:
    kernel = compile(lambda x: 2.0 * x, x=(2,), name="twice")
    for copied in (copy.copy, copy.deepcopy, lambda kernel: pickle.loads(pickle.dumps(kernel))):
        assert copied(kernel) is kernel
