"""Forces of motors at dead centres: states in which the constraint Jacobian G loses rank on the way of a motion.

The forces that a motion requires are r = S τ + Gᵀ λ.  In all other states r is balanced if Tᵀ (r − S τ) = 0, with a
basis T of the velocities that G permits.  In a dead centre G permits more of them than beside it.  Those that the
motion's branch permits are limits of the others.  Where G moves with the rate Ġ, they satisfy

    G u = 0,      wᵀ Ġ u = 0      for each w with wᵀ G = 0,

because d/dt (G u) = Ġ u + G u̇ = 0.  These u give the limit of τ.  The constraint forces λ have a limit only if
r − S τ is in the range of Gᵀ; otherwise they grow beyond all bounds beside the dead centre.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import actuated_velocities

__all__ = ["actuated_rank", "limit_at_dead_centre", "rounding_force"]

_FLAT = 1e-7  # singular values of G below this share of the largest one count as zero
_BALANCED = 1e-7  # of the required forces: largest remainder of a balance
_ROUNDING = 1e-13  # of the weight: smaller forces are rounding
_STEP = 1e-3  # [rad, characteristic lengths] step of differences of G, of fourth order

Array = np.ndarray[Any, Any]


def limit_at_dead_centre(
    robot: Any, q: Array, v: Array, a: Array, required: Array, options: Mapping[str, Any]
) -> tuple[Array, Array] | None:
    """Return the limits of the motor forces τ (nv) and of the constraint forces λ (nc) in one state.

    ``required`` (nv) are the forces M a + h, and ``options`` those of `Robot.constrained_inverse_dynamics`.  λ is NaN
    if it has no limit.  The result is None if the state has no motion that tells its branch, and if the motors cannot
    induce the motion beside it either.
    """
    units, timed = np.array(unit_steps(robot.tree)), {"time": options.get("time")}
    speed = v / units if (v / units).any() else a / units
    if not speed.any() or timed["time"] is not None:
        return None
    along = (_STEP / np.abs(speed).max()) * speed * units
    G, *beside = (robot.constraint_jacobian(robot.integrate(q, k * along)) * units for k in (0, -2, -1, 1, 2))
    rate = (beside[0] - 8.0 * beside[1] + 8.0 * beside[2] - beside[3]) / 12.0  # times a step, which has no effect
    left, sizes, right = np.linalg.svd(G)
    rank = int(np.count_nonzero(sizes > _FLAT * sizes.max(initial=1e-300)))
    bends = left[:, rank:].T @ rate @ right[rank:].T  # of the velocities that G permits
    _, bent, turned = np.linalg.svd(bends)
    free = int(np.count_nonzero(bent > _FLAT * np.abs(rate).max(initial=1e-300)))
    T = (turned[free:] @ right[rank:]).T  # orthonormal, of velocities v / units
    acting = actuated_velocities(robot.tree, options.get("actuators"))
    weights, loads = options.get("weights"), units * required
    needed, size = T.T @ loads, np.abs(loads).max()
    U, exerted, _ = np.linalg.svd(T[acting].T, full_matrices=False)
    reached = U[:, exerted > _FLAT]
    if np.abs(needed - reached @ (reached.T @ needed)).max(initial=0.0) > _BALANCED * size:
        return None
    root = units[acting] if weights is None else units[acting] / np.sqrt(np.broadcast_to(weights, loads.shape)[acting])
    tau = np.zeros_like(loads)
    tau[acting] = root * (np.linalg.pinv(T[acting].T * root, rcond=_FLAT) @ needed)
    constrained = loads - tau
    constraint_forces = np.linalg.pinv(G.T, rcond=_FLAT) @ constrained
    if np.abs(G.T @ constraint_forces - constrained).max() > _BALANCED * size:
        constraint_forces = np.full_like(constraint_forces, np.nan)
    return tau / units, constraint_forces


def rounding_force(robot: Any) -> Array:
    """Return the joint forces (nv) [N·m, N] that are rounding of the robot's weight."""
    tree = robot.tree
    mass = sum(float(body.inertia.mass) for body in tree.bodies)
    load = _ROUNDING * mass * float(np.linalg.norm(robot.gravity)) * characteristic_length(tree)
    return load / np.array(unit_steps(tree))


def actuated_rank(robot: Any, q: Array, options: Mapping[str, Any]) -> Array:
    """Return the number of velocities (...) that constraints and motors determine at configurations q (..., nq)."""
    G = np.asarray(robot.constraint_jacobian(q, time=options.get("time")), dtype=float)
    acting = np.eye(robot.nv)[actuated_velocities(robot.tree, options.get("actuators"))]
    rows = np.concatenate([G, np.broadcast_to(acting, (*G.shape[:-2], *acting.shape))], axis=-2)
    sizes = np.linalg.svd(rows * np.array(unit_steps(robot.tree)), compute_uv=False)
    result: Array = np.count_nonzero(sizes > _FLAT * sizes.max(axis=-1, keepdims=True, initial=1e-300), axis=-1)
    return result
