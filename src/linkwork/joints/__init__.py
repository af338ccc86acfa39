"""Joint types.  `ALL` lists them; tests, documentation and benchmarks run over it."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.joints.all_types import ALL as ALL
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


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.joints.all_types": "ALL",
            "linkwork.joints.base.joint_type": "JointType",
            "linkwork.joints.composite": "Composite",
            "linkwork.joints.cylindrical_and_helical": "Cylindrical Helical",
            "linkwork.joints.ellipsoid_joint": "Ellipsoid",
            "linkwork.joints.euler_angle_joints": "FloatingEuler SphericalEuler",
            "linkwork.joints.mrp_joints": "FloatingMRP SphericalMRP",
            "linkwork.joints.planar": "Planar",
            "linkwork.joints.quaternion_joints": "Floating Spherical",
            "linkwork.joints.reversed": "Reversed",
            "linkwork.joints.revolute": "Revolute UnboundedRevolute",
            "linkwork.joints.translational": "Fixed Prismatic Translational",
            "linkwork.joints.universal": "Universal",
        },
    )
