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

from ..._user import levels_up
from ...bridge.once import Once
from ...errors import SimulationWarning
from ...expr.functions import fmax, fmin
from ...expr.linalg.sums import is_zero

__all__ = ["implicit_shares", "least_inertias", "warn_of_implicit_springs"]

Scalars = Sequence[Any]

_SAMPLES = 32  # configurations in which inertias are looked at
_RESOLVED, _STIFF = 0.25, 4.0  # (ω h)² up to which a spring is symplectic, and from which it is implicit
_VIBRATES = 0.6  # twice the damping ratio below which what a spring does is told of as a vibration
_INERTIAS: Once[tuple[float, ...]] = Once(64)
_DRIVES: Once[tuple[np.ndarray, np.ndarray]] = Once(64)  # stiffness and damping, none where no joint has a spring


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


def _share(stiff: Any) -> Any:
    return fmax(0.0, fmin(1.0, (stiff - _RESOLVED) * (1.0 / (_STIFF - _RESOLVED))))


def _drives(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    K, D = np.asarray(robot.stiffness, dtype=float), np.asarray(robot.damping, dtype=float)
    return (K, D) if (K > 0.0).any() else (K[:0], D[:0])


def warn_of_implicit_springs(robot: Any, h: float) -> None:
    """Warn of the stiffest joint spring whose vibration a step of h [s] damps more than the joint's own damping."""
    K, D = _DRIVES.get(robot, lambda: _drives(robot))
    if not K.size:
        return
    m = np.array(least_inertias(robot, True))
    shares = np.array([float(_share(h * h * k / x)) if k > 0.0 else 0.0 for k, x in zip(K, m, strict=True)])
    told = (shares * h * K > D) & (_VIBRATES * np.sqrt(K * m) > D)
    if not told.any():
        return
    k = int(np.argmax(np.where(told, K / m, 0.0)))
    omega = math.sqrt(K[k] / m[k])
    warnings.warn(
        f"simulate: step: the spring in {robot.v_names[k]!r} vibrates at up to {omega:.3g} rad/s, too fast for "
        f"steps of {h:g} s: it is taken implicitly, which damps it; a step of {0.5 / omega:.2g} s keeps its energy",
        SimulationWarning,
        stacklevel=levels_up(),
    )
