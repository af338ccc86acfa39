"""Motion of a mechanism: independent coordinates follow a given curve, all others follow from the constraints.

The curve is planned for the robot's open tree, without its constraints.  The independent coordinates are those that
best determine all other coordinates.  From the start on, the next configuration is predicted along the velocity and
corrected onto the constraints; steps with large corrections are halved.  The result is a curve of quintics through
these states, with the velocities and accelerations that satisfy the constraints.  States are added until the quintics
match computed states between their ends, so the constraints hold there, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.model.limited_coordinates import loop_speed_values, loop_speeds
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.profiles.profile_kinds import ProfileLimits
from linkwork.motion.splines.spline import nearer_turns, spline_of
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_construction import through_states

__all__ = ["closed_motion", "closed_profile", "is_closed", "refuse_open", "refuse_velocities", "robot_spline"]

_MATCH = 2e-10  # [rad, characteristic lengths] distance of quintics from states between their ends
_ASSEMBLED = 1e-6  # [rad, characteristic lengths] constraint error of points that count as assembled
_CLOSED = 1e-9  # [rad, characteristic lengths] constraint error of a corrected state
_SAME = 1e-5  # [rad, characteristic lengths] distance of configurations that count as the same
_SINGULAR = 1e-4  # smallest share of a motion in which independent coordinates move
_CORRECTION = 0.05  # [rad, characteristic lengths] largest correction of an accepted step
_STEP = 0.3  # [rad, characteristic lengths] largest predicted step
_DEPENDENT = 1e-9  # relative singular value below which constraints are redundant
_JUMP = 1e-9  # relative change of v or a at a knot that counts as a jump
_MIN_STEP = 2.0**-20  # of the duration
_ROUNDS = 14  # of halving steps between states
_SAMPLES = 16  # times between knots at which speeds of loop joints are measured
_MARGIN = 1e-9  # relative, of stretched durations


def is_closed(caller: str, robot: Any, independent: Any) -> bool:
    """Return True if configurations of a robot must satisfy constraints.

    Raises ValueError for velocity constraints, such as rolling, and for names of independent joints without loops.
    """
    constraints = robot.tree.constraints
    for constraint in constraints:
        if not constraint.holonomic:
            raise ValueError(
                f"{caller}: robot: {constraint.name!r} of {robot.name!r} constrains velocities, which no curve through "
                "given configurations satisfies; use robot.without_constraints(), or IKProblem.follow for motions that "
                "roll"
            )
    if independent is not None and not constraints:
        raise ValueError(f"{caller}: independent: expected None for {robot.name!r}, which has no loops")
    # a floating joint between two frames has no row
    return any(constraint.component_names for constraint in constraints)


def refuse_open(
    caller: str, robot: Any, q: np.ndarray, names: Sequence[str], time: Any = 0.0, largest: float = _ASSEMBLED
) -> None:
    """Raise ValueError if any of configurations q (n, nq) does not satisfy the loop constraints at ``time``.

    ``names`` (n) name the configurations in the message, which reports the first violation. ``largest`` is the accepted
    error [rad, characteristic lengths].
    """
    length = characteristic_length(robot.tree)
    rows = [(name, unit) for c in robot.tree.constraints if c.holonomic for name, unit in _rows(c)]
    scale = np.array([1.0 if unit == "rad" else 1.0 / length for _, unit in rows])
    error = np.abs(np.asarray(robot.constraint_error(q, **_timed(robot, time)))) * scale
    for k in np.flatnonzero(~(error.max(axis=-1, initial=0.0) <= largest)).tolist():
        row = int(np.argmax(error[k]))
        raise ValueError(
            f"{caller}: {names[k]}: expected a configuration that satisfies the constraints, got an error of "
            f"{error[k, row] / scale[row]:.3g} {rows[row][1]} of {rows[row][0]!r}; see robot.assemble"
        )


def robot_spline(
    robot: Any,
    times: Any,
    q: Any,
    kind: str,
    floating: str | None,
    options: dict[str, Any],
    control: bool,
    turns: str,
    independent: Any,
) -> Trajectory:
    """Return a spline through configurations of a robot that satisfies its constraints: see `Robot.spline`."""
    curve = spline_of(robot, times, q, kind, floating, options, control, turns)
    if not is_closed("spline", robot, independent):
        return curve
    if is_traced(times) or is_traced(q):
        raise TypeError(f"spline: q: expected numbers for {robot.name!r}, whose constraints hold, got symbols")
    t = np.asarray(times, dtype=float)[: 1 if control else None]
    through = [(float(x), f"q[{k}]", point) for k, (x, point) in enumerate(zip(t, curve(t).q, strict=True))]
    refuse_open("spline", robot, np.array([point for _, _, point in through]), [name for _, name, _ in through], t)
    result = closed_motion("spline", curve, through, independent)
    velocity = options["velocity"]
    if velocity is not None:
        at = {"launched": t[:1], "clamped": t[[0, -1]]}.get(options["boundary"], t)
        refuse_velocities("spline", robot, "velocity", np.reshape(velocity, (len(at), robot.nv)), result(at).v)
    return result


def refuse_velocities(caller: str, robot: Any, name: str, expected: np.ndarray, v: np.ndarray) -> None:
    """Raise ValueError for velocities v (n, nv) unless they equal ``expected``, which satisfy the constraints."""
    gap = np.abs(expected - v)
    if gap.max(initial=0.0) > 1e-6 * (1.0 + np.abs(v).max(initial=0.0)):
        k = int(gap.max(axis=0).argmax())
        row = int(gap[:, k].argmax())
        raise ValueError(
            f"{caller}: {name}: expected velocities that satisfy the constraints, got {expected[row, k]:.6g} for "
            f"{robot.v_names[k]!r}, which must move at {v[row, k]:.6g}; see robot.project"
        )


def _rows(constraint: Any) -> list[tuple[str, str]]:
    return [*zip(constraint.component_names, constraint.row_units, strict=True)]


def _timed(robot: Any, time: Any) -> dict[str, Any]:
    return {"time": time} if any(constraint.time_dependent for constraint in robot.tree.constraints) else {}


def closed_motion(
    caller: str, curve: Trajectory, through: Sequence[tuple[float, str, np.ndarray]], independent: Any = None
) -> Trajectory:
    """Return the motion on the constraints of a robot whose independent coordinates are those of ``curve``.

    ``through`` has times, names and assembled configurations through which the motion must pass, up to full
    revolutions; the first is the start.  ``independent`` names joints, by default the joints that determine the others
    best.  Raises ValueError where these joints do not determine the mechanism, or where the motion misses a
    configuration.
    """
    motion = _ClosedMotion(caller, curve, through, independent)
    nodes = motion.refined(motion.continued())
    return Trajectory(
        [through_states(CurveSpace.of(curve.robot.tree), nodes.t, nodes.q, nodes.v, nodes.a)],
        curve.robot,
        is_timed=curve.is_timed,
    )


class _States(NamedTuple):
    """States of a motion at times t (n,); ``before`` (n,) is True where v and a are the values just before a jump."""

    t: np.ndarray
    before: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


class _ClosedMotion:
    def __init__(
        self, caller: str, curve: Trajectory, through: Sequence[tuple[float, str, np.ndarray]], independent: Any
    ) -> None:
        self.caller, self.curve, self.robot, self.through = caller, curve, curve.robot, through
        self.units = np.array(unit_steps(self.robot.tree))
        self.independent = self._chosen() if independent is None else self._named(independent)

    def _named(self, independent: Any) -> tuple[str, ...]:
        """Return the names of the velocity coordinates of ``independent`` joints.

        Raises ValueError if these velocities do not determine the velocities of all other joints.
        """
        names = (independent,) if isinstance(independent, str) else tuple(independent)
        q = self.through[0][2]
        try:
            self.robot.minimal_coordinates(names, q, time=self._timed(self.through[0][0]).get("time"))
        except ValueError as error:
            raise ValueError(str(error).replace("minimal_coordinates", self.caller, 1)) from None
        return tuple(self.robot.v_names[k] for k in self.robot.v_index(names))

    def _chosen(self) -> tuple[str, ...]:
        """Return names of independent velocity coordinates: those that determine all other velocities best.

        All points through which the motion passes are considered. For a joint whose configurations are not a vector
        space, such as a ball joint, either all velocities or none are independent.
        """
        robot, points = self.robot, np.array([q for _, _, q in self.through])
        times = np.array([t for t, _, _ in self.through])
        motions = [
            _motions(G * self.units) for G in np.asarray(robot.constraint_jacobian(points, **self._timed(times)))
        ]
        alike = {n: np.array([b for b in motions if b.shape[1] == n]) for n in {b.shape[1] for b in motions}}
        count = min(alike)
        curved = [np.arange(robot.nv)[c.in_v] for c in CurveSpace.of(robot.tree).joints if not c.is_plain]
        plain = np.setdiff1d(np.arange(robot.nv), np.concatenate([np.empty(0, dtype=int), *curved]))
        choices = dict[tuple[int, ...], None]()
        for basis in alike[count]:
            for blocks in ([], curved) if curved else ([],):
                rows = list[int]()
                for block in blocks:
                    if np.linalg.matrix_rank(basis[[*rows, *block]], _SINGULAR) == len(rows) + len(block):
                        rows += block.tolist()
                choices[tuple(sorted(_pivots(basis, rows, plain, count)))] = None
        best: tuple[float, tuple[int, ...]] = 0.0, ()
        for choice in (choice for choice in choices if len(choice) == count):
            parts = (bases[:, list(choice)] for bases in alike.values())
            margin = min(float(np.linalg.svd(x, compute_uv=False).min(initial=1.0)) for x in parts)
            if margin > max(best[0], _SINGULAR):
                best = margin, choice
        if not best[0]:
            raise ValueError(
                f"{self.caller}: {self.through[0][1]}: no coordinates of {robot.name!r} determine the others in all "
                f"points: it is singular in one of them, or moves by a part of a joint that rotates about several "
                f"axes; use robot.drive_mechanism between them"
            )
        return tuple(robot.v_names[k] for k in best[1])

    def _timed(self, t: Any) -> dict[str, Any]:
        return _timed(self.robot, t)

    def states(self, t: np.ndarray, before: np.ndarray, near: np.ndarray) -> tuple[_States, np.ndarray]:
        """Return the states of the motion at times t (n,), and a mask (n,) that is True where a state was found.

        The search for a configuration at each time begins at ``near`` (n, nq).
        """
        robot, timed = self.robot, self._timed(t)
        right, left = self.curve(t), self.curve(t, side="left")
        q1, v1, a1 = (np.where(before[:, None], x, y) for x, y in zip(left, right, strict=True))
        q, zero = near, np.zeros((len(t), robot.nv))
        for _ in range(2):  # the second time reduces errors to rounding
            q, error, margin = robot.closed_configuration(q, q1, zero, self.independent, **timed)
        done = (error <= _CLOSED) & (margin >= 1e-7) & np.isfinite(q).all(axis=-1)
        q = np.where(done[:, None], q, near)
        v = np.asarray(robot.explicit_velocity(q, v1, self.independent, **timed))
        a = np.asarray(robot.explicit_acceleration(q, v, a1, self.independent, **timed))
        return _States(t, before, q, v, a), done

    def _at(self, t: float, near: np.ndarray) -> _States | None:
        """Return the state at a time near a configuration (nq,); two states where v or a jumps.

        The result is None if there is no solution.
        """
        two, done = self.states(np.array([t, t]), np.array([True, False]), np.array([near, near]))
        if not done.all():
            return None
        jumps = any(np.abs(x[1] - x[0]).max() > _JUMP * (1.0 + np.abs(x).max()) for x in (two.v, two.a))
        return two if jumps and t < self.curve.end_time else _States(*(x[:1] for x in two))

    def continued(self) -> _States:
        """Return states at the knots of the curve, and between them where continuation requires it."""
        points = {t: (name, q) for t, name, q in self.through}
        times = np.unique(np.append(self.curve.knots, [*points])).tolist()
        first, done = self.states(np.array(times[:1]), np.zeros(1, dtype=bool), self.through[0][2][None])
        if not done[0]:
            raise self._lost(times[0])
        states, pending = [first], times[:0:-1]
        shortest = _MIN_STEP * (times[-1] - times[0])
        while pending:
            last, t = states[-1], pending[-1]
            step = (t - last.t[-1]) * last.v[-1]
            state = None
            if np.abs(step / self.units).max(initial=0.0) <= _STEP:
                predicted = self.robot.integrate(last.q[-1], step)
                state = self._at(t, predicted)
            if state is None or self._distance(predicted, state.q[0]) > _CORRECTION:
                if t - last.t[-1] <= shortest:
                    raise self._lost(t)
                pending.append(0.5 * (last.t[-1] + t))
                continue
            if t in points:
                self._refuse_elsewhere(*points[t], state.q[0])
            states.append(state)
            pending.pop()
        return _States(*(np.concatenate(x) for x in zip(*states, strict=True)))

    def refined(self, states: _States) -> _States:
        """Return the states with more states inserted, until quintics through them match the states between."""
        space = CurveSpace.of(self.robot.tree)
        for _ in range(_ROUNDS):
            steps = np.flatnonzero(np.diff(states.t) > 0.0)
            middle = 0.5 * (states.t[steps] + states.t[steps + 1])
            near = Trajectory([through_states(space, states.t, states.q, states.v, states.a)], self.robot)(middle).q
            more, done = self.states(middle, np.zeros(len(middle), dtype=bool), near)
            far = np.abs(np.asarray(self.robot.difference(near, more.q)) / self.units).max(axis=-1, initial=0.0)
            open_ = ~done | (far > _MATCH)
            if not done.all():
                raise self._lost(middle[~done][0])
            if not open_.any():
                return states
            states = _States(
                *(np.insert(x, steps[open_] + 1, y[open_], axis=0) for x, y in zip(states, more, strict=True))
            )
        raise self._lost(middle[open_][0])

    def _distance(self, a: np.ndarray, b: np.ndarray) -> float:
        change = np.asarray(self.robot.difference(a, b)) / self.units
        return float(np.abs(change).max(initial=0.0))

    def _refuse_elsewhere(self, name: str, expected: np.ndarray, q: np.ndarray) -> None:
        """Raise ValueError if ``expected`` and the configuration q of the motion differ, except by full revolutions.

        ``name`` names the expected configuration in the message.
        """
        q = nearer_turns(self.robot, expected, q)
        change = np.abs(np.asarray(self.robot.difference(expected, q)) / self.units)
        if change.max(initial=0.0) > _SAME:
            k = int(change.argmax())
            raise ValueError(
                f"{self.caller}: {name}: expected a configuration on the assembly branch of {self.through[0][1]}, got "
                f"one on another: {self.robot.v_names[k]!r} differs by {change[k] * self.units[k]:.3g} at the "
                f"same values of {', '.join(map(repr, self.independent))}; add points between, or use robot.plan"
            )

    def _lost(self, t: float) -> ValueError:
        return ValueError(
            f"{self.caller}: the independent coordinates {', '.join(map(repr, self.independent))} do not determine the "
            f"others of {self.robot.name!r} at t = {t:.6g}: it is singular there, or cannot be assembled; add "
            f"points, or use robot.plan"
        )


def _pivots(basis: np.ndarray, rows: list[int], allowed: np.ndarray, count: int) -> list[int]:
    """Return the indices of at most ``count`` linearly independent rows of a matrix ``basis``.

    The given ``rows`` come first. Pivots among the rows ``allowed`` follow: each has the greatest component orthogonal
    to all earlier rows. Among nearly equal pivots, the first one is chosen.
    """
    remaining, result = np.array(basis), list[int]()
    for k in range(count):
        sizes = np.linalg.norm(remaining, axis=1)
        if k < len(rows):
            pick = rows[k]
        else:
            free = np.setdiff1d(allowed, result)
            if not sizes[free].max(initial=0.0) > _SINGULAR:
                break
            pick = int(free[sizes[free] >= 0.9 * sizes[free].max()][0])
        direction = remaining[pick] / sizes[pick]
        remaining = remaining - np.outer(remaining @ direction, direction)
        result.append(pick)
    return result


def _motions(G: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (nv, count) of the null space of a constraint Jacobian G with scaled columns."""
    _, sizes, V = np.linalg.svd(G)
    basis: np.ndarray = V[int((sizes > _DEPENDENT * sizes[0]).sum()) :].T
    return basis


