"""Kernels in float32: result types, values, and distances from float64's results.

The rule of types is that of NumPy's gufuncs: the loop over float32 is taken where every argument can be cast to float32
safely, which is so for bool, 8- and 16-bit integers, float16 and float32.  Python's own numbers take no part where
anything else does.  Unlike ``np.add``, a kernel has no loop over anything smaller than float32, or over integers.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from compiler.knobs import LEVELS, every_level
from compiler.support import EXACT, SPECIAL, TRANSCENDENTAL, bits_equal
from compiler.test_llvm_instructions import program_of
from linkwork.compiler import kernel_code
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.float_type import SINGLE
from linkwork.compiler.kernel import Kernel, call_state
from linkwork.compiler.runtime import fastcall
from linkwork.compiler.trace.trace import compile, trace
from linkwork.expr.scalar import functions as f
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import is_in_double, trace_requests
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import ROBOT, robot_owner

by_name = lambda operation: operation.name  # noqa: E731
SMALL = ["bool", "int8", "uint8", "int16", "uint16", "float16", "float32"]
LARGE = ["int32", "uint32", "int64", "uint64", "float64"]
PRODUCT = compile(lambda a, b: a * b, name="product", a=(3,), b=())


# -- types


@pytest.mark.parametrize(("first", "second"), [*itertools.product(SMALL + LARGE, repeat=2)])
def test_float_type_of_kernel_results_follows_numpys_promotion_rules(first: str, second: str) -> None:
    a, b = np.array([1, 0, 1], first), np.array([1, 1], second)
    expected = np.float32 if first in SMALL and second in SMALL else np.float64
    assert PRODUCT(a, b[0]).dtype == PRODUCT(np.stack([a, a]), b).dtype == expected
    assert expected == np.result_type(first, second, np.float32) or {first, second} == {"int16", "uint16"}
    assert np.array_equal(PRODUCT(np.stack([a, a]), b), np.stack([a, a]).astype(float))


@pytest.mark.parametrize("number", [2.0, 2, True, -0.5])
def test_python_floats_do_not_change_the_float_type_of_kernel_results(number: Any) -> None:
    for dtype in (np.float32, np.float64):
        a = np.ones(3, dtype)
        assert PRODUCT(a, number).dtype == dtype == np.add(a, number).dtype
        assert np.array_equal(PRODUCT(a, number), a * number)
    assert PRODUCT([1.0, 2.0, 3.0], number).dtype == np.float64
    assert PRODUCT(np.ones(3, np.float16), number).dtype == np.float32
    assert PRODUCT(np.ones(3, np.int64), number).dtype == np.float64


@pytest.mark.parametrize("number", [np.float64(2.0), np.array(2.0), [2.0, 1.0], np.int64(2), np.array([2, 1])])
def test_numpy_float64_arguments_promote_kernel_results_to_float64(number: Any) -> None:
    assert PRODUCT(np.ones((2, 3), np.float32), number).dtype == np.float64


@pytest.mark.filterwarnings("error")
def test_python_number_too_large_for_float32_becomes_infinite_with_numpys_warning() -> None:
    a = np.ones(3, np.float32)
    for call in (PRODUCT, np.multiply):
        with pytest.raises(RuntimeWarning, match="overflow"):
            call(a, 1e300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isposinf(PRODUCT(a, 1e300)).all()


def test_empty_output_of_a_kernel_has_the_float_type_of_its_other_outputs() -> None:
    kernel = compile(lambda a, b: (np.zeros((0,)), a * b), a=(3,), b=())
    single, double = np.ones(3, np.float32), np.ones(3)
    for a in (single, double, np.ones((4, 3), np.float32)):
        for b in (2.0, 2, True, np.float32(2.0), np.float64(2.0), [2.0]):
            empty, product = kernel(a, b)
            assert empty.dtype == product.dtype and empty.shape[:-1] == product.shape[:-1]


def test_kernel_without_inputs_computes_in_float64() -> None:
    kernel = compile(lambda: (np.array([0.1, 0.2]), np.zeros((0, 3)), 0.3))
    plain = compile(lambda: np.array([0.1, 0.2]))
    assert plain().dtype == plain.ufunc().dtype == np.float64
    assert [x.dtype for x in kernel()] == [np.float64] * 3
    assert np.array_equal(plain(out=np.zeros((4, 2))), [[0.1, 0.2]] * 4)
    assert np.array_equal(plain(out=np.zeros(2, np.float32)), np.array([0.1, 0.2], np.float32))
    with pytest.raises(ValueError, match="out: expected an array of shape"):
        plain(out=np.zeros(3))


@pytest.mark.parametrize("inside", [np.float32, np.float64])
@pytest.mark.parametrize(
    "outside", [np.float16, np.float32, np.float64, np.longdouble, complex, np.int32, bool, object]
)
def test_output_arrays_of_other_types_receive_values_cast_by_numpys_rules(inside: type, outside: type) -> None:
    """Values are computed in the type of the inputs and cast; unsafe casts are refused."""
    for batch in ((), (5,)):
        a = np.linspace(0.1, 0.9, 3).astype(inside) * np.ones((*batch, 1), inside)
        b = np.asarray(0.3, inside)
        out, expected_out = np.zeros((*batch, 3), outside), np.zeros((*batch, 3), outside)
        try:
            np.multiply(a, b, out=expected_out)
        except TypeError:
            with pytest.raises(TypeError, match=r"out: expected .* got numbers of type"):
                PRODUCT(a, b, out=out)
            assert outside in (np.int32, bool)
        else:
            assert PRODUCT(a, b, out=out) is out
            assert np.array_equal(out, expected_out) and np.any(out != 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ufunc_of_a_kernel_accepts_the_argument_dtype(dtype: type) -> None:
    ufunc = PRODUCT.ufunc
    a = np.full((2, 3), 0.1)
    result = ufunc(a, 0.3, dtype=dtype, casting="same_kind")
    assert result.dtype == dtype
    assert np.array_equal(result, a.astype(dtype) * dtype(0.3))


# -- values


@every_level
@pytest.mark.parametrize("operation", EXACT, ids=by_name)
def test_exact_operations_in_float32_equal_numpys_bit_for_bit(operation: Any, level: str) -> None:
    x = pairs(operation.arity)
    got = Kernel(program_of(operation), backend=CPUBackend(LEVELS[level]))(x)
    with np.errstate(all="ignore"):
        args = [column > 0 if kind == "t" else column for kind, column in zip(operation.kinds, x.T, strict=True)]
        expected = operation.value(*args).astype(np.float32)
    if operation.name in ("fmin", "fmax"):  # of two zeros either may come
        zeros = (x == 0.0).all(axis=-1)
        got, expected = np.where(zeros, np.float32(0.0), got), np.where(zeros, np.float32(0.0), expected)
    assert got.dtype == expected.dtype == np.float32
    assert bits_equal(got, expected)


@every_level
@pytest.mark.parametrize("operation", TRANSCENDENTAL, ids=by_name)
def test_functions_in_float32_are_accurate_to_two_units_in_the_last_place(operation: Any, level: str) -> None:
    x = pairs(operation.arity)
    got = Kernel(program_of(operation), backend=CPUBackend(LEVELS[level]))(x).astype(np.float64)
    with np.errstate(all="ignore"):
        expected = operation.value(*x.astype(np.float64).T)
        rounded = expected.astype(np.float32).astype(np.float64)
    last = np.maximum(np.abs(expected), 2.0**-126) * 2.0**-23  # the last place, or the smallest subnormal
    finite = np.isfinite(rounded) & np.isfinite(got)
    assert np.all(np.abs(got[finite] - expected[finite]) <= 2.0 * last[finite])
    edge = np.abs(expected) > (1.0 - 2.0**-22) * 2.0**128  # beside the largest number either may come
    assert np.all((finite | edge) | (got == rounded) | (np.isnan(got) & np.isnan(rounded)))
    assert finite.sum() > len(x) // 8


def pairs(arity: int) -> np.ndarray:
    """Special numbers in all combinations, subnormal ones among them, and random ones of all sizes."""
    rng = np.random.default_rng(arity)
    with np.errstate(all="ignore"):
        special = np.unique(np.concatenate([SPECIAL, [1e-40, -1e-40, 1e-45, 1.2e-38, 88.7, -103.9, 3e38]]))
        special = special.astype(np.float32)
        grid = np.array(list(itertools.product(special, repeat=min(arity, 2))), np.float32)
        grid = np.concatenate([grid, np.array([[-0.0] * min(arity, 2)], np.float32)])
        if arity == 3:
            grid = grid[:, [0, 1, 0]]
        random = rng.normal(size=(600, arity)) * 10.0 ** rng.integers(-6, 3, size=(600, arity))
    return np.concatenate([grid, random.astype(np.float32)])


def test_float32_results_of_a_sample_do_not_depend_on_its_batch() -> None:
    kernel = compile(lambda x: np.array([f.sin(x[0]) / x[1], f.exp(x[1]) + x[0] * x[0], f.atan2(x[0], x[1])]), x=2)
    x = pairs(2)
    together = kernel(x)
    assert together.dtype == np.float32
    for k in range(0, len(x), 13):
        alone = kernel(x[k])
        assert alone.dtype == np.float32 and bits_equal(alone, together[k])
    assert bits_equal(kernel(x[5:]), together[5:]) and bits_equal(kernel(x[::-1]), together[::-1])


@pytest.mark.skipif(not fastcall.available(), reason="no compiled single call here")
def test_single_results_are_numpy_scalars_of_the_inputs_float_type() -> None:
    norm = compile(lambda x: x @ x, x=3)
    assert type(norm(np.ones(3, np.float32))) is np.float32
    assert type(norm(np.ones(3))) is np.float64


def test_float32_kernels_do_not_flush_subnormal_values_to_zero() -> None:
    kernel = compile(lambda x: x * 0.5, x=())
    tiny = np.float32(2.0**-148)
    assert kernel(tiny) == np.float32(2.0**-149) != 0.0
    assert np.array_equal(kernel(np.full(40, tiny)), np.full(40, tiny / 2))


# -- robots

ROBOTS = {
    **{name: lambda name=name: lw.load(name) for name in lw.robots.names()},
    **{f"random {k}": lambda k=k: lw.Robot(random_tree(np.random.default_rng(k), 6)) for k in range(3)},
}
# The error of float32, in units of 2⁻²⁴ of the largest number of a sample's result: rounding alone leaves 1.
BOUNDS = {
    "forward_kinematics": 16.0,
    "mass_matrix": 32.0,
    "inverse_dynamics": 64.0,
    "bias_force": 64.0,
    "integrate": 16.0,
    "difference": 16.0,
    "normalize": 8.0,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_robot_functions_in_float32_are_close_to_float64(name: str) -> None:
    robot = ROBOTS[name]()
    rng = np.random.default_rng(11)
    q = robot.random_configuration(rng, size=300).astype(np.float32)
    v, a = (rng.normal(size=(300, robot.nv)).astype(np.float32) for _ in range(2))
    q1 = robot.integrate(q.astype(np.float64), 0.5 * v).astype(
        np.float32
    )  # whole turns away, a twist is ill-conditioned
    arguments = {"q": q, "v": v, "a": a, "q0": q, "q1": q1, "tau": a}
    for function, bound in [*BOUNDS.items(), ("forward_dynamics", None)]:
        if name == "humanoid" and function not in ("forward_kinematics", "mass_matrix", "integrate"):
            continue  # tens of thousands of operations: minutes to compile for all of them together
        arrays = [arguments[i] for i in ROBOT[function].inputs]
        single = getattr(robot, function)(*arrays)
        double = getattr(robot, function)(*(x.astype(np.float64) for x in arrays))
        assert single.dtype == np.float32 and double.dtype == np.float64
        if not double.any():  # the bias force of gears whose axes are vertical
            assert not single.any()
            continue
        core = tuple(range(1, double.ndim))
        error = np.abs(single - double).max(axis=core) / np.abs(double).max(axis=core) * 2.0**24
        if bound is None and robot.constraints:
            assert error.max() <= 1.0  # it is computed in float64, and rounded
        elif bound is None:  # to solve M a = b loses as many digits as M's condition number has
            condition = np.linalg.cond(robot.mass_matrix(q.astype(np.float64)))
            assert np.all(error <= 8.0 * condition)
        else:
            assert error.max() <= bound
            assert function == "normalize" or error.max() > 0.01  # it is float32 that was computed


@pytest.mark.slow(every=5)
def test_functions_with_branches_that_depend_on_rounding_compute_in_float64() -> None:
    """Redundant constraints are found by comparisons, which float32's rounding would change."""
    robot = lw.load("fourbar")
    requests = [(name, row) for name, row in ROBOT.items() if not any(option.required for option in row.options)]
    decided = 0
    for name, row in requests:
        try:
            request = read_request(robot_owner(robot.tree), name)
            program = trace_requests(robot_owner(robot.tree), name, {name: request})
        except ValueError:  # a function of robots without constraints
            continue
        decided += program.in_double
        assert program.in_double <= is_in_double(robot_owner(robot.tree), row), name
    assert decided > 10
    q, v, tau = (np.float32(x) for x in (robot.random_configuration(seed=5, size=5), np.ones((5, 3)), np.ones((5, 3))))
    expected = robot.forward_dynamics(*(x.astype(float) for x in (q, v, tau))).astype(np.float32)
    doubled = compile(lambda q, v, tau: 2.0 * robot.forward_dynamics(q, v, tau), q=3, v=3, tau=3)
    again = compile(lambda q, v, tau: 0.5 * doubled(q, v, tau), q=3, v=3, tau=3)
    for kernel, scale in ((robot.compile("forward_dynamics"), 1.0), (doubled, 2.0), (again, 1.0)):
        assert kernel.ufunc.types == ["ddd->d"]
        out = np.zeros((5, 3), np.float32)
        assert kernel(q, v, tau, out=out) is out and np.array_equal(out, scale * expected)
        acceleration = kernel(q, v, tau)
        assert acceleration.dtype == np.float32 and np.array_equal(acceleration, out)
        assert bits_equal(kernel(q[0], v[0], tau[0]), out[0])
    assert doubled.jacobian("tau")(q, v, tau).dtype == np.float32
    forces = robot.constrained_forward_dynamics(q, v, tau)
    assert forces.a.dtype == forces.constraint_forces.dtype == np.float32
    assert compile(lambda x: 2.0 * x, x=3).ufunc.types == ["f->f", "d->d"]


