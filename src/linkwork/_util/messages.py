"""Names and numbers in messages and tables: quoted, escaped, shortened, aligned, and hints of similar names."""

from __future__ import annotations

import dataclasses
import re
import types
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from linkwork._util.console import backslashed

__all__ = [
    "close_names",
    "cut",
    "did_you_mean",
    "escaped",
    "first_of",
    "label",
    "letters",
    "listed",
    "nearest",
    "number",
    "number_list",
    "printable",
    "quoted",
    "refuse_motion",
    "repeated",
    "short_repr",
    "table",
    "untimed",
    "width",
    "without_inner_functions",
]

_TIMING = "time it with linkwork.motion.time_optimal, retimed or at_constant_speed, or pass plan.timed(...).trajectory"


def letters(text: str) -> str:
    """Return a text as part of an identifier: underscores replace all but ASCII letters and digits."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in text)


def repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs more than once, or None."""
    counts = Counter(names)
    return next((name for name, count in counts.items() if count > 1), None)


def nearest(name: str, known: Collection[str]) -> str:
    """Return a hint for an unknown name: the most similar known names, or else a list of the first known names.

    The work is bounded: the first `_MOST_NAMES` names are considered, and `_MOST_WORK` characters compared.  A set is
    sorted first, so that the hint is the same in every process.
    """
    if isinstance(known, (set, frozenset)):
        known = sorted(known)
    names = sorted({k for k in islice(known, _MOST_NAMES) if len(k) <= _LONGEST_NAME})
    hint = did_you_mean(name, names)
    if hint:
        return hint
    if not names:
        return "the known names are too long to list" if known else "no names are defined"
    beyond = max(len(known) - _MOST_NAMES, 0)
    count = len(names) if len(names) + beyond <= _FEW_NAMES else 12
    more = len(names) - count + beyond
    shown = ", ".join(repr(known_name) for known_name in names[:count])
    return f"there are {shown}" + (f" and {more} more" if more > 0 else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint with the most similar known names, or "" if none is similar: for messages that list all names.

    If none is similar, up to three names that have the name as a word are: "panda_hand" for "hand".
    """
    names = [*known]
    close = close_names(name, names) if len(name) <= _LONGEST_NAME else []
    if not close and _SHORTEST_WORD <= len(name) <= _LONGEST_NAME:
        close = sorted(k for k in names if _folded(name) in _BETWEEN_WORDS.split(_folded(k)))
        close = close if len(close) <= _MOST_CLOSE else []
    return "did you mean " + " or ".join(repr(c) for c in close) + "?" if close else ""


def close_names(name: str, names: Iterable[str], min_similarity: float | None = None) -> list[str]:
    """Return up to three names that resemble a name, the most similar first.

    The similarity of two names is twice the length of their longest common subsequence over the sum of their lengths.
    It is 1 for names that differ only in case and in "-" for "_".  It is at least ``min_similarity``, by default 0.65
    for names that begin alike or contain one another, and 0.75 for others.
    """
    similar = [k for k in names if 3 * max(len(k), len(name)) <= 7 * min(len(k), len(name))]
    similar.sort(key=lambda k: abs(len(k) - len(name)))
    positions: dict[str, int] = {}  # by character: one bit for each position in the name
    for i, character in enumerate(name):
        positions[character] = positions.get(character, 0) | 1 << i
    work, result, folded = 0, [], _folded(name)
    for k in similar:
        work += len(k)
        if work > _MOST_WORK:
            break
        similarity = 2.0 * _common(k, positions, len(name)) / (len(k) + len(name))
        if _folded(k) == folded:
            similarity = 1.0
        alike = k[:1] == name[:1] or name in k or k in name
        if similarity >= (min_similarity or (_ALIKE if alike else _SIMILAR)):
            result.append((-similarity, k))
    return [k for _, k in sorted(result)[:3]]


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def _common(text: str, positions: dict[str, int], length: int) -> int:
    """Return the length of the longest common subsequence of a text and a name with known character positions.

    One step per character of the text, on integers with one bit per character of the name: Hyyrö, Bit-parallel
    LCS-length computation revisited, 2004.
    """
    mask = bits = (1 << length) - 1
    for character in text:
        matches = bits & positions.get(character, 0)
        bits = ((bits + matches) | (bits - matches)) & mask
    return length - bits.bit_count()


def printable(text: str) -> str:
    """Return a text for a message: shortened, with control characters escaped."""
    text = text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "..."
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def quoted(text: str) -> str:
    """Return a quoted text for a message: shortened and escaped."""
    return repr(text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "...")


def listed(names: Iterable[str], between: str = ", ") -> str:
    """Return a list of names for a message: quoted, at most 50."""
    shown = list(names)
    remaining = len(shown) - _SHOWN_NAMES
    text = between.join(quoted(name) for name in shown[:_SHOWN_NAMES])
    return f"{text}{between}... and {remaining} more" if remaining > 0 else text


def first_of(texts: Sequence[str], most: int) -> str:
    """Return the first texts, and how many more there are: "4, 7, 9 and 12 more"."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def without_inner_functions(
    text: str, parameters: Collection[str], traceback: types.TracebackType | None, values: Iterable[Any] = ()
) -> str:
    """Return an error's message without leading names of inner functions, which the user did not call.

    A leading name is removed if a parameter of the user's call follows, or if it names a function in the traceback.  It
    stays if an argument follows that the user's call does not have, and if it occurs in the ``values`` of the call.
    """
    users_names = {*parameters, *_texts_in(values)}
    while True:
        head, colon, remaining = text.partition(": ")
        if not colon or head in users_names or not _FUNCTION.fullmatch(head):
            return text
        argument = _ARGUMENT.match(remaining)
        if argument is None or argument[1] not in parameters:
            named = argument is not None and argument[0].endswith(":")
            if named or head not in _functions_of(traceback):
                return text
        text = remaining


