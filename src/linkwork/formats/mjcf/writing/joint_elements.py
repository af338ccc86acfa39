"""Joints of linkwork as sequences of MuJoCo's joints: hinges, slides, balls and free joints.

A MuJoCo body may have several joints.  Their motions follow one another, each about or along an axis that is fixed in
the body when the others have moved.  A joint whose pose is a product of rotations and translations about fixed axes is
such a sequence: X(q) = X(0) exp(B₁ q₁) ... exp(Bₙ qₙ), with the screws Bₖ at zero in the frame after the joint.
Source: Lynch and Park, Modern Robotics, 2017, section 4.1.2 (product of exponentials in the end-effector frame).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkwork.formats.written_content import is_own
from linkwork.joints import (
    Composite,
    Cylindrical,
    Fixed,
    Floating,
    FloatingEuler,
    FloatingMRP,
    JointType,
    Planar,
    Prismatic,
    Reversed,
    Revolute,
    Spherical,
    SphericalEuler,
    SphericalMRP,
    Translational,
    UnboundedRevolute,
    Universal,
)
from linkwork.model import compose
from linkwork.spatial import Pose, Vec3

__all__ = ["BALL", "FREE", "HINGE", "SLIDE", "Part", "keeps_coordinates", "mujoco_parts", "placed_parts", "zero_pose"]

HINGE, SLIDE, BALL, FREE = "hinge", "slide", "ball", "free"
_AXES = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Part:
    """A joint of MuJoCo: its kind, its axis, and its position in the frame after the whole joint at zero."""

    kind: str
    axis: Vec3 = _AXES[2]
    position: Vec3 = Vec3(0.0, 0.0, 0.0)
    coordinate: int = 0  # index of its first coordinate in the joint's v

    def in_frame(self, X: Pose) -> Part:
        """Return the part in the coordinates of another frame, whose pose in this one is X."""
        axis = X.rotation.inv_act(self.axis)
        return replace(self, axis=axis, position=X.rotation.inv_act(self.position - X.translation))


def mujoco_parts(joint: JointType) -> tuple[Part, ...] | None:
    """Return the MuJoCo joints that together are a joint, in the coordinates of its frame M.

    A fixed joint has no parts.  The result is None for a joint that MuJoCo does not have.
    """
    if not is_own(joint):
        return None
    match joint:
        case Fixed():
            return ()
        case Revolute() | UnboundedRevolute():
            parts = [Part(HINGE, joint.axis)]
        case Prismatic():
            parts = [Part(SLIDE, joint.axis)]
        case Universal():
            parts = [Part(HINGE, joint.first), Part(HINGE, joint.second)]
        case Cylindrical():
            parts = [Part(HINGE, joint.axis), Part(SLIDE, joint.axis)]
        case Planar():
            parts = [Part(SLIDE, joint.x_axis), Part(SLIDE, joint.y_axis), Part(HINGE, joint.normal)]
        case Translational():
            parts = [Part(SLIDE, axis) for axis in _AXES]
        case Spherical() | SphericalMRP() | SphericalEuler():
            return (Part(BALL),)
        case Floating() | FloatingMRP() | FloatingEuler():
            return (Part(FREE),)
        case Reversed():
            return _reversed(joint.joint)
        case Composite():
            return _in_sequence(joint.joints, joint.placements)
        case _:
            return None
    return tuple(replace(part, coordinate=k) for k, part in enumerate(parts))


def _reversed(joint: JointType) -> tuple[Part, ...] | None:
    parts, before = mujoco_parts(joint), joint.X(joint.zero()).inv().formed()
    if parts is None or any(part.kind == FREE for part in parts):
        return None
    return tuple(replace(part, axis=-part.axis).in_frame(before) for part in reversed(parts))


def _in_sequence(joints: Sequence[JointType], placements: Sequence[Pose]) -> tuple[Part, ...] | None:
    result: list[Part] = []
    start = 0
    for joint, placement in zip(joints, placements, strict=True):
        parts = mujoco_parts(joint)
        if parts is None or any(part.kind in (BALL, FREE) for part in parts):
            return None  # MuJoCo has no rotation after a ball in one body
        result = [part.in_frame(compose(placement, joint.X(joint.zero()))) for part in result]
        result += [replace(part, coordinate=start + part.coordinate) for part in parts]
        start += joint.nv
    return tuple(result)


def keeps_coordinates(joint: JointType) -> bool:
    """Return True if q and v of the MuJoCo joints are those of the joint, up to MuJoCo's order for free joints."""
    if isinstance(joint, Composite):
        return all(map(keeps_coordinates, joint.joints))
    if isinstance(joint, (Spherical, Floating)):
        return not joint.scalar_last
    return isinstance(joint, (Revolute, Prismatic, Universal, Cylindrical, Translational))


def placed_parts(parts: Sequence[Part], rotor: Pose) -> list[Part]:
    """Return the parts in the coordinates of the body, whose pose in the joint's frame M is ``rotor``."""
    return list(parts) if rotor.is_identity else [part.in_frame(rotor) for part in parts]


def zero_pose(joint: JointType, placement: Pose, rotor: Pose) -> Pose:
    """Return X_parent_body at the joint's zero configuration."""
    X = joint.X(joint.zero())
    return compose(compose(placement, X) if not X.is_identity else placement, rotor)
