"""Signed distance and contact points of two shapes, with one kernel for each pair of shapes.

A call with plain arrays goes straight to the kernel.  A call with symbols is traced.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.result import ReturnedValue
from linkwork._util.thread_safety import BoundedCache
from linkwork.collision.algorithms.pairwise_distances import pair_values
from linkwork.collision.result import DistanceResult
from linkwork.expr.arrays.symbol_array import array, is_traced, map_samples, scalars
from linkwork.expr.scalar.functions import fabs, le, where
from linkwork.geometry.contacts import contacts
from linkwork.geometry.fields import (
    FIELDS,
    distance_of_shapes,
    field_row,
    is_bounded,
    is_measured,
)
from linkwork.geometry.pairs import signed_distance as distance_of_solids
from linkwork.geometry.solids import SOLIDS, solid
from linkwork.kernels.array_arguments import real_array, refuse_batches
from linkwork.kernels.compiler_api import Kernel, call_state, compile_guarded, single_call
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.shapes import Compound, Shape
from linkwork.spatial import Pose
from linkwork.spatial.arguments import LARGEST

__all__ = ["contact_points", "signed_distance"]


_MAX_CACHED_PAIRS = 256  # of shapes
_POSE_TOLERANCE = 1e-6  # deviation of a pose from a rigid transform
PoseFunction = Callable[..., list[Any]]
"""Function of the 16 elements of X_a, the 16 of X_b and further inputs that returns the values of a result."""


ShapePairCache = BoundedCache[tuple[int, int], tuple[Callable[..., Any], Any, Any]]
"""Callables for pairs of shapes by the shapes' ids, with the shapes, so that their ids stay valid."""


def posed_kernel(name: str, evaluate: PoseFunction, **more: tuple[int, ...]) -> Kernel:
    """Return the kernel of a function of two poses and further inputs, which checks the poses."""

    def function(X_a: Any, X_b: Any, **more: Any) -> Any:
        return array(evaluate(X_a.ravel().tolist(), X_b.ravel().tolist(), *more.values()))

    def guards(X_a: Any, X_b: Any, **more: Any) -> list[Any]:
        return [where(le(_pose_error(X.ravel().tolist()), _POSE_TOLERANCE), 0.0, 1.0) for X in (X_a, X_b)]

    return compile_guarded(function, guards, name=name, X_a=(4, 4), X_b=(4, 4), **more)


def posed_call(
    caller: str, kernel: Kernel, on_symbols: Callable[..., Any], holder: type[ReturnedValue]
) -> Callable[..., Any]:
    """Return a callable of (X_a, X_b, further inputs) that calls the kernel and wraps its output in a ``holder``.

    Batches broadcast.  The callable raises ValueError for invalid poses.
    """
    state = call_state(kernel)

    def otherwise(X_a: Any, X_b: Any, *more: Any) -> Any:
        if any(map(is_traced, (X_a, X_b, *more))):
            return holder._make(on_symbols(X_a, X_b, *more))
        poses = [_real_poses(caller, *argument) for argument in (("X_a", X_a), ("X_b", X_b))]
        before = state.off_calls, state.not_finite_calls
        try:
            result = kernel(*poses, *more)
        except ValueError:
            refuse_batches(f"{caller}: poses", poses, 2)
            raise
        if (state.off_calls, state.not_finite_calls) != before:
            for name, X in zip(("X_a", "X_b"), poses, strict=True):
                _check_poses(caller, name, X)
        return holder._make(result)

    return single_call(kernel, otherwise, holder)


def posed_on_symbols(caller: str, evaluate: PoseFunction, X_a: Any, X_b: Any, *more: Any) -> Any:
    """Return the function ``evaluate`` of two poses and further scalars on arrays of symbols, batches included."""
    arrays = [scalars(x) for x in (X_a, X_b, *more)]
    for name, x in zip(("X_a", "X_b"), arrays[:2], strict=True):
        _check_shape(caller, name, x)
    unit = np.eye(4).ravel().tolist()
    count = len(evaluate(unit, unit, *(0.0 for _ in more)))
    sizes = [2, 2, *(0 for _ in more)]
    (result,) = map_samples(lambda x, y, *zs: [evaluate(x, y, *(z for (z,) in zs))], arrays, sizes, [(count,)])
    return result


