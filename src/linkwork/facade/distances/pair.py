"""The signed distance of two shapes: a kernel for each pair of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...bridge.arguments import real_array
from ...bridge.machine import Kernel, compile, single_call
from ...bridge.once import Once
from ...expr.arrays import array, is_traced, over_samples, scalars
from ...expr.functions import fabs, le, where
from ...geometry.distance import SignedDistance
from ...geometry.fields import FIELDS, distance_of_shapes, field_row, is_bounded, is_measured
from ...geometry.pairs import signed_distance as measured
from ...geometry.solids import SOLIDS, solid
from ...shapes import Compound, Shape
from ...spatial import Pose
from ...spatial.given import LARGEST
from .results import DistanceResult

__all__ = ["check_convex", "check_poses_shape", "read_poses", "signed_distance"]

_KEPT = 256  # kernels, and pairs of shapes that are known again
_OFF = 1e-6  # by how much a pose may be no rigid transform
_KERNELS = Once[Kernel](_KEPT)
_CALLS: dict[tuple[int, int], tuple[Callable[..., Any], Shape, Shape]] = {}  # by identity of shapes, which are held


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
    known = _CALLS.get((id(a), id(b)))
    if known is not None:
        try:
            found = known[0](X_a, X_b)
            off = found.item(11) if found.ndim == 1 else found[..., 11].max()
            if off <= _OFF:
                return DistanceResult(found)
        except (AttributeError, TypeError, ValueError):
            pass
    return _slowly(a, X_a, b, X_b)


def _slowly(a: Shape, X_a: Any, b: Shape, X_b: Any) -> DistanceResult:
    """The same with a look at all that is given."""
    _check_measured(a, b)
    if is_traced(X_a) or is_traced(X_b):
        arrays = [scalars(X) for X in (X_a, X_b)]
        for name, x in zip(("X_a", "X_b"), arrays, strict=True):
            check_poses_shape(name, x)
        (found,) = over_samples(lambda x, y: [_numbers(a, x, b, y)[:-1]], arrays, [2, 2], [(11,)])
        return DistanceResult(found)
    poses = [read_poses(name, X) for name, X in (("X_a", X_a), ("X_b", X_b))]
    kernel = _kernel(a, b)
    if len(_CALLS) >= _KEPT:
        _CALLS.clear()
    _CALLS[id(a), id(b)] = single_call(kernel, kernel) if isinstance(kernel, Kernel) else kernel, a, b
    try:
        return DistanceResult(kernel(*poses))
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in poses)
        raise ValueError(f"signed_distance: poses of shapes {shapes} do not broadcast together") from None


def _kernel(a: Shape, b: Shape) -> Callable[..., Any]:
    """What takes the two poses: of a field it is a kernel of all such fields."""
    field = a if type(a) in FIELDS else b
    other = b if field is a else a
    if type(field) not in FIELDS or not is_bounded(other):
        return _KERNELS.get((a, b), lambda: _compiled(a, b))
    kind, row = field_row(field, Pose.identity())
    numbers = np.array([FIELDS[type(field)].radius(field), *row[15:]])

    def function(X_a: Any, X_b: Any, numbers: Any) -> Any:
        poses = [*X_a.ravel()], [*X_b.ravel()]
        X, X_other = (Pose.of_elements(x) for x in (poses if field is a else poses[::-1]))
        R = X.rotation
        placed = kind.solid([1.0, 0.0, numbers[0], *R.x, *R.y, *R.z, *X.translation, *numbers[1:]]).solid
        found = measured(placed, solid(other, X_other))
        return array(_listed(found if field is a else found.flipped(), *poses))

    def made() -> Kernel:
        return compile(function, name="signed_distance", X_a=(4, 4), X_b=(4, 4), numbers=numbers.shape)

    kernel = _KERNELS.get((kind, other, field is a), made)
    return lambda X_a, X_b: kernel(X_a, X_b, numbers)


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


def check_convex(who: str, a: Any, b: Any) -> None:
    """Raises TypeError for what is no convex shape."""
    for name, shape in (("a", a), ("b", b)):
        if type(shape) not in SOLIDS:
            kinds = ", ".join(sorted(kind.__name__ for kind in SOLIDS))
            raise TypeError(f"{who}: {name}: expected a convex shape of linkwork.shapes ({kinds}), got {shape!r}")


def read_poses(name: str, X: Any, who: str = "signed_distance") -> np.ndarray:
    """Poses (..., 4, 4).  Raises ValueError."""
    expected = f"{who}: {name}: expected poses (..., 4, 4)"
    found = real_array(expected, X).astype(float)
    check_poses_shape(name, found, who)
    if not np.isfinite(found).all():
        raise ValueError(f"{expected}, got {found[~np.isfinite(found)][0]} among their numbers")
    large = np.abs(found[..., :3, 3]) > LARGEST
    if large.any():
        raise ValueError(
            f"{expected} whose places are no farther away than {LARGEST:g} m, got {found[..., :3, 3][large][0]:g}"
        )
    R = found[..., :3, :3]
    off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).sum((-1, -2)) + np.abs(found[..., 3, :] - [0, 0, 0, 1]).sum(-1)
    wrong = (off > _OFF) | (np.linalg.det(R) < 0.0)
    if wrong.any():
        raise ValueError(f"{expected}: a rotation, a place and the last row 0 0 0 1, got\n{found[wrong][0]}")
    return found


def check_poses_shape(name: str, X: np.ndarray, who: str = "signed_distance") -> None:
    """Raises ValueError for arrays that are no poses (..., 4, 4)."""
    if X.shape[-2:] != (4, 4):
        raise ValueError(f"{who}: {name}: expected poses (..., 4, 4), got an array of shape {X.shape}")


def _numbers(a: Shape, X_a: Any, b: Shape, X_b: Any) -> list[Any]:
    """distance, normal, points, unique, and by how much poses are none."""
    return _listed(distance_of_shapes(a, Pose.of_elements(X_a), b, Pose.of_elements(X_b))[0], X_a, X_b)


def _listed(found: SignedDistance, X_a: Any, X_b: Any) -> list[Any]:
    off = _off(X_a) + _off(X_b)
    return [found.distance, *found.normal, *found.on_a, *found.on_b, found.unique, off]


def _off(X: Any) -> Any:
    """Σ |RᵀR − 1| + |det R − 1|, what the last row is off by, and 1 for each number of the place that is not finite or
    too large; or NaN."""
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


def _compiled(a: Shape, b: Shape) -> Kernel:
    def function(X_a: Any, X_b: Any) -> Any:
        return array(_numbers(a, [*X_a.ravel()], b, [*X_b.ravel()]))

    return compile(function, name="signed_distance", X_a=(4, 4), X_b=(4, 4))
