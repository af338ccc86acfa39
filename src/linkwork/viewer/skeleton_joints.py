"""Joints of the skeleton picture of a robot: frames and axes on both bodies, pins, and guides of sliders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.constraints import CurveCoupling, LoopJoint
from linkwork.joints import JointType
from linkwork.model import WORLD, Tree
from linkwork.shapes import Box, Cylinder, Shape, Sphere
from linkwork.spatial import Subspace

__all__ = [
    "SkeletonJoint",
    "along",
    "at_position",
    "axes_of",
    "cam_contour",
    "disc",
    "is_on_base",
    "mount",
    "pin",
    "point_on_body",
    "reach",
    "rod",
    "tree_joints",
]

_PIN = 1.7  # sizes relative to the radius of a bar: radius of a pin,
_BALL = 2.2  # radius of a ball joint,
_BLOCK = (4.0, 4.0, 7.0)  # slider, with its axis along z
_AXLE = (1.2, 8.0)  # radius and length of the pin of a link with shapes on the world,
_PLATE = 10.0  # sides of the plate at its end
_CAM = 120  # points of a cam's contour
_INNERMOST = 0.1  # smallest radius of a cam that is drawn, relative to its largest
_UPRIGHT = 0.7  # cosine of axis and vertical from which a hinge is upright


@dataclass(frozen=True)
class SkeletonJoint:
    """A joint of a skeleton: the pose (4, 4) of its frame on each of its two bodies, and its axes in this frame."""

    bodies: tuple[int, int]
    poses: tuple[np.ndarray, np.ndarray]
    axes: tuple[tuple[np.ndarray, np.ndarray, bool], ...]
    is_free: bool  # moves in all directions
    limits: tuple[float, float]  # of a slider [m]

    @property
    def is_slider(self) -> bool:
        return len(self.axes) == 1 and not self.axes[0][2]

    @property
    def is_hinge(self) -> bool:
        return len(self.axes) == 1 and self.axes[0][2]

    def placed_axis(self, side: int) -> np.ndarray:
        """Return the pose (4, 4) on one of the two bodies (``side``), at the joint with z along its first axis."""
        direction, point, _ = self.axes[0]
        X = self.poses[side]
        return along(X[:3, :3] @ direction, X[:3, :3] @ point + X[:3, 3])


def along(axis: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return a pose (4, 4) at a position with its z axis along a unit vector."""
    least = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(least, axis)
    x /= np.linalg.norm(x)
    result = np.eye(4)
    result[:3, :3] = np.stack([x, np.cross(axis, x), axis], axis=1)
    result[:3, 3] = position
    return result


def axes_of(S: Subspace) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
    """Yield for each column of a joint's motion subspace its axis: direction, a point [m], and True for a rotation."""
    for column in S.columns:
        w, v = np.array([*column.angular], dtype=float), np.array([*column.linear], dtype=float)
        direction = w if np.linalg.norm(w) > 1e-9 * np.linalg.norm(v) else v
        length = float(np.linalg.norm(direction))
        if length == 0.0:
            continue
        rotates = direction is w
        yield direction / length, np.cross(w, v) / length**2 if rotates else np.zeros(3), rotates


def tree_joints(tree: Tree) -> Iterator[SkeletonJoint]:
    """Yield the joints of the tree and the loop joints; points of other constraints count as ball joints."""
    for k, body in enumerate(tree.bodies):
        poses = body.placement.matrix(), body.rotor.inv().formed().matrix()
        S = body.call_joint("S", body.call_joint("zero"))
        yield _joint((body.parent, k), poses, body.joint, S, body.limits.positions)
    for constraint in tree.constraints:
        if isinstance(constraint, LoopJoint):
            f, m = tree.frame(constraint.relative_to), tree.frame(constraint.frame)
            poses, joint = (f.placement.matrix(), m.placement.matrix()), constraint.joint
            limits = constraint.lower, constraint.upper
            yield _joint((f.body, m.body), poses, joint, joint.S(joint.zero()), limits)
            continue
        for name in constraint.references.points:
            at, position = point_on_body(tree, name)
            X = at_position(position)
            yield SkeletonJoint((at, at), (X, X), (), False, (-np.inf, np.inf))


