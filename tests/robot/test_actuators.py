"""Actuators and named configurations: their content, invalid values, and robots that are edited."""

import math
import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork import Actuator
from linkwork.errors import ModelError, UnknownNameError
from linkwork.model.description import NamedState
from linkwork.model.tree_actuators import with_named_configurations

MOTOR = Actuator.motor("elbow_motor", "elbow", gear=100.0, force_range=(-0.8, 0.8))
SERVO = Actuator.position("wrist_servo", "wrist_roll", stiffness=50.0, damping=2.0, control_range=(-1.0, 1.0))
ARM = lw.load("arm7").with_actuators(MOTOR, SERVO)
HOME = ARM.with_named_configuration("home", {"elbow": -1.2, "wrist_roll": 0.3}, controls={"wrist_servo": 0.3})


# -- one actuator


def test_kind_of_an_actuator_follows_from_its_gains():
    affine = Actuator("a", {"elbow": 2.0}, gain=(1.0, 0.5, 0.0), bias=(0.1, 0.0, 0.0))
    kinds = [x.kind for x in (MOTOR, SERVO, Actuator.velocity("v", "elbow", damping=3.0), affine)]
    assert kinds == ["motor", "position", "velocity", "affine"]
    assert affine.joints == (("elbow", (2.0,)),)


def test_actuator_forces_equal_their_stated_law():
    servo = Actuator.position("s", "j", stiffness=10.0, damping=2.0, control_range=(-1.0, 1.0), force_range=(-5.0, 5.0))
    for u, length, rate in np.random.default_rng(0).uniform(-2.0, 2.0, (50, 3)):
        expected = np.clip(10.0 * (np.clip(u, -1.0, 1.0) - length) - 2.0 * rate, -5.0, 5.0)
        assert servo.force(u, length, rate) == pytest.approx(expected, abs=1e-12)
    general = Actuator("g", {"j": 1.0}, gain=(1.0, 2.0, 3.0), bias=(4.0, 5.0, 6.0))
    assert general.force(2.0, 0.1, 0.2) == pytest.approx((1.0 + 0.2 + 0.6) * 2.0 + 4.0 + 0.5 + 1.2)


@pytest.mark.light
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Actuator("", {"j": 1.0}), "name: expected a non-empty string"),
        (lambda: Actuator("a"), "expected either joints or a frame"),
        (lambda: Actuator("a", {"j": 1.0}, frame="hand"), "expected either joints or a frame"),
        (lambda: Actuator("a", frame="hand"), "wrench: expected finite 6 numbers"),
        (lambda: Actuator("a", frame="hand", wrench=(0.0,) * 6), "expected a non-zero"),
        (lambda: Actuator("a", {"j": 1.0}, relative_to="hand"), "wrench and relative_to apply to actuators on a frame"),
        (lambda: Actuator("a", {"j": 1.0}, gain=(1.0, 2.0)), "gain: expected finite 3 numbers"),
        (lambda: Actuator("a", {"j": 1.0}, gain=(1.0, math.inf, 0.0)), "gain: expected finite 3 numbers"),
        (lambda: Actuator("a", {"j": 1.0}, control_range=(1.0, -1.0)), "with lower <= upper"),
        (lambda: Actuator("a", {"j": 1.0}, force_range=(math.nan, 1.0)), "force_range: expected 2 numbers"),
        (lambda: Actuator("a", [("j", 1.0), ("j", 2.0)]), "joint 'j' is listed twice"),
        (lambda: Actuator("a", ["j"]), "expected pairs of a joint's name and its gear"),
        (lambda: Actuator("a", {"j": "one"}), "gear of joint 'j'"),
        (lambda: Actuator.position("a", "j", stiffness=-1.0), "stiffness: expected"),
    ],
)
def test_invalid_actuators_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -- on a robot


