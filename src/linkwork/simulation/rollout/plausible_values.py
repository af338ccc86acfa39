"""Bounds of the values of a simulation, beyond which a sample counts as diverged.

Each bound is 10¹⁴ in SI units, and more for robots of more than 1 m and 1 kg m², and for steps shorter than 1 ms.
So long steps, orbits and fast wheels are allowed, and so are scenes in other units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.scalar.functions import fabs, fmin, lt
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.model.coordinate_names import units_of
from linkwork.model.tree import Tree

__all__ = ["PlausibleValues", "total"]

Scalars = Sequence[Any]

_FAR = 1e14  # [units] sum of the coordinates of q
_FAST = 1e11  # [units] sum of the displacements in _TIME
_STRONG = 1e8  # [units] the same of joint forces alone, on the inertia of the whole robot
_TIME = 1e-3  # [s] maximum unit of time: longer steps have the same bounds


@dataclass(frozen=True)
class PlausibleValues:
    """Units of q (nq), of v (nv) and of joint forces (nv), at least 1, by which their bounds scale."""

    q: list[float]
    v: list[float]
    forces: list[float]

    @staticmethod
    def of(tree: Tree) -> PlausibleValues:
        """Return the units of a robot; parameters that are symbols count as 1."""
        length, units = characteristic_length(tree), unit_steps(tree)
        known = [x for body in tree.bodies for x in _inertias(body, length) if x.__class__ is float]
        inertia = sum(known) or length * length
        return PlausibleValues(
            [max(length, 1.0) if unit == "m" else 1.0 for unit in units_of(tree, "q")],
            [max(x, 1.0) for x in units],
            [max(inertia / x, 1.0) for x in units],
        )

    def allow_state(self, q: Scalars, v: Scalars, h: Any) -> Any:
        """Return True if q and v are finite and within their bounds, for steps of h [s]."""
        return lt(total(q, self.q) + total(v, self.v) * (fmin(h, _TIME) * (_FAR / _FAST)), _FAR)

    def allow_forces(self, tau: Scalars, h: Any) -> Any:
        """Return True if joint forces are finite and within their bound, for steps of h [s]."""
        time = fmin(h, _TIME)
        return lt(total(tau, self.forces) * (time * time), _STRONG)


def _inertias(body: Any, length: float) -> list[Any]:
    """Return the mass of a body at the characteristic length, and its armature."""
    about = body.inertia.about
    mass = body.inertia.mass * (length * length)
    return [mass, about.xx, about.yy, about.zz, *body.armature]


def total(values: Scalars, units: Scalars | None = None) -> Any:
    """Return the sum of absolute values, each divided by its unit."""
    scales = [1.0 if units is None else 1.0 / units[k] for k in range(len(values))]
    return sum((fabs(x) if c == 1.0 else fabs(x) * c for x, c in zip(values, scales, strict=True)), 0.0)
