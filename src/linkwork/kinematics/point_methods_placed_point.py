"""Points and directions of a robot, as people hold them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork._util.messages__printing import numbers
from linkwork.model.body import Direction, Point
from linkwork.parts.joint.joint_editing import fixed_array

__all__ = ["PlacedDirection", "PlacedPoint"]


@dataclass(frozen=True, slots=True, repr=False)
class PlacedPoint:
    """A named point of a robot, fixed to a frame: an immutable value, equal and hashable by content."""

    point: Point

    @property
    def name(self) -> str:
        """What functions of points call it."""
        return self.point.name

    @property
    def frame(self) -> str:
        """The name of the frame that it is fixed to."""
        return self.point.frame

    @property
    def position(self) -> np.ndarray:
        """From the frame's origin, in its axes (3,) [m]."""
        return fixed_array([*self.point.position])

    def __repr__(self) -> str:
        return f"<PlacedPoint {self.name!r}: at {numbers(self.position)} in {self.frame!r}>"


@dataclass(frozen=True, slots=True, repr=False)
class PlacedDirection:
    """A named direction of a robot, fixed to a frame: an immutable value, equal and hashable by content."""

    direction: Direction

    @property
    def name(self) -> str:
        """What functions of directions call it."""
        return self.direction.name

    @property
    def frame(self) -> str:
        """The name of the frame that it is fixed to."""
        return self.direction.frame

    @property
    def vector(self) -> np.ndarray:
        """Of unit length, in the frame's axes (3,) [1]."""
        return fixed_array([*self.direction.vector])

    def __repr__(self) -> str:
        return f"<PlacedDirection {self.name!r}: along {numbers(self.vector)} in {self.frame!r}>"
