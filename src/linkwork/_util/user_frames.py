"""Stack frames of the user's code: the line that a warning points to, and the line that caused an error."""

from __future__ import annotations

import dis
import inspect
import linecache
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from itertools import takewhile
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import traceback

__all__ = [
    "globals_in",
    "is_library",
    "levels_up",
    "line_of",
    "names_in",
    "own_frames",
    "own_line",
    "source_of",
]

_STANDARD = os.path.join(os.path.dirname(os.__file__), "")


def levels_up() -> int:
    """Return the ``stacklevel`` of a warning that points to the innermost line outside linkwork and its libraries."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and is_library(frame):
        frame, level = frame.f_back, level + 1
    return level


def line_of(traceback: TracebackType | None) -> str:
    """Return the innermost line of a traceback in the user's code: file, line, function and text; or ""."""
    result = ""
    while traceback is not None:
        frame, line = traceback.tb_frame, traceback.tb_lineno
        if not is_library(frame):
            text = linecache.getline(frame.f_code.co_filename, line, frame.f_globals).strip()
            result = f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}{': ' if text else ''}{text}"
        traceback = traceback.tb_next
    return result


def is_library(frame: FrameType) -> bool:
    """Return True for code of linkwork, NumPy or Python's standard library.

    The standard library of an embedded Python, an archive of bytecode, has names of files without a folder.
    """
    module, file = frame.f_globals.get("__name__", "").partition(".")[0], frame.f_code.co_filename
    if module in ("linkwork", "numpy") or (module in sys.stdlib_module_names and not os.path.isabs(file)):
        return True
    return file.startswith(_STANDARD) and "site-packages" not in file


def names_in(code: CodeType) -> list[str]:
    """Return the names that a code object and its inner functions refer to, each once."""
    inner = (name for constant in code.co_consts if isinstance(constant, CodeType) for name in names_in(constant))
    return list(dict.fromkeys((*code.co_names, *inner)))


@lru_cache(maxsize=4096)
def globals_in(code: CodeType) -> tuple[str, ...]:
    """Return the names of global variables, without attributes, in a code object and its inner functions."""
    names = [x.argval for x in dis.get_instructions(code) if "GLOBAL" in x.opname or x.opname in _NAMES]
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in globals_in(constant)]
    return tuple(dict.fromkeys(names + inner))


_NAMES = ("LOAD_NAME", "STORE_NAME", "DELETE_NAME")  # of variables in the bodies of classes, and in code for `exec`


def source_of(function: Callable[..., Any]) -> str:
    """Return "file:line" of a function's definition; "" if that is not known."""
    plain = inspect.unwrap(function)
    code = getattr(plain, "__code__", None) or getattr(
        inspect.getattr_static(type(plain), "__call__", None), "__code__", None
    )
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def own_line(raised: BaseException, kind: type, base: type) -> str:
    """Return an exception's text, followed by the last line of the user's class in its traceback.

    This is the last line in methods of ``kind`` or of its bases below ``base``.
    """
    frames = own_frames(raised, kind, base)
    text = f": {frames[-1].line}" if frames and frames[-1].line else ""  # code typed at a prompt has no source text
    where = f" in {kind.__name__}.{frames[-1].name}, line {frames[-1].lineno}{text}" if frames else ""
    return f"{type(raised).__name__}: {raised}{where}"


def own_frames(raised: BaseException, kind: type, base: type) -> list[traceback.FrameSummary]:
    """Return the frames of an exception that are methods of ``kind`` or of its bases below ``base``."""
    codes = [
        getattr(inspect.unwrap(value), "__code__", None)
        for owner in takewhile(lambda owner: owner is not base, kind.__mro__)
        for value in vars(owner).values()
    ]
    names = {(code.co_filename, code.co_name) for code in codes if code is not None}
    import traceback

    return [frame for frame in traceback.extract_tb(raised.__traceback__) if (frame.filename, frame.name) in names]
