"""Coordinates of a robot over any scalar: coordinates of q by velocity, their limits, and their scales."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, or_, where
from linkwork.joints.base.plain_coordinates import moved_alone
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Vec3

__all__ = ["LimitBox", "characteristic_length", "coordinate_indices", "gyration_radius", "unit_steps"]

Scalars = Sequence[Any]


def characteristic_length(tree: Tree) -> float:
    """Return the longest distance [m] from the joint of a body to other joints and to points of constraints on it.

    It depends neither on the robot's place in the world nor on the frames of its bodies. Without such distances it is
    the largest radius of gyration about a joint, and 1 m without inertia.
    """
    known: float | None = getattr(tree, "_length", None)
    if known is None:
        anchors = _anchors(tree)
        far = max((math.dist(at[0], x) for at in anchors.values() for x in at), default=0.0)
        radii = (gyration_radius(body.inertia, *anchors[i][:1]) for i, body in enumerate(tree.bodies))
        known = far or max(radii, default=0.0) or 1.0
        object.__setattr__(tree, "_length", known)
    return known


def _anchors(tree: Tree) -> dict[int, list[Sequence[float]]]:
    """Return the positions of joints and points of constraints on each body, in its axes, first its own joint's.

    Positions that are symbols are left out.
    """
    result: dict[int, list[Sequence[float]]] = {}

    def add(body: int, at: Iterable[Any]) -> None:
        point = [*at]
        if all(x.__class__ is float for x in point):
            result.setdefault(body, []).append(point)

    for i, body in enumerate(tree.bodies):
        add(body.parent, body.placement.translation)
        add(i, body.rotor.inv().point(Vec3.zero()))
    for named in (constraint.references for constraint in tree.constraints):
        frames = {*named.frames, *(tree.direction(name).frame for name in named.directions)}
        points = [(tree.frame(name), Vec3.zero()) for name in sorted(frames)]
        points += [(tree.frame(x.frame), x.position) for x in map(tree.point, named.points)]
        for frame, position in points:
            add(frame.body, frame.placement.point(position))
    return result


def gyration_radius(inertia: Inertia, point: Iterable[float] = (0.0, 0.0, 0.0)) -> float:
    """Return the radius of gyration [m] of a body about a point, 0 without inertia."""
    about, mass = inertia.shifted(-Vec3.of(point)).about, inertia.mass
    values = (about.xx, about.yy, about.zz, mass)
    if not all(x.__class__ is float for x in values) or not mass > 0.0:
        return 0.0
    return math.sqrt(max(sum(values[:3]), 0.0) / (2.0 * mass))


def unit_steps(tree: Tree, angle: float = 1.0, lengths: float = 1.0) -> list[float]:
    """Return the unit step of each velocity: ``angle`` [rad], or ``lengths`` characteristic lengths [m]."""
    length = lengths * characteristic_length(tree)
    units = [unit for _, body in tree.stacked() for unit in body.joint.v_units]
    return [angle if unit.startswith("rad") else length for unit in units]


def coordinate_indices(tree: Tree) -> dict[int, int]:
    """Return, for each velocity that is the only one to move a coordinate of q, the index of that coordinate."""
    result: dict[int, int] = {}
    for i, body in tree.stacked():
        q, v = tree.q_slices[i].start, tree.v_slices[i].start
        result |= {v + k: q + n for n, k in enumerate(moved_alone(body.joint)) if k is not None}
    return result


@dataclass(frozen=True)
class LimitBox:
    """Box lower ≤ q ≤ upper; ``indices`` maps velocities to the indices of bounded coordinates of q.

    Coordinates that several velocities move are free here; inverse kinematics bounds them by tasks with ranges.
    Bounds are arguments of each call.
    """

    indices: dict[int, int]
    lower: Scalars  # (nq), over any scalar
    upper: Scalars

    @staticmethod
    def of(
        tree: Tree, lower: Scalars, upper: Scalars, bounded: Iterable[int], locked_dofs: Iterable[int] = ()
    ) -> LimitBox:
        """Return the box of the ``bounded`` coordinates of q, without the coordinates of ``locked_dofs``.

        ``bounded`` are indices of q, and ``locked_dofs`` indices of v.
        """
        selected, locked = set(bounded), set(locked_dofs)
        return LimitBox(
            {k: n for k, n in coordinate_indices(tree).items() if n in selected and k not in locked}, lower, upper
        )

    def within(self, q: Scalars) -> list[Any]:
        """Return the nearest configuration in the box."""
        result = list(q)
        for n in self.indices.values():
            result[n] = fmin(fmax(result[n], self.lower[n]), self.upper[n])
        return result

    def free(self, q: Scalars, direction: Scalars) -> list[Any]:
        """Return for each velocity 0 if its coordinate is at a bound and the direction leads outside, else 1.

        ``direction`` (nv) is a direction of motion from the configuration q.
        """
        result: list[Any] = [1.0] * len(direction)
        for k, n in self.indices.items():
            beyond = or_(
                and_(le(self.upper[n], q[n]), lt(0.0, direction[k])),
                and_(le(q[n], self.lower[n]), lt(direction[k], 0.0)),
            )
            result[k] = where(beyond, 0.0, 1.0)
        return result

    def room(self, q: Scalars, k: int, direction: Any) -> Any:
        """Return the distance of a coordinate from its bound, infinite without a bound.

        It is the coordinate that velocity k moves: its upper bound if ``direction`` > 0, else its lower bound.
        """
        n = self.indices.get(k)
        return math.inf if n is None else where(lt(0.0, direction), self.upper[n] - q[n], q[n] - self.lower[n])
