"""Excitation of base parameters: how well a motion determines them, and trajectories that excite all of them.

`excitation` measures a motion by the condition number of the weighted regressor.

`exciting_trajectory` searches finite Fourier series within limits.  Each joint moves by harmonics k = 1 ... K of one
period T = 2π / ω,

    q(t) = q_0 + Σ a_k sin(k ω t) / (k ω) − b_k cos(k ω t) / (k ω)

with Σ a_k = 0 and Σ k b_k = 0, so that it begins and ends at rest with zero acceleration.  The motion of each joint is
scaled so that one of its limits is reached.  Coefficients are varied at random with decreasing steps; changes that
lower the condition number are retained.

Sources: Gautier and Khalil, Exciting trajectories for the identification of base inertial parameters of robots, Int. J.
Robotics Research 11, 1992 (the condition number); Golub and Van Loan, Matrix Computations, section 5.3; Swevers,
Ganseman, Tükel, De Schutter and Van Brussel, Optimal robot excitation and identification, IEEE T-RA 13, 1997;
Rechenberg, Evolutionsstrategie, 1973 (the (1+1) strategy with the 1/5 success rule).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork import Robot
from linkwork._util.checked_arguments import public
from linkwork._util.messages import label, table
from linkwork._util.messages import number as number_text
from linkwork._util.progress import Progress, Reporter
from linkwork._util.result import ReturnedValue
from linkwork._util.validation import finite_array, integer, positive
from linkwork.dynamics import BaseParameters
from linkwork.identify.linear_least_squares import RANK, triangular
from linkwork.identify.measurements import (
    Measurements,
    joint_weights,
    name_list,
    read,
    require_motion,
)
from linkwork.identify.parameter_selection import Columns, Passive, columns_of, structural
from linkwork.kernels import Array, real_array
from linkwork.model import Friction, bounds

__all__ = ["Excitation", "ExcitingTrajectory", "excitation", "exciting_trajectory"]


_TRIAL_SAMPLES = 100  # samples of a period while coefficients are tried
_RANGE_SHARE = 0.9  # of the range to a limit of position on either side


@public
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExcitingTrajectory:
    """Periodic motion by a Fourier series that begins and ends at rest, and excites the base parameters.

    ``period`` is in [s]. ``center`` (nv,) is the constant term q_0, and ``sines`` and ``cosines`` (nv, K) are the
    coefficients of the series. ``excitation`` tells how well the motion determines the base parameters.
    """

    period: float  # [s]
    center: np.ndarray  # q_0 (nq,)
    sines: np.ndarray  # a (nv, K) [rad/s, m/s]
    cosines: np.ndarray  # b (nv, K)
    excitation: Excitation

    def at(self, t: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q (..., nq), v and a (..., nv) at times t (...) [s]."""
        times = finite_array("ExcitingTrajectory.at", "t", t, unit="s")
        q, v, a = _motion(times.ravel(), self.period, self.center, self.sines, self.cosines)
        return tuple(x.reshape(*times.shape, -1) for x in (q, v, a))  # type: ignore[return-value]

    def sampled(self, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return t (samples,), q, v and a at equal steps through one period, without its end."""
        count = integer("sampled", "samples", samples, least=2)
        t = np.arange(count) * (self.period / count)
        return t, *self.at(t)

    def __repr__(self) -> str:
        return f"<ExcitingTrajectory: {self.period:.6g} s, condition number {self.excitation.condition:.4g}>"


@public
def exciting_trajectory(
    robot: Robot,
    *,
    period: float = 10.0,
    num_harmonics: int = 5,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | float = 10.0,
    weights: ArrayLike | Mapping[str, float] | None = None,
    passive: Passive = False,
    friction: Friction = "smooth",
    bodies: Iterable[str] | None = None,
    num_trials: int = 300,
    seed: int = 0,
    progress: bool | Callable[[Progress], Any] = False,
) -> ExcitingTrajectory:
    """Return a periodic motion that excites the base parameters well, by a search over random motions.

    The motion of the ``robot`` repeats after the ``period`` [s] and has ``num_harmonics`` sines and cosines. The
    result is the same for the same ``seed``.  ``lower``, ``upper`` (nv,) [rad, m] and ``velocity`` (nv,) [rad/s, m/s]
    are limits, a number or an array, by default the joints' own (without limits: a revolution or 2π m, 2 rad/s or
    m/s); ``acceleration`` likewise [rad/s², m/s²].  All hold at all times.  ``weights``, ``passive``, ``friction`` and
    ``bodies`` are as in `excitation`.  ``num_trials`` is the number of motions that are evaluated.  Collisions are not
    checked.  ``progress`` shows a bar on standard error, or is a function of a `linkwork.Progress`, in trials.

    >>> import linkwork as lw
    >>> motion = lw.identify.exciting_trajectory(lw.load("double_pendulum"), num_trials=50)
    >>> motion.excitation.condition < 20.0
    True

    Raises ValueError for limits without a range, and for robots with joints whose velocity is not the rate of their
    configuration (a floating base, a spherical joint).
    """
    caller = "exciting_trajectory"
    if not isinstance(robot, Robot):
        raise TypeError(f"{caller}: robot: expected a Robot, got {robot!r}")
    robot.tree.require_inertias(caller)
    require_motion(caller, robot)
    _refuse_manifolds(caller, robot)
    limits = _Limits(caller, robot, lower, upper, velocity, acceleration)
    duration = positive(caller, "period", period, unit="s", symbols=False)
    num_harmonics = integer(caller, "num_harmonics", num_harmonics, least=2)
    num_trials = integer(caller, "num_trials", num_trials, least=1)
    columns = columns_of(caller, robot, bodies, passive, friction)
    joint_weight = joint_weights(caller, robot, weights)
    weigher = ExcitationMeter(robot, columns, np.ones(robot.nv) if joint_weight is None else joint_weight)
    rng = np.random.default_rng(seed)
    times = np.arange(_TRIAL_SAMPLES) * (duration / _TRIAL_SAMPLES)

    def tried(x: np.ndarray) -> tuple[float, Any]:
        result = limits.within(x, duration)
        q, v, a = _motion(times, duration, *result)
        R, _ = weigher.scaled(Measurements(robot, q, v, a, v, (len(q),)))
        s = np.linalg.svd(R, compute_uv=False)
        return float(s[0] / s[-1]) if s[-1] > 0.0 else np.inf, result

    starts = [rng.normal(size=(robot.nv, 1 + 2 * num_harmonics)) for _ in range(max(1, num_trials // 5))]
    with Reporter(caller, progress, "exciting_trajectory: trials", max(num_trials, len(starts))) as report:
        values = []
        for x in starts:
            values.append(tried(x))
            report.advance()
        first = int(np.argmin([value for value, _ in values]))
        x, (best, result) = starts[first], values[first]
        step = 0.5
        for _ in range(num_trials - len(starts)):
            candidate = x + step * rng.normal(size=x.shape)
            value, motion = tried(candidate)
            if value < best:
                x, best, result = candidate, value, motion
                step *= 1.5
            else:
                step = max(step * 1.5**-0.25, 1e-3)
            report.advance()
    q, v, a = _motion(times, duration, *result)
    shown = weigher.of(Measurements(robot, q, v, a, v, (len(q),)))
    center, sines, cosines = result
    return ExcitingTrajectory(duration, center, sines, cosines, shown)


def _motion(
    t: np.ndarray, period: float, center: np.ndarray, sines: np.ndarray, cosines: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, v and a (n, nv) at times t (n,) of the motion with these Fourier coefficients."""
    rate = 2.0 * np.pi / period * np.arange(1, sines.shape[1] + 1)
    angle = t[:, None] * rate
    s, c = np.sin(angle), np.cos(angle)
    q = center + (s / rate) @ sines.T - (c / rate) @ cosines.T
    return q, c @ sines.T + s @ cosines.T, -(s * rate) @ sines.T + (c * rate) @ cosines.T


