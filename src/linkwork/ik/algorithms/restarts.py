"""Configurations to start from, the same ones always, which fill the limits evenly.

The k-th number of a sequence is the fractional part of ½ + k α: with α_i = g⁻ⁱ, g the root of g^{d+1} = g + 1 that is
greater than 1, points in d dimensions keep apart.

Source: Roberts, The unreasonable effectiveness of quasirandom sequences, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from linkwork.expr.scalar.functions import and_, floor, lt, where
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, numbered, unit_steps
from linkwork.kinematics.algorithms.low_discrepancy import rates
from linkwork.model.tree import Tree

__all__ = ["begun", "start"]

Scalars = Sequence[Any]

_MANY = 16  # starts, from where on every second is near bounds
_FAR = 1e6  # a bound that is no place to start from [rad, m]


def begun(tree: Tree, q_init: Scalars, box: LimitBox, number: Any, locked_dofs: Collection[int] = ()) -> list[Any]:
    """The start of a number within limits: 0 is the seed."""
    if number.__class__ in (int, float) and not number:
        return box.within(q_init)
    places = start(tree, q_init, box, number, locked_dofs)
    return box.within([where(lt(number, 0.5), a, b) for a, b in zip(q_init, places, strict=True)])


def _outward(x: Any) -> Any:
    """From 0 to 1, more often near the ends."""
    return x * x * (3.0 - 2.0 * x)


def start(tree: Tree, q: Scalars, box: LimitBox, number: Any, locked_dofs: Collection[int] = ()) -> list[Any]:
    """The start of a number 1, 2, ...: anywhere within limits; without limits, up to half a turn, or two characteristic
    lengths, from q.  What is held stays.  Where many have not helped, every second one is nearer to bounds.
    """
    places = [0.5 + number * step for step in rates(tree.nv)]
    places = [x - floor(x) for x in places]  # from 0 to 1
    outward = and_(lt(_MANY, number), lt(number - 2.0 * floor(0.5 * number), 0.5))
    places = [where(outward, _outward(_outward(x)), x) for x in places]
    reach = unit_steps(tree, math.pi, 2.0)
    moved = [
        0.0 if k in locked_dofs else r * (2.0 * x - 1.0) for k, (r, x) in enumerate(zip(reach, places, strict=True))
    ]
    result = integrate(tree, q, moved)
    for k, n in numbered(tree).items():
        if k in locked_dofs or k not in box.numbers:
            continue
        low, high = box.lower[n], box.upper[n]
        low, high = (
            where(lt(low, -_FAR), where(lt(_FAR, high), -reach[k], high - 2.0 * reach[k]), low),
            where(lt(_FAR, high), where(lt(low, -_FAR), reach[k], low + 2.0 * reach[k]), high),
        )
        result[n] = low + (high - low) * places[k]
    return result