def _real_poses(caller: str, name: str, X: Any) -> np.ndarray:
    """Return poses (..., 4, 4) in double precision, from an array of any real type, or from positions (..., 3).

    Raises ValueError for other shapes, and for (..., 3, 3), which may be rotation matrices.
    """
    result = real_array(f"{caller}: {name}: expected poses (..., 4, 4)", X).astype(float, copy=False)
    if result.shape[-2:] == (3, 3):
        expected = f"{caller}: {name}: expected poses (..., 4, 4) or positions (..., 3)"
        raise ValueError(f"{expected}, got shape {result.shape}, which may be rotations: use linkwork.pose")
    if result.shape[-1:] == (3,):
        poses = np.tile(np.eye(4), (*result.shape[:-1], 1, 1))
        poses[..., :3, 3] = result
        result = poses
    _check_shape(caller, name, result)
    return result


def _check_shape(caller: str, name: str, X: np.ndarray) -> None:
    """Raise ValueError for an array whose shape is not (..., 4, 4)."""
    if X.shape[-2:] != (4, 4):
        raise ValueError(f"{caller}: {name}: expected poses (..., 4, 4), got an array of shape {X.shape}")


def _check_poses(caller: str, name: str, X: np.ndarray) -> None:
    """Raise ValueError if one of the matrices is not a rigid transform; the message shows it."""
    expected = f"{caller}: {name}: expected poses (..., 4, 4)"
    if not np.isfinite(X).all():
        raise ValueError(f"{expected} of finite numbers, got {X[~np.isfinite(X)][0]}")
    large = np.abs(X[..., :3, 3]) > LARGEST
    if large.any():
        raise ValueError(
            f"{expected} with positions within {LARGEST:g} m of the origin, got {X[..., :3, 3][large][0]:g} m"
        )
    error = np.asarray(_pose_error(np.moveaxis(X.reshape(*X.shape[:-2], 16), -1, 0)), dtype=float)
    wrong = ~(error <= _POSE_TOLERANCE)
    if wrong.any():
        raise ValueError(f"{expected}: a rotation, a position and the last row 0 0 0 1, got\n{X[wrong][0]}")


def _pose_error(X: Any) -> Any:
    """Return the deviation of 16 matrix elements from a rigid transform, or NaN.

    It is Σ |RᵀR − 1| + |det R − 1| plus the last row's error, plus 1 for each position coordinate above `LARGEST`.
    """
    pose = Pose.of_elements(X)
    x, y, z = pose.rotation.x, pose.rotation.y, pose.rotation.z
    error = fabs(x.cross(y).dot(z) - 1.0)
    for axis, axis_2 in ((x, y), (y, z), (x, z)):
        error = error + fabs(axis.dot(axis_2)) + fabs(axis.dot(axis) - 1.0)
    for element, expected in zip(X[12:], (0.0, 0.0, 0.0, 1.0), strict=True):
        error = error + fabs(element - expected)
    for coordinate in pose.translation:
        error = error + where(le(fabs(coordinate), LARGEST), 0.0, 1.0)
    return error


_SIGNED_DISTANCE = "signed_distance"
_KERNELS = LazyCache[Kernel](256)
_KNOWN: ShapePairCache = BoundedCache(_MAX_CACHED_PAIRS)


def signed_distance(a: Shape, X_a: Any, b: Shape, X_b: Any) -> DistanceResult:
    """Compute the signed distance [m] of two shapes a and b of `linkwork.shapes` at poses X_a and X_b (..., 4, 4).

    Both shapes are convex, or one is a height field, a point cloud or a distance field and the other is convex and
    bounded. A point cloud is also supported with every other shape; its distance is the smallest of its points'
    distances. A compound's distance is that of its nearest, or deepest, component.

    Leading dimensions are a batch and broadcast. Distance, normal and points are in the frame of the poses. For
    overlapping shapes the distance is minus the length of the shortest translation that separates them. The first call
    for a pair of shapes compiles a kernel; a field's values are inputs of the kernel. A call with symbols is traced.

    >>> import linkwork as lw
    >>> ball, box = lw.shapes.Sphere(0.1), lw.shapes.Sphere(0.2)
    >>> result = lw.signed_distance(ball, lw.pose(), box, lw.pose((1.0, 0, 0)))
    >>> round(float(result.distance), 12), result.normal.tolist(), result.point_b.tolist()
    (0.7, [1.0, 0.0, 0.0], [0.8, 0.0, 0.0])

    Raises TypeError for arguments that are not such shapes and for unsupported pairs, ValueError for invalid poses.
    """
    known = _KNOWN.get((id(a), id(b)))
    if known is not None:
        result: DistanceResult = known[0](X_a, X_b)
        return result
    _check_supported(a, b)
    if is_traced(X_a) or is_traced(X_b):
        return DistanceResult._make(posed_on_symbols(_SIGNED_DISTANCE, _distance_function(a, b), X_a, X_b))
    result = _KNOWN.keep((id(a), id(b)), (_call(a, b), a, b))[0](X_a, X_b)
    return result


