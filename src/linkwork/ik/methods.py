"""Methods of `Robot` for inverse kinematics, numerical and in closed form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork import ik
from linkwork.errors import ArgumentError
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.ik.tasks.arguments import DAMPING, JUMP, STEPS, TOLERANCE, Axes
from linkwork.kernels.owners import has_symbols
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.spatial.arguments import is_like_rotation

__all__ = ["ClosedFormMethods", "InverseKinematicsMethods"]


class InverseKinematicsMethods(RobotBase):
    """Numerical inverse kinematics: configurations within limits that satisfy tasks."""

    __slots__ = ()

    def inverse_kinematics(
        self,
        X_target: ArrayLike,
        frame: str,
        *,
        q_init: Array | str | None = None,
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
    ) -> ik.IKResult:
        """Compute configurations at which a frame has a pose, within limits; one pose or a batch.

        ``X_target``: pose (..., 4, 4) of ``frame`` in ``relative_to``, or position (..., 3) of its origin [m].  With a
        position the orientation is free.
        ``q_init`` (..., nq): initial guess; default: the middle of the limits.  If the search from ``q_init`` fails, it
        is repeated from a fixed sequence of starts.
        ``nearest_to`` (..., nq): a reference configuration.  Of all configurations with the pose, the nearest one that
        several starts find is returned; the distance is the sum of squared joint motions [rad, m].  Joints without
        limits, or with a range above a revolution, take the shorter direction.
        ``posture`` (..., nq): a configuration near which joints stay, among all configurations with the pose.  The
        result is a local minimum; its search starts where the pose is first reached.  This option excludes
        ``nearest_to`` and ``num_solutions``.
        ``position_tolerance`` [m], ``orientation_tolerance`` [rad]: permitted distance and angle, a number or three
        numbers for x, y and z, infinite for a free coordinate.  Tolerances above 1e-3 widen the set of solutions; the
        first start of a search aims at the target itself.
        ``axes``: axes of the errors: ``"frame"`` for the frame's own axes, ``"target"`` for the target's,
        ``"reference"`` for those of ``relative_to``, or the name of a frame.
        ``position_limits``: by default the joints' limits; (lower, upper), or a dict of such pairs by joint, adds
        further limits; False ignores all limits.
        ``locked``: joints that keep their positions in ``q_init``.
        ``time_limit`` [s]: for a single state. ``max_iterations`` bounds the iterations.
        ``num_solutions``: number of solutions, on a leading axis, nearest to ``q_init`` first.  They differ by more
        than full revolutions and small motions: the branches of a six-axis arm, or configurations far apart of a
        redundant robot.  If there are fewer, the remaining entries have ``success`` False.

        In a compiled function, arrays and the robot's parameters may be symbols.  The result is then ``q``, ``success``
        (1 or 0) and ``iterations``, and q is differentiated by the implicit-function theorem.

        The result has ``q`` (..., nq), ``success``, ``status``, ``position_error``, ``orientation_error``,
        ``iterations``, ``restarts``.  Raises ValueError for invalid poses, frames without a joint in between and empty
        limits, and UnknownNameError for unknown names.
        """
        plain = (
            position_limits is None
            and (locked.__class__ is tuple and not locked)
            and max_iterations == STEPS
            and position_tolerance.__class__ is float
            and orientation_tolerance.__class__ is float
        )
        key: tuple[Any, ...] = ()
        if plain and time_limit is None and num_solutions is None and posture is None and frame.__class__ is str:
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
                        return cast("ik.IKResult", known.single(known.midrange, X_target))
                    if q_init.__class__ is np.ndarray and q_init.shape == (self.nq,) and known.plain:
                        return cast("ik.IKResult", known.single(q_init, X_target))
                elif (
                    nearest_to.__class__ is np.ndarray
                    and nearest_to.shape == (self.nq,)
                    and q_init is None
                    and known.plain
                ):
                    return cast("ik.IKResult", known.nearest(nearest_to, X_target))
        traced = has_symbols(self._subject) or any(map(is_traced, (X_target, q_init, nearest_to, posture)))
        for argument, option in (("posture", posture), ("num_solutions", num_solutions), ("time_limit", time_limit)):
            if traced and option is not None:
                raise ValueError(f"inverse_kinematics: {argument}: not supported in a compiled function")
        from linkwork.ik.tasks.arguments import PoseTolerance, pose_tolerance

        tolerance = pose_tolerance("inverse_kinematics", position_tolerance, orientation_tolerance)
        task_type: type[ik.PoseTask] | type[ik.PositionTask] = ik.PoseTask
        if _is_position(X_target):
            if orientation_tolerance.__class__ is not float or orientation_tolerance not in (TOLERANCE, np.inf):
                raise ValueError(
                    "inverse_kinematics: orientation_tolerance: expected a pose (4, 4) as X_target, got a position, "
                    "whose orientation is free; use lw.pose(position, rpy=...)"
                )
            task_type, tolerance = ik.PositionTask, PoseTolerance(tolerance[3:], tolerance.whole)
            if key:
                key = (*key, "position")
                known = self._calls.get(key)
                if known is not None and not traced:
                    return cast("ik.IKResult", known.solve(q_init, nearest_to=nearest_to, X_target=X_target))
        if posture is not None:
            if nearest_to is not None or num_solutions is not None:
                raise ValueError(
                    "inverse_kinematics: posture: cannot be combined with nearest_to or num_solutions; omit one"
                )
            task = task_type(frame, relative_to=relative_to, axes=axes, tolerance=tolerance, name="X_target")
            both = [task, ik.PostureTask(weight=1.0, name="posture")]
            problem = ik.IKProblem(
                self,
                both,
                position_limits=position_limits,
                locked=locked,
                max_iterations=max_iterations,
                num_starts=1,
                caller="inverse_kinematics",
            )
            q_init = posture if q_init is None else q_init
            return problem.solve(q_init, time_limit=time_limit, X_target=X_target, posture=posture)
        task = task_type(frame, relative_to=relative_to, axes=axes, name="X_target")
        problem = ik.IKProblem(
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
            from linkwork.ik.traced_ik import traced_solution

            return cast("ik.IKResult", traced_solution(problem, self._tree, q_init, nearest_to, {"X_target": X_target}))
        if key and len(problem.shapes) == 1:
            self._calls[key] = cast(Any, problem)
        return problem.solve(
            q_init, nearest_to=nearest_to, time_limit=time_limit, num_solutions=num_solutions, X_target=X_target
        )

    def ik_problem(
        self,
        tasks: ik.Task | Iterable[ik.Task],
        *,
        solver: str = "auto",
        position_limits: Any = None,
        locked: Sequence[str] = (),
        max_iterations: int = STEPS,
        num_starts: int | None = None,
    ) -> ik.IKProblem:
        """Build a reusable IK problem from hard and soft tasks and constraints.

        ``solver`` is a method's name; "auto" chooses by the tasks.  ``position_limits`` and ``locked`` are as in
        `inverse_kinematics`.
        ``problem.solve(q_init, hand=X, ...)`` takes targets by task name.  ``max_iterations`` bounds the iterations of
        a search.
        ``num_starts`` bounds the starts of a problem with soft tasks, whose search ends at the first start that
        satisfies all tasks.  The default is 48, or 9 if there are more errors than velocities, so that no configuration
        satisfies all.  1 gives the local minimum reached from ``q_init``.
        """
        return ik.IKProblem(
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
        tasks: ik.Task | Iterable[ik.Task],
        q: Array | str,
        dt: float,
        *,
        v_last: ArrayLike | None = None,
        motion_limits: Any = True,
        gain: Any = 1.0,
        time_constant: Any = None,
        damping: float = DAMPING,
        locked: Sequence[str] = (),
        **targets: Any,
    ) -> ik.VelocityResult:
        """Compute the velocity that moves tasks towards their targets in one time step, within limits.

        The velocity is the solution of a quadratic program, for one state or a batch.

        ``q`` (..., nq): current configuration.  Targets are passed by task name.
        ``dt`` [s]: time step; the next configuration is ``integrate(q, v * dt)``.
        ``gain``: fraction of the errors that a step removes, 1 by default, or the fraction that corresponds to a
        ``time_constant`` [s]; both are numbers, or dicts by task.
        Hard tasks have priority, and their ranges act as barriers.  Soft tasks follow by level, and by weight within a
        level.
        ``damping``: factor of the sum of squared weighted errors that bounds steps at singularities.
        ``motion_limits``: the robot's limits (True), none (False), or a dict with ``position`` (True, False or (lower,
        upper)), ``velocity`` and ``acceleration`` (True, False, a number, (nv,) numbers, or a dict by joint, including
        a floating base), and ``speed`` (a dict by joint of the norm of its velocity; for a floating base, the norms of
        the angular and the linear velocity).  Velocity limits always hold.  Position limits have the next priority,
        then acceleration limits.
        ``v_last`` (..., nv): previous velocity, which acceleration limits need; by default it is zero, and the robot's
        own acceleration limits do not apply.
        ``locked``: joints that do not move.

        The result has ``v`` (..., nv), ``success``, ``status``, ``errors``, ``active``, ``at_limits``.  For repeated
        calls, `DifferentialIK` prepares the problem once: see its `step`.  Raises ValueError for values that are not
        finite or of the wrong shape, and UnknownNameError for unknown names.
        """
        task_tuple = tuple(tasks) if isinstance(tasks, Iterable) and not isinstance(tasks, str) else tasks
        key: Any = ("velocity_for", task_tuple, dt, gain, time_constant, damping, locked, motion_limits)
        try:
            known: Any = self._calls.get(key)
        except TypeError:  # arrays and dicts do not hash and are not cached
            key = known = None
        if known is None:
            options: dict[str, Any] = {"gain": gain, "time_constant": time_constant, "damping": damping}
            known = ik.DifferentialIK(self, task_tuple, dt, motion_limits=motion_limits, locked=locked, **options)
            if key is not None:
                self._calls[key] = known
        return cast("ik.VelocityResult", known.velocity(q, v_last=v_last, **targets))

    def inverse_kinematics_path(
        self,
        X_path: ArrayLike,
        frame: str,
        *,
        q_init: Array | str | None = None,
        position_tolerance: ArrayLike = TOLERANCE,
        orientation_tolerance: ArrayLike = TOLERANCE,
        relative_to: str = "world",
        axes: Axes = "frame",
        position_limits: Any = None,
        locked: Sequence[str] = (),
        max_joint_jump: ArrayLike = JUMP,
    ) -> ik.IKPathResult:
        """Compute configurations at which a frame has the poses of a path, each near the previous one.

        ``X_path`` (..., T, 4, 4): poses of ``frame`` in ``relative_to``, one path or a batch.
        ``q_init`` (..., nq): initial guess for the first pose.  A path is continuous if no coordinate of v moves
        farther than ``max_joint_jump`` [rad, m] from one pose to the next, or in small steps between them.  Otherwise
        the nearest other solution is used and counted as a reconfiguration.  All configurations are within limits.
        ``position_tolerance``, ``orientation_tolerance``, ``axes``, ``position_limits`` and ``locked`` are as in
        `inverse_kinematics`.

        The result has ``q`` (..., T, nq), ``success`` (..., T), ``reconfigurations``, ``largest_jump``, ``explain()``.
        """
        from linkwork.ik.tasks.arguments import pose_tolerance

        task = ik.PoseTask(frame, relative_to=relative_to, axes=axes, name="X_path")
        problem = ik.IKProblem(
            self,
            task,
            position_limits=position_limits,
            locked=locked,
            tolerance=pose_tolerance("inverse_kinematics_path", position_tolerance, orientation_tolerance),
            caller="inverse_kinematics_path",
        )
        return problem.follow(q_init, max_joint_jump=max_joint_jump, X_path=X_path)


class ClosedFormMethods(RobotBase):
    """Closed-form inverse kinematics of arms."""

    __slots__ = ()

    def closed_form(self, frame: str, *, relative_to: str = "world", locked: str | None = None) -> ik.ClosedForm | None:
        """Return the closed form of the inverse kinematics of a frame, or None for an arm without one.

        The joints from ``relative_to`` to the frame must be six or seven revolute joints without couplings.  Six axes
        have a closed form if three neighbouring axes intersect in one point or are parallel.  Seven axes have a closed
        form if the first three axes and the last three each intersect in a point; the elbow angle is then an input.
        They also have one if a joint at an end is locked (``locked``) and the other six axes have a closed form.
        Lengths and angles count as zero within 1e-5 of the arm's length, or rad; the resulting error is removed by a
        final refinement.  Constraints of the robot are ignored.  Arms with sliding joints or fewer joints, such as a
        SCARA, have no closed form: `inverse_kinematics` with ``num_solutions=2`` computes both elbow branches.

        >>> import linkwork as lw
        >>> arm = lw.load("arm6").closed_form("tool")
        >>> arm.family
        'three parallel axes, the last two intersect'
        >>> robot = lw.load("arm6")
        >>> found = arm.branches(robot.pose([0.3, -1.2, 1.4, -0.9, -1.1, 0.2], "tool"))
        >>> int(found.count)
        8

        Raises UnknownNameError for unknown frames and joints, TypeError for a robot with symbols.
        """
        key = ("closed_form", frame, relative_to, locked)
        known: Any = self._calls.get(key) if all(isinstance(name, (str, type(None))) for name in key) else None
        if known is None:
            from linkwork.ik.closed_form import closed_form_of

            known = self._calls[key] = cast(Any, (closed_form_of(self, frame, relative_to, locked),))
        return cast("ik.ClosedForm | None", known[0])


def _is_position(target: Any) -> bool:
    """Return True for positions (..., 3), and False for other arrays.

    Raises TypeError for tasks, and ValueError for rotation matrices.
    """
    first = target[0] if isinstance(target, (list, tuple)) and target else target
    expected = "inverse_kinematics: X_target: expected poses of shape (..., 4, 4) or positions (..., 3)"
    if isinstance(first, ik.Task):
        raise ArgumentError(f"{expected}, got {type(first).__name__}; use robot.ik_problem(tasks).solve()")
    try:
        shape: tuple[int, ...] = np.shape(target)
    except (TypeError, ValueError):
        return False
    if shape[-1:] == (3,) and is_like_rotation(target):
        raise ValueError(f"{expected}, got rotation matrices; ik.OrientationTask has such targets")
    if shape and shape[-1:] != (3,) and shape[-2:] != (4, 4):
        remedies = {2: "the third coordinate of a position may be 0", 6: "use linkwork.pose((x, y, z), rpy=(r, p, y))"}
        remedy = f"; {remedies[shape[-1]]}" if shape[-1] in remedies else ""
        raise ValueError(f"{expected}, got shape {shape}{remedy}")
    return shape[-1:] == (3,)
