"""Colours in sRGB and colours that are linear in light, as two types, and the conversion between them.

Materials of robots, scene documents and pages have colours in sRGB.  The colours of glTF and USD's displayColor are
linear in light.  Source of the curve: IEC 61966-2-1.
"""

from __future__ import annotations

from typing import NewType

import numpy as np

__all__ = ["LinearColors", "SrgbColors", "linear_from_srgb", "srgb_from_linear"]

LinearColors = NewType("LinearColors", np.ndarray)  # (..., 3 or 4) in [0, 1], linear in light; alpha last
SrgbColors = NewType("SrgbColors", np.ndarray)  # (..., 3 or 4) in [0, 1]; alpha last


def linear_from_srgb(colors: SrgbColors) -> LinearColors:
    """Return sRGB colours (..., 3 or 4) as values that are linear in light; alpha is unchanged."""
    result = np.array(colors, dtype=float)
    c = result[..., :3]
    result[..., :3] = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return LinearColors(result)


def srgb_from_linear(colors: LinearColors) -> SrgbColors:
    """Return colours (..., 3 or 4) that are linear in light as sRGB values; alpha is unchanged."""
    result = np.array(colors, dtype=float)
    c = result[..., :3]
    result[..., :3] = np.where(c <= 0.0031308, 12.92 * c, 1.0 - 1.055 * (1.0 - np.maximum(c, 0.0) ** (1.0 / 2.4)))
    return SrgbColors(result)
