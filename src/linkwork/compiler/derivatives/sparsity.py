"""Sparsity of derivatives, and the cost of forward and reverse Jacobians.

Forward mode differentiates an operation once for each direction on which its arguments depend; reverse mode once for
each output that depends on its value. Both numbers are counted on the program, with sets of directions and outputs as
bits of integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.compiler.program import INPUT, Instruction, Program
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.scalar.block import bodies_of
from linkwork.expr.scalar.multi_result import PART

__all__ = ["Estimate", "Pattern", "estimate", "moved_by", "pushes", "totals"]


class Pattern:
    """The sparsity pattern of an array: which of its elements may be nonzero. Patterns are immutable.

    ``shape`` is the shape of the dense array. ``indices`` (nnz, ndim) are the indices of the elements that may be
    nonzero, in row-major order. ``nnz`` is the number of these elements.
    """

    __slots__ = ("indices", "shape")

    shape: tuple[int, ...]
    indices: np.ndarray

    def __init__(self, shape: tuple[int, ...], flat_indices: Iterable[int]) -> None:
        """Create the pattern of elements with these flat indices, in row-major order."""
        flat = np.fromiter(flat_indices, dtype=np.intp)
        indices = np.stack(np.unravel_index(flat, shape or (1,)), axis=-1) if flat.size else np.zeros((0, 1), np.intp)
        indices = indices[:, :0] if not shape else indices.reshape(flat.size, len(shape))
        indices.flags.writeable = False
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "indices", indices)

    @property
    def nnz(self) -> int:
        """Number of elements that may be nonzero."""
        return len(self.indices)

    def dense(self, values: Any) -> np.ndarray:
        """Return the array (..., *shape) with these values (..., nnz) and zeros elsewhere."""
        array = np.asarray(values)
        if array.shape[-1:] != (self.nnz,):
            raise ValueError(f"expected values of shape (..., {self.nnz}), got {array.shape}")
        leading = array.shape[:-1]
        result = np.zeros((*leading, math.prod(self.shape)), array.dtype)
        result[..., self._flat()] = array
        return result.reshape((*leading, *self.shape))

    def _flat(self) -> np.ndarray:
        if not self.shape:
            return np.arange(self.nnz)
        return np.ravel_multi_index(tuple(self.indices.T), self.shape) if self.nnz else np.zeros(0, np.intp)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Pattern is immutable: cannot set {name}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pattern):
            return NotImplemented
        return self.shape == other.shape and np.array_equal(self.indices, other.indices)

    def __hash__(self) -> int:
        return hash((self.shape, self.indices.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Pattern, (self.shape, self._flat().tolist())

    def __repr__(self) -> str:
        return f"<Pattern {self.nnz} of {self.shape}>"


_SUMS = ("add", "sub", "neg")  # partial derivatives are 1 and -1


class Estimate(NamedTuple):
    """Estimated numbers of products and of sums that a Jacobian needs in addition to the program's own operations."""

    forward: int
    reverse: int


def estimate(program: Program, directions: Mapping[int, int], outputs: Sequence[int]) -> Estimate:
    """Return the estimated cost of a Jacobian in forward and in reverse mode.

    Sets are integers with one bit for each member. ``directions`` has, for each input element, the set of tangent
    directions that move it. ``outputs`` has, for each result, the set of Jacobian rows that depend on it.
    """
    instructions = program.instructions
    moved = moved_by(instructions, directions)
    needed_along = [0] * len(instructions)
    for result, bits in zip(program.results, outputs, strict=False):
        needed_along[result] |= bits
    forward = reverse = 0
    for k in range(len(instructions) - 1, -1, -1):
        operation, args, _ = instructions[k]
        if not (moved[k] and needed_along[k]):
            continue
        active = [a for a in args if moved[a]]
        if not active:
            continue
        times, linear = _times(instructions[k]), operation.name in _SUMS or operation is PART
        counts = [moved[a].bit_count() for a in active]
        forward += times * (sum(counts) * (1 if linear else 2) - moved[k].bit_count())
        rows = needed_along[k].bit_count()
        for a in active:
            reverse += times * ((0 if linear else rows) + (needed_along[a] & needed_along[k]).bit_count())
            needed_along[a] |= needed_along[k]
    return Estimate(forward, reverse)


def totals(moved: Sequence[int], count: int) -> list[int]:
    """Return, for each of ``count`` directions, the number of values that depend on it.

    ``moved`` has, for each value, the set of directions that it depends on, an integer with one bit for each.
    """
    width = count // 8 + 1
    bits = np.frombuffer(b"".join(value_set.to_bytes(width, "little") for value_set in moved), np.uint8).reshape(
        -1, width
    )
    counts: list[int] = np.unpackbits(bits, axis=1, bitorder="little").sum(axis=0, dtype=int)[:count].tolist()
    return counts


def pushes(
    instructions: Sequence[Instruction], results: Sequence[int], moved: Sequence[int], needed_along: Sequence[int]
) -> int:
    """Return the number of derivatives that forward mode computes: of each value, along the directions needed.

    Sets of directions are integers with one bit for each. ``moved`` has the set that each value depends on, and
    ``needed_along`` the set along which the derivative of each result is needed.
    """
    needed, count = [0] * len(instructions), 0
    for result, bits in zip(results, needed_along, strict=True):
        needed[result] |= bits
    for k in range(len(instructions) - 1, -1, -1):
        bits = needed[k] & moved[k]
        if bits:
            count += bits.bit_count() * _times(instructions[k])
            for a in instructions[k].args:
                needed[a] |= bits
    return count


def moved_by(instructions: Sequence[Instruction], directions: Mapping[int, int]) -> list[int]:
    """Return, for each instruction, the set of tangent directions on which its value depends.

    Sets are integers with one bit for each direction.  ``directions`` has the set of each input element.
    """
    moved: list[int] = []
    for operation, args, value in instructions:
        if operation is INPUT:
            moved.append(directions.get(value, 0))
            continue
        bits = 0
        if operation.partials is not None or operation.arity < 0 or operation is PART:
            for a in args:
                bits |= moved[a]
        moved.append(bits)
    return moved


def _times(instruction: Instruction) -> int:
    """Return the number of operations of an instruction; a loop counts with all its iterations."""
    operation, _, value = instruction
    if operation.arity >= 0:
        return 1
    runs = value.max_iterations if isinstance(value, Loop) else 1
    return runs * sum(len(body.instructions) for body in bodies_of(value)) or 1
