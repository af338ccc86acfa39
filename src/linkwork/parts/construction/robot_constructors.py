"""Constructors of robots: from files, from parts, from Denavit and Hartenberg's parameters, and from another robot.

Sources: Denavit and Hartenberg, A kinematic notation for lower-pair mechanisms, ASME J. Applied Mechanics 22, 1955
(standard, or distal); Craig, Introduction to Robotics, 1986, section 3.4 (modified, or proximal).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, Self, Unpack

from numpy.typing import ArrayLike

from linkwork._util.messages import nearest, quoted
from linkwork._util.validation import name as named
from linkwork.errors import Findings, Issue, Location
from linkwork.joints import Prismatic, Revolute
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.actuator import Actuator
from linkwork.model.coupled_joints import read_couplings, with_couplings
from linkwork.model.tree_edits import reroot
from linkwork.parts.construction.link import Link, Part, built
from linkwork.parts.construction.robot_loading import (
    BuildOptions,
    LoadOptions,
    Options,
    read_robot,
    read_robot_string,
)
from linkwork.parts.joint.joint import Joint
from linkwork.parts.joint.passive_parameters import DRIVE
from linkwork.spatial import Pose, Rotation, Vec3
from linkwork.spatial.arguments import given_numbers, given_pose
from linkwork.spatial.rotation import cos_sin

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
        named("build", "name", name, what="the robot's name, a string", empty=True)
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
        return type(self)(with_couplings(self._tree, read_couplings(self._tree, couplings)))

    def with_root(self, link: str) -> Self:
        """Return the same mechanism with another root link; joints keep their names, signs and places in q and v.

        A robot with a floating base floats by the new root: q and v of the joint that carries it become pose and twist
        of that link, all others stay.  A robot fixed to the world is fixed by the new root, whose frame becomes the
        world's, and what was fixed moves; the vector of gravity stays as it is in the world's axes.

        Poses, twists and accelerations of any frame relative to any other depend on the joints between them as before.
        Raises UnknownNameError for a link that is not there, ValueError where what moves then has no name of its own.
        """
        return type(self)(reroot(self._tree, link))


def _options(function: str, value: BuildOptions) -> Options:
    """How a robot is built: joints follow others where they are written to."""
    return Options.of(function, {"mimic": "coupled", **value}, without=("continuous", "loops"))


_NUMBERS = {"a": "m", "alpha": "rad", "d": "m", "theta": "rad"}
_OF_JOINT = ("lower", "upper", "velocity", "effort", "damping", "friction", *DRIVE)
_OF_LINK = ("mass", "com", "inertia")
_COLUMNS = (*_NUMBERS, "prismatic", "joint", *_OF_JOINT, "link", *_OF_LINK)
_Z = Vec3(0.0, 0.0, 1.0)


def dh_parts(
    robot: str, rows: Iterable[Mapping[str, Any]], convention: str, base: ArrayLike | None, tool: ArrayLike | None
) -> list[Link | Joint]:
    """The links and joints of a table: see `Robot.from_dh`.  Raises ModelError with all rows that are none."""
    if convention not in ("standard", "modified"):
        raise ValueError(f"convention: expected 'standard' (distal) or 'modified' (proximal), got {convention!r}")
    if isinstance(rows, (Mapping, str)) or not isinstance(rows, Iterable):
        raise TypeError(f"rows: expected a list with a dict for each joint, got {rows!r}")
    before, X_before = "base", given_pose(base, "base")
    parts: list[Link | Joint] = [Link("base")]
    findings = Findings()
    for k, row in enumerate(rows, 1):
        try:
            joint, link = _parts(row, k, convention, before, X_before)
        except (TypeError, ValueError) as error:
            where = Location(element=f"robot[{robot}]/row[{k}]")
            findings.error(Issue("DH_ROW", str(error), where))
            continue
        parts += [joint, link]
        before, X_before = link.name, Pose.identity()
    findings.raise_errors()
    if len(parts) == 1:
        raise ValueError("rows: expected at least one, got none")
    return parts if tool is None else _with_frame(parts, "tool", given_pose(tool, "tool"))


def _parts(row: Any, k: int, convention: str, before: str, X_before: Pose) -> tuple[Joint, Link]:
    """The joint of row k, which hangs from the link before it, and the link that it carries."""
    if not isinstance(row, Mapping):
        order = "the order of columns is not the same in all books, so they are named"
        raise TypeError(f'expected a dict such as {{"a": 0.3, "alpha": 0.0}}, got {row!r}; {order}')
    for key in row:
        if key not in _COLUMNS:
            close = nearest(str(key), _COLUMNS)
            hint = close if close.startswith("did") else f"there are {', '.join(_COLUMNS)}"
            raise ValueError(f"{quoted(str(key))} is no column: {hint}")
    prismatic = row.get("prismatic", False)
    if not isinstance(prismatic, bool):
        raise ValueError(f"prismatic: expected True or False, got {prismatic!r}")
    numbers = (
        float(given_numbers(row.get(column, 0.0), f"{column}: expected a number [{unit}]", ()))
        for column, unit in _NUMBERS.items()
    )
    placement, rotor = _step(convention, *numbers)
    link = _link(row, k)
    joint = Joint.of(
        Prismatic(_Z) if prismatic else Revolute(_Z),
        name=row.get("joint", f"joint{k}"),
        parent=before,
        child=link.name,
        placement=placement if X_before == Pose.identity() else X_before @ placement,
        rotor=rotor,
        **{key: row[key] for key in _OF_JOINT if key in row},
    )
    return joint, link


def _link(row: Mapping[str, Any], k: int) -> Link:
    link, weight = row.get("link", f"link{k}"), {key: row[key] for key in _OF_LINK if key in row}
    if not isinstance(link, Link):
        return Link(link, **weight)
    if weight:
        raise ValueError(f"link {link.name!r} says itself what it weighs: expected no {' and no '.join(weight)}")
    return link


def _step(convention: str, a: float, alpha: float, d: float, theta: float) -> tuple[Pose, Pose]:
    """What stands before the joint about z, and what after it.

    The turn by θ and the travel along d commute with the joint's own motion, which is about and along the same z.
    """
    (c, s), (ca, sa) = cos_sin(theta), cos_sin(alpha)
    if convention == "standard":
        return Pose.identity(), Pose(Rotation.from_rpy(alpha, 0.0, theta), Vec3(a * c, a * s, d))
    tilt = Rotation.from_rpy(alpha, 0.0, 0.0)
    turned = tilt if theta == 0.0 else tilt @ Rotation.from_rpy(0.0, 0.0, theta)
    return Pose(turned, Vec3(a, 0.0 - d * sa, d * ca)), Pose.identity()


def _with_frame(parts: list[Link | Joint], name: str, X: Pose) -> list[Link | Joint]:
    """The parts with a further frame on the last link."""
    last = parts[-1]
    assert isinstance(last, Link)
    return [*parts[:-1], last.with_frame(name, X)]
