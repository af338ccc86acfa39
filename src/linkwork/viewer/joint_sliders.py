"""Sliders for the joints of a robot, used by the live page and by the self-contained HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.joints import JointType
from linkwork.model import Body, Tree

__all__ = ["Slider", "actuated_joints", "is_plain", "joint_sliders", "slider_origin"]

_FREE_LENGTH = 1.0  # [m] range of a slider of a length without limits, on both sides
_TANGENT_NAMES = {
    **{f"w{axis}": f"rotation {axis}" for axis in "xyz"},
    **{f"v{axis}": axis for axis in "xyz"},
}


@dataclass(frozen=True)
class Slider:
    """Slider of a joint: the coordinate that it changes, and its range [rad, m]."""

    name: str
    unit: str
    low: float
    high: float
    lower: float
    """Limit of the joint; -inf without one."""
    upper: float


def is_plain(joint: JointType) -> bool:
    """Return True if all coordinates of a joint are angles and lengths, which sliders set directly.

    Other joints, such as those with quaternions, are moved along v by `JointType.integrate` from `slider_origin`.
    """
    return joint.nq == joint.nv and set(joint.q_units) <= {"rad", "m"}


def joint_sliders(body: Body, shown: Sequence[float]) -> list[Slider]:
    """Return the sliders of a body's joint: a slider for each coordinate, or for each component of a motion along v.

    ``shown`` are the coordinates of the joint in the configuration shown first, which ranges without limits include.
    """
    joint = body.joint
    if is_plain(joint):
        names: Sequence[str] = joint.q_names or ("",) * joint.nq
        entries = zip(names, joint.q_units, *body.limits.positions, shown, strict=True)
        return [_slider(body.joint_name, *entry) for entry in entries]
    names = [_TANGENT_NAMES.get(name, name.removesuffix("_rate")) for name in joint.v_names or ("",) * joint.nv]
    units = [unit.removesuffix("/s") for unit in joint.v_units]
    return [_slider(body.joint_name, *pair, -math.inf, math.inf, 0.0) for pair in zip(names, units, strict=True)]


def slider_origin(body: Body) -> list[float | None]:
    """Return the coordinates from which sliders move a joint along v, if they cannot set its coordinates directly.

    They are zero, or None for a length, whose value in the configuration shown first is used.
    """
    zero = body.call_joint("zero")
    return [None if unit == "m" else float(x) for x, unit in zip(zero, body.joint.q_units, strict=True)]


def actuated_joints(tree: Tree) -> tuple[str, ...]:
    """Return the names of the joints on which an actuator acts.

    While loops close, these joints move less than others.
    """
    return tuple(dict.fromkeys(name for actuator in tree.actuators for name, _ in actuator.joints))


def _slider(joint: str, coordinate: str, unit: str, lower: float, upper: float, shown: float) -> Slider:
    reach = math.pi if unit == "rad" else _FREE_LENGTH
    middle = shown if abs(shown) > 0.5 * reach else 0.0  # the slider begins in the middle half of its range
    low = lower if math.isfinite(lower) else min(upper - 2.0 * reach, middle - reach)
    high = upper if math.isfinite(upper) else max(low + 2.0 * reach, middle + reach)
    return Slider(f"{joint} {coordinate}".rstrip(), unit, low, high, lower, upper)
