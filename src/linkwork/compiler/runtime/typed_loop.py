"""A kernel's loop over one type of numbers: compiled when it is first needed, before NumPy is called.

NumPy is given the address of a C function that compiles the loop and puts the loop's own address in its place.  A
kernel's calls do not leave it to that: they compile first, outside of NumPy's loop.  What is left is a call of the
ufunc itself, in which the processor's floating-point flags are kept as they were, since NumPy makes warnings of them.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from linkwork._util.fork_safe_lock import Lock
from linkwork.compiler.build import KernelCode
from linkwork.compiler.codegen.float_type import Real
from linkwork.compiler.runtime.loop_state import State

__all__ = ["FLOAT64", "TypedLoop", "are_single", "is_double", "takes_single"]

_LOOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
FLOAT64 = np.dtype(np.float64)
_FLOAT32 = np.dtype(np.float32)
_ENVIRONMENT_BYTES = 512  # of C's fenv_t, at most


def is_double(x: Any) -> bool:
    """Whether this is a plain array of float64, with which a call is one of float64."""
    return type(x) is np.ndarray and x.dtype is FLOAT64


def are_single(arrays: Sequence[Any]) -> bool:
    """Whether these are plain arrays of float32, with which a call is one of float32."""
    return all(type(x) is np.ndarray and x.dtype is _FLOAT32 for x in arrays)


def takes_single(arrays: Sequence[Any]) -> bool:
    """Whether NumPy takes the loop over float32 for these: Python's numbers count only where nothing else does."""
    typed = [x for x in arrays if type(x) not in (bool, int, float)] or arrays
    return bool(arrays) and all(np.can_cast(np.asarray(x).dtype, np.float32) for x in typed)


class TypedLoop:
    """A kernel's loop over one type of numbers."""

    def __init__(self, code: KernelCode, real: Real, state: State) -> None:
        self.real = real
        self.ready = False
        self.failure: BaseException | None = None
        self.owners: list[Any] = []  # what the code lives as long as
        self.callback = _LOOP(_called_by_numpy(weakref.ref(self)))
        self._code, self._state, self._lock = code, state, Lock()
        self._found_in: tuple[Any, int] | None = None

    @property
    def address(self) -> int:
        """What NumPy calls at first."""
        return int(ctypes.cast(self.callback, ctypes.c_void_p).value or 0)

    def found_in(self, table: Any, place: int) -> None:
        """Where NumPy looks the addresses of loops up, and which of them is this one's."""
        self._found_in = table, place

    def make(self) -> int:
        """The loop's address; it is compiled once."""
        with self._lock:
            if not self.ready:
                code = self._code.entry("loop", self.real)
                self.owners.append(code.owner)
                if self._found_in is not None:
                    table, place = self._found_in
                    table[place] = code.address
                self.ready, self.failure = True, None
            address: int = self._code.entry("loop", self.real).address
            return address

    def failed(self, error: BaseException) -> None:
        """Remember why a call's results are not to be used."""
        self.failure = error
        self._state.failed_calls += 1


def _called_by_numpy(loop_of: weakref.ref[TypedLoop]) -> Callable[[int, int, int, int], None]:
    """What the C function does.  It refers to its kernel weakly: NumPy's function, which keeps it, is the kernel's."""

    def call(args: int, dimensions: int, steps: int, data: int) -> None:
        here = loop_of()
        if here is None:
            return
        try:
            with _flags_kept():
                loop = here.make()
        except BaseException as error:  # Python has nobody here to give it to: the call that waits for us raises it
            here.failed(error)
        else:
            _LOOP(loop)(args, dimensions, steps, data)

    return call


@contextmanager
def _flags_kept() -> Iterator[None]:
    """Keep the processor's floating-point flags of this thread."""
    functions = _environment_functions()
    if functions is None:
        yield
        return
    kept = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
    get, put = functions
    get(kept)
    try:
        yield
    finally:
        put(kept)


@cache
def _environment_functions() -> tuple[Any, Any] | None:
    """C's fegetenv and fesetenv; None where they are not found."""
    for name in (None, "libm.so.6", "ucrtbase"):
        try:
            library = ctypes.CDLL(name)
            return library["fegetenv"], library["fesetenv"]
        except (OSError, AttributeError, TypeError):
            continue
    return None
