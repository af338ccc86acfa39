"""MuJoCo's model of a robot, from its URDF or MJCF file, with conversions between the two conventions.

Of a URDF, links are read without shapes, so that no mesh file is opened, and stay bodies of their own with their own
inertias.  A free joint's configuration is (position, quaternion w x y z) there.  Its velocity is linear first, in the
world's axes, then angular in the body's own.  With v_there = T v, M is Tᵀ M_there T.
"""

from __future__ import annotations

import importlib
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.formats import registry
from linkwork.parts.comparison.library_model import CannotCompare, LibraryModel

__all__ = ["MuJoCoModel"]


class MuJoCoModel(LibraryModel):
    """MuJoCo's model of a robot, whose bodies have the names of the robot's links.  Raises CannotCompare."""

    def __init__(self, robot: Any) -> None:
        try:
            self.mujoco: Any = importlib.import_module("mujoco")
        except ImportError:
            raise CannotCompare("MuJoCo is not installed: pip install mujoco") from None
        self.title = f"MuJoCo {self.mujoco.__version__}"
        self.robot, mujoco = robot, self.mujoco
        path = self.source_of(robot, "urdf", "mjcf")
        try:
            self.model: Any = self._urdf(path) if registry.find_format(path).name == "urdf" else self._mjcf(path)
        except (ValueError, mujoco.FatalError) as error:
            raise CannotCompare(f"MuJoCo does not read this robot: {error}") from error
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.model.opt.gravity[:] = robot.gravity
        self.data: Any = mujoco.MjData(self.model)
        self.joints: list[tuple[Any, int]] = []  # our body, and the index of each of its joints there
        for body in robot.tree.bodies:
            there = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, body.name)
            if there < 0:
                raise CannotCompare(f"MuJoCo has no body {body.name!r}")
            first, count = int(self.model.body_jntadr[there]), int(self.model.body_jntnum[there])
            self.joints += [(body, first + k) for k in range(count)]
        if sum(body.joint.nv for body in robot.tree.bodies) != self.model.nv:
            raise CannotCompare("MuJoCo reads another number of joints")

    def _mjcf(self, path: Path) -> Any:
        return self.mujoco.MjModel.from_xml_path(str(path))

    def _urdf(self, path: Path) -> Any:
        xml = ET.fromstring(path.read_text(encoding="utf-8"))
        for link in xml.findall("link"):
            for shape in (*link.findall("visual"), *link.findall("collision")):
                link.remove(shape)
        for old in xml.findall("mujoco"):
            xml.remove(old)
        ET.SubElement(ET.SubElement(xml, "mujoco"), "compiler", fusestatic="false", balanceinertia="false")
        spec = self.mujoco.MjSpec.from_string(ET.tostring(xml, encoding="unicode"))
        if (
            self.robot.tree.bodies
            and self.robot.tree.bodies[0].joint.is_floating
            and not spec.worldbody.first_body().joints
        ):
            spec.worldbody.first_body().add_freejoint()
        return spec.compile()

    def poses(self, q: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        self._put(q)
        result = {}
        for name in names:
            there = self.mujoco.mj_name2id(self.model, self.mujoco.mjtObj.mjOBJ_BODY, name)
            if there >= 0:
                X = np.eye(4)
                X[:3, :3], X[:3, 3] = self.data.xmat[there].reshape(3, 3), self.data.xpos[there]
                result[name] = X
        return result

    def inertia_and_gravity(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        T = self._put(q)
        columns = np.zeros((self.model.nv, self.model.nv))
        for k, unit in enumerate(np.eye(self.model.nv)):
            self.mujoco.mj_mulM(self.model, self.data, columns[k], unit)
        M = columns - np.diag(self.model.dof_armature)
        return T.T @ M @ T, T.T @ self.data.qfrc_bias

    def _put(self, q: np.ndarray) -> np.ndarray:
        """Set a configuration at rest, and return T."""
        model, data, kinds = self.model, self.data, self.mujoco.mjtJoint
        tree = self.robot.tree
        T = np.zeros((model.nv, tree.nv))
        position: dict[str, tuple[int, int]] = {}  # next coordinate of each of our bodies
        slices = dict(
            zip((body.name for body in tree.bodies), zip(tree.q_slices, tree.v_slices, strict=True), strict=True)
        )
        for body, k in self.joints:
            of_q, of_v = slices[body.name]
            own = np.array(q[of_q] if body.coupling is None else body.coupling.q(q[of_q]), dtype=float)
            columns = np.arange(tree.nv)[of_v]
            at, rate = position.get(body.name, (0, 0))
            to_q, to_v = int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k])
            kind = model.jnt_type[k]
            if kind == kinds.mjJNT_FREE:
                data.qpos[to_q : to_q + 7] = own[[4, 5, 6, 0, 1, 2, 3]]
                T[np.ix_(range(to_v, to_v + 3), columns[3:])] = _rotation(own[:4])
                T[np.ix_(range(to_v + 3, to_v + 6), columns[:3])] = np.eye(3)
                used = 7, 6
            elif kind == kinds.mjJNT_BALL:
                data.qpos[to_q : to_q + 4] = own[at : at + 4]
                T[np.ix_(range(to_v, to_v + 3), columns[rate : rate + 3])] = np.eye(3)
                used = 4, 3
            else:
                has_sine = body.joint.nq == 2 and body.joint.nv == 1
                data.qpos[to_q] = np.arctan2(own[0], own[1]) if has_sine else own[at]
                T[to_v, columns[rate]] = body.ratio
                used = 2 if has_sine else 1, 1
            position[body.name] = at + used[0], rate + used[1]
        data.qvel[:] = 0.0
        self.mujoco.mj_forward(model, data)
        return T


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion (w, x, y, z)."""
    w, u = quaternion[0], quaternion[1:]
    cross = np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])
    return np.asarray(np.eye(3) + 2.0 * (w * cross + cross @ cross))
