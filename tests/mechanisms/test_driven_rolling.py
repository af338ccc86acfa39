"""Driven motions of robots with velocity constraints: odometry of wheels, and drivers that contradict rolling."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import Pfaffian, Rolling

RADIUS, TRACK = 0.1, 0.4  # of the wheels, and between them [m]


WHEELS = {"left": 0.5, "right": -0.5}  # positions along the axle, in multiples of `TRACK`


def mobile_base(*constraints, wheels=WHEELS):
    """Return a base in the plane with wheels that roll: no holonomic constraints."""
    parts = [lw.Link(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("base", *wheels)]
    hinge = lw.joints.Revolute("y")
    joints = [lw.Joint.of(lw.joints.Planar(), name="plane", parent="world", child="base")]
    for name, side in wheels.items():
        placement = lw.pose((0, side * TRACK, RADIUS))
        joints.append(lw.Joint.of(hinge, name=f"{name}_axle", parent="base", child=name, placement=placement))
    rolling = (Rolling(name, radius=RADIUS, contact=False) for name in wheels)
    return lw.Robot.build("base", *parts, *joints).with_constraints(*rolling, *constraints)


def arcs(left, right):
    """Return x, y and heading of the base after each step of both wheels, on arcs from the origin."""
    x, y, heading = [0.0], [0.0], [0.0]
    for a, b in zip(np.diff(left) * RADIUS, np.diff(right) * RADIUS, strict=True):
        length, turned, before = 0.5 * (a + b), (b - a) / TRACK, heading[-1]
        chord = length * np.sinc(0.5 * turned / np.pi)
        x.append(x[-1] + chord * np.cos(before + 0.5 * turned))
        y.append(y[-1] + chord * np.sin(before + 0.5 * turned))
        heading.append(before + turned)
    return np.stack([x, y, heading], axis=-1)


def test_driven_wheels_move_the_base_along_arcs_of_odometry():
    robot = mobile_base()
    left = np.array([[0.0, 2.0, 5.0, 4.0], [0.0, -1.0, -1.0, 3.0]])
    right = np.array([0.0, 3.0, 1.0, 2.0])  # turns to both sides, on the spot, and back
    motion = robot.drive_mechanism({"left_axle": left, "right_axle": right}, velocity={"left_axle": 2.0})
    assert motion.success.all() and motion.slack.min() > 0.1
    for k in range(2):
        np.testing.assert_allclose(motion.q[k, :, :3], arcs(left[k], right), rtol=0, atol=1e-8)
    np.testing.assert_allclose(robot.constraint_jacobian(motion.q) @ motion.v[..., None], 0.0, atol=1e-12)
    np.testing.assert_allclose(motion.v[..., 3], 2.0)
    round_trip = robot.drive_mechanism({"left_axle": [0, 3, 0], "right_axle": [0, -1, 0]})  # and the same arc back
    np.testing.assert_allclose(round_trip.q[-1], round_trip.q[0], rtol=0, atol=1e-9)
    far = robot.neutral()
    far[:2] = 2e7, -5e6  # [m] from the origin, where positions are rounded to 4e-9 m
    there = robot.drive_mechanism({"left_axle": left[0], "right_axle": right}, far)
    assert there.success
    np.testing.assert_allclose((there.q - far)[:, :3], motion.q[0, :, :3], rtol=0, atol=1e-7)
    assert repr(round_trip) == f"<DrivenMotion: 'base', left_axle, right_axle, {round_trip.message}>"


@pytest.mark.slow(every=3)
def test_wheels_on_a_floating_base_with_a_castor_follow_the_same_arcs():
    robot = lw.load("differential_drive")
    left, right = np.array([0.0, 4.0, 5.0]), np.array([0.0, 5.0, 9.0])
    motion = robot.drive_mechanism({"left": left, "right": right})
    poses = motion.pose("chassis")
    expected = arcs(left, right)
    np.testing.assert_allclose(poses[:, :2, 3], expected[:, :2], rtol=0, atol=1e-8)
    np.testing.assert_allclose(lw.rpy(poses)[:, 2], expected[:, 2], rtol=0, atol=1e-8)
    np.testing.assert_allclose(robot.constraint_error(motion.q), 0.0, atol=1e-10)


def test_drivers_that_contradict_rolling_end_the_motion_and_imposed_velocities_are_refused():
    robot = mobile_base(wheels=WHEELS | {"middle": 0.0})
    angles = {"left_axle": [0.0, 1.0, 2.0], "right_axle": [0.0, 2.0, 4.0]}
    together = robot.drive_mechanism(angles | {"middle_axle": [0.0, 1.5, 3.0]})  # the mean of both, as rolling demands
    np.testing.assert_allclose(together.q[:, :3], arcs(*angles.values()), rtol=0, atol=1e-8)
    message = "through 1 of 3 states.*the velocity constraints, such as rolling, do not allow the drivers to move on"
    with pytest.raises(lw.errors.AssemblyError, match=message):
        robot.drive_mechanism(angles | {"middle_axle": [0.0, 1.0, 2.0]})
    one_free = robot.drive_mechanism({"left_axle": [0.0, 1.0]})
    assert "the drivers leave motions free" in one_free.message
    moved = mobile_base(Pfaffian("belt", lambda k: k.v("left_axle") - 1.0))
    with pytest.raises(ValueError, match="drive_mechanism: constraint 'belt' imposes a velocity"):
        moved.drive_mechanism({"right_axle": [0.0, 1.0]})
