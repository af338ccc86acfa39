"""Files of the chunks of an unfinished map, from which a computation continues after it was stopped.

A folder contains a description of the map and one file for each chunk, written atomically: the counts of some blocks
and the ranges of these blocks.  Several files are merged into one from time to time, so the folder remains small.  A
file whose blocks overlap with those of files read before it is not counted.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.file_access import opened_regular, replaced
from linkwork._util.npz_archive import OtherFileError, open_archive, write_archive
from linkwork.workspace.map_job import CALLER, MapJob, digest_of
from linkwork.workspace.voxel_counts import FIELDS, SparseCounts

__all__ = ["ChunkLedger", "about_path", "checked_counts", "differing", "read_counts", "remove_ledger"]

_FORMAT = "linkwork workspace chunk 1"
_DESCRIPTION = "map.json"
_MAX_DESCRIPTION = 1 << 20  # [bytes]
_MAX_FILES = 32  # above which chunks are merged into one file

Ranges = list[tuple[int, int]]


class ChunkLedger:
    """Files of the chunks of a map's job in a folder, which is created if necessary.

    Raises ValueError if the folder belongs to another job, or to something else.
    """

    def __init__(self, folder: Path, job: MapJob) -> None:
        self.folder = folder
        self._blocks = job.blocks
        identity = job.identity()
        self._digest = digest_of(identity)
        self._files: list[Path] = []
        self._written = 0
        file = folder / _DESCRIPTION
        if file.exists():
            with about_path():
                stored = _description(file)
            if digest_of(stored) != self._digest:
                raise ValueError(
                    f"{CALLER}: path: {str(folder)!r} has the chunks of another map: {differing(stored, identity)}; "
                    f"pass the same arguments to continue it, or delete the folder to begin anew"
                )
        else:
            if folder.exists() and any(folder.iterdir()):
                raise ValueError(f"{CALLER}: path: expected a folder of chunks, got {str(folder)!r} with other files")
            folder.mkdir(exist_ok=True)
            with replaced(file, text=True) as opened:
                json.dump(identity, opened, indent=1)

    def read(self) -> Iterator[tuple[Ranges, SparseCounts]]:
        """Iterate over the chunks in the folder: ranges of blocks, and their counts.

        Raises ValueError, with the file's name, for a damaged file and a file of another map.
        """
        for file in sorted(self.folder.glob("chunk-*.npz")):
            with about_path(), open_archive(file, _FORMAT, CALLER) as reader:
                if reader.text("of") != self._digest:
                    raise OtherFileError("a chunk of another map; delete the file")
                ends = reader.integers("ranges", 0, self._blocks)
                begins, ends = ends[::2], ends[1::2]
                if len(begins) != len(ends) or any(b >= e for b, e in zip(begins, ends, strict=True)):
                    raise ValueError(f"expected pairs of ascending blocks, got {reader.integers('ranges', 0)}")
                counts = read_counts(reader)
            self._files.append(file)
            yield [*zip(begins, ends, strict=True)], counts

    def write(self, ranges: Ranges, counts: SparseCounts) -> None:
        """Write the counts of the blocks in ``ranges`` as a new file."""
        self._written += 1
        name = f"chunk-{ranges[0][0]:08d}-{os.getpid()}-{self._written}-{os.urandom(3).hex()}.npz"
        said = {"format": _FORMAT, "of": self._digest, "ranges": [x for pair in ranges for x in pair]}
        write_archive(self.folder / name, said, {"cells": counts.cells, **counts.fields})
        self._files.append(self.folder / name)

    @property
    def has_many_files(self) -> bool:
        """True if `replace_all` should be called."""
        return len(self._files) > _MAX_FILES

    def replace_all(self, ranges: Ranges, counts: SparseCounts) -> None:
        """Replace all files read and written so far by a single file with the sum of their counts."""
        old = self._files
        self._files = []
        self.write(ranges, counts)
        # Sorted before the files that it replaces, so that `read` prefers it to those that a crash leaves behind.
        first = self.folder / f"chunk-0-{os.getpid()}-{self._written}-{os.urandom(3).hex()}.npz"
        os.replace(self._files[0], first)
        self._files = [first]
        for file in old:
            file.unlink(missing_ok=True)


@contextmanager
def about_path(caller: str = CALLER) -> Iterator[None]:
    """Add the function's name and its argument ``path`` to errors of files inside a block."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{caller}: path: {error}") from None


