"""Closed-form inverse kinematics of an arm: all configurations for a pose, from one kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.messages import quoted, short_repr
from linkwork._util.validation import floats, integer
from linkwork.expr.scalar.functions import where
from linkwork.ik.algorithms.closed_form.arm_branches import ArmBranch, arm_branches, redundant_angle
from linkwork.ik.algorithms.closed_form.arm_recognition import ELBOW, RecognisedArm, recognised
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.robot_arguments import read_configuration, refuse_symbols
from linkwork.model.tree import Tree
from linkwork.spatial import Pose
from linkwork.spatial.arguments import is_rigid

__all__ = ["ClosedForm", "IKBranches", "closed_form_of"]


_ORTHONORMAL = 1e-13  # permitted deviation of RᵀR from 1
_HALVINGS = 30  # bisections between samples to find the end of a range


class BranchArrays(NamedTuple):
    """Arrays that the kernel of closed-form branches returns: see `ClosedForm.kernel`."""

    q: Any
    valid: Any
    orientation_error: Any
    position_error: Any


@dataclass(frozen=True, eq=False)
class IKBranches:
    """Configurations that bring an arm's end effector to poses: eight branches per pose.

    A branch is a choice of shoulder, elbow and wrist, the same from pose to pose.  A branch that is not ``valid`` has
    no solution, coincides with an earlier branch, or is outside the limits.  Where it has no solution, its q is the
    nearest one that the closed-form equations permit.

    ``orientation_error`` [rad] and ``position_error`` [m] are the distances of each branch's pose from the target.
    """

    q: np.ndarray  # (..., 8, nq)
    valid: np.ndarray  # (..., 8), bool
    orientation_error: np.ndarray  # (..., 8) [rad]
    position_error: np.ndarray  # (..., 8) [m]

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def count(self) -> np.ndarray:
        """Number of valid branches (...)."""
        return np.asarray(self.valid.sum(axis=-1))

    @property
    def configurations(self) -> np.ndarray:
        """Valid configurations (n, nq), pose after pose."""
        result: np.ndarray = self.q[self.valid]
        return result

    def nearest_first(self, q: ArrayLike) -> IKBranches:
        """Return the branches sorted by validity, then by distance from configurations q (..., nq).

        The distance is the sum of squared differences of the components of q.
        """
        between = self.q - floats(q)[..., np.newaxis, :]
        distance = np.where(self.valid, (between * between).sum(axis=-1), np.inf)
        order = np.argsort(distance, axis=-1, kind="stable")

        def take(x: np.ndarray) -> np.ndarray:
            return np.take_along_axis(x, order, axis=-1)

        q_sorted = np.take_along_axis(self.q, order[..., np.newaxis], axis=-2)
        return IKBranches(q_sorted, take(self.valid), take(self.orientation_error), take(self.position_error))

    def __str__(self) -> str:
        if self.count.shape:
            few, many = (int(x) for x in (self.count.min(), self.count.max())) if self.count.size else (0, 0)
            return f"{self.count.size} poses: {few} to {many} branches"
        lines = [f"{int(self.count)} branch{'es' if self.count != 1 else ''}"]
        for k in np.flatnonzero(self.valid):
            lines.append(f"  {k}: q = {', '.join(f'{x:.6g}' for x in self.q[k])}")
        return "\n".join(lines)


@public
class ClosedForm(metaclass=WithForeignNames):
    """Closed-form inverse kinematics of one arm: see `Robot.closed_form`.

    ``robot`` is the robot, ``frame`` the end effector, and ``relative_to`` the frame of the poses.
    """

    __slots__ = ("_arm", "_kernels", "_robot", "frame", "relative_to")

    def __init__(self, robot: Any, arm: RecognisedArm, frame: str, relative_to: str) -> None:
        self._robot, self._arm, self.frame, self.relative_to = robot, arm, frame, relative_to
        self._kernels: LazyCache[Kernel] = LazyCache()

    @property
    def family(self) -> str:
        """Geometry of the arm in words: ``"three parallel axes, the last two intersect"``."""
        return self._arm.family

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints whose positions are the solutions, in order from ``relative_to`` to the frame."""
        result = self._arm.bodies[::-1] if self._arm.backward else self._arm.bodies
        return tuple(self._robot.tree.bodies[i].joint_name for i in result)

    @property
    def redundant(self) -> str | None:
        """Input in addition to the pose: ``"elbow angle"``, or the name of the locked joint; None for six axes."""
        return self._arm.redundant

    def __reduce__(self) -> tuple[Any, ...]:
        locked = None if self.redundant in (None, ELBOW) else self.redundant
        return closed_form_of, (self._robot, self.frame, self.relative_to, locked)

    def __repr__(self) -> str:
        return f"<ClosedForm of {self.frame!r} of {self._robot.name!r}: {self.family}>"

    @property
    def kernel(self) -> Kernel:
        """Kernel of `branches` within limits; see `linkwork.Kernel`.

        Inputs: X_target (4, 4), q_init (nq,) and, if there is one, ``redundant`` ().  Outputs: q (8, nq), valid (8,), 1
        or 0, orientation_error (8,) [rad] and position_error (8,) [m].
        """
        return self._kernel(True)

    def branches(
        self,
        X_target: ArrayLike,
        *,
        elbow: ArrayLike | None = None,
        locked: ArrayLike | None = None,
        position_limits: bool = True,
        q_init: Any = None,
    ) -> IKBranches:
        """Compute all configurations with the frame at X_target, its pose in ``relative_to``.

        X_target (..., 4, 4) [1, m] -> q (..., 8, nq) [rad], valid (..., 8).  The frame reaches X_target within 1e-9
        rad and 1e-9 of the arm's length, usually to rounding.  Joints outside the arm keep their positions in
        ``q_init`` (..., nq), by default `Robot.neutral`.  Each joint takes the revolution nearest to ``q_init``; with
        ``position_limits``, the nearest one within its limits.  A branch without such a revolution is not valid.

        Seven axes leave one angle open (`redundant`).  ``elbow`` (...) is the angle of the elbow about the line from
        shoulder to wrist [rad], 0 on the side to which the first axis points.  ``locked`` (...) is the angle of the
        locked joint [rad].  The default is the angle at ``q_init``.

        At a singularity, one of infinitely many configurations is returned, and coincident branches count as one.

        Raises ValueError for invalid poses, values that are not finite, and an angle that the arm does not have.
        """
        target = np.asarray(X_target, dtype=float)
        if target.shape[-2:] != (4, 4) or not is_rigid(target):
            got = f"an array of shape {target.shape}" if target.shape[-2:] != (4, 4) else "an invalid pose"
            raise ValueError(
                f"closed_form: X_target: expected poses (..., 4, 4), rotations and positions [m] with last row "
                f"0 0 0 1, got {got}"
            )
        target = _rotations(target)
        at = (
            self._robot.neutral()
            if q_init is None
            else read_configuration(self._robot, "closed_form", "q_init", q_init)
        )
        redundant_value = self._redundant_input(elbow, locked, at, q_init is None)
        kernel = self._kernel(bool(position_limits))
        q, valid, orientation_error, position_error = (
            kernel(target, at) if redundant_value is None else kernel(target, at, redundant_value)
        )
        return IKBranches(q, np.asarray(valid) > 0.5, orientation_error, position_error)

    def nearest_branch(self, X_target: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the valid branch (..., nq) within limits nearest to q, for six axes; q without such a branch.

        X_target (..., 4, 4) and q (..., nq) are plain arrays and are not checked.
        """
        result, valid, *_ = self._kernel(True)(X_target, q)
        position_error = np.where(valid > 0.5, ((result - q[..., None, :]) ** 2).sum(axis=-1), np.inf)
        if position_error.ndim == 1:
            k = int(position_error.argmin())
            return np.asarray(result[k] if position_error[k] < np.inf else q)
        first = np.take_along_axis(result, position_error.argmin(axis=-1)[..., None, None], axis=-2)[..., 0, :]
        return np.where((position_error.min(axis=-1) < np.inf)[..., None], first, q)

    def redundant_angle(self, q: ArrayLike) -> np.ndarray:
        """Return the elbow angle, or the angle of the locked joint: q (..., nq) -> (...) [rad].

        Raises ValueError for an arm without redundancy.
        """
        if self.redundant is None:
            raise ValueError(f"closed_form: redundant_angle: expected a redundant arm (7 axes), got 6: {self.family}")
        q = read_configuration(self._robot, "closed_form", "q", q)
        result = redundant_angle(self._robot.tree, self._arm, [q[..., k] for k in range(q.shape[-1])])
        return np.asarray(result, dtype=float)

    def redundant_ranges(
        self, X_target: ArrayLike, *, q_init: Any = None, samples: int = 720
    ) -> tuple[tuple[tuple[float, float], ...], ...]:
        """Return the ranges of the redundant angle within limits, for one pose and each of the eight branches.

        X_target (4, 4) [1, m] -> for each branch pairs (from, to) [rad], with ends within 1e-9.  Elbow angles begin in
        [−π, π); a range across π ends beyond it, and (−π, π) covers all angles.  ``q_init`` (nq,) has the angles of the
        joints outside of the arm.  Ranges wider than the spacing of ``samples`` are found.

        Raises ValueError for an arm without redundancy, and as `branches` does.
        """
        if self.redundant is None:
            raise ValueError(f"closed_form: redundant_ranges: expected a redundant arm (7 axes), got 6: {self.family}")
        if np.shape(X_target) != (4, 4):
            raise ValueError(f"closed_form: X_target: expected one pose (4, 4), got shape {np.shape(X_target)}")
        samples = integer("closed_form", "samples", samples, least=4, description="an integer")
        low, high = (-math.pi, math.pi) if self.redundant == ELBOW else self._locked_range()
        low, high = (low, high) if math.isfinite(high - low) else (-math.pi, math.pi)
        name = "elbow" if self.redundant == ELBOW else "locked"

        def valid(angles: np.ndarray) -> np.ndarray:
            return self.branches(X_target, q_init=q_init, **{name: angles}).valid  # type: ignore[arg-type]

        grid = np.linspace(low, high, int(samples) + 1)
        valid_samples = valid(grid)
        # range ends are between samples that differ; bisect all together
        before, branch = np.nonzero(valid_samples[1:] != valid_samples[:-1])
        left, right, valid_before = grid[before], grid[before + 1], valid_samples[before, branch]
        for _ in range(_HALVINGS):
            middle = 0.5 * (left + right)
            same = valid(middle)[np.arange(len(middle)), branch] == valid_before
            left, right = np.where(same, middle, left), np.where(same, right, middle)
        ends = np.where(valid_before, left, right)
        circle = self.redundant == ELBOW
        return tuple(
            _ranges(ends[branch == k], valid_samples[:, k], low, high, circle) for k in range(valid_samples.shape[1])
        )

    def _redundant_input(self, elbow: Any, locked: Any, q_init: np.ndarray, free: bool) -> np.ndarray | None:
        """Return the redundant angle [rad] of a seven-axis arm: an argument of `branches`, or the angle at ``q_init``.

        The result is None for an arm without redundancy. ``free`` is True if position limits apply; the default angle
        of a locked joint is then clipped to its limits. Raises ValueError for an angle that the arm does not have.
        """
        for name, value, has in (
            ("elbow", elbow, self.redundant == ELBOW),
            ("locked", locked, self.redundant not in (None, ELBOW)),
        ):
            if value is not None and not has:
                means = "it is not redundant" if self.redundant is None else f"redundant is {quoted(self.redundant)}"
                raise ValueError(f"closed_form: {name}: the arm ({self.family}) has no such angle: {means}")
        value = elbow if elbow is not None else locked
        if value is None:
            if self.redundant is None:
                return None
            angle = self.redundant_angle(q_init)
            return np.clip(angle, *self._locked_range()) if free and self.redundant != ELBOW else angle
        angle = floats(value)
        if not np.isfinite(angle).all():
            raise ValueError(
                f"closed_form: {'elbow' if locked is None else 'locked'}: expected angles [rad], got {value!r}"
            )
        return angle

    def _locked_range(self) -> tuple[float, float]:
        """Return the limits of the locked joint."""
        body = self._robot.tree.bodies[self._robot.tree.joint_index(self.redundant)]
        low, high = body.limits.positions
        return (low[0], high[0]) if body.joint.nq == 1 else (-math.inf, math.inf)

    def _kernel(self, position_limits: bool) -> Kernel:
        return self._kernels.get(position_limits, lambda: self._compiled(position_limits))

    def _compiled(self, position_limits: bool) -> Kernel:
        tree, arm, nq = self._robot.tree, self._arm, self._robot.nq
        A, B = tree.frame(self.relative_to), tree.frame(self.frame)

        def branches_of(X_target: Any, q_init: Any, redundant: Any) -> BranchArrays:
            X = Pose.of(X_target)
            return _branch_arrays(arm_branches(tree, A, B, arm, X, list(q_init), redundant, position_limits))

        if self.redundant is None:
            return compile(
                lambda X_target, q_init: branches_of(X_target, q_init, None),
                name="closed_form",
                X_target=(4, 4),
                q_init=(nq,),
            )
        return compile(branches_of, name="closed_form", X_target=(4, 4), q_init=(nq,), redundant=())


def _rotations(X: np.ndarray) -> np.ndarray:
    """Return poses (..., 4, 4) whose rotations are made orthonormal to rounding."""
    R = X[..., :3, :3]
    for _ in range(2):  # each step squares the deviation of RᵀR from 1
        off = np.swapaxes(R, -1, -2) @ R - np.eye(3)
        if np.abs(off).max(initial=0.0) < _ORTHONORMAL:
            break
        R = R - 0.5 * (R @ off)
    if np.may_share_memory(R, X):
        return X
    result = X.copy()
    result[..., :3, :3] = R
    return result


def _ranges(
    ends: np.ndarray, valid_samples: np.ndarray, low: float, high: float, circle: bool
) -> tuple[tuple[float, float], ...]:
    """Return the ranges (from, to) of angles with a valid branch, from the ``ends`` of these ranges in ascending order.

    ``low`` and ``high`` are ends as well if the first or last sample is valid. On a ``circle``, a range that continues
    from ``high`` to ``low`` is returned as one range.
    """
    result = [*([low] if valid_samples[0] else []), *ends.tolist(), *([high] if valid_samples[-1] else [])]
    pairs = list(zip(result[::2], result[1::2], strict=True))
    if circle and len(pairs) > 1 and valid_samples[0] and valid_samples[-1]:
        _, first = pairs.pop(0)
        pairs[-1] = (pairs[-1][0], first + 2.0 * math.pi)
    return tuple(pairs)


def closed_form_of(robot: Any, frame: str, relative_to: str, locked: str | None) -> ClosedForm | None:
    """Return the closed form of an arm, or None; raises as `Robot.closed_form`."""
    tree: Tree = robot.tree
    for name, value in (("frame", frame), ("relative_to", relative_to), ("locked", locked)):
        if not (isinstance(value, str) or (name == "locked" and value is None)):
            raise TypeError(f"closed_form: {name}: expected a name, got {value!r}")
    A, B = tree.frame(relative_to), tree.frame(frame)
    body = None if locked is None else tree.joint_index(locked)
    refuse_symbols("closed_form", robot)
    arm = recognised(tree, A, B, body)
    return None if arm is None else ClosedForm(robot, arm, frame, relative_to)


add_foreign_names(ClosedForm, "ik.ClosedForm")


def _branch_arrays(branches: list[ArmBranch]) -> BranchArrays:
    def row(values: list[Any]) -> np.ndarray:
        return np.array(values, dtype=object)

    return BranchArrays(
        np.array([branch.q for branch in branches], dtype=object),
        row([where(branch.valid, 1.0, 0.0) for branch in branches]),
        row([branch.orientation_error for branch in branches]),
        row([branch.position_error for branch in branches]),
    )
