"""Pose arguments of functions of two shapes: single and batched poses, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.shapes import Box, HalfSpace, Sphere

BALL, BOX, FLOOR = Sphere(0.1), Box((0.2, 0.3, 0.4)), HalfSpace()
X = np.tile(lw.pose((0.0, 0.0, 0.5), rpy=(0.1, 0.2, 0.3)), (20, 1, 1))
X[:, :3, 3] += np.linspace(-0.4, 0.4, 20)[:, np.newaxis]


def evaluated(caller, X_a, X_b):
    """Some numbers of what a function gives."""
    if caller == "signed_distance":
        return lw.signed_distance(BALL, X_a, BOX, X_b).distance
    return lw.contact_points(FLOOR, X_a, BOX, X_b, max_distance=0.05).depth


@pytest.mark.parametrize("caller", ["signed_distance", "contact_points"])
def test_distance_functions_of_two_shapes_accept_single_and_batched_poses(caller: str) -> None:
    many = evaluated(caller, lw.pose(), X)
    for k in (0, 7, 19):
        assert np.array_equal(evaluated(caller, lw.pose(), X[k]), many[k])
    assert np.array_equal(evaluated(caller, np.eye(4, dtype=int), X[3].tolist()), many[3])
    assert np.array_equal(evaluated(caller, lw.pose(), X.reshape(4, 5, 4, 4)), many.reshape(4, 5, *many.shape[1:]))
    slanted = np.swapaxes(np.swapaxes(X, 1, 2).copy(), 1, 2)  # another order in memory
    assert np.array_equal(evaluated(caller, lw.pose(), slanted), many)
    wrong = {
        "rotation": lambda x: x[..., :3, :3].__imul__(1.0 + 1e-5),
        "a rotation": lambda x: x[..., 0].__imul__(-1.0),  # a reflection
        "last row": lambda x: x[..., 3, 0].__iadd__(1e-3),
        "nan": lambda x: x[..., 1, 1].__imul__(np.nan),
        "inf": lambda x: x[..., 0, 3].__iadd__(np.inf),
        "positions within": lambda x: x[..., 2, 3].__iadd__(1e25),
    }
    for said, change in wrong.items():
        for pose in (X[4].copy(), X.copy()):
            change(pose if pose.ndim == 2 else pose[13:14])
            for poses in ((lw.pose(), pose), (pose, lw.pose())):
                name = "X_a" if poses[0] is pose else "X_b"
                with pytest.raises(ValueError, match=rf"^{caller}: {name}: .*{said}"):
                    evaluated(caller, *poses)
    assert np.array_equal(evaluated(caller, lw.pose(), X), many)
    with pytest.raises(ValueError, match=r"X_b: expected poses \(\.\.\., 4, 4\), got an array of shape \(3, 4\)"):
        evaluated(caller, lw.pose(), np.eye(4)[:3])
    with pytest.raises(ValueError, match=r"do not broadcast"):
        evaluated(caller, X[:3], X[:2])
    with pytest.raises((TypeError, ValueError), match="X_a"):
        evaluated(caller, "here", X)