def test_robot_functions_accept_float32_arrays_and_float32_outputs() -> None:
    robot = lw.load("double_pendulum")
    q = np.linspace(-1.0, 1.0, 14, dtype=np.float32).reshape(7, 2)
    result = robot.gravity_force(q)
    for dtype in (np.float32, np.float64):
        out = np.zeros((7, 2), dtype)
        assert robot.gravity_force(q, out=out) is out and np.array_equal(out, result)
    with pytest.raises(TypeError, match=r"out: expected an array of float64 .* got numbers of type int64"):
        robot.gravity_force(q, out=np.zeros((7, 2), np.int64))
    q[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"q\[4, 1\] is NaN"):
        robot.gravity_force(q)


def test_kernel_is_traced_once_for_float32_and_float64() -> None:
    kernel = Kernel(trace(lambda x: f.sqrt(x) + 0.1, "root", {"x": ()}))
    x = np.float32(0.7)
    assert kernel(x) == np.sqrt(x) + np.float32(0.1)
    assert kernel(float(x)) == np.sqrt(float(x)) + 0.1


# -- the first call


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling sets the processor's floating-point flags, as constants that are folded do."""
    original = kernel_code.compiled

    def overflowing(*arguments: Any) -> Any:
        assert [1e308 * x for x in (10.0, -10.0)] == [np.inf, -np.inf]
        return original(*arguments)

    monkeypatch.setattr(kernel_code, "compiled", overflowing)


