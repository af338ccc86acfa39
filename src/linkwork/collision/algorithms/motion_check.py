"""Continuous collision detection of a straight segment of configurations: certified, or sampled.

Certified: at one configuration of the segment every pair has a distance d > 0, a normal n and a separating plane.  The
bodies' twists bound how fast the two sides of the plane approach each other.  The gap along n grows at a rate of at
least u, and its second derivative is at least −a (`motion_bounds`), so the gap stays open while

    d + u s − ½ a s² > 0.

It also stays open while d − w s > 0, where w bounds the speed.  The longer of the two spans counts, forward and
backward (with u of the reversed motion).  The minimum over the pairs is an interval that is proved collision-free.
Intervals are combined until they cover the segment; the first is about its midpoint, the next at a remaining gap.

Large robots use the bounds of `path_bounds` and loops over their pairs (`pair_loops`).

Motion is bounded for cores; a shape's rounding radius only shortens d and needs no bound of its own.  The spread of
n · (ω × r) over a core about its center is the core's support in the direction n × ω.

Sources: Mirtich, Impulse-based dynamic simulation of rigid body systems, 1996, chapter 2; Zhang, Redon, Lee and Kim,
Continuous collision detection for articulated models using Taylor models and temporal culling, 2007.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from linkwork.collision.algorithms.collision_check import PairMargins
from linkwork.collision.algorithms.displacement_bounds import length
from linkwork.collision.algorithms.pair_loops import BodyRows, are_many, over_many_pairs, over_own_pairs, over_scene
from linkwork.collision.algorithms.pairwise_distances import FAR
from linkwork.collision.algorithms.path_bounds import (
    Bounded,
    Summed,
    body_twists,
    motion_between,
    point_velocity,
    shape_bounds,
)
from linkwork.collision.algorithms.shape_placement import PlacedShape, placed_shapes
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond, take, while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, le, lt, sqrt, where
from linkwork.geometry.cores import BoxCore, Core, FieldCore, PointCore, SegmentCore, SignedDistance, slope_between
from linkwork.geometry.pairs import separation_once, signed_distance_once
from linkwork.geometry.pairs.collision_query import with_planes_once
from linkwork.geometry.pairs.pair_dispatch import is_closed_form
from linkwork.geometry.solids import SolidKind, SolidRow, anchor
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.forward_kinematics import fork, forward_kinematics
from linkwork.model.body import WORLD
from linkwork.model.collision_pairs import link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Pose, Vec3

__all__ = ["COLLIDING", "FREE", "UNDECIDED", "EdgeResult", "certified_edge", "sampled_edge"]

Scalars = Sequence[Any]
SceneRows = Mapping[SolidKind, Any]
Pairs = Sequence[tuple[int, int]]

FREE, COLLIDING, UNDECIDED = 0.0, 1.0, 2.0

_SLACK = by_type(1e-9)  # [m] bound on the error of distances: above rounding and the residuals of iterations
_TINY = 1e-12  # avoids divisions by zero
_MAX_INTERVALS = 3  # stored beyond the first gap


class EdgeResult(NamedTuple):
    """Result of a segment's collision check, of any scalar."""

    status: Any  # FREE, COLLIDING or UNDECIDED
    t: Any  # path parameter that is not free, or was checked last
    q: list[Any]  # the configuration at t
    clearance: Any  # minimum distance of a pair at the checked configurations [m]
    checks: Any  # number of checked configurations


