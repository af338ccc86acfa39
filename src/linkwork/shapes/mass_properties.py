"""Mass properties of triangle meshes, bodies of revolution, and polytopes and ellipsoids grown by a radius."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork.spatial import Symmetric3, Vec3

__all__ = ["Moments", "arc", "line", "of_ellipsoid_grown", "of_polytope_grown", "of_revolution", "of_triangles"]


@dataclass(frozen=True, slots=True)
class Moments:
    """Volume [m³], centroid (3,) [m] and second moments about it per volume, Σ = ∫ x xᵀ dV / V (3, 3) [m²]."""

    volume: float
    center: np.ndarray
    second: np.ndarray

    @staticmethod
    def of(volume: float, center: Vec3, gyration: Symmetric3) -> Moments:
        """Create the moments from the rotational inertia J of a uniform body of 1 kg about its centre of mass.

        ``gyration`` is J [m²].  The second moments per volume are Σ = ½ tr(J) 1 − J.
        """
        J = np.array([[*gyration.x], [*gyration.y], [*gyration.z]])
        return Moments(volume, np.array([*center]), 0.5 * np.trace(J) * np.eye(3) - J)

    def unit_inertia(self) -> Symmetric3:
        """Return the rotational inertia of 1 kg, tr(Σ) 1 − Σ."""
        J = np.trace(self.second) * np.eye(3) - self.second
        return Symmetric3(*(float(J[i, j]) for i in range(3) for j in range(i, 3)))


def of_triangles(points: np.ndarray, triangles: np.ndarray) -> Moments:
    """Return the moments of the body that closed triangles enclose.

    The volume of an inside-out surface is negative.

    Sum over the tetrahedra of the triangles and an inner point: ∫ x xᵀ dV = V/20 (Σ vᵢ vᵢᵀ + (Σ vᵢ)(Σ vᵢ)ᵀ), with the
    sums over the triangle's corners vᵢ relative to that point.
    """
    inside = points[triangles].mean(axis=(0, 1))
    v = points[triangles] - inside
    volumes = (v[:, 0] * np.cross(v[:, 1], v[:, 2])).sum(axis=1) / 6.0
    sums = v.sum(axis=1)
    volume = float(volumes.sum())
    if volume == 0.0:
        return Moments(0.0, inside, np.zeros((3, 3)))
    center = (volumes[:, None] * sums).sum(axis=0) / (4.0 * volume)
    second = np.einsum("t,tki,tkj->ij", volumes, v, v) + np.einsum("t,ti,tj->ij", volumes, sums, sums)
    return Moments(volume, inside + center, second / (20.0 * volume) - np.outer(center, center))


# -- bodies of revolution


@cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of Gauss-Legendre quadrature on -1 .. 1."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    return nodes, weights


def arc(z: float, radius: float, r: float, start: float, end: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the quadrature nodes (heights, radii, weights) of an arc in the profile of a body of revolution.

    The arc of radius r is about (z, radius), between angles from the radial axis [rad].
    """
    nodes, weights = _quadrature()
    angle = 0.5 * (start + end) + 0.5 * (end - start) * nodes
    return z + r * np.sin(angle), radius + r * np.cos(angle), 0.5 * (end - start) * r * np.cos(angle) * weights