def point_on_body(tree: Tree, name: str) -> tuple[int, np.ndarray]:
    """Return the body of a point, and its position (3,) on it [m]."""
    point = tree.point(name)
    frame = tree.frame(point.frame)
    return frame.body, (frame.placement.matrix() @ [*point.position, 1.0])[:3]


def _joint(
    bodies: tuple[int, int],
    poses: tuple[np.ndarray, np.ndarray],
    joint: JointType,
    S: Subspace,
    limits: tuple[tuple[float, ...], tuple[float, ...]],
) -> SkeletonJoint:
    axes = tuple(axes_of(S)) if joint.has_fixed_subspaces and joint.nv <= 3 else ()
    is_free = joint.nv > 3 or sum(not rotates for *_, rotates in axes) > 1
    lower, upper = (x[0] if len(x) == 1 else sign * np.inf for x, sign in zip(limits, (-1.0, 1.0), strict=True))
    return SkeletonJoint(bodies, poses, axes, is_free, (lower, upper))


def at_position(position: Iterable[float]) -> np.ndarray:
    """Return the pose (4, 4) with a position and identity rotation."""
    result = np.eye(4)
    result[:3, 3] = [*position]
    return result


def pin(joint: SkeletonJoint, radius: float) -> Iterator[tuple[Shape, np.ndarray, int]]:
    """Yield the solids that represent a joint, each with its pose and the index (0 or 1) of its body."""
    rotations = [axis for axis in joint.axes if axis[2]]
    if joint.is_free:
        return
    if joint.is_slider:
        yield Box((_BLOCK[0] * radius, _BLOCK[1] * radius, _BLOCK[2] * radius)), joint.placed_axis(1), 1
    elif len(rotations) == 1 and joint.axes[0][2]:
        yield Cylinder(_PIN * radius, 2.0 * _PIN * radius), joint.placed_axis(0), 0
    else:
        yield Sphere(_BALL * radius), joint.poses[0], 0


def rod(start: np.ndarray, end: np.ndarray, radius: float) -> tuple[Shape, np.ndarray]:
    """Return a cylinder between two points (3,) and its pose [m]."""
    length = float(np.linalg.norm(end - start))
    return Cylinder(radius, length), along((end - start) / length, 0.5 * (start + end))


def disc(axle: np.ndarray, size: float, radius: float) -> Iterator[tuple[Shape, np.ndarray]]:
    """Yield a disc of radius ``size`` about the z axis of ``axle`` (4, 4), and its spokes; ``radius`` is theirs."""
    yield Cylinder(size, radius), axle
    for side in (axle[:3, 0], axle[:3, 1]):
        yield rod(axle[:3, 3] - 0.95 * size * side, axle[:3, 3] + 0.95 * size * side, radius)


def is_on_base(tree: Tree, joint: SkeletonJoint) -> bool:
    """Return True for a slider, or a hinge with a horizontal axis, between the world and a link with shapes."""
    if joint.bodies[0] != WORLD or not (joint.is_slider or joint.is_hinge):
        return False
    if not any(frame.visuals or frame.collisions for frame in tree.frames if frame.body == joint.bodies[1]):
        return False
    return joint.is_slider or abs(float(joint.placed_axis(0)[2, 2])) < _UPRIGHT


def mount(joint: SkeletonJoint, radius: float) -> Iterator[tuple[Shape, np.ndarray, bool]]:
    """Yield the pin and the plate of a hinge on the world: solid, pose, and True for the pin."""
    if joint.is_slider:
        return
    axle = joint.placed_axis(0)
    yield Cylinder(_AXLE[0] * radius, _AXLE[1] * radius), axle, True
    away = axle[:3, 2] if axle[0, 2] < axle[1, 2] else -axle[:3, 2]  # cameras of the front are at +x or at −y
    plate = along(away, axle[:3, 3] + 0.5 * _AXLE[1] * radius * away)
    yield Box((_PLATE * radius, _PLATE * radius, radius)), plate, False


