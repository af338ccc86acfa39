"""Edges of half a revolution of ball joints: two parts, the same in both directions."""

import numpy as np
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.joints import Revolute, Spherical
from linkwork.planning.configuration_geometry import HALF_TURN, ConfigurationGeometry


def test_edges_of_half_a_revolution_have_two_parts_with_the_same_middle_in_both_directions():
    ball = lw.Joint.of(Spherical(), name="ball", parent="world", child="rod")
    hinge = lw.Joint.of(Revolute((0.48, -0.6, 0.64)), name="hinge", parent="rod", child="tip", lower=-3.0, upper=3.0)
    robot = lw.Robot.build("ball", lw.Link("rod", mass=1.0), lw.Link("tip", mass=1.0), ball, hinge)
    geometry = ConfigurationGeometry(robot, None, None, frozenset())
    columns, angle = robot.tree.q_slices[robot.tree.joint_index("ball")], robot.q_names.index("hinge")
    axis, start = np.array([0.6, 0.64, -0.48]), np.array([0.5, -0.5, 0.5, 0.5])

    def configuration(turn, x):
        R = Rotation.from_quat(start, scalar_first=True) * Rotation.from_rotvec(turn * axis)
        q = np.zeros(robot.nq)
        q[columns], q[angle] = R.as_quat(scalar_first=True), x
        return q

    turns = (1.0, HALF_TURN - 1e-6, np.pi, 2.0)
    q0, q1 = np.array([configuration(0.0, -1.0)] * 4), np.array([configuration(turn, 1.5) for turn in turns])
    edge, begin, end = geometry.straight_parts(q0, q1)
    assert edge.tolist() == [0, 1, 2, 2, 3]
    assert (begin[[0, 1, 2, 4]] == q0[[0, 1, 2, 3]]).all() and (end[[0, 1, 3, 4]] == q1[[0, 1, 2, 3]]).all()
    middle = end[2]
    assert (middle == begin[3]).all() and abs(middle[angle] - 0.25) < 1e-12
    for part in (2, 3):
        phi = geometry.difference(begin[part : part + 1], end[part : part + 1])
        assert abs(geometry.rotation(phi, angles=False)[0] - 0.5 * np.pi) < 1e-6
    edge, back_begin, back_end = geometry.straight_parts(q1, q0)
    assert edge.tolist() == [0, 1, 2, 2, 3] and (back_end[2] == middle).all() and (back_begin[2] == q1[2]).all()
