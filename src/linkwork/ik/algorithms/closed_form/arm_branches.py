"""All branches of an arm with a closed form, polished, as configurations within limits, over any scalar."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.control.vmap import each
from linkwork.expr.scalar.composed_functions import ceil
from linkwork.expr.scalar.functions import and_, floor, fmax, fmin, le, where
from linkwork.ik.algorithms.closed_form.arm_branches_polish import Polish
from linkwork.ik.algorithms.closed_form.arm_recognition import ELBOW, RecognisedArm
from linkwork.model.body import Frame
from linkwork.model.coupled_joints import bounds
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["MET", "ArmBranch", "arm_branches", "redundant_angle"]

Scalars = Sequence[Any]

MET = 1e-9  # [rad, arm's lengths]: what a branch may miss its pose by
_OVER = 1e-9  # [rad]: what an angle may be beyond a limit by, that is then put on it
_TURN = 2.0 * math.pi


@dataclass(frozen=True)
class ArmBranch:
    """A branch: the configuration, whether it is one, and the errors that are left."""

    q: list[Any]
    valid: Any
    orientation_error: Any  # [rad]
    position_error: Any  # [m]


def redundant_angle(tree: Tree, arm: RecognisedArm, q: Scalars) -> Any:
    """What the redundant angle of a configuration is [rad]: a joint's, or ψ."""
    own = tree.split_q(q)
    if arm.redundant == ELBOW:
        return arm.elbow_angle([_angle(tree, i, own) for i in arm.bodies])
    return _angle(tree, _held(arm), own)


def arm_branches(
    tree: Tree, A: Frame, B: Frame, arm: RecognisedArm, X: Pose, seed: Scalars, given: Any, limits: bool
) -> list[ArmBranch]:
    """The eight branches for a pose X of B in A, always in the same order.

    Joints beside the arm are as in the configuration ``seed``; of angles that are whole turns apart the nearest to it
    is taken, with ``limits`` of those within them.  A branch that has no solution is the nearest that the equations
    have, and is not valid; nor is one that coincides with another.  ``given`` is the redundant angle.
    """
    own = tree.split_q(seed)
    polish = Polish(tree, A, B, arm.bodies, arm.geometry.length)
    held = {} if arm.redundant in (None, ELBOW) else {_held(arm): given}
    solutions = arm.solutions(X, given)
    rows = each(
        lambda angles: _flat(*polish.improved(angles, held, X, arm.steps)),
        [arm.angles_of(solution) for solution in solutions],
        in_loops=True,
        alike=True,
    )
    near = [_angle(tree, i, own) for i in arm.bodies]
    ranges = bounds(tree)
    found = []
    for solution, row in zip(solutions, rows, strict=True):
        *angles, turned, away = row
        valid = and_(le(turned, MET), le(away, MET * arm.geometry.length))
        valid = valid if solution.counts is True else and_(valid, solution.counts)
        parts = list(own)
        for i, angle, by in zip(arm.bodies, angles, near, strict=True):
            low, high = _bounds(tree, i, ranges) if limits else (-math.inf, math.inf)
            angle, within = _in_range(angle, by, low, high)
            valid = valid if within is True else and_(valid, within)
            parts[i] = tree.bodies[i].joint.retract(tree.bodies[i].joint.zero(), [angle])
        if held:
            i = _held(arm)
            parts[i] = tree.bodies[i].joint.retract(tree.bodies[i].joint.zero(), [given])
            if limits:
                low, high = _bounds(tree, i, ranges)
                valid = and_(valid, and_(le(low, given), le(given, high)))
        q = [x for i, _ in tree.stacked() for x in parts[i]]
        found.append(ArmBranch(q, valid, turned, away))
    return found


def _bounds(tree: Tree, body: int, ranges: Mapping[int, tuple[list[float], list[float]]]) -> tuple[float, float]:
    """Those of a joint's angle from zero; none where its configuration is not the angle itself."""
    joint, (low, high) = tree.bodies[body].joint, ranges[body]
    if joint.nq != 1:
        return -math.inf, math.inf
    (zero,) = joint.zero()
    return low[0] - zero, high[0] - zero


def _held(arm: RecognisedArm) -> int:
    """The body of the joint that is held."""
    (found,) = set(arm.chain.bodies) - set(arm.bodies)
    return found


def _flat(angles: list[Any], turned: Any, away: Any) -> list[Any]:
    return [*angles, turned, away]


def _angle(tree: Tree, body: int, q: Sequence[Any]) -> Any:
    """A joint's angle from zero."""
    joint = tree.bodies[body].joint
    return joint.local(joint.zero(), q[body])[0]


def _in_range(angle: Any, near: Any, low: float, high: float) -> tuple[Any, Any]:
    """The angle plus whole turns: the one nearest to another, within bounds if one is, and whether it is."""
    angle = angle + _TURN * floor((near - angle) * (1.0 / _TURN) + 0.5)
    if math.isfinite(high):
        beyond = ceil((angle - (high + _OVER)) * (1.0 / _TURN))
        angle = angle - _TURN * fmax(beyond, 0.0)
    if math.isfinite(low):
        beyond = ceil(((low - _OVER) - angle) * (1.0 / _TURN))
        angle = angle + _TURN * fmax(beyond, 0.0)
    within: Any = True
    if math.isfinite(low):
        within = le(low - _OVER, angle)
        angle = where(within, fmax(angle, low), angle)
    if math.isfinite(high):
        below = le(angle, high + _OVER)
        angle = where(below, fmin(angle, high), angle)
        within = below if within is True else and_(within, below)
    return angle, within
