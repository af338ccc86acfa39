"""The ways to a robot: from files, and from another robot."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from ..model.couple import coupled, read_couplings
from ..model.reroot import rerooted
from ..model.tree import Tree
from .loading import read_robot, read_robot_string

__all__ = ["Constructors"]


class Constructors:
    """What makes robots, of any class that a tree alone makes one of."""

    __slots__ = ("_tree",)

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @classmethod
    def from_urdf(
        cls,
        path: str | os.PathLike[str],
        *,
        floating_base: bool = False,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        strict: bool = False,
        multi_root: bool = False,
        mimic: Literal["free", "coupled"] = "free",
        continuous: Literal["angle", "sincos"] = "angle",
    ) -> Self:
        """Read a URDF file: see `linkwork.load`."""
        tree = read_robot(
            path,
            floating_base=floating_base,
            gravity=gravity,
            strict=strict,
            multi_root=multi_root,
            mimic=mimic,
            continuous=continuous,
        )
        return cls(tree)

    @classmethod
    def from_urdf_string(
        cls,
        text: str | bytes,
        *,
        floating_base: bool = False,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        strict: bool = False,
        multi_root: bool = False,
        mimic: Literal["free", "coupled"] = "free",
        continuous: Literal["angle", "sincos"] = "angle",
    ) -> Self:
        """Read the text of a URDF file: see `linkwork.load`."""
        tree = read_robot_string(
            text,
            floating_base=floating_base,
            gravity=gravity,
            strict=strict,
            multi_root=multi_root,
            mimic=mimic,
            continuous=continuous,
        )
        return cls(tree)

    def coupled(self, couplings: Mapping[str, Any]) -> Self:
        """The robot with joints that follow others, exactly and in every function: q = ratio · q_master + offset.

        ``couplings`` is ``{"follower": ("master", ratio, offset)}``; the ratio is 1 and the offset 0 [rad, m] where
        they are left out.  A follower has no numbers of its own in q and v any more: its slices are its master's, and
        forces on it count for its master, times the ratio.  A master may follow another joint in its turn; all then
        follow the first.  Joints that follow others already still do, unless they are given anew.

        >>> import linkwork as lw
        >>> robot = lw.load("arm7_gripper")
        >>> robot.coupled({"right_finger_slide": ("left_finger_slide", 1.0)}).nv == robot.nv - 1
        True

        Raises UnknownNameError for a joint that is not there, and ValueError, naming joints and values, where joints
        follow each other in a cycle, a number is not finite, or a joint's type cannot follow or be followed: its
        configuration's rate must be its velocity.
        """
        return type(self)(coupled(self._tree, read_couplings(self._tree, couplings)))

    def rerooted(self, link: str) -> Self:
        """The same mechanism with another link as its root: joints keep their names, places in q and v, and signs.

        A robot with a floating base floats by the new root: q and v of the joint that carries it become pose and twist
        of that link, all others stay.  A robot fixed to the world is fixed by the new root, whose frame becomes the
        world's, and what was fixed moves; the vector of gravity stays as it is in the world's axes.

        Poses, twists and accelerations of any frame relative to any other depend on the joints between them as before.
        Raises UnknownNameError for a link that is not there, ValueError where what moves then has no name of its own.
        """
        return type(self)(rerooted(self._tree, link))
