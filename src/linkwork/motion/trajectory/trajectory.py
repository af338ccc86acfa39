"""Trajectories: configuration, velocity and acceleration as functions of time, as immutable values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public, quick
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.messages import untimed
from linkwork._util.validation import finite_number as finite
from linkwork._util.validation import non_negative, optional
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.scalar.functions import le, where
from linkwork.kernels.robot_base import RobotBase
from linkwork.motion.arguments import Limit, Outside, Side, sample_count, times_within
from linkwork.motion.trajectory.robot_changes import (
    RobotChanges,
    by_robot,
    have_same_joints,
    refuse_displaced_objects,
    with_robot,
)
from linkwork.motion.trajectory.time_scaling import length_of, speed_of
from linkwork.motion.trajectory.trajectory_construction import (
    at_one_speed,
    at_other_times,
    chained,
    coordinate_section,
    polynomial_section,
    refuse_jumps,
)
from linkwork.motion.trajectory.trajectory_extremes import Extremes, extremes_of, margins_of
from linkwork.motion.trajectory.trajectory_output import TrajectoryOutput
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["Trajectory", "TrajectoryState", "state_and_jerk"]


class TrajectoryState(NamedTuple):
    """Configurations q (..., nq), velocities v and accelerations a (..., nv) at times (...)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


