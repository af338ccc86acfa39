"""Edited robots: other inertias, payloads, locked joints."""

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.joints import Floating, Prismatic, Revolute
from linkwork.model.body import WORLD
from linkwork.model.composite_body import without_inertias
from linkwork.model.random_tree import random_tree
from linkwork.spatial import Inertia
from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED, shipped
from oracles.scalars import Direct
from oracles.trees import TREES, state

ROBOTS = {example.name: example for example in (*SHIPPED, *EXAMPLES)}


@pytest.fixture(scope="module")
def arm():
    return shipped("arm7")


# -- gravity


def test_with_gravity_replaces_gravity_and_refuses_invalid_vectors():
    for name, free in (("arm7_gripper", False), ("quadruped", True)):
        robot = lw.load(name, floating_base=free)
        moon = robot.with_gravity((0.0, 0.0, -1.62))
        assert moon == lw.load(name, floating_base=free, gravity=(0.0, 0.0, -1.62)) != robot
        assert moon.with_gravity(robot.gravity) == robot
    for bad in (9.81, (0, 0), (0, 0, float("nan")), "down"):
        with pytest.raises(ValueError, match=r"^with_gravity: gravity: expected three"):
            robot.with_gravity(bad)


# -- one link's inertia


def with_inertial(text, link, inertial):
    """The text of a URDF with another <inertial> in one link."""
    pattern = re.compile(rf'(<link name="{link}">.*?)<inertial>.*?</inertial>', re.DOTALL)
    result, count = pattern.subn(rf"\1{inertial}", text)
    assert count == 1
    return result


INERTIAL = """<inertial><origin xyz="0.01 -0.02 0.08"/><mass value="1.7"/>
  <inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" izz="0.025"/></inertial>"""
VALUES = {
    "mass": 1.7,
    "com": (0.01, -0.02, 0.08),
    "inertia": [[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.025]],
}


WEIGHED = {"arm7": ("wrist",), "panda": ("panda_hand", "panda_link5"), "quadruped": ("front_left_foot",)}


@pytest.mark.parametrize(("name", "links"), WEIGHED.items())
def test_edited_inertias_equal_those_of_an_edited_file_bit_for_bit(name, links):
    """Inertia of a body's own link and of a welded link."""
    example = ROBOTS[name]
    for link in links:
        text = with_inertial(example.text(), link, INERTIAL)
        result = example.robot().with_inertia(link, **VALUES)
        expected = example.load(text)
        assert result == expected
        assert result.mass == expected.mass != example.robot().mass
        assert type(result) is lw.Robot


def test_arguments_omitted_in_with_inertia_leave_values_unchanged(arm):
    heavy = arm.with_inertia("hand", **VALUES)
    for name, value in {"mass": 0.5, "com": (0.0, 0.01, 0.0), "inertia": (0.02, 0.02, 0.03)}.items():
        changed = heavy.with_inertia("hand", **{name: value})
        together = arm.with_inertia("hand", **{**VALUES, name: value})
        values_a, values_b = (np.array(inertia_values(r.tree.frame("hand").inertia)) for r in (changed, together))
        assert_close(values_a, values_b, 1e-15)
    assert heavy.with_inertia("hand", inertia=Inertia.zero()) == arm
    assert arm.with_inertia("wrist", inertia=Inertia.zero()).mass == pytest.approx(arm.mass - 1.5)


def inertia_values(inertia):
    return [inertia.mass, *inertia.moment, *inertia.about.elements()]


def test_edited_inertia_affects_every_function(arm):
    """A point mass of 2 kg at the hand's origin adds Jᵀ(2 kg)J to M, and its weight to the gravity forces."""
    q = arm.random_configuration(seed=0)
    heavier = arm.with_inertia("hand", mass=2.0)
    J = arm.jacobian(q, "hand")[3:]
    assert_close(heavier.gravity_force(q) - arm.gravity_force(q), J.T @ [0, 0, 2.0 * 9.81], 1e-13)
    assert_close(heavier.mass_matrix(q) - arm.mass_matrix(q), 2.0 * J.T @ J, 1e-12)


