"""Primitive shapes: box, capsule, cone, cylinder, ellipsoid, half-space and sphere."""

from __future__ import annotations

import math

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.lazy_dataclass import dataclass
from linkwork.shapes.mass_properties import Moments, arc, line, of_ellipsoid_grown, of_polytope_grown, of_revolution
from linkwork.shapes.shape import MasslessShape, Shape, sizes
from linkwork.spatial import Symmetric3, Vec3

__all__ = ["Box", "Capsule", "Cone", "Cylinder", "Ellipsoid", "HalfSpace", "Sphere"]


@public
@dataclass(frozen=True, slots=True)
class Box(Shape):
    """Box centred at the origin; ``size`` are its edge lengths along x, y and z [m].

    Raises ValueError for edges that are not positive.
    """

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sizes("box", "size", self.size, 3))

    @property
    def origin_radius(self) -> float:
        return 0.5 * math.hypot(*self.size)

    @property
    def volume(self) -> float:
        return math.prod(self.size)

    def unit_inertia(self) -> Symmetric3:
        x, y, z = (a * a / 12.0 for a in self.size)
        return Symmetric3.diagonal(y + z, x + z, x + y)

    def _support(self, units: np.ndarray) -> np.ndarray:
        return np.where(units < 0.0, -0.5, 0.5) * self.size

    def _grown(self, radius: float) -> Moments:
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        from linkwork.shapes.quickhull import hull_triangles

        return of_polytope_grown(corners * self.size, hull_triangles(corners), radius)


@public
@dataclass(frozen=True, slots=True)
class Capsule(Shape):
    """Capsule along z, centred at the origin: all points within ``radius`` [m] of a segment of ``length`` [m].

    The length is the distance between the centres of the hemispheres; zero gives a sphere.  Raises ValueError unless
    the radius is positive and the length non-negative.
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", sizes("capsule", "radius", self.radius))
        object.__setattr__(self, "length", sizes("capsule", "length", self.length, zero=True))

    @property
    def origin_radius(self) -> float:
        return self.radius + 0.5 * self.length

    @property
    def volume(self) -> float:
        return math.pi * self.radius * self.radius * (self.length + 4.0 / 3.0 * self.radius)

    def unit_inertia(self) -> Symmetric3:
        # the cylinder, and two hemispheres, whose centres of mass are 3/8 r beyond their flat faces
        r, l = self.radius, self.length
        tube = l / (l + 4.0 / 3.0 * r)
        caps = 1.0 - tube
        along = tube * 0.5 * r * r + caps * 0.4 * r * r
        across = tube * (0.25 * r * r + l * l / 12.0) + caps * (0.4 * r * r + 0.375 * r * l + 0.25 * l * l)
        return Symmetric3.diagonal(across, across, along)

    def _support(self, units: np.ndarray) -> np.ndarray:
        points = units * self.radius
        points[..., 2] += np.where(units[..., 2] < 0.0, -0.5, 0.5) * self.length
        return points

    def _grown(self, radius: float) -> Moments:
        whole = Capsule(self.radius + radius, self.length)
        return Moments.of(whole.volume, whole.center, whole.unit_inertia())


@public
@dataclass(frozen=True, slots=True)
class Cone(Shape):
    """Cone about the z axis with base radius ``radius`` [m], its base at z = −length/2 and its apex at z = length/2.

    The centre of mass is a quarter of the length above the base. Raises ValueError for sizes that are not positive.
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", sizes("cone", "radius", self.radius))
        object.__setattr__(self, "length", sizes("cone", "length", self.length))

    @property
    def origin_radius(self) -> float:
        return math.hypot(self.radius, 0.5 * self.length)

    @property
    def volume(self) -> float:
        return math.pi / 3.0 * self.radius * self.radius * self.length

    @property
    def center(self) -> Vec3:
        return Vec3(0.0, 0.0, -0.25 * self.length)

    def unit_inertia(self) -> Symmetric3:
        square = self.radius * self.radius
        across = 0.15 * square + 0.0375 * self.length * self.length
        return Symmetric3.diagonal(across, across, 0.3 * square)

    @property
    def bounding_sphere(self) -> tuple[Vec3, float]:
        r, l = self.radius, self.length
        if r >= l:  # the base is a great circle of the sphere
            return Vec3(0.0, 0.0, -0.5 * l), r
        radius = 0.5 * (l + r * (r / l))  # through the apex and the base's circle
        return Vec3(0.0, 0.0, 0.5 * l - radius), radius

    def _support(self, units: np.ndarray) -> np.ndarray:
        points = rim(units, self.radius)
        flat = np.hypot(units[..., 0], units[..., 1])
        apex = units[..., 2] * self.length > flat * self.radius
        points[..., 2] = -0.5 * self.length
        return np.where(apex[..., None], [0.0, 0.0, 0.5 * self.length], points)

    def _grown(self, radius: float) -> Moments:
        half, r, right = 0.5 * self.length, self.radius, 0.5 * math.pi
        slope = math.atan2(r, self.length)  # of the side's normal
        up, out = radius * math.sin(slope), radius * math.cos(slope)
        side = line((up - half, up + half), (r + out, out))
        return of_revolution([arc(-half, r, radius, -right, slope), side, arc(half, 0.0, radius, slope, right)])


