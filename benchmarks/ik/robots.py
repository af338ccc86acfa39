"""Arms that inverse kinematics is measured on: from one frame to another, all else left away.

An arm is the URDF of its chain alone, which every library reads: links on the way from base to tip, other joints
fixed, one mass for each link.  Lengths and limits of the iiwa 14 are of its data sheet; the others come from files.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

import linkwork as lw
from benchmarks.measurement.robots import NotInstalled, example_robots, quietly
from benchmarks.peers.pinocchio_peer import PinocchioModel

__all__ = ["ARMS", "Arm", "Reference", "chain"]

MOVING = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Arm:
    """A chain between two links of a robot."""

    name: str
    source: str  # a file of example-robot-data, the name of a robot inside linkwork, or "" for `text`
    base: str
    tip: str
    written: str = ""

    @cached_property
    def text(self) -> str:
        """The chain alone, as URDF.  Raises NotInstalled."""
        if self.written:
            return self.written
        if self.source in lw.robots.names():
            file = Path(str(lw.load(self.source).tree.source))
        else:
            file = example_robots() / self.source
        if not file.is_file():
            raise NotInstalled(f"{self.name}: {file} is not there")
        return chain(file.read_text(encoding="utf-8"), self.base, self.tip)

    @cached_property
    def file(self) -> Path:
        """The chain alone, as a file for this process."""
        path = Path(_folder.name) / f"{self.name}.urdf"
        path.write_text(self.text, encoding="utf-8")
        return path

    @cached_property
    def robot(self) -> lw.Robot:
        with quietly():
            return lw.load(self.file)

    @cached_property
    def reference(self) -> Reference:
        """Raises CannotCompare where Pinocchio is not installed."""
        return Reference(self)

    @property
    def n(self) -> int:
        return self.robot.nq

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the joints' limits; infinite for continuous joints."""
        return self.robot.lower, self.robot.upper

    @cached_property
    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ranges of random configurations: limits, and one revolution for continuous joints."""
        lower, upper = self.limits
        return np.where(np.isfinite(lower), lower, -math.pi), np.where(np.isfinite(upper), upper, math.pi)

    @cached_property
    def middle(self) -> np.ndarray:
        lower, upper = self.ranges
        return 0.5 * (lower + upper)


class Reference:
    """Pinocchio's kinematics of an arm: poses (..., 4, 4) and Jacobians, in linkwork's joint values."""

    def __init__(self, arm: Arm) -> None:
        self.pinocchio = PinocchioModel(arm.robot, arm.text)
        self.pin, self.model, self.data = self.pinocchio.pin, self.pinocchio.model, self.pinocchio.data
        self.frame = self.pinocchio.frame(arm.tip)

    def pose(self, q: np.ndarray) -> np.ndarray:
        """Return the tip's poses (..., 4, 4) at configurations (..., n)."""
        rows = self.pinocchio.q(q.reshape(-1, q.shape[-1]))
        return np.array([self._at(row).homogeneous for row in rows]).reshape(*q.shape[:-1], 4, 4)

    def _at(self, q: np.ndarray) -> Any:
        self.pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.frame]

    def here(self, q: np.ndarray) -> np.ndarray:
        """Return linkwork's joint values of a Pinocchio configuration."""
        return np.concatenate(
            [
                x if len(x) == 1 else [math.atan2(x[1], x[0])]
                for x in (q[s] for _, s, _ in self.pinocchio.configurations)
            ]
        )

    def residual(self, q: np.ndarray, target: Any) -> np.ndarray:
        """Position and rotation vector left, in the target's axes."""
        M = target.actInv(self._at(self.pinocchio.q(q)))
        return np.concatenate([M.translation, self.pin.log3(M.rotation)])

    def residual_jacobian(self, q: np.ndarray, target: Any) -> np.ndarray:
        return self.residual_and_jacobian(q, target)[1]

    def residual_and_jacobian(self, q: np.ndarray, target: Any) -> tuple[np.ndarray, np.ndarray]:
        self.pin.computeJointJacobians(self.model, self.data, self.pinocchio.q(q))
        M = target.actInv(self.pin.updateFramePlacement(self.model, self.data, self.frame))
        J = self.pin.getFrameJacobian(self.model, self.data, self.frame, self.pin.LOCAL)
        left = np.concatenate([M.translation, self.pin.log3(M.rotation)])
        return left, np.vstack([M.rotation @ J[:3], self.pin.Jlog3(M.rotation) @ J[3:]])


