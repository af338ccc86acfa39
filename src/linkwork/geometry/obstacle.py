"""Obstacles of a scene: shapes at poses in the world, their values in the arrays of kernels, and as JSON."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np

from linkwork._util.lazy_imports import published_in
from linkwork.geometry.fields import FIELDS, field_row
from linkwork.geometry.solids import KINDS, SOLIDS, SolidKind, anchor, kind_of, reach_of, solid, solid_row
from linkwork.shapes import Compound, Geometry, Mesh, Shape
from linkwork.shapes.shape import checked_color
from linkwork.spatial import Pose
from linkwork.spatial.arguments import LARGEST, checked_pose, checked_string

__all__ = [
    "Obstacle",
    "check_obstacle",
    "distance_from_origin",
    "entry_document",
    "obstacle_document",
    "obstacle_row",
    "obstacles_of",
    "padded_rows",
]

_MIN_CAPACITY = 4  # of a kind with obstacles; all capacities are multiples of it


@published_in("linkwork.collision")
@dataclass(frozen=True, slots=True)
class Obstacle:
    """Named convex shape or field at a pose in the world.

    ``name`` is unique in its scene, and ``pose`` is (4, 4) [1, m].  ``color`` has red, green, blue and alpha in [0, 1];
    None stands for the grey of pictures.
    """

    name: str
    shape: Shape
    pose: Pose
    color: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.color is not None:
            object.__setattr__(self, "color", checked_color(self.color, f"Scene: {self.name!r}: color"))


def obstacles_of(name: str, shape: Shape, pose: Any, existing: Container[str]) -> list[Obstacle]:
    """Return a list of one obstacle, or of a compound's components as obstacles "name[0]", "name[1]", ...

    Raises ValueError for a name that exists already and an invalid pose, TypeError for an unsupported shape.
    """
    caller = f"Scene: {checked_string(name, 'Scene: name')!r}"
    X = checked_pose(pose, f"{caller}: pose")
    added = [Obstacle(name, shape, X)]
    if isinstance(shape, Compound):
        colors = [None if part.material is None else part.material.rgba for part in shape.parts]
        added = [
            Obstacle(f"{name}[{k}]", part.shape, X @ part.origin, color)
            for k, (part, color) in enumerate(zip(shape.parts, colors, strict=True))
        ]
    for label in (name, *(obstacle.name for obstacle in added)):
        if label in existing:
            raise ValueError(
                f"Scene: an obstacle {label!r} exists already: use another name, or remove it by without({label!r})"
            )
    for obstacle in added:
        check_obstacle(obstacle, "Scene")
    return added


def check_obstacle(obstacle: Obstacle, caller: str) -> None:
    """Raise TypeError for an unsupported shape, ValueError for an obstacle that is too far away."""
    if type(obstacle.shape) not in SOLIDS and type(obstacle.shape) not in FIELDS:
        kinds = ", ".join(sorted(kind.__name__ for kind in (*SOLIDS, *FIELDS)))
        expected = f"{caller}: {obstacle.name!r}: expected a convex shape or a field of linkwork.shapes ({kinds})"
        remedy = ""
        if isinstance(obstacle.shape, Mesh):
            remedy = (
                "; load the mesh file: linkwork.shapes.load_mesh(path).convex_hull() returns its hull, "
                "convex_decomposition() also preserves hollows"
            )
        raise TypeError(f"{expected}, got {obstacle.shape!r}{remedy}")
    if any(abs(x) > LARGEST for x in obstacle.pose.translation):
        raise ValueError(f"{caller}: {obstacle.name!r}: expected a position within {LARGEST:.0e} m of the origin")


def obstacle_row(obstacle: Obstacle) -> tuple[SolidKind, list[float]]:
    """Return the kind of an obstacle, and its values in the array of this kind."""
    if type(obstacle.shape) in FIELDS:
        return field_row(obstacle.shape, obstacle.pose)
    placed = solid(obstacle.shape, obstacle.pose)
    kind = kind_of(placed.core)
    return kind, solid_row(placed, kind, reach_of(solid(obstacle.shape, Pose.identity())))


def distance_from_origin(obstacle: Obstacle) -> float:
    """Return the distance [m] of an obstacle from the world's origin, or a lower bound of it."""
    if type(obstacle.shape) in FIELDS:
        return float(np.linalg.norm([*obstacle.pose.translation])) - FIELDS[type(obstacle.shape)].reach(obstacle.shape)
    placed = solid(obstacle.shape, obstacle.pose)
    return float(np.linalg.norm([*anchor(placed.core)])) - reach_of(solid(obstacle.shape, Pose.identity()))


def padded_rows(rows: Mapping[SolidKind, list[list[float]]]) -> dict[SolidKind, np.ndarray]:
    """Return the array of each kind of obstacle, padded to its capacity.

    Unused rows repeat the last used row with the flag 0.  Fields come last and are not padded.
    """
    result = {}
    for kind in sorted(rows, key=_order):
        used = rows[kind]
        capacity = _capacity(len(used)) if kind.in_loops else len(used)
        unused = [0.0, *used[-1][1:]]
        array = np.array([*used, *([unused] * (capacity - len(used)))], dtype=float)
        array.setflags(write=False)
        result[kind] = array
    return result


def _capacity(count: int) -> int:
    """Return the smallest capacity that is at least ``count``: 4, 8, 12, 16, 24, 32, 48 and so on.

    Capacities are powers of two and the midpoints between them, from 4 on, that are multiples of 4.
    """
    result = max(_MIN_CAPACITY, 1 << (count - 1).bit_length())
    between = result // 4 * 3
    return between if count <= between and between % _MIN_CAPACITY == 0 else result


def _order(kind: SolidKind) -> tuple[int, int, str]:
    return (KINDS.index(kind.core), kind.vertices, "") if kind.core in KINDS else (len(KINDS), 0, kind.name)


def obstacle_document(obstacle: Obstacle) -> dict[str, Any]:
    """Return an obstacle as JSON values."""
    return entry_document(obstacle.name, obstacle.shape, obstacle.pose, obstacle.color)


def entry_document(name: str, shape: Shape, pose: Pose, color: Sequence[float] | None = None) -> dict[str, Any]:
    """Return a named shape at a pose, and its colour if it has one, as JSON values."""
    X = pose.elements()
    result = {
        "name": name,
        "shape": _plain(shape),
        "pose": [[float(x) for x in X[4 * k : 4 * k + 4]] for k in range(4)],
    }
    return result if color is None else {**result, "color": [*color]}


def _plain(value: Any) -> Any:
    if isinstance(value, Shape):
        named = {item.name: _plain(getattr(value, item.name)) for item in fields(cast(Any, value)) if item.init}
        return {"type": _word(type(value)), **named}
    if isinstance(value, Geometry):
        rows = [[*row] for row in value.origin.rotation.rows()]
        origin = {"xyz": [*value.origin.translation], "rotation": rows}
        return {"shape": _plain(value.shape), "origin": origin}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(x) for x in value] if isinstance(value, (tuple, list)) else value


def _word(kind: type) -> str:
    """Return the word for a type of shape: "half_space" for HalfSpace."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
