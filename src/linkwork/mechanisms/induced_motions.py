"""Check of the results of constrained inverse dynamics: whether the actuators can induce a motion, and how it fails.

At a dead centre of a motion, the constraint Jacobian G loses rank, and forces have limits only.  The forces that a
motion requires are r = S τ + Gᵀ λ.  In all other states r is balanced if Tᵀ (r − S τ) = 0, with a basis T of the
velocities that G permits.  At a dead centre G permits more velocities than
beside it.  The velocities u that the motion itself can have there are limits of permitted velocities beside it.  With
the rate Ġ of G along the motion, they satisfy

    G u = 0,      wᵀ Ġ u = 0      for each w with wᵀ G = 0,

because d/dt (G u) = Ġ u + G u̇ = 0.  These u give the limit of τ.  The constraint forces λ have a limit only if
r − S τ is in the range of Gᵀ; otherwise they grow beyond all bounds beside the dead centre.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, TypeVar

import numpy as np

from linkwork._util.argument_errors import ABOUT_ARGUMENTS
from linkwork._util.checked_arguments import raise_named
from linkwork._util.user_frames import levels_up
from linkwork.errors import ConfigurationWarning, UnderactuatedError
from linkwork.kernels.array_arguments import stacked
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.model.function_spec import QUANTITIES

__all__ = ["can_be_induced"]

F = TypeVar("F", bound=Callable[..., Any])
_MISSING_TOL = {8: 1e-7, 4: 1e-2}  # by float size in bytes: largest missing force, relative to the acting forces
_RANK_TOL = 1e-9  # singular values below it, relative to the largest, count as zero
_NAMED_SHARE = 0.1  # components of a motion that a message names, relative to the largest
_FLAT = 1e-7  # singular values of G below this share of the largest one count as zero
_BALANCED = 1e-7  # of the required forces: largest remainder of a balance
_ROUNDING = 1e-13  # of the weight: smaller forces are rounding
_STEP = 1e-3  # [rad, characteristic lengths] step of differences of G, of fourth order
Array = np.ndarray[Any, Any]


def can_be_induced(method: F) -> F:
    """Return a method that raises UnderactuatedError if its third result, the missing joint forces, is not zero.

    At dead centres it returns the limits of the forces.  States of a batch in which motors or constraints lose rank,
    and in which there is no such limit, have NaN.
    """

    def checked(self: Any, q: Any, v: Any, a: Any, **more: Any) -> Any:
        try:
            result = method(self, q, v, a, **more)
        except ABOUT_ARGUMENTS as error:
            raise_named(error, method, (self, q, v, a), more)
            raise
        missing = result[2]
        if isinstance(missing, np.ndarray) and missing.dtype.kind == "f" and missing.size:
            acting = np.maximum(np.abs(result[0]).max(axis=-1), np.abs(missing).max(axis=-1))
            pulled = np.abs(result[1]).max(axis=-1, initial=0.0)
            failed = np.abs(missing).max(axis=-1) > _MISSING_TOL[missing.dtype.itemsize] * np.maximum(acting, pulled)
            if np.any(failed):
                _set_limits(method.__name__, self, (q, v, a), result, np.array(failed), more)
        return result

    return update_wrapper(checked, method)  # type: ignore[return-value]


def _set_limits(caller: str, robot: Any, state: Any, result: Any, failed: np.ndarray, options: dict[str, Any]) -> None:
    """Set the forces of failed states at dead centres, in place.  Raises UnderactuatedError for other failures."""
    tau, forces, missing = result
    failed &= (np.abs(missing) > _rounding_force(robot)).any(axis=-1)
    G = np.asarray(robot.constraint_jacobian(state[0], time=options.get("time")))
    required = tau + missing + (np.swapaxes(G, -1, -2) @ forces[..., None])[..., 0]
    names = ("q", "v", "a")
    whole = [
        np.broadcast_to(stacked(robot._subject, QUANTITIES[name], x) if isinstance(x, Mapping) else x, failed.shape + n)
        for name, x, n in zip(names, state, ((robot.nq,), (robot.nv,), (robot.nv,)), strict=True)
    ]
    for at in map(tuple, np.argwhere(failed)):
        q_failed, speed, change, load = (np.asarray(x[at], dtype=float) for x in (*whole, required))
        limit = _limit_at_dead_centre(robot, q_failed, speed, change, load, options)
        if limit is not None:
            tau[at], forces[at] = limit
            missing[at], failed[at] = 0.0, False
    if not failed.any():
        return
    ranks = _actuated_rank(robot, whole[0], options)
    if failed.all() or (failed & (ranks == ranks.max())).any():
        _raise_underactuated(caller, robot, state[0], missing, failed, options)
    for x in result:
        x[failed] = np.nan
    where = np.argwhere(failed)[0]
    warnings.warn(
        f"{caller}: the forces of {np.count_nonzero(failed)} states are NaN, the first is state "
        f"{int(where[0]) if len(where) == 1 else tuple(map(int, where))}: it is a dead centre, in which the actuators "
        f"cannot induce the motion",
        ConfigurationWarning,
        stacklevel=levels_up(),
    )


def _raise_underactuated(
    caller: str, robot: Any, q: Any, missing: np.ndarray, failed: np.ndarray, options: dict[str, Any]
) -> None:
    """Raise UnderactuatedError for the first state of the batch whose motion the actuators cannot induce."""
    names, actuators = robot.v_names, options.get("actuators")
    where = tuple(int(k) for k in np.argwhere(failed)[0])
    unmet = missing[where]
    rows = np.broadcast_to(
        robot.constraint_jacobian(q, time=options.get("time")), (*missing.shape[:-1], *_rows(robot, names))
    )[where]
    if actuators is None:
        acting = [body.joint_name for _, body in robot.tree.stacked() if body.joint.nv < 6]
    else:
        acting = [actuators] if isinstance(actuators, str) else list(actuators)
    units = np.eye(len(names))[robot.v_index(acting)] if acting else np.zeros((0, len(names)))
    _, values, motions = np.linalg.svd(np.vstack([rows, units]))
    rank = int(np.sum(values > _RANK_TOL * values[:1].max(initial=1e-300)))
    free = [motion for motion in motions[rank:] if abs(motion @ unmet) > 1e-6 * np.linalg.norm(unmet)]
    raise UnderactuatedError(
        tuple(acting), tuple(_motion_text(motion, names) for motion in free), where, float(np.abs(unmet).max()), caller
    )


def _rows(robot: Any, names: tuple[str, ...]) -> tuple[int, int]:
    return sum(len(constraint.component_names) for constraint in robot.constraints), len(names)


def _motion_text(motion: np.ndarray, names: tuple[str, ...]) -> str:
    """Return the names and values of a motion's main components, the largest first."""
    motion = motion / motion[np.argmax(np.abs(motion))]
    order = [int(k) for k in np.argsort(-np.abs(motion), kind="stable") if abs(motion[k]) > _NAMED_SHARE]
    return ", ".join(f"{names[k]} {motion[k]:.3g}" for k in order[:6]) + (", ..." if len(order) > 6 else "")


