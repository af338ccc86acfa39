"""Files that someone names: read where they are regular and not too large, written without losing what was there."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

__all__ = ["NotRegularError", "kind_of_file", "opened_regular", "replaced"]


class NotRegularError(ValueError):
    """The path leads to a directory, a pipe, a socket or a device."""


@contextmanager
def opened_regular(path: str | os.PathLike[str]) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file, or the one that a symbolic link leads to, and give it with its size in bytes.

    Raises NotRegularError; FileNotFoundError, PermissionError and the like as they come.
    """
    _refuse_others(os.stat(path))  # before opening: opening a pipe waits, opening a device may do something
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        _refuse_others(status)  # what was opened need not be what was looked at
        yield file, status.st_size


@contextmanager
def replaced(path: str | os.PathLike[str], *, text: bool = False, overwrite: bool = True) -> Iterator[IO[Any]]:
    """Open a new file to write to, in the folder of ``path``, which takes its place when all is written.

    Where writing fails (the disk is full, say), a file that was there before is as it was.  Text is UTF-8 with lines
    that end in a line feed.  Raises FileExistsError for a file that is there, unless ``overwrite``; NotRegularError for
    a directory, a pipe or a device.
    """
    place = Path(os.path.realpath(path))  # a symbolic link stays, and leads to the new file
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(place)
        if not stat.S_ISREG(status.st_mode):
            kind = kind_of_file(status.st_mode)
            raise NotRegularError(f"expected the path of a regular file, got {os.fspath(path)!r}, this is {kind}")
        if not overwrite:
            raise FileExistsError(f"{os.fspath(path)}: the file exists already")
    name = place.parent / f".{place.name[:100]}.{os.getpid()}-{secrets.token_hex(4)}.part"
    options: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if text else {}
    try:
        with open(name, "x" if text else "xb", **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(name, stat.S_IMODE(os.stat(place).st_mode))
            os.replace(name, place)
        else:
            _rename_exclusively(name, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _rename_exclusively(name: Path, place: Path) -> None:
    """Rename a file.  Raises FileExistsError where another program has made the other one meanwhile."""
    try:
        os.link(name, place)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.rename(name, place)
    else:
        os.unlink(name)


def kind_of_file(mode: int) -> str:
    """What a path leads to, in words."""
    return next((name for test, name in _KINDS if test(mode)), "something else")


def _refuse_others(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(f"expected a regular file, this is {kind_of_file(status.st_mode)}")


_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
