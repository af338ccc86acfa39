"""Collision shapes of a robot as solids in the world frame at a configuration; pairs of them, also by names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.errors import UnknownNameError
from linkwork.geometry.cores import FieldCore, PolytopeCore, Solid
from linkwork.geometry.fields import FIELDS, field_row, is_measured
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import (
    SOLIDS,
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
from linkwork.model.collision_pairs import LinkShape, collision_pairs, link_shapes
from linkwork.model.tree import Tree
from linkwork.shapes import Mesh, Shape
from linkwork.spatial import Pose

__all__ = ["PlacedShape", "by_kind", "by_kinds", "moving_shapes", "named_pairs", "placed_shapes", "shape_pairs"]

_GROUPS = ("self", "scene")  # names of groups of pairs
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
        """All elements of the shape's row in a kernel's table: the parameters of its field, or else of its solid."""
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
        field, values = field_row(shape.shape, X @ shape.placement, moves=shape.body != WORLD)
        return PlacedShape(index, shape.body, field, field.solid(values), values)
    alone = solid(shape.shape, Pose.identity())
    result = solid(shape.shape, X @ shape.placement)
    return PlacedShape(index, shape.body, kind, SolidRow(1.0, reach_of(alone), result))


def shape_pairs(tree: Tree, links: Pairs) -> list[tuple[int, int]]:
    """Return the pairs of shapes on pairs of links, as indices of `link_shapes`."""
    shapes = link_shapes(tree)
    shapes_by_link: dict[str, list[int]] = {}
    for k, shape in enumerate(shapes):
        shapes_by_link.setdefault(shape.link, []).append(k)
    return [(i, j) for a, b in links for i in shapes_by_link[a] for j in shapes_by_link[b]]


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


def named_pairs(
    tree: Tree, caller: str, scene: Scene, pairs: Pairs | str | None, link: str | None = None
) -> tuple[tuple[LinkShape, ...], list[tuple[int, int]], list[tuple[int, str]]]:
    """Return the robot's shapes, pairs of their indices, and pairs of a shape's index and an obstacle's name.

    The pairs are all enabled pairs, the pairs of the robot's links ("self"), the pairs with obstacles ("scene"), the
    named ``pairs``, or the pairs of one link.  Shapes that are fixed to the world have pairs with obstacles only if
    ``pairs`` or ``link`` names them.  Raises ValueError and UnknownNameError.
    """
    shapes = _supported_shapes(tree, caller)
    self_pairs, moving = shape_pairs(tree, collision_pairs(tree)), moving_shapes(tree)
    with_scene = [(k, name) for name in scene.names for k in moving]
    if isinstance(pairs, str) and pairs in _GROUPS:
        self_pairs, with_scene = (self_pairs, []) if pairs == "self" else ([], with_scene)
    elif pairs is not None:
        self_pairs, with_scene = _by_names(caller, shapes, scene, pairs)
    if link is not None:
        links = _links(tree, shapes, link)
        self_pairs = [pair for pair in self_pairs if links & {shapes[pair[0]].link, shapes[pair[1]].link}]
        if pairs in (None, _GROUPS[1]):  # also those of a link that is fixed to the world
            with_scene = [(k, name) for name in scene.names for k, shape in enumerate(shapes) if shape.link in links]
        with_scene = [pair for pair in with_scene if shapes[pair[0]].link in links]
    if not self_pairs and not with_scene:
        if pairs == "scene":
            raise ValueError(f"{caller}: pairs: expected pairs of links and obstacles, got none; pass a scene")
        raise ValueError(
            f"{caller}: robot {tree.name!r} has no enabled collision pair: pass a scene, or enable pairs by "
            f"with_collision_pairs"
        )
    for i, j in self_pairs:
        _check_fields(caller, shapes[i].name, shapes[i].shape, shapes[j].name, shapes[j].shape)
    for k in {k for k, _ in with_scene}:
        for name in {name for _, name in with_scene}:
            _check_fields(caller, shapes[k].name, shapes[k].shape, name, scene[name].shape)
    return shapes, self_pairs, with_scene


def _links(tree: Tree, shapes: tuple[LinkShape, ...], name: str) -> set[str]:
    """Return the links with shapes of a name: the link, or, for a frame without shapes, the links on its body."""
    links = list(dict.fromkeys(shape.link for shape in shapes))
    if name in links:
        return {name}
    frames = {frame.name: frame for frame in tree.frames}
    result = {link for link in links if name in frames and frames[link].body == frames[name].body}
    if not result:
        raise UnknownNameError("link with a collision shape", name, links)
    return result


def _supported_shapes(tree: Tree, caller: str) -> tuple[LinkShape, ...]:
    """Return the robot's shapes.  Raises ValueError if it has none, or shapes without a distance algorithm."""
    shapes = link_shapes(tree)
    if not shapes:
        raise ValueError(
            f"{caller}: robot {tree.name!r} has no collision shapes (its file has no <collision>); add some by "
            f"with_collisions"
        )
    for shape in shapes:
        if type(shape.shape) not in SOLIDS and type(shape.shape) not in FIELDS:
            remedy = (
                "convert meshes to convex hulls by with_collision_hulls, which contain them: the report says by how "
                "much they are larger, and max_vertices=None makes exact ones"
                if isinstance(shape.shape, Mesh)
                else "replace it by with_collisions"
            )
            raise ValueError(
                f"{caller}: robot {tree.name!r}: distances do not support shape {shape.name!r}, {shape.shape!r}; "
                f"{remedy}"
            )
    return shapes


