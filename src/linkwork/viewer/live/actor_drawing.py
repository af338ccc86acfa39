"""Drawings of robots in a viser scene: a node for each body of one robot, or instances of surfaces for many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork.viewer.bounds import part_poses, rigid_and_scales, worlds
from linkwork.viewer.document import Actor, Color, Part, SceneDocument, Surface
from linkwork.viewer.gltf import surface_glb
from linkwork.viewer.rotations import quaternions

__all__ = ["ActorDrawing", "add_surface", "draw_actor", "node_name", "rgb"]

AT_LIMIT = (230, 69, 40)  # colour of a link whose joint is at a limit


_Placements = tuple[np.ndarray, np.ndarray, np.ndarray | None]  # quaternions (n, 4), positions [m], scales (n, 3)


def node_name(name: str) -> str:
    """Return ``name`` as part of the name of a node in viser, without slashes, which would begin a child node."""
    return escaped(name).replace("/", "∕").strip() or "_"


def rgb(color: Color) -> tuple[int, int, int]:
    """Return a colour as red, green and blue, integers from 0 to 255."""
    red, green, blue = (round(255 * min(max(float(x), 0.0), 1.0)) for x in color[:3])
    return red, green, blue


def add_surface(
    scene: Any, name: str, surface: Surface, color: Color, wxyz: np.ndarray, position: np.ndarray, scale: Any = 1.0
) -> Any:
    """Add a surface to a viser scene at a pose relative to its parent node; return its handle.

    ``scale`` stretches it along its axes.
    """
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
    """Add n copies of a surface at n poses as one node of viser, and return its handle.

    ``colors`` (n, 3) uint8 are the colours of the instances.
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
    """Return True for a surface with vertex colours or a texture, which viser shows only from a glTF file."""
    return len(surface.triangles) > 0 and (surface.colors is not None or surface.texture is not None)


class ActorDrawing:
    """Viser nodes of a robot, or of several instances of it."""

    def __init__(self) -> None:
        self.by_layer: defaultdict[str, list[Any]] = defaultdict(list)
        """Handles of the nodes of each layer."""

    def move(self, poses: np.ndarray) -> None:
        """Move the bodies to ``poses`` (n, nbodies, 4, 4) [m]."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Move newly visible objects to the poses of the last `move`."""

    def mark(self, bodies: Collection[int]) -> None:
        """Colour the links on ``bodies``, whose joints are at their limits, and no others."""


class RobotDrawing(ActorDrawing):
    """One robot: a node for each body, with the surfaces of its links as children."""

    def __init__(self, scene: Any, document: SceneDocument, actor: Actor, root: str) -> None:
        super().__init__()
        poses = actor.poses[0, 0]
        wxyz = quaternions(poses[:, :3, :3])
        names = [node_name(name) for name in getattr(actor.robot, "bodies", ())] or [""] * len(poses)
        roots = [f"{root}/{k} {name}".rstrip() for k, name in enumerate(names)]
        self.bodies = [
            scene.add_frame(name, show_axes=False, wxyz=wxyz[k], position=poses[k, :3, 3])
            for k, name in enumerate(roots)
        ]
        """Handles of the bodies."""
        self._tinted: defaultdict[int, list[tuple[Any, tuple[int, int, int]]]] = defaultdict(list)
        self._marked: frozenset[int] = frozenset()
        [world] = worlds(actor)
        self._world = world
        self._rods: list[tuple[Part, Any]] = []
        for k, part in enumerate(actor.parts):
            if part.end is not None:
                (wxyz_of_rod, position, scale), name = self._placed(part, poses), f"{root}/{node_name(part.link)} {k}"
                surface = document.surfaces[part.surface]
                opaque = (*part.color[:3], part.color[3] * actor.opacity)
                rod = add_surface(scene, name, surface, opaque, wxyz_of_rod, position, scale)
                rod.visible = part.layer not in document.hidden
                self.by_layer[part.layer].append(rod)
                self._rods.append((part, rod))
                continue
            parent, X = (
                (f"{root}/world", world @ part.placement) if part.body < 0 else (roots[part.body], part.placement)
            )
            red, green, blue, alpha = part.color
            handle = add_surface(
                scene,
                f"{parent}/{node_name(part.link)} {k}",
                document.surfaces[part.surface],
                (red, green, blue, alpha * actor.opacity),
                quaternions(X[:3, :3]),
                X[:3, 3],
            )
            handle.visible = part.layer not in document.hidden
            self.by_layer[part.layer].append(handle)
            if part.layer == "visual" and part.body >= 0 and hasattr(handle, "color"):
                self._tinted[part.body].append((handle, rgb(part.color)))
        self._last = poses.copy()

    def move(self, poses: np.ndarray) -> None:
        moved = np.flatnonzero((poses[0] != self._last).any(axis=(1, 2)))
        wxyz = quaternions(poses[0, moved, :3, :3])
        for row, k in enumerate(moved):
            handle = self.bodies[k]
            handle.wxyz, handle.position = wxyz[row], poses[0, k, :3, 3]
        for part, rod in self._rods if len(moved) else ():
            rod.wxyz, rod.position, rod.scale = self._placed(part, poses[0])
        self._last = poses[0].copy()

    def _placed(self, rod: Part, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[float, float, float]]:
        """Return quaternion (4,), position (3,) [m] and scales of a rod, for poses (nbodies, 4, 4) of the bodies."""
        X, scales = rigid_and_scales(part_poses(rod, np.concatenate([poses, self._world[None]])))
        x, y, z = scales.tolist()
        return quaternions(X[:3, :3]), X[:3, 3], (x, y, z)

    def mark(self, bodies: Collection[int]) -> None:
        new_marks = frozenset(bodies)
        for body in new_marks ^ self._marked:
            for handle, color in self._tinted[body]:
                handle.color = AT_LIMIT if body in new_marks else color
        self._marked = new_marks


