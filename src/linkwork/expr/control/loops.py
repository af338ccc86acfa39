"""Loops over any scalar: Python's own on floats, masked on NumPy batches, one instruction on symbols.

`map_rows` applies a function to many rows, as one `scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public, unchecked
from linkwork.expr.arrays.pytree import (
    Leaf,
    TreeDef,
    flatten,
    leaf_paths,
    map_leaves,
    tree_map,
    unflatten,
)
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.control.closure_conversion import close_over, function_label, graph_of, inner_symbols
from linkwork.expr.control.flat_values import FlatValue
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.control.numeric_loops import (
    call_argument,
    check_pair,
    check_step,
    number_of_steps,
    numeric_scan,
    numeric_while_loop,
    read_count,
    truth_of_condition,
)
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["StoredRows", "WhileResult", "fori_loop", "map_rows", "scan", "scan_rows", "while_loop"]


class WhileResult(NamedTuple):
    """Result of a `while_loop`.

    ``status`` is 0 where the condition became false, 1 after ``max_iterations`` steps, 2 where a value of the state was
    NaN.
    """

    state: Any
    iterations: Any
    status: Any


@public(max_iterations=unchecked)
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any, *, max_iterations: int
) -> WhileResult:
    """Repeat ``state = body_fun(state)`` while ``cond_fun(state)`` is true.

    The number of steps is at most ``max_iterations``.  ``init`` is the first state.  The state is an array, a number,
    or these nested in tuples, named tuples, dataclasses and dicts; ``body_fun`` returns a state of the same structure
    and shapes.  Both functions may use any variable in scope.  The state of a sample whose loop has ended does not
    change.  A state with NaN ends the loop.

    >>> from linkwork.expr import while_loop
    >>> while_loop(lambda x: x < 100.0, lambda x: 2.0 * x, 3.0, max_iterations=50)
    WhileResult(state=192.0, iterations=6, status=0)

    Raises TypeError for a condition that is not a truth value and for a body that changes the state's structure or
    shapes, and ValueError unless ``max_iterations`` is an integer >= 0.
    """
    return watching_while_loop(cond_fun, body_fun, init, read_count("while_loop: max_iterations", max_iterations))


def watching_while_loop(
    condition: Callable[[Any], Any],
    step: Callable[[Any], Any],
    state: Any,
    max_iterations: int,
    unwatched: int = 0,
    within: Sequence[Any] = (),
) -> WhileResult:
    """Run a `while_loop` without the check for NaN of the last ``unwatched`` values of its state.

    In a kernel, a step overwrites these values in place, if possible.  ``within`` are values that the step uses: if one
    is a symbol, the loop is traced at once, otherwise only if the first step returns a symbol.
    """
    start = FlatValue(state, "while_loop: init")
    graph = graph_of([*start.elements, *within])
    if graph is None:
        result = numeric_while_loop(condition, step, state, start, max_iterations)
        if not isinstance(result, Graph):
            return WhileResult(*result)
        graph = result
    return _while_traced(graph, condition, step, start, max_iterations, unwatched)


def _while_traced(
    graph: Graph,
    condition: Callable[[Any], Any],
    step: Callable[[Any], Any],
    start: FlatValue,
    max_iterations: int,
    unwatched: int,
) -> WhileResult:
    while True:
        fresh = inner_symbols(graph, f"the state of while_loop of {function_label(step)}", len(start.elements))
        inside = start.together(fresh)
        said = call_argument("while_loop: cond_fun", "the state", condition, inside)
        holds = truth_of_condition("while_loop", said, condition)
        result = call_argument("while_loop: body_fun", "the state", step, inside)
        following = FlatValue(result, f"while_loop: body_fun: result of {function_label(step)}")
        check_step("while_loop: body_fun", step, start.form, following.form, start.logical, following.logical)
        if not start.widen(following):  # otherwise a step returns dual numbers, which are carried as well
            break
    following.widen(start)
    holds = holds if holds.__class__ is Symbol else graph.truth(bool(holds))
    body, outside = close_over(fresh, [holds, *following.elements], early=1)
    _check_outer(outside)
    many = len(fresh)
    loop = Loop(body, many, 0, 0, max_iterations, conditional=True, watched=len(start.scalars) - unwatched)
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
    """Apply ``carry, y = f(carry, x)`` to every input.  Return the last carry and all outputs, stacked.

    ``init`` is the first carry.  ``xs`` are arrays (T, ...), possibly nested, of which each step gets one entry, or
    None with a ``length`` of T; ``reverse`` goes from the last to the first.  Outputs are arrays (T, ...), in the order
    of the inputs, or None if the steps return None.

    The gradient of a scan stores the state of every step: T times the size of the state, for each sample.  With
    ``segments`` it stores only the states between segments and recomputes the others: about T/segments + segments
    states, for one more run of the steps.

    >>> from linkwork.expr import scan
    >>> import numpy as np
    >>> last, sums = scan(lambda total, x: (total + x, total + x), 0.0, np.arange(1.0, 5.0))
    >>> float(last), sums.tolist()
    (10.0, [1.0, 3.0, 6.0, 10.0])

    Raises TypeError for a step that changes the state's structure or shapes, and ValueError for inputs of different T.
    """
    inputs, form = flatten(xs, "scan: xs") if xs is not None else ([], None)
    steps = number_of_steps(form, length)
    if segments is not None:
        _check_segments(segments, steps)
        if segments > 1:
            return _in_segments(f, init, xs, steps, reverse, segments)
    return scan_rows(f, init, xs, inputs, form, steps, reverse)


@public(lower=unchecked, upper=unchecked)
def fori_loop(
    lower: int, upper: int, body_fun: Callable[[Any, Any], Any], init: Any, *, segments: int | None = None
) -> Any:
    """Return the state after ``state = body_fun(k, state)`` for k = lower, ... upper - 1, from ``init``.

    The arguments are those of ``jax.lax.fori_loop``.  ``segments`` limits what a gradient stores, as in `scan`.

    >>> from linkwork.expr import fori_loop
    >>> fori_loop(0, 5, lambda k, x: x + k, 0.0)
    10.0

    Raises TypeError for a body that changes the state's structure or shapes, and ValueError for bounds that are
    negative, not known at trace time, or in the wrong order.
    """
    first, last = read_count("fori_loop: lower", lower), read_count("fori_loop: upper", upper)
    if last < first:
        raise ValueError(f"fori_loop: upper: expected an integer >= lower = {first}, got {last}")
    start = FlatValue(init, "fori_loop: init")

    def counted(pair: tuple[Any, Any], _: Any) -> tuple[Any, None]:
        inside, k = pair
        following = call_argument("fori_loop: body_fun", "(k, state)", body_fun, k, inside)
        if k.__class__ is not int or k == first:  # later steps are checked by scan
            label, is_number = "fori_loop: body_fun", k.__class__ is int
            result = FlatValue(following, f"{label}: result of {function_label(body_fun)}")
            check_step(label, body_fun, start.form, result.form, start.logical, result.logical, batches=is_number)
        return (following, k + 1), None

    counted.__wrapped__ = body_fun  # type: ignore[attr-defined]
    within = None if segments is None else read_count("fori_loop: segments", segments)
    (end, _), _ = scan(counted, (init, first), length=last - first, segments=within)
    return end


class StoredRows:
    """Stored outputs of all steps of a traced scan: a value that only other scans can read, not an array."""

    def __init__(self, values: Symbol, row: FlatValue, steps: int) -> None:
        self.values, self.row, self.steps = values, row, steps


def scan_rows(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    inputs: list[Any],
    form: Any,
    steps: int,
    reverse: bool,
    stores: bool = False,
    stored: Sequence[StoredRows] = (),
) -> tuple[Any, Any]:
    """Return the result of a `scan`: by a Python loop on numbers, by one instruction on symbols.

    ``inputs`` are the scalars of ``xs``, and ``form`` its structure; ``stores``, ``stored``: see `scan_stored`.
    """
    start = FlatValue(init, "scan: init")
    graph = stored[0].values.graph if stored else graph_of([*start.elements, *inputs])
    if graph is None:
        result = numeric_scan(f, init, xs, start, steps, reverse)
        if not isinstance(result, Graph):
            return result
        graph = result
    return _scan_traced(graph, f, start, inputs, form, steps, reverse, stores, stored)


def _scan_traced(
    graph: Graph,
    step: Callable[..., Any],
    start: FlatValue,
    inputs: list[Any],
    form: Any,
    steps: int,
    backward: bool,
    stores: bool,
    stored: Sequence[StoredRows],
) -> tuple[Any, Any]:
    element: FlatValue | None = None
    rows: list[list[Any]] = []
    reads = tuple([stored_row.row.size for stored_row in stored])
    known = sum(reads)
    if form is not None:
        shape = map_leaves(form, lambda leaf: Leaf(leaf.shape[1:], is_array=len(leaf.shape) > 1))
        element, rows = FlatValue.alike(shape, _rows_of(form, inputs, steps))
    width = known + (0 if element is None else element.size)
    while True:
        fresh = inner_symbols(graph, f"the state of scan of {function_label(step)}", len(start.elements) + width)
        carried, slices = fresh[: len(start.elements)], fresh[len(start.elements) :]
        row = None if element is None else element.together(slices[known:])
        if stored:
            ends = [*accumulate(reads, initial=0)]
            row = (tuple([k.row.together(slices[a:b]) for k, (a, b) in zip(stored, pairwise(ends), strict=True)]), row)
        state, output = check_pair(step, call_argument("scan: f", "(carry, x)", step, start.together(carried), row))
        following = FlatValue(state, f"scan: f: state that {function_label(step)} returns")
        check_step("scan: f", step, start.form, following.form, start.logical, following.logical)
        if not start.widen(following):  # otherwise a step returns dual numbers, which are carried as well
            break
    following.widen(start)
    collected = None if output is None else FlatValue(output, f"scan: f: output of {function_label(step)}")
    outputs = [] if collected is None else collected.elements
    stored_outputs = None
    if stores:
        stored_outputs = FlatValue(output[0], f"scan: f: output of {function_label(step)}")
        collected = FlatValue(output[1], f"scan: f: output of {function_label(step)}")
        outputs = [*stored_outputs.elements, *collected.elements]
    body, outside = close_over(fresh, [*following.elements, *outputs])
    _check_outer(outside)
    many = 0 if stored_outputs is None else stored_outputs.size
    loop = Loop(body, len(carried), width, len(outputs), steps, backward=backward, stores=many, reads=reads)
    before = [*start.elements, *(stored_row.values for stored_row in stored)]
    result = graph.bundle(loop, [*before, *(x for r in rows for x in r), *outside])
    last = start.together(result[: len(carried)])
    if collected is None:
        return last, None
    own_count = len(outputs) - many
    starts = (len(carried) + t * len(outputs) + many for t in range(steps))
    joined = _joined(collected, [collected.scalars_of(result[start : start + own_count]) for start in starts])
    return last, joined if stored_outputs is None else (StoredRows(result[len(carried)], stored_outputs, steps), joined)


def _check_outer(outside: Sequence[Symbol]) -> None:
    """Raise ValueError if a body would read stored outputs of a scan outside of it."""
    for x in outside:
        if x.op is PART and isinstance(x.args[0].value, Loop) and x.args[0].value.is_stored(x.value):
            raise ValueError(
                "scan_stored: expected outputs of a scan in the same loop, got outputs of a scan outside it"
            )


def _rows_of(form: TreeDef | Leaf, elements: Sequence[Any], steps: int) -> list[list[Any]]:
    """Return for each step the elements of its slice of stacked arrays (steps, ...), as a flat list."""
    rows: list[list[Any]] = [[] for _ in range(steps)]
    start = 0
    for _, leaf in leaf_paths(form):
        width = leaf.size // steps if steps else 0
        for t in range(steps):
            rows[t] += elements[start + t * width : start + (t + 1) * width]
        start += leaf.size
    return rows


def _joined(collected: FlatValue, rows: Sequence[Sequence[Any]]) -> Any:
    """Return the outputs of a scan as arrays (T, ...), from one list of scalars for each of T steps.

    ``collected`` is the output of one step, whose structure the result has.
    """
    start = 0
    columns: list[Any] = []
    stacked = map_leaves(collected.form, lambda leaf: Leaf((len(rows), *leaf.shape)))
    for _, leaf in leaf_paths(collected.form):
        for row in rows:
            columns += row[start : start + leaf.size]
        start += leaf.size
    return unflatten(stacked, columns)


def _check_segments(segments: Any, steps: int) -> None:
    """Raise ValueError unless ``segments`` is an integer from 1 to the number of steps."""
    if not 1 <= read_count("scan: segments", segments) <= max(steps, 1):
        raise ValueError(f"scan: segments: expected an integer from 1 to {max(steps, 1)}, got {segments}")


def _in_segments(
    step: Callable[..., Any], state: Any, inputs: Any, steps: int, backward: bool, segments: int
) -> tuple[Any, Any]:
    """Return the results of a scan, computed as an outer scan over segments with an inner scan in each.

    All segments have the same number of steps.  The remaining inputs, at the end, are processed by a further scan.
    """
    size = steps // segments
    whole = size * segments

    def cut(first: int, stop: int) -> Any:
        return None if inputs is None else tree_map(lambda x: x[first:stop], inputs)

    def rest(state: Any) -> tuple[Any, Any]:
        return scan(step, state, cut(whole, steps), length=steps - whole, reverse=backward)

    def segment(state: Any, part: Any) -> tuple[Any, Any]:
        return scan(step, state, part, length=size, reverse=backward)

    parts = tree_map(lambda x: np.reshape(x, (segments, size, *np.shape(x)[1:])), cut(0, whole))
    left: Any = None
    if backward and whole < steps:
        state, left = rest(state)
    state, outputs = scan(segment, state, parts, length=segments, reverse=backward)
    outputs = tree_map(lambda x: np.reshape(x, (whole, *np.shape(x)[2:])), outputs)
    if not backward and whole < steps:
        state, left = rest(state)
    if left is not None:
        outputs = tree_map(lambda x, y: np.concatenate([x, y]), outputs, left)
    return state, outputs


Values = Sequence[Any]


def map_rows(
    function: Callable[[Values], Values],
    rows: Sequence[Values],
    *,
    in_loops: bool,
    alike: bool = False,
) -> list[list[Any]]:
    """Return the results of a function applied to each of several lists of scalars (rows) of one length.

    In a trace, the function is written out row by row or, with ``in_loops``, as one loop for similar rows.  Rows are
    similar if their structural zeros are at the same indices; with ``alike``, all rows count as similar.
    """
    if not in_loops or not any(hasattr(x, "_precedence") for row in rows for x in row):
        return [list(function(row)) for row in rows]
    groups: dict[tuple[int, ...], list[int]] = {}
    for k, row in enumerate(rows):
        indices = tuple(i for i, x in enumerate(row) if alike or not is_zero(x))
        groups.setdefault(indices, []).append(k)
    results: list[list[Any]] = [[] for _ in rows]
    for indices, members in groups.items():
        if len(members) == 1 or not indices:
            for k in members:
                results[k] = list(function(rows[k]))
            continue

        def step(_: Any, value: Any, indices: tuple[int, ...] = indices) -> tuple[Any, Any]:
            row = [0.0] * len(rows[0])
            for i, x in zip(indices, value, strict=True):
                row[i] = x
            result = list(function(row))
            return (), object_array((len(result),), result)

        table = object_array((len(members), len(indices)), [rows[k][i] for k in members for i in indices])
        _, outputs = scan(step, (), table)
        for k, output in zip(members, outputs, strict=True):
            results[k] = list(output)
    return results