_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?")
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])*(?::|(?![\w.]))")


def _texts_in(values: Iterable[Any], depth: int = 2) -> Iterator[str]:
    """Yield the texts in values of a call: strings, items and keys of collections, and names of objects."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (dict, list, tuple, set)):
            if depth:
                yield from _texts_in(islice(value, _MOST_TEXTS), depth - 1)
        elif isinstance(name := getattr(value, "name", None), str):
            yield name


_MOST_TEXTS = 1000  # items of a collection in a call


def _functions_of(traceback: types.TracebackType | None) -> set[str]:
    """Return the names of the functions in a traceback; a constructor has the name of its class."""
    names = set()
    while traceback is not None:
        code, traceback = traceback.tb_frame.f_code, traceback.tb_next
        owner, _, name = code.co_qualname.rpartition(".")
        names |= {owner.rpartition(".")[2]} if name in ("__init__", "__post_init__") else {name, code.co_qualname}
    return names


_SIMILAR, _ALIKE = 0.75, 0.65  # least similarity of names in a hint; of those that begin alike or contain another
_SHORTEST_WORD, _MOST_CLOSE = 3, 3  # characters of a word that names may contain, and names in a hint
_BETWEEN_WORDS = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 120  # characters; longer names are not compared, so that hints take milliseconds
_MOST_NAMES = 10_000
_FEW_NAMES = 30  # names that a hint lists completely
_MOST_WORK = 100_000  # characters compared for one hint
_SHOWN_LENGTH, _SHOWN_NAMES = 80, 50


_LONGEST = 60  # characters of a name in a table
_FEW = 12  # elements of an array or a list that `short_repr` shows


def escaped(text: str) -> str:
    """Return an untrusted text with unprintable characters as backslash escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else backslashed(c) for c in text)


def label(text: str) -> str:
    """Return a name from a file for a table: `escaped`, and shortened to 60 characters."""
    return escaped(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def number(x: float) -> str:
    """Return the text of a number with up to six significant digits."""
    return f"{x + 0.0:.6g}"


def number_list(values: Iterable[float]) -> str:
    """Return the text of one number, or of several numbers in parentheses; "-" if all of them are infinite."""
    shown = [number(x) for x in values]
    if all(text in ("inf", "-inf") for text in shown):
        return "-"
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def cut(text: str, columns: int) -> str:
    """Return a text shortened to a number of terminal columns."""
    if width(text) <= columns:
        return text
    while width(text) >= columns:
        text = text[:-1]
    return text + "…"


def width(text: str) -> int:
    """Return the number of terminal columns of a text."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> list[str]:
    """Return the lines of a table; columns ``left`` are aligned left, the others right."""
    widths = [max(map(width, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, ["-" * n for n in widths], *rows):
        cells = []
        for k, (cell, n) in enumerate(zip(row, widths, strict=True)):
            space = " " * (n - width(cell))
            cells.append(cell + space if k in left else space + cell)
        lines.append("  ".join(cells).rstrip())
    return lines


def short_repr(value: Any) -> str:
    """Return the ``__repr__`` of a named tuple or a dataclass, with large arrays by their shapes.

    >>> from typing import NamedTuple
    >>> class Gains(NamedTuple):
    ...     K: object
    ...     name: str
    ...     def __repr__(self):
    ...         return short_repr(self)
    >>> Gains(np.zeros((3, 14)), "arm")
    Gains(K=<array (3, 14)>, name='arm')
    """
    fields = getattr(value, "_fields", None)
    names = fields or [f.name for f in dataclasses.fields(value) if f.repr]
    return f"{type(value).__name__}({', '.join(f'{name}={_shown(getattr(value, name))}' for name in names)})"


def _shown(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"<array {x.shape}>" if x.size > _FEW or x.dtype == object else repr(x.tolist())
    if isinstance(x, (list, tuple, dict)) and len(x) > _FEW:
        return f"<{type(x).__name__} of {len(x)}>"
    return repr(x)


def untimed(caller: str, trajectory: Any) -> str:
    """Return the error message of a caller that needs times, for a trajectory without times."""
    return f"{caller}: expected a trajectory over time, got {trajectory!r}; {_TIMING}"


def refuse_motion(expected: str, value: Any) -> None:
    """Raise ValueError, which begins with ``expected``, if a value is a plan, a trajectory or another motion."""
    kind = type(value)
    if hasattr(kind, "is_timed"):
        remedy = "trajectory(t) returns q, v and a; simulate accepts trajectories in time_inputs"
        remedy = remedy if value.is_timed else _TIMING
    elif hasattr(kind, "timed"):
        remedy = "pass its .timed(...).trajectory in time_inputs"
    elif hasattr(kind, "trajectory"):
        remedy = f"pass its .trajectory{'()' if callable(kind.trajectory) else ''} in time_inputs"
    else:
        return
    raise ValueError(f"{expected}, got {value!r}; {remedy}")
