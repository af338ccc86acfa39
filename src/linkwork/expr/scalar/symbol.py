"""Traced scalar: an immutable node of an expression graph, shared if equal, folded on creation.

A `Graph` contains the nodes of one trace.  A node, a `Symbol`, is an operation and its arguments.  Equal nodes are the
same object (hash-consing), so ``is`` compares expressions, and common subexpressions are computed once.  Folding avoids
nodes: ``0 * x`` is the number 0, ``1 * x`` is ``x``, ``x - x`` is 0, ``x + x`` is ``2 * x``, constants are combined,
and minus signs move outward until an addition or subtraction absorbs them.  These are identities of real numbers:
symbols are assumed to be finite.  docs/expressions.md lists those that do not return the same bits for all numbers.

Nodes are numbered in the order of construction, so arguments precede their uses.  The trace is freed with its graph,
and symbols of two graphs cannot be mixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.multi_result import PART, MultiResult
from linkwork.expr.scalar.operations import BY_METHOD, BY_NAME, Operation, are_same, is_moderate, number_of, whole_power
from linkwork.expr.scalar.symbol_methods import SymbolMethods

__all__ = ["Graph", "Symbol"]

_INPUT, _CONSTANT = BY_NAME["input"], BY_NAME["constant"]
_NEG, _ADD, _SUB, _MUL, _DIV = (BY_NAME[name] for name in ("neg", "add", "sub", "mul", "div"))
_LE, _WHERE, _ATAN2, _COPYSIGN = (BY_NAME[name] for name in ("le", "where", "atan2", "copysign"))
_SIN, _COS = BY_NAME["sin"], BY_NAME["cos"]


def two_traces(symbols: Sequence[Symbol]) -> str:
    """Return the message for symbols of several traces in one operation."""
    shown = [f"{x!r} of {x.graph.owner}" if x.graph.owner else repr(x) for x in symbols if x.op is not _CONSTANT]
    return f"symbols of two traces cannot be combined, as a symbol is valid in its own trace only: {', '.join(shown)}"


class Graph:
    """Expression graph of one trace: all its nodes, in the order of their creation."""

    __slots__ = ("__weakref__", "_table", "calling", "in_double", "marks", "masks", "moved", "nodes", "owner")

    def __init__(self, owner: str = "") -> None:
        self.owner = owner  # name of the traced function, for messages
        self.nodes: list[Symbol] = []
        self.marks: list[int] = []  # indices of nodes that begin a step, which may be equal to others
        self.moved: set[int] = set()  # indices of negations of which `_as_written` knows another form
        self.masks: dict[int, tuple[Any, Symbol]] = {}  # terms that count conditionally (`autodiff.masked_terms`)
        self.in_double = False  # True: decisions at the level of rounding need float64
        self.calling: list[Any] = []  # the functions of `call` being traced
        self._table: dict[tuple[Any, ...], Symbol] = {}

    def input(self, name: str) -> Symbol:
        """Create an independent variable."""
        return _leaf(self, _INPUT, name)

    def inputs(self, name: str, shape: tuple[int, ...]) -> list[Symbol]:
        """Create the variables ``name[0]``, ``name[1]``, ... for an array of the shape, in row-major order."""
        return [self.input(f"{name}[{k}]") for k in range(math.prod(shape))]

    def constant(self, value: float) -> Symbol:
        """Return the node of a number: an argument of other nodes, never a result (results stay floats)."""
        value = float(value)
        key = (_CONSTANT, value, math.copysign(1.0, value))  # 0.0 == -0.0, but they are different constants
        node = self._table.get(key)
        if node is None:
            node = self._table[key] = _leaf(self, _CONSTANT, value)
        return node

    def truth(self, value: bool) -> Symbol:
        """Return the node of a truth value: an argument of ``and_``, ``or_``, ``not_`` and ``where``."""
        return _make(self, _LE, self.constant(0.0), self.constant(1.0 if value else -1.0))

    def bundle(self, bundle: MultiResult, arguments: Sequence[Any]) -> list[Symbol]:
        """Return the results of an instruction with several results, as symbols; None for results that are not used."""
        nodes = [self._argument(kind, a) for kind, a in zip(bundle.kinds(len(arguments)), arguments, strict=True)]
        whole = self._valued(bundle.operation, bundle, nodes)
        table = self._table
        result: list[Any] = [None] * bundle.count
        for k in bundle.used_results:
            key = PART, k, whole
            part = table.get(key)
            if part is None:
                part = table[key] = _leaf(self, PART, k)
                part.args = (whole,)
            result[k] = part
        return result

    def sines(self, x: Symbol) -> tuple[Symbol, Symbol] | None:
        """Return the nodes of sine and cosine of x if this trace has computed both, else None."""
        sine, cosine = (self._table.get((operation, x)) for operation in (_SIN, _COS))
        return None if sine is None or cosine is None else (sine, cosine)

    def set_sines(self, x: Symbol, sine: Symbol, cosine: Symbol) -> None:
        """Make later traces of ``sin(x)`` and ``cos(x)`` return these symbols, which have the same values."""
        for operation, value in ((_SIN, sine), (_COS, cosine)):
            if not x.graph is self is value.graph:
                raise ValueError(two_traces((x, value)))
            self._table.setdefault((operation, x), value)

    def _argument(self, kind: str, x: Any) -> Symbol:
        if x.__class__ is Symbol:
            return x
        return self.truth(bool(x)) if kind == "t" else self.constant(x)

    def _valued(self, operation: Operation, value: Any, args: Sequence[Symbol]) -> Symbol:
        """Return the node of an operation with these arguments and an additional value, such as its `MultiResult`."""
        key = (operation, value, *args)
        node = self._table.get(key)
        if node is None:
            for a in args:
                if a.graph is not self:
                    raise ValueError(two_traces(args))
            node = self._table[key] = _leaf(self, operation, value)
            node.args = tuple(args)
        return node

    def clear(self) -> None:
        """Remove all nodes of the graph.

        Nodes refer to their graph, so this frees the memory at once, without waiting for Python's garbage collector.
        """
        self.nodes.clear()
        self.masks.clear()
        self.moved.clear()
        self._table.clear()

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes)} nodes>"


class Symbol(SymbolMethods):
    """A scalar of a trace.  Supports ``+ - * / ** abs``, comparisons and the functions of `linkwork.expr`."""

    __slots__ = ("args", "graph", "index", "op", "value")

    _precedence = 1

    graph: Graph
    op: Operation
    args: tuple[Symbol, ...]
    index: int  # index among the graph's nodes
    value: Any  # of some: an input's name, a constant's number, a bundle, the index of a part

    # -- arithmetic; the three most frequent operations build their nodes inline, for speed

    def __add__(self, constant: Any) -> Any:
        if constant.__class__ is not Symbol:
            number = number_of(constant)
            if number is None:
                return NotImplemented
            if number == 0.0:
                return self
            constant = self.graph.constant(number)
        elif constant.op is _NEG:
            return self - constant.args[0]
        elif constant is self:
            return self * 2.0
        if self.op is _NEG:
            return constant - self.args[0]
        graph = self.graph
        key = (_ADD, self, constant) if self.index < constant.index else (_ADD, constant, self)
        node = graph._table.get(key)
        if node is None:
            node = _node(graph, key)
        return node

    __radd__ = __add__

    def __sub__(self, constant: Any) -> Any:
        if constant.__class__ is not Symbol:
            number = number_of(constant)
            if number is None:
                return NotImplemented
            if number == 0.0:
                return self
            constant = self.graph.constant(number)
        elif constant is self:
            return 0.0
        elif constant.op is _NEG:
            return self + constant.args[0]
        if self.op is _NEG and (self.args[0].op in _ARITHMETIC or self.args[0] is constant):
            return _moved_out(self.args[0] + constant)
        graph = self.graph
        key = (_SUB, self, constant)
        node = graph._table.get(key)
        if node is None:
            opposite = graph._table.get((_SUB, constant, self))
            if opposite is not None and (self.op in _ARITHMETIC or constant.op in _ARITHMETIC):
                return _moved_out(opposite)
            node = _node(graph, key)
        return node

    def __rsub__(self, other: Any) -> Any:
        number = number_of(other)
        if number is None:
            return NotImplemented
        if number == 0.0:
            return -self
        if self.op is _NEG:
            return self.args[0] + number
        return self.graph.constant(number) - self

    def __mul__(self, other: Any) -> Any:
        if other.__class__ is Symbol:
            if self.op is _NEG:
                return -(self.args[0] * other)
            if other.op is _NEG:
                return -(self * other.args[0])
            graph = self.graph
            key = (_MUL, self, other) if self.index < other.index else (_MUL, other, self)
            node = graph._table.get(key)
            if node is None:
                node = _node(graph, key)
            return node
        number = number_of(other)
        if number is None:
            return NotImplemented
        if number == 0.0:
            return 0.0
        if number == 1.0:
            return self
        if number == -1.0:
            return -self
        if self.op is _NEG:
            return self.args[0] * -number
        if self.op is _MUL and self.args[0].op is _CONSTANT:
            factor = self.args[0].value
            if is_moderate(factor) and is_moderate(number) and is_moderate(factor * number):
                return self.args[1] * (factor * number)
        if number < 0.0:  # one product for both signs: the minus sign moves outward
            return -(self * -number)
        return _make(self.graph, _MUL, self.graph.constant(number), self)

    __rmul__ = __mul__

    def __truediv__(self, constant: Any) -> Any:
        if constant.__class__ is not Symbol:
            number = number_of(constant)
            if number is None:
                return NotImplemented
            if number == 1.0:
                return self
            if number == -1.0:
                return -self
            if abs(math.frexp(number)[0]) == 0.5 and is_moderate(number):
                return self * (1.0 / number)  # a power of two: its reciprocal is exact
            constant = self.graph.constant(number)
        elif constant.op is _NEG:
            divisor = _as_written(constant)
            return -(self / constant.args[0]) if divisor is constant else self / divisor
        if self.op is _NEG:
            return -(self.args[0] / constant)
        return _make(self.graph, _DIV, self, constant)

    def __rtruediv__(self, other: Any) -> Any:
        number = number_of(other)
        if number is None:
            return NotImplemented
        if number == 0.0:
            return 0.0
        if self.op is _NEG:
            divisor = _as_written(self)
            return -(number / self.args[0]) if divisor is self else number / divisor
        if number < 0.0:
            return -(-number / self)
        return _make(self.graph, _DIV, self.graph.constant(number), self)

    def __neg__(self) -> Any:
        if self.op is _NEG:
            return self.args[0]
        return _make(self.graph, _NEG, self)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Any:
        return f.fabs(self)

    def __floor__(self) -> Any:
        return f.floor(self)

    def __pow__(self, exponent: Any) -> Any:
        if exponent.__class__ is not Symbol:
            number = number_of(exponent)
            if number is None:
                return NotImplemented
            if abs(number) <= 64.0 and number == int(number):
                return whole_power(self, int(number))
            if number == 0.5:
                return f.sqrt(self)
        return f.pow(self, exponent)

    def __rpow__(self, base: Any) -> Any:
        return f.pow(base, self)

    # -- comparisons return symbols; a symbol has no truth value

    def __lt__(self, other: Any) -> Any:
        return f.lt(self, other) if _is_scalar(other) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return f.le(self, other) if _is_scalar(other) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return f.lt(other, self) if _is_scalar(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return f.le(other, self) if _is_scalar(other) else NotImplemented

    def __eq__(self, other: Any) -> Any:
        return f.eq(self, other) if _is_scalar(other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        if not _is_scalar(other):
            return NotImplemented
        return f.not_(f.eq(self, other))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        if self.op is _INPUT or self.op is _CONSTANT:
            return f"<symbol {self.value}>"
        return f"<symbol {self.op.name} #{self.index}>"

    # -- other operations of the table

    def _apply(self, operation: Operation, arguments: tuple[Any, ...]) -> Any:
        """Return the node of an operation on symbols and numbers, folded where possible."""
        if (operation.odd or operation.even) and arguments[0].op is _NEG:
            result = self._apply(operation, arguments[0].args)
            return -result if operation.odd else result
        if operation is _ATAN2 or operation is _COPYSIGN:
            arguments = tuple([_as_written(x) if x.__class__ is Symbol else x for x in arguments])
        if operation is _WHERE:
            condition, a, b = arguments
            if condition.__class__ is not Symbol:
                return a if condition else b
            if a is b or (a.__class__ is not Symbol and b.__class__ is not Symbol and are_same(a, b)):
                return a
        graph = self.graph
        nodes = []
        for kind, argument in zip(operation.kinds, arguments, strict=True):
            if argument.__class__ is Symbol:
                nodes.append(argument)
                continue
            number = number_of(argument)
            if number is None:
                raise TypeError(f"{operation.name}: cannot combine a symbol with {type(argument).__name__!r}")
            nodes.append(graph.truth(bool(argument)) if kind == "t" else graph.constant(number))
        if operation.commutative and len(nodes) == 2:
            return _commutative(operation, nodes[0], nodes[1])
        return _make(graph, operation, *nodes)

    def _bundled(self, bundle: MultiResult, arguments: Sequence[Any]) -> list[Symbol]:
        """Apply an instruction with several results to symbols and numbers; return its results as symbols."""
        return self.graph.bundle(bundle, arguments)

    def __getattr__(self, name: str) -> Any:
        # NumPy applies its functions to arrays of objects by calling the elements' methods: np.sin(q) -> q[i].sin()
        operation = BY_METHOD.get(name)
        if operation is None:
            raise AttributeError(f"a symbol has no attribute {name!r}")
        return lambda *operands: operation(self, *operands)


# Sums of these take in minus signs, which saves operations, though -p - q is then -0.0 and not 0.0 for p = -q.
_ARITHMETIC = frozenset((_ADD, _SUB, _MUL, _DIV))


def _is_scalar(x: Any) -> bool:
    return x.__class__ is Symbol or number_of(x) is not None


def _leaf(graph: Graph, operation: Operation, value: Any) -> Symbol:
    node = _new(Symbol)
    node.graph, node.op, node.args, node.value, node.index = graph, operation, (), value, len(graph.nodes)
    graph.nodes.append(node)
    return node


def _node(graph: Graph, key: tuple[Any, ...]) -> Symbol:
    """Create the node with this key (operation, *arguments), and add it to the graph."""
    nodes = graph.nodes
    node = _new(Symbol)
    node.graph = graph
    node.op = key[0]
    node.args = args = key[1:]
    node.index = len(nodes)
    if args[0].graph is not graph or args[-1].graph is not graph or (len(args) == 3 and args[1].graph is not graph):
        raise ValueError(two_traces(args))
    graph._table[key] = node
    nodes.append(node)
    return node


_new = object.__new__


def _make(graph: Graph, *key: Any) -> Symbol:
    """Return the node of an operation with these arguments; create it if the graph does not have it."""
    node = graph._table.get(key)
    return _node(graph, key) if node is None else node


def _moved_out(total: Any) -> Any:
    """Return -total, which stands for -p - q or p - q; where the terms cancel its value is -0.0, not 0.0."""
    is_new = total.__class__ is Symbol and (_NEG, total) not in total.graph._table
    result = -total
    if is_new and result.__class__ is Symbol and result.op is _NEG and result.args[0].op in (_ADD, _SUB):
        total.graph.moved.add(result.index)
    return result


def _as_written(x: Symbol) -> Symbol:
    """Undo `_moved_out`: return the sum or difference itself, for operations that distinguish 0.0 and -0.0."""
    graph = x.graph
    if x.index not in graph.moved:
        return x
    total = x.args[0]
    p, q = total.args
    return _make(graph, _SUB, q, p) if total.op is _SUB else _make(graph, _SUB, _make(graph, _NEG, p), q)


def _commutative(operation: Operation, a: Symbol, b: Symbol) -> Symbol:
    """Return the node of a commutative operation, with its arguments in a fixed order."""
    return _make(a.graph, operation, a, b) if a.index <= b.index else _make(a.graph, operation, b, a)
