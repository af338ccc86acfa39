"""The command `linkwork cache`."""

from __future__ import annotations

import json
import os
import sys

import pytest

import linkwork as lw
from linkwork.compiler.cache import disk_cache as module
from linkwork.compiler.cache.disk_cache import Cache, Entry

MIB = 1 << 20
posix = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX systems")


@pytest.fixture
def cache(monkeypatch, tmp_path) -> Cache:
    """The cache that the command looks at, of three entries."""
    assert lw.wait_for_compiler(300)  # code of earlier tests is stored elsewhere
    monkeypatch.setattr(module, "_warned", set())
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LINKWORK_CACHE_SIZE", raising=False)
    cache = Cache(tmp_path / "cache", 512 * MIB)
    cache.store(
        "a" * 64, Entry({"kernel": "mass_matrix", "robot": "p\x1bq", "lanes": 8, "seconds": 0.25}, bytes(2 * MIB))
    )
    cache.store("b" * 64, Entry({"kernel": "own", "lanes": 4, "seconds": float("nan")}, bytes(1024)))
    cache.store("c" * 64, Entry({}, b""))
    for k, name in enumerate("cab"):
        os.utime(cache.folder / f"{name * 64}.linkwork", (1e9 + k, 1e9 + k))
    return cache


def test_cache_info_prints_the_caches_size_and_largest_entries(linkwork, cache):
    ran = linkwork("cache", "info")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert linkwork("cache").out == ran.out  # a bare word shows it too
    assert lines[:2] == [f"directory  {cache.folder}", "in use     yes"]
    assert lines[2].startswith("holds      3 entries, 2 MiB of at most 512 MiB")
    assert lines[3] == "last used  2001-09-09T01:46:40Z .. 2001-09-09T01:46:42Z"
    assert lines[5].startswith("largest entries  ")
    assert [line.split() for line in lines[7:]] == [
        ["mass_matrix", "p\\x1bq", "8", "2", "MiB", "0.25", "2001-09-09T01:46:41Z"],
        ["own", "-", "4", "1.2", "KiB", "-", "2001-09-09T01:46:42Z"],
        ["-", "-", "-", "0.2", "KiB", "-", "2001-09-09T01:46:40Z"],
    ]


def test_cache_info_leaves_access_times_of_entries_unchanged(linkwork, cache):
    before = [(path, state.st_mtime_ns) for path, state in cache.entries()]
    linkwork("cache", "info")
    assert [(path, state.st_mtime_ns) for path, state in cache.entries()] == before


def test_cache_info_prints_the_same_content_as_json(linkwork, cache):
    ran = linkwork("cache", "info", "--json")
    assert (ran.code, ran.err) == (0, "")
    data = json.loads(ran.out, parse_constant=pytest.fail)
    largest = data.pop("largest")
    assert data == {
        "linkwork": lw.__version__,
        "directory": str(cache.folder),
        "in_use": True,
        "refused": None,
        "entries": 3,
        "bytes": sum(state.st_size for _, state in cache.entries()),
        "max_bytes": 512 * MIB,
        "oldest_use": "2001-09-09T01:46:40Z",
        "newest_use": "2001-09-09T01:46:42Z",
    }
    assert largest[0] == {
        "file": f"{'a' * 64}.linkwork",
        "damaged": False,
        "bytes": (cache.folder / f"{'a' * 64}.linkwork").stat().st_size,
        "last_use": "2001-09-09T01:46:41Z",
        "kernel": "mass_matrix",
        "robot": "p\x1bq",
        "lanes": 8,
        "seconds": 0.25,
    }
    assert [entry["robot"] for entry in largest] == ["p\x1bq", None, None]


def test_cache_info_shows_the_ten_largest_entries(linkwork, cache):
    for k in range(12):
        cache.store(f"{k:064}", Entry({"kernel": f"k{k}"}, bytes(10 * k)))
    largest = json.loads(linkwork("cache", "info", "--json").out)["largest"]
    assert len(largest) == 10
    assert [entry["kernel"] for entry in largest[:4]] == ["mass_matrix", "own", "k11", "k10"]


