"""Model of the joint forces of a motion along a path, for limits of torque in all kinds of timing.

    τ(q, v, a) = τ_2(q, v, a) + R(q, v),      R(q, 0) = 0

τ_2 is linear in a and quadratic in v: rigid bodies, armature and springs.  Along a path it is linear in s̈ and ṡ².  R
is the resistance of damping, dry friction and dampers, in the direction of the motion.  Sweeps linearize R as a
function of x = ṡ² about the speed of the previous sweep:

    R(x) ≈ R(x_0) + R'(x_0) (x − x_0)

At the solution x = x_0.  On each segment R(x_0) − R'(x_0) x_0 is bounded by its values at the nodes and at both ends,
because near rest friction changes faster than any polynomial of s.

Constraints bear part of the forces.  The forces of motors are then computed by `Robot.constrained_inverse_dynamics`.
They are a linear function of M a + h, so they have the same form.  Dampers and friction are odd functions of v, and
the other forces even ones:

    τ_2 = ½ (τ(q, v, a) + τ(q, −v, a)),      R = ½ (τ(q, v, 0) − τ(q, −v, 0))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.errors import UnderactuatedError
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import actuated_velocities
from linkwork.model.friction_laws import DEFAULT
from linkwork.model.loop_joints import body_of, loops_of

__all__ = ["TorqueModel"]

_STEP = 1e-3  # of a speed: difference for the slope of the resistance
_SHARES = np.linspace(0.0, 1.0, 17)  # of a speed: there the resistance of slower motions is evaluated
_ROOM = 0.1  # of the limits at rest: so much is left to a motion that begins
_DOUBLINGS = 8


@dataclass(frozen=True)
class TorqueModel:
    """Joint forces of a robot [N·m, N], as a sum of a part of second order and a resistance.

    ``passive`` is True if passive forces act, and ``resists`` if any of them depends on v. ``motors`` are names of
    joints: then forces act at these joints only, and constraints bear the remaining load.
    """

    robot: Any
    passive: bool
    resists: bool
    motors: tuple[str, ...] | None = None

    @staticmethod
    def of(robot: Any, passive: bool, motors: tuple[str, ...] | None = None) -> TorqueModel:
        """Create the model of a robot; ``passive`` includes the robot's passive forces."""
        if not passive:
            return TorqueModel(robot, False, False, motors)
        tree = robot.tree
        bodies = [*tree.bodies, *map(body_of, loops_of(tree))]
        dry = any(not DEFAULT.vanishes(x) for body in bodies for x in body.dry_friction)
        resists = bool(tree.force_elements) or dry or any(any(body.damping) for body in bodies)
        holds = any(any(body.armature) or any(body.drive.stiffness) for body in bodies)
        return TorqueModel(robot, resists or holds, resists, motors)

    @property
    def indices(self) -> list[int]:
        """Indices in v of the joint forces that the model returns."""
        tree = self.robot.tree
        return [*range(tree.nv)] if self.motors is None else actuated_velocities(tree, self.motors)

    def second_order(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the joint forces (..., nv) without damping and friction, linear in a and quadratic in v.

        With motors, return their m forces (..., m).
        """
        if self.motors is None:
            result: np.ndarray = self.robot.inverse_dynamics(q, v, a, passive=self.passive)
            return result - self.resistance(q, v) if self.resists else result
        forces = self._of_motors(q, v, a)
        return 0.5 * (forces + self._of_motors(q, -v, a)) if self.resists else forces

    def resistance(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return damping and friction of the joints (..., nv), or the m motor forces that overcome them (..., m)."""
        if self.motors is None:
            result: np.ndarray = self.robot.passive_force(q, 0.0 * v) - self.robot.passive_force(q, v)
        else:
            result = 0.5 * (self._of_motors(q, v, 0.0 * v) - self._of_motors(q, -v, 0.0 * v))
        return result

    def _of_motors(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the forces (..., m) of the motors.  Raises UnderactuatedError if motors cannot produce this motion."""
        try:
            tau = self.robot.constrained_inverse_dynamics(q, v, a, actuators=self.motors, passive=self.passive).tau
        except UnderactuatedError as error:
            raise error._of("time_optimal", ()) from None
        result: np.ndarray = tau[..., self.indices]
        return result

    def slope(self, q: np.ndarray, first: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Return the derivative (n, nv) of damping and friction with respect to ṡ², at n points of a path.

        ``first`` is dq/ds there, and ``speed`` (n,) is ṡ.
        """
        low, high = (1.0 - _STEP) * speed, (1.0 + _STEP) * speed
        change = self.resistance(q, first * high[:, None]) - self.resistance(q, first * low[:, None])
        result: np.ndarray = change / np.maximum(high**2 - low**2, 1e-300)[:, None]
        return result

    def slower(
        self, q: np.ndarray, first: np.ndarray, speed: np.ndarray, room: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return c_0, c_1 and S (n, nv) that bound damping and friction R at all speeds up to ``speed``.

        The bounds are c_0 + S x ≤ R ≤ c_1 + S x with x = ṡ², at n points of a path with dq/ds = ``first``. S is the
        slope dR/dx at ``speed`` (n,). S is greater where c_0 and c_1 would leave too little of ``room``, the margins
        (n, nv) at rest to the lower and upper limits.
        """
        speeds = speed[:, None] * _SHARES
        v = first[:, None] * speeds[..., None]
        values = self.resistance(np.broadcast_to(q[:, None], (*v.shape[:-1], q.shape[-1])), v)
        slope = self.slope(q, first, speed)
        for _ in range(_DOUBLINGS):
            constant = values - slope[:, None] * (speeds**2)[..., None]
            least, most = constant.min(axis=1), constant.max(axis=1)
            narrow = (room[1] - most < _ROOM * room[1]) | (room[0] + least < _ROOM * room[0])
            if not narrow.any():
                break
            slope = np.where(narrow, 2.0 * slope, slope)
        return least, most, slope
