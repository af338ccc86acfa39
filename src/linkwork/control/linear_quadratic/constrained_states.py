"""References of regulators for robots with constraints: their forces, and the deviations that constraints permit.

Loops bear part of the forces of a reference, M a + h = τ + Gᵀ λ.  Deviations x = (δq, δv) from a state satisfy

    G_h δq = 0,      G δv + D δq = 0,      D = ∂(G v + ∂φ/∂t)/∂q,

with the rows G_h of holonomic constraints.  T is an orthonormal basis of these deviations.  About a state at rest, z =
Tᵀ x obeys ż = (Tᵀ A T) z + Tᵀ B u; along a trajectory z⁺ = (T⁺ᵀ A T) z + T⁺ᵀ B u in time steps.  Other deviations are
not controllable, so a regulator exists for z alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.control.linear_quadratic.arguments import actuated_joints
from linkwork.errors import UnderactuatedError
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.motion.closed_motion import refuse_open

__all__ = ["assembled", "at_time", "motion_forces", "permitted_deviations", "reference_forces"]

_DEPENDENT = 1e-8  # singular values of G below this share of the largest one count as zero
_OPEN = 1e-3  # [rad, characteristic lengths] largest constraint error of a trajectory, as in time_optimal
_STEP = 1e-3  # [rad, characteristic lengths] step of differences of G, of fourth order

Array = np.ndarray[Any, Any]


def reference_forces(
    caller: str, robot: Any, q: Any, v: Any, a: Any, acting: Array, passive: bool, time: Any = None
) -> Any:
    """Return the joint forces (..., nv) of a motion; for a robot with constraints, those of the actuators only.

    ``acting`` (m,) are the actuators' indices in τ. q is projected first, because redundant constraints of an open loop
    would bear forces. ``time`` (...,) [s] is the time for time-dependent constraints. Raises ValueError if actuators
    and constraints cannot exert the forces.
    """
    if not robot.constraints:
        return robot.inverse_dynamics(q, v, a, passive=passive)
    names = actuated_joints(caller, robot, acting)
    try:
        how = {"actuators": names, "passive": passive, **at_time(time)}
        return robot.constrained_inverse_dynamics(_projected(robot, q), v, a, **how).tau
    except UnderactuatedError as error:
        raise error._of(caller) from None


def motion_forces(caller: str, robot: Any, q: Any, v: Any, a: Any, acting: Array, passive: bool) -> tuple[Any, Any]:
    """Return the actuator forces (..., nv) along a motion, and the missing forces of joints without actuators.

    With constraints, ``acting`` (m,) are the actuators as in `reference_forces`.  Forces are missing if the motion
    satisfies the dynamics only approximately, such as a motion that was computed in time steps.
    """
    if not robot.constraints:
        tau = robot.inverse_dynamics(q, v, a, passive=passive)
        mask = np.zeros(robot.nv)
        mask[acting] = 1.0
        return tau * mask, tau * (1.0 - mask)
    names = tuple(actuated_joints(caller, robot, acting))
    at = _projected(robot, q)
    try:
        result = robot.constrained_inverse_dynamics(at, v, a, actuators=names, passive=passive)
    except UnderactuatedError:
        result = robot.compile(("constrained_inverse_dynamics", {"actuators": names, "passive": passive}))(at, v, a)
    return result.tau, result.missing


def assembled(caller: str, robot: Any, q: Array) -> Array:
    """Return configurations (n, nq) of a trajectory that satisfies constraints approximately, projected onto them.

    An open loop with redundant constraints has fewer degrees of freedom.  Raises ValueError for large errors.
    """
    if not robot.constraints or _timed(robot):
        return q
    refuse_open(caller, robot, q, [f"state {k}" for k in range(len(q))], largest=_OPEN)
    result: Array = _projected(robot, q)
    return result


def _projected(robot: Any, q: Any) -> Any:
    """Project configurations (numbers or symbols) onto the constraints; unchanged if constraints depend on time."""
    return q if _timed(robot) else robot.project(q, weights="plain", check=False)


def _timed(robot: Any) -> bool:
    return any(c.time_dependent for c in robot.constraints)


def at_time(time: Any) -> dict[str, Any]:
    """Return the keyword ``time`` of methods for time-dependent constraints as a dict; {} if it is None."""
    return {} if time is None else {"time": time}


def permitted_deviations(caller: str, robot: Any, q: Array, v: Array, time: Any = None) -> Array | None:
    """Return a basis T (..., 2nv, n) of the deviations (δq, δv) from states that the constraints permit.

    States are q (..., nq) and v (..., nv). The result is None for a robot without constraints. ``time`` (...,) [s] is
    the time for time-dependent constraints. Raises ValueError if the states of a batch have different numbers of
    degrees of freedom, and for states that do not satisfy the constraints.
    """
    if not robot.constraints:
        return None
    states = np.reshape(q, (-1, robot.nq))
    names = [f"state {k}" for k in range(len(states))] if q.ndim > 1 else ["q"]
    refuse_open(caller, robot, states, names, 0.0 if time is None else np.reshape(time, -1))
    steps = np.array(unit_steps(robot.tree))
    holonomic = [c.holonomic for c in robot.constraints for _ in c.component_names]
    G = robot.constraint_jacobian(q, **at_time(time)) * steps
    positions, velocities = (_null_space(caller, rows) for rows in (G[..., holonomic, :], G))
    n, m = positions.shape[-1], velocities.shape[-1]
    nv = robot.nv
    both = np.zeros((*G.shape[:-2], 2 * nv, n + m))
    both[..., :nv, :n], both[..., nv:, n:] = steps[:, None] * positions, steps[:, None] * velocities
    if v.any() or time is not None:
        turned = np.linalg.pinv(G, rcond=_DEPENDENT) @ _turned_rates(robot, q, v, steps, time) @ positions
        both[..., nv:, :n] = -steps[:, None] * turned
    result: Array = np.linalg.qr(both)[0]
    return result


def _turned_rates(robot: Any, q: Array, v: Array, steps: Array, time: Any = None) -> Array:
    """Return the derivative (..., nc, nv) of the constraint velocities G v + ∂φ/∂t with respect to q, by differences.

    v is constant; ``steps`` (nv) are the units of q.
    """
    along = np.diag(_STEP * steps)
    how = at_time(None if time is None else np.asarray(time)[..., None])

    def rate(k: int) -> Array:
        moved = robot.integrate(q[..., None, :], k * along)
        result: Array = (robot.constraint_jacobian(moved, **how) @ v[..., None, :, None])[..., 0]
        return result if time is None else result + robot.constraint_drift(moved, **how)

    rates = [rate(k) for k in (-2, -1, 1, 2)]
    slopes = (rates[0] - rates[3] + 8.0 * (rates[2] - rates[1])) / (12.0 * _STEP)  # (..., nv, nc)
    result: Array = np.swapaxes(slopes, -1, -2)
    return result


def _null_space(caller: str, G: Array) -> Array:
    sizes, V = np.linalg.svd(G)[1:]
    ranks = np.count_nonzero(sizes > _DEPENDENT * sizes[..., :1], axis=-1)
    if np.min(ranks) < np.max(ranks):
        raise ValueError(
            f"{caller}: q: expected states with the same number of degrees of freedom, got constraints of rank "
            f"{np.min(ranks)} and {np.max(ranks)}; pass these states one by one"
        )
    result: Array = np.swapaxes(V[..., int(np.max(ranks)) :, :], -1, -2)
    return result
