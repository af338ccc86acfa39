"""Meaning of MJCF elements: robots compared with MuJoCo at random states, one small model for each meaning."""

import numpy as np
import pytest

import linkwork as lw

mujoco = pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")
pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

from benchmarks.formats.mjcf_comparison import deviations  # noqa: E402

from linkwork.formats.mjcf.compiled_model import CompiledModel  # noqa: E402

MODELS = {
    "default classes": """<default><joint armature=".1"/><geom density="500"/>
        <default class="heavy"><geom density="3000" type="box" size=".1 .2 .3"/><joint axis="1 0 0"/>
          <default class="inner"><joint damping="2"/></default></default></default>
      <worldbody><body childclass="heavy"><joint class="inner"/><geom/>
        <body pos=".5 0 0"><joint class="main"/><geom/><geom class="main" type="sphere" size=".2"/></body></body>
        </worldbody>""",
    "several joints": """<worldbody><body pos="1 2 3" euler="10 20 30">
    <joint name="x" type="slide" axis="1 1 0" pos=".1 .2 .3"/>
        <joint name="y" pos=".3 -.2 .1" axis="0 1 1"/><joint name="z" axis="1 2 3" pos="-.1 .2 .1"/>
        <geom size=".1" pos=".3 0 .1"/><body pos=".1 .1 0"><joint type="slide" axis="1 2 0"/>
        <joint type="ball" pos=".2 0 .1"/>
        <geom size=".1" pos="0 .2 0"/></body></body></worldbody>""",
    "ref": """<worldbody><body pos="1 0 0"><joint name="h" ref="40" pos=".1 .2 .3" axis="1 2 3"/>
    <geom size=".1" pos=".2 0 0"/>
        <body euler="0 30 0"><joint type="slide" ref=".3" axis="0 1 1"/><joint ref="-20"/>
        <geom size=".1" pos="0 0 .3"/></body>
        </body></worldbody>""",
    "springs and damping": """<worldbody><body>
    <joint stiffness="3" springref="30" ref="10" damping=".5" frictionloss=".2"/>
        <geom size=".1" pos=".2 0 0"/><body pos=".3 0 0"><joint type="ball" stiffness="4" damping=".3"/>
        <geom size=".1" pos=".1 .1 0"/>
        <body pos="0 .3 0"><joint type="slide" stiffness="5" springref=".2" springdamper="0 0"/><geom size=".1"/>
        </body></body></body></worldbody>""",
    "springs of free bodies": """<worldbody><body pos=".4 .1 1" euler="10 20 30"><joint type="free" stiffness="3"/>
    <geom type="box" size=".1 .2 .3" pos=".1 0 0"/></body></worldbody>""",
    "springdamper": """<worldbody><body><joint springdamper="0.1 0.7"/><geom size=".1" pos=".2 0 0"/></body>
    </worldbody>""",
    "radians and eulerseq": """<compiler angle="radian" eulerseq="ZYX"/><worldbody><body euler=".1 .2 .3">
    <joint ref=".4"/>
        <geom type="box" size=".1 .2 .3" euler=".4 .5 .6" pos=".1 0 0"/><body axisangle="1 2 3 .7">
        <joint axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .3 .2 .1" size=".05"/></body></body></worldbody>""",
    "inertiafromgeom": """<compiler inertiafromgeom="true" inertiagrouprange="0 2"/><worldbody><body><joint/>
        <inertial mass="5" pos="1 1 1" diaginertia="1 1 1"/><geom size=".1" pos=".2 0 0" contype="0" conaffinity="0"/>
        <geom size=".3" group="3"/></body></worldbody>""",
    "inertials": """<worldbody><body><joint/><inertial mass="2" pos=".1 .2 .3" fullinertia="1 2 2.5 .1 .2 .3"/>
        <body pos=".2 0 0"><joint axis="0 1 0"/>
        <inertial mass="1" pos="0 0 .1" quat="1 2 3 4" diaginertia=".3 .2 .2"/></body></body></worldbody>""",
    "welded bodies": """<worldbody><body pos=".1 0 0"><geom size=".1"/><body euler="10 0 0"><joint/>
    <geom size=".1" pos=".1 0 0"/>
        <body pos="0 .2 0" quat="1 1 0 0"><geom type="cylinder" size=".1 .2"/><body pos=".1 .2 .3">
        <joint type="ball"/>
        <geom size=".1" pos="0 .1 0"/></body></body></body></body></worldbody>""",
    "free bodies": """<worldbody><body pos="0 0 1" euler="10 20 30"><freejoint/>
    <geom type="box" size=".1 .2 .3" pos=".1 0 0"/>
        <body pos=".3 0 0"><joint/><geom size=".1" pos=".2 0 0"/></body></body>
        <body><joint type="free" damping=".3"/><geom size=".2" pos="0 .1 0"/></body><body mocap="true" pos="1 0 0">
        <geom size=".1"/></body></worldbody>""",
    "frames and copies": """<worldbody><frame pos=".1 .2 .3" euler="0 0 40"><body><joint/>
    <geom size=".1" pos=".2 0 0"/></body></frame>
        <replicate count="3" euler="0 0 60" offset=".1 0 .2"><body pos="1 0 0"><joint axis="0 1 0"/>
        <geom size=".1" pos=".1 0 0"/>
        <site name="s"/></body></replicate></worldbody>""",
    "masses of the compiler": """<compiler boundmass=".3" boundinertia=".01" balanceinertia="true"
    settotalmass="7"/><worldbody>
        <body><joint/><geom size=".01" pos=".1 0 0"/><body><joint axis="0 1 0"/>
        <inertial mass="1" pos="0 0 .1" diaginertia="1 1 3"/></body>
        </body></worldbody>""",
    "rotors of actuators": """<worldbody><body><joint name="j" armature=".1" damping=".2"/>
    <geom size=".1" pos=".2 0 0"/></body></worldbody>
        <actuator><motor joint="j" gear="10"/></actuator>""",
    "meshes": """<asset><mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1  1 1 1" scale=".1 .2 .3"/></asset>
        <worldbody><body><joint/><geom type="mesh" mesh="m" pos=".1 0 0" euler="10 20 30"/></body></worldbody>""",
    "gravity": """<option gravity="1 2 -3"/><worldbody><body><joint/><geom size=".1" pos=".2 0 0"/></body>
    </worldbody>""",
}


