"""Files of NumPy's arrays (npz) with a text that says what they are: written, and read with care, to the bit."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["npz_path", "read_archive", "write_archive"]

_SAID = "said"


def npz_path(who: str, path: str | os.PathLike[str]) -> Path:
    """The path of a file named .npz.  Raises ValueError for another name."""
    where = Path(path)
    if where.suffix != ".npz":
        raise ValueError(f"{who}: expected a file named .npz, got {str(where)!r}")
    return where


def write_archive(where: Path, said: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays by name, and what is said of them, which has a "format"."""
    text = np.frombuffer(json.dumps(said).encode(), dtype=np.uint8)
    with open(where, "wb") as file:
        np.savez(file, **{**arrays, _SAID: text})


@contextmanager
def read_archive(where: Path, form: str, writer: str) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """What is said of a file's arrays, and these by name.

    Raises ValueError where the file is not of this format; also for what is missed inside of the ``with``.
    """
    try:
        with np.load(where, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        said = json.loads(arrays.pop(_SAID).tobytes())
        if said["format"] != form:
            raise ValueError(f"format {said['format']!r}")
        yield said, arrays
    except (AttributeError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{where}: not a file that {writer} wrote: {error}") from None
