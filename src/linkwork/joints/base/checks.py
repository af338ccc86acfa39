"""Checks of joint types' parameters, and of configurations of plain numbers before they are used.

One rule says what is near enough to the manifold of a joint's configurations.
"""

from __future__ import annotations

import math
import warnings
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.messages import printable
from linkwork._util.user_frames import levels_up
from linkwork.errors import ConfigurationWarning
from linkwork.joints.base.error_context import asked, blaming
from linkwork.spatial.arguments import LARGEST

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = [
    "EXACT",
    "NEAR",
    "SINGULAR",
    "checked",
    "distances",
    "finite",
    "may_be_off",
    "normalized",
    "positive",
    "refused",
]


NEAR = 1e-3  # a configuration as near to its manifold as this is normalised, with a warning
EXACT = 1e-6  # and one as near as this without a word: float32 rounds by 6e-8
SINGULAR = 1e-7  # regularity below which accelerations have lost half of their digits, and soon all
_ROUNDING = 4e-16  # and one as near as this is on it


def checked(joint: JointType, q: Any, name: str = "") -> np.ndarray:
    """The configuration (..., nq) as floats: see `JointType.checked`."""
    caller = f"joint {name!r} ({joint.type_name()})" if name else f"{joint.type_name()} joint"
    try:
        given = np.asarray(q)
        numbers = np.array(given, dtype=float) if given.dtype.kind in "iuf" or given.size == 0 else None
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or isinstance(q, np.ma.MaskedArray):
        raise ValueError(f"{caller}: expected a configuration of {joint.nq} numbers, got {printable(repr(q))}")
    if numbers.ndim == 0 or numbers.shape[-1] != joint.nq:
        got = f"shape {numbers.shape}" if numbers.ndim != 1 else f"{len(numbers)}: {numbers.tolist()}"
        named = f" ({', '.join(joint.q_names)})" if joint.q_names else ""
        raise ValueError(f"{caller}: expected a configuration of {joint.nq} numbers{named}, got {got}")
    if not np.isfinite(numbers).all():
        where = numbers.reshape(-1, joint.nq)
        worst = where[~np.isfinite(where).all(axis=-1)][0]
        raise ValueError(f"{caller}: expected finite numbers, got {worst.tolist()}")
    with blaming(name, joint) if name else nullcontext():
        off = distances(joint, numbers)
    if off.size == 0 or off.max() <= _ROUNDING:  # false for NaN
        return numbers
    if not off.max() <= EXACT:
        at = np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape)
        what = f"{caller}: expected {_expected(joint, numbers[at], float(off[at]))}"
        if not off[at] <= NEAR:
            raise ValueError(f"{what}; `normalize` gives the nearest configuration, where there is one")
        warnings.warn(f"{what}: normalised", ConfigurationWarning, stacklevel=levels_up())
    with blaming(name, joint) if name else nullcontext():
        return np.where(off[..., np.newaxis] > _ROUNDING, normalized(joint, numbers), numbers)


def may_be_off(joint: JointType, name: str = "") -> bool:
    """Whether some numbers are no configuration of a joint type; ``name`` is the joint's, for messages."""
    return bool(joint.unit_length) or asked(name, joint, "distance", [float("nan")] * joint.nq) != 0.0


def distances(joint: JointType, q: np.ndarray) -> np.ndarray:
    """`JointType.distance` of configurations (..., nq), of shape (...): NaN where no configuration is nearest."""
    with np.errstate(all="ignore"):
        off = joint.distance([q[..., k] for k in range(joint.nq)])
    return np.broadcast_to(np.asarray(off, dtype=float), q.shape[:-1])


def normalized(joint: JointType, q: np.ndarray) -> np.ndarray:
    """`JointType.normalize` of configurations (..., nq)."""
    with np.errstate(all="ignore"):
        columns = joint.normalize([q[..., k] for k in range(joint.nq)])
    return np.stack([np.broadcast_to(np.asarray(x, dtype=float), q.shape[:-1]) for x in columns], axis=-1)


def _expected(joint: JointType, q: np.ndarray, off: float) -> str:
    """What was expected of one configuration, and how it is not so."""
    lengths = {places: float(np.linalg.norm(q[list(places)])) for places in joint.unit_length}
    places, length = max(lengths.items(), key=lambda item: abs(item[1] - 1.0), default=((), 1.0))
    if abs(length - 1.0) <= 0.5 * EXACT:
        return f"a configuration, got {q.tolist()}, off by {off:.3g}"
    names = [joint.q_names[k] if joint.q_names else f"q[{k}]" for k in places]
    return f"({', '.join(names)}) of length 1, got {q[list(places)].tolist()} of length {length:.9g}"


def refused(of: str, parameter: str, expected: str, got: str, remedy: str = "") -> ValueError:
    """The error: the type of the joint, its parameter, what was expected, what was given, and what to do."""
    whose = f"{of}: {parameter}" if of else parameter
    return ValueError(f"{whose}: expected {expected}, got {got}" + (f"; {remedy}" if remedy else ""))


def finite(value: Any, of: str, parameter: str) -> float:
    """The parameter as a float.  Raises ValueError where it is not a finite number of at most 1e20, as a robot's."""
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise refused(of, parameter, "a number", repr(value)) from None
    if not math.isfinite(number):
        raise refused(of, parameter, "a finite number", repr(number))
    if abs(number) > LARGEST:
        raise refused(of, parameter, f"a number of at most {LARGEST:.0e}", repr(number))
    return number


def positive(value: Any, of: str, parameter: str) -> float:
    """The parameter as a float.  Raises ValueError where it is not a finite number above zero."""
    number = finite(value, of, parameter)
    if number <= 0.0:
        raise refused(of, parameter, "a positive number", repr(number))
    return number
