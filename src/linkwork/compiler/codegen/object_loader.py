"""Loading of object files without LLVM, for code from the cache: LLVM's start would take most of the time.

It places the sections of ELF files of x86-64 in memory, writes the addresses that they refer to, and makes the
instructions executable, on Linux and on Windows.  Code of the compiler refers to other code only by 64-bit addresses.
Other files, such as files of other systems, are loaded by LLVM.

Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 2024, chapter 4.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from weakref import ref

from linkwork.compiler.runtime.cpython import keep_alive

__all__ = ["Loaded", "loaded"]

_HEAD = struct.Struct(
    "<4xBBB9xHHI16xQ10xHHH"
)  # class, data, version, type, machine, version; sections: place, size, count
_EXPECTED = (2, 1, 1, 1, 62, 1)  # 64 bit, little endian, relocatable, of x86-64
_SECTION = struct.Struct("<4xIQ8xQQIIQ8x")
_SYMBOL = struct.Struct("<IBxHQ8x")
_RELOCATION = struct.Struct("<QQq")
_CONTENT, _SYMBOLS, _ADDRESSES, _EMPTY = 1, 2, 4, 8  # types of sections that are read
_IGNORED = (0, 3)  # types of sections without meaning here: none, and names
_WRITABLE, _LOADED, _EXECUTABLE = 1, 2, 4  # flags of sections
_KNOWN_FLAGS = 0x10000077  # also mergeable, strings, linked to others, and large
_UNDEFINED, _ABSOLUTE, _SPECIAL = 0, 0xFFF1, 0xFF00  # sections of symbols
_ADDRESS = 1  # R_X86_64_64, the type of relocation: an address of 64 bits
_ALIGNMENT = 64  # [bytes] of sections, at least


class Loaded(NamedTuple):
    """Loaded code: addresses of its symbols, and the object that owns its memory."""

    addresses: dict[str, int]
    owner: Any


class _Section(NamedTuple):
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


class _Unsupported(Exception):
    """An object file has contents that only LLVM can load."""


def loaded(objects: Sequence[bytes], known: Mapping[str, int]) -> Loaded | None:
    """Load object files that may refer to each other; None if loading needs LLVM.

    ``known`` has addresses of functions by name.  Other functions are looked up in this process.
    """
    if not _is_available():
        return None
    try:
        return _loaded(objects, known)
    except (_Unsupported, OSError, struct.error, IndexError, KeyError, ValueError):
        return None


@cache
def _is_available() -> bool:
    if struct.calcsize("P") != 8:
        return False
    if sys.platform == "win32":  # where x86-64 code of Python may run on an ARM processor, by emulation
        return os.environ.get("PROCESSOR_ARCHITECTURE") == "AMD64"
    return sys.platform == "linux" and os.uname().machine == "x86_64"


def _loaded(objects: Sequence[bytes], known: Mapping[str, int]) -> Loaded:
    files = [_sections(code) for code in objects]
    memory = _Memory([[section for section in sections if section.flags & _LOADED] for sections in files])
    addresses = [
        {index: memory.add(code, section) for index, section in enumerate(sections) if section.flags & _LOADED}
        for code, sections in zip(objects, files, strict=True)
    ]
    tables = [[*_symbols(code, sections, at)] for code, sections, at in zip(objects, files, addresses, strict=True)]
    defined: dict[str, int] = {}
    for symbols in tables:
        for name, is_local, address in symbols:
            if address is not None and name and not is_local and defined.setdefault(name, address) != address:
                raise _Unsupported(f"two symbols are named {name}")
    for code, sections, at, symbols in zip(objects, files, addresses, tables, strict=True):
        for section in sections:
            if section.type != _ADDRESSES:
                continue
            for offset, kind, addend in _RELOCATION.iter_unpack(code[section.offset : section.offset + section.size]):
                if kind & 0xFFFFFFFF != _ADDRESS or not offset <= sections[section.info].size - 8:
                    raise _Unsupported("a relocation")
                name, _, address = symbols[kind >> 32]
                if address is None:
                    address = defined.get(name) or known.get(name) or _address_in_process(name)
                memory.write(at[section.info] + offset, struct.pack("<Q", address + addend & 0xFFFFFFFFFFFFFFFF))
    return Loaded(defined, memory.protected())


def _sections(code: bytes) -> list[_Section]:
    """Return the sections of an object file in the format ELF; raise _Unsupported if only LLVM can load the file."""
    *kinds, start, size, count, _ = _HEAD.unpack_from(code)
    if code[:4] != b"\x7fELF" or tuple(kinds) != _EXPECTED or size != 64:
        raise _Unsupported("a file of another system")
    sections = [_Section(*_SECTION.unpack_from(code, start + size * k)) for k in range(count)]
    for section in sections:
        if section.type not in (_CONTENT, _SYMBOLS, _ADDRESSES, _EMPTY, *_IGNORED):
            raise _Unsupported("a section")
        if section.flags & _LOADED and section.flags & ~_KNOWN_FLAGS:
            raise _Unsupported("a section")
        if section.type not in (_EMPTY, 0) and section.offset + section.size > len(code):
            raise _Unsupported("a section that ends after the file")
    return sections


def _symbols(
    code: bytes, sections: Sequence[_Section], addresses: Mapping[int, int]
) -> Iterator[tuple[str, bool, int | None]]:
    """Yield each symbol's name, whether it is local to the file, and its address unless it is undefined."""
    tables = [section for section in sections if section.type == _SYMBOLS]
    if len(tables) > 1:
        raise _Unsupported("several tables of symbols")
    for table in tables:
        names = sections[table.link]
        for start, info, index, value in _SYMBOL.iter_unpack(code[table.offset : table.offset + table.size]):
            first = names.offset + start
            name = code[first : code.index(b"\0", first)].decode()
            if index == _UNDEFINED:
                yield name, False, None
            elif index >= _SPECIAL:  # also names of source files, which nothing refers to
                yield name, True, value if index == _ABSOLUTE else None
            else:
                yield name, info >> 4 == 0, addresses[index] + value if index in addresses else None


