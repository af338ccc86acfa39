"""The robots shipped with linkwork, checked by pinocchio and MuJoCo: nothing of linkwork is used but the files."""

import importlib.resources
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np
import pinocchio as pin
import pytest


@dataclass(frozen=True)
class Expected:
    """What a shipped robot should be."""

    name: str
    joints: int  # moving joints, a mimic joint included
    links: int
    mass: float
    root: str
    floating: bool
    frames: tuple[str, ...]  # the frames that users are told of

    def __str__(self) -> str:
        return self.name


FEET = tuple(f"{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right"))
ROBOTS = (
    Expected("double_pendulum", 2, 4, 2.8, "base", False, ("tip",)),
    Expected("arm6", 6, 8, 18.4, "base", False, ("tool",)),
    Expected("arm7", 7, 10, 17.8, "base", False, ("hand", "tool")),
    Expected("arm7_gripper", 9, 12, 18.5, "base", False, ("hand", "tool")),
    Expected("quadruped", 12, 17, 2.5, "trunk", True, FEET),
    Expected("humanoid", 31, 36, 55.0, "pelvis", True, ("left_foot", "right_foot", "left_hand", "right_hand", "head")),
)
MOVING = {"revolute", "continuous", "prismatic"}
TRIES = 5  # random configurations tried by each test

every_robot = pytest.mark.parametrize("robot", ROBOTS, ids=str)


# ---------------------------------------------------------------------------------------------------------------------
# Loading
# ---------------------------------------------------------------------------------------------------------------------


@cache
def text_of(name: str) -> str:
    return importlib.resources.files("linkwork.robots").joinpath(f"{name}.urdf").read_text(encoding="utf-8")


@cache
def xml_of(name: str) -> ET.Element:
    return ET.fromstring(text_of(name))


@cache
def pinocchio_model(name: str, floating: bool) -> pin.Model:
    if floating:
        return pin.buildModelFromXML(text_of(name), pin.JointModelFreeFlyer())
    return pin.buildModelFromXML(text_of(name))


@cache
def mujoco_model(name: str, floating: bool) -> mujoco.MjModel:
    spec = mujoco.MjSpec.from_string(text_of(name))
    spec.compiler.fusestatic = False  # keep every link a body of its own
    spec.compiler.balanceinertia = False  # take the inertias as they are
    if floating:
        spec.worldbody.first_body().add_freejoint()
    return spec.compile()


def moving_joints(name: str) -> list[ET.Element]:
    return [joint for joint in xml_of(name).findall("joint") if joint.get("type") in MOVING]


def massive_links(name: str) -> list[ET.Element]:
    return [link for link in xml_of(name).findall("link") if link.find("inertial") is not None]


def values(element: ET.Element, attribute: str) -> np.ndarray:
    return np.array([float(word) for word in element.get(attribute, "").split()])


# ---------------------------------------------------------------------------------------------------------------------
# One posture in two libraries
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Posture:
    """A joint position for every moving joint and the place of a floating base."""

    joints: dict[str, float]
    position: np.ndarray
    quaternion: np.ndarray  # x, y, z, w


def random_posture(name: str, rng: np.random.Generator) -> Posture:
    joints = {}
    for joint in moving_joints(name):
        limit = joint.find("limit")
        lower, upper = float(limit.get("lower", -math.pi)), float(limit.get("upper", math.pi))
        joints[joint.get("name")] = rng.uniform(lower, upper)
    quaternion = rng.normal(size=4)
    return Posture(joints, rng.normal(size=3), quaternion / np.linalg.norm(quaternion))


def zero_posture(name: str) -> Posture:
    return Posture({joint.get("name"): 0.0 for joint in moving_joints(name)}, np.zeros(3), np.array([0.0, 0, 0, 1]))


