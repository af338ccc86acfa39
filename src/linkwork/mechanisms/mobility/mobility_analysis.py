"""How many degrees of freedom there are, and which rows are too many: by rank here, near, and far along the motion.

Rows that depend on others everywhere are those that they depend on in configurations reached by random motions; the
rank of matrices does not grow in a limit, so the largest that is met is that of all but some configurations.

What a mechanism can do, as people read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.progress import Reporter
from linkwork._util.result import Made
from linkwork.mechanisms.mobility.configuration_sampling import Mechanism
from linkwork.mechanisms.mobility.length_scaling import Ranked, Scales, chosen_rows, motion_text, motions_of, ranked
from linkwork.model.coordinate_names import names_of
from linkwork.model.tree import Tree

__all__ = ["Mobility", "assembled_near", "mobility_of"]


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


def mobility_of(
    robot: Any, q: np.ndarray | None, scales: Scales, time: float | None, seed: int, progress: Any = False
) -> Mobility:
    tree: Tree = robot.tree
    mechanism = Mechanism(robot, scales, time)
    rows = tuple(name for constraint in tree.constraints for name in constraint.component_names)
    result = assembled_near(mechanism, q)
    here = mechanism.ranked(result.q)
    G = mechanism.rows(result.q)
    inconsistent = _contradicting(rows, scales, result) or _contradicting_velocities(rows, mechanism, result.q, here)

    large = tree.nv > 30
    rng = np.random.default_rng(seed)
    others, seen, moving = [], np.abs(G).max(axis=0, initial=0.0), np.abs(here.right).max(axis=1, initial=0.0)
    if not inconsistent and here.rank < tree.nv and rows:
        walks, steps = (2, 4) if large else (4, 8)
        with Reporter("mobility", progress, "mobility: configurations", walks * steps) as report:
            for place in mechanism.wandered(result.q, walks, steps, rng):
                G_there = mechanism.rows(place)
                there = ranked(G_there)
                others.append((G_there, there))
                seen = np.maximum(seen, np.abs(G_there).max(axis=0, initial=0.0))
                moving = np.maximum(moving, np.abs(there.right).max(axis=1, initial=0.0))
                report.advance()
    _, best = max([(G, here), *others], key=lambda pair: (pair[1].rank, pair[1] is here, pair[1].least))
    redundant = chosen_rows(best.left, len(rows) - best.rank, range(len(rows) - 1, -1, -1))
    kept = [k for k in range(len(rows)) if k not in redundant]
    within = ranked(G[kept])
    singular = [kept[k] for k in chosen_rows(within.left, len(kept) - here.rank, range(len(kept) - 1, -1, -1))]

    names = names_of(tree, "v")
    independent, motions = motions_of(tree, here.right, scales)
    still_here = np.abs(here.right).max(axis=1, initial=0.0) <= STILL
    still = moving <= STILL
    given = None if q is None else float(np.linalg.norm(robot.difference(q, result.q) * scales.velocities))
    return Mobility._make(
        name=robot.name,
        q=result.q,
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


def _contradicting(rows: tuple[str, ...], scales: Scales, result: Any) -> dict[str, float]:
    """What is left of the rows' errors where they cannot all be zero."""
    if result.closed:
        return {}
    places = np.flatnonzero(scales.errors)
    worst = float(np.abs(result.error).max())
    left = {rows[k]: float(x / scales.rows[k]) for k, x in zip(places, result.error, strict=True)}
    return {
        name: x for (name, x), size in zip(left.items(), np.abs(result.error), strict=True) if not size <= 1e-6 * worst
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


MOST = 12  # of a kind that a text lists


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Mobility(Made):
    """Degrees of freedom of a mechanism in a configuration, and what its rows and joints are to them.

    Rows that depend on others are *redundant* where they do so everywhere, also near this configuration and along the
    motion, and *singular* where they do so only here: then velocities are free that no motion, or another branch of it,
    follows.  Rows are *inconsistent* where no configuration, or no velocity, was found that obeys them all.
    """

    name: str
    q: np.ndarray  # (nq,): an assembled configuration, or where the error is least
    moved: float | None  # how far it is from the one that was given, as a length [m]; None where none was
    length: float  # what angles were multiplied by [m]
    rows: tuple[str, ...]
    rank: int
    generic_rank: int  # the largest of configurations near and far
    error_rank: int  # of the rows that have an error
    singular_values: np.ndarray  # of the scaled rows, the largest first
    velocities: tuple[str, ...]
    redundant: tuple[str, ...]
    singular: tuple[str, ...]
    inconsistent: Mapping[str, float]  # by row: what is left of it [m, rad; m/s, rad/s where the velocities contradict]
    motions: tuple[Mapping[str, float], ...]  # a basis of free velocities: by each of ``independent``, all that move
    independent: tuple[str, ...]
    locked: tuple[str, ...]  # velocities that are zero in all motions
    locked_here: tuple[str, ...]  # and such as are zero here alone
    untouched: tuple[str, ...]  # velocities that no constraint sees
    samples: int  # other configurations that were looked at

    @property
    def nv(self) -> int:
        return len(self.velocities)

    @property
    def dof(self) -> int:
        """Degrees of freedom of velocity here."""
        return self.nv - self.rank

    @property
    def mobility(self) -> int:
        """Degrees of freedom of velocity in configurations near and far: less than here where it is singular."""
        return self.nv - self.generic_rank

    @property
    def counted(self) -> int:
        """Grübler and Kutzbach's count: freedoms of joints less rows, as if all rows were independent."""
        return self.nv - len(self.rows)

    @property
    def coordinates(self) -> int:
        """Degrees of freedom of configuration, if no row without an error follows from a position."""
        return self.nv - self.error_rank

    @property
    def assembled(self) -> bool:
        """Whether all constraints can be met."""
        return not self.inconsistent

    @property
    def gap(self) -> tuple[float, float]:
        """The smallest singular value that counts, and the largest that counts as zero."""
        values = [*self.singular_values, 0.0]
        return float(values[self.rank - 1]) if self.rank else 0.0, float(values[self.rank])

    @property
    def table(self) -> str:
        """A line for each row of the constraints: its name, and what it is besides independent."""
        result = {**dict.fromkeys(self.redundant, "redundant"), **dict.fromkeys(self.singular, "singular")}
        result |= {name: f"inconsistent, {x:.3g} left" for name, x in self.inconsistent.items()}
        wide = max(map(len, self.rows), default=0)
        return "\n".join(f"{name:<{wide}}  {result.get(name, 'independent')}" for name in self.rows)

    def as_dict(self) -> dict[str, object]:
        """All of it in plain lists, numbers and texts."""
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
            "moved": self.moved,
            "q": self.q.tolist(),
        }

    def __repr__(self) -> str:
        return f"<Mobility of {self.name!r}: {_degrees(self.dof)}, rank {self.rank} of {_many(len(self.rows), 'row')}>"

    def __str__(self) -> str:
        if self.inconsistent:
            return "\n".join([f"{self.name}: inconsistent", *self._contradictions()])
        lines = [f"{self.name}: {_degrees(self.dof)} of velocity", *self._counts()]
        if self.redundant:
            lines.append(f"  redundant (dependent everywhere): {_listed(self.redundant)}")
        if self.singular:
            lines.append(f"  singular (dependent only here): {_listed(self.singular)}")
            lines.append(f"  elsewhere it has {_degrees(self.mobility)}")
        free = [motion for motion in self.motions if not {*motion} <= {*self.untouched}]
        lines += [f"  free: {motion_text(motion)}" for motion in free[:MOST]]
        if len(free) > MOST:
            lines.append(f"  and {len(free) - MOST} more free motions")
        for what, names in (
            ("locked", self.locked),
            ("at rest here", self.locked_here),
            ("untouched by constraints", self.untouched),
        ):
            if names:
                lines.append(f"  {what}: {_listed(names)}")
        return "\n".join(lines)

    def _counts(self) -> list[str]:
        least, rest = self.gap
        lines = [f"  {self.nv} velocities, {_many(len(self.rows), 'row')} of rank {self.rank}; counted {self.counted}"]
        if self.rows:
            lines.append(
                f"  singular values from {least:.3g} up count, from {rest:.1g} down not, with angles times "
                f"{self.length:.4g} m"
            )
        if self.coordinates != self.dof:
            lines.append(f"  {_degrees(self.coordinates)} of configuration")
        if self.moved is not None and self.moved > 1e-9 * self.length:
            lines.append(f"  at an assembled configuration {self.moved:.3g} m from the one given")
        return lines

    def _contradictions(self) -> list[str]:
        worst = sorted(self.inconsistent.items(), key=lambda item: -abs(item[1]))
        lines = [f"  {name}: {x:.4g} is left" for name, x in worst[:MOST]]
        return [*lines, *([f"  and {len(worst) - MOST} more rows"] if len(worst) > MOST else [])]


def _degrees(count: int) -> str:
    return f"{count} degree{'' if count == 1 else 's'} of freedom"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _listed(names: tuple[str, ...], most: int = MOST) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
