"""Straight-line code for one sample as instructions of x86-64, written without LLVM.

LLVM takes some ten microseconds for each fused multiply-add even without optimization.  A block of straight-line code
needs little of what LLVM does: registers in the order of the program, and a dozen instructions.  They round as those
that LLVM selects, so results are the same to the bit.

`BlockAssembler` has the methods of `Instructions` by which blocks are written.  It records them; `machine_code`
then assigns registers.  The value that was assigned a register first is the first that is moved to the stack.  What it
cannot write (elementary functions, tables) raises `NotSupported`, and LLVM compiles that block.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 (VEX-encoded instructions).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType
from linkwork.compiler.codegen.quick.object_file import WrittenObject, object_file
from linkwork.compiler.codegen.target import Target
from linkwork.expr.scalar.operations import Operation

__all__ = ["BlockAssembler", "NotSupported", "can_assemble", "object_of_blocks"]


class NotSupported(Exception):
    """The block has an instruction that `BlockAssembler` does not write."""


def can_assemble(target: Target, real: FloatType) -> bool:
    """Return True for code of x86-64 with fused multiply-add on Linux, whose calling convention is used."""
    known = real is DOUBLE or real is SINGLE
    return known and target.fma and target.triple.startswith("x86_64") and "linux" in target.triple


# the pointers that a function receives are in rdi, rsi, rdx, rcx, r8, r9; others come from the stack in rax, r10, and
# in registers that have to be restored: rbx, rbp, r13, r14, r15
_POINTERS = (7, 6, 2, 1, 8, 9, 0, 10, 3, 5, 13, 14, 15)
_IN_REGISTERS, _NOT_IN_RAX, _NOT_RESTORED = 6, 6, 8
_STACK, _POOL = 4, 11  # rsp, and r11 with the address of the constants
_REGISTERS = 16

# a recorded instruction is (kind, result, arguments, further operand); kinds below _LOAD compute in registers
_TWO, _FMA, _BLEND, _ROUND, _COMPARE, _LOAD, _POINTER, _STORE = range(8)

_ADD, _MUL, _SUB, _DIV, _MIN, _MAX, _SQRT = 0x58, 0x59, 0x5C, 0x5E, 0x5D, 0x5F, 0x51
_AND, _OR, _XOR = 0x54, 0x56, 0x57
_BITWISE = {_AND, _OR, _XOR}
_FUSED = {
    "fma": 0xA9,
    "fms": 0xAB,
    "fnma": 0xAD,
}  # those that overwrite a factor; 16 more: those that overwrite the sum
_LESS, _LESS_EQUAL, _EQUAL, _UNEQUAL, _UNORDERED = 0x11, 0x12, 0x00, 0x0C, 0x03  # predicates, quiet
_FLOOR = 9
_TO_SUM = 0x10  # more: those that overwrite the sum
_OF_SINGLE = 0x100  # more: those on float32
_INSTRUCTIONS = {"fadd": _ADD, "fsub": _SUB, "fmul": _MUL, "fdiv": _DIV}
_PREDICATES = {"fcmp olt": _LESS, "fcmp ole": _LESS_EQUAL, "fcmp oeq": _EQUAL}
_ZERO, _ALL = bytes(8), b"\xff" * 8
_SIGN = {DOUBLE: struct.pack("<Q", 1 << 63), SINGLE: struct.pack("<Q", 1 << 31)}
_SIZE = {DOUBLE: struct.pack("<Q", (1 << 63) - 1), SINGLE: struct.pack("<Q", (1 << 31) - 1)}


class BlockAssembler:
    """Recorder of a block's instructions, and their translation to machine code.

    ``pointers`` are the names of the function's arguments, in order.  Further pointers, ``listed``, are in memory to
    which the last argument points.
    """

    lanes = 1

    def __init__(self, pointers: Sequence[str], listed: Sequence[str] = (), real: FloatType = DOUBLE) -> None:
        self.real, self._bytes = real, real.bytes
        if len(pointers) > (_NOT_IN_RAX if listed else len(_POINTERS)):
            raise NotSupported
        self._base = dict(zip(pointers, _POINTERS, strict=False))
        self._list, self._listed = self._base[pointers[-1]], {name: 8 * k for k, name in enumerate(listed)}
        self._in_rax = ""  # the pointer among those listed that was used last
        self._recorded: list[tuple[int, int, tuple[int, ...], Any]] = []
        self._constants: dict[bytes, int] = {}  # bits -> the value that has them
        self._count = 0

    # -- as `Instructions`

    def constant(self, value: float) -> int:
        if self.real is DOUBLE:
            return self._bits(struct.pack("<d", value))
        with np.errstate(over="ignore"):
            return self._bits(np.float32(value).tobytes().ljust(8, b"\0"))

    def get(self, pointer: str, index: int) -> int:
        return self._let(_LOAD, (), (self._base_of(pointer), self._bytes * index))

    def load(self, kind: str, pointer: str, align: int = 8) -> int:
        return self.get(pointer, 0)

    def splat(self, number: int) -> int:
        return number

    def put(self, value: int, pointer: str, index: int) -> None:
        self._recorded.append((_STORE, -1, (value,), (self._base_of(pointer), self._bytes * index)))

    def keep(self, operation: Operation, value: int, index: int, memory: str = "%work") -> None:
        """Store a value in memory, a truth value as 0 or 1."""
        if operation.logical:
            value = self._let(_TWO, (value, self.constant(1.0)), _AND)
        self.put(value, memory, index)

    def fetch(self, operation: Operation, index: int, memory: str = "%work") -> int:
        """Load a value that `keep` stored."""
        value = self.get(memory, index)
        return self._let(_COMPARE, (value, self._bits(_ZERO)), _UNEQUAL) if operation.logical else value

    def operation(self, operation: Operation, a: Sequence[int]) -> int:
        """Return the value of an operation on values."""
        code = operation.lowering.code
        if code in _INSTRUCTIONS:
            return self._let(_TWO, (a[0], a[1]), _INSTRUCTIONS[code])
        if code in _FUSED:
            return self._let(_FMA, (a[0], a[1], a[2]), _FUSED[code])
        if code in _PREDICATES:
            return self._let(_COMPARE, (a[0], a[1]), _PREDICATES[code])
        if code == "where":
            return self._select(*a)
        write = getattr(self, f"_{code}", None)
        if write is None or code not in _WRITTEN:
            raise NotSupported
        value: int = write(*a)
        return value

    # -- operations of several instructions; truth values are masks

    def _fneg(self, x: int) -> int:
        return self._let(_TWO, (x, self._bits(_SIGN[self.real])), _XOR)

    def _fabs(self, x: int) -> int:
        return self._let(_TWO, (x, self._bits(_SIZE[self.real])), _AND)

    def _sqrt(self, x: int) -> int:
        return self._let(_TWO, (x, x), _SQRT)

    def _floor(self, x: int) -> int:
        return self._let(_ROUND, (x, x), _FLOOR)

    def _and(self, x: int, y: int) -> int:
        return self._let(_TWO, (x, y), _AND)

    def _or(self, x: int, y: int) -> int:
        return self._let(_TWO, (x, y), _OR)

    def _not(self, x: int) -> int:
        return self._let(_TWO, (x, self._bits(_ALL)), _XOR)

    def _maxnum(self, x: int, y: int) -> int:
        return self._extreme(_MAX, x, y)

    def _minnum(self, x: int, y: int) -> int:
        return self._extreme(_MIN, x, y)

    def _copysign(self, x: int, y: int) -> int:
        size, sign = self._fabs(x), self._let(_TWO, (y, self._bits(_SIGN[self.real])), _AND)
        return self._let(_TWO, (size, sign), _OR)

    def _sign(self, x: int) -> int:
        """Return ±1 with the sign of x, or the magnitude of x if that is zero or NaN."""
        some = self._let(_COMPARE, (x, self._bits(_ZERO)), _UNEQUAL)
        return self._select(some, self._copysign(self.constant(1.0), x), self._fabs(x))

    def _extreme(self, which: int, x: int, y: int) -> int:
        """Return the minimum or maximum of two numbers; a NaN counts as missing."""
        missing = self._let(_COMPARE, (x, x), _UNORDERED)
        return self._select(missing, y, self._let(_TWO, (y, x), which))

    def _select(self, truth: int, x: int, y: int) -> int:
        return self._let(_BLEND, (y, x, truth), 0)

    def _base_of(self, pointer: str) -> int:
        """Return the register of a pointer; one of a list is loaded to rax."""
        if pointer in self._base:
            return self._base[pointer]
        if pointer != self._in_rax:
            self._in_rax = pointer
            self._recorded.append((_POINTER, -1, (), struct.pack("<i", self._listed[pointer])))
        return 0

    def _bits(self, bits: bytes) -> int:
        """Return the value with these bits in the low half of a register."""
        value = self._constants.get(bits)
        if value is None:
            value = self._constants[bits] = self._count
            self._count += 1
        return value

    def _let(self, kind: int, arguments: tuple[int, ...], operand: Any) -> int:
        value = self._count
        self._count += 1
        self._recorded.append((kind, value, arguments, operand))
        return value

    # -- machine code

    def machine_code(self) -> tuple[bytes, int]:
        """Return the constants followed by the function, and the offset of its first instruction."""
        single = _OF_SINGLE if self.real is SINGLE else 0
        registers = _Registers(self._recorded, self._constants, self._count, self._list, single)
        return registers.machine_code(len(self._base))


def object_of_blocks(kernel: str, blocks: Sequence[tuple[str, BlockAssembler]]) -> list[WrittenObject]:
    """Return the object file of a kernel's blocks, each with the name of its function, if there are any."""

    def write() -> bytes:
        return object_file([(name.replace("@.", f"{kernel}."), *block.machine_code()) for name, block in blocks])

    return [WrittenObject(write)] if blocks else []


