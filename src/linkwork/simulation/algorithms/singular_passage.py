"""States beside a singular configuration of constraints, such as a flat parallelogram, for adaptive methods.

At a distance s from such a configuration the stages of a step, which leave the constraints by some δ, have errors of
δ/s² in their accelerations, for any width of the step.  Accelerations of the nearest states that satisfy the
constraints have the same solutions, and are smooth along a branch of the motion.  Errors along the rows of the
constraints are removed by the next projection, so only the others count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.cached_properties import cached_property
from linkwork.expr.control.conditional import SharedStructure
from linkwork.expr.scalar.functions import and_, lt, or_
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import ConstrainedFactorization
from linkwork.mechanisms.algorithms.constraint_projection import project_configuration
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics
from linkwork.simulation.algorithms.shared_impulses import SharedImpulses

__all__ = ["SingularPassage"]

Scalars = Sequence[Any]

_NEAR, _ROUNDED = 1e-3, 1e-13  # squared relative size of a row near a singular configuration, and of a dependent row
_LOST = 1e-10  # the same of a row whose velocities are rounding: they are removed by the next projection


@dataclass(frozen=True)
class SingularPassage:
    """Functions that continue the motion of a constrained system near its singular configurations.

    ``acceleration(t, q, v)`` is that of a state that satisfies the constraints.
    """

    mechanics: DiscreteMechanics
    acceleration: Callable[[Any, Scalars, Scalars], Scalars]

    @cached_property
    def _shared(self) -> SharedImpulses:
        return SharedImpulses(self.mechanics, False)

    def is_near(self, t: Any, q: Scalars) -> Any:
        """Return True if the constraints are nearly dependent at q.

        Constraints that are dependent to rounding are redundant, and do not count.
        """
        rates = rates_of(self.mechanics.tree, q, [0.0] * self.mechanics.tree.nv, t)
        factorization = ConstrainedFactorization(self.mechanics.inverse(q), rates)
        factors, sizes, result = factorization.damped(_ROUNDED), factorization.sizes, False
        for k, x in zip(factors.order, factors.D_inv, strict=True):
            share = x * sizes[k]  # of the row, relative to what is left of it beside the others
            result = or_(result, and_(lt(1.0 / _NEAR, share), lt(share, 0.1 / _ROUNDED)))
        return result

    def velocity(self, t: Any, q: Scalars, v: Scalars) -> list[Any]:
        """Return the velocity (nv) nearest to v that satisfies the constraints at q."""
        return self._led(t, q, v, [-x for x in self._rates(t, q, v).drift])

    def tangent(self, t: Any, q: Scalars, x: Scalars) -> list[Any]:
        """Return the part of a displacement or velocity x (nv) along which the constraints at q permit a motion."""
        return self._led(t, q, x, [0.0] * len(self._rates(t, q, x).drift))

    @cached_property
    def nearest_acceleration(self) -> SharedStructure:
        """Function of t, q and v: the acceleration (nv) at the nearest state that satisfies the constraints."""

        def nearest(t: Any, q: Scalars, v: Scalars) -> list[Any]:
            q = project_configuration(self.mechanics.tree, q, [t])[0]
            v = self.velocity(t, q, v)
            return self._led(t, q, self.acceleration(t, q, v), [-x for x in self._rates(t, q, v).bias])

        return SharedStructure(nearest)

    def _rates(self, t: Any, q: Scalars, v: Scalars) -> Any:
        return rates_of(self.mechanics.tree, q, v, t)

    def _led(self, t: Any, q: Scalars, x: Scalars, target: Scalars) -> list[Any]:
        """Return the vector (nv) nearest to x whose product with the rows of the constraints is ``target``."""
        return self._shared.released(q, t, self.mechanics.momentum(q, x), target, _LOST, _LOST)
