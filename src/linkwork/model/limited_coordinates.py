"""Coordinates with position limits: of all joints of a tree, and of the joints that close loops.

A coordinate x(q) of a joint has the limits lower ≤ x ≤ upper, and the rate ẋ = r(q)·v.  Most coordinates are moved by
one velocity alone, and r is a unit vector.  For other coordinates of the tree, such as those of a planar joint, r is a
row of q̇ = J v.  The coordinates of a joint that closes a loop follow from the pose and the twist of its frames.

Limits of followers are limits of their masters (`coupled_joints.bounds`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork.constraints import LoopJoint
from linkwork.constraints.constraint import Kinematics
from linkwork.expr.linalg.sparse_dot import dot, transposed
from linkwork.expr.scalar.functions import floor
from linkwork.joints import JointType
from linkwork.joints.base.plain_coordinates import moved_alone
from linkwork.model.coordinate_names import coordinates_of
from linkwork.model.coupled_joints import bounds
from linkwork.model.periodic_coordinates import is_same_pose
from linkwork.model.tree import Tree

__all__ = [
    "LimitedCoordinate",
    "LoopSpeed",
    "limited_coordinates",
    "limited_values",
    "loop_speed_values",
    "loop_speeds",
    "position_limits",
]

Scalars = Sequence[Any]


@dataclass(frozen=True)
class LimitedCoordinate:
    """A joint coordinate with a position limit: in q, or of a joint that closes a loop."""

    name: str
    joint: str  # name of the joint
    type: JointType
    index: int  # in the joint's own q
    lower: float
    upper: float
    q: int | None = None  # index in q of the robot; None for a joint that closes a loop
    v: int | None = None  # index of the velocity that alone moves the coordinate; None if there is none
    loop: LoopJoint | None = None  # the joint itself if it closes a loop

    @property
    def unit(self) -> str:
        """Unit of the coordinate: "rad", "m" or "1"."""
        return self.type.q_units[self.index]

    def rate(self, state: Kinematics) -> tuple[Any, list[Any]]:
        """Return the value x of the coordinate, and the row r (nv) with ẋ = r·v."""
        if self.loop is not None:
            q, columns = _loop_motion(self.loop, state)
            return self.turned(q[self.index]), [self.type.q_dot(q, column)[self.index] for column in columns]
        q, moving = state.q(self.joint), state.moving(self.joint)
        row = self.type.q_dot_jacobian(q)[self.index]
        return q[self.index], [dot(row, column) for column in transposed(moving)]

    def turned(self, x: Any) -> Any:
        """Return the angle x of a loop joint plus full turns that bring it nearest to the middle of its limits."""
        middle = 0.5 * (self.lower + self.upper)
        if not math.isfinite(middle) or not _repeats(self.type)[self.index]:
            return x
        return x + math.tau * floor((middle - x) * (1.0 / math.tau) + 0.5)


@lru_cache(256)
def _repeats(joint: JointType) -> tuple[bool, ...]:
    """Return for each coordinate True if it is an angle whose full turns do not change the joint's transform."""
    free = [math.inf] * joint.nq
    q = joint.random(np.random.default_rng(0), [-x for x in free], free, ())
    turns = math.tau * np.eye(joint.nq)
    return tuple(unit == "rad" and is_same_pose(joint, q, q + turns[k]) for k, unit in enumerate(joint.q_units))


def _loop_motion(loop: LoopJoint, state: Kinematics) -> tuple[Scalars, list[Scalars]]:
    """Return q_J of a joint that closes a loop, and its velocity v_J for each unit velocity of the robot."""
    between = state.between(loop.frame, loop.relative_to)
    q = loop.joint.configuration_from_pose(between.pose)
    return q, [loop.joint.velocity_from_twist(q, column) for column in between.columns]


def position_limits(tree: Tree) -> tuple[list[float], list[float]]:
    """Return the lower and the upper limits of q (nq each), infinite without a limit.

    Raises ValueError if no position of a master is within the limits of its followers.
    """
    known = bounds(tree)
    lower, upper = ([x for i, _ in tree.stacked() for x in known[i][side]] for side in (0, 1))
    return lower, upper


