"""Depth of rigid contacts over all steps of a simulation, and the warning of depths that the step does not explain.

Each step has the gaps at its start already, so it only compares them.  The gaps of the last state, with which no step
starts, are computed once, at the end of a segment of a simulation.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork.errors import SimulationWarning
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import fmax, fmin, lt, where
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kinematics.algorithms.coordinates import gyration_radius
from linkwork.simulation.algorithms.contact.contact_terms import StepScale
from linkwork.simulation.contacts.contact_candidates import ContactCandidate

__all__ = ["AT_START", "allowed_depth", "deepened", "depth_state", "rigid_gaps", "warn_of_depth"]

AT_START = 3e-4, 0.2  # [sizes of the robot, g h²] initial overlaps that `allowed_depth` allows
_SUNK = 6e-3, 5.0  # the same for depths in a simulation
_WIDTH = 3.0  # [radii of gyration] width of a body
_FIRST = 3  # elements of the state before those of the pairs
_POINT = re.compile(r" \(\d+ of \d+\)$")
_PAIRS: LazyCache[tuple[tuple[str, tuple[int, ...]], ...]] = LazyCache(64)


def _pairs(contacts: Any, robot: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return each pair of bodies that may touch, with the indices of its contact points."""
    bare = replace(contacts, parameters=(), surfaces=None, planes=())  # without symbols of a trace

    def measured() -> tuple[tuple[str, tuple[int, ...]], ...]:
        result: dict[str, list[int]] = {}
        for k, name in enumerate(bare.names(robot)):
            result.setdefault(_POINT.sub("", name), []).append(k)
        return tuple((name, tuple(indices)) for name, indices in result.items())

    return _PAIRS.get((bare, robot), measured)


def depth_state(contacts: Any, robot: Any, leading: tuple[int, ...]) -> np.ndarray:
    """Return the record of the greatest contact depth before the first step (..., 3 + pairs), all zeros.

    Its elements are the greatest depth beyond the depth at the start [m], the index of its pair of bodies, the number
    of steps before it, and each pair's depth at the start [m].
    """
    return np.zeros((*leading, _FIRST + len(_pairs(contacts, robot))))


def deepened(contacts: Any, robot: Any, state: Sequence[Any], gaps: Sequence[Any], steps: Any) -> Any:
    """Return the record of `depth_state` updated by the ``gaps`` [m] of all contact points after ``steps`` steps."""
    excess, pair, when, *begun = state
    first = lt(steps, 0.5)
    for k, (_, points) in enumerate(_pairs(contacts, robot)):
        gap = gaps[points[0]]
        for point in points[1:]:
            gap = fmin(gap, gaps[point])
        begun[k] = where(first, fmax(-gap, 0.0), begun[k])
        beyond = -gap - begun[k]
        deeper = lt(excess, beyond)
        excess, pair, when = where(deeper, beyond, excess), where(deeper, float(k), pair), where(deeper, steps, when)
    return array([excess, pair, when, *begun])


def rigid_gaps(candidates: Sequence[ContactCandidate]) -> list[Any]:
    """Return the gaps [m] of contact points, inf for soft contacts."""
    return [candidate.gap if candidate.material.stiffness is None else math.inf for candidate in candidates]


def allowed_depth(robot: Any, h: float, shares: tuple[float, float]) -> float:
    """Return the depth [m] that causes no warning: fractions of the robot's size and of g h², for steps of h [s].

    The size is the characteristic length, and at least the width of the widest body.
    """
    scale = StepScale.of(robot.tree, robot.gravity, h)
    heavy = (x for x in (body.inertia for body in robot.tree.bodies) if x.mass.__class__ is float and x.mass > 0.0)
    wide = _WIDTH * max((gyration_radius(x, x.moment * (1.0 / x.mass)) for x in heavy), default=0.0)
    return float(max(scale.length, wide) * shares[0] + scale.length * (scale.pace * h) ** 2 * shares[1])


def warn_of_depth(contacts: Any, robot: Any, state: np.ndarray, h: float) -> None:
    """Warn (SimulationWarning) of the deepest rigid contact, if a step of h [s] does not explain its depth.

    ``state`` (..., 3 + pairs) is a result of `deepened`.
    """
    if not state.size:
        return
    rows = state.reshape(-1, state.shape[-1])
    depth = rows[:, 0]
    worst = int(np.argmax(depth))
    if not depth[worst] > allowed_depth(robot, h, _SUNK):
        return
    name, time = _pairs(contacts, robot)[int(rows[worst, 1])][0], h * rows[worst, 2]
    whole = depth[worst] + rows[worst, _FIRST + int(rows[worst, 1])]
    index = np.unravel_index(worst, state.shape[:-1])
    entry = f" in environment {', '.join(map(str, map(int, index)))}" if index else ""
    warnings.warn(
        f"simulate: contacts: {name} are rigid and overlap by {1e3 * whole:.3g} mm at "
        f"{time:g} s{entry}; use a shorter dt, or shapes thicker than the distance that a body moves in one step",
        SimulationWarning,
        stacklevel=levels_up(),
    )
