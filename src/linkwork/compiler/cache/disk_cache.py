"""The disk cache of machine code: a start with a warm cache neither traces nor compiles.

An entry is a file named by a digest of all that its code was made from (see `digest`), and by which part of that code
it is.  It begins with a digest of what follows, which is checked before anything of it is used: code from a file that
was cut, changed, renamed, or left full of zeros by a machine that went down (nothing waits for the disk here) is never
run, but made anew, with a warning.
An entry is written beside its place and moved there at once, so a reader meets a whole one or none, whatever became of
its writer and however many write at a time; of two writers of one name, the last wins, and both wrote the same.

The cache lies in a directory of the user's own, and is not used, with a warning, where someone else could put another
in its place or write to it (see `private`); the same goes for each entry.  The environment variable ``LINKWORK_CACHE``
names another directory, or is ``off``; ``LINKWORK_CACHE_SIZE`` is the most it holds [MiB, 512], and entries that have
not been used for longest go first.  Whatever goes wrong with the cache is a `CacheWarning`, once for each place in a
process: never an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import math
import os
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork.compiler.cache.secure_directory import TrustedDirectory, UntrustedError, opened, reason, untrusted_place
from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.errors import CacheWarning

__all__ = ["Cache", "CacheWarning", "Entry", "Place", "digest", "directory", "place", "shared"]

_MAGIC = b"linkwork machine code, format 1\n"
_HEAD = struct.Struct("<QQQ")  # bytes of name, facts and code
_SUFFIX, _PART = ".linkwork", ".linkwork-part"
_MIB = 1 << 20
_USUAL_MIB = 512
_ABANDONED = 600.0  # seconds after which a file being written is a dead writer's


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of a kernel: facts about it, as JSON has them, and its machine code, an object file."""

    facts: dict[str, Any]
    code: bytes


# -- names


def digest(parts: Iterable[str], target: Iterable[str]) -> str:
    """A name for code: of the parts it is made from, linkwork itself, the backend's target, Python and NumPy."""
    surroundings = (
        importlib.import_module(__name__.partition(".")[0]).__version__,  # not ours to import: it imports us
        *(_FILES_WHEN_IMPORTED, _own_files_lately()),  # where they differ, nobody knows which of them runs
        *target,
        *(sys.platform, str(sys.implementation.cache_tag), str(struct.calcsize("P")), np.__version__),
        repr(in_main_interpreter()),
    )
    return hashlib.sha256(json.dumps([[*parts], surroundings]).encode()).hexdigest()


def _own_files_lately() -> str:
    """The state of linkwork's files, looked at no more than once a second: a look costs some 4 ms, and so would most
    of what it takes to find code in the cache.

    Code that was named too early by that is under the name of files that are there no more.
    """
    global _looked
    look, then, result = _looked
    now = time.monotonic()
    if look is not _own_files or not 0.0 <= now - then < _LATELY:
        result = _own_files()
        _looked = _own_files, now, result
    return result


def _own_files() -> str:
    """The state of linkwork's files: another version, or one that is being worked on, makes other code.

    Sizes and times are what Python itself trusts to tell whether a compiled module is stale.
    """
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    states = []
    folders = [package]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as result:
            for file in result:
                with contextlib.suppress(OSError):  # an editor's lock is a link to nowhere
                    if file.is_dir():
                        if file.name != "__pycache__":
                            folders.append(file.path)
                    elif file.name.endswith((".py", ".pyc", ".so", ".pyd")):
                        state = file.stat()
                        states.append((file.path, state.st_size, state.st_mtime_ns))
    if not states:  # linkwork is inside an archive, or a program
        for path in (package, *map(str, Path(package).parents), sys.executable):
            with contextlib.suppress(OSError):
                if os.path.isfile(path):
                    state = os.stat(path)
                    states.append((path, state.st_size, state.st_mtime_ns))
    return repr(sorted(states))


_LATELY = 1.0  # s
_FILES_WHEN_IMPORTED = _own_files()
_looked: tuple[Callable[[], str], float, str] = _own_files, -math.inf, ""


# -- entries


