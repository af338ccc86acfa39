"""Output of trajectories: files, tables, plots and pages."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork import geometry
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.pictures import Output, Shown, figure, ghost_count, show
from linkwork._util.plotting import label_time, lines_by_unit, mark_times, new_axes, plot_lines, quantity_label
from linkwork._util.validation import integer
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.coordinate_names import units_of
from linkwork.motion.arguments import own_limits, read_limit, read_positions
from linkwork.motion.trajectory.trajectory_files import load_trajectory, ros_message, save_trajectory, trajectory_table

__all__ = ["TrajectoryOutput"]


@public
class TrajectoryOutput(Shown):
    """Methods of `Trajectory` for files, tables, plots and pages."""

    __slots__ = ()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        samples: int | None = None,
        rate: float | None = None,
        message: Literal["JointTrajectory", "RobotTrajectory"] | None = None,
        ros_version: Literal[1, 2] = 2,
    ) -> None:
        """Write the trajectory to the file ``path``.

        ``.npz`` stores it exactly.  ``.csv`` has a header line and lines with q, v and a: one for each knot, or for
        each of ``samples`` equally spaced times.  With ``rate`` [1/s] the steps are exactly 1/``rate``, the last one
        shorter.  Where q, v or a jumps there are two lines, before and after the jump.  The first column is ``t``, or
        ``length`` if the trajectory is not timed.  ``.yaml``, ``.yml`` and ``.json`` files contain a ROS ``message``
        for ``ros_version`` 1 or 2, at the same times: see `to_ros`.
        """
        save_trajectory(self, path, samples, rate, message, ros_version)

    def to_ros(
        self,
        times: ArrayLike | None = None,
        *,
        rate: float | None = None,
        message: Literal["JointTrajectory", "RobotTrajectory"] | None = None,
        ros_version: Literal[1, 2] = 2,
        joints: str | Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Return a message of ROS as a dict: a JointTrajectory, or MoveIt's RobotTrajectory.

        Way points are at ``times`` (n,) [s], by default the `knots`, or in steps of exactly 1/``rate`` [s]; the last
        step may be shorter.  Their times are relative to the start.  ``message`` is the type: by default a
        JointTrajectory, and a RobotTrajectory for a robot with floating or planar joints.  Durations have the keys of
        ``ros_version``. Velocities are left out if q or v jumps at a way point, and accelerations also if a jumps.  A
        controller then interpolates by straight lines or by cubics.  ``joints`` are the names of the joints in the
        message, in this order, such as those of one controller; by default all joints of the robot.

        Raises TypeError for joints that the message does not have, by name, and for a trajectory without a robot;
        ValueError for one that is not timed; UnknownNameError for an unknown joint.
        """
        if times is not None and rate is not None:
            raise ValueError("to_ros: expected either times or rate, got both")
        return ros_message("to_ros", self, times, rate, message, ros_version, joints)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        robot: RobotBase | None = None,
        rate: float | None = None,
        degrees: bool = False,
        trusted: bool = True,
    ) -> Self:
        """Read a trajectory from the file ``path``; ``robot`` is required if the trajectory is of a robot.

        The file is one that `save` wrote, a ROS message (``.yaml``, ``.json``), or a recorded log (``.csv``).  A log
        has a named column for each coordinate of q, in any order, and optionally for each coordinate of v and a.  It
        has a column of time, or samples at a ``rate`` [1/s].  ``degrees`` applies to angles in columns without a unit.
        A `ModelWarning` names the columns that are not read.

        The trajectory has quintics through samples of q, v and a, and cubics through samples of q and v.  Samples of q
        alone give a cubic spline for a log, and straight segments for a message of ROS.  With ``trusted=False`` YAML
        is read in another process.  Raises ValueError for a file of another kind, and if the robot has other joints.
        """
        return cast(Self, load_trajectory(cls, path, robot, rate, degrees, trusted))

    def to_xarray(self, times: ArrayLike | None = None) -> Any:
        """Return q, v and a at times (n,) [s] as an `xarray.Dataset` with names of joints and units.

        The default times are the `knots`, twice where q, v or a jumps.  The method needs ``pip install
        "linkwork[xarray]"``.
        """
        return trajectory_table("to_xarray", self, times).to_xarray()

    def to_pandas(self, times: ArrayLike | None = None) -> Any:
        """Return q, v and a at times (n,) [s], the `knots` by default, as a `pandas.DataFrame` with the index ``t``.

        Knots where q, v or a jumps have two rows.  The index is ``length`` if the trajectory is not timed. A column is
        named by quantity and element, such as ``q:elbow``; ``attrs["units"]`` has the unit of each column.  The method
        needs ``pip install "linkwork[xarray]"``.
        """
        return trajectory_table("to_pandas", self, times).to_pandas()

    def to_csv(self, path: str | os.PathLike[str], times: ArrayLike | None = None) -> None:
        """Write q, v and a at times (n,) [s], the `knots` by default, to the text file ``path`` with all digits.

        Knots where q, v or a jumps have two lines.
        `load` reads the file if its name ends with ``.csv``.
        """
        trajectory_table("to_csv", self, times).to_csv(path)

    def plot(self, axes: Any = None, *, num_samples: int = 500, limits: Any = True, columns: int = 1) -> Any:
        """Plot q, v, a and the jerk against time with matplotlib, and return the axes.

        The method needs ``pip install "linkwork[figures]"``.  Curves have ``num_samples`` points.  Values beyond
        ``limits`` are shaded: True means the robot's limits of position and velocity, and False no limits.  A dict
        with keys "position", "velocity", "acceleration" and "jerk" adds further limits: each a number, an array, a
        pair (lower, upper) or a dict of these by joint, as in `limit_margins`. Coordinates are distributed over
        ``columns`` of axes.  New axes are an array (rows, columns) with a row for each quantity and unit: four rows
        for revolute joints.
        """
        return plot_trajectory(self, axes, num_samples, limits, columns)

    def plot_path(
        self,
        frame: str | Sequence[str] | None = None,
        axes: Any = None,
        *,
        scene: Any = None,
        shapes: int = 4,
        num_samples: int = 200,
    ) -> Any:
        """Plot the paths of frame origins in space with matplotlib, and return the axes.

        The default is the robot's last frame.  Paths have ``num_samples`` points.  With a ``scene`` its obstacles are
        drawn.  The robot is drawn ``shapes`` times: at the end, where a dot marks the frame, and in paler colours at
        earlier times.
        """
        trajectory: Any = self
        q = trajectory.sampled(num_samples=num_samples)[1].q
        return figure("robot_figures", "plot_paths", trajectory.robot, [q], frame, axes, scene=scene, shapes=shapes)

    def animation(
        self,
        *,
        frames: str | Sequence[str] | None = None,
        speed: float = 1.0,
        rate: float = 25.0,
        axes: Any = None,
    ) -> Any:
        """Return matplotlib's animation of the robot, at ``speed`` times real time, with ``rate`` frames a second.

        The animation's method ``save("motion.gif")`` writes a file, and ``to_jshtml()`` shows the animation in a
        notebook.  The paths of the origins of ``frames`` are drawn; by default new ``axes`` are created.  A picture
        needs about 0.2 s of processor time; `show` writes pages and films faster.

        Raises ValueError for a trajectory without a robot, and for speeds and rates that are not positive.
        """
        return figure("motion_figures", "trajectory_animation", self, speed, rate, frames, axes)

    def show(
        self,
        *,
        frames: str | Sequence[str] | None = None,
        scene: geometry.Scene | None = None,
        ghosts: int | None = None,
        rate: float = 50.0,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the robot along the trajectory, with a time bar and plots of q and v.

        ``frames`` are shown as axes, with their paths; the obstacles of ``scene`` are shown, too.  ``ghosts`` is the
        number of transparent copies along the motion, by default 6 in a picture without ``time``, else 0.  ``rate`` is
        the number of frames a second, with at most 5000 frames in total.  ``meshes`` are folders of mesh files, and
        ``title`` is the title of the page.  Returns the `linkwork.viewer.View` of a live page, or the path of a file;
        see `Robot.show` for the output and the errors.

        Raises ValueError for a trajectory of plain coordinates, which has no robot.
        """
        return show(
            self,
            output,
            frames=frames,
            scene=scene,
            ghosts=ghost_count(ghosts, output),
            rate=rate,
            meshes=meshes,
            title=title,
        )


_NAMES = {"position": 0, "velocity": 1, "acceleration": 2, "jerk": 3}
_MAX_KNOTS = 50  # vertical lines


def plot_trajectory(trajectory: Any, axes: Any, n: int, limits: Any, columns: int) -> Any:
    """Return axes with plots of q, v, a and the jerk, one below the other, with limits shaded.

    n is the number of times.  Each unit has separate axes.  The coordinates are distributed over ``columns`` of axes.
    """
    columns = integer("plot", "columns", columns, least=1)
    known = _limits(trajectory, limits)
    if not trajectory.is_timed:  # limits of derivatives by time have no effect
        known = {order: sides for order, sides in known.items() if order == 0}
    columns = min(columns, trajectory.nv)
    robot = trajectory.robot
    t, state = trajectory.sampled(num_samples=n)
    quantities: list[tuple[Any, np.ndarray]]
    quantities = [*zip(("q", "v", "a"), state, strict=True), ("jerk", trajectory.jerk(t))]
    rows = []
    for order, (quantity, x) in enumerate(quantities):
        names = (robot.q_names if order == 0 else robot.v_names) if robot is not None else map(str, range(x.shape[-1]))
        units = () if robot is None else units_of(robot.tree, quantity)
        label = quantity if trajectory.is_timed else "q" + order * "′"
        by_unit = lines_by_unit(label, [*names], units, x) if axes is None else _together(label, [*names], units, x)
        rows += [(order, *row) for row in by_unit]
    passed_axes = axes
    axes = new_axes(len(rows), (8.0 + 4.0 * (columns - 1), 2.0 * len(rows)), columns) if axes is None else axes
    for k, (order, label, lines, indices) in enumerate(rows):
        if order and not trajectory.is_timed:
            label = label.partition(" [")[0]
        for j, shown in enumerate(np.array_split(np.arange(len(indices)), columns)):
            axis = axes[k] if np.ndim(axes) == 1 else axes[k][j]
            at = [indices[m] for m in shown]
            lower, upper = (side[at] for side in known[order]) if order in known else (None, None)
            few, named = 4 if columns == 1 else 1, [*lines.items()]
            chosen = dict(named[m] for m in shown)
            plot_lines(axis, t, chosen, legend=order == 0, columns=few, lower=lower, upper=upper)
            mark_times(axis, trajectory.knots[:: max(len(trajectory.knots) // _MAX_KNOTS, 1)])
            axis.set_ylabel(label if j == 0 else "")
        if passed_axes is not None and k + 1 == len(np.atleast_1d(passed_axes)):
            break
    label_time(axes, "t [s]" if trajectory.is_timed else "path length [rad, m]")
    return axes


def _together(
    label: str, names: list[str], units: Sequence[str], x: np.ndarray
) -> list[tuple[str, dict[str, np.ndarray], list[int]]]:
    """Return a single group of curves for all units, to be drawn on the axes that the caller passed.

    The group is (axis label, curves by name, their coordinates).
    """
    return [(quantity_label(label, units), dict(zip(names, x.T, strict=True)), [*range(len(names))])]


def _limits(trajectory: Any, value: Any) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return a dict from order of the derivative (0 for q) to lower and upper limits.  Raises ValueError."""
    robot = trajectory.robot
    if value is None or value is False:
        return {}
    result: dict[str, Any] = {}
    if robot is not None:
        rates = {name: own_limits(robot, name) for name in ("velocity", "acceleration", "jerk")}
        result = {"position": (robot.lower, robot.upper)} | {k: x for k, x in rates.items() if x is not None}
    if isinstance(value, Mapping):
        for name in value:
            if name not in _NAMES:
                raise ValueError(f"plot: limits: expected keys among {', '.join(_NAMES)}, got {name!r}")
        result |= value
    elif value is not True:
        raise ValueError(f"plot: limits: expected True, or a dict of {', '.join(_NAMES)}, got {value!r}")
    return {_NAMES[name]: _sides(trajectory, name, x) for name, x in result.items()}


def _sides(trajectory: Any, name: str, value: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper limits (n,) of a quantity, from a pair or magnitudes.  Raises ValueError."""
    robot = trajectory.robot
    if name == "position":
        if isinstance(value, Mapping) and robot is not None:
            pairs = {joint: x if _is_pair(x) else (-np.asarray(x, dtype=float), x) for joint, x in value.items()}
            value = tuple({joint: x[k] for joint, x in pairs.items()} for k in range(2))
        pair = _is_pair(value)
        sides = value if pair else (value, value)
        limits = (None, None) if robot is None else (robot.lower, robot.upper)
        low, high = (
            read_positions("plot", name, side, trajectory.nq, robot, x) for side, x in zip(sides, limits, strict=True)
        )
        low = low if pair else -low
        if not (low <= high).all():
            raise ValueError(f"plot: {name}: expected lower limits below upper ones, got {value!r}")
        return low, high
    names = [str(k) for k in range(trajectory.nv)] if robot is None else list(robot.v_names)
    up, down = read_limit("plot", name, value, names, robot, own_limits(robot, name))
    return -down, up


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2
