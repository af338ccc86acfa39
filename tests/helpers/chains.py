"""Chains of rods in a vertical plane, hung at one end, or at both."""

from __future__ import annotations

import numpy as np

import linkwork as lw

HINGE = lw.joints.Revolute((0, 1, 0))


def chain(count, span=None):
    """Return rods of 1 m and 1 kg along x, hung at the origin, and at a distance ``span`` along x if stated."""
    parts = []
    for k in range(count):
        parent = "world" if k == 0 else f"rod{k - 1}"
        position = None if k == 0 else lw.pose((1.0, 0, 0))
        parts.append(lw.Link(f"rod{k}", mass=1.0, com=(0.5, 0, 0), inertia=(0.001, 1 / 12, 1 / 12)))
        parts.append(lw.Joint.of(HINGE, name=f"hinge{k}", parent=parent, child=f"rod{k}", placement=position))
    robot = lw.Robot.build(f"chain of {count}", *parts)
    if span is None:
        return robot
    robot = robot.with_frame("end", f"rod{count - 1}", lw.pose((1.0, 0, 0)))
    return robot.with_frame("hook", "world", lw.pose((span, 0, 0))).with_loop("hung", "hook", "end", HINGE)


def sagging(robot, rng):
    """A configuration whose rods go down, then up, at angles drawn at random; not closed."""
    count = robot.nv
    slopes = np.sort(rng.uniform(-1.4, 1.4, count))[::-1]  # downward is positive about y
    return np.diff(np.concatenate([[0.0], slopes]))
