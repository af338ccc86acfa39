"""The page for users of other libraries: its examples run, and its tables agree with the libraries."""

import doctest
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")

PAGE = Path(__file__).parents[2] / "docs" / "coming_from.md"
LINK = """<link name="{}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{}" type="continuous"><parent link="base"/><child link="{}"/><axis xyz="0 0 1"/></joint>"""


def test_examples_of_the_coming_from_page_run():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags, encoding="utf-8")
    assert result.attempted > 30
    assert result.failed == 0


def test_every_name_in_the_tables_of_the_coming_from_page_exists():
    """Names of linkwork and Pinocchio in the first two columns of the second table."""
    rows = [
        line.split("|") for line in PAGE.read_text(encoding="utf-8").split("## Names")[1].split("##")[0].splitlines()
    ]
    ours = [word for row in rows[4:] if len(row) > 3 for word in row[1].split("`")[1::2]]
    theirs = [word for row in rows[4:] if len(row) > 3 for word in row[2].split("`")[1::2]]
    assert len(ours) > 14
    robot = lw.load("double_pendulum")
    for word in ours:
        assert hasattr(robot, word.split("(")[0]), word
    model = pin.buildModelFromUrdf(str(lw.robots.path("double_pendulum")))
    for word in theirs:
        assert hasattr(pin, word) or hasattr(model, word) or word == "data.oMf", word


def test_libraries_order_joints_as_the_coming_from_page_states():
    """linkwork and MuJoCo keep the order of the file, Pinocchio sorts by joints' names."""
    pairs = (("j2", "a"), ("j1", "b"), ("j3", "c"))
    links = "".join(LINK.format(link) for _, link in pairs)
    joints = "".join(JOINT.format(*pair) for pair in pairs)
    text = f'<robot name="o"><link name="base"/>{links}{joints}</robot>'
    assert [joint.name for joint in lw.Robot.from_urdf_string(text).joints] == ["j2", "j1", "j3"]
    assert list(pin.buildModelFromXML(text).names)[1:] == ["j1", "j2", "j3"]
    model = mujoco.MjModel.from_xml_string(text)
    assert [model.joint(k).name for k in range(3)] == ["j2", "j1", "j3"]
    assert not model.jnt_limited.any()


def test_libraries_treat_roots_mimics_and_welded_links_as_the_coming_from_page_states():
    path = str(lw.robots.path("arm7_gripper"))
    ours, theirs, model = lw.load(path), pin.buildModelFromUrdf(path), mujoco.MjModel.from_xml_path(path)
    assert (ours.nq, theirs.nq, model.nq) == (9, 9, 9)  # fixed roots, free mimics
    assert model.neq == 1
    bodies = [model.body(k).name for k in range(model.nbody)]
    assert "hand" not in bodies and theirs.existFrame("hand") and "hand" in ours.frames
    assert theirs.lowerPositionLimit[0] == ours.lower[0]
    free = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    assert free.upperPositionLimit[0] > 1e308
    for gravity in (theirs.gravity.linear, model.opt.gravity):
        assert np.array_equal(gravity, ours.gravity)


def test_libraries_treat_damping_and_friction_as_the_coming_from_page_states():
    """Inverse dynamics of linkwork and Pinocchio omit them; MuJoCo has them as passive forces."""
    path = str(lw.robots.path("arm7"))
    ours, theirs, model = lw.load(path), pin.buildModelFromUrdf(path), mujoco.MjModel.from_xml_path(path)
    assert theirs.damping.any() and model.dof_damping.any()
    rng = np.random.default_rng(0)
    q = ours.random_configuration(rng)
    v, a = rng.normal(size=(2, ours.nv))
    tau = ours.inverse_dynamics(q, v, a)
    assert np.allclose(pin.rnea(theirs, theirs.createData(), q, v, a), tau, atol=1e-10)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    assert np.allclose(data.qfrc_bias, ours.bias_force(q, v), atol=1e-10)
    damping = np.concatenate([joint.damping for joint in ours.joints])
    assert np.allclose(data.qfrc_passive, -damping * v, atol=1e-12)
