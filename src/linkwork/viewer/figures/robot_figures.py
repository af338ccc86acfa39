"""3D plots of robots, frames, paths of frames and scenes; `Robot.plot`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork import Scene
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.lazy_imports import LazyModule
from linkwork._util.messages import first_of, quoted
from linkwork._util.plotting import BLUE, COLORS, FRAME_COLORS, add_notes, equal_scales, plot_text, space_axes
from linkwork._util.validation import finite_array, integer, positive
from linkwork._util.validation import name as checked_name
from linkwork.kernels import Array, RobotBase, read_configuration
from linkwork.model import WORLD
from linkwork.shapes import HalfSpace
from linkwork.viewer.figures.tree_figure import plot_tree
from linkwork.viewer.start_configuration import start_configuration
from linkwork.viewer.view_direction import clear_view, plane_normal, view_along

if TYPE_CHECKING:
    from linkwork.viewer.figures import shaded_surfaces
else:
    shaded_surfaces = LazyModule("linkwork.viewer.figures.shaded_surfaces")

__all__ = [
    "PlottingMethods",
    "draw_paths",
    "draw_poses",
    "draw_robot",
    "draw_robots_along",
    "draw_surroundings",
    "frames_to_draw",
    "new_picture",
    "plot_paths",
    "plot_poses",
    "view_in_plane",
]


_GHOSTS = (0.08, 0.3)  # alpha of robots along a path, from the first to the last but one
_OBSTACLE, _PLANE, _PALE = "0.6", "0.8", 0.5  # colours of obstacles and of half-spaces without one, and alpha
_AXIS = 0.1  # [m] largest length of a frame's axes
_SHARE = 0.15  # the same relative to the picture
_PATHS = (COLORS[-1], *COLORS[1:-1], COLORS[0])  # colours of paths: black first, that of robots last
_RIGID = 1e-6  # largest error of a rotation
_SAME = 1e-6  # [m] distance of origins of frames with a common label
_MOST_NAMES = 5  # mesh files in a note


def frames_to_draw(robot: Any, frame: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the frames to draw: those in ``frame``, by default the last moving link of the robot.

    Raises UnknownNameError.
    """
    moving = (link.name for link in reversed(robot.tree.frames) if link.body != WORLD)
    names = (next(moving, robot.frames[-1]),) if frame is None else (frame,) if isinstance(frame, str) else tuple(frame)
    for name in names:
        if name not in robot.frames:
            raise robot.tree.unknown_frame(name)
    return names


def plot_paths(
    robot: Any,
    paths: Sequence[np.ndarray],
    frame: str | Sequence[str] | None = None,
    axes: Any = None,
    *,
    scene: Scene | None = None,
    shapes: int = 0,
) -> Any:
    """Plot the paths of frames' origins, obstacles, and the robot along the paths; return the axes.

    ``paths`` are arrays (n, nq) of configurations. The robot is drawn in ``shapes`` configurations along each path, in
    paler colours before the end. A dot marks the origins at the end.
    """
    if robot is None:
        raise ValueError("plot_path: expected a trajectory of a robot; plain coordinates have no frames")
    shapes = integer("plot_path", "shapes", shapes, least=0)
    names = frames_to_draw(robot, frame)
    is_new = axes is None
    axes = new_picture(robot, scene) if is_new else axes
    every = np.concatenate([np.empty((0, robot.nq)), *paths])
    if len(every):
        draw_robots_along(axes, robot, _spread(robot, every, shapes))
    draw_surroundings(axes, scene, is_new=is_new)
    for k, name in enumerate(names):
        lines = draw_paths(axes, robot, paths, name, color=_PATHS[k % len(_PATHS)])
        for line in lines[-1:]:
            line.set(marker="o", markevery=[-1])
    equal_scales(axes)
    return axes


def draw_robots_along(axes: Any, robot: Any, q: np.ndarray) -> None:
    """Draw a robot in the configurations q (n, nq) of a path: in the last one, and paler in those before."""
    drawn: set[bytes] = set()
    alphas = [*np.linspace(*_GHOSTS, max(len(q) - 1, 0)), 1.0]
    for q_of_robot, alpha in [*zip(q, alphas[-len(q) :], strict=False)][::-1]:
        draw_robot(axes, robot, q_of_robot, alpha=float(alpha), drawn=drawn)


