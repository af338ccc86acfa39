"""Numbers, texts and poses as people give them: looked at, and made values of.

``expected`` is the beginning of the message of a ValueError, such as "link 'rod': mass: expected a number [kg]".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.validation import as_float_array
from linkwork.spatial.matrix3 import Symmetric3
from linkwork.spatial.pose import Pose
from linkwork.spatial.rotation import Rotation
from linkwork.spatial.vec3 import Vec3

__all__ = [
    "LARGEST",
    "RIGID",
    "fixed_array",
    "given_inertia",
    "given_numbers",
    "given_pose",
    "given_text",
    "is_rigid",
    "matrix_of",
]

LARGEST = 1e20  # numbers beyond it are refused: products of them, as algorithms make them, would overflow
RIGID = 1e-6  # how far rows or columns of a rotation may be from orthonormal
_SYMMETRIC = 1e-9  # relative: how far an inertia may be from symmetric


def given_numbers(value: Any, expected: str, *shapes: tuple[int, ...], infinite: bool = False) -> np.ndarray:
    """Numbers as floats, in one of these shapes; −0 becomes 0.

    Raises ValueError for another shape, for NaN and, unless ``infinite``, for ±inf, and for what is no number: text,
    truth values and complex numbers are none, and masked arrays are refused.
    """
    numbers = as_float_array(value)
    if numbers is None or np.asarray(value).dtype.kind == "b":
        raise ValueError(f"{expected}, got {value!r}")
    if numbers.shape not in shapes:
        raise ValueError(f"{expected}, got an array of shape {numbers.shape}")
    if not (infinite or np.isfinite(numbers).all()) or np.isnan(numbers).any():
        raise ValueError(f"{expected}, got {value!r}")
    return numbers + 0.0


def given_inertia(value: Any, what: str) -> Symmetric3:
    """A rotational inertia: a symmetric matrix (3, 3), the three numbers of its diagonal, or None for none at all.

    Raises ValueError.
    """
    if value is None:
        return Symmetric3.zero()
    expected = f"{what}: inertia: expected a symmetric matrix (3, 3) or three numbers [kg·m²]"
    J = given_numbers(value, expected, (3, 3), (3,))
    if J.ndim == 1:
        return Symmetric3.diagonal(*J.tolist())
    if np.abs(J - J.T).max() > _SYMMETRIC * np.abs(J).max():
        raise ValueError(f"{expected}, got {J.tolist()}")
    return Symmetric3(*J[np.triu_indices(3)].tolist())


def is_rigid(X: np.ndarray) -> bool:
    """Whether matrices (..., 4, 4) are rigid transforms: a rotation, within 1e-6, and the last row 0 0 0 1."""
    R = X[..., :3, :3]
    square = np.swapaxes(R, -1, -2) @ R - np.eye(3)
    last = X[..., 3, :] - [0.0, 0.0, 0.0, 1.0]
    near = np.max(np.abs(square), initial=0.0) <= RIGID and np.max(np.abs(last), initial=0.0) <= RIGID
    return bool(near and np.isfinite(X).all() and (np.linalg.det(R) > 0.0).all())


def given_text(value: Any, what: str, kind: str = "a name") -> str:
    """A text that is not blank.  Raises ValueError."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what}: expected {kind}, got {value!r}")
    return value


def given_pose(value: Any, what: str) -> Pose:
    """A pose: a matrix (4, 4), three numbers [m] for a place that is not turned, a `Pose`, or None for the identity.

    Raises ValueError where it is no rigid transform.
    """
    if value is None:
        return Pose.identity()
    expected = f"{what}: expected a pose, a matrix of shape (4, 4) or three numbers [m]"
    matrix = np.reshape(value.elements(), (4, 4)) if isinstance(value, Pose) else value
    X = given_numbers(matrix, expected, (4, 4), (3,))
    if X.shape == (3,):
        return Pose(Rotation.identity(), Vec3.of(X.tolist())) if X.any() else Pose.identity()
    if not is_rigid(X):
        raise ValueError(f"{expected} with a rotation and the last row 0 0 0 1, got\n{X}")
    pose = value if isinstance(value, Pose) else Pose.of(np.asarray(value, dtype=float).tolist())
    return Pose.identity() if pose == Pose.identity() else pose


def matrix_of(pose: Pose) -> np.ndarray:
    """A pose as a matrix (4, 4)."""
    return np.array(pose.elements(), dtype=float).reshape(4, 4)


def fixed_array(values: Any) -> np.ndarray:
    """A copy that cannot be written to."""
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array