class InstanceDrawing(ActorDrawing):
    """Several robots: each surface is one node with an instance for each robot and each of its links."""

    def __init__(self, scene: Any, document: SceneDocument, actor: Actor, root: str) -> None:
        super().__init__()
        groups: defaultdict[tuple[int, str, float, bool], list[int]] = defaultdict(list)
        for k, part in enumerate(actor.parts):
            groups[part.surface, part.layer, part.color[3] * actor.opacity, part.end is not None].append(k)
        self._parts = actor.parts
        self._bodies = np.array([part.body for part in actor.parts], dtype=int)
        self._placements = np.array([part.placement for part in actor.parts], dtype=float).reshape(-1, 4, 4)
        self._worlds = worlds(actor)[:, None]
        self._poses = actor.poses[0]
        self._groups: list[tuple[np.ndarray, Any]] = []
        count = actor.poses.shape[1]
        for (surface, layer, opacity, _), members in groups.items():
            colors = np.array([rgb(actor.parts[k].color) for k in members], dtype=np.uint8)
            handle = add_surfaces(
                scene,
                f"{root}/{layer} {len(self._groups)}",
                document.surfaces[surface],
                np.tile(colors, (count, 1)),
                opacity,
                self._placed(actor.poses[0], np.array(members)),
            )
            handle.visible = layer not in document.hidden
            self.by_layer[layer].append(handle)
            self._groups.append((np.array(members), handle))

    def move(self, poses: np.ndarray) -> None:
        self._poses = poses
        self.refresh()

    def refresh(self) -> None:
        for members, handle in self._groups:
            if handle.visible:
                handle.batched_wxyzs, handle.batched_positions, scales = self._placed(self._poses, members)
                if scales is not None:
                    handle.batched_scales = scales

    def _placed(self, poses: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return quaternions (k, 4), positions (k, 3) and, for rods, scales (k, 3) of surfaces on all robots.

        ``members`` are the parts with the surface. The results are ordered by robot, in float32.
        """
        with_world = np.concatenate([poses, self._worlds], axis=1)  # index -1 is the world
        scales = None
        if self._parts[members[0]].end is None:
            X = (with_world[:, self._bodies[members]] @ self._placements[members]).reshape(-1, 4, 4)
        else:
            stretched = np.stack([part_poses(self._parts[k], with_world) for k in members], axis=1)
            X, scales = rigid_and_scales(stretched.reshape(-1, 4, 4))
            scales = scales.astype(np.float32)
        return quaternions(X[:, :3, :3]).astype(np.float32), X[:, :3, 3].astype(np.float32), scales


def draw_actor(scene: Any, document: SceneDocument, actor: Actor, root: str) -> ActorDrawing:
    """Draw an actor of a document at its first time, and return its drawing."""
    kind = RobotDrawing if actor.poses.shape[1] == 1 else InstanceDrawing
    return kind(scene, document, actor, root)