_WRITTEN = frozenset(("fneg", "fabs", "sqrt", "floor", "and", "or", "not", "maxnum", "minnum", "copysign", "sign"))


class _Registers:
    """Assignment of registers to recorded instructions, in order, and their encoding."""

    def __init__(
        self, recorded: Sequence[Any], constants: dict[bytes, int], count: int, listed: int, single: int
    ) -> None:
        self.recorded = recorded
        self.single = single
        self.load_pointer = bytes((0x49 if listed >= 8 else 0x48, 0x8B, 0x80 | listed & 7))  # mov rax, [listed + ...]
        self.pool = {value: 8 * k for k, value in enumerate(constants.values())}  # value -> offset among the constants
        self.data = b"".join(constants)
        self.last = last = [-1] * count  # the last instruction that uses each value
        for k, (_, _, arguments, _) in enumerate(recorded):
            for a in arguments:
                last[a] = k
        self.register: dict[int, int] = {}  # value -> register, in the order of assignment
        self.free = list(range(_REGISTERS))
        self.spilled: dict[int, int] = {}  # value -> offset on the stack
        self.room: list[int] = []  # free offsets on the stack
        self.size = 0
        self.code: list[bytes] = []

    def machine_code(self, pointers: int) -> tuple[bytes, int]:
        """Return the code of a function with this number of pointers, and the offset of its first instruction."""
        code, register, last, single = self.code, self.register, self.last, self.single
        free, spilled = self.free, self.spilled
        store, load = 0x11 + single, 0x10 + single
        for k, (kind, result, arguments, operand) in enumerate(self.recorded):
            if kind == _LOAD:
                if last[result] >= 0:
                    base, offset = operand
                    code.append(_moved(load, self.fresh((), result), base, offset))
                continue
            if kind == _POINTER:
                code.append(self.load_pointer + operand)
                continue
            at = [register[a] if a in register else self.loaded(a, arguments) for a in arguments]
            if kind == _STORE:
                base, offset = operand
                code.append(_moved(store, at[0], base, offset))
                self.ended(k, arguments)
                continue
            if last[result] < 0:
                self.ended(k, arguments)
                continue
            if kind == _FMA:
                x, y, z = arguments
                a, b, c = at
                operand += single
                if last[z] == k and z != x and z != y:
                    code.append(_three(operand + _TO_SUM, c, a, b))
                    del register[z]
                    register[result] = c
                elif last[x] == k and x != y and x != z:
                    code.append(_three(operand, a, b, c))
                    del register[x]
                    register[result] = a
                elif last[y] == k and y != x and y != z:
                    code.append(_three(operand, b, a, c))
                    del register[y]
                    register[result] = b
                else:
                    to = self.fresh(arguments, result)
                    code.append(_three(_MOVE, to, 0, c))
                    code.append(_three(operand + _TO_SUM, to, a, b))
                self.ended(k, arguments)
                continue
            for a in arguments:  # as `ended` and `fresh`, which most instructions do not need
                if last[a] == k and a in register:
                    free.append(register.pop(a))
                    if a in spilled:
                        self.room.append(spilled.pop(a))
            if free:
                to = register[result] = free.pop()
            else:
                to = self.fresh(arguments, result)
            if kind == _TWO:
                code.append(_three(operand + single, to, at[0], at[1]))
            elif kind == _COMPARE:
                code.append(_three(_COMPARISON + single, to, at[0], at[1]) + bytes((operand,)))
            elif kind == _ROUND:
                code.append(_three(_ROUNDING + single, to, at[0], at[1]) + bytes((operand,)))
            else:
                code.append(_three(_BLENDING + single, to, at[0], at[1]) + bytes((at[2] << 4,)))
        begin, end = _frame_code(pointers, -(-self.size // 16) * 16)
        start = -(-len(self.data) // 16) * 16
        address = b"\x4c\x8d\x1d" + struct.pack("<i", -(start + 7))  # lea r11, [rip - ...]
        return self.data.ljust(start, b"\0") + address + begin + b"".join(code) + end, start

    def fresh(self, arguments: tuple[int, ...], result: int) -> int:
        """Assign a register to a value; another value is moved to the stack if none is free."""
        if self.free:
            to = self.free.pop()
        else:
            other = next(value for value in self.register if value not in arguments)
            to = self.register.pop(other)
            if other not in self.pool and other not in self.spilled:
                if self.room:
                    offset = self.room.pop()
                else:
                    offset, self.size = self.size, self.size + 8
                self.spilled[other] = offset
                self.code.append(_moved(0x11 + self.single, to, _STACK, offset))
        self.register[result] = to
        return to

    def loaded(self, value: int, arguments: tuple[int, ...]) -> int:
        """Load a constant, or a value from the stack."""
        to = self.fresh(arguments, value)
        base, offset = (_POOL, self.pool[value]) if value in self.pool else (_STACK, self.spilled[value])
        self.code.append(_moved(0x10 + self.single, to, base, offset))
        return to

    def ended(self, k: int, arguments: tuple[int, ...]) -> None:
        """Release the registers and the stack of values that instruction k uses last."""
        for a in arguments:
            if self.last[a] == k:
                if a in self.register:
                    self.free.append(self.register.pop(a))
                if a in self.spilled:
                    self.room.append(self.spilled.pop(a))


def _frame_code(pointers: int, size: int) -> tuple[bytes, bytes]:
    """Return the first and last instructions of a function: pointers from the stack, and ``size`` bytes of memory."""
    restored = _POINTERS[_NOT_RESTORED:pointers]
    begin = b"".join(_one_register(0x50, register) for register in restored)  # push
    for k, register in enumerate(_POINTERS[_IN_REGISTERS:pointers]):
        first = 0x4C if register >= 8 else 0x48
        offset = 8 * (1 + k + len(restored))
        begin += struct.pack(
            "<BBBBI", first, 0x8B, 0x84 | (register & 7) << 3, 0x24, offset
        )  # mov register, [rsp + ..]
    end = b"".join(_one_register(0x58, register) for register in reversed(restored)) + b"\xc3"  # pop; ret
    if size:
        # each page is touched, so that no stack overflows past its guard page
        begin += (struct.pack("<BBBI", 0x48, 0x81, 0xEC, _PAGE) + _TOUCH) * (size // _PAGE)
        begin += struct.pack("<BBBI", 0x48, 0x81, 0xEC, size % _PAGE)  # sub rsp, size
        end = struct.pack("<BBBI", 0x48, 0x81, 0xC4, size) + end  # add rsp, size
    return begin, end


_PAGE = 4096  # [bytes]
_TOUCH = b"\x83\x0c\x24\x00"  # or dword [rsp], 0


def _one_register(code: int, register: int) -> bytes:
    return (b"\x41" if register >= 8 else b"") + bytes((code | register & 7,))


_MOVE, _COMPARISON, _ROUNDING, _BLENDING = 0x28, 0xC2, 0x0B, 0x4B
_encoded: dict[tuple[int, int, int, int], bytes] = {}
_prefixes: dict[tuple[int, int, int], bytes] = {}


def _three(code: int, to: int, a: int, b: int) -> bytes:
    """Return an instruction on three registers, without its last byte if it has an immediate."""
    key = code, to, a, b
    known = _encoded.get(key)
    if known is None:
        single, code = code >> 8, code & 0xFF
        # the opcode's table (1: 0F, 2: 0F38, 3: 0F3A), its prefix (1: 66, 2: F3, 3: F2) and W
        if code in _BITWISE or code == _MOVE:
            table, prefix, wide = 1, 1, 0
        elif code in (_ROUNDING, _BLENDING):
            table, prefix, wide = 3, 1, 0
            code -= single  # float32's are one less
        elif code >= 0xA0 and code != _COMPARISON:
            table, prefix, wide = 2, 1, 1 - single
        else:
            table, prefix, wide = 1, 3 - single, 0
        first = (0x80 if to < 8 else 0) | 0x40 | (0x20 if b < 8 else 0) | table
        second = wide << 7 | (15 if code == _MOVE else a) << 3 ^ (0 if code == _MOVE else 0x78) | prefix
        known = _encoded[key] = bytes((0xC4, first, second, code, 0xC0 | (to & 7) << 3 | b & 7))
    return known


def _moved(code: int, register: int, base: int, offset: int) -> bytes:
    """Return a load (0x10) or store (0x11) at an offset [bytes] from a base register."""
    key = code, register, base
    known = _prefixes.get(key)
    if known is None:
        first = (0x80 if register < 8 else 0) | 0x40 | (0x20 if base < 8 else 0) | 1
        known = bytes((0xC4, first, 0x7B - (code >> 8), code & 0xFF, 0x80 | (register & 7) << 3 | base & 7))
        if base == _STACK:
            known += b"\x24"
        _prefixes[key] = known
    return known + offset.to_bytes(4, "little")
