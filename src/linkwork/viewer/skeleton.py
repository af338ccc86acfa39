"""Skeleton of a robot without shapes: bars between its joints, pins, sliders on guides, and the ground.

A link with one hinge and nothing else ends with a ball at its centre of mass.
Joints that close loops are drawn as those of the tree, so a mechanism shows its loops.  Constraints of distance are
rods between their points.  Bodies that roll have their wheels and balls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from linkwork.constraints import BallRolling, Distance, LoopJoint, Rolling, RollingContact
from linkwork.joints import JointType
from linkwork.model import WORLD, Tree, compose
from linkwork.shapes import Box, Cone, Cylinder, Polytope, Shape, Sphere
from linkwork.spatial import Subspace
from linkwork.viewer.document import Color

__all__ = ["SkeletonSolid", "along", "axes_of", "skeleton", "stems"]

_THICKNESS = 0.012  # radius of a bar, relative to the robot's size
_PIN = 1.7  # sizes relative to the radius of a bar: radius of a pin,
_BALL = 2.2  # radius of a ball joint,
_BOB = 3.0  # radius of the ball at a centre of mass,
_BLOCK = (4.0, 4.0, 7.0)  # slider, with its axis along z,
_GUIDE = 0.7  # radius of its guide,
_BASE = (3.2, 5.0)  # radius and height of a support of the ground
_MARGIN = 0.1  # of a guide beyond the slider's positions, relative to the robot's size
_FAR = 100.0  # distance of a base from the world's origin, in sizes, beyond which no rod connects them
_BARS: tuple[Color, ...] = (
    (0.30, 0.47, 0.68, 1.0),
    (0.85, 0.55, 0.20, 1.0),
    (0.35, 0.62, 0.45, 1.0),
    (0.68, 0.42, 0.62, 1.0),
    (0.45, 0.68, 0.78, 1.0),
    (0.72, 0.66, 0.35, 1.0),
)
_JOINT: Color = (0.28, 0.30, 0.33, 1.0)
_GROUND: Color = (0.58, 0.58, 0.58, 1.0)


@dataclass(frozen=True)
class SkeletonSolid:
    """A solid of the skeleton: its shape, its body or -1 for the world, and its pose (4, 4) on it [m]."""

    shape: Shape
    body: int
    placement: np.ndarray
    color: Color
    link: str
    end: tuple[int, np.ndarray] | None = None
    """Body and point (3,) on it [m] at which a rod of length 1 ends that is stretched; see `Part`."""


@dataclass(frozen=True)
class _Joint:
    """A joint between two bodies: the pose (4, 4) of the joint's frame on each body, and the axes in this frame."""

    bodies: tuple[int, int]
    poses: tuple[np.ndarray, np.ndarray]
    axes: tuple[tuple[np.ndarray, np.ndarray, bool], ...]
    is_free: bool  # moves in all directions
    limits: tuple[float, float]  # of a slider [m]

    @property
    def is_slider(self) -> bool:
        return len(self.axes) == 1 and not self.axes[0][2]

    def placed_axis(self, side: int) -> np.ndarray:
        """Return a pose (4, 4) at the joint on one body, with z along the first axis."""
        direction, point, _ = self.axes[0]
        X = self.poses[side]
        return along(X[:3, :3] @ direction, X[:3, :3] @ point + X[:3, 3])


