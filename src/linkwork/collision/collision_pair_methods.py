"""Which of a robot's pairs of links are looked at, collision shapes, and what a robot holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

from linkwork._util.validation import integer
from linkwork.collision.methods import DistanceMethods
from linkwork.collision.pair_classification import CollisionPairs, candidates, sorted_out
from linkwork.formats.srdf import parse_srdf, srdf_text
from linkwork.kernels.robot_base import edits
from linkwork.model.collision_pairs import (
    collision_pairs,
    link_shapes,
    with_attached,
    with_collisions,
    with_pairs,
    without_attached,
)
from linkwork.shapes import Geometry, Shape

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
        unless they are enabled."""
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

    def find_collision_pairs(self, *, num_samples: int = 2000, seed: int = 0, prove: bool = True) -> CollisionPairs:
        """Which pairs of links can never touch, always do, or sometimes: from random configurations within limits.

        Where up to eight joints are between two links it is tried to prove, for all configurations within limits,
        that they never touch, as no sample does; where up to three are, also that they always do, or to refute it.
        `FoundPair.proved` says which.  What is "never" by samples alone may touch somewhere: `CollisionPairs.pairs` has
        it, so that `with_collision_pairs` drops only what is proved never to touch, what touches always, at the neutral
        configuration, and what a joint connects.  Many pairs are looked at until they were seen to touch and not to.

        Raises ValueError for a robot without collision shapes, and for a number of samples that is none.
        """
        num_samples = integer("find_collision_pairs", "num_samples", num_samples, least=1, what="a whole number")
        pairs = candidates(self._tree)
        if not pairs:
            self._about("find_collision_pairs", None, None)
            return CollisionPairs((), int(num_samples))
        configurations: Any = self
        drawn = configurations.random_configuration(seed=seed, size=int(num_samples))
        measured = lambda q, asked: self.distances(q, pairs=asked)  # noqa: E731
        return sorted_out(self._tree, measured, drawn, configurations.neutral(), prove)

    def srdf_document(self) -> str:
        """The text of an SRDF that says which pairs are not looked at, in its <disable_collisions>."""
        return srdf_text(self._tree)

    @edits
    def with_srdf_document(self, text: str | bytes) -> Self:
        """The robot of which the pairs are looked at that the text of an SRDF leaves: its <disable_collisions> are not,
        nor what a joint connects, but for its <enable_collisions>.

        What was said of pairs before is forgotten.  Raises ModelError with all that is wrong, with lines.
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
        self, name: str, shape: Shape, frame: str, pose: Any = None, *, touching: Sequence[str] = ()
    ) -> Self:
        """The robot with an object on a frame, which distances look at as at a link: a grasped box.

        ``pose`` is that of the shape's frame in the frame, (4, 4) or a place (3,) [m].  ``touching`` are links that it
        may touch; those that a joint connects to its own body it may, too.  Obstacles that it may touch are an option
        of `plan`, where the scene is known: ``plan(..., touching=[(name, "table")])``.  It is a further frame, called
        ``name``, and has no mass: `with_payload` adds that.

        Raises UnknownNameError for a frame or link that is not there, ValueError for a name that is taken and what is
        no pose, TypeError for what is no shape.
        """
        return type(self)(with_attached(self._tree, name, shape, frame, pose, touching))

    @edits
    def without_attached(self, name: str) -> Self:
        """The robot without an object that was attached.  Raises UnknownNameError where there is none of the name,
        ValueError where another frame or mark is on it."""
        return type(self)(without_attached(self._tree, name))
