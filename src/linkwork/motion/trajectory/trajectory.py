"""A trajectory: configuration, velocity and acceleration by time, as one immutable value."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public, quick
from linkwork._util.validation import finite_number as finite
from linkwork._util.validation import non_negative, optional
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.scalar.functions import le, where
from linkwork.kernels.robot_base import RobotBase
from linkwork.motion.arguments import Outside, finite_number, times_within
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
from linkwork.motion.trajectory.trajectory_files import load_trajectory, save_trajectory
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["Trajectory", "TrajectoryState"]


MOST_SAMPLES = 10**9  # of a trajectory at once


class TrajectoryState(NamedTuple):
    """q (..., nq), v and a (..., nv) at times (...)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


@public
class Trajectory:
    """Configurations by time: a function of time with its derivatives, of a robot or of n plain numbers.

    ``trajectory(t)`` gives q, v and a at one time or an array of times [s].  It is made by `Robot.spline`,
    `Robot.profile`, `linkwork.motion.spline`, `linkwork.motion.profile` and the class methods here.  An immutable
    value: equal ones compare and hash equal, and it pickles.

    >>> import linkwork as lw
    >>> line = lw.motion.Trajectory.polynomial([0.0, 2.0], [[[1.0, 0.5]]])
    >>> line(1.0).q.tolist(), line(1.0).v.tolist(), line.duration
    ([1.5], [0.5], 2.0)
    """

    __slots__ = ("__weakref__", "_begins", "_first", "_last", "_robot", "_sections", "_space", "_traced")

    def __init__(self, sections: Sequence[Section], robot: RobotBase | None = None) -> None:
        if not sections or not all(isinstance(section, Section) for section in sections):
            made = "Robot.spline, Robot.profile, linkwork.motion.spline and Trajectory.polynomial make trajectories"
            raise TypeError(f"Trajectory: expected sections of curves, got {sections!r}; {made}")
        self._sections = tuple(sections)
        self._robot: Any = robot
        self._space = sections[0].space
        self._begins = [section.start for section in self._sections]
        self._first, self._last = self._begins[0], self._sections[-1].end
        self._traced = any(section.is_symbolic for section in self._sections)

    # -- ways to it

    @classmethod
    def polynomial(
        cls, times: ArrayLike, coefficients: ArrayLike, *, robot: RobotBase | None = None, base: ArrayLike | None = None
    ) -> Trajectory:
        """Polynomial pieces between times (n + 1,): coefficients (n, nv, terms), lowest first, of the time in a piece.

        For a robot whose configurations are no plain numbers, ``base`` (n, nq) are the configurations that the pieces
        are added to: q = base ⊕ Σ c_k u^k.  For others too, where it is given.
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
        """Each coordinate of v by pieces of its own: ``times[j]`` (n_j + 1,), ``coefficients[j]`` (n_j, terms).

        q(t) = base ⊕ x(t), x_j(t) = Σ c_k u^k with u the time in a piece, lowest first; ``base`` (nq,) is zero for
        plain numbers if it is left out.  The trajectory begins and ends with the coordinates' own times, which have to
        be the same, unless ``start`` and ``end`` say otherwise: before its first piece and after its last a coordinate
        goes on as these do.
        """
        return cls([coordinate_section(times, coefficients, robot, base, start, end)], robot)

    # -- what it is

    @property
    def robot(self) -> Any:
        """The robot whose configurations it gives, if it is of one."""
        return self._robot

    @property
    def nq(self) -> int:
        """How many numbers q has."""
        return self._space.nq

    @property
    def nv(self) -> int:
        """How many numbers v has."""
        return self._space.nv

    @property
    def start_time(self) -> float:
        """When it begins [s]."""
        return self._first

    @property
    def end_time(self) -> float:
        """When it ends [s]."""
        return self._last

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return self.end_time - self.start_time

    @property
    def knots(self) -> np.ndarray:
        """The times between which it is smooth, its ends among them (n,)."""
        result = np.concatenate([section.knots()[k > 0 :] for k, section in enumerate(self._sections)])
        result.setflags(write=False)
        return result

    @property
    def sections(self) -> tuple[Section, ...]:
        """The curves that it runs through one after the other, each with its times."""
        return self._sections

    # -- what is on it

    @quick
    def __call__(self, t: ArrayLike, *, outside: Outside = "raise") -> TrajectoryState:
        """q, v and a at one time or an array of times (...) [s].

        Times before the start and after the end are refused; with ``outside="hold"`` the trajectory stands still
        there.  In a function that is compiled t may be a symbol, and then it always does.  Raises ValueError for times
        that are not finite or lie outside.
        """
        if t.__class__ is np.ndarray and not t.ndim and t.dtype == np.float64:
            t = float(t)
        named = isinstance(outside, str) and outside in ("raise", "hold")
        if named and isinstance(t, (float, int)) and not self._traced and self._first <= t <= self._last:
            at = 0 if len(self._sections) == 1 else bisect_right(self._begins, t) - 1
            result = self._sections[at].one(float(t))
            if result is not None:
                return TrajectoryState(*result)
        return TrajectoryState(*self._at(t, 2, outside))

    def jerk(self, t: ArrayLike, *, outside: Outside = "raise") -> np.ndarray:
        """The derivative of a at times (...): (..., nv) [rad/s³, m/s³]."""
        return cast(np.ndarray, self._at(t, 3, outside)[3])

    def _at(self, t: Any, order: int, outside: Outside) -> list[Any]:
        if self._traced or is_traced(t):
            return self._on_symbols(t, order)
        times = times_within("Trajectory", t, self._first, self._last, outside)
        held = outside == "hold"
        if len(self._sections) == 1:
            return [*self._sections[0].at(times, order, held)]
        which = np.searchsorted(self._begins[1:], times, side="right")
        result = [np.empty((*times.shape, n)) for n in (self.nq, *(self.nv,) * order)]
        for k in np.unique(which):
            here = which == k
            for all_of_it, part in zip(result, self._sections[k].at(times[here], order, held), strict=True):
                all_of_it[here] = part
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
                [where(later, y, x) for x, y in zip(one, other, strict=True)]
                for one, other in zip(result, more, strict=True)
            ]
        return [array(x) for x in result]

    def extremes(self, order: int = 1) -> Extremes:
        """Bounds of every coordinate over all times: of q (order 0), v (1), a (2) or the jerk (3).

        Exact to rounding where v is the rate of polynomials of time.  Of other joints that turn or move freely v, a and
        the jerk are certified, not sampled, and no more than a part of 1e-6 (of the jerk 1e-3) of the joint's largest
        beyond what they come to.  Infinite where nothing is known: q that is no plain numbers, a squad's joints where
        its two geodesics come to half a turn from each other, for it may jump there.
        """
        return extremes_of(self._sections, order)

    def limit_margins(
        self,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        velocity: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        acceleration: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        jerk: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    ) -> dict[str, np.ndarray]:
        """The least room (nv,) to each limit at any time, below 0 where it is exceeded: by `extremes`, not by samples.

        A limit is a number for all or one for each, or of v, a and the jerk a pair (lower, upper) of these; ``lower``
        and ``upper`` (nq,) and ``velocity`` are the robot's own where they are left out.  There is no room, −inf, where
        nothing is known.
        """
        given = {"lower": lower, "upper": upper, "velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        return margins_of("limit_margins", self, given)

    @public(tolerance=non_negative)
    def satisfies_limits(
        self,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        velocity: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        acceleration: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        jerk: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        tolerance: float = 1e-9,
    ) -> bool:
        """Whether limits are proved to be kept at all times, up to a tolerance: see `limit_margins`."""
        margins = self.limit_margins(lower=lower, upper=upper, velocity=velocity, acceleration=acceleration, jerk=jerk)
        return all(bool((room >= -tolerance).all()) for room in margins.values())

    # -- others made of it

    def sampled(self, dt: float | None = None, num_samples: int | None = None) -> tuple[np.ndarray, TrajectoryState]:
        """Times at equal steps from start to end, both among them, and what is there: about ``dt`` [s], or
        ``num_samples``.
        """
        if (dt is None) == (num_samples is None):
            raise ValueError("sampled: expected either dt [s] or num_samples")
        if num_samples is None:
            assert dt is not None
            if not (np.isfinite(dt) and dt > 0.0):
                raise ValueError(f"sampled: dt: expected seconds above 0, got {dt!r}")
            if self.duration / dt > MOST_SAMPLES:
                raise ValueError(f"sampled: dt: expected at most {MOST_SAMPLES} samples, got steps of {dt:g} s")
            num_samples = max(int(np.ceil(self.duration / dt - 1e-9)), 1) + 1
        if int(num_samples) != num_samples or num_samples < 2:
            raise ValueError(f"sampled: num_samples: expected a whole number from 2 on, got {num_samples!r}")
        if num_samples > MOST_SAMPLES:
            raise ValueError(f"sampled: num_samples: expected at most {MOST_SAMPLES} samples, got {num_samples}")
        times = np.linspace(self.start_time, self.end_time, int(num_samples))
        return times, self(times)

    def slice(self, start: float, end: float) -> Trajectory:
        """The part between two of its times [s]."""
        times = times_within("slice: start and end", [start, end], self._first, self._last)
        if not times[0] < times[1]:
            raise ValueError(f"slice: start and end: expected a start before the end, got {start!r} and {end!r}")
        first, last = map(float, times)
        result = [
            section.part(max(first, section.start), min(last, section.end))
            for section in self._sections
            if section.start < last and section.end > first
        ]
        return Trajectory(result, self._robot)

    @public(tolerance=non_negative)
    def concatenate(self, other: Trajectory, *, allow_jump: bool = False, tolerance: float = 1e-6) -> Trajectory:
        """This one, and after its end the other, moved in time so that it begins then.

        Raises ValueError where q or v of the other's beginning is not that of the end, unless ``allow_jump``: more than
        ``tolerance`` apart [rad, m, rad/s, m/s].
        """
        if not isinstance(other, Trajectory):
            raise TypeError(f"concatenate: expected a trajectory, got {other!r}")
        if other._space != self._space or other._robot != self._robot:
            raise ValueError(f"concatenate: expected a trajectory of the same, {self._of()}, got one of {other._of()}")
        if not allow_jump:
            refuse_jumps(self, other, self._name, tolerance)
        return Trajectory(chained([*self._sections, *other._sections], self.start_time), self._robot)

    def reversed(self) -> Trajectory:
        """The same way back, in the same time: q(t) is q(start + end − t), v the opposite of that there."""
        return Trajectory(chained([s.turned(0.0) for s in self._sections[::-1]], self.start_time), self._robot)

    def shifted(self, start_time: float) -> Trajectory:
        """The same, beginning at another time [s]."""
        return Trajectory(chained(self._sections, finite_number("shifted: start_time", start_time)), self._robot)

    def retimed(self, times: ArrayLike | float) -> Trajectory:
        """The same way in other times: all longer by a factor, or new times for its `knots`.

        Of new times (n,) the clock between is a cubic that never runs back (Fritsch and Carlson's), so v is continuous
        where it was, and a may jump at knots.
        """
        result = at_other_times(self, times)
        return self if result is self._sections else Trajectory(result, self._robot)

    def path_length(self, *, weights: ArrayLike | None = None, frame: str | None = None) -> float:
        """How long its way is: ∫ √(Σ w_j v_j²) dt, or that of the origin of a robot's ``frame`` in the world [m].

        ``weights`` (nv,) are all 1 if they are left out.
        """
        return length_of(self.knots, speed_of("path_length", self, weights, frame))

    def at_constant_speed(
        self, speed: float = 1.0, *, weights: ArrayLike | None = None, frame: str | None = None
    ) -> Trajectory:
        """The same way at one speed, that of `path_length`: with 1, the time since its start is the length so far.

        The speed is right to 1e-7 of it, but very near to where the trajectory stands still for a moment; times at
        which it stands still are left out.  v has no jumps where it had none but there; a may have, between pieces of
        the clock.  Raises ValueError for a trajectory of no length.
        """
        return Trajectory(at_one_speed(self, speed, weights, frame), self._robot)

    # -- files and pictures

    def save(self, path: str | os.PathLike[str], *, samples: int | None = None) -> None:
        """Write it to a file: ``.npz``, with which `load` gives the same to the bit, or ``.csv``, samples of q, v, a.

        A CSV file has a line of names and one for each of its knots, or of so many ``samples`` at equal steps.
        """
        save_trajectory(self, path, samples)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, robot: RobotBase | None = None) -> Trajectory:
        """What `save` wrote; for a trajectory of a robot, ``robot`` is that one.

        Of a CSV file q, v and a are those at the samples, and polynomials of degree five between.
        Raises ValueError for what is no such file, and where the robot has other joints.
        """
        return cast(Trajectory, load_trajectory(cls, path, robot))

    def plot(self, axes: Any = None, *, num_samples: int = 500, limits: Any = None, columns: int = 1) -> Any:
        """q, v, a and the jerk by time, drawn with matplotlib: (``pip install "linkwork[figures]"``); its axes.

        ``limits`` are shaded: True for the robot's own, of position and velocity, or a dict of "position", "velocity",
        "acceleration" and "jerk" besides, each a number, one for each, or a pair (lower, upper).  With several
        ``columns`` coordinates are shared out among them, and axes are (4, columns).
        """
        from linkwork.motion.plots import plot_trajectory

        return plot_trajectory(self, axes, num_samples, limits, columns)

    def plot_path(
        self,
        frame: str | Sequence[str] | None = None,
        axes: Any = None,
        *,
        scene: Any = None,
        shapes: int = 4,
        num_samples: int = 200,
    ) -> Any:
        """The way of frames' origins in space, the robot's last if none is named, drawn with matplotlib; its axes.

        With a ``scene`` its obstacles are drawn, and so many times the robot's ``shapes``.
        """
        from linkwork.parts.plots import plot_paths

        return plot_paths(
            self._robot, [self.sampled(num_samples=num_samples)[1].q], frame, axes, scene=scene, shapes=shapes
        )

    # -- a value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trajectory) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return (self._robot, *(section.key() for section in self._sections))

    def __reduce__(self) -> tuple[Any, ...]:
        return Trajectory, (self._sections, self._robot)

    def __repr__(self) -> str:
        return f"<Trajectory of {self._of()}: {self.start_time:.6g} s to {self.end_time:.6g} s>"

    def _of(self) -> str:
        return f"{self.nq} numbers" if self._robot is None else f"robot {self._robot.name!r}"

    def _name(self, k: int) -> str:
        return f"coordinate {k}" if self._robot is None else repr(self._robot.v_names[k])
