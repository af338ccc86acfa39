"""Files of controllers and simulations are read for the robot that they were made for, and for no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import TVLQRController
from linkwork.simulation import Simulation

ARM = lw.load("double_pendulum").with_joint_dynamics(armature=0.1, damping=0.2, friction=0.05)
START, END = np.array([0.1, 0.2]), np.array([0.5, -0.3])


def _problem(robot: Any, scale: float = 1.0, far: float = 2.0) -> Any:
    problem = lw.TrajectoryProblem(robot, num_steps=4, duration=0.2).add("acceleration", "least_squares", scale=scale)
    problem = problem.add(lambda w: w.q()[0] - far, "inequality", name="wall")
    return problem.add("configuration", "least_squares", name="place")


@pytest.mark.slow(every=9)
def test_saved_controllers_and_simulations_can_be_loaded_for_their_robot_only(tmp_path: Path) -> None:
    joint = ARM.joints[1]
    robots = (
        ARM.with_payload("load", "tip", 0.1),
        ARM.with_gravity((0.0, 0.0, -1.6)),
        ARM.with_joint_dynamics(armature=0.2),
        ARM.with_joint_dynamics(damping=0.3),
        ARM.with_joint_dynamics(friction=0.1),
        ARM.with_joint_dynamics(stiffness=1.0),
        ARM.with_parameters({f"placement:{joint.name}": [0.0, 0.0, 0.0, 0.01, 0.0, 0.0]}),
    )
    same = ARM.with_joint(joint.with_effort_limit(3.0)).with_frame("mark", "tip", (0.1, 0.0, 0.0))
    path = ARM.spline([0.0, 1.0], np.array([START, END]), boundary="clamped")
    lw.control.lqr_about_trajectory(ARM, path, dt=0.1).save(tmp_path / "along.npz")
    ARM.simulate(START, duration=0.01).save(tmp_path / "run.npz")
    controller = _problem(ARM).controller()
    controller.step((START, np.zeros(2)), {"place": END})
    controller.save(tmp_path / "state.npz")
    for robot in (ARM, same):
        assert TVLQRController.load(tmp_path / "along.npz", robot=robot).robot is robot
        assert Simulation.load(tmp_path / "run.npz", robot=robot).success
    for robot in robots:
        for load, file in ((TVLQRController.load, "along.npz"), (Simulation.load, "run.npz")):
            with pytest.raises(ValueError, match=f"{file}: it was made for another robot"):
                load(tmp_path / file, robot=robot)
    again = _problem(ARM).controller()
    again.restore(tmp_path / "state.npz")
    assert np.array_equal(again.plan.q, controller.plan.q)
    problems = [_problem(robots[0]), _problem(ARM, scale=2.0), _problem(ARM, far=1.0)]
    for controller in (*(x.controller() for x in problems), _problem(ARM).controller(passive=False)):
        with pytest.raises(ValueError, match=r"state\.npz: it was made for another robot .* or with other options"):
            controller.restore(tmp_path / "state.npz")
