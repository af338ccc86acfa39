"""TOPP-RA: time-optimal path timing by reachability analysis, on a grid that is refined.

Limits that the motion exceeds between grid points are tightened, and the sweeps repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from linkwork.motion.algorithms.timing.segment_constraints import NODES
from linkwork.motion.timing.limit_violations import (
    LimitMargin,
    limit_margins,
    motion_polynomials,
    passing_times,
    required_slowdown,
)
from linkwork.motion.timing.limits import LimitSet, PathConstraints, PathSamples, never_zero
from linkwork.motion.timing.path_grid import grid, halved, redistributed, segment_count
from linkwork.motion.timing.toppra_kernels import sweep_blocks
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = [
    "MIN_SEGMENTS",
    "Grid",
    "InfeasibleSegment",
    "TimingQuery",
    "grid_optimality_gap",
    "solve_on_grid",
    "solve_refined",
]

_NODES_OF_CUBICS = 3  # nodes of a segment along cubics; 5 along other paths
_ROUNDS = 8
_LONGEST = 100.0  # times the fastest motion's time: slower motions are rejected
_RESISTANCE_ROUNDS = 20
_FITTING_ROUNDS = 4
_FULL = 0.99  # of dry friction: less acts on joints that creep
_ROOM = 0.8  # of the joint force between rest and a limit: so much of it the first resistance takes at most
_RESISTANCE_TOLERANCE = 1e-4  # of the greatest ṡ²: a smaller change ends the search
_OVERTIGHTENING = 1.1  # times a violation: by so much the limit is tightened

MIN_SEGMENTS = 400  # of a path, where no number of points is passed
_SEGMENTS_PER_CURVE = 64  # segments between knots: random cubics then take 0.2 % more than the minimum time
_GAINED = 0.0025  # of the duration: the grid is fine enough when doubling gains less; as much remains
_DOUBLINGS = 3
_LOCAL_HALVINGS, _SLOWDOWN = 6, 1.01  # of segments whose limits would make a motion longer by more than this factor
_HALVINGS, _SMALL_GAIN = 3, 1e-3  # halvings to estimate a grid's error; of the duration: the gain that ends them


class InfeasibleSegment(Exception):
    """Error: on a segment of the path, no speed with constant s̈ satisfies all limits.

    ``refined`` is True if limits had been tightened, which may be the cause.
    """

    def __init__(self, begin: float, end: float, *, at_start: bool, refined: bool, reason: str = "") -> None:
        super().__init__()
        self.begin, self.end, self.at_start, self.refined = begin, end, at_start, refined
        self.reason = reason

    def message(self, caller: str, speed: float) -> str:
        """Return the text of the error, which begins with the name ``caller`` of the public function.

        ``speed`` is the requested speed at the start of the path; the text states it if no motion can begin with it.
        """
        if self.reason:
            return f"{caller}: no motion found that satisfies all limits between points of the grid: {self.reason}"
        if self.at_start and speed > 0.0:
            return f"{caller}: start_speed: no motion found within the limits that begins with {speed:g}"
        where = f"between s = {self.begin:.6g} and {self.end:.6g}"
        return f"{caller}: no motion found, with constant s̈ on each segment, that satisfies all limits {where}"


class LongSegments(Exception):
    """Error: limits can only be satisfied on some segments if the motion is much slower, so these should be halved.

    ``args[0]`` (n,) is a mask of these segments.
    """


class TimingQuery(NamedTuple):
    """A path to be timed within limits, and options.

    ``stops`` are positions where the motion rests, and ``ends`` are ṡ at both ends of the path. ``passes`` is the
    number of passes with redistributed grids. ``tolerance`` is the permitted violation, as a fraction of the limits;
    None means no check.
    """

    caller: str
    path: Trajectory
    limit_set: LimitSet
    stops: np.ndarray
    ends: Sequence[float]
    passes: int
    tolerance: float | None


class Grid:
    """Segments of a path with ends s (n + 1,), and the constraints on a motion along them."""

    def __init__(self, query: TimingQuery, s: np.ndarray) -> None:
        caller, path, limit_set, stops, self.ends, *_ = query
        self.path, self.limit_set, self.s = path, limit_set, s
        self.cubic = is_cubic(path)
        self.steps = np.diff(s)
        at = s[:-1, None] + self.steps[:, None] * np.array(NODES[_NODES_OF_CUBICS if self.cubic else 5])
        self.samples = samples = PathSamples(*path(at))
        limit_set.check_zero_limits(caller, samples.first)
        self.constraints = limit_set.constraints(caller, samples)
        self.rates = samples.first
        self.velocity = never_zero(limit_set.velocity)
        self.caps = np.full(len(s), 1e30)
        self.caps[np.isin(s, stops)] = 0.0

    @property
    def is_exact(self) -> bool:
        """True if the motion cannot exceed limits between grid points.

        This holds if all limited quantities are polynomials of low degree.
        """
        return self.cubic and not self.limit_set.custom and self.constraints.speeds is None

    def solve(self, tolerance: float | None, *, may_halve: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return x = ṡ² (n + 1,) at the ends of segments and u = s̈ (n,) on them, of the fastest motion within limits.

        Quantities that are polynomials of low degree never exceed their limits. Other quantities exceed their limits
        between grid points by at most the fraction ``tolerance`` of the limits. If tightened limits do not achieve
        that, the motion is slowed. ``tolerance=None`` skips the check. Raises InfeasibleSegment; with ``may_halve``
        raises LongSegments instead of slowing the motion much.
        """
        if tolerance is None or self.is_exact:
            return self._solved(self.constraints, self.velocity)
        tightening: dict[str, list[np.ndarray]] = {}
        constraints, velocity = self._tightened([], tightening)
        x, u = self._solved(constraints, velocity)
        for _ in range(_ROUNDS):
            result = self._margins(x, u)
            if not any(margin.worst_excess() > 0.5 * tolerance for margin in result):
                break
            for k, margin in enumerate(result):
                minimum = 0.25 * tolerance * np.maximum(margin.size, 1e-9)
                name = f"{k} {margin.name}"
                added = tightening.setdefault(name, [np.zeros_like(margin.minimum), np.zeros_like(margin.minimum)])
                for side, by in enumerate(margin.excess()):
                    added[side] += np.where(by > minimum, _OVERTIGHTENING * by + minimum, 0.0)
            constraints, velocity = self._tightened(result, tightening)
            x, u = self._solved(constraints, velocity, x)
        else:
            if self.limit_set.jerk is None:  # with limits of jerk this motion is only the start; they are checked later
                result = self._margins(x, u)
                if may_halve and required_slowdown(result, 0.5 * tolerance) > _SLOWDOWN:
                    raise LongSegments(np.max([margin.relative_excess() for margin in result], axis=0) > tolerance)
                return self._slowed(x, u, tolerance)
        return x, u

    def _slowed(self, x: np.ndarray, u: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
        """Return x and u of the motion slowed until all limits hold.

        Raises InfeasibleSegment if it would have to be much slower, or does not rest at both ends.
        """
        whole = 1.0
        while True:
            result = self._margins(x, u)
            worst = max(result, key=LimitMargin.worst_excess)
            if worst.worst_excess() <= tolerance:
                return x, u
            by = required_slowdown(result, 0.5 * tolerance)
            whole *= by
            if any(self.ends) or not whole <= _LONGEST:
                reason = f"{worst.name} is exceeded by {worst.worst_excess():.3g} of its limit"
                raise InfeasibleSegment(
                    float(self.s[0]), float(self.s[-1]), at_start=False, refined=True, reason=reason
                )
            x, u = x / by**2, u / by**2

    def _margins(self, x: np.ndarray, u: np.ndarray) -> list[LimitMargin]:
        def samples(s: np.ndarray) -> PathSamples:
            return PathSamples(*self.path(np.clip(s, self.s[0], self.s[-1])))

        return limit_margins(self.limit_set, samples, None, motion_polynomials(self.s, x, u), all_limits=not self.cubic)

    def _tightened(self, result: list[LimitMargin], tightening: dict[str, list[np.ndarray]]) -> tuple[Any, Any]:
        """Return the constraints and velocity limits of each segment, tightened by the amounts in ``tightening``.

        ``result`` has the violations of a motion, which are first added to these amounts.
        """
        constraints, count = self.constraints, len(self.steps)
        velocity = tuple(np.broadcast_to(x, (count, len(x))).copy() for x in self.velocity)
        lower, upper = (np.broadcast_to(x, (count, len(x))).copy() for x in (constraints.lower, constraints.upper))
        fastest = (
            None
            if constraints.fastest is None
            else np.broadcast_to(constraints.fastest, (count, len(constraints.fastest)))
        )
        at = 0 if self.limit_set.acceleration is None else len(self.velocity[0])
        for k, margin in enumerate(result):
            below, above = tightening[f"{k} {margin.name}"]
            if margin.is_custom:
                columns = slice(at, at + below.shape[1])
                lower[:, columns] += below
                upper[:, columns] -= above
                at += below.shape[1]
            elif margin.name == "velocity":
                velocity = (
                    np.minimum(velocity[0] + below, 0.5 * velocity[0]),
                    np.maximum(velocity[1] - above, 0.5 * velocity[1]),
                )
            elif margin.name == "speed":
                assert fastest is not None
                fastest = np.maximum(fastest - above, 0.5 * fastest)
            else:
                lower[:, : below.shape[1]] += below
                upper[:, : below.shape[1]] -= above
        return replace(constraints, lower=lower, upper=upper, fastest=fastest), velocity

    def _solved(
        self, constraints: PathConstraints, velocity: Any, x: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ṡ² at the ends of segments and s̈ on segments of the fastest motion with damping and friction.

        Damping and friction are linearized about the previous iterate. The iteration begins with ``x`` = ṡ², or with
        the motion without them if it is within limits. Where no motion satisfies the linearized limits, a resistance in
        proportion to ṡ² replaces it, which permits rest.
        """
        if x is None or self.limit_set.resistance is None:
            x, u = self._sweep(constraints, velocity)
            if self.limit_set.resistance is None:
                return x, u
            fast = np.sqrt(0.5 * (x[:-1] + x[1:]))
            self._dry = 2.0 * self._middle_resistance(fast) - self._middle_resistance(2.0 * fast)  # without damping
            x = self._with_fitting_resistance(constraints, x)
        for _ in range(_RESISTANCE_ROUNDS):
            before = x
            try:
                x, u = self._sweep(self._resisted(constraints, before), velocity)
            except InfeasibleSegment:
                x, u = self._sweep(self._resisted(constraints, before, through_rest=True), velocity)
            if np.abs(x - before).max() <= _RESISTANCE_TOLERANCE * x.max():
                break
        self._refuse_creeping(constraints, x)
        return x, u

    def _with_fitting_resistance(self, constraints: PathConstraints, x: np.ndarray) -> np.ndarray:
        """Return ``x`` = ṡ² (n + 1,), reduced so that damping and friction leave a part of the torque limits.

        They use at most the fraction `_ROOM` of what the forces at rest leave.
        """
        for _ in range(_FITTING_ROUNDS):
            values = self._resistance(x)[1]
            share = np.ones(len(x) + 1)
            for need, free in zip((values.max(axis=1), -values.min(axis=1)), _room(constraints, values), strict=True):
                free = _ROOM * np.maximum(free, 0.0)
                ratio = np.divide(free, need, out=np.ones_like(need), where=need > np.maximum(free, 1e-300))
                share[1:-1] = np.minimum(share[1:-1], ratio.min(axis=1))
            if (share >= 1.0).all():
                break
            x = x * np.minimum(share[:-1], share[1:]) ** 2
        return x

    def _refuse_creeping(self, constraints: PathConstraints, x: np.ndarray) -> None:
        """Raise InfeasibleSegment where a joint moves only because its friction, which exceeds a limit, is smoothed."""
        sides = [
            (sign * self._dry, room) for sign, room in zip((1.0, -1.0), _room(constraints, self._dry), strict=True)
        ]
        if not any((dry > room).any() for dry, room in sides):
            return
        values = self._middle_resistance(np.sqrt(0.5 * (x[:-1] + x[1:])))
        for sign, (dry, room) in zip((1.0, -1.0), sides, strict=True):
            share = sign * values  # beside drag that grows faster than speed, `dry` may have the other sign
            creeps = ((dry > room) & (share > 0.0) & (share < _FULL * dry)).any(axis=-1)
            if creeps.any():
                k = int(creeps.argmax())
                raise InfeasibleSegment(float(self.s[k]), float(self.s[k + 1]), at_start=False, refined=False)

    def _middle_resistance(self, speed: np.ndarray) -> np.ndarray:
        """Return damping and friction of the joints (n, nv) [N·m, N] in the middle of segments at speeds ṡ (n,)."""
        model, middle = self.limit_set.resistance, self.samples.q.shape[1] // 2
        assert model is not None
        return model.resistance(self.samples.q[:, middle], self.samples.first[:, middle] * speed[:, None])

    def _resisted(self, constraints: PathConstraints, x: np.ndarray, *, through_rest: bool = False) -> PathConstraints:
        """Return the constraints with damping and friction of joints, linearized about a motion with ṡ² = x (n + 1,).

        With ``through_rest`` this resistance is in proportion to ṡ².
        """
        model = self.limit_set.resistance
        assert model is not None
        q, first, middle = self.samples.q, self.samples.first, self.samples.q.shape[1] // 2
        squares, values = self._resistance(x)
        mean = 0.5 * (x[:-1] + x[1:])
        slope = model.slope(q[:, middle], first[:, middle], np.sqrt(mean))
        if through_rest:
            least, most = values.min(axis=1), values.max(axis=1)
            slope = np.where(most + least > 0.0, most, least) / np.maximum(mean, 1e-300)[:, None]
        constant = values - slope[:, None] * squares[..., None]
        return self.limit_set.resisted(constraints, constant.min(axis=1), constant.max(axis=1), slope)

    def _resistance(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ṡ² (n, k), and damping and friction (n, k, nv) [N·m, N], at the ends and nodes of each of n segments.

        ``x`` (n + 1,) is ṡ² at the ends of segments. At an end, the path's values are those of the nearest node.
        """
        model, nodes = self.limit_set.resistance, self.samples.q.shape[1]
        assert model is not None
        squares = x[:-1, None] + np.diff(x)[:, None] * np.array([0.0, *NODES[nodes], 1.0])
        q, first = (values[:, [0, *range(nodes), -1]] for values in (self.samples.q, self.samples.first))
        return squares, model.resistance(q, first * np.sqrt(squares)[..., None])

    def _sweep(self, constraints: Any, velocity: Any) -> tuple[np.ndarray, np.ndarray]:
        ends = self.ends
        x, u, blocked = sweep_blocks(
            self.rates, velocity, constraints, self.steps, self.caps, ends[0] ** 2, ends[1] ** 2
        )
        if blocked >= 0:
            begin, end = float(self.s[blocked]), float(self.s[blocked + 1])
            raise InfeasibleSegment(begin, end, at_start=blocked == 0, refined=constraints.lower.ndim == 2)
        at_rest = np.flatnonzero((x[1:] <= 0.0) & (x[:-1] <= 0.0))
        if len(at_rest):
            k = int(at_rest[0])
            raise InfeasibleSegment(float(self.s[k]), float(self.s[k + 1]), at_start=False, refined=True)
        return x, u


def _room(constraints: PathConstraints, forces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the margins (n, nv) between the joint forces at rest and their upper and lower limits, on n segments.

    Of ``forces`` only the last dimension nv is used.
    """
    at_rest = np.zeros_like(constraints.first) if constraints.at_rest is None else constraints.at_rest
    columns = slice(constraints.first.shape[-1] - forces.shape[-1], None)
    return (constraints.upper - at_rest.max(axis=1))[:, columns], (at_rest.min(axis=1) - constraints.lower)[:, columns]


def is_cubic(path: Trajectory) -> bool:
    """Return True if all curves of the path are cubic polynomials of its time."""
    return all(
        section.clock is None and section.kind.name == "polynomial" and section.arrays["coefficients"].shape[-1] <= 4
        for section in path.sections
    )


GridSolution = tuple[np.ndarray, np.ndarray, np.ndarray]


def solve_on_grid(query: TimingQuery, points: int) -> GridSolution:
    """Return s, x = ṡ² and u = s̈ of the fastest motion on about ``points`` segments, without limits of jerk.

    Raises InfeasibleSegment.
    """
    knots = query.path.knots
    s = grid(knots, points)
    for _ in range(query.passes - 1):
        x, u = Grid(query, s).solve(None)
        s = redistributed(knots, s, passing_times(s, x), x, u)
    return _solve_within_limits(query, s)


def _solve_within_limits(query: TimingQuery, s: np.ndarray, halvings: int = _LOCAL_HALVINGS) -> GridSolution:
    """Return s, x = ṡ² and u = s̈ of the fastest motion on segments, halved where limits would slow it much."""
    try:
        return s, *Grid(query, s).solve(query.tolerance, may_halve=halvings > 0)
    except LongSegments as error:
        return _solve_within_limits(query, halved(s, error.args[0]), halvings - 1)


def solve_refined(query: TimingQuery, points: int) -> GridSolution:
    """Return s, x = ṡ² and u = s̈ of the fastest motion on at least ``points`` segments, without limits of jerk.

    Many curves need more segments; their number is doubled while that saves 0.25 % of the duration.  Raises
    InfeasibleSegment.
    """
    knots = query.path.knots
    count = segment_count(max(points, _SEGMENTS_PER_CURVE * (len(knots) - 1)), len(knots) - 1)
    try:
        s, x, u = solve_on_grid(query._replace(tolerance=None), count // 2)
    except InfeasibleSegment:  # shorter segments may be feasible
        return solve_on_grid(query, count)
    for left in range(_DOUBLINGS, -1, -1):
        t = passing_times(s, x)
        s = redistributed(knots, s, t, x, u, count) if query.passes > 1 else grid(knots, count)
        segments = Grid(query, s)
        x, u = segments.solve(None)
        duration = passing_times(s, x)[-1]
        if not left or t[-1] - duration <= _GAINED * duration:
            break
        count *= 2
    return (s, x, u) if query.tolerance is None or segments.is_exact else _solve_within_limits(query, s)


def grid_optimality_gap(query: TimingQuery, s: np.ndarray, duration: float) -> float:
    """Estimate by how much a motion on segments between positions s is slower than the optimum [s].

    The segments are halved until the gain of a halving is small.  The estimate is the sum of the gains plus the last
    gain again; inf if there is no motion on the halved segments.
    """
    before, gain = duration, 0.0
    for _ in range(_HALVINGS):
        s = halved(s)
        try:
            x, _ = Grid(query._replace(caller="optimality_gap"), s).solve(None)
        except InfeasibleSegment:
            return inf
        after = float(passing_times(s, x)[-1])
        before, gain = after, before - after
        if gain <= _SMALL_GAIN * duration:
            break
    return max(duration - before + gain, 0.0)