def _spread(robot: Any, q: np.ndarray, count: int) -> np.ndarray:
    """Return ``count`` of the configurations q (n, nq), evenly spread, with the last.

    The first is q[0], unless the robot is at the same place at the start and at the end.
    """
    if not count:
        return q[:0]
    ends = np.asarray(robot.forward_kinematics(q[[0, -1]]))
    is_closed = count > 1 and bool(np.abs(ends[1] - ends[0]).max(initial=0.0) < _RIGID)
    steps = np.linspace(0, len(q) - 1, count + is_closed)[is_closed:] if count > 1 else np.array([len(q) - 1])
    result: np.ndarray = q[np.round(steps).astype(int)]
    return result


def new_picture(robot: Any, scene: Scene | None = None) -> Any:
    """Return new 3D axes for a robot.

    If it moves in a plane, they are seen along the plane's normal.
    """
    axes = space_axes()
    if scene is None:
        view_in_plane(axes, robot)
    return axes


def view_in_plane(axes: Any, robot: Any) -> None:
    """Turn 3D axes so that a robot that moves in a plane is seen along the plane's normal."""
    q = start_configuration(robot)
    normal = plane_normal(robot, np.asarray(robot.forward_kinematics(q)))
    angles = None if normal is None else view_along(normal)
    if normal is not None and angles is not None:
        axes.view_init(azim=math.degrees(angles[0]), elev=math.degrees(angles[1]))
        axes.set_proj_type("ortho")
        across = "xyz"[int(np.abs(normal).argmax())]
        axes.set(**{f"{across}ticks": [], f"{across}label": ""})


def draw_paths(axes: Any, robot: Any, paths: Sequence[np.ndarray], frame: str, **style: Any) -> list[Any]:
    """Draw the paths of a frame's origin in front of all surfaces, and return the lines."""
    lines = []
    for path in paths:
        if len(path):
            points = np.asarray(robot.pose(path, frame))[:, :3, 3].T
            lines += axes.plot(*points, **({"linewidth": 2.0, "label": plot_text(frame), "zorder": 3.0} | style))
    return lines


def draw_surroundings(axes: Any, scene: Scene | None, *, is_new: bool) -> None:
    """Draw all obstacles of a scene in axes that already show the robots.

    If the axes are new, they are seen from a side where obstacles do not hide the robots. Obstacles that hide them
    from all sides are transparent.
    """
    if scene is None:
        return
    obstacles = scene.obstacles
    triangles = [shaded_surfaces.shape_triangles(x.shape, x.pose.matrix()) for x in obstacles]
    hiding: list[int] = []
    if is_new:
        before = math.radians(axes.azim), math.radians(axes.elev)
        angles, hiding = clear_view(shaded_surfaces.drawn_points(axes), triangles, before)
        if angles != before:
            axes.view_init(azim=math.degrees(angles[0]), elev=math.degrees(angles[1]))
    for k, (obstacle, corners) in enumerate(zip(obstacles, triangles, strict=True)):
        usual = _PLANE if isinstance(obstacle.shape, HalfSpace) else _OBSTACLE
        shade, alpha = (usual, _PALE) if obstacle.color is None else (obstacle.color[:3], obstacle.color[3])
        behind = shaded_surfaces.rests_below(corners)
        shaded_surfaces.draw_triangles(axes, corners, shade, alpha, behind=behind, is_veil=k in hiding)
        shaded_surfaces.draw_points(axes, obstacle.shape, obstacle.pose.matrix(), shade)


def plot_robot(
    robot: Any,
    q: Any,
    *,
    scene: Scene | None,
    frames: str | Sequence[str] | None,
    meshes: Folders | None,
    axes: Any,
    color: Any,
    alpha: float,
) -> Any:
    """Draw a robot: see `Robot.plot`."""
    configurations = start_configuration(robot) if q is None else read_configuration(robot, "plot", "q", q)
    names = () if frames is None else frames_to_draw(robot, frames)
    is_new = axes is None
    axes = new_picture(robot, scene) if is_new else axes
    flat = configurations.reshape(math.prod(configurations.shape[:-1]), robot.nq)
    for q_of_robot in flat:
        draw_robot(axes, robot, q_of_robot, color, alpha, meshes=meshes)
    draw_surroundings(axes, scene, is_new=is_new)
    for q_of_robot in flat:
        draw_poses(axes, {name: np.asarray(robot.pose(q_of_robot, name)) for name in names})
    _widen(axes)
    equal_scales(axes)
    return axes


