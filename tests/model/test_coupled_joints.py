"""Robots with coupled joints: construction, properties, and refused couplings."""

import copy
import itertools
import json
import pickle
import re

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning, UnknownNameError
from linkwork.joints import Floating, Prismatic, Revolute
from linkwork.kernels.function_kernels import _content, compile_requests
from linkwork.kernels.function_request import read_request
from linkwork.model.body import Following, Limits
from linkwork.model.coupled_joints import bounds, with_couplings
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import robot_owner
from linkwork.spatial import Vec3
from oracles.comparison import assert_close
from oracles.example_robots import shipped
from urdf_texts import LIMIT, joint, link, robot

ENDS = [("base", "a"), ("a", "b"), ("base", "c"), ("c", "d")]


def text(**inner):
    joints = [
        joint(f"j{i}", *ends, "prismatic" if i == 3 else "revolute", LIMIT + inner.get(f"j{i}", ""))
        for i, ends in enumerate(ENDS)
    ]
    return robot(*map(link, ("base", *"abcd")), *joints)


@pytest.fixture(scope="module")
def free():
    return lw.Robot.from_urdf_string(text())


@pytest.fixture(scope="module")
def bound(free):
    return free.with_couplings({"j1": ("j3", -0.5, 0.25), "j2": ("j1", 2.0)})


# -- how they are made


def test_followers_share_the_coordinates_of_their_master_joint(free, bound):
    assert (free.nq, bound.nq, bound.nv) == (4, 2, 2)
    assert [j.name for j in bound.joints] == ["j0", "j1", "j2", "j3"]
    slices = {j.name: (j.q_slice, j.v_slice) for j in bound.joints}
    assert slices["j0"] == (slice(0, 1), slice(0, 1))
    assert slices["j1"] == slices["j2"] == slices["j3"] == (slice(1, 2), slice(1, 2))
    assert bound.joint("j2").lower == free.joint("j2").lower  # limits are its own
    coupled = {b.joint_name: b.coupling for b in bound.tree.bodies}
    assert coupled == {"j0": None, "j1": Following("j3", -0.5, 0.25), "j2": Following("j3", -1.0, 0.5), "j3": None}


def test_ratio_and_offset_of_a_coupling_have_defaults(free):
    coupled = free.with_couplings({"j1": ("j0", 1.0, 0.0)})
    assert (
        coupled
        == free.with_couplings({"j1": ("j0",)})
        == free.with_couplings({"j1": "j0"})
        == free.with_couplings({"j1": Following("j0")})
    )
    assert coupled != free.with_couplings({"j1": ("j0", 1.0, 1e-9)})
    assert free.with_couplings({}) == free


def test_couplings_can_be_added_in_any_order_and_replaced(free, bound):
    """A chain is equal in any order; a master may follow a joint later; a new coupling replaces the old."""
    parts = {"j1": ("j3", -0.5, 0.25), "j2": ("j1", 2.0)}
    for order in itertools.permutations(parts):
        coupled = free
        for name in order:
            coupled = coupled.with_couplings({name: parts[name]})
        assert coupled == bound
    assert bound.with_couplings({"j2": ("j0", 1.0)}).tree.bodies[2].coupling == Following("j0")
    assert bound.with_couplings({"j3": "j0"}).nq == 1


def test_mimic_joints_of_a_file_become_couplings_on_request(free, bound):
    document = text(j1='<mimic joint="j3" multiplier="-0.5" offset="0.25"/>', j2='<mimic joint="j1" multiplier="2"/>')
    loaded = lw.Robot.from_urdf_string(document, mimic="coupled")
    assert [b.coupling for b in loaded.tree.bodies] == [b.coupling for b in bound.tree.bodies]
    assert loaded.report.warnings == ()
    assert loaded.joint("j1").mimic.joint == "j3"  # the file's word stays
    left = lw.Robot.from_urdf_string(document)
    assert left.nq == 4 and [issue.code for issue in left.report.warnings] == ["MIMIC_FREE"]
    assert lw.load("arm7_gripper", mimic="coupled").nv == lw.load("arm7_gripper").nv - 1
    assert lw.Robot.from_urdf_string(document, mimic="coupled", floating_base=True).nv == 8
    with pytest.raises(ModelError, match="MIMIC_CYCLE"):
        lw.Robot.from_urdf_string(text(j1='<mimic joint="j2"/>', j2='<mimic joint="j1"/>'), mimic="coupled")
    for wrong in ("yes", None, True):
        with pytest.raises(ValueError, match="mimic: expected 'free', 'coupled' or 'ignore'"):
            lw.load("arm7_gripper", mimic=wrong)


