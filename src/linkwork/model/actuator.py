"""Actuators: forces that depend on a control, and the joints or frames that they act on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from linkwork._util.checked_arguments import public, public_constructor
from linkwork._util.validation import is_real, non_negative, shown
from linkwork.expr.scalar.functions import lt, where

__all__ = ["Actuator", "bounded"]

Range = tuple[float, float]

FREE: Range = (-math.inf, math.inf)
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


@public_constructor
@dataclass(frozen=True, slots=True)
class Actuator:
    """An actuator: a force f that depends on a control u and on the length l of its transmission.

        f = (g₀ + g₁ l + g₂ l̇) u + b₀ + b₁ l + b₂ l̇,      u clamped to control_range, f to force_range

    ``gain`` is (g₀, g₁, g₂) and ``bias`` (b₀, b₁, b₂).  The constructors `motor`, `position` and `velocity` build the
    usual actuators: f is g₀ u, k (u − l) − d l̇, and d (u − l̇).

    An actuator acts on joints or on a frame.  On joints, ``joints`` lists names with the ``gear`` of each of the
    joint's velocities, and l = offset + Σ gear · φ, where φ (nv) are the joint's tangent coordinates from its zero; the
    joint force is gear · f.  Several joints form a tendon.  On a frame, the wrench f · wrench acts on ``frame``, at its
    origin, where ``wrench`` is (moment; force) in the axes of the frame; l is the offset, and l̇ the power of the
    wrench at f = 1.  With ``relative_to`` the wrench is in the axes of that frame, on which the opposite wrench acts,
    at its own origin, and l = offset + wrench · (the pose of ``frame`` relative to it, as rotation vector and
    position). A joint that moves both frames gets no force.

    Units: the gain converts u to N or N·m; l is in rad or m, times the gear.  A range without bounds is (−inf, inf).
    The limit on the total force of all actuators on a joint is the joint's ``effort``.

    ``name`` is the actuator's name.
    """

    name: str
    joints: tuple[tuple[str, tuple[float, ...]], ...] = ()  # names, each with a gear for every velocity of the joint
    frame: str | None = None
    wrench: tuple[float, ...] = ()  # (moment; force) at f = 1, in the axes of ``relative_to``, else of ``frame``
    relative_to: str | None = None
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control_range: Range = FREE
    force_range: Range = FREE
    offset: float = 0.0  # of the length

    def __post_init__(self) -> None:
        """Check and convert the fields.  Raises ValueError for an invalid actuator."""
        caller = f"Actuator {self.name!r}"
        if not isinstance(self.name, str) or not self.name.strip():
            raise ValueError(f"Actuator: name: expected a non-empty string, got {self.name!r}")
        for key, count in (("gain", 3), ("bias", 3), ("control_range", 2), ("force_range", 2)):
            object.__setattr__(self, key, _floats(caller, key, getattr(self, key), count, ranged=count == 2))
        object.__setattr__(self, "offset", _floats(caller, "offset", (self.offset,), 1)[0])
        for key in ("control_range", "force_range"):
            low, high = getattr(self, key)
            if not low <= high or low == math.inf or high == -math.inf:
                raise ValueError(f"{caller}: {key}: expected (lower, upper) with lower <= upper, got {(low, high)!r}")
        if bool(self.joints) == (self.frame is not None):
            got = "neither" if self.frame is None else f"joints {self.joints!r} and frame {self.frame!r}"
            raise ValueError(f"{caller}: joints: expected either joints or a frame to act on, got {got}")
        if self.frame is None:
            if self.wrench or self.relative_to is not None:
                raise ValueError(f"{caller}: wrench and relative_to apply to actuators on a frame only")
            object.__setattr__(self, "joints", tuple(_gears(caller, self.joints)))
        else:
            wrench = _floats(caller, "wrench", self.wrench, 6)
            if not any(wrench):
                raise ValueError(f"{caller}: wrench: expected a non-zero (moment; force), got {self.wrench!r}")
            object.__setattr__(self, "wrench", wrench)

    # -- constructors of the usual actuators

    @classmethod
    @public
    def motor(
        cls, name: str, joint: str, *, gear: Any = 1.0, control_range: Range = FREE, force_range: Range = FREE
    ) -> Actuator:
        """Build a motor on a joint: f = u [N·m, N], and the joint force is gear · u.

        ``control_range`` and ``force_range`` are pairs (lower, upper) for u and f. ``name`` is the motor's name.
        ``gear`` is a number, or one number for each of the joint's velocities.
        """
        return cls(name, ((joint, gear),), control_range=control_range, force_range=force_range)

    @classmethod
    @public
    def position(
        cls,
        name: str,
        joint: str,
        *,
        stiffness: float,
        damping: float = 0.0,
        gear: Any = 1.0,
        control_range: Range = FREE,
        force_range: Range = FREE,
    ) -> Actuator:
        """Build a position servo on a joint: f = stiffness · (u − l) − damping · l̇.

        ``control_range`` and ``force_range`` are pairs (lower, upper) for u and f; ``name`` is the servo's name. The
        control u is the target of the length l = gear · q [rad, m, times the gear].
        """
        k, d = (non_negative("Actuator.position", *x) for x in (("stiffness", stiffness), ("damping", damping)))
        ranges = control_range, force_range
        return cls(name, ((joint, gear),), None, (), None, (k, 0.0, 0.0), (0.0, 0.0 - k, 0.0 - d), *ranges)

    @classmethod
    @public
    def velocity(
        cls,
        name: str,
        joint: str,
        *,
        damping: float,
        gear: Any = 1.0,
        control_range: Range = FREE,
        force_range: Range = FREE,
    ) -> Actuator:
        """Build a velocity servo on a joint: f = damping · (u − l̇).

        ``control_range`` and ``force_range`` are pairs (lower, upper) for u and f; ``name`` is the servo's name. The
        control u is the target of the rate l̇ = gear · v [rad/s, m/s, times the gear].
        """
        d = non_negative("Actuator.velocity", "damping", damping)
        ranges = control_range, force_range
        return cls(name, ((joint, gear),), None, (), None, (d, 0.0, 0.0), (0.0, 0.0, 0.0 - d), *ranges)

    # -- force

    @property
    def kind(self) -> Literal["motor", "position", "velocity", "affine"]:
        """Kind of actuator by its gains: "motor", "position", "velocity", or "affine" for any other."""
        g, (b0, b1, b2) = self.gain, self.bias
        if g[1:] == (0.0, 0.0) and b0 == 0.0 and self.offset == 0.0:
            if (b1, b2) == (0.0, 0.0):
                return "motor"
            if b1 == -g[0]:
                return "position"
            if (b1, b2) == (0.0, -g[0]):
                return "velocity"
        return "affine"

    def force(self, control: Any, length: Any, rate: Any) -> Any:
        """Return the actuator's force f [N·m, N] before the gear, with control and force clamped to their ranges.

        ``control`` is u, ``length`` the length l of the transmission, and ``rate`` its time derivative l̇; they may be
        of any scalar type.
        """
        g0, g1, g2 = self.gain
        b0, b1, b2 = self.bias
        u = bounded(control, *self.control_range)
        return bounded((g0 + g1 * length + g2 * rate) * u + b0 + b1 * length + b2 * rate, *self.force_range)

    # -- names and joints

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames that the actuator refers to."""
        return tuple(name for name in (self.frame, self.relative_to) if name is not None)

    def with_names(self, names: Mapping[str, str], joints: Mapping[str, str] = _NO_NAMES) -> Actuator:
        """Return the actuator with frames renamed by ``names``, from old to new names, and joints by ``joints``."""
        if not any(x in names for x in self.frames) and not any(joint in joints for joint, _ in self.joints):
            return self
        frame, relative_to = (None if x is None else names.get(x, x) for x in (self.frame, self.relative_to))
        moved = tuple((joints.get(joint, joint), gears) for joint, gears in self.joints)
        return replace(self, joints=moved, frame=frame, relative_to=relative_to)

    def without_joints(self, fixed: Mapping[str, Sequence[float]]) -> Actuator | None:
        """Return the actuator without the listed joints, which are locked.

        ``fixed`` maps each locked joint to its coordinates (nv) from its zero.  The lengths of these joints become
        part of the offset.  Returns None if no joint is left.
        """
        left = tuple((joint, gears) for joint, gears in self.joints if joint not in fixed)
        if len(left) == len(self.joints):
            return self
        if not left:
            return None
        pairs = [zip(gears, fixed[joint], strict=True) for joint, gears in self.joints if joint in fixed]
        return replace(self, joints=left, offset=self.offset + sum(g * x for pair in pairs for g, x in pair))