def remove_ledger(folder: Path) -> None:
    """Delete a folder of chunks, if it exists. Raises ValueError if it contains other files."""
    if folder.is_dir():
        names = [file.name for file in folder.iterdir()]
        foreign_names = [
            name for name in names if name != _DESCRIPTION and "chunk-" not in name and _DESCRIPTION not in name
        ]
        if foreign_names:
            raise ValueError(
                f"{CALLER}: path: folder {str(folder)!r} contains {foreign_names[0]!r}, which is not a chunk of a map; "
                "move that file elsewhere, or pass another path"
            )
        shutil.rmtree(folder)


def read_counts(reader: Any) -> SparseCounts:
    """Return the counts in an archive. Raises ValueError for arrays that cannot belong to a map."""
    cells = reader.array("cells", ("voxels", 3), kind="integer")
    kinds = {name: "number" if dtype is np.float64 else "integer" for name, (_, dtype) in FIELDS.items()}
    return checked_counts(cells, {name: reader.array(name, ("voxels",), kind=kinds[name]) for name in FIELDS})


def checked_counts(cells: np.ndarray, fields: dict[str, np.ndarray]) -> SparseCounts:
    """Return counts from the arrays of a file. Raises ValueError for arrays that cannot belong to a map."""
    if cells.dtype != np.int32 or cells.shape[1:] != (3,):
        raise ValueError(f"array 'cells': expected int32 of shape (n, 3), got {cells.dtype} of shape {cells.shape}")
    for name, (_, dtype) in FIELDS.items():
        array = fields[name]
        if array.dtype != dtype or array.shape != (len(cells),):
            expected = f"{np.dtype(dtype)} of shape ({len(cells)},)"
            raise ValueError(f"array {name!r}: expected {expected}, got {array.dtype} of shape {array.shape}")
        if not np.isfinite(array).all() or (array < 0).any():
            raise ValueError(f"array {name!r}: expected finite numbers >= 0")
    for name in ("inverse_condition_max", "limit_margin_max"):
        if (fields[name] > 1.0).any():
            raise ValueError(f"array {name!r}: expected numbers from 0 to 1")
    if (fields["reached"] < 1).any() or (fields["collision_free"] > fields["reached"]).any():
        raise ValueError("arrays 'reached' and 'collision_free': expected 1 <= reached and collision_free <= reached")
    order = np.lexsort(cells.T[::-1])
    if (order != np.arange(len(cells))).any() or (np.diff(cells, axis=0) == 0).all(axis=1).any():
        raise ValueError("array 'cells': expected distinct voxels in ascending order")
    return SparseCounts(cells, fields)


def _description(file: Path) -> dict[str, Any]:
    try:
        with opened_regular(file) as (opened, size):
            if size > _MAX_DESCRIPTION:
                raise ValueError(f"more bytes than the limit of {_MAX_DESCRIPTION}")
            result = json.loads(opened.read())
            if not isinstance(result, dict):
                raise ValueError(f"expected a JSON object, got {type(result).__name__}")
            return result
    except ValueError as error:
        raise ValueError(f"{file}: not a description of a map that {CALLER} wrote: {error}") from None


def differing(stored: dict[str, Any], expected: dict[str, Any]) -> str:
    """Return text with the first difference between the descriptions (`MapJob.identity`) of two maps."""
    for name, value in expected.items():
        if stored.get(name) != value:
            if name == "fingerprint":
                return "of a robot, scene, limits or configuration with other values or code"
            return f"of {name} {stored.get(name)!r}, not {value!r}"
    return "with further options"
