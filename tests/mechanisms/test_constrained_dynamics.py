"""Forward dynamics of mechanisms: closed forms, and densely solved equations."""

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import HINGE, fourbars, parallel, pendulum_acceleration
from linkwork.robot.robot_table import ROBOT
from oracles.scalars import names_for


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("count", [1, 3, 40])
def test_four_bars_side_by_side_accelerate_as_a_pendulum(count):
    robot = fourbars(count)
    for angle in (1.3, 0.1, 1e-4):
        q, v = parallel(robot, angle, rate=0.7)
        a = robot.forward_dynamics(q, v, np.zeros(robot.nv))
        expected, _ = parallel(robot, pendulum_acceleration(count, angle))
        np.testing.assert_allclose(a, expected, rtol=0, atol=1e-9 if angle < 1e-3 else 1e-11)
        assert np.abs(robot.constraint_error(q)).max() < 1e-13
        assert np.abs(robot.constraint_jacobian(q) @ v).max() < 1e-13


def test_constrained_accelerations_equal_a_dense_solution():
    robot, rng = fourbars(2), np.random.default_rng(0)
    q, v = parallel(robot, 0.8, rate=1.1)
    tau, w = rng.normal(size=robot.nv), rng.normal(size=6)
    a, forces = robot.constrained_forward_dynamics(q, v, tau, wrenches={"rod1": w}, gravity=(1.0, 2.0, 3.0))
    M, G = robot.mass_matrix(q), robot.constraint_jacobian(q)
    h = robot.bias_force(q, v, wrenches={"rod1": w}, gravity=(1.0, 2.0, 3.0))
    kkt = np.block([[M, -G.T], [G, np.zeros((len(G), len(G)))]])
    result = np.linalg.lstsq(kkt, [*(tau - h), *-robot.constraint_bias(q, v)])[0]
    np.testing.assert_allclose(a, result[: robot.nv], rtol=0, atol=1e-11)
    np.testing.assert_allclose(G.T @ forces, G.T @ result[robot.nv :], rtol=0, atol=1e-10)


def test_method_of_forward_dynamics_is_a_choice_for_robots_without_constraints() -> None:
    robot = fourbars(1)
    q, v = parallel(robot, 0.8, rate=1.1)
    tau = np.arange(1.0, robot.nv + 1.0)
    same = robot.forward_dynamics(q, v, tau, method="articulated_bodies")
    assert np.array_equal(same, robot.forward_dynamics(q, v, tau))
    with pytest.raises(ValueError, match="forward_dynamics: method: 'mass_matrix' is only for robots without constr"):
        robot.forward_dynamics(q, v, tau, method="mass_matrix")


def test_invalid_loops_of_constrained_dynamics_are_refused_with_their_names():
    robot = fourbars(1)
    for arguments, message in (
        (("C1", "end1", "tip1", HINGE), "already has a constraint 'C1'"),
        (("A0", "end1", "tip1", HINGE), "already has a joint 'A0'"),
        (("x", "end1", "end1", HINGE), "between frame 'end1' and itself"),
        (("x", "end1", "coupler1", HINGE), "of one body, 'coupler1'"),
    ):
        with pytest.raises(ValueError, match=message):
            robot.with_loop(*arguments)
    with pytest.raises(lw.errors.UnknownNameError, match="end1"):
        robot.with_loop("x", "ende1", "tip1", HINGE)
    with pytest.raises(TypeError, match="joint type"):
        robot.with_loop("x", "end1", "tip1", "revolute")
    free = robot.without_constraints()
    assert not free.constraints and free != robot


def test_functions_of_robots_with_driven_joints_accept_the_time():
    robot = fourbars(1).with_constraints(lw.constraints.Prescribed("A0", lambda t: -1.0 - 0.5 * t, name="drive"))
    q, v = parallel(robot, 1.0, rate=0.5)
    with pytest.raises(ValueError, match=r"forward_dynamics: constraint 'drive' depends on time.*time=t"):
        robot.forward_dynamics(q, v, np.zeros(3))
    functions = [name for name, row in ROBOT.items() if row.constrained and "time" not in row.optional]
    assert len(functions) >= 8
    for name in functions:  # each remedy exists
        with pytest.raises(ValueError, match="'drive' depends on time") as refused:
            robot.compile((name, *names_for(robot.tree, ROBOT[name])))
        method, _, remedy = str(refused.value).partition(": use ")[2].removeprefix("robot.").partition(" ")
        if remedy:
            assert method == f"constrained_{name}" and "time" in ROBOT[method].optional and remedy == "with time=t"
        else:
            assert method == "without_constraints('drive')"
    a, _ = robot.constrained_forward_dynamics(q, v, np.zeros(3), time=0.0)
    np.testing.assert_allclose(a, 0.0, rtol=0, atol=1e-11)
    arm = lw.load("double_pendulum")
    driven = arm.with_constraints(lw.constraints.Prescribed("shoulder", lambda t: 0.4 * t + 0.7 * t**3, name="drive"))
    t, (qe, ve), tau = 0.8, (0.6, -1.1), np.array([0.3, -0.2])
    q, v = np.array([0.4 * t + 0.7 * t**3, qe]), np.array([0.4 + 2.1 * t**2, ve])
    M, h = arm.mass_matrix(q), arm.bias_force(q, v)
    u = (tau[1] - h[1] - M[1, 0] * 4.2 * t) / M[1, 1]
    assert driven.reduced_forward_dynamics(q, v, tau, ["elbow"], time=t) == pytest.approx([u], rel=1e-12)
    needed = driven.reduced_inverse_dynamics(q, v, [4.2 * t, u], ["elbow"], time=t)
    assert needed == pytest.approx(tau[1:], rel=1e-9)
    assert driven.hybrid_dynamics(q, v, [0.0, 0.0], tau, [], time=t).a == pytest.approx([4.2 * t, u], rel=1e-9)
    assert driven.hybrid_dynamics(q, v, [0.0, u], tau, ["elbow"], time=t).tau[1] == pytest.approx(tau[1], rel=1e-9)
