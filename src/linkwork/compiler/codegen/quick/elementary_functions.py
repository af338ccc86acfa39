"""Elementary functions for code that is written without LLVM, each in an object file that all kernels share.

LLVM compiles such a function once in a process.  It is the one that LLVM's code of kernels calls, so results are the
same to the bit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.jit import emit
from linkwork.compiler.codegen.llvm_ir import IrModule, structure
from linkwork.compiler.codegen.simd_values import LaneBuilder
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.codegen.vector_math import vector_function

__all__ = ["elementary_function", "symbol_of"]


def symbol_of(code: str, real: FloatType) -> str:
    """Return the name of an elementary function in object files."""
    return f"linkwork.{code}.{real.name}"


def elementary_function(code: str, arguments: int, real: FloatType, target: Target) -> bytes:
    """Return the object file of an elementary function of one number or two; ``code`` is one of `vector_math.CODES`."""
    return _object(code, arguments, real, replace(target, effort=0))


@cache
def _object(code: str, arguments: int, real: FloatType, target: Target) -> bytes:
    inner = vector_function(code, 1, real.bits, target.fma)
    returned = structure([real.name, real.name]) if code == "sincos" else real.name
    listed = ", ".join(f"{real.name} %a{k}" for k in range(arguments))
    f = LaneBuilder(f"define {returned} @{symbol_of(code, real)}({listed})", 1, target.fma)
    f.needs.append(inner)
    f.end = f"ret {returned} {f.let(f'call {returned} {inner.name}({listed})')}"
    module = IrModule()
    module.add(f)
    (result,) = emit([f'target triple = "{target.triple}"\n{module}\nattributes #0 = {{ nounwind }}\n'], target)
    return result
