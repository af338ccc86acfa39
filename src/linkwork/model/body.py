"""Components of a robot's tree: bodies with their joints, frames on bodies, and single placed joints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.joints.base.checks import call_joint
from linkwork.joints.base.generic_rank import check_joint_type
from linkwork.model.friction_laws import DryFriction
from linkwork.spatial import Inertia, Motion, Pose, Subspace, Vec3

if TYPE_CHECKING:
    from linkwork.joints import JointType
    from linkwork.shapes import Geometry

__all__ = [
    "FRICTION_VELOCITY",
    "WORLD",
    "Body",
    "Direction",
    "DisabledPair",
    "Drive",
    "Following",
    "Frame",
    "Limits",
    "PlacedJoint",
    "Point",
    "Scalars",
]


FRICTION_VELOCITY = 0.01  # default v_s of the smooth law of friction [rad/s, m/s]
WORLD = -1  # index of the world among the bodies


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a joint: configuration (nq values each), velocity and effort (nv each); ±inf for no bound.

    Bounds of acceleration and jerk have nv values each, or none if no coordinate has one.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity: tuple[float, ...]
    effort: tuple[float, ...]
    enabled: bool = True  # if False, the bounds of the configuration have no effect
    acceleration: tuple[float, ...] = ()  # [rad/s², m/s²]
    jerk: tuple[float, ...] = ()  # [rad/s³, m/s³]

    @property
    def positions(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Effective (lower, upper) bounds of the configuration; −inf and inf if they are disabled."""
        if self.enabled:
            return self.lower, self.upper
        return tuple(-math.inf for _ in self.lower), tuple(math.inf for _ in self.upper)

    def outside(self, q: Sequence[float], slack: float) -> Iterator[tuple[float, float, float]]:
        """Yield (value, lower, upper) of each coordinate that exceeds a bound by more than ``slack``.

        The slack is relative to 1, or to the bound if that is larger.
        """
        for value, low, high in zip(q, *self.positions, strict=True):
            if not low - slack * max(1.0, abs(low)) <= value <= high + slack * max(1.0, abs(high)):
                yield value, low, high

    @staticmethod
    def none(joint: JointType) -> Limits:
        inf = float("inf")
        return Limits((-inf,) * joint.nq, (inf,) * joint.nq, (inf,) * joint.nv, (inf,) * joint.nv)


@dataclass(frozen=True, slots=True)
class Following:
    """Coupling of a joint to a master: q = ratio · q_master + offset, and so v = ratio · v_master."""

    joint: str  # name of the master, which follows no other joint
    ratio: float = 1.0
    offset: float = 0.0  # [rad, m]

    def through(self, master: Following) -> Following:
        """Return the coupling of this joint to the joint at the start of a chain of two couplings.

        ``master`` is the coupling of this joint's master to that joint: q_a = m q_b + n and q_b = k q_c + l give q_a =
        m k q_c + (m l + n).
        """
        return Following(master.joint, self.ratio * master.ratio, self.ratio * master.offset + self.offset)

    def q(self, master: Sequence[Any]) -> list[Any]:
        """Return the follower's configuration, ratio · q_master + offset, from the configuration ``master``."""
        return [self.ratio * x + self.offset for x in master]

    def v(self, master: Sequence[Any]) -> list[Any]:
        """Return the follower's velocity, ratio · v_master, from the velocity ``master``."""
        return [self.ratio * x for x in master]

    def S(self, follower: Subspace) -> Subspace:
        """Return a motion subspace times the ratio, whose columns are twists per unit of the master's velocity."""
        return Subspace(tuple(column * self.ratio for column in follower.columns))