def _widen(axes: Any) -> None:
    """Widen the axes along flat directions, so that labels fit."""
    limits = [np.array(getattr(axes, f"get_{x}lim")()) for x in "xyz"]
    minimum = 0.3 * max(high - low for low, high in limits)
    for x, (low, high) in zip("xyz", limits, strict=True):
        more = 0.5 * max(minimum - (high - low), 0.0)
        getattr(axes, f"set_{x}lim")(low - more, high + more)


def draw_robot(
    axes: Any,
    robot: Any,
    q: np.ndarray,
    color: Any = None,
    alpha: float = 0.25,
    *,
    meshes: Folders | None = None,
    drawn: set[bytes] | None = None,
    noted: list[str] | None = None,
) -> None:
    """Draw the shapes of a robot in configuration q; ``meshes`` are additional folders with mesh files.

    Triangles in the set ``drawn``, such as those of the base, are left out; newly drawn triangles are added to the
    set.

    If there are no shapes, or some cannot be drawn, the robot's skeleton is drawn in addition, and a note names what
    is not drawn; with a list ``noted``, notes are added to it instead.
    """
    X = np.asarray(robot.forward_kinematics(q))
    surfaces, missing, notes = shaded_surfaces.body_triangles(robot, X, meshes)
    placed, colors = [np.empty((0, 3, 3))], [np.empty((0, 3))]
    for i, corners, link_color in surfaces:
        placed.append(corners if i < 0 else corners @ X[i, :3, :3].T + X[i, :3, 3])
        chosen = next(x for x in (color, link_color, BLUE) if x is not None)
        colors.append(np.tile(shaded_surfaces.rgb(chosen), (len(corners), 1)))
    triangles, shades = np.concatenate(placed), np.concatenate(colors)
    if drawn is not None:
        keys = [key.tobytes() for key in np.round(triangles, 9) + 0.0]
        is_new = np.array([key not in drawn for key in keys], dtype=bool)
        triangles, shades = triangles[is_new], shades[is_new]
        drawn.update(keys)
    shaded_surfaces.draw_triangles(axes, triangles, shades, alpha, behind=1.0 - alpha)
    if missing:
        names, reason = first_of([*map(quoted, missing)], _MOST_NAMES), next(iter(missing.values()))
        notes.append(f"not drawn: {names}; {reason}; meshes=... names folders of mesh files")
    if noted is None:
        add_notes(axes, notes)
    else:
        noted += notes


def draw_poses(axes: Any, poses: Mapping[str, np.ndarray], length: float | None = None) -> None:
    """Draw the axes of frames at poses (4, 4) by name, x red, y green and z blue; a common origin has one label.

    ``length`` [m] is the length of the axes, by default a fraction of the picture's size.
    """
    if not poses:
        return
    extent = max(high - low for low, high in (getattr(axes, f"get_{x}lim")() for x in "xyz"))
    size = min(_AXIS, _SHARE * extent) if length is None else length
    labels: list[tuple[np.ndarray, list[str]]] = []
    for name, X in poses.items():
        origin = X[:3, 3]
        for k, color in enumerate(FRAME_COLORS):
            axes.plot(*np.stack([origin, origin + size * X[:3, k]], axis=1), color=color, linewidth=1.5)
        near = next((names for point, names in labels if np.linalg.norm(point - origin) < _SAME), None)
        if near is None:
            labels.append((origin, [name]))
        else:
            near.append(name)
    for origin, names in labels:
        axes.text(*origin, "\n".join(map(plot_text, names)), fontsize="small")


