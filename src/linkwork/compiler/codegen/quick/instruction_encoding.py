"""Encoding of instructions of x86-64: on vector registers (VEX), and the moves and frames around them.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
"""

from __future__ import annotations

import struct
from functools import cache

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
    "frame_code",
    "general_move",
    "move_code",
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
    """Return the first and last instructions of a function: pointers from the stack, and ``size`` bytes of memory."""
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
    """Return a load (0x8B) or store (0x89) of a general register at an offset on the stack."""
    return struct.pack("<BBBBi", 0x4C if register >= 8 else 0x48, code, 0x84 | (register & 7) << 3, 0x24, offset)


_PAGE = 4096  # [bytes]
_TOUCH = b"\x83\x0c\x24\x00"  # or dword [rsp], 0


def _one_register(code: int, register: int) -> bytes:
    return (b"\x41" if register >= 8 else b"") + bytes((code | register & 7,))


MOVE, COMPARISON, ROUNDING, BLENDING = 0x28, 0xC2, 0x0B, 0x4B


@cache
def three_registers(code: int, to: int, a: int, b: int) -> bytes:
    """Return an instruction on three registers, without its last byte if it has an immediate."""
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
    """Return a load (0x10) or store (0x11) at an offset from a base register, without the offset (four bytes)."""
    first = (0x80 if register < 8 else 0) | 0x40 | (0x20 if base < 8 else 0) | 1
    result = bytes((0xC4, first, 0x7B - (code >> 8), code & 0xFF, 0x80 | (register & 7) << 3 | base & 7))
    return result + b"\x24" if base == STACK else result


def register_move(code: int, register: int, base: int, offset: int) -> bytes:
    """Return a load (0x10) or store (0x11) at an offset [bytes] from a base register."""
    return move_code(code, register, base) + offset.to_bytes(4, "little")
