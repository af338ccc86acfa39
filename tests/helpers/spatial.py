"""The types of spatial algebra from and to flat lists of scalars, and reference matrices to the same lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.spatial import (
    ArticulatedInertia,
    Force,
    Inertia,
    Matrix3,
    Motion,
    Pose,
    Rotation,
    Symmetric3,
    Vec3,
)

UPPER = np.triu_indices(3)


class Reader:
    """Takes things from a list of scalars, one after the other."""

    def __init__(self, scalars: Sequence[Any]) -> None:
        self._remaining = list(scalars)

    def take(self, n: int) -> list[Any]:
        taken, self._remaining = self._remaining[:n], self._remaining[n:]
        assert len(taken) == n
        return taken

    def scalar(self) -> Any:
        return self.take(1)[0]

    def vec3(self) -> Vec3:
        return Vec3.of(self.take(3))

    def matrix3(self) -> Matrix3:
        return Matrix3(self.vec3(), self.vec3(), self.vec3())

    def symmetric3(self) -> Symmetric3:
        return Symmetric3(*self.take(6))

    def rotation(self) -> Rotation:
        return Rotation(self.vec3(), self.vec3(), self.vec3())

    def pose(self) -> Pose:
        return Pose(self.rotation(), self.vec3())

    def motion(self) -> Motion:
        return Motion.of(self.take(6))

    def force(self) -> Force:
        return Force.of(self.take(6))

    def inertia(self) -> Inertia:
        return Inertia(self.scalar(), self.vec3(), self.symmetric3())

    def articulated(self) -> ArticulatedInertia:
        return ArticulatedInertia(self.symmetric3(), self.matrix3(), self.symmetric3())


def scalars_of(value: Any) -> list[Any]:
    """Return the numbers of a spatial quantity, as the rows of its plain matrix or vector."""
    if isinstance(value, (Matrix3, Rotation, Symmetric3)):
        return [*value.x, *value.y, *value.z]
    if isinstance(value, Vec3):
        return list(value)
    if isinstance(value, (Inertia, ArticulatedInertia)):
        a = ArticulatedInertia.of(value) if isinstance(value, Inertia) else value
        top, bottom = (
            zip(_rows(a.angular), _rows(a.coupling), strict=True),
            zip(_rows(a.coupling.T), _rows(a.linear), strict=True),
        )
        return [x for pair in (*top, *bottom) for row in pair for x in row]
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in scalars_of(part)]
    return list(value.elements()) if hasattr(value, "elements") else [value]


def _rows(M: Any) -> list[list[Any]]:
    return [list(M.x), list(M.y), list(M.z)]


def flat_pose(T: np.ndarray) -> np.ndarray:
    return np.concatenate([T[:3, :3].ravel(), T[:3, 3]])


def flat_inertia(M: np.ndarray) -> np.ndarray:
    """Mass, first moment and rotational inertia of a rigid body's 6×6 matrix."""
    return np.concatenate([[M[3, 3]], [M[2, 4], M[0, 5], M[1, 3]], M[:3, :3][UPPER]])


def flat_articulated(M: np.ndarray) -> np.ndarray:
    return np.concatenate([M[:3, :3][UPPER], M[:3, 3:].ravel(), M[3:, 3:][UPPER]])
