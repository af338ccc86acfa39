"""Rows of the motion benchmarks: one figure with its target and peer, and its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.measurement.seconds import shown_time
from benchmarks.tables.targets import Target

__all__ = ["MotionRow"]


@dataclass(frozen=True, slots=True)
class MotionRow:
    """A figure of linkwork with its target and another library's figure.

    ``unit`` is "s" (shown as a time), "%" of 100, or another unit such as "" or "rad".  ``target`` bounds the value,
    ``beside`` the ratio of the peer's value to ours; None: no target.  A value of None could not be measured.
    """

    label: str
    value: float | None
    unit: str = ""
    target: Target | None = None
    peer: float | None = None
    peer_name: str = ""
    beside: Target | None = None

    @property
    def times(self) -> float | None:
        """Return the ratio of the peer's value to ours."""
        return None if self.peer is None or not self.value else self.peer / self.value

    @property
    def met(self) -> bool | None:
        """Return True if all targets are met; None without a target, or without a peer to compare with."""
        judged = [(self.target, self.value)] if self.target is not None else []
        if self.beside is not None and (self.peer is not None or self.value is None):
            judged.append((self.beside, self.times))
        return all(x is not None and bound.met(x) for bound, x in judged) if judged else None

    @property
    def verdict(self) -> Literal["", "met", "MISSED", "not measured"]:
        """Return the verdict as text; empty without a target."""
        if self.met is None:
            return ""
        return "not measured" if self.value is None else "met" if self.met else "MISSED"

    @property
    def ours_shown(self) -> str:
        """linkwork's figure."""
        return self._shown(self.value)

    @property
    def target_shown(self) -> str:
        """The bounds: on the value, then on the times of the peer's."""
        shown = [] if self.target is None else [_sign(self.target) + self._shown(self.target.bound)]
        if self.beside is not None:
            shown.append(f"{_sign(self.beside)}{self.beside.bound:g} ×")
        return ", ".join(shown) or "-"

    @property
    def peer_shown(self) -> str:
        """The peer's figure and its name, and of times how many times ours."""
        if self.peer is None:
            return "-"
        times = f", {float(f'{self.times:.2g}'):g} ×" if self.unit == "s" and self.times else ""
        return f"{self.peer_name} {self._shown(self.peer)}{times}".strip()

    def _shown(self, x: float | None) -> str:
        if x is None or self.unit == "s":
            return shown_time(x)
        return f"{x:.5g} {self.unit}".strip()


def _sign(target: Target) -> str:
    return "≥ " if target.at_least else "≤ "
