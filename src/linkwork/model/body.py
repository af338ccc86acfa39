"""The parts of a robot's tree: bodies with the joints that carry them, frames on bodies, and single placed joints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.joints import JointType
from linkwork.joints.base.error_context import call_joint
from linkwork.joints.base.generic_rank import check_joint_type
from linkwork.model.friction_laws import DryFriction
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Motion, Pose, Subspace, Vec3

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
    "Point",
    "Scalars",
    "Site",
]


FRICTION_VELOCITY = 0.01  # v_s of the smooth law of friction, where none is stated [rad/s, m/s]
WORLD = -1  # the index of the world where a body's is expected


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a joint: configuration (nq numbers each), velocity and effort (nv each).  No bound is ±inf."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity: tuple[float, ...]
    effort: tuple[float, ...]
    enabled: bool = True  # whether the bounds of the configuration hold

    @property
    def positions(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The bounds of the configuration that hold: none where they are not enabled."""
        if self.enabled:
            return self.lower, self.upper
        return tuple(-math.inf for _ in self.lower), tuple(math.inf for _ in self.upper)

    @staticmethod
    def none(joint: JointType) -> Limits:
        inf = float("inf")
        return Limits((-inf,) * joint.nq, (inf,) * joint.nq, (inf,) * joint.nv, (inf,) * joint.nv)


@dataclass(frozen=True, slots=True)
class Following:
    """A joint that follows another: q = ratio · q_master + offset, and so v = ratio · v_master."""

    joint: str  # the name of the master, a joint that follows none
    ratio: float = 1.0
    offset: float = 0.0  # [rad, m]

    def through(self, master: Following) -> Following:
        """How it follows what its master follows: q_a = m q_b + n, q_b = k q_c + l give q_a = m k q_c + (m l + n)."""
        return Following(master.joint, self.ratio * master.ratio, self.ratio * master.offset + self.offset)

    def q(self, master: Sequence[Any]) -> list[Any]:
        """The follower's configuration, from its master's."""
        return [self.ratio * x + self.offset for x in master]

    def v(self, master: Sequence[Any]) -> list[Any]:
        """The follower's velocity, from its master's."""
        return [self.ratio * x for x in master]

    def S(self, follower: Subspace) -> Subspace:
        """The follower's motion subspace, as the master's velocity moves it."""
        return Subspace(tuple(column * self.ratio for column in follower.columns))


@dataclass(frozen=True, slots=True)
class Drive:
    """What is in a joint besides bodies, damping and friction: what drives it, and springs.  Empty is the default."""

    armature: tuple[float, ...] = ()  # nv: inertia of what turns with the joint alone [kg·m², kg]; none
    gear_ratio: tuple[float, ...] = ()  # nv: turns of the rotor for one of the joint; 1
    stiffness: tuple[float, ...] = ()  # nv: of springs [N·m/rad, N/m]; none
    rest: tuple[float, ...] = ()  # nq: where springs exert nothing; the joint's zero
    static_friction: tuple[float, ...] = ()  # nv: dry friction that holds at rest [N·m, N]; as while it moves
    friction_velocity: tuple[float, ...] = ()  # nv: speed v_s of the smooth law, tanh(v / v_s) [rad/s, m/s]; 0.01

    @staticmethod
    def full(values: Sequence[float], count: int, default: float) -> tuple[float, ...]:
        """One number for each, where none are stated the default."""
        return tuple(values) or (default,) * count


