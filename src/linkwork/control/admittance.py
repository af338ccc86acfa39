"""Admittance control of joints and of a frame: targets shifted by a tangent vector x that moves.

For joints, q ⊕ x moves with the velocity v that belongs to the rate of ``integrate(q, x)``; for a single velocity and
for plain coordinates it is v + ẋ.  A pose is rotated by exp x, whose angular velocity is ω(x, ẋ) = 2 (ε̇ ⊗ ε*), with
the quaternion ε = exp(x/2).  Time derivatives, also those of velocities, are computed by dual numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import positive
from linkwork.control.cartesian_controllers import CartesianLaw, Impedance
from linkwork.control.controller_base import ControlLaw, Shapes, read_nonnegative
from linkwork.control.joint_law import JointLaw
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.kinematics.algorithms.joint_errors import has_plain_errors
from linkwork.model.body import Body
from linkwork.model.tree import Tree
from linkwork.spatial import Pose, Quaternion, Vec3

__all__ = ["Admittance", "shifted_motion", "shifted_pose"]

Scalars = Sequence[Any]


@public_constructor
class Admittance(ControlLaw):
    """Admittance control: shifts the target of another controller, ``law``, by x, in response to a measured force.

    The shift obeys M ẍ + D ẋ + K x = F. With a controller of joints (`PD`, `PID`, `ComputedTorque`), x is a tangent
    vector (nv), and F, the input ``force`` (nv), are external joint forces. With an `Impedance`, x (6) is a rotation
    vector and a translation in the world, and F, ``force`` (6), is the external wrench on the frame about its origin.
    ``inertia`` > 0, ``damping`` >= 0 and ``stiffness`` >= 0 are a number or an array of the size of x. Steps of ``dt``
    [s], the step of the loop, are implicit and stable for all values:

        (M + h D + h² K) ẋ⁺ = M ẋ + h (F − K x),     x⁺ = x + h ẋ⁺.

    The state is x, ẋ and the state of ``law``. Inputs are ``force`` and the inputs of ``law``. ``law`` gets the
    velocity and acceleration of the shifted target, in the axes of the shifted target.

    Source: Villani and De Schutter, Force control, in: Springer Handbook of Robotics, 2nd ed., 2016, section 9.2.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("double_pendulum")
    >>> stiff = lw.control.ComputedTorque(robot, kp=400.0)
    >>> soft = lw.control.Admittance(stiff, inertia=1.0, damping=20.0, stiffness=50.0, dt=1e-3)
    >>> tau, carried = soft(0.0, np.zeros(2), np.zeros(2), soft.start, target_q=np.zeros(2), force=[5.0, 0.0])
    >>> carried.round(6).tolist()
    [5e-06, 0.0, 0.004902, 0.0]
    """

    def __init__(self, law: ControlLaw, *, inertia: Any, damping: Any, stiffness: Any, dt: float) -> None:
        if not isinstance(law, (JointLaw, Impedance)) or "target_v" not in law.input_shapes:
            raise TypeError(f"Admittance: law: expected a controller of joints or an Impedance, got {law!r}")
        super().__init__(law.robot, law.actuator_names, law.effort_limits[law.acting])
        self.law, self.size = law, 6 if isinstance(law, CartesianLaw) else int(law.robot.nv)
        if isinstance(law, Impedance) and (law.axes != "world" or law.inertia is not None):
            raise ValueError("Admittance: law: expected an Impedance with axes='world' and without inertia")
        shapes = [(), (self.size,)]

        def read(name: str, value: Any) -> np.ndarray:
            return np.broadcast_to(read_nonnegative(self.caller, name, value, shapes, "SI"), (self.size,)).copy()

        self.inertia, self.damping, self.stiffness = (
            read("inertia", inertia),
            read("damping", damping),
            read("stiffness", stiffness),
        )
        if not (self.inertia > 0.0).all():
            raise ValueError(f"Admittance: inertia: expected positive numbers, got {inertia!r}")
        self.dt = positive(self.caller, "dt", dt, unit="s", symbols=False)
        inner = np.zeros(0) if law.start is None else law.start
        self.start = np.concatenate([np.zeros(2 * self.size), inner])

    @property
    def input_shapes(self) -> Shapes:
        return {**self.law.input_shapes, "force": (self.size,)}

    @property
    def pose_inputs(self) -> tuple[str, ...]:
        return self.law.pose_inputs

    @property
    def required_inputs(self) -> tuple[str, ...]:
        return (*self.law.required_inputs, "force")

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        n, h = self.size, self.dt
        x, rate, inner = list(z[:n]), list(z[n : 2 * n]), z[2 * n :]
        after, accelerations = [], []
        for k in range(n):
            m, d, c = self.inertia[k], self.damping[k], self.stiffness[k]
            after.append((m * rate[k] + h * (inputs["force"][k] - c * x[k])) / (m + h * d + h * h * c))
            accelerations.append((after[k] - rate[k]) / h)
        shift = [a + h * b for a, b in zip(x, after, strict=True)]
        inner_inputs = {name: y for name, y in inputs.items() if name != "force"}
        led = [list(inputs.get(name, [0.0] * n)) for name in ("target_v", "target_a")]
        if isinstance(self.law, JointLaw):
            target = "target_q"
            q_d = list(inputs[target])
            moved = shifted_motion(self.robot.tree, q_d, shift, (led[0], led[1]), (after, accelerations))
        else:
            target = "target"
            moved = shifted_pose(inputs[target], shift, led, [after, accelerations])
        inner_inputs |= {target: array(moved[0]), "target_v": array(moved[1]), "target_a": array(moved[2])}
        tau, law_state = self.law.forces(t, q, v, inner, inner_inputs)
        return tau, array([*shift, *after, *([] if law_state is None else law_state)])


def shifted_motion(
    tree: Tree, q: Scalars, x: Scalars, motion: tuple[Scalars, Scalars], rates: tuple[Scalars, Scalars]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return configuration q ⊕ x, its velocity and its acceleration, for a moving q and a moving tangent vector x.

    ``motion`` are velocity and acceleration (nv) at q, and ``rates`` are ẋ and ẍ (nv).
    """
    configuration: list[Any] = []
    velocity: list[Any] = []
    acceleration: list[Any] = []
    q = tree.split_q(q)
    vectors = [tree.split_v(list(each)) for each in (x, *motion, *rates)]
    for i, body in tree.stacked():
        q_i = list(q[i])
        phi, v, a, phi_dot, phi_ddot = (list(each[i]) for each in vectors)
        configuration += body.call_joint("integrate", q_i, phi)
        if has_plain_errors(body):
            velocity += [a + b for a, b in zip(v, phi_dot, strict=True)]
            acceleration += [a + b for a, b in zip(a, phi_ddot, strict=True)]
            continue
        velocity += _shifted_velocity(body, q_i, phi, v, phi_dot)
        start = [*q_i, *phi, *v, *phi_dot]
        moving = seeded(start, [*body.call_joint("q_dot", q_i, v), *phi_dot, *a, *phi_ddot])
        nq, nv = body.joint.nq, body.joint.nv
        ends = (nq, nq + nv, nq + 2 * nv)
        result = _shifted_velocity(
            body, moving[: ends[0]], moving[ends[0] : ends[1]], moving[ends[1] : ends[2]], moving[ends[2] :]
        )
        acceleration += [parts(y, moving[0].level)[1] for y in result]
    return configuration, velocity, acceleration


