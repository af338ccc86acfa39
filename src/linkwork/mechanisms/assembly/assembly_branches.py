"""Assembly branches: all configurations of a small mechanism while some joints are fixed.

The search starts from a low-discrepancy set of configurations and merges equal results.  Branches may be missed; more
starts make this less likely.

Newton steps reduce the errors φ of a result to rounding.  Its distance from the assembly is then at most about |φ|/σ,
with the smallest singular value σ of the columns of the constraint Jacobian that belong to the free joints.  Two
results are equal if they are closer than these distances together.  Two assemblies at a distance d have σ ≥ c d, with
the curvature c of the constraints, so they are distinguished unless c d² is rounding (Kantorovich).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.result import ReturnedValue
from linkwork._util.validation import integer
from linkwork.mechanisms.assembly.assembly_search import check_tolerance, run_kernel, spread_starts
from linkwork.mechanisms.assembly.result import sign_of
from linkwork.mechanisms.assembly.state_inputs import StateInputs, varied
from linkwork.mechanisms.assembly.targets import (
    ClosedMechanism,
    FixedJoints,
    check_limits,
    read_joints,
    read_weights,
)
from linkwork.model.periodic_coordinates import revolutions

__all__ = ["Branches", "find_branches"]

_SAME_TOL = 1e-6  # [rad, characteristic lengths] a configuration closer than this to a branch is on it
_POLISHING_STEPS = 60  # Newton's method halves the error of a double root in each step
_DISPLACED, _DISPLACEMENT = 15, 1e-2  # results displaced, and by how much [rad, characteristic lengths]
_LEAST_STEP = 1e-13  # [rad, characteristic lengths] a smaller step is rounding
_CLOSE = 1e-6  # error [rad, characteristic lengths] that Newton steps reduce
_FARTHEST = 1e-2  # [rad, characteristic lengths] largest step of polishing
_RADIUS = 4.0  # of a ball, in |φ|/σ: beside a double root the distance from it is 2 |φ|/σ
_ROUNDING = 1e-14  # error [rad, characteristic lengths] that is rounding
_LEAST_RADIUS, _MOST_RADIUS = 1e-9, 1e-3  # [rad, characteristic lengths] of the ball around a result
_LOOSE_TOL = 1e-6  # smallest relative singular value of the free columns; below it the mechanism can move


@dataclass(frozen=True, eq=False, init=False)
class Branches(ReturnedValue):
    """Assemblies of a mechanism with fixed joints: ``count`` for each state, sorted by coordinates."""

    q: np.ndarray  # (..., n, nq), with the maximum n over all states; NaN beyond the count
    count: np.ndarray  # (...)
    sign: np.ndarray  # (..., n): sign of the determinant of the free columns of G, 0 if these are not square
    hits: np.ndarray  # (..., n): number of starts that led to each
    starts: int  # number of starts
    _movable: int = field(repr=False)  # number of starts that led to assemblies that are not isolated
    _fixed: FixedJoints = field(repr=False)
    _mechanism: ClosedMechanism = field(repr=False)

    @cached_property
    def min_hits(self) -> np.ndarray:
        """Smallest number of starts that led to any one branch, (...).

        If it is small, branches may be missing.
        """
        hits = np.where(np.arange(self.hits.shape[-1]) < self.count[..., np.newaxis], self.hits, self.starts)
        return np.asarray(hits.min(axis=-1, initial=self.starts))

    def index(self, q: np.ndarray) -> np.ndarray:
        """Return the index of the branch on which each configuration lies, for q (..., nq); −1 for none.

        The configurations belong to the same states as the branches.
        """
        q = np.asarray(q, dtype=float)
        compared = np.broadcast_to(q[..., np.newaxis, :], (*q.shape[:-1], self.q.shape[-2], q.shape[-1]))
        exists = np.isfinite(self.q).all(axis=-1)
        known = np.where(exists[..., np.newaxis], self.q, self._mechanism.robot.neutral())
        away = np.where(exists, distance(self._mechanism, known, compared), np.inf)
        if not away.shape[-1]:
            return np.full(away.shape[:-1], -1)
        return np.where(away.min(axis=-1) < 10.0 * _SAME_TOL, away.argmin(axis=-1), -1)

    def __str__(self) -> str:
        robot = self._mechanism.robot.name
        note = f"found from {self.starts} starts; more may exist"
        if self._movable:
            note += f"; without {self._movable} starts that led to singular assemblies, in which it can still move"
        if self.count.shape:
            few, many = (int(x) for x in (self.count.min(), self.count.max())) if self.count.size else (0, 0)
            return f"{robot!r}, {self.count.size} states: {few} to {many} branches, {note}"
        lines = [f"{robot!r}: {int(self.count)} branch{'es' if self.count != 1 else ''}, {note}"]
        for k in range(int(self.count)):
            values = ", ".join(f"{x:.6g}" for x in self.q[k])
            lines.append(f"  {k}: q = {values}; sign {self.sign[k]:+d}; {self.hits[k]} starts led to it")
        return "\n".join(lines)


def find_branches(
    robot: Any, hold: Any, position_limits: bool, tolerance: float, starts: int, max_solutions: Any, time: Any
) -> Branches:
    """Find all branches; arguments and errors are those of `Robot.branches`."""
    caller = "branches"
    mechanism = ClosedMechanism(robot, caller)
    tolerance = check_tolerance(caller, tolerance)
    starts = integer(caller, "starts", starts, least=1, description="an integer")
    if max_solutions is not None:
        max_solutions = integer(caller, "max_solutions", max_solutions, least=1, description="None or an integer")
    fixed = read_joints(robot, caller, "hold", hold)
    if position_limits:
        check_limits(mechanism, fixed)
    _, inputs = varied(robot, caller, time, None)
    base = fixed.put_into(robot.tree, robot.neutral())
    shape = np.broadcast_shapes(base.shape[:-1], inputs.shape)
    base = np.broadcast_to(base, (*shape, robot.nq)).reshape(-1, robot.nq)
    each_base = inputs.flat(shape)
    starts_q = spread_starts(robot, int(starts), mechanism.limits if position_limits else _unlimited(robot))
    tried = np.broadcast_to(starts_q, (len(base), *starts_q.shape)).copy()
    for name in fixed.names:
        part = robot.tree.q_slices[robot.tree.joint_index(name)]
        tried[..., part] = base[:, np.newaxis, part]
    at = each_base.repeated(len(starts_q))
    result = run_kernel(mechanism, tried, tried, read_weights(robot, caller), fixed, bool(position_limits), at)
    is_assembled = mechanism.open_by(result.error) <= max(tolerance, _CLOSE)
    solutions, left, radius = result.q, np.zeros(is_assembled.shape), np.zeros(is_assembled.shape)
    polished = _polished(mechanism, solutions[is_assembled], fixed, at[is_assembled])
    solutions[is_assembled], left[is_assembled], radius[is_assembled] = polished
    is_assembled &= left <= tolerance
    movable = np.zeros(is_assembled.shape, dtype=bool)
    movable[is_assembled] = _movable(mechanism, solutions[is_assembled], fixed, at[is_assembled])
    is_assembled &= ~movable
    if position_limits:
        is_assembled &= ~mechanism.beyond(solutions, at).any(axis=-1)
    each = [
        _distinct(mechanism, solutions[k, ok], radius[k, ok], base[k], fixed, bool(position_limits))
        for k, ok in enumerate(is_assembled)
    ]
    most = max((len(q) for q, _ in each), default=0)
    if max_solutions is not None:
        most = min(most, int(max_solutions))
    q = np.full((len(base), most, robot.nq), np.nan)
    hits, signs = np.zeros((len(base), most), dtype=int), np.zeros((len(base), most), dtype=int)
    for k, (branches, times) in enumerate(each):
        n = min(len(branches), most)
        q[k, :n], hits[k, :n] = branches[:n], times[:n]
    exists = np.isfinite(q).all(axis=-1)
    if exists.any():
        signs[exists] = sign_of(mechanism.dependent_block(q[exists], fixed.names, each_base.repeated(most)[exists]))
    return Branches._make(
        q=q.reshape(*shape, most, robot.nq),
        count=exists.sum(axis=-1).reshape(shape),
        sign=signs.reshape(*shape, most),
        hits=hits.reshape(*shape, most),
        starts=int(starts),
        _movable=int(movable.sum()),
        _fixed=fixed,
        _mechanism=mechanism,
    )


def _movable(mechanism: ClosedMechanism, q: np.ndarray, fixed: FixedJoints, at: StateInputs) -> np.ndarray:
    """Return a mask (n,) of the configurations q (n, nq) in which the mechanism can move with the fixed joints.

    These are not isolated. A mechanism at a dead centre is singular too, but Newton steps return it from a
    displacement. Raises ValueError if no configuration is isolated.
    """
    result, free = np.zeros(len(q), dtype=bool), mechanism.free(fixed.names)
    if not len(q) or not free:
        return result
    _, s, v = np.linalg.svd(mechanism.dependent_block(q, fixed.names, at))
    ranks = (s > _LOOSE_TOL * s.max(axis=-1, initial=0.0, keepdims=True)).sum(axis=-1)
    loose = np.flatnonzero(ranks < len(free))
    is_any_regular = len(loose) < len(q)
    if not is_any_regular:  # a few suffice
        loose = loose[:_DISPLACED]
    if not len(loose):
        return result
    step = np.zeros((len(loose), mechanism.robot.nv))
    step[:, free] = _DISPLACEMENT * v[loose, -1]
    moved = mechanism.robot.integrate(q[loose], step * mechanism.units)
    back, error, _ = _polished(mechanism, moved, fixed, at[loose])
    away = np.where(error > _CLOSE, 0.0, distance(mechanism, q[loose], back))
    if is_any_regular:
        result[loose] = away > 0.1 * _DISPLACEMENT
    elif np.median(away) > 0.1 * _DISPLACEMENT:
        more = len(free) - int(ranks.max(initial=0))
        raise ValueError(
            f"branches: {'with these joints fixed, ' if fixed.names else ''}the mechanism has {max(more, 1)} degree"
            f"{'s' if more > 1 else ''} of freedom, so assemblies are not isolated: fix as many "
            f"{'more ' if fixed.names else ''}joints by hold"
        )
    return result


def _polished(
    mechanism: ClosedMechanism, q: np.ndarray, fixed: FixedJoints, at: StateInputs
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return configurations q (n, nq) after Newton steps to rounding, their errors (n,), and radii (n,) of balls.

    The assembly that a configuration approximates is in the ball around it.
    """
    robot, free = mechanism.robot, mechanism.free(fixed.names)
    units, scales, least = mechanism.units, mechanism.scales, _ROUNDING + mechanism.rounding
    q, radius, step = np.array(q), np.full(len(q), _LEAST_RADIUS), np.zeros((len(q), robot.nv))

    def errors(q: np.ndarray, at: StateInputs) -> tuple[np.ndarray, np.ndarray]:
        error = np.asarray(robot.constraint_error(q, **at.options)) * scales
        return error, np.abs(error).max(axis=-1, initial=0.0)

    if not free or not mechanism.rows:
        return q, np.maximum(errors(q, at)[1] - least, 0.0), radius
    size, left = np.full(len(q), np.inf), np.arange(len(q))
    for _ in range(_POLISHING_STEPS):
        trial = robot.integrate(q[left], step[left] * units)
        error, now = errors(trial, at[left])
        closer = now < size[left]
        step[left[~closer]] *= 0.5
        better = left[closer]
        q[better], size[better] = trial[closer], now[closer]
        u, s, v = np.linalg.svd(mechanism.jacobian(q[better], at[better])[..., free], full_matrices=False)
        radius[better] = _RADIUS * np.maximum(size[better], least) / np.maximum(s[..., -1], 1e-300)
        inverse = 1.0 / np.maximum(s, 1e-12 * s[..., :1])
        newton = -np.einsum("nkj,nk->nj", v, inverse * np.einsum("nik,ni->nk", u, error[closer]))
        newton /= np.maximum(1.0, np.abs(newton).max(axis=-1, keepdims=True) / _FARTHEST)
        step[better[:, np.newaxis], free] = newton
        left = left[(size[left] > least) & (np.abs(step[left]).max(axis=-1, initial=0.0) > _LEAST_STEP)]
        if not len(left):
            break
    return q, np.maximum(size - least, 0.0), np.clip(radius, _LEAST_RADIUS, _MOST_RADIUS)


