"""Steps of a trace are steps of its derivatives: the graph is marked again where a sweep comes to another one."""

from __future__ import annotations

from typing import Any

import pytest

from linkwork.compiler.passes.outlining.outline import signs_moved
from linkwork.compiler.passes.outlining.step_patterns import Step, steps_of
from linkwork.compiler.program import Port, Program
from linkwork.expr.autodiff.graph_derivative import adjoint, forward, tangent
from linkwork.expr.control.loops import scan
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph, Symbol

STEPS = 12


def walked(graph: Graph, x: list[Symbol], y: list[Symbol]) -> list[Any]:
    """A walk there and back, each step of which is marked."""
    there = [x[0]]
    for k in range(STEPS):
        graph.marks.append(len(graph.nodes))
        there.append(f.sin(there[-1] * (0.3 + 0.1 * k)) * y[k] + x[1])
    back = [there[-1]]
    for k in reversed(range(STEPS)):
        graph.marks.append(len(graph.nodes))
        back.append(back[-1] * there[k] + y[k] * (1.7 - 0.1 * k))
    graph.marks.append(len(graph.nodes))
    return back


@pytest.fixture
def trace() -> tuple[Graph, list[Symbol], list[Symbol], list[Any]]:
    graph = Graph()
    x, y = graph.inputs("x", (2,)), graph.inputs("y", (STEPS,))
    return graph, x, y, walked(graph, x, y)


def steps(x: list[Symbol], y: list[Symbol], w: list[Symbol], found: list[Any]) -> list[Step]:
    inputs = [(Port(name, (len(part),)), part) for name, part in (("x", x), ("y", y), ("w", w))]
    program = Program.of("f", inputs, [(Port("g", (len(found),)), found)])
    instructions, _, marks = signs_moved(program.instructions, program.results, program.marks)
    return steps_of(instructions, marks)


@pytest.mark.parametrize("way", ["forward", "reverse"])
def test_steps_of_derivatives_repeat_as_those_of_the_function_do(trace: Any, way: str) -> None:
    graph, x, y, back = trace
    if way == "reverse":
        w = graph.inputs("w", (len(back),))
        found = adjoint(back, [*x, *y], w)
    else:
        w = graph.inputs("w", (2 + STEPS,))
        found = tangent(back, [*x, *y], w)
    listed = steps(x, y, w, found)
    forms = {step.form for step in listed}
    assert len(listed) >= 3 * STEPS
    assert len(forms) <= 16  # those in the middle are alike: few more than of a walk of another length
    assert max(sum(step.form == form for step in listed) for form in forms) >= STEPS - 3


def test_marks_change_no_derivative(trace: Any) -> None:
    def of(graph: Graph, x: list[Symbol], y: list[Symbol], back: list[Any]) -> list[Any]:
        symbols = [*x, *y]
        found = [*adjoint(back, symbols, [1.0] * len(back)), *tangent(back, symbols, [1.0] * len(symbols))]
        rows = forward(back, symbols, [{k: 1.0} for k in range(len(symbols))])
        found += [row[k] for row in rows for k in sorted(row)]
        return evaluate(found, {s: 0.3 + 0.1 * k for k, s in enumerate(symbols)})

    graph = Graph()
    x, y = graph.inputs("x", (2,)), graph.inputs("y", (STEPS,))
    back = walked(graph, x, y)
    graph.marks.clear()
    assert of(graph, x, y, back) == of(*trace)
    assert not graph.marks


def test_marks_go_forward_and_through_loops() -> None:
    graph = Graph()
    x, y = graph.inputs("x", (2,)), graph.inputs("y", (STEPS,))

    def step(state: Any, _: Any) -> Any:
        graph.marks.append(len(graph.nodes))
        return walked(graph, [state, x[1]], y)[-1] * 0.1, None

    graph.marks.append(0)
    last, _ = scan(step, x[0], [0.0, 1.0, 2.0])
    (gradient,) = adjoint([last], [x[0]], [1.0])
    (slope,) = tangent([last], [x[0]], [1.0])
    assert graph.marks == sorted(graph.marks) and graph.marks[-1] <= len(graph.nodes)
    values = {s: 0.3 + 0.1 * k for k, s in enumerate([*x, *y])}
    one, other = evaluate([gradient, slope], values)
    assert one == pytest.approx(other, rel=1e-13)
