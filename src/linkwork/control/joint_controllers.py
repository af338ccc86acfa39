"""Controllers in joint space: PD, PID, gravity compensation, computed torque."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import positive
from linkwork.control.algorithms.pid_integrator import AntiWindup, bounded, integrate_error
from linkwork.control.controller_base import (
    Shapes,
    acceleration_of_inertia,
    inertia_matrix,
)
from linkwork.control.joint_law import Feedforward, JointLaw, Names
from linkwork.dynamics.algorithms.passive_joint_forces import resisting_force
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array

__all__ = ["PD", "PID", "ComputedTorque", "GravityCompensation", "JointImpedance"]


@public_constructor
class PD(JointLaw):
    """PD control of joints, springs and dampers: τ = K_p (q_d ⊖ q) + K_d (v_d − v) + τ_ff.

    v_d is the target's velocity in the joint's axes: at v = v_d, q_d ⊖ q is constant.  Feedforward forces are in these
    axes, too.  For joints with rotations about several axes, they differ from the axes of q_d.

    ``kp`` [N·m/rad, N/m] and ``kd`` [N·m·s/rad, N·s/m] are a number, an array with a number for each actuated
    velocity, or a dict by joint, all >= 0.  ``feedforward`` is "none", "gravity" (gravity compensation at q), or
    "dynamics" (inverse dynamics along the target; tracking errors are then due to disturbances only).  Inputs are
    target_q (nq), and optionally target_v and target_a (nv), 0 by default.  A trajectory named "target" in
    ``time_inputs`` of `Robot.simulate` provides all three.

    ``actuators`` names the joints that exert forces (default: all except those of six degrees of freedom); feedforward
    forces of other joints are omitted. |τ| ≤ ``effort_limits`` (default: the robot's own). With ``passive``, springs,
    damping, friction and armature of joints are part of the feedforward.

    Source: Siciliano and others, Robotics: Modelling, Planning and Control, 2009, sections 8.5.1 and 8.3.

    >>> import linkwork as lw
    >>> arm = lw.load("arm7")
    >>> pd = lw.control.PD(arm, kp=100.0, kd=20.0, feedforward="gravity")
    >>> aim = {"target_q": arm.neutral()}
    >>> found = arm.simulate(arm.neutral(), controller=pd, duration=1.0, constants=aim, record_every=1000)
    >>> bool(abs(found.q[-1] - arm.neutral()).max() < 1e-2)
    True
    """

    def __init__(
        self,
        robot: Any,
        kp: Any,
        kd: Any,
        *,
        feedforward: Feedforward = "none",
        actuators: Names = None,
        effort_limits: Any = None,
        passive: bool = True,
    ) -> None:
        super().__init__(robot, actuators, effort_limits, passive, feedforward)
        self.kp, self.kd = self.read_gains("kp", kp), self.read_gains("kd", kd)

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        e, rate = self._errors(q, v, inputs)
        feedforward = self._feedforward(t, q, inputs)
        return [a * x + b * y + c for a, x, b, y, c in zip(self.kp, e, self.kd, rate, feedforward, strict=True)], None


@public_constructor
class PID(JointLaw):
    """PID control of joints, τ = K_p (q_d ⊖ q) + K_d (v_d − v) + I + τ_ff, with anti-windup.

    The integral I obeys İ = K_i (q_d ⊖ q).

    Gains, ``feedforward``, ``actuators``, ``effort_limits`` and ``passive`` are as in `PD`.  The integral I (nv)
    [N·m, N] is the controller's state, updated in steps of ``dt`` [s], the step of the simulation.  ``anti_windup`` is
    "clamping" (no integration that would exceed a limit further), "back_calculation" (İ = K_i e + (τ − u)/T_t, with the
    command u, the limited force τ, and T_t the ``tracking_time`` [s], by default K_p/K_i), or "none".

    Source: Åström and Hägglund, Advanced PID Control, ISA 2006, section 3.5.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("double_pendulum")
    >>> pid = lw.control.PID(robot, kp=50.0, ki=100.0, kd=10.0, dt=1e-3)
    >>> tau, carried = pid(0.0, [0.1, 0.0], [0.0, 0.0], pid.start, target_q=[0.0, 0.0])
    >>> tau.round(9).tolist(), carried.round(9).tolist()
    ([-5.0, 0.0], [-0.01, 0.0])
    """

    def __init__(
        self,
        robot: Any,
        kp: Any,
        ki: Any,
        kd: Any,
        *,
        dt: float,
        anti_windup: AntiWindup = "clamping",
        tracking_time: float | None = None,
        feedforward: Feedforward = "none",
        actuators: Names = None,
        effort_limits: Any = None,
        passive: bool = True,
    ) -> None:
        super().__init__(robot, actuators, effort_limits, passive, feedforward)
        self.kp, self.ki, self.kd = (self.read_gains(name, x) for name, x in (("kp", kp), ("ki", ki), ("kd", kd)))
        if anti_windup not in get_args(AntiWindup):
            raise UnknownNameError("anti_windup of PID", str(anti_windup), get_args(AntiWindup))
        self.anti_windup, self.dt = anti_windup, positive("PID", "dt", dt, unit="s", symbols=False)
        if tracking_time is None:
            times = np.where(self.ki > 0.0, self.kp / np.where(self.ki > 0.0, self.ki, 1.0), 1.0)
        else:
            times = np.full(robot.nv, positive("PID", "tracking_time", tracking_time, unit="s", symbols=False))
        self.tracking_time = times
        self.start = np.zeros(robot.nv)

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        e, rate = self._errors(q, v, inputs)
        feedforward = self._feedforward(t, q, inputs)
        command = [
            a * x + b * y + total + c
            for a, x, b, y, total, c in zip(self.kp, e, self.kd, rate, z, feedforward, strict=True)
        ]
        applied = bounded(self.apply_actuation(command), [*self.effort_limits])
        after = integrate_error(z, e, command, applied, [*self.ki], self.dt, self.anti_windup, [*self.tracking_time])
        return applied, array(after)


@public_constructor
class GravityCompensation(JointLaw):
    """Gravity compensation with damping, τ = g(q) − K_d v, for guiding the robot by hand.

    ``kd`` [N·m·s/rad, N·s/m] has the forms of `PD`.  With ``passive``, g(q) includes the forces of springs.  For robots
    with joints that are not actuated or with closed loops, τ keeps the actuated joints at rest.

    ``actuators`` and ``effort_limits`` are as in `PD`.

    Source: Siciliano and others, Robotics: Modelling, Planning and Control, 2009, section 8.5.1.

    >>> import linkwork as lw
    >>> arm = lw.load("arm7")
    >>> floats = lw.control.GravityCompensation(arm)
    >>> q = arm.random_configuration(seed=0)
    >>> bool(abs(floats(0.0, q, 0.0 * q) - arm.gravity_force(q)).max() < 1e-12)
    True
    """

    def __init__(
        self, robot: Any, kd: Any = 0.0, *, actuators: Names = None, effort_limits: Any = None, passive: bool = True
    ) -> None:
        super().__init__(robot, actuators, effort_limits, passive, "gravity")
        self.kd = self.read_gains("kd", kd)

    @property
    def input_shapes(self) -> Shapes:
        return {}

    @property
    def required_inputs(self) -> tuple[str, ...]:
        return ()

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        return [a - b * x for a, b, x in zip(self._feedforward(t, q, inputs), self.kd, v, strict=True)], None


@public_constructor
class ComputedTorque(JointLaw):
    """Computed-torque control, with joint errors e = q_d ⊖ q that obey ë + K_d ė + K_p e = 0.

    The law is τ = M(q) a* + h(q, v) with a* = a_d + K_d (v_d − v) + K_p e for joints with one velocity.  For all joint
    types a* is the acceleration at which the equation holds, also far from the target.

    With ``passive``, the law includes springs and armature of joints.  Damping and friction R(v) are compensated at the
    velocity v_r = v_d + K_d⁻¹ K_p e, which leads to the target: τ includes R(v_r), and M (ë + K_d ė + K_p e) =
    R(v) − R(v_r).  Errors then decay faster, static friction causes no steady error, and a reference without an initial
    error is followed exactly.

    ``kp`` [1/s²] and ``kd`` [1/s] (default: critical damping 2 √kp) have the forms of `PD`, and so does the target.
    Accelerations of joints without actuators follow from their zero forces (collocated partial feedback linearisation).
    Accelerations of joints in closed loops follow from the actuated joints. The actuated joints still obey the linear
    equation, unless constraints make their equations contradictory.

    Sources: Siciliano and others, Robotics: Modelling, Planning and Control, 2009, section 8.5.2; Spong, Partial
    feedback linearization of underactuated mechanical systems, IROS 1994; Slotine and Li, On the adaptive control of
    robot manipulators, Int. J. Robotics Research 6(3), 1987 (the velocity v_r).

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("double_pendulum")
    >>> law = lw.control.ComputedTorque(robot, kp=25.0, effort_limits=np.inf)
    >>> q, v = np.array([0.3, -0.2]), np.array([1.0, 2.0])
    >>> a = robot.forward_dynamics(q, v, law(0.0, q, v, target_q=np.zeros(2)))
    >>> bool(np.allclose(a, -25.0 * q - 10.0 * v))
    True
    """

    def __init__(
        self,
        robot: Any,
        kp: Any,
        kd: Any = None,
        *,
        actuators: Names = None,
        effort_limits: Any = None,
        passive: bool = True,
    ) -> None:
        super().__init__(robot, actuators, effort_limits, passive)
        self.kp = self.read_gains("kp", kp)
        self.kd = 2.0 * np.sqrt(self.kp) if kd is None else self.read_gains("kd", kd)

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        joints, (v_d, a_d) = self._joint_errors(q, inputs), self._target_motion(inputs)
        e, rates = joints.errors(), joints.rates(v, v_d)
        pull = [k * x + d * y for k, x, d, y in zip(self.kp, e, self.kd, rates, strict=True)]
        tau = self._actuator_forces(t, q, v, joints.acceleration(v, v_d, a_d, pull))
        if not self.passive:
            return tau, None
        moved, tree = joints.followed_velocity(v_d), self.robot.tree
        leading = [x + k / d * y if d else rate for x, k, d, y, rate in zip(moved, self.kp, self.kd, e, v, strict=True)]
        resisted = zip(tau, resisting_force(tree, list(v)), resisting_force(tree, leading), strict=True)
        return [f + now - led for f, now, led in resisted], None


@public_constructor
class JointImpedance(JointLaw):
    """Joint impedance control: each joint behaves like a spring and a damper.

    With ``inertia``, the joint also behaves as if it had this inertia.

    Without ``inertia`` the robot keeps its own inertia, and no force measurement is needed:

        τ = h + M a_d + K e + D ė,     M ë + D ė + K e = −τ_ext.

    With ``inertia`` M_d, the external joint forces have to be measured or estimated; they are the input ``force``:

        τ = h + M a* − τ_ext,     a* = a_d + M_d⁻¹ (K e + D ė + τ_ext),     M_d ë + D ė + K e = −τ_ext,

    with e = q_d ⊖ q, so an external force τ_ext displaces a joint at rest by K⁻¹ τ_ext.  ė = v_d − v and a_d are the
    target's relative velocity and its acceleration in the joint's axes, as for `PD`, and ë is the rate of ė.
    ``stiffness`` [N·m/rad, N/m] and ``damping`` [N·m·s/rad, N·s/m] are >= 0, in the forms of gains of `PD`.
    ``inertia`` [kg m², kg] has one of these forms, > 0, or is a symmetric, positive definite matrix (m, m) of the
    actuated velocities. Inputs are target_q (nq), target_v, target_a, force (nv).  Joints without actuators move as
    dynamics and external forces determine.  With ``passive`` h has the joints' springs, damping and friction, so the
    law compensates them.

    Raises ValueError for invalid gains and inertias, and for ``inertia`` of a robot with loops.

    Sources: Hogan, Impedance control, ASME J. Dyn. Syst. Meas. Control 107, 1985; Siciliano and others, Robotics:
    Modelling, Planning and Control, 2009, section 9.3.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("double_pendulum")
    >>> law = lw.control.JointImpedance(robot, stiffness=50.0, damping=5.0, inertia=(2.0, 0.5), effort_limits=np.inf)
    >>> q, v, push = np.array([0.3, -0.2]), np.array([1.0, 2.0]), np.array([3.0, -1.0])
    >>> a = robot.forward_dynamics(q, v, law(0.0, q, v, target_q=np.zeros(2), force=push) + push)
    >>> bool(np.allclose([2.0, 0.5] * a + 5.0 * v + 50.0 * q, push))
    True
    """

    def __init__(
        self,
        robot: Any,
        stiffness: Any,
        damping: Any,
        *,
        inertia: Any = None,
        actuators: Names = None,
        effort_limits: Any = None,
        passive: bool = True,
    ) -> None:
        super().__init__(robot, actuators, effort_limits, passive)
        self.stiffness, self.damping = self.read_gains("stiffness", stiffness), self.read_gains("damping", damping)
        self.inertia: np.ndarray | None = None
        if inertia is None:
            return
        if robot.constraints:
            raise ValueError(
                f"{self.caller}: inertia: not supported for a robot with constraints, such as "
                f"{robot.constraints[0].name!r}: leave inertia out to keep the robot's own"
            )
        if np.ndim(inertia) == 2:
            self.inertia = inertia_matrix(self.caller, inertia, len(self.acting), "kg m², kg")
            return
        self.inertia = self.read_gains("inertia", inertia)[self.acting]
        if not (self.inertia > 0.0).all():
            raise ValueError(f"{self.caller}: inertia: expected positive numbers [kg m², kg], got {inertia!r}")

    @property
    def input_shapes(self) -> Shapes:
        return super().input_shapes if self.inertia is None else {**super().input_shapes, "force": (self.robot.nv,)}

    @property
    def required_inputs(self) -> tuple[str, ...]:
        return ("target_q",) if self.inertia is None else ("target_q", "force")

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        e, rate = self._errors(q, v, inputs)
        pull = [k * x + d * y for k, x, d, y in zip(self.stiffness, e, self.damping, rate, strict=True)]
        a = self._joint_errors(q, inputs).followed_acceleration(v, *self._target_motion(inputs))
        if self.inertia is None:
            return [x + y for x, y in zip(self._actuator_forces(t, q, v, a), pull, strict=True)], None
        F = inputs["force"]
        response = acceleration_of_inertia(self.inertia, [pull[k] + F[k] for k in self.acting])
        for k, x in zip(self.acting, response, strict=True):
            a[k] = a[k] + x
        return self._actuator_forces(t, q, v, a, F), None
