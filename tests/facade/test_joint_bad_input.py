"""What is no configuration, velocity or wrench of a joint: errors that name the joint and the value."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import EVERY
from linkwork.errors import ConfigurationWarning

HINGE = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="elbow")
FREE = lw.Joint.of(lw.joints.Floating(), name="base")


def test_a_configuration_of_the_wrong_length() -> None:
    message = r"joint 'elbow': transform: q: expected an array of shape \(\.\.\., 1\), the configuration \[.*\]; "
    with pytest.raises(ValueError, match=message + r"got shape \(2,\): \[0.1, 0.2\]"):
        HINGE.transform([0.1, 0.2])
    with pytest.raises(ValueError, match=message + r"got shape \(5, 3\)"):
        HINGE.transform(np.zeros((5, 3)))
    with pytest.raises(ValueError, match=r"joint 'base': twist: v: expected an array of shape \(\.\.\., 6\)"):
        FREE.twist(FREE.zero_configuration(), np.zeros(5))
    with pytest.raises(ValueError, match=r"torque: wrench: expected an array of shape \(\.\.\., 6\)"):
        HINGE.torque([0.1], np.zeros(3))
    with pytest.raises(ValueError, match=r"link_pose: parent_pose: expected an array of shape \(\.\.\., 4, 4\)"):
        HINGE.link_pose([0.1], np.zeros(3))
    with pytest.raises(ValueError, match="do not broadcast together"):
        HINGE.twist(np.zeros((2, 1)), np.zeros((3, 1)))
    for wrong in ("up", None, [1j], ["1"]):
        with pytest.raises(ValueError, match="joint 'elbow': transform: q"):
            HINGE.transform(wrong)
    fixed = EVERY["fixed"]
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 0\)"):
        fixed.transform([1.0])


def test_a_number_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"joint 'elbow': twist: v\[0\] is NaN"):
        HINGE.twist([0.1], [np.nan])
    with pytest.raises(ValueError, match=r"joint 'elbow': twist: q\[1, 0\] is NaN"):
        HINGE.twist([[0.1], [np.nan]], [0.0], out=np.zeros((2, 6)))
    q = np.stack([FREE.zero_configuration()] * 2)
    q[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"joint 'base': transform: q\[1, 2\] is NaN"):
        FREE.transform(q)


def test_a_quaternion_far_from_unit_is_refused() -> None:
    q = FREE.zero_configuration()
    q[0] = 1.01
    with pytest.raises(
        ValueError,
        match=r"joint 'base' \(floating\): expected \(qw, .*\) of length 1, got \[1.01, .* of length 1.01",
    ):
        FREE.transform(q)
    many = np.stack([FREE.zero_configuration(), q])
    with pytest.raises(ValueError, match=r"joint 'base' .* got \[1.01"):
        FREE.twist(many, np.zeros(6))
    with pytest.raises(ValueError, match=r"joint 'base' .* of length 0"):
        FREE.motion_subspace(np.zeros(7))
    with pytest.raises(ValueError, match=r"joint 'base' .* finite numbers"):
        FREE.motion_subspace(np.full(7, np.inf))
    with pytest.raises(ValueError, match="has no nearest configuration"):
        FREE.normalize_configuration(np.zeros(7))


def test_a_quaternion_nearly_unit_is_normalised_with_a_warning() -> None:
    q = FREE.random_configuration(seed=0)
    off = q.copy()
    off[:4] *= 1.0 + 5e-4
    with pytest.warns(ConfigurationWarning, match=r"joint 'base' .* of length 1.0005: normalised") as caught:
        X = FREE.transform(off)
    assert caught[0].filename == __file__
    assert np.max(np.abs(X - FREE.transform(q))) <= 1e-15


def test_rounding_is_no_reason_to_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q = FREE.random_configuration(seed=0, size=20)
        FREE.transform(q.astype(np.float32))
        FREE.transform(q * (1.0 + 1e-9))
        FREE.normalize_configuration(3.0 * q)


def test_what_is_no_joint() -> None:
    with pytest.raises(TypeError, match="expected a joint type with its parameters, got <class"):
        lw.Joint.of(lw.joints.Floating)
    with pytest.raises(ValueError, match="joint 'x': lower: expected a number or 7 of them"):
        lw.Joint.of(lw.joints.Floating(), name="x", lower=[1.0, 2.0])
    with pytest.raises(ValueError, match="joint 'joint': effort: expected a number, none negative"):
        lw.Joint.of(lw.joints.Revolute((1, 0, 0)), effort=-1.0)
