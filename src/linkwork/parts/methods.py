"""What a robot is made of: joints, links and frames by name, the names of its numbers, and how it is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from linkwork._util.console import Stream
from linkwork._util.named_tuple_list import Named
from linkwork.errors import UnknownNameError
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.coordinate_names import index_of, names_of
from linkwork.parts.joint.joint import Joint, joint_of
from linkwork.parts.joint.loop_joint_view import closing_joints
from linkwork.parts.methods_html import robot_html
from linkwork.parts.placed_link import PlacedLink, fixed_joints_of, links_of, placed_link
from linkwork.parts.tree_drawing import constraint_lines, tree_lines

__all__ = ["StructureMethods"]


class StructureMethods(RobotBase):
    """A robot's parts, looked up by name."""

    __slots__ = ()

    @property
    def joints(self) -> Named[Joint]:
        """The moving joints, in the order of their numbers in q and v; a follower's are its master's.

        A tuple that is looked into by name too: ``robot.joints["elbow"]``.
        """
        return Named([joint_of(self._tree, i) for i in self._tree.order], "joint")

    @property
    def fixed_joints(self) -> Named[Joint]:
        """The fixed joints, of type `linkwork.joints.Fixed`, with no numbers in q and v: what is welded to what."""
        return Named(fixed_joints_of(self._tree), "fixed joint")

    def joint(self, name: str) -> Joint:
        """The named joint, a `Joint`, a fixed one too; or where it closes a loop the `ClosingJoint`
        of ``robot.loops``.

        Raises UnknownNameError.
        """
        try:
            return joint_of(self._tree, self._tree.joint_index(name))
        except UnknownNameError as error:
            for joint in self.fixed_joints:
                if joint.name == name:
                    return joint
            loops = closing_joints(self)
            for loop in loops:
                if loop.name == name:
                    return cast(Any, loop)  # type: ignore[no-any-return]
            known = (*error.known, *self._tree.fixed_joints, *(loop.name for loop in loops))
            raise UnknownNameError("joint", name, known, error.remedy) from None

    @property
    def bodies(self) -> Named[str]:
        """The names of the moving bodies, in the order of `forward_kinematics`."""
        return Named([body.name for body in self._tree.bodies], "body")

    @property
    def frames(self) -> Named[str]:
        """The names of all frames: every link, whether it moves or is fixed to another, then further frames.  "world"
        is one besides.

        ``robot.frames["hand"]`` is the name itself, which editors complete.
        """
        return Named([frame.name for frame in self._tree.frames], "frame")

    @property
    def links(self) -> Named[PlacedLink]:
        """The links, in the order of the file: what each weighs, and what it moves on or is welded to."""
        return Named(links_of(self._tree), "link")

    def link(self, name: str) -> PlacedLink:
        """The named link, or further frame.  Raises UnknownNameError."""
        return placed_link(self._tree, name)

    # -- the numbers' names

    @property
    def q_names(self) -> tuple[str, ...]:
        """A name for each number of q: the joint's, or, where it has several, ``"floating_base.qw"``."""
        return names_of(self._tree, "q")

    @property
    def v_names(self) -> tuple[str, ...]:
        """A name for each number of v, accelerations and joint forces: ``"elbow"``, ``"floating_base.wx"``."""
        return names_of(self._tree, "v")

    def q_index(self, names: Iterable[str]) -> np.ndarray:
        """Where these numbers are in q: ``q[..., robot.q_index(names)]`` has them in the order of ``names``.

        A name is one of `q_names`, or a joint's for all of its numbers.  With another library's order for ``names``
        this is the map between the two (docs/coming_from.md).  Raises UnknownNameError, and ValueError where a number
        comes twice.
        """
        return index_of(self._tree, "q", names)

    def v_index(self, names: Iterable[str]) -> np.ndarray:
        """Where these numbers are in v, accelerations and joint forces: as `q_index`, with names of `v_names`."""
        return index_of(self._tree, "v", names)

    # -- how it is shown

    def __str__(self) -> str:
        """The tree with its joints, then its constraints, in characters that standard output can print."""
        return Stream(sys.stdout).fitting("\n".join([*tree_lines(self._tree), *constraint_lines(self._tree)]))

    def _repr_html_(self) -> str:
        return robot_html(self._tree)
