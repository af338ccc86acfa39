"""A kernel's batch loop for one floating-point type, compiled when first needed, before NumPy is called.

NumPy gets the address of a C function that compiles the loop and replaces that address by the loop's own. Calls of
kernels compile first, outside of NumPy's loop. Only a call of the ufunc itself compiles inside; the processor's
floating-point flags are then preserved, since NumPy turns them into warnings.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from linkwork._util.thread_safety import Lock
from linkwork.compiler.codegen.float_type import DOUBLE, FloatType
from linkwork.compiler.kernel_code import KernelCode
from linkwork.compiler.runtime.loop_state import State

__all__ = ["FLOAT64", "MANY", "TypedLoop", "are_single", "is_double", "takes_single"]

_LOOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
FLOAT64 = np.dtype(np.float64)
MANY = 1024  # samples of a call that waits for the best code
_FLOAT32 = np.dtype(np.float32)
_ENVIRONMENT_BYTES = 512  # upper bound of the size of C's fenv_t


def is_double(x: Any) -> bool:
    """Return True for a plain array of float64; a call with such an argument computes in float64."""
    return type(x) is np.ndarray and x.dtype is FLOAT64


def are_single(arrays: Sequence[Any]) -> bool:
    """Return True if all arguments are plain arrays of float32; such a call computes in float32."""
    return all(type(x) is np.ndarray and x.dtype is _FLOAT32 for x in arrays)


def takes_single(arrays: Sequence[Any]) -> bool:
    """Return True if NumPy selects the float32 loop for these arguments.

    Python numbers have no influence, unless all arguments are Python numbers.
    """
    typed = [x for x in arrays if type(x) not in (bool, int, float)] or arrays
    return bool(arrays) and all(np.can_cast(np.asarray(x).dtype, np.float32) for x in typed)


class TypedLoop:
    """A kernel's batch loop for one floating-point type."""

    def __init__(self, code: KernelCode, real: FloatType, state: State) -> None:
        self.real = real
        self.ready = False  # True if NumPy calls machine code
        self.whole = False  # True if this code is for any number of samples
        self.failure: BaseException | None = None
        self.owners: list[Any] = []  # objects that keep the code alive
        self.callback = _LOOP(_called_by_numpy(weakref.ref(self)))
        self._code, self._state, self._lock = code, state, Lock()
        self._table: tuple[Any, int] | None = None
        setattr(state, "double_loop" if real is DOUBLE else "float_loop", self.address)

    @property
    def address(self) -> int:
        """Address that NumPy calls first."""
        return int(ctypes.cast(self.callback, ctypes.c_void_p).value or 0)

    def set_table(self, table: Any, index: int) -> None:
        """Set NumPy's table of loop addresses, and this loop's index in it."""
        self._table = table, index

    def make_few(self) -> None:
        """Compile the code for calls with few samples, unless code exists; that code compiles the loop when needed."""
        if self.ready:
            return
        few = self._code.source.backend.few_entry
        if not few or (not self._code.is_cached(few, self.real) and self._code.is_cached("loop", self.real)):
            self.make()
            return
        with self._lock:
            if not self.ready:
                code = self._code.entry(few, self.real)
                self._use_few(code)
                self._code.when_improved(few, code, self._use_few, self.real)
                self.ready, self.failure = True, None

    def _use_few(self, code: Any) -> None:
        if not self.whole:
            self.use(code)

    def make(self, best: bool = False) -> int:
        """Compile the loop if necessary and return its address; ``best`` requests optimized code, not quick code."""
        with self._lock:
            if best:
                self._code.make(["loop"], self.real, best=True)
            if not self.whole:
                code = self._code.entry("loop", self.real)
                self.use(code)
                self._code.when_improved("loop", code, self.use, self.real)
                self.ready, self.whole, self.failure = True, True, None
            address: int = self._code.entry("loop", self.real).address
            return address

    def use(self, code: Any) -> None:
        """Make NumPy call this code from now on."""
        self.owners.append(code.owner)
        if self._table is not None:
            table, index = self._table
            table[index] = code.address

    def failed(self, error: BaseException) -> None:
        """Store the error that made a call's results invalid."""
        self.failure = error
        self._state.note_failure()


def _called_by_numpy(loop_of: weakref.ref[TypedLoop]) -> Callable[[int, int, int, int], None]:
    """Return the Python function that NumPy first calls as its loop: it compiles and runs the compiled loop.

    The function refers to the `TypedLoop` weakly, since the kernel owns NumPy's function. An error of compilation is
    stored in the loop.
    """

    def call(args: int, dimensions: int, steps: int, data: int) -> None:
        typed_loop = loop_of()
        if typed_loop is None:
            return
        try:
            with _preserve_flags():
                count = ctypes.c_ssize_t.from_address(dimensions).value
                loop = typed_loop.make(best=count >= MANY)
        except BaseException as error:  # NumPy ignores errors here: the waiting call raises it
            typed_loop.failed(error)
        else:
            _LOOP(loop)(args, dimensions, steps, data)

    return call


@contextmanager
def _preserve_flags() -> Iterator[None]:
    """Preserve the processor's floating-point flags of this thread."""
    functions = _environment_functions()
    if functions is None:
        yield
        return
    flags = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
    get, put = functions
    get(flags)
    try:
        yield
    finally:
        put(flags)


@cache
def _environment_functions() -> tuple[Any, Any] | None:
    """Return C's fegetenv and fesetenv; None if the C library does not export them."""
    for name in (None, "libm.so.6", "ucrtbase"):
        try:
            library = ctypes.CDLL(name)
            return library["fegetenv"], library["fesetenv"]
        except (OSError, AttributeError, TypeError):
            continue
    return None
