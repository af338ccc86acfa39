"""Rotations, over any scalar, with a special form for rotations about a coordinate axis.

The elements of a rotation about a coordinate axis are a cosine, a sine, zeros and a one.  Nearly every rotation of a
robot's joint has this form, up to a change of axes.  It acts on tensors with less than half of the operations of a
general rotation.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any, overload

from linkwork._util.lazy_dataclass import dataclass
from linkwork.expr.autodiff.dual_numbers import is_same
from linkwork.expr.scalar.functions import cos, sin
from linkwork.spatial.vectors import Matrix3, Symmetric3, Vec3

__all__ = ["AxisRotation", "Rotation", "cos_sin"]


@dataclass(frozen=True, slots=True)
class Rotation:
    """Rotation R_ab, which maps coordinates in b to coordinates in a; ``x y z`` are its rows.

    ``R_ab @ v_b`` is v_a, ``R_ab @ R_bc`` is R_ac, ``R_ab.T`` is R_ba, and ``R_ab @ S_b`` is the symmetric tensor R S
    Rᵀ in a.  A product stores its two factors if they act with fewer operations than their product.
    """

    x: Vec3
    y: Vec3
    z: Vec3
    factors: tuple[Rotation, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    @staticmethod
    def identity() -> Rotation:
        """Return the identity."""
        return _IDENTITY

    @staticmethod
    def about(axis: Vec3, angle: Any) -> Rotation:
        """Return the rotation by an angle [rad] about a unit axis (Rodrigues).

        R = a aᵀ + cos·(1 − a aᵀ) + sin·[a×].
        """
        return Rotation.turning(axis, cos(angle), sin(angle))

    @staticmethod
    def turning(axis: Vec3, c: Any, s: Any) -> Rotation:
        """Return the rotation about a unit axis by the angle with cosine c and sine s."""
        ax, ay, az = axis
        xy, xz, yz = ax * ay, ax * az, ay * az
        return Rotation(
            Vec3(ax * ax + c * (1.0 - ax * ax), xy - c * xy - s * az, xz - c * xz + s * ay),
            Vec3(xy - c * xy + s * az, ay * ay + c * (1.0 - ay * ay), yz - c * yz - s * ax),
            Vec3(xz - c * xz - s * ay, yz - c * yz + s * ax, az * az + c * (1.0 - az * az)),
        )

    @staticmethod
    def from_quaternion(w: Any, x: Any, y: Any, z: Any) -> Rotation:
        """Return the rotation of a unit quaternion (w, x, y, z)."""
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
        """Return the rotation of URDF's angles [rad]: R = Rz(yaw)·Ry(pitch)·Rx(roll).

        The angles are about the fixed x, then y, then z axis.  Angles that are the float nearest to a multiple of π/2
        give exact zeros and ones.
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
        """Inverse rotation, R_ba."""
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
            return self._compose(other)
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
        """True if the rotation maps a coordinate axis to a coordinate axis, known at trace time.

        Such a rotation equals a rotation about a coordinate axis, up to a permutation of the axes and their directions.
        """
        return AxisRotation.of(self.rows()) is not None

    def rows(self) -> list[list[Any]]:
        """Return the nine elements, row by row, as nested lists."""
        return _rows(self)

    def inv_act(self, v: Vec3) -> Vec3:
        """Return Rᵀ v: the coordinates in b of a vector with the coordinates v in a."""
        if self.factors:
            first, second = self.factors
            return second.inv_act(first.inv_act(v))
        a, b, c = self.x, self.y, self.z
        return Vec3(
            a.x * v.x + b.x * v.y + c.x * v.z, a.y * v.x + b.y * v.y + c.y * v.z, a.z * v.x + b.z * v.y + c.z * v.z
        )

    def congruent(self, M: Matrix3) -> Matrix3:
        """Return R M Rᵀ: the matrix M of frame b in the axes of frame a."""
        if self.factors:
            first, second = self.factors
            return first.congruent(second.congruent(M))
        axis_rotation = AxisRotation.of(self.rows())
        if axis_rotation is not None:
            return Matrix3(*(Vec3.of(row) for row in axis_rotation.congruent(_rows(M))))
        return self._times(M) @ Matrix3(self.x, self.y, self.z).T

    def _tensor(self, S: Symmetric3) -> Symmetric3:
        """Return R S Rᵀ, the symmetric tensor S of frame b in the axes of frame a."""
        axis_rotation = AxisRotation.of(self.rows())
        if axis_rotation is not None:
            x, y, z = axis_rotation.congruent(_rows(S))
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

    def _compose(self, other: Rotation) -> Rotation:
        """Return the composition: first ``other``, then this rotation."""
        if other.factors:
            first, second = other.factors
            return self._compose(first)._compose(second)
        if self.factors:
            first, second = self.factors
            last = second._compose(other)
            if last.is_turn:  # about parallel axes
                return first._compose(last)
        product = self._times(other)
        factors = (self, other) if _acts_faster_factored(self, other) else ()
        return Rotation(product.x, product.y, product.z, factors=factors)


