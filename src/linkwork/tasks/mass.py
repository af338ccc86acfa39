"""Where the robot's centre of mass is to be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ..constraints.contract import References
from .contract import TOLERANCE, Scalars, Task, TaskKinematics, TaskRows, TaskTarget

__all__ = ["CenterOfMassTask"]

_XYZ = ("x", "y", "z")


def without_mass(robot: Any, kind: str) -> Iterable[str]:
    """What is wrong with a robot that has no centre of mass."""
    robot.require_inertias(kind)
    if robot.mass == 0.0:
        yield f"robot {robot.name!r} has no mass, so there is no centre of it: give a link a mass"


@dataclass(frozen=True)
class CenterOfMassTask(Task):
    """The robot's centre of mass is at a place c (3,) of a frame [m], in whose axes errors are.

    A coordinate is free where its tolerance is infinite: ``tolerance=(1e-4, 1e-4, np.inf)``.
    """

    _: KW_ONLY
    relative_to: str = "world"
    target: Any = None
    weight: Any = None
    level: int = 0
    tolerance: Any = TOLERANCE
    name: str = ""

    def __post_init__(self) -> None:
        self.settle("center_of_mass")

    @property
    def references(self) -> References:
        return References(frames=(self.relative_to,))

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((3,), "place", f"where the centre of mass is to be in {self.relative_to!r}")

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * 3

    def rows(self, k: TaskKinematics, target: Scalars) -> TaskRows:
        place, rates = k.moving_center_of_mass(self.relative_to)
        return TaskRows(
            [x - wanted for x, wanted in zip(place, target, strict=True)],
            [[getattr(rate, axis) for rate in rates] for axis in _XYZ],
        )

    def checked(self, robot: Any) -> Iterable[str]:
        return without_mass(robot, "CenterOfMassTask")
