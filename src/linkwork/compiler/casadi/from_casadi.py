"""Conversion of `casadi.Function`s to kernels.

CasADi's scalar functions are lists of instructions, as programs are, and are run on symbols. `COMPOSED` has the
operations that are composed of several of linkwork's; the others are in linkwork's table. An operation in neither is
refused by name. CasADi is imported on first use.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from linkwork._util.collection_pauses import without_collections
from linkwork.compiler.casadi.to_casadi import import_casadi
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.port import Port
from linkwork.compiler.program import CONSTANT, Program, verify
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["COMPOSED", "REFUSED", "counterpart", "from_casadi"]


class Expressed(NamedTuple):
    """A function that computes a CasADi operation with linkwork's operations, and the kinds of its arguments.

    ``kinds`` has a letter for each argument: n converts it to a number, t to a truth value, x leaves it as it is.
    """

    kinds: str
    function: Callable[..., Any]


_WHERE, _NOT = BY_NAME["where"], BY_NAME["not_"]


def _plus(x: Any, y: Any) -> Any:
    """Return x + y, or a single ``where`` if the sum is CasADi's form of a conditional expression.

    CasADi writes "a if c else b" as (a if c else 0) + (b if not c else 0).
    """
    if _one_sided(x) and _one_sided(y):
        for a, b in ((x, y), (y, x)):
            if b.args[0].op is _NOT and b.args[0].args[0] is a.args[0]:
                return f.where(a.args[0], *(s.value if s.op is CONSTANT else s for s in (a.args[1], b.args[1])))
    return x + y


def _one_sided(x: Any) -> bool:
    return isinstance(x, Symbol) and x.op is _WHERE and x.args[2].op is CONSTANT and x.args[2].value == 0.0


def _power(x: Any, y: Any) -> Any:
    return x**y if isinstance(x, Symbol) else f.pow(x, y)


COMPOSED: dict[str, Expressed] = {
    "OP_ASSIGN": Expressed("x", lambda x: x),
    "OP_ADD": Expressed("nn", _plus),
    "OP_POW": Expressed("nn", _power),
    "OP_CONSTPOW": Expressed("nn", _power),
    "OP_SQ": Expressed("n", lambda x: x * x),
    "OP_TWICE": Expressed("n", lambda x: 2.0 * x),
    "OP_NE": Expressed("nn", lambda x, y: f.not_(f.eq(x, y))),
    "OP_CEIL": Expressed("n", f.ceil),
    "OP_REMAINDER": Expressed("nn", f.remainder),
    "OP_IF_ELSE_ZERO": Expressed("tn", lambda t, x: f.where(t, x, 0.0)),
    "OP_INV": Expressed("n", lambda x: f.div(1.0, x)),
    "OP_LIFT": Expressed("xn", lambda x, hint: x),  # a hint to solvers
    "OP_PRINTME": Expressed("xn", lambda x, tag: x),  # prints while CasADi evaluates; a kernel prints nothing
}


def counterpart(name: str) -> Expressed | None:
    """Return linkwork's expression of the CasADi operation ``name``; None if linkwork cannot express the operation.

    As a truth value CasADi treats every number but zero as true, NaN included, as C does.
    """
    if name in COMPOSED:
        return COMPOSED[name]
    for row in BY_NAME.values():
        if row.arity and isinstance(row.casadi, str) and f"OP_{row.casadi.removeprefix('logic_').upper()}" == name:
            return Expressed(row.kinds, row)
    return None


# Operations of scalar functions that a kernel cannot have, with the reason.
REFUSED: dict[str, str] = {
    "OP_ERF": "linkwork has no error function",
    "OP_ERFINV": "linkwork has no inverse error function",
    "OP_PARAMETER": "it is a free variable, which is not an input",
}


@without_collections
def from_casadi(function: Any, /, *, name: str | None = None) -> Kernel:
    """Compile a CasADi function to machine code that takes and returns NumPy arrays, also in batches.

    A function of MX is expanded to scalar operations first, and functions that it calls are inlined. Inputs and outputs
    keep their names and shapes: (n, m) stays, a column (n, 1) becomes (n,), and (1, 1) becomes (). All arrays are
    dense.  Elements outside of CasADi's sparsity pattern are ignored in inputs, and are 0 in outputs. A name that is
    not a Python identifier becomes the nearest one: ``in`` becomes ``in_`` and ``x-1`` ``x_1``. An input ``out``, which
    is reserved in the kernel's call, becomes ``out_``.

    Integer and half-integer exponents become products and roots; printme prints nothing. Expressions are simplified
    like those of any trace: 0·x is 0.

    Raises TypeError if ``function`` is not a CasADi function; ValueError if it has no outputs or has free variables,
    calls a function without scalar operations (a solver, an integrator, a callback ...) or uses an operation that
    linkwork does not have (erf, erfinv); and ImportError without CasADi.
    """
    casadi = import_casadi()
    if not isinstance(function, casadi.Function):
        raise TypeError(f"expected a casadi.Function, got {function!r}")
    if name is not None and not (isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)):
        raise ValueError(f"name: expected an identifier as the kernel's name, got {name!r}")
    called = name or _clean(function.name(), ())
    if function.n_out() == 0:
        raise ValueError(f"{called}: the CasADi function has no outputs")
    graph = Graph()
    inputs: list[tuple[Port, list[Symbol]]] = []
    nonzeros: list[list[Any]] = []
    for k in range(function.n_in()):
        port = _port(function.name_in(k), function.size_in(k), inputs, ("out",))
        symbols = graph.inputs(port.name, port.shape)
        inputs.append((port, symbols))
        nonzeros.append([symbols[index] for index in _dense_indices(function.sparsity_in(k))])
    results = _Reader(casadi).run(function, nonzeros)
    outputs: list[tuple[Port, list[Any]]] = []
    for k, result in enumerate(results):
        port = _port(function.name_out(k), function.size_out(k), outputs, ())
        elements: list[Any] = [0.0] * port.size
        for index, element in zip(_dense_indices(function.sparsity_out(k)), result, strict=True):
            elements[index] = element
        outputs.append((port, elements))
    program = Program.of(called, inputs, outputs)
    verify(program)
    return Kernel(program, doc=f"The CasADi function {function!s}")


def _port(name: str, size: tuple[int, int], before: Sequence[tuple[Port, Any]], reserved: tuple[str, ...]) -> Port:
    rows, columns = size
    shape = () if (rows, columns) == (1, 1) else (rows,) if columns == 1 else (rows, columns)
    return Port(_clean(name, [*reserved, *(port.name for port, _ in before)]), shape)


def _clean(name: str, taken: Iterable[str]) -> str:
    """Return the identifier nearest to a name: no leading underscore, no keyword, and not in ``taken``."""
    result = re.sub(r"\W", "_", name).lstrip("_")
    if not result[:1].isalpha():
        result = f"x{result}"
    while keyword.iskeyword(result) or result in taken:
        result += "_"
    return result


def _dense_indices(sparsity: Any) -> list[int]:
    """Return, for each nonzero of a CasADi sparsity pattern, its index in the dense array in row-major order.

    CasADi stores nonzeros column by column.
    """
    columns = sparsity.size2()
    return [row * columns + column for row, column in zip(sparsity.row(), sparsity.get_col(), strict=True)]


class _Reader:
    """Evaluates CasADi functions on linkwork's symbols, instruction by instruction."""

    def __init__(self, casadi: Any) -> None:
        self.casadi = casadi
        self.names = {value: name for name, value in vars(casadi).items() if name.startswith("OP_")}
        self.running: list[Any] = []  # the functions that called each other, outermost first

    def run(self, function: Any, arguments: list[list[Any]]) -> list[list[Any]]:
        """Return the nonzero elements of each output, computed from the nonzero elements of each input.

        Raises ValueError that names the function and the operation that cannot be expressed.
        """
        if any(function.__hash__() == outer.__hash__() for outer in self.running):
            # its expansion gave no scalar operations, but a call of the function itself
            raise ValueError(
                f"{self._where(function)}: expected a CasADi function that expands to scalar operations, got a "
                f"{function.class_name()}; express it by SX operations"
            )
        self.running.append(function)
        flat = self._expanded(function)
        if flat.has_free():
            raise ValueError(f"{self._where(function)}: it has free variables: {', '.join(flat.get_free())}")
        casadi, nodes = self.casadi, None
        results: list[list[Any]] = [[0.0] * flat.nnz_out(k) for k in range(flat.n_out())]
        work: dict[int, Any] = {}
        for k in range(flat.n_instructions()):
            code, args, targets = flat.instruction_id(k), flat.instruction_input(k), flat.instruction_output(k)
            if code == casadi.OP_INPUT:
                work[targets[0]] = arguments[args[0]][args[1]]
            elif code == casadi.OP_OUTPUT:
                results[targets[0]][targets[1]] = _as_number(work[args[0]])
            elif code == casadi.OP_CONST:
                work[targets[0]] = float(flat.instruction_constant(k))
            elif code == casadi.OP_CALL:
                nodes = flat.instructions_sx().nz if nodes is None else nodes
                called = self._call(nodes[k].which_function(), [_as_number(work[a]) for a in args])
                work |= zip(targets, called, strict=True)
            else:
                name = self.names.get(code, f"number {code}")
                row = counterpart(name)
                if row is None:
                    why = REFUSED.get(name, "linkwork has no such operation")
                    raise ValueError(f"{self._where(function)}: CasADi's operation {name} cannot be compiled: {why}")
                work[targets[0]] = row.function(*[_AS[kind](work[a]) for kind, a in zip(row.kinds, args, strict=True)])
        self.running.pop()
        return results

    def _call(self, function: Any, nonzeros: list[Any]) -> list[Any]:
        """Return the nonzero elements of all outputs of a call of a CasADi function, in sequence.

        ``nonzeros`` lists the nonzero elements of all inputs, in sequence.
        """
        arguments, start = [], 0
        for k in range(function.n_in()):
            arguments.append(nonzeros[start : start + function.nnz_in(k)])
            start += function.nnz_in(k)
        return [element for output in self.run(function, arguments) for element in output]

    def _expanded(self, function: Any) -> Any:
        if function.is_a("SXFunction"):
            return function
        try:
            return function.expand()
        except RuntimeError as error:
            lines = str(error).strip().splitlines() or ["unknown"]
            reason = re.sub(r"^\S+:\d+: ", "", lines[-1])
            raise ValueError(
                f"{self._where(function)}: CasADi cannot expand it to scalar operations: {reason}"
            ) from None

    def _where(self, function: Any) -> str:
        """Return the function's name, preceded by the names of the functions that call it."""
        outer = [caller.name() for caller in self.running]
        return " calls ".join(dict.fromkeys([*outer, function.name()]))


def _as_number(x: Any) -> Any:
    """Convert a truth value to 1 or 0; return a number unchanged."""
    if isinstance(x, Symbol):
        return f.where(x, 1.0, 0.0) if x.op.logical else x
    return float(x)


def _as_truth(x: Any) -> Any:
    """Return True for a number that is not zero; return a truth value unchanged."""
    if isinstance(x, Symbol):
        return x if x.op.logical else f.not_(f.eq(x, 0.0))
    return bool(x)


_AS: dict[str, Callable[[Any], Any]] = {"n": _as_number, "t": _as_truth, "x": lambda x: x}
