"""Reading a file that someone names: regular files only, and no more bytes than allowed."""

from __future__ import annotations

import os
import stat

from ..errors import Issue, Location, ModelError

__all__ = ["path_text", "read_regular"]


def read_regular(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """The content of a regular file, or of the one that a symbolic link leads to.

    Raises ModelError (NOT_A_FILE, TOO_LARGE); FileNotFoundError, PermissionError and the like as they come.
    """
    where = Location(path_text(path))
    _refuse_others(os.stat(path), where)  # before opening: opening a pipe waits, opening a device may do something
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        _refuse_others(status, where)  # what was opened need not be what was looked at
        if status.st_size > max_bytes:
            _refuse_large(where, max_bytes)
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        _refuse_large(where, max_bytes)
    return data


def path_text(path: str | bytes | os.PathLike[str]) -> str:
    """A path as text.  Raises ModelError (NOT_A_FILE) where it can name no file: NUL, or what no encoding has."""
    text = os.fsdecode(path)
    problem = "NUL" if "\0" in text else ""
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        problem = f"the code point {text[error.start]!r}"
    if problem:
        raise ModelError(Issue("NOT_A_FILE", f"a path cannot contain {problem}: {text[:80]!a}"))
    return text


def _refuse_others(status: os.stat_result, where: Location) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kind = next((name for test, name in _KINDS if test(status.st_mode)), "something else")
    hint = "give the file inside it" if stat.S_ISDIR(status.st_mode) else None
    raise ModelError(Issue("NOT_A_FILE", f"expected a regular file, this is {kind}", where, hint))


def _refuse_large(where: Location, max_bytes: int) -> None:
    raise ModelError(Issue("TOO_LARGE", f"the file has more bytes than the limit of {max_bytes}", where))


_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
