"""Which arms have a closed form: a family is found from the geometry of the axes, and tried before it is believed.

Six axes have one where three neighbours go through one point or are parallel: the last three or the third to the fifth
through a point, the second to the fourth or the last three parallel, seen from either end.  Seven have one where the
first three go through a point and the last three too, by the elbow angle; others where one joint at an end is held at a
value, and the six that are left are such an arm.
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
_TRIED = 6  # random configurations that a family has to find again
_FOUND = 1e-3  # [rad]: within which
_EXACT = 1e-7  # [rad]: within which rounding alone explains what is missed
_STEPS, _MANY_STEPS = 1, 4  # of Newton: more where the geometry is taken for a simpler one

Solver = Callable[[AxisGeometry, Pose], list[ArmSolution]]


@dataclass(frozen=True)
class RecognisedArm:
    """A chain with a closed form.

    ``chain`` is that from A to B; ``backward`` says that it is solved from B to A, ``held`` which of the joints of the
    chain that is solved has a value that is given, and ``bodies`` those that the branches tell, in its order.
    """

    family: str  # in words
    chain: ArmChain  # from A to B
    bodies: tuple[int, ...]  # that the joints carry which are solved for, in the order of the geometry
    backward: bool
    held: int | None  # in the chain that is solved
    redundant: str | None  # "elbow angle", or the name of the joint that is held
    geometry: AxisGeometry
    solver: Any
    steps: int = _STEPS  # that polish a branch

    @property
    def solved_chain(self) -> ArmChain:
        """The chain in the direction in which it is solved, with all of its joints."""
        return self.chain.reversed() if self.backward else self.chain

    def solutions(self, X: Pose, value: Any = None) -> list[ArmSolution]:
        """The branches for the pose X of B in A, in the angles of the geometry; ``value`` is the redundant angle [rad].

        The angles of joints follow by `angles_of`.
        """
        chain = self.solved_chain
        Y: Any = X.inv().formed() if self.backward else X
        if self.held == 0:
            Y = chain.axes[0].turn(-value) @ Y
        X0 = chain.zero
        if self.held is not None and self.held > 0:
            X0 = chain.axes[self.held].turn(value) @ X0
        local = self.geometry.base.inv().formed() @ Y @ (self.geometry.tool @ X0).inv().formed()
        if self.redundant == ELBOW:
            return self.solver(self.geometry, local, value)  # type: ignore[no-any-return]
        return self.solver(self.geometry, local)  # type: ignore[no-any-return]

    def angles_of(self, solution: ArmSolution) -> list[Any]:
        """The joints' angles from zero, in [−π, π] but for rounding, in the order of ``bodies`` [rad]."""
        zero = map(UnitAngle.of, self.geometry.zero)
        return [angle.minus(o).angle() for angle, o in zip(solution.angles, zero, strict=True)]

    def elbow_angle(self, angles: Sequence[Any]) -> Any:
        """ψ of the joints' angles from zero, in the order of ``bodies`` [rad]."""
        return elbow_angle(
            self.geometry,
            tuple(UnitAngle.of(angle + o) for angle, o in zip(angles, self.geometry.zero, strict=True)),
        )


def recognised(tree: Tree, A: Frame, B: Frame, held: int | None = None) -> RecognisedArm | None:
    """The closed form of the chain from frame A to B, or None; ``held`` is the body of a joint that is to be held."""
    chain = arm_chain(tree, A, B)
    if chain is None or len(chain.bodies) not in (6, 7) or (held is not None and held not in chain.bodies):
        return None
    for arm in _candidates(tree, chain, held):
        miss = _miss(arm)
        if miss < _FOUND:
            return arm if miss < _EXACT else replace(arm, steps=_MANY_STEPS)
    return None


def _candidates(tree: Tree, chain: ArmChain, held: int | None) -> list[RecognisedArm]:
    """What the geometry suggests, in the order of preference."""
    result = []
    ends: list[int | None]
    if len(chain.bodies) == 6:
        ends = [None] if held is None else []
    else:
        if held is None:
            result += _by_elbow(chain)
        ends = [k for k in (6, 0) if held is None or chain.bodies[k] == held]
    for end in ends:
        for backward in (False, True):
            result += _of_six(tree, chain, end, backward)
    return result


def _by_elbow(chain: ArmChain) -> list[RecognisedArm]:
    geometry = axis_geometry(chain.axes)
    if geometry is None or not (geometry.spherical(0) and geometry.spherical(4)):
        return []
    family = "spherical shoulder, elbow, spherical wrist"
    return [RecognisedArm(family, chain, chain.bodies, False, None, ELBOW, geometry, elbow_arm)]


def _of_six(tree: Tree, chain: ArmChain, end: int | None, backward: bool) -> list[RecognisedArm]:
    """Families of six axes: ``end`` is the joint of the chain that is held."""
    way = chain.reversed() if backward else chain
    held = None if end is None else len(way.bodies) - 1 - end if backward else end
    six = way if held is None else without(way, held)
    geometry = axis_geometry(six.axes)
    if geometry is None:
        return []
    named = _family(geometry)
    if named is None:
        return []
    words, solver = named
    if backward:
        words.append("from the hand to the base")
    redundant = None if end is None else tree.bodies[chain.bodies[end]].joint_name
    if redundant is not None:
        words.append(f"joint {redundant} held")
    return [RecognisedArm(", ".join(words), chain, six.bodies, backward, held, redundant, geometry, solver)]


def _family(arm: AxisGeometry) -> tuple[list[str], Solver] | None:
    """What six axes are, in words, and what solves them, as far as the first to the last go."""
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


def _pairs(arm: AxisGeometry, where: Sequence[int]) -> list[str]:
    """What is special about neighbours."""
    names = ("first", "second", "third", "fourth", "fifth", "sixth")
    said = []
    for k in where:
        which = f"{names[k]} and {names[k + 1]} axis"
        if arm.parallel(k):
            said.append(f"{which} parallel")
        elif arm.intersect(k):
            said.append(f"{which} intersect")
    return said


def _miss(arm: RecognisedArm) -> float:
    """How far random configurations are from the branches of their own poses, before these are polished [rad]."""
    numbers = random.Random(0)
    chain = arm.chain
    given: float | None = None
    worst = 0.0
    for _ in range(_TRIED):
        angles = {body: numbers.uniform(-math.pi, math.pi) for body in chain.bodies}
        X = Pose.identity()
        for body, axis in zip(chain.bodies, chain.axes, strict=True):
            X = X @ axis.turn(angles[body])
        own = [angles[body] for body in arm.bodies]
        if arm.redundant == ELBOW:
            given = arm.elbow_angle(own)
        elif arm.redundant is not None:
            given = next(angles[body] for body in chain.bodies if body not in arm.bodies)
        try:
            branches = [arm.angles_of(solution) for solution in arm.solutions(X @ chain.zero, given)]
        except ZeroDivisionError:
            return math.inf
        worst = max(worst, min(_apart(x, own) for x in branches))
    return worst


def _apart(one: Sequence[float], other: Sequence[float]) -> float:
    """The greatest difference between angles, whole turns aside; infinite where it is none."""
    result = max(abs(math.remainder(a - b, 2.0 * math.pi)) for a, b in zip(one, other, strict=True))
    return result if math.isfinite(result) else math.inf
