"""Scene document of a robot: in one configuration, in several, or in motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork import Scene
from linkwork._util.file_search import Folders
from linkwork._util.validation import finite_array, integer, name, positive
from linkwork.errors import UnknownNameError
from linkwork.kernels import RobotBase, read_configuration, refuse_symbols
from linkwork.viewer.curves import configuration_plots
from linkwork.viewer.document import Lines, Plot, SceneDocument, Text
from linkwork.viewer.scene_builder import SceneBuilder
from linkwork.viewer.scenes.document_of import document_of
from linkwork.viewer.start_configuration import start_configuration

__all__ = ["grid_offsets", "read_frames", "read_times", "robot_document"]

_MAX_INSTANCES = 10_000
_NEAREST_COLOR = (0.84, 0.20, 0.35, 1.0)


@document_of.register(RobotBase)
def robot_document(
    robot: Any,
    q: Any = None,
    *,
    times: Any = None,
    scene: Scene | None = None,
    frames: str | Sequence[str] | None = None,
    ghosts: Any = None,
    nearest: int = 0,
    spacing: float | None = None,
    meshes: Folders | None = None,
    title: str | None = None,
    caller: str = "show",
) -> SceneDocument:
    """Return the scene document of a robot; see `Robot.show` for the arguments."""
    refuse_symbols(caller, robot)
    names = read_frames(robot, caller, frames)
    count = integer(caller, "nearest", nearest, least=0)
    configurations = _read_configurations(robot, caller, q, times)
    clock = read_times(caller, times, configurations)
    heading = robot.name if title is None else name(caller, "title", title)
    builder = SceneBuilder(heading, clock, meshes)
    offsets = None if spacing is None else grid_offsets(configurations.shape[1], positive(caller, "spacing", spacing))
    copies = None if ghosts is None else read_configuration(robot, caller, "ghosts", ghosts)
    if scene is not None:
        builder.add_scene(scene)
    builder.add_robot(robot, configurations, offsets=offsets, frames=names)
    if names:
        builder.show_layer("frames")
    if copies is not None:
        builder.add_ghosts(robot, copies)
    if count:
        _add_nearest(builder, robot, configurations[:, 0], scene, count)
    if len(clock) > 1:
        builder.plots += configuration_plots(robot, configurations[:, 0])
        for frame in names:
            builder.add_frame_path(robot, configurations[:, 0], frame)
    return builder.document()


def read_frames(robot: Any, caller: str, frames: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return names of frames from one name, several or None.  Raises UnknownNameError, TypeError."""
    if frames is None:
        return ()
    try:
        names = (frames,) if isinstance(frames, str) else tuple(frames)
    except TypeError:
        raise TypeError(f"{caller}: frames: expected a frame's name or a list of them, got {frames!r}") from None
    for frame in names:
        if frame not in robot.frames:
            raise UnknownNameError("frame", frame, [*robot.frames], where=f"{caller}: frames")
    return names


def read_times(caller: str, times: Any, configurations: np.ndarray) -> np.ndarray:
    """Return increasing times (T,) [s], one for each frame of the configurations (T, n, nq)."""
    if times is None:
        return np.zeros(1)
    result = finite_array(caller, "times", times, unit="s")
    if result.shape != (len(configurations),):
        expected = f"{len(configurations)} times, one for each row of q"
        raise ValueError(f"{caller}: times: expected {expected} [s], got an array of shape {result.shape}")
    if (np.diff(result) <= 0.0).any():
        raise ValueError(f"{caller}: times: expected increasing times [s]")
    return np.array(result)


def _read_configurations(robot: Any, caller: str, q: Any, times: Any) -> np.ndarray:
    """Return configurations (T, n, nq): of one frame for all instances, or of one robot for all times."""
    if q is None:
        if times is not None:
            raise ValueError(f"{caller}: times: expected q of shape (T, nq) with them, got no q")
        return start_configuration(robot)[None, None]
    array = read_configuration(robot, caller, "q", q)
    if array.ndim > (2 if times is None else 3) or (times is not None and array.ndim < 2):
        shapes = "(nq,) or (n, nq)" if times is None else "(T, nq) or (T, n, nq)"
        raise ValueError(f"{caller}: q: expected an array of shape {shapes}, got shape {array.shape}")
    if times is None:
        array = array.reshape(1, -1, robot.nq) if array.ndim == 2 else array[None, None]
    elif array.ndim == 2:
        array = array[:, None]
    if 0 in array.shape[:2]:
        raise ValueError(f"{caller}: q: expected at least one configuration, got an array of shape {array.shape}")
    if array.shape[1] > _MAX_INSTANCES:
        raise ValueError(f"{caller}: q: expected at most {_MAX_INSTANCES} robots, got {array.shape[1]}")
    return array


def grid_offsets(count: int, spacing: float) -> np.ndarray:
    """Return poses (count, 4, 4) of a square grid with ``spacing`` [m] in the plane z = 0, centred at the origin."""
    columns = max(int(np.ceil(np.sqrt(count))), 1)
    rows = -(-count // columns)
    index = np.arange(count)
    offsets = np.tile(np.eye(4), (count, 1, 1))
    offsets[:, 0, 3] = spacing * (index // columns - 0.5 * (rows - 1))
    offsets[:, 1, 3] = spacing * (index % columns - 0.5 * (columns - 1))
    return offsets


def _add_nearest(builder: SceneBuilder, robot: Any, q: np.ndarray, scene: Scene | None, count: int) -> None:
    """Add lines between the witness points of the nearest pairs of shapes, with distances, for q (T, nq)."""
    result = robot.distances(q, scene)
    distance = np.asarray(result.distance)
    order = np.argsort(distance, axis=-1, kind="stable")[:, :count]
    ends = [np.take_along_axis(np.asarray(x), order[..., None], axis=1) for x in (result.point_a, result.point_b)]
    points = np.stack(ends, axis=2).reshape(len(q), -1, 3)
    is_immobile = len(q) == 1
    segments = points[0] if is_immobile else points
    builder.lines.append(Lines("nearest pairs", segments, _NEAREST_COLOR, segments=True, layer="nearest pairs"))
    least = np.take_along_axis(distance, order, axis=1)
    if is_immobile:
        for k, pair in enumerate(order[0]):
            a, b = result.pairs[pair]
            middle = 0.5 * (ends[0][0, k] + ends[1][0, k])
            builder.texts.append(Text(f"{a} – {b}: {least[0, k]:.4f} m", middle, "nearest pairs"))
    else:
        names = tuple(f"{k + 1}. nearest pair" if k else "nearest pair" for k in range(least.shape[1]))
        builder.plots.append(Plot("distance", "m", names, least))
