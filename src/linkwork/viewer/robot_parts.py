"""Parts of a robot in a scene document: visual and collision shapes, frames, joint axes, inertias, constraints.

Each part has a constant placement on its body, so all of them follow when joints move.  Rods follow points
of two bodies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork._util.file_search import FileSearch
from linkwork.model import WORLD, Body, Frame, Tree, compose
from linkwork.shapes import Cylinder, Geometry, Material, Sphere
from linkwork.spatial import Inertia
from linkwork.viewer.document import Color, Part, Surface
from linkwork.viewer.skeleton import inertia_box, lone_extent, skeleton, stems
from linkwork.viewer.skeleton_joints import along, axes_of, point_on_body, tree_joints
from linkwork.viewer.solid_and_field_surfaces import arrow_surface, axes_surface, ellipsoid_surface, rod_surface
from linkwork.viewer.surfaces import SurfaceSet, is_placeholder, shape_surface

__all__ = ["MissingFile", "robot_parts", "robot_size", "shape_parts", "skeleton_parts", "undrawn_content"]

_VISUAL: Color = (0.74, 0.76, 0.79, 1.0)  # without a material
_COLLISION: Color = (0.95, 0.55, 0.15, 0.4)
_ROTATION: Color = (0.13, 0.55, 0.70, 1.0)  # axis of a revolute joint
_TRANSLATION: Color = (0.62, 0.40, 0.72, 1.0)  # axis of a prismatic joint
_CENTER: Color = (0.95, 0.78, 0.15, 1.0)
_INERTIA: Color = (0.35, 0.65, 0.45, 0.45)
_CONSTRAINT: Color = (0.84, 0.20, 0.35, 1.0)
_SIZES = (1e-5, 20.0)  # [m] bounds of the size of a robot for the sizes of its markers
_POINT = 0.05  # [m] size of a robot whose frames are all at one point
_APART = 100.0  # distance of a robot from the world's origin, in its sizes, beyond which no rod connects them
_LIGHT = 1e-3  # mass of a link without shapes that is not drawn in a robot with shapes, relative to the robot's
_THINNEST = 0.004  # smallest radius of an inertia ellipsoid relative to the robot's size


@dataclass(frozen=True)
class MissingFile:
    """Placeholder of a mesh file that cannot be read: the file's name, its body, and its position on it (3,) [m]."""

    name: str
    body: int
    position: np.ndarray


def robot_size(tree: Tree, poses: np.ndarray) -> float:
    """Return the extent [m] of a robot's frames, points and shapes of known size, with bodies at ``poses`` (nb, 4, 4).

    Centres of mass count for links that have only a hinge. If all of these are at one point, discs and boxes of
    inertias count. Points and frames of the world without shapes do not count if the robot is far from them.
    """
    balls: list[tuple[np.ndarray, float, bool]] = []
    for frame in tree.frames:
        body = np.eye(4) if frame.body == WORLD else poses[frame.body]
        geometries = (*frame.visuals, *frame.collisions)
        is_empty = frame.body == WORLD and not geometries
        balls.append((_at(body, frame.placement.translation), 0.0, is_empty))
        for geometry in geometries:
            ball = geometry.shape.bounding_sphere
            if ball is not None:
                balls.append((_at(body, compose(frame.placement, geometry.origin).point(ball[0])), ball[1], False))
    for body, position in (point_on_body(tree, point.name) for point in tree.points):
        balls.append((_at(np.eye(4) if body == WORLD else poses[body], position), 0.0, body == WORLD))
    balls += [(_at(poses[k], end), 0.0, False) for k, (_, end, is_bob) in stems(tree).items() if is_bob]
    extent, of_bodies = _extent(balls), _extent([ball for ball in balls if not ball[2]])
    result = of_bodies if extent > _APART * max(of_bodies, _SIZES[0]) else extent
    if result <= _SIZES[0]:
        result = lone_extent(tree)
    return float(np.clip(result, *_SIZES)) if result > _SIZES[0] else _POINT


def _at(pose: np.ndarray, point: Iterable[float]) -> np.ndarray:
    result: np.ndarray = pose[:3, :3] @ [*point] + pose[:3, 3]
    return result


def _extent(balls: Sequence[tuple[np.ndarray, float, bool]]) -> float:
    """Return the longest side [m] of the bounding box of balls (centre, radius, ...); 0 without balls."""
    if not balls:
        return 0.0
    low = np.min([center - radius for center, radius, _ in balls], axis=0)
    high = np.max([center + radius for center, radius, _ in balls], axis=0)
    return float((high - low).max())


