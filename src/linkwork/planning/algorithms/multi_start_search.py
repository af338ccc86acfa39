"""Repeated RRT-Connect as one loop: several searches, each for a path shorter than the best so far.

Straight motions to goals are checked first.  Then two trees grow until they meet, and the path is shortened.  Further
searches are restricted to goals nearer than the length of the best path, with samples about straight motions to these
goals, within the ellipsoid that contains every shorter path.

If a path is in collision, the colliding edge is removed from the trees with all descendants, and the trees continue to
grow.

Sources: Kuffner and LaValle, RRT-Connect, 2000; bounds from the best path as in Gammell, Srinivasa and Barfoot,
Informed RRT*, 2014, and searches begun again within them as in Wilson, Thomason, Kingston and Gammell, AORRTC, 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import put, take, while_loop
from linkwork.expr.scalar.functions import and_, eq, fmax, fmin, le, lt, not_, or_, where
from linkwork.planning.algorithms.path_shortcuts import CollisionCheck, PathMetric, check_segment, shorten
from linkwork.planning.algorithms.rrt_connect import DEAD, Sampling, Trees, grow

__all__ = ["BestPath", "SearchRequest", "SearchResult", "search_paths"]

Scalars = Sequence[Any]

_NONE = 1e30  # length of the best path if there is none


class SearchRequest(NamedTuple):
    """Parameters of repeated searches by RRT-Connect; lengths are those of `PathMetric`.

    ``roots`` (n, 2) has a row for each start and goal: the index of its tree (0 or 1), and the length of the shortest
    straight motion to the other tree's roots. The first ``num_roots`` rows are used. A goal is still searched for while
    the best path is longer than ``min_ratio`` times the straight motion to it.

    Configurations are checked ``spacing`` apart while trees grow, and ``fine`` apart in paths. Each search after the
    first path has ``rounds`` rounds. The search ends after ``searches`` searches or ``max_iterations`` rounds in total.
    ``shift`` (2,) shifts the points of shortcuts, ``trials`` is the number of shortcuts, and ``allowance`` the fraction
    in `shorten`.
    """

    roots: Any
    num_roots: Any
    min_ratio: Any
    spacing: Any
    fine: Any
    searches: Any
    rounds: Any
    max_iterations: Any
    shift: Scalars
    trials: Any
    allowance: Any


class BestPath(NamedTuple):
    """The shortest path found: configurations ``path`` (n, nq), of which ``count`` rows are used, and its length.

    The length is 1e30 if no path was found.
    """

    path: Any
    count: Any
    length: Any


class SearchResult(NamedTuple):
    """Result of repeated searches: the best path, the trees of the last search, and counts.

    ``number`` is the index of the last sample. ``done`` is the number of completed searches, with ``rounds`` rounds and
    ``nodes`` nodes. ``growing`` is 1 if the trees may continue to grow. ``full`` is 1 if the table of nodes is full.
    ``crowded`` is 1 if a table had few free rows at some time: with larger tables the result may differ.
    """

    best: BestPath
    trees: Trees
    number: Any
    done: Any
    rounds: Any
    nodes: Any
    growing: Any
    full: Any
    crowded: Any


class _TreePath(NamedTuple):
    """Path over two trees that met: a table of configurations, each with the row of the next and the distance to it."""

    path: Any
    links: Any
    count: Any
    length: Any
    tree_links: Any
    blocked: Any


def search_paths(
    metric: PathMetric,
    in_collision_at: CollisionCheck,
    clear: CollisionCheck,
    trees: Trees,
    path: Any,
    after: Any,
    best: Any,
    sampling: Sampling,
    request: SearchRequest,
    growing: Any,
    *,
    max_iterations: int,
) -> SearchResult:
    """Return the shortest path of several searches, with the trees of the last search.

    The configurations of the path are collision-free. The first rows of the trees' table of nodes are the starts and
    goals. ``path``, ``after`` (n, 2) and ``best`` are tables that are overwritten. If ``growing``, the trees continue
    to grow. Shortcuts satisfy the check ``clear``.
    """
    begin = _straight_motion(metric, in_collision_at, best, sampling, request, growing)

    def continues(at: tuple[SearchResult, Any, Any, Any]) -> Any:
        now = at[0]
        min_ratio = lt(sampling.pairs[0][-2] * request.min_ratio, now.best.length)
        going_on = and_(lt(now.done, request.searches), lt(now.rounds, request.max_iterations))
        return and_(and_(going_on, min_ratio), lt(now.full, 0.5))

    def next_search(at: tuple[SearchResult, Any, Any, Any]) -> tuple[SearchResult, Any, Any, Any]:
        now, left, path, after = at
        bounded = lt(now.best.length, _NONE)
        fresh = lt(now.growing, 0.5)
        num_roots = _new_trees(now.trees, request, now.best.length, fresh)
        left = where(fresh, where(bounded, request.rounds, request.max_iterations), left)
        drawn = sampling._replace(
            num_pairs=_num_promising(sampling.pairs, request.min_ratio, now.best.length), first=now.number
        )
        drawn = drawn._replace(best=now.best.length)
        rounds = fmin(left, request.max_iterations - now.rounds)
        result = grow(metric, in_collision_at, num_roots, drawn, request.spacing, rounds, max_iterations=max_iterations)
        met_nodes = lt(-0.5, result.meeting_nodes[1])
        tree_path = _tree_path(metric, in_collision_at, result.trees, result.meeting_nodes, path, after, request.fine)
        blocked = lt(0.5, tree_path.blocked)
        short_enough = le(tree_path.count, float(len(path) // 2))  # the table has room for shortcuts
        again, is_shorter = and_(met_nodes, blocked), and_(met_nodes, and_(not_(blocked), short_enough))
        cut_off = _prune(result.trees._replace(links=tree_path.tree_links), again)
        trials = where(is_shorter, request.trials, 0.0)
        allowance = now.best.length, request.allowance
        short = shorten(
            metric,
            clear,
            tree_path.path,
            tree_path.links,
            tree_path.count,
            tree_path.length,
            request.shift,
            request.fine,
            trials,
            allowance,
            max_iterations=max_iterations,
        )
        better = and_(is_shorter, lt(short.length, now.best.length))
        left = left - result.rounds
        trees_full = le(float(len(num_roots.nodes) - 2), result.trees.total)
        full = and_(trees_full, not_(met_nodes))
        shortest = _best_of(now.best, short.nodes, short.links, short.length, better)
        no_room = or_(and_(met_nodes, not_(short_enough)), and_(is_shorter, lt(float(len(path) - 2), short.count)))
        no_room = or_(or_(trees_full, no_room), lt(float(len(now.best.path)), shortest.count))
        going_on = or_(again, and_(and_(not_(met_nodes), not_(full)), or_(not_(bounded), lt(0.5, left))))
        next_state = SearchResult(
            shortest,
            cut_off,
            result.sample_index,
            now.done + where(going_on, 0.0, 1.0),
            now.rounds + result.rounds,
            now.nodes + where(going_on, 0.0, result.trees.total - _num_excluded(num_roots.links, request)),
            where(going_on, 1.0, 0.0),
            where(and_(full, not_(bounded)), 1.0, 0.0),
            where(no_room, 1.0, now.crowded),
        )
        return next_state, left, short.nodes, short.links

    start = SearchResult(begin, trees, sampling.first, 0.0, 0.0, 0.0, growing, 0.0, 0.0)
    last: SearchResult = while_loop(
        continues, next_search, (start, request.max_iterations, path, after), max_iterations=max_iterations
    ).state[0]
    return last


def _num_promising(pairs: Any, min_ratio: Any, best: Any) -> Any:
    """Return the number of (start, goal) pairs that may still be connected by a path shorter than the best known path.

    ``pairs`` are sorted by the length of their straight motion, the shortest first; ``best`` is the length of the best
    path.
    """
    lengths = array([row[-2] for row in pairs])
    result = while_loop(
        lambda k: lt(take(lengths, k) * min_ratio, best), lambda k: k + 1.0, 0.0, max_iterations=len(pairs)
    )
    return result.state


def _straight_motion(
    metric: PathMetric,
    in_collision_at: CollisionCheck,
    best: Any,
    sampling: Sampling,
    request: SearchRequest,
    growing: Any,
) -> BestPath:
    """Return the shortest collision-free straight motion from a start to a goal, as a path.

    The path has length 1e30 if there is none, or if trees are growing.
    """
    n = len(metric.turning)
    count = where(lt(0.5, growing), 0.0, sampling.num_pairs)

    def look(state: tuple[Any, Any]) -> tuple[Any, Any]:
        k, _ = state
        row = [*take(sampling.pairs, k)]
        check = check_segment(in_collision_at, row[:n], row[n : 2 * n], row[2 * n], request.fine, True)
        return k + 1.0, where(lt(check.hit, 0.5), k, -1.0)

    run = while_loop(
        lambda s: and_(lt(s[0], count), lt(s[1], 0.0)), look, (0.0, -1.0), max_iterations=len(sampling.pairs)
    )
    which = run.state[1]
    row = [*take(sampling.pairs, which)]
    result = lt(-0.5, which)
    ends = row[:n], [a + b for a, b in zip(row[:n], row[n : 2 * n], strict=True)]
    table = [[*old] for old in best]
    table[:2] = [
        [where(result, x, y) for x, y in zip(end, old, strict=True)] for end, old in zip(ends, best, strict=False)
    ]
    return BestPath(array(table), where(result, 2.0, 0.0), where(result, row[2 * n], _NONE))


def _new_trees(trees: Trees, request: SearchRequest, best: Any, fresh: Any) -> Trees:
    """Return trees that consist only of roots, the starts and goals, if ``fresh``; otherwise the given trees.

    Starts and goals are marked as excluded (dead) if their straight motion is not shorter than the best path.
    """
    links = [[*link] for link in trees.links]
    counts: list[Any] = [0.0, 0.0]
    for k, (side, shortest) in enumerate(request.roots):
        accepted = and_(lt(float(k), request.num_roots), lt(shortest * request.min_ratio, best))
        links[k] = [
            where(fresh, where(accepted, side, DEAD), links[k][0]),
            where(fresh, -1.0, links[k][1]),
        ]
        more, first = where(accepted, 1.0, 0.0), lt(side, 0.5)
        counts = [counts[0] + where(first, more, 0.0), counts[1] + where(first, 0.0, more)]
    total = where(fresh, request.num_roots, trees.total)
    first, second = (where(fresh, new, old) for new, old in zip(counts, trees.counts, strict=True))
    return Trees(trees.nodes, array(links), total, (first, second))


def _num_excluded(links: Any, request: SearchRequest) -> Any:
    """Return the number of starts and goals that are excluded: marked as dead in the trees' ``links``."""
    result: Any = 0.0
    for k, (side, _) in enumerate([*links][: len(request.roots)]):
        result = result + where(and_(lt(float(k), request.num_roots), eq(side, DEAD)), 1.0, 0.0)
    return result


