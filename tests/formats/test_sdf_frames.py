"""Frames of SDF compared with libsdformat: poses of links and frames, joints and their axes, inertias.

The folder sdf has files that cover what SDF says of frames, and in resolved what libsdformat 12.3 makes of them.  To
make these figures anew, with libsdformat-dev installed:

    cd tests/formats/sdf
    g++ -O1 -std=c++17 resolve_sdf.cpp -o resolve_sdf $(pkg-config --cflags --libs sdformat12)
    for file in *.sdf; do ./resolve_sdf models $file > resolved/${file%.sdf}.json; done
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.constraints import LoopJoint
from linkwork.errors import ModelError
from linkwork.formats import read_sdf
from linkwork.joints import Fixed, Floating
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree
from linkwork.model.tree_builder import build_tree
from linkwork.robot.robot_table import ROBOT
from linkwork.spatial import Pose

FOLDER = Path(__file__).parent / "sdf"
CASES = sorted(file.stem for file in FOLDER.glob("*.sdf"))
ROUNDED = {"merged_of_1_9": 1e-6}  # libsdformat writes the pose of a merged model with six digits and reads it again


def read(name: str, **options: Any) -> Tree:
    return build_tree(read_sdf(FOLDER / f"{name}.sdf", package_dirs=[FOLDER / "models"], **options))


def resolved(name: str) -> dict[str, Any]:
    data = json.loads((FOLDER / "resolved" / f"{name}.json").read_text())
    proxies = [frame for frame in data["frames"] if "_merged__" in frame]  # frames of libsdformat's own
    data["frames"] = {frame: value for frame, value in data["frames"].items() if frame not in proxies}
    models = {link.partition("::")[0] for link in data["links"]}
    if len(models) > 1:
        return data

    def short(x: Any) -> Any:
        if isinstance(x, dict):
            return {key.removeprefix(f"{model}::"): short(value) for key, value in x.items()}
        return x.removeprefix(f"{model}::") if isinstance(x, str) else x

    (model,) = models
    return short(data)


def matrix(values: Any) -> np.ndarray:
    return np.array([*np.reshape(values, (3, 4)), [0.0, 0.0, 0.0, 1.0]])


def poses(tree: Tree) -> dict[str, np.ndarray]:
    """The pose of each frame in the world, where all joints are at zero."""
    q = [x for body in tree.bodies for x in body.joint.zero()]
    X = ROBOT["forward_kinematics"].compute(tree, q)
    bodies = [np.reshape(pose.elements(), (4, 4)) for pose in X]
    return {
        frame.name: (np.eye(4) if frame.body == WORLD else bodies[frame.body]) @ homogeneous(frame.placement)
        for frame in tree.frames
    }


def homogeneous(X: Pose) -> np.ndarray:
    return np.reshape(X.elements(), (4, 4))


@pytest.mark.light
@pytest.mark.parametrize("name", CASES)
def test_sdf_poses_equal_those_of_libsdformat(name: str):
    tree, expected = read(name), resolved(name)
    result = poses(tree)
    for group in ("links", "frames"):
        for key, value in expected[group].items():
            np.testing.assert_allclose(
                result[key], matrix(value["pose"]), rtol=0.0, atol=ROUNDED.get(name, 1e-14), err_msg=key
            )
    links = {link for frame in tree.frames if frame.is_link for link in [frame.name]}
    assert links == {"world", *expected["links"]}
    for key, value in expected["frames"].items():
        body = value["body"] if "__model__" not in value["body"] else "world"  # of a static model
        assert tree.frame(key).body == tree.frame(body).body


@pytest.mark.light
@pytest.mark.parametrize("name", CASES)
def test_sdf_joints_and_axes_equal_those_of_libsdformat(name: str):
    """Each joint has the frame, the ends and the axes that the file states; loops have two frames on their links."""
    description, expected = read_sdf(FOLDER / f"{name}.sdf", package_dirs=[FOLDER / "models"]), resolved(name)
    loaded_robot, joints = poses(read(name)), {joint.name: joint for joint in description.joints}
    loops = {constraint.constraint.name: constraint.constraint for constraint in description.constraints}
    static = {link for link in expected["links"] if f"world_to_{link}" in joints}
    for key, value in expected["joints"].items():
        ends = {value["parent"], value["child"]}
        if ends <= {*static, "world"}:
            assert key not in joints and key not in loops
            continue
        if key in loops:
            loop = loops[key]
            assert isinstance(loop, LoopJoint)
            for frame in (loop.frame, loop.relative_to):
                np.testing.assert_allclose(
                    loaded_robot[frame], matrix(value["pose"]), rtol=0.0, atol=ROUNDED.get(name, 1e-14)
                )
            X, type_ = loaded_robot[loop.relative_to], loop.joint
        else:
            joint = joints.pop(key)
            assert {joint.parent, joint.child} == ends
            X, type_ = loaded_robot[joint.parent] @ homogeneous(joint.placement), joint.joint
            if joint.joint.nv and not (loaded_robot[joint.child] == X).all():
                np.testing.assert_allclose(
                    X @ homogeneous(joint.rotor), loaded_robot[joint.child], rtol=0.0, atol=1e-14
                )
            if joint.parent != value["parent"]:
                type_ = type_.reversed()
        columns = [column.elements() for column in type_.S(type_.zero()).columns]
        for axis, column in zip(value["axes"], columns, strict=False):
            direction = column[:3] if any(column[:3]) else column[3:]
            np.testing.assert_allclose(
                X[:3, :3] @ direction, np.array(axis) / np.linalg.norm(axis), rtol=0.0, atol=ROUNDED.get(name, 1e-14)
            )
    assert all(isinstance(joint.joint, (Fixed, Floating)) and joint.parent == "world" for joint in joints.values())


@pytest.mark.light
@pytest.mark.parametrize("name", CASES)
def test_sdf_inertias_equal_those_of_libsdformat(name: str):
    description, expected = read_sdf(FOLDER / f"{name}.sdf", package_dirs=[FOLDER / "models"]), resolved(name)["links"]
    for link in description.links[1:]:
        mass, *center_and_moments = expected[link.name]["inertia"]
        center, moments = center_and_moments[:3], center_and_moments[3:]
        I = link.inertia
        if I.mass == 0.0:
            assert mass == 1.0 and link.name.startswith("shelf")  # of a static link, which states none
            continue
        about = I.shifted(-I.moment * (1.0 / I.mass)).about.elements()
        np.testing.assert_allclose([I.mass, *(x / I.mass for x in I.moment)], [mass, *center], atol=1e-15)
        np.testing.assert_allclose(about, moments, atol=1e-15 * 4)


def test_unknown_sdf_frame_is_reported_with_its_scope(tmp_path: Path) -> None:
    model = '<model name="m">{}<link name="l">{}</link></model>'
    pose, file = '<pose relative_to="nope">0 0 0 0 0 0</pose>', tmp_path / "unknown.sdf"
    for text, scope in (
        (f'<world name="w">{model.format(pose, "")}</world>', "the world"),
        (model.format("", pose), "model 'm'"),
    ):
        file.write_text(f'<sdf version="1.9">{text}</sdf>')
        with pytest.raises(ModelError, match=f"frame 'nope' does not exist in {scope}"):
            build_tree(read_sdf(file))
