"""A kernel's call through NumPy with any arguments: batches, other types, names, ``out=``, symbols.

`on_symbols` runs a program on symbols or on other scalars of linkwork, when a kernel is called in a function that is
being traced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, ref

import numpy as np

from linkwork._util.array_collections import (
    LazyFunction,
    has_collections,
    is_collection,
    refuse_collections,
)
from linkwork._util.named_tuples import result_tuple
from linkwork._util.validation import has_masked
from linkwork.compiler.build import Source
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.kernel_code import KernelCode
from linkwork.compiler.port import Port
from linkwork.compiler.runtime.buffer_pool import LARGE, empty, owner
from linkwork.compiler.runtime.call_checks import CallChecks
from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.compiler.runtime.gufunc import make_gufunc
from linkwork.compiler.runtime.interrupts import interrupts_address
from linkwork.compiler.runtime.loop_state import FEW, State
from linkwork.compiler.runtime.threads import setting_address
from linkwork.compiler.runtime.typed_loop import (
    FLOAT64,
    MANY,
    TypedLoop,
    are_single,
    is_double,
    takes_single,
)
from linkwork.expr.arrays.symbol_array import is_traced, map_samples, scalars
from linkwork.expr.scalar.precision import require_float64

if TYPE_CHECKING:
    from linkwork.compiler.program import Program

__all__ = ["FlatCall", "GeneralCall", "flat_call_of"]


class GeneralCall:
    """A kernel's call through NumPy, with any arguments."""

    __slots__ = (
        "__weakref__",
        "_checks",
        "_count",
        "_double",
        "_in_double",
        "_kernel",
        "_large_input",
        "_mixed_ranks",
        "_single",
        "_single_call",
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
        self._checks, self._count = CallChecks(self.name, self.inputs, self.outputs), len(self.inputs)
        self.has_empty = any(port.size == 0 for port in (*self.inputs, *self.outputs))
        largest = max((port.size for port in self.outputs), default=0)
        self._large_input = max(self.inputs[0].size, 1) * (LARGE // (8 * max(largest, 1)) + 1) if self.inputs else 0
        self._mixed_ranks = len({len(port.shape) for port in (*self.inputs, *self.outputs)}) > 1
        self.result: Any = None
        if len(self.outputs) > 1:
            self.result = result_tuple(f"{self.name}_result", tuple(port.name for port in self.outputs))
        self.state = State(threads=setting_address(), interrupts=interrupts_address())
        self._single_call: ReferenceType[Callable[..., Any]] | None = None
        self._kernel: Callable[[], Callable[..., Any] | None] = lambda: None
        self._in_double = recipe.in_double
        self._double = TypedLoop(code, DOUBLE, self.state)
        # a kernel computed in float64 for arguments of any type has no other loop
        self._single = self._double if self._in_double else TypedLoop(code, SINGLE, self.state)
        self.loops = [self._double] if self._in_double else [self._double, self._single]
        # without inputs NumPy cannot choose a type
        chosen = [self._single, self._double] if self.inputs and not self._in_double else [self._double]
        owners = [(loop.callback, loop.owners) for loop in chosen]
        addresses = [(loop.real, loop.address) for loop in chosen]
        self.ufunc, table = make_gufunc(
            self.name, doc, self.inputs, self.outputs, addresses, self.state, owners, chosen
        )
        for index, loop in enumerate(chosen):
            loop.set_table(table, index)

    def set_single_call(self, call: Callable[..., Any]) -> None:
        """Set the compiled call with one sample, which this call uses until the batch loop is compiled."""
        self._single_call = ref(call)

    def set_kernel(self, kernel: Callable[[], Callable[..., Any] | None]) -> None:
        """Store a function that returns the kernel's call with flat arrays, or None if the kernel was deleted.

        Lazy results call the kernel through this call; the function can be pickled.
        """
        self._kernel = kernel

    def is_single(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> bool:
        """Return True if the arguments are exactly one sample of float64, as arrays and Python numbers."""
        if len(arrays) + len(named) != len(self.inputs):
            return False
        values = [*zip(self.inputs, arrays, strict=False)]
        values += [(port, named[port.name]) for port in self.inputs[len(arrays) :] if port.name in named]
        return (
            len(values) == len(self.inputs)
            and any(is_double(x) for _, x in values)
            and all(
                (is_double(x) and x.shape == port.shape) or (port.shape == () and type(x) in (float, int))
                for port, x in values
            )
        )

    def _through_single_call(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> Callable[[], Any] | None:
        """Return the compiled call with one sample, bound to these arguments as arrays; None if it is not compiled.

        None is also returned if the call refuses the arguments.
        """
        call = None if self._single_call is None else self._single_call()
        exact = not named and all(type(x) is np.ndarray for x in arrays)
        if call is None or exact or not self.is_single(arrays, named):
            return None
        further = [named[port.name] for port in self.inputs[len(arrays) :]]
        return partial(call, *[np.ascontiguousarray(x, np.float64).reshape(np.shape(x)) for x in (*arrays, *further)])

    def run(self, *arrays: Any) -> Any:
        """Call the kernel with arrays for its inputs; it has at least one input.

        No input or output may have a dimension of zero.  Raises TypeError for a wrong number of arrays.

        `__call__` repeats these steps for calls with ``out``; a common function would cost 5 to 8 % of a small batch's
        time.
        """
        if len(arrays) != self._count:
            self._checks.in_order(arrays, {})
        first, large = arrays[0], False
        try:
            if type(first) is np.ndarray and first.dtype is FLOAT64 and self._double.ready:
                large = first.size >= self._large_input
            else:
                if type(first) is not np.ndarray or self._in_double:
                    refuse_collections(arrays)
                if self._in_double and takes_single(arrays):
                    return self._rounded(arrays, None)
                self._prepare(arrays)
            failed = self.state.failed_calls  # other calls may fail meanwhile: the count is compared, never reset
            result = self.ufunc(*arrays, out=self._large_outputs(arrays)) if large else self.ufunc(*arrays)
        except (TypeError, ValueError):
            self._checks.refuse(arrays, ())
            raise
        if self.state.failed_calls != failed and self.state.failed_here(failed):
            self._raise_failure()
        if self.result is None:
            if type(result) is not np.ndarray and not isinstance(result, np.generic):
                self._refuse_result(arrays, (result,))
            return result
        if type(result[0]) is not np.ndarray and not isinstance(result[0], np.generic):
            self._refuse_result(arrays, result)
        return self.result(*result)

    def _refuse_result(self, arrays: Sequence[Any], results: Sequence[Any]) -> None:
        """Raise an error if the results are masked arrays or collections, since NumPy called another library."""
        if has_masked(results):
            self._checks.refuse_masked(arrays, self.inputs)
        refuse_collections(results)

    def __call__(self, /, *arrays: Any, out: Any = None, **named: Any) -> Any:
        if not self._double.ready and out is None:  # one sample needs no code for batches
            single = self._through_single_call(arrays, named)
            if single is not None:
                return single()
        try:
            if out is None and arrays and not named and not self.has_empty:
                return self.run(*arrays)
            if named or len(arrays) != self._count:
                arrays, named = self._checks.in_order(arrays, named), {}
            if has_masked(arrays):
                self._checks.refuse_masked(arrays, self.inputs)
            if out is not None:
                if type(out) is np.ndarray and self.result is None:
                    out = (out,)
                else:
                    out = self._checks.outputs_of(out)
                    refuse_collections(out)
                    self._checks.refuse_masked(out, self.outputs)
                if self._mixed_ranks:
                    arrays = self._without_overlap(arrays, out)
            first = arrays[0] if arrays else None
            if self.has_empty or self._in_double or type(first) is not np.ndarray:
                refuse_collections(arrays)
            if self.has_empty:
                out = self._with_empty(arrays, out)
            try:
                if not (type(first) is np.ndarray and first.dtype is FLOAT64 and self._double.ready):
                    if self._in_double and takes_single(arrays) and not any(map(is_traced, arrays)):
                        return self._rounded(arrays, out)
                    self._prepare(arrays)
                failed = self.state.failed_calls
                result = self.ufunc(*arrays) if out is None else self.ufunc(*arrays, out=out)
            except (TypeError, ValueError):
                self._checks.refuse(arrays, out or ())
                raise
        except TypeError:
            if not named and has_collections((*arrays, *(out if isinstance(out, tuple) else (out,)))):
                return self._lazy(arrays, out)
            if named or not any(map(is_traced, arrays)):
                raise
            return self._composed(arrays, out)
        except (ValueError, NotImplementedError):  # of the library of a collection that is not the first argument
            if not named and has_collections(arrays):
                return self._lazy(arrays, out)
            raise
        if self.state.failed_calls != failed and self.state.failed_here(failed):
            self._raise_failure()
        if self.result is None:
            return self._lazy(arrays, out) if type(result) is not np.ndarray and is_collection(result) else result
        return self._lazy(arrays, out) if is_collection(result[0]) else self.result(*result)

    def _lazy(self, arrays: Sequence[Any], out: Any) -> Any:
        """Return the lazy outputs for arguments that include Dask arrays.  Raises the errors of `apply_lazily`."""
        kernel = self._kernel()
        if kernel is None:
            raise ReferenceError("the kernel of this call was deleted: keep a reference to the kernel, and call that")
        function = LazyFunction(
            kernel, self.name, self.inputs, self.outputs, self.result, self._checks.batch, takes_single
        )
        return function(arrays, out)

    def _rounded(self, arrays: Sequence[Any], out: Any) -> Any:
        """Call a kernel that computes in float64 with float32 arguments; results are rounded to float32."""
        result = self(*[np.asarray(x, np.float64) for x in arrays], out=out)
        results = (result,) if self.result is None else result
        parts = [x.astype(np.float32)[()] if x.dtype == FLOAT64 else x for x in results]
        return parts[0] if self.result is None else self.result(*parts)

    def _large_outputs(self, arrays: tuple[Any, ...]) -> tuple[np.ndarray | None, ...]:
        """Return arrays for large results; None for small results, and if NumPy must report an error."""
        no_arrays = (None,) * len(self.outputs)
        if any(type(x) is not np.ndarray for x in arrays):
            return no_arrays
        try:
            batch = self._checks.batch(arrays)
        except ValueError:
            return no_arrays
        shapes = [(*batch, *port.shape) for port in self.outputs]
        return tuple([empty(shape) if 8 * math.prod(shape) >= LARGE else None for shape in shapes])

    def _composed(self, arrays: Sequence[Any], out: Any) -> Any:
        """Return the outputs for inputs with symbols or other scalars of linkwork.

        Raises TypeError and ValueError for arrays of wrong types and shapes, and TypeError for ``out``.
        """
        if out is not None and not self.has_empty:
            raise TypeError(f"{self.name}: out: symbols cannot be written to an array: use the returned value")
        self._checks.batch(arrays)
        outputs = on_symbols(self._source.traced, arrays)
        return outputs[0] if self.result is None else self.result(*outputs)

    def _raise_failure(self) -> None:
        """Raise the error that made the results of a call invalid."""
        for loop in self.loops:
            if loop.failure is not None:
                raise loop.failure
        raise MemoryError(f"{self.name}: out of memory for the values of a sample")

    def _prepare(self, arrays: Sequence[Any]) -> None:
        """Compile the loop that NumPy will select for these arrays. Raises the errors of compilation.

        If an argument is not an array or a number, such as a list, its type is not inspected: the float64 loop is
        compiled, which such calls need in most cases. If NumPy selects the float32 loop nevertheless, it compiles that
        loop itself. Types are always inspected in interpreters in which NumPy cannot do so.
        """
        if not (self._double.ready and self._single.ready) and not (self._single.ready and are_single(arrays)):
            if any(map(is_traced, arrays)):
                raise TypeError(f"{self.name}: compiled code does not accept symbols")
            known = all(isinstance(x, (bool, int, float, np.ndarray, np.generic)) for x in arrays)
            inspect_types = (known or not in_main_interpreter()) and not any(map(is_double, arrays))
            loop = self._single if inspect_types and takes_single(arrays) else self._double
            samples = self._largest_batch(arrays)
            if in_main_interpreter() and samples < FEW:  # unless they broadcast to more
                loop.make_few()
            else:
                loop.make(best=samples >= MANY)

    def _largest_batch(self, arrays: Sequence[Any]) -> int:
        """Return the largest number of samples in one of the arrays."""
        pairs = zip(self.inputs, arrays, strict=False)
        return max((np.size(x) // max(port.size, 1) for port, x in pairs), default=0)

    def _without_overlap(self, arrays: tuple[Any, ...], outs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the inputs, copied if they are also an output with another number of core dimensions.

        NumPy copies overlapping arrays except an array that is both input and output: it assumes that both have the
        same elements of a sample.
        """
        owners = [*map(owner, outs), *map(owner, arrays)]  # arrays of different owners share nothing: a cheap test
        known = not any(x is None for x in owners)
        if known and {*map(id, owners[: len(outs)])}.isdisjoint(map(id, owners[len(outs) :])):
            return arrays
        written = [
            (len(port.shape), y) for port, y in zip(self.outputs, outs, strict=False) if isinstance(y, np.ndarray)
        ]

        def apart(port: Port, x: Any) -> Any:
            shared = isinstance(x, np.ndarray) and any(
                rank != len(port.shape) and np.may_share_memory(x, y) for rank, y in written
            )
            return x.copy() if shared else x

        return tuple(map(apart, self.inputs, arrays))

    def _with_empty(self, arrays: tuple[Any, ...], out: tuple[Any, ...] | None) -> tuple[Any, ...]:
        """Check arguments and create outputs for arrays with a dimension of zero, which NumPy's gufuncs do not handle.

        Returns the arrays to write to.
        """
        filled = [None] * len(self.outputs) if out is None else [*out]
        batch = self._checks.batch(arrays)
        single = takes_single(arrays)
        for k, port in enumerate(self.outputs):
            if filled[k] is not None:
                self._checks.leading(port, filled[k])
            elif port.size == 0:
                filled[k] = np.empty((*batch, *port.shape), np.float32 if single else np.float64)
        return tuple(filled)


def on_symbols(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """Return the outputs for arrays (..., *port shape) of any scalars.

    Raises TypeError for a wrong number of arrays.
    """
    if len(arrays) != len(program.inputs):
        raise TypeError(f"{program.name}: expected {len(program.inputs)} arrays, got {len(arrays)}")
    ends = list(accumulate((port.size for port in program.outputs), initial=0))
    unguarded = program.unguarded

    def sample(*elements: list[Any]) -> list[list[Any]]:
        scalars_in = [x for part in elements for x in part]
        if program.in_double:
            require_float64(scalars_in)
        result = unguarded.run(scalars_in)
        return [result[start:end] for start, end in pairwise(ends)]

    ranks, shapes = [len(port.shape) for port in program.inputs], [port.shape for port in program.outputs]
    return map_samples(sample, [scalars(x) for x in arrays], ranks, shapes)


class FlatCall:
    """The call of a kernel with one array for each port, without nested arguments; it pickles if the kernel does."""

    __slots__ = ("kernel",)

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __call__(self, *arrays: Any) -> Any:
        return self.kernel._general(*arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return FlatCall, (self.kernel,)


def flat_call_of(kernel: Any) -> Callable[[], FlatCall | None]:
    """Return a function that returns the kernel's flat call, or None if the kernel was deleted."""
    reference = ref(kernel)

    def call() -> FlatCall | None:
        kernel = reference()
        return None if kernel is None else FlatCall(kernel)

    return call
