"""What there is to say on which constraints of velocities are constraints of positions."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Combination", "Integrability"]


@dataclass(frozen=True, slots=True)
class Combination:
    """A combination of rows of velocity constraints that is the rate of a position, up to a factor."""

    rows: tuple[str, ...]
    weights: tuple[float, ...]  # here: they may differ elsewhere
    positions: tuple[str, ...]  # what stays: one name, or what it is a function of; nothing where none was found

    def __str__(self) -> str:
        if not self.positions:
            return f"{self._sum()}: of no position that has a simple name"
        stays = "stays" if len(self.positions) == 1 else "bound together"
        return f"{self._sum()}: {', '.join(self.positions)} {stays}"

    def _sum(self) -> str:
        if len(self.rows) == 1:
            return self.rows[0]
        text = ""
        for row, weight in zip(self.rows, self.weights, strict=True):
            size = "" if abs(abs(weight) - 1.0) < 1e-9 else f"{abs(weight):.6g} "
            sign = (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
            text += f"{sign}{size}({row})"
        return text


@dataclass(frozen=True, slots=True)
class Integrability:
    """Which constraints of a robot's velocities come from constraints of its positions, around a configuration."""

    robot: str
    velocity_dof: int  # dimension of the velocities that are allowed
    configuration_dof: int  # dimension of the configurations that can be reached
    growth: tuple[int, ...]  # dimensions of what is allowed and its brackets, up to the involutive closure
    integrable: tuple[Combination, ...]  # of the rows of velocity constraints
    nonintegrable: tuple[str, ...]  # rows that are in no constraint of positions by themselves
    nonintegrable_rank: int  # how many of the velocity constraints no position follows from
    redundant: tuple[str, ...]  # rows of velocity constraints that the others say already
    generic: bool  # whether it is beside this configuration as it is here
    margin: float  # between what was counted and what was taken for rounding: singular values' ratio

    @property
    def holonomic(self) -> bool:
        """Whether all constraints are of positions, some of them perhaps written as velocities."""
        return self.nonintegrable_rank == 0

    def __str__(self) -> str:
        degrees = f"{self.velocity_dof} of velocity, {self.configuration_dof} of configuration"
        lines = [f"{self.robot}: degrees of freedom: {degrees}"]
        if not self.generic:
            lines.append("  this configuration is special: beside it these numbers are others")
        if len(self.growth) > 1:
            lines.append(f"  brackets: {' → '.join(map(str, self.growth))}")
        count = self.nonintegrable_rank + len(self.integrable)
        if count:
            lines.append(f"  positions follow from {len(self.integrable)} of {count} constraints of velocities")
        lines += [f"    {combination}" for combination in self.integrable]
        if self.nonintegrable:
            lines.append(f"  not by themselves: {'; '.join(self.nonintegrable)}")
        if self.redundant:
            lines.append(f"  said by others already: {'; '.join(self.redundant)}")
        return "\n".join(lines)
