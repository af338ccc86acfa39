"""Methods of `Robot` for collision shapes, collision pairs and attached objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

from linkwork import collision
from linkwork._util.progress import Progress, Reporter
from linkwork._util.validation import boolean, integer
from linkwork.collision.methods import DistanceMethods
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
    """Methods for collision shapes, the pairs of links that are checked, and attached objects."""

    __slots__ = ()

    @property
    def collision_shapes(self) -> tuple[str, ...]:
        """Names of all collision shapes: the link's name, or "link/name" if it has several."""
        return tuple(shape.name for shape in link_shapes(self._tree))

    @property
    def collision_pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of links that `distances` checks.

        Disabled pairs are excluded, and pairs that a joint connects, unless they are enabled.  Links that are fixed to
        the world count as connected to a joint only if they are welded to its parent link.
        """
        return collision_pairs(self._tree)

    @edits
    def with_collision_pairs(self, pairs: collision.CollisionPairs | Iterable[tuple[str, str]]) -> Self:
        """Return the robot with these pairs of links, and no others, enabled for collision checks.

        ``pairs`` are pairs of names, or the result of `find_collision_pairs`, which has the reasons why the other pairs
        are disabled.

        Raises UnknownNameError for a name that is not a link with a collision shape, ValueError for a link with itself
        and for links on the same body.
        """
        if isinstance(pairs, collision.CollisionPairs):
            links = set(self.collision_shapes) | {shape.link for shape in link_shapes(self._tree)}
            disabled = [pair for pair in pairs.disabled if pair.reason != "Adjacent" and {pair.a, pair.b} <= links]
            tree = with_pairs(self._tree, pairs.pairs)
            return type(self)(replace(tree, disabled_collisions=tuple(disabled)))
        names = list(pairs)
        for pair in names:
            if isinstance(pair, str) or not isinstance(pair, (tuple, list)) or len(pair) != 2:
                example = [tuple(dict.fromkeys(shape.link for shape in link_shapes(self._tree)))[:2]]
                raise ValueError(
                    f"with_collision_pairs: pairs: expected pairs of names, as in {example!r}, got {pair!r}"
                )
        return type(self)(with_pairs(self._tree, names))

    def find_collision_pairs(
        self,
        *,
        num_samples: int = 2000,
        seed: int = 0,
        prove: bool = True,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> collision.CollisionPairs:
        """Classify the pairs of links by random configurations within limits: never, always or sometimes in contact.

        Equal values of ``seed`` give equal configurations. If at most eight joints are between two links that touch in
        no sample, the method tries to prove that they never touch within limits.  With at most three joints it also
        tries to prove or refute that they always touch. `PairClassification.proved` is True where a proof succeeded.
        Pairs that are "never" by samples alone may touch in some configuration, so `CollisionPairs.pairs` includes
        them.  `with_collision_pairs` drops only pairs that are proved never to touch, always touch, touch at the
        neutral configuration, or are connected by a joint.  A robot with many pairs stops sampling a pair once it both
        touched and did not touch.

        ``progress`` True shows a bar on standard error; a function receives a `linkwork.Progress`.  Each pair counts
        twice, for samples and for proofs.

        Raises ValueError for a robot without collision shapes, and unless ``num_samples`` is a positive integer.
        """
        from linkwork.collision.pair_classification import classify_pairs, pairs_on_different_bodies

        num_samples = integer("find_collision_pairs", "num_samples", num_samples, least=1)
        pairs = pairs_on_different_bodies(self._tree)
        if not pairs:
            self._pair_selection("find_collision_pairs", None, None)
            return collision.CollisionPairs._make((), int(num_samples))
        configurations: Any = self
        drawn = configurations.random_configuration(seed=seed, size=int(num_samples))
        measured = lambda q, names: self.distances(q, pairs=names)  # noqa: E731
        with Reporter("find_collision_pairs", progress, "find_collision_pairs: pairs", 2 * len(pairs)) as report:
            return classify_pairs(self._tree, measured, drawn, configurations.neutral(), prove, report)

    def srdf_document(self) -> str:
        """Return the text of an SRDF with the pairs of links that are not checked, and named configurations.

        `to_srdf` writes it to a file, and reports what an SRDF cannot represent.
        """
        from linkwork.formats.srdf_writing import srdf_text

        return srdf_text(self._tree)[0]

    @edits
    def with_srdf_document(self, document: str | bytes | os.PathLike[str], *, strict: bool = False) -> Self:
        """Return the robot with the collision pairs, named configurations and rotors of an SRDF, a text or a path.

        Pairs in <disable_collisions> are not checked, nor pairs that a joint connects, except those in
        <enable_collisions>.  Earlier settings of pairs are discarded.  Each <group_state> becomes one of
        `named_configurations`, called by its name, or "group/name" if several groups have a state of that name.  A
        value of a virtual joint such as "root_joint", x y z qx qy qz qw, is the pose of the floating base.  Joints in
        Pinocchio's <rotor_params> get the gear ratio N and the armature N² · mass, the rotor's inertia [kg·m², kg].

        `report` notes what is ignored: groups, end effectors, virtual and passive joints.  Unknown elements, links and
        joints are ignored with a `ModelWarning`; with ``strict`` they are errors.

        Raises ModelError that lists all errors of the document with their lines; FileNotFoundError and PermissionError
        of the system for a path.
        """
        from linkwork.formats.file_reading import warn_of_repairs
        from linkwork.formats.srdf import read_srdf

        boolean("with_srdf_document", "strict", strict)
        tree = read_srdf(self._tree, document, strict=strict)
        known = self._tree.report.repairs
        warn_of_repairs("with_srdf_document", [x for x in tree.report.repairs if x not in known], "robot.report")
        return type(self)(tree)

    @edits
    def with_collisions(self, link: str, *shapes: Shape | Geometry) -> Self:
        """Return the robot with these collision shapes on a link instead of the link's own.

        A shape is at the link's origin; ``shape.at(pose)`` puts it elsewhere.  Raises UnknownNameError for an unknown
        link, TypeError for an argument that is not a shape.
        """
        return type(self)(with_collisions(self._tree, link, shapes))

    @edits
    def with_attached(
        self,
        name: str,
        frame: str,
        shape: Shape,
        pose: Any = None,
        *,
        touching: Sequence[str] = (),
        color: Sequence[float] | None = None,
    ) -> Self:
        """Return the robot with an object on a frame, which distances treat as a link, for example a grasped box.

        ``pose`` is the shape's pose in ``frame``, (4, 4) or a position (3,) [m].  ``touching`` are links that the
        object may touch, in addition to those that a joint connects to its body.  Obstacles that it may touch are an
        argument of `plan`: ``plan(..., touching=[(name, "table")])``.  The object adds a frame called ``name``.  It has
        no mass; `with_payload` adds one.  ``color`` has red, green, blue, and alpha if it is not 1, in [0, 1].

        Raises UnknownNameError for an unknown frame or link, ValueError for a name that exists already and an invalid
        pose, TypeError for an argument that is not a shape.
        """
        return type(self)(with_attached(self._tree, name, frame, shape, pose, touching, color))

    @edits
    def without_attached(self, name: str) -> Self:
        """Return the robot without an attached object.

        Raises UnknownNameError for an unknown name, ValueError if another frame or point is attached to the object.
        """
        return type(self)(without_attached(self._tree, name))
