"""Controllers in a simulation, linear quadratic regulators and model predictive control."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork import control, ik
from matrix.cell import close, holds, verb
from matrix.kinds import Kind


def _has_joints(kind: Kind) -> bool:
    return bool(kind.robot.nv)


def _moves(kind: Kind) -> bool:
    return kind.dof > 0


def _run(kind: Kind, law: Any, constants: Any = None, duration: float = 0.05, dt: float = 1e-3) -> Any:
    run = kind.robot.simulate(kind.q, kind.rest, controller=law, duration=duration, dt=dt, constants=constants)
    assert np.isfinite(run.q).all()
    holds(kind, run.q[-1], 1e-4, time=float(run.t[-1]))
    return run


def _stays(kind: Kind, result: Any, bound: float) -> None:
    """Assert that a robot with motors for all of its motions is nearer to its start than one that falls."""
    if not kind.is_actuated or kind.timed or np.any(result.saturation):
        return
    dt = float(result.t[1] - result.t[0])
    fallen = kind.robot.simulate(kind.q, kind.rest, dt=dt, duration=float(result.t[-1]))
    far = np.abs(kind.robot.difference(kind.q, fallen.q[-1])).max(initial=0.0)
    near = np.abs(kind.robot.difference(kind.q, result.q[-1])).max(initial=0.0)
    assert near <= bound * far + 1e-7, f"moved {near:.2g}, falls {far:.2g}"


@verb("control.GravityCompensation", needs=_has_joints)
def gravity_compensation(kind: Kind) -> None:
    """A robot at rest under gravity compensation stays at rest."""
    result = _run(kind, control.GravityCompensation(kind.robot), dt=1e-4, duration=0.01)
    _stays(kind, result, 0.05)


def _gain(kind: Kind) -> float:
    """Return a stiffness [N·m/rad, N/m] with which the lightest joint alone has 10 rad/s."""
    return 100.0 * float(np.diag(kind.robot.mass_matrix(kind.q)).min())


@verb("control.PD", needs=_has_joints)
def pd(kind: Kind) -> None:
    """A robot that starts at its target stays nearer to the target than a robot without control, which falls."""
    law = control.PD(kind.robot, kp=_gain(kind), kd=0.2 * _gain(kind), feedforward="gravity")
    _stays(kind, _run(kind, law, {"target_q": kind.q}), 0.3)


@verb("control.PID", needs=_has_joints)
def pid(kind: Kind) -> None:
    """A robot that starts at its target stays nearer to the target than a robot without control, which falls."""
    law = control.PID(kind.robot, kp=_gain(kind), ki=_gain(kind), kd=0.2 * _gain(kind), dt=1e-3, feedforward="gravity")
    _stays(kind, _run(kind, law, {"target_q": kind.q}), 0.3)


@verb("control.ComputedTorque", needs=_has_joints)
def computed_torque(kind: Kind) -> None:
    """A robot that starts at its target stays at the target."""
    _stays(kind, _run(kind, control.ComputedTorque(kind.robot, kp=100.0), {"target_q": kind.q}), 0.05)


@verb("control.JointImpedance", needs=_has_joints)
def joint_impedance(kind: Kind) -> None:
    """A robot that starts at its target stays at the target."""
    law = control.JointImpedance(kind.robot, stiffness=_gain(kind), damping=0.2 * _gain(kind))
    _stays(kind, _run(kind, law, {"target_q": kind.q}), 0.05)


@verb("control.Impedance", needs=_has_joints)
def impedance(kind: Kind) -> None:
    """A frame that starts at its target stays at the target."""
    law = control.Impedance(kind.robot, kind.frame, stiffness=10.0 * kind.robot.mass, damping=kind.robot.mass)
    _frame_stays(kind, law, {"target": kind.robot.pose(kind.q, kind.frame)})


def _frame_stays(kind: Kind, law: Any, constants: Any, duration: float = 0.05) -> None:
    result = _run(kind, law, constants, duration)
    if kind.timed or np.any(result.saturation):
        return
    fallen = kind.robot.simulate(kind.q, kind.rest, duration=duration)
    start, *ends = (kind.robot.pose(q, kind.frame)[:3, 3] for q in (kind.q, result.q[-1], fallen.q[-1]))
    near, far = (np.abs(end - start).max() for end in ends)
    assert near <= 0.1 * far + 1e-7 * kind.size, f"moved {near:.2g}, falls {far:.2g}"


@verb("control.OperationalSpace", needs=_has_joints)
def operational_space(kind: Kind) -> None:
    """A frame that starts at its target stays at the target."""
    law = control.OperationalSpace(kind.robot, ik.PositionTask(kind.frame))
    _frame_stays(kind, law, {kind.frame: np.asarray(kind.robot.pose(kind.q, kind.frame))[:3, 3]})


@verb("control.WholeBody", needs=_has_joints)
def whole_body(kind: Kind) -> None:
    """A robot that starts at the target of its posture task stays at the target."""
    law = control.WholeBody(kind.robot, [ik.PostureTask()])
    _stays(kind, _run(kind, law, {"posture_q": kind.q}, 0.02), 0.05)


@verb("control.Admittance", needs=_has_joints)
def admittance(kind: Kind) -> None:
    """A robot at its target stays at the target if no external force acts on it."""
    inner = control.ComputedTorque(kind.robot, kp=100.0)
    law = control.Admittance(inner, inertia=1.0, damping=20.0, stiffness=100.0, dt=1e-3)
    zeros = np.zeros(kind.robot.nv)
    _stays(kind, _run(kind, law, {"target_q": kind.q, "force": zeros}, 0.02), 0.05)


@verb("control.HybridForcePosition", needs=_has_joints)
def hybrid_force_position(kind: Kind) -> None:
    """A frame without a desired force stays at its initial position."""
    law = control.HybridForcePosition(kind.robot, kind.frame, "z", motion_axes=("x",))
    _frame_stays(kind, law, {"target": kind.robot.pose(kind.q, kind.frame), "force": [0.0]}, 0.02)


@verb("control.lqr_about_state", "control.LQRController", needs=_moves)
def lqr_about_state(kind: Kind) -> None:
    """A robot that starts at an equilibrium stays at it if its motors can hold it."""
    law = control.lqr_about_state(kind.robot, kind.q, dt=1e-3)
    run = kind.robot.simulate(kind.q, controller=law, duration=0.02)
    assert np.isfinite(run.q).all()
    if np.any(run.saturation):
        return
    close(kind.robot.difference(kind.q, run.q[-1]), np.zeros(kind.robot.nv), 1e-5, "rest")


@verb("control.linear_model", "control.StateSpace", needs=_moves)
def linear_model(kind: Kind) -> None:
    """A E = E A_z and B = E B_z for ẋ = A x + B u, ż = A_z z + B_z u and the permitted deviations x = E z."""
    robot = kind.robot
    model = control.linear_model(robot, kind.q, inputs=robot.v_names, outputs=["q", "v"], passive=False)
    A, B = robot.linearize(kind.q, model.v, model.tau, passive=False)
    close(A @ model.C, model.C @ model.A, 1e-8, "A")
    close(B, model.C @ model.B, 1e-8, "B")


@verb("control.lqr_about_trajectory", "control.TVLQRController", needs=_moves)
def lqr_about_trajectory(kind: Kind) -> None:
    """A robot that starts on a trajectory follows the trajectory if its motors can hold the robot."""
    path = kind.robot.spline([0.0, 0.2], (kind.q, kind.moved(0.01)), boundary="clamped")
    law = control.lqr_about_trajectory(kind.robot, path)
    run = kind.robot.simulate(kind.q, controller=law, duration=0.1)
    assert np.isfinite(run.q).all()
    if np.any(run.saturation):
        return
    error = np.abs(kind.robot.difference(path(0.1).q, run.q[-1])).max(initial=0.0)
    assert error < 0.01, f"error {error:.2g}"


@verb("optimal.TrajectoryProblem.controller", "control.ModelPredictiveController", needs=_has_joints)
def model_predictive_control(kind: Kind) -> None:
    """A robot that starts at rest at the goal stays at the goal under the controller's commands."""
    from linkwork import optimal

    problem = optimal.TrajectoryProblem(kind.robot, num_steps=6, duration=0.3)
    problem = problem.add(optimal.ConfigurationFeature(), "least_squares", target=kind.q)
    problem = problem.add(optimal.VelocityFeature(), "least_squares", scale=0.1)
    mpc = problem.controller(period=0.02)
    torque = mpc.step((kind.q, kind.rest)).torque
    _stays(kind, _run(kind, lambda t, q, v: torque, duration=0.02), 0.3)


@verb("control.check_controller", needs=_has_joints)
def check_controller(kind: Kind) -> None:
    """The function `check_controller` passes for computed torque."""
    report = control.check_controller(control.ComputedTorque(kind.robot, kp=100.0, kd=20.0))
    assert report.success, " ".join(str(line) for line in report.failures)[:250]
