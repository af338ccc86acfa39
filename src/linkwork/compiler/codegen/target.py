"""The target of code: its SIMD lanes, its features, and LLVM's view of it."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from typing import Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.host_processor import processor
from linkwork.compiler.codegen.target_system import System, system_of

__all__ = ["EFFORT", "VARIABLE", "Target", "host", "levels"]

VARIABLE, EFFORT = "LINKWORK_SIMD", "LINKWORK_EFFORT"
_EFFORTS = {"0": 0, "1": 1, "2": 2}
_MAX_EFFORT = 2


@dataclass(frozen=True, slots=True)
class Target:
    """A processor: float64 lanes of a vector register, and whether it fuses products and sums.

    ``effort``, 0 to 2, is LLVM's optimization level; results are the same to the bit.  ``runtime`` is the interface to
    the program that calls the code: see `linkwork.compiler.codegen.runtimes`.
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    fma: bool
    effort: int = _MAX_EFFORT
    runtime: str = "python"

    def lanes_of(self, real: FloatType) -> int:
        """Return the number of elements of a type in a vector register."""
        return self.lanes * 64 // real.bits

    @property
    def system(self) -> System:
        """The operating system of the code."""
        return system_of(self.triple)

    def machine(self, max_effort: int = _MAX_EFFORT) -> Any:
        """Return LLVM's target machine, with optimization level ``effort`` but at most ``max_effort``."""
        return _machine_of(self.machine_options(min(self.effort, max_effort)))

    def linker(self) -> Any:
        """Return LLVM's target machine for loading of object files, which is made in less time."""
        return _machine_of({**self.machine_options(0), "cpu": "", "features": ""})

    def machine_options(self, effort: int) -> dict[str, Any]:
        """Return the triple and the options of LLVM's target machine.

        Code for Python is loaded by this process; code for other programs is linked by a linker of the system.
        """
        is_loaded = self.runtime == "python"
        return {
            "triple": self.system.triple(self.triple) if is_loaded else self.triple,
            "cpu": self.cpu,
            "features": self.features,
            "opt": effort,
            "reloc": "static" if is_loaded else "pic",
            "codemodel": self.system.code_model(self.triple) if is_loaded else "default",
        }


def _machine_of(options: dict[str, Any]) -> Any:
    """Return LLVM's target machine with the options of `Target.machine_options`."""
    from linkwork.compiler.codegen.llvm_binding import initialize, llvm

    initialize()
    return llvm.Target.from_triple(options["triple"]).create_target_machine(
        **{name: value for name, value in options.items() if name != "triple"}
    )


def host() -> Target:
    """Return the target of new kernels: this machine, or the level in the environment variable LINKWORK_SIMD.

    LINKWORK_EFFORT is LLVM's optimization level. Raises ValueError for a level that is unknown or that this processor
    cannot run, and for another effort than 0, 1 and 2.
    """
    level = os.environ.get(VARIABLE, "").lower()
    if level and level not in levels():
        raise ValueError(f"{VARIABLE}: expected one of {', '.join(levels())} on this processor, got {level!r}")
    target = levels()[level] if level else _machine()
    effort = os.environ.get(EFFORT) or str(_MAX_EFFORT)
    if effort not in _EFFORTS:
        raise ValueError(f"{EFFORT}: expected one of {', '.join(_EFFORTS)}, got {effort!r}")
    return target if _EFFORTS[effort] == target.effort else replace(target, effort=_EFFORTS[effort])


@cache
def _machine() -> Target:
    host = processor()
    lanes = 8 if "avx512f" in host.has else 4 if "avx" in host.has else 2
    return Target(host.triple, host.name, host.features, lanes, _is_arm(host.triple) or "fma" in host.has)


def _is_arm(triple: str) -> bool:
    return triple.startswith(("aarch64", "arm64"))


@cache
def levels() -> dict[str, Target]:
    """Return the instruction sets that this processor can run, by name, oldest first; the last is the best."""
    machine = _machine()
    if _is_arm(machine.triple):
        return {"neon": machine}
    if not machine.triple.startswith("x86_64"):
        return {"generic": machine}
    features = set(machine.features.split(","))
    result = {"sse2": Target(machine.triple, "x86-64", "", 2, False)}
    if {"+avx2", "+fma", "+bmi", "+bmi2"} <= features:
        result["avx2"] = Target(machine.triple, "x86-64-v3", "", 4, True)
    elif machine.lanes == 4:
        result["avx"] = machine
    if {"+avx512f", "+avx512bw", "+avx512cd", "+avx512dq", "+avx512vl"} <= features:
        result["avx512"] = machine if machine.lanes == 8 else Target(machine.triple, "x86-64-v4", "", 8, True)
    return result
