"""Nodes of a viser scene for surfaces: plain ones, and ones with colours by vertex or a texture."""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

import numpy as np

from linkwork.viewer.document import Color, Surface

__all__ = ["add_surface", "add_surfaces", "node_name", "rgb"]

_Placements = tuple[np.ndarray, np.ndarray]  # quaternions (n, 4) and positions (n, 3) [m]


def node_name(name: str) -> str:
    """Return a name of a file as part of a node's name, in which a slash would begin a child."""
    return name.replace("/", "∕").strip() or "_"


def rgb(color: Color) -> tuple[int, int, int]:
    """Return red, green and blue in [0, 255]."""
    red, green, blue = (round(255 * min(max(float(x), 0.0), 1.0)) for x in color[:3])
    return red, green, blue


def add_surface(scene: Any, name: str, surface: Surface, color: Color, wxyz: np.ndarray, position: np.ndarray) -> Any:
    """Add a surface at a pose of its parent node, and return its handle."""
    pose = {"wxyz": wxyz, "position": position}
    if surface.colors is not None or surface.texture is not None:
        return scene.add_mesh_trimesh(name, _textured(surface), **pose)
    return scene.add_mesh_simple(
        name,
        surface.vertices,
        surface.triangles,
        color=rgb(color),
        opacity=float(color[3]) if color[3] < 1.0 else None,
        flat_shading=surface.normals is None,
        side="double",
        **pose,
    )


def add_surfaces(
    scene: Any, name: str, surface: Surface, colors: np.ndarray, opacity: float, placements: _Placements
) -> Any:
    """Add a surface at many poses at once (instances), and return the handle of all.

    ``colors`` (n, 3) uint8 are those of the instances.
    """
    wxyzs, positions = placements
    if surface.colors is not None or surface.texture is not None:
        return scene.add_batched_meshes_trimesh(name, _textured(surface), wxyzs, positions, lod="off")
    return scene.add_batched_meshes_simple(
        name,
        surface.vertices,
        surface.triangles,
        wxyzs,
        positions,
        batched_colors=colors,
        opacity=opacity if opacity < 1.0 else None,
        flat_shading=surface.normals is None,
        side="double",
        lod="off",
    )


def _textured(surface: Surface) -> Any:
    """Return the surface as a trimesh with its colours by vertex or its texture."""
    trimesh: Any = import_module("trimesh")
    mesh = trimesh.Trimesh(surface.vertices, surface.triangles, process=False, vertex_normals=surface.normals)
    if surface.texture is not None and surface.uv is not None:
        from PIL import Image

        image = Image.open(io.BytesIO(surface.texture), formats=("PNG", "JPEG"))
        material = trimesh.visual.material.PBRMaterial(
            baseColorTexture=image, metallicFactor=0.0, roughnessFactor=0.9, doubleSided=True
        )
        mesh.visual = trimesh.visual.TextureVisuals(uv=surface.uv, material=material)
    elif surface.colors is not None:
        mesh.visual.vertex_colors = surface.colors
    return mesh
