"""Placed bases, mounted robots and several robots in one: files, meshes and errors."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.shapes import Mesh

X = lw.pose((0.4, -0.1, 0.8), rpy=(0.3, -0.5, 0.7))
Y = lw.pose((0.02, -0.01, 0.05), rpy=(-1.0, 0.4, 0.2))
GRIPPER = lw.Robot.build(
    "gripper",
    lw.Link("palm", lw.shapes.Box((0.1, 0.1, 0.02)), mass=0.4),
    lw.Link("finger", lw.shapes.Box((0.02, 0.02, 0.1)).at((0, 0, 0.05)), mass=0.05),
    lw.Joint.of(lw.joints.Prismatic((0, 1, 0)), name="slide", parent="palm", child="finger", lower=0.0, upper=0.04),
    actuators=[lw.Actuator.motor("squeeze", "slide")],
    named_configurations={"open": {"slide": 0.04}},
)


@pytest.mark.slow(every=5)
def test_joined_robots_written_to_every_format_can_be_loaded_again(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")
    arm = lw.load("arm6").with_mounted(GRIPPER, "tool", X, prefix="hand_")
    cell = lw.join_robots({"left": arm.with_base(X), "right": arm.with_base((0, 1, 0))})
    q = dict.fromkeys(cell.q_names[:6], 0.3) | {"left_hand_slide": 0.02}
    assert cell.named_configurations["right_hand_open"].q.nonzero()[0].tolist() == [13]
    cell.save(tmp_path / "cell.json")
    assert lw.load(tmp_path / "cell.json") == cell
    cell.to_urdf(tmp_path / "cell.urdf", loops=tmp_path / "loops.json")
    assert lw.load(tmp_path / "cell.urdf", loops=tmp_path / "loops.json").compare(cell, tolerance=1e-12).same
    cell.to_mjcf(tmp_path / "cell.xml")
    cell.to_sdf(tmp_path / "cell.sdf")
    for name in ("cell.xml", "cell.sdf"):
        again = lw.load(tmp_path / name)
        assert again.q_names == cell.q_names
        for frame in ("left_hand_finger", "right_base", "left_tool"):
            np.testing.assert_allclose(again.pose(q, frame), cell.pose(q, frame), atol=1e-14)


def test_mounted_and_placed_robots_have_the_dynamics_of_mujocos_attached_models(tmp_path):
    mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")
    arm, swing = lw.load("arm7"), lw.load("double_pendulum")
    whole = arm.with_mounted(swing, "tool", Y, prefix="g_").with_base(X)
    arm.with_base(X).to_mjcf(tmp_path / "arm.xml")
    swing.to_mjcf(tmp_path / "swing.xml")
    spec, part = (mujoco.MjSpec.from_file(str(tmp_path / name)) for name in ("arm.xml", "swing.xml"))
    frame = spec.body("tool").add_frame()
    frame.pos, frame.quat = Y[:3, 3], lw.quaternion(Y)
    frame.attach_body(part.worldbody.first_body(), "g_", "")
    model = spec.compile()
    data = mujoco.MjData(model)
    q, v = whole.random_configuration(seed=1), np.linspace(-1.0, 1.0, whole.nv)
    joints = [model.joint(name) for name in whole.q_names]
    for joint, position, speed in zip(joints, q, v, strict=True):
        data.qpos[joint.qposadr], data.qvel[joint.dofadr] = position, speed
    mujoco.mj_forward(model, data)
    expected = [float(data.qfrc_bias[joint.dofadr[0]]) for joint in joints]
    np.testing.assert_allclose(whole.bias_force(q, v), expected, atol=1e-11)
    tip = whole.pose(q, "g_lower_rod")[:3, 3]
    np.testing.assert_allclose(tip, data.body("g_lower_rod").xpos, atol=1e-13)


def test_robot_mounted_on_the_world_of_another_stands_beside_it(tmp_path):
    arm = lw.load("arm6")
    beside = arm.with_mounted(GRIPPER, "world", X, prefix="hand_")
    assert [link.name for link in beside.links][:2] == ["world", "base"]
    beside.to_urdf(tmp_path / "beside.urdf")
    again = lw.load(tmp_path / "beside.urdf")
    np.testing.assert_allclose(again.pose(again.neutral(), "hand_palm"), X, atol=1e-15)
    assert again.nq == 7 and beside.with_root("tool").nq == 7


def test_option_base_of_load_fixes_the_base_at_a_pose(tmp_path):
    expected = lw.load("arm6").with_base(X)
    assert lw.load("arm6", base=X) == expected
    expected.save(tmp_path / "arm.json")
    assert lw.load(tmp_path / "arm.json", base=X, trusted=False) == expected
    assert np.array_equal(lw.load(tmp_path / "arm.json", base=(0, 0, 1)).pose(np.zeros(6), "base")[:3, 3], (0, 0, 1))
    with pytest.raises(ValueError, match=r"^load: base: robot 'quadruped' has no fixed base: .* 'floating_base'"):
        lw.load("quadruped", floating_base=True, base=X)
    with pytest.raises(ValueError, match=r"^load: base: expected a pose"):
        lw.load("arm6", base=(1, 2))
    with pytest.raises(TypeError, match=r"^build: no option named 'base'"):
        lw.Robot.build("r", lw.Link("a"), base=X)


def test_moving_the_base_keeps_bodies_that_float_beside_it():
    free = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="ball")
    slide = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart")
    robot = lw.Robot.build("scene", lw.Link("ball", mass=1.0), lw.Link("cart", mass=1.0), free, slide, multi_root=True)
    placed = robot.with_base(X)
    q = robot.neutral()
    assert np.array_equal(placed.pose(q, "ball"), np.eye(4))
    np.testing.assert_allclose(placed.pose(q, "cart"), X, atol=1e-15)
    assert placed.links["base"].mass == 0.0
    assert placed.tree.bodies[1].links == ("base", "cart")


def test_joined_robots_from_packages_of_equal_names_have_their_own_meshes(tmp_path):
    geometry = '<geometry><mesh filename="package://arm/meshes/m.stl"/></geometry>'
    robots = {}
    for name in ("first", "second"):
        (tmp_path / name / "arm" / "meshes").mkdir(parents=True)
        folder = tmp_path / name / "arm"
        (folder / "package.xml").write_text("<package><name>arm</name></package>")
        (folder / "meshes" / "m.stl").write_text(name)
        text = f'<robot name="{name}"><link name="l"><visual>{geometry}</visual></link></robot>'
        (folder / "arm.urdf").write_text(text)
        robots[name] = lw.load(folder / "arm.urdf")
    uris = [link.visuals[0].shape.uri for link in lw.join_robots(robots).tree.links if link.visuals]
    assert uris == ["package://arm/meshes/m.stl", str(tmp_path / "second" / "arm" / "meshes" / "m.stl")]


def test_option_base_moves_the_root_link_wherever_the_file_lists_it():
    links = "".join(f"<link name='{name}'/>" for name in ("camera", "base", "arm"))
    joints = "".join(
        f"<joint name='{child}_joint' type='{kind}'><parent link='base'/><child link='{child}'/><origin xyz='0.5 0 0'/>"
        "<axis xyz='0 0 1'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
        for child, kind in (("camera", "fixed"), ("arm", "revolute"))
    )
    text = f"<robot name='r'>{links}{joints}</robot>"
    in_world = text.replace(links, f"<link name='world'/>{links}").replace(
        "</robot>", "<joint name='w' type='fixed'><parent link='world'/><child link='base'/></joint></robot>"
    )
    for robot in map(lw.Robot.from_urdf_string, (text, in_world)):
        for part in (robot, robot.with_locked_joints(["arm_joint"])):
            assert np.array_equal(part.with_base(X).pose(part.neutral(), "base"), X)
            cell = lw.load("arm6").with_mounted(part, "tool", Y, prefix="p_")
            np.testing.assert_allclose(cell.pose(cell.neutral(), "p_base", relative_to="tool"), Y, atol=1e-15)


def test_joined_robots_are_checked_for_collisions_with_each_others_bases(tmp_path):
    arm, drive = lw.load("arm6"), lw.Joint.of(lw.joints.Planar(), name="drive", parent="floor", child="chassis")
    box = lw.shapes.Box((0.4, 0.4, 0.4))
    mobile = lw.Robot.build("mobile", lw.Link("floor"), lw.Link("chassis", box, mass=1.0), drive)
    cell = lw.join_robots({"a": arm, "b": arm.with_base((0, 2, 0)), "m": mobile})
    alone = [(f"{k}_{x}", f"{k}_{y}") for k in "ab" for x, y in arm.collision_pairs]
    across = [pair for pair in cell.collision_pairs if pair[0][0] != pair[1][0]]
    assert {*cell.collision_pairs} == {*alone, *across} and len(across) == 7 * 7 - 1 + 2 * 7  # but both bases
    assert cell.in_collision(cell.neutral()) and not cell.in_collision({"m_drive": (2.0, 1.0, 0.0)})
    cell.to_urdf(tmp_path / "cell.urdf")
    assert {*lw.load(tmp_path / "cell.urdf").collision_pairs} == {*cell.collision_pairs}


def test_errors_of_joined_robots_name_the_robot_and_the_remedy():
    arm = lw.load("arm6")
    legs = lw.load("quadruped", floating_base=True)
    twice, light = arm.with_mounted(arm, "tool", prefix="a_"), GRIPPER.with_gravity((0, 0, 0))
    heavy = GRIPPER.with_constraints(lw.constraints.CenterOfMass(z=0.1))
    table = lw.Robot.from_urdf_string(
        "<robot name='bench'><link name='world'><collision><geometry><sphere radius='1'/></geometry></collision></link>"
        "</robot>"
    )
    wrong = (
        (lambda: arm.with_mounted(arm, "tool"), r"both robots have a frame 'base': pass .*prefix='arm6_'"),
        (lambda: twice.with_mounted(arm, "a_tool", prefix="a_"), r"both robots have a frame 'a_base': pass"),
        (lambda: arm.with_mounted(legs, "tool"), r"robot 'quadruped': joint 'floating_base' floats in its world"),
        (lambda: arm.with_mounted(light, "tool"), r"robot 'gripper': expected the gravity of"),
        (lambda: arm.with_mounted(heavy, "tool"), r"constraint 'center of mass' is on its centre of mass"),
        (lambda: arm.with_mounted(table, "tool"), r"has a link 'world' with mass or shapes; pass prefix='bench_'"),
        (lambda: arm.with_mounted(GRIPPER, "tool", (1, 2)), r"with_mounted: pose: expected a pose"),
        (lambda: lw.join_robots({"a": arm, "b": heavy}), r"join_robots: robot 'gripper': constraint"),
        (lambda: lw.join_robots({"a": arm, "a_b": arm, "a_b_c": arm, " ": arm}), r"robots: expected the name"),
        (
            lambda: lw.join_robots({"a": lw.join_robots({"b": arm}), "a_b": arm}),
            r"'a_b_base': pass another key than 'a_b'",
        ),
    )
    for call, message in wrong:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(UnknownNameError, match=r"with_mounted: at: no frame named 'toool'"):
        arm.with_mounted(GRIPPER, "toool")
    for bad in ({}, [arm], {"a": "arm6"}, {1: arm}):
        with pytest.raises(TypeError, match=r"^join_robots: robots"):
            lw.join_robots(bad)
    with pytest.raises(TypeError, match=r"^with_mounted: robot: expected a robot"):
        arm.with_mounted("gripper", "tool")
    assert arm.with_mounted(table, "tool", prefix="b_").links["b_world"].joint == "b_world_mount"


@pytest.mark.slow(every=5)
def test_joined_robots_read_their_meshes_from_their_own_folders(tmp_path):
    loaded = {}
    for name, radius in (("one", 0.1), ("two", 0.2)):
        folder = tmp_path / name / "meshes"
        folder.mkdir(parents=True)
        points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * radius
        faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]
        lines = [*(f"v {x} {y} {z}" for x, y, z in points), *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces)]
        (folder / "part.obj").write_text("\n".join(lines) + "\n")
        mesh = '<mesh filename="meshes/part.obj"/>'
        link = f"<link name='base'><collision><geometry>{mesh}</geometry></collision></link>"
        text = f"<robot name='{name}'>{link}</robot>"
        (tmp_path / name / "robot.urdf").write_text(text)
        loaded[name] = lw.load(tmp_path / name / "robot.urdf")
    cell = lw.join_robots(loaded)
    uris = [g.shape.uri for f in cell.tree.frames for g in f.collisions if isinstance(g.shape, Mesh)]
    assert uris == [str(tmp_path / name / "meshes/part.obj") for name in loaded]
    assert cell.tree.files == tuple(str(tmp_path / name / "robot.urdf") for name in loaded)
    pytest.importorskip("trimesh")
    hulls = cell.with_collision_hulls()
    sizes = [float(np.max(g.shape.vertices)) for f in hulls.tree.frames for g in f.collisions]
    assert sizes == [0.1, 0.2]
