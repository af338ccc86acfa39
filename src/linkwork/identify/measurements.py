"""Measurements of a moving robot as arrays of samples; training and held-out samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork import Robot
from linkwork._util.messages import first_of
from linkwork.kernels import by_joint, real_array, stacked_by_joint
from linkwork.model import FrictionLaw, quantity_of

__all__ = [
    "HeldOut",
    "Measurements",
    "joint_weights",
    "name_list",
    "read",
    "read_array",
    "require_motion",
    "rms",
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
    """Root mean square errors of an estimate at samples that it does not use, for each component.

    Joint forces have nv components [N·m, N], poses six [rad, m], positions three [m].

    ``error`` is that of the estimate, and ``nominal_error`` that of the robot before it.
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
    """Return the measurements as arrays of samples.  Raises ValueError and TypeError.

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
    if isinstance(value, Mapping):
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
    """Return a mask (n,) of held-out samples: the last share of the first dimension, or given indices in it."""
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
    """Return the weight 1 / σ of each joint force (nv,), 0 if it is not measured.

    None, if weights are to be computed from residuals.  Raises ValueError.
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
    """Return the names as a text for a message; of many names only the first ones."""
    return first_of([*map(repr, names)], _LISTED)


def _wrench(caller: str, frame: str, w: Any, leading: tuple[int, ...]) -> np.ndarray:
    array = real_array(f"{caller}: wrenches[{frame!r}]: expected an array of shape (..., 6)", w)
    if array.shape not in ((6,), (*leading, 6)):
        raise ValueError(f"{caller}: wrenches[{frame!r}]: expected shape {(*leading, 6)} or (6,), got {array.shape}")
    return array.reshape(-1, 6) if array.ndim > 1 else array
