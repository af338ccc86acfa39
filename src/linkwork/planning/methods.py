"""Methods of `Robot` for collision-free path planning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from numpy.typing import ArrayLike

from linkwork import geometry, planning
from linkwork._util.checked_arguments import public
from linkwork._util.progress import Progress
from linkwork._util.validation import positive
from linkwork.collision.methods import PairChoice, Pairs
from linkwork.kernels.robot_base import Array, RobotBase

__all__ = ["PlanningMethods"]


class PlanningMethods(RobotBase):
    """Methods of `Robot` that plan collision-free paths among obstacles (see the page on motion)."""

    __slots__ = ()

    @public(constraint_tolerance=positive)
    def plan(
        self,
        start: Array | str,
        goal: Any,
        scene: geometry.Scene | None = None,
        *,
        frame: str | None = None,
        method: Literal["connect", "optimal"] = "connect",
        collision_check: Literal["certified", "sampled"] = "certified",
        resolution: float = 0.05,
        margin: float | Mapping[Any, float] = 0.0,
        pairs: PairChoice | None = None,
        touching: Pairs = (),
        seed: int = 0,
        time_limit: float = 5.0,
        weights: ArrayLike | None = None,
        position_limits: Any = None,
        path_constraints: Any = (),
        constraint_tolerance: float = 1e-3,
        max_iterations: int | None = None,
        max_searches: int = 6,
        simplify: bool = True,
        max_goal_solutions: int = 8,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> planning.PlanResult:
        """Return a path from a start to a goal without collisions of the robot with obstacles or with itself.

        ``start`` is a configuration (nq,), or an array (n, nq) of alternative starts.  ``goal`` is

        - a configuration, or several (n, nq);
        - a pose (4, 4) of ``frame``, or several (n, 4, 4);
        - a position (x, y, z) of ``frame`` [m] with free orientation, or, unless nq = 3, several (n, 3);
        - a dict from frames to poses and positions, which must all be attained together;
        - a `linkwork.planning.PoseRegion`, from which poses are drawn;
        - a list of any of these.

        Inverse kinematics computes up to ``max_goal_solutions`` configurations for each pose and position; those
        without collisions are goals.

        ``collision_check``: ``"certified"``, a proof for the whole path, or ``"sampled"``, a check at configurations
        ``resolution`` [rad, m] apart, which does not exclude collisions between them.  Planar and floating joints move
        straight while they rotate, so positions stay within limits along the path.

        ``margin`` [m]: all distances along the path are larger than it.  It is a number, or a dict with the keys "self"
        (pairs of the robot's links), "scene" (links and obstacles) and single pairs, as in ``{"scene": 0.02, ("box",
        "table"): -0.001}``; missing entries are 0.  A pair with a negative margin may overlap by its absolute value.
        ``pairs``: pairs of names of links and obstacles that are checked; default: all of `collision_pairs` and of the
        scene.  Without a scene and without such pairs nothing can collide, and only limits and constraints hold.
        ``touching``: pairs of names that may touch, such as a held box and the table from which it is lifted.  They may
        be 0.1 mm deeper than at the start and at goal configurations, but no deeper.

        ``max_searches``: the path is the shortest of at most this number of searches.  Later searches look for shorter
        paths only, and each path is shortened.  ``simplify=False`` returns the first path as it is found.
        ``weights`` (nv,): weights of the differences of configurations whose norms sum to the path length.
        ``position_limits``: (lower, upper) or a dict of pairs by name, in addition to the robot's limits; coordinates
        that are unbounded lengths need limits.
        ``seed``: the same seed gives the same path, bit by bit, unless ``time_limit`` ends the search.
        ``time_limit`` [s]: checked between iterations and between searches.  The preceding inverse kinematics of goals
        is not included.
        ``progress``: True shows a bar on standard error; a function is called with a `linkwork.Progress`, in seconds of
        the time limit.

        ``path_constraints``: tasks and constraints that hold along the path, as in
        ``[lw.ik.AlignTask("hand.z", target=(0, 0, 1))]``.  Loop closures of the robot always hold.  The path then has
        as many waypoints as needed: constraints hold at waypoints, and within ``constraint_tolerance`` [m, rad] on the
        straight segments between them.

        ``method="optimal"`` continues after ``"connect"`` until the time limit or ``max_iterations``.  It searches for
        shorter paths, whose lengths are in the ``history`` of the result.  If joints at the end of the robot, such as
        fingers, rest along the first path, they rest along all paths.

        A failed search does not raise: see `linkwork.planning.PlanResult`.  Raises ValueError and TypeError for invalid
        configurations, poses, scenes and options, UnknownNameError for unknown names.

        >>> import linkwork as lw
        >>> robot = lw.load("arm7")
        >>> found = robot.plan(robot.neutral(), [1.0, 0.5, 0.2, -1.0, 0.3, 0.8, 0.0])
        >>> found.success, found.path.shape
        (True, (2, 7))
        """
        from linkwork.planning.plan_path import plan_path

        return plan_path(
            self,
            start,
            goal,
            scene,
            frame=frame,
            method=method,
            collision_check=collision_check,
            resolution=resolution,
            margin=margin,
            pairs=pairs,
            touching=touching,
            seed=seed,
            time_limit=time_limit,
            weights=weights,
            position_limits=position_limits,
            path_constraints=path_constraints,
            constraint_tolerance=constraint_tolerance,
            max_iterations=max_iterations,
            max_searches=max_searches,
            simplify=simplify,
            max_goal_solutions=max_goal_solutions,
            progress=progress,
        )
