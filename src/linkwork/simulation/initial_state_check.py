"""Constraints at the states of a simulation: the check of its start, and the deviations that they permit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import sqrt
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.simulation.algorithms.contact.contact_terms import StepScale
from linkwork.simulation.contacts.contact_materials import is_of_contacts
from linkwork.simulation.simulation_spec import moving_robot

__all__ = ["check_start", "permitted_deviations"]

_OPEN = 1e-6  # [rad, characteristic lengths] accepted error
_FORBIDDEN = 1e-6  # the same for velocities, in units of `StepScale`, and relative to the terms of a row
_DEPENDENT = 1e-5  # relative singular value of rows below which they are redundant at states with an accepted error

_KERNELS: LazyCache[Kernel] = LazyCache(64)


def check_start(
    caller: str,
    robot: Any,
    q: np.ndarray,
    v: np.ndarray,
    h: float,
    names: Sequence[str] = (),
    sizes: Mapping[str, tuple[int, ...]] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> None:
    """Raise ValueError if q (..., nq) or v (..., nv) violates constraints at time 0, before steps of h [s].

    ``parameters`` are arrays by the names of ``sizes``; ``names`` are the robot's names for them, in the same order.
    """
    if not robot.tree.constraints or q.size == 0:
        return
    kernel = _kernel(robot, names, sizes or {})
    leading = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    q, v = np.broadcast_to(q, (*leading, robot.nq)), np.broadcast_to(v, (*leading, robot.nv))
    result = kernel(q=q, v=v, **_shared(robot, parameters, 0.0))
    constraints, (length, pace, _) = robot.tree.constraints, StepScale.of(robot.tree, robot.gravity, h)
    rows = [
        (name, unit, c.holonomic)
        for c in constraints
        for name, unit in zip(c.component_names, c.row_units, strict=True)
    ]
    bounds = [_OPEN * (length if unit == "m" else 1.0) for _, unit, holonomic in rows if holonomic]
    _refuse(caller, "q", result.error, np.array(bounds), [x[:2] for x in rows if x[2]])
    least = np.array([_FORBIDDEN * pace * (length if unit == "m" else 1.0) for _, unit, _ in rows], dtype=float)
    _refuse(caller, "v", result.rate, least + _FORBIDDEN * result.size, [(x, f"{unit}/s") for x, unit, _ in rows])


def permitted_deviations(
    robot: Any,
    q: np.ndarray,
    size: np.ndarray,
    names: Sequence[str] = (),
    sizes: Mapping[str, tuple[int, ...]] | None = None,
    parameters: Mapping[str, Any] | None = None,
    time: float = 0.0,
) -> np.ndarray:
    """Return a basis (2 nv, n) of the deviations (δq, δv) / ``size`` that constraints permit at rest at q (nq).

    They satisfy G_h δq = 0 and G δv + D δq = 0 with D = ∂²φ/∂t∂q, where G_h are the rows of holonomic constraints.
    ``size`` (2 nv) are small steps of q and v.  ``names``, ``sizes`` and ``parameters`` are as in `check_start`, and
    ``time`` [s] is the time of the state.
    """
    nv, constraints = robot.nv, robot.tree.constraints
    if not constraints:
        return np.eye(2 * nv)
    kernel, shared = _kernel(robot, names, sizes or {}), _shared(robot, parameters, time)
    steps, rates = size[:nv], size[nv:]
    G = np.asarray(kernel(q=q, v=np.zeros(nv), **shared).jacobian)
    holonomic = [c.holonomic for c in constraints for _ in c.component_names]
    positions, velocities = _null_space(G[holonomic] * steps), _null_space(G * rates)
    count = positions.shape[1]
    both = np.zeros((2 * nv, count + velocities.shape[1]))
    both[:nv, :count], both[nv:, count:] = positions, velocities
    if not any(c.time_dependent for c in constraints):
        return both  # D = 0
    moved = robot.integrate(q, np.concatenate([positions.T, -positions.T]) * steps)
    after = np.asarray(kernel(q=moved, v=np.zeros((2 * count, nv)), **shared).rate)
    both[nv:, :count] = -np.linalg.pinv(G * rates, rcond=_DEPENDENT) @ (0.5 * (after[:count] - after[count:])).T
    return both


def _null_space(G: np.ndarray) -> np.ndarray:
    _, sizes, V = np.linalg.svd(G)
    result: np.ndarray = V[int(np.count_nonzero(sizes > _DEPENDENT * sizes.max(initial=0.0))) :].T
    return result


def _kernel(robot: Any, names: Sequence[str], sizes: Mapping[str, tuple[int, ...]]) -> Kernel:
    return _KERNELS.get((robot, tuple(names), tuple(sizes.items())), lambda: _compiled(robot, names, sizes))


def _shared(robot: Any, parameters: Mapping[str, Any] | None, time: float) -> dict[str, Any]:
    """Return the kernel's arguments that all states share: parameters, and time if constraints depend on it."""
    timed = {"time": time} if any(c.time_dependent for c in robot.tree.constraints) else {}
    return {"parameters": dict(parameters), **timed} if parameters else timed


def _compiled(robot: Any, names: Sequence[str], sizes: Mapping[str, tuple[int, ...]]) -> Kernel:
    def traced(q: Any, v: Any, parameters: Any = None, **timed: Any) -> Any:
        each = zip(names, (parameters or {}).values(), strict=True)
        moving = moving_robot(robot, {name: x for name, x in each if not is_of_contacts(name)})
        G, v = moving.constraint_jacobian(q, **timed), list(v)
        rates = [
            sum((x * y for x, y in zip(row, v, strict=True)), s)
            for row, s in zip(G, moving.constraint_drift(q, **timed), strict=True)
        ]
        squares = [sum((x * x * y * y for x, y in zip(row, v, strict=True)), 0.0) for row in G]
        error = moving.constraint_error(q, **timed)
        return {
            "error": array(list(error)),
            "rate": array(rates),
            "size": array([sqrt(x) for x in squares]),
            "jacobian": G,
        }

    shapes: dict[str, Any] = {"q": robot.configuration_space, "v": (robot.nv,)}
    if sizes:
        shapes["parameters"] = dict(sizes)
    if any(c.time_dependent for c in robot.tree.constraints):
        shapes["time"] = ()
    return compile(traced, name="check_start", **shapes)


def _refuse(caller: str, argument: str, left: np.ndarray, bounds: np.ndarray, rows: Sequence[tuple[str, str]]) -> None:
    """Raise ValueError for the largest error ``left`` (..., rows) beyond its bound."""
    if not rows:
        return
    over = np.where(np.isfinite(left), np.abs(left) / bounds, np.inf)
    if (over <= 1.0).all():
        return
    index = tuple(map(int, np.unravel_index(int(np.argmax(over)), over.shape)))
    name, unit = rows[index[-1]]
    entry = f" in environment {', '.join(map(str, index[:-1]))}" if len(index) > 1 else ""
    entry += f" ({int((over > 1.0).any(axis=-1).sum())} of {over[..., 0].size} environments)" if len(index) > 1 else ""
    expected = "an assembled configuration" if argument == "q" else "a velocity that the constraints allow"
    remedy = "robot.project(q) returns one nearby" if argument == "q" else "q, v = robot.project(q, v) is the nearest"
    error = f"{float(np.abs(left[index])):.3g} {unit} of {name!r}{entry}"
    raise ValueError(f"{caller}: {argument}: expected {expected}, got an error of {error}; {remedy}")
