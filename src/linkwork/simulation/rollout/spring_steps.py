"""Joint springs in a step of the default method: symplectic where the step resolves them, else implicit.

With a share g from 0 to 1 of each spring,

    (M + h D + h² K (1 + 3 g)/4) (v⁺ − v) = h (τ − K φ(q) − D v − g h K v − b),      q⁺ = q ⊕ h v⁺.

g = 0 is the trapezoidal rule for the midpoints between configurations, which conserves the energy of linear springs for
any step.  g = 1 is implicit Euler, whose energy falls by 1/(1 + ω² h²) a step.  Every share in between is stable.  The
share grows with ω h, where ω² = K/m and m is the smallest effective inertia of the joint.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed. 2006, sections I.1 and VI.3.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork.dynamics.algorithms.force_element_forces import element_rows
from linkwork.errors import SimulationWarning
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import fmax, fmin
from linkwork.kernels.kernel_cache import LazyCache

__all__ = [
    "WEIGHTS",
    "element_rates",
    "element_shares",
    "implicit_shares",
    "independent_inertias",
    "least_inertias",
    "warn_of_implicit_springs",
]

Scalars = Sequence[Any]

_SAMPLES = 32  # random configurations in which inertias are evaluated
_RESOLVED, _STIFF = 0.25, 4.0  # (ω h)² up to which a spring is symplectic, and from which on it is implicit
_VIBRATES = 0.6  # twice the damping ratio below which a spring vibrates, and is reported
WEIGHTS = ("inertia", "armature", "placement", "frame")  # kinds of parameters that change effective inertias
_INDEPENDENT: LazyCache[tuple[float, ...]] = LazyCache(64)
_INERTIAS: LazyCache[tuple[float, ...]] = LazyCache(64)
_ELEMENTS: LazyCache[tuple[tuple[float, float], ...]] = LazyCache(64)
_DRIVES: LazyCache[tuple[np.ndarray, np.ndarray]] = LazyCache(64)  # stiffness and damping, empty without springs


def least_inertias(robot: Any, passive: bool) -> tuple[float, ...]:
    """Return the smallest effective inertia 1/(M⁻¹)ₖₖ of each velocity (nv), NaN or 0 without inertia.

    The minimum is over random configurations within limits.
    """
    return _INERTIAS.get((robot, passive), lambda: _inertias(robot, passive))


def _inertias(robot: Any, passive: bool) -> tuple[float, ...]:
    q = robot.random_configuration(seed=0, size=_SAMPLES)
    inverse = robot.constrained_mass_matrix_inverse if robot.constraints else robot.mass_matrix_inverse
    diagonal = np.diagonal(inverse(q, passive=passive), axis1=-2, axis2=-1)
    return tuple(map(float, 1.0 / diagonal.max(axis=0)))


def independent_inertias(robot: Any, parameters: Collection[str] = ()) -> tuple[float, ...]:
    """Return inertias m (nv) that are at most those of the joints: 2 M − diag(m) is positive semidefinite.

    m is at most 1/(M⁻¹)ₖₖ, over random configurations within limits.  It is zero where the ``parameters``, by name,
    change inertias, and for a robot with joints without inertia.
    """
    if any(name.partition(":")[0] in WEIGHTS for name in parameters):
        return (0.0,) * int(robot.nv)
    return _INDEPENDENT.get(robot, lambda: _independent(robot))


def _independent(robot: Any) -> tuple[float, ...]:
    M = np.asarray(robot.mass_matrix(robot.random_configuration(seed=0, size=_SAMPLES), passive=True))
    if not (np.linalg.eigvalsh(M)[:, 0] > 0.0).all():
        return (0.0,) * int(robot.nv)
    least = 1.0 / np.diagonal(np.linalg.inv(M), axis1=-2, axis2=-1).max(axis=0)
    root = np.sqrt(least)
    share = 2.0 * np.linalg.eigvalsh(M / np.multiply.outer(root, root))[:, 0].min(initial=0.5)
    return tuple(map(float, min(share, 1.0) * least))


def implicit_shares(robot: Any, stiffness: Scalars, h: Any) -> list[Any]:
    """Return the share g (nv), from 0 to 1, by which a step of h [s] treats each joint's spring implicitly.

    0 is symplectic and 1 is implicit Euler.  ``stiffness`` (nv) are the springs'.
    """
    if all(map(is_zero, stiffness)):
        return [0.0] * robot.nv
    each = zip(stiffness, least_inertias(robot, True), strict=True)
    return [0.0 if is_zero(k) else _share(h * h * k * (1.0 / m)) for k, m in each]


def element_shares(robot: Any, h: Any) -> list[Any]:
    """Return the share, from 0 to 1, by which a step of h [s] treats each force element's springs implicitly."""
    return [0.0 if square == 0.0 else _share(h * h * square) for square, _ in element_rates(robot)]


