"""How many degrees of freedom there are, and which rows are too many: by rank here, near, and far along the motion.

Rows that depend on others everywhere are those that they depend on in configurations reached by random motions; the
rank of matrices does not grow in a limit, so the largest that is met is that of all but some configurations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from linkwork.mechanisms.mobility.configuration_sampling import Mechanism
from linkwork.mechanisms.mobility.length_scaling import Ranked, Scales, chosen_rows, motions_of, ranked
from linkwork.mechanisms.mobility.mobility_analysis_report import Mobility
from linkwork.model.coordinate_names import names_of
from linkwork.model.tree import Tree

__all__ = ["assembled_near", "mobility_of"]

STARTS = 24  # random configurations that assembly is tried from
STILL = 1e-7  # part of a unit velocity that counts as rest


def assembled_near(mechanism: Mechanism, q: np.ndarray | None) -> Any:
    """An assembled configuration from q, from neutral where it is not given, or else from random ones."""
    robot = mechanism.robot

    def starts() -> Iterator[np.ndarray]:
        yield robot.neutral() if q is None else q
        rng = np.random.default_rng(0)
        for _ in range(STARTS):
            yield robot.random_configuration(rng)

    return mechanism.assembled(starts())[0]


def mobility_of(robot: Any, q: np.ndarray | None, scales: Scales, time: float | None, seed: int) -> Mobility:
    tree: Tree = robot.tree
    mechanism = Mechanism(robot, scales, time)
    rows = tuple(name for constraint in tree.constraints for name in constraint.row_names)
    found = assembled_near(mechanism, q)
    here = mechanism.ranked(found.q)
    G = mechanism.rows(found.q)
    inconsistent = _contradicting(rows, scales, found) or _contradicting_velocities(rows, mechanism, found.q, here)

    large = tree.nv > 30
    rng = np.random.default_rng(seed)
    others, seen, moving = [], np.abs(G).max(axis=0, initial=0.0), np.abs(here.right).max(axis=1, initial=0.0)
    if not inconsistent and here.rank < tree.nv and rows:
        for place in mechanism.wandered(found.q, 2 if large else 4, 4 if large else 8, rng):
            G_there = mechanism.rows(place)
            there = ranked(G_there)
            others.append((G_there, there))
            seen = np.maximum(seen, np.abs(G_there).max(axis=0, initial=0.0))
            moving = np.maximum(moving, np.abs(there.right).max(axis=1, initial=0.0))
    _, best = max([(G, here), *others], key=lambda pair: (pair[1].rank, pair[1] is here, pair[1].least))
    redundant = chosen_rows(best.left, len(rows) - best.rank, range(len(rows) - 1, -1, -1))
    kept = [k for k in range(len(rows)) if k not in redundant]
    within = ranked(G[kept])
    singular = [kept[k] for k in chosen_rows(within.left, len(kept) - here.rank, range(len(kept) - 1, -1, -1))]

    names = names_of(tree, "v")
    independent, motions = motions_of(tree, here.right, scales)
    still_here = np.abs(here.right).max(axis=1, initial=0.0) <= STILL
    still = moving <= STILL
    given = None if q is None else float(np.linalg.norm(robot.difference(q, found.q) * scales.velocities))
    return Mobility(
        name=robot.name,
        q=found.q,
        moved=given,
        length=scales.length,
        rows=rows,
        rank=here.rank,
        generic_rank=best.rank,
        error_rank=ranked(G[scales.errors]).rank,
        singular_values=here.values,
        velocities=names,
        redundant=tuple(rows[k] for k in redundant),
        singular=tuple(rows[k] for k in singular),
        inconsistent=inconsistent,
        motions=motions,
        independent=tuple(names[k] for k in independent),
        locked=tuple(name for name, is_still in zip(names, still, strict=True) if is_still),
        locked_here=tuple(names[k] for k in range(len(names)) if still_here[k] and not still[k]),
        untouched=tuple(names[k] for k in range(len(names)) if seen[k] <= STILL),
        samples=len(others),
    )


def _contradicting(rows: tuple[str, ...], scales: Scales, found: Any) -> dict[str, float]:
    """What is left of the rows' errors where they cannot all be zero."""
    if found.closed:
        return {}
    places = np.flatnonzero(scales.errors)
    worst = float(np.abs(found.error).max())
    left = {rows[k]: float(x / scales.rows[k]) for k, x in zip(places, found.error, strict=True)}
    return {
        name: x for (name, x), size in zip(left.items(), np.abs(found.error), strict=True) if not size <= 1e-6 * worst
    }


def _contradicting_velocities(
    rows: tuple[str, ...], mechanism: Mechanism, q: np.ndarray, here: Ranked
) -> dict[str, float]:
    """What is left of G v + σ at the velocity where it is least."""
    drift = mechanism.drift(q)
    left = here.left @ (here.left.T @ drift)
    worst = float(np.abs(left).max(initial=0.0))
    if worst <= 1e-9 * max(1.0, float(np.abs(drift).max(initial=0.0))):
        return {}
    sizes = mechanism.scales.rows
    return {rows[k]: float(left[k] / sizes[k]) for k in range(len(rows)) if abs(left[k]) > 1e-6 * worst}
