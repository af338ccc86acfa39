"""Derivatives of choices and calls: their bodies differentiated, in a choice or a call of the same kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..body import Body
from ..bundle import Row
from ..derivative import adjoint, forward, is_zero
from ..symbol import Graph, Symbol
from .call import Call
from .choice import Choice

__all__ = ["Opened", "call_pulled", "call_pushed", "choice_pulled", "choice_pushed", "keys_of"]


class Opened:
    """A body in a trace of its own, to be differentiated."""

    def __init__(self, body: Body) -> None:
        self.graph = Graph()
        self.inputs: list[Symbol] = self.graph.inputs("x", (body.takes,))
        self.results = body.run(self.inputs)

    def more(self, count: int) -> list[Symbol]:
        """Further inputs."""
        return self.graph.inputs("more", (count,))

    def pushed(self, results: Sequence[Any], keys: Sequence[Sequence[Any]]) -> tuple[list[Row], list[Symbol]]:
        """The derivatives of some results, and their new inputs: the inputs' derivatives in these directions."""
        fresh = iter(self.more(sum(map(len, keys))))
        seeds = [{key: next(fresh) for key in some} for some in keys]
        return list(forward(results, self.inputs, seeds)), [x for seed in seeds for x in seed.values()]


def keys_of(rows: Iterable[Row]) -> list[Any]:
    """The directions in which some of the rows have a derivative, in a fixed order."""
    return list(dict.fromkeys(key for row in rows for key in row))


def choice_pushed(choice: Choice, arguments: Sequence[Any], rows: Sequence[Row]) -> list[Row]:
    condition, *taken = arguments
    keys = [list(row) for row in rows[1:]]
    opened = [Opened(body) for body in choice.bodies]
    pushed = [one.pushed(one.results, keys) for one in opened]
    found = [list(dict.fromkeys((*a, *b))) for a, b in zip(*(rows for rows, _ in pushed), strict=True)]
    bodies = [
        Body.of([row.get(key, 0.0) for row, some in zip(results, found, strict=True) for key in some],
                [*one.inputs, *fresh])
        for one, (results, fresh) in zip(opened, pushed, strict=True)
    ]  # fmt: skip
    given = [row[key] for row, some in zip(rows[1:], keys, strict=True) for key in some]
    values = iter(Choice(*bodies)([condition, *taken, *given]))
    return [{key: next(values) for key in some} for some in found]


def choice_pulled(choice: Choice, arguments: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    condition, *taken = arguments
    used = [k for k, weight in enumerate(weights) if not is_zero(weight)]
    found, inputs = [], []
    for body in choice.bodies:
        one = Opened(body)
        fresh = one.more(len(used))
        found.append(adjoint([one.results[k] for k in used], one.inputs, fresh))
        inputs.append([*one.inputs, *fresh])
    wanted = [k for k in range(len(taken)) if not all(is_zero(some[k]) for some in found)]
    if not wanted:
        return [0.0] * len(arguments)
    bodies = [Body.of([some[k] for k in wanted], given) for some, given in zip(found, inputs, strict=True)]
    values = dict(zip(wanted, Choice(*bodies)([condition, *taken, *(weights[k] for k in used)]), strict=True))
    return [0.0, *(values.get(k, 0.0) for k in range(len(taken)))]


def call_pushed(call: Call, arguments: Sequence[Any], rows: Sequence[Row]) -> list[Row]:
    keys = [list(row) for row in rows]
    one = Opened(call.body)
    found, fresh = one.pushed(one.results, keys)
    body = Body.of([x for row in found for x in row.values()], [*one.inputs, *fresh])
    given = [row[key] for row, some in zip(rows, keys, strict=True) for key in some]
    values = iter(Call(body)([*arguments, *given]))
    return [{key: next(values) for key in row} for row in found]


def call_pulled(call: Call, arguments: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    used = [k for k, weight in enumerate(weights) if not is_zero(weight)]
    one = Opened(call.body)
    fresh = one.more(len(used))
    found = adjoint([one.results[k] for k in used], one.inputs, fresh)
    wanted = [k for k, x in enumerate(found) if not is_zero(x)]
    if not wanted:
        return [0.0] * len(arguments)
    body = Body.of([found[k] for k in wanted], [*one.inputs, *fresh])
    values = dict(zip(wanted, Call(body)([*arguments, *(weights[k] for k in used)]), strict=True))
    return [values.get(k, 0.0) for k in range(len(arguments))]
