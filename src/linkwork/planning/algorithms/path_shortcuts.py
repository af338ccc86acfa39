"""Shortcuts of a path as one loop, and checks of straight segments at configurations side by side.

A path's points are table rows in any order, each with the index of the next.  A shortcut adds at most two rows and
moves no other.  Every second shortcut connects two nodes.  A segment is checked at configurations no farther apart than
a spacing, coarsely first.

Source: Geraerts and Overmars, Creating high-quality paths for motion planning, 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import put, scan, take, while_loop
from linkwork.expr.control.conditional import SharedCall
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, floor, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.kinematics.algorithms.low_discrepancy import kronecker_point

__all__ = [
    "LANES",
    "CollisionCheck",
    "PathMetric",
    "ShortenedPath",
    "ceiling",
    "check_segment",
    "segment_check",
    "shorten",
]


Scalars = Sequence[Any]
_MIN_SAVING = 1e-3  # minimum saving relative to the path's length, unless the shortcut removes nodes
_ROUNDING = by_type(1e-12)  # minimum relative saving of a shortcut between nodes
_NODE_DISTANCE = 0.01  # of a path's length: places that are nearer to a node are there


class ShortenedPath(NamedTuple):
    """Shortened path: configurations ``nodes`` (n, nq) and ``links`` (n, 2), beginning at row 0.

    A link is the index of the next row and the distance to it. Further fields are the number of rows in use, the path's
    length, the number of trials, and the number of calls that check eight configurations at once.
    """

    nodes: Any
    links: Any
    count: Any
    length: Any
    trials_done: Any
    num_checks: Any


class _ShortcutState(NamedTuple):
    nodes: Any
    links: Any
    count: Any
    length: Any
    trials_done: Any
    num_checks: Any


class _PathPoint(NamedTuple):
    """Point on a path: the row of the node before it, and the fraction of the segment to the next node."""

    node: Any
    part: Any


def shorten(
    metric: PathMetric,
    in_collision_at: CollisionCheck,
    nodes: Any,
    links: Any,
    count: Any,
    length: Any,
    shift: Scalars,
    spacing: Any,
    trials: Any,
    allowance: tuple[Any, Any],
    *,
    max_iterations: int,
) -> ShortenedPath:
    """Return a path that is shortened by ``trials`` shortcuts.

    The path starts at row 0 of the tables ``nodes`` and ``links``, of which it uses ``count`` rows.

    ``allowance`` is (length, fraction): at the first trial the path may be longer than ``length`` by this fraction,
    which decreases linearly to 0 at the last trial.  Trials end when the path is longer.
    """
    room = len(nodes)

    def next_trial(at: _ShortcutState) -> _ShortcutState:
        u, v = kronecker_point(at.trials_done + 1.0, shift)
        low, high = fmin(u, v) * at.length, fmax(u, v) * at.length
        a, b = _points_at(at.links, low, high, room)
        (after, first), (behind, second) = take(at.links, a.node), take(at.links, b.node)
        corners, node_distance = (
            lt(0.25, _half_parity(at.trials_done)),
            _NODE_DISTANCE * at.length,
        )  # between the nodes before and behind
        is_node = (
            or_(corners, lt(a.part * first, node_distance)),
            or_(corners, lt((1.0 - b.part) * second, node_distance)),
        )
        part, remainder = where(is_node[0], 0.0, a.part), where(is_node[1], 0.0, 1.0 - b.part)
        q0 = _between(metric, at.nodes, a.node, after, part)
        q1 = _between(metric, at.nodes, b.node, behind, 1.0 - remainder)
        phi = metric.difference(q0, q1)
        direct = metric.length(phi)
        saved = high - low + (a.part - part) * first + (1.0 - b.part - remainder) * second - direct
        min_saving = where(corners, _ROUNDING, _MIN_SAVING) * at.length
        enabled = and_(lt(min_saving, saved), or_(lt(a.node, b.node), lt(b.node, a.node)))
        check = check_segment(in_collision_at, q0, phi, direct, spacing, enabled)
        accepted = and_(enabled, lt(check.hit, 0.5))
        adds_node = and_(accepted, not_(is_node[0])), and_(accepted, not_(is_node[1]))
        index = at.count + where(adds_node[0], 1.0, 0.0)
        first_row, second_row = where(adds_node[0], at.count, -1.0), where(adds_node[1], index, -1.0)
        table = put(put(at.nodes, first_row, array(q0)), second_row, array(q1))
        target = where(is_node[1], behind, index)
        link = where(is_node[0], target, at.count), where(is_node[0], direct, part * first)
        next_links = put(at.links, where(accepted, a.node, -1.0), array([*link]))
        next_links = put(next_links, first_row, array([target, direct]))
        next_links = put(next_links, second_row, array([behind, remainder * second]))
        return _ShortcutState(
            table,
            next_links,
            index + where(adds_node[1], 1.0, 0.0),
            at.length - where(accepted, saved, 0.0),
            at.trials_done + 1.0,
            at.num_checks + check.num_checks,
        )

    def continues(at: _ShortcutState) -> Any:
        max_length = allowance[0] * (1.0 + allowance[1] * (1.0 - at.trials_done / fmax(trials, 1.0)))
        return and_(and_(lt(at.trials_done, trials), le(at.count, float(room - 2))), le(at.length, max_length))

    run = while_loop(
        continues, next_trial, _ShortcutState(nodes, links, count, length, 0.0, 0.0), max_iterations=max_iterations
    )
    at = run.state
    return ShortenedPath(at.nodes, at.links, at.count, at.length, at.trials_done, at.num_checks)


def _points_at(links: Any, low: Any, high: Any, room: int) -> tuple[_PathPoint, _PathPoint]:
    """Return the two points of a path at the lengths ``low`` and ``high`` ≥ ``low`` from its start.

    ``links`` has, for each node, the row of the next node and the distance to it; ``room`` is its number of rows.
    """

    def walk(state: tuple[Any, ...]) -> tuple[Any, ...]:
        node, done, _, _, a, part = state
        behind, length = take(links, node)
        reached = done + length
        safe = fmax(length, by_type(1e-300))
        first_row = le(done, low)
        return (
            behind,
            reached,
            node,
            fmin((high - done) / safe, 1.0),
            where(first_row, node, a),
            where(first_row, fmin((low - done) / safe, 1.0), part),
        )

    start = (0.0,) * 6
    # the last node's successor is −1
    run = while_loop(lambda s: and_(lt(s[1], high), lt(-0.5, s[0])), walk, start, max_iterations=room)
    _, _, b, late, a, part = run.state
    return _PathPoint(a, part), _PathPoint(b, late)


def _between(metric: PathMetric, nodes: Any, node: Any, after: Any, part: Any) -> list[Any]:
    q = [*take(nodes, node)]
    phi = metric.difference(q, [*take(nodes, fmax(after, 0.0))])
    return [x + part * d for x, d in zip(q, phi, strict=True)]


def _half_parity(number: Any) -> Any:
    """Return ½ for an odd ``number``, 0 for an even number."""
    return 0.5 * number - floor(0.5 * number)


CollisionCheck = Callable[[Scalars, Scalars, Scalars], list[Any]]
"""A configuration q (nq,), a difference φ and places t (k,): by place, 1 where q + t φ is not free, else 0."""
LANES = 8  # configurations checked together
_MAX_BLOCKS = 10_000  # maximum blocks of a segment
_REVOLUTION = 2.0 * np.pi


class PathMetric:
    """Metric of configurations: the length of a difference φ = q1 ⊖ q0 is √Σ (w φ)² with weights w.

    Differences of the coordinates marked by ``turning`` are wrapped to the shorter direction.
    """

    def __init__(self, weights: Scalars, turning: Sequence[bool]) -> None:
        self.weights, self.turning = weights, turning

    def difference(self, q0: Scalars, q1: Scalars) -> list[Any]:
        """Return the difference q1 ⊖ q0 (nq,), in the shorter direction."""
        return [_shorter_angle(b - a) if turns else b - a for a, b, turns in zip(q0, q1, self.turning, strict=True)]

    def square(self, phi: Scalars) -> Any:
        """Return the squared length Σ (w φ)² of a difference φ."""
        total: Any = 0.0
        for w, x in zip(self.weights, phi, strict=True):
            total = total + (w * x) * (w * x)
        return total

    def length(self, phi: Scalars) -> Any:
        return sqrt(self.square(phi))


def segment_check(in_collision_at: Callable[[list[Any], Any], Any]) -> Callable[[Any], CollisionCheck]:
    """Return a function that maps a margin to a collision check of several configurations on a segment.

    ``in_collision_at(q, margin)`` checks one configuration; its code is compiled once for a kernel.
    """

    def at(q: Any, phi: Any, fractions: Any, margin: Any) -> Any:
        def one(state: tuple[()], t: Any) -> tuple[tuple[()], Any]:
            return state, in_collision_at([a + t * b for a, b in zip(q, phi, strict=True)], margin)

        return scan(one, (), fractions)[1]

    called = SharedCall(at)

    def with_margin(margin: Any) -> CollisionCheck:
        def check(q: Scalars, phi: Scalars, fractions: Scalars) -> list[Any]:
            result: list[Any] = called(array([*q]), array([*phi]), array([*fractions]), margin).ravel().tolist()
            return result

        return check

    return with_margin


class SegmentCheck(NamedTuple):
    """Result of a segment check: 1 if in collision, else 0, and the number of calls that check eight configurations."""

    hit: Any
    num_checks: Any


def check_segment(
    in_collision_at: CollisionCheck, q: Scalars, phi: Scalars, length: Any, spacing: Any, enabled: Any
) -> SegmentCheck:
    """Check the straight segment from q to q + φ: return 1 if in collision, else 0, and the number of calls.

    A call of ``in_collision_at`` checks eight configurations. They are at most ``spacing`` apart, without the segment's
    ends, and coarsely spaced ones are checked first. Unless ``enabled``, the result is 0 without any check.
    """
    blocks = where(enabled, fmax(ceiling((length / spacing - 1.0) / LANES), 1.0), 0.0)

    def look(state: tuple[Any, Any]) -> tuple[Any, Any]:
        k, _ = state
        fractions = [(j * blocks + k + 1.0) / (LANES * blocks + 1.0) for j in range(LANES)]
        worst: Any = 0.0
        for hit in in_collision_at(q, phi, fractions):
            worst = fmax(worst, hit)
        return k + 1.0, worst

    run = while_loop(lambda s: and_(lt(s[0], blocks), lt(s[1], 0.5)), look, (0.0, 0.0), max_iterations=_MAX_BLOCKS)
    num_checks, hit = run.state
    return SegmentCheck(hit, num_checks)


def _shorter_angle(angle: Any) -> Any:
    return angle - _REVOLUTION * floor(angle / _REVOLUTION + 0.5)


def ceiling(x: Any) -> Any:
    """Return the smallest integer that is not less than x."""
    return -floor(-x)
