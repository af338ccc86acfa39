"""Assembly branches: all configurations of a small mechanism while some joints are fixed.

The search starts from a low-discrepancy set of configurations and merges equal results.  Branches may be missed; more
starts make this less likely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.result import ReturnedValue
from linkwork._util.validation import integer
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.mechanisms.assembly.assembly_search import check_tolerance, run_kernel, spread_starts
from linkwork.mechanisms.assembly.result import sign_of, slack_of
from linkwork.mechanisms.assembly.targets import (
    ClosedMechanism,
    FixedJoints,
    check_limits,
    read_joints,
    read_time,
    read_weights,
)

__all__ = ["Branches", "find_branches"]

_SAME_TOL = 1e-6  # [rad, characteristic lengths] configurations closer than this are equal
_LOOSE_TOL = 1e-6  # smallest relative singular value of the free columns; below it the mechanism can move


@dataclass(frozen=True, eq=False, init=False)
class Branches(ReturnedValue):
    """Assemblies of a mechanism with some joints fixed: ``count`` for each state, sorted by coordinates."""

    q: np.ndarray  # (..., n, nq), with the maximum n over all states; NaN beyond the count
    count: np.ndarray  # (...)
    sign: np.ndarray  # (..., n): sign of the determinant of the free columns of G, 0 if these are not square
    hits: np.ndarray  # (..., n): number of starts that led to each
    starts: int  # number of starts
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
        others = np.broadcast_to(q[..., np.newaxis, :], (*q.shape[:-1], self.q.shape[-2], q.shape[-1]))
        there = np.isfinite(self.q).all(axis=-1)
        known = np.where(there[..., np.newaxis], self.q, self._mechanism.robot.neutral())
        away = np.where(there, distance(self._mechanism, known, others), np.inf)
        if not away.shape[-1]:
            return np.full(away.shape[:-1], -1)
        return np.where(away.min(axis=-1) < 10.0 * _SAME_TOL, away.argmin(axis=-1), -1)

    def __str__(self) -> str:
        robot = self._mechanism.robot.name
        note = f"found from {self.starts} starts; more may exist"
        if self.count.shape:
            few, many = (int(x) for x in (self.count.min(), self.count.max())) if self.count.size else (0, 0)
            return f"{robot!r}, {self.count.size} states: {few} to {many} branches, {note}"
        lines = [f"{robot!r}: {int(self.count)} branch{'es' if self.count != 1 else ''}, {note}"]
        for k in range(int(self.count)):
            numbers = ", ".join(f"{x:.6g}" for x in self.q[k])
            lines.append(f"  {k}: q = {numbers}; sign {self.sign[k]:+d}; {self.hits[k]} starts led to it")
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
    when = read_time(caller, time)
    base = fixed.put_into(robot.tree, robot.neutral())
    shape = np.broadcast_shapes(base.shape[:-1], () if when is None else when.shape)
    base = np.broadcast_to(base, (*shape, robot.nq)).reshape(-1, robot.nq)
    when = None if when is None else np.broadcast_to(when, shape).ravel()
    starts_q = spread_starts(robot, int(starts), mechanism.limits if position_limits else _unlimited(robot))
    tried = np.broadcast_to(starts_q, (len(base), *starts_q.shape)).copy()
    for name in fixed.names:
        part = robot.tree.q_slices[robot.tree.joint_index(name)]
        tried[..., part] = base[:, np.newaxis, part]
    during = None if when is None else np.repeat(when[:, np.newaxis], len(starts_q), axis=1)
    result = run_kernel(mechanism, tried, tried, read_weights(robot, caller), fixed, bool(position_limits), during)
    fine = mechanism.open_by(result.error) <= tolerance
    _raise_if_movable(mechanism, result.q[fine], fixed, during if during is None else during[fine])
    if position_limits:
        fine &= ~mechanism.beyond(result.q).any(axis=-1)
    each = [
        _distinct(mechanism, q[ok], base[k], fixed, bool(position_limits))
        for k, (q, ok) in enumerate(zip(result.q, fine, strict=True))
    ]
    most = max((len(q) for q, _ in each), default=0)
    if max_solutions is not None:
        most = min(most, int(max_solutions))
    q = np.full((len(base), most, robot.nq), np.nan)
    hits, signs = np.zeros((len(base), most), dtype=int), np.zeros((len(base), most), dtype=int)
    for k, (own, times) in enumerate(each):
        n = min(len(own), most)
        q[k, :n], hits[k, :n] = own[:n], times[:n]
    there = np.isfinite(q).all(axis=-1)
    if there.any():
        at = None if when is None else np.repeat(when[:, np.newaxis], most, axis=1)[there]
        signs[there] = sign_of(mechanism.dependent_block(q[there], fixed.names, at))
    return Branches._make(
        q=q.reshape(*shape, most, robot.nq),
        count=there.sum(axis=-1).reshape(shape),
        sign=signs.reshape(*shape, most),
        hits=hits.reshape(*shape, most),
        starts=int(starts),
        _fixed=fixed,
        _mechanism=mechanism,
    )


def _raise_if_movable(mechanism: ClosedMechanism, q: np.ndarray, fixed: FixedJoints, time: Any) -> None:
    """Raise ValueError if the mechanism can move with the fixed joints, so that branches are not isolated."""
    if not len(q) or not mechanism.free(fixed.names):
        return
    block = mechanism.dependent_block(q, fixed.names, time)
    free = block.shape[-1]
    if block.shape[-2] < free or np.median(slack_of(block)) < _LOOSE_TOL:
        values = np.linalg.svd(block, compute_uv=False)
        ranks = (values > _LOOSE_TOL * values.max(axis=-1, initial=0.0, keepdims=True)).sum(axis=-1)
        more = free - int(ranks.max(initial=0))
        if more:
            raise ValueError(
                f"branches: {'with these joints fixed, ' if fixed.names else ''}the mechanism has {more} degree"
                f"{'s' if more != 1 else ''} of freedom, so assemblies are not isolated: fix as many "
                f"{'more ' if fixed.names else ''}joints by hold"
            )


def _distinct(
    mechanism: ClosedMechanism, q: np.ndarray, near: np.ndarray, fixed: FixedJoints, position_limits: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct configurations sorted by coordinates, and the number of occurrences of each.

    Full revolutions are removed, so that angles are as close to ``near`` as limits allow.
    """
    q = mechanism.nearest_revolutions(q, np.broadcast_to(near, q.shape), fixed.names, position_limits)
    distinct: list[int] = []
    hits: list[int] = []
    for k in range(len(q)):
        if distinct:
            away = distance(mechanism, q[distinct], np.broadcast_to(q[k], (len(distinct), q.shape[-1])))
            same = int(np.argmin(away))
            if away[same] < _SAME_TOL:
                hits[same] += 1
                continue
        distinct.append(k)
        hits.append(1)
    order = sorted(range(len(distinct)), key=lambda n: tuple(np.round(q[distinct[n]], 6) + 0.0))
    return q[[distinct[n] for n in order]], np.array([hits[n] for n in order], dtype=int)


def distance(mechanism: ClosedMechanism, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the largest difference of a coordinate between two configurations, (...) [rad, characteristic lengths].

    Full revolutions of angles are left out.
    """
    robot = mechanism.robot
    if not one.size:
        return np.zeros(one.shape[:-1])
    between = np.array(robot.difference(one, other))
    for k, _ in mechanism.periodic_angles:
        between[..., k] -= 2.0 * math.pi * np.round(between[..., k] / (2.0 * math.pi))
    return np.asarray(np.abs(between / unit_steps(robot.tree)).max(axis=-1, initial=0.0))


def _unlimited(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
