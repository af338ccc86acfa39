"""What distances of a robot are between: its shapes where they are in a configuration, and pairs of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.geometry.cores import FieldCore
from linkwork.geometry.fields import FIELDS, field_row
from linkwork.geometry.solids import SolidKind, SolidRow, kind_of, reach_of, solid, solid_row
from linkwork.kinematics.algorithms.forward_kinematics import forward_kinematics
from linkwork.model.body import WORLD
from linkwork.model.collision_pairs import LinkShape, link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["PlacedShape", "by_kind", "by_kinds", "moving_shapes", "placed_shapes", "shape_pairs"]

_ALIKE = 32  # vertices: polytopes of no more than that are rows of one length, and share their code
Scalars = Sequence[Any]
Pairs = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PlacedShape:
    """A shape of a robot as a solid, or a field, in the world."""

    index: int  # among the robot's shapes
    body: int  # or WORLD
    kind: SolidKind
    row: SolidRow
    given: list[Any] | None = None  # the row's numbers, of a field

    @property
    def numbers(self) -> list[Any]:
        """The row's numbers."""
        return self.given if self.given is not None else solid_row(self.row.solid, self.kind, self.row.reach)

    @property
    def padded(self) -> SolidRow:
        """The row as those of its kind are."""
        return self.kind.solid(self.numbers) if self.kind.vertices else self.row


def placed_shapes(tree: Tree, q: Scalars, poses: Sequence[Pose] | None = None) -> list[PlacedShape]:
    """All of a robot's collision shapes at q (nq), in the order of `link_shapes`; ``poses`` of bodies, where known."""
    X = forward_kinematics(tree, q) if poses is None else poses
    shapes = link_shapes(tree)
    kinds = _kinds(shapes)
    return [
        _placed(k, one, kind, Pose.identity() if one.body == WORLD else X[one.body])
        for k, (one, kind) in enumerate(zip(shapes, kinds, strict=True))
    ]


def _kinds(shapes: Sequence[LinkShape]) -> list[SolidKind]:
    """What rows the shapes are; of a field it is known where it is placed."""
    result = [
        SolidKind(FieldCore) if type(one.shape) in FIELDS else kind_of(solid(one.shape, Pose.identity()).core)
        for one in shapes
    ]
    widest = max((kind for kind in result if 0 < kind.vertices <= _ALIKE), key=lambda kind: kind.vertices, default=None)
    return [widest if widest is not None and 0 < kind.vertices <= _ALIKE else kind for kind in result]


def _placed(index: int, one: LinkShape, kind: SolidKind, X: Pose) -> PlacedShape:
    if type(one.shape) in FIELDS:
        field, numbers = field_row(one.shape, X @ one.placement)
        return PlacedShape(index, one.body, field, field.solid(numbers), numbers)
    alone = solid(one.shape, Pose.identity())
    result = solid(one.shape, X @ one.placement)
    return PlacedShape(index, one.body, kind, SolidRow(1.0, reach_of(alone), result))


def shape_pairs(tree: Tree, links: Pairs) -> list[tuple[int, int]]:
    """The pairs of shapes of pairs of links, by their places in `link_shapes`."""
    shapes = link_shapes(tree)
    of: dict[str, list[int]] = {}
    for k, shape in enumerate(shapes):
        of.setdefault(shape.link, []).append(k)
    return [(i, j) for a, b in links for i in of[a] for j in of[b]]


def moving_shapes(tree: Tree) -> list[int]:
    """The shapes that are not fixed to the world, by their places in `link_shapes`."""
    return [k for k, shape in enumerate(link_shapes(tree)) if shape.body != WORLD]


def by_kind(shapes: Iterable[PlacedShape]) -> Mapping[SolidKind, list[PlacedShape]]:
    """Shapes whose rows are of one length."""
    result: dict[SolidKind, list[PlacedShape]] = {}
    for shape in shapes:
        result.setdefault(shape.kind, []).append(shape)
    return result


def by_kinds(
    shapes: Sequence[PlacedShape], pairs: Iterable[tuple[int, int]]
) -> Mapping[tuple[SolidKind, SolidKind], list[tuple[int, PlacedShape, PlacedShape]]]:
    """Pairs whose rows are of the same lengths, each with its place among all pairs."""
    result: dict[tuple[SolidKind, SolidKind], list[tuple[int, PlacedShape, PlacedShape]]] = {}
    for place, (i, j) in enumerate(pairs):
        a, b = shapes[i], shapes[j]
        result.setdefault((a.kind, b.kind), []).append((place, a, b))
    return result