def pinocchio_q(model: pin.Model, posture: Posture, floating: bool) -> np.ndarray:
    q = pin.neutral(model)
    if floating:
        q[:7] = *posture.position, *posture.quaternion
    for joint, angle in posture.joints.items():
        index = model.getJointId(joint)
        start, size = model.idx_qs[index], model.nqs[index]
        q[start : start + size] = angle if size == 1 else (math.cos(angle), math.sin(angle))
    return q


def mujoco_data(model: mujoco.MjModel, posture: Posture, floating: bool) -> mujoco.MjData:
    data = mujoco.MjData(model)
    if floating:
        x, y, z, w = posture.quaternion
        data.qpos[:7] = *posture.position, w, x, y, z
    for joint, angle in posture.joints.items():
        data.qpos[model.joint(joint).qposadr[0]] = angle
    mujoco.mj_forward(model, data)
    return data


def velocity_map(name: str, floating: bool, posture: Posture) -> np.ndarray:
    """The matrix that turns a velocity of pinocchio into one of MuJoCo.

    Both list the joints in an order of their own. The linear velocity of a floating base is in the axes of the base
    in pinocchio and in those of the world in MuJoCo.
    """
    ours, theirs = pinocchio_model(name, floating), mujoco_model(name, floating)
    out = np.zeros((theirs.nv, ours.nv))
    if floating:
        out[:3, :3] = pin.Quaternion(posture.quaternion).toRotationMatrix()
        out[3:6, 3:6] = np.eye(3)
    for joint in posture.joints:
        out[theirs.joint(joint).dofadr[0], ours.idx_vs[ours.getJointId(joint)]] = 1.0
    return out


def pinocchio_mass_matrix(model: pin.Model, q: np.ndarray) -> np.ndarray:
    upper = np.triu(pin.crba(model, model.createData(), q))
    return upper + np.triu(upper, 1).T


def mujoco_mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    out = np.zeros((model.nv, model.nv))
    for column, unit in zip(out, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    return out


def frame_pose(model: pin.Model, q: np.ndarray, frame: str) -> pin.SE3:
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    assert model.existFrame(frame, pin.FrameType.BODY)
    return data.oMf[model.getFrameId(frame, pin.FrameType.BODY)]


# ---------------------------------------------------------------------------------------------------------------------
# The file itself
# ---------------------------------------------------------------------------------------------------------------------

CHILDREN = {
    "robot": {"material", "link", "joint"},
    "link": {"inertial", "visual", "collision"},
    "inertial": {"origin", "mass", "inertia"},
    "visual": {"origin", "geometry", "material"},
    "collision": {"origin", "geometry"},
    "geometry": {"box", "cylinder", "sphere"},
    "material": {"color"},
    "joint": {"parent", "child", "origin", "axis", "limit", "dynamics", "mimic"},
}


def test_every_shipped_file_is_tested():
    shipped = {
        entry.name for entry in importlib.resources.files("linkwork.robots").iterdir() if entry.name.endswith(".urdf")
    }
    assert shipped == {f"{robot.name}.urdf" for robot in ROBOTS}


@every_robot
def test_file_is_plain_urdf(robot):
    text, root = text_of(robot.name), xml_of(robot.name)
    assert text.isascii()
    assert "DOCTYPE" not in text
    assert "xacro" not in text
    assert root.get("name") == robot.name
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set()), element.tag
        for attribute in ("xyz", "rpy", "size", "radius", "length", "value", "lower", "upper", "effort", "velocity"):
            if attribute in element.attrib:
                assert np.isfinite(values(element, attribute)).all()
    materials = {material.get("name") for material in root.findall("material")}
    assert {material.get("name") for material in root.findall("link/visual/material")} == materials


@every_robot
def test_header_tells_the_truth(robot):
    header = text_of(robot.name).split("<!--")[1].split("-->")[0]
    assert header.strip().startswith(f"{robot.name}:")
    assert f"Total mass {robot.mass:g} kg" in header
    assert f"{robot.joints} moving joints" in header
    assert f"{robot.links} links" in header
    assert "Sources:" in header
    assert "License: part of linkwork, BSD-3-Clause." in header


