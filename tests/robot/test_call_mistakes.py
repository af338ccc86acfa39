"""Errors of calls with arguments in another order, or of another kind: each names the remedy."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw

ARM = lw.load("arm7")
Q = np.zeros(7)


def message(ask: Callable[[], Any]) -> str:
    with pytest.raises((AttributeError, TypeError, KeyError, ValueError)) as caught:
        ask()
    return str(caught.value)


def test_classes_do_not_override_attribute_access() -> None:
    """A class with `__getattr__` for words of other libraries takes twice as long for a single call."""
    for whole in (lw.Robot, lw.Joint, lw.Kernel):
        assert not any("__getattr__" in vars(part) or "__getattribute__" in vars(part) for part in whole.__mro__[:-1])


def test_joint_passed_as_a_frame_is_reported_with_the_name_of_its_link() -> None:
    for ask, remedy in (
        (lambda: ARM.jacobian(Q, "elbow"), "it is a joint, which carries link 'forearm_proximal'"),
        (lambda: ARM.pose(Q, "hand_mount"), "it is a joint, which carries link 'hand'"),
        (lambda: ARM.joint("hand"), "it is a link, carried by joint 'hand_mount'"),
        (lambda: ARM.joint("wrist"), "it is a link, carried by joint 'wrist_flex'"),
        (lambda: ARM.link("elbow"), "it is a joint, which carries link 'forearm_proximal'"),
        (lambda: ARM.with_inertia("elbow", mass=1.0), "it is a joint, which carries link 'forearm_proximal'"),
        (lambda: ARM.joint(3), "it is robot.joints[3], by its index in the list"),
        (lambda: ARM.link(2), "it is robot.links[2], by its index in the list"),
        (lambda: ARM.pose(Q, ARM.link("hand")), "pass the name of the frame: 'hand'"),
        (lambda: ARM.pose(Q, ARM.joint("elbow")), "it is a joint, which carries link 'forearm_proximal'"),
        (lambda: ARM.pose(Q, 7), "there are 'base', "),
    ):
        assert f"; {remedy}" in message(ask)  # type: ignore[arg-type]


def test_frames_passed_before_arrays_are_refused_with_the_order() -> None:
    assert message(lambda: ARM.pose("hand", Q)) == (  # type: ignore[arg-type]
        "pose: frame: expected a frame's name, got an array of shape (7,); pass arrays before it, as in pose(q, frame)"
    )
    point: Any = [0, 0, 1]
    for ask, begins in (
        (lambda: ARM.twist(Q, Q, "hand", point=point), "twist: point: expected a frame's name, got [0, 0, 1]"),
        (lambda: ARM.jacobian(Q, "hand", expressed_in=point), "jacobian: expressed_in: expected a frame's name"),
        (lambda: ARM.acceleration(Q, Q, Q, "hand", relative_to=point), "acceleration: relative_to: expected a frame's"),
    ):
        assert message(ask).startswith(begins)


def test_method_passed_as_a_function_name_is_refused_with_its_name() -> None:
    assert "pass the function's name: 'gravity_force'" in message(lambda: ARM.compile(ARM.gravity_force))


def test_string_passed_as_a_tree_is_refused_with_the_remedy() -> None:
    assert "Robot: tree: expected a Tree, got 'arm7'; use linkwork.load" in message(lambda: lw.Robot("arm7"))  # type: ignore[arg-type]


def test_messages_about_missing_arguments_name_the_public_class() -> None:
    hinge = lw.Joint.of(lw.joints.Revolute((0, 0, 1)))
    assert message(lambda: ARM.mass_matrix()) == "mass_matrix: q: expected a value, got none"  # type: ignore[call-arg]
    assert message(lambda: hinge.twist()).startswith("Joint.twist() missing")  # type: ignore[call-arg]
    assert pickle.loads(pickle.dumps(lw.Robot.pose)) is lw.Robot.pose


def test_error_of_missing_coordinates_of_a_floating_base_names_them() -> None:
    dog = lw.load("quadruped", floating_base=True)
    text = message(lambda: dog.forward_dynamics(dog.neutral(), np.zeros(18), np.zeros(12)))
    zeros = "; the first 6 elements are those of joint 'floating_base', zeros: np.concatenate([np.zeros(6), tau])"
    assert text.endswith(zeros)
    for call in (
        lambda: dog.simulate(dog.neutral(), controller=lambda t, q, v: -v[6:], duration=0.1),
        lambda: lw.Simulator(dog).step(np.zeros(12)),
        lambda: lw.Simulator(dog, controller=lambda t, q, v: -v[6:]).step(),
    ):
        assert message(call).endswith(zeros)
    text = message(lambda: dog.simulate(dog.neutral(), np.zeros(12), duration=0.1))
    assert text.endswith("got shape (12,); the first 6 elements are those of joint 'floating_base'")
    assert message(lambda: dog.pose(np.zeros((5, 12)), "trunk")).endswith(
        "; the first 7 elements are those of joint 'floating_base'"
    )
    assert "floating_base" not in message(lambda: dog.pose(np.zeros(11), "trunk"))


def test_error_of_a_position_instead_of_a_frame_names_the_methods_for_points() -> None:
    text = message(lambda: ARM.jacobian(ARM.neutral(), ARM.frames[-1], point=(0, 0, 1)))  # type: ignore[arg-type]
    assert text.startswith("jacobian: point: no frame named (0, 0, 1); expected a frame's name, a string; ")
    assert "point_jacobian take positions in a frame, and robot.with_frame adds a frame" in text
    assert "positions" not in message(lambda: ARM.pose(ARM.neutral(), 3.5))  # type: ignore[arg-type]


def test_unknown_name_of_a_configuration_is_refused_with_the_argument_and_the_nearest_name() -> None:
    robot = ARM.with_named_configuration("home", {"elbow": -1.0})
    assert message(lambda: robot.pose("hme", "hand")).startswith(
        "pose: q: no named configuration named 'hme'; did you mean 'home'?; Robot.with_named_configuration"
    )
    assert "plan: goal: no named configuration named 'home'; the robot has none; " in message(
        lambda: ARM.plan(Q, "home")
    )
    name: Any = "home"
    assert "configuration" not in message(lambda: robot.inverse_dynamics(Q, name, Q))
    mixed: Any = ["home", 1.0]
    assert "expected elements of one shape beside dicts and names, got [(7,), ()]" in message(
        lambda: robot.pose(mixed, "hand")
    )


def test_named_configuration_is_returned_as_a_copy_and_others_are_refused() -> None:
    bent = {"elbow": 0.5, "wrist_flex": -0.25}
    robot = ARM.with_named_configuration("bent", bent)
    q = robot.configuration("bent")
    assert np.array_equal(q, ARM.configuration(bent)) and q.flags.writeable
    q[0] = 1.0
    assert np.array_equal(robot.configuration("bent"), ARM.configuration(bent))
    assert "named 'home'; the robot has none; Robot.with_named_configuration" in message(
        lambda: ARM.configuration("home")
    )
    joint_state = {"name": ["elbow"], "position": [0.5]}
    assert "; dict(zip(message.name, message.position)) is that of" in message(lambda: robot.configuration(joint_state))
    assert "named 'bend'; did you mean 'bent'?" in message(lambda: robot.configuration("bend"))
    assert "base: expected None with a name" in message(lambda: robot.configuration("bent", base=Q))


def test_error_of_a_name_in_another_case_suggests_the_name() -> None:
    q = ARM.neutral()
    assert message(lambda: ARM.simulate(q, duration=0.1, method="RK4")).endswith("did you mean 'rk4'?")  # type: ignore[arg-type]
    text = message(lambda: ARM.simulate(q, duration=0.1, method="Implicit-Euler"))  # type: ignore[arg-type]
    assert text.endswith("did you mean 'implicit_euler'?")


def test_error_of_missing_last_coordinates_names_their_joints() -> None:
    gripper = lw.load("arm7_gripper")
    fingers = "2 elements are missing, those of 'left_finger_slide', 'right_finger_slide'"
    text = message(lambda: gripper.pose(np.zeros((5, 7)), "hand"))
    assert text.endswith(f"; {fingers}; robot.configuration({{...}}) returns q of a dict, which may leave joints out")
    assert message(lambda: gripper.inverse_dynamics(gripper.neutral(), np.zeros(7), np.zeros(9))).endswith(fingers)
    for count in (1, 4, 10):  # many are missing, or none
        assert "missing" not in message(lambda count=count: gripper.pose(np.zeros(count), "hand"))


def test_number_passed_as_a_vector_is_refused_with_brackets_as_the_remedy() -> None:
    elbow = ARM.joint("elbow")
    assert message(lambda: elbow.transform(0.25)).endswith("; use brackets for a single element: [0.25]")
    assert message(lambda: elbow.transform(Q)).endswith("; one for each sample: q[..., np.newaxis]")


def test_errors_show_wrong_values_passed_as_links_or_joints() -> None:
    assert message(lambda: ARM.with_joint("elbow")).endswith("got 'elbow'")  # type: ignore[arg-type]
    assert message(lambda: lw.Robot.build("r", {"name": "a"})).endswith("got {'name': 'a'}")  # type: ignore[arg-type]


@pytest.mark.parametrize("of", [ARM, ARM.joint("elbow")])
def test_invalid_sizes_and_seeds_of_random_configurations_are_refused(of: Any) -> None:
    expected = "size: expected an integer or a tuple of integers, got 2.0"
    assert expected in message(lambda: of.random_configuration(size=2.0))
    for seed in ("a", -1):
        expected = f"random_configuration: seed: expected a numpy.random.Generator or an integer >= 0, got {seed!r}"
        assert expected in message(lambda seed=seed: of.random_configuration(seed=seed))  # type: ignore[misc]


def test_dir_of_modules_lists_their_documented_names() -> None:
    for room in (lw, lw.joints, lw.shapes, lw.spatial, lw.expr, lw.robots):
        optional = ["environments"] if room is lw else []  # which needs gymnasium: ``import *`` leaves it out
        assert dir(room) == sorted([*room.__all__, *optional])


def test_usual_names_of_models_and_tracked_paths_have_remedies() -> None:
    pendulum = lw.load("double_pendulum")
    model = lw.control.linear_model(pendulum, [0.0, 0.0])
    assert "scipy.io.savemat" in message(lambda: model.save) and "to_control" in message(lambda: model.plot)
    q = np.array([0.0, 0.5, 0.0, -1.6, 0.0, 2.0, 0.0])
    begin = ARM.pose(q, "hand")
    tracked = ARM.track_cartesian_path(lw.motion.polyline([begin, lw.pose((0.0, 0.05, 0.0)) @ begin]), "hand", q_init=q)
    assert "Robot.manipulability(result.q, frame)" in message(lambda: tracked.min_singular_value)
    assert "TrackedPath.timed()" in message(lambda: tracked.duration)
    spline = pendulum.spline([0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]])
    assert "has rows at a rate" in message(lambda: spline.to_csv("x.csv", rate=125))
    known = "did you mean 'q:elbow' or 'v:elbow'? expected q, v, a, q:<joint>"
    assert known in message(lambda: lw.control.linear_model(pendulum, [0.0, 0.0], outputs="elbow"))
    known = "did you mean 'position:tip' or 'pose:tip'? expected"
    assert known in message(lambda: lw.control.linear_model(pendulum, [0.0, 0.0], outputs=["q", "tip"]))