@pytest.mark.slow(every=3)
@pytest.mark.usefixtures("careless")
def test_first_float32_call_sets_no_floating_point_flags() -> None:
    x = np.ones((40, 3), np.float32)
    calls = [
        lambda kernel: kernel(x),
        lambda kernel: kernel(list(x)),
        lambda kernel: kernel(x, out=np.zeros((40, 3))),
        lambda kernel: kernel.ufunc(x),
    ]
    for k, call in enumerate(calls):
        kernel = compile(lambda x, k=k: (2.0 + k) * x, x=3)
        with np.errstate(all="raise"):
            assert np.array_equal(call(kernel), (2.0 + k) * x)
    robot = lw.load("double_pendulum")
    with np.errstate(all="raise"):
        assert robot.bias_force(x[:, :2], x[:, :2]).dtype == np.float32


def test_float32_code_is_compiled_before_numpys_inner_loop_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    original = kernel_code.compiled

    def fails(source: Any, parts: Any, real: Any, best: bool) -> Any:
        if real is SINGLE:
            raise OSError("no room")
        return original(source, parts, real, best)

    monkeypatch.setattr(kernel_code, "compiled", fails)
    kernel = compile(lambda x, y: x * y, x=3, y=())
    single = np.ones((40, 3), np.float32)
    out = np.full((40, 3), 7.0, np.float32)
    for arguments in ((single, 2), (single[0], np.float32(2.0)), (np.ones(3, np.int16), np.float16(1.0))):
        with pytest.raises(OSError, match="no room"):
            kernel(*arguments, out=out)
    assert call_state(kernel).failed_calls == 0 and np.all(out == 7.0)
    for doubled in ((single, np.float64(2.0)), (single.astype(float), 2), (single, [2.0]), (single, np.int64(2))):
        assert kernel(*doubled).dtype == np.float64
