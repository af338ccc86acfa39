"""Joints and bodies of MJCF: names, limits, the base, named configurations, and maps of coordinates."""

import numpy as np
import pytest

import linkwork as lw

mujoco = pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")
pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")


def compiled(text):
    return mujoco.MjModel.from_xml_string(f"<mujoco>{text}</mujoco>")


def read(text, **options):
    return lw.Robot.from_mujoco(compiled(text), **options)


BALL = '<geom size=".1"/>'


def test_names_of_robots_from_mjcf_are_those_of_the_file_and_unique():
    robot = read(
        f"""<worldbody><site name="world"/><body name="trunk"><joint name="roll"/><joint name="trunk" axis="0 1 0"/>
        <joint axis="1 0 0"/>
        {BALL}<site name="roll"/><site name="trunk"/><site/><body>{BALL}<body name="joint2">
        <joint name="body2"/>{BALL}</body></body>
        </body></worldbody>"""
    )
    assert [joint.name for joint in robot.joints] == ["roll", "trunk", "joint2", "body2"]
    assert robot.tree.frame("trunk").body == 2 and robot.tree.frame("joint2").body == 3  # links, not joints
    carried = {"roll": "roll", "trunk": "trunk_", "joint2": "trunk", "body2_weld": "body2", "body2": "joint2"}
    assert robot.tree.carried == carried
    sites = [name for name in robot.frames if name not in {"trunk", "joint2", "body2", "trunk_"}]
    assert sites == ["world", "roll", "world_site", "roll_site", "trunk_site", "site3"]


def test_joint_limits_of_mjcf_are_read_in_si_units_or_reported():
    robot = read(
        f"""<default><joint range="-90 45"/></default><worldbody><body><joint name="a"/>{BALL}
        <body><joint name="b" limited="false"/>{BALL}<body>
        <joint name="c" type="slide" range="-.1 .2" actuatorfrcrange="-5 5"/>{BALL}
        <body><joint name="d" type="ball" range="0 60"/>{BALL}</body></body></body></body></worldbody>"""
    )
    lower, upper = robot.position_limits
    np.testing.assert_allclose(lower[:3], [-np.pi / 2, -np.inf, -0.1], rtol=1e-15)
    np.testing.assert_allclose(upper[:3], [np.pi / 4, np.inf, 0.2], rtol=1e-15)
    assert robot.effort_limits[:3].tolist() == [np.inf, np.inf, 5.0]
    (issue,) = (x for x in robot.report.warnings if x.code == "UNSUPPORTED")
    assert "joint 'd': the limit of its angle, 60°" in issue.message
    with pytest.raises(lw.errors.ModelError, match="the limit of its angle"):
        read(f'<worldbody><body><joint type="ball" limited="true" range="0 60"/>{BALL}</body></worldbody>', strict=True)


def test_asymmetric_mjcf_force_range_of_a_joint_bounds_its_only_actuator():
    text = f"""<worldbody><body><joint name="a" actuatorfrcrange="-6 4"/>{BALL}</body></worldbody>
    <actuator><motor name="m" joint="a" gear="-2" forcerange="-1.5 5"/></actuator>"""
    robot = read(text)
    assert robot.actuators["m"].force_range == (-1.5, 3.0) and np.isinf(robot.effort_limits).all()
    robot = read(text.replace("</actuator>", '<motor joint="a"/></actuator>'))
    assert [x.code for x in robot.report.repairs] == ["UNSUPPORTED"]
    for least, codes in ((3, []), (3.5, ["UNSUPPORTED"])):  # the joint permits forces of the motor from -2 to 3
        robot = read(text.replace('forcerange="-1.5 5"', f'forcerange="{least} 5"'))
        assert [x.code for x in robot.report.repairs] == codes
        assert robot.actuators["m"].force_range == ((3.0, 3.0) if not codes else (3.5, 5.0))


FREE = f"""<worldbody><body name="trunk" pos="1 2 3" euler="90 0 0"><freejoint name="root"/>{BALL}
<body name="leg"><joint name="hip"/>{BALL}</body></body></worldbody>"""


