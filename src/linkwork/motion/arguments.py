"""Checks of the arguments of trajectories: times, numbers, arrays, and limits of motions.

A limit is a number, an array (n,) with a number for each coordinate, a pair (lower, upper) of these, or a dict by
joint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.messages import listed
from linkwork._util.validation import finite_array, floats, integer, positive
from linkwork.errors import UnknownNameError
from linkwork.joints import JointType
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.coordinate_names import index_of, joint_of
from linkwork.motion.algorithms.curves import CurveSpace

__all__ = [
    "Limit",
    "Outside",
    "Side",
    "bases",
    "increasing",
    "normalized",
    "own_limits",
    "read_limit",
    "read_positions",
    "sample_count",
    "space_of",
    "times_at_rate",
    "times_within",
]


Limit = ArrayLike | tuple[ArrayLike, ArrayLike] | Mapping[str, Any]  # a value, a pair (lower, upper), or by joint
Outside = Literal["raise", "hold"]
Side = Literal["left", "right"]
_CACHE_KEY = "normalization changes q"  # of a robot's cached calls
_ROUNDING = 1e-9  # of a duration: times that are less outside count as the ends
_MAX_SAMPLES = 10**9


def increasing(caller: str, times: Any) -> np.ndarray:
    """Return times (n,) as an array.  Raises ValueError unless there are at least two and they increase."""
    result = finite_array(caller, "times", times, shape=("n",), unit="s")
    expected = f"{caller}: times: expected at least two increasing times [s]"
    if len(result) < 2:
        raise ValueError(f"{expected}; got shape {result.shape}")
    if not (np.diff(result) > 0.0).all():
        k = int(np.flatnonzero(~(np.diff(result) > 0.0))[0])
        raise ValueError(f"{expected}; got {result[k]:.9g} at {k} and {result[k + 1]:.9g} after it")
    return result


def times_within(
    caller: str, t: Any, first: float, last: float, outside: Any = "raise", *, hint: bool = False, is_timed: bool = True
) -> np.ndarray:
    """Return times t (...) as an array.  Raises ValueError if a time is not between ``first`` and ``last``.

    The limits may be exceeded by rounding errors. With ``outside`` = "hold" all finite times are valid; ``hint`` adds
    this remedy to the error. If ``is_timed`` is False, error messages call the values path lengths.
    """
    if not isinstance(outside, str) or outside not in ("raise", "hold"):
        raise ValueError(f'{caller}: outside: expected "raise" or "hold", got {outside!r}')
    kind, unit = ("a time or an array of times [s]", " s") if is_timed else ("a length or an array [rad, m]", " rad, m")
    expected = f"{caller}: t: expected {kind}"
    times = np.asarray(real_array(expected, t), dtype=np.float64)
    if not times.size:
        return times
    low, high = float(times.min()), float(times.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"{expected}, got one that is not finite")
    if outside == "hold":
        return times
    room = _ROUNDING * (last - first)
    if low < first - room or high > last + room:
        bad = low if low < first - room else high
        remedy = '; with outside="hold" it rests there' if hint else ""
        raise ValueError(f"{caller}: t = {bad:.9g}{unit} is outside of [{first:.9g}, {last:.9g}]{unit}{remedy}")
    return np.clip(times, first, last) if low < first or high > last else times


def sample_count(caller: str, duration: float, dt: float | None, num_samples: int | None) -> int:
    """Return the number of samples for steps of about ``dt`` [s], or ``num_samples``.  Raises ValueError."""
    if (dt is None) == (num_samples is None):
        raise ValueError(f"{caller}: expected either dt [s] or num_samples, got {'neither' if dt is None else 'both'}")
    if num_samples is None:
        dt = positive(caller, "dt", dt, unit="s", symbols=False)
        if duration / dt > _MAX_SAMPLES:
            raise ValueError(f"{caller}: dt: expected at most {_MAX_SAMPLES} samples, got steps of {dt:g} s")
        num_samples = max(int(np.ceil(duration / dt - 1e-9)), 1) + 1
    return integer(caller, "num_samples", num_samples, least=2, most=_MAX_SAMPLES)


def times_at_rate(caller: str, first: float, last: float, rate: Any) -> np.ndarray:
    """Return times (n,) [s] from ``first`` to ``last`` with steps of 1/``rate``; the last step may be shorter.

    Raises ValueError for a rate that is not positive, and for too many times.
    """
    rate = positive(caller, "rate", rate, symbols=False, unit="1/s")
    count = sample_count(caller, last - first, 1.0 / rate, None)
    result: np.ndarray = np.append(first + np.arange(count - 1) / rate, last)
    return result


def normalized(robot: Any, q: np.ndarray) -> np.ndarray:
    """Return configurations (..., nq) normalised to a robot's manifold, in a new array; without a robot, a copy."""
    if robot is None:
        return np.array(q)
    changes: bool | None = robot._calls.get(_CACHE_KEY)
    if changes is None:  # without quaternions and the like no code is compiled
        joints = [body.joint for body in robot.tree.bodies]
        changes = any(x.unit_length or type(x).normalize is not JointType.normalize for x in joints)
        robot._calls[_CACHE_KEY] = changes
    return np.asarray(robot.normalize(q)) if changes else np.array(q)


def space_of(caller: str, robot: RobotBase | None, rows: Any, axis: int) -> CurveSpace:
    """Return the configuration space of a robot's curves; without a robot, a space of plain coordinates.

    The number of plain coordinates is the length of the axis ``axis`` of the coefficients ``rows``.
    """
    if robot is not None:
        return CurveSpace.of(robot.tree)
    shape = np.shape(rows)
    if len(shape) <= axis:
        raise ValueError(f"{caller}: coefficients: expected an array of {axis + 2} dimensions, got shape {shape}")
    return CurveSpace(shape[axis], shape[axis])


