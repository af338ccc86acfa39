"""Straight-line code for one sample as instructions of x86-64, written without LLVM.

LLVM takes some ten microseconds for each fused multiply-add even without optimization.  A block of straight-line code
needs little of LLVM: an assignment of registers in program order, and a dozen kinds of instructions.  They round like
the instructions that LLVM selects, so results are the same to the bit.

`BlockAssembler` has the methods of `Instructions` by which blocks are written.  It records them; `machine_code` then
assigns registers (`register_assignment`) and encodes instructions (`machine_code`).  Elementary functions
(`part_code.elementary_function`) are called, with all values and pointers on the stack.  For an instruction that it
cannot write (tables) it raises `NotSupported`, and LLVM compiles the block.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType
from linkwork.compiler.codegen.llvm_ir import IrFunction, IrModule
from linkwork.compiler.codegen.quick.machine_code import (
    ADD,
    AND,
    DIV,
    FUSED,
    MAX,
    MIN,
    MUL,
    NOT_IN_RAX,
    OF_SINGLE,
    OR,
    POINTERS,
    SQRT,
    SUB,
    XOR,
    Call,
    WrittenObject,
    object_file,
)
from linkwork.compiler.codegen.quick.register_assignment import (
    BLEND,
    CALL,
    COMPARE,
    FUSE,
    LOAD,
    POINTER,
    ROUND,
    STORE,
    TWO,
    Registers,
)
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.codegen.vector_math import CODES, vector_function
from linkwork.compiler.program import FMA, FMS, FNMA
from linkwork.expr.scalar.operations import BY_NAME, Operation

__all__ = ["BlockAssembler", "NotSupported", "can_assemble", "object_of_blocks"]


class NotSupported(Exception):
    """The block has an instruction that `BlockAssembler` does not write."""


def can_assemble(target: Target, real: FloatType) -> bool:
    """Return True if the target is x86-64 with fused multiply-add, and object files are ELF files.

    Functions have the calling convention of System V; on Windows, callers written by LLVM use this convention too.
    """
    known = real is DOUBLE or real is SINGLE
    return known and target.fma and target.triple.startswith("x86_64") and target.system.objects == "elf"


_LESS, _LESS_EQUAL, _EQUAL, _UNEQUAL, _UNORDERED = 0x11, 0x12, 0x00, 0x0C, 0x03  # predicates, quiet
_FLOOR = 9
_INSTRUCTIONS = {"fadd": ADD, "fsub": SUB, "fmul": MUL, "fdiv": DIV}
_PREDICATES = {"fcmp olt": _LESS, "fcmp ole": _LESS_EQUAL, "fcmp oeq": _EQUAL}
_ZERO, _ALL = bytes(8), b"\xff" * 8
_SIGN = {DOUBLE: struct.pack("<Q", 1 << 63), SINGLE: struct.pack("<Q", 1 << 31)}
_SIZE = {DOUBLE: struct.pack("<Q", (1 << 63) - 1), SINGLE: struct.pack("<Q", (1 << 31) - 1)}


class BlockAssembler:
    """Recorder of a block's instructions, and their translation to machine code.

    ``pointers`` are the names of the function's arguments, in order.  Further pointers, ``listed``, are stored in
    memory at the last argument's address.
    """

    lanes = 1

    def __init__(self, pointers: Sequence[str], listed: Sequence[str] = (), real: FloatType = DOUBLE) -> None:
        self.real, self._bytes = real, real.bytes
        self.simple = _simple_operations()
        if len(pointers) > (NOT_IN_RAX if listed else len(POINTERS)):
            raise NotSupported
        self._base = dict(zip(pointers, POINTERS, strict=False))
        self._list, self._listed = self._base[pointers[-1]], {name: 8 * k for k, name in enumerate(listed)}
        self._in_rax = ""  # the pointer among those listed that was used last
        self._recorded: list[tuple[int, int, tuple[int, ...], Any]] = []
        self._constants: dict[bytes, int] = {}  # bits -> the value that has them
        self._count = 0
        self.functions: dict[str, IrFunction] = {}  # the elementary functions that the block calls

    # -- as `Instructions`

    def constant(self, value: float) -> int:
        return self._bits(self.real.rounded(value).tobytes().ljust(8, b"\0"))

    def get(self, pointer: str, index: int) -> int:
        return self._let(LOAD, (), (self._base_of(pointer), self._bytes * index))

    def load(self, kind: str, pointer: str, align: int = 8) -> int:
        return self.get(pointer, 0)

    def splat(self, number: int) -> int:
        return number

    def put(self, value: int, pointer: str, index: int) -> None:
        self._recorded.append((STORE, -1, (value,), (self._base_of(pointer), self._bytes * index)))

    def keep(self, operation: Operation, value: int, index: int, memory: str = "%work") -> None:
        """Record the store of an operation's value at position ``index`` in memory; a truth value becomes 0 or 1."""
        if operation.logical:
            value = self._let(TWO, (value, self.constant(1.0)), AND)
        self.put(value, memory, index)

    def fetch(self, operation: Operation, index: int, memory: str = "%work") -> int:
        """Record the load of an operation's value that `keep` stored, and return the value's index."""
        value = self.get(memory, index)
        return self._let(COMPARE, (value, self._bits(_ZERO)), _UNEQUAL) if operation.logical else value

    def simple_operation(self, operation: Operation, a: Sequence[int]) -> int:
        """Record an operation that is a single machine instruction, and return the index of its value."""
        kind, operand = self.simple[operation]
        value = self._count
        self._count = value + 1
        self._recorded.append((kind, value, tuple(a), operand))
        return value

    def operation(self, operation: Operation, a: Sequence[int]) -> int:
        """Record a scalar operation on the values with indices ``a``, and return the index of its value."""
        if operation in self.simple:
            return self.simple_operation(operation, a)
        kind, code = operation.lowering.kind, operation.lowering.code
        if code == "where":
            return self._select(*a)
        if code == "sincos":
            return self._call("sincos", a)
        if code in ("first", "second"):  # of sine and cosine, adjacent values
            return a[0] + (code == "second")
        if kind == "vector" and code in ("sin", "cos"):
            return self._call("sincos", a) + (code == "cos")
        if kind == "vector" and code in CODES:
            return self._call(code, a)
        if code not in _WRITTEN:
            raise NotSupported
        value: int = getattr(self, f"_{code}")(*a)
        return value

    # -- operations of several instructions, or on constants; truth values are masks

    def _fneg(self, x: int) -> int:
        return self._let(TWO, (x, self._bits(_SIGN[self.real])), XOR)

    def _fabs(self, x: int) -> int:
        return self._let(TWO, (x, self._bits(_SIZE[self.real])), AND)

    def _sqrt(self, x: int) -> int:
        return self._let(TWO, (x, x), SQRT)

    def _floor(self, x: int) -> int:
        return self._let(ROUND, (x, x), _FLOOR)

    def _and(self, x: int, y: int) -> int:
        return self._let(TWO, (x, y), AND)

    def _or(self, x: int, y: int) -> int:
        return self._let(TWO, (x, y), OR)

    def _not(self, x: int) -> int:
        return self._let(TWO, (x, self._bits(_ALL)), XOR)

    def _maxnum(self, x: int, y: int) -> int:
        return self._extreme(MAX, x, y)

    def _minnum(self, x: int, y: int) -> int:
        return self._extreme(MIN, x, y)

    def _copysign(self, x: int, y: int) -> int:
        size, sign = self._fabs(x), self._let(TWO, (y, self._bits(_SIGN[self.real])), AND)
        return self._let(TWO, (size, sign), OR)

    def _sign(self, x: int) -> int:
        """Return ±1 with the sign of x, or the magnitude of x if that is zero or NaN."""
        is_nonzero = self._let(COMPARE, (x, self._bits(_ZERO)), _UNEQUAL)
        return self._select(is_nonzero, self._copysign(self.constant(1.0), x), self._fabs(x))

    def _extreme(self, which: int, x: int, y: int) -> int:
        """Record the minimum or maximum of x and y, and return its index; a NaN is ignored if the other is a number."""
        missing = self._let(COMPARE, (x, x), _UNORDERED)
        return self._select(missing, y, self._let(TWO, (y, x), which))

    def _call(self, code: str, arguments: Sequence[int]) -> int:
        """Record a call of an elementary function, and return its value's index; a second result has the next index."""
        function = vector_function(code, 1, self.real.bits, fma=True)
        self.functions[function.name] = function
        value = self._let(CALL, tuple(arguments), function.name[1:])
        self._count += 1
        self._in_rax = ""
        return value

    def _select(self, truth: int, x: int, y: int) -> int:
        return self._let(BLEND, (y, x, truth), 0)

    def _base_of(self, pointer: str) -> int:
        """Return the register that has a pointer; a pointer of ``listed`` is first loaded into rax."""
        if pointer in self._base:
            return self._base[pointer]
        if pointer != self._in_rax:
            self._in_rax = pointer
            self._recorded.append((POINTER, -1, (), struct.pack("<i", self._listed[pointer])))
        return 0

    def _bits(self, bits: bytes) -> int:
        """Record a constant with these bits in the low half of a register, and return the index of its value."""
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

    def machine_code(self) -> tuple[bytes, int, list[Call]]:
        """Return the bytes of constants and function, the offset of the function's first instruction, and its calls."""
        single = OF_SINGLE if self.real is SINGLE else 0
        has_calls = bool(self.functions)
        registers = Registers(self._recorded, self._constants, self._count, self._list, single, has_calls)
        return registers.machine_code(len(self._base))


