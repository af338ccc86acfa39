"""Scalar operations: their properties, and their application to any scalar type.

An entry of the table contains all properties of an operation.  The entries are defined in
`linkwork.expr.scalar.functions`, each as the public function; `BY_NAME` contains them.  All code that traverses
expressions reads the entries: the functions over any scalar, the traced symbol, dual numbers, differentiation, the
interpreter, the compiler, both CasADi conversions, the tables in the docs, and the tests.

A scalar type participates by defining ``_apply(operation, arguments)`` and ``_precedence``; the argument of highest
precedence determines the type.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.validation import is_masked, is_symbol, shown
from linkwork.errors import ArgumentError
from linkwork.expr.scalar.float_limits import MODERATE, in_float32

__all__ = [
    "BY_METHOD",
    "BY_NAME",
    "Lowering",
    "Operation",
    "add",
    "apply",
    "are_same",
    "is_moderate",
    "number_of",
    "operation",
    "remove",
    "whole_power",
]

_SYMBOL = 1  # precedence of symbols, which are scalars; components of dual numbers may be arrays


@dataclass(frozen=True, slots=True)
class Lowering:
    """Machine code of an operation, as data: its ``kind``, and a ``code`` that names it.

    ``instruction``: one LLVM instruction, with a predicate for comparisons.  ``intrinsic``: an LLVM intrinsic that is
    a machine instruction.  ``vector``: linkwork's own code for all lanes.  ``compiler``: created by passes only.
    """

    kind: str
    code: str = ""

    @staticmethod
    def of(text: str) -> Lowering:
        """Return the machine code of an operation from its text in the table of operations.

        The text is an LLVM instruction such as ``fadd``, an LLVM intrinsic such as ``llvm.sqrt``, or ``@`` with the
        name of linkwork's own code, such as ``@sin``.
        """
        if text.startswith("@"):
            return Lowering("vector", text[1:])
        code = text.removeprefix("llvm.")
        return Lowering("instruction" if code == text else "intrinsic", code)


@dataclass(frozen=True, eq=False, slots=True)
class Operation:
    """Scalar operation, an entry of the table.  Calling it applies it to arguments of any scalar type.

    ``kinds`` has a letter for each argument, and ``gives`` one for the result: n for a number, t for a truth value, p
    for the pair that only the compiler uses.  ``partials`` accepts the arguments and the result, all of any scalar.
    ``composition`` is the operation for scalar types without their own implementation: Python's operator, or a
    composition.  ``arrays`` are NumPy's names of the operation.  Functions of array libraries have the first name;
    NumPy calls methods of elements of object arrays by any of these names.  ``casadi`` is the name of CasADi's
    function, or a function that builds the same.
    """

    name: str
    arity: int
    value: Callable[..., Any]  # on NumPy arrays and float64 scalars, IEEE 754 throughout
    scalar: Callable[..., Any]  # on Python floats, for speed
    partials: Callable[..., tuple[Any, ...]] | None  # (*arguments, result) -> partial derivative by each argument
    lowering: Lowering
    kinds: str = ""
    gives: str = "n"
    commutative: bool = False
    odd: bool = False  # f(-x) is -f(x)
    even: bool = False  # f(-x) is f(x)
    bounded: bool = False  # partials are finite where the result is, unless they overflow
    selects: bool = False  # returns one of the arguments: partials are where(c, 1, 0) or where(c, 0, 1), or 0
    composition: Callable[..., Any] | None = None
    arrays: tuple[str, ...] = ()
    casadi: str | Callable[..., Any] = ""
    domain: tuple[tuple[float, float], ...] = ()  # an interval for each argument, for tests
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
        """True if the result of the operation is a truth value, not a number."""
        return self.gives == "t"

    def __call__(self, *arguments: Any) -> Any:
        return apply(self, arguments)

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _operation, (self.name,)


BY_NAME: dict[str, Operation] = {}
BY_METHOD: dict[str, Operation] = {}  # also by the method names that NumPy calls on elements of object arrays


def _operation(name: str) -> Operation:
    return BY_NAME[name]


class _TableByName:
    """Namespace that looks up operations by name at use, so a partial derivative may use operations defined later."""

    def __getattr__(self, name: str) -> Any:
        if name not in BY_NAME:
            raise AttributeError(f"unknown operation {name!r}")
        return BY_NAME[name]


f = _TableByName()


def add(row: Operation) -> Operation:
    """Add an operation to the table, and return it.  Raises ValueError if its name exists."""
    if row.name in BY_NAME:
        raise ValueError(f"the operation {row.name!r} already exists")
    BY_NAME[row.name] = row
    if row.arity:
        BY_METHOD.update(dict.fromkeys((row.name, *row.arrays), row))
    return row


def remove(row: Operation) -> None:
    """Remove an operation from the table."""
    del BY_NAME[row.name]
    for name in [name for name, registered in BY_METHOD.items() if registered is row]:
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
    """Return a decorator that adds an operation to the table and returns the function that applies it.

    The operation has the name, arguments and docstring of the decorated function.  ``value`` computes it on NumPy
    arrays.  ``scalar`` computes it on Python floats; if it raises an error, the IEEE result (infinity, NaN) is used.
    See `Lowering.of` for ``lowering``, and `Operation` for further properties.
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
            except (TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
                replacement = _named(function.__name__, [*signature.parameters], arguments, error)
                if replacement is None:
                    raise
                raise replacement from (None if isinstance(error, RecursionError) else error)

        applied.operation = row  # type: ignore[attr-defined]
        return applied  # type: ignore[return-value]

    return decorate


def _named(caller: str, names: Sequence[str], arguments: Sequence[Any], error: Exception) -> Exception | None:
    """Return an error that explains the failed call of an operation, or None if the cause is unknown.

    Known causes are an argument that is neither a number nor an array of numbers, shapes that do not broadcast, and
    numbers beyond the range of float64.
    """
    for name, value in zip(names, arguments, strict=True):
        if isinstance(value, np.ndarray):
            is_valid = value.dtype.kind in "biufO" and not is_masked(value)
            unfit = (str, bytes, type(None), np.ndarray)  # an array within an array may contain itself
            is_valid = is_valid and not any(isinstance(x, unfit) for x in value.ravel().tolist())
        else:
            known = hasattr(value, "__array_namespace__") or type(value).__module__.startswith("casadi")
            is_valid = isinstance(value, (bool, np.bool_, int, np.integer)) or is_symbol(value) or known
            is_valid = is_valid or isinstance(value, (float, np.floating))
        if not is_valid:
            expected = "a number, an array of numbers or symbols"
            return ArgumentError(f"{caller}: {name}: expected {expected}, got {shown(value)}")
    shapes = [np.shape(value) for value in arguments if isinstance(value, np.ndarray)]
    if len(set(shapes)) > 1:
        both = ", ".join(f"{name} {np.shape(value)}" for name, value in zip(names, arguments, strict=True))
        return ValueError(f"{caller}: expected arguments whose shapes broadcast, got {both}")
    if isinstance(error, OverflowError):
        arguments_text = ", ".join(f"{name} = {shown(value)}" for name, value in zip(names, arguments, strict=True))
        return ValueError(f"{caller}: expected numbers in the range of float64, got {arguments_text}")
    return None


def _reference(function: Callable[..., Any], value: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` for floats, with the IEEE result (infinity, NaN) where Python raises an error.

    ``value`` is the same operation for NumPy arrays; it computes the IEEE result.
    """

    def scalar(*arguments: float) -> Any:
        try:
            return function(*arguments)
        except (ValueError, ZeroDivisionError, OverflowError):
            with np.errstate(all="ignore"):
                return float(value(*(np.float64(x) for x in arguments)))

    return scalar


def apply(operation: Operation, arguments: Sequence[Any]) -> Any:
    """Apply an operation to arguments of any scalar type."""
    chosen: Any = None
    precedence = 0
    is_array = of_objects = False
    for argument in arguments:
        kind = argument.__class__
        if kind is float or kind is int or kind is bool:
            continue
        precedence_of_kind = getattr(kind, "_precedence", None)
        if precedence_of_kind is not None:
            if precedence_of_kind > precedence:
                chosen, precedence = argument, precedence_of_kind
        elif isinstance(argument, np.ndarray):
            is_array, of_objects = True, of_objects or argument.dtype.hasobject
            if chosen is None:
                chosen = argument
        elif chosen is None and not isinstance(argument, np.generic):
            chosen = argument
    if of_objects or (is_array and precedence == _SYMBOL):
        return np.frompyfunc(lambda *elements: apply(operation, elements), operation.arity, 1)(*arguments)
    if chosen is None:
        converted = [float(x) if kind == "n" else bool(x) for kind, x in zip(operation.kinds, arguments, strict=True)]
        return operation.scalar(*converted)
    if not precedence and isinstance(chosen, np.ndarray):
        return operation.value(*arguments)
    if operation.composition is not None:
        return operation.composition(*arguments)
    if precedence:
        return chosen._apply(operation, arguments)
    return _foreign(operation, chosen, arguments)


def _foreign(operation: Operation, chosen: Any, arguments: Sequence[Any]) -> Any:
    """Apply an operation to scalars of another library, by the library's array functions or by CasADi's functions."""
    namespace = getattr(chosen, "__array_namespace__", None)
    if namespace is not None:
        return getattr(namespace(), operation.arrays[0])(*arguments)
    if type(chosen).__module__.startswith("casadi"):
        import casadi

        counterpart = operation.casadi
        return (getattr(casadi, counterpart) if isinstance(counterpart, str) else counterpart)(*arguments)
    raise TypeError(f"{operation.name}: expected a scalar type known to linkwork, got {type(chosen).__name__!r}")


def number_of(x: Any) -> float | None:
    """Return ``x`` as a float, or None if it is not a number (an array, another library's scalar)."""
    if x.__class__ is float:
        return x
    if isinstance(x, (int, float)):
        return float(x)
    if getattr(x, "ndim", None) == 0 and hasattr(x, "dtype") and x.dtype.kind in "fiub":
        return float(x)
    return None


def is_moderate(number: float) -> bool:
    """Return True for a number of moderate magnitude that code in every float type uses unchanged."""
    return 1.0 / MODERATE <= abs(number) <= MODERATE and in_float32(number) == number


def are_same(a: float, b: float) -> bool:
    """Return True if two numbers are equal and have the same sign: 0.0 and -0.0 are not the same."""
    return a == b and math.copysign(1.0, a) == math.copysign(1.0, b)


def whole_power(x: Any, n: int) -> Any:
    """Return xⁿ by repeated squaring."""
    if n < 0:
        return 1.0 / whole_power(x, -n)
    result: Any = 1.0
    square: Any = x
    while n:
        if n & 1:
            result = square * result
        n >>= 1
        if n:
            square = square * square
    return result
