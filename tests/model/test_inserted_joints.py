"""Welds turned into joints without coordinates: the same poses, inertias and joint forces, one body more."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.errors import UnknownNameError
from linkwork.kinematics.algorithms.forward_kinematics import forward_kinematics
from linkwork.model.body import WORLD
from linkwork.model.inserted_joints import unweld


def robot() -> lw.Robot:
    """Two arms on a base that is welded to the world; a gripper welded to a wrist, with a camera and a finger."""
    hinge = lambda *axis: lw.joints.Revolute(axis)  # noqa: E731

    def link(name: str, mass: float) -> lw.Link:
        return lw.Link(name, mass=mass, com=(0.1, 0.05, 0.02 * mass), inertia=(0.1 * mass, 0.2 * mass, 0.15 * mass))

    def placed(x: float, y: float, z: float) -> np.ndarray:
        return lw.pose((x, y, z), rpy=(0.3 + x, 0.2 - y, 0.5 * z))

    joints = (
        ("bolt", lw.joints.Fixed(), "world", "base", placed(0.1, 0.2, 0.3)),
        ("pan", hinge(0.48, -0.6, 0.64), "base", "upper", placed(0.2, 0.1, 0.4)),
        ("tilt", hinge(0.36, 0.48, 0.8), "upper", "wrist", placed(0.3, -0.1, 0.2)),
        ("flange", lw.joints.Fixed(), "wrist", "gripper", placed(0.1, 0.2, 0.1)),
        ("mount", lw.joints.Fixed(), "gripper", "camera", placed(0.05, 0.02, 0.1)),
        ("jaw", hinge(0.8, 0.36, -0.48), "camera", "finger", placed(0.1, 0.03, 0.02)),
        ("thumb", hinge(0.6, 0.0, 0.8), "wrist", "nail", placed(0.02, 0.3, 0.1)),
        ("lift", lw.joints.Prismatic((0.6, 0.64, 0.48)), "base", "second", placed(-0.2, 0.3, 0.1)),
    )
    names = ("base", "upper", "wrist", "gripper", "camera", "finger", "nail", "second")
    links = [link(name, 0.5 + k) for k, name in enumerate(names)]
    built = [lw.Joint.of(kind, name=n, parent=a, child=b, placement=X) for n, kind, a, b, X in joints]
    return lw.Robot.build("welded", *links, *built)


@pytest.mark.parametrize(("joint", "carried"), [("flange", 3.5 + 4.5), ("mount", 4.5), ("bolt", 0.5)])
def test_weld_that_becomes_a_joint_changes_no_pose_and_no_force(joint: str, carried: float) -> None:
    tree = robot().tree
    result = unweld(tree, joint)
    rng = np.random.default_rng(0)
    q, v, a = (rng.normal(size=tree.nv).tolist() for _ in range(3))
    assert (result.nq, result.nv, len(result.bodies)) == (tree.nq, tree.nv, len(tree.bodies) + 1)
    assert joint not in result.fixed_joints and result.fixed_joints.keys() | {joint} == tree.fixed_joints.keys()
    poses = []
    for each in (tree, result):
        X = forward_kinematics(each, q)
        of_frame = {}
        for frame in each.frames:
            pose = frame.placement if frame.body == WORLD else X[frame.body] @ frame.placement
            of_frame[frame.name] = [float(x) for x in pose.elements()]
        poses.append(of_frame)
    assert poses[0].keys() == poses[1].keys()
    for name, elements in poses[0].items():
        assert poses[1][name] == pytest.approx(elements, abs=1e-14), name
    assert inverse_dynamics(result, q, v, a) == pytest.approx(inverse_dynamics(tree, q, v, a), abs=1e-12)
    (body,) = [body for body in result.bodies if body.joint_name == joint]
    assert body.joint.nv == 0 and float(body.inertia.mass) == pytest.approx(carried)
    if joint == "bolt":
        return
    parents = {body.name: body.parent for body in result.bodies}
    at = {body.name: k for k, body in enumerate(result.bodies)}
    assert parents["finger"] == at[body.name] and parents[body.name] == parents["nail"] == at["wrist"]
    (wrist,) = [body for body in result.bodies if body.name == "wrist"]
    assert float(wrist.inertia.mass) == pytest.approx((2.5 + 3.5 + 4.5) - carried)


def test_joints_that_are_no_welds_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="no fixed joint named 'flang'; did you mean 'flange'"):
        unweld(robot().tree, "flang")
    with pytest.raises(UnknownNameError, match="no fixed joint named 'pan'"):
        unweld(robot().tree, "pan")
