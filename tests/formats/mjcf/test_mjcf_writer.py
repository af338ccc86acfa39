"""Robots written as MJCF: read by MuJoCo, they have the same poses, energies, actuators and constraints."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints, robots
from linkwork.errors import ModelError
from linkwork.formats.mjcf.writing.joint_elements import JointMap, _Sample
from linkwork.formats.mjcf.writing.mjcf_writer import mjcf_text
from linkwork.model.collision_pairs import collision_pairs
from linkwork.model.description import NamedState
from linkwork.model.random_tree import random_tree
from linkwork.spatial import Motion, Pose

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the reader of these files")

KINDS = [kind for kind in joints.ALL if kind not in (joints.Helical, joints.Ellipsoid, joints.Fixed)]


def with_state(tree, rng):
    """The tree with a named configuration "drawn", and its q and v."""
    free = [np.inf] * 9
    q, v = {}, {}
    for body in tree.bodies:
        nq, nv = body.joint.nq, body.joint.nv
        q[body.joint_name] = tuple(body.joint.random(rng, [-x for x in free[:nq]], free[:nq], ()).tolist())
        v[body.joint_name] = tuple(rng.normal(size=nv).tolist())
    coupled = {body.joint_name for body in tree.bodies if body.coupling is None}
    state = NamedState(
        "drawn",
        tuple((k, x) for k, x in q.items() if k in coupled),
        tuple((k, x) for k, x in v.items() if k in coupled),
    )
    return replace(tree, named_configurations=(state,)), q, v


def motion(tree, q, v):
    """Pose of each link in the world, kinetic and gravitational energy, with floats."""
    X, V, kinetic = {-1: Pose.identity()}, {-1: Motion.zero()}, 0.0
    for i, parent, body in tree.outward():
        master = body.joint_name if body.coupling is None else body.coupling.joint
        relative = body.X(q[master])
        X[i] = X[parent] @ relative
        V[i] = relative.inv() @ V[parent] + sum(
            (column * x for column, x in zip(body.S(q[master]).columns, v[master], strict=True)), Motion.zero()
        )
        kinetic += 0.5 * V[i].dot(body.inertia @ V[i])
    potential = -sum(
        tree.gravity.dot(
            X[f.body].rotation @ (f.placement.rotation @ f.inertia.moment + f.placement.translation * f.inertia.mass)
            + X[f.body].translation * f.inertia.mass
        )
        for f in tree.frames
    )
    return {f.name: X[f.body] @ f.placement for f in tree.frames}, kinetic, potential


def check(tree, q, v):
    """Compare the tree with MuJoCo's model of its text, in its only key."""
    text, report = mjcf_text(tree)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    poses, kinetic, potential = motion(tree, q, v)
    for name, X in poses.items():
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
        site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, name)
        if body < 0 and site < 0:
            assert f"link[{name}]" in str(report), name
            continue
        position, R = (data.xpos[body], data.xmat[body]) if body >= 0 else (data.site_xpos[site], data.site_xmat[site])
        assert position == pytest.approx([*X.translation], abs=1e-12)
        assert R.reshape(3, 3) == pytest.approx(np.array(X.rotation.rows()), abs=1e-12)
    assert data.energy[0] == pytest.approx(potential, rel=1e-12, abs=1e-12)
    assert data.energy[1] == pytest.approx(kinetic, rel=1e-12)
    return model, data, report


def is_written(tree):
    try:
        mjcf_text(tree)
    except ModelError:
        return False
    return True


def stripped(tree):
    """The tree without springs, whose energy MuJoCo adds to that of gravity."""
    bodies = tuple(replace(body, drive=type(body.drive)()) for body in tree.bodies)
    return replace(tree, bodies=bodies, force_elements=())


@pytest.mark.slow(every=3)
def test_mujoco_reads_written_joints_of_all_its_joint_types():
    rng = np.random.default_rng(0)
    for kind in KINDS:
        written = 0
        for _ in range(8):
            if written == 3:
                break
            tree = stripped(random_tree(rng, 3, types=[kind, joints.Revolute], shape="chain"))
            tree, q, v = with_state(tree, rng)
            if kind.__name__.startswith(("Composite", "Reversed", "Floating")) and not is_written(tree):
                continue  # a ball or a free joint inside of another, or not on the world
            check(tree, q, v)
            written += 1
        assert written, kind
    for kind in (joints.Helical, joints.Ellipsoid):
        with pytest.raises(ModelError, match="MJCF has no joint of type"):
            mjcf_text(random_tree(rng, 1, types=[kind]))


