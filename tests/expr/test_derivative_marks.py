"""Marks of steps in a trace: derivatives have marked steps, too."""

from __future__ import annotations

from typing import Any

import pytest

from linkwork.compiler.passes.outline import signs_moved
from linkwork.compiler.passes.step_patterns import Step, steps_of
from linkwork.compiler.program import Port, Program
from linkwork.expr.autodiff.graph_derivative import adjoint, forward, tangent
from linkwork.expr.control.loops import scan
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph, Symbol

STEPS = 12


def walked(graph: Graph, x: list[Symbol], y: list[Symbol]) -> list[Any]:
    """A walk there and back, each step of which is marked."""
    forward_steps = [x[0]]
    for k in range(STEPS):
        graph.marks.append(len(graph.nodes))
        forward_steps.append(f.sin(forward_steps[-1] * (0.3 + 0.1 * k)) * y[k] + x[1])
    back = [forward_steps[-1]]
    for k in reversed(range(STEPS)):
        graph.marks.append(len(graph.nodes))
        back.append(back[-1] * forward_steps[k] + y[k] * (1.7 - 0.1 * k))
    graph.marks.append(len(graph.nodes))
    return back


@pytest.fixture
def trace() -> tuple[Graph, list[Symbol], list[Symbol], list[Any]]:
    graph = Graph()
    x, y = graph.inputs("x", (2,)), graph.inputs("y", (STEPS,))
    return graph, x, y, walked(graph, x, y)


def steps(x: list[Symbol], y: list[Symbol], w: list[Symbol], derivatives: list[Any]) -> list[Step]:
    inputs = [(Port(name, (len(part),)), part) for name, part in (("x", x), ("y", y), ("w", w))]
    program = Program.of("f", inputs, [(Port("g", (len(derivatives),)), derivatives)])
    instructions, _, marks = signs_moved(program.instructions, program.results, program.marks)
    return steps_of(instructions, marks)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_step_marks_of_derivatives_repeat_like_the_steps_of_the_function(trace: Any, mode: str) -> None:
    graph, x, y, back = trace
    if mode == "reverse":
        w = graph.inputs("w", (len(back),))
        derivatives = adjoint(back, [*x, *y], w)
    else:
        w = graph.inputs("w", (2 + STEPS,))
        derivatives = tangent(back, [*x, *y], w)
    listed = steps(x, y, w, derivatives)
    forms = {step.form for step in listed}
    assert len(listed) >= 3 * STEPS
    assert len(forms) <= 16  # those in the middle are alike: few more than of a walk of another length
    assert max(sum(step.form == form for step in listed) for form in forms) >= STEPS - 3


def test_step_marks_do_not_change_derivatives(trace: Any) -> None:
    def of(graph: Graph, x: list[Symbol], y: list[Symbol], back: list[Any]) -> list[Any]:
        symbols = [*x, *y]
        derivatives = [*adjoint(back, symbols, [1.0] * len(back)), *tangent(back, symbols, [1.0] * len(symbols))]
        rows = forward(back, symbols, [{k: 1.0} for k in range(len(symbols))])
        derivatives += [row[k] for row in rows for k in sorted(row)]
        return evaluate(derivatives, {s: 0.3 + 0.1 * k for k, s in enumerate(symbols)})

    graph = Graph()
    x, y = graph.inputs("x", (2,)), graph.inputs("y", (STEPS,))
    back = walked(graph, x, y)
    graph.marks.clear()
    assert of(graph, x, y, back) == of(*trace)
    assert not graph.marks


def test_derivatives_through_loops_have_step_marks_in_order() -> None:
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
    first, second = evaluate([gradient, slope], values)
    assert first == pytest.approx(second, rel=1e-13)
