"""The ten inertial parameters of a rigid body, over any scalar: what is linear in them, and those that a body can have.

    π = (m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz)

are the numbers of an `Inertia`: mass, first moments h = m c and rotational inertia J, about a frame's origin in its
axes.  Momentum, energy and the wrench that moves a body are linear in them, so each is a row of numbers, what a body of
one unit parameter would have, times π.

The pseudo-inertia P = ∫ (r; 1) (r; 1)ᵀ dm, a symmetric 4 × 4 matrix with the second moments of mass
Σ = ½ tr(J) 1 − J, h and m in it, says the same; a distribution of mass has these numbers exactly where no eigenvalue of
P is negative.  P = U Uᵀ, with U an upper triangle of positive diagonal, are all that are positive definite; logarithms
of the diagonal and what is above it are ten numbers without any bound.

Sources: Wensing, Kim and Slotine, Linear matrix inequalities for physically consistent inertial parameter
identification, IEEE RA-L 3, 2018 (the pseudo-inertia); Rucker and Wensing, Smooth parameterization of rigid-body
inertia, IEEE RA-L 7, 2022 (log-Cholesky).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import exp, log, sqrt
from linkwork.spatial.inertia import Inertia
from linkwork.spatial.matrix3 import Symmetric3
from linkwork.spatial.motion_and_force import Force, Motion
from linkwork.spatial.rigid_motion import RigidMotion
from linkwork.spatial.vec3 import Vec3

__all__ = [
    "LOG_CHOLESKY",
    "PARAMETERS",
    "from_log_cholesky",
    "from_pseudo_inertia",
    "inertia_of",
    "log_cholesky",
    "parameters_of",
    "pseudo_inertia",
    "unit_energies",
    "unit_momenta",
    "unit_wrenches",
]

PARAMETERS = ("m", "h_x", "h_y", "h_z", "J_xx", "J_xy", "J_xz", "J_yy", "J_yz", "J_zz")
LOG_CHOLESKY = ("alpha", "d_1", "d_2", "d_3", "s_12", "s_23", "s_13", "t_1", "t_2", "t_3")

Scalars = Sequence[Any]


def parameters_of(inertia: Inertia) -> tuple[Any, ...]:
    """π of an inertia [kg, kg m, kg m²]."""
    return (inertia.mass, *inertia.moment, *inertia.about.elements())


def inertia_of(parameters: Scalars) -> Inertia:
    """The inertia with these ten parameters."""
    m, x, y, z, *about = parameters
    return Inertia(m, Vec3(x, y, z), Symmetric3(*about))


_UNIT = [inertia_of([1.0 if k == j else 0.0 for j in range(10)]) for k in range(10)]


# -- what is linear in them


def unit_wrenches(motion: RigidMotion) -> list[Force]:
    """The wrenches that move bodies of one unit parameter each: π of a body weights them to its own.

    f = m p̈ + Ω h,  n = h × p̈ + J ω̇ + ω × J ω.
    """
    w, w_dot, a, W = motion.angular_velocity, motion.angular_acceleration, motion.acceleration, motion.omega
    mass = [Force(Vec3.zero(), a)]
    first = [Force(unit.moment.cross(a), W @ unit.moment) for unit in _UNIT[1:4]]
    second = [Force(unit.about @ w_dot + w.cross(unit.about @ w), Vec3.zero()) for unit in _UNIT[4:]]
    return mass + first + second


def unit_momenta(V: Motion) -> list[Force]:
    """The momenta at a twist V of bodies of one unit parameter each."""
    return [unit @ V for unit in _UNIT]


def unit_energies(V: Motion) -> list[Any]:
    """The kinetic energies at a twist V of bodies of one unit parameter each: ½ m v·v + h·(v × ω) + ½ ω·J ω."""
    w, v = V.angular, V.linear
    x, y, z = w
    return [0.5 * v.dot(v), *v.cross(w), 0.5 * (x * x), x * y, x * z, 0.5 * (y * y), y * z, 0.5 * (z * z)]


# -- those that a body can have


def pseudo_inertia(parameters: Scalars) -> list[list[Any]]:
    """P (4 × 4): [[½ tr(J) 1 − J, h], [hᵀ, m]]."""
    m, x, y, z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz = parameters
    xx, yy, zz = 0.5 * (J_yy + J_zz - J_xx), 0.5 * (J_xx + J_zz - J_yy), 0.5 * (J_xx + J_yy - J_zz)
    return [[xx, -J_xy, -J_xz, x], [-J_xy, yy, -J_yz, y], [-J_xz, -J_yz, zz, z], [x, y, z, m]]


def from_pseudo_inertia(P: Sequence[Scalars]) -> list[Any]:
    """π of a pseudo-inertia, whose upper triangle is read: J = tr(Σ) 1 − Σ."""
    (xx, xy, xz, x), (_, yy, yz, y), (_, _, zz, z), (_, _, _, m) = P
    return [m, x, y, z, yy + zz, -xy, -xz, xx + zz, -yz, xx + yy]


def from_log_cholesky(theta: Scalars) -> list[Any]:
    """π of θ = (α, d_1, d_2, d_3, s_12, s_23, s_13, t_1, t_2, t_3), any ten numbers: of a body with mass e^2α.

    P = U Uᵀ,  U = e^α [[e^d_1, s_12, s_13, t_1], [0, e^d_2, s_23, t_2], [0, 0, e^d_3, t_3], [0, 0, 0, 1]].
    """
    alpha, d_1, d_2, d_3, s_12, s_23, s_13, x, y, z = theta
    m, a, b, c = exp(2.0 * alpha), exp(d_1), exp(d_2), exp(d_3)
    xx, yy, zz = a * a + s_12 * s_12 + s_13 * s_13 + x * x, b * b + s_23 * s_23 + y * y, c * c + z * z
    xy, xz, yz = s_12 * b + s_13 * s_23 + x * y, s_13 * c + x * z, s_23 * c + y * z
    return [m] + [m * k for k in (x, y, z, yy + zz, -xy, -xz, xx + zz, -yz, xx + yy)]


def log_cholesky(parameters: Scalars) -> list[Any]:
    """θ of π, where the pseudo-inertia is positive definite: the columns of U from the last, as P = U Uᵀ has them."""
    m, *scaled = parameters
    (xx, xy, xz, x), (_, yy, yz, y), (_, _, zz, z), _ = pseudo_inertia([1.0, *(k / m for k in scaled)])
    c = sqrt(zz - z * z)
    s_13, s_23 = (xz - x * z) / c, (yz - y * z) / c
    b = sqrt(yy - y * y - s_23 * s_23)
    s_12 = (xy - x * y - s_13 * s_23) / b
    a = sqrt(xx - x * x - s_12 * s_12 - s_13 * s_13)
    return [0.5 * log(m), log(a), log(b), log(c), s_12, s_23, s_13, x, y, z]
