"""Random programs, and their bit-exact reference evaluation, one operation at a time.

A `Reference` evaluates each instruction separately, in float64 or float32, for a processor with or without fused
multiply-add.  NumPy evaluates exact operations, the C library's ``fma`` fused ones.  A kernel of a single function
evaluates transcendental functions, and its results are compared with NumPy's.  A kernel of the whole program must agree
with the reference bit for bit, with any segments, threads and memory layout.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.soak.reference_control import bundle_results
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.operation_counts import listings
from linkwork.compiler.outlined_calls import OutlinedCalls
from linkwork.compiler.program import (
    CONSTANT,
    COS_OF,
    FMA,
    FMS,
    FNMA,
    INPUT,
    SIN_OF,
    SINCOS,
    Instruction,
    Port,
    Program,
)
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME, Operation

__all__ = [
    "Growing",
    "Reference",
    "argument",
    "bits_equal",
    "constants_of",
    "exact",
    "exact_program",
    "grow",
    "operations_of",
    "random_program",
    "text",
]

_CLOSE = 8.0  # units in the last place, between a function of ours and NumPy's


def bits_equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True if type, shape and all bits are equal, with the signs of zeros; all NaN count as equal."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    nan = np.isnan(a)
    whole = np.int32 if a.dtype == np.float32 else np.int64
    zero = a.dtype.type(0.0)
    return np.array_equal(nan, np.isnan(b)) and np.array_equal(
        np.where(nan, zero, a).view(whole), np.where(nan, zero, b).view(whole)
    )


def exact(operation: Operation) -> bool:
    """Return True if IEEE 754 determines the operation's result."""
    lowering = operation.lowering
    return lowering.kind in ("instruction", "intrinsic") or lowering.code in ("sign", "not", "where")


def exact_program(program: Program) -> bool:
    """Return True if IEEE 754 determines the results of all operations of the program."""
    instructions = [i for listing in listings(program) for i in listing.instructions]
    return all(exact(i.operation) for i in instructions if i.operation.arity > 0 and i.operation is not PART)


# -- programs


@dataclass
class Growing:
    """A program or body under construction.

    It has the instructions so far, the indices of real and truth values, and samples of the values.
    """

    instructions: list[Instruction]
    samples: list[np.ndarray]
    reals: list[int]
    truths: list[int]
    unused: set[int]

    @staticmethod
    def of(inputs: Sequence[np.ndarray], rng: np.random.Generator) -> Growing:
        """Inputs with these samples, and some constants, 1 among them."""
        growing = Growing([], [], [], [], set())
        for index, sample in enumerate(inputs):
            growing.add(Instruction(INPUT, (), index), sample)
        for value in rng.choice(_CONSTANTS, size=rng.integers(1, 6), replace=False):
            growing.add(Instruction(CONSTANT, (), float(value)), np.full(8, value))
        growing.add(Instruction(CONSTANT, (), 1.0), np.ones(8))
        return growing

    def add(self, instruction: Instruction, sample: np.ndarray) -> None:
        position = len(self.instructions)
        self.instructions.append(instruction)
        self.samples.append(sample)
        (self.truths if instruction.operation.logical else self.reals).append(position)
        self.unused -= set(instruction.args)
        if instruction.operation is not CONSTANT:
            self.unused.add(position)


_CONSTANTS = [0.5, -1.25, 3.0, 1e-3, -2.0, 0.1, 7.0, -0.0]
_WEIGHTS = {
    "mul": 20.0,
    "add": 14.0,
    "sub": 14.0,
    "neg": 3.0,
    "sin": 3.0,
    "cos": 3.0,
    "div": 3.0,
    "where": 4.0,
    "lt": 3.0,
}


More = Callable[[np.random.Generator, Growing, bool], bool]  # adds other instructions, if it does