def test_springs_of_planar_and_floating_joints_written_to_mjcf_have_equal_energy():
    """Springs of a planar joint whose rest is turned, or of a free joint that differ by axis, are lost by name."""
    planar, free, rng = joints.Planar(), joints.Floating(), np.random.default_rng(3)
    for kind, k, q_rest, keeps in (
        (planar, [1.0, 2.0, 3.0], [0.3, 0.4, 0.0], True),
        (planar, [2.0, 2.0, 3.0], [0.3, -0.2, 0.7], True),
        (planar, [1.0, 2.0, 3.0], [0.3, 0.4, 0.7], False),
        (free, [2.0] * 6, None, True),
        (joints.FloatingMRP(), [2.0] * 6, None, True),
        (free, [2.0] * 3 + [3.0] * 3, None, False),
    ):
        between = lw.Joint.of(kind, name="free", parent="world", child="body")
        robot = lw.Robot.build("free", lw.Link("body", mass=1.3, inertia=(0.1, 0.2, 0.25)), between)
        robot = robot.with_joint_dynamics(stiffness=k, rest=q_rest)
        text, report = mjcf_text(robot.tree)
        assert ("no springs like" in str(report)) is not keeps, (kind, k, q_rest)
        model = mujoco.MjModel.from_xml_string(text)
        read, data = lw.Robot.from_mujoco(model), mujoco.MjData(model)
        model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        for q in read.random_configuration(rng, size=4 * keeps):
            data.qpos[:] = lw.formats.MujocoCoordinates(read, model).qpos(q)
            mujoco.mj_forward(model, data)
            mine = robot.potential_energy(robot.joint("free").configuration_of(read.pose(q, "body")), passive=True)
            assert data.energy[0] == pytest.approx(mine, rel=1e-12, abs=1e-12), (kind, k, q_rest)
            assert read.potential_energy(q, passive=True) == pytest.approx(mine, rel=1e-12, abs=1e-12), (
                kind,
                k,
                q_rest,
            )


def test_mujoco_reads_bundled_robots_written_as_mjcf():
    rng = np.random.default_rng(1)
    for name in robots.names():
        tree, q, v = with_state(stripped(lw.load(name).tree), rng)
        check(tree, q, v)


SCENE = (Path(__file__).parent / "every_element.xml").read_text()


def test_written_mjcf_file_is_read_as_the_same_robot():
    first = lw.Robot.from_mujoco(mujoco.MjModel.from_xml_string(SCENE)).tree
    text, report = mjcf_text(first)
    second = lw.Robot.from_mujoco(mujoco.MjModel.from_xml_string(text)).tree
    assert {issue.code for issue in report.warnings} <= {"NOT_WRITTEN", "WRITTEN_AS"}
    for joint_a, joint_b in zip(first.bodies, second.bodies, strict=True):
        for name in ("name", "parent", "joint_name", "joint", "limits", "damping", "friction", "drive"):
            assert getattr(joint_a, name) == getattr(joint_b, name), (joint_a.name, name)
        for name in ("placement", "rotor"):
            assert near(getattr(joint_a, name), getattr(joint_b, name))
    assert [frame.name for frame in first.links] == [frame.name for frame in second.links]
    for frame in first.frames:
        joint_b = second.frame(frame.name)
        assert near(frame.placement, joint_b.placement)
        assert [type(x.shape) for x in frame.collisions] == [type(x.shape) for x in joint_b.collisions]
        assert [x.friction for x in frame.collisions] == [x.friction for x in joint_b.collisions]
        inertias = [[x.mass, *x.moment, *x.about.elements()] for x in (frame.inertia, joint_b.inertia)]
        assert inertias[1] == pytest.approx(inertias[0], rel=1e-14, abs=1e-15)
    assert second.actuators == first.actuators
    assert [type(x) for x in second.constraints] == [type(x) for x in first.constraints]
    assert collision_pairs(second) == collision_pairs(first)
    assert second.gravity == first.gravity
    for key, again in zip(first.named_configurations, second.named_configurations, strict=True):
        assert (again.name, again.controls) == (key.name, key.controls)
        for pairs, values_again in ((key.q, again.q), (key.v or (), again.v or ())):
            for (name, values), (same, numerals) in zip(pairs, values_again, strict=True):
                assert name == same
                assert numerals == pytest.approx(values, rel=1e-14, abs=1e-15)
    with pytest.raises(ModelError, match="NOT_WRITTEN"):
        mjcf_text(lw.load("arm7").tree, strict=True)  # its velocity limits


