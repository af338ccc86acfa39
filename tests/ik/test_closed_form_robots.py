"""Real robots: which of them have a closed form, and that it recovers their configurations."""

import math

import numpy as np
import pytest

from helpers.closed_form_arms import on_arrays
from oracles.example_robots import EXAMPLES

WRIST = "spherical wrist"
BACK = "from the hand to the base"
ONE_TWO = "first and second axis intersect"
FAMILIES = {  # robot, frame, relative to: family, redundant
    ("ur5", "tool0", "world"): ("three parallel axes, the last two intersect", None),
    ("kinova", "j2s6s200_end_effector", "world"): (f"{WRIST}, {ONE_TWO}, second and third axis parallel", None),
    ("panda", "panda_hand", "world"): (f"{WRIST}, {ONE_TWO}, {BACK}, joint panda_joint7 locked", "panda_joint7"),
    ("xarm7", "link_eef", "world"): (f"{WRIST}, {ONE_TWO}, {BACK}, joint joint7 locked", "joint7"),
    ("tiago", "wrist_ft_tool_link", "torso_lift_link"): (
        f"{WRIST}, {ONE_TWO}, joint arm_1_joint locked",
        "arm_1_joint",
    ),
    ("pr2", "l_gripper_tool_frame", "torso_lift_link"): (
        "third to fifth axis through one point, fifth and sixth axis intersect, joint l_wrist_roll_joint locked",
        "l_wrist_roll_joint",
    ),
    ("talos", "gripper_left_base_link", "torso_2_link"): (
        f"{WRIST}, {ONE_TWO}, joint arm_left_1_joint locked",
        "arm_left_1_joint",
    ),
    ("talos", "leg_left_6_link", "base_link"): (f"three parallel axes, the last two intersect, {BACK}", None),
    ("icub", "l_hand", "chest"): ("spherical shoulder, elbow, spherical wrist", "elbow angle"),
    # offsets in the wrist, and in the shoulder
    ("baxter", "left_gripper", "torso"): None,
    ("g1", "left_rubber_hand", "torso_link"): None,
}


@pytest.mark.parametrize("name", sorted({name for name, _, _ in FAMILIES}))
def test_closed_form_ik_of_published_robots_recovers_configurations(name):
    robot = next(example for example in EXAMPLES if example.name == name).robot()
    for (_, frame, relative_to), expected in ((k, v) for k, v in FAMILIES.items() if k[0] == name):
        form = robot.closed_form(frame, relative_to=relative_to)
        if expected is None:
            assert form is None
            continue
        assert (form.family, form.redundant) == expected
        q = robot.random_configuration(seed=1, size=200)
        X = np.asarray(robot.pose(q, frame, relative_to=relative_to))
        parameter = None if form.redundant is None else form.redundant_angle(q)
        outputs, valid = on_arrays(robot, form, X, q, parameter)
        assert np.isfinite(outputs).all()
        reached = np.asarray(robot.pose(outputs, frame, relative_to=relative_to))
        assert np.abs(reached - X[:, np.newaxis])[valid].max() < 1e-9
        between = np.abs(outputs - q[:, np.newaxis])
        away = np.minimum(between, np.abs(between - 2.0 * math.pi)).max(axis=-1)
        distance = np.where(valid, away, np.inf).min(axis=-1)
        # xArm's file is rounded to 4e-6 rad: beside its singular configurations branches of the simpler arm meet
        assert (distance < 1e-6).mean() >= (0.99 if name == "xarm7" else 1.0)
