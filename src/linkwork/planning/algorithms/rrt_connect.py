"""RRT-Connect as one loop: two trees that grow towards each other, one segment at a time.

Nodes of both trees are rows of one table, in order of creation.  In a round, the smaller tree grows by a step from its
node nearest to a sample.  In the next rounds the other tree grows from its nearest node towards the new node, a step
per round, until it reaches the new node or a collision.

Samples are drawn near straight motions from starts to goals, more often near short motions.  A fraction of them is
drawn anywhere within limits.  The box around the straight motions grows with the number of samples, up to the bound of
the best known path.

Source: Kuffner and LaValle, RRT-Connect, 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import put, take, while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, or_, sqrt, where
from linkwork.kinematics.algorithms.low_discrepancy import kronecker_point
from linkwork.planning.algorithms.path_shortcuts import LANES, CollisionCheck, PathMetric, ceiling

__all__ = ["DEAD", "Sampling", "Trees", "TreesGrown", "grow"]

Scalars = Sequence[Any]

DEAD = 2.0  # tree index of removed nodes
_NODE_INTERVAL = 4  # every n-th configuration of a segment is a node
_INFINITE = 1e30


class Trees(NamedTuple):
    """Both search trees in one table: configurations ``nodes`` (n, nq) and ``links`` (n, 2).

    A link is the tree (0, 1 or `DEAD`) and the row of the parent, −1 for roots. ``total`` is the number of rows in
    use, and ``counts`` the number of rows of each tree.
    """

    nodes: Any
    links: Any
    total: Any
    counts: tuple[Any, Any]


class Sampling(NamedTuple):
    """Parameters of the samples of a search, which are drawn near straight motions from a start to a goal.

    ``pairs`` (n, 2 nq + 2) are the motions. Each row has the start, the difference to the goal, the motion's length,
    and the cumulative fraction of samples. The first ``num_pairs`` are used. A sample lies in a box about its motion.
    The box extends in each coordinate by ``width`` times the motion's length, divided by the coordinate's weight. It
    extends no more than a path of length ``best`` can. After ``doubling`` samples boxes are twice as wide.

    ``anywhere`` is the fraction of samples that are drawn from the ``box`` (2, nq) instead. All other samples are
    clipped to the ``limits`` (2, nq). ``shift`` (nq + 3,) shifts the points of the low-discrepancy sequence, and
    ``first`` is the index of the first point.
    """

    pairs: Any
    num_pairs: Any
    width: Any
    best: Any
    shift: Scalars
    first: Any
    box: Any
    limits: Any
    anywhere: Any
    doubling: Any


class TreesGrown(NamedTuple):
    """Trees after several rounds of growth, the two nodes at which they met (or −1), and counts.

    The nodes have the same configuration.  The counts are the index of the last sample and the number of rounds.
    """

    trees: Trees
    meeting_nodes: tuple[Any, Any]
    sample_index: Any
    rounds: Any


class _GrowthState(NamedTuple):
    trees: Trees
    side: Any  # index of the growing tree
    target_node: Any  # target node of the other tree, or −1
    last: Any  # meeting node, or −1
    sample_index: Any


def grow(
    metric: PathMetric,
    in_collision_at: CollisionCheck,
    trees: Trees,
    sampling: Sampling,
    spacing: Any,
    rounds: Any,
    *,
    max_iterations: int,
) -> TreesGrown:
    """Return the trees after they have grown until they meet, for at most ``rounds`` rounds.

    Growth also ends when the table of nodes is full.
    """
    room = len(trees.nodes)
    step = LANES * spacing

    def continues(at: _GrowthState) -> Any:
        return and_(lt(at.last, 0.0), le(at.trees.total, float(room - 2)))

    def next_round(state: tuple[_GrowthState, Any]) -> tuple[_GrowthState, Any]:
        at, done = state
        nodes, links, total, counts = at.trees
        is_sampling = lt(at.target_node, 0.0)
        sample_index = where(is_sampling, at.sample_index + 1.0, at.sample_index)
        side = where(is_sampling, where(le(counts[0], counts[1]), 0.0, 1.0), at.side)
        drawn, target_configuration = _sample(metric, sampling, sample_index), take(nodes, fmax(at.target_node, 0.0))
        target = [where(is_sampling, x, y) for x, y in zip(drawn, [*target_configuration], strict=True)]
        near, square = _nearest(metric, nodes, links, total, side, target, room)
        q = [*take(nodes, near)]
        phi = metric.difference(q, target)
        distance = sqrt(square)
        part = fmin(step / fmax(distance, by_type(1e-300)), 1.0)
        whole = le(distance, step)
        count = fmax(ceiling(fmin(distance, step) / spacing), 1.0)
        delta = [part * x / count for x in phi]
        hits = in_collision_at(q, delta, [float(k + 1) for k in range(LANES)])
        num_free: Any = 0.0
        still_free: Any = 1.0
        for k, hit in enumerate(hits):
            still_free = where(and_(lt(hit, 0.5), lt(float(k) + 0.5, count)), still_free, 0.0)
            num_free = num_free + still_free
        arrived = and_(whole, le(count, num_free))
        halfway, moved = lt(_NODE_INTERVAL + 0.5, num_free), lt(0.5, num_free)
        end = [where(arrived, z, x + num_free * d) for x, d, z in zip(q, delta, target, strict=True)]
        first, second = where(halfway, total, -1.0), where(moved, total + where(halfway, 1.0, 0.0), -1.0)
        table = put(nodes, first, array([x + _NODE_INTERVAL * d for x, d in zip(q, delta, strict=True)]))
        table = put(table, second, array(end))
        next_links = put(links, first, array([side, near]))
        next_links = put(next_links, second, array([side, where(halfway, total, near)]))
        more = where(moved, 1.0, 0.0) + where(halfway, 1.0, 0.0)
        is_first = lt(side, 0.5)
        both = (counts[0] + where(is_first, more, 0.0), counts[1] + where(is_first, 0.0, more))
        going_on = and_(moved, or_(is_sampling, le(count, num_free)))
        target_node = where(going_on, where(is_sampling, second, at.target_node), -1.0)
        other_side = where(is_sampling, 1.0 - side, side)
        meeting_nodes = and_(arrived, lt(-0.5, at.target_node))
        following = _GrowthState(
            Trees(table, next_links, total + more, both),
            other_side,
            where(meeting_nodes, at.target_node, target_node),
            where(meeting_nodes, second, -1.0),
            sample_index,
        )
        return following, done + 1.0

    begin = _GrowthState(trees, 0.0, -1.0, -1.0, sampling.first)
    run = while_loop(
        lambda s: and_(continues(s[0]), lt(s[1], rounds)), next_round, (begin, 0.0), max_iterations=max_iterations
    )
    at, done = run.state
    result = lt(-0.5, at.last)
    meeting_nodes = (where(result, at.target_node, -1.0), at.last)
    return TreesGrown(at.trees, meeting_nodes, at.sample_index, done)


def _sample(metric: PathMetric, sampling: Sampling, sample_index: Any) -> list[Any]:
    """Return the sample with this index: a configuration about a straight motion, or anywhere in the box."""
    n = len(metric.turning)
    u = kronecker_point(sample_index, sampling.shift)
    which, chance, fraction = u[n:]
    shares = array([row[-1] for row in sampling.pairs])
    share = which * take(shares, sampling.num_pairs - 1.0)
    result = while_loop(
        lambda k: and_(lt(take(shares, k), share), lt(k, sampling.num_pairs - 1.0)),
        lambda k: k + 1.0,
        0.0,
        max_iterations=len(sampling.pairs),
    )
    row = [*take(sampling.pairs, result.state)]
    begin, along, length = row[:n], row[n : 2 * n], row[2 * n]
    widest = 0.5 * sqrt(fmax(sampling.best * sampling.best - length * length, 0.0))
    reach = fmin(length * sampling.width * (1.0 + (sample_index - sampling.first) / sampling.doubling), widest)
    sample = []
    for k in range(n):
        about = begin[k] + fraction * along[k] + reach / metric.weights[k] * (2.0 * u[k] - 1.0)
        anywhere = sampling.box[0][k] + u[k] * (sampling.box[1][k] - sampling.box[0][k])
        inside = fmin(fmax(about, sampling.limits[0][k]), sampling.limits[1][k])
        sample.append(where(lt(chance, sampling.anywhere), anywhere, inside))
    return sample


def _nearest(
    metric: PathMetric, nodes: Any, links: Any, total: Any, side: Any, target: Scalars, room: int
) -> tuple[Any, Any]:
    """Return the row of the node of a tree that is nearest to ``target``, and the squared distance.

    ``side`` is the index of the tree, ``total`` the number of rows in use, and ``room`` the number of all rows.
    """

    def look(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        k, best, least = state
        square = metric.square(metric.difference([*take(nodes, k)], target))
        side_of_node = take(links, k)[0]
        square = square + where(or_(lt(side_of_node, side - 0.5), lt(side + 0.5, side_of_node)), _INFINITE, 0.0)
        nearer = lt(square, least)
        return k + 1.0, where(nearer, k, best), where(nearer, square, least)

    run = while_loop(lambda s: lt(s[0], total), look, (0.0, 0.0, _INFINITE), max_iterations=room)
    _, best, least = run.state
    return best, least
