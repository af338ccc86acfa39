"""Reading of files by path: regular files only, up to a size limit."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence

from linkwork._util.file_access import Budget, NotRegularError, opened_regular
from linkwork._util.messages import quoted
from linkwork._util.user_frames import levels_up
from linkwork.errors import Issue, Location, ModelError, ModelWarning

__all__ = [
    "XACRO_HINT",
    "XacroArguments",
    "path_text",
    "process_failed",
    "read_regular",
    "read_start",
    "require_path",
    "require_text",
    "warn_of_repairs",
]

_UNSTATED = 1 << 20  # [bytes] that are read of a file that states no size, as in /proc

XacroArguments = Mapping[str, str | float | bool]
"""Values of the arguments of a xacro file, by name."""

XACRO_HINT = (
    "load(path, xacro=True) expands it with the package xacro; such a file is a program, which can run code and open "
    "any file: expand only files that you trust"
)


def read_regular(path: str | os.PathLike[str], budget: Budget) -> bytes:
    """Return the content of a regular file, or of the file that a symbolic link leads to, within its ``max_bytes``.

    Raises ModelError (NOT_A_FILE, TOO_LARGE), and the operating system's errors.
    """
    data = _read(path, budget.max_bytes + 1, budget)
    if len(data) > budget.max_bytes:
        _refuse_large(Location(path_text(path)), budget)
    return data


def read_start(path: str | os.PathLike[str], count: int) -> bytes:
    """Return the first ``count`` bytes of a regular file.

    Raises ModelError (NOT_A_FILE), and the operating system's errors.
    """
    return _read(path, count)


def _read(path: str | os.PathLike[str], count: int, budget: Budget | None = None) -> bytes:
    where = Location(path_text(path))
    try:
        with opened_regular(path) as (file, size):
            if budget is not None and size > budget.max_bytes:
                _refuse_large(where, budget)
            return file.read(min(count, max(size + 1, _UNSTATED)))  # Python takes memory for all that it may read
    except NotRegularError as error:
        hint = "name a file inside it" if os.path.isdir(path) else None
        raise ModelError(Issue("NOT_A_FILE", str(error), where, hint)) from None


def require_path(path: object) -> None:
    """Raise TypeError for a value that is not a path, and ModelError (NOT_A_PATH) for a document's text."""
    if isinstance(path, os.PathLike):
        return
    if not isinstance(path, (str, bytes)):
        raise TypeError(f"path: expected a string or a path, got {type(path).__name__}")
    text = path_text(path)
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        message = f"expected the path of a file, got XML text ({quoted(text.lstrip())})"
        raise ModelError(Issue("NOT_A_PATH", message, hint="read a text with Robot.from_urdf_string(text)"))


def require_text(
    text: object,
    source: str | None,
    title: str,
    *,
    hint: str = "read a file with linkwork.load(path)",
    expected: str = "text: expected a string or bytes",
) -> None:
    """Raise TypeError for a value that is not text, and ModelError (NOT_TEXT) for a path.

    ``title`` says whose text is expected: "a URDF".  ``hint`` is the remedy for a path, and ``expected`` begins the
    message of the TypeError.
    """
    if isinstance(text, os.PathLike):
        raise ModelError(Issue("NOT_TEXT", f"expected the text of {title}, got a path ({text})", hint=hint))
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"{expected}, got {type(text).__name__}")
    if isinstance(text, str) and text.strip() and "<" not in text and "\n" not in text.strip():
        message = f"expected the text of {title}, got what looks like a path ({quoted(text)})"
        raise ModelError(Issue("NOT_TEXT", message, Location(source), hint))


def warn_of_repairs(caller: str, repairs: Sequence[Issue], report: str) -> None:
    """Issue one `ModelWarning` with the first repair, if there are any; ``report`` is the attribute that has all."""
    if repairs:
        more = f" (and {len(repairs) - 1} more: {report})" if len(repairs) > 1 else ""
        warnings.warn(f"{caller}: {repairs[0]}{more}", ModelWarning, stacklevel=levels_up())


def path_text(path: str | bytes | os.PathLike[str]) -> str:
    """Return a path as a string.  Raises ModelError (NOT_A_FILE) for NUL and code points that cannot be encoded."""
    text = os.fsdecode(path)
    problem = "NUL" if "\0" in text else ""
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        problem = f"the code point {text[error.start]!r}"
    if problem:
        raise ModelError(Issue("NOT_A_FILE", f"a path cannot contain {problem}: {text[:80]!a}"))
    return text


def process_failed(error: Exception, where: Location) -> ModelError:
    """Return the error for a file during whose reading another process crashed or exceeded its limits."""
    return ModelError(Issue("UNTRUSTED_FILE", f"the process that reads the file failed: {error}", where))


def _refuse_large(where: Location, budget: Budget) -> None:
    message = f"the file has more bytes than the limit of {budget.max_bytes}"
    raise ModelError(Issue("TOO_LARGE", message, where, budget.remedy("max_bytes")))
