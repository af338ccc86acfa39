"""Actuators of MJCF: their forces against MuJoCo's, and those that are named instead."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation import actuator_torque

mujoco = pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")
pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

from benchmarks.formats.mjcf_comparison import random_states  # noqa: E402

BODIES = """<worldbody>
  <body name="a"><joint name="ball" type="ball" pos=".1 .2 .3"/><geom size=".1" pos=".2 0 0"/>
    <body pos=".3 .2 .1"><joint name="other"/><geom size=".1"/><site name="w" pos=".2 .3 .1" euler="20 30 50"/></body>
    <body euler="10 20 30"><joint type="ball" name="turned"/><geom size=".1" pos=".3 0 0"/>
    <site name="s" pos=".1 .2 .3" euler="10 20 30"/><site name="beside"/>
      <body name="tip" pos=".3 0 0"><joint name="h" ref="20"/><joint type="slide" name="sl" axis="1 1 1" ref=".2"/>
      <geom size=".2"/>
        <site name="r" pos=".1 .1 .1" euler="40 50 60"/></body></body></body>
  <body name="f"><freejoint name="f"/><geom size=".1"/></body></worldbody>
<tendon><fixed name="t"><joint joint="h" coef="2"/><joint joint="sl" coef="-3"/></fixed>
  <spatial name="rope"><site site="r"/><site site="w"/></spatial></tendon>"""

AFFINE = 'gaintype="affine" gainprm="2 3 4" biastype="affine" biasprm="1 2 3"'
TAKEN = (
    f'<general site="r" refsite="s" gear="1 2 3 4 5 6" {AFFINE}/>',
    f'<general site="r" refsite="w" gear="1 2 3 4 5 6" {AFFINE}/>',
    f'<general site="r" gear="1 2 3 4 5 6" {AFFINE}/>',
    '<position joint="h" kp="3" kv="2" gear="4" forcerange="-1 1"/>',
    '<position joint="other" kp="3" dampratio="1" inheritrange="0"/>',
    '<velocity joint="sl" kv="3" gear="2"/>',
    '<motor tendon="t" gear="3" ctrlrange="-1 1"/>',
    f'<general tendon="t" gear="3" ctrlrange="-1 1" {AFFINE}/>',
    f'<general joint="ball" gear="1 2 3" {AFFINE}/>',
    f'<general jointinparent="turned" gear="1 2 3" {AFFINE}/>',
    '<general joint="f" gear="0 0 0 1 2 3" biastype="affine" biasprm="1 0 3"/>',
    '<motor joint="f" gear="1 2 3 0 0 0"/>',
    '<motor jointinparent="f" gear="1 2 3 4 5 6"/>',
    '<damper joint="h" kv="3" ctrlrange="0 2"/>',
)


def compiled(actuators, more=""):
    return mujoco.MjModel.from_xml_string(f"<mujoco>{more}{BODIES}<actuator>{actuators}</actuator></mujoco>")


def test_mjcf_actuators_exert_the_forces_of_mujoco():
    """All actuators act at once, each with a control of its own: their sum is MuJoCo's."""
    lines = TAKEN if int(mujoco.__version__.split(".")[0]) >= 4 else TAKEN[2:]  # older ones move the common joints
    model = compiled("".join(lines))
    robot = lw.Robot.from_mujoco(model)
    assert len(robot.actuators) == len(lines) and not robot.report.repairs
    maps, data = lw.formats.MujocoCoordinates(robot, model), mujoco.MjData(model)
    for (qpos, qvel), k in zip(zip(*random_states(model, 2), strict=True), range(2), strict=True):
        data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, qvel, np.cos(np.arange(model.nu) + k)
        mujoco.mj_forward(model, data)
        q = maps.q(qpos)
        theirs = maps.velocity_map(q).T @ data.qfrc_actuator
        ours = actuator_torque(robot, q, maps.v(qpos, qvel), maps.controls(data.ctrl))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * abs(theirs).max())


COUPLED = f"""<mujoco><worldbody><body><joint name="first" axis="1 2 3"/><geom size=".1" pos=".1 .2 .3"/>
  <body pos=".3 .1 .2"><joint name="second" axis="3 1 2"/><geom size=".1" pos=".2 .1 .1"/>
  <site name="s" pos=".2 .3 .1"/><body pos=".1 .3 .2"><joint name="third" axis="2 1 1"/>
  <geom size=".1" pos=".1 .1 .3"/><site name="r" pos=".3 .1 .2"/></body></body></body>
  </worldbody><equality><joint joint1="third" joint2="first" polycoef=".1 -1.5 0 0 0"/></equality>
  <actuator><general site="r" refsite="s" gear="1 2 3 4 5 6" {AFFINE}/></actuator></mujoco>"""


def test_actuator_between_two_frames_moves_only_joints_between_them():
    """The third joint, which is between the frames, follows the first, which moves both."""
    model = mujoco.MjModel.from_xml_string(COUPLED)
    if int(mujoco.__version__.split(".")[0]) < 4:
        pytest.skip("older ones move the common joints")
    robot, data = lw.Robot.from_mujoco(model, mimic="coupled"), mujoco.MjData(model)
    maps = lw.formats.MujocoCoordinates(robot, model)
    q, v = np.array([0.4, -0.7]), np.array([1.2, 0.3])
    data.qpos[:], data.qvel[:], data.ctrl[:] = [0.4, -0.7, -0.5], maps.velocity_map(q) @ v, 0.7
    mujoco.mj_forward(model, data)
    theirs = maps.velocity_map(q).T @ data.qfrc_actuator
    np.testing.assert_allclose(actuator_torque(robot, q, v, [0.7]), theirs, rtol=0, atol=1e-13 * abs(theirs).max())


