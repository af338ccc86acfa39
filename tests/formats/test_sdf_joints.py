"""SDF joints: types, limits, dynamics, mimicry, loops, gears, and how bases move."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwork.constraints import Coupling, Gear, LoopJoint
from linkwork.errors import ModelError
from linkwork.formats import parse_sdf
from linkwork.joints import (
    Fixed,
    Floating,
    Helical,
    Prismatic,
    Revolute,
    Spherical,
    UnboundedRevolute,
    Universal,
)
from linkwork.model.body import Following, Limits
from linkwork.model.tree_builder import build_tree
from linkwork.robot.robot_table import ROBOT
from linkwork.spatial import Vec3
from sdf_texts import INERTIAL, arm, axis, joint, link, model, read, sdf, warnings, world

INF = math.inf
LIMITS = "<limit><lower>-1</lower><upper>2</upper><effort>3</effort><velocity>4</velocity></limit>"
DYNAMICS = (
    "<dynamics><damping>0.5</damping><friction>0.25</friction><spring_reference>0.1</spring_reference>"
    "<spring_stiffness>7</spring_stiffness></dynamics>"
)
TWO = axis(LIMITS) + axis(DYNAMICS, "0 1 0", "axis2")


def body(inner: str | None = None, kind: str = "revolute", version: str = "1.9", **options):
    (loaded_robot,) = read(arm(inner, kind, version), **options).bodies
    return loaded_robot


def test_joint_types_of_sdf_are_read():
    y = axis(xyz="0 1 0")
    assert body(y).joint == body(y, "continuous").joint == Revolute(Vec3(0.0, 1.0, 0.0))
    assert body(y, "continuous", continuous="sincos").joint == UnboundedRevolute(Vec3(0.0, 1.0, 0.0))
    assert body(y, "prismatic").joint == Prismatic(Vec3(0.0, 1.0, 0.0))
    assert body("", "ball").joint == Spherical()
    for kind in ("universal", "revolute2"):
        assert body(TWO, kind).joint == Universal((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), right_angle=False)
    assert read(arm("", "fixed")).bodies == ()
    for axis_text in ("<axis/>", axis(xyz="0 0 1e308"), axis(xyz="0 0 5e-324")):
        assert body(axis_text).joint == Revolute(Vec3(0.0, 0.0, 1.0))
    skew = body("<pose>0 0 0 0.1 0 0</pose>" + axis(xyz="1e308 1e308 1e-300")).joint
    assert isinstance(skew, Revolute) and math.hypot(*skew.axis) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.light
@pytest.mark.parametrize(
    ("inner", "advance"),
    [
        ("<screw_thread_pitch>0.5</screw_thread_pitch>", 0.5),  # m per revolution, right-handed
        ("<thread_pitch>-4</thread_pitch>", 2.0 * math.pi / 4.0),  # rad/m, positive is left-handed
        ("<thread_pitch>4</thread_pitch><screw_thread_pitch>0.25</screw_thread_pitch>", 0.25),
        ("", 1.0),
    ],
)
def test_screw_joints_of_sdf_have_the_stated_pitch(inner: str, advance: float):
    result = body(axis() + inner, "screw", "1.10").joint
    assert isinstance(result, Helical) and result.pitch * 2.0 * math.pi == pytest.approx(advance, rel=1e-15)


def test_sdf_joint_limits_and_dynamics_are_read():
    result = body(axis(LIMITS + DYNAMICS))
    assert result.limits == Limits((-1.0,), (2.0,), (4.0,), (3.0,))
    assert (result.damping, result.friction, result.drive.stiffness, result.drive.rest) == (
        (0.5,),
        (0.25,),
        (7.0,),
        (0.1,),
    )
    unlimited = axis("<limit><lower>-1e16</lower><upper>inf</upper><effort>-1</effort><velocity>-1</velocity></limit>")
    assert body(unlimited).limits == body().limits == Limits.none(Revolute((0.0, 0.0, 1.0)))
    largest = axis("<limit><lower>-1.8e308</lower><upper>1.79769e308</upper></limit>")
    assert body(largest).limits == body().limits
    two = body(TWO, "universal")
    assert two.limits == Limits((-1.0, -INF), (2.0, INF), (4.0, INF), (3.0, INF))
    assert two.damping == (0.0, 0.5) and two.drive.stiffness == (0.0, 7.0) and two.drive.rest == (0.0, 0.1)
    turning = body(axis(LIMITS + DYNAMICS), "continuous", continuous="sincos")
    assert turning.limits.velocity == (4.0,) and turning.drive.rest == pytest.approx((math.sin(0.1), math.cos(0.1)))
    (note,) = warnings(arm(axis(LIMITS), "continuous"))
    assert note.code == "IGNORED"


def test_sdf_joint_off_the_origin_of_its_child_has_the_stated_kinematics():
    text = arm("<pose>0.5 0 0 0 0.25 0</pose>" + axis(xyz="0 0 1"))
    result = body("<pose>0.5 0 0 0 0.25 0</pose>" + axis(xyz="0 0 1"))
    assert not result.rotor.is_identity and result.joint == Revolute((0.0, 0.0, 1.0))
    X = np.reshape(ROBOT["forward_kinematics"].compute(read(text), [math.pi])[0].elements(), (4, 4))
    a = np.array([math.sin(0.25), 0.0, math.cos(0.25)])  # a half turn about an axis through (0.5, 0, 0)
    half = 2.0 * np.outer(a, a) - np.eye(3)
    np.testing.assert_allclose(X[:3, :3], half, atol=1e-15)
    np.testing.assert_allclose(X[:3, 3], np.array([0.5, 0, 0]) - half @ [0.5, 0, 0], atol=1e-15)
    turned = body("<pose>0 0 0 0 0.25 0</pose>" + axis(xyz="0 0 1"))
    assert turned.rotor.is_identity and turned.joint.axis == pytest.approx(Vec3(*a))  # type: ignore[attr-defined]


def test_mimic_joints_of_sdf_are_read_with_their_reference_position():
    leader = link("c") + joint("k", "b", "c", inner=axis())
    text = arm(axis('<mimic joint="k"><multiplier>2</multiplier><offset>1</offset><reference>3</reference></mimic>'),
               version="1.11", more=leader)  # fmt: skip
    tree = read(text)
    assert tree.bodies[0].mimic == Following("k", 2.0, -5.0)
    assert tree.constraints == (Gear("j", "k", 2.0, offset=-5.0, name="j_mimic"),)
    coupled = read(text, mimic="coupled")
    assert coupled.nv == 1 and coupled.constraints == () and coupled.bodies[0].coupling == Following("k", 2.0, -5.0)
    slide = text.replace('name="j" type="revolute"', 'name="j" type="prismatic"')
    assert read(slide).constraints == (Coupling({"j": 1.0, "k": -2.0}, offset=-5.0, unit="m", name="j_mimic"),)
    for mimic_text in (arm(TWO.replace("<xyz>", '<mimic joint="k"/><xyz>', 1), "universal", "1.11", leader),):
        assert [issue.code for issue in warnings(mimic_text)] == ["UNSUPPORTED"]


def test_sdf_initial_positions_become_a_named_configuration():
    tree = read(arm(axis("<initial_position>0.5</initial_position>"), version="1.6"))
    (state,) = tree.named_configurations
    assert state.name == "initial_position" and dict(state.q) == {"j": (0.5,)}
    assert read(arm(axis("<initial_position>0</initial_position>"), version="1.6")).named_configurations == ()


# -- graphs


def test_loops_of_sdf_joints_are_closed_by_the_last_joint():
    """A four-bar: the joint that finds its child carried already closes it, with its limits and damping."""
    inner = axis("<limit><lower>-2</lower></limit><dynamics><damping>0.25</damping></dynamics>", "0 1 0")
    text = sdf(
        model(
            *map(link, "abcd"),
            joint("w", "world", "a", "fixed", ""),
            *(joint(f"j{p}{c}", p, c, inner=axis(xyz="0 1 0")) for p, c in ("ab", "bc", "ad")),
            joint("loop", "d", "c", inner=inner),
        )
    )
    tree = read(text)
    (loop,) = tree.constraints
    assert isinstance(loop, LoopJoint) and (loop.frame, loop.relative_to) == ("loop_M", "loop_F")
    assert loop.joint == Revolute((0.0, 1.0, 0.0)) and loop.lower == (-2.0,) and loop.damping == (0.25,)
    assert (loop.upper, tree.frame("loop_F").welded_to, tree.frame("loop_M").welded_to) == ((), "d", "c")
    assert [body.joint_name for body in tree.bodies] == ["jab", "jbc", "jad"]


@pytest.mark.parametrize("first", [True, False])
def test_sdf_joint_from_child_to_parent_is_reversed_unless_it_closes_a_loop(first: bool):
    """Link b is the child of a and of c: with c fixed to the world, the joint from a to b is reversed."""
    joints = [joint("jab", "a", "b", inner=axis(LIMITS)), joint("jcb", "c", "b", inner=axis(xyz="0 1 0"))]
    base = joint("w", "world", "c", "fixed", "")
    tree = read(sdf(model(*map(link, "abc"), *(joints if first else joints[::-1]), base)))
    assert not tree.constraints and [body.name for body in tree.bodies] == ["b", "a"]
    assert tree.bodies[1].joint_name == "jab" and tree.bodies[1].joint == Revolute((0.0, 0.0, 1.0)).reversed()
    assert tree.bodies[1].limits == Limits((-1.0,), (2.0,), (4.0,), (3.0,))
    floating = read(sdf(model(*map(link, "abc"), *joints)))
    assert [body.name for body in floating.bodies] == ["a", "b", "c"]
    cycle = read(sdf(model(*map(link, "ab"), joint("j", "a", "b"), joint("k", "b", "a", inner=axis(xyz="1 0 0")))))
    assert [body.name for body in cycle.bodies] == ["a", "b"] and len(cycle.constraints) == 1


def test_sdf_joints_without_freedom_to_move_are_reported():
    twice = arm("", "fixed", more=joint("again", "a", "b"))
    (note,) = warnings(twice)
    assert note.code == "IGNORED" and "'again'" in note.message and read(twice).constraints == ()
    static = sdf(model("<static>1</static>", link("a"), link("b", ""), joint("j", "a", "b")))
    (note,) = warnings(static)
    assert note.code == "IGNORED" and "'j'" in note.message
    tree = read(static, strict=True)
    assert tree.bodies == () and {frame.fixed_joint for frame in tree.frames[1:]} == {"world_to_a", "world_to_b"}


def test_sdf_gearboxes_couple_two_joints():
    """The child turns by the negated ratio times the parent's angle about the axes of the gearbox."""

    def gear(parent_axis: str, child_axis: str, ends: str = "ab", more: str = "") -> str:
        inner = axis(xyz="0 0 1") + axis(xyz="0 0 1", tag="axis2") + "<gearbox_ratio>3</gearbox_ratio>"
        return sdf(
            model(
                *map(link, "rab"),
                joint("w", "world", "r", "fixed", ""),
                joint("ja", *("ar" if more else "ra"), inner=axis(xyz=parent_axis)),
                joint("jb", "r", "b", inner=axis(xyz=child_axis)),
                joint("g", *ends, "gearbox", inner + "<gearbox_reference_body>r</gearbox_reference_body>"),
            )
        )

    assert read(gear("0 0 1", "0 0 1")).constraints == (Gear("jb", "ja", -3.0, name="g"),)
    assert read(gear("0 0 -1", "0 0 2")).constraints == (Gear("jb", "ja", 3.0, name="g"),)
    assert read(gear("0 0 1", "0 0 1", "ba")).constraints == (Gear("ja", "jb", -3.0, name="g"),)
    assert read(gear("0 0 1", "0 0 1", more="reversed")).constraints == (Gear("jb", "ja", 3.0, name="g"),)
    assert [issue.code for issue in warnings(gear("0 1 0", "0 0 1"))] == ["UNSUPPORTED"]


