"""Loops over any scalar: Python's own on floats, masked on NumPy batches, one instruction on symbols.

`each` applies a function to many rows of numbers, as one `scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public, unchecked
from linkwork.expr.arrays.pytree import (
    Form,
    Leaf,
    leaves_of,
    mapped,
    put_together,
    reshaped,
    taken_apart,
)
from linkwork.expr.control.closure_conversion import Numbers, closed, graph_of, lent, named
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.control.numeric_loops import (
    bound,
    call_argument,
    check_step,
    number_of_steps,
    pair,
    scan_on_numbers,
    truth_of_condition,
    while_on_numbers,
)
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["WhileResult", "each", "fori_loop", "scan", "while_loop"]


class WhileResult(NamedTuple):
    """How a `while_loop` ended.

    ``status`` is 0 where the condition said so, 1 where it was stopped after ``max_iterations`` steps, 2 where a
    number of the state was NaN.
    """

    state: Any
    iterations: Any
    status: Any


@public(max_iterations=unchecked)
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any, *, max_iterations: int
) -> WhileResult:
    """Do ``state = step(state)`` as long as ``condition(state)`` holds, and at most so many times.

    The state is an array, a number, or these nested in tuples, named tuples, dataclasses and dicts; a step returns one
    of the same nesting and shapes.  Both functions may use anything around them.  Samples of a batch that have ended
    keep their state.  A state with a NaN ends the loop.

    >>> from linkwork.expr import while_loop
    >>> while_loop(lambda x: x < 100.0, lambda x: 2.0 * x, 3.0, max_iterations=50)
    WhileResult(state=192.0, iterations=6, status=0)

    Raises TypeError for a condition that is no truth value, a step that changes the state's shapes or nesting, and
    ValueError for a bound that is no whole number or negative.
    """
    return watching_while_loop(cond_fun, body_fun, init, bound("while_loop: max_iterations", max_iterations))


def watching_while_loop(
    condition: Callable[[Any], Any], step: Callable[[Any], Any], state: Any, most: int, unwatched: int = 0
) -> WhileResult:
    """A `while_loop` that does not look at the last numbers of its state for NaN, which is to be found elsewhere.

    In a kernel such numbers are put where they stood as soon as a step has them, if it can be.
    """
    start = Numbers(state, "while_loop: init")
    graph = graph_of(start.elements)
    if graph is None:
        result = while_on_numbers(condition, step, state, start, most)
        if not isinstance(result, Graph):
            return WhileResult(*result)
        graph = result
    return _while_traced(graph, condition, step, start, most, unwatched)


def _while_traced(
    graph: Graph,
    condition: Callable[[Any], Any],
    step: Callable[[Any], Any],
    start: Numbers,
    most: int,
    unwatched: int,
) -> WhileResult:
    while True:
        fresh = lent(graph, f"the state of while_loop of {named(step)}", len(start.elements))
        inside = start.together(fresh)
        said = call_argument("while_loop: cond_fun", "the state", condition, inside)
        holds = truth_of_condition("while_loop", said, condition)
        result = call_argument("while_loop: body_fun", "the state", step, inside)
        following = Numbers(result, f"while_loop: body_fun: result of {named(step)}")
        check_step("while_loop: body_fun", step, start.form, following.form, start.logical, following.logical)
        if not start.widen(following):  # else a step makes dual numbers of others: they are carried
            break
    following.widen(start)
    holds = holds if holds.__class__ is Symbol else graph.truth(bool(holds))
    body, outside = closed(fresh, [holds, *following.elements], early=1)
    many = len(fresh)
    loop = Loop(body, many, 0, 0, most, conditional=True, watched=len(start.scalars) - unwatched)
    *last, iterations, status = graph.bundle(loop, [*start.elements, *outside])
    return WhileResult(start.together(last), iterations, status)


@public(length=unchecked)
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    *,
    length: int | None = None,
    reverse: bool = False,
    segments: int | None = None,
) -> tuple[Any, Any]:
    """Do ``state, output = step(state, input)`` for every input, and return the last state and all outputs, stacked.

    ``xs`` are arrays (T, ...), nested at will, of which each step gets its rows, or None with a ``length`` of T;
    ``reverse`` goes from the last to the first.  Outputs are arrays (T, ...), in the order of the inputs, or None
    where the steps return None.

    The gradient of a scan keeps the state of every step: T times the numbers of the state, for each sample.  In
    ``segments`` it keeps those between segments only, and computes the others again: about T/segments + segments
    states, for one more run of the steps.

    >>> from linkwork.expr import scan
    >>> import numpy as np
    >>> last, sums = scan(lambda total, x: (total + x, total + x), 0.0, np.arange(1.0, 5.0))
    >>> float(last), sums.tolist()
    (10.0, [1.0, 3.0, 6.0, 10.0])

    Raises TypeError for a step that changes the state's shapes or nesting, and ValueError for inputs of different T.
    """
    given, form = taken_apart(xs, "scan: xs") if xs is not None else ([], None)
    steps = number_of_steps(form, length)
    if segments is not None:
        _check_segments(segments, steps)
        if segments > 1:
            return _in_segments(f, init, xs, steps, reverse, segments)
    start = Numbers(init, "scan: init")
    graph = graph_of([*start.elements, *given])
    if graph is None:
        result = scan_on_numbers(f, init, xs, start, steps, reverse)
        if not isinstance(result, Graph):
            return result
        graph = result
    return _scan_traced(graph, f, start, given, form, steps, reverse)


@public(lower=unchecked, upper=unchecked)
def fori_loop(
    lower: int, upper: int, body_fun: Callable[[Any, Any], Any], init: Any, *, segments: int | None = None
) -> Any:
    """Return the state after ``state = body_fun(k, state)`` for k = lower, ... upper - 1, from ``init``.

    The arguments are those of ``jax.lax.fori_loop``.  ``segments`` bounds what a gradient keeps, as `scan` does.

    >>> from linkwork.expr import fori_loop
    >>> fori_loop(0, 5, lambda k, x: x + k, 0.0)
    10.0

    Raises TypeError for a body that changes the state's shapes or nesting, and ValueError for bounds that are negative,
    not known when the loop is traced, or in the wrong order.
    """
    first, last = bound("fori_loop: lower", lower), bound("fori_loop: upper", upper)
    if last < first:
        raise ValueError(f"fori_loop: upper: expected an integer of at least lower = {first}, got {last}")
    start = Numbers(init, "fori_loop: init")

    def counted(pair: tuple[Any, Any], _: Any) -> tuple[Any, None]:
        inside, k = pair
        following = call_argument("fori_loop: body_fun", "(k, state)", body_fun, k, inside)
        if k.__class__ is not int or k == first:  # what a later step changes is found by scan
            what, is_number = "fori_loop: body_fun", k.__class__ is int
            result = Numbers(following, f"{what}: result of {named(body_fun)}")
            check_step(what, body_fun, start.form, result.form, start.logical, result.logical, batches=is_number)
        return (following, k + 1), None

    counted.__wrapped__ = body_fun  # type: ignore[attr-defined]
    within = None if segments is None else bound("fori_loop: segments", segments)
    (end, _), _ = scan(counted, (init, first), length=last - first, segments=within)
    return end


def _scan_traced(
    graph: Graph,
    step: Callable[..., Any],
    start: Numbers,
    given: list[Any],
    form: Any,
    steps: int,
    backward: bool,
) -> tuple[Any, Any]:
    one: Numbers | None = None
    rows: list[list[Any]] = []
    if form is not None:
        shape = reshaped(form, lambda leaf: Leaf(leaf.shape[1:], is_array=len(leaf.shape) > 1))
        one, rows = Numbers.alike(shape, _rows_of(form, given, steps))
    width = 0 if one is None else one.size
    while True:
        fresh = lent(graph, f"the state of scan of {named(step)}", len(start.elements) + width)
        carried, slices = fresh[: len(start.elements)], fresh[len(start.elements) :]
        row = None if one is None else one.together(slices)
        state, output = pair(step, call_argument("scan: f", "(carry, x)", step, start.together(carried), row))
        following = Numbers(state, f"scan: f: state that {named(step)} returns")
        check_step("scan: f", step, start.form, following.form, start.logical, following.logical)
        if not start.widen(following):  # else a step makes dual numbers of others: they are carried
            break
    following.widen(start)
    kept = None if output is None else Numbers(output, f"scan: f: output of {named(step)}")
    outputs = [] if kept is None else kept.elements
    body, outside = closed(fresh, [*following.elements, *outputs])
    loop = Loop(body, len(carried), width, len(outputs), steps, backward=backward)
    result = graph.bundle(loop, [*start.elements, *(x for r in rows for x in r), *outside])
    last = start.together(result[: len(carried)])
    if kept is None:
        return last, None
    many = len(outputs)
    ends = (len(carried) + t * many for t in range(steps))
    return last, _joined(kept, [kept.scalars_of(result[end : end + many]) for end in ends])


def _rows_of(form: Form | Leaf, numbers: Sequence[Any], steps: int) -> list[list[Any]]:
    """The numbers of stacked arrays (steps, ...), of one step after the other."""
    rows: list[list[Any]] = [[] for _ in range(steps)]
    start = 0
    for _, leaf in leaves_of(form):
        width = leaf.size // steps if steps else 0
        for t in range(steps):
            rows[t] += numbers[start + t * width : start + (t + 1) * width]
        start += leaf.size
    return rows


def _joined(kept: Numbers, rows: Sequence[Sequence[Any]]) -> Any:
    """Stacked outputs: arrays (T, ...) of the rows' scalars, as nested as one step's."""
    start = 0
    columns: list[Any] = []
    stacked = reshaped(kept.form, lambda leaf: Leaf((len(rows), *leaf.shape)))
    for _, leaf in leaves_of(kept.form):
        for row in rows:
            columns += row[start : start + leaf.size]
        start += leaf.size
    return put_together(stacked, columns)


def _check_segments(segments: Any, steps: int) -> None:
    """Raises ValueError for a number of segments that so many steps cannot be cut into."""
    if not 1 <= bound("scan: segments", segments) <= max(steps, 1):
        raise ValueError(f"scan: segments: expected 1 to {max(steps, 1)}, got {segments}")


def _in_segments(
    step: Callable[..., Any], state: Any, inputs: Any, steps: int, backward: bool, segments: int
) -> tuple[Any, Any]:
    """A scan over scans, and what is left over at the end."""
    size = steps // segments
    whole = size * segments

    def cut(first: int, stop: int) -> Any:
        return None if inputs is None else mapped(lambda x: x[first:stop], inputs)

    def rest(state: Any) -> tuple[Any, Any]:
        return scan(step, state, cut(whole, steps), length=steps - whole, reverse=backward)

    def segment(state: Any, part: Any) -> tuple[Any, Any]:
        return scan(step, state, part, length=size, reverse=backward)

    parts = mapped(lambda x: np.reshape(x, (segments, size, *np.shape(x)[1:])), cut(0, whole))
    left: Any = None
    if backward and whole < steps:
        state, left = rest(state)
    state, outputs = scan(segment, state, parts, length=segments, reverse=backward)
    outputs = mapped(lambda x: np.reshape(x, (whole, *np.shape(x)[2:])), outputs)
    if not backward and whole < steps:
        state, left = rest(state)
    if left is not None:
        outputs = mapped(lambda x, y: np.concatenate([x, y]), outputs, left)
    return state, outputs


FunctionSpec = Sequence[Any]


def each(
    function: Callable[[FunctionSpec], FunctionSpec],
    rows: Sequence[FunctionSpec],
    *,
    in_loops: bool,
    alike: bool = False,
) -> list[list[Any]]:
    """The function of each row; in a trace written out row by row or, in loops, once for rows that are alike.

    Rows are alike that have structural zeros in the same places, or all of them where that is said.  All rows have as
    many numbers.
    """
    if not in_loops or not any(hasattr(x, "_precedence") for row in rows for x in row):
        return [list(function(row)) for row in rows]
    found_alike: dict[tuple[int, ...], list[int]] = {}
    for k, row in enumerate(rows):
        places = tuple(i for i, x in enumerate(row) if alike or not is_zero(x))
        found_alike.setdefault(places, []).append(k)
    found: list[list[Any]] = [[] for _ in rows]
    for places, members in found_alike.items():
        if len(members) == 1 or not places:
            for k in members:
                found[k] = list(function(rows[k]))
            continue

        def step(_: Any, value: Any, places: tuple[int, ...] = places) -> tuple[Any, Any]:
            row = [0.0] * len(rows[0])
            for place, x in zip(places, value, strict=True):
                row[place] = x
            return (), np.array(function(row), dtype=object)

        _, results = scan(step, (), np.array([[rows[k][i] for i in places] for k in members], dtype=object))
        for k, result in zip(members, results, strict=True):
            found[k] = list(result)
    return found
