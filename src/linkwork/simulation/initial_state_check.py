"""Check that the initial state of a simulation satisfies the robot's constraints."""

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

__all__ = ["check_start"]

_OPEN = 1e-6  # [rad, characteristic lengths] accepted error
_FORBIDDEN = 1e-6  # the same for velocities, in units of `StepScale`, and relative to the terms of a row

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
    kernel = _KERNELS.get(
        (robot, tuple(names), tuple((sizes or {}).items())), lambda: _compiled(robot, names, sizes or {})
    )
    leading = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    q, v = np.broadcast_to(q, (*leading, robot.nq)), np.broadcast_to(v, (*leading, robot.nv))
    shared = {"parameters": dict(parameters)} if parameters else {}
    result = kernel(q=q, v=v, **shared)
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


def _compiled(robot: Any, names: Sequence[str], sizes: Mapping[str, tuple[int, ...]]) -> Kernel:
    def traced(q: Any, v: Any, parameters: Any = None) -> Any:
        each = zip(names, (parameters or {}).values(), strict=True)
        moving = moving_robot(robot, {name: x for name, x in each if not is_of_contacts(name)})
        G, v = moving.constraint_jacobian(q), list(v)
        rates = [
            sum((x * y for x, y in zip(row, v, strict=True)), s)
            for row, s in zip(G, moving.constraint_drift(q), strict=True)
        ]
        sizes = [sqrt(sum((x * x * y * y for x, y in zip(row, v, strict=True)), 0.0)) for row in G]
        return {"error": array(list(moving.constraint_error(q))), "rate": array(rates), "size": array(sizes)}

    shapes: dict[str, Any] = {"q": robot.configuration_space, "v": (robot.nv,)}
    if sizes:
        shapes["parameters"] = dict(sizes)
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
    of = f" in environment {', '.join(map(str, index[:-1]))}" if len(index) > 1 else ""
    of += f" ({int((over > 1.0).any(axis=-1).sum())} of {over[..., 0].size} environments)" if len(index) > 1 else ""
    expected = "an assembled configuration" if argument == "q" else "a velocity that the constraints allow"
    remedy = "robot.project(q) returns one nearby" if argument == "q" else "q, v = robot.project(q, v) is the nearest"
    error = f"{float(np.abs(left[index])):.3g} {unit} of {name!r}{of}"
    raise ValueError(f"{caller}: {argument}: expected {expected}, got an error of {error}; {remedy}")
