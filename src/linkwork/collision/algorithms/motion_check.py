"""Whether a straight segment of configurations is free of collisions: certified, or sampled.

Certified: at one configuration of the segment every pair has a distance d > 0, a normal n and a plane that separates
it.  How fast the two sides of the plane approach each other follows from the bodies' twists: the gap along n grows at a
rate of at least u, and its second derivative is at least −a (`motion_bounds`), so that it is open while

    d + u s − ½ a s² > 0,

and also as long as d − w s > 0, w being the bound on the speed.  The longer of the two spans holds, forward and
backward (with u of the reversed motion), and the least over the pairs is an interval that is proved to be free.
Intervals are put together until they cover the segment: the first about its middle, the next where a gap is left.

Large robots have the bounds of `path_bounds`, and loops over their pairs (`pair_loops`).

Cores are what is measured, so what rounds a shape turns with it for nothing: the radii only shorten d.  The spread of
n · (ω × r) over a core about its center is the core's support in the direction n × ω.

Sources: Mirtich, Impulse-based dynamic simulation of rigid body systems, 1996, chapter 2; Zhang, Redon, Lee and Kim,
Continuous collision detection for articulated models using Taylor models and temporal culling, 2007.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from linkwork.collision.algorithms.collision_check import PairMargins
from linkwork.collision.algorithms.displacement_bounds import MotionBound, length
from linkwork.collision.algorithms.pair_loops import BodyRows, are_many, over_many_pairs, over_own_pairs, over_scene
from linkwork.collision.algorithms.pairwise_distances import FAR
from linkwork.collision.algorithms.path_bounds import Bounded, PathSums, Summed, bound_between, shape_bounds
from linkwork.collision.algorithms.shape_placement import PlacedShape, placed_shapes
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond, take, while_loop
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, le, lt, sqrt, where
from linkwork.geometry.cores import BoxCore, Core, FieldCore, PointCore, SegmentCore
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.pairs import PAIRS, signed_distance_once
from linkwork.geometry.solids import SolidKind, SolidRow, anchor
from linkwork.geometry.support_points import support
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.forward_kinematics import forward_kinematics
from linkwork.kinematics.algorithms.relative_kinematics import fork
from linkwork.model.body import WORLD
from linkwork.model.collision_pairs import link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Vec3

__all__ = ["COLLIDING", "FREE", "UNDECIDED", "EdgeFound", "certified_edge", "sampled_edge"]

Scalars = Sequence[Any]
SceneRows = Mapping[SolidKind, Any]
Pairs = Sequence[tuple[int, int]]

FREE, COLLIDING, UNDECIDED = 0.0, 1.0, 2.0

_SLACK = 1e-9  # what distances may be off by [m]: far above rounding, and above what iterations leave
_LITTLE = 1e-12
_KEPT = 3  # intervals that are remembered beyond the first gap


class EdgeFound(NamedTuple):
    """What is known of a segment, numbers of any scalar."""

    status: Any  # FREE, COLLIDING or UNDECIDED
    t: Any  # where it is not free, or was looked at last
    q: list[Any]  # the configuration there
    clearance: Any  # the least distance of a pair where it was looked at [m]
    checks: Any  # how many configurations were looked at


class _Progress(NamedTuple):
    """Free up to ``done``, and in intervals beyond; what to look at next."""

    done: Any
    low: tuple[Any, ...]
    high: tuple[Any, ...]
    t: Any
    status: Any
    clearance: Any


def certified_edge(
    tree: Tree,
    q0: Scalars,
    q1: Scalars,
    pairs: Pairs,
    shapes: Sequence[int],
    scene: SceneRows,
    margin: Any = 0.0,
    tolerance: Any = 1e-4,
    *,
    max_iterations: int = 1000,
    margins: PairMargins | None = None,
) -> EdgeFound:
    """Whether all distances are above ``margin`` [m] on the whole segment from q0 to q1 (nq each).

    COLLIDING, at t: some distance is no larger than the margin there.  UNDECIDED: it is larger by no more than
    ``tolerance`` [m], or ``max_iterations`` configurations did not suffice.  ``margins`` of pairs are added to the one
    of all: the clearance is that beyond them.
    """
    phi = difference(tree, q0, q1)
    middle = _along(tree, q0, phi, 0.5)
    gaps = _Gaps(tree, pairs, shapes, scene, margin, phi, shape_bounds(tree, middle, phi, pairs), margins=margins)

    def step(at: _Progress) -> _Progress:
        distance, back, forth = gaps.at(_along(tree, q0, phi, at.t), at.t - at.done, 1.0 - at.t)
        status = where(le(distance, margin), COLLIDING, where(le(distance, margin + tolerance), UNDECIDED, FREE))
        result = _joined(at, at.t - back, at.t + forth)
        hint = where(lt(at.done, result.done), forth, back)
        gap = result.low[0] - result.done
        t = result.done + fmin(fmax(0.9 * hint, 0.125 * gap), 0.5 * gap)
        t = where(lt(FREE, status), at.t, t)
        return _Progress(result.done, result.low, result.high, t, status, fmin(at.clearance, distance))

    ends = (1.0,) * _KEPT
    start = _Progress(0.0, ends, ends, 0.5, FREE, FAR)
    run = while_loop(lambda at: and_(lt(at.done, 1.0), le(at.status, FREE)), step, start, max_iterations=max_iterations)
    last = run.state
    status = where(and_(lt(last.done, 1.0), le(last.status, FREE)), UNDECIDED, last.status)
    return EdgeFound(status, last.t, _along(tree, q0, phi, last.t), last.clearance, run.iterations)


def sampled_edge(
    tree: Tree,
    q0: Scalars,
    q1: Scalars,
    pairs: Pairs,
    shapes: Sequence[int],
    scene: SceneRows,
    margin: Any = 0.0,
    resolution: Any = 0.05,
    *,
    max_iterations: int = 100_000,
    margins: PairMargins | None = None,
) -> EdgeFound:
    """Whether all distances are above ``margin`` [m] at configurations ``resolution`` apart, both ends included.

    The resolution is of √Σ φ², φ = q1 ⊖ q0 [rad, m].  FREE says nothing of what lies between.
    """
    phi = difference(tree, q0, q1)
    square: Any = 0.0
    for x in phi:
        square = square + x * x
    count = fmax(-floor(-sqrt(square) / resolution), 1.0)
    gaps = _Gaps(tree, pairs, shapes, scene, margin, margins=margins)

    def step(at: tuple[Any, ...]) -> tuple[Any, ...]:
        k, _, least, _ = at
        t = fmin(k / count, 1.0)
        distance, _, _ = gaps.at(_along(tree, q0, phi, t), 0.0, 0.0)
        return k + 1.0, t, fmin(least, distance), where(le(distance, margin), COLLIDING, FREE)

    start = (0.0, 0.0, FAR, FREE)
    run = while_loop(lambda at: and_(le(at[0], count), le(at[3], FREE)), step, start, max_iterations=max_iterations)
    k, t, least, status = run.state
    status = where(and_(le(k, count), le(status, FREE)), UNDECIDED, status)
    return EdgeFound(status, t, _along(tree, q0, phi, t), least, run.iterations)


def _along(tree: Tree, q0: Scalars, phi: Scalars, t: Any) -> list[Any]:
    """The configuration at t."""
    return integrate(tree, q0, [t * x for x in phi])


def _joined(at: _Progress, low: Any, high: Any) -> _Progress:
    """With one more interval that is free: it goes on from what is done, or is kept before the others."""
    reached = le(low, at.done)
    done = where(reached, fmax(at.done, high), at.done)
    lows = tuple(where(reached, old, new) for old, new in zip(at.low, (low, *at.low), strict=False))
    highs = tuple(where(reached, old, new) for old, new in zip(at.high, (high, *at.high), strict=False))
    for _ in range(_KEPT):
        met = le(lows[0], done)
        done = where(met, fmax(done, highs[0]), done)
        lows = tuple(where(met, new, old) for old, new in zip(lows, (*lows[1:], 1.0), strict=True))
        highs = tuple(where(met, new, old) for old, new in zip(highs, (*highs[1:], 1.0), strict=True))
    return at._replace(done=done, low=lows, high=highs)


class _Gaps:
    """Distances of all pairs, and how long each stays open."""

    def __init__(
        self,
        tree: Tree,
        pairs: Pairs,
        shapes: Sequence[int],
        scene: SceneRows,
        margin: Any,
        phi: Scalars | None = None,
        moving: Bounded | Summed | None = None,
        *,
        margins: PairMargins | None = None,
    ) -> None:
        self.margins = margins
        self.tree, self.pairs, self.shapes, self.scene = tree, pairs, shapes, scene
        self.margin, self.phi, self.moving = margin, phi, moving

    def at(self, q: Scalars, back: Any, forth: Any) -> tuple[Any, Any, Any]:
        """The least distance at q, and how far back and forth all are known to stay above the margin, no farther than
        is asked.  Where one is not above it, no more are measured.
        """
        X = [*forward_kinematics(self.tree, q), Pose.identity()]  # the world's comes last: its index is −1
        placed = placed_shapes(self.tree, q, X[:-1])
        centers = [anchor(one.row.solid.core) for one in placed]
        hands_first = [placed[k] for k in reversed(self.shapes)]
        own = None
        if self.margins is not None:
            own = {kind: table[:, ::-1] for kind, table in self.margins.scene.items()}
        start = FAR, back, forth
        if self.moving is None and are_many(self.pairs):
            at_rest: dict[int, list[Any]] = {k: [] for k in self.shapes}
            state, _, _ = over_scene(self._step, start, hands_first, self.scene, at_rest, each=own, near=self._near)
            return self._over_many(state, placed)
        if isinstance(self.moving, Summed):
            rows, to_world = self._rows(q, X, centers, placed, self.moving)
            state, _, _ = over_scene(self._step, start, hands_first, self.scene, to_world, each=own, near=self._near)
            return self._over_many(state, placed, rows)
        of_shape, of_pair = self._motions(q, X, centers)
        if self.margins is not None:
            of_pair = [[*numbers, x] for numbers, x in zip(of_pair, self.margins.own, strict=True)]
        state, _, _ = over_scene(self._step, start, hands_first, self.scene, of_shape, each=own, near=self._near)
        state, _ = over_own_pairs(self._step, state, placed, self.pairs, of_pair)
        return state  # type: ignore[no-any-return]

    def _over_many(
        self, state: Any, placed: Sequence[PlacedShape], rows: BodyRows | None = None
    ) -> tuple[Any, Any, Any]:
        """The state after own pairs that are too many to be written out: a pair's margin is looked up by its place."""
        table = None if self.margins is None else array([*self.margins.own])

        def with_margin(motion: Scalars, place: Any) -> Scalars:
            return motion if table is None else [*motion, take(table, place)]

        def step(state: Any, a: SolidRow, b: SolidRow, place: Any, motion: Scalars = ()) -> tuple[Any, list[Any]]:
            return self._step(state, a, b, place, with_margin(motion, place))

        def near(state: Any, a: SolidRow, b: SolidRow, place: Any, motion: Scalars = ()) -> Any:
            return self._near(state, a, b, with_margin(motion, place))

        return over_many_pairs(step, near, state, placed, self.pairs, rows)  # type: ignore[no-any-return]

    def _step(
        self, state: tuple[Any, ...], a: SolidRow, b: SolidRow, place: Any, motion: Scalars = ()
    ) -> tuple[Any, list[Any]]:
        """``motion``: bounds of speed and acceleration, then v and ω of A, and of B where it moves; and the pair's own
        margin where pairs have such: distances are those beyond it.
        """
        least, back, forth = state
        motion, own = self._own(motion)
        speed, acceleration = motion[:2] if motion else (0.0, 0.0)
        less = self.margin + _SLACK

        def measured() -> tuple[Any, ...]:
            result = signed_distance_once(a.solid, b.solid)
            distance = result.distance if own is None else result.distance - own
            if not motion:
                return fmin(least, distance), back, forth
            if any(isinstance(row.solid.core, FieldCore) for row in (a, b)):  # which no plane separates
                always = fmax(distance - less, _LITTLE) / (speed + _LITTLE)
                return fmin(least, distance), fmin(back, always), fmin(forth, always)
            n = result.normal
            away, spread = _parting(n, a, motion[2:8])
            if len(motion) > 8:
                ahead, more = _parting(n, b, motion[8:14])
                away, spread = away - ahead, spread + more
            opened = _opened(a, b, result) if own is None else _opened(a, b, result) - own
            d = fmax(opened - less, _LITTLE)
            always = d / (speed + _LITTLE)
            return (
                fmin(least, distance),
                fmin(back, fmax(always, _span(d, away - spread, acceleration))),
                fmin(forth, fmax(always, _span(d, -away - spread, acceleration))),
            )

        return cond(self._is_near(state, a, b, motion, own), measured, lambda: state), []

    def _own(self, motion: Scalars) -> tuple[Scalars, Any]:
        """What is known of a pair's motion, and its own margin, if it has one."""
        return (motion, None) if self.margins is None else (motion[:-1], motion[-1])

    def _near(self, state: tuple[Any, ...], a: SolidRow, b: SolidRow, motion: Scalars = ()) -> Any:
        return self._is_near(state, a, b, *self._own(motion))

    def _is_near(self, state: tuple[Any, ...], a: SolidRow, b: SolidRow, motion: Scalars, own: Any) -> Any:
        """Whether a pair may be nearer than all so far, or not stay open as long."""
        least, back, forth = state
        speed = motion[0] if motion else 0.0
        between = b.anchor - a.anchor
        reach = a.reach + b.reach if own is None else a.reach + b.reach + own
        far = reach + fmax(least, self.margin + _SLACK + speed * fmax(back, forth))
        near = and_(lt(self.margin, least), le(between.dot(between), far * far))
        return near if isinstance(b.there, float) else and_(lt(0.0, b.there), near)

    def _motions(
        self, q: Scalars, X: Sequence[Pose], centers: Sequence[Vec3]
    ) -> tuple[dict[int, list[Any]], list[list[Any]]]:
        """By shape that meets the scene, and by own pair: what a step wants to know of motions."""
        if self.phi is None or self.moving is None:
            return {k: [] for k in self.shapes}, [[] for _ in self.pairs]
        assert isinstance(self.moving, Bounded)
        bounds = self.moving
        V, on = _twists(self.tree, q, self.phi, X), link_shapes(self.tree)

        def seen(k: int, shared: int) -> list[Any]:
            """(v of the center; ω) relative to a body that carries the shape, in the world's axes."""
            body = on[k].body
            if body == shared:
                return [0.0] * 6
            v, w = _at(V[body], X[body], centers[k]), V[body].angular
            if shared != WORLD:
                v, w = v - _at(V[shared], X[shared], centers[k]), w - V[shared].angular
            return [*v, *w]

        of_pair = []
        for i, j in self.pairs:
            shared = fork(self.tree, on[i].body, on[j].body)[0]
            bound = bounds.of(i, shared) + bounds.of(j, shared)
            of_pair.append([bound.speed, bound.acceleration, *seen(i, shared), *seen(j, shared)])
        of_shape = {}
        for k in self.shapes:
            bound = bounds.of(k, WORLD)
            of_shape[k] = [bound.speed, bound.acceleration, *seen(k, WORLD)]
        return of_shape, of_pair

    def _rows(
        self, q: Scalars, X: Sequence[Pose], centers: Sequence[Vec3], placed: Sequence[PlacedShape], moving: Summed
    ) -> tuple[BodyRows, dict[int, list[Any]]]:
        """Of large robots: what pairs' motions are made of, and by shape that meets the scene its motion."""
        assert self.phi is not None
        V = _twists(self.tree, q, self.phi, X)
        of_shape = [
            [
                moving.reaches[k],
                *moving.sums[one.body],
                *centers[k],
                *_at(V[one.body], X[one.body], centers[k]),
                *V[one.body].angular,
            ]
            for k, one in enumerate(placed)
        ]
        of_body = [
            [*sums, *_at(twist, pose, Vec3.zero()), *twist.angular]
            for sums, twist, pose in zip(moving.sums, V, X, strict=True)
        ]
        to_world = {}
        for k in self.shapes:
            bound = moving.to_world(k, placed[k].body)
            to_world[k] = [bound.speed, bound.acceleration, *of_shape[k][-6:]]
        return BodyRows(self.tree, of_shape, of_body, _motion_between), to_world


