"""Robots that stand on the ground under servos, and MuJoCo's models of them, for benchmarks of contacts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measurement.robots import ROBOTS
from benchmarks.peers.mujoco_peer import bare_urdf
from linkwork.shapes import Box, Cylinder, Sphere
from linkwork.simulation import ContactPoint

__all__ = [
    "HUMANOID",
    "QUADRUPED",
    "STEP",
    "StandingCase",
    "add_plane",
    "bare",
    "floor_model",
    "servos",
    "shaped_floor",
    "standing",
]

STEP = 1e-3  # [s]
SIDES = ("left", "right")
CORNERS = ((-0.05, -0.04), (-0.05, 0.04), (0.12, -0.04), (0.12, 0.04))  # of a sole [m]


@dataclass(frozen=True)
class StandingCase:
    """A robot, its contact points, the gains of its servos, and its initial configuration."""

    name: str
    points: tuple[ContactPoint, ...]
    stiffness: float  # N·m/rad
    damping: float  # N·m·s/rad
    bent: dict[str, float]
    light: tuple[str, ...] = ()  # parts of names of joints that a twentieth of it holds

    def gains(self, robot: Any) -> np.ndarray:
        """Return the factor of stiffness and damping for each joint (nv − 6,)."""
        names = [joint.name for joint in robot.joints][1:]
        return np.array([0.05 if any(part in name for part in self.light) else 1.0 for name in names])


QUADRUPED = StandingCase(
    "quadruped",
    tuple(ContactPoint(f"{x}_{y}_foot", radius=0.02) for x in ("front", "hind") for y in ("left", "right")),
    20.0,
    0.5,
    {
        f"{x}_{y}_{joint}": angle
        for x in ("front", "hind")
        for y in ("left", "right")
        for joint, angle in (("hip_flexion", 0.7), ("knee", -1.4))
    },
)
HUMANOID = StandingCase(
    "humanoid",
    (
        *[ContactPoint(f"{side}_foot", (*corner, 0.0), radius=0.01) for side in SIDES for corner in CORNERS],
        *[ContactPoint(f"{side}_hand", radius=0.05) for side in SIDES],
    ),
    400.0,
    10.0,
    {},
    ("neck", "shoulder", "elbow", "wrist"),
)


def standing(case: StandingCase) -> tuple[Any, np.ndarray]:
    robot: Any = ROBOTS[case.name].load()
    q = robot.neutral()
    for name, angle in case.bent.items():
        q[robot.joint(name).q_slice] = angle
    low = min((robot.pose(q, p.frame) @ [*p.offset, 1.0])[2] - p.radius for p in case.points if "hand" not in p.frame)
    q[6] -= low
    return robot, q


def servos(robot: Any, case: StandingCase) -> Callable[..., Any]:
    free, gains = np.zeros(6), case.gains(robot)

    def controller(t: Any, q: Any, v: Any, target: Any) -> Any:
        return np.concatenate([free, gains * (case.stiffness * (target[7:] - q[7:]) - case.damping * v[6:])])

    return controller


def bare(robot: Any) -> str:
    return bare_urdf(robot, balanceinertia="false", fusestatic="false", discardvisual="false")


def floor_model(mujoco: Any, robot: Any, case: StandingCase) -> Any:
    """MuJoCo's model of the robot's file on a plane, with spheres where ours touch."""
    spec = mujoco.MjSpec.from_string(bare(robot))
    spec.worldbody.first_body().add_freejoint()
    add_plane(mujoco, spec, 0.8)
    for p in case.points:
        ball = spec.body(p.frame).add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[max(p.radius, 1e-3), 0, 0], pos=list(p.offset), mass=0.0
        )
        ball.contype, ball.conaffinity, ball.friction = 0, 1, [0.8, 0.005, 1e-4]
    model = spec.compile()
    model.opt.timestep = STEP
    return model


def shaped_floor(mujoco: Any, robot: Any, friction: float) -> Any:
    """Return MuJoCo's model of the robot's file on a plane, with the collision shapes of all links."""
    spec = mujoco.MjSpec.from_string(bare(robot))
    spec.worldbody.first_body().add_freejoint()
    add_plane(mujoco, spec, friction)
    for link in robot.links:
        for geometry in link.collisions:
            translation, rotation = geometry.origin.translation, geometry.origin.rotation
            columns = [[axis.x, axis.y, axis.z] for axis in (rotation.x, rotation.y, rotation.z)]
            quat = np.zeros(4)
            mujoco.mju_mat2Quat(quat, np.array(columns).T.ravel())
            kind, size = geom_of(mujoco, geometry.shape)
            geom = spec.body(link.name).add_geom(
                type=kind, size=size, pos=[translation.x, translation.y, translation.z], quat=quat, mass=0.0
            )
            geom.contype, geom.conaffinity, geom.friction = 0, 1, [friction, 0.005, 1e-4]
    model = spec.compile()
    model.opt.timestep = STEP
    return model


def add_plane(mujoco: Any, spec: Any, friction: float) -> None:
    """Add a plane that touches what has the affinity 1."""
    plane = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[friction, 0.005, 1e-4])
    plane.contype, plane.conaffinity = 1, 0


def geom_of(mujoco: Any, shape: Any) -> tuple[Any, list[float]]:
    """Return MuJoCo's type and sizes of a box, a cylinder or a sphere."""
    if isinstance(shape, Box):
        return mujoco.mjtGeom.mjGEOM_BOX, [0.5 * x for x in shape.size]
    if isinstance(shape, Cylinder):
        return mujoco.mjtGeom.mjGEOM_CYLINDER, [shape.radius, 0.5 * shape.length, 0.0]
    if isinstance(shape, Sphere):
        return mujoco.mjtGeom.mjGEOM_SPHERE, [shape.radius, 0.0, 0.0]
    raise TypeError(f"geom_of: shape: expected a box, a cylinder or a sphere, got {shape!r}")
