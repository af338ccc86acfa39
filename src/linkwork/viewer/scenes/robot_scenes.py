"""Scene documents of robots: one configuration, several, or a motion with paths, ghosts and plots; obstacles alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork import Scene
from linkwork._util.file_search import Folders
from linkwork._util.user_frames import levels_up
from linkwork._util.validation import finite_array, finite_number, integer, positive
from linkwork._util.validation import name as checked_name
from linkwork.errors import PictureWarning
from linkwork.kernels import RobotBase, read_configuration, refuse_symbols
from linkwork.viewer.document import Color, Lines, Plot, SceneDocument, Text
from linkwork.viewer.scene_builder import PATH_COLORS, SceneBuilder
from linkwork.viewer.scenes.document_of import document_of
from linkwork.viewer.start_configuration import start_configuration

__all__ = ["FRAME_RATE", "frame_times", "moving_scene", "path_times", "robot_document", "segments_between"]

_MAX_INSTANCES = 10_000
_OPEN_LOOP = 1e-3  # error of a constraint [rad, sizes of the robot] that a picture shows
_NEAREST_COLOR = (0.84, 0.20, 0.35, 1.0)


def configuration_plots(robot: Any, q: np.ndarray) -> list[Plot]:
    """Return plots of the configurations q (T, nq) with their limits; quaternions are left out."""
    units = [unit for _, body in robot.tree.stacked() for unit in body.joint.q_units]
    return coordinate_plots("position", robot.q_names, units, q, robot.lower, robot.upper)


def velocity_plots(robot: Any, v: np.ndarray) -> list[Plot]:
    """Return plots of the velocities v (T, nv) with their limits."""
    units = [unit for _, body in robot.tree.stacked() for unit in body.joint.v_units]
    limits = robot.velocity_limits
    return coordinate_plots("velocity", robot.v_names, units, v, -limits, limits)


def coordinate_plots(
    title: str,
    names: Sequence[str],
    units: Sequence[str],
    values: np.ndarray,
    lower: np.ndarray | None = None,
    upper: np.ndarray | None = None,
) -> list[Plot]:
    """Plot values (T, n) over time: one plot for each unit except "1". A limit that is not finite is left out."""
    plots = []
    for unit in dict.fromkeys(units):
        columns = [k for k, unit_of_column in enumerate(units) if unit_of_column == unit]
        if unit == "1" or not columns:
            continue
        low, high = (None if x is None or not np.isfinite(x[columns]).any() else x[columns] for x in (lower, upper))
        plots.append(Plot(title, unit, tuple(names[k] for k in columns), values[:, columns], low, high))
    return plots


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
    heading = robot.name if title is None else checked_name(caller, "title", title)
    builder = SceneBuilder(heading, clock, meshes)
    offsets = None if spacing is None else grid_offsets(configurations.shape[1], positive(caller, "spacing", spacing))
    copies = None if ghosts is None else read_configuration(robot, caller, "ghosts", ghosts)
    if scene is not None:
        builder.add_scene(scene)
    builder.add_robot(robot, configurations, offsets=offsets, frames=names)
    if q is not None:
        _note_open_loops(builder, robot, configurations, is_timed=times is not None)
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


def _note_open_loops(builder: SceneBuilder, robot: Any, q: np.ndarray, *, is_timed: bool) -> None:
    """Add a note, and warn, if configurations q (T, n, nq) leave constraints visibly open.

    Constraints that depend on time count only if the user stated the times of the configurations.
    """
    rows = [
        (name, unit, is_timed or not constraint.time_dependent)
        for constraint in robot.tree.constraints
        if constraint.holonomic
        for name, unit in zip(constraint.component_names, constraint.row_units, strict=True)
    ]
    if not any(counts for *_, counts in rows):
        return
    moving = any(constraint.time_dependent for constraint in robot.tree.constraints)
    error = np.abs(robot.constraint_error(q, **({"time": builder.times[:, None]} if moving else {})))
    share = error / [_OPEN_LOOP * (builder.size if unit == "m" else 1.0) for _, unit, _ in rows]
    share = np.where([counts for *_, counts in rows], share, 0.0)
    if (share <= 1.0).all():
        return
    at = np.unravel_index(int(np.argmax(share)), share.shape)
    name, unit, _ = rows[int(at[-1])]
    which = f" at {builder.times[at[0]]:.4g} s" if len(q) > 1 else ""
    which += f" of robot {int(at[1])}" if q.shape[1] > 1 else ""
    note = (
        f"the configuration{which} does not close the loops: error {error[at]:.3g} {unit} of {name!r}; "
        "robot.project(q) and robot.assemble(hold=...) return closed ones"
    )
    builder.surfaces.notes.append(note)
    warnings.warn(f"show: {note}", PictureWarning, stacklevel=levels_up())


def read_frames(robot: Any, caller: str, frames: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names in ``frames``, a name, several or None. Raises UnknownNameError, TypeError."""
    if frames is None:
        return ()
    try:
        names = (frames,) if isinstance(frames, str) else tuple(frames)
    except TypeError:
        raise TypeError(f"{caller}: frames: expected a frame's name or a list of them, got {frames!r}") from None
    for frame in names:
        if frame not in robot.frames:
            raise robot.tree.unknown_frame(frame).at(f"{caller}: frames")
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
    """Return configurations as an array (T, n, nq), for one time with n instances or for one robot over time."""
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
    """Return poses (count, 4, 4) on a square grid with ``spacing`` [m] in the plane z = 0, centred at the origin."""
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


