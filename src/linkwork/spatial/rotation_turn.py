"""Turns about coordinate axes: rotations whose elements are a cosine, a sine, zeros and a one.

Nearly every rotation of a robot's joint is one, up to a change of axes, and acts on tensors for less than half of the
operations that a rotation in general takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.dual_numbers import same

__all__ = ["Turn"]

Rows = list[list[Any]]


@dataclass(frozen=True, slots=True)
class Turn:
    """A rotation R that takes axis k to axis r, or against it (σ = −1).

    With i, j after k and a, b after r (cyclically) it takes axis i to c a + s b, and axis j to σ (c b − s a).
    """

    k: int
    r: int
    sign: float  # σ
    c: Any
    s: Any

    @staticmethod
    def of(R: Rows) -> Turn | None:
        """The rotation with these rows as a turn, where its elements show that it is one."""
        for k in range(3):
            for r in range(3):
                unit = R[r][k]
                if not (isinstance(unit, float) and abs(unit) == 1.0):
                    continue
                (i, j), (a, b) = _after(k), _after(r)
                if any(not _is_zero(x) for x in (R[r][i], R[r][j], R[a][k], R[b][k])):
                    continue
                c, s = R[a][i], R[b][i]
                if same(R[b][j], c * unit) and same(R[a][j], -s * unit):
                    return Turn(k, r, unit, c, s)
        return None

    @property
    def renames(self) -> bool:
        """Whether it only renames axes and turns their directions round."""
        return all(isinstance(x, float) and x in (0.0, 1.0, -1.0) for x in (self.c, self.s))

    @property
    def is_number(self) -> bool:
        return isinstance(self.c, float) and isinstance(self.s, float)

    def congruent(self, M: Rows) -> Rows:
        """R M Rᵀ.

        The trace of the block of M at i, j stays as it is, and so does its antisymmetric part: with
        d = s (M_ii − M_jj) + σ c (M_ij + M_ji) its diagonal changes by ∓ s d.  Source, for symmetric M: Featherstone,
        Rigid Body Dynamics Algorithms, 2008, appendix A.4.
        """
        k, r, sign, c, s = self.k, self.r, self.sign, self.c, self.s
        (i, j), (a, b) = _after(k), _after(r)
        d = s * (M[i][i] - M[j][j]) + c * (M[i][j] + M[j][i]) * sign
        N = [[0.0] * 3 for _ in range(3)]
        N[r][r] = M[k][k]
        N[a][a] = M[i][i] - s * d
        N[b][b] = M[j][j] + s * d
        N[a][b] = c * d - M[j][i] * sign
        N[b][a] = c * d - M[i][j] * sign
        N[r][a] = c * M[k][i] * sign - s * M[k][j]
        N[r][b] = s * M[k][i] * sign + c * M[k][j]
        N[a][r] = c * M[i][k] * sign - s * M[j][k]
        N[b][r] = s * M[i][k] * sign + c * M[j][k]
        return N


def _after(k: int) -> tuple[int, int]:
    """The two axes after this one, cyclically."""
    return (k + 1) % 3, (k + 2) % 3


def _is_zero(x: Any) -> bool:
    return isinstance(x, float) and x == 0.0