def _motion_between(one: Scalars, other: Scalars, shared: Scalars) -> list[Any]:
    """What a step wants to know of the motions of two shapes, relative to the last body that carries both."""
    many = len(PathSums._fields)
    sums, origin, w = shared[:many], Vec3.of(shared[many : many + 3]), Vec3.of(shared[many + 3 :])
    bound, motions = MotionBound(0.0, 0.0), []
    for reach, *numbers in (one, other):
        center, v, turning = (Vec3.of(numbers[at : at + 3]) for at in range(many, many + 9, 3))
        bound = bound + bound_between(reach, numbers[:many], sums)
        motions += [*(v - origin - w.cross(center)), *(turning - w)]
    return [bound.speed, bound.acceleration, *motions]


def _opened(a: SolidRow, b: SolidRow, result: SignedDistance) -> Any:
    """How far apart the planes across the normal are that touch two solids: the distance, and where that was searched
    for no more than what its normal proves.
    """
    kinds = type(a.solid.core), type(b.solid.core)
    if kinds in PAIRS or kinds[::-1] in PAIRS:
        return result.distance
    n = result.normal
    between = n.dot(support(b.solid.core, -n) - support(a.solid.core, n))
    return fmin(result.distance, between - a.solid.radius - b.solid.radius)


def _span(d: Any, u: Any, a: Any) -> Any:
    """The s > 0 at which d + u s − ½ a s² is zero."""
    a = a + _LITTLE
    q = fabs(u) + sqrt(u * u + 2.0 * a * d)
    up = lt(0.0, u)
    return where(up, q, 2.0 * d) / where(up, a, q)


