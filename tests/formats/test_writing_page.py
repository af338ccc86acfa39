"""The page on writing robots: its table of joint types is that of the writers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.errors import ModelError
from linkwork.formats import mjcf_text, sdf_text, urdf_text
from linkwork.formats.linkwork_json import robot_reader
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree

PAGE = (Path(__file__).parents[2] / "docs" / "writing_robots.md").read_text(encoding="utf-8")
PLAIN: dict[type[joints.JointType], joints.JointType] = {
    joints.Spherical: joints.Spherical(),
    joints.Floating: joints.Floating(),
    joints.Reversed: joints.Reversed(joints.Universal()),
}
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def one_joint(kind: type[joints.JointType]) -> Tree:
    """A tree of one joint on the world."""
    tree = random_tree(np.random.default_rng(0), 1, types=(kind,))
    (body,) = tree.bodies
    joint = PLAIN.get(kind, body.joint)
    if kind is joints.Composite:
        joint = joints.Composite((joints.Revolute((0, 0, 1)), joints.Prismatic((1, 0, 0))))
    body = replace(body, joint=joint, drive=type(body.drive)(), damping=(0.0,) * joint.nv, friction=(0.0,) * joint.nv)
    return replace(tree, bodies=(replace(body, limits=body.limits.none(joint)),))


def test_writing_robots_page_lists_the_joint_types_of_each_writer() -> None:
    rows = {name: cells for name, *cells in ROW.findall(PAGE)}
    assert [*rows] == [kind.__name__ for kind in joints.ALL]
    for kind in joints.ALL:
        tree = one_joint(kind)
        for text_of, cell in zip((urdf_text, mjcf_text, sdf_text), rows[kind.__name__], strict=True):
            if cell == "–":
                with pytest.raises(ModelError, match="NOT_WRITTEN"):
                    text_of(tree)
                continue
            text, _ = text_of(tree)
            types = re.findall(r'<joint name="joint0(?:_\d|\.\w+)?" type="(\w+)"', text)
            if cell[0].isdigit():
                assert len(types) == int(cell[0]), (kind, types)
            elif cell == "its parts":
                assert types == (["hinge", "slide"] if text_of is mjcf_text else ["continuous", "prismatic"])
            elif cell == "the same, reversed":
                assert len(types) == tree.nv
            elif cell.startswith(("no joint", "body without")):
                assert types == []
            else:
                assert len(types) == 1 and types[0] in cell, (kind, types)


def test_writing_robots_page_lists_the_keys_of_saved_robots() -> None:
    named = {
        key for row in re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE) for key in re.findall(r"`([\w$]+)`", row)
    }
    assert set(robot_reader._KEYS) <= named
    assert all(f"`{key}`" in PAGE for key in (*robot_reader._BODY_KEYS, *robot_reader._FRAME_KEYS))


def test_writing_robots_page_names_all_methods_that_write_files() -> None:
    for name in ("save", "to_urdf", "to_mjcf", "to_sdf"):
        assert f"robot.{name}(path)" in PAGE and hasattr(lw.Robot, name)
