"""Functions shared by the writers: numbers, the list of losses, decomposition of shapes, and hulls as mesh files.

Numbers have the fewest digits from which a reader computes exactly the same values.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeVar

from linkwork._util.messages import letters, listed, quoted
from linkwork.errors import Findings, Issue, Location
from linkwork.formats.file_reading import warn_of_repairs
from linkwork.formats.resource_paths import path_of, resource_paths
from linkwork.formats.unique_names import Names
from linkwork.formats.xml_text import number_list_text
from linkwork.model.inertia_check import mass_properties
from linkwork.model.tree import Report, Tree
from linkwork.shapes import Compound, Geometry, Mesh, Polytope
from linkwork.spatial import Inertia, Rotation, Symmetric3, Vec3
from linkwork.spatial.rotation import cos_sin

__all__ = [
    "LEAST_MOMENT",
    "MeshFolder",
    "WritingLog",
    "inertial_values",
    "is_at_bounds",
    "is_own",
    "report_attachments",
    "report_mesh_names",
    "report_shape",
    "rotation_error",
    "rpy_of",
    "simple_geometries",
    "warn_of_collision_losses",
]

LEAST_MOMENT = 2e-15  # [kg, kg m²] of moving bodies: twice MuJoCo's bound
_DECIDES_COLLISIONS = re.compile(r"(/collision|\bcollisions|\bcontact)$")  # elements of links and robots
_NEAR = 1e-9  # distance of moments from a bound, relative to the largest one


class WritingLog:
    """List of content that a format cannot represent (NOT_WRITTEN), or represents in another form (WRITTEN_AS).

    Elements with the same message share an entry. With ``strict`` every loss is an error.
    """

    def __init__(self, tree: Tree, format: str, strict: bool) -> None:
        self.robot, self.format = tree.name, format
        self._findings = Findings(strict=strict)
        self._lost: dict[tuple[str, str | None], list[str]] = {}  # elements by message and hint
        self._changed: dict[tuple[str, str | None], list[str]] = {}

    def lost(self, element: str, message: str, hint: str | None = None) -> None:
        """Record content that is not in the file."""
        self._lost.setdefault((message, hint), []).append(element)

    def changed(self, element: str, message: str, hint: str | None = None) -> None:
        """Record content that is in the file in another form."""
        self._changed.setdefault((message, hint), []).append(element)

    def refuse(self, element: str, message: str) -> None:
        """Record as an error content without which the file would describe another mechanism."""
        hint = "robot.save(path) writes everything to linkwork's own format"
        self._findings.error(self._issue("NOT_WRITTEN", message, [element], hint))

    def raise_refusals(self) -> None:
        """Raise ModelError if `refuse` was called."""
        self._findings.raise_errors()

    def report(self) -> Report:
        """Return the list.  Raises ModelError if it has errors."""
        for (message, hint), elements in self._lost.items():
            self._findings.warn(self._issue("NOT_WRITTEN", message, elements, hint))
        for (message, hint), elements in self._changed.items():
            self._findings.note(self._issue("WRITTEN_AS", message, elements, hint))
        self._findings.raise_errors()
        return Report(tuple(self._findings.warnings))

    def _issue(self, code: str, message: str, elements: Sequence[str], hint: str | None) -> Issue:
        unique = sorted(dict.fromkeys(elements), key=lambda element: _DECIDES_COLLISIONS.search(element) is None)
        count_text = f" (at {len(unique)} places: {listed(unique)})" if len(unique) > 1 else ""
        where = Location(element=f"robot[{self.robot}]/{unique[0]}".rstrip("/"))
        return Issue(code, message + count_text, where, hint)


def warn_of_collision_losses(caller: str, report: Report) -> None:
    """Issue a `ModelWarning` if a file was written without shapes, friction or pairs that affect collisions."""
    lost = [issue for issue in report.warnings if issue.code == "NOT_WRITTEN"]
    decisive = [issue for issue in lost if _DECIDES_COLLISIONS.search(issue.where.element or "")]
    warn_of_repairs(caller, decisive, "the returned report")


def report_attachments(log: WritingLog, tree: Tree, written: Collection[str] = ()) -> None:
    """Record the points, constraints and other parts of a tree that a format has no element for.

    ``written`` names the kinds of content that this file or a loops file has, and names of written constraints.
    """
    beside = "loops= writes a file for it beside this one" if log.format == "URDF" else None
    kinds: dict[str, Sequence[Any]] = {
        "points": tree.points,
        "directions": tree.directions,
        "constraints": [constraint for constraint in tree.constraints if constraint.name not in written],
        "force_elements": tree.force_elements,
        "actuators": tree.actuators,
        "named_configurations": tree.named_configurations,
    }
    for kind, items in kinds.items():
        if items and kind not in written:
            names = listed([item.name for item in items])
            log.lost(kind, f"{log.format} has no {kind.replace('_', ' ')}: {names}", beside)
    pairs = len(tree.disabled_collisions) + len(tree.enabled_collisions)
    if pairs:
        hint = "robot.to_srdf(path) writes them to an SRDF" if log.format == "URDF" else None
        log.lost("collisions", f"{log.format} has no disabled or enabled pairs of links: {pairs} pairs", hint)


def simple_geometries(log: WritingLog, element: str, geometries: Sequence[Geometry]) -> Iterator[Geometry]:
    """Yield shapes on a link; the components of a compound are yielded as separate shapes."""
    for geometry in geometries:
        if not is_own(geometry.shape):
            report_shape(log, element, geometry)
            continue
        if not isinstance(geometry.shape, Compound):
            yield geometry
            continue
        log.changed(element, f"a compound is written as {len(geometry.shape.parts)} shapes")
        for part in geometry.shape.parts:
            origin = geometry.origin @ part.origin
            yield Geometry(part.shape, origin, part.name, geometry.material, geometry.friction)


class MeshFolder:
    """Folder beside the robot's file with mesh files, for shapes that the format cannot represent."""

    def __init__(self, folder: str | os.PathLike[str], file: str | os.PathLike[str]) -> None:
        self.folder = os.path.realpath(folder)
        self.beside = os.path.dirname(os.path.realpath(file))
        self.texts: dict[str, str] = {}  # of files by path
        self._names = Names()
        self._known: dict[Polytope, str] = {}

    def add(self, link: str, shape: Polytope) -> str:
        """Add the mesh file of a shape; return its name relative to the robot's file."""
        if shape not in self._known:
            path = os.path.join(self.folder, f"{self._names.new(letters(link) or 'link')}.obj")
            self.texts[path] = _obj_text(shape)
            self._known[shape] = os.path.relpath(path, self.beside).replace(os.sep, "/")
        return self._known[shape]

    def files(self) -> dict[str, str]:
        """Create the folder, and return the contents of its mesh files as text, by path."""
        if self.texts:
            os.makedirs(self.folder, exist_ok=True)
        return self.texts