# -- what is refused


@pytest.mark.parametrize(
    ("couplings", "message"),
    [
        ({"j1": ("j1", 2.0)}, "joint 'j1' cannot follow itself: j1 = 2 * j1 + 0"),
        ({"j1": ("j2", 2.0), "j2": ("j1", 0.5, -3.0)}, "in a cycle: j1 = 2 * j2 + 0, j2 = 0.5 * j1 - 3"),
        ({"j0": "j1", "j1": ("j2", 7.0), "j2": ("j3", 5.0), "j3": "j1"}, "in a cycle: j1 = 7 * j2 + 0, j2 = 5 * j3"),
        ({"j1": ("j0", float("nan"))}, "expected a finite ratio and offset, got j1 = nan"),
        ({"j1": ("j0", 1.0, float("inf"))}, "expected a finite ratio and offset, got j1 = 1 * j0 + inf"),
        ({"j1": ("j0", 1e200), "j2": ("j1", 1e200)}, "overflows: j2 = inf * j0"),
    ],
)
def test_invalid_joint_couplings_are_refused(free, couplings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        free.with_couplings(couplings)


def test_cycle_of_joint_couplings_is_refused(bound):
    with pytest.raises(ValueError, match="in a cycle"):
        bound.with_couplings({"j3": ("j2", 1.0)})


def test_couplings_of_unknown_joints_are_refused(free):
    for couplings in ({"j9": "j0"}, {"j1": "j9"}, {"j1": (3, 1.0)}):
        with pytest.raises(UnknownNameError, match="no joint named"):
            free.with_couplings(couplings)


@pytest.mark.parametrize("document", [{"j1": 3}, {"j1": ()}, {"j1": ("j0", 1, 2, 3)}, {"j1": ("j0", "x")}, "j1", None])
def test_couplings_arguments_of_the_wrong_type_are_refused(free, document):
    with pytest.raises(TypeError, match="with_couplings: "):
        free.with_couplings(document)


def test_coupling_joints_with_several_coordinates_raises_an_error():
    tree = random_tree(np.random.default_rng(0), 3, types=[Floating, Revolute], shape="chain")
    floating = next(b.joint_name for b in tree.bodies if isinstance(b.joint, Floating))
    turning = next(b.joint_name for b in tree.bodies if isinstance(b.joint, Revolute))
    for follower, master in ((floating, turning), (turning, floating)):
        with pytest.raises(ValueError, match=f"joint '{floating}' can neither follow another joint nor be followed"):
            lw.Robot(tree).with_couplings({follower: master})


def test_trees_with_inconsistent_couplings_are_refused():
    from dataclasses import replace

    tree = random_tree(np.random.default_rng(0), 3, types=[Revolute])

    def bent(**couplings):
        bodies = [replace(b, coupling=couplings.get(b.joint_name)) for b in tree.bodies]
        return replace(tree, bodies=tuple(bodies))

    assert bent(joint1=Following("joint0")).nq == 2
    with pytest.raises(ValueError, match="a master follows no other joint"):
        bent(joint1=Following("joint0"), joint2=Following("joint1"))
    with pytest.raises(UnknownNameError, match="no joint named 'joint9'"):
        bent(joint1=Following("joint9"))
    for stacking in ((0, 1), (0, 1, 1), (1, 2, 3)):
        with pytest.raises(ValueError, match="stacking: expected every one of 3 bodies once"):
            replace(tree, stacking=stacking)
    assert replace(tree, stacking=(0, 1, 2)) == tree


# -- values


def test_robots_with_couplings_are_compared_by_value(free, bound):
    again = free.with_couplings({"j1": ("j3", -0.5, 0.25), "j2": ("j1", 2.0)})
    assert again == bound and hash(again) == hash(bound) and bound != free
    for same in (pickle.loads(pickle.dumps(bound)), copy.deepcopy(bound), copy.copy(bound)):
        assert same == bound and hash(same) == hash(bound)
        q = same.random_configuration(seed=0)
        assert np.array_equal(same.mass_matrix(q), bound.mass_matrix(q))


def test_cache_key_of_a_kernel_depends_on_couplings(free, bound):
    request = {"mass_matrix": read_request(robot_owner(free.tree), "mass_matrix")}
    robots = [free, bound, free.with_couplings({"j1": "j3", "j2": "j3"}), free.with_couplings({"j1": "j0", "j2": "j0"})]
    robots += [
        free.with_couplings({"j1": ("j3", -0.5, 0.25)}),
        free.with_couplings({"j1": ("j3", -0.5, 0.26)}),
        free.with_root("b"),
    ]
    keys = {_content(robot_owner(r.tree), request) for r in robots}
    assert len(keys) == len(robots) or None in keys
    kernels = [compile_requests(robot_owner(r.tree), "mass_matrix", request) for r in (free, bound)]
    assert kernels[0](free.neutral()).shape == (4, 4) and kernels[1](bound.neutral()).shape == (2, 2)


# -- configurations


def test_random_configurations_satisfy_the_limits_of_masters_and_followers():
    document = text(j1='<mimic joint="j0" multiplier="-2"/>', j2='<mimic joint="j0" multiplier="0.5" offset="1.5"/>')
    coupled = lw.Robot.from_urdf_string(document, mimic="coupled")  # all limits are [-1, 2]
    q = coupled.random_configuration(seed=0, size=2000)[:, 0]
    assert (q.min(), q.max()) == pytest.approx((-1.0, 0.5), abs=0.01)  # j1: [-1, 0.5], j2: [-5, 1]
    assert q.min() >= -1.0 and q.max() <= 0.5
    assert bounds(coupled.tree)[0] == ([-1.0], [0.5])


def test_effort_limits_of_masters_respect_the_limits_of_followers():
    """Times the ratio, which is the follower's force at its master; a limit of 0 states that there is no motor."""
    hinge = Revolute(Vec3(0.0, 0.0, 1.0))
    parts = []
    for name, effort in (("m", 10.0), ("f", 4.0), ("g", 0.0), ("h", 1.0)):
        parts.append(lw.Link(name, mass=1.0, inertia=(1.0, 1.0, 1.0)))
        parts.append(lw.Joint.of(hinge, name=name, parent="world", child=name, effort=effort))
    robot = lw.Robot.build("geared", *parts)
    for ratio, most in ((-0.5, 2.0), (2.0, 8.0), (3.0, 10.0), (0.0, 10.0)):
        coupled = robot.with_couplings({"f": ("m", ratio), "g": ("m", 2.0)})
        assert coupled.effort_limits.tolist() == [most, 1.0]
    law = lw.control.PD(robot.with_couplings({"f": ("m", -0.5), "g": ("m", 2.0)}), kp=100.0, kd=1.0)
    assert np.abs(law(0.0, np.array([5.0, 5.0]), np.zeros(2), target_q=np.zeros(2))).tolist() == [2.0, 1.0]


def test_drawing_configurations_of_couplings_without_a_permitted_range_raises_an_error():
    document = text(j1='<mimic joint="j0" multiplier="1" offset="10"/>')
    coupled = lw.Robot.from_urdf_string(document, mimic="coupled")
    with pytest.raises(ValueError, match=r"joint 'j1' cannot be within its limits \[-1, 2\].*j1 = 1 \* j0 \+ 10"):
        coupled.random_configuration(seed=0)
    assert coupled.mass_matrix(coupled.neutral()).shape == (3, 3)  # all else works
    with pytest.warns(ModelWarning, match="with multiplier 0: it never moves"):
        fixed = lw.Robot.from_urdf_string(text(j1='<mimic joint="j0" multiplier="0" offset="10"/>'), mimic="coupled")
    with pytest.raises(ValueError, match="cannot be within its limits"):
        fixed.random_configuration(seed=0)


def test_coupling_that_permits_only_zero_gives_zero_configurations(free):
    """Zero, and minus zero from a ratio of −1."""
    tree = random_tree(np.random.default_rng(0), 2, types=[Revolute])
    from dataclasses import replace

    limits = Limits((0.0,), (1.0,), (1.0,), (1.0,))
    tree = replace(tree, bodies=tuple(replace(b, limits=limits) for b in tree.bodies))
    coupled = lw.Robot(with_couplings(tree, {"joint1": Following("joint0", -1.0)}))
    assert not coupled.random_configuration(seed=0, size=3).any()


def test_coordinates_of_robots_with_couplings_can_be_passed_by_joint_name(bound):
    q = {"j0": 0.25, "j3": [0.5, -0.5]}
    assert np.array_equal(bound.mass_matrix(q), bound.mass_matrix(np.array([[0.25, 0.5], [0.25, -0.5]])))
    assert np.array_equal(bound.mass_matrix({}), bound.mass_matrix(bound.neutral()))
    with pytest.raises(
        ValueError, match=r"joint 'j2' has no coordinates of its own: it follows joint 'j3', j2 = -1 \* j3"
    ):
        bound.mass_matrix({"j2": 0.1})
    with pytest.raises(ValueError, match=r"q\[1\] is NaN \(joint 'j3'\)"):
        bound.mass_matrix(np.array([0.0, np.nan]))


def test_rack_adds_its_reflected_inertia_to_the_pinion():
    """A rack of mass m on a pinion of radius r adds m r² to the pinion's inertia."""
    robot = lw.Robot(_rack_and_pinion())
    driven = robot.with_couplings({"rack": ("pinion", 0.1)})
    M = robot.mass_matrix(robot.neutral())
    assert_close(driven.mass_matrix(driven.neutral()), [[M[0, 0] + 0.01 * M[1, 1]]], 1e-15)
    tau = np.array([3.0])
    expected = (3.0 + 0.1 * -9.81 * M[1, 1]) / (M[0, 0] + 0.01 * M[1, 1])  # the rack stands upright
    assert_close(driven.forward_dynamics(np.zeros(1), np.zeros(1), tau), expected.ravel()[:1], 1e-14)
    assert_close(driven.twist([0.3], [2.0], "rack"), [0.0, 0.0, 0.0, 0.0, 0.0, 0.2], 1e-15)


def _rack_and_pinion():
    from linkwork.model.body import WORLD, Body, Frame
    from linkwork.model.tree import Tree
    from linkwork.spatial import Inertia, Pose, Symmetric3

    def body(name, joint, inertia):
        no_limits = Limits.none(joint)
        return Body(name, WORLD, name, joint, Pose.identity(), Pose.identity(), inertia, no_limits, (0.0,), (0.0,))

    wheel = Inertia.at_center(2.0, Vec3.zero(), Symmetric3.diagonal(0.01, 0.01, 0.02))
    bar = Inertia.at_center(5.0, Vec3.zero(), Symmetric3.diagonal(0.1, 0.1, 0.1))
    bodies = (body("pinion", Revolute(Vec3(1.0, 0.0, 0.0)), wheel), body("rack", Prismatic(Vec3(0.0, 0.0, 1.0)), bar))
    frames = tuple(Frame(b.name, i, Pose.identity(), b.inertia) for i, b in enumerate(bodies))
    return Tree("rack_and_pinion", bodies, frames)


# -- other ways in and out


def test_info_command_shows_joint_couplings(tmp_path, capsys):
    from linkwork.cli.main import main

    path = tmp_path / "r.urdf"
    path.write_text(text(j1='<mimic joint="j3" multiplier="-0.5" offset="0.25"/>'), encoding="utf-8")
    assert main(["info", str(path), "--mimic", "coupled"]) == 0
    out = capsys.readouterr().out
    assert "4 moving joints, 1 of them coupled to others (nq 3, nv 3)" in out
    assert "  -0.5 × j3 + 0.25" in out
    assert main(["info", str(path), "--mimic", "coupled", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["nq"], data["nv"]) == (3, 3)
    assert data["joints"][1]["coupling"] == {"joint": "j3", "ratio": -0.5, "offset": 0.25}
    assert data["joints"][1]["q"] == data["joints"][3]["q"] == [2, 3]
    assert main(["info", str(path)]) == 0
    assert "(-0.5 × j3 + 0.25)" in capsys.readouterr().out


def test_kernel_of_several_functions_supports_couplings():
    arm = shipped("arm7_gripper").with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)})
    kernel = arm.compile(["mass_matrix", "forward_dynamics", ("jacobian", "hand")])
    q, v = arm.random_configuration(seed=0), np.ones(arm.nv)
    outputs = kernel(q, v, v)
    assert_close(outputs.mass_matrix, arm.mass_matrix(q), 1e-14)
    assert_close(outputs.forward_dynamics, arm.forward_dynamics(q, v, v), 1e-12)
