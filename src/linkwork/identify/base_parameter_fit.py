"""Base parameters from measured joint forces: weighted least squares.

Sources: Gautier, Dynamic identification of robots with power model, IEEE ICRA 1997; Khalil and Dombre, Modeling,
Identification and Control of Robots, 2002, chapter 12; Swevers, Verdonck and De Schutter, Dynamic model identification
for industrial robots, IEEE Control Systems 27, 2007.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork import Robot
from linkwork._util.checked_arguments import public
from linkwork._util.result import Result
from linkwork.dynamics import BaseParameters
from linkwork.errors import Status
from linkwork.identify.estimate_tables import error_lines, estimate_lines
from linkwork.identify.linear_least_squares import LinearFit, fit_linear, reduce_measurements, refuse_exact_fits
from linkwork.identify.measurements import HeldOut, Measurements, joint_weights, name_list, read, rms, split
from linkwork.identify.parameter_selection import Columns, Passive, columns_of, structural
from linkwork.kernels import Array, Axes, Wrenches
from linkwork.model import Friction

__all__ = ["BaseParameterFit", "base_parameters", "held_out_errors", "require_excitation"]


@public
@dataclass(frozen=True, eq=False, repr=False, init=False)
class BaseParameterFit(Result):
    """Estimated base parameters with their accuracy.  Printed, it is a table.

    The fit is linear, so it always succeeds: parameters that measurements do not determine are an error.
    """

    base: BaseParameters  # the combinations of parameters that are estimated
    values: np.ndarray  # (r,) the estimate
    nominal: np.ndarray  # (r,) the robot's own values
    covariance: np.ndarray  # (r, r)
    condition: float  # of the weighted regressor, columns scaled to length 1
    singular_values: np.ndarray  # (r,) of the same, the largest first
    sigma: np.ndarray  # (nv,) standard deviation of each joint force's residuals [N·m, N]; weights are 1 / σ
    residual: np.ndarray  # (nv,) root mean square of the residuals [N·m, N]
    r_squared: np.ndarray  # (nv,) explained share of each force's variance; NaN if it does not vary
    samples: int  # used in the fit
    held_out: HeldOut | None  # errors at held-out samples
    _robot: Robot
    _columns: Columns

    @property
    def success(self) -> bool:
        """Always True: the fit is linear, and parameters that the measurements do not determine raise an error."""
        return True

    @property
    def status(self) -> Status:
        """Always "solved"."""
        return Status.SOLVED

    @property
    def iterations(self) -> int:
        """Number of iterations, always 1: the fit is linear."""
        return 1

    def _sentence(self, index: tuple[int, ...]) -> str:
        return f"{len(self.values)} base parameters from {self.samples} samples, condition number {self.condition:.4g}"

    @property
    def names(self) -> tuple[str, ...]:
        """Names (r,) of the base parameters, combinations as in ``"link2.J_xx - link2.J_yy + 0.1 link3.m"``."""
        return self.base.expressions()

    @property
    def standard_deviations(self) -> np.ndarray:
        """Standard deviations (r,): square roots of the covariance's diagonal."""
        result: np.ndarray = np.sqrt(np.diag(self.covariance))
        return result

    @property
    def relative_deviations(self) -> np.ndarray:
        """Standard deviations (r,) divided by the magnitudes of the values."""
        with np.errstate(divide="ignore"):
            result: np.ndarray = self.standard_deviations / np.abs(self.values)
        return result

    @property
    def essential(self) -> np.ndarray:
        """True (r,) for values that differ from zero by at least three standard deviations."""
        return self.relative_deviations < 1.0 / 3.0

    def values_of(self, robot: Robot) -> np.ndarray:
        """Return the values (r,) of these base parameters for another robot with the same bodies and joints."""
        pi = robot.inertial_parameters(passive=self._columns.passive)
        return self.base.values(pi[self._columns.estimated])

    def joint_forces(self, q: Array, v: Array, a: Array) -> np.ndarray:
        """Return the joint forces (..., nv) [N·m, N] with these parameters at q (..., nq), v, a (..., nv)."""
        Y = self._robot.inverse_dynamics_regressor(q, v, a, **self._columns.options)
        result: np.ndarray = (
            self.base.regressor(Y[..., self._columns.estimated]) @ self.values + Y @ self._columns.known
        )
        return result

    def __repr__(self) -> str:
        return f"<BaseParameterFit: {len(self.values)} base parameters from {self.samples} samples>"

    def __str__(self) -> str:
        title = f"{len(self.values)} base parameters from {self.samples} samples, condition number {self.condition:.4g}"
        rows = estimate_lines(self.names, self.values, self.standard_deviations, self.nominal, self.essential)
        errors = error_lines(self._robot.v_names, self.residual, self.r_squared, self.held_out)
        return "\n".join([title, "", *rows, "", *errors])