def bounded(x: Any, low: float, high: float) -> Any:
    """Return x clamped to [low, high]; for symbols an infinite bound adds no operation, and NaN stays NaN."""
    if low != -math.inf:
        x = where(lt(x, low), low, x)
    return x if high == math.inf else where(lt(high, x), high, x)


# -- arguments


def _gears(caller: str, joints: Any) -> Iterator[tuple[str, tuple[float, ...]]]:
    pairs = joints.items() if isinstance(joints, Mapping) else joints
    names = set()
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError(f"{caller}: joints: expected pairs of a joint's name and its gear, got {shown(pair)}")
        name, gear = pair
        if name in names:
            raise ValueError(f"{caller}: joints: joint {name!r} is listed twice")
        names.add(name)
        row = (gear,) if is_real(gear) else gear
        yield name, _floats(caller, f"gear of joint {name!r}", row, None)


def _floats(caller: str, key: str, values: Any, count: int | None, *, ranged: bool = False) -> tuple[float, ...]:
    expected = "numbers" if count is None else f"{count} numbers"
    finite = "" if ranged else "finite "
    try:
        result = tuple(values)
    except TypeError:
        raise ValueError(f"{caller}: {key}: expected {finite}{expected}, got {shown(values)}") from None
    sound = bool(result) and count in (None, len(result)) and all(map(is_real, result))
    if not sound or not (ranged or all(map(math.isfinite, result))):
        raise ValueError(f"{caller}: {key}: expected {finite}{expected}, got {shown(values)}")
    return tuple(float(x) for x in result)
