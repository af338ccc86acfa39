"""Output of trajectories: files, tables, plots and pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, Self, Unpack, cast

from numpy.typing import ArrayLike

from linkwork import geometry
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.pictures import Output, Shown, figure, show
from linkwork.kernels.robot_base import RobotBase
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

        ``.npz`` keeps it exactly; ``.csv`` has samples of q, v and a, with a header line and one line for each knot, or
        for each of ``samples`` times at equal steps, or for steps of exactly 1/``rate`` [s], the last one shorter.
        Where q, v or a jumps it has two lines, before and after the jump.  Its first column is ``t``, or ``length`` if
        the trajectory is not timed.  ``.yaml``, ``.yml`` and ``.json`` have a ``message`` of ROS, of the
        ``ros_version`` 1 or 2, at the same times: see `to_ros`.
        """
        save_trajectory(self, path, samples, rate, message, ros_version)

    def to_ros(
        self,
        times: ArrayLike | None = None,
        *,
        rate: float | None = None,
        message: Literal["JointTrajectory", "RobotTrajectory"] | None = None,
        ros_version: Literal[1, 2] = 2,
    ) -> dict[str, Any]:
        """Return a message of ROS as a dict: a JointTrajectory, or MoveIt's RobotTrajectory.

        Way points are at ``times`` (n,) [s], by default the `knots`, or at steps of exactly 1/``rate`` [s], the last
        one shorter.  Their times are relative to the start.  ``message`` is the type: by default a JointTrajectory, and
        a RobotTrajectory for a robot with floating or planar joints.  Durations have the keys of ``ros_version``.
        Velocities are left out if q or v jumps at a way point, accelerations also if a jumps: a controller then
        interpolates by straight lines or cubics, as between these points.

        Raises TypeError for joints that the message does not have, by name, and for a trajectory without a robot;
        ValueError for one that is not timed.
        """
        if times is not None and rate is not None:
            raise ValueError("to_ros: expected either times or rate, got both")
        return ros_message("to_ros", self, times, rate, message, ros_version)

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

        The file is one that `save` wrote, a message of ROS (``.yaml``, ``.json``), or a recorded log (``.csv``): a
        column for each coordinate of q, by its name, in any order, and optionally for those of v and a.  A log has a
        column of time, or samples at a ``rate`` [1/s].  ``degrees`` is for angles of a log whose columns state no unit.
        A `ModelWarning` names the columns that are not read.

        From samples of q, v and a the trajectory has quintics, from q and v cubics.  From q alone it is the cubic
        spline of a log, and straight from point to point for a message of ROS.  ``trusted`` False reads YAML in another
        process.  Raises ValueError for another file, and if the robot has other joints.
        """
        return cast(Self, load_trajectory(cls, path, robot, rate, degrees, trusted))

    def to_xarray(self, times: ArrayLike | None = None) -> Any:
        """Return q, v and a at times (n,) [s] as an `xarray.Dataset` with names of joints and units.

        The default times are the `knots`, twice where q, v or a jumps.  It needs ``pip install "linkwork[xarray]"``.
        """
        return trajectory_table("to_xarray", self, times).to_xarray()

    def to_pandas(self, times: ArrayLike | None = None) -> Any:
        """Return q, v and a at times (n,) [s], the `knots` by default, as a `pandas.DataFrame` with the index ``t``.

        Knots where q, v or a jumps have two rows.  The index is ``length`` if the trajectory is not timed.
        A column is named by quantity and element, such as ``q:elbow``; ``attrs["units"]`` has the units by column.  It
        needs ``pip install "linkwork[xarray]"``.
        """
        return trajectory_table("to_pandas", self, times).to_pandas()

    def to_csv(self, path: str | os.PathLike[str], times: ArrayLike | None = None) -> None:
        """Write q, v and a at times (n,) [s], the `knots` by default, to the text file ``path`` with all digits.

        Knots where q, v or a jumps have two lines.
        `load` reads it if its name ends with ``.csv``.
        """
        trajectory_table("to_csv", self, times).to_csv(path)

    def plot(self, axes: Any = None, *, num_samples: int = 500, limits: Any = True, columns: int = 1) -> Any:
        """Plot q, v, a and the jerk over time with matplotlib, and return the axes.

        It needs ``pip install "linkwork[figures]"``.  Curves have ``num_samples`` points.  ``limits`` near the curves
        are shaded: True for the robot's limits of position and velocity, False for none, or a dict of "position",
        "velocity", "acceleration" and "jerk" in addition, each a number, an array, a pair (lower, upper) or a dict of
        these by joint, as in `limit_margins`. With several ``columns`` coordinates are distributed over them.  New
        axes are (rows, columns): a row for each quantity and unit, so four for revolute joints.
        """
        from linkwork.motion.plots import plot_trajectory

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

        The default frame is the robot's last.  Paths have ``num_samples`` points.  With a ``scene`` its obstacles are
        drawn.  The robot is drawn ``shapes`` times: at the end, where a dot marks the frame, and paler before.
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

        Its ``save("motion.gif")`` writes it, ``to_jshtml()`` shows it in a notebook.  The paths of the origins of
        ``frames`` are drawn; the ``axes`` are new ones by default.  A frame takes about 0.2 s of processor time;
        `show` writes pages and films faster.

        Raises ValueError for a trajectory without a robot, and for speeds and rates that are not positive.
        """
        return figure("simulation_figures", "trajectory_animation", self, speed, rate, frames, axes)

    def show(
        self,
        *,
        frames: str | Sequence[str] | None = None,
        scene: geometry.Scene | None = None,
        ghosts: int = 0,
        rate: float = 50.0,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the robot along the trajectory, with a time bar and plots of q and v.

        ``frames`` are shown as axes, with their paths, and ``scene`` by its obstacles.  ``ghosts`` is the number of
        transparent copies along the motion, and ``rate`` that of frames a second, at most 5000 in all.  ``meshes`` are
        folders of mesh files, and ``title`` is that of the page.  Returns the `linkwork.viewer.View` of a live page, or
        the path of a file; see `Robot.show` for the output and the errors.

        Raises ValueError for a trajectory of plain coordinates, which has no robot.
        """
        return show(self, output, frames=frames, scene=scene, ghosts=ghosts, rate=rate, meshes=meshes, title=title)
