"""Maps between the coordinates of a robot and those of the MuJoCo model from which it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import finite_array
from linkwork.formats.mjcf.compiled_model import CompiledModel, imported_mujoco
from linkwork.joints import Floating
from linkwork.model import Tree

__all__ = ["MujocoCoordinates"]


@dataclass(frozen=True, slots=True)
class _Joint:
    """Joint of the MuJoCo model that the robot has too: slices of its coordinates in the model and in the robot."""

    qpos: slice
    qvel: slice
    q: slice
    v: slice
    floating: bool
    follows: bool  # another joint, whose coordinates are in q
    ratio: float  # of its coordinate to that in q
    offset: float


@public
class MujocoCoordinates:
    """Maps between q, v and controls of a robot, and qpos, qvel and ctrl of its MuJoCo model.

    The order of joints can differ: MuJoCo's is depth-first. Hinges, slides and ball joints have equal coordinates. A
    free joint has (position, quaternion) in qpos and (quaternion, position) in q. Its qvel is (velocity of the origin
    in the world's axes, angular velocity in the body's axes), and its v is (angular velocity; velocity of the origin),
    both in the body's axes. Joints that the robot does not have, such as a base that was fixed or a joint that was
    locked, keep their qpos0.

    All functions accept leading axes. Raises TypeError for a model that is not a `mujoco.MjModel`, and ValueError for
    arrays of another shape.

    >>> import mujoco  # doctest: +SKIP
    >>> model = mujoco.MjModel.from_xml_path("arm.xml")  # doctest: +SKIP
    >>> robot = lw.Robot.from_mujoco(model)  # doctest: +SKIP
    >>> maps = lw.formats.MujocoCoordinates(robot, model)  # doctest: +SKIP
    >>> q = maps.q(data.qpos)  # doctest: +SKIP
    """

    def __init__(self, robot: Any, model: Any) -> None:
        mujoco = imported_mujoco("MujocoCoordinates")
        if not isinstance(model, mujoco.MjModel):
            raise TypeError(f"MujocoCoordinates: model: expected a mujoco.MjModel, got {type(model).__name__}")
        tree: Tree = robot if isinstance(robot, Tree) else robot.tree
        source = CompiledModel(model)
        self._nq, self._nv, self._nu = tree.nq, tree.nv, len(tree.actuators)
        self._qpos0 = np.array(model.qpos0)
        self._sizes = model.nq, model.nv, model.nu
        self._neutral = np.array([x for _, body in tree.stacked() for x in body.joint.zero()])
        self._joints = tuple(_joints(source, tree))
        index = {actuator.name: k for k, actuator in enumerate(tree.actuators)}
        addresses = source.array("actuator_ctrladr", [*range(model.nu)])
        names = source.own_names("actuator", len(addresses))
        pairs = [(at, index[name]) for at, name in zip(addresses, names, strict=True) if name in index]
        self._ctrl, self._controls = (np.array([pair[k] for pair in pairs], dtype=int) for k in (0, 1))

    def q(self, qpos: ArrayLike) -> np.ndarray:
        """Return the robot's q (..., nq) from the model's qpos."""
        values = self._read("q", "qpos", qpos, self._sizes[0])
        result = np.empty((*values.shape[:-1], self._nq))
        result[...] = self._neutral
        for joint in self._joints:
            joint_values = values[..., joint.qpos]
            if joint.floating:
                result[..., joint.q] = np.concatenate([joint_values[..., 3:], joint_values[..., :3]], axis=-1)
            elif not joint.follows:
                result[..., joint.q] = joint_values
        return result

    def qpos(self, q: ArrayLike) -> np.ndarray:
        """Return the model's qpos from the robot's q (..., nq)."""
        values = self._read("qpos", "q", q, self._nq)
        result = np.empty((*values.shape[:-1], self._sizes[0]))
        result[...] = self._qpos0
        for joint in self._joints:
            joint_values = values[..., joint.q]
            if joint.floating:
                result[..., joint.qpos] = np.concatenate([joint_values[..., 4:], joint_values[..., :4]], axis=-1)
            elif joint.follows:
                result[..., joint.qpos] = joint.ratio * joint_values + joint.offset
            else:
                result[..., joint.qpos] = joint_values
        return result

    def velocity_map(self, q: ArrayLike) -> np.ndarray:
        """Return the matrix T (..., model.nv, nv) with qvel = T v, at the robot's q.

        Joint forces of the model are mapped by its transpose: τ = Tᵀ qfrc.
        """
        values = self._read("velocity_map", "q", q, self._nq)
        result = np.zeros((*values.shape[:-1], self._sizes[1], self._nv))
        for joint in self._joints:
            block = result[..., joint.qvel, joint.v]
            if joint.floating:
                block[..., 0:3, 3:6] = _rotations(values[..., joint.q][..., :4])
                block[..., 3:6, 0:3] = np.eye(3)
            else:
                block[...] = joint.ratio * np.eye(joint.v.stop - joint.v.start)
        return result

    def velocity_map_rate(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return Ṫ (..., model.nv, nv), the rate of `velocity_map` at velocity v: q̈vel = T v̇ + Ṫ v."""
        values, rates = (
            self._read("velocity_map_rate", "q", q, self._nq),
            self._read("velocity_map_rate", "v", v, self._nv),
        )
        result = np.zeros((*np.broadcast_shapes(values.shape[:-1], rates.shape[:-1]), self._sizes[1], self._nv))
        for joint in self._joints:
            if joint.floating:
                R, w = _rotations(values[..., joint.q][..., :4]), rates[..., joint.v][..., :3]
                result[..., joint.qvel, joint.v][..., 0:3, 3:6] = R @ _cross(w)
        return result

    def v(self, qpos: ArrayLike, qvel: ArrayLike) -> np.ndarray:
        """Return the robot's v (..., nv) from the model's qpos and qvel."""
        configuration, rates = self.q(qpos), self._read("v", "qvel", qvel, self._sizes[1])
        result = np.zeros((*np.broadcast_shapes(configuration.shape[:-1], rates.shape[:-1]), self._nv))
        for joint in self._joints:
            joint_rates = rates[..., joint.qvel]
            if joint.floating:
                R = _rotations(configuration[..., joint.q][..., :4])
                linear = np.einsum("...ji,...j->...i", R, joint_rates[..., :3])
                result[..., joint.v] = np.concatenate(
                    [np.broadcast_to(joint_rates[..., 3:], linear.shape), linear], axis=-1
                )
            elif not joint.follows:
                result[..., joint.v] = joint_rates
        return result

    def qvel(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the model's qvel from the robot's q and v."""
        rates = self._read("qvel", "v", v, self._nv)
        return np.asarray((self.velocity_map(q) @ rates[..., None])[..., 0])

    def controls(self, ctrl: ArrayLike) -> np.ndarray:
        """Return the controls of the robot's actuators, in their order, from the model's ctrl."""
        values = self._read("controls", "ctrl", ctrl, self._sizes[2])
        result = np.zeros((*values.shape[:-1], self._nu))
        result[..., self._controls] = values[..., self._ctrl]
        return result

    def ctrl(self, controls: ArrayLike) -> np.ndarray:
        """Return the model's ctrl, with zeros for actuators that the robot does not have."""
        values = self._read("ctrl", "controls", controls, self._nu)
        result = np.zeros((*values.shape[:-1], self._sizes[2]))
        result[..., self._ctrl] = values[..., self._controls]
        return result

    def _read(self, function: str, name: str, value: ArrayLike, count: int) -> np.ndarray:
        return finite_array(f"MujocoCoordinates.{function}", name, value, shape=("...", count))


def _joints(source: CompiledModel, tree: Tree) -> list[_Joint]:
    result = []
    starts, dofs = source.array("jnt_qposadr"), source.array("jnt_dofadr")
    moving = {body.joint_name for body in tree.bodies}
    for j, name in enumerate(source.joints):
        if name not in moving:
            continue
        i = tree.joint_index(name)
        body = tree.bodies[i]
        coupling = body.coupling
        ratio, offset = (1.0, 0.0) if coupling is None else (coupling.ratio, coupling.offset)
        qpos, qvel = (slice(x[j], x[j] + n) for x, n in ((starts, body.joint.nq), (dofs, body.joint.nv)))
        is_floating, follows = isinstance(body.joint, Floating), coupling is not None
        result.append(_Joint(qpos, qvel, tree.q_slices[i], tree.v_slices[i], is_floating, follows, ratio, offset))
    return result


def _rotations(quaternions: np.ndarray) -> np.ndarray:
    """Return rotation matrices (..., 3, 3) of unit quaternions (..., 4), scalar first."""
    w, x, y, z = np.moveaxis(quaternions, -1, 0)
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _cross(w: np.ndarray) -> np.ndarray:
    """Return the skew-symmetric matrices (..., 3, 3) of vectors (..., 3): S(w) x = w × x."""
    x, y, z = np.moveaxis(w, -1, 0)
    zero = np.zeros_like(x)
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
