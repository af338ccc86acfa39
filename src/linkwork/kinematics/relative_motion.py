"""How a frame moves that moves relative to a moving frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork.expr.arrays.symbol_array import is_traced, over_samples, scalars
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.spatial import FrameMotion, Motion, Pose

__all__ = ["PropagatedMotion", "propagate_motion"]

_PARTS = {"pose": (4, 4), "twist": (6,), "acceleration": (6,)}


class PropagatedMotion(NamedTuple):
    """How a frame C moves as an observer fixed in A sees it, in the axes of A."""

    pose: np.ndarray  # X_AC (..., 4, 4) [1, m]
    twist: np.ndarray  # (ω; v) (..., 6) [rad/s, m/s]
    acceleration: np.ndarray  # (ω̇; v̇) (..., 6) [rad/s², m/s²], v̇ classical


@public
def propagate_motion(parent: Sequence[ArrayLike], relative: Sequence[ArrayLike]) -> PropagatedMotion:
    """The motion of a frame C relative to A, from that of B relative to A and that of C relative to B.

    ``parent`` is (pose X_AB, twist (ω; v), acceleration (ω̇; v̇)) of B as an observer fixed in A sees it, in the axes of
    A; ``relative`` is the same of C as an observer fixed in B sees it, in the axes of B.  Linear parts are the velocity
    and the (classical) acceleration of the moving frame's origin, as of `Robot.twist` and `Robot.acceleration` with
    ``relative_to`` and ``expressed_in`` the same.  What is given back may be the next one's ``parent``.  With p, V, W
    and so on of the relative motion turned to the axes of A:

        p + P,   v + V + ω × P,   v̇ + V̇ + 2 ω × V + ω × (ω × P) + ω̇ × P,   ω + W,   ω̇ + Ẇ + ω × W

    Poses (..., 4, 4) [1, m], twists (..., 6) [rad/s, m/s] and accelerations (..., 6) [rad/s², m/s²] broadcast.  Takes
    symbols too.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> turntable = lw.pose(), (0, 0, 2, 0, 0, 0), np.zeros(6)             # 2 rad/s about z
    >>> walker = lw.pose((1, 0, 0)), (0, 0, 0, -0.5, 0, 0), np.zeros(6)    # to the axis, with 0.5 m/s
    >>> moved = lw.propagate_motion(turntable, walker)
    >>> moved.twist[3:], moved.acceleration[3:]                            # -2 of Coriolis, -4 to the axis
    (array([-0.5,  2. ,  0. ]), array([-4., -2.,  0.]))

    Raises ValueError for arrays of other shapes.
    """
    given: list[Any] = []
    for caller, motion in (("parent", parent), ("relative", relative)):
        if len(motion) != 3:
            raise ValueError(
                f"propagate_motion: {caller}: expected (pose, twist, acceleration), got {len(motion)} parts"
            )
        for value, (name, shape) in zip(motion, _PARTS.items(), strict=True):
            if np.shape(value)[-len(shape) :] != shape:
                sizes = ", ".join(["...", *map(str, shape)])
                got = np.shape(value)
                raise ValueError(f"propagate_motion: {caller}: {name}: expected shape ({sizes}), got shape {got}")
            given.append(value)
    if any(map(is_traced, given)):
        ranks, shapes = [len(shape) for shape in _PARTS.values()], list(_PARTS.values())
        found = over_samples(_propagated, [scalars(x) for x in given], ranks * 2, shapes)
        return PropagatedMotion(*found)
    return PropagatedMotion(*_kernels.get("propagate", _kernel)(*given))


_kernels: LazyCache[Kernel] = LazyCache()


def _propagated(*parts: list[Any]) -> list[tuple[Any, ...]]:
    """Of the elements of two motions' parts."""
    parent, relative = _motion(*parts[:3]), _motion(*parts[3:])
    moved = parent @ relative
    return [moved.pose.elements(), moved.twist.elements(), moved.acceleration.elements()]


def _motion(pose: list[Any], twist: list[Any], acceleration: list[Any]) -> FrameMotion:
    return FrameMotion(Pose.of_elements(pose), Motion.of(twist), Motion.of(acceleration))


def _kernel() -> Kernel:
    def propagate_motion(X: Any, V: Any, A: Any, X_rel: Any, V_rel: Any, A_rel: Any) -> dict[str, Any]:
        found = _propagated(*(x.ravel().tolist() for x in (X, V, A, X_rel, V_rel, A_rel)))
        return {name: np.reshape(part, shape) for part, (name, shape) in zip(found, _PARTS.items(), strict=True)}

    return compile(propagate_motion, X=(4, 4), V=6, A=6, X_rel=(4, 4), V_rel=6, A_rel=6)
