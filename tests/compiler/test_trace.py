"""Traces from a Python function to a program: allowed results, refusals, and memory."""

from __future__ import annotations

import doctest
import gc
import weakref
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import collection_pauses
from linkwork._util.collection_pauses import without_collections
from linkwork.compiler.program import Port
from linkwork.compiler.trace import trace as trace_module
from linkwork.compiler.trace.trace import compile, trace
from linkwork.errors import TraceWarning
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.symbol import Graph, Symbol

Pair = namedtuple("Pair", ["sum", "difference"])


def test_docstring_examples_of_compile_run() -> None:
    results = doctest.testmod(trace_module)
    assert results.attempted >= 3 and results.failed == 0


# -- what goes in


def test_traced_functions_receive_arrays_of_symbols_in_the_declared_order() -> None:
    arguments: dict[str, Any] = {}

    def function(**arrays: Any) -> float:
        arguments.update(arrays)
        return 0.0

    with pytest.warns(TraceWarning, match="arguments holds symbols"):
        program = trace(function, "f", {"b": 3, "a": (2, 2), "none": (0, 4), "one": ()})
    assert list(arguments) == ["b", "a", "none", "one"]
    assert program.inputs == (Port("b", (3,)), Port("a", (2, 2)), Port("none", (0, 4)), Port("one", ()))
    assert isinstance(arguments["one"], Symbol)
    for name in ("b", "a", "none"):
        assert arguments[name].dtype == object and all(isinstance(x, Symbol) for x in arguments[name].ravel())
    assert [x.value for x in arguments["a"].ravel()] == ["a[0]", "a[1]", "a[2]", "a[3]"]


def test_comparisons_and_where_on_scalars_can_be_compiled() -> None:
    kernel = compile(lambda x, y: f.where(x < y, f.fmin(x, 1.0), f.copysign(y, -x)), x=(), y=())
    assert kernel([0.5, 3.0, 3.0], [4.0, 4.0, 2.0]).tolist() == [0.5, 1.0, -2.0]


@pytest.mark.parametrize("shape", [3, (3,), [3], np.int64(3), np.array([3]), (np.int32(3),)])
def test_shapes_of_compiled_inputs_may_be_integers_tuples_or_arrays(shape: Any) -> None:
    assert trace(lambda q: q, "f", {"q": shape}).inputs == (Port("q", (3,)),)


@pytest.mark.light
@pytest.mark.parametrize("shape", [-1, (2, -3), 3.0, (3.0,), "3", "ab", None, (None,), {}, {"n": -1}, 1j])
def test_invalid_shapes_of_compiled_inputs_are_refused(shape: Any) -> None:
    with pytest.raises(ValueError, match=r"^compile: q.*: expected .*shape.* got"):
        compile(lambda q: q, q=shape)


