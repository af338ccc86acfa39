"""The target of code: the processor as LLVM names it, SIMD lanes, features, and LLVM's view of them.

The cache stores LLVM's description of the processor, named by the system's description and by the file of LLVM's
library.  So code in the cache is found without LLVM.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import llvmlite
import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.thread_tasks import on_own_thread
from linkwork.compiler.cache.disk_cache import Entry, digest, shared
from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.target_system import System, system_of

__all__ = ["EFFORT", "VARIABLE", "Processor", "Target", "host", "levels", "processor"]

VARIABLE, EFFORT = "LINKWORK_SIMD", "LINKWORK_EFFORT"
_EFFORTS = {"0": 0, "1": 1, "2": 2}
_MAX_EFFORT = 2


_X86 = "vendor_id", "cpu family", "model", "model name", "stepping", "flags"  # lines of a processor of x86
_ARM = "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"  # of ARM
_ABOUT = {"x86_64": _X86, "aarch64": _ARM}  # by the name of the architecture
# Features of Linux for registers of vectors, with the beginnings of LLVM's names of the features that need them.
_OF_REGISTERS = {
    "avx": ("avx", "fma", "f16c", "xop", "vaes", "vpclmulqdq", "sha512", "sm3", "sm4"),
    "avx512f": ("avx512", "avx10"),
}
_REGISTRY = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
_OF_REGISTRY = "VendorIdentifier", "ProcessorNameString", "Identifier", "FeatureSet"
_FEATURES_OF_WINDOWS = 64  # numbers of features that Windows defines, or may define
_MOST_READ = 1 << 14  # [bytes] of the list of processors, more than the entry of one


class Processor(NamedTuple):
    """A processor, its features as LLVM takes them ("+avx,-sse4a"), and the versions of llvmlite and LLVM."""

    triple: str
    name: str
    features: str
    llvmlite: str
    llvm: str

    @property
    def has(self) -> frozenset[str]:
        """Names of the processor's features, such as "avx2", without those that are missing."""
        return frozenset(feature[1:] for feature in self.features.split(",") if feature[:1] == "+")


@cache
def processor() -> Processor:
    """Return this machine's processor, from the cache if it has it."""
    about, cache = _about(), shared()
    if about is None or cache is None:
        return on_own_thread(_from_llvm)
    name = f"{digest(['processor'], about)}-processor"
    entry = cache.load(name)
    stored = None if entry is None else entry.facts.get("processor")
    if isinstance(stored, list) and len(stored) == len(Processor._fields) and all(type(x) is str for x in stored):
        return Processor(*stored)
    detected = on_own_thread(_from_llvm)
    cache.store(name, Entry({"kernel": "processor", "processor": [*detected]}, b""))
    return detected


def _from_llvm() -> Processor:
    """Return the processor as LLVM detects it."""
    from linkwork.compiler.codegen.llvm_binding import initialize, llvm
    from linkwork.compiler.runtime.threads import LLVM_LOCK

    with LLVM_LOCK:
        initialize()
        features = _feature_list(llvm.get_host_cpu_features(), _flags_of_linux())
        versions = llvmlite.__version__, repr(llvm.llvm_version_info)
        return Processor(llvm.get_process_triple(), llvm.get_host_cpu_name(), features, *versions)


def _feature_list(detected: Mapping[str, bool], flags: frozenset[str] | None) -> str:
    """Return the processor's features in LLVM's notation, without features of registers that Linux does not save.

    ``detected`` are LLVM's features, from the processor's instruction CPUID.  ``flags`` are the features that Linux
    reports, if known: a processor or a virtual machine may report AVX or AVX-512 though the system cannot use it.
    """
    missing = () if flags is None else tuple(x for name, x in _OF_REGISTERS.items() if name not in flags)
    unsaved = {name for name in detected if any(name.startswith(prefixes) for prefixes in missing)}
    return ",".join(("+" if on and name not in unsaved else "-") + name for name, on in sorted(detected.items()))


def _about() -> list[str] | None:
    """Return texts that identify the processor and LLVM's library, as the system describes them; None if unknown."""
    folder = os.path.join(os.path.dirname(llvmlite.__file__ or ""), "binding")
    library = "llvmlite.dll" if sys.platform == "win32" else "libllvmlite.so"
    try:
        words = _words_of_windows() if sys.platform == "win32" else _words_of_linux()
        state = os.stat(os.path.join(folder, library))
    except OSError:
        return None
    features = _features_of_numpy()
    if words is None or features is None:
        return None
    return [*words, *features, llvmlite.__version__, folder, str(state.st_size), str(state.st_mtime_ns)]


def _words_of_linux() -> list[str] | None:
    """Return Linux's description of the first processor; None if it is incomplete.  Raises OSError."""
    machine = os.uname().machine
    names = _ABOUT.get(machine, ())
    words = {key: value for key, value in _lines_of_linux() if key in names}
    return [machine, *words.values()] if names and words.keys() == {*names} else None


def _lines_of_linux() -> list[tuple[str, str]]:
    """Return the names and the values that Linux reports of the first processor.  Raises OSError."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        first = file.read(_MOST_READ).partition("\n\n")[0]
    return [(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in first.split("\n"))]


def _flags_of_linux() -> frozenset[str] | None:
    """Return the features that Linux reports of an x86 processor; None if unknown, as on other systems."""
    try:
        flags = dict(_lines_of_linux() if sys.platform == "linux" else ()).get("flags")
    except OSError:
        return None
    return None if flags is None else frozenset(flags.split())


def _words_of_windows() -> list[str]:
    """Return Windows' description of the first processor, with each reported feature.  Raises OSError."""
    import ctypes
    import winreg

    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _REGISTRY) as key:  # type: ignore[attr-defined,unused-ignore]
        words = [str(winreg.QueryValueEx(key, name)[0]) for name in _OF_REGISTRY]  # type: ignore[attr-defined,unused-ignore]
    has = ctypes.CDLL("kernel32").IsProcessorFeaturePresent
    return [*words, *(str(k) for k in range(_FEATURES_OF_WINDOWS) if has(k))]


def _features_of_numpy() -> list[str] | None:
    """Return the features that NumPy read by CPUID, which Valgrind and emulators change; None if unknown."""
    core: Any = getattr(np, "_core", None)
    features = getattr(getattr(core, "_multiarray_umath", None), "__cpu_features__", None)
    return None if features is None else sorted(name for name, on in features.items() if on)


@dataclass(frozen=True, slots=True)
class Target:
    """A processor as target of code: its triple and features, and the number of float64 lanes of a vector register.

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
        """Return LLVM's target machine for loading object files, which takes less time to create."""
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
    cannot run, and for an effort other than 0, 1 or 2.
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
    """Return the targets that this processor can run code for, by the name of their SIMD level, oldest first."""
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
