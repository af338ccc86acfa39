"""Velocities and accelerations from measured positions: a zero-phase low-pass filter, and central differences.

Source: Gautier, Dynamic identification of robots with power model, IEEE ICRA 1997 (Butterworth, forward and backward).

SciPy is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork import Robot
from linkwork._util.checked_arguments import public
from linkwork._util.lazy_imports import optional_module
from linkwork._util.validation import finite_number, integer
from linkwork.identify.measurements import read_array
from linkwork.kernels import Array, real_array

__all__ = ["Signals", "differentiate", "low_pass", "scipy_module"]

_LEAST_CUTOFF = 1e-6  # of the sampling rate: coefficients near (2π r)² are differences from 1, rounded by 6e-6 of them


class Signals(NamedTuple):
    """Configurations, velocities and accelerations of a motion at equal time steps."""

    q: np.ndarray  # (n, nq), filtered where q̇ is v
    v: np.ndarray  # (n, nv)
    a: np.ndarray  # (n, nv)


@public
def differentiate(robot: Robot, t: ArrayLike, q: Array, *, cutoff: float, order: int = 4) -> Signals:
    """Return q, v and a from measured positions, low-pass filtered without delay.

    t (n,) [s] are equal time steps, q (n, nq) are positions of the ``robot``, and the ``cutoff`` is in [Hz].
    Velocities are central differences of fourth order in the tangent space (`Robot.difference` from a sample to two
    before and two after it), for all joint types; accelerations are those of the filtered velocities.  For a sine of
    frequency f, velocities are too small by the share (2π f h)⁴ / 30, with the time step h, and accelerations by twice
    that: 0.06 % at 5 Hz and 100 samples a second, besides the filter's own loss.  The filter is a Butterworth filter of
    an ``order``, run forward and backward.  If a joint's configuration is plain coordinates, with v their rates, q is
    filtered too; otherwise it is unchanged.  Joint forces should be filtered in the same way: `low_pass`.  The first
    and last few periods of the cutoff are less accurate: leave them out.

    Needs SciPy: ``pip install "linkwork[identify]"``.  Raises ValueError for unequal time steps, for angles that jump
    by more than half a revolution between samples, as wrapped angles do, and for a cutoff that is not below half the
    sampling rate.
    """
    caller = "differentiate"
    if not isinstance(robot, Robot):
        raise TypeError(f"{caller}: robot: expected a Robot, got {robot!r}")
    positions = read_array(caller, robot, "q", q)
    if positions.ndim != 2:
        raise ValueError(
            f"{caller}: q: expected the samples of one motion, shape (n, {robot.nq}), got shape "
            f"{positions.shape}; differentiate motions one by one"
        )
    step = _step(caller, t, positions, "q")
    _refuse_wrapped_angles(caller, robot, positions)
    v = _filtered(caller, _rates(positions, step, robot.difference), 1.0 / step, cutoff, order)
    smooth = positions.copy()
    for _, body in robot.tree.stacked():
        index = robot.q_index([body.joint_name])
        if robot.joint(body.joint_name).velocity_is_rate:
            smooth[:, index] = _filtered(caller, positions[:, index], 1.0 / step, cutoff, order)
    return Signals(smooth, v, _rates(v, step, lambda x, y: y - x))


def _rates(x: np.ndarray, step: float, difference: Callable[[np.ndarray, np.ndarray], Any]) -> np.ndarray:
    """Return the rates of samples: (8 (x₊₁ − x₋₁) − (x₊₂ − x₋₂)) / (12 h), where − is a difference from the sample.

    The rate of a sine of angular frequency ω is too small by the share (ω h)⁴ / 30, that of the second sample from each
    end by (ω h)² / 6.  At the ends it is the difference to the next sample.
    """
    ahead = [np.asarray(difference(x[:-k], x[k:])) for k in (1, 2)]
    behind = [np.asarray(difference(x[k:], x[:-k])) for k in (1, 2)]
    result = np.empty((len(x), ahead[0].shape[1]))
    result[0], result[-1] = ahead[0][0] / step, -behind[0][-1] / step
    result[1:-1] = (ahead[0][1:] - behind[0][:-1]) / (2.0 * step)
    result[2:-2] = (8.0 * (ahead[0][2:-1] - behind[0][1:-2]) - (ahead[1][2:] - behind[1][:-2])) / (12.0 * step)
    return result


@public
def low_pass(t: ArrayLike, x: ArrayLike, *, cutoff: float, order: int = 4) -> np.ndarray:
    """Return measurements low-pass filtered without delay.

    x (n, ...) are at equal time steps t (n,) [s]; the ``cutoff`` is in [Hz].  The filter is a Butterworth filter of an
    ``order``, run forward and backward.

    Needs SciPy: ``pip install "linkwork[identify]"``. Raises ValueError for unequal time steps, for values that are
    not finite, and for a cutoff that is not below half the sampling rate, or below a millionth of it.
    """
    caller = "low_pass"
    values = real_array(f"{caller}: x: expected an array of measurements, (n, ...)", x).astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{caller}: x: expected finite numbers")
    return _filtered(caller, values, 1.0 / _step(caller, t, values, "x"), cutoff, order)


def _step(caller: str, t: ArrayLike, x: np.ndarray, name: str) -> float:
    """Return the time step between samples."""
    times = real_array(f"{caller}: t: expected times (n,) [s]", t).astype(np.float64)
    if times.ndim != 1 or x.ndim < 1 or len(times) != len(x) or len(times) < 16:
        raise ValueError(
            f"{caller}: {name}: expected at least 16 samples of one motion with times t (n,), got shapes "
            f"{times.shape} of t and {x.shape} of {name}"
        )
    steps = np.diff(times)
    mean = float(steps.mean())
    if not np.isfinite(steps).all() or not mean > 0.0 or np.abs(steps - mean).max() > 1e-3 * mean:
        raise ValueError(
            f"{caller}: t: expected times at equal steps, got steps from {steps.min():.6g} to {steps.max():.6g} s; "
            f"interpolate first"
        )
    return mean


def _refuse_wrapped_angles(caller: str, robot: Robot, q: np.ndarray) -> None:
    """Raise ValueError if an angle jumps by more than half a revolution."""
    for _, body in robot.tree.stacked():
        for index, unit in zip(robot.q_index([body.joint_name]).tolist(), body.joint.q_units, strict=True):
            jumps = np.abs(np.diff(q[:, index]))
            if unit == "rad" and jumps.max() > np.pi:
                k = int(np.argmax(jumps > np.pi))
                raise ValueError(
                    f"{caller}: q[{k + 1}, {index}] ({robot.q_names[index]!r}): expected an angle within "
                    f"half a revolution of the sample before, got {q[k + 1, index]:.6g} after {q[k, index]:.6g} rad; "
                    f"unwrap angles, q[:, {index}] = np.unwrap(q[:, {index}]), or sample more often"
                )


def _filtered(caller: str, x: np.ndarray, rate: float, cutoff: float, order: int) -> np.ndarray:
    least, most = _LEAST_CUTOFF * rate, float(np.nextafter(0.5 * rate, 0.0))
    between = f"a frequency from {least:.6g} Hz to below half the sampling rate, {0.5 * rate:.6g} Hz"
    frequency = finite_number(caller, "cutoff", cutoff, least=least, most=most, symbols=False, description=between)
    count = integer(caller, "order", order, least=1)
    signal = scipy_module(caller, "signal")
    sections = signal.butter(count, frequency, fs=rate, output="sos")
    pad = min(len(x) - 1, int(3.0 * rate / frequency))
    result: np.ndarray = signal.sosfiltfilt(sections, x, axis=0, padlen=pad)
    return result


def scipy_module(caller: str, part: str) -> Any:
    """Return an imported module of SciPy.  Raises ImportError, with the remedy, if SciPy is not installed."""
    return optional_module(f"scipy.{part}", f"identify.{caller} needs SciPy", "identify")
