"""Object files of functions that may call functions of other object files: ELF, 64 bit, x86-64."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Call", "WrittenObject", "object_file"]


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """An object file among the texts of modules: a call writes it without LLVM, while LLVM compiles the texts."""

    write: Callable[[], bytes]

    def __call__(self) -> bytes:
        return self.write()


_ALIGNMENT = 64
_PROGBITS, _SYMBOLS, _STRINGS, _RELOCATIONS = 1, 2, 3, 4
_ALLOCATED_CODE, _LINKED = 0x6, 0x40
_GLOBAL_FUNCTION, _UNDEFINED = 0x12, 0x10
_ADDRESS = 1  # R_X86_64_64: the address of a function


class Call(NamedTuple):
    """Call of a function of another object file: the offset of the eight bytes of its address, and its name.

    LLVM may load object files at any distance from each other, so a call by a distance of four bytes is not possible.
    """

    offset: int
    name: str


def object_file(functions: Sequence[tuple[str, bytes, int, Sequence[Call]]]) -> bytes:
    """Return the object file of functions.

    Each has a name, its bytes, the offset of its first instruction, and its calls of functions of other files.
    """
    text, symbols, names, relocations = bytearray(), bytearray(24), bytearray(1), bytearray()
    called: dict[str, int] = {}  # the number of each symbol, after those of the functions
    for name, code, start, calls in functions:
        text += bytes(-len(text) % _ALIGNMENT)
        symbols += struct.pack("<IBBHQQ", len(names), _GLOBAL_FUNCTION, 0, 1, len(text) + start, len(code) - start)
        names += name.encode() + b"\0"
        for offset, callee in calls:
            number = called.setdefault(callee, 1 + len(functions) + len(called))
            relocations += struct.pack("<QQq", len(text) + offset, number << 32 | _ADDRESS, 0)
        text += code
    for name in called:
        symbols += struct.pack("<IBBHQQ", len(names), _UNDEFINED, 0, 0, 0, 0)
        names += name.encode() + b"\0"
    titles = b"\0.text\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0.rela.text\0"
    sections = (
        (b".text", _PROGBITS, _ALLOCATED_CODE, bytes(text), 0, 0, _ALIGNMENT, 0),
        (b".symtab", _SYMBOLS, 0, bytes(symbols), 3, 1, 8, 24),  # the names are section 3, and symbol 0 is local
        (b".strtab", _STRINGS, 0, bytes(names), 0, 0, 1, 0),
        (b".shstrtab", _STRINGS, 0, titles, 0, 0, 1, 0),
        (b".note.GNU-stack", _PROGBITS, 0, b"", 0, 0, 1, 0),  # the stack is not executable
        (b".rela.text", _RELOCATIONS, _LINKED, bytes(relocations), 2, 1, 8, 24),  # of section 1, with symbols of 2
    )
    body, headers, end = bytearray(), bytearray(64), 64
    for title, kind, flags, content, link, info, alignment, entry in sections:
        padding = -end % alignment
        body += bytes(padding) + content
        position = titles.index(b"\0" + title + b"\0") + 1
        headers += struct.pack(
            "<IIQQQQIIQQ", position, kind, flags, 0, end + padding, len(content), link, info, alignment, entry
        )
        end += padding + len(content)
    padding = -end % 8
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, end + padding, 0, 64, 0, 0, 64, len(sections) + 1, 4)
    return head + bytes(body) + bytes(padding) + bytes(headers)
