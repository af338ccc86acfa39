"""Spatial algebra over any scalar."""

from .force import Force
from .inertia import ArticulatedInertia, Inertia
from .matrix3 import Matrix3, Symmetric3
from .motion import Motion, Subspace, cross, cross_star
from .mrp import MRP
from .pose import InversePose, Pose
from .quaternion import Quaternion
from .rigid_motion import RigidMotion
from .rotation import Rotation
from .vec3 import Vec3

__all__ = [
    "MRP",
    "ArticulatedInertia",
    "Force",
    "Inertia",
    "InversePose",
    "Matrix3",
    "Motion",
    "Pose",
    "Quaternion",
    "RigidMotion",
    "Rotation",
    "Subspace",
    "Symmetric3",
    "Vec3",
    "cross",
    "cross_star",
]
