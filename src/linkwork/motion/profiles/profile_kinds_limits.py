"""Limits of profiles: magnitudes upwards and downwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["ProfileLimits"]

_ENDLESS = 1e60  # in the place of infinity


class ProfileLimits(NamedTuple):
    """Magnitudes (n,) of limits upwards and downwards: of velocity, acceleration and jerk."""

    velocity_up: np.ndarray
    velocity_down: np.ndarray
    acceleration_up: np.ndarray
    acceleration_down: np.ndarray
    jerk_up: np.ndarray
    jerk_down: np.ndarray

    def finite(self) -> ProfileLimits:
        """With large numbers in the place of infinite ones."""
        return ProfileLimits(*(np.minimum(x, _ENDLESS) for x in self))
