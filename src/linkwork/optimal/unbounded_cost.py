"""Costs without a lower bound: how the cost of a path falls along directions, at lengths up to `LONGEST`.

Terms of kind "cost" that are linear in accelerations have no bound; those that are quadratic in velocities, as torques,
have neither a bound nor a direction along which they fall everywhere.  So at each length the lowest of several
directions counts.  The lengths grow by factors of ten.  A cost that falls by as much from each to the next, as −log x
does, has no lower bound.  It is no proof: a minimum beyond these lengths is not excluded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.optimal.kernels import shapes_of, state_shapes, value_kernel

__all__ = ["FARTHEST", "LONGEST", "falls_without_bound"]

Array = np.ndarray

LONGEST = 1e8  # in units of coordinates: length of the longest moves of a path
FARTHEST = 1e10  # [rad, m] paths with larger coordinates have diverged
_LENGTHS = np.geomspace(10.0, LONGEST, 8)
_DIRECTIONS = 32
_LASTING = 0.9  # smallest ratio of successive decreases of the cost, 1 for a logarithm


def falls_without_bound(result: Any, flat_index: int) -> bool:
    """Return True if one entry of a batch seems to have no lower bound of its cost within its constraints.

    From each length to the next, the lowest cost decreases by as much as before, and no constraint is violated.  The
    moves begin with the entry's path, or if it has diverged with a path at rest at the start.
    """
    own, program, robot = result._prepared, result._prepared.program, result.problem.robot
    if not any(term.kind == "cost" for term in program.terms):
        return False
    lead = result._state["scalars"].shape[:-1]
    index = np.unravel_index(flat_index, lead) if lead else ()
    arrays, shapes = {**result._state, **result._inputs}, {**state_shapes(program), **shapes_of(program)}
    entry = {
        name: np.broadcast_to(arrays[name], (*lead, *shape))[index] for name, shape in shapes.items() if name in arrays
    }
    q, names = entry["q"], [name for name in ("q", "u", "p") if name in state_shapes(program)]

    def evaluated(paths: Array) -> tuple[Array, Array]:
        """Return costs (...), and True where a constraint is violated, of paths (..., T, nq)."""
        numbers = (paths if name == "q" else entry[name] for name in (*names, *shapes_of(program)))
        values = value_kernel(program)(*numbers)
        total, beyond = np.zeros(paths.shape[:-2]), np.zeros(paths.shape[:-2], dtype=bool)
        for k, (term, tolerance) in enumerate(zip(program.terms, _by_term(result), strict=True)):
            c = result._by_feature(values.everywhere, values.alone)[term.name] * (
                entry["scales"][program.rows_of[k]] != 0
            )
            if term.hard:
                beyond |= (np.abs(own.beyond(k, c)) > tolerance).any(axis=(-1, -2))
            else:
                c = c * own.constants["scales"][program.rows_of[k]]
                total += (c if term.kind == "cost" else 0.5 * c * c).sum(axis=(-1, -2))
        return total, beyond

    if not np.abs(q).max(initial=0.0) < FARTHEST:
        q = np.broadcast_to(entry.get("start", robot.neutral()), q.shape)
    rng = np.random.default_rng(0)
    shapes_in_time = np.linspace(0.0, 1.0, len(q))[:, None] ** rng.uniform(0.3, 3.0, (_DIRECTIONS, 1, 1))
    d = shapes_in_time * rng.normal(size=(_DIRECTIONS, 1, robot.nv)) * np.array(program.units)
    d = d / np.abs(d / program.units).max(axis=(-1, -2), keepdims=True)
    paths = robot.integrate(
        np.broadcast_to(q, (len(_LENGTHS), *d.shape[:2], q.shape[-1])), _LENGTHS[:, None, None, None] * d
    )
    with np.errstate(all="ignore"):
        (here, _), (costs, beyond) = evaluated(q), evaluated(paths)
    lowest = np.min(costs, axis=-1, where=~beyond & np.isfinite(costs), initial=np.inf)
    if not np.isfinite([here, *lowest]).all():
        return False
    falls = np.diff(lowest, prepend=here)
    return bool(falls[0] < 0.0 and (falls[1:] < _LASTING * falls[:-1]).all())


def _by_term(result: Any) -> list[float]:
    program = result._prepared.program
    own = dict(zip(program.hard, result._tolerances[1:], strict=True))
    return [own.get(k, np.inf) for k in range(len(program.terms))]