@dataclass(frozen=True, slots=True)
class Body:
    """A moving body and the joint that connects it to its parent.

    The joint's frame F (the stator) is placed in the parent's frame, and the body's frame in the joint's frame M (the
    rotor): X_parent_body = placement · X_FM(q) · rotor.  In URDF the rotor is the identity.

    The numbers q and v that a body's functions take are those that the tree has for its joint: the joint's own, or,
    where a coupling makes it follow another joint, that one's.  So X, S and bias are what the body does when these
    numbers change, and a tree with couplings is exact without another word in the algorithms.
    """

    name: str
    parent: int  # index of the parent body, which is smaller than this one's; WORLD for the world
    joint_name: str
    joint: JointType
    placement: Pose  # X_parent_stator
    rotor: Pose  # X_rotor_body
    inertia: Inertia  # the sum of those of its frames, about its frame's origin, in its axes
    limits: Limits
    damping: tuple[float, ...]  # nv: N·s/m or N·m·s/rad
    friction: tuple[float, ...]  # nv: N or N·m
    mimic: Following | None = None  # what it is meant to follow, as the file says: data, which nothing computes with
    coupling: Following | None = None
    dynamics: str = "urdf"  # what damping and friction mean: "urdf", or "none" where they are kept and do not act
    links: tuple[str, str] | None = None  # the links that the joint connects, by name: bodies' own or welded to them
    drive: Drive = Drive()

    def __post_init__(self) -> None:
        check_joint_type(self.joint, self.joint_name)

    def call_joint(self, method: str, *arguments: Any) -> Any:
        """What a method of the joint's type gives.  Raises JointMethodError, which names the joint, where it raises."""
        return call_joint(self.joint_name, self.joint, method, *arguments)

    def X(self, q: Sequence[Any]) -> Pose:
        """X_parent_body: the pose of this body in its parent."""
        q = q if self.coupling is None else self.coupling.q(q)
        X: Pose = self.placement @ self.call_joint("X", q)
        return X if self.rotor.is_identity else X @ self.rotor

    def X_of_joint(self, q: Sequence[Any]) -> Pose:
        """X_stator_body: what of X the joint moves, and the rotor after it."""
        q = q if self.coupling is None else self.coupling.q(q)
        X: Pose = self.call_joint("X", q)
        return X if self.rotor.is_identity else X @ self.rotor

    def S(self, q: Sequence[Any]) -> Subspace:
        """The motion subspace, in this body's coordinates: S(q) v is its twist relative to its parent."""
        S = (
            self.call_joint("S", q)
            if self.coupling is None
            else self.coupling.S(self.call_joint("S", self.coupling.q(q)))
        )
        return S if self.rotor.is_identity else self.rotor.inv() @ S

    def S_dot(self, q: Sequence[Any], v: Sequence[Any]) -> Subspace:
        """How S(q) changes in this body's coordinates at velocity v, by differentiation: Ṡ v is `bias`."""
        if self.joint.nv == 0:
            return Subspace(())
        moving = seeded(q, self.call_joint("q_dot", q, v))
        level = moving[0].level
        columns = [[parts(x, level)[1] for x in column.elements()] for column in self.S(moving).columns]
        return Subspace(tuple(map(Motion.of, columns)))

    def bias(self, q: Sequence[Any], v: Sequence[Any]) -> Motion:
        """The acceleration of this body relative to its parent while v̇ = 0, in this body's coordinates."""
        if self.coupling is not None:
            q, v = self.coupling.q(q), self.coupling.v(v)
        A: Motion = self.call_joint("bias", q, v)
        return A if self.rotor.is_identity else self.rotor.inv() @ A

    @property
    def ratio(self) -> float:
        """How the joint's velocity follows from the tree's number: 1 but for followers."""
        return 1.0 if self.coupling is None else self.coupling.ratio

    @property
    def dry_friction(self) -> list[DryFriction]:
        """Dry friction of each of the joint's own velocities (nv); none where it does not act."""
        nv, drive = self.joint.nv, self.drive
        if self.dynamics == "none":
            return [DryFriction(0.0, 0.0, FRICTION_VELOCITY)] * nv
        scales = Drive.full(drive.friction_velocity, nv, FRICTION_VELOCITY)
        each = zip(self.friction, drive.static_friction or self.friction, scales, strict=True)
        return [DryFriction(*numbers) for numbers in each]

    @property
    def armature(self) -> list[float]:
        """The armature, as the tree's numbers feel it."""
        return [x * self.ratio * self.ratio for x in Drive.full(self.drive.armature, self.joint.nv, 0.0)]


@dataclass(frozen=True, slots=True)
class Frame:
    """A named frame fixed to a body, or to the world: a link of the description, or a frame of the user's.

    A link's own inertia, of which the body's is made, and its shapes are kept with it.
    """

    name: str
    body: int  # index of the body, or WORLD
    placement: Pose  # X_body_frame
    inertia: Inertia = Inertia.zero()  # about this frame's origin, in its axes
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    fixed_joint: str | None = None  # the name of the fixed joint that welded it, if one did
    welded_to: str | None = None  # the name of the link that it is welded to, or was put on without a joint

    @property
    def is_link(self) -> bool:
        """True for a link, False for a frame that was only put on one."""
        return self.fixed_joint is not None or self.welded_to is None


@dataclass(frozen=True, slots=True)
class Point:
    """A named point, fixed to a frame."""

    name: str
    frame: str
    position: Vec3  # from the frame's origin, in its axes [m]


@dataclass(frozen=True, slots=True)
class Direction:
    """A named direction, fixed to a frame."""

    name: str
    frame: str
    vector: Vec3  # of unit length, in the frame's axes


@dataclass(frozen=True, slots=True)
class DisabledPair:
    """Two links whose distance is not looked at, and why: "Adjacent", "Never", "Always", "Default", "User" ..."""

    a: str
    b: str
    reason: str = "User"


Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Site:
    """A joint type between two links: X_PB = placement · X_FM(q) · rotor, asked about in one of both directions."""

    type: JointType
    placement: Pose = Pose.identity()  # X_parent_stator
    rotor: Pose = Pose.identity()  # X_rotor_child
    swapped: bool = False  # the link before the joint is the child

    def X(self, q: Scalars) -> Pose:
        """X_PB: the pose of the child in the parent."""
        X: Pose = self.placement @ self.type.X(q) @ self.rotor
        return X.inv().formed() if self.swapped else X

    def across(self, q: Scalars, V: Motion) -> Motion:
        """A motion of M relative to F, in M's coordinates, as one of B relative to P, in B's."""
        if self.swapped:
            return -(self.placement @ (self.type.X(q) @ V))
        moved: Motion = self.rotor.inv() @ V
        return moved

    def S(self, q: Scalars) -> Subspace:
        """The motion subspace of B relative to P, in B's coordinates."""
        return Subspace(tuple(self.across(q, column) for column in self.type.S(q).columns))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """The spatial acceleration of B relative to P, in B's coordinates, while v̇ = 0.

        Swapped it is −X_PB A too: what the turning of the coordinates adds is V × V = 0.
        """
        return self.across(q, self.type.bias(q, v))