def test_floating_base_of_an_mjcf_robot_depends_on_the_file_and_the_option():
    fixed = FREE.replace('<freejoint name="root"/>', "")
    assert (
        [j.name for j in read(FREE).joints]
        == ["root", "hip"]
        == [j.name for j in read(FREE, floating_base=True).joints]
    )
    fixed_robot = read(FREE, floating_base=False)
    assert [j.name for j in fixed_robot.joints] == ["hip"]
    np.testing.assert_allclose(fixed_robot.pose([0.0], "trunk")[:3, 3], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(fixed_robot.pose([0.0], "trunk"), read(fixed).pose([0.0], "trunk"), atol=1e-15)
    freed = read(fixed, floating_base=True)
    assert [j.name for j in freed.joints] == ["floating_base", "hip"]
    assert read(fixed, floating_base=False).nv == 1
    box = FREE.replace("</worldbody>", f"<body><freejoint/>{BALL}</body></worldbody>")
    for text, choice in ((box, False), (fixed.replace("</worldbody>", f"<body>{BALL}</body></worldbody>"), True)):
        with pytest.raises(lw.errors.ModelError, match="FLOATING_BASE"):
            read(text, floating_base=choice)


def test_mjcf_keyframes_become_named_configurations():
    model = compiled(
        FREE
        + """<actuator><motor name="m" joint="hip"/></actuator>
        <keyframe><key name="home" qpos="1 2 3 0 1 0 0 .5" qvel="1 2 3 4 5 6 7" ctrl=".3"/><key/></keyframe>"""
    )
    robot = lw.Robot.from_mujoco(model)
    maps = lw.formats.MujocoCoordinates(robot, model)
    states = robot.named_configurations
    assert [state.name for state in states] == ["qpos0", "home", "key1"]
    np.testing.assert_allclose(states["qpos0"].q, maps.q(model.qpos0), atol=1e-15)
    np.testing.assert_allclose(states["home"].q, [0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.5])
    np.testing.assert_allclose(states["home"].v, maps.v(model.key_qpos[0], model.key_qvel[0]), atol=1e-15)
    np.testing.assert_allclose(states["home"].v, [4.0, 5.0, 6.0, 1.0, -2.0, -3.0, 7.0], atol=1e-15)
    assert states["home"].controls.tolist() == [0.3] and states["key1"].v is None


def test_conversions_between_mujocos_qpos_and_configurations_are_inverse():
    text = FREE.replace(
        "</worldbody>", f'<body><joint name="s" type="slide"/><joint name="b" type="ball"/>{BALL}</body></worldbody>'
    )
    model = compiled(
        text
        + '<actuator><motor joint="hip" name="a"/><adhesion body="leg" ctrlrange="0 1"/><motor joint="s"/></actuator>'
    )
    robot = lw.Robot.from_mujoco(model)
    maps = lw.formats.MujocoCoordinates(robot, model)
    rng = np.random.default_rng(1)
    q, v = robot.random_configuration(seed=1, size=3), rng.normal(size=(3, robot.nv))
    np.testing.assert_array_equal(maps.q(maps.qpos(q)), q)
    qvel = maps.qvel(q, v)
    np.testing.assert_allclose(maps.v(maps.qpos(q), qvel), v, atol=1e-14)
    h = 1e-6
    ahead, behind = (maps.velocity_map(robot.integrate(q, s * v)) for s in (h, -h))
    np.testing.assert_allclose(maps.velocity_map_rate(q, v), (ahead - behind) / (2 * h), atol=1e-8)
    moved, moved_qpos = np.zeros((model.nv,)), maps.qpos(robot.integrate(q, h * v))
    for k in range(3):  # qvel is the rate of qpos in MuJoCo's sense
        mujoco.mj_differentiatePos(model, moved, h, maps.qpos(q)[k], moved_qpos[k])
        np.testing.assert_allclose(moved, qvel[k], atol=1e-5)
    assert maps.controls([1.0, 2.0, 3.0]).tolist() == [1.0, 3.0] and maps.ctrl([1.0, 3.0]).tolist() == [1.0, 0.0, 3.0]
    with pytest.raises(ValueError, match=r"MujocoCoordinates.q: qpos: expected an array .* of shape \(..., 13\)"):
        maps.q([1.0])
    with pytest.raises(TypeError, match=r"expected a mujoco\.MjModel"):
        lw.formats.MujocoCoordinates(robot, robot)
    fixed = lw.Robot.from_mujoco(model, floating_base=False)
    maps = lw.formats.MujocoCoordinates(fixed, model)
    np.testing.assert_array_equal(maps.qpos(fixed.neutral())[:3], [1.0, 2.0, 3.0])
    assert maps.velocity_map(fixed.neutral()).shape == (model.nv, fixed.nv)
    locked = robot.with_locked_joints({"s": 0.0})
    qpos = lw.formats.MujocoCoordinates(locked, model).qpos(locked.neutral())
    np.testing.assert_array_equal(qpos[:3], locked.neutral()[4:7])


def test_mujoco_specifications_are_compiled_and_other_types_are_refused():
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="rod")
    body.add_joint(name="hinge")
    body.add_geom(size=[0.1, 0.0, 0.0])
    assert [joint.name for joint in lw.Robot.from_mujoco(spec).joints] == ["hinge"]
    with pytest.raises(TypeError, match=r"from_mujoco: model: expected a mujoco\.MjModel or MjSpec, got str"):
        lw.Robot.from_mujoco("arm.xml")
    body.first_geom().type = mujoco.mjtGeom.mjGEOM_MESH
    with pytest.raises(lw.errors.ModelError, match="MuJoCo cannot compile the model"):
        lw.Robot.from_mujoco(spec)
