"""Where joints and frames really sit, from measured poses: Gauss and Newton's method on the error of poses.

The error of a sample is what is left from the robot's pose to the measured one (as `linkwork.pose_difference`), with
offsets of placements, of joints' zeros and of the base as unknowns x.  Its derivative is exact, by differentiation of
the kernel that computes it.  What of x poses show at all is found as for inertial parameters, by rank analysis of the
derivative at random configurations: an offset along the axis of a hinge, say, may as well be of the joint before it or
after it.  Columns that are sums of those before them stay at zero.  Where axes meet or are parallel more are, to first
order; so the analysis is done again at the estimate, and what has come to show there is taken if errors fall by it.

Sources: Hollerbach and Wampler, The calibration index and taxonomy for robot kinematic calibration methods, Int. J.
Robotics Research 15, 1996; Mooring, Roth and Driels, Fundamentals of Manipulator Calibration, 1991.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.progress import Progress, Reporter
from linkwork._util.result import Result
from linkwork.dynamics.base_parameters import BaseParameters
from linkwork.errors import Status
from linkwork.identify.estimate_tables import pose_lines
from linkwork.identify.linear_least_squares import LinearFit, refuse_exact_fits
from linkwork.identify.measurements import HeldOut, read_array, rms, split, told, whole
from linkwork.identify.placement_model import SIX, PlacementModel
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_base import Array
from linkwork.robot import Robot

__all__ = ["PlacementFit", "placements"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class PlacementFit(Result):
    """Offsets of placements, zeros and the base, as measured, and how well.  Printed, it is a table."""

    robot: Robot  # with the offsets of placements and frames in it
    zeros: np.ndarray  # (nv,) what joints' readings have to be moved by: see `configuration` [rad, m]
    base: np.ndarray  # (4, 4) the pose of the robot's world in that of the measurements; the identity if not asked for
    names: tuple[str, ...]  # of what was estimated: ``"placement:elbow.d_x"``
    values: np.ndarray  # (r,) rotation vectors [rad] and places [m]
    covariance: np.ndarray  # (r, r)
    identifiable: BaseParameters  # with what each of them is grouped: what poses cannot tell from it
    condition: float  # of the weighted derivative, columns scaled to length 1
    sigma: np.ndarray  # (6,) or (3,) of each number of the residuals, rotation vector and place [rad, m]
    residual: np.ndarray  # their root mean square
    initial_residual: np.ndarray  # that of the robot as it was
    samples: int  # that took part
    held_out: HeldOut | None  # the error at those that did not
    iterations: int
    status: Status  # "solved" or "max_iterations"

    @property
    def success(self) -> bool:
        """True if the fit converged."""
        return self.status is Status.SOLVED

    def _sentence(self, place: tuple[int, ...]) -> str:
        return f"{len(self.values)} offsets from {self.samples} samples after {self.iterations} iterations"

    @property
    def standard_deviations(self) -> np.ndarray:
        """(r,): the square roots of the covariance's diagonal."""
        result: np.ndarray = np.sqrt(np.diag(self.covariance))
        return result

    @property
    def unchanged(self) -> tuple[str, ...]:
        """What poses do not show apart from what was estimated, or not at all: it stayed at zero."""
        return tuple(self.identifiable.of[k] for k in self.identifiable.dependent)

    def configuration(self, q: Array) -> np.ndarray:
        """Where the joints are when they read q (..., nq): moved by `zeros`."""
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
    """Offsets of where joints and frames sit, from measured poses of a frame at joint positions: geometric calibration.

    q (samples, nq) are the joints' readings; ``poses`` those of ``frame`` in the world (samples, 4, 4) [1, m], or
    (samples, 3) [m] the places of its origin, or of a named point.  ``parameters`` are what is estimated:

    - ``"placement:<joint>"``, ``"frame:<frame>"``: six numbers (φ; d), as of `Robot.parameters`: it is turned by the
      rotation vector φ [rad] and moved by d [m], in its own axes.  By default the placements of all moving joints that
      carry the frame, and the frame itself;
    - ``"zero:<joint>"``: what the joint's readings have to be moved by [rad, m];
    - ``"base"``: six numbers, where the robot's world is in that of the measurements.

    A name with ``*``, ``?`` or ``[`` stands for all that fit, one by one; ``"placement"`` alone for those of all
    moving joints, ``"zero"`` for those of all that follow no other.

    What poses cannot tell apart is estimated once and stays at zero elsewhere: `PlacementFit.identifiable` says what is
    grouped with what, later names with earlier ones.  The weights are 1 / σ of the six (three) numbers of an error,
    relative; without, they come from the residuals.  ``held_out`` is as of `base_parameters`.  ``progress`` shows a bar
    on standard error, or is a function of a `linkwork.Progress`, in iterations.

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

    Raises ValueError where the measurements do not show what others would, which it names, and for poses that are none;
    UnknownNameError for parameters and frames that are not there.
    """
    caller = "placements"
    steps = whole(caller, "max_iterations", max_iterations, 1)
    model = PlacementModel(caller, robot, frame, parameters, np.shape(poses))
    readings, measured = _read(caller, robot, q, poses, model.shape)
    out = split(caller, held_out, (len(readings),))
    given = None if weights is None else _weights(caller, weights, model.rows)
    shown = model.identifiable(np.zeros(len(model.names)))[0]
    if not shown.rank:
        raise ValueError(f"{caller}: no pose of {frame!r} depends on {told(model.names)}")
    inside = readings[~out], measured[~out]
    if len(inside[0]) * model.rows <= shown.rank:
        raise ValueError(
            f"{caller}: expected more measured numbers than the {shown.rank} unknowns, got {len(inside[0])} samples of "
            f"{model.rows} that are not held out"
        )
    with Reporter(caller, progress, "placements: iterations", 2 * steps) as report:
        result = model.solved(*inside, given, steps, report)
    x, fit, shown = result.x, result.fit, result.identifiable
    _refuse_what_is_not_shown(caller, robot, fit, shown, inside[0])
    if given is None:
        refuse_exact_fits(caller, fit, result.rows, SIX[-model.rows :])
    held = None
    if out.any():
        errors = (rms(model.errors(readings[out], measured[out], at)[0]) for at in (x, 0.0 * x))
        held = HeldOut(int(out.sum()), *errors)
    before = rms(model.errors(*inside, 0.0 * x)[0])
    return PlacementFit._make(
        robot=robot.with_parameters({name: x[place] for name, place in model.places.items() if ":" in name}),
        zeros=model.zeros(x),
        base=model.base(x),
        names=shown.names,
        values=x[shown.columns],
        covariance=fit.covariance,
        identifiable=shown,
        condition=fit.condition,
        sigma=fit.sigma,
        residual=result.residual,
        initial_residual=before,
        samples=len(inside[0]),
        held_out=held,
        iterations=result.steps,
        status=Status.SOLVED if result.converged else Status.MAX_ITERATIONS,
    )


