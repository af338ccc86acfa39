"""Loops on plain numbers: Python's own on floats, masked on NumPy batches with samples in leading dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.pytree import (
    children,
    is_nested,
    mapped,
    remade,
    shallow_form,
    taken_apart,
)
from linkwork.expr.arrays.symbol_array import filled
from linkwork.expr.control.closure_conversion import Numbers, graph_of, is_truth, named
from linkwork.expr.control.loop_checks import (
    check_step,
    chosen_by,
    is_of_elements,
    pair,
    truth_of_condition,
)
from linkwork.expr.control.loop_instruction import DONE, NOT_A_NUMBER, OUT_OF_ITERATIONS
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["scan_on_numbers", "while_on_numbers"]


def while_on_numbers(
    condition: Callable[[Any], Any], step: Callable[[Any], Any], state: Any, start: Numbers, most: int
) -> tuple[Any, Any, Any] | Graph:
    """The last state, the number of steps and the status; or the trace of the symbols that were met."""
    done: Any = 0
    status: Any = int(OUT_OF_ITERATIONS)
    going: Any = True
    in_elements = False
    truths = _truths(state)
    for count in range(most + 1):
        said = condition(state)
        holds = truth_of_condition("while_loop", said, condition)
        in_elements = in_elements or is_of_elements(said)
        if holds.__class__ is Symbol:
            return holds.graph
        missing = _missing(state, max(np.ndim(going), np.ndim(holds)))
        if np.ndim(missing) or np.ndim(holds) or np.ndim(going):
            status = np.where(going & np.asarray(missing), int(NOT_A_NUMBER), status)
            going = np.asarray(going & ~np.asarray(missing))
            status = np.where(going & ~np.asarray(holds), int(DONE), status)
            going = np.asarray(going & holds)
        else:
            status = int(NOT_A_NUMBER) if missing else status if holds else int(DONE)
            going = bool(holds) and not missing
        if count == most or not np.any(going):
            break
        following = step(_own(state))
        numbers, form = taken_apart(following, f"while_loop: what {named(step)} returns")
        graph = graph_of(numbers)
        if graph is not None:
            return graph
        masked = bool(np.ndim(going))
        check_step("while_loop", step, start.form, form, truths, _truths(following), batches=True)
        state = mapped(chosen_by(going, in_elements=in_elements), following, state) if masked else following
        done = done + (np.where(going, 1, 0) if masked else 1)
    if in_elements:
        done, status = (filled((), [x]) if np.ndim(x) else x for x in (done, status))
    return state, done, status


def scan_on_numbers(
    step: Callable[..., Any], state: Any, inputs: Any, start: Numbers, steps: int, backward: bool
) -> tuple[Any, Any] | Graph:
    """The scan on floats or arrays; or the trace of the symbols that it met."""
    if not steps:
        return state, _no_outputs(step, state, inputs)
    truths = _truths(state)
    kept: list[Any] = [None] * steps
    for t in reversed(range(steps)) if backward else range(steps):
        following, kept[t] = pair(step, step(_own(state), _row(inputs, t)))
        numbers, form = taken_apart(following, f"scan: the state that {named(step)} returns")
        outputs = [] if kept[t] is None else taken_apart(kept[t], f"scan: the output of {named(step)}")[0]
        graph = graph_of([*numbers, *outputs])
        if graph is not None:
            return graph
        check_step("scan", step, start.form, form, truths, _truths(following), batches=True)
        state = following
    return state, _stacked(kept)


def _no_outputs(step: Callable[..., Any], state: Any, inputs: Any) -> Any:
    """The outputs of no steps, as nested as those of one would be."""
    _, output = pair(step, step(state, mapped(_nothing, inputs)))
    return mapped(lambda x: np.zeros((0, *np.shape(x))), output)


def _nothing(rows: Any) -> Any:
    """A row of none, of NaN."""
    return np.full(np.shape(rows)[1:], np.nan) if np.ndim(rows) > 1 else np.nan


def _truths(state: Any) -> list[bool]:
    """Which of the arrays and numbers of a state are truth values."""
    found: list[bool] = []

    def look(x: Any) -> None:
        elements = x.ravel() if isinstance(x, np.ndarray) and x.dtype == object else [x]
        found.append(getattr(x, "dtype", None) == np.dtype(bool) or any(map(is_truth, elements)))

    mapped(look, state)
    return found


def _missing(state: Any, leading: int) -> Any:
    """Whether some number of the state is NaN, of each sample."""
    found: Any = False

    def look(x: Any) -> None:
        nonlocal found
        if isinstance(x, np.ndarray) and x.dtype == object:
            for element in x.ravel().tolist():
                look(element)
            return
        while hasattr(x, "value"):  # of a dual number
            x = x.value
        nan = np.isnan(np.asarray(x, dtype=float))
        found = found | (nan.any(axis=tuple(range(leading, nan.ndim))) if nan.ndim > leading else nan)

    mapped(look, state)
    return found if np.ndim(found) else bool(found)


def _row(inputs: Any, t: int) -> Any:
    return None if inputs is None else _own(mapped(lambda x: x[t], inputs))


def _own(value: Any) -> Any:
    """The same with arrays of its own, which a step may write to."""
    return mapped(lambda x: x.copy() if isinstance(x, np.ndarray) else x, value)


def _stacked(kept: Sequence[Any]) -> Any:
    if not kept or kept[0] is None:
        return None
    if is_nested(kept[0]):
        columns = zip(*([part for _, part in children(value)] for value in kept), strict=True)
        return remade(shallow_form(kept[0]), [_stacked(list(column)) for column in columns])
    return np.stack([np.asarray(x) for x in kept])
