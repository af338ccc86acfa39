"""Centre of mass, its velocity, acceleration and Jacobian, against the textbook's sums over masses, in every view."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.model.body import WORLD
from linkwork.spatial import Inertia
from oracles.comparison import assert_close
from oracles.example_robots import shipped
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import TREES, every_tree, robot_of, state

FUNCTIONS = ("center_of_mass", "center_of_mass_velocity", "center_of_mass_acceleration", "center_of_mass_jacobian")


def check(f, book, q, v, a, **view):
    names = {"subtree": "subtree", "relative_to": "A", "expressed_in": "E"}
    position, velocity, acceleration = book.center_of_mass(**{names[key]: value for key, value in view.items()})
    assert_close(f.center_of_mass(q, **view), position, 1e-13, f"{view}", core=1)
    assert_close(f.center_of_mass_velocity(q, v, **view), velocity, 1e-12, f"{view}", core=1)
    assert_close(f.center_of_mass_acceleration(q, v, a, **view), acceleration, 1e-12, f"{view}", core=1)
    J = f.center_of_mass_jacobian(q, **view)
    assert_close(np.einsum("nij,nj->ni", J, v), velocity, 1e-12, f"{view}", core=1)


@every_tree
def test_centres_of_mass_of_robots_equal_the_textbooks(tree):
    q, v, a = state(tree)
    check(Direct(tree), Textbook(tree, q, v, a), q, v, a)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["mixed_0", "coupled_0", "mixed_chain", "rerooted_coupled"])
def test_centres_of_mass_of_subtrees_equal_the_textbooks_in_every_frame_and_axes(name):
    """Every part with every observer, in all axes in turn."""
    tree = TREES[name]
    q, v, a = state(tree, size=2)
    book, f = Textbook(tree, q, v, a), Direct(tree)
    moving = [frame.name for frame in tree.frames if frame.body != WORLD]
    frames = [None, *moving[:: max(1, len(moving) // 3)]]
    views = itertools.product(frames, ["world", *frames[1:]])
    for k, (subtree, A) in enumerate(views):
        E = ["world", *frames[1:]][k % len(frames)]
        check(f, book, q, v, a, subtree=subtree, relative_to=A, expressed_in=E)


def gripper():
    """A palm with a camera welded to it and one finger on a slide."""
    pose, inertia = lw.pose((0.02, -0.01, 0.05), rpy=(0.1, -0.2, 0.3)), (0.01, 0.02, 0.015)
    slide = lw.joints.Prismatic((0.6, 0.0, 0.8))
    return lw.Robot.build(
        "gripper",
        lw.Link("palm", mass=0.7, com=(0.01, 0.02, 0.04), inertia=inertia),
        lw.Link("camera", mass=0.2, com=(0.0, 0.03, 0.01), inertia=(0.001, 0.001, 0.001)),
        lw.Link("finger", mass=0.1, com=(0.02, 0.0, 0.03), inertia=(0.001, 0.002, 0.002)),
        lw.Joint.of(lw.joints.Fixed(), name="camera_mount", parent="palm", child="camera", placement=pose),
        lw.Joint.of(slide, name="slide", parent="camera", child="finger", placement=pose),
    )


def test_subtrees_of_welded_links_are_these_links_and_all_behind_them():
    hand = gripper()
    robot = lw.load("arm6").with_mounted(hand, "tool", pose=lw.pose((0.01, 0.02, 0.05), rpy=(0.3, 0.1, 0.2)))
    robot = robot.with_frame("grasp", "camera", lw.pose((0.0, 0.0, 0.1)))
    q, v, a = np.random.default_rng(0).normal(size=(3, 4, robot.nv))
    alone = hand.center_of_mass(q[:, -1:])
    observed = robot.center_of_mass(q, subtree="palm", relative_to="palm", expressed_in="palm")
    np.testing.assert_allclose(observed, alone, atol=1e-14)
    book = Textbook(robot.tree, q, v, a)
    for k, subtree in enumerate(("palm", "camera", "grasp", "finger", "tool", "wrist_3_link", "forearm")):
        A, E = ("world", "forearm", "finger")[k % 3], ("world", "palm")[k % 2]
        check(robot, book, q, v, a, subtree=subtree, relative_to=A, expressed_in=E)
        D, _ = robot.center_of_mass_velocity_derivatives(q[0], v[0], subtree=subtree)
        step = 1e-6 * np.random.default_rng(1).normal(size=robot.nv)
        rates = [robot.center_of_mass_velocity(q[0] + x, v[0], subtree=subtree) for x in (step, -step)]
        np.testing.assert_allclose(D @ step, (rates[0] - rates[1]) / 2.0, atol=1e-14)
    kernel = robot.compile(("center_of_mass", {"subtree": "palm"}), parameters="inertia:camera")
    heavy = robot.with_inertia("camera", mass=0.9)
    (inertia,) = heavy.parameters("inertia:camera").values()
    np.testing.assert_allclose(kernel(q[0], inertia), heavy.center_of_mass(q[0], subtree="palm"), atol=1e-14)
    assert np.abs(robot.center_of_mass(q, subtree="palm") - heavy.center_of_mass(q, subtree="palm")).max() > 1e-3
    flange = robot.with_inertia("tool", mass=0.0, inertia=(0.0, 0.0, 0.0)) if robot.link("tool").mass else robot
    moved = flange.center_of_mass(q, subtree="tool", relative_to="palm", expressed_in="palm")
    np.testing.assert_allclose(moved, alone, atol=1e-14)
    with pytest.raises(ValueError, match=r"got 'tool' and .* without mass; 'wrist_3_link' is the link"):
        lw.load("arm6").with_inertia("tool", mass=0.0, inertia=(0, 0, 0)).center_of_mass(q[0, :6], subtree="tool")


@pytest.mark.parametrize("mount", [lw.joints.Fixed(), lw.joints.Revolute((0.0, 0.6, 0.8))], ids=["weld", "hinge"])
def test_robots_that_differ_in_the_link_of_a_joint_alone_have_different_subtrees(mount):
    """The link counts with the palm, or with the arm that it is welded to; all poses and masses are equal."""
    part, hinge = {"inertia": (0.1, 0.1, 0.1)}, lw.joints.Revolute((0.0, 0.0, 1.0))
    for parent, expected in (("arm", (0, 0, 0.2)), ("palm", (0.3, 0, 0.26)), ("arm", (0, 0, 0.2))):
        robot = lw.Robot.build(
            "r",
            lw.Link("arm", mass=1.0, com=(0, 0, 0.1), **part),
            lw.Link("palm", mass=2.0, com=(0, 0, 0.2), **part),
            lw.Link("tip", mass=3.0, com=(0.5, 0, 0.3), **part),
            lw.Joint.of(hinge, name="one", parent="world", child="arm"),
            lw.Joint.of(lw.joints.Fixed(), name="two", parent="arm", child="palm"),
            lw.Joint.of(mount, name="three", parent=parent, child="tip"),
        )
        np.testing.assert_allclose(robot.center_of_mass(robot.neutral(), subtree="palm"), expected, atol=1e-15)


def welded_robot(base):
    """A robot of three bodies with welds: a-b-c, d-g and e; its joints begin at links b and c of the first body."""
    rng, turn = np.random.default_rng(5), lw.joints.Revolute((0.0, 0.6, 0.8))
    joints = [(turn, "c", "d"), (turn, "b", "e"), *((lw.joints.Fixed(), *ends) for ends in ("ab", "bc", "dg"))]
    return lw.Robot.build(
        "welded",
        *(lw.Link(name, mass=rng.uniform(0.5, 2), com=rng.normal(size=3), inertia=(9, 9, 9)) for name in "abcdeg"),
        lw.Joint.of(base, name="base", parent="world", child="a"),
        *(
            lw.Joint.of(kind, name=a + b, parent=a, child=b, placement=lw.pose(rng.normal(size=3), rpy=(0.1, 0.2, 0.3)))
            for kind, a, b in joints
        ),
    )


WELDED = {"a": "b", "b": "ace", "c": "bd", "d": "cg", "e": "b", "g": "d"}  # links that welds and joints connect


def behind(link, root):
    """Return the links that a walk from the root reaches only through a link."""
    reached, new = set(), {root} - {link}
    while new:
        reached |= new
        new = {x for name in new for x in WELDED[name]} - reached - {link}
    return set(WELDED) - reached


@pytest.mark.parametrize("root", "abcdeg")
def test_subtrees_of_rerooted_robots_are_the_links_away_from_the_new_root(root):
    original = welded_robot(lw.joints.Floating()).with_frame("mark", "b", lw.pose((0.1, 0.2, 0.3)))
    robot = original.with_root(root)
    q = robot.random_configuration(seed=7, size=2)
    v, a = np.random.default_rng(7).normal(size=(2, 2, robot.nv))
    mass = {name: robot.link(name).mass for name in WELDED}
    centers = {}
    for name in WELDED:
        X = robot.pose(q, name)
        centers[name] = X[:, :3, :3] @ np.asarray(robot.link(name).com) + X[:, :3, 3]
    for name in [*WELDED, "mark"]:
        inside = behind("b" if name == "mark" else name, root)
        total = sum(mass[x] for x in inside)
        expected = sum(mass[x] * centers[x] for x in inside) / total
        np.testing.assert_allclose(robot.center_of_mass(q, subtree=name), expected, atol=1e-13, err_msg=name)
        check(robot, Textbook(robot.tree, q, v, a), q, v, a, subtree=name, relative_to="e", expressed_in="g")
        near = sum(mass[x] * centers[x] for x in set(WELDED) - inside)
        whole = (total * robot.center_of_mass(q, subtree=name) + near) / robot.mass
        np.testing.assert_allclose(robot.center_of_mass(q), whole, atol=1e-13)
        if name != "mark" and inside == behind(name, "a"):  # the same side as before
            view = {"subtree": name, "relative_to": name, "expressed_in": name}
            states = [(x, x.neutral()) for x in (original, robot)]
            for x, angles in states:
                angles[x.joint("cd").q_slice], angles[x.joint("be").q_slice] = 0.4, -0.3
            before, after = (x.center_of_mass(angles, **view) for x, angles in states)
            np.testing.assert_allclose(after, before, atol=1e-13)
    np.testing.assert_allclose(robot.center_of_mass(q, subtree=root), robot.center_of_mass(q), atol=1e-15)


def test_subtrees_of_a_rerooted_robot_on_a_fixed_base_equal_the_textbooks():
    robot = welded_robot(lw.joints.Revolute((1.0, 0.0, 0.0))).with_root("g")
    q, v, a = np.random.default_rng(8).normal(size=(3, 2, robot.nv))
    book = Textbook(robot.tree, q, v, a)
    for name in WELDED:
        check(robot, book, q, v, a, subtree=name)
    near, far = (robot.center_of_mass(q, subtree=name) for name in ("c", "a"))
    assert np.abs(near - far).max() > 1e-3


@pytest.mark.parametrize("factor", [1.0, 2.0, 10.0, None])
def test_kernels_with_inertias_of_bodies_equal_the_edited_robot_or_refuse_parts_of_bodies(factor):
    robot = welded_robot(lw.joints.Revolute((1.0, 0.0, 0.0)))
    q = np.array([0.3, -0.2, 0.5])
    inertia = robot.parameters("inertia")["inertia"]
    # one that is no multiple: a heavier own link
    value = factor * inertia if factor else robot.with_inertia("a", mass=9.0).parameters("inertia")["inertia"]
    edited = robot.with_parameters({"inertia": value})
    for name in "aed":
        kernel = robot.compile(("center_of_mass", {"subtree": name}), parameters="inertia")
        np.testing.assert_allclose(kernel(q, inertia=value), edited.center_of_mass(q, subtree=name), atol=1e-14)
    for name in "bcg":
        for function in FUNCTIONS:
            with pytest.raises(ValueError, match=rf"{function}: expected the inertia of link .* as 'inertia:"):
                robot.compile((function, {"subtree": name}), parameters="inertia")
        links = robot.compile(("center_of_mass", {"subtree": name}), parameters="inertia:*")
        values = edited.parameters("inertia:*")
        np.testing.assert_allclose(links(q, **values), edited.center_of_mass(q, subtree=name), atol=1e-14)


def test_kernels_with_inertias_of_bodies_take_parts_of_bodies_without_shared_inertia():
    """A tool's frame link has no mass, so that the own link has all of the body's inertia."""
    part = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    hinge = lw.joints.Revolute((0.0, 0.0, 1.0))
    robot = lw.Robot.build(
        "r",
        lw.Link("a", **part),
        lw.Link("flange"),
        lw.Link("b", com=(1.0, 0.0, 0.0), **part),
        lw.Joint.of(hinge, name="one", parent="world", child="a"),
        lw.Joint.of(lw.joints.Fixed(), name="weld", parent="a", child="flange", placement=lw.pose((0.0, 0.5, 0.0))),
        lw.Joint.of(hinge, name="two", parent="flange", child="b"),
    )
    value = robot.with_inertia("b", com=(0.0, 2.0, 0.0)).with_inertia("a", mass=3.0).parameters("inertia")["inertia"]
    kernel = robot.compile(("center_of_mass", {"subtree": "flange"}), parameters="inertia")
    edited, q = robot.with_parameters({"inertia": value}), np.zeros(2)
    np.testing.assert_allclose(kernel(q, inertia=value), (0.0, 2.5, 0.0), atol=1e-14)
    np.testing.assert_allclose(edited.center_of_mass(q, subtree="flange"), (0.0, 2.5, 0.0), atol=1e-14)


def test_centre_of_mass_jacobian_of_a_subtree_has_zero_columns_for_outside_joints():
    robot = shipped("humanoid")
    q = robot.random_configuration(seed=3)
    moving = {
        ("left_forearm", "world"): {"floating_base", "waist", "left_shoulder", "left_elbow", "left_wrist"},
        ("left_forearm", "left_upper_arm"): {"left_elbow", "left_wrist"},
        ("left_forearm", "left_forearm"): {"left_wrist"},
        ("left_forearm", "left_shank"): {"waist", "left_shoulder", "left_elbow", "left_wrist", "left_hip", "left_knee"},
        (None, "pelvis"): {"waist", "neck", "left", "right"},
    }
    for (subtree, A), names in moving.items():
        J = robot.center_of_mass_jacobian(q, subtree=subtree, relative_to=A)
        for joint in robot.joints:
            known = joint.name.startswith(tuple(names))
            assert known or not np.any(J[:, joint.v_slice]), (subtree, A, joint.name)
            assert not known or "wrist_yaw" in joint.name or np.any(J[:, joint.v_slice]), (subtree, A, joint.name)


def test_subtree_of_a_frame_fixed_to_the_world_is_the_whole_robot():
    tree = TREES["rerooted"]
    q, _, _ = state(tree)
    f = Direct(tree)
    ground = next((frame.name for frame in tree.frames if frame.body == WORLD), "world")
    assert np.array_equal(f.center_of_mass(q, subtree=ground), f.center_of_mass(q))
    assert np.array_equal(f.center_of_mass(q, subtree="world"), f.center_of_mass(q))


def test_links_fixed_to_the_world_count_for_the_centre_of_mass():
    robot = lw.load("arm7")
    tree = robot.tree
    ballast = Inertia.at_center(100.0, tree.frames[0].inertia.moment, tree.frames[0].inertia.about)
    fixed = next(i for i, frame in enumerate(tree.frames) if frame.body == WORLD)
    frames = tuple(replace(f, inertia=ballast) if i == fixed else f for i, f in enumerate(tree.frames))
    heavy = lw.Robot(replace(tree, frames=frames))
    q = robot.random_configuration(seed=1, size=3)
    assert heavy.mass > 100.0
    m = {r: np.array([r.mass]) for r in (robot, heavy)}
    moved = [r.center_of_mass_jacobian(q) * m[r] for r in (robot, heavy)]
    assert_close(moved[1], moved[0], 1e-14, core=2)
    book = Textbook(heavy.tree, q)
    assert_close(heavy.center_of_mass(q), book.center_of_mass()[0], 1e-14, core=1)


def test_compiled_centres_of_mass_equal_the_textbooks():
    for name in ("mixed_0", "coupled_0"):
        tree = TREES[name]
        q, v, a = state(tree)
        frame = tree.frames[-1].name
        check(robot_of(tree), Textbook(tree, q, v, a), q, v, a, subtree=tree.frames[2].name, relative_to=frame)


def test_center_of_mass_rejects_unknown_frames():
    robot = robot_of(TREES["mixed_0"])
    q, v, a = state(robot.tree)
    for name, arrays in zip(FUNCTIONS, [(q,), (q, v), (q, v, a), (q,)], strict=True):
        method = getattr(robot, name)
        with pytest.raises(UnknownNameError, match="no frame named 'tool33'; did you mean 'tool3'"):
            method(*arrays, subtree="tool33")
        with pytest.raises(UnknownNameError, match="no frame named 'nowhere'"):
            method(*arrays, relative_to="nowhere")
        with pytest.raises(TypeError, match="subtree: expected a frame's name"):
            method(*arrays, subtree=q)


def test_center_of_mass_of_a_massless_subtree_raises_an_error():
    links = [lw.Link("base"), lw.Link("arm", mass=1.0, inertia=(0.1, 0.1, 0.1)), lw.Link("flag")]
    hinge = lw.joints.Revolute((0.0, 0.0, 1.0))
    joints = [
        lw.Joint.of(hinge, name="one", parent="base", child="arm"),
        lw.Joint.of(hinge, name="two", parent="arm", child="flag"),
    ]
    robot = lw.Robot.build("r", links, joints)
    q = np.zeros(2)
    assert robot.center_of_mass(q).shape == (3,)
    message = "center_of_mass: subtree: expected a mass above 0, got 'flag' and the bodies behind it without mass"
    with pytest.raises(ValueError, match=message):
        robot.center_of_mass(q, subtree="flag")
    rock = lw.Robot.from_urdf_string('<robot name="rock"><link name="rock"/></robot>')
    for name in ("center_of_mass", "center_of_mass_jacobian", "centroidal_momentum_matrix", "locked_inertia"):
        with pytest.raises(ValueError, match=f"{name}: expected a mass above 0, got robot 'rock'"):
            getattr(rock, name)([])


def test_inertial_functions_of_a_robot_without_inertias_raise_an_error():
    robot = lw.load("arm7", inertia="ignore")
    q = robot.neutral()
    for name in ("center_of_mass", "potential_energy", "locked_inertia", "kinetic_energy", "mass_matrix_inverse"):
        arrays = (q, q) if name == "kinetic_energy" else (q,)
        with pytest.raises(ValueError, match=f"{name}: robot 'arm7' was loaded without inertias"):
            getattr(robot, name)(*arrays)
    with pytest.raises(ValueError, match="zero_moment_point: robot 'arm7' was loaded without inertias"):
        robot.zero_moment_point(q, q, q)
