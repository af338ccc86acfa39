"""Output of trajectories: files, tables, plots and pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self, Unpack, cast

from numpy.typing import ArrayLike

from linkwork import geometry
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.pictures import Output, Shown, figure, show
from linkwork.kernels.robot_base import RobotBase
from linkwork.motion.trajectory.trajectory_files import load_trajectory, save_trajectory, trajectory_table

__all__ = ["TrajectoryOutput"]


@public
class TrajectoryOutput(Shown):
    """Methods of `Trajectory` for files, tables, plots and pages."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str], *, samples: int | None = None) -> None:
        """Write the trajectory to the file ``path``.

        ``.npz`` keeps it exactly; ``.csv`` has samples of q, v and a, with a header line and one line for each knot, or
        for each of ``samples`` times at equal steps.  Where q, v or a jumps it has two lines, before and after the
        jump.  Its first column is ``t``, or ``length`` if the trajectory is not timed.
        """
        save_trajectory(self, path, samples)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, robot: RobotBase | None = None, trusted: bool = True) -> Self:
        """Read the file ``path`` that `save` wrote; ``robot`` is required if the trajectory is of a robot.

        ``trusted`` makes no difference: the file is read without other libraries, with all checks.

        From a CSV file q, v and a are those of the samples, with quintics between.  Raises ValueError for another file,
        and if the robot has other joints.
        """
        return cast(Self, load_trajectory(cls, path, robot))

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
        these by joint, as in `limit_margins`. With several ``columns`` coordinates are distributed over them, and the
        axes are (4, columns).
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
        drawn, and the robot at ``shapes`` configurations.
        """
        trajectory: Any = self
        q = trajectory.sampled(num_samples=num_samples)[1].q
        return figure("robot_figures", "plot_paths", trajectory.robot, [q], frame, axes, scene=scene, shapes=shapes)

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
