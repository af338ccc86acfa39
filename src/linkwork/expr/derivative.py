"""Differentiation as a transformation of the expression graph: derivatives are expressions again, of any order.

`tangent` (forward) and `adjoint` (reverse) follow the chain rule with the partial derivatives of the operation table;
`jacobian` is forward and sparse: it never touches a derivative that is structurally zero.  A zero from an unchosen
branch of ``where`` stays zero even where that branch's own derivative is infinite there.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .functions import where
from .interpret import reachable
from .operations import BY_NAME
from .symbol import Symbol

__all__ = ["adjoint", "jacobian", "tangent"]

_WHERE = BY_NAME["where"]


def tangent(outputs: Sequence[Any], inputs: Sequence[Symbol], direction: Sequence[Any]) -> list[Any]:
    """The directional derivative: J·direction, where J is the Jacobian of the outputs by the inputs."""
    rows = _forward(outputs, {s.index: {0: d} for s, d in zip(inputs, direction, strict=True) if not _is_zero(d)})
    return [row.get(0, 0.0) for row in rows]


def jacobian(outputs: Sequence[Any], inputs: Sequence[Symbol]) -> list[list[Any]]:
    """The Jacobian's rows, one for each output; structural zeros are the number 0.0."""
    rows = _forward(outputs, {s.index: {k: 1.0} for k, s in enumerate(inputs)})
    return [[row.get(k, 0.0) for k in range(len(inputs))] for row in rows]


def adjoint(outputs: Sequence[Any], inputs: Sequence[Symbol], weights: Sequence[Any]) -> list[Any]:
    """The gradient of Σ weights·outputs by the inputs: Jᵀ·weights, at a small multiple of the outputs' cost."""
    sums: dict[int, Any] = {}
    for output, weight in zip(outputs, weights, strict=True):
        if isinstance(output, Symbol) and not _is_zero(weight):
            sums[output.index] = sums.get(output.index, 0.0) + weight
    for node in reversed(reachable(outputs)):
        weight = sums.get(node.index, 0.0)
        if not node.args or _is_zero(weight):
            continue
        for argument, term in zip(node.args, _pull_back(node, weight), strict=True):
            if not _is_zero(term):
                sums[argument.index] = sums.get(argument.index, 0.0) + term
    return [sums.get(s.index, 0.0) for s in inputs]


def _forward(outputs: Sequence[Any], seeds: dict[int, dict[int, Any]]) -> list[dict[int, Any]]:
    """Push rows of derivatives (sparse: direction -> value) from the inputs to the outputs."""
    rows = dict(seeds)
    for node in reachable(outputs):
        if node.index in seeds or not any(a.index in rows for a in node.args):
            continue
        if node.op is _WHERE:
            row = _choose(node, rows)
        else:
            row = {}
            if node.op.partials is not None:
                for argument, partial in zip(node.args, _partials(node), strict=True):
                    if not _is_zero(partial):
                        for k, d in rows.get(argument.index, {}).items():
                            row[k] = row.get(k, 0.0) + partial * d
        row = {k: d for k, d in row.items() if not _is_zero(d)}
        if row:
            rows[node.index] = row
    return [rows.get(s.index, {}) if isinstance(s, Symbol) else {} for s in outputs]


def _choose(node: Symbol, rows: dict[int, dict[int, Any]]) -> dict[int, Any]:
    condition, a, b = node.args
    row_a, row_b = rows.get(a.index, {}), rows.get(b.index, {})
    return {k: where(condition, row_a.get(k, 0.0), row_b.get(k, 0.0)) for k in {**row_a, **row_b}}


def _partials(node: Symbol) -> tuple[Any, ...]:
    assert node.op.partials is not None
    arguments = [a.value if a.op.name == "constant" else a for a in node.args]
    return node.op.partials(*arguments, node)


def _pull_back(node: Symbol, weight: Any) -> tuple[Any, ...]:
    """The arguments' shares of a node's weight; a weight that ``where`` switches off stays off: 0 · ∞ does not arise."""
    if node.op.partials is None:
        return (0.0,) * len(node.args)
    if node.op is _WHERE:
        condition = node.args[0]
        return 0.0, where(condition, weight, 0.0), where(condition, 0.0, weight)
    return tuple(_scaled(partial, weight) for partial in _partials(node))


def _scaled(partial: Any, weight: Any) -> Any:
    if isinstance(weight, Symbol) and weight.op is _WHERE:
        condition, a, b = weight.args
        if _is_zero(a) or _is_zero(b):
            return where(
                condition,
                0.0 if _is_zero(a) else _scaled(partial, a),
                0.0 if _is_zero(b) else _scaled(partial, b),
            )
    return partial * weight


def _is_zero(x: Any) -> bool:
    if isinstance(x, Symbol):
        return x.op.name == "constant" and x.value == 0.0
    return bool(x == 0.0)
