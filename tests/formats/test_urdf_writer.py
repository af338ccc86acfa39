"""Robots written to URDF: what is read back is the same robot, and what URDF cannot represent is listed."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from formats.saved_robots import drawn, everything
from formats.test_real_robots import ROBOTS
from formats.written_robots import drawn_configuration, ordered_tree, relative_difference
from linkwork import constraints, joints, shapes
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.errors import ModelError, ModelWarning
from linkwork.formats import loops_text, parse_loops, parse_urdf, urdf_text
from linkwork.formats.written_content import inertial_values, rpy_of
from linkwork.model.attached_constraints import attached
from linkwork.model.body import Following, Limits
from linkwork.model.random_tree import random_inertia, random_pose, random_tree
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_builder import build_tree
from linkwork.spatial import Inertia, Rotation

ROUNDING = 5e-15
SIMPLE = (joints.Fixed, joints.Revolute, joints.Prismatic, joints.Planar, joints.Floating)
CHAINS = (joints.Universal, joints.Cylindrical, joints.Translational, joints.SphericalEuler, joints.Helical)


def back(text: str, **options: object) -> Tree:
    return build_tree(parse_urdf(text), **options)  # type: ignore[arg-type]


def codes(report: Report) -> set[str]:
    return {issue.code for issue in report.warnings}


@pytest.mark.slow(every=5)
def test_bundled_robots_written_to_urdf_are_read_as_equal_robots() -> None:
    rng = np.random.default_rng(0)
    for name in lw.robots.names():
        for floating in (False, True):
            try:
                tree = lw.load(name, floating_base=floating).tree
            except ModelError:  # its base is the world
                continue
            text, report = urdf_text(tree)
            again = back(text, floating_base=floating)
            assert not again.report.repairs, name
            assert relative_difference(tree, again, rng) <= ROUNDING, name
            assert len(again.constraints) == len([c for c in tree.constraints if isinstance(c, constraints.LoopJoint)])
            text, report = urdf_text(tree, with_loops_file=True)
            whole = attached(back(text, floating_base=floating), parse_loops(loops_text(tree)))
            assert "NOT_WRITTEN" not in codes(report) and whole.constraints == tree.constraints, name
            assert relative_difference(tree, whole, rng) <= ROUNDING, name
            if not floating and name not in ("delta", "leg"):  # whose angles in the file are not the principal ones
                assert whole == tree, name


@pytest.mark.parametrize("seed", range(4))
def test_random_robots_written_to_urdf_are_read_as_equal_robots(seed: int) -> None:
    tree = ordered_tree(seed, 15, (*SIMPLE, *CHAINS))
    text, report = urdf_text(tree)
    again = back(text, mimic="coupled", gravity=tree.gravity)
    assert relative_difference(tree, again, np.random.default_rng(seed)) <= ROUNDING
    coordinates = {
        i for i, body in enumerate(tree.bodies) if body.joint.nv == 1 and not isinstance(body.joint, joints.Fixed)
    }
    for i in coordinates:
        body, body_again = tree.bodies[i], again.bodies[again.joint_index(tree.bodies[i].joint_name)]
        assert (body_again.damping, body_again.friction) == (body.damping, body.friction)
        assert body_again.drive.stiffness == body.drive.stiffness and body_again.drive.armature == body.drive.armature
        assert body_again.drive.rest == body.drive.rest and body_again.drive.gear_ratio == body.drive.gear_ratio
    lost = {issue.message.partition(" (at")[0] for issue in report.warnings if issue.code == "NOT_WRITTEN"}
    assert lost == {
        "URDF has no directions: 'arrow'",
        "URDF has no points: 'marker0', 'marker1'",
        "damping, friction and drive of a floating joint are not written",
        "damping, friction and drive of a planar joint are not written",
        "the static friction is not written",
        "the velocity scale of the law of friction is not written",
    }


def example_texts() -> dict[str, str]:
    return {name: path.read_text(encoding="utf-8") for name, path in ROBOTS.items() if not name.startswith("linkwork/")}


def check_example(name: str, text: str) -> None:
    try:
        tree = build_tree(parse_urdf(text, inertia="nearest"), mimic="free")
    except ModelError:
        return  # it says what no robot can be
    written, report = urdf_text(tree)
    again = back(written)
    assert codes(report) <= {"WRITTEN_AS", "NOT_WRITTEN"}
    lost = [issue.message for issue in report.warnings if issue.code == "NOT_WRITTEN"]
    assert all("material" in message for message in lost), lost  # which the file names and does not define
    assert relative_difference(tree, again, np.random.default_rng(0)) <= ROUNDING, name
    for body in tree.bodies:
        body_again = again.bodies[again.joint_index(body.joint_name)]
        assert (body_again.limits, body_again.mimic, body_again.joint) == (body.limits, body.mimic, body.joint), name
        assert (body_again.damping, body_again.friction, body_again.drive) == (
            body.damping,
            body.friction,
            body.drive,
        ), name


def test_sample_of_published_robots_written_to_urdf_is_read_as_equal_robots() -> None:
    texts = example_texts()
    for name in [*texts][::12]:
        check_example(name, texts[name])


@pytest.mark.slow
def test_all_published_robots_written_to_urdf_are_read_as_equal_robots() -> None:
    for name, text in example_texts().items():
        check_example(name, text)


def test_pinocchio_and_mujoco_compute_equal_mass_matrices_from_written_urdf() -> None:
    pin = pytest.importorskip("pinocchio", reason="reads URDF independently")
    mujoco = pytest.importorskip("mujoco", reason="reads URDF independently")
    rng = np.random.default_rng(0)
    trees = [lw.load(name).tree for name in ("arm7_gripper", "humanoid", "quadruped")]
    for tree in (*trees, ordered_tree(1, 10, (joints.Revolute, joints.Prismatic, *CHAINS[:-1]))):
        text, _ = urdf_text(tree)
        robot_again = back(text)
        q = drawn_configuration(robot_again, rng)
        M = np.array(mass_matrix(robot_again, q), dtype=float)
        names = [body.joint_name for _, body in robot_again.stacked()]
        model = pin.buildModelFromXML(text)
        q_peer, rows = np.zeros(model.nq), []
        for name, x in zip(names, q, strict=True):
            joint_model = model.joints[model.getJointId(name)]
            q_peer[joint_model.idx_q : joint_model.idx_q + joint_model.nq] = (
                x if joint_model.nq == 1 else (math.cos(x), math.sin(x))
            )
            rows.append(joint_model.idx_v)
        upper = np.triu(pin.crba(model, model.createData(), q_peer))
        N = (upper + np.triu(upper, 1).T)[np.ix_(rows, rows)]
        assert np.abs(M - N).max() <= ROUNDING * np.abs(M).max()
        if tree not in trees:
            continue  # MuJoCo moves no links without mass
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        for name, x in zip(names, q, strict=True):
            data.joint(name).qpos[0] = x
        mujoco.mj_forward(model, data)
        N = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, N)
        rows = [model.joint(name).dofadr[0] for name in names]
        assert np.abs(M - N[np.ix_(rows, rows)]).max() <= ROUNDING * np.abs(M).max()


def test_rotations_written_to_urdf_are_exact_also_at_gimbal_lock() -> None:
    rng = np.random.default_rng(1)
    right = 0.5 * math.pi
    near = [right + sign * 10.0**-k for k in range(1, 17) for sign in (1, -1)]
    rotations = [random_pose(rng).rotation for _ in range(300)]
    for pitch in (right, *near):
        for sign in (1.0, -1.0):
            for roll, yaw in (*rng.uniform(-4.0, 4.0, (5, 2)).tolist(), (0.0, 0.0), (right, 1.0), (0.3, math.pi)):
                rotations.append(Rotation.from_rpy(roll, sign * pitch, yaw))
    for rotation in rotations:
        again = Rotation.from_rpy(*rpy_of(rotation))
        assert np.abs(np.array(again.rows()) - np.array(rotation.rows())).max() <= 1e-15
    assert rpy_of(Rotation.from_rpy(0.1, -0.2, 3.0)) == (0.1, -0.2, 3.0)  # with the digits of the file


def test_inertias_written_to_urdf_have_all_their_digits() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        mass, center, about = inertial_values(inertia := random_inertia(rng))
        again = Inertia.at_center(mass, center, about)
        np.testing.assert_allclose(again.about.elements(), inertia.about.elements(), rtol=1e-15, atol=1e-15 * mass)
        np.testing.assert_allclose([*again.moment], [*inertia.moment], rtol=4e-16)
    tree = lw.load("arm6").tree
    assert '<inertia ixx="0.0' in urdf_text(tree)[0] and "0000000000" not in urdf_text(tree)[0]


def test_content_that_urdf_cannot_represent_is_listed_and_refused_if_strict(tmp_path: Path) -> None:
    robot = lw.load("arm6").with_gravity((0, 0, -1.6)).with_point("p", "tool", (0, 0, 1))
    first = robot.joints[0].name
    tree = robot.tree
    limits = replace(tree.bodies[0].limits, lower=(-1.0,), enabled=False)
    bodies = (replace(tree.bodies[0], limits=limits, dynamics="none", damping=(1.0,)), *tree.bodies[1:])
    frames = (*tree.frames[:-1], replace(tree.frames[-1], collisions=drawn(np.random.default_rng(0))))
    robot = lw.Robot(replace(tree, bodies=bodies, frames=frames))
    robot = robot.with_actuators(lw.Actuator.motor("m", first)).with_named_configuration("home", robot.neutral())
    lost_shape = r"to_urdf: robot\[arm6\]/link\[tool\]/collision: URDF has no shape 'Cone' \[NOT_WRITTEN\] \(and 7 more"
    with pytest.warns(ModelWarning, match=lost_shape):
        report = robot.to_urdf(tmp_path / "arm.urdf")
    lost = sorted({issue.message.partition(" (at")[0] for issue in report.warnings if issue.code == "NOT_WRITTEN"})
    kinds = ("Cone", "DistanceField", "Ellipsoid", "HalfSpace", "HeightField", "PointCloud", "Polytope", "Rounded")
    assert lost == sorted(
        [
            "URDF has no actuators: 'm'",
            "URDF has no gravity, here 0 0 -1.6 m/s²",
            "URDF has no named configurations: 'home'",
            "URDF has no points: 'p'",
            *(f"URDF has no shape '{kind}'" for kind in kinds),
            "bounds without effect are not written",
            "damping and friction without effect are not written",
            "the material 'red' of collisions is not written",
        ]
    )
    assert all(issue.where.element.startswith("robot[arm6]/") for issue in report.warnings if issue.where.element)
    before = (tmp_path / "arm.urdf").read_bytes()
    with pytest.raises(ModelError, match="NOT_WRITTEN") as caught:
        robot.to_urdf(tmp_path / "arm.urdf", strict=True)
    assert {issue.code for issue in caught.value.issues} == {"NOT_WRITTEN"}
    assert (tmp_path / "arm.urdf").read_bytes() == before and os.listdir(tmp_path) == ["arm.urdf"]


def test_joint_types_that_urdf_cannot_represent_are_errors_when_written(tmp_path: Path) -> None:
    for kind in (joints.Spherical, joints.SphericalMRP, joints.FloatingEuler, joints.Ellipsoid):
        tree = random_tree(np.random.default_rng(0), 2, types=(kind,))
        with pytest.raises(ModelError, match=r"NOT_WRITTEN.*\n.*robot.save") as caught:
            urdf_text(tree)
        assert caught.value.issues[0].where.element == "robot[random_random_2]/joint[joint0]"


def test_couplings_and_mimic_joints_are_equal_after_writing_and_reading_urdf() -> None:
    gripper = lw.load("arm7_gripper", mimic="coupled").tree
    text, report = urdf_text(gripper)
    assert back(text, mimic="coupled").bodies == gripper.bodies
    assert [issue.hint for issue in report.warnings] == ['load the file with mimic="coupled"']
    free = lw.load("arm7_gripper").tree
    text, report = urdf_text(free)
    assert back(text).bodies == free.bodies and not report.warnings
    tree = ordered_tree(3, 6, (joints.Revolute, joints.Helical))
    masters = [body for body in tree.bodies if isinstance(body.joint, joints.Helical)]
    bodies = [
        replace(body, coupling=Following(masters[0].joint_name, 2.0, 0.1)) if body is masters[1] else body
        for body in tree.bodies
    ]
    tree = replace(tree, bodies=tuple(bodies))
    again = back(urdf_text(tree)[0], mimic="coupled", gravity=tree.gravity)
    assert relative_difference(tree, again, np.random.default_rng(0)) <= ROUNDING


def test_infinite_limits_are_written_to_urdf_without_bounds() -> None:
    inf = math.inf
    one_sided = Limits((-1.0,), (inf,), (inf,), (2.0,))
    tree = lw.load("double_pendulum").tree
    tree = replace(tree, bodies=(replace(tree.bodies[0], limits=one_sided), *tree.bodies[1:]))
    again = back(urdf_text(tree)[0])
    assert again == tree and not again.report.repairs


def test_sine_and_cosine_joints_are_written_to_urdf_as_continuous() -> None:
    tree = ordered_tree(0, 6, (joints.UnboundedRevolute, joints.Revolute))
    text, report = urdf_text(tree)
    assert 'load the file with continuous="sincos"' in {issue.hint for issue in report.warnings}
    again = build_tree(parse_urdf(text, continuous="sincos"), gravity=tree.gravity)
    assert relative_difference(tree, again, np.random.default_rng(0)) <= ROUNDING


def test_names_written_to_urdf_are_escaped() -> None:
    tree = lw.load("double_pendulum").tree
    name = 'a "quoted" <name> & \n\ttwo'
    renamed = replace(tree, name=name, frames=(*tree.frames[:-1], replace(tree.frames[-1], name=name)))
    assert back(urdf_text(renamed)[0]) == renamed
    with pytest.raises(ValueError, match="which XML cannot represent"):
        urdf_text(replace(tree, name="a\x01"))


def test_loops_and_actuators_are_written_to_a_file_beside_the_urdf(tmp_path: Path) -> None:
    robot = lw.load("fourbar").with_collisions("crank", shapes.Polytope(np.random.default_rng(0).normal(size=(9, 3))))
    report = robot.to_urdf(tmp_path / "a.urdf", loops=tmp_path / "b.json", meshes=tmp_path / "meshes")
    again = lw.load(tmp_path / "a.urdf", loops=tmp_path / "b.json")
    assert again.constraints == robot.constraints and not report.warnings
    (mesh,) = [geometry.shape for geometry in again.tree.frame("crank").collisions]
    assert mesh == shapes.Mesh("meshes/crank.obj")
    hull = shapes.load_mesh(mesh, [tmp_path]).convex_hull()
    assert {*hull.vertices} == {*robot.tree.frame("crank").collisions[0].shape.vertices}
    with pytest.raises(ValueError, match=r"to_urdf: loops: expected a file named \.json"):
        robot.to_urdf(tmp_path / "a.urdf", loops=tmp_path / "b.yaml")


def test_relative_mesh_names_written_to_urdf_are_reported(tmp_path: Path) -> None:
    drawn_arm = (
        "<robot name='r'><link name='a'><visual><geometry><mesh filename='{}'/></geometry></visual></link></robot>"
    )
    for name, count in (("a.stl", 1), ("package://x/a.stl", 0), ("/a.stl", 0)):
        (tmp_path / "own.urdf").write_text(drawn_arm.format(name))
        robot = lw.load(tmp_path / "own.urdf")
        (tmp_path / "other").mkdir(exist_ok=True)
        assert len(robot.to_urdf(tmp_path / "other" / "b.urdf").warnings) == count
        assert len(robot.to_urdf(tmp_path / "b.urdf").warnings) == 0


def test_all_content_lost_in_a_written_urdf_is_listed() -> None:
    robot = everything()
    with pytest.raises(ModelError, match="NOT_WRITTEN") as caught:
        urdf_text(robot.tree)
    assert all(issue.code == "NOT_WRITTEN" for issue in caught.value.issues)


def test_loops_that_urdf_cannot_represent_are_listed_when_written() -> None:
    robot = lw.load("fourbar").with_constraints(
        constraints.LoopJoint("slider", joints.Cylindrical((0, 0, 1)), "coupler", "ground")
    )
    report = urdf_text(robot.tree)[1]
    assert [i.message for i in report.warnings if i.code == "NOT_WRITTEN"] == ["URDF has no constraints: 'slider'"]


def test_written_urdf_declares_the_version_that_its_capsules_and_limits_need() -> None:
    """Urdfdom drops all capsules of a file of version 1.0."""
    tree = lw.load("double_pendulum").with_collisions("tip", shapes.Capsule(0.1, 0.2)).tree
    text, _ = urdf_text(tree)
    assert '<robot name="double_pendulum" version="1.1">' in text
    limits = replace(tree.bodies[0].limits, acceleration=(3.0,))
    text, _ = urdf_text(replace(tree, bodies=(replace(tree.bodies[0], limits=limits), *tree.bodies[1:])))
    assert 'version="1.2"' in text
    assert "version" not in urdf_text(lw.load("double_pendulum").tree)[0][60:]
    assert back(text).frame("tip").collisions == tree.frame("tip").collisions