class Cache:
    """Entries in a directory, which is made when the first is stored."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder, self.most_bytes = folder, most_bytes
        self._unlisted, self._room = 0, -1  # bytes stored since the directory was listed, and that may be before it is

    def load(self, name: str) -> Entry | None:
        """The entry of this name, or None where there is none that can be trusted.  It counts as used now."""
        path = self._path(name)
        try:
            with opened(self.folder) as here:
                data = here.read(path.name)
                here.touch(path.name)
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn_once(f"cannot use {path}: {reason(error)}; its code is made anew")
            return None
        entry = _unpacked(name, data)
        if entry is None:
            self.refuse(name)
        return entry

    def refuse(self, name: str) -> None:
        """Warn that what an entry holds is not as it should be."""
        _warn_once(f"{self._path(name)} is damaged; its code is made anew")

    def store(self, name: str, entry: Entry) -> None:
        """Keep an entry, unless it is larger than the whole cache may be.  Where that fails, warn."""
        data = _packed(name, entry)
        if len(data) > self.most_bytes:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with opened(self.folder) as here:
                self._write(here, self._path(name).name, data)
        except UntrustedError as error:
            _warn_once(f"not used: {error}")
            return
        except OSError as error:
            _warn_once(f"cannot write to {self.folder}: {reason(error)}")
            return
        self._unlisted += len(data)
        if self._unlisted > self._room:
            self.trim()

    def facts(self, path: Path) -> dict[str, Any] | None:
        """The facts in an entry's file, or None where it cannot be trusted; that is no use of the entry."""
        try:
            with opened(path.parent) as here:
                entry = _unpacked(path.name.removesuffix(_SUFFIX), here.read(path.name))
        except OSError:
            return None
        return None if entry is None else entry.facts

    def entries(self) -> list[tuple[Path, os.stat_result]]:
        """The files of all entries, those unused for longest first."""
        return [(self.folder / name, state) for name, state in self._files(_SUFFIX)]

    def trim(self) -> None:
        """Where the entries are too large together, remove those unused for longest, down to seven eighths of the most.

        What dead writers left behind goes too.  Listing thousands of entries takes milliseconds, so `store` does this
        only after each eighth of the room there is: eight processes may fill the cache at once without exceeding it.
        """
        files = self._files(_SUFFIX)
        total = sum(state.st_size for _, state in files)
        if total > self.most_bytes:
            for name, state in files:
                newest_fits = name == files[-1][0] and total <= self.most_bytes
                if total <= self.most_bytes * 7 // 8 or newest_fits:
                    break
                if self._removed(name):
                    total -= state.st_size
        self._unlisted, self._room = 0, (self.most_bytes - total) // 8
        self._sweep(_ABANDONED)

    def clear(self) -> tuple[int, int]:
        """Remove all entries.  Returns how many were removed, and their bytes."""
        sizes = [state.st_size for name, state in self._files(_SUFFIX) if self._removed(name)]
        self._sweep(-math.inf)  # also those of a clock ahead of ours
        return len(sizes), sum(sizes)

    def _write(self, here: TrustedDirectory, name: str, data: bytes) -> None:
        part = os.urandom(16).hex() + _PART
        try:
            here.write(part, data)
            here.move(part, name)
        except FileNotFoundError:  # cleared meanwhile
            pass
        except PermissionError:
            self._removed(part)
            if not (self.folder / name).is_file():  # Windows moves nothing onto a file that is being read: as good
                raise
        except BaseException:
            self._removed(part)
            raise

    def _sweep(self, seconds: float) -> None:
        """Remove files whose writing began so long ago."""
        for name, state in self._files(_PART):
            if time.time() - state.st_mtime >= seconds:
                self._removed(name)

    def _files(self, suffix: str) -> list[tuple[str, os.stat_result]]:
        """The files of a kind, those unused for longest first."""
        result = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as files:
            for file in files:
                if file.name.endswith(suffix):
                    with contextlib.suppress(OSError):  # another process may have removed it meanwhile
                        result.append((file.name, file.stat(follow_symlinks=False)))
        return sorted(result, key=lambda item: (item[1].st_mtime_ns, item[0]))

    def _removed(self, name: str) -> bool:
        """Remove a file, and whether it is gone."""
        try:
            with opened(self.folder) as here:
                here.remove(name)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{_SUFFIX}"