def test_polynomial_couplings_with_references_are_written_to_mjcf():
    arm = lw.load("arm7")
    coupling = lw.constraints.PolynomialCoupling(
        "elbow", "wrist_roll", (0.1, -0.4, 0.3, 0.2, -0.05), a_reference=0.2, b_reference=-0.3
    )
    text, _ = mjcf_text(arm.with_constraints(coupling).tree)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for angle in (-1.0, 0.2, 0.9):
        x = angle + 0.3
        elbow = 0.2 + 0.1 - 0.4 * x + 0.3 * x**2 + 0.2 * x**3 - 0.05 * x**4
        data.qpos[model.joint("wrist_roll").qposadr] = angle
        data.qpos[model.joint("elbow").qposadr] = elbow
        mujoco.mj_forward(model, data)
        rows = data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
        assert rows == pytest.approx([0.0], abs=1e-15)


def test_written_mjcf_has_the_same_collision_pairs_of_links():
    for name in ("arm7", "arm7_gripper", "humanoid", "stewart"):
        tree = lw.load(name).tree
        text, report = mjcf_text(tree)
        read = lw.Robot.from_mujoco(mujoco.MjModel.from_xml_string(text)).tree
        assert set(map(frozenset, collision_pairs(read))) == set(map(frozenset, collision_pairs(tree))), name
        assert "does not check links" not in str(report)


def test_hulls_are_written_to_mjcf_from_the_size_on_that_mujoco_reads():
    corners = np.array([[0.3, 0.1, 0.2], [-0.2, 0.4, 0.1], [0.1, -0.3, 0.5], [0.2, 0.1, -0.4]])
    ball = lw.shapes.Sphere(0.5)
    for size, count in ((2e-6, 1), (5e-7, 0)):
        hull = lw.shapes.Polytope(corners / lw.shapes.Polytope(corners).bounding_sphere[1] * size)
        link = lw.Link("a", mass=1.0, inertia=(0.1, 0.2, 0.25), collisions=[hull], visuals=[ball])
        turning = lw.Joint.of(lw.joints.Revolute((0.6, 0, 0.8)), name="j", parent="world", child="a")
        text, report = mjcf_text(lw.Robot.build("r", link, turning).tree)
        assert text.count("<mesh") == count
        is_lost = any("MuJoCo refuses meshes with a radius below 1e-06 m" in str(x) for x in report.warnings)
        assert is_lost is (count == 0)


def near(X, Y):
    return [*Y.elements()] == pytest.approx([*X.elements()], rel=1e-15, abs=1e-15)


def test_links_fixed_to_other_frames_are_written_to_mjcf_with_their_mass(tmp_path):
    arm = lw.load("arm6").with_frame("camera", "tool", (0, 0, 0.1)).with_frame("eye", "camera", (0.1, 0, 0))
    loaded = arm.with_payload("load", "eye", 2.0)
    loaded.to_mjcf(tmp_path / "arm.xml")
    again, q = lw.load(tmp_path / "arm.xml"), loaded.random_configuration(seed=0)
    assert again.mass == pytest.approx(loaded.mass, abs=1e-12)
    np.testing.assert_allclose(again.pose(q, "load"), loaded.pose(q, "load"), atol=1e-12)


@pytest.mark.parametrize(("ratio", "expected"), [(1.0, [2.0]), (1.5, None)])
def test_motors_have_gears_in_mjcf_only_if_they_are_equal_in_all_configurations(ratio, expected):
    samples = [_Sample([], [], np.array([[x]])) for x in (1.0, ratio)]
    assert JointMap.gears(SimpleNamespace(_samples=samples), [2.0]) == expected
