"""Initial states of simulations: constraints must hold, or an error names the violated row."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


def test_initial_states_with_open_loops_or_forbidden_velocities_are_refused():
    """`simulate` and `Simulator.reset` name the residual, the row, the environment, and a remedy."""
    robot = lw.load("fourbar")
    q = robot.neutral()
    opened = q + np.array([0.0, 0.3, 0.0])
    with pytest.raises(ValueError, match=r"simulate: q: expected an assembled .* m of 'pin: .*robot\.project\(q\)"):
        robot.simulate(opened, duration=0.1)
    with pytest.raises(ValueError, match=r"simulate: v: expected a velocity .* m/s of 'pin: .*robot\.project\(q, v\)"):
        robot.simulate(q, [1.0, 0.0, 0.0], duration=0.1)
    with pytest.raises(ValueError, match=r"in environment 1 \(1 of 3 environments\)"):
        robot.simulate(np.stack([q, opened, q]), duration=0.1, parameters={"gravity": np.zeros((3, 3))})
    simulator = lw.Simulator(robot, batch=2)
    before = simulator.reset(q)
    with pytest.raises(ValueError, match=r"Simulator.reset: q: expected an assembled .* in environment 0"):
        simulator.reset(opened, where=[False, True])
    assert simulator.state is before
    moving = robot.project(opened, [1.0, 0.0, 0.0])
    assert robot.simulate(*moving, duration=0.01).success
    simulator.reset(*moving, where=[False, True])


def test_simulator_that_was_never_reset_checks_its_state_at_the_first_step():
    """The neutral configuration may be unassembled."""
    robot = lw.load("fourbar")
    moved = robot.without_constraints(robot.constraints[0].name).with_frame("off", "rocker", lw.pose((0.0, 0.0, 0.1)))
    moved = moved.with_loop("far", "coupler_tip", "off", lw.joints.Revolute((0, 1, 0)))
    simulator = lw.Simulator(moved)
    with pytest.raises(ValueError, match="expected an assembled configuration"):
        simulator.step()


def test_initial_velocity_with_slipping_wheels_is_refused():
    """A cart with rolling wheels slips sideways."""
    cart = lw.load("differential_drive")
    q = cart.project(cart.neutral())
    v = np.zeros(cart.nv)
    v[4] = 1.0
    with pytest.raises(ValueError, match="rolls: along y"):
        cart.simulate(q, v, duration=0.1)
