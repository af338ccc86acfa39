"""Geometric calibration from measured poses: Gauss–Newton method on pose errors.

The error of a sample is the difference from the robot's pose to the measured one (as in `linkwork.pose_difference`).
The unknowns x are offsets of placements, of joint zeros and of the base.  The derivative is exact, by differentiation
of the kernel.  As for inertial parameters, a rank analysis of the derivative at random configurations determines which
x are identifiable.  For example, an offset along the axis of a hinge has the same effect as an offset of the joint
before or after it.  Offsets whose columns are combinations of earlier columns stay zero.  Where axes meet or are
parallel, more columns are dependent to first order, so the analysis is repeated at the estimate.  Offsets that become
identifiable are added if errors decrease.

Sources: Hollerbach and Wampler, The calibration index and taxonomy for robot kinematic calibration methods, Int. J.
Robotics Research 15, 1996; Mooring, Roth and Driels, Fundamentals of Manipulator Calibration, 1991.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork import Robot
from linkwork._util.checked_arguments import public
from linkwork._util.progress import Progress, Reporter
from linkwork._util.result import Result
from linkwork._util.validation import integer
from linkwork.dynamics import BaseParameters
from linkwork.errors import Status
from linkwork.identify.estimate_tables import pose_lines
from linkwork.identify.linear_least_squares import LinearFit, refuse_exact_fits
from linkwork.identify.measurements import HeldOut, name_list, read_array, rms, split
from linkwork.identify.placement_model import SIX, PlacementModel
from linkwork.kernels import Array, real_array

__all__ = ["PlacementFit", "placements"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class PlacementFit(Result):
    """Result of a geometric calibration: offsets of placements, joint zeros and the base. Printed, it is a table."""

    robot: Robot  # with the offsets of placements and frames
    zeros: np.ndarray  # (nv,) offsets of the joints' readings: see `configuration` [rad, m]
    base: np.ndarray  # (4, 4) pose of the robot's world in the measurements' frame; identity if not estimated
    names: tuple[str, ...]  # estimated offsets, as in ``"placement:elbow.d_x"``
    values: np.ndarray  # (r,) rotation vectors [rad] and translations [m]
    covariance: np.ndarray  # (r, r)
    identifiable: BaseParameters  # with the offsets grouped with each: those that poses do not distinguish from it
    condition: float  # of the weighted derivative, columns scaled to length 1
    sigma: np.ndarray  # (6,) or (3,) of each residual component, rotation vector and position [rad, m]
    residual: np.ndarray  # root mean square of the residuals
    initial_residual: np.ndarray  # that of the original robot
    samples: int  # used in the fit
    held_out: HeldOut | None  # errors at held-out samples
    iterations: int
    status: Status  # "solved" or "max_iterations"

    @property
    def success(self) -> bool:
        """True if the fit converged."""
        return self.status is Status.SOLVED

    def _sentence(self, index: tuple[int, ...]) -> str:
        return f"{len(self.values)} offsets from {self.samples} samples after {self.iterations} iterations"

    @property
    def standard_deviations(self) -> np.ndarray:
        """Standard deviations (r,): square roots of the covariance's diagonal."""
        result: np.ndarray = np.sqrt(np.diag(self.covariance))
        return result

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Names of offsets that stay zero, because poses do not determine them."""
        return tuple(self.identifiable.of[k] for k in self.identifiable.dependent)

    def configuration(self, q: Array) -> np.ndarray:
        """Return configurations q (..., nq) of the robot from joint readings, corrected by `zeros`."""
        return self.robot.integrate(q, self.zeros)

    def __repr__(self) -> str:
        return f"<PlacementFit: {len(self.values)} offsets of robot {self.robot.name!r} from {self.samples} samples>"

    def __str__(self) -> str:
        how = f"{'converged' if self.success else 'NOT converged'} after {self.iterations} iterations"
        title = f"{len(self.values)} offsets from {self.samples} samples, condition number {self.condition:.4g}, {how}"
        return "\n".join([title, "", *pose_lines(self)])


@public
def placements(
    robot: Robot,
    q: Array,
    poses: ArrayLike,
    frame: str,
    *,
    parameters: Iterable[str] | None = None,
    weights: ArrayLike | None = None,
    held_out: float | ArrayLike = 0.25,
    max_iterations: int = 50,
    progress: bool | Callable[[Progress], Any] = False,
) -> PlacementFit:
    """Estimate placements of joints and frames from measured poses of a frame: geometric calibration.

    q (samples, nq) are the joints' readings. ``poses`` are the measured poses of ``frame`` in the world (samples, 4,
    4) [1, m], or positions (samples, 3) [m] of its origin or of a named point. ``parameters`` names the unknown
    offsets:

    - ``"placement:<joint>"``, ``"frame:<frame>"``: six values (φ; d), as in `Robot.parameters`: a rotation by the
      rotation vector φ [rad] and a translation by d [m], in its own axes.  By default the placements of all moving
      joints that carry the frame, and the frame itself;
    - ``"zero:<joint>"``: the offset of the joint's readings [rad, m];
    - ``"base"``: six values, the pose of the robot's world in the measurements' frame.

    A name with ``*``, ``?`` or ``[`` is a pattern that stands for all matching names. ``"placement"`` alone stands for
    the placements of all moving joints, ``"zero"`` for the zeros of all joints that follow no other.

    An offset that poses cannot distinguish from earlier offsets in the list is not estimated and stays zero; its
    effect is part of the earlier offsets. `PlacementFit.identifiable` lists these groups. ``weights`` are the relative
    values of 1 / σ for the six (or three) components of a pose error; by default they are computed from the residuals.
    ``held_out`` is the fraction of samples, at their end, that are used only to test the estimate, or the indices of
    such samples. ``max_iterations`` bounds the steps of the search. ``progress`` shows a bar on standard error, or is
    a function of a `linkwork.Progress`, in iterations.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("arm6")
    >>> other = robot.with_parameters({"placement:elbow": [0.0, 0.0, 0.002, 0.001, 0.0, 0.0]})
    >>> q = robot.random_configuration(seed=0, size=60)
    >>> fit = lw.identify.placements(robot, q, other.pose(q, "tool"), "tool", parameters=["placement:elbow"])
    >>> dict(zip(fit.names, fit.values.round(9).tolist()))["placement:elbow.d_x"]
    0.001
    >>> bool(np.allclose(fit.robot.pose(q, "tool"), other.pose(q, "tool"), atol=1e-9))
    True

    Raises ValueError if the measurements do not determine an identifiable offset, which it names, for robots with
    constraints, and for invalid poses; UnknownNameError for unknown parameters and frames.
    """
    caller = "placements"
    steps = integer(caller, "max_iterations", max_iterations, least=1)
    model = PlacementModel(caller, robot, frame, parameters, np.shape(poses))
    if len(robot.constraints):
        raise ValueError(
            f"{caller}: robot {robot.name!r} has constraints, which offsets would violate; calibrate "
            f"robot.without_constraints(), with readings of all joints"
        )
    readings, measured = _read(caller, robot, q, poses, model.shape)
    out = split(caller, held_out, (len(readings),))
    relative_weights = None if weights is None else _weights(caller, weights, model.rows)
    observable = model.identifiable(np.zeros(len(model.names)))[0]
    if not observable.rank:
        raise ValueError(f"{caller}: parameters: no pose of {frame!r} depends on {name_list(model.names)}")
    training = readings[~out], measured[~out]
    if len(training[0]) * model.rows <= observable.rank:
        raise ValueError(
            f"{caller}: expected more measured values than the {observable.rank} unknowns, got {len(training[0])} "
            f"samples of "
            f"{model.rows} besides those held out"
        )
    with Reporter(caller, progress, "placements: iterations", 2 * steps) as report:
        result = model.solve(*training, relative_weights, steps, report)
    x, fit, observable = result.x, result.fit, result.identifiable
    _require_observable(caller, robot, fit, observable, training[0])
    if relative_weights is None:
        refuse_exact_fits(caller, fit, result.rows, SIX[-model.rows :])
    held_out_result = None
    if out.any():
        errors = (rms(model.errors(readings[out], measured[out], at)[0]) for at in (x, 0.0 * x))
        held_out_result = HeldOut(int(out.sum()), *errors)
    before = rms(model.errors(*training, 0.0 * x)[0])
    return PlacementFit._make(
        robot=robot.with_parameters({name: x[columns] for name, columns in model.slices.items() if ":" in name}),
        zeros=model.zeros(x),
        base=model.base(x),
        names=observable.names,
        values=x[observable.columns],
        covariance=fit.covariance,
        identifiable=observable,
        condition=fit.condition,
        sigma=fit.sigma,
        residual=result.residual,
        initial_residual=before,
        samples=len(training[0]),
        held_out=held_out_result,
        iterations=result.steps,
        status=Status.SOLVED if result.converged else Status.MAX_ITERATIONS,
    )


def _read(caller: str, robot: Robot, q: Any, poses: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return joint readings (n, nq), and poses (n, 4, 4) or positions (n, 3), as arrays. Raises ValueError."""
    readings = read_array(caller, robot, "q", q)
    expected = f"{caller}: poses: expected poses (samples, 4, 4) or positions (samples, 3), one for each sample of q"
    measured = real_array(expected, poses).astype(np.float64)
    if readings.ndim != 2 or measured.shape != (len(readings), *shape):
        raise ValueError(f"{expected}; got shapes {measured.shape} and, of q, {readings.shape}")
    if not np.isfinite(measured).all():
        raise ValueError(
            f"{caller}: poses of sample {np.argwhere(~np.isfinite(measured))[0][0]} are not finite; leave it out"
        )
    if shape == (4, 4):
        R = measured[:, :3, :3]
        off = np.abs(R @ R.swapaxes(1, 2) - np.eye(3)).max(axis=(1, 2)) + (np.linalg.det(R) < 0.0)
        off = np.maximum(off, np.abs(measured[:, 3] - [0.0, 0.0, 0.0, 1.0]).max(axis=1))
        if (off > 1e-3).any():
            k = int(np.argmax(off > 1e-3))
            raise ValueError(
                f"{caller}: poses[{k}] is not a valid pose: its rotation is not orthogonal, or its last row is not "
                f"0 0 0 1"
            )
    return readings, measured


def _weights(caller: str, weights: Any, rows: int) -> np.ndarray:
    expected = f"{caller}: weights: expected {rows} positive numbers, 1 / σ of an error's components"
    result = real_array(expected, weights).astype(np.float64)
    if result.shape != (rows,) or not np.isfinite(result).all() or not (result > 0.0).all():
        raise ValueError(f"{expected}, got {weights!r}")
    return result


def _require_observable(
    caller: str, robot: Robot, fit: LinearFit, observable: BaseParameters, readings: np.ndarray
) -> None:
    """Raise ValueError with the names of offsets that the measurements do not determine."""
    count = fit.unobservable.shape[1]
    if not count:
        return
    share = np.linalg.norm(fit.unobservable, axis=1)
    names = [observable.names[k] for k in np.argsort(-share, kind="stable") if share[k] > 0.1]
    resting = [name for name, x in zip(robot.q_names, np.ptp(readings, axis=0), strict=True) if x < 1e-9]
    where = f"; {name_list(resting)} {'does' if len(resting) == 1 else 'do'} not move in them" if resting else ""
    raise ValueError(
        f"{caller}: the measurements do not determine {count} of {observable.rank} offsets: "
        f"{name_list(names)}{where}.  "
        f"Measure at other configurations, poses instead of positions, or estimate fewer parameters"
    )