def test_actuators_can_be_accessed_and_removed_by_name():
    assert [x.name for x in ARM.actuators] == ["elbow_motor", "wrist_servo"]
    assert ARM.actuators["wrist_servo"] is SERVO
    assert ARM.without_actuators("elbow_motor").actuators == (SERVO,)
    assert ARM.without_actuators() == lw.load("arm7") != ARM
    assert pickle.loads(pickle.dumps(HOME)) == HOME
    with pytest.raises(UnknownNameError, match="no actuator named 'elbow'"):
        ARM.without_actuators("elbow")


@pytest.mark.parametrize(
    ("actuator", "error", "message"),
    [
        (MOTOR, ValueError, "already has an actuator 'elbow_motor'"),
        (Actuator.motor("a", "elbo"), UnknownNameError, "no joint named 'elbo'; did you mean 'elbow'"),
        (Actuator.motor("a", "elbow", gear=(1.0, 2.0)), ValueError, "expected 1 gears"),
        (Actuator("a", frame="hnd", wrench=(0, 0, 0, 0, 0, 1)), UnknownNameError, "no frame named 'hnd'"),
        (Actuator("a", frame="hand", relative_to="hand", wrench=(0, 0, 0, 0, 0, 1)), ValueError, "one rigid body"),
        ("motor", TypeError, "expected actuators, as in"),
    ],
)
def test_actuators_of_unknown_joints_or_wrong_size_are_refused(actuator, error, message):
    with pytest.raises(error, match=message):
        ARM.with_actuators(actuator)


def test_named_configurations_have_positions_velocities_and_controls():
    home = HOME.named_configurations["home"]
    assert home.q.tolist() == [0.0, 0.0, 0.0, -1.2, 0.0, 0.0, 0.3] and home.joints == ("elbow", "wrist_roll")
    assert "home" in HOME.named_configurations and "hme" not in HOME.named_configurations
    assert HOME.joints[0] in HOME.joints and "elbow" in HOME.joints and "elbow" in HOME.q_names
    assert home.v is None and home.controls.tolist() == [0.0, 0.3]
    assert not home.q.flags.writeable
    full = ARM.with_named_configuration("moving", home.q, v=np.arange(7.0), controls=[1.0, 2.0])
    moving = full.named_configurations["moving"]
    assert moving.q.tolist() == home.q.tolist() and moving.v.tolist() == list(range(7))
    assert moving.controls.tolist() == [1.0, 2.0] and len(moving.joints) == 7
    assert HOME.without_named_configurations("home") == ARM
    with pytest.raises(UnknownNameError, match="no named configuration named 'hme'; did you mean 'home'"):
        HOME.named_configurations["hme"]


def test_named_configurations_must_lie_on_their_manifold():
    robot = lw.load("quadruped", floating_base=True)
    base = [2.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3]
    with pytest.raises(ValueError, match=r"configuration 'stand': .*floating_base"):
        robot.with_named_configuration("stand", {"floating_base": base})
    stand = robot.with_named_configuration("stand", {"floating_base": [1.0, *base[1:]]})
    assert stand.named_configurations["stand"].q[:7].tolist() == [1.0, *base[1:]]
    assert stand.named_configurations["stand"].q[7:] == pytest.approx(robot.neutral()[7:])


@pytest.mark.light
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"q": {"elbo": 0.1}}, UnknownNameError, "no joint named 'elbo'"),
        ({"q": {"elbow": [0.1, 0.2]}}, ValueError, "joint 'elbow': expected 1 number"),
        ({"q": {"elbow": math.nan}}, ValueError, "joint 'elbow': expected 1 number"),
        ({"q": np.zeros(6)}, ValueError, "q: expected 7 numbers, or a dict by joint name"),
        ({"q": {}, "v": np.zeros(8)}, ValueError, "v: expected 7 numbers"),
        ({"q": {}, "controls": [1.0]}, ValueError, "controls: expected 2 numbers, one for each actuator"),
        ({"q": {}, "controls": {"elbow": 1.0}}, UnknownNameError, "no actuator named 'elbow'"),
        ({"q": {}, "name": " "}, ValueError, "name: expected a non-empty string"),
        ({"q": {}, "name": "home"}, ValueError, "already has a configuration 'home'"),
    ],
)
def test_named_configurations_of_wrong_size_or_unknown_joints_are_refused(options, error, message):
    q = options.pop("q")
    with pytest.raises(error, match=message):
        HOME.with_named_configuration(options.pop("name", "other"), q, **options)


