"""Base parameters: the combinations of inertial parameters that a regressor can distinguish.

Columns of the regressor are processed in order.  A column that is a linear combination of independent earlier columns,
in all rows, is dependent: its parameter cannot be distinguished from theirs, and is grouped with them by the factors of
the combination.  With the independent columns Y_b, and Y_d = Y_b K for the others, the base parameters are
β = π_b + K π_d:

    Y π = Y_b β

Parents come before children in the order of bodies.  So the parameters of a body without effect on its joint's force
are grouped with earlier bodies, as in the rules of Gautier and Khalil.

Source: Gautier, Numerical calculation of the base inertial parameters of robots, J. Robotic Systems 8, 1991.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.messages import escaped
from linkwork._util.result import ReturnedValue

__all__ = ["BaseParameters"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class BaseParameters(ReturnedValue):
    """Base parameters β = P π: the linear combinations of the parameters π on which joint forces depend.

    Y is the regressor of inverse dynamics, τ = Y π, and Y_b are its independent columns: Y π = Y_b β in every state.
    """

    of: tuple[str, ...]  # names of π
    columns: np.ndarray  # (rank,): indices of the independent columns of Y, those of Y_b
    matrix: np.ndarray  # P (rank, npi)
    unidentifiable: tuple[str, ...]  # parameters whose columns are zero: joint forces do not depend on them
    gap: tuple[float, float]  # largest relative remainder of a dependent column, smallest of an independent one

    @staticmethod
    def of_regressor(
        Y: np.ndarray, names: Sequence[str], *, tolerance: float = 1e-9, apart: float | None = None
    ) -> BaseParameters:
        """Return the base parameters of a regressor Y (rows, npi), stacked over many states.

        ``names`` are the names of the parameters.  A column is independent if its remainder after projection on earlier
        ones is above ``apart``, relative to its length; ``tolerance`` if None.
        """
        apart = tolerance if apart is None else apart
        lengths = np.linalg.norm(Y, axis=0)
        nonzero = lengths > tolerance * lengths.max(initial=0.0)
        scaled = Y / np.where(nonzero, lengths, 1.0) * nonzero
        R: Any = np.linalg.qr(scaled, mode="r")
        basis = np.zeros((len(R), 0))
        chosen: list[int] = []
        largest, smallest = 0.0, 1.0
        for k in np.flatnonzero(nonzero):
            remaining = R[:, k]
            for _ in range(2):  # two passes of Gram-Schmidt are accurate to rounding
                remaining = remaining - basis @ (basis.T @ remaining)
            remainder = float(np.linalg.norm(remaining))
            if remainder > apart:
                chosen.append(int(k))
                basis = np.column_stack([basis, remaining / remainder])
                smallest = min(smallest, remainder)
            else:
                largest = max(largest, remainder)
        columns = np.array(chosen, dtype=np.intp)
        matrix = np.zeros((len(columns), len(names)))
        if len(columns):
            factors = np.linalg.lstsq(R[:, columns], R, rcond=None)[0]
            factors[np.abs(factors) <= tolerance] = 0.0
            matrix = factors * nonzero * lengths / lengths[columns][:, None]
            matrix[:, columns] = np.eye(len(columns))
        for array in (columns, matrix):
            array.setflags(write=False)
        unidentifiable = tuple(name for name, is_nonzero in zip(names, nonzero, strict=True) if not is_nonzero)
        return BaseParameters._make(tuple(names), columns, matrix, unidentifiable, (largest, smallest))

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters π_b, one for each base parameter, whose columns of the regressor are independent.

        Base parameter β_i is element i of π_b plus multiples of other parameters.
        """
        return tuple(self.of[k] for k in self.columns)

    @property
    def dependent(self) -> np.ndarray:
        """Indices (npi − rank,) of the columns of the regressor Y that are not among the independent ones."""
        return np.setdiff1d(np.arange(len(self.of)), self.columns)

    @property
    def grouping(self) -> np.ndarray:
        """Matrix K (rank, npi − rank) with Y_d = Y_b K, and thus β = π_b + K π_d.

        Y_b and π_b are the independent columns of the regressor and their parameters, Y_d and π_d the dependent ones.
        """
        return self.matrix[:, self.dependent]

    @property
    def identifiable(self) -> tuple[str, ...]:
        """Names of the parameters that are base parameters by themselves: no other parameter is grouped with them."""
        return tuple(name for name, row in zip(self.names, self.grouping, strict=True) if not row.any())

    def regressor(self, Y: ArrayLike) -> np.ndarray:
        """Return Y_b, the independent columns of a regressor Y: (..., npi) -> (..., rank)."""
        result: np.ndarray = np.asarray(Y)[..., self.columns]
        return result

    def values(self, parameters: ArrayLike) -> np.ndarray:
        """Compute the base parameters β of a robot with the parameters π: (..., npi) -> (..., rank)."""
        result: np.ndarray = np.asarray(parameters) @ self.matrix.T
        return result

    def expressions(self) -> tuple[str, ...]:
        """Return each base parameter as a sum, as in ``"link2.J_xx - link2.J_yy + 0.1 link3.m"``."""
        return tuple(_sum(row, self.of, first) for row, first in zip(self.matrix, self.columns, strict=True))

    def __repr__(self) -> str:
        return f"<BaseParameters: {self.rank} of {len(self.of)} parameters>"

    def __str__(self) -> str:
        return "\n".join(map(escaped, self.expressions()))


def _sum(row: np.ndarray, names: Sequence[str], first: int) -> str:
    text = names[first]
    for k in np.flatnonzero(row).tolist():
        if k != first:
            size = f"{abs(row[k]):.6g}"
            text += f" {'-' if row[k] < 0.0 else '+'} {'' if size == '1' else size + ' '}{names[k]}"
    return text
