"""Warnings of joints and bodies that rotate too far in a step for the method of a simulation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork.errors import SimulationWarning
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.model.tree import Tree
from linkwork.simulation.algorithms import METHODS
from linkwork.simulation.algorithms.free_body import FreeBody, free_bodies
from linkwork.simulation.algorithms.inertial_forces import has_free_rotation, rotates_freely

__all__ = ["warn_of_fast_turns"]

_TURN, _FINE = 0.3, 0.1  # [rad] rotation in a step: reported, and with an energy error of some 1e-3
_BALANCED = 1e-6  # relative change of the mass matrix by a rotation, below which a rotor counts as balanced
_PRINCIPAL = 1e-2  # [rad] angle of momentum and angular velocity of a body that spins about a principal axis
_ENVIRONMENTS = 16  # the fastest ones, which are examined one by one


@lru_cache(64)
def _rotations(tree: Tree) -> tuple[np.ndarray, tuple[FreeBody, ...]]:
    """Return the mask (nv,) of velocities that are rotations, and the floating bodies."""
    rotates = [unit == "rad/s" for _, body in tree.stacked() for unit in body.joint.v_units]
    return np.array(rotates), tuple(free_bodies(tree))


def warn_of_fast_turns(robot: Any, method: str, h: float, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Warn of the joint that is first to rotate too far for the method in a step of h [s].

    Records are q (..., n, nq) and v (..., n, nv) at times t (n,).  Joints that limits bound are expected to be slow, so
    only larger rotations of them count.  Single free bodies may spin about a principal axis by any angle.
    """
    loops = any(constraint.holonomic for constraint in robot.tree.constraints)
    if not v.size or not (loops or METHODS[method].damped_within):
        return
    rotates, flying = _rotations(robot.tree)
    flying = () if loops or METHODS[method].as_mujoco else flying
    alone = {body.joint_slice.name for body in flying if body.inertia is not None}
    turned = np.where(rotates, np.abs(v) * h, 0.0)
    if not turned.max() > _FINE:
        return
    if loops:
        most, problem = _TURN, "for the constraints"
    elif METHODS[method].as_mujoco or not rotates_freely(robot.tree):
        most, problem = _FINE, "for inertial forces of the step's start, which add energy"
        turned = turned * _at_fastest(_has_inertial_forces, robot, q, v, turned)
    else:
        most, problem = _TURN, "for a body that is not balanced about its axis"
        turned = turned * _at_fastest(_gains_energy, robot, q, v, turned)

    for body in flying:  # their momentum is exact, also that of a spin about a principal axis
        if body.inertia is not None:
            spin = v[..., body.joint_slice.v : body.joint_slice.v + 3]
            turned[..., body.joint_slice.v : body.joint_slice.v + 3] = h * np.abs(spin) * _tumbles(body.inertia, spin)
    free = [
        loops or (has_free_rotation(body) and body.joint_name not in alone)
        for _, body in robot.tree.stacked()
        for _ in body.joint.v_units
    ]
    beyond = turned > np.where(free, most, _TURN)
    if not beyond.any():
        return
    k = int(np.argmax(beyond.any(axis=tuple(axis for axis in range(beyond.ndim) if axis != beyond.ndim - 2))))
    first = np.where(beyond[..., k, :], turned[..., k, :], 0.0)
    *where, joint = (int(x) for x in np.unravel_index(int(np.argmax(first)), first.shape))
    index = (*where, k, joint)
    entry = f" in environment {', '.join(map(str, where))}" if where else ""
    advice = "" if loops else ", or method='variational'"
    tumbling = any(
        body.joint_slice.v <= index[-1] < body.joint_slice.v + 6 for body in flying if body.inertia is not None
    )
    problem = "for a body that tumbles" if tumbling else problem
    warnings.warn(
        f"simulate: dt: {robot.v_names[index[-1]]!r} rotates by {turned[index]:.2g} rad in a step of {h:g} s at "
        f"{t[index[-2]]:g} s{entry}, too far {problem}; use a step of {h * _FINE / turned[index]:.2g} s{advice}",
        SimulationWarning,
        stacklevel=levels_up(),
    )


