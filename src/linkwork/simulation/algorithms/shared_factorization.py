"""Factors of the inertia and of the constraints at several configurations of a step, as one copy of code.

A step past a singular configuration has them at its start and in each iteration to the nearest assembled one.  Few
steps run that code, so it is calls.  The code of all steps is written out: a call would copy some thousand values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork._util.cached_properties import cached_property
from linkwork.expr.control.shared_structures import SharedStructure
from linkwork.expr.linalg.semidefinite_solve import MORE
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import ConstrainedFactorization
from linkwork.mechanisms.algorithms.constraint_rows import AllRates, constraint_error, rates_of
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics, Resisted

__all__ = ["FLAT", "SharedFactorization"]

Scalars = Sequence[Any]

FLAT = 1e-8  # squared relative size below which a row has no impulse (as in the projection of velocities)


@dataclass(frozen=True)
class SharedFactorization:
    """Factors of the inertia and of the constraints at the configurations of a step.

    In a trace, those for steps past singular configurations are calls of one copy of code, unless ``separate``: then
    each has code of its own, which is differentiated where it is used.
    """

    mechanics: DiscreteMechanics
    separate: bool

    def at(self, q: Scalars, t: Any, added: Scalars | None = None, resisted: Resisted = ()) -> ConstrainedFactorization:
        """Return the factors at a configuration q and time t, with code of their own.

        Rows that vanish in a singular configuration count as zero.  ``added`` and ``resisted`` are part of the inertia,
        as in `DiscreteMechanics.inverse`.
        """
        tree = self.mechanics.tree
        rates = rates_of(tree, q, [0.0] * tree.nv, t)
        return ConstrainedFactorization(self.mechanics.inverse(q, added, resisted), rates, FLAT)

    def of(self, q: Scalars, t: Any, noise: Any, more: Any = MORE) -> ConstrainedFactorization:
        """Return the factors at a configuration q and time t, for a step past a singular configuration.

        Rows whose squared relative size is below ``noise`` count as zero.  The diagonal of the Delassus matrix is
        increased by the relative amount ``more``.
        """
        known = self._factored(q, t, noise, more) if self.separate else self._shared(q, t, noise, more)
        return ConstrainedFactorization.known(*known)

    def error(self, q: Scalars, t: Any) -> list[Any]:
        """Return the errors of the holonomic constraints at a configuration q and time t."""
        result: list[Any] = self._errors(q, t) if self.separate else self._shared_errors(q, t)
        return result

    @cached_property
    def _shared(self) -> SharedStructure:
        return SharedStructure(self._factored)

    @cached_property
    def _shared_errors(self) -> SharedStructure:
        return SharedStructure(self._errors)

    def _factored(self, q: Scalars, t: Any, noise: Any, more: Any) -> tuple[Any, ...]:
        """Return the arguments of `ConstrainedFactorization.known`."""
        tree = self.mechanics.tree
        rates = rates_of(tree, q, [0.0] * tree.nv, t)
        held = ConstrainedFactorization(self.mechanics.inverse(q), rates, noise)
        return (
            held.inverse,
            AllRates(rates.rows, [], rates.drift, []),
            held.U,
            held.UD,
            replace(held.damped(more), A=[]),
        )

    def _errors(self, q: Scalars, t: Any) -> list[Any]:
        return constraint_error(self.mechanics.tree, q, [t])