def skeleton(
    tree: Tree, poses: np.ndarray, size: float, color: Color | None = None, only: Iterable[int] | None = None
) -> Iterator[SkeletonSolid]:
    """Yield the solids of the skeleton of a robot of this ``size`` [m].

    ``poses`` (k, nb, 4, 4) are those of the bodies in all pictures: a guide is as long as its slider moves in them.
    ``color`` replaces all colours.  ``only`` are the bodies to draw, for example those without shapes of a mechanism;
    of these, bodies with all joints at one point are left out.  Rods of constraints and `stems` are always drawn.
    """
    radius = _THICKNESS * size
    joints = list(_joints(tree))
    chosen = set(range(-1, len(tree.bodies)) if only is None else only)
    without_shapes = chosen
    names = {k: body.name for k, body in enumerate(tree.bodies)} | {WORLD: tree.frames[0].name if tree.frames else ""}
    points = {k: _points(tree, joints, k, radius) for k in chosen}
    if only is not None:
        sliders = {joint.bodies[1] for joint in joints if joint.is_slider}
        chosen = {k for k in chosen if k in sliders or len(points[k][0]) > 1}

    def solid(shape: Shape, placement: np.ndarray, body: int, default: Color) -> SkeletonSolid:
        return SkeletonSolid(shape, body, placement, color or default, names[body])

    for k in sorted(chosen - {WORLD}):
        for shape, placement in _bar(*points[k], radius):
            yield solid(shape, placement, k, _BARS[k % len(_BARS)])
    hung = stems(tree)
    for k, (start, end, is_bob) in hung.items():
        bar = _BARS[k % len(_BARS)]
        yield solid(*_rod(start, end, radius), k, bar)
        if is_bob:
            yield solid(Sphere(_BOB * radius), _at(end), k, bar)
    for joint in joints:
        if only is None or chosen.intersection(joint.bodies) or joint.bodies[1] in hung:
            for shape, placement, side in _pin(joint, radius):
                yield solid(shape, placement, joint.bodies[side], _JOINT)
        if joint.is_slider and joint.bodies[1] in chosen:
            body = joint.bodies[0]
            low, high = _reach(joint, poses, size)
            placement = joint.placed_axis(0)
            ends = [placement[:3, 3] + x * placement[:3, 2] for x in (low, high)]
            yield solid(*_rod(ends[0], ends[1], _GUIDE * radius), body, _GROUND)
            for end in ends if body == WORLD else ():
                yield solid(Box((4.0 * radius,) * 3), along(placement[:3, 2], end), body, _GROUND)
    for body, shape, placement in _wheels(tree, radius):
        if body in without_shapes:
            yield solid(shape, placement, body, _BARS[body % len(_BARS)])
    for k, (name, first, placement, second) in enumerate(_rods(tree, poses[0])):
        bar = color or _BARS[(len(tree.bodies) + k) % len(_BARS)]
        yield SkeletonSolid(Cylinder(radius, 1.0), first, placement, bar, name, second)
    if WORLD in chosen:
        for shape, placement in _ground(joints, radius, size):
            yield solid(shape, placement, WORLD, _GROUND)


def stems(tree: Tree) -> dict[int, tuple[np.ndarray, np.ndarray, bool]]:
    """Return both ends (3,) [m] of rods from a hinge to what its body carries away from it, by body.

    For a body with one hinge and no other point, frame or shape this is the centre of mass, and the last value is
    True.  For a body with shapes it is the nearest shape, if the hinge is more than the shape's size away, and the
    other link has no shapes.
    """
    result = {}
    joints = list(_joints(tree))
    rolling = {body for body, *_ in _wheels(tree, 1.0)}
    shaped = {frame.body for frame in tree.frames if frame.visuals or frame.collisions}
    for k, joint in enumerate(joints[: len(tree.bodies)]):
        inertia = tree.bodies[k].inertia
        if not joint.axes or joint.is_slider or joint.is_free or k in rolling:
            continue
        hinge = joint.poses[1][:3, 3]
        geometries = [(f, g) for f in tree.frames if f.body == k for g in (*f.visuals, *f.collisions)]
        if geometries:
            balls = [(compose(f.placement, g.origin), g.shape.bounding_sphere) for f, g in geometries]
            known = [(np.array([*X.point(ball[0])], dtype=float), ball[1]) for X, ball in balls if ball is not None]
            apart = [float(np.linalg.norm(center - hinge)) - size for center, size in known]
            nearest = int(np.argmin(apart)) if len(known) == len(balls) else -1
            if nearest >= 0 and joint.bodies[0] not in shaped and apart[nearest] > known[nearest][1]:
                result[k] = hinge, known[nearest][0], False
        elif isinstance(inertia.mass, float) and inertia.mass > 0.0 and len(_points(tree, joints, k, 0.0)[0]) < 2:
            center = np.array([*inertia.moment], dtype=float) / inertia.mass
            if (center != hinge).any():
                result[k] = hinge, center, True
    return result


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
    """Yield direction, point [m] and True for a rotation of each column of a joint's motion subspace."""
    for column in S.columns:
        w, v = np.array([*column.angular], dtype=float), np.array([*column.linear], dtype=float)
        direction = w if np.linalg.norm(w) > 1e-9 * np.linalg.norm(v) else v
        length = float(np.linalg.norm(direction))
        if length == 0.0:
            continue
        rotates = direction is w
        yield direction / length, np.cross(w, v) / length**2 if rotates else np.zeros(3), rotates


