"""Directories and files that only the user can have written, and that others cannot replace.

A path is walked from its root. Each directory on the path must belong to the user or to root. Others must not be able
to write to it, unless it is a shared directory in which only owners remove files (/tmp). A link must belong to the user
or to root, and its target is checked in the same manner. The last directory must belong to the user, or to root, who
may have filled it for all users. File operations are then relative to the verified directory, not to its name, which
may later refer to another directory. (Windows has no such owners: there, directories are as private as the user's
profile.)
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections import deque
from contextlib import suppress
from functools import cache, partial
from operator import length_hint
from pathlib import Path
from typing import Any

__all__ = ["OpenFiles", "TrustedDirectory", "UntrustedError", "opened", "reason", "why_untrusted"]

_MAX_LINKS = 40
_RELATIVE = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd and sys.platform != "win32"
_BINARY = getattr(os, "O_BINARY", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_PATH", os.O_RDONLY)


class UntrustedError(OSError):
    """A path must not be used, because other users could change its content."""


class OpenFiles(io.IOBase):
    """File descriptors, each of which is closed exactly once: by a `with` statement, or by ``close``.

    An exception of a signal handler, which may occur between any two bytecodes, leaves no file open.  It also closes
    no file twice, which could close another thread's file of the same number.  A single C call opens a file and stores
    its number, a single C call closes all files, and `with` calls methods that are written in C.
    """

    def __init__(self) -> None:
        self._descriptors: list[int] = []
        self._to_close = iter(self._descriptors)
        self.close = partial(deque, map(os.close, self._to_close), 0)  # type: ignore[method-assign,assignment]

    def open(self, path: str | Path, flags: int, **options: Any) -> int:
        """Open a file by `os.open` and return its descriptor.  Raises OSError."""
        self._descriptors.extend(map(partial(os.open, path, **options), (flags,)))
        return self.number

    @property
    def number(self) -> int:
        """The number of the file that was opened last."""
        return self._descriptors[-1]

    @property
    def is_open(self) -> bool:
        """True from the first `open` until ``close``."""
        return length_hint(self._to_close) > 0


class TrustedDirectory(OpenFiles):
    """A directory whose owner and permissions were verified; file operations are relative to it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._number: int | None = None

    def verify(self) -> None:
        """Open the directory and verify each directory on its path."""
        if not _RELATIVE:
            with suppress(FileNotFoundError):
                state = os.stat(self._folder)  # once: another thread may create the directory meanwhile
                if not stat.S_ISDIR(state.st_mode):
                    raise UntrustedError(f"{self._folder} is not a directory")
            return
        directory, at = self.open("/", _DIRECTORY), Path("/")
        left, links = list(self._folder.parts[:0:-1]), 0
        _verify(os.fstat(directory), at, last=not left)
        while left:
            name = left.pop()
            state = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISLNK(state.st_mode):
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                if state.st_uid not in _trusted():
                    raise UntrustedError(f"{at / name} belongs to another user")
                target = Path(os.readlink(name, dir_fd=directory))
                left += target.parts[: 0 if target.is_absolute() else None : -1]
                if not target.is_absolute():
                    continue
                name, at = "/", Path("/")
            elif not stat.S_ISDIR(state.st_mode):
                if left:
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
                raise UntrustedError(f"{at / name} is not a directory")
            directory, at = self.open(name, _DIRECTORY, dir_fd=directory), at / name
            _verify(os.fstat(directory), at, last=not left)
        self._number = directory

    def _at(self, name: str) -> dict[str, Any]:
        """Return the keyword arguments by which functions of `os` address the file ``name`` in this directory."""
        if self._number is None:
            return {"path": self._folder / name}
        return {"path": name, "dir_fd": self._number}

    def read(self, name: str) -> bytes:
        """Return the content of a file; it must be a regular file that only the user can have written."""
        careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no link, and no waiting for a pipe
        with OpenFiles() as file:
            number = file.open(flags=os.O_RDONLY | _BINARY | careful, **self._at(name))
            state = os.fstat(number)
            if not stat.S_ISREG(state.st_mode):
                raise OSError(errno.EINVAL, "it is not a file")
            foreign = _foreign(state)
            if foreign:
                raise PermissionError(errno.EACCES, f"it {foreign}")
            with open(number, "rb", closefd=False) as content:
                return content.read()

    def write(self, name: str, data: bytes) -> None:
        """Create a file that only the user can read and write."""
        with OpenFiles() as file:
            number = file.open(flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode=0o600, **self._at(name))
            with open(number, "wb", closefd=False) as content:
                content.write(data)

    def move(self, name: str, to: str) -> None:
        """Rename a file, replacing an existing one."""
        if self._number is None:
            os.replace(self._folder / name, self._folder / to)
        else:
            os.replace(name, to, src_dir_fd=self._number, dst_dir_fd=self._number)

    def open_lock(self, file: OpenFiles, name: str, *, create: bool = True) -> None:
        """Open a file that only the user can use, and create it if necessary."""
        flags = os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        file.open(flags=flags, mode=0o600, **self._at(name))

    def is_same(self, name: str, number: int) -> bool:
        """Return True if the file ``name`` is the open file with the descriptor ``number``."""
        try:
            return os.path.samestat(os.stat(follow_symlinks=False, **self._at(name)), os.fstat(number))
        except FileNotFoundError:
            return False

    def touch(self, name: str) -> None:
        """Set a file's time of last use to now, if possible."""
        with suppress(OSError):
            os.utime(**self._at(name))

    def remove(self, name: str) -> None:
        os.unlink(**self._at(name))


