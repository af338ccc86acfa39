"""Names of parameters in simulations: all spellings have the same effect, of loop joints, too."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.simulation import IMU, Encoder, ForceTorqueSensor


def moving(name):
    robot = lw.load(name)
    q = robot.random_configuration(seed=3)
    if robot.constraints:
        return robot, *robot.project(q, np.ones(robot.nv))
    return robot, q, np.ones(robot.nv)


@pytest.mark.slow(every=9)
def test_simulation_parameters_have_the_effect_of_editing_the_robot(drawn):
    cases = [
        ("fourbar", kind, joint) for kind in ("damping", "stiffness", "friction") for joint in ("rocker_hinge", "pin")
    ]
    cases += [
        ("fourbar", "armature", "rocker_hinge"),
        ("double_pendulum", "damping", "elbow"),
        ("double_pendulum", "armature", "elbow"),
    ]
    for name, kind, joint in drawn(cases):
        robot, q, v = moving(name)
        for method in ("semi_implicit_euler", "rk4"):
            options = {"duration": 0.05, "method": method}
            expected = robot.with_parameters({f"{kind}:{joint}": [0.3]}).simulate(q, v, **options).v[-1]
            assert np.abs(expected - robot.simulate(q, v, **options).v[-1]).max() > 1e-4, (kind, joint)
            for text in (f"{kind}:{joint}", f"{kind}_{joint}", f"{kind}:{joint[:-1]}?"):
                velocity = robot.simulate(q, v, parameters={text: [0.3]}, **options).v[-1]
                assert np.abs(velocity - expected).max() < 1e-7, (text, method)


@pytest.mark.slow(every=5)
@pytest.mark.filterwarnings("ignore::linkwork.errors.SimulationWarning")
def test_simulation_kernels_with_inertia_parameters_stay_short():
    """A batch of masses follows the edited robots, and its kernel is about as long as one without parameters."""
    robot = lw.load("double_pendulum").with_joint_dynamics(friction=5.0, stiffness=3e5)
    key, rng = f"inertia:{robot.links[-1].name}", np.random.default_rng(0)
    mass = np.array(next(iter(robot.parameters(key).values())))
    values, q, v = mass * np.array([[0.1], [1.0], [3.0]]), rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    plain, simulator = lw.Simulator(robot), lw.Simulator(robot, batch=3, parameters={key: mass})
    single = lw.Simulator(robot, parameters={key: mass})
    for simulator_of_kernel in (plain, simulator, single):
        simulator_of_kernel.step(np.zeros(2))
    simulator.reset(q, v, parameters={key: values[:1]}, where=[True, False, False])
    simulator.reset(q, v, parameters={key: values}, where=[False, False, True])
    simulator.reset(q, v)
    simulator.step(np.zeros(2), count=20)
    for k, value in enumerate(values):
        single.reset(q[k], v[k], parameters={key: value})
        single.step(np.zeros(2), count=20)
        expected = robot.with_parameters({key: value}).simulate(q[k], v[k], duration=0.02)
        by_simulate = robot.simulate(q[k], v[k], duration=0.02, parameters={key: value})
        for q_of_run in (single.state.q, simulator.state.q[k], by_simulate.q[-1]):
            assert np.abs(q_of_run - expected.q[-1]).max() < 1e-9, k
    nominal, varied = (
        next(iter(simulator_of_kernel._kernels.values())).kernel for simulator_of_kernel in (plain, single)
    )
    assert varied.arithmetic < 3 * nominal.arithmetic  # outside of the loop over steps


@pytest.mark.slow(every=3)
def test_sensors_read_values_of_robots_with_passive_parameters():
    robot, q, v = moving("fourbar")
    sensors = {"unit": IMU("rocker"), "rate": Encoder(of="velocity"), "wrench": ForceTorqueSensor("rocker_hinge")}
    values = {"damping_rocker_hinge": [0.3], "stiffness:pin": [0.2]}
    records = robot.simulate(q, v, duration=0.02, sensors=sensors, parameters=values).records
    same = robot.with_parameters(values).simulate(q, v, duration=0.02, sensors=sensors).records
    for name in sensors:
        assert np.allclose(records[name], same[name], atol=1e-7), name
    simulator = lw.Simulator(robot, sensors=sensors, parameters=values)
    simulator.reset(q, v, parameters={"damping:rocker_hinge": [0.3], "stiffness_pin": [0.2]})
    simulator.step(np.zeros(3), count=20)
    assert np.allclose(simulator.readings["unit"], records["unit"][-1], atol=1e-9)


def test_unknown_simulation_parameter_is_refused_with_the_nearest_name():
    robot, q, v = moving("fourbar")
    simulator = lw.Simulator(robot, parameters={"damping_pin": [0.1]})
    for call in (
        lambda values: robot.simulate(q, v, duration=0.01, parameters=values),
        lambda values: lw.Simulator(robot, parameters=values),
        lambda values: simulator.reset(q, v, parameters=values),
        lambda values: robot.assemble({"crank_hinge": 1.0}, parameters=values),
        lambda values: robot.drive_mechanism("crank_hinge", [0.0, 0.1], parameters=values),
        lambda values: robot.with_parameters(values),
        lambda values: robot.compile("forward_dynamics", parameters=[*values]),
    ):
        for text in ("damping_rocker_hing", "damping:rocker_hing"):
            with pytest.raises(UnknownNameError, match="rocker_hinge"):
                call({text: [0.1]})
    with pytest.raises(ValueError, match="pin"):
        robot.with_parameters({"damping:pin": [-1.0]})
    with pytest.raises(ValueError, match=r"already|twice"):
        robot.simulate(q, v, duration=0.01, parameters={"damping:pin": [0.1], "damping_pin": [0.2]})
