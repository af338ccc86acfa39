"""What the loop over a batch is told, and tells, besides arrays."""

from __future__ import annotations

import ctypes

__all__ = ["State"]


class State(ctypes.Structure):
    """What a kernel's loop is told and tells."""

    _fields_ = [
        ("not_finite_calls", ctypes.c_int64),  # calls in which an input was NaN, infinite or beyond `ir.LARGE`
        ("off_calls", ctypes.c_int64),  # vectors of samples, or samples, for which a guard was greater than zero
        ("failed_calls", ctypes.c_int64),  # calls whose results are not to be used: there was no memory for them
        ("threads", ctypes.c_void_p),  # an int64: how many threads a call may use
        ("interrupts", ctypes.c_void_p),  # an `Interrupts`
        ("done", ctypes.c_int64),  # samples of short batches since signals were looked for
    ]