def bases(caller: str, space: CurveSpace, base: Any, shape: tuple[int, ...], robot: Any) -> np.ndarray:
    """Return configurations ``base`` as an array of ``shape``, on the robot's manifold.  Raises ValueError.

    A polynomial φ(t) of tangent vectors begins at its base: q(t) = base ⊕ φ(t).
    """
    if base is None:
        raise ValueError(
            f"{caller}: base: expected configurations of shape {shape}, got None: the robot has joints "
            f"with orientations, for which q(t) = base ⊕ φ(t)"
        )
    return normalized(robot, finite_array(caller, "base", base, shape=shape))


def own_limits(robot: Any, quantity: str) -> np.ndarray | None:
    """Return a robot's own limits (nv,) of "velocity", "acceleration" or "jerk"; the last two may be None."""
    every = quantity == "velocity"
    if robot is None or not (every or any(getattr(body.limits, quantity) for body in robot.tree.bodies)):
        return None
    limits: np.ndarray = getattr(robot, f"{quantity}_limits")
    return limits if every or np.isfinite(limits).any() else None


def read_limit(
    caller: str, quantity: str, value: Any, names: Sequence[str], robot: Any = None, default: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the magnitudes (n,) of the upper and of the lower limits of a quantity.

    A number or an array (n,) is the magnitude in both directions. A pair (lower, upper) has the limits of both
    directions, with their signs. A dict has such a value for each joint name of ``robot``; joints without an entry
    have the ``default`` limits (n,). Raises ValueError for an invalid limit or NaN, for a limit on the wrong side of 0
    (rest must be feasible), and for a dict that leaves out joints without default limits. Raises UnknownNameError for
    an unknown joint.
    """
    if isinstance(value, Mapping):
        return _limit_by_joint(caller, quantity, value, names, robot, default)
    return _magnitudes(caller, quantity, value, names)


def _magnitudes(caller: str, quantity: str, value: Any, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    n = len(names)
    expected = f"{caller}: {quantity}: expected a positive number, an array of shape ({n},) or a pair (lower, upper)"
    try:
        pair = isinstance(value, tuple) and len(value) == 2
        lower, upper = value if pair else (None, value)
        up = np.broadcast_to(floats(upper), (n,)).copy()
        down = up.copy() if lower is None else -np.broadcast_to(floats(lower), (n,))
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {value!r}") from None
    for magnitudes, sign, side in ((up, 1.0, "upper"), (down, -1.0, "lower")):
        bad = ~(magnitudes >= 0.0)
        if bad.any():
            k = int(np.argmax(bad))
            side = f"a {side} limit" if pair else "a limit"
            raise ValueError(
                f"{caller}: {quantity} of {names[k]}: expected {side} {'>=' if sign > 0.0 else '<='} 0, which "
                f"permits rest, got {sign * magnitudes[k]:.6g}"
            )
    return up, down


def _limit_by_joint(
    caller: str, quantity: str, value: Mapping[str, Any], names: Sequence[str], robot: Any, default: Any
) -> tuple[np.ndarray, np.ndarray]:
    n = len(names)
    if robot is None:
        raise ValueError(f"{caller}: {quantity}: expected a number or an array of shape ({n},), {_NO_NAMES}")
    missing = np.full(n, np.nan)
    up, down = (missing.copy() if default is None else np.array(default, dtype=float) for _ in range(2))
    for joint, limit in value.items():
        at = _indices(caller, quantity, robot, "v", joint)
        up[at], down[at] = _magnitudes(f"{caller}: joint {joint!r}", quantity, limit, [names[k] for k in at])
    left = np.flatnonzero(np.isnan(up))
    if left.size:
        joints = dict.fromkeys(joint_of(robot.tree, int(k)) for k in left)
        raise ValueError(
            f"{caller}: {quantity}: expected a limit of every joint, since the robot has no limits of {quantity} of "
            f"its own, got a dict without {listed(joints)}; inf stands for no limit"
        )
    return up, down


def read_positions(
    caller: str, name: str, value: Any, size: int, robot: Any = None, default: np.ndarray | None = None
) -> np.ndarray:
    """Return position limits (nq,), lower or upper, from a number, an array, or a dict of numbers by joint.

    Joints that a dict leaves out have the ``default`` limits (nq,). Raises ValueError, and UnknownNameError for an
    unknown joint.
    """
    if isinstance(value, Mapping):
        if robot is None or default is None:
            raise ValueError(f"{caller}: {name}: expected a number or an array of shape ({size},), {_NO_NAMES}")
        result = np.array(default, dtype=float)
        for joint, limit in value.items():
            at = _indices(caller, name, robot, "q", joint)
            result[at] = _positions(caller, f"{name}[{joint!r}]", limit, len(at))
        return result
    return _positions(caller, name, value, size)


def _positions(caller: str, name: str, value: Any, size: int) -> np.ndarray:
    expected = f"{caller}: {name}: expected a number or an array of shape ({size},)"
    result = np.asarray(real_array(expected, value), dtype=float)
    if result.shape not in ((), (size,)) or np.isnan(result).any():
        raise ValueError(f"{expected}, got {value!r}")
    return np.broadcast_to(result, (size,))


_NO_NAMES = "got a dict by joint, but without a robot coordinates have no names"


def _indices(caller: str, name: str, robot: Any, which: Literal["q", "v"], joint: Any) -> np.ndarray:
    try:
        return index_of(robot.tree, which, [joint])
    except UnknownNameError as error:
        raise error.at(f"{caller}: {name}") from None