# -- bases


FLOATS = model("<pose>0 0 2 0 0 0</pose>", link("a"), link("b"), joint("j", "a", "b"))


def test_sdf_model_is_floating_unless_it_is_fixed():
    tree = read(sdf(FLOATS))
    assert [body.joint_name for body in tree.bodies] == ["floating_base", "j"] and tree.nv == 7
    assert isinstance(tree.bodies[0].joint, Floating) and tree.bodies[0].placement.translation.z == 2.0
    fixed = read(sdf(FLOATS), floating_base=False)
    assert fixed.nv == 1 and fixed.frame("a").placement.translation.z == 2.0
    assert read(sdf(FLOATS), floating_base=True) == tree
    freed = read(arm(), floating_base=True)
    assert [body.joint_name for body in freed.bodies] == ["floating_base", "j"]
    static = sdf(model("<static>true</static>", link("a")))
    assert read(static).bodies == () and len(read(static, floating_base=True).bodies) == 1
    for text in (
        arm().replace('name="base" type="fixed">', 'name="base" type="ball">'),
        sdf(model("<static>true</static>", link("a"), link("b"))),
    ):
        with pytest.raises(ModelError, match="FLOATING_BASE") as caught:
            read(text, floating_base=True)
        assert caught.value.code == "FLOATING_BASE"


