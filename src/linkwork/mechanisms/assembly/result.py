"""The result of assembly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.pictures import Output, Shown, show
from linkwork._util.result import Result
from linkwork.errors import Status
from linkwork.mechanisms.assembly.loop_lengths import long_bars
from linkwork.mechanisms.assembly.state_inputs import StateInputs, poses_of, robot_with
from linkwork.mechanisms.assembly.targets import ClosedMechanism, FixedJoints

if TYPE_CHECKING:
    from linkwork.mechanisms.assembly.assembly_branches import Branches

__all__ = ["Assembly", "sign_of", "slack_and_sign"]


_ZERO_ROW = 1e-12  # largest entry of a row that counts as zero
_SINGULAR = 1e-9  # ratio of singular values below which a matrix is singular


@dataclass(frozen=True, eq=False, init=False)
class Assembly(Shown, Result):
    """Configurations that satisfy the constraints of a robot, or the closest ones; for a batch, arrays of them.

    ``success`` is True if all constraints are satisfied within the tolerance and all limits are respected. ``status``
    is "solved"; "infeasible": a bar is proved to be too long for its loop; "local_minimum": the gradient of the errors
    is zero; "at_limits": the search assembled it beyond joint limits only; "loop_at_limits": with a loop joint beyond
    its limits only; "dependent_joints": the fixed joints determine each other, and the search did not satisfy all their
    values; "not_converged"; "not_finite".
    """

    q: np.ndarray  # (..., nq)
    success: Any  # (...)
    status: Any  # (...)
    residual: np.ndarray  # (..., ne): φ(q) [m, rad]
    iterations: Any  # (...): iterations of all starts together
    starts: Any  # (...): number of starts
    tolerance: float
    _fixed: FixedJoints = field(repr=False)
    _mechanism: ClosedMechanism = field(repr=False)
    _inputs: StateInputs = field(default_factory=StateInputs, repr=False)
    dependent: tuple[str, ...] = ()  # fixed joints that determine each other
    _over: np.ndarray = field(
        default_factory=lambda: np.zeros(0, dtype=bool), repr=False
    )  # (..., nq): True for coordinates beyond their limits in the solution without limits
    branches: Branches | None = field(default=None, repr=False)  # None unless requested

    @property
    def robot(self) -> Any:
        """The robot of this mechanism, with its parameters.  Raises ValueError for a batch of parameters."""
        return robot_with(self._mechanism.robot, self._inputs)

    @public
    def show(self, *, meshes: Folders | None = None, title: str | None = None, **output: Unpack[Output]) -> Any:
        """Show the assembled mechanism, all states of a batch together, and `branches` as transparent copies.

        ``meshes`` are folders of mesh files, and ``title`` is the page's title. Returns the `linkwork.viewer.View` of a
        live page, or the path of a file; see `Robot.show` for the arguments and the errors.
        """
        return show(self, output, meshes=meshes, title=title)

    @public
    def pose(self, frame: str, *, relative_to: str = "world") -> np.ndarray:
        """Return the poses (..., 4, 4) of a frame, relative to the frame ``relative_to`` [1, m].

        The robot has the parameters of `assemble`.  Raises UnknownNameError.
        """
        return poses_of(self._mechanism.robot, self._inputs, self.q, frame, relative_to)

    @property
    def error(self) -> np.ndarray:
        """Largest constraint error max |φ|, (...) [m, rad]."""
        return np.asarray(np.abs(self.residual).max(axis=-1, initial=0.0))

    @property
    def errors(self) -> dict[str, np.ndarray]:
        """Largest error of each constraint, by name, (...) [m, rad]."""
        return {
            name: np.abs(self.residual[..., part]).max(axis=-1, initial=0.0)
            for name, part in self._mechanism.error_slices.items()
        }

    @cached_property
    def sign(self) -> np.ndarray:
        """Orientation of the assembly, (...): 1, −1 or 0, the sign of a determinant.

        It is the determinant of the columns of the constraint Jacobian that belong to the joints that are not fixed.
        The sign changes when the mechanism passes a configuration in which the fixed joints do not determine it. It is
        0 if these columns do not form a square matrix, and where the mechanism is not assembled.
        """
        block = self._mechanism.dependent_block(self.q, self._fixed.names, self._inputs)
        return np.where(self.success, sign_of(block), 0)

    @cached_property
    def branch(self) -> np.ndarray:
        """Index in ``branches`` of each configuration, (...); −1 if it is on none of them, or without ``branches``."""
        if self.branches is None:
            return np.full(np.shape(self.success), -1)
        return np.where(self.success, self.branches.index(self.q), -1)

    def _sentence(self, i: tuple[int, ...]) -> str:
        name, starts = self._mechanism.robot.name, int(np.asarray(self.starts)[i])
        if np.asarray(self.success)[i]:
            result = f"{name!r} is assembled"
            fixed = f", with {self._fixed_values(i)}" if self._fixed.names else ""
            return f"{result}{fixed}: largest error {self.error[i]:.2g} ({self._worst(i)})"
        status = Status(np.asarray(self.status)[i])
        fixed = f" with {self._fixed_values(i)}" if self._fixed.names else ""
        tried = f"{starts} start{'s' if starts != 1 else ''}"
        return f"{name!r} is not assembled{fixed}: {self._why(status, i)}; {tried}, remaining error {self._worst(i)}"

    def _why(self, status: Status, i: Any) -> str:
        if status is Status.DEPENDENT_JOINTS:
            names = ", ".join(map(repr, self.dependent))
            return (
                f"the fixed joints {names} determine each other, and the search did not satisfy all their values"
                if len(self.dependent) > 1
                else f"the fixed joint {names} cannot move, and the search did not satisfy its value"
            )
        if status is Status.AT_LIMITS:
            tree = self._mechanism.tree
            joints = [body.joint_name for k, body in tree.stacked() if self._over[i][tree.q_slices[k]].any()]
            return f"the search assembled it with joints beyond their limits only: {', '.join(map(repr, joints))}"
        if status is Status.LOOP_AT_LIMITS:
            each = zip(self._mechanism.limited, self._mechanism.beyond(self.q[i], self._inputs[i]), strict=True)
            loops = dict.fromkeys(limit.joint for limit, beyond in each if beyond and limit.loop is not None)
            return f"the search closed it with loop joints beyond their limits only: {', '.join(map(repr, loops))}"
        if status is Status.LOCAL_MINIMUM:
            return "the errors are at a local minimum and cannot be reduced from there; links may be too short to reach"
        if status is Status.INFEASIBLE:
            robot = robot_with(self._mechanism.robot, self._inputs[i])
            return str(next(long_bars(robot.tree, np.asarray(robot.forward_kinematics(self.q[i])), self._fixed.names)))
        if status is Status.NOT_FINITE:
            return "a value became NaN during the iteration"
        return "the iteration did not converge"

    def _fixed_values(self, i: Any) -> str:
        q = self.q[i]
        tree = self._mechanism.tree
        slices = {name: tree.q_slices[tree.joint_index(name)] for name in self._fixed.names}
        return ", ".join(f"{name} = {', '.join(f'{x:.6g}' for x in q[part])}" for name, part in slices.items())

    def _worst(self, i: Any) -> str:
        if not self._mechanism.error_names:  # joints of six degrees of freedom close all loops
            return "no equations"
        k = int(np.argmax(np.abs(np.nan_to_num(self.residual[i], nan=np.inf))))
        name, unit = self._mechanism.error_names[k]
        return f"{abs(self.residual[i][k]):.3g} {unit} of {name!r}"

    def __str__(self) -> str:
        return f"{self._mechanism.robot.name!r}, {self.message}" if np.ndim(self.success) else self.explain()


def sign_of(block: np.ndarray) -> np.ndarray:
    """Return the sign of the determinant of matrices without the rows that are zero.

    It is 0 for matrices that are not square and numerically singular ones.
    """
    return slack_and_sign(block)[1]


def slack_and_sign(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ratio of the smallest to the largest singular value of matrices, and the result of `sign_of`.

    The ratio is 0 for dependent columns. The matrices are the constraint Jacobian's columns of joints that are not
    fixed.
    """
    *shape, rows, columns = block.shape
    if not columns:
        return np.ones(shape), np.zeros(shape, dtype=int)
    if rows < columns:
        return np.zeros(shape), np.zeros(shape, dtype=int)
    values = np.linalg.svd(block, compute_uv=False)
    slack = np.asarray(values[..., -1] / np.maximum(values[..., 0], 1e-300))
    used = np.abs(block).max(axis=-1) > _ZERO_ROW
    square = (used.sum(axis=-1) == columns) & (slack > _SINGULAR)
    if not square.any():
        return slack, np.zeros(shape, dtype=int)
    order = np.argsort(~used, axis=-1, kind="stable")[..., :columns, np.newaxis]  # the rows that are not zero
    return slack, np.where(square, np.sign(np.linalg.det(np.take_along_axis(block, order, axis=-2))), 0).astype(int)
