"""Robots: loading by name, path and text; properties; compiled functions."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning, UnknownNameError
from linkwork.joints import Fixed, Floating, Prismatic, Revolute
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import ROBOT
from oracles.example_robots import shipped
from oracles.scalars import names_for, share

TEXT = """
<robot name="one">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="30" velocity="4"/><dynamics damping="0.5" friction="0.25"/></joint>
</robot>"""


@pytest.fixture(scope="module")
def robot():
    return lw.Robot.from_urdf_string(TEXT)


@pytest.fixture(scope="module")
def legs():
    return shipped("quadruped")


@pytest.fixture(scope="module")
def arm():
    return shipped("arm7")


# -- where robots come from


def test_robots_can_be_loaded_by_name_path_and_text(tmp_path, robot):
    file = tmp_path / "one.urdf"
    file.write_text(TEXT, encoding="utf-8")
    for result in (
        lw.load(file),
        lw.load(str(file)),
        lw.Robot.from_urdf(file),
        lw.Robot.from_urdf_string(TEXT.encode()),
    ):
        assert result == robot
    assert lw.load("arm7") == lw.load(lw.robots.path("arm7"))
    assert lw.load("arm7").tree.source == str(lw.robots.path("arm7"))


def test_load_prefers_names_of_bundled_robots_to_files(tmp_path, monkeypatch):
    """Names of bundled robots come first; any other name may be a file in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("arm7", "mine"):
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    assert lw.load("arm7").name != "one"
    assert lw.load("./arm7").name == "one"
    assert lw.load("mine").name == "one"


def test_unknown_robots_and_robot_files_are_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'arm7'"):
        lw.load("arm77")
    for missing in ("nowhere.urdf", tmp_path / "nowhere", "./arm77"):
        with pytest.raises(FileNotFoundError, match=r"nowhere|arm77"):
            lw.load(missing)
    with pytest.raises(ModelError, match="directory"):
        lw.load(tmp_path)
    with pytest.raises(ModelError, match="from_urdf_string"):
        lw.load(TEXT)
    with pytest.raises(ModelError, match=r"linkwork\.load"):
        lw.Robot.from_urdf_string("robots/one.urdf")
    for wrong in (None, 3, ["arm7"]):
        with pytest.raises(TypeError, match="expected a string or a path"):
            lw.load(wrong)


def test_gravity_is_an_option_of_load_and_affects_dynamics(robot):
    moon = lw.Robot.from_urdf_string(TEXT, gravity=(0, 0, -1.62))
    q = np.array([0.3])
    assert np.array_equal(moon.gravity, [0.0, 0.0, -1.62])
    assert moon.gravity_force(q) == pytest.approx(robot.gravity_force(q) * (1.62 / 9.81), rel=1e-15)
    assert moon != robot
    assert lw.Robot.from_urdf_string(TEXT, gravity=np.zeros(3)).gravity_force(q) == 0.0
    for wrong in ((0, 0), "down", -9.81, (0, 0, "x")):
        with pytest.raises(ValueError, match="gravity: expected three numbers"):
            lw.Robot.from_urdf_string(TEXT, gravity=wrong)
    for wrong in ((0, 0, np.nan), (0, 0, -np.inf)):
        with pytest.raises(ValueError, match="three finite numbers"):
            lw.load("arm7", gravity=wrong)


def test_floating_base_adds_seven_positions_and_six_velocities(robot):
    free = lw.Robot.from_urdf_string(TEXT, floating_base=True)
    assert (free.nq, free.nv) == (robot.nq + 7, robot.nv + 6)
    base = free.joints[0]
    assert (base.name, base.parent, base.child, base.type) == ("floating_base", "world", "base", Floating())
    assert np.array_equal(free.neutral()[:7], [1, 0, 0, 0, 0, 0, 0])
    assert free != robot
    q = np.concatenate([free.neutral()[:7], [0.3]])
    assert np.array_equal(free.pose(q, "arm"), robot.pose(q[7:], "arm"))


def test_option_strict_of_load_turns_repairs_into_errors():
    text = TEXT.replace('xyz="0 1 0"', 'xyz="0 2 0"')
    with pytest.warns(ModelWarning, match="the axis has length 2"):
        assert [issue.code for issue in lw.Robot.from_urdf_string(text).report.warnings] == ["AXIS_NORM"]
    with pytest.raises(ModelError, match="AXIS_NORM"):
        lw.Robot.from_urdf_string(text, strict=True)