def test_links_of_models_in_an_sdf_world_have_the_models_name_as_prefix():
    floor = model("<static>1</static>", link("floor", ""), name="ground")
    tree = read(world("<gravity>0 0 -1.5</gravity>", FLOATS, FLOATS.replace('"m"', '"n"'), floor))
    assert tree.name == "w" and tuple(tree.gravity) == (0.0, 0.0, -1.5)
    assert [body.joint_name for body in tree.bodies] == [
        *("m::a::floating_base", "m::j", "n::a::floating_base", "n::j"),
    ]
    assert tree.frame("ground::floor").fixed_joint == "world_to_ground::floor"
    single_model = parse_sdf(world(FLOATS, floor), model="m")
    assert [link.name for link in single_model.links] == ["world", "a", "b"] and single_model.name == "m"
    assert tuple(build_tree(single_model).gravity) == (0.0, 0.0, -9.8)
    assert tuple(read(world("<physics><gravity>0 1 0</gravity></physics>", FLOATS, version="1.5")).gravity) == (0, 1, 0)
    assert tuple(read(sdf(FLOATS)).gravity) == (0.0, 0.0, -9.81)
    several = sdf(FLOATS, FLOATS.replace('"m"', '"n"'), version="1.7")
    assert [frame.name for frame in read(several).frames] == ["world", "m::a", "m::b", "n::a", "n::b"]


def test_joints_between_models_of_an_sdf_world_are_read():
    text = world(FLOATS, FLOATS.replace('"m"', '"n"'), joint("tie", "m::b", "n::a", "ball", ""), version="1.10")
    tree = read(text, strict=True)
    assert [body.joint_name for body in tree.bodies] == ["floating_base", "m::j", "tie", "n::j"]
    assert isinstance(read(text, floating_base=False).bodies[1].joint, Spherical)
    assert [joint.name for joint in parse_sdf(text, model="n").joints] == ["floating_base", "j"]
    frames = '<frame name="a"/><frame name="f"><pose>0 0 1 0 0 0</pose></frame>'
    assert {"a", "world::a", "f"} <= {frame.name for frame in read(world(FLOATS, frames)).frames}


def test_duplicate_names_of_sdf_joints_get_an_underscore_at_the_end():
    text = sdf(model(link("a"), link("b"), joint("floating_base", "a", "b")))
    assert [body.joint_name for body in read(text).bodies] == ["floating_base_", "floating_base"]
    assert isinstance(parse_sdf(arm()).joints[0].joint, Fixed) and INERTIAL in arm()