# -- joints


def _joints(tree: Tree) -> Iterator[_Joint]:
    """Yield the joints of the tree and those that close loops; points of other constraints are ball joints."""
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
            at, position = _point_on_body(tree, name)
            X = _at(position)
            yield _Joint((at, at), (X, X), (), False, (-np.inf, np.inf))


def _point_on_body(tree: Tree, name: str) -> tuple[int, np.ndarray]:
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
) -> _Joint:
    axes = tuple(axes_of(S)) if joint.has_fixed_subspaces and joint.nv <= 3 else ()
    is_free = joint.nv > 3 or sum(not rotates for *_, rotates in axes) > 1
    lower, upper = (x[0] if len(x) == 1 else sign * np.inf for x, sign in zip(limits, (-1.0, 1.0), strict=True))
    return _Joint(bodies, poses, axes, is_free, (lower, upper))


def _at(position: Iterable[float]) -> np.ndarray:
    result = np.eye(4)
    result[:3, 3] = [*position]
    return result


def _pin(joint: _Joint, radius: float) -> Iterator[tuple[Shape, np.ndarray, int]]:
    """Yield the solids of a joint, each with its pose and the side (0 or 1) of the body that carries it."""
    rotations = [axis for axis in joint.axes if axis[2]]
    if joint.is_free:
        return
    if joint.is_slider:
        yield Box((_BLOCK[0] * radius, _BLOCK[1] * radius, _BLOCK[2] * radius)), joint.placed_axis(1), 1
    elif len(rotations) == 1 and joint.axes[0][2]:
        yield Cylinder(_PIN * radius, 2.0 * _PIN * radius), joint.placed_axis(0), 0
    else:
        yield Sphere(_BALL * radius), joint.poses[0], 0


def _reach(joint: _Joint, poses: np.ndarray, size: float) -> tuple[float, float]:
    """Return both ends of a slider's guide on its axis, from the joint's frame [m]."""
    X, Y = (np.eye(4) if k == WORLD else poses[:, k] for k in joint.bodies)
    start = X @ joint.placed_axis(0)
    moved = (Y @ joint.placed_axis(1))[..., :3, 3] - start[..., :3, 3]
    along_axis = (moved * start[..., :3, 2]).sum(axis=-1)
    low, high = float(along_axis.min(initial=0.0)), float(along_axis.max(initial=0.0))
    if joint.bodies[0] == WORLD:
        low, high = float(along_axis.min()), float(along_axis.max())
    lower, upper = (x if abs(x) <= 2.0 * size else y for x, y in zip(joint.limits, (low, high), strict=True))
    return min(low, lower) - _MARGIN * size, max(high, upper) + _MARGIN * size


# -- bodies


def _points(tree: Tree, joints: Iterable[_Joint], body: int, radius: float) -> tuple[np.ndarray, int]:
    """Return points (n, 3) on a body that its bars connect, joints first, and the number of joints.

    Joints are followed by frames and points that are elsewhere: the ends of a chain, coupler points and the like.
    """
    ends = [
        X[:3, 3]
        for joint in joints
        for k, X in zip(joint.bodies, joint.poses, strict=True)
        if k == body and not joint.is_free
    ]
    at_joints = _apart(ends, radius)
    further = [np.array([*f.placement.translation], dtype=float) for f in tree.frames if f.body == body]
    if len(at_joints) > 1:
        further = [x for x in further if x.any()]  # the frame of a body need not be on it
    further += [x for k, x in (_point_on_body(tree, point.name) for point in tree.points) if k == body]
    return np.array(_apart([*at_joints, *further], radius)).reshape(-1, 3), len(at_joints)


def _apart(points: Iterable[np.ndarray], radius: float) -> list[np.ndarray]:
    """Return the points without those at earlier ones."""
    result: list[np.ndarray] = []
    for point in points:
        if all(np.linalg.norm(point - earlier) > radius for earlier in result):
            result.append(point)
    return result


