"""Disk cache of machine code: stored entries, refusals, and removal by size."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import time
from pathlib import Path

import pytest

from linkwork.compiler.cache import disk_cache as module
from linkwork.compiler.cache.disk_cache import Cache, CacheWarning, Entry

MIB = 1 << 20
NAME = "ab" * 32
ENTRY = Entry({"kernel": "mass_matrix", "seconds": 0.25, "lanes": 4}, bytes(range(256)) * 3)

posix = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX systems")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def cache(cache_folder) -> Cache:
    return Cache(cache_folder, 10 * MIB)


def only_file(cache: Cache) -> Path:
    ((path, _),) = cache.entries()
    return path


def refused(cache: Cache, match: str) -> None:
    """An entry is not loaded, with one warning however often it is asked for, and is good again once stored."""
    with pytest.warns(CacheWarning, match=match) as caught:
        assert cache.load(NAME) is None
    assert len(caught) == 1
    assert caught[0].filename == __file__  # where linkwork was called from
    assert cache.load(NAME) is None


class TestEntries:
    @pytest.mark.parametrize(
        "entry",
        [ENTRY, Entry({}, b""), Entry({"name": "x", "ω": "手\ud800"}, b"\x00"), Entry({"a": [1.5, None]}, b"\n" * MIB)],
    )
    def test_entry_stored_in_the_disk_cache_is_loaded_again(self, cache, entry):
        assert cache.load(NAME) is None
        cache.store(NAME, entry)
        assert cache.load(NAME) == entry
        assert cache.facts(only_file(cache)) == entry.facts

    def test_storing_a_cache_entry_again_replaces_it(self, cache):
        cache.store(NAME, ENTRY)
        cache.store(NAME, Entry({}, b"other"))
        assert cache.load(NAME) == Entry({}, b"other")
        assert len(os.listdir(cache.folder)) == 1

    @posix
    def test_only_the_user_can_read_the_cache_directory_and_its_files(self, cache):
        before = os.umask(0)
        try:
            cache.store(NAME, ENTRY)
        finally:
            os.umask(before)
        assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(only_file(cache).stat().st_mode) == 0o600

    def test_removed_cache_directory_is_created_again(self, cache):
        cache.store(NAME, ENTRY)
        only_file(cache).unlink()
        cache.folder.rmdir()
        assert cache.load(NAME) is None
        assert cache.entries() == []
        cache.store(NAME, ENTRY)
        assert cache.load(NAME) == ENTRY


class TestDamage:
    def test_every_changed_byte_of_a_cache_file_is_detected(self, cache):
        cache.store(NAME, ENTRY)
        path = only_file(cache)
        whole = path.read_bytes()
        for k in range(len(whole)):
            for flip in (0x01, 0x80, 0xFF):
                spoiled = bytearray(whole)
                spoiled[k] ^= flip
                assert module._unpacked(NAME, bytes(spoiled)) is None
        assert module._unpacked(NAME, whole) == ENTRY

    def test_every_changed_length_of_a_cache_file_is_detected(self, cache):
        cache.store(NAME, ENTRY)
        whole = only_file(cache).read_bytes()
        for length in range(len(whole)):
            assert module._unpacked(NAME, whole[:length]) is None
            assert module._unpacked(NAME, whole[:length] + bytes(len(whole) - length)) is None or length == len(whole)
        assert module._unpacked(NAME, whole + b"\0") is None
        assert module._unpacked(NAME, whole + whole) is None

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda data: b"",
            lambda data: bytes(len(data)),
            lambda data: data[:-1],
            lambda data: data[: len(data) // 2],
            lambda data: data[:40],
            lambda data: b"\x7fELF" + data[4:],
            lambda data: data.replace(b"format 1", b"format 2"),
            lambda data: data[:-1] + bytes([data[-1] ^ 1]),
            lambda data: data + b"more",
        ],
    )
    def test_damaged_cache_file_is_refused_with_a_warning_and_replaced(self, cache, spoil):
        cache.store(NAME, ENTRY)
        path = only_file(cache)
        path.write_bytes(spoil(path.read_bytes()))
        assert cache.facts(path) is None
        refused(cache, "is damaged; its code is compiled again")
        cache.store(NAME, ENTRY)
        assert cache.load(NAME) == ENTRY


class TestFilesThatAreNotTrusted:
    def test_renamed_cache_file_is_refused(self, cache):
        cache.store("cd" * 32, ENTRY)
        only_file(cache).rename(cache._path(NAME))
        refused(cache, "is damaged")

    def test_directory_named_as_a_cache_file_is_refused(self, cache):
        cache.folder.mkdir(mode=0o700)
        cache._path(NAME).mkdir()
        refused(cache, "cannot use .*; its code is compiled again")
        with pytest.warns(CacheWarning, match="cannot write to"):
            cache.store(NAME, ENTRY)
        assert os.listdir(cache.folder) == [cache._path(NAME).name]

    @posix
    def test_symbolic_link_named_as_a_cache_file_is_not_followed(self, cache, tmp_path):
        cache.store(NAME, ENTRY)
        only_file(cache).rename(tmp_path / "elsewhere")
        cache._path(NAME).symlink_to(tmp_path / "elsewhere")
        refused(cache, "cannot use")

    @posix
    def test_named_pipe_in_place_of_a_cache_file_is_refused_without_waiting(self, cache):
        cache.folder.mkdir(mode=0o700)
        os.mkfifo(cache._path(NAME), 0o600)
        refused(cache, "it is not a file")

    @posix
    @pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
    def test_cache_file_that_others_can_write_is_refused(self, cache, mode):
        cache.store(NAME, ENTRY)
        only_file(cache).chmod(mode)
        refused(cache, "it is writable by others")
        cache.store(NAME, ENTRY)
        assert cache.load(NAME) == ENTRY

    @root
    def test_cache_file_of_another_user_is_refused(self, cache):
        cache.store(NAME, ENTRY)
        os.chown(only_file(cache), 12345, -1)
        refused(cache, "it belongs to another user")

    @pytest.mark.parametrize("facts", [b"[]", b"{", b"\xff", b"1", b"[" * 100_000])
    def test_cache_file_with_wrong_metadata_is_refused(self, cache, facts):
        label, code = NAME.encode(), b"code"
        body = module._HEAD.pack(len(label), len(facts), len(code)) + label + facts + code
        whole = module._MAGIC + hashlib.sha256(body).digest() + body
        cache.folder.mkdir(mode=0o700)
        cache._path(NAME).write_bytes(whole)
        cache._path(NAME).chmod(0o600)
        refused(cache, "is damaged")

    @pytest.mark.parametrize("body", [b"", bytes(23), bytes(25), b"\xff" * 24])
    def test_cache_file_with_wrong_sizes_in_its_header_is_refused(self, body):
        assert module._unpacked(NAME, module._MAGIC + hashlib.sha256(body).digest() + body) is None


class TestSize:
    def store(self, cache: Cache, names: range, size: int = 1000) -> None:
        """Store entries of some size, one after another."""
        for k in names:
            cache.store(f"{k:064}", Entry({}, bytes(size)))
            os.utime(cache._path(f"{k:064}"), (1e9 + k, 1e9 + k))

    def stored_names(self, cache: Cache) -> list[int]:
        return [int(path.stem) for path, _ in cache.entries()]

    def total(self, cache: Cache) -> int:
        return sum(state.st_size for _, state in cache.entries())

    def test_disk_cache_stays_below_its_maximum_size_and_keeps_the_newest_entries(self, tmp_path):
        cache = Cache(tmp_path / "cache", 20_000)
        for k in range(100):
            self.store(cache, range(k, k + 1), size=500 + 37 * (k % 20))
            assert self.total(cache) <= 20_000
            names = self.stored_names(cache)
            assert names == list(range(names[0], k + 1))
        assert self.total(cache) > 14_000

    def test_least_recently_used_cache_entries_are_removed_first(self, tmp_path):
        self.store(Cache(tmp_path / "cache", MIB), range(10))
        cache = Cache(tmp_path / "cache", 6000)
        assert cache.load(f"{2:064}") is not None
        cache.trim()
        assert self.stored_names(cache) == [7, 8, 9, 2]

    def test_entries_larger_than_the_disk_cache_are_not_stored(self, tmp_path):
        cache = Cache(tmp_path / "cache", 2000)
        self.store(cache, range(1), 1700)  # more than seven eighths
        assert self.stored_names(cache) == [0]
        self.store(cache, range(1, 2), 1750)
        assert self.stored_names(cache) == [1]
        cache.store(NAME, Entry({}, bytes(2000)))
        assert self.stored_names(cache) == [1]
        empty = Cache(tmp_path / "empty", 0)
        empty.store(NAME, ENTRY)
        assert not empty.folder.exists()

    def test_storing_many_cache_entries_lists_the_directory_rarely(self, tmp_path, monkeypatch):
        cache, listings = Cache(tmp_path / "cache", MIB), []
        monkeypatch.setattr(cache, "trim", lambda trim=cache.trim: (listings.append(1), trim()))
        for k in range(400):
            cache.store(f"{k:064}", Entry({}, bytes(1000)))
        assert len(listings) <= 5
        assert len(cache.entries()) == 400

    def test_cache_file_that_cannot_be_removed_stays_without_an_error(self, tmp_path, monkeypatch):
        self.store(Cache(tmp_path / "cache", MIB), range(6))
        cache = Cache(tmp_path / "cache", 3000)
        monkeypatch.setattr(os, "unlink", failing(errno.EBUSY))
        cache.trim()
        assert cache.clear() == (0, 0)
        assert len(cache.entries()) == 6

    def test_unfinished_cache_files_of_dead_processes_are_removed(self, cache):
        cache.store(NAME, ENTRY)
        for name, age in (("old", 3600.0), ("new", 5.0)):
            path = cache.folder / f"{name}.linkwork-part"
            path.write_bytes(b"half an entry")
            os.utime(path, (time.time() - age,) * 2)
        cache.trim()
        assert {path.name for path in cache.folder.iterdir()} == {only_file(cache).name, "new.linkwork-part"}
        assert cache.clear() == (1, len(module._packed(NAME, ENTRY)))
        assert list(cache.folder.iterdir()) == []


def failing(number: int):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


class TestFailures:
    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES])
    @pytest.mark.parametrize("function", ["replace", "mkdir", "open"])
    def test_failed_store_in_the_disk_cache_warns_once_and_leaves_no_file(self, cache, monkeypatch, function, number):
        monkeypatch.setattr(os, function, failing(number))
        with pytest.warns(CacheWarning, match=f"cannot write to .*cache: {os.strerror(number)}") as caught:
            cache.store(NAME, ENTRY)
        assert len(caught) == 1
        cache.store("cd" * 32, ENTRY)  # says nothing more
        monkeypatch.undo()
        assert cache.load(NAME) is None
        assert not cache.folder.exists() or os.listdir(cache.folder) == []

    @posix
    def test_full_disk_leaves_no_partial_cache_file(self, cache):
        import resource

        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.warns(CacheWarning, match="cannot write to .*File too large"):
                cache.store(NAME, Entry({}, bytes(200_000)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert os.listdir(cache.folder) == []

    def test_failed_read_of_the_disk_cache_gives_a_warning(self, cache, monkeypatch):
        cache.store(NAME, ENTRY)
        monkeypatch.setattr(os, "open", failing(errno.EIO))
        refused(cache, "Input/output error")

    def test_cache_file_that_cannot_be_replaced_stays(self, cache, monkeypatch):
        cache.store(NAME, ENTRY)
        monkeypatch.setattr(os, "replace", failing(errno.EACCES))
        cache.store(NAME, ENTRY)
        assert cache.load(NAME) == ENTRY
        assert len(os.listdir(cache.folder)) == 1

    def test_interrupted_store_leaves_no_cache_file(self, cache, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            cache.store(NAME, ENTRY)
        assert os.listdir(cache.folder) == []

    def test_cache_entry_cleared_during_its_store_is_lost_without_an_error(self, cache, monkeypatch):
        move = os.replace
        monkeypatch.setattr(os, "replace", lambda *paths, **at: (cache.clear(), move(*paths, **at)))
        cache.store(NAME, ENTRY)
        assert os.listdir(cache.folder) == []