def opened(folder: Path) -> TrustedDirectory:
    """Open a directory to work in, in a ``with`` statement.

    Raises FileNotFoundError if it does not exist, `UntrustedError` if it is not private, and OSError of the system.
    """
    directory = TrustedDirectory(folder)
    try:
        directory.verify()
    except BaseException:
        directory.close()
        raise
    return directory


def why_untrusted(folder: Path) -> str | None:
    """Return the reason why a directory must not be used; None if it may be used, or created if it does not exist."""
    try:
        with opened(folder):
            return None
    except FileNotFoundError:
        return None
    except UntrustedError as error:
        return str(error)
    except OSError as error:
        return f"{folder} cannot be used: {reason(error)}"


def reason(error: BaseException) -> str:
    """Return the system's description of an error."""
    return str(getattr(error, "strerror", None) or error)


def _verify(state: os.stat_result, at: Path, *, last: bool) -> None:
    """Raise `UntrustedError` if another user could replace the content of a directory."""
    if last:
        foreign = _foreign(state)
        if foreign:
            raise UntrustedError(f"{at} {foreign}")
        return
    if state.st_uid not in _trusted():
        raise UntrustedError(f"its parent directory {at} belongs to another user")
    writable_bits = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if writable_bits == stat.S_IWGRP and _is_own_group(state.st_gid):
        return
    if writable_bits and not state.st_mode & stat.S_ISVTX:
        raise UntrustedError(f"its parent directory {at} is writable by others: run chmod go-w on it")


@cache
def _trusted() -> frozenset[int]:
    """Return the ids of trusted users: the current user, root, and the owner of the root directory.

    In a container, the owner of the root directory may be another user than root.
    """
    return frozenset({os.geteuid(), 0, os.stat("/").st_uid})


def _is_own_group(group: int) -> bool:
    """Return True if the user is the only member of a group, such as the private group with the user's id."""
    if group != os.geteuid():
        return False
    try:
        import grp
        import pwd

        return set(grp.getgrgid(group).gr_mem) <= {pwd.getpwuid(os.geteuid()).pw_name}
    except (ImportError, KeyError):
        return False


def _foreign(state: os.stat_result) -> str | None:
    """Return the reason why other users could write to a directory or file; None if they cannot."""
    if sys.platform == "win32":
        return None
    if state.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "is writable by others: run chmod go-w on it"
    return None
