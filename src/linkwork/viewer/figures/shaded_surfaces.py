"""Shaded triangles of shapes on matplotlib's 3D axes; one collection, which matplotlib sorts by depth."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.file_search import Folders, read_folders
from linkwork._util.plotting import pyplot
from linkwork.model import WORLD
from linkwork.shapes import Compound, HalfSpace, Mesh, PointCloud, Shape
from linkwork.viewer.bounds import part_poses
from linkwork.viewer.document import Surface
from linkwork.viewer.robot_parts import shape_parts, skeleton_parts, undrawn_content
from linkwork.viewer.scene_builder import mesh_search
from linkwork.viewer.skeleton import link_color
from linkwork.viewer.surfaces import SurfaceSet, is_placeholder, shape_surface
from linkwork.viewer.triangles import decimated
from linkwork.viewer.view_direction import VEIL, plane_normal

__all__ = ["body_triangles", "draw_points", "draw_triangles", "drawn_points", "rests_below", "rgb", "shape_triangles"]

_MAX_POINTS = 2000  # of a cloud
_FLOOR = 1.0  # [m] half width of the drawn section of a plane
_LIGHT = np.array([0.35, -0.5, 0.8]) / np.linalg.norm([0.35, -0.5, 0.8])
_AMBIENT = 0.3  # brightness of faces turned away from the light
_GLOSS = 0.12  # share of white in all colours
_TURNED_AWAY = -0.12  # cosine of normal and view below which a face is not seen, in spite of perspective
_BEHIND = 0.02  # shift of ghosts away from the viewer, relative to the whole picture
_UNDER = 3.0  # shift of horizontal faces of obstacles, relative to that of ghosts
_LEVEL = 1e-3  # 1 − cosine of the slope up to which faces count as horizontal
_MAX_EDGE = 0.08  # of a triangle, relative to the whole picture
_MAX_DIVISIONS, _MAX_TRIANGLES = 6, 30_000
_MAX_TRIANGLES_OF_ROBOT, _MIN_TRIANGLES = 12_000, 100  # before open surfaces are doubled; the latter of a large mesh


def shape_triangles(shape: Shape, X: np.ndarray) -> np.ndarray:
    """Return the triangles (n, 3, 3) of a shape at a pose X (4, 4) [m]; none for mesh files and clouds of points."""
    if isinstance(shape, Compound):
        part_triangles = [shape_triangles(part.shape, X @ part.origin.matrix()) for part in shape.parts]
        return np.concatenate([np.empty((0, 3, 3)), *part_triangles])
    surface = None if isinstance(shape, PointCloud | Mesh) else shape_surface(shape)
    if isinstance(shape, HalfSpace):
        corners = _FLOOR * np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
        surface = Surface(corners, np.array([[0, 1, 2], [0, 2, 3]]))
    if surface is None:
        return np.empty((0, 3, 3))
    return np.asarray(_drawn_triangles(surface, _MAX_TRIANGLES) @ X[:3, :3].T + X[:3, 3])


class BodyTriangles(NamedTuple):
    """Triangles on a body of a robot: body index and corners, with their colour."""

    body: int
    """Index of the body, or -1 for the world."""
    corners: np.ndarray
    """(n, 3, 3) on the body [m]."""
    color: tuple[float, ...] | None
    """Colour of its link in the skeleton and in robots that move in a plane; None for other shapes."""


def body_triangles(
    robot: Any, poses: np.ndarray, meshes: Folders | None
) -> tuple[list[BodyTriangles], dict[str, str], list[str]]:
    """Return triangles on the bodies of a robot, the reason for each mesh file that was not read, and notes.

    Rods between two bodies have positions in the world, computed for ``poses``. The shapes are as in `Robot.show` with
    bodies at ``poses`` (nb, 4, 4): the visual ones, the collision shapes of a robot without visual ones, or the
    skeleton. Large meshes are decimated, so that the robot has about `_MAX_TRIANGLES_OF_ROBOT`. Mesh files are
    searched in the folders ``meshes``, too. The notes name displayed content of the robot's file that linkwork does
    not read.
    """
    surfaces = SurfaceSet()
    folders = None if meshes is None else read_folders("plot: meshes", meshes)
    parts, missing = shape_parts(robot.tree, surfaces, mesh_search(robot, folders))
    is_planar = plane_normal(robot, poses) is not None
    colors: list[Any] = [link_color(part.body)[:3] if is_planar else None for part in parts]
    parts += skeleton_parts(robot.tree, surfaces, poses[None], is_incomplete=bool(missing))
    colors += [part.color[:3] for part in parts[len(colors) :]]
    drawn = [(part, surfaces.surfaces[part.surface], color) for part, color in zip(parts, colors, strict=True)]
    drawn = [entry for entry in drawn if not is_placeholder(entry[1])]
    limit = max(_MAX_TRIANGLES_OF_ROBOT // max(len(drawn), 1), _MIN_TRIANGLES)
    with_world = np.concatenate([poses, np.eye(4)[None]])
    surfaces_by_body = []
    for part, surface, color in drawn:
        body, X = (WORLD, part_poses(part, with_world)) if part.end is not None else (part.body, part.placement)
        corners = _drawn_triangles(surface, limit) @ X[:3, :3].T + X[:3, 3]
        surfaces_by_body.append(BodyTriangles(body, corners, color))
    return surfaces_by_body, surfaces.missing, undrawn_content(robot.tree)


@lru_cache(maxsize=256)
def _drawn_triangles(surface: Surface, limit: int) -> np.ndarray:
    """Return at most about ``limit`` triangles (n, 3, 3) of a surface.

    Triangles of an open surface are returned twice, in both orientations.
    """
    points = np.asarray(surface.vertices, dtype=float)
    points, index = np.unique(points, axis=0, return_inverse=True)
    triangles = index.reshape(-1)[np.asarray(surface.triangles, dtype=np.intp)]
    points, triangles, _ = decimated(points, triangles, limit)
    corners: np.ndarray = points[triangles]
    if not _is_closed(triangles, corners):
        corners = np.concatenate([corners, corners[:, ::-1]])
    return corners


def _is_closed(triangles: np.ndarray, corners: np.ndarray) -> bool:
    """Return True if a triangle mesh is closed (each edge has a second triangle), with normals that point outward."""
    edges = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1).reshape(-1, 2)
    forward, back = (np.unique(directed, axis=0, return_counts=True) for directed in (edges, edges[:, ::-1]))
    if any(not np.array_equal(a, b) for a, b in zip(forward, back, strict=True)):
        return False
    a, b, c = np.moveaxis(corners, 1, 0)
    return bool((np.cross(a, b) * c).sum() > 0.0)  # six times the volume


def draw_triangles(
    axes: Any, corners: np.ndarray, color: Any, alpha: float, *, behind: float | np.ndarray = 0.0, is_veil: bool = False
) -> None:
    """Draw triangles (n, 3, 3) [m], shaded in a colour, or in a colour (n, 3) for each triangle.

    With ``alpha`` below 1 the colours are paler. All triangles of the axes are one collection, which matplotlib sorts
    by depth. They are opaque: edges of transparent triangles would be visible. With ``behind``, a number or (n,), they
    are sorted as if they were farther away. With ``is_veil`` the triangles are transparent, in a second collection
    that is drawn in front of the first.
    """
    if not len(corners):
        return
    pyplot()
    from matplotlib.colors import to_rgba_array

    brightness = _AMBIENT + (1.0 - _AMBIENT) * 0.5 * (1.0 + _unit_normals(corners) @ _LIGHT)
    base = 1.0 - (0.3 + 0.7 * alpha) * (1.0 - to_rgba_array(color)[:, :3])
    shaded = np.clip(brightness[:, None] * (_GLOSS + (1.0 - _GLOSS) * base), 0.0, 1.0)
    has_data = axes.has_data()
    surfaces = _surfaces(axes, is_veil)
    if surfaces is None:
        surfaces = _surfaces_class()(is_veil)
        axes.add_collection3d(surfaces, autolim=False)
        axes.computed_zorder = False  # lines and names are drawn above the surfaces
    surfaces.extend(corners, shaded, behind)
    axes.auto_scale_xyz(*corners.reshape(-1, 3).T, had_data=has_data)


def _surfaces(axes: Any, is_veil: bool) -> Any:
    """Return the collection of all triangles of the axes, or of all transparent triangles; None if there is none."""
    known = (collection for collection in axes.collections if isinstance(collection, _surfaces_class()))
    return next((surfaces for surfaces in known if surfaces.is_veil == is_veil), None)


def rgb(color: Any) -> tuple[float, ...]:
    """Return red, green and blue of a colour that matplotlib knows."""
    pyplot()
    from matplotlib.colors import to_rgb

    result: tuple[float, ...] = to_rgb(color)
    return result


def rests_below(corners: np.ndarray) -> np.ndarray:
    """Return shifts in depth (n,) of triangles: horizontal faces are sorted behind objects that stand on them."""
    return np.where(_unit_normals(corners)[:, 2] > 1.0 - _LEVEL, _UNDER, 0.0)


def drawn_points(axes: Any) -> np.ndarray:
    """Return the centroids (n, 3) of the triangles that are drawn in the axes [m]."""
    surfaces = _surfaces(axes, False)
    return np.empty((0, 3)) if surfaces is None else np.asarray(surfaces.corners.mean(axis=1))


@cache
def _surfaces_class() -> Any:
    """Return the class of the collection of all triangles of 3D axes."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    class Surfaces(Poly3DCollection):  # type: ignore[misc]
        """Collection of coloured triangles; `extend` adds triangles."""

        def __init__(self, is_veil: bool) -> None:
            zorder, self._opacity = (0.7, VEIL) if is_veil else (0.5, 1.0)
            super().__init__([], edgecolors="none", linewidths=0.0, antialiaseds=False, zorder=zorder)
            self.set_rasterized(True)  # in vector graphics: thousands of triangles would be large files
            self.is_veil = is_veil
            self.corners, self.colors = np.empty((0, 3, 3)), np.empty((0, 3))
            self._behind = np.empty(0)
            self._fine = self.corners, self.colors, np.empty((0, 3)), np.empty(0)

        def extend(self, corners: np.ndarray, colors: np.ndarray, behind: Any) -> None:
            self.corners = np.concatenate([self.corners, corners])
            self.colors = np.concatenate([self.colors, colors])
            self._behind = np.concatenate([self._behind, np.broadcast_to(behind, len(corners))])
            undivided = self.corners, np.arange(len(self.corners))  # edges of veils are visible
            divided, index = undivided if self.is_veil else _divided(self.corners)
            shift = _BEHIND * float(np.ptp(divided, axis=(0, 1)).max())
            self._fine = divided, self.colors[index], _unit_normals(divided), shift * self._behind[index]

        def do_3d_projection(self) -> Any:
            """Project the triangles to the picture, without those that face away from the viewer."""
            corners, colors, normals, shifts = self._fine
            azimuth, elevation = np.deg2rad([self.axes.azim, self.axes.elev])
            level = np.cos(elevation)
            viewer = np.array([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)])
            is_visible = normals @ viewer > _TURNED_AWAY
            self.set_verts((corners - shifts[:, None, None] * viewer)[is_visible])
            self.set_facecolor(np.insert(colors[is_visible], 3, self._opacity, axis=1))
            return super().do_3d_projection()

    return Surfaces


