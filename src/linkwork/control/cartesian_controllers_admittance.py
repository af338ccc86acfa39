"""Admittance: what is aimed at gives way to a measured force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.control.cartesian_controllers import CartesianLaw, Impedance
from linkwork.control.controller_base import ControlLaw, Shapes, from_zero, positive_number
from linkwork.control.joint_controllers import JointLaw
from linkwork.expr.arrays.symbol_array import array
from linkwork.spatial import Pose, Quaternion, Vec3

__all__ = ["Admittance"]


@public_constructor
class Admittance(ControlLaw):
    """Another controller, whose target gives way by x to a measured force: M ẍ + D ẋ + K x = F.

    With a controller of joints (`PD`, `PID`, `ComputedTorque`) x is a tangent vector (nv), and F joint forces from
    outside, ``force`` (nv); with an `Impedance` it is a rotation vector and a way (6) in the world, and F the wrench on
    the frame from outside about its origin, ``force`` (6).  ``inertia`` above 0, ``damping`` and ``stiffness`` from 0
    are a number or as many as x has.  Steps of ``step`` [s], the loop's, are implicit:

        (M + h D + h² K) ẋ⁺ = M ẋ + h (F − K x),     x⁺ = x + h ẋ⁺,

    so that it is stable whatever they are.  It carries x and ẋ, and what the other controller does, and takes what that
    one takes, to which it adds ẋ and ẍ.

    Source: Villani and De Schutter, Force control, in: Springer Handbook of Robotics, 2nd ed., 2016, section 9.2.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("double_pendulum")
    >>> stiff = lw.control.ComputedTorque(robot, kp=400.0)
    >>> soft = lw.control.Admittance(stiff, inertia=1.0, damping=20.0, stiffness=50.0, step=1e-3)
    >>> tau, carried = soft(0.0, np.zeros(2), np.zeros(2), soft.start, target_q=np.zeros(2), force=[5.0, 0.0])
    >>> carried.round(6).tolist()
    [5e-06, 0.0, 0.004902, 0.0]
    """

    def __init__(self, law: ControlLaw, *, inertia: Any, damping: Any, stiffness: Any, step: float) -> None:
        if not isinstance(law, (JointLaw, Impedance)) or "target_v" not in law.takes:
            raise TypeError(f"Admittance: law: expected a controller of joints or an Impedance, got {law!r}")
        super().__init__(law.robot, law.actuator_names, law.limits[law.acting])
        self.law, self.size = law, 6 if isinstance(law, CartesianLaw) else int(law.robot.nv)
        if isinstance(law, Impedance) and (law.axes != "world" or law.inertia is not None):
            raise ValueError(
                "Admittance: law: expected an Impedance in the world's axes that keeps the robot's inertia"
            )
        shapes = [(), (self.size,)]

        def read(name: str, given: Any) -> np.ndarray:
            return np.broadcast_to(from_zero(self.who, name, given, shapes, "SI"), (self.size,)).copy()

        self.inertia, self.damping, self.stiffness = (
            read("inertia", inertia),
            read("damping", damping),
            read("stiffness", stiffness),
        )
        if not (self.inertia > 0.0).all():
            raise ValueError(f"Admittance: inertia: expected numbers above 0, got {inertia!r}")
        self.step = positive_number(self.who, "step", step, "s")
        inner = np.zeros(0) if law.start is None else law.start
        self.start = np.concatenate([np.zeros(2 * self.size), inner])

    @property
    def takes(self) -> Shapes:
        return {**self.law.takes, "force": (self.size,)}

    @property
    def poses(self) -> tuple[str, ...]:
        return self.law.poses

    @property
    def needs(self) -> tuple[str, ...]:
        return (*self.law.needs, "force")

    def forces(self, t: Any, q: Any, v: Any, z: Any, given: Mapping[str, Any]) -> tuple[Any, Any]:
        n, h = self.size, self.step
        x, rate, inner = list(z[:n]), list(z[n : 2 * n]), z[2 * n :]
        after, pushed = [], []
        for k in range(n):
            m, d, c = self.inertia[k], self.damping[k], self.stiffness[k]
            after.append((m * rate[k] + h * (given["force"][k] - c * x[k])) / (m + h * d + h * h * c))
            pushed.append((after[k] - rate[k]) / h)
        moved = [a + h * b for a, b in zip(x, after, strict=True)]
        asked = {name: y for name, y in given.items() if name != "force"}
        if isinstance(self.law, JointLaw):
            asked["target_q"] = self.robot.integrate(asked["target_q"], array(moved))
        else:
            asked["target"] = _shifted(asked["target"], moved)
        for name, change in (("target_v", after), ("target_a", pushed)):
            asked[name] = array([a + b for a, b in zip(asked.get(name, [0.0] * n), change, strict=True)])
        tau, own = self.law.forces(t, q, v, inner, asked)
        return tau, array([*moved, *after, *([] if own is None else own)])


def _shifted(target: Any, x: list[Any]) -> Any:
    """A pose turned and moved in the world."""
    X = Pose.of_elements(target.ravel().tolist())
    turned = Quaternion.exp(Vec3(*x[:3])).rotation() @ X.rotation
    found = Pose(turned, X.translation + Vec3(*x[3:]))
    return array(found.elements()).reshape(4, 4)
