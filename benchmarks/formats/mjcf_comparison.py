"""A robot read from a MuJoCo model, compared with MuJoCo at random states.

All functions are evaluated on NumPy arrays, a batch of states at once, without compilation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

from linkwork.constraints import Ball, Constraint, Weld
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.dynamics.algorithms.momentum.center_of_mass import center_of_mass
from linkwork.dynamics.algorithms.passive_joint_forces import passive_force
from linkwork.formats import MujocoCoordinates
from linkwork.formats.mjcf.compiled_model import CompiledModel
from linkwork.kinematics.algorithms.forward_kinematics import pose
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState
from linkwork.model.tree import Tree

__all__ = ["deviations", "random_states"]

Arrays = dict[str, np.ndarray]


def random_states(model: Any, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random qpos and qvel: coordinates around qpos0, rotations uniform, free bodies within the model's extent."""
    rng = np.random.default_rng(seed)
    qpos = model.qpos0 + rng.normal(size=(count, model.nq)) * 0.7
    for at in model.jnt_qposadr[model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)]:
        qpos[:, at : at + 3] *= min(1.0, model.stat.extent)
    for kind, at in zip(model.jnt_type, model.jnt_qposadr, strict=True):
        turn = {
            int(mujoco.mjtJoint.mjJNT_FREE): slice(at + 3, at + 7),
            int(mujoco.mjtJoint.mjJNT_BALL): slice(at, at + 4),
        }
        if int(kind) in turn:
            x = rng.normal(size=(count, 4))
            qpos[:, turn[int(kind)]] = x / np.linalg.norm(x, axis=1, keepdims=True)
    return qpos, rng.normal(size=(count, model.nv))


def deviations(tree: Tree, model: Any, count: int = 10, seed: int = 0) -> dict[str, float]:
    """The largest relative deviation of each quantity from MuJoCo's, over random states.

    Elements of the mass matrix are relative to √(M_ii M_jj) but at least a millionth of the largest one, forces to the
    largest force of the state but at least a thousandth of the weight, lengths to the largest distance from the world's
    origin but at least 1 m.
    """
    maps = MujocoCoordinates(tree, model)
    qpos, qvel = random_states(model, count, seed)
    q, v = maps.q(qpos), maps.v(qpos, qvel)
    qpos, qvel = maps.qpos(q), maps.qvel(q, v)
    theirs = _theirs(model, qpos, qvel)
    T, T_rate = maps.velocity_map(q), maps.velocity_map_rate(q, v)
    across = np.swapaxes(T, -1, -2)
    rows, rates = [*np.moveaxis(q, -1, 0)], [*np.moveaxis(v, -1, 0)]
    result: dict[str, float] = {}
    if tree.nv:
        M = _array(mass_matrix(tree, rows, passive=True), count)
        scale = np.sqrt(np.einsum("kii->ki", M))
        scale = np.maximum(scale[:, :, None] * scale[:, None, :], 1e-6 * np.abs(M).max(axis=(1, 2), keepdims=True))
        result["M"] = _most((M - across @ theirs["M"] @ T) / np.where(scale > 0.0, scale, 1.0))
        force = theirs["bias"] + (theirs["M"] @ (T_rate @ v[..., None]))[..., 0]
        least = 1e-3 * model.body_subtreemass[0] * max(1.0, float(np.linalg.norm(model.opt.gravity)))
        ours = _array(bias_force(tree, rows, rates), count)
        result["bias"] = _relative(ours, (across @ force[..., None])[..., 0], least)
        smooth = replace(tree, bodies=tuple(replace(body, friction=(0.0,) * body.joint.nv) for body in tree.bodies))
        passive = (across @ theirs["passive"][..., None])[..., 0]
        result["passive"] = _relative(_array(passive_force(smooth, rows, rates), count), passive, least)
    source = CompiledModel(model)
    far = np.maximum(np.abs(theirs["position"]).max(axis=(1, 2)), 1.0)
    positions, turns = [], []
    for i, name in enumerate(source.bodies[1:], start=1):
        X = pose(tree, rows, name)
        positions.append(_most((_array([*X.translation], count) - theirs["position"][:, i]) / far[:, None]))
        turns.append(_most(_array(X.rotation.rows(), count) - theirs["rotation"][:, i]))
    result["position"], result["rotation"] = max(positions, default=0.0), max(turns, default=0.0)
    if tree.bodies and tree.mass:
        mujoco_mass = model.body_subtreemass[0]
        result["mass"] = abs(tree.mass - mujoco_mass) / mujoco_mass
        result["center"] = _most((_array(center_of_mass(tree, rows), count) - theirs["center"]) / far[:, None])
    result["equality"] = _equalities(tree, model, source, q, theirs, far)
    return result


