"""Which angles turn without end, so that whole turns of them lead back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import floor
from linkwork.joints.base.joint_type import JointType

__all__ = ["free_angles", "nearer_turns"]


def free_angles(robot: Any) -> list[int]:
    """The places in q of angles without limits, which no other joint follows, and a whole turn of which leads back: of
    a screw it does not."""
    tree, lower, upper = robot.tree, robot.lower, robot.upper
    followed = {place.start for body, place in zip(tree.bodies, tree.v_slices, strict=True) if body.coupling}
    found = []
    for body, in_q, in_v in zip(tree.bodies, tree.q_slices, tree.v_slices, strict=True):
        joint: JointType = body.joint
        if joint.nq == joint.nv and in_v.start not in followed:
            found += [
                in_q.start + k
                for k, unit in enumerate(joint.q_units)
                if unit == "rad"
                and np.isinf([lower[in_q.start + k], upper[in_q.start + k]]).all()
                and _leads_back(joint, k)
            ]
    return found


def nearer_turns(robot: Any, before: Any, q: Any, places: Sequence[int] | None = None) -> Any:
    """q (nq) with whole turns added to such angles, so that they are less than half a turn from those before.

    ``places`` are those of `free_angles`, where they are known.
    """
    places = free_angles(robot) if places is None else places
    found = array(q.copy()) if q.dtype == object else np.array(q)
    for k in places:
        found[k] = found[k] - 2.0 * np.pi * floor((found[k] - before[k]) / (2.0 * np.pi) + 0.5)
    return found


def _leads_back(joint: JointType, place: int) -> bool:
    q = 0.3 + 0.1 * np.arange(joint.nq)
    turned = q + 2.0 * np.pi * (np.arange(joint.nq) == place)
    here, there = (np.array(joint.X(x.tolist()).elements(), dtype=float) for x in (q, turned))
    return bool(np.abs(here - there).max() < 1e-9)
