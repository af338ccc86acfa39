"""Description of a robot by a file or a program: links and joints by name, with source locations.

The readers of the formats and `Robot.build` return a `Description`; `linkwork.model.tree_builder` builds a `Tree` from
it, or reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from linkwork._util.lazy_dataclass import dataclass
from linkwork.errors import Issue, Location
from linkwork.model.body import DisabledPair, Drive, Following, Limits
from linkwork.spatial import Inertia, Pose, Vec3

if TYPE_CHECKING:
    from linkwork.constraints import Constraint
    from linkwork.force_elements import ForceElement
    from linkwork.joints import JointType
    from linkwork.model.actuator import Actuator
    from linkwork.shapes import Geometry


__all__ = [
    "ActuatorDescription",
    "Attachments",
    "ConstraintDescription",
    "Description",
    "FrameDescription",
    "JointDescription",
    "LinkDescription",
    "MarkDescription",
    "NamedState",
    "NamedStateDescription",
]

ByJoint = tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class LinkDescription:
    """A rigid link: its inertia about its own frame's origin (zero by default) and its shapes."""

    name: str
    inertia: Inertia
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    where: Location = Location()


@dataclass(frozen=True, slots=True)
class JointDescription:
    """A joint between two links, which are stated by their names."""

    name: str
    parent: str
    child: str
    joint: JointType
    placement: Pose  # of the joint's frame F in the parent link
    limits: Limits
    damping: tuple[float, ...]
    friction: tuple[float, ...]
    mimic: Following | None = None
    rotor: Pose = Pose.identity()  # of the child link in the joint's frame M
    where: Location = Location()
    dynamics: str = "urdf"  # meaning of damping and friction: see `Body`
    drive: Drive = Drive()


@dataclass(frozen=True, slots=True)
class FrameDescription:
    """A named frame fixed to a link, without mass or shapes."""

    name: str
    link: str
    placement: Pose  # X_link_frame
    where: Location = Location()


@dataclass(frozen=True, slots=True)
class MarkDescription:
    """A named point or direction fixed to a frame."""

    name: str
    on: str
    vector: tuple[float, ...]  # position [m] or direction
    where: Location = Location()


@dataclass(frozen=True, slots=True)
class ConstraintDescription:
    """A constraint of the robot and its source location.

    ``mimic_of`` is the name of a joint whose mimic relation states the same constraint. Such a constraint is added
    only if joints are loaded with ``mimic="free"``.
    """

    constraint: Constraint
    where: Location = Location()
    mimic_of: str | None = None


@dataclass(frozen=True, slots=True)
class ForceElementDescription:
    """A spring, a damper or a bushing between bodies, and its source location."""

    element: ForceElement
    where: Location = Location()


@dataclass(frozen=True, slots=True)
class ActuatorDescription:
    """An actuator and its source location."""

    actuator: Actuator
    where: Location = Location()


@dataclass(frozen=True, slots=True)
class NamedStateDescription:
    """A named configuration and its source location."""

    state: NamedState
    where: Location = Location()


@dataclass(frozen=True, slots=True)
class Attachments:
    """Additions to an existing robot, as a file states them.

    They are frames, points and directions, the constraints, force elements and actuators that refer to them, and named
    configurations.  ``errors`` are the reader's errors, to be reported together with the errors of `attached`.
    """

    frames: tuple[FrameDescription, ...] = ()
    points: tuple[MarkDescription, ...] = ()
    directions: tuple[MarkDescription, ...] = ()
    constraints: tuple[ConstraintDescription, ...] = ()
    force_elements: tuple[ForceElementDescription, ...] = ()
    actuators: tuple[ActuatorDescription, ...] = ()
    named_configurations: tuple[NamedStateDescription, ...] = ()
    errors: tuple[Issue, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """All links, joints and further frames in the order of the file, and the warnings of the reader.

    If ``base_is_stated``, the root link is the world, and joints state how each base moves.
    """

    name: str
    links: tuple[LinkDescription, ...]
    joints: tuple[JointDescription, ...]
    warnings: tuple[Issue, ...] = ()
    source: str | None = None
    frames: tuple[FrameDescription, ...] = ()
    where: Location = Location()
    inertias_ignored: bool = False  # True if the links' inertias were left out
    errors: tuple[Issue, ...] = ()  # errors found by the reader, reported together with those of the tree builder
    constraints: tuple[ConstraintDescription, ...] = ()
    actuators: tuple[ActuatorDescription, ...] = ()
    named_configurations: tuple[NamedStateDescription, ...] = ()
    points: tuple[MarkDescription, ...] = ()
    directions: tuple[MarkDescription, ...] = ()
    force_elements: tuple[ForceElementDescription, ...] = ()
    disabled_collisions: tuple[DisabledPair, ...] = ()  # pairs of links without distance checks
    enabled_collisions: tuple[tuple[str, str], ...] = ()  # links connected by a joint that are checked nevertheless
    gravity: Vec3 | None = None  # as the file states it [m/s²]
    base_is_stated: bool = False


@dataclass(frozen=True, slots=True)
class NamedState:
    """A named configuration, optionally with velocity and controls.

    Joints and actuators that are not listed are at zero.
    """

    name: str
    q: ByJoint  # by joint, nq values each
    v: ByJoint | None = None  # by joint, nv values each; None for no velocity
    controls: tuple[tuple[str, float], ...] | None = None  # by actuator; None for no controls

    def without(self, *, joints: Collection[str] = (), controls: Collection[str] = ()) -> NamedState:
        """Return the state without the listed joints and without the controls of the listed actuators."""
        controls_left = self.controls and tuple(pair for pair in self.controls if pair[0] not in controls)
        return replace(self, q=_without(self.q, joints), v=self.v and _without(self.v, joints), controls=controls_left)

    def with_joint(self, name: str, q: Sequence[float], v: Sequence[float]) -> NamedState:
        """Return the state with the configuration q of one joint and, if the state has velocities, its velocity v."""
        stated = None if self.v is None else _with(self.v, name, v)
        return replace(self, q=_with(self.q, name, q), v=stated)


def _without(pairs: ByJoint, names: Collection[str]) -> ByJoint:
    return tuple(pair for pair in pairs if pair[0] not in names)


def _with(pairs: ByJoint, name: str, values: Sequence[float]) -> ByJoint:
    result: Mapping[str, tuple[float, ...]] = {**dict(pairs), name: tuple(values)}
    return tuple(result.items())
