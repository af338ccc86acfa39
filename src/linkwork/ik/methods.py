"""Configurations for what a robot is asked to do.

The inverse kinematics of arms that have a closed form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.ik.closed_form import ClosedForm, closed_form_of
from linkwork.ik.differential import DAMPING, DifferentialIK
from linkwork.ik.ik_problem import STEPS, IKProblem
from linkwork.ik.path_ik import JUMP, IKPathResult
from linkwork.ik.result import IKResult
from linkwork.ik.tasks.frame_tasks import Axes, PoseTask
from linkwork.ik.tasks.joint_tasks import PostureTask
from linkwork.ik.tasks.pose_tolerance import pose_tolerance
from linkwork.ik.tasks.task import TOLERANCE, Task
from linkwork.ik.traced_ik import traced_answer
from linkwork.ik.velocity_result import VelocityResult
from linkwork.kernels.owners import has_symbols
from linkwork.kernels.robot_base import Array, RobotBase

__all__ = ["ClosedFormMethods", "InverseKinematicsMethods"]


class InverseKinematicsMethods(RobotBase):
    """Inverse kinematics: configurations within limits that do tasks (see the page on inverse kinematics)."""

    __slots__ = ()

    def inverse_kinematics(
        self,
        X_target: ArrayLike,
        frame: str,
        *,
        q_init: Array | None = None,
        nearest_to: Array | None = None,
        posture: Array | None = None,
        position_tolerance: ArrayLike = TOLERANCE,
        orientation_tolerance: ArrayLike = TOLERANCE,
        relative_to: str = "world",
        axes: Axes = "frame",
        position_limits: Any = None,
        locked: Sequence[str] = (),
        time_limit: float | None = None,
        num_solutions: int | None = None,
        max_iterations: int = STEPS,
    ) -> IKResult:
        """Configurations at which a frame has a pose, within limits: one, or a batch.

        X_target (..., 4, 4) is the pose of ``frame`` in ``relative_to``.  ``q_init`` (..., nq) is where to start, the
        middle of limits if it is left out; where it leads to no answer other starts follow, the same ones always.
        With ``nearest_to`` (..., nq) the answer is the configuration nearest to that one of all that have the pose, by
        the sum of squares of what joints move [rad, m], as far as several starts find it; joints that turn without end,
        or by more than a turn, go the nearer way.
        With ``posture`` (..., nq) joints are as near to that one as the pose lets them, at a minimum that steps lead to
        from where the pose is met first; it goes with neither ``nearest_to`` nor ``num_solutions``.
        ``position_tolerance`` [m] and ``orientation_tolerance`` [rad] are the distance and the angle that may be left:
        a number, or one each for x, y and z, infinite where that coordinate is free.  ``axes`` are those of the frame
        itself, of its ``"target"``, of the ``"reference"`` that it is relative to, or of a frame by its name.
        ``position_limits`` are the joints', (lower, upper) besides them, or none (False); joints that are ``locked``
        stay where the seed has them. ``time_limit`` [s] is for one state; ``max_iterations`` bounds the steps.
        ``num_solutions`` asks for so many answers that differ by more than whole turns and small moves, the nearest to
        the seed first, on a leading axis: the branches of an arm of six axes, or configurations far apart where joints
        are left over; where there are fewer, the rest has no success.

        In a function that is compiled, arrays may be symbols, and so may the robot's parameters: it then gives ``q``,
        ``success`` (1 or 0) and ``iterations``, and q is differentiated by the implicit-function theorem.

        The result has ``q`` (..., nq), ``success``, ``status``, ``position_error``, ``orientation_error``,
        ``iterations``, ``restarts``.  Raises ValueError for poses that are none, for frames between which no joint is,
        and for limits that leave nothing; UnknownNameError for names that the robot does not have.
        """
        plain = (
            position_limits is None
            and (locked.__class__ is tuple and not locked)
            and max_iterations == STEPS
            and position_tolerance.__class__ is float
            and orientation_tolerance.__class__ is float
        )
        key: tuple[Any, ...] = ()
        if plain and time_limit is None and num_solutions is None and posture is None:
            key = (
                "inverse_kinematics",
                frame,
                relative_to,
                axes,
                position_tolerance,
                orientation_tolerance,
                nearest_to is None,
            )
            known: Any = self._calls.get(key)
            if known is not None and X_target.__class__ is np.ndarray and X_target.shape == (4, 4):
                if nearest_to is None:
                    if q_init is None:
                        return cast(IKResult, known.single(known.middle, X_target))
                    if q_init.__class__ is np.ndarray and q_init.shape == (self.nq,) and known.plain:
                        return cast(IKResult, known.single(q_init, X_target))
                elif (
                    nearest_to.__class__ is np.ndarray
                    and nearest_to.shape == (self.nq,)
                    and q_init is None
                    and known.plain
                ):
                    return cast(IKResult, known.nearest(nearest_to, X_target))
        traced = has_symbols(self._subject) or any(map(is_traced, (X_target, q_init, nearest_to, posture)))
        for what, option in (("posture", posture), ("num_solutions", num_solutions), ("time_limit", time_limit)):
            if traced and option is not None:
                raise ValueError(f"inverse_kinematics: {what}: in a function that is compiled it is not known")
        tolerance = pose_tolerance("inverse_kinematics", position_tolerance, orientation_tolerance)
        if posture is not None:
            if nearest_to is not None or num_solutions is not None:
                raise ValueError(
                    "inverse_kinematics: posture goes with neither nearest_to nor num_solutions: leave one out"
                )
            pose = PoseTask(frame, relative_to=relative_to, axes=axes, tolerance=tolerance, name="X_target")
            both = [pose, PostureTask(weight=1.0, name="posture")]
            asked = IKProblem(
                self,
                both,
                position_limits=position_limits,
                locked=locked,
                max_iterations=max_iterations,
                num_starts=1,
                caller="inverse_kinematics",
            )
            q_init = posture if q_init is None else q_init
            return asked.solve(q_init, time_limit=time_limit, X_target=X_target, posture=posture)
        task = PoseTask(frame, relative_to=relative_to, axes=axes, name="X_target")
        problem = IKProblem(
            type(self)(self._subject.tree) if traced else self,
            task,
            solver="auto" if nearest_to is None else "nearest",
            position_limits=position_limits,
            locked=locked,
            max_iterations=max_iterations,
            tolerance=tolerance,
            caller="inverse_kinematics",
        )
        if traced:
            return cast(IKResult, traced_answer(problem, self._tree, q_init, nearest_to, {"X_target": X_target}))
        if key and len(problem.shapes) == 1:
            self._calls[key] = cast(Any, problem)
        return problem.solve(
            q_init, nearest_to=nearest_to, time_limit=time_limit, num_solutions=num_solutions, X_target=X_target
        )

    def ik_problem(
        self,
        tasks: Task | Iterable[Task],
        *,
        solver: str = "auto",
        position_limits: Any = None,
        locked: Sequence[str] = (),
        max_iterations: int = STEPS,
        num_starts: int | None = None,
    ) -> IKProblem:
        """Build a problem of inverse kinematics from tasks and constraints, hard and soft, to be solved many times.

        ``problem.solve(seed, hand=X, ...)`` takes targets by the tasks' names.  ``max_iterations`` bounds the steps of
        a search.  ``num_starts`` bounds the starts from which a problem with soft tasks looks for the least cost,
        which ends at the first that does all tasks: 48 unless given, or 9 where there are more rows than velocities,
        so that no configuration does all; 1 gives the local minimum that the seed leads to.
        """
        return IKProblem(
            self,
            tasks,
            solver=solver,
            position_limits=position_limits,
            locked=locked,
            max_iterations=max_iterations,
            num_starts=num_starts,
        )

    def velocity_for(
        self,
        tasks: Task | Iterable[Task],
        q: Array,
        dt: float,
        *,
        v_last: ArrayLike | None = None,
        motion_limits: Any = True,
        gain: Any = 1.0,
        time_constant: Any = None,
        damping: float = DAMPING,
        locked: Sequence[str] = (),
        **targets: Any,
    ) -> VelocityResult:
        """The velocity that brings tasks on in a step of time, within limits, by a quadratic program: one, or a batch.

        q (..., nq) is where the robot is, ``dt`` [s] the step, after which it is at ``integrate(q, v * dt)``; targets
        come by the tasks' names.  A step takes the part ``gain`` of errors away, 1 unless said, or as much as a
        ``time_constant`` [s] says; both are numbers, or dicts by task.  Hard tasks come first, ranges of them as
        barriers that are not crossed; then soft ones, by level, and by weight within a level.  ``damping`` times the
        sum of squares of weighted errors bounds steps at singularities.

        ``motion_limits`` are the robot's, of positions and velocities; none where False; or a dict of ``position``
        (True, False or (lower, upper)), ``velocity`` and ``acceleration`` (a number, (nv,) numbers, or a dict by
        joint: a base too), and ``speed`` (a dict by joint of the length of its velocity; of a floating base, of the
        angular and the linear one).  Limits of velocity always hold; then those of position, which the step does not
        leave, then those of acceleration, around ``v_last`` (..., nv), at rest if it is left out.  Joints that are
        ``locked`` stay.

        The result has ``v`` (..., nv), ``success``, ``status``, ``errors``, ``active``, ``at_limits``.  Where the same
        is asked each period, `DifferentialIK` keeps what is the same: see its `step`.  Raises ValueError for what is
        not finite or of the wrong shape, and UnknownNameError for names that the robot, or the problem, does not have.
        """
        given = tuple(tasks) if isinstance(tasks, Iterable) and not isinstance(tasks, str) else tasks
        key: Any = ("velocity_for", given, dt, gain, time_constant, damping, locked, motion_limits)
        try:
            known: Any = self._calls.get(key)
        except TypeError:  # numbers in arrays and dicts are not looked up
            key = known = None
        if known is None:
            options: dict[str, Any] = {"gain": gain, "time_constant": time_constant, "damping": damping}
            known = DifferentialIK(self, given, dt, motion_limits=motion_limits, locked=locked, **options)
            if key is not None:
                self._calls[key] = known
        return cast(VelocityResult, known.velocity(q, v_last=v_last, **targets))

    def inverse_kinematics_path(
        self,
        X_path: ArrayLike,
        frame: str,
        *,
        q_init: Array | None = None,
        position_tolerance: ArrayLike = TOLERANCE,
        orientation_tolerance: ArrayLike = TOLERANCE,
        relative_to: str = "world",
        axes: Axes = "frame",
        position_limits: Any = None,
        locked: Sequence[str] = (),
        max_joint_jump: ArrayLike = JUMP,
    ) -> IKPathResult:
        """Configurations at which a frame has the poses of a path, each near the one before, within limits.

        X_path (..., T, 4, 4) are poses of ``frame`` in ``relative_to``, one path or a batch; ``q_init`` (..., nq) is
        where the first is looked for.  Where no number of velocity goes farther than ``max_joint_jump`` [rad, m] from
        pose to pose, or in small steps on the way between them, the path is continuous; where it cannot be, the nearest
        other answer is taken, and counted as a reconfiguration.  The others are as of `inverse_kinematics`.

        The result has ``q`` (..., T, nq), ``success`` (..., T), ``reconfigurations``, ``max_joint_jump``,
        ``explain()``.
        """
        task = PoseTask(frame, relative_to=relative_to, axes=axes, name="X_path")
        problem = IKProblem(
            self,
            task,
            position_limits=position_limits,
            locked=locked,
            tolerance=pose_tolerance("inverse_kinematics_path", position_tolerance, orientation_tolerance),
            caller="inverse_kinematics_path",
        )
        return problem.follow(q_init, max_joint_jump=max_joint_jump, X_path=X_path)


class ClosedFormMethods(RobotBase):
    """Arms whose configurations can be told from the hand's pose by formulas."""

    __slots__ = ()

    def closed_form(self, frame: str, *, relative_to: str = "world", held: str | None = None) -> ClosedForm | None:
        """The closed form of the inverse kinematics of a frame, or None where the arm is of no family that has one.

        The joints from ``relative_to`` to the frame have to be six or seven that turn about one axis each, and follow
        no others.  Six axes have a closed form where three neighbours go through one point or are parallel.  Seven
        have one where the first three and the last three go through points (then the elbow's angle is given), or where
        one at an end can be held and the six others are such an arm; ``held`` names it.  Lengths and angles count as
        zero within 1e-5 of the arm's length, or rad: what that leaves wrong is polished away.  Constraints that the
        robot has besides its joints are not looked at.

        >>> import linkwork as lw
        >>> arm = lw.load("arm6").closed_form("tool")
        >>> arm.family
        'three parallel axes, the last two intersect'
        >>> robot = lw.load("arm6")
        >>> found = arm.branches(robot.pose([0.3, -1.2, 1.4, -0.9, -1.1, 0.2], "tool"))
        >>> int(found.count)
        8

        Raises UnknownNameError for frames and a joint that are not there, TypeError for a robot with symbols in it.
        """
        key = ("closed_form", frame, relative_to, held)
        known: Any = self._calls.get(key) if all(isinstance(name, (str, type(None))) for name in key) else None
        if known is None:
            known = self._calls[key] = cast(Any, (closed_form_of(self, frame, relative_to, held),))
        return cast("ClosedForm | None", known[0])
