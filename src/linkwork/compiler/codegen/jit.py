"""From LLVM IR to machine code in this process.

A kernel's code is several modules, which are compiled at the same time on the processors there are.  What LLVM makes of
a module is an object file, which can be kept and linked into another process: addresses of this one are in none (see
`fastcall`).
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from linkwork._util.thread_pool import run
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.loops.interrupt_checks import SYMBOL, attention_text
from linkwork.compiler.runtime.cpython import keep_alive
from linkwork.compiler.runtime.threads import LLVM_LOCK, run_without_lock

__all__ = ["MachineCode", "assembly", "emit", "is_object_file", "link", "text_bytes"]

_QUICKLY = 4_000_000  # characters of LLVM IR; more is compiled with fewer attempts to improve it, in half of the time


@dataclass(frozen=True)
class MachineCode:
    """An entry in memory: its addresses hold as long as its owner lives."""

    address: int
    table: int  # the address of the data to be filled in, or 0
    owner: Any  # see `held`


def emit(texts: Sequence[str], target: Target, waiting: Callable[[], float | None] = lambda: None) -> list[bytes]:
    """An object file for each module.  ``waiting`` is called meanwhile: see `linkwork._util.thread_pool.run`."""
    return _all_emitted(texts, target, waiting, assembly=False)


def assembly(texts: Sequence[str], target: Target) -> str:
    """The processor's instructions, as text."""
    return "\n".join(text.decode() for text in _all_emitted(texts, target, lambda: None, assembly=True))


def _all_emitted(
    texts: Sequence[str], target: Target, waiting: Callable[[], float | None], *, assembly: bool
) -> list[bytes]:
    """What LLVM makes of every module, several at a time."""
    most = 1 if sum(map(len, texts)) > _QUICKLY else 2
    return run([partial(_emitted, text, target, most, assembly=assembly) for text in texts], waiting=waiting)


def _emitted(text: str, target: Target, most: int, *, assembly: bool) -> bytes:
    """What LLVM makes of a module, in a context of its own, so that others may do the same at the same time."""
    with LLVM_LOCK:
        machine = target.machine(most)
        context = llvm.create_context()
        module = llvm.parse_assembly(text, context)
        module.data_layout = str(machine.target_data)
    try:
        with ffi.OutputString() as error:
            emit_to_memory = _emit_without_lock()
            buffer = run_without_lock(lambda: emit_to_memory(machine, module, int(not assembly), error))
            if not buffer:
                raise RuntimeError(f"LLVM could not compile a module: {error}")
        try:
            start, size = ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
            return ctypes.string_at(start, size)
        finally:
            ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)
    finally:
        module.close()
        context.close()


@cache
def _emit_without_lock() -> Any:
    """llvmlite's function that compiles a module, without the lock that llvmlite holds while it calls LLVM.

    LLVM itself compiles modules of different contexts at the same time; where llvmlite should come to look different,
    one waits for the other.
    """
    locked = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    return getattr(locked, "_cfn", locked)


def text_bytes(code: bytes) -> int:
    """How many bytes of an object file are the processor's instructions."""
    with LLVM_LOCK:
        return sum(section.size() for section in llvm.ObjectFileRef.from_data(code).sections() if section.is_text())


def is_object_file(code: bytes) -> bool:
    """Whether this looks like an object file of this system: LLVM ends the process where it is given something else.

    Of ELF files, Linux's, sections are looked for where they should be.
    """
    if sys.platform == "win32":
        return code[:2] in (b"\x64\x86", b"\x64\xaa")  # COFF, of x86-64 and ARM64
    if sys.platform == "darwin":
        return code[:4] == b"\xcf\xfa\xed\xfe"  # Mach-O
    if len(code) < 64 or code[:7] != b"\x7fELF\x02\x01\x01":
        return False
    kind, start = struct.unpack_from("<H", code, 16)[0], struct.unpack_from("<Q", code, 40)[0]
    size, count, names = struct.unpack_from("<HHH", code, 58)
    if kind != 1 or size != 64 or not 0 < names < count or start + size * count > len(code):
        return False
    for place in range(start, start + size * count, size):
        section, (offset, length) = (
            struct.unpack_from("<I", code, place + 4)[0],
            struct.unpack_from("<QQ", code, place + 24),
        )
        if section not in (0, 8) and offset + length > len(code):  # those hold nothing in the file
            return False
    return True


def link(objects: Sequence[bytes], target: Target, function: str, table: str = "") -> MachineCode:
    """Load object files, for a function in them and, where one is named, a table of data.

    A call of a function that was loaded before goes straight to it, and one of a later one takes a detour.
    """
    if any(SYMBOL.encode() in code for code in objects):
        _attention(target)
    return _linked(objects, target, function, table)


def _linked(objects: Sequence[bytes], target: Target, function: str, table: str) -> MachineCode:
    """Load object files.

    On the main thread another thread does it: llvmlite acquires its lock in Python, where a signal handler that raises
    would leave it held, and handlers run on the main thread alone.
    """

    def load() -> MachineCode:
        with LLVM_LOCK:
            # an engine that compiles a module keeps it, and megabytes of what that took; one that links an object does
            # not
            engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.machine())
            for code in objects:
                engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            engine.finalize_object()
            address = engine.get_function_address(function)
            return MachineCode(address, engine.get_global_value_address(table) if table else 0, keep_alive(engine))

    if threading.current_thread() is not threading.main_thread():
        return load()
    (machine_code,) = run([load])
    return machine_code


@cache
def _attention(target: Target) -> MachineCode:
    """Make the function that long loops call (see `interrupt_functions`) known to LLVM until the process ends."""
    function = _linked(emit([attention_text(target.triple)], replace(target, effort=0)), target, SYMBOL, "")
    llvm.add_symbol(SYMBOL, function.address)
    return function
