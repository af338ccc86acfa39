"""The interpreter: the value of expressions on floats or NumPy batches, one operation of the table after the other.

It is the plain meaning of an expression, and everything that is compiled is checked against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .symbol import Symbol

__all__ = ["check_trace", "evaluate", "reachable"]


def reachable(outputs: Sequence[Any]) -> list[Symbol]:
    """The nodes that the outputs are made of, arguments first.  Numbers among the outputs are passed over."""
    roots = [s for s in outputs if isinstance(s, Symbol)]
    if not roots:
        return []
    graph = roots[0].graph
    if any(root.graph is not graph for root in roots):
        raise ValueError("the outputs belong to more than one trace")
    needed = bytearray(max(root.index for root in roots) + 1)
    for root in roots:
        needed[root.index] = 1
    nodes = graph.nodes
    for index in range(len(needed) - 1, -1, -1):
        if needed[index]:
            for argument in nodes[index].args:
                needed[argument.index] = 1
    return [nodes[index] for index, flag in enumerate(needed) if flag]


def check_trace(nodes: Sequence[Symbol], inputs: Iterable[Symbol]) -> None:
    """Raise ValueError where an input belongs to another trace than the nodes."""
    for symbol in inputs if nodes else ():
        if symbol.graph is not nodes[0].graph:
            raise ValueError(f"symbols of two traces cannot be combined: {symbol!r} belongs to another one")


def evaluate(outputs: Sequence[Any], values: Mapping[Symbol, Any]) -> list[Any]:
    """The outputs' values, where the inputs have the given ones (floats, or arrays that broadcast: a batch).

    Raises KeyError naming the first input that is needed and has no value, ValueError for values of another trace's.
    """
    nodes = reachable(outputs)
    check_trace(nodes, values)
    known: dict[int, Any] = {symbol.index: np.float64(value) if np.ndim(value) == 0 else value
                             for symbol, value in values.items()}  # fmt: skip
    with np.errstate(all="ignore"):
        for node in nodes:
            if node.op.name == "constant":
                known[node.index] = np.float64(node.value)
            elif node.op.name == "input":
                if node.index not in known:
                    raise KeyError(f"no value given for the input {node.value!r}")
            else:
                known[node.index] = node.op.value(*(known[a.index] for a in node.args))
    return [known[s.index] if isinstance(s, Symbol) else s for s in outputs]
