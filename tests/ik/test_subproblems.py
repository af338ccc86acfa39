"""Subproblems of closed forms: one angle, two angles, a conic and a circle, three axes through a point."""

import math

import numpy as np

from linkwork.ik.algorithms.closed_form.spherical_wrist import three_angles
from linkwork.ik.algorithms.closed_form.trigonometric_equations import (
    Sinusoid,
    UnitAngle,
    coupled_angles,
    equation,
    on_circle,
)

N = 20000


def angle_between(first, second):
    return abs(math.remainder(first - second, 2.0 * math.pi))


def test_equations_of_one_angle_in_closed_form_ik_have_both_solutions():
    """One solution is the generating angle; without a solution the nearest angle is returned."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, N))
    theta = rng.uniform(-math.pi, math.pi, N)
    c = a * np.cos(theta) + b * np.sin(theta)
    result = equation(a, b, c)
    for angle in (result.first, result.second):
        assert np.abs(a * angle.cos + b * angle.sin - c).max() < 1e-14
        assert np.abs(angle.cos**2 + angle.sin**2 - 1.0).max() < 1e-14
    away = np.min([np.abs(np.angle(np.exp(1j * (x.angle() - theta)))) for x in (result.first, result.second)], axis=0)
    assert away[result.differ].max() < 1e-9
    rho = np.hypot(a, b)
    beyond = equation(a, b, 1.5 * rho)
    assert not beyond.differ.any()
    assert np.abs(beyond.error - 0.5 * rho).max() < 1e-14
    assert np.abs(beyond.first.angle() - np.arctan2(b, a)).max() < 1e-15
    degenerate = equation(0.0, 0.0, 0.3)
    assert degenerate.first == (1.0, 0.0) and not degenerate.differ and degenerate.error == 0.3


def test_all_intersections_of_a_conic_with_the_unit_circle_are_returned():
    """Four points of the circle, which may be close to each other, or two of them."""
    rng = np.random.default_rng(1)
    for case in ("four", "two", "near", "lines", "diagonal"):
        points = rng.uniform(-math.pi, math.pi, (4, N))
        if case == "near":
            points[1] = points[0] + 1e-3
        if case == "two":
            # complex ones besides: less than the least of a form that is positive elsewhere
            A, B, C, D, E = rng.normal(size=(5, N))
            F = -(
                A * np.cos(points[0]) ** 2
                + 2.0 * B * np.cos(points[0]) * np.sin(points[0])
                + C * np.sin(points[0]) ** 2
                + 2.0 * D * np.cos(points[0])
                + 2.0 * E * np.sin(points[0])
            )
            expected = points[:1]
        else:
            line_a, line_b = (line_through(points[k], points[k + 1]) for k in (0, 2))
            (p, q, r), (u, v, w) = line_a, line_b
            A, B, C = p * u, 0.5 * (p * v + q * u), q * v
            D, E, F = 0.5 * (p * w + r * u), 0.5 * (q * w + r * v), r * w
            if case in ("four", "near"):  # the same points on another conic of the pencil
                more = rng.normal(size=N)
                A, C, F = A + more, C + more, F - more
            expected = points
            if case == "diagonal":
                A, B, C, D, E, F = (np.broadcast_to(x, N) for x in (1.0, 0.0, 0.25, 0.0, 0.0, -0.5))
                line_a = np.full(N, math.acos(math.sqrt(1.0 / 3.0)))
                expected = np.array([line_a, -line_a, math.pi - line_a, line_a - math.pi])
        result = on_circle(A, B, C, D, E, F)
        least = np.full(expected.shape, np.inf)
        for point in result:
            assert np.isfinite(point.angle.cos).all() and np.isfinite(point.angle.sin).all()
            value = (
                A * point.angle.cos**2
                + 2.0 * B * point.angle.cos * point.angle.sin
                + C * point.angle.sin**2
                + 2.0 * D * point.angle.cos
                + 2.0 * E * point.angle.sin
                + F
            )
            size = np.abs([A, B, C, D, E, F]).max(axis=0)
            assert (np.abs(value) / size)[point.counts].max(initial=0.0) < 1e-9
            away = np.abs(np.angle(np.exp(1j * (point.angle.angle() - expected))))
            least = np.minimum(least, np.where(point.counts, away, np.inf))
        apart = separation(points) if case != "two" else None
        tolerance = 1e-8 if case == "two" else 1e-11 / np.maximum(apart, 1e-9) ** 2
        missed = least > tolerance
        assert missed.mean() < 1e-3 if case == "two" else not missed.any(), case


def line_through(p, q):
    """a x + b y + c = 0 through two points of the circle."""
    middle, half = 0.5 * (p + q), 0.5 * (p - q)
    return np.cos(middle), np.sin(middle), -np.cos(half)


def separation(points):
    """The least distance between points."""
    least = np.full(points.shape[1:], np.inf)
    for i in range(4):
        for j in range(i):
            least = np.minimum(least, np.abs(np.exp(1j * points[i]) - np.exp(1j * points[j])))
    return least


def test_equations_of_two_angles_in_closed_form_ik_have_all_solutions():
    """Each side in turn is independent of its angle."""
    rng = np.random.default_rng(2)
    for constant in ("f", "F", "g", "G", ""):
        for _ in range(200):
            theta, phi = rng.uniform(-math.pi, math.pi, 2)
            forms = {name: rng.normal(size=3) for name in "fFgG"}
            if constant:
                forms[constant][1:] = 0.0
            f, F, g, G = (Sinusoid(*map(float, forms[name])) for name in "fFgG")
            unit_theta, unit_phi = UnitAngle.of(theta), UnitAngle.of(phi)
            f = f._replace(constant=f.constant + F.at(unit_phi) - f.at(unit_theta))
            g = g._replace(constant=g.constant + G.at(unit_phi) - g.at(unit_theta))
            results = [x for x in coupled_angles(f, F, g, G) if x.counts]
            assert (
                min(max(angle_between(x.theta.angle(), theta), angle_between(x.phi.angle(), phi)) for x in results)
                < 1e-6
            )


def test_rotations_are_decomposed_about_three_axes_to_rounding():
    """Right angles, also beside the singularities, and general angles.
    are nearly one are as far off as the root of rounding."""
    rng = np.random.default_rng(3)
    for alpha, beta in ((0.5 * math.pi, -0.5 * math.pi), (0.5 * math.pi, 0.5 * math.pi), (1.0, 1.0), (0.7, -2.0)):
        twists = [UnitAngle(*np.round([math.cos(x), math.sin(x)], 15)) for x in (alpha, beta)]
        for scale in (3.0, 1e-3, 1e-6, 1e-9, 0.0):
            x, z = rng.uniform(-math.pi, math.pi, (2, 500))
            for y in (scale * rng.uniform(-1.0, 1.0, 500), math.pi + scale * rng.uniform(-1.0, 1.0, 500)):
                R = product(x, twists[0], y, twists[1], z)
                for result in three_angles(R, *twists):
                    angles = [angle.angle() for angle in result[:3]]
                    again = product(angles[0], twists[0], angles[1], twists[1], angles[2])
                    assert np.abs(np.array(R) - np.array(again)).max() < (1e-14 if abs(alpha) > 1.5 else 1e-7)
                if scale == 3.0:
                    first, second = three_angles(R, *twists)
                    away = [
                        np.abs(np.angle(np.exp(1j * (np.array([a.angle() for a in s[:3]]) - np.array([x, y, z]))))).max(
                            0
                        )
                        for s in (first, second)
                    ]
                    assert np.median(np.minimum(*away)) < 1e-14


def product(x, alpha, y, beta, z):
    """Rz(x) Rx(α) Rz(y) Rx(β) Rz(z), as rows."""

    def about_z(angle):
        unit, c, s = np.ones_like(angle), np.cos(angle), np.sin(angle)
        return np.array([[c, -s, 0 * unit], [s, c, 0 * unit], [0 * unit, 0 * unit, unit]])

    def about_x(twist):
        return np.array([[1.0, 0.0, 0.0], [0.0, twist.cos, -twist.sin], [0.0, twist.sin, twist.cos]])

    R = about_z(np.asarray(x))
    for turn in (about_x(alpha), about_z(np.asarray(y)), about_x(beta), about_z(np.asarray(z))):
        turn = np.broadcast_to(turn.reshape(3, 3, -1), (3, 3, R.shape[-1]))
        R = np.einsum("ijn,jkn->ikn", R, turn)
    return [list(row) for row in R]
