"""The disk cache of machine code: what is kept, what is refused, and when it goes."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from linkwork.compiler import cache as module
from linkwork.compiler.cache import Cache, CacheWarning, Entry

MIB = 1 << 20
NAME = "ab" * 32
ENTRY = Entry({"kernel": "mass_matrix", "seconds": 0.25, "lanes": 4}, bytes(range(256)) * 3)

posix = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX systems")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """A process that has warned of nothing yet, and whose environment names a directory that is not there."""
    monkeypatch.setattr(module, "_warned", set())
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LINKWORK_CACHE_SIZE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path / "cache", 10 * MIB)


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
    def test_round_trip(self, cache, entry):
        assert cache.load(NAME) is None
        cache.store(NAME, entry)
        assert cache.load(NAME) == entry
        assert cache.facts(only_file(cache)) == entry.facts

    def test_storing_again_replaces(self, cache):
        cache.store(NAME, ENTRY)
        cache.store(NAME, Entry({}, b"other"))
        assert cache.load(NAME) == Entry({}, b"other")
        assert len(os.listdir(cache.folder)) == 1

    @posix
    def test_the_directory_and_the_files_are_the_users_alone(self, cache):
        before = os.umask(0)
        try:
            cache.store(NAME, ENTRY)
        finally:
            os.umask(before)
        assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(only_file(cache).stat().st_mode) == 0o600

    def test_a_directory_that_was_removed_is_made_again(self, cache):
        cache.store(NAME, ENTRY)
        only_file(cache).unlink()
        cache.folder.rmdir()
        assert cache.load(NAME) is None
        assert cache.entries() == []
        cache.store(NAME, ENTRY)
        assert cache.load(NAME) == ENTRY


class TestDamage:
    def test_every_byte_that_is_changed_is_noticed(self, cache):
        cache.store(NAME, ENTRY)
        path = only_file(cache)
        whole = path.read_bytes()
        for k in range(len(whole)):
            for flip in (0x01, 0x80, 0xFF):
                spoiled = bytearray(whole)
                spoiled[k] ^= flip
                assert module._unpacked(NAME, bytes(spoiled)) is None
        assert module._unpacked(NAME, whole) == ENTRY

    def test_every_length_is_noticed(self, cache):
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
    def test_a_damaged_file_is_refused_with_a_warning_and_replaced(self, cache, spoil):
        cache.store(NAME, ENTRY)
        path = only_file(cache)
        path.write_bytes(spoil(path.read_bytes()))
        assert cache.facts(path) is None
        refused(cache, "is damaged; its code is made anew")
        cache.store(NAME, ENTRY)
        assert cache.load(NAME) == ENTRY
