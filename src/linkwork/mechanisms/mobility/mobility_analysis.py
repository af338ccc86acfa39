"""Mobility analysis: degrees of freedom and redundant rows from the rank of the constraint Jacobian.

The rank is computed in the given configuration and in configurations on random motions from it.  Rank does not grow in
a limit, so the largest rank found is the generic one.  Rows that are dependent at the generic rank are redundant; rows
that are dependent only in the given configuration are singular there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork._util.progress import Reporter
from linkwork._util.result import ReturnedValue
from linkwork.mechanisms.mobility.configuration_sampling import Mechanism
from linkwork.mechanisms.mobility.length_scaling import Ranked, Scales, chosen_rows, motion_text, motions_of, ranked
from linkwork.model.coordinate_names import names_of
from linkwork.model.tree import Tree

__all__ = ["Mobility", "assembled_near", "mobility_of"]


STARTS = 24  # random configurations from which assembly is tried
STILL = 1e-7  # component of a unit velocity below which a joint counts as locked


def assembled_near(mechanism: Mechanism, q: np.ndarray | None) -> Any:
    """Return an assembled configuration: from q (neutral if None), or else from random configurations."""
    robot = mechanism.robot

    def starts() -> Iterator[np.ndarray]:
        yield robot.neutral() if q is None else q
        rng = np.random.default_rng(0)
        for _ in range(STARTS):
            yield robot.random_configuration(rng)

    return mechanism.assembled(starts())[0]


def mobility_of(mechanism: Mechanism, q: np.ndarray | None, seed: int, progress: Any = False) -> Mobility:
    robot, scales = mechanism.robot, mechanism.scales
    tree: Tree = robot.tree
    rows = tuple(name for constraint in tree.constraints for name in constraint.component_names)
    result = assembled_near(mechanism, q)
    here = mechanism.ranked(result.q)
    G = mechanism.rows(result.q)
    inconsistent = _contradicting(rows, scales, result) or _contradicting_velocities(rows, mechanism, result.q, here)

    large = tree.nv > 30
    rng = np.random.default_rng(seed)
    samples, constrained, moving = [], np.abs(G).max(axis=0, initial=0.0), np.abs(here.right).max(axis=1, initial=0.0)
    if not inconsistent and here.rank < tree.nv and rows:
        walks, steps = (2, 4) if large else (4, 8)
        with Reporter("mobility", progress, "mobility: configurations", walks * steps) as report:
            for other_q in mechanism.random_motions(result.q, walks, steps, rng):
                G_there = mechanism.rows(other_q)
                there = ranked(G_there)
                samples.append((G_there, there))
                constrained = np.maximum(constrained, np.abs(G_there).max(axis=0, initial=0.0))
                moving = np.maximum(moving, np.abs(there.right).max(axis=1, initial=0.0))
                report.advance()
    _, best = max([(G, here), *samples], key=lambda pair: (pair[1].rank, pair[1] is here, pair[1].least))
    redundant = chosen_rows(best.left, len(rows) - best.rank, range(len(rows) - 1, -1, -1))
    necessary = [k for k in range(len(rows)) if k not in redundant]
    within = ranked(G[necessary])
    order = range(len(necessary) - 1, -1, -1)
    singular = [necessary[k] for k in chosen_rows(within.left, len(necessary) - here.rank, order)]

    names = names_of(tree, "v")
    independent, motions = motions_of(tree, here.right, scales)
    still_here = np.abs(here.right).max(axis=1, initial=0.0) <= STILL
    still = moving <= STILL
    start = robot.neutral() if q is None else q
    moved = float(np.linalg.norm(robot.difference(start, result.q) * scales.velocities))
    return Mobility._make(
        name=robot.name,
        q=result.q,
        start="neutral" if q is None else "given",
        moved=moved,
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
        untouched=tuple(names[k] for k in range(len(names)) if constrained[k] <= STILL),
        samples=len(samples),
    )


def _contradicting(rows: tuple[str, ...], scales: Scales, result: Any) -> dict[str, float]:
    """Return the remaining error of each constraint row, by name, if no configuration satisfies all constraints.

    If one does, the result is empty.
    """
    if result.closed:
        return {}
    indices = np.flatnonzero(scales.errors)
    worst = float(np.abs(result.error).max())
    left = {rows[k]: float(x / scales.rows[k]) for k, x in zip(indices, result.error, strict=True)}
    return {
        name: x for (name, x), size in zip(left.items(), np.abs(result.error), strict=True) if not size <= 1e-6 * worst
    }


def _contradicting_velocities(
    rows: tuple[str, ...], mechanism: Mechanism, q: np.ndarray, here: Ranked
) -> dict[str, float]:
    """Return the remainder of G v + σ by constraint row, if no velocity satisfies all constraints.

    v is the velocity for which it is smallest.  If some velocity satisfies all constraints, the result is empty.
    """
    drift = mechanism.drift(q)
    left = here.left @ (here.left.T @ drift)
    worst = float(np.abs(left).max(initial=0.0))
    if worst <= 1e-9 * float(np.abs(drift).max(initial=0.0)):
        return {}
    sizes = mechanism.scales.rows
    return {rows[k]: float(left[k] / sizes[k]) for k in range(len(rows)) if abs(left[k]) > 1e-6 * worst}


MOST = 12  # entries of a list in the report


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Mobility(ReturnedValue):
    """Degrees of freedom of a mechanism in a configuration, with the role of each constraint row and joint.

    Dependent rows are *redundant* if they are dependent everywhere, also in neighbouring configurations and along the
    motion, and *singular* if they are dependent only here; then some free velocities belong to no motion, or to another
    branch of it.  Rows are *inconsistent* if no configuration, or no velocity, was found that satisfies all of them.
    """

    name: str
    q: np.ndarray  # (nq,): an assembled configuration, or the one of smallest error
    start: str  # "given" if a configuration was passed, else "neutral"
    moved: float  # distance of q from that configuration [m]
    length: float  # factor of angles [m]
    rows: tuple[str, ...]
    rank: int
    generic_rank: int  # largest rank of all configurations sampled
    error_rank: int  # rank of the rows of holonomic constraints
    singular_values: np.ndarray  # of the scaled constraint Jacobian, in decreasing order
    velocities: tuple[str, ...]
    redundant: tuple[str, ...]
    singular: tuple[str, ...]
    inconsistent: Mapping[str, float]  # remaining error by row [m, rad], or [m/s, rad/s] for velocities
    motions: tuple[Mapping[str, float], ...]  # basis of free velocities, one for each of ``independent``
    independent: tuple[str, ...]
    locked: tuple[str, ...]  # velocities that are zero in all motions
    locked_here: tuple[str, ...]  # velocities that are zero only in this configuration
    untouched: tuple[str, ...]  # velocities that no constraint depends on
    samples: int  # number of other configurations analysed

    @property
    def nv(self) -> int:
        return len(self.velocities)

    @property
    def dof(self) -> int:
        """Number of free velocities in this configuration, nv − rank."""
        return self.nv - self.rank

    @property
    def mobility(self) -> int:
        """Number of free velocities in generic configurations; it is less than `dof` in a singular configuration."""
        return self.nv - self.generic_rank

    @property
    def is_singular(self) -> bool:
        """True if this configuration is singular: generic ones have fewer degrees of freedom."""
        return self.rank < self.generic_rank

    @property
    def counted(self) -> int:
        """Grübler–Kutzbach count nv − nc, which assumes that all rows are independent."""
        return self.nv - len(self.rows)

    @property
    def coordinates(self) -> int:
        """Number of independent coordinates, if no velocity constraint is integrable.

        It is nv minus the rank of the holonomic constraints.
        """
        return self.nv - self.error_rank

    @property
    def assembled(self) -> bool:
        """True if a configuration and a velocity satisfy all constraints: no row is inconsistent."""
        return not self.inconsistent

    @property
    def gap(self) -> tuple[float, float]:
        """Pair of singular values: the smallest one counted as nonzero, and the largest one counted as zero.

        They are singular values of the constraint Jacobian, scaled to be dimensionless.
        """
        values = [*self.singular_values, 0.0]
        return float(values[self.rank - 1]) if self.rank else 0.0, float(values[self.rank])

    @property
    def table(self) -> str:
        """Text with a line for each constraint row: its name, and its role in the mechanism.

        The role is "independent", "redundant", "singular", or "inconsistent" with the remaining error [m, rad; m/s,
        rad/s].
        """
        result = {**dict.fromkeys(self.redundant, "redundant"), **dict.fromkeys(self.singular, "singular")}
        result |= {name: f"inconsistent, error {x:.3g}" for name, x in self.inconsistent.items()}
        wide = max(map(len, self.rows), default=0)
        return "\n".join(f"{name:<{wide}}  {result.get(name, 'independent')}" for name in self.rows)

    def as_dict(self) -> dict[str, object]:
        """Return all values as plain dicts, lists, numbers and strings."""
        return {
            "name": self.name,
            "assembled": self.assembled,
            "dof": self.dof,
            "mobility": self.mobility,
            "counted": self.counted,
            "coordinates": self.coordinates,
            "rows": list(self.rows),
            "rank": self.rank,
            "generic_rank": self.generic_rank,
            "gap": list(self.gap),
            "length": self.length,
            "redundant": list(self.redundant),
            "singular": list(self.singular),
            "inconsistent": dict(self.inconsistent),
            "independent": list(self.independent),
            "motions": [dict(motion) for motion in self.motions],
            "locked": list(self.locked),
            "locked_here": list(self.locked_here),
            "untouched": list(self.untouched),
            "is_singular": self.is_singular,
            "start": self.start,
            "moved": self.moved,
            "q": self.q.tolist(),
        }

    def __repr__(self) -> str:
        return f"<Mobility of {self.name!r}: {_degrees(self.dof)}, rank {self.rank} of {_many(len(self.rows), 'row')}>"

    def __str__(self) -> str:
        if self.inconsistent:
            return "\n".join(map(escaped, [f"{self.name}: inconsistent", *self._contradictions()]))
        singular = ", in a singular configuration" if self.is_singular else ""
        lines = [f"{self.name}: {_degrees(self.dof)} of velocity{singular}", *self._counts()]
        if self.redundant:
            lines.append(f"  redundant (dependent everywhere): {_listed(self.redundant)}")
        if self.singular:
            lines.append(f"  singular (dependent only here): {_listed(self.singular)}")
            lines.append(f"  in generic configurations: {_degrees(self.mobility)}")
        free = [motion for motion in self.motions if not {*motion} <= {*self.untouched}]
        lines += [f"  free: {motion_text(motion)}" for motion in free[:MOST]]
        if len(free) > MOST:
            lines.append(f"  and {len(free) - MOST} more free motions")
        for group, names in (
            ("locked", self.locked),
            ("locked only here", self.locked_here),
            ("unconstrained", self.untouched),
        ):
            if names:
                lines.append(f"  {group}: {_listed(names)}")
        return "\n".join(map(escaped, lines))

    def _counts(self) -> list[str]:
        least, rest = self.gap
        lines = [
            f"  {self.nv} velocities, {_many(len(self.rows), 'row')} of rank {self.rank}; Grübler count {self.counted}"
        ]
        if self.rows:
            lines.append(
                f"  smallest nonzero singular value {least:.3g}, next {rest:.1g}, with angles times {self.length:.4g} m"
            )
        if self.coordinates != self.dof:
            lines.append(f"  {_degrees(self.coordinates)} of configuration")
        start = "the given q" if self.start == "given" else "the neutral configuration"
        away = f"an assembled configuration, {self.moved:.3g} m from {start}"
        lines.append(f"  at {start if self.moved <= 1e-9 * self.length else away}")
        return lines

    def _contradictions(self) -> list[str]:
        worst = sorted(self.inconsistent.items(), key=lambda item: -abs(item[1]))
        lines = [f"  {name}: error {x:.4g}" for name, x in worst[:MOST]]
        return [*lines, *([f"  and {len(worst) - MOST} more rows"] if len(worst) > MOST else [])]


def _degrees(count: int) -> str:
    return f"{count} degree{'' if count == 1 else 's'} of freedom"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _listed(names: tuple[str, ...], most: int = MOST) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
