"""Functions of poses on arrays: construction, difference, and motion relative to a moving frame."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.user_frames import levels_up
from linkwork._util.validation import finite_array, one_of, shown
from linkwork.expr.arrays.symbol_array import is_traced, map_samples, scalars
from linkwork.expr.scalar.functions import atan2, cos, hypot, le, lt, sin, where
from linkwork.joints.axis import coordinate_axis, unit_axis
from linkwork.joints.base.checks import SILENT_MANIFOLD_DISTANCE
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.numeric_call import checked_call
from linkwork.spatial import FrameMotion, Motion, Pose, Quaternion, Rotation, Vec3
from linkwork.spatial.arguments import checked_array, checked_pose, is_rigid
from linkwork.spatial.rotation import cos_sin

__all__ = ["PropagatedMotion", "pose", "pose_difference", "propagate_motion", "quaternion", "rpy"]


@public
def pose(
    xyz: ArrayLike = (0.0, 0.0, 0.0),
    *,
    rpy: ArrayLike | None = None,
    axis: ArrayLike | str | None = None,
    angle: ArrayLike | None = None,
    quaternion_wxyz: ArrayLike | None = None,
    rotation: ArrayLike | None = None,
) -> np.ndarray:
    """Return X_ab (..., 4, 4), the pose of a frame b in a frame a.

    ``xyz`` (..., 3) [m] is the position of b's origin. The rotation is one of: ``rpy`` (..., 3), URDF's roll, pitch and
    yaw [rad] about the fixed axes x, then y, then z; ``axis`` (..., 3), of any length, or "x", "y" or "z", and
    ``angle`` (...) [rad], right-handed; ``quaternion_wxyz`` (..., 4), unit quaternions (w, x, y, z); ``rotation``
    matrices (..., 3, 3), whose columns are b's axes, or a Rotation of SciPy; or the identity by default.  Leading axes
    are a batch and broadcast together.  `rpy` and `quaternion` are the inverse.
    Angles that are the float nearest to a multiple of π/2 give exact zeros and ones.

    >>> import math
    >>> import linkwork as lw
    >>> lw.pose((0, 0, 0.3), rpy=(0, math.pi / 2, 0))
    array([[ 0. ,  0. ,  1. ,  0. ],
           [ 0. ,  1. ,  0. ,  0. ],
           [-1. ,  0. ,  0. ,  0.3],
           [ 0. ,  0. ,  0. ,  1. ]])
    >>> lw.pose([(0, 0, 0.3), (0, 0, 0.5)], axis="x", angle=math.pi).shape
    (2, 4, 4)

    Raises ValueError for invalid values, and for more than one rotation.  Warns of ``rpy`` beyond two revolutions,
    and of an integer ``angle`` beyond them, which are probably degrees; of several ``rpy`` only if all are integers.
    """
    matrix: Any = rotation
    if hasattr(matrix, "as_matrix"):
        matrix = matrix.as_matrix()
    rotations = {"rpy": rpy, "axis": axis, "quaternion_wxyz": quaternion_wxyz, "rotation": matrix}
    names = [name for name, value in rotations.items() if value is not None]
    if len(names) > 1:
        raise ValueError(
            f"pose: expected at most one of rpy, axis, quaternion_wxyz and rotation, got {' and '.join(names)}"
        )
    if (axis is None) != (angle is None):
        raise ValueError("pose: axis, angle: expected both or neither, got one")
    if rpy is not None:
        warn_of_degrees("pose", "rpy", rpy, whole=_batch_shape("rpy", rpy) != ())
    if angle is not None:
        warn_of_degrees("pose", "angle", angle, whole=True)
    turns = {name: value for name, value in {**rotations, "angle": angle}.items() if value is not None}
    lead = _batch_shape("xyz", xyz)
    leads = {name: _batch_shape(name, value) for name, value in turns.items()}
    if not lead and not any(leads.values()):
        return Pose(_rotation(**turns), _vector(xyz, "xyz", "m")).matrix()
    try:
        of_turns = np.broadcast_shapes(*leads.values())
        result = np.zeros((*np.broadcast_shapes(lead, of_turns), 4, 4))
    except ValueError:
        raise ValueError(f"pose: expected batches that broadcast together, got { ({'xyz': lead} | leads) }") from None
    result[..., :3, 3] = checked_array(xyz, "pose: xyz: expected positions (..., 3) [m]", (*lead, 3))
    result[..., 3, 3] = 1.0
    each = {name: _repeated(value, len(leads[name]), of_turns) for name, value in turns.items()}
    R = np.empty((*of_turns, 3, 3))
    for index in np.ndindex(of_turns):
        R[index] = _rotation(**{name: x if isinstance(x, str) else x[index] for name, x in each.items()}).rows()
    result[..., :3, :3] = R
    return result


def warn_of_degrees(caller: str, name: str, angles: Any, *, whole: bool = False) -> None:
    """Warn of angles of more than two revolutions, which are probably degrees; with ``whole``, only of integers.

    Angles of any size are common where motions are sampled; integers in rad are not.
    """
    try:
        values = np.asarray(angles, float)
    except (TypeError, ValueError):  # symbols, and values that are refused later
        return
    most = float(np.abs(values).max(initial=0.0))
    if most > 4.0 * np.pi and np.isfinite(most) and not (whole and np.any(values % 1.0)):
        text = f"{caller}: {name}: angles are in rad, and {most:.6g} rad are {most / (2.0 * np.pi):.3g} revolutions; "
        warnings.warn(f"{text}numpy.radians converts degrees", UserWarning, stacklevel=levels_up())


_RANKS = {"xyz": 1, "rpy": 1, "axis": 1, "angle": 0, "quaternion_wxyz": 1, "rotation": 2}
"""Dimensions of one value of each argument of `pose`."""


def _batch_shape(name: str, value: Any) -> tuple[int, ...]:
    """Return the leading dimensions of an argument of `pose`; () for values that are refused later."""
    try:
        shape: tuple[int, ...] = np.shape(value)
    except ValueError:  # a ragged list
        return ()
    return shape[: max(len(shape) - _RANKS[name], 0)]


def _repeated(value: Any, leading: int, batch: tuple[int, ...]) -> Any:
    """Return a value with ``leading`` batch dimensions, repeated to a batch shape; the name of an axis as it is."""
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    return np.broadcast_to(array, (*batch, *array.shape[leading:]))


def _rotation(
    *, rpy: Any = None, axis: Any = None, angle: Any = None, quaternion_wxyz: Any = None, rotation: Any = None
) -> Rotation:
    """Return the rotation of one pose."""
    if rpy is not None:
        return Rotation.from_rpy(*_vector(rpy, "rpy", "rad"))
    if axis is not None:
        return _about(axis, angle)
    if quaternion_wxyz is not None:
        return _quaternion(quaternion_wxyz)
    return Rotation.identity() if rotation is None else _matrix(rotation)


@public
def pose_difference(X: ArrayLike, target: ArrayLike) -> np.ndarray:
    """Compute (φ; d), the difference from a pose X_wa to a target X_wb, both in the frame w and in its axes.

    φ is the rotation vector that rotates a's axes to b's: exp([φ×]) R_wa = R_wb, |φ| ≤ π.  d = p_wb − p_wa leads from
    a's origin to b's.  (φ; d) has the order and the axes of `Robot.twist` and `Robot.jacobian` in the world; if it is
    small, it is the twist that reaches the target in unit time.  Derivatives are correct from zero difference up to
    half a revolution.  At half a revolution two rotation vectors lead to the target, and φ is one of them.  Symbols are
    supported.  X, target (..., 4, 4) -> (..., 6) [rad, m].

    >>> import math
    >>> import linkwork as lw
    >>> lw.pose_difference(lw.pose((0, 0, 1)), lw.pose((0, 2, 1), rpy=(0, 0, math.pi / 2))).round(4)
    array([0.    , 0.    , 1.5708, 0.    , 2.    , 0.    ])

    Raises ValueError for arrays of other shapes.
    """
    for name, value in (("X", X), ("target", target)):
        if np.shape(value)[-2:] != (4, 4):
            shape = np.shape(value)
            raise ValueError(f"pose_difference: {name}: expected poses of shape (..., 4, 4), got shape {shape}")
    if is_traced(X) or is_traced(target):
        names = [scalars(X), scalars(target)]
        return map_samples(lambda *poses: [_difference(*poses)], names, [2, 2], [(6,)])[0]  # type: ignore[no-any-return]
    kernel = _kernels.get("difference", _difference_kernel)
    result: np.ndarray = checked_call("pose_difference", kernel, {"X": X, "target": target})
    return result


_kernels: LazyCache[Kernel] = LazyCache()


def _difference(X: list[Any], target: list[Any]) -> tuple[Any, ...]:
    """Return the difference (φ; d) of two poses, whose matrices are flat lists of 16 elements."""
    return Pose.of_elements(X).difference(Pose.of_elements(target)).elements()


def _difference_kernel() -> Kernel:
    def pose_difference(X: Any, target: Any) -> Any:
        return list(_difference(X.ravel().tolist(), target.ravel().tolist()))

    return compile(pose_difference, X=(4, 4), target=(4, 4))


@public
def rpy(X: ArrayLike) -> np.ndarray:
    """Return roll, pitch and yaw of a pose [rad], as in URDF: the inverse of ``pose(rpy=...)``.

    They are angles about the fixed axes x, then y, then z: R = Rz(yaw) Ry(pitch) Rx(roll).  Roll and yaw are in (−π,
    π], pitch is in [−π/2, π/2].  Where pitch is ±π/2 (gimbal lock), only the sum or the difference of roll and yaw is
    defined; then yaw is 0.  Symbols are supported.  X (..., 4, 4), or rotations (..., 3, 3) -> (..., 3).

    >>> import linkwork as lw
    >>> lw.rpy(lw.pose((0, 0, 1), rpy=(0.1, -0.2, 0.3))).round(12).tolist()
    [0.1, -0.2, 0.3]

    Raises ValueError for arrays of other shapes, and matrices that are not rotations.
    """
    result = _of_pose("rpy", _rpy, 3, X)
    return result if result.dtype == object else np.where(result == -math.pi, math.pi, result)


def _rpy(X: Pose) -> tuple[Any, ...]:
    (a, b, c), (d, e, f), (g, _, _) = X.rotation.x, X.rotation.y, X.rotation.z
    across = hypot(a, d)  # |cos(pitch)|
    yaw = where(le(across, _LOCKED), 0.0, atan2(d, a))
    # roll is that of Rz(yaw)^T R, so that both angles together are exact also near gimbal lock
    sy, cy = sin(yaw), cos(yaw)
    return atan2(sy * c - cy * f, cy * e - sy * b), atan2(-g, across), yaw


_LOCKED = 1e-14  # cosines of pitch that count as 0


@public
def quaternion(X: ArrayLike, *, order: Literal["wxyz", "xyzw"] = "wxyz") -> np.ndarray:
    """Return the unit quaternion of a pose, (w, x, y, z) with w >= 0: the inverse of ``pose(quaternion_wxyz=...)``.

    ``order="xyzw"`` is the order of ROS, SciPy and PyBullet.  Symbols are supported.  X (..., 4, 4), or rotations (...,
    3, 3) -> (..., 4).

    >>> import math
    >>> import linkwork as lw
    >>> lw.quaternion(lw.pose(axis=(0, 0, 1), angle=math.pi)).tolist()
    [0.0, 0.0, 0.0, 1.0]

    Raises ValueError for arrays of other shapes, matrices that are not rotations, and another order.
    """
    one_of("quaternion", "order", order, ("wxyz", "xyzw"))
    result = _of_pose("quaternion", _quaternion_of, 4, X)
    return result if order == "wxyz" else np.roll(result, -1, axis=-1)


def _quaternion_of(X: Pose) -> tuple[Any, ...]:
    Q = Quaternion.of(X.rotation)
    return tuple(where(lt(Q.w, 0.0), -x, x) for x in Q.elements())


def _as_poses(caller: str, X: Any) -> Any:
    """Return poses (..., 4, 4) of poses or rotations (..., 3, 3).  Raises ValueError for other matrices."""
    if np.shape(X)[-2:] not in ((4, 4), (3, 3)):
        expected = "expected poses of shape (..., 4, 4) or rotations (..., 3, 3)"
        raise ValueError(f"{caller}: X: {expected}, got shape {np.shape(X)}")
    array = scalars(X) if is_traced(X) else finite_array(caller, "X", X)
    if array.shape[-1] == 3:
        rotations, array = array, np.zeros((*array.shape[:-2], 4, 4), array.dtype)
        array[..., :3, :3], array[..., 3, 3] = rotations, 1.0
    if array.dtype != object and not is_rigid(array):
        raise ValueError(f"{caller}: X: expected right-handed rotations and last rows 0 0 0 1, got {shown(X)}")
    return array


def _of_pose(caller: str, function: Callable[[Pose], Sequence[Any]], size: int, X: Any) -> np.ndarray:
    """Return ``size`` values for poses (..., 4, 4) or rotations (..., 3, 3), by a function over any scalar.

    Raises ValueError for other matrices.
    """
    poses = _as_poses(caller, X)
    if poses.dtype == object:
        return map_samples(lambda X: [function(Pose.of_elements(X))], [poses], [2], [(size,)])[0]  # type: ignore[no-any-return]

    def of_pose(X: Any) -> Any:
        return list(function(Pose.of_elements(X.ravel().tolist())))

    result: np.ndarray = _kernels.get(caller, lambda: compile(of_pose, name=caller, X=(4, 4)))(poses)
    return result + 0.0  # without negative zeros


def _vector(value: Any, name: str, unit: str) -> Vec3:
    return Vec3.of(checked_array(value, f"pose: {name}: expected three numbers [{unit}]", (3,)).tolist())


def _about(axis: Any, angle: Any) -> Rotation:
    unit = unit_axis(_vector(coordinate_axis(axis), "axis", "1"), "pose")
    return Rotation.turning(unit, *cos_sin(float(checked_array(angle, "pose: angle: expected a number [rad]", ()))))


def _quaternion(value: Any) -> Rotation:
    expected = "pose: quaternion_wxyz: expected four numbers (w, x, y, z) of length 1"
    w, x, y, z = checked_array(value, expected, (4,)).tolist()
    length = math.hypot(w, x, y, z)
    if abs(length - 1.0) > SILENT_MANIFOLD_DISTANCE:
        raise ValueError(f"{expected}, got {value!r} of length {length:.9g}")
    return Rotation.from_quaternion(w / length, x / length, y / length, z / length)


def _matrix(value: Any) -> Rotation:
    X = np.eye(4)
    expected = "pose: rotation: expected a rotation matrix (3, 3), whose columns are right-handed unit axes"
    X[:3, :3] = checked_array(value, expected, (3, 3))
    try:
        return checked_pose(X, "pose: rotation").rotation
    except ValueError:
        raise ValueError(f"{expected}, got {X[:3, :3].tolist()}") from None


_SHAPES = {"pose": (4, 4), "twist": (6,), "acceleration": (6,)}


class PropagatedMotion(NamedTuple):
    """Motion of a frame C relative to A, in the axes of A."""

    pose: np.ndarray  # X_AC (..., 4, 4) [1, m]
    twist: np.ndarray  # (ω; v) (..., 6) [rad/s, m/s]
    acceleration: np.ndarray  # (ω̇; v̇) (..., 6) [rad/s², m/s²], v̇ classical


@public
def propagate_motion(parent: Sequence[ArrayLike], relative: Sequence[ArrayLike]) -> PropagatedMotion:
    """Compose the motion of a frame C relative to A from that of B relative to A and that of C relative to B.

    ``parent`` is (pose X_AB, twist (ω; v), acceleration (ω̇; v̇)) of B relative to A, in the axes of A.  ``relative``
    is the same of C relative to B, in the axes of B.  Linear components are the velocity and the (classical)
    acceleration of the moving frame's origin, as of `Robot.twist` and `Robot.acceleration` with equal ``relative_to``
    and ``expressed_in``.  The result can be the next ``parent``.  With p, V, W and so on of the relative motion rotated
    to the axes of A:

        p + P,   v + V + ω × P,   v̇ + V̇ + 2 ω × V + ω × (ω × P) + ω̇ × P,   ω + W,   ω̇ + Ẇ + ω × W

    Poses (..., 4, 4) [1, m], twists (..., 6) [rad/s, m/s] and accelerations (..., 6) [rad/s², m/s²] broadcast.  Symbols
    are supported.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> turntable = lw.pose(), (0, 0, 2, 0, 0, 0), np.zeros(6)             # 2 rad/s about z
    >>> walker = lw.pose((1, 0, 0)), (0, 0, 0, -0.5, 0, 0), np.zeros(6)    # towards the axis, with 0.5 m/s
    >>> moved = lw.propagate_motion(turntable, walker)
    >>> moved.twist[3:], moved.acceleration[3:]                            # -2 of Coriolis, -4 towards the axis
    (array([-0.5,  2. ,  0. ]), array([-4., -2.,  0.]))

    Raises ValueError for arrays of other shapes.
    """
    names: list[Any] = []
    for caller, motion in (("parent", parent), ("relative", relative)):
        if len(motion) != 3:
            raise ValueError(
                f"propagate_motion: {caller}: expected (pose, twist, acceleration), got {len(motion)} values"
            )
        for value, (name, shape) in zip(motion, _SHAPES.items(), strict=True):
            if np.shape(value)[-len(shape) :] != shape:
                sizes = ", ".join(["...", *map(str, shape)])
                got = np.shape(value)
                raise ValueError(f"propagate_motion: {caller}: {name}: expected shape ({sizes}), got shape {got}")
            names.append(value)
    if any(map(is_traced, names)):
        ranks, shapes = [len(shape) for shape in _SHAPES.values()], list(_SHAPES.values())
        result = map_samples(_propagated, [scalars(x) for x in names], ranks * 2, shapes)
        return PropagatedMotion(*result)
    return PropagatedMotion(*_kernels.get("propagate", _kernel)(*names))


def _propagated(*parts: list[Any]) -> list[tuple[Any, ...]]:
    """Return the composed motion as one list, from flat lists of the poses, twists and accelerations."""
    parent, relative = _motion(*parts[:3]), _motion(*parts[3:])
    moved = parent @ relative
    return [moved.pose.elements(), moved.twist.elements(), moved.acceleration.elements()]


def _motion(pose: list[Any], twist: list[Any], acceleration: list[Any]) -> FrameMotion:
    return FrameMotion(Pose.of_elements(pose), Motion.of(twist), Motion.of(acceleration))


def _kernel() -> Kernel:
    def propagate_motion(X: Any, V: Any, A: Any, X_rel: Any, V_rel: Any, A_rel: Any) -> dict[str, Any]:
        result = _propagated(*(x.ravel().tolist() for x in (X, V, A, X_rel, V_rel, A_rel)))
        return {name: np.reshape(part, shape) for part, (name, shape) in zip(result, _SHAPES.items(), strict=True)}

    return compile(propagate_motion, X=(4, 4), V=6, A=6, X_rel=(4, 4), V_rel=6, A_rel=6)
