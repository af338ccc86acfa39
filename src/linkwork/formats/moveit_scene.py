"""MoveIt's text format of planning scenes (``.scene``), as its plugin for RViz exports and imports it.

The first line is the scene's name.  An object begins with a line "* name".  Its pose follows (a position, and a
quaternion x, y, z, w), which older files do not have.  Then come the number of shapes, and each shape: its type, its
sizes, its pose relative to the object, and a color.  The number of subframes and the subframes end the object.  A line
with a point ends the file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from linkwork._util.file_access import Budget
from linkwork._util.messages import nearest, quoted
from linkwork.errors import Findings, Issue, Location, ModelError
from linkwork.formats.data_values import decoded
from linkwork.formats.file_reading import path_text, read_regular
from linkwork.formats.xml_text import BadNumber, parse_number
from linkwork.shapes import Box, Compound, Cone, Cylinder, HalfSpace, Material, Polytope, Shape, Sphere
from linkwork.shapes.shape import checked_color
from linkwork.spatial import Pose, Quaternion, Rotation, Vec3
from linkwork.spatial.arguments import LARGEST

if TYPE_CHECKING:
    from linkwork.geometry.scene import Scene

__all__ = ["moveit_scene_text", "read_moveit_scene", "warn_of_hollows"]

_SIZES = {"sphere": 1, "box": 3, "cylinder": 2, "cone": 2, "plane": 4}  # numbers after the type of a shape
_TYPES = (*_SIZES, "mesh")
_UNIT = 1e-3  # largest deviation of a quaternion's length from 1; files have six digits
_CONVEX = 1e-3  # of a hull's volume: a mesh that fills less of it is not convex
_COLOR = 4  # numbers of a color

RGBA = tuple[float, float, float, float]
Entry = tuple[str, Shape, Pose, Location, RGBA | None]


def read_moveit_scene(path: str | os.PathLike[str], findings: Findings, budget: Budget) -> list[Entry]:
    """Return the objects of a file: name, shape, pose in the world, location and colour.

    Several shapes of an object are a `Compound`, whose shapes have their colours.  Findings report all lines that are
    ignored.  Raises ModelError.
    """
    file = path_text(path)
    return [*_Reader(decoded(read_regular(path, budget), file, budget), file, findings, budget).objects()]


class _Reader:
    """Reader of the lines and words of a ``.scene`` file."""

    def __init__(self, text: str, file: str, findings: Findings, budget: Budget) -> None:
        self.file, self.findings, self.budget = file, findings, budget
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.words: list[tuple[str, int]] = []  # of an object, with their lines
        self.next = 0
        self.line = 1
        self.ignored: dict[str, list[int]] = {}  # lines by what they state

    def objects(self) -> Iterator[Entry]:
        starts = [k for k, line in enumerate(self.lines) if line.lstrip().startswith("*")]
        end = next((k for k, line in enumerate(self.lines) if line.strip() == "."), -1)
        if end < 0:
            hint = None if starts else "a .scene file has a name, objects that begin with '* name', and '.' at its end"
            self.fail(len(self.lines), "expected a line '.' at the end of the scene", hint)
        starts = [k for k in starts if k < end]
        before = self.lines[: starts[0] if starts else end]
        self.ignored["the scene's name"] = [k + 1 for k, line in enumerate(before[:1]) if line.strip()]
        for k, line in enumerate(before[1:], 1):
            if line.strip():
                self.fail(k + 1, f"expected an object, '* name', got {quoted(line.strip())}")
        self.ignored["text after the end"] = [k + 1 for k in range(end + 1, len(self.lines)) if self.lines[k].strip()]
        for start, stop in pairwise([*starts, end]):
            name = self.lines[start].lstrip()[1:].strip()
            if not name:
                self.fail(start + 1, "expected the name of an object after '*'")
            yield self.object(name, start, stop)
        for content, lines in self.ignored.items():
            if lines:
                where = f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"
                self.findings.note(Issue("IGNORED", f"{where}: {content}", Location(self.file, lines[0])))

    def object(self, name: str, start: int, stop: int) -> Entry:
        """Return the object in the lines after ``start`` and before ``stop``."""
        body = self.lines[start + 1 : stop]
        self.words = [(word, start + 2 + k) for k, line in enumerate(body) for word in line.split()]
        self.next, self.line = 0, start + 1
        first = self.words[0][1] if self.words else 0
        has_pose = sum(line == first for _, line in self.words[:4]) > 1  # the number of shapes stands alone
        X = self.pose() if has_pose else Pose.identity()
        shapes = [self.shape() for _ in range(self.count("the number of shapes"))]
        if not shapes:
            self.fail(self.line, f"object {quoted(name)} has no shapes")
        if self.next < len(self.words):
            self.subframes(name)
        if self.next < len(self.words):
            self.fail(
                self.words[self.next][1], f"expected the end of the object, got {quoted(self.words[self.next][0])}"
            )
        where = Location(self.file, start + 1)
        if len(shapes) == 1:
            return name, shapes[0][0], X @ shapes[0][1], where, shapes[0][2]
        materials = [None if color is None else Material(rgba=color) for *_, color in shapes]
        parts = [shape.at(pose, material=x) for (shape, pose, _), x in zip(shapes, materials, strict=True)]
        return name, Compound(parts), X, where, None

    def shape(self) -> tuple[Shape, Pose, RGBA | None]:
        """Return the next shape, its pose relative to the object, and its colour, or None for alpha 0: MoveIt's own."""
        word = self.word("the type of a shape")
        at = self.line
        if word not in _TYPES:
            expected = f"expected the type of a shape ({', '.join(_TYPES)}), got {quoted(word)}"
            self.fail(at, expected, nearest(word, _TYPES) if word.isidentifier() else None)
        inner, shape = Pose.identity(), cast(Shape, None)
        try:
            if word == "mesh":
                shape = self.mesh()
            elif word == "plane":
                shape, inner = self.plane()
            else:
                sizes = self.read_floats(_SIZES[word], f"the sizes of a {word}")
                shape = {"sphere": Sphere, "cylinder": Cylinder, "cone": Cone}.get(word, _box)(*sizes)
        except ValueError as error:
            if isinstance(error, ModelError):
                raise
            self.fail(at, f"{word}: {error}")
        X = self.pose()
        color = self.read_floats(_COLOR, "a color: red, green, blue and alpha")
        if not all(0.0 <= x <= 1.0 for x in color):
            self.ignored.setdefault("colors outside of 0 to 1", []).append(self.line)
            color = [0.0]
        return shape, X @ inner, checked_color(color, "a color") if color[-1] else None

    def mesh(self) -> Polytope:
        """Read a mesh (the numbers of vertices and triangles, then both lists), and return its convex hull."""
        at = self.line
        vertices, triangles = self.count("the number of vertices"), self.count("the number of triangles")
        if not triangles:
            self.fail(self.line, "expected at least one triangle of a mesh")
        points = np.array(self.read_floats(3 * vertices, "the vertices of a mesh")).reshape(-1, 3)
        corners = [self.count("the index of a vertex") for _ in range(3 * triangles)]
        if any(k >= vertices for k in corners):
            self.fail(self.line, f"expected indices of vertices from 0 to {vertices - 1}, got {max(corners)}")
        hull = Polytope([*map(tuple, points.tolist())])  # type: ignore[arg-type]
        triangles_of = np.array(corners).reshape(-1, 3)
        hint = 'in a YAML file of the scene, "decompose": true preserves the hollows of a mesh file'
        warn_of_hollows(self.findings, Location(self.file, at), points, triangles_of, hull, hint)
        return hull

    def plane(self) -> tuple[HalfSpace, Pose]:
        """Read a plane a x + b y + c z + d = 0, and return the half-space below it.

        The normal (a, b, c) points out of the half-space.
        """
        a, b, c, d = self.read_floats(4, "the coefficients of a plane")
        length = math.hypot(a, b, c)
        if not length > 0.0:
            self.fail(self.line, "expected a normal of a plane that is not zero")
        message = "a plane, which has two sides, is read as the half-space opposite to its normal"
        self.findings.warn(Issue("HALF_SPACE", message, Location(self.file, self.line)))
        normal = np.array([a, b, c]) / length
        return HalfSpace(), Pose(_turned_to(normal), Vec3.of((-d / length * normal).tolist()))

    def subframes(self, name: str) -> None:
        """Skip the subframes of an object, and record their lines as ignored: linkwork's scenes have no subframes."""
        for _ in range(self.count("the number of subframes")):
            first = self.line + 1
            self.line_text("the name of a subframe")
            first = self.line
            self.pose()
            lines = self.ignored.setdefault(f"subframes of {quoted(name)}", [])
            lines += range(first, self.line + 1)

    # -- words and numbers

    def word(self, expected: str) -> str:
        """Return the next word of the object; ``expected`` describes it in the error if there is none."""
        if self.next >= len(self.words):
            self.fail(self.line + 1, f"expected {expected}, and the object ends")
        word, self.line = self.words[self.next]
        self.next += 1
        return word

    def line_text(self, expected: str) -> None:
        """Skip all words of the next line; ``expected`` describes it in the error if there is none."""
        self.word(expected)
        while self.next < len(self.words) and self.words[self.next][1] == self.line:
            self.next += 1

    def read_floats(self, count: int, expected: str) -> list[float]:
        if count > len(self.words) - self.next:
            self.fail(self.line + 1, f"expected {expected}, {count} numbers, and the object ends")
        result = []
        for _ in range(count):
            word = self.word(expected)
            try:
                value = parse_number(word)
            except BadNumber as bad:
                self.fail(self.line, f"expected {expected}: {bad.message}", bad.hint)
            if abs(value) > LARGEST:
                self.fail(self.line, f"expected {expected}: a number of at most {LARGEST:.0e}, got {quoted(word)}")
            result.append(value)
        return result

    def count(self, expected: str) -> int:
        word = self.word(expected)
        if not (word.isascii() and word.isdigit() and len(word) < 10):
            self.fail(self.line, f"expected {expected}, an integer, got {quoted(word)}")
        if int(word) > self.budget.max_elements:
            self.fail(self.line, f"expected {expected}, at most {self.budget.max_elements}, got {word}")
        return int(word)

    def pose(self) -> Pose:
        """Return the next pose: a position [m], and a quaternion x, y, z, w."""
        position = Vec3.of(self.read_floats(3, "a position"))
        quaternion = self.read_floats(4, "a quaternion x, y, z, w")
        norm = math.hypot(*quaternion)
        if abs(norm - 1.0) > _UNIT:
            self.fail(self.line, f"expected a unit quaternion (x, y, z, w), its norm is {norm:.9g}")
        x, y, z, w = (part / norm for part in quaternion)
        return Pose(Rotation.from_quaternion(w, x, y, z), position)

    def fail(self, line: int, message: str, hint: str | None = None) -> Any:
        raise ModelError([*self.findings.errors, Issue("SCENE_SYNTAX", message, Location(self.file, line), hint)])


