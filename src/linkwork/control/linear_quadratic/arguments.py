"""What regulators of robots are asked for: which joints exert forces, and what deviations cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from linkwork._util.validation import number
from linkwork.errors import UnknownNameError
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_base import RobotBase

__all__ = [
    "above_nothing",
    "acting_places",
    "actuated_joints",
    "cost_matrix",
    "deviation_of",
    "forces_that_act",
    "largest_forces",
    "matching",
    "nowhere_negative",
    "seconds_of",
    "state_cost",
]

_NONE = 1e-7  # of the largest force: what is no force


def acting_places(caller: str, robot: Any, actuators: str | Iterable[str] | None) -> np.ndarray:
    """Where in τ forces are exerted: by joints of these names, or by all but those of six degrees of freedom."""
    if not isinstance(robot, RobotBase):
        raise TypeError(f"{caller}: robot: expected a robot, as lw.load gives it, got {robot!r}")
    robot = cast(Any, robot)
    if actuators is None:
        actuators = [joint.name for joint in robot.joints if joint.nv < 6]
    found = robot.v_index([actuators] if isinstance(actuators, str) else actuators)
    if not len(found):
        raise ValueError(f"{caller}: actuators: expected one joint at least that exerts a force")
    return np.sort(found)


def actuated_joints(caller: str, robot: Any, acting: np.ndarray) -> list[str]:
    """The joints of these numbers of v.  Raises ValueError for a part of a joint's."""
    names, left = [], set(acting.tolist())
    for i, body in robot.tree.stacked():
        own = set(range(robot.nv)[robot.tree.v_slices[i]])
        if own and own <= left:
            names.append(body.joint_name)
            left -= own
    if left:
        name = robot.v_names[min(left)]
        raise ValueError(f"{caller}: actuators: {name!r} is one of several velocities of a joint: name all of them")
    return names


def cost_matrix(caller: str, name: str, given: Any, n: int) -> np.ndarray:
    """A cost (..., n, n) of one number for all, of the n on a diagonal, or of a whole matrix."""
    expected = f"{caller}: {name}: expected a number, ({n},) numbers of a diagonal, or a matrix (..., {n}, {n})"
    found = np.asarray(real_array(expected, given), dtype=float)
    if found.ndim < 2 and found.shape in ((), (n,)):
        found = np.eye(n) * found
    if found.ndim < 2 or found.shape[-2:] != (n, n):
        raise ValueError(f"{expected}; got shape {found.shape}")
    return found


def state_cost(caller: str, name: str, given: Any, nv: int) -> np.ndarray:
    """A cost (..., 2nv, 2nv) of deviations: as `cost_matrix`, or a pair, of q and of v, each a number or (nv,)."""
    if isinstance(given, tuple) and len(given) == 2 and all(np.ndim(x) < 2 for x in given):
        both = [np.diagonal(cost_matrix(caller, f"{name}[{k}]", x, nv)) for k, x in enumerate(given)]
        return np.diag(np.concatenate(both))
    return cost_matrix(caller, name, given, 2 * nv)


def nowhere_negative(caller: str, name: str, cost: np.ndarray, *, positive: bool = False) -> np.ndarray:
    """A cost (n, n) as it is.  Raises ValueError for what is none: not symmetric, negative somewhere, or several."""
    wanted = "positive definite" if positive else "nowhere negative"
    found = cost if cost.ndim == 2 and np.isfinite(cost).all() and np.allclose(cost, cost.T) else None
    least = -1.0 if found is None else float(np.linalg.eigvalsh(found).min(initial=np.inf))
    slack = 0.0 if found is None else 1e-12 * float(np.abs(found).max(initial=0.0))
    if found is None or least < (0.0 if positive else -slack) or (positive and least <= 0.0):
        raise ValueError(f"{caller}: {name}: expected one symmetric matrix that is {wanted}, got {cost!r}")
    return found


def above_nothing(caller: str, name: str, given: Any) -> float:
    """A number above 0, infinite too.  Raises ValueError."""
    try:
        found = np.nan if isinstance(given, (bool, str)) else float(given)
    except (TypeError, ValueError):
        found = np.nan
    if not found > 0.0:
        raise ValueError(f"{caller}: {name}: expected a number above 0, got {given!r}")
    return float(found)


def matching(caller: str, name: str, given: Any, size: int, of: str) -> np.ndarray:
    """Finite numbers (..., size)."""
    expected = f"{caller}: {name}: expected ({of},) = ({size},) numbers, or (..., {size})"
    found = np.asarray(real_array(expected, given), dtype=float)
    if not found.ndim or found.shape[-1] != size:
        raise ValueError(f"{expected}; got shape {found.shape}")
    if not np.isfinite(found).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(found))[0])
        raise ValueError(f"{expected}, all finite; got {found[place]} at {place[0] if len(place) == 1 else place}")
    return found


def forces_that_act(caller: str, robot: Any, tau: np.ndarray, acting: np.ndarray, what: str) -> np.ndarray:
    """τ (..., nv) with zeros where nothing acts.  Raises ValueError where a force is needed there."""
    idle = np.setdiff1d(np.arange(tau.shape[-1]), acting)
    if not len(idle):
        return tau
    size = np.maximum(np.abs(tau).max(axis=-1, keepdims=True), 1.0)
    missing = np.argwhere(np.abs(tau[..., idle]) > _NONE * size)
    if len(missing):
        *where, k = (int(x) for x in missing[0])
        state = f" of state {where[0] if len(where) == 1 else tuple(where)}" if where else ""
        raise ValueError(
            f"{caller}: {what}{state} needs a force of {tau[(*where, idle[k])]:.6g} from {robot.v_names[idle[k]]!r}, "
            f"which is no actuator: expected one that the actuators {[robot.v_names[j] for j in acting]} can do"
        )
    found = tau.copy()
    found[..., idle] = 0.0
    return found


def largest_forces(caller: str, robot: Any, given: Any) -> np.ndarray:
    """The largest forces (nv,): the robot's, where none are given."""
    try:
        found = np.array(robot.effort_limits if given is None else given, dtype=float)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if found.shape not in ((), (robot.nv,)) or not (found >= 0.0).all():
        raise ValueError(f"{caller}: effort: expected numbers from 0 on, {robot.nv} or one for all, got {given!r}")
    return np.broadcast_to(found, (robot.nv,)).copy()


def deviation_of(caller: str, robot: Any, held: np.ndarray, q: Any) -> np.ndarray:
    """The difference (..., nv) from a configuration that is held, or followed, to where the robot is."""
    try:
        found: np.ndarray = robot.difference(held, q)
    except UnknownNameError as error:
        raise error.at(f"{caller}: q") from None
    except ValueError as error:
        raise ValueError(str(error).replace("difference: q1", f"{caller}: q", 1)) from None
    return found


def seconds_of(caller: str, name: str, given: Any, *, zero: bool = False) -> float:
    try:
        found = number(given)
    except (TypeError, ValueError):
        found = np.nan
    if not (np.isfinite(found) and (found > 0.0 or (zero and found >= 0.0))):
        raise ValueError(f"{caller}: {name}: expected seconds {'from 0 on' if zero else 'above 0'}, got {given!r}")
    return found
