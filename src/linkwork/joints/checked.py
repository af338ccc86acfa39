"""Configurations of plain numbers, looked at before they are used."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConfigurationWarning

if TYPE_CHECKING:
    from .contract import JointType

__all__ = ["EXACT", "NEAR", "checked"]

NEAR = 1e-3  # a configuration as near to its manifold as this is normalised, with a warning
EXACT = 1e-6  # and one as near as this without a word: float32 rounds by 6e-8


def checked(joint: JointType, q: Any, name: str = "") -> np.ndarray:
    """The configuration (..., nq) as floats: see `JointType.checked`."""
    who = f"joint {name!r} ({joint.type_name()})" if name else f"{joint.type_name()} joint"
    try:
        numbers = np.array(q, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{who}: expected a configuration of {joint.nq} numbers, got {q!r}") from None
    if numbers.ndim == 0 or numbers.shape[-1] != joint.nq:
        got = f"shape {numbers.shape}" if numbers.ndim != 1 else f"{len(numbers)}: {numbers.tolist()}"
        named = f" ({', '.join(joint.q_names)})" if joint.q_names else ""
        raise ValueError(f"{who}: expected a configuration of {joint.nq} numbers{named}, got {got}")
    if not np.isfinite(numbers).all():
        where = numbers.reshape(-1, joint.nq)
        worst = where[~np.isfinite(where).all(axis=-1)][0]
        raise ValueError(f"{who}: expected finite numbers, got {worst.tolist()}")
    for places in joint.unit_length:
        part = numbers[..., places]
        off = np.abs(np.linalg.norm(part, axis=-1) - 1.0)
        if off.max(initial=0.0) > EXACT:
            worst = part.reshape(-1, len(places))[np.argmax(off)]
            what = f"({', '.join(joint.q_names[k] for k in places)}) of length 1, got {worst.tolist()}"
            what += f" of length {float(np.linalg.norm(worst)):.9g}"
            if off.max() > NEAR:
                raise ValueError(f"{who}: expected {what}; `normalize` takes any length but zero")
            warnings.warn(f"{who}: expected {what}: normalised", ConfigurationWarning, stacklevel=3)
        if off.max(initial=0.0) > 4e-16:
            numbers[..., places] = part / np.linalg.norm(part, axis=-1, keepdims=True)
    return numbers
