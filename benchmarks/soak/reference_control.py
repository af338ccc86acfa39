"""Reference evaluation of loops, choices, calls and tables, step by step on columns of values of one type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.expr.control.branch_and_call_instructions import Choice, Subroutine
from linkwork.expr.control.loop_instruction import DONE, NOT_A_NUMBER, OUT_OF_ITERATIONS, Loop
from linkwork.expr.control.table_access import Put, Take
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.multi_result import MultiResult

__all__ = ["bundle_results"]

Columns = list[np.ndarray]
Run = Callable[[InstructionList, Sequence[Any]], Columns]  # the results of a body for such columns


def bundle_results(bundle: MultiResult, columns: Columns, run: Run, dtype: Any) -> Columns:
    """The results of an instruction of several; all columns have a number for each sample."""
    if isinstance(bundle, Loop):
        return (_while if bundle.conditional else _for)(bundle, columns, run, dtype)
    if isinstance(bundle, Choice):
        holds, *taken = columns
        process = (run(body, taken) for body in bundle.bodies)
        return [np.where(holds, a, b) for a, b in zip(*process, strict=True)]
    if isinstance(bundle, Subroutine):
        return run(bundle.body, columns)
    if isinstance(bundle, Take):
        return _taken(bundle, columns, dtype)
    if isinstance(bundle, Put):
        return _put(bundle, columns)
    raise TypeError(f"no meaning is known of {bundle!r}")


def _for(loop: Loop, columns: Columns, run: Run, dtype: Any) -> Columns:
    state, stacked, outside = (list(part) for part in loop.split(columns))
    column_values: dict[int, Columns] = {}
    for k in range(loop.max_iterations):
        t = loop.max_iterations - 1 - k if loop.backward else k
        process = run(loop.body, [*state, *stacked[t * loop.inputs : (t + 1) * loop.inputs], *outside])
        state, column_values[t] = process[: loop.carried], process[loop.carried :]
    return [*state, *(x for t in range(loop.max_iterations) for x in column_values[t])]


def _while(loop: Loop, columns: Columns, run: Run, dtype: Any) -> Columns:
    """Each sample by itself: those with the same number of steps to go are done together."""
    state, _, outside = (list(part) for part in loop.split(columns))
    state = [x.copy() for x in state]
    samples = len(columns[0]) if columns else 0
    done, status = np.zeros(samples, dtype), np.full(samples, OUT_OF_ITERATIONS, dtype)
    left = np.arange(samples)
    for step in range(loop.max_iterations + 1):
        active = [x[left] for x in state]
        missing = np.zeros(len(left), bool)
        for x in active[: loop.watched]:
            missing |= np.isnan(x)
        more, *following = run(loop.body, [*active, *(x[left] for x in outside)])
        status[left[missing]] = NOT_A_NUMBER
        status[left[~missing & ~more]] = DONE
        goes_on = ~missing & more
        left = left[goes_on]
        if step == loop.max_iterations or not len(left):
            break
        for x, new in zip(state, following, strict=True):
            x[left] = new[goes_on]
        done[left] += 1
    return [*state, done, status]


def _taken(take: Take, columns: Columns, dtype: Any) -> Columns:
    index, *values = columns
    samples = np.arange(len(index))
    with np.errstate(invalid="ignore"):
        row = np.clip(np.nan_to_num(np.floor(index), nan=0.0), 0, take.rows - 1).astype(np.int64)
    if take.table:
        table = np.repeat(np.array(take.table, dtype)[:, None], len(index), axis=1)
    else:
        table = np.array(values, dtype).reshape(take.rows * take.columns, len(index))
    return [np.where(np.isnan(index), index, table[row * take.columns + j, samples]) for j in range(take.columns)]


def _put(put: Put, columns: Columns) -> Columns:
    index, row, table = put.split(columns)
    results = [x.copy() for x in table]
    for sample, position in enumerate(index):
        if 0.0 <= position < put.rows:
            start = int(position) * put.columns
            for k, x in enumerate(row):
                results[start + k][sample] = x[sample]
    return results