def _call(a: Shape, b: Shape) -> Callable[..., Any]:
    """Return a callable of the two poses that computes the signed distance; fields of the same size share a kernel."""
    evaluate = _distance_function(a, b)

    def on_symbols(X_a: Any, X_b: Any, *_: Any) -> Any:
        return posed_on_symbols(_SIGNED_DISTANCE, evaluate, X_a, X_b)

    field = a if type(a) in FIELDS else b
    shape = b if field is a else a
    if type(field) not in FIELDS or not is_bounded(shape):
        return posed_call(
            _SIGNED_DISTANCE,
            _KERNELS.get((a, b), lambda: posed_kernel(_SIGNED_DISTANCE, evaluate)),
            on_symbols,
            DistanceResult,
        )
    kind, row = field_row(field, Pose.identity())
    data = np.array([FIELDS[type(field)].radius(field), *kind.data(row)])

    def of_field(X_a: Any, X_b: Any, data: Any) -> list[Any]:
        X, X_other = (Pose.of_elements(x) for x in ((X_a, X_b) if field is a else (X_b, X_a)))
        result = distance_of_solids(kind.placed(X, data[0], data[1:]), solid(shape, X_other))
        return pair_values(result if field is a else result.flipped())

    kernel = _KERNELS.get((kind, shape, field is a), lambda: posed_kernel(_SIGNED_DISTANCE, of_field, data=data.shape))
    call = posed_call(_SIGNED_DISTANCE, kernel, on_symbols, DistanceResult)
    return lambda X_a, X_b: call(X_a, X_b, data)


def _check_supported(a: Any, b: Any) -> None:
    """Raise TypeError unless both are shapes whose distance is supported."""
    for name, shape in (("a", a), ("b", b)):
        if type(shape) not in SOLIDS and type(shape) not in FIELDS and not isinstance(shape, Compound):
            kinds = ", ".join(sorted(kind.__name__ for kind in (*SOLIDS, *FIELDS, Compound)))
            raise TypeError(
                f"signed_distance: {name}: expected a convex shape, a field or a compound of linkwork.shapes "
                f"({kinds}), got {shape!r}"
            )
    if not isinstance(a, Compound) and not isinstance(b, Compound) and not is_measured(a, b):
        raise TypeError(
            f"signed_distance: the distance of a {type(a).__name__} and a {type(b).__name__} is not supported: one of "
            f"them must be convex and bounded, or a PointCloud"
        )


def check_convex(caller: str, a: Any, b: Any) -> None:
    """Raise TypeError unless both are convex shapes."""
    for name, shape in (("a", a), ("b", b)):
        if type(shape) not in SOLIDS:
            kinds = ", ".join(sorted(kind.__name__ for kind in SOLIDS))
            raise TypeError(f"{caller}: {name}: expected a convex shape of linkwork.shapes ({kinds}), got {shape!r}")


def _distance_function(a: Shape, b: Shape) -> PoseFunction:
    """Return a function of two poses that computes distance, normal, points and uniqueness."""

    def evaluate(X_a: Any, X_b: Any) -> list[Any]:
        return pair_values(distance_of_shapes(a, Pose.of_elements(X_a), b, Pose.of_elements(X_b))[0])

    return evaluate


_CONTACT_POINTS = "contact_points"
_CONTACT_KERNELS = LazyCache[Kernel](128)
_KNOWN_CONTACTS: ShapePairCache = BoundedCache(_MAX_CACHED_PAIRS)
_POINT_SIZE = 8  # values of a point: mask, depth, point on a, point on b