@every_robot
def test_names(robot):
    root = xml_of(robot.name)
    names = [element.get("name") for tag in ("link", "joint") for element in root.findall(tag)]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) for name in names)
    assert set(robot.frames) <= set(names)


@every_robot
def test_links_and_joints_form_a_tree(robot):
    root = xml_of(robot.name)
    links = [link.get("name") for link in root.findall("link")]
    children = [joint.find("child").get("link") for joint in root.findall("joint")]
    parents = [joint.find("parent").get("link") for joint in root.findall("joint")]
    assert len(links) == robot.links
    assert len(moving_joints(robot.name)) == robot.joints
    assert len(children) == len(set(children)) == len(links) - 1
    assert set(children) | {robot.root} == set(links)
    assert set(parents) <= set(links)
    assert root.find(f"link[@name='{robot.root}']/inertial") is not None


@every_robot
def test_moving_joints_are_complete(robot):
    for joint in moving_joints(robot.name):
        axis, limit, dynamics = values(joint.find("axis"), "xyz"), joint.find("limit"), joint.find("dynamics")
        assert sorted(abs(axis)) == [0, 0, 1]
        assert float(limit.get("effort")) > 0
        assert float(limit.get("velocity")) > 0
        assert float(dynamics.get("damping")) >= 0
        assert float(dynamics.get("friction")) >= 0
        if joint.get("type") == "continuous":
            assert set(limit.attrib) == {"effort", "velocity"}
        else:
            lower, upper = float(limit.get("lower")), float(limit.get("upper"))
            assert lower <= 0 <= upper
            assert lower < upper


@every_robot
def test_right_angles_of_joint_frames_are_exact(robot):
    for joint in xml_of(robot.name).findall("joint"):
        for angle in values(joint.find("origin"), "rpy"):
            assert angle in (0.0, math.pi / 2, -math.pi / 2)


def primitive_inertia(shape: ET.Element, mass: float) -> tuple[np.ndarray, float]:
    """The principal moments and the volume of a uniform solid."""
    if shape.tag == "box":
        x, y, z = values(shape, "size")
        return mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y]), x * y * z
    r = float(shape.get("radius"))
    if shape.tag == "sphere":
        return np.full(3, 2 / 5 * mass * r * r), 4 / 3 * math.pi * r**3
    length = float(shape.get("length"))
    across = mass * (3 * r * r + length * length) / 12
    return np.array([across, across, mass * r * r / 2]), math.pi * r * r * length


@every_robot
def test_inertias_are_those_of_the_first_shape(robot):
    """The first visual shape of a link is the solid its mass is spread over; a collision shape is the same solid."""
    for link in massive_links(robot.name):
        inertial, visual, collision = link.find("inertial"), link.find("visual"), link.find("collision")
        mass = float(inertial.find("mass").get("value"))
        moments, volume = primitive_inertia(visual.find("geometry")[0], mass)
        given = [float(inertial.find("inertia").get(key)) for key in ("ixx", "iyy", "izz")]
        np.testing.assert_allclose(given, moments, rtol=1e-8)
        assert all(float(inertial.find("inertia").get(key)) == 0 for key in ("ixy", "ixz", "iyz"))
        assert 300 < mass / volume < 3000, link.get("name")
        for other in (visual,) if collision is None else (visual, collision):
            assert other.find("origin").attrib == inertial.find("origin").attrib
            assert other.find("geometry")[0].attrib == visual.find("geometry")[0].attrib


# ---------------------------------------------------------------------------------------------------------------------
# As pinocchio and MuJoCo see it
# ---------------------------------------------------------------------------------------------------------------------


@every_robot
def test_inertias_are_physical(robot):
    inertias = [inertia for inertia in pinocchio_model(robot.name, robot.floating).inertias if inertia.mass > 0]
    assert len(inertias) > robot.joints
    theirs = mujoco_model(robot.name, robot.floating)
    moments = [np.linalg.eigvalsh(inertia.inertia) for inertia in inertias]
    moments += [np.sort(row) for row, mass in zip(theirs.body_inertia, theirs.body_mass, strict=True) if mass > 0]
    for smallest, middle, largest in moments:
        assert smallest > 0
        assert smallest + middle > largest * (1 + 1e-6)


