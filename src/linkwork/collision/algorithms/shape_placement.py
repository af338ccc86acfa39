"""A robot's collision shapes as solids in the world frame at a configuration, and pairs of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.geometry.cores import FieldCore, PolytopeCore, Solid
from linkwork.geometry.fields import FIELDS, field_row
from linkwork.geometry.solids import (
    HullTable,
    HullVertices,
    SolidKind,
    SolidRow,
    kind_of,
    reach_of,
    solid,
    solid_row,
)
from linkwork.kinematics.algorithms.forward_kinematics import forward_kinematics
from linkwork.model.body import WORLD
from linkwork.model.collision_pairs import LinkShape, link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["PlacedShape", "by_kind", "by_kinds", "moving_shapes", "placed_shapes", "shape_pairs"]

_MAX_PADDED_VERTICES = 32  # polytopes with at most as many vertices are padded to one size and share their code
Scalars = Sequence[Any]
Pairs = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PlacedShape:
    """Shape of a robot, placed in the world frame, as a table row of a solid or field."""

    index: int  # among the robot's shapes
    body: int  # or WORLD
    kind: SolidKind
    row: SolidRow
    field_values: list[Any] | None = None  # the row's values, for a field

    @property
    def values(self) -> list[Any]:
        """All elements of the shape's row in a kernel's table: those that describe the solid or the field."""
        return (
            self.field_values if self.field_values is not None else solid_row(self.row.solid, self.kind, self.row.reach)
        )

    @property
    def padded(self) -> SolidRow:
        """The table row with as many vertices as the other rows of its kind."""
        return self.kind.solid(self.values) if self.kind.vertices else self.row


def placed_shapes(
    tree: Tree, q: Scalars, poses: Sequence[Pose] | None = None, *, hull_tables: bool = False
) -> list[PlacedShape]:
    """Return all collision shapes at q (nq,), in the order of `link_shapes`; ``poses`` of bodies if they are known.

    With ``hull_tables``, rows of polytopes have an index instead of vertices, which takes less code; derivatives of
    such shapes are not supported.
    """
    X = forward_kinematics(tree, q) if poses is None else poses
    shapes = link_shapes(tree)
    kinds = _kinds(shapes)
    result = [
        _placed(k, shape, kind, Pose.identity() if shape.body == WORLD else X[shape.body])
        for k, (shape, kind) in enumerate(zip(shapes, kinds, strict=True))
    ]
    return _with_hull_tables(result) if hull_tables else result


def _with_hull_tables(shapes: Sequence[PlacedShape]) -> list[PlacedShape]:
    """Return the shapes with the vertices of polytopes in tables, one for each number of vertices."""
    result = [*shapes]
    for kind, members in by_kind(shapes).items():
        if not kind.vertices or len(members) < 2:
            continue
        hulls = [[*x.row.solid.core.vertices] for x in members]  # type: ignore[union-attr]
        table = HullTable([[*hull, *[hull[0]] * (kind.vertices - len(hull))] for hull in hulls])
        for k, x in enumerate(members):
            core = PolytopeCore(x.row.solid.core.pose, HullVertices(table, float(k)))  # type: ignore[union-attr]
            row = SolidRow(x.row.exists, x.row.reach, Solid(core, x.row.solid.radius))
            result[x.index] = PlacedShape(x.index, x.body, kind_of(core), row)
    return result


def _kinds(shapes: Sequence[LinkShape]) -> list[SolidKind]:
    """Return the kind of solid of each shape; the kind of a field is determined when it is placed."""
    result = [
        SolidKind(FieldCore) if type(shape.shape) in FIELDS else kind_of(solid(shape.shape, Pose.identity()).core)
        for shape in shapes
    ]
    widest = max(
        (kind for kind in result if 0 < kind.vertices <= _MAX_PADDED_VERTICES),
        key=lambda kind: kind.vertices,
        default=None,
    )
    return [widest if widest is not None and 0 < kind.vertices <= _MAX_PADDED_VERTICES else kind for kind in result]


def _placed(index: int, shape: LinkShape, kind: SolidKind, X: Pose) -> PlacedShape:
    if type(shape.shape) in FIELDS:
        field, values = field_row(shape.shape, X @ shape.placement)
        return PlacedShape(index, shape.body, field, field.solid(values), values)
    alone = solid(shape.shape, Pose.identity())
    result = solid(shape.shape, X @ shape.placement)
    return PlacedShape(index, shape.body, kind, SolidRow(1.0, reach_of(alone), result))


def shape_pairs(tree: Tree, links: Pairs) -> list[tuple[int, int]]:
    """Return the pairs of shapes on pairs of links, as indices of `link_shapes`."""
    shapes = link_shapes(tree)
    of: dict[str, list[int]] = {}
    for k, shape in enumerate(shapes):
        of.setdefault(shape.link, []).append(k)
    return [(i, j) for a, b in links for i in of[a] for j in of[b]]


def moving_shapes(tree: Tree) -> list[int]:
    """Return the shapes that are not fixed to the world, as indices of `link_shapes`."""
    return [k for k, shape in enumerate(link_shapes(tree)) if shape.body != WORLD]


def by_kind(shapes: Iterable[PlacedShape]) -> Mapping[SolidKind, list[PlacedShape]]:
    """Group shapes by kind; the rows of a kind have the same length."""
    result: dict[SolidKind, list[PlacedShape]] = {}
    for shape in shapes:
        result.setdefault(shape.kind, []).append(shape)
    return result


def by_kinds(
    shapes: Sequence[PlacedShape], pairs: Iterable[tuple[int, int]]
) -> Mapping[tuple[SolidKind, SolidKind], list[tuple[int, PlacedShape, PlacedShape]]]:
    """Group pairs by the kinds of their shapes, each with its index among all pairs."""
    result: dict[tuple[SolidKind, SolidKind], list[tuple[int, PlacedShape, PlacedShape]]] = {}
    for index, (i, j) in enumerate(pairs):
        a, b = shapes[i], shapes[j]
        result.setdefault((a.kind, b.kind), []).append((index, a, b))
    return result
