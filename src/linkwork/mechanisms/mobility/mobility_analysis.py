"""Report of a mobility analysis: degrees of freedom, and the role of each constraint row and joint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from linkwork._util.messages import escaped, first_of
from linkwork._util.result import ReturnedValue
from linkwork.mechanisms.mobility.length_scaling import motion_text

__all__ = ["Mobility", "degrees"]


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
    undetermined_pins: tuple[str, ...] | None  # joints whose force depends on tolerances; None in a batch

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
            "undetermined_pins": None if self.undetermined_pins is None else list(self.undetermined_pins),
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
        return f"<Mobility of {self.name!r}: {degrees(self.dof)}, rank {self.rank} of {_many(len(self.rows), 'row')}>"

    def __str__(self) -> str:
        if self.inconsistent:
            return "\n".join(map(escaped, [f"{self.name}: inconsistent", *self._contradictions()]))
        singular = ", in a singular configuration" if self.is_singular else ""
        lines = [f"{self.name}: {degrees(self.dof)} of velocity{singular}", *self._counts()]
        if self.redundant:
            lines.append(f"  redundant (dependent everywhere): {first_of(self.redundant, MOST)}")
        if self.undetermined_pins:
            pins = first_of(self.undetermined_pins, MOST)
            lines.append(f"  overconstrained: the forces in these joints depend on tolerances and stiffness: {pins}")
        if self.singular:
            lines.append(f"  singular (dependent only here): {first_of(self.singular, MOST)}")
            lines.append(f"  in generic configurations: {degrees(self.mobility)}")
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
                lines.append(f"  {group}: {first_of(names, MOST)}")
        return "\n".join(map(escaped, lines))

    def _counts(self) -> list[str]:
        least, last = self.gap
        lines = [
            f"  {self.nv} velocities, {_many(len(self.rows), 'row')} of rank {self.rank}; Grübler count in space "
            f"{self.counted}"
        ]
        if self.rows:
            lines.append(
                f"  smallest nonzero singular value {least:.3g}, next {last:.1g}, with angles times {self.length:.4g} m"
            )
        if self.coordinates != self.dof:
            lines.append(f"  {degrees(self.coordinates)} of configuration")
        start = "the given q" if self.start == "given" else "the neutral configuration"
        away = f"an assembled configuration, {self.moved:.3g} m from {start}"
        is_away = self.moved > 1e-9 * self.length
        lines.append(f"  at {away if is_away else start}")
        if is_away and self.is_singular:
            lines.append("  for another configuration pass q, as from assemble(hold={...}).q")
        return lines

    def _contradictions(self) -> list[str]:
        worst = sorted(self.inconsistent.items(), key=lambda item: -abs(item[1]))
        lines = [f"  {name}: error {x:.4g}" for name, x in worst[:MOST]]
        return [*lines, *([f"  and {len(worst) - MOST} more rows"] if len(worst) > MOST else [])]


def degrees(count: int) -> str:
    return f"{count} degree{'' if count == 1 else 's'} of freedom"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