@public
class Trajectory(RobotChanges, TrajectoryOutput, metaclass=WithForeignNames):
    """A configuration as a function of time or path length, with its derivatives, of a robot or n plain coordinates.

    ``trajectory(t)`` returns q, v and a at one time or an array of times [s].  `Robot.spline`, `Robot.profile`,
    `linkwork.motion.spline`, `linkwork.motion.profile` and the class methods here create trajectories.  A trajectory
    is immutable and can be pickled; equal trajectories compare and hash equal.

    The path of a planner is not timed (`is_timed`): its parameter is the path length [rad, m] instead of time,
    and v and a are derivatives with respect to the path length.  `linkwork.motion.time_optimal`, `retimed` and
    `at_constant_speed` return the path with times.

    ``sections`` are the curves between jumps, in the order of time.

    >>> import linkwork as lw
    >>> line = lw.motion.Trajectory.polynomial([0.0, 2.0], [[[1.0, 0.5]]])
    >>> line(1.0).q.tolist(), line(1.0).v.tolist(), line.duration
    ([1.5], [0.5], 2.0)
    """

    __slots__ = ("__weakref__", "_begins", "_first", "_last", "_robot", "_sections", "_space", "_timed", "_traced")

    def __init__(self, sections: Sequence[Section], robot: RobotBase | None = None, *, is_timed: bool = True) -> None:
        if not sections or not all(isinstance(section, Section) for section in sections):
            remedy = "use Robot.spline, Robot.profile, linkwork.motion.spline or Trajectory.polynomial"
            raise TypeError(f"Trajectory: sections: expected sections of curves, got {sections!r}; {remedy}")
        if sections[0].robot is not None:  # a part of a motion, which begins with an object in the hand
            robot, sections = sections[0].robot, with_robot(sections, robot, sections[0].robot)
        self._sections = tuple(sections)
        self._robot: Any = robot
        self._timed = is_timed
        self._space = sections[0].space
        self._begins = [section.start for section in self._sections]
        self._first, self._last = self._begins[0], self._sections[-1].end
        self._traced = any(section.is_symbolic for section in self._sections)

    # -- constructors

    @classmethod
    def polynomial(
        cls, times: ArrayLike, coefficients: ArrayLike, *, robot: RobotBase | None = None, base: ArrayLike | None = None
    ) -> Trajectory:
        """Create piecewise polynomials between times (n + 1,) [s].

        ``coefficients`` (n, nv, terms) are coefficients of powers of u, lowest first, where u is the time since each
        segment began [s]. If the robot's configurations are not plain coordinates, ``base`` (n, nq) is required: q =
        base ⊕ Σ c_k u^k. For plain coordinates ``base`` is optional.
        """
        return cls([polynomial_section(times, coefficients, robot, base)], robot)

    @classmethod
    @public(start=optional(finite), end=optional(finite))
    def by_coordinate(
        cls,
        times: Sequence[ArrayLike],
        coefficients: Sequence[ArrayLike],
        *,
        robot: RobotBase | None = None,
        base: ArrayLike | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Trajectory:
        """Create piecewise polynomials with separate segments for each coordinate of v.

        Coordinate j has ``times[j]`` (n_j + 1,) [s] and ``coefficients[j]`` (n_j, terms), lowest first. q(t) = base ⊕
        x(t) with x_j(t) = Σ c_k u^k, where u is the time since the segment began. If a ``robot`` is passed, q is a
        configuration of the robot. ``base`` (nq,) is zero by default for plain coordinates. Unless ``start`` and
        ``end`` of the trajectory are passed, all coordinates must begin at the same time and end at the same time.
        Outside its times a coordinate continues along its first or last polynomial.
        """
        return cls([coordinate_section(times, coefficients, robot, base, start, end)], robot)

    # -- properties

    @property
    def robot(self) -> Any:
        """The robot of the configurations, at the start if it picks up objects; None for plain coordinates."""
        return self._robot

    @property
    def is_timed(self) -> bool:
        """True if the parameter is time [s], False if it is path length [rad, m]."""
        return self._timed

    @property
    def nq(self) -> int:
        """Number of coordinates of q."""
        return self._space.nq

    @property
    def nv(self) -> int:
        """Number of coordinates of v."""
        return self._space.nv

    @property
    def start_time(self) -> float:
        """Time of the start [s]."""
        return self._first

    @property
    def end_time(self) -> float:
        """Time of the end [s]."""
        return self._last

    @property
    def duration(self) -> float:
        """Duration [s]; the path length [rad, m] if the trajectory is not timed."""
        return self.end_time - self.start_time

    @property
    def knots(self) -> np.ndarray:
        """Times (n,) [s] between which the trajectory is smooth, including both ends."""
        result = np.concatenate([section.knots()[k > 0 :] for k, section in enumerate(self._sections)])
        result.setflags(write=False)
        return result

    @property
    def sections(self) -> tuple[Section, ...]:
        """The successive curves of the trajectory, each with the times between which it runs."""
        return self._sections

    # -- evaluation

    @quick
    def __call__(self, t: ArrayLike, *, outside: Outside = "raise", side: Side = "right") -> TrajectoryState:
        """Return q, v and a at one time or an array of times (...) [s].

        Where v or a jumps, the values after the jump are returned, or with ``side="left"`` the values before it; at
        the end always the values before it.  Times before the start and after the end raise ValueError; with
        ``outside="hold"`` the trajectory rests at such times.  In a compiled function t may be a symbol; then the
        trajectory always rests outside its times.  Raises ValueError for non-finite times.
        """
        if t.__class__ is np.ndarray and not t.ndim and t.dtype == np.float64:
            t = float(t)
        named = all(isinstance(x, str) for x in (outside, side)) and outside in ("raise", "hold") and side == "right"
        if named and isinstance(t, (float, int)) and not self._traced and self._first <= t <= self._last:
            at = 0 if len(self._sections) == 1 else bisect_right(self._begins, t) - 1
            result = self._sections[at].at_time(float(t))
            if result is not None:
                return TrajectoryState(*result)
        return TrajectoryState(*self._at(t, 2, outside, side))

    def jerk(self, t: ArrayLike, *, outside: Outside = "raise", side: Side = "right") -> np.ndarray:
        """Return the derivative of a at times t (...): (..., nv) [rad/s³, m/s³].

        ``outside`` and ``side`` have the meaning of the options of ``trajectory(t)``.
        """
        return cast(np.ndarray, self._at(t, 3, outside, side)[3])

    def _at(self, t: Any, order: int, outside: Outside, side: Side) -> list[Any]:
        if not (isinstance(side, str) and side in ("left", "right")):
            raise ValueError(f'Trajectory: side: expected "left" or "right", got {side!r}')
        if self._traced or is_traced(t):
            if side == "left":
                raise ValueError('Trajectory: side: expected "right" in a compiled function, got "left"')
            return self._on_symbols(t, order)
        times = times_within("Trajectory", t, self._first, self._last, outside, hint=True, is_timed=self._timed)
        inside = np.maximum(np.nextafter(times, -np.inf), self._first) if side == "left" else None
        return self._numeric(times, order, inside, outside == "hold")

    def _beside(self, t: np.ndarray, inside: np.ndarray | None) -> TrajectoryState:
        """Return q, v and a at times t (...), on the segments that contain the times ``inside`` (...)."""
        return TrajectoryState(*self._numeric(t, 2, inside, False))

    def _numeric(self, times: np.ndarray, order: int, inside: np.ndarray | None, hold: bool) -> list[Any]:
        if len(self._sections) == 1:
            return [*self._sections[0].at(times, order, hold, inside)]
        which = np.searchsorted(self._begins[1:], times if inside is None else inside, side="right")
        result = [np.empty((*times.shape, n)) for n in (self.nq, *(self.nv,) * order)]
        for k in np.unique(which):
            mask = which == k
            values = self._sections[k].at(times[mask], order, hold, None if inside is None else inside[mask])
            for whole, part in zip(result, values, strict=True):
                whole[mask] = part
        return result

    def _on_symbols(self, t: Any, order: int) -> list[Any]:
        if np.ndim(t):
            each = [self._on_symbols(x, order) for x in np.asarray(t, dtype=object).ravel()]
            return [array([[*x] for x in part]).reshape(*np.shape(t), -1) for part in zip(*each, strict=True)]
        t = t.item() if isinstance(t, np.ndarray) else t
        result = self._sections[0].on_symbols(t, order)
        for section in self._sections[1:]:
            later = le(section.start, t)
            more = section.on_symbols(t, order)
            result = [
                [where(later, y, x) for x, y in zip(earlier, values, strict=True)]
                for earlier, values in zip(result, more, strict=True)
            ]
        return [array(x) for x in result]

    def extremes(self, order: int = 1) -> Extremes:
        """Return the lower and the upper bound of each coordinate: of q (order 0), v (1), a (2) or the jerk (3).

        Bounds are exact up to rounding where v is the derivative of polynomials of time.  For spherical and floating
        joints, bounds of v, a and the jerk are certified, not sampled.  They exceed the true extremes by at most a
        fraction 1e-6 (jerk: 1e-3) of the joint's largest value.  Bounds are infinite where no bound is known: for q
        that is not plain coordinates, and for joints on a squad curve whose two geodesics may differ by an angle of π,
        where the curve may jump.
        """
        return extremes_of(self, order)

    def limit_margins(
        self,
        *,
        lower: ArrayLike | Mapping[str, ArrayLike] | None = None,
        upper: ArrayLike | Mapping[str, ArrayLike] | None = None,
        velocity: Limit | None = None,
        acceleration: Limit | None = None,
        jerk: Limit | None = None,
    ) -> dict[str, np.ndarray]:
        """Return the smallest margin (nv,) to each limit over all times, negative where it is exceeded.

        Margins are based on `extremes`, not on samples.  Limits are ``lower`` and ``upper`` of q, ``velocity``,
        ``acceleration`` and ``jerk``.  A limit is a number, an array with one number for each coordinate, a pair
        (lower, upper) of these for v, a and the jerk, or a dict of limits by joint.  The default limits are the
        robot's, also for joints that a dict leaves out.  If the robot has no limits of ``acceleration`` or ``jerk``,
        the dict must contain every joint.  While the robot carries an object, the default limits are those of the
        robot with the object (`robot_at`).  The margin is −inf without a known bound: for position limits of joints
        whose q̇ is not v, and under the key ``loops`` for each limit of a joint that closes a loop.

        A trajectory that is not timed has margins to limits of q only; other limits raise ValueError.
        """
        limits = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        if not self._timed:
            if any(limit is not None for limit in limits.values()):
                raise ValueError(untimed("limit_margins", self))
            limits = {}
        limits = {"lower": lower, "upper": upper, **limits}
        margins = [margins_of("limit_margins", part, limits) for part in by_robot(self)]
        names = dict.fromkeys(name for part in margins for name in part)
        return {name: np.minimum.reduce([part[name] for part in margins if name in part]) for name in names}

    @public(tolerance=non_negative)
    def satisfies_limits(
        self,
        *,
        lower: ArrayLike | Mapping[str, ArrayLike] | None = None,
        upper: ArrayLike | Mapping[str, ArrayLike] | None = None,
        velocity: Limit | None = None,
        acceleration: Limit | None = None,
        jerk: Limit | None = None,
        tolerance: float = 1e-9,
    ) -> bool:
        """Return True if the limits certainly hold at all times, up to a tolerance: see `limit_margins`.

        Limits are ``lower`` and ``upper`` of q, ``velocity``, ``acceleration`` and ``jerk``.
        """
        margins = self.limit_margins(lower=lower, upper=upper, velocity=velocity, acceleration=acceleration, jerk=jerk)
        return all(bool((room >= -tolerance).all()) for room in margins.values())

    # -- derived trajectories

    def sampled(self, dt: float | None = None, num_samples: int | None = None) -> tuple[np.ndarray, TrajectoryState]:
        """Return equally spaced times, including both ends, and the states at these times.

        The step is about ``dt`` [s], or the number of times is ``num_samples``.
        """
        count = sample_count("sampled", self.duration, dt, num_samples)
        times = np.linspace(self.start_time, self.end_time, count)
        return times, self(times)

    def slice(self, start: float, end: float) -> Trajectory:
        """Return the trajectory between two of its times, ``start`` and ``end`` [s]."""
        times = times_within("slice: start and end", [start, end], self._first, self._last, is_timed=self._timed)
        if not times[0] < times[1]:
            raise ValueError(f"slice: start and end: expected a start before the end, got {start!r} and {end!r}")
        first, last = map(float, times)
        result = [
            section.part(max(first, section.start), min(last, section.end))
            for section in self._sections
            if section.start < last and section.end > first
        ]
        return self._along(result)

    @public(tolerance=non_negative)
    def concatenate(self, other: Trajectory, *, allow_jump: bool = False, tolerance: float = 1e-6) -> Trajectory:
        """Return this trajectory followed by ``other``, which is shifted in time to begin at this trajectory's end.

        The robot of ``other`` may have other attached objects and loads (`Robot.with_attached`, `Robot.with_payload`):
        a pick and place consists of approach, carry and return.  `robot_at` returns the robot at a time, and pictures
        show an object at rest before and after it is held.

        Raises ValueError for robots with different joints.  Unless ``allow_jump``, raises ValueError if q or v jumps
        by more than ``tolerance`` [rad, m, rad/s, m/s] from one trajectory to the other.  Raises it, too, if ``other``
        picks up an object at another pose than where it lies, by more than ``tolerance`` and 1e-3 [m, rad].
        """
        if not isinstance(other, Trajectory):
            remedy = "; pass its trajectory" if isinstance(getattr(other, "trajectory", None), Trajectory) else ""
            raise TypeError(f"concatenate: expected a trajectory, got {other!r}{remedy}")
        if other._space != self._space or not have_same_joints(self._robot, other._robot):
            differ = "" if self._of() != other._of() else ", whose joints differ"
            if (self._robot is None) != (other._robot is None):
                differ = "; Robot.profile, Robot.spline and PlanResult.timed make trajectories of a robot"
            raise ValueError(f"concatenate: expected a trajectory of {self._of()}, got one of {other._of()}{differ}")
        if other._timed != self._timed:
            raise ValueError(untimed("concatenate", self if other._timed else other))
        if not allow_jump:
            refuse_jumps(self, other, self._name, tolerance)
            refuse_displaced_objects(self, other, tolerance)
        more = with_robot(other._sections, other._robot, self._robot)
        return self._along(chained([*self._sections, *more], self.start_time))

    def reversed(self) -> Trajectory:
        """Return the trajectory run backwards in the same time: q(start + end − t), with opposite v."""
        return self._along(chained([s.run_backwards() for s in self._sections[::-1]], self.start_time))

    def shifted(self, start_time: float) -> Trajectory:
        """Return the same trajectory with another ``start_time`` [s]."""
        return self._along(chained(self._sections, finite("shifted", "start_time", start_time, symbols=False)))

    def _along(self, sections: Sequence[Section]) -> Trajectory:
        """Return a trajectory of ``sections``, with the robot and the kind of parameter of this trajectory."""
        return Trajectory(sections, self._robot, is_timed=self._timed)

    def retimed(self, times: ArrayLike | float) -> Trajectory:
        """Return the same path with other times: stretched by a factor, or with new times at the `knots`.

        For a path that is not timed, ``times`` is the number of seconds for each unit of its length, or the times at
        its knots. Between new times (n,) the time scaling is a monotone cubic (Fritsch and Carlson).  So v stays
        continuous, and a may jump at knots.
        """
        result = at_other_times(self, times)
        return self if result is self._sections and self._timed else Trajectory(result, self._robot)

    def path_length(self, *, weights: ArrayLike | None = None, frame: str | None = None) -> float:
        """Return the path length: ∫ √(Σ w_j v_j²) dt, or the length of the path of a frame's origin [m].

        ``weights`` (nv,) are 1 by default.
        """
        return length_of(self.knots, speed_of("path_length", self, weights, frame))

    def at_constant_speed(
        self, speed: float = 1.0, *, weights: ArrayLike | None = None, frame: str | None = None
    ) -> Trajectory:
        """Return the same path at constant ``speed`` (path length per second); with speed 1, time is path length.

        ``weights`` and ``frame`` define lengths, as in `path_length`. The relative error of the speed is 1e-7, except
        very close to moments of rest; times of rest are left out.  v jumps only at these moments and where this
        trajectory's v jumps; a may jump between cubics of the time scaling.  Raises ValueError for a trajectory of
        zero length.
        """
        return Trajectory(at_one_speed(self, speed, weights, frame), self._robot)

    # -- value semantics

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trajectory) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return (self._robot, self._timed, *(section.key() for section in self._sections))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Trajectory, is_timed=self._timed), (self._sections, self._robot)

    def __repr__(self) -> str:
        if not self._timed:
            return f"<Trajectory of {self._of()}: path of length {self.duration:.6g} [rad, m], not timed>"
        return f"<Trajectory of {self._of()}: {self.start_time:.6g} s to {self.end_time:.6g} s>"

    def _of(self) -> str:
        return f"{self.nq} numbers" if self._robot is None else f"robot {self._robot.name!r}"

    def _name(self, k: int) -> str:
        return f"coordinate {k}" if self._robot is None else repr(self._robot.v_names[k])


def state_and_jerk(trajectory: Trajectory, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return q, v, a and the derivative of a at times (...) of a trajectory, from one evaluation."""
    q, v, a, jerk = trajectory._at(t, 3, "raise", "right")
    return q, v, a, jerk


add_foreign_names(Trajectory, "motion.Trajectory")
