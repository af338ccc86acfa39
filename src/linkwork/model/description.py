"""Description of a robot by a file or a program: links and joints by name, with source locations.

The readers of the formats and `Robot.build` return a `Description`; `linkwork.model.tree_builder` builds a `Tree` from
it, or reports what is wrong.
"""

from __future__ import annotations

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
    from linkwork.model.named_state import NamedState
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
    "NamedStateDescription",
]


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
    dynamics: str = "urdf"  # what damping and friction mean: see `Body`
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

    ``mimic_of`` names a joint whose mimic relation states the same.  Such a constraint is added only if joints are
    loaded with ``mimic="free"``.
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
    configurations.
    """

    frames: tuple[FrameDescription, ...] = ()
    points: tuple[MarkDescription, ...] = ()
    directions: tuple[MarkDescription, ...] = ()
    constraints: tuple[ConstraintDescription, ...] = ()
    force_elements: tuple[ForceElementDescription, ...] = ()
    actuators: tuple[ActuatorDescription, ...] = ()
    named_configurations: tuple[NamedStateDescription, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """All links, joints and further frames in the order of the file, and the warnings of the reader.

    A description whose root link is the world (``base_is_stated``) says itself how each base moves.
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