def _check_fields(caller: str, a: str, shape_a: Shape, b: str, shape_b: Shape) -> None:
    """Raise ValueError for two shapes whose distance is not supported."""
    if not is_measured(shape_a, shape_b):
        raise ValueError(
            f"{caller}: the distance of {a!r}, a {type(shape_a).__name__}, and {b!r}, a {type(shape_b).__name__}, is "
            f"not supported: one of them must be convex and bounded, or a PointCloud; exclude the pair by pairs= or "
            f"with_collision_pairs"
        )


def _by_names(
    caller: str, shapes: tuple[LinkShape, ...], scene: Scene, pairs: Pairs | str
) -> tuple[list[tuple[int, int]], list[tuple[int, str]]]:
    """Return the pairs that names select: pairs of the robot's shapes, and pairs of a shape and an obstacle.

    The name of a link selects all its shapes.
    """
    shapes_by_name: dict[str, list[int]] = {}
    for k, shape in enumerate(shapes):
        for name in {shape.name, shape.link}:
            shapes_by_name.setdefault(name, []).append(k)
    example = [(shapes[-1].link, [*scene.names, shapes[0].link][0])]
    expected = f"{caller}: pairs: expected pairs of names, as in {example!r}, 'self' or 'scene'"
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ValueError(f"{expected}, got {pairs!r}")
    self_pairs: dict[tuple[int, int], None] = {}
    with_scene: dict[tuple[int, str], None] = {}
    for pair in pairs:
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"{expected}, got {pair!r}")
        for name in pair:
            if name not in shapes_by_name and name not in scene:
                raise UnknownNameError(
                    "link with a collision shape, or obstacle,", name, [*shapes_by_name, *scene.names]
                )
            if name in shapes_by_name and name in scene:
                raise ValueError(f"{caller}: pairs: {name!r} is the name of a link and of an obstacle; rename one")
        a, b = pair
        if a in scene and b in scene:
            raise ValueError(f"{caller}: pairs: expected a link in each pair, but {a!r} and {b!r} are both obstacles")
        if a in scene or b in scene:
            link, name = (b, a) if a in scene else (a, b)
            with_scene |= dict.fromkeys((k, name) for k in shapes_by_name[link])
            continue
        for i in shapes_by_name[a]:
            for j in shapes_by_name[b]:
                if shapes[i].body == shapes[j].body:
                    raise ValueError(
                        f"{caller}: pairs: expected links on different bodies, but {a!r} and {b!r} are on the same body"
                    )
                self_pairs[min(i, j), max(i, j)] = None
    return list(self_pairs), list(with_scene)
