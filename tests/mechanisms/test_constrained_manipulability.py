"""Manipulability of mechanisms: the volume of what unit velocities of the motors move."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

ROWS = {"all": slice(0, 6), "position": slice(3, 6), "angular": slice(0, 3)}


@pytest.mark.slow(every=3)
def test_it_is_the_volume_of_permitted_motions(drawn):
    """By a basis of the velocities that the constraints permit, for motors of any number."""
    cases = (
        ("fourbar", "coupler", ["crank_hinge"]),
        ("fourbar", "rocker", ["crank_hinge", "rocker_hinge"]),
        ("delta", "platform", [f"shoulder_{k}" for k in (1, 2, 3)]),
        ("delta", "platform", None),
        ("leg", "sole", ["hip_roll", "hip_yaw", "hip_pitch", "knee", "shin_spring", "heel", "foot_motor"]),
    )
    for name, frame, motors in drawn(cases):
        robot = lw.load(name)
        q = robot.assemble(robot.random_configuration(seed=1) if name == "leg" else None).q
        _, sizes, rows = np.linalg.svd(robot.constraint_jacobian(q))
        T = rows[np.count_nonzero(sizes > 1e-9 * sizes[0]) :].T
        index = robot.v_index([b.joint_name for b in robot.tree.bodies if b.joint.nv < 6] if motors is None else motors)
        inner = T[index].T @ T[index]
        for part, some in ROWS.items():
            J = robot.jacobian(q, frame)[some] @ T
            count = min(len(J), len(index))
            values = np.linalg.svd(J @ np.linalg.inv(np.linalg.cholesky(inner)).T, compute_uv=False)
            expected = np.prod(np.r_[values, np.zeros(6)][:count])
            found = robot.manipulability(q, frame, part=part, actuators=motors)
            assert abs(found - expected) < 1e-9 * max(values[0], 1e-3) ** count, (name, part)


def test_what_motors_do_not_move_is_infinite_and_open_trees_have_no_actuators():
    robot = lw.load("delta")
    q = robot.assemble().q
    assert robot.manipulability(q, "platform", part="position", actuators=["shoulder_1", "shoulder_2"]) == np.inf
    with pytest.raises(ValueError, match="manipulability: actuators: expected None for a robot without constraints"):
        lw.load("arm6").manipulability(np.zeros(6), "tool", actuators="elbow")
    with pytest.raises(ValueError, match="manipulability_gradient: the function does not support constraints"):
        robot.manipulability_gradient(q, "platform")
