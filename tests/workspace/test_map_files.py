"""Zarr stores and arrays of workspace maps that another program wrote or changed."""

import json
import shutil

import numpy as np
import pytest

from helpers.stored_maps import IDENTITY
from linkwork.workspace.chunk_ledger import checked_counts
from linkwork.workspace.map_files import _FORMAT, CHUNK, _content, _decompressed, _digest, read_map, read_store
from linkwork.workspace.voxel_counts import FIELDS

CELLS = np.array([[-4, 7, 1], [2, -3, 9], [5, 6, -8]], dtype=np.int32)
KINDS = {"cells": (np.dtype(np.int32), (3,)), "shares": (np.dtype(np.float64), ())}
SHARES = np.array([0.25, -1.5, 3.0])


def write_array(store, name, array, **change):
    text = {
        "zarr_format": 3,
        "node_type": "array",
        "data_type": array.dtype.name,
        "shape": [*array.shape],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [*array.shape]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    chunk = store.joinpath(name, "c", *("0" for _ in array.shape))
    chunk.parent.mkdir(parents=True)
    (store / name / "zarr.json").write_text(json.dumps({**text, **change}))
    chunk.write_bytes(array.tobytes())


def write_store(store, arrays, attributes, change=()):
    store.mkdir()
    group = {"zarr_format": 3, "node_type": "group", "attributes": attributes, **dict(change)}
    (store / "zarr.json").write_text(json.dumps(group))
    for name, array in arrays.items():
        write_array(store, name, array)


def test_broken_stores_are_refused_and_whole_ones_are_read(tmp_path):
    store = tmp_path / "map.zarr"

    def read(*, most=3, group=None, cells=None):
        shutil.rmtree(store, ignore_errors=True)
        write_store(store, {"shares": SHARES}, {"author": "me"}, group or ())
        write_array(store, "cells", CELLS, **(cells or {}))
        return read_store(store, KINDS, most)

    attributes, arrays = read()
    assert attributes == {"author": "me"}
    assert (arrays["cells"] == CELLS).all() and (arrays["shares"] == SHARES).all()
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    big = {"name": "bytes", "configuration": {"endian": "big"}}
    grid = {"name": "regular", "configuration": {"chunk_shape": [2, 3]}}
    for options, words in (
        ({"group": {"zarr_format": 2}}, "expected a group of Zarr's format 3"),
        ({"group": {"node_type": "array"}}, "expected a group of Zarr's format 3"),
        ({"group": {"attributes": [1]}}, "expected a group with attributes"),
        ({"cells": {"zarr_format": 2}}, "array 'cells': zarr_format: expected 3, got 2"),
        ({"cells": {"node_type": "group"}}, "array 'cells': node_type: expected array, got group"),
        ({"cells": {"data_type": "int64"}}, "array 'cells': data_type: expected int32, got int64"),
        ({"cells": {"fill_value": 1}}, "array 'cells': fill_value: expected 0, got 1"),
        ({"cells": {"codecs": [little, {"name": "blosc"}]}}, r"expected the codecs bytes and zstd, got \['bytes', 'b"),
        ({"cells": {"codecs": [big]}}, "expected the codecs bytes and zstd"),
        ({"cells": {"storage_transformers": [{"name": "x"}]}}, "array 'cells': expected no storage transformers"),
        ({"cells": {"chunk_grid": {"name": "rectilinear"}}}, "expected chunks of one shape, got 'rectilinear'"),
        ({"cells": {"chunk_grid": grid}}, "array 'cells': expected chunks of 3 rows, got 2"),
        ({"cells": {"shape": [0, 3]}}, r"array 'cells': shape: expected at most 3 rows of shape \(3,\), got \[0, 3\]"),
        ({"cells": {"shape": [3, 2]}}, r"array 'cells': shape: expected at most 3 rows of shape \(3,\)"),
        ({"cells": {"shape": 3}}, r"array 'cells': shape: expected at most 3 rows of shape \(3,\)"),
        ({"cells": {"shape": [3.0, 3]}}, r"array 'cells': shape: expected at most 3 rows of shape \(3,\)"),
        ({"most": 2}, r"array 'cells': shape: expected at most 2 rows of shape \(3,\), got \[3, 3\]"),
    ):
        with pytest.raises(ValueError, match=words):
            read(**options)
    grid = {"name": "regular", "configuration": {"chunk_shape": [CHUNK + 1, 3]}}
    with pytest.raises(ValueError, match=f"chunk_shape: expected at most {CHUNK} rows"):
        read(most=2 * CHUNK, cells={"shape": [CHUNK + 1, 3], "chunk_grid": grid})
    read()
    chunk = store / "cells" / "c" / "0" / "0"
    chunk.write_bytes(CELLS.tobytes()[:-1])
    with pytest.raises(ValueError, match=r"cells.c.0.0: expected 36 bytes, got 35"):
        read_store(store, KINDS, 3)
    chunk.unlink()
    assert (read_store(store, KINDS, 3)[1]["cells"] == np.zeros((3, 3))).all()  # Zarr's meaning of a missing chunk
    chunk.symlink_to(store / "shares" / "c" / "0")
    with pytest.raises(ValueError, match=r"cells.c.0.0: a symbolic link, which is not followed"):
        read_store(store, KINDS, 3)
    for name, text in (("zarr.json", "[1, 2]"), ("shares/zarr.json", "3")):
        read()
        (store / name).write_text(text)
        with pytest.raises(ValueError, match=f"expected {name} with a JSON object"):
            read_store(store, KINDS, 3)
    (store / "zarr.json").unlink()
    with pytest.raises(ValueError, match=r"expected zarr.json with a JSON object"):
        read_store(store, KINDS, 3)


def test_files_in_stores_beyond_the_limit_of_bytes_are_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"12345")
    assert _content(tmp_path, "x", 5) == b"12345" and _content(tmp_path, "missing", 5) is None
    with pytest.raises(ValueError, match="x: 5 bytes are more than the limit of 4"):
        _content(tmp_path, "x", 4)


