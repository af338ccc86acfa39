"""Values of parameters over the environments of a batch, as scalars of one robot."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["over_environments"]


def over_environments(x: Any, size: tuple[int, ...], leading: tuple[int, ...]) -> np.ndarray:
    """Return an array of shape ``size`` of the values (..., *size); its elements are arrays over all environments.

    ``leading`` is the shape of the batch.
    """
    values = np.broadcast_to(x, (*leading, *size)).reshape(-1, *size)
    result = np.empty(size, object)
    for index in np.ndindex(*size):
        result[index] = values[(slice(None), *index)]
    return result
