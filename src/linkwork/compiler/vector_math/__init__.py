"""Elementary functions as LLVM IR text whose lanes are independent arguments, in float64 and float32.

The value is the same, bit for bit, for every lane count: every lane goes through the same operations in the same
order, no operation carries a fast-math flag and no library function is called.  What is called are LLVM intrinsics
that have instructions on every 64-bit target (`llvm.fma` only where the caller says that the target fuses).

Rounding to nearest is assumed, as LLVM assumes it; where a thread flushes subnormal numbers, they are zeros.
"""

from __future__ import annotations

from collections.abc import Callable

from . import exponential, inverse, logarithm, power, root
from .circular import sincos as _sincos
from .circular32 import sincos32 as _sincos32
from .emitter import Code, Definition, Real, define, function_name
from .single import single
from .tangent import tan as _tan

__all__ = ["CODES", "LANES", "Definition", "sincos", "vector_function"]

LANES = (1, 2, 4, 8, 16)
_BODIES: dict[str, tuple[Callable[..., Real], str]] = {  # what writes the float64 function, and its arguments
    "asin": (inverse.asin, "x"),
    "acos": (inverse.acos, "x"),
    "atan": (inverse.atan, "x"),
    "atan2": (inverse.atan2, "yx"),
    "exp": (exponential.exp, "x"),
    "log": (logarithm.log, "x"),
    "pow": (power.pow, "xy"),
    "hypot": (root.hypot, "xy"),
    "sinh": (exponential.sinh, "x"),
    "cosh": (exponential.cosh, "x"),
    "tanh": (exponential.tanh, "x"),
}
CODES = ("sincos", "tan", *_BODIES)


def vector_function(code: str, lanes: int, bits: int, fma: bool) -> tuple[Definition, ...]:
    """The function of that name on `lanes` numbers of `bits` bits, last, and before it the functions it calls.

    With T for float64 (`bits` 64) or float32 (32) or vectors of them, it is `T (T %a)`; `T (T %a, T %b)` for atan2,
    pow and hypot; and `{T, T} (T %a)`, the pair of sine and cosine, for sincos.  `fma` says that the target has an
    instruction for the fused multiply-add (where it has not, LLVM would call the C library); the two variants differ
    in the last bit here and there.
    """
    if lanes not in LANES:
        raise ValueError(f"vector functions have 1, 2, 4, 8 or 16 lanes, not {lanes}")
    if bits not in (32, 64):
        raise ValueError(f"vector functions have 32 or 64 bits, not {bits}")
    if code == "sincos":
        return _sincos(lanes, fma) if bits == 64 else _sincos32(lanes, fma)
    if code not in CODES:
        raise ValueError(f"no vector function {code!r}")
    if bits == 64:
        return _double(code, lanes, fma)
    wide_lanes = lanes // 2 if lanes > 2 else lanes  # a register holds half as many float64
    wide = _double(code, wide_lanes, fma)
    return (*wide, single(code, lanes, wide, wide_lanes, _BODIES[code][1] if code in _BODIES else "x"))


def _double(code: str, lanes: int, fma: bool) -> tuple[Definition, ...]:
    if code == "tan":
        return _tan(lanes, fma)
    body, arguments = _BODIES[code]
    return (define(function_name(code, 64, lanes), 64, Code(lanes, fma), body, arguments),)


def sincos(lanes: int, fma: bool) -> Definition:
    """The float64 `sincos` with everything that it calls in one text."""
    definitions = vector_function("sincos", lanes, 64, fma)
    declarations = dict.fromkeys(text for d in definitions[:-1] for text in (*d.declarations, d.ir))
    own = definitions[-1]
    return Definition(own.name, own.ir, tuple(dict.fromkeys([*declarations, *own.declarations])))
