"""Graphs of bodies and joints in USD stages: bases, loops, names, instances, filters, and whole robots."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import LoopJoint
from linkwork.errors import ModelError, ModelWarning
from linkwork.joints import Fixed, Floating, Revolute
from usd_texts import at, body, collider, joint, load, prim, stage, written

pytest.importorskip("pxr", reason="needs usd-core")
FOLDER = Path(__file__).parent
HINGE = 'uniform token physics:axis = "Y"'


def names(robot: lw.Robot) -> list[str]:
    return [joint.name for joint in robot.joints]


def arm(anchor: str = "", *more: str, root: str = "") -> str:
    return stage(
        body("a", at(0, 0, 1), schemas=root),
        body("b", at(0, 0, 2)),
        *([anchor] if anchor else []),
        joint("Revolute", "j", "a", "b", HINGE + ";point3f physics:localPos0 = (0, 0, 1)"),
        *more,
    )


ANCHOR = joint("Fixed", "anchor", "", "a", "point3f physics:localPos0 = (0, 0, 1)")


def test_base_of_a_usd_robot_is_fixed_or_floating_as_the_stage_states(tmp_path: Path) -> None:
    fixed, free = load(tmp_path, arm(ANCHOR)), load(tmp_path, arm())
    assert (names(fixed), names(free)) == (["j"], ["floating_base", "j"])
    assert fixed.tree.named_configurations == ()
    np.testing.assert_allclose(dict(free.tree.named_configurations[0].q)["floating_base"], (1, 0, 0, 0, 0, 0, 1))
    freed, fixed_robot = load(tmp_path, arm(ANCHOR), floating_base=True), load(tmp_path, arm(), floating_base=False)
    assert (names(freed), names(fixed_robot)) == (["floating_base", "j"], ["j"])
    assert freed.tree.bodies == free.tree.bodies
    np.testing.assert_allclose([*fixed_robot.tree.frame("a").placement.translation], (0, 0, 1))
    assert names(load(tmp_path, arm(ANCHOR), floating_base=False)) == ["j"]
    assert names(load(tmp_path, arm(), floating_base=True)) == ["floating_base", "j"]
    moving = arm(joint("Prismatic", "rail", "", "a"))
    with pytest.raises(ModelError, match="FLOATING_BASE"):
        load(tmp_path, moving, floating_base=True)
    with pytest.raises(ModelError, match="FLOATING_BASE"):
        load(tmp_path, stage(body("a"), body("b")), floating_base=False)


def test_articulation_root_of_a_usd_stage_is_the_floating_base(tmp_path: Path) -> None:
    text = stage(body("a"), body("b", schemas="PhysicsArticulationRootAPI"), joint("Revolute", "j", "a", "b", HINGE))
    tree = load(tmp_path, text).tree
    assert [joint_.name for joint_ in tree.bodies] == ["b", "a"] and isinstance(tree.bodies[0].joint, Floating)
    assert tree.bodies[1].joint == Revolute((0, -1, 0))  # from b to a, with the sign of the stage
    assert [
        joint_.name for joint_ in load(tmp_path, text.replace('"PhysicsArticulationRootAPI"', '"x"')).tree.bodies
    ] == [
        "a",
        "b",
    ]


def test_usd_joints_excluded_from_articulations_close_loops(tmp_path: Path) -> None:
    excluded = "uniform bool physics:excludeFromArticulation = 1;"
    pin = "point3f physics:localPos0 = (1, 0, 0);point3f physics:localPos1 = (0, 0, -1);float physics:upperLimit = 90"
    text = arm(
        ANCHOR,
        body("c", at(1, 0, 2)),
        joint("Revolute", "closing", "a", "c", excluded + HINGE + ";" + pin),
        joint("Revolute", "k", "b", "c", HINGE + ";point3f physics:localPos0 = (1, 0, 0)"),
    )
    robot = load(tmp_path, text)
    assert names(robot) == ["j", "k"]
    (loop,) = robot.tree.constraints
    assert isinstance(loop, LoopJoint) and (loop.name, loop.relative_to, loop.frame) == (
        "closing",
        "closing_F",
        "closing_M",
    )
    assert loop.joint == Revolute((0, 1, 0)) and loop.upper == pytest.approx((np.pi / 2,))
    np.testing.assert_allclose([*robot.tree.frame("closing_F").placement.translation], (1, 0, 1))
    assert robot.tree.frame("closing_M").body == robot.tree.frame("c").body
    # without the mark, the last joint of the cycle closes it
    first = load(tmp_path, text.replace(excluded.rstrip(";"), ""))
    assert (names(first), first.tree.constraints[0].name) == (["j", "closing"], "k")
    with pytest.warns(ModelWarning, match="/r/closing: the bodies are 0.5"):
        load(tmp_path, text.replace("(1, 0, 0);", "(1, 0, 0.5);").replace("(0, 0, -1)\n", "(0, 0, -0.5)\n"))
    (loop,) = load(tmp_path, text.replace('"b"', '"closing_F"').replace("/b>", "/closing_F>")).tree.constraints
    assert isinstance(loop, LoopJoint) and loop.relative_to == "closing_F_"  # a body has the name
    only = stage(body("a"), body("b"), joint("Revolute", "j", "a", "b", excluded))
    assert names(load(tmp_path, only)) == ["floating_base", "j"]  # no cycle: nothing to close


def test_two_robots_of_one_usd_stage_have_distinct_names(tmp_path: Path) -> None:
    def robot(name: str, x: float) -> str:
        inner = body("base", at(x, 0, 0)), body("link", at(x, 0, 1))
        hinge = joint("Revolute", "hinge", "base", "link", f"{HINGE};point3f physics:localPos0 = (0, 0, 1)")
        return prim("Xform", name, "", *inner, hinge.replace("</r/", f"</r/{name}/"))

    result = load(tmp_path, stage(robot("left", 0), robot("right", 5), joint("Fixed", "w", "", "left/base")))
    assert result.frames == ("world", "left/base", "left/link", "right/base", "right/link")
    assert names(result) == ["floating_base", "right/hinge", "left/hinge"]
    assert result.name == "r"


def test_links_of_usd_instances_are_named_after_the_instance(tmp_path: Path) -> None:
    finger = body("finger", "", collider("Cube", "tip"), mass=2)
    use = "instanceable = true\nreferences = </prototype>"
    inner = (prim("Xform", "one", at(1, 0, 0), extra=use), prim("Xform", "two", at(2, 0, 0), extra=use))
    hinge = joint("Revolute", "j", "one/finger", "two/finger", HINGE + ";point3f physics:localPos0 = (1, 0, 0)")
    robot = load(tmp_path, stage(*inner, hinge) + f'class "prototype" {{\n{finger}}}\n')
    assert robot.frames == ("world", "one/finger", "two/finger") and robot.mass == 4.0
    assert [len(robot.tree.frame(name).collisions) for name in robot.frames] == [0, 1, 1]
    np.testing.assert_allclose(dict(robot.tree.named_configurations[0].q)["floating_base"][4:], (1, 0, 0))


def test_nested_usd_bodies_are_separate_links(tmp_path: Path) -> None:
    inner = body("inner", at(0, 0, 2), collider("Cube", "low", at(0, 0, 1)), mass=3)
    hinge = joint("Revolute", "j", "outer", "outer/inner", HINGE + ";point3f physics:localPos0 = (0, 0, 2)")
    robot = load(tmp_path, stage(body("outer", at(1, 0, 0), collider("Sphere", "s"), inner), hinge))
    outer, moved = robot.tree.bodies
    assert (outer.name, moved.name, moved.inertia.mass) == ("outer", "inner", 3.0)
    assert [shape.name for shape in robot.tree.frame("outer").collisions] == ["s"]
    np.testing.assert_allclose([*moved.placement.translation], (0, 0, 2))
    assert dict(robot.tree.named_configurations[0].q)["j"] == (0.0,)


def test_kinematic_and_disabled_usd_bodies_are_fixed_to_the_world(tmp_path: Path) -> None:
    text = stage(
        body("a", "bool physics:rigidBodyEnabled = 0", collider("Cube", "wall")),
        body("b", at(1, 0, 0) + "\nbool physics:kinematicEnabled = 1"),
        body("c", at(1, 0, 0)),
        joint("Revolute", "j", "b", "c", HINGE),
        joint("Fixed", "w", "", "b"),
        prim("Xform", "gone", "", body("x"), extra="active = false"),
    )
    robot = load(tmp_path, text)
    assert robot.frames == ("world", "b", "c") and names(robot) == ["j"]
    assert [shape.name for shape in robot.tree.frame("world").collisions] == ["wall"]
    assert isinstance(robot.joint("b_fixed").type, Fixed)
    np.testing.assert_allclose([*robot.tree.frame("b").placement.translation], (1, 0, 0))
    notes = " ".join(shape.message for shape in robot.report.warnings)
    assert "kinematic" in notes and "not enabled" in notes and "do not move" in notes and not robot.report.repairs


def test_disabled_usd_joints_are_left_out(tmp_path: Path) -> None:
    text = arm(
        ANCHOR,
        joint("Revolute", "off", "a", "b", "bool physics:jointEnabled = 0"),
        joint("Revolute", "self", "b", "b"),
        joint("Revolute", "unknown", "b", "nothing"),
    )
    with pytest.warns(ModelWarning):
        robot = load(tmp_path, text)
    assert names(robot) == ["j"] and not robot.tree.constraints
    assert {repair.where.element: repair.code for repair in robot.report.repairs} == {
        "/r/self": "SELF_JOINT",
        "/r/unknown": "UNKNOWN_LINK",
    }


def test_usd_joint_may_name_a_prim_inside_a_body(tmp_path: Path) -> None:
    """A joint may name a shape or a frame of a body, or a prim without a body, which is the world."""
    inner = prim("Xform", "frame", at(0, 0, 3, scale="(2, 2, 2)"))
    text = stage(
        body("a", at(1, 0, 0), inner),
        body("b", at(1, 0, 4)),
        prim("Xform", "ground", at(1, 0, -1)),
        joint("Revolute", "j", "a/frame", "b", HINGE + ";point3f physics:localPos0 = (0, 0, 0.5)"),
        joint("Fixed", "w", "ground", "a", "point3f physics:localPos0 = (0, 0, 1)"),
    )
    robot = load(tmp_path, text)
    assert names(robot) == ["j"] and robot.tree.named_configurations == () and not robot.report.repairs
    np.testing.assert_allclose([*robot.tree.bodies[0].placement.translation], (1, 0, 4), atol=1e-15)
    np.testing.assert_allclose([*robot.tree.frame("frame").placement.translation], (1, 0, 3))


def test_initial_configuration_of_a_usd_stage_becomes_a_named_configuration(tmp_path: Path) -> None:
    tilted = "(0.9238795, 0, 0.3826834, 0)"  # 45 degrees about y
    text = stage(
        body("a"),
        body("b", at(1, 0, 0, orient=tilted)),
        body("c", at(1, 0, 0)),
        joint("Fixed", "w", "", "a"),
        joint(
            "Revolute",
            "j",
            "a",
            "b",
            HINGE
            + ";point3f physics:localPos0 = (1, 0, 0);float physics:lowerLimit = 360;float physics:upperLimit = 500",
        ),
        joint("Prismatic", "k", "a", "c", 'uniform token physics:axis = "X"'),
    )
    (state,) = load(tmp_path, text).tree.named_configurations
    q = dict(state.q)
    np.testing.assert_allclose((*q["j"], *q["k"]), (2.25 * np.pi, 1.0), atol=1e-6)
    apart = stage(body("a"), body("b", at(0, 0, 1)), joint("Revolute", "j", "a", "b", HINGE))
    with pytest.warns(ModelWarning, match="POSE_APART"):
        load(tmp_path, apart)


def test_usd_collision_filters_disable_collision_pairs(tmp_path: Path) -> None:
    def bodies(first: str = "") -> list[str]:
        return [
            body("a", first, collider("Cube", "s"), schemas="PhysicsFilteredPairsAPI"),
            body("b", "", collider("Cube", "s"), collider("Cube", "t")),
            body("c", "", collider("Cube", "s")),
        ]

    def pairs(*prims: str) -> set[frozenset[str]]:
        result = load(tmp_path, stage(*prims)).tree.disabled_collisions
        return {frozenset((group_one.a, group_one.b)) for group_one in result}

    def group(name: str, members: str, filtered: str, more: str = "") -> str:
        values = f"rel collection:colliders:includes = {members}\nrel physics:filteredGroups = {filtered}\n{more}"
        return prim("PhysicsCollisionGroup", name, values, schemas="CollectionAPI:colliders")

    ab, ac, bc = (frozenset(pair) for pair in ("ab", "ac", "bc"))
    assert pairs(*bodies()) == set()
    assert pairs(*bodies("rel physics:filteredPairs = [</r/b>]")) == {ab}
    assert pairs(*bodies("rel physics:filteredPairs = [</r/b/s>]")) == set()  # only one of two shapes
    assert pairs(*bodies("rel physics:filteredPairs = [</r/b/s>, </r/b/t>, </r/c>]")) == {ab, ac}
    group_one = group("one", "[</r/a>, </r/b>]", "</r/one>")
    assert pairs(*bodies(), group_one) == {ab}
    two = group("two", "</r/c>", "</r/one>")
    assert pairs(*bodies(), group_one, two) == {ab, ac, bc}
    assert pairs(*bodies(), group("one", "</r/a>", "</r/two>", "bool physics:invertFilteredGroups = 1"), two) == {
        ab,
        ac,
    }
    merged = 'string physics:mergeGroup = "m"'
    assert pairs(*bodies(), group("one", "</r/a>", "</r/one>", merged), group("three", "</r/c>", "[]", merged)) == {ac}
    alone = stage(*bodies(), root="bool newton:selfCollisionEnabled = 0")
    assert len(load(tmp_path, alone).tree.disabled_collisions) == 3
    collides = arm(ANCHOR).replace(HINGE, HINGE + "\nbool physics:collisionEnabled = 1")
    assert load(tmp_path, collides).tree.enabled_collisions == (("a", "b"),)


def test_ignored_usd_content_is_reported_once(tmp_path: Path) -> None:
    damped = "float physxRigidBody:linearDamping = {};float physxRigidBody:sleepThreshold = 1"
    damped += ";bool physxRigidBody:disableGravity = 0"
    actuator = prim("MjcActuator", "motor")
    with pytest.warns(ModelWarning):
        robot = load(tmp_path, stage(body("a", damped.format(0.5)), body("b", damped.format(0.5)), actuator))
    results = {warning.message: warning.code for warning in robot.report.warnings}
    assert results == {
        "prims of type MjcActuator are not read": "UNSUPPORTED",
        "the attribute physxRigidBody:linearDamping is not read (2 times, here first)": "UNSUPPORTED",
        "attributes physxRigidBody: parameters of a simulator are not read (2 times, here first)": "IGNORED",
    }
    assert not load(tmp_path, stage(body("a", damped.format(0)))).report.repairs


def test_selected_usd_variants_are_reported(tmp_path: Path) -> None:
    head = 'variants = {\nstring size = "large"\n}\nprepend variantSets = "size"'
    inner = 'variantSet "size" = {\n"large" {\n' + body("x", mass=5) + '}\n"small" {\n' + body("x", mass=2) + "}\n}"
    robot = load(tmp_path, stage(prim("Xform", "v", inner, extra=head)))
    assert robot.mass == 5.0 and "'large' is read" in robot.report.warnings[-1].message


def test_every_prim_of_a_usd_stage_is_read_or_reported() -> None:
    robot = lw.load(FOLDER / "every_prim.usda")
    assert names(robot) == ["shoulder", "slide", "generic", "socket"] and not robot.report.repairs
    assert (robot.name, len(robot.tree.constraints), len(robot.tree.actuators)) == ("cell", 1, 3)
    np.testing.assert_allclose(robot.gravity, (0, 0, -9.81))


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["arm7_gripper"])
def test_robot_converted_to_usd_equals_its_urdf(name: str) -> None:
    """The stage was made from the URDF by urdf-usd-converter 0.3.4; its numbers have single precision."""
    expected, loaded_robot = lw.load(name), lw.load(FOLDER / f"converted/{name}/{name}.usda")
    assert names(loaded_robot) == names(expected) and set(loaded_robot.frames) == {"world", *expected.frames}
    assert {issue.code for issue in loaded_robot.report.warnings} == {"MIMIC_FREE"}
    np.testing.assert_allclose(loaded_robot.mass, expected.mass, rtol=1e-7)
    q = expected.random_configuration(seed=3)
    v = np.linspace(-1.0, 1.0, expected.nv)
    for frame in expected.frames:
        np.testing.assert_allclose(loaded_robot.pose(q, frame), expected.pose(q, frame), atol=1e-6)
    np.testing.assert_allclose(loaded_robot.mass_matrix(q), expected.mass_matrix(q), atol=1e-6)
    np.testing.assert_allclose(loaded_robot.bias_force(q, v), expected.bias_force(q, v), atol=2e-5)
    for ours, theirs in zip(loaded_robot.joints, expected.joints, strict=True):
        np.testing.assert_allclose(
            [*ours.lower, *ours.upper, *ours.velocity, *ours.effort, *ours.damping, *ours.friction],
            [*theirs.lower, *theirs.upper, *theirs.velocity, *theirs.effort, *theirs.damping, *theirs.friction],
            rtol=1e-6,
            atol=1e-6,
        )


def test_robots_converted_to_usd_by_the_installed_converter_equal_their_urdf(tmp_path: Path) -> None:
    if find_spec("urdf_usd_converter") is None:
        pytest.skip("needs urdf-usd-converter, with its own build of USD")
    convert = "import sys, urdf_usd_converter; urdf_usd_converter.Converter().convert(*sys.argv[1:])"
    for name in ("humanoid", "quadruped"):
        arguments = [str(lw.robots.path(name)), str(tmp_path / name)]
        subprocess.run([sys.executable, "-c", convert, *arguments], check=True, capture_output=True)
        (path,) = [*(tmp_path / name).glob("*.usd*")]
        expected, loaded_robot = lw.load(name), lw.load(path)
        assert names(loaded_robot) == names(expected)
        q = expected.random_configuration(seed=3)
        np.testing.assert_allclose(loaded_robot.mass_matrix(q), expected.mass_matrix(q), atol=1e-5)
        np.testing.assert_allclose(loaded_robot.gravity_force(q), expected.gravity_force(q), atol=1e-4)


def test_reading_usd_without_usd_core_names_the_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkwork.formats.registry.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'needs the package pxr: pip install "linkwork\[usd\]"'):
        lw.load(written(tmp_path, arm()))