def robot_parts(
    tree: Tree,
    surfaces: SurfaceSet,
    search: FileSearch,
    size: float,
    *,
    poses: np.ndarray,
    color: Color | None = None,
    layers: Collection[str],
    frames: Collection[str] = (),
) -> tuple[tuple[Part, ...], tuple[MissingFile, ...]]:
    """Return the parts of a robot in the listed ``layers``, and the mesh files replaced by placeholders.

    ``search`` finds mesh files; ``size`` [m] is the extent of the robot, which scales its markers, and ``poses`` (k,
    nb, 4, 4) are the poses of its bodies in all pictures.  ``color`` replaces the colours of the visual shapes, and
    ``frames`` are the frames of the layer "frames", by default all.

    A robot without shapes, or with missing mesh files, has its skeleton: bars, pins, sliders and the ground.
    """
    parts, missing = shape_parts(tree, surfaces, search, color=color, layers=layers)
    parts += skeleton_parts(tree, surfaces, poses, color=color, is_incomplete=bool(missing))
    if "frames" in layers:
        parts += _frame_parts(tree, surfaces, size, frames)
    if "joint axes" in layers:
        parts += _axis_parts(tree, surfaces, size)
    if "center of mass" in layers or "inertia" in layers:
        parts += [part for part in _inertia_parts(tree, surfaces, size) if part.layer in layers]
    if "constraints" in layers:
        parts += _constraint_parts(tree, surfaces, size)
    return tuple(parts), tuple(missing)


# -- shapes


def undrawn_content(tree: Tree) -> list[str]:
    """Return messages about displayed content of the robot's file that the robot lacks, such as skins."""
    return [issue.message for issue in tree.report.warnings if issue.code == "NOT_DRAWN"]


def shape_parts(
    tree: Tree, surfaces: SurfaceSet, search: FileSearch, *, color: Color | None = None, layers: Collection[str] = ()
) -> tuple[list[Part], list[MissingFile]]:
    """Return a robot's visual shapes, its collision shapes if ``layers`` has "collision", and the missing mesh files.

    Collision shapes replace missing visual shapes: of attached objects, and of all links if the robot has no visual
    shapes, or if its file shows more than the robot has.
    """
    missing: list[MissingFile] = []
    parts = list(_shape_parts(tree, surfaces, search, "visual", color, missing))
    of_links = not parts or bool(undrawn_content(tree))
    bare = {frame.name for frame in tree.frames if not frame.visuals and (of_links or not frame.is_link)}
    if "collision" in layers or bare:
        collision = list(_shape_parts(tree, surfaces, search, "collision", color, missing if of_links else []))
        parts += [part for part in collision if part.link in bare]
        if "collision" in layers:
            for part in collision:
                is_missing = is_placeholder(surfaces.surfaces[part.surface])
                parts.append(replace(part, color=part.color if is_missing else _COLLISION, layer="collision"))
    return parts, missing


def _shape_parts(
    tree: Tree,
    surfaces: SurfaceSet,
    search: FileSearch,
    kind: str,
    color: Color | None,
    missing: list[MissingFile],
) -> Iterator[Part]:
    """Yield the visual or collision shapes (``kind``) as parts of the visual layer; see `shape_parts`."""
    for frame in tree.frames:
        for geometry in frame.visuals if kind == "visual" else frame.collisions:
            pose = compose(frame.placement, geometry.origin).matrix()
            for placed in surfaces.of_shape(geometry.shape, search):
                placement = pose @ placed.pose
                if placed.missing is not None:
                    missing.append(MissingFile(placed.missing, frame.body, placement[:3, 3]))
                    chosen = placed.color or _VISUAL
                else:
                    chosen = color or _color_of(geometry, placed.color)
                yield Part(placed.index, frame.body, placement, chosen, "visual", frame.name)


def _color_of(geometry: Geometry, of_file: Color | None) -> Color:
    """Return the colour of a shape: from the robot's file, else from the mesh file, else grey."""
    material: Material | None = geometry.material
    if material is not None and material.rgba is not None:
        return material.rgba
    return of_file or _VISUAL


