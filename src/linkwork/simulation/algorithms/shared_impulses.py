"""Impulses of the constraints at several configurations of a step, as one copy of code.

A step has them at its end and, past a singular configuration, at its start and in each iteration to the nearest
assembled configuration.  Written out each time, their factors would be most of the code of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork._util.cached_properties import cached_property
from linkwork.expr.control.conditional import SharedStructure
from linkwork.expr.linalg.semidefinite_solve import MORE
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import cos, sin
from linkwork.expr.scalar.symbol import Symbol
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import ConstrainedFactorization
from linkwork.mechanisms.algorithms.constraint_rows import constraint_error, rates_of
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics, Resisted

__all__ = ["SharedImpulses"]

Scalars = Sequence[Any]


@dataclass(frozen=True)
class SharedImpulses:
    """Impulses of the constraints, and their errors, at the configurations of a step.

    In a trace they are calls of one copy of code, unless ``separate``: then each has code of its own, which is
    differentiated where it is used.
    """

    mechanics: DiscreteMechanics
    separate: bool
    # indices of the coordinates of which the trace knew sines at the first call: these are inputs of the shared code
    _angles: list[list[int]] = field(default_factory=list, init=False, repr=False, compare=False)

    def factored(
        self, q: Scalars, t: Any, noise: Any, added: Scalars | None = None, resisted: Resisted = ()
    ) -> ConstrainedFactorization:
        """Return the factors of the inertia and of the constraints at a configuration q and time t.

        Rows whose squared relative size is below ``noise`` count as zero.  ``added`` and ``resisted`` are part of the
        inertia, as in `DiscreteMechanics.inverse`.
        """
        tree = self.mechanics.tree
        rates = rates_of(tree, q, [0.0] * tree.nv, t)
        return ConstrainedFactorization(self.mechanics.inverse(q, added, resisted), rates, noise)

    def released(
        self, q: Scalars, t: Any, momentum: Scalars, e: Scalars, noise: Any, more: Any = MORE, exact: float = 1.0
    ) -> list[Any]:
        """Return the velocity (nv) of a momentum (nv) at q after impulses with which G v = e (nc).

        G is the constraint Jacobian, and ``noise`` is as in `factored`.  With ``more`` the diagonal of the Delassus
        matrix is increased by this relative amount.  If ``exact`` is 1 the increase has no effect on v; if it is 0, the
        impulses are smaller.
        """
        inputs = list(q), t, list(momentum), list(e), noise, more, exact
        if self.separate:
            return self._released(*inputs)
        if not self._angles:
            known = (x.__class__ is Symbol and x.graph.sines(x) is not None for x in q)
            self._angles.append([n for n, is_known in enumerate(known) if is_known])
        sines = [function(q[n]) for n in self._angles[0] for function in (sin, cos)]
        result: list[Any] = self._shared(sines, *inputs)
        return result

    def error(self, q: Scalars, t: Any) -> list[Any]:
        """Return the errors of the holonomic constraints at a configuration q and time t."""
        result: list[Any] = self._errors(q, t) if self.separate else self._shared_errors(list(q), t)
        return result

    @cached_property
    def _shared(self) -> SharedStructure:
        def released(sines: Scalars, q: Scalars, *inputs: Any) -> list[Any]:
            for k, n in enumerate(self._angles[0]):
                if q[n].__class__ is Symbol:
                    q[n].graph.set_sines(q[n], *sines[2 * k : 2 * k + 2])
            return self._released(q, *inputs)

        return SharedStructure(released)

    @cached_property
    def _shared_errors(self) -> SharedStructure:
        return SharedStructure(self._errors)

    def _released(
        self, q: Scalars, t: Any, momentum: Scalars, e: Scalars, noise: Any, more: Any, exact: Any
    ) -> list[Any]:
        system = self.factored(q, t, noise)
        y = system.inverse.inward(momentum)
        left = [x - dot(UD, y) for x, UD in zip(e, system.UD, strict=True)]
        return system.moved(y, system.damped(more).solved(left, exact=exact))

    def _errors(self, q: Scalars, t: Any) -> list[Any]:
        return constraint_error(self.mechanics.tree, q, [t])
