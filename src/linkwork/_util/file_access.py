"""Files at a user's path: opened only if they are regular files, and replaced without losing the old content."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

__all__ = ["NotRegularError", "kind_of_file", "opened_regular", "replaced"]


class NotRegularError(ValueError):
    """The path is a directory, a pipe, a socket, a device or a pointer of Git LFS, and not a regular file."""


@contextmanager
def opened_regular(path: str | os.PathLike[str]) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file, following symbolic links, and yield it with its size in bytes.

    Raises NotRegularError, and FileNotFoundError, PermissionError and other errors of the system.
    """
    _refuse_others(os.stat(path))  # first, since opening a pipe blocks and opening a device may have side effects
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        _refuse_others(status)  # the file may have been replaced since the first check
        if file.peek(len(_POINTER)).startswith(_POINTER):
            message = "expected a regular file, got a pointer of Git LFS, without the content of the file"
            raise NotRegularError(f"{message}; fetch the content: git lfs pull")
        yield file, status.st_size


@contextmanager
def replaced(path: str | os.PathLike[str], *, text: bool = False, overwrite: bool = True) -> Iterator[IO[Any]]:
    """Open a temporary file in the folder of ``path``, which replaces ``path`` when it is completely written.

    If writing fails (the disk is full, for example), an existing file is unchanged.  Text is UTF-8 with line feeds as
    line ends.  Raises FileNotFoundError if the folder does not exist; FileExistsError for an existing file, unless
    ``overwrite``; NotRegularError for a directory, a pipe or a device.
    """
    target = Path(os.path.realpath(path))  # a symbolic link is kept and points to the new file
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{os.fspath(path)}: no directory {os.fspath(target.parent)!r}; create it first")
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(target)
        if not stat.S_ISREG(status.st_mode):
            kind = kind_of_file(status.st_mode)
            raise NotRegularError(f"expected the path of a regular file, got {os.fspath(path)!r}, which is {kind}")
        if not overwrite:
            raise FileExistsError(f"{os.fspath(path)}: the file exists already")
    name = target.parent / f".{target.name[:100]}.{os.getpid()}-{os.urandom(4).hex()}.part"
    options: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if text else {}
    try:
        with open(name, "x" if text else "xb", **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(name, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(name, target)
        else:
            _rename_exclusively(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _rename_exclusively(name: Path, target: Path) -> None:
    """Rename a file.  Raises FileExistsError if another program has created the target in the meantime."""
    try:
        os.link(name, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.rename(name, target)
    else:
        os.unlink(name)


def kind_of_file(mode: int) -> str:
    """Return the kind of a file in words, for example "a directory"."""
    return next((name for test, name in _KINDS if test(mode)), "something else")


def _refuse_others(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(f"expected a regular file, got {kind_of_file(status.st_mode)}")


_POINTER = b"version https://git-lfs.github.com/spec/"
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
