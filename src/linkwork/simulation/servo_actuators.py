"""Servos: what a controller may give in the place of joint forces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.expr.arrays.pytree import taken_apart
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import lt, where

__all__ = ["ServoActuators", "ServoForces"]


@dataclass(frozen=True)
class ServoForces:
    """A number of each for each velocity, and a configuration (nq)."""

    force: Sequence[Any]
    position: Sequence[Any]
    velocity: Sequence[Any]
    stiffness: Sequence[Any]
    damping: Sequence[Any]
    limit: Sequence[Any]

    def now(self, robot: Any, q: Any, v: Any) -> list[Any]:
        """τ (nv) at this state."""
        left = robot.difference(array(list(q)), array(list(self.position)))
        each = zip(self.force, left, self.velocity, v, self.stiffness, self.damping, self.limit, strict=True)
        wanted = [(f + K * e + D * (rate - x), most) for f, e, rate, x, K, D, most in each]
        return [_limited(tau, most) for tau, most in wanted]


@public_constructor
@dataclass(frozen=True, eq=False)
class ServoActuators:
    """What a controller may give in the place of joint forces: servos on joints, whose forces have limits.

        τ = f + K (q* ⊖ q) + D (v* − v),     |τ| ≤ limit,

    with q and v at the step's end, found together with contacts: so no gain is too high for the step.  ``position``
    (nq) is q*, ``velocity`` (nv) v*, ``force`` (nv) f, and ``stiffness`` [N·m/rad, N/m], ``damping`` and ``limit``
    [N·m, N] (nv) or one number for all joints.  A base that floats has no servo, whatever its numbers are.  A
    velocity source is a high damping alone.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> from linkwork.simulation import Servos
    >>> robot = lw.load("arm7")
    >>> def controller(t, q, v, target):
    ...     return ServoActuators(target, stiffness=1e5, damping=1e3, limit=robot.effort_limits)
    >>> q = 0.5 * (robot.lower + robot.upper)
    >>> found = robot.simulate(q, controller=controller, duration=0.8, constants={"target": q + 0.3})
    >>> bool(np.abs(found.q[-1] - q - 0.3).max() < 1e-2)
    True

    Source: implicit PD as a bounded quadratic term: Castro, Permenter and Han, An unconstrained convex formulation of
    compliant contact, IEEE Transactions on Robotics 39(2), 2023, section V.
    """

    position: Any
    velocity: Any = 0.0
    stiffness: Any = 0.0
    damping: Any = 0.0
    force: Any = 0.0
    limit: Any = math.inf

    def of(self, robot: Any) -> ServoForces:
        """For each velocity of a robot.

        Raises ValueError for other shapes, and for stiffness, damping and limits below 0.
        """
        n = robot.nv
        found = {"position": _numbers("position", self.position, robot.nq)}
        for name in ("force", "velocity", "stiffness", "damping", "limit"):
            found[name] = _numbers(name, getattr(self, name), n)
        for name in ("stiffness", "damping", "limit"):
            for x in found[name]:
                if isinstance(x, (int, float)) and not x >= 0.0:
                    raise ValueError(f"Servos: {name}: expected numbers from 0, got {x!r}")
        for body, place in zip(robot.tree.bodies, robot.tree.v_slices, strict=True):
            if body.joint.is_floating:
                found["limit"][place] = [0.0] * 6
        return ServoForces(**found)


def _limited(tau: Any, most: Any) -> Any:
    """A force within its limit; one that is NaN is, unless nothing acts."""
    return 0.0 if is_zero(most) else where(lt(tau, -most), -most, where(lt(most, tau), most, tau))


def _numbers(what: str, given: Any, n: int) -> list[Any]:
    """So many numbers, or one for all."""
    numbers, _ = taken_apart(array(given) if not isinstance(given, np.ndarray) else given, f"Servos: {what}")
    if len(numbers) == 1 and what != "position":
        numbers = [*numbers] * n
    if len(numbers) != n:
        raise ValueError(f"Servos: {what}: expected {n} numbers, got {len(numbers)}")
    return [float(x) if isinstance(x, (int, float, np.floating)) else x for x in numbers]
