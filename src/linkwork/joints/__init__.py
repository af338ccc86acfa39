"""Joint types.  `ALL` lists them; tests, documentation and benchmarks run over it."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.joints.all_types import ALL
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

__all__ = [
    "ALL",
    "Composite",
    "Cylindrical",
    "Ellipsoid",
    "Fixed",
    "Floating",
    "FloatingEuler",
    "FloatingMRP",
    "Helical",
    "JointType",
    "Planar",
    "Prismatic",
    "Reversed",
    "Revolute",
    "Spherical",
    "SphericalEuler",
    "SphericalMRP",
    "Translational",
    "UnboundedRevolute",
    "Universal",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
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
