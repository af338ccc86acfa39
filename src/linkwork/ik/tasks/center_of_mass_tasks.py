"""Tasks for the robot's centre of mass: at a position, or above a support polygon."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import read_number
from linkwork.constraints.constraint import References
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import fabs, lt, sqrt, where
from linkwork.ik.tasks.task import (
    AimedTask,
    Scalars,
    TaskKinematics,
    TaskRows,
    TaskTarget,
    WeighedTask,
)
from linkwork.spatial import Vec3

__all__ = ["CenterOfMassTask", "SupportPolygonTask"]

_XYZ = ("x", "y", "z")


def without_mass(robot: Any, kind: str) -> Iterable[str]:
    """Yield a message if the robot has zero mass and therefore no centre of mass.

    Raises ValueError if it has no inertias; ``kind`` is the task's name in the message.
    """
    robot.require_inertias(kind)
    if robot.mass == 0.0:
        yield f"robot {robot.name!r} has zero mass and no centre of mass; give a link a mass"


@public_constructor
@dataclass(frozen=True)
class CenterOfMassTask(AimedTask):
    """Task: the robot's centre of mass is at a position c (3,) of a frame [m]; errors are in the frame's axes.

    A coordinate is free if its tolerance is infinite: ``tolerance=(1e-4, 1e-4, np.inf)``.

    ``relative_to`` names the frame, by default the world.  ``weight``, ``level``, ``tolerance``, ``target`` and
    ``name`` are those of every `Task`.
    """

    _: KW_ONLY
    relative_to: str = "world"

    def __post_init__(self) -> None:
        self.settle("center_of_mass")

    @property
    def references(self) -> References:
        return References(frames=(self.relative_to,))

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((3,), "place", f"position of the centre of mass in {self.relative_to!r} [m]")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * 3

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        position, rates = state.moving_center_of_mass(self.relative_to)
        return TaskRows(
            [x - desired for x, desired in zip(position, target, strict=True)],
            [[getattr(rate, axis) for rate in rates] for axis in _XYZ],
        )

    def checked(self, robot: Any) -> Iterable[str]:
        return without_mass(robot, "CenterOfMassTask")


@public_constructor
@dataclass(frozen=True)
class SupportPolygonTask(WeighedTask):
    """Task: the centre of mass is above a convex polygon in the x-y plane of ``relative_to``.

        lw.ik.SupportPolygonTask([(0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1)], margin=0.02)
        lw.ik.SupportPolygonTask(["toe_left", "heel_left", "heel_right", "toe_right"])

    The ``vertices`` are positions (n, 2) in this plane, in order along the polygon in either direction.  They may also
    be names of frames and points, in any order, which may move: these are sorted by their angle about their mean.
    Errors are the distances of the centre inside each edge [m], which must be at least ``margin``.

    ``weight``, ``level``, ``tolerance`` and ``name`` are those of every `Task`.
    """

    vertices: Any
    _: KW_ONLY
    margin: float = 0.0  # [m]
    relative_to: str = "world"

    def __post_init__(self) -> None:
        value = self.vertices
        if isinstance(value, str) or not hasattr(value, "__iter__"):
            raise TypeError(f"SupportPolygonTask: vertices: expected positions (n, 2) [m] or names, got {value!r}")
        vertices: tuple[Any, ...] = tuple(value)
        if len(vertices) < 3:
            raise ValueError(f"SupportPolygonTask: vertices: expected at least three, got {len(vertices)}")
        if not all(isinstance(vertex, str) for vertex in vertices):
            vertices = _read_polygon(vertices)
        elif len(set(vertices)) < len(vertices):
            raise ValueError(f"SupportPolygonTask: vertices: expected no duplicates, got {list(vertices)}")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "margin", read_number("SupportPolygonTask", "margin [m]", self.margin))
        self.settle("support")

    @property
    def references(self) -> References:
        points = tuple(vertex for vertex in self.vertices if isinstance(vertex, str))
        return References(frames=(self.relative_to,), points=points)

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: edge {i}" for i in range(len(self.vertices)))

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * len(self.vertices)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        return ((self.margin, math.inf),) * len(self.vertices)

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        if isinstance(self.vertices[0], str):
            return state.derived(
                lambda moved: self._inside(moved.center_of_mass(self.relative_to), _about_mean(self._points(moved)))
            )
        c, rates = state.moving_center_of_mass(self.relative_to)
        normals = [_inward(a, b) for a, b in _edges(self.vertices)]
        return TaskRows(
            self._inside(c, self.vertices),
            [[x * rate.x + y * rate.y for rate in rates] for x, y in normals],
        )

    def checked(self, robot: Any) -> Iterable[str]:
        return without_mass(robot, "SupportPolygonTask")

    def _points(self, state: TaskKinematics) -> list[tuple[Any, Any]]:
        positions = [state.point(vertex, self.relative_to) for vertex in self.vertices]
        return [(p.x, p.y) for p in positions]

    def _inside(self, c: Vec3, vertices: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Return the signed distance of a position inside each edge of a counterclockwise polygon."""
        result = []
        for a, b in _edges(vertices):
            x, y = _inward(a, b)
            result.append(x * (c.x - a[0]) + y * (c.y - a[1]))
        return result


