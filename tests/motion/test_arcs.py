"""Cartesian paths: poses along arcs by the rotation about their axis, and derivatives at waypoints."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.motion.cartesian.waypoint_refinement import _accelerations, _CurvePoints, _parabola_velocities


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


def test_derivatives_of_configurations_at_waypoints_are_exact_for_polynomials() -> None:
    """Velocities of parabolas; accelerations of quintics inside of a part, and of cubics at its ends."""
    rng = np.random.default_rng(0)
    request: Any = SimpleNamespace(difference=lambda start, end: end - start, is_plain=True)
    for count in (2, 5):
        s = np.cumsum(rng.uniform(0.2, 1.0, count))

        def at(degree: int, s: np.ndarray = s) -> list[np.ndarray]:
            """Return q, v and a (k, 2) of a polynomial."""
            c = rng.normal(size=(degree + 1, 2))
            return [np.polynomial.polynomial.polyval(s, np.polynomial.polynomial.polyder(c, k)).T for k in range(3)]

        q, v, _ = at(2 if count > 2 else 1)
        assert np.allclose(_parabola_velocities(request, _CurvePoints(s, q, v)), v, rtol=1e-12, atol=1e-12)
        for degree, rows in ((3, slice(None)), (5, slice(1, -1))):
            q, v, a = at(degree)
            assert np.allclose(_accelerations(request, [_CurvePoints(s, q, v)], v)[rows], a[rows], rtol=0.0, atol=1e-9)


def test_axis_of_an_arc_can_be_named_and_a_pose_as_its_point_is_refused() -> None:
    start = lw.pose((0.4, 0.1, 0.2), rpy=(0.1, 0.2, 0.3))
    for k, name in enumerate("xyz"):
        named, by_vector = (
            lw.motion.arc(start, center=(0.1, -0.2, 0.5), axis=axis, angle=2.0) for axis in (name, np.eye(3)[k])
        )
        s = 0.6 * named.length
        assert named.length == by_vector.length and np.array_equal(named(s), by_vector(s))
    with pytest.raises(ValueError, match=r"arc: via: expected a point \(3,\), got a pose; pass its position"):
        lw.motion.arc(start, lw.pose((0.5, 0, 0)), (0.2, 0.3, 0.4))
    with pytest.raises(ValueError, match="arc: axis: expected"):
        lw.motion.arc(start, center=(0, 0, 0), axis="w", angle=1.0)