def chain(text: str, base: str, tip: str) -> str:
    """The URDF of the chain between two links: its joints with placement, axis and limits."""
    root = ElementTree.fromstring(text)
    above = {joint.find("child").get("link"): joint for joint in root.findall("joint")}  # type: ignore[union-attr]
    joints: list[ElementTree.Element] = []
    link = tip
    while link != base:
        joints.insert(0, above[link])
        link = str(joints[0].find("parent").get("link"))  # type: ignore[union-attr]
    parts = [_link(base)]
    for joint in joints:
        weld = ElementTree.Element("joint", {key: str(joint.get(key)) for key in ("name", "type")})
        selected = (
            ("origin", "parent", "child", "axis", "limit")
            if joint.get("type") in MOVING
            else ("origin", "parent", "child")
        )
        weld.extend(part for name in selected if (part := joint.find(name)) is not None)
        parts += [ElementTree.tostring(weld, encoding="unicode").strip(), _link(str(joint.find("child").get("link")))]  # type: ignore[union-attr]
    return f'<robot name="{root.get("name")}">' + "\n".join(parts) + "</robot>"


def _link(name: str) -> str:
    return (
        f'<link name="{name}"><inertial><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _iiwa14() -> str:
    """Seven axes z, y, z, -y, z, y, z in a line, and the flange; heights in metres, limits in degrees."""
    axes = ("0 0 1", "0 1 0", "0 0 1", "0 -1 0", "0 0 1", "0 1 0", "0 0 1")
    heights, limits = (0.1575, 0.2025, 0.2045, 0.2155, 0.1845, 0.2155, 0.081), (170, 120, 170, 120, 170, 120, 175)
    parts = [_link("iiwa_link_0")]
    for k, (axis, height, limit) in enumerate(zip(axes, heights, limits, strict=True)):
        bound = math.radians(limit)
        parts.append(
            f'<joint name="iiwa_joint_{k + 1}" type="revolute"><parent link="iiwa_link_{k}"/>'
            f'<child link="iiwa_link_{k + 1}"/><origin xyz="0 0 {height}"/><axis xyz="{axis}"/>'
            f'<limit lower="{-bound!r}" upper="{bound!r}" effort="300" velocity="1.7"/></joint>'
        )
        parts.append(_link(f"iiwa_link_{k + 1}"))
    parts.append(
        '<joint name="iiwa_joint_ee" type="fixed"><parent link="iiwa_link_7"/><child link="iiwa_link_ee"/>'
        '<origin xyz="0 0 0.045"/></joint>'
    )
    return '<robot name="iiwa14">' + "\n".join([*parts, _link("iiwa_link_ee")]) + "</robot>"


def _named(arms: Sequence[Arm]) -> dict[str, Arm]:
    return {arm.name: arm for arm in arms}


ARMS = _named(
    (
        Arm("panda", "panda_description/urdf/panda.urdf", "panda_link0", "panda_hand"),
        Arm("iiwa14", "", "iiwa_link_0", "iiwa_link_ee", _iiwa14()),
        Arm("ur5", "ur_description/urdf/ur5_robot.urdf", "base_link", "ee_link"),
        Arm("kinova", "kinova_description/robots/kinova.urdf", "j2s6s200_link_base", "j2s6s200_end_effector"),
        Arm("baxter", "baxter_description/urdf/baxter.urdf", "torso", "left_gripper"),
        Arm("tiago", "tiago_description/robots/tiago.urdf", "torso_fixed_link", "arm_tool_link"),
        Arm("xarm7", "xarm_description/urdf/xarm7.urdf", "link_base", "link_eef"),
        Arm("arm6", "arm6", "base", "tool"),
        Arm("arm7", "arm7", "base", "hand"),
    )
)
_folder = tempfile.TemporaryDirectory(prefix="linkwork_ik_")
