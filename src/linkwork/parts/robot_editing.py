"""Editing a robot: every method gives a new robot, and the old one stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike

from linkwork.errors import Findings, Location, ModelError
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_base import edits
from linkwork.mechanisms.algorithms.constraints.binding import settled_anew
from linkwork.model.body import Frame
from linkwork.model.checks.inertia_check import check_inertial
from linkwork.model.checks.inertia_check_physical import taken_apart
from linkwork.model.checks.value_check import check_joint_values
from linkwork.model.composite_body import told, with_summed_inertias
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_builder import read_gravity
from linkwork.model.tree_edits import locked
from linkwork.parts.construction.link_building import joint_description
from linkwork.parts.construction.robot_constructors import Constructors
from linkwork.parts.joint.joint import Joint, body_with, joint_of
from linkwork.parts.placed_link import link_frame
from linkwork.parts.robot_editing_locking import held_configurations
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Symmetric3, Vec3
from linkwork.spatial.arguments import given_inertia

__all__ = ["EditingMethods"]


class EditingMethods(Constructors):
    """How a robot with something changed is made of a robot."""

    __slots__ = ()

    @edits
    def with_joint(self, joint: Joint) -> Self:
        """The robot with one of its joints, by name, as it is given: with other limits, damping, type, placement ...

        ``robot.with_joint(robot.joint("knee").with_type(Knee(...)))`` puts a joint type of your own in a robot.  Raises
        UnknownNameError for a joint that the robot does not have, ValueError where it connects other links or takes
        part in following another and its sizes change, for a fixed joint, and where a constraint cannot be of a joint
        of the new type, ModelError for numbers that no robot may have (beyond 1e20), TypeError for what is no joint.
        """
        if not isinstance(joint, Joint):
            edited = 'as in robot.with_joint(robot.joint("elbow").with_damping(0.5))'
            raise TypeError(f"with_joint: expected a joint, {edited}, got {joint!r}")
        if joint.name in self._tree.fixed_joints:
            raise ValueError(f"with_joint: joint {joint.name!r} is a fixed joint, and cannot be another")
        index = self._tree.joint_index(joint.name)
        old = joint_of(self._tree, index)
        if joint.links != old.links:
            raise ValueError(f"joint {joint.name!r} connects {old.links} in the robot, not {joint.links}")
        follows = old.mimic is not None or any(b.mimic and b.mimic.joint == joint.name for b in self._tree.bodies)
        if follows and (joint.nq, joint.nv) != (old.nq, old.nv):
            raise ValueError(f"joint {joint.name!r} follows a joint or is followed: its type cannot get other sizes")
        findings = Findings()
        check_joint_values(findings, joint_description(self._tree.name, joint))
        findings.raise_errors()
        bodies = list(self._tree.bodies)
        bodies[index] = body_with(joint, bodies[index])
        return type(self)(settled_anew(replace(self._tree, bodies=tuple(bodies))))

    @edits
    def with_inertia(
        self,
        link: str,
        *,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | Inertia | None = None,
    ) -> Self:
        """The robot with another mass [kg], centre of mass or rotational inertia of one link; what is left out stays.

        ``com`` (3,) is the centre of mass from the link's origin, in the link's axes [m]; ``inertia`` is about the
        centre of mass, in the link's axes [kg·m²]: a symmetric matrix (3, 3) or the three numbers of its diagonal.  A
        `linkwork.spatial.Inertia`, which is about the link's origin, stands for all three.  The link is any of
        `links`, one that is welded to another too: what moves with it gets heavier in every function.

        Raises UnknownNameError for a link that is not there, and ValueError for numbers that no body has, by the rules
        of the reader; what these rules find odd is added to the warnings of `report`.
        """
        self._tree.require_inertias("with_inertia")
        frame = link_frame(self._tree, told(self._tree.bodies, self._tree.frames), link)
        who = f"with_inertia: link {link!r}"
        whole = inertia if isinstance(inertia, Inertia) else None
        if whole is not None and (mass is not None or com is not None):
            raise TypeError(f"{who}: an Inertia has its mass and its centre: leave out mass and com")
        old_mass, old_com, about = taken_apart(frame.inertia if whole is None else whole)
        if whole is None and inertia is not None:
            about = given_inertia(inertia, who)
        mass, com = old_mass if mass is None else mass, tuple(old_com) if com is None else com
        found, findings = _checked(who, mass, com, about, (*frame.visuals, *frame.collisions))
        frames = told(self._tree.bodies, self._tree.frames)
        frames = tuple(replace(f, inertia=found) if f.name == link else f for f in frames)
        return type(self)(_weighed(self._tree, frames, findings))

    @edits
    def with_gravity(self, gravity: Sequence[float]) -> Self:
        """The robot under another gravity, three numbers in the world's axes [m/s²]; ``(0, 0, 0)`` is none.

        >>> import linkwork as lw
        >>> lw.load("arm7").with_gravity((0, 0, 0)).gravity_force({"elbow": -1.2}).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]

        Raises ValueError for what is no three finite numbers.
        """
        return type(self)(replace(self._tree, gravity=read_gravity(gravity)))

    @edits
    def with_payload(
        self,
        frame: str,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        *,
        name: str = "payload",
    ) -> Self:
        """The robot with a load of ``mass`` [kg] welded to a frame: what a hand holds, what a back carries.

        ``com`` (3,) is its centre of mass from the frame's origin, in the frame's axes [m], and ``inertia`` about its
        centre, in the same axes [kg·m²], as in `with_inertia`; none by default, a mass in a point.  The load is a link
        of its own, called ``name``, whose frame is that of ``frame``; the fixed joint before it is called
        ``{name}_joint``.  So it can be found, weighed and changed again.

        Raises UnknownNameError for a frame that is not there, and ValueError for numbers that no body has and for a
        name that is taken.
        """
        tree, joint = self._tree, f"{name}_joint"
        tree.require_inertias("with_payload")
        carrier = tree.frame(frame)
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"with_payload: name: expected a text, got {name!r}")
        if name == "world" or any(f.name == name for f in tree.frames):
            raise ValueError(f"with_payload: the robot has a link {name!r} already: give the load another name=...")
        if joint in tree.carried:
            raise ValueError(f"with_payload: the robot has a joint {joint!r} already: give the load another name=...")
        who = f"with_payload: {name!r}"
        found, findings = _checked(who, mass, com, given_inertia(inertia, who), ())
        load = Frame(name, carrier.body, carrier.placement, found, fixed_joint=joint, welded_to=frame)
        return type(self)(_weighed(tree, (*told(tree.bodies, tree.frames), load), findings))

    @edits
    def locked(self, joints: Mapping[str, ArrayLike] | Iterable[str]) -> Self:
        """The robot with joints held where they are given: they become fixed joints, and leave q and v.

        ``joints`` is a dict of configurations by joint name, ``{"elbow": 1.2}``, a number or as many as the joint's nq
        [rad, m], or a list of names, whose joints are held at their zero.  What a joint carries is welded to what
        carries it; links and joints keep their names, and all else stays as it was.  Joints that follow a locked one
        are locked with it, where their couplings have them.

        >>> import linkwork as lw
        >>> lw.load("arm7").locked({"elbow": -1.2, "wrist_roll": 0.0}).nq
        5

        Raises UnknownNameError for a joint that is not there, and ValueError, naming the joint, for a configuration
        that is none or is outside of the joint's limits, for a joint that follows another which is not locked, or is
        locked elsewhere, and where a constraint is of a joint that would be locked.
        """
        return type(self)(locked(self._tree, held_configurations(self._tree, joints)))


# -- inertias as people write them


def _checked(who: str, mass: Any, com: Any, about: Symmetric3, shapes: Sequence[Geometry]) -> tuple[Inertia, Findings]:
    """The inertia about the link's origin, and what the reader's rules find odd about it.  Raises ValueError."""
    weight = real_array(f"{who}: mass: expected a number [kg]", mass)
    center = real_array(f"{who}: com: expected three numbers [m]", com)
    if weight.shape != () or center.shape != (3,):
        raise ValueError(f"{who}: mass and com: expected a mass and a com of three numbers, got {mass!r} and {com!r}")
    findings = Findings()
    found = check_inertial(findings, Location(who), float(weight), Vec3.of(center.tolist()), about, shapes)
    if findings.errors:
        raise ModelError([replace(issue, hint=None) for issue in findings.errors])  # hints are for those of files
    return found, findings


def _weighed(tree: Tree, frames: tuple[Frame, ...], findings: Findings) -> Tree:
    """The tree with these links, and bodies that weigh what they do."""
    bodies = with_summed_inertias(tree.bodies, frames)
    report = Report((*tree.report.warnings, *findings.warnings))
    return replace(tree, bodies=bodies, frames=frames, report=report)
