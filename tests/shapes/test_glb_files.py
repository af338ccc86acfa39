"""Check of GLB files: each limit on both sides, without a reader of meshes."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from linkwork.shapes import glb_files
from linkwork.shapes.glb_files import MAX_NODES, checked_glb

FILE = Path("box.glb")
CORNERS = struct.pack("<12f", *(0.3, -0.2, 0.1, 1.7, 0.4, -0.6, -0.5, 2.3, 0.9, 0.2, -0.8, 3.1))
SIDES = struct.pack("<12H", *(0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3))


def content() -> dict[str, Any]:
    """Return the JSON text of a tetrahedron: 4 vertices and 12 indices in a buffer of 72 bytes."""
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [0.1, 0.2, 0.3, 1.0]}}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 24},
        ],
        "buffers": [{"byteLength": 72}],
    }


def packed(text: dict[str, Any] | bytes, *chunks: bytes) -> bytes:
    data = text if isinstance(text, bytes) else json.dumps(text).encode()
    parts = (struct.pack("<I", len(data)) + b"JSON" + data, *chunks)
    if not chunks:
        parts = (*parts, struct.pack("<I", 72) + b"BIN\0" + CORNERS + SIDES)
    whole = b"".join(parts)
    return b"glTF" + struct.pack("<II", 2, 12 + len(whole)) + whole


def read(data: bytes) -> dict[str, Any]:
    (length,) = struct.unpack_from("<I", data, 12)
    return json.loads(data[20 : 20 + length])


def with_view(**entries: int) -> dict[str, Any]:
    text = content()
    text["bufferViews"][0] |= entries
    return text


def with_buffers(*buffers: dict[str, Any]) -> dict[str, Any]:
    return content() | {"buffers": list(buffers)}


def with_nodes(count: int) -> dict[str, Any]:
    """Return a scene that draws the tetrahedron ``count`` times."""
    return content() | {"nodes": [{"mesh": 0}] * count, "scenes": [{"nodes": list(range(count))}]}


def test_glb_files_within_each_limit_are_accepted() -> None:
    whole = {"byteLength": 72}
    for text, limit in (
        (content(), 4),  # 16 vertices and indices, and 4 vertices drawn
        (with_view(byteStride=12), 4),
        (with_buffers(whole), 4),
        (with_buffers(), 4),
        (with_nodes(3), 12),
        (content() | {"nodes": [{"mesh": 0}, *[{}] * (MAX_NODES - 1)]}, 4),
    ):
        result = read(checked_glb(FILE, packed(text), limit))
        assert result["accessors"] == text["accessors"] and result["nodes"] == text["nodes"]
        assert result["buffers"] == [whole]
        assert "materials" not in result and "material" not in result["meshes"][0]["primitives"][0]


def test_materials_of_glb_files_are_read_for_pictures_only() -> None:
    """Images that may be decoded replace the others in the list."""
    text = content()
    text["materials"] = [
        {"pbrMetallicRoughness": {"baseColorTexture": {"index": k}, "baseColorFactor": [0.1, 0.2, 0.3, 1.0]}}
        for k in (0, 1)
    ]
    text["textures"] = [{"source": 0}, {"source": 1}]
    text["images"] = [{"bufferView": 0, "mimeType": "image/png"}, {"bufferView": 1, "mimeType": "image/png"}]
    both = read(checked_glb(FILE, packed(text), 4, lambda data, name: 10))
    assert both["meshes"][0]["primitives"][0]["material"] == 0
    assert [m["pbrMetallicRoughness"].get("baseColorTexture") for m in both["materials"]] == [
        {"index": 0},
        {"index": 1},
    ]
    second = read(checked_glb(FILE, packed(text), 4, lambda data, name: 10 if len(data) == 24 else 0))
    assert [m["pbrMetallicRoughness"].get("baseColorTexture") for m in second["materials"]] == [None, {"index": 1}]
    assert second["images"][0] == second["images"][1] == both["images"][1] != both["images"][0]
    neither = read(checked_glb(FILE, packed(text), 4, lambda data, name: 0))
    assert "images" not in neither and "textures" not in neither
    half = glb_files.MESH.max_pixels // 2
    for size, expected in ((half, {"index": 1}), (half + 1, None)):  # of two images together
        limited = read(checked_glb(FILE, packed(text), 4, lambda data, name, size=size: size))
        assert limited["materials"][1]["pbrMetallicRoughness"].get("baseColorTexture") == expected
        assert limited["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"] == {"index": 0}
    del text["meshes"][0]["primitives"][0]["material"]
    assert (
        "material" not in read(checked_glb(FILE, packed(text), 4, lambda data, name: 10))["meshes"][0]["primitives"][0]
    )


def test_glb_files_beyond_each_limit_are_refused(monkeypatch) -> None:
    whole = {"byteLength": 72}
    cut = struct.pack("<I", 73) + b"BIN\0" + CORNERS + SIDES
    for data, limit, message in (
        (packed(content(), cut), 4, "a chunk is cut off"),
        (packed(with_view(byteStride=3)), 4, "bytes between elements"),
        (packed(with_view(byteStride=253)), 4, "bytes between elements"),
        (packed(with_buffers(whole, whole)), 4, "its data are in other files; save it as one GLB file"),
        (packed(content()), 3, "too many vertices and indices: the limit is 12"),
        (packed(with_nodes(3)), 11, "too many vertices: the limit is 11"),
        (packed(content() | {"nodes": [{}] * (MAX_NODES + 1)}), 4, "10001 nodes, more than 10000"),
    ):
        with pytest.raises(ValueError, match=f"^box.glb: .*{message}"):
            checked_glb(FILE, data, limit)
    text = json.dumps(content()).encode()
    monkeypatch.setattr(glb_files, "MAX_TEXT", len(text))
    assert read(checked_glb(FILE, packed(text), 4))["nodes"] == [{"mesh": 0}]
    with pytest.raises(ValueError, match=rf"too large: the limit of the JSON text is {len(text)} bytes"):
        checked_glb(FILE, packed(text + b" "), 4)
