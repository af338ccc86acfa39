"""Compliant contacts that are too stiff for a step, told before anything touches.

At a depth δ a contact is a spring of K = 3/2 k √δ on the inertia m = 1/(n M⁻¹ nᵀ) that its normal n meets.  At least it
will carry that mass; what falls on it, or comes, goes in until ½ m u² = 2/5 k δ^(5/2).

Source: Hunt and Crossley, Journal of Applied Mechanics 42, 1975; Hairer, Lubich and Wanner, Geometric Numerical
Integration, 2nd ed. 2006, section I.5 (the steps of explicit methods).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork.errors import SimulationWarning
from linkwork.simulation.contacts.contact_candidates import velocity_rows
from linkwork.simulation.simulation_spec import SimulationSetup, moving_robot

__all__ = ["warn_of_stiff_contacts"]

_FAR = 100.0  # [m]: what is farther apart is none of those that may meet
_ABOVE = 1e-3  # how much more than 1 a step may multiply by


def warn_of_stiff_contacts(
    setup: SimulationSetup, h: float, q: np.ndarray, v: np.ndarray, parameters: Mapping[str, Any], duration: float
) -> None:
    """Warn of the worst contact that steps of h [s] do not bear, from q (nq) and v (nv), with the eigenvalue."""
    contacts = setup.touched(parameters)
    assert contacts is not None
    robot: Any = moving_robot(setup.robot, setup.own(parameters))
    yielding = robot.mass_matrix_inverse(q, passive=bool(setup.passive))
    weight = float(np.linalg.norm(robot.gravity))
    worst: tuple[float, float, str] | None = None
    for place in contacts.places(robot, q):
        gap, k = float(place.gap), float(place.material.stiffness or 0.0)
        n = np.array(velocity_rows(robot, q, place)[2], dtype=float)
        yields = float(n @ yielding @ n)
        if gap > _FAR or not yields > 0.0:
            continue
        fall = 0.0 if setup.is_fed_back else min(max(gap, 0.0), 0.5 * weight * duration**2)
        square = min(float(n @ v), 0.0) ** 2 + 2.0 * weight * fall
        depths = (weight / (yields * k)) ** (2.0 / 3.0), (1.25 * square / (yields * k)) ** 0.4
        depth = max(*depths, -gap)
        stiff = 1.5 * k * math.sqrt(depth) * yields
        if worst is None or stiff > worst[0]:
            worst = stiff, depth, place.name
    if worst is None or abs(_factor(setup.method, h * h * worst[0])) <= 1.0 + _ABOVE:
        return
    stiff, depth, name = worst
    shorter = h
    while abs(_factor(setup.method, shorter * shorter * stiff)) > 1.0 + _ABOVE:
        shorter *= 0.5
    factor = _factor(setup.method, h * h * stiff)
    told = f"{factor.real:.3g}" if not factor.imag else f"{factor:.3g}"
    warnings.warn(
        f"simulate: step: {h:g} s is too long to be stable: where {name} overlap by {1e3 * depth:.2g} mm, as they may, "
        f"each step multiplies some deviation by the eigenvalue {told}; {shorter:.2g} s would do, or an implicit "
        "method, or less stiffness",
        SimulationWarning,
        stacklevel=levels_up(),
    )


def _factor(method: str, x: float) -> complex:
    """The eigenvalue of a step on a spring, x = h² K/m: of the two that with the larger size."""
    if method == "rk4":
        z = 1j * math.sqrt(x)
        return 1.0 + z + z**2 / 2.0 + z**3 / 6.0 + z**4 / 24.0
    return complex(1.0 - 0.5 * x - math.sqrt(max(0.25 * x * x - x, 0.0))) if x > 4.0 else 1.0
