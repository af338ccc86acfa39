"""Classification of the pairs of links by how their collision shapes can touch: never, always or sometimes.

Pairs are classified by sampling, and by proof where possible.  A proof that a pair never touches uses bodies that
contain its shapes (`separation_proof`).  If that fails and few joints are between the links, it uses the shapes
themselves; so does a proof that a pair always touches.  Such a proof splits the ranges of the joints between the links
into boxes.  In a box about a configuration, distances change by at most Σ_i ρ_i h_i.  h_i is half the range of joint i;
ρ_i is the maximum distance from its axis of any point that it carries, or 1 for a prismatic joint.  A box is proved
collision-free if its distance is above that, and proved in collision if it is below minus that; others are split.
Penetration depths found by iteration may exceed the true depth, so only closed forms prove that a pair always touches.

Source: Schwarzer, Saha and Latombe, Adaptive dynamic collision checking for single and multiple articulated robots in
complex environments, 2005 (how far points move).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from linkwork._util.messages import escaped
from linkwork._util.progress import Reporter
from linkwork._util.result import ReturnedValue
from linkwork.collision.result import RobotDistances
from linkwork.collision.separation_proof import is_simple, never_touch, prove_on_boxes
from linkwork.geometry.fields import FIELDS
from linkwork.geometry.pairs.pair_dispatch import is_closed_form
from linkwork.geometry.solids import SOLIDS, anchor, reach_of, solid
from linkwork.kinematics.algorithms.forward_kinematics import fork
from linkwork.model.body import DisabledPair
from linkwork.model.collision_pairs import LinkShape, adjacency, link_shapes, pairs_of_links
from linkwork.model.coupled_joints import bounds
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["CollisionPairs", "PairClassification", "classify_pairs", "pairs_on_different_bodies"]

_FIRST_SAMPLES = 256  # after which decided pairs are dropped, if pairs times samples exceed _MANY
_MANY = 200_000
_MAX_BOXES = 4096  # boxes that a proof may evaluate
_MAX_JOINTS = 3  # between the links of a proof


@dataclass(frozen=True, init=False)
class PairClassification(ReturnedValue):
    """Classification of a pair of links, and how it was determined.

    ``kind`` is "adjacent" (a joint connects the links), "never" (they touch in no configuration), "always" (in all),
    "default" (at the neutral configuration) or "sometimes".
    """

    a: str
    b: str
    kind: str
    proved: bool  # True if the kind holds for all configurations within limits, False if for all samples only
    min_distance: float  # minimum distance among the samples [m]
    max_distance: float  # maximum distance among the samples [m]

    @property
    def needs_check(self) -> bool:
        """True if the pair needs collision checks: it touches sometimes, or "never" is not proved."""
        return self.kind == "sometimes" or (self.kind == "never" and not self.proved)

    def __str__(self) -> str:
        how = "proved" if self.proved else "sampled"
        pair = escaped(f"{self.a} - {self.b}")
        return f"{pair}: {self.kind} ({how}), {self.min_distance:.4g} to {self.max_distance:.4g} m"


@dataclass(frozen=True, init=False)
class CollisionPairs(ReturnedValue):
    """Classification of all pairs of links; pass it to `Robot.with_collision_pairs`.

    ``classifications`` has an entry for each pair; ``samples`` is the number of configurations that were sampled.
    """

    classifications: tuple[PairClassification, ...]
    samples: int

    def of(self, kind: str) -> tuple[PairClassification, ...]:
        """Return the pairs of a kind: "adjacent", "never", "always", "default" or "sometimes"."""
        return tuple(pair for pair in self.classifications if pair.kind == kind)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of links that need collision checks: they touch sometimes, or "never" is not proved."""
        return tuple((pair.a, pair.b) for pair in self.classifications if pair.needs_check)

    @property
    def disabled(self) -> tuple[DisabledPair, ...]:
        """Pairs of links that need no collision checks, with the reasons in SRDF's words."""
        skipped = [pair for pair in self.classifications if not pair.needs_check]
        return tuple(DisabledPair(pair.a, pair.b, pair.kind.capitalize()) for pair in skipped)

    def __str__(self) -> str:
        return "\n".join(map(str, self.classifications))


