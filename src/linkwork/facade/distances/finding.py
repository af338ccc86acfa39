"""Which pairs of links can never touch, and which always do: by sampling, and by proof where that is possible.

A proof splits the ranges of the joints between two links into boxes.  In a box about a configuration, distances change
by no more than Σ_i ρ_i h_i: h_i is half of the range of joint i, and ρ_i the farthest that any point of what it carries
can be from its axis, or 1 where it slides.  A box whose distance is above that is proved free, one below minus that
proved to touch; others are split.  That a pair always touches is proved of depths that have closed forms alone: one
that is searched for may be larger than it is.

Source: Schwarzer, Saha and Latombe, Adaptive dynamic collision checking for single and multiple articulated robots in
complex environments, 2005 (how far points move).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...algorithms.kinematics.between import fork
from ...geometry.fields import FIELDS
from ...geometry.pairs.table import is_closed_form
from ...geometry.rows import anchor, reach_of
from ...geometry.solids import SOLIDS, solid
from ...model.body import Body, DisabledPair
from ...model.collisions import LinkShape, adjacent, link_shapes, pairs_of_links
from ...model.couple import bounds
from ...model.tree import Tree
from ...spatial import Pose
from .results import RobotDistances

__all__ = ["CollisionPairs", "FoundPair", "candidates", "sorted_out"]

_MOST = 4096  # boxes that a proof may look at
_DEEP = 3  # joints between links of a proof, at most


@dataclass(frozen=True, slots=True)
class FoundPair:
    """Two links, what was found of them, and how.

    ``kind`` is "adjacent" (a joint connects them), "never" or "always" (they touch so in all configurations),
    "default" (they touch at the neutral configuration) or "sometimes".
    """

    a: str
    b: str
    kind: str
    proved: bool  # for all configurations within limits; else it was so in all samples
    least: float  # distance among the samples [m]
    most: float

    def __str__(self) -> str:
        how = "proved" if self.proved else "sampled"
        return f"{self.a} - {self.b}: {self.kind} ({how}), {self.least:.4g} to {self.most:.4g} m"


@dataclass(frozen=True)
class CollisionPairs:
    """What was found of all pairs of links, from so many samples; `Robot.with_collision_pairs` takes it."""

    found: tuple[FoundPair, ...]
    samples: int

    def of(self, kind: str) -> tuple[FoundPair, ...]:
        """Those of a kind: "adjacent", "never", "always", "default" or "sometimes"."""
        return tuple(pair for pair in self.found if pair.kind == kind)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs that are worth looking at: those that touch sometimes."""
        return tuple((pair.a, pair.b) for pair in self.of("sometimes"))

    @property
    def disabled(self) -> tuple[DisabledPair, ...]:
        """The others, with SRDF's words for the reasons."""
        kept = [pair for pair in self.found if pair.kind != "sometimes"]
        return tuple(DisabledPair(pair.a, pair.b, pair.kind.capitalize()) for pair in kept)

    def __str__(self) -> str:
        return "\n".join(map(str, self.found))


def candidates(tree: Tree) -> list[tuple[str, str]]:
    """All pairs of links with shapes that are on different bodies."""
    return [(a.name, b.name) for a, b in pairs_of_links(tree) if a.body != b.body]


def sorted_out(
    tree: Tree,
    distances: Callable[[np.ndarray], RobotDistances],
    drawn: np.ndarray,
    neutral: np.ndarray,
    prove: bool,
) -> CollisionPairs:
    """What samples (n, nq) say of pairs, and proofs; ``distances`` measures all candidates."""
    pairs = candidates(tree)
    found = _by_links(tree, pairs, distances(drawn))
    at_rest = _by_links(tree, pairs, distances(neutral[np.newaxis]))
    results = []
    for k, (a, b) in enumerate(pairs):
        d = found[:, k]
        kind, proved = "sometimes", False
        if adjacent(tree, tree.frame(a), tree.frame(b)):
            kind, proved = "adjacent", True
        elif d.min() > 0.0 and at_rest[0, k] > 0.0:
            kind = "never"
        elif d.max() <= 0.0 and at_rest[0, k] <= 0.0:
            kind = "always"
        elif at_rest[0, k] <= 0.0:
            kind, proved = "default", True
        if prove and (kind == "never" or (kind == "always" and _has_exact_depths(tree, a, b))):
            box = _box(tree, a, b)
            if box is not None:
                sign = 1.0 if kind == "never" else -1.0

                def distance(q: np.ndarray, k: int = k) -> np.ndarray:
                    return _by_links(tree, pairs, distances(q))[:, k]

                verdict = _proved(distance, neutral, box, sign)
                proved = verdict is True
                kind = "sometimes" if verdict is False else kind
        results.append(FoundPair(a, b, kind, proved, float(d.min()), float(d.max())))
    return CollisionPairs(tuple(results), len(drawn))


def _by_links(tree: Tree, pairs: Sequence[tuple[str, str]], found: RobotDistances) -> np.ndarray:
    """The least distances of pairs of links (n, pairs), of those of their shapes."""
    link = {shape.name: shape.link for shape in link_shapes(tree)}
    place = {pair: k for k, pair in enumerate(pairs)}
    least = np.full((len(found.distance), len(pairs)), np.inf)
    for k, (a, b) in enumerate(found.pairs):
        at = place[link[a], link[b]]
        least[:, at] = np.minimum(least[:, at], found.distance[:, k])
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
    found: list[tuple[int, float, float, float]] = []
    for name, chain in ((a, to_a), (b, to_b)):
        reach = max(_reach(shape) for shape in link_shapes(tree) if shape.link == name)
        for i in reversed(chain):
            body = tree.bodies[i]
            if body.coupling is not None or any(other.coupling for other in tree.bodies) or not _simple(body):
                return None
            low, high = limits[i][0][0], limits[i][1][0]
            if not (math.isfinite(low) and math.isfinite(high)):
                return None
            S = body.joint.S([0.5 * (low + high)]).columns[0]
            turning, sliding = math.hypot(*S.angular), math.hypot(*S.linear)
            reach += math.hypot(*body.rotor.translation)
            found.append((tree.q_slices[i].start, low, high, turning * reach + sliding))
            start = math.hypot(*body.joint.X([low]).translation)
            reach += start + sliding * (high - low) + math.hypot(*body.placement.translation)
    if not found or len(found) > _DEEP:
        return None
    numbers, lower, upper, rates = zip(*found, strict=True)
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


def _simple(body: Body) -> bool:
    """Whether it is one number along one fixed twist."""
    joint = body.joint
    return (joint.nq, joint.nv) == (1, 1) and joint.has_fixed_subspaces


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
        centers, halves = centers[open_], halves[open_]
        widest = np.argmax(halves * box.rates, axis=-1)
        rows = np.arange(len(centers))
        halves = halves.copy()
        halves[rows, widest] *= 0.5
        step = np.zeros_like(centers)
        step[rows, widest] = halves[rows, widest]
        centers, halves = np.concatenate([centers - step, centers + step]), np.concatenate([halves, halves])
    return True
