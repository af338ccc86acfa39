"""Vectors and matrices of three-dimensional space; spatial motion vectors, force vectors and subspaces.

Source: Featherstone, Rigid Body Dynamics Algorithms (RBDA), Springer 2008, chapter 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, overload

from linkwork._util.lazy_dataclass import dataclass

__all__ = ["Force", "Matrix3", "Motion", "Subspace", "Symmetric3", "Vec3", "by_rows", "cross", "cross_star"]


@dataclass(frozen=True, slots=True)
class Vec3:
    """Vector, by its coordinates in a frame.

    >>> Vec3(1.0, 0.0, 0.0).cross(Vec3(0.0, 1.0, 0.0))
    Vec3(x=0.0, y=0.0, z=1.0)
    """

    __array_ufunc__: ClassVar[None] = None

    x: Any
    y: Any
    z: Any

    @staticmethod
    def zero() -> Vec3:
        """Return the zero vector."""
        return _ZERO

    @staticmethod
    def of(elements: Any) -> Vec3:
        """Create from three coordinates ``elements``."""
        x, y, z = elements
        return Vec3(x, y, z)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.x, self.y, self.z))

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, k: Any) -> Vec3:
        return Vec3(self.x * k, self.y * k, self.z * k)

    def dot(self, other: Vec3) -> Any:
        """Return a · b with ``other``, b."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        """Return a × b with ``other``, b."""
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )


_ZERO = Vec3(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Matrix3:
    """A 3×3 matrix, by its rows x, y and z."""

    x: Vec3
    y: Vec3
    z: Vec3

    @staticmethod
    def zero() -> Matrix3:
        """Return the zero matrix."""
        return Matrix3(Vec3.zero(), Vec3.zero(), Vec3.zero())

    @staticmethod
    def cross(a: Vec3) -> Matrix3:
        """Return the matrix [a×], with [a×] b = a × b."""
        return Matrix3(Vec3(0.0, -a.z, a.y), Vec3(a.z, 0.0, -a.x), Vec3(-a.y, a.x, 0.0))

    @property
    def T(self) -> Matrix3:
        """Transpose."""
        a, b, c = self.x, self.y, self.z
        return Matrix3(Vec3(a.x, b.x, c.x), Vec3(a.y, b.y, c.y), Vec3(a.z, b.z, c.z))

    def __add__(self, other: Matrix3) -> Matrix3:
        return Matrix3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Matrix3) -> Matrix3:
        return Matrix3(self.x - other.x, self.y - other.y, self.z - other.z)

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Matrix3 | Symmetric3) -> Matrix3: ...
    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Vec3):
            return Vec3(self.x.dot(other), self.y.dot(other), self.z.dot(other))
        columns = other.T
        return Matrix3(
            Vec3(self.x.dot(columns.x), self.x.dot(columns.y), self.x.dot(columns.z)),
            Vec3(self.y.dot(columns.x), self.y.dot(columns.y), self.y.dot(columns.z)),
            Vec3(self.z.dot(columns.x), self.z.dot(columns.y), self.z.dot(columns.z)),
        )


@dataclass(frozen=True, slots=True)
class Symmetric3:
    """A symmetric 3×3 matrix, by its upper triangle: xx, xy, xz, yy, yz and zz."""

    xx: Any
    xy: Any
    xz: Any
    yy: Any
    yz: Any
    zz: Any

    @staticmethod
    def zero() -> Symmetric3:
        """Return the zero matrix."""
        return Symmetric3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @staticmethod
    def diagonal(xx: Any, yy: Any, zz: Any) -> Symmetric3:
        """Return the diagonal matrix of xx, yy and zz."""
        return Symmetric3(xx, 0.0, 0.0, yy, 0.0, zz)

    @property
    def T(self) -> Symmetric3:
        """Transpose: the matrix itself."""
        return self

    @property
    def x(self) -> Vec3:
        """First row of the symmetric matrix: (xx, xy, xz)."""
        return Vec3(self.xx, self.xy, self.xz)

    @property
    def y(self) -> Vec3:
        """Second row of the symmetric matrix: (xy, yy, yz)."""
        return Vec3(self.xy, self.yy, self.yz)

    @property
    def z(self) -> Vec3:
        """Third row of the symmetric matrix: (xz, yz, zz)."""
        return Vec3(self.xz, self.yz, self.zz)

    def __add__(self, o: Symmetric3) -> Symmetric3:
        return Symmetric3(
            self.xx + o.xx, self.xy + o.xy, self.xz + o.xz, self.yy + o.yy, self.yz + o.yz, self.zz + o.zz
        )

    def __sub__(self, o: Symmetric3) -> Symmetric3:
        return Symmetric3(
            self.xx - o.xx, self.xy - o.xy, self.xz - o.xz, self.yy - o.yy, self.yz - o.yz, self.zz - o.zz
        )

    def __mul__(self, k: Any) -> Symmetric3:
        return Symmetric3(self.xx * k, self.xy * k, self.xz * k, self.yy * k, self.yz * k, self.zz * k)

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Matrix3 | Symmetric3) -> Matrix3: ...
    def __matmul__(self, other: Any) -> Any:
        return Matrix3(self.x, self.y, self.z) @ other

    def elements(self) -> tuple[Any, ...]:
        """Return the six elements: xx, xy, xz, yy, yz, zz."""
        return (self.xx, self.xy, self.xz, self.yy, self.yz, self.zz)


@dataclass(frozen=True, slots=True)
class Motion:
    """Motion vector (ω; v), angular part first; v is the linear part at the frame's origin."""

    angular: Vec3
    linear: Vec3

    @staticmethod
    def zero() -> Motion:
        """Return the zero motion."""
        return _ZERO_MOTION

    @staticmethod
    def of(elements: Sequence[Any]) -> Motion:
        """Create from six ``elements``: angular [rad/s], then linear [m/s]."""
        return Motion(Vec3.of(elements[0:3]), Vec3.of(elements[3:6]))

    def elements(self) -> tuple[Any, ...]:
        """Return the six coordinates: angular, then linear."""
        return (*self.angular, *self.linear)

    def __add__(self, other: Motion) -> Motion:
        return Motion(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other: Motion) -> Motion:
        return Motion(self.angular - other.angular, self.linear - other.linear)

    def __neg__(self) -> Motion:
        return Motion(-self.angular, -self.linear)

    def __mul__(self, k: Any) -> Motion:
        return Motion(self.angular * k, self.linear * k)

    def dot(self, F: Force) -> Any:
        """Return the power V·F of a wrench on a motion [W]."""
        return self.angular.dot(F.moment) + self.linear.dot(F.force)


