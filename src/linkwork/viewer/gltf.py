"""Binary glTF 2.0 files of scene documents, with animation: for Blender, slides, and viewers of 3D models."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.color_spaces import SrgbColors, linear_from_srgb
from linkwork._util.file_access import replaced
from linkwork.viewer.bounds import near_origin, part_poses, rigid_and_scales
from linkwork.viewer.document import Actor, Color, FrameAxes, SceneDocument, Surface, check_document
from linkwork.viewer.rotations import steady_quaternions
from linkwork.viewer.triangles import arrow_poses, cone, cylinder

__all__ = ["surface_glb", "write_glb"]

_FLOAT, _UINT, _SHORT = 5126, 5125, 5123  # component types
_VERTICES, _INDICES = 34962, 34963  # uses of buffer views
_LINES, _LINE_STRIP, _POINTS = 1, 3, 0  # modes of primitives
_AXIS_COLORS = ((0.86, 0.22, 0.2, 1.0), (0.2, 0.65, 0.28, 1.0), (0.18, 0.42, 0.88, 1.0))
_Y_UP = [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]  # (x, y, z, w): turns the z axis to glTF's y axis
_SHAFT, _HEAD = -1, -2  # surfaces of arrows


@public
def write_glb(document: SceneDocument, path: str | os.PathLike[str]) -> Path:
    """Write the document as one binary glTF file with animation, and return its path.

    Each body of a robot is a node below its parent's node, with tracks of its position and rotation by time.  Layers
    that are hidden, plots and joint limits are left out.  Lines and points are shown as at the first time; labels are
    empty nodes with their text as name.  An existing file is replaced when the new one is complete.  Raises
    ArgumentError and ValueError for a document that cannot be shown, and OSError if the file cannot be written.
    """
    check_document("write_glb", document)
    content = _Writer(document).content()
    with replaced(path) as file:
        file.write(content)
    return Path(path)


def surface_glb(surface: Surface, color: Color) -> bytes:
    """Return a binary glTF file of one surface, which has at least one triangle, in its own axes."""
    writer = _Writer(SceneDocument("surface", np.zeros(1), (surface,)))
    writer.node("surface", mesh=writer.mesh(0, color))
    return writer.packed()


class _Writer:
    """Writer of glTF: the lists of its JSON part, and its block of binary data."""

    def __init__(self, document: SceneDocument) -> None:
        self.document, self.origin = near_origin(document)
        self.chunks: list[bytes] = []
        self.size = 0
        self.gltf: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "linkwork"},
            "scene": 0,
            "scenes": [{"name": document.title, "nodes": [0]}],
            **{name: [] for name in ("nodes", "meshes", "materials", "accessors", "bufferViews", "images", "textures")},
        }
        self.channels: list[dict[str, Any]] = []
        self.samplers: list[dict[str, Any]] = []
        self.meshes: dict[Any, int] = {}
        self.materials: dict[Any, int] = {}
        self.geometry: dict[int, dict[str, Any]] = {}
        self.clock: int | None = None
        # Times of a track begin at zero and differ as float32: of equal ones the last is written.
        times = document.seconds
        self.times = (times - times[0]).astype("f4")
        self.distinct = np.append(np.diff(self.times) > 0.0, True)

    def content(self) -> bytes:
        root = self.node(self.document.title, rotation=_Y_UP)
        if self.origin.any():
            x, y, z = self.origin.tolist()
            self.gltf["nodes"][root]["translation"] = [x, z, -y]
        for actor in self.document.actors:
            self.actor(root, actor)
        self.props(root)
        self.lines_and_points(root)
        self.arrows(root)
        for axes in self.document.frames:
            if axes.layer not in self.document.hidden:
                self.axes(root, axes)
        for text in self.document.texts:
            if text.layer not in self.document.hidden:
                position = np.asarray(text.position, dtype=float).reshape(-1, 3)
                poses = np.tile(np.eye(4), (len(position), 1, 1))
                poses[:, :3, 3] = position
                self.moved(self.node(text.text, root), poses)
        if self.channels:
            self.gltf["animations"] = [{"name": "motion", "channels": self.channels, "samplers": self.samplers}]
        return self.packed()

    def packed(self) -> bytes:
        if self.size:
            self.gltf["buffers"] = [{"byteLength": self.size}]
        gltf = {name: value for name, value in self.gltf.items() if value not in ([], {})}
        text = json.dumps(gltf, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
        if self.size:
            chunks += struct.pack("<II", self.size, 0x004E4942) + b"".join(self.chunks)
        return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks

    # -- bytes

    def view(self, content: bytes, **more: Any) -> int:
        view = {"buffer": 0, "byteOffset": self.size, "byteLength": len(content), **more}
        self.chunks.append(content + bytes(-len(content) % 4))
        self.size += len(self.chunks[-1])
        self.gltf["bufferViews"].append(view)
        return len(self.gltf["bufferViews"]) - 1

    def accessor(
        self, array: np.ndarray, kind: str, component: int = _FLOAT, usage: int | None = None, **more: Any
    ) -> int:
        types = {_FLOAT: "<f4", _UINT: "<u4", _SHORT: "<u2"}
        data = np.ascontiguousarray(array, dtype=types[component])
        target = {} if usage is None else {"target": usage}
        entry = {
            "bufferView": self.view(data.tobytes(), **target),
            "componentType": component,
            "count": len(data),
            "type": kind,
        }
        self.gltf["accessors"].append(entry | more)
        return len(self.gltf["accessors"]) - 1

    def positions(self, points: np.ndarray) -> int:
        data = np.asarray(points, dtype="f4")
        return self.accessor(
            data, "VEC3", usage=_VERTICES, min=data.min(axis=0).tolist(), max=data.max(axis=0).tolist()
        )

    def colors(self, colors: np.ndarray) -> int:
        """Add sRGB colours (n, 4) uint8 as glTF vertex colours in linear light; return the index of their accessor."""
        linear = linear_from_srgb(SrgbColors(np.asarray(colors) / 255.0))
        return self.accessor(np.round(65535.0 * linear), "VEC4", _SHORT, _VERTICES, normalized=True)

    # -- nodes

    def node(self, name: str, parent: int | None = None, **more: Any) -> int:
        nodes = self.gltf["nodes"]
        nodes.append({"name": name, **more})
        if parent is not None:
            nodes[parent].setdefault("children", []).append(len(nodes) - 1)
        return len(nodes) - 1

    def moved(self, node: int, poses: np.ndarray, scales: np.ndarray | None = None) -> None:
        """Set the poses (T or 1, 4, 4) of a node in its parent, and add animation tracks if they change with time."""
        rotations = steady_quaternions(poses[:, :3, :3])[:, [1, 2, 3, 0]]
        tracks: dict[str, tuple[np.ndarray, str, Any]] = {
            "translation": (poses[:, :3, 3], "VEC3", 0.0),
            "rotation": (rotations, "VEC4", (0.0, 0.0, 0.0, 1.0)),
        }
        if scales is not None:
            tracks["scale"] = (scales, "VEC3", 1.0)
        for path, (values, kind, usual) in tracks.items():
            if not np.array_equal(values[0], np.broadcast_to(usual, values[0].shape)):
                self.gltf["nodes"][node][path] = [float(x) for x in values[0]]
            if len(values) > 1 and (values != values[:1]).any():
                self.track(node, path, self.accessor(values[self.distinct], kind))

    def track(self, node: int, path: str, output: int) -> None:
        if self.clock is None:
            times = self.times[self.distinct]
            self.clock = self.accessor(times, "SCALAR", min=[float(times[0])], max=[float(times[-1])])
        self.samplers.append({"input": self.clock, "output": output, "interpolation": "LINEAR"})
        self.channels.append({"sampler": len(self.samplers) - 1, "target": {"node": node, "path": path}})

    # -- meshes

    def material(self, color: Sequence[float], opacity: float = 1.0, texture: bytes | None = None) -> int:
        key = (*(float(x) for x in color), opacity, texture)
        if key in self.materials:
            return self.materials[key]
        alpha = float(color[3]) * opacity
        linear = linear_from_srgb(SrgbColors(np.array(color[:3], dtype=float))).tolist()
        surface: dict[str, Any] = {"baseColorFactor": [*linear, alpha], "metallicFactor": 0.0, "roughnessFactor": 0.6}
        if texture is not None:
            kind = "image/png" if texture.startswith(b"\x89PNG") else "image/jpeg"
            self.gltf["images"].append({"bufferView": self.view(texture), "mimeType": kind})
            self.gltf["textures"].append({"source": len(self.gltf["images"]) - 1})
            surface["baseColorTexture"] = {"index": len(self.gltf["textures"]) - 1}
            surface["baseColorFactor"] = [1.0, 1.0, 1.0, alpha]
        material: dict[str, Any] = {"pbrMetallicRoughness": surface, "doubleSided": True}
        if alpha < 0.999:
            material["alphaMode"] = "BLEND"
        self.gltf["materials"].append(material)
        self.materials[key] = len(self.gltf["materials"]) - 1
        return self.materials[key]

    def surface(self, index: int) -> Surface:
        arrows = {_SHAFT: cylinder, _HEAD: cone}
        return arrows[index]() if index in arrows else self.document.surfaces[index]

    def mesh(self, index: int, color: Sequence[float], opacity: float = 1.0) -> int | None:
        """Return the index of the mesh of a surface in a colour; None for a surface without triangles."""
        surface = self.surface(index)
        if not len(surface.triangles):
            return None
        if surface.colors is not None:
            color = (1.0, 1.0, 1.0, color[3])
        texture = surface.texture if surface.uv is not None else None
        key = index, tuple(color), opacity
        if key not in self.meshes:
            if index not in self.geometry:
                self.geometry[index] = self.primitive(surface)
            material = self.material(color, opacity, texture)
            self.meshes[key] = self.add_mesh({**self.geometry[index], "material": material})
        return self.meshes[key]

    def add_mesh(self, primitive: dict[str, Any]) -> int:
        self.gltf["meshes"].append({"primitives": [primitive]})
        return len(self.gltf["meshes"]) - 1

    def primitive(self, surface: Surface) -> dict[str, Any]:
        attributes = {"POSITION": self.positions(surface.vertices)}
        if surface.normals is not None:
            attributes["NORMAL"] = self.accessor(surface.normals, "VEC3", usage=_VERTICES)
        if surface.colors is not None:
            attributes["COLOR_0"] = self.colors(surface.colors)
        if surface.uv is not None:
            attributes["TEXCOORD_0"] = self.accessor(surface.uv * [1.0, -1.0] + [0.0, 1.0], "VEC2", usage=_VERTICES)
        indices = self.accessor(np.ravel(surface.triangles), "SCALAR", _UINT, _INDICES)
        return {"attributes": attributes, "indices": indices}

    # -- what the document has

    def actor(self, root: int, actor: Actor) -> None:
        parents = [body.parent for body in actor.robot.tree.bodies] if actor.robot is not None else None
        names = [body.name for body in actor.robot.tree.bodies] if actor.robot is not None else None
        for k in range(actor.poses.shape[1]):
            offset = np.eye(4) if actor.offsets is None else np.asarray(actor.offsets[k], dtype=float)
            base = self.node(actor.name if actor.poses.shape[1] == 1 else f"{actor.name} {k + 1}", root)
            poses = np.asarray(actor.poses[:, k], dtype=float)
            nodes: list[int] = []
            for body in range(poses.shape[1]):
                parent = parents[body] if parents is not None else -1
                name = names[body] if names is not None else f"body {body}"
                nodes.append(self.node(name, base if parent < 0 else nodes[parent]))
                self.moved(nodes[body], poses[:, body] if parent < 0 else _relative(poses[:, parent], poses[:, body]))
            with_world = np.concatenate([poses, np.broadcast_to(offset, (len(poses), 1, 4, 4))], axis=1)
            for part in actor.parts:
                hidden = part.layer in self.document.hidden
                mesh = None if hidden else self.mesh(part.surface, part.color, actor.opacity)
                if mesh is not None and part.end is not None:
                    self.moved(self.node(part.link, base, mesh=mesh), *rigid_and_scales(part_poses(part, with_world)))
                elif mesh is not None:
                    node = self.node(part.link, base if part.body < 0 else nodes[part.body], mesh=mesh)
                    placement = np.asarray(part.placement, dtype=float)
                    self.moved(node, (offset @ placement if part.body < 0 else placement)[None])

    def props(self, root: int) -> None:
        for prop in self.document.props:
            if prop.layer not in self.document.hidden:
                mesh = self.mesh(prop.surface, prop.color)
                node = self.node(prop.name, root, **({} if mesh is None else {"mesh": mesh}))
                self.moved(node, np.asarray(prop.pose, dtype=float).reshape(-1, 4, 4))

    def lines_and_points(self, root: int) -> None:
        for line in self.document.lines:
            points = np.asarray(line.points)
            points = points if points.ndim == 2 else points[0]
            if line.layer not in self.document.hidden and len(points) > 1:
                points = points[: len(points) // 2 * 2] if line.segments else points
                primitive = {"attributes": {"POSITION": self.positions(points)}, "material": self.material(line.color)}
                mode = _LINES if line.segments else _LINE_STRIP
                self.node(line.name, root, mesh=self.add_mesh({**primitive, "mode": mode}))
        for cloud in self.document.points:
            points = np.asarray(cloud.points)
            points = points if points.ndim == 2 else points[0]
            if cloud.layer not in self.document.hidden and len(points):
                colors = np.broadcast_to(cloud.colors, (len(points), 4))
                attributes = {"POSITION": self.positions(points), "COLOR_0": self.colors(colors)}
                material = self.material((1.0, 1.0, 1.0, 1.0))
                mesh = self.add_mesh({"attributes": attributes, "material": material, "mode": _POINTS})
                self.node(cloud.name, root, mesh=mesh)

    def arrow(self, parent: int, name: str, starts: np.ndarray, vectors: np.ndarray, color: Any, width: float) -> None:
        for index, (poses, scales) in zip((_SHAFT, _HEAD), arrow_poses(starts, vectors, width), strict=True):
            self.moved(self.node(name, parent, mesh=self.mesh(index, color)), poses, scales)

    def arrows(self, root: int) -> None:
        for arrows in self.document.arrows:
            if arrows.layer in self.document.hidden:
                continue
            lengths = np.linalg.norm(np.where(arrows.visible[..., None], arrows.vectors, 0.0), axis=-1) * arrows.scale
            width = 0.03 * float(lengths.max(initial=0.0))
            vectors = np.where(arrows.visible[..., None], arrows.vectors, 0.0) * arrows.scale
            for k in range(arrows.starts.shape[1]):
                self.arrow(root, arrows.name, arrows.starts[:, k], vectors[:, k], arrows.color, width)

    def axes(self, root: int, axes: FrameAxes) -> None:
        frame = self.node(axes.name, root)
        self.moved(frame, np.asarray(axes.poses, dtype=float).reshape(-1, 4, 4))
        for axis, color in zip("xyz", _AXIS_COLORS, strict=True):
            vector = np.eye(3)["xyz".index(axis)] * axes.length
            self.arrow(frame, f"{axes.name} {axis}", np.zeros((1, 3)), vector[None], color, 0.03 * axes.length)


def _relative(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A⁻¹ B (..., 4, 4), the poses of b in a, from the rigid poses A = ``a`` and B = ``b`` in a common frame."""
    turned = np.swapaxes(a[..., :3, :3], -1, -2)
    result = np.zeros(np.broadcast_shapes(a.shape, b.shape))
    result[..., :3, :3] = turned @ b[..., :3, :3]
    result[..., :3, 3] = np.einsum("...ij,...j->...i", turned, b[..., :3, 3] - a[..., :3, 3])
    result[..., 3, 3] = 1.0
    return result
