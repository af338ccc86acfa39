"""The call of a kernel on numbers, for functions of users: what is wrong with an argument is said with its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork._util.validation import as_numbers, shown
from linkwork.errors import ArgumentError
from linkwork.kernels.compiler_api import Kernel, call_state

__all__ = ["called_on_numbers"]


def called_on_numbers(caller: str, kernel: Kernel, named: Mapping[str, Any]) -> Any:
    """Return what a kernel gives for arguments by name.

    Raises ArgumentError for what are no numbers, ValueError for another shape, for numbers that are not finite and for
    numbers so large that a result is not.
    Arguments are only looked at where the kernel refuses them, or has met a number that is not finite.
    """
    state = call_state(kernel)
    seen = state.not_finite_calls
    try:
        found = kernel(**named)
    except (TypeError, ValueError):
        _refuse(caller, kernel, named)
        raise
    if state.not_finite_calls != seen:
        _refuse(caller, kernel, named)
        results = found if isinstance(found, tuple) else (found,)
        if not all(np.isfinite(x).all() for x in results):
            name = max((port.name for port in kernel.inputs), key=lambda name: np.abs(named[name]).max(initial=0.0))
            raise ValueError(
                f"{caller}: {name}: expected numbers of which no product overflows, got "
                f"{shown(named[name])}: a result is "
                f"not finite"
            )
    return found


def _refuse(caller: str, kernel: Kernel, named: Mapping[str, Any]) -> None:
    for port in kernel.inputs:
        value, sizes = named[port.name], ", ".join(["...", *map(str, port.shape)])
        expected = f"{caller}: {port.name}: expected finite numbers of shape ({sizes})"
        try:
            x = np.asarray(value)
        except ValueError:
            raise ValueError(f"{expected}, got {shown(value)}") from None
        if as_numbers(value) is None or x.dtype.kind not in "iuf":
            raise ArgumentError(f"{expected}, got {shown(value)}")
        if x.ndim < len(port.shape) or x.shape[x.ndim - len(port.shape) :] != port.shape:
            raise ValueError(f"{expected}, got shape {x.shape}")
        if not np.isfinite(x).all():
            raise ValueError(f"{expected}, got {shown(value)}")
