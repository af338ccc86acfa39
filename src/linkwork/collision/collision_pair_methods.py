"""Methods of `Robot` for collision pairs: which pairs of links are checked, and which can never or always touch.

Pairs are classified by sampling, and by proof where that is possible.  A pair is proved never to touch with bodies
that contain its shapes (`separation_proof`), or else with the shapes themselves, where few joints are between its
links; so is a pair that always touches.  Such a proof splits the ranges of the joints between two links into boxes.
In a box about a configuration, distances change by no more than Σ_i ρ_i h_i: h_i is half of the range of joint i, and
ρ_i the farthest that any point that it carries can be from its axis, or 1 where it slides.  A box whose distance is
above that is proved free, one below minus that proved to touch; others are split.  Only depths with closed forms
prove that a pair always touches: one that is searched for may be larger than the true depth.

Source: Schwarzer, Saha and Latombe, Adaptive dynamic collision checking for single and multiple articulated robots in
complex environments, 2005 (how far points move).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from linkwork._util.progress import Progress, Reporter
from linkwork._util.result import Made
from linkwork._util.validation import integer
from linkwork.collision.methods import DistanceMethods
from linkwork.collision.result import RobotDistances
from linkwork.collision.separation_proof import in_two, is_simple, never_touch
from linkwork.formats.srdf import parse_srdf, srdf_text
from linkwork.geometry.fields import FIELDS
from linkwork.geometry.pairs.pair_dispatch import is_closed_form
from linkwork.geometry.solids import SOLIDS, anchor, reach_of, solid
from linkwork.kernels.robot_base import edits
from linkwork.kinematics.algorithms.relative_kinematics import fork
from linkwork.model.body import DisabledPair
from linkwork.model.collision_pairs import (
    LinkShape,
    adjacent,
    collision_pairs,
    link_shapes,
    pairs_of_links,
    with_attached,
    with_collisions,
    with_pairs,
    without_attached,
)
from linkwork.model.coupled_joints import bounds
from linkwork.model.tree import Tree
from linkwork.shapes import Geometry, Shape
from linkwork.spatial import Pose

__all__ = ["CollisionMethods"]


class CollisionMethods(DistanceMethods):
    """Which pairs of links are looked at for distances, collision shapes, and objects that are attached."""

    __slots__ = ()

    @property
    def collision_shapes(self) -> tuple[str, ...]:
        """The names of all collision shapes: the link's, or "link/name" where it has several."""
        return tuple(shape.name for shape in link_shapes(self._tree))

    @property
    def collision_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of links that `distances` looks at: not those that are disabled, nor those that a joint connects,
        unless they are enabled.
        """
        return collision_pairs(self._tree)

    @edits
    def with_collision_pairs(self, pairs: CollisionPairs | Iterable[tuple[str, str]]) -> Self:
        """The robot of which these pairs of links are looked at, and no others; what `find_collision_pairs` found says
        why the others are not.

        Raises UnknownNameError for what is no link with a collision shape, ValueError for a link with itself and for
        links on one body.
        """
        if isinstance(pairs, CollisionPairs):
            links = set(self.collision_shapes) | {shape.link for shape in link_shapes(self._tree)}
            kept = [pair for pair in pairs.disabled if pair.reason != "Adjacent" and {pair.a, pair.b} <= links]
            tree = with_pairs(self._tree, pairs.pairs)
            return type(self)(replace(tree, disabled_collisions=tuple(kept)))
        given = list(pairs)
        for pair in given:
            if isinstance(pair, str) or not isinstance(pair, (tuple, list)) or len(pair) != 2:
                example = [tuple(dict.fromkeys(shape.link for shape in link_shapes(self._tree)))[:2]]
                raise ValueError(f"with_collision_pairs: expected pairs, as in {example!r}, got {pair!r}")
        return type(self)(with_pairs(self._tree, given))

    def find_collision_pairs(
        self,
        *,
        num_samples: int = 2000,
        seed: int = 0,
        prove: bool = True,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> CollisionPairs:
        """Which pairs of links can never touch, always do, or sometimes: from random configurations within limits.

        Where up to eight joints are between two links it is tried to prove, for all configurations within limits,
        that they never touch, as no sample does; where up to three are, also that they always do, or to refute it.
        `FoundPair.proved` says which.  What is "never" by samples alone may touch somewhere: `CollisionPairs.pairs` has
        it, so that `with_collision_pairs` drops only what is proved never to touch, what touches always, at the neutral
        configuration, and what a joint connects.  Many pairs are looked at until they were seen to touch and not to.
        ``progress`` shows a bar on standard error, or is a function of a `linkwork.Progress`; each pair counts twice,
        for samples and for proofs.

        Raises ValueError for a robot without collision shapes, and for a number of samples that is none.
        """
        num_samples = integer("find_collision_pairs", "num_samples", num_samples, least=1, what="an integer")
        pairs = candidates(self._tree)
        if not pairs:
            self._about("find_collision_pairs", None, None)
            return CollisionPairs._make((), int(num_samples))
        configurations: Any = self
        drawn = configurations.random_configuration(seed=seed, size=int(num_samples))
        measured = lambda q, asked: self.distances(q, pairs=asked)  # noqa: E731
        with Reporter("find_collision_pairs", progress, "find_collision_pairs: pairs", 2 * len(pairs)) as report:
            return sorted_out(self._tree, measured, drawn, configurations.neutral(), prove, report)

    def srdf_document(self) -> str:
        """The text of an SRDF that says which pairs are not looked at, in its <disable_collisions>."""
        return srdf_text(self._tree)

    @edits
    def with_srdf_document(self, text: str | bytes) -> Self:
        """The robot of which the pairs are looked at that the text of an SRDF leaves: its <disable_collisions> are not,
        nor what a joint connects, but for its <enable_collisions>.

        What was said of pairs before is forgotten.  Each <group_state> becomes one of `named_configurations`: of its
        name, or "group/name" where several groups have one of this name.  Raises ModelError with all that is wrong,
        with lines.
        """
        return type(self)(parse_srdf(self._tree, text))

    @edits
    def with_collisions(self, link: str, *shapes: Shape | Geometry) -> Self:
        """The robot with these collision shapes on a link, and no others: at the link's origin, or ``shape.at(pose)``.

        Raises UnknownNameError for a link that is not there, TypeError for what is no shape.
        """
        return type(self)(with_collisions(self._tree, link, shapes))

    @edits
    def with_attached(
        self, name: str, frame: str, shape: Shape, pose: Any = None, *, touching: Sequence[str] = ()
    ) -> Self:
        """Return the robot with an object on a frame, which distances treat as a link, for example a grasped box.

        ``pose`` is the shape's pose in ``frame``, (4, 4) or a position (3,) [m].  ``touching`` are links that it
        may touch; those that a joint connects to its own body it may, too.  Obstacles that it may touch are an option
        of `plan`, where the scene is known: ``plan(..., touching=[(name, "table")])``.  It is a further frame, called
        ``name``, and has no mass: `with_payload` adds that.

        Raises UnknownNameError for a frame or link that is not there, ValueError for a name that is taken and what is
        no pose, TypeError for what is no shape.
        """
        return type(self)(with_attached(self._tree, name, frame, shape, pose, touching))

    @edits
    def without_attached(self, name: str) -> Self:
        """The robot without an object that was attached.  Raises UnknownNameError where there is none of the name,
        ValueError where another frame or mark is on it.
        """
        return type(self)(without_attached(self._tree, name))


_FIRST, _MANY = 256, 200_000  # samples of all pairs, where there are more pairs times samples than that
_MOST = 4096  # boxes that a proof may look at
_DEEP = 3  # joints between links of a proof, at most


@dataclass(frozen=True, init=False)
class FoundPair(Made):
    """Two links, what was found of them, and how.

    ``kind`` is "adjacent" (a joint connects them), "never" or "always" (they touch so in all configurations),
    "default" (they touch at the neutral configuration) or "sometimes".
    """

    a: str
    b: str
    kind: str
    proved: bool  # for all configurations within limits; else it was so in all samples
    least: float  # distance among the samples that were looked at [m]
    most: float

    @property
    def is_looked_at(self) -> bool:
        """Whether the links may touch in some configurations and not in others, as far as is known."""
        return self.kind == "sometimes" or (self.kind == "never" and not self.proved)

    def __str__(self) -> str:
        how = "proved" if self.proved else "sampled"
        return f"{self.a} - {self.b}: {self.kind} ({how}), {self.least:.4g} to {self.most:.4g} m"


@dataclass(frozen=True, init=False)
class CollisionPairs(Made):
    """What was found of all pairs of links, from so many samples; `Robot.with_collision_pairs` takes it."""

    found: tuple[FoundPair, ...]
    samples: int

    def of(self, kind: str) -> tuple[FoundPair, ...]:
        """Those of a kind: "adjacent", "never", "always", "default" or "sometimes"."""
        return tuple(pair for pair in self.found if pair.kind == kind)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs to look at: those that touch sometimes, and those that no sample saw touch and no proof says never
        to.
        """
        return tuple((pair.a, pair.b) for pair in self.found if pair.is_looked_at)

    @property
    def disabled(self) -> tuple[DisabledPair, ...]:
        """The others, with SRDF's words for the reasons."""
        kept = [pair for pair in self.found if not pair.is_looked_at]
        return tuple(DisabledPair(pair.a, pair.b, pair.kind.capitalize()) for pair in kept)

    def __str__(self) -> str:
        return "\n".join(map(str, self.found))