def _about_mean(vertices: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Sort vertices counterclockwise about their mean, starting with the first one."""
    share = 1.0 / len(vertices)
    mean = [sum((p[axis] for p in vertices), 0.0) * share for axis in (0, 1)]
    first, *further = [(p[0] - mean[0], p[1] - mean[1]) for p in vertices]
    keyed = []
    for p in further:
        along, aside = first[0] * p[0] + first[1] * p[1], first[0] * p[1] - first[1] * p[0]
        fraction = aside / (fabs(along) + fabs(aside) + _TINY)  # grows with the angle from 0 to 1 over a quarter turn
        turn = where(lt(along, 0.0), 2.0 - fraction, where(lt(aside, 0.0), 4.0 + fraction, fraction))
        keyed.append((turn, p))
    for end in range(len(keyed) - 1, 0, -1):
        for i in range(end):
            (a, p), (b, r) = keyed[i], keyed[i + 1]
            swap = lt(b, a)
            keyed[i] = where(swap, b, a), (where(swap, r[0], p[0]), where(swap, r[1], p[1]))
            keyed[i + 1] = where(swap, a, b), (where(swap, p[0], r[0]), where(swap, p[1], r[1]))
    return [(p[0] + mean[0], p[1] + mean[1]) for p in (first, *(p for _, p in keyed))]


def _edges(vertices: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(vertices, [*vertices[1:], vertices[0]], strict=True))


def _inward(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the unit normal to the left of the edge from a to b; near zero for an edge without length."""
    x, y = b[0] - a[0], b[1] - a[1]
    inverse = 1.0 / sqrt(x * x + y * y + _TINY)
    return -y * inverse, x * inverse


_TINY = by_type(1e-24)  # [m²]


def _read_polygon(value: Sequence[Any]) -> tuple[tuple[float, float], ...]:
    """Return the vertices of a convex polygon in counterclockwise order.

    Raises ValueError.
    """
    expected = "SupportPolygonTask: vertices: expected positions (n, 2) [m] or names"
    try:
        result = [tuple(map(float, vertex)) for vertex in value]
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {list(value)!r}") from None
    if any(len(vertex) != 2 or not all(map(math.isfinite, vertex)) for vertex in result):
        raise ValueError(f"{expected}, got {result}")
    area = 0.5 * sum(a[0] * b[1] - a[1] * b[0] for a, b in _edges(result))
    vertices = result if area > 0.0 else result[::-1]
    edges = [(b[0] - a[0], b[1] - a[1]) for a, b in _edges(vertices)]
    size = max(math.hypot(*edge) for edge in edges)
    total_angle = 0.0
    for (ax, ay), (bx, by) in _edges(edges):
        cross, along = ax * by - ay * bx, ax * bx + ay * by
        total_angle += math.atan2(cross, along)
        if cross < -1e-12 * size * size:
            total_angle = math.nan
    x, y = result[0]
    double_areas = [abs((a[0] - x) * (b[1] - y) - (a[1] - y) * (b[0] - x)) for a, b in combinations(result, 2)]
    is_line = max(double_areas, default=0.0) <= 1e-12 * size * size  # all vertices, in any order
    if is_line or min(math.hypot(*edge) for edge in edges) <= 1e-12 * size:
        raise ValueError(
            f"SupportPolygonTask: vertices: expected a polygon of nonzero area with distinct vertices, got {result}"
        )
    if not abs(total_angle - 2.0 * math.pi) < 1e-6:
        raise ValueError(
            f"SupportPolygonTask: vertices: expected a convex polygon with vertices in order, got {result}"
        )
    return tuple((x, y) for x, y in vertices)
