"""Recognition of arms with closed-form inverse kinematics; the axes determine the family, which is then verified.

Six axes have a closed form if three neighbouring axes intersect in a point or are parallel.  Axes are counted from
either end: the last three or the third to the fifth intersect, or the second to the fourth or the last three are
parallel.  Seven axes have a closed form, with the elbow angle as input, if the first three axes and the last three
each intersect in a point.  Other arms of seven axes have one if a joint at an end is locked and the other six axes have
a closed form.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork.ik.algorithms.closed_form.axis_geometry import (
    ArmChain,
    ArmSolution,
    AxisGeometry,
    arm_chain,
    axis_geometry,
    without,
)
from linkwork.ik.algorithms.closed_form.parallel_axes import parallel_hand, three_parallel
from linkwork.ik.algorithms.closed_form.spherical_wrist import elbow_angle, elbow_arm, spherical_middle, spherical_wrist
from linkwork.ik.algorithms.closed_form.trigonometric_equations import UnitAngle
from linkwork.model.body import Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["ELBOW", "RecognisedArm", "recognised"]

ELBOW = "elbow angle"
_TRIALS = 6  # random configurations that a family must recover
_RECOVERY_TOL = 1e-3  # [rad] required accuracy
_ROUNDING_TOL = 1e-7  # [rad] errors below this are rounding
_STEPS, _MANY_STEPS = 1, 4  # Newton steps; more if the geometry is simplified

Solver = Callable[[AxisGeometry, Pose], list[ArmSolution]]


@dataclass(frozen=True)
class RecognisedArm:
    """Chain of joints from frame A to frame B that has inverse kinematics in closed form.

    ``chain`` leads from A to B; ``backward`` is True if the equations are solved from B to A. ``locked`` is the index
    of the locked joint, counted in the direction of the equations. ``bodies`` are the bodies of the solved joints, in
    the order of the axes of ``geometry``.
    """

    family: str  # description
    chain: ArmChain  # from A to B
    bodies: tuple[int, ...]  # bodies of the solved joints, in the order of the geometry
    backward: bool
    locked: int | None  # index in the solved chain
    redundant: str | None  # "elbow angle", or the name of the locked joint
    geometry: AxisGeometry
    solver: Any
    steps: int = _STEPS  # Newton steps that refine a branch

    @property
    def solved_chain(self) -> ArmChain:
        """Chain of all joints in the direction in which the equations are solved: from A to B, or reversed."""
        return self.chain.reversed() if self.backward else self.chain

    def solutions(self, X: Pose, value: Any = None) -> list[ArmSolution]:
        """Return the eight branches for the pose X of B in A, as Denavit–Hartenberg angles of ``geometry``.

        ``value`` is the redundant angle [rad].  `angles_of` converts the branches to joint angles.
        """
        chain = self.solved_chain
        Y: Any = X.inv().formed() if self.backward else X
        if self.locked == 0:
            Y = chain.axes[0].turn(-value) @ Y
        X0 = chain.zero
        if self.locked is not None and self.locked > 0:
            X0 = chain.axes[self.locked].turn(value) @ X0
        local = self.geometry.base.inv().formed() @ Y @ (self.geometry.tool @ X0).inv().formed()
        if self.redundant == ELBOW:
            return self.solver(self.geometry, local, value)  # type: ignore[no-any-return]
        return self.solver(self.geometry, local)  # type: ignore[no-any-return]

    def angles_of(self, solution: ArmSolution) -> list[Any]:
        """Return the joint angles from zero, in [−π, π] up to rounding, in the order of ``bodies`` [rad]."""
        zero = map(UnitAngle.of, self.geometry.zero)
        return [angle.minus(o).angle() for angle, o in zip(solution.angles, zero, strict=True)]

    def elbow_angle(self, angles: Sequence[Any]) -> Any:
        """Return the elbow angle ψ [rad] at these joint angles from zero [rad], in the order of ``bodies``."""
        return elbow_angle(
            self.geometry,
            tuple(UnitAngle.of(angle + o) for angle, o in zip(angles, self.geometry.zero, strict=True)),
        )


def recognised(tree: Tree, A: Frame, B: Frame, locked: int | None = None) -> RecognisedArm | None:
    """Return the closed form of the chain from frame A to B, or None; ``locked`` is a body index."""
    chain = arm_chain(tree, A, B)
    if chain is None or len(chain.bodies) not in (6, 7) or (locked is not None and locked not in chain.bodies):
        return None
    for arm in _candidates(tree, chain, locked):
        miss = _recovery_error(arm)
        if miss < _RECOVERY_TOL:
            return arm if miss < _ROUNDING_TOL else replace(arm, steps=_MANY_STEPS)
    return None


def _candidates(tree: Tree, chain: ArmChain, locked: int | None) -> list[RecognisedArm]:
    """Return the arms that the geometry suggests, in order of preference."""
    result = []
    ends: list[int | None]
    if len(chain.bodies) == 6:
        ends = [None] if locked is None else []
    else:
        if locked is None:
            result += _seven_axis_arms(chain)
        ends = [k for k in (6, 0) if locked is None or chain.bodies[k] == locked]
    for end in ends:
        for backward in (False, True):
            result += _six_axis_arms(tree, chain, end, backward)
    return result


def _seven_axis_arms(chain: ArmChain) -> list[RecognisedArm]:
    geometry = axis_geometry(chain.axes)
    if geometry is None or not (geometry.spherical(0) and geometry.spherical(4)):
        return []
    family = "spherical shoulder, elbow, spherical wrist"
    return [RecognisedArm(family, chain, chain.bodies, False, None, ELBOW, geometry, elbow_arm)]


def _six_axis_arms(tree: Tree, chain: ArmChain, end: int | None, backward: bool) -> list[RecognisedArm]:
    """Return the closed form of a chain of six axes, as a list of one arm; [] if it has none.

    The joint with index ``end`` of a chain of seven is locked, to reduce it to six axes. If ``backward``, the equations
    are solved from the hand to the base.
    """
    directed_chain = chain.reversed() if backward else chain
    locked = None if end is None else len(directed_chain.bodies) - 1 - end if backward else end
    six = directed_chain if locked is None else without(directed_chain, locked)
    geometry = axis_geometry(six.axes)
    if geometry is None:
        return []
    named = _family(geometry)
    if named is None:
        return []
    description, solver = named
    if backward:
        description.append("from the hand to the base")
    redundant = None if end is None else tree.bodies[chain.bodies[end]].joint_name
    if redundant is not None:
        description.append(f"joint {redundant} locked")
    return [RecognisedArm(", ".join(description), chain, six.bodies, backward, locked, redundant, geometry, solver)]


def _family(arm: AxisGeometry) -> tuple[list[str], Solver] | None:
    """Return the words that describe an arm of six axes, and its solver; None if it has no closed form."""
    parallel = [arm.parallel(k) for k in range(5)]
    if parallel == [False, True, True, False, False]:
        return ["three parallel axes"] + (["the last two intersect"] if arm.intersect(4) else []), three_parallel
    if arm.spherical(3):
        return ["spherical wrist", *_pairs(arm, (0, 1))], spherical_wrist
    if parallel == [False, False, False, True, True]:
        return ["the last three axes parallel", *_pairs(arm, (1,))], parallel_hand
    if arm.spherical(2):
        return ["third to fifth axis through one point", *_pairs(arm, (0, 4))], spherical_middle
    return None


def _pairs(arm: AxisGeometry, pairs: Sequence[int]) -> list[str]:
    """Describe the neighbouring axes (k, k + 1), for k in ``pairs``, that are parallel or intersect."""
    names = ("first", "second", "third", "fourth", "fifth", "sixth")
    descriptions = []
    for k in pairs:
        which = f"{names[k]} and {names[k + 1]} axis"
        if arm.parallel(k):
            descriptions.append(f"{which} parallel")
        elif arm.intersect(k):
            descriptions.append(f"{which} intersect")
    return descriptions


def _recovery_error(arm: RecognisedArm) -> float:
    """Return the largest joint angle error [rad] of the closed form, for the poses of random configurations.

    The error is that of the best branch, without Newton refinement.
    """
    generator = random.Random(0)
    chain = arm.chain
    redundant_value: float | None = None
    worst = 0.0
    for _ in range(_TRIALS):
        angles = {body: generator.uniform(-math.pi, math.pi) for body in chain.bodies}
        X = Pose.identity()
        for body, axis in zip(chain.bodies, chain.axes, strict=True):
            X = X @ axis.turn(angles[body])
        arm_angles = [angles[body] for body in arm.bodies]
        if arm.redundant == ELBOW:
            redundant_value = arm.elbow_angle(arm_angles)
        elif arm.redundant is not None:
            redundant_value = next(angles[body] for body in chain.bodies if body not in arm.bodies)
        try:
            branches = [arm.angles_of(solution) for solution in arm.solutions(X @ chain.zero, redundant_value)]
        except ZeroDivisionError:
            return math.inf
        worst = max(worst, min(_largest_difference(x, arm_angles) for x in branches))
    return worst


def _largest_difference(a_angles: Sequence[float], b_angles: Sequence[float]) -> float:
    """Return the largest difference of angles, up to full revolutions; infinite if it is not finite."""
    result = max(abs(math.remainder(a - b, 2.0 * math.pi)) for a, b in zip(a_angles, b_angles, strict=True))
    return result if math.isfinite(result) else math.inf
