"""Shapes of USD's geometric prims: solids, half-spaces, and the convex hulls of meshes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork._util.color_spaces import LinearColors, srgb_from_linear
from linkwork._util.messages import quoted
from linkwork.formats.usd.prim_transforms import nearest_rotation, pose_of
from linkwork.formats.usd.prim_values import PrimReader
from linkwork.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    HalfSpace,
    Material,
    Polytope,
    Shape,
    Sphere,
)
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["SHAPES", "appearance", "physics_material", "read_shape"]

_EQUAL = 1e-6  # relative difference of scales that count as equal
_PERPENDICULAR = 1e-5  # cosine of two axes that count as perpendicular
_MAX_POINTS = 5_000_000  # of a mesh
_APPROXIMATIONS = ("none", "convexDecomposition", "convexHull", "boundingSphere", "boundingCube", "meshSimplification")
_CYCLES = {"X": (1, 2, 0), "Y": (2, 0, 1), "Z": (0, 1, 2)}  # axes of the prim that are x, y and z of a shape along z


def read_shape(reader: PrimReader, prim: Any, matrix: np.ndarray, *, collides: bool) -> Geometry | None:
    """Return the shape of a geometric prim; None, after a warning or an error, if linkwork has no such shape.

    ``matrix`` (4, 4) transforms the prim's coordinates to its link's coordinates [m].  ``collides`` is True for a
    collision shape; the shape of a collision mesh is its convex hull.
    """
    kind = str(prim.GetTypeName())
    if not reader.is_sound_transform(prim, "the transform of the shape", matrix):
        return None
    if abs(np.linalg.norm(matrix[:3, :3], axis=0)).min() == 0.0:
        reader.error(prim, "SCALE", "a scale of the shape is zero")
        return None
    if kind == "Mesh" and not collides:
        reader.once(prim, "NOT_DRAWN", "visual meshes are not read: links have the shapes and the hulls of colliders")
        return None
    read = SHAPES.get(kind)
    if read is None:
        if collides:
            reader.warn(
                prim, "UNSUPPORTED", f"a collision shape of type {quoted(kind)} is not supported: it is left out"
            )
        else:
            reader.once(prim, "NOT_DRAWN", f"visual shapes of type {quoted(kind)} are not read")
        return None
    errors = len(reader.findings.errors)
    try:
        shape, origin = read(reader, prim, matrix)
    except ValueError as error:
        if len(reader.findings.errors) == errors:
            reader.error(prim, "GEOM_SIZE", str(error))
        return None
    if len(reader.findings.errors) > errors or shape is None:
        return None
    name = str(prim.GetName())
    if collides:
        return Geometry(shape, origin, name, friction=_friction(reader, prim))
    return Geometry(shape, origin, name, appearance(reader, prim))


def physics_material(prim: Any) -> Any:
    """Return the prim of the physics material that is bound to a collider, or None."""
    from pxr import UsdShade

    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    return material.GetPrim() if material else None


def _friction(reader: PrimReader, prim: Any) -> float | None:
    """Return the coefficient of dynamic friction of a collider, or None."""
    material = physics_material(prim)
    if material is None or reader.value(material, "physics:dynamicFriction") is None:
        return None
    return reader.at_least_zero(material, "physics:dynamicFriction")


def appearance(reader: PrimReader, prim: Any) -> Material | None:
    """Return the colour of a visual shape, from the primvars displayColor, linear in light, and displayOpacity."""
    colors, opacities = (_first(reader, prim, name) for name in ("displayColor", "displayOpacity"))
    if colors is None or len(colors) != 3:
        if opacities is not None:
            reader.once(prim, "NOT_DRAWN", "displayOpacity of a shape without displayColor is not drawn")
        return None
    red, green, blue = srgb_from_linear(LinearColors(colors)).tolist()
    return Material("", (red, green, blue, 1.0 if opacities is None else float(opacities[0])))


def _first(reader: PrimReader, prim: Any, name: str) -> np.ndarray | None:
    """Return the first value (n,) of a primvar of a prim, or of its nearest ancestor that has it, limited to [0, 1].

    None if the stage states no value, or if the value is not finite.
    """
    from pxr import UsdGeom

    primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(name)
    values: Any = reader.value(primvar.GetAttr().GetPrim(), f"primvars:{name}") if primvar else None
    try:
        first = np.array(values[0], dtype=float).reshape(-1)
    except (TypeError, IndexError, ValueError):
        return None
    return np.clip(first, 0.0, 1.0) if np.isfinite(first).all() else None


def _size(reader: PrimReader, prim: Any, name: str, default: float) -> float:
    value = reader.number(prim, name, default)
    if value <= 0.0:
        reader.error(prim, "GEOM_SIZE", f"{name} must be positive, got {value!r}")
        return default
    return value


def _split(reader: PrimReader, prim: Any, matrix: np.ndarray, order: tuple[int, int, int]) -> tuple[np.ndarray, Pose]:
    """Return the scales of a shape along its axes, and the shape's pose.

    ``order`` tells which axis of the prim each axis of the shape is.

    A mirrored shape has the opposite x axis: all solids along z are symmetric to it.
    """
    axes = matrix[:3, order]
    scales = np.linalg.norm(axes, axis=0)
    axes = axes / scales
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    if np.abs(axes.T @ axes - np.eye(3)).max() > _PERPENDICULAR:
        message = "a scale above the shape shears it: it is read with perpendicular axes"
        reader.warn(prim, "SHEAR", message)
    rigid = np.eye(4)
    rigid[:3, :3], rigid[:3, 3] = nearest_rotation(axes), matrix[:3, 3]
    return scales, pose_of(rigid)


def _cube(reader: PrimReader, prim: Any, matrix: np.ndarray) -> tuple[Shape | None, Pose]:
    scales, pose = _split(reader, prim, matrix, (0, 1, 2))
    x, y, z = (_size(reader, prim, "size", 2.0) * scales).tolist()
    return Box((x, y, z)), pose


def _sphere(reader: PrimReader, prim: Any, matrix: np.ndarray) -> tuple[Shape | None, Pose]:
    scales, pose = _split(reader, prim, matrix, (0, 1, 2))
    x, y, z = (_size(reader, prim, "radius", 1.0) * scales).tolist()
    if max(x, y, z) - min(x, y, z) <= _EQUAL * max(x, y, z):
        return Sphere(x), pose
    return Ellipsoid((x, y, z)), pose


def _round(
    build: Callable[[float, float], Shape], radius: float, height: float
) -> Callable[[PrimReader, Any, np.ndarray], tuple[Shape | None, Pose]]:
    """Return a function that reads a solid of revolution; ``radius`` and ``height`` are its defaults."""

    def read(reader: PrimReader, prim: Any, matrix: np.ndarray) -> tuple[Shape | None, Pose]:
        order = _CYCLES[reader.word(prim, "axis", "XYZ", "Z")]
        scales, pose = _split(reader, prim, matrix, order)
        r, l = _radius(reader, prim, radius), _size(reader, prim, "height", height)
        across, along = float(scales[:2].max()), float(scales[2])
        same = across - float(scales[:2].min()) <= _EQUAL * across
        if not same or (build is Capsule and abs(across - along) > _EQUAL * across):
            shown = ", ".join(f"{x:.6g}" for x in scales)
            message = f"scales {shown} deform a {prim.GetTypeName()}: the larger radius is used"
            reader.warn(prim, "UNSUPPORTED", message)
        return build(r * across, l * along), pose

    return read


def _radius(reader: PrimReader, prim: Any, default: float) -> float:
    """Return the radius of a solid of revolution; both ends must have this radius."""
    if not str(prim.GetTypeName()).endswith("_1"):
        return _size(reader, prim, "radius", default)
    top, bottom = (_size(reader, prim, f"radius{end}", default) for end in ("Top", "Bottom"))
    if abs(top - bottom) > _EQUAL * max(top, bottom):
        message = f"a {prim.GetTypeName()} with the radii {top:.6g} and {bottom:.6g}: the larger is used for both ends"
        reader.warn(prim, "UNSUPPORTED", message)
    return max(top, bottom)


def _plane(reader: PrimReader, prim: Any, matrix: np.ndarray) -> tuple[Shape | None, Pose]:
    _, pose = _split(reader, prim, matrix, _CYCLES[reader.word(prim, "axis", "XYZ", "Z")])
    return HalfSpace(), pose


def _mesh(reader: PrimReader, prim: Any, matrix: np.ndarray) -> tuple[Shape | None, Pose]:
    no_shape = None, Pose.identity()
    points, indices = reader.array(prim, "points"), reader.array(prim, "faceVertexIndices", int)
    if points is None or points.ndim != 2 or points.shape[1:] != (3,) or not len(points):
        reader.warn(prim, "MESH_EMPTY", "a collision mesh without points: it is left out")
        return no_shape
    if len(points) > _MAX_POINTS:
        reader.error(prim, "TOO_LARGE", f"a mesh with {len(points)} points, more than the limit of {_MAX_POINTS}")
        return no_shape
    indices = np.empty(0, int) if indices is None else indices.ravel()
    if not np.isfinite(points).all() or (len(indices) and not (indices.min() >= 0 and indices.max() < len(points))):
        reader.error(prim, "MESH_CORRUPT", "a mesh with points that are not finite, or corners that do not exist")
        return no_shape
    used = points[np.unique(indices)] if len(indices) else points
    at = used @ matrix[:3, :3].T + matrix[:3, 3]
    approximation = reader.word(prim, "physics:approximation", _APPROXIMATIONS, "none")
    if approximation != "convexHull":
        instead = {"boundingSphere": "smallest sphere", "boundingCube": "box along the mesh's axes"}
        text = f"the {instead.get(approximation, 'convex hull')} is used"
        reader.once(prim, "IGNORED", f"collision meshes with the approximation {approximation!r}: {text}")
    if approximation == "boundingCube":
        _, pose = _split(reader, prim, matrix, (0, 1, 2))
        inside = np.array([[*pose.inv().point(Vec3.of(p))] for p in at.tolist()])
        low, high = inside.min(axis=0), inside.max(axis=0)
        x, y, z = (high - low).tolist()
        center = pose.point(Vec3.of((0.5 * (low + high)).tolist()))
        return Box((x, y, z)), Pose(pose.rotation, center)
    try:
        hull = Polytope(tuple(map(tuple, at.tolist())))
    except ValueError as error:
        reader.warn(prim, "MESH_EMPTY", f"a collision mesh without volume is left out: {error}")
        return no_shape
    if approximation == "boundingSphere":
        center, radius = hull.bounding_sphere
        return Sphere(radius), Pose(Rotation.identity(), center)
    return hull, Pose.identity()


SHAPES: dict[str, Callable[[PrimReader, Any, np.ndarray], tuple[Shape | None, Pose]]] = {
    "Cube": _cube,
    "Sphere": _sphere,
    "Capsule": _round(Capsule, 0.5, 1.0),
    "Capsule_1": _round(Capsule, 0.5, 1.0),
    "Cylinder": _round(Cylinder, 1.0, 2.0),
    "Cylinder_1": _round(Cylinder, 1.0, 2.0),
    "Cone": _round(Cone, 1.0, 2.0),
    "Plane": _plane,
    "Mesh": _mesh,
}