@dataclass(frozen=True, slots=True)
class Drive:
    """Parameters of a joint's drive and springs.  An empty field has its default value."""

    armature: tuple[float, ...] = ()  # nv: rotor inertia as felt at the joint [kg·m², kg]; default 0
    gear_ratio: tuple[float, ...] = ()  # nv: rotor revolutions per revolution of the joint; default 1
    stiffness: tuple[float, ...] = ()  # nv: of springs [N·m/rad, N/m]; default 0
    rest: tuple[float, ...] = ()  # nq: configuration of zero spring force; default the joint's zero
    static_friction: tuple[float, ...] = ()  # nv: maximum friction at rest [N·m, N]; default that of motion
    friction_velocity: tuple[float, ...] = ()  # nv: v_s of the smooth law, tanh(v / v_s) [rad/s, m/s]; default 0.01

    @staticmethod
    def full(values: Sequence[float], count: int, default: float) -> tuple[float, ...]:
        """Return ``values``, or ``count`` times the default if ``values`` is empty."""
        return tuple(values) or (default,) * count


@dataclass(frozen=True, slots=True)
class Body:
    """A moving body and the joint that connects it to its parent.

    The joint's frame F (the stator) is placed in the parent's frame, and the body's frame in the joint's frame M (the
    rotor): X_parent_body = placement · X_FM(q) · rotor.  In URDF the rotor is the identity.

    The arguments q and v of the methods are the tree's coordinates for the joint: the joint's own, or its master's if a
    coupling makes it follow another joint.  X, S and bias therefore describe the body's motion with respect to these
    coordinates, and algorithms need no further terms for couplings.
    """

    name: str
    parent: int  # index of the parent body, less than this body's; WORLD for the world
    joint_name: str
    joint: JointType
    placement: Pose  # X_parent_stator
    rotor: Pose  # X_rotor_body
    inertia: Inertia  # sum over its frames, about the body frame's origin, in its axes
    limits: Limits
    damping: tuple[float, ...]  # nv: N·s/m or N·m·s/rad
    friction: tuple[float, ...]  # nv: N or N·m
    mimic: Following | None = None  # coupling stated by the file; information only
    coupling: Following | None = None
    dynamics: str = "urdf"  # meaning of damping and friction: "urdf", or "none" if they have no effect
    links: tuple[str, str] | None = None  # names of the links that the joint connects
    drive: Drive = Drive()

    def __post_init__(self) -> None:
        check_joint_type(self.joint, self.joint_name)

    def call_joint(self, method: str, *arguments: Any) -> Any:
        """Return the result of a method of the joint's type.  Raises JointMethodError if the method raises."""
        return call_joint(self.joint_name, self.joint, method, *arguments)

    def X(self, q: Sequence[Any]) -> Pose:
        """Return X_parent_body, the pose of this body in its parent."""
        q = q if self.coupling is None else self.coupling.q(q)
        X: Pose = self.placement @ self.call_joint("X", q)
        return X if self.rotor.is_identity else X @ self.rotor

    def X_of_joint(self, q: Sequence[Any]) -> Pose:
        """Return X_stator_body, the pose of the body in the joint's frame F: X_FM(q) · rotor."""
        q = q if self.coupling is None else self.coupling.q(q)
        X: Pose = self.call_joint("X", q)
        return X if self.rotor.is_identity else X @ self.rotor

    def S(self, q: Sequence[Any]) -> Subspace:
        """Return the motion subspace of the twist relative to the parent, in this body's coordinates."""
        S = (
            self.call_joint("S", q)
            if self.coupling is None
            else self.coupling.S(self.call_joint("S", self.coupling.q(q)))
        )
        return S if self.rotor.is_identity else self.rotor.inv() @ S

    def S_dot(self, q: Sequence[Any], v: Sequence[Any]) -> Subspace:
        """Return Ṡ, the rate of S(q) at velocity v, in this body's coordinates; Ṡ v is `bias`."""
        if self.joint.nv == 0:
            return Subspace(())
        moving = seeded(q, self.call_joint("q_dot", q, v))
        level = moving[0].level
        columns = [[parts(x, level)[1] for x in column.elements()] for column in self.S(moving).columns]
        return Subspace(tuple(map(Motion.of, columns)))

    def bias(self, q: Sequence[Any], v: Sequence[Any]) -> Motion:
        """Return the acceleration relative to the parent at v̇ = 0, in this body's coordinates."""
        if self.coupling is not None:
            q, v = self.coupling.q(q), self.coupling.v(v)
        A: Motion = self.call_joint("bias", q, v)
        return A if self.rotor.is_identity else self.rotor.inv() @ A

    @property
    def ratio(self) -> float:
        """Ratio of the joint's velocity to its coordinate in v: 1, or the coupling's ratio for a follower."""
        return 1.0 if self.coupling is None else self.coupling.ratio

    @property
    def dry_friction(self) -> list[DryFriction]:
        """Dry friction along each velocity of the joint (nv); zero if the body's ``dynamics`` is "none"."""
        nv, drive = self.joint.nv, self.drive
        if self.dynamics == "none":
            return [DryFriction(0.0, 0.0, FRICTION_VELOCITY)] * nv
        scales = Drive.full(drive.friction_velocity, nv, FRICTION_VELOCITY)
        each = zip(self.friction, drive.static_friction or self.friction, scales, strict=True)
        return [DryFriction(*values) for values in each]

    @property
    def armature(self) -> list[float]:
        """Armature of the joint (nv) [kg·m², kg], reflected to its coordinates in v.

        For a joint that follows a master, these are the master's coordinates, and the armature is multiplied by the
        squared ratio.
        """
        return [x * self.ratio * self.ratio for x in Drive.full(self.drive.armature, self.joint.nv, 0.0)]