@pytest.mark.parametrize("name", MODELS)
def test_mjcf_robots_have_the_dynamics_of_mujoco(name):
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{MODELS[name]}</mujoco>")
    robot = lw.Robot.from_mujoco(model)
    result = deviations(robot.tree, model, count=4)
    assert set(result) >= {"M", "bias", "passive", "position", "rotation", "center", "mass", "equality"}
    assert {key: x for key, x in result.items() if not x < 1e-12} == {}
    assert robot.nv == model.nv


def test_mjcf_actuator_armature_is_added_to_the_joint():
    xml = MODELS["rotors of actuators"].replace('gear="10"', 'gear="10" armature=".02" damping=".03"')
    try:
        model = mujoco.MjModel.from_xml_string(f"<mujoco>{xml}</mujoco>")
    except ValueError:
        pytest.skip("this MuJoCo has no armature of actuators")
    tree = lw.Robot.from_mujoco(model).tree
    assert tree.bodies[0].armature == [0.1 + 0.02 * 100.0]
    assert tree.bodies[0].damping == (0.2 + 0.03 * 100.0,)
    assert {key: x for key, x in deviations(tree, model, count=4).items() if not x < 1e-12} == {}


def test_mjcf_gravity_and_passive_forces_follow_the_options():
    option = '<option gravity="1 2 -3"><flag {}/></option>'
    joint = '<joint stiffness="3" damping="2" frictionloss="1" limited="true" range="-1 1"/>'
    body = f'<worldbody><body>{joint}<geom size=".1"/></body></worldbody>'

    def loaded(flag):
        return lw.Robot.from_mujoco(mujoco.MjModel.from_xml_string(f"<mujoco>{option.format(flag)}{body}</mujoco>"))

    assert loaded("").gravity.tolist() == [1.0, 2.0, -3.0]
    assert loaded('gravity="disable"').gravity.tolist() == [0.0, 0.0, 0.0]
    joint = loaded("").joint("joint0")
    assert joint.stiffness.tolist() == [3.0] and joint.damping.tolist() == [2.0] and joint.friction.tolist() == [1.0]
    assert loaded('frictionloss="disable"').joint("joint0").friction.tolist() == [0.0]
    assert loaded('limit="disable"').position_limits[0].tolist() == [-float("inf")]
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{body}</mujoco>")
    bits = mujoco.mjtDisableBit.__members__
    for name in {"mjDSBL_PASSIVE", "mjDSBL_SPRING", "mjDSBL_DAMPER"} & set(bits):
        model.opt.disableflags |= int(bits[name])
    joint = lw.Robot.from_mujoco(model).joint("joint0")
    assert joint.stiffness.tolist() == joint.damping.tolist() == [0.0]


