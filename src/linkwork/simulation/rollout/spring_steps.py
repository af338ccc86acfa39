"""Joint springs within a step of the default method: symplectic where the step resolves them, implicit where not.

With a share g from 0 to 1 of each spring,

    (M + h D + h² K (1 + 3 g)/4) (v⁺ − v) = h (τ − K φ(q) − D v − g h K v − b),      q⁺ = q ⊕ h v⁺.

With g = 0 it is the trapezoidal rule for the midpoints between configurations, which keeps the energy of linear
springs at any step; with g = 1 it is implicit Euler, whose energy falls by 1/(1 + ω² h²) a step.  Every share between
is stable.  The share grows with ω h, ω² = K/m being that of the least inertia m which the joint feels.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed. 2006, sections I.1 and VI.3.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork.dynamics.algorithms.force_element_forces import element_rows
from linkwork.errors import SimulationWarning
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import fmax, fmin
from linkwork.kernels.kernel_cache import LazyCache

__all__ = ["element_rates", "element_shares", "implicit_shares", "least_inertias", "warn_of_implicit_springs"]

Scalars = Sequence[Any]

_SAMPLES = 32  # configurations in which inertias are looked at
_RESOLVED, _STIFF = 0.25, 4.0  # (ω h)² up to which a spring is symplectic, and from which it is implicit
_VIBRATES = 0.6  # twice the damping ratio below which what a spring does is told of as a vibration
_INERTIAS: LazyCache[tuple[float, ...]] = LazyCache(64)
_ELEMENTS: LazyCache[tuple[tuple[float, float], ...]] = LazyCache(64)
_DRIVES: LazyCache[tuple[np.ndarray, np.ndarray]] = LazyCache(
    64
)  # stiffness and damping, none where no joint has a spring


def least_inertias(robot: Any, passive: bool) -> tuple[float, ...]:
    """The least 1/(M⁻¹)ₖₖ (nv) in some configurations within the robot's limits; NaN or 0 where nothing resists."""
    return _INERTIAS.get((robot, passive), lambda: _inertias(robot, passive))


def _inertias(robot: Any, passive: bool) -> tuple[float, ...]:
    q = robot.random_configuration(seed=0, size=_SAMPLES)
    inverse = robot.constrained_mass_matrix_inverse if robot.constraints else robot.mass_matrix_inverse
    diagonal = np.diagonal(inverse(q, passive=passive), axis1=-2, axis2=-1)
    return tuple(map(float, 1.0 / diagonal.max(axis=0)))


def implicit_shares(robot: Any, stiffness: Scalars, h: Any) -> list[Any]:
    """g (nv) of springs of this stiffness (nv) in a step of h [s]."""
    if all(map(is_zero, stiffness)):
        return [0.0] * robot.nv
    each = zip(stiffness, least_inertias(robot, True), strict=True)
    return [0.0 if is_zero(k) else _share(h * h * k * (1.0 / m)) for k, m in each]


def element_shares(robot: Any, h: Any) -> list[Any]:
    """The share g of each force element's springs that a step of h [s] takes implicitly."""
    return [0.0 if square == 0.0 else _share(h * h * square) for square, _ in element_rates(robot)]


def element_rates(robot: Any) -> tuple[tuple[float, float], ...]:
    """By force element the largest ω² [1/s²] with which its springs let the robot vibrate, and the largest rate [1/s]
    at which its dampers settle it, in some configurations.
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
    """Warn of the stiffest spring, of a joint or a force element, whose vibration a step of h [s] damps more than its
    own damping does.
    """
    result = [*_fast_joints(robot, h), *_fast_elements(robot, h)]
    if not result:
        return
    omega, what = max(result)
    warnings.warn(
        f"simulate: dt: the spring in {what!r} vibrates at up to {omega:.3g} rad/s, too fast for "
        f"steps of {h:g} s: it is taken implicitly, which damps it; a step of {0.5 / omega:.2g} s keeps its energy",
        SimulationWarning,
        stacklevel=levels_up(),
    )


def _fast_joints(robot: Any, h: float) -> list[tuple[float, str]]:
    """ω [rad/s] and names of joints' springs that are told of."""
    K, D = _DRIVES.get(robot, lambda: _drives(robot))
    if not K.size:
        return []
    each = zip(K, D, least_inertias(robot, True), robot.v_names, strict=True)
    return [(math.sqrt(k / m), name) for k, d, m, name in each if k > 0.0 and m > 0.0 and _is_told(k / m, d / m, h)]


def _fast_elements(robot: Any, h: float) -> list[tuple[float, str]]:
    """The same of force elements."""
    if not robot.force_elements:
        return []
    each = zip(element_rates(robot), robot.force_elements, strict=True)
    return [(math.sqrt(square), one.name) for (square, rate), one in each if _is_told(square, rate, h)]


def _is_told(square: float, rate: float, h: float) -> bool:
    """Whether a step of h damps what vibrates with ω² = ``square`` more than its damper does, at this rate."""
    return float(_share(h * h * square)) * h * square > rate and _VIBRATES * math.sqrt(square) > rate
