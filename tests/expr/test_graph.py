"""Traces are independent of each other, and are freed with their last reference."""

from __future__ import annotations

import gc
import math
import types
import weakref
from typing import Any

import numpy as np
import pytest

from helpers.scalars import EPS
from linkwork.expr.autodiff import dual_numbers, graph_derivative
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian, tangent
from linkwork.expr.scalar import functions, interpreter, operations, symbol
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate, reachable
from linkwork.expr.scalar.symbol import Graph, Symbol

MODULES = [graph_derivative, dual_numbers, functions, interpreter, operations, symbol]
LENGTH = 100_000


@pytest.mark.parametrize(
    "mix",
    [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: a**b,
        lambda a, b: a < b,
        lambda a, b: a == b,
        lambda a, b: a + (-b),
        lambda a, b: (-a) * b,
        lambda a, b: (-a) / b,
        lambda a, b: f.atan2(a, b),
        lambda a, b: f.hypot(a, b),
        lambda a, b: f.fmin(b, a),
        lambda a, b: f.where(a < 0.0, b, 1.0),
        lambda a, b: f.where(a < 0.0, 1.0, b),
        lambda a, b: f.and_(a < 0.0, b < 0.0),
        lambda a, b: np.array([a]) * np.array([b]),
        lambda a, b: reachable([a, b]),
        lambda a, b: evaluate([a, b], {a: 1.0, b: 2.0}),
        lambda a, b: evaluate([a * a], {a: 1.0, b: 2.0}),
        lambda a, b: evaluate([a * a], {b: 2.0}),
        lambda a, b: jacobian([a * a], [b]),
        lambda a, b: jacobian([a * a], [a, b]),
        lambda a, b: tangent([a * a], [b], [1.0]),
        lambda a, b: tangent([a * a], [a], [b]),
        lambda a, b: adjoint([a * a], [b], [1.0]),
        lambda a, b: adjoint([a * a], [a], [b]),
        lambda a, b: a.graph.set_sines(a, b, b),
    ],
)
def test_combining_symbols_of_two_traces_raises_an_error(mix: Any) -> None:
    a, b = Graph().input("a"), Graph().input("b")
    with pytest.raises(ValueError, match="trace"):
        mix(a, b)


def test_refused_combination_of_two_traces_symbols_leaves_both_traces_unchanged() -> None:
    first, second = Graph(), Graph()
    a, b = first.input("a"), second.input("b")
    with pytest.raises(ValueError, match="two traces"):
        a * b
    assert (len(first.nodes), len(second.nodes)) == (1, 1)
    assert a * a is a * a
    assert b * b is b * b


def test_sine_and_cosine_set_for_a_symbol_replace_later_operations() -> None:
    graph = Graph()
    a, s, c = graph.inputs("x", (3,))
    assert graph.sines(a) is None
    before = f.sin(a)
    assert graph.sines(a) is None  # a pair
    graph.set_sines(a, s, c)
    assert f.sin(a) is before and f.cos(a) is c and f.cos(-a) is c
    assert graph.sines(a) == (before, c)


def test_constant_outputs_can_be_evaluated_with_any_trace() -> None:
    a = Graph().input("a")
    assert evaluate([1.0], {a: 2.0}) == [1.0]
    assert evaluate([], {a: 2.0}) == []
    assert jacobian([3.0], [a]) == [[0.0]]
    assert tangent([3.0], [a], [1.0]) == [0.0]
    assert adjoint([3.0], [a], [1.0]) == [0.0]


def work() -> weakref.ref[Graph]:
    """A trace of every operation there is, differentiated both ways; all that is left of it is what is returned."""
    graph = Graph()
    x, y = graph.inputs("x", (2,))
    z = f.where(x < y, f.hypot(x, y) ** 3, f.pow(f.sqrt(x * x + 1.0), y)) - f.atan2(x, y) / 3.0
    rows = jacobian([z, f.sin(z)], [x, y])
    jacobian(rows[0], [x, y])
    adjoint([z], [x, y], [1.0])
    evaluate([z], {x: 0.5, y: np.arange(4.0)})
    return weakref.ref(graph)


