"""The distances of all pairs, where they are measured, and how they change with the configuration.

∂d/∂q by the envelope theorem: n · (v_B − v_A) of the points that are on the two surfaces now, whatever points will be
nearest then.  With the normal n as a force at either point, (p × n; n) is one wrench for both, since the points lie on
one line along n; what it works along a joint's axis is the derivative by that joint's velocity.

Source: Danskin, The Theory of Max-Min, 1967 (the derivative of a minimum).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...expr.control import cond
from ...expr.functions import lt
from ...geometry.distance import SignedDistance
from ...geometry.pairs import signed_distance
from ...geometry.rows import SolidKind, SolidRow
from ...model.tree import Tree
from ...spatial import Force, Motion, Pose, Vec3
from ..kinematics.between import ancestors
from ..kinematics.forward_kinematics import forward_kinematics
from .objects import placed_shapes
from .walking import over_own_pairs, over_scene

__all__ = ["FAR", "NUMBERS", "Motions", "PairDistances", "gradient", "numbers_of", "pair_distances", "wrench"]

Scalars = Sequence[Any]

NUMBERS = 11  # of a pair: distance, normal, point on a, point on b, unique
FAR = 1e30  # the distance of what is not there [m]


@dataclass(frozen=True, slots=True)
class PairDistances:
    """Numbers by pair, and the gradient by velocities where it was asked for."""

    own: list[list[Any]]  # of the robot's own pairs
    scene: list[list[list[Any]]]  # by moving shape and row of the scene
    own_gradient: list[list[Any]]
    scene_gradient: list[list[list[Any]]]


def numbers_of(found: SignedDistance) -> list[Any]:
    """distance, normal, point on a, point on b, unique."""
    return [found.distance, *found.normal, *found.on_a, *found.on_b, found.unique]


def pair_distances(
    tree: Tree,
    q: Scalars,
    pairs: Sequence[tuple[int, int]],
    shapes: Sequence[int],
    scene: Mapping[SolidKind, Any],
    *,
    derivatives: bool = False,
) -> PairDistances:
    """Of pairs of the robot's own shapes, by their places, and of shapes with every row of a scene.

    Rows that are not there are at `FAR`.
    """
    X = forward_kinematics(tree, q)
    placed = placed_shapes(tree, q, X)

    def own(state: Any, a: SolidRow, b: SolidRow, place: Any) -> tuple[Any, list[Any]]:
        return state, numbers_of(signed_distance(a.solid, b.solid))

    found = over_own_pairs(own, (), placed, pairs)[1]
    motions = Motions(tree, q, X) if derivatives else None
    own_gradient = [
        motions.gradient(numbers, placed[i].body, placed[j].body) if motions is not None else []
        for numbers, (i, j) in zip(found, pairs, strict=True)
    ]

    def with_obstacle(state: Any, a: SolidRow, b: SolidRow, place: Any, columns: Scalars = ()) -> tuple[Any, list[Any]]:
        def measured() -> tuple[Any, ...]:
            numbers = numbers_of(signed_distance(a.solid, b.solid))
            return (*numbers, *gradient(numbers, columns))

        def nothing() -> tuple[Any, ...]:
            return (FAR, 0.0, 0.0, 1.0, *([0.0] * (NUMBERS - 4 + len(columns) // 6)))

        return state, list(cond(lt(0.0, b.there), measured, nothing))

    some = [placed[k] for k in shapes]
    extra = {shape.index: motions.of_body(shape.body) for shape in some} if motions is not None else None
    _, _, rows = over_scene(with_obstacle, (), some, scene, extra)
    return PairDistances(
        found,
        [[numbers[:NUMBERS] for numbers in row] for row in rows],
        own_gradient,
        [[numbers[NUMBERS:] for numbers in row] for row in rows],
    )


class Motions:
    """How bodies move with the velocities: twists at the world's origin, in its axes, each once."""

    def __init__(self, tree: Tree, q: Scalars, X: Sequence[Pose]) -> None:
        self.tree = tree
        split = tree.split_q(q)
        self.columns: list[list[Motion]] = [
            [X[i] @ column for column in body.S(split[i]).columns] for i, _, body in tree.outward()
        ]

    def of_body(self, body: int) -> list[Any]:
        """The six numbers of a body's twist for each velocity, side by side."""
        found = [Motion.zero()] * self.tree.nv
        for i in ancestors(self.tree, body):
            for k, column in enumerate(self.columns[i], start=self.tree.v_slices[i].start):
                found[k] += column
        return [x for motion in found for x in motion.elements()]

    def gradient(self, numbers: Scalars, a: int, b: int) -> list[Any]:
        """∂d/∂q of a pair on two bodies; joints that carry both change nothing."""
        F, found = wrench(numbers), [0.0] * self.tree.nv
        inner, outer = ancestors(self.tree, a), ancestors(self.tree, b)
        for chain, others, sign in ((outer, inner, 1.0), (inner, outer, -1.0)):
            for i in chain:
                if i in others:
                    continue
                for k, column in enumerate(self.columns[i], start=self.tree.v_slices[i].start):
                    found[k] = found[k] + column.dot(F) * sign
        return found

    def pulled(self, wrenches: Mapping[int, Force]) -> list[Any]:
        """What wrenches on bodies, in the world's axes at its origin, do along the velocities."""
        found = [0.0] * self.tree.nv
        total: dict[int, Force] = dict(wrenches)
        for i, p, _ in self.tree.inward():
            if i not in total:
                continue
            for k, column in enumerate(self.columns[i], start=self.tree.v_slices[i].start):
                found[k] = found[k] + column.dot(total[i])
            total[p] = total[p] + total[i] if p in total else total[i]
        return found


def wrench(numbers: Scalars) -> Force:
    """(p × n; n): what the normal does as a force at the witness points, about the world's origin."""
    n, p = Vec3(*numbers[1:4]), Vec3(*numbers[4:7])
    return Force(p.cross(n), n)


def gradient(numbers: Scalars, columns: Scalars) -> list[Any]:
    """∂d/∂q of a body with these columns and something that stands still: −n · v_A."""
    F = wrench(numbers)
    return [-Motion.of(columns[k : k + 6]).dot(F) for k in range(0, len(columns), 6)]
