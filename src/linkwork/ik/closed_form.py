"""The closed form of an arm: all configurations that bring its hand to a pose, from one kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import quoted, short_repr
from linkwork._util.validation import floats, integer
from linkwork.expr.scalar.functions import where
from linkwork.ik.algorithms.closed_form.arm_branches import ArmBranch, arm_branches, redundant_angle
from linkwork.ik.algorithms.closed_form.arm_recognition import ELBOW, RecognisedArm, recognised
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.owners import has_symbols
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.model.tree import Tree
from linkwork.spatial import Pose
from linkwork.spatial.arguments import is_rigid

__all__ = ["ClosedForm", "IKBranches", "closed_form_of"]


_ORTHONORMAL = 1e-13  # how far RᵀR may be from 1
_HALVINGS = 30  # of a step between samples, to where a range ends


class BranchNumbers(NamedTuple):
    """What a kernel of branches gives."""

    q: Any
    valid: Any
    orientation_error: Any
    position_error: Any


@dataclass(frozen=True, eq=False)
class IKBranches:
    """The configurations that bring an arm's hand to poses: eight places a pose, of which some are taken.

    A place is a branch (which shoulder, which elbow, which wrist), the same from pose to pose.  Where it is not
    ``valid`` it has no solution, or coincides with one before it, or is beyond limits; its q is then the nearest that
    its equations have.
    """

    q: np.ndarray  # (..., 8, nq)
    valid: np.ndarray  # (..., 8), bool
    orientation_error: np.ndarray  # (..., 8) [rad]
    position_error: np.ndarray  # (..., 8) [m]

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def count(self) -> np.ndarray:
        """How many are valid, (...)."""
        return np.asarray(self.valid.sum(axis=-1))

    @property
    def configurations(self) -> np.ndarray:
        """Those that are valid, (n, nq), pose after pose."""
        result: np.ndarray = self.q[self.valid]
        return result

    def nearest_first(self, q: ArrayLike) -> IKBranches:
        """The same, those that are valid first, in the order of how far they are from configurations q (..., nq).

        What counts is the sum of squares of the numbers of q.
        """
        between = self.q - floats(q)[..., np.newaxis, :]
        far = np.where(self.valid, (between * between).sum(axis=-1), np.inf)
        order = np.argsort(far, axis=-1, kind="stable")

        def taken(x: np.ndarray) -> np.ndarray:
            return np.take_along_axis(x, order, axis=-1)

        q_taken = np.take_along_axis(self.q, order[..., np.newaxis], axis=-2)
        return IKBranches(q_taken, taken(self.valid), taken(self.orientation_error), taken(self.position_error))

    def __str__(self) -> str:
        if self.count.shape:
            few, many = (int(x) for x in (self.count.min(), self.count.max())) if self.count.size else (0, 0)
            return f"{self.count.size} poses: {few} to {many} branches"
        lines = [f"{int(self.count)} branch{'es' if self.count != 1 else ''}"]
        for k in np.flatnonzero(self.valid):
            lines.append(f"  {k}: q = {', '.join(f'{x:.6g}' for x in self.q[k])}")
        return "\n".join(lines)


@public
class ClosedForm:
    """An arm whose inverse kinematics has a closed form: see `Robot.closed_form`."""

    __slots__ = ("_arm", "_kernels", "_robot", "frame", "relative_to")

    def __init__(self, robot: Any, arm: RecognisedArm, frame: str, relative_to: str) -> None:
        self._robot, self._arm, self.frame, self.relative_to = robot, arm, frame, relative_to
        self._kernels: LazyCache[Kernel] = LazyCache()

    @property
    def family(self) -> str:
        """What the arm is, in words: ``"three parallel axes, the last two intersect"``."""
        return self._arm.family

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that branches tell, from ``relative_to`` to the frame."""
        result = self._arm.bodies[::-1] if self._arm.backward else self._arm.bodies
        return tuple(self._robot.tree.bodies[i].joint_name for i in result)

    @property
    def redundant(self) -> str | None:
        """What has to be given besides the pose: ``"elbow angle"``, or the joint that is held; None for six axes."""
        return self._arm.redundant

    def __reduce__(self) -> tuple[Any, ...]:
        held = None if self.redundant in (None, ELBOW) else self.redundant
        return closed_form_of, (self._robot, self.frame, self.relative_to, held)

    def __repr__(self) -> str:
        return f"<ClosedForm of {self.frame!r} of {self._robot.name!r}: {self.family}>"

    @property
    def kernel(self) -> Kernel:
        """That of `branches` within limits: X_target (4, 4), seed (nq,) and, where there is one, ``redundant`` ().

        It gives q (8, nq), valid (8,), 1 or 0, orientation_error (8,) [rad] and position_error (8,) [m].
        """
        return self._kernel(True)

    def branches(
        self,
        X_target: ArrayLike,
        *,
        elbow: ArrayLike | None = None,
        held: ArrayLike | None = None,
        position_limits: bool = True,
        q_init: Any = None,
    ) -> IKBranches:
        """All configurations with the frame at X_target, its pose in ``relative_to``.

        X_target (..., 4, 4) [1, m] -> q (..., 8, nq) [rad], valid (..., 8).  They reach it within 1e-9 rad and 1e-9
        of the arm's length, as a rule to rounding.  Joints beside the arm are as in the configuration ``q_init``
        (..., nq), `Robot.neutral` by default; of angles that differ by whole turns each branch has the one nearest to
        it, with ``position_limits`` of those within the joint's, and a branch for which there is none is not valid.

        Seven axes leave one angle open (`redundant`): ``elbow`` (...) is the angle of the elbow about the line from
        shoulder to wrist [rad], 0 where it is on the side to which the first axis points, and ``held`` (...) that of
        the joint that is held.  By default it is the seed's.

        Where the arm is singular, one of infinitely many configurations is given, and branches that coincide there
        count as one.

        Raises ValueError for what is no pose, with numbers that are not finite, and for an angle that the arm does not
        have.
        """
        target = np.asarray(X_target, dtype=float)
        if target.shape[-2:] != (4, 4) or not is_rigid(target):
            what = f"an array of shape {target.shape}" if target.shape[-2:] != (4, 4) else "one that is none"
            raise ValueError(
                f"closed_form: X_target: expected poses (..., 4, 4), rotations and places [m] with the last row "
                f"0 0 0 1, got {what}"
            )
        target = _rotations(target)
        at = (
            self._robot.neutral()
            if q_init is None
            else read_configuration(self._robot, "closed_form", "q_init", q_init)
        )
        given = self._given(elbow, held, at, q_init is None)
        kernel = self._kernel(bool(position_limits))
        q, valid, turned, away = kernel(target, at) if given is None else kernel(target, at, given)
        return IKBranches(q, np.asarray(valid) > 0.5, turned, away)

    def nearest_branch(self, X_target: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Of an arm of six axes: the branch (..., nq) within limits that is nearest to configurations, or these where
        there is none.  It takes plain arrays, poses and configurations, and does not look at them.
        """
        result, valid, *_ = self._kernel(True)(X_target, q)
        away = np.where(valid > 0.5, ((result - q[..., None, :]) ** 2).sum(axis=-1), np.inf)
        if away.ndim == 1:
            k = int(away.argmin())
            return np.asarray(result[k] if away[k] < np.inf else q)
        first = np.take_along_axis(result, away.argmin(axis=-1)[..., None, None], axis=-2)[..., 0, :]
        return np.where((away.min(axis=-1) < np.inf)[..., None], first, q)

    def redundant_angle(self, q: ArrayLike) -> np.ndarray:
        """The elbow angle of configurations, or the angle of the joint that is held: q (..., nq) -> (...) [rad].

        Raises ValueError where nothing is redundant.
        """
        if self.redundant is None:
            raise ValueError(f"closed_form: six axes leave nothing open: {self.family}")
        q = read_configuration(self._robot, "closed_form", "q", q)
        result = redundant_angle(self._robot.tree, self._arm, [q[..., k] for k in range(q.shape[-1])])
        return np.asarray(result, dtype=float)

    def redundant_ranges(
        self, X_target: ArrayLike, *, q_init: Any = None, samples: int = 720
    ) -> tuple[tuple[tuple[float, float], ...], ...]:
        """For one pose and each of the eight branches, from where to where the redundant angle keeps it within limits.

        X_target (4, 4) [1, m] -> for each branch pairs (from, to) [rad], ends within 1e-9.  Elbow angles begin in
        [−π, π); a range that goes through π ends beyond it, and (−π, π) is all of them.  Ranges are seen that are
        wider than the step between so many ``samples``.

        Raises ValueError where nothing is redundant, and as `branches` does.
        """
        if self.redundant is None:
            raise ValueError(f"closed_form: six axes leave nothing open: {self.family}")
        if np.shape(X_target) != (4, 4):
            raise ValueError(f"closed_form: X_target: expected one pose (4, 4), got shape {np.shape(X_target)}")
        samples = integer("closed_form", "samples", samples, least=4, what="an integer")
        low, high = (-math.pi, math.pi) if self.redundant == ELBOW else self._held_range()
        low, high = (low, high) if math.isfinite(high - low) else (-math.pi, math.pi)
        name = "elbow" if self.redundant == ELBOW else "held"

        def valid(angles: np.ndarray) -> np.ndarray:
            return self.branches(X_target, q_init=q_init, **{name: angles}).valid  # type: ignore[arg-type]

        grid = np.linspace(low, high, int(samples) + 1)
        there = valid(grid)
        # ends are between samples that differ: all are halved together
        before, branch = np.nonzero(there[1:] != there[:-1])
        left, right, was = grid[before], grid[before + 1], there[before, branch]
        for _ in range(_HALVINGS):
            middle = 0.5 * (left + right)
            same = valid(middle)[np.arange(len(middle)), branch] == was
            left, right = np.where(same, middle, left), np.where(same, right, middle)
        ends = np.where(was, left, right)
        circle = self.redundant == ELBOW
        return tuple(_ranges(ends[branch == k], there[:, k], low, high, circle) for k in range(there.shape[1]))

    def _given(self, elbow: Any, held: Any, q_init: np.ndarray, free: bool) -> np.ndarray | None:
        """The redundant angle.  Raises ValueError for one that the arm does not have."""
        for name, value, has in (
            ("elbow", elbow, self.redundant == ELBOW),
            ("held", held, self.redundant not in (None, ELBOW)),
        ):
            if value is not None and not has:
                means = "nothing is redundant" if self.redundant is None else f"redundant is {quoted(self.redundant)}"
                raise ValueError(f"closed_form: {name}: the arm has no such angle ({self.family}): {means}")
        value = elbow if elbow is not None else held
        if value is None:
            if self.redundant is None:
                return None
            angle = self.redundant_angle(q_init)
            return np.clip(angle, *self._held_range()) if free and self.redundant != ELBOW else angle
        angle = floats(value)
        if not np.isfinite(angle).all():
            raise ValueError(
                f"closed_form: {'elbow' if held is None else 'held'}: expected angles [rad], got {value!r}"
            )
        return angle

    def _held_range(self) -> tuple[float, float]:
        """What the joint that is held can be: where zero is none, the nearest end is its default."""
        body = self._robot.tree.bodies[self._robot.tree.joint_index(self.redundant)]
        low, high = body.limits.positions
        return (low[0], high[0]) if body.joint.nq == 1 else (-math.inf, math.inf)

    def _kernel(self, position_limits: bool) -> Kernel:
        return self._kernels.get(position_limits, lambda: self._compiled(position_limits))

    def _compiled(self, position_limits: bool) -> Kernel:
        tree, arm, nq = self._robot.tree, self._arm, self._robot.nq
        A, B = tree.frame(self.relative_to), tree.frame(self.frame)

        def numbers(X_target: Any, q_init: Any, redundant: Any) -> BranchNumbers:
            X = Pose.of(X_target)
            return _as_numbers(arm_branches(tree, A, B, arm, X, list(q_init), redundant, position_limits))

        if self.redundant is None:
            return compile(
                lambda X_target, q_init: numbers(X_target, q_init, None),
                name="closed_form",
                X_target=(4, 4),
                q_init=(nq,),
            )
        return compile(numbers, name="closed_form", X_target=(4, 4), q_init=(nq,), redundant=())


def _rotations(X: np.ndarray) -> np.ndarray:
    """Poses whose rotations are such to rounding: the nearest, where numbers were rounded."""
    R = X[..., :3, :3]
    for _ in range(2):  # each step squares what R^T R is off by
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
    ends: np.ndarray, there: np.ndarray, low: float, high: float, circle: bool
) -> tuple[tuple[float, float], ...]:
    """Pairs of ends, in order; on a circle what goes on from its end to its beginning is one."""
    result = [*([low] if there[0] else []), *ends.tolist(), *([high] if there[-1] else [])]
    pairs = list(zip(result[::2], result[1::2], strict=True))
    if circle and len(pairs) > 1 and there[0] and there[-1]:
        _, first = pairs.pop(0)
        pairs[-1] = (pairs[-1][0], first + 2.0 * math.pi)
    return tuple(pairs)


def closed_form_of(robot: Any, frame: str, relative_to: str, held: str | None) -> ClosedForm | None:
    """Raises as `Robot.closed_form` does."""
    tree: Tree = robot.tree
    for name, value in (("frame", frame), ("relative_to", relative_to), ("held", held)):
        if not (isinstance(value, str) or (name == "held" and value is None)):
            raise TypeError(f"closed_form: {name}: expected a name, got {value!r}")
    A, B = tree.frame(relative_to), tree.frame(frame)
    body = None if held is None else tree.joint_index(held)
    if has_symbols(robot._subject):
        raise TypeError(
            f"closed_form: robot {robot.name!r} has symbols for numbers that may be its geometry: recognise it before "
            f"they are put in"
        )
    arm = recognised(tree, A, B, body)
    return None if arm is None else ClosedForm(robot, arm, frame, relative_to)


def _as_numbers(branches: list[ArmBranch]) -> BranchNumbers:
    def row(values: list[Any]) -> np.ndarray:
        return np.array(values, dtype=object)

    return BranchNumbers(
        np.array([branch.q for branch in branches], dtype=object),
        row([where(branch.valid, 1.0, 0.0) for branch in branches]),
        row([branch.orientation_error for branch in branches]),
        row([branch.position_error for branch in branches]),
    )