def test_compiled_inputs_named_as_options_of_compile_are_refused() -> None:
    with pytest.raises(TypeError, match="an input cannot be called 'name'"):
        compile(lambda name: name, name=(3,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="an input cannot be called 'out'"):
        compile(lambda out: out, out=(3,))


def test_input_names_that_are_not_arguments_of_the_compiled_function_raise_an_error() -> None:
    with pytest.raises(TypeError, match=r"^compile: .*unexpected keyword argument 'r'; inputs are .* compile\(f, q="):
        compile(lambda q: q, q=3, r=3)
    with pytest.raises(TypeError, match=r"missing a required argument: 'q'; .* as in compile\(f, q=\(3,\), p=\(3,\)\)"):
        compile(lambda q, p, option=1: q)
    assert compile(lambda **arrays: arrays["q"], q=2)([1.0, 2.0]).tolist() == [1.0, 2.0]


def test_functions_without_inputs_or_with_unused_inputs_can_be_compiled() -> None:
    assert compile(lambda: [1.0, 2.0])().tolist() == [1.0, 2.0]
    kernel = compile(lambda q, unused: q * 2.0, q=(), unused=(3,))
    assert kernel(2.0, np.zeros(3)) == 4.0
    assert kernel(2.0, np.zeros((4, 3))).tolist() == [4.0] * 4


# -- what comes out


RETURNED: dict[str, tuple[Callable[[Any], Any], list[tuple[str, tuple[int, ...]]]]] = {
    "an array": (lambda q: 2.0 * q, [("output", (3,))]),
    "a matrix": (lambda q: np.outer(q, q), [("output", (3, 3))]),
    "a scalar": (lambda q: q @ q, [("output", ())]),
    "an input itself": (lambda q: q, [("output", (3,))]),
    "a number": (lambda q: 4, [("output", ())]),
    "an array of numbers": (lambda q: np.eye(2, dtype=np.int8), [("output", (2, 2))]),
    "a list": (lambda q: [q[0], 1.0, np.float32(2.0)], [("output", (3,))]),
    "lists in lists": (lambda q: [[q[0], 1], [2, q[1]]], [("output", (2, 2))]),
    "a list of arrays": (lambda q: [q, q, q, q], [("output", (4, 3))]),
    "a tuple": (lambda q: (q, q[0], 5.0), [("output0", (3,)), ("output1", ()), ("output2", ())]),
    "a tuple of one": (lambda q: (q,), [("output0", (3,))]),
    "a named tuple": (lambda q: Pair(q + q, q - 2.0), [("sum", (3,)), ("difference", (3,))]),
    "a dict": (lambda q: {"y": q, "E": q @ q}, [("y", (3,)), ("E", ())]),
    "something empty": (lambda q: q[:0], [("output", (0,))]),
}


@pytest.mark.light
@pytest.mark.parametrize("kind", RETURNED)
def test_values_returned_by_a_compiled_function_become_named_outputs(kind: str) -> None:
    function, ports = RETURNED[kind]
    program = trace(function, "f", {"q": 3})
    assert [(port.name, port.shape) for port in program.outputs] == ports
    q = np.array([0.5, -1.0, 2.0])
    returned = function(q)
    parts = returned.values() if isinstance(returned, dict) else returned if isinstance(returned, tuple) else [returned]
    for got, expected in zip(program.interpret(q), parts, strict=True):
        assert np.array_equal(got, np.asarray(expected, dtype=np.float64))


@pytest.mark.light
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda q: q[0] < 1.0, "output has a truth value; return where"),
        (lambda q: [q[0], f.and_(q[0] < 1.0, q[1] < 1.0)], "output has a truth value"),
        (lambda q: True, "output has a truth value"),
        (lambda q: np.array([True, False]), "output has a truth value"),
        (lambda q: {"fine": q, "near": q[0] <= 1.0}, "near has a truth value"),
        (lambda q: None, "output has an element that is not a number: None"),
        (lambda q: "text", "output has an element that is not a number: 'text'"),
        (lambda q: 1j, "not a number"),
        (lambda q: np.complex64(1j), "not a number"),
        (lambda q: np.ones(2, dtype=complex), "not a number"),
        (lambda q: [q, q[0]], "not a number"),
        (lambda q: (q, {"a": None}), r"output\[1\]\['a'\]: expected arrays and numbers, got None"),
        (lambda q: (), "expected the function to return an array"),
        (lambda q: {}, "expected the function to return an array"),
        (lambda q: {"a b": q}, "expected outputs named by identifiers, got 'a b'"),
        (lambda q: {3: q}, "expected outputs named by identifiers, got 3"),
        (lambda q: {"class": q, "b": q}, "expected outputs named by identifiers, got 'class'"),
        (lambda q: {"_a": q, "b": q}, "expected outputs named by identifiers, got '_a'"),
        (
            lambda q: (q[0] < 1.0) * q[1],
            r"expected arguments \('number', 'number'\).* a truth value to a number",
        ),
        (lambda q: f.where(q[0], 1.0, 2.0) + q[1], r"expected arguments \('truth', 'number', 'number'\)"),
        (lambda q: f.where(f.or_(q[0], q[1] < 1.0), q[1], 2.0), r"expected arguments \('truth', 'truth'\)"),
        (lambda q: f.where(q[0] < 1.0, q[1] < 1.0, q[2] < 1.0) + 1.0, r"expected arguments \('truth', 'number', 'num"),
    ],
)
def test_compiled_functions_that_return_other_values_than_floats_are_refused(
    function: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(TypeError, match=f"^wrong: .*{message}"):
        compile(function, name="wrong", q=3)


def test_python_conditions_on_symbols_are_refused_also_in_callbacks_of_robot_functions() -> None:
    """A task, a law and a field of force are traced within linkwork's own functions, in bodies of loops too."""
    arm, wrong = lw.load("arm6"), r"expected arguments \('truth', 'number', 'number'\).*x != 0.0 converts a number"
    task = lw.ik.FunctionTask("f", lambda k, z: f.where(k.point("tool")[2], z, 2.0), shape=(), weight=1.0)
    with pytest.raises(TypeError, match=wrong):
        arm.velocity_for(task, np.zeros(6), 0.01, f=0.3)
    with pytest.raises(TypeError, match=wrong):
        arm.simulate(np.zeros(6), controller=lambda t, q, v: -v * f.where(q[0], 1.0, 2.0), duration=0.1, dt=0.01)
    with pytest.raises(TypeError, match=r"expected arguments \('number', 'number'\), got \('number', 'truth'\)"):
        arm.simulate(np.zeros(6), controller=lambda t, q, v: -v * (q[0] < 1.0), duration=0.1, dt=0.01)


def test_if_statement_on_a_symbol_is_refused_with_where_as_the_remedy() -> None:
    with pytest.raises(TypeError, match=r"write where\(condition, a, b\) instead of if"):
        compile(lambda q: q if q[0] > 0.0 else -q, q=3)


# -- names


def test_kernel_is_named_after_its_function() -> None:
    def length(x: Any) -> Any:
        """Length of x."""
        return f.sqrt(x @ x)

    assert compile(length, x=3).name == "length"
    assert compile(length, name="norm", x=3).name == "norm"
    assert compile(lambda x: x, x=3).name == "function"
    assert compile(length, x=3).ufunc.__doc__.endswith("Length of x.")  # type: ignore[union-attr]

    class Callable_:
        def __call__(self, x: Any) -> Any:
            return x

    assert compile(Callable_(), x=()).name == "function"


# -- what a trace leaves behind


def symbols_alive() -> int:
    gc.collect()
    return sum(1 for x in gc.get_objects() if type(x) in (Symbol, Graph))


@pytest.mark.slow
def test_compiled_kernel_leaves_no_symbols_in_memory() -> None:
    before = symbols_alive()
    kernel = compile(lambda q: (f.sin(q[0]) * q[1], q), q=3)
    assert symbols_alive() <= before  # what other tests left may be gone by now
    del kernel


@pytest.mark.slow
def test_failed_trace_leaves_no_symbols_in_memory_and_the_garbage_collector_on() -> None:
    before = symbols_alive()

    def fails(q: Any) -> Any:
        assert not gc.isenabled()
        raise LookupError(f"in the middle of {len(q)}")

    with pytest.raises(LookupError, match="in the middle of 3"):
        compile(fails, q=3)
    assert gc.isenabled()
    with pytest.raises(TypeError, match="output has an element that is not a number: None"):
        compile(lambda q: None, q=3)
    assert gc.isenabled()
    assert symbols_alive() <= before  # what other tests left may be gone by now


def test_compile_leaves_the_garbage_collector_off_if_it_was_off() -> None:
    gc.disable()
    try:
        compile(lambda q: q, q=3)
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert without_collections(without_collections(gc.isenabled))() is False
    assert gc.isenabled()


def test_compile_does_not_unfreeze_objects_frozen_by_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("freeze", "unfreeze"):
        monkeypatch.setattr(gc, name, lambda name=name: calls.append(name))
    for frozen, expected in (
        (0, 3 * ["get_freeze_count", "freeze", "unfreeze"]),
        (5, ["get_freeze_count"]),
    ):
        monkeypatch.setattr(gc, "get_freeze_count", lambda frozen=frozen: calls.append("get_freeze_count") or frozen)
        monkeypatch.setattr(collection_pauses, "_user_has_frozen", False)
        calls.clear()
        for _ in range(3):
            without_collections(list, many=0)()
        assert calls == expected


def test_compiled_function_is_freed_with_its_kernel() -> None:
    class Function:
        def __call__(self, q: Any) -> Any:
            return q

    function = Function()
    gone = weakref.ref(function)
    kernel = compile(function, q=2)
    assert kernel.function is function
    del function, kernel
    gc.collect()
    assert gone() is None


# -- traces inside of traces


def test_traced_function_may_compile_and_call_another_function() -> None:
    def outer(q: Any) -> Any:
        inner = compile(lambda x: x @ x, x=2)
        assert not gc.isenabled()
        return q * inner([3.0, 4.0])

    kernel = compile(outer, q=2)
    assert kernel([1.0, 2.0]).tolist() == [25.0, 50.0]
    assert gc.isenabled()


def test_symbols_of_an_outer_trace_in_an_inner_trace_are_refused() -> None:
    def outer(q: Any, make: Callable[[Any, Any], Any]) -> Any:
        compile(lambda x: make(x, q), x=2)
        return q

    with pytest.raises(ValueError, match="symbols of two traces cannot be combined"):
        compile(lambda q: outer(q, lambda x, q: x + q), q=2)
    for make in (lambda x, q: q, lambda x, q: [x, q]):
        with pytest.raises(
            ValueError, match=r"output holds <symbol q.0.>, which is of the trace of function \(.*\.py:"
        ):
            compile(lambda q: outer(q, make), q=2)  # noqa: B023
    assert gc.isenabled()


def test_kernel_names_must_be_identifiers() -> None:
    assert compile(lambda x: x, name="same", x=(2,)).name == "same"
    assert compile(lambda x: x, x=(2,)).name == "function"
    with pytest.raises(ValueError, match="expected an identifier as the kernel's name, got 'two words'"):
        compile(lambda x: x, name="two words", x=(2,))
