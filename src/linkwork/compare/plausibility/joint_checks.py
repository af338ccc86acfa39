"""Checks of joints: limits, efforts, friction and mimic relations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from linkwork._util.messages import quoted
from linkwork.compare.plausibility.model_check import ModelFinding, finding
from linkwork.formats.description import Following, looks_like_degrees
from linkwork.model import Body, Tree

__all__ = ["joint_findings"]

_TRAVEL = 100.0  # range of a sliding joint, relative to the size of the robot
_READ_AS_DEGREES = math.radians(2.0 * math.pi)  # range [rad] of a turn in rad that is read as degrees
_STEP, _ROUNDING = 0.5, 1e-7  # [°] step of small limits that people state, and rounding [°, rad]
_SLACK = 1e-9  # by which a value may exceed its limit, relative to 1 or to the limit


def joint_findings(tree: Tree, size: float) -> Iterator[ModelFinding]:
    """Yield the findings of all joints and named configurations; ``size`` [m] is that of the robot."""
    many = _most_ranges_are_small(tree)
    for body in tree.bodies:
        yield from _limits(body, size, many)
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


def _most_ranges_are_small(tree: Tree) -> bool:
    """Return True if most of several limited angles have a range that is less than a turn read as degrees."""
    ranges = [
        high - low
        for body in tree.bodies
        for unit, low, high in zip(body.joint.q_units, *body.limits.positions, strict=True)
        if unit == "rad" and 0.0 < high - low < math.inf
    ]
    return len(ranges) > 1 and 2 * sum(x <= _READ_AS_DEGREES for x in ranges) > len(ranges)


def _is_stated(limit: float) -> bool:
    """Return True for an angle [rad] with few digits in rad or in degrees, as people write small ranges of joints."""
    return any(abs(x - step * round(x / step)) < _ROUNDING for x, step in ((limit, 1e-3), (math.degrees(limit), _STEP)))


def _limits(body: Body, size: float, many: bool) -> Iterator[ModelFinding]:
    name, (lower, upper) = body.joint_name, body.limits.positions
    for unit, low, high in zip(body.joint.q_units, lower, upper, strict=True):
        values: dict[str, Any] = {"lower": low, "upper": high}
        if low == high:
            text = f"the lower and the upper limit are both {low:.6g} {unit}: the joint cannot move"
            yield finding("LIMIT_EQUAL", "joint", name, text, **values)
        elif unit == "rad" and looks_like_degrees(low, high):
            text = f"the limits {low:g} and {high:g} rad are more than two turns: are they in degrees?"
            yield finding("LIMIT_UNITS", "joint", name, text, **values)
        elif unit == "rad" and 0.0 < high - low <= _READ_AS_DEGREES:
            degrees = math.degrees(low), math.degrees(high)
            text = (
                f"the limits {low:.4g} and {high:.4g} rad are only {degrees[1] - degrees[0]:.3g}° apart: were "
                f"{degrees[0]:.4g} and {degrees[1]:.4g} rad read as degrees?"
            )
            is_likely = many or not (_is_stated(low) and _is_stated(high))
            yield finding("LIMIT_UNITS", "joint", name, text, severity=None if is_likely else "note", **values)
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