def _tree_path(
    metric: PathMetric,
    in_collision_at: CollisionCheck,
    trees: Trees,
    met_nodes: tuple[Any, Any],
    path: Any,
    after: Any,
    spacing: Any,
) -> _TreePath:
    """Return the path from a start to a goal through the two nodes at which the trees met.

    Both nodes have the same configuration. Nodes whose edge to the parent is in collision are marked as dead.
    """
    swapped = lt(0.5, take(trees.links, met_nodes[0])[0])
    start_node, goal_node = where(swapped, met_nodes[1], met_nodes[0]), where(swapped, met_nodes[0], met_nodes[1])
    depth = while_loop(
        lambda s: lt(-0.5, s[0]),
        lambda s: (take(trees.links, s[0])[1], s[1] + 1.0),
        (start_node, -1.0),
        max_iterations=len(trees.nodes),
    ).state[1]

    def up(state: tuple[_TreePath, Any, Any, Any]) -> tuple[_TreePath, Any, Any, Any]:
        """Return the state of the loop after one step from a node to its parent.

        The path's table is filled backwards with nodes of the first tree, then forwards with nodes of the second tree.
        """
        tree_path, k, index, second = state
        _, parent = take(tree_path.tree_links, k)
        back, rooted = lt(second, 0.5), lt(parent, -0.5)
        q, above = [*take(trees.nodes, k)], [*take(trees.nodes, fmax(parent, 0.0))]
        phi = metric.difference(q, above)
        length = where(rooted, 0.0, metric.length(phi))
        hit = lt(0.5, check_segment(in_collision_at, q, phi, length, spacing, not_(rooted)).hit)
        next_search = array([where(back, index, where(rooted, -1.0, index + 1.0)), length])
        next_state = _TreePath(
            put(tree_path.path, index, array(q)),
            put(tree_path.links, where(back, index - 1.0, index), next_search),  # −1 writes no row
            index + 1.0,
            tree_path.length + length,
            put(tree_path.tree_links, where(hit, k, -1.0), array([DEAD, parent])),
            tree_path.blocked + where(hit, 1.0, 0.0),
        )
        crossing = and_(back, rooted)
        k, index = where(crossing, goal_node, parent), where(crossing, depth, index + where(back, -1.0, 1.0))
        return next_state, k, index, where(rooted, 1.0, second)

    start = _TreePath(path, after, 0.0, 0.0, trees.links, 0.0), start_node, depth, 0.0
    result: _TreePath = while_loop(lambda s: lt(-0.5, s[1]), up, start, max_iterations=2 * len(trees.nodes)).state[0]
    return result


