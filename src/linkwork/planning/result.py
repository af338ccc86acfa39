"""Results of planners, and their drawings in the workspace with matplotlib."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.messages import number, short_repr
from linkwork._util.plotting import space_axes
from linkwork._util.result import Result
from linkwork.errors import Status
from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.splines.spline import spline_of
from linkwork.motion.timing.time_optimal import TimedPath, time_optimal
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_segment import Section
from linkwork.parts.plots import draw_robot, draw_scene, frames_to_draw
from linkwork.planning.planning_space import PlanningSpace
from linkwork.planning.search.path_smoothing import blended

__all__ = ["CostSoFar", "PlanResult", "PlanTree"]


class CostSoFar(NamedTuple):
    """How long the best path was after so many seconds, and so many batches of samples."""

    seconds: float
    iterations: int
    cost: float


class PlanTree(NamedTuple):
    """What a search has explored from one side: configurations (n, nq), and the places of their parents (n,), −1 of
    where it began.
    """

    q: np.ndarray
    parent: np.ndarray

    def __repr__(self) -> str:
        return short_repr(self)


@public
@dataclass(frozen=True, eq=False, init=False, repr=False)
class PlanResult(Result):
    """The result of a planner: a path from the start to a goal, or the reason why there is none.

    ``path`` (k, nq) are the way points, which straight motions join; (0, nq) without success.  Angles without limits
    are counted along it.  ``cost`` is its length, infinite without success, and ``goal`` the index of the goal that it
    leads to.  ``history`` is the cost by time of the method "optimal".  ``status`` is one of "solved",
    "start_outside_limits", "start_in_collision", "start_violates_constraints", "goal_outside_limits",
    "goal_in_collision", "goal_violates_constraints", "goal_unreachable", "disconnected" (of a roadmap), "time_limit"
    and "max_nodes".
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
    _grown: tuple[Any, ...] = field(repr=False, default=())
    history: tuple[CostSoFar, ...] = field(repr=False, default=())

    def __repr__(self) -> str:
        if not self.success:
            return f"<PlanResult: {self.status}: {self.message}>"
        return f"<PlanResult: solved: {len(self.path)} way points, {number(self.cost)} long [rad, m]>"

    @property
    def success(self) -> bool:
        """True if there is a path."""
        return self.status is Status.SOLVED

    def _sentence(self, place: tuple[int, ...]) -> str:
        return self._message

    @cached_property
    def trees(self) -> tuple[PlanTree, ...]:
        """What was explored from the starts, and from the goals."""
        return tuple([PlanTree(tree.q, tree.parent) for tree in self._grown])

    @property
    def tree(self) -> PlanTree:
        """All that was explored, from both sides."""
        if not self.trees:
            return PlanTree(np.empty((0, self.robot.nq)), np.empty(0, dtype=int))
        first = [0, *np.cumsum([len(tree.q) for tree in self.trees])[:-1].tolist()]
        parent = [np.where(t.parent < 0, -1, t.parent + k) for t, k in zip(self.trees, first, strict=True)]
        return PlanTree(np.concatenate([tree.q for tree in self.trees]), np.concatenate(parent))

    def trajectory(self, *, smooth: bool = False) -> Trajectory:
        """The path as a trajectory of straight pieces, of which each takes as many seconds as it is long [rad, m].

        ``smooth`` blends its corners, so that neither v nor a jumps: each blend is proved to be free as the path is,
        keeps along the way what edges keep, and is as large as that lets it be, up to the middle of an edge; corners
        where there is none stay.  So do all where the robot has balls or floating joints, whose configurations are
        no plain numbers.

        A path of no length takes no time: its trajectory begins and ends at 0 s.

        Raises ValueError where there is no path.
        """
        self._require("trajectory")
        phi = self._space.difference(self.path[:-1], self.path[1:])
        lengths = np.linalg.norm(phi, axis=-1)
        kept = np.concatenate([[True], lengths > 0.0])
        if kept.sum() < 2:
            return self._standing()
        times, path = np.concatenate([[0.0], np.cumsum(lengths[lengths > 0.0])]), self.path[kept]
        if smooth and len(path) > 2:
            pieces = blended(self._space, path, np.diff(times))
            if pieces is not None:
                return _through_pieces(self.robot, *pieces)
        return self._straight(times, path)

    def timed(self, *, smooth: bool = False, **limits: Any) -> TimedPath:
        """The path in the least time within limits, those of `linkwork.motion.time_optimal`: it stops at corners, of
        which ``smooth`` leaves few.

        Raises ValueError where there is no path.
        """
        self._require("timed")
        result: TimedPath = time_optimal(self.trajectory(smooth=smooth), **limits)
        return result

    def plot(self, frame: str | None = None, axes: Any = None, *, shapes: int = 0) -> Any:
        """The path of a frame's origin among the obstacles, and what was explored, drawn with matplotlib; its axes.

        The frame is the last one of the robot if none is named; ``shapes`` says how often the robot is drawn.
        """
        return plot_plan(self, frame, axes, shapes)

    def _straight(self, times: np.ndarray, path: np.ndarray) -> Trajectory:
        given = {"boundary": None, "velocity": None, "acceleration": None, "degree": None}
        return spline_of(self.robot, times, path, "linear", "decoupled", given, False)

    def _standing(self) -> Trajectory:
        """Return the trajectory of no duration at the path's one configuration."""
        whole = self._straight(np.array([0.0, 1.0]), np.repeat(self.path[:1], 2, axis=0))
        return Trajectory([whole.sections[0].part(0.0, 0.0)], self.robot)

    def _require(self, what: str) -> None:
        if not self.success:
            raise ValueError(f"{what}: there is no path: {self.message}")

    def __str__(self) -> str:
        if self.success:
            return f"solved: {len(self.path)} configurations, {self.cost:.4g} long, in {1e3 * self.seconds:.3g} ms"
        return self.explain()


