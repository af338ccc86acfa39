"""The table of scalar operations: for each its name, value, derivative and how it lowers to machine code.

Everything that walks expressions reads this table and names no operation itself: the functions over any scalar, the
traced symbol, differentiation, the interpreter and the compiler.  To add an operation, add one row.

A row's ``partials`` gives the partial derivatives by each argument, written over any scalar with the functions of
`linkwork.expr.functions`; it receives the arguments and the result.  ``lowering`` says how the compiler emits the
operation, as data: ``instruction`` (one LLVM instruction, with a predicate for comparisons), ``intrinsic`` (an LLVM
intrinsic that is a machine instruction) or ``vector`` (code of our own for all lanes).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import functions as f

__all__ = ["BY_NAME", "Lowering", "Operation"]


@dataclass(frozen=True, slots=True)
class Lowering:
    """How an operation becomes machine code."""

    kind: str  # "instruction", "intrinsic", "vector" or "none"
    code: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Operation:
    """One row of the table."""

    name: str
    arity: int
    value: Callable[..., Any]  # on NumPy arrays and float64 scalars, IEEE 754 throughout
    scalar: Callable[..., Any]  # on Python floats, as fast as Python does it
    partials: Callable[..., tuple[Any, ...]] | None  # (*arguments, result) -> partial derivative by each argument
    lowering: Lowering
    logical: bool = False  # the result is a truth value
    commutative: bool = False

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _operation, (self.name,)


def _operation(name: str) -> Operation:
    return BY_NAME[name]


def _instruction(code: str) -> Lowering:
    return Lowering("instruction", code)


def _vector(code: str) -> Lowering:
    return Lowering("vector", code)


def _reference(function: Callable[..., Any], value: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` on floats where Python has an answer, IEEE's (infinity, NaN) where Python would raise."""

    def scalar(*arguments: float) -> Any:
        try:
            return function(*arguments)
        except (ValueError, ZeroDivisionError, OverflowError):
            with np.errstate(all="ignore"):
                return float(value(*(np.float64(x) for x in arguments)))

    return scalar