def element_rates(robot: Any) -> tuple[tuple[float, float], ...]:
    """Return for each force element the largest ω² [1/s²] of its springs, and the largest rate [1/s] of its dampers.

    They are maxima over random configurations, with the robot's inertia.
    """
    return _ELEMENTS.get(robot, lambda: _rates(robot))


def _rates(robot: Any) -> tuple[tuple[float, float], ...]:
    n, result = len(robot.force_elements), np.zeros((len(robot.force_elements), 2))
    inverse = robot.constrained_mass_matrix_inverse if robot.constraints else robot.mass_matrix_inverse
    for q in robot.random_configuration(seed=0, size=_SAMPLES):
        K = np.zeros((n, 2, robot.nv, robot.nv))
        for row, k, stiffness, damping in element_rows(robot.tree, q.tolist()):
            K[k] += np.array([stiffness, damping])[:, None, None] * np.outer(row, row)
        result = np.maximum(result, np.abs(np.linalg.eigvals(inverse(q, passive=True) @ K)).max(axis=-1, initial=0.0))
    return tuple((float(a), float(b)) for a, b in result)


def _share(stiff: Any) -> Any:
    return fmax(0.0, fmin(1.0, (stiff - _RESOLVED) * (1.0 / (_STIFF - _RESOLVED))))


def _drives(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    K, D = np.asarray(robot.stiffness, dtype=float), np.asarray(robot.damping, dtype=float)
    return (K, D) if (K > 0.0).any() else (K[:0], D[:0])


def warn_of_implicit_springs(robot: Any, h: float) -> None:
    """Warn of the stiffest spring, of a joint or a force element, that a step of h [s] damps more than its damper."""
    result = [*_fast_joints(robot, h), *_fast_elements(robot, h)]
    if not result:
        return
    omega, what = max(result)
    warnings.warn(
        f"simulate: dt: the spring in {what!r} vibrates at up to {omega:.3g} rad/s, too fast for "
        f"steps of {h:g} s, and is treated implicitly, which damps it; use a step of {0.5 / omega:.2g} s",
        SimulationWarning,
        stacklevel=levels_up(),
    )


def _fast_joints(robot: Any, h: float) -> list[tuple[float, str]]:
    """Return ω [rad/s] and name of each joint whose spring a step of h damps more than its damper."""
    K, D = _DRIVES.get(robot, lambda: _drives(robot))
    if not K.size:
        return []
    each = zip(K, D, least_inertias(robot, True), robot.v_names, strict=True)
    return [(math.sqrt(k / m), name) for k, d, m, name in each if k > 0.0 and m > 0.0 and _is_reported(k / m, d / m, h)]


def _fast_elements(robot: Any, h: float) -> list[tuple[float, str]]:
    """Return ω [rad/s] and name of each force element whose spring a step of h damps more than its damper."""
    if not robot.force_elements:
        return []
    each = zip(element_rates(robot), robot.force_elements, strict=True)
    return [(math.sqrt(square), one.name) for (square, rate), one in each if _is_reported(square, rate, h)]


def _is_reported(square: float, rate: float, h: float) -> bool:
    """Return True if a step of h [s] damps a vibration more than its damper does, so that this is reported.

    ``square`` is ω² of the vibration [1/s²], and ``rate`` that of the damper [1/s].
    """
    return float(_share(h * h * square)) * h * square > rate and _VIBRATES * math.sqrt(square) > rate