def cam_contour(
    tree: Tree, joints: Sequence[SkeletonJoint], body: int, points: Callable[[int], tuple[np.ndarray, int]]
) -> np.ndarray | None:
    """Return the path (n, 3) [m] on a cam of its follower's tip during one turn; None if the body is not such a cam.

    The follower slides or turns on the link on which the cam turns. The tip of a slide is its origin, and that of a
    lever its first point that is not a joint: ``points`` returns those of a body, joints first, and the number of
    joints. The path is the contour for a follower with a knife edge, and the pitch curve for one with a roller.
    """
    for constraint in tree.constraints:
        if not isinstance(constraint, CurveCoupling) or tree.joint_index(constraint.b) != body:
            continue
        index = tree.joint_index(constraint.a)
        cam, follower = joints[body], joints[index]
        if not cam.is_hinge or cam.bodies[0] != follower.bodies[0]:
            continue
        angles = np.linspace(0.0, 2.0 * np.pi, _CAM + 1)
        lifts = np.array([float(constraint.curve(x)) for x in angles])
        if follower.is_slider:
            guide = follower.placed_axis(0)
            tips = guide[:3, 3] + lifts[:, None] * guide[:3, 2]
        elif follower.is_hinge:
            on_lever, count = points(index)
            if len(on_lever) == count:
                continue
            axis, pivot, _ = follower.axes[0]
            arm = (np.linalg.inv(follower.poses[1]) @ [*on_lever[count], 1.0])[:3] - pivot
            X = follower.poses[0]
            tips = (pivot + _turned(np.tile(arm, (len(lifts), 1)), axis, lifts)) @ X[:3, :3].T + X[:3, 3]
        else:
            continue
        hinge = np.linalg.inv(cam.poses[0])
        direction, center, _ = cam.axes[0]
        offsets = tips @ hinge[:3, :3].T + hinge[:3, 3] - center
        radial = offsets - (offsets @ direction)[:, None] * direction
        sizes = np.linalg.norm(radial, axis=1)
        if np.linalg.norm(tips[-1] - tips[0]) > 1e-6 * sizes.max() or sizes.min() < _INNERMOST * sizes.max():
            continue
        X = cam.poses[1]
        return np.asarray(((_turned(radial, direction, -angles) + center) @ X[:3, :3].T + X[:3, 3])[:-1])
    return None


def _turned(vectors: np.ndarray, axis: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return vectors (n, 3) turned about a unit axis by angles (n,) [rad]."""
    along_axis = (vectors @ axis)[:, None] * axis
    across = vectors - along_axis
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    result: np.ndarray = along_axis + c * across + s * np.cross(axis, across)
    return result


def reach(joint: SkeletonJoint, poses: np.ndarray, size: float, margin: float) -> tuple[float, float]:
    """Return the two ends of a slider's guide, as positions along its axis from the joint's frame [m].

    The guide extends beyond all positions and limits by ``margin`` times the robot's ``size`` [m].
    """
    X, Y = (np.eye(4) if k == WORLD else poses[:, k] for k in joint.bodies)
    start = X @ joint.placed_axis(0)
    moved = (Y @ joint.placed_axis(1))[..., :3, 3] - start[..., :3, 3]
    along_axis = (moved * start[..., :3, 2]).sum(axis=-1)
    low, high = float(along_axis.min(initial=0.0)), float(along_axis.max(initial=0.0))
    if joint.bodies[0] == WORLD:
        low, high = float(along_axis.min()), float(along_axis.max())
    lower, upper = (x if abs(x) <= 2.0 * size else y for x, y in zip(joint.limits, (low, high), strict=True))
    return min(low, lower) - margin * size, max(high, upper) + margin * size
