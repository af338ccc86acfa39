"""How messages show names: quoted, shortened, and the nearest of those there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import islice

__all__ = ["letters", "listed", "nearest", "printable", "quoted", "repeated"]


def letters(text: str) -> str:
    """A text as a part of identifiers: letters, digits and underscores, which stand for all else."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in text)


def repeated(names: Iterable[str]) -> str | None:
    """Return the first name that stands more than once, or None."""
    counts = Counter(names)
    return next((name for name, count in counts.items() if count > 1), None)


def nearest(name: str, known: Collection[str]) -> str:
    """A hint: the known names nearest to one that is not known, or some of those there are.

    However many and long the names are, the work is bounded: it looks at the first `_MOST_NAMES` of them and compares
    `_MOST_WORK` characters.  A set is sorted first, so that the hint is the same in every process; a large collection
    had better be in an order already.
    """
    if isinstance(known, (set, frozenset)):
        known = sorted(known)
    names = sorted({k for k in islice(known, _MOST_NAMES) if len(k) <= _LONGEST_NAME})
    close = _close(name, names) if len(name) <= _LONGEST_NAME else []
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    if not names:
        return "there are names too long to list" if known else "there are none"
    more = len(names) - 12 + max(len(known) - _MOST_NAMES, 0)
    shown = ", ".join(repr(n) for n in names[:12])
    return f"there are {shown}" + (f" and {more} more" if more > 0 else "")


def _close(name: str, names: list[str]) -> list[str]:
    """Up to three names that are like one, the most similar first."""
    similar = [k for k in names if 3 * max(len(k), len(name)) <= 7 * min(len(k), len(name))]
    similar.sort(key=lambda k: abs(len(k) - len(name)))
    places: dict[str, int] = {}  # of each character: a bit for each place in the name
    for i, character in enumerate(name):
        places[character] = places.get(character, 0) | 1 << i
    work, found = 0, []
    for k in similar:
        work += len(k)
        if work > _MOST_WORK:
            break
        likeness = 2.0 * _common(k, places, len(name)) / (len(k) + len(name))
        if likeness >= _LIKE:
            found.append((-likeness, k))
    return [k for _, k in sorted(found)[:3]]


def _common(text: str, places: dict[str, int], length: int) -> int:
    """The length of the longest common subsequence of a text and a name given by its characters' places.

    One step for each character of the text, on integers with a bit for each of the name's: Hyyrö, Bit-parallel
    LCS-length computation revisited, 2004.
    """
    everywhere = row = (1 << length) - 1
    for character in text:
        matches = row & places.get(character, 0)
        row = ((row + matches) | (row - matches)) & everywhere
    return length - row.bit_count()


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
_MOST_NAMES = 10_000
_MOST_WORK = 100_000  # characters compared for one hint
_LIKE = 0.65  # twice the characters in common, in their order, over all characters
_SHOWN_LENGTH, _SHOWN_NAMES = 80, 50