def random_program(rng: np.random.Generator, length: int, more: More | None = None) -> Program:
    """Return a program of about `length` instructions, with most values neither huge nor NaN.

    No result depends on the sign of a zero or of a NaN that IEEE 754 leaves undefined: the second argument of minimum,
    maximum and copysign is a nonzero constant.
    """
    inputs = tuple(Port(f"x{k}", _shape(rng)) for k in range(rng.integers(1, 5)))
    growing = Growing.of([rng.normal(size=8) for _ in range(sum(port.size for port in inputs))], rng)
    constants = constants_of(growing)
    exact_only = bool(rng.random() < 0.3)
    names, weights = operations_of(rng, exact_only)
    chosen = iter(rng.choice(len(names), size=8 * length + 100, p=weights))
    with np.errstate(all="ignore"):
        while len(growing.instructions) < length:
            if more is None or not more(rng, growing, exact_only):
                grow(rng, growing, BY_NAME[names[next(chosen, 0)]], constants)
    outputs = tuple(Port(f"y{k}", _shape(rng)) for k in range(rng.integers(1, 4)))
    loose = [k for k in growing.unused if k not in growing.truths]
    rng.shuffle(loose)
    candidates = [*loose, *growing.reals[::-1]]
    results = [int(candidates[k % len(candidates)]) for k in range(sum(port.size for port in outputs))]
    return Program("random", inputs, outputs, tuple(growing.instructions), tuple(results))


def constants_of(growing: Growing) -> list[int]:
    """The constants that are not zero."""
    return [k for k, i in enumerate(growing.instructions) if i.operation is CONSTANT and i.value != 0.0]


def operations_of(rng: np.random.Generator, exact_only: bool) -> tuple[list[str], np.ndarray]:
    """The operations, and how likely each is."""
    names = [name for name, operation in BY_NAME.items() if operation.arity]
    weights = np.array([_WEIGHTS.get(name, 1.0) for name in names])
    if exact_only:
        weights[[not exact(BY_NAME[name]) for name in names]] = 0.0
    return names, weights / weights.sum()


def grow(rng: np.random.Generator, growing: Growing, operation: Operation, constants: list[int]) -> None:
    kinds = [growing.truths if kind == "t" else growing.reals for kind in operation.kinds]
    if not all(kinds):
        return
    args = [argument(rng, growing, kind) for kind in kinds]
    if operation.name in ("fmin", "fmax", "copysign"):
        args[1] = int(rng.choice(constants))
    sample = operation.value(*(growing.samples[a] for a in args))
    tame = operation.logical or bool((np.abs(sample) < 1e6).all())
    if tame or rng.random() < 0.02:
        growing.add(Instruction(operation, tuple(args)), sample)


def argument(rng: np.random.Generator, growing: Growing, kind: list[int]) -> int:
    """Return usually a recent value, sometimes an old one, preferably one that is not used yet."""
    for _ in range(3):
        back = int(rng.integers(len(kind))) if rng.random() < 0.1 else min(int(rng.exponential(12.0)), len(kind) - 1)
        value = kind[len(kind) - 1 - back]
        if value in growing.unused:
            break
    return value


def _shape(rng: np.random.Generator) -> tuple[int, ...]:
    rank = int(rng.choice(4, p=[0.2, 0.4, 0.3, 0.1]))
    return tuple(int(n) for n in rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 9, 17], size=rank, p=[0.03, *[0.12] * 8, 0.01]))


def text(program: Program) -> str:
    """A program as text, a line for each instruction; bodies of loops stand in their value."""
    lines = [" ".join(["inputs:", *map(str, program.inputs), " outputs:", *map(str, program.outputs)])]
    for k, (operation, args, value) in enumerate(program.instructions):
        attribute = "" if value is None else repr(value)
        lines.append(f"v{k} = {operation.name} {' '.join([*(f'v{a}' for a in args), attribute])}".rstrip())
    return "\n".join([*lines, f"results: {' '.join(f'v{r}' for r in program.results)}"])


# -- what they compute


