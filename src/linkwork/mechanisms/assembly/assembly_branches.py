"""The assemblies of a small mechanism while some joints are held: its branches.

They are searched for from starts that fill all configurations evenly, and what is found more than once is one.  That is
no proof that there are no others: more starts are surer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from linkwork._util.result import Made
from linkwork._util.validation import integer
from linkwork.mechanisms.assembly.assembly_search import check_tolerance, everywhere, solved
from linkwork.mechanisms.assembly.result import sign_of, slack_of
from linkwork.mechanisms.assembly.targets import (
    ClosedMechanism,
    HeldJoints,
    check_limits,
    read_joints,
    read_time,
)

__all__ = ["Branches", "found_branches"]

_SAME = 1e-6  # configurations nearer than this are one [rad, m]
_LOOSE = 1e-6  # free columns with less slack leave motions


@dataclass(frozen=True, eq=False, init=False)
class Branches(Made):
    """The assemblies that were found while some joints are held: of each state ``count``, in a fixed order."""

    q: np.ndarray  # (..., n, nq), n the most of any state; NaN beyond the count
    count: np.ndarray  # (...)
    sign: np.ndarray  # (..., n): the sign of the determinant of the free columns of G, 0 where these are not square
    hits: np.ndarray  # (..., n): from how many starts each was found
    starts: int  # how many were tried
    _held: HeldJoints = field(repr=False)
    _mechanism: ClosedMechanism = field(repr=False)

    @cached_property
    def least_hits(self) -> np.ndarray:
        """From how many starts the branch was found that was found least often, (...): few mean that some may lack."""
        hits = np.where(np.arange(self.hits.shape[-1]) < self.count[..., np.newaxis], self.hits, self.starts)
        return np.asarray(hits.min(axis=-1, initial=self.starts))

    def index(self, q: np.ndarray) -> np.ndarray:
        """Which branch configurations of the same states are, (...), counted from 0; −1 where they are none."""
        q = np.asarray(q, dtype=float)
        others = np.broadcast_to(q[..., np.newaxis, :], (*q.shape[:-1], self.q.shape[-2], q.shape[-1]))
        there = np.isfinite(self.q).all(axis=-1)
        known = np.where(there[..., np.newaxis], self.q, self._mechanism.robot.neutral())
        away = np.where(there, apart(self._mechanism, known, others), np.inf)
        if not away.shape[-1]:
            return np.full(away.shape[:-1], -1)
        return np.where(away.min(axis=-1) < 10.0 * _SAME, away.argmin(axis=-1), -1)

    def __str__(self) -> str:
        robot = self._mechanism.robot.name
        said = f"each from {self.starts} starts that fill all configurations; more may exist"
        if self.count.shape:
            few, many = (int(x) for x in (self.count.min(), self.count.max())) if self.count.size else (0, 0)
            return f"{robot!r}, {self.count.size} states: {few} to {many} branches, {said}"
        lines = [f"{robot!r}: {int(self.count)} branch{'es' if self.count != 1 else ''}, {said}"]
        for k in range(int(self.count)):
            numbers = ", ".join(f"{x:.6g}" for x in self.q[k])
            lines.append(f"  {k}: q = {numbers}; sign {self.sign[k]:+d}; {self.hits[k]} starts led to it")
        return "\n".join(lines)


def found_branches(
    robot: Any, hold: Any, position_limits: bool, tolerance: float, starts: int, max_solutions: Any, time: Any
) -> Branches:
    """Raises as `Robot.branches` does."""
    caller = "branches"
    mechanism = ClosedMechanism(robot, caller)
    tolerance = check_tolerance(caller, tolerance)
    starts = integer(caller, "starts", starts, least=1, what="an integer")
    if max_solutions is not None:
        max_solutions = integer(caller, "max_solutions", max_solutions, least=1, what="None or an integer")
    held = read_joints(robot, caller, "hold", hold)
    if position_limits:
        check_limits(mechanism, held)
    when = read_time(caller, time)
    base = held.put_into(robot.tree, robot.neutral())
    shape = np.broadcast_shapes(base.shape[:-1], () if when is None else when.shape)
    base = np.broadcast_to(base, (*shape, robot.nq)).reshape(-1, robot.nq)
    when = None if when is None else np.broadcast_to(when, shape).ravel()
    places = everywhere(robot, int(starts), mechanism.limits if position_limits else _unlimited(robot))
    tried = np.broadcast_to(places, (len(base), *places.shape)).copy()
    for name in held.names:
        place = robot.tree.q_slices[robot.tree.joint_index(name)]
        tried[..., place] = base[:, np.newaxis, place]
    during = None if when is None else np.repeat(when[:, np.newaxis], len(places), axis=1)
    result = solved(mechanism, tried, tried, np.ones(robot.nv), held, bool(position_limits), during)
    fine = np.abs(result.error).max(axis=-1, initial=0.0) <= tolerance
    _refuse_loose(mechanism, result.q[fine], held, during if during is None else during[fine])
    each = [
        _distinct(mechanism, q[ok], base[k], held, bool(position_limits))
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
        signs[there] = sign_of(mechanism.dependent_block(q[there], held.names, at))
    return Branches._make(
        q=q.reshape(*shape, most, robot.nq),
        count=there.sum(axis=-1).reshape(shape),
        sign=signs.reshape(*shape, most),
        hits=hits.reshape(*shape, most),
        starts=int(starts),
        _held=held,
        _mechanism=mechanism,
    )


def _refuse_loose(mechanism: ClosedMechanism, q: np.ndarray, held: HeldJoints, time: Any) -> None:
    """Raises ValueError where what is held leaves the mechanism free to move, so that branches are no points."""
    if not len(q) or not mechanism.free(held.names):
        return
    block = mechanism.dependent_block(q, held.names, time)
    free = block.shape[-1]
    if block.shape[-2] < free or np.median(slack_of(block)) < _LOOSE:
        values = np.linalg.svd(block, compute_uv=False)
        ranks = (values > _LOOSE * values.max(axis=-1, initial=0.0, keepdims=True)).sum(axis=-1)
        more = free - int(ranks.max(initial=0))
        if more:
            raise ValueError(
                f"branches: {'what is held leaves' if held.names else 'the mechanism has'} {more} degree"
                f"{'s' if more != 1 else ''} of freedom, so assemblies are no separate configurations: hold "
                f"{'as many joints more' if held.names else 'as many joints'}"
            )


def _distinct(
    mechanism: ClosedMechanism, q: np.ndarray, near: np.ndarray, held: HeldJoints, position_limits: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Configurations that differ, each as near to zero as whole turns make it, in the order of their numbers; how often
    each was there.
    """
    q = mechanism.nearest_turns(q, np.broadcast_to(near, q.shape), held.names, position_limits)
    kept: list[int] = []
    hits: list[int] = []
    for k in range(len(q)):
        if kept:
            away = apart(mechanism, q[kept], np.broadcast_to(q[k], (len(kept), q.shape[-1])))
            same = int(np.argmin(away))
            if away[same] < _SAME:
                hits[same] += 1
                continue
        kept.append(k)
        hits.append(1)
    order = sorted(range(len(kept)), key=lambda n: tuple(np.round(q[kept[n]], 6) + 0.0))
    return q[[kept[n] for n in order]], np.array([hits[n] for n in order], dtype=int)


def apart(mechanism: ClosedMechanism, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How far configurations are from each other, whole turns aside: (...) [rad, m]."""
    robot = mechanism.robot
    if not one.size:
        return np.zeros(one.shape[:-1])
    between = np.array(robot.difference(one, other))
    for k, _ in mechanism.turning:
        between[..., k] -= 2.0 * math.pi * np.round(between[..., k] / (2.0 * math.pi))
    return np.asarray(np.abs(between).max(axis=-1, initial=0.0))


def _unlimited(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
