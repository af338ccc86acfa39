"""Default values of arguments of inverse kinematics."""

from typing import Literal

__all__ = ["DAMPING", "JUMP", "STEPS", "TOLERANCE", "WIDE", "WIDE_LENGTH", "Axes"]

Axes = Literal["frame", "target", "reference"] | str

DAMPING = 0.1  # of steps at singularities
JUMP = 0.5  # [rad, m] largest joint motion between two poses of a path
STEPS = 6000  # iterations of all starts: 1 in 700 humanoid problems needs more than half of them
TOLERANCE = 1e-6  # [m, rad]
WIDE = 1e-3  # [rad] larger tolerances widen the set of solutions; up to it they are the accuracy of a search
WIDE_LENGTH = 5e-3  # [characteristic lengths] the same for tolerances of lengths
