"""Checks of joint parameters, and of configurations against their manifold; errors of a joint type's code.

The thresholds below decide which configurations are near enough to the manifold to be accepted.  Errors of a joint
type's code are reported with the joint's name, the method and the line.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.lazy_imports import defining_module
from linkwork._util.messages import printable
from linkwork._util.user_frames import levels_up, own_frames, own_line
from linkwork._util.validation import is_masked
from linkwork.errors import ConfigurationWarning, JointMethodError
from linkwork.spatial.arguments import LARGEST

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = [
    "MAX_MANIFOLD_DISTANCE",
    "MIN_REGULARITY",
    "SILENT_MANIFOLD_DISTANCE",
    "attribute_errors",
    "call_joint",
    "checked_configuration",
    "finite_parameter",
    "has_manifold",
    "manifold_distances",
    "normalized",
    "parameter_error",
    "positive_parameter",
]

MAX_MANIFOLD_DISTANCE = 1e-3  # configurations up to this distance are normalised, with a warning
SILENT_MANIFOLD_DISTANCE = 1e-6  # up to this distance without a warning: float32 rounds by 6e-8
MIN_REGULARITY = 1e-7  # below it, accelerations have lost half of their digits
_ROUNDING = 4e-16  # up to this distance, a configuration is on the manifold


def checked_configuration(joint: JointType, q: Any, name: str = "") -> np.ndarray:
    """Return a configuration (..., nq) as floats on the manifold; see `JointType.checked`."""
    caller = f"joint {name!r} ({joint.type_name()})" if name else f"{joint.type_name()} joint"
    try:
        array = np.asarray(q)
        values = np.array(array, dtype=float) if array.dtype.kind in "iuf" or array.size == 0 else None
    except (TypeError, ValueError):
        values = None
    if values is None or is_masked(q):
        raise ValueError(f"{caller}: expected a configuration of {joint.nq} numbers, got {printable(repr(q))}")
    if values.ndim == 0 or values.shape[-1] != joint.nq:
        got = f"shape {values.shape}" if values.ndim != 1 else f"{len(values)}: {values.tolist()}"
        named = f" ({', '.join(joint.q_names)})" if joint.q_names else ""
        raise ValueError(f"{caller}: expected a configuration of {joint.nq} numbers{named}, got {got}")
    if not np.isfinite(values).all():
        where = values.reshape(-1, joint.nq)
        worst = where[~np.isfinite(where).all(axis=-1)][0]
        raise ValueError(f"{caller}: expected finite numbers, got {worst.tolist()}")
    with attribute_errors(name, joint) if name else nullcontext():
        off = manifold_distances(joint, values)
    if off.size == 0 or off.max() <= _ROUNDING:  # false for NaN
        return values
    if not off.max() <= SILENT_MANIFOLD_DISTANCE:
        at = np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape)
        expectation = f"{caller}: expected {_expected(joint, values[at], float(off[at]))}"
        if not off[at] <= MAX_MANIFOLD_DISTANCE:
            raise ValueError(f"{expectation}; `normalize` returns the nearest configuration, if there is one")
        warnings.warn(f"{expectation}: normalised", ConfigurationWarning, stacklevel=levels_up())
    with attribute_errors(name, joint) if name else nullcontext():
        return np.where(off[..., np.newaxis] > _ROUNDING, normalized(joint, values), values)


def has_manifold(joint: JointType, name: str = "") -> bool:
    """Return True if not every vector of nq finite values is a configuration of the joint type.

    ``name`` is the joint's name, for messages.
    """
    return bool(joint.unit_length) or call_joint(name, joint, "distance", [float("nan")] * joint.nq) != 0.0


def manifold_distances(joint: JointType, q: np.ndarray) -> np.ndarray:
    """Return the distance of each configuration (..., nq) from the joint's manifold, `JointType.distance`.

    The result is an array of shape (...), NaN where no nearest configuration exists.
    """
    with np.errstate(all="ignore"):
        off = joint.distance([q[..., k] for k in range(joint.nq)])
    return np.broadcast_to(np.asarray(off, dtype=float), q.shape[:-1])


def normalized(joint: JointType, q: np.ndarray) -> np.ndarray:
    """Return the nearest configurations on the joint's manifold to q (..., nq), by `JointType.normalize`."""
    with np.errstate(all="ignore"):
        columns = joint.normalize([q[..., k] for k in range(joint.nq)])
    return np.stack([np.broadcast_to(np.asarray(x, dtype=float), q.shape[:-1]) for x in columns], axis=-1)


def _expected(joint: JointType, q: np.ndarray, off: float) -> str:
    """Return the end of an error message about a configuration q off the manifold: what was expected and got."""
    lengths = {indices: float(np.linalg.norm(q[list(indices)])) for indices in joint.unit_length}
    indices, length = max(lengths.items(), key=lambda item: abs(item[1] - 1.0), default=((), 1.0))
    if abs(length - 1.0) <= 0.5 * SILENT_MANIFOLD_DISTANCE:
        return f"a configuration, got {q.tolist()}, off by {off:.3g}"
    names = [joint.q_names[k] if joint.q_names else f"q[{k}]" for k in indices]
    return f"({', '.join(names)}) of length 1, got {q[list(indices)].tolist()} of length {length:.9g}"


def parameter_error(of: str, parameter: str, expected: str, got: str, remedy: str = "") -> ValueError:
    """Return the ValueError for a parameter of a joint type; ``of`` is the type's name."""
    owner = f"{of}: {parameter}" if of else parameter
    return ValueError(f"{owner}: expected {expected}, got {got}" + (f"; {remedy}" if remedy else ""))


def finite_parameter(value: Any, of: str, parameter: str) -> float:
    """Return a parameter as a float.  Raises ValueError unless it is finite and at most 1e20 in size."""
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise parameter_error(of, parameter, "a number", repr(value)) from None
    if not math.isfinite(number):
        raise parameter_error(of, parameter, "a finite number", repr(number))
    if abs(number) > LARGEST:
        raise parameter_error(of, parameter, f"a number of at most {LARGEST:.0e}", repr(number))
    return number


def positive_parameter(value: Any, of: str, parameter: str) -> float:
    """Return a parameter as a float.  Raises ValueError unless it is finite and positive."""
    number = finite_parameter(value, of, parameter)
    if number <= 0.0:
        raise parameter_error(of, parameter, "a positive number", repr(number))
    return number


_CONTRACT = f"{__package__}.joint_type"  # module of JointType, which imports this one


def call_joint(name: str, joint: JointType, method: str, *arguments: Any) -> Any:
    """Return the result of a method of a joint type.

    Raises JointMethodError, with the joint's name, for an exception in the method.
    """
    try:
        return getattr(joint, method)(*arguments)
    except JointMethodError:
        raise
    except Exception as raised:
        kind = type(joint)
        raise JointMethodError(name, kind.__name__, method, own_line(raised, kind, _contract(kind))) from raised


@contextmanager
def attribute_errors(name: str, joint: JointType) -> Iterator[None]:
    """Convert exceptions raised by the type's own code within the context to JointMethodError."""
    try:
        yield
    except JointMethodError:
        raise
    except Exception as raised:
        kind = type(joint)
        frames = own_frames(raised, kind, _contract(kind))
        if not frames or kind.__module__.startswith("linkwork."):
            raise
        raise JointMethodError(name, kind.__name__, frames[0].name, own_line(raised, kind, _contract(kind))) from raised


def _contract(kind: type[JointType]) -> type:
    return next(base for base in kind.__mro__ if defining_module(base) == _CONTRACT)