def _read(caller: str, robot: Robot, q: Any, poses: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Readings (n, nq) and poses (n, 4, 4) or places (n, 3), looked at."""
    readings = read_array(caller, robot, "q", q)
    expected = f"{caller}: poses: expected poses (samples, 4, 4) or places (samples, 3), one for each of q"
    measured = real_array(expected, poses).astype(np.float64)
    if readings.ndim != 2 or measured.shape != (len(readings), *shape):
        raise ValueError(f"{expected}; got shapes {measured.shape} and, of q, {readings.shape}")
    if not np.isfinite(measured).all():
        raise ValueError(
            f"{caller}: poses of sample {np.argwhere(~np.isfinite(measured))[0][0]} are not finite: leave it out"
        )
    if shape == (4, 4):
        R = measured[:, :3, :3]
        off = np.abs(R @ R.swapaxes(1, 2) - np.eye(3)).max(axis=(1, 2)) + (np.linalg.det(R) < 0.0)
        off = np.maximum(off, np.abs(measured[:, 3] - [0.0, 0.0, 0.0, 1.0]).max(axis=1))
        if (off > 1e-3).any():
            k = int(np.argmax(off > 1e-3))
            raise ValueError(
                f"{caller}: poses[{k}] is no pose: its rotation is not orthogonal, or its last row not 0 0 0 1"
            )
    return readings, measured


def _weights(caller: str, weights: Any, rows: int) -> np.ndarray:
    expected = f"{caller}: weights: expected {rows} numbers above 0, 1 / σ of an error's"
    result = real_array(expected, weights).astype(np.float64)
    if result.shape != (rows,) or not np.isfinite(result).all() or not (result > 0.0).all():
        raise ValueError(f"{expected}, got {weights!r}")
    return result


def _refuse_what_is_not_shown(
    caller: str, robot: Robot, fit: LinearFit, shown: BaseParameters, readings: np.ndarray
) -> None:
    """Raises ValueError, with the names of what the measurements do not show."""
    count = fit.unseen.shape[1]
    if not count:
        return
    share = np.linalg.norm(fit.unseen, axis=1)
    names = [shown.names[k] for k in np.argsort(-share, kind="stable") if share[k] > 0.1]
    still = [name for name, x in zip(robot.q_names, np.ptp(readings, axis=0), strict=True) if x < 1e-9]
    where = f"; {told(still)} {'stands' if len(still) == 1 else 'stand'} still in them" if still else ""
    raise ValueError(
        f"{caller}: the measurements do not show {count} of {shown.rank} offsets: {told(names)}{where}.  "
        f"Measure poses at "
        f"other configurations, whole poses instead of places, or estimate fewer parameters"
    )
