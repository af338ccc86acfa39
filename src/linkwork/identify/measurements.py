"""Measurements of a moving robot as arrays of samples, and velocities and accelerations from measured positions.

The filter is a zero-phase low-pass filter (Butterworth, forward and backward), before central differences.  Source:
Gautier, Dynamic identification of robots with power model, IEEE ICRA 1997.  SciPy is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork import Robot
from linkwork._util.checked_arguments import public
from linkwork._util.lazy_imports import optional_module
from linkwork._util.messages import first_of
from linkwork._util.validation import finite_number, integer
from linkwork.kernels import Array, by_joint, real_array, stacked_by_joint
from linkwork.model import FrictionLaw, quantity_of

__all__ = [
    "HeldOut",
    "Measurements",
    "Signals",
    "differentiate",
    "joint_weights",
    "low_pass",
    "name_list",
    "read",
    "read_array",
    "require_motion",
    "rms",
    "scipy_module",
    "split",
]

_LARGEST_WEIGHT = 1e100  # squares of larger weighted values overflow
_CHUNK = 2**22  # values of a regressor that are computed together
_LISTED = 6  # names in a message
_NOT_MEASURED = object()  # distinguishes a missing argument from None


@dataclass(frozen=True)
class Measurements:
    """Samples (n, ...) of a robot's state and joint forces; external wrenches are included in ``tau``."""

    robot: Robot
    q: np.ndarray  # (n, nq)
    v: np.ndarray  # (n, nv)
    a: np.ndarray  # (n, nv)
    tau: np.ndarray  # (n, nv): τ + Σ Jᵀ w
    leading: tuple[int, ...]  # dimensions of the arguments before nq, nv

    def __len__(self) -> int:
        return len(self.q)

    def at(self, where: np.ndarray) -> Measurements:
        """Return the samples for which the mask ``where`` (n,) is True."""
        return Measurements(
            self.robot, self.q[where], self.v[where], self.a[where], self.tau[where], (int(where.sum()),)
        )

    def regressors(self, passive: bool, friction: str | FrictionLaw) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the regressor Y (k, nv, npi) and the joint forces τ (k, nv) of all samples, in chunks of k."""
        columns = len(self.robot.parameter_names(passive=passive))
        step = max(1, _CHUNK // max(1, self.robot.nv * columns))
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            options: Any = {"passive": passive, "friction": friction} if passive else {}
            Y = self.robot.inverse_dynamics_regressor(self.q[part], self.v[part], self.a[part], **options)
            yield Y, self.tau[part]


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Root mean square errors at held-out samples, which the fit did not use, for each component.

    Joint forces have nv components [N·m, N], poses six [rad, m], positions three [m].

    ``error`` is the error of the estimate, and ``nominal_error`` the error of the original robot.
    """

    samples: int
    error: np.ndarray  # of the estimate
    nominal_error: np.ndarray  # of the original robot

    @property
    def relative(self) -> np.ndarray:
        """The estimate's errors divided by those of the original robot; NaN where these are zero."""
        with np.errstate(invalid="ignore", divide="ignore"):
            result: np.ndarray = np.where(self.nominal_error > 0.0, self.error / self.nominal_error, np.nan)
        return result


def read(
    caller: str,
    robot: Robot,
    q: Any,
    v: Any,
    a: Any,
    tau: Any = _NOT_MEASURED,
    wrenches: Mapping[str, ArrayLike] | None = None,
    expressed_in: str | Mapping[str, str] = "world",
) -> Measurements:
    """Read measurements as arrays of samples. Raises ValueError and TypeError.

    External wrenches are added to the joint forces.
    """
    if not isinstance(robot, Robot):
        raise TypeError(f"{caller}: robot: expected a Robot, got {robot!r}")
    robot.tree.require_inertias(caller)
    require_motion(caller, robot)
    values = {"q": q, "v": v, "a": a} | ({} if tau is _NOT_MEASURED else {"tau": tau})
    arrays = {name: read_array(caller, robot, name, value) for name, value in values.items()}
    leading = arrays["q"].shape[:-1]
    for name, array in arrays.items():
        if array.shape[:-1] != leading:
            raise ValueError(
                f"{caller}: {name}: expected as many samples as q, shape {(*leading, array.shape[-1])}, got shape "
                f"{array.shape}"
            )
    if not leading or math.prod(leading) < 2:
        raise ValueError(f"{caller}: q: expected samples of a motion, shape (n, {robot.nq}), got shape {np.shape(q)}")
    flat = {name: array.reshape(-1, array.shape[-1]) for name, array in arrays.items()}
    forces = flat.get("tau", np.zeros_like(flat["v"]))
    if wrenches:
        acting = {name: _wrench(caller, name, w, leading) for name, w in wrenches.items()}
        zeros = np.zeros_like(flat["v"])
        zero = (0.0, 0.0, 0.0)
        forces = forces - robot.inverse_dynamics(
            flat["q"], zeros, zeros, gravity=zero, wrenches=acting, expressed_in=expressed_in
        )
    return Measurements(robot, flat["q"], flat["v"], flat["a"], forces, leading)