# -- built of Python


def parts():
    hinge = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="world", child="rod")
    return hinge, lw.Link("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.083, 0.083, 0.0))


def test_robots_can_be_built_with_actuators_and_named_configurations():
    states = {"up": {"hinge": np.pi}, "start": {"q": {"hinge": 0.1}, "v": {"hinge": [0.2]}, "controls": {"m": 3.0}}}
    robot = lw.Robot.build("pendulum", *parts(), actuators=[Actuator.motor("m", "hinge")], named_configurations=states)
    assert robot.actuators["m"].kind == "motor"
    assert robot.named_configurations["up"].q.tolist() == [np.pi]
    start = robot.named_configurations["start"]
    assert (start.q.tolist(), start.v.tolist(), start.controls.tolist()) == ([0.1], [0.2], [3.0])


def test_named_configurations_state_each_moving_joint_once_within_the_largest_number():
    fixed = lw.load("arm7").with_locked_joints(["wrist_roll"])
    weld = "wrist_roll"
    for q, v, message in (
        ((("elbow", (0.1,)), ("elbow", (0.2,))), None, "joint 'elbow' is listed twice"),
        (((weld, (0.1,)),), None, f"joint '{weld}' is a fixed joint and does not move"),
        (
            (("elbow", (0.1,)),),
            (("elbow", (1.1e20,)),),
            "v of joint 'elbow': expected 1 finite number of at most 1e.20, got",
        ),
        (
            (("elbow", (0.1,)),),
            (("elbow", (0.1, 0.2)),),
            "v of joint 'elbow': expected 1 finite number of at most 1e.20, got",
        ),
    ):
        with pytest.raises(ValueError, match=f"configuration 'a'.*{message}"):
            with_named_configurations(fixed.tree, [NamedState("a", q, v)])
    tree = with_named_configurations(fixed.tree, [NamedState("a", (("elbow", (0.1,)),), (("elbow", (1e20,)),))])
    assert tree.named_configurations[-1].v == (("elbow", (1e20,)),)


def test_all_errors_of_actuators_and_configurations_are_reported_together():
    motors = [Actuator.motor("m", "hinge"), Actuator.motor("m", "hinge"), Actuator.motor("n", "hing")]
    with pytest.raises(ModelError, match="another actuator is named 'm'") as caught:
        lw.Robot.build("pendulum", *parts(), actuators=motors)
    assert [issue.code for issue in caught.value.issues] == ["DUPLICATE_NAME", "UNKNOWN_JOINT"]
    assert caught.value.issues[1].where.element == "robot[pendulum]/actuator[n]"
    states = {"a": {"hing": 0.0}, "b": {"hinge": [0.0, 1.0]}, "c": {"q": {"hinge": 0.0}, "controls": {"m": 0.0}}}
    with pytest.raises(ModelError, match="no joint named 'hing'") as caught:
        lw.Robot.build("pendulum", *parts(), named_configurations=states)
    assert [issue.code for issue in caught.value.issues] == ["UNKNOWN_JOINT", "CONFIGURATION", "UNKNOWN_ACTUATOR"]
    assert caught.value.issues[1].where.element == "robot[pendulum]/configuration[b]"
    wrong = ({"a": [0.0]}, "expected a dict by joint name"), ({"a": {"q": {}, "x": {}}}, "expected dicts by name")
    for values, message in wrong:
        with pytest.raises(TypeError, match=message):
            lw.Robot.build("pendulum", *parts(), named_configurations=values)
    with pytest.raises(TypeError, match=r"actuators: expected linkwork\.Actuator, got 'm'"):
        lw.Robot.build("pendulum", *parts(), actuators=["m"])


# -- edits


def test_edits_that_change_no_joint_keep_actuators_and_named_configurations():
    for robot in (
        HOME.with_gravity((0, 0, 0)),
        HOME.with_frame("lens", "hand"),
        HOME.with_payload("payload", "hand", 1.0),
        HOME.with_joint(HOME.joint("elbow").with_damping(0.1)),
        HOME.with_root("hand"),
        HOME.with_joint_dynamics(armature=0.1),
    ):
        assert robot.actuators == HOME.actuators
        names = {joint.name: joint.q_slice for joint in robot.joints}
        home = robot.named_configurations["home"]
        assert home.q[names["elbow"]] == -1.2 and home.q[names["wrist_roll"]] == 0.3
        assert home.controls.tolist() == [0.0, 0.3]


def test_locked_joints_are_removed_from_actuators_and_named_configurations():
    robot = HOME.with_actuators(Actuator("tendon", {"elbow": 2.0, "wrist_roll": 1.0}))
    locked = robot.with_locked_joints({"elbow": -0.7})
    assert [x.name for x in locked.actuators] == ["wrist_servo", "tendon"]
    assert locked.actuators["tendon"].joints == (("wrist_roll", (1.0,)),)
    assert locked.actuators["tendon"].offset == pytest.approx(-1.4)
    home = locked.named_configurations["home"]
    assert home.joints == ("wrist_roll",) and home.q.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 0.3]
    assert home.controls.tolist() == [0.3, 0.0]