@cache
def _simple_operations() -> dict[Operation, tuple[int, int]]:
    """Return, for each operation that is one machine instruction, its kind of record and the instruction's code.

    The kinds are TWO, FUSE and COMPARE; for COMPARE the code is that of the predicate.
    """
    result = {}
    for operation in (*BY_NAME.values(), FMA, FMS, FNMA):
        code = operation.lowering.code
        for kind, known in ((TWO, _INSTRUCTIONS), (FUSE, FUSED), (COMPARE, _PREDICATES)):
            if code in known:
                result[operation] = kind, known[code]
    return result


def object_of_blocks(text: IrModule, blocks: Sequence[tuple[str, BlockAssembler]]) -> list[WrittenObject]:
    """Return the object file of blocks, if there are any, and record the shared functions that the blocks call.

    Each block comes with the name of its function.  ``text`` is a module of the same kernel.
    """

    def write() -> bytes:
        return object_file([(name.replace("@.", f"{text.name}."), *block.machine_code()) for name, block in blocks])

    assert text.shared is not None, text.name
    for name, block in blocks:
        text.shared |= block.functions
        text.assembled.add(name)
    return [WrittenObject(write)] if blocks else []


_WRITTEN = frozenset(("fneg", "fabs", "sqrt", "floor", "and", "or", "not", "maxnum", "minnum", "copysign", "sign"))
