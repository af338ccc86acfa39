"""Skeleton of a robot without shapes: bars between its joints, pins, sliders on guides, and the ground.

A link with one hinge or slider and nothing else ends with a ball at its centre of mass.  If this is on the hinge, the
link is a disc, and the disc of a cam has its contour.  A link that moves freely is the box of its inertia. Joints that
close loops are drawn like joints of the tree, so a mechanism shows its loops.  Constraints of distance are rods between
their points.  Bodies that roll have their wheels and balls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.constraints import BallRolling, Distance, Rolling, RollingContact
from linkwork.force_elements import SpringDamper
from linkwork.model import WORLD, Tree, compose
from linkwork.shapes import Box, Cone, Cylinder, Polytope, Shape, Sphere
from linkwork.spatial import Inertia
from linkwork.viewer.document import Color, Surface
from linkwork.viewer.skeleton_joints import (
    SkeletonJoint,
    along,
    at_position,
    cam_contour,
    disc,
    is_on_base,
    mount,
    pin,
    point_on_body,
    reach,
    rod,
    tree_joints,
)
from linkwork.viewer.solid_and_field_surfaces import coil_surface, prism_surface

__all__ = ["SkeletonSolid", "inertia_box", "link_color", "lone_extent", "skeleton", "stems"]

_THICKNESS = 0.012  # radius of a bar, relative to the robot's size
_BOB = 3.0  # sizes relative to the radius of a bar: radius of the ball at a centre of mass,
_THIN = 0.6  # radius of a damper,
_GUIDE = 0.7  # radius of a slider's guide,
_BASE = (3.2, 5.0)  # radius and height of a support of the ground,
_DISC = (4.0, 8.0)  # smallest radius of a disc, and that of one without mass
_MARGIN, _RAIL = 0.1, 0.5  # guide beyond the positions of a slider without limits, and of one with shapes
_LARGEST = 0.5  # radius of a disc, and sides of the box of an inertia, relative to the robot's size
_ON_AXIS = 1e-6  # distance of a centre of mass on a hinge, relative to the gyration radius
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
_SPRING: Color = (0.84, 0.37, 0.0, 1.0)
_GROUND: Color = (0.58, 0.58, 0.58, 1.0)


@dataclass(frozen=True)
class SkeletonSolid:
    """Solid of a skeleton: its shape, the index of its body (−1: the world), and its pose (4, 4) on the body [m]."""

    shape: Shape | Surface
    body: int
    placement: np.ndarray
    color: Color
    link: str
    end: tuple[int, np.ndarray] | None = None
    """Body and point (3,) on it [m] at which a rod of length 1 ends that is stretched; see `Part`."""


def skeleton(
    tree: Tree,
    poses: np.ndarray,
    size: float,
    color: Color | None = None,
    only: Iterable[int] | None = None,
    *,
    has_base: bool = True,
) -> Iterator[SkeletonSolid]:
    """Yield the solids of a robot's skeleton; ``size`` [m] is the extent of the robot.

    ``poses`` (k, nb, 4, 4) are the poses of the bodies in all pictures; they determine the length of guides. ``color``
    replaces all colours. ``only`` are the bodies to draw, for example those without shapes of a mechanism; of these,
    bodies without a bar, a slider or a solid of their inertia are left out. Rods of constraints and `stems` are always
    drawn. With ``only``, and unless the robot ``has_base``, hinges with a horizontal axis and sliders on the world
    have pins, supports and guides.
    """
    radius = _THICKNESS * size
    joints = list(tree_joints(tree))
    chosen = set(range(-1, len(tree.bodies)) if only is None else only)
    without_shapes = chosen
    names = {k: body.name for k, body in enumerate(tree.bodies)} | {WORLD: tree.frames[0].name if tree.frames else ""}
    points = {k: _points(tree, joints, k, radius) for k in chosen}
    hung = stems(tree)
    wheels = list(_wheels(tree, radius))
    barless = {k for k in chosen if len(points[k][0]) < 2} - {WORLD, *(body for body, *_ in wheels)}
    alone = {k: list(_lone_solids(tree, joints, k, radius, size)) for k in barless}
    if only is not None:
        sliders = {joint.bodies[1] for joint in joints if joint.is_slider}
        chosen = {k for k in chosen if k in sliders or len(points[k][0]) > 1 or alone.get(k)}

    based: list[SkeletonJoint] = []
    if only is not None and not has_base:
        based = [joint for joint in joints if joint.bodies[1] not in hung and is_on_base(tree, joint)]

    def solid(shape: Shape | Surface, placement: np.ndarray, body: int, default: Color) -> SkeletonSolid:
        return SkeletonSolid(shape, body, placement, color or default, names[body])

    for k in sorted(chosen - {WORLD}):
        for shape, placement in _bar(*points[k], radius):
            yield solid(shape, placement, k, link_color(k))
        for lone, placement in alone.get(k, ()):
            yield solid(lone, placement, k, link_color(k))
    for k, (start, end, is_bob) in hung.items():
        bar = link_color(k)
        yield solid(*rod(start, end, radius), k, bar)
        if is_bob and not alone.get(k):
            yield solid(Sphere(_BOB * radius), at_position(end), k, bar)
    for joint in joints:
        if only is None or chosen.intersection(joint.bodies) or joint.bodies[1] in hung:
            for shape, placement, side in pin(joint, radius):
                yield solid(shape, placement, joint.bodies[side], _JOINT)
        if joint.is_slider and (joint.bodies[1] in chosen or joint in based):
            body = joint.bodies[0]
            low, high = reach(joint, poses, size, _RAIL if joint in based else _MARGIN)
            placement = joint.placed_axis(0)
            ends = [placement[:3, 3] + x * placement[:3, 2] for x in (low, high)]
            yield solid(*rod(ends[0], ends[1], _GUIDE * radius), body, _GROUND)
            for end in ends if body == WORLD else ():
                yield solid(Box((4.0 * radius,) * 3), along(placement[:3, 2], end), body, _GROUND)
    for body, shape, placement in wheels:
        if body in without_shapes:
            yield solid(shape, placement, body, link_color(body))
    for k, (rod_or_spring, first, placement, second, length) in enumerate(_rods(tree, poses[0])):
        bar = color or link_color(len(tree.bodies) + k)
        surface: Shape | Surface = Cylinder(radius, 1.0)
        if isinstance(rod_or_spring, SpringDamper):
            bar = color or _SPRING
            surface = coil_surface(radius, length) if rod_or_spring.stiffness else Cylinder(_THIN * radius, 1.0)
        yield SkeletonSolid(surface, first, placement, bar, rod_or_spring.name, second)
    if WORLD in chosen:
        for shape, placement in _ground(joints, radius, size):
            yield solid(shape, placement, WORLD, _GROUND)
    for joint in based:
        for shape, placement, is_pin in mount(joint, radius):
            yield solid(shape, placement, WORLD, _JOINT if is_pin else _GROUND)


def link_color(body: int) -> Color:
    """Return the colour of a body's bars; grey for the world."""
    return _GROUND if body == WORLD else _BARS[body % len(_BARS)]