def test_new_joint_type_must_have_the_size_of_its_actuators_and_named_configurations():
    edited = HOME.joint("elbow").with_type(lw.joints.Spherical())
    with pytest.raises(ValueError, match=r"expected 3 gears.*robot.without_actuators\('elbow_motor'\)"):
        HOME.with_joint(edited)
    with pytest.raises(ValueError, match=r"expected 4 finite.*robot.without_named_configurations\('home'\)"):
        HOME.without_actuators("elbow_motor").with_joint(edited)
    bare = HOME.without_actuators("elbow_motor").without_named_configurations()
    assert bare.with_joint(edited).actuators == (SERVO,)


def test_named_configurations_include_followers_at_the_values_of_their_masters():
    robot = lw.load("arm7_gripper")
    left, right = "left_finger_slide", "right_finger_slide"
    robot = robot.with_named_configuration("open", {left: 0.03, right: 0.02})
    bound = robot.with_couplings({right: (left, 1.0)})
    assert bound.named_configurations["open"].joints == (left,)
    assert bound.named_configurations["open"].q[bound.joint(right).q_slice] == 0.03
    with pytest.raises(ValueError, match="follows joint 'left_finger_slide': state the value"):
        bound.with_named_configuration("other", {right: 0.01})


def test_actuators_of_frames_are_preserved_by_a_change_of_the_root():
    gripper = lw.load("arm7").with_actuators(
        Actuator("pull", frame="hand", relative_to="world", wrench=(0, 0, 0, 0, 0, 1.0))
    )
    assert gripper.with_root("hand").actuators["pull"].relative_to == "base"
    box = gripper.with_attached("box", "hand", lw.shapes.Box((0.1, 0.1, 0.1)))
    pushed = box.with_actuators(Actuator("push", frame="box", wrench=(0, 0, 0, 1.0, 0, 0)))
    with pytest.raises(ValueError, match="'push' is attached to 'box'"):
        pushed.without_attached("box")


@pytest.mark.slow(every=9)
def test_named_configurations_of_a_floating_robot_are_equal_with_another_root():
    robot = lw.load("quadruped", floating_base=True)
    rng, link = np.random.default_rng(3), robot.links[-1].name
    q, v = robot.random_configuration(seed=2), rng.normal(size=robot.nv)
    named = robot.with_named_configuration("there", q, v=v).with_named_configuration("zero", {})
    moved = named.with_root(link)
    for name, before in (("there", q), ("zero", robot.neutral())):
        after = moved.named_configurations[name]
        for frame in robot.frames:
            assert moved.pose(after.q, frame) == pytest.approx(robot.pose(before, frame), abs=1e-12)
    after = moved.named_configurations["there"]
    for frame in robot.frames:
        assert moved.twist(after.q, after.v, frame) == pytest.approx(robot.twist(q, v, frame), abs=1e-12)
