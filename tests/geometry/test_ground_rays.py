"""Rays on height fields: compared with intersections of lines and triangles, with closed forms, and derivatives."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.geometry.fields import Ground, ground_arrays, ground_ray
from linkwork.spatial import Vec3

MOST = 6.0


def ray_on(field):
    ground = Ground(**ground_arrays(field))
    return lw.compile(lambda o, d: ground_ray(ground, Vec3(*o), Vec3(*d), MOST), o=(3,), d=(3,))


def units(share):
    return share / np.linalg.norm(share, axis=-1, keepdims=True)


def triangles_of(field):
    """(n, 3, 3): two of each cell, on both sides of the line from (i, j) to (i + 1, j + 1)."""
    m, n = field.heights.shape
    x = field.origin[0] + field.spacing[0] * np.arange(m)
    y = field.origin[1] + field.spacing[1] * np.arange(n)
    p = np.stack([*np.broadcast_arrays(x[:, None], y[None, :]), field.heights], axis=-1)
    low = np.stack([p[:-1, :-1], p[1:, :-1], p[1:, 1:]], axis=-2)
    high = np.stack([p[:-1, :-1], p[1:, 1:], p[:-1, 1:]], axis=-2)
    return np.concatenate([low.reshape(-1, 3, 3), high.reshape(-1, 3, 3)])


def to_triangles(o, d, triangles):
    """The least t at which o + t d is on a triangle, of all; inf where it is on none (Möller and Trumbore 1997)."""
    best = np.full(len(o), np.inf)
    for a, b, c in triangles:
        e, f = b - a, c - a
        across = np.cross(d, f)
        det = across @ e
        with np.errstate(divide="ignore", invalid="ignore"):
            s = ((o - a) * across).sum(axis=1) / det
            turned = np.cross(o - a, e)
            r = (d * turned).sum(axis=1) / det
            t = turned @ f / det
        on = (s >= -1e-12) & (r >= -1e-12) & (s + r <= 1.0 + 1e-12) & (t >= 0.0)
        best = np.where(on & (t < best), t, best)
    return best


def above(field, p):
    """Return heights of points above the surface of its triangles."""
    i = (p[:, 0] - field.origin[0]) / field.spacing[0]
    j = (p[:, 1] - field.origin[1]) / field.spacing[1]
    H = field.heights
    i, j = i.clip(0.0, H.shape[0] - 1.0), j.clip(0.0, H.shape[1] - 1.0)
    k, m = np.minimum(i.astype(int), H.shape[0] - 2), np.minimum(j.astype(int), H.shape[1] - 2)
    s, t = i - k, j - m
    a, b, c, d = H[k, m], H[k + 1, m], H[k, m + 1], H[k + 1, m + 1]
    return p[:, 2] - np.where(t < s, a + (b - a) * s + (d - b) * t, a + (d - c) * s + (c - a) * t)


def test_rays_end_at_the_first_triangle_or_side_of_a_height_field():
    rng = np.random.default_rng(1)
    field = lw.shapes.HeightField(0.4 * rng.normal(size=(9, 7)), (0.5, 0.3), (-1.9, -0.8))
    kernel = ray_on(field)
    count = 6000
    o = rng.uniform([-3.0, -2.0, -1.0], [3.0, 2.0, 2.0], (count, 3))
    d = rng.normal(size=(count, 3))
    d[::5, 0] = 0.0  # along lines of the grid, straight down, and level
    d[::7, :2], d[::7, 2] = 0.0, -1.0
    d[1::9, 2] = 0.0
    d[~d.any(axis=1)] = 1.0, 0.0, 0.0
    d = units(d)
    low = np.array(field.origin)
    high = low + np.array(field.spacing) * (np.array(field.heights.shape) - 1)
    with np.errstate(divide="ignore"):
        ends = np.sort(np.stack([(low - o[:, :2]) / d[:, :2], (high - o[:, :2]) / d[:, :2]]), axis=0)
    begin, end = np.maximum(ends[0].max(axis=1), 0.0), ends[1].min(axis=1)
    over = (begin <= end) & (begin < np.inf)
    enters = o + np.where(over, begin, 0.0)[:, None] * d
    in_ground = over & (above(field, enters) <= 0.0)
    expected = np.minimum(np.where(in_ground, begin, to_triangles(o, d, triangles_of(field))), MOST)
    outputs = kernel(o, d)
    assert np.abs(outputs - expected).max() < 1e-9
    inside, side = in_ground & (begin == 0.0), in_ground & (begin > 0.0)
    on_surface = ~in_ground & (expected < MOST)
    assert min(inside.sum(), side.sum(), on_surface.sum(), (expected == MOST).sum()) > 300
    assert np.array_equal(outputs[inside], np.zeros(inside.sum())) and (outputs[expected == MOST] == MOST).all()
    assert [float(kernel(o[k], d[k])) for k in range(20)] == outputs[:20].tolist()  # alone, to the bit


def test_ray_lengths_on_planar_height_fields_equal_closed_forms():
    """Planes at angles down to a tenth of a degree, over a hundred cells, and a ramp."""
    rng = np.random.default_rng(2)
    x, y = 0.1 * np.arange(101) - 5.0, 0.08 * np.arange(101) - 4.0
    slope = np.array([0.2, -0.1])
    field = lw.shapes.HeightField(0.3 + slope[0] * x[:, None] + slope[1] * y[None, :], (0.1, 0.08), (x[0], y[0]))
    kernel = ray_on(field)
    n = units(np.array([-slope[0], -slope[1], 1.0]))
    along = units(np.cross(n, rng.normal(size=(300, 3))))
    sinks = np.geomspace(2e-3, 1.5, 300)[:, None]
    d = along * np.cos(sinks) - n * np.sin(sinks)
    o = np.array([0.5, 0.5, 0.3 + slope @ [0.5, 0.5]]) + n * np.minimum(0.05, 4.0 * sinks)
    expected = np.minimum((o - [0.0, 0.0, 0.3]) @ n / (-d @ n), MOST)
    far = o + expected[:, None] * d
    inside = (np.abs(far[:, 0]) < 4.9) & (np.abs(far[:, 1]) < 3.9)
    assert inside.sum() > 250 and (expected[inside] > 3.0).any()
    assert np.abs(kernel(o, d) - expected)[inside].max() < 1e-9
    ramp = lw.shapes.HeightField(np.maximum(0.0, 0.5 * x)[:, None] + 0.0 * y[None, :], (0.1, 0.08), (x[0], y[0]))
    kernel, level = ray_on(ramp), units(np.array([1.0, 0.3, 0.0]))
    for high in (0.02, 0.3, 0.77):  # level above the flat part, until the ramp is as high
        assert np.isclose(kernel([-1.0, 0.1, high], level), (2.0 * high + 1.0) / level[0], atol=1e-12)


def test_derivatives_of_ray_lengths_equal_finite_differences():
    rng = np.random.default_rng(3)
    field = lw.shapes.HeightField(0.3 * rng.normal(size=(8, 8)), 0.4)
    kernel = ray_on(field)
    o, d = np.array([0.1, -0.2, 1.4]), units(np.array([0.3, 0.2, -1.0]))
    slopes = kernel.jacobian()(o, d)
    differences = np.array(
        [
            [(kernel(o + e, d) - kernel(o - e, d)) / 2e-6, (kernel(o, d + e) - kernel(o, d - e)) / 2e-6]
            for e in 1e-6 * np.eye(3)
        ]
    )
    assert 0.0 < kernel(o, d) < MOST
    assert np.abs(np.ravel(slopes) - differences.T.ravel()).max() < 1e-6
