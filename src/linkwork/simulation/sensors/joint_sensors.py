"""Sensors of joints: encoders and force-torque sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import names
from linkwork.expr.scalar.functions import floor
from linkwork.mechanisms.algorithms.constraint_forces import constrained_joint_wrench, loop_joint_wrenches
from linkwork.model.inserted_joints import unweld
from linkwork.simulation.sensors.sensor import Sensor, SensorInput

__all__ = ["Encoder", "ForceTorqueSensor"]


@public_constructor
@dataclass(frozen=True)
class Encoder(Sensor):
    """Encoder of ``joints``: positions [rad, m], velocities [rad/s, m/s] or joint forces [N m, N].

    ``of`` is "position", "velocity" or "force".  ``joints`` are all joints of the tree but floating bases by default,
    and for forces all joints that follow no other joint.  A joint that follows another has its own position and
    velocity, and so does a joint that closes a loop: its angle is the value of `Robot.loop_configuration`, within one
    revolution. Readings with noise and bias are rounded to multiples of the ``resolution``, if it is not 0.

    ``noise``, ``bias`` and ``delay`` are described at `Sensor`.

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

    def _read(self, robot: Any) -> list[Any]:
        """Return the joints that are read.

        Raises UnknownNameError, ValueError for positions of joints with more coordinates than velocities, and for
        forces of joints that follow others or close loops.
        """
        free = [j.name for j in robot.joints if not j.is_floating and not (self.of == "force" and _coupling(robot, j))]
        result = [_joint(robot, name) for name in (free if self.joints is None else self.joints)]
        for joint in result:
            if self.of == "position" and joint.nq != joint.nv:
                raise ValueError(
                    f"Encoder: joints: joint {joint.name!r} ({joint.type_name}) has {joint.nq} coordinates for "
                    f"{joint.nv} degrees of freedom; name joints with one coordinate for each"
                )
            coupling = _coupling(robot, joint)
            if self.of == "force" and (coupling or _closes(robot, joint)):
                why = (
                    f"follows joint {coupling.joint!r}: name that joint"
                    if coupling
                    else "closes a loop, without a motor"
                )
                raise ValueError(f"Encoder: joints: force of joint {joint.name!r}: it {why}")
        return result

    def size(self, robot: Any) -> int:
        return sum(joint.nq if self.of == "position" else joint.nv for joint in self._read(robot))

    def readings(self, state: SensorInput) -> Sequence[Any]:
        robot, result = state.robot, list[Any]()
        of_loops: Any = None
        for joint in self._read(robot):
            part = joint.q_slice if self.of == "position" else joint.v_slice
            if _closes(robot, joint):
                if of_loops is None:
                    is_position = self.of == "position"
                    q, v = state.q, state.v
                    of_loops = robot.loop_configuration(q) if is_position else robot.loop_velocity(q, v)
                result += [of_loops[k] for k in range(part.start, part.stop)]
                continue
            values = {"position": state.q, "velocity": state.v, "force": state.tau}[self.of]
            elements, coupling = [values[k] for k in range(part.start, part.stop)], _coupling(robot, joint)
            if coupling is not None:
                elements = coupling.q(elements) if self.of == "position" else coupling.v(elements)
            result += elements
        return result

    def digitized(self, readings: Sequence[Any]) -> Sequence[Any]:
        r = self.resolution
        return [r * floor(x / r + 0.5) for x in readings] if r > 0.0 else readings


def _joint(robot: Any, name: str) -> Any:
    """Return a joint of the tree, or one that closes a loop.  Raises UnknownNameError."""
    closing = {loop.name: loop for loop in robot.loops}
    return closing[name] if name in closing else robot.joint(name)


def _closes(robot: Any, joint: Any) -> bool:
    return any(loop.name == joint.name for loop in robot.loops)


def _coupling(robot: Any, joint: Any) -> Any:
    """Return the coupling of a joint that follows another; None for other joints."""
    known = {body.joint_name: body.coupling for body in robot.tree.bodies}
    return known.get(joint.name)


@public_constructor
@dataclass(frozen=True)
class ForceTorqueSensor(Sensor):
    """Force-torque sensor: the wrench (moment; force) [N m, N] of a joint's parent on its child.

    The wrench is at the origin and in the axes of the joint's moving frame, as in `Robot.joint_wrenches`.  Contacts are
    included.  The joint is one of the tree, a fixed joint, which welds a link, or one that closes a loop.  The reading
    is the mean of the last step, with the acceleration that an `IMU` reads, including jumps.

    Forces of constraints are included: with loops, rolling wheels or other constraints the wrench is w = w₀ − Gᵀ λ.
    Forces that rigid bodies leave undetermined, as those across the plane of a four-bar, have least norm.  Before the
    first step the forces of constraints and contacts are zero.

    ``noise``, ``bias`` and ``delay`` are described at `Sensor`.

    >>> from linkwork.simulation import ForceTorqueSensor
    >>> ForceTorqueSensor("wrist", noise=0.05).joint
    'wrist'

    Raises UnknownNameError where the robot has no such joint.
    """

    joint: str

    def checked(self, robot: Any, has_contacts: bool) -> None:
        if self.joint not in robot.tree.fixed_joints:
            _joint(robot, self.joint)
        super().checked(robot, has_contacts)

    def size(self, robot: Any) -> int:
        return 6

    @property
    def _reads_middle(self) -> bool:
        return True

    def readings(self, state: SensorInput) -> Sequence[Any]:
        state = state.midway
        robot, wrenches, name = state.robot, state.external_wrenches, self.joint
        tree, acting = robot.tree, [(link, "world", x) for link, x in wrenches.items()]
        q, v, a = (list(x) for x in (state.q, state.v, state.a))
        forces, passive, friction = state.constraint_forces, state.passive, state.friction
        if name in tree.fixed_joints:
            tree = unweld(tree, name)
        elif any(loop.name == name for loop in robot.loops):
            k = [loop.name for loop in robot.loops].index(name)
            how: dict[str, Any] = {"time": [state.t], "passive": passive, "friction": friction}
            return list(loop_joint_wrenches(tree, q, v, a, acting, forces, **how)[k])
        elif not robot.constraints:
            acts = passive and bool(robot.force_elements)
            result = robot.joint_wrenches(state.q, state.v, state.a, wrenches=wrenches or None, passive=acts)
            return list(result[[joint.name for joint in robot.joints].index(name)])
        return constrained_joint_wrench(tree, name, q, v, a, forces, acting, state.t, passive, friction)