def _acts_faster_factored(first: Rotation, second: Rotation) -> bool:
    """Return True if two rotations act with fewer operations in sequence than as their product.

    This holds if both are about coordinate axes, unless one only permutes axes, both are constant, or their product is
    about a coordinate axis too.
    """
    left, right = AxisRotation.of(first.rows()), AxisRotation.of(second.rows())
    if left is None or right is None or left.k == right.r:
        return False
    return not (left.is_permutation or right.is_permutation or (left.is_constant and right.is_constant))


def _is_sparse(v: Any) -> bool:
    """Return True for a vector along a coordinate axis, which needs only three products."""
    return isinstance(v, Vec3) and sum(isinstance(x, float) and x == 0.0 for x in v) >= 2


def _rows(M: Rotation | Matrix3 | Symmetric3) -> list[list[Any]]:
    return [list(M.x), list(M.y), list(M.z)]


def cos_sin(angle: float) -> tuple[float, float]:
    """Return cosine and sine, exact for an angle that is the float nearest to a multiple of π/2.

    This covers angles of up to four revolutions.
    """
    quarters = round(angle / (0.5 * math.pi))
    if abs(quarters) <= 16 and angle in (quarters * (0.5 * math.pi), quarters * _HALF_PI / _UNIT):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]
    return math.cos(angle), math.sin(angle)


_UNIT = 1 << 110  # division of integers rounds once
_HALF_PI = int(0.5 * math.pi * _UNIT) + int(6.123233995736766e-17 * _UNIT)  # π/2 to 33 digits
_IDENTITY = Rotation(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


Rows = list[list[Any]]


@dataclass(frozen=True, slots=True)
class AxisRotation:
    """Rotation R that maps coordinate axis k to coordinate axis r, or to its opposite (sign σ = −1).

    Let i, j be the axes that follow k cyclically, and a, b the axes that follow r. R maps axis i to c a + s b, and axis
    j to σ (c b − s a), with the cosine c and sine s of the angle.
    """

    k: int
    r: int
    sign: float  # σ
    c: Any
    s: Any

    @staticmethod
    def of(R: Rows) -> AxisRotation | None:
        """Return a rotation matrix that maps a coordinate axis to a coordinate axis as an `AxisRotation`, else None.

        None is also returned if the elements do not show at trace time that the matrix is of this kind.
        """
        for k in range(3):
            for r in range(3):
                unit = R[r][k]
                if not (isinstance(unit, float) and abs(unit) == 1.0):
                    continue
                (i, j), (a, b) = _next_axes(k), _next_axes(r)
                if any(not _is_zero(x) for x in (R[r][i], R[r][j], R[a][k], R[b][k])):
                    continue
                c, s = R[a][i], R[b][i]
                if is_same(R[b][j], c * unit) and is_same(R[a][j], -s * unit):
                    return AxisRotation(k, r, unit, c, s)
        return None

    @property
    def is_permutation(self) -> bool:
        """True if the rotation only permutes axes and reverses their directions."""
        return all(isinstance(x, float) and x in (0.0, 1.0, -1.0) for x in (self.c, self.s))

    @property
    def is_constant(self) -> bool:
        return isinstance(self.c, float) and isinstance(self.s, float)

    def congruent(self, M: Rows) -> Rows:
        """Return R M Rᵀ for a 3 × 3 matrix M.

        R maps axis k to ± axis r; i, j are the axes after k, and c, s, σ the cosine, sine and sign of R. The trace of
        the block of M at rows and columns i, j is invariant, and so is its antisymmetric part. With d = s (M_ii − M_jj)
        + σ c (M_ij + M_ji) its diagonal changes by ∓ s d. Source, for symmetric M: Featherstone, Rigid Body Dynamics
        Algorithms, 2008, appendix A.4.
        """
        k, r, sign, c, s = self.k, self.r, self.sign, self.c, self.s
        (i, j), (a, b) = _next_axes(k), _next_axes(r)
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


def _next_axes(k: int) -> tuple[int, int]:
    """Return the two coordinate axes that follow axis k cyclically: 1, 2 for 0."""
    return (k + 1) % 3, (k + 2) % 3


def _is_zero(x: Any) -> bool:
    return isinstance(x, float) and x == 0.0
