"""Rotations, over any scalar.

Turns about coordinate axes: rotations whose elements are a cosine, a sine, zeros and a one.

Nearly every rotation of a robot's joint is one, up to a change of axes, and acts on tensors for less than half of the
operations that a rotation in general takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, overload

from linkwork.expr.autodiff.dual_numbers import is_same
from linkwork.expr.scalar.functions import cos, sin
from linkwork.spatial.matrix3 import Matrix3, Symmetric3
from linkwork.spatial.vec3 import Vec3

__all__ = ["Rotation", "Turn", "cos_sin"]


@dataclass(frozen=True, slots=True)
class Rotation:
    """The rotation R_ab that rewrites coordinates in b as coordinates in a; ``x y z`` are its rows.

    ``R_ab @ v_b`` gives v_a, ``R_ab @ R_bc`` gives R_ac, ``R_ab.T`` is R_ba, and ``R_ab @ S_b`` gives the symmetric
    tensor R S Rᵀ in a.  A product that acts more cheaply factor by factor keeps its two factors.
    """

    x: Vec3
    y: Vec3
    z: Vec3
    factors: tuple[Rotation, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    @staticmethod
    def identity() -> Rotation:
        """The rotation by no angle."""
        return _IDENTITY

    @staticmethod
    def about(axis: Vec3, angle: Any) -> Rotation:
        """Rotation by an angle [rad] about a unit axis: R = a aᵀ + cos·(1 − a aᵀ) + sin·[a×] (Rodrigues)."""
        return Rotation.turning(axis, cos(angle), sin(angle))

    @staticmethod
    def turning(axis: Vec3, c: Any, s: Any) -> Rotation:
        """Rotation about a unit axis by the angle of cosine c and sine s."""
        ax, ay, az = axis
        xy, xz, yz = ax * ay, ax * az, ay * az
        return Rotation(
            Vec3(ax * ax + c * (1.0 - ax * ax), xy - c * xy - s * az, xz - c * xz + s * ay),
            Vec3(xy - c * xy + s * az, ay * ay + c * (1.0 - ay * ay), yz - c * yz - s * ax),
            Vec3(xz - c * xz - s * ay, yz - c * yz + s * ax, az * az + c * (1.0 - az * az)),
        )

    @staticmethod
    def from_quaternion(w: Any, x: Any, y: Any, z: Any) -> Rotation:
        """The rotation of a unit quaternion (w, x, y, z)."""
        x2, y2, z2 = x + x, y + y, z + z
        xx, yy, zz = x * x2, y * y2, z * z2
        xy, xz, yz, wx, wy, wz = x * y2, x * z2, y * z2, w * x2, w * y2, w * z2
        return Rotation(
            Vec3(1.0 - (yy + zz), xy - wz, xz + wy),
            Vec3(xy + wz, 1.0 - (xx + zz), yz - wx),
            Vec3(xz - wy, yz + wx, 1.0 - (xx + yy)),
        )

    @staticmethod
    def from_rpy(roll: float, pitch: float, yaw: float) -> Rotation:
        """URDF's angles [rad]: about the fixed x, then y, then z axis, R = Rz(yaw)·Ry(pitch)·Rx(roll).

        Angles that are the float nearest to a multiple of π/2 give exact zeros and ones.
        """
        if roll == pitch == yaw == 0.0:
            return _IDENTITY
        (cr, sr), (cp, sp), (cy, sy) = cos_sin(roll), cos_sin(pitch), cos_sin(yaw)
        return Rotation(
            Vec3(cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            Vec3(sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            Vec3(-sp, cp * sr, cp * cr),
        )

    @property
    def T(self) -> Rotation:
        """The opposite rotation, R_ba."""
        a, b, c = self.x, self.y, self.z
        return Rotation(Vec3(a.x, b.x, c.x), Vec3(a.y, b.y, c.y), Vec3(a.z, b.z, c.z))

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Rotation) -> Rotation: ...
    @overload
    def __matmul__(self, other: Symmetric3) -> Symmetric3: ...
    @overload
    def __matmul__(self, other: Matrix3) -> Matrix3: ...
    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Rotation):
            return self._after(other)
        if self.factors and not _is_sparse(other):
            first, second = self.factors
            return first @ (second @ other)
        if isinstance(other, Vec3):
            return Vec3(self.x.dot(other), self.y.dot(other), self.z.dot(other))
        if isinstance(other, Symmetric3):
            return self._tensor(other)
        return self._times(other)

    @property
    def is_turn(self) -> bool:
        """Whether its elements show that it is a turn about a coordinate axis, up to a change of axes."""
        return Turn.of(self.rows()) is not None

    def rows(self) -> list[list[Any]]:
        """The nine elements, row by row, as nested lists."""
        return _rows(self)

    def inv_act(self, v: Vec3) -> Vec3:
        """Rᵀ v, without forming Rᵀ."""
        if self.factors:
            first, second = self.factors
            return second.inv_act(first.inv_act(v))
        a, b, c = self.x, self.y, self.z
        return Vec3(
            a.x * v.x + b.x * v.y + c.x * v.z, a.y * v.x + b.y * v.y + c.y * v.z, a.z * v.x + b.z * v.y + c.z * v.z
        )

    def congruent(self, M: Matrix3) -> Matrix3:
        """R M Rᵀ."""
        if self.factors:
            first, second = self.factors
            return first.congruent(second.congruent(M))
        turn = Turn.of(self.rows())
        if turn is not None:
            return Matrix3(*(Vec3.of(row) for row in turn.congruent(_rows(M))))
        return self._times(M) @ Matrix3(self.x, self.y, self.z).T

    def _tensor(self, S: Symmetric3) -> Symmetric3:
        """R S Rᵀ."""
        turn = Turn.of(self.rows())
        if turn is not None:
            x, y, z = turn.congruent(_rows(S))
            return Symmetric3(x[0], x[1], x[2], y[1], y[2], z[2])
        half = self._times(S)
        return Symmetric3(
            half.x.dot(self.x),
            half.x.dot(self.y),
            half.x.dot(self.z),
            half.y.dot(self.y),
            half.y.dot(self.z),
            half.z.dot(self.z),
        )

    def _times(self, M: Rotation | Matrix3 | Symmetric3) -> Matrix3:
        columns = M.T
        rows = (Vec3(row.dot(columns.x), row.dot(columns.y), row.dot(columns.z)) for row in (self.x, self.y, self.z))
        return Matrix3(*rows)

    def _after(self, other: Rotation) -> Rotation:
        """First ``other``, then this one."""
        if other.factors:
            first, second = other.factors
            return self._after(first)._after(second)
        if self.factors:
            first, second = self.factors
            last = second._after(other)
            if last.is_turn:  # about parallel axes
                return first._after(last)
        product = self._times(other)
        factors = (self, other) if _cheaper_apart(self, other) else ()
        return Rotation(product.x, product.y, product.z, factors=factors)


def _cheaper_apart(first: Rotation, second: Rotation) -> bool:
    """Whether two rotations act for fewer operations one after the other than as their product.

    So they do where both are turns about coordinate axes, unless one only renames axes, both are numbers, or their
    product is a turn too.
    """
    one, other = Turn.of(first.rows()), Turn.of(second.rows())
    if one is None or other is None or one.k == other.r:
        return False
    return not (one.renames or other.renames or (one.is_number and other.is_number))


def _is_sparse(v: Any) -> bool:
    """Whether it is a vector along a coordinate axis: three products with the elements."""
    return isinstance(v, Vec3) and sum(isinstance(x, float) and x == 0.0 for x in v) >= 2


def _rows(M: Rotation | Matrix3 | Symmetric3) -> list[list[Any]]:
    return [list(M.x), list(M.y), list(M.z)]


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine; exact where the angle is the float nearest to a multiple of π/2 (up to four turns)."""
    quarters = round(angle / (0.5 * math.pi))
    if abs(quarters) <= 16 and angle in (quarters * (0.5 * math.pi), float(quarters * _HALF_PI)):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]
    return math.cos(angle), math.sin(angle)


_HALF_PI = Fraction(0.5 * math.pi) + Fraction(6.123233995736766e-17)  # π/2 to 33 digits
_IDENTITY = Rotation(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


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
                if is_same(R[b][j], c * unit) and is_same(R[a][j], -s * unit):
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
