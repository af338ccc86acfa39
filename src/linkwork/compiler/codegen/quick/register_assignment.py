"""Assignment of vector registers to the recorded instructions of a block, and their machine code.

If no register is free, the value that has been in a register for the longest time is moved to the stack.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from linkwork.compiler.codegen.quick.machine_code import (
    BLENDING,
    COMPARISON,
    MOVE,
    NOT_RESTORED,
    POINTERS,
    POOL,
    ROUNDING,
    SCRATCH,
    STACK,
    TO_SUM,
    Call,
    frame_code,
    general_move,
    move_code,
    register_move,
    three_registers,
)

__all__ = ["BLEND", "CALL", "COMPARE", "FUSE", "LOAD", "POINTER", "ROUND", "STORE", "TWO", "Registers"]

# a recorded instruction is (kind, result, arguments, further operand); kinds below LOAD compute in registers
TWO, FUSE, BLEND, ROUND, COMPARE, LOAD, POINTER, STORE, CALL = range(9)

_REGISTERS = 16


class Registers:
    """Assigns vector registers to the recorded instructions of a block, in order, and encodes them as machine code."""

    def __init__(
        self,
        recorded: Sequence[Any],
        constants: dict[bytes, int],
        count: int,
        listed: int,
        single: int,
        has_calls: bool,
    ) -> None:
        self.recorded = recorded
        self.single, self.has_calls = single, has_calls
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
        self.calls: list[tuple[int, str]] = []  # index in ``code`` of each call, and what it calls

    def machine_code(self, pointers: int) -> tuple[bytes, int, list[Call]]:
        """Return the code of a function with this number of pointers, as `BlockAssembler.machine_code`."""
        code, register, last, single = self.code, self.register, self.last, self.single
        saved = []  # general registers that a called function may change, and what they have throughout
        if self.has_calls:
            saved = [*(pointer for pointer in POINTERS[:pointers] if pointer in SCRATCH), POOL]
            self.size = 8 * len(saved)
        restore = b"".join([general_move(0x8B, pointer, 8 * k) for k, pointer in enumerate(saved)])
        free, spilled = self.free, self.spilled
        store, load = 0x11 + single, 0x10 + single
        add = code.append
        for k, (kind, result, arguments, operand) in enumerate(self.recorded):
            if kind == LOAD:
                if last[result] >= 0:
                    base, offset = operand
                    if free:
                        to = register[result] = free.pop()
                    else:
                        to = self.fresh((), result)
                    add(move_code(load, to, base) + offset.to_bytes(4, "little"))
                continue
            if kind == STORE:
                (a,) = arguments
                base, offset = operand
                to = register[a] if a in register else self.loaded(a, arguments)
                add(move_code(store, to, base) + offset.to_bytes(4, "little"))
                if last[a] == k:
                    self.ended(k, arguments)
                continue
            if kind == POINTER:
                add(self.load_pointer + operand)
                continue
            if kind == CALL:
                self.called(k, result, arguments, operand)
                add(restore)
                continue
            at = [register[a] if a in register else self.loaded(a, arguments) for a in arguments]
            if last[result] < 0:
                self.ended(k, arguments)
                continue
            if kind == FUSE:
                x, y, z = arguments
                a, b, c = at
                operand += single
                if last[z] == k and z != x and z != y:
                    add(three_registers(operand + TO_SUM, c, a, b))
                    del register[z]
                    register[result] = c
                elif last[x] == k and x != y and x != z:
                    add(three_registers(operand, a, b, c))
                    del register[x]
                    register[result] = a
                elif last[y] == k and y != x and y != z:
                    add(three_registers(operand, b, a, c))
                    del register[y]
                    register[result] = b
                else:
                    to = self.fresh(arguments, result)
                    add(three_registers(MOVE, to, 0, c))
                    add(three_registers(operand + TO_SUM, to, a, b))
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
            if kind == TWO:
                add(three_registers(operand + single, to, at[0], at[1]))
            elif kind == COMPARE:
                add(three_registers(COMPARISON + single, to, at[0], at[1]) + bytes((operand,)))
            elif kind == ROUND:
                add(three_registers(ROUNDING + single, to, at[0], at[1]) + bytes((operand,)))
            else:
                add(three_registers(BLENDING + single, to, at[0], at[1]) + bytes((at[2] << 4,)))
        size = -(-self.size // 16) * 16
        if self.calls and max(pointers - NOT_RESTORED, 0) % 2 == 0:
            size += 8  # with the return address and the pushed registers, a multiple of 16
        begin, end = frame_code(pointers, size)
        begin += b"".join([general_move(0x89, pointer, 8 * k) for k, pointer in enumerate(saved)])
        start = -(-len(self.data) // 16) * 16
        address = b"\x4c\x8d\x1d" + struct.pack("<i", -(start + 7))  # lea r11, [rip - ...]
        head = self.data.ljust(start, b"\0") + address + begin
        ends = [*accumulate(map(len, code), initial=len(head))] if self.calls else []
        calls = [Call(ends[index] + 2, name) for index, name in self.calls]
        return head + b"".join(code) + end, start, calls

    def called(self, k: int, result: int, arguments: tuple[int, ...], name: str) -> None:
        """Write the code of instruction k, the call of a function of one or two numbers.

        All values that are still needed are on the stack during the call.
        """
        last, register, single = self.last, self.register, self.single
        for value, index in register.items():
            if last[value] >= k and value not in self.pool and value not in self.spilled:
                self.code.append(register_move(0x11 + single, index, STACK, self.stack_offset(value)))
        for to, a in enumerate(arguments):
            base, offset = (POOL, self.pool[a]) if a in self.pool else (STACK, self.spilled[a])
            self.code.append(register_move(0x10 + single, to, base, offset))
        self.ended(k, arguments)
        self.calls.append((len(self.code), name))
        self.code.append(b"\x48\xb8" + bytes(8) + b"\xff\xd0")  # mov rax, the address; call rax
        register.clear()
        self.free[:] = range(_REGISTERS)
        for index, value in enumerate((result, result + 1)):
            if last[value] >= 0:
                register[value] = index
                self.free.remove(index)

    def stack_offset(self, value: int) -> int:
        """Reserve eight bytes of the stack for a value, and return their offset [bytes]."""
        if self.room:
            offset = self.room.pop()
        else:
            offset, self.size = self.size, self.size + 8
        self.spilled[value] = offset
        return offset

    def fresh(self, arguments: tuple[int, ...], result: int) -> int:
        """Return a register for the value ``result``; if no register is free, another value is moved to the stack."""
        if self.free:
            to = self.free.pop()
        else:
            evicted = next(value for value in self.register if value not in arguments)
            to = self.register.pop(evicted)
            if evicted not in self.pool and evicted not in self.spilled:
                self.code.append(register_move(0x11 + self.single, to, STACK, self.stack_offset(evicted)))
        self.register[result] = to
        return to

    def loaded(self, value: int, arguments: tuple[int, ...]) -> int:
        """Emit the load of a constant, or of a value on the stack, into a register; return the register."""
        to = self.fresh(arguments, value)
        base, offset = (POOL, self.pool[value]) if value in self.pool else (STACK, self.spilled[value])
        self.code.append(register_move(0x10 + self.single, to, base, offset))
        return to

    def ended(self, k: int, arguments: tuple[int, ...]) -> None:
        """Release the registers and stack memory of values whose last use is instruction k."""
        for a in arguments:
            if self.last[a] == k:
                if a in self.register:
                    self.free.append(self.register.pop(a))
                if a in self.spilled:
                    self.room.append(self.spilled.pop(a))
