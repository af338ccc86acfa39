"""Robots written to SDF: the poses and inertias that the text states are the robot's, and losses are listed."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import linkwork as lw
from formats.saved_robots import drawn
from formats.written_robots import drawn_configuration, frame_poses, ordered_tree, relative_difference
from linkwork import constraints, joints
from linkwork.errors import ModelError
from linkwork.formats import parse_sdf, sdf_text, urdf_text
from linkwork.model import WORLD
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree
from linkwork.model.tree_builder import build_tree
from linkwork.shapes import Box, Geometry, HalfSpace, Sphere
from linkwork.spatial import Pose

ROUNDING = 5e-15
TYPES = (joints.Fixed, joints.Revolute, joints.Prismatic, joints.Spherical, joints.Universal, joints.Helical)
CHAINS = (joints.Cylindrical, joints.Translational, joints.SphericalEuler)
NONE = ElementTree.fromstring("<none/>")


class Model:
    """A model as SDF's page on poses and frames says: each pose is relative to a frame, by default that it is on."""

    def __init__(self, text: str) -> None:
        self.model = next(ElementTree.fromstring(text).iter("model"))
        self.links = {link.get("name"): link for link in self.model.iter("link")}
        self.joints = {joint.get("name"): joint for joint in self.model.iter("joint")}
        self.frames = {frame.get("name"): frame for frame in self.model.iter("frame")}
        named = [*self.links, *self.joints, *self.frames]
        assert len({*named}) == len(named)
        self.at_zero = {"__model__": np.eye(4), "world": np.eye(4)}

    def pose(self, name: str | None) -> np.ndarray:
        """The pose of a link, joint or frame in the model where all coordinates are zero."""
        assert name is not None
        if name not in self.at_zero:
            element = (self.links | self.joints | self.frames)[name]
            frame = "__model__" if name in self.links else element.findtext("child") or element.get("attached_to")
            pose = element.find("pose")
            relative_to = frame if pose is None else pose.get("relative_to", frame)
            self.at_zero[name] = self.pose(relative_to) @ matrix(pose)
        return self.at_zero[name]

    def moved(self, q: dict[str, list[float]]) -> dict[str, np.ndarray]:
        """The poses of links and frames for coordinates of joints: the joints turn what their child links carry."""
        before = {joint.findtext("child"): name for name, joint in self.joints.items()}

        def placed(link: str) -> np.ndarray:
            name = before.get(link)
            if name is None or link == "world":
                return self.pose(link)
            parent = self.joints[name].findtext("parent") or ""
            X = np.eye(4) if parent == "world" else placed(parent) @ np.linalg.inv(self.pose(parent))
            J = self.pose(name)
            return X @ J @ motion(self.joints[name], q.get(name, [])) @ np.linalg.inv(J) @ self.pose(link)

        poses = {name: placed(name) for name in self.links if name is not None}
        for name, frame in self.frames.items():
            link = frame.get("attached_to")
            carried = np.eye(4) if link == "__model__" else poses[link] @ np.linalg.inv(self.pose(link))
            poses[name] = carried @ self.pose(name)
        return poses


def matrix(pose: ElementTree.Element | None) -> np.ndarray:
    X = np.eye(4)
    if pose is not None:
        values = [float(x) for x in (pose.text or "").split()]
        X[:3, 3] = values[:3]
        if pose.get("rotation_format") == "quat_xyzw":
            X[:3, :3] = turned(np.array(values[3:6]), values[6])
        else:
            assert values[3:] == [0.0, 0.0, 0.0]
    return X


def turned(vector: np.ndarray, w: float) -> np.ndarray:
    """The rotation of a quaternion."""
    cross = np.cross(np.eye(3), vector)
    return np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross


def motion(joint: ElementTree.Element, q: list[float]) -> np.ndarray:
    """The motion of a joint's child in the joint's frame."""
    X, kind = np.eye(4), joint.get("type")
    axes = [np.array([float(x) for x in axis.findtext("xyz").split()]) for axis in joint if axis.tag.startswith("axis")]
    if kind == "ball":
        X[:3, :3] = turned(np.array(q[1:]), q[0])
    elif kind == "prismatic":
        X[:3, 3] = axes[0] * q[0]
    elif kind != "fixed":
        for axis, angle in zip(axes, q, strict=True):
            X[:3, :3] = X[:3, :3] @ turned(axis * math.sin(angle / 2.0), math.cos(angle / 2.0))
        if kind == "screw":
            X[:3, 3] = axes[0] * float(joint.findtext("screw_thread_pitch")) * q[0] / (2.0 * math.pi)
    return X


