"""The machine that code is made for: its SIMD lanes, its features, and LLVM's view of it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm

__all__ = ["LLVM_LOCK", "Target", "host"]

LLVM_LOCK = threading.RLock()  # LLVM's global context is not for two threads at once


@dataclass(frozen=True, slots=True)
class Target:
    """A processor: float64 lanes of a vector register, and whether it fuses products and sums."""

    triple: str
    cpu: str
    features: str
    lanes: int
    fma: bool

    def machine(self) -> Any:
        """LLVM's target machine."""
        _initialize()
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=2, reloc="default", codemodel="jitdefault"
        )


@cache
def _initialize() -> None:
    """Make LLVM's knowledge of this machine's processors available."""
    with LLVM_LOCK:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()


@cache
def host() -> Target:
    """This machine."""
    with LLVM_LOCK:
        _initialize()
        features = dict(llvm.get_host_cpu_features())
        triple = llvm.get_process_triple()
        arm = triple.startswith(("aarch64", "arm64"))
        lanes = 8 if features.get("avx512f") else 4 if features.get("avx") else 2
        flags = ",".join(("+" if on else "-") + name for name, on in sorted(features.items()))
        return Target(triple, llvm.get_host_cpu_name(), flags, lanes, arm or bool(features.get("fma")))
