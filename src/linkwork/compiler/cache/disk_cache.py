"""The disk cache of machine code: a start with a warm cache neither traces nor compiles.

An entry is a file named by a digest of everything that its code depends on (see `digest`) and by the part of that code.
The file begins with a digest of its content, which is verified before use. Code from a file that was truncated, changed
or renamed, or zeroed by a crash of the machine (writers do not wait for the disk), is never run. It is compiled again,
with a warning. An entry is written to a temporary file and moved to its name in one step, so a reader finds a complete
entry or no entry, even if a writer crashed or several processes write concurrently. Two writers of the same name write
the same content, so it does not matter which is last.

The cache is in a directory of the user. It is not used, with a warning, if someone else could replace the directory or
write to it (see `linkwork.compiler.cache.secure_directory`); the same holds for each entry. The environment variable
``LINKWORK_CACHE`` names another directory, or is ``off``; ``LINKWORK_CACHE_SIZE`` is the maximum size [MiB, 512], and
the least recently used entries are removed first. Any problem with the cache is a `CacheWarning`, once for each problem
in a process, never an error.
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
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.own_code import state_of_attributes
from linkwork._util.user_frames import levels_up
from linkwork.compiler.cache import own_files
from linkwork.compiler.cache.key_lock import LOCK_SUFFIX, KeyLock
from linkwork.compiler.cache.secure_directory import TrustedDirectory, UntrustedError, opened, reason, why_untrusted
from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.errors import CacheWarning

__all__ = [
    "Cache",
    "CacheLocation",
    "CacheWarning",
    "Entry",
    "cache_location",
    "digest",
    "directory",
    "own_state",
    "shared",
]

_MAGIC = b"linkwork machine code, format 1\n"
_HEAD = struct.Struct("<QQQ")  # sizes of name, facts and code [bytes]
_SUFFIX, _PART = ".linkwork", ".linkwork-part"
_MIB = 1 << 20
_DEFAULT_MIB = 512
_ABANDONED = 600.0  # [s] age after which an unfinished file belongs to a dead writer


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the cache: facts about a kernel, as JSON stores them, and its machine code, an object file."""

    facts: dict[str, Any]
    code: bytes


# -- names


def own_state() -> tuple[str, str]:
    """Return two texts that change with linkwork's code: its files, and its attributes that this process replaced."""
    return own_files.state_of_process(), state_of_attributes()


def digest(parts: Iterable[str], target: Iterable[str], state: tuple[str, str] | None = None) -> str:
    """Return the cache name of code: a digest of ``parts``, ``target``, and the versions of linkwork, Python and NumPy.

    ``parts`` are texts that determine the code, and ``target`` describes the machine (see `Backend.target`).  ``state``
    is a result of `own_state`, by default the current one.
    """
    surroundings = (
        importlib.import_module(__name__.partition(".")[0]).__version__,  # not importable here: it imports this module
        *(own_state() if state is None else state),
        *target,
        *(sys.platform, str(sys.implementation.cache_tag), str(struct.calcsize("P")), np.__version__),
        repr(in_main_interpreter()),
    )
    return hashlib.sha256(json.dumps([[*parts], surroundings]).encode()).hexdigest()


# -- entries


