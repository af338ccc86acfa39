"""Structure of a robot: links, fixed joints and names of coordinates; printing."""

import pickle
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.joints import Fixed, JointType, Revolute
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.model.random_tree import random_tree
from linkwork.model.tree_drawing import tree_lines
from linkwork.robot.robot_table import robot_owner
from linkwork.spatial import Pose, Rotation, Vec3
from oracles.example_robots import EXAMPLES, SHIPPED, shipped

ROBOTS = {example.name: example for example in (*SHIPPED, *EXAMPLES)}
some_robots = pytest.mark.parametrize("name", ["arm7_gripper", "humanoid", "panda", "talos", "pr2"])


@pytest.fixture(scope="module")
def gripper():
    return shipped("arm7_gripper")


# -- links and fixed joints


@pytest.mark.slow(every=9)
@some_robots
def test_links_and_joints_of_a_robot_equal_those_of_the_file(name):
    """Names, parents, masses and inertias, as another reader of XML finds them."""
    example = ROBOTS[name]
    robot = example.robot()
    file = ElementTree.fromstring(example.text())
    links = {link.get("name"): link for link in file.findall("link")}
    assert [link.name for link in robot.links] == list(links) == list(robot.frames)
    for link in robot.links:
        inertial = links[link.name].find("inertial")
        mass = 0.0 if inertial is None else float(inertial.find("mass").get("value"))
        assert link.mass == mass
        origin = None if inertial is None else inertial.find("origin")
        if mass and origin is not None:
            com = [float(x) for x in origin.get("xyz", "0 0 0").split()]
            assert np.allclose(link.com, com, rtol=0, atol=1e-12)
            if origin.get("rpy", "0 0 0").split() in (["0"] * 3, ["0.0"] * 3):
                trace = sum(float(inertial.find("inertia").get(k)) for k in ("ixx", "iyy", "izz"))
                assert np.trace(link.inertia) == pytest.approx(trace, rel=1e-9, abs=1e-12 * mass)
        assert len(link.visuals) == len(links[link.name].findall("visual"))
    for joint in file.findall("joint"):
        parent, child = (joint.find(end).get("link") for end in ("parent", "child"))
        link = robot.link(child)
        assert (link.joint, link.parent) == (joint.get("name"), parent)
        assert link.is_welded == (joint.get("type") == "fixed")
        result = robot.joint(joint.get("name"))
        assert result.child == child
        if link.is_welded:
            assert (result.type, result.nq, result.nv, result.parent) == (Fixed(), 0, 0, parent)
            origin = joint.find("origin")
            xyz = [float(x) for x in (origin.get("xyz", "0 0 0") if origin is not None else "0 0 0").split()]
            assert np.allclose(result.stator_placement[:3, 3], xyz, rtol=0, atol=1e-12)
    fixed = [joint.get("name") for joint in file.findall("joint") if joint.get("type") == "fixed"]
    assert sorted(joint.name for joint in robot.fixed_joints) == sorted(fixed)
    assert sum(link.mass for link in robot.links) == pytest.approx(robot.mass, rel=1e-12)


