"""Refused joints and configurations: messages have the joint's type, the value and the expectation."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork
from helpers.joints import EVERY, Ball
from linkwork import load, pose
from linkwork.errors import ConfigurationWarning, JointMethodError
from linkwork.expr.scalar.functions import cos
from linkwork.joints import (
    Composite,
    Cylindrical,
    Ellipsoid,
    Floating,
    FloatingEuler,
    Helical,
    JointType,
    Planar,
    Reversed,
    Revolute,
    Spherical,
    SphericalEuler,
    Translational,
    UnboundedRevolute,
    Universal,
)
from linkwork.joints.base.checks import attribute_errors
from linkwork.model.random_tree import random_tree
from linkwork.spatial import Pose, Rotation, Vec3

every_joint = pytest.mark.parametrize("joint", EVERY.values(), ids=EVERY.keys())
NAN = math.nan


def test_joint_axes_may_be_named_x_y_or_z() -> None:
    """An axis is three numbers, or "x", "y", "z" and their opposites."""
    for k, name in enumerate("xyz"):
        for sign, text in ((1.0, name), (-1.0, f"-{name}")):
            axis = sign * np.eye(3)[k] + 0.0
            assert Revolute(text) == Revolute(axis) and Helical(text, 0.1) == Helical(axis, 0.1)
            assert np.array_equal(pose(axis=text, angle=0.3), pose(axis=axis, angle=0.3))
            robot = load("arm6")
            arrow = robot.with_direction("arrow", robot.frames[-1], text).directions["arrow"]
            assert np.array_equal(arrow.vector, axis)
            joint = robot.joints[0]
            assert joint.with_axis(text).type == joint.with_axis(axis).type
    assert Universal("x", "-y") == Universal((1, 0, 0), (0, -1, 0)) and Planar("y", "z").x_axis.y == 1.0


BAD: list[tuple[Callable[[], JointType], str]] = [
    (lambda: UnboundedRevolute((0, 0, 0)), "unbounded revolute: axis: expected three finite numbers, not all"),
    (
        lambda: Cylindrical((0, NAN, 1)),
        "cylindrical: axis: expected three finite numbers, not all zero, got (0",
    ),
    (lambda: Helical((0, 0, 1), NAN), "helical: pitch: expected a finite number, got nan"),
    (lambda: Helical((0, 0, 1), None), "helical: pitch: expected a number, got None"),
    (lambda: Helical((0, 0, 0), 1.0), "helical: axis: expected three finite numbers, not all zero"),
    (lambda: Revolute("u"), "revolute: axis: expected three numbers, or 'x', 'y' or 'z', got 'u'"),
    (lambda: Universal((1, 0, 0), (1, 0, 0)), "universal: first and second: expected two axes at a right angle, got "),
    (lambda: Universal((1, 0, 0), (1, 1, 0)), "at 45°; use the component of one perpendicular to the other"),
    (lambda: Universal((1, 0, 0), (-1, 0, 0), right_angle=False), "expected two axes that are not parallel, got"),
    (lambda: Universal((1, 0, 0), (0, 0, 0)), "universal: second: expected three finite numbers"),
    (lambda: Planar((1, 0, 0), (1, 1e-3, 0)), "planar: x_axis and y_axis: expected two axes at a right angle, got"),
    (lambda: Planar((1, 0, 0), (1.5e-9, 1, 0)), "planar: x_axis and y_axis: expected two axes at a right angle, got"),
    (lambda: Planar((NAN, 0, 0)), "planar: x_axis: expected three finite numbers"),
    (lambda: Planar.across((0, 0, 0)), "planar: normal: expected three finite numbers"),
    (lambda: SphericalEuler("xxz"), "spherical (Euler): order: expected one of xyx, xyz, xzx, xzy, yxy, "),
    (lambda: SphericalEuler("XYZ"), "got 'XYZ'"),
    (lambda: FloatingEuler(("x", "y", "z")), "floating (Euler): order: expected one of"),
    (lambda: Ellipsoid(1.0, 0.0, 1.0), "ellipsoid: b: expected a positive number, got 0.0"),
    (lambda: Ellipsoid(1.0, 1.0, math.inf), "ellipsoid: c: expected a finite number, got inf"),
    (lambda: Ellipsoid("big", 1.0, 1.0), "ellipsoid: a: expected a number, got 'big'"),
    (lambda: Composite((Revolute((0, 0, 1)), "hinge")), "composite: joints: expected joint types, got 'hinge'"),
    (lambda: Composite((Floating(), Revolute((0, 0, 1)))), "at most 6 degrees of freedom, got 7: floating, revolute"),
    (lambda: Composite((Spherical(),), (Pose.identity(),) * 2), "placements: expected 1, one before each joint, got 2"),
    (lambda: Composite((Spherical(),), (np.eye(4),)), "composite: placements: expected poses, got array"),
    (lambda: Revolute("001"), "revolute: axis: expected three numbers, or 'x', 'y' or 'z', got '001'"),
    (lambda: Revolute(np.ma.masked_array([0, 0, 1.0], [0, 0, 1])), "revolute: axis: expected three numbers, got mask"),
    (lambda: Helical((0, 0, 1), "0.1"), "helical: pitch: expected a number, got '0.1'"),
    (
        lambda: Composite((Spherical(),), (Pose(Rotation.identity(), Vec3(NAN, 0.0, 0.0)),)),
        "composite: placements: expected a pose",
    ),
    (lambda: Helical((0, 0, 1), 1e200), "helical: pitch: expected a number of at most 1e+20, got 1e+200"),
    (lambda: Ellipsoid(1.0, 1.0, 1e21), "ellipsoid: c: expected a number of at most 1e+20, got 1e+21"),
    (
        lambda: Composite((Spherical(),), (Pose(Rotation.identity(), Vec3(0.0, -1e200, 0.0)),)),
        "composite: placements: expected a number of at most 1e+20, got -1e+200",
    ),
    (lambda: Reversed(3), "reversed: joint: expected a joint, got 3"),
]


@pytest.mark.light
@pytest.mark.parametrize(("make", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_parameters_of_joint_types_are_refused(make: Callable[[], JointType], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_axes_of_a_planar_joint_become_orthonormal() -> None:
    plane = Planar((0, 0, 2), (3, 0, 1e-10))
    assert [*plane.x_axis] == [0.0, 0.0, 1.0] and [*plane.y_axis] == [1.0, 0.0, 0.0]
    assert [*plane.normal] == [0.0, 1.0, 0.0]
    assert Planar(plane.x_axis, plane.y_axis) == plane
    rng = np.random.default_rng(0)
    for _ in range(300):
        plane = Planar.example(rng)
        assert Planar(plane.x_axis, plane.y_axis) == plane


# -- configurations


@pytest.mark.light
@every_joint
def test_joint_configurations_of_wrong_size_or_with_nan_are_refused(joint: JointType) -> None:
    free = np.full(joint.nq, np.inf)
    q = joint.random(np.random.default_rng(0), -free, free, (2, 3))
    checked = joint.checked(q, "knee")
    assert checked.shape == q.shape and np.max(np.abs(checked - q), initial=0.0) <= 4e-16
    with pytest.raises(ValueError, match=rf"joint 'knee' \(.*\): expected a configuration of {joint.nq} numbers"):
        joint.checked([0.0] * (joint.nq + 1), "knee")
    with pytest.raises(ValueError, match=f"expected a configuration of {joint.nq} numbers"):
        joint.checked(1.0)
    if joint.nq:
        bad = q[0, 0].copy()
        bad[-1] = NAN
        with pytest.raises(ValueError, match=r"expected finite numbers, got \[.*nan\]"):
            joint.checked(bad)


@pytest.mark.light
@every_joint
def test_joint_coordinates_of_unit_length_are_normalized_or_refused(joint: JointType) -> None:
    free = np.full(joint.nq, np.inf)
    q = joint.random(np.random.default_rng(0), -free, free, (3,))
    for columns in joint.unit_length:
        near, far = q.copy(), q.copy()
        near[1, list(columns)] *= 1.0 + 5e-4
        far[2, list(columns)] *= 1.0 + 5e-3
        with pytest.warns(UserWarning, match=r"of length 1, got \[.*\] of length 1\.0005: normalised"):
            assert np.max(np.abs(joint.checked(near) - q)) <= 4e-16
        with pytest.raises(ValueError, match=r"joint 'hip' .*of length 1, got \[.*\] of length 1\.005"):
            joint.checked(far, "hip")


class _Unnamed(Ball):
    """Numbers of unit length without names, and the contract's own ``normalize``."""

    q_names = ()
    normalize = JointType.normalize


