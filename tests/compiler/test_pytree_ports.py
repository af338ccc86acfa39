"""Nested inputs and outputs, the decorator, and the Python function of a kernel."""

from __future__ import annotations

import inspect
from collections import namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.trace.trace import trace
from linkwork.errors import TraceWarning
from linkwork.expr import where


class State(NamedTuple):
    """A named tuple."""

    q: Any
    v: Any


@dataclass(frozen=True)
class Gains:
    """A dataclass that checks what it is made of, which is not asked of symbols."""

    stiffness: Any
    damping: Any

    def __post_init__(self) -> None:
        if np.any(np.asarray(self.damping, float) < 0.0):
            raise ValueError("negative")


@dataclass
class Plain:
    """A dataclass."""

    a: Any
    b: Any


GAINS: Any = object.__new__(Gains)
object.__setattr__(GAINS, "stiffness", ())
object.__setattr__(GAINS, "damping", (2,))
SHAPES: dict[str, Any] = {"state": State(2, (2,)), "gains": GAINS, "goals": {"a": (2,), "b": ((), (2, 2))}, "t": ()}


def nested(state: State, gains: Gains, goals: dict[str, Any], t: Any) -> Any:
    force = gains.stiffness * (goals["a"] - state.q) - gains.damping * state.v
    scale, matrix = goals["b"]
    return {"next": State(state.q + t * state.v, state.v + t * force), "work": (scale * (force @ matrix @ state.v), t)}


@pytest.fixture(scope="module")
def kernel() -> lw.Kernel:
    return lw.compile(nested, **SHAPES)


def arguments(size: tuple[int, ...] = ()) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    q, v, a, d = rng.uniform(0.5, 1.0, (4, *size, 2))
    k, b, t = rng.uniform(0.5, 1.0, (3, *size))
    matrix = rng.uniform(0.5, 1.0, (*size, 2, 2))
    if not size:
        k, b, t = float(k), float(b), float(t)
    return State(q, v), Gains(k, d), {"a": a, "b": (b, matrix)}, t


def same(result: Any, expected: Any) -> None:
    assert list(result) == ["next", "work"] and isinstance(result["next"], State) and isinstance(result["work"], tuple)
    for value, reference in zip(
        (*result["next"], *result["work"]), (*expected["next"], *expected["work"]), strict=True
    ):
        np.testing.assert_allclose(value, reference, rtol=1e-14)


def test_kernel_ports_are_named_by_their_paths_in_the_nested_arguments(kernel: lw.Kernel) -> None:
    inputs = "state_q state_v gains_stiffness gains_damping goals_a goals_b_0 goals_b_1 t"
    assert [port.name for port in kernel.inputs] == inputs.split()
    assert [port.name for port in kernel.outputs] == ["next_q", "next_v", "work_0", "work_1"]
    assert list(inspect.signature(kernel).parameters) == ["state", "gains", "goals", "t", "out"]


def test_kernels_of_nested_arguments_accept_and_return_the_functions_nested_values(kernel: lw.Kernel) -> None:
    """One state, a batch, by name, interpreted, call_python, and composed in another function."""
    arrays = arguments()
    expected = nested(*arrays)
    same(kernel(*arrays), expected)
    state, gains, goals, t = arrays
    same(kernel(state, t=t, goals=goals, gains=gains), expected)
    same(kernel(list(state), gains, goals, t), expected)
    same(kernel.interpret(*arrays), expected)
    same(kernel.call_python(*arrays), expected)
    outer = lw.compile(lambda **x: kernel(**x), **SHAPES)
    same(outer(*arrays), expected)
    many = arguments((5,))
    one_by_one = [nested(*arguments_of(many, k)) for k in range(5)]
    results = {
        "next": State(*(np.array([x["next"][i] for x in one_by_one]) for i in range(2))),
        "work": tuple(np.array([x["work"][i] for x in one_by_one]) for i in range(2)),
    }
    same(kernel(*many), results)
    same(kernel.call_python(*many), results)
    out = {"next": State(np.empty((5, 2)), np.empty((5, 2))), "work": (np.empty(5), np.empty(5))}
    kernel(*many, out=out)
    same(out, results)
    plain, sums = lw.compile(lambda pair: pair[0] + 2.0 * pair[1], pair=((2,), ())), np.empty((5, 2))
    assert plain((many[0].q, many[3]), out=sums) is sums
    np.testing.assert_allclose(sums, many[0].q + 2.0 * many[3][:, None], rtol=1e-15)


def arguments_of(many: tuple[Any, ...], k: int) -> tuple[Any, ...]:
    state, gains, goals, t = many
    b, matrix = goals["b"]
    goal = {"a": goals["a"][k], "b": (b[k], matrix[k])}
    return State(state.q[k], state.v[k]), Gains(gains.stiffness[k], gains.damping[k]), goal, t[k]


def test_wrongly_nested_kernel_arguments_are_refused(kernel: lw.Kernel) -> None:
    state, gains, goals, t = arguments()
    wrong: list[tuple[tuple[Any, ...], str]] = [
        (
            (state.q, gains, goals, t),
            r"nested: state: expected State\(q: an array of shape \(2,\), v: .*\), got ndarray",
        ),
        (((1.0, 2.0, 3.0), gains, goals, t), r"state: expected State\(.*\), got tuple\(0, 1, 2\)"),
        ((state, None, goals, t), r"gains: expected Gains\(stiffness: a number, .*\), got NoneType"),
        ((state, gains, {"a": 1.0}, t), r"goals: expected dict\(a: .*, b: tuple\(.*\)\), got dict\(a\)"),
        ((state, gains, {"a": 1.0, "b": 2.0}, t), r"goals\['b'\]: expected tuple\(.*\), got float"),
        ((state, gains, goals), "missing argument 't'"),
    ]
    for wrong_arguments, message in wrong:
        with pytest.raises(TypeError, match=message):
            kernel(*wrong_arguments)
    with pytest.raises(TypeError, match="unexpected or repeated argument 'state'"):
        kernel(state, gains, goals, state=state)
    with pytest.raises(ValueError, match=r"(?s)shape|core dimension"):
        kernel(State(np.zeros(3), state.v), gains, goals, t)