def _unit_normals(corners: np.ndarray) -> np.ndarray:
    """Return the outward unit normals (n, 3) of triangles; zero for triangles without area."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    result: np.ndarray = normals / np.where(lengths > 0.0, lengths, 1.0)
    return result


def _divided(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide triangles with long edges; return the triangles, and for each the index of its original triangle.

    Matplotlib sorts triangles by the depth of their centroids, which is wrong for large triangles.
    """
    index = np.arange(len(corners))
    longest = _MAX_EDGE * float((corners.max(axis=(0, 1)) - corners.min(axis=(0, 1))).max())
    for _ in range(_MAX_DIVISIONS):
        edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
        long = edges.max(axis=1) > longest
        if not long.any() or len(corners) + 3 * long.sum() > _MAX_TRIANGLES:
            break
        a, b, c = np.moveaxis(corners[long], 1, 0)
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        parts = [np.stack(part, axis=1) for part in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        corners = np.concatenate([corners[~long], *parts])
        index = np.concatenate([index[~long], np.tile(index[long], 4)])
    return corners, index


def draw_points(axes: Any, shape: Shape, X: np.ndarray, color: Any) -> None:
    """Draw a sample of the points of a cloud, or of the clouds of a compound, at a pose X (4, 4) [m]."""
    if isinstance(shape, Compound):
        for part in shape.parts:
            draw_points(axes, part.shape, X @ part.origin.matrix(), color)
    elif isinstance(shape, PointCloud):
        points = np.asarray(shape.points)[:: max(len(shape.points) // _MAX_POINTS, 1)]
        axes.scatter(*(points @ X[:3, :3].T + X[:3, 3]).T, color=color, s=2)
