"""Which constraints of velocities are constraints of positions, by Frobenius' theorem.

Velocities that constraints allow, and their Lie brackets, up to the involutive closure, span what can be reached.  A
combination c·G of rows that is zero on all of the closure is the differential of a position, up to a factor, and only
such are.  Holonomic constraints are that by definition; what more there is comes from those of velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...algorithms.configuration.manifold import integrate
from ...algorithms.constraints.distribution import rows_in_time
from ...algorithms.constraints.rows import constraint_error
from ...expr.derivative import is_zero
from ...model.tree import Tree
from .growth import Symbols, grown, pivots_of
from .positions import Position, candidates, positions_that_stay
from .report import Combination, Integrability
from .spans import complement, independent, rank_of, reduced

__all__ = ["integrability_of"]

_CLOSED = 1e-7  # how far configurations may be off holonomic constraints [m, rad]
_STATES = 6
_STEP = 0.3
_ZERO = 1e-7
_NOISE = 1e-12


def integrability_of(tree: Tree, q: np.ndarray, time: float) -> Integrability:
    """The report.  Raises ValueError where holonomic constraints do not hold, or velocities' contradict each other."""
    symbols = Symbols(tree)
    rows, sizes = rows_in_time(tree, symbols.q, symbols.time)
    timed = any(not is_zero(row[-1]) for row in rows)
    width = tree.nv + timed
    given = np.array([c.holonomic for c in tree.constraints for _ in c.row_names], dtype=bool)
    names = [name for c in tree.constraints for name in c.row_names]
    states = _states(symbols, rows, given, np.array([*q, time]), timed)
    G = _without_noise(symbols.values(rows, states)[:, :, :width], symbols.values(sizes, states))
    _check_consistent(tree, G)
    ranks = [rank_of(x[:, : tree.nv])[0] for x in G]
    regular = [k for k, rank in enumerate(ranks) if rank == max(ranks)]
    generic, states, G = ranks[0] == max(ranks), states[regular], G[regular]
    dof, h = tree.nv - max(ranks), rank_of(G[-1][given], _largest(G[-1]))[0]
    if given.all():
        return Integrability(tree.name, dof, dof, (dof,), (), (), 0, (), generic, np.inf)
    growth = grown(symbols, rows, pivots_of(G[0], tree.nv), timed, states, width - h)
    reached = growth.dimensions[-1]
    closures = growth.closure[:, :, :width]
    here = 0 if generic and rank_of(closures[0])[0] == reached else -1
    generic = here == 0
    left = complement(G[here][given], _largest(G[here]))  # what holonomic constraints allow
    own = np.flatnonzero(~given)
    counted = own[independent(G[here][own] @ left)]
    A = G[here][counted]
    on_closure = closures[here] @ A.T
    combined = reduced(complement(on_closure, float(np.linalg.norm(closures[here]) * np.linalg.norm(A))).T)
    tried = candidates(symbols, [c for c in tree.constraints if not c.holonomic], timed, states)
    positions = positions_that_stay(
        [Position(p.name, p.differentials[:, :width]) for p in tried],
        closures if generic else closures[1:],
        here,
        left,
        len(combined),
        tree.nq + timed,
    )
    combinations = [_combination(c, [names[k] for k in counted], c @ A @ left, positions, here, left) for c in combined]
    alone = {combination.rows[0] for combination in combinations if len(combination.rows) == 1}
    return Integrability(
        robot=tree.name,
        velocity_dof=dof,
        configuration_dof=reached - timed,
        growth=tuple(n - timed for n in growth.dimensions),
        integrable=tuple(combinations),
        nonintegrable=tuple(names[k] for k in counted if names[k] not in alone),
        nonintegrable_rank=len(counted) - len(combined),
        redundant=tuple(names[k] for k in own if k not in counted),
        generic=generic,
        margin=growth.margin,
    )


