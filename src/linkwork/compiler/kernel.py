"""A kernel: compiled code behind a NumPy call."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..expr.arrays import is_traced, over_samples, scalars
from ..expr.structure import Leaf
from .build import KernelCode, Recipe, Source
from .entries import ENTRIES, available, parts_here
from .fastcall import make_fast
from .gufunc import make_gufunc, signature
from .interpreter import in_main_interpreter
from .interrupts import interrupts_address
from .jit import assembly
from .loops import State
from .nesting import Nesting, taking
from .program import Port, Program
from .real import DOUBLE, SINGLE
from .target import Target, host
from .threads import setting_address
from .to_casadi import to_casadi
from .typed_loop import FLOAT64, TypedLoop, are_single, is_double, takes_single
from .uncompiled import run_uncompiled

__all__ = [
    "SAY_WHAT_IS_MASKED",
    "Kernel",
    "batch_call",
    "call_state",
    "general_call",
    "made_from",
    "make_ready",
    "single_call",
]

_MASKED = np.ma.MaskedArray
SAY_WHAT_IS_MASKED = "say what its masked numbers are, with its method filled()"


class Kernel:
    """A compiled function of arrays: call it with one array for each input, by place or by name.

    Leading dimensions are a batch and broadcast as NumPy does; ``out=`` takes arrays to write to.  A kernel of one
    output returns an array, one of several a named tuple of arrays.  Where all arguments are float32 (or can be cast to
    it safely, as NumPy has it) it computes and returns float32, and otherwise float64.  NaN and infinity pass through
    as IEEE 754 has it, sample by sample and without warnings; masked arrays are refused (ValueError).  Large batches
    are shared between threads: see `linkwork.set_num_threads`.
    """

    __slots__ = ("__weakref__", "_call", "_code", "_function", "_general", "_nesting", "_source")

    if TYPE_CHECKING:  # it is the slot `_call`: what stands there is called without a detour through Python

        def __call__(self, /, *arrays: Any, out: Any = None, **named: Any) -> Any: ...

    def __init__(
        self,
        program: Program | Recipe,
        *,
        doc: str = "",
        target: Target | None = None,
        without_passes: Sequence[str] = (),
        function: Callable[..., Any] | None = None,
        nesting: Nesting | None = None,
    ) -> None:
        recipe = Recipe.of(program) if isinstance(program, Program) else program
        self._source = Source(recipe, host() if target is None else target, without_passes)
        self._code = KernelCode(self._source)
        self._general = _General(self._source, self._code, doc)
        self._function = function
        self._nesting = nesting or Nesting({port.name: Leaf(port.shape, bool(port.shape)) for port in self.inputs})
        flat: Any = single_call(self, self._general)
        self._call: Any = flat if self._nesting.is_flat else taking(self._nesting, self.name, flat)

    @property
    def __signature__(self) -> inspect.Signature:
        kinds = inspect.Parameter
        arrays = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in self._nesting.inputs]
        return inspect.Signature([*arrays, kinds("out", kinds.KEYWORD_ONLY, default=None)])

    @property
    def name(self) -> str:
        """What it was called when it was made: messages and the symbols of its code begin with it."""
        return self._source.recipe.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The inputs by name and shape."""
        return self._source.recipe.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The outputs by name and shape."""
        return self._source.recipe.outputs

    @property
    def signature(self) -> str:
        """The core dimensions as NumPy writes them."""
        return signature(self.inputs, self.outputs)

    @property
    def program(self) -> Program:
        """The program that was compiled, after all passes."""
        return self._source.program

    @property
    def operations(self) -> Mapping[str, int]:
        """How many operations of each kind one sample takes, before products and sums are fused."""
        return self._source.traced.operations

    @property
    def arithmetic(self) -> int:
        """Multiplications, additions and subtractions that one sample takes."""
        return self._source.traced.arithmetic

    @property
    def compile_time(self) -> float:
        """Seconds from the traced program to machine code, or to find and load it where the cache on disk has it.

        Of what has been asked for until now: the code for a batch is compiled with the first one.
        """
        return self._code.seconds

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR that the machine code was made from: of float64, all modules one after the other."""
        return "\n".join(self._source.texts(parts_here(DOUBLE)))

    @property
    def assembly(self) -> str:
        """The processor's instructions, as text that LLVM writes: of float64."""
        return assembly(self._source.texts(parts_here(DOUBLE)), self._source.target)

    @property
    def ufunc(self) -> np.ufunc:
        """The kernel as a NumPy generalized ufunc."""
        if not in_main_interpreter():  # in others, nothing can be compiled while NumPy waits for it
            for loop in self._general.loops:
                loop.make()
        return self._general.ufunc

    def interpret(self, *arrays: Any) -> Any:
        """The same function by the interpreter, one operation at a time in float64: slow, and the reference."""
        arrays = tuple(self._nesting.taken_apart(self.name, arrays))
        return self._together(self._source.traced.interpret(*arrays))

    @property
    def function(self) -> Callable[..., Any]:
        """The Python function that it was made of.  Raises TypeError where there is none."""
        if self._function is None:
            raise TypeError(f"kernel {self.name!r} was made of no Python function; `interpret` runs its program")
        return self._function

    def uncompiled(self, *arrays: Any, **named: Any) -> Any:
        """What the Python function itself gives for numbers, one state or a batch: slow, and a reference.

        It takes what the kernel takes, but for ``out``.  One state goes in as floats; a batch as arrays whose elements
        are arrays of all samples, so that the function runs once.  Raises TypeError where there is no function.
        """
        function = self.function
        given = self._nesting.taken_apart(self.name, self._nesting.in_order(self.name, arrays, named))
        return self._together(run_uncompiled(function, self._nesting, self.inputs, self.outputs, given))

    def _together(self, results: Sequence[Any]) -> Any:
        """The outputs as a call returns them."""
        result = self._general.result
        return self._nesting.put_together(results[0] if result is None else result(*results))

    def to_casadi(self) -> Any:
        """The kernel as a `casadi.Function` of SX, with the same inputs and outputs.

        (n,) becomes a column (n, 1), () a scalar; of more than two dimensions all but the last become one, so that
        (nb, 4, 4) becomes (4 nb, 4).  Raises ImportError where CasADi is not installed.
        """
        return to_casadi(self._source.traced)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"kernel {self.name!r}: machine code is not pickled or copied: compile it where it is needed")

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"<Kernel {self.name}: {inputs} -> {outputs}>"


