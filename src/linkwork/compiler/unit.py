"""Numbers that should have length 1 together, such as a quaternion's: code that tells where they have not."""

from __future__ import annotations

from collections.abc import Sequence

from .ir import Function
from .llvm import Text
from .program import Program
from .real import Real

__all__ = ["EXACT", "is_off_unit", "off_unit"]

EXACT = 1e-6  # how far a length may be from 1: float32 rounds by 6e-8


def is_off_unit(f: Function, text: Text, real: Real, lanes: int, numbers: Sequence[str]) -> str:
    """Whether the numbers' squares add up to something else than 1, for every lane; not where one of them is NaN."""
    kind = real.vector(lanes)
    total = real.literal(-1.0, lanes)
    for x in numbers:
        total = f.let(f"fadd {kind} {total}, {f.let(f'fmul {kind} {x}, {x}')}")
    name = f"@llvm.fabs.{real.suffix(lanes)}"
    text.declare(f"declare {kind} {name}({kind})")
    size = f.let(f"call {kind} {name}({kind} {total})")
    return f.let(f"fcmp ogt {kind} {size}, {real.literal(2.0 * EXACT, lanes)}")


def off_unit(f: Function, text: Text, program: Program, real: Real, arrays: Sequence[str]) -> list[str]:
    """The same of one sample of contiguous arrays, for each set of numbers that should have length 1."""
    places = [(array, e) for array, port in zip(arrays, program.inputs, strict=False) for e in range(port.size)]
    found = []
    for unit in program.unit:
        chosen = [places[k] for k in unit]
        numbers = [f.load(real.name, f.at(array, real.bytes * e), real.bytes) for array, e in chosen]
        found.append(is_off_unit(f, text, real, 1, numbers))
    return found