def limited_coordinates(tree: Tree, limits: tuple[Any, Any] | None = None) -> tuple[LimitedCoordinate, ...]:
    """Return the coordinates with a finite limit: first of q, in q's order, then of joints that close loops.

    ``limits`` are the lower and the upper limits of q, by default the robot's.
    """
    if limits is None:
        return _own(tree)
    lower, upper = limits
    result = []
    for i, body in tree.stacked():
        alone, names, start = (
            moved_alone(body.joint),
            coordinates_of(body.joint_name, body.joint, "q"),
            tree.v_slices[i],
        )
        for k, n in enumerate(range(tree.nq)[tree.q_slices[i]]):
            ends = float(lower[n]), float(upper[n])
            if _is_limited(body.joint, k, *ends):
                offset = alone[k]
                v = None if offset is None else start.start + offset
                result.append(LimitedCoordinate(names[k], body.joint_name, body.joint, k, *ends, n, v))
    for loop in tree.constraints:
        if isinstance(loop, LoopJoint):
            joint = loop.joint
            names = coordinates_of(loop.name, joint, "q")
            low, high = loop.lower or (-math.inf,) * joint.nq, loop.upper or (math.inf,) * joint.nq
            for k, ends in enumerate(zip(low, high, strict=True)):
                if _is_limited(joint, k, *ends):
                    result.append(LimitedCoordinate(names[k], loop.name, joint, k, *ends, loop=loop))
    return tuple(result)


def _is_limited(joint: JointType, index: int, lower: float, upper: float) -> bool:
    """Return False for limits that cannot be exceeded: infinite limits, and limits beyond ±1 of unit vectors."""
    if any(index in group for group in joint.unit_length):
        return lower > -1.0 or upper < 1.0
    return math.isfinite(lower) or math.isfinite(upper)


@lru_cache(256)
def _own(tree: Tree) -> tuple[LimitedCoordinate, ...]:
    return limited_coordinates(tree, position_limits(tree))


def limited_values(robot: Any, coordinates: Sequence[LimitedCoordinate], q: np.ndarray, **options: Any) -> np.ndarray:
    """Return the values x (..., n) of n limited coordinates at q (..., nq).

    ``options`` are as in `Robot.loop_configuration`.
    """
    closing = any(limit.loop is not None for limit in coordinates)
    loops = np.asarray(robot.loop_configuration(q, **options)) if closing else q
    views = {loop.name: loop.q_slice.start for loop in robot.loops} if loops is not q else {}
    columns = [
        q[..., limit.q] if limit.loop is None else limit.turned(loops[..., views[limit.joint] + limit.index])
        for limit in coordinates
    ]
    return np.stack(columns, axis=-1) if columns else np.zeros((*q.shape[:-1], 0))


@dataclass(frozen=True)
class LoopSpeed:
    """A velocity component, with a limit, of a joint that closes a loop."""

    name: str
    loop: LoopJoint
    index: int  # in the joint's own v
    bound: float  # [rad/s, m/s]

    def row(self, state: Kinematics) -> list[Any]:
        """Return the row r (nv): the velocity component is r·v."""
        return [column[self.index] for column in _loop_motion(self.loop, state)[1]]


def loop_speeds(tree: Tree) -> tuple[LoopSpeed, ...]:
    """Return the limited velocity components of the joints that close loops, in the order of the joints."""
    loops = [c for c in tree.constraints if isinstance(c, LoopJoint) and c.velocity_bound]
    return tuple(
        LoopSpeed(name, loop, k, bound)
        for loop in loops
        for k, (name, bound) in enumerate(
            zip(coordinates_of(loop.name, loop.joint, "v"), loop.velocity_bound, strict=True)
        )
        if math.isfinite(bound)
    )


def loop_speed_values(robot: Any, speeds: Sequence[LoopSpeed], q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return n limited velocity components (..., n) of loop joints at q (..., nq) and v (..., nv)."""
    starts = {loop.name: loop.v_slice.start for loop in robot.loops}
    result: np.ndarray = np.asarray(robot.loop_velocity(q, v))[
        ..., [starts[speed.loop.name] + speed.index for speed in speeds]
    ]
    return result
