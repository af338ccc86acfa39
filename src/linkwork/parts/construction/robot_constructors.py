"""The ways to a robot: from files, from parts, and from another robot."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, Self, Unpack

from numpy.typing import ArrayLike

from linkwork._util.validation import name as named
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.actuator import Actuator
from linkwork.model.coupled_joints import coupled, read_couplings
from linkwork.model.tree_edits import rerooted
from linkwork.parts.construction.denavit_hartenberg import dh_parts
from linkwork.parts.construction.link import Part, built
from linkwork.parts.construction.robot_loading import (
    BuildOptions,
    LoadOptions,
    Options,
    read_robot,
    read_robot_string,
)

__all__ = ["Constructors"]


class Constructors(RobotBase):
    """What makes robots, of any class that a tree alone makes one of."""

    __slots__ = ()

    @classmethod
    def from_urdf(cls, path: str | os.PathLike[str], **options: Unpack[LoadOptions]) -> Self:
        """Read a URDF file: the options are those of `linkwork.load`."""
        return cls(read_robot(path, Options.of("from_urdf", options), "urdf"))

    @classmethod
    def from_urdf_string(cls, text: str | bytes, **options: Unpack[LoadOptions]) -> Self:
        """Read the text of a URDF file: the options are those of `linkwork.load`."""
        return cls(read_robot_string(text, Options.of("from_urdf_string", options)))

    @classmethod
    def build(
        cls,
        name: str,
        *parts: Part,
        actuators: Iterable[Actuator] = (),
        named_configurations: Mapping[str, Any] = MappingProxyType({}),
        **options: Unpack[BuildOptions],
    ) -> Self:
        """A robot from its links and joints, written in a program: what a file would say, through the same checks.

        ``parts`` are links (`linkwork.Link`), joints that connect them (`linkwork.Joint.of` with ``parent`` and
        ``child``, the names of links), and lists of parts, such as a function gives for a leg.  Links and joints are in
        the order in which they are given.  A joint whose parent is ``"world"`` hangs from the world; it needs no link.
        ``actuators`` are `linkwork.Actuator`, and ``named_configurations`` a dict by name of dicts by joint name, or of
        ``{"q": ..., "v": ..., "controls": ...}``, each by names.

        >>> import linkwork as lw
        >>> pendulum = lw.Robot.build(
        ...     "pendulum",
        ...     lw.Link("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.083, 0.083, 0.0)),
        ...     lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="world", child="rod"),
        ... )
        >>> pendulum.gravity_force([0.3]).round(3)
        array([1.45])

        The robot equals the one of a URDF file that says the same, bit for bit.  The options are those of
        `linkwork.load` but ``continuous``, which the joints' types say, and ``loops``; and joints that are written to
        follow others do so, ``mimic="coupled"``, where a file's are free unless asked.

        Raises ModelError that lists all that is wrong with the robot; TypeError for what is no part.
        """
        named("build", "name", name, what="the robot's name, a text", empty=True)
        return cls(built(name, parts, _options("build", options), actuators, named_configurations))

    @classmethod
    def from_dh(
        cls,
        name: str,
        rows: Iterable[Mapping[str, Any]],
        *parts: Part,
        convention: Literal["standard", "modified"],
        base: ArrayLike | None = None,
        tool: ArrayLike | None = None,
        **options: Unpack[BuildOptions],
    ) -> Self:
        """A chain of revolute and prismatic joints from its table of Denavit and Hartenberg's parameters.

        Each row is a dict of ``a`` [m], ``alpha`` [rad], ``d`` [m] and ``theta`` [rad], 0 where they are left out, of
        the step from frame i − 1 to frame i:

        - ``"standard"`` (distal; Denavit and Hartenberg, Paul): Rz(θ) Tz(d) Tx(a) Rx(α), joint i is about z of i − 1;
        - ``"modified"`` (proximal; Khalil, Craig): Rx(α) Tx(a) Rz(θ) Tz(d), joint i is about z of i; a and α are those
          that Craig writes with the index i − 1.

        A joint is revolute, its angle q added to θ, or with ``"prismatic": True`` prismatic, its travel q added to d.
        A row may also have the name of its ``joint`` ("joint1", ...) and what `Joint.of` says of it: ``lower``,
        ``upper``, ``velocity``, ``effort``, ``damping``, ``friction``, ``armature`` and so on; and the ``link`` after
        it, by its name ("link1", ...) with ``mass``, ``com`` and ``inertia``, or as a `Link`.  Its frame is frame i.

        ``base`` is the pose of frame 0 in the root link "base", and ``tool`` that of a frame "tool" in the last one: a
        pose (4, 4) or a place (3,).  Further ``parts`` may hang from these links: a gripper, a payload.
        The options are those of `build`.

        >>> from math import pi
        >>> import linkwork as lw
        >>> planar = lw.Robot.from_dh("planar", [{"a": 0.5}, {"a": 0.3}], convention="standard")
        >>> planar.pose([pi / 2, -pi / 2], "link2")[:3, 3].round(12).tolist()
        [0.3, 0.5, 0.0]

        Raises ModelError that lists all that is wrong, ValueError for a convention or pose that is none.
        """
        chosen = _options("from_dh", options)
        return cls(built(name, (dh_parts(name, rows, convention, base, tool), parts), chosen))

    def with_couplings(self, couplings: Mapping[str, Any]) -> Self:
        """Return the robot with joints that follow others exactly, in every function: q = ratio · q_master + offset.

        ``couplings`` is ``{"follower": ("master", ratio, offset)}``; the ratio is 1 and the offset 0 [rad, m] where
        they are left out.  A follower has no numbers of its own in q and v any more: its slices are its master's, and
        forces on it count for its master, times the ratio.  A master may follow another joint in its turn; all then
        follow the first.  Joints that follow others already still do, unless they are given anew.

        >>> import linkwork as lw
        >>> robot = lw.load("arm7_gripper")
        >>> robot.with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)}).nv == robot.nv - 1
        True

        Raises UnknownNameError for a joint that is not there, and ValueError, naming joints and values, where joints
        follow each other in a cycle, a number is not finite, or a joint's type cannot follow or be followed: its
        configuration's rate must be its velocity.
        """
        return type(self)(coupled(self._tree, read_couplings(self._tree, couplings)))

    def with_root(self, link: str) -> Self:
        """Return the same mechanism with another root link; joints keep their names, signs and places in q and v.

        A robot with a floating base floats by the new root: q and v of the joint that carries it become pose and twist
        of that link, all others stay.  A robot fixed to the world is fixed by the new root, whose frame becomes the
        world's, and what was fixed moves; the vector of gravity stays as it is in the world's axes.

        Poses, twists and accelerations of any frame relative to any other depend on the joints between them as before.
        Raises UnknownNameError for a link that is not there, ValueError where what moves then has no name of its own.
        """
        return type(self)(rerooted(self._tree, link))


def _options(function: str, given: BuildOptions) -> Options:
    """How a robot is built: joints follow others where they are written to."""
    return Options.of(function, {"mimic": "coupled", **given}, without=("continuous", "loops"))
