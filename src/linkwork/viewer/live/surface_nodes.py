"""Nodes of a viser scene for surfaces: plain ones, and ones with colours by vertex or a texture."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork.viewer.document import Color, Surface
from linkwork.viewer.gltf import surface_glb

__all__ = ["add_surface", "add_surfaces", "node_name", "rgb"]

_Placements = tuple[np.ndarray, np.ndarray, np.ndarray | None]  # quaternions (n, 4), positions [m], scales (n, 3)


def node_name(name: str) -> str:
    """Return a name of a file as part of a node's name, in which a slash would begin a child."""
    return escaped(name).replace("/", "∕").strip() or "_"


def rgb(color: Color) -> tuple[int, int, int]:
    """Return red, green and blue in [0, 255]."""
    red, green, blue = (round(255 * min(max(float(x), 0.0), 1.0)) for x in color[:3])
    return red, green, blue


def add_surface(
    scene: Any, name: str, surface: Surface, color: Color, wxyz: np.ndarray, position: np.ndarray, scale: Any = 1.0
) -> Any:
    """Add a surface at a pose of its parent node, stretched by ``scale`` along its axes, and return its handle."""
    pose = {"wxyz": wxyz, "position": position}
    if _has_own_colors(surface):
        return scene.add_glb(name, surface_glb(surface, color), **pose)
    return scene.add_mesh_simple(
        name,
        surface.vertices,
        surface.triangles,
        color=rgb(color),
        opacity=float(color[3]) if color[3] < 1.0 else None,
        flat_shading=surface.normals is None,
        side="double",
        scale=scale,
        **pose,
    )


def add_surfaces(
    scene: Any, name: str, surface: Surface, colors: np.ndarray, opacity: float, placements: _Placements
) -> Any:
    """Add a surface at many poses at once (instances), and return the handle of all.

    ``colors`` (n, 3) uint8 are those of the instances.
    """
    wxyzs, positions, scales = placements
    if _has_own_colors(surface):
        return scene.add_batched_glb(name, surface_glb(surface, (1.0, 1.0, 1.0, opacity)), wxyzs, positions, lod="off")
    return scene.add_batched_meshes_simple(
        name,
        surface.vertices,
        surface.triangles,
        wxyzs,
        positions,
        batched_scales=scales,
        batched_colors=colors,
        opacity=opacity if opacity < 1.0 else None,
        flat_shading=surface.normals is None,
        side="double",
        lod="off",
    )


def _has_own_colors(surface: Surface) -> bool:
    """Return True for a surface with colours by vertex or a texture, which needs a glTF file."""
    return len(surface.triangles) > 0 and (surface.colors is not None or surface.texture is not None)
