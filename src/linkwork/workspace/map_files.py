"""Files of workspace maps: NumPy archives (.npz) and Zarr stores (.zarr).

Stores that linkwork writes have format 3, with arrays of known types in chunks of zstd; no others are read.  The
store's JSON texts are checked before a chunk is opened, and a chunk's size before it is decompressed.  Files outside of
the store, to which symbolic links could lead, are not opened.

Sources: Zarr core specification, version 3, 2024; RFC 8878, Zstandard compression, 3.1.1 (frame header).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.file_access import MODEL, Budget, opened_regular
from linkwork._util.lazy_imports import optional_module
from linkwork._util.npz_archive import open_archive, write_archive
from linkwork._util.reader_process import ReaderEnded, ReaderError, read_isolated
from linkwork.workspace.chunk_ledger import checked_counts, read_counts
from linkwork.workspace.voxel_counts import FIELDS, MAX_CELLS, SparseCounts

__all__ = ["CHUNK", "map_path", "read_map", "remove_map", "write_map"]

_FORMAT = "linkwork workspace map 1"
_WRITER = "WorkspaceMap.save"


def map_path(caller: str, path: Any) -> Path:
    """Check the path of a map's file and return it.

    Raises TypeError for other types, ValueError unless the path ends in .npz or .zarr.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{caller}: path: expected the path of a file, got {path!r}")
    file = Path(path)
    if file.suffix not in (".npz", ".zarr"):
        raise ValueError(f"{caller}: path: expected a path that ends in .npz or .zarr, got {str(file)!r}")
    if not file.absolute().parent.is_dir():
        raise FileNotFoundError(f"{caller}: path: no directory {str(file.absolute().parent)!r}; create it first")
    if file.suffix == ".zarr":
        _zarr(caller)
    return file


def write_map(file: Path, identity: Mapping[str, Any], counts: SparseCounts) -> None:
    """Write a map; an existing file is replaced when the new one is complete."""
    said: dict[str, Any] = {"format": _FORMAT, "map": dict(identity)}
    arrays = {"cells": counts.cells, **counts.fields}
    if file.suffix == ".npz":
        write_archive(file, said, arrays)
        return
    zarr = _zarr(_WRITER)
    said["digest"] = _digest(said["map"], arrays)
    temporary = file.absolute().parent / f".{file.name[:100]}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    _check_store(file)
    try:
        group = zarr.open_group(temporary, mode="w-", zarr_format=3)
        for name, array in arrays.items():
            chunks = (max(1, min(CHUNK, len(array))), *array.shape[1:])
            names = ["voxel", "axis"][: array.ndim]
            group.create_array(name, data=array, chunks=chunks, dimension_names=names)
        group.attrs.update(said)
        remove_map(file)
        os.rename(temporary, file)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_map(file: Path) -> None:
    """Delete the file of a map, if it exists.  Raises ValueError for a folder that is not a Zarr store."""
    _check_store(file)
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)


def _check_store(file: Path) -> None:
    """Raise ValueError for a folder that is not a Zarr store."""
    if file.is_dir() and not (file / "zarr.json").is_file():
        raise ValueError(f"{file}: expected a Zarr store, got another folder; pass another path")


def read_map(file: Path, *, trusted: bool = True, budget: Budget = MODEL) -> tuple[dict[str, Any], SparseCounts]:
    """Read a map from a file: the dict `MapJob.identity` of the arguments that produced it, and its counts.

    Another process reads a Zarr store that is not trusted.

    Raises ValueError, with the file's name, for a damaged file and files of other kinds.
    """
    if file.suffix == ".npz":
        with open_archive(file, _FORMAT, _WRITER) as reader:
            return _checked_identity(reader.said.get("map")), read_counts(reader)
    if not trusted:
        return _isolated_map(file, budget)
    if not file.exists():
        raise FileNotFoundError(f"{file}: no such Zarr store")
    kinds = {"cells": (np.dtype(np.int32), (3,)), **{name: (np.dtype(kind), ()) for name, (_, kind) in FIELDS.items()}}
    try:
        attributes, arrays = read_store(file, kinds, MAX_CELLS)
        if attributes.get("format") != _FORMAT:
            raise ValueError(f"expected format {_FORMAT!r}, got {attributes.get('format')!r:.80}")
        identity = _checked_identity(attributes.get("map"))
        if attributes.get("digest") != _digest(identity, arrays):
            raise ValueError("it is damaged: its arrays have another digest than it states")
        return identity, checked_counts(arrays.pop("cells"), arrays)
    except Exception as error:  # any error of a codec or of JSON in a damaged store
        raise ValueError(f"{file}: not a store that {_WRITER} wrote: {error}") from None