def warn_of_hollows(
    findings: Findings, where: Location, points: np.ndarray, triangles: np.ndarray, hull: Polytope, hint: str
) -> None:
    """Warn of a mesh that encloses less volume than its convex hull, which is used as the obstacle."""
    a, b, c = (points[triangles[:, k]] - np.array([*hull.center]) for k in range(3))
    share = abs(float((a * np.cross(b, c)).sum())) / 6.0 / float(hull.volume or 1.0)
    if share < 1.0 - _CONVEX:
        message = f"the mesh fills {100.0 * share:.3g} % of its convex hull, and the hull is the obstacle"
        findings.warn(Issue("MESH_HULL", message, where, hint))


def _box(*sizes: float) -> Box:
    return Box(sizes)  # type: ignore[arg-type]


def _turned_to(normal: np.ndarray) -> Rotation:
    """Return a rotation that turns the z axis into the unit vector ``normal``; the identity if they are equal."""
    if normal.tolist() == [0.0, 0.0, 1.0]:
        return Rotation.identity()
    least = np.eye(3)[int(np.abs(normal).argmin())]
    x = np.cross(least, normal)
    x /= np.linalg.norm(x)
    y = np.cross(normal, x)
    matrix = np.column_stack([x, y, normal])
    return Pose.of([[*row, 0.0] for row in matrix.tolist()] + [[0.0, 0.0, 0.0, 1.0]]).rotation


