"""Velocity steps within limits for an arm and a humanoid, compared with pink and mink.

The arm moves its hand, the humanoid its hands, feet and center of mass.

The timed work is that of a controller's period: a new configuration, its kinematics, and a velocity from a quadratic
program.  The program has position limits, which hold after a step of 10 ms, and velocity limits.  Targets are a
centimetre away.  A step is correct if it satisfies the limits and reduces the error.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np

import linkwork as lw
from benchmarks.ik.peers import module, quiet
from benchmarks.ik.protocol import Stopwatch
from benchmarks.measurement.robots import ROBOTS
from benchmarks.peers.pinocchio_peer import CannotCompare, PinocchioModel
from linkwork.cli.function_timings import Effort

__all__ = ["DT", "Scene", "Stepped", "mink_step", "our_step", "pink_step", "scene", "seconds_of", "stepped"]

DT = 0.01
FRAMES = {
    "panda": ("panda_hand",),
    "talos": ("gripper_left_base_link", "gripper_right_base_link", "left_sole_link", "right_sole_link"),
    "g1": ("left_rubber_hand", "right_rubber_hand", "left_ankle_roll_link", "right_ankle_roll_link"),
}
POSTURE = 1e-3  # its cost beside 1 of frames


@dataclass(frozen=True)
class Scene:
    """A robot in a state, and the targets of its frames."""

    robot: Any
    pinocchio: PinocchioModel
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
    pin, model = scene.pinocchio.pin, scene.pinocchio.model
    at = scene.pinocchio.q(scene.q)
    configuration = pink.Configuration(model, scene.pinocchio.data, at, copy_data=False)
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
    """Return a function from q to v in mink's order, and q in that order.  Raises CannotCompare."""
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
        for result in root.findall(part):
            root.remove(result)
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


def our_step(scene: Scene) -> Callable[[np.ndarray], np.ndarray]:
    """A function of q to v.  Raises CannotCompare."""
    ik: Any = getattr(lw, "ik", None)
    if ik is None or not hasattr(ik, "DifferentialIK"):
        raise CannotCompare("this linkwork has no differential inverse kinematics")
    tasks = [ik.PoseTask(frame, weight=1.0) for frame in scene.frames]
    targets = [*scene.targets.values(), scene.q.copy()]
    posed = [joint.name for joint in scene.robot.joints if joint.nv == 1]  # no base, as theirs
    tasks.append(ik.PostureTask(posed, weight=POSTURE, name="posture"))
    if scene.center is not None:
        tasks.append(ik.CenterOfMassTask(weight=1.0, name="center"))
        targets.append(scene.center)
    step = ik.DifferentialIK(scene.robot, tasks, DT, damping=1e-9).step

    def velocity(q: np.ndarray) -> np.ndarray:
        v: np.ndarray = step(q, *targets)
        return v

    return velocity


@dataclass(frozen=True)
class Stepped:
    """Seconds of a step, median of rounds, and how far others' velocities are from ours [rad/s, m/s]."""

    robot: str
    ours: float
    peer_seconds: dict[str, float]
    apart: dict[str, float]


def stepped(name: str, effort: Effort) -> Stepped:
    """Raises CannotCompare where this linkwork has no such steps, AssertionError where a limit is not kept."""
    with quiet():
        result = scene(name)
    ours = our_step(result)
    v = ours(result.q)
    assert np.all(np.abs(v) <= result.robot.velocity_limits), f"{name}: beyond a limit of velocity"
    q = result.robot.integrate(result.q, v * DT)
    assert np.all((q >= result.robot.lower) & (q <= result.robot.upper)), f"{name}: beyond a limit of position"
    peers, apart = {}, {}
    seconds = seconds_of(ours, result.q, effort=effort)
    for peer, step_function in (("pink", pink_step), ("mink", mink_step)):
        try:
            made_of: Any = step_function(result)
        except CannotCompare:
            continue
        step, at = made_of if isinstance(made_of, tuple) else (made_of, result.pinocchio.q(result.q))
        with quiet():
            theirs = result.pinocchio.ours(step(at)) if peer == "pink" else _from_mujoco(result, step(at))
        apart[peer] = float(np.abs(theirs - v).max())
        peers[peer] = seconds_of(step, at, effort=effort)
    return Stepped(name, seconds, peers, apart)


def _from_mujoco(scene: Scene, v: np.ndarray) -> np.ndarray:
    """Convert MuJoCo's velocities to our order: its free base has the linear part first, in world axes."""
    result, start = np.empty_like(v), 0
    joints = scene.robot.joints
    if joints and joints[0].nv == 6:
        R = scene.robot.pose(scene.q, joints[0].child)[:3, :3]
        result[joints[0].v_slice] = np.concatenate([v[3:6], R.T @ v[:3]])
        start = 1
    for joint in joints[start:]:
        result[joint.v_slice] = v[joint.v_slice]
    return result


def seconds_of(step: Callable[..., Any], *arguments: Any, effort: Effort) -> float:
    """Return the time for a call: the median over rounds."""
    step(*arguments)
    rounds = []
    for _ in range(effort.rounds):
        count, watch = 0, Stopwatch()
        while watch.stop() < effort.at_least:
            for _ in range(20):
                step(*arguments)
            count += 20
        rounds.append(watch.stop() / count)
    return float(np.median(rounds))
