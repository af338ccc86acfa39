"""The view from the front, ranges of sliders, and the frame whose path is drawn, if the user states none."""

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.viewer.figures.robot_figures import frames_to_draw
from linkwork.viewer.joint_sliders import joint_sliders
from linkwork.viewer.scenes.robot_scenes import robot_document
from linkwork.viewer.view_direction import front_view


def test_front_view_of_a_planar_mechanism_is_along_its_normal():
    quarter = 0.5 * math.pi
    expected = {"fourbar": (-quarter, 0.0), "double_pendulum": (-quarter, 0.0), "arm6": (0.0, 0.0)}
    expected |= {"planetary_gear": (-quarter, quarter), "quadruped": (0.0, 0.0)}
    for name, view in expected.items():
        assert front_view(robot_document(lw.load(name))) == pytest.approx(view), name
    slide = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart")
    pole = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="turn", parent="cart", child="pole")
    cart = lw.Robot.build("cart", lw.Link("cart", mass=1.0), lw.Link("pole", mass=1.0), slide, pole)
    assert front_view(robot_document(cart)) == pytest.approx((-quarter, 0.0))
    for azimuth in (0.0, 0.3, -0.7):  # a mechanism whose plane is turned about z is seen from its normal, too
        pose = lw.spatial.Pose(
            lw.spatial.Rotation.about(lw.spatial.Vec3(0.0, 0.0, 1.0), azimuth), lw.spatial.Vec3(0.0, 0.0, 0.0)
        )
        view = front_view(robot_document(lw.load("double_pendulum", base=pose)))
        assert view == pytest.approx((azimuth - quarter, 0.0))


def test_sliders_of_joints_without_limits_have_a_finite_range_with_the_value_in_its_middle_half():
    joints = {"turn": lw.joints.Revolute((0, 0, 1)), "slide": lw.joints.Prismatic((1, 0, 0))}
    for name, joint in joints.items():
        robot = lw.Robot.build(name, lw.Link("rod", mass=1.0), lw.Joint.of(joint, parent="world", child="rod"))
        for q in (0.0, 0.4, -1.0, 1.6, 3.1, math.pi, -3.1, 700.0):
            (slider,) = joint_sliders(robot.tree.bodies[0], [q])
            share = (q - slider.low) / (slider.high - slider.low)
            assert 0.25 <= share <= 0.75, (name, q)


def test_frame_path_drawn_by_default_belongs_to_a_frame_that_moves():
    arm = lw.load("arm6")
    assert frames_to_draw(arm, None) == (arm.frames[-1],)
    with_fixed = arm.with_frame("corner", "base", (1.0, 0.0, 0.0))
    assert with_fixed.frames[-1] == "corner"
    (name,) = frames_to_draw(with_fixed, None)
    poses = np.asarray(with_fixed.pose(with_fixed.random_configuration(seed=0, size=2), name))
    assert np.abs(poses[0] - poses[1]).max() > 0.01
