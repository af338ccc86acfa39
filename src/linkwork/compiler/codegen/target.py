"""The machine that code is made for: its SIMD lanes, its features, and LLVM's view of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from linkwork.compiler.codegen.float_type import Real
from linkwork.compiler.runtime.threads import LLVM_LOCK

__all__ = ["EFFORT", "VARIABLE", "Target", "host", "levels"]

VARIABLE, EFFORT = "LINKWORK_SIMD", "LINKWORK_EFFORT"
_EFFORTS = {"0": 0, "1": 1, "2": 2}
_MOST = 2


@dataclass(frozen=True, slots=True)
class Target:
    """A processor: float64 lanes of a vector register, and whether it fuses products and sums.

    And how much LLVM does for fast code on it, 0 to 2: what is computed is the same to the bit.
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    fma: bool
    effort: int = _MOST

    def lanes_of(self, real: Real) -> int:
        """How many numbers of a type a vector register holds."""
        return self.lanes * 64 // real.bits

    def machine(self, most: int = _MOST) -> Any:
        """LLVM's target machine, of no more than this effort."""
        _initialize()
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=min(self.effort, most),
            reloc="default",
            codemodel="jitdefault",
        )


@cache
def _initialize() -> None:
    """Make LLVM's knowledge of this machine's processors available."""
    with LLVM_LOCK:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()


def host() -> Target:
    """The target of kernels made now: this machine, or the level that the environment variable LINKWORK_SIMD names.

    LINKWORK_EFFORT is how much LLVM does for fast code.  Raises ValueError for a level that is not known or that this
    processor cannot run, and for another effort than 0, 1 and 2.
    """
    asked = os.environ.get(VARIABLE, "").lower()
    if asked and asked not in levels():
        raise ValueError(f"{VARIABLE}: expected one of {', '.join(levels())} on this processor, got {asked!r}")
    target = levels()[asked] if asked else _machine()
    effort = os.environ.get(EFFORT) or str(_MOST)
    if effort not in _EFFORTS:
        raise ValueError(f"{EFFORT}: expected one of {', '.join(_EFFORTS)}, got {effort!r}")
    return target if _EFFORTS[effort] == target.effort else replace(target, effort=_EFFORTS[effort])


@cache
def _machine() -> Target:
    with LLVM_LOCK:
        _initialize()
        features = dict(llvm.get_host_cpu_features())
        triple = llvm.get_process_triple()
        lanes = 8 if features.get("avx512f") else 4 if features.get("avx") else 2
        flags = ",".join(("+" if on else "-") + name for name, on in sorted(features.items()))
        return Target(triple, llvm.get_host_cpu_name(), flags, lanes, _is_arm(triple) or bool(features.get("fma")))


def _is_arm(triple: str) -> bool:
    return triple.startswith(("aarch64", "arm64"))


@cache
def levels() -> dict[str, Target]:
    """The instruction sets that this processor can run, by name, oldest first: the last is what it can do at best."""
    here = _machine()
    if _is_arm(here.triple):
        return {"neon": here}
    if not here.triple.startswith("x86_64"):
        return {"generic": here}
    features = set(here.features.split(","))
    result = {"sse2": Target(here.triple, "x86-64", "", 2, False)}
    if {"+avx2", "+fma", "+bmi", "+bmi2"} <= features:
        result["avx2"] = Target(here.triple, "x86-64-v3", "", 4, True)
    if {"+avx512f", "+avx512bw", "+avx512cd", "+avx512dq", "+avx512vl"} <= features:
        result["avx512"] = here if here.lanes == 8 else Target(here.triple, "x86-64-v4", "", 8, True)
    return result
