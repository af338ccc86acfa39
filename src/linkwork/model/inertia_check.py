"""Checks of inertias: impossible ones (errors), suspicious ones (warnings), and the nearest possible inertia.

Rotational inertias: with Σ = ∫ r rᵀ dm, the second moments of mass about the centre, the rotational inertia is J =
tr(Σ) 1 − Σ.  A mass distribution has it exactly if and only if Σ = ½ tr(J) 1 − J has no negative eigenvalue.  This
condition includes moments that are not negative and the triangle inequality between them.  (Σ is the upper block of the
pseudo-inertia, a 4 × 4 matrix of the ten inertial parameters, about the centre of mass; see Wensing, Kim and Slotine,
2018.)

The nearest possible inertia belongs to the nearest such Σ in the Frobenius norm, which does not depend on the axes: the
negative second moments along principal axes become zero; all others, the mass and its centre are unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from linkwork.errors import Findings, Issue, Location
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Symmetric3, Vec3
from linkwork.spatial.arguments import LARGEST

__all__ = [
    "MAX_INERTIA_CHANGE",
    "SUSPICIOUS",
    "check_inertial",
    "inertia_problems",
    "mass_properties",
    "moments_possible",
    "nearest_physical",
    "principal_moments",
]

MAX_INERTIA_CHANGE = 0.5  # relative change of the second moments of mass, up to which the nearest inertia is used
SUSPICIOUS = 1e12  # values beyond it are suspicious
_TINY = 1e-12  # masses below it [kg] are suspicious
_ROUNDING = 5e-6  # relative: half a unit of the sixth digit, as many tools print inertias
_POINT = 1e-6  # radius of gyration [m] below which moments are rounding of a point mass
_FAR = 10.0  # suspicious distance, relative to the size of the link's shapes
_LARGE = 10.0  # suspicious radius of gyration [m] if the shapes' size is unknown
_SIGNS = "no body has a negative moment: check the signs of ixy, ixz, iyz and the order of the values"
_WITHOUT = 'for kinematics only, inertia="ignore" loads the robot without inertias'


def check_inertial(
    findings: Findings,
    where: Location,
    mass: float,
    center: Vec3,
    about: Symmetric3,
    shapes: Sequence[Geometry],
    *,
    nearest: bool | None = None,
) -> Inertia:
    """Return the inertia about the link's origin of a mass [kg] at ``center`` [m], after checks.

    ``about`` is the rotational inertia about the centre of mass [kg m²], in the link's axes; ``shapes`` are the link's
    shapes.  With ``nearest``, an impossible rotational inertia is replaced by the nearest possible one; one with a
    negative eigenvalue only if that is within `MAX_INERTIA_CHANGE`.  None means that the user has no such choice, and
    hints do not mention it.

    Errors: MASS_NEGATIVE, INERTIA_NOT_PSD, INERTIA_FAR, NOT_FINITE, MAGNITUDE (values beyond `LARGEST`).  Warnings:
    MAGNITUDE (values beyond `SUSPICIOUS`), MASS_ZERO, INERTIA_TRIANGLE, INERTIA_NEAREST, INERTIA_UNITS, COM_FAR.
    """
    for quantity, unit, values, largest in (
        ("mass", "kg", (mass,), LARGEST),
        ("centre of mass", "m", tuple(center), LARGEST),
        ("moments of inertia", "kg m²", about.elements(), LARGEST**3),
    ):
        shown = _rounded(values)
        if not all(map(math.isfinite, values)):
            findings.error(Issue("NOT_FINITE", f"{quantity}: expected finite numbers, got {shown} {unit}", where))
            return Inertia.zero()
        if max(map(abs, values)) > largest:
            message = f"{quantity}: {shown} {unit} is beyond {largest:.0e}: products of such values overflow"
            findings.error(Issue("MAGNITUDE", message, where))
            return Inertia.zero()
    if mass < 0.0:
        findings.error(Issue("MASS_NEGATIVE", f"mass must not be negative, got {mass!r}", where))
        return Inertia.zero()
    errors = len(findings.errors)
    about = _possible(findings, where, mass, about, nearest)
    if len(findings.errors) > errors:
        return Inertia.zero()
    inertia = Inertia.at_center(mass, center, about)
    low, middle, high = principal_moments(about)
    shown = _rounded((low, middle, high))
    if mass == 0.0:
        if high > 0.0:
            findings.warn(Issue("MASS_ZERO", f"mass is zero but the moments of inertia are {shown} kg m²", where))
    elif not _TINY <= mass <= SUSPICIOUS:
        findings.warn(Issue("MAGNITUDE", f"suspicious magnitude: a mass of {mass:.6g} kg", where, "masses are in kg"))
    elif max(map(abs, center)) > SUSPICIOUS:
        message = f"suspicious magnitude: a centre of mass {max(map(abs, center)):.6g} m away"
        findings.warn(Issue("MAGNITUDE", message, where, "lengths are in m"))
    else:
        _check_size(findings, where, math.sqrt(max(high, 0.0) / mass), center, shapes)
    return inertia


def _possible(findings: Findings, where: Location, mass: float, about: Symmetric3, nearest: bool | None) -> Symmetric3:
    """Return the rotational inertia ``about`` the centre of mass after a check; with ``nearest`` it may be replaced.

    An impossible inertia is replaced by the nearest possible one. Records an error or a warning about it.
    """
    moments = principal_moments(about)
    negative, possible = moments_possible(mass, moments)
    if possible:
        return about
    message = f"no body has the principal moments {_rounded(moments)} kg m²: the largest exceeds the sum of the others"
    if negative:
        message = f"inertia is not positive semi-definite: its eigenvalues are {_rounded(moments)} kg m²"
    replacement, distance = nearest_physical(about)
    if nearest and (distance <= MAX_INERTIA_CHANGE or not negative):  # a violated triangle inequality is at most 58 %
        message += (
            f"; (ixx, ixy, ixz, iyy, iyz, izz) = ({_rounded(about.elements())}) in the link's axes is replaced by the "
            f"nearest possible inertia, ({_rounded(replacement.elements())}), {100.0 * distance:.3g} % away"
        )
        findings.warn(Issue("INERTIA_NEAREST", message, where))
        return replacement
    if nearest:
        most = 100.0 * MAX_INERTIA_CHANGE
        message += f"; the nearest possible inertia is {100.0 * distance:.3g} % away, more than {most:.3g} %"
        findings.error(Issue("INERTIA_FAR", message, where, f"{_SIGNS}; {_WITHOUT}"))
    elif negative:
        near = f'inertia="nearest" uses the nearest possible inertia, {100.0 * distance:.3g} % away'
        hint = _SIGNS if nearest is None else f"{_SIGNS}; {near if distance <= MAX_INERTIA_CHANGE else _WITHOUT}"
        findings.error(Issue("INERTIA_NOT_PSD", message, where, hint))
    else:
        is_planar = max(map(abs, sorted(moments)[:2])) <= 1e-12 * max(moments)
        hint = "if one moment matters, as in planar motion, give all three moments its value" if is_planar else ""
        findings.warn(Issue("INERTIA_TRIANGLE", message, where, hint))
    return about


def moments_possible(mass: float, moments: tuple[float, float, float]) -> tuple[bool, bool]:
    """Return two bools: whether a principal moment is negative, and whether some body has these moments.

    The moments are in ascending order. Violations that can be rounding of a file's numbers do not count.
    """
    low, middle, high = moments
    # Elements rounded by ε·high move an eigenvalue by up to 3 ε·high, and low + middle − high = trace − 2 high by 9.
    rounding, point = _ROUNDING * max(high, -low), _POINT * _POINT * mass
    negative = low < -(3.0 * rounding + point)
    return negative, not negative and low + middle >= high - (9.0 * rounding + point)


def _rounded(values: Iterable[float]) -> str:
    return ", ".join(f"{x:.6g}" for x in values)


def principal_moments(about: Symmetric3) -> tuple[float, float, float]:
    """Return the eigenvalues of a rotational inertia in ascending order."""
    xx, xy, xz, yy, yz, zz = about.elements()
    if xy == xz == yz == 0.0:
        low, middle, high = sorted((xx, yy, zz))
        return low, middle, high
    scale = max(abs(a) for a in about.elements())  # avoids overflow of float64
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / scale
    low, middle, high = (float(a) * scale for a in np.linalg.eigvalsh(matrix))
    return low, middle, high


def inertia_problems(inertia: Inertia) -> tuple[str, ...]:
    """Return messages that explain why no body with volume has an inertia that was rejected.

    If there is no other reason, the message is that the body has no extent in some direction.
    """
    mass, _, about = mass_properties(inertia)
    if mass <= 0.0:
        result = [f"the mass is {mass:.6g} kg"]
        if mass == 0.0 and any(inertia.moment):
            result.append(f"the first moments of mass are not zero: {_rounded(inertia.moment)} kg m")
        return tuple(result)
    moments = low, middle, high = principal_moments(about)
    seconds = [0.5 * (sum(moments) - 2.0 * x) for x in (high, middle, low)]
    shown = f"{_rounded(moments)} kg m²"
    if low < -1e-9 * high:
        return (f"a principal moment about the centre of mass is negative: {shown}",)
    if low + middle < high:
        return (f"the largest principal moment about the centre of mass exceeds the sum of the others: {shown}",)
    return (f"it has no extent in some direction: its second moments of mass are {_rounded(seconds)} kg m²",)


def _check_size(findings: Findings, where: Location, gyration: float, center: Vec3, shapes: Sequence[Geometry]) -> None:
    """Record a warning if the radius of gyration or the centre of mass does not fit the link's shapes."""
    from linkwork.model.composite_body import bounding_sphere_of

    size = bounding_sphere_of(shapes)
    hint = "are lengths in m, masses in kg, inertia in kg m², and is it about the centre of mass?"
    if size is None:
        if gyration > _LARGE:
            message = f"the radius of gyration is {gyration:.3g} m"
            findings.warn(Issue("INERTIA_UNITS", message, where, hint))
        return
    middle, reach = size
    if gyration > _FAR * reach:
        message = f"the radius of gyration is {gyration:.3g} m, but the link's shapes reach {reach:.3g} m"
        findings.warn(Issue("INERTIA_UNITS", message, where, hint))
    distance = math.hypot(*(center - middle))
    if distance > _FAR * reach:
        message = f"the centre of mass lies {distance:.3g} m from the link's shapes, which reach {reach:.3g} m"
        findings.warn(Issue("COM_FAR", message, where, hint))