def module_state() -> dict[str, Any]:
    """State of the modules: the identity of every name, and the size of every container."""
    state = {}
    for module in MODULES:
        for name, value in vars(module).items():
            if isinstance(value, types.ModuleType) or name.startswith("__"):
                continue
            size = len(value) if isinstance(value, (dict, list, set, frozenset, tuple)) else None
            state[f"{module.__name__}.{name}"] = (id(value), size)
    return state


def test_expression_graph_is_freed_with_its_last_reference() -> None:
    reference = work()
    gc.collect()
    assert reference() is None


def test_symbol_keeps_its_expression_graph_alive() -> None:
    s = Graph().input("s")
    reference = weakref.ref(s.graph)
    gc.collect()
    assert reference() is s.graph
    del s
    gc.collect()
    assert reference() is None


@pytest.mark.slow
def test_expression_graphs_leave_no_objects_in_memory() -> None:
    work()
    gc.collect()
    before, objects = module_state(), gc.get_objects()
    traces = sum(isinstance(o, Graph) for o in objects)
    count = len(objects)
    del objects
    for _ in range(5):
        work()
    gc.collect()
    assert module_state() == before
    assert sum(isinstance(o, Graph) for o in gc.get_objects()) == traces
    assert len(gc.get_objects()) - count < 50


def test_expression_graph_does_not_depend_on_earlier_traces() -> None:
    def shape() -> list[tuple[Any, ...]]:
        graph = Graph()
        x, y = graph.inputs("x", (2,))
        jacobian([f.sin(x * y) / (x + y) + f.where(x < y, x, y)], [x, y])
        return [(node.op.name, *(a.index for a in node.args)) for node in graph.nodes]

    first = shape()
    work()
    assert shape() == first


def chain(graph: Graph, length: int) -> tuple[Symbol, Symbol]:
    """x, and x / (1 + ε)ⁿ by n divisions: each takes the one before, so nothing is folded or shared."""
    x = graph.input("x")
    node: Any = x
    for _ in range(length):
        node = node / 1.00001
    return x, node


@pytest.mark.slow
def test_long_chains_of_operations_are_evaluated_differentiated_and_freed_without_recursion() -> None:
    graph = Graph()
    x, last = chain(graph, LENGTH)
    assert len(graph.nodes) >= LENGTH
    expected = 1.00001**-LENGTH
    gradients = [jacobian([last], [x])[0][0], adjoint([last], [x], [1.0])[0]]
    assert len(graph.nodes) >= 2 * LENGTH
    value, *slopes = evaluate([last, *gradients], {x: 2.0})
    assert abs(value / (2.0 * expected) - 1.0) < LENGTH * 3e-16
    for slope in slopes:
        assert abs(slope / expected - 1.0) < LENGTH * 3e-16
    reference = weakref.ref(graph)
    del graph, x, last, gradients
    gc.collect()
    assert reference() is None


@pytest.mark.slow(every=3)
@pytest.mark.parametrize(
    "step", [lambda x, c: f.sin(x) * c, lambda x, c: x * c + c, lambda x, c: f.where(x < 1.0, x * c, x)]
)
def test_long_chains_of_various_operations_can_be_differentiated(step: Any) -> None:
    graph = Graph()
    x = graph.input("x")
    node: Any = x
    for k in range(LENGTH // 10):
        node = step(node, 0.999 + 1e-8 * k)
    value, forward, backward = evaluate([node, jacobian([node], [x])[0][0], adjoint([node], [x], [1.0])[0]], {x: 0.5})
    assert np.isfinite(value)
    assert abs(forward - backward) <= LENGTH * EPS * max(1.0, abs(forward))


@pytest.mark.slow
def test_sum_of_thousands_of_terms_can_be_differentiated() -> None:
    """A node with many uses, and a sum of many terms."""
    graph = Graph()
    x = graph.input("x")
    total: Any = 0.0
    for k in range(LENGTH // 10):
        total = total + f.sin(x + float(k))
    (slope,) = evaluate(adjoint([total], [x], [1.0]), {x: 0.25})
    terms = np.cos(0.25 + np.arange(LENGTH // 10))
    assert abs(slope - math.fsum(terms)) <= len(terms) * EPS * np.sum(np.abs(terms))
