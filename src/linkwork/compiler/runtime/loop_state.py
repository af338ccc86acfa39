"""Records that a kernel's batch loop reads and writes in addition to its arrays: counters, limits and flags."""

from __future__ import annotations

import ctypes
from threading import get_ident

__all__ = ["FEW", "REMEMBERED", "Call", "State"]

FEW = 3  # fewer samples use the scalar code
REMEMBERED = 16  # threads of calls that failed: a power of two


class Call(ctypes.Structure):
    """Counters of a batch loop, and the memory and stop flag that a caller other than Python sets for one call."""

    _fields_ = [
        ("not_finite_calls", ctypes.c_int64),  # with an input that is NaN, infinite or beyond `LARGE` of `float_type`
        ("off_calls", ctypes.c_int64),  # vectors of samples, or samples, for which a guard was greater than zero
        ("failed_calls", ctypes.c_int64),  # calls whose results are invalid, for lack of memory
        ("stop", ctypes.c_int64),  # any thread may set it to end the call
        ("memory", ctypes.c_void_p),  # of the size that the code states, for this call alone
    ]


class State(Call):
    """State of a batch loop that NumPy calls: counters, thread limit, interrupts, and addresses of compiled loops."""

    _fields_ = [
        ("threads", ctypes.c_void_p),  # an int64: maximum number of threads of a call
        ("interrupts", ctypes.c_void_p),  # an `Interrupts`
        ("done", ctypes.c_int64),  # samples of short batches since the last check for signals
        ("double_loop", ctypes.c_void_p),  # code for few samples of float64 calls it for more: it compiles the loop
        ("float_loop", ctypes.c_void_p),  # the same for float32
        ("failed_threads", ctypes.c_uint64 * REMEMBERED),  # of the last calls that failed
    ]

    def failed_here(self, before: int) -> bool:
        """Return True if a call on this thread failed since the number of failed calls was ``before``."""
        now, thread = self.failed_calls, get_ident()
        return now - before > REMEMBERED or any(
            self.failed_threads[k % REMEMBERED] == thread for k in range(before, now)
        )

    def note_failure(self) -> None:
        """Count a call on this thread whose results are invalid."""
        self.failed_threads[self.failed_calls % REMEMBERED] = get_ident()
        self.failed_calls += 1
