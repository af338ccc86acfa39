"""Strict reading of the Zarr stores that maps are written to: format 3, arrays of known types in chunks of zstd.

The store's JSON texts are checked before a chunk is opened, and a chunk's size before it is decompressed.  Files
outside of the store, to which symbolic links could lead, are not opened.

Sources: Zarr core specification, version 3, 2024; RFC 8878, Zstandard compression, 3.1.1 (frame header).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.file_access import opened_regular

__all__ = ["CHUNK", "read_store"]

CHUNK = 1 << 16  # most rows of a chunk
_MAX_TEXT = 1 << 20  # [bytes] of a JSON text
_MAX_OVERHEAD = 1 << 16  # [bytes] by which a compressed chunk may exceed its content
_FRAME = b"\x28\xb5\x2f\xfd"  # magic number of Zstandard


def read_store(
    store: Path, kinds: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]], most: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the attributes of a store, and arrays by name, of the types and the sizes of a row in ``kinds``.

    Raises ValueError for a store of another format, and for arrays of more than ``most`` rows.
    """
    root = Path(os.path.realpath(store))
    group = _text(root, "zarr.json")
    if group.get("zarr_format") != 3 or group.get("node_type") != "group":
        raise ValueError("expected a group of Zarr's format 3")
    attributes = group.get("attributes")
    if not isinstance(attributes, dict):
        raise ValueError("expected a group with attributes")
    return attributes, {name: _array(root, name, dtype, row, most) for name, (dtype, row) in kinds.items()}


def _array(root: Path, name: str, dtype: np.dtype[Any], row: tuple[int, ...], most: int) -> np.ndarray:
    text = _text(root, f"{name}/zarr.json")
    expected = {
        "zarr_format": 3,
        "node_type": "array",
        "data_type": dtype.name,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
    }
    for key, value in expected.items():
        if text.get(key) != value:
            raise ValueError(f"array {name!r}: {key}: expected {value}, got {text.get(key)!s:.80}")
    codecs = [codec.get("name") for codec in text["codecs"]]
    if codecs not in (["bytes"], ["bytes", "zstd"]) or text["codecs"][0].get("configuration") != {"endian": "little"}:
        raise ValueError(f"array {name!r}: expected the codecs bytes and zstd, got {codecs!r:.80}")
    if text.get("storage_transformers"):
        raise ValueError(f"array {name!r}: expected no storage transformers")
    grid = text["chunk_grid"]
    if grid.get("name") != "regular":
        raise ValueError(f"array {name!r}: expected chunks of one shape, got {grid.get('name')!r:.80}")
    rows = _rows(text["shape"], row, most, f"array {name!r}: shape")
    step = _rows(grid["configuration"]["chunk_shape"], row, CHUNK, f"array {name!r}: chunk_shape")
    if step != min(CHUNK, rows):  # a look-up of each of millions of small chunks takes minutes
        raise ValueError(f"array {name!r}: expected chunks of {min(CHUNK, rows)} rows, got {step}")
    result = np.zeros((rows, *row), dtype)
    size = step * math.prod(row) * dtype.itemsize
    for k in range(-(-rows // step)):
        file = os.path.join(name, "c", str(k), *("0" for _ in row))
        data = _content(root, file, size + _MAX_OVERHEAD)
        if data is None:
            continue  # all values are 0
        whole = _decompressed(data, size, file) if "zstd" in codecs else data
        if len(whole) != size:
            raise ValueError(f"{file}: expected {size} bytes, got {len(whole)}")
        begin = k * step
        part = np.frombuffer(whole, dtype.newbyteorder("<")).reshape(step, *row)
        result[begin : begin + step] = part[: rows - begin]
    return result


def _rows(sizes: Any, row: tuple[int, ...], most: int, subject: str) -> int:
    """Return the number of rows of an array.  Raises ValueError unless its other sizes are those of ``row``."""
    fine = isinstance(sizes, list) and all(type(size) is int for size in sizes) and tuple(sizes[1:]) == row
    if not fine or not 0 < sizes[0] <= most:
        raise ValueError(f"{subject}: expected at most {most} rows of shape {row}, got {sizes!r:.80}")
    return int(sizes[0])


def _text(root: Path, name: str) -> dict[str, Any]:
    data = _content(root, name, _MAX_TEXT)
    text = None if data is None else json.loads(data)
    if not isinstance(text, dict):
        raise ValueError(f"expected {name} with a JSON object")
    return text


def _content(root: Path, name: str, most: int) -> bytes | None:
    """Return the content of a file of the store; None if it does not exist."""
    path = root / name
    if not os.path.exists(path):
        return None
    if os.path.realpath(path) != str(path):
        raise ValueError(f"{name}: a symbolic link, which is not followed")
    with opened_regular(path) as (file, size):
        if size > most:
            raise ValueError(f"{name}: {size} bytes are more than the limit of {most}")
        return file.read(most + 1 if size else 0)


def _decompressed(data: bytes, size: int, name: str) -> bytes:
    """Return the content of one frame of Zstandard, whose header must state its size."""
    zstd = import_module("numcodecs.zstd").Zstd()

    if data[:4] != _FRAME or len(data) < 14:
        raise ValueError(f"{name}: not a frame of Zstandard")
    flags = data[4]
    width, has_window = (1, 2, 4, 8)[flags >> 6], not flags & 0x20
    begin = 5 + has_window + (0, 1, 2, 4)[flags & 3]
    if width == 1 and has_window:
        raise ValueError(f"{name}: a frame that does not state its size")
    stated = int.from_bytes(data[begin : begin + width], "little") + (256 if width == 2 else 0)
    if stated != size:
        raise ValueError(f"{name}: expected {size} bytes, got a frame of {stated} bytes")
    whole = np.empty(size, np.uint8)
    zstd.decode(data, out=whole)
    return whole.tobytes()
