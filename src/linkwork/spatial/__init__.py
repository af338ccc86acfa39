"""Spatial algebra over any scalar: immutable values for joint types and algorithms.

The elements may be Python floats, NumPy arrays of one shape (a batch), symbols, dual numbers or CasADi expressions.
The letters of a name are frames: ``X_ab`` is the pose of b in a, and maps coordinates in b to coordinates in a; inner
letters cancel.  The right operand of ``@`` determines the action.  A rotation acts on vectors, matrices and rotations.
A pose acts on motions, forces, subspaces, inertias and poses, and `Pose.point` on points.

>>> quarter = Rotation.turning(Vec3(0.0, 0.0, 1.0), 0.0, 1.0)  # cosine 0, sine 1; `Rotation.about` takes an angle
>>> X_ab = Pose(quarter, Vec3(1.0, 0.0, 0.0))
>>> X_ab.point(Vec3(2.0, 0.0, 0.0))
Vec3(x=1.0, y=2.0, z=0.0)
>>> X_ab @ Force(Vec3.zero(), Vec3(5.0, 0.0, 0.0))
Force(moment=Vec3(x=0.0, y=0.0, z=5.0), force=Vec3(x=0.0, y=5.0, z=0.0))
>>> (X_ab.inv() @ X_ab) == Pose.identity()
True

- `Vec3` (x, y, z); `Matrix3` (three rows), `Symmetric3` (xx, xy, xz, yy, yz, zz);
- `Rotation` (three rows), `Quaternion` (w, x, y, z), `MRP` (three modified Rodrigues parameters);
- `Pose` (rotation, translation) and `InversePose`, the result of ``inv``, which acts without computing Rᵀp;
- `Motion` (angular, linear), `Force` (moment, force), `Subspace` (columns that are motions); `cross` and `cross_star`
  are the rates of a motion and a force that move with a twist, `by_rows` returns columns as a matrix;
- `Inertia` (mass, moment, about), `ArticulatedInertia` (a symmetric 6×6 matrix), `RigidMotion` (velocity and
  acceleration of a body), `FrameMotion` (pose, twist and acceleration of a frame relative to another).

Angular parts come first everywhere; units are SI and radians.  Sources are given in each module.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.spatial.inertia import ArticulatedInertia as ArticulatedInertia
    from linkwork.spatial.inertia import Inertia as Inertia
    from linkwork.spatial.pose import InversePose as InversePose
    from linkwork.spatial.pose import Pose as Pose
    from linkwork.spatial.quaternion import MRP as MRP
    from linkwork.spatial.quaternion import Quaternion as Quaternion
    from linkwork.spatial.rigid_motion import FrameMotion as FrameMotion
    from linkwork.spatial.rigid_motion import RigidMotion as RigidMotion
    from linkwork.spatial.rotation import Rotation as Rotation
    from linkwork.spatial.vectors import Force as Force
    from linkwork.spatial.vectors import Matrix3 as Matrix3
    from linkwork.spatial.vectors import Motion as Motion
    from linkwork.spatial.vectors import Subspace as Subspace
    from linkwork.spatial.vectors import Symmetric3 as Symmetric3
    from linkwork.spatial.vectors import Vec3 as Vec3
    from linkwork.spatial.vectors import by_rows as by_rows
    from linkwork.spatial.vectors import cross as cross
    from linkwork.spatial.vectors import cross_star as cross_star


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.spatial.inertia": "ArticulatedInertia Inertia",
            "linkwork.spatial.vectors": "Force Matrix3 Motion Subspace Symmetric3 Vec3 by_rows cross cross_star",
            "linkwork.spatial.pose": "InversePose Pose",
            "linkwork.spatial.quaternion": "MRP Quaternion",
            "linkwork.spatial.rigid_motion": "FrameMotion RigidMotion",
            "linkwork.spatial.rotation": "Rotation",
        },
    )
