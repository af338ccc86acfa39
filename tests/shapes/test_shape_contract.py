"""`check_shape` on the library's shapes, and on shapes that break one line of the contract."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from helpers.contracts import assert_sharp
from linkwork import shapes
from linkwork.errors import ContractError
from linkwork.shapes import check_shape
from linkwork.shapes.shape_contract import REQUIREMENTS, _Trial
from linkwork.spatial import Symmetric3, Vec3

CORNERS = np.array([[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.0, 0.3, 0.0], [0.1, 0.1, 0.5]])
BOX = shapes.Box((0.1, 0.2, 0.3))
LIBRARY_SHAPES = (
    BOX,
    shapes.Capsule(0.1, 0.3),
    shapes.Cone(0.2, 0.5),
    shapes.Cylinder(0.1, 0.4),
    shapes.Ellipsoid((0.1, 0.2, 0.3)),
    shapes.Sphere(0.2),
    shapes.HalfSpace(),
    shapes.Polytope(CORNERS),
    shapes.Rounded(BOX, 0.05),
    shapes.Rounded(shapes.Cone(0.2, 0.5), 0.05),
    shapes.Compound([BOX.at((0.1, 0.0, 0.0)), shapes.Sphere(0.1)]),
    shapes.Mesh("hand.stl"),
    shapes.PointCloud(CORNERS, 0.01),
    shapes.HeightField(np.zeros((3, 4)), 0.1),
    shapes.DistanceField(np.ones((3, 4, 5)), 0.1),
)


@pytest.mark.parametrize("shape", LIBRARY_SHAPES, ids=lambda shape: type(shape).__name__)
def test_all_shapes_of_the_library_fulfil_the_shape_contract(shape: shapes.Shape) -> None:
    check_shape(shape).raise_if_failed()


def test_contract_tests_cover_every_shape_of_the_library() -> None:
    kinds = {x for x in vars(shapes).values() if isinstance(x, type) and issubclass(x, shapes.Shape)}
    assert kinds - {shapes.Shape} == {type(shape) for shape in LIBRARY_SHAPES}


@dataclass(frozen=True, slots=True)
class Lens(shapes.Shape):
    """The intersection of two balls of radius 1 m, whose centres are ``2 a`` apart along z."""

    a: float = 0.6

    @property
    def origin_radius(self) -> float:
        return math.sqrt(1.0 - self.a * self.a)

    @property
    def volume(self) -> float:
        h = 1.0 - self.a
        return 2.0 * math.pi * h * h * (3.0 - h) / 3.0

    def unit_inertia(self) -> Symmetric3:
        z = (np.arange(2000) + 0.5) / 2000 * (1.0 - self.a)
        square = 1.0 - (z + self.a) ** 2  # of the radius at a height
        volume, along = square.sum(), 0.5 * (square * square).sum()
        across = (square * z * z).sum() + 0.5 * along
        return Symmetric3.diagonal(*(float(x / volume) for x in (across, across, along)))

    def _support(self, units: np.ndarray) -> np.ndarray:
        upper = units[..., 2:] > 0.0
        points = units - np.where(upper, [0.0, 0.0, self.a], [0.0, 0.0, -self.a])
        flat = np.hypot(units[..., 0], units[..., 1])[..., None]
        edge = math.sqrt(1.0 - self.a * self.a)
        rim = np.concatenate([units[..., :2], 0.0 * flat], axis=-1) / np.where(flat > 0.0, flat, 1.0) * edge
        return np.where(np.abs(units[..., 2:]) > self.a, points, rim)


class Mutable(Lens):
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]


class Slight(Lens):
    """A lens of which one property deviates by a factor, or by a part of a metre."""

    by = 0.0


class Heavy(Slight):
    @property
    def volume(self) -> float:
        return Lens.volume.fget(self) * (1.0 + self.by)  # type: ignore[attr-defined]


class Thin(Slight):
    def unit_inertia(self) -> Symmetric3:
        x, y, z = Lens.unit_inertia(self).xx, Lens.unit_inertia(self).yy, Lens.unit_inertia(self).zz
        return Symmetric3.diagonal(x, y, z * (1.0 - self.by))


@dataclass(frozen=True)
class Rod(shapes.Shape):
    """A moment of inertia beyond the sum of the others, by a part of a square metre."""

    by, origin_radius, volume = 0.0, 1.0, 1.0

    def unit_inertia(self) -> Symmetric3:
        return Symmetric3.diagonal(0.2 + self.by, 0.1, 0.1)


class Short(Slight):
    @property
    def origin_radius(self) -> float:
        return Lens.origin_radius.fget(self) * (1.0 - self.by)  # type: ignore[attr-defined]

    bounding_sphere = None


class Aside(Slight):
    @property
    def center(self) -> Vec3:
        return Vec3(0.0, 0.0, self.by)


class Near(Lens):
    def _support(self, units: np.ndarray) -> np.ndarray:
        return np.where(units[..., :1] > 0.9, 0.5, 1.0) * Lens._support(self, units)


class Small(Slight):
    @property
    def bounding_sphere(self) -> Any:
        return Vec3.zero(), self.origin_radius * (1.0 - self.by)


class Large(Slight):
    @property
    def bounding_sphere(self) -> Any:
        return Vec3.zero(), self.origin_radius * (1.0 + self.by)


class Growing(shapes.Sphere):
    by = 0.0

    def __init__(self) -> None:
        super().__init__(0.25)

    def _grown(self, radius: float) -> Any:
        return shapes.Sphere(0.25 + self.by)._grown(radius)


class OneByOne(Lens):
    def _support(self, units: np.ndarray) -> np.ndarray:
        return Lens._support(self, units.reshape(-1, 3)[:1]).reshape(3) + 0.0 * units


def test_shape_class_of_a_user_fulfils_the_shape_contract() -> None:
    check_shape(Lens()).raise_if_failed()


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "line", "noticed", "allowed"),
    [
        (Rod, "numbers", 6e-9, 6e-10),
        (Short, "origin_radius", 3e-9, 3e-10),
        (Small, "bounding_sphere", 3e-9, 3e-10),
        (Large, "bounding_sphere", 3e-9, 3e-10),
        (Heavy, "volume", 2e-2, 3e-3),
        (Aside, "center", 2e-2, 3e-3),
        (Thin, "unit_inertia", 3e-2, 3e-3),
        (Growing, "grown", 6e-3, 3e-4),
    ],
)
def test_check_shape_reports_small_errors_of_shapes(
    kind: type, line: str, noticed: float, allowed: float | None
) -> None:
    assert_sharp(lambda variant: check_shape(variant()), kind, line, noticed, allowed)


@pytest.mark.parametrize(("kind", "line"), [(Mutable, "value"), (OneByOne, "batches"), (Near, "support")])
def test_check_shape_reports_broken_shapes(kind: type[Lens], line: str) -> None:
    report = check_shape(kind())
    assert line in [failure.name for failure in report.failures], str(report)
    with pytest.raises(ContractError, match=f"shape {kind.__name__} breaks the contract"):
        report.raise_if_failed()


def test_objects_that_are_not_shapes_are_refused_by_check_shape() -> None:
    with pytest.raises(TypeError, match="check_shape: shape: expected"):
        check_shape("box")  # type: ignore[arg-type]


class Changed(Lens):
    """A lens with one property replaced."""

    def __init__(self, **changed: Any) -> None:
        super().__init__()
        object.__setattr__(self, "changed", changed)

    __slots__ = ("__dict__",)

    origin_radius = property(lambda self: self.changed.get("origin_radius", Lens.origin_radius.fget(self)))  # type: ignore
    volume = property(lambda self: self.changed.get("volume", Lens.volume.fget(self)))  # type: ignore[attr-defined]
    center = property(lambda self: self.changed.get("center", Vec3.zero()))  # type: ignore[assignment]

    def unit_inertia(self) -> Any:
        return self.changed.get("inertia", Symmetric3.diagonal(0.1, 0.1, 0.1))


@pytest.mark.light
@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"origin_radius": 0.0}, "origin_radius: expected a positive number or None, got 0.0"),
        ({"origin_radius": math.inf}, "origin_radius: expected a positive number or None, got inf"),
        ({"volume": -1e-9}, "volume: expected a positive number or None, got -1e-09"),
        ({"center": (0.0, 0.0, 0.0)}, "center: expected a Vec3 of finite numbers"),
        ({"center": Vec3(0.0, math.nan, 0.0)}, "center: expected a Vec3 of finite numbers"),
        ({"inertia": 0.1}, "unit_inertia: expected a Symmetric3"),
        ({"inertia": None}, "volume, unit_inertia: expected both, or None for both"),
        ({"volume": None}, "volume, unit_inertia: expected both, or None for both"),
        ({"inertia": Symmetric3.diagonal(0.2 + 6e-9, 0.1, 0.1)}, "a moment exceeds the sum of the others"),
    ],
)
def test_sizes_and_inertia_of_a_shape_are_checked_by_themselves(changed: dict[str, Any], text: str) -> None:
    (requirement,) = [line for line in REQUIREMENTS if line.name == "numbers"]
    for sound in ({}, {"inertia": Symmetric3.diagonal(0.2 + 6e-10, 0.1, 0.1)}, {"volume": None, "inertia": None}):
        assert requirement.errors(_Trial(Changed(**sound), 0)) == []
    with pytest.raises(ValueError, match=text):
        requirement.errors(_Trial(Changed(**changed), 0))


def test_shapes_are_immutable_and_their_support_points_have_the_shape_of_the_directions() -> None:
    value, batches = (next(line for line in REQUIREMENTS if line.name == name) for name in ("value", "batches"))
    assert value.errors(_Trial(Lens(), 0)) == [] and max(batches.errors(_Trial(Lens(), 0))) <= batches.tolerance
    with pytest.raises(ValueError, match=r": a shape is immutable: make the class a frozen dataclass"):
        value.errors(_Trial(Loose(0.6), 0))
    with pytest.raises(ValueError, match=r"support: expected points \(66, 3\), got shape \(65, 3\)"):
        batches.errors(_Trial(Fewer(), 0))


@dataclass(unsafe_hash=True)
class Loose(shapes.Shape):
    a: float = 0.6
    origin_radius = volume = None  # type: ignore[assignment]

    def unit_inertia(self) -> None:
        return None


class Fewer(Lens):
    def _support(self, units: np.ndarray) -> np.ndarray:
        return Lens._support(self, units)[1:]
