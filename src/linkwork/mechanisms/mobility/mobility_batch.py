"""Mobility analysis: degrees of freedom and redundant rows from the rank of the constraint Jacobian.

The rank is computed in the given configuration and in configurations on random motions from it.  Rank does not grow in
a limit, so the largest rank found is the generic one.  Rows that are dependent at the generic rank are redundant; rows
that are dependent only in the given configuration are singular there.  A batch of mechanisms is analysed together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork._util.progress import Reporter
from linkwork._util.result import ReturnedValue
from linkwork.mechanisms.mobility.configuration_sampling import Assembled, Mechanism
from linkwork.mechanisms.mobility.length_scaling import (
    Decomposed,
    Ranked,
    Scales,
    chosen_rows,
    decomposed,
    motions_of,
    ranked,
)
from linkwork.mechanisms.mobility.mobility_analysis import Mobility, degrees
from linkwork.model.coordinate_names import names_of
from linkwork.model.tree import Tree

__all__ = ["Mobilities", "assembled_near", "mobility_of"]

STARTS = 24  # random configurations from which assembly is tried
LOCKED_RATE = 1e-7  # component of a unit velocity below which a joint counts as locked


def assembled_near(mechanism: Mechanism, q: np.ndarray | None, count: int = 1) -> Assembled:
    """Return assembled configurations of a batch of mechanisms, projected from q (n, nq) onto the constraints.

    Where the projection of q fails, random configurations are projected. With q None, the neutral one is the first.
    """
    robot = mechanism.robot
    rng = np.random.default_rng(0)
    first = np.broadcast_to(robot.neutral() if q is None else q, (count, robot.nq))
    return mechanism.assembled(chain([first], (robot.random_configuration(rng) for _ in range(STARTS))))


def mobility_of(
    mechanism: Mechanism, q: np.ndarray | None, shape: tuple[int, ...], seed: int, progress: Any = False
) -> Any:
    """Return the `Mobility` of a mechanism, or the `Mobilities` of a batch of this shape, whose inputs are flat."""
    robot, scales = mechanism.robot, mechanism.scales
    tree: Tree = robot.tree
    rows = tuple(name for constraint in tree.constraints for name in constraint.component_names)
    count = math.prod(shape)
    start = robot.neutral() if q is None else q
    result = assembled_near(mechanism, start, count)
    G, drift = mechanism.rows(result.q), mechanism.drift(result.q)
    _refuse_rows(rows, G, result.q)
    rank_here = decomposed(G)
    moved = np.linalg.norm(
        robot.difference(np.broadcast_to(start, result.q.shape), result.q) * scales.velocities, axis=-1
    )
    samples = _SampledJacobians(result, moved, G, drift, rank_here)
    moving = np.flatnonzero(result.closed & (rank_here.rank < tree.nv) & ~samples.contradicting_velocities())
    if len(moving) and rows:
        walks, steps = (2, 4) if tree.nv > 30 else (4, 8)
        rng, first = np.random.default_rng(seed), rank_here.some(moving)
        motions = mechanism.some(moving).random_motions(result.q[moving], first, walks, steps, rng)
        with Reporter("mobility", progress, "mobility: configurations", walks * steps) as report:
            for index, rows_there, rank_there in motions:
                samples.add(moving[index], rows_there, rank_there)
                report.advance()
    start_name = "neutral" if q is None else "given"
    batch = Mobilities._make(robot.name, shape, samples, scales, tree, start_name)
    return batch if shape else batch[()]


def _refuse_rows(rows: Sequence[str], G: np.ndarray, q: np.ndarray) -> None:
    """Raise ValueError for rows that are not finite."""
    wrong = ~np.isfinite(G).all(axis=-1)
    if wrong.any():
        k = int(np.argmax(wrong.any(axis=-1)))
        bad = ", ".join(repr(rows[i]) for i in np.flatnonzero(wrong[k])[:6])
        raise ValueError(f"constraints: {bad}: expected finite rows at q = {np.array2string(q[k], precision=4)}")


class _SampledJacobians:
    """Constraint Jacobians of a batch of mechanisms: at q, and at the sampled configuration of largest rank."""

    def __init__(
        self, result: Assembled, moved: np.ndarray, G: np.ndarray, drift: np.ndarray, decomposition: Decomposed
    ) -> None:
        self.result, self.moved, self.G, self.drift = result, moved, G, drift  # moved (n): distance from the start [m]
        self.rank, self.best, self.generic_rank = decomposition.rank, G.copy(), decomposition.rank.copy()
        self.samples = np.zeros(len(G), dtype=int)
        self.constrained, self.moving = np.abs(G).max(axis=-2, initial=0.0), decomposition.moving
        self._least = np.full(len(G), np.inf)  # smallest nonzero singular value of the best one

    def contradicting_velocities(self) -> np.ndarray:
        """Return True for mechanisms without a velocity that satisfies all constraints, (n)."""
        result = np.zeros(len(self.G), dtype=bool)
        for k in np.flatnonzero(self.drift.any(axis=-1)):
            result[k] = bool(_velocity_errors(self.drift[k], ranked(self.G[k])).any())
        return result

    def add(self, index: np.ndarray, G: np.ndarray, ranks: Decomposed) -> None:
        """Add the constraint Jacobians G of a further configuration, for the mechanisms with these indices."""
        better = ranks.rank > self.generic_rank[index]
        better |= (ranks.rank == self.generic_rank[index]) & (ranks.least > self._least[index])
        lanes = index[better]
        self.best[lanes], self.generic_rank[lanes], self._least[lanes] = (
            G[better],
            ranks.rank[better],
            ranks.least[better],
        )
        self.samples[index] += 1
        self.constrained[index] = np.maximum(self.constrained[index], np.abs(G).max(axis=-2, initial=0.0))
        self.moving[index] = np.maximum(self.moving[index], ranks.moving)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Mobilities(ReturnedValue):
    """Degrees of freedom of a batch of mechanisms (...); an index returns the `Mobility` of one of them."""

    name: str
    shape: tuple[int, ...]
    _sampled: _SampledJacobians
    _scales: Scales
    _tree: Tree
    _start: str

    @property
    def q(self) -> np.ndarray:
        """Assembled configurations, or those of smallest error, (..., nq)."""
        return self._sampled.result.q.reshape(*self.shape, self._tree.nq)

    @property
    def rank(self) -> np.ndarray:
        """Rank of the constraint Jacobian at q, (...)."""
        return self._sampled.rank.reshape(self.shape)

    @property
    def generic_rank(self) -> np.ndarray:
        """Largest rank of all configurations sampled, (...)."""
        return self._sampled.generic_rank.reshape(self.shape)

    @property
    def dof(self) -> np.ndarray:
        """Number of free velocities at q, nv − rank, (...)."""
        return self._tree.nv - self.rank

    @property
    def mobility(self) -> np.ndarray:
        """Number of free velocities in generic configurations, (...)."""
        return self._tree.nv - self.generic_rank

    @property
    def is_singular(self) -> np.ndarray:
        """True where q is a singular configuration, (...)."""
        return self.rank < self.generic_rank

    @property
    def assembled(self) -> np.ndarray:
        """True where a configuration and a velocity satisfy all constraints, (...)."""
        result = self._sampled.result.closed & ~self._sampled.contradicting_velocities()
        return np.asarray(result.reshape(self.shape))

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __iter__(self) -> Iterator[Mobility]:
        return (self[index] for index in np.ndindex(self.shape))

    def __getitem__(self, index: int | tuple[int, ...]) -> Mobility:
        """Return the mobility of one mechanism.  Raises IndexError for an index out of range."""
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.shape):
            raise IndexError(f"expected an index of one mechanism of the shape {self.shape}, got {index}")
        return _mobility_at(self, int(np.arange(math.prod(self.shape)).reshape(self.shape)[index]))

    def __repr__(self) -> str:
        return f"<Mobilities of {self.name!r}: shape {self.shape}>"

    def __str__(self) -> str:
        kinds = Counter(zip(self.dof.ravel().tolist(), self.assembled.ravel().tolist(), strict=True))
        parts = [
            f"{count} with {degrees(dof)}" if is_assembled else f"{count} inconsistent"
            for (dof, is_assembled), count in kinds.most_common()
        ]
        return escaped(f"{self.name}: {math.prod(self.shape)} mechanisms: {', '.join(parts)}")


def _mobility_at(batch: Mobilities, k: int) -> Mobility:
    """Return the mobility of the k-th mechanism of a flat batch."""
    samples, scales, tree = batch._sampled, batch._scales, batch._tree
    rows = tuple(name for constraint in tree.constraints for name in constraint.component_names)
    G, ranked_here, best = samples.G[k], ranked(samples.G[k]), ranked(samples.best[k])
    left = _velocity_errors(samples.drift[k], ranked_here) / scales.rows
    inconsistent = {rows[i]: float(left[i]) for i in np.flatnonzero(left)}
    if not samples.result.closed[k]:
        inconsistent = _contradicting(rows, scales, samples.result.error[k])
    redundant = chosen_rows(best.left, len(rows) - best.rank, range(len(rows) - 1, -1, -1))
    necessary = [i for i in range(len(rows)) if i not in redundant]
    within = ranked(G[necessary])
    order = range(len(necessary) - 1, -1, -1)
    singular = [necessary[i] for i in chosen_rows(within.left, len(necessary) - ranked_here.rank, order)]
    names = names_of(tree, "v")
    independent, motions = motions_of(tree, ranked_here.right, scales)
    locked_here = np.abs(ranked_here.right).max(axis=1, initial=0.0) <= LOCKED_RATE
    locked = samples.moving[k] <= LOCKED_RATE
    return Mobility._make(
        name=batch.name,
        q=samples.result.q[k],
        start=batch._start,
        moved=float(samples.moved[k]),
        length=scales.length,
        rows=rows,
        rank=ranked_here.rank,
        generic_rank=best.rank,
        error_rank=ranked(G[scales.errors]).rank,
        singular_values=ranked_here.values,
        velocities=names,
        redundant=tuple(rows[i] for i in redundant),
        singular=tuple(rows[i] for i in singular),
        inconsistent=inconsistent,
        motions=motions,
        independent=tuple(names[i] for i in independent),
        locked=tuple(name for name, is_still in zip(names, locked, strict=True) if is_still),
        locked_here=tuple(names[i] for i in range(len(names)) if locked_here[i] and not locked[i]),
        untouched=tuple(names[i] for i in range(len(names)) if samples.constrained[k][i] <= LOCKED_RATE),
        samples=int(samples.samples[k]),
        undetermined_pins=None,
    )


def _contradicting(rows: tuple[str, ...], scales: Scales, errors: np.ndarray) -> dict[str, float]:
    """Return the remaining error of each constraint row, by name, of a mechanism that is not assembled."""
    indices = np.flatnonzero(scales.errors)
    worst = float(np.abs(errors).max())
    left = {rows[k]: float(x / scales.rows[k]) for k, x in zip(indices, errors, strict=True)}
    return {name: x for (name, x), size in zip(left.items(), np.abs(errors), strict=True) if not size <= 1e-6 * worst}


def _velocity_errors(drift: np.ndarray, ranked_rows: Ranked) -> np.ndarray:
    """Return the smallest possible violation of each constraint on velocities (nc), zero if none is violated."""
    left = ranked_rows.left @ (ranked_rows.left.T @ drift)
    worst = float(np.abs(left).max(initial=0.0))
    is_small = worst <= 1e-9 * float(np.abs(drift).max(initial=0.0))
    return np.where(is_small | (np.abs(left) <= 1e-6 * worst), 0.0, left)
