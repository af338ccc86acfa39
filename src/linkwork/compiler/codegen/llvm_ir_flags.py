"""The processor's floating-point flags, left as they were found, in LLVM IR.

NumPy makes warnings of them, and a branch of ``where`` that is not chosen may well divide by zero.
"""

from __future__ import annotations

from linkwork.compiler.codegen.llvm_ir import Function
from linkwork.compiler.codegen.target import Target

__all__ = ["restore_flags", "save_flags"]


def save_flags(f: Function, target: Target) -> str:
    """Keep the processor's floating-point flags; on processors not known here they are let be."""
    if target.triple.startswith("x86_64"):
        f.declare("declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)")
        kept = f.let("alloca i32, align 4")
        f.do(f"call void @llvm.x86.sse.stmxcsr(ptr {kept})")
        return kept
    if target.triple.startswith(("aarch64", "arm64")):
        f.declare("declare i64 @llvm.aarch64.get.fpsr()", "declare void @llvm.aarch64.set.fpsr(i64)")
        return f.let("call i64 @llvm.aarch64.get.fpsr()")
    return ""


def restore_flags(f: Function, target: Target, kept: str) -> None:
    if target.triple.startswith("x86_64"):
        f.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {kept})")
    elif kept:
        f.do(f"call void @llvm.aarch64.set.fpsr(i64 {kept})")