def _parting(n: Vec3, row: SolidRow, motion: Scalars) -> tuple[Any, Any]:
    """n · v of a core's center, and by how much it is more, or less, at its other points."""
    core, w = row.solid.core, n.cross(Vec3.of(motion[3:6]))
    return n.dot(Vec3.of(motion[:3])), _spread(core, w, row.reach - row.solid.radius)


def _spread(core: Core, w: Vec3, reach: Any) -> Any:
    """The largest |w · r| over points of a core, r from its center."""
    if isinstance(core, PointCore):
        return 0.0
    if isinstance(core, SegmentCore):
        return fabs(core.half.dot(w))
    if isinstance(core, BoxCore):
        local = core.pose.rotation.inv_act(w)
        return fabs(local.x) * core.half.x + fabs(local.y) * core.half.y + fabs(local.z) * core.half.z
    return length(w) * reach


def _twists(tree: Tree, q: Scalars, phi: Scalars, X: Sequence[Pose]) -> list[Motion]:
    """Of all bodies at velocity φ: (ω; the velocity of the body's origin), in the world's axes; the world's last."""
    of_q, of_phi = tree.split_q(q), tree.split_v(phi)
    V = {WORLD: Motion.zero()}
    for i, p, body in tree.outward():
        own: Motion = body.S(of_q[i]) @ of_phi[i]
        R = X[i].rotation
        V[i] = Motion(V[p].angular + R @ own.angular, _at(V[p], X[p], X[i].translation) + R @ own.linear)
    return [*(V[i] for i, _, _ in tree.outward()), V[WORLD]]


def _at(V: Motion, X: Pose, point: Vec3) -> Vec3:
    """The velocity of a point of a body."""
    v: Vec3 = V.linear + V.angular.cross(point - X.translation)
    return v
