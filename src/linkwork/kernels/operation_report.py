"""Origin of the operations of a robot's compiled function: which body, and which walk over the tree.

`Watch` records the body that every node of the trace was created for. An operation that several bodies need is
attributed to the body for which it was first created.  Operations that no result needs are not counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.custom_derivative import RULE
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.kernels.compiler_api import arithmetic, operations_of
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import traced
from linkwork.kernels.operation_attribution import ELSEWHERE, Watch
from linkwork.model.tree import Tree

__all__ = ["OperationCount", "OperationReport", "report_operations"]


@dataclass(frozen=True, slots=True)
class OperationCount:
    """Operations with a common origin, such as the body that they were created for."""

    operations: Mapping[str, int]  # number of each kind
    by_pass: tuple[int, ...]  # multiplications, additions and subtractions in each pass

    @property
    def arithmetic(self) -> int:
        """Number of multiplications, additions and subtractions."""
        return arithmetic(self.operations)

    def count(self, *kinds: str) -> int:
        """Return the number of operations of these kinds."""
        return sum(self.operations.get(kind, 0) for kind in kinds)


@dataclass(frozen=True)
class OperationReport:
    """The operations of a function of a robot, before products and sums are fused.

    A pass is a walk over the bodies with some arithmetic: "outward", parents before children; "inward", children before
    parents; or "chain", from one body to another.
    """

    passes: tuple[str, ...]
    bodies: tuple[OperationCount, ...]  # in the tree's order
    elsewhere: OperationCount  # before, between and after the walks

    @property
    def total(self) -> OperationCount:
        parts = (*self.bodies, self.elsewhere)
        operations: Counter[str] = sum((Counter(part.operations) for part in parts), Counter())
        return OperationCount(operations, tuple(map(sum, zip(*(part.by_pass for part in parts), strict=True))))


def report_operations(robot: Any, function: Any) -> OperationReport:
    """Count the arithmetic operations of a robot's function, by rigid body and by walk over the bodies.

    ``function`` is a function's name, alone or in a tuple with its options, as `Robot.compile` accepts it. Raises the
    errors of `Robot.compile` for an invalid request, and SingularInertiaError as the function does.
    """
    subject = robot._subject
    tree, request = subject.tree, read_request(subject, function)
    watches: list[Watch] = []

    def watched(walked: Tree, graph: Graph) -> Tree:
        watches.append(Watch(graph))
        return watches[-1].over(walked)

    elements = [x for _, part in traced(subject, {request.label: request}, watched).outputs for x in part]
    result = _counted(watches[0], elements)
    walks = sorted({walk for counts in result.values() for walk, c in counts.items() if walk >= 0 and arithmetic(c)})
    return OperationReport(
        tuple(_names([watches[0].walks[walk] for walk in walks])),
        tuple([_work(result.get(body, {}), walks) for body in range(len(tree.bodies))]),
        _work(result.get(ELSEWHERE, {}), walks),
    )


def _work(counts: Mapping[int, Counter[str]], walks: Sequence[int]) -> OperationCount:
    """Return a rigid body's operation counts, by kind of operation, and its arithmetic in each pass.

    ``counts`` are the body's operations of each kind, by the index of the pass to which they belong. ``walks`` are the
    indices of the passes that are reported.
    """
    total: Counter[str] = sum(counts.values(), Counter())
    return OperationCount(total, tuple([arithmetic(counts.get(walk, {})) for walk in walks]))


def _names(directions: Sequence[str]) -> Iterator[str]:
    """Yield a name for each walk over the bodies: its direction, with a number if several walks have that direction.

    For example, two outward walks are "outward 1" and "outward 2", a single inward walk is "inward".
    """
    for k, direction in enumerate(directions):
        several = directions.count(direction) > 1
        yield f"{direction} {directions[: k + 1].count(direction)}" if several else direction


def _counted(watch: Watch, elements: Sequence[Any]) -> dict[int, dict[int, Counter[str]]]:
    """Count the operations that the results need: a count by kind, for each body and each walk over the bodies.

    The first key is the index of the body for which the operations were created, the second one that of the walk.
    ``elements`` are the elements of the results.
    """
    result: dict[int, dict[int, Counter[str]]] = {}
    nodes = [_computed(x) for x in elements if isinstance(x, Symbol)]
    needed = {node.index: node for node in nodes}
    while nodes:
        for argument in map(_computed, nodes.pop().args):
            if argument.index not in needed:
                needed[argument.index] = argument
                nodes.append(argument)
    for _, node in sorted(needed.items()):
        if node.args:
            body, walk = watch.positions[bisect_right(watch.starts, node.index) - 1]
            bundle = node.value if node.op.arity < 0 else None
            result.setdefault(body, {}).setdefault(walk, Counter()).update(operations_of(node.op, bundle))
    return result


def _computed(node: Symbol) -> Symbol:
    """Return the symbol that is compiled for a node.

    For a result of a derivative rule, it is the symbol that computes this result; otherwise it is the node.
    """
    while node.op is PART and node.args[0].op is RULE:
        node = node.args[0].args[node.value]
    return node
