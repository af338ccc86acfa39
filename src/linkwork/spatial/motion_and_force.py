"""Spatial motion vectors (twists, accelerations), force vectors (wrenches, momenta) and subspaces.

Source: Featherstone, Rigid Body Dynamics Algorithms (RBDA), Springer 2008, chapter 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork.spatial.vectors import Vec3

__all__ = ["Force", "Motion", "Subspace", "by_rows", "cross", "cross_star"]


@dataclass(frozen=True, slots=True)
class Motion:
    """Motion vector (ω; v), angular part first; v is the linear part at the frame's origin."""

    angular: Vec3
    linear: Vec3

    @staticmethod
    def zero() -> Motion:
        """Return the zero motion."""
        return _ZERO

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
    """Return V × M, the rate of a motion vector M that moves with V (RBDA 2.31).

    (ω × ω_M; ω × v_M + v × ω_M).
    """
    return Motion(V.angular.cross(M.angular), V.angular.cross(M.linear) + V.linear.cross(M.angular))


def cross_star(V: Motion, F: Force) -> Force:
    """Return V ×* F, the rate of a force vector F that moves with V (RBDA 2.32).

    (ω × n + v × f; ω × f).
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


_ZERO = Motion(Vec3.zero(), Vec3.zero())


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