def candidates(tree: Tree) -> list[tuple[str, str]]:
    """All pairs of links with shapes that are on different bodies."""
    return [(a.name, b.name) for a, b in pairs_of_links(tree) if a.body != b.body]


Measure = Callable[[np.ndarray, Sequence[tuple[str, str]]], RobotDistances]
"""Configurations (n, nq) and pairs of links, to the distances of their shapes."""


def sorted_out(
    tree: Tree, measure: Measure, drawn: np.ndarray, neutral: np.ndarray, prove: bool, report: Reporter
) -> CollisionPairs:
    """Classify the pairs by samples (n, nq) and proofs; each pair counts twice in the report."""
    pairs = candidates(tree)
    looked = _sampled(tree, measure, pairs, drawn, neutral, report)
    kinds = {pair: _kind(tree, pair, looked[pair]) for pair in pairs}
    proved = {pair: kind in ("adjacent", "default") for pair, kind in kinds.items()}
    left: dict[tuple[str, str], _Box] = {}
    doubts: dict[tuple[str, str], np.ndarray] = {}
    for pair, kind in kinds.items() if prove else ():
        if kind == "never":
            proved[pair], doubts[pair] = never_touch(tree, *pair, looked[pair].nearest)
        if (kind == "never" and not proved[pair]) or (kind == "always" and _has_exact_depths(tree, *pair)):
            box = _box(tree, *pair)
            if box is not None:
                left[pair] = box
        if pair not in left:
            report.advance()
    for pair in _refuted(tree, measure, {pair: q for pair, q in doubts.items() if len(q) and pair not in left}):
        kinds[pair] = "sometimes"
    asked = list(left)

    def distance(q: np.ndarray, k: int) -> np.ndarray:
        return _by_links(tree, asked, measure(q, asked))[:, k]

    for k, (pair, box) in enumerate(left.items()):
        verdict = _proved(partial(distance, k=k), neutral, box, 1.0 if kinds[pair] == "never" else -1.0)
        proved[pair] = verdict is True
        kinds[pair] = "sometimes" if verdict is False else kinds[pair]
        report.advance()
    result = [
        FoundPair._make(*pair, kinds[pair], proved[pair], looked[pair].least, looked[pair].most) for pair in pairs
    ]
    return CollisionPairs._make(tuple(result), len(drawn))


