"""Bundled robots as Pinocchio and MuJoCo read their files."""

import importlib.resources
import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np
import pinocchio as pin
import pytest


@dataclass(frozen=True)
class Expected:
    """Expected properties of a bundled robot."""

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
MECHANISMS = (  # their loops are closed by files beside theirs
    Expected("fourbar", 3, 4, 6.2, "ground", False, ()),
    Expected("delta", 15, 17, 6.98, "base", False, ("platform",)),
    Expected("stewart", 18, 20, 37.4, "base", False, ("platform",)),
    Expected("leg", 12, 13, 21.2, "pelvis", False, ("foot",)),
    Expected("differential_drive", 4, 6, 9.85, "world", False, ("chassis",)),
    Expected("bicycle", 3, 5, 94.0, "world", False, ("rear_frame", "front_frame")),
    Expected("jansen_leg", 7, 8, 4.683, "ground", False, ("foot_triangle",)),
    Expected("klann_leg", 5, 6, 4.177, "ground", False, ("leg",)),
    Expected("scissor_lift", 6, 7, 77.5, "base", False, ("platform",)),
    Expected("planetary_gear", 7, 8, 4.85, "housing", False, ()),
    Expected("double_wishbone", 4, 6, 328.0, "chassis", False, ("knuckle", "wheel")),
)
MOVING = {"revolute", "continuous", "prismatic"}
TRIES = 5  # random configurations tried by each test

every_robot = pytest.mark.parametrize("robot", ROBOTS, ids=str)
every_file = pytest.mark.parametrize("robot", [*ROBOTS, *MECHANISMS], ids=str)


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