def test_impossible_inertias_are_refused_by_with_inertia(arm):
    for options, message in (
        ({"mass": -1.0}, r"with_inertia: link 'hand': mass must not be negative, got -1\.0"),
        ({"mass": np.nan}, "expected finite numbers"),
        ({"mass": "heavy"}, "mass: expected a number"),
        ({"mass": [1.0]}, "mass, com: expected a number and three numbers"),
        ({"com": (1.0, 2.0)}, "expected a number and three numbers"),
        ({"com": (1.0, np.inf, 0.0)}, "expected finite numbers"),
        ({"inertia": (1.0, 1.0, -1.0)}, "not positive semi-definite"),
        ({"inertia": (1.0, np.nan, 1.0)}, "expected a symmetric matrix"),
        (
            {"inertia": np.ones((2, 2))},
            r"symmetric matrix \(3, 3\) or three numbers \[kg·m²\], got an array of shape \(2, 2\)",
        ),
        ({"inertia": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, r"symmetric matrix .*, got \[\[1"),
    ):
        with pytest.raises(ValueError, match=message):
            arm.with_inertia("hand", **options)
    with pytest.raises(TypeError, match="leave these out"):
        arm.with_inertia("hand", mass=1.0, inertia=Inertia.zero())
    for name in ("hnd", "world", None):
        with pytest.raises(UnknownNameError, match="no link named"):
            arm.with_inertia(name, mass=1.0)


def test_suspicious_inertia_is_reported_by_with_inertia(arm):
    """The reader reports it, too."""
    edited = arm.with_inertia("hand", mass=1.0, inertia=(0.1, 0.1, 0.3))
    (issue,) = edited.report.warnings
    assert issue.code == "INERTIA_TRIANGLE"
    assert "hand" in str(issue)
    assert not arm.report.warnings


# -- payloads


def test_payload_is_a_separate_link(arm):
    about = np.diag([0.02, 0.03, 0.04])
    loaded = arm.with_payload("cup", "hand", 2.0, (0.01, 0.02, 0.1), about)
    assert loaded.mass == pytest.approx(arm.mass + 2.0, rel=1e-14)
    assert loaded.frames == (*arm.frames, "cup")
    q = arm.random_configuration(seed=1)
    assert np.array_equal(loaded.pose(q, "cup"), arm.pose(q, "hand"))
    J = arm.jacobian(q, "hand", expressed_in="hand")
    c, m = np.array([0.01, 0.02, 0.1]), 2.0
    assert_close(loaded.mass_matrix(q) - arm.mass_matrix(q), J.T @ spatial(m, c, about) @ J, 1e-12)
    assert loaded.with_payload("payload", "cup", 1.0).mass == pytest.approx(arm.mass + 3.0)
    assert loaded.with_inertia("cup", inertia=Inertia.zero()).mass == pytest.approx(arm.mass)


def spatial(m, c, about):
    """The 6×6 inertia, angular first, of a mass m at c."""
    C = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    return np.block([[about + m * C @ C.T, m * C], [m * C.T, m * np.eye(3)]])


def test_invalid_payloads_are_refused(arm):
    once = arm.with_payload("payload", "hand", 1.0)
    assert once.with_payload("other", "hand", 1.0).mass == pytest.approx(arm.mass + 2.0)
    for name in ("payload", "hand", "world"):
        with pytest.raises(ValueError, match=f"the robot has a link '{name}' already"):
            once.with_payload(name, "hand", 1.0)
    with pytest.raises(ValueError, match="name: expected a non-empty string, got ''"):
        arm.with_payload("", "hand", 1.0)
    moving = lw.Robot(
        replace(arm.tree, bodies=(replace(arm.tree.bodies[0], joint_name="cup_joint"), *arm.tree.bodies[1:]))
    )
    with pytest.raises(ValueError, match="the robot has a joint 'cup_joint' already: give the load another name"):
        moving.with_payload("cup", "hand", 1.0)
    with pytest.raises(ValueError, match=r"with_payload: 'payload': mass must not be negative"):
        arm.with_payload("payload", "hand", -1.0)
    with pytest.raises(UnknownNameError, match="no frame named 'hnd'; did you mean 'hand'"):
        arm.with_payload("payload", "hnd", 1.0)


def test_robots_without_link_inertias_accept_payloads_and_edits():
    """The bodies' are then their own links'."""
    tree = random_tree(np.random.default_rng(5), 3, types=(Revolute, Prismatic))
    bare = lw.Robot(replace(tree, frames=without_inertias(tree.frames)))
    loaded = bare.with_payload("payload", "tool1", 2.0)
    assert loaded.mass == pytest.approx(bare.mass + 2.0, rel=1e-14)
    (changed,) = (b.inertia.mass for b in bare.with_inertia("body1", mass=9.0).tree.bodies if b.name == "body1")
    assert changed == 9.0
    assert bare.with_locked_joints(["joint1"]).mass == pytest.approx(bare.mass, rel=1e-14)


# -- locked joints


def fixed_in(text, names):
    """The text of a URDF with these joints fixed."""
    for name in names:
        text, count = re.subn(rf'<joint\s+name="{name}"\s+type="\w+"', f'<joint name="{name}" type="fixed"', text)
        assert count == 1, name
    return text


LOCKED = {
    "arm7": ["shoulder_pan", "upper_arm_roll", "wrist_roll"],
    "arm7_gripper": ["shoulder_lift", "left_finger_slide", "right_finger_slide"],
    "quadruped": ["front_left_hip_abduction", "hind_right_knee"],
    "panda": ["panda_joint1", "panda_joint3", "panda_finger_joint1", "panda_finger_joint2"],
    "ur5": ["elbow_joint", "wrist_3_joint"],
    "talos": ["torso_1_joint", "arm_right_4_joint", "leg_left_6_joint"],
    "g1": ["waist_yaw_joint", "left_hip_pitch_joint"],
    "tiago_pro": ["head_1_joint", "torso_lift_joint"],
    "anymal": ["LF_HAA", "RH_KFE"],
}


@pytest.mark.parametrize("name", LOCKED)
def test_joints_locked_at_zero_equal_fixed_joints_of_the_file_bit_for_bit(name):
    example = ROBOTS[name]
    robot = example.robot()
    names = LOCKED[name]
    inside = []
    for joint in map(robot.joint, names):
        inside.append(joint.name)
        if not joint.lower[0] <= 0.0 <= joint.upper[0]:
            robot = robot.with_joint(joint.with_position_limits_enabled(False))
    loaded_robot = robot.with_locked_joints(inside)
    expected = example.load(fixed_in(example.text(), names))
    assert loaded_robot.frames == expected.frames
    assert (
        (loaded_robot.nq, loaded_robot.nv)
        == (expected.nq, expected.nv)
        == (robot.nq - len(names), robot.nv - len(names))
    )
    for body_a, body_b in zip(loaded_robot.tree.bodies, expected.tree.bodies, strict=True):
        assert replace(body_a, mimic=None) == replace(body_b, mimic=None)
    assert loaded_robot.tree.frames == expected.tree.frames
    assert loaded_robot == expected or any(joint.mimic for joint in robot.joints)


def unlocked(tree, names):
    """The places in v of the joints that are left."""
    return [k for i, b in tree.stacked() if b.joint_name not in names for k in range(tree.nv)[tree.v_slices[i]]]


@pytest.mark.parametrize("name", ["arm7", "humanoid", "ur5", "icub", "pr2"])
def test_robots_with_locked_joints_have_the_dynamics_of_the_whole_robot_with_these_joints_at_rest(name):
    """At v = 0 and a = 0 of the locked joints, the other joints have the whole robot's equations of motion."""
    robot = ROBOTS[name].robot()
    tree, rng = robot.tree, np.random.default_rng(3)
    q = robot.random_configuration(rng)
    joints = list(robot.joints)
    names = [joints[k].name for k in rng.choice(len(joints), size=3, replace=False)]
    if robot.joints[0].type == Floating():
        names.append(robot.joints[0].name)
    loaded_robot = robot.with_locked_joints({joint.name: q[joint.q_slice] for joint in joints if joint.name in names})
    positions = unlocked(tree, names)
    assert loaded_robot.nv == len(positions)
    assert loaded_robot.mass == pytest.approx(robot.mass, rel=1e-12)
    assert set(loaded_robot.frames) == set(robot.frames)
    at = {joint.name: q[joint.q_slice] for joint in joints if joint.name not in names}
    q_left = np.concatenate([at[joint.name] for joint in loaded_robot.joints])
    v_left, a_left = rng.normal(size=(2, loaded_robot.nv))
    v, a = np.zeros((2, robot.nv))
    v[positions], a[positions] = v_left, a_left
    whole, part = Direct(tree), Direct(loaded_robot.tree)
    assert_close(part.mass_matrix(q_left), whole.mass_matrix(q)[np.ix_(positions, positions)], 1e-12, "M")
    tau = whole.inverse_dynamics(q, v, a)[positions]
    assert_close(part.inverse_dynamics(q_left, v_left, a_left), tau, 1e-12, "inverse dynamics")
    for frame in (robot.frames[0], robot.frames[-1], *ROBOTS[name].frames):
        assert_close(part.pose(q_left, frame), whole.pose(q, frame), 1e-12, frame)
        J = whole.jacobian(q, frame)[:, positions]
        assert np.max(np.abs(part.jacobian(q_left, frame) - J)) <= 1e-12 * max(1.0, np.max(np.abs(J)))


@pytest.mark.parametrize("name", [n for n in TREES if n.startswith("mixed") or n in ("rerooted", "coupled_0")])
def test_joints_of_every_type_can_be_locked(name):
    robot = lw.Robot(TREES[name])
    q, v, a = (x[0] for x in state(TREES[name]))
    for joint in robot.joints:
        if joint.coupling is not None:
            continue
        loaded_robot = robot.with_locked_joints({joint.name: q[joint.q_slice]})
        gone = {joint.name, *(j.name for j in robot.joints if j.coupling and j.coupling.joint == joint.name)}
        positions = unlocked(robot.tree, gone)
        assert not gone & {j.name for j in loaded_robot.joints}
        q_left = np.delete(q, joint.q_slice)
        v_rest, steady = np.delete(v, joint.v_slice), np.delete(a, joint.v_slice)
        v0, a0 = v.copy(), a.copy()
        v0[joint.v_slice] = a0[joint.v_slice] = 0.0
        tau = Direct(robot.tree).inverse_dynamics(q, v0, a0)[positions]
        assert_close(Direct(loaded_robot.tree).inverse_dynamics(q_left, v_rest, steady), tau, 1e-11, joint.name)


def test_locking_a_master_joint_locks_its_followers():
    gripper = lw.load("arm7_gripper").with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)})
    closed = gripper.with_locked_joints({"left_finger_slide": 0.02})
    assert closed.nv == gripper.nv - 1
    free = lw.load("arm7_gripper")
    both = free.with_locked_joints({"left_finger_slide": 0.02, "right_finger_slide": 0.02})
    assert closed == both == gripper.with_locked_joints({"right_finger_slide": 0.02, "left_finger_slide": 0.02})
    assert gripper.with_locked_joints(["right_finger_slide", "left_finger_slide"]) == free.with_locked_joints(
        ["left_finger_slide", "right_finger_slide"]
    )
    with pytest.raises(ValueError, match=r"'right_finger_slide' follows another joint, .* = 1 .* lock that joint"):
        gripper.with_locked_joints({"right_finger_slide": 0.02})
    with pytest.raises(ValueError, match=r"'right_finger_slide' cannot be at 0\.03, because .* is \[0\.02\]"):
        gripper.with_locked_joints({"left_finger_slide": 0.02, "right_finger_slide": 0.03})
    rounded = gripper.with_locked_joints({"left_finger_slide": 0.02, "right_finger_slide": 0.02 + 5e-10})
    assert rounded == closed
    with pytest.raises(ValueError, match=r"'right_finger_slide' cannot be at"):
        gripper.with_locked_joints({"left_finger_slide": 0.02, "right_finger_slide": 0.02 + 3e-9})
    wide = gripper.with_couplings({"right_finger_slide": ("left_finger_slide", 9.0)})
    with pytest.raises(ValueError, match=r"'right_finger_slide' at .* is outside its limits"):
        wide.with_locked_joints({"left_finger_slide": 0.02})