def test_mjcf_actuators_have_the_kinds_and_ranges_stated_in_the_file():
    robot = lw.Robot.from_mujoco(compiled("".join(TAKEN)))
    kinds = [actuator.kind for actuator in robot.actuators]
    assert kinds[3:7] == ["position", "position", "velocity", "motor"]
    assert robot.actuators["actuator3"].force_range == (-1.0, 1.0)
    assert robot.actuators["actuator6"].control_range == (-1.0, 1.0)
    assert robot.actuators["actuator6"].joints == (("h", (6.0,)), ("sl", (-9.0,)))
    open_ended = lw.Robot.from_mujoco(compiled(TAKEN[6], '<option><flag clampctrl="disable"/></option>'))
    assert open_ended.actuators["actuator0"].control_range == (-np.inf, np.inf)


NAMED = {
    '<motor name="x" tendon="rope"/>': "it acts on a spatial tendon",
    '<motor name="x" joint="f" gear="1 0 0 1 0 0"/>': "a force in the world's axes together with a torque",
    '<general name="x" joint="f" gear="0 0 0 1 0 0" biastype="affine" biasprm="0 1 0"/>': "length of a free joint",
    '<muscle name="x" joint="h" lengthrange="0 1"/>': "gain type 'muscle'",
    '<adhesion name="x" body="f" ctrlrange="0 1"/>': "transmission 'body'",
    '<general name="x" cranksite="w" slidersite="s" cranklength=".3"/>': "transmission",
    '<motor name="x" site="r" gear="0"/>': "its gear is zero",
    '<motor name="x" jointinparent="f" gear="0"/>': "its joint is fixed, or its gear is zero",
    '<general name="x" joint="h" dyntype="user" actdim="1"/>': "activation dynamics 'user'",
    '<general name="x" joint="h" biastype="user"/>': "bias type 'user'",
    '<motor name="x" site="s" refsite="beside" gear="1 2 3 4 5 6"/>': "site and refsite are on one rigid body",
    '<general name="x" joint="f" gear="0 0 0 1 0 0" gaintype="affine" gainprm="1 1 0"/>': "length of a free joint",
}


def test_mjcf_actuators_without_a_counterpart_are_reported():
    for line, reason in NAMED.items():
        robot = lw.Robot.from_mujoco(compiled(line + '<motor name="y" joint="h"/>'))
        (issue,) = robot.report.repairs
        assert issue.code == "UNSUPPORTED" and "actuator 'x' is not taken" in issue.message and reason in issue.message
        assert "x]" in str(issue.where.element) and [actuator.name for actuator in robot.actuators] == ["y"]
    with pytest.raises(lw.errors.ModelError, match="gain type 'muscle'"):
        lw.Robot.from_mujoco(compiled('<muscle name="x" joint="h" lengthrange="0 1"/>'), strict=True)


def test_actuators_of_fixed_joints_and_of_free_joints_by_their_rates_are_distinguished():
    for line, fixed, reason in (
        ('<motor name="x" joint="f" gear="0 0 0 1 2 3"/>', True, "joint 'f' is fixed"),
        ('<motor name="x" jointinparent="f" gear="1 2 3 0 0 0"/>', True, "its joint is fixed"),
        ('<motor name="x" joint="f" gear="0 0 0 1 2 3"/>', False, ""),
        ('<general name="x" joint="f" gear="0 0 0 1 0 0" gainprm="1 1 0"/>', False, ""),  # of a fixed gain, the first
        ('<general name="x" joint="f" gear="0 0 0 1 0 0" gaintype="affine" gainprm="1 0 2"/>', False, ""),
    ):
        robot = lw.Robot.from_mujoco(compiled(line), floating_base=False if fixed else None)
        assert ([reason in x.message for x in robot.report.repairs], len(robot.actuators)) == (
            ([True], 0) if reason else ([], 1)
        )


def test_mjcf_activation_dynamics_are_reported_and_the_control_acts_directly():
    line = '<general name="x" joint="h" dyntype="{}" dynprm=".3" gainprm="2"/>'
    for kind, of in (("filter", "with the time constant 0.3 s"), ("filterexact", "0.3 s"), ("integrator", "")):
        robot = lw.Robot.from_mujoco(compiled(line.format(kind)))
        (issue,) = robot.report.repairs
        assert issue.code == "UNSUPPORTED" and f"its activation ({kind}" in issue.message and of in issue.message
        assert robot.actuators["x"].gain == (2.0, 0.0, 0.0)


def test_disabled_mjcf_actuators_are_left_out():
    lines = '<motor name="x" joint="h" group="2"/><motor name="y" joint="h"/>'
    robot = lw.Robot.from_mujoco(compiled(lines, '<option actuatorgroupdisable="2"/>'))
    assert [actuator.name for actuator in robot.actuators] == ["y"] and not robot.report.repairs
    robot = lw.Robot.from_mujoco(compiled(lines, '<option><flag actuation="disable"/></option>'))
    assert not robot.actuators


def test_mjcf_actuators_on_a_hinge_or_slide_are_equal_in_its_own_and_the_parents_axes():
    for joint in ("h", "sl"):
        alone, in_parent = (
            lw.Robot.from_mujoco(compiled(f'<motor name="m" {kind}="{joint}" gear="4"/>')).actuators["m"]
            for kind in ("joint", "jointinparent")
        )
        assert alone == in_parent and alone.joints == ((joint, (4.0,)),)
