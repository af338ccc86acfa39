"""Four-bars of unit rods of 1 kg, side by side: rods that stand on the ground, each pinned to the next by a coupler."""

import numpy as np

import linkwork as lw

HINGE = lw.joints.Revolute((0, 1, 0))
TURNED = lw.pose(rpy=(0.4, -0.3, 0.7))


def rod(name):
    """A thin rod from its frame's origin along x."""
    return lw.Link(name, mass=1.0, com=(0.5, 0, 0), inertia=(0.0, 1 / 12, 1 / 12))


def fourbars(count, joint=HINGE, plane=TURNED):
    """N four-bars that share rods, with their loops closed at rod tips by a joint; gravity is along −z of the plane."""
    tip = lw.pose((1.0, 0.0, 0.0))
    parts = []
    for i in range(count + 1):
        placement = plane @ lw.pose((float(i), 0, 0))
        hinge = lw.Joint.of(HINGE, name=f"A{i}", parent="world", child=f"rod{i}", placement=placement)
        parts += [rod(f"rod{i}"), hinge]
    for i in range(1, count + 1):
        hinge = lw.Joint.of(HINGE, name=f"B{i}", parent=f"rod{i - 1}", child=f"coupler{i}", placement=tip)
        parts += [rod(f"coupler{i}"), hinge]
    robot = lw.Robot.build(f"{count} four-bars", *parts).with_gravity(-9.81 * plane[:3, 2])
    for i in range(1, count + 1):
        robot = robot.with_frame(f"tip{i}", f"rod{i}", tip).with_frame(f"end{i}", f"coupler{i}", tip)
        robot = robot.with_loop(f"C{i}", f"end{i}", f"tip{i}", joint)
    return robot


def parallel(robot, angle, rate=0.0):
    """The configuration and velocity of rods side by side, at an angle above the ground."""
    signs = np.array([-1.0 if joint.name[0] == "A" else 1.0 for joint in robot.joints])
    return signs * angle, signs * rate


def pendulum_acceleration(count, angle):
    """Return θ̈ of N four-bars side by side, which is that of a pendulum."""
    return -((count + 1) / 2 + count) * 9.81 * np.cos(angle) / ((count + 1) / 3 + count)