@dataclass(frozen=True, slots=True)
class Frame:
    """A named frame fixed to a body or to the world: a link, or a frame added by the user.

    For a link it also has the shapes and the inertia, which is part of the inertia of the body.
    """

    name: str
    body: int  # index of the body, or WORLD
    placement: Pose  # X_body_frame
    inertia: Inertia = Inertia.zero()  # about this frame's origin, in its axes
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    fixed_joint: str | None = None  # name of the fixed joint that welds it, if any
    welded_to: str | None = None  # name of the link that it is welded to or was added to

    @property
    def is_link(self) -> bool:
        """True for a link, False for a frame that was added to a link."""
        return self.fixed_joint is not None or self.welded_to is None


@dataclass(frozen=True, slots=True)
class Point:
    """A named point fixed to a frame."""

    name: str
    frame: str
    position: Vec3  # from the frame's origin, in its axes [m]


@dataclass(frozen=True, slots=True)
class Direction:
    """A named direction fixed to a frame."""

    name: str
    frame: str
    vector: Vec3  # of unit length, in the frame's axes


@dataclass(frozen=True, slots=True)
class DisabledPair:
    """Two links excluded from distance computations.

    ``reason`` is "Adjacent", "Never", "Always", "Default", "User" or another word of the SRDF file.
    """

    a: str
    b: str
    reason: str = "User"


Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class PlacedJoint:
    """A joint type placed between a parent link P and a child link B: X_PB = placement · X_FM(q) · rotor.

    If ``swapped``, the joint goes from the child to the parent, and X_PB is the inverse.
    """

    type: JointType
    placement: Pose = Pose.identity()  # X_parent_stator
    rotor: Pose = Pose.identity()  # X_rotor_child
    swapped: bool = False  # if True, the link before the joint is the child

    def X(self, q: Scalars) -> Pose:
        """Return X_PB, the pose of the child in the parent."""
        X: Pose = self.placement @ self.type.X(q) @ self.rotor
        return X.inv().formed() if self.swapped else X

    def across(self, q: Scalars, V: Motion) -> Motion:
        """Convert the motion V of a joint to the motion of its child B relative to its parent P, in B's coordinates.

        V is the motion of the rotor frame M relative to the stator frame F, in M's coordinates.
        """
        if self.swapped:
            return -(self.placement @ (self.type.X(q) @ V))
        moved: Motion = self.rotor.inv() @ V
        return moved

    def S(self, q: Scalars) -> Subspace:
        """Return the motion subspace of the child B relative to the parent P, in B's coordinates."""
        return Subspace(tuple(self.across(q, column) for column in self.type.S(q).columns))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """Return the spatial acceleration of B relative to P at v̇ = 0, in B's coordinates.

        If the joint is swapped, it is the negated acceleration of the joint's frame M, transformed to B's coordinates;
        the term V × V of the rotating coordinates is 0.
        """
        return self.across(q, self.type.bias(q, v))
