"""Transforms of prims: matrices to the world or to a body, split into rotation, translation and scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.formats.usd.prim_values import PrimReader, rotation_of
from linkwork.spatial import Pose, Vec3

__all__ = ["RigidPart", "Transforms", "nearest_rotation", "pose_of"]

_SHEAR = 1e-5  # cosine of two axes that count as perpendicular
_UNIT_TOLERANCE = 1e-9  # scales within this of 1 are 1


@dataclass(frozen=True)
class RigidPart:
    """Pose of a prim in the world [m], with z up, and the scale factors along its axes."""

    pose: Pose
    scale: np.ndarray


class Transforms:
    """Transforms of the prims of a stage, as homogeneous matrices (4, 4) that act on columns."""

    def __init__(self, reader: PrimReader) -> None:
        self.reader = reader
        self._local: dict[str, tuple[np.ndarray, bool]] = {}
        self._world: dict[str, np.ndarray] = {"/": np.eye(4)}
        self._rigid: dict[str, RigidPart] = {}

    def local(self, prim: Any) -> tuple[np.ndarray, bool]:
        """Return the matrix of a prim relative to its parent; with True, relative to the world instead."""
        key = str(prim.GetPath())
        if key not in self._local:
            self._local[key] = self._read(prim)
        return self._local[key]

    def world(self, prim: Any) -> np.ndarray:
        """Return the matrix of a prim in the stage's world, in units of the stage."""
        chain = []
        while str(prim.GetPath()) not in self._world:
            chain.append(prim)
            prim = prim.GetParent()
        matrix: np.ndarray = self._world[str(prim.GetPath())]
        for ancestor in reversed(chain):
            local_matrix, is_absolute = self.local(ancestor)
            matrix = local_matrix if is_absolute else matrix @ local_matrix
            self._world[str(ancestor.GetPath())] = matrix
        return matrix

    def relative(self, prim: Any, body: Any) -> np.ndarray:
        """Return the matrix of a prim at or below a body relative to the body's rigid frame, with lengths in m."""
        units, part = self.reader.units, self.rigid(body)
        matrix, ancestor = np.eye(4), prim
        while ancestor != body:
            local_matrix, is_absolute = self.local(ancestor)
            if is_absolute:
                return np.asarray(_inverse(part.pose) @ self.absolute(prim))
            matrix, ancestor = local_matrix @ matrix, ancestor.GetParent()
        matrix = np.diag([*part.scale, 1.0]) @ matrix
        matrix[:3] *= units.length
        return matrix

    def absolute(self, prim: Any) -> np.ndarray:
        """Return the matrix of a prim in the world with z up, with lengths in m."""
        units = self.reader.units
        matrix = self.world(prim).copy()
        matrix[:3] = units.length * (units.turn @ matrix[:3])
        return matrix

    def rigid(self, prim: Any) -> RigidPart:
        """Return the rigid pose and the scale of a prim.  Errors: SCALE, SHEAR."""
        key = str(prim.GetPath())
        if key not in self._rigid:
            self._rigid[key] = self._split(prim)
        return self._rigid[key]

    def _split(self, prim: Any) -> RigidPart:
        reader, units = self.reader, self.reader.units
        matrix = self.world(prim)
        linear, scale = matrix[:3, :3], np.linalg.norm(matrix[:3, :3], axis=0)
        identity = RigidPart(Pose.identity(), np.ones(3))
        if not reader.is_sound_transform(prim, "the transform to the world", matrix):
            return identity
        if scale.min() == 0.0 or np.linalg.det(linear / scale) <= 0.0:
            reader.error(prim, "SCALE", "the transform to the world has a zero scale, or mirrors the prim")
            return identity
        axes = linear / scale
        products = axes.T @ axes - np.eye(3)
        if np.abs(products).max() > _SHEAR:
            message = "the axes are not perpendicular in the world: a scale above the prim shears it"
            reader.error(prim, "SHEAR", message, "apply scales to the shapes, not to parents of rigid bodies")
            return identity
        rotation = rotation_of(units.turn @ nearest_rotation(axes))
        translation = units.length * (units.turn @ matrix[:3, 3])
        return RigidPart(
            Pose(rotation, Vec3.of(translation.tolist())), np.where(np.abs(scale - 1.0) < _UNIT_TOLERANCE, 1.0, scale)
        )

    def _read(self, prim: Any) -> tuple[np.ndarray, bool]:
        from pxr import Tf, UsdGeom

        reader, result = self.reader, np.eye(4)
        if not prim.IsA(UsdGeom.Xformable):
            return result, False
        xform = UsdGeom.Xformable(prim)
        for op in xform.GetOrderedXformOps():
            name = op.GetOpName()
            attribute = op.GetAttr()
            if attribute.ValueMightBeTimeVarying():
                reader.once(prim, "UNSUPPORTED", f"{name} changes with time: the earliest value is used")
            value = op.Get(reader.time)
            if value is None:
                continue
            matrix: np.ndarray = np.eye(4)
            if op.GetOpType() == UsdGeom.XformOp.TypeOrient:
                quaternion = attribute.Get(reader.time)
                matrix[:3, :3] = reader.rotation_of_quaternion(prim, name, quaternion).rows()
                matrix = matrix.T if op.IsInverseOp() else matrix
            else:
                try:
                    matrix = np.array(op.GetOpTransform(reader.time), dtype=float).T
                except Tf.ErrorException:
                    reader.error(prim, "DATA_TYPE", f"{name}: a value of another type than the transform needs")
                    continue
            if not np.isfinite(matrix).all():
                reader.error(prim, "NOT_FINITE", f"{name}: expected finite numbers, got {value}")
                continue
            if np.abs(matrix[3] - (0.0, 0.0, 0.0, 1.0)).max() > 1e-12:
                reader.error(prim, "ROTATION", f"{name}: the last column of the matrix must be (0, 0, 0, 1)")
                continue
            result = result @ matrix
        return result, bool(xform.GetResetXformStack())


def _inverse(pose: Pose) -> np.ndarray:
    inverse = pose.inv().formed()
    return np.array(inverse.elements(), dtype=float).reshape(4, 4)


def nearest_rotation(axes: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix (3, 3) nearest to ``axes`` (3, 3) in the Frobenius norm."""
    left, _, right = np.linalg.svd(axes)
    return np.asarray(left @ right)


def pose_of(matrix: np.ndarray) -> Pose:
    """Return the pose of a rigid matrix (4, 4)."""
    return Pose(rotation_of(matrix[:3, :3]), Vec3.of(matrix[:3, 3].tolist()))
