"""Functions that would ignore constraints are refused, and edge cases have results."""

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import HINGE, fourbars, parallel


def test_functions_that_would_ignore_constraint_forces_of_loops_are_refused() -> None:
    robot = fourbars(1).without_constraints().with_loop("pin", "end1", "tip1", HINGE, stiffness=3.0, damping=0.2)
    q, v = parallel(robot, 1.0, rate=0.5)
    for name, arguments in (
        ("inverse_dynamics", (q, v, v)),
        ("bias_force", (q, v)),
        ("gravity_force", (q,)),
        ("inverse_dynamics_derivatives", (q, v, v)),
    ):
        with pytest.raises(ValueError, match=f"{name}: .* not of the loop joint 'pin'"):
            getattr(robot, name)(*arguments, passive=True)
        getattr(robot, name)(*arguments)
    with pytest.raises(ValueError, match=r"passive_force: .* not of the loop joint 'pin'"):
        robot.passive_force(q, v)
    robot.constrained_forward_dynamics(q, v, np.zeros(3), passive=True)
    with pytest.raises(ValueError, match="has constraints, whose forces are not measured"):
        lw.identify.base_parameters(robot, np.tile(q, (9, 1)), np.tile(v, (9, 1)), np.zeros((9, 3)), np.zeros((9, 3)))


def test_constraint_forces_of_robots_without_actuators_are_computed() -> None:
    """Columns of G that are zero up to rounding: a body that hangs from a rod, and moves as it falls."""
    body = lw.Link("b", mass=2.0, inertia=(0.3, 0.2, 0.4))
    free = lw.Robot.build("h", body, lw.Joint.of(lw.joints.Floating(), name="F", parent="world", child="b"))
    robot = free.with_constraints(lw.constraints.Distance("b", "world", 0.5))
    q = robot.neutral()
    q[4:] = 0.1, 0.2, -0.6
    q = robot.project(q)
    v = robot.project_velocity(q, np.arange(6) * 0.3)
    a, forces = robot.constrained_forward_dynamics(q, v, np.zeros(6))
    tau, dynamics_result, missing = robot.constrained_inverse_dynamics(q, v, a)
    np.testing.assert_allclose(tau, 0.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(dynamics_result, forces, rtol=1e-9)
    assert np.abs(missing).max() < 1e-9
    with pytest.raises(lw.errors.UnderactuatedError, match="actuators none cannot induce the motions"):
        robot.constrained_inverse_dynamics(q, v, a + 1.0)


def test_loop_joint_with_six_degrees_of_freedom_adds_no_constraints() -> None:
    robot = lw.load("double_pendulum").with_loop("bushing", "world", "tip", lw.joints.Floating(), damping=0.5)
    q, v = robot.project([0.3, 0.4], [1.0, 2.0])
    np.testing.assert_array_equal(q, [0.3, 0.4])
    np.testing.assert_array_equal(v, [1.0, 2.0])


def test_contradictory_constraint_velocities_are_reported_and_coordinates_may_depend_on_time() -> None:
    robot = lw.load("double_pendulum")
    names = [joint.name for joint in robot.joints]
    slow = lw.constraints.Pfaffian("slow", lambda k: k.v(names[0]) - 1.0)
    fast = lw.constraints.Pfaffian("fast", lambda k: k.v(names[0]) - 2.0)
    with pytest.raises(lw.errors.AssemblyError, match="contradict each other"):
        robot.with_constraints(slow, fast).project([0.1, 0.2], [0.0, 0.0])
    driven = robot.with_constraints(lw.constraints.Prescribed(names[0], lambda t: t, name="drive"))
    minimal = driven.minimal_coordinates(names[1], q=[0.5, 0.2], time=0.5)
    np.testing.assert_allclose(minimal.expand([0.2]), [0.5, 0.2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(minimal.expand([0.2], time=0.7), [0.7, 0.2], rtol=0, atol=1e-12)


def test_out_of_range_parameters_of_constrained_dynamics_are_refused() -> None:
    robot = fourbars(1)
    q, v = parallel(robot, 1.0, rate=0.5)
    for T in (0.0, -1.0, [0.1, -0.1]):
        with pytest.raises(ValueError, match=r"stabilization: expected the time constant .*, >= 1e-09, got"):
            robot.constrained_forward_dynamics(q, v, np.zeros(3), stabilization=T)
    for e in (1.5, -0.5):
        with pytest.raises(ValueError, match=r"restitution: expected the .*, between 0 and 1, got"):
            robot.constrained_impact(q, v, restitution=e)
    robot.constrained_forward_dynamics(q, v, np.zeros(3), stabilization=0.1)
    robot.constrained_impact(q, v, restitution=1.0)
