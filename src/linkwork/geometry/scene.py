"""A scene: named obstacles around a robot, an immutable value that kernels take as arrays."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.messages import listed, repeated
from linkwork.errors import UnknownNameError
from linkwork.geometry.fields import FIELDS, field_row
from linkwork.geometry.scene_document import check_keys, read_document, said_of, shape_of
from linkwork.geometry.solids import KINDS, SOLIDS, SolidKind, anchor, kind_of, reach_of, solid, solid_row
from linkwork.shapes import (
    Box,
    Capsule,
    Compound,
    Cylinder,
    DistanceField,
    Ellipsoid,
    HalfSpace,
    HeightField,
    Mesh,
    PointCloud,
    Shape,
    Sphere,
)
from linkwork.spatial import Pose
from linkwork.spatial.arguments import LARGEST, checked_pose, checked_string

__all__ = ["Obstacle", "Scene"]

_LEAST = 4  # the capacity of a kind that is there at all: all others are multiples of it
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A convex shape at a pose in the world, and what it is called."""

    name: str
    shape: Shape
    pose: Pose


@public
class Scene:
    """Named obstacles: boxes, spheres, cylinders and whatever else is convex, where they stand in the world.

    A scene is a value: `with_box` and the like give a new one, and equal scenes compare and hash equal.  Kernels take
    it as arrays, by kind, whose capacities are 4, 8, 12, 16, 24, 32, 48 and so on: what is compiled for a robot serves
    every scene of the same capacities.

    >>> import linkwork as lw
    >>> scene = lw.Scene().with_box("table", (1.2, 0.8, 0.05), (0.5, 0, 0.4)).with_sphere("lamp", 0.1, (0.5, 0, 1.2))
    >>> scene.names
    ('table', 'lamp')
    """

    __slots__ = ("__dict__", "_obstacles")

    def __init__(self, obstacles: Iterable[Obstacle] = ()) -> None:
        result = tuple(obstacles)
        for one in result:
            if not isinstance(one, Obstacle):
                raise TypeError(f"Scene: expected obstacles, as Scene().with_box(...) makes them, got {one!r}")
            _check(one, "Scene")
        twice = repeated([one.name for one in result])
        if twice is not None:
            raise ValueError(f"Scene: two obstacles are called {twice!r}")
        self._obstacles = result

    # -- what is in it

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """All of them, in the order in which they were added."""
        return self._obstacles

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(one.name for one in self._obstacles)

    @cached_property
    def _by_name(self) -> dict[str, Obstacle]:
        return {one.name: one for one in self._obstacles}

    def __getitem__(self, name: str) -> Obstacle:
        if isinstance(name, str) and name in self._by_name:
            return self._by_name[name]
        raise UnknownNameError("obstacle", name, self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self._obstacles)

    # -- others made of it

    def with_shape(self, name: str, shape: Shape, pose: Any = None) -> Self:
        """The scene with an obstacle more: any convex shape of `linkwork.shapes`, or a field, or a compound.

        ``pose`` is that of the shape's frame in the world, (4, 4) or the place (3,) of its origin [m].

        Raises ValueError for a name that is taken and what is no pose, TypeError for what is no convex shape.
        """
        added = _obstacles_of(name, shape, pose, self._by_name)
        return self._of((*self._obstacles, *added))

    def with_box(self, name: str, size: Sequence[float], pose: Any = None) -> Self:
        """With a box about a pose: its edges along x, y and z [m].  As `with_shape`."""
        return self.with_shape(name, Box(size), pose)  # type: ignore[arg-type]

    def with_sphere(self, name: str, radius: float, pose: Any = None) -> Self:
        """With a sphere [m].  As `with_shape`."""
        return self.with_shape(name, Sphere(radius), pose)

    def with_cylinder(self, name: str, radius: float, length: float, pose: Any = None) -> Self:
        """With a cylinder, its axis along z [m].  As `with_shape`."""
        return self.with_shape(name, Cylinder(radius, length), pose)

    def with_capsule(self, name: str, radius: float, length: float, pose: Any = None) -> Self:
        """With a capsule, its axis along z, its length between the centres of its ends [m].  As `with_shape`."""
        return self.with_shape(name, Capsule(radius, length), pose)

    def with_ellipsoid(self, name: str, radii: Sequence[float], pose: Any = None) -> Self:
        """With an ellipsoid, by its radii along x, y and z [m].  As `with_shape`."""
        return self.with_shape(name, Ellipsoid(radii), pose)  # type: ignore[arg-type]

    def with_half_space(self, name: str, pose: Any = None) -> Self:
        """With all that is below the plane z = 0 of a pose: a floor, a wall.  As `with_shape`."""
        return self.with_shape(name, HalfSpace(), pose)

    def with_height_field(self, name: str, heights: Any, spacing: Any, pose: Any = None) -> Self:
        """With ground: heights (m, n) [m] of a grid about a pose's origin, so many metres apart along x and y.

        `linkwork.shapes.HeightField` says what it is.  As `with_shape`.
        """
        return self.with_shape(name, HeightField(heights, spacing), pose)

    def with_point_cloud(self, name: str, points: Any, radius: float = 0.0, pose: Any = None) -> Self:
        """With points (n, 3) [m] in a pose's coordinates, each a ball of that radius.  As `with_shape`."""
        return self.with_shape(name, PointCloud(points, radius), pose)

    def with_distance_field(self, name: str, field: DistanceField, pose: Any = None) -> Self:
        """With what `linkwork.distance_field` gives: distances from it are less by its `error`, to be on the safe side.

        As `with_shape`.
        """
        if not isinstance(field, DistanceField):
            raise TypeError(f"Scene: {name!r}: expected a linkwork.shapes.DistanceField, got {field!r}")
        return self.with_shape(name, field, pose)

    def with_compound(self, name: str, parts: Any, pose: Any = None) -> Self:
        """With the parts of a `linkwork.shapes.Compound` as obstacles: "name[0]", "name[1]" ...  As `with_shape`."""
        return self.with_shape(name, parts if isinstance(parts, Compound) else Compound(parts), pose)

    def without(self, name: str) -> Self:
        """The scene without an obstacle.  Raises UnknownNameError."""
        gone = self[name]
        return self._of(tuple(one for one in self._obstacles if one is not gone))

    def with_pose(self, name: str, pose: Any) -> Self:
        """Return the scene with an obstacle at another pose.

        Raises UnknownNameError for an obstacle that the scene does not have, ValueError for what is no pose.
        """
        old = self[name]
        new = Obstacle(name, old.shape, checked_pose(pose, f"Scene: {name!r}: pose"))
        _check(new, "Scene")
        return self._of(tuple(new if one is old else one for one in self._obstacles))

    def only(self, names: Iterable[str]) -> Self:
        """The scene of some of the obstacles, in their order here.  Raises UnknownNameError."""
        kept = {self[name].name for name in names}
        return self._of(tuple(one for one in self._obstacles if one.name in kept))

    def _of(self, obstacles: tuple[Obstacle, ...]) -> Self:
        made = object.__new__(type(self))
        made._obstacles = obstacles
        return made

    # -- as arrays

    @property
    def rows(self) -> Mapping[SolidKind, np.ndarray]:
        """By kind, in the order of `geometry.rows.KINDS`: rows (capacity, size), those after the last are not there.

        Rows of a kind stand in the order of obstacles.
        """
        return self._rows

    @cached_property
    def _rows(self) -> Mapping[SolidKind, np.ndarray]:
        result: dict[SolidKind, list[list[float]]] = {}
        for one in self._obstacles:
            kind, row = _row(one)
            result.setdefault(kind, []).append(row)
        return _padded(result)

    @property
    def rows_by_distance(self) -> Mapping[SolidKind, np.ndarray]:
        """The same, those nearest to the world's origin first."""
        return self._rows_by_distance

    @cached_property
    def _rows_by_distance(self) -> Mapping[SolidKind, np.ndarray]:
        result: dict[SolidKind, list[list[float]]] = {}
        for one in sorted(self._obstacles, key=_from_origin):
            kind, row = _row(one)
            result.setdefault(kind, []).append(row)
        return _padded(result)

    @property
    def capacities(self) -> tuple[tuple[SolidKind, int], ...]:
        """How many rows there are of each kind that there is."""
        return tuple((kind, len(rows)) for kind, rows in self.rows.items())

    @property
    def places(self) -> tuple[int, ...]:
        """By obstacle: where its row is, the rows of all kinds one after the other."""
        return self._places

    @cached_property
    def _places(self) -> tuple[int, ...]:
        return self._placed(range(len(self._obstacles)))

    @property
    def places_by_distance(self) -> tuple[int, ...]:
        """The same of `rows_by_distance`."""
        return self._places_by_distance

    @cached_property
    def _places_by_distance(self) -> tuple[int, ...]:
        return self._placed(sorted(range(len(self._obstacles)), key=lambda k: _from_origin(self._obstacles[k])))

    def _placed(self, order: Iterable[int]) -> tuple[int, ...]:
        """Where rows are by obstacle, if those of a kind stand in this order."""
        starts: dict[SolidKind, int] = {}
        count = 0
        for kind, capacity in self.capacities:
            starts[kind] = count
            count += capacity
        result = [0] * len(self._obstacles)
        for k in order:
            kind, _ = _row(self._obstacles[k])
            result[k] = starts[kind]
            starts[kind] += 1
        return tuple(result)

    # -- as text

    def to_dict(self) -> dict[str, Any]:
        """All of it as what JSON has: `from_dict` gives an equal scene."""
        return {"version": _VERSION, "obstacles": [said_of(one) for one in self._obstacles]}

    def to_json(self) -> str:
        """A JSON document, as it is written into a file."""
        lines = ",\n    ".join(json.dumps(said_of(one), allow_nan=False) for one in self._obstacles)
        body = f"[\n    {lines}\n  ]" if lines else "[]"
        return f'{{\n  "version": {_VERSION},\n  "obstacles": {body}\n}}\n'

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """The scene that `to_dict` says: ``{"version": 1, "obstacles": [{"name": "table", "shape": {"type": "box",
        "size": [1.2, 0.8, 0.05]}, "pose": [0.5, 0, 0.4]}]}``; a pose is a matrix (4, 4) or a place (3,).

        Raises ValueError for anything else, saying where.
        """
        check_keys(document, "scene", ("version", "obstacles"))
        if document["version"] != _VERSION or isinstance(document["version"], bool):
            raise ValueError(f"scene: version: expected {_VERSION}, got {document['version']!r}")
        if not isinstance(document["obstacles"], (list, tuple)):
            raise ValueError(f"scene: obstacles: expected a list, got {document['obstacles']!r}")
        made: dict[str, Obstacle] = {}
        for k, said in enumerate(document["obstacles"]):
            where = f"scene: obstacles[{k}]"
            check_keys(said, where, ("name", "shape"), ("pose",))
            try:
                added = _obstacles_of(said["name"], shape_of(said["shape"], where), said.get("pose"), made)
            except (TypeError, ValueError) as error:
                raise ValueError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None
            made |= {one.name: one for one in added}
        return cls(made.values())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The scene of a JSON document, as `to_json` gives it.  Raises ValueError, saying where."""
        return cls.from_dict(read_document(text))

    # -- a value

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Scene) and self._obstacles == other._obstacles)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((Scene, self._obstacles))

    def __reduce__(self) -> tuple[Any, ...]:
        return Scene, (self._obstacles,)

    def __repr__(self) -> str:
        return f"<Scene of {len(self)}: {listed(self.names)}>" if self._obstacles else "<Scene without obstacles>"


def _obstacles_of(name: str, shape: Shape, pose: Any, taken: Container[str]) -> list[Obstacle]:
    """An obstacle, or those of a compound's parts, "name[0]", "name[1]" ...

    Raises ValueError for a name that is taken and what is no pose, TypeError for what is no convex shape.
    """
    caller = f"Scene: {checked_string(name, 'Scene: name')!r}"
    X = checked_pose(pose, f"{caller}: pose")
    parts = [(name, shape, X)]
    if isinstance(shape, Compound):
        parts = [(f"{name}[{k}]", part.shape, X @ part.origin) for k, part in enumerate(shape.parts)]
    for own in (name, *(part[0] for part in parts)):
        if own in taken:
            raise ValueError(
                f"Scene: {own!r}: there is an obstacle of this name already: take another, or without({own!r})"
            )
    added = [Obstacle(*part) for part in parts]
    for obstacle in added:
        _check(obstacle, "Scene")
    return added


def _check(obstacle: Obstacle, caller: str) -> None:
    """Raises TypeError for what is no convex shape, ValueError for what is too far away."""
    if type(obstacle.shape) not in SOLIDS and type(obstacle.shape) not in FIELDS:
        kinds = ", ".join(sorted(kind.__name__ for kind in (*SOLIDS, *FIELDS)))
        expected = f"{caller}: {obstacle.name!r}: expected a convex shape or a field of linkwork.shapes ({kinds})"
        remedy = ""
        if isinstance(obstacle.shape, Mesh):
            remedy = (
                "; a mesh is a file: linkwork.shapes.load_mesh(path).convex_hull() is its hull, convex_pieces() what "
                "keeps its hollows"
            )
        raise TypeError(f"{expected}, got {obstacle.shape!r}{remedy}")
    if any(abs(x) > LARGEST for x in obstacle.pose.translation):
        raise ValueError(f"{caller}: {obstacle.name!r}: expected a place of at most {LARGEST:.0e} m")


def _row(obstacle: Obstacle) -> tuple[SolidKind, list[float]]:
    if type(obstacle.shape) in FIELDS:
        return field_row(obstacle.shape, obstacle.pose)
    placed = solid(obstacle.shape, obstacle.pose)
    kind = kind_of(placed.core)
    return kind, solid_row(placed, kind, reach_of(solid(obstacle.shape, Pose.identity())))


def _from_origin(obstacle: Obstacle) -> float:
    if type(obstacle.shape) in FIELDS:
        return float(np.linalg.norm([*obstacle.pose.translation])) - FIELDS[type(obstacle.shape)].reach(obstacle.shape)
    placed = solid(obstacle.shape, obstacle.pose)
    return float(np.linalg.norm([*anchor(placed.core)])) - reach_of(solid(obstacle.shape, Pose.identity()))


def _padded(rows: Mapping[SolidKind, list[list[float]]]) -> dict[SolidKind, np.ndarray]:
    """Arrays of whole capacities: what is not there repeats the last row that is, but says so.

    Fields come last, and as many as there are.
    """
    result = {}
    for kind in sorted(rows, key=_order):
        some = rows[kind]
        capacity = _capacity(len(some)) if kind.in_loops else len(some)
        nothing = [0.0, *some[-1][1:]]
        array = np.array([*some, *([nothing] * (capacity - len(some)))], dtype=float)
        array.setflags(write=False)
        result[kind] = array
    return result


def _capacity(count: int) -> int:
    """The least that has room for so many: of the powers of two, and what is half way between them, from 4 on."""
    result = max(_LEAST, 1 << (count - 1).bit_length())
    between = result // 4 * 3
    return between if count <= between and between % _LEAST == 0 else result


def _order(kind: SolidKind) -> tuple[int, int, str]:
    return (KINDS.index(kind.core), kind.vertices, "") if kind.core in KINDS else (len(KINDS), 0, kind.name)
