"""Class `Scene`: named obstacles around a robot, an immutable value that kernels receive as arrays."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.lazy_imports import ImportedFunction
from linkwork._util.messages import listed, quoted, repeated
from linkwork._util.pictures import Shown, show
from linkwork.errors import Issue, UnknownNameError
from linkwork.geometry.obstacle import (
    Obstacle,
    check_obstacle,
    distance_from_origin,
    obstacle_document,
    obstacle_row,
    obstacles_of,
    padded_rows,
)
from linkwork.geometry.solids import SolidKind
from linkwork.shapes import (
    Box,
    Capsule,
    Compound,
    Cylinder,
    DistanceField,
    Ellipsoid,
    HalfSpace,
    HeightField,
    PointCloud,
    Shape,
    Sphere,
)
from linkwork.shapes.shape import checked_color
from linkwork.spatial.arguments import checked_pose

__all__ = ["Scene"]

_VERSION = 1
_scene_of_data = ImportedFunction("linkwork.formats.scene_file.scene_of_data")
_scene_of_text = ImportedFunction("linkwork.formats.scene_file.scene_of_text")
_save_scene = ImportedFunction("linkwork.formats.scene_writing.save_scene")


@public
class Scene(Shown, metaclass=WithForeignNames):
    """Named obstacles in the world: convex shapes, fields and compounds.

    A scene is immutable: `with_box` and similar methods return a new one, and equal scenes compare and hash equal.
    Kernels receive it as arrays by kind of shape with capacities 4, 8, 12, 16, 24, 32, 48 and so on, so one kernel of
    a robot serves all scenes of the same capacities.

    >>> import linkwork as lw
    >>> scene = lw.Scene().with_box("table", (1.2, 0.8, 0.05), (0.5, 0, 0.4)).with_sphere("lamp", 0.1, (0.5, 0, 1.2))
    >>> scene.names
    ('table', 'lamp')
    """

    __slots__ = ("__dict__", "_issues", "_obstacles")

    def __init__(self, obstacles: Iterable[Obstacle] = ()) -> None:
        result = tuple(obstacles)
        for obstacle in result:
            if not isinstance(obstacle, Obstacle):
                raise TypeError(f"Scene: obstacles: expected obstacles, as of Scene().with_box(...), got {obstacle!r}")
            check_obstacle(obstacle, "Scene")
        duplicate = repeated([obstacle.name for obstacle in result])
        if duplicate is not None:
            raise ValueError(f"Scene: two obstacles are called {duplicate!r}; rename one of them")
        self._obstacles = result
        self._issues: tuple[Issue, ...] = ()

    # -- contents

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """Obstacles in the order in which they were added."""
        return self._obstacles

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the obstacles."""
        return tuple(obstacle.name for obstacle in self._obstacles)

    @cached_property
    def _by_name(self) -> dict[str, Obstacle]:
        return {obstacle.name: obstacle for obstacle in self._obstacles}

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

    # -- edits

    def with_shape(self, name: str, shape: Shape, pose: Any = None) -> Self:
        """Return the scene with a further obstacle: a convex shape of `linkwork.shapes`, a field or a compound.

        ``pose`` is the pose of the shape's frame in the world, (4, 4), or the position (3,) of its origin [m].

        Raises ValueError for a name that exists already and an invalid pose, TypeError for an unsupported shape.
        """
        added = obstacles_of(name, shape, pose, self._by_name)
        return self._of((*self._obstacles, *added))

    def with_box(self, name: str, size: Sequence[float], pose: Any = None) -> Self:
        """Return the scene with a further obstacle: a box centred at the pose.

        ``size`` are its edge lengths along the pose's x, y and z [m].

        Raises ValueError for lengths that are not positive, a name that exists already and an invalid pose.
        """
        return self.with_shape(name, Box(size), pose)  # type: ignore[arg-type]

    def with_sphere(self, name: str, radius: float, pose: Any = None) -> Self:
        """Return the scene with a further obstacle: a sphere of a ``radius`` [m], centred at the pose.

        Raises ValueError for a radius that is not positive, a name that exists already and an invalid pose.
        """
        return self.with_shape(name, Sphere(radius), pose)

    def with_cylinder(self, name: str, radius: float, length: float, pose: Any = None) -> Self:
        """Return the scene with a further obstacle: a cylinder about the pose's z axis, centred at the pose.

        ``radius`` and ``length`` are in metres.

        Raises ValueError for sizes that are not positive, a name that exists already and an invalid pose.
        """
        return self.with_shape(name, Cylinder(radius, length), pose)

    def with_capsule(self, name: str, radius: float, length: float, pose: Any = None) -> Self:
        """Return the scene with a further obstacle: a capsule along the pose's z axis, centred at the pose.

        ``length`` [m] is the distance between the centres of its hemispheres, of ``radius`` [m].

        Raises ValueError for a radius that is not positive, a negative length, a name that exists already and an
        invalid pose.
        """
        return self.with_shape(name, Capsule(radius, length), pose)

    def with_ellipsoid(self, name: str, radii: Sequence[float], pose: Any = None) -> Self:
        """Return the scene with a further obstacle: an ellipsoid centred at the pose.

        ``radii`` are the semi-axes along the pose's x, y and z [m].

        Raises ValueError for radii that are not positive, a name that exists already and an invalid pose.
        """
        return self.with_shape(name, Ellipsoid(radii), pose)  # type: ignore[arg-type]

    def with_half_space(self, name: str, pose: Any = None) -> Self:
        """Return the scene with a further obstacle: the half-space z ≤ 0 of the pose, such as a floor or a wall.

        Raises ValueError for a name that exists already and an invalid pose.
        """
        return self.with_shape(name, HalfSpace(), pose)

    def with_height_field(self, name: str, heights: Any, spacing: Any, pose: Any = None) -> Self:
        """Return the scene with a further obstacle: terrain, as heights on a grid.

        ``heights`` (m, n) [m] are z at the points of a grid centred at the pose, with a ``spacing`` [m] along x and y.
        See `linkwork.shapes.HeightField`.

        Raises ValueError for fewer than two rows or columns, heights that are not finite, a spacing that is not
        positive, a name that exists already and an invalid pose.
        """
        return self.with_shape(name, HeightField(heights, spacing), pose)

    def with_point_cloud(self, name: str, points: Any, radius: float = 0.0, pose: Any = None) -> Self:
        """Return the scene with a further obstacle: a point cloud.

        ``points`` (n, 3) [m] are in the pose's coordinates; each is a ball of the ``radius`` [m].

        Raises ValueError for an empty cloud, points that are not finite, a negative radius, a name that exists already
        and an invalid pose.
        """
        return self.with_shape(name, PointCloud(points, radius), pose)

    def with_distance_field(self, name: str, field: DistanceField, pose: Any = None) -> Self:
        """Return the scene with a further obstacle: a distance field, such as a result of `linkwork.distance_field`.

        The field's `error` is subtracted from all distances to it.

        Raises TypeError for a ``field`` of another type, ValueError for a name that exists already and an invalid
        pose.
        """
        if not isinstance(field, DistanceField):
            raise TypeError(f"Scene: {name!r}: expected a linkwork.shapes.DistanceField, got {field!r}")
        return self.with_shape(name, field, pose)

    def with_compound(self, name: str, parts: Any, pose: Any = None) -> Self:
        """Return the scene with further obstacles: the components of a `linkwork.shapes.Compound`.

        ``parts`` are a compound, or the shapes for one.  The obstacles are called "name[0]", "name[1]", ...

        Raises ValueError for an empty list, a name that exists already and an invalid pose, TypeError for an element
        that is not a shape or not a supported one.
        """
        return self.with_shape(name, parts if isinstance(parts, Compound) else Compound(parts), pose)

    def without(self, name: str) -> Self:
        """Return the scene without the obstacle ``name``.  Raises UnknownNameError."""
        removed = self[name]
        return self._of(tuple(obstacle for obstacle in self._obstacles if obstacle is not removed))

    def with_pose(self, name: str, pose: Any) -> Self:
        """Return the scene with the obstacle ``name`` at another pose (4, 4).

        Raises UnknownNameError for an unknown obstacle, ValueError for an invalid pose.
        """
        old = self[name]
        new = replace(old, pose=checked_pose(pose, f"Scene: {name!r}: pose"))
        check_obstacle(new, "Scene")
        return self._of(tuple(new if obstacle is old else obstacle for obstacle in self._obstacles))

    def moved(self, pose: Any) -> Self:
        """Return the scene with all obstacles moved by a pose X (4, 4): one at Y is then at X Y.

        With X = B⁻¹ the scene is in the frame of a robot's base at B.  One kernel of the robot serves all such scenes,
        so this is the fast way to try places for a base.

        >>> import linkwork as lw
        >>> scene = lw.Scene().with_box("table", (1.2, 0.8, 0.05), (0.5, 0.0, 0.4))
        >>> scene.moved(lw.pose((0.0, 0.0, -0.4)))["table"].pose.translation
        Vec3(x=0.5, y=0.0, z=0.0)

        Raises ValueError for an invalid pose.
        """
        X = checked_pose(pose, "Scene: pose")
        moved = tuple(replace(obstacle, pose=X @ obstacle.pose) for obstacle in self._obstacles)
        for obstacle in moved:
            check_obstacle(obstacle, "Scene")
        return self._of(moved)

    def with_color(self, name: str, color: Sequence[float] | None) -> Self:
        """Return the scene with a colour of the obstacle ``name``, or of all components of this compound.

        ``color`` has red, green and blue, or also alpha, in [0, 1].  None is the default grey.  Pages, pictures and GLB
        files show it, and scene files keep it.

        Raises UnknownNameError for an unknown obstacle, ValueError for other numbers.
        """
        names = [x.name for x in self._obstacles if re.fullmatch(re.escape(name) + r"\[\d+\]", x.name)]
        chosen = names or [self[name].name]
        rgba = None if color is None else checked_color(color, f"Scene: {name!r}: color")
        return self._of(tuple(replace(x, color=rgba) if x.name in chosen else x for x in self._obstacles))

    def only(self, names: Iterable[str]) -> Self:
        """Return the scene with only the obstacles ``names``, in the order of this scene.  Raises UnknownNameError."""
        selected = {self[name].name for name in names}
        return self._of(tuple(obstacle for obstacle in self._obstacles if obstacle.name in selected))

    def _of(self, obstacles: tuple[Obstacle, ...]) -> Self:
        result = object.__new__(type(self))
        result._obstacles = obstacles
        result._issues = ()
        return result

    # -- arrays

    @property
    def rows(self) -> Mapping[SolidKind, np.ndarray]:
        """Obstacles as arrays for kernels: for each kind of obstacle an array (capacity, values of an obstacle).

        Each row of an array is one obstacle, in the order in which obstacles were added; rows beyond them are unused.
        Kinds are in the order of `geometry.solids.KINDS`.
        """
        return self._rows

    @cached_property
    def _rows(self) -> Mapping[SolidKind, np.ndarray]:
        result: dict[SolidKind, list[list[float]]] = {}
        for obstacle in self._obstacles:
            kind, row = obstacle_row(obstacle)
            result.setdefault(kind, []).append(row)
        return padded_rows(result)

    @property
    def rows_by_distance(self) -> Mapping[SolidKind, np.ndarray]:
        """Arrays as in `rows`, with the obstacles of a kind sorted by distance from the world's origin.

        The nearest is first.
        """
        return self._rows_by_distance

    @cached_property
    def _rows_by_distance(self) -> Mapping[SolidKind, np.ndarray]:
        result: dict[SolidKind, list[list[float]]] = {}
        for obstacle in sorted(self._obstacles, key=distance_from_origin):
            kind, row = obstacle_row(obstacle)
            result.setdefault(kind, []).append(row)
        return padded_rows(result)

    @property
    def capacities(self) -> tuple[tuple[SolidKind, int], ...]:
        """Kinds of obstacles in the scene, each with its capacity: the number of rows of its array in `rows`."""
        return tuple((kind, len(rows)) for kind, rows in self.rows.items())

    @property
    def row_indices(self) -> tuple[int, ...]:
        """Index of each obstacle's row in the arrays of `rows`, stacked one after the other.

        There is one index for each obstacle.
        """
        return self._row_indices

    @cached_property
    def _row_indices(self) -> tuple[int, ...]:
        return self._indices_in_order(range(len(self._obstacles)))

    @property
    def row_indices_by_distance(self) -> tuple[int, ...]:
        """Index of each obstacle's row in the arrays of `rows_by_distance`, stacked one after the other."""
        return self._row_indices_by_distance

    @cached_property
    def _row_indices_by_distance(self) -> tuple[int, ...]:
        return self._indices_in_order(
            sorted(range(len(self._obstacles)), key=lambda k: distance_from_origin(self._obstacles[k]))
        )

    def _indices_in_order(self, order: Iterable[int]) -> tuple[int, ...]:
        """Return, for each obstacle, its row in the stacked arrays if obstacles are entered in this ``order``.

        The arrays have the sizes in `capacities`.
        """
        starts: dict[SolidKind, int] = {}
        count = 0
        for kind, capacity in self.capacities:
            starts[kind] = count
            count += capacity
        result = [0] * len(self._obstacles)
        for k in order:
            kind, _ = obstacle_row(self._obstacles[k])
            result[k] = starts[kind]
            starts[kind] += 1
        return tuple(result)

    # -- pictures

    def show(self, *, meshes: Folders | None = None, title: str | None = None, **output: Any) -> Any:
        """Show the obstacles; return the `linkwork.viewer.View` of a live page, or the path of a file.

        ``meshes`` are folders of mesh files, and ``title`` is the page's title.  See `Robot.show` for the output and
        the errors; ``Robot.show(scene=...)`` shows a robot among the obstacles.
        """
        return show(self, output, meshes=meshes, title=title)

    # -- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scene to the file ``path``, which `linkwork.load_scene` reads as an equal scene.

        The name ends in ``.yaml``, ``.yml`` or ``.json``, or in ``.scene`` for MoveIt's text format.  Shapes that this
        format does not have raise ValueError with the name of the obstacle.
        """
        _save_scene(path, self)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Findings about the file that `linkwork.load_scene` read: repairs, and what was ignored; empty for others."""
        return self._issues

    def to_dict(self) -> dict[str, Any]:
        """Return the scene as a dict of JSON values; `from_dict` is the inverse."""
        return {"version": _VERSION, "obstacles": [obstacle_document(obstacle) for obstacle in self._obstacles]}

    def to_json(self) -> str:
        """Return the scene as a JSON document."""
        lines = ",\n    ".join(json.dumps(obstacle_document(obstacle), allow_nan=False) for obstacle in self._obstacles)
        body = f"[\n    {lines}\n  ]" if lines else "[]"
        return f'{{\n  "version": {_VERSION},\n  "obstacles": {body}\n}}\n'

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Create a scene from a dict as returned by `to_dict`.

        An example is ``{"version": 1, "obstacles": [{"name": "table", "shape": {"type": "box", "size": [1.2, 0.8,
        0.05]}, "pose": [0.5, 0, 0.4]}]}``.  The page docs/scene_files.md describes the document.

        Raises ModelError, a ValueError, for an invalid document, with the location of the error.
        """
        return cls(_scene_of_data(document)._obstacles)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Create a scene from the ``text`` of a JSON document, as `to_json` returns it.

        `linkwork.load_scene` reads files, also in YAML.  Raises ModelError, a ValueError, with the error's location.
        """
        if not isinstance(text, str):
            raise TypeError(f"Scene.from_json: text: expected a string, got {type(text).__name__}")
        if text.strip() and not {"{", "["} & {*text}:
            remedy = "linkwork.load_scene(path) reads a file"
            raise ValueError(f"Scene.from_json: text: expected a JSON document, got {quoted(text)}; {remedy}")
        return cls(_scene_of_text(text)._obstacles)

    # -- equality

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


add_foreign_names(Scene, "Scene")
