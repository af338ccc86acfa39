"""Corners of what of a body is in touch: its farthest points in eight directions about one.

They are the corners of the face there, of a face of more corners eight of them, or an edge's ends, or one corner again
and again, in the order that they have round it.
"""

from __future__ import annotations

import math

from linkwork.expr.scalar.functions import copysign
from linkwork.geometry.cores import Core
from linkwork.geometry.support_points import support
from linkwork.spatial import Vec3

__all__ = ["CORNERS", "corners_along", "ways_round"]

CORNERS = 8
_TILT = 0.02  # of directions from the one they are about: faces that are tilted by less are seen as such
_FIRST = 0.3  # [rad]: where the first is, across no edge of what is made by hand


def corners_along(core: Core, direction: Vec3, n: Vec3) -> list[Vec3]:
    """Those in a direction, n or −n, anticlockwise about n of length 1."""
    return [support(core, direction + way * _TILT) for way in ways_round(n)]


def ways_round(n: Vec3) -> list[Vec3]:
    """Eight directions across n of length 1, anticlockwise about it."""
    u, v = _across(n)
    turns = [_FIRST + 2.0 * math.pi * k / CORNERS for k in range(CORNERS)]
    return [u * math.cos(turn) + v * math.sin(turn) for turn in turns]


def _across(n: Vec3) -> tuple[Vec3, Vec3]:
    """Two directions across one of length 1.

    Source: Duff and others, Building an orthonormal basis, revisited, Journal of Computer Graphics Techniques 2017.
    """
    sign = copysign(1.0, n.z)
    a = -1.0 / (sign + n.z)
    b = n.x * n.y * a
    return Vec3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x), Vec3(b, sign + n.y * n.y * a, -n.y)