def test_cache_info_marks_damaged_entries(linkwork, cache):
    (cache.folder / f"{'a' * 64}.linkwork").write_bytes(bytes(3 * MIB))
    ran = linkwork("cache", "info")
    assert (ran.code, ran.err) == (0, "")
    assert any(line.startswith("(damaged)") for line in ran.out.splitlines())
    assert json.loads(linkwork("cache", "info", "--json").out)["largest"][0]["damaged"] is True


def test_cache_clear_removes_all_entries_and_no_other_files(linkwork, cache):
    (cache.folder / "mine.txt").write_text("not an entry")
    (cache.folder / "left.linkwork-part").write_text("of a dead writer")
    ran = linkwork("cache", "clear")
    assert (ran.code, ran.out, ran.err) == (0, f"removed 3 entries, 2 MiB, from {cache.folder}\n", "")
    assert os.listdir(cache.folder) == ["mine.txt"]
    assert linkwork("cache", "clear").out.startswith("removed 0 entries, 0 KiB")
    cache.store("d" * 64, Entry({}, b""))
    size = cache.entries()[0][1].st_size
    data = json.loads(linkwork("cache", "clear", "--json").out)
    assert data == {"linkwork": lw.__version__, "directory": str(cache.folder), "removed": 1, "bytes": size}


def test_cache_commands_succeed_if_the_cache_directory_does_not_exist(linkwork, cache, monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "new"))
    ran = linkwork("cache", "info")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1:] == [
        "in use     yes",
        "holds      0 entries, 0 KiB of at most 512 MiB",
        "last used  -",
    ]
    assert linkwork("cache", "clear").code == 0
    assert not (tmp_path / "new").exists()


def test_cache_commands_report_that_the_cache_is_switched_off(linkwork, cache, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    assert "in use     no: it is switched off by LINKWORK_CACHE\n" in linkwork("cache", "info").out
    ran = linkwork("cache", "clear")
    assert (ran.code, ran.out) == (0, "nothing to clear: it is switched off by LINKWORK_CACHE\n")
    data = json.loads(linkwork("cache", "clear", "--json").out)
    assert (data["directory"], data["removed"]) == (None, 0)
    assert len(cache.entries()) == 3


@posix
def test_cache_clear_does_not_touch_a_directory_writable_by_others(linkwork, cache):
    cache.folder.chmod(0o777)
    reason = f"{cache.folder} is writable by others: run chmod go-w on it"
    ran = linkwork("cache", "info")
    assert (ran.code, ran.err) == (0, "")
    assert f"in use     no: {reason}\n" in ran.out
    data = json.loads(linkwork("cache", "info", "--json").out)
    assert (data["in_use"], data["refused"], data["entries"]) == (False, reason, 0)
    ran = linkwork("cache", "clear")
    assert (ran.code, ran.out, ran.err) == (1, "", f"linkwork: error: the cache is not cleared: {reason}\n")
    assert len(cache.entries()) == 3


@pytest.mark.slow(every=5)
def test_warnings_of_cache_commands_do_not_quote_source_lines(process, tmp_path):
    ran = process("cache", "info", LINKWORK_CACHE=str(tmp_path), LINKWORK_CACHE_SIZE="many")
    assert ran.returncode == 0
    assert ran.stderr.decode().splitlines() == [
        "linkwork: warning: cache of machine code: LINKWORK_CACHE_SIZE: expected a number of MiB, got 'many'; using 512"
    ]


@pytest.mark.parametrize("arguments", [("cache", "burn"), ("cache", "info", "clear")])
def test_wrong_usage_of_cache_is_refused(linkwork, arguments):
    ran = linkwork(*arguments)
    assert (ran.code, ran.out) == (2, "")