# -- what it is


def test_robot_object_states_its_name_sizes_and_mass(robot):
    assert (robot.name, robot.nq, robot.nv, robot.mass) == ("one", 1, 1, 2.0)
    assert robot.bodies == ("arm",)
    assert robot.frames == ("base", "arm")
    assert repr(robot) == "<Robot 'one': 1 moving body, 1 degree of freedom>"
    assert robot.report.warnings == ()


def test_joint_objects_state_their_links_type_and_slices(robot, legs):
    hinge = robot.joint("hinge")
    assert hinge == robot.joints[0]
    assert (hinge.name, hinge.parent, hinge.child, hinge.type_name) == ("hinge", "world", "arm", "revolute")
    assert isinstance(hinge.type, Revolute)
    assert (hinge.nq, hinge.nv, hinge.q_slice, hinge.v_slice) == (1, 1, slice(0, 1), slice(0, 1))
    bounds = (hinge.lower, hinge.upper, hinge.velocity, hinge.effort, hinge.damping, hinge.friction)
    assert [bound.tolist() for bound in bounds] == [[-1.0], [2.0], [4.0], [30.0], [0.5], [0.25]]
    assert hinge.mimic is None
    assert repr(hinge) == "<Joint 'hinge': revolute, 'world' -> 'arm'>"
    base, knee = legs.joint("floating_base"), legs.joint("hind_right_knee")
    assert (base.q_slice, base.v_slice) == (slice(0, 7), slice(0, 6))
    assert base.upper.tolist() == [np.inf] * 7
    assert base.velocity.shape == (6,)
    assert legs.joints.index(knee) + 6 == knee.q_slice.start == knee.v_slice.start + 1
    starts = [joint.q_slice.start for joint in legs.joints]
    assert starts == sorted(starts)
    assert legs.joints[-1].q_slice.stop == legs.nq


def test_mimic_joints_are_free_and_listed_by_default():
    gripper = shipped("arm7_gripper")
    followers = [joint for joint in gripper.joints if joint.mimic]
    assert followers
    for joint in followers:
        assert gripper.joint(joint.mimic.joint)
        assert joint.nv == 1


def test_joints_of_equal_robots_compare_equal(legs):
    again = lw.load("quadruped", floating_base=True)
    assert legs.joints == again.joints
    assert {*legs.joints} == {*again.joints}
    assert legs.joints[0] != legs.joints[1]
    assert pickle.loads(pickle.dumps(legs.joints)) == legs.joints


def test_attributes_of_a_robot_cannot_be_changed(arm):
    body, joint, frame = arm.tree.bodies[0], arm.joints[0], arm.tree.frames[0]
    for value, name in ((arm.tree, "name"), (body, "name"), (body, "inertia"), (joint, "name"), (frame, "body"),
                        (body.joint, "axis"), (body.inertia, "mass"), (body.placement, "rotation")):  # fmt: skip
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(value, name, None)
    for name in ("name", "gravity", "nq", "anything"):
        with pytest.raises(AttributeError, match=r"of 'Robot' object has no setter|no attribute"):
            setattr(arm, name, None)
    for bound in (joint.lower, joint.upper, joint.velocity, joint.effort, joint.damping, joint.friction):
        with pytest.raises(ValueError, match="read-only"):
            bound[0] = 0.0
    assert isinstance(arm.joints, tuple)
    arm.gravity[2] = arm.neutral()[0] = 100.0  # copies
    assert arm.gravity[2] == -9.81
    assert arm.neutral()[0] == 0.0


# -- configurations


def test_random_configurations_of_a_robot_lie_within_its_limits(arm, legs):
    for robot in (arm, legs):
        q = robot.random_configuration(seed=0, size=1000)
        lower, upper = (np.concatenate([getattr(j, side) for j in robot.joints]) for side in ("lower", "upper"))
        assert np.all((lower <= q) & (q <= upper))
        bounded = np.isfinite(lower) & np.isfinite(upper)
        assert np.all(np.ptp(q[:, bounded], axis=0) > 0.9 * (upper - lower)[bounded])  # and all of it is drawn from
    norms = np.linalg.norm(legs.random_configuration(seed=1, size=100)[:, :4], axis=-1)
    assert np.max(np.abs(norms - 1.0)) <= 1e-15
    free = lw.load("double_pendulum")
    assert any(np.isinf(joint.upper[0]) for joint in free.joints)
    assert np.all(np.abs(free.random_configuration(seed=0, size=100)) <= np.pi)


