"""What a scalar operation is, and how it is applied to any kind of number.

A row of the table says all there is to say of an operation.  The rows are written in `linkwork.expr.scalar.functions`,
each as the function that people call; `BY_NAME` holds them.  Everything that walks expressions reads rows: the
functions over any scalar, the traced symbol, dual numbers, differentiation, the interpreter, the compiler, CasADi both
ways, the tables in the docs and the tests.

A kind of number of our own takes part by defining ``_apply(operation, arguments)`` and ``_precedence``: of all
arguments the one of highest precedence decides.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from linkwork._util.validation import is_symbol, shown
from linkwork.errors import ArgumentError

__all__ = ["BY_METHOD", "BY_NAME", "Lowering", "Operation", "add", "apply", "operation", "remove"]

_SYMBOL = 1  # the precedence of symbols, which are scalars; a dual number may well have arrays for parts


@dataclass(frozen=True, slots=True)
class Lowering:
    """How an operation becomes machine code, as data.

    ``instruction``: one LLVM instruction, with a predicate for comparisons.  ``intrinsic``: an LLVM intrinsic that is a
    machine instruction.  ``vector``: code of our own for all lanes.  ``compiler``: what only passes make.
    """

    kind: str
    code: str = ""

    @staticmethod
    def of(text: str) -> Lowering:
        """As a row writes it: an instruction, an intrinsic as ``llvm.sqrt``, or code of our own as ``@sin``."""
        if text.startswith("@"):
            return Lowering("vector", text[1:])
        code = text.removeprefix("llvm.")
        return Lowering("instruction" if code == text else "intrinsic", code)


@dataclass(frozen=True, eq=False, slots=True)
class Operation:
    """One row of the table.  Called with arguments, it is applied in the way of their kind of number.

    ``kinds`` has a letter for each argument, and ``gives`` one for the result: n for a number, t for a truth value, p
    for the pair that only the compiler knows.  ``partials`` takes the arguments and the result, all of any scalar.
    ``composition`` is the operation on kinds of numbers that have no way of their own to it: Python's operator, or what
    it is made of.  ``arrays`` are NumPy's names for it: array libraries are asked for the first, and NumPy asks the
    elements of arrays of objects for any.  ``casadi`` is the name of CasADi's function, or makes the same of others.
    """

    name: str
    arity: int
    value: Callable[..., Any]  # on NumPy arrays and float64 scalars, IEEE 754 throughout
    scalar: Callable[..., Any]  # on Python floats, as fast as Python does it
    partials: Callable[..., tuple[Any, ...]] | None  # (*arguments, result) -> partial derivative by each argument
    lowering: Lowering
    kinds: str = ""
    gives: str = "n"
    commutative: bool = False
    odd: bool = False  # f(-x) is -f(x)
    even: bool = False  # f(-x) is f(x)
    composition: Callable[..., Any] | None = None
    arrays: tuple[str, ...] = ()
    casadi: str | Callable[..., Any] = ""
    domain: tuple[tuple[float, float], ...] = ()  # an interval for each argument, where tests try it
    doc: str = ""

    def __post_init__(self) -> None:
        defaults = {
            "kinds": self.kinds or "n" * self.arity,
            "arrays": self.arrays or (getattr(self.value, "__name__", self.name),),
            "casadi": self.casadi or self.name,
            "domain": self.domain or ((-3.0, 3.0),) * self.arity,
        }
        for name, value in defaults.items():
            object.__setattr__(self, name, value)

    @property
    def logical(self) -> bool:
        """Whether the result is a truth value."""
        return self.gives == "t"

    def __call__(self, *arguments: Any) -> Any:
        return apply(self, arguments)

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _operation, (self.name,)


BY_NAME: dict[str, Operation] = {}
BY_METHOD: dict[str, Operation] = {}  # by what NumPy calls it on the elements of arrays of objects, too


def _operation(name: str) -> Operation:
    return BY_NAME[name]


class _Rows:
    """The rows by name: for partial derivatives, which are of operations that may come later in the table."""

    def __getattr__(self, name: str) -> Any:
        if name not in BY_NAME:
            raise AttributeError(f"there is no operation called {name!r}")
        return BY_NAME[name]


f = _Rows()


def add(row: Operation) -> Operation:
    """Put a row into the table.  Raises ValueError where there is one of that name."""
    if row.name in BY_NAME:
        raise ValueError(f"there is an operation called {row.name!r} already")
    BY_NAME[row.name] = row
    if row.arity:
        BY_METHOD.update(dict.fromkeys((row.name, *row.arrays), row))
    return row


def remove(row: Operation) -> None:
    """Take a row out of the table again."""
    del BY_NAME[row.name]
    for name in [name for name, other in BY_METHOD.items() if other is row]:
        del BY_METHOD[name]


Function = TypeVar("Function", bound=Callable[..., Any])


def operation(
    value: Callable[..., Any],
    scalar: Callable[..., Any],
    partials: Callable[..., tuple[Any, ...]] | None,
    lowering: str,
    *,
    name: str = "",
    **facts: Any,
) -> Callable[[Function], Function]:
    """A row of the table, as a decorator of the function that people call: its name, arguments and text are the row's.

    ``scalar`` may raise where Python has no answer; IEEE's (infinity, NaN) is given there.  For ``lowering`` see
    `Lowering.of`, and `Operation` for further facts.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        arity = len(signature.parameters)
        called = name or function.__name__
        on_floats, doc = _reference(scalar, value), inspect.getdoc(function) or ""
        row = Operation(called, arity, value, on_floats, partials, Lowering.of(lowering), doc=doc, **facts)
        add(row)

        @wraps(function)
        def applied(*arguments: Any, **named: Any) -> Any:
            if named or len(arguments) != arity:
                arguments = signature.bind(*arguments, **named).args
            try:
                return apply(row, arguments)
            except (TypeError, ValueError, OverflowError, AttributeError) as error:
                told = _named(function.__name__, [*signature.parameters], arguments, error)
                if told is None:
                    raise
                raise told from error

        applied.operation = row  # type: ignore[attr-defined]
        return applied  # type: ignore[return-value]

    return decorate


