"""How far a ray goes until it meets a solid, over any scalar.

From each point the ray may go as far as the nearest solid is away, so it is followed by such spheres: no kind of solid
needs anything but its distance from a point.

Source: Hart, Sphere tracing, The Visual Computer 12, 1996.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..expr.control import while_loop
from ..expr.functions import and_, fmax, fmin, lt
from ..spatial import Vec3
from .cores import PointCore, Solid
from .pairs import distance_once

__all__ = ["ray_length"]

_NEAR = 1e-7  # [m]: where a ray ends
_AT_MOST = 200  # spheres, so that one that only just passes something ends too


def ray_length(origin: Vec3, direction: Vec3, solids: Sequence[Solid], most: Any) -> Any:
    """How far [m] a ray goes from an ``origin`` in a ``direction`` of length 1: 0 inside a solid, ``most`` where there
    is nothing so far."""
    if not solids:
        return most

    def room(t: Any) -> Any:
        point = Solid(PointCore(origin + direction * t), 0.0)
        least: Any = most
        for one in solids:
            least = fmin(least, distance_once(point, one))
        return least

    def onward(state: tuple[Any, Any]) -> tuple[Any, Any]:
        t = state[0] + state[1]
        return t, room(t)

    def going(state: tuple[Any, Any]) -> Any:
        t, free = state
        return and_(lt(_NEAR, free), lt(t, most))

    run = while_loop(going, onward, (0.0 * most, room(0.0)), at_most=_AT_MOST)
    return fmin(fmax(run.state[0], 0.0), most)
