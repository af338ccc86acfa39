"""Geoms of a compiled model as visual and collision shapes of links.

A geom is a collision shape if it can touch anything: if ``contype`` or ``conaffinity`` is not zero, or a contact pair
names it.  It is a visual shape in the groups 0 to 2, which MuJoCo shows by default.  MuJoCo collides with the convex
hull of a mesh, so a collision mesh is a `Polytope`.  A visual mesh is a `Mesh` with its file where that is known.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.errors import Issue
from linkwork.formats.description import Findings
from linkwork.formats.mjcf.compiled_model import CompiledModel, pose_of
from linkwork.model import compose
from linkwork.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Geometry,
    HalfSpace,
    HeightField,
    Material,
    Mesh,
    Polytope,
    Shape,
    Sphere,
)
from linkwork.spatial import Pose

__all__ = ["read_shapes"]

_SHOWN_GROUPS = range(3)
Shapes = tuple[tuple[Geometry, ...], tuple[Geometry, ...]]


def read_shapes(source: CompiledModel, findings: Findings) -> dict[int, Shapes]:
    """Return the visual and the collision shapes of each body that has any.  Errors: GEOM_SIZE."""
    reader = _Reader(source, findings)
    visuals: dict[int, list[Geometry]] = {}
    collisions: dict[int, list[Geometry]] = {}
    seen_only: list[str] = []
    for i in range(source.model.ngeom):
        body = reader.body[i]
        if reader.collides(i) and (shape := reader.shape(i)) is not None:
            friction = max(reader.friction[i][0], 0.0)  # MuJoCo takes a negative coefficient for none
            collisions.setdefault(body, []).append(replace(reader.placed(i, shape), friction=friction))
        elif reader.kinds[i] in ("plane", "hfield") and reader.group[i] in _SHOWN_GROUPS:
            seen_only.append(source.geoms[i])
        if reader.group[i] in _SHOWN_GROUPS and (visual := reader.visual_shape(i)) is not None:
            visuals.setdefault(body, []).append(visual)
    source.not_drawn("geoms whose shape linkwork does not have", reader.without_shape)
    source.not_drawn("planes and height fields that touch nothing", seen_only)
    empty: tuple[Geometry, ...] = ()
    bodies = visuals | collisions
    return {i: (tuple(visuals.get(i, empty)), tuple(collisions.get(i, empty))) for i in bodies}


class _Reader:
    """Reader of geoms."""

    def __init__(self, source: CompiledModel, findings: Findings) -> None:
        self.source, self.findings, array = source, findings, source.array
        self.kinds = [source.kind("mjtGeom", x) for x in array("geom_type")]
        self.body, self.group, self.data = array("geom_bodyid"), array("geom_group"), array("geom_dataid")
        self.pos, self.quat, self.size = array("geom_pos"), array("geom_quat"), array("geom_size")
        self.contype, self.conaffinity = array("geom_contype"), array("geom_conaffinity")
        self.friction, self.rgba, self.material = array("geom_friction"), array("geom_rgba"), array("geom_matid")
        self.materials = array("mat_rgba")
        self.in_pairs = {*array("pair_geom1"), *array("pair_geom2")}
        self.without_shape: list[str] = []
        self.hulls: dict[int, Polytope | None] = {}
        self.hull_of: dict[bytes, Polytope | None] = {}  # by points: several meshes can have the same
        self.shapes: dict[int, Shape | None] = {}

    def collides(self, i: int) -> bool:
        return bool(self.contype[i] or self.conaffinity[i] or i in self.in_pairs)

    def placed(self, i: int, shape: Shape, material: Material | None = None, origin: Pose | None = None) -> Geometry:
        """Return a `Geometry` of ``shape`` with the pose in its body and the name of geom i."""
        origin = pose_of(self.pos[i], self.quat[i]) if origin is None else origin
        return Geometry(shape, origin, self.source.geoms[i], material)

    def visual_shape(self, i: int) -> Geometry | None:
        """Return geom i as a visual shape; None if it has no size or is transparent."""
        kind, rgba = self.kinds[i], self.color(i)
        if kind in ("plane", "hfield") or rgba[3] <= 0.0:
            return None
        material = Material(self.name_of_material(i), rgba)
        if kind in ("mesh", "sdf") and self.data[i] >= 0:
            uri = self.uri(self.data[i])
            if uri:
                k = self.data[i]
                mesh_frame = pose_of(self.source.array("mesh_pos")[k], self.source.array("mesh_quat")[k]).inv().formed()
                origin = compose(pose_of(self.pos[i], self.quat[i]), mesh_frame)
                return self.placed(i, Mesh(uri, _three(self.source.array("mesh_scale")[k])), material, origin)
        shape = self.shape(i)
        return None if shape is None else self.placed(i, shape, material)

    def color(self, i: int) -> tuple[float, float, float, float]:
        """Return the RGBA colour of geom i, or that of its material if the geom has the default colour."""
        rgba, k = self.rgba[i], self.material[i]
        if k >= 0 and rgba == [0.5, 0.5, 0.5, 1.0]:
            rgba = self.materials[k]
        r, g, b, a = (min(max(x, 0.0), 1.0) for x in rgba)
        return r, g, b, a

    def name_of_material(self, i: int) -> str:
        return self.source.name_in_model("material", self.material[i]) if self.material[i] >= 0 else ""

    def shape(self, i: int) -> Shape | None:
        """Return the shape of geom i in its own frame; None if linkwork does not have it, or after an error."""
        if i in self.shapes:
            return self.shapes[i]
        self.shapes[i] = None
        try:
            self.shapes[i] = self.read_shape(i)
        except ValueError as error:
            name = self.source.geoms[i]
            where = self.source.of_body("geom", name, self.body[i])
            self.findings.error(Issue("GEOM_SIZE", f"{self.source.title('geom', name)}: {error}", where))
        return self.shapes[i]

    def read_shape(self, i: int) -> Shape | None:
        a, b, c = self.size[i]
        match self.kinds[i]:
            case "plane":
                return HalfSpace()
            case "sphere":
                return Sphere(a)
            case "capsule":
                return Capsule(a, 2.0 * b)
            case "ellipsoid":
                return Ellipsoid((a, b, c))
            case "cylinder":
                return Cylinder(a, 2.0 * b)
            case "box":
                return Box((2.0 * a, 2.0 * b, 2.0 * c))
            case "hfield":
                return self.terrain(self.data[i])
            case "mesh":
                hull = self.hull(self.data[i])
                if hull is not None:
                    return hull
        self.without_shape.append(self.source.geoms[i])
        return None

    def terrain(self, k: int) -> HeightField:
        """Return height field k, whose rows are along y in MuJoCo."""
        source, model = self.source, self.source.model
        rows, columns, first = (source.array(f"hfield_{x}")[k] for x in ("nrow", "ncol", "adr"))
        x, y, top, _ = source.array("hfield_size")[k]
        heights = np.array(model.hfield_data[first : first + rows * columns], dtype=float).reshape(rows, columns)
        return HeightField(top * heights.T, (2.0 * x / (columns - 1), 2.0 * y / (rows - 1)))

    def hull(self, k: int) -> Polytope | None:
        """Return the convex hull of mesh k, or None for a mesh without volume."""
        if k not in self.hulls:
            points = self.hull_points(k)
            content = points.tobytes()
            if content not in self.hull_of:
                try:
                    self.hull_of[content] = Polytope(points)  # type: ignore[arg-type]
                except ValueError:
                    self.hull_of[content] = None
            self.hulls[k] = self.hull_of[content]
        return self.hulls[k]

    def hull_points(self, k: int) -> np.ndarray:
        """Return the vertices (n, 3) of the convex hull of mesh k, or all its vertices if MuJoCo computed no hull."""
        source, model = self.source, self.source.model
        first, count, graph = (source.array(f"mesh_{x}")[k] for x in ("vertadr", "vertnum", "graphadr"))
        points = np.array(model.mesh_vert[first : first + count], dtype=float)
        if graph < 0:
            return points
        corners = int(model.mesh_graph[graph])  # then the number of faces, and the address of each corner's edges
        start = graph + 2 + corners
        result: np.ndarray = points[np.array(model.mesh_graph[start : start + corners])]
        return result

    @cached_property
    def paths(self) -> bytes:
        paths = getattr(self.source.model, "paths", b"")
        return paths if isinstance(paths, bytes) else bytes(paths)

    def uri(self, k: int) -> str:
        """Return the path of a mesh's file, or "" if it is not known."""
        at, name = self.source.array("mesh_pathadr")[k], self.source.name_in_model("mesh", k)
        if at < 0 or name.endswith(self.source.displaced):  # a model that is attached has a prefix
            return ""
        path = self.paths[at : self.paths.index(b"\0", at)].decode("utf-8", "replace")
        whole = os.path.join(os.path.dirname(os.path.abspath(self.source.file or "")), path)  # before MuJoCo 4
        return whole if os.path.exists(whole) else path


def _three(values: Sequence[float]) -> tuple[Any, Any, Any]:
    x, y, z = values
    return x, y, z