@public
@dataclass(frozen=True, slots=True)
class Cylinder(Shape):
    """Cylinder along z, centred at the origin: radius and length [m], both positive (ValueError)."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", sizes("cylinder", "radius", self.radius))
        object.__setattr__(self, "length", sizes("cylinder", "length", self.length))

    @property
    def origin_radius(self) -> float:
        return math.hypot(self.radius, 0.5 * self.length)

    @property
    def volume(self) -> float:
        return math.pi * self.radius * self.radius * self.length

    def unit_inertia(self) -> Symmetric3:
        square = self.radius * self.radius
        across = 0.25 * square + self.length * self.length / 12.0
        return Symmetric3.diagonal(across, across, 0.5 * square)

    def _support(self, units: np.ndarray) -> np.ndarray:
        points = rim(units, self.radius)
        points[..., 2] = np.where(units[..., 2] < 0.0, -0.5, 0.5) * self.length
        return points

    def _grown(self, radius: float) -> Moments:
        half, r, right = 0.5 * self.length, self.radius, 0.5 * math.pi
        side = line((-half, half), (r + radius, r + radius))
        return of_revolution([arc(-half, r, radius, -right, 0.0), side, arc(half, r, radius, 0.0, right)])


def rim(units: np.ndarray, radius: float) -> np.ndarray:
    """Return the farthest points (..., 3) along directions of a circle about the origin in the plane z = 0.

    For a direction along z it is the centre.
    """
    points = np.zeros_like(units)
    flat = units[..., :2]
    length = np.hypot(flat[..., :1], flat[..., 1:])
    points[..., :2] = np.where(length > 0.0, flat / np.where(length > 0.0, length, 1.0), 0.0) * radius
    return points


@public
@dataclass(frozen=True, slots=True)
class Ellipsoid(Shape):
    """Ellipsoid centred at the origin: radii along x, y and z [m], all positive (ValueError)."""

    radii: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "radii", sizes("ellipsoid", "radii", self.radii, 3))

    @property
    def origin_radius(self) -> float:
        return max(self.radii)

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * math.prod(self.radii)

    def unit_inertia(self) -> Symmetric3:
        x, y, z = (0.2 * a * a for a in self.radii)
        return Symmetric3.diagonal(y + z, x + z, x + y)

    def _support(self, units: np.ndarray) -> np.ndarray:
        unit = np.array(self.radii) / self.origin_radius  # avoids underflow
        image = units * unit
        return np.asarray(self.radii * image / np.sqrt((image * image).sum(axis=-1, keepdims=True)))

    def _grown(self, radius: float) -> Moments:
        return of_ellipsoid_grown(self.radii, radius)


@dataclass(frozen=True, slots=True)
class HalfSpace(MasslessShape):
    """Half-space z ≤ 0 of its frame, such as a floor; it has no volume, radius or support points."""

    @property
    def origin_radius(self) -> None:
        return None


@public
@dataclass(frozen=True, slots=True)
class Sphere(Shape):
    """Sphere centred at the origin: radius [m], positive (ValueError)."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", sizes("sphere", "radius", self.radius))

    @property
    def origin_radius(self) -> float:
        return self.radius

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * self.radius * self.radius * self.radius

    def unit_inertia(self) -> Symmetric3:
        moment = 0.4 * self.radius * self.radius
        return Symmetric3.diagonal(moment, moment, moment)

    def _support(self, units: np.ndarray) -> np.ndarray:
        return units * self.radius

    def _grown(self, radius: float) -> Moments:
        whole = Sphere(self.radius + radius)
        return Moments.of(whole.volume, whole.center, whole.unit_inertia())