def stems(tree: Tree) -> dict[int, tuple[np.ndarray, np.ndarray, bool]]:
    """Return the ends (3,) [m] of a rod on each body that would look detached, from its joint to its content.

    For a body with one hinge or slider and no other point, frame or shape the rod ends at the centre of mass, and the
    third value is True. For a body with shapes it ends at the nearest shape, if the hinge is more than the shape's
    size away, and the other link has no shapes.
    """
    result = {}
    joints = list(tree_joints(tree))
    rolling = {body for body, *_ in _wheels(tree, 1.0)}
    shaped = {frame.body for frame in tree.frames if frame.visuals or frame.collisions}
    for k, joint in enumerate(joints[: len(tree.bodies)]):
        inertia = tree.bodies[k].inertia
        if not joint.axes or joint.is_free or k in rolling:
            continue
        hinge = joint.poses[1][:3, 3]
        geometries = [(f, g) for f in tree.frames if f.body == k for g in (*f.visuals, *f.collisions)]
        if geometries and joint.is_slider:
            continue
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


# -- bodies


def _points(tree: Tree, joints: Iterable[SkeletonJoint], body: int, radius: float) -> tuple[np.ndarray, int]:
    """Return the points (n, 3) on a body that bars connect, and how many of them, listed first, are joints.

    Joints are followed by other frames and points: the end of a chain, coupler points and the like.
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
    further += [x for k, x in (point_on_body(tree, point.name) for point in tree.points) if k == body]
    return np.array(_apart([*at_joints, *further], radius)).reshape(-1, 3), len(at_joints)


def _apart(points: Iterable[np.ndarray], radius: float) -> list[np.ndarray]:
    """Return the points without those within ``radius`` of an earlier one."""
    result: list[np.ndarray] = []
    for point in points:
        if all(np.linalg.norm(point - earlier) > radius for earlier in result):
            result.append(point)
    return result


def _bar(points: np.ndarray, joints: int, radius: float) -> Iterator[tuple[Shape, np.ndarray]]:
    """Yield the solids that connect the points of a body: a rod, a plate for points in a plane, or a star of rods."""
    if len(points) < 2:
        return
    middle = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - middle)
    local = (points - middle) @ axes.T
    apart = np.abs(local).max(axis=0)
    if np.linalg.norm(local[:, 1:], axis=1).max() < radius:
        order = np.argsort(local[:, 0])
        yield rod(points[order[0]], points[order[-1]], radius)
    elif apart[2] < 2.0 * radius:
        half = 0.6 * radius * axes[2]
        yield Polytope(np.concatenate([points - half, points + half]).tolist()), np.eye(4)
    else:
        start = points[0] if joints else middle
        for end in points:
            if np.linalg.norm(end - start) > radius:
                yield rod(start, end, radius)


def _rods(
    tree: Tree, poses: np.ndarray
) -> Iterator[tuple[Distance | SpringDamper, int, np.ndarray, tuple[int, np.ndarray], float]]:
    """Yield each rod or spring, its body, pose (4, 4) on it, second end and length [m].

    The rod is along the z axis of its pose, for ``poses`` (nb, 4, 4) of the bodies.
    """
    X = np.concatenate([poses, np.eye(4)[None]])  # index -1 is the world
    for joined in (*tree.constraints, *tree.force_elements):
        if isinstance(joined, Distance | SpringDamper):
            body, start = point_on_body(tree, joined.a)
            end = point_on_body(tree, joined.b)
            vector = X[body, :3, :3].T @ (X[end[0]] @ [*end[1], 1.0] - X[body] @ [*start, 1.0])[:3]
            length = float(np.linalg.norm(vector))
            direction = vector / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
            yield joined, body, along(direction, start), end, length


def _wheels(tree: Tree, radius: float) -> Iterator[tuple[int, Shape, np.ndarray]]:
    """Yield the body, the solid and the pose of each rolling wheel and ball; spokes show their rotation."""
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
        for shape, placement in disc(axle, size, min(radius, 0.2 * size)):
            yield frame.body, shape, placement


def inertia_box(inertia: Inertia) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose (4, 4) and the sides (3,) [m] of the uniform box with this mass and inertia."""
    mass = float(inertia.mass)
    center = np.array([*inertia.moment], dtype=float) / mass
    J = inertia.about
    about = np.array([[J.xx, J.xy, J.xz], [J.xy, J.yy, J.yz], [J.xz, J.yz, J.zz]], dtype=float)
    about -= mass * (center @ center * np.eye(3) - np.outer(center, center))
    moments, axes = np.linalg.eigh(about)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    pose = at_position(center)
    pose[:3, :3] = axes
    return pose, np.sqrt(np.maximum(6.0 / mass * (moments.sum() - 2.0 * moments), 0.0))