class Reference:
    """Operations on columns of numbers of one type, as one target computes them."""

    def __init__(self, target: Target, real: FloatType) -> None:
        self.target, self.real = target, real
        self.compared = 0

    def results(self, program: Program, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs of a program after all passes, for arrays of shape (samples, *shape of the port)."""
        dtype, samples = self.real.dtype, len(arrays[0])
        columns = [c for x in arrays for c in x.reshape(samples, -1).astype(dtype).T]
        with np.errstate(all="ignore"):
            values = self._run(program, columns, samples)
        outputs, start = [], 0
        for port in program.outputs:
            parts = values[start : start + port.size]
            stacked = np.stack(parts, axis=-1) if parts else np.zeros((samples, 0), dtype)
            outputs.append(stacked.reshape(samples, *port.shape))
            start += port.size
        return outputs

    def _run(self, listing: InstructionList, columns: Sequence[Any], samples: int) -> list[np.ndarray]:
        dtype = self.real.dtype

        def inside(body: InstructionList, arguments: Sequence[Any]) -> list[np.ndarray]:
            return self._run(body, arguments, len(arguments[0]) if arguments else samples)

        def applied(instruction: Instruction, args: list[Any]) -> Any:
            if instruction.operation.arity >= 0:
                return self.apply(instruction.operation, args)
            bundle = instruction.value
            if isinstance(bundle, OutlinedCalls):
                return bundle.run(args, applied, constant)
            return bundle_results(bundle, args, inside, dtype)

        def constant(value: float) -> np.ndarray:
            return np.full(samples, value).astype(dtype)

        return listing.run(columns, applied, constant)

    def apply(self, operation: Operation, args: list[Any]) -> Any:
        """One operation."""
        if exact(operation):
            return operation.value(*args)
        if operation in (SIN_OF, COS_OF):
            return args[0][operation is COS_OF]
        if operation is SINCOS:
            return self.apply(BY_NAME["sin"], args), self.apply(BY_NAME["cos"], args)
        if operation in (FMA, FMS, FNMA):
            x, y, z = args
            return _fused(self.real)(-x if operation is FNMA else x, y, -z if operation is FMS else z)
        got = _function(operation, self.target)(*args)
        self._compare(operation, args, got)
        return got

    def _compare(self, operation: Operation, args: list[np.ndarray], got: np.ndarray) -> None:
        """A function's results against NumPy's, in float64.  Raises AssertionError."""
        expected = operation.value(*(x.astype(np.float64) for x in args))
        limits = np.finfo(self.real.dtype)
        rounded = expected.astype(self.real.dtype)
        wide, both = got.astype(np.float64), np.isfinite(got) & np.isfinite(rounded)
        unit = np.maximum(np.abs(expected), float(limits.tiny)) * float(limits.eps)
        beside = np.abs(wide) >= float(limits.max) * (1.0 - _CLOSE * float(limits.eps))  # of the end of the range
        right = np.where(both, np.abs(wide - expected) <= _CLOSE * unit, beside | (wide == rounded))
        right |= np.isnan(wide) & np.isnan(rounded)
        self.compared += right.size
        if not right.all():
            k = int(np.argmin(right))
            operands = ", ".join(repr(float(x[k])) for x in args)
            raise AssertionError(f"{operation.name}({operands}) in {self.real.name}: {got[k]!r}, not {expected[k]!r}")


@cache
def _function(operation: Operation, target: Target) -> Kernel:
    """A kernel of one operation."""
    ports = tuple(Port(f"x{k}", ()) for k in range(operation.arity))
    leaves = [Instruction(INPUT, (), k) for k in range(operation.arity)]
    instruction = Instruction(operation, tuple(range(operation.arity)))
    return Kernel(
        Program(operation.name, ports, (Port("y", ()),), (*leaves, instruction), (operation.arity,)),
        backend=CPUBackend(target),
    )


@cache
def _fused(real: FloatType) -> Any:
    """The C library's ``fma`` on arrays."""
    library = ctypes.CDLL(ctypes.util.find_library("m") or None)
    number = ctypes.c_float if real.bits == 32 else ctypes.c_double
    function = library.fmaf if real.bits == 32 else library.fma
    function.restype, function.argtypes = number, [number] * 3
    on_arrays = np.frompyfunc(function, 3, 1)
    return lambda x, y, z: on_arrays(x.astype(float), y.astype(float), z.astype(float)).astype(real.dtype)
