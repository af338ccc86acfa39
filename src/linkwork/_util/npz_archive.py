"""Archives of NumPy arrays (npz) with a JSON header, written atomically and read with checks.

A file is read as untrusted input.  Its arrays are not compressed, so they never need more memory than the file's size.
The type, shape and size of each array are checked before it is read.
"""

from __future__ import annotations

import json
import math
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar, cast

import numpy as np
from numpy.lib import format as npy

from linkwork._util.file_access import NotRegularError, opened_regular, replaced

__all__ = ["ArchiveReader", "OtherFileError", "npz_path", "open_archive", "write_archive"]

T = TypeVar("T")

_SAID = "said"
_MAX_TEXT = 1 << 24  # [bytes] of the JSON header
_MAX_MEMBERS = 100_000
_MAX_HEADER = 10_000  # [bytes] of an array's header
_KINDS = {"number": "iuf", "integer": "iu", "bool": "b", "any": "biuf"}  # NumPy kind letters of array types


class OtherFileError(ValueError):
    """A file is intact but belongs to another object, such as a robot with other joints or another problem."""


def npz_path(caller: str, path: str | os.PathLike[str], *, remedy: str = "") -> Path:
    """Return a path that ends in .npz.

    Raises TypeError for other types, and ValueError with the ``remedy`` for another suffix.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{caller}: path: expected the path of a file, got {path!r}")
    where = Path(path)
    if where.suffix != ".npz":
        raise ValueError(f"{caller}: path: expected a file named .npz, got {str(where)!r}{remedy and f'; {remedy}'}")
    return where


def write_archive(where: Path, said: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays by name, and the header ``said``, a dict with the key "format".

    An existing file is replaced when the new file is complete.  Raises ValueError for arrays of Python objects.
    """
    text = np.frombuffer(json.dumps(said).encode(), dtype=np.uint8)
    contents = {**{name: np.asanyarray(x) for name, x in arrays.items()}, _SAID: text}
    with replaced(where) as file, zipfile.ZipFile(file, "w") as archive:  # np.savez leaves it open after an error
        for name, x in contents.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, x, allow_pickle=False)


@contextmanager
def open_archive(where: Path, form: str, writer: str) -> Iterator[ArchiveReader]:
    """Open a file of the format ``form``, which ``writer`` writes.

    Raises ValueError with the name of the file for any other file, and for any error inside the ``with`` statement,
    where its arrays are read; the message of an `OtherFileError` follows the name.  FileNotFoundError, PermissionError
    and other errors of the system are not changed.
    """
    reader: ArchiveReader | None = None
    try:
        with opened_regular(where) as (file, size):
            try:
                reader = ArchiveReader(file, size, form)
                yield reader
            except OtherFileError:
                raise
            except Exception as error:  # any error of zipfile, NumPy or JSON in a damaged file
                problem = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else str(error)
                raise ValueError(f"{where}: not a file that {writer} wrote: {problem}") from None
    except (NotRegularError, OtherFileError) as error:
        raise ValueError(f"{where}: {error}") from None


