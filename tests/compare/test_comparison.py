"""Comparison of robots: equal robots in other descriptions, and every difference."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.compare.compare_robots import GROUPS, _flat
from linkwork.compare.library_model import LibraryModel
from linkwork.compare.robot_comparison import Comparer
from linkwork.errors import ModelWarning, UnknownNameError
from linkwork.model.random_tree import random_tree
from linkwork.spatial import Pose, Rotation, Vec3
from oracles.example_robots import EXAMPLES

LINK = """<link name="{name}"><inertial><origin xyz="{com}" rpy="0.1 0.2 0.3"/><mass value="{mass}"/>
<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial>
<collision><origin xyz="0.1 0 0"/><geometry><box size="{size} 0.1 0.2"/></geometry></collision></link>"""
JOINT = """<joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{at}" rpy="0.3 -0.2 0.5"/><axis xyz="{axis}"/><limit lower="{lower}" upper="{upper}" effort="{effort}"
velocity="{velocity}"/><dynamics damping="{damping}" friction="0.2"/>{more}</joint>"""
ORIGIN = "0.1 0.2 0.3"


def link(name, mass=1.5, com="0.1 0.05 0", size=0.3):
    return LINK.format(name=name, mass=mass, com=com, size=size)


def joint(name, parent, child, axis="0 0 1", lower=-1, upper=2, **options):
    values = {"type": "revolute", "effort": 5, "velocity": 3, "at": ORIGIN, "more": "", "damping": 0.5} | options
    return JOINT.format(name=name, parent=parent, child=child, axis=axis, lower=lower, upper=upper, **values)


def elbow(axis="0 1 0", lower=-1, upper=2, **options):
    return joint("elbow", "upper", "lower", axis, lower, upper, **options)


def robot_of(*parts, **options):
    return lw.Robot.from_urdf_string(f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>', **options)


LINKS = [link("upper"), link("lower", 0.7), link("side", 2.0), '<link name="tip"/>']
JOINTS = [
    joint("shoulder", "base", "upper"),
    elbow(),
    joint("slide", "upper", "side", "1 0 0", type="prismatic"),
    joint("weld", "lower", "tip", type="fixed"),
]


@pytest.fixture(scope="module")
def arm():
    return robot_of(*LINKS, *JOINTS)


def differing(comparison):
    return {difference.quantity for difference in comparison.differences}


def test_robot_comparison_finds_a_robot_with_reordered_joints_equal(arm):
    swapped = robot_of(*reversed(LINKS), JOINTS[2], JOINTS[3], JOINTS[1], JOINTS[0])
    assert [j.name for j in swapped.joints] != [j.name for j in arm.joints]
    result = arm.compare(swapped)
    assert result.same and not result.notes, str(result)
    counts = {quantity.quantity: quantity.compared for quantity in result.quantities}
    assert counts["mass matrix"] == 6 and counts["position [m]"] == 5 and counts["inertia [kg m²]"] == 3
    assert all(quantity.largest < 1e-12 for quantity in result.quantities)
    assert str(result).splitlines()[0] == "r (1) and r (2): same (tolerance 1e-09 relative)"


def test_robot_comparison_reports_an_opposite_joint_axis_and_compares_values_with_opposite_sign(arm):
    turned = robot_of(*LINKS, JOINTS[0], elbow("0 -1 0", -2, 1), *JOINTS[2:])
    result = arm.compare(turned)
    assert differing(result) == {"axis in the world at zero"} and "'elbow' has the opposite axis" in result.notes[0]
    assert turned.compare(arm).differences[0].subject == "elbow"
    assert not np.allclose(arm.mass_matrix([0.1, 0.2, 0.3]), turned.mass_matrix([0.1, 0.2, 0.3]))


def test_robot_comparison_finds_equal_motions_with_other_coordinates_and_couplings():
    wheel = [*LINKS, JOINTS[0], elbow(type="continuous"), *JOINTS[2:]]
    result = robot_of(*wheel).compare(robot_of(*wheel, continuous="sincos"))
    assert differing(result) == {"joint type"} and result.differences[0].right == "unbounded revolute"
    mimic = '<mimic joint="shoulder" multiplier="-0.4" offset="0.1"/>'
    follows = [*LINKS, JOINTS[0], elbow(more=mimic), *JOINTS[2:]]
    free, coupled = robot_of(*follows), robot_of(*follows, mimic="coupled")
    for left, right in ((free, coupled), (coupled, free)):
        result = left.compare(right)
        assert differing(result) == {"coupling: master"}, str(result)
        assert {x.quantity: x.compared for x in result.quantities}["mass matrix"] == 3
    back = [
        *follows[:-3],
        elbow("0 -1 0", -2, 1, more=mimic.replace("-0.4", "0.4")),
        *JOINTS[2:],
    ]
    result = free.compare(robot_of(*back, mimic="coupled"))
    assert "mass matrix" not in differing(result) and "gravity force [N·m, N]" not in differing(result)


def test_robot_comparison_of_mimic_ratios_does_not_depend_on_axis_signs():
    """An opposite axis of the follower, of the joint that it follows, or of both: the ratios of equal motions agree."""
    for axis, master, ratio in ((-1, 1, 0.4), (1, -1, 0.4), (-1, -1, -0.4)):
        robots = []
        for a, b, multiplier in ((1, 1, -0.4), (axis, master, ratio), (axis, master, -ratio)):
            mimic = f'<mimic joint="shoulder" multiplier="{multiplier}" offset="{0.1 * a}"/>'
            shoulder = joint("shoulder", "base", "upper", f"0 0 {b}", -2, 2)
            robots.append(
                robot_of(*LINKS, shoulder, elbow(f"0 {a} 0", -2, 2, more=mimic), *JOINTS[2:], mimic="coupled")
            )
        first, equal, unequal = robots
        assert not any("ratio" in quantity for quantity in differing(first.compare(equal)))
        assert {"mimic: ratio, offset", "coupling: ratio, offset"} <= differing(first.compare(unequal))


def test_robot_comparison_reports_a_floating_base_of_one_robot(arm):
    floats = robot_of(*LINKS, *JOINTS, floating_base=True)
    assert floats.compare(floats).same
    only = arm.compare(floats)
    assert {(x.quantity, x.subject) for x in only.differences} == {("joint", "floating_base")}


def test_robot_comparison_finds_a_robot_with_another_root_link_equal():
    leg = lw.load("leg", floating_base=True)
    tip = leg.with_root(leg.bodies[-1])
    result = leg.compare(tip, samples=3)
    assert result.same and [difference.name for difference in leg.joints] == [
        difference.name for difference in tip.joints
    ], str(result)
    heavier = tip.with_inertia(leg.bodies[-1], mass=9.0)
    assert {difference.group for difference in leg.compare(heavier).differences} == {"inertias", "dynamics"}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((*LINKS[:2], link("side", 2.1), LINKS[3], *JOINTS), {"mass [kg]": ("side", 0.1, 0.1 / 2.1)}),
        (
            (*LINKS[:2], link("side", 2.0, "0.1 0.05 0.003"), LINKS[3], *JOINTS),
            {"center of mass [m]": ("side", 0.003, None)},
        ),
        (
            (*LINKS[:2], link("side", 2.0, size=0.31), LINKS[3], *JOINTS),
            {"collision shapes: size [m]": ("side", 0.01, 0.01)},
        ),
        ((*LINKS, JOINTS[0], elbow(upper=2.5), *JOINTS[2:]), {"upper limit [rad, m]": ("elbow", 0.5, 0.2)}),
        (
            (*LINKS, JOINTS[0], elbow(effort=4, velocity=6, damping=0.25), *JOINTS[2:]),
            {
                "effort limit [N·m, N]": ("elbow", 1.0, 0.2),
                "speed limit [rad/s, m/s]": ("elbow", 3.0, 0.5),
                "damping": ("elbow", 0.25, 0.5),
            },
        ),
        ((*LINKS, JOINTS[0], elbow(at="0.1 0.2 0.31"), *JOINTS[2:]), {"position at zero [m]": ("lower", 0.01, None)}),
    ],
)
def test_robot_comparison_names_each_difference_with_its_values(arm, parts, expected):
    result = arm.compare(robot_of(*parts))
    assert not result.same
    for quantity, (subject, absolute, relative) in expected.items():
        difference = next(x for x in result.differences if x.quantity == quantity)
        assert (difference.subject, difference.absolute) == (subject, pytest.approx(absolute, rel=1e-9))
        assert relative is None or difference.relative == pytest.approx(relative, rel=1e-9)
    unexpected = differing(result) - expected.keys()
    follow = {"total mass [kg]", "mass matrix", "gravity force [N·m, N]", "position [m]", "inertia [kg m²]"}
    assert unexpected <= (
        follow if {"mass [kg]", "center of mass [m]", "position at zero [m]"} & expected.keys() else set()
    )
    assert arm.compare(robot_of(*parts), tolerance=0.6).same


def test_robot_comparison_reports_differences_of_names_and_groups(arm):
    renamed = robot_of(
        *(text.replace('"lower"', '"forearm"').replace('"elbow"', '"bend"') for text in (*LINKS, *JOINTS))
    )
    result = arm.compare(renamed)
    assert {(x.quantity, x.subject) for x in result.of("names")} >= {
        ("link", "lower"),
        ("joint", "elbow"),
        ("joint", "bend"),
    }
    assert arm.compare(renamed, names={"lower": "forearm", "elbow": "bend"}).same
    by_link = arm.compare(renamed, names={"lower": "forearm"})
    assert by_link.same and "is matched with 'bend'" in by_link.notes[0]
    with pytest.raises(UnknownNameError, match=r"compare: names: .*'lowe'"):
        arm.compare(renamed, names={"lowe": "forearm"})
    with pytest.raises(ValueError, match=r"compare: ignore: expected one of 'names', .*got 'limit'"):
        arm.compare(arm, ignore=["limit"])
    heavier = arm.with_inertia("side", mass=3.0)
    assert arm.compare(heavier, ignore=["inertias", "dynamics"]).same


def test_robot_comparison_by_bodies_ignores_links_welded_inside_a_body(arm):
    tip = LINK.format(name="tip", mass=0.4, com="0.02 0 0", size=0.1)
    split = robot_of(*LINKS[:3], tip, *JOINTS)
    body = split.tree.bodies[split.tree.joint_index("elbow")].inertia
    whole = robot_of(*LINKS[:3], *JOINTS[:3]).with_inertia("lower", inertia=body)
    by_links = split.compare(whole)
    assert {("link", "tip"), ("mass [kg]", "lower")} <= {(x.quantity, x.subject) for x in by_links.differences}
    assert not by_links.of("dynamics")
    assert split.compare(whole, by="bodies").same
    assert not split.compare(whole.with_inertia("lower", mass=1.2), by="bodies").same


def test_robot_comparison_covers_constraints_actuators_and_configurations():
    robot = lw.load("fourbar")
    assert robot.compare(lw.load("fourbar")).same
    tree = lw.load(lw.robots.path("fourbar"))
    assert {(x.quantity, x.subject) for x in robot.compare(tree).differences} == {
        ("frame", "coupler_tip"), ("frame", "rocker_tip"), ("constraint", "pin"),
    }  # fmt: skip
    arm = lw.load("double_pendulum")
    text = """{{"version": 1,
        "actuators": [{{"name": "servo", "kind": "position", "joint": "elbow", "stiffness": {0}}}],
        "named_configurations": [{{"name": "bent", "q": {{"elbow": {1}}}}}]}}"""
    a, b = (arm.with_loops_document(text.format(*values)) for values in ((80, 0.5), (90, 0.6)))
    comparison = {x.subject: x.absolute for x in a.compare(b).differences}
    assert comparison == {"servo": pytest.approx(10.0), "bent": pytest.approx(0.1)}
    assert a.compare(arm).of("actuators")[0].left == "there"
    gears = ([("shoulder", 2.0)], [("elbow", 2.0)], [("shoulder", 2.0), ("elbow", 3.0)])
    at_shoulder, at_elbow, at_both = (arm.with_actuators(lw.Actuator("drive", joints)) for joints in gears)
    texts = [(x.left, x.right) for right in (at_elbow, at_both) for x in at_shoulder.compare(right).of("actuators")]
    assert texts == [("shoulder", "elbow"), ("None", "elbow")]  # the first text that differs
    clouds = [lw.shapes.PointCloud(np.random.default_rng(0).normal(size=(n, 3))) for n in (4, 5)]
    small, large = (lw.Robot.build("scan", lw.Link("seen", collisions=[cloud])) for cloud in clouds)
    sizes = [(x.left, x.right) for x in small.compare(large).of("collisions")]
    assert sizes == [("13 values", "16 values")]


@pytest.mark.slow(every=5)
def test_robot_comparison_leaves_out_the_configuration_that_mjcf_adds_to_one_robot(arm):
    stated, moved = (arm.with_named_configuration("qpos0", np.full(arm.nq, x)) for x in (0.0, 0.25))
    assert arm.compare(stated).same and stated.compare(arm).same
    assert not stated.compare(moved).same
    assert not arm.compare(arm.with_named_configuration("home", np.zeros(arm.nq))).same


def test_robot_comparison_covers_joints_of_all_types():
    for seed in range(3):
        robot = lw.Robot(random_tree(np.random.default_rng(seed), 12))
        result = robot.compare(robot, samples=2)
        assert result.same and "mass matrix" in {difference.quantity for difference in result.quantities}, str(result)
        moved = lw.Robot(replace(robot.tree, bodies=(*robot.tree.bodies[:-1], moved_by(robot.tree.bodies[-1], 0.01))))
        comparison = {
            difference.quantity: difference.absolute for difference in robot.compare(moved, samples=2).of("poses")
        }
        assert comparison["position at zero [m]"] == pytest.approx(0.01), comparison


def moved_by(body, x):
    return replace(body, placement=body.placement @ Pose(Rotation.identity(), Vec3(x, 0.0, 0.0)))


def test_robot_comparison_as_dict_is_plain_data(arm):
    result = arm.compare(arm.with_inertia("side", mass=3.0))
    data = result.as_dict()
    assert data["same"] is False and data["differences"][0]["quantity"] == "total mass [kg]"
    assert {quantity["where"] for quantity in data["quantities"] if quantity["quantity"] == "mass [kg]"} == {"side"}
    assert (
        "1 difference" not in repr(result)
        and repr(arm.compare(arm)) == "<RobotComparison of 'r (1)' and 'r (2)': same>"
    )
    assert all(len(line) <= 60 for line in result.lines(60))


@pytest.mark.costly
@pytest.mark.parametrize("library", ["pinocchio", "mujoco"])
def test_bundled_and_example_robots_compare_equal_to_models_of_other_libraries(library, tmp_path):
    pytest.importorskip(library, reason=f"compares with {library}, which is optional")
    for example in [example_ for example_ in EXAMPLES if example_.name in ("panda", "talos", "solo12")]:
        path = tmp_path / f"{example.name}.urdf"
        path.write_text(example.text(), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            robot = lw.load(path, floating_base=example.floating)
        result = robot.compare_with_library(library, samples=2)
        assert result.same and {example_.quantity for example_ in result.quantities} >= {
            "mass matrix",
            "position [m]",
        }, str(result)
        heavier = robot.with_inertia(robot.bodies[-1], mass=5.0)
        assert {x.group for x in heavier.compare_with_library(library, samples=1).differences} == {"dynamics"}
    with pytest.raises(
        ValueError, match=f"compare_with_library: library: {library}: the robot was not read from a file"
    ):
        robot_of(*LINKS, *JOINTS).compare_with_library(library)


def test_robot_comparison_of_a_urdf_with_mujocos_conversion_lists_only_expected_differences(tmp_path):
    """MuJoCo's conversion merges welded links and prints six digits; MJCF has no velocity limits."""
    mujoco = pytest.importorskip("mujoco", reason="converts with MuJoCo, which is optional")
    tip = LINK.format(name="tip", mass=0.4, com="0.02 0 0", size=0.1)
    extension = '<mujoco><compiler fusestatic="true" balanceinertia="false" discardvisual="false"/></mujoco>'
    text = f'<robot name="r">{extension}<link name="base"/>{"".join((*LINKS[:3], tip, *JOINTS))}</robot>'
    (tmp_path / "arm.xml").write_text(_compiled(mujoco, text).to_xml(), encoding="utf-8")
    urdf, mjcf = robot_of(*LINKS[:3], tip, *JOINTS), lw.load(tmp_path / "arm.xml")
    result = urdf.compare(mjcf, by="bodies", tolerance=1e-5)
    assert {difference.group for difference in result.differences} == {
        "limits",
        "collisions",
        "visuals",
    }, str(result)
    assert {difference.quantity for difference in result.of("limits")} == {"speed limit [rad/s, m/s]"}
    shapes = {difference.subject: (difference.left, difference.right) for difference in result.of("collisions")}
    assert shapes == {"lower": ("Box", "Box, Box")}
    assert {difference.group for difference in urdf.compare(mjcf, tolerance=1e-5).of("names")} == {"names"}