class _Hidden(Ball):
    """A manifold that only ``normalize`` tells of."""

    unit_length = ()


@pytest.mark.parametrize("joint", [_Unnamed(), _Hidden(), Composite((Ball(), _Hidden()))], ids=lambda j: j.type_name())
def test_joint_configurations_off_any_manifold_are_normalized_or_refused(joint: JointType) -> None:
    """Small deviations are normalized with a warning, large ones refused; others of a batch are unchanged."""
    q = np.tile(np.array(joint.zero()), (3, 1))
    near, far, centre = q.copy(), q.copy(), q.copy()
    near[1, -4:] *= 1.0 + 5e-4
    far[2, -4:] *= 0.995
    centre[0, -4:] = 0.0
    with pytest.warns(ConfigurationWarning, match=r"joint 'hip' \(.*\): expected .*0005: normalised"):
        assert np.max(np.abs(joint.checked(near, "hip") - q)) <= 4e-16
    for bad in (far, centre):
        with pytest.raises(ValueError, match=r"joint 'hip' \(.*\): expected .*, got .*; `normalize` returns"):
            joint.checked(bad, "hip")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.max(np.abs(joint.checked(q * (1.0 + 5e-8)) - q)) <= 4e-16
        assert joint.checked(np.zeros((0, joint.nq))).shape == (0, joint.nq)


