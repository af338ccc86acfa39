"""One step of velocity within limits, beside pink and mink: an arm's hand, and a humanoid's hands, feet and centre.

What is timed is what a controller does each period: a new configuration, its kinematics, and a velocity by a quadratic
program within limits of positions (that a step of 10 ms must not leave) and of velocities.  Targets are a centimetre
away.  A step counts as right where it keeps the limits and leaves less of the error than was there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np

from linkwork.cli.peer import CannotCompare
from linkwork.cli.pinocchio_model import PinocchioModel
from linkwork.cli.timing import Call, Effort, compare

from .ik_peers import module, quiet
from .robots import ROBOTS

__all__ = ["DT", "Scene", "mink_step", "pink_step", "scene", "seconds_of"]

DT = 0.01
FRAMES = {
    "panda": ("panda_hand",),
    "talos": ("gripper_left_base_link", "gripper_right_base_link", "left_sole_link", "right_sole_link"),
    "g1": ("left_rubber_hand", "right_rubber_hand", "left_ankle_roll_link", "right_ankle_roll_link"),
}
POSTURE = 1e-3  # its cost beside 1 of frames


@dataclass(frozen=True)
class Scene:
    """A robot in a state, and what its frames are to reach."""

    robot: Any
    there: PinocchioModel
    frames: tuple[str, ...]
    q: np.ndarray
    targets: dict[str, np.ndarray]  # by frame
    center: np.ndarray | None  # of mass, of robots with a free base


def scene(name: str) -> Scene:
    """The middle of limits; targets a centimetre away, along no axis."""
    robot, frames = ROBOTS[name].load(), FRAMES[name]
    bounded = np.isfinite(robot.lower)
    q = robot.neutral()
    q[bounded] = 0.5 * (robot.lower[bounded] + robot.upper[bounded])
    away = 0.01 * np.array([0.6, -0.64, 0.48])
    targets = {}
    for frame in frames:
        targets[frame] = robot.pose(q, frame)
        targets[frame][:3, 3] += away
    free = not bounded.all()
    center = robot.center_of_mass(q) + away if free else None
    return Scene(robot, PinocchioModel(robot), frames, q, targets, center)


def pink_step(scene: Scene) -> Callable[[np.ndarray], np.ndarray]:
    """A function of q to v, in pink's order.  Raises CannotCompare."""
    pink = module("pink")
    module("daqp")
    tasks_of, limits_of = importlib.import_module("pink.tasks"), importlib.import_module("pink.limits")
    pin, model = scene.there.pin, scene.there.model
    at = scene.there.q(scene.q)
    configuration = pink.Configuration(model, scene.there.data, at, copy_data=False)
    tasks = []
    for frame, X in scene.targets.items():
        tasks.append(tasks_of.FrameTask(frame, position_cost=1.0, orientation_cost=1.0))
        tasks[-1].set_target(pin.SE3(X))
    posture = tasks_of.PostureTask(cost=POSTURE)
    posture.set_target(at)
    tasks.append(posture)
    if scene.center is not None:
        tasks.append(tasks_of.ComTask(cost=1.0))
        tasks[-1].set_target(scene.center)
    limits = [limits_of.ConfigurationLimit(model), limits_of.VelocityLimit(model)]

    def step(q: np.ndarray) -> np.ndarray:
        configuration.update(q)
        v: np.ndarray = pink.solve_ik(configuration, tasks, DT, solver="daqp", limits=limits)
        return v

    return step


def mink_step(scene: Scene) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """A function of q to v in mink's order, and q there.  Raises CannotCompare."""
    mink, mujoco = module("mink"), module("mujoco")
    module("daqp")
    with quiet():
        model = mujoco.MjModel.from_xml_string(_for_mujoco(scene))
    q = _mujoco_q(scene, mujoco, model)
    configuration = mink.Configuration(model, q)
    tasks = []
    for frame, X in scene.targets.items():
        have = configuration.get_transform_frame_to_world(frame, "body").as_matrix()
        if np.abs(have - scene.robot.pose(scene.q, frame)).max() > 1e-6:
            raise CannotCompare(f"MuJoCo has {frame!r} elsewhere")
        tasks.append(mink.FrameTask(frame, "body", position_cost=1.0, orientation_cost=1.0))
        tasks[-1].set_target(mink.SE3.from_matrix(X))
    tasks.append(mink.PostureTask(model, cost=POSTURE))
    tasks[-1].set_target(q)
    if scene.center is not None:
        tasks.append(mink.ComTask(cost=1.0))
        tasks[-1].set_target(scene.center)
    fastest = {
        joint.name: float(scene.robot.velocity_limits[joint.v_slice][0])
        for joint in scene.robot.joints
        if joint.nv == 1
    }
    limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, fastest)]

    def step(at: np.ndarray) -> np.ndarray:
        configuration.update(at)
        v: np.ndarray = mink.solve_ik(configuration, tasks, DT, solver="daqp", limits=limits)
        return v

    return step, q


def _for_mujoco(scene: Scene) -> str:
    """The URDF without shapes, its root free where the robot's is."""
    root = ElementTree.parse(str(scene.robot.tree.source)).getroot()
    for link in root.findall("link"):
        for part in ("visual", "collision"):
            for shape in link.findall(part):
                link.remove(shape)
    for part in ("transmission", "gazebo", "mujoco", "material"):
        for found in root.findall(part):
            root.remove(found)
    first = ElementTree.fromstring(
        '<mujoco><compiler fusestatic="false" discardvisual="true" balanceinertia="true" boundmass="1e-9" '
        'boundinertia="1e-12"/></mujoco>'
    )
    root.insert(0, first)
    if scene.center is not None:
        children = {str(joint.find("child").get("link")) for joint in root.findall("joint")}  # type: ignore[union-attr]
        (top,) = [str(link.get("name")) for link in root.findall("link") if link.get("name") not in children]
        root.append(ElementTree.fromstring('<link name="world"/>'))
        free = f'<joint name="floating_base" type="floating"><parent link="world"/><child link="{top}"/></joint>'
        root.append(ElementTree.fromstring(free))
    return ElementTree.tostring(root, encoding="unicode")


def _mujoco_q(scene: Scene, mujoco: Any, model: Any) -> np.ndarray:
    q = np.array(model.qpos0)
    for joint in scene.robot.joints:
        k = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint.name)
        if k < 0:
            raise CannotCompare(f"MuJoCo has no joint {joint.name!r}")
        start, values = int(model.jnt_qposadr[k]), scene.q[joint.q_slice]
        q[start : start + joint.nq] = np.concatenate([values[4:], values[:4]]) if joint.nq == 7 else values
    return q


def seconds_of(step: Callable[..., Any], *arguments: Any, effort: Effort) -> float:
    """Of a call, median of rounds."""
    step(*arguments)
    return compare(Call("step(*arguments)", {"step": step, "arguments": arguments}), None, effort).ours