def _has_mass(tree: Tree, body: int) -> bool:
    mass = tree.bodies[body].inertia.mass
    return isinstance(mass, float) and mass > 0.0


def _disc_radius(tree: Tree, body: int, joint: SkeletonJoint) -> float | None:
    """Return the radius [m] of the uniform disc with a body's mass and inertia about its hinge, or None.

    It is None if no disc has this inertia, and 0 for a body without mass whose joint a constraint couples with
    another.
    """
    if not joint.is_hinge:
        return None
    if not _has_mass(tree, body):
        name = tree.bodies[body].joint_name
        return 0.0 if any(name in constraint.references.joints for constraint in tree.constraints) else None
    inertia, axle = tree.bodies[body].inertia, joint.placed_axis(1)
    pose, sides = inertia_box(inertia)
    squares = (sides**2).sum() - sides**2  # 12 times those of the gyration radii about the axes of the box
    radius = float(np.sqrt((squares / 6.0) @ (pose[:3, :3].T @ axle[:3, 2]) ** 2))
    apart = float(np.linalg.norm(np.cross(pose[:3, 3] - axle[:3, 3], axle[:3, 2])))
    return radius if apart <= _ON_AXIS * radius else None


def lone_extent(tree: Tree) -> float:
    """Return the largest extent [m] of the discs and boxes of bodies that have no bar; 0 without such a body."""
    joints = list(tree_joints(tree))
    result = 0.0
    for k, joint in enumerate(joints[: len(tree.bodies)]):
        if len(_points(tree, joints, k, 0.0)[0]) > 1:
            continue
        radius = _disc_radius(tree, k, joint)
        if radius is not None:
            result = max(result, 2.0 * radius)
        elif _has_mass(tree, k) and not joint.is_slider:
            result = max(result, float(inertia_box(tree.bodies[k].inertia)[1].max()))
    return result