def _distinct(
    mechanism: ClosedMechanism,
    q: np.ndarray,
    radius: np.ndarray,
    near: np.ndarray,
    fixed: FixedJoints,
    position_limits: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct configurations sorted by coordinates, and the number of occurrences of each.

    Configurations are equal if their balls of these radii overlap.  Full revolutions are removed, so that angles are
    as close to ``near`` as limits allow.
    """
    q = mechanism.nearest_revolutions(q, np.broadcast_to(near, q.shape), fixed.names, position_limits)
    distinct: list[int] = []
    hits: list[int] = []
    for k in np.argsort(radius, kind="stable").tolist():
        if distinct:
            away = distance(mechanism, q[distinct], np.broadcast_to(q[k], (len(distinct), q.shape[-1])))
            same = int(np.argmin(away))
            if away[same] < radius[k] + radius[distinct[same]]:
                hits[same] += 1
                continue
        distinct.append(k)
        hits.append(1)
    order = sorted(range(len(distinct)), key=lambda n: tuple(np.round(q[distinct[n]], 6) + 0.0))
    return q[[distinct[n] for n in order]], np.array([hits[n] for n in order], dtype=int)


def distance(mechanism: ClosedMechanism, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the largest difference of a coordinate between two configurations, (...) [rad, characteristic lengths].

    Full revolutions of angles are left out.
    """
    robot = mechanism.robot
    if not first.size:
        return np.zeros(first.shape[:-1])
    turned = np.array(second)
    for _, i in mechanism.periodic_angles:
        turned[..., i] -= math.tau * revolutions(second[..., i] - first[..., i])
    between = robot.difference(first, turned)
    return np.asarray(np.abs(between / mechanism.units).max(axis=-1, initial=0.0))


def _unlimited(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
