"""Symbols and relocations of object files, as a loader sees them.

Sources: System V Application Binary Interface, chapter 4 (ELF); OS X ABI Mach-O File Format Reference.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_ELF, _MACH_O = b"\x7fELF", b"\xcf\xfa\xed\xfe"
_SYMBOLS, _RELOCATIONS = 2, 4  # types of sections of ELF
_SEGMENT, _SYMBOL_TABLE = 0x19, 0x2  # commands of Mach-O
_EXTERNAL, _TYPE, _DEBUG = 0x01, 0x0E, 0xE0  # bits of the type of a symbol of Mach-O


@dataclass(frozen=True)
class ObjectContents:
    """Names of the symbols that an object file defines and needs, and the numbers of its kinds of relocations."""

    defined: frozenset[str]
    undefined: frozenset[str]
    relocations: frozenset[int]


def contents_of(code: bytes) -> ObjectContents:
    """Return the names to which an ELF or Mach-O file of 64 bits refers, without Mach-O's leading underscore."""
    if code[:4] == _ELF:
        return _of_elf(code)
    assert code[:4] == _MACH_O, code[:4]
    return _of_mach_o(code)


def _of_elf(code: bytes) -> ObjectContents:
    start, count = struct.unpack_from("<Q", code, 40)[0], struct.unpack_from("<H", code, 60)[0]
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, start + 64 * k) for k in range(count)]
    defined, undefined, kinds = set(), set(), set()
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind == _SYMBOLS:
            for at in range(offset + 24, offset + size, 24):
                name, info, _, section = struct.unpack_from("<IBBH", code, at)
                if info >> 4:  # not local
                    (defined if section else undefined).add(_text(code, sections[link][4] + name))
        elif kind == _RELOCATIONS:
            kinds |= {struct.unpack_from("<Q", code, at + 8)[0] & 0xFFFFFFFF for at in range(offset, offset + size, 24)}
    return ObjectContents(frozenset(defined), frozenset(undefined), frozenset(kinds))


def _of_mach_o(code: bytes) -> ObjectContents:
    defined, undefined, kinds = set(), set(), set()
    for command, at in _commands(code):
        if command == _SYMBOL_TABLE:
            first, count, names, _ = struct.unpack_from("<IIII", code, at + 8)
            for k in range(count):
                name, kind = struct.unpack_from("<IB", code, first + 16 * k)
                if kind & _EXTERNAL and not kind & _DEBUG:
                    (defined if kind & _TYPE else undefined).add(_text(code, names + name).removeprefix("_"))
        elif command == _SEGMENT:
            for k in range(struct.unpack_from("<I", code, at + 64)[0]):
                offset, count = struct.unpack_from("<II", code, at + 72 + 80 * k + 56)
                kinds |= {struct.unpack_from("<I", code, offset + 8 * j + 4)[0] >> 28 for j in range(count)}
    return ObjectContents(frozenset(defined), frozenset(undefined), frozenset(kinds))


def _commands(code: bytes) -> Iterator[tuple[int, int]]:
    """Yield the number and the offset of each load command of a Mach-O file."""
    at = 32
    for _ in range(struct.unpack_from("<I", code, 16)[0]):
        command, size = struct.unpack_from("<II", code, at)
        yield command, at
        at += size


def _text(code: bytes, start: int) -> str:
    return code[start : code.index(b"\0", start)].decode()
