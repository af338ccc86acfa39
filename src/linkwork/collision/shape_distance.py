"""Signed distance and contact points of two shapes at given poses, with one kernel for each pair of shapes.

A call that gets plain arrays goes straight to the kernel.  On symbols the functions are traced.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.result import Made
from linkwork.collision.result import DistanceResult
from linkwork.expr.arrays.symbol_array import array, is_traced, map_samples, scalars
from linkwork.expr.scalar.functions import fabs, le, where
from linkwork.geometry.contacts import contacts
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
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.compiler_api import Kernel, call_state, compile_guarded, single_call
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.shapes import Compound, Shape
from linkwork.spatial import Pose
from linkwork.spatial.arguments import LARGEST

__all__ = ["contact_points", "signed_distance"]


_KEPT = 256  # pairs of shapes that are known again
_OFF = 1e-6  # by how much a pose may be no rigid transform
Numbers = Callable[..., list[Any]]
"""(16 numbers of X_a, 16 of X_b, further inputs, ...) to numbers of a result."""


class ShapePairCache(dict[tuple[int, int], tuple[Callable[..., Any], Any, Any]]):
    """What is called for two shapes, by their identity; the shapes are held, so that it remains theirs."""

    def keep(self, a: Any, b: Any, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, known from now on."""
        if len(self) >= _KEPT:
            self.clear()
        self[id(a), id(b)] = call, a, b
        return call


def posed_kernel(name: str, numbers: Numbers, **more: tuple[int, ...]) -> Kernel:
    """The kernel of two poses and further inputs."""

    def function(X_a: Any, X_b: Any, **more: Any) -> Any:
        return array(numbers(X_a.ravel().tolist(), X_b.ravel().tolist(), *more.values()))

    def guards(X_a: Any, X_b: Any, **more: Any) -> list[Any]:
        return [where(le(_off(X.ravel().tolist()), _OFF), 0.0, 1.0) for X in (X_a, X_b)]

    return compile_guarded(function, guards, name=name, X_a=(4, 4), X_b=(4, 4), **more)


def posed_call(caller: str, kernel: Kernel, on_symbols: Callable[..., Any], holder: type[Made]) -> Callable[..., Any]:
    """What calls the kernel of (X_a, X_b, further inputs), and gives its numbers in a ``holder``: batches broadcast.

    It raises ValueError for what are no poses.
    """
    state = call_state(kernel)

    def otherwise(X_a: Any, X_b: Any, *more: Any) -> Any:
        if any(map(is_traced, (X_a, X_b, *more))):
            return holder._make(on_symbols(X_a, X_b, *more))
        poses = [_real_poses(caller, *given) for given in (("X_a", X_a), ("X_b", X_b))]
        seen = state.off_calls, state.not_finite_calls
        try:
            result = kernel(*poses, *more)
        except ValueError:
            shapes = " and ".join(str(x.shape) for x in poses)
            raise ValueError(f"{caller}: poses of shapes {shapes} do not broadcast together") from None
        if (state.off_calls, state.not_finite_calls) != seen:
            for name, X in zip(("X_a", "X_b"), poses, strict=True):
                _check_poses(caller, name, X)
        return holder._make(result)

    return single_call(kernel, otherwise, holder)


def posed_on_symbols(caller: str, numbers: Numbers, X_a: Any, X_b: Any, *more: Any) -> Any:
    """The same of arrays of symbols, and of further single numbers."""
    given = [scalars(x) for x in (X_a, X_b, *more)]
    for name, x in zip(("X_a", "X_b"), given[:2], strict=True):
        _check_shape(caller, name, x)
    unit = np.eye(4).ravel().tolist()
    count = len(numbers(unit, unit, *(0.0 for _ in more)))
    sizes = [2, 2, *(0 for _ in more)]
    (result,) = map_samples(lambda x, y, *zs: [numbers(x, y, *(z for (z,) in zs))], given, sizes, [(count,)])
    return result


def _real_poses(caller: str, name: str, X: Any) -> np.ndarray:
    """Poses (..., 4, 4) in double precision, whatever their numbers are."""
    result = real_array(f"{caller}: {name}: expected poses (..., 4, 4)", X).astype(float, copy=False)
    _check_shape(caller, name, result)
    return result


def _check_shape(caller: str, name: str, X: np.ndarray) -> None:
    """Raises ValueError for arrays that are no poses (..., 4, 4)."""
    if X.shape[-2:] != (4, 4):
        raise ValueError(f"{caller}: {name}: expected poses (..., 4, 4), got an array of shape {X.shape}")


def _check_poses(caller: str, name: str, X: np.ndarray) -> None:
    """Raises ValueError where not all are poses, and says which is none."""
    expected = f"{caller}: {name}: expected poses (..., 4, 4)"
    if not np.isfinite(X).all():
        raise ValueError(f"{expected}, got {X[~np.isfinite(X)][0]} among their numbers")
    large = np.abs(X[..., :3, 3]) > LARGEST
    if large.any():
        raise ValueError(
            f"{expected} whose places are no farther away than {LARGEST:g} m, got {X[..., :3, 3][large][0]:g}"
        )
    off = np.asarray(_off(np.moveaxis(X.reshape(*X.shape[:-2], 16), -1, 0)), dtype=float)
    wrong = ~(off <= _OFF)
    if wrong.any():
        raise ValueError(f"{expected}: a rotation, a place and the last row 0 0 0 1, got\n{X[wrong][0]}")


