"""Results of tracking Cartesian paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Unpack

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.pictures import Output, Shown, figure, ghost_count, show
from linkwork._util.plotting import VERMILION
from linkwork._util.result import Result
from linkwork.errors import Status
from linkwork.geometry.scene import Scene
from linkwork.motion.arguments import Limit
from linkwork.motion.cartesian.cartesian_path import CartesianPath
from linkwork.motion.cartesian.waypoint_refinement import Curve
from linkwork.motion.timing.time_optimal import TimedPath, time_optimal
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["Deviation", "TrackedPath"]


class Deviation(NamedTuple):
    """Largest deviation of a frame from its path: position [m] and orientation [rad], without free rotations."""

    position: float
    orientation: float


@public
@dataclass(frozen=True, eq=False, init=False, repr=False)
class TrackedPath(Shown, Result, metaclass=WithForeignNames):
    """Configurations along a Cartesian path.

    ``s`` (k,) are the positions of waypoints on the ``path`` and ``q`` (k, nq) their configurations; ``fraction`` is
    the fraction of the path that is followed.  ``status`` is "solved", or the reason for an earlier end: "at_limits",
    "singular", "colliding", "joint_jump" (the next configuration is too far away) or "deviation" (the frame leaves its
    tolerances). "undecided" means too close to a collision for a proof.  "out_of_reach" is proved: the frame has one
    of the next poses at no configuration.  "not_found" is no proof: no search found a configuration for the next pose.
    ``reconfigurations`` counts changes to another family of solutions, during which the frame does not move.
    ``deviation`` is measured between waypoints.
    """

    robot: Any
    path: CartesianPath
    frame: str
    relative_to: str
    status: Status
    _message: str
    fraction: float
    deviation: Deviation
    _curves: tuple[Curve, ...] = field(repr=False)
    _begins: tuple[int, ...] = field(repr=False)  # indices of curves before which the robot is reconfigured

    @property
    def success(self) -> bool:
        """True if the path is followed to its end."""
        return self.status is Status.SOLVED

    @property
    def iterations(self) -> int:
        """Number of waypoints for which inverse kinematics was solved."""
        return len(self.s)

    def _sentence(self, index: tuple[int, ...]) -> str:
        return self._message.replace("orientation_tolerance=np.inf", 'orientation="free"')  # the option of this path

    @property
    def s(self) -> np.ndarray:
        """Positions of the waypoints along the path [m], in order; a position of reconfiguration occurs twice."""
        return np.concatenate([curve.s[first:] for curve, first in self._without_repeats()] or [np.empty(0)])

    @property
    def q(self) -> np.ndarray:
        """Configurations of the waypoints (k, nq)."""
        return np.concatenate(
            [curve.q[first:] for curve, first in self._without_repeats()] or [np.empty((0, self.robot.nq))]
        )

    @property
    def reconfigurations(self) -> int:
        """Number of changes to another family of solutions."""
        return len(self._begins)

    @property
    def largest_step(self) -> float:
        """Largest joint motion between consecutive waypoints without a reconfiguration between them [rad, m]."""
        steps = [np.abs(self.robot.difference(c.q[:-1], c.q[1:])).max(initial=0.0) for c in self._curves]
        return float(max(steps, default=0.0))

    def parts(self) -> tuple[Trajectory, ...]:
        """Return a trajectory without time, as a function of s [m], for each part between reconfigurations.

        v and a are continuous except at the path's corners.
        """
        if not self._curves:
            raise ValueError(f"TrackedPath: no part of the path is followed: {self._message}")
        result: list[Trajectory] = []
        for k, curve in enumerate(self._curves):
            trajectory = curve.trajectory(self.robot)
            if k and k not in self._begins:
                result[-1] = result[-1].concatenate(trajectory, allow_jump=True)
            else:
                result.append(trajectory)
        return tuple(Trajectory(part.sections, self.robot, is_timed=False) for part in result)

    def trajectory(self, speed: float | None = None) -> Trajectory:
        """Return the joint trajectory of the followed part, with ``speed`` [m/s] along the path.

        Without a speed the trajectory is not timed: it is a function of s [m], from 0. Raises ValueError if the robot
        is reconfigured, because a motion between the parts leaves the path; then use `parts`.
        """
        if speed is not None and not (np.isfinite(speed) and speed > 0.0):
            raise ValueError(f"trajectory: speed: expected a positive speed [m/s], got {speed!r}")
        if self._begins:
            at = ", ".join(f"{100.0 * self._curves[k].s[0] / self.path.length:.4g} %" for k in self._begins)
            raise ValueError(
                f"TrackedPath: the robot is reconfigured at {at} of the path; use parts() for "
                f"the parts between, and plan() to connect them"
            )
        (result,) = self.parts()
        return result.shifted(0.0) if speed is None else result.shifted(0.0).retimed(1.0 / speed)

    def timed(
        self,
        *,
        speed: float | None = None,
        velocity: Limit | None = None,
        acceleration: Limit | None = None,
        **limits: Any,
    ) -> TimedPath:
        """Return the same motion in minimum time, with limits as in `linkwork.motion.time_optimal`.

        ``velocity`` (nv,), ``acceleration`` (nv,) and other limits default to those of the robot.  ``speed`` [m/s]
        limits the speed of the frame's origin in the world.
        """
        all_limits = dict(limits)
        if speed is not None:
            all_limits["speed"] = {**(all_limits.get("speed") or {}), self.frame: speed}
        result: TimedPath = time_optimal(self.trajectory(), velocity=velocity, acceleration=acceleration, **all_limits)
        return result

    def plot(
        self, frame: str | Sequence[str] | None = None, axes: Any = None, *, scene: Scene | None = None, shapes: int = 4
    ) -> Any:
        """Plot the path of the frame's origin, and the part that is not followed, with matplotlib; return the axes.

        With a ``scene`` its obstacles are drawn, and the robot at ``shapes`` configurations.
        """
        frame = self.frame if frame is None else frame
        paths = [part.sampled(num_samples=200)[1].q for part in self.parts()] if self._curves else []
        axes = figure("robot_figures", "plot_paths", self.robot, paths, frame, axes, scene=scene, shapes=shapes)
        if not self.success and self.relative_to == "world":
            missed = self.path(np.linspace(self.fraction * self.path.length, self.path.length, 100))[:, :3, 3]
            axes.plot(*missed.T, color=VERMILION, linestyle=":", label="not followed")
        return axes

    def show(
        self,
        *,
        scene: Scene | None = None,
        ghosts: int | None = None,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the robot moving along the path at 1 m/s, with the path and the track of the frame.

        The obstacles of ``scene`` are shown.  ``ghosts`` is the number of transparent copies along the motion, as in
        `linkwork.motion.Trajectory.show`.
        ``meshes`` are folders of mesh files, and ``title`` is that of the page.  Returns the `linkwork.viewer.View` of
        a live page, or the path of a file; see `Robot.show` for the output and the errors.

        Raises ValueError if no part of the path is followed.
        """
        return show(self, output, scene=scene, ghosts=ghost_count(ghosts, output), meshes=meshes, title=title)

    def _without_repeats(self) -> list[tuple[Curve, int]]:
        """Return pairs (curve, first): the index of its first waypoint that does not repeat the previous curve's end.

        A curve begins at the end of the previous curve, so ``first`` is 1, unless the robot was reconfigured between.
        """
        return [(curve, int(k > 0 and k not in self._begins)) for k, curve in enumerate(self._curves)]

    def __repr__(self) -> str:
        changed = self.reconfigurations
        suffix = f"; {changed} reconfiguration{'' if changed == 1 else 's'}" if changed else ""
        return f"<TrackedPath of {self.frame!r}: {self.status}, {100.0 * self.fraction:.4g} %{suffix}>"

    def __str__(self) -> str:
        """Return the result in a line, and for a path that is not followed to its end the reason with advice."""
        return repr(self) if self.success else f"{self!r}\n{self.explain()}"


add_foreign_names(TrackedPath, "motion.TrackedPath")