def line(z: tuple[float, float], radius: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return quadrature nodes (heights, radii, weights) of a straight line between two points of a profile."""
    nodes, weights = _quadrature()
    t = 0.5 * (1.0 + nodes)
    return z[0] + (z[1] - z[0]) * t, radius[0] + (radius[1] - radius[0]) * t, 0.5 * (z[1] - z[0]) * weights


def of_revolution(segments: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Moments:
    """Return the moments of a body of revolution about z from the segments of its profile.

    A segment is quadrature nodes: heights z, radii R and weights dz.  V = π ∫ R² dz, and a disc's second moments are
    R²/4 per area.  The quadrature is exact to rounding.
    """
    z, radius, dz = (np.concatenate(values) for values in zip(*segments, strict=True))
    discs = math.pi * radius * radius * dz
    volume = discs.sum()
    center = (discs * z).sum() / volume
    across = (discs * radius * radius).sum() / (4.0 * volume)
    along = (discs * (z - center) ** 2).sum() / volume
    return Moments(float(volume), np.array([0.0, 0.0, center]), np.diag([across, across, along]))


# -- grown by a radius


def of_polytope_grown(points: np.ndarray, triangles: np.ndarray, r: float) -> Moments:
    """Return the exact moments of all points within a radius of a convex polytope.

    By Steiner's formula, the body consists of the polytope, a prism on every facet, a cylinder sector along every edge
    and a ball sector at every corner.  A ball sector needs ∫ n dΩ = ½ ∮ n × dn and ∫ n nᵀ dΩ = (Ω 1 − ∮ n bᵀ ds)/3 over
    its spherical polygon, with b its outward conormal; these are sums over arcs of great circles.

    Source: Arvo, Applications of irradiance tensors to the simulation of non-Lambertian phenomena, 1995.
    """
    core = of_triangles(points, triangles)
    middle = core.center
    p = points - middle
    corners = p[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    areas = 0.5 * lengths
    normals = normals / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    total = _Sum(core.volume, np.zeros(3), core.volume * core.second)

    sums = corners.sum(axis=1)
    for v, s, n, area in zip(corners, sums, normals, areas, strict=True):  # prisms
        flat = area / 12.0 * (v.T @ v + np.outer(s, s))
        total.add(area, area * s / 3.0, flat, (r, 0.5 * r * r * n, r**3 / 3.0 * np.outer(n, n)))

    left = {edge: k for k, (a, b, c) in enumerate(triangles.tolist()) for edge in ((a, b), (b, c), (c, a))}
    turns: dict[int, list[tuple[np.ndarray, np.ndarray, float, np.ndarray]]] = {}
    for (a, b), k in left.items():  # n1 to n2 is a counterclockwise rotation about a
        if a > b:
            continue
        n1, n2 = normals[left[b, a]], normals[k]
        across = np.cross(n1, n2)
        sine, cosine = float(np.linalg.norm(across)), float(n1 @ n2)
        angle = math.atan2(sine, cosine)
        if sine == 0.0:
            continue
        axis = across / sine
        t = np.cross(axis, n1)
        round_ = sine * n1 + (1.0 - cosine) * t  # ∫ n over the arc
        squares = (
            (0.5 * angle + 0.5 * sine * cosine) * np.outer(n1, n1)
            + (0.5 * angle - 0.5 * sine * cosine) * np.outer(t, t)
            + 0.5 * sine * sine * (np.outer(n1, t) + np.outer(t, n1))
        )
        length = float(np.linalg.norm(p[b] - p[a]))
        thin = np.outer(p[a], p[b])
        whole = np.outer(p[a], p[a]) + np.outer(p[b], p[b]) + 0.5 * (thin + thin.T)
        total.add(
            length,
            0.5 * length * (p[a] + p[b]),
            length / 3.0 * whole,
            (0.5 * angle * r * r, r**3 / 3.0 * round_, 0.25 * r**4 * squares),
        )
        turns.setdefault(a, []).append((n1, n2, angle, round_[:, None] * axis))
        turns.setdefault(b, []).append((n2, n1, angle, -round_[:, None] * axis))
    for corner, arcs in turns.items():
        first = arcs[0][0]
        angles = [_solid_angle(first, n1, n2) for n1, n2, _, _ in arcs]
        solid = sum(angles)
        toward = 0.5 * sum((angle * _unit(np.cross(n1, n2)) for n1, n2, angle, _ in arcs), start=np.zeros(3))
        squares = (solid * np.eye(3) + sum((moment for *_, moment in arcs), start=np.zeros((3, 3)))) / 3.0
        v = p[corner]
        total.add(1.0, v, np.outer(v, v), (solid * r**3 / 3.0, 0.25 * r**4 * toward, 0.2 * r**5 * squares))
    center = total.first / total.volume
    return Moments(total.volume, middle + center, total.second / total.volume - np.outer(center, center))


class _Sum:
    """Accumulated volume, first and second moments."""

    def __init__(self, volume: float, first: np.ndarray, second: np.ndarray) -> None:
        self.volume, self.first, self.second = volume, first, second

    def add(
        self, size: float, first: np.ndarray, second: np.ndarray, other: tuple[float, np.ndarray, np.ndarray]
    ) -> None:
        """Add the moments of the Minkowski sum of two orthogonal sets.

        ``size``, ``first`` and ``second`` are the moments of order 0, 1 and 2 of the first set, ``other`` those of the
        second.
        """
        other_size, other_first, other_second = other
        mixed = np.outer(first, other_first)
        self.volume = self.volume + size * other_size
        self.first = self.first + other_size * first + size * other_first
        symmetric = 0.5 * (other_second + other_second.T)
        self.second = self.second + other_size * second + mixed + mixed.T + size * symmetric


def _unit(v: np.ndarray) -> np.ndarray:
    return np.asarray(v / np.linalg.norm(v))


def _solid_angle(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Return the signed solid angle of a spherical triangle [Van Oosterom and Strackee 1983]."""
    return 2.0 * math.atan2(float(a @ np.cross(b, c)), float(1.0 + a @ b + b @ c + c @ a))


def of_ellipsoid_grown(radii: Sequence[float], r: float) -> Moments:
    """Return the moments of all points within a radius of an ellipsoid, by quadrature over its surface.

    The offset surface at distance r has (1 + r/R₁)(1 + r/R₂) of the area, with the principal radii of curvature R₁, R₂.
    Then V = ∫ y·n dA / 3 and ∫ y yᵀ dV = ∫ y yᵀ (y·n) dA / 5.  With A = diag(radii), x = A u and n along A⁻¹ u,
    dA = det A |A⁻¹ u| du.  Nodes are chosen on the sphere of w, with u along A^½ w, which resolves regions of u and of
    n alike.  The relative error of 192 × 96 nodes is 1e-9 for radii within a factor of 20, and 2e-4 within 100.
    """
    size = np.array(radii)
    heights, weights = np.polynomial.legendre.leggauss(192)
    angles = np.arange(96) * (2.0 * math.pi / 96)
    flat = np.sqrt(1.0 - heights * heights)
    w = np.stack(
        [np.outer(flat, np.cos(angles)), np.outer(flat, np.sin(angles)), np.outer(heights, np.ones(96))], axis=-1
    )
    root = np.sqrt(size)
    u = w * root
    length = np.linalg.norm(u, axis=-1)
    u = u / length[..., None]
    n = u / size
    stretch = np.linalg.norm(n, axis=-1)
    n = n / stretch[..., None]
    h = 1.0 / stretch  # x·n
    product = math.prod(radii) ** 2 / h**4  # R₁ R₂
    total = ((size * size).sum() - ((size * size * n) ** 2).sum(axis=-1) / (h * h)) / h  # R₁ + R₂
    area = math.prod(radii) * stretch * (1.0 + r * total / product + r * r / product)
    area = area * weights[:, None] * (2.0 * math.pi / 96) * math.prod(root) / length**3
    y = size * u + r * n
    shells = area * (h + r)
    volume = float(shells.sum() / 3.0)
    second = np.diag((shells[..., None] * y * y).sum(axis=(0, 1)) / (5.0 * volume))
    return Moments(volume, np.zeros(3), second)
