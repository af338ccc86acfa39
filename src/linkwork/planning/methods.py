"""Paths of a robot among obstacles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import positive
from linkwork.collision.methods import Pairs
from linkwork.geometry.scene import Scene
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.planning.plan_path import plan_path
from linkwork.planning.result import PlanResult

__all__ = ["PlanningMethods"]


class PlanningMethods(RobotBase):
    """Paths among obstacles (see the page on motion)."""

    __slots__ = ()

    @public(constraint_tolerance=positive)
    def plan(
        self,
        start: Array,
        goal: Any,
        scene: Scene | None = None,
        *,
        frame: str | None = None,
        method: Literal["connect", "optimal"] = "connect",
        collision_check: Literal["certified", "sampled"] = "certified",
        resolution: float = 0.05,
        margin: float | Mapping[Any, float] = 0.0,
        pairs: Pairs | None = None,
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
        progress: bool | Callable[[float, int], Any] = False,
    ) -> PlanResult:
        """A path from a configuration to a goal that is free of collisions, with the scene and with itself.

        ``start`` is a configuration, or several (n, nq) of which any will do.  ``goal`` is

        - a configuration, or several (n, nq);
        - a pose (4, 4) of ``frame``, or several (n, 4, 4); or a dict of poses by frame, all at once: inverse kinematics
          finds up to so many ``max_goal_solutions`` for each, and those that are free are goals;
        - a `linkwork.planning.PoseRegion`, whose poses are drawn;
        - a list of any of these.

        ``collision_check`` says what free means: ``"certified"``, which is proved of all of the path, or
        ``"sampled"``, free at configurations ``resolution`` apart [rad, m], where nothing is said of what lies
        between.  Planar and floating joints go straight while they turn, so positions are within limits all along.

        All distances are more than ``margin`` [m].  It is a number, or a mapping from "self" (pairs of the robot's
        links), "scene" (links and obstacles) and single pairs, as ``{"scene": 0.02, ("box", "table"): -0.001}``; what
        is not in it keeps 0, and a pair whose margin is negative may overlap so far.  ``pairs`` are the pairs of names
        of links and obstacles that are looked at; all of `collision_pairs` and of the scene by default.  Pairs of names
        that are ``touching`` may touch, as a held box and the table that it is lifted from: they may be 0.1 mm deeper
        than at the start and at goals that are configurations, and no deeper.

        The path is the shortest of so many ``max_searches`` at most, those after the first for
        what may be shorter, and each cut short; or the first one as it was found if ``simplify`` is false.  Its length
        is that of differences, times ``weights`` (nv,).  ``position_limits`` are (lower, upper) or a dict of pairs by
        name, besides the robot's; lengths that nothing bounds need some.  The same ``seed`` gives the same path, to
        the bit, unless the ``time_limit`` [s] ends the search, which looks at the clock between rounds and between
        searches; the inverse kinematics of goals before it takes its time besides.  ``progress`` shows a bar, or is
        called with the seconds spent and the number of configurations explored.

        ``path_constraints`` are tasks and constraints that hold along the way, as
        ``[lw.ik.AlignTask("hand.z", target=(0, 0, 1))]``; what closes a robot's loops holds without being named.  The
        path then has as many way points as that needs: all holds at them, and between them, on straight ways, within
        the ``constraint_tolerance`` [m, rad].

        ``method="optimal"`` goes on where ``"connect"`` ends, until the time budget is spent, or after so many
        ``max_iterations``: it looks for shorter and shorter paths, and ``history`` of the result has their lengths.

        What is not found is told, not raised: see `linkwork.planning.PlanResult`.  Raises ValueError and TypeError for
        what is no configuration, pose, scene or option, UnknownNameError for names.

        >>> import linkwork as lw
        >>> robot = lw.load("arm7")
        >>> found = robot.plan(robot.neutral(), [1.0, 0.5, 0.2, -1.0, 0.3, 0.8, 0.0])
        >>> found.status, found.path.shape
        ('solved', (2, 7))
        """
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
