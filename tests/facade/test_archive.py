"""Arrays in files: the same to the bit, and what is no such file."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.facade.archive import npz_path, read_archive, write_archive

_FORMAT = "linkwork test 1"


def _said(x: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(x).encode(), dtype=np.uint8)


def test_arrays_come_back_to_the_bit(tmp_path: Path) -> None:
    where = npz_path("save", tmp_path / "found.npz")
    arrays = {
        "x": np.array([0.1, -0.0, np.nan, np.inf]),
        "search.y": np.zeros((0, 3)),
        "flags": np.array([True, False]),
    }
    write_archive(where, {"format": _FORMAT, "lead": [2, 3], "none": None}, arrays)
    with read_archive(where, _FORMAT, "Test.save") as (said, found):
        assert said == {"format": _FORMAT, "lead": [2, 3], "none": None} and found.keys() == arrays.keys()
        for name, x in arrays.items():
            assert (found[name].dtype, found[name].shape) == (x.dtype, x.shape)
            assert found[name].tobytes() == x.tobytes(), name


def test_what_is_no_such_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"save: expected a file named \.npz, got '.*found\.csv'"):
        npz_path("save", tmp_path / "found.csv")
    where, x = tmp_path / "found.npz", np.arange(3.0)
    wrong: dict[str, Any] = {
        "nothing in it": lambda: where.write_bytes(b""),
        "no archive": lambda: where.write_bytes(b"something else"),
        "one array": lambda: where.write_bytes(_bytes_of(x)),
        "nothing said": lambda: np.savez(where, x=x),
        "no text": lambda: np.savez(where, said=np.frombuffer(b"{", dtype=np.uint8)),
        "a text alone": lambda: np.savez(where, said=_said("x")),
        "a number": lambda: np.savez(where, said=_said(7)),
        "objects": lambda: np.savez(where, said=np.array([{}], dtype=object), allow_pickle=True),
        "another format": lambda: write_archive(where, {"format": "linkwork test 2"}, {"x": x}),
        "an array is missing": lambda: write_archive(where, {"format": _FORMAT}, {"y": x}),
    }
    for name, write in wrong.items():
        write()
        with (
            pytest.raises(ValueError, match=r"found\.npz: not a file that Test\.save wrote"),
            read_archive(where, _FORMAT, "Test.save") as (_, arrays),
        ):
            assert arrays["x"] is not None, name
    with pytest.raises(FileNotFoundError), read_archive(tmp_path / "none.npz", _FORMAT, "Test.save"):
        pass


def _bytes_of(x: np.ndarray) -> bytes:
    file = BytesIO()
    np.save(file, x)
    return file.getvalue()
