"""Running a user's function on symbols: what goes wrong names the user's own line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from linkwork._util.user_frames import line_of, place_of
from linkwork.expr.scalar.numpy_protocol import AS_AN_INDEX

__all__ = ["run_on_symbols", "written_at"]

_INDEX = ("only integers, slices", "arrays used as indices must be")
_PLAIN_ARRAY = "which has no callable"  # what NumPy says of an array that holds symbols and numbers


def run_on_symbols(function: Callable[..., Any], arguments: Mapping[str, Any], name: str) -> Any:
    """What the function returns.  What it raises says at which line of the user's, as far as it is about symbols."""
    try:
        return function(**arguments)
    except RecursionError as error:
        if not str(error).startswith("maximum recursion depth"):  # linkwork's own, of `call`
            raise
        where = line_of(error.__traceback__)
        message = (
            f"{name}: it calls itself without end while it is traced: what a symbol says can end no recursion of "
            f"Python's; linkwork.while_loop, scan and fori are loops\n    at {where}"
        )
    except Exception as error:
        _tell(error)
        raise
    raise RecursionError(message)


def _tell(error: Exception) -> None:
    """Add to an error where it is, in the message itself where it is about symbols, and as a note otherwise."""
    where = line_of(error.__traceback__)
    text = error.args[0] if len(error.args) == 1 and isinstance(error.args[0], str) else ""
    if not where or "\n    at " in text:  # it was told when a function inside of this one was traced
        return
    if isinstance(error, IndexError) and text.startswith(_INDEX):
        _raise_as(TypeError(f"{AS_AN_INDEX}\n    at {where}"), error)
    if _PLAIN_ARRAY in text:
        better = "linkwork.expr.array makes arrays of symbols and numbers on which NumPy's functions work"
        _raise_as(TypeError(f"{text}: {better}\n    at {where}"), error)
    if type(error) in (TypeError, ValueError) and text and _raised_here(error):
        error.args = (f"{text}\n    at {where}",)
    else:
        error.add_note(f"at {where}")


def _raise_as(better: Exception, error: Exception) -> NoReturn:
    raise better from error


def _raised_here(error: Exception) -> bool:
    """Whether linkwork raised it."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = traceback.tb_frame.f_globals.get("__name__", "") if traceback is not None else ""
    return bool(module.partition(".")[0] == "linkwork")


def written_at(name: str, function: Callable[..., Any]) -> str:
    """A function's name and where it is written, for what is found when it has returned."""
    place = place_of(function)
    return f"{name} ({place})" if place else name
