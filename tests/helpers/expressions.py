"""Random expressions, and a scalar that carries a bound on its own rounding error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import instructions_of, run
from linkwork.expr.scalar.operations import BY_NAME, Operation
from linkwork.expr.scalar.symbol import Symbol

Recipe = tuple[tuple[str, tuple[int, ...]], ...]

# Every form is defined, and bounded away from singularities, for all real arguments.
SMOOTH: dict[str, tuple[int, Callable[..., Any]]] = {
    "add": (2, lambda a, b: a + b),
    "sub": (2, lambda a, b: a - b),
    "mul": (2, lambda a, b: a * b),
    "neg": (1, lambda a: -a),
    "half": (1, lambda a: a / 2.0),
    "third": (1, lambda a: a / 3.0),
    "minus twice": (1, lambda a: -2.0 * a),
    "div": (2, lambda a, b: a / (1.0 + b * b)),
    "reciprocal": (1, lambda a: 1.0 / (1.0 + a**2)),
    "cube": (1, lambda a: f.sin(a) ** 3),
    "power": (2, lambda a, b: f.pow(1.0 + a * a, f.tanh(b))),
    "sqrt": (1, lambda a: f.sqrt(1.0 + a * a)),
    "hypot": (2, lambda a, b: f.hypot(a, 1.0 + b * b)),
    "exp": (1, lambda a: f.exp(f.sin(a))),
    "log": (1, lambda a: f.log(0.5 + a * a)),
    "sin": (1, f.sin),
    "cos": (1, f.cos),
    "tan": (1, lambda a: f.tan(f.tanh(a))),
    "atan": (1, f.atan),
    "atan2": (2, lambda a, b: f.atan2(a, 0.5 + b * b)),
    "asin": (1, lambda a: f.asin(0.9 * f.sin(a))),
    "acos": (1, lambda a: f.acos(0.9 * f.cos(a))),
    "sinh": (1, lambda a: f.sinh(f.tanh(a))),
    "cosh": (1, lambda a: f.cosh(f.sin(a))),
    "tanh": (1, f.tanh),
    "asinh": (1, f.asinh),
    "acosh": (1, lambda a: f.acosh(1.5 + a * a)),
    "atanh": (1, lambda a: f.atanh(0.9 * f.sin(a))),
    "exp2": (1, lambda a: f.exp2(f.sin(a))),
    "expm1": (1, lambda a: f.expm1(f.sin(a))),
    "log1p": (1, lambda a: f.log1p(a * a)),
    "log2": (1, lambda a: f.log2(0.5 + a * a)),
    "log10": (1, lambda a: f.log10(0.5 + a * a)),
    "cbrt": (1, lambda a: f.cbrt(1.0 + a * a)),
    "sinc": (1, lambda a: f.sinc(f.tanh(a))),
    "fmod": (1, lambda a: f.fmod(f.tanh(a), 2.0)),
}

KINKED: dict[str, tuple[int, Callable[..., Any]]] = SMOOTH | {
    "abs": (1, f.fabs),
    "fmin": (2, f.fmin),
    "fmax": (2, f.fmax),
    "where": (4, lambda a, b, c, d: f.where(a < b, c, d)),
    "where not": (3, lambda a, b, c: f.where(f.not_(a <= 0.5), b, c)),
    "where and": (4, lambda a, b, c, d: f.where(f.and_(a < b, c > 0.0), c, d)),
    "where or": (3, lambda a, b, c: f.where(f.or_(a < 0.0, b < 1.0), c, 0.0)),
    "where root": (1, lambda a: f.where(a > 0.5, f.sqrt(f.where(a > 0.5, a, 1.0)), a * a)),
}

CONSTANTS = (0.0, 1.0, -1.0, 2.0, 0.1, -3.0)


def recipes(forms: Mapping[str, tuple[int, Callable[..., Any]]], most: int = 8) -> st.SearchStrategy[Recipe]:
    """Recipes for expressions: steps, each a form and which of the things at hand it takes, counted from the newest."""
    step = st.tuples(st.sampled_from(sorted(forms)), st.tuples(*[st.integers(0, 12)] * 4))
    return st.lists(step, min_size=1, max_size=most).map(tuple)


def points(variables: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(-2.0, 2.0, width=32), min_size=variables, max_size=variables)


def build(recipe: Recipe, x: Sequence[Any], constants: Sequence[Any] = CONSTANTS) -> Any:
    """The expression of a recipe, on any kind of scalar: what its last step makes."""
    at_hand = [*constants, *x]
    for name, positions in recipe:
        arity, form = KINKED[name]
        at_hand.append(form(*(at_hand[-1 - position % len(at_hand)] for position in positions[:arity])))
    return at_hand[-1]


class UndecidedError(Exception):
    """A choice between branches hangs on a rounding error."""


class Bounded:
    """A float and a bound on its error, in units of eps: first-order running error analysis.

    Every operation is taken to be good to one eps of its result, and hands on its arguments' errors.
    """

    __slots__ = ("error", "value")

    _precedence = 1

    def __init__(self, value: float, error: float = 0.0) -> None:
        self.value, self.error = np.float64(value), np.float64(error)

    def _apply(self, operation: Operation, arguments: Sequence[Any]) -> Any:
        if operation.name == "where":
            return arguments[1] if arguments[0] else arguments[2]
        if operation.name in ("and_", "or_", "not_"):
            return bool(operation.value(*arguments))
        values = [a.value if isinstance(a, Bounded) else np.float64(a) for a in arguments]
        errors = [a.error if isinstance(a, Bounded) else np.float64(0.0) for a in arguments]
        if operation.logical or operation.name in ("fmin", "fmax", "abs"):
            distance = abs(values[0] - values[1]) if len(values) == 2 else abs(values[0])
            # two exact numbers compare as they do; but which of two equal ones is the smaller is anyone's choice
            if distance <= 1e-13 * sum(errors) and not (operation.logical and sum(errors) == 0.0):
                raise UndecidedError
        with np.errstate(all="ignore"):
            result = operation.value(*values)
            if operation.logical:
                return bool(result)
            assert operation.partials is not None
            handed_on = sum(abs(p) * e for p, e in zip(operation.partials(*values, result), errors, strict=True))
        return Bounded(result, handed_on + abs(result))

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.error)

    def __abs__(self) -> Any:
        return self._apply(BY_NAME["abs"], (self,))

    def __pow__(self, n: float) -> Any:
        result = self.value**n
        return Bounded(result, abs(n * self.value ** (n - 1.0)) * self.error + abs(n * result))


def _install(name: str, operation: str, swap: bool) -> None:
    def method(self: Bounded, operand: Any) -> Any:
        return self._apply(BY_NAME[operation], (operand, self) if swap else (self, operand))

    setattr(Bounded, f"__{name}__", method)


for _name, _operation in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div")):
    _install(_name, _operation, swap=False)
    _install(f"r{_name}", _operation, swap=True)
for _name, _operation, _swap in (("lt", "lt", False), ("le", "le", False), ("gt", "lt", True), ("ge", "le", True)):
    _install(_name, _operation, _swap)


def replay(
    outputs: Sequence[Any], values: Mapping[Symbol, Any], number: Callable[[float], Any] = lambda x: x
) -> list[Any]:
    """The outputs' values on any kind of scalar, numbers as ``number`` makes them."""
    instructions, results = instructions_of(outputs, values)
    known = run(instructions, list(values.values()), constant=number)
    return [known[r] for r in results]


def rounding(outputs: Sequence[Any], values: Mapping[Symbol, float]) -> np.ndarray:
    """Bounds on the rounding errors of the outputs' values, in units of eps.

    A number may itself be the rounded result of a few operations on numbers.
    """
    inputs = {s: Bounded(x) for s, x in values.items()}
    return np.array([float(r.error) for r in replay(outputs, inputs, lambda x: Bounded(x, abs(x)))])
