"""Writers warn of lost content that decides collisions, and of no other loss."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

import linkwork as lw
from linkwork.errors import ModelWarning
from linkwork.shapes import Box, Cone, Geometry, HalfSpace, Material, Mesh, Polytope, Rounded
from linkwork.spatial import Pose

TETRAHEDRON = Polytope([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)])


def arm() -> lw.Robot:
    """A link on the world and two moving ones, with gravity that URDF and SDF models do not have."""
    hinge = lw.joints.Revolute((0.48, 0.6, 0.64))
    return lw.Robot.build(
        "arm",
        lw.Link("table", Box((0.3, 0.4, 0.5)), mass=2.0),
        lw.Link("low", Box((0.1, 0.2, 0.3)), mass=1.0),
        lw.Link("high", Box((0.1, 0.2, 0.3)), mass=1.0),
        lw.Joint.of(hinge, name="a", parent="table", child="low", placement=(0.1, 0.2, 1.0)),
        lw.Joint.of(hinge, name="b", parent="low", child="high", placement=(0.1, 0.2, 1.0)),
    ).with_gravity((0.0, 0.0, -1.6))


def warned(robot: lw.Robot, writer: str, path: object) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = getattr(robot, writer)(path)
    assert all(issubclass(warning.category, ModelWarning) for warning in caught) and len(caught) < 2
    assert all(warning.filename == __file__ for warning in caught)
    shown = [str(warning.message) for warning in caught]
    assert all(any(str(issue) in text for issue in report.warnings) for text in shown)
    return shown


WRITERS = {"to_urdf": "arm.urdf", "to_sdf": "arm.sdf", "to_mjcf": "arm.xml"}
LOST = {
    "cone": (Cone(0.1, 0.2), "to_urdf to_mjcf"),
    "half-space": (HalfSpace(), "to_urdf to_mjcf"),
    "hull": (TETRAHEDRON, "to_urdf to_sdf"),
    "mesh": (Mesh("a.stl"), "to_mjcf"),
    "rounded": (Rounded(Box((0.1, 0.2, 0.3)), 0.01), "to_urdf to_sdf to_mjcf"),
    "box": (Box((0.1, 0.2, 0.3)), ""),
    "rubber": (Geometry(Box((0.1, 0.2, 0.3)), Pose.identity(), friction=0.3), "to_urdf"),
    "red": (Geometry(Box((0.1, 0.2, 0.3)), Pose.identity(), material=Material("red", (1.0, 0.0, 0.0, 1.0))), ""),
}


@pytest.mark.light
@pytest.mark.parametrize("name", LOST)
@pytest.mark.parametrize("writer", WRITERS)
def test_writers_warn_of_lost_collision_shapes_and_not_of_visual_ones(name, writer, tmp_path):
    shape, losers = LOST[name]
    path = tmp_path / WRITERS[writer]
    robot = arm().with_collisions("high", shape)
    shown = warned(robot, writer, path)
    assert len(shown) == (writer in losers.split()), shown
    for text in shown:
        assert text.startswith(f"{writer}: robot[arm]/link[high]/collision: ") and "[NOT_WRITTEN]" in text
    tree, frame = robot.tree, robot.tree.frame("high")
    visible = replace(frame, visuals=frame.collisions, collisions=())
    looks = lw.Robot(replace(tree, frames=tuple(visible if x is frame else x for x in tree.frames)))
    assert warned(looks, writer, path) == []


def test_a_shape_that_is_lost_as_visual_and_as_collision_is_reported_as_a_collision(tmp_path):
    robot = arm().with_collisions("high", Cone(0.1, 0.2))
    tree = robot.tree
    frames = [replace(x, visuals=tree.frame("high").collisions) if x.name == "low" else x for x in tree.frames]
    (text,) = warned(lw.Robot(replace(tree, frames=tuple(frames))), "to_urdf", tmp_path / "arm.urdf")
    assert "link[high]/collision: URDF has no shape 'Cone' (at 2 places: " in text and "link[low]/visual" in text


def test_writers_warn_of_lost_pairs_of_links(tmp_path):
    robot = arm().with_collision_pairs([("table", "low"), ("low", "high")])
    for writer, expected in {
        "to_urdf": "robot[arm]/collisions: URDF has no disabled or enabled pairs of links: 3 pairs",
        "to_sdf": "robot[arm]/collisions: SDF has no disabled or enabled pairs of links: 3 pairs",
        "to_mjcf": "robot[arm]/contact: MuJoCo does not check links 'low' and 'high', which a joint connects",
    }.items():
        (text,) = warned(robot, writer, tmp_path / WRITERS[writer])
        assert text.startswith(f"{writer}: {expected}"), text
    (text,) = warned(robot, "to_urdf", tmp_path / "arm.urdf")
    assert "robot.to_srdf(path) writes them" in text
