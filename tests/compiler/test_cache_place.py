"""Where the disk cache of machine code lies, when it is not used, and what its entries are named by."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import errors
from linkwork.compiler.cache import own_files
from linkwork.compiler.cache import secure_directory as private
from linkwork.compiler.cache.disk_cache import CacheWarning, Entry, cache_location, digest, directory, shared
from linkwork.compiler.codegen import cpu_backend
from linkwork.compiler.codegen.cpu_backend import CPUBackend, host_backend
from linkwork.compiler.codegen.target import host
from linkwork.compiler.runtime import fastcall

MIB = 1 << 20
ENTRY = Entry({"kernel": "mass_matrix"}, b"code")

posix = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX systems")
linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems have other places")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
pytestmark = pytest.mark.usefixtures("cache_folder")


def refused(match: str) -> None:
    """There is no cache, which is said once."""
    with pytest.warns(CacheWarning, match=f"^cache of machine code: not used: .*{match}") as caught:
        assert shared() is None
    assert shared() is None
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert cache_location().refused


class TestDirectory:
    def test_a_directory_that_is_named(self, cache_folder):
        assert directory() == cache_folder
        cache = shared()
        assert cache is not None and cache is shared()
        assert (cache.folder, cache.max_bytes) == (cache_folder, 512 * MIB)
        assert not cache_folder.exists()
        cache.store("a", ENTRY)
        assert cache_folder.is_dir()

    @pytest.mark.parametrize("off", ["off", "OFF", "Off"])
    def test_off(self, monkeypatch, off):
        monkeypatch.setenv("LINKWORK_CACHE", off)
        assert directory() is None
        assert shared() is None  # without a warning
        assert cache_location().off and cache_location().refused

    def test_a_relative_path_is_one_from_here(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("LINKWORK_CACHE", os.path.join("some", "cache_location"))
        assert directory() == tmp_path / "some" / "cache_location"
        shared().store("a", ENTRY)
        assert shared().load("a") == ENTRY

    @linux
    @pytest.mark.parametrize("asked", ["", None])
    def test_the_usual_place(self, monkeypatch, tmp_path, asked):
        monkeypatch.delenv("LINKWORK_CACHE") if asked is None else monkeypatch.setenv("LINKWORK_CACHE", asked)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert directory() == tmp_path / ".cache" / "linkwork"
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert directory() == tmp_path / "xdg" / "linkwork"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, its specification says
        assert directory() == tmp_path / ".cache" / "linkwork"
        monkeypatch.setenv("LINKWORK_CACHE", "~/mine")
        assert directory() == tmp_path / "mine"

    @pytest.mark.parametrize("system", ["win32", "darwin"])
    def test_the_usual_place_elsewhere(self, monkeypatch, tmp_path, system):
        monkeypatch.setattr(sys, "platform", system)
        monkeypatch.delenv("LINKWORK_CACHE")
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
        monkeypatch.setenv("HOME", str(tmp_path))
        expected = tmp_path / ("linkwork/cache" if system == "win32" else "Library/Caches/linkwork")
        assert directory() == expected

    def test_no_home(self, monkeypatch):
        def homeless(cls):
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.delenv("LINKWORK_CACHE")
        for name in ("HOME", "LOCALAPPDATA", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(Path, "home", classmethod(homeless))
        refused("it has no directory: Could not determine home directory")

    @linux
    @pytest.mark.parametrize("asked", ["", "~/mine"])
    def test_a_relative_home_is_none(self, monkeypatch, tmp_path, asked):
        """What is below it would be another directory after each change of the current one."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", "here")
        monkeypatch.setenv("LINKWORK_CACHE", asked)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        refused("the home directory 'here' is not an absolute path; set LINKWORK_CACHE to another directory")
        assert not [*tmp_path.iterdir()]

    @posix
    def test_the_home_of_nobody(self, monkeypatch):
        monkeypatch.setenv("LINKWORK_CACHE", "~no-such-user-here/cache")
        refused("it has no directory")

    @linux
    def test_a_current_directory_that_is_gone(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "gone").mkdir()
        os.chdir("gone")
        (tmp_path / "gone").rmdir()
        monkeypatch.setenv("LINKWORK_CACHE", "relative")
        refused("it has no directory: No such file")

    def test_a_file(self, cache_folder):
        cache_folder.write_text("mine")
        refused("cache is not a directory")
        assert cache_folder.read_text() == "mine"

    @posix
    @pytest.mark.parametrize("name", ["under/a/file", "x" * 5000])
    def test_a_path_that_cannot_be(self, monkeypatch, tmp_path, name):
        (tmp_path / "under").write_text("a file")
        monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / name))
        refused("cannot be used: (Not a directory|File name too long)")

    @linux
    def test_a_place_where_nothing_can_be_made(self, monkeypatch):
        monkeypatch.setenv("LINKWORK_CACHE", "/proc/linkwork")
        with pytest.warns(CacheWarning, match="cannot write to /proc/linkwork") as caught:
            shared().store("a", ENTRY)
        assert len(caught) == 1
        shared().store("b", ENTRY)
        assert shared().load("a") is None


