"""Pinocchio's results in linkwork's conventions: `benchmarks.peers.pinocchio_peer` translates states and forces.

What is added here are functions of frames, whose views it chooses by name, and of its own coordinates.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from benchmarks.peers.pinocchio_peer import PinocchioModel

from linkwork import Robot

from .example_robots import Example

__all__ = ["Pinocchio"]

LOCAL, WORLD, ALIGNED = pin.ReferenceFrame.LOCAL, pin.ReferenceFrame.WORLD, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class Pinocchio(PinocchioModel):
    """An example's model, evaluated on arrays (samples, ...) as linkwork has them."""

    VIEWS = (LOCAL, WORLD, ALIGNED)

    def __init__(self, example: Example, robot: Robot | None = None) -> None:
        """``robot`` is the example loaded otherwise: where its joints follow others, so do those there."""
        super().__init__(robot or example.robot(), example.text())

    def pose(self, q: np.ndarray, frame: str) -> np.ndarray:
        def one(model, data, q):
            pin.forwardKinematics(model, data, q)
            return pin.updateFramePlacement(model, data, self.frame(frame)).homogeneous.copy()

        return self.each(one, q)

    def twist(self, q, v, frame, view) -> np.ndarray:
        def one(model, data, q, v):
            pin.forwardKinematics(model, data, q, v)
            return self.swapped(pin.getFrameVelocity(model, data, self.frame(frame), view).vector)

        return self.each(one, q, v)

    def acceleration(self, q, v, a, frame, view) -> np.ndarray:
        def one(model, data, q, v, a):
            pin.forwardKinematics(model, data, q, v, a)
            return self.swapped(pin.getFrameClassicalAcceleration(model, data, self.frame(frame), view).vector)

        return self.each(one, q, v, a)

    def jacobian(self, q, frame, view) -> np.ndarray:
        def one(model, data, q):
            return self.ours(self.swapped(pin.computeFrameJacobian(model, data, q, self.frame(frame), view)))

        return self.each(one, q)

    def bias_force(self, q, v) -> np.ndarray:
        return self.ours(self.each(pin.nonLinearEffects, q, v))

    def gravity_force(self, q) -> np.ndarray:
        return self.ours(self.each(pin.computeGeneralizedGravity, q))

    def integrate(self, q, v) -> np.ndarray:
        """Integrate in Pinocchio's coordinates: compare with ``self.q`` of ours."""
        return self.each(lambda model, data, *x: pin.integrate(model, *x), q, v)

    def difference(self, q0, q1) -> np.ndarray:
        """Turns of continuous joints are the short way round."""
        pairs = zip(self.q(q0), self.q(q1), strict=True)
        return self.ours(np.array([pin.difference(self.model, *pair) for pair in pairs]))