def test_compiled_dynamics_of_joints_off_the_body_origin_equal_mujoco():
    """Kernels use a simplified tree, in which joints off their body's origin are other constants."""
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{MODELS['several joints']}</mujoco>")
    robot, data = lw.Robot.from_mujoco(model), mujoco.MjData(model)
    maps = lw.formats.MujocoCoordinates(robot, model)
    q, v = robot.random_configuration(seed=1), np.linspace(-1.0, 2.0, robot.nv)
    data.qpos[:], data.qvel[:] = maps.qpos(q), maps.qvel(q, v)
    mujoco.mj_forward(model, data)
    acceleration = robot.forward_dynamics(q, v, np.zeros(robot.nv), passive=True)
    np.testing.assert_allclose(acceleration, data.qacc, rtol=1e-10)


QUATERNIONS = """<worldbody><site name="s" euler="1 2 3"/><body name="b" pos="0 0 .3"><freejoint/><geom size=".2"/>
  <body name="c" euler="3 4 5"><joint type="ball"/><geom type="box" size=".2 .1 .3" euler="10 20 30"/></body></body>
  <body name="d"><joint/><geom size=".1"/></body></worldbody>
  <equality><weld body1="c" body2="d"/></equality><keyframe><key name="k" qvel="1 2 3 4 5 6 7 8 9 1"/></keyframe>"""


def poses_of_parts(robot):
    """The rotations of all joints, frames, shapes, inertias and welds of a robot, as one array."""
    tree = robot.tree
    poses = [body.placement for body in tree.bodies] + [frame.placement for frame in tree.frames]
    poses += [shape.origin for frame in tree.frames for shape in frame.collisions]
    poses += [constraint.pose for constraint in tree.constraints]
    inertias = [frame.inertia.about for frame in tree.frames]
    return np.array([[*map(float, X.elements())] for X in poses]), np.array([[x.xx, x.xy, x.zz] for x in inertias])


def test_fields_missing_in_the_installed_mujoco_have_their_default_values():
    source = CompiledModel(mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>"))
    assert source.array("no_such_field", [3]) == [3] and source.array("nbody", [3]) == 1
    assert source.array("body_mass") == [0.0]


def test_quaternions_read_from_a_compiled_mujoco_model_are_normalized():
    fields = {"body_quat": 2, "body_iquat": 2, "geom_quat": 1, "site_quat": 0, "eq_data": (0, slice(6, 10))}
    fields |= {"qpos0": slice(3, 7), "key_qpos": (0, slice(7, 11))}
    for name, at in fields.items():
        for factor, code in {0.0: "QUAT_NORM", np.nan: "NOT_FINITE", 1.01: "QUAT_NORM"}.items():
            model = mujoco.MjModel.from_xml_string(f"<mujoco>{QUATERNIONS}</mujoco>")
            getattr(model, name)[at] *= factor
            with pytest.raises(lw.errors.ModelError, match=rf"model\.{name}\[\d+\]: expected") as caught:
                lw.Robot.from_mujoco(model)
            assert [issue.code for issue in caught.value.issues] == [code]
        model = mujoco.MjModel.from_xml_string(f"<mujoco>{QUATERNIONS}</mujoco>")
        expected = lw.Robot.from_mujoco(model)
        getattr(model, name)[at] *= -1.00001
        with pytest.warns(lw.errors.ModelWarning, match="normalised"):
            robot = lw.Robot.from_mujoco(model)
        for second, expected_pose in zip(poses_of_parts(robot), poses_of_parts(expected), strict=True):
            np.testing.assert_allclose(second, expected_pose, rtol=0, atol=1e-14)
