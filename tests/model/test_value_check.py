"""Checks of a link's inertial values: errors and suspicious values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.errors import Findings, Location, ModelError
from linkwork.model.inertia_check import check_inertial, inertia_problems, principal_moments
from linkwork.shapes import Box, Cylinder, Geometry, Mesh, Shape, Sphere
from linkwork.spatial import Inertia, Pose, Rotation, Symmetric3, Vec3

WHERE = Location("arm.urdf", 3, 1, "robot/link[a]/inertial")
ORIGIN = Vec3.zero()
SCALES = st.floats(1e-9, 1e9)
ANGLES = st.floats(-3.0, 3.0)


def codes(mass: float, about: Symmetric3, *shapes: Shape, center: Vec3 = ORIGIN) -> list[str]:
    """The codes of what is found, errors in capitals as ever and warnings in small letters."""
    findings = Findings()
    geometries = [Geometry(shape, Pose.identity()) for shape in shapes]
    inertia = check_inertial(findings, WHERE, mass, center, about, geometries)
    assert all(issue.where == WHERE for issue in (*findings.errors, *findings.warnings))
    expected = Inertia.zero() if findings.errors else Inertia.at_center(mass, center, about)
    assert inertia == expected
    return [issue.code for issue in findings.errors] + [issue.code.lower() for issue in findings.warnings]


def diagonal(*moments: float) -> Symmetric3:
    return Symmetric3.diagonal(*moments)


def solid_box(mass: float, x: float, y: float, z: float) -> Symmetric3:
    return diagonal(*(mass / 12.0 * s for s in (y * y + z * z, x * x + z * z, x * x + y * y)))


@given(SCALES, SCALES, SCALES, st.floats(1e-6, 1e6), ANGLES, ANGLES, ANGLES)
def test_inertia_of_a_solid_box_of_any_size_and_orientation_is_accepted(
    x: float, y: float, z: float, mass: float, roll: float, pitch: float, yaw: float
):
    about = Rotation.from_rpy(roll, pitch, yaw) @ solid_box(mass, x, y, z)
    assert codes(mass, about, Box((x, y, z))) == []


@given(st.floats(1e-6, 1e6), ANGLES, ANGLES, ANGLES)
def test_inertia_of_a_thin_rod_with_six_digits_is_accepted(mass: float, roll: float, pitch: float, yaw: float):
    about = Rotation.from_rpy(roll, pitch, yaw) @ diagonal(mass, mass, 0.0)
    assert codes(mass, Symmetric3(*(float(f"{a:.6g}") for a in about.elements()))) == []


@given(ANGLES, ANGLES, ANGLES)
def test_negative_moment_of_inertia_is_detected_in_any_orientation(roll: float, pitch: float, yaw: float):
    R = Rotation.from_rpy(roll, pitch, yaw)
    assert codes(1.0, R @ diagonal(-0.01, 1.0, 1.0)) == ["INERTIA_NOT_PSD"]
    assert codes(1.0, R @ diagonal(1.0, 1.0, 2.01)) == ["inertia_triangle"]


def test_principal_moments_of_inertia_equal_closed_forms():
    assert principal_moments(diagonal(3.0, 1.0, 2.0)) == (1.0, 2.0, 3.0)
    assert principal_moments(Symmetric3(2.0, 1.0, 0.0, 2.0, 0.0, 5.0)) == pytest.approx((1.0, 3.0, 5.0))
    assert principal_moments(Symmetric3(0.0, 1e-320, 0.0, 0.0, 0.0, 0.0))[2] > 0.0
    large = principal_moments(Symmetric3(1e307, 1e306, 0.0, 1e307, 0.0, 1e307))
    assert large == pytest.approx((0.9e307, 1e307, 1.1e307))


@given(st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6))
def test_principal_moments_of_inertia_equal_numpys_eigenvalues(elements: list[float]):
    S = Symmetric3(*(x if abs(x) > 1e-100 else 0.0 for x in elements))  # LAPACK is off by 1e-9 beside 1e-157
    matrix = np.array([list(S.x), list(S.y), list(S.z)])
    np.testing.assert_allclose(principal_moments(S), np.linalg.eigvalsh(matrix), rtol=1e-9, atol=1e-9)


def test_messages_about_inertias_show_the_principal_moments():
    findings = Findings()
    check_inertial(findings, WHERE, 1.0, ORIGIN, diagonal(-0.5, 1.0, 2.0), ())
    check_inertial(findings, WHERE, 1.0, ORIGIN, diagonal(0.5, 1.0, 2.0), ())
    assert "-0.5, 1, 2 kg m²" in findings.errors[0].message
    assert "0.5, 1, 2 kg m²" in findings.warnings[0].message


@pytest.mark.light
@pytest.mark.parametrize(
    ("mass", "about", "expected"),
    [
        (1.0, diagonal(0.0, 0.0, 0.0), []),
        (0.0, diagonal(0.0, 0.0, 0.0), []),
        (0.0, diagonal(1.0, 1.0, 1.0), ["mass_zero"]),
        (-1.0, diagonal(1.0, 1.0, 1.0), ["MASS_NEGATIVE"]),
        (-0.0, diagonal(0.0, 0.0, 0.0), []),
        (1e-320, diagonal(0.0, 0.0, 0.0), ["magnitude"]),
        (1e-320, diagonal(1.0, 1.0, 1.0), ["magnitude"]),
        (1e13, diagonal(1.0, 1.0, 1.0), ["magnitude"]),
        (1e12, diagonal(1.0, 1.0, 1.0), []),
        (1.2e12, diagonal(1.0, 1.0, 1.0), ["magnitude"]),
        (1.0, diagonal(-1.2e-5, 1.0, 1.0), []),  # rounding of six digits moves a moment by up to 1.5e-5 of the largest
        (1.0, diagonal(-1.8e-5, 1.0, 1.0), ["INERTIA_NOT_PSD"]),
        (1e21, diagonal(1.0, 1.0, 1.0), ["MAGNITUDE"]),
        (1.0, diagonal(1e61, 1e61, 1e61), ["MAGNITUDE"]),
        (1e-9, diagonal(0.0, 0.0, 0.0), []),
        (1e9, diagonal(1e9, 1e9, 1e9), []),
        (1.0, diagonal(0.0, 0.0, 1e-3), ["inertia_triangle"]),
        (1.0, diagonal(0.0, 0.0, -1e-13), []),
        (1.0, diagonal(1e4, 1e4, 1e4), ["inertia_units"]),
    ],
)
def test_masses_and_moments_of_inertia_are_checked(mass: float, about: Symmetric3, expected: list[str]):
    assert codes(mass, about) == expected


@pytest.mark.parametrize(
    ("shapes", "reach"),
    [
        ([Box((0.48, 0.6, 0.64))], 0.5),
        ([Sphere(0.5)], 0.5),
        ([Cylinder(0.3, 0.8)], 0.5),
        ([Sphere(0.1), Sphere(0.5)], 0.5),
    ],
)
def test_radius_of_gyration_is_compared_with_the_size_of_the_shapes(shapes: list[Shape], reach: float):
    below, above = (9.9 * reach) ** 2, (10.1 * reach) ** 2
    assert codes(1.0, diagonal(below, below, below), *shapes) == []
    assert codes(1.0, diagonal(above, above, above), *shapes) == ["inertia_units"]
    assert codes(1.0, diagonal(above, above, above), *shapes, Mesh("a.stl")) == []
    assert codes(1.0, solid_box(1.0, 1.0, 1.0, 1.0), *shapes, center=Vec3(9.9 * reach, 0.0, 0.0)) == []
    assert codes(1.0, solid_box(1.0, 1.0, 1.0, 1.0), *shapes, center=Vec3(10.1 * reach, 0.0, 0.0)) == ["com_far"]


def test_size_of_separate_shapes_is_their_distance():
    positions = [Pose(Rotation.identity(), Vec3(x, 0.0, 0.0)) for x in (100.0, 102.0)]
    shapes = [Geometry(Sphere(0.5), position) for position in positions]
    findings = Findings()
    check_inertial(findings, WHERE, 1.0, Vec3(101.0, 0.0, 0.0), diagonal(100.0, 100.0, 100.0), shapes)
    assert not findings.warnings
    check_inertial(findings, WHERE, 1.0, Vec3.zero(), diagonal(1.0, 1.0, 1.0), shapes)
    assert [issue.code for issue in findings.warnings] == ["COM_FAR"]


def test_overflowing_and_infinite_inertias_are_refused():
    assert codes(1.0, diagonal(1.0, 1.0, 1.0), center=Vec3(1e200, 0.0, 0.0)) == ["MAGNITUDE"]
    assert codes(1.0, diagonal(1.0, 1.0, 1.0), center=Vec3(1e13, 0.0, 0.0)) == ["magnitude"]
    assert codes(1.0, diagonal(1.0, 1.0, 1.0), center=Vec3(0.3, -1e12, 0.2)) == []
    assert codes(1.0, diagonal(1.0, 1.0, 1.0), center=Vec3(0.3, -1.2e12, 0.2)) == ["magnitude"]
    assert codes(math.inf, diagonal(1.0, 1.0, 1.0)) == ["NOT_FINITE"]
    assert codes(1.0, diagonal(math.inf, 1.0, 1.0)) == ["NOT_FINITE"]
    assert codes(1.0, diagonal(math.nan, 1.0, 1.0)) == ["NOT_FINITE"]


def test_option_strict_turns_warnings_about_inertias_into_errors():
    findings = Findings(strict=True)
    check_inertial(findings, WHERE, 0.0, ORIGIN, diagonal(1.0, 1.0, 1.0), ())
    with pytest.raises(ModelError, match="MASS_ZERO") as caught:
        findings.raise_errors()
    assert caught.value.code == "MASS_ZERO" and not findings.warnings


def test_problems_of_a_rejected_inertia_name_a_negative_moment_only_beyond_rounding():
    for low, text in ((-5e-9, "is negative"), (-5e-10, "exceeds the sum of the others"), (0.0, "has no extent")):
        (message,) = inertia_problems(Inertia.at_center(2.0, Vec3(0.1, 0.2, 0.3), diagonal(low, 1.0, 1.0)))
        assert text in message
