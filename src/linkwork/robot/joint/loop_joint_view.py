"""View of a joint that closes a kinematic loop: its coordinates and constraint wrench."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.lazy_imports import published_in
from linkwork.constraints import LoopJoint
from linkwork.joints import JointType
from linkwork.robot.joint.joint import Bounds, Joint, drive_of
from linkwork.spatial.arguments import fixed_array

__all__ = ["LoopJointView", "loop_joints", "loop_of"]


@published_in("linkwork.parts")
@dataclass(frozen=True, slots=True)
class LoopJointView:
    """Joint that closes a loop of a robot: ``robot.joint("pin")``, or an element of ``robot.loops``.

    It has no coordinates in the robot's q and v; its configuration and velocity follow from them. Its methods accept
    the robot's q and v with any leading batch dimensions, and are compiled at the first call.

    ``q_slice`` and ``v_slice`` are its entries in `Robot.loop_configuration` and `Robot.loop_velocity`. ``rows`` are
    its rows in `Robot.constraint_jacobian`, and ``errors`` its entries in `Robot.constraint_error`.

    >>> import linkwork as lw
    >>> robot = lw.load("fourbar")
    >>> [loop.name for loop in robot.loops]
    ['pin']
    """

    robot: Any  # a Robot
    loop: LoopJoint
    q_slice: slice  # its coordinates in `Robot.loop_configuration`
    v_slice: slice  # its coordinates in `Robot.loop_velocity`
    rows: slice  # its rows in `Robot.constraint_jacobian` and its entries in constraint forces
    errors: slice  # its entries in `Robot.constraint_error`

    @property
    def name(self) -> str:
        return self.loop.name

    @property
    def type(self) -> JointType:
        """Joint type with its parameters."""
        return self.loop.joint

    @property
    def type_name(self) -> str:
        """Name of the joint type, e.g. "revolute"."""
        return self.type.type_name()

    @property
    def frame(self) -> str:
        """Name of the stator frame F of the loop joint."""
        return self.loop.relative_to

    @property
    def other(self) -> str:
        """Name of the rotor frame M of the loop joint."""
        return self.loop.frame

    @property
    def links(self) -> tuple[str, str]:
        """Names of the two bodies that the loop joint connects; "world" for a frame fixed to the world."""
        tree = self.robot.tree
        bodies = (tree.frame(name).body for name in (self.frame, self.other))
        first, second = ("world" if body < 0 else tree.bodies[body].name for body in bodies)
        return first, second

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.type.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.type.nv

    @property
    def joint(self) -> Joint:
        """Separate `Joint` with the limits, damping, friction and springs, and all functions of a joint."""
        named = {_WORDS.get(field.name, field.name): getattr(self.loop, field.name) for field in fields(self.loop)[4:]}
        stated: dict[str, Any] = {name: values for name, values in named.items() if values}
        return Joint.of(self.type, name=self.name, parent=self.frame, child=self.other, **stated)

    @property
    def position_bounds(self) -> Bounds:
        """Position limits (nq,) [rad, m]."""
        return self.joint.position_bounds

    def configuration_from_pose(self, q: ArrayLike) -> np.ndarray:
        """Compute the configuration of the loop joint; if the loop is open, the nearest one.

        q (..., nq of the robot) -> (..., nq) [rad, m].
        """
        return np.asarray(self.robot.loop_configuration(q))[..., self.q_slice]

    def velocity_from_rate(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Compute the velocity of the loop joint.

        q (..., nq of the robot), v (..., nv of the robot) -> (..., nv) [rad/s, m/s].
        """
        return np.asarray(self.robot.loop_velocity(q, v))[..., self.v_slice]

    def error(self, q: ArrayLike) -> np.ndarray:
        """Compute the closure error of the loop, zero where it is closed.

        q (..., nq of the robot) -> (..., number of the joint's constraints) [m, rad].
        """
        return np.asarray(self.robot.constraint_error(q))[..., self.errors]

    def wrench_of(self, q: ArrayLike, constraint_forces: ArrayLike) -> np.ndarray:
        """Compute the wrench (moment; force) that the joint exerts on M, in M's coordinates; the opposite acts on F.

        q (..., nq of the robot), constraint_forces (..., nc of the robot), as `Robot.constrained_forward_dynamics`
        returns them -> (..., 6) [N·m, N].
        """
        unit, forces = np.asarray(self.robot.loop_wrenches(q)), np.asarray(constraint_forces)
        if forces.shape[-1:] != unit.shape[-2:-1]:
            expected = f"expected an array of shape (..., {unit.shape[-2]}) [N, N·m]"
            raise ValueError(f"wrench_of: constraint_forces: {expected}, got shape {forces.shape}")
        result: np.ndarray = np.einsum("...k,...ki->...i", forces[..., self.rows], unit[..., self.rows, :])
        return result

    def torque_of(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Compute the joint force of springs, damping and dry friction, which acts with ``passive=True``.

        q (..., nq of the robot), v (..., nv of the robot) -> (..., nv) [N·m, N].
        """
        return np.asarray(self.robot.loop_passive_force(q, v))[..., self.v_slice]

    def __repr__(self) -> str:
        return f"<LoopJointView {self.name!r}: {self.type_name}, {self.frame!r} -> {self.other!r}>"


_WORDS = {"velocity_bound": "velocity"}


def loop_joints(robot: Any) -> list[LoopJointView]:
    """Return a view of each joint that closes a loop of a robot."""
    result: list[LoopJointView] = []
    q = v = row = error = 0
    for constraint in robot.tree.constraints:
        count = len(constraint.component_names)
        if isinstance(constraint, LoopJoint):
            nq, nv = constraint.joint.nq, constraint.joint.nv
            slices = slice(q, q + nq), slice(v, v + nv), slice(row, row + count), slice(error, error + count)
            result.append(LoopJointView(robot, constraint, *slices))
            q, v = q + nq, v + nv
        row, error = row + count, error + (count if constraint.holonomic else 0)
    return result


def loop_of(joint: Joint, frame: str, relative_to: str) -> LoopJoint:
    """Return the constraint by which a joint closes a loop; default values are empty tuples.

    ``frame`` is the joint's frame M, and ``relative_to`` its frame F.
    """
    drive = drive_of(joint)
    return LoopJoint(
        joint.name,
        joint.type,
        frame,
        relative_to,
        lower=_stated(joint.lower, -np.inf),
        upper=_stated(joint.upper, np.inf),
        velocity_bound=_stated(joint.velocity, np.inf),
        effort=_stated(joint.effort, np.inf),
        damping=_stated(joint.damping, 0.0),
        friction=_stated(joint.friction, 0.0),
        static_friction=drive.static_friction,
        friction_velocity=drive.friction_velocity,
        stiffness=drive.stiffness,
        rest=drive.rest,
    )


def _stated(values: np.ndarray, default: float) -> tuple[float, ...]:
    return () if np.all(values == default) else tuple(fixed_array(values).tolist())
