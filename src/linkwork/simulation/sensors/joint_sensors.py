"""Sensors in joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.expr.scalar.functions import floor
from linkwork.mechanisms.algorithms.constraint_forces import constrained_joint_wrench
from linkwork.simulation.sensors.sensor import Sensor, SensorInput

__all__ = ["Encoder", "ForceTorqueSensor"]


@public_constructor
@dataclass(frozen=True)
class Encoder(Sensor):
    """Positions of ``joints`` [rad, m], or with ``of="velocity"`` their velocities [rad/s, m/s], or with ``of="force"``
    the forces that act in them [N m, N], of all joints that are none of a floating base if none are named.

    Readings are whole multiples of the ``resolution``, if it is not 0.

    >>> from linkwork.simulation import Encoder
    >>> Encoder(("elbow",), noise=1e-4, resolution=2e-4).of
    'position'
    """

    joints: tuple[str, ...] | None = None
    of: str = "position"
    resolution: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.joints, str):
            object.__setattr__(self, "joints", (self.joints,))
        elif self.joints is not None:
            object.__setattr__(self, "joints", tuple(self.joints))
        if self.of not in ("position", "velocity", "force"):
            raise ValueError(f"Encoder: of: expected 'position', 'velocity' or 'force', got {self.of!r}")
        if not 0.0 <= self.resolution < float("inf"):
            raise ValueError(f"Encoder: resolution: expected a number, not negative, got {self.resolution!r}")

    def places(self, robot: Any) -> list[int]:
        """Which numbers of q, of v or of τ are read.

        Raises UnknownNameError, and ValueError for positions of joints that have no number for each velocity.
        """
        result: list[int] = []
        names = [j.name for j in robot.joints if not j.is_floating] if self.joints is None else self.joints
        for joint in map(robot.joint, names):
            if self.of == "position" and joint.nq != joint.nv:
                raise ValueError(
                    f"Encoder: joint {joint.name!r} ({joint.type_name}) has {joint.nq} numbers for {joint.nv} degrees "
                    "of freedom: an encoder reads joints of as many; name others"
                )
            which = joint.q_slice if self.of == "position" else joint.v_slice
            result += range(which.start, which.stop)
        return result

    def size(self, robot: Any) -> int:
        return len(self.places(robot))

    def readings(self, seen: SensorInput) -> Sequence[Any]:
        numbers = {"position": seen.q, "velocity": seen.v, "force": seen.tau}[self.of]
        result = [numbers[k] for k in self.places(seen.robot)]
        r = self.resolution
        return [r * floor(x / r + 0.5) for x in result] if r > 0.0 else result


@public_constructor
@dataclass(frozen=True)
class ForceTorqueSensor(Sensor):
    """The wrench (moment; force) [N m, N] that a joint's parent exerts on its child, at the origin and in the axes of
    the joint's moving frame, as `Robot.joint_wrenches` has it, with contacts.  It is that of the acceleration that an
    `IMU` feels, with what jumps do to it.

    Where joints close loops, wheels roll, or other constraints hold bodies, their forces go through the joint too: it
    is what is left of what its child and all behind it take, w = w₀ − Gᵀ λ.  Forces that rigid bodies leave open, as
    those across the plane of a four-bar, are the least ones that hold.  Before the first step constraints exert
    nothing, as contacts do not.

    >>> from linkwork.simulation import ForceTorqueSensor
    >>> ForceTorqueSensor("wrist", noise=0.05).joint
    'wrist'

    Raises UnknownNameError where the robot has no such joint.
    """

    joint: str

    def checked(self, robot: Any, has_contacts: bool) -> None:
        robot.joint(self.joint)
        super().checked(robot, has_contacts)

    def size(self, robot: Any) -> int:
        return 6

    def readings(self, seen: SensorInput) -> Sequence[Any]:
        robot, wrenches = seen.robot, seen.external_wrenches
        if not robot.constraints:
            acts = seen.passive and bool(robot.force_elements)
            result = robot.joint_wrenches(seen.q, seen.v, seen.a, wrenches=wrenches or None, passive=acts)
            return list(result[[joint.name for joint in robot.joints].index(self.joint)])
        return constrained_joint_wrench(
            robot.tree,
            self.joint,
            list(seen.q),
            list(seen.v),
            list(seen.a),
            seen.constraint_forces,
            [(link, "world", x) for link, x in wrenches.items()],
            seen.t,
            seen.passive,
            seen.friction,
        )
