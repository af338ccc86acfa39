"""Which of Python's interpreters this is."""

from __future__ import annotations

import ctypes
from functools import cache

__all__ = ["in_main_interpreter"]


@cache
def in_main_interpreter() -> bool:
    """Whether this is Python's first interpreter: others cannot be called back from C by the means there are."""
    api = ctypes.pythonapi
    main, here = api["PyInterpreterState_Main"], api["PyInterpreterState_Get"]
    main.restype = here.restype = ctypes.c_void_p
    return bool(main() == here())
