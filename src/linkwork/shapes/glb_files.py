"""Checks of binary glTF files before trimesh parses them, within limits.

`checked_glb` reads the file's JSON text, and returns the file with what a mesh needs: nodes, triangles, vertex colours
and, if the caller wants them, materials with embedded images.  Animations, skins, cameras and extensions are left out.

Source: Khronos Group, glTF 2.0 Specification, 2021: sections 3.5 (nodes), 3.6 (accessors) and 4.4 (GLB files).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linkwork._util.file_access import MESH

__all__ = ["CheckImage", "checked_glb"]

CheckImage = Callable[[bytes, str], int]
"""Returns the number of pixels of an embedded image, from its bytes and its name, or 0 if it must not be decoded."""

MAX_TEXT = 20_000_000  # [bytes] of the JSON text
MAX_NODES, MAX_DEPTH = 10_000, 256
_MAGIC, _JSON, _BIN = b"glTF", b"JSON", b"BIN\0"
_SIZES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}  # bytes of a component, by its type
_COUNTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_ATTRIBUTES = ("POSITION", "NORMAL", "TEXCOORD_0", "COLOR_0")
_OF_NODES = ("children", "mesh", "matrix", "translation", "rotation", "scale")
_DRAWN_KEYS = ("asset", "scene", "scenes", "accessors", "bufferViews")


def checked_glb(file: Path, data: bytes, max_vertices: int, check_image: CheckImage | None = None) -> bytes:
    """Return a binary glTF file that trimesh may parse; materials are preserved only with ``check_image``.

    Raises ValueError for a file that is cut off, refers to other files, has data outside of its buffer, needs an
    extension such as compression, or whose scene has more than ``max_vertices`` vertices.
    """
    try:
        text, buffer = _chunks(data)
        content = _Content(json.loads(text), buffer, max_vertices)
        result = content.checked(check_image)
    except _RefusedError as error:
        raise ValueError(f"{file}: {error}") from None
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise ValueError(f"{file}: not a readable GLB file: {error}") from None
    written = json.dumps(result).encode()
    written += b" " * (-len(written) % 4)
    chunks = struct.pack("<I", len(written)) + _JSON + written + struct.pack("<I", len(buffer)) + _BIN + buffer
    return _MAGIC + struct.pack("<II", 2, 12 + len(chunks)) + chunks


class _RefusedError(Exception):
    """A valid glTF file that linkwork refuses to read."""


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    """Return the JSON text and the binary buffer of a GLB file; the buffer is padded to a multiple of four bytes."""
    magic, version, length = data[:4], *struct.unpack_from("<II", data, 4)
    if magic != _MAGIC or version != 2:
        raise _RefusedError("expected a GLB file of glTF 2.0")
    if length != len(data):
        raise _RefusedError(f"expected {length} bytes, got {len(data)}")
    chunks: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= len(data):
        size, kind = struct.unpack_from("<I", data, at)[0], data[at + 4 : at + 8]
        if at + 8 + size > len(data):
            raise _RefusedError("a chunk is cut off")
        chunks.setdefault(kind, data[at + 8 : at + 8 + size])
        at += 8 + size
    text, buffer = chunks.get(_JSON, b""), chunks.get(_BIN, b"")
    if len(text) > MAX_TEXT:
        raise _RefusedError(f"too large: the limit of the JSON text is {MAX_TEXT} bytes")
    return text, buffer + b"\0" * (-len(buffer) % 4)


class _Content:
    """JSON text of a glTF file and its buffer, with checks."""

    def __init__(self, content: dict[str, Any], buffer: bytes, max_vertices: int) -> None:
        self.content, self.buffer, self.max_vertices = content, buffer, max_vertices
        self.elements = 0  # vertices and indices of all meshes: trimesh reads those that are not drawn, too

    def checked(self, check_image: CheckImage | None) -> dict[str, Any]:
        """Return the JSON content for trimesh, with only what a mesh needs."""
        content = self.content
        needed = [x for x in content.get("extensionsRequired", ()) if not str(x).startswith("KHR_materials_")]
        if needed:
            raise _RefusedError(f"needs the glTF extension {needed[0]}; export it without compression")
        if any("uri" in buffer for buffer in content.get("buffers", ())) or len(content.get("buffers", ())) > 1:
            raise _RefusedError("its data are in other files; save it as one GLB file")
        for view in content.get("bufferViews", ()):
            begin = _size(view.get("byteOffset", 0))
            if begin + _size(view["byteLength"]) > len(self.buffer):
                raise ValueError("data outside of the buffer")
            if not 4 <= view.get("byteStride", 4) <= 252:
                raise ValueError("bytes between elements")
        result = {key: content[key] for key in _DRAWN_KEYS if key in content}
        result["buffers"] = [{"byteLength": len(self.buffer)}]
        result["nodes"] = [{key: node[key] for key in _OF_NODES if key in node} for node in content.get("nodes", ())]
        keeps = check_image is not None
        result["meshes"] = [
            {"primitives": [self._primitive(primitive, keeps) for primitive in mesh["primitives"]]}
            for mesh in content.get("meshes", ())
        ]
        self._check_nodes(result)
        if check_image is not None:
            result |= self._appearance(check_image)
        return result

    def _primitive(self, primitive: dict[str, Any], keeps_material: bool) -> dict[str, Any]:
        """Return the supported entries of a primitive, after a check that their data are inside their buffer views."""
        attributes = {name: primitive["attributes"][name] for name in _ATTRIBUTES if name in primitive["attributes"]}
        accessors = [*attributes.values(), *([primitive["indices"]] if "indices" in primitive else [])]
        for k in accessors:
            accessor = self.content["accessors"][_size(k)]
            if "sparse" in accessor or "bufferView" not in accessor:
                raise _RefusedError("has data that are sparse or missing")
            view = self.content["bufferViews"][_size(accessor["bufferView"])]
            size = _SIZES[accessor["componentType"]] * _COUNTS[accessor["type"]]
            stride, count = _size(view.get("byteStride", size)), _size(accessor["count"])
            if _size(accessor.get("byteOffset", 0)) + stride * (count - 1) + size > view["byteLength"] or not count:
                raise ValueError("data outside of the buffer")
            self.elements += count
            if self.elements > 4 * self.max_vertices:
                raise _RefusedError(f"too many vertices and indices: the limit is {4 * self.max_vertices}")
        result: dict[str, int] = {key: _size(primitive[key]) for key in ("indices", "mode") if key in primitive}
        if keeps_material and "material" in primitive:
            result["material"] = _size(primitive["material"])
        return {"attributes": attributes, **result}

    def _check_nodes(self, result: dict[str, Any]) -> None:
        """Check that the nodes of the scenes are trees, and count the vertices that they draw."""
        nodes, scenes = result["nodes"], result.get("scenes", ())
        if len(nodes) > MAX_NODES:
            raise _RefusedError(f"has {len(nodes)} nodes, more than {MAX_NODES}")
        drawn = 0
        for scene in scenes:
            waiting, visited = [(k, 1) for k in scene.get("nodes", ())], set()
            while waiting:
                k, depth = waiting.pop()
                if _size(k) in visited:
                    raise ValueError(f"node {k} has several parents")
                if depth > MAX_DEPTH:
                    raise _RefusedError(f"has nodes more than {MAX_DEPTH} deep")
                visited.add(k)
                waiting += [(child, depth + 1) for child in nodes[k].get("children", ())]
                if "mesh" in nodes[k]:
                    for primitive in result["meshes"][_size(nodes[k]["mesh"])]["primitives"]:
                        drawn += self.content["accessors"][primitive["attributes"]["POSITION"]]["count"]
            if drawn > self.max_vertices:
                raise _RefusedError(f"too many vertices: the limit is {self.max_vertices}")

    def _appearance(self, check_image: CheckImage) -> dict[str, Any]:
        """Return the materials, and the images that ``check_image`` permits."""
        content = self.content
        images, sizes = [], []
        for k, image in enumerate(content.get("images", ())):
            data = b""  # of an image in another file, which is not opened
            if "bufferView" in image:
                view = content["bufferViews"][_size(image["bufferView"])]
                begin = view.get("byteOffset", 0)
                data = self.buffer[begin : begin + view["byteLength"]]
            sizes.append(check_image(data, f"image {k}"))
            images.append({"bufferView": image.get("bufferView", 0), "mimeType": str(image.get("mimeType", ""))})
        textures = [{"source": _size(texture.get("source", 0))} for texture in content.get("textures", ())]
        materials, pixels = [], 0
        for material in content.get("materials", ()):
            appearance = material.get("pbrMetallicRoughness", {})
            surface = {"baseColorFactor": appearance["baseColorFactor"]} if "baseColorFactor" in appearance else {}
            texture = appearance.get("baseColorTexture")
            size = 0 if texture is None else sizes[textures[_size(texture["index"])]["source"]]
            if size and pixels + size <= MESH.max_pixels:  # trimesh decodes an image for each material
                pixels += size
                surface["baseColorTexture"] = {"index": texture["index"]}
            materials.append({"pbrMetallicRoughness": surface})
        usable = {k for k, size in enumerate(sizes) if size}
        if not usable:
            return {"materials": materials}
        first = min(usable)  # refused images stay in the list as one that is decoded
        images = [image if k in usable else images[first] for k, image in enumerate(images)]
        return {"materials": materials, "textures": textures, "images": images}


def _size(x: Any) -> int:
    """Return a non-negative integer.  Raises ValueError for other values."""
    if not isinstance(x, int) or isinstance(x, bool) or x < 0:
        raise ValueError(f"expected an index or a size, got {str(x)[:40]!r}")
    return x
