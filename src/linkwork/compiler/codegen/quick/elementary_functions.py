"""Elementary functions of quick code, each in an object file that all kernels share.

LLVM compiles such a function once in a process.  The best code of kernels contains the same function, so results are
equal to the bit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from linkwork.compiler.codegen.jit import emit
from linkwork.compiler.codegen.llvm_ir import IrFunction, IrModule
from linkwork.compiler.codegen.target import Target

__all__ = ["elementary_function"]


def elementary_function(function: IrFunction, target: Target) -> bytes:
    """Return the object file of a function of `linkwork.compiler.codegen.vector_math`, of one lane."""
    return _object(function, replace(target, effort=0))


@cache
def _object(function: IrFunction, target: Target) -> bytes:
    module = IrModule()
    module.add(function)
    visible = f"define {target.system.assembled_convention}".rstrip()
    text = str(module).replace(function.signature, function.signature.replace("define internal", visible))
    (result,) = emit([f'target triple = "{target.triple}"\n{text}\nattributes #0 = {{ nounwind }}\n'], target)
    return result