@every_robot
def test_size_and_mass(robot):
    ours, theirs = pinocchio_model(robot.name, robot.floating), mujoco_model(robot.name, robot.floating)
    base = 6 if robot.floating else 0
    assert ours.nv == theirs.nv == robot.joints + base
    assert theirs.nbody == robot.links + 1
    written = sum(float(link.find("inertial/mass").get("value")) for link in massive_links(robot.name))
    assert written == pytest.approx(robot.mass, rel=1e-12)
    assert sum(inertia.mass for inertia in ours.inertias) == pytest.approx(robot.mass, rel=1e-12)
    assert sum(theirs.body_mass) == pytest.approx(robot.mass, rel=1e-12)


@every_robot
def test_limits(robot):
    ours, theirs = pinocchio_model(robot.name, robot.floating), mujoco_model(robot.name, robot.floating)
    for joint in moving_joints(robot.name):
        name, limit = joint.get("name"), joint.find("limit")
        index = ours.getJointId(name)
        speed = ours.upperVelocityLimit if hasattr(ours, "upperVelocityLimit") else ours.velocityLimit
        assert speed[ours.idx_vs[index]] == float(limit.get("velocity"))
        assert theirs.dof_damping[theirs.joint(name).dofadr[0]] == float(joint.find("dynamics").get("damping"))
        assert theirs.dof_frictionloss[theirs.joint(name).dofadr[0]] == float(joint.find("dynamics").get("friction"))
        bounded = joint.get("type") != "continuous"
        assert theirs.jnt_limited[theirs.joint(name).id] == bounded
        if bounded:
            written = [float(limit.get("lower")), float(limit.get("upper"))]
            row = ours.idx_qs[index]
            assert [ours.lowerPositionLimit[row], ours.upperPositionLimit[row]] == written
            np.testing.assert_array_equal(theirs.jnt_range[theirs.joint(name).id], written)


@every_robot
def test_pinocchio_and_mujoco_agree(robot):
    """The place of every link, the mass matrix and the forces of gravity."""
    rng = np.random.default_rng(sum(robot.name.encode()))
    ours, theirs = pinocchio_model(robot.name, robot.floating), mujoco_model(robot.name, robot.floating)
    for _ in range(TRIES):
        posture = random_posture(robot.name, rng)
        q, data = pinocchio_q(ours, posture, robot.floating), mujoco_data(theirs, posture, robot.floating)
        for link in xml_of(robot.name).findall("link"):
            pose, body = frame_pose(ours, q, link.get("name")), data.body(link.get("name"))
            np.testing.assert_allclose(pose.translation, body.xpos, atol=1e-12)
            np.testing.assert_allclose(pose.rotation, body.xmat.reshape(3, 3), atol=1e-12)
        to_theirs = velocity_map(robot.name, robot.floating, posture)
        mass_matrix = pinocchio_mass_matrix(ours, q)
        assert np.linalg.eigvalsh(mass_matrix)[0] > 0
        np.testing.assert_allclose(mass_matrix, to_theirs.T @ mujoco_mass_matrix(theirs, data) @ to_theirs, atol=1e-9)
        gravity = pin.computeGeneralizedGravity(ours, ours.createData(), q)
        np.testing.assert_allclose(gravity, to_theirs.T @ data.qfrc_bias, atol=1e-9)


@every_robot
def test_zero_configuration_is_free_of_contact(robot):
    theirs = mujoco_model(robot.name, robot.floating)
    assert mujoco_data(theirs, zero_posture(robot.name), robot.floating).ncon == 0


