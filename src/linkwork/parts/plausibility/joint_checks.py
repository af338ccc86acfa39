"""Checks of joints: limits, efforts, friction and mimic relations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from linkwork._util.messages import quoted
from linkwork.model.body import Body, Following
from linkwork.model.tree import Tree
from linkwork.model.value_check import looks_like_degrees
from linkwork.parts.plausibility.model_check import ModelFinding, finding

__all__ = ["joint_findings"]

_TRAVEL = 100.0  # range of a sliding joint, relative to the size of the robot
_SLACK = 1e-9  # by which a value may exceed its limit, relative to 1 or to the limit


def joint_findings(tree: Tree, size: float) -> Iterator[ModelFinding]:
    """Yield the findings of all joints and named configurations; ``size`` [m] is that of the robot."""
    for body in tree.bodies:
        yield from _limits(body, size)
        yield from _efforts(body)
        relation = body.coupling or body.mimic
        if relation is not None:
            yield from _followed(tree, body, relation)
    for state in tree.named_configurations:
        for joint, values in state.q:
            body = tree.bodies[tree.joint_index(joint)]
            if [*values] == [*body.joint.zero()]:
                continue  # ZERO_OUTSIDE says it
            for value, low, high in body.limits.outside(values, _SLACK):
                text = f"joint {quoted(joint)} is at {value:.6g}, but its limits are {low:.6g} and {high:.6g}"
                yield finding("Q_OUT_OF_LIMITS", "configuration", state.name, text, value=value, lower=low, upper=high)


def _limits(body: Body, size: float) -> Iterator[ModelFinding]:
    name, (lower, upper) = body.joint_name, body.limits.positions
    for unit, low, high in zip(body.joint.q_units, lower, upper, strict=True):
        values: dict[str, Any] = {"lower": low, "upper": high}
        if low == high:
            text = f"the lower and the upper limit are both {low:.6g} {unit}: the joint cannot move"
            yield finding("LIMIT_EQUAL", "joint", name, text, **values)
        elif unit == "rad" and looks_like_degrees(low, high):
            text = f"the limits {low:g} and {high:g} rad are more than two turns: are they in degrees?"
            yield finding("LIMIT_UNITS", "joint", name, text, **values)
        elif unit == "m" and _TRAVEL * max(size, 1.0) < high - low < math.inf:
            text = f"the limits {low:g} and {high:g} m are far apart for a robot of {size:.3g} m: millimetres?"
            yield finding("LIMIT_UNITS", "joint", name, text, **values)
    if body.coupling is None:
        for value, low, high in body.limits.outside(body.joint.zero(), _SLACK):
            text = f"zero is outside of the limits {low:.6g} and {high:.6g}"
            yield finding("ZERO_OUTSIDE", "joint", name, text, value=value, lower=low, upper=high)


def _efforts(body: Body) -> Iterator[ModelFinding]:
    name, limits = body.joint_name, body.limits
    if limits.effort and not any(limits.effort):
        yield finding("EFFORT_ZERO", "joint", name, "the effort limit is 0")
    if limits.velocity and not any(limits.velocity):
        yield finding("VELOCITY_ZERO", "joint", name, "the speed limit is 0")
    if body.dynamics == "none":
        return
    resting = body.drive.static_friction or body.friction
    for friction, effort in zip(resting, limits.effort, strict=True):
        if friction > effort > 0.0:
            text = f"friction of {friction:.4g} is larger than the effort limit of {effort:.4g}"
            yield finding("FRICTION_LARGE", "joint", name, text, friction=friction, effort=effort)


def _followed(tree: Tree, body: Body, relation: Following) -> Iterator[ModelFinding]:
    """Yield the finding on a follower whose limits do not contain where its master leads it."""
    master = tree.bodies[tree.joint_index(relation.joint)]
    for k, (low, high) in enumerate(zip(*master.limits.positions, strict=True)):
        if not (math.isfinite(low) and math.isfinite(high)) or k >= body.joint.nq:
            continue
        ends = sorted(relation.ratio * x + relation.offset for x in (low, high))
        lower, upper = (side[k] for side in body.limits.positions)
        slack = _SLACK + 1e-3 * (ends[1] - ends[0])
        if ends[0] < lower - slack or ends[1] > upper + slack:
            text = (
                f"it follows {quoted(relation.joint)} from {ends[0]:.6g} to {ends[1]:.6g}, but its limits are "
                f"{lower:.6g} and {upper:.6g}"
            )
            yield finding("MIMIC_RANGE", "joint", body.joint_name, text, lower=lower, upper=upper)