@public
def base_parameters(
    robot: Robot,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    *,
    weights: ArrayLike | Mapping[str, float] | None = None,
    passive: Passive | None = None,
    friction: Friction = "smooth",
    bodies: Iterable[str] | None = None,
    wrenches: Wrenches | None = None,
    expressed_in: Axes = "world",
    held_out: float | ArrayLike = 0.25,
) -> BaseParameterFit:
    """Estimate base parameters β from measured joint forces, Y_b β = τ, by weighted least squares.

    `Robot.base_parameters` explains base parameters.  q (..., nq), v, a, tau (..., nv) are samples, such as (samples,
    nq) or (motions, samples, nq).  Measured wrenches on frames are passed as ``wrenches``, in the axes of
    ``expressed_in`` (see `Robot.inverse_dynamics`); for a free base τ is zero, or the force that supports it.

    ``weights`` (nv,), or a dict by joint, are relative values of 1 / σ, with the noise σ of each joint force; zero, or
    a missing key, means that the force was not measured.  By default they are computed from the residuals, with one σ
    for each force, until they converge.  Covariances hold if residuals of different samples are independent; filtered
    signals have fewer independent samples than samples.

    ``passive`` also estimates parameters of joints: True, or some of "armature", "damping", "friction" and
    "stiffness"; ``friction`` is the friction law.  ``bodies`` names the bodies whose parameters are estimated, by
    default all.  Other parameters have the robot's values.  ``passive=[]`` estimates no parameters of joints; passive
    forces then have the robot's values.  ``passive=False`` ignores passive forces; so does the default, with a warning
    if the robot has such forces.

    ``held_out`` is the fraction at the end of the first dimension, or the indices in it, of samples that are not used
    in the estimate; the result's ``held_out`` has their errors.  They are one block because samples near in time are
    similar.

    Raises ValueError if measurements do not determine a base parameter, which it names, if weights are to be computed
    from so few samples that parameters fit a force exactly, and for invalid measurements; UnknownNameError for unknown
    bodies, joints and frames.
    """
    caller = "base_parameters"
    measurements = read(caller, robot, q, v, a, tau, wrenches, expressed_in)
    columns = columns_of(caller, robot, bodies, passive, friction)
    joint_weight = joint_weights(caller, robot, weights)
    measured = np.ones(robot.nv, dtype=bool) if joint_weight is None else joint_weight > 0.0
    out = split(caller, held_out, measurements.leading)
    training = measurements.at(~out)
    base, typical = structural(robot, columns, measured)
    if not base.rank:
        raise ValueError(
            f"{caller}: bodies and passive: no joint force depends on the parameters {name_list(columns.chosen)}"
        )
    rows = len(training) * int(measured.sum())
    if rows <= base.rank:
        raise ValueError(
            f"{caller}: expected more measured joint forces than the {base.rank} base parameters, got {len(training)} "
            f"samples of {int(measured.sum())} joint forces besides those held out"
        )
    result = reduce_measurements(training, columns).of(base.columns)
    fit = fit_linear(result, measured, joint_weight, typical[base.columns])
    require_excitation(caller, fit, base, training)
    if joint_weight is None:
        refuse_exact_fits(caller, fit, result, robot.v_names)
    estimate = BaseParameterFit._make(
        base=base,
        values=fit.x,
        nominal=base.values(columns.pi[columns.estimated]),
        covariance=fit.covariance,
        condition=fit.condition,
        singular_values=fit.values,
        sigma=fit.sigma,
        residual=result.rms(fit.squares),
        r_squared=result.r_squared(fit.squares),
        samples=len(training),
        held_out=None,
        _robot=robot,
        _columns=columns,
    )
    if not out.any():
        return estimate
    return estimate._replaced(held_out=held_out_errors(estimate, robot, measurements.at(out), columns))


def held_out_errors(fit: Any, robot: Robot, m: Measurements, columns: Columns) -> HeldOut:
    """Compare ``fit.joint_forces`` with measurements that were not used in the fit, and return the errors."""
    nominal = robot.inverse_dynamics(m.q, m.v, m.a, **columns.options)

    return HeldOut(len(m), rms(fit.joint_forces(m.q, m.v, m.a) - m.tau), rms(nominal - m.tau))


def require_excitation(caller: str, fit: LinearFit, base: BaseParameters, measurements: Measurements) -> None:
    """Raise ValueError with the names of base parameters that the measurements do not determine."""
    count = fit.unobservable.shape[1]
    if not count:
        return
    names = base.names
    share = np.linalg.norm(fit.unobservable, axis=1)
    order = [k for k in np.argsort(-share, kind="stable") if share[k] > 0.1]
    moving = np.sqrt(np.mean(measurements.v**2 + measurements.a**2, axis=0)) > 1e-8
    resting = [name for name, moves in zip(measurements.robot.v_names, moving, strict=True) if not moves]
    where = f"; {name_list(resting)} {'does' if len(resting) == 1 else 'do'} not move in them" if resting else ""
    shown = name_list(names[k] for k in order)
    raise ValueError(
        f"{caller}: the measurements do not excite {count} of {base.rank} base parameters: {shown}, with "
        f"those grouped with them{where}.  Measure other motions (see identify.exciting_trajectory), leave out bodies "
        f"or passive kinds, or use identify.inertias, which keeps the others near the robot's own values"
    )
