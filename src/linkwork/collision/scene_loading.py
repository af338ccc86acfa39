"""Scenes of files, and their objects on frames of a robot: `linkwork.load_scene`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, overload

from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.lazy_imports import published_in
from linkwork._util.messages import nearest, quoted
from linkwork._util.validation import boolean
from linkwork.errors import Issue, Location, ModelError
from linkwork.formats.file_reading import warn_of_repairs
from linkwork.formats.scene_file import SceneContent, SceneEntry, read_scene
from linkwork.formats.scene_writing import save_scene
from linkwork.geometry.scene import Scene
from linkwork.kernels.robot_base import RobotBase
from linkwork.shapes import Shape
from linkwork.spatial import Pose

__all__ = ["AttachedObject", "SceneSetup", "load_scene"]


@published_in("linkwork.collision")
@dataclass(frozen=True, slots=True)
class AttachedObject:
    """Object of a scene file on a frame of a robot, as `Robot.with_attached` takes it.

    ``name`` is unique.  ``pose`` is that of the ``shape`` in the ``frame``, ``touching`` are links that the object may
    touch, and ``color`` is its red, green, blue and alpha, or None.
    """

    name: str
    frame: str
    shape: Shape
    pose: Pose
    touching: tuple[str, ...] = ()
    color: tuple[float, float, float, float] | None = None


@published_in("linkwork.collision")
@dataclass(frozen=True, slots=True)
class SceneSetup:
    """Robot and the contents of a scene file: ``robot.plan(q0, q1, scene, touching=touching, margin=margin)``.

    ``robot`` has the file's ``attached`` objects on its frames, and ``scene`` has the obstacles in the world.
    ``touching`` are pairs of names that may touch, and ``margin`` [m] is a number or a mapping, both as `Robot.plan`
    takes them.
    """

    robot: Any
    scene: Scene
    touching: tuple[tuple[str, str], ...] = ()
    margin: float | Mapping[Any, float] = 0.0
    attached: tuple[AttachedObject, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scene, the attached objects, pairs and margins to the file ``path`` in YAML or JSON.

        Raises ValueError for a ``.scene`` file, which has obstacles only.
        """
        save_scene(path, self.scene, self.attached, self.touching, self.margin)


@overload
def load_scene(
    path: str | os.PathLike[str],
    robot: None = None,
    *,
    package_dirs: Folders | None = None,
    strict: bool = False,
    trusted: bool = True,
) -> Scene: ...


@overload
def load_scene(
    path: str | os.PathLike[str],
    robot: RobotBase,
    *,
    package_dirs: Folders | None = None,
    strict: bool = False,
    trusted: bool = True,
) -> SceneSetup: ...


@public
def load_scene(
    path: str | os.PathLike[str],
    robot: RobotBase | None = None,
    *,
    package_dirs: Folders | None = None,
    strict: bool = False,
    trusted: bool = True,
) -> Scene | SceneSetup:
    """Load a scene file: YAML, JSON, or MoveIt's text format (``.scene``).

    The page docs/scene_files.md describes the files.  Without a ``robot`` the result is the `Scene` of the obstacles.
    With a robot it is a `collision.SceneSetup`: also the robot with the file's objects on its frames, the pairs that
    may touch, and the margins; their names are checked.  `Scene.issues` lists what was repaired or ignored, and a
    `ModelWarning` reports repairs.

    Args:
        path: a file named .yaml, .yml, .json or .scene.
        robot: the robot of the file's frames and pairs.
        package_dirs: folders with the packages of mesh files, as in `linkwork.load`.
        strict: raise an error for everything that would be repaired.
        trusted: False for a file from a stranger, whose YAML and meshes are read in another process.

    Raises ModelError with all errors of the file and their lines, also for objects on frames, pairs and margins without
    a robot; ImportError for YAML without PyYAML.

    >>> import linkwork as lw
    >>> from pathlib import Path
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.yaml"
    >>> lw.Scene().with_box("table", (1, 1, 0.1)).save(path)
    >>> lw.load_scene(path)
    <Scene of 1: 'table'>
    """
    caller = "load_scene"
    for name, value in (("strict", strict), ("trusted", trusted)):
        boolean(caller, name, value)
    if robot is not None and not isinstance(robot, RobotBase):
        raise TypeError(f"{caller}: robot: expected a robot, got {type(robot).__name__}")
    content = read_scene(path, package_dirs=package_dirs, trusted=trusted, strict=strict)
    scene = content.scene()
    scene._issues = content.issues
    warn_of_repairs(caller, [issue for issue in content.issues if not issue.is_note], "Scene.issues")
    if robot is not None:
        return _setup(content, scene, robot)
    if content.attached or content.touching or content.margin:
        content_kind = (
            "objects on frames" if content.attached else "pairs that may touch" if content.touching else "margins"
        )
        where = next(iter([entry.where for entry in content.attached] or content.locations.values()), Location())
        hint = "load_scene(path, robot) returns them with the scene"
        raise ModelError(Issue("ROBOT_NEEDED", f"the file has {content_kind}, which need a robot", where, hint))
    return scene


def _setup(content: SceneContent, scene: Scene, robot: Any) -> SceneSetup:
    """Return the robot with the attached objects, and pairs and margins with known names.  Raises ModelError."""
    issues = [*_attached_issues(content.attached, robot)]
    if issues:
        raise ModelError(issues)
    for entry in content.attached:
        try:
            robot = robot.with_attached(
                entry.name,
                entry.frame,
                entry.shape,
                [*_rows(entry.pose)],
                touching=entry.touching,
                color=entry.color,
            )
        except (KeyError, TypeError, ValueError) as error:
            issues.append(Issue("ATTACHED", str(error), entry.where))
    known = [*scene.names, *robot.collision_shapes, *dict.fromkeys(x.split("/")[0] for x in robot.collision_shapes)]
    margins = content.margin if isinstance(content.margin, Mapping) else {}
    for pair in (*content.touching, *(key for key in margins if not isinstance(key, str))):
        for name in pair:
            if name not in known:
                message, hint = f"no link or obstacle named {quoted(name)}", nearest(name, known)
                issues.append(Issue("UNKNOWN_NAME", message, content.locations[pair], hint))
    if issues:
        raise ModelError(issues)
    attached = tuple(
        AttachedObject(x.name, str(x.frame), x.shape, x.pose, x.touching, x.color) for x in content.attached
    )
    return SceneSetup(robot, scene, content.touching, content.margin, attached)


def _attached_issues(entries: Iterable[SceneEntry], robot: Any) -> Iterator[Issue]:
    names = [entry.name for entry in entries]
    for entry in entries:
        frame = str(entry.frame)
        if frame not in robot.frames and frame not in names:
            message = f"the robot {robot.name!r} has no frame named {quoted(frame)}"
            yield Issue("UNKNOWN_FRAME", message, entry.where, nearest(frame, robot.frames))


def _rows(pose: Pose) -> Iterator[list[float]]:
    elements = [float(x) for x in pose.elements()]
    for k in range(4):
        yield elements[4 * k : 4 * k + 4]
