"""Elementary functions as LLVM IR text whose lanes are independent arguments, in float64 and float32.

The value is the same, bit for bit, for every number of lanes: every lane goes through the same operations in the same
order, no operation has a fast-math flag and no library function is called. LLVM intrinsics are called only if they are
instructions on every 64-bit target (`llvm.fma` only if the caller states that the target has fused multiply-add).

Rounding to nearest is assumed, as in LLVM; in threads that flush subnormal numbers, these numbers are zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.codegen.llvm_ir import IrFunction, structure
from linkwork.compiler.codegen.simd_values import FloatLanes, LaneBuilder
from linkwork.compiler.codegen.vector_math import exponential_and_logarithm as powers
from linkwork.compiler.codegen.vector_math import float32_functions as single
from linkwork.compiler.codegen.vector_math import inverse_functions as inverse
from linkwork.compiler.codegen.vector_math import piecewise
from linkwork.compiler.codegen.vector_math import sincos as circular
from linkwork.compiler.codegen.vector_math import sincos as tangent
from linkwork.compiler.codegen.vector_math import sincos_float32 as circular32

__all__ = ["CODES", "LANES", "vector_function"]

LANES = (1, 2, 4, 8, 16)

Body = Callable[..., FloatLanes | tuple[FloatLanes, FloatLanes]]

_BODIES: dict[str, tuple[Body, str]] = {  # the writer of the float64 function, and its arguments
    "sincos": (circular.sincos, "x"),
    "tan": (tangent.tan, "x"),
    "asin": (inverse.asin, "x"),
    "acos": (inverse.acos, "x"),
    "atan": (inverse.atan, "x"),
    "atan2": (inverse.atan2, "yx"),
    "exp": (powers.exp, "x"),
    "exp2": (powers.exp2, "x"),
    "expm1": (powers.expm1, "x"),
    "log": (powers.log, "x"),
    "log1p": (powers.log1p, "x"),
    "log2": (powers.log2, "x"),
    "log10": (powers.log10, "x"),
    "pow": (powers.pow, "xy"),
    "cbrt": (piecewise.cbrt, "x"),
    "hypot": (inverse.hypot, "xy"),
    "sinh": (powers.sinh, "x"),
    "cosh": (powers.cosh, "x"),
    "tanh": (powers.tanh, "x"),
    "asinh": (inverse.asinh, "x"),
    "acosh": (inverse.acosh, "x"),
    "atanh": (inverse.atanh, "x"),
    "sinc": (circular.sinc, "x"),
    "fmod": (piecewise.fmod, "xy"),
    "mod": (piecewise.mod, "xy"),
    "nan_to_num": (piecewise.nan_to_num, "x"),
}
# float32 functions; of the others, the float64 function of wider numbers, whose result is rounded once more
_BODIES_32: dict[str, Body] = {"sincos": circular32.sincos32, "nan_to_num": piecewise.nan_to_num, **single.BODIES}
CODES = tuple(_BODIES)


def _widened(body: Body) -> Body:
    return lambda code, *x: body(code, *(a.widened() for a in x)).narrowed()  # type: ignore[union-attr]


@cache
def vector_function(code: str, lanes: int, bits: int, fma: bool) -> IrFunction:
    """Return the elementary function ``code``, such as "exp", as an LLVM function of numbers of ``bits`` bits.

    Repeated calls return the same object.  Let T be a vector of ``lanes`` such numbers, or the scalar for one lane.
    The LLVM type is `T (T %a)`; `T (T %a, T %b)` for functions of two arguments; and `{T, T} (T %a)`, sine and cosine,
    for sincos.  ``fma`` states that the target has an instruction for the fused multiply-add (without it, LLVM would
    call the C library).  The variants with and without it differ occasionally in the last bit.
    """
    if lanes not in LANES:
        raise ValueError(f"vector_function: lanes: expected 1, 2, 4, 8 or 16, got {lanes}")
    if bits not in (32, 64):
        raise ValueError(f"vector_function: bits: expected 32 or 64, got {bits}")
    if code not in _BODIES:
        raise ValueError(f"vector_function: code: expected one of {', '.join(CODES)}, got {code!r}")
    body, arguments = _BODIES[code]
    real = DOUBLE
    if bits == 32:
        body, real = _BODIES_32.get(code) or _widened(body), SINGLE
    kind, name = real.vector(lanes), f"@lw.{code}.f{bits}x{lanes}"
    returned = structure([kind, kind]) if code == "sincos" else kind
    parameters = ", ".join(f"{kind} %{a}" for a in arguments)
    f = LaneBuilder(f"define internal {returned} {name}({parameters})", lanes, fma, "noinline nounwind")
    results = body(f, *(FloatLanes(f, f"%{a}", real) for a in arguments))
    value = f.structure_of([kind, kind], [r.name for r in results]) if isinstance(results, tuple) else results.name
    f.end = f"ret {returned} {value}"
    f.is_shared = lanes == 1
    return f
