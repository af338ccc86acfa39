"""Scene files: obstacles around a robot in JSON or YAML, with objects on its frames, pairs that may touch, and margins.

The page docs/scene_files.md describes the keys.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np

from linkwork._util.file_access import MESH, SCENE
from linkwork._util.file_search import Folders
from linkwork._util.messages import quoted, repeated
from linkwork.errors import Findings, Issue, Location, ModelError
from linkwork.formats.constructor_reader import PlainReader, plain_value
from linkwork.formats.data_documents import YAML, read_document
from linkwork.formats.data_values import Value, values_of
from linkwork.formats.file_reading import path_text, read_start, require_path
from linkwork.formats.json_and_yaml import parse_json
from linkwork.formats.linkwork_json.shape_entries import SHAPES, read_shape
from linkwork.formats.moveit_scene import read_moveit_scene, warn_of_hollows
from linkwork.formats.resource_paths import resource_paths
from linkwork.geometry.fields import FIELDS
from linkwork.geometry.obstacle import Obstacle, obstacles_of
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SOLIDS
from linkwork.shapes import Compound, Geometry, Shape, load_mesh
from linkwork.shapes.shape import checked_color
from linkwork.spatial import Pose, Rotation, Vec3
from linkwork.spatial.arguments import checked_pose

__all__ = [
    "ENTRY_KEYS",
    "KEYS",
    "MESH_KEYS",
    "UNITS",
    "SceneContent",
    "SceneEntry",
    "read_scene",
    "scene_of_data",
    "scene_of_text",
]

VERSION = 1
KEYS = ("$schema", "version", "units", "obstacles", "touching", "margin")
ENTRY_KEYS = ("name", "shape", "pose", "color", "attached_to", "touching")
MESH_KEYS = ("type", "file", "scale", "decompose", "max_vertices")
UNITS: Mapping[str, Mapping[str, tuple[float, float]]] = {  # each is a quotient of m or rad: 1400 mm are 1.4 m exactly
    "length": {"m": (1.0, 1.0), "cm": (1.0, 100.0), "mm": (1.0, 1e3), "in": (254.0, 1e4), "ft": (3048.0, 1e4)},
    "angle": {"rad": (1.0, 1.0), "deg": (np.pi, 180.0)},
}
_MARGIN_KEYS = ("self", "scene", "pairs")
_MAX_DISTANCE = 1e20  # [m] of a margin


@dataclass(frozen=True, slots=True)
class SceneEntry:
    """An obstacle of a scene file: a shape at a pose in the world, or in the robot frame that carries it."""

    name: str
    shape: Shape
    pose: Pose
    where: Location
    frame: str | None = None  # of the robot
    touching: tuple[str, ...] = ()  # links that an attached object may touch
    color: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class SceneContent:
    """Content of a scene file: obstacles, objects attached to robot frames, pairs that may touch, and margins."""

    obstacles: tuple[Obstacle, ...]
    attached: tuple[SceneEntry, ...] = ()
    touching: tuple[tuple[str, str], ...] = ()
    margin: float | Mapping[Any, float] = 0.0
    locations: Mapping[Any, Location] = field(default_factory=dict)  # of pairs and "margin", for errors
    issues: tuple[Issue, ...] = ()

    def scene(self) -> Scene:
        """Return the obstacles that are fixed in the world as a scene."""
        return Scene(self.obstacles)


def read_scene(
    path: str | os.PathLike[str],
    *,
    package_dirs: Folders | None = None,
    trusted: bool = True,
    strict: bool = False,
) -> SceneContent:
    """Return the content of a scene file: JSON, YAML, or MoveIt's text format (``.scene``).

    Raises ModelError with all errors, with ``strict`` also for warnings; the operating system's error if the file
    cannot be read; ImportError for YAML without PyYAML and for meshes without trimesh.
    """
    require_path(path)
    findings, file = Findings(strict=strict), path_text(path)
    ending = os.path.splitext(file)[1].lower()
    if ending == ".scene":
        entries = read_moveit_scene(path, findings, SCENE)
        findings.raise_errors()
        result = _content([SceneEntry(*entry[:4], color=entry[4]) for entry in entries], findings)
    elif ending in (*YAML, ".json"):
        reader = _SceneReader(file, findings, package_dirs, trusted)
        result = reader.read(read_document(path, findings, SCENE, trusted=trusted))
    else:
        read_start(path, 1)  # raises an error for a folder
        message = f"expected a scene file (.yaml, .yml, .json or .scene), got {quoted(os.path.basename(file))}"
        raise ModelError(Issue("WRONG_FORMAT", message, Location(file)))
    findings.raise_errors()
    return replace(result, issues=tuple(findings.warnings))


def scene_of_text(text: str) -> Scene:
    """Return the scene of a JSON document.  Raises ModelError."""
    findings = Findings()
    return _scene_alone(parse_json(text, None, findings, SCENE), findings)


def scene_of_data(document: Any) -> Scene:
    """Return the scene of a document that is given as dicts, lists, strings and numbers. Raises ModelError."""
    findings = Findings()
    return _scene_alone(values_of(_as_json(document), None, findings, SCENE), findings)


def _scene_alone(root: Value, findings: Findings) -> Scene:
    content = _SceneReader(None, findings, None, True).read(root)
    if content.attached or content.touching or content.margin:
        message = "the document has objects on frames, pairs or margins, which a Scene does not have"
        hint = "read its file with load_scene(path, robot)"
        findings.error(Issue("ROBOT_NEEDED", message, Location(None, None, None, "scene"), hint))
    findings.raise_errors()
    return content.scene()


def _as_json(data: Any) -> Any:
    """Convert mappings to dicts, sequences and arrays to lists, and NumPy's numbers to Python's."""
    if isinstance(data, Mapping):
        return {key: _as_json(item) for key, item in data.items()}
    if isinstance(data, (list, tuple, np.ndarray)):
        return [_as_json(item) for item in data]
    return data.item() if isinstance(data, np.generic) else data


class _SceneReader(PlainReader):
    """Reader of the values of a scene file; it converts them from the file's units to SI units."""

    def __init__(self, file: str | None, findings: Findings, package_dirs: Folders | None, trusted: bool) -> None:
        super().__init__(file, findings)
        self.package_dirs, self.trusted = package_dirs, trusted
        self.length = self.angle = (1.0, 1.0)

    def read(self, root: Value) -> SceneContent:
        """Return the content of a scene document; its findings include errors."""
        content = root.content
        if not isinstance(content, dict) or not {"obstacles", "version"} & {*content}:
            got = root.kind if not isinstance(content, dict) else f"the keys {', '.join([*content][:5])}"
            self.error(root, "WRONG_FORMAT", f"expected a scene, got {got}", 'it has "version": 1 and "obstacles"')
            self.findings.raise_errors()
        self.known(root, KEYS)
        version = self.required(root, "version")
        if version is not None and (version.content != float(VERSION) or isinstance(version.content, bool)):
            self.error(version, "VERSION", f"version: expected {VERSION} of scenes, got {version.kind}")
        if "$schema" in content:
            self.text(root, "$schema")
        if "units" in content and self.is_object(content["units"], "units"):
            self.known(content["units"], UNITS)
            self.length, self.angle = (self._unit(content["units"], key) for key in UNITS)
        values = self.required(root, "obstacles")
        entries = [self._entry(item) for item in self._list(values)] if values is not None else []
        result = _content([entry for entry in entries if entry is not None], self.findings)
        locations: dict[Any, Location] = {}
        touching = [self._pair(item, locations) for item in self._list(content.get("touching"))]
        margin = self._margin(content["margin"], locations) if "margin" in content else 0.0
        self.findings.raise_errors()
        pairs = tuple(pair for pair in touching if pair is not None)
        return replace(result, touching=pairs, margin=margin, locations=locations)

    def _unit(self, units: Value, key: str) -> tuple[float, float]:
        if key not in units.content:
            return 1.0, 1.0
        word = self.text(units, key)
        if word and word not in UNITS[key]:
            expected = f"{key}: expected one of {', '.join(UNITS[key])}, got {quoted(word)}"
            self.error(units.content[key], "UNIT", expected)
        return UNITS[key].get(word, (1.0, 1.0))

    def _list(self, value: Value | None) -> list[Value]:
        if value is None:
            return []
        if isinstance(value.content, list):
            return value.items
        self.error(value, "DATA_TYPE", f"{value.step}: expected a list, got {value.kind}")
        return []

    # -- obstacles

    def _entry(self, value: Value) -> SceneEntry | None:
        if not self.is_object(value, "obstacles"):
            return None
        errors, content = len(self.findings.errors), value.content
        kinds = [key for key in content if key in SHAPES]
        for key in kinds:
            arguments = ", ".join(f"{argument.name}: ..." for argument in fields(cast(Any, SHAPES[key])))
            hint = f"write shape: {{type: {key}, {arguments}}}"
            self.error(content[key], "UNKNOWN_KEY", f"{quoted(key)} is a type of shapes, no key", hint)
        self.known(value, (*ENTRY_KEYS, *kinds))
        name, item = self.text(value, "name"), None if kinds else self.required(value, "shape")
        shape = None if item is None else self._shape(item)
        pose = self._pose(content["pose"]) if "pose" in content else Pose.identity()
        color = self._color(content["color"]) if "color" in content else None
        frame = self.text(value, "attached_to") if "attached_to" in content else None
        links = self._list(content.get("touching"))
        if links and frame is None:
            message = "touching: only an object that is attached to a frame touches links"
            self.error(content["touching"], "KEY_MISSING", message, 'pairs that may touch are "touching" of the file')
        touching = tuple(str(self._name(link)) for link in links)
        if len(self.findings.errors) > errors or shape is None:
            return None
        return SceneEntry(name, shape, pose, self.where(value), frame, touching, color)

    def _color(self, value: Value) -> tuple[float, float, float, float] | None:
        try:
            return checked_color(plain_value(value), "color")
        except (TypeError, ValueError) as error:
            self.error(value, "COLOR", str(error))
            return None

    def _name(self, value: Value) -> str:
        if not isinstance(value.content, str) or not value.content.strip():
            self.error(value, "BAD_NAME", f"expected a name, got {value.kind}")
            return ""
        return value.content

    def _shape(self, value: Value) -> Shape | None:
        is_mesh = isinstance(value.content, dict) and getattr(value.content.get("type"), "content", None) == "mesh"
        if is_mesh:
            return self._mesh(value)
        errors = len(self.findings.errors)
        shape = read_shape(self, value)
        if shape is None or len(self.findings.errors) > errors:
            return None
        kinds = [part.shape for part in shape.parts] if isinstance(shape, Compound) else [shape]
        for kind in (type(kind) for kind in kinds if type(kind) not in (*SOLIDS, *FIELDS)):
            known = [word for word, known in SHAPES.items() if known in (*SOLIDS, *FIELDS)]
            word = next((word for word, shape_type in SHAPES.items() if shape_type is kind), kind.__name__)
            self.error(value, "SHAPE", f"{quoted(word)} is not an obstacle: expected one of {', '.join(known)}")
            return None
        try:
            return shape if self.length == (1.0, 1.0) else _in_unit(shape, self.length)
        except (TypeError, ValueError) as error:
            self.error(value, "SHAPE", str(error))
            return None

    def _mesh(self, value: Value) -> Shape | None:
        """Return the convex hull of a mesh file, or the convex components of the mesh."""
        errors, content = len(self.findings.errors), value.content
        self.known(value, MESH_KEYS)
        name = self.text(value, "file")
        scale = plain_value(content["scale"]) if "scale" in content else 1.0
        decompose = self.converted(content["decompose"], bool) if "decompose" in content else False
        most = self.converted(content["max_vertices"], int) if "max_vertices" in content else None
        if self.file is None:
            self.error(value, "FILE_MISSING", "a mesh file beside a text", "read the scene's file: load_scene(path)")
        if len(self.findings.errors) > errors:
            return None
        assert self.file is not None
        home = os.path.dirname(os.path.abspath(self.file))
        path = os.path.join(home, os.path.expanduser(name))
        folders: Any = resource_paths(self.file, self.package_dirs, trusted=self.trusted)
        if self.trusted and os.path.isfile(path):
            name, folders = os.path.basename(path), [os.path.dirname(path)]
        try:
            mesh = load_mesh(name, folders, scale=scale, trusted=self.trusted, budget=MESH)
            if decompose:
                return Compound(mesh.convex_decomposition(most))
            hull = mesh.convex_hull(most)
        except (OSError, TypeError, ValueError) as error:
            self.error(value, "MESH", str(error))
            return None
        hint = '"decompose": true preserves hollows'
        warn_of_hollows(self.findings, self.where(value), mesh.vertices, mesh.triangles, hull, hint)
        return hull

    # -- poses

    def _pose(self, value: Value) -> Pose:
        if isinstance(value.content, dict):
            X = self.pose(value)
        else:
            expected = "pose: expected an object, as in {xyz: [0, 0, 1]}, a position (3,) or a matrix (4, 4)"
            data = plain_value(value)
            try:
                if not isinstance(data, tuple):
                    raise ValueError(f"{expected}, got {value.kind}")
                X = checked_pose(data, "pose")
            except (TypeError, ValueError) as error:
                self.error(value, "POSE", str(error))
                return Pose.identity()
        return _in_unit(X, self.length)  # type: ignore[no-any-return]

    def _rpy(self, value: Value) -> Rotation:
        return Rotation.from_rpy(*(_in_unit(x, self.angle) for x in self.number_list(value, 3)))

    # -- pairs and margins

    def _pair(self, value: Value, locations: dict[Any, Location]) -> tuple[str, str] | None:
        items = self._list(value)
        if len(items) != 2:
            if isinstance(value.content, list):
                self.error(value, "ARITY", f"expected two names, as in [hand, table], got {len(items)} values")
            return None
        pair = (self._name(items[0]), self._name(items[1]))
        locations[pair] = self.where(value)
        return pair

    def _margin(self, value: Value, locations: dict[Any, Location]) -> float | Mapping[Any, float]:
        locations["margin"] = self.where(value)
        if not isinstance(value.content, dict):
            return self._distance(value)
        self.known(value, _MARGIN_KEYS)
        result: dict[Any, float] = {}
        for key in ("self", "scene"):
            if key in value.content:
                result[key] = self._distance(value.content[key])
        for item in self._list(value.content.get("pairs")):
            parts = self._list(item)
            if len(parts) != 3:
                self.error(item, "ARITY", "expected two names and a margin, as in [hand, table, 0.02]")
                continue
            pair = (self._name(parts[0]), self._name(parts[1]))
            result[pair] = self._distance(parts[2])
            locations[pair] = self.where(item)
        return result

    def _distance(self, value: Value) -> float:
        return float(_in_unit(self.number(value, _MAX_DISTANCE), self.length))


