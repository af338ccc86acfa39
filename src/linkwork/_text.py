"""How messages show names: quoted, shortened, and the nearest of those there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["listed", "nearest", "printable", "quoted"]


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint: the known names nearest to one that is not known, or some of those there are."""
    names = sorted({k for k in known if len(k) <= _LONGEST_NAME})
    candidates = [k for k in names if 3 * max(len(k), len(name)) <= 7 * min(len(k), len(name))]
    candidates = sorted(candidates, key=lambda k: abs(len(k) - len(name)))[:_MOST_CANDIDATES]
    close = difflib.get_close_matches(name, candidates, n=3, cutoff=0.6) if len(name) <= _LONGEST_NAME else []
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    if not names:
        return "there are none"
    shown = ", ".join(repr(n) for n in names[:12])
    return f"there are {shown}" + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def printable(text: str) -> str:
    """A text as messages print it: short, and with its control characters escaped."""
    text = text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "..."
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def quoted(text: str) -> str:
    """A text as messages quote it: short and escaped."""
    return repr(text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "...")


def listed(names: Iterable[str], between: str = ", ") -> str:
    """Names as messages list them: quoted, and no more than 50."""
    shown = list(names)
    rest = len(shown) - _SHOWN_NAMES
    text = between.join(quoted(name) for name in shown[:_SHOWN_NAMES])
    return f"{text}{between}... and {rest} more" if rest > 0 else text


_LONGEST_NAME = 120  # names beyond these bounds are not compared: hints must not take seconds
_MOST_CANDIDATES = 2000
_SHOWN_LENGTH, _SHOWN_NAMES = 80, 50