def test_locked_joints_become_fixed_joints(arm):
    loaded_robot = arm.with_locked_joints({"elbow": -1.2})
    assert "elbow" not in [joint.name for joint in loaded_robot.joints]
    (frame,) = (f for f in loaded_robot.tree.frames if f.fixed_joint == "elbow")
    assert frame.name == arm.joint("elbow").child
    everything = loaded_robot.with_locked_joints(
        {joint.name: joint.position_bounds.lower for joint in loaded_robot.joints}
    )
    assert (everything.nq, everything.nv, everything.bodies) == (0, 0, ())
    assert all(frame.body == WORLD for frame in everything.tree.frames)
    assert everything.mass == pytest.approx(arm.mass)
    assert arm.with_locked_joints({}) == arm.with_locked_joints([]) == arm
    with pytest.raises(ValueError, match="joint 'elbow' is a fixed joint already"):
        loaded_robot.with_locked_joints(["elbow"])
    with pytest.raises(UnknownNameError, match="did you mean 'elbow'"):
        arm.with_locked_joints({"elbw": 0.0})
    for wrong, message in (
        (
            {"elbow": 9.0},
            r"with_locked_joints: joint 'elbow' at 9 is outside its limits \[-3\.07.*\]; .*with_position_limits_en",
        ),
        ({"elbow": np.nan}, "joint 'elbow' .*expected finite numbers"),
        ({"elbow": "bent"}, "joint 'elbow': expected 1 numbers; got 'bent'"),
        ({"elbow": [0.0, 1.0]}, r"joint 'elbow': expected a number, got shape \(2,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            arm.with_locked_joints(wrong)
    assert arm.with_locked_joints("wrist_roll").nq == arm.nq - 1
    for wrong in (3, [3]):
        with pytest.raises(TypeError, match="with_locked_joints: joints: expected"):
            arm.with_locked_joints(wrong)
    base = lw.load("quadruped", floating_base=True)
    with pytest.raises(ValueError, match=r"joint 'floating_base' .*of length 1, got"):
        base.with_locked_joints({"floating_base": [2.0, 0, 0, 0, 0, 0, 0]})
    standing = base.with_locked_joints({"floating_base": [1.0, 0, 0, 0, 0, 0, 0.5]})
    assert np.allclose(standing.pose(standing.neutral(), base.frames[0])[:3, 3], [0, 0, 0.5], atol=1e-15)


def test_with_methods_take_the_name_and_the_frame_in_this_order():
    edits = {name: getattr(lw.Robot, name) for name in dir(lw.load("arm6")) if name.startswith("with_")}
    parameters = {name: [*inspect.signature(edit).parameters][1:] for name, edit in edits.items()}
    placed = {name: said[:2] for name, said in parameters.items() if {"name", "frame"} <= {*said}}
    assert sorted(placed) == [
        "with_attached",
        "with_direction",
        "with_frame",
        "with_loop",
        "with_payload",
        "with_point",
    ]
    assert all(said == ["name", "frame"] for said in placed.values())
