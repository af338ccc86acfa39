"""Sensors of joints: encoders and force-torque sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import names
from linkwork.expr.scalar.functions import floor
from linkwork.mechanisms.algorithms.constraint_forces import constrained_joint_wrench
from linkwork.simulation.sensors.sensor import Sensor, SensorInput

__all__ = ["Encoder", "ForceTorqueSensor"]


@public_constructor
@dataclass(frozen=True)
class Encoder(Sensor):
    """Encoder of ``joints``: positions [rad, m], velocities [rad/s, m/s] or joint forces [N m, N].

    ``of`` is "position", "velocity" or "force".  ``joints`` are all but floating bases by default.  Readings with
    noise and bias are rounded to multiples of the ``resolution``, if it is not 0.

    >>> from linkwork.simulation import Encoder
    >>> Encoder(("elbow",), noise=1e-4, resolution=2e-4).of
    'position'
    """

    joints: tuple[str, ...] | None = None
    of: str = "position"
    resolution: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.joints is not None:
            object.__setattr__(
                self, "joints", names("Encoder", "joints", self.joints, description="None or names of joints")
            )
        if self.of not in ("position", "velocity", "force"):
            raise ValueError(f"Encoder: of: expected 'position', 'velocity' or 'force', got {self.of!r}")
        if not 0.0 <= self.resolution < float("inf"):
            raise ValueError(f"Encoder: resolution: expected a finite number >= 0, got {self.resolution!r}")

    def indices(self, robot: Any) -> list[int]:
        """Return the indices of q, v or τ that are read.

        Raises UnknownNameError, and ValueError for positions of joints with more coordinates than velocities.
        """
        result: list[int] = []
        read = [j.name for j in robot.joints if not j.is_floating] if self.joints is None else self.joints
        for joint in map(robot.joint, read):
            if self.of == "position" and joint.nq != joint.nv:
                raise ValueError(
                    f"Encoder: joints: joint {joint.name!r} ({joint.type_name}) has {joint.nq} coordinates for "
                    f"{joint.nv} degrees of freedom; name joints with one coordinate for each"
                )
            which = joint.q_slice if self.of == "position" else joint.v_slice
            result += range(which.start, which.stop)
        return result

    def size(self, robot: Any) -> int:
        return len(self.indices(robot))

    def readings(self, state: SensorInput) -> Sequence[Any]:
        values = {"position": state.q, "velocity": state.v, "force": state.tau}[self.of]
        return [values[k] for k in self.indices(state.robot)]

    def digitized(self, readings: Sequence[Any]) -> Sequence[Any]:
        r = self.resolution
        return [r * floor(x / r + 0.5) for x in readings] if r > 0.0 else readings


@public_constructor
@dataclass(frozen=True)
class ForceTorqueSensor(Sensor):
    """Force-torque sensor: the wrench (moment; force) [N m, N] of a joint's parent on its child.

    It is at the origin and in the axes of the joint's moving frame, as of `Robot.joint_wrenches`, with contacts.  It is
    the mean of the last step, with the acceleration that an `IMU` reads, including jumps.

    Forces of constraints are included: with loops, rolling wheels or other constraints the wrench is w = w₀ − Gᵀ λ.
    Forces that rigid bodies leave undetermined, as those across the plane of a four-bar, have least norm.  Before the
    first step the forces of constraints and contacts are zero.

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

    def readings(self, state: SensorInput) -> Sequence[Any]:
        state = state.midway
        robot, wrenches = state.robot, state.external_wrenches
        if not robot.constraints:
            acts = state.passive and bool(robot.force_elements)
            result = robot.joint_wrenches(state.q, state.v, state.a, wrenches=wrenches or None, passive=acts)
            return list(result[[joint.name for joint in robot.joints].index(self.joint)])
        return constrained_joint_wrench(
            robot.tree,
            self.joint,
            list(state.q),
            list(state.v),
            list(state.a),
            state.constraint_forces,
            [(link, "world", x) for link, x in wrenches.items()],
            state.t,
            state.passive,
            state.friction,
        )