@pytest.mark.costly
@some_robots
def test_links_have_constant_poses_relative_to_their_bodies(name):
    robot = ROBOTS[name].robot()
    tree, q = robot.tree, robot.random_configuration(seed=0)
    X = dict(zip(robot.bodies, robot.forward_kinematics(q), strict=True), world=np.eye(4))
    for link in list(robot.links)[:: max(1, len(robot.links) // 4)]:
        assert np.allclose(robot.pose(q, link.name), X[link.body] @ link.pose, rtol=0, atol=1e-12)
        if link.is_welded:
            between = robot.joint(link.joint)
            assert np.allclose(robot.pose(q, link.parent) @ between.link_transform([]), robot.pose(q, link.name))
    assert {link.body for link in robot.links} <= {"world", *robot.bodies}
    assert tree.frames  # nothing of it was changed


def test_fixed_joints_have_transforms_like_moving_joints(gripper):
    mount = gripper.joint("hand_mount")
    assert mount in gripper.fixed_joints
    assert mount not in gripper.joints
    assert mount.links == ("flange", "hand")
    assert (mount.q_slice, mount.lower.shape, mount.passive_torque([]).shape) == (slice(0, 0), (0,), (0,))
    assert mount == pickle.loads(pickle.dumps(mount))
    assert repr(mount) == "<Joint 'hand_mount': fixed, 'flange' -> 'hand'>"
    with pytest.raises(ValueError, match="joint 'hand_mount' is fixed"):
        gripper.with_joint(mount)
    with pytest.raises(UnknownNameError, match="no joint named 'hand_mont'; did you mean 'hand_mount'"):
        gripper.joint("hand_mont")
    assert gripper.joint("elbow") == gripper.joints["elbow"]
    locked = gripper.with_locked_joints({"elbow": -1.2})
    assert np.allclose(locked.joint("elbow").link_transform([]), gripper.joint("elbow").link_transform([-1.2]))


def test_link_objects_state_body_joint_parent_and_mass(gripper):
    hand, finger, base = (gripper.link(name) for name in ("hand", "left_finger", "base"))
    assert (hand.body, hand.joint, hand.parent, hand.is_welded) == ("flange", "hand_mount", "flange", True)
    assert (finger.body, finger.joint, finger.parent, finger.is_welded) == (
        *("left_finger", "left_finger_slide", "hand", False),
    )
    assert (base.body, base.joint, base.parent, base.is_welded) == ("world", None, "world", False)
    assert hand == gripper.links["hand"] != finger
    assert {hand: 1}[pickle.loads(pickle.dumps(hand))] == 1
    assert repr(hand) == "<PlacedLink 'hand': welded to 'flange' by 'hand_mount', 0.67 kg>"
    assert repr(finger).startswith("<PlacedLink 'left_finger': moves on 'hand' by 'left_finger_slide', ")
    assert "fixed to the world" in repr(base)
    for array in (hand.com, hand.inertia):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    again = gripper.with_inertia("hand", mass=hand.mass, com=hand.com, inertia=hand.inertia)
    assert np.allclose(again.link("hand").inertia, hand.inertia, rtol=1e-14, atol=1e-18)
    assert np.array_equal(shipped("arm7").link("hand").com, np.zeros(3))  # no mass
    for name in ("hnd", "world", None, 3):
        with pytest.raises(UnknownNameError, match="no link named"):
            gripper.link(name)


def test_links_of_robots_without_inertias_have_no_mass():
    robot = lw.load("arm7", inertia="ignore")
    assert repr(robot.link("wrist")) == "<PlacedLink 'wrist': moves on 'forearm_distal' by 'wrist_flex'>"
    assert " kg" not in re.sub(r'srcdoc="[^"]*"', "", robot._repr_html_())  # without the page of the picture
    for name in ("mass", "com", "inertia"):
        with pytest.raises(ValueError, match="link 'wrist': the robot was loaded without inertias"):
            getattr(robot.link("wrist"), name)


def test_frame_on_a_link_is_listed_as_a_massless_link():
    pendulum = lw.Robot.build(
        "pendulum",
        [
            lw.Link("rod", mass=1.0, com=(0, 0, -1), frames={"tip": (0, 0, -2)}),
            lw.Joint.of(Revolute((0, 1, 0)), name="hinge", parent="world", child="rod"),
        ],
    )
    assert "tip" in pendulum.frames
    assert "tip" not in [link.name for link in pendulum.links]
    tip = pendulum.link("tip")
    assert (tip.body, tip.joint, tip.parent, tip.mass, tip.is_welded) == ("rod", None, "rod", 0.0, False)
    assert repr(tip) == "<PlacedLink 'tip': a frame on 'rod', 0 kg>"


def test_payload_on_the_world_is_a_link_of_the_world():
    robot = shipped("arm7").with_payload("stone", "world", 1.0)
    assert robot.link("stone").parent == "world"
    assert robot.joint("stone_joint").links == ("world", "stone")


# -- sequences with names


def test_joints_frames_bodies_and_links_can_be_selected_by_name_with_completion(gripper):
    for result, kind in ((gripper.joints, "joint"), (gripper.frames, "frame"), (gripper.bodies, "body"),
                        (gripper.links, "link"), (gripper.fixed_joints, "fixed joint")):  # fmt: skip
        names = result._ipython_key_completions_()
        assert names == [x if isinstance(x, str) else x.name for x in result]
        assert isinstance(result, tuple)
        assert result == tuple(result)
        assert type(result[:1]) is tuple
        assert [result[name] for name in names] == list(result) == [result[k] for k in range(len(result))]
        again = pickle.loads(pickle.dumps(result))
        assert again == result
        assert again[names[0]] == result[0]
        for wrong in (names[0] + "x", ""):
            with pytest.raises(UnknownNameError, match=f"no {kind} named '{wrong}'"):
                result[wrong]
        with pytest.raises(TypeError, match="indices must be integers or slices"):
            result[1.0]


# -- the numbers' names


@some_robots
def test_every_coordinate_of_a_robot_has_a_unique_name(name):
    robot = ROBOTS[name].robot()
    assert len(set(robot.q_names)) == len(robot.q_names) == robot.nq
    assert len(set(robot.v_names)) == len(robot.v_names) == robot.nv
    for joint in robot.joints:
        assert all(x.split(".")[0] == joint.name for x in robot.q_names[joint.q_slice])
        assert np.array_equal(robot.q_index([joint.name]), np.arange(robot.nq)[joint.q_slice])
        assert np.array_equal(robot.v_index([joint.name]), np.arange(robot.nv)[joint.v_slice])
    rng = np.random.default_rng(0)
    order = rng.permutation(robot.nv)
    index = robot.v_index([robot.v_names[k] for k in order])
    assert np.array_equal(index, order)
    v = rng.normal(size=(3, robot.nv))
    assert np.array_equal(v[..., index][..., np.argsort(index)], v)


def test_coordinates_of_a_floating_base_have_names():
    legs = shipped("quadruped")
    assert legs.q_names[:7] == tuple(f"floating_base.{x}" for x in ("qw", "qx", "qy", "qz", "x", "y", "z"))
    assert legs.v_names[:6] == tuple(f"floating_base.{x}" for x in ("wx", "wy", "wz", "vx", "vy", "vz"))
    assert legs.q_index(["front_left_knee", "floating_base.x"]).tolist() == [legs.q_names.index("front_left_knee"), 4]
    assert legs.v_index("floating_base").tolist() == [0, 1, 2, 3, 4, 5]
    coupled = lw.load("arm7_gripper", mimic="coupled")
    assert "right_finger_slide" not in coupled.q_names
    for names, error, message in (
        (["front_left_kne"], UnknownNameError, "no joint or coordinate of q named .*did you mean 'front_left_knee'"),
        (["floating_base", "floating_base.qw"], ValueError, "a coordinate of 'floating_base.qw' is listed twice"),
        (3, TypeError, "expected a list of names"),
        ("front_left_kne", UnknownNameError, "did you mean 'front_left_knee'"),
        ([3], UnknownNameError, "named 3"),
    ):
        with pytest.raises(error, match=message):
            legs.q_index(names)
    with pytest.raises(UnknownNameError, match=r"no joint or coordinate of v named 'floating_base.qw'"):
        legs.v_index(["floating_base.qw"])
    assert legs.v_index([]).shape == (0,)


# -- how it is shown


def test_printed_robot_is_its_tree_of_links(gripper):
    assert str(gripper) == "\n".join(tree_lines(gripper.tree))
    for line in ("└─ shoulder                           shoulder_pan        revolute   z", "├─ base  "):
        assert line in str(gripper)
    for robot in (gripper, shipped("humanoid"), lw.Robot(random_tree(np.random.default_rng(0), 25))):
        assert all(frame in str(robot) for frame in robot.frames)
        for short in (repr(robot), repr(robot.tree), repr(robot.compile("gravity_force"))):
            assert len(short) < 200
    assert repr(gripper.tree) == "<Tree 'arm7_gripper': 9 bodies, 12 frames, nq 9, nv 9>"


def test_traced_programs_have_a_short_repr(gripper):
    of = robot_owner(gripper.tree)
    program = trace_requests(of, "g", {"g": read_request(of, "gravity_force")})
    assert repr(program) == f"<Program g: q(9) -> g(9), {len(program.instructions)} instructions>"


class PlainType(JointType):
    """A type that is no dataclass."""

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    @classmethod
    def example(cls, rng):
        return cls()

    def X(self, q):
        return Pose(Rotation.about(Vec3(0.0, 0.0, 1.0), q[0]), Vec3.zero())


def test_printed_robot_shows_user_defined_joint_types():
    robot = lw.Robot(random_tree(np.random.default_rng(0), 2, types=(PlainType,)))
    assert "joint1  plain type" in str(robot)
    assert "<td>plain type</td>" in robot._repr_html_()


def test_html_of_a_robot_escapes_every_name():
    evil = '<script>alert("1")&'
    text = f"""
<robot name='{escaped(evil)}'><link name='{escaped(evil)}'/><link name='{escaped(evil)}b'/><link name='c'/>
  <joint name='{escaped(evil)}' type='continuous'><parent link='{escaped(evil)}'/>
    <child link='{escaped(evil)}b'/></joint>
  <joint name='follower' type='continuous'><parent link='{escaped(evil)}'/><child link='c'/>
    <mimic joint='{escaped(evil)}'/></joint></robot>"""
    robot = lw.Robot.from_urdf_string(text, mimic="coupled")
    html = robot._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;alert(&quot;1&quot;)&amp;") >= 5
    page = ElementTree.fromstring(html)  # well-formed
    rows = page.findall(".//table/tr")
    assert [cell.text for cell in rows[0]][:3] == ["joint", "type", "axis"]
    assert [row[0].text for row in rows[1:]] == [evil, "follower"]
    assert [row[-1].text for row in rows[1:]] == [None, f"1 × {evil} + 0"]
    assert page.find(".//pre").text == str(robot)


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


@pytest.mark.slow(every=9)
def test_html_of_a_large_robot_has_limited_size():
    robot = lw.Robot(random_tree(np.random.default_rng(0), 300, types=(Revolute,), shape="chain"))
    html = robot._repr_html_()
    assert html.count("<tr>") == 201
    assert "300 joints in all" in html
    assert ElementTree.fromstring(html) is not None
    rock = lw.Robot.from_urdf_string('<robot name="rock"><link name="rock"/></robot>')
    assert "<tr>" not in rock._repr_html_()
    assert ElementTree.fromstring(rock._repr_html_()) is not None
