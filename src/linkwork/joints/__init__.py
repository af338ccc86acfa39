"""Joint types.  `ALL` lists them; tests, documentation and benchmarks run over it."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names
from linkwork.joints.base.joint_type import JointType as JointType
from linkwork.joints.composite import Composite as Composite
from linkwork.joints.cylindrical_and_helical import Cylindrical as Cylindrical
from linkwork.joints.cylindrical_and_helical import Helical as Helical
from linkwork.joints.ellipsoid_joint import Ellipsoid as Ellipsoid
from linkwork.joints.euler_angle_joints import FloatingEuler as FloatingEuler
from linkwork.joints.euler_angle_joints import SphericalEuler as SphericalEuler
from linkwork.joints.mrp_joints import FloatingMRP as FloatingMRP
from linkwork.joints.mrp_joints import SphericalMRP as SphericalMRP
from linkwork.joints.planar import Planar as Planar
from linkwork.joints.quaternion_joints import Floating as Floating
from linkwork.joints.quaternion_joints import Spherical as Spherical
from linkwork.joints.reversed import Reversed as Reversed
from linkwork.joints.revolute import Revolute as Revolute
from linkwork.joints.revolute import UnboundedRevolute as UnboundedRevolute
from linkwork.joints.translational import Fixed as Fixed
from linkwork.joints.translational import Prismatic as Prismatic
from linkwork.joints.translational import Translational as Translational
from linkwork.joints.universal import Universal as Universal

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

__all__ = ["ALL", "JointType", *(kind.__name__ for kind in ALL)]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(__name__, __all__)
