"""A robot as methods of simulation ask about it, on symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...algorithms.simulation import METHODS, MotionSystem
from ...expr.arrays import array
from ...expr.functions import tanh

__all__ = ["SimulatedDynamics"]

Scalars = Sequence[Any]

_OF_JOINTS = ("armature", "damping", "friction", "friction_velocity", "stiffness")


@dataclass(frozen=True)
class SimulatedDynamics:
    """A robot with other ``parameters`` than its own, and how it is stepped by h [s]."""

    robot: Any
    parameters: Mapping[str, Any]
    method: str
    passive: bool
    h: Any

    def system(self, tau: Scalars) -> MotionSystem:
        """Under joint forces τ (nv), held over the step, with what is in the joints."""
        held, passive = array(list(tau)), self.passive
        moving: Any = self.robot.with_parameters(dict(self.parameters)) if self.parameters else self.robot
        method = METHODS[self.method]

        def acceleration(t: Any, q: Scalars, v: Scalars) -> Scalars:
            return list(moving.forward_dynamics(array(list(q)), array(list(v)), held, passive=passive))

        def imbalance(t: Any, q: Scalars, v: Scalars, a: Scalars) -> Scalars:
            tau = moving.inverse_dynamics(array(list(q)), array(list(v)), array(list(a)), passive=passive)
            return [x - y for x, y in zip(tau, held, strict=True)]

        if method.by_action:
            return self._by_action(moving, acceleration, held)
        if not (passive and method.damped_within) or self.robot.tree.has_couplings:
            return MotionSystem(self.robot.tree, acceleration, imbalance if method.by_forces else None)
        return MotionSystem(self.robot.tree, self._damped(moving, held))

    def held(self, t: Any, q: Scalars, v: Scalars) -> tuple[list[Any], list[Any]]:
        """The nearest state in which what closes loops, and what rolls, holds; of a robot without such, the state."""
        if not self.robot.constraints:
            return list(q), list(v)
        moving: Any = self.robot.with_parameters(dict(self.parameters)) if self.parameters else self.robot
        timed = {"time": t}
        at = moving.project_configuration(array(list(q)), **timed)[0]
        return list(at), list(moving.project_velocity(at, array(list(v)), **timed))

    def _damped(self, moving: Any, held: Any) -> Any:
        """v̇ with the joints' own forces τ_p of the step's end: (M + h D + h² K) v̇ = τ + τ_p − b − h K v.

        What is in a joint touches that joint alone, so D and K are on the diagonal, where armature is.
        """
        I, D, f, v_s, K = (self._of_joints(name) for name in _OF_JOINTS)
        still = {
            "damping": array([0.0] * len(D)),
            "friction": array([0.0] * len(D)),
            "stiffness": array([0.0] * len(D)),
        }

        def acceleration(t: Any, q: Scalars, v: Scalars) -> Scalars:
            at, rates = array(list(q)), array(list(v))
            slopes = []
            for d, dry, scale, x in zip(D, f, v_s, v, strict=True):
                bent = tanh(x / scale)
                slopes.append(d + dry / scale * (1.0 - bent * bent) if _is_some(dry) else d)
            heavier = [i + self.h * (d + self.h * k) for i, d, k in zip(I, slopes, K, strict=True)]
            own = list(moving.passive_force(at, rates))
            forces = [a + b - self.h * k * x for a, b, k, x in zip(held, own, K, v, strict=True)]
            alone = self.robot.with_parameters({**self.parameters, **still, "armature": array(heavier)})
            return list(alone.forward_dynamics(at, rates, array(forces), passive=True))

        return acceleration

    def _of_joints(self, name: str) -> list[Any]:
        """What is in the joints (nv), the robot's own or what comes in its place."""
        found = [float(x) for x in getattr(self.robot, name)]
        for key, x in self.parameters.items():
            kind, _, joint = key.partition(":")
            if kind == name:
                where = self.robot.joint(joint).v_slice if joint else slice(None)
                found[where] = list(x)
        return found

    def _by_action(self, moving: Any, acceleration: Any, held: Any) -> MotionSystem:
        passive = self.passive
        armature = self._of_joints("armature") if passive else [0.0] * self.robot.nv

        def lagrangian(q: Scalars, v: Scalars) -> Any:
            at, rates = array(list(q)), array(list(v))
            found = moving.kinetic_energy(at, rates) - moving.potential_energy(at)
            return found + sum((0.5 * m * x * x for m, x in zip(armature, v, strict=True) if _is_some(m)), 0.0)

        def momentum(q: Scalars, v: Scalars) -> Scalars:
            return list(moving.mass_matrix(array(list(q)), passive=passive) @ array(list(v)))

        def mass_inverse(q: Scalars) -> list[list[Any]]:
            return [list(row) for row in moving.mass_matrix_inverse(array(list(q)), passive=passive)]

        def forces(t: Any, q: Scalars, v: Scalars) -> list[Any]:
            if not passive:
                return list(held)
            own = moving.passive_force(array(list(q)), array(list(v)))
            return [a + b for a, b in zip(held, own, strict=True)]

        return MotionSystem(self.robot.tree, acceleration, None, lagrangian, momentum, mass_inverse, forces)


def _is_some(x: Any) -> bool:
    return not (isinstance(x, float) and x == 0.0)
