"""Rewrites of a trace: each keeps all bits or what its table states, on special values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.compiler.casadi.from_casadi import from_casadi
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.passes import ALL
from linkwork.compiler.trace.trace import trace
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Graph

Function = Callable[[Any, Any], Any]
where = f.where

# All bits stay, except those of a NaN.
EXACT: dict[str, Function] = {
    "x + -0": lambda x, y: x + -0.0,
    "x - 0": lambda x, y: x - 0.0,
    "-0 - x": lambda x, y: -0.0 - x,
    "1 x": lambda x, y: 1.0 * x,
    "-1 x": lambda x, y: x * -1.0,
    "x / 1": lambda x, y: x / 1.0,
    "x / -1": lambda x, y: x / -1.0,
    "x + x": lambda x, y: x + x,
    "-x - x": lambda x, y: -x - x,
    "two minus signs": lambda x, y: -(-x),  # noqa: B002
    "minus in a product": lambda x, y: (-x) * y,
    "two minus signs in a product": lambda x, y: (-x) * (-y),
    "minus in a quotient": lambda x, y: (-x) / y,
    "minus in a divisor": lambda x, y: x / (-y),
    "minus in a divisor of a number": lambda x, y: -3.0 / (-x),
    "negative factor": lambda x, y: x * -3.0,
    "negative factor of a minus": lambda x, y: (-x) * -3.0,
    "minus in a sum": lambda x, y: x + (-y),
    "minus in a first summand": lambda x, y: (-x) + y,
    "minus of what is subtracted": lambda x, y: x - (-y),
    "number minus a minus": lambda x, y: 2.0 - (-x),
    "both differences of inputs": lambda x, y: (x - y, y - x),
    "minus an input minus another": lambda x, y: (-x - y, -y + -x),
    "minus a root minus an input": lambda x, y: -abs(x) - y,
    "division by a power of two": lambda x, y: x / 8.0,
    "division by a small power of two": lambda x, y: x / 2.0**-60,
    "division by a large power of two": lambda x, y: x / 2.0**120,
    "division by the largest power of two": lambda x, y: x / 2.0**127,
    "factors that overflow together": lambda x, y: x * 1e30 * 1e30,
    "factors that underflow together": lambda x, y: x * 1e-30 * 1e-30,
    "large and small factor": lambda x, y: x * 1e25 * 1e-25,
    "first power": lambda x, y: x**1,
    "power zero": lambda x, y: x**0,
    "square": lambda x, y: x**2,
    "reciprocal": lambda x, y: x**-1,
    "selection of one value": lambda x, y: where(x < y, y, y),
    "selection of both zeros": lambda x, y: where(x < y, 0.0, -0.0),
    "greater": lambda x, y: where(x > y, 1.0, 2.0),
    "not less": lambda x, y: where(x >= y, 1.0, 2.0),
    "sum in the other order": lambda x, y: (x + y, y + x),
    "product in the other order": lambda x, y: (x * y, y * x),
}
OBSERVED: dict[str, Function] = {  # operations that tell zeros of both signs apart read sums as they are written
    "angle of a difference that is stored with the other sign": lambda x, y: (
        y - x * 3.0,
        where(f.atan2(0.0, x * 3.0 - y) > 1.0, 1.0, 2.0),
    ),
    "sign of such a difference": lambda x, y: (y - x * 5.0, f.copysign(2.0, x * 5.0 - y)),
    "quotient by such a difference": lambda x, y: (y - x * 7.0, x / (x * 7.0 - y), 2.0 / (x * 7.0 - y)),
    "quotient by a sum with a minus": lambda x, y: (x / (-(x * 9.0) - y), 2.0 / (-(x * 9.0) - y)),
}
EXACT |= OBSERVED
FUNCTIONS: dict[str, Function] = {  # elementary functions, which compiled code and NumPy round differently
    row.name: lambda x, y, row=row: row(-x) for row in BY_NAME.values() if row.odd or row.even
}
# Equal numbers, but a zero may have the other sign.
WITHOUT_SIGN_OF_ZERO: dict[str, Function] = {
    "`0 + x` is `x`": lambda x, y: 0.0 + x,
    "`x - -0` is `x`": lambda x, y: x - -0.0,
    "`0 - x` is `-x`": lambda x, y: 0.0 - x,
    "`-p - q` is `-(p + q)`": lambda x, y: -(x * 3.0) - y,
    "`p - q` is `-(q - p)`": lambda x, y: (y - x * 3.0, x * 3.0 - y),
    "`fmin` and `fmax` of two zeros": lambda x, y: (f.fmin(y, x), f.fmin(x, y), f.fmax(y, x), f.fmax(x, y)),
}
# The value for finite numbers, for which the expression is defined.
OF_FINITE_NUMBERS: dict[str, Function] = {
    "`0 x` is 0": lambda x, y: x * 0.0,
    "`x - x` is 0": lambda x, y: x * y - y * x,
    "`0 / x` is 0": lambda x, y: 0.0 / x,
}
# The value to rounding, if no intermediate result overflows or underflows.
TO_ROUNDING: dict[str, Function] = {
    "`a (b x)` is `(a b) x`": lambda x, y: x * 0.7 * 0.3,
    "`x**n` is a product": lambda x, y: (x**3, x**-3, x**10),
}
TABLES = {
    "bits": EXACT | FUNCTIONS,
    "equal": WITHOUT_SIGN_OF_ZERO,
    "finite": OF_FINITE_NUMBERS,
    "rounding": TO_ROUNDING,
}
CASES = [(keeps, name) for keeps, table in TABLES.items() for name in table]


def special_values(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of special values, as two arrays."""
    info = np.finfo(dtype)
    positive = [0.0, info.smallest_subnormal, info.tiny, info.tiny**0.5, 1e-35, 0.1, 1.0, 3.0, 9.0, 1e30, info.max]
    values = np.array([*positive, np.inf], dtype)
    values = np.array([*values, *-values, np.nan], dtype)
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()