# ---------------------------------------------------------------------------------------------------------------------
# Symmetry
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mirror:
    """A reflection of the robot: two names change places, one coordinate changes its sign."""

    names: tuple[str, str]
    flipped: int  # the coordinate: 0 for x, 1 for y

    def name(self, name: str) -> str:
        words = {self.names[0]: self.names[1], self.names[1]: self.names[0]}
        return "_".join(words.get(word, word) for word in name.split("_"))

    @property
    def vector(self) -> np.ndarray:
        """The signs that a reflection gives a vector; those of an axis of rotation are the opposite."""
        return np.where(np.arange(3) == self.flipped, -1.0, 1.0)

    def joint_sign(self, joint: ET.Element) -> float:
        assert joint.get("type") == "revolute"
        return float(-self.vector @ values(joint.find("axis"), "xyz"))

    def posture(self, name: str, posture: Posture) -> Posture:
        signs = {joint.get("name"): self.joint_sign(joint) for joint in moving_joints(name)}
        joints = {self.name(joint): signs[joint] * angle for joint, angle in posture.joints.items()}
        quaternion = np.append(-self.vector, 1.0) * posture.quaternion
        return Posture(joints, self.vector * posture.position, quaternion)

    def velocity_map(self, name: str) -> np.ndarray:
        model = pinocchio_model(name, True)
        out = np.zeros((model.nv, model.nv))
        out[:3, :3], out[3:6, 3:6] = np.diag(self.vector), np.diag(-self.vector)
        for joint in moving_joints(name):
            here, there = joint.get("name"), self.name(joint.get("name"))
            out[model.idx_vs[model.getJointId(there)], model.idx_vs[model.getJointId(here)]] = self.joint_sign(joint)
        return out


LEFT_RIGHT, FRONT_HIND = Mirror(("left", "right"), 1), Mirror(("front", "hind"), 0)
every_symmetry = pytest.mark.parametrize(
    ("name", "mirror"),
    [("humanoid", LEFT_RIGHT), ("quadruped", LEFT_RIGHT), ("quadruped", FRONT_HIND)],
    ids=["humanoid-left-right", "quadruped-left-right", "quadruped-front-hind"],
)


@every_symmetry
def test_mirrored_posture(name, mirror):
    """A mirrored posture has every link in the mirrored place, and the mirrored mass matrix."""
    rng = np.random.default_rng(7)
    model = pinocchio_model(name, True)
    links = [link.get("name") for link in xml_of(name).findall("link")]
    for _ in range(TRIES):
        posture = random_posture(name, rng)
        here = pinocchio_q(model, posture, True)
        there = pinocchio_q(model, mirror.posture(name, posture), True)
        for link in links:
            pose, image = frame_pose(model, here, link), frame_pose(model, there, mirror.name(link))
            np.testing.assert_allclose(image.translation, mirror.vector * pose.translation, atol=1e-12)
            reflected = np.diag(mirror.vector) @ pose.rotation @ np.diag(mirror.vector)
            np.testing.assert_allclose(image.rotation, reflected, atol=1e-12)
        swap = mirror.velocity_map(name)
        np.testing.assert_allclose(
            pinocchio_mass_matrix(model, there), swap @ pinocchio_mass_matrix(model, here) @ swap.T, atol=1e-12
        )


@every_symmetry
def test_mirrored_limits(name, mirror):
    joints = {joint.get("name"): joint for joint in moving_joints(name)}
    for joint in joints.values():
        limit, image = joint.find("limit"), joints[mirror.name(joint.get("name"))].find("limit")
        bounds = [mirror.joint_sign(joint) * float(limit.get(key)) for key in ("lower", "upper")]
        assert sorted(bounds) == [float(image.get("lower")), float(image.get("upper"))]
        assert (limit.get("effort"), limit.get("velocity")) == (image.get("effort"), image.get("velocity"))


# ---------------------------------------------------------------------------------------------------------------------
# What each robot is
# ---------------------------------------------------------------------------------------------------------------------


def rotation_about_x(angle: float) -> pin.SE3:
    return pin.SE3(pin.rpy.rpyToMatrix(angle, 0.0, 0.0), np.zeros(3))