def _tumbles(inertia: Any, spin: np.ndarray) -> np.ndarray:
    """Return True for angular velocities (..., 3) that are not about a principal axis of a body (..., 1)."""
    about = inertia.shifted(inertia.moment * (-1.0 / inertia.mass)).about
    momentum = spin @ np.array([[*row] for row in (about.x, about.y, about.z)], dtype=float)
    turning = np.linalg.norm(np.cross(spin, momentum), axis=-1, keepdims=True)
    sizes = (np.linalg.norm(x, axis=-1, keepdims=True) for x in (spin, momentum))
    return np.asarray(turning > _PRINCIPAL * math.prod(sizes))


def _at_fastest(check: Callable[..., Any], robot: Any, q: np.ndarray, v: np.ndarray, turned: np.ndarray) -> np.ndarray:
    """Return the flags of ``check`` (..., 1, nv) at the first fast record of the fastest environments.

    All other environments get the union of these flags.
    """
    far = turned.max(axis=-1).reshape(-1, turned.shape[-2])
    k = np.argmax(np.where(far.max(axis=-1, keepdims=True) > _TURN, far > _TURN, far), axis=-1)
    fastest = np.argsort(-far.max(axis=-1), kind="stable")[:_ENVIRONMENTS]
    Q, V = (x.reshape(*far.shape, x.shape[-1]) for x in (q, v))
    flags = np.array([np.broadcast_to(check(robot, Q[i, k[i]], V[i, k[i]]), V.shape[-1]) for i in fastest])
    result = np.tile(flags.any(axis=0), (len(far), 1))
    result[fastest] = flags
    return np.asarray(result.reshape(*turned.shape[:-2], 1, turned.shape[-1]))


def _gains_energy(robot: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return True for each velocity (nv) along which a rotation in a step changes the energy."""
    return np.asarray(_is_unbalanced(robot, q, v) | _are_tumbling(robot, q, v))


def _has_inertial_forces(robot: Any, q: np.ndarray, v: np.ndarray) -> bool:
    """Return True if inertial forces at q change with v; those of a body that turns about a fixed axis do not."""
    change, units = robot.inverse_dynamics_derivatives(q, v, np.zeros_like(v))[1], np.array(unit_steps(robot.tree))
    changes, M = (np.abs(x * np.outer(units, units)).max() for x in (change, robot.mass_matrix(q)))
    return bool(changes > _BALANCED * M * np.abs(v / units).max())


def _is_unbalanced(robot: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return True for each velocity (nv) along which the momentum M v changes with q."""
    units = np.array(unit_steps(robot.tree))
    moved = robot.integrate(np.tile(q, (robot.nv, 1)), np.diag(units))
    before, after = (robot.mass_matrix(x) * np.outer(units, units) for x in (q, moved))
    changes = np.abs((after - before) @ (v / units)).max(axis=-1)
    result: np.ndarray = changes > _BALANCED * np.abs(before).max() * np.abs(v / units).max()
    return result


def _are_tumbling(robot: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return True for each velocity (nv) that rotates the carried bodies about no principal axis."""
    units = [unit == "rad/s" for _, body in robot.tree.stacked() for unit in body.joint.v_units]
    owner = [k for k, (_, body) in enumerate(robot.tree.stacked()) for _ in body.joint.v_units]
    of_joint = np.equal.outer(np.unique(owner), owner) & units
    spin = np.where(of_joint, v, 0.0)
    turning = robot.inverse_dynamics(q, spin, np.zeros_like(spin), gravity=np.zeros(3))
    sizes = [np.linalg.norm(np.where(of_joint, x, 0.0), axis=-1) for x in (turning, spin, spin @ robot.mass_matrix(q))]
    return np.asarray((sizes[0] > _PRINCIPAL * sizes[1] * sizes[2]) @ of_joint)
