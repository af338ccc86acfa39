"""Equations of motion for integrators: configuration on a manifold, velocity, acceleration and step forces.

`SingularPassage` leads adaptive methods past a singular configuration of the constraints, such as a flat
parallelogram.  At a distance s from it the stages of a step, which leave the constraints by some δ, have errors of
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
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import and_, lt, or_
from linkwork.joints.base.checks import call_joint
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import ConstrainedFactorization
from linkwork.mechanisms.algorithms.constraint_projection import project_configuration
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves.curve_space import CurveSpace
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics
from linkwork.simulation.algorithms.passive_resistance import PassiveResistance
from linkwork.simulation.algorithms.shared_impulses import SharedImpulses

__all__ = ["MotionSystem", "SingularPassage", "State", "StepForces", "plus"]

Scalars = Sequence[Any]
State = tuple[list[Any], list[Any]]  # q (nq) and v (nv)


def plus(x: Scalars, h: Any, *rates: tuple[float, Scalars]) -> list[Any]:
    """Return x + h Σ c ẋ of pairs (c, ẋ)."""
    result = []
    for k, start in enumerate(x):
        change: Any = 0.0
        for c, rate in rates:
            if c:
                change = change + c * rate[k]
        result.append(start + h * change)
    return result


@dataclass(frozen=True, slots=True)
class StepForces:
    """Forces (nv) in a step of the RATTLE method, besides passive ones.

    ``constant`` forces do not change in the step.  ``of_state(t, q, v)`` are evaluated at the step's start.
    """

    constant: Scalars
    of_state: Callable[[Any, Scalars, Scalars], Scalars]


@dataclass(frozen=True, slots=True)
class MotionSystem:
    """Equation of motion v̇ = acceleration(t, q, v) of a tree, with further terms for particular integrators.

    ``imbalance(t, q, v, a)`` are forces that vanish if a is the acceleration, for implicit methods. Variational
    methods use ``mechanics``, the momenta of steps, and ``forces(t, q, v)``, the forces except gravity. ``bends`` is
    True if these vary sharply with velocities. ``step_forces`` are the forces of a step of RATTLE. RATTLE and
    variational methods use ``resistance``, the implicit terms of passive forces. ``flown`` integrates a step with
    constant velocity, if free bodies do not rotate uniformly. ``is_differentiated`` is True if steps are
    differentiated; these do not share code. Unless it ``passes``, a step counts as not solved at singular
    configurations, and where its energy rises. Adaptive methods take ``projected(t, q, v)``, the nearest state that
    satisfies constraints, and ``passage``, which leads past their singular configurations.
    """

    tree: Tree
    acceleration: Callable[[Any, Scalars, Scalars], Scalars]
    imbalance: Callable[[Any, Scalars, Scalars, Scalars], Scalars] | None = None
    mechanics: DiscreteMechanics | None = None
    bends: bool = False
    step_forces: StepForces | None = None
    resistance: PassiveResistance | None = None
    forces: Callable[[Any, Scalars, Scalars], Scalars] | None = None
    flown: Callable[[Scalars, Scalars, Any], State] | None = None
    is_differentiated: bool = False
    projected: Callable[[Any, Scalars, Scalars], State] | None = None
    passage: SingularPassage | None = None
    passes: Any = True

    @property
    def space(self) -> CurveSpace:
        """Manifold of q."""
        return CurveSpace.of(self.tree)

    def moved(self, q: Scalars, phi: Scalars) -> list[Any]:
        """Return q ⊕ φ."""
        return self.space.integrate(q, phi)

    def difference_rate(self, q: Scalars, other: Scalars, v: Scalars) -> list[Any]:
        """Return the rate (nv) of the displacement φ = other ⊖ q while ``other`` moves with velocity v."""
        space = self.space
        if space.is_plain:
            return list(v)
        result: list[Any] = []
        for joint_slice in space.joints:
            joint_velocity = v[joint_slice.in_v]
            parts = q[joint_slice.in_q], other[joint_slice.in_q], joint_velocity
            result += (
                joint_velocity
                if joint_slice.is_plain
                else call_joint(joint_slice.name, joint_slice.joint, "difference_rate", *parts)
            )
        return result

    def rates(self, t: Any, q: Scalars, phi: Scalars, v: Scalars) -> tuple[list[Any], list[Any]]:
        """Return φ̇ and v̇ at q ⊕ φ: the equation of motion in local coordinates around q."""
        if all(map(is_zero, phi)):
            return list(v), list(self.acceleration(t, q, v))
        moved = self.moved(q, phi)
        return self.difference_rate(q, moved, v), list(self.acceleration(t, moved, v))


_NEAR, _ROUNDED = 1e-3, 1e-13  # squared relative size of a row near a singular configuration, and of a dependent row
_LOST = 1e-10  # the same of a row whose velocities are rounding: they are removed by the next projection


@dataclass(frozen=True)
class SingularPassage:
    """Functions that continue the motion of a constrained system near its singular configurations.

    ``acceleration(t, q, v)`` is the acceleration in a state that satisfies the constraints.
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