def closed_profile(
    caller: str,
    curve: Trajectory,
    ends: tuple[np.ndarray, np.ndarray],
    rates: tuple[np.ndarray, np.ndarray],
    limits: ProfileLimits | None,
    is_fixed: bool,
    independent: Any,
) -> Trajectory:
    """Return the motion of a mechanism whose independent coordinates follow ``curve``, the profile of its open tree.

    ``ends`` are the configurations at both ends, and ``rates`` the velocities. If a dependent joint would exceed the
    ``limits``, the whole motion is slowed. Raises ValueError for ends that do not satisfy the constraints. Raises
    ValueError, too, if the motion would have to be slowed but its duration ``is_fixed``, or its velocities at the ends
    are not zero.
    """
    robot, times, names = curve.robot, (curve.start_time, curve.end_time), ("q0", "q1")
    refuse_open(caller, robot, np.array(ends), names, np.array(times))
    if not curve.duration > 0.0:
        return curve
    result = closed_motion(caller, curve, [*zip(times, names, ends, strict=True)], independent)
    for name, t, v in zip(("v0", "v1"), times, rates, strict=True):
        refuse_velocities(caller, robot, name, v[None], result(t).v[None])
    if limits is None:
        return result
    longer, which = _stretch(result, limits)
    if longer <= 1.0 + 1e-6:
        return result
    if is_fixed or any(v.any() for v in rates) or any(constraint.time_dependent for constraint in robot.constraints):
        raise ValueError(
            f"{caller}: {which!r}, which follows from other joints of {robot.name!r}, needs {longer:.6g} times the "
            f"duration of {result.duration:.6g} s to keep its limits; lower the limits of the other joints"
        )
    return result.retimed(longer * (1.0 + _MARGIN))


def _stretch(trajectory: Trajectory, limits: ProfileLimits) -> tuple[float, str]:
    """Return the factor by which the duration must grow so that all limits hold, and the joint that requires it."""
    robot, worst = trajectory.robot, (1.0, "")
    for order in (1, 2, 3):
        up, down = limits[2 * order - 2 : 2 * order]
        lower, upper = trajectory.extremes(order)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.nan_to_num(np.maximum(upper / up, -lower / down), nan=0.0)
        k = int(ratio.argmax())
        worst = max(worst, (float(ratio[k]) ** (1.0 / order), robot.v_names[k]))
    speeds = loop_speeds(robot.tree)
    if speeds:
        t = np.linspace(trajectory.knots[:-1], trajectory.knots[1:], _SAMPLES, axis=1).ravel()
        q, v, _ = trajectory(t)
        for k, coordinate in enumerate(speeds):
            fastest = float(np.abs(loop_speed_values(robot, speeds, q, v)[:, k]).max())
            worst = max(worst, (fastest * (1.0 + 1e-6) / coordinate.bound, coordinate.name))
    return worst
