"""What shapes that are given by arrays have in common."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from linkwork.shapes.shape import Unweighed, sizes
from linkwork.spatial.arguments import given_numbers

__all__ = ["Sampled", "ends_of_grid", "frozen", "given_array", "placed_grid"]

_WORDS = {2: "two", 3: "three"}


class Sampled(Unweighed):
    """A shape of arrays, which are kept as they are: read-only copies, compared number by number."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _key(self) == _key(other)

    def __hash__(self) -> int:
        return hash((type(self), _key(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


def _key(shape: Any) -> tuple[Any, ...]:
    values = (getattr(shape, field.name) for field in fields(shape))
    return tuple((x.shape, x.tobytes()) if isinstance(x, np.ndarray) else x for x in values)


def given_array(value: Any, expected: str, dimensions: int, least: tuple[int, ...]) -> np.ndarray:
    """Finite numbers in an array of so many dimensions, along each of them at least so many, read-only.

    Raises ValueError.
    """
    shape = np.shape(value)
    if len(shape) != dimensions or any(have < need for have, need in zip(shape, least, strict=True)):
        raise ValueError(f"{expected}, got an array of shape {shape}")
    numbers = np.array(value)
    if numbers.dtype.kind in "iuf" and not np.isfinite(numbers).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(numbers))[0])
        raise ValueError(f"{expected}, all finite, got {numbers[where]} at {where}")
    return frozen(given_numbers(numbers, expected, shape))


def placed_grid(
    what: str, spacing: Any, origin: Any, counts: tuple[int, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """How far points of a grid are apart along its axes, one number or one an axis, and where the first is [m].

    The middle of the grid is at zero if no origin is given.  Raises ValueError.
    """
    many = len(counts)
    apart = sizes(what, "spacing", spacing if np.ndim(spacing) else (spacing,) * many, many)
    if origin is None:
        return apart, tuple(-0.5 * s * (n - 1) for s, n in zip(apart, counts, strict=True))
    expected = f"{what}: origin: expected {_WORDS[many]} numbers [m]"
    given = given_array(origin, expected, 1, (many,))
    if given.shape != (many,):
        raise ValueError(f"{expected}, got an array of shape {given.shape}")
    return apart, tuple(given.tolist())


def ends_of_grid(spacing: tuple[float, ...], origin: tuple[float, ...], counts: tuple[int, ...]) -> list[float]:
    """By axis: how far the points of a grid are from zero at most [m]."""
    grid = zip(origin, spacing, counts, strict=True)
    return [float(np.abs([o, o + s * (n - 1)]).max()) for o, s, n in grid]


def frozen(numbers: np.ndarray) -> np.ndarray:
    """A copy that nobody can change."""
    copy = np.array(numbers, dtype=float, order="C")
    copy.setflags(write=False)
    return copy
