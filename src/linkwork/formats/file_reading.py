"""Reading a file that someone names: regular files only, and no more bytes than allowed."""

from __future__ import annotations

import os

from linkwork._util.file_access import NotRegularError, opened_regular
from linkwork.errors import Issue, Location, ModelError

__all__ = ["path_text", "read_regular"]


def read_regular(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """The content of a regular file, or of the one that a symbolic link leads to.

    Raises ModelError (NOT_A_FILE, TOO_LARGE); FileNotFoundError, PermissionError and the like as they come.
    """
    where = Location(path_text(path))
    try:
        with opened_regular(path) as (file, size):
            if size > max_bytes:
                _refuse_large(where, max_bytes)
            data = file.read(max_bytes + 1)
    except NotRegularError as error:
        hint = "give the file inside it" if os.path.isdir(path) else None
        raise ModelError(Issue("NOT_A_FILE", str(error), where, hint)) from None
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


def _refuse_large(where: Location, max_bytes: int) -> None:
    raise ModelError(Issue("TOO_LARGE", f"the file has more bytes than the limit of {max_bytes}", where))