def test_chunks_are_decompressed_if_the_header_of_their_frame_states_the_size():
    zstd = pytest.importorskip("numcodecs.zstd").Zstd()
    for content in (bytes(24), bytes(255), bytes(range(256)), bytes(range(256)) * 2, bytes(range(256)) * 300):
        frame = bytes(zstd.encode(content))
        assert _decompressed(frame, len(content), "c/0") == content
        for size in (len(content) - 1, len(content) + 1):
            with pytest.raises(ValueError, match=f"c/0: expected {size} bytes, got a frame of {len(content)} bytes"):
                _decompressed(frame, size, "c/0")
    frame = bytes(zstd.encode(bytes(range(24))))
    shortest = frame[:4] + bytes([frame[4] & ~0x20]) + frame[5:]  # a frame with a window has no size of one byte
    for data, words in (
        (b"\0" + frame[1:], "not a frame of Zstandard"),
        (frame[:13], "not a frame of Zstandard"),
        (shortest, "a frame that does not state its size"),
    ):
        with pytest.raises(ValueError, match=f"c/0: {words}"):
            _decompressed(data, 24, "c/0")
    smallest = bytes(zstd.encode(b"\7"))
    assert len(smallest) < 14  # no array of a map is as small


def map_arrays(**change):
    fields = {name: np.zeros(3, dtype) for name, (_, dtype) in FIELDS.items()}
    fields |= {"reached": np.array([4, 5, 6]), "collision_free": np.array([4, 0, 2])}
    fields["inverse_condition_max"] = np.array([0.0, 1.0, 0.5])
    fields["limit_margin_max"] = np.array([1.0, 0.25, 0.0])
    return {"cells": CELLS, **fields, **change}


def counts_of(**change):
    arrays = map_arrays(**change)
    return checked_counts(arrays.pop("cells"), arrays)


def test_arrays_that_no_map_has_are_refused():
    assert (counts_of().cells == CELLS).all() and counts_of().fields["reached"].tolist() == [4, 5, 6]
    above = np.nextafter(np.ones(3), 2.0)
    for change, words in (
        ({"cells": CELLS.astype(np.int64)}, r"array 'cells': expected int32 of shape \(n, 3\), got int64"),
        ({"cells": CELLS[:, :2]}, r"expected int32 of shape \(n, 3\), got int32 of shape \(3, 2\)"),
        ({"reached": np.array([4, 5, 6], np.int32)}, r"array 'reached': expected int64 of shape \(3,\), got int32"),
        ({"reached": np.array([4, 5])}, r"array 'reached': expected int64 .*got int64 of shape \(2,\)"),
        ({"manipulability_max": np.array([0.0, np.nan, 1.0])}, "'manipulability_max': expected finite numbers >= 0"),
        ({"manipulability_max": np.array([0.0, np.inf, 1.0])}, "'manipulability_max': expected finite numbers >= 0"),
        ({"manipulability_sum": np.array([0, -1, 1])}, "'manipulability_sum': expected finite numbers >= 0"),
        ({"limit_margin_max": above}, "array 'limit_margin_max': expected numbers from 0 to 1"),
        ({"inverse_condition_max": above}, "'inverse_condition_max': expected numbers from 0 to 1"),
        ({"reached": np.array([4, 0, 6])}, "expected 1 <= reached and collision_free <= reached"),
        ({"collision_free": np.array([5, 0, 2])}, "expected 1 <= reached and collision_free <= reached"),
        ({"cells": CELLS[[1, 0, 2]]}, "array 'cells': expected distinct voxels in ascending order"),
        ({"cells": CELLS[[0, 1, 1]]}, "array 'cells': expected distinct voxels in ascending order"),
    ):
        with pytest.raises(ValueError, match=words):
            counts_of(**change)


def test_stores_of_maps_with_another_format_or_digest_are_refused(tmp_path):
    arrays = map_arrays()
    attributes = {"format": _FORMAT, "map": IDENTITY, "digest": _digest(IDENTITY, arrays)}
    write_store(tmp_path / "good.zarr", arrays, attributes)
    identity, counts = read_map(tmp_path / "good.zarr")
    assert identity == IDENTITY and (counts.cells == CELLS).all()
    assert all((counts.fields[name] == arrays[name]).all() for name in FIELDS)
    for number, (change, words) in enumerate(
        (
            ({"format": "linkwork workspace map 0"}, "expected format .*map 1', got 'linkwork workspace map 0'"),
            ({"digest": "0"}, "it is damaged: its arrays have another digest than it states"),
            ({"map": {**IDENTITY, "seed": 4}}, "it is damaged: its arrays have another digest than it states"),
            ({"map": None}, "expected a dict with the keys version"),
        )
    ):
        store = tmp_path / f"{number}.zarr"
        write_store(store, arrays, {**attributes, **change})
        with pytest.raises(ValueError, match=f"{number}.zarr: not a store that WorkspaceMap.save wrote: {words}"):
            read_map(store)