def rotation_about_z(angle: float) -> pin.SE3:
    return pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, angle), np.zeros(3))


def shift(x: float, z: float) -> pin.SE3:
    return pin.SE3(np.eye(3), np.array([x, 0.0, z]))


QUARTER = math.pi / 2


def test_arm6_has_the_published_kinematics():
    """The tool is where the Denavit-Hartenberg table (standard convention: a, d, alpha) puts it."""
    table = (
        ("shoulder_pan", 0, 0.089159, QUARTER),
        ("shoulder_lift", -0.425, 0, 0),
        ("elbow", -0.39225, 0, 0),
        ("wrist_1", 0, 0.10915, QUARTER),
        ("wrist_2", 0, 0.09465, -QUARTER),
        ("wrist_3", 0, 0.0823, 0),
    )
    model, rng = pinocchio_model("arm6", False), np.random.default_rng(1)
    for _ in range(TRIES):
        posture = random_posture("arm6", rng)
        pose = pin.SE3.Identity()
        for joint, a, d, alpha in table:
            pose = pose * rotation_about_z(posture.joints[joint]) * shift(a, d) * rotation_about_x(alpha)
        tool = frame_pose(model, pinocchio_q(model, posture, False), "tool")
        np.testing.assert_allclose(tool.homogeneous, pose.homogeneous, atol=1e-12)


@pytest.mark.parametrize("name", ["arm7", "arm7_gripper"])
def test_arm7_has_the_published_kinematics(name):
    """The hand is where the Denavit-Hartenberg table (modified convention: a, d, alpha) puts it."""
    table = (
        ("shoulder_pan", 0, 0.333, 0),
        ("shoulder_lift", 0, 0, -QUARTER),
        ("upper_arm_roll", 0, 0.316, QUARTER),
        ("elbow", 0.0825, 0, QUARTER),
        ("forearm_roll", -0.0825, 0.384, -QUARTER),
        ("wrist_flex", 0, 0, QUARTER),
        ("wrist_roll", 0.088, 0, QUARTER),
    )
    model, rng = pinocchio_model(name, False), np.random.default_rng(2)
    for _ in range(TRIES):
        posture = random_posture(name, rng)
        q = pinocchio_q(model, posture, False)
        pose = pin.SE3.Identity()
        for joint, a, d, alpha in table:
            pose = pose * rotation_about_x(alpha) * shift(a, 0) * rotation_about_z(posture.joints[joint]) * shift(0, d)
        hand, tool = pose * shift(0, 0.107), pose * shift(0, 0.107 + 0.1034)
        np.testing.assert_allclose(frame_pose(model, q, "hand").homogeneous, hand.homogeneous, atol=1e-12)
        np.testing.assert_allclose(frame_pose(model, q, "tool").homogeneous, tool.homogeneous, atol=1e-12)


def test_gripper_is_the_arm_with_fingers():
    arm = {joint.get("name"): joint for joint in xml_of("arm7").findall("joint")}
    whole = {joint.get("name"): joint for joint in xml_of("arm7_gripper").findall("joint")}
    assert set(whole) - set(arm) == {"left_finger_slide", "right_finger_slide"}
    for name, joint in arm.items():
        assert [child.attrib for child in joint] == [child.attrib for child in whole[name]]
    for link in massive_links("arm7"):
        same = xml_of("arm7_gripper").find(f"link[@name='{link.get('name')}']")
        assert ET.tostring(link).strip() == ET.tostring(same).strip()
    assert whole["right_finger_slide"].find("mimic").attrib == {
        "joint": "left_finger_slide",
        "multiplier": "1",
        "offset": "0",
    }
    assert whole["left_finger_slide"].find("mimic") is None


