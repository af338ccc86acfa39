"""Arcs of Cartesian paths: poses along them by the rotation about their axis."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


@pytest.mark.parametrize("orientation", ["carried", "decoupled"])
def test_poses_on_an_arc_are_rotated_about_its_axis(orientation: str) -> None:
    """A carried frame rotates with the circle; otherwise the orientation is constant without a pose at the end."""
    start = lw.pose((0.1, -0.2, 0.3), rpy=(0.4, 0.1, -0.3))
    center, axis, angle = np.array([0.0, 0.3, 0.1]), np.array([0.2, 0.1, 1.0]), -1.3
    arc = lw.motion.arc(start, center=center, axis=axis, angle=angle, orientation=orientation)
    arm = start[:3, 3] - center
    radius = np.linalg.norm(np.cross(axis / np.linalg.norm(axis), arm))
    assert abs(arc.length - radius * abs(angle)) < 1e-12
    for share in (0.0, 0.3, 1.0):
        X, R = arc(share * arc.length), lw.pose(axis=tuple(axis), angle=share * angle)[:3, :3]
        assert np.allclose(X[:3, 3], center + R @ arm, rtol=0.0, atol=1e-12)
        expected = R @ start[:3, :3] if orientation == "carried" else start[:3, :3]
        assert np.allclose(X[:3, :3], expected, rtol=0.0, atol=1e-12)
