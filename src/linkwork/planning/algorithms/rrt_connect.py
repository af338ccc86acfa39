"""Two trees that grow towards each other, one way at a time, as one loop.

Nodes of both trees are rows of one table, in the order of their birth.  In a round, the smaller tree grows from its
node that is nearest to a sample, by a step; from then on the other tree grows from its nearest node towards where that
ended, a step in each round, until it gets there or something is in the way.

Samples lie about straight ways from starts to goals, more often about short ones, in a box that grows with their number
up to where a path over it would be as long as the best one that is known, or anywhere within limits.

Source: Kuffner and LaValle, RRT-Connect, 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import put, take, while_loop
from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, or_, sqrt, where
from linkwork.kinematics.algorithms.low_discrepancy import kronecker_point
from linkwork.planning.algorithms.path_shortcuts import ABREAST, Touches, Ways, ceiling

__all__ = ["DEAD", "Sampling", "Trees", "TreesMet", "grown"]

Scalars = Sequence[Any]

DEAD = 2.0  # the tree of nodes that are in none
_EVERY = 4  # of the configurations of a way, one is a node
_FAR = 1e30


class Trees(NamedTuple):
    """``nodes`` (n, nq) and ``links`` (n, 2): which tree each is of, 0 or 1, or `DEAD`, and its parent, −1 of roots;
    how many rows there are, and how many of each tree.
    """

    nodes: Any
    links: Any
    total: Any
    counts: tuple[Any, Any]


class Sampling(NamedTuple):
    """What samples are drawn of.

    ``pairs`` (n, 2 nq + 2) of a start and a goal: where the way begins, what it leads along, its length, and the sum of
    the shares of samples up to its own; the first ``many`` are drawn of.  Boxes about ways are ``wide`` times as wide
    as these are long, by weight, and no wider than a path of the length ``best`` may leave them.  ``shift`` (nq + 3,)
    is that of the points, ``first`` the number of the first.  ``anywhere`` is the share of samples in the ``box``
    (2, nq), all others are moved into the ``limits`` (2, nq), and ``doubling`` is after how many samples boxes are
    twice as wide.
    """

    pairs: Any
    many: Any
    wide: Any
    best: Any
    shift: Scalars
    first: Any
    box: Any
    limits: Any
    anywhere: Any
    doubling: Any


class TreesMet(NamedTuple):
    """Trees; the two nodes at one place, one of each tree, or −1; the last sample's number, and how many rounds."""

    trees: Trees
    met: tuple[Any, Any]
    number: Any
    rounds: Any


class _At(NamedTuple):
    trees: Trees
    side: Any  # which tree grows
    fresh: Any  # the node that the other tree is to reach, or −1
    last: Any  # the node where they met, or −1
    number: Any