def report_mesh_names(log: WritingLog, tree: Tree, path: str | os.PathLike[str] | None) -> None:
    """Record mesh files that a reader of the written file will not find: missing files, and files in other folders."""
    shapes = [shape.shape for frame in tree.frames for shape in (*frame.visuals, *frame.collisions)]
    names = [*dict.fromkeys(shape.uri for shape in shapes if isinstance(shape, Mesh) and "://" not in shape.uri)]
    if path is None or tree.source is None or not names:
        return
    before, after = (os.path.dirname(os.path.realpath(file)) for file in (tree.source, path))
    search = resource_paths(path)
    unread = [name for name in names if path_of(search, name) is None]
    outside = [name for name in unread if os.path.exists(os.path.join(after, name))]
    if outside:
        folders = dict.fromkeys(os.path.dirname(os.path.normpath(os.path.join(after, name))) for name in outside)
        names_of_folders = ", ".join(map(repr, folders))
        hint = f"show(meshes=[{names_of_folders}]) and with_collision_hulls read them; or copy them beside the file"
        log.changed("links", f"mesh files are outside of the folders that readers search: {listed(outside)}", hint)
    relative = [name for name in unread if name not in outside and not os.path.isabs(name)]
    if relative and before != after:
        hint = f"copy the mesh files from {before}, or write to that folder"
        log.changed("links", f"names of mesh files are relative to another folder: {listed(relative)}", hint)