class _Progress(NamedTuple):
    """State of a certified check's loop: the parts of the segment that are proved collision-free, and the next t.

    The proved parts are 0 ≤ t ≤ ``done``, and the intervals (low, high) beyond ``done``.
    """

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
    depths: bool = True,
) -> EdgeResult:
    """Certify that all distances exceed ``margin`` [m] on the whole segment from q0 to q1 (nq each).

    The status is COLLIDING if some distance at t is at most the margin.  It is UNDECIDED if that distance exceeds the
    margin by at most ``tolerance`` [m], or if ``max_iterations`` configurations did not suffice.  ``margins`` of single
    pairs are added to the common margin; the clearance is the distance minus a pair's entry of ``margins``.  Without
    ``depths``, margins are not negative, and the clearance of polytopes that overlap is 0, which takes less code.
    """
    phi = difference(tree, q0, q1)
    middle = _configuration(tree, q0, phi, 0.5)
    moving = shape_bounds(tree, middle, phi, pairs)
    gaps = _Gaps(tree, pairs, shapes, scene, margin, phi, moving, margins=margins, depths=depths)

    def step(at: _Progress) -> _Progress:
        distance, back, forth = gaps.at(_configuration(tree, q0, phi, at.t), at.t - at.done, 1.0 - at.t)
        status = where(le(distance, margin), COLLIDING, where(le(distance, margin + tolerance), UNDECIDED, FREE))
        result = _joined(at, at.t - back, at.t + forth)
        hint = where(lt(at.done, result.done), forth, back)
        gap = result.low[0] - result.done
        t = result.done + fmin(fmax(0.9 * hint, 0.125 * gap), 0.5 * gap)
        t = where(lt(FREE, status), at.t, t)
        return _Progress(result.done, result.low, result.high, t, status, fmin(at.clearance, distance))

    ends = (1.0,) * _MAX_INTERVALS
    start = _Progress(0.0, ends, ends, 0.5, FREE, FAR)
    run = while_loop(lambda at: and_(lt(at.done, 1.0), le(at.status, FREE)), step, start, max_iterations=max_iterations)
    last = run.state
    status = where(and_(lt(last.done, 1.0), le(last.status, FREE)), UNDECIDED, last.status)
    return EdgeResult(status, last.t, _configuration(tree, q0, phi, last.t), last.clearance, run.iterations)


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
    depths: bool = True,
) -> EdgeResult:
    """Check that all distances exceed ``margin`` [m] at configurations ``resolution`` apart, including both ends.

    The resolution is measured by √Σ φ², φ = q1 ⊖ q0 [rad, m].  Configurations between the samples are not checked.
    ``margins`` and ``depths`` are as in `certified_edge`.
    """
    phi = difference(tree, q0, q1)
    square: Any = 0.0
    for x in phi:
        square = square + x * x
    count = fmax(-floor(-sqrt(square) / resolution), 1.0)
    gaps = _Gaps(tree, pairs, shapes, scene, margin, margins=margins, depths=depths)

    def step(at: tuple[Any, ...]) -> tuple[Any, ...]:
        k, _, least, _ = at
        t = fmin(k / count, 1.0)
        distance, _, _ = gaps.at(_configuration(tree, q0, phi, t), 0.0, 0.0)
        return k + 1.0, t, fmin(least, distance), where(le(distance, margin), COLLIDING, FREE)

    start = (0.0, 0.0, FAR, FREE)
    run = while_loop(lambda at: and_(le(at[0], count), le(at[3], FREE)), step, start, max_iterations=max_iterations)
    k, t, least, status = run.state
    status = where(and_(le(k, count), le(status, FREE)), UNDECIDED, status)
    return EdgeResult(status, t, _configuration(tree, q0, phi, t), least, run.iterations)


def _configuration(tree: Tree, q0: Scalars, phi: Scalars, t: Any) -> list[Any]:
    """Return the configuration q0 ⊕ t φ (nq)."""
    return integrate(tree, q0, [t * x for x in phi])


def _joined(at: _Progress, low: Any, high: Any) -> _Progress:
    """Return the progress after a further interval (low, high) of the segment is proved free.

    If it reaches the part up to ``done``, this part grows; otherwise the interval is stored for later.
    """
    reached = le(low, at.done)
    done = where(reached, fmax(at.done, high), at.done)
    lows = tuple(where(reached, old, new) for old, new in zip(at.low, (low, *at.low), strict=False))
    highs = tuple(where(reached, old, new) for old, new in zip(at.high, (high, *at.high), strict=False))
    for _ in range(_MAX_INTERVALS):
        met = le(lows[0], done)
        done = where(met, fmax(done, highs[0]), done)
        lows = tuple(where(met, new, old) for old, new in zip(lows, (*lows[1:], 1.0), strict=True))
        highs = tuple(where(met, new, old) for old, new in zip(highs, (*highs[1:], 1.0), strict=True))
    return at._replace(done=done, low=lows, high=highs)


