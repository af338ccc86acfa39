"""A kernel's call with any arguments, through NumPy: batches, other types, names, arrays to write to, symbols.

A program's operations on symbols, or on other scalars of ours: how a kernel is called while a function is traced.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np

from linkwork.compiler.build import KernelCode, Source
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.program import Port, Program
from linkwork.compiler.runtime.buffer_pool import LARGE, empty, owner
from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.compiler.runtime.gufunc import make_gufunc
from linkwork.compiler.runtime.interrupts import interrupts_address
from linkwork.compiler.runtime.loop_state import State
from linkwork.compiler.runtime.threads import setting_address
from linkwork.compiler.runtime.typed_loop import FLOAT64, TypedLoop, are_single, is_double, takes_single
from linkwork.compiler.trace.pytree_ports import in_order
from linkwork.expr.arrays.symbol_array import is_traced, map_samples, scalars
from linkwork.expr.scalar.precision import require_float64

__all__ = ["SAY_WHAT_IS_MASKED", "GeneralCall"]


_MASKED = np.ma.MaskedArray
SAY_WHAT_IS_MASKED = "say what its masked numbers are, with its method filled()"


class GeneralCall:
    """A kernel's call with any arguments, through NumPy."""

    __slots__ = (
        "__weakref__",
        "_double",
        "_in_double",
        "_many",
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
        numbers = max((port.size for port in self.outputs), default=0)
        self._many = max(self.inputs[0].size, 1) * (LARGE // (8 * max(numbers, 1)) + 1) if self.inputs else 0
        self._mixed_ranks = len({len(port.shape) for port in (*self.inputs, *self.outputs)}) > 1
        self.result: Any = None
        if len(self.outputs) > 1:
            names: Any = [port.name for port in self.outputs]
            self.result = cast(Any, namedtuple)(f"{self.name}_result", names)
        self.state = State(threads=setting_address(), interrupts=interrupts_address())
        self._in_double = recipe.in_double
        self._double = TypedLoop(code, DOUBLE, self.state)
        # what is computed in float64 whatever it is called with has no other loop
        self._single = self._double if self._in_double else TypedLoop(code, SINGLE, self.state)
        self.loops = [self._double] if self._in_double else [self._double, self._single]
        # nothing tells which type is meant where there are no inputs, and NumPy cannot choose one
        chosen = [self._single, self._double] if self.inputs and not self._in_double else [self._double]
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
        first, large = arrays[0], False
        if type(first) is np.ndarray and first.dtype is FLOAT64 and self._double.ready:
            large = first.size >= self._many
        elif self._in_double and takes_single(arrays):
            return self._rounded(arrays, None)
        else:
            self._prepare(arrays)
        failed = self.state.failed_calls  # as others may fail at the same time, it is looked at and never set back
        try:
            result = self.ufunc(*arrays, out=self._room(arrays)) if large else self.ufunc(*arrays)
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
        try:
            if out is None and not named and 0 < len(arrays) == len(self.inputs) and not self.has_empty:
                return self.run(*arrays)
            if named:
                arrays, named = in_order(self.name, [port.name for port in self.inputs], arrays, named), {}
            if _MASKED in map(type, arrays):
                self._refuse_masked(arrays, self.inputs)
            if out is not None:
                if isinstance(out, tuple):
                    out = tuple(out)  # what a call returned is a named one, which NumPy does not take
                if type(out) is _MASKED or (type(out) is tuple and _MASKED in map(type, out)):
                    self._refuse_masked(out if isinstance(out, tuple) else (out,), self.outputs)
                if self._mixed_ranks:
                    arrays = self._apart(arrays, out)
            if self.has_empty:
                out = self._with_empty(arrays, out)
            first = arrays[0] if arrays else None
            if not (type(first) is np.ndarray and first.dtype is FLOAT64 and self._double.ready):
                if self._in_double and takes_single(arrays) and not any(map(is_traced, arrays)):
                    return self._rounded(arrays, out)
                self._prepare(arrays)
            failed = self.state.failed_calls  # as others may fail at the same time, it is looked at and never set back
            try:
                result = self.ufunc(*arrays) if out is None else self.ufunc(*arrays, out=out)
            except TypeError:
                self._refuse(arrays, out)
                raise
        except TypeError:
            if named or not any(map(is_traced, arrays)):
                raise
            return self._composed(arrays, out)
        if self.state.failed_calls != failed:
            self._raise_failure()
        return result if self.result is None else self.result(*result)

    def _rounded(self, arrays: Sequence[Any], out: Any) -> Any:
        """The call with float32 of what is computed in float64; results are rounded to float32."""
        result = self(*[np.asarray(x, np.float64) for x in arrays], out=out)
        found = (result,) if self.result is None else result
        parts = [x.astype(np.float32)[()] if x.dtype == FLOAT64 else x for x in found]
        return parts[0] if self.result is None else self.result(*parts)

    def _room(self, arrays: tuple[Any, ...]) -> tuple[np.ndarray | None, ...]:
        """Arrays to write large results to; None for others, and where NumPy is to say what is wrong."""
        none = (None,) * len(self.outputs)
        if any(type(x) is not np.ndarray for x in arrays) or len(arrays) != len(self.inputs):
            return none
        try:
            batch = np.broadcast_shapes(*map(self._leading, self.inputs, arrays))
        except ValueError:
            return none
        shapes = [(*batch, *port.shape) for port in self.outputs]
        return tuple([empty(shape) if 8 * math.prod(shape) >= LARGE else None for shape in shapes])

    def _composed(self, arrays: Sequence[Any], out: Any) -> Any:
        """The outputs where symbols, or other scalars of ours, are among the inputs.

        Raises TypeError and ValueError for arrays of other shapes, and for some to write to.
        """
        self._refuse(arrays, None)
        if out is not None and not self.has_empty:
            raise TypeError(f"{self.name}: out: symbols cannot be written to an array: use what is returned")
        for port, x in zip(self.inputs, arrays, strict=False):
            self._leading(port, x)
        outputs = on_symbols(self._source.traced, arrays)
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

    def _apart(self, arrays: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
        """The inputs, those copied that are an output as well but have more or fewer core dimensions than that.

        NumPy copies what overlaps except for one array that is both, and takes a sample to be the same part of it.
        """
        outs = out if isinstance(out, tuple) else (out,)
        owners = [*map(owner, outs), *map(owner, arrays)]  # those of different owners share nothing, which is soon seen
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


def on_symbols(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """The outputs for arrays of shape (..., *port shape) with any scalars in them.  Raises TypeError for too many."""
    if len(arrays) != len(program.inputs):
        raise TypeError(f"{program.name}: expected {len(program.inputs)} arrays, got {len(arrays)}")
    ends = list(accumulate((port.size for port in program.outputs), initial=0))
    unguarded = program.unguarded

    def sample(*elements: list[Any]) -> list[list[Any]]:
        given = [x for part in elements for x in part]
        if program.in_double:
            require_float64(given)
        result = unguarded.run(given)
        return [result[start:end] for start, end in pairwise(ends)]

    ranks, shapes = [len(port.shape) for port in program.inputs], [port.shape for port in program.outputs]
    return map_samples(sample, [scalars(x) for x in arrays], ranks, shapes)