def pairs_on_different_bodies(tree: Tree) -> list[tuple[str, str]]:
    """Return all pairs of links with collision shapes on different bodies."""
    return [(a.name, b.name) for a, b in pairs_of_links(tree) if a.body != b.body]


Measure = Callable[[np.ndarray, Sequence[tuple[str, str]]], RobotDistances]
"""Function of configurations (n, nq) and pairs of links that returns the distances of their shapes."""


def classify_pairs(
    tree: Tree, measure: Measure, drawn: np.ndarray, neutral: np.ndarray, prove: bool, report: Reporter
) -> CollisionPairs:
    """Return the classification of all pairs by samples (n, nq) and proofs; each pair counts twice in the report."""
    pairs = pairs_on_different_bodies(tree)
    samples = _sampled(tree, measure, pairs, drawn, neutral, report)
    adjacent = adjacency(tree)
    touching = {pair for pair in pairs if adjacent(*map(tree.frame, pair))}
    kinds = {pair: "adjacent" if pair in touching else _kind(samples[pair]) for pair in pairs}
    proved = {pair: kind in ("adjacent", "default") for pair, kind in kinds.items()}
    boxes: dict[tuple[str, str], _Box] = {}
    doubts: dict[tuple[str, str], np.ndarray] = {}
    for pair, kind in kinds.items() if prove else ():
        if kind == "never":
            proved[pair], doubts[pair] = never_touch(tree, *pair, samples[pair].nearest)
        if (kind == "never" and not proved[pair]) or (kind == "always" and _has_exact_depths(tree, *pair)):
            box = _box(tree, *pair)
            if box is not None:
                boxes[pair] = box
        if pair not in boxes:
            report.advance()
    for pair in _refuted(tree, measure, {pair: q for pair, q in doubts.items() if len(q) and pair not in boxes}):
        kinds[pair] = "sometimes"
    undecided = list(boxes)

    def distance(q: np.ndarray, k: int) -> np.ndarray:
        return _by_links(tree, undecided, measure(q, undecided))[:, k]

    for k, (pair, box) in enumerate(boxes.items()):
        verdict = _proved(partial(distance, k=k), neutral, box, 1.0 if kinds[pair] == "never" else -1.0)
        proved[pair] = verdict is True
        kinds[pair] = "sometimes" if verdict is False else kinds[pair]
        report.advance()
    result = [
        PairClassification._make(*pair, kinds[pair], proved[pair], samples[pair].minimum, samples[pair].maximum)
        for pair in pairs
    ]
    return CollisionPairs._make(tuple(result), len(drawn))


def _refuted(tree: Tree, measure: Measure, doubts: dict[tuple[str, str], np.ndarray]) -> list[tuple[str, str]]:
    """Return the pairs that touch in one of the configurations that their proofs left in doubt."""
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
class _Samples:
    """Range of a pair's sampled distances [m]."""

    minimum: float
    maximum: float
    nearest: np.ndarray  # configuration (nq,) of the minimum
    neutral: float  # distance at the neutral configuration

    @property
    def is_decided(self) -> bool:
        """True if the pair touches in one sample and does not touch in another."""
        return min(self.minimum, self.neutral) <= 0.0 < max(self.maximum, self.neutral)


def _sampled(
    tree: Tree, measure: Measure, pairs: list[tuple[str, str]], drawn: np.ndarray, neutral: np.ndarray, report: Reporter
) -> dict[tuple[str, str], _Samples]:
    """Return the sampled distances of each pair; of many pairs, those already decided get fewer samples."""
    at_neutral = _by_links(tree, pairs, measure(neutral[np.newaxis], pairs))[0]
    first = _FIRST_SAMPLES if len(pairs) * len(drawn) > _MANY else len(drawn)
    result: dict[tuple[str, str], _Samples] = {}
    open_, count, adjacent = pairs, 0, adjacency(tree)
    index = {pair: k for k, pair in enumerate(pairs)}
    for q in (drawn[:first], drawn[first:]):
        if not len(q) or not open_:
            break
        d = _by_links(tree, open_, measure(q, open_))
        for k, pair in enumerate(open_):
            at_zero, old = float(at_neutral[index[pair]]), result.get(pair)
            new = _Samples(float(d[:, k].min()), float(d[:, k].max()), q[int(d[:, k].argmin())], at_zero)
            if old is not None:
                nearest = old.nearest if old.minimum <= new.minimum else new.nearest
                new = _Samples(min(old.minimum, new.minimum), max(old.maximum, new.maximum), nearest, at_zero)
            result[pair] = new
        count += len(q)
        report.reach(len(pairs) * count / len(drawn))
        open_ = [pair for pair in pairs if not result[pair].is_decided and not adjacent(*map(tree.frame, pair))]
    return result