def test_random_configurations_of_a_robot_depend_on_seed_and_size(arm):
    assert np.array_equal(arm.random_configuration(seed=3), arm.random_configuration(seed=3))
    assert np.array_equal(arm.random_configuration(seed=3), arm.random_configuration(np.random.default_rng(3)))
    generator = np.random.default_rng(3)
    first = arm.random_configuration(generator)
    assert not np.array_equal(first, arm.random_configuration(generator))
    assert not np.array_equal(arm.random_configuration(), arm.random_configuration())
    for size, shape in ((None, ()), (5, (5,)), (np.int64(5), (5,)), ((2, 3), (2, 3)), ((), ()), (0, (0,))):
        assert arm.random_configuration(seed=0, size=size).shape == (*shape, arm.nq)
    joint = arm.joints[0]
    for draw in (arm.random_configuration, joint.random_configuration):
        for number in (100, np.int64(100)):
            with pytest.raises(TypeError, match="100 could be a seed or a size: write seed=100 or size=100"):
                draw(number)
        with pytest.raises(TypeError, match="could be a seed"):
            draw(rng=3)
        with pytest.raises(TypeError, match="positional"):
            draw(np.random.default_rng(0), 5)
        with pytest.raises(TypeError, match=r"expected a numpy\.random\.Generator.*got 'abc'"):
            draw("abc")
        with pytest.raises(TypeError, match="a generator or a seed, got both"):
            draw(np.random.default_rng(0), seed=3)
        with pytest.raises(ValueError, match=">= 0"):
            draw(size=-1)
    for size in (-1, (2, -1)):
        with pytest.raises(ValueError, match=">= 0"):
            arm.random_configuration(seed=0, size=size)


# -- compiled code


def test_several_robot_functions_can_be_compiled_into_one_kernel(arm):
    kernel = arm.compile(["mass_matrix", "bias_force", ("jacobian", "hand")])
    q, v = arm.random_configuration(seed=0, size=4), np.ones(arm.nv)
    outputs = kernel(q, v)
    assert outputs._fields == ("mass_matrix", "bias_force", "jacobian")
    assert [port.name for port in kernel.inputs] == ["q", "v"]
    assert kernel.name == "mass_matrix_bias_force_jacobian"
    assert np.array_equal(outputs.mass_matrix, kernel(v=v, q=q).mass_matrix)
    # shared work is done once: sums may be in another order than alone
    assert np.allclose(outputs.bias_force, arm.bias_force(q, v), rtol=1e-12, atol=1e-12)
    assert np.allclose(outputs.jacobian, arm.jacobian(q, "hand"), rtol=1e-13, atol=1e-13)


def test_outputs_of_kernels_are_named_by_function_and_frame(arm):
    q = arm.neutral()
    hands = arm.compile([("pose", "hand"), ("pose", "tool"), "gravity_force"])
    assert hands(q)._fields == ("pose_hand", "pose_tool", "gravity_force")
    named = arm.compile({"M": "mass_matrix", "tip": ("jacobian", "tool", {"expressed_in": "tool"})}, name="both")
    assert named.name == "both"
    assert named(q)._fields == ("M", "tip")
    assert np.allclose(named(q).tip, arm.jacobian(q, "tool", expressed_in="tool"), atol=1e-14)
    single = arm.compile({"M": "mass_matrix"})
    assert isinstance(single(q), np.ndarray)
    assert arm.compile(("pose", {"frame": "hand", "relative_to": "tool"}))(q).shape == (4, 4)


def test_equal_compile_requests_return_the_same_kernel(arm):
    assert arm.compile("mass_matrix") is arm.compile("mass_matrix")
    assert arm.compile("mass_matrix") is arm.compile(["mass_matrix"])
    assert arm.compile(("pose", "hand")) is not arm.compile(("pose", "tool"))
    assert lw.load("arm7").compile("mass_matrix") is not arm.compile("mass_matrix")


