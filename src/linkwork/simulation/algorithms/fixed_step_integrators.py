"""Explicit methods: semi-implicit Euler and Runge and Kutta's, in the chart about the step's first configuration.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed. 2006, chapters I.1 and IV.8 (Runge-Kutta
methods of Munthe-Kaas, here with the exact rates of local coordinates); Hairer, Norsett and Wanner, Solving Ordinary
Differential Equations I, 2nd ed. 1993, tables II.1.2 and II.5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.simulation.algorithms.ode_system import MotionSystem, State, plus
from linkwork.simulation.algorithms.rattle import rattle

__all__ = ["DORMAND_PRINCE", "RK4", "Tableau", "runge_kutta", "semi_implicit_euler", "stages"]

Scalars = Sequence[Any]


def semi_implicit_euler(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """v⁺ = v + h a(t, q, v), q⁺ = q ⊕ h v⁺: of first order, and symplectic where forces depend on q alone.

    A system that says how it goes on by itself is pushed, and then goes on so.  One with constraints takes a step of
    `rattle` instead.
    """
    if system.step_forces is not None:
        return rattle(system, t, q, v, h)
    v = plus(v, h, (1.0, system.acceleration(t, q, v)))
    if system.flown is not None:
        return system.flown(q, v, h)
    return system.moved(q, [h * x for x in v]), v


@dataclass(frozen=True, slots=True)
class Tableau:
    """Coefficients of a method of Runge and Kutta's: stages at times c, each from those before it by a row of A."""

    c: tuple[float, ...]
    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]


RK4 = Tableau((0.0, 0.5, 0.5, 1.0), ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))

DORMAND_PRINCE = Tableau(
    (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
)


def stages(
    system: MotionSystem, tableau: Tableau, t: Any, q: Scalars, v: Scalars, h: Any
) -> tuple[list[list[Any]], list[list[Any]]]:
    """φ̇ and v̇ of each stage of a step."""
    phi_rates: list[list[Any]] = []
    v_rates: list[list[Any]] = []
    still = [0.0] * len(v)
    for c, row in zip(tableau.c, tableau.A, strict=True):
        phi = plus(still, h, *zip(row, phi_rates, strict=True)) if row else still
        velocity = plus(v, h, *zip(row, v_rates, strict=True)) if row else v
        phi_rate, v_rate = system.rates(t + c * h if c else t, q, phi, velocity)
        phi_rates.append(phi_rate)
        v_rates.append(v_rate)
    return phi_rates, v_rates


def runge_kutta(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any, tableau: Tableau = RK4) -> State:
    """A step of a method, classical of fourth order by default."""
    phi_rates, v_rates = stages(system, tableau, t, q, v, h)
    phi = plus([0.0] * len(v), h, *zip(tableau.b, phi_rates, strict=True))
    return system.moved(q, phi), plus(v, h, *zip(tableau.b, v_rates, strict=True))
