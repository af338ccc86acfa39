"""MuJoCo's model of a robot, from its URDF or MJCF file, with conversions between the two conventions.

A URDF is read without shapes, so that no mesh file is opened.  Each of its links stays a separate body.  With v_there =
T v, M is Tᵀ M_there T.
"""

from __future__ import annotations

import importlib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.compare.library_model import CannotCompare, LibraryModel
from linkwork.formats import find_format
from linkwork.formats.description import FLOATING_BASE
from linkwork.model import Tree

__all__ = ["MuJoCoModel"]


class MuJoCoModel(LibraryModel):
    """MuJoCo's model of a robot, with links and joints of the robot's names.  Raises CannotCompare."""

    def __init__(self, robot: Any) -> None:
        try:
            self.mujoco: Any = importlib.import_module("mujoco")
        except ImportError:
            raise CannotCompare("MuJoCo is not installed: pip install mujoco") from None
        self.title = f"MuJoCo {self.mujoco.__version__}"
        path, tree = self.source_of(robot, "urdf", "mjcf"), robot.tree
        read = _read_urdf if find_format(path).name == "urdf" else _read_mjcf
        self.model: Any = _quietly(self.mujoco, lambda: read(self.mujoco, path, tree))
        if any(body.joint.nq != body.joint.nv and body.joint.nv < 3 for body in tree.bodies):
            raise CannotCompare("a joint with sine and cosine as its coordinates; load the robot with angles")
        from linkwork.formats.mjcf.compiled_model import CompiledModel
        from linkwork.formats.mjcf.coordinates import MujocoCoordinates

        names = CompiledModel(self.model)
        known = {*names.joints}
        missing = [body.joint_name for body in tree.bodies if body.joint_name not in known]
        if missing:
            raise CannotCompare(f"MuJoCo has no joint {missing[0]!r}")
        self.bodies = {name: i for i, name in enumerate(names.bodies)}
        self.coordinates = MujocoCoordinates(tree, self.model)
        disabled = self.mujoco.mjtDisableBit
        self.model.opt.disableflags |= disabled.mjDSBL_CONSTRAINT | disabled.mjDSBL_CONTACT | disabled.mjDSBL_ACTUATION
        self.model.opt.gravity[:] = robot.gravity
        self.data: Any = self.mujoco.MjData(self.model)

    def poses(self, q: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        self._put(q)
        result = {}
        for name in names:
            if name in self.bodies:
                X, i = np.eye(4), self.bodies[name]
                X[:3, :3], X[:3, 3] = self.data.xmat[i].reshape(3, 3), self.data.xpos[i]
                result[name] = X
        return result

    def inertia_and_gravity(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._put(q)
        T = self.coordinates.velocity_map(q)
        columns = np.zeros((self.model.nv, self.model.nv))
        for k, unit in enumerate(np.eye(self.model.nv)):
            self.mujoco.mj_mulM(self.model, self.data, columns[k], unit)
        return T.T @ (columns - np.diag(self.model.dof_armature)) @ T, T.T @ self.data.qfrc_bias

    def _put(self, q: np.ndarray) -> None:
        self.data.qpos[:] = self.coordinates.qpos(q)
        self.data.qvel[:] = 0.0
        self.mujoco.mj_forward(self.model, self.data)


def _read_mjcf(mujoco: Any, path: Path, tree: Tree) -> Any:
    """Return MuJoCo's model of an MJCF file."""
    return mujoco.MjModel.from_xml_path(str(path))


def _read_urdf(mujoco: Any, path: Path, tree: Tree) -> Any:
    """Return MuJoCo's model of a URDF file, without shapes and with a floating base if the robot has one."""
    xml = ET.fromstring(path.read_text(encoding="utf-8"))
    for link in xml.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for old in xml.findall("mujoco"):
        xml.remove(old)
    ET.SubElement(ET.SubElement(xml, "mujoco"), "compiler", fusestatic="false", balanceinertia="false")
    spec = mujoco.MjSpec.from_string(ET.tostring(xml, encoding="unicode"))
    if any(body.joint_name == FLOATING_BASE for body in tree.bodies):
        spec.worldbody.first_body().add_freejoint(name=FLOATING_BASE)
    return spec.compile()


def _quietly(mujoco: Any, read: Callable[[], Any]) -> Any:
    """Return the result of ``read()``, and discard warnings of MuJoCo, which would be written to a file.

    Raises CannotCompare.
    """
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        return read()
    except (ValueError, mujoco.FatalError) as error:
        raise CannotCompare(f"MuJoCo does not read this robot: {error}") from error
    finally:
        mujoco.set_mju_user_warning(before)
