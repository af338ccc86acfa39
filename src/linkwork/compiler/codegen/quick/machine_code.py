"""Machine code of x86-64: instructions on vector registers (VEX), moves and frames, and object files (ELF, 64 bit).

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

__all__ = [
    "ADD",
    "AND",
    "BLENDING",
    "COMPARISON",
    "DIV",
    "FUSED",
    "MAX",
    "MIN",
    "MOVE",
    "MUL",
    "NOT_IN_RAX",
    "NOT_RESTORED",
    "OF_SINGLE",
    "OR",
    "POINTERS",
    "POOL",
    "ROUNDING",
    "SCRATCH",
    "SQRT",
    "STACK",
    "SUB",
    "TO_SUM",
    "XOR",
    "Call",
    "WrittenObject",
    "frame_code",
    "general_move",
    "move_code",
    "object_file",
    "register_move",
    "three_registers",
]

# the pointers that a function receives are in rdi, rsi, rdx, rcx, r8, r9; others come from the stack in rax, r10, and
# in registers that have to be restored: rbx, rbp, r13, r14, r15
POINTERS = (7, 6, 2, 1, 8, 9, 0, 10, 3, 5, 13, 14, 15)
_IN_REGISTERS, NOT_IN_RAX, NOT_RESTORED = 6, 6, 8
STACK, POOL = 4, 11  # rsp, and r11 with the address of the constants
SCRATCH = frozenset((0, 1, 2, 6, 7, 8, 9, 10, 11))  # that a called function may change

ADD, MUL, SUB, DIV, MIN, MAX, SQRT = 0x58, 0x59, 0x5C, 0x5E, 0x5D, 0x5F, 0x51
AND, OR, XOR = 0x54, 0x56, 0x57
_BITWISE = {AND, OR, XOR}
FUSED = {"fma": 0xA9, "fms": 0xAB, "fnma": 0xAD}  # those that overwrite a factor
TO_SUM = 0x10  # more: those that overwrite the sum
OF_SINGLE = 0x100  # more: those on float32


def frame_code(pointers: int, size: int) -> tuple[bytes, bytes]:
    """Return the first and last instructions of a function, which load pointers and reserve ``size`` bytes of stack."""
    restored = POINTERS[NOT_RESTORED:pointers]
    begin = b"".join(_one_register(0x50, register) for register in restored)  # push
    for k, register in enumerate(POINTERS[_IN_REGISTERS:pointers]):
        offset = 8 * (1 + k + len(restored))
        begin += general_move(0x8B, register, offset)
    end = b"".join(_one_register(0x58, register) for register in reversed(restored)) + b"\xc3"  # pop; ret
    if size:
        # each page is touched, so that no stack overflows past its guard page
        begin += (struct.pack("<BBBI", 0x48, 0x81, 0xEC, _PAGE) + _TOUCH) * (size // _PAGE)
        begin += struct.pack("<BBBI", 0x48, 0x81, 0xEC, size % _PAGE)  # sub rsp, size
        end = struct.pack("<BBBI", 0x48, 0x81, 0xC4, size) + end  # add rsp, size
    return begin, end


def general_move(code: int, register: int, offset: int) -> bytes:
    """Encode a load (0x8B) or store (0x89) of a general-purpose register at an offset [bytes] on the stack."""
    return struct.pack("<BBBBi", 0x4C if register >= 8 else 0x48, code, 0x84 | (register & 7) << 3, 0x24, offset)


_PAGE = 4096  # [bytes]
_TOUCH = b"\x83\x0c\x24\x00"  # or dword [rsp], 0


def _one_register(code: int, register: int) -> bytes:
    return (b"\x41" if register >= 8 else b"") + bytes((code | register & 7,))


MOVE, COMPARISON, ROUNDING, BLENDING = 0x28, 0xC2, 0x0B, 0x4B


@cache
def three_registers(code: int, to: int, a: int, b: int) -> bytes:
    """Encode an instruction on three registers; its last byte is left out if it has an immediate operand."""
    single, code = code >> 8, code & 0xFF
    # the opcode's table (1: 0F, 2: 0F38, 3: 0F3A), its prefix (1: 66, 2: F3, 3: F2) and W
    if code in _BITWISE or code == MOVE:
        table, prefix, wide = 1, 1, 0
    elif code in (ROUNDING, BLENDING):
        table, prefix, wide = 3, 1, 0
        code -= single  # float32's are one less
    elif code >= 0xA0 and code != COMPARISON:
        table, prefix, wide = 2, 1, 1 - single
    else:
        table, prefix, wide = 1, 3 - single, 0
    first = (0x80 if to < 8 else 0) | 0x40 | (0x20 if b < 8 else 0) | table
    second = wide << 7 | (15 if code == MOVE else a) << 3 ^ (0 if code == MOVE else 0x78) | prefix
    return bytes((0xC4, first, second, code, 0xC0 | (to & 7) << 3 | b & 7))


@cache
def move_code(code: int, register: int, base: int) -> bytes:
    """Encode a load (0x10) or store (0x11) at an offset from a base register, without the offset's four bytes."""
    first = (0x80 if register < 8 else 0) | 0x40 | (0x20 if base < 8 else 0) | 1
    result = bytes((0xC4, first, 0x7B - (code >> 8), code & 0xFF, 0x80 | (register & 7) << 3 | base & 7))
    return result + b"\x24" if base == STACK else result


def register_move(code: int, register: int, base: int, offset: int) -> bytes:
    """Encode a load (0x10) or store (0x11) of a vector register at an offset [bytes] from a base register."""
    return move_code(code, register, base) + offset.to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """A module whose object file is written by a call, without LLVM, while LLVM compiles the texts of other modules."""

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

    Each function has a name, bytes, the offset of its first instruction, and calls of functions in other files.
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
