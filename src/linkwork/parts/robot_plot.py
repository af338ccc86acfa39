"""A picture of a robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.geometry.scene import Scene
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.parts.scene_plots import Folders, plot_robot

__all__ = ["PlottingMethods"]


class PlottingMethods(RobotBase):
    """Pictures, by matplotlib (the `figures` extra)."""

    __slots__ = ()

    def plot(
        self,
        q: Array | None = None,
        *,
        scene: Scene | None = None,
        frames: str | Sequence[str] | None = None,
        meshes: Folders | None = None,
        axes: Any = None,
        color: Any = "tab:blue",
        alpha: float = 0.3,
    ) -> Any:
        """Draw the robot in a configuration with matplotlib, and return the axes in space [m].

        ``q`` (nq,), or (..., nq) for several configurations in one picture, is the neutral one if it is left out.
        Collision shapes are drawn; lines between the bodies' frames are drawn where there are none, or where some are
        mesh files.  Meshes are drawn if ``meshes`` names the folders in which they are (`linkwork.shapes.load_mesh`,
        the `mesh` extra).  ``frames`` are drawn by their axes, x red, y green, z blue, and their names, and ``scene``
        by its obstacles.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7")
        >>> axes = arm.plot({"elbow": -1.2}, frames="hand")         # doctest: +SKIP
        >>> axes.figure.savefig("arm7.png")                         # doctest: +SKIP

        Raises ValueError for what is no configuration, UnknownNameError for a frame that is not there, what `load_mesh`
        raises, and ImportError without matplotlib.
        """
        return plot_robot(self, q, scene=scene, frames=frames, meshes=meshes, axes=axes, color=color, alpha=alpha)