def _content(entries: Sequence[SceneEntry], findings: Findings) -> SceneContent:
    """Return the obstacles and the attached objects of ``entries``; errors are recorded in ``findings``."""
    result: dict[str, Obstacle] = {}
    attached = tuple(entry for entry in entries if entry.frame is not None)
    taken = repeated([entry.name for entry in entries])
    for entry in entries:
        if entry.name == taken:
            where = [item.where for item in entries if item.name == taken]
            findings.error(Issue("DUPLICATE_NAME", f"two obstacles are named {quoted(entry.name)}", where[1]))
            break
        if entry.frame is not None:
            continue
        try:
            added = obstacles_of(entry.name, entry.shape, entry.pose, result)
            result |= {item.name: replace(item, color=entry.color or item.color) for item in added}
        except (TypeError, ValueError) as error:
            findings.error(Issue("OBSTACLE", str(error), entry.where))
    return SceneContent(tuple(result.values()), attached)


def _in_unit(value: Any, unit: tuple[float, float]) -> Any:
    """Convert a number, a pose or a shape to SI units.

    ``unit`` is the factor for lengths, and that for angles. All numbers of a shape's constructor are lengths.
    """
    match value:
        case Shape():
            names = [item.name for item in fields(cast(Any, value)) if item.init]
            return type(value)(**{name: _in_unit(getattr(value, name), unit) for name in names})
        case Geometry():
            return replace(value, shape=_in_unit(value.shape, unit), origin=_in_unit(value.origin, unit))
        case Pose():
            return Pose(value.rotation, Vec3(*(_in_unit(x, unit) for x in value.translation)))
        case np.ndarray() | float():
            return value * unit[0] / unit[1]
        case tuple() | list():
            return tuple([_in_unit(item, unit) for item in value])
    return value