class Cache:
    """The cache entries in a directory.  The directory is created when the first entry is stored."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder, self.max_bytes = folder, max_bytes
        self._unlisted, self._room = 0, -1  # bytes stored since the last listing, and the limit until the next

    def load(self, name: str) -> Entry | None:
        """Return the entry of this name and set its time of use; None if there is no entry or it cannot be trusted."""
        path = self._path(name)
        try:
            with opened(self.folder) as directory:
                data = directory.read(path.name)
                directory.touch(path.name)
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn_once(f"cannot use {path}: {reason(error)}; its code is compiled again")
            return None
        entry = _unpacked(name, data)
        if entry is None:
            self.refuse(name)
        return entry

    def lock(self, name: str) -> KeyLock:
        """Return the lock of an entry's name: its owner creates the entry, while other threads and processes wait."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return KeyLock(self.folder, name, _warn_once)

    def __contains__(self, name: str) -> bool:
        """Return True if an entry of this name exists, damaged or not; its time of use does not change."""
        return os.path.isfile(self._path(name))  # False in a folder that this user cannot read

    def refuse(self, name: str) -> None:
        """Warn that the entry ``name`` is damaged and that its code is compiled again."""
        _warn_once(f"{self._path(name)} is damaged; its code is compiled again")

    def store(self, name: str, entry: Entry) -> None:
        """Store an entry, unless it exceeds the maximum size of the whole cache. A failure is only a warning."""
        data = _packed(name, entry)
        if len(data) > self.max_bytes:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with opened(self.folder) as directory:
                self._write(directory, self._path(name).name, data)
        except UntrustedError as error:
            _warn_once(f"not used: {error}")
            return
        except OSError as error:
            _warn_once(f"cannot write to {self.folder}: {reason(error)}")
            return
        self._unlisted += len(data)
        if self._unlisted > self._room:
            self.trim()

    def remove(self, name: str) -> None:
        """Remove an entry, if there is one of this name."""
        self._removed(self._path(name).name)

    def facts(self, path: Path) -> dict[str, Any] | None:
        """Return the facts in an entry's file, which describe its kernel; None if the file is damaged or not trusted.

        The entry's time of use does not change.
        """
        try:
            with opened(path.parent) as directory:
                entry = _unpacked(path.name.removesuffix(_SUFFIX), directory.read(path.name))
        except OSError:
            return None
        return None if entry is None else entry.facts

    def entries(self) -> list[tuple[Path, os.stat_result]]:
        """Return the files of all entries, the least recently used first."""
        return [(self.folder / name, state) for name, state in self._files(_SUFFIX)]

    def trim(self) -> None:
        """Remove the least recently used entries if the cache is too large, down to seven eighths of its maximum.

        Files of dead writers are removed too. Listing thousands of entries takes milliseconds, so `store` calls this
        only when an eighth of the free space is used up: eight processes may fill the cache concurrently without
        exceeding it.
        """
        files = self._files(_SUFFIX)
        total = sum(state.st_size for _, state in files)
        if total > self.max_bytes:
            for name, state in files:
                newest_fits = name == files[-1][0] and total <= self.max_bytes
                if total <= self.max_bytes * 7 // 8 or newest_fits:
                    break
                if self._removed(name):
                    total -= state.st_size
        self._unlisted, self._room = 0, (self.max_bytes - total) // 8
        self._sweep(_ABANDONED)

    def clear(self) -> tuple[int, int]:
        """Remove all entries. Return their number and their total size [bytes]."""
        sizes = [state.st_size for name, state in self._files(_SUFFIX) if self._removed(name)]
        self._sweep(-math.inf)  # also those with a time in the future
        return len(sizes), sum(sizes)

    def _write(self, directory: TrustedDirectory, name: str, data: bytes) -> None:
        part = os.urandom(16).hex() + _PART
        try:
            directory.write(part, data)
            directory.move(part, name)
        except FileNotFoundError:  # cleared meanwhile
            pass
        except PermissionError:
            self._removed(part)
            if not os.path.isfile(self.folder / name):  # Windows refuses to replace a file that is being read
                raise
        except BaseException:
            self._removed(part)
            raise

    def _sweep(self, seconds: float) -> None:
        """Remove temporary files and lock files that are at least this many seconds old."""
        for name, state in [*self._files(_PART), *self._files(LOCK_SUFFIX)]:
            if time.time() - state.st_mtime >= seconds:
                self._removed(name)

    def _files(self, suffix: str) -> list[tuple[str, os.stat_result]]:
        """Return the files with a suffix, the least recently used first."""
        result = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as files:
            for file in files:
                if file.name.endswith(suffix):
                    with contextlib.suppress(OSError):  # another process may have removed it meanwhile
                        result.append((file.name, file.stat(follow_symlinks=False)))
        return sorted(result, key=lambda item: (item[1].st_mtime_ns, item[0]))

    def _removed(self, name: str) -> bool:
        """Remove a file; return True if it no longer exists."""
        try:
            with opened(self.folder) as directory:
                directory.remove(name)
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
    """Return the entry stored in a file's bytes; None if the bytes are damaged or the file has another entry's name."""
    start = len(_MAGIC) + hashlib.sha256().digest_size
    body = memoryview(data)[start:]
    if not data.startswith(_MAGIC) or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        return None
    # from here on the content is as it was written, by this or by another program
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


# -- the location


@dataclass(frozen=True, slots=True)
class CacheLocation:
    """The directory of the disk cache, its maximum size [bytes], and the reason why it is not used, if there is one."""

    folder: Path | None  # None if the cache is off, or the directory is unknown
    max_bytes: int
    refused: str | None
    off: bool = False


def directory() -> Path | None:
    """Return the cache's directory; None if it is off. Raises OSError or RuntimeError if it cannot be determined."""
    setting = os.environ.get("LINKWORK_CACHE", "")
    if setting.lower() == "off":
        return None
    if setting:
        return (_home() / setting[2:] if setting.startswith("~/") else Path(setting).expanduser()).absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local") / "linkwork" / "cache"
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches" / "linkwork"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else _home() / ".cache") / "linkwork"


def _home() -> Path:
    """Return the home directory. Raises RuntimeError if it is relative, since a chdir would change it."""
    home = Path.home()
    if not home.is_absolute():
        raise RuntimeError(
            f"the home directory {str(home)!r} is not an absolute path; set LINKWORK_CACHE to another directory"
        )
    return home


def cache_location() -> CacheLocation:
    """Return the cache's location by the current environment. Nothing is created."""
    limit = _max_bytes()
    try:
        folder = directory()
    except (OSError, RuntimeError) as error:  # no home directory, or the current one is gone
        return CacheLocation(None, limit, f"it has no directory: {reason(error)}")
    if folder is None:
        return CacheLocation(None, limit, "it is switched off by LINKWORK_CACHE", off=True)
    untrusted = why_untrusted(folder)
    if untrusted and not untrusted.startswith(str(folder)):  # it is about a parent directory
        untrusted = f"{folder}: {untrusted}"
    return CacheLocation(folder, limit, untrusted)


def shared() -> Cache | None:
    """Return the disk cache that all kernels of this process use; None if it is off or, with a warning, unusable."""
    location = cache_location()
    if location.refused is None and location.folder is not None:
        return _cache(location.folder, location.max_bytes)
    if not location.off:
        _warn_once(f"not used: {location.refused}")
    return None


@cache
def _cache(folder: Path, max_bytes: int) -> Cache:
    return Cache(folder, max_bytes)


def _max_bytes() -> int:
    setting = os.environ.get("LINKWORK_CACHE_SIZE") or str(_DEFAULT_MIB)
    with contextlib.suppress(ValueError):
        size = float(setting) * _MIB
        if 0.0 <= size < math.inf:
            return int(size)
    _warn_once(f"LINKWORK_CACHE_SIZE: expected a number of MiB, got {setting!r}; using {_DEFAULT_MIB}")
    return _DEFAULT_MIB * _MIB


# -- warnings


_warned: set[str] = set()


def _warn_once(message: str) -> None:
    """Warn about the cache at the user's line that called linkwork, once for each message in a process."""
    if message in _warned:
        return
    _warned.add(message)
    warnings.warn(f"cache of machine code: {message}", CacheWarning, stacklevel=levels_up())