class ContactPoints(ReturnedValue):
    """Contact points of two bodies A and B, single or a batch: 1 to 12 entries by the kinds of the shapes.

    ``mask`` (..., n) is True at the entries that hold a point; the others hold finite values without meaning.
    """

    __slots__ = ("_values",)

    _values: Any

    @classmethod
    def _make(cls, values: Any) -> Self:
        result = object.__new__(cls)
        result._values = values
        return result

    @property
    def normal(self) -> Any:
        """Unit normal (..., 3) from A to B, common to all points."""
        return self._values[..., :3]

    @property
    def mask(self) -> Any:
        """True for the entries (..., n) that hold a contact point; numbers 1 and 0 in traced functions."""
        result = self._points[..., 0]
        return result if is_traced(result) else result > 0.5

    @property
    def depth(self) -> Any:
        """Penetration depth (..., n) along the normal [m]; negative for separated bodies."""
        return self._points[..., 1]

    @property
    def point_a(self) -> Any:
        """Points (..., n, 3) on A [m]: point_a − point_b = depth · normal."""
        return self._points[..., 2:5]

    @property
    def point_b(self) -> Any:
        """Points (..., n, 3) on B [m]."""
        return self._points[..., 5:8]

    @property
    def _points(self) -> Any:
        values = self._values[..., 3:]
        return values.reshape(*values.shape[:-1], values.shape[-1] // _POINT_SIZE, _POINT_SIZE)

    def __repr__(self) -> str:
        *batch, count = self.depth.shape
        if batch or is_traced(self._values):
            return f"<ContactPoints: {count} entries, shape {(*batch,)}>"
        return f"<ContactPoints: {int(self.mask.sum())} of {count}, depth {self.depth[self.mask].tolist()} m>"


@public
def contact_points(a: Shape, X_a: Any, b: Shape, X_b: Any, *, max_distance: float = 0.0) -> ContactPoints:
    """Compute contact points and depths of two convex shapes a and b at poses X_a and X_b (..., 4, 4).

    Shapes are in contact if they overlap or are at most ``max_distance`` [m] apart.  Maximum numbers of points:

    - two boxes: all corners of the common area of their faces, up to eight in twelve entries, so that points do not
      jump between entries as the boxes move;
    - a half-space and a polytope: all vertices if there are at most eight, else up to eight corners of the lowest
      region and the deepest vertex; a box 4, a cylinder or cone 7, a capsule 2;
    - a box and a capsule: 2; hulls, cylinders and cones with each other and with boxes: 9;
    - other pairs: the witness point of `signed_distance`.

    Leading dimensions are a batch and broadcast.  A kernel is compiled for each pair of shapes.  A call with symbols is
    traced.

    >>> import linkwork as lw
    >>> box, floor = lw.shapes.Box((0.4, 0.2, 0.1)), lw.shapes.HalfSpace()
    >>> contact = lw.contact_points(floor, lw.pose(), box, lw.pose((0, 0, 0.049)))
    >>> contact.normal.tolist(), contact.depth.round(9).tolist()
    ([0.0, 0.0, 1.0], [0.001, 0.001, 0.001, 0.001])

    Raises TypeError for arguments that are not convex shapes and for unsupported pairs, ValueError for invalid poses.
    """
    known = _KNOWN_CONTACTS.get((id(a), id(b)))
    if known is None:
        check_convex(_CONTACT_POINTS, a, b)
        if any(map(is_traced, (X_a, X_b, max_distance))):
            return ContactPoints._make(
                posed_on_symbols(_CONTACT_POINTS, _contact_function(a, b), X_a, X_b, max_distance)
            )
    if not is_traced(max_distance) and not math.isfinite(max_distance):
        raise ValueError(f"contact_points: max_distance: expected a finite number [m], got {max_distance!r}")
    call = known[0] if known is not None else _KNOWN_CONTACTS.keep((id(a), id(b)), (_contact_call(a, b), a, b))[0]
    result: ContactPoints = call(
        X_a, X_b, max_distance if is_traced(max_distance) else np.array(max_distance, dtype=float)
    )
    return result


def _contact_call(a: Shape, b: Shape) -> Callable[..., Any]:
    evaluate = _contact_function(a, b)
    kernel = _CONTACT_KERNELS.get((a, b), lambda: posed_kernel(_CONTACT_POINTS, evaluate, within=()))
    return posed_call(_CONTACT_POINTS, kernel, partial(posed_on_symbols, _CONTACT_POINTS, evaluate), ContactPoints)


def _contact_function(a: Shape, b: Shape) -> PoseFunction:
    """Return a function of two poses and a distance: the normal, and mask, depth and both points of each entry."""

    def evaluate(X_a: Any, X_b: Any, within: Any) -> list[Any]:
        result = contacts(solid(a, Pose.of_elements(X_a)), solid(b, Pose.of_elements(X_b)), within)
        values = [*result.normal]
        for p in result.points:
            values += [where(p.exists, 1.0, 0.0), p.depth, *p.on_a, *p.on_b]
        return values

    return evaluate
