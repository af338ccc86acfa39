"""Arrays in archive files: restored to the bit, and files that are no archives."""

from __future__ import annotations

import json
import os
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import motion, simulation
from linkwork._util import npz_archive as archive
from linkwork._util.file_access import opened_regular, replaced
from linkwork._util.npz_archive import OtherFileError, npz_path, open_archive, write_archive

_FORMAT = "linkwork test 1"


def _said(x: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(x).encode(), dtype=np.uint8)


def test_arrays_read_from_an_npz_archive_equal_the_written_arrays_bit_for_bit(tmp_path: Path) -> None:
    where = npz_path("save", tmp_path / "found.npz")
    arrays = {
        "x": np.array([0.1, -0.0, np.nan, np.inf]),
        "search.y": np.zeros((0, 3)),
        "flags": np.array([True, False]),
    }
    write_archive(where, {"format": _FORMAT, "lead": [2, 3], "none": None}, arrays)
    with open_archive(where, _FORMAT, "Test.save") as reader:
        assert reader.said == {"format": _FORMAT, "lead": [2, 3], "none": None} and {*reader.names} == {*arrays}
        results = {name: reader.array(name, kind="any", finite=False) for name in reader.names}
        assert [*reader.group("search")] == ["y"] and "x" in reader and "said" not in reader
        for name, x in arrays.items():
            assert (results[name].dtype, results[name].shape) == (x.dtype, x.shape)
            assert results[name].tobytes() == x.tobytes(), name


def test_files_that_are_not_npz_archives_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"save: path: expected a file named \.npz, got '.*found\.csv'"):
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
        "a compressed array": lambda: np.savez_compressed(where, said=_said({"format": _FORMAT}), x=np.zeros(10**6)),
        "an array is missing": lambda: write_archive(where, {"format": _FORMAT}, {"y": x}),
    }
    for name, write in wrong.items():
        write()
        with (
            pytest.raises(ValueError, match=r"found\.npz: not a file that Test\.save wrote"),
            open_archive(where, _FORMAT, "Test.save") as reader,
        ):
            assert reader.array("x") is not None, name
    with pytest.raises(FileNotFoundError, match=r"none.npz"), open_archive(tmp_path / "none.npz", _FORMAT, "Test.save"):
        pass


