"""Translation of generic Python functions to JavaScript: tracing on symbols gives a line for each instruction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from linkwork.kernels import instructions

__all__ = ["HELPERS", "OPERATIONS", "UntranslatedError", "javascript_function"]

# JavaScript of each operation of `linkwork.expr.scalar.functions`, with its arguments in braces.
OPERATIONS: dict[str, str] = {
    "neg": "-{}",
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "abs": "Math.abs({})",
    "eq": "{} === {}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "and_": "{} && {}",
    "or_": "{} || {}",
    "not_": "!{}",
    "where": "{} ? {} : {}",
    "copysign": "copysign({}, {})",
    "pow": "power({}, {})",
    "fmin": "fmin({}, {})",
    "fmax": "fmax({}, {})",
    **{
        name: f"Math.{name}({{}})"
        for name in (
            *("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
            *("asinh", "acosh", "atanh", "expm1", "log1p", "log2", "log10", "cbrt", "sign", "floor"),
        )
    },
    **{name: f"Math.{name}({{}}, {{}})" for name in ("hypot", "atan2")},
    "exp2": "2 ** {}",
    "fmod": "{} % {}",
    "mod": "mod({}, {})",
    "sinc": "sinc({})",
    "nan_to_num": "finite({})",
}

# Functions that these use; JavaScript does not have them, or with other values at infinity and NaN.
HELPERS = """\
const copysign = (x, y) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x));
const power = (x, y) => (x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : Math.pow(x, y));
const fmin = (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.min(x, y));
const mod = (x, y) => (((r) => (r * y < 0 ? r + y : r === 0 ? copysign(0, y) : r))(x % y));
const sinc = (x) => (x === 0 ? 1 : x % 1 === 0 ? 0 : Math.sin(Math.PI * x) / (Math.PI * x));
const finite = (x) => (Number.isNaN(x) ? 0 : Math.max(-Number.MAX_VALUE, Math.min(x, Number.MAX_VALUE)));
const take = (x, table, columns) => {
  const row = Math.min(Math.max(Math.floor(x), 0), table.length / columns - 1);
  return Array.from({ length: columns }, (_, k) => (Number.isNaN(x) ? NaN : table[row * columns + k]));
};
const fmax = (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y));
"""


class UntranslatedError(ValueError):
    """The traced function has an operation that cannot be translated to JavaScript, such as a loop."""


def javascript_function(function: Callable[[Sequence[Any]], Sequence[Any]], size: int) -> str:
    """Return the JavaScript of a function of one array of ``size`` numbers.

    ``function`` is generic over the scalar type and returns a sequence of scalars; the result is the text of a
    JavaScript function ``(q) => {...}`` that returns an array. Raises UntranslatedError.
    """
    traced, results = instructions(function, size)
    values: list[str] = []
    lines, tables = [], []
    for k, (operation, arguments, value) in enumerate(traced):
        if operation.name == "input":
            values.append(f"q[{value}]")
        elif operation.name == "constant":
            values.append(_number(value))
        elif operation.name in OPERATIONS:
            lines.append(f"const v{k}={OPERATIONS[operation.name].format(*(values[a] for a in arguments))};")
            values.append(f"v{k}")
        elif operation.name == "take":  # a constant table is stored once, beside the function
            index, *elements = (values[a] for a in arguments)
            table = f"[{','.join(elements or map(_number, value.table))}]"
            if not elements:
                tables.append(f"const t{k}={table};")
            lines.append(f"const v{k}=take({index},{table if elements else f't{k}'},{value.columns});")
            values.append(f"v{k}")
        elif operation.name == "part":
            values.append(f"{values[arguments[0]]}[{value}]")
        else:
            raise UntranslatedError(f"the operation {operation.name!r} cannot run in a page")
    code = f"(q)=>{{{''.join(lines)}return [{','.join(values[r] for r in results)}];}}"
    return f"(()=>{{{''.join(tables)}return {code};}})()" if tables else code


def _number(value: float) -> str:
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0.0 else "(-Infinity)"
    text = repr(value).removesuffix(".0")
    return f"({text})" if text.startswith("-") else text
