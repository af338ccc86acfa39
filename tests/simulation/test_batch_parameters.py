"""Parameters of a batch: warnings consider all environments, and loaded results have parameters of their shapes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation import ContactGround, ContactPoint, Simulation


def warnings_of(robot, q, parameters, **options):
    """Return the texts of the warnings of a step of three environments."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot.simulate(np.tile(q, (3, 1)), np.zeros((3, robot.nv)), duration=0.001, parameters=parameters, **options)
    return [str(warning.message) for warning in caught]


@pytest.mark.slow(every=3)
def test_simulation_warnings_of_stiff_springs_name_the_environment():
    """Springs of a tree and of a joint that closes a loop are too stiff in the second environment only."""
    pendulum, bar = lw.load("double_pendulum"), lw.load("fourbar")
    for robot, q, name in ((pendulum, pendulum.neutral(), "elbow"), (bar, bar.assemble().q, "pin")):
        stiffness = {f"stiffness:{name}": np.array([[1.0], [1e6], [0.0]])}
        (text,) = warnings_of(robot, q, stiffness)
        assert f"{name!r} vibrates" in text and "in environment 1," in text


def test_simulation_warnings_of_overlaps_use_the_weight_of_each_environment():
    """A soft ball 20 mm below the ground: a hundred times its mass, or its gravity, explains the depth."""
    link = lw.Link("ball", mass=1.0, com=(0, 0, 0), inertia=(0.02, 0.03, 0.045))
    ball = lw.Robot.build("ball", link, floating_base=True)
    contacts = ContactGround(ContactPoint("ball", radius=0.3), stiffness=1e4)
    q, inertia = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.28], ball.parameters(["inertia"])["inertia"]
    for parameters, count in (
        ({"inertia": 100.0 * np.stack([inertia] * 3)}, 0),
        ({"inertia": np.array([100.0, 100.0, 1.0])[:, None, None] * inertia}, 1),
        ({"gravity": np.array([[0.0, 0.0, -981.0]] * 3)}, 0),
        ({"gravity": np.array([[0.0, 0.0, -9.81]] * 3)}, 1),
    ):
        texts = warnings_of(ball, q, parameters, contacts=contacts)
        assert sum("overlap at the start" in text for text in texts) == count, parameters


def test_parameters_of_wrong_shape_in_a_saved_simulation_are_refused_with_their_names(tmp_path):
    pendulum = lw.load("double_pendulum")
    gravity = {"gravity": np.array([[0.0, 0.0, -9.81], [0.0, 0.0, -1.62]])}
    pendulum.simulate(np.zeros((2, 2)), duration=0.01, parameters=gravity).save(tmp_path / "run.npz")
    assert Simulation.load(tmp_path / "run.npz", robot=pendulum).parameters["gravity"].shape == (2, 3)
    with np.load(tmp_path / "run.npz") as file:
        arrays = {name: file[name] for name in file.files}
    for wrong in (np.zeros((2, 4)), np.zeros((3, 3)), np.zeros((2, 3, 1)), np.zeros(3)):
        np.savez(tmp_path / "wrong.npz", **{**arrays, "parameters.gravity": wrong})
        with pytest.raises(ValueError, match=r"array 'parameters.gravity': expected shape \(2, 3\)"):
            Simulation.load(tmp_path / "wrong.npz", robot=pendulum)


@pytest.mark.slow(every=5)
def test_stiffness_of_all_joints_in_one_parameter_equals_an_edited_robot():
    """The robot itself has no springs, and some of its joints have several degrees of freedom."""
    robot = lw.load("differential_drive")
    q, v = robot.neutral(), robot.project_velocity(robot.neutral(), np.linspace(0.4, 1.0, robot.nv))
    stiffness = np.linspace(2.0, 5.0, 2)[:, np.newaxis] * np.ones(robot.nv)
    result = robot.simulate(q, v, duration=0.05, parameters={"stiffness": stiffness})
    for k, rates in enumerate(stiffness):
        edited = robot.with_parameters({"stiffness": rates}).simulate(q, v, duration=0.05)
        np.testing.assert_allclose(result.q[k], edited.q, rtol=0, atol=1e-12)
    assert np.abs(result.q[0] - result.q[1]).max() > 1e-4
