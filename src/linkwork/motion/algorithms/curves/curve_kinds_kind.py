"""What a kind of curve states: its arrays, and q at a place on it, over any scalar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from linkwork.motion.algorithms.curves.curve_space import CurveSpace

__all__ = ["Arrays", "CurveKind"]

Arrays = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CurveKind:
    """A kind of curve, an entry of the table.

    ``arrays`` says the shape of each by words: "pieces" is how many pieces there are, "nq" and "nv" what the space
    has, and other words are sizes that the arrays themselves tell.  ``starts`` are parameters s where pieces begin,
    in their order; every kind has them.  ``q(space, arrays, s, at)`` is the configuration at s, ``at`` being s
    without derivatives, by which pieces are chosen.
    """

    name: str
    arrays: tuple[tuple[str, tuple[str, ...]], ...]
    q: Callable[[CurveSpace, Arrays, Any, Any], list[Any]]