def _where(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


def _sign(x: float) -> float:
    return x if x != x else float((x > 0.0) - (x < 0.0))


def _zeros(*arguments: Any) -> tuple[Any, ...]:
    return (0.0,) * (len(arguments) - 1)


def _rows() -> list[Operation]:
    def row(
        name: str,
        arity: int,
        value: Callable[..., Any],
        scalar: Callable[..., Any],
        partials: Callable[..., tuple[Any, ...]] | None,
        lowering: Lowering,
        **flags: bool,
    ) -> Operation:
        return Operation(name, arity, value, _reference(scalar, value), partials, lowering, **flags)

    _minimum, _maximum = Lowering("intrinsic", "minnum"), Lowering("intrinsic", "maxnum")

    def square_sum(a: Any, b: Any) -> Any:
        return a * a + b * b

    def complement(a: Any) -> Any:
        return f.sqrt((1.0 - a) * (1.0 + a))  # √(1 − a²), good to the last digits beside ±1 too

    return [
        # leaves: no value of their own
        Operation("input", 0, _zeros, _zeros, None, Lowering("none")),
        Operation("constant", 0, _zeros, _zeros, None, Lowering("none")),
        # arithmetic
        row("neg", 1, np.negative, lambda a: -a, lambda a, r: (-1.0,), _instruction("fneg")),
        row("add", 2, np.add, lambda a, b: a + b, lambda a, b, r: (1.0, 1.0), _instruction("fadd"), commutative=True),
        row("sub", 2, np.subtract, lambda a, b: a - b, lambda a, b, r: (1.0, -1.0), _instruction("fsub")),
        row("mul", 2, np.multiply, lambda a, b: a * b, lambda a, b, r: (b, a), _instruction("fmul"), commutative=True),
        row("div", 2, np.divide, lambda a, b: a / b, lambda a, b, r: (1.0 / b, -r / b), _instruction("fdiv")),
        # roots, powers, exponentials
        row("sqrt", 1, np.sqrt, math.sqrt, lambda a, r: (0.5 / r,), Lowering("intrinsic", "sqrt")),
        row("exp", 1, np.exp, math.exp, lambda a, r: (r,), _vector("exp")),
        row("log", 1, np.log, math.log, lambda a, r: (1.0 / a,), _vector("log")),
        row(
            "pow",
            2,
            np.power,
            math.pow,
            lambda a, b, r: (b * f.pow(a, b - 1.0), f.where(a > 0.0, r * f.log(f.where(a > 0.0, a, 1.0)), 0.0)),
            _vector("pow"),
        ),
        row("hypot", 2, np.hypot, math.hypot, lambda a, b, r: (a / r, b / r), _vector("hypot"), commutative=True),
        # circular functions
        row("sin", 1, np.sin, math.sin, lambda a, r: (f.cos(a),), _vector("sin")),
        row("cos", 1, np.cos, math.cos, lambda a, r: (-f.sin(a),), _vector("cos")),
        row("tan", 1, np.tan, math.tan, lambda a, r: (1.0 + r * r,), _vector("tan")),
        row("asin", 1, np.arcsin, math.asin, lambda a, r: (1.0 / complement(a),), _vector("asin")),
        row("acos", 1, np.arccos, math.acos, lambda a, r: (-1.0 / complement(a),), _vector("acos")),
        row("atan", 1, np.arctan, math.atan, lambda a, r: (1.0 / (1.0 + a * a),), _vector("atan")),
        row(
            "atan2",
            2,
            np.arctan2,
            math.atan2,
            lambda y, x, r: (x / square_sum(x, y), -y / square_sum(x, y)),
            _vector("atan2"),
        ),
        # hyperbolic functions
        row("sinh", 1, np.sinh, math.sinh, lambda a, r: (f.cosh(a),), _vector("sinh")),
        row("cosh", 1, np.cosh, math.cosh, lambda a, r: (f.sinh(a),), _vector("cosh")),
        row("tanh", 1, np.tanh, math.tanh, lambda a, r: (1.0 - r * r,), _vector("tanh")),
        # piecewise functions; at a kink the derivative is one between those of the two sides
        row("abs", 1, np.abs, abs, lambda a, r: (f.sign(a),), Lowering("intrinsic", "fabs")),
        row("sign", 1, np.sign, _sign, _zeros, _vector("sign")),
        row("floor", 1, np.floor, lambda a: math.copysign(math.floor(a), a), _zeros, Lowering("intrinsic", "floor")),
        row("copysign", 2, np.copysign, math.copysign, _copysign_partials, Lowering("intrinsic", "copysign")),
        row("fmin", 2, np.fmin, lambda a, b: float(np.fmin(a, b)), _fmin_partials, _minimum, commutative=True),
        row("fmax", 2, np.fmax, lambda a, b: float(np.fmax(a, b)), _fmax_partials, _maximum, commutative=True),
        # truth values, and the choice between two numbers
        row("lt", 2, np.less, lambda a, b: a < b, None, _instruction("fcmp olt"), logical=True),
        row("le", 2, np.less_equal, lambda a, b: a <= b, None, _instruction("fcmp ole"), logical=True),
        row("eq", 2, np.equal, lambda a, b: a == b, None, _instruction("fcmp oeq"), logical=True, commutative=True),
        row("and_", 2, np.logical_and, lambda a, b: a and b, None, _instruction("and"), logical=True, commutative=True),
        row("or_", 2, np.logical_or, lambda a, b: a or b, None, _instruction("or"), logical=True, commutative=True),
        row("not_", 1, np.logical_not, lambda a: not a, None, _vector("not"), logical=True),
        row("where", 3, np.where, _where, _where_partials, _vector("where")),
    ]


def _copysign_partials(a: Any, b: Any, r: Any) -> tuple[Any, ...]:
    return f.sign(a) * f.copysign(1.0, b), 0.0


def _fmin_partials(a: Any, b: Any, r: Any) -> tuple[Any, ...]:
    return f.where(a <= b, 1.0, 0.0), f.where(a <= b, 0.0, 1.0)


def _fmax_partials(a: Any, b: Any, r: Any) -> tuple[Any, ...]:
    return f.where(b <= a, 1.0, 0.0), f.where(b <= a, 0.0, 1.0)


def _where_partials(c: Any, a: Any, b: Any, r: Any) -> tuple[Any, ...]:
    return 0.0, f.where(c, 1.0, 0.0), f.where(c, 0.0, 1.0)


BY_NAME: dict[str, Operation] = {operation.name: operation for operation in _rows()}