def _through_pieces(robot: Any, times: np.ndarray, coefficients: np.ndarray) -> Trajectory:
    """Return the trajectory of polynomial pieces (n, nq, terms) of q, whose numbers add up where joints go straight."""
    space = CurveSpace.of(robot.tree, apart=True)
    if space.is_plain:
        return Trajectory.polynomial(times, coefficients, robot=robot)
    base, own = coefficients[..., 0], np.zeros_like(coefficients)
    for k in range(1, coefficients.shape[-1]):  # as velocities at the base, which the origin's way keeps the axes of
        own[..., k] = robot.configuration_derivative_to_velocity(base, coefficients[..., k])
    arrays = {"starts": times[:-1], "base": base, "coefficients": own}
    return Trajectory([Section(space, KINDS["retracted"], arrays, times[0], times[-1])], robot)


_SAMPLES = 8  # on an edge
_MOST = 2000  # edges of a tree that are drawn


def plot_plan(result: Any, frame: str | None, axes: Any, shapes: int) -> Any:
    """Trees thin, the path thick, obstacles, and so many times the robot."""
    robot = result.robot
    (frame,) = frames_to_draw(robot, frame)
    axes = space_axes() if axes is None else axes
    for tree, color in zip(result.trees, ("tab:blue", "tab:orange"), strict=False):
        child = np.flatnonzero(tree.parent >= 0)[:_MOST]
        for way in _places(result, frame, tree.q[tree.parent[child]], tree.q[child]) if len(child) else ():
            axes.plot(*way.T, color=color, linewidth=0.4, alpha=0.6)
        roots = robot.pose(tree.q[tree.parent < 0], frame)[..., :3, 3]
        axes.scatter(*roots.T, color=color, s=12)
    if result.success and len(result.path) > 1:
        for way in _places(result, frame, result.path[:-1], result.path[1:]):
            axes.plot(*way.T, color="black", linewidth=2.0)
    if result.scene is not None:
        draw_scene(axes, result.scene)
    if result.success:
        for q in result.path[np.round(np.linspace(0, len(result.path) - 1, shapes)).astype(int)]:
            draw_robot(axes, robot, q)
    axes.set_aspect("equal")
    axes.set_title(result.status)
    return axes


def _places(plan: Any, frame: str, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """(edges, samples, 3) of the frame's origin."""
    t = np.linspace(0.0, 1.0, _SAMPLES)[:, None]
    phi = plan._space.difference(q0, q1)
    q = PlanningSpace.integrate(plan._space, q0[:, None], t * phi[:, None])  # straight, whatever is to be kept besides
    result: np.ndarray = plan.robot.pose(q, frame)[..., :3, 3]
    return result