def cross(V: Motion, M: Motion) -> Motion:
    """Return V × M, the rate of a motion vector M that moves with the twist V (RBDA 2.31).

    With V = (ω; v) and M = (ω_M; v_M) it is (ω × ω_M; ω × v_M + v × ω_M).
    """
    return Motion(V.angular.cross(M.angular), V.angular.cross(M.linear) + V.linear.cross(M.angular))


def cross_star(V: Motion, F: Force) -> Force:
    """Return V ×* F, the rate of a force vector F that moves with the twist V (RBDA 2.32).

    With V = (ω; v) and F = (n; f) it is (ω × n + v × f; ω × f).
    """
    return Force(V.angular.cross(F.moment) + V.linear.cross(F.force), V.angular.cross(F.force))


def by_rows(columns: Sequence[Motion | Force]) -> list[list[Any]]:
    """Return the matrix (6 × n) of these columns, as a list of its rows."""
    elements = [column.elements() for column in columns]
    return [[column[i] for column in elements] for i in range(6)]


@dataclass(frozen=True, slots=True)
class Subspace:
    """Motion subspace of a joint, the matrix S of its columns (6 × nv).

    ``S @ v`` is the motion at velocity v, and ``S.T @ F`` are the joint forces of a wrench F.
    """

    columns: tuple[Motion, ...]

    def __matmul__(self, v: Sequence[Any]) -> Motion:
        total = Motion.zero()
        for column, rate in zip(self.columns, v, strict=True):
            total = total + column * rate
        return total

    @property
    def T(self) -> _Transposed:
        """Transpose Sᵀ, which maps a wrench to its joint forces."""
        return _Transposed(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True, slots=True)
class _Transposed:
    rows: tuple[Motion, ...]

    def __matmul__(self, F: Force) -> list[Any]:
        return [row.dot(F) for row in self.rows]


_ZERO_MOTION = Motion(Vec3.zero(), Vec3.zero())


@dataclass(frozen=True, slots=True)
class Force:
    """Force vector (n; f), the moment n and the force f; n is the moment about the frame's origin."""

    moment: Vec3
    force: Vec3

    @staticmethod
    def zero() -> Force:
        """Return the zero force vector."""
        return _ZERO_FORCE

    @staticmethod
    def of(elements: Sequence[Any]) -> Force:
        """Create from six ``elements``: moment [N m], then force [N]."""
        return Force(Vec3.of(elements[0:3]), Vec3.of(elements[3:6]))

    def elements(self) -> tuple[Any, ...]:
        """Return the six coordinates: moment, then force."""
        return (*self.moment, *self.force)

    def __add__(self, other: Force) -> Force:
        return Force(self.moment + other.moment, self.force + other.force)

    def __sub__(self, other: Force) -> Force:
        return Force(self.moment - other.moment, self.force - other.force)

    def __neg__(self) -> Force:
        return Force(-self.moment, -self.force)

    def __mul__(self, k: Any) -> Force:
        return Force(self.moment * k, self.force * k)


_ZERO_FORCE = Force(Vec3.zero(), Vec3.zero())