def is_own(content: object) -> bool:
    """Return True if linkwork itself defines the class of a joint, constraint, force element or shape.

    A class that a user derives from linkwork's may behave differently.
    """
    return type(content).__module__.partition(".")[0] == "linkwork"


def is_at_bounds(moments: tuple[float, float, float]) -> bool:
    """Return True for principal moments, in ascending order, at the limits of physically possible moments.

    Thin rods, flat plates and points have such inertias. MuJoCo refuses moments that rounding moves beyond the limits.
    """
    low, middle, high = moments
    return low + middle - high < _NEAR * high or low < max(_NEAR * high, LEAST_MOMENT)


def _obj_text(shape: Polytope) -> str:
    vertices = [f"v {number_list_text(vertex)}" for vertex in shape.vertices]
    faces = [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in shape.triangles]
    return "\n".join([*vertices, *faces]) + "\n"


def report_shape(log: WritingLog, element: str, geometry: Geometry) -> None:
    """Record in the report that the format cannot represent a shape, so it is not in the file."""
    kind = type(geometry.shape).__name__
    hint = "meshes= writes it to a mesh file" if isinstance(geometry.shape, Polytope) else None
    log.lost(element, f"{log.format} has no shape {quoted(kind)}", hint)


T = TypeVar("T")
_DIGITS = (6, 9, 12, 14, 15, 16)


def inertial_values(inertia: Inertia) -> tuple[float, Vec3, Symmetric3]:
    """Return the mass [kg], the centre of mass [m], and the rotational inertia about it [kg m²]."""
    mass, center, about = mass_properties(inertia)
    if mass == 0.0:
        return mass, center, about
    center = Vec3.of(_shortest([*center], lambda c: Vec3.of(c) * mass, inertia.moment))
    about = Inertia(mass, inertia.moment, inertia.about).shifted(-center).about
    elements = _shortest(
        [*about.elements()], lambda J: Inertia.at_center(mass, center, Symmetric3(*J)).about, inertia.about
    )
    return mass, center, Symmetric3(*elements)


def rpy_of(rotation: Rotation) -> tuple[float, float, float]:
    """Return URDF's angles (roll, pitch, yaw) [rad] of a rotation, to rounding also at pitch ±π/2.

    At pitch ±π/2 any yaw is possible; near it, the yaw with the smallest rounding error is chosen. Every yaw gives the
    other two by Ry(pitch)·Rx(roll) = Rz(−yaw)·R.
    """
    R = rotation.rows()
    yaws = (math.atan2(R[1][0], R[0][0]), math.atan2(-R[0][1], R[1][1]))
    candidates = [_with_yaw(R, yaw) for yaw in yaws]
    best = min(candidates, key=lambda angles: rotation_error(Rotation.from_rpy(*angles), rotation))
    roll, pitch, yaw = _shortest(best, lambda angles: Rotation.from_rpy(*angles), rotation)
    return roll, pitch, yaw


def _with_yaw(R: list[list[float]], yaw: float) -> list[float]:
    c, s = cos_sin(yaw)
    x = [c * a + s * b for a, b in zip(*R[:2], strict=True)]
    y = [c * b - s * a for a, b in zip(*R[:2], strict=True)]
    return [math.atan2(-y[2], y[1]), math.atan2(-R[2][0], x[0]), yaw]


def rotation_error(left: Rotation, right: Rotation) -> float:
    """Return the largest difference between elements of two rotations."""
    rows = zip(left.rows(), right.rows(), strict=True)
    return max(abs(float(x - y)) for row, second in rows for x, y in zip(row, second, strict=True))


def _shortest(values: list[float], value: Callable[[Sequence[float]], T], exact: T) -> list[float]:
    """Return ``values`` rounded to the fewest digits for which ``value(rounded)`` equals ``exact``.

    They are unchanged if no rounded values do.
    """
    for digits in _DIGITS:
        rounded = [float(f"{x:.{digits}g}") for x in values]
        if value(rounded) == exact:
            return rounded
    return values
