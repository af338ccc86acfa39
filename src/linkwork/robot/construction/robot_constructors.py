"""Constructors of `Robot` from files, from links and joints, from Denavit–Hartenberg parameters, and from a robot.

Sources: Denavit and Hartenberg, A kinematic notation for lower-pair mechanisms, ASME J. Applied Mechanics 22, 1955
(standard, or distal); Craig, Introduction to Robotics, 1986, section 3.4 (modified, or proximal).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, Self, Unpack

from numpy.typing import ArrayLike

from linkwork._util.messages import nearest, quoted
from linkwork._util.validation import name as named
from linkwork.errors import Findings, Issue, Location
from linkwork.formats.registry import describe_mujoco
from linkwork.joints import Prismatic, Revolute
from linkwork.kernels.robot_base import RobotBase
from linkwork.kinematics.poses import warn_of_degrees
from linkwork.model.actuator import Actuator
from linkwork.model.coupled_joints import read_couplings, with_couplings
from linkwork.model.tree_edits import reroot
from linkwork.robot.construction.link import Link, Part, tree_of_parts
from linkwork.robot.construction.robot_loading import (
    BuildOptions,
    LoadOptions,
    Mimicry,
    Options,
    read_robot,
    read_robot_string,
)
from linkwork.robot.joint.joint import Joint
from linkwork.robot.joint.passive_parameters import DRIVE
from linkwork.spatial import Pose, Rotation, Vec3
from linkwork.spatial.arguments import checked_array, checked_pose
from linkwork.spatial.rotation import cos_sin

__all__ = ["Constructors"]


class Constructors(RobotBase):
    """Class methods that construct robots, for any class that has a constructor from a kinematic tree."""

    __slots__ = ()

    @classmethod
    def from_urdf(cls, path: str | os.PathLike[str], **options: Unpack[LoadOptions]) -> Self:
        """Return the robot of the URDF file ``path``; the options are as in `linkwork.load`."""
        return cls(read_robot(path, Options.of("from_urdf", options), "urdf"))

    @classmethod
    def from_urdf_string(cls, text: str | bytes, **options: Unpack[LoadOptions]) -> Self:
        """Return the robot of a text in URDF; the options are as in `linkwork.load`."""
        return cls(read_robot_string(text, Options.of("from_urdf_string", options, without=_FILES)))

    @classmethod
    def from_mujoco(
        cls,
        model: Any,
        *,
        floating_base: bool | None = None,
        gravity: Sequence[float] | None = None,
        strict: bool = False,
        mimic: Mimicry = "free",
    ) -> Self:
        """Return the robot of a compiled model of MuJoCo (`mujoco.MjModel`), or of a specification (`mujoco.MjSpec`).

        It reads the arrays of the model as they are, so changes of the model in Python count. ``gravity``, ``strict``
        and ``mimic`` are as in `linkwork.load`; ``floating_base`` is by default as the model says. ``robot.report``
        lists the model's content that the robot does not have.

        Raises TypeError for another type, ModelError for a model that linkwork cannot read.
        """
        options = Options(floating_base=floating_base, gravity=gravity, strict=strict, mimic=mimic)
        return cls(options.tree(describe_mujoco(model, floating_base=options.floating_base)))

    @classmethod
    def build(
        cls,
        name: str,
        *parts: Part,
        actuators: Iterable[Actuator] = (),
        named_configurations: Mapping[str, Any] = MappingProxyType({}),
        **options: Unpack[BuildOptions],
    ) -> Self:
        """Build a robot from links and joints, with the same checks as for a file.

        ``parts`` are links (`linkwork.Link`), joints that connect them (`linkwork.Joint.of` with ``parent`` and
        ``child``, the names of links), and nested lists of these, such as a function returns for a leg.  The robot has
        links and joints in this order.  A joint with the parent ``"world"`` needs no link for it.  ``actuators`` are
        `linkwork.Actuator`.  ``named_configurations`` is a dict by name of dicts by joint name, or of
        ``{"q": ..., "v": ..., "controls": ...}``, each by names.

        >>> import linkwork as lw
        >>> pendulum = lw.Robot.build(
        ...     "pendulum",
        ...     lw.Link("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.083, 0.083, 0.0)),
        ...     lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="world", child="rod"),
        ... )
        >>> pendulum.gravity_force([0.3]).round(3)
        array([1.45])

        The robot equals that of an equivalent URDF file, bit for bit.  The options are those of `linkwork.load`, except
        ``continuous``, which joint types determine, and ``loops``.  The default of ``mimic`` is ``"coupled"``: joints
        with a mimic follow their master, whereas those of a file are free by default.

        Raises ModelError that lists all errors of the robot; TypeError for an invalid part.
        """
        named("build", "name", name, description="the robot's name, a string", empty=True)
        return cls(tree_of_parts(name, parts, _options("build", options), actuators, named_configurations))

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
        """Build a chain of revolute and prismatic joints from a table of Denavit–Hartenberg parameters.

        Each of the ``rows`` is a dict of ``a`` [m], ``alpha`` [rad], ``d`` [m] and ``theta`` [rad], 0 by default, for
        the transform from frame i − 1 to frame i:

        - ``"standard"`` (distal; Denavit and Hartenberg, Paul): Rz(θ) Tz(d) Tx(a) Rx(α), joint i is about z of i − 1;
        - ``"modified"`` (proximal; Khalil, Craig): Rx(α) Tx(a) Rz(θ) Tz(d), joint i is about z of i; a and α have the
          index i − 1 in Craig.

        A joint is revolute, with its angle q added to θ, or with ``"prismatic": True`` prismatic, with its displacement
        q added to d.  A row may also have the name of its ``joint`` ("joint1", ...) and arguments of `Joint.of`:
        ``lower``, ``upper``, ``velocity``, ``effort``, ``damping``, ``friction``, ``armature`` and so on.  It may have
        the child ``link``, a name ("link1", ...) with ``mass``, ``com`` and ``inertia``, or a `Link`, whose frame is
        frame i.

        ``base`` is the pose of frame 0 in the root link "base", and ``tool`` that of a frame "tool" in the last link,
        poses (4, 4) or positions (3,).  Further ``parts`` may be attached to these links: a gripper, a payload.  The
        options are those of `build`.

        >>> from math import pi
        >>> import linkwork as lw
        >>> planar = lw.Robot.from_dh("planar", [{"a": 0.5}, {"a": 0.3}], convention="standard")
        >>> planar.pose([pi / 2, -pi / 2], "link2")[:3, 3].round(12).tolist()
        [0.3, 0.5, 0.0]

        Raises ModelError that lists all errors, ValueError for an invalid convention or pose.
        """
        chain = dh_parts(name, rows, convention, base, tool)
        return cls(tree_of_parts(name, (chain, parts), _options("from_dh", options)))

    def with_couplings(self, couplings: Mapping[str, Any]) -> Self:
        """Return the robot with joints that follow others exactly in every function: q = ratio · q_master + offset.

        ``couplings`` is ``{"follower": ("master", ratio, offset)}``; by default the ratio is 1 and the offset 0 [rad,
        m].  A follower loses its own coordinates in q and v: its slices are its master's, and forces on it act on its
        master, times the ratio.  If a master follows another joint, all follow that joint.  Existing couplings remain
        unless they are replaced.

        >>> import linkwork as lw
        >>> robot = lw.load("arm7_gripper")
        >>> robot.with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)}).nv == robot.nv - 1
        True

        Raises UnknownNameError for an unknown joint, and ValueError, with joints and values, for a cycle of couplings,
        values that are not finite, and joint types that cannot be coupled: q̇ must be v.
        """
        return type(self)(with_couplings(self._tree, read_couplings(self._tree, couplings)))

    def with_root(self, link: str) -> Self:
        """Return the same mechanism with another root link; joints keep their names, signs and coordinates.

        For a floating base, q and v of the base joint become pose and twist of the new root; other coordinates do not
        change.  For a fixed base, the new root is fixed to the world, its frame is the world frame, and the old base
        moves; if no link is fixed to the world, a link "ground" without mass moves.  Gravity does not change in the
        world's axes.

        Relative poses, twists and accelerations of frames depend on the joints between them as before.  Raises
        UnknownNameError for an unknown link, ValueError if a link "world" has mass or shapes.
        """
        return type(self)(reroot(self._tree, link))


_FILES = ("xacro", "arguments")
"""Options that apply to files only."""


def _options(function: str, value: BuildOptions) -> Options:
    """Return the options of `build` or `from_dh`; joints with a mimic relation are coupled by default."""
    without = ("base", "continuous", "loops", "trusted", "budget", "package_dirs", *_FILES)
    return Options.of(function, {"mimic": "coupled", **value}, without=without)


_DH_UNITS = {"a": "m", "alpha": "rad", "d": "m", "theta": "rad"}
_OF_JOINT = ("lower", "upper", "velocity", "effort", "damping", "friction", *DRIVE)
_OF_LINK = ("mass", "com", "inertia")
_COLUMNS = (*_DH_UNITS, "prismatic", "joint", *_OF_JOINT, "link", *_OF_LINK)
_OTHER_COLUMNS = {  # names of other books and libraries
    "offset": "the offset of an angle is theta, and that of a prismatic joint is d",
    "r": "the length along x is a",
    "length": "the length along x is a, and that along z is d",
    **dict.fromkeys(("type", "sigma", "joint_type", "jointtype"), '"prismatic": True is a joint that slides along z'),
    **dict.fromkeys(("q", "q_offset"), "theta is the value of an angle at q = 0, and d that of a length"),
    "twist": "the angle about x is alpha",
}
_Z = Vec3(0.0, 0.0, 1.0)


def dh_parts(
    robot: str, rows: Iterable[Mapping[str, Any]], convention: str, base: ArrayLike | None, tool: ArrayLike | None
) -> list[Link | Joint]:
    """Return the links and joints of a table of Denavit–Hartenberg parameters; see `Robot.from_dh`.

    Raises ModelError that lists all invalid rows.
    """
    if convention not in ("standard", "modified"):
        expected = "'standard' (Denavit and Hartenberg, distal) or 'modified' (Craig, proximal)"
        raise ValueError(f"convention: expected {expected}, got {convention!r}")
    if isinstance(rows, (Mapping, str)) or not isinstance(rows, Iterable):
        raise TypeError(f"rows: expected a list with a dict for each joint, got {rows!r}")
    before, X_before = "base", checked_pose(base, "base")
    parts: list[Link | Joint] = [Link("base")]
    findings = Findings()
    for k, row in enumerate(rows, 1):
        try:
            joint, link = _joint_and_link(row, k, convention, before, X_before)
        except (TypeError, ValueError) as error:
            where = Location(element=f"robot[{robot}]/row[{k}]")
            findings.error(Issue("DH_ROW", str(error), where))
            continue
        parts += [joint, link]
        before, X_before = link.name, Pose.identity()
    findings.raise_errors()
    if len(parts) == 1:
        raise ValueError("rows: expected at least one row, got an empty list")
    return parts if tool is None else _with_frame(parts, "tool", checked_pose(tool, "tool"))


def _joint_and_link(row: Any, k: int, convention: str, before: str, X_before: Pose) -> tuple[Joint, Link]:
    """Return the joint of row k of the table, and the link that is its child.

    ``before`` is the joint's parent link.
    """
    if not isinstance(row, Mapping):
        order = "columns are named, since their order differs between books"
        raise TypeError(f'expected a dict such as {{"a": 0.3, "alpha": 0.0}}, got {row!r}; {order}')
    for key in row:
        if key not in _COLUMNS:
            close = nearest(str(key), _COLUMNS)
            hint = close if close.startswith("did") else f"there are {', '.join(_COLUMNS)}"
            hint = _OTHER_COLUMNS.get(key, hint) if isinstance(key, str) else hint
            raise ValueError(f"{quoted(str(key))} is not a column: {hint}")
    prismatic = row.get("prismatic", False)
    if not isinstance(prismatic, bool):
        raise ValueError(f"prismatic: expected True or False, got {prismatic!r}")
    values = (
        float(checked_array(row.get(column, 0.0), f"{column}: expected a number [{unit}]", ()))
        for column, unit in _DH_UNITS.items()
    )
    for column in ("alpha", "theta"):
        warn_of_degrees("from_dh", column, row.get(column, 0.0))
    placement, rotor = _placements(convention, *values)
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
    link, inertial = row.get("link", f"link{k}"), {key: row[key] for key in _OF_LINK if key in row}
    if not isinstance(link, Link):
        return Link(link, **inertial)
    if inertial:
        raise ValueError(f"link {link.name!r} has its own inertia: expected no {' and no '.join(inertial)}")
    return link


def _placements(convention: str, a: float, alpha: float, d: float, theta: float) -> tuple[Pose, Pose]:
    """Return the constant transforms before and after a joint about or along z.

    The rotation by θ and the translation by d commute with the joint's motion about and along the same axis z.
    """
    (c, s), (ca, sa) = cos_sin(theta), cos_sin(alpha)
    if convention == "standard":
        return Pose.identity(), Pose(Rotation.from_rpy(alpha, 0.0, theta), Vec3(a * c, a * s, d))
    tilt = Rotation.from_rpy(alpha, 0.0, 0.0)
    rotation = tilt if theta == 0.0 else tilt @ Rotation.from_rpy(0.0, 0.0, theta)
    return Pose(rotation, Vec3(a, 0.0 - d * sa, d * ca)), Pose.identity()


def _with_frame(parts: list[Link | Joint], name: str, X: Pose) -> list[Link | Joint]:
    """Return ``parts`` with a frame called ``name`` at the pose X added to the last link."""
    last = parts[-1]
    assert isinstance(last, Link)
    return [*parts[:-1], last.with_frame(name, X)]
