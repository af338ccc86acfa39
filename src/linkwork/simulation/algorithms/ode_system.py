"""Equations of motion for integrators: configuration on a manifold, velocity, acceleration and step forces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.joints.base.error_context import call_joint
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves.curve_space import CurveSpace
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics
from linkwork.simulation.algorithms.passive_resistance import PassiveResistance
from linkwork.simulation.algorithms.singular_passage import SingularPassage

__all__ = ["MotionSystem", "State", "StepForces", "plus"]

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

    ``constant`` forces do not change in the step.  ``of_state(t, q, v)`` are those of the step's start.
    """

    constant: Scalars
    of_state: Callable[[Any, Scalars, Scalars], Scalars]


@dataclass(frozen=True, slots=True)
class MotionSystem:
    """Equation of motion v̇ = acceleration(t, q, v) of a tree, with further terms for particular integrators.

    ``imbalance(t, q, v, a)`` are forces that vanish if a is the acceleration, for implicit methods.  Variational
    methods use ``mechanics``, the momenta of steps, and ``forces(t, q, v)``, the forces except gravity, where ``bends``
    is True if they vary sharply with velocities.  ``step_forces`` are the forces of a step of RATTLE.  RATTLE and
    variational methods use ``resistance``, the implicit terms of passive forces.  ``flown`` integrates a step with
    constant velocity, if free bodies do not rotate uniformly.  Steps that are differentiated do not share code.
    A step that does not pass (``passes``) is not solved at singular configurations, nor where its energy rises.
    Adaptive methods take ``projected(t, q, v)``, the nearest state that satisfies constraints, and ``passage``, which
    leads past their singular configurations.
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