def _limit_at_dead_centre(
    robot: Any, q: Array, v: Array, a: Array, required: Array, options: Mapping[str, Any]
) -> tuple[Array, Array] | None:
    """Return the limits of the motor forces τ (nv) and of the constraint forces λ (nc) in one state.

    ``required`` (nv) are the forces M a + h, and ``options`` those of `Robot.constrained_inverse_dynamics`. λ is NaN
    if it has no limit. The result is None if v and a are both zero, if the constraints depend on time, or if the
    motors cannot induce the motion next to the dead centre either.
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
    acting = _acting(robot, options)
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


def _rounding_force(robot: Any) -> Array:
    """Return the joint forces (nv) [N·m, N] below which a force is a rounding error of the robot's weight."""
    tree = robot.tree
    mass = sum(float(body.inertia.mass) for body in tree.bodies)
    load = _ROUNDING * mass * float(np.linalg.norm(robot.gravity)) * characteristic_length(tree)
    return load / np.array(unit_steps(tree))


def _actuated_rank(robot: Any, q: Array, options: Mapping[str, Any]) -> Array:
    """Return the number of velocities (...) that constraints and motors determine at configurations q (..., nq)."""
    G = np.asarray(robot.constraint_jacobian(q, time=options.get("time")), dtype=float)
    acting = np.eye(robot.nv)[_acting(robot, options)]
    rows = np.concatenate([G, np.broadcast_to(acting, (*G.shape[:-2], *acting.shape))], axis=-2)
    sizes = np.linalg.svd(rows * np.array(unit_steps(robot.tree)), compute_uv=False)
    result: Array = np.count_nonzero(sizes > _FLAT * sizes.max(axis=-1, keepdims=True, initial=1e-300), axis=-1)
    return result


def _acting(robot: Any, options: Mapping[str, Any]) -> list[int]:
    """Return the indices of the actuated velocities."""
    from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import actuated_velocities

    return actuated_velocities(robot.tree, options.get("actuators"))
