"""Task controllers of mechanisms: tasks move as desired by constrained forward dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import five_bar
from linkwork import control, ik

FREE = np.inf
CASES = {
    "delta": ("platform", ["shoulder_1", "shoulder_2", "shoulder_3"], (1.0, 1.0, 1.0)),
    "five_bar": ("right_end", None, (1.0, FREE, 1.0)),  # with more motors than degrees of freedom
}


def _robot(name):
    robot = lw.load(name) if name == "delta" else five_bar()
    if name == "five_bar":
        loop = robot.constraints[0]
        robot = robot.without_constraints(loop.name)
        robot = robot.with_loop("pin", loop.frame, loop.relative_to, loop.joint, damping=0.2, stiffness=3.0)
    return robot.with_joint_dynamics(damping=0.1, armature=0.02)


def _state(robot, rng):
    q = robot.assemble(None if robot.nq > 9 else rng.uniform(0.2, 0.4, robot.nq)).q
    return robot.project(q, rng.normal(size=robot.nv))


def _acceleration(robot, q, v, tau, frame):
    a = robot.forward_dynamics(q, v, tau, passive=True)
    return robot.jacobian(q, frame) @ a + robot.bias_acceleration(q, v, frame)


@pytest.mark.slow(every=9)
def test_task_controllers_of_mechanisms_give_the_stated_accelerations(drawn):
    """Operational space: ë + k_d ė + k_p e = 0; impedance: Λ_d A = K e − D V + F; hybrid: on its motion axes."""
    rng = np.random.default_rng(6)
    for name, (frame, motors, tolerance) in drawn(CASES.items()):
        robot, options = _robot(name), {"actuators": motors, "effort_limits": np.inf}
        q, v = _state(robot, rng)
        axes = [k for k, x in enumerate(tolerance) if x < FREE]
        offset = np.where(np.isfinite(tolerance), 1e-3 * rng.normal(size=3), 0.0)
        target = lw.pose(offset) @ robot.pose(q, frame)
        V = robot.jacobian(q, frame) @ v
        expected = (50.0 * offset - 9.0 * V[3:])[axes]

        law = control.OperationalSpace(robot, ik.PositionTask(frame, tolerance=tolerance), 50.0, 9.0, **options)
        tau = law(0.0, q, v, **{frame: target[:3, 3]})
        _, motion, desired = law._motions(q.tolist(), v.tolist(), law.tasks, {frame: target[:3, 3]})  # in its own axes
        a = robot.forward_dynamics(q, v, tau, passive=True)
        errors = np.array(motion.rows) @ a + motion.drifts - desired
        np.testing.assert_allclose(errors[axes], 0.0, rtol=0, atol=1e-8)
        assert not tau[np.setdiff1d(np.arange(robot.nv), law.acting)].any()

        moving = tuple("xyz"[k] for k in axes[1:])  # the first axis has a force
        law = control.HybridForcePosition(
            robot, frame, "x", motion_axes=moving, stiffness=50.0, damping=9.0, force_damping=0.0, **options
        )
        pushed = law(0.0, q, v, target=target, force=[7.0])
        result = _acceleration(robot, q, v, pushed, frame)[3:]
        acceleration = _acceleration(robot, q, v, law(0.0, q, v, target=target, force=[0.0]), frame)[3:]
        np.testing.assert_allclose(acceleration[axes], [0.0, *expected[1:]], rtol=0, atol=1e-8)
        J = robot.jacobian(q, frame)[3:]
        W = J @ robot.constrained_mass_matrix_inverse(q, passive=True) @ J.T
        np.testing.assert_allclose(result - acceleration, W[:, 0] * 7.0, rtol=0, atol=1e-8 * abs(W[0, 0]))

        law = control.Impedance(robot, frame, stiffness=50.0, damping=3.0, **options)
        tau = law(0.0, q, v, target=target)
        K = np.linalg.svd(robot.constraint_jacobian(q))[2][-robot.mobility(q).dof :].T
        wrench = 50.0 * np.r_[0.0, 0.0, 0.0, offset] - 3.0 * V
        in_loops = np.array([robot.loop_velocity(q, x) for x in np.eye(robot.nv)])  # v_J of each velocity
        springs = in_loops @ robot.loop_passive_force(q, 0.0 * v)
        needed = robot.bias_force(q, v) + robot.jacobian(q, frame).T @ wrench - springs
        np.testing.assert_allclose(K.T @ tau, K.T @ needed, rtol=0, atol=1e-9 * (1.0 + abs(needed).max()))


def test_integrators_of_mechanism_control_do_not_wind_up_at_saturated_motors_of_other_chains():
    """The force on an end exceeds the effort of one hip; the frame's own chain has the other one."""
    robot, motors, integral = five_bar(), ["left_hip", "right_hip"], {"integral_gain": 1.0, "dt": 1e-3}
    q = robot.assemble([0.2, 0.4, 0.3, 0.2]).q
    for efforts in ([1.0, 1e6], [1e6, 1.0]):
        law = control.HybridForcePosition(
            robot, "right_end", "x", motion_axes="z", actuators=motors, effort_limits=efforts, **integral
        )
        for z in (100.0, -100.0):
            state, measured = {"target": robot.pose(q, "right_end"), "force": [z]}, np.zeros(6)
            assert law(0.0, q, np.zeros(4), np.array([z]), wrench=measured, **state)[1] == z
            measured[3] = 2.0 * z  # a larger force than desired
            assert abs(law(0.0, q, np.zeros(4), np.array([z]), wrench=measured, **state)[1]) < abs(z)


def test_controlled_frames_loaded_by_bodies_without_actuators_are_refused_with_their_names():
    """A body that falls from a crank pushes it, though its joint does not move the crank's frame."""
    links = [lw.Link(name, mass=1.0, com=(0.3, 0.0, 0.0), inertia=(0.1, 0.2, 0.2)) for name in ("crank", "other", "b")]
    placed = {"a": (0.0, 0.0, 0.0), "c": (1.0, 0.0, 0.0)}
    joints = [
        lw.Joint.of(
            lw.joints.Revolute((0, 0, 1)), name=name, parent="world", child=child, placement=lw.pose(placed[name])
        )
        for name, child in (("a", "crank"), ("c", "other"))
    ]
    falling = lw.Joint.of(lw.joints.Floating(), name="falling", parent="crank", child="b")
    robot = lw.Robot.build("r", *links, *joints, falling)
    robot = robot.with_constraints(lw.constraints.Holonomic("geared", lambda k: k.q("a") - 2.0 * k.q("c")))
    task = ik.PositionTask("crank", tolerance=(np.inf, 1.0, np.inf))
    for law in (
        lambda: control.Impedance(robot, "crank", stiffness=1.0, damping=1.0),
        lambda: control.HybridForcePosition(robot, "crank", "y"),
        lambda: control.OperationalSpace(robot, task),
    ):
        with pytest.raises(ValueError, match=r"got 'falling.wx' without an actuator: use linkwork.control.WholeBody"):
            law()