class _Gaps:
    """Minimum distance at a configuration, and the spans of t over which all pairs provably exceed the margin."""

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
        depths: bool = True,
    ) -> None:
        self.margins, self.depths = margins, depths
        self.tree, self.pairs, self.shapes, self.scene = tree, pairs, shapes, scene
        self.margin, self.phi, self.moving = margin, phi, moving

    def at(self, q: Scalars, back: Any, forth: Any) -> tuple[Any, Any, Any]:
        """Return the minimum distance at q, and how far backward and forward in t all pairs stay above the margin.

        The spans are at most ``back`` and ``forth``.  Evaluation stops at the first pair that is not above the margin.
        """
        X = [*forward_kinematics(self.tree, q), Pose.identity()]  # the world's comes last: its index is −1
        placed = placed_shapes(self.tree, q, X[:-1], hull_tables=True)
        centers = [anchor(shape.row.solid.core) for shape in placed]
        distal_first = [placed[k] for k in reversed(self.shapes)]
        each = None
        if self.margins is not None:
            each = {kind: table[:, ::-1] for kind, table in self.margins.scene.items()}
        start = FAR, back, forth
        if self.moving is None and are_many(self.pairs):
            no_motion: dict[int, list[Any]] = {k: [] for k in self.shapes}
            state, _, _ = over_scene(self._step, start, distal_first, self.scene, no_motion, each=each, near=self._near)
            return self._over_many(state, placed)
        if isinstance(self.moving, Summed):
            rows, to_world = self._rows(q, X, centers, placed, self.moving)
            state, _, _ = over_scene(self._step, start, distal_first, self.scene, to_world, each=each, near=self._near)
            return self._over_many(state, placed, rows)
        of_shape, of_pair = self._motions(q, X, centers)
        if self.margins is not None:
            of_pair = [[*values, x] for values, x in zip(of_pair, self.margins.self_pairs, strict=True)]
        state, _, _ = over_scene(self._step, start, distal_first, self.scene, of_shape, each=each, near=self._near)
        state, _ = over_own_pairs(self._step, state, placed, self.pairs, of_pair)
        return state  # type: ignore[no-any-return]

    def _over_many(
        self, state: Any, placed: Sequence[PlacedShape], rows: BodyRows | None = None
    ) -> tuple[Any, Any, Any]:
        """Return the state after a step for each of the robot's own pairs, in loops.

        The pairs are too many to be unrolled.
        """
        table = None if self.margins is None else array([*self.margins.self_pairs])

        def with_margin(motion: Scalars, index: Any) -> Scalars:
            return motion if table is None else [*motion, take(table, index)]

        def step(state: Any, a: SolidRow, b: SolidRow, index: Any, motion: Scalars = ()) -> tuple[Any, list[Any]]:
            return self._step(state, a, b, index, with_margin(motion, index))

        def near(state: Any, a: SolidRow, b: SolidRow, index: Any, motion: Scalars = ()) -> Any:
            return self._near(state, a, b, with_margin(motion, index))

        return over_many_pairs(step, near, state, placed, self.pairs, rows)  # type: ignore[no-any-return]

    def _step(
        self, state: tuple[Any, ...], a: SolidRow, b: SolidRow, index: Any, motion: Scalars = ()
    ) -> tuple[Any, list[Any]]:
        """Update (minimum distance, backward span, forward span) with one pair.

        ``motion`` has the bounds of speed and acceleration, then v and ω of A, and of B if it moves.  With margins of
        single pairs, the pair's margin comes last and is subtracted from the distance.
        """
        least, back, forth = state
        motion, margin = self._split_margin(motion)
        speed, acceleration = motion[:2] if motion else (0.0, 0.0)
        less = self.margin + _SLACK

        def measured() -> tuple[Any, ...]:
            result, gap = self._distance_and_gap(a, b, planes=bool(motion))
            distance = result.distance if margin is None else result.distance - margin
            if not motion:
                return fmin(least, distance), back, forth
            if any(isinstance(row.solid.core, FieldCore) for row in (a, b)):  # no plane separates a field
                always = fmax(distance - less, _TINY) / (speed * slope_between(a.solid.core, b.solid.core) + _TINY)
                return fmin(least, distance), fmin(back, always), fmin(forth, always)
            n = result.normal
            closing, spread = _normal_velocity(n, a, motion[2:8])
            if len(motion) > 8:
                opening, more = _normal_velocity(n, b, motion[8:14])
                closing, spread = closing - opening, spread + more
            d = fmax((gap if margin is None else gap - margin) - less, _TINY)
            always = d / (speed + _TINY)
            return (
                fmin(least, distance),
                fmin(back, fmax(always, _span(d, closing - spread, acceleration))),
                fmin(forth, fmax(always, _span(d, -closing - spread, acceleration))),
            )

        return cond(self._is_near(state, a, b, motion, margin), measured, lambda: state), []

    def _distance_and_gap(self, a: SolidRow, b: SolidRow, *, planes: bool) -> tuple[SignedDistance, Any]:
        """Return the signed distance and, with ``planes``, the gap between the supporting planes normal to n [m].

        The gap is the distance, or a lower bound on it.
        """
        kinds = type(a.solid.core), type(b.solid.core)
        if not planes or FieldCore in kinds or is_closed_form(*kinds):
            result = (signed_distance_once if self.depths else separation_once)(a.solid, b.solid)
            return result, result.distance
        result, between = with_planes_once(a.solid, b.solid, depths=self.depths)
        return result, fmin(result.distance, between - a.solid.radius - b.solid.radius)

    def _split_margin(self, motion: Scalars) -> tuple[Scalars, Any]:
        """Split the inputs of a pair into its motion and its margin; the margin is None if pairs have none."""
        return (motion, None) if self.margins is None else (motion[:-1], motion[-1])

    def _near(self, state: tuple[Any, ...], a: SolidRow, b: SolidRow, motion: Scalars = ()) -> Any:
        return self._is_near(state, a, b, *self._split_margin(motion))

    def _is_near(self, state: tuple[Any, ...], a: SolidRow, b: SolidRow, motion: Scalars, margin: Any) -> Any:
        """Return True if a pair may have a smaller distance or shorter spans than the state."""
        least, back, forth = state
        speed = motion[0] * slope_between(a.solid.core, b.solid.core) if motion else 0.0
        between = b.anchor - a.anchor
        reach = a.reach + b.reach if margin is None else a.reach + b.reach + margin
        far = reach + fmax(least, self.margin + _SLACK + speed * fmax(back, forth))
        near = and_(lt(self.margin, least), le(between.dot(between), far * far))
        return near if isinstance(b.exists, float) else and_(lt(0.0, b.exists), near)

    def _motions(
        self, q: Scalars, X: Sequence[Pose], centers: Sequence[Vec3]
    ) -> tuple[dict[int, list[Any]], list[list[Any]]]:
        """Return the motion values of each shape relative to the scene, and of each of the robot's own pairs.

        They are the bounds of speed and acceleration, then v and ω, as `_step` takes them.
        """
        if self.phi is None or self.moving is None:
            return {k: [] for k in self.shapes}, [[] for _ in self.pairs]
        assert isinstance(self.moving, Bounded)
        bounds = self.moving
        V, on = body_twists(self.tree, q, self.phi, X), link_shapes(self.tree)

        def relative(k: int, shared: int) -> list[Any]:
            """Return (v of the center; ω) relative to a body that carries the shape, in the world's axes."""
            body = on[k].body
            if body == shared:
                return [0.0] * 6
            v, w = point_velocity(V[body], X[body], centers[k]), V[body].angular
            if shared != WORLD:
                v, w = v - point_velocity(V[shared], X[shared], centers[k]), w - V[shared].angular
            return [*v, *w]

        of_pair = []
        for i, j in self.pairs:
            shared = fork(self.tree, on[i].body, on[j].body)[0]
            bound = bounds.of(i, shared) + bounds.of(j, shared)
            of_pair.append([bound.speed, bound.acceleration, *relative(i, shared), *relative(j, shared)])
        of_shape = {}
        for k in self.shapes:
            bound = bounds.of(k, WORLD)
            of_shape[k] = [bound.speed, bound.acceleration, *relative(k, WORLD)]
        return of_shape, of_pair

    def _rows(
        self, q: Scalars, X: Sequence[Pose], centers: Sequence[Vec3], placed: Sequence[PlacedShape], moving: Summed
    ) -> tuple[BodyRows, dict[int, list[Any]]]:
        """Return the table rows from which loops compute the motion of pairs, and each shape's own motion values.

        The motion values of shapes are relative to the scene.
        """
        assert self.phi is not None
        V = body_twists(self.tree, q, self.phi, X)
        of_shape = [
            [
                moving.reaches[k],
                *moving.sums[shape.body],
                *centers[k],
                *point_velocity(V[shape.body], X[shape.body], centers[k]),
                *V[shape.body].angular,
            ]
            for k, shape in enumerate(placed)
        ]
        of_body = [
            [*sums, *point_velocity(twist, pose, Vec3.zero()), *twist.angular]
            for sums, twist, pose in zip(moving.sums, V, X, strict=True)
        ]
        to_world = {}
        for k in self.shapes:
            bound = moving.to_world(k, placed[k].body)
            to_world[k] = [bound.speed, bound.acceleration, *of_shape[k][-6:]]
        return BodyRows(self.tree, of_shape, of_body, motion_between), to_world


def _span(d: Any, u: Any, a: Any) -> Any:
    """Return the time s > 0 at which the gap d + u s − ½ a s² is zero."""
    a = a + _TINY
    q = fabs(u) + sqrt(u * u + 2.0 * a * d)
    up = lt(0.0, u)
    return where(up, q, 2.0 * d) / where(up, a, q)


def _normal_velocity(n: Vec3, row: SolidRow, motion: Scalars) -> tuple[Any, Any]:
    """Return n · v at the center of a shape's core, and the maximum deviation from it at other points of the core."""
    core, w = row.solid.core, n.cross(Vec3.of(motion[3:6]))
    return n.dot(Vec3.of(motion[:3])), _spread(core, w, row.reach - row.solid.radius)


def _spread(core: Core, w: Vec3, reach: Any) -> Any:
    """Return the maximum |w · r| over points of a core, r relative to its center."""
    if isinstance(core, PointCore):
        return 0.0
    if isinstance(core, SegmentCore):
        return fabs(core.half.dot(w))
    if isinstance(core, BoxCore):
        local = core.pose.rotation.inv_act(w)
        return fabs(local.x) * core.half.x + fabs(local.y) * core.half.y + fabs(local.z) * core.half.z
    return length(w) * reach