def _off(X: Any) -> Any:
    """Of the sixteen numbers of a pose: Σ |RᵀR − 1| + |det R − 1|, what the last row is off by, and 1 for each number
    of the place that is not finite or too large; or NaN.
    """
    pose = Pose.of_elements(X)
    x, y, z = pose.rotation.x, pose.rotation.y, pose.rotation.z
    off = fabs(x.cross(y).dot(z) - 1.0)
    for row, other in ((x, y), (y, z), (x, z)):
        off = off + fabs(row.dot(other)) + fabs(row.dot(row) - 1.0)
    for number, one in zip(X[12:], (0.0, 0.0, 0.0, 1.0), strict=True):
        off = off + fabs(number - one)
    for number in pose.translation:
        off = off + where(le(fabs(number), LARGEST), 0.0, 1.0)
    return off


_SIGNED_DISTANCE = "signed_distance"
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
        result: DistanceResult = known[0](X_a, X_b)
        return result
    _check_measured(a, b)
    if is_traced(X_a) or is_traced(X_b):
        return DistanceResult._make(posed_on_symbols(_SIGNED_DISTANCE, _numbers(a, b), X_a, X_b))
    result = _KNOWN.keep(a, b, _call(a, b))(X_a, X_b)
    return result


def _call(a: Shape, b: Shape) -> Callable[..., Any]:
    """What takes the two poses: of a field it is a kernel of all such fields."""
    numbers = _numbers(a, b)

    def on_symbols(X_a: Any, X_b: Any, *_: Any) -> Any:
        return posed_on_symbols(_SIGNED_DISTANCE, numbers, X_a, X_b)

    field = a if type(a) in FIELDS else b
    other = b if field is a else a
    if type(field) not in FIELDS or not is_bounded(other):
        return posed_call(
            _SIGNED_DISTANCE,
            _KERNELS.get((a, b), lambda: posed_kernel(_SIGNED_DISTANCE, numbers)),
            on_symbols,
            DistanceResult,
        )
    kind, row = field_row(field, Pose.identity())
    data = np.array([FIELDS[type(field)].radius(field), *kind.data(row)])

    def of_field(X_a: Any, X_b: Any, data: Any) -> list[Any]:
        X, X_other = (Pose.of_elements(x) for x in ((X_a, X_b) if field is a else (X_b, X_a)))
        result = measured(kind.placed(X, data[0], data[1:]), solid(other, X_other))
        return _listed(result if field is a else result.flipped())

    kernel = _KERNELS.get((kind, other, field is a), lambda: posed_kernel(_SIGNED_DISTANCE, of_field, data=data.shape))
    call = posed_call(_SIGNED_DISTANCE, kernel, on_symbols, DistanceResult)
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


def _listed(result: SignedDistance) -> list[Any]:
    return [result.distance, *result.normal, *result.on_a, *result.on_b, result.unique]


_CONTACT_POINTS = "contact_points"
_CONTACT_KERNELS = LazyCache[Kernel](128)
_KNOWN_CONTACTS = ShapePairCache()
_WIDTH = 8  # numbers of a point: whether it is there, depth, on a, on b


class ContactPoints(Made):
    """Where two bodies A and B touch, once or a batch: n places for points, 1 to 12 by the kinds of the two shapes.

    ``mask`` (..., n) says at which of the n there is a point; what is elsewhere means nothing, but is finite.
    """

    __slots__ = ("_numbers",)

    _numbers: Any

    @classmethod
    def _make(cls, numbers: Any) -> Self:
        made = object.__new__(cls)
        made._numbers = numbers
        return made

    @property
    def normal(self) -> Any:
        """(..., 3): from A to B, of length 1, for all points."""
        return self._numbers[..., :3]

    @property
    def mask(self) -> Any:
        """(..., n): whether there is a point; 1 or 0 on symbols."""
        result = self._points[..., 0]
        return result if is_traced(result) else result > 0.5

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
    known = _KNOWN_CONTACTS.get((id(a), id(b)))
    if known is None:
        check_convex(_CONTACT_POINTS, a, b)
        if any(map(is_traced, (X_a, X_b, max_distance))):
            return ContactPoints._make(
                posed_on_symbols(_CONTACT_POINTS, _contact_numbers(a, b), X_a, X_b, max_distance)
            )
    if not is_traced(max_distance) and not math.isfinite(max_distance):
        raise ValueError(f"contact_points: max_distance: expected a finite number [m], got {max_distance!r}")
    call = known[0] if known is not None else _KNOWN_CONTACTS.keep(a, b, _contact_call(a, b))
    result: ContactPoints = call(
        X_a, X_b, max_distance if is_traced(max_distance) else np.array(max_distance, dtype=float)
    )
    return result


def _contact_call(a: Shape, b: Shape) -> Callable[..., Any]:
    numbers = _contact_numbers(a, b)
    kernel = _CONTACT_KERNELS.get((a, b), lambda: posed_kernel(_CONTACT_POINTS, numbers, within=()))
    return posed_call(_CONTACT_POINTS, kernel, partial(posed_on_symbols, _CONTACT_POINTS, numbers), ContactPoints)


def _contact_numbers(a: Shape, b: Shape) -> Callable[..., list[Any]]:
    """Of two poses: the normal, and for each point whether it is there, depth, and where it is on both."""

    def numbers(X_a: Any, X_b: Any, within: Any) -> list[Any]:
        result = contacts(solid(a, Pose.of_elements(X_a)), solid(b, Pose.of_elements(X_b)), within)
        listed = [*result.normal]
        for p in result.points:
            listed += [where(p.there, 1.0, 0.0), p.depth, *p.on_a, *p.on_b]
        return listed

    return numbers
