"""Physically possible inertias, and the nearest possible one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.errors import Findings, Location
from linkwork.model.inertia_check import MAX_INERTIA_CHANGE, check_inertial, nearest_physical
from linkwork.spatial import Inertia, Rotation, Symmetric3, Vec3

VALUES = st.floats(-1e3, 1e3).map(lambda x: round(x, 6))
SIX = st.lists(VALUES, min_size=6, max_size=6).map(lambda x: Symmetric3(*x))


def matrix(S: Symmetric3) -> np.ndarray:
    return np.array([list(S.x), list(S.y), list(S.z)])


def second_moments(J: Symmetric3) -> np.ndarray:
    return 0.5 * np.trace(matrix(J)) * np.eye(3) - matrix(J)


@given(SIX)
def test_nearest_physical_inertia_is_physical_and_has_the_least_distance(inertia: Symmetric3):
    """Projection P of Σ on a convex cone: P is in it, Σ − P is in the polar cone, and orthogonal to P."""
    repaired, distance = nearest_physical(inertia)
    size = np.linalg.norm(second_moments(inertia))
    before, after = second_moments(inertia), second_moments(repaired)
    assert np.linalg.eigvalsh(after)[0] >= -1e-13 * size
    assert np.linalg.eigvalsh(before - after)[-1] <= 1e-13 * size
    assert abs(np.sum((before - after) * after)) <= 1e-12 * size**2
    assert np.linalg.norm(after - before) == pytest.approx(distance * size, abs=1e-12 * size)
    assert 0.0 <= distance <= 1.0 + 1e-15
    again, _ = nearest_physical(repaired)
    assert np.linalg.norm(matrix(again) - matrix(repaired)) <= 1e-13 * size


def test_nearest_physical_inertias_equal_hand_calculations():
    possible = Symmetric3.diagonal(1.0, 2.0, 3.0)
    assert nearest_physical(possible) == (possible, 0.0)  # a flat body, which is just possible
    assert nearest_physical(Symmetric3.zero()) == (Symmetric3.zero(), 0.0)
    # moments 1, 1, 4: second moments 2, 2, -1 become 2, 2, 0
    assert nearest_physical(Symmetric3.diagonal(1.0, 1.0, 4.0)) == (Symmetric3.diagonal(2.0, 2.0, 4.0), 1.0 / 3.0)
    all_wrong = nearest_physical(Symmetric3.diagonal(-1.0, -1.0, -1.0))
    assert all_wrong == (Symmetric3.zero(), 1.0)


def test_nearest_physical_inertia_does_not_depend_on_the_axes():
    R = Rotation.from_rpy(0.3, -1.2, 2.0)
    inertia = Symmetric3(-0.2, 0.1, 0.0, 1.0, 0.3, 0.7)
    (repaired, distance), (turned, same) = nearest_physical(inertia), nearest_physical(R @ inertia)
    np.testing.assert_allclose(matrix(turned), matrix(R @ repaired), rtol=0, atol=1e-15)
    assert same == pytest.approx(distance, rel=1e-14)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e40])
def test_nearest_physical_inertia_scales_with_the_magnitude(scale: float):
    repaired, distance = nearest_physical(Symmetric3.diagonal(scale, scale, 4.0 * scale))
    assert distance == pytest.approx(1.0 / 3.0)
    assert [repaired.xx, repaired.yy, repaired.zz] == pytest.approx([2.0 * scale, 2.0 * scale, 4.0 * scale])


WHERE = Location("arm.urdf", 3, 1, "robot/link[a]/inertial")


def checked(about: Symmetric3, *, nearest: bool | None = True, strict: bool = False) -> tuple[Inertia, Findings]:
    findings = Findings(strict=strict)
    return check_inertial(findings, WHERE, 1.0, Vec3(0.1, 0.0, 0.0), about, (), nearest=nearest), findings


def test_inertias_repaired_by_a_reader_are_reported():
    for about, expected in (
        (Symmetric3.diagonal(1.0, 1.0, 4.0), Symmetric3.diagonal(2.0, 2.0, 4.0)),
        (Symmetric3.diagonal(-0.2, 1.0, 1.0), nearest_physical(Symmetric3.diagonal(-0.2, 1.0, 1.0))[0]),
    ):
        inertia, findings = checked(about)
        (issue,) = findings.warnings
        assert (issue.code, issue.where) == ("INERTIA_NEAREST", WHERE) and not findings.errors
        assert inertia == Inertia.at_center(1.0, Vec3(0.1, 0.0, 0.0), expected)
        for number in (*about.elements(), *expected.elements()):
            assert f"{number:.6g}" in issue.message
        assert f"{100 * nearest_physical(about)[1]:.3g} % away" in issue.message
        assert checked(about, strict=True)[1].errors[0].code == "INERTIA_NEAREST"


def test_inertias_unphysical_by_rounding_are_accepted():
    for about in (Symmetric3.diagonal(1.0, 1.0, 2.00001), Symmetric3.diagonal(-1e-6, 1.0, 1.0)):
        inertia, findings = checked(about)
        assert inertia == Inertia.at_center(1.0, Vec3(0.1, 0.0, 0.0), about) and not findings.warnings


def test_inertias_far_from_physical_are_refused():
    far = Symmetric3.diagonal(-1.0, -1.0, -1.0)
    _, findings = checked(far)
    assert [issue.code for issue in findings.errors] == ["INERTIA_FAR"]
    assert "100 % away, more than 50 %" in findings.errors[0].message
    assert 'inertia="ignore"' in str(findings.errors[0].hint)
    _, findings = checked(far, nearest=False)
    assert findings.errors[0].code == "INERTIA_NOT_PSD" and 'inertia="ignore"' in str(findings.errors[0].hint)
    near = Symmetric3.diagonal(-0.2, 1.0, 1.0)
    assert nearest_physical(near)[1] <= MAX_INERTIA_CHANGE
    _, findings = checked(near, nearest=False)
    assert findings.errors[0].code == "INERTIA_NOT_PSD" and 'inertia="nearest"' in str(findings.errors[0].hint)
    _, findings = checked(near, nearest=None)  # where there is no such choice
    assert findings.errors[0].code == "INERTIA_NOT_PSD" and "inertia=" not in str(findings.errors[0].hint)
    _, findings = checked(Symmetric3.diagonal(1.0, 1.0, 4.0), nearest=False)
    assert [issue.code for issue in findings.warnings] == ["INERTIA_TRIANGLE"]


def test_every_inertia_that_violates_the_triangle_inequality_alone_has_a_replacement():
    """Moments (0, 0, c) are the farthest of these: second moments (c, c, -c) / 2, so 1 / sqrt(3) away."""
    rod = Symmetric3.diagonal(0.0, 0.0, 3e-6)
    assert nearest_physical(rod)[1] == pytest.approx(3.0**-0.5) and nearest_physical(rod)[1] > MAX_INERTIA_CHANGE
    inertia, findings = checked(rod)
    assert not findings.errors and [issue.code for issue in findings.warnings] == ["INERTIA_NEAREST"]
    assert inertia == Inertia.at_center(1.0, Vec3(0.1, 0.0, 0.0), nearest_physical(rod)[0])
