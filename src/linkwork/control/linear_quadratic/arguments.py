"""Arguments of regulators and controllers: actuators, costs, effort limits, states and times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np

from linkwork._util.validation import finite_array, number
from linkwork.errors import UnknownNameError
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_arguments import by_joint, stacked_by_joint
from linkwork.kernels.robot_base import RobotBase
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import actuated_velocities

__all__ = [
    "actuated_forces",
    "actuated_indices",
    "actuated_joints",
    "check_missing_forces",
    "cost_matrix",
    "read_deviation",
    "read_effort_limits",
    "read_seconds",
    "read_semidefinite",
    "read_state_values",
    "state_cost",
]

_ZERO_FORCE = 1e-7  # relative to the largest force
_TILT = 1e-5  # [rad, characteristic lengths] accuracy of computed equilibria: their forces on the weight count as zero


def actuated_indices(caller: str, robot: Any, actuators: str | Iterable[str] | None) -> np.ndarray:
    """Return the indices in τ of the actuated joints.

    None means all joints except those of six degrees of freedom and those that follow others.
    """
    if not isinstance(robot, RobotBase):
        raise TypeError(f"{caller}: robot: expected a robot, as lw.load returns it, got {robot!r}")
    robot = cast(Any, robot)
    if actuators is None:
        result = np.array(actuated_velocities(robot.tree, None), dtype=int)
    else:
        result = _named_velocities(caller, robot, [actuators] if isinstance(actuators, str) else actuators)
    if not len(result):
        raise ValueError(f"{caller}: actuators: expected at least one joint, got none")
    return np.sort(result)


def _named_velocities(caller: str, robot: Any, actuators: Iterable[str]) -> np.ndarray:
    """Return the indices in v of joints by name.  The error for a motor names its joints."""
    try:
        return np.asarray(robot.v_index(actuators))
    except UnknownNameError as error:
        for motor in robot.actuators:
            if motor.name == error.name and motor.joints:
                joints = ", ".join(repr(joint) for joint, _ in motor.joints)
                raise UnknownNameError(
                    "joint", error.name, error.known, f"it is a motor; name its joint: {joints}", f"{caller}: actuators"
                ) from None
        raise


def actuated_joints(caller: str, robot: Any, acting: np.ndarray) -> list[str]:
    """Return the names of the joints with these indices of v.  Raises ValueError if a joint is selected in part."""
    names, left = [], set(acting.tolist())
    for i, body in robot.tree.stacked():
        indices = set(range(robot.nv)[robot.tree.v_slices[i]])
        if indices and indices <= left:
            names.append(body.joint_name)
            left -= indices
    if left:
        name = robot.v_names[min(left)]
        raise ValueError(f"{caller}: actuators: {name!r} is one of several velocities of a joint: name the whole joint")
    return names


def cost_matrix(caller: str, name: str, value: Any, n: int, further_forms: str = "") -> np.ndarray:
    """Return a cost matrix (..., n, n) from a number, the factor of the identity, a diagonal (n,), or a matrix.

    ``further_forms`` names other accepted forms in the message of the ValueError.
    """
    expected = f"{caller}: {name}: expected a number, a diagonal ({n},){further_forms}, or a matrix (..., {n}, {n})"
    result = np.asarray(real_array(expected, value), dtype=float)
    if result.ndim < 2 and result.shape in ((), (n,)):
        result = np.eye(n) * result
    if result.ndim < 2 or result.shape[-2:] != (n, n):
        raise ValueError(f"{expected}; got shape {result.shape}")
    return result


def state_cost(caller: str, name: str, value: Any, nv: int) -> np.ndarray:
    """Return the cost matrix (..., 2nv, 2nv) of deviations of the state (q, v).

    ``value`` is what `cost_matrix` accepts, or a tuple, list or array of two weights, of positions and of velocities,
    each a number or (nv,).
    """
    if _is_pair(value, nv):
        both = [np.diagonal(cost_matrix(caller, f"{name}[{k}]", x, nv)) for k, x in enumerate(value)]
        return np.diag(np.concatenate(both))
    return cost_matrix(caller, name, value, 2 * nv, ", a pair (position weight, velocity weight)")


def _is_pair(value: Any, nv: int) -> bool:
    """Return True if ``value`` is a pair of weights, each a number or a vector, not a matrix (2nv, 2nv) with nv = 1."""
    if not isinstance(value, tuple | list | np.ndarray) or getattr(value, "ndim", 1) < 1 or len(value) != 2:
        return False
    return all(np.ndim(x) < 2 for x in value) and any(np.shape(x) != (2 * nv,) for x in value)


def read_semidefinite(caller: str, name: str, cost: np.ndarray, *, positive: bool = False) -> np.ndarray:
    """Return one symmetric cost matrix (n, n), positive semidefinite or ``positive`` definite.  Raises ValueError."""
    kind = "positive definite" if positive else "positive semidefinite"
    result = cost if cost.ndim == 2 and np.isfinite(cost).all() and np.allclose(cost, cost.T) else None
    smallest = -1.0 if result is None else float(np.linalg.eigvalsh(result).min(initial=np.inf))
    slack = 0.0 if result is None else 1e-12 * float(np.abs(result).max(initial=0.0))
    if result is None or smallest < (0.0 if positive else -slack) or (positive and smallest <= 0.0):
        raise ValueError(f"{caller}: {name}: expected one symmetric, {kind} matrix, got {cost!r}")
    return result


def actuated_forces(
    caller: str, robot: Any, tau: np.ndarray, acting: np.ndarray, motion: str, chosen_by: str | None = None
) -> np.ndarray:
    """Return τ (..., nv) of states with zeros for joints without an actuator.

    Raises ValueError if such a joint needs a force; ``motion`` names what needs it.  ``chosen_by`` is the argument that
    lists the actuators, None by default.
    """
    idle = np.setdiff1d(np.arange(tau.shape[-1]), acting)
    if not len(idle):
        return tau
    missing = np.argwhere(np.abs(tau[..., idle]) > _zero_forces(robot, tau)[..., idle])
    if len(missing):
        *where, k = (int(x) for x in missing[0])
        state = f" of state {where[0] if len(where) == 1 else tuple(where)}" if where else ""
        names, idle_name = [robot.v_names[j] for j in acting], robot.v_names[idle[k]]
        kind, remedy = (chosen_by or "actuators").removesuffix("s"), ""
        if chosen_by is not None:
            remedy = (
                f"; pass tau=robot.gravity_force(q) if other controllers hold joint {idle_name!r}, or lock it by "
                f"Robot.with_locked_joints"
            )
        raise ValueError(
            f"{caller}: {f'{chosen_by}: ' if chosen_by else ''}{motion}{state} needs a force of "
            f"{tau[(*where, idle[k])]:.6g} from {idle_name!r}, which is not an {kind}: the {kind}s are {names}{remedy}"
        )
    result = tau.copy()
    result[..., idle] = 0.0
    return result


def _zero_forces(robot: Any, tau: np.ndarray) -> np.ndarray:
    """Return the magnitudes (..., nv) below which joint forces count as zero: rounding, or gravity at a small tilt."""
    tree = robot.tree
    weight = sum(float(body.inertia.mass) for body in tree.bodies) * float(np.linalg.norm(robot.gravity))
    by_tilt = _TILT * weight * characteristic_length(tree) / np.array(unit_steps(tree))
    rounding = _ZERO_FORCE * np.maximum(np.abs(tau).max(axis=-1, keepdims=True), 1.0)
    result: np.ndarray = np.maximum(rounding, by_tilt)
    return result


def check_missing_forces(
    caller: str,
    robot: Any,
    motion: tuple[np.ndarray, np.ndarray, np.ndarray],
    missing: np.ndarray,
    acting: np.ndarray,
    passive: bool,
    tolerance: float,
) -> None:
    """Raise ValueError if the actuators ``acting`` cannot cause a motion (q, v, a) of n states.

    ``missing`` (n, nv) are the joint forces that the motion needs and that actuators and constraints do not exert. In a
    joint without an actuator, their root mean square may be ``tolerance`` times that of Σₖ |Mₖ aₖ| + |h|. These are the
    absolute forces of the motion in this joint, which should balance each other.
    """
    idle = np.setdiff1d(np.arange(robot.nv), acting)
    large = (np.abs(missing) > _zero_forces(robot, missing)).any(axis=0)
    idle = idle[large[idle]]
    if not len(idle):
        return
    q, v, a = motion
    M, h = robot.mass_matrix(q, passive=passive), robot.inverse_dynamics(q, v, 0.0 * a, passive=passive)
    forces = (np.abs(M[:, idle] * a[:, None, :])).sum(axis=-1) + np.abs(h[:, idle])
    sizes, lacks = (np.sqrt((x**2).mean(axis=0)) for x in (forces, missing[:, idle]))
    shares = lacks / np.maximum(sizes, np.finfo(float).tiny)
    worst = int(np.argmax(shares))
    if shares[worst] > tolerance:
        k = idle[worst]
        at = int(np.argmax(np.abs(missing[:, k])))
        raise ValueError(
            f"{caller}: trajectory: the motion needs a force of {missing[at, k]:.6g} from {robot.v_names[k]!r}, which "
            f"is not an actuator: the actuators are {[robot.v_names[j] for j in acting]}; root mean square "
            f"{shares[worst]:.3g} of the forces of the motion in this joint, tolerance={tolerance:g}; pass a motion "
            "that these actuators can cause, such as that of a TrajectoryProblem with actuators=, with more time steps"
        )


def read_effort_limits(caller: str, robot: Any, value: Any) -> np.ndarray:
    """Return the largest forces (nv,); the robot's effort limits for None, and for joints that a dict leaves out."""
    if isinstance(value, Mapping):
        limits, tree = robot.effort_limits, robot.tree
        return by_joint(caller, "effort_limits", tree, value, default=limits, least=0.0, unit="N·m, N", infinite=True)
    try:
        result = np.array(robot.effort_limits if value is None else value, dtype=float)
    except (TypeError, ValueError):
        result = np.array(np.nan)
    if result.shape not in ((), (robot.nv,)) or not (result >= 0.0).all():
        raise ValueError(
            f"{caller}: effort_limits: expected numbers >= 0, {robot.nv}, one for all or a dict by joint, got {value!r}"
        )
    return np.broadcast_to(result, (robot.nv,)).copy()


