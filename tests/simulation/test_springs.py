"""Joint springs in simulation: undamped ones conserve energy, stiff ones settle with a warning."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import SimulationWarning

METHODS = ("semi_implicit_euler", "rk4", "dormand_prince", "implicit_midpoint", "variational")


def slider(stiffness=100.0, damping=0.0):
    robot = lw.Robot.build(
        "slider",
        lw.Link("mass", mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="mass"),
    )
    return robot.with_joint_dynamics(stiffness=stiffness, damping=damping)


def energies(robot, q, v, **how):
    """Return the total energy by record, and the largest kinetic energy."""

    def both(t, q, v, tau):
        return [robot.kinetic_energy(q, v, passive=True), robot.potential_energy(q, passive=True)]

    result = robot.simulate(q, v, record={"both": both}, joint_limit_mode="ignored", **how)
    assert np.all(result.success), result.explain()
    return result.records["both"].sum(axis=-1), result.records["both"][:, 0].max()


@pytest.mark.slow(every=3)
def test_simulated_undamped_spring_conserves_energy(drawn):
    """1 kg on 100 N/m over 10 s: the default method is within ω h/2 of its energy, the others within 1e-6."""
    robot = slider()
    for h in (1e-3, 5e-3):
        for method in drawn(METHODS):
            energy, _ = energies(robot, [0.1], None, duration=10.0, dt=h, method=method)
            most = 0.51 * 10.0 * h if method == "semi_implicit_euler" else 1e-6
            assert np.abs(energy / energy[0] - 1.0).max() < most, (method, h)
        energy, _ = energies(robot, [0.1], None, duration=10.0, dt=h, method="implicit_euler")
        assert abs(energy[-1] / energy[0] - (1.0 + 100.0 * h * h) ** -round(10.0 / h)) < 1e-9


@pytest.mark.slow(every=5)
def test_simulated_springs_of_trees_and_loops_conserve_energy():
    """A double pendulum and a ball on springs, and a four-bar on springs, over 10 s."""
    pendulum = lw.load("double_pendulum").with_joint_dynamics(stiffness=30.0, damping=0.0, friction=0.0)
    bar = lw.load("fourbar").with_joint_dynamics(stiffness=2.0, damping=0.0, friction=0.0)
    ball = lw.Robot.build(
        "ball",
        lw.Link("ball", mass=1.0, com=(0, 0, 0.1), inertia=(0.01, 0.02, 0.03)),
        lw.Joint.of(lw.joints.Spherical(), name="pivot", parent="world", child="ball"),
    ).with_joint_dynamics(stiffness=20.0)
    cases = ((pendulum, [0.2, -0.1], None), (ball, [1.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0]), (bar, bar.neutral(), None))
    for robot, q, v in cases:
        for method, most in (("semi_implicit_euler", 0.05), ("variational", 2e-3), ("rk4", 1e-5)):
            energy, size = energies(robot, q, v, duration=10.0, dt=1e-3, method=method, record_every=5)
            error = (energy - energy[0]) / size
            assert np.abs(error).max() < most, (robot.name, method, np.abs(error).max())
            drift = error[-400:].mean() - error[:400].mean()
            assert abs(drift) < max(0.2 * most, 1e-5), (robot.name, method, drift)


def test_springs_too_stiff_for_the_time_step_settle_with_a_warning():
    """Springs with their own damping, or slow enough for the step, cause no warning."""
    with pytest.warns(SimulationWarning, match="too fast for steps of 0.01 s, and is treated implicitly"):
        undamped = slider(1e6).simulate([0.1], duration=0.5, dt=0.01)
    assert np.abs(undamped.q[-1]) < 1e-12 and np.abs(undamped.v[-1]) < 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        damped = slider(1e6, 2e4).simulate([0.1], duration=0.5, dt=0.01)
        slider(100.0).simulate([0.1], duration=0.01, dt=0.01)
    assert np.abs(damped.q[-1]) < 1e-6


@pytest.mark.filterwarnings("ignore:simulate. dt")
def test_simulated_springs_of_any_stiffness_and_damping_are_stable():
    """No stiffness, damping and step lets a spring gain energy."""
    robot = slider()
    k, d = (x.ravel() for x in np.meshgrid(np.geomspace(1.0, 1e8, 17), [0.0, 1.0, 1e3]))
    parameters = {"stiffness": k[:, None], "damping": d[:, None]}
    result = robot.simulate(np.full((len(k), 1), 0.1), duration=20.0, dt=0.01, parameters=parameters)
    assert np.all(result.status == "completed")
    shifted = result.q[..., 0] - 0.005 * result.v[..., 0]  # the midpoints, whose energy the step keeps
    energy = 0.5 * result.v[..., 0] ** 2 + 0.5 * k[:, None] * shifted**2
    assert (energy.max(axis=1) < (1.0 + 1e-9) * np.maximum(energy[:, :2].max(axis=1), 0.0)).all()


@pytest.mark.filterwarnings("ignore:simulate. dt. the spring", "ignore:simulate. .* turns past half")
@pytest.mark.slow(every=9)
def test_stiff_springs_of_joints_with_curved_coordinates_add_no_energy(drawn):
    """A free body turns about a stiff spring of one velocity, in a joint with curved coordinates."""
    names = ("Planar", "Spherical", "SphericalMRP", "Floating", "Ellipsoid", "loop")
    for name in drawn(names):
        kind = getattr(lw.joints, name, lw.joints.Floating).example(np.random.default_rng(0))
        body = lw.Link("body", mass=1.3, com=(0.1, 0.2, -0.15), inertia=(0.3, 0.5, 0.4))
        robot = lw.Robot.build(
            name, body, lw.Joint.of(kind, name="free", parent="world", child="body"), gravity=(0, 0, 0)
        )
        owner = "free"
        if name == "loop":
            robot = robot.with_frame("seat", "world", robot.pose(robot.neutral(), "body"))
            robot, owner = robot.with_loop("pivot", "body", "seat", lw.joints.Spherical(), stiffness=1.0), "pivot"
        v = 2.0 * np.random.default_rng(1).normal(size=robot.nv)
        v = robot.project_velocity(robot.neutral(), v) if name == "loop" else v
        each = 1e6 * np.eye(3 if name == "loop" else robot.nv)
        stiffness = {f"stiffness:{owner}": each}
        if name != "loop":
            stiffness["rest:free"] = np.tile(robot.neutral(), (len(each), 1))
        result = robot.simulate(
            np.tile(robot.neutral(), (len(each), 1)),
            v,
            duration=4.0,
            record_every=20,
            joint_limit_mode="ignored",
            parameters=stiffness,
        )
        energy = robot.kinetic_energy(result.q, result.v)
        assert np.all(result.success), name
        assert (energy < 1.001 * energy[:, :1]).all(), (name, (energy / energy[:, :1]).max(axis=1))


@pytest.mark.slow(every=5)
def test_springs_that_parameters_make_too_stiff_cause_a_warning():
    """Stiffness, damping and inertia as parameters count in the warning, in trees and loops."""
    arm, bar = lw.load("arm7"), lw.load("fourbar")
    stiff = np.array([0.0, 0.0, 1e5, 0.0, 0.0, 0.0, 0.0])
    stiff_arm = arm.with_parameters({"stiffness": stiff})
    heavy = {"inertia": 1e6 * arm.parameters(["inertia"])["inertia"]}
    for robot, name, parameters in (
        (arm, "upper_arm_roll", {"stiffness": stiff}),
        (stiff_arm, "upper_arm_roll", {}),
        (bar, "pin", {"stiffness:pin": [1e5]}),
        (stiff_arm, None, {"stiffness": 1e-4 * stiff}),
        (stiff_arm, None, {"damping": stiff}),
        (stiff_arm, None, heavy),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            robot.simulate(robot.neutral(), duration=0.001, parameters=parameters)
        assert [f"the spring in {name!r} vibrates" in str(warning.message) for warning in caught] == [True] * (
            name is not None
        )
    for parameters, ending in (
        ({"stiffness": stiff}, ","),
        ({"stiffness": [0.0 * stiff, stiff]}, " in environment 1,"),
    ):
        with pytest.warns(SimulationWarning, match=f"'upper_arm_roll' vibrates .* rad/s{ending}"):
            arm.simulate(np.zeros((2, 7)), duration=0.001, parameters=parameters)
    empty = arm.simulate(np.zeros((0, 7)), duration=0.001, parameters={"stiffness": np.zeros((0, 7))})
    assert empty.q.shape == (0, 2, 7)
    simulator = lw.Simulator(arm, batch=0, parameters={"stiffness": np.zeros((0, 7))})
    simulator.reset(arm.neutral())
    assert simulator.step().q.shape == (0, 7)


@pytest.mark.slow(every=5)
def test_springs_of_joints_that_turn_past_half_a_revolution_cause_a_warning():
    """A body that turns at 6 rad/s about z: in a tree, as its values are parameters, and with a joint as a loop."""
    link = lw.Link("body", mass=1.0, inertia=(0.1, 0.2, 0.3))

    def turning_body(joint, stiffness):
        hinge = lw.Joint.of(joint, name="joint", parent="world", child="body", stiffness=stiffness)
        return lw.Robot.build("turning", link, hinge, gravity=(0, 0, 0))

    ball = turning_body(lw.joints.Floating(), 0.0).with_loop("joint of loop", "world", "body", lw.joints.Spherical())
    ball = ball.with_parameters({"stiffness:joint of loop": [0.1] * 3})
    disc = turning_body(lw.joints.Revolute((0, 0, 1)), 0.0)
    disc = disc.with_loop("joint of loop", "world", "body", lw.joints.Revolute((0, 0, 1)), stiffness=0.1)
    weak = {"stiffness:joint": [[0.0] * 6, [0.1] * 6]}
    for robot, axis, changed, name in (
        (turning_body(lw.joints.Revolute((0, 0, 1)), 0.1), 0, {}, None),
        (turning_body(lw.joints.UnboundedRevolute((0, 0, 1)), 0.1), 0, {}, "'joint' turns .* at 0.5[34] s:"),
        (turning_body(lw.joints.SphericalMRP(), 0.1), 2, {}, "'joint' turns .* at 0.5[34] s:"),
        (turning_body(lw.joints.Floating(), 1.0), 2, weak, "'joint' turns .* at 0.5[34] s in environment 1:"),
        (ball, 2, {}, "'joint of loop' turns .* at 0.5[34] s:"),
        (disc, 0, {}, "'joint of loop' turns .* at 0.5[34] s:"),
    ):
        q, v = robot.neutral(), np.zeros(robot.nv)
        v[axis] = 6.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = robot.simulate(q, v, duration=0.7, record_every=10, parameters=changed)
        assert np.all(result.success)
        texts = [str(warning.message) for warning in caught]
        assert len(texts) == (name is not None), texts
        if name is not None:
            assert re.search(name, texts[0]) and "spring's force jumps" in texts[0], texts