def test_nested_kernel_ports_with_equal_names_are_refused() -> None:
    with pytest.raises(ValueError, match="two arrays would be called 'a_b'"):
        trace(lambda a, a_b: a_b, "f", {"a": {"b": 2}, "a_b": 2})
    with pytest.raises(TypeError, match="expected entries named by identifiers, got 'a_b c'"):
        trace(lambda a: a, "f", {"a": {"b c": 2}})


def test_unnested_kernel_outputs_are_returned_as_named_tuples() -> None:
    Pair = namedtuple("Pair", ["x", "y"])
    for returned in (lambda q: (q, q), lambda q: Pair(q, q), lambda q: {"x": q, "y": q}):
        result = lw.compile(returned, q=2)([1.0, 2.0])
        assert isinstance(result, tuple) and type(result).__name__ == "function_result" and len(result) == 2
        assert all(
            np.array_equal(x, y) for x, y in zip(result, lw.compile(returned, q=2).call_python([1.0, 2.0]), strict=True)
        )
    single = lw.compile(lambda q: Plain(1.0, q), q=2)([1.0, 2.0])
    assert isinstance(single, Plain) and single.a == 1.0 and np.array_equal(single.b, [1.0, 2.0])
    assert lw.compile(lambda q: ({"only": 2.0 * q},), q=())(2.0) == ({"only": 4.0},)


def test_compile_can_be_used_as_a_decorator() -> None:
    @lw.compile(x=(3,), k=())
    def spring(x: Any, k: Any) -> Any:
        """A spring."""
        return -k * x

    @lw.compile(name="other", x=3)
    def doubled(x: Any) -> Any:
        return x + x

    assert isinstance(spring, lw.Kernel) and (spring.name, doubled.name) == ("spring", "other")
    assert spring([1.0, 0.0, 2.0], 2.0).tolist() == [-2.0, 0.0, -4.0]
    assert spring.function.__doc__ == "A spring."
    with pytest.raises(TypeError, match="expected a function, got 3"):
        lw.compile(3)  # type: ignore[call-overload]


def test_closure_variables_of_a_compiled_function_are_constants() -> None:
    scale, table = 2.0, np.array([1.0, 2.0, 3.0])
    kernel = lw.compile(lambda x: scale * table * x, x=3)
    expected = [2.0, 4.0, 6.0]
    scale, table = 0.0, np.zeros(3)
    with pytest.warns(TraceWarning, match="scale, table have changed"):
        assert kernel(np.ones(3)).tolist() == expected


UNCOMPILED: dict[str, tuple[Any, dict[str, Any]]] = {
    "a number": (lambda x: x * x, {"x": ()}),
    "an array and a number": (lambda x, k: k * x / (1.0 + k), {"x": 3, "k": ()}),
    "sums": (lambda x, k: (x @ x) * x + k * (x @ x) - x[0], {"x": 3, "k": ()}),
    "matrices": (lambda A, x: (A @ x, A.T @ A, np.linalg.norm(A @ x)), {"A": (3, 3), "x": 3}),
    "choices": (lambda x, k: np.where(x < k, x, np.maximum(k, 0.1 * x)), {"x": 3, "k": ()}),
    "our choices": (lambda x, k: where(k < 0.5, x[0], x[1] * k), {"x": 3, "k": ()}),
    "lists": (lambda x: [x[0], 1.0, np.sin(x[1])], {"x": 3}),
    "numbers": (lambda x: np.eye(3), {"x": 3}),
    "iteration": (lambda x: np.stack([y * y for y in x]) + sum(x), {"x": 3}),
    "methods": (lambda x: (x.sum(), x.dot(x), x.max(), x.mean()), {"x": 3}),
}


@pytest.mark.parametrize("kind", UNCOMPILED)
def test_kernel_call_python_runs_the_original_function(kind: str) -> None:
    function, shapes = UNCOMPILED[kind]
    kernel = lw.compile(function, **shapes)
    rng = np.random.default_rng(0)
    for size in ((), (4,), (3, 4), (0,)):
        arrays = [rng.uniform(0.2, 1.0, (*size, *port.shape)) for port in kernel.inputs]
        result, expected = kernel.call_python(*arrays), kernel(*arrays)
        several = isinstance(expected, tuple)
        for first, second in zip(*((result, expected) if several else ([result], [expected])), strict=True):
            assert np.shape(first) == np.shape(second)
            np.testing.assert_allclose(first, second, rtol=1e-14, atol=1e-14)
    if len(arrays) > 1:  # one that is the same for all
        arrays = [rng.uniform(0.2, 1.0, (*(size if k else ()), *p.shape)) for k, p in enumerate(kernel.inputs)]
        result, expected = kernel.call_python(*arrays), kernel(*arrays)
        assert [np.shape(x) for x in result] == [np.shape(x) for x in expected]


def test_call_python_of_a_kernel_without_a_python_function_raises_an_error() -> None:
    kernel = lw.load("arm7").compile("gravity_force")
    with pytest.raises(TypeError, match=r"not compiled from a Python function; `interpret`"):
        kernel.call_python(np.zeros(7))
    with pytest.raises(ValueError, match=r"x: expected an array of shape \(\.\.\., 3\), got shape \(2,\)"):
        lw.compile(lambda x: x, x=3).call_python(np.zeros(2))
