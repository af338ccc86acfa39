"""Excitation of base parameters: how well a motion shows them, and trajectories that show all of them.

`excitation` measures a motion by the condition number of the weighted regressor.

`exciting_trajectory` searches finite Fourier series within limits.  Each joint moves by harmonics k = 1 ... K of one
period T = 2π / ω,

    q(t) = q_0 + Σ a_k sin(k ω t) / (k ω) − b_k cos(k ω t) / (k ω)

with Σ a_k = 0 and Σ k b_k = 0, so that it begins and ends at rest, with no acceleration.  The motion of each joint is
scaled so that one of its limits is reached.  Coefficients are drawn at random, in steps that shrink, and those that
lower the condition number are kept.

Sources: Gautier and Khalil, Exciting trajectories for the identification of base inertial parameters of robots, Int.
J. Robotics Research 11, 1992 (the condition number); Golub and Van Loan, Matrix Computations, section 5.3; Swevers,
Ganseman, Tükel, De Schutter and Van Brussel, Optimal robot excitation and identification, IEEE T-RA 13, 1997;
Rechenberg, Evolutionsstrategie, 1973 (one drawn, the better kept, one in five: the step).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import label, table
from linkwork._util.messages import number as number_text
from linkwork._util.progress import Progress, Reporter
from linkwork._util.result import Made
from linkwork._util.validation import finite_array
from linkwork.dynamics.base_parameters import BaseParameters
from linkwork.identify.linear_least_squares import RANK, triangular
from linkwork.identify.measurements import (
    Measurements,
    is_plain,
    joint_weights,
    number,
    read,
    refuse_what_cannot_move,
    told,
    whole,
)
from linkwork.identify.parameter_selection import Columns, Passive, columns_of, structural
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_base import Array
from linkwork.model.coupled_joints import bounds
from linkwork.model.friction_laws import Friction
from linkwork.robot import Robot

__all__ = ["Excitation", "ExcitingTrajectory", "excitation", "exciting_trajectory"]


_LOOKED_AT = 100  # samples of a period while coefficients are tried
_WITHIN = 0.9  # of the room to a limit of position on either side


@public
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExcitingTrajectory:
    """A periodic motion; it begins and ends at rest."""

    period: float  # [s]
    center: np.ndarray  # q_0 (nq,)
    sines: np.ndarray  # a (nv, K) [rad/s, m/s]
    cosines: np.ndarray  # b (nv, K)
    excitation: Excitation

    def at(self, t: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q (..., nq), v and a (..., nv) at times t (...) [s]."""
        times = finite_array("ExcitingTrajectory.at", "t", t, unit="s")
        q, v, a = _motion(times.ravel(), self.period, self.center, self.sines, self.cosines)
        return tuple(x.reshape(*times.shape, -1) for x in (q, v, a))  # type: ignore[return-value]

    def sampled(self, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """t (samples,), q, v and a at equal steps through one period, its end left out."""
        count = whole("sampled", "samples", samples, 2)
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
    """A periodic motion that shows the base parameters well, found by trying: the same for the same ``seed``.

    ``lower``, ``upper`` (nv,) [rad, m] and ``velocity`` (nv,) [rad/s, m/s] are limits, numbers for all or one for each,
    the joints' own by default (where they have none: a turn or 2π m, 2 rad/s or m/s); ``acceleration`` likewise
    [rad/s², m/s²].  All are kept at every time.  ``num_trials`` bounds the effort: so many motions are looked at.
    Nothing is known of collisions.  ``progress`` shows a bar on standard error, or is a function of a
    `linkwork.Progress`, in trials.

    >>> import linkwork as lw
    >>> motion = lw.identify.exciting_trajectory(lw.load("double_pendulum"), num_trials=50)
    >>> motion.excitation.condition < 20.0
    True

    Raises ValueError for limits that leave no room, and for robots with joints whose velocity is not the rate of their
    configuration (a floating base, a ball joint).
    """
    caller = "exciting_trajectory"
    if not isinstance(robot, Robot):
        raise TypeError(f"{caller}: expected a robot first, got {robot!r}")
    robot.tree.require_inertias(caller)
    refuse_what_cannot_move(caller, robot)
    _refuse_manifolds(caller, robot)
    limits = _Limits(caller, robot, lower, upper, velocity, acceleration)
    expected = f"{caller}: period: expected a number above 0"
    duration = number(expected, period)
    if not np.isfinite(duration) or duration <= 0.0:
        raise ValueError(f"{expected}, got {period!r}")
    num_harmonics, num_trials = (
        whole(caller, "num_harmonics", num_harmonics, 2),
        whole(caller, "num_trials", num_trials, 1),
    )
    columns = columns_of(caller, robot, bodies, passive, friction)
    given = joint_weights(caller, robot, weights)
    weigher = Weigher(robot, columns, np.ones(robot.nv) if given is None else given)
    rng = np.random.default_rng(seed)
    times = np.arange(_LOOKED_AT) * (duration / _LOOKED_AT)

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
            other = x + step * rng.normal(size=x.shape)
            value, motion = tried(other)
            if value < best:
                x, best, result = other, value, motion
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
    """q, v, a (n, nv) at times (n,)."""
    rate = 2.0 * np.pi / period * np.arange(1, sines.shape[1] + 1)
    angle = t[:, None] * rate
    s, c = np.sin(angle), np.cos(angle)
    q = center + (s / rate) @ sines.T - (c / rate) @ cosines.T
    return q, c @ sines.T + s @ cosines.T, -(s * rate) @ sines.T + (c * rate) @ cosines.T


class _Limits:
    """What a motion has to stay in, and how coefficients are made to."""

    def __init__(self, caller: str, robot: Robot, lower: Any, upper: Any, velocity: Any, acceleration: Any) -> None:
        nv = robot.nv
        free = [*robot.tree.stacked()]
        own = bounds(robot.tree)
        low = np.concatenate([own[i][0] for i, _ in free])
        high = np.concatenate([own[i][1] for i, _ in free])
        fast = np.concatenate([body.limits.velocity for _, body in free])
        for body, place in zip(robot.tree.bodies, robot.tree.v_slices, strict=True):
            if body.coupling is not None and body.coupling.ratio != 0.0:  # what follows is not to be too fast either
                fast[place] = np.minimum(fast[place], np.array(body.limits.velocity) / abs(body.coupling.ratio))
        low, high = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * np.pi, -np.pi)), high
        high = np.where(np.isfinite(high), high, low + 2.0 * np.pi)
        self.low = _numbers(caller, "lower", lower, low)
        self.high = _numbers(caller, "upper", upper, high)
        self.speed = _numbers(caller, "velocity", velocity, np.where(np.isfinite(fast) & (fast > 0.0), fast, 2.0))
        self.acceleration = _numbers(caller, "acceleration", acceleration, np.full(nv, 10.0))
        for name, room in {
            "lower, upper": self.high - self.low,
            "velocity": self.speed,
            "acceleration": self.acceleration,
        }.items():
            if not (room > 0.0).all():
                which = [robot.v_names[k] for k in np.flatnonzero(~(room > 0.0))]
                raise ValueError(
                    f"{caller}: {name}: no room to move for {told(which)}: "
                    f"lock them (Robot.with_locked_joints) or widen it"
                )

    def within(self, x: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Center and coefficients of numbers (nv, 1 + 2 K) of size one: scaled until the first limit is reached."""
        count = (x.shape[1] - 1) // 2
        order = np.arange(1, count + 1)
        sines, cosines = x[:, 1 : 1 + count], x[:, 1 + count :]
        sines = sines - sines.mean(axis=1, keepdims=True)
        cosines = cosines - (cosines @ order / (order @ order))[:, None] * order
        half = 0.5 * (self.high - self.low)
        center = self.low + half * (1.0 + 0.5 * np.tanh(x[:, 0]))
        times = np.linspace(0.0, period, 40 * count, endpoint=False)
        q, v, a = _motion(times, period, np.zeros(len(x)), sines, cosines)
        gap = period / len(times)  # between samples, where extremes may be a little larger
        room = _WITHIN * np.minimum(center - self.low, self.high - center)
        tops = [np.abs(u).max(axis=0) for u in (q, v, a)]
        jerk = _largest(sines, cosines, period, 2)
        reach = np.stack(
            [
                room / (tops[0] + 0.5 * gap * tops[1] + 1e-300),
                self.speed / (tops[1] + 0.5 * gap * tops[2] + 1e-300),
                self.acceleration / (tops[2] + 0.5 * gap * jerk + 1e-300),
            ]
        ).min(axis=0)
        return center, sines * reach[:, None], cosines * reach[:, None]


def _largest(sines: np.ndarray, cosines: np.ndarray, period: float, order: int) -> np.ndarray:
    """A bound (nv,) of the velocity's derivative of that order, at all times."""
    rate = 2.0 * np.pi / period * np.arange(1, sines.shape[1] + 1)
    result: np.ndarray = (np.hypot(sines, cosines) * rate**order).sum(axis=1)
    return result


def _numbers(caller: str, name: str, value: Any, default: np.ndarray) -> np.ndarray:
    if value is None:
        return default
    expected = f"{caller}: {name}: expected {len(default)} finite numbers, or one for all"
    result = real_array(expected, value)
    if result.shape not in ((), default.shape) or not np.isfinite(result).all():
        raise ValueError(f"{expected}, got {value!r}")
    return np.broadcast_to(result, default.shape).astype(float)


def _refuse_manifolds(caller: str, robot: Robot) -> None:
    """Raises ValueError where a joint's configuration is no number that its velocity is the rate of."""
    odd = [joint.name for joint in robot.joints if not is_plain(joint.type)]
    if odd:
        raise ValueError(
            f"{caller}: {told(odd)}: the velocity is not the rate of the configuration, which a series of sines needs: "
            f"lock them (Robot.with_locked_joints), or load continuous joints as angles"
        )


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Excitation(Made):
    """How well a motion shows base parameters.  Printed, it is a table, the worst first.

    Columns of the weighted regressor are scaled to length 1, so that units do not count.
    """

    base: BaseParameters  # which combinations of the parameters they are
    condition: float  # the largest singular value by the smallest; infinite where something is not shown
    singular_values: np.ndarray  # (r,) the largest first
    independence: np.ndarray  # (r,) what is left of each column (0 to 1) when all others are taken off
    deviations: np.ndarray  # (r,) standard deviations of the estimates per unit of noise; infinite where not shown
    samples: int

    @property
    def smallest(self) -> float:
        """The smallest singular value."""
        return float(self.singular_values[-1])

    @property
    def order(self) -> np.ndarray:
        """(r,): the base parameters' places, those that are shown worst first."""
        return np.argsort(self.independence, kind="stable")

    @property
    def names(self) -> tuple[str, ...]:
        """The combinations: ``"link2.J_xx - link2.J_yy + 0.1 link3.m"``."""
        return self.base.expressions()

    @property
    def unexcited(self) -> tuple[str, ...]:
        """The names of those that the motion does not show."""
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
    """What a motion shows of the base parameters: the regressor's condition number, and parameter by parameter.

    q (..., nq), v, a (..., nv): samples.  ``weights`` (nv,) are 1 / σ of the joint forces' noise [1/(N·m), 1/N], 1 by
    default; the other arguments are those of `base_parameters`.  A motion that does not show everything has an infinite
    condition number, and names in `Excitation.unexcited`.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("double_pendulum")
    >>> t = np.linspace(0.0, 10.0, 200)[:, np.newaxis] * [1.0, 1.7]
    >>> seen = lw.identify.excitation(robot, np.sin(t), np.cos(t) * [1.0, 1.7], -np.sin(t) * [1.0, 2.89])
    >>> seen.condition < 100.0, seen.unexcited
    (True, ())
    >>> still = lw.identify.excitation(robot, np.sin(t), 0.0 * t, 0.0 * t)
    >>> still.condition, still.unexcited
    (inf, ('upper_rod.J_yy + lower_rod.m', 'lower_rod.J_yy'))
    """
    caller = "excitation"
    motion = read(caller, robot, q, v, a)
    columns = columns_of(caller, robot, bodies, passive, friction)
    given = joint_weights(caller, robot, weights)
    return Weigher(robot, columns, np.ones(robot.nv) if given is None else given).of(motion)


class Weigher:
    """Looks at many motions of one robot."""

    def __init__(self, robot: Robot, columns: Columns, weights: np.ndarray) -> None:
        self.columns, self.weights = columns, weights
        self.base, typical = structural(robot, columns, weights > 0.0)
        self.typical = typical[self.base.columns]

    def triangle(self, motion: Measurements) -> np.ndarray:
        """R (r, r) of the weighted regressor of a motion."""
        R = np.zeros((self.base.rank, self.base.rank))
        for Y, _ in motion.regressors(self.columns.passive, self.columns.friction):
            rows = self.base.regressor(Y[..., self.columns.estimated]) * self.weights[:, None]
            R = triangular(np.concatenate([R, rows.reshape(-1, self.base.rank)]))
        return R

    def scaled(self, motion: Measurements) -> tuple[np.ndarray, np.ndarray]:
        """The triangle with columns of length 1, or zero where there is nothing, and their lengths."""
        R = self.triangle(motion)
        lengths = np.linalg.norm(R, axis=0)
        least = RANK * self.typical * np.sqrt(len(motion) * (self.weights**2).sum())
        lengths = np.where(lengths > least, lengths, 0.0)
        return R / np.where(lengths > 0.0, lengths, 1.0) * (lengths > 0.0), lengths

    def of(self, motion: Measurements) -> Excitation:
        """What one shows."""
        R, lengths = self.scaled(motion)
        _, s, Vt = np.linalg.svd(R)
        shown = s > RANK * s.max(initial=0.0)
        inverse = (Vt[shown].T / s[shown]) ** 2
        seen = np.linalg.norm(Vt[~shown], axis=0) < 1e-6
        with np.errstate(divide="ignore", invalid="ignore"):
            independence = np.where(seen, 1.0 / np.sqrt(inverse.sum(axis=1)), 0.0)
            deviations = np.where(seen, 1.0 / (independence * lengths), np.inf)
            condition = float(s[0] / s[-1]) if len(s) and shown.all() else np.inf
        return Excitation._make(self.base, condition, s, independence, deviations, len(motion))