def map_of_request(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the map in the file that a request names, as `read_map` does, with the counts as a dict of arrays."""
    identity, counts = read_map(Path(request["path"]))
    return identity, {"cells": counts.cells, **counts.fields}


def _isolated_map(file: Path, budget: Budget) -> tuple[dict[str, Any], SparseCounts]:
    """Return description (`MapJob.identity`) and counts of a map, which another process reads. Raises ValueError."""
    task, request = f"{__name__}:map_of_request", {"path": str(file)}
    try:
        answer = read_isolated(("numcodecs.zstd", __name__), task, request, budget=budget, folders=[str(file)])
        fields = {name: answer.arrays[name] for name in FIELDS}
        return _checked_identity(answer.data), checked_counts(answer.arrays["cells"], fields)
    except ReaderEnded as error:
        raise ValueError(f"{file}: the process that reads the store failed: {error}") from None
    except ReaderError as error:
        raise error.of(FileNotFoundError, PermissionError, ImportError) from None


def _digest(identity: Any, arrays: Mapping[str, np.ndarray]) -> str:
    """Return a digest of a map, which detects missing files of chunks: Zarr reads them as zeros."""
    result = hashlib.sha256(json.dumps(identity, sort_keys=True).encode())
    for name, array in arrays.items():
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        result.update(f"{name} {little.dtype.str} {little.shape}".encode())
        result.update(little.tobytes())
    return result.hexdigest()


_KINDS: dict[str, tuple[type, ...]] = {
    "version": (int,),
    "robot": (str,),
    "fingerprint": (str,),
    "frame": (str,),
    "relative_to": (str,),
    "samples": (int,),
    "seed": (int,),
    "voxel_size": (float,),
    "approach_axis": (str,),
    "part": (str,),
    "collision": (bool,),
    "margin": (float,),
    "manipulability_unit": (float,),
}


def _checked_identity(value: Any) -> dict[str, Any]:
    """Return the description (`MapJob.identity`) of a map, read from a file, after checks. Raises ValueError."""
    if not isinstance(value, dict) or value.keys() != _KINDS.keys():
        raise ValueError(f"expected a dict with the keys {', '.join(_KINDS)}, got {value!r:.80}")
    for name, kinds in _KINDS.items():
        x = value[name]
        if type(x) not in kinds or (isinstance(x, float) and not np.isfinite(x)):
            raise ValueError(f"{name}: expected {kinds[0].__name__}, got {x!r:.80}")
    for name in ("voxel_size", "manipulability_unit", "samples"):
        if not value[name] > 0:
            raise ValueError(f"{name}: expected a positive number, got {value[name]!r}")
    return value


def _zarr(caller: str) -> Any:
    """Return the package zarr.  Raises ImportError with the installation command."""
    return optional_module("zarr", f"{caller}: files that end in .zarr need Zarr", "map")


CHUNK = 1 << 16  # most rows of a chunk
_MAX_TEXT = 1 << 20  # [bytes] of a JSON text
_MAX_OVERHEAD = 1 << 16  # [bytes] by which a compressed chunk may exceed its content
_FRAME = b"\x28\xb5\x2f\xfd"  # magic number of Zstandard


def read_store(
    store: Path, kinds: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]], most: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the attributes of a Zarr store, and its arrays by name.

    ``kinds`` has the type of each array, and the shape of a row. Raises ValueError for a store of another format, and
    for arrays of more than ``most`` rows.
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
    """Return the number of rows of an array. Raises ValueError unless each row has the shape ``row``."""
    is_valid = isinstance(sizes, list) and all(type(size) is int for size in sizes) and tuple(sizes[1:]) == row
    if not is_valid or not 0 < sizes[0] <= most:
        raise ValueError(f"{subject}: expected at most {most} rows of shape {row}, got {sizes!r:.80}")
    return int(sizes[0])


def _text(root: Path, name: str) -> dict[str, Any]:
    data = _content(root, name, _MAX_TEXT)
    text = None if data is None else json.loads(data)
    if not isinstance(text, dict):
        raise ValueError(f"expected {name} with a JSON object")
    return text


def _content(root: Path, name: str, most: int) -> bytes | None:
    """Return the content of a file in a Zarr store; None if the file does not exist."""
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
    """Return the content of a Zstandard frame, whose header must state ``size``."""
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