def _packed(name: str, entry: Entry) -> bytes:
    label, facts = name.encode(), json.dumps(entry.facts).encode()
    body = b"".join([_HEAD.pack(len(label), len(facts), len(entry.code)), label, facts, entry.code])
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpacked(name: str, data: bytes) -> Entry | None:
    """The entry in a file's bytes, or None where they are not just as they were written, and under this name."""
    start = len(_MAGIC) + hashlib.sha256().digest_size
    body = memoryview(data)[start:]
    if not data.startswith(_MAGIC) or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        return None
    # what follows is as it was written, by this or by another program
    if len(body) < _HEAD.size:
        return None
    sizes = _HEAD.unpack_from(body)
    if len(body) != _HEAD.size + sum(sizes):
        return None
    label = _HEAD.size + sizes[0]
    code = label + sizes[1]
    try:
        facts = json.loads(bytes(body[label:code]))
    except (ValueError, RecursionError):
        return None
    if not isinstance(facts, dict) or body[_HEAD.size : label] != name.encode():
        return None
    return Entry(facts, bytes(body[code:]))


# -- the place


@dataclass(frozen=True, slots=True)
class Place:
    """Where the cache lies, the most it holds, and why it is not used, if so."""

    folder: Path | None  # None where it is switched off, or there is no telling
    most_bytes: int
    refused: str | None
    off: bool = False


def directory() -> Path | None:
    """Where the cache lies; None where it is switched off.  Raises OSError or RuntimeError where that is not known."""
    asked = os.environ.get("LINKWORK_CACHE", "")
    if asked.lower() == "off":
        return None
    if asked:
        return (_home() / asked[2:] if asked.startswith("~/") else Path(asked).expanduser()).absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local") / "linkwork" / "cache"
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches" / "linkwork"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else _home() / ".cache") / "linkwork"


def _home() -> Path:
    """Return the home directory.  Raises RuntimeError where it is relative: it would be another one after a chdir."""
    home = Path.home()
    if not home.is_absolute():
        raise RuntimeError(f"the home directory {str(home)!r} is no absolute path; LINKWORK_CACHE names another place")
    return home


def place() -> Place:
    """The cache as the environment has it now.  Nothing is made."""
    most = _most_bytes()
    try:
        folder = directory()
    except (OSError, RuntimeError) as error:  # no home directory, or the current one is gone
        return Place(None, most, f"there is no directory for it: {reason(error)}")
    if folder is None:
        return Place(None, most, "it is switched off by LINKWORK_CACHE", off=True)
    untrusted = untrusted_place(folder)
    if untrusted and not untrusted.startswith(str(folder)):  # it is about a directory on the way there
        untrusted = f"{folder}: {untrusted}"
    return Place(folder, most, untrusted)


def shared() -> Cache | None:
    """The cache that kernels of this process use; None where there is none, which is warned of unless it is off."""
    here = place()
    if here.refused is None and here.folder is not None:
        return _cache(here.folder, here.most_bytes)
    if not here.off:
        _warn_once(f"not used: {here.refused}")
    return None


@cache
def _cache(folder: Path, most_bytes: int) -> Cache:
    return Cache(folder, most_bytes)


def _most_bytes() -> int:
    asked = os.environ.get("LINKWORK_CACHE_SIZE") or str(_USUAL_MIB)
    with contextlib.suppress(ValueError):
        size = float(asked) * _MIB
        if 0.0 <= size < math.inf:
            return int(size)
    _warn_once(f"LINKWORK_CACHE_SIZE: expected a number of MiB, got {asked!r}; it is taken as {_USUAL_MIB}")
    return _USUAL_MIB * _MIB


# -- warnings


_warned: set[str] = set()


def _warn_once(message: str) -> None:
    """Warn of what is wrong with the cache where linkwork was called from, and only once in a process."""
    if message in _warned:
        return
    _warned.add(message)
    warnings.warn(f"cache of machine code: {message}", CacheWarning, stacklevel=levels_up())
