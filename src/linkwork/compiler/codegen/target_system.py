"""Operating systems as targets of machine code: object files, LLVM's options, and functions that code calls.

All that depends on the system of a `Target` is decided here, by its triple and not by the system that compiles: code
for another system can be written and checked anywhere.

On Windows llvmlite loads only ELF objects, whose triple ends in ``-elf``.  Their code refers to all symbols by 64-bit
addresses (static relocation, large code model).  LLVM's loader confuses the tables of position-independent objects
there.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Literal

from linkwork._util.lazy_dataclass import dataclass

__all__ = ["System", "is_object_file", "sections_of_elf", "system_of"]

_X86_64, _ARM_64 = "x86_64", ("aarch64", "arm64")
_INLINE_PROBES = '"probe-stack"="inline-asm"'


@dataclass(frozen=True, slots=True)
class System:
    """An operating system as target of code; some fields also depend on its processor.

    ``probes`` is a function attribute with which a function with a large frame touches each page of the stack, so that
    it does not jump over the guard page.  It is "" if LLVM calls a function of the system instead (Windows:
    ``__chkstk``).
    """

    name: Literal["windows", "darwin", "posix"]
    objects: Literal["elf", "mach-o"]  # the format of the object files that this process loads
    probes: str
    long_bits: int  # of C's unsigned long, the type of Python's numbers of threads
    monotonic_clock: int  # the number of the clock for ``clock_gettime``; unused on Windows
    assembled_convention: str  # LLVM's name of the calling convention of `BlockAssembler`, unless it is the system's

    def triple(self, triple: str) -> str:
        """Return the LLVM triple of object files that this process loads; ``triple`` is the triple of their target."""
        return f"{triple}-elf" if self._is_elf_of_windows(triple) else triple

    def code_model(self, triple: str) -> str:
        """Return LLVM's code model of object files that this process loads: large, so that any address is possible.

        For Windows on ARM, and for processors without this model, llvmlite selects the model.
        """
        has_large = triple.startswith(_X86_64) or (triple.startswith(_ARM_64) and self.name != "windows")
        return "large" if has_large else "jitdefault"

    def _is_elf_of_windows(self, triple: str) -> bool:
        """Return True for Windows on x86-64; on other processors llvmlite selects the format and the code model."""
        return self.name == "windows" and triple.startswith(_X86_64)


_WINDOWS = System("windows", "elf", "", 32, 0, "x86_64_sysvcc")
_DARWIN = System("darwin", "mach-o", _INLINE_PROBES, 64, 6, "")
_POSIX = System("posix", "elf", _INLINE_PROBES, 64, 1, "")


@cache
def system_of(triple: str) -> System:
    """Return the operating system of a triple, as in "x86_64-pc-windows-msvc"."""
    if "windows" in triple:
        return _WINDOWS
    return _DARWIN if any(name in triple for name in ("darwin", "macos", "ios")) else _POSIX


_MACH_O = b"\xcf\xfa\xed\xfe"
# Numbers of processors in ELF and Mach-O files.
_PROCESSORS = {_X86_64: (62, 0x0100_0007), **dict.fromkeys(_ARM_64, (183, 0x0100_000C))}
_ELF = b"\x7fELF\x02\x01\x01"  # of 64 bit, little endian
_SECTION = struct.Struct("<4xIQ8xQQ24x")  # the header of a section: type, flags, offset, size
_RELOCATABLE, _HEADER_BYTES = 1, 64
_WITHOUT_CONTENT = (0, 8)  # types of sections that have no content in the file


def sections_of_elf(code: bytes) -> list[tuple[int, int, int, int]] | None:
    """Return type, flags, offset and size of the sections of an ELF file; None for files of another format."""
    if len(code) < _HEADER_BYTES or code[: len(_ELF)] != _ELF:
        return None
    start, count = struct.unpack_from("<Q", code, 40)[0], struct.unpack_from("<H", code, 60)[0]
    if start + _SECTION.size * count > len(code):
        return None
    return [*_SECTION.iter_unpack(memoryview(code)[start : start + _SECTION.size * count])]


def is_object_file(code: bytes, triple: str) -> bool:
    """Return True if the bytes look like an object file that a process with this triple can load.

    LLVM aborts the process on other data, and on code of another processor. For ELF files the positions of sections are
    checked.
    """
    elf, mach_o = _PROCESSORS.get(triple.partition("-")[0], (None, None))
    if system_of(triple).objects == "mach-o":
        return code[:4] == _MACH_O and code[4:8] == (code[4:8] if mach_o is None else struct.pack("<I", mach_o))
    sections = sections_of_elf(code)
    if sections is None:
        return False
    kind, made_for = struct.unpack_from("<HH", code, 16)
    size, count, names = struct.unpack_from("<HHH", code, 58)
    if kind != _RELOCATABLE or made_for != (elf or made_for) or size != _SECTION.size or not 0 < names < count:
        return False
    return all(offset + size <= len(code) for kind, _, offset, size in sections if kind not in _WITHOUT_CONTENT)
