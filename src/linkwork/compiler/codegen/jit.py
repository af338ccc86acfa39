"""Compilation of LLVM IR to machine code, and loading it into this process.

A kernel's code consists of several modules, which are compiled in parallel on the available processors. LLVM compiles a
module to an object file, which can be stored and linked into another process: it contains no addresses of this process
(see `linkwork.compiler.runtime.fastcall`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.thread_safety import Lock
from linkwork._util.thread_tasks import deleted_on_own_thread, on_own_thread
from linkwork.compiler.backend import Module
from linkwork.compiler.cache.disk_cache import Entry, digest, shared
from linkwork.compiler.codegen.object_loader import loaded
from linkwork.compiler.codegen.target import Target, processor
from linkwork.compiler.codegen.target_system import is_object_file, sections_of_elf
from linkwork.compiler.runtime.cpython import keep_alive
from linkwork.compiler.runtime.interrupts import ADDRESS, SYMBOL, interrupts_address
from linkwork.compiler.runtime.threads import LLVM_LOCK, run_without_lock

__all__ = ["MachineCode", "assembly", "effort_of", "emit", "link", "text_bytes"]

_ATTENDING = Lock()
_registered: dict[str, int] = {}  # addresses of functions that loaded code may call
_MAX_OPTIMIZED = 4_000_000  # characters of LLVM IR; longer code is optimized less, in half of the time


@dataclass(frozen=True)
class MachineCode:
    """The address of a compiled function in memory, and of its table of data; both are valid while ``owner`` lives."""

    address: int
    table: int  # address of the table to fill in, or 0
    owner: Any  # see `keep_alive`


def emit(texts: Sequence[Module], target: Target, waiting: Callable[[], float | None] = lambda: None) -> list[bytes]:
    """Return the object file of each module.

    LLVM compiles modules that are texts; modules that are functions are called, and return their object files.
    ``waiting`` is called meanwhile: see `linkwork._util.thread_tasks.run`.
    """
    return _emit_all(texts, target, waiting, assembly=False)


def assembly(texts: Sequence[str], target: Target) -> str:
    """Return the processor's instructions as text."""
    return "\n".join(text.decode() for text in _emit_all(texts, target, lambda: None, assembly=True))


def _emit_all(
    texts: Sequence[Module], target: Target, waiting: Callable[[], float | None], *, assembly: bool
) -> list[bytes]:
    """Compile every module to an object file or assembly text, several in parallel."""
    effort = effort_of(sum(len(text) for text in texts if isinstance(text, str)), target)
    order = sorted(range(len(texts)), key=lambda k: isinstance(texts[k], str))  # functions first, beside LLVM
    tasks = [
        partial(_emit_one, text, target, effort, assembly=assembly) if isinstance(text, str) else text
        for text in (texts[k] for k in order)
    ]
    from linkwork._util.thread_tasks import run

    results = dict(zip(order, run(tasks, waiting=waiting), strict=True))
    return [results[k] for k in range(len(texts))]


def effort_of(characters: int, target: Target) -> int:
    """Return LLVM's optimization level for modules of ``characters`` in total.

    It is the level of the target, or a lower one for very long code.
    """
    return min(target.effort, 1 if characters > _MAX_OPTIMIZED else 2)


def _emit_one(text: str, target: Target, max_effort: int, *, assembly: bool) -> bytes:
    """Compile a module to an object file or assembly text.

    Each module has its own LLVM context, so that several modules can be compiled in parallel.
    """
    from linkwork.compiler.codegen.llvm_binding import ffi, llvm

    with LLVM_LOCK:
        machine = target.machine(max_effort)
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
    """Return llvmlite's function that compiles a module, without llvmlite's lock around calls of LLVM.

    LLVM itself can compile modules of different contexts in parallel. If llvmlite's internal structure is not as
    expected, the lock is used, and modules are compiled one at a time.
    """
    from linkwork.compiler.codegen.llvm_binding import ffi

    locked = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    return getattr(locked, "_cfn", locked)


_EXECUTABLE = 4  # a flag of sections of ELF files


def text_bytes(code: bytes) -> int:
    """Return the size of the processor's instructions in an object file [bytes]."""
    sections = sections_of_elf(code)
    if sections is not None:  # LLVM would take longer for this than to load the code
        return sum(size for _, flags, _, size in sections if flags & _EXECUTABLE)

    from linkwork.compiler.codegen.llvm_binding import llvm

    def size() -> int:
        with LLVM_LOCK:
            return sum(part.size() for part in llvm.ObjectFileRef.from_data(code).sections() if part.is_text())

    return on_own_thread(size)


def link(objects: Sequence[bytes], target: Target, symbols: Sequence[tuple[str, str]]) -> list[MachineCode]:
    """Load object files; return the address of each function and of its table of data, unless the table's name is "".

    Objects are loaded in their order. A call of a function in an earlier object is direct; a call of one in a later
    object is indirect.
    """
    if any(SYMBOL.encode() in code for code in objects):
        with _ATTENDING:  # of two functions that register at once, one would be freed, and code that calls it is linked
            _attention(target)
    return _load(objects, target, symbols)


def _load(objects: Sequence[bytes], target: Target, symbols: Sequence[tuple[str, str]]) -> list[MachineCode]:
    """Load object files into this process and return the addresses of functions and tables (see `link`)."""
    code = loaded(objects, _registered)
    if code is None:
        return _load_by_llvm(objects, target, symbols)
    at = code.addresses
    return [MachineCode(at[name], at[table] if table else 0, code.owner) for name, table in symbols]


def _load_by_llvm(objects: Sequence[bytes], target: Target, symbols: Sequence[tuple[str, str]]) -> list[MachineCode]:
    """Load object files by LLVM, not on the main thread: llvmlite acquires its lock in Python (see `on_own_thread`)."""
    from linkwork.compiler.codegen.llvm_binding import llvm

    def load() -> list[MachineCode]:
        with LLVM_LOCK:
            for name, symbol_address in _registered.items():
                llvm.add_symbol(name, symbol_address)
            module = llvm.parse_assembly("")
            engine = llvm.create_mcjit_compiler(module, target.linker())
            engine.remove_module(module)  # otherwise LLVM compiles it, in more time than loading takes
            for code in objects:
                engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            engine.finalize_object()
            address, data = engine.get_function_address, engine.get_global_value_address
            owner = keep_alive(deleted_on_own_thread(engine))
            return [MachineCode(address(name), data(table) if table else 0, owner) for name, table in symbols]

    return on_own_thread(load)


@cache
def _attention(target: Target) -> MachineCode:
    """Load and register the function that long loops call (see `interrupt_functions`), until the process ends."""
    (function,) = _load([_attention_object(replace(target, effort=0))], target, [(SYMBOL, ADDRESS)])
    ctypes.c_void_p.from_address(function.table).value = interrupts_address()
    _registered[SYMBOL] = function.address
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(function.owner))  # a daemon thread may call it as Python ends
    return function


def _attention_object(target: Target) -> bytes:
    """Return the object file of the function that long loops call, from the cache if it has it."""
    cache = shared()
    name = f"{digest([SYMBOL], [repr(target), *processor()])}-attend"
    entry = None if cache is None else cache.load(name)
    if entry is not None and is_object_file(entry.code, target.triple):
        return entry.code
    from linkwork.compiler.codegen.loops.interrupt_checks import attention_text

    (code,) = emit([attention_text(target)], target)
    if cache is not None:
        cache.store(name, Entry({"kernel": SYMBOL}, code))
    return code