def mass_properties(inertia: Inertia) -> tuple[float, Vec3, Symmetric3]:
    """Return the mass [kg], the centre of mass [m], and the rotational inertia about it [kg m²].

    These are the arguments of `Inertia.at_center`.  Without mass, the centre is the origin.
    """
    if inertia.mass == 0.0:
        return 0.0, Vec3.zero(), inertia.about
    inverse = 1.0 / inertia.mass
    if math.isfinite(inverse):
        center = inertia.moment * inverse
    else:  # a denormal number
        center = Vec3(*(component / inertia.mass for component in inertia.moment))
    return float(inertia.mass), center, inertia.shifted(-center).about


def nearest_physical(about: Symmetric3) -> tuple[Symmetric3, float]:
    """Return the possible rotational inertia nearest to ``about``, and its relative distance.

    Both are about the centre of mass.  The distance is ‖Σ' − Σ‖ / ‖Σ‖: 0 if ``about`` is possible, at most 1.
    """
    xx, xy, xz, yy, yz, zz = about.elements()
    scale = max(abs(a) for a in about.elements())  # avoids overflow of float64
    if scale == 0.0:
        return about, 0.0
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / scale
    moments, axes = np.linalg.eigh(0.5 * np.trace(J) * np.eye(3) - J)
    missing = np.maximum(-moments, 0.0)
    if not missing.any():
        return about, 0.0
    change = (axes * missing) @ axes.T
    change = scale * (np.trace(change) * np.eye(3) - change)
    upper = [float(change[i, j]) for i in range(3) for j in range(i, 3)]
    return about + Symmetric3(*upper), float(np.linalg.norm(missing) / np.linalg.norm(moments))