def _named(caller: str, names: Sequence[str], arguments: Sequence[Any], error: Exception) -> Exception | None:
    """Return the error that names the argument which is no number and no array of numbers; None if there is none."""
    for name, value in zip(names, arguments, strict=True):
        if isinstance(value, np.ndarray):
            good = value.dtype.kind in "biufO" and not isinstance(value, np.ma.MaskedArray)
            good = good and not any(isinstance(x, (str, bytes, type(None))) for x in value.ravel().tolist())
        else:
            known = hasattr(value, "__array_namespace__") or type(value).__module__.startswith("casadi")
            good = isinstance(value, (bool, np.bool_, int, np.integer)) or is_symbol(value) or known
            good = good or isinstance(value, (float, np.floating))
        if not good:
            expected = "a number, an array of numbers or symbols"
            return ArgumentError(f"{caller}: {name}: expected {expected}, got {shown(value)}")
    shapes = [np.shape(value) for value in arguments if isinstance(value, np.ndarray)]
    if len(set(shapes)) > 1:
        both = ", ".join(f"{name} {np.shape(value)}" for name, value in zip(names, arguments, strict=True))
        return ValueError(f"{caller}: expected arguments whose shapes broadcast, got {both}")
    if isinstance(error, OverflowError):
        given = ", ".join(f"{name} = {shown(value)}" for name, value in zip(names, arguments, strict=True))
        return ValueError(f"{caller}: expected numbers that float64 holds, got {given}")
    return None


def _reference(function: Callable[..., Any], value: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` on floats where Python has an answer, IEEE's (infinity, NaN) where Python would raise."""

    def scalar(*arguments: float) -> Any:
        try:
            return function(*arguments)
        except (ValueError, ZeroDivisionError, OverflowError):
            with np.errstate(all="ignore"):
                return float(value(*(np.float64(x) for x in arguments)))

    return scalar


def apply(operation: Operation, arguments: Sequence[Any]) -> Any:
    """Apply an operation in the way of the arguments' kind of number."""
    chosen: Any = None
    precedence = 0
    is_array = of_objects = False
    for argument in arguments:
        kind = argument.__class__
        if kind is float or kind is int or kind is bool:
            continue
        own = getattr(kind, "_precedence", None)
        if own is not None:
            if own > precedence:
                chosen, precedence = argument, own
        elif isinstance(argument, np.ndarray):
            is_array, of_objects = True, of_objects or argument.dtype.hasobject
            if chosen is None:
                chosen = argument
        elif chosen is None and not isinstance(argument, np.generic):
            chosen = argument
    if of_objects or (is_array and precedence == _SYMBOL):
        return np.frompyfunc(lambda *elements: apply(operation, elements), operation.arity, 1)(*arguments)
    if chosen is None:
        numbers = [float(x) if kind == "n" else bool(x) for kind, x in zip(operation.kinds, arguments, strict=True)]
        return operation.scalar(*numbers)
    if not precedence and isinstance(chosen, np.ndarray):
        return operation.value(*arguments)
    if operation.composition is not None:
        return operation.composition(*arguments)
    if precedence:
        return chosen._apply(operation, arguments)
    return _foreign(operation, chosen, arguments)


def _foreign(operation: Operation, chosen: Any, arguments: Sequence[Any]) -> Any:
    """Apply an operation to another library's numbers: by its array namespace, or by CasADi's own functions."""
    namespace = getattr(chosen, "__array_namespace__", None)
    if namespace is not None:
        return getattr(namespace(), operation.arrays[0])(*arguments)
    if type(chosen).__module__.startswith("casadi"):
        import casadi

        counterpart = operation.casadi
        return (getattr(casadi, counterpart) if isinstance(counterpart, str) else counterpart)(*arguments)
    raise TypeError(
        f"{operation.name}: no way to apply it to {type(chosen).__name__!r}; it is not a scalar linkwork knows"
    )
