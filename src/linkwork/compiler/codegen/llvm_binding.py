"""llvmlite, which is imported when something is compiled: code from the cache is loaded without it.

A fork waits until no other thread holds llvmlite's lock.
"""

from __future__ import annotations

import threading
from functools import cache

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from linkwork.compiler.runtime.threads import LLVM_LOCK, acquire_at_fork

__all__ = ["LLVMLITE_LOCK", "ffi", "initialize", "llvm"]

# taken from inside an object whose own `__enter__` is written in Python
LLVMLITE_LOCK = getattr(getattr(ffi.lib, "_lock", None), "_lock", None) or threading.RLock()
acquire_at_fork(LLVM_LOCK, LLVMLITE_LOCK)


@cache
def initialize() -> None:
    """Initialize LLVM's support of this machine's processors."""
    with LLVM_LOCK:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
