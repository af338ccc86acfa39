"""Rigid-body and articulated-body inertias, over any scalar.

Source: Featherstone, Rigid Body Dynamics Algorithms (RBDA), Springer 2008, sections 2.13 and 7.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork.spatial.vectors import Force, Matrix3, Motion, Symmetric3, Vec3

__all__ = ["ArticulatedInertia", "Inertia"]


@dataclass(frozen=True, slots=True)
class Inertia:
    """Inertia of a rigid body about a frame's origin O: ten elements, which add up over the parts of a body.

    ``mass`` m [kg]; ``moment`` m·c [kg m], with the centre of mass c relative to O; ``about`` the rotational inertia
    about O [kg m²].
    """

    mass: Any
    moment: Vec3
    about: Symmetric3

    @staticmethod
    def zero() -> Inertia:
        """Return the zero inertia."""
        return Inertia(0.0, Vec3.zero(), Symmetric3.zero())

    @staticmethod
    def of_parameters(parameters: Sequence[Any]) -> Inertia:
        """Return the inertia with the ten inertial parameters π: see `parameters`."""
        m, x, y, z, *about = parameters
        return Inertia(m, Vec3(x, y, z), Symmetric3(*about))

    def parameters(self) -> tuple[Any, ...]:
        """Return the ten inertial parameters of a body: mass, first moments, rotational inertia [kg, kg m, kg m²].

        π = (m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz), about the frame's origin in its axes.
        """
        return (self.mass, *self.moment, *self.about.elements())

    @property
    def is_zero(self) -> bool:
        """True if all elements are the float 0, known at trace time."""
        return all(isinstance(x, float) and x == 0.0 for x in self.parameters())

    @staticmethod
    def at_center(mass: Any, center: Vec3, about_center: Symmetric3) -> Inertia:
        """Create from the rotational inertia ``about_center`` by the parallel-axis theorem.

        ``center`` is the centre of mass in the body's frame [m].
        """
        return Inertia(mass, Vec3.zero(), about_center).shifted(center)

    def shifted(self, p: Vec3) -> Inertia:
        """Return the inertia of the same masses about the point −p [m], in the same axes.

        Relative to that point, the position of every mass changes by p.
        """
        m, h, J = self.mass, self.moment, self.about
        w = h + p * (0.5 * m)
        # J − [p×][h×] − [h×][p×] − m [p×][p×]  =  J + 2(p·w) 1 − (p wᵀ + w pᵀ),  w = h + m p/2
        a, b, c = p.x * w.x, p.y * w.y, p.z * w.z
        return Inertia(
            m,
            h + p * m,
            Symmetric3(
                J.xx + 2.0 * (b + c),
                J.xy - (p.x * w.y + p.y * w.x),
                J.xz - (p.x * w.z + p.z * w.x),
                J.yy + 2.0 * (a + c),
                J.yz - (p.y * w.z + p.z * w.y),
                J.zz + 2.0 * (a + b),
            ),
        )

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.mass + other.mass, self.moment + other.moment, self.about + other.about)

    def __sub__(self, other: Inertia) -> Inertia:
        return Inertia(self.mass - other.mass, self.moment - other.moment, self.about - other.about)

    def __matmul__(self, V: Motion) -> Force:
        """Return I V = (J ω + h × v; m v − h × ω), the momentum of a body with twist V, with h = m c (RBDA 2.62)."""
        h = self.moment
        return Force(self.about @ V.angular + h.cross(V.linear), V.linear * self.mass - h.cross(V.angular))


@dataclass(frozen=True, slots=True)
class ArticulatedInertia:
    """Symmetric 6×6 inertia [[J, H], [Hᵀ, M]], which maps a motion (ω; v) to a wrench (n; f) (RBDA 7.1).

    n = J ω + H v and f = Hᵀ ω + M v. ``angular`` is J, ``coupling`` H and ``linear`` M.
    """

    angular: Symmetric3
    coupling: Matrix3
    linear: Symmetric3

    @staticmethod
    def of(inertia: Inertia) -> ArticulatedInertia:
        """Return the inertia of a rigid body as an articulated inertia, a symmetric 6×6 matrix."""
        m = inertia.mass
        return ArticulatedInertia(inertia.about, Matrix3.cross(inertia.moment), Symmetric3.diagonal(m, m, m))

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(
            self.angular + other.angular, self.coupling + other.coupling, self.linear + other.linear
        )

    def __matmul__(self, V: Motion) -> Force:
        w, v = V.angular, V.linear
        return Force(self.angular @ w + self.coupling @ v, self.coupling.T @ w + self.linear @ v)

    def freed(self, S: Motion, U: Force, D_inv: Any, alone: bool = True) -> ArticulatedInertia:
        """Return I − U Uᵀ/D, the apparent inertia through a joint that is free along S (RBDA 7.43).

        U = I S, D = S·U, and ``D_inv`` = D⁻¹.  The result does not resist motion along S.  If S is a coordinate
        direction, its row and column are exactly zero and are not computed.  Set ``alone`` to False if D has terms in
        addition to S·U; then that row and column are computed.
        """
        J, H, M = self.angular, self.coupling, self.linear
        scaled = U * D_inv
        n, f, N, F = U.moment, U.force, scaled.moment, scaled.force
        remaining = (
            [J.xx - n.x * N.x, J.xy - n.x * N.y, J.xz - n.x * N.z, *(H.x - F * n.x)],
            [0.0, J.yy - n.y * N.y, J.yz - n.y * N.z, *(H.y - F * n.y)],
            [0.0, 0.0, J.zz - n.z * N.z, *(H.z - F * n.z)],
            [0.0, 0.0, 0.0, M.xx - f.x * F.x, M.xy - f.x * F.y, M.xz - f.x * F.z],
            [0.0, 0.0, 0.0, 0.0, M.yy - f.y * F.y, M.yz - f.y * F.z],
            [0.0, 0.0, 0.0, 0.0, 0.0, M.zz - f.z * F.z],
        )
        axis = _direction(S) if alone else None
        if axis is not None:
            remaining[axis][:] = [0.0] * 6
            for row in remaining:
                row[axis] = 0.0
        x, y, z, u, v, w = remaining
        return ArticulatedInertia(
            Symmetric3(x[0], x[1], x[2], y[1], y[2], z[2]),
            Matrix3(Vec3.of(x[3:]), Vec3.of(y[3:]), Vec3.of(z[3:])),
            Symmetric3(u[3], u[4], u[5], v[4], v[5], w[5]),
        )

    def shifted(self, p: Vec3) -> ArticulatedInertia:
        """Return the articulated inertia of the same masses about the point −p [m], in the same axes.

        Relative to that point, the position of every mass changes by p.
        """
        J, H, M = self.angular, self.coupling, self.linear
        P = Matrix3.cross(p)
        shifted = H + P @ M  # H' = H + [p×] M
        A, B = P @ H.T, P @ shifted.T  # J' = J + ([p×] Hᵀ)ᵀ + [p×] H'ᵀ
        return ArticulatedInertia(
            Symmetric3(
                J.xx + (A.x.x + B.x.x),
                J.xy + (A.y.x + B.x.y),
                J.xz + (A.z.x + B.x.z),
                J.yy + (A.y.y + B.y.y),
                J.yz + (A.z.y + B.y.z),
                J.zz + (A.z.z + B.z.z),
            ),
            shifted,
            M,
        )


def _direction(S: Motion) -> int | None:
    """Return the index of the coordinate direction of S, or None if S is not one."""
    elements = S.elements()
    moving = [k for k, x in enumerate(elements) if not (isinstance(x, float) and x == 0.0)]
    return moving[0] if len(moving) == 1 and isinstance(elements[moving[0]], float) else None