def _lone_solids(
    tree: Tree, joints: Sequence[SkeletonJoint], body: int, radius: float, size: float
) -> Iterator[tuple[Shape | Surface, np.ndarray]]:
    """Yield the solids of a body that no bar connects: the contour of a cam, a disc, or a box with its inertia."""
    joint = joints[body]
    contour = cam_contour(tree, joints, body, lambda k: _points(tree, joints, k, radius))
    if contour is not None:
        axle = joint.placed_axis(1)
        yield prism_surface(contour, axle[:3, 3], 0.6 * radius * axle[:3, 2]), np.eye(4)
        return
    size_of_disc = _disc_radius(tree, body, joint)
    if size_of_disc is not None:
        size_of_disc = float(np.clip(size_of_disc or _DISC[1] * radius, _DISC[0] * radius, _LARGEST * size))
        axle, inertia = joint.placed_axis(1), tree.bodies[body].inertia
        if _has_mass(tree, body):
            axle[:3, 3] = np.array([*inertia.moment], dtype=float) / inertia.mass
        yield from disc(axle, size_of_disc, radius)
    elif _has_mass(tree, body) and (joint.is_free or not joint.axes or len(joint.axes) > 1):
        pose, sides = inertia_box(tree.bodies[body].inertia)
        if not sides.any():
            yield Sphere(_BOB * radius), pose
            return
        x, y, z = np.clip(sides, 2.0 * radius, max(2.0 * _LARGEST * size, 2.0 * radius)).tolist()
        yield Box((x, y, z)), pose


def _ground(joints: Iterable[SkeletonJoint], radius: float, size: float) -> Iterator[tuple[Shape, np.ndarray]]:
    """Yield supports of the joints on the world; a single joint above the origin gets a rod from the origin."""
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
            yield rod(np.zeros(3), foot, radius)
            feet = [np.zeros(3)]
    width, height = (x * radius for x in _BASE)
    for foot in feet:
        yield Cone(width, height), at_position(foot - [0.0, 0.0, 0.5 * height])
        yield Box((3.0 * width, 3.0 * width, 0.6 * radius)), at_position(foot - [0.0, 0.0, height])