def _bar(points: np.ndarray, joints: int, radius: float) -> Iterator[tuple[Shape, np.ndarray]]:
    """Yield the solids of a body: a rod, a plate through points in a plane, or a star of rods."""
    if len(points) < 2:
        return
    middle = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - middle)
    local = (points - middle) @ axes.T
    apart = np.abs(local).max(axis=0)
    if apart[1] < 2.0 * radius and apart[2] < 2.0 * radius:
        order = np.argsort(local[:, 0])
        yield _rod(points[order[0]], points[order[-1]], radius)
    elif apart[2] < 2.0 * radius:
        half = 0.6 * radius * axes[2]
        yield Polytope(np.concatenate([points - half, points + half]).tolist()), np.eye(4)
    else:
        start = points[0] if joints else middle
        for end in points:
            if np.linalg.norm(end - start) > radius:
                yield _rod(start, end, radius)


def _rod(start: np.ndarray, end: np.ndarray, radius: float) -> tuple[Shape, np.ndarray]:
    length = float(np.linalg.norm(end - start))
    return Cylinder(radius, length), along((end - start) / length, 0.5 * (start + end))


def _rods(tree: Tree, poses: np.ndarray) -> Iterator[tuple[str, int, np.ndarray, tuple[int, np.ndarray]]]:
    """Yield name, body, pose (4, 4) on it and the second end of each rod; it is along z for ``poses`` (nb, 4, 4)."""
    X = np.concatenate([poses, np.eye(4)[None]])  # index -1 is the world
    for constraint in tree.constraints:
        if isinstance(constraint, Distance):
            body, start = _point_on_body(tree, constraint.a)
            end = _point_on_body(tree, constraint.b)
            vector = X[body, :3, :3].T @ (X[end[0]] @ [*end[1], 1.0] - X[body] @ [*start, 1.0])[:3]
            length = float(np.linalg.norm(vector))
            direction = vector / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
            yield constraint.name, body, along(direction, start), end


def _wheels(tree: Tree, radius: float) -> Iterator[tuple[int, Shape, np.ndarray]]:
    """Yield body, solid and pose of each wheel and ball that rolls; spokes show how a wheel turns."""
    drawn = set()
    for constraint in tree.constraints:
        if isinstance(constraint, BallRolling):
            frame, axis = tree.frame(constraint.ball), None
        elif isinstance(constraint, Rolling | RollingContact):
            frame, axis = tree.frame(constraint.wheel), constraint.axis
        else:
            continue
        if frame.name in drawn:  # rolling and contact of one wheel
            continue
        drawn.add(frame.name)
        X, size = frame.placement.matrix(), constraint.radius
        if axis is None:
            yield frame.body, Sphere(size), X
            continue
        axle = along(X[:3, :3] @ np.array([*axis], dtype=float), X[:3, 3])
        yield frame.body, Cylinder(size, min(radius, 0.2 * size)), axle
        for side in (axle[:3, 0], axle[:3, 1]):
            ends = X[:3, 3] - 0.95 * size * side, X[:3, 3] + 0.95 * size * side
            yield frame.body, *_rod(*ends, min(radius, 0.2 * size))


def _ground(joints: Iterable[_Joint], radius: float, size: float) -> Iterator[tuple[Shape, np.ndarray]]:
    """Yield supports of the joints on the world; a single joint above the origin has a rod to it."""
    ends = [
        (joint, X[:3, 3], side)
        for joint in joints
        if not joint.is_free and not joint.is_slider
        for side, (k, X) in enumerate(zip(joint.bodies, joint.poses, strict=True))
        if k == WORLD
    ]
    feet = _apart((point for _, point, _ in ends), radius)
    if len(feet) == 1 and ends[0][0].axes:
        foot, axis = feet[0], ends[0][0].placed_axis(ends[0][2])[:3, 2]
        height = float(np.linalg.norm(foot))
        if radius < height <= _FAR * size and np.linalg.norm(np.cross(axis, foot)) < radius:
            yield _rod(np.zeros(3), foot, radius)
            feet = [np.zeros(3)]
    width, height = (x * radius for x in _BASE)
    for foot in feet:
        yield Cone(width, height), _at(foot - [0.0, 0.0, 0.5 * height])
        yield Box((3.0 * width, 3.0 * width, 0.6 * radius)), _at(foot - [0.0, 0.0, height])
