"""Helpers of the compiler's tests: special values, comparisons, random programs, targets."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import numpy as np
import pytest
from benchmarks.soak import random_programs
from hypothesis import strategies as st

from linkwork.compiler.codegen.target import Target, host
from linkwork.compiler.codegen.vector_math import CODES
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Port, Program
from linkwork.expr.scalar.operations import BY_NAME, Operation

OPERATIONS = tuple(operation for operation in BY_NAME.values() if operation.arity)
TRANSCENDENTAL = tuple(o for o in OPERATIONS if o.lowering.code in (*CODES, "sin", "cos"))
EXACT = tuple(o for o in OPERATIONS if o not in TRANSCENDENTAL)

SUBNORMAL, SMALLEST, LARGEST = 5e-324, 2.0**-1022, np.finfo(np.float64).max
SPECIAL = np.array(
    [0.0, SUBNORMAL, 1e-310, SMALLEST, 1e-300, 0.5, 1.0, 1.5, 2.0, np.pi, 710.0, 2.0**52 + 0.5, 1e300, LARGEST, np.inf]
)
SPECIAL = np.concatenate([SPECIAL, -SPECIAL, [np.nan]])


def sample_values(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Values of all magnitudes, some of them special."""
    usual = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3, size=shape)
    return np.where(rng.random(shape) < 0.2, rng.choice(SPECIAL, size=shape), usual)


def bits_equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to the last bit, signs of zeros included; every NaN is like another."""
    return random_programs.bits_equal(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))


def all_bits_equal(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> bool:
    return len(a) == len(b) and all(bits_equal(x, y) for x, y in zip(a, b, strict=True))


def targets() -> dict[str, Target]:
    """This machine's target, and on x86 the older ones that it can run."""
    target = host()
    known = {"host": target}
    if platform.machine().lower() in ("x86_64", "amd64"):
        known["sse2"] = Target(target.triple, "x86-64", "", lanes=2, fma=False)
        if target.fma and target.lanes >= 4:
            known["avx2"] = Target(target.triple, "x86-64-v3", "", lanes=4, fma=True)
    return known


TARGETS = targets()
every_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())


@st.composite
def programs(draw: st.DrawFn, operations: Sequence[Operation] = OPERATIONS, most: int = 40) -> Program:
    """A program of random operations.

    Where the sign of a zero or of a NaN may be either (IEEE 754 leaves it open in a minimum of zeros, and in the
    result of an invalid operation), no operation gets to see it.
    """
    ports = tuple(
        Port(f"x{k}", tuple(shape))
        for k, shape in enumerate(draw(st.lists(st.lists(st.integers(0, 3), max_size=2), min_size=1, max_size=3)))
    )
    instructions = [Instruction(INPUT, (), index) for index in range(sum(port.size for port in ports))]
    constants = draw(st.lists(st.sampled_from([0.5, -1.25, 3.0, 1e-3, -2.0, 7.0, -0.0]), min_size=1, max_size=4))
    instructions += [Instruction(CONSTANT, (), value) for value in constants]
    leaves = len(instructions)
    reals, truths = list(range(leaves)), []
    nonzero = [k for k, i in enumerate(instructions) if i.operation is CONSTANT and i.value != 0.0]
    if not nonzero:
        instructions.append(Instruction(CONSTANT, (), 1.0))
        nonzero = [leaves]
        reals.append(leaves)
    for _ in range(draw(st.integers(1, most))):
        operation = draw(st.sampled_from(operations))
        operands = [truths if kind == "t" else reals for kind in operation.kinds]
        if operation.name in ("fmin", "fmax", "copysign"):
            operands = [reals, nonzero]
        if not all(operands):
            continue
        args = tuple([draw(st.sampled_from(choices)) for choices in operands])
        (truths if operation.logical else reals).append(len(instructions))
        instructions.append(Instruction(operation, args))
    shapes = draw(st.lists(st.lists(st.integers(0, 3), max_size=2), min_size=1, max_size=3))
    outputs = tuple(Port(f"y{k}", tuple(shape)) for k, shape in enumerate(shapes))
    results = [draw(st.sampled_from(reals)) for port in outputs for _ in range(port.size)]
    return Program("random", ports, outputs, tuple(instructions), tuple(results))


def arrays_for(program: Program, seed: int, *batch: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [sample_values(rng, *batch, *port.shape) for port in program.inputs]