def skeleton_parts(
    tree: Tree,
    surfaces: SurfaceSet,
    poses: np.ndarray,
    *,
    color: Color | None = None,
    is_incomplete: bool,
) -> Iterator[Part]:
    """Yield the skeleton of a robot, if it has no shapes, or of the bodies without shapes of a mechanism.

    Other robots with shapes get the `stems`, and links with a mass that slide or move freely. Robots whose base has no
    shapes have pins, supports and guides of their horizontal hinges and sliders on the world.

    ``poses`` (k, nb, 4, 4) are the poses of the bodies, and ``is_incomplete`` is True if shapes are missing.
    """
    with_shapes = {frame.body for frame in tree.frames if frame.visuals or frame.collisions}
    only = None if is_incomplete or not with_shapes else {*range(len(tree.bodies))} - with_shapes
    if only is not None and not tree.constraints:
        least = _LIGHT * sum(body.inertia.mass for body in tree.bodies)
        freely = {joint.bodies[1] for joint in tree_joints(tree) if joint.is_slider or joint.is_free}
        only = {k for k in only & freely if tree.bodies[k].inertia.mass > least}
    size = robot_size(tree, poses[0]) if len(poses) else 1.0
    has_base = WORLD in with_shapes or is_incomplete
    for solid in skeleton(tree, poses, size, color, only, has_base=has_base):
        shape, is_rod = solid.shape, solid.end is not None
        if isinstance(shape, Surface):
            surface: Surface | None = shape
        else:
            surface = rod_surface(shape.radius) if is_rod and isinstance(shape, Cylinder) else shape_surface(shape)
        assert surface is not None
        yield Part(surfaces.add(surface), solid.body, solid.placement, solid.color, "visual", solid.link, solid.end)


# -- frames, axes, inertias, constraints


def _frame_parts(tree: Tree, surfaces: SurfaceSet, size: float, names: Collection[str]) -> list[Part]:
    """Return the axes of the named frames, by default of all."""
    index = surfaces.add(axes_surface(0.08 * size))
    white = (1.0, 1.0, 1.0, 1.0)
    return [
        Part(index, f.body, f.placement.matrix(), white, "frames", f.name)
        for f in tree.frames
        if not names or f.name in names
    ]


def _axis_parts(tree: Tree, surfaces: SurfaceSet, size: float) -> list[Part]:
    """Return arrows along the axes of joints whose axes do not move in their bodies."""
    length = 0.16 * size
    index = surfaces.add(arrow_surface(length, 0.03 * length))
    parts = []
    for k, body in enumerate(tree.bodies):
        for direction, point, rotates in _axes(body):
            placement = along(direction, point - 0.5 * length * direction)
            color = _ROTATION if rotates else _TRANSLATION
            parts.append(Part(index, k, placement, color, "joint axes", body.joint_name))
    return parts


def _axes(body: Body) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
    """Yield each axis of a joint in the body's frame: direction, a point on it [m], and True for a rotation."""
    if body.joint.nv <= 3 and body.joint.has_fixed_subspaces:
        yield from axes_of(body.rotor.inv() @ body.call_joint("S", body.call_joint("zero")))


def _inertia_parts(tree: Tree, surfaces: SurfaceSet, size: float) -> Iterator[Part]:
    ball = shape_surface(Sphere(0.012 * size))
    assert ball is not None
    for frame in tree.frames:
        if not frame.inertia.mass > 0.0:
            continue
        pose, radii = _ellipsoid(frame.inertia, _THINNEST * size)
        placement = frame.placement.matrix() @ pose
        yield Part(surfaces.add(ball), frame.body, placement, _CENTER, "center of mass", frame.name)
        surface = surfaces.add(ellipsoid_surface(radii, 20, 5))
        yield Part(surface, frame.body, placement, _INERTIA, "inertia", frame.name)


def _ellipsoid(inertia: Inertia, least: float) -> tuple[np.ndarray, tuple[float, float, float]]:
    """Return the pose (4, 4) and the radii [m] of the uniform solid ellipsoid with this mass and inertia."""
    pose, sides = inertia_box(inertia)
    a, b, c = np.maximum(np.sqrt(2.5 / 6.0) * sides, least).tolist()
    return pose, (a, b, c)


def _constraint_parts(tree: Tree, surfaces: SurfaceSet, size: float) -> list[Part]:
    """Return balls at the frames and points to which constraints refer."""
    ball = shape_surface(Sphere(0.014 * size))
    assert ball is not None
    marked: dict[tuple[int, tuple[float, ...]], Part] = {}
    for constraint in tree.constraints:
        names = constraint.references
        marked_frames = [(tree.frame(name), np.zeros(3)) for name in names.frames]
        for name in names.points:
            point = tree.point(name)
            marked_frames.append((tree.frame(point.frame), np.array([*point.position], dtype=float)))
        for frame, position in marked_frames:
            if frame.name == "world" and not position.any():
                continue
            placement = _moved(frame, position)
            key = (frame.body, tuple(np.round(placement[:3, 3], 9).tolist()))
            part = Part(surfaces.add(ball), frame.body, placement, _CONSTRAINT, "constraints", constraint.name)
            marked.setdefault(key, part)
    return list(marked.values())


def _moved(frame: Frame, position: np.ndarray) -> np.ndarray:
    result = frame.placement.matrix()
    result = result.copy()
    result[:3, 3] += result[:3, :3] @ position
    return result
