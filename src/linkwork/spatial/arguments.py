"""Checks of numbers, strings, poses and inertias that users pass as arguments.

``expected`` is the beginning of the message of a ValueError, such as "link 'rod': mass: expected a number [kg]".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.validation import as_float_array
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.spatial.pose import Pose
from linkwork.spatial.rotation import Rotation
from linkwork.spatial.vectors import Symmetric3, Vec3

__all__ = [
    "LARGEST",
    "RIGID",
    "checked_array",
    "checked_inertia",
    "checked_pose",
    "checked_string",
    "fixed_array",
    "is_like_pose",
    "is_like_rotation",
    "is_rigid",
]

LARGEST = 1e20  # larger numbers are rejected, since their products in algorithms would overflow
RIGID = 1e-6  # largest deviation of RᵀR from the identity
_LIKE_RIGID = 1e-2  # the same for a matrix that a user means as a pose, perhaps with rounded numbers
_SYMMETRIC = 1e-9  # largest asymmetry of an inertia, relative to its largest element


def checked_array(value: Any, expected: str, *shapes: tuple[int, ...], infinite: bool = False) -> np.ndarray:
    """Return an argument as an array of floats with one of these shapes; −0 becomes 0.

    Raises ValueError for another shape, for NaN, for ±inf unless ``infinite``, and for values that are not numbers:
    strings, truth values, complex numbers and masked arrays.
    """
    array = as_float_array(value)
    if array is None or np.asarray(value).dtype.kind == "b":
        raise ValueError(f"{expected}, got {value!r}")
    if array.shape not in shapes:
        raise ValueError(f"{expected}, got an array of shape {array.shape}")
    if not (infinite or np.isfinite(array).all()) or np.isnan(array).any():
        raise ValueError(f"{expected}, got {value!r}")
    return array + 0.0


def checked_inertia(value: Any, argument_name: str) -> Symmetric3:
    """Return a rotational inertia: from a symmetric matrix (3, 3), its diagonal (3), or None for zero.

    Raises ValueError.
    """
    if value is None:
        return Symmetric3.zero()
    expected = f"{argument_name}: inertia: expected a symmetric matrix (3, 3) or three numbers [kg·m²]"
    J = checked_array(value, expected, (3, 3), (3,))
    if J.ndim == 1:
        return Symmetric3.diagonal(*J.tolist())
    if np.abs(J - J.T).max() > _SYMMETRIC * np.abs(J).max():
        raise ValueError(f"{expected}, got {J.tolist()}")
    return Symmetric3(*J[np.triu_indices(3)].tolist())


def is_rigid(X: np.ndarray) -> bool:
    """Return True if matrices (..., 4, 4) are rigid transforms.

    The rotation is orthonormal within 1e-6 and right-handed, and the last row is 0 0 0 1.
    """
    R = X[..., :3, :3]
    return bool(_deviation(X) <= RIGID and np.isfinite(X).all() and (np.linalg.det(R) > 0.0).all())


def is_like_pose(value: Any) -> bool:
    """Return True for a `Pose`, or a matrix (4, 4) that is a pose within 0.01, and not four configurations."""
    if isinstance(value, Pose):
        return True
    X = as_float_array(value)
    return X is not None and X.shape == (4, 4) and _deviation(X) <= _LIKE_RIGID


def is_like_rotation(value: Any) -> bool:
    """Return True for matrices (..., 3, 3) that are rotations within 0.01, and not three positions."""
    R = as_float_array(value)
    if R is None or R.shape[-2:] != (3, 3):
        return False
    return bool(np.max(np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)), initial=0.0) <= _LIKE_RIGID)


def _deviation(X: np.ndarray) -> float:
    """Return the largest deviation of matrices (..., 4, 4) from rigid transforms, over all elements.

    It is the deviation of RᵀR from the identity, or of the last row from 0 0 0 1.
    """
    R = X[..., :3, :3]
    deviation = np.swapaxes(R, -1, -2) @ R - np.eye(3)
    last = X[..., 3, :] - [0.0, 0.0, 0.0, 1.0]
    return float(max(np.max(np.abs(deviation), initial=0.0), np.max(np.abs(last), initial=0.0)))


def checked_string(value: Any, argument_name: str, kind: str = "a name") -> str:
    """Return a string that is not blank.  Raises ValueError."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{argument_name}: expected {kind}, got {value!r}")
    return value


def checked_pose(value: Any, argument_name: str) -> Pose:
    """Return a pose: from a matrix (4, 4), a position (3) [m], a `Pose`, or None for the identity.

    Raises ValueError if it is not a rigid transform.
    """
    if value is None:
        return Pose.identity()
    expected = f"{argument_name}: expected a pose, a matrix of shape (4, 4) or three numbers [m]"
    matrix = np.reshape(value.elements(), (4, 4)) if isinstance(value, Pose) else value
    X = checked_array(matrix, expected, (4, 4), (3,))
    if X.shape == (3,):
        return Pose(Rotation.identity(), Vec3.of(X.tolist())) if X.any() else Pose.identity()
    if not is_rigid(X):
        expected = f"{argument_name}: expected a pose, a matrix of shape (4, 4)"
        raise ValueError(f"{expected} with a rotation and the last row 0 0 0 1, got\n{X}")
    pose = value if isinstance(value, Pose) else Pose.of(np.asarray(value, dtype=float).tolist())
    return Pose.identity() if pose == Pose.identity() else pose


def fixed_array(values: Any) -> np.ndarray:
    """Return a read-only copy as an array of floats, or of objects if any value is a symbol."""
    array = np.array(values, dtype=object if is_traced(values) else float)
    array.setflags(write=False)
    return array
