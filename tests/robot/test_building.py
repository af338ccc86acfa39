"""Robots built in code: equal to those of a URDF to the bit, and errors of their parts."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from helpers.urdf_as_code import as_code, random_urdf
from linkwork import joints, shapes
from linkwork.errors import ModelError, ModelWarning
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree
from oracles.example_robots import EXAMPLES, Example

HINGE = joints.Revolute((0, 1, 0))


def hinge(name: str, parent: str, child: str, **said: object) -> lw.Joint:
    return lw.Joint.of(HINGE, name=name, parent=parent, child=child, **said)  # type: ignore[arg-type]


def issues(*parts: object, **options: object) -> dict[str, str]:
    """Return the errors of a robot: a message by code."""
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        lw.Robot.build("r", *parts, **options)  # type: ignore[arg-type]
    results = {issue.code: str(issue) for issue in caught.value.issues}
    assert all(text.startswith("robot[r]") for text in results.values())
    return results


# -- the same robot as from a file


def bits(tree: Tree) -> str:
    """Every number of a tree with all of its digits, and the sign of its zeros."""
    return repr((tree.name, tree.bodies, tree.frames, tree.gravity, tree.stacking))


def assert_same(text: str, **options: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = lw.Robot.from_urdf_string(text, **options)  # type: ignore[arg-type]
        name, parts = as_code(text)
        built = lw.Robot.build(name, *parts, **{"mimic": "free", **options})  # type: ignore[arg-type]
    assert built == read and hash(built) == hash(read)
    assert bits(built.tree) == bits(read.tree)


@pytest.mark.slow(every=3)
def test_bundled_robots_built_in_code_equal_their_files_bit_for_bit() -> None:
    for name in lw.robots.names():
        text = lw.robots.path(name).read_text(encoding="utf-8")
        assert_same(text, floating_base=name in ("quadruped", "humanoid"), gravity=(0.1, 0.2, -1.62))
    assert_same(lw.robots.path("arm7_gripper").read_text(encoding="utf-8"), mimic="coupled")


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_robots_built_in_code_equal_their_files_bit_for_bit(example: Example) -> None:
    assert_same(example.text(), floating_base=example.floating)


@pytest.mark.slow(every=5)
def test_random_robots_built_in_code_equal_their_urdf_bit_for_bit() -> None:
    for seed in range(60):
        text = random_urdf(np.random.default_rng(seed), links=1 + seed % 12)
        assert_same(text, mimic=("free", "coupled")[seed % 2])


def test_axes_of_any_length_are_normalised_equally_in_code_and_in_files() -> None:
    for axis in ("1 2 3", "1e-200 0 2e-200", "3e200 1e200 0", "0 -7 0", "0.1 0.7 0.3"):
        link, inner = '<link name="{}"/>', f'<parent link="a"/><child link="b"/><axis xyz="{axis}"/>'
        text = (
            f'<robot name="r">{link.format("a")}{link.format("b")}<joint name="j" type="{{}}">{inner}</joint></robot>'
        )
        for kind in ("continuous", "prismatic", "planar"):
            assert_same(text.format(kind))


def test_robot_with_every_joint_type_can_be_rebuilt_from_its_links_and_joints() -> None:
    """Rotors, limits that are switched off and dynamics are restored."""
    tree = random_tree(np.random.default_rng(3), 20)
    robot = lw.Robot(tree)
    first = robot.joints[0]
    robot = robot.with_joint(first.with_dynamics("none").with_position_limits_enabled(False))
    links = [lw.Link(name) for name in robot.bodies]
    again = lw.Robot.build(robot.name, links, robot.joints).tree
    names = ("name", "joint_name", "joint", "placement", "rotor", "limits", "damping", "friction", "dynamics")
    moving = [body for body in robot.tree.bodies if body.joint.nv]
    by_name = {body.name: body for body in again.bodies}
    assert len(moving) == len(again.bodies) > 15
    for body in moving:
        parent = robot.tree.bodies[body.parent] if body.parent >= 0 else None
        if parent is None or parent.joint.nv:  # else it is welded to what is before that
            assert [getattr(body, key) for key in names] == [getattr(by_name[body.name], key) for key in names]


# -- what people write


def test_pendulum_can_be_built_from_a_link_and_a_joint() -> None:
    pendulum = lw.Robot.build(
        "pendulum",
        lw.Link("rod", mass=2.0, com=(0, 0, -0.5)),
        lw.Joint.of(joints.Revolute((0, 1, 0)), name="hinge", parent="world", child="rod"),
    )
    assert pendulum.frames == ("world", "rod") and pendulum.nv == 1 and pendulum.report.warnings == ()
    q = np.linspace(-3.0, 3.0, 7)[:, None]
    assert np.allclose(pendulum.gravity_force(q), 2.0 * 9.81 * 0.5 * np.sin(q), rtol=1e-14, atol=1e-14)
    assert np.allclose(pendulum.mass_matrix(q), 2.0 * 0.25, rtol=1e-14)
    rod = lw.Link("rod", mass=2.0, com=(0, 0, -0.5))
    assert lw.Robot.build("pendulum", lw.Link("world"), rod, hinge("hinge", "world", "rod")) == pendulum


def leg(side: str, y: float) -> list[lw.Link | lw.Joint]:
    return [
        lw.Link(f"{side}_thigh", shapes.Box((0.1, 0.1, 0.4)).at((0, 0, -0.2)), mass=3.0),
        lw.Link(f"{side}_shank", mass=2.0, com=(0, 0, -0.2), frames={f"{side}_foot": (0, 0, -0.4)}),
        hinge(f"{side}_hip", "pelvis", f"{side}_thigh", placement=(0, y, 0)),
        hinge(f"{side}_knee", f"{side}_thigh", f"{side}_shank", placement=(0, 0, -0.4), lower=0.0, upper=2.5),
    ]


def test_robot_build_accepts_nested_lists_of_links_and_joints() -> None:
    pelvis = lw.Link("pelvis", shapes.Sphere(0.1), density=1000.0)
    biped = lw.Robot.build("biped", pelvis, leg("left", 0.1), (leg("right", -0.1),), floating_base=True)
    assert [joint.name for joint in biped.joints] == [
        "floating_base",
        "left_hip",
        "left_knee",
        "right_hip",
        "right_knee",
    ]
    assert biped.frames[-2:] == ("left_foot", "right_foot")
    q = biped.neutral()
    assert np.allclose(biped.pose(q, "right_foot")[:3, 3], [0.0, -0.1, -0.8], atol=1e-15)
    assert biped.with_root("left_foot").frames == biped.frames
    assert pickle.loads(pickle.dumps(biped)) == biped
    low, high = biped.joint("left_knee").position_bounds
    assert (low[0], high[0]) == (0.0, 2.5)


def test_frame_on_a_welded_link_belongs_to_the_moving_body() -> None:
    tip = lw.pose((0, 0, 0.1), rpy=(0, math.pi / 2, 0))
    robot = lw.Robot.build(
        "r",
        lw.Link("arm", mass=1.0),
        lw.Link("tool", frames={"tip": tip}),
        hinge("j", "world", "arm"),
        lw.Joint.of(joints.Fixed(), name="weld", parent="arm", child="tool", placement=(0, 0, 1)),
    )
    frame = robot.tree.frame("tip")
    assert frame.body == 0 and frame.fixed_joint is None and frame.inertia.mass == 0.0
    assert np.array_equal(robot.pose([0.0], "tip"), lw.pose((0, 0, 1)) @ tip)


def test_mimic_joint_built_in_code_follows_its_master_with_ratio_and_offset() -> None:
    fingers = [lw.Link(name, mass=0.1, com=(0, 0, 0.1)) for name in ("left", "right")]
    first = hinge("a", "world", "left")
    second = hinge("b", "world", "right", mimic=("a", -2, 0.1))
    coupled = lw.Robot.build("r", fingers, first, second)
    assert coupled.nv == 1 and coupled.report.warnings == ()
    assert coupled == lw.Robot.build("r", fingers, first, second, mimic="free").with_couplings({"b": ("a", -2.0, 0.1)})
    assert coupled == lw.Robot.build("r", fingers, first, hinge("b", "world", "right", mimic=second.mimic))
    again = lw.Robot.build("r", fingers, coupled.joints)
    assert again == coupled
    free = lw.Robot.build("r", fingers, first, hinge("b", "world", "right", mimic="a"), mimic="free")
    (issue,) = free.report.warnings
    assert issue.code == "MIMIC_FREE" and "<" not in str(issue) and "load" not in str(issue)


# -- links


def test_mass_of_a_uniform_link_is_computed_from_its_shapes() -> None:
    link = lw.Link("a", shapes.Box((1, 2, 3)).at(lw.pose((0, 0, 1), rpy=(0, 0, math.pi / 2))), mass=12.0)
    assert link.com.tolist() == [0, 0, 1] and np.allclose(link.inertia, np.diag([10.0, 13.0, 5.0]), rtol=1e-15)
    assert lw.Link("a", shapes.Box((1, 2, 3)), density=2.0).mass == 12.0
    halves = [shapes.Box((1, 2, 1.5)).at((0.5, 0, z)) for z in (-0.75, 0.75)]
    for two in (lw.Link("a", *halves, mass=12.0), lw.Link("a", *halves, density=2.0)):
        assert two.mass == pytest.approx(12.0, rel=1e-15) and np.allclose(two.com, [0.5, 0, 0], atol=1e-15)
        assert np.allclose(two.inertia, np.diag([13.0, 10.0, 5.0]), rtol=1e-14, atol=1e-14)
    assert lw.Link("a", shapes.Box((1, 1, 1)), mass=0.0).mass == 0.0


def test_shapes_of_a_link_are_for_display_and_collision_by_default() -> None:
    red = shapes.Material("red", (1, 0, 0))
    link = lw.Link(
        "a", shapes.Sphere(1).at((0, 0, 1), material=red), visuals=[shapes.Mesh("a.dae")], collisions=[shapes.Sphere(2)]
    )
    assert [type(g.shape).__name__ for g in link.visuals] == ["Sphere", "Mesh"]
    assert [g.material for g in link.visuals] == [red, None]
    assert [g.shape for g in link.collisions] == [shapes.Sphere(1), shapes.Sphere(2)]
    assert link.mass is None and link.collisions[0].material is None
    frame = lw.Robot.build("r", link).tree.frame("a")
    assert (frame.visuals, frame.collisions) == (link.visuals, link.collisions)


def test_links_with_equal_content_compare_equal() -> None:
    link = lw.Link("a", mass=1, com=np.array([0, 0, 1.0]), inertia=np.eye(3), frames={"f": (0, 0, 1)})
    same = lw.Link("a", mass=1.0, com=(0, 0, 1), inertia=[1, 1, 1], frames={"f": lw.pose((0, 0, 1))})
    assert link == same and hash(link) == hash(same) and repr(link) == "<Link 'a': 1 kg>"
    assert pickle.loads(pickle.dumps(link)) == copy.copy(link) == link
    assert link.with_frame("g", (1, 0, 0)).frames.keys() == {"f", "g"} and [*link.frames] == ["f"]
    for array in (link.com, link.inertia):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2.0
    with pytest.raises(AttributeError, match="cannot assign to field 'mass'"):
        link.mass = 2.0  # type: ignore[misc]


def test_inertia_of_a_link_may_be_stated_in_rotated_axes() -> None:
    turned = lw.pose((0.1, 0, 0), axis=(0, 0, 1), angle=0.3)
    link = lw.Link("a", mass=1.0, com=turned, inertia=(1.0, 2.0, 2.5))
    R = turned[:3, :3]
    assert np.allclose(link.inertia, R @ np.diag([1.0, 2.0, 2.5]) @ R.T, rtol=1e-14, atol=1e-15)
    assert link.com.tolist() == [0.1, 0.0, 0.0]


BAD_LINKS: dict[str, Callable[[], object]] = {
    r"Link: name: expected a name, got ''": lambda: lw.Link(""),
    r"Link: name: expected a name, got 3": lambda: lw.Link(3),  # type: ignore[arg-type]
    r"link 'a': mass: expected a number \[kg\], got '1'": lambda: lw.Link("a", mass="1"),  # type: ignore[arg-type]
    r"link 'a': mass: expected a number \[kg\], got nan": lambda: lw.Link("a", mass=math.nan),
    r"link 'a': com: expected a pose, .* got \('0', '0', '1'\)": lambda: lw.Link("a", mass=1, com=("0", "0", "1")),  # type: ignore[arg-type]
    r"link 'a': com: .* got an array of shape \(2,\)": lambda: lw.Link("a", mass=1, com=(0, 1)),
    r"link 'a': mass: expected a mass .* with com": lambda: lw.Link("a", com=(0, 0, 1)),
    r"link 'a': mass: expected a mass .* with inertia": lambda: lw.Link("a", inertia=(1, 1, 1)),
    r"link 'a': inertia: .* got an array of shape \(6,\)": lambda: lw.Link("a", mass=1, inertia=(1, 0, 0, 1, 0, 1)),
    r"link 'a': inertia: expected a symmetric matrix": lambda: lw.Link("a", mass=1, inertia=np.triu(np.ones((3, 3)))),
    r"link 'a': density: expected shapes, and no": lambda: lw.Link("a", density=1),
    r"link 'a': com, inertia: expected both, or neither": lambda: lw.Link("a", shapes.Sphere(1), mass=1, com=(0, 0, 1)),
    r"link 'a': the volume of Mesh\(.*\) is not known; pass com": lambda: lw.Link("a", shapes.Mesh("m"), mass=1),
    r"link 'a': the volume of its shapes underflows": lambda: lw.Link("a", shapes.Sphere(1e-200), mass=1),
    r"link 'a': shapes: expected a shape, such as .*, got 3": lambda: lw.Link("a", 3),  # type: ignore[arg-type]
    r"link 'a': visuals: expected a list of shapes": lambda: lw.Link("a", visuals=shapes.Sphere(1)),  # type: ignore[arg-type]
    r"link 'a': frames: expected a dict of poses": lambda: lw.Link("a", frames=["tip"]),  # type: ignore[arg-type]
    r"link 'a': frames: expected a name, got 1": lambda: lw.Link("a", frames={1: (0, 0, 0)}),  # type: ignore[dict-item]
    r"link 'a': frames: 'tip': expected a pose": lambda: lw.Link("a", frames={"tip": np.zeros((4, 4))}),
    r"joint 'j': lower: expected a number, got '1'": lambda: hinge("j", "a", "b", lower="1"),
    r"joint 'j': damping: .*, non-negative, got -1": lambda: hinge("j", "a", "b", damping=-1),
    r"joint 'j': placement: expected a pose": lambda: hinge("j", "a", "b", placement="up"),
}


def test_invalid_links_are_refused_by_argument() -> None:
    for message, make in BAD_LINKS.items():
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match=r"joint 'j': mimic: expected numbers for ratio and offset, got \('a', '2'\)"):
        hinge("j", "a", "b", mimic=("a", "2"))
    with pytest.raises(TypeError, match=r"joint 'j': mimic: expected \(master, ratio, offset\), got 3"):
        hinge("j", "a", "b", mimic=3)


# -- robots that are none


def test_all_errors_of_a_robot_built_in_code_are_reported_together() -> None:
    result = issues(
        lw.Link("a", mass=-1.0),
        lw.Link("b", mass=1.0, inertia=(1, 1, -1)),
        hinge("j", "a", "c"),
        hinge("j", "a", "b"),
    )
    assert result.keys() == {"MASS_NEGATIVE", "INERTIA_NOT_PSD", "UNKNOWN_LINK", "DUPLICATE_NAME"}
    assert result["MASS_NEGATIVE"] == "robot[r]/link[a]: mass must not be negative, got -1.0 [MASS_NEGATIVE]"
    assert result["UNKNOWN_LINK"].startswith("robot[r]/joint[j]: joint 'j': its child link 'c' does not exist")


def test_links_and_joints_that_do_not_form_a_tree_are_refused() -> None:
    a, b, c = (lw.Link(name, mass=1.0) for name in "abc")
    cases = {
        "DUPLICATE_NAME": (a, a),
        "MULTIPLE_ROOTS": (a, b),
        "TWO_PARENTS": (a, b, c, hinge("j", "a", "c"), hinge("k", "b", "c")),
        "CYCLE": (a, b, c, hinge("j", "a", "b"), hinge("k", "b", "a")),
        "NO_LINKS": (),
        "MIMIC_UNKNOWN": (a, b, hinge("j", "a", "b", mimic="k")),
        "BAD_NAME": (a, lw.Link("world"), hinge("j", "a", "world")),
        "MAGNITUDE": (a, hinge("j", "world", "a", placement=(0, 0, 1e30))),
        "UNKNOWN_LINK": (a, lw.Joint.of(HINGE)),
    }
    for code, parts in cases.items():
        result = issues(*parts)
        assert code in result
        for text in result.values():  # nothing of files
            assert "line" not in text and "<" not in text and "XML" not in text
    assert lw.Robot.build("r", a, b, multi_root=True).frames == ("a", "b")
    assert "keep the base fixed" in issues(a, hinge("j", "world", "a"), floating_base=True)["BAD_NAME"]


def test_invalid_names_of_frames_are_refused() -> None:
    assert "frame 'a' has the name of a link" in issues(lw.Link("a", frames={"a": (0, 0, 1)}))["DUPLICATE_NAME"]
    twice = lw.Link("a", frames={"f": (0, 0, 1)}).with_frame("f", (0, 0, 2))
    assert "frame 'f' has the name of a frame" in issues(twice)["DUPLICATE_NAME"]
    assert "'world' is reserved for the world's frame" in issues(lw.Link("a", frames={"world": (0, 0, 1)}))["BAD_NAME"]
    with pytest.raises(ModelError, match="frame 'f': its placement's offset") as caught:
        lw.Robot.build("r", lw.Link("a", frames={"f": (0, 0, 1e30)}))
    assert len(caught.value.issues) == 1  # what is wrong is said once


def test_suspicious_links_give_one_warning_or_an_error_if_strict() -> None:
    link = lw.Link("a", mass=1.0, inertia=(1, 1, 3))
    message = r"building robot 'r' found 1 issue; .*\n  robot\[r\]/link\[a\]: no body has"
    with pytest.warns(ModelWarning, match=message) as caught:
        robot = lw.Robot.build("r", link)
    assert caught[0].filename == __file__
    assert [issue.code for issue in robot.report.warnings] == ["INERTIA_TRIANGLE"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert issues(link, strict=True).keys() == {"INERTIA_TRIANGLE"}
        assert issues(link, lw.Link("b", mass=-1.0)).keys() >= {"MASS_NEGATIVE"}


def test_impossible_inertias_of_links_are_refused_replaced_or_ignored_as_requested() -> None:
    """The options of `load`: the nearest possible one, or none at all."""
    bad = lw.Link("a", mass=1.0, inertia=(1, 1, -0.01))
    assert issues(bad).keys() == {"INERTIA_NOT_PSD"}
    with pytest.warns(ModelWarning, match="INERTIA_NEAREST"):
        near = lw.Robot.build("r", bad, inertia="nearest")
    assert near.mass == 1.0 and near.tree.frame("a").inertia.about.zz >= 0.0
    without = lw.Robot.build("r", bad, inertia="ignore")
    assert without.tree.frame("a").inertia.mass == 0.0 and without.tree.inertias_ignored
    for option in ({"inertia": "best"}, {"mimic": "never"}):
        with pytest.raises(ValueError, match=f"{next(iter(option))}: expected"):
            lw.Robot.build("r", bad, **option)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="build: no option named 'continuous'"):
        lw.Robot.build("r", bad, continuous="angle")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"from_dh: no option named 'floating'; did you mean 'floating_base'"):
        lw.Robot.from_dh("r", [{}], convention="standard", floating=True)  # type: ignore[call-arg]


def test_arguments_of_build_that_are_not_links_or_joints_are_refused() -> None:
    for part in (3, "link", None, HINGE):
        with pytest.raises(TypeError, match="build: parts: expected links, joints and lists of them, got"):
            lw.Robot.build("r", part)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="gravity: expected three"):
        lw.Robot.build("r", lw.Link("a"), gravity=(0, 0))
    with pytest.raises(TypeError, match="build: name: expected the robot's name, a string, got 3"):
        lw.Robot.build(3, lw.Link("a"))  # type: ignore[arg-type]