@posix
class TestOwners:
    @pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
    def test_a_directory_that_others_may_write_to(self, cache_folder, mode):
        shared().store("a", ENTRY)
        cache_folder.chmod(mode)
        refused("is writable by others: run chmod go-w on it")
        cache_folder.chmod(0o755)
        assert shared().load("a") == ENTRY

    @root
    def test_a_directory_of_someone_else(self, cache_folder):
        cache_folder.mkdir(mode=0o700)
        os.chown(cache_folder, 12345, -1)
        refused("belongs to another user")

    @root
    def test_a_directory_that_root_filled_for_all_users(self, cache_folder, monkeypatch):
        shared().store("a", ENTRY)
        monkeypatch.setattr(private.os, "geteuid", lambda: 12345)
        assert shared().load("a") == ENTRY

    def test_a_directory_that_cannot_be_read(self, cache_folder, monkeypatch):
        """Such as one that root filled for itself."""
        shared().store("a", ENTRY)
        stat = os.stat

        def refusing(path, **options):
            if str(path).startswith(f"{cache_folder}{os.sep}"):
                raise PermissionError(13, "Permission denied", str(path))
            return stat(path, **options)

        monkeypatch.setattr(os, "stat", refusing)
        assert "a" not in shared()

    def test_a_link_to_a_directory_of_ones_own(self, cache_folder, tmp_path):
        (tmp_path / "large").mkdir(mode=0o700)
        cache_folder.symlink_to(tmp_path / "large")
        shared().store("a", ENTRY)
        assert shared().load("a") == ENTRY

    @root
    @pytest.mark.parametrize("theirs", ["link", "directory"])
    def test_links_and_someone_else(self, cache_folder, tmp_path, theirs):
        (tmp_path / "large").mkdir(mode=0o700)
        cache_folder.symlink_to(tmp_path / "large")
        os.lchown(cache_folder if theirs == "link" else tmp_path / "large", 12345, -1)
        refused("belongs to another user")

    @pytest.mark.parametrize("mode", [0o777, 0o757, 0o775])
    def test_a_directory_on_the_way_that_others_may_write_to(self, monkeypatch, tmp_path, mode):
        inside = tmp_path / "shared" / "mine" / "cache"
        inside.mkdir(parents=True, mode=0o700)
        monkeypatch.setenv("LINKWORK_CACHE", str(inside))
        shared().store("a", ENTRY)
        monkeypatch.setattr(private, "_is_own_group", lambda group: False)
        (tmp_path / "shared").chmod(mode)
        refused("its parent directory .*shared is writable by others")
        (tmp_path / "shared").chmod(0o1777)  # as /tmp is: nobody can put something else in the place of "mine"
        assert shared().load("a") == ENTRY

    @root
    def test_a_directory_on_the_way_of_someone_else(self, monkeypatch, tmp_path):
        inside = tmp_path / "theirs" / "cache"
        inside.mkdir(parents=True, mode=0o700)
        monkeypatch.setenv("LINKWORK_CACHE", str(inside))
        os.chown(tmp_path / "theirs", 12345, -1)
        refused("its parent directory .*theirs belongs to another user")

    @root
    def test_a_link_on_the_way_of_someone_else(self, monkeypatch, tmp_path):
        (tmp_path / "real" / "cache").mkdir(parents=True, mode=0o700)
        (tmp_path / "link").symlink_to("real")
        monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "link" / "cache"))
        shared().store("a", ENTRY)
        assert (tmp_path / "real" / "cache" / f"{'a'}.linkwork").exists()
        os.lchown(tmp_path / "link", 12345, -1)
        refused("link belongs to another user")

    def test_links_that_lead_round(self, monkeypatch, tmp_path):
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to(tmp_path / "a")
        monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "a" / "cache"))
        refused("cannot be used: Too many levels")

    def test_a_directory_that_takes_the_place_of_the_one_that_was_looked_at(self, cache_folder, tmp_path):
        shared().store("a", ENTRY)
        with private.opened(cache_folder) as here:
            cache_folder.rename(tmp_path / "away")
            cache_folder.mkdir(mode=0o777)
            here.write("b", b"what is written")
            here.move("b", "c")
            assert here.read("c") == b"what is written"
        assert os.listdir(cache_folder) == [] and (tmp_path / "away" / "c").exists()

    def test_a_group_of_ones_own_is_nobody_else(self, monkeypatch):
        assert not private._is_own_group(os.geteuid() + 1)

    def test_a_link_to_nowhere(self, cache_folder, tmp_path):
        cache_folder.symlink_to(tmp_path / "nowhere")
        with pytest.warns(CacheWarning, match="cannot write to"):
            shared().store("a", ENTRY)

    def test_a_directory_that_someone_made_meanwhile(self, cache_folder):
        cache = shared()
        cache_folder.mkdir()
        cache_folder.chmod(0o777)
        with pytest.warns(CacheWarning, match="is writable by others"):
            cache.store("a", ENTRY)
        assert os.listdir(cache_folder) == []