def _shifted_velocity(body: Body, q: Scalars, phi: Scalars, v: Scalars, phi_dot: Scalars) -> list[Any]:
    """Return the velocity of q ⊕ φ for one joint, where q moves with v, and φ with φ̇."""
    moving = seeded([*q, *phi], [*body.call_joint("q_dot", q, v), *phi_dot])
    level = moving[0].level
    both = [parts(y, level) for y in body.call_joint("integrate", moving[: len(q)], moving[len(q) :])]
    result: list[Any] = body.call_joint("velocity_from_rate", [y for y, _ in both], [y for _, y in both])
    return result


def shifted_pose(
    target: Any, x: list[Any], led: Sequence[list[Any]], rates: Sequence[list[Any]]
) -> tuple[Any, list[Any], list[Any]]:
    """Return the pose ``target`` rotated by the vector x[:3] and translated by x[3:], with its twist and acceleration.

    All quantities are in the world's axes.  ``led`` are the target's twist and acceleration, and ``rates`` are ẋ and ẍ.
    """
    X, phi = Pose.of_elements(target.ravel().tolist()), Vec3(*x[:3])
    turned = Quaternion.exp(phi).rotation()
    omega = _angular_velocity(x[:3], rates[0][:3])
    moving = seeded([*x[:3], *rates[0][:3]], [*rates[0][:3], *rates[1][:3]])
    alpha = Vec3(*(parts(y, moving[0].level)[1] for y in _angular_velocity(moving[:3], moving[3:])))
    omega_x, own_rate = turned @ Vec3(*led[0][:3]), turned @ Vec3(*led[1][:3])
    twist = [*(omega + omega_x), *(a + b for a, b in zip(led[0][3:], rates[0][3:], strict=True))]
    change = alpha + omega.cross(omega_x) + own_rate
    acceleration = [*change, *(a + b for a, b in zip(led[1][3:], rates[1][3:], strict=True))]
    pose = Pose(turned @ X.rotation, X.translation + Vec3(*x[3:]))
    return array(pose.elements()).reshape(4, 4), twist, acceleration


def _angular_velocity(phi: Sequence[Any], rate: Sequence[Any]) -> Vec3:
    """Return the angular velocity of the rotation exp φ in fixed axes; φ̇ is the given ``rate``."""
    moving = seeded(phi, rate)
    both = [parts(y, moving[0].level) for y in Quaternion.exp(Vec3(*moving)).elements()]
    epsilon, change = (Quaternion(*each) for each in zip(*both, strict=True))
    return (change @ epsilon.conjugate()).vector * 2.0
