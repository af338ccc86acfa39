"""Functions over any scalar: Python floats, NumPy arrays (a batch), our symbols, CasADi's, JAX arrays.

``sin(x)`` looks at what ``x`` is and calls what that kind of number calls its sine.  Algorithms written with these
functions and ``+ - * /`` therefore run on all of them, and are traced by running them on symbols.

Arrays of objects, as a traced function gets them, are taken element by element.

A kind of number of our own takes part by defining ``_apply(operation, arguments)`` and ``_precedence``: of all
arguments the one of highest precedence decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "acos",
    "and_",
    "asin",
    "atan",
    "atan2",
    "copysign",
    "cos",
    "cosh",
    "eq",
    "exp",
    "fabs",
    "floor",
    "fmax",
    "fmin",
    "hypot",
    "le",
    "log",
    "lt",
    "not_",
    "or_",
    "pow",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "where",
]

Scalar = Any  # "any scalar": no static type says it

_SYMBOL = 1  # the precedence of symbols, which are scalars; a dual number may well have arrays for parts

# What NumPy's array interface, and so JAX and other libraries of arrays, call our operations.
_ARRAY_NAMES = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "pow": "power",
    "and_": "logical_and",
    "or_": "logical_or",
    "not_": "logical_not",
    "eq": "equal",
    "lt": "less",
    "le": "less_equal",
}


def apply(name: str, arguments: tuple[Scalar, ...]) -> Scalar:
    """Apply the operation called ``name`` in the way of the arguments' kind of number."""
    from .operations import BY_NAME

    operation = BY_NAME[name]
    chosen: Any = None
    precedence = 0
    for argument in arguments:
        kind = argument.__class__
        if kind is float or kind is int or kind is bool:
            continue
        own = getattr(kind, "_precedence", None)
        if own is not None:
            if own > precedence:
                chosen, precedence = argument, own
        elif chosen is None and not isinstance(argument, np.generic):
            chosen = argument
    arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    if arrays and (precedence == _SYMBOL or any(array.dtype == object for array in arrays)):
        return np.frompyfunc(lambda *elements: apply(name, elements), operation.arity, 1)(*arguments)
    if chosen is None:
        return operation.scalar(*(float(x) if operation.arity == 1 else x for x in arguments))
    if precedence:
        return chosen._apply(operation, arguments)
    if isinstance(chosen, np.ndarray):
        return operation.value(*arguments)
    return _foreign(name, chosen, arguments)


def _foreign(name: str, chosen: Any, arguments: tuple[Scalar, ...]) -> Scalar:
    """Apply an operation to another library's numbers: by its array namespace, or by CasADi's own functions."""
    namespace = getattr(chosen, "__array_namespace__", None)
    if namespace is not None:
        return getattr(namespace(), _ARRAY_NAMES.get(name, name))(*arguments)
    if type(chosen).__module__.startswith("casadi"):
        import casadi

        casadi_names = {"abs": "fabs", "where": "if_else", "pow": "power", "and_": "logic_and", "or_": "logic_or"}
        casadi_names |= {"not_": "logic_not"}
        return getattr(casadi, casadi_names.get(name, name))(*arguments)
    raise TypeError(f"{name}: no way to apply it to {type(chosen).__name__!r}; it is not a scalar linkwork knows")


def sin(x: Scalar) -> Scalar:
    """Sine of an angle [rad]."""
    return apply("sin", (x,))


def cos(x: Scalar) -> Scalar:
    """Cosine of an angle [rad]."""
    return apply("cos", (x,))


def tan(x: Scalar) -> Scalar:
    """Tangent of an angle [rad]."""
    return apply("tan", (x,))


def asin(x: Scalar) -> Scalar:
    """Inverse sine [rad], in [-π/2, π/2]."""
    return apply("asin", (x,))


def acos(x: Scalar) -> Scalar:
    """Inverse cosine [rad], in [0, π]."""
    return apply("acos", (x,))


def atan(x: Scalar) -> Scalar:
    """Inverse tangent [rad], in [-π/2, π/2]."""
    return apply("atan", (x,))


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle [rad] of the point (x, y), in [-π, π]."""
    return apply("atan2", (y, x))


def sqrt(x: Scalar) -> Scalar:
    """Square root."""
    return apply("sqrt", (x,))


def exp(x: Scalar) -> Scalar:
    """Exponential."""
    return apply("exp", (x,))


def log(x: Scalar) -> Scalar:
    """Natural logarithm."""
    return apply("log", (x,))


def pow(x: Scalar, y: Scalar) -> Scalar:
    """``x`` to the power ``y``."""
    return apply("pow", (x, y))


def hypot(x: Scalar, y: Scalar) -> Scalar:
    """Length of the vector (x, y), without overflow."""
    return apply("hypot", (x, y))


def sinh(x: Scalar) -> Scalar:
    """Hyperbolic sine."""
    return apply("sinh", (x,))


def cosh(x: Scalar) -> Scalar:
    """Hyperbolic cosine."""
    return apply("cosh", (x,))


def tanh(x: Scalar) -> Scalar:
    """Hyperbolic tangent."""
    return apply("tanh", (x,))


def fabs(x: Scalar) -> Scalar:
    """Absolute value."""
    return apply("abs", (x,))


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1, as ``x`` is negative, zero or positive."""
    return apply("sign", (x,))


def floor(x: Scalar) -> Scalar:
    """Largest whole number that is not above ``x``."""
    return apply("floor", (x,))


def copysign(x: Scalar, y: Scalar) -> Scalar:
    """The magnitude of ``x`` with the sign of ``y``."""
    return apply("copysign", (x, y))


def fmin(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two numbers; of a number and NaN, the number."""
    return apply("fmin", (x, y))


def fmax(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two numbers; of a number and NaN, the number."""
    return apply("fmax", (x, y))


def eq(x: Scalar, y: Scalar) -> Scalar:
    """Whether two numbers are equal."""
    return apply("eq", (x, y))


def lt(x: Scalar, y: Scalar) -> Scalar:
    """Whether ``x < y``.  On arrays of symbols, whose ``<`` is NumPy's, too."""
    return apply("lt", (x, y))


def le(x: Scalar, y: Scalar) -> Scalar:
    """Whether ``x <= y``.  On arrays of symbols, whose ``<=`` is NumPy's, too."""
    return apply("le", (x, y))


def and_(x: Scalar, y: Scalar) -> Scalar:
    """Whether both truth values hold."""
    return apply("and_", (x, y))


def or_(x: Scalar, y: Scalar) -> Scalar:
    """Whether one truth value, or both, holds."""
    return apply("or_", (x, y))


def not_(x: Scalar) -> Scalar:
    """Whether a truth value does not hold."""
    return apply("not_", (x,))


def where(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """``x`` where the condition holds, else ``y``.  Both are evaluated, so both must be defined everywhere."""
    return apply("where", (condition, x, y))