@pytest.mark.slow(every=3)
def test_reading_a_saved_file_of_another_kind_is_refused_after_opening_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kind and content of a file are read in one opening; an undamaged file of another robot has its own error."""
    where = npz_path("save", tmp_path / "found.npz")
    write_archive(where, {"format": _FORMAT}, {})
    with (
        pytest.raises(ValueError, match=r"found\.npz: it is of another robot$"),
        open_archive(where, _FORMAT, "Test.save"),
    ):
        raise OtherFileError("it is of another robot")
    opened: list[Path] = []

    def counted(path: Path) -> Any:
        opened.append(path)
        return opened_regular(path)

    monkeypatch.setattr(archive, "opened_regular", counted)
    own_robot, foreign_robot = lw.load("double_pendulum"), lw.load("arm6")
    simulated = own_robot.simulate([0.1, 0.1], duration=0.002, dt=1e-3)
    simulated.save(where)
    assert (simulation.Simulation.load(where, robot=own_robot).q == simulated.q).all() and len(opened) == 1
    with pytest.raises(ValueError, match=r"found\.npz: q_names are .*, but those of robot 'arm6' are"):
        simulation.Simulation.load(where, robot=foreign_robot)
    opened.clear()
    line = motion.Trajectory.polynomial([0.0, 1.0], [[[0.0, 1.0], [0.0, 0.5]]], robot=own_robot)
    line.save(where)
    assert (motion.Trajectory.load(where, robot=own_robot)(0.5).q == line(0.5).q).all() and len(opened) == 1
    for robot, said in ((foreign_robot, "q_names are"), (None, "a trajectory of a robot: pass that robot as robot=")):
        with pytest.raises(ValueError, match=rf"found\.npz: {said}"):
            motion.Trajectory.load(where, robot=robot)


def _bytes_of(x: np.ndarray) -> bytes:
    file = BytesIO()
    np.save(file, x)
    return file.getvalue()


def test_npz_archives_with_arrays_of_wrong_shape_or_type_raise_errors(tmp_path: Path) -> None:
    where = tmp_path / "found.npz"
    arrays = {
        "x": np.array([[1.0, 2.0], [3.0, np.nan]]),
        "n": np.array([3, 4]),
        "falling": np.array([2.0, 1.0]),
        "flag": np.array([True]),
        "text": np.array(["a"]),
    }
    write_archive(where, {"format": _FORMAT, "k": 1.5, "b": 1, "t": [1], "big": 10**400}, arrays)
    wrong: list[tuple[str, Any]] = [
        ("'x': expected finite numbers, got nan", lambda r: r.array("x", (2, 2))),
        (r"'x': expected the shape \(3, n\), got \(2, 2\)", lambda r: r.array("x", (3, "n"))),
        ("'x': expected the shape", lambda r: (r.array("n", ("m",)), r.array("x", ("m", 3)))),
        ("'n': expected numbers >= 4, got 3", lambda r: r.array("n", least=4)),
        ("'n': expected numbers <= 3, got 4", lambda r: r.array("n", most=3)),
        ("'falling': expected non-decreasing numbers", lambda r: r.array("falling", ordered=True)),
        ("'flag': expected numbers, got bool", lambda r: r.array("flag")),
        ("'x': expected integers, got float64", lambda r: r.array("x", kind="integer")),
        ("'text': expected any, got <U1", lambda r: r.array("text", kind="any")),
        ("'none' is missing", lambda r: r.array("none")),
        ("'none' is missing", lambda r: r.text("none")),
        ("k: expected an integer from 0 to", lambda r: r.integer("k", 0)),
        ("k: expected a string, got 1.5", lambda r: r.text("k")),
        ("b: expected true or false, got 1", lambda r: r.boolean("b")),
        ("t: expected a list of strings", lambda r: r.texts("t")),
        ("big: expected a finite number", lambda r: r.number("big")),
    ]
    for said, read in wrong:
        with (
            pytest.raises(ValueError, match=rf"found\.npz: not a file that Test\.save wrote: .*{said}"),
            open_archive(where, _FORMAT, "Test.save") as reader,
        ):
            read(reader)


def test_npz_header_that_claims_more_data_than_the_file_has_allocates_no_memory(tmp_path: Path) -> None:
    where, x = tmp_path / "found.npz", np.zeros(4)
    content = _bytes_of(x)
    for shape in ("(4000000000000,)", "(-4,)", "(2, 3)", "(" + "1000000," * 4 + ")"):
        head = content.replace(b"(4,)", shape.encode()) if len(shape) == 4 else _with_shape(content, shape)
        with zipfile.ZipFile(where, "w") as file:
            file.writestr("said.npy", _bytes_of(_said({"format": _FORMAT})))
            file.writestr("x.npy", head)
        with (
            pytest.raises(ValueError, match=r"found\.npz: not a file that Test\.save wrote"),
            open_archive(where, _FORMAT, "Test.save") as reader,
        ):
            reader.array("x")


def _with_shape(array: bytes, shape: str) -> bytes:
    """The bytes of an array (4,) whose head says another shape, in as many bytes."""
    begin, end = array.index(b"'shape': "), array.index(b"\n")
    text = f"'shape': {shape}, }}".encode()
    return array[:begin] + text + b" " * (end - begin - len(text)) + array[end:]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="of POSIX systems")
def test_npz_archives_are_read_from_and_written_to_regular_files_only(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "folder.npz").mkdir()
    for name, kind in (("pipe.npz", "a pipe"), ("folder.npz", "a directory")):
        with (
            pytest.raises(ValueError, match=f"expected a regular file, got {kind}"),
            open_archive(tmp_path / name, _FORMAT, "Test.save"),
        ):
            pass
        with pytest.raises(ValueError, match=f"expected the path of a regular file, got .*, which is {kind}"):
            write_archive(tmp_path / name, {"format": _FORMAT}, {})
    assert {path.name for path in tmp_path.iterdir()} == {"pipe.npz", "folder.npz"}


def test_failed_write_of_an_npz_archive_leaves_the_previous_file_unchanged(tmp_path: Path) -> None:
    where = tmp_path / "found.npz"
    write_archive(where, {"format": _FORMAT}, {"x": np.arange(3.0)})
    before = where.read_bytes()

    class Full:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_archive(where, {"format": _FORMAT}, {"x": np.arange(3.0), "y": Full()})
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):  # an error after "x" is written
        write_archive(where, {"format": _FORMAT}, {"x": np.zeros(3), "y": np.array([{}], dtype=object)})
    assert where.read_bytes() == before and [*tmp_path.iterdir()] == [where]
    with pytest.raises(FileExistsError, match=r"found.npz: the file exists already"), replaced(where, overwrite=False):
        pass
    with replaced(tmp_path / "new.txt", text=True, overwrite=False) as file:
        file.write("a\n")
    assert (tmp_path / "new.txt").read_text(encoding="utf-8") == "a\n"


def test_replaced_file_keeps_its_permissions_and_the_symbolic_link_to_it(tmp_path: Path) -> None:
    where = tmp_path / "found.npz"
    write_archive(where, {"format": _FORMAT}, {"x": np.arange(3.0)})
    os.chmod(where, 0o640)  # Windows has one of these permissions, of writing
    before, mode = where.read_bytes(), where.stat().st_mode
    link = tmp_path / "link.npz"
    link.symlink_to(where)
    write_archive(link, {"format": _FORMAT}, {"x": np.zeros(5)})
    assert link.is_symlink() and where.read_bytes() != before and where.stat().st_mode == mode


def test_existing_files_are_not_replaced_on_file_systems_without_hard_links(tmp_path, monkeypatch):
    def link(source, target):
        raise FileExistsError(target) if target.exists() else OSError("no hard links")

    monkeypatch.setattr("os.link", link)
    target = tmp_path / "file"
    with replaced(target, overwrite=False) as file:
        file.write(b"first")
    assert target.read_bytes() == b"first" and [*tmp_path.iterdir()] == [target]
    late = tmp_path / "late"

    def write() -> None:
        with replaced(late, overwrite=False) as file:
            late.write_bytes(b"by another program")
            file.write(b"second")

    with pytest.raises(FileExistsError, match="late"):
        write()
    assert late.read_bytes() == b"by another program" and sorted(tmp_path.iterdir()) == [target, late]


def _stored(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", compression) as written:
        for name, data in members:
            written.writestr(name, data)
    return file.getvalue()


def _read_all(data: bytes) -> None:
    reader = archive.ArchiveReader(BytesIO(data), len(data), _FORMAT)
    for name in reader.names:
        reader.array(name, kind="any", finite=False)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_damaged_archives_name_the_array_and_the_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of a file are changed one at a time: the unchanged file is read."""
    said = ("said.npy", _bytes_of(_said({"format": _FORMAT, "count": 3, "flag": 1, "names": ["a", 2]})))
    x, flags = ("x.npy", _bytes_of(np.arange(3.0))), ("b.npy", _bytes_of(np.array([True, False])))
    _read_all(_stored([said, x, flags]))
    other_flags = ("b.npy", flags[1][:-1] + b"\x02")
    newer = ("x.npy", x[1][:6] + b"\x03" + x[1][7:])
    longer = ("x.npy", x[1] + b"\0")
    whole = _stored([said, x])
    cut = whole.replace(x[1][-8:], x[1][-8:][::-1], 1)
    for data, message in (
        (_stored([said, x, x]), "two arrays are named 'x'"),
        (
            _stored([said, x], zipfile.ZIP_DEFLATED),
            "array 'said' is compressed or encrypted; expected arrays as numpy.savez",
        ),
        (_stored([said, newer]), r"array 'x': unknown version \(3, 0\) of NumPy's format"),
        (_stored([said, other_flags]), r"array 'b': expected booleans \(bytes 0 and 1\), got other bytes"),
        (_stored([said, longer]), r"array 'x': shape \(3,\) of float64 does not match the number of bytes"),
        (cut, "Bad CRC-32 for file 'x.npy'"),
    ):
        with pytest.raises((ValueError, zipfile.BadZipFile), match=message):
            _read_all(data)
    with pytest.raises(ValueError, match="its arrays would be larger than the file"):
        archive.ArchiveReader(BytesIO(whole), sum(len(data) for _, data in (said, x)) - 1, _FORMAT)
    archive.ArchiveReader(BytesIO(whole), sum(len(data) for _, data in (said, x)), _FORMAT)
    for limit, value, message in (
        ("_MAX_MEMBERS", 1, "2 arrays are more than the limit of 1"),
        ("_MAX_TEXT", len(said[1]) - 1, f"array 'said': more bytes than the limit of {len(said[1]) - 1}"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(archive, limit, value)
            with pytest.raises(ValueError, match=message):
                _read_all(whole)
            changed.setattr(archive, limit, value + 1)
            _read_all(whole)


def test_values_of_the_header_of_an_archive_have_a_type_and_a_range() -> None:
    header = {"format": _FORMAT, "n": 3, "x": 0.5, "big": 10**400, "flag": True, "names": ["a", 2], "list": [1, 2]}
    data = _stored([("said.npy", _bytes_of(_said(header)))])
    reader = archive.ArchiveReader(BytesIO(data), len(data), _FORMAT)
    assert reader.integer("n", 3, 3) == 3 and reader.number("x", 0.5) == 0.5 and reader.boolean("flag") is True
    assert reader.texts("none", ["b"]) == ["b"] and reader.boolean("none", False) is False
    assert reader.integers("list", 1, 2) == [1, 2] and reader.text("format") == _FORMAT
    for read, message in (
        (lambda: reader.integer("n", 4), "n: expected an integer from 4 to 2147483648, got 3"),
        (lambda: reader.integer("n", 0, 2), "n: expected an integer from 0 to 2, got 3"),
        (lambda: reader.integer("flag", 0), "flag: expected an integer"),
        (lambda: reader.number("x", 0.51), "x: expected a finite number >= 0.51, got 0.5"),
        (lambda: reader.number("big"), "big: expected a finite number"),
        (lambda: reader.boolean("n"), "n: expected true or false, got 3"),
        (lambda: reader.texts("names"), r"names: expected a list of strings, got \['a', 2\]"),
        (lambda: reader.text("n"), "n: expected a string, got 3"),
        (lambda: reader.integers("list", 2), r"list: expected a list of integers from 2 to 2147483648, got \[1, 2\]"),
    ):
        with pytest.raises(ValueError, match=message):
            read()
