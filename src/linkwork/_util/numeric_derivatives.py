"""Central differences on a configuration manifold, and roots of constraint errors: references for contract checks.

``move(q, v)`` returns q ⊕ v for tangent vectors v (..., nv), as `Robot.integrate` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["central_differences", "vanishing_point"]

Array = np.ndarray[Any, Any]
Errors = Callable[[Array], Array]
Move = Callable[[Array, Array], Array]

_VANISHED = 1e-9  # [m, rad] errors below it count as zero
_MAX_ITERATIONS = 60


def central_differences(errors: Errors, move: Move, q: Array, nv: int, step: float = 1e-5) -> Array:
    """Return the Jacobian (errors, nv) of ``errors`` at q in the tangent space, by central differences.

    ``move(q, steps)`` returns the configurations that tangent vectors (n, nv) lead to from q.
    """
    steps = step * np.eye(nv)
    ahead, behind = (np.array([errors(x) for x in move(q, sign * steps)]) for sign in (1.0, -1.0))
    return np.asarray((ahead - behind).T / (2.0 * step))


def vanishing_point(errors: Errors, move: Move, q: Array, nv: int) -> Array | None:
    """Return a configuration near q where ``errors`` vanish, by damped least squares; None if the search fails."""
    damping = 1e-2
    for _ in range(_MAX_ITERATIONS):
        e = errors(q)
        if np.abs(e).max(initial=0.0) < _VANISHED:
            return np.asarray(q)
        J = central_differences(errors, move, q, nv)
        damped = np.vstack([J, np.sqrt(damping) * np.eye(nv)])  # of full rank in exact numbers alone
        trial = move(q, -np.linalg.lstsq(damped, np.concatenate([e, np.zeros(nv)]), rcond=None)[0])
        better = np.linalg.norm(errors(trial)) < np.linalg.norm(e)
        q, damping = (trial, 0.1 * damping) if better else (q, 10.0 * damping)
    return None
