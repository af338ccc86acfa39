"""Records of reactions in a simulation: forces of constraints, and wrenches across joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.arrays.symbol_array import array
from linkwork.simulation.joint_limits import JointStops

__all__ = ["REACTIONS", "RecordedReaction", "in_world_axes"]

Scalars = Sequence[Any]

REACTIONS = ("constraint_forces", "joint_wrenches", "loop_joint_wrenches")


def in_world_axes(moving: Any, q: Any, wrenches: Sequence[tuple[str, str, Scalars]]) -> dict[str, Any]:
    """Return external wrenches, each (frame, axes, components), in the world's axes, summed by frame."""
    result: dict[str, Any] = {}
    for frame, axes, components in wrenches:
        w = array(list(components))
        if axes != "world":
            R = moving.pose(q, axes)[:3, :3]
            w = array([*(R @ w[:3]), *(R @ w[3:])])
        result[frame] = result[frame] + w if frame in result else w
    return result


@dataclass(frozen=True)
class RecordedReaction:
    """Record of "constraint_forces" (nc), "joint_wrenches" (nb, 6) or "loop_joint_wrenches" (loops, 6).

    They are those in the recorded state, under the joint forces, wrenches and contact forces of the step before it.
    Where a step is one program with bounds (contacts, joint limits, servos, sticking friction) they are those of the
    step, with its accelerations.
    """

    quantity: str

    def checked(self, robot: Any) -> None:
        """Raise ValueError if the robot has no constraints or loops to record."""
        if self.quantity == "constraint_forces" and not robot.constraints:
            raise ValueError(
                f"simulate: record: {self.quantity!r}: expected constraints, got robot {robot.name!r} without"
            )
        if self.quantity == "loop_joint_wrenches" and not len(robot.loops):
            raise ValueError(
                f"simulate: record: {self.quantity!r}: expected loop joints, got robot {robot.name!r} without"
            )

    def __call__(self, setup: Any, moving: Any, contacts: Any, t: Any, state: Any) -> Any:
        q, v, tau = (array(list(x)) for x in (state.q, state.v, state.tau))
        passive, friction = setup.passive, setup.smooth_friction
        timed = {"time": t} if any(constraint.time_dependent for constraint in moving.constraints) else {}
        acting = list(state.wrenches)
        if contacts is not None:
            forces = contacts.compliant(moving, q, list(v))[1] if setup.is_compliant else state.forces
            acting += contacts.wrenches(moving, q, forces)
        wrenches = in_world_axes(moving, q, acting) or None
        if state.motion:
            a, forces = state.motion
        else:
            if isinstance(setup.limits, JointStops):
                tau = tau + array(setup.limits.forces(setup.robot, passive, list(q), list(v)))
            how = {"wrenches": wrenches, "passive": passive, "friction": friction, **timed}
            a, forces = moving.constrained_forward_dynamics(q, v, tau, **how)
        if self.quantity == "constraint_forces":
            return forces
        known = {"constraint_forces": array(list(forces))} if moving.constraints else {}
        method = getattr(moving, self.quantity)
        how = {"wrenches": wrenches, "passive": passive, "friction": friction, **known, **timed}
        return method(q, v, array(list(a)), **how)
