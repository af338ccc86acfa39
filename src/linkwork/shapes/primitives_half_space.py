"""The half-space."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.shapes.shape import Unweighed

__all__ = ["HalfSpace"]


@dataclass(frozen=True, slots=True)
class HalfSpace(Unweighed):
    """All that lies below z = 0 of its frame: a floor.  It has no volume, no reach and no farthest points."""

    @property
    def reach(self) -> None:
        return None