class _Limits:
    """Limits of q, v and a of a periodic motion."""

    def __init__(self, caller: str, robot: Robot, lower: Any, upper: Any, velocity: Any, acceleration: Any) -> None:
        nv = robot.nv
        free = [*robot.tree.stacked()]
        position_bounds = bounds(robot.tree)
        low = np.concatenate([position_bounds[i][0] for i, _ in free])
        high = np.concatenate([position_bounds[i][1] for i, _ in free])
        fast = np.concatenate([body.limits.velocity for _, body in free])
        for body, rows in zip(robot.tree.bodies, robot.tree.v_slices, strict=True):
            if body.coupling is not None and body.coupling.ratio != 0.0:  # limits of followers hold too
                fast[rows] = np.minimum(fast[rows], np.array(body.limits.velocity) / abs(body.coupling.ratio))
        low, high = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * np.pi, -np.pi)), high
        high = np.where(np.isfinite(high), high, low + 2.0 * np.pi)
        self.low = _limit_array(caller, "lower", lower, low)
        self.high = _limit_array(caller, "upper", upper, high)
        self.speed = _limit_array(caller, "velocity", velocity, np.where(np.isfinite(fast) & (fast > 0.0), fast, 2.0))
        self.acceleration = _limit_array(caller, "acceleration", acceleration, np.full(nv, 10.0))
        for name, room in {
            "lower, upper": self.high - self.low,
            "velocity": self.speed,
            "acceleration": self.acceleration,
        }.items():
            if not (room > 0.0).all():
                fixed_joints = [robot.v_names[k] for k in np.flatnonzero(~(room > 0.0))]
                raise ValueError(
                    f"{caller}: {name}: no range of motion for {name_list(fixed_joints)}; "
                    f"lock these joints (Robot.with_locked_joints) or widen the limits"
                )

    def within(self, x: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return center (nv,), sine and cosine coefficients (nv, K) of a motion within the limits.

        They are computed from unconstrained values x (nv, 1 + 2 K). The coefficients of each joint are scaled until it
        reaches a limit.
        """
        count = (x.shape[1] - 1) // 2
        order = np.arange(1, count + 1)
        sines, cosines = x[:, 1 : 1 + count], x[:, 1 + count :]
        sines = sines - sines.mean(axis=1, keepdims=True)
        cosines = cosines - (cosines @ order / (order @ order))[:, None] * order
        half = 0.5 * (self.high - self.low)
        center = self.low + half * (1.0 + 0.5 * np.tanh(x[:, 0]))
        times = np.linspace(0.0, period, 40 * count, endpoint=False)
        q, v, a = _motion(times, period, np.zeros(len(x)), sines, cosines)
        gap = period / len(times)  # between samples, where extremes may be larger
        room = _RANGE_SHARE * np.minimum(center - self.low, self.high - center)
        maxima = [np.abs(u).max(axis=0) for u in (q, v, a)]
        jerk = _derivative_bound(sines, cosines, period, 2)
        scale = np.stack(
            [
                room / (maxima[0] + 0.5 * gap * maxima[1] + 1e-300),
                self.speed / (maxima[1] + 0.5 * gap * maxima[2] + 1e-300),
                self.acceleration / (maxima[2] + 0.5 * gap * jerk + 1e-300),
            ]
        ).min(axis=0)
        return center, sines * scale[:, None], cosines * scale[:, None]


def _derivative_bound(sines: np.ndarray, cosines: np.ndarray, period: float, order: int) -> np.ndarray:
    """Return a bound (nv,) on the ``order``-th time derivative of the velocity, valid at all times."""
    rate = 2.0 * np.pi / period * np.arange(1, sines.shape[1] + 1)
    result: np.ndarray = (np.hypot(sines, cosines) * rate**order).sum(axis=1)
    return result


def _limit_array(caller: str, name: str, value: Any, default: np.ndarray) -> np.ndarray:
    if value is None:
        return default
    expected = f"{caller}: {name}: expected a finite number or an array of shape ({len(default)},)"
    result = real_array(expected, value)
    if result.shape not in ((), default.shape) or not np.isfinite(result).all():
        raise ValueError(f"{expected}, got {value!r}")
    return np.broadcast_to(result, default.shape).astype(float)


def _refuse_manifolds(caller: str, robot: Robot) -> None:
    """Raise ValueError if the velocity of a joint is not the time derivative of its configuration."""
    unsuitable = [joint.name for joint in robot.joints if not joint.velocity_is_rate]
    if unsuitable:
        raise ValueError(
            f"{caller}: {name_list(unsuitable)}: the velocity is not the rate of the configuration, as a Fourier "
            f"series requires; lock these joints (Robot.with_locked_joints), or load continuous joints as angles"
        )


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Excitation(ReturnedValue):
    """Measure of how well a motion determines the base parameters. Printed, it is a table, least excited first.

    Columns of the weighted regressor are scaled to length 1, so that units do not matter.
    """

    base: BaseParameters  # the combinations of parameters
    condition: float  # largest by smallest singular value; infinite if a parameter is not excited
    singular_values: np.ndarray  # (r,) the largest first
    independence: np.ndarray  # (r,) norm of each scaled column (0 to 1) after projecting out all others
    deviations: np.ndarray  # (r,) standard deviations of the estimates per unit of noise; infinite if not excited
    samples: int

    @property
    def smallest(self) -> float:
        """Smallest singular value of the weighted regressor, whose columns are scaled to length 1."""
        return float(self.singular_values[-1])

    @property
    def order(self) -> np.ndarray:
        """Indices (r,) of the base parameters, the least excited first."""
        return np.argsort(self.independence, kind="stable")

    @property
    def names(self) -> tuple[str, ...]:
        """Names (r,) of the base parameters, combinations as in ``"link2.J_xx - link2.J_yy + 0.1 link3.m"``."""
        return self.base.expressions()

    @property
    def unexcited(self) -> tuple[str, ...]:
        """Names of the base parameters that the motion does not determine."""
        return tuple(self.names[k] for k in self.order if self.independence[k] == 0.0)

    def __repr__(self) -> str:
        return f"<Excitation: condition number {self.condition:.4g} of {self.base.rank} base parameters>"

    def __str__(self) -> str:
        title = f"condition number {self.condition:.4g} of {self.base.rank} base parameters at {self.samples} samples"
        names = self.names
        rows = [
            [label(names[k]), number_text(self.independence[k]), f"{self.deviations[k]:.3g}"]
            for k in self.order.tolist()
        ]
        return "\n".join([title, "", *table(["parameter, the worst first", "independence", "σ per noise"], rows)])


@public
def excitation(
    robot: Robot,
    q: Array,
    v: Array,
    a: Array,
    *,
    weights: ArrayLike | Mapping[str, float] | None = None,
    passive: Passive = False,
    friction: Friction = "smooth",
    bodies: Iterable[str] | None = None,
) -> Excitation:
    """Return the excitation of the base parameters by a motion: a condition number, and values by parameter.

    q (..., nq), v, a (..., nv): samples.  ``weights`` (nv,) are 1 / σ of the joint forces' noise [1/(N·m), 1/N], 1 by
    default; ``passive``, ``friction`` and ``bodies`` are those of `base_parameters`.  A motion that does not excite all
    parameters has an infinite condition number, and names in `Excitation.unexcited`.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("double_pendulum")
    >>> t = np.linspace(0.0, 10.0, 200)[:, np.newaxis] * [1.0, 1.7]
    >>> moving = lw.identify.excitation(robot, np.sin(t), np.cos(t) * [1.0, 1.7], -np.sin(t) * [1.0, 2.89])
    >>> moving.condition < 100.0, moving.unexcited
    (True, ())
    >>> static = lw.identify.excitation(robot, np.sin(t), 0.0 * t, 0.0 * t)
    >>> static.condition, static.unexcited
    (inf, ('upper_rod.J_yy + lower_rod.m', 'lower_rod.J_yy'))
    """
    caller = "excitation"
    motion = read(caller, robot, q, v, a)
    columns = columns_of(caller, robot, bodies, passive, friction)
    joint_weight = joint_weights(caller, robot, weights)
    return ExcitationMeter(robot, columns, np.ones(robot.nv) if joint_weight is None else joint_weight).of(motion)


class ExcitationMeter:
    """Evaluator of the excitation by many motions of one robot; base parameters are computed only once."""

    def __init__(self, robot: Robot, columns: Columns, weights: np.ndarray) -> None:
        self.columns, self.weights = columns, weights
        self.base, typical = structural(robot, columns, weights > 0.0)
        self.typical = typical[self.base.columns]

    def triangle(self, motion: Measurements) -> np.ndarray:
        """Return the triangular factor R (r, r) of a motion's weighted regressor, for r base parameters."""
        R = np.zeros((self.base.rank, self.base.rank))
        for Y, _ in motion.regressors(self.columns.passive, self.columns.friction):
            rows = self.base.regressor(Y[..., self.columns.estimated]) * self.weights[:, None]
            R = triangular(np.concatenate([R, rows.reshape(-1, self.base.rank)]))
        return R

    def scaled(self, motion: Measurements) -> tuple[np.ndarray, np.ndarray]:
        """Return the triangular factor R of a motion with columns scaled to length 1, and the lengths before scaling.

        Columns of negligible length become 0.
        """
        R = self.triangle(motion)
        lengths = np.linalg.norm(R, axis=0)
        least = RANK * self.typical * np.sqrt(len(motion) * (self.weights**2).sum())
        lengths = np.where(lengths > least, lengths, 0.0)
        return R / np.where(lengths > 0.0, lengths, 1.0) * (lengths > 0.0), lengths

    def of(self, motion: Measurements) -> Excitation:
        """Return the excitation of the base parameters by a motion."""
        R, lengths = self.scaled(motion)
        _, s, Vt = np.linalg.svd(R)
        shown = s > RANK * s.max(initial=0.0)
        inverse = (Vt[shown].T / s[shown]) ** 2
        are_identifiable = np.linalg.norm(Vt[~shown], axis=0) < 1e-6
        with np.errstate(divide="ignore", invalid="ignore"):
            independence = np.where(are_identifiable, 1.0 / np.sqrt(inverse.sum(axis=1)), 0.0)
            deviations = np.where(are_identifiable, 1.0 / (independence * lengths), np.inf)
            condition = float(s[0] / s[-1]) if len(s) and shown.all() else np.inf
        return Excitation._make(self.base, condition, s, independence, deviations, len(motion))
