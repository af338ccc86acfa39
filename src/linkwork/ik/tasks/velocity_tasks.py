"""Velocity tasks J v = w, exact or in the least-squares sense, for differential inverse kinematics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import names
from linkwork.constraints.constraint import References
from linkwork.ik.tasks.arguments import named
from linkwork.ik.tasks.center_of_mass_tasks import without_mass
from linkwork.ik.tasks.task import AimedTask, Scalars, TaskKinematics, TaskRows, TaskTarget

__all__ = ["JointVelocityTask", "MomentumTask"]


@public_constructor
@dataclass(frozen=True)
class JointVelocityTask(AimedTask):
    """Task: a joint has a velocity, a number or an array (nv of the joint,) [rad/s, m/s].

        lw.ik.JointVelocityTask("left_wheel", weight=1.0)

    A soft task adds ½ Σ (w dt (v − target))² to the cost; w has the unit 1/rad or 1/m.

    ``level``, ``tolerance`` and ``name`` are those of every `Task`.  ``units`` are computed.
    """

    joint: str
    _: KW_ONLY
    units: tuple[str, ...] = ()  # of the joint's velocity, without /s; set by `settled`

    of_velocity = True

    def __post_init__(self) -> None:
        named(self, "joint", of="joint")
        object.__setattr__(self, "units", names("JointVelocityTask", "units", self.units, description="unit strings"))
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
        return TaskTarget(() if size <= 1 else (size,), "numbers", f"velocity of joint {self.joint!r}")

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
            raise ValueError(f"task {self.name!r}: joint: expected a movable joint, got {self.joint!r}")
        return replace(self, units=units)


@public_constructor
@dataclass(frozen=True)
class MomentumTask(AimedTask):
    """Task: the robot has a momentum about its centre of mass, in world axes, (6,) angular; linear.

    Units are kg m²/s and kg m/s.  The Jacobian is the centroidal momentum matrix.  A soft task adds
    ½ Σ (w dt (h − target))² to the cost; a ``weight`` of 0 frees a component.

    ``level``, ``tolerance`` and ``name`` are those of every `Task`.
    """

    of_velocity = True

    def __post_init__(self) -> None:
        self.settle("momentum")

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((6,), "numbers", "momentum about the centre of mass (angular; linear)")

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