def test_gripper_fingers_move_together():
    """With its mimic joint the gripper has one degree of freedom less, and opens evenly about the tool."""
    model = pin.buildModelFromXML(text_of("arm7_gripper"), mimic=True)
    assert model.nv == 8
    q = pin.neutral(model)
    q[model.idx_qs[model.getJointId("left_finger_slide")]] = 0.03
    tool = frame_pose(model, q, "tool")
    left = tool.actInv(frame_pose(model, q, "left_finger").translation)
    right = tool.actInv(frame_pose(model, q, "right_finger").translation)
    np.testing.assert_allclose(left, [0, 0.03, -0.045], atol=1e-12)
    np.testing.assert_allclose(right, [0, -0.03, -0.045], atol=1e-12)
    assert mujoco_model("arm7_gripper", False).neq == 1


def test_double_pendulum_is_planar():
    model, rng = pinocchio_model("double_pendulum", False), np.random.default_rng(3)
    for _ in range(TRIES):
        posture = random_posture("double_pendulum", rng)
        first = posture.joints["shoulder"]
        both = first + posture.joints["elbow"]
        tip = frame_pose(model, pinocchio_q(model, posture, False), "tip").translation
        reach = [-math.sin(first) - 0.8 * math.sin(both), 0.05, -math.cos(first) - 0.8 * math.cos(both)]
        np.testing.assert_allclose(tip, reach, atol=1e-12)


def test_quadruped_stands_on_straight_legs():
    model = pinocchio_model("quadruped", True)
    q = pin.neutral(model)
    for foot in FEET:
        x = 0.1946 if foot.startswith("front") else -0.1946
        y = 0.14695 if "left" in foot else -0.14695
        np.testing.assert_allclose(frame_pose(model, q, foot).translation, [x, y, -0.32], atol=1e-12)


def test_humanoid_stands_straight():
    model = pinocchio_model("humanoid", True)
    q = pin.neutral(model)
    height, leg = 1.60, 0.530 * 1.60
    for side, sign in (("left", 1), ("right", -1)):
        foot, hand = frame_pose(model, q, f"{side}_foot"), frame_pose(model, q, f"{side}_hand")
        np.testing.assert_allclose(foot.translation, [0, sign * 0.085, -leg], atol=1e-12)
        wrist = (0.818 - 0.186 - 0.146) * height - leg
        np.testing.assert_allclose(hand.translation, [0, sign * 0.129 * height, wrist - 0.08], atol=1e-12)
    head = frame_pose(model, q, "head").translation
    np.testing.assert_allclose(head, [0, 0, 0.870 * height - leg], atol=1e-12)
    assert head[2] + 2 * 0.104 == pytest.approx(height - leg)
    centre = pin.centerOfMass(model, model.createData(), q)
    assert abs(centre[1]) < 1e-12
    assert -0.07 < centre[0] < 0.17  # above the soles
    assert 0.53 < (centre[2] + leg) / height < 0.60  # where a standing person has it


def test_humanoid_has_the_published_mass_fractions():
    """Segment masses as fractions of the body: de Leva (1996), men."""
    masses = {link.get("name"): float(link.find("inertial/mass").get("value")) for link in massive_links("humanoid")}
    total = sum(masses.values())
    segments = {
        0.1117: ["pelvis"],
        0.1633 + 0.1596: ["waist_yaw_link", "waist_roll_link", "torso"],
        0.0694: ["neck", "head"],
        0.1416: ["left_hip_yaw_link", "left_hip_roll_link", "left_thigh"],
        0.0433: ["left_shank", "left_ankle_pitch_link"],
        0.0137: ["left_ankle_roll_link"],
        0.0271: ["left_shoulder_pitch_link", "left_shoulder_roll_link", "left_upper_arm"],
        0.0162: ["left_forearm", "left_wrist_yaw_link"],
        0.0061: ["left_wrist_roll_link", "left_wrist_pitch_link"],
    }
    for fraction, links in segments.items():
        assert sum(masses[link] for link in links) / total == pytest.approx(fraction, rel=1e-9)
    named = {link for links in segments.values() for link in links}
    assert named | {link.replace("left", "right") for link in named} == set(masses)
