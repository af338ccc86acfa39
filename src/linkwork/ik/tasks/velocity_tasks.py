"""Tasks of velocities: J v = w in the least-squares sense or exactly, for steps of differential inverse kinematics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import names
from linkwork.constraints.constraint import References
from linkwork.ik.tasks.center_of_mass_tasks import without_mass
from linkwork.ik.tasks.task import (
    AimedTask,
    Scalars,
    TaskKinematics,
    TaskRows,
    TaskTarget,
    named,
)

__all__ = ["JointVelocityTask", "MomentumTask"]


@public_constructor
@dataclass(frozen=True)
class JointVelocityTask(AimedTask):
    """A joint has a velocity: a number, or (nv of it,) where it has several [rad/s, m/s].

        lw.ik.JointVelocityTask("left_wheel", weight=1.0)

    Of a soft one, ½ Σ (w dt (v − target))² is what it adds to the cost: w has the unit 1/rad or 1/m.
    """

    joint: str
    _: KW_ONLY
    units: tuple[str, ...] = ()  # of the joint's velocity, without /s: known once it is a robot's

    of_velocity = True

    def __post_init__(self) -> None:
        named(self, "joint", of="joint")
        object.__setattr__(self, "units", names("JointVelocityTask", "units", self.units, what="units, as strings"))
        self.settle(f"{self.joint} velocity")

    @property
    def references(self) -> References:
        return References(joints=(self.joint,))

    @property
    def known(self) -> bool:
        return bool(self.units)

    @property
    def target_of(self) -> TaskTarget:
        size = len(self.units)
        return TaskTarget(() if size <= 1 else (size,), "numbers", f"the velocity of joint {self.joint!r}")

    @property
    def component_names(self) -> tuple[str, ...]:
        count = len(self.units)
        return (self.name,) if count == 1 else tuple(f"{self.name}[{i}]" for i in range(count))

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.units

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return TaskRows([0.0] * len(self.units), state.moving(self.joint))

    def drift(self, state: TaskKinematics, target: Scalars) -> list[Any]:
        return [-x for x in target]

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        units = state.units(self.joint)
        if not units:
            raise ValueError(f"task {self.name!r}: joint {self.joint!r} does not move")
        return replace(self, units=units)


@public_constructor
@dataclass(frozen=True)
class MomentumTask(AimedTask):
    """The robot has a momentum about its centre of mass, in the world's axes: (6,) angular; linear [kg m²/s, kg m/s].

    Rows are those of the centroidal momentum matrix.  Of a soft one, ½ Σ (w dt (h − target))² is what it adds to the
    cost; a ``weight`` of 0 frees a row.
    """

    of_velocity = True

    def __post_init__(self) -> None:
        self.settle("momentum")

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((6,), "numbers", "the momentum about the centre of mass (angular; linear)")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {kind} {axis}" for kind in ("angular", "linear") for axis in "xyz")

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("1",) * 6

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return TaskRows([0.0] * 6, state.momentum_rows())

    def drift(self, state: TaskKinematics, target: Scalars) -> list[Any]:
        return [-x for x in target]

    def checked(self, robot: Any) -> Iterable[str]:
        return without_mass(robot, "MomentumTask")
