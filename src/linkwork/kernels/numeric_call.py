"""Calls of kernels with numeric arguments of public functions, with errors that name the argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork._util.validation import finite_array, shown
from linkwork.kernels.compiler_api import Kernel, call_state

__all__ = ["checked_call"]


def checked_call(caller: str, kernel: Kernel, named: Mapping[str, Any]) -> Any:
    """Call a kernel with arguments by name and return its results.

    Arguments are checked only if the kernel refuses them or meets a number that is not finite.

    Raises: ArgumentError for an argument that is not numeric; ValueError for another shape, for numbers that are not
    finite, and for numbers so large that a result is not finite.
    """
    state = call_state(kernel)
    before = state.not_finite_calls
    try:
        result = kernel(**named)
    except (TypeError, ValueError):
        _check(caller, kernel, named)
        raise
    if state.not_finite_calls != before:
        _check(caller, kernel, named)
        results = result if isinstance(result, tuple) else (result,)
        if not all(np.isfinite(x).all() for x in results):
            name = max((port.name for port in kernel.inputs), key=lambda name: np.abs(named[name]).max(initial=0.0))
            raise ValueError(
                f"{caller}: {name}: expected numbers whose products do not overflow, got "
                f"{shown(named[name])}: a result is not finite"
            )
    return result


def _check(caller: str, kernel: Kernel, named: Mapping[str, Any]) -> None:
    for port in kernel.inputs:
        finite_array(caller, port.name, named[port.name], shape=("...", *port.shape))
