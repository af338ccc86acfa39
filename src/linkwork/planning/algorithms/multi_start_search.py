"""Short paths by several searches, each for less than the best path so far, as one loop.

Straight ways to goals are looked at first.  Then two trees grow until they meet, and the path is cut short; then again,
towards the goals that are nearer than the best path is long, with samples about straight ways to them, no farther off
than a shorter path may be.

A path on which something is in the way is cut off both trees, with what grew on it, and they grow on.

Sources: Kuffner and LaValle, RRT-Connect, 2000; bounds from the best path as in Gammell, Srinivasa and Barfoot,
Informed RRT*, 2014, and searches begun again within them as in Wilson, Thomason, Kingston and Gammell, AORRTC, 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import put, take, while_loop
from linkwork.expr.scalar.functions import and_, eq, fmax, fmin, le, lt, not_, or_, where
from linkwork.planning.algorithms.path_shortcuts import Touches, Ways, cut_short, looked_along
from linkwork.planning.algorithms.rrt_connect import DEAD, Sampling, Trees, grown

__all__ = ["BestPath", "PathsSearched", "SearchWanted", "searched"]

Scalars = Sequence[Any]

_NONE = 1e30  # how long the best path is where there is none


class SearchWanted(NamedTuple):
    """How it is searched; lengths are those of ways.

    ``roots`` (n, nq + 2): starts and goals, which tree each begins, and how long the shortest straight way of it is;
    there are ``begun`` of them.  ``worth`` is by how much the best path is longer than a way to a goal that is searched
    for.  Configurations are looked at ``spacing`` apart while trees grow, ``fine`` in paths.  Of ``searches`` each that
    is bounded has so many ``rounds``, all together ``max_iterations`` of them.  ``shift`` (2,) is that of places of
    shortcuts, of which there are so many ``trials``, and ``hope`` is as `cut_short` has it.
    """

    roots: Any
    begun: Any
    worth: Any
    spacing: Any
    fine: Any
    searches: Any
    rounds: Any
    max_iterations: Any
    shift: Scalars
    trials: Any
    hope: Any


class BestPath(NamedTuple):
    """``path`` (n, nq), of which the first ``count`` rows are, and how long it is: 1e30 where there is none."""

    path: Any
    count: Any
    length: Any


class PathsSearched(NamedTuple):
    """The best path; the trees of the last search, the number of its last sample, how many searches have ended, how
    many rounds that took, how many nodes there were, and whether the trees are to grow on, or have no room for that.
    """

    best: BestPath
    trees: Trees
    number: Any
    done: Any
    rounds: Any
    nodes: Any
    growing: Any
    full: Any


class _Way(NamedTuple):
    """The path of two trees that met: rows in order, each with the place of the next one and how far that is."""

    path: Any
    links: Any
    count: Any
    length: Any
    tree_links: Any
    blocked: Any


def searched(
    ways: Ways,
    touches: Touches,
    clear: Touches,
    trees: Trees,
    path: Any,
    after: Any,
    best: Any,
    sampling: Sampling,
    wanted: SearchWanted,
    growing: Any,
    *,
    max_iterations: int,
) -> PathsSearched:
    """The shortest of the paths that are found, none of whose edges was seen to touch anything.

    ``path``, ``after`` (n, 2) and ``best`` are tables that are written; where the trees are ``growing``, they go on.
    Shortcuts are kept as ``clear`` as that is.
    """
    begin = _straight(ways, touches, best, sampling, wanted, growing)

    def running(at: tuple[PathsSearched, Any, Any, Any]) -> Any:
        now = at[0]
        worth = lt(sampling.pairs[0][-2] * wanted.worth, now.best.length)
        going_on = and_(lt(now.done, wanted.searches), lt(now.rounds, wanted.max_iterations))
        return and_(and_(going_on, worth), lt(now.full, 0.5))

    def onward(at: tuple[PathsSearched, Any, Any, Any]) -> tuple[PathsSearched, Any, Any, Any]:
        now, left, path, after = at
        bounded = lt(now.best.length, _NONE)
        fresh = lt(now.growing, 0.5)
        begun = _begun(now.trees, wanted, now.best.length, fresh)
        left = where(fresh, where(bounded, wanted.rounds, wanted.max_iterations), left)
        drawn = sampling._replace(many=_worth(sampling.pairs, wanted.worth, now.best.length), first=now.number)
        drawn = drawn._replace(best=now.best.length)
        rounds = fmin(left, wanted.max_iterations - now.rounds)
        result = grown(ways, touches, begun, drawn, wanted.spacing, rounds, max_iterations=max_iterations)
        met = lt(-0.5, result.met[1])
        way = _way(ways, touches, result.trees, result.met, path, after, wanted.fine)
        blocked = lt(0.5, way.blocked)
        short_enough = le(way.count, float(len(path) // 2))  # there is room for shortcuts
        again, fine = and_(met, blocked), and_(met, and_(not_(blocked), short_enough))
        cut_off = _without_dead(result.trees._replace(links=way.tree_links), again)
        trials = where(fine, wanted.trials, 0.0)
        hope = now.best.length, wanted.hope
        short = cut_short(
            ways,
            clear,
            way.path,
            way.links,
            way.count,
            way.length,
            wanted.shift,
            wanted.fine,
            trials,
            hope,
            max_iterations=max_iterations,
        )
        better = and_(fine, lt(short.length, now.best.length))
        left = left - result.rounds
        full = and_(le(float(len(begun.nodes) - 2), result.trees.total), not_(met))
        going_on = or_(again, and_(and_(not_(met), not_(full)), or_(not_(bounded), lt(0.5, left))))
        following = PathsSearched(
            _taken(now.best, short.nodes, short.links, short.length, better),
            cut_off,
            result.number,
            now.done + where(going_on, 0.0, 1.0),
            now.rounds + result.rounds,
            now.nodes + where(going_on, 0.0, result.trees.total),
            where(going_on, 1.0, 0.0),
            where(and_(full, not_(bounded)), 1.0, 0.0),
        )
        return following, left, short.nodes, short.links

    start = PathsSearched(begin, trees, sampling.first, 0.0, 0.0, 0.0, growing, 0.0)
    last: PathsSearched = while_loop(
        running, onward, (start, wanted.max_iterations, path, after), max_iterations=max_iterations
    ).state[0]
    return last


def _worth(pairs: Any, worth: Any, best: Any) -> Any:
    """How many of the pairs, the shortest first, are shorter than the best path."""
    result = while_loop(
        lambda k: lt(take(pairs, k)[-2] * worth, best), lambda k: k + 1.0, 0.0, max_iterations=len(pairs)
    )
    return result.state


def _straight(
    ways: Ways, touches: Touches, best: Any, sampling: Sampling, wanted: SearchWanted, growing: Any
) -> BestPath:
    """The shortest straight way that is free, where no tree grows yet."""
    n = len(ways.turning)
    many = where(lt(0.5, growing), 0.0, sampling.many)

    def look(state: tuple[Any, Any]) -> tuple[Any, Any]:
        k, _ = state
        row = [*take(sampling.pairs, k)]
        seen = looked_along(touches, row[:n], row[n : 2 * n], row[2 * n], wanted.fine, True)
        return k + 1.0, where(lt(seen.hit, 0.5), k, -1.0)

    run = while_loop(
        lambda s: and_(lt(s[0], many), lt(s[1], 0.0)), look, (0.0, -1.0), max_iterations=len(sampling.pairs)
    )
    which = run.state[1]
    row = [*take(sampling.pairs, which)]
    result = lt(-0.5, which)
    table = put(best, where(result, 0.0, -1.0), array(row[:n]))
    table = put(table, where(result, 1.0, -1.0), array([a + b for a, b in zip(row[:n], row[n : 2 * n], strict=True)]))
    return BestPath(table, where(result, 2.0, 0.0), where(result, row[2 * n], _NONE))


def _begun(trees: Trees, wanted: SearchWanted, best: Any, fresh: Any) -> Trees:
    """The roots that are nearer to each other than the best path is long, where trees are begun anew."""
    n = len(trees.nodes[0])

    def one(state: tuple[Any, Trees]) -> tuple[Any, Trees]:
        k, at = state
        row = [*take(wanted.roots, k)]
        side, shortest = row[n:]
        taken = lt(shortest * wanted.worth, best)
        place = where(taken, at.total, -1.0)
        more, first = where(taken, 1.0, 0.0), lt(side, 0.5)
        counts = (at.counts[0] + where(first, more, 0.0), at.counts[1] + where(first, 0.0, more))
        nodes, links = put(at.nodes, place, array(row[:n])), put(at.links, place, array([side, -1.0]))
        return k + 1.0, Trees(nodes, links, at.total + more, counts)

    kept = Trees(
        trees.nodes,
        trees.links,
        where(fresh, 0.0, trees.total),
        (where(fresh, 0.0, trees.counts[0]), where(fresh, 0.0, trees.counts[1])),
    )
    many = where(fresh, wanted.begun, 0.0)
    result: Trees = while_loop(lambda s: lt(s[0], many), one, (0.0, kept), max_iterations=len(wanted.roots)).state[1]
    return result


def _way(ways: Ways, touches: Touches, trees: Trees, met: tuple[Any, Any], path: Any, after: Any, spacing: Any) -> _Way:
    """From a start to a goal over two nodes at one place; nodes to which the way is not free are marked as dead."""
    turned = lt(0.5, take(trees.links, met[0])[0])
    here, there = where(turned, met[1], met[0]), where(turned, met[0], met[1])
    depth = while_loop(
        lambda s: lt(-0.5, s[0]),
        lambda s: (take(trees.links, s[0])[1], s[1] + 1.0),
        (here, -1.0),
        max_iterations=len(trees.nodes),
    ).state[1]

    def up(state: tuple[_Way, Any, Any, Any]) -> tuple[_Way, Any, Any, Any]:
        """From nodes to their parents: those of the first tree stand in the path from its end on, then the others."""
        way, k, place, second = state
        _, parent = take(way.tree_links, k)
        back, rooted = lt(second, 0.5), lt(parent, -0.5)
        q, above = [*take(trees.nodes, k)], [*take(trees.nodes, fmax(parent, 0.0))]
        phi = ways.difference(q, above)
        length = where(rooted, 0.0, ways.length(phi))
        hit = lt(0.5, looked_along(touches, q, phi, length, spacing, not_(rooted)).hit)
        onward = array([where(back, place, where(rooted, -1.0, place + 1.0)), length])
        following = _Way(
            put(way.path, place, array(q)),
            put(way.links, where(back, place - 1.0, place), onward),  # −1 is no row
            place + 1.0,
            way.length + length,
            put(way.tree_links, where(hit, k, -1.0), array([DEAD, parent])),
            way.blocked + where(hit, 1.0, 0.0),
        )
        crossing = and_(back, rooted)
        k, place = where(crossing, there, parent), where(crossing, depth, place + where(back, -1.0, 1.0))
        return following, k, place, where(rooted, 1.0, second)

    start = _Way(path, after, 0.0, 0.0, trees.links, 0.0), here, depth, 0.0
    result: _Way = while_loop(lambda s: lt(-0.5, s[1]), up, start, max_iterations=2 * len(trees.nodes)).state[0]
    return result


def _without_dead(trees: Trees, asked: Any) -> Trees:
    """What grew on dead nodes is dead, if that is asked for."""

    def one(state: tuple[Any, Any, tuple[Any, Any]]) -> tuple[Any, Any, tuple[Any, Any]]:
        k, links, counts = state
        side, parent = take(links, k)
        above = take(links, fmax(parent, 0.0))[0]
        side = where(and_(le(0.0, parent), eq(above, DEAD)), DEAD, side)
        first, second = where(lt(side, 0.5), 1.0, 0.0), where(eq(side, 1.0), 1.0, 0.0)
        return k + 1.0, put(links, k, array([side, parent])), (counts[0] + first, counts[1] + second)

    many = where(asked, trees.total, 0.0)
    begun = where(asked, 0.0, trees.counts[0]), where(asked, 0.0, trees.counts[1])
    run = while_loop(lambda s: lt(s[0], many), one, (0.0, trees.links, begun), max_iterations=len(trees.nodes))
    _, links, counts = run.state
    return trees._replace(links=links, counts=counts)


def _taken(best: BestPath, nodes: Any, links: Any, length: Any, better: Any) -> BestPath:
    """The path from row 0 on, where it is better."""

    def one(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        k, place, table = state
        return take(links, k)[0], place + 1.0, put(table, place, take(nodes, k))

    start = where(better, 0.0, -1.0), 0.0, best.path
    run = while_loop(lambda s: lt(-0.5, s[0]), one, start, max_iterations=len(nodes))
    _, count, table = run.state
    return BestPath(table, where(better, count, best.count), where(better, length, best.length))
