"""Division of a step whose equations are not solved into shorter ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from linkwork.expr.arrays.pytree import tree_map
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import while_loop
from linkwork.expr.scalar.functions import and_, eq, fabs, floor, lt, where

__all__ = ["divided"]

_PARTS = 1024  # maximum number of parts of a step


class _Divided(NamedTuple):
    done: Any  # share of the step that is done
    part: Any  # share that is tried next
    q: Any
    v: Any
    made: Any  # forces


def divided(
    step: Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]], t: Any, q: Any, v: Any, h: Any, made: Any
) -> tuple[Any, Any, Any]:
    """Return the result of ``step(t, q, v, h)``, or of 2, 4, ... up to 1024 equal steps in its place.

    A step is halved if v after it is not finite, as its equations are not solved.  So is v if the shortest steps are
    not solved.  The third result are forces, of the form of ``made``.  Those of parts are averaged.
    """

    def parted(s: _Divided) -> _Divided:
        q, v, made = step(t + s.done * h, list(s.q), list(s.v), s.part * h, lt((_PARTS - 0.5) * s.part, 1.0))
        solved = lt(sum(map(fabs, (*q, *v)), 0.0), math.inf)

        def either(new: Any, old: Any) -> Any:
            return array([where(solved, a, b) for a, b in zip(new, old, strict=True)])

        made = tree_map(lambda a, b: where(solved, a + s.part * b, a), s.made, made)
        done = s.done + where(solved, s.part, 0.0)
        pairs = done / (2.0 * s.part)
        longer = where(eq(floor(pairs), pairs), 2.0 * s.part, s.part)
        part = where(solved, longer, 0.5 * s.part)
        return _Divided(done, part, either(q, s.q), either(v, s.v), made)

    def going(s: _Divided) -> Any:
        return and_(lt(s.done, 1.0), lt(1.0, (_PARTS + 0.5) * s.part))

    none = tree_map(lambda x: 0.0 * x, made)
    begin = _Divided(0.0, 1.0, array(list(q)), array(list(v)), none)
    end = while_loop(going, parted, begin, max_iterations=4 * _PARTS).state
    return list(end.q), [where(lt(end.done, 1.0), math.inf, x) for x in end.v], end.made
