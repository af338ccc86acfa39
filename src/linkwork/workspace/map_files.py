"""Files of workspace maps: NumPy archives (.npz) and Zarr stores (.zarr)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.file_access import MODEL, Budget
from linkwork._util.lazy_imports import optional_module
from linkwork._util.npz_archive import open_archive, write_archive
from linkwork._util.reader_process import ReaderEnded, ReaderError, read_isolated
from linkwork.workspace.chunk_ledger import checked_counts, read_counts
from linkwork.workspace.voxel_counts import FIELDS, MAX_CELLS, SparseCounts
from linkwork.workspace.zarr_store import CHUNK, read_store

__all__ = ["map_of_request", "map_path", "read_map", "remove_map", "write_map"]

_FORMAT = "linkwork workspace map 1"
_WRITER = "WorkspaceMap.save"


def map_path(caller: str, path: Any) -> Path:
    """Return a path that ends in .npz or .zarr.  Raises TypeError for other types, ValueError for another suffix."""
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
    """Delete the file of a map, if it exists.  Raises ValueError for a folder that is no Zarr store."""
    _check_store(file)
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)


def _check_store(file: Path) -> None:
    """Raise ValueError for a folder that is no Zarr store."""
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
    """Return the identity and the counts of a map that another process reads.  Raises ValueError."""
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
    """Return a digest of a map: Zarr reads a chunk whose file is missing as zeros."""
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
    """Return the description of a map in a file.  Raises ValueError."""
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
