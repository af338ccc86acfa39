"""Results of tracking Cartesian paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.result import Result
from linkwork.errors import Status
from linkwork.geometry.scene import Scene
from linkwork.motion.cartesian.cartesian_path import CartesianPath
from linkwork.motion.cartesian.waypoint_refinement import Curve
from linkwork.motion.timing.time_optimal import TimedPath, time_optimal
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.parts.plots import plot_paths

__all__ = ["Deviation", "TrackedPath"]


class Deviation(NamedTuple):
    """How far a frame is from its path at most [m, rad], of what counts."""

    position: float
    orientation: float


@public
@dataclass(frozen=True, eq=False, init=False, repr=False)
class TrackedPath(Result):
    """Configurations along a Cartesian path.

    ``s`` (k,) are the positions of way points on the ``path`` and ``q`` (k, nq) their configurations; ``fraction`` is
    the part of the path that is followed.  ``status`` is "solved", or why it ends before: "at_limits", "singular",
    "colliding", "out_of_reach", "joint_jump" (no solution is near the one before) or "deviation" (the frame does not
    stay within tolerances).  ``reconfigurations`` counts where the robot changes to another family of solutions,
    standing still in space.  ``deviation`` is measured between way points.
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
    _begins: tuple[int, ...] = field(repr=False)  # curves before which the robot is reconfigured

    @property
    def success(self) -> bool:
        """True if the path is followed to its end."""
        return self.status is Status.SOLVED

    @property
    def iterations(self) -> int:
        """Number of way points."""
        return len(self.s)

    def _sentence(self, place: tuple[int, ...]) -> str:
        return self._message

    @property
    def s(self) -> np.ndarray:
        """Places of way points on the path, in order; one where it is reconfigured is there twice."""
        return np.concatenate([curve.s[first:] for curve, first in self._once()] or [np.empty(0)])

    @property
    def q(self) -> np.ndarray:
        """Configurations of way points (k, nq)."""
        return np.concatenate([curve.q[first:] for curve, first in self._once()] or [np.empty((0, self.robot.nq))])

    @property
    def reconfigurations(self) -> int:
        """How often the robot went over to another family of answers."""
        return len(self._begins)

    @property
    def largest_step(self) -> float:
        """The most that a joint moves from way point to way point of one curve [rad, m]."""
        steps = [np.abs(self.robot.difference(c.q[:-1], c.q[1:])).max(initial=0.0) for c in self._curves]
        return float(max(steps, default=0.0))

    def parts(self) -> tuple[Trajectory, ...]:
        """A trajectory for each stretch between reconfigurations, whose times are s: a unit of the path in a second.

        v and a have no jumps but at the path's corners.
        """
        if not self._curves:
            raise ValueError(f"TrackedPath: nothing of the path is followed: {self._message}")
        result: list[Trajectory] = []
        for k, curve in enumerate(self._curves):
            own = curve.trajectory(self.robot)
            if k and k not in self._begins:
                result[-1] = result[-1].concatenate(own, allow_jump=True)
            else:
                result.append(own)
        return tuple(result)

    def trajectory(self, speed: float = 1.0) -> Trajectory:
        """Joints by time, s growing by ``speed`` each second [m/s]; of what is followed, if it is not all.

        Raises ValueError where the robot is reconfigured on the way: then there are `parts`, and a motion between them
        leaves the path.
        """
        if not (np.isfinite(speed) and speed > 0.0):
            raise ValueError(f"trajectory: speed: expected metres a second above 0, got {speed!r}")
        if self._begins:
            at = ", ".join(f"{100.0 * self._curves[k].s[0] / self.path.length:.4g} %" for k in self._begins)
            raise ValueError(
                f"trajectory: the robot is reconfigured at {at} of the path: parts() are the ways between, and plan() "
                f"leads from one to the next"
            )
        (result,) = self.parts()
        return result.shifted(0.0) if speed == 1.0 else result.shifted(0.0).retimed(1.0 / speed)

    def timed(
        self,
        *,
        speed: float | None = None,
        velocity: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        acceleration: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        **limits: Any,
    ) -> TimedPath:
        """The same in the least time: limits are those of `linkwork.motion.time_optimal`.

        ``speed`` [m/s] bounds how fast the frame's origin moves in the world.
        """
        more = dict(limits)
        if speed is not None:
            more["speed"] = {**(more.get("speed") or {}), self.frame: speed}
        result: TimedPath = time_optimal(self.trajectory(), velocity=velocity, acceleration=acceleration, **more)
        return result

    def plot(
        self, frame: str | Sequence[str] | None = None, axes: Any = None, *, scene: Scene | None = None, shapes: int = 4
    ) -> Any:
        """The way of the frame's origin in space, and what is not followed of the path, with matplotlib; its axes.

        With a ``scene`` its obstacles are drawn, and so many times the robot's ``shapes``.
        """
        frame = self.frame if frame is None else frame
        ways = [part.sampled(num_samples=200)[1].q for part in self.parts()] if self._curves else []
        axes = plot_paths(self.robot, ways, frame, axes, scene=scene, shapes=shapes)
        if not self.success and self.relative_to == "world":
            rest = self.path(np.linspace(self.fraction * self.path.length, self.path.length, 100))[:, :3, 3]
            axes.plot(*rest.T, color="tab:red", linestyle=":", label="not followed")
        return axes

    def _once(self) -> list[tuple[Curve, int]]:
        """Curves, and where they begin: way points that two share count once."""
        return [(curve, int(k > 0 and k not in self._begins)) for k, curve in enumerate(self._curves)]

    def __repr__(self) -> str:
        changed = self.reconfigurations
        told = f"; {changed} reconfiguration{'' if changed == 1 else 's'}" if changed else ""
        return f"<TrackedPath of {self.frame!r}: {self.status}, {100.0 * self.fraction:.4g} %{told}>"