def read_deviation(caller: str, robot: Any, reference: np.ndarray, q: Any) -> np.ndarray:
    """Return the difference (..., nv) from a reference configuration to q."""
    try:
        result: np.ndarray = robot.difference(reference, q)
    except UnknownNameError as error:
        raise error.at(f"{caller}: q") from None
    except ValueError as error:
        raise ValueError(str(error).replace("difference: q1", f"{caller}: q", 1)) from None
    return result


def read_state_values(caller: str, robot: Any, quantity: str, value: Any) -> np.ndarray:
    """Return q (..., nq), v or tau (..., nv) from an array, or from a dict by joint whose other joints are at zero."""
    size = robot.nq if quantity == "q" else robot.nv
    stacked = stacked_by_joint(robot, caller, quantity, value, quantity)
    return finite_array(caller, quantity, stacked, shape=("...", size))


def read_seconds(caller: str, name: str, value: Any, *, zero: bool = False) -> float:
    """Return a time > 0 [s], or >= 0 with ``zero``.  Raises ValueError."""
    try:
        result = number(value)
    except (TypeError, ValueError):
        result = np.nan
    if not (np.isfinite(result) and (result > 0.0 or (zero and result >= 0.0))):
        raise ValueError(f"{caller}: {name}: expected a time {'>= 0' if zero else '> 0'} [s], got {value!r}")
    return result
