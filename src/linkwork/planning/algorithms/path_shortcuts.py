"""Shortcuts of a path as one loop, and checks of straight segments at configurations side by side.

A path's points are table rows in any order, each with the index of the next: a shortcut adds two rows at most and
moves no other.  Every second shortcut leads from point to point.  A segment is checked in configurations no farther
apart than a spacing, coarsely first.

Source: Geraerts and Overmars, Creating high-quality paths for motion planning, 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import put, scan, take, while_loop
from linkwork.expr.control.conditional import SharedCall
from linkwork.expr.scalar.functions import and_, floor, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.kinematics.algorithms.low_discrepancy import kronecker_point

__all__ = ["ABREAST", "CutPath", "Touches", "Ways", "ceiling", "cut_short", "looked_along", "touching"]


Scalars = Sequence[Any]
_WORTH = 1e-3  # of a path's length: what saves less is left, unless it has fewer nodes and saves more than rounding
_ROUNDING = 1e-12
_LITTLE = 0.01  # of a path's length: places that are nearer to a node are there


class CutPath(NamedTuple):
    """``nodes`` (n, nq) and ``links`` (n, 2): the place of the next one, and how far that is; the length, how many ways
    were tried, and how often eight configurations were looked at.
    """

    nodes: Any
    links: Any
    length: Any
    tried: Any
    looks: Any


class _At(NamedTuple):
    nodes: Any
    links: Any
    count: Any
    length: Any
    tried: Any
    looks: Any


class _Place(NamedTuple):
    """A place on the path: after which node, and by which part of the way to the next one."""

    node: Any
    part: Any


def cut_short(
    ways: Ways,
    touches: Touches,
    nodes: Any,
    links: Any,
    count: Any,
    length: Any,
    shift: Scalars,
    spacing: Any,
    trials: Any,
    hope: tuple[Any, Any],
    *,
    max_iterations: int,
) -> CutPath:
    """A path from row 0 on, of which ``count`` rows of the table are, after so many ``trials``.

    ``hope`` is a length, and by which part of it the path may be longer at the first trial; at the last one it may not,
    and it is given up when it is longer than what lies between.
    """
    room = len(nodes)

    def onward(at: _At) -> _At:
        u, v = kronecker_point(at.tried + 1.0, shift)
        low, high = fmin(u, v) * at.length, fmax(u, v) * at.length
        a, b = _places(at.links, low, high, room)
        (after, first), (behind, second) = take(at.links, a.node), take(at.links, b.node)
        corners, little = lt(0.25, _odd(at.tried)), _LITTLE * at.length  # from the node before to the node behind
        at_node = or_(corners, lt(a.part * first, little)), or_(corners, lt((1.0 - b.part) * second, little))
        part, rest = where(at_node[0], 0.0, a.part), where(at_node[1], 0.0, 1.0 - b.part)
        q0 = _between(ways, at.nodes, a.node, after, part)
        q1 = _between(ways, at.nodes, b.node, behind, 1.0 - rest)
        phi = ways.difference(q0, q1)
        direct = ways.length(phi)
        saved = high - low + (a.part - part) * first + (1.0 - b.part - rest) * second - direct
        worth = where(corners, _ROUNDING, _WORTH) * at.length
        asked = and_(lt(worth, saved), or_(lt(a.node, b.node), lt(b.node, a.node)))
        seen = looked_along(touches, q0, phi, direct, spacing, asked)
        taken = and_(asked, lt(seen.hit, 0.5))
        new = and_(taken, not_(at_node[0])), and_(taken, not_(at_node[1]))
        place = at.count + where(new[0], 1.0, 0.0)
        here, there = where(new[0], at.count, -1.0), where(new[1], place, -1.0)
        table = put(put(at.nodes, here, array(q0)), there, array(q1))
        target = where(at_node[1], behind, place)
        way = where(at_node[0], target, at.count), where(at_node[0], direct, part * first)
        told = put(at.links, where(taken, a.node, -1.0), array([*way]))
        told = put(told, here, array([target, direct]))
        told = put(told, there, array([behind, rest * second]))
        return _At(
            table,
            told,
            place + where(new[1], 1.0, 0.0),
            at.length - where(taken, saved, 0.0),
            at.tried + 1.0,
            at.looks + seen.looks,
        )

    def running(at: _At) -> Any:
        hoped = hope[0] * (1.0 + hope[1] * (1.0 - at.tried / fmax(trials, 1.0)))
        return and_(and_(lt(at.tried, trials), le(at.count, float(room - 2))), le(at.length, hoped))

    run = while_loop(running, onward, _At(nodes, links, count, length, 0.0, 0.0), max_iterations=max_iterations)
    at = run.state
    return CutPath(at.nodes, at.links, at.length, at.tried, at.looks)


def _places(links: Any, low: Any, high: Any, room: int) -> tuple[_Place, _Place]:
    """Where a path is so long, low ≤ high."""

    def walk(state: tuple[Any, ...]) -> tuple[Any, ...]:
        node, done, _, _, a, part = state
        behind, length = take(links, node)
        reached = done + length
        safe = fmax(length, 1e-300)
        here = le(done, low)
        return (
            behind,
            reached,
            node,
            fmin((high - done) / safe, 1.0),
            where(here, node, a),
            where(here, fmin((low - done) / safe, 1.0), part),
        )

    start = (0.0,) * 6
    # the last node's next is −1
    run = while_loop(lambda s: and_(lt(s[1], high), lt(-0.5, s[0])), walk, start, max_iterations=room)
    _, _, b, late, a, part = run.state
    return _Place(a, part), _Place(b, late)


def _between(ways: Ways, nodes: Any, node: Any, after: Any, part: Any) -> list[Any]:
    q = [*take(nodes, node)]
    phi = ways.difference(q, [*take(nodes, fmax(after, 0.0))])
    return [x + part * d for x, d in zip(q, phi, strict=True)]


def _odd(number: Any) -> Any:
    """½ of odd numbers, 0 of even ones."""
    return 0.5 * number - floor(0.5 * number)


Touches = Callable[[Scalars, Scalars, Scalars], list[Any]]
"""A configuration q (nq,), a difference φ and places t (k,): by place, 1 where q + t φ is not free, else 0."""
ABREAST = 8  # configurations that are looked at together
_BLOCKS = 10_000  # of them, at most
_TURN = 2.0 * np.pi


class Ways:
    """Differences and their lengths: √Σ (w φ)²; numbers that are ``turning`` are angles that go the short way."""

    def __init__(self, weights: Scalars, turning: Sequence[bool]) -> None:
        self.weights, self.turning = weights, turning

    def difference(self, q0: Scalars, q1: Scalars) -> list[Any]:
        """q1 ⊖ q0 (nq,)."""
        return [_short(b - a) if turns else b - a for a, b, turns in zip(q0, q1, self.turning, strict=True)]

    def square(self, phi: Scalars) -> Any:
        """Of the length of a difference."""
        total: Any = 0.0
        for w, x in zip(self.weights, phi, strict=True):
            total = total + (w * x) * (w * x)
        return total

    def length(self, phi: Scalars) -> Any:
        return sqrt(self.square(phi))


def touching(touches: Callable[[list[Any], Any], Any]) -> Callable[[Any], Touches]:
    """What looks at places on ways with a margin, of what looks at a configuration; its code stands once in kernels."""

    def at(q: Any, phi: Any, places: Any, margin: Any) -> Any:
        def one(state: tuple[()], t: Any) -> tuple[tuple[()], Any]:
            return state, touches([a + t * b for a, b in zip(q, phi, strict=True)], margin)

        return scan(one, (), places)[1]

    called = SharedCall(at)

    def with_margin(margin: Any) -> Touches:
        def looked(q: Scalars, phi: Scalars, places: Scalars) -> list[Any]:
            result: list[Any] = called(array([*q]), array([*phi]), array([*places]), margin).ravel().tolist()
            return result

        return looked

    return with_margin


class Looked(NamedTuple):
    """Whether a way is not free, 1 or 0, and how often eight configurations were looked at."""

    hit: Any
    looks: Any


def looked_along(touches: Touches, q: Scalars, phi: Scalars, length: Any, spacing: Any, asked: Any) -> Looked:
    """Of configurations q + t φ that are no farther apart than a spacing, coarsely first, without the ends; nothing
    where it is not ``asked``.
    """
    blocks = where(asked, fmax(ceiling((length / spacing - 1.0) / ABREAST), 1.0), 0.0)

    def look(state: tuple[Any, Any]) -> tuple[Any, Any]:
        k, _ = state
        places = [(j * blocks + k + 1.0) / (ABREAST * blocks + 1.0) for j in range(ABREAST)]
        worst: Any = 0.0
        for hit in touches(q, phi, places):
            worst = fmax(worst, hit)
        return k + 1.0, worst

    run = while_loop(lambda s: and_(lt(s[0], blocks), lt(s[1], 0.5)), look, (0.0, 0.0), max_iterations=_BLOCKS)
    looks, hit = run.state
    return Looked(hit, looks)


def _short(angle: Any) -> Any:
    return angle - _TURN * floor(angle / _TURN + 0.5)


def ceiling(x: Any) -> Any:
    """The least whole number that is no less."""
    return -floor(-x)