def _compiled(mujoco, text):
    spec = mujoco.MjSpec.from_string(text)
    spec.compile()
    return spec


def test_values_within_the_tolerance_of_a_comparison_are_equal_and_few_of_one_quantity_are_shown():
    """The difference is relative to the larger value; five differences of one quantity are shown."""
    to = Comparer(0.25)
    for k, right in enumerate((1.5, 2.0, 2.5, 2.6, 3.0)):  # of 2
        to.values("drives", "stiffness", f"j{k}", 2.0, right)
    assert [x.subject for x in to.differences] == ["j4"]
    arm = lw.load("arm7")
    names = [joint.name for joint in arm.joints[:6]]
    result = arm.compare(
        arm.with_joint_dynamics(damping=dict.fromkeys(names, 0.75)), ignore=[*GROUPS.keys() - {"drives"}]
    )
    assert len(result.of("drives")) == 6 and sum("0.75" in line for line in result.lines()) == 5


def test_joints_of_other_types_are_compared_by_their_common_values_only(arm):
    ball = arm.with_joint(arm.joint("elbow").with_type(lw.joints.Spherical()))
    result = arm.compare(ball, ignore=["dynamics", "poses"])
    assert {"joint type"} <= differing(result) and "speed limit [rad/s, m/s]" not in {
        x.quantity for x in result.differences if x.subject == "elbow"
    }


