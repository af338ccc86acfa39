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

from linkwork._util.checked_arguments import public
from linkwork._util.result import Result
from linkwork.dynamics.base_parameters import BaseParameters
from linkwork.errors import Status
from linkwork.identify.estimate_tables import error_lines, estimate_lines
from linkwork.identify.linear_least_squares import LinearFit, fitted, reduced, refuse_exact_fits
from linkwork.identify.measurements import HeldOut, Measurements, joint_weights, read, rms, split, told
from linkwork.identify.parameter_selection import Columns, Passive, columns_of, structural
from linkwork.kernels.robot_base import Array, Axes, Wrenches
from linkwork.model.friction_laws import Friction
from linkwork.robot import Robot

__all__ = ["BaseParameterFit", "base_parameters", "held_out_errors", "refuse_what_is_not_excited"]


@public
@dataclass(frozen=True, eq=False, repr=False, init=False)
class BaseParameterFit(Result):
    """Base parameters as measured, and how well.  Printed, it is a table.

    It is a linear fit, so it always succeeds: what measurements do not determine is an error.
    """

    base: BaseParameters  # which combinations of the parameters they are
    values: np.ndarray  # (r,) as measured
    nominal: np.ndarray  # (r,) the robot's own
    covariance: np.ndarray  # (r, r)
    condition: float  # of the weighted regressor, columns scaled to length 1
    singular_values: np.ndarray  # (r,) of the same, the largest first
    sigma: np.ndarray  # (nv,) of each joint force's residuals [N·m, N]; the weights are 1 / σ
    residual: np.ndarray  # (nv,) their root mean square [N·m, N]
    r_squared: np.ndarray  # (nv,) the part of each force's variance that is explained; NaN where it does not vary
    samples: int  # that took part
    held_out: HeldOut | None  # the error at those that did not
    _robot: Robot
    _columns: Columns

    @property
    def success(self) -> bool:
        """True."""
        return True

    @property
    def status(self) -> Status:
        """The status "solved"."""
        return Status.SOLVED

    @property
    def iterations(self) -> int:
        """One: the fit is linear."""
        return 1

    def _sentence(self, place: tuple[int, ...]) -> str:
        return f"{len(self.values)} base parameters from {self.samples} samples, condition number {self.condition:.4g}"

    @property
    def names(self) -> tuple[str, ...]:
        """The combinations: ``"link2.J_xx - link2.J_yy + 0.1 link3.m"``."""
        return self.base.expressions()

    @property
    def standard_deviations(self) -> np.ndarray:
        """(r,): the square roots of the covariance's diagonal."""
        result: np.ndarray = np.sqrt(np.diag(self.covariance))
        return result

    @property
    def relative_deviations(self) -> np.ndarray:
        """(r,): standard deviations by the values' sizes."""
        with np.errstate(divide="ignore"):
            result: np.ndarray = self.standard_deviations / np.abs(self.values)
        return result

    @property
    def essential(self) -> np.ndarray:
        """(r,) of truth values: those that the measurements tell from zero, by three standard deviations."""
        return self.relative_deviations < 1.0 / 3.0

    def values_of(self, robot: Robot) -> np.ndarray:
        """The same combinations of another robot's parameters (r,), one with the same bodies and joints."""
        pi = robot.inertial_parameters(passive=self._columns.passive)
        return self.base.values(pi[self._columns.estimated])

    def joint_forces(self, q: Array, v: Array, a: Array) -> np.ndarray:
        """The forces that these parameters have: q (..., nq), v, a (..., nv) -> (..., nv) [N·m, N]."""
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
    passive: Passive = False,
    friction: Friction = "smooth",
    bodies: Iterable[str] | None = None,
    wrenches: Wrenches | None = None,
    expressed_in: Axes = "world",
    held_out: float | ArrayLike = 0.25,
) -> BaseParameterFit:
    """Base parameters β (see `Robot.base_parameters`) from measured joint forces, Y_b β = τ, by weighted least squares.

    q (..., nq), v, a, tau (..., nv): samples, such as (samples, nq) or (motions, samples, nq).  Wrenches on frames that
    were measured come as ``wrenches`` (see `Robot.inverse_dynamics`); of a free base τ is zero, or what held it.

    ``weights`` (nv,) are 1 / σ of the joint forces' noise, as relative numbers, or a dict by joint; zero, or left out
    of the dict, is a force that was not measured.  Without, they come from the residuals, one σ for each force, until
    they stay.  Covariances hold where residuals of different samples are independent; filtered signals have fewer
    independent samples than they have samples.

    ``passive`` estimates what is in joints too: True, or some of "armature", "damping", "friction" and "stiffness";
    ``friction`` is the law.  ``bodies`` names those whose parameters are estimated, all by default.  What is not
    estimated acts as the robot has it; without any ``passive`` kind, nothing in joints acts.

    ``held_out`` is the part of the first dimension, its end, that the errors in ``held_out`` of the result are of and
    that takes no part in the estimate; or its places.  It is one block since neighbours in time are alike.

    Raises ValueError where the measurements do not show a base parameter, which it names, where weights are to come
    from residuals and samples are so few that parameters fit those of a force exactly, and for measurements that are
    none; UnknownNameError for bodies, joints, frames that are not there.
    """
    caller = "base_parameters"
    measurements = read(caller, robot, q, v, a, tau, wrenches, expressed_in)
    columns = columns_of(caller, robot, bodies, passive, friction)
    given = joint_weights(caller, robot, weights)
    measured = np.ones(robot.nv, dtype=bool) if given is None else given > 0.0
    out = split(caller, held_out, measurements.leading)
    training = measurements.at(~out)
    base, typical = structural(robot, columns, measured)
    if not base.rank:
        raise ValueError(f"{caller}: no joint force depends on the parameters of {told(columns.chosen)}")
    rows = len(training) * int(measured.sum())
    if rows <= base.rank:
        raise ValueError(
            f"{caller}: expected more measured joint forces than the {base.rank} base parameters, got {len(training)} "
            f"samples of {int(measured.sum())} joint forces that are not held out"
        )
    result = reduced(training, columns).of(base.columns)
    fit = fitted(result, measured, given, typical[base.columns])
    refuse_what_is_not_excited(caller, fit, base, training)
    if given is None:
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
    """The errors of an estimate, whose ``joint_forces`` are asked for, at measurements that it was not made of."""
    nominal = robot.inverse_dynamics(m.q, m.v, m.a, **columns.options)

    return HeldOut(len(m), rms(fit.joint_forces(m.q, m.v, m.a) - m.tau), rms(nominal - m.tau))


def refuse_what_is_not_excited(caller: str, fit: LinearFit, base: BaseParameters, measurements: Measurements) -> None:
    """Raises ValueError, with the names of what the measurements do not show."""
    count = fit.unseen.shape[1]
    if not count:
        return
    names = base.names
    share = np.linalg.norm(fit.unseen, axis=1)
    order = [k for k in np.argsort(-share, kind="stable") if share[k] > 0.1]
    moving = np.sqrt(np.mean(measurements.v**2 + measurements.a**2, axis=0)) > 1e-8
    still = [name for name, moves in zip(measurements.robot.v_names, moving, strict=True) if not moves]
    where = f"; {told(still)} {'stands' if len(still) == 1 else 'stand'} still in them" if still else ""
    shown = told(names[k] for k in order)
    raise ValueError(
        f"{caller}: the measurements do not excite {count} of {base.rank} base parameters: {shown}, with "
        f"what is grouped "
        f"with them{where}.  Measure other motions (identify.exciting_trajectory makes one), leave bodies or passive "
        f"kinds out, or use identify.inertias, which keeps what is not shown near the robot's own"
    )