def grown(
    ways: Ways, touches: Touches, trees: Trees, sampling: Sampling, spacing: Any, rounds: Any, *, max_iterations: int
) -> TreesMet:
    """Trees grow until they meet, or for so many ``rounds``, or until the table is full."""
    room = len(trees.nodes)
    step = ABREAST * spacing

    def running(at: _At) -> Any:
        return and_(lt(at.last, 0.0), le(at.trees.total, float(room - 2)))

    def onward(state: tuple[_At, Any]) -> tuple[_At, Any]:
        at, done = state
        nodes, links, total, counts = at.trees
        drawing = lt(at.fresh, 0.0)
        number = where(drawing, at.number + 1.0, at.number)
        side = where(drawing, where(le(counts[0], counts[1]), 0.0, 1.0), at.side)
        drawn, other = _sample(ways, sampling, number), take(nodes, fmax(at.fresh, 0.0))
        target = [where(drawing, x, y) for x, y in zip(drawn, [*other], strict=True)]
        near, square = _nearest(ways, nodes, links, total, side, target, room)
        q = [*take(nodes, near)]
        phi = ways.difference(q, target)
        far = sqrt(square)
        part = fmin(step / fmax(far, 1e-300), 1.0)
        whole = le(far, step)
        count = fmax(ceiling(fmin(far, step) / spacing), 1.0)
        delta = [part * x / count for x in phi]
        hits = touches(q, delta, [float(k + 1) for k in range(ABREAST)])
        good: Any = 0.0
        going: Any = 1.0
        for k, hit in enumerate(hits):
            going = where(and_(lt(hit, 0.5), lt(float(k) + 0.5, count)), going, 0.0)
            good = good + going
        arrived = and_(whole, le(count, good))
        halfway, moved = lt(_EVERY + 0.5, good), lt(0.5, good)
        end = [where(arrived, z, x + good * d) for x, d, z in zip(q, delta, target, strict=True)]
        first, second = where(halfway, total, -1.0), where(moved, total + where(halfway, 1.0, 0.0), -1.0)
        table = put(nodes, first, array([x + _EVERY * d for x, d in zip(q, delta, strict=True)]))
        table = put(table, second, array(end))
        told = put(links, first, array([side, near]))
        told = put(told, second, array([side, where(halfway, total, near)]))
        more = where(moved, 1.0, 0.0) + where(halfway, 1.0, 0.0)
        here = lt(side, 0.5)
        both = (counts[0] + where(here, more, 0.0), counts[1] + where(here, 0.0, more))
        going_on = and_(moved, or_(drawing, le(count, good)))
        fresh = where(going_on, where(drawing, second, at.fresh), -1.0)
        other_side = where(drawing, 1.0 - side, side)
        met = and_(arrived, lt(-0.5, at.fresh))
        following = _At(
            Trees(table, told, total + more, both),
            other_side,
            where(met, at.fresh, fresh),
            where(met, second, -1.0),
            number,
        )
        return following, done + 1.0

    begin = _At(trees, 0.0, -1.0, -1.0, sampling.first)
    run = while_loop(
        lambda s: and_(running(s[0]), lt(s[1], rounds)), onward, (begin, 0.0), max_iterations=max_iterations
    )
    at, done = run.state
    result = lt(-0.5, at.last)
    met = (where(result, at.fresh, -1.0), at.last)
    return TreesMet(at.trees, met, at.number, done)


def _sample(ways: Ways, value: Sampling, number: Any) -> list[Any]:
    """A configuration about a way, or anywhere."""
    n = len(ways.turning)
    u = kronecker_point(number, value.shift)
    which, chance, place = u[n:]
    share = which * take(value.pairs, value.many - 1.0)[-1]
    result = while_loop(
        lambda k: and_(lt(take(value.pairs, k)[-1], share), lt(k, value.many - 1.0)),
        lambda k: k + 1.0,
        0.0,
        max_iterations=len(value.pairs),
    )
    row = [*take(value.pairs, result.state)]
    begin, along, length = row[:n], row[n : 2 * n], row[2 * n]
    widest = 0.5 * sqrt(fmax(value.best * value.best - length * length, 0.0))
    reach = fmin(length * value.wide * (1.0 + (number - value.first) / value.doubling), widest)
    sample = []
    for k in range(n):
        about = begin[k] + place * along[k] + reach / ways.weights[k] * (2.0 * u[k] - 1.0)
        anywhere = value.box[0][k] + u[k] * (value.box[1][k] - value.box[0][k])
        inside = fmin(fmax(about, value.limits[0][k]), value.limits[1][k])
        sample.append(where(lt(chance, value.anywhere), anywhere, inside))
    return sample


def _nearest(ways: Ways, nodes: Any, links: Any, total: Any, side: Any, target: Scalars, room: int) -> tuple[Any, Any]:
    """The node of a tree that is nearest, and the square of how far it is."""

    def look(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        k, best, least = state
        square = ways.square(ways.difference([*take(nodes, k)], target))
        own = take(links, k)[0]
        square = square + where(or_(lt(own, side - 0.5), lt(side + 0.5, own)), _FAR, 0.0)
        nearer = lt(square, least)
        return k + 1.0, where(nearer, k, best), where(nearer, square, least)

    run = while_loop(lambda s: lt(s[0], total), look, (0.0, 0.0, _FAR), max_iterations=room)
    _, best, least = run.state
    return best, least
