"""State of a kernel's batch loop, in addition to its arrays."""

from __future__ import annotations

import ctypes

__all__ = ["FEW", "State"]

FEW = 3  # fewer samples use the scalar code


class State(ctypes.Structure):
    """Inputs and counters of a kernel's batch loop."""

    _fields_ = [
        (
            "not_finite_calls",
            ctypes.c_int64,
        ),  # calls in which an input was NaN, infinite or beyond the largest of `float_limits`
        ("off_calls", ctypes.c_int64),  # vectors of samples, or samples, for which a guard was greater than zero
        ("failed_calls", ctypes.c_int64),  # calls whose results are invalid, for lack of memory
        ("threads", ctypes.c_void_p),  # an int64: maximum number of threads of a call
        ("interrupts", ctypes.c_void_p),  # an `Interrupts`
        ("done", ctypes.c_int64),  # samples of short batches since the last check for signals
        ("double_loop", ctypes.c_void_p),  # what code for few samples of float64 calls with more: it compiles the loop
        ("float_loop", ctypes.c_void_p),  # the same for float32
    ]
