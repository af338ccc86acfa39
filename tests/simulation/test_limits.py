"""Limits of joints: compliant stops for every method, enforced limits, ignored limits, and warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import SimulationWarning, UnknownNameError
from linkwork.model.limited_coordinates import limited_coordinates, limited_values
from linkwork.simulation import JointStops
from linkwork.simulation.rollout import step_program
from linkwork.simulation.rollout.simulated_dynamics import SimulatedDynamics

G = 9.81


def _sliding() -> lw.Robot:
    """A mass of 2 kg on a rail that goes up to 0.3 m."""
    rail = lw.joints.Prismatic((0, 0, -1))
    return lw.Robot.build(
        "sliding",
        lw.Link("mass", mass=2.0),
        lw.Joint.of(rail, name="rail", parent="world", child="mass", lower=-0.1, upper=0.3),
    )


@pytest.mark.slow(every=5)
def test_joint_stops_support_the_weight_by_every_simulation_method():
    """A body on a stop rests at its weight over the stiffness, and is never pulled."""
    robot = _sliding()
    stops = JointStops(time=0.02, damping_ratio=0.5)
    k, b = 2.0 / (0.5 * 0.02) ** 2, 2.0 * 2.0 / 0.02
    ends = []
    for method in (
        "semi_implicit_euler",
        "rk4",
        "dormand_prince",
        "implicit_midpoint",
        "implicit_euler",
        "variational",
    ):
        result = robot.simulate([0.0], duration=1.5, method=method, joint_limit_mode=stops)
        assert abs(result.q[-1, 0] - 0.3 - 2.0 * G / k) < 1e-6, method
        deep = result.q[:, 0].max() - 0.3
        assert 2.0 * G / k < deep < np.sqrt(2.0 * G * 0.31) * np.sqrt(2.0 / k), method  # less than without a damper
        ends.append(result.q[:300, 0])
    assert all(np.abs(end - ends[1]).max() < 3e-3 for end in ends)
    # a step's force is the one of the formula: struck at 1 m/s, 0.1 mm and 5 mm deep
    for deep, part in ((1e-4, 0.1**2 * 2.8), (5e-3, 1.0)):
        for side in (1.0, -1.0):
            q = 0.3 + deep if side > 0.0 else -0.1 - deep
            h = 1e-7
            after = robot.simulate([q], [side], duration=h, dt=h, method="rk4", joint_limit_mode=stops).v[-1, 0]
            force = -side * (k * deep + b * part)
            assert np.isclose((after - side) / h, force / 2.0 + G, rtol=1e-3), (deep, side)
    # what leaves a stop quickly is not pulled
    after = robot.simulate([0.3001], [-5.0], duration=1e-4, dt=1e-4, method="rk4", joint_limit_mode="soft").v[-1, 0]
    assert np.isclose(after, -5.0 + G * 1e-4)


@pytest.mark.slow(every=3)
def test_stiffness_of_joint_stops_follows_the_inertia_parameters():
    """A hundredth of the mass oscillates as the whole mass, relative to the forces."""
    arm = lw.load("arm7").with_gravity((0.0, 0.0, 0.0))
    names = [f"inertia:{link.name}" for link in arm.links if link.mass > 0.0]
    light = {name: 0.01 * arm.parameters([name])[name.replace(":", "_")] for name in names}
    q, v = arm.upper - 0.01, np.full(7, 2.0)
    options = {"duration": 0.2, "joint_limit_mode": "soft", "passive": False}
    for method in ("semi_implicit_euler", "rk4"):
        run = arm.simulate(q, v, parameters=light, method=method, **options)
        same = arm.simulate(
            q, v, parameters={"inertia:hand": arm.parameters(["inertia:hand"])["inertia_hand"]}, **options
        )
        assert run.success and (run.q.max(axis=0) < arm.upper + 0.2).all(), method
        if method == "semi_implicit_euler":
            assert np.allclose(run.q, same.q, atol=1e-6)  # without other forces, mass has no effect


def test_warning_of_long_time_steps_depends_on_values_of_the_controllers_constants():
    robot = lw.load("double_pendulum")

    def servo(t, q, v, gain):
        return -gain * q - 0.01 * gain * v

    for gain, warns in ((0.1, False), (5e4, True), (0.1, False), (2e5, True)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            robot.simulate(robot.neutral(), duration=0.01, controller=servo, constants={"gain": gain})
        assert any("too long to be stable" in str(warning.message) for warning in caught) == warns, gain


def test_joint_limits_in_simulations_are_enforced_ignored_or_cause_a_warning():
    robot = _sliding()
    enforced = robot.simulate([[0.0], [0.2]], duration=1.0, joint_limit_mode="held")
    assert (enforced.q < 0.3 + 1e-4).all() and np.abs(enforced.q[:, -1] - 0.3).max() < 1e-4
    simulator = lw.Simulator(robot, joint_limit_mode="held", batch=2)
    simulator.reset([[0.0], [0.2]])
    assert np.array_equal(simulator.step(count=1000).q, enforced.q[:, -1])
    ignored = robot.simulate([0.2], duration=0.2, method="rk4", joint_limit_mode="ignored")
    assert ignored.q[-1, 0] > 0.35
    with pytest.warns(
        SimulationWarning,
        match=r"'rail' passed its upper limit of 0.3 at 0.15 s in environment 1: joint limits are not enforced",
    ):
        violated = robot.simulate([[-0.1], [0.2]], duration=0.2, method="rk4", record_every=10)
    assert np.array_equal(violated.q[1, -1], ignored.q[-1])
    robot.simulate([0.35], duration=0.01)  # where it begins is told by nobody
    for kind, text, wrong in (
        (UnknownNameError, "did you mean 'held'", {"joint_limit_mode": "hold"}),
        (TypeError, "expected 'held', 'soft', 'ignored' or JointStops", {"joint_limit_mode": 3}),
        (
            ValueError,
            "joint_limit_mode='held': expected the method 'semi_implicit_euler'",
            {"joint_limit_mode": "held", "method": "rk4"},
        ),
    ):
        with pytest.raises(kind, match=text):
            robot.simulate([0.0], duration=0.01, **wrong)
    with pytest.raises(ValueError, match=r"time: expected a finite number > 0 \[s\]"):
        JointStops(time=0.0)


@pytest.mark.slow(every=5)
def test_joint_stops_act_in_simulations_with_contacts_and_can_be_differentiated():
    """Stops act as forces together with the ground; gradients through a stop equal differences."""
    arm = lw.load("arm7")
    q = arm.upper - 0.01
    how = {"duration": 0.1, "passive": False}
    soft = arm.simulate(q, np.ones(7), joint_limit_mode="soft", **how)
    assert (soft.q < arm.upper + 0.1).all()
    robot = _sliding()

    def end(v):
        return robot.simulate([0.295], v, duration=0.02, method="rk4", joint_limit_mode="soft").q[-1]

    value = lw.compile(end, v=1)
    slope = value.jacobian()(np.array([0.5]))
    expected = (value(np.array([0.5 + 1e-6])) - value(np.array([0.5 - 1e-6]))) / 2e-6
    assert abs(slope[0, 0] - expected[0]) < 1e-7


@pytest.mark.slow(every=5)
def test_planar_joint_in_a_box_of_limits_moves_as_two_rails_and_a_hinge():
    """Limits of coordinates that depend on several velocities, enforced and compliant.

    The same plate hangs on a planar joint, on a reversed one between exchanged links, on rails and a hinge, and on a
    free body whose loop is closed by the planar joint.
    """
    J = lw.joints
    low, high = (-0.3, -0.2, -9.0), (0.25, 0.3, 9.0)
    plate = lw.Link("plate", mass=2.0, com=(0.1, 0.05, 0.0), inertia=np.diag([0.02, 0.03, 0.05]))
    planar = lw.Joint.of(J.Planar(), name="plane", parent="world", child="plate", lower=low, upper=high)
    planar_robot = lw.Robot.build("one", plate, planar)
    axes = (J.Prismatic((1, 0, 0)), J.Prismatic((0, 1, 0)), J.Revolute((0, 0, 1)))
    parents, names = ("world", "a", "b"), ("a", "b", "plate")
    chain = [
        lw.Joint.of(kind, name=f"to_{child}", parent=parent, child=child, lower=a, upper=b)
        for kind, parent, child, a, b in zip(axes, parents, names, low, high, strict=True)
    ]
    rails = lw.Robot.build("rails", lw.Link("a", mass=0.0), lw.Link("b", mass=0.0), plate, *chain)
    free = lw.Robot.build("free", plate, lw.Joint.of(J.Floating(), name="free", parent="world", child="plate"))
    loop = free.with_loop("plane", "world", "plate", J.Planar(), lower=low, upper=high)
    q, q_dot = np.array([0.1, -0.1, 0.4]), np.array([1.0, -0.7, 3.0])
    v = np.array(J.Planar().velocity_from_rate(q.tolist(), q_dot.tolist()), dtype=float)
    X = planar_robot.pose(q, "plate")
    q_free = np.array(J.Floating().configuration_from_pose(lw.spatial.Pose.of(X)), dtype=float)
    for mode, close in (("held", 2e-3), (JointStops(time=0.01), 2e-2)):
        ends = {}
        for robot, at, rates in (
            (planar_robot, q, v),
            (rails, q, q_dot),
            (loop, q_free, np.array([0.0, 0.0, v[2], *v[:2], 0.0])),
        ):
            robot = robot.with_gravity([2.0, -3.0, 0.0])
            moved = robot.simulate(at, rates, duration=0.5, dt=5e-4, joint_limit_mode=mode, passive=False)
            x = robot.loop_configuration(moved.q) if robot.loops else moved.q
            assert (x < np.array(high) + close).all() and (x > np.array(low) - close).all(), (robot.name, mode)
            assert (np.abs(x[:, :2] - high[:2]) < close).any(axis=0)[0]  # it does reach a limit
            ends[robot.name] = x
        for name in ("rails", "free"):
            assert np.abs(ends[name] - ends["one"])[:200].max() < close, (name, mode)


def test_joint_limits_hold_in_simulations_with_loops():
    """A slider moves by more than its gap in a step, with and without a loop that does not touch it."""
    J, weight = lw.joints, {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    rails = [lw.Joint.of(J.Prismatic((1, 0, 0)), name=f"to_{x}", parent="world", child=x) for x in ("a", "b")]
    slide = lw.Joint.of(J.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart", lower=0.0, upper=1.0)
    tree = lw.Robot.build("slider", slide, *rails, *(lw.Link(name, **weight) for name in ("cart", "a", "b")))
    rng = np.random.default_rng(0)
    q, v, force = np.zeros((3, 200, tree.nv))
    k = tree.v_names.index("slide")
    q[:, k], v[:, k], force[:, k] = rng.uniform([0, -3, -2000], [2e-3, 0, 2000], size=(200, 3)).T
    push = {"controller": lambda t, q, v, force: force, "constants": {"force": force}}
    for robot in (tree, tree.with_loop("close", "a", "b", J.Prismatic((0, 1, 0)))):
        run = robot.simulate(q, v, **push, duration=8e-3, dt=2e-3, joint_limit_mode="held")
        assert run.q[..., k].min() > -1e-7 and run.q[..., k].max() < 0.1, robot.name


def test_time_steps_of_a_mechanism_far_from_its_limits_solve_no_program(monkeypatch):
    """A rocker that turns towards its limit, in steps from where it is far to where it is beyond."""
    robot, solved, contact_velocities = lw.load("fourbar"), [], step_program.contact_velocities

    def counted(*arguments):
        solved.append(arguments)
        return contact_velocities(*arguments)

    monkeypatch.setattr(step_program, "contact_velocities", counted)
    rocker, start = robot.v_names.index("rocker_hinge"), robot.assemble(robot.neutral()).q
    unit = robot.project_velocity(start, np.eye(robot.nv)[rocker])
    dynamics = SimulatedDynamics(robot, {}, "semi_implicit_euler", True, 1e-3)
    counts, ends = [], []
    for speed in (1.0, 100.0, -1000.0, 2000.0):
        v = (speed / unit[rocker] * unit).tolist()
        ends.append(step_program.program_step(dynamics, None, 0.0, start.tolist(), v, [0.0] * robot.nv)[0][rocker])
        counts.append(len(solved))
    assert counts == [0, 0, 1, 2]
    assert np.abs(ends).max() < robot.upper[rocker] + 1e-6 < 2.0


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore:simulate. dt")
def test_joint_limits_hold_past_a_singular_configuration():
    """Two motions of the leg that reach a limit near a singular configuration, in steps of 2 ms."""
    robot = lw.load("leg")
    q = np.array([robot.project(robot.random_configuration(seed=seed)) for seed in (3, 241)])
    v = [
        robot.project_velocity(x, 0.3 * np.random.default_rng(seed).normal(size=robot.nv))
        for x, seed in zip(q, (3, 241), strict=True)
    ]
    run = robot.simulate(q, v, duration=0.1, dt=2e-3, joint_limit_mode="held")
    coordinates = limited_coordinates(robot.tree)
    x = limited_values(robot, coordinates, run.q)
    beyond = np.maximum(
        [coordinate.lower for coordinate in coordinates] - x, x - [coordinate.upper for coordinate in coordinates]
    )
    assert run.success.all() and beyond.max() < 1e-9
    assert np.abs(robot.constraint_error(run.q)).max() < 1e-5


@pytest.mark.slow(every=3)
def test_prescribed_motion_ends_at_a_joint_limit_that_contradicts_it():
    """A crank that turns at 2 rad/s moves the rocker beyond its limit: neither the limit nor the loop yields."""
    bar = lw.load("fourbar")
    q = bar.assemble().q
    driven = bar.with_constraints(lw.constraints.Prescribed("crank_hinge", lambda t: q[0] + 2.0 * t))
    v = driven.project_velocity(q, np.zeros(bar.nv))
    free = driven.simulate(q, v, duration=0.1, joint_limit_mode="ignored").q[:, 2]
    limit = np.sort([free[60], 10.0 * (q[2] - free[60])])
    limited = driven.with_joint(driven.joint("rocker_hinge").with_position_limits(*limit))
    run = limited.simulate(q, v, duration=0.1, joint_limit_mode="held")
    assert run.status == "step_not_solved" and abs(run.stopped_at - 0.06) < 2e-3
    end = round(run.stopped_at / 1e-3) - 1
    assert np.abs(limited.constraint_error(run.q[end], time=run.t[end])).max() < 1e-5
    assert np.abs(run.q[: end + 1, 2] - free[: end + 1]).max() < 1e-5


@pytest.mark.slow(every=3)
def test_joint_limits_that_are_not_reached_do_not_change_the_motion(drawn):
    """Steps from 0.1 µs to 1 ms, far from all limits."""
    for name in drawn(["double_pendulum", "arm7", "fourbar"]):
        robot = lw.load(name)
        for joint in robot.joints:
            if len(joint.lower) == 1:
                robot = robot.with_joint(joint.with_position_limits(-9.0, 9.0))
        rng = np.random.default_rng(0)
        q = robot.assemble(rng.uniform(-0.1, 0.1, robot.nq)).q if robot.constraints else rng.normal(size=robot.nq)
        v = rng.normal(size=robot.nv)
        v = robot.project_velocity(q, v) if robot.constraints else v
        for dt in (1e-7, 1e-6, 1e-5, 1e-4, 1e-3):
            enforced, free = (
                robot.simulate(q, v, duration=10 * dt, dt=dt, record_every=10, joint_limit_mode=mode)
                for mode in ("held", "ignored")
            )
            change = free.v[-1] - v
            assert enforced.success and np.abs(change).max() > dt
            np.testing.assert_allclose(
                enforced.v[-1] - v, change, rtol=0, atol=1e-9 * np.abs(change).max(), err_msg=name
            )