setattr(Kernel, "__call__", Kernel.__dict__["_call"])  # noqa: B010 - as a slot of that name hides it from type checkers


class _General:
    """A kernel's call with any arguments, through NumPy."""

    __slots__ = (
        "__weakref__",
        "_double",
        "_mixed_ranks",
        "_single",
        "_source",
        "has_empty",
        "inputs",
        "loops",
        "name",
        "outputs",
        "result",
        "state",
        "ufunc",
    )

    def __init__(self, source: Source, code: KernelCode, doc: str) -> None:
        recipe, self._source = source.recipe, source
        self.name, self.inputs, self.outputs = recipe.name, recipe.inputs, recipe.outputs
        self.has_empty = any(port.size == 0 for port in (*self.inputs, *self.outputs))
        self._mixed_ranks = len({len(port.shape) for port in (*self.inputs, *self.outputs)}) > 1
        self.result: Any = None
        if len(self.outputs) > 1:
            names: Any = [port.name for port in self.outputs]
            self.result = cast(Any, namedtuple)(f"{self.name}_result", names)
        self.state = State(threads=setting_address(), interrupts=interrupts_address())
        self._double, self._single = self.loops = [TypedLoop(code, real, self.state) for real in (DOUBLE, SINGLE)]
        # nothing tells which type is meant where there are no inputs, and NumPy cannot choose one
        chosen = [self._single, self._double] if self.inputs else [self._double]
        owners = [(loop.callback, loop.owners) for loop in chosen]
        addresses = [(loop.real, loop.address) for loop in chosen]
        self.ufunc, table = make_gufunc(
            self.name, doc, self.inputs, self.outputs, addresses, self.state, owners, chosen
        )
        for place, loop in enumerate(chosen):
            loop.found_in(table, place)

    def run(self, *arrays: Any) -> Any:
        """The call with an array for each input, of which there are some, and nothing else; no dimension is zero.

        What it does, `__call__` does again around ``out``: one for both costs a small batch 5 to 8 % of its time.
        """
        first = arrays[0]
        if not (type(first) is np.ndarray and first.dtype is FLOAT64 and self._double.ready):
            self._prepare(arrays)
        failed = self.state.failed_calls  # as others may fail at the same time, it is looked at and never set back
        try:
            result = self.ufunc(*arrays)
        except TypeError:
            self._refuse(arrays, None)
            raise
        if self.state.failed_calls != failed:
            self._raise_failure()
        if self.result is None:
            if type(result) is _MASKED:  # as results of masked arrays are
                self._refuse_masked(arrays, self.inputs)
            return result
        if _MASKED in map(type, result):
            self._refuse_masked(arrays, self.inputs)
        return self.result(*result)

    def __call__(self, /, *arrays: Any, out: Any = None, **named: Any) -> Any:
        if out is None and not named and 0 < len(arrays) == len(self.inputs) and not self.has_empty:
            try:
                return self.run(*arrays)
            except TypeError:
                if any(map(is_traced, arrays)):
                    return self.composed(arrays)
                raise
        if named:
            arrays = self._in_order(arrays, named)
        if any(map(is_traced, arrays)):
            if out is not None:
                raise TypeError(f"{self.name}: out: symbols cannot be written to an array: use what is returned")
            return self.composed(arrays)
        if _MASKED in map(type, arrays):
            self._refuse_masked(arrays, self.inputs)
        if out is not None:
            if type(out) is _MASKED or (type(out) is tuple and _MASKED in map(type, out)):
                self._refuse_masked(out if isinstance(out, tuple) else (out,), self.outputs)
            if self._mixed_ranks:
                arrays = self._apart(arrays, out)
        if self.has_empty:
            out = self._with_empty(arrays, out)
        first = arrays[0] if arrays else None
        if not (type(first) is np.ndarray and first.dtype is FLOAT64 and self._double.ready):
            self._prepare(arrays)
        failed = self.state.failed_calls  # as others may fail at the same time, it is looked at and never set back
        try:
            result = self.ufunc(*arrays) if out is None else self.ufunc(*arrays, out=out)
        except TypeError:
            self._refuse(arrays, out)
            raise
        if self.state.failed_calls != failed:
            self._raise_failure()
        return result if self.result is None else self.result(*result)

    def composed(self, arrays: Sequence[Any]) -> Any:
        """The outputs where symbols, or other scalars of ours, are among the inputs: the program's operations on them.

        Raises TypeError and ValueError for arrays of other shapes.
        """
        self._refuse(arrays, None)
        if len(arrays) != len(self.inputs):
            raise TypeError(f"{self.name}: expected {len(self.inputs)} arrays, got {len(arrays)}")
        given = [scalars(x) for x in arrays]
        for port, x in zip(self.inputs, given, strict=True):
            self._leading(port, x)
        ends = list(accumulate((port.size for port in self.outputs), initial=0))
        program = self._source.traced.unguarded

        def sample(*elements: list[Any]) -> list[list[Any]]:
            found = program.run([x for part in elements for x in part])
            return [found[start:end] for start, end in pairwise(ends)]

        ranks, shapes = [len(port.shape) for port in self.inputs], [port.shape for port in self.outputs]
        outputs = over_samples(sample, given, ranks, shapes)
        return outputs[0] if self.result is None else self.result(*outputs)

    def _refuse(self, arrays: Sequence[Any], out: Any) -> None:
        """Raise TypeError for what NumPy has no words for: missing arguments, dicts, one ``out`` of several."""
        names = [port.name for port in self.inputs]
        if len(arrays) < len(names):
            raise TypeError(f"{self.name}: missing argument {names[len(arrays)]!r}; the inputs are {names}")
        for port, x in zip(self.inputs, arrays, strict=False):
            if isinstance(x, Mapping):
                expected = f"{self.name}: {port.name}: expected an array of {port.size} numbers"
                raise TypeError(f"{expected}, got a dict; dicts by joint name are for a robot's methods")
        if out is not None and len(self.outputs) > 1 and not isinstance(out, tuple):
            given = ", ".join(port.name for port in self.outputs)
            raise TypeError(f"{self.name}: out: expected a tuple of {len(self.outputs)} arrays ({given})")

    def _raise_failure(self) -> None:
        """Raise why results are not to be used."""
        for loop in self.loops:
            if loop.failure is not None:
                raise loop.failure
        raise MemoryError(f"{self.name}: no memory for the values of a sample")

    def _prepare(self, arrays: Sequence[Any]) -> None:
        """Compile the loop that NumPy is going to take for these arrays.  Raises what goes wrong.

        What is no array yet (a list, say) is float64 most of the time; where it is not, and NumPy may still have a loop
        compiled itself, it is not looked into.
        """
        if not (self._double.ready and self._single.ready) and not (self._single.ready and are_single(arrays)):
            if any(map(is_traced, arrays)):
                raise TypeError(f"{self.name}: compiled code takes no symbols")
            known = all(isinstance(x, (bool, int, float, np.ndarray, np.generic)) for x in arrays)
            look = (known or not in_main_interpreter()) and not any(map(is_double, arrays))
            (self._single if look and takes_single(arrays) else self._double).make()

    def _refuse_masked(self, arrays: Sequence[Any], ports: Sequence[Port]) -> None:
        """Raises ValueError for masked arrays: what their masked numbers are is not known."""
        names = [port.name for port, x in zip(ports, arrays, strict=False) if type(x) is _MASKED]
        raise ValueError(f"{self.name}: expected arrays, got a masked one for {', '.join(names)}: {SAY_WHAT_IS_MASKED}")

    def _in_order(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        names = [p.name for p in self.inputs]
        for name in named:
            if name not in names[len(arrays) :]:
                raise TypeError(f"{self.name}: unexpected or repeated argument {name!r}; the inputs are {names}")
        missing = [n for n in names[len(arrays) :] if n not in named]
        if missing:
            raise TypeError(f"{self.name}: missing argument {missing[0]!r}; the inputs are {names}")
        return (*arrays, *(named[n] for n in names[len(arrays) :]))

    def _apart(self, arrays: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
        """The inputs, those copied that are an output as well but have more or fewer core dimensions than that.

        NumPy copies what overlaps except for one array that is both, and takes a sample to be the same part of it.
        """
        written = [
            (len(port.shape), y)
            for port, y in zip(self.outputs, out if isinstance(out, tuple) else (out,), strict=False)
            if isinstance(y, np.ndarray)
        ]

        def apart(port: Port, x: Any) -> Any:
            shared = isinstance(x, np.ndarray) and any(
                rank != len(port.shape) and np.may_share_memory(x, y) for rank, y in written
            )
            return x.copy() if shared else x

        return (*map(apart, self.inputs, arrays), *arrays[len(self.inputs) :])

    def _with_empty(self, arrays: tuple[Any, ...], out: Any) -> Any:
        """What NumPy cannot do for a gufunc where a dimension is of size zero: check it, and make such outputs.

        Returns the arrays to write to.
        """
        made = list(out) if isinstance(out, tuple) else [out] if out is not None else [None] * len(self.outputs)
        if len(arrays) != len(self.inputs) or len(made) != len(self.outputs):
            return out  # for NumPy to explain
        batch = np.broadcast_shapes(*map(self._leading, self.inputs, arrays))
        single = takes_single(arrays)
        for k, port in enumerate(self.outputs):
            if made[k] is not None:
                self._leading(port, made[k])
            elif port.size == 0:
                made[k] = np.empty((*batch, *port.shape), np.float32 if single else np.float64)
        return tuple(made)

    def _leading(self, port: Port, x: Any) -> tuple[int, ...]:
        """The leading dimensions of an array for a port.  Raises ValueError where the others are not the port's."""
        shape: tuple[int, ...] = np.shape(x)
        count = len(shape) - len(port.shape)
        if count < 0 or shape[count:] != port.shape:
            wanted = ", ".join(["...", *map(str, port.shape)])
            raise ValueError(f"{self.name}: expected {port.name} of shape ({wanted}), got {shape}")
        return shape[:count]


def made_from(kernel: Kernel) -> tuple[Source, KernelCode]:
    """What a kernel was made from, and its code."""
    return kernel._source, kernel._code


def make_ready(kernel: Kernel) -> None:
    """Compile all that calls with float64 may need, if it is not there."""
    kernel._code.make(ENTRIES)
    kernel._general.loops[0].make()


def call_state(kernel: Kernel) -> State:
    """What a kernel's loop tells: its ``not_finite_calls`` grow with every call in which some input
    was not finite, or so large that sums of inputs are not."""
    return kernel._general.state


def general_call(kernel: Kernel) -> Callable[..., Any]:
    """The kernel's call with any arguments, through NumPy: for those that the single call has not taken."""
    return kernel._general


def batch_call(kernel: Kernel) -> Callable[..., Any]:
    """The same for an array for each input and nothing else, with less on the way to NumPy."""
    general = kernel._general
    return general.run if general.inputs and not general.has_empty else general


def single_call(kernel: Kernel, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """A function for plain arrays of one sample, below a gufunc's cost; ``otherwise`` takes everything else.

    Where there can be none, the loop over a batch is compiled, so that a kernel that has been made can run.
    """
    if not available("fast", DOUBLE):
        kernel._general.loops[0].make()
        return otherwise
    return make_fast(kernel.name, kernel._code.entry("fast"), otherwise, kernel._general.result)