class TestSize:
    @pytest.mark.parametrize("asked", ["-1", "nan", "inf", "1e400", "1e308", "many", "0x10", " "])
    def test_one_that_makes_no_sense_is_the_usual(self, monkeypatch, asked):
        monkeypatch.setenv("LINKWORK_CACHE_SIZE", asked)
        with pytest.warns(CacheWarning, match="LINKWORK_CACHE_SIZE: expected a number of MiB, got") as caught:
            assert shared().max_bytes == shared().max_bytes == 512 * MIB
        assert len(caught) == 1

    @pytest.mark.parametrize(
        ("asked", "size"), [("", 512 * MIB), ("0", 0), ("-0", 0), ("1", MIB), ("0.5", MIB // 2), ("1e9", 10**9 * MIB)]
    )
    def test_one_that_does(self, monkeypatch, asked, size):
        monkeypatch.setenv("LINKWORK_CACHE_SIZE", asked)
        assert shared().max_bytes == size


class TestWarnings:
    def test_the_class_is_public(self):
        assert errors.CacheWarning is CacheWarning
        assert issubclass(CacheWarning, UserWarning)

    def test_one_made_an_error_is_raised_once(self, cache_folder):
        cache_folder.write_text("a file")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(CacheWarning, match="cache is not a directory"):
                shared()
            assert shared() is None


PROGRAM = """
from linkwork.compiler.cache.disk_cache import digest
from linkwork.compiler.codegen.cpu_backend import host_backend
print(digest(["robot", "function"], host_backend().target))
"""


def target() -> tuple[str, ...]:
    return host_backend().target


class TestDigest:
    @pytest.mark.slow(every=3)
    def test_it_is_the_same_in_every_process(self):
        expected = digest(["robot", "function"], target())
        assert len(expected) == 64 and set(expected) <= set("0123456789abcdef")
        for seed in ("0", "1"):
            environment = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": "C", "LINKWORK_CACHE": "off"}
            ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True)
            assert ran.stdout.decode().strip() == expected

    def test_parts_are_not_mixed_up(self):
        parts = [[], [""], ["", ""], ["a", "b"], ["ab"], ["b", "a"], ['a", "b'], ["a\x00b"], ["\ud800"], ["ä"]]
        assert len({digest(p, target()) for p in parts}) == len(parts)
        assert digest(iter(["a", "b"]), target()) == digest(("a", "b"), target())

    @pytest.mark.parametrize(
        "change", [{"triple": "x86_64-none"}, {"cpu": "i386"}, {"features": "+none"}, {"lanes": 1}, {"fma": None}]
    )
    def test_the_processor_counts(self, change):
        assert digest(["a"], CPUBackend(replace(host(), **change)).target) != digest(["a"], target())

    @pytest.mark.parametrize("change", [{"llvmlite": "0.0.0"}, {"llvm": "(1, 2, 3)"}])
    def test_the_versions_of_llvm_count(self, monkeypatch, change):
        before, other = digest(["a"], target()), cpu_backend.processor()._replace(**change)
        monkeypatch.setattr(cpu_backend, "processor", lambda: other)
        assert digest(["a"], target()) != before

    @pytest.mark.parametrize(
        ("owner", "name", "value"),
        [
            (lw, "__version__", "0.0.0"),
            (np, "__version__", "0.0.0"),
            (sys, "platform", "amiga"),
            (sys.implementation, "cache_tag", "cpython-30"),
            (fastcall, "available", lambda: None),
            (own_files, "_FILES_WHEN_IMPORTED", "others"),
            (own_files, "_own_files", lambda: "others"),
        ],
    )
    def test_everything_around_counts(self, monkeypatch, owner, name, value):
        before = digest(["a"], target())
        monkeypatch.setattr(owner, name, value)
        assert digest(["a"], target()) != before

    def test_linkworks_own_files_count(self, monkeypatch, tmp_path):
        inner = tmp_path / "package" / "compiler"
        inner.mkdir(parents=True)
        source, other = inner / "cache.py", tmp_path / "package" / "x.py"
        source.write_text("a = 1")
        monkeypatch.setattr(own_files, "__file__", str(source))
        states = [own_files._own_files()]

        def changed() -> bool:
            states.append(own_files._own_files())
            return states[-1] not in states[:-1]

        assert not changed()
        source.write_text("a = 22")
        assert changed()
        other.write_text("")
        assert changed()
        os.utime(other, ns=(0, 1))  # of the same size
        assert changed()
        other.rename(inner / "x.py")
        assert changed()
        (inner / "__pycache__").mkdir()
        (inner / "__pycache__" / "x.pyc").write_text("compiled")
        (inner / "notes.txt").write_text("no code")
        assert not changed()

    def test_fractions_of_seconds_do_not_count(self, tmp_path):
        """Images of containers drop them."""
        file = tmp_path / "x.py"
        file.write_text("")
        texts = []
        for nanoseconds in (5 * 10**9, 5 * 10**9 + 7, 6 * 10**9):
            os.utime(file, ns=(0, nanoseconds))
            texts.append(own_files._text_of([(str(file), file.stat())], 10**9))
        assert texts[0] == texts[1] != texts[2]

    def test_files_that_may_change_again_within_their_second(self, monkeypatch, tmp_path):
        """Two changes within a second may leave size and time in seconds equal, so names are not shared until then."""
        file = tmp_path / "x.py"
        file.write_text("")
        os.utime(file, ns=(0, 5 * 10**9 + 7))
        settled = own_files._settled([(str(file), file.stat())])
        assert 6 * 10**9 < settled < 7 * 10**9
        now, processes = [settled - 1], []
        monkeypatch.setattr(own_files.time, "time_ns", lambda: now[0])
        monkeypatch.setattr(own_files, "_SETTLED", settled)
        read = own_files.time.monotonic(), settled - 1, own_files._FILES_WHEN_IMPORTED
        for process in ("one", "another"):
            monkeypatch.setattr(own_files, "_last_state", (own_files._own_files, *read))
            monkeypatch.setattr(own_files, "_THIS_PROCESS", process)
            now[0] = settled - 1
            processes.append([digest(["a"], target())])
            now[0] = settled  # the files are read again, whatever the time since the last reading
            processes[-1].append(digest(["a"], target()))
        (early, late), (other_early, other_late) = processes
        assert len({early, other_early, late}) == 3 and late == other_late
        waits = []
        monkeypatch.setattr(own_files.time, "sleep", waits.append)
        for now[0] in (settled - 10**9, settled, settled - 10**11):  # a clock that was set back is not waited for
            own_files.wait_for_shared_state()
        assert waits == [1.0]

    def test_files_that_changed_while_modules_are_imported_one_by_one(self, monkeypatch, tmp_path):
        """It is unknown which of them runs, so the names of code are those of this process alone."""
        monkeypatch.setattr(own_files, "_SETTLED", 0)
        known = digest(["a"], target())
        monkeypatch.setattr(own_files, "_CHANGED_BEFORE", True)
        assert digest(["a"], target()) != known
        monkeypatch.setattr(own_files, "_CHANGED_BEFORE", False)
        assert digest(["a"], target()) == known
        monkeypatch.setattr(own_files, "_own_files", lambda: "others")
        changed = digest(["a"], target())
        monkeypatch.setattr(own_files, "_THIS_PROCESS", "another")
        assert digest(["a"], target()) not in (known, changed)
        file = tmp_path / "x.py"
        file.write_text("")
        states = [(str(file), file.stat())]
        assert not own_files._changed_after(states, time.time_ns() + 10**9)
        assert own_files._changed_after(states, file.stat().st_mtime_ns - 10**9)

    def test_they_are_looked_at_once_in_five_seconds(self, monkeypatch):
        now, states = [100.0], iter("abcd")
        look = lambda: next(states)  # noqa: E731
        monkeypatch.setattr(own_files, "_own_files", look)
        monkeypatch.setattr(own_files.time, "monotonic", lambda: now[0])
        found = []
        for then in (100.0, 104.9, 105.0, 109.9, 90.0):
            now[0] = then
            found.append(own_files._recent_state()[0])
        assert found == ["a", "a", "b", "b", "c"]

    @posix
    def test_an_editors_lock_hides_nothing(self, monkeypatch, tmp_path):
        source = tmp_path / "compiler" / "cache.py"
        source.parent.mkdir()
        source.write_text("")
        for k in range(20):
            (source.parent / f".#{k}.py").symlink_to("nowhere")
            (source.parent / f"{k}.py").write_text("")
        monkeypatch.setattr(own_files, "__file__", str(source))
        assert all(f"/{k}.py'" in own_files._own_files() for k in range(20))

    def test_linkwork_in_an_archive(self, monkeypatch, tmp_path):
        archive = tmp_path / "linkwork.zip"
        archive.write_text("a")
        monkeypatch.setattr(own_files, "__file__", str(archive / "linkwork" / "compiler" / "cache.py"))
        before = own_files._own_files()
        assert str(archive) in before
        archive.write_text("ab")
        assert own_files._own_files() != before