def test_values_of_shapes_are_compared_by_file_name_and_key():
    assert _flat(lw.shapes.Mesh("package://arm/meshes/hand.stl", (1.0, 2.0, -3.0)), None) == [
        *("hand.stl", 1.0, 2.0, -3.0)
    ]
    assert _flat({"b": 1, "a": [2.5, "c"]}, None) == ["a", 2.5, "c", "b", 1.0]


def test_robots_that_a_library_cannot_read_have_a_reason(tmp_path):
    path = tmp_path / "r.urdf"
    text = f'<robot name="r"><link name="base"/>{"".join((*LINKS, *JOINTS))}</robot>'
    path.write_text(text)
    robot = lw.load(path)
    assert LibraryModel.source_of(robot, "urdf", "mjcf") == path
    with pytest.raises(ValueError, match="it reads mjcf, not urdf"):
        LibraryModel.source_of(robot, "mjcf")
    unsafe = lw.Robot(replace(robot.tree, trusted=False))
    with pytest.raises(ValueError, match="the robot was loaded with trusted=False, and the library reads files"):
        LibraryModel.source_of(unsafe, "urdf")


@pytest.mark.parametrize("library", ["mujoco", "pinocchio"])
def test_robots_that_differ_from_their_file_are_refused_by_libraries(library, tmp_path):
    pytest.importorskip(library, reason=f"compares with {library}, which is optional")
    path = tmp_path / "r.urdf"
    path.write_text(f'<robot name="r"><link name="base"/>{"".join((*LINKS, *JOINTS))}</robot>')
    robot = lw.load(path)
    first, *later_bodies = robot.tree.bodies
    renamed = lw.Robot(replace(robot.tree, bodies=(replace(first, joint_name="hip"), *later_bodies)))
    with pytest.raises(ValueError, match=rf"compare_with_library: library: {library}: .* has no joint 'hip'"):
        renamed.compare_with_library(library)
    if library == "mujoco":
        path.write_text(path.read_text().replace('type="revolute"', 'type="continuous"'))
        turning = lw.load(path, continuous="sincos")
        with pytest.raises(ValueError, match="a joint with sine and cosine as its coordinates; load the robot with"):
            turning.compare_with_library(library)
    else:
        locked = robot.with_locked_joints(["elbow"])
        with pytest.raises(ValueError, match="Pinocchio reads 3 joints with 3 velocities, the robot has 2 with 2"):
            locked.compare_with_library(library)
        ball = robot.with_joint(robot.joint("elbow").with_type(lw.joints.UnboundedRevolute((0, 1, 0))))
        with pytest.raises(ValueError, match="no translation of the joint 'elbow', a "):
            ball.compare_with_library(library)
