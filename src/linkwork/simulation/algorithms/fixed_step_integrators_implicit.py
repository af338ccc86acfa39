"""Implicit methods, which stiff springs and dampers do not make unstable: a root of nv equations a step.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed. 2006, section I.1; Simo and Wong,
Unconditionally stable algorithms for rigid body dynamics, 1991 (the midpoint rule on rotations).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.equations.root_finding import monotone_root
from linkwork.expr.scalar.functions import lt, where
from linkwork.simulation.algorithms.ode_system import MotionSystem, State

__all__ = ["implicit_euler", "implicit_midpoint"]

Scalars = Sequence[Any]

_STEPS = 30  # of Newton's method


def implicit_midpoint(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """v⁺ = v + h a(t + h/2, q ⊕ h w/2, w), q⁺ = q ⊕ h w at the mean w of v and v⁺: of second order, its own reverse.

    Nothing damps or gains that does not in the equations, as long as they are linear; stable at any step.
    """

    def residual(w: Any) -> Any:
        there = system.moved(q, [0.5 * h * x for x in w])
        a = [2.0 * (x - start) / h for x, start in zip(w, v, strict=True)]
        return array(_left(system, t + 0.5 * h, there, list(w), a))

    w = _solved(residual, v)
    return system.moved(q, [h * x for x in w]), [2.0 * x - start for x, start in zip(w, v, strict=True)]


def implicit_euler(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """v⁺ = v + h a(t + h, q ⊕ h v⁺, v⁺), q⁺ = q ⊕ h v⁺: of first order; what is too quick for the step is damped."""

    def residual(w: Any) -> Any:
        there = system.moved(q, [h * x for x in w])
        a = [(x - start) / h for x, start in zip(w, v, strict=True)]
        return array(_left(system, t + h, there, list(w), a))

    w = _solved(residual, v)
    return system.moved(q, [h * x for x in w]), w


def _left(system: MotionSystem, t: Any, q: Scalars, v: Scalars, a: Scalars) -> list[Any]:
    """What of the equations of motion is left at an acceleration: of forces, which stiffness leaves nearly linear."""
    if system.imbalance is not None:
        return list(system.imbalance(t, q, v, a))
    return [x - y for x, y in zip(a, system.acceleration(t, q, v), strict=True)]


def _solved(residual: Any, start: Scalars) -> list[Any]:
    """The root; infinite where Newton's method did not find one, so that it is noticed.

    Masses, dampers and dry friction resist more the faster they move, so the residual grows with w.
    """
    found = monotone_root(residual, array(list(start)), at_most=_STEPS, tolerance=1e-12)
    return [where(lt(found.status, 0.5), x, math.inf) for x in found.value]
