"""Manipulability task: a minimum manipulability of a frame, or as much as possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.constraint import References
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import log, where
from linkwork.ik.tasks.arguments import named
from linkwork.ik.tasks.task import AimedTask, Scalars, TaskKinematics, TaskTarget

__all__ = ["ManipulabilityTask"]

_PARTS = {"all": slice(0, 6), "position": slice(3, 6), "angular": slice(0, 3)}
_REGULARISATION = by_type(1e-12)  # added to squared singular values, so that the error is finite at singularities
_FREE = 50.0  # error of a frame that moves without motors


@public_constructor
@dataclass(frozen=True)
class ManipulabilityTask(AimedTask):
    """Task: the manipulability w = √det(J Jᵀ) of a frame is at least w₀ > 0; the error is log(w/w₀) ≥ 0.

    w₀ is the ``target``. J is the Jacobian of the frame's motion relative to ``relative_to``, or of its ``part``
    "position" or "angular".

    w differs from `Robot.manipulability`: 10⁻¹² is added to the square of each singular value of J, so that errors and
    Jacobian are finite at singularities. A soft task with an unattainable w₀ maximises w. For a mechanism, w is the
    manipulability by all motors; the task is satisfied where the frame can move although all motors are at rest.

    ``weight``, ``level``, ``tolerance`` and ``name`` are those of every `Task`.
    """

    frame: str
    _: KW_ONLY
    relative_to: str = "world"
    part: Literal["all", "position", "angular"] = "all"

    def __post_init__(self) -> None:
        named(self, "frame", "relative_to")
        if self.part not in _PARTS:
            raise ValueError(f"ManipulabilityTask: part: expected one of {', '.join(_PARTS)}, got {self.part!r}")
        self.settle(f"manipulability({self.frame})")

    @property
    def references(self) -> References:
        return References(frames=(self.frame, self.relative_to))

    @property
    def between(self) -> tuple[str, str]:
        return self.frame, self.relative_to

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((), "size", f"minimum manipulability of {self.frame!r}")

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("1",)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        return ((0.0, math.inf),)

    def errors(self, state: TaskKinematics, target: Scalars) -> list[Any]:
        closed = state.closed_manipulability(self.frame, self.relative_to, self.part, _REGULARISATION)
        if closed is not None:
            size, free = closed
            return [where(free, _FREE, size - log(target[0]))]
        columns = [list(C.elements()[_PARTS[self.part]]) for C in state.between(self.frame, self.relative_to).columns]
        columns = [column for column in columns if not all(map(is_zero, column))]
        if not columns:
            raise ValueError(f"task {self.name!r}: part: no joint produces {self.part!r} motion of {self.frame!r}")
        short = columns if len(columns) < len(columns[0]) else transposed(columns)
        return [0.5 * _log_determinant(short) - log(target[0])]

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        self.errors(state, [1.0])
        return self


def _log_determinant(rows: Sequence[Scalars]) -> Any:
    """Return log det(A Aᵀ + ε 1) by elimination; A are the ``rows``, and ε is a small constant."""
    remaining = [[dot(a, b) for b in rows[: i + 1]] for i, a in enumerate(rows)]
    for i, row in enumerate(remaining):
        row[i] = row[i] + _REGULARISATION
    total: Any = 0.0
    for k in range(len(remaining)):
        pivot = remaining[k][k]
        total = total + log(pivot)
        inverse = 1.0 / pivot
        column = [remaining[i][k] for i in range(k + 1, len(remaining))]
        for i, x in enumerate(column, start=k + 1):
            share = x * inverse
            for j, y in enumerate(column[: i - k], start=k + 1):
                remaining[i][j] = remaining[i][j] - share * y
    return total
