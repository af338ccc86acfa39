"""`linkwork.propagate_motion`: arrays, batches and symbols, and a reference for the robot's functions."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

import linkwork as lw
from linkwork.kinematics.poses import PropagatedMotion
from oracles.comparison import assert_close
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import every_tree, state

ARM = lw.load("arm7")


def observed_motion(robot, q, v, a, B, A="world"):
    """Return the motion of B as an observer fixed in A sees it, in the axes of A."""
    view = {"relative_to": A, "expressed_in": A}
    return robot.pose(q, B, relative_to=A), robot.twist(q, v, B, **view), robot.acceleration(q, v, a, B, **view)


@every_tree
def test_propagated_motions_equal_the_robots_functions(tree):
    """Propagation over the joints of trees, between any two frames."""
    q, v, a = state(tree)
    f, book = Direct(tree), Textbook(tree, q, v, a)
    moving = {-1: (np.eye(4), np.zeros(6), np.zeros(6))}
    names = {-1: "world"}
    for frame in tree.frames:
        if frame.body >= 0 and frame.name == tree.bodies[frame.body].name:
            names[frame.body] = frame.name
    for i, p, _ in tree.outward():
        if i in names and p in names:
            moving[i] = lw.propagate_motion(moving[p], observed_motion(f, q, v, a, names[i], names[p]))
            motion_of_frame = observed_motion(f, q, v, a, names[i])
            for part, expected, tolerance in zip(moving[i], motion_of_frame, (1e-13, 1e-12, 1e-12), strict=True):
                assert_close(part, expected, tolerance, names[i], core=part.ndim - 1)
            assert_close(moving[i].acceleration, book.acceleration(names[i]), 1e-12, names[i], core=1)
    assert len(moving) > 1


def test_propagated_motions_broadcast_and_accept_symbols():
    q, v, a = (x[:, None] for x in state(ARM.tree, size=3))
    parent, relative = observed_motion(ARM, q, v, a, "wrist"), observed_motion(ARM, q[0], v[0], a[0], "hand", "wrist")
    motion = lw.propagate_motion(parent, relative)
    assert isinstance(motion, PropagatedMotion) and motion._fields == ("pose", "twist", "acceleration")
    assert [x.shape for x in motion] == [(3, 1, 4, 4), (3, 1, 6), (3, 1, 6)]
    assert np.array_equal(motion.pose[..., 3, :], np.broadcast_to([0.0, 0.0, 0.0, 1.0], (3, 1, 4)))
    single = lw.propagate_motion([x[0, 0] for x in parent], [x[0].tolist() for x in relative])
    assert all(np.array_equal(x, y[0, 0]) for x, y in zip(single, motion, strict=True))
    chained = reduce(lw.propagate_motion, [parent, relative, relative])
    again = lw.propagate_motion(parent, lw.propagate_motion(relative, relative))
    for x, y in zip(chained, again, strict=True):
        assert_close(x, y, 1e-13)

    def own_motion(q, v, a):
        return lw.propagate_motion(
            observed_motion(ARM, q, v, a, "wrist"), observed_motion(ARM, q, v, a, "hand", "wrist")
        )

    traced = lw.compile(own_motion, q=7, v=7, a=7)(q[:, 0], v[:, 0], a[:, 0])
    assert traced._fields == motion._fields
    for x, y in zip(traced, observed_motion(ARM, q[:, 0], v[:, 0], a[:, 0], "hand"), strict=True):
        assert_close(x, y, 1e-12, core=x.ndim - 1)


@pytest.mark.parametrize(
    ("parent", "relative", "message"),
    [
        ((np.eye(4), np.zeros(6)), None, "parent: expected .pose, twist, acceleration., got 2 values"),
        (
            (np.eye(3), np.zeros(6), np.zeros(6)),
            None,
            r"parent: pose: expected shape \(..., 4, 4\), got",
        ),
        (None, (np.eye(4), np.zeros(3), np.zeros(6)), r"relative: twist: expected shape \(..., 6\), got shape \(3,\)"),
        (None, (np.eye(4), np.zeros(6), 0.0), r"relative: acceleration: expected shape \(..., 6\), got shape \(\)"),
    ],
)
def test_invalid_motions_to_propagate_are_refused(parent, relative, message):
    at_rest = np.eye(4), np.zeros(6), np.zeros(6)
    with pytest.raises(ValueError, match=message):
        lw.propagate_motion(parent or at_rest, relative or at_rest)