FRAME_RATE = 50.0  # frames a second, by default
_MAX_FRAMES = 5000
_MAX_GHOSTS = 200
_PATH_POINTS = 1000


def frame_times(start: float, end: float, rate: Any) -> np.ndarray:
    """Return 2 to 5000 increasing times from start to end [s], ``rate`` a second; one if start equals end."""
    rate = positive("show", "rate", rate, unit="1/s")
    if not end > start:
        return np.array([start])
    count = int(min(np.ceil((end - start) * rate), _MAX_FRAMES - 1))
    return np.linspace(start, end, max(count, 1) + 1)


def moving_scene(
    robot: Any,
    times: np.ndarray,
    q: np.ndarray,
    *,
    title: str | None,
    v: np.ndarray | None = None,
    frames: str | Sequence[str] | None = None,
    scene: Scene | None = None,
    ghosts: Any = 0,
    meshes: Folders | None = None,
    spacing: float | None = None,
    opacity: float = 1.0,
    path: np.ndarray | None = None,
    caller: str = "show",
) -> SceneBuilder:
    """Return a builder with the motion q (T, nq) of a robot, or (T, n, nq) of n instances, at times (T,) [s].

    ``frames`` are shown as axes, with their paths; ``ghosts`` is the number of transparent copies along the motion,
    the last one at its end. Plots of q, and of ``v`` if it is passed, show the first robot. The paths are through its
    configurations ``path`` (k, nq), by default q.
    """
    names = read_frames(robot, caller, frames)
    count = integer(caller, "ghosts", ghosts, least=0, most=_MAX_GHOSTS)
    heading = robot.name if title is None else checked_name(caller, "title", title)
    q = q[:, None] if q.ndim == 2 else q
    builder = SceneBuilder(heading, times, meshes)
    offsets = None if spacing is None else grid_offsets(q.shape[1], positive(caller, "spacing", spacing, unit="m"))
    if scene is not None:
        builder.add_scene(scene)
    builder.add_robot(robot, q, offsets=offsets, frames=names, opacity=finite_number(caller, "opacity", opacity))
    if names:
        builder.show_layer("frames")
    if count and offsets is None:
        chosen = np.unique(np.round(np.linspace(0, len(q) - 1, count + 1)[1:]).astype(int))  # the robot is at the start
        builder.add_ghosts(robot, q[chosen, 0])
    for k, frame in enumerate(names):
        builder.add_frame_path(robot, q[:, 0] if path is None else path, frame, color=paths_color(k))
    if len(times) > 1:
        builder.plots += configuration_plots(robot, q[:, 0])
        if v is not None:
            builder.plots += velocity_plots(robot, v)
    return builder


def path_times(times: np.ndarray) -> np.ndarray:
    """Return the times (T,) of frames with additional times between, so that drawn paths look smooth."""
    return np.union1d(times, np.linspace(times[0], times[-1], _PATH_POINTS)) if len(times) > 1 else times


def paths_color(k: int) -> Color:
    """Return the colour of the k-th path."""
    return PATH_COLORS[k % len(PATH_COLORS)]


def segments_between(name: str, starts: np.ndarray, ends: np.ndarray, color: Color, layer: str) -> Lines:
    """Return segments from starts (k, 3) to ends (k, 3) [m]."""
    points = np.stack([starts, ends], axis=1).reshape(-1, 3)
    return Lines(name, points, color, segments=True, width=1.0, layer=layer)


@document_of.register(Scene)
def obstacles_document(scene: Scene, *, meshes: Folders | None = None, title: str | None = None) -> SceneDocument:
    """Return the scene document of the obstacles of a scene."""
    count = f"{len(scene)} obstacle{'' if len(scene) == 1 else 's'}"
    builder = SceneBuilder(count if title is None else checked_name("show", "title", title), None, meshes)
    builder.add_scene(scene)
    return builder.document()