def require_motion(caller: str, robot: Robot) -> None:
    """Raise ValueError for a robot without degrees of freedom."""
    if robot.nv == 0:
        raise ValueError(
            f"{caller}: robot {robot.name!r} has no degrees of freedom, so it cannot be identified from motions"
        )


def read_array(caller: str, robot: Robot, name: str, value: Any) -> np.ndarray:
    """Return a finite float64 array (..., nq) or (..., nv), from an array or a dict by joint."""
    quantity = quantity_of(name)
    if isinstance(value, (Mapping, str)):
        array: np.ndarray = stacked_by_joint(robot, caller, name, value, name, real_array)
    else:
        size = robot.nq if name == "q" else robot.nv
        expected = f"{caller}: {name}: expected an array of shape (..., {size}), the {quantity.doc}"
        array = real_array(expected, value)
        if array.ndim == 0 or array.shape[-1] != size:
            follow = ""
            if robot.tree.has_couplings and array.ndim and array.shape[-1] == len(robot.tree.bodies):
                follow = "; joints that follow others have no entries"
            raise ValueError(f"{expected}; got shape {array.shape}{follow}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        at = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        names = robot.q_names if name == "q" else robot.v_names
        raise ValueError(
            f"{caller}: {name}[{', '.join(map(str, at))}] ({names[at[-1]]!r}) is {array[at]}; leave out samples that "
            f"were not measured"
        )
    return array


def split(caller: str, held_out: Any, leading: tuple[int, ...]) -> np.ndarray:
    """Return a mask (n,) of held-out samples, where n is the product of ``leading``.

    ``held_out`` is the fraction at the end of the first dimension, or indices or a mask of the first dimension.  None
    holds out no sample.  Raises ValueError.
    """
    count = leading[0]
    mask = np.zeros(count, dtype=bool)
    expected = f"{caller}: held_out: expected a fraction >= 0 and < 1, or indices in the first dimension ({count})"
    values = np.zeros(()) if held_out is None else real_array(expected, held_out)
    if values.ndim == 0:
        fraction = float(values)
        if not 0.0 <= fraction < 1.0:
            raise ValueError(f"{expected}; got {held_out!r}")
        mask[count - math.ceil(fraction * count) :] = fraction > 0.0
    else:
        indices = np.asarray(held_out)
        if indices.dtype == bool and indices.shape == (count,):
            mask |= indices
        elif indices.dtype.kind in "iu" and indices.ndim == 1 and (np.abs(indices + 0.5) < count + 0.5).all():
            mask[indices] = True
        else:
            raise ValueError(f"{expected}; got {held_out!r}")
    if mask.all():
        raise ValueError(
            f"{caller}: held_out: all of the first dimension ({count}) is held out, with no samples left for the "
            f"estimate; "
            f"drop the dimension of a single motion, or pass held_out=0.0"
        )
    return np.repeat(mask, math.prod(leading[1:]))


def joint_weights(caller: str, robot: Robot, weights: Any) -> np.ndarray | None:
    """Return the weights 1 / σ (nv,) of the joint forces, 0 for a force that is not measured.

    The result is None if weights are to be computed from residuals. Raises ValueError.
    """
    if weights is None:
        return None
    result = by_joint(caller, "weights", robot.tree, weights, default=0.0, least=0.0)
    if not result.any() or result.max() > _LARGEST_WEIGHT:
        raise ValueError(
            f"{caller}: weights: expected 1 / σ of each joint force, 0 for those not measured but not for all, "
            f"at most {_LARGEST_WEIGHT:g}, got {weights!r}"
        )
    return result


def rms(errors: np.ndarray) -> np.ndarray:
    """Return the root mean squares (k,) of errors (n, k)."""
    result: np.ndarray = np.sqrt((errors * errors).mean(axis=0))
    return result


def name_list(names: Any) -> str:
    """Return names as text for an error message; only the first ones of a long list."""
    return first_of([*map(repr, names)], _LISTED)


def _wrench(caller: str, frame: str, w: Any, leading: tuple[int, ...]) -> np.ndarray:
    array = real_array(f"{caller}: wrenches[{frame!r}]: expected an array of shape (..., 6)", w)
    if array.shape not in ((6,), (*leading, 6)):
        raise ValueError(f"{caller}: wrenches[{frame!r}]: expected shape {(*leading, 6)} or (6,), got {array.shape}")
    return array.reshape(-1, 6) if array.ndim > 1 else array


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
    frequency f and a time step h, the relative error of velocities is −(2π f h)⁴ / 30, and that of accelerations is
    twice as large: 0.06 % at 5 Hz and 100 samples a second, in addition to the filter's loss.  The filter is a
    Butterworth filter of an ``order``, run forward and backward.  If a joint's configuration is plain coordinates,
    with v their rates, q is filtered too; otherwise it is unchanged.  Joint forces should be filtered in the same way:
    `low_pass`.  The first and last few periods of the cutoff are less accurate: leave them out.

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

    For a sine of angular frequency ω, the relative error of the rate is −(ω h)⁴ / 30, and −(ω h)² / 6 at the second
    sample from each end.  At the ends the rate is the difference quotient to the next sample.
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
    """Return the time step [s] between samples, after checks of t and x."""
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