def moveit_scene_text(scene: Scene, name: str) -> str:
    """Return a scene as text of the ``.scene`` format. Raises ValueError for shapes and names it cannot represent."""
    lines = [name]
    for obstacle in scene.obstacles:
        if "\n" in obstacle.name or obstacle.name != obstacle.name.strip():
            raise ValueError(
                f"save: {obstacle.name!r}: a .scene file has no names with line breaks or blanks at the ends"
            )
        shape = _written_shape(obstacle.name, obstacle.shape)
        X = obstacle.pose
        color = _row(obstacle.color or (0.0, 0.0, 0.0, 0.0))
        lines += [f"* {obstacle.name}", *_pose_lines(X), "1", *shape, *_pose_lines(Pose.identity()), color, "0"]
    return "\n".join([*lines, ".", ""])


def _written_shape(name: str, shape: Shape) -> list[str]:
    match shape:
        case Box():
            return ["box", _row(shape.size)]
        case Sphere():
            return ["sphere", _row([shape.radius])]
        case Cylinder() | Cone():
            return [type(shape).__name__.lower(), _row([shape.radius, shape.length])]
        case HalfSpace():
            return ["plane", "0 0 1 0"]
        case Polytope():
            sizes = f"{len(shape.vertices)} {len(shape.triangles)}"
            return ["mesh", sizes, *map(_row, shape.vertices), *(" ".join(map(str, t)) for t in shape.triangles)]
    known = "boxes, spheres, cylinders, cones, half-spaces and polytopes"
    raise ValueError(
        f"save: {name!r}: a .scene file has {known}, no {type(shape).__name__}; save the scene as .yaml or .json"
    )


def _pose_lines(X: Pose) -> list[str]:
    quaternion = Quaternion.of(X.rotation)
    return [_row(X.translation), _row([*quaternion.vector, quaternion.w])]


def _row(values: Any) -> str:
    return " ".join(repr(float(x) + 0.0) for x in values)
