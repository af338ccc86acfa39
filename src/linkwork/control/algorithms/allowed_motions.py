"""Motions that constraints allow, for controllers of tasks: projected Jacobians, bias, and forces of the actuators.

With P = 1 − M⁻¹Gᵀ (G M⁻¹Gᵀ)⁺ G, which projects accelerations onto those that the constraints allow, joint forces
f = h + M a_0 + (J P)ᵀ F cause

    a = P a_0 + a_γ + P M⁻¹ Jᵀ F,      G a_γ = −γ,

so tasks with the Jacobian J P have the inertia (J P M⁻¹ Jᵀ)⁻¹ of minimal coordinates, and the bias J̇ v + J a_γ.
Actuators and constraints exert f together.

Sources: Khatib, A unified approach for motion and force control of robot manipulators, IEEE J. Robotics and Automation
RA-3(1), 1987; Mistry and Righetti, Operational space control of constrained and underactuated systems, RSS 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.cached_properties import cached_property
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import lt, where
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import ConstrainedFactorization
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import Actuation
from linkwork.model.tree import Tree

__all__ = ["AllowedMotions"]

Scalars = Sequence[Any]
_IMMOVABLE = 1e-20  # squared size of a projected row, relative to the row, below which the constraints prevent it


@dataclass(frozen=True)
class AllowedMotions:
    """Motions of a robot in one state that its constraints permit, and the actuators that cause them."""

    system: ConstrainedFactorization
    acting: Actuation

    @staticmethod
    def at(tree: Tree, q: Scalars, v: Scalars, time: Any, actuators: Sequence[str], armature: bool) -> AllowedMotions:
        system = ConstrainedFactorization.at(tree, q, v, time, armature)
        return AllowedMotions(system, Actuation.at(tree, q, system.rates, actuators, None))

    @cached_property
    def bias(self) -> list[Any]:
        """The smallest acceleration (nv) with which the constraints stay satisfied, in the metric of kinetic energy."""
        zeros = [0.0] * len(self.acting.inertia)
        return self.system.moved(zeros, self.system.forces(zeros, [-x for x in self.system.rates.bias]))

    def rows(self, rows: Sequence[Scalars]) -> list[list[Any]]:
        """Return J P for ``rows`` J; P projects accelerations onto those that constraints permit."""
        return [self._row(row) for row in rows]

    def _row(self, row: Scalars) -> list[Any]:
        y, G = self.system.inverse.inward(row), self.system.rates.rows
        forces = self.system.forces(y, [0.0] * len(G))
        moved = [x + dot([column[k] for column in G], forces) for k, x in enumerate(row)]
        sizes = [dot(z, self.system.inverse.weighed(z)) for z in (self.system.inverse.inward(moved), y)]
        counts = lt(_IMMOVABLE * sizes[1], sizes[0])
        return [where(counts, x, 0.0) for x in moved]

    def exerted(self, forces: Scalars) -> list[Any]:
        """Return actuator forces (nv) with the same effect on permitted motions as joint forces ``forces`` (nv).

        They are the ones of least norm.
        """
        return self.acting.split(forces)[0]
