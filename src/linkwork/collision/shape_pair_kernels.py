"""Functions of two shapes at poses: kernels that look themselves whether they are given poses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork._util.result import Made
from linkwork.expr.arrays.symbol_array import array, is_traced, over_samples, scalars
from linkwork.expr.scalar.functions import fabs, le, where
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.compiler_api import Kernel, call_state, compile_guarded, single_call
from linkwork.spatial import Pose
from linkwork.spatial.arguments import LARGEST

__all__ = ["ShapePairCache", "posed_call", "posed_kernel", "posed_on_symbols"]

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
            found = kernel(*poses, *more)
        except ValueError:
            shapes = " and ".join(str(x.shape) for x in poses)
            raise ValueError(f"{caller}: poses of shapes {shapes} do not broadcast together") from None
        if (state.off_calls, state.not_finite_calls) != seen:
            for name, X in zip(("X_a", "X_b"), poses, strict=True):
                _check_poses(caller, name, X)
        return holder._make(found)

    return single_call(kernel, otherwise, holder)


def posed_on_symbols(caller: str, numbers: Numbers, X_a: Any, X_b: Any, *more: Any) -> Any:
    """The same of arrays of symbols, and of further single numbers."""
    given = [scalars(x) for x in (X_a, X_b, *more)]
    for name, x in zip(("X_a", "X_b"), given[:2], strict=True):
        _check_shape(caller, name, x)
    unit = np.eye(4).ravel().tolist()
    count = len(numbers(unit, unit, *(0.0 for _ in more)))
    sizes = [2, 2, *(0 for _ in more)]
    (found,) = over_samples(lambda x, y, *zs: [numbers(x, y, *(z for (z,) in zs))], given, sizes, [(count,)])
    return found


def _real_poses(caller: str, name: str, X: Any) -> np.ndarray:
    """Poses (..., 4, 4) in double precision, whatever their numbers are."""
    found = real_array(f"{caller}: {name}: expected poses (..., 4, 4)", X).astype(float, copy=False)
    _check_shape(caller, name, found)
    return found


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
    of the place that is not finite or too large; or NaN."""
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
