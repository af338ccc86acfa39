"""The processor's floating-point flags, which code that is called saves and restores, in LLVM IR."""

from __future__ import annotations

from linkwork.compiler.codegen.llvm_ir import IrFunction
from linkwork.compiler.codegen.target import Target

__all__ = ["restore_flags", "save_flags", "set_default_flags"]


def save_flags(f: IrFunction, target: Target) -> str:
    """Save the processor's floating-point flags; has no effect on unknown processors."""
    if target.triple.startswith("x86_64"):
        f.declare("declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)")
        saved = f.let("alloca i32, align 4")
        f.do(f"call void @llvm.x86.sse.stmxcsr(ptr {saved})")
        return saved
    if target.triple.startswith(("aarch64", "arm64")):
        f.declare("declare i64 @llvm.aarch64.get.fpsr()", "declare void @llvm.aarch64.set.fpsr(i64)")
        return f.let("call i64 @llvm.aarch64.get.fpsr()")
    return ""


_DEFAULT_MXCSR = 0x1F80  # all exceptions masked, round to nearest, denormal numbers


def set_default_flags(f: IrFunction, target: Target) -> None:
    """Set rounding to nearest and denormal numbers, as C programs begin; after `save_flags`."""
    if target.triple.startswith("x86_64"):
        setting = f.let("alloca i32, align 4")
        f.store("i32", str(_DEFAULT_MXCSR), setting, 4)
        f.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {setting})")


def restore_flags(f: IrFunction, target: Target, saved: str) -> None:
    """Restore the flags that `save_flags` returned."""
    if target.triple.startswith("x86_64"):
        f.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {saved})")
    elif saved:
        f.do(f"call void @llvm.aarch64.set.fpsr(i64 {saved})")
