"""Tuple of all joint types, over which tests, documentation and benchmarks run."""

from __future__ import annotations

from linkwork.joints.base.joint_type import JointType
from linkwork.joints.composite import Composite
from linkwork.joints.cylindrical_and_helical import Cylindrical, Helical
from linkwork.joints.ellipsoid_joint import Ellipsoid
from linkwork.joints.euler_angle_joints import FloatingEuler, SphericalEuler
from linkwork.joints.mrp_joints import FloatingMRP, SphericalMRP
from linkwork.joints.planar import Planar
from linkwork.joints.quaternion_joints import Floating, Spherical
from linkwork.joints.reversed import Reversed
from linkwork.joints.revolute import Revolute, UnboundedRevolute
from linkwork.joints.translational import Fixed, Prismatic, Translational
from linkwork.joints.universal import Universal

__all__ = ["ALL"]

ALL: tuple[type[JointType], ...] = (
    Fixed,
    Revolute,
    UnboundedRevolute,
    Prismatic,
    Helical,
    Cylindrical,
    Universal,
    Planar,
    Translational,
    Spherical,
    SphericalMRP,
    SphericalEuler,
    Floating,
    FloatingMRP,
    FloatingEuler,
    Ellipsoid,
    Composite,
    Reversed,
)