def _theirs(model: Any, qpos: np.ndarray, qvel: np.ndarray) -> Arrays:
    """MuJoCo's values in each state."""
    data, off = mujoco.MjData(model), model.opt.disableflags
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    collected: dict[str, list[np.ndarray]] = {}
    for q, v in zip(qpos, qvel, strict=True):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        M = np.zeros((model.nv, model.nv))
        if model.nv:
            _full_mass_matrix(model, data, M)
        rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        values = {
            "M": M,
            "bias": data.qfrc_bias,
            "passive": data.qfrc_spring + data.qfrc_damper,
            "position": data.xpos,
            "rotation": data.xmat.reshape(-1, 3, 3),
            "quaternion": data.xquat,
            "center": data.subtree_com[0],
            "equality": data.efc_pos[rows],
            "owner": data.efc_id[rows],
        }
        for name, value in values.items():
            collected.setdefault(name, []).append(np.array(value))
    model.opt.disableflags = off
    return {name: np.stack(values) for name, values in collected.items()}


def _full_mass_matrix(model: Any, data: Any, M: np.ndarray) -> None:
    try:
        mujoco.mj_fullM(model, data, M)
    except TypeError:  # before MuJoCo 4
        mujoco.mj_fullM(model, M, data.qM)


def _equalities(tree: Tree, model: Any, source: CompiledModel, q: np.ndarray, theirs: Arrays, far: np.ndarray) -> float:
    """Largest deviation of the residuals of constraints from those of MuJoCo."""
    rows, count = [*np.moveaxis(q, -1, 0)], len(q)
    state = KinematicState(tree, rows, None, 0.0)
    constraints = {constraint.name: constraint for constraint in tree.constraints}
    worst = 0.0
    for i in range(model.neq):
        constraint = constraints.get(source.name_in_model("equality", i) or f"equality{i}")
        own_rows = np.nonzero(theirs["owner"][0] == i)[0] if theirs["owner"].size else []
        if constraint is None or not len(own_rows):
            continue
        residual = _as_mujoco(constraint, model, i, state, theirs, count)
        worst = max(worst, _most((residual - theirs["equality"][:, own_rows]) / far[:, None]))
    return worst


def _as_mujoco(
    constraint: Constraint, model: Any, i: int, state: KinematicState, theirs: Arrays, count: int
) -> np.ndarray:
    """The residual of a constraint in the form of MuJoCo's."""
    error = _array(constraint.error(state), count)
    if isinstance(constraint, Ball):  # in the axes of b
        return np.einsum("kij,kj->ki", _array(state.pose(constraint.b).rotation.rows(), count), error)
    if not isinstance(constraint, Weld):
        return error
    first, second, data = model.eq_obj1id[i], model.eq_obj2id[i], model.eq_data[i]
    X_1, X_2 = (state.pose(name) for name in (constraint.other, constraint.frame))
    R_1, R_12 = (_array(R.rows(), count) for R in (X_1.rotation, (X_1.inv() @ X_2).rotation))
    R = np.array(constraint.pose.rotation.rows())
    anchor = data[0:3] if model.eq_objtype[i] == int(mujoco.mjtObj.mjOBJ_BODY) else np.zeros(3)
    apart = np.einsum("kij,kj->ki", R_12, error[:, 3:]) + (R_12 - R) @ anchor
    angle = np.linalg.norm(error[:, :3], axis=1)
    turn = -error[:, :3] * np.where(angle > 0.0, np.sin(0.5 * angle) / np.where(angle > 0.0, angle, 1.0), 0.5)[:, None]
    sign = np.array([_sign(model, first, second, data, i, quaternions) for quaternions in theirs["quaternion"]])
    return np.concatenate([-np.einsum("kij,kj->ki", R_1, apart), data[10] * sign[:, None] * turn], axis=1)


def _sign(model: Any, first: int, second: int, data: np.ndarray, i: int, quaternions: np.ndarray) -> float:
    """Sign of the scalar part of MuJoCo's quaternion between the two sides of a weld."""
    local = np.zeros((2, 4))
    bodies = [first, second]
    local[0], local[1] = data[6:10], (1.0, 0.0, 0.0, 0.0)
    if model.eq_objtype[i] != int(mujoco.mjtObj.mjOBJ_BODY):
        local[:] = model.site_quat[[first, second]]
        bodies = [*model.site_bodyid[[first, second]]]
    sides = np.zeros((2, 4))
    for k in range(2):
        mujoco.mju_mulQuat(sides[k], quaternions[bodies[k]], local[k])
    inverse, between = np.zeros(4), np.zeros(4)
    mujoco.mju_negQuat(inverse, sides[1])
    mujoco.mju_mulQuat(between, inverse, sides[0])
    return -1.0 if between[0] < 0.0 else 1.0


def _array(values: Any, count: int) -> np.ndarray:
    """Nested lists of numbers and arrays (count,) as an array (count, ...)."""
    if isinstance(values, (list, tuple)):
        return np.stack([_array(x, count) for x in values], axis=1) if values else np.zeros((count, 0))
    return np.broadcast_to(np.asarray(values, dtype=float), (count,))


def _most(values: np.ndarray) -> float:
    return float(np.abs(values).max()) if values.size else 0.0


def _relative(ours: np.ndarray, theirs: np.ndarray, least: float) -> float:
    return _most((ours - theirs) / np.maximum(np.abs(theirs).max(axis=1, keepdims=True), max(least, 1e-300)))