def _combination(
    weights: np.ndarray,
    names: Sequence[str],
    covector: np.ndarray,
    positions: Sequence[Position],
    state: int,
    left: np.ndarray,
) -> Combination:
    """A combination of rows, and the positions whose differentials it is made of."""
    used = [k for k, weight in enumerate(weights) if weight != 0.0]
    differentials = np.array([p.differentials[state] @ left for p in positions]).reshape(-1, len(covector))
    parts = np.linalg.lstsq(differentials.T, covector, rcond=None)[0]
    found = np.linalg.norm(differentials.T @ parts - covector) < _ZERO * np.linalg.norm(covector)
    sizes = np.abs(parts) * np.linalg.norm(differentials, axis=1)
    known = tuple(p.name for p, size in zip(positions, sizes, strict=True) if size > _ZERO * sizes.max())
    return Combination(tuple(names[k] for k in used), tuple(float(weights[k]) for k in used), known if found else ())


def _states(symbols: Symbols, rows: list[list[Any]], given: np.ndarray, here: np.ndarray, timed: bool) -> np.ndarray:
    """The state, and some around it where holonomic constraints hold: (n, nq + 1)."""
    tree = symbols.tree
    error = [[x] for x in constraint_error(tree, symbols.q, [symbols.time])]
    off = symbols.values(error, here[None])[0].ravel()
    if not (np.abs(off) < _CLOSED).all():
        of_error = [name for c in tree.constraints if c.holonomic for name in c.row_names]
        worst = int(np.argmax(np.abs(off)))
        raise ValueError(
            f"integrability: q does not obey the constraints of positions: {of_error[worst]!r} is off by "
            f"{off[worst]:.3g}: Robot.project or Robot.assemble finds a configuration that does"
        )
    rng, found, step = np.random.default_rng(0), [here], _STEP
    for _ in range(4 * _STATES):
        if len(found) > _STATES:
            break
        state = here + np.array([0.0] * tree.nq + [timed * rng.uniform(0.1, 1.0)])
        wanted = rng.normal(size=tree.nv) * step
        G = symbols.values(rows, here[None])[0][given, : tree.nv] if rows else np.zeros((0, tree.nv))
        state = _gone(tree, state, wanted - np.linalg.pinv(G, rcond=1e-9) @ (G @ wanted))
        state = _closed(symbols, rows, error, given, state)
        if state is None:
            step *= 0.5
        else:
            found.append(state)
    return np.array(found)


def _gone(tree: Tree, state: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.array([*integrate(tree, state[:-1].tolist(), v.tolist()), state[-1]])


def _closed(
    symbols: Symbols, rows: list[list[Any]], error: list[list[Any]], given: np.ndarray, state: np.ndarray
) -> np.ndarray | None:
    """The state with holonomic constraints closed by Newton's steps; nothing where that fails."""
    tree = symbols.tree
    for _ in range(20):
        off = symbols.values(error, state[None])[0].ravel()
        if not np.isfinite(off).all():
            return None
        if np.abs(off).max(initial=0.0) < 1e-13:
            return state
        G = symbols.values(rows, state[None])[0][given, : tree.nv]
        state = _gone(tree, state, -np.linalg.pinv(G, rcond=1e-9) @ off)
    return state if np.abs(off).max(initial=0.0) < 1e-10 else None


def _without_noise(G: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The rows (states, nc, width), those that are but rounding as zeros."""
    noise = np.linalg.norm(G, axis=2) < _NOISE * np.sqrt(sizes.sum(2))
    return np.where(noise[:, :, None], 0.0, G)


def _largest(G: np.ndarray) -> float:
    return float(np.linalg.norm(G, axis=1).max(initial=0.0))


def _check_consistent(tree: Tree, G: np.ndarray) -> None:
    """Raises ValueError where no velocity obeys all constraints: σ is none of G's."""
    for rows in G:
        if rank_of(rows)[0] > rank_of(rows[:, : tree.nv])[0]:
            raise ValueError(
                f"integrability: constraints of {tree.name!r} contradict each other: no velocity obeys all of them"
            )