def _kind(samples: _Samples) -> str:
    if samples.minimum > 0.0 and samples.neutral > 0.0:
        return "never"
    if samples.maximum <= 0.0 and samples.neutral <= 0.0:
        return "always"
    return "default" if samples.neutral <= 0.0 else "sometimes"


def _by_links(tree: Tree, pairs: Sequence[tuple[str, str]], result: RobotDistances) -> np.ndarray:
    """Return the minimum distances (n, pairs) of pairs of links, from the distances of pairs of their shapes."""
    link = {shape.name: shape.link for shape in link_shapes(tree)}
    index = {pair: k for k, pair in enumerate(pairs)}
    minimum = np.full((len(result.distance), len(pairs)), np.inf)
    for k, (a, b) in enumerate(result.pairs):
        column = index[link[a], link[b]]
        minimum[:, column] = np.minimum(minimum[:, column], result.distance[:, k])
    return minimum


@dataclass(frozen=True, slots=True)
class _Box:
    """Ranges of coordinates of q, and bounds of the displacement of points per unit of each [m/rad, m/m]."""

    indices: list[int]  # in q
    lower: np.ndarray
    upper: np.ndarray
    rates: np.ndarray


def _box(tree: Tree, a: str, b: str) -> _Box | None:
    """Return the ranges of the joints between two links and their displacement bounds.

    Returns None if there are many such joints, or if a joint has several coordinates, a varying twist or no limits.
    """
    frames = [tree.frame(name) for name in (a, b)]
    _, to_a, to_b = fork(tree, frames[0].body, frames[1].body)
    limits = bounds(tree)
    result: list[tuple[int, float, float, float]] = []
    for name, chain in ((a, to_a), (b, to_b)):
        reach = max(_reach(shape) for shape in link_shapes(tree) if shape.link == name)
        for i in reversed(chain):
            body = tree.bodies[i]
            if body.coupling is not None or any(x.coupling for x in tree.bodies) or not is_simple(body):
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
    if not result or len(result) > _MAX_JOINTS:
        return None
    indices, lower, upper, rates = zip(*result, strict=True)
    return _Box(list(indices), np.array(lower), np.array(upper), np.array(rates))


def _has_exact_depths(tree: Tree, a: str, b: str) -> bool:
    """Return True if the distances of all shapes of two links have closed forms."""
    core_types: dict[str, list[type]] = {a: [], b: []}
    for shape in link_shapes(tree):
        if shape.link in core_types:
            if type(shape.shape) not in SOLIDS:
                return False
            core_types[shape.link].append(type(solid(shape.shape, Pose.identity()).core))
    return all(is_closed_form(x, y) for x in core_types[a] for y in core_types[b])


def _reach(shape: LinkShape) -> float:
    """Return a bound on the distance of a shape's points from its body's origin [m]."""
    if type(shape.shape) in FIELDS:
        return math.hypot(*shape.placement.translation) + FIELDS[type(shape.shape)].reach(shape.shape)
    placed = solid(shape.shape, shape.placement)
    return math.hypot(*anchor(placed.core)) + reach_of(solid(shape.shape, Pose.identity()))


def _proved(distance: Callable[[np.ndarray], np.ndarray], q: np.ndarray, box: _Box, sign: float) -> bool | None:
    """Return True if the distance has this sign in the whole box, False if not, None after `_MAX_BOXES` boxes."""

    def evaluate(centers: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        configurations = np.tile(q, (len(centers), 1))
        configurations[:, box.indices] = centers
        d, changes = sign * distance(configurations), halves * box.rates
        return d <= 0.0 if sign > 0.0 else d < 0.0, d <= changes.sum(-1) * (1.0 + 1e-9), changes

    return prove_on_boxes(box.lower, box.upper, evaluate, _MAX_BOXES).verdict
