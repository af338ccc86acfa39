"""Poses (rigid transforms), over any scalar.

``X_ab`` is the pose of frame b in frame a, and maps coordinates in b to coordinates in a.  Inner letters cancel: ``X_ac
= X_ab @ X_bc``, ``V_a = X_ab @ V_b``, ``F_a = X_ab @ F_b``, ``I_a = X_ab @ I_b``.  The type of the right operand
determines the action, and ``X_ab.inv()`` is X_ba.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork.spatial.inertia import ArticulatedInertia, Inertia
from linkwork.spatial.quaternion import Quaternion
from linkwork.spatial.rotation import Rotation
from linkwork.spatial.vectors import Force, Motion, Subspace, Vec3

__all__ = ["InversePose", "Pose"]


class _Transform:
    """Base of `Pose` and `InversePose`, whose operator ``@`` acts by the type of its right operand."""

    __slots__ = ()

    @overload
    def __matmul__(self, other: Pose | InversePose) -> Pose: ...
    @overload
    def __matmul__(self, other: Motion) -> Motion: ...
    @overload
    def __matmul__(self, other: Force) -> Force: ...
    @overload
    def __matmul__(self, other: Subspace) -> Subspace: ...
    @overload
    def __matmul__(self, other: Inertia) -> Inertia: ...
    @overload
    def __matmul__(self, other: ArticulatedInertia) -> ArticulatedInertia: ...
    def __matmul__(self, other: Any) -> Any:
        return self._act(other)

    def _act(self, other: Any) -> Any:
        return NotImplemented


@dataclass(frozen=True, slots=True)
class Pose(_Transform):
    """Pose X_ab: the rotation R_ab and the ``translation`` p, the position of b's origin in a."""

    rotation: Rotation
    translation: Vec3

    @staticmethod
    def identity() -> Pose:
        """Return the identity."""
        return _IDENTITY

    @property
    def is_identity(self) -> bool:
        """True if all elements are floats of the identity, known at trace time."""
        if self is _IDENTITY:
            return True
        pairs = zip(self.elements(), _IDENTITY.elements(), strict=True)
        return all(isinstance(x, float) and x == unit for x, unit in pairs)

    @staticmethod
    def of(matrix: Any) -> Pose:
        """Create from a homogeneous 4×4 matrix (any object indexed [row][column])."""
        rows = [Vec3.of(matrix[k][:3]) for k in range(3)]
        return Pose(Rotation(*rows), Vec3(matrix[0][3], matrix[1][3], matrix[2][3]))

    @staticmethod
    def of_elements(elements: Sequence[Any]) -> Pose:
        """Create from the sixteen elements of the matrix, row by row."""
        return Pose.of([elements[4 * k : 4 * k + 4] for k in range(4)])

    def elements(self) -> tuple[Any, ...]:
        """Return the sixteen elements of the homogeneous 4×4 matrix, row by row."""
        R, p = self.rotation, self.translation
        return (*R.x, p.x, *R.y, p.y, *R.z, p.z, 0.0, 0.0, 0.0, 1.0)

    def matrix(self) -> np.ndarray:
        """Return the homogeneous matrix (4, 4) of a pose of floats."""
        return np.array(self.elements(), dtype=float).reshape(4, 4)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return `matrix`, so that NumPy's functions and ``@`` take a pose of floats."""
        if copy is False:
            raise ValueError("Pose: expected copy=None or True, got False, since its elements are copied")
        return self.matrix().astype(dtype or float, copy=False)

    def inv(self) -> InversePose:
        """Return the inverse X_ba as an `InversePose`, which acts on vectors without computing Rᵀp."""
        return InversePose(self.rotation, self.translation)

    def point(self, r: Vec3) -> Vec3:
        """Return the coordinates in frame a of a point with the coordinates r in frame b."""
        return self.rotation @ r + self.translation

    def difference(self, target: Pose) -> Motion:
        """Return the rotation vector and the translation from this pose to a target, in the common axes.

        The rotation takes this pose's axes to the target's, by an angle of at most π.  The translation goes from this
        origin to the target's.
        """
        difference = Quaternion.of(target.rotation @ self.rotation.T)
        return Motion(difference.log(), target.translation - self.translation)

    def _act(self, other: Any) -> Any:
        R, p = self.rotation, self.translation
        if isinstance(other, Motion):
            w = R @ other.angular
            return Motion(w, R @ other.linear + p.cross(w))
        if isinstance(other, Force):
            f = R @ other.force
            return Force(R @ other.moment + p.cross(f), f)
        if isinstance(other, Pose):
            return Pose(R @ other.rotation, R @ other.translation + p)
        if isinstance(other, InversePose):
            return self @ other.formed()
        if isinstance(other, Subspace):
            return Subspace(tuple(self @ column for column in other.columns))
        if isinstance(other, Inertia):
            return Inertia(other.mass, R @ other.moment, R @ other.about).shifted(p)
        if isinstance(other, ArticulatedInertia):
            return ArticulatedInertia(R @ other.angular, R.congruent(other.coupling), R @ other.linear).shifted(p)
        return NotImplemented


@dataclass(frozen=True, slots=True)
class InversePose(_Transform):
    """Inverse X_ba of a pose, stored as the rotation and the translation of X_ab.

    It maps r to Rᵀ(r − p), which is cheaper than computing Rᵀp.  `formed` returns the same transform as a `Pose`.

    The rotation R and the translation p of X_ab are ``rotation_ab`` and ``translation_ab``.
    """

    rotation_ab: Rotation
    translation_ab: Vec3

    def inv(self) -> Pose:
        """Return X_ab."""
        return Pose(self.rotation_ab, self.translation_ab)

    def formed(self) -> Pose:
        """Return the same transform X_ba as a `Pose`, with the rotation Rᵀ and the translation −Rᵀp."""
        return Pose(self.rotation_ab.T, -self.rotation_ab.inv_act(self.translation_ab))

    def point(self, r: Vec3) -> Vec3:
        """Return the coordinates in frame b of a point with the coordinates r in frame a."""
        return self.rotation_ab.inv_act(r - self.translation_ab)

    def _act(self, other: Any) -> Any:
        R, p = self.rotation_ab, self.translation_ab
        if isinstance(other, Motion):
            return Motion(R.inv_act(other.angular), R.inv_act(other.linear - p.cross(other.angular)))
        if isinstance(other, Force):
            return Force(R.inv_act(other.moment - p.cross(other.force)), R.inv_act(other.force))
        if isinstance(other, Pose):
            return Pose(R.T @ other.rotation, R.inv_act(other.translation - p))
        if isinstance(other, Subspace):
            return Subspace(tuple(self @ column for column in other.columns))
        return self.formed() @ other


_IDENTITY = Pose(Rotation.identity(), Vec3.zero())