def test_invalid_compile_requests_are_refused(arm):
    for empty in ([], {}):
        with pytest.raises(ValueError, match="at least one function"):
            arm.compile(empty)
    for twice in (["mass_matrix", "mass_matrix"], [("pose", "hand"), ("pose", "hand", {"relative_to": "tool"})]):
        with pytest.raises(ValueError, match="name them with a dict"):
            arm.compile(twice)
    with pytest.raises(UnknownNameError, match="no function named 'mas_matrix'; did you mean 'mass_matrix'"):
        arm.compile("mas_matrix")
    with pytest.raises(UnknownNameError, match="no function named 3"):
        arm.compile(3)
    with pytest.raises(UnknownNameError, match="no frame named 'hnd'; did you mean 'hand'"):
        arm.compile(("pose", "hnd"))
    wrong = ["pose", ("pose", "hand", "tool"), ("pose", "hand", {"point": "world"}), ("mass_matrix", "hand")]
    for request in wrong:
        with pytest.raises(TypeError, match=r": expected .*, got"):
            arm.compile(request)
    for name in ("1st", "a b", "_a", "class", 3):
        with pytest.raises(ValueError, match="named by identifiers"):
            arm.compile({name: "mass_matrix"})
    with pytest.raises(ValueError, match="name: expected an identifier"):
        arm.compile("mass_matrix", name="my kernel")


# -- a value


def test_robots_with_equal_content_compare_equal(arm, legs):
    again = lw.load("arm7")
    assert again == arm
    assert hash(again) == hash(arm)
    assert arm != legs
    assert arm != "arm7"
    assert {arm: 1}[again] == 1
    assert lw.load("arm7", floating_base=True) != arm


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))],
                         ids=["copy", "deepcopy", "pickle"])  # fmt: skip
def test_copied_and_unpickled_robots_give_equal_bits(legs, clone):
    copied = clone(legs)
    assert copied == legs
    assert hash(copied) == hash(legs)
    assert copied.joints == legs.joints
    assert copied.report == legs.report
    assert copied.tree.source == legs.tree.source
    q = legs.random_configuration(seed=0, size=5)
    assert np.array_equal(copied.gravity_force(q), legs.gravity_force(q))


# -- robots that do not move


RESTING = {
    "a rock": lw.Robot.from_urdf_string('<robot name="rock"><link name="rock"/></robot>'),
    "fixed bodies": lw.Robot(random_tree(np.random.default_rng(0), 3, types=[Fixed])),
    "nothing at all": lw.Robot(random_tree(np.random.default_rng(0), 0, types=[Prismatic])),
}


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", RESTING)
def test_robots_without_degrees_of_freedom_support_all_functions(name):
    """Every function of fixed bodies, a third of them of each other robot."""
    functions = ROBOT if name == "fixed bodies" else share([*RESTING].index(name), 3)
    for batch in ((), (3,), (0,)):
        results_without_joints(RESTING[name], functions, batch)


def results_without_joints(robot, functions, batch):
    empty, bodies = np.zeros((*batch, 0)), len(robot.bodies)
    assert (robot.nq, robot.nv) == (0, 0)
    assert robot.neutral().shape == (0,)
    assert robot.random_configuration(seed=0, size=batch).shape == (*batch, 0)
    sizes = dict.fromkeys(("nq", "nv", "2nv", "nc", "ne", "nfe", "ni", "nk", "nl", "nlq", "nloops"), 0)
    sizes |= {"nb": bodies, "npi": 10 * bodies}
    for row in map(ROBOT.get, functions):
        frame = names_for(robot.tree, row, robot.frames[0])
        arrays = [empty] * len(row.inputs)
        if robot.mass == 0.0 and row.name.startswith(("center_of_mass", "centroidal", "locked_inertia")):
            with pytest.raises(ValueError, match="without mass"):
                getattr(robot, row.name)(*arrays)
            continue
        result = getattr(robot, row.name)(*arrays, *frame)
        for output, part in zip(row.outputs, result if isinstance(result, tuple) else (result,), strict=True):
            assert part.shape == (*batch, *(sizes.get(n, n) for n in output.shape if n != "np")), row.name
    for wrong in (np.zeros(1), np.zeros((*batch, 3)), 0.0):
        with pytest.raises(ValueError, match=r"expected an array of shape \(\.\.\., 0\)"):
            robot.mass_matrix(wrong)
