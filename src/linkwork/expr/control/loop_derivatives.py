"""Derivatives of loops: forward, a loop that carries derivatives too; in reverse, a loop that runs backward.

Which of the numbers carried have a derivative at all is found by going round until nothing is added.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3, 4 and 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import NotDifferentiableError
from ..body import Body
from ..bundle import Row
from ..derivative import adjoint, is_zero
from ..interpret import reachable
from ..symbol import Symbol
from .derivatives import Opened, keys_of
from .loop import Loop

__all__ = ["loop_pulled", "loop_pushed"]


def loop_pushed(loop: Loop, arguments: Sequence[Any], rows: Sequence[Row]) -> list[Row]:
    n, m, steps = loop.carried, loop.inputs, loop.at_most
    state, stacked, outside = loop.split(arguments)
    state_rows, stacked_rows, outside_rows = loop.split(rows)
    columns = [keys_of(stacked_rows[j::m]) for j in range(m)]
    others = [list(row) for row in outside_rows]
    carried = [list(row) for row in state_rows]
    head = int(loop.conditional)
    while True:
        one = Opened(loop.body)
        found, fresh = one.pushed(one.results[head:], [*carried, *columns, *others])
        grown = [list(dict.fromkeys((*keys, *row))) for keys, row in zip(carried, found[:n], strict=True)]
        if grown == carried:
            break
        carried = grown
    x, s, c = one.inputs[:n], one.inputs[n : n + m], one.inputs[n + m :]
    ends = _ends([sum(map(len, carried)), sum(map(len, columns)), sum(map(len, others))])
    dx, ds, dc = (fresh[a:b] for a, b in ends)
    following = [found[k].get(key, 0.0) for k, keys in enumerate(carried) for key in keys]
    kept = [list(row) for row in found[n:]]
    kept_values = [row[key] for row, keys in zip(found[n:], kept, strict=True) for key in keys]
    results = [*one.results[: head + n], *following, *one.results[head + n :], *kept_values]
    body = Body.of(results, [*x, *dx, *s, *ds, *c, *dc], head)
    both = replace(loop, body=body, carried=n + len(dx), inputs=m + len(ds), kept=loop.kept + len(kept_values))
    given = [*state, *(row.get(key, 0.0) for row, keys in zip(state_rows, carried, strict=True) for key in keys)]
    for t in range(steps if m else 0):
        given += stacked[t * m : (t + 1) * m]
        given += [stacked_rows[t * m + j].get(key, 0.0) for j in range(m) for key in columns[j]]
    given += [*outside, *(row[key] for row in outside_rows for key in row)]
    values = both(given)
    derivatives = iter(values[n : both.carried])
    result: list[Row] = [{key: next(derivatives) for key in keys} for keys in carried]
    if loop.conditional:
        return [*result, {}, {}]
    for t in range(steps):
        here = iter(values[both.carried + t * both.kept + loop.kept : both.carried + (t + 1) * both.kept])
        result += [{key: next(here) for key in keys} for keys in kept]
    return result


def loop_pulled(loop: Loop, arguments: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    if loop.conditional:
        raise NotDifferentiableError(
            "while_loop: there is no gradient in reverse through a loop of unknown length: write scan or fori, whose "
            "length is known, or root, whose derivative needs no iterations; forward derivatives (tangent) there are"
        )
    n, m, kept, steps = loop.carried, loop.inputs, loop.kept, loop.at_most
    _, stacked, outside = loop.split(arguments)
    columns = [j for j in range(kept) if not all(map(is_zero, weights[n + j :: kept]))]
    carried = [k for k in range(n) if not is_zero(weights[k])]
    while True:
        one = Opened(loop.body)
        lent = one.more(len(carried))
        given = one.more(len(columns))
        asked = [one.results[k] for k in (*carried, *(n + j for j in columns))]
        found = adjoint(asked, one.inputs, [*lent, *given])
        grown = [k for k in range(n) if k in carried or not is_zero(found[k])]
        if grown == carried:
            break
        carried = grown
    to_inputs = [j for j in range(m) if not is_zero(found[n + j])]
    to_outside = [j for j in range(len(outside)) if not is_zero(found[n + m + j])]
    sums = one.more(len(to_outside))
    results = [found[k] for k in carried]
    results += [total + found[n + m + j] for total, j in zip(sums, to_outside, strict=True)]
    results += [found[n + j] for j in to_inputs]
    needed = set(reachable(results))
    x, s, c = (
        [j for j, symbol in enumerate(part) if symbol in needed]
        for part in (one.inputs[:n], one.inputs[n : n + m], one.inputs[n + m :])
    )
    taken: list[Symbol] = [one.inputs[j] for j in x] + [one.inputs[n + j] for j in s] + given
    body = Body.of(results, [*lent, *sums, *taken, *(one.inputs[n + m + j] for j in c)])
    back = Loop(body, len(lent) + len(sums), len(taken), len(to_inputs), steps, backward=not loop.backward)
    history = _history(loop, arguments, x)
    rows: list[Any] = []
    for t in range(steps):
        rows += history[t * len(x) : (t + 1) * len(x)]
        rows += [stacked[t * m + j] for j in s]
        rows += [weights[n + t * kept + j] for j in columns]
    start = [weights[k] for k in carried] + [0.0] * len(sums)
    values = back([*start, *rows, *(outside[j] for j in c)])
    gradient: list[Any] = [0.0] * len(arguments)
    for value, k in zip(values, carried, strict=False):
        gradient[k] = value
    for value, j in zip(values[len(carried) : back.carried], to_outside, strict=True):
        gradient[n + steps * m + j] = value
    for t in range(steps):
        first = back.carried + t * back.kept
        for value, j in zip(values[first : first + back.kept], to_inputs, strict=True):
            gradient[n + t * m + j] = value
    return gradient


def _history(loop: Loop, arguments: Sequence[Any], wanted: Sequence[int]) -> Sequence[Any]:
    """Some of the numbers carried, as every step finds them, step by step."""
    if not wanted:
        return []
    one = Opened(loop.body)
    body = Body.of([*one.results[: loop.carried], *(one.inputs[k] for k in wanted)], one.inputs)
    return replace(loop, body=body, kept=len(wanted))(arguments)[loop.carried :]


def _ends(sizes: Sequence[int]) -> list[tuple[int, int]]:
    ends, start = [], 0
    for size in sizes:
        ends.append((start, start + size))
        start += size
    return ends
