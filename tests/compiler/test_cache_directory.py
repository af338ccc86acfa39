"""Directory of the disk cache, when the cache is not used, and the names of its entries."""

from __future__ import annotations

import os
import struct
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
    def test_environment_variable_sets_the_cache_directory(self, cache_folder):
        assert directory() == cache_folder
        cache = shared()
        assert cache is not None and cache is shared()
        assert (cache.folder, cache.max_bytes) == (cache_folder, 512 * MIB)
        assert not cache_folder.exists()
        cache.store("a", ENTRY)
        assert cache_folder.is_dir()

    @pytest.mark.parametrize("off", ["off", "OFF", "Off"])
    def test_environment_variable_turns_the_disk_cache_off(self, monkeypatch, off):
        monkeypatch.setenv("LINKWORK_CACHE", off)
        assert directory() is None
        assert shared() is None  # without a warning
        assert cache_location().off and cache_location().refused

    def test_relative_cache_directory_starts_at_the_working_directory(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("LINKWORK_CACHE", os.path.join("some", "cache_location"))
        assert directory() == tmp_path / "some" / "cache_location"
        shared().store("a", ENTRY)
        assert shared().load("a") == ENTRY

    @linux
    @pytest.mark.parametrize("setting", ["", None])
    def test_default_cache_directory_is_in_the_users_cache_folder(self, monkeypatch, tmp_path, setting):
        monkeypatch.delenv("LINKWORK_CACHE") if setting is None else monkeypatch.setenv("LINKWORK_CACHE", setting)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert directory() == tmp_path / ".cache" / "linkwork"
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert directory() == tmp_path / "xdg" / "linkwork"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, its specification says
        assert directory() == tmp_path / ".cache" / "linkwork"
        monkeypatch.setenv("LINKWORK_CACHE", "~/mine")
        assert directory() == tmp_path / "mine"

    @pytest.mark.parametrize("system", ["win32", "darwin"])
    def test_default_cache_directory_on_windows_and_macos_is_in_the_systems_cache_folder(
        self, monkeypatch, tmp_path, system
    ):
        monkeypatch.setattr(sys, "platform", system)
        monkeypatch.delenv("LINKWORK_CACHE")
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
        for home in ("HOME", "USERPROFILE"):  # the second on Windows
            monkeypatch.setenv(home, str(tmp_path))
        expected = tmp_path / ("linkwork/cache" if system == "win32" else "Library/Caches/linkwork")
        assert directory() == expected

    def test_disk_cache_is_off_without_a_home_directory(self, monkeypatch):
        def homeless(cls):
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.delenv("LINKWORK_CACHE")
        for name in ("HOME", "LOCALAPPDATA", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(Path, "home", classmethod(homeless))
        refused("it has no directory: Could not determine home directory")

    @linux
    @pytest.mark.parametrize("setting", ["", "~/mine"])
    def test_cache_directory_below_a_relative_home_directory_is_refused(self, monkeypatch, tmp_path, setting):
        """The path below it would change with the current directory."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", "here")
        monkeypatch.setenv("LINKWORK_CACHE", setting)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        refused("the home directory 'here' is not an absolute path; set LINKWORK_CACHE to another directory")
        assert not [*tmp_path.iterdir()]

    @posix
    def test_cache_directory_in_the_home_of_an_unknown_user_is_refused(self, monkeypatch):
        monkeypatch.setenv("LINKWORK_CACHE", "~no-such-user-here/cache")
        refused("it has no directory")

    @linux
    def test_relative_cache_directory_in_a_removed_working_directory_is_refused(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "gone").mkdir()
        os.chdir("gone")
        (tmp_path / "gone").rmdir()
        monkeypatch.setenv("LINKWORK_CACHE", "relative")
        refused("it has no directory: No such file")

    def test_cache_directory_that_is_a_file_is_refused(self, cache_folder):
        cache_folder.write_text("mine")
        refused("cache is not a directory")
        assert cache_folder.read_text() == "mine"

    @posix
    @pytest.mark.parametrize("name", ["under/a/file", "x" * 5000])
    def test_impossible_path_of_the_cache_directory_is_refused(self, monkeypatch, tmp_path, name):
        (tmp_path / "under").write_text("a file")
        monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / name))
        refused("cannot be used: (Not a directory|File name too long)")

    @linux
    def test_cache_directory_that_cannot_be_created_gives_one_warning(self, monkeypatch):
        monkeypatch.setenv("LINKWORK_CACHE", "/proc/linkwork")
        with pytest.warns(CacheWarning, match="cannot write to /proc/linkwork") as caught:
            shared().store("a", ENTRY)
        assert len(caught) == 1
        shared().store("b", ENTRY)
        assert shared().load("a") is None


@posix
class TestOwners:
    @pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
    def test_cache_directory_that_others_can_write_to_is_refused(self, cache_folder, mode):
        shared().store("a", ENTRY)
        cache_folder.chmod(mode)
        refused("is writable by others: run chmod go-w on it")
        cache_folder.chmod(0o755)
        assert shared().load("a") == ENTRY

    @root
    def test_cache_directory_of_another_user_is_refused(self, cache_folder):
        cache_folder.mkdir(mode=0o700)
        os.chown(cache_folder, 12345, -1)
        refused("belongs to another user")

    @root
    def test_cache_directory_filled_by_root_for_all_users_is_read(self, cache_folder, monkeypatch):
        shared().store("a", ENTRY)
        monkeypatch.setattr(private.os, "geteuid", lambda: 12345)
        assert shared().load("a") == ENTRY

    def test_cache_directory_that_cannot_be_read_is_refused(self, cache_folder, monkeypatch):
        """Root may have filled it for itself."""
        shared().store("a", ENTRY)
        stat = os.stat

        def refusing(path, **options):
            if str(path).startswith(f"{cache_folder}{os.sep}"):
                raise PermissionError(13, "Permission denied", str(path))
            return stat(path, **options)

        monkeypatch.setattr(os, "stat", refusing)
        assert "a" not in shared()

    def test_symbolic_link_to_a_cache_directory_of_the_user_is_followed(self, cache_folder, tmp_path):
        (tmp_path / "large").mkdir(mode=0o700)
        cache_folder.symlink_to(tmp_path / "large")
        shared().store("a", ENTRY)
        assert shared().load("a") == ENTRY

    @root
    @pytest.mark.parametrize("theirs", ["link", "directory"])
    def test_symbolic_links_of_another_user_to_cache_directories_are_refused(self, cache_folder, tmp_path, theirs):
        (tmp_path / "large").mkdir(mode=0o700)
        cache_folder.symlink_to(tmp_path / "large")
        os.lchown(cache_folder if theirs == "link" else tmp_path / "large", 12345, -1)
        refused("belongs to another user")

    @pytest.mark.parametrize("mode", [0o777, 0o757, 0o775])
    def test_cache_directory_below_a_parent_that_others_can_write_to_is_refused(self, monkeypatch, tmp_path, mode):
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
    def test_cache_directory_below_a_parent_of_another_user_is_refused(self, monkeypatch, tmp_path):
        inside = tmp_path / "theirs" / "cache"
        inside.mkdir(parents=True, mode=0o700)
        monkeypatch.setenv("LINKWORK_CACHE", str(inside))
        os.chown(tmp_path / "theirs", 12345, -1)
        refused("its parent directory .*theirs belongs to another user")

    @root
    def test_cache_path_with_a_symbolic_link_of_another_user_is_refused(self, monkeypatch, tmp_path):
        (tmp_path / "real" / "cache").mkdir(parents=True, mode=0o700)
        (tmp_path / "link").symlink_to("real")
        monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "link" / "cache"))
        shared().store("a", ENTRY)
        assert (tmp_path / "real" / "cache" / f"{'a'}.linkwork").exists()
        os.lchown(tmp_path / "link", 12345, -1)
        refused("link belongs to another user")

    def test_circular_symbolic_links_to_the_cache_directory_are_refused(self, monkeypatch, tmp_path):
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to(tmp_path / "a")
        monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "a" / "cache"))
        refused("cannot be used: Too many levels")

    def test_cache_files_stay_in_the_verified_directory_after_its_path_is_replaced(self, cache_folder, tmp_path):
        shared().store("a", ENTRY)
        with private.opened(cache_folder) as opened:
            cache_folder.rename(tmp_path / "away")
            cache_folder.mkdir(mode=0o777)
            opened.write("b", b"what is written")
            opened.move("b", "c")
            assert opened.read("c") == b"what is written"
        assert os.listdir(cache_folder) == [] and (tmp_path / "away" / "c").exists()

    def test_private_group_of_another_user_is_not_trusted_for_the_cache(self, monkeypatch):
        assert not private._is_own_group(os.geteuid() + 1)

    def test_symbolic_link_to_a_missing_cache_directory_gives_a_warning(self, cache_folder, tmp_path):
        cache_folder.symlink_to(tmp_path / "nowhere")
        with pytest.warns(CacheWarning, match="cannot write to"):
            shared().store("a", ENTRY)

    def test_cache_directory_created_meanwhile_by_another_user_is_refused(self, cache_folder):
        cache = shared()
        cache_folder.mkdir()
        cache_folder.chmod(0o777)
        with pytest.warns(CacheWarning, match="is writable by others"):
            cache.store("a", ENTRY)
        assert os.listdir(cache_folder) == []


class TestSize:
    @pytest.mark.parametrize("setting", ["-1", "nan", "inf", "1e400", "1e308", "many", "0x10", " "])
    def test_invalid_cache_size_gives_a_warning_and_the_default_is_used(self, monkeypatch, setting):
        monkeypatch.setenv("LINKWORK_CACHE_SIZE", setting)
        with pytest.warns(CacheWarning, match="LINKWORK_CACHE_SIZE: expected a number of MiB, got") as caught:
            assert shared().max_bytes == shared().max_bytes == 512 * MIB
        assert len(caught) == 1

    @pytest.mark.parametrize(
        ("setting", "size"), [("", 512 * MIB), ("0", 0), ("-0", 0), ("1", MIB), ("0.5", MIB // 2), ("1e9", 10**9 * MIB)]
    )
    def test_environment_variable_sets_the_cache_size(self, monkeypatch, setting, size):
        monkeypatch.setenv("LINKWORK_CACHE_SIZE", setting)
        assert shared().max_bytes == size


class TestWarnings:
    def test_cache_warning_class_is_public(self):
        assert errors.CacheWarning is CacheWarning
        assert issubclass(CacheWarning, UserWarning)

    def test_cache_warning_turned_into_an_error_is_raised_once(self, cache_folder):
        cache_folder.write_text("a file")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(CacheWarning, match="cache is not a directory"):
                shared()
            assert shared() is None

    def test_cache_directory_that_another_thread_creates_meanwhile_is_accepted(self, monkeypatch, tmp_path):
        """Windows has no directories that stay open: there, the path alone is verified."""
        monkeypatch.setattr(private, "_RELATIVE", False)
        folder = tmp_path / "new"

        def is_directory(path):
            exists = os.path.isdir(path)
            folder.mkdir(exist_ok=True)  # after the answer
            return exists

        monkeypatch.setattr(Path, "is_dir", is_directory)
        assert private.why_untrusted(folder) is None
        assert private.why_untrusted(folder / "below") is None
        folder.write_text("a file")
        assert private.why_untrusted(folder) == f"{folder} is not a directory"


PROGRAM = """
from linkwork.compiler.cache.disk_cache import digest
from linkwork.compiler.codegen.cpu_backend import host_backend
print(digest(["robot", "function"], host_backend().target))
"""


def target() -> tuple[str, ...]:
    return host_backend().target


class TestDigest:
    @pytest.mark.slow(every=5)
    def test_cache_digests_are_equal_in_every_process(self):
        expected = digest(["robot", "function"], target())
        assert len(expected) == 64 and set(expected) <= set("0123456789abcdef")
        for seed in ("0", "1"):
            environment = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": "C", "LINKWORK_CACHE": "off"}
            ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True)
            assert ran.stdout.decode().strip() == expected

    def test_cache_digests_of_differently_split_texts_differ(self):
        parts = [[], [""], ["", ""], ["a", "b"], ["ab"], ["b", "a"], ['a", "b'], ["a\x00b"], ["\ud800"], ["ä"]]
        assert len({digest(p, target()) for p in parts}) == len(parts)
        assert digest(iter(["a", "b"]), target()) == digest(("a", "b"), target())

    @pytest.mark.parametrize(
        "change", [{"triple": "x86_64-none"}, {"cpu": "i386"}, {"features": "+none"}, {"lanes": 1}, {"fma": None}]
    )
    def test_cache_digest_depends_on_the_processor(self, change):
        assert digest(["a"], CPUBackend(replace(host(), **change)).target) != digest(["a"], target())

    @pytest.mark.parametrize("change", [{"llvmlite": "0.0.0"}, {"llvm": "(1, 2, 3)"}])
    def test_cache_digest_depends_on_the_version_of_llvm(self, monkeypatch, change):
        before, changed = digest(["a"], target()), cpu_backend.processor()._replace(**change)
        monkeypatch.setattr(cpu_backend, "processor", lambda: changed)
        assert digest(["a"], target()) != before

    @pytest.mark.parametrize(
        ("owner", "name", "value"),
        [
            (lw, "__version__", "0.0.0"),
            (np, "__version__", "0.0.0"),
            (sys, "platform", "amiga"),
            (sys.implementation, "cache_tag", "cpython-30"),
            (struct, "calcsize", lambda layout: 4),  # of a pointer
            (fastcall, "available", lambda: None),
            (own_files, "_FILES_WHEN_IMPORTED", "others"),
            (own_files, "_own_files", lambda: "others"),
        ],
    )
    def test_cache_digest_depends_on_versions_of_linkwork_and_on_settings(self, monkeypatch, owner, name, value):
        before = digest(["a"], target())
        monkeypatch.setattr(owner, name, value)
        assert digest(["a"], target()) != before

    def test_cache_digest_depends_on_the_source_files_of_linkwork(self, monkeypatch, tmp_path):
        inner = tmp_path / "package" / "compiler"
        inner.mkdir(parents=True)
        source, added = inner / "cache.py", tmp_path / "package" / "x.py"
        source.write_text("a = 1")
        monkeypatch.setattr(own_files, "__file__", str(source))
        states = [own_files._own_files()]

        def changed() -> bool:
            states.append(own_files._own_files())
            return states[-1] not in states[:-1]

        assert not changed()
        source.write_text("a = 22")
        assert changed()
        added.write_text("")
        assert changed()
        os.utime(added, ns=(0, 1))  # of the same size
        assert changed()
        added.rename(inner / "x.py")
        assert changed()
        (inner / "__pycache__").mkdir()
        (inner / "__pycache__" / "x.pyc").write_text("compiled")
        (inner / "notes.txt").write_text("no code")
        assert not changed()

    def test_cache_digest_ignores_fractions_of_seconds_in_file_times(self, tmp_path):
        """Container images drop them."""
        file = tmp_path / "x.py"
        file.write_text("")
        texts = []
        for nanoseconds in (5 * 10**9, 5 * 10**9 + 7, 6 * 10**9):
            os.utime(file, ns=(0, nanoseconds))
            texts.append(own_files._text_of([(str(file), file.stat())], 10**9))
        assert texts[0] == texts[1] != texts[2]

    def test_cache_entries_stored_within_a_second_of_a_source_edit_are_not_shared(self, monkeypatch, tmp_path):
        """Two changes within a second may leave size and time in seconds equal."""
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

    def test_source_files_edited_during_import_give_cache_names_private_to_the_process(self, monkeypatch, tmp_path):
        """The imported version is unknown, so only this process uses these names."""
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

    def test_source_files_of_linkwork_are_examined_at_most_once_in_five_seconds(self, monkeypatch):
        now, states = [100.0], iter("abcd")
        look = lambda: next(states)  # noqa: E731
        monkeypatch.setattr(own_files, "_own_files", look)
        monkeypatch.setattr(own_files.time, "monotonic", lambda: now[0])
        results = []
        for then in (100.0, 104.9, 105.0, 109.9, 90.0):
            now[0] = then
            results.append(own_files._recent_state()[0])
        assert results == ["a", "a", "b", "b", "c"]

    @posix
    def test_lock_files_of_editors_do_not_change_the_cache_digest(self, monkeypatch, tmp_path):
        source = tmp_path / "compiler" / "cache.py"
        source.parent.mkdir()
        source.write_text("")
        for k in range(20):
            (source.parent / f".#{k}.py").symlink_to("nowhere")
            (source.parent / f"{k}.py").write_text("")
        monkeypatch.setattr(own_files, "__file__", str(source))
        assert all(f"/{k}.py'" in own_files._own_files() for k in range(20))

    def test_cache_digest_of_a_zipped_linkwork_depends_on_the_archive(self, monkeypatch, tmp_path):
        archive = tmp_path / "linkwork.zip"
        archive.write_text("a")
        monkeypatch.setattr(own_files, "__file__", str(archive / "linkwork" / "compiler" / "cache.py"))
        before = own_files._own_files()
        assert repr(str(archive))[1:-1] in before
        archive.write_text("ab")
        assert own_files._own_files() != before