def parts_of(tree: Tree, model: Model, q: list[float]) -> dict[str, list[float]]:
    """The coordinates of each joint of the text: those of the tree's joints, or of their parts in order."""
    result = {}
    for i, body in enumerate(tree.bodies):
        coordinates = q[tree.q_slices[i]]
        names = [body.joint_name, *(f"{body.joint_name}_{k}" for k in range(2, 7))]
        names = [name for name in names if name in model.joints]
        result |= (
            {name: coordinates[k : k + 1] for k, name in enumerate(names)}
            if len(names) > 1
            else {names[0]: coordinates}
        )
    return result


def check(tree: Tree, text: str, seed: int) -> None:
    model, q = Model(text), drawn_configuration(tree, np.random.default_rng(seed))
    poses, expected = model.moved(parts_of(tree, model, q)), frame_poses(tree, q)
    assert {*expected} <= {*poses}
    size = max(float(np.abs(X).max()) for X in expected.values())
    for name, X in expected.items():
        assert np.abs(poses[name] - X).max() <= 2.0 * ROUNDING * size, name
    masses = [float(link.findtext("inertial/mass")) for link in model.links.values()]
    assert sum(masses) == pytest.approx(tree.mass, rel=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_random_robots_written_to_sdf_have_equal_poses(seed: int) -> None:
    tree = ordered_tree(seed, 12, (*TYPES, *CHAINS))
    check(tree, sdf_text(tree)[0], seed)


def test_bundled_robots_written_to_sdf_have_equal_poses() -> None:
    for name in ("arm7_gripper", "humanoid", "fourbar", "differential_drive"):
        tree = lw.load(name).tree
        text, report = sdf_text(tree)
        lost = [issue.message for issue in report.warnings if issue.code == "NOT_WRITTEN"]
        assert len(lost) == (name == "differential_drive"), lost
        if name not in ("fourbar", "differential_drive"):  # with a loop, which is a joint too; without a joint
            check(tree, text, 0)


@pytest.mark.slow(every=5)
def test_bundled_robots_written_to_sdf_are_read_as_equal_robots() -> None:
    rng = np.random.default_rng(0)
    for name in lw.robots.names():
        for floating in (False, True):
            try:
                tree = lw.load(name, floating_base=floating).tree
                text, report = sdf_text(tree, world="room")
            except ModelError:  # its base is the world, or a link moves freely beside a floating base
                continue
            again = build_tree(parse_sdf(text))
            assert again.gravity == tree.gravity
            carries = "readers take it for a joint of the tree" in str(report)
            assert carries == (name in ("delta", "double_wishbone"))
            if not carries:
                assert relative_difference(tree, again, rng) <= ROUNDING, name
    for seed in range(3):
        tree = ordered_tree(seed, 12, (*TYPES, *CHAINS))
        again = build_tree(parse_sdf(sdf_text(tree, world="room")[0]), mimic="coupled")
        assert relative_difference(tree, again, rng) <= ROUNDING
        for body in tree.bodies:
            if body.joint.nv == 1 and not isinstance(body.joint, joints.Helical):
                body_again = again.bodies[again.joint_index(body.joint_name)]
                assert (body_again.limits, body_again.damping, body_again.friction) == (
                    body.limits,
                    body.damping,
                    body.friction,
                )
                assert body_again.drive.stiffness == body.drive.stiffness and body_again.drive.rest == body.drive.rest


def test_planes_and_friction_written_to_sdf_are_read_as_equal_shapes() -> None:
    tree = lw.load("double_pendulum").tree
    shapes = tuple(replace(shape.at((0, 0, -1)), friction=0.25) for shape in (HalfSpace(), Sphere(0.1)))
    text, report = sdf_text(replace(tree, frames=(*tree.frames[:-1], replace(tree.frames[-1], collisions=shapes))))
    assert "NOT_WRITTEN" not in str(report)
    read = build_tree(parse_sdf(text)).frame(tree.frames[-1].name).collisions
    assert [(x.shape, x.origin, x.friction) for x in read] == [(x.shape, x.origin, 0.25) for x in shapes]


def test_content_that_sdf_cannot_represent_is_listed_and_refused_if_strict(tmp_path: Path) -> None:
    robot = lw.load("arm6").with_gravity((0, 0, -1.6)).with_point("p", "tool", (0, 0, 1))
    tree = robot.tree
    drive = replace(tree.bodies[0].drive, armature=(1.0,), gear_ratio=(50.0,))
    bodies = (replace(tree.bodies[0], drive=drive), *tree.bodies[1:])
    frames = (*tree.frames[:-1], replace(tree.frames[-1], visuals=drawn(np.random.default_rng(0))))
    robot = lw.Robot(replace(tree, bodies=bodies, frames=frames)).with_constraints(
        constraints.LoopJoint("open", joints.Revolute((0, 0, 1)), "tool", "base")
    )
    report = robot.to_sdf(tmp_path / "arm.sdf", meshes=tmp_path)
    lost = sorted({issue.message.partition(" (at")[0] for issue in report.warnings if issue.code == "NOT_WRITTEN"})
    assert lost == sorted(
        [
            *(f"SDF has no shape '{kind}'" for kind in ("DistanceField", "HeightField", "PointCloud")),
            "SDF has no points: 'p'",
            "SDF has no shape 'Rounded'",
            "SDF has no armature, gear ratio of joints",
            "a model has no gravity, here 0 0 -1.6 m/s²",
            "the loop is not written: it is open where q is zero, and SDF needs it closed there",
            "the texture 'red.png' is not written",
        ]
    )
    assert (tmp_path / "tool.obj").exists()
    text = (tmp_path / "arm.sdf").read_text()
    with pytest.raises(ModelError, match="NOT_WRITTEN"):
        robot.to_sdf(tmp_path / "arm.sdf", strict=True)
    assert (tmp_path / "arm.sdf").read_text() == text
    robot.to_sdf(tmp_path / "arm.world", world="room & hall")
    assert '<world name="room &amp; hall">\n    <gravity>0 0 -1.6</gravity>' in (tmp_path / "arm.world").read_text()
    with pytest.raises(ValueError, match=r"to_sdf: path: expected a file named \.sdf or \.world"):
        robot.to_sdf(tmp_path / "arm.urdf")


def test_friction_is_written_to_sdf_for_collision_shapes_only() -> None:
    """A collision keeps its coefficient, also zero; a visual has no surface in SDF."""
    box = Geometry(Box((1.0, 2.0, 3.0)), Pose.identity())
    shapes = tuple(replace(box, name=f"box{mu}", friction=mu) for mu in (None, 0.0, 0.1, 1.0 / 3.0))
    tree = lw.load("double_pendulum").tree
    frames = tuple(
        replace(frame, visuals=shapes[2:], collisions=shapes) if frame.name == "tip" else frame for frame in tree.frames
    )
    text, report = sdf_text(replace(tree, frames=frames))
    (lost,) = (issue for issue in report.warnings if issue.code == "NOT_WRITTEN")
    assert "the friction of a visual shape is not written" in lost.message
    back = build_tree(parse_sdf(text, strict=True)).frame("tip")
    assert [frame.friction for frame in back.collisions] == [None, 0.0, 0.1, 1.0 / 3.0]
    assert [frame.friction for frame in back.visuals] == [None, None]


def test_names_written_to_sdf_are_unique() -> None:
    tree = lw.load("double_pendulum").tree
    hinge = replace(tree.bodies[0], joint_name="upper_rod")
    renamed = replace(
        tree, bodies=(hinge, *tree.bodies[1:]), frames=(*tree.frames[:-1], replace(tree.frames[-1], name="a::b"))
    )
    text, report = sdf_text(renamed)
    model = Model(text)
    assert "upper_rod_2" in model.joints and "a_b" in model.links
    (lost,) = (issue.message for issue in report.warnings if issue.code == "NOT_WRITTEN")
    assert "written as 'a_b', 'upper_rod_2' (at 2 places: 'link[a::b]', 'joint[upper_rod]')" in lost


def test_joint_types_that_sdf_cannot_represent_are_errors_when_written() -> None:
    for kind in (joints.Planar, joints.Ellipsoid):
        with pytest.raises(ModelError, match=r"NOT_WRITTEN.*\n.*robot.save"):
            sdf_text(random_tree(np.random.default_rng(0), 2, types=(kind,)))


def test_loops_read_from_sdf_are_written_with_the_frames_that_readers_add() -> None:
    tree = lw.load(Path(__file__).parent / "sdf" / "four_bar.sdf").tree
    again = build_tree(parse_sdf(sdf_text(tree, world="room")[0]))
    assert {frame.name for frame in again.frames} == {frame.name for frame in tree.frames}
    assert [loop.name for loop in again.constraints] == [loop.name for loop in tree.constraints] == ["d"]


AXIS = (0.6, 0.0, 0.8)


@pytest.mark.costly
@pytest.mark.parametrize(
    "kind",
    [
        joints.Revolute(AXIS),
        joints.Prismatic(AXIS),
        joints.Helical(AXIS, 0.1),
        joints.Fixed(),
        joints.Spherical(scalar_last=True),
        joints.SphericalMRP(),
        joints.Universal(AXIS, (0.8, 0.0, -0.6)),
        joints.Universal(AXIS, (0.0, 0.6, 0.8), right_angle=False),
    ],
    ids=lambda kind: kind.type_name(),
)
@pytest.mark.parametrize("to_world", [True, False])
def test_loops_between_a_link_and_the_world_are_read_with_equal_constraints(
    kind: joints.JointType, to_world: bool
) -> None:
    """Errors and directions of forces are equal, and the joint has the same limits and the opposite direction."""
    parts: list[lw.Link | lw.Joint] = []
    for k in range(6):
        parts.append(lw.Link(f"l{k}", mass=1.0, inertia=(0.1, 0.2, 0.25)))
        turning = joints.Revolute(np.roll((0.0, 0.6, 0.8), k))
        position = lw.pose((0.1 * k, 0.2, 0.3))
        parts.append(
            lw.Joint.of(turning, name=f"j{k}", parent=f"l{k - 1}" if k else "world", child=f"l{k}", placement=position)
        )
    arm = lw.Robot.build("arm", *parts).with_frame("F", "l5", lw.pose((0.1, 0.2, 0.3), axis=(0, 0.6, 0.8), angle=0.7))
    arm = arm.with_frame("M", "world", arm.pose(arm.neutral(), "F"))
    ends = ("M", "F") if to_world else ("F", "M")
    limits = {"lower": (-1.0, -0.3), "upper": (0.5, 0.7), "damping": (1.0, 2.0)}
    limits = {name: values[: kind.nq] for name, values in limits.items()} if kind.nq in (1, 2) else {}
    robot = arm.with_constraints(constraints.LoopJoint("closing", kind, *ends, **limits))
    text, report = sdf_text(robot.tree)
    lost = [issue.message for issue in report.warnings if issue.code == "NOT_WRITTEN"]
    assert lost == ["a frame on the world is not written: no link is there"]
    assert ("ends exchanged" in str(report)) is to_world
    read = lw.Robot(build_tree(parse_sdf(text)))
    (loop,) = read.constraints
    assert isinstance(loop, constraints.LoopJoint) and read.tree.frame(loop.relative_to).body == WORLD
    order = -1 if kind.nq == 2 and to_world else 1  # the coordinates of a universal joint change places
    for name, values in limits.items():
        assert getattr(loop, name) == values[::order], name
    if isinstance(kind, joints.Universal):  # the joint of the file undoes that of the robot
        q = (0.3, -0.4)
        X, read_X = (np.array(joint.X(x).matrix()) for joint, x in ((kind, q), (loop.joint, q[::order])))
        np.testing.assert_allclose(X @ read_X if to_world else np.linalg.inv(X) @ read_X, np.eye(4), atol=1e-14)
    if kind.nq == 1:
        opposite = kind.reversed() if to_world else kind
        assert np.allclose(np.array([*loop.joint.axis]), np.array([*opposite.axis]), atol=1e-15)
    assert read.v_names == robot.v_names
    closed = robot.neutral()
    G = [np.asarray(x.constraint_jacobian(closed)) for x in (robot, read)]
    projectors = [np.linalg.pinv(x, rcond=1e-9) @ x for x in G]
    np.testing.assert_allclose(*projectors, atol=1e-12)
    assert len(G[0]) == len(G[1]) == 6 - kind.nv and np.trace(projectors[0]) > 5.9 - kind.nv


def test_joint_bounds_that_sdf_treats_as_infinite_are_reported_when_written() -> None:
    tree = lw.load("double_pendulum").tree
    limits = replace(tree.bodies[0].limits, lower=(-1e16,), upper=(2.0,))
    text, report = sdf_text(replace(tree, bodies=(replace(tree.bodies[0], limits=limits), *tree.bodies[1:])))
    assert "a bound of 1e+16 or more is none in SDF" in str(report)
    assert build_tree(parse_sdf(text)).bodies[0].limits.lower == (-math.inf,)


def test_floating_link_has_no_joint_in_written_sdf_and_its_damping_is_reported_as_lost() -> None:
    for kind in (joints.Floating, joints.FloatingMRP, joints.FloatingEuler):
        text, report = sdf_text(random_tree(np.random.default_rng(0), 1, types=(kind,)))
        assert "joint0" not in text and isinstance(build_tree(parse_sdf(text)).bodies[0].joint, joints.Floating)
        assert "damping, friction and drive of a link that moves freely are not written" in str(report)
        assert "with other coordinates: its pose in that at zero" in str(report)


def test_joint_with_other_coordinates_of_a_rotation_is_named_where_sdf_has_a_quaternion() -> None:
    for kind, name in ((joints.SphericalMRP(), "spherical (MRP)"), (joints.Spherical(scalar_last=True), "spherical")):
        ball = lw.Joint.of(kind, name="ball", parent="world", child="part")
        tree = lw.Robot.build("swing", ball, lw.Link("part", mass=1.0, inertia=(0.1, 0.2, 0.25))).tree
        _, report = sdf_text(tree)
        (finding,) = (issue for issue in report.warnings if "quaternion" in issue.message)
        assert (finding.code, finding.where.element) == ("WRITTEN_AS", "robot[swing]/joint[ball]")
        assert finding.message == f"a {name} joint is written with a quaternion, its scalar first, as its coordinates"


def test_loops_with_a_floating_tree_joint_are_reported_when_written_to_sdf() -> None:
    """Readers put such a joint in the tree, instead of the six coordinates of the link."""
    tree = lw.load("double_wishbone").tree
    text, report = sdf_text(tree)
    again = build_tree(parse_sdf(text))
    (finding,) = (issue for issue in report.warnings if "readers take it for a joint of the tree" in issue.message)
    assert "joint[lower_ball]" in str(finding)
    assert again.bodies[again.joint_index("lower_ball")].joint == joints.Spherical()
    assert [loop.name for loop in again.constraints] == ["upper_ball"]
    zero = [[x for _, body in robot.stacked() for x in body.joint.zero()] for robot in (tree, again)]
    before, after = frame_poses(tree, zero[0]), frame_poses(again, zero[1])
    for name, pose in before.items():
        np.testing.assert_allclose(after[name], pose, atol=1e-15)


def test_values_of_ball_joints_lost_in_written_sdf_are_reported_and_ball_joints_without_values_are_not() -> None:
    ball = lw.Joint.of(joints.Spherical(), name="ball", parent="world", child="part")
    tree = lw.Robot.build("r", lw.Link("part", mass=1.0, inertia=(0.1, 0.2, 0.25)), ball).tree
    assert not sdf_text(tree)[1].warnings
    (body,), values = tree.bodies, (0.0, 0.0, 0.7)
    limits = (replace(body.limits, velocity=values), replace(body.limits, effort=values))
    drives = ({"damping": values}, {"friction": values}, {"drive": replace(body.drive, stiffness=values)})
    for changes in (*drives, *({"limits": x} for x in limits)):
        text, report = sdf_text(replace(tree, bodies=(replace(body, **changes),)))
        (issue,) = report.warnings
        assert issue.code == "NOT_WRITTEN" and "springs of a ball joint are lost" in issue.message
        assert "<axis" not in text


def test_springs_of_a_floating_base_lost_in_written_sdf_are_reported() -> None:
    tree = lw.load("double_pendulum", floating_base=True).tree
    sprung = replace(tree.bodies[0], drive=replace(tree.bodies[0].drive, stiffness=(1.0,) * 6))
    tree = replace(tree, bodies=(sprung, *tree.bodies[1:]))
    for write, words in ((sdf_text, "damping, friction and drive of a link"), (urdf_text, "drive of a floating joint")):
        assert words in str(write(tree)[1])
