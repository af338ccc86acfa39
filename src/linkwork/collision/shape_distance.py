"""The signed distance of two shapes: a kernel for each pair of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.collision.result import DistanceResult
from linkwork.collision.shape_pair_kernels import ShapePairCache, posed_call, posed_kernel, posed_on_symbols
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.fields import (
    FIELDS,
    distance_of_shapes,
    field_row,
    is_bounded,
    is_measured,
)
from linkwork.geometry.pairs import signed_distance as measured
from linkwork.geometry.solids import SOLIDS, solid
from linkwork.kernels.compiler_api import Kernel
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.shapes import Compound, Shape
from linkwork.spatial import Pose

__all__ = ["check_convex", "signed_distance"]

_WHO = "signed_distance"
_KERNELS = LazyCache[Kernel](256)
_KNOWN = ShapePairCache()


def signed_distance(a: Shape, X_a: Any, b: Shape, X_b: Any) -> DistanceResult:
    """The signed distance of two shapes of `linkwork.shapes` at poses X_a and X_b (..., 4, 4) [m].

    Shapes are convex, or one is a height field, a point cloud or a distance field, whose numbers are data of a kernel;
    a point cloud has distances from the other fields too, each of its points being measured.  Of compounds it is that
    of the parts that are nearest or deepest.

    Leading dimensions are a batch and broadcast.  Distance, normal and points are in the coordinates that the poses
    are in; where shapes overlap, the distance is less than zero by the least translation that parts them.  A kernel is
    compiled for each pair of shapes when it is first asked about.  On symbols it becomes part of what is compiled.

    >>> import linkwork as lw
    >>> ball, box = lw.shapes.Sphere(0.1), lw.shapes.Sphere(0.2)
    >>> found = lw.signed_distance(ball, lw.pose(), box, lw.pose((1.0, 0, 0)))
    >>> round(float(found.distance), 12), found.normal.tolist(), found.point_b.tolist()
    (0.7, [1.0, 0.0, 0.0], [0.8, 0.0, 0.0])

    Raises TypeError for what is no such shape and for pairs that nothing measures, ValueError for what are no poses.
    """
    known = _KNOWN.get((id(a), id(b)))
    if known is not None:
        found: DistanceResult = known[0](X_a, X_b)
        return found
    _check_measured(a, b)
    if is_traced(X_a) or is_traced(X_b):
        return DistanceResult._make(posed_on_symbols(_WHO, _numbers(a, b), X_a, X_b))
    found = _KNOWN.keep(a, b, _call(a, b))(X_a, X_b)
    return found


def _call(a: Shape, b: Shape) -> Callable[..., Any]:
    """What takes the two poses: of a field it is a kernel of all such fields."""
    numbers = _numbers(a, b)

    def on_symbols(X_a: Any, X_b: Any, *_: Any) -> Any:
        return posed_on_symbols(_WHO, numbers, X_a, X_b)

    field = a if type(a) in FIELDS else b
    other = b if field is a else a
    if type(field) not in FIELDS or not is_bounded(other):
        return posed_call(_WHO, _KERNELS.get((a, b), lambda: posed_kernel(_WHO, numbers)), on_symbols, DistanceResult)
    kind, row = field_row(field, Pose.identity())
    data = np.array([FIELDS[type(field)].radius(field), *kind.data(row)])

    def of_field(X_a: Any, X_b: Any, data: Any) -> list[Any]:
        X, X_other = (Pose.of_elements(x) for x in ((X_a, X_b) if field is a else (X_b, X_a)))
        found = measured(kind.placed(X, data[0], data[1:]), solid(other, X_other))
        return _listed(found if field is a else found.flipped())

    kernel = _KERNELS.get((kind, other, field is a), lambda: posed_kernel(_WHO, of_field, data=data.shape))
    call = posed_call(_WHO, kernel, on_symbols, DistanceResult)
    return lambda X_a, X_b: call(X_a, X_b, data)


def _check_measured(a: Any, b: Any) -> None:
    """Raises TypeError for what is no shape with a distance."""
    for name, shape in (("a", a), ("b", b)):
        if type(shape) not in SOLIDS and type(shape) not in FIELDS and not isinstance(shape, Compound):
            kinds = ", ".join(sorted(kind.__name__ for kind in (*SOLIDS, *FIELDS, Compound)))
            raise TypeError(
                f"signed_distance: {name}: expected a convex shape, a field or a compound of linkwork.shapes "
                f"({kinds}), got {shape!r}"
            )
    if not isinstance(a, Compound) and not isinstance(b, Compound) and not is_measured(a, b):
        raise TypeError(
            f"signed_distance: nothing measures a {type(a).__name__} and a {type(b).__name__}: one of them must be "
            f"convex and bounded, or a PointCloud"
        )


def check_convex(caller: str, a: Any, b: Any) -> None:
    """Raises TypeError for what is no convex shape."""
    for name, shape in (("a", a), ("b", b)):
        if type(shape) not in SOLIDS:
            kinds = ", ".join(sorted(kind.__name__ for kind in SOLIDS))
            raise TypeError(f"{caller}: {name}: expected a convex shape of linkwork.shapes ({kinds}), got {shape!r}")


def _numbers(a: Shape, b: Shape) -> Callable[..., list[Any]]:
    """Of two poses: distance, normal, points, unique."""

    def numbers(X_a: Any, X_b: Any) -> list[Any]:
        return _listed(distance_of_shapes(a, Pose.of_elements(X_a), b, Pose.of_elements(X_b))[0])

    return numbers


def _listed(found: SignedDistance) -> list[Any]:
    return [found.distance, *found.normal, *found.on_a, *found.on_b, found.unique]
