"""Ten inertial parameters of a rigid body: linear quantities and physical consistency.

    π = (m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz)

are the elements of an `Inertia`: mass, first moments h = m c and rotational inertia J, about a frame's origin in its
axes.  Momentum, energy and the wrench on a body are linear in π.  So each of them is a row vector times π.  An element
of the row vector is the value for a body with this parameter 1 and the others 0.

The pseudo-inertia P = ∫ (r; 1) (r; 1)ᵀ dm is a symmetric 4 × 4 matrix of the second moments of mass Σ = ½ tr(J) 1 − J,
h and m.  A distribution of mass with the parameters π exists if and only if no eigenvalue of P is negative.  Each
positive definite P is U Uᵀ, with an upper triangle U of positive diagonal.  The logarithms of the diagonal and the
elements above it are ten unbounded parameters.

Sources: Wensing, Kim and Slotine, Linear matrix inequalities for physically consistent inertial parameter
identification, IEEE RA-L 3, 2018 (the pseudo-inertia); Rucker and Wensing, Smooth parameterization of rigid-body
inertia, IEEE RA-L 7, 2022 (log-Cholesky).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import exp, log, sqrt
from linkwork.spatial.inertia import Inertia
from linkwork.spatial.rigid_motion import RigidMotion
from linkwork.spatial.vectors import Force, Motion, Vec3

__all__ = [
    "LOG_CHOLESKY",
    "PARAMETERS",
    "from_log_cholesky",
    "from_pseudo_inertia",
    "log_cholesky",
    "pseudo_inertia",
    "unit_energies",
    "unit_momenta",
    "unit_wrenches",
]

PARAMETERS = ("m", "h_x", "h_y", "h_z", "J_xx", "J_xy", "J_xz", "J_yy", "J_yz", "J_zz")
LOG_CHOLESKY = ("alpha", "d_1", "d_2", "d_3", "s_12", "s_23", "s_13", "t_1", "t_2", "t_3")

Scalars = Sequence[Any]


_UNIT = [Inertia.of_parameters([1.0 if k == j else 0.0 for j in range(10)]) for k in range(10)]


# -- quantities linear in π


def unit_wrenches(motion: RigidMotion) -> list[Force]:
    """Return, for each inertial parameter, the wrench on a body with this motion if that parameter is 1, all others 0.

    The sum of these wrenches, weighted by the parameters π, is the wrench (n; f) on a body: f = m p̈ + Ω h,  n = h ×
    p̈ + J ω̇ + ω × J ω.
    """
    w, w_dot, a, W = motion.angular_velocity, motion.angular_acceleration, motion.acceleration, motion.omega
    mass = [Force(Vec3.zero(), a)]
    first = [Force(unit.moment.cross(a), W @ unit.moment) for unit in _UNIT[1:4]]
    second = [Force(unit.about @ w_dot + w.cross(unit.about @ w), Vec3.zero()) for unit in _UNIT[4:]]
    return mass + first + second


def unit_momenta(V: Motion) -> list[Force]:
    """Return, for each inertial parameter, the momentum at a twist V if that parameter is 1 and all others are 0."""
    return [unit @ V for unit in _UNIT]


def unit_energies(V: Motion) -> list[Any]:
    """Return, for each inertial parameter, the kinetic energy at a twist V if that parameter is 1 and all others are 0.

    The energy of a body is ½ m v·v + h·(v × ω) + ½ ω·J ω.
    """
    w, v = V.angular, V.linear
    x, y, z = w
    return [0.5 * v.dot(v), *v.cross(w), 0.5 * (x * x), x * y, x * z, 0.5 * (y * y), y * z, 0.5 * (z * z)]


# -- physical consistency


def pseudo_inertia(parameters: Scalars) -> list[list[Any]]:
    """Return the pseudo-inertia P (4 × 4) of inertial parameters: [[½ tr(J) 1 − J, h], [hᵀ, m]]."""
    m, x, y, z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz = parameters
    xx, yy, zz = 0.5 * (J_yy + J_zz - J_xx), 0.5 * (J_xx + J_zz - J_yy), 0.5 * (J_xx + J_yy - J_zz)
    return [[xx, -J_xy, -J_xz, x], [-J_xy, yy, -J_yz, y], [-J_xz, -J_yz, zz, z], [x, y, z, m]]


def from_pseudo_inertia(P: Sequence[Scalars]) -> list[Any]:
    """Return the ten inertial parameters of a pseudo-inertia P (4 × 4); only the upper triangle is read.

    With the upper left block Σ of P, J = tr(Σ) 1 − Σ.
    """
    (xx, xy, xz, x), (_, yy, yz, y), (_, _, zz, z), (_, _, _, m) = P
    return [m, x, y, z, yy + zz, -xy, -xz, xx + zz, -yz, xx + yy]


def from_log_cholesky(theta: Scalars) -> list[Any]:
    """Return the ten inertial parameters for log-Cholesky parameters θ, which are unbounded; the mass is e^2α.

    θ = (α, d_1, d_2, d_3, s_12, s_23, s_13, t_1, t_2, t_3) and P = U Uᵀ,  U = e^α [[e^d_1, s_12, s_13, t_1], [0,
    e^d_2, s_23, t_2], [0, 0, e^d_3, t_3], [0, 0, 0, 1]].
    """
    alpha, d_1, d_2, d_3, s_12, s_23, s_13, x, y, z = theta
    m, a, b, c = exp(2.0 * alpha), exp(d_1), exp(d_2), exp(d_3)
    xx, yy, zz = a * a + s_12 * s_12 + s_13 * s_13 + x * x, b * b + s_23 * s_23 + y * y, c * c + z * z
    xy, xz, yz = s_12 * b + s_13 * s_23 + x * y, s_13 * c + x * z, s_23 * c + y * z
    return [m] + [m * k for k in (x, y, z, yy + zz, -xy, -xz, xx + zz, -yz, xx + yy)]


def log_cholesky(parameters: Scalars) -> list[Any]:
    """Return the log-Cholesky parameters θ of ten inertial parameters, the inverse of `from_log_cholesky`.

    The pseudo-inertia P = U Uᵀ must be positive definite.  The columns of U are computed from the last to the first.
    """
    m, *scaled = parameters
    (xx, xy, xz, x), (_, yy, yz, y), (_, _, zz, z), _ = pseudo_inertia([1.0, *(k / m for k in scaled)])
    c = sqrt(zz - z * z)
    s_13, s_23 = (xz - x * z) / c, (yz - y * z) / c
    b = sqrt(yy - y * y - s_23 * s_23)
    s_12 = (xy - x * y - s_13 * s_23) / b
    a = sqrt(xx - x * x - s_12 * s_12 - s_13 * s_13)
    return [0.5 * log(m), log(a), log(b), log(c), s_12, s_23, s_13, x, y, z]