def _checked_pose(caller: str, argument: str, value: Any) -> np.ndarray:
    """Return a pose (4, 4).  Raises ValueError for another matrix."""
    X = finite_array(caller, argument, value, shape=(4, 4), unit="m")
    error = max(np.abs(X[:3, :3] @ X[:3, :3].T - np.eye(3)).max(), np.abs(X[3] - (0.0, 0.0, 0.0, 1.0)).max())
    if error > _RIGID or np.linalg.det(X[:3, :3]) < 0.0:
        raise ValueError(f"{caller}: {argument}: expected a pose: a rotation, a position and 0, 0, 0, 1; got {value!r}")
    return X


@public
def plot_poses(poses: Mapping[str, ArrayLike], *, length: float | None = None, axes: Any = None) -> Any:
    """Draw poses (4, 4) by name with matplotlib, as axes x red, y green and z blue, and return the 3D axes [m].

    ``length`` [m] is the length of each axis, by default a quarter of the distance between the farthest origins.

    >>> import linkwork as lw
    >>> A = lw.pose((0.1, 0, 0), rpy=(0, 0, 0.5))
    >>> picture = lw.viewer.plot_poses({"world": lw.pose(), "A": A, "B": A @ lw.pose(axis="x", angle=1.0)})

    Raises ValueError for an empty dict and for matrices that are not poses, and ImportError without matplotlib.
    """
    caller = "plot_poses"
    if not isinstance(poses, Mapping) or not poses:
        raise ValueError(f'{caller}: poses: expected a dict by name, such as {{"A": lw.pose()}}, got {poses!r}')
    names = [checked_name(caller, "poses", key) for key in poses]
    read = {key: _checked_pose(caller, f"poses[{key!r}]", poses[key]) for key in names}
    origins = np.stack([X[:3, 3] for X in read.values()])
    spread = float(np.ptp(origins, axis=0).max())
    size = positive(caller, "length", length, unit="m") if length is not None else 0.25 * spread or 1.0
    axes = space_axes() if axes is None else axes
    draw_poses(axes, read, size)
    _widen(axes)
    equal_scales(axes)
    return axes


class PlottingMethods(RobotBase):
    """Methods of `Robot` for plots with matplotlib (the `figures` extra)."""

    __slots__ = ()

    def plot(
        self,
        q: Array | None = None,
        *,
        scene: Scene | None = None,
        frames: str | Sequence[str] | None = None,
        meshes: Folders | None = None,
        axes: Any = None,
        color: Any = None,
        alpha: float = 1.0,
    ) -> Any:
        """Draw the robot in one or several configurations with matplotlib, and return the 3D axes [m].

        ``q`` (nq,), or (..., nq) for several configurations in one plot, is the neutral configuration by default. The
        default is within the limits if neutral is not. The shapes are drawn as by `Robot.show`, with fewer triangles,
        in one ``color``. By default it is blue, but links of skeletons and of robots that move in a plane have colours
        of their own. Mesh files (the `mesh` extra) are searched as `linkwork.load` does, and in the folders
        ``meshes``. If some are missing, or there are no shapes, the robot's skeleton is drawn, and a note names the
        files. ``frames`` are drawn as axes, x red, y green, z blue, with their names, and a ``scene`` as its
        obstacles. ``alpha`` below 1 makes the colours paler.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7")
        >>> axes = arm.plot({"elbow": -1.2}, frames="hand")         # doctest: +SKIP
        >>> axes.figure.savefig("arm7.png")                         # doctest: +SKIP

        Raises ValueError for an invalid configuration and a folder that does not exist, UnknownNameError for an
        unknown frame, and ImportError without matplotlib.
        """
        return plot_robot(self, q, scene=scene, frames=frames, meshes=meshes, axes=axes, color=color, alpha=alpha)

    def plot_tree(self, axes: Any = None) -> Any:
        """Draw the robot's tree as a graph with matplotlib, and return the axes.

        Boxes are links.  Lines are joints, with name, type and axis; dotted ones are fixed, and each type has a colour.
        Dashed arcs are constraints between two links.  ``print(robot)`` shows the same tree as text.

        >>> import linkwork as lw
        >>> axes = lw.load("quadruped").plot_tree()                 # doctest: +SKIP
        >>> axes.figure.savefig("tree.png")                         # doctest: +SKIP

        Raises ValueError for more than 500 links, and ImportError without matplotlib.
        """
        return plot_tree(self, axes)
