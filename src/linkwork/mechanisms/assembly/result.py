"""Results of assembly."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.result import Result
from linkwork.errors import Status
from linkwork.mechanisms.assembly.targets import ClosedMechanism, HeldJoints

if TYPE_CHECKING:
    from linkwork.mechanisms.assembly.assembly_branches import Branches

__all__ = ["Assembly", "sign_of", "slack_of"]


@dataclass(frozen=True, eq=False, init=False)
class Assembly(Result):
    """Configurations that satisfy a robot's constraints, or come nearest to it; of a batch, an entry for each state.

    ``success`` is True where all constraints hold within the tolerance, and limits do.  ``status`` is "solved";
    "local_minimum": no small motion closes what is open; "at_limits": without limits it is assembled;
    "loop_at_limits": it closes only with a loop joint beyond its bounds; "dependent_joints": the held joints determine
    each other; "not_converged"; "not_finite".
    """

    q: np.ndarray  # (..., nq)
    success: Any  # (...)
    status: Any  # (...)
    residual: np.ndarray  # (..., ne): φ(q) [m, rad]
    iterations: Any  # (...): steps, of all starts together
    starts: Any  # (...): number of starts that were tried
    tolerance: float
    _held: HeldJoints = field(repr=False)
    _mechanism: ClosedMechanism = field(repr=False)
    _time: Any = field(default=None, repr=False)
    dependent: tuple[str, ...] = ()  # held joints that determine each other
    _over: np.ndarray = field(
        default_factory=lambda: np.zeros(0, dtype=bool), repr=False
    )  # (..., nq): limits in the way
    branches: Branches | None = field(default=None, repr=False)  # where they were asked for

    @property
    def error(self) -> np.ndarray:
        """max |φ|, (...) [m, rad]."""
        return np.asarray(np.abs(self.residual).max(axis=-1, initial=0.0))

    @property
    def errors(self) -> dict[str, np.ndarray]:
        """The same of each constraint, by name."""
        return {
            name: np.abs(self.residual[..., place]).max(axis=-1, initial=0.0)
            for name, place in self._mechanism.error_slices.items()
        }

    @cached_property
    def sign(self) -> np.ndarray:
        """Which way round it is assembled, (...): the sign of the determinant of the free columns of G.

        It changes where the mechanism passes a position in which the held joints do not determine it.  0 where these
        columns have another number of rows, and where it is not assembled.
        """
        block = self._mechanism.dependent_block(self.q, self._held.names, self._time)
        return np.where(self.success, sign_of(block), 0)

    @cached_property
    def branch(self) -> np.ndarray:
        """Which of ``branches`` each is, (...), counted from 0; −1 where it is none, or they were not asked for."""
        if self.branches is None:
            return np.full(np.shape(self.success), -1)
        return np.where(self.success, self.branches.index(self.q), -1)

    def _sentence(self, i: tuple[int, ...]) -> str:
        name, starts = self._mechanism.robot.name, int(np.asarray(self.starts)[i])
        if np.asarray(self.success)[i]:
            result = f"{name!r} is assembled"
            what = f", with {self._holding(i)}" if self._held.names else ""
            return f"{result}{what}: the largest error is {self.error[i]:.2g} ({self._worst(i)})"
        status = Status(np.asarray(self.status)[i])
        what = f" with {self._holding(i)}" if self._held.names else ""
        tried = f"{starts} start{'s' if starts != 1 else ''}"
        return f"{name!r} is not assembled{what}: {self._why(status, i)}; {tried} tried, {self._worst(i)} is left"

    def _why(self, status: Status, i: Any) -> str:
        if status is Status.DEPENDENT_JOINTS:
            names = ", ".join(map(repr, self.dependent))
            return (
                f"the held joints {names} determine each other, and not as they are held"
                if len(self.dependent) > 1
                else f"the held joint {names} cannot move at all"
            )
        if status is Status.AT_LIMITS:
            tree = self._mechanism.tree
            joints = [body.joint_name for k, body in tree.stacked() if self._over[i][tree.q_slices[k]].any()]
            return f"without limits it would be, with {', '.join(map(repr, joints))} beyond its own"
        if status is Status.LOOP_AT_LIMITS:
            loops = [loop.name for loop in self._mechanism.bounded_loops if self._is_beyond(loop, i)]
            return f"it closes only with {', '.join(map(repr, loops))}, which close loops, beyond their bounds"
        if status is Status.LOCAL_MINIMUM:
            return "what is open is as small as it gets nearby, so it cannot be closed from there"
        if status is Status.NOT_FINITE:
            return "a number on the way was NaN"
        return "steps led nowhere"

    def _is_beyond(self, loop: Any, i: Any) -> bool:
        own = np.asarray(self._mechanism.robot.loop_configuration(self.q[i]))[..., loop.q_slice]
        lower, upper = loop.position_bounds
        return bool(((own < lower - 1e-9) | (own > upper + 1e-9)).any())

    def _holding(self, i: Any) -> str:
        q = self.q[i]
        tree = self._mechanism.tree
        places = {name: tree.q_slices[tree.joint_index(name)] for name in self._held.names}
        return ", ".join(f"{name} = {', '.join(f'{x:.6g}' for x in q[place])}" for name, place in places.items())

    def _worst(self, i: Any) -> str:
        k = int(np.argmax(np.abs(np.nan_to_num(self.residual[i], nan=np.inf))))
        name, unit = self._mechanism.error_names[k]
        return f"{abs(self.residual[i][k]):.3g} {unit} of {name!r}"

    def __str__(self) -> str:
        return f"{self._mechanism.robot.name!r}, {self.message}" if np.ndim(self.success) else self.explain()


def sign_of(block: np.ndarray) -> np.ndarray:
    """The sign of the determinant of square matrices; 0 of others, and where it is no more than rounding."""
    if block.shape[-2] != block.shape[-1] or not block.shape[-1]:
        return np.zeros(block.shape[:-2], dtype=int)
    values = np.linalg.svd(block, compute_uv=False)
    regular = values[..., -1] > 1e-9 * values[..., 0]
    return np.where(regular, np.sign(np.linalg.det(block)), 0).astype(int)


def slack_of(block: np.ndarray) -> np.ndarray:
    """How far the free columns are from depending on each other: their least singular value by the largest."""
    if not block.shape[-1]:
        return np.ones(block.shape[:-2])
    if block.shape[-2] < block.shape[-1]:
        return np.zeros(block.shape[:-2])
    values = np.linalg.svd(block, compute_uv=False)
    return np.asarray(values[..., -1] / np.maximum(values[..., 0], 1e-300))
