"""SDF files of example-robot-data: the robots equal what the files themselves state.

All of them are of SDF 1.6, with the poses of links in the model's frame, and axes in it or in the joint's frame.
"""

from __future__ import annotations

import importlib.metadata
import pathlib
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from formats.test_sdf_frames import homogeneous, poses
from linkwork.constraints import Gear, LoopJoint
from linkwork.formats import read_sdf
from linkwork.joints import Spherical
from linkwork.model.tree_builder import build_tree
from linkwork.robot.robot_table import ROBOT
from linkwork.spatial import Rotation

try:
    FILES = importlib.metadata.files("example-robot-data") or []
except importlib.metadata.PackageNotFoundError:
    FILES = []
ROBOTS = {file.stem: pathlib.Path(str(file.locate())) for file in FILES if file.suffix == ".sdf"}
if not ROBOTS:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)


def values_of(element: ElementTree.Element, path: str, default: str = "0 0 0 0 0 0") -> np.ndarray:
    return np.array((element.findtext(path) or default).split(), dtype=float)


def matrix(pose: np.ndarray) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3] = np.reshape([*map(tuple, (lambda R: (R.x, R.y, R.z))(Rotation.from_rpy(*pose[3:])))], (3, 3))
    X[:3, 3] = pose[:3]
    return X


@pytest.mark.parametrize("name", sorted(ROBOTS))
def test_published_sdf_robots_equal_the_content_of_their_files(name: str):
    model = ElementTree.parse(ROBOTS[name]).getroot().find("model")
    assert model is not None
    description = read_sdf(ROBOTS[name])
    tree = build_tree(description)
    links = {link.get("name"): link for link in model.iter("link")}
    stated = {key: matrix(values_of(link, "pose")) for key, link in links.items()}
    result = poses(tree)
    for key, X in stated.items():
        np.testing.assert_allclose(result[str(key)], X, rtol=0.0, atol=1e-14)
    mass = sum(float(link.findtext("inertial/mass") or "nan") for link in links.values())
    assert sum(body.inertia.mass for body in tree.bodies) == pytest.approx(mass, rel=1e-14)
    joints = {joint.get("name"): joint for joint in model.findall("joint")}
    constraints = {constraint.constraint.name: constraint.constraint for constraint in description.constraints}
    loops = {key for key, constraint in constraints.items() if isinstance(constraint, LoopJoint)}
    bases = {joint.name for joint in description.joints} - {*joints}
    gears = {key for key, joint in joints.items() if joint.get("type") == "gearbox"}
    assert bases <= {"floating_base"} and gears == {
        key for key, constraint in constraints.items() if isinstance(constraint, Gear)
    }
    assert {joint.name for joint in description.joints} | loops | gears == {*joints} | bases
    assert len(tree.bodies) - len(bases) + len(loops) + len(gears) == len(joints)
    for joint in description.joints:
        if joint.name in bases or isinstance(joint.joint, Spherical):
            continue
        element = joints[joint.name]
        axis = values_of(element, "axis/xyz")
        X_J = stated[element.findtext("child")] @ matrix(values_of(element, "pose"))
        if (element.findtext("axis/use_parent_model_frame") or "0") in ("0", "false"):
            axis = X_J[:3, :3] @ axis
        column = joint.joint.S(joint.joint.zero()).columns[0].elements()
        direction = np.array(column[:3] if any(column[:3]) else column[3:])
        F = result[joint.parent] @ homogeneous(joint.placement)
        np.testing.assert_allclose(F[:3, :3] @ direction, axis / np.linalg.norm(axis), rtol=0.0, atol=1e-9)
        assert joint.limits.lower[0] == float(element.findtext("axis/limit/lower") or "-inf")
        assert joint.damping[0] == float(element.findtext("axis/dynamics/damping") or "0")
    q = [x for body in tree.bodies for x in body.joint.zero()]
    M = np.array([[*row] for row in ROBOT["mass_matrix"].compute(tree, q)], dtype=float)
    if bases:  # the upper left block of a robot that floats is its total mass
        np.testing.assert_allclose(M[3:6, 3:6], mass * np.eye(3), atol=1e-12)
