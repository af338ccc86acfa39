"""Results of planners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Unpack

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.messages import number, short_repr
from linkwork._util.pictures import Output, Shown, figure, show
from linkwork._util.result import Result
from linkwork.errors import Status
from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.splines.spline import spline_of
from linkwork.motion.timing.time_optimal import TimedPath, time_optimal
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_segment import Section
from linkwork.planning.search.path_smoothing import blend_corners

__all__ = ["CostSoFar", "PlanResult", "PlanTree"]


class CostSoFar(NamedTuple):
    """Length ``cost`` of the best path after ``seconds`` of search and ``iterations`` batches of samples."""

    seconds: float
    iterations: int
    cost: float


class PlanTree(NamedTuple):
    """Search tree: configurations (n, nq) and the indices of their parents (n,), −1 for roots."""

    q: np.ndarray
    parent: np.ndarray

    def __repr__(self) -> str:
        return short_repr(self)


@public
@dataclass(frozen=True, eq=False, init=False, repr=False)
class PlanResult(Shown, Result, metaclass=WithForeignNames):
    """Result of a planner: a path from the start to a goal, or the reason for failure.

    ``path`` (k, nq) are waypoints joined by straight motions; (0, nq) without success.  Angles without limits are
    continuous along the path.  ``cost`` is the path's length in the planner's ``weights``, infinite without success,
    and ``goal`` the index of the goal that the path reaches. ``history`` has the cost as a function of time for the
    method "optimal".  ``status`` is one of "solved", "start_outside_limits", "start_in_collision",
    "start_violates_constraints", "goal_outside_limits", "goal_in_collision", "goal_violates_constraints",
    "goal_unreachable" (it is proved that no configuration has the pose), "goal_not_found", "disconnected" (of a
    roadmap), "time_limit" and "max_nodes".
    """

    status: Status
    _message: str
    path: np.ndarray
    cost: float
    goal: int | None
    seconds: float
    nodes: int  # of both trees
    iterations: int
    motions_checked: int
    robot: Any = field(repr=False)
    scene: Any = field(repr=False)
    _space: Any = field(repr=False)
    _trees: tuple[Any, ...] = field(repr=False, default=())
    _ends: tuple[Any, ...] = field(repr=False, default=())  # starts, goals and goal poses without a search
    history: tuple[CostSoFar, ...] = field(repr=False, default=())
    _compiled: bool = field(repr=False, default=False)  # in ``seconds``

    def __repr__(self) -> str:
        if not self.success:
            return f"<PlanResult: {self.status}: {self.message}>"
        return f"<PlanResult: solved: {len(self.path)} waypoints, {number(self.cost)} long [rad, m]>"

    @property
    def success(self) -> bool:
        """True if there is a path."""
        return self.status is Status.SOLVED

    def _sentence(self, index: tuple[int, ...]) -> str:
        return self._message

    @cached_property
    def trees(self) -> tuple[PlanTree, ...]:
        """Search trees from the starts and from the goals."""
        return tuple([PlanTree(tree.q, tree.parent) for tree in self._trees])

    @property
    def tree(self) -> PlanTree:
        """Both search trees as one: all nodes, with the parents of the second tree renumbered."""
        if not self.trees:
            return PlanTree(np.empty((0, self.robot.nq)), np.empty(0, dtype=int))
        first = [0, *np.cumsum([len(tree.q) for tree in self.trees])[:-1].tolist()]
        parent = [np.where(t.parent < 0, -1, t.parent + k) for t, k in zip(self.trees, first, strict=True)]
        return PlanTree(np.concatenate([tree.q for tree in self.trees]), np.concatenate(parent))

    def trajectory(self, *, smooth: bool = False) -> Trajectory:
        """Return the path as a trajectory of straight segments, as a function of path length [rad, m], not of time.

        The path length has the planner's ``weights``, as in ``cost``.  `timed` returns the fastest motion along the
        path, and `Trajectory.retimed` a motion with times that you choose. ``smooth`` blends corners, so that neither
        v nor a jumps.  Each blend is proved to be collision-free like the path, satisfies path constraints like edges,
        and is as large as possible up to the middle of an edge.  Corners without a valid blend stay, as do all corners
        of robots with spherical or floating joints, whose configurations are not Euclidean.

        A path of zero length gives a trajectory that begins and ends at 0.

        Raises ValueError if there is no path.
        """
        self._require("trajectory")
        times = self._space.path_parameters(self.path)
        keep = np.concatenate([[True], np.diff(times) > 0.0])
        if keep.sum() < 2:
            return self._zero_duration()
        times, path = times[keep], self.path[keep]
        if smooth and len(path) > 2:
            segments = blend_corners(self._space, path, np.diff(times))
            if segments is not None:
                smoothed = _polynomial_trajectory(self.robot, *segments)
                return Trajectory(smoothed.sections, self.robot, is_timed=False)
        return self._straight(times, path)

    def timed(self, *, smooth: bool = False, **limits: Any) -> TimedPath:
        """Return the path as a trajectory of least duration within limits.

        The limits are options of `linkwork.motion.time_optimal`.  The motion stops at corners, most of which
        ``smooth`` removes.  Raises ValueError if there is no path.
        """
        self._require("timed")
        result: TimedPath = time_optimal(self.trajectory(smooth=smooth), **limits)
        return result

    def plot(self, frame: str | None = None, axes: Any = None, *, shapes: int = 2) -> Any:
        """Draw a frame's path among the obstacles, and the search trees, with matplotlib; return the axes.

        The default ``frame`` is the robot's last frame that moves.  The robot is drawn ``shapes`` times: at the end,
        and in paler colours at earlier points and the start.  Without a path it is drawn at the start and at a goal.
        """
        return figure("motion_figures", "plot_plan", self, frame, axes, shapes)

    def show(
        self,
        *,
        frames: str | Sequence[str] | None = None,
        ghosts: int = 6,
        tree: bool = False,
        smooth: bool = False,
        rate: float = 50.0,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the robot along the path among the obstacles, with ghosts along the way and the paths of frames.

        Args:
            frames: names of frames to show as axes, with their paths; by default the robot's last one that moves.
            ghosts: number of transparent copies along the path.
            tree: show the search trees, by the positions of the first frame.
            smooth: blend corners, as `trajectory` does.
            rate: frames a second, at most 5000 in all; the motion is that of `trajectory`, over the path length.
            meshes, title, and the output ``html``, ``glb``, ``png``, ``mp4``, ``open_browser``, ``port``: see
                `Robot.show`.

        Without a path, the start, transparent goals, the search trees, and the colliding pairs of the start and the
        goals in red with their names are shown.  Returns the `linkwork.viewer.View` of a live page, or the path of a
        file.

        Raises the errors of `Robot.show`.
        """
        return show(
            self, output, frames=frames, ghosts=ghosts, tree=tree, smooth=smooth, rate=rate, meshes=meshes, title=title
        )

    def _collisions(self, q: np.ndarray) -> list[tuple[tuple[str, str], str, np.ndarray]]:
        """Return the names, a sentence and the middle (3,) [m] of the deepest colliding pairs at q."""
        from linkwork.planning.rejected_configurations import named_collisions

        return named_collisions(self._space, q)

    def _straight(self, times: np.ndarray, path: np.ndarray) -> Trajectory:
        options = {"boundary": None, "velocity": None, "acceleration": None, "degree": None}
        result = spline_of(self.robot, times, path, "linear", "decoupled", options, False)
        return Trajectory(result.sections, self.robot, is_timed=False)

    def _zero_duration(self) -> Trajectory:
        """Return the trajectory of zero duration at the path's only configuration."""
        unit_time = self._straight(np.array([0.0, 1.0]), np.repeat(self.path[:1], 2, axis=0))
        return Trajectory([unit_time.sections[0].part(0.0, 0.0)], self.robot, is_timed=False)

    def _require(self, method: str) -> None:
        if not self.success:
            raise ValueError(f"{method}: expected a plan with a path, got none: {self.message}")

    def __str__(self) -> str:
        if self.success:
            spent = f"{1e3 * self.seconds:.3g} ms" if self.seconds < 1.0 else f"{self.seconds:.3g} s"
            compiled = ", with compilation" if self._compiled else ""
            return f"solved: {len(self.path)} configurations, {self.cost:.4g} long, in {spent}{compiled}"
        return self.explain()


add_foreign_names(PlanResult, "planning.PlanResult")


def _polynomial_trajectory(robot: Any, times: np.ndarray, coefficients: np.ndarray) -> Trajectory:
    """Return a trajectory whose coordinates q are polynomials in each of n segments, (n, nq, terms).

    Planar and floating joints move straight along it.
    """
    space = CurveSpace.of(robot.tree, apart=True)
    if space.is_plain:
        return Trajectory.polynomial(times, coefficients, robot=robot)
    base, rates = coefficients[..., 0], np.zeros_like(coefficients)
    for k in range(1, coefficients.shape[-1]):  # as velocities at the base configuration
        rates[..., k] = robot.configuration_derivative_to_velocity(base, coefficients[..., k])
    arrays = {"starts": times[:-1], "base": base, "coefficients": rates}
    return Trajectory([Section(space, KINDS["retracted"], arrays, times[0], times[-1])], robot)