def test_strings_short_lists_and_zero_quaternions_are_refused_as_joint_configurations() -> None:
    with pytest.raises(ValueError, match="translational joint: expected a configuration of 3 numbers, got 'abc'"):
        Translational().checked("abc")
    with pytest.raises(ValueError, match=r"spherical joint: .* 4 numbers \(qw, qx, qy, qz\), got 3: \[0.0, 0.0, 1.0\]"):
        Spherical().checked([0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="of length 0"):
        Spherical().checked([0.0] * 4)


# -- singular configurations


@every_joint
def test_regularity_of_a_joint_is_between_0_and_1(joint: JointType) -> None:
    free = np.full(joint.nq, np.inf)
    for q in joint.random(np.random.default_rng(0), -free, free, (20,)).tolist():
        assert 0.0 < joint.regularity(q) <= 1.0


def test_joint_at_gimbal_lock_has_zero_regularity_and_finite_kinematics() -> None:
    for order in ("xyz", "zyx", "xyx", "zxz"):
        lock = 0.0 if order[0] == order[2] else math.pi / 2.0
        for joint, q in (
            (SphericalEuler(order), [0.3, lock, -0.4]),
            (FloatingEuler(order), [0.3, lock, -0.4, 1, 2, 3]),
        ):
            assert joint.regularity(q) <= 1e-16
            v = [1.0, -2.0, 0.5, 0.1, 0.2, 0.3][: joint.nv]
            S = np.array([c.elements() for c in joint.S(q).columns], dtype=float)
            assert np.linalg.svd(S, compute_uv=False)[-1] <= 1e-15
            outcomes = [*joint.X(q).elements(), *joint.bias(q, v).elements(), *joint.canonical(q), *joint.q_dot(q, v)]
            assert np.isfinite(np.array(outcomes, dtype=float)).all()
    for order, function in (("xyz", math.cos), ("xyx", math.sin)):
        both = Composite((SphericalEuler(order), linkwork.joints.Prismatic((1, 0, 0))))
        for joint in (both, both.reversed()):
            assert abs(joint.regularity([0.3, 1.5, 0.1, 0.0]) - abs(function(1.5))) <= 1e-15


# -- maps that belong together


class _Joint(JointType):
    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    @classmethod
    def example(cls, rng: Any) -> Any:
        return cls()

    def X(self, q: Any) -> Any:
        return Revolute((0, 0, 1)).X(q)


@pytest.mark.parametrize(
    ("written", "missing"),
    [
        ("q_dot", "velocity_from_rate"),
        ("velocity_from_rate", "q_dot"),
        ("integrate", "difference"),
        ("difference", "integrate"),
    ],
)
def test_joint_class_must_define_both_maps_between_rates_and_velocities(written: str, missing: str) -> None:
    with pytest.raises(TypeError, match=f"^Half: {written} is written and {missing} is not.*; write Half.{missing}$"):
        type("Half", (_Joint,), {written: lambda self, q, x: [x[0] * cos(q[0])]})


def test_joint_class_with_rates_that_are_not_velocities_must_define_integrate() -> None:
    maps = {"q_dot": lambda self, q, v: [2.0 * v[0]], "velocity_from_rate": lambda self, q, q_dot: [0.5 * q_dot[0]]}
    with pytest.raises(TypeError, match="Half: q_dot is written and integrate is not"):
        type("Half", (_Joint,), maps)
    steps = {
        "integrate": lambda self, q, phi: [q[0] + 2.0 * phi[0]],
        "difference": lambda self, q, p: [0.5 * (p[0] - q[0])],
    }
    assert type("Whole", (_Joint,), maps | steps)().q_dot([0.0], [1.0]) == [2.0]
    assert type("Stepping", (_Joint,), steps)().q_dot([0.0], [1.0]) == [1.0]


def test_messages_about_configurations_name_the_joint_of_the_robot() -> None:
    drawn = random_tree(np.random.default_rng(0), 2, types=[SphericalEuler, Floating], shape="chain")
    for joint in linkwork.Robot(drawn).joints:
        q = [0.3] * 3 if joint.nq == 3 else joint.type.zero()
        with pytest.raises(ValueError, match=f"joint '{joint.name}' .* expected a configuration of {joint.nq} numbers"):
            joint.regularity([*q, 0.0])
        batch = np.array([[q, q, q], [q, q, q]])
        assert joint.regularity(batch).tolist() == [[joint.type.regularity(q)] * 3] * 2


def test_parameters_at_the_limits_of_joints_are_accepted() -> None:
    assert Helical("z", 1e20).pitch == 1e20 and Helical("z", -1e20).pitch == -1e20
    assert Ellipsoid(0.3, 1e-6, 1e20).c == 1e20 and Ellipsoid(0.3, 1e-6, 0.7).b == 1e-6
    tilted = Planar((1, 0, 0), (0.5e-9, 1, 0))  # not refused, and then orthonormal
    assert abs(tilted.x_axis.dot(tilted.y_axis)) < 1e-24
    for size in (0.0, 1e-15, 1e-12):
        x, y = Planar((1, 0, 0), (size, 1, 0)).x_axis, Planar((1, 0, 0), (size, 1, 0)).y_axis
        assert abs(x.dot(y)) < 1e-24 and math.hypot(*y) == 1.0


def test_rounding_of_axes_and_quaternions_beyond_the_last_bit_is_removed() -> None:
    """A length within 4e-16 of 1 is left; one that is farther from 1 becomes 1 to the last bit."""
    for size in (1.0 + 2e-15, 1.0 - 2e-15):
        assert [*Revolute((0.0, 0.0, size)).axis] == [0.0, 0.0, 1.0]
        q = np.array([0.0, size, 0.0, 0.0])
        assert Spherical().checked(q).tolist() == [0.0, 1.0, 0.0, 0.0]
    exact = 1.0 + 2.0**-52
    assert [*Revolute((0.0, 0.0, exact)).axis] == [0.0, 0.0, exact]


def test_errors_outside_of_a_users_joint_type_are_raised_as_they_are() -> None:
    """Errors of its own methods are attributed to the joint; those of the library's types and callers are not."""

    class Faulty(Ball):
        def distance(self, q: Any) -> Any:
            return 1.0 / len([])

    def caller() -> None:
        raise ZeroDivisionError("of the caller")

    for joint in (Revolute("z"), Faulty()):
        with pytest.raises(ZeroDivisionError, match="of the caller"), attribute_errors("hip", joint):
            caller()
    with pytest.raises(JointMethodError, match="hip"), attribute_errors("hip", Faulty()):
        Faulty().distance([])