class ArchiveReader:
    """The header of an archive, and its arrays, each read on request.

    Sizes can be named: a word in a shape is the same size in all arrays.
    """

    def __init__(self, file: BinaryIO, size: int, form: str) -> None:
        self.sizes: dict[str, int] = {}
        self._zip = zipfile.ZipFile(file)
        self._members: dict[str, zipfile.ZipInfo] = {}
        infos = self._zip.infolist()
        if len(infos) > _MAX_MEMBERS:
            raise ValueError(f"{len(infos)} arrays are more than the limit of {_MAX_MEMBERS}")
        for info in infos:
            name = info.filename.removesuffix(".npy")
            if name in self._members:
                raise ValueError(f"two arrays are named {name!r}")
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.file_size != info.compress_size:
                raise ValueError(
                    f"array {name!r} is compressed or encrypted; expected arrays as numpy.savez stores them"
                )
            self._members[name] = info
        if sum(info.file_size for info in infos) > size:
            raise ValueError("its arrays would be larger than the file")
        text = self._read(_SAID, "any", most=_MAX_TEXT)
        said = json.loads(text.tobytes())
        if not isinstance(said, dict):
            raise ValueError(f"expected a JSON object, got {type(said).__name__}")
        if said.get("format") != form:
            raise ValueError(f"expected format {form!r}, got {said.get('format')!r}")
        self.said: dict[str, Any] = said

    # -- header

    def text(self, key: str) -> str:
        """Return a string of the header."""
        value: str = self.said[key]
        return self._checked(key, value, isinstance(value, str), "a string")

    def texts(self, key: str, default: Sequence[str] | None = None) -> list[str]:
        """Return a list of strings of the header."""
        if default is not None and key not in self.said:
            return [*default]
        value: list[str] = self.said[key]
        is_valid = isinstance(value, list) and all(isinstance(x, str) for x in value)
        return self._checked(key, value, is_valid, "a list of strings")

    def boolean(self, key: str, default: bool | None = None) -> bool:
        """Return a boolean of the header."""
        value: bool = self.said.get(key, default) if default is not None else self.said[key]
        return self._checked(key, value, isinstance(value, bool), "true or false")

    def integer(self, key: str, least: int, most: int = 2**31) -> int:
        """Return an integer of the header, from ``least`` to ``most``."""
        value: int = self.said[key]
        is_valid = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return self._checked(key, value, is_valid, f"an integer from {least} to {most}")

    def number(self, key: str, least: float = -math.inf) -> float:
        """Return a finite number of the header, not below ``least``."""
        value = self.said[key]
        is_valid = isinstance(value, (int, float)) and not isinstance(value, bool)
        is_valid = is_valid and max(least, -sys.float_info.max) <= value <= sys.float_info.max
        return float(self._checked(key, value, is_valid, f"a finite number >= {least:g}"))

    def integers(self, key: str, least: int, most: int = 2**31) -> list[int]:
        """Return a list of integers of the header, each from ``least`` to ``most``."""
        value: list[int] = self.said[key]
        is_valid = isinstance(value, list) and all(type(x) is int and least <= x <= most for x in value)
        return self._checked(key, value, is_valid, f"a list of integers from {least} to {most}")

    @staticmethod
    def _checked(key: str, value: T, is_valid: bool, expected: str) -> T:
        if not is_valid:
            raise ValueError(f"{key}: expected {expected}, got {value!r:.80}")
        return value

    # -- arrays

    @property
    def names(self) -> list[str]:
        """The names of the arrays."""
        return [name for name in self._members if name != _SAID]

    def __contains__(self, name: str) -> bool:
        return name in self._members and name != _SAID

    def array(
        self,
        name: str,
        shape: Sequence[int | str | None] | None = None,
        *,
        kind: str = "number",
        finite: bool = True,
        least: float | None = None,
        most: float | None = None,
        ordered: bool = False,
    ) -> np.ndarray:
        """Return an array and check its shape and values.

        A size of ``shape`` is an integer, a word that is the same size in all arrays, or None for any size.  ``kind``
        is "number" (returned as float64), "integer", "bool" or "any".  Values must be finite unless ``finite`` is
        False, from ``least`` to ``most``, and with ``ordered`` non-decreasing along the last axis.
        """
        x = self._read(name, kind)
        if kind == "number":
            x = x.astype(float, copy=False)
        if shape is not None:
            self._fit(name, x.shape, shape)
        if finite and x.dtype.kind == "f" and not np.isfinite(x).all():
            self._refuse(name, "finite numbers", x[~np.isfinite(x)][0])
        if least is not None and x.size and not x.min() >= least:
            self._refuse(name, f"numbers >= {least:g}", x.min())
        if most is not None and x.size and not x.max() <= most:
            self._refuse(name, f"numbers <= {most:g}", x.max())
        if ordered and not (np.diff(x, axis=-1) >= 0.0).all():
            self._refuse(name, "non-decreasing numbers", "others")
        return x

    def group(self, prefix: str) -> dict[str, np.ndarray]:
        """Return all arrays with names that begin with ``prefix.``, by name without the prefix."""
        names = [name for name in self.names if name.startswith(f"{prefix}.")]
        return {name.removeprefix(f"{prefix}."): self.array(name, kind="any", finite=False) for name in names}

    def _fit(self, name: str, got: tuple[int, ...], shape: Sequence[int | str | None]) -> None:
        expected = [self.sizes.get(size) if isinstance(size, str) else size for size in shape]
        if len(got) != len(expected) or any(w is not None and w != g for w, g in zip(expected, got, strict=True)):
            words = [w if w is not None else size for w, size in zip(expected, shape, strict=True)]
            self._refuse(name, f"the shape ({', '.join(map(str, words))})", got)
        self.sizes |= {size: g for size, g in zip(shape, got, strict=True) if isinstance(size, str)}

    @staticmethod
    def _refuse(name: str, expected: str, got: Any) -> NoReturn:
        raise ValueError(f"array {name!r}: expected {expected}, got {got}")

    def _read(self, name: str, kind: str, most: int | None = None) -> np.ndarray:
        info = self._members[name]
        if most is not None and info.file_size > most:
            raise ValueError(f"array {name!r}: more bytes than the limit of {most}")
        with self._zip.open(info) as member:
            version = npy.read_magic(member)
            if version not in ((1, 0), (2, 0)):
                raise ValueError(f"array {name!r}: unknown version {version} of NumPy's format")
            read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, by_columns, dtype = read_header(member, max_header_size=_MAX_HEADER)
            if dtype.kind not in _KINDS[kind] or dtype.itemsize > 8 or dtype.shape:
                self._refuse(
                    name, {"number": "numbers", "integer": "integers", "bool": "booleans"}.get(kind, kind), dtype
                )
            count = math.prod(shape)
            if min(shape, default=0) < 0 or count * dtype.itemsize != info.file_size - member.tell():
                raise ValueError(f"array {name!r}: shape {shape} of {dtype} does not match the number of bytes")
            data = np.empty(count, dtype)
            if data.nbytes and cast(Any, member).readinto(data.view(np.uint8)) != data.nbytes:
                raise ValueError(f"array {name!r}: the file ends before its last byte")
            member.read(1)  # reading past the end verifies the checksum
        if dtype.kind == "b" and count and data.view(np.uint8).max() > 1:
            raise ValueError(f"array {name!r}: expected booleans (bytes 0 and 1), got other bytes")
        return data.reshape(shape, order="F" if by_columns else "C")
