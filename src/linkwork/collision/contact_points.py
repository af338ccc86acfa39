"""Where two shapes touch: a kernel for each pair of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.collision.shape_distance import check_convex
from linkwork.collision.shape_pair_kernels import ShapePairCache, posed_call, posed_kernel, posed_on_symbols
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.expr.scalar.functions import where
from linkwork.geometry.contacts import contacts
from linkwork.geometry.solids import solid
from linkwork.kernels.compiler_api import Kernel
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.shapes import Shape
from linkwork.spatial import Pose

__all__ = ["ContactPoints", "contact_points"]

_WHO = "contact_points"
_KERNELS = LazyCache[Kernel](128)
_KNOWN = ShapePairCache()
_WIDTH = 8  # numbers of a point: whether it is there, depth, on a, on b


class ContactPoints:
    """Where two bodies A and B touch, once or a batch: n places for points, 1 to 12 by the kinds of the two shapes.

    ``mask`` (..., n) says at which of the n there is a point; what is elsewhere means nothing, but is finite.
    """

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Any) -> None:
        self._numbers = numbers

    @property
    def normal(self) -> Any:
        """(..., 3): from A to B, of length 1, for all points."""
        return self._numbers[..., :3]

    @property
    def mask(self) -> Any:
        """(..., n): whether there is a point; 1 or 0 on symbols."""
        found = self._points[..., 0]
        return found if is_traced(found) else found > 0.5

    @property
    def depth(self) -> Any:
        """(..., n): how deep the bodies overlap there, along the normal [m]; less than zero where they are apart."""
        return self._points[..., 1]

    @property
    def point_a(self) -> Any:
        """(..., n, 3): on A [m].  point_a − point_b = depth · normal."""
        return self._points[..., 2:5]

    @property
    def point_b(self) -> Any:
        """(..., n, 3): on B [m]."""
        return self._points[..., 5:8]

    @property
    def _points(self) -> Any:
        rest = self._numbers[..., 3:]
        return rest.reshape(*rest.shape[:-1], rest.shape[-1] // _WIDTH, _WIDTH)

    def __repr__(self) -> str:
        *batch, count = self.depth.shape
        if batch or is_traced(self._numbers):
            return f"<ContactPoints: {count} places, shape {(*batch,)}>"
        return f"<ContactPoints: {int(self.mask.sum())} of {count}, depth {self.depth[self.mask].tolist()} m>"


@public
def contact_points(a: Shape, X_a: Any, b: Shape, X_b: Any, *, max_distance: float = 0.0) -> ContactPoints:
    """Where two convex shapes of `linkwork.shapes` at poses X_a and X_b (..., 4, 4) touch: points with depths.

    What overlaps touches, and what is no farther apart than ``max_distance`` [m].  Two boxes have all corners of what
    their faces share, up to eight in twelve places, so that none jumps as they move; a polytope on a half-space has
    all its vertices if there are up to eight, else up to eight corners of what is lowest, and the deepest; a box there
    has four points, a cylinder or a cone up to seven; a capsule on a half-space or on a box has two; hulls, cylinders
    and cones on each other and on boxes have up to nine; other pairs have the one that `signed_distance` gives.

    Leading dimensions are a batch and broadcast; a kernel is compiled for each pair of shapes.  On symbols it becomes
    part of what is compiled.

    >>> import linkwork as lw
    >>> box, floor = lw.shapes.Box((0.4, 0.2, 0.1)), lw.shapes.HalfSpace()
    >>> found = lw.contact_points(floor, lw.pose(), box, lw.pose((0, 0, 0.049)))
    >>> found.normal.tolist(), found.depth.round(9).tolist()
    ([0.0, 0.0, 1.0], [0.001, 0.001, 0.001, 0.001])

    Raises TypeError for what is no convex shape and for pairs that nothing measures, ValueError for what are no poses.
    """
    known = _KNOWN.get((id(a), id(b)))
    if known is None:
        check_convex(_WHO, a, b)
        if any(map(is_traced, (X_a, X_b, max_distance))):
            return ContactPoints(posed_on_symbols(_WHO, _numbers(a, b), X_a, X_b, max_distance))
    if not is_traced(max_distance) and not math.isfinite(max_distance):
        raise ValueError(f"contact_points: max_distance: expected a finite number [m], got {max_distance!r}")
    call = known[0] if known is not None else _KNOWN.keep(a, b, _call(a, b))
    found: ContactPoints = call(
        X_a, X_b, max_distance if is_traced(max_distance) else np.array(max_distance, dtype=float)
    )
    return found


def _call(a: Shape, b: Shape) -> Callable[..., Any]:
    numbers = _numbers(a, b)
    kernel = _KERNELS.get((a, b), lambda: posed_kernel(_WHO, numbers, within=()))
    return posed_call(_WHO, kernel, partial(posed_on_symbols, _WHO, numbers), ContactPoints)


def _numbers(a: Shape, b: Shape) -> Callable[..., list[Any]]:
    """Of two poses: the normal, and for each point whether it is there, depth, and where it is on both."""

    def numbers(X_a: Any, X_b: Any, within: Any) -> list[Any]:
        found = contacts(solid(a, Pose.of_elements(X_a)), solid(b, Pose.of_elements(X_b)), within)
        listed = [*found.normal]
        for p in found.points:
            listed += [where(p.there, 1.0, 0.0), p.depth, *p.on_a, *p.on_b]
        return listed

    return numbers
