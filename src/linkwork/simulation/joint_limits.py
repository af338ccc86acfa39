"""Limits of joints, by what a simulation does about them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.user_frames import levels_up
from linkwork.errors import SimulationWarning, UnknownNameError
from linkwork.simulation.algorithms.compliant_forces_stops import stop_force
from linkwork.simulation.contacts.contact_materials import is_number
from linkwork.simulation.joint_limits_bounded import limited_places
from linkwork.simulation.rollout.spring_steps import least_inertias

__all__ = ["LIMITS", "JointStops", "given_limits", "warn_of_limits"]

LIMITS = ("held", "soft", "ignored")

_TRANSITION = 1e-3  # [rad, m] of depth, in which the damper grows
_PASSED = 1e-3  # [rad, m] beyond a limit, or beyond where it began: what is told


@public_constructor
@dataclass(frozen=True)
class JointStops:
    """Compliant stops at the limits of joints, for every method: springs and dampers that never pull,

        f = max(0, k d + b s(d) ḋ),     k = m/(ζ T)²,     b = 2 m/T,

    d being how far a joint is beyond its limit and s what lets the damper grow over the first mm or mrad.
    ``time`` is T [s], in which they act (shorter is stiffer: keep it at several steps), ``damping_ratio`` ζ, and m the
    least inertia that the joint has to feel, 1/(M⁻¹)ₖₖ, in 32 configurations within its limits.  What presses by f₀
    rests f₀/k beyond.

    >>> import linkwork as lw
    >>> from linkwork.simulation import JointStops
    >>> arm = lw.load("arm7")
    >>> fallen = arm.simulate(arm.neutral() + 0.1, duration=1.0, limits=JointStops(time=0.01), every=10)
    >>> bool((fallen.q < arm.upper + 0.1).all())
    True

    Raises ValueError for numbers that are not above 0.
    """

    time: float = 0.02
    damping_ratio: float = 1.0

    def __post_init__(self) -> None:
        for name, unit in (("time", "a time above 0 [s]"), ("damping_ratio", "a number above 0")):
            given = getattr(self, name)
            if not is_number(given) or not 0.0 < given < math.inf:
                raise ValueError(f"JointStops: {name}: expected {unit}, got {given!r}")

    def forces(self, robot: Any, passive: bool, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """What the stops exert (nv)."""
        inertias = _inertias(robot, passive)
        found: list[Any] = [0.0] * robot.nv
        for i, k in limited_places(robot):
            stiffness, damping = inertias[k] / (self.damping_ratio * self.time) ** 2, 2.0 * inertias[k] / self.time
            for side, bound in ((1.0, robot.lower[i]), (-1.0, robot.upper[i])):
                if math.isfinite(bound):
                    depth, rate = side * (float(bound) - q[i]), -side * v[k]
                    found[k] = found[k] + side * stop_force(depth, rate, stiffness, damping, _TRANSITION)
        return found


def _inertias(robot: Any, passive: bool) -> tuple[float, ...]:
    """The least 1/(M⁻¹)ₖₖ (nv).  Raises ValueError where there is none."""
    found = np.array(least_inertias(robot, passive))
    if not (np.isfinite(found).all() and (found > 0.0).all()):
        name = robot.v_names[int(np.argmin(np.where(np.isfinite(found), found, -1.0)))]
        raise ValueError(f"simulate: limits: nothing resists {name!r}, so no stop for it is stiff: give it inertia")
    return tuple(map(float, found))


def given_limits(given: Any) -> str | JointStops | None:
    """Raises TypeError and UnknownNameError for what is none of `LIMITS`, `JointStops` or None."""
    if given is None or isinstance(given, JointStops):
        return given
    if not isinstance(given, str):
        raise TypeError(f"simulate: limits: expected 'held', 'soft', 'ignored' or JointStops, got {given!r}")
    if given not in LIMITS:
        raise UnknownNameError("limits of simulate", given, LIMITS)
    return JointStops() if given == "soft" else given


def warn_of_limits(robot: Any, t: np.ndarray, q: np.ndarray) -> None:
    """Warn of the first joint that passed a limit, in records q (..., n, nq) at times t (n,)."""
    if not q.size:
        return
    every = q.reshape(-1, q.shape[-1])
    far = (every.max(axis=0) > robot.upper + _PASSED) | (every.min(axis=0) < robot.lower - _PASSED)
    for i, k in limited_places(robot) if far.any() else ():
        beyond = np.maximum(robot.lower[i] - q[..., i], q[..., i] - robot.upper[i])
        passed = beyond > _PASSED + np.maximum(beyond[..., :1], 0.0)
        if passed.any():
            place = tuple(map(int, np.argwhere(passed)[0]))
            side = "lower" if q[(*place, i)] < robot.lower[i] else "upper"
            bound = robot.lower[i] if side == "lower" else robot.upper[i]
            of = f" in environment {', '.join(map(str, place[:-1]))}" if len(place) > 1 else ""
            warnings.warn(
                f"simulate: {robot.v_names[k]!r} passed its {side} limit of {bound:.4g} at {t[place[-1]]:g} s{of}: "
                "nothing holds limits of joints here; limits='soft' puts springs there, limits='held' holds them by "
                "the default method, and limits='ignored' says that it is meant",
                SimulationWarning,
                stacklevel=levels_up(),
            )
            return