def _refuted(tree: Tree, measure: Measure, doubts: dict[tuple[str, str], np.ndarray]) -> list[tuple[str, str]]:
    """The pairs that touch in one of the configurations in which they may."""
    if not doubts:
        return []
    d = _by_links(tree, list(doubts), measure(np.concatenate([*doubts.values()]), list(doubts)))
    result, start = [], 0
    for k, (pair, q) in enumerate(doubts.items()):
        if (d[start : start + len(q), k] <= 0.0).any():
            result.append(pair)
        start += len(q)
    return result


@dataclass(frozen=True, slots=True)
class _Looked:
    """What samples say of a pair."""

    least: float  # [m]
    most: float
    nearest: np.ndarray  # the configuration of the least
    at_rest: float

    @property
    def settled(self) -> bool:
        """Whether it was seen to touch, and not to."""
        return min(self.least, self.at_rest) <= 0.0 < max(self.most, self.at_rest)


def _sampled(
    tree: Tree, measure: Measure, pairs: list[tuple[str, str]], drawn: np.ndarray, neutral: np.ndarray, report: Reporter
) -> dict[tuple[str, str], _Looked]:
    """By pair: what samples say.  Of many pairs those that the first have settled are not looked at any more."""
    at_rest = _by_links(tree, pairs, measure(neutral[np.newaxis], pairs))[0]
    first = _FIRST if len(pairs) * len(drawn) > _MANY else len(drawn)
    result: dict[tuple[str, str], _Looked] = {}
    asked, taken = pairs, 0
    place = {pair: k for k, pair in enumerate(pairs)}
    for q in (drawn[:first], drawn[first:]):
        if not len(q) or not asked:
            break
        d = _by_links(tree, asked, measure(q, asked))
        for k, pair in enumerate(asked):
            rest, before = float(at_rest[place[pair]]), result.get(pair)
            here = _Looked(float(d[:, k].min()), float(d[:, k].max()), q[int(d[:, k].argmin())], rest)
            if before is not None:
                nearest = before.nearest if before.least <= here.least else here.nearest
                here = _Looked(min(before.least, here.least), max(before.most, here.most), nearest, rest)
            result[pair] = here
        taken += len(q)
        report.reach(len(pairs) * taken / len(drawn))
        asked = [pair for pair in pairs if not result[pair].settled and not adjacent(tree, *map(tree.frame, pair))]
    return result


