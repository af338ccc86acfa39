"""Object files of functions that refer to no symbols: ELF, 64 bit, x86-64."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["WrittenObject", "object_file"]


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """An object file among the texts of modules: a call writes it without LLVM, while LLVM compiles the texts."""

    write: Callable[[], bytes]

    def __call__(self) -> bytes:
        return self.write()


_ALIGNMENT = 64
_PROGBITS, _SYMBOLS, _STRINGS = 1, 2, 3
_ALLOCATED_CODE = 0x6
_GLOBAL_FUNCTION = 0x12


def object_file(functions: Sequence[tuple[str, bytes, int]]) -> bytes:
    """Return the object file of functions: each has a name, its bytes, and the offset of its first instruction."""
    text, symbols, names = bytearray(), bytearray(24), bytearray(1)
    for name, code, start in functions:
        text += bytes(-len(text) % _ALIGNMENT)
        symbols += struct.pack("<IBBHQQ", len(names), _GLOBAL_FUNCTION, 0, 1, len(text) + start, len(code) - start)
        names += name.encode() + b"\0"
        text += code
    titles = b"\0.text\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0"
    sections = (
        (b".text", _PROGBITS, _ALLOCATED_CODE, bytes(text), 0, 0, _ALIGNMENT, 0),
        (b".symtab", _SYMBOLS, 0, bytes(symbols), 3, 1, 8, 24),  # the names are section 3, and symbol 0 is local
        (b".strtab", _STRINGS, 0, bytes(names), 0, 0, 1, 0),
        (b".shstrtab", _STRINGS, 0, titles, 0, 0, 1, 0),
        (b".note.GNU-stack", _PROGBITS, 0, b"", 0, 0, 1, 0),  # the stack is not executable
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
