"""Limits of motions as people say them: one number, numbers by coordinate, or a lower and an upper one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.validation import floats

__all__ = ["Places", "places_of", "read_limit"]

Places = Callable[[Any], Any]
"""A joint's name to the places of its numbers."""


def places_of(robot: Any) -> Places:
    """Of a robot's joints, in v."""
    return lambda joint: robot.tree.v_slices[robot.tree.joint_index(joint)]


def read_limit(
    who: str, what: str, given: Any, names: Sequence[str], places: Places | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Magnitudes (n,) upwards and downwards.

    A number or an array (n,) holds both ways, a pair (lower, upper) of numbers or arrays each its own; a dict has one
    of these by joint, others being without limit.  Raises ValueError for what is none, is NaN, or lies on the wrong
    side of 0: resting has to be possible.
    """
    n = len(names)
    expected = f"{who}: {what}: expected a positive number, an array of shape ({n},) or a pair (lower, upper)"
    if isinstance(given, Mapping) and places is not None:
        up, down = np.full(n, np.inf), np.full(n, np.inf)
        for joint, numbers in given.items():
            place = places(joint)
            own = names[place]
            up[place], down[place] = read_limit(f"{who}: joint {joint!r}", what, numbers, own)
        return up, down
    try:
        pair = isinstance(given, tuple) and len(given) == 2
        lower, upper = given if pair else (None, given)
        up = np.broadcast_to(floats(upper), (n,)).copy()
        down = up.copy() if lower is None else -np.broadcast_to(floats(lower), (n,))
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {given!r}") from None
    for numbers, sign, side in ((up, 1.0, "upper"), (down, -1.0, "lower")):
        bad = ~(numbers >= 0.0)
        if bad.any():
            k = int(np.argmax(bad))
            side = f"{side} limit" if pair else "limit"
            raise ValueError(
                f"{who}: {what} of {names[k]}: expected a {side} that lets it rest, got {sign * numbers[k]:.6g}"
            )
    return up, down