def plain(function: Function, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return [np.broadcast_to(z, x.shape) for z in listed(function(x, y))]


def listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, tuple) else [values]


def bits_differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ~((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b))))


def values_differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ~((np.isnan(a) & np.isnan(b)) | (a == b))


@pytest.mark.parametrize(("keeps", "name"), CASES)
def test_expression_rewrites_preserve_the_property_stated_in_their_table(keeps: str, name: str) -> None:
    function = TABLES[keeps][name]
    graph = Graph()
    symbols = graph.inputs("x", (2,))
    x, y = special_values(float)
    values = evaluate(listed(function(*symbols)), dict(zip(symbols, (x, y), strict=True)))
    expected = plain(function, x, y)
    pairs = [(np.broadcast_to(a, x.shape), b) for a, b in zip(values, expected, strict=True)]
    if keeps == "bits":
        assert not any(bits_differ(a, b).any() for a, b in pairs)
        return
    assert any(bits_differ(a, b).any() for a, b in pairs), "nothing is lost: the rewrite belongs to EXACT"
    if keeps == "equal":
        assert not any(values_differ(a, b).any() for a, b in pairs)
    elif keeps == "finite":
        assert not any(values_differ(a, b)[np.isfinite(b)].any() for a, b in pairs)
    else:
        moderate = (abs(x) >= 1e-20) & (abs(x) <= 1e20)
        for a, b in pairs:
            np.testing.assert_allclose(a[moderate], b[moderate], rtol=1e-15)


def test_expressions_page_lists_every_rewrite_that_changes_bits() -> None:
    page = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text(encoding="utf-8")
    assert [name for keeps, name in CASES if keeps != "bits" and f"| {name} |" not in page] == []


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_exact_rewrites_preserve_all_bits_in_both_float_types(dtype: Any) -> None:
    program = trace(
        lambda x, y: tuple(z for g in EXACT.values() for z in listed(g(x, y))), "rewrites", {"x": (), "y": ()}
    )
    kernel = Kernel(program, without_passes=["fuse"])  # which rounds once where NumPy rounds twice
    x, y = special_values(dtype)
    results = iter(kernel(x, y))
    wrong = []
    for name, function in EXACT.items():
        for expected in plain(function, x, y):
            result = next(results)
            assert result.dtype == dtype
            wrong += [name] * bool(bits_differ(result, expected.astype(dtype)).any())
    assert wrong == []


@pytest.mark.parametrize("one_pass", ALL, ids=lambda one_pass: one_pass.__name__)
def test_each_compiler_pass_preserves_all_bits_of_the_interpreter(one_pass: Callable[[Any], Any]) -> None:
    """Code of `fuse` rounds once where the interpreter rounds twice; `outline` moves signs in long programs only."""

    def function(x: Any, y: Any) -> Any:
        values = [z for g in EXACT.values() for z in listed(g(x, y))]
        sums = [x * y + x, x * y - y, x - y * y, f.sin(x) * f.cos(x) + f.cos(y), 0.5 * x + 0.25]
        return *values, *sums, f.hypot(3.0 + x * 0.0, 4.0)

    program = trace(function, "rewrites", {"x": (), "y": ()})
    arrays = special_values(float)
    for a, b in zip(program.interpret(*arrays), one_pass(program).interpret(*arrays), strict=True):
        assert not bits_differ(np.asarray(a), np.asarray(b)).any()


def test_conversion_to_casadi_and_back_preserves_values_of_rewritten_expressions() -> None:
    """CasADi itself moves minus signs, combines constants and has one zero among constants."""
    pytest.importorskip("casadi")
    names = [name for name in EXACT if name not in OBSERVED and "factor" not in name]
    program = trace(
        lambda x, y: tuple(z for name in names for z in listed(EXACT[name](x, y))), "rewrites", {"x": (), "y": ()}
    )
    function = Kernel(program).to_casadi()
    x, y = special_values(float)
    converted = function.map(len(x))(x.reshape(1, -1), y.reshape(1, -1))
    read = from_casadi(function)(x, y)
    expected = [z for name in names for z in plain(EXACT[name], x, y)]
    for sent, back, values in zip(converted, read, expected, strict=True):
        assert not values_differ(np.array(sent).ravel(), values).any()
        assert not values_differ(back, values).any()
