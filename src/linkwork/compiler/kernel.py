"""A kernel: compiled code behind a NumPy call."""

from __future__ import annotations

import ctypes
import time
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from .fastcall import make_fast
from .gufunc import make_gufunc, signature
from .jit import generate, module_text
from .passes import optimize
from .program import Port, Program
from .target import Target, host

__all__ = ["Kernel", "nan_counter", "single_call", "traced"]


class Kernel:
    """A function of float64 arrays, compiled: call it with one array for each input.

    Leading dimensions are a batch and broadcast as NumPy does; ``out=`` takes arrays to write to.  A kernel of one
    output returns an array, one of several a named tuple of arrays.  NaN and infinity pass through as IEEE 754 has
    it, sample by sample and without warnings.
    """

    def __init__(
        self, program: Program, *, doc: str = "", target: Target | None = None, without_passes: Sequence[str] = ()
    ) -> None:
        start = time.perf_counter()
        self._traced = program
        self._target = host() if target is None else target
        if not self._target.fma:
            without_passes = [*without_passes, "fuse"]
        self._program = optimize(program, without=without_passes)
        self._code = generate(self._program, self._target)
        self._nan_counter = ctypes.c_int64(0)
        self._ufunc = make_gufunc(
            program.name, doc, program.inputs, program.outputs, self._code.loop, self._nan_counter, self._code
        )
        self._has_empty = any(port.size == 0 for port in (*program.inputs, *program.outputs))
        self._result: Any = None
        if len(program.outputs) > 1:
            names: Any = [port.name for port in program.outputs]
            self._result = cast(Any, namedtuple)(f"{program.name}_result", names)
        self._compile_time = time.perf_counter() - start

    def __call__(self, /, *arrays: Any, out: Any = None, **named: Any) -> Any:
        if named:
            arrays = self._in_order(arrays, named)
        if self._has_empty:
            out = self._with_empty(arrays, out)
        result = self._ufunc(*arrays) if out is None else self._ufunc(*arrays, out=out)
        return result if self._result is None else self._result(*result)

    def _in_order(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        names = [p.name for p in self.inputs]
        for name in named:
            if name not in names[len(arrays) :]:
                raise TypeError(f"{self.name}: unexpected or repeated argument {name!r}; the inputs are {names}")
        missing = [n for n in names[len(arrays) :] if n not in named]
        if missing:
            raise TypeError(f"{self.name}: missing argument {missing[0]!r}; the inputs are {names}")
        return (*arrays, *(named[n] for n in names[len(arrays) :]))

    def _with_empty(self, arrays: tuple[Any, ...], out: Any) -> Any:
        """What NumPy cannot do for a gufunc where a dimension is of size zero: check it, and make such outputs.

        Returns the arrays to write to.
        """
        made = list(out) if isinstance(out, tuple) else [out] if out is not None else [None] * len(self.outputs)
        if len(arrays) != len(self.inputs) or len(made) != len(self.outputs):
            return out  # for NumPy to explain
        batch = np.broadcast_shapes(*map(self._leading, self.inputs, arrays))
        for k, port in enumerate(self.outputs):
            if made[k] is not None:
                self._leading(port, made[k])
            elif port.size == 0:
                made[k] = np.empty((*batch, *port.shape))
        return tuple(made)

    def _leading(self, port: Port, x: Any) -> tuple[int, ...]:
        """The leading dimensions of an array for a port.  Raises ValueError where the others are not the port's."""
        shape: tuple[int, ...] = np.shape(x)
        count = len(shape) - len(port.shape)
        if count < 0 or shape[count:] != port.shape:
            wanted = ", ".join(["...", *map(str, port.shape)])
            raise ValueError(f"{self.name}: expected {port.name} of shape ({wanted}), got {shape}")
        return shape[:count]

    @property
    def name(self) -> str:
        return self._program.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The inputs by name and shape."""
        return self._program.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The outputs by name and shape."""
        return self._program.outputs

    @property
    def signature(self) -> str:
        """The core dimensions as NumPy writes them."""
        return signature(self.inputs, self.outputs)

    @property
    def program(self) -> Program:
        """The program that was compiled, after all passes."""
        return self._program

    @property
    def operations(self) -> Mapping[str, int]:
        """How many operations of each kind one sample takes, before products and sums are fused."""
        return self._traced.operations

    @property
    def arithmetic(self) -> int:
        """Multiplications, additions and subtractions that one sample takes."""
        return self._traced.arithmetic

    @property
    def compile_time(self) -> float:
        """Seconds from the traced program to machine code."""
        return self._compile_time

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR that the machine code was made from."""
        return module_text(self._program, self._target)

    @property
    def ufunc(self) -> np.ufunc:
        """The kernel as a NumPy generalized ufunc."""
        return self._ufunc

    def interpret(self, *arrays: Any) -> Any:
        """The same function by the interpreter, one operation at a time: slow, and the reference."""
        results = self._traced.interpret(*arrays)
        return results[0] if self._result is None else self._result(*results)

    def to_casadi(self) -> Any:
        """The kernel as a `casadi.Function` of SX, with the same inputs and outputs.

        (n,) becomes a column (n, 1), () a scalar; of more than two dimensions all but the last become one, so that
        (nb, 4, 4) becomes (4 nb, 4).  Raises ImportError where CasADi is not installed.
        """
        from .casadi import to_casadi

        return to_casadi(self)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"kernel {self.name!r}: machine code is not pickled or copied: compile it where it is needed")

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"<Kernel {self.name}: {inputs} -> {outputs}>"


def traced(kernel: Kernel) -> Program:
    """The program as traced, before any pass."""
    return kernel._traced


def nan_counter(kernel: Kernel) -> Any:
    """A ctypes int64 that grows with every call of a kernel's loop in which some input was NaN."""
    return kernel._nan_counter


def single_call(kernel: Kernel, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """A function for plain arrays of one sample, below a gufunc's cost; ``otherwise`` takes everything else."""
    return make_fast(kernel.name, kernel._code, otherwise)