def _prune(trees: Trees, enabled: Any) -> Trees:
    """Return the trees in which all descendants of nodes marked as dead are also marked, if ``enabled``."""

    def one(state: tuple[Any, Any, tuple[Any, Any]]) -> tuple[Any, Any, tuple[Any, Any]]:
        k, links, counts = state
        side, parent = take(links, k)
        above = take(links, fmax(parent, 0.0))[0]
        side = where(and_(le(0.0, parent), eq(above, DEAD)), DEAD, side)
        first, second = where(lt(side, 0.5), 1.0, 0.0), where(eq(side, 1.0), 1.0, 0.0)
        return k + 1.0, put(links, k, array([side, parent])), (counts[0] + first, counts[1] + second)

    count = where(enabled, trees.total, 0.0)
    num_roots = where(enabled, 0.0, trees.counts[0]), where(enabled, 0.0, trees.counts[1])
    run = while_loop(lambda s: lt(s[0], count), one, (0.0, trees.links, num_roots), max_iterations=len(trees.nodes))
    _, links, counts = run.state
    return trees._replace(links=links, counts=counts)


def _best_of(best: BestPath, nodes: Any, links: Any, length: Any, better: Any) -> BestPath:
    """Return the path that begins at row 0 of ``nodes`` if ``better`` is true, else the path ``best``.

    ``links`` has, for each row, the index of the next row and the distance to it.
    """

    def one(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        k, index, table = state
        return take(links, k)[0], index + 1.0, put(table, index, take(nodes, k))

    start = where(better, 0.0, -1.0), 0.0, best.path
    run = while_loop(lambda s: lt(-0.5, s[0]), one, start, max_iterations=len(nodes))
    _, count, table = run.state
    return BestPath(table, where(better, count, best.count), where(better, length, best.length))
