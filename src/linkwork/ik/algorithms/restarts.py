"""Start configurations of searches: a fixed low-discrepancy sequence that covers the position limits.

Coordinate i of the k-th point is the fractional part of ½ + k α_i, with α_i = g⁻ⁱ, where g > 1 is the root of g^{d+1} =
g + 1.  Points in d dimensions then have large distances from each other.

Source: Roberts, The unreasonable effectiveness of quasirandom sequences, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from linkwork.expr.scalar.functions import and_, floor, lt, where
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, coordinate_indices, unit_steps
from linkwork.kinematics.algorithms.low_discrepancy import kronecker_rates
from linkwork.model.tree import Tree

__all__ = ["sequence_point", "start_configuration"]

Scalars = Sequence[Any]

_MANY = 16  # number of starts after which every second one is near bounds
_NO_BOUND = 1e6  # larger bounds, relative to the reach without bounds, count as absent


def start_configuration(
    tree: Tree, q_init: Scalars, box: LimitBox, index: Any, locked_dofs: Collection[int] = ()
) -> list[Any]:
    """Return the initial guess for ``index`` 0, else point ``index`` of `sequence_point`, clipped to the limits."""
    if index.__class__ in (int, float) and not index:
        return box.within(q_init)
    fractions = sequence_point(tree, q_init, box, index, locked_dofs)
    return box.within([where(lt(index, 0.5), a, b) for a, b in zip(q_init, fractions, strict=True)])


def _outward(x: Any) -> Any:
    """Return x² (3 − 2 x), which maps [0, 1] to itself and moves points towards the ends."""
    return x * x * (3.0 - 2.0 * x)


def sequence_point(tree: Tree, q: Scalars, box: LimitBox, index: Any, locked_dofs: Collection[int] = ()) -> list[Any]:
    """Return the configuration number ``index`` (1, 2, ...) of a low-discrepancy sequence that covers the limits.

    Coordinates without limits are up to half a revolution, or two characteristic lengths, from q.  Locked joints stay.
    After many starts, every second one is nearer to the limits.
    """
    fractions = [0.5 + index * step for step in kronecker_rates(tree.nv)]
    fractions = [x - floor(x) for x in fractions]  # in [0, 1)
    outward = and_(lt(_MANY, index), lt(index - 2.0 * floor(0.5 * index), 0.5))
    fractions = [where(outward, _outward(_outward(x)), x) for x in fractions]
    reach = unit_steps(tree, math.pi, 2.0)
    displacement = [
        0.0 if k in locked_dofs else r * (2.0 * x - 1.0) for k, (r, x) in enumerate(zip(reach, fractions, strict=True))
    ]
    result = integrate(tree, q, displacement)
    for k, n in coordinate_indices(tree).items():
        if k in locked_dofs or k not in box.indices:
            continue
        low, high, far = box.lower[n], box.upper[n], _NO_BOUND * reach[k]
        low, high = (
            where(lt(low, -far), where(lt(far, high), -reach[k], high - 2.0 * reach[k]), low),
            where(lt(far, high), where(lt(low, -far), reach[k], low + 2.0 * reach[k]), high),
        )
        result[n] = low + (high - low) * fractions[k]
    return result
