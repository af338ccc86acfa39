"""What a mechanism can do, as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from linkwork.mechanisms.mobility.length_scaling import motion_text

__all__ = ["Mobility"]

MOST = 12  # of a kind that a text lists


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Mobility:
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
        found = {**dict.fromkeys(self.redundant, "redundant"), **dict.fromkeys(self.singular, "singular")}
        found |= {name: f"inconsistent, {x:.3g} left" for name, x in self.inconsistent.items()}
        wide = max(map(len, self.rows), default=0)
        return "\n".join(f"{name:<{wide}}  {found.get(name, 'independent')}" for name in self.rows)

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