class _Memory:
    """Memory of this process for executable, constant and writable sections, each on separate pages."""

    def __init__(self, files: Sequence[Sequence[_Section]]) -> None:
        import mmap

        self._page, sizes = mmap.PAGESIZE, [0, 0, 0]
        for sections in files:
            for section in sections:
                if section.alignment > self._page or (section.flags & _WRITABLE and section.flags & _EXECUTABLE):
                    raise _Unsupported("a section")
                k = _kind(section)
                sizes[k] = _up(sizes[k], max(section.alignment, _ALIGNMENT)) + section.size
        self._sizes = [_up(size, self._page) for size in sizes]
        self._ends = [0, self._sizes[0], self._sizes[0] + self._sizes[1]]  # of each kind so far
        size = max(sum(self._sizes), 1)
        if sys.platform == "win32":
            self._owner: Any = _Pages(size)
            self._bytes: Any = memoryview((ctypes.c_char * size).from_address(self._owner.start)).cast("B")
        else:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # a forked process has memory of its own
            self._owner = self._bytes = mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self._bytes))

    def add(self, code: bytes, section: _Section) -> int:
        """Copy an object file's section into memory and return its address."""
        k = _kind(section)
        first = _up(self._ends[k], max(section.alignment, _ALIGNMENT))
        self._ends[k] = first + section.size
        if section.type != _EMPTY:
            self._bytes[first : first + section.size] = code[section.offset : section.offset + section.size]
        return self.start + first

    def write(self, address: int, value: bytes) -> None:
        self._bytes[address - self.start : address - self.start + len(value)] = value

    def protected(self) -> Any:
        """Make instructions executable and constants read-only, and return the owner of the memory."""
        for address, size, is_executable in (
            (self.start, self._sizes[0], True),
            (self.start + self._sizes[0], self._sizes[1], False),
        ):
            if size and not _protect(address, size, is_executable):
                raise _Unsupported("the system refuses executable memory")
        return keep_alive(self._owner)


class _PagesReference(ref["_Pages"]):
    """Reference to pages of memory, with their address."""

    __slots__ = ("start",)
    start: int


class _Pages:
    """Pages of memory on Windows.

    When the object is deleted, no Python code runs: its weak reference goes to a queue, and the next allocation
    releases the pages of all references in the queue.
    """

    def __init__(self, size: int) -> None:
        system = _kernel32()
        for _ in range(len(_deleted)):
            reference = _deleted.popleft()
            _references.discard(reference)
            system.VirtualFree(reference.start, 0, _RELEASE)
        self.start = system.VirtualAlloc(None, size, _RESERVE_AND_COMMIT, _READ_WRITE) or 0
        if not self.start:
            raise _Unsupported("the system has no memory")
        reference = _PagesReference(self, _deleted.append)
        reference.start = self.start
        _references.add(reference)


_references: set[_PagesReference] = set()
_deleted: deque[_PagesReference] = deque()


def _kind(section: _Section) -> int:
    return 0 if section.flags & _EXECUTABLE else 2 if section.flags & _WRITABLE else 1


def _up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _protect(address: int, size: int, is_executable: bool) -> bool:
    """Make pages executable or read-only, and in any case not writable; return False if the system refuses."""
    if sys.platform == "win32":
        before = ctypes.c_uint32()
        protection = _EXECUTE_READ if is_executable else _READ_ONLY
        return bool(_kernel32().VirtualProtect(address, size, protection, ctypes.byref(before)))
    import mmap

    protection = mmap.PROT_READ | (mmap.PROT_EXEC if is_executable else 0)
    return int(_mprotect()(address, size, protection)) == 0


@cache
def _mprotect() -> Any:
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return protect


_RESERVE_AND_COMMIT, _RELEASE = 0x3000, 0x8000
_READ_ONLY, _READ_WRITE, _EXECUTE_READ = 0x02, 0x04, 0x20


@cache
def _kernel32() -> Any:
    """Return Windows' functions for memory, with their argument types set."""
    system = ctypes.CDLL("kernel32")
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    system.VirtualAlloc.restype = pointer
    system.VirtualAlloc.argtypes = [pointer, size, number, number]
    system.VirtualProtect.argtypes = [pointer, size, number, pointer]
    system.VirtualFree.argtypes = [pointer, size, number]
    return system


_WINDOWS_LIBRARIES = "ucrtbase", "kernel32", "ntdll"  # of C's functions, threads, and the probe of stacks


@cache
def _address_in_process(name: str) -> int:
    """Return the address of a function of the C library, or of the system."""
    for library in _WINDOWS_LIBRARIES if sys.platform == "win32" else (None,):
        try:
            return int(ctypes.cast(ctypes.CDLL(library)[name], ctypes.c_void_p).value or 0)
        except AttributeError:
            continue
    raise _Unsupported(f"no function {name}")