def _kind(tree: Tree, pair: tuple[str, str], looked: _Looked) -> str:
    if adjacent(tree, *map(tree.frame, pair)):
        return "adjacent"
    if looked.least > 0.0 and looked.at_rest > 0.0:
        return "never"
    if looked.most <= 0.0 and looked.at_rest <= 0.0:
        return "always"
    return "default" if looked.at_rest <= 0.0 else "sometimes"


def _by_links(tree: Tree, pairs: Sequence[tuple[str, str]], result: RobotDistances) -> np.ndarray:
    """The least distances of pairs of links (n, pairs), of those of their shapes."""
    link = {shape.name: shape.link for shape in link_shapes(tree)}
    place = {pair: k for k, pair in enumerate(pairs)}
    least = np.full((len(result.distance), len(pairs)), np.inf)
    for k, (a, b) in enumerate(result.pairs):
        at = place[link[a], link[b]]
        least[:, at] = np.minimum(least[:, at], result.distance[:, k])
    return least


@dataclass(frozen=True, slots=True)
class _Box:
    """Ranges of numbers of q, and how far points move by each [m/rad, 1]."""

    numbers: list[int]
    lower: np.ndarray
    upper: np.ndarray
    rates: np.ndarray


def _box(tree: Tree, a: str, b: str) -> _Box | None:
    """The joints between two links, where their motion is bounded."""
    frames = [tree.frame(name) for name in (a, b)]
    _, to_a, to_b = fork(tree, frames[0].body, frames[1].body)
    limits = bounds(tree)
    result: list[tuple[int, float, float, float]] = []
    for name, chain in ((a, to_a), (b, to_b)):
        reach = max(_reach(shape) for shape in link_shapes(tree) if shape.link == name)
        for i in reversed(chain):
            body = tree.bodies[i]
            if body.coupling is not None or any(other.coupling for other in tree.bodies) or not is_simple(body):
                return None
            low, high = limits[i][0][0], limits[i][1][0]
            if not (math.isfinite(low) and math.isfinite(high)):
                return None
            S = body.joint.S([0.5 * (low + high)]).columns[0]
            turning, sliding = math.hypot(*S.angular), math.hypot(*S.linear)
            reach += math.hypot(*body.rotor.translation)
            result.append((tree.q_slices[i].start, low, high, turning * reach + sliding))
            start = math.hypot(*body.joint.X([low]).translation)
            reach += start + sliding * (high - low) + math.hypot(*body.placement.translation)
    if not result or len(result) > _DEEP:
        return None
    numbers, lower, upper, rates = zip(*result, strict=True)
    return _Box(list(numbers), np.array(lower), np.array(upper), np.array(rates))


def _has_exact_depths(tree: Tree, a: str, b: str) -> bool:
    """Whether all distances of two links have closed forms."""
    of: dict[str, list[type]] = {a: [], b: []}
    for shape in link_shapes(tree):
        if shape.link in of:
            if type(shape.shape) not in SOLIDS:
                return False
            of[shape.link].append(type(solid(shape.shape, Pose.identity()).core))
    return all(is_closed_form(one, other) for one in of[a] for other in of[b])


def _reach(shape: LinkShape) -> float:
    """How far points of a shape are from its body's origin [m]."""
    if type(shape.shape) in FIELDS:
        return math.hypot(*shape.placement.translation) + FIELDS[type(shape.shape)].reach(shape.shape)
    placed = solid(shape.shape, shape.placement)
    return math.hypot(*anchor(placed.core)) + reach_of(solid(shape.shape, Pose.identity()))


def _proved(distance: Callable[[np.ndarray], np.ndarray], q: np.ndarray, box: _Box, sign: float) -> bool | None:
    """Whether the distance has this sign in the whole box: None where that is not known after so many looks."""
    centers = 0.5 * (box.lower + box.upper)[np.newaxis]
    halves = 0.5 * (box.upper - box.lower)[np.newaxis]
    looked = 0
    while len(centers):
        looked += len(centers)
        if looked > _MOST:
            return None
        at = np.tile(q, (len(centers), 1))
        at[:, box.numbers] = centers
        d = sign * distance(at)
        if (d <= 0.0 if sign > 0.0 else d < 0.0).any():
            return False
        open_ = d <= (halves * box.rates).sum(-1) * (1.0 + 1e-9)
        centers, halves = in_two(centers[open_], halves[open_], (halves * box.rates)[open_])
    return True
