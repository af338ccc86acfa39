"""Tree builder: welded links, frames, names and order of bodies from a description."""

from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest

from linkwork.errors import Issue, ModelError
from linkwork.formats import parse_urdf
from linkwork.joints import Floating, Revolute
from linkwork.model.body import WORLD, Following, Limits
from linkwork.model.description import Description, JointDescription, LinkDescription
from linkwork.model.tree import Tree
from linkwork.model.tree_builder import build_tree
from linkwork.spatial import Inertia, Pose, Rotation, Symmetric3, Vec3
from urdf_texts import INERTIAL, LIMIT, error, joint, link, read, robot

IDENTITY = Pose.identity()
MOVED = '<origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>'  # up by 1 m, and a quarter turn about z
X_MOVED = Pose(Rotation.from_rpy(0.0, 0.0, math.pi / 2), Vec3(0.0, 0.0, 1.0))
MOMENTS = '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="3"/>'
PLACED = f'<inertial><origin xyz="1 0 0"/><mass value="2"/>{MOMENTS}</inertial>'
I_LINK = Inertia.at_center(2.0, Vec3(1.0, 0.0, 0.0), Symmetric3.diagonal(1.0, 2.0, 3.0))


def welded() -> str:
    """base =weld= plate -turn- arm =weld= cover =weld= lamp -turn- hand."""
    return robot(
        *(link(name, PLACED) for name in ("base", "plate", "arm", "cover", "lamp", "hand")),
        joint("bolts", "base", "plate", "fixed", MOVED),
        joint("shoulder", "plate", "arm", inner=MOVED + LIMIT),
        joint("clip", "arm", "cover", "fixed", MOVED),
        joint("glue", "cover", "lamp", "fixed", MOVED),
        joint("wrist", "lamp", "hand", inner=MOVED + LIMIT),
    )


def test_links_welded_to_a_fixed_root_link_belong_to_the_world():
    tree = read(welded())
    assert [body.name for body in tree.bodies] == ["arm", "hand"]
    assert [body.joint_name for body in tree.bodies] == ["shoulder", "wrist"]
    assert [body.parent for body in tree.bodies] == [WORLD, 0]
    assert [(frame.name, frame.body, frame.fixed_joint) for frame in tree.frames] == [
        ("base", WORLD, None),
        ("plate", WORLD, "bolts"),
        ("arm", 0, None),
        ("cover", 0, "clip"),
        ("lamp", 0, "glue"),
        ("hand", 1, None),
    ]


def test_placements_of_welded_links_are_composed():
    tree = read(welded())
    twice = X_MOVED @ X_MOVED
    frames = {frame.name: frame.placement for frame in tree.frames}
    assert frames == {
        "base": IDENTITY,
        "plate": X_MOVED,
        "arm": IDENTITY,
        "cover": X_MOVED,
        "lamp": twice,
        "hand": IDENTITY,
    }
    assert tree.bodies[0].placement == twice
    assert tree.bodies[1].placement == twice @ X_MOVED
    assert all(body.rotor == IDENTITY for body in tree.bodies)


def test_inertias_of_welded_links_are_summed_in_the_body_frame():
    tree = read(welded())
    assert tree.bodies[1].inertia == I_LINK
    assert tree.bodies[0].inertia == I_LINK + X_MOVED @ I_LINK + (X_MOVED @ X_MOVED) @ I_LINK
    assert all(frame.inertia == I_LINK for frame in tree.frames)
    # by hand: three masses of 2 kg at (1, 0, 0), (0, 1, 1) and (-1, 0, 2)
    assert tree.bodies[0].inertia.mass == 6.0
    assert tree.bodies[0].inertia.moment == Vec3(0.0, 2.0, 6.0)
    assert tree.bodies[0].inertia.about.xx == (1.0 + 0.0) + (2.0 + 4.0) + (1.0 + 8.0)


def test_floating_base_moves_the_root_link():
    tree = read(welded(), floating_base=True)
    first = tree.bodies[0]
    assert (first.name, first.joint_name, first.joint, first.parent) == ("base", "floating_base", Floating(), WORLD)
    assert first.placement == first.rotor == IDENTITY
    assert first.limits == Limits.none(Floating()) and first.mimic is None
    assert first.damping == first.friction == (0.0,) * 6
    assert first.inertia == I_LINK + X_MOVED @ I_LINK
    assert [body.parent for body in tree.bodies] == [WORLD, 0, 1]
    assert tree.bodies[1].placement == X_MOVED @ X_MOVED
    assert (tree.nq, tree.nv) == (9, 8)
    assert [frame.body for frame in tree.frames] == [0, 0, 1, 1, 1, 2]


def test_single_link_is_a_valid_robot():
    assert read(robot(link("a"))).bodies == ()
    assert read(robot(link("a")), floating_base=True).nq == 7


def test_floating_joints_may_occur_anywhere_in_a_tree():
    tree = read(robot(*map(link, "abc"), joint("j", "a", "b", "floating", ""), joint("k", "b", "c", "floating", "")))
    assert [body.joint for body in tree.bodies] == [Floating(), Floating()]
    assert (tree.nq, tree.nv) == (14, 12)


def test_floating_base_joint_requires_an_unused_name():
    text = robot(link("a"), link("b"), joint("floating_base", "a", "b"))
    assert read(text).bodies[0].joint_name == "floating_base"
    issue = error(text, floating_base=True)
    assert issue.code == "DUPLICATE_NAME" and issue.where.line == 4
    fixed = robot(link("a"), link("b"), joint("floating_base", "a", "b", "fixed"))
    assert read(fixed, floating_base=True).frames[1].fixed_joint == "floating_base"


def test_root_link_named_world_is_fixed():
    text = robot(link("world"), link("b"), joint("j", "world", "b", "fixed", MOVED))
    tree = read(text)
    assert tree.frame("world") == tree.frames[0]
    assert (tree.frames[0].body, tree.frames[0].placement) == (WORLD, IDENTITY)
    assert tree.frames[1].placement == X_MOVED
    issue = error(text, floating_base=True)
    assert issue.code == "BAD_NAME" and "cannot float" in issue.message and issue.hint


@pytest.mark.parametrize("kind", ["fixed", "revolute"])
def test_link_named_world_that_is_not_the_root_is_refused(kind: str):
    issue = error(robot(link("a"), link("world"), joint("j", "a", "world", kind)))
    assert issue.code == "BAD_NAME" and "'world'" in issue.message and issue.where.line == 3


def test_gravity_of_a_tree_defaults_to_the_earths_and_is_checked():
    description = parse_urdf(robot(link("a")))
    assert build_tree(description).gravity == Vec3(0.0, 0.0, -9.81)
    assert build_tree(description, gravity=(0, 0, 0)).gravity == Vec3(0.0, 0.0, 0.0)
    assert build_tree(description, gravity=np.array([1.0, 2.0, 3.0])).gravity == Vec3(1.0, 2.0, 3.0)
    for gravity in ((0.0, 0.0), (0.0, 0.0, math.nan), (math.inf, 0.0, 0.0), (0.0, 0.0, 1e21), ("x", 0, 0), 9.81):
        with pytest.raises(ValueError, match="gravity: expected three"):
            build_tree(description, gravity=gravity)


def test_trees_built_by_readers_store_name_source_and_warnings():
    text = robot(link("a"), link("b"), joint("j", "a", "b", inner=""), "<gazebo/>")
    description = parse_urdf(text, source="arm.urdf")
    tree = build_tree(description)
    assert (tree.name, tree.source) == ("r", "arm.urdf")
    assert {issue.code for issue in tree.report.warnings} == {"IGNORED", "LIMIT_MISSING"}
    assert tree.report.warnings == description.warnings
    with pytest.raises(ModelError, match="LIMIT_MISSING") as caught:
        build_tree(description, strict=True)
    assert [issue.code for issue in caught.value.issues] == ["LIMIT_MISSING"]


def test_trees_with_equal_content_compare_equal():
    tree = read(welded())
    assert read(welded()) == tree and hash(read(welded())) == hash(tree)
    copy: Tree = pickle.loads(pickle.dumps(tree))
    assert copy == tree and copy.frame("lamp") == tree.frame("lamp")
    assert read(welded().replace(INERTIAL, "")) == tree
    assert read(welded().replace('value="2"', 'value="3"', 1)) != tree


# -- descriptions that no file gave


def described(*joints: JointDescription, links: str = "abc") -> Description:
    return Description("r", tuple(LinkDescription(name, I_LINK) for name in links), joints)


def turning(name: str, parent: str, child: str) -> JointDescription:
    revolute = Revolute(Vec3(0.0, 0.0, 1.0))
    return JointDescription(name, parent, child, revolute, X_MOVED, Limits.none(revolute), (0.0,), (0.0,))


def test_rotor_offsets_belong_to_moving_joints_and_compose_on_fixed_joints():
    first = dataclasses.replace(turning("j", "a", "b"), rotor=X_MOVED)
    text = robot(*map(link, "abc"), joint("k", "b", "c", "fixed", MOVED))
    second = dataclasses.replace(parse_urdf(text).joints[0], rotor=X_MOVED)
    tree = build_tree(described(first, second))
    assert tree.bodies[0].rotor == X_MOVED
    assert tree.frames[1].placement == IDENTITY
    assert tree.frames[2].placement == X_MOVED @ X_MOVED


@pytest.mark.light
@pytest.mark.parametrize(
    ("description", "code"),
    [
        (described(), "MULTIPLE_ROOTS"),
        (described(links=""), "NO_LINKS"),
        (described(links="aa"), "DUPLICATE_NAME"),
        (described(links=" "), "BAD_NAME"),
        (dataclasses.replace(described(links="a"), name=" "), "BAD_NAME"),
        (described(turning("j", "a", "a"), links="a"), "SELF_JOINT"),
        (described(turning("j", "a", "b"), turning("j", "b", "c")), "DUPLICATE_NAME"),
        (described(turning("j", "a", "b"), turning("k", "b", "z")), "UNKNOWN_LINK"),
        (described(turning("j", "a", "b"), turning("k", "c", "b")), "TWO_PARENTS"),
        (described(turning("j", "b", "c"), turning("k", "c", "b")), "CYCLE"),
        (described(turning("", "a", "b"), turning("k", "b", "c")), "BAD_NAME"),
    ],
)
def test_messages_about_robot_descriptions_without_a_file_name_no_file(description: Description, code: str):
    with pytest.raises(ModelError, match=code) as caught:
        build_tree(description)
    assert caught.value.code == code
    assert "None" not in str(caught.value)


def test_invalid_names_in_robot_descriptions_are_refused():
    mimic = dataclasses.replace(turning("j", "a", "b"), mimic=Following(["k"]))
    for description, title in (
        (dataclasses.replace(described(links="a"), name=None), "the robot's name: expected a string, got 'None'"),
        (Description("r", (LinkDescription(3, I_LINK),), ()), "a link's name: expected a string, got '3' of type int"),
        (described(turning(b"j", "a", "b")), "a joint: its name: expected a string"),
        (described(turning("j", ["a"], "b")), "joint 'j': its parent link's name: expected a string"),
        (described(turning("j", "a", None)), "joint 'j': its child link's name: expected a string"),
        (described(mimic), "joint 'j': the name of the joint it mimics: expected a string"),
    ):
        with pytest.raises(ModelError, match="BAD_NAME") as caught:
            build_tree(description)
        assert caught.value.code == "BAD_NAME" and title in caught.value.message


def test_impossible_joint_values_in_robot_descriptions_are_refused():
    valid = turning("j", "a", "b")
    limits = valid.limits
    skew = Pose(Rotation(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.1), Vec3(0.0, 0.0, 1.0)), Vec3.zero())
    mirror = Pose(Rotation(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, -1.0)), Vec3.zero())
    nowhere = Pose(Rotation.identity(), Vec3(0.0, math.nan, 0.0))
    undefined = Pose(Rotation(Vec3(math.nan, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)), Vec3.zero())
    for changes, code, title in (
        ({"limits": dataclasses.replace(limits, lower=(2.0,), upper=(1.0,))}, "LIMIT_ORDER", "2.0 is above"),
        ({"limits": dataclasses.replace(limits, lower=(math.inf,))}, "LIMIT_ORDER", "lower limit inf"),
        ({"limits": dataclasses.replace(limits, upper=(math.nan,))}, "LIMIT_FINITE", "upper limits"),
        ({"limits": dataclasses.replace(limits, upper=(1e21,))}, "MAGNITUDE", "upper limits"),
        ({"limits": dataclasses.replace(limits, upper=(1.0, 2.0))}, "ARITY", "upper limits: expected 1"),
        ({"limits": dataclasses.replace(limits, effort=(-1.0,))}, "NEGATIVE", "effort limits"),
        ({"limits": dataclasses.replace(limits, velocity=("1",))}, "NUMBER", "velocity limits"),
        ({"damping": (math.inf,)}, "NOT_FINITE", "damping"),
        ({"damping": (-1.0,)}, "NEGATIVE", "damping"),
        ({"damping": ()}, "ARITY", "damping: expected 1"),
        ({"friction": (math.inf,)}, "NOT_FINITE", "friction"),
        ({"friction": (None,)}, "NUMBER", "friction"),
        ({"placement": nowhere}, "NOT_FINITE", "its placement's offset"),
        ({"placement": skew}, "ROTATION", "its placement's rotation"),
        ({"placement": undefined}, "NOT_FINITE", "its placement's rotation"),
        ({"rotor": mirror}, "ROTATION", "its rotor's rotation"),
        ({"mimic": Following("j", math.nan)}, "NOT_FINITE", "its mimic"),
    ):
        with pytest.raises(ModelError, match=code) as caught:
            build_tree(described(dataclasses.replace(valid, **changes), turning("k", "b", "c")))
        assert caught.value.code == code and title in caught.value.message and "'j'" in caught.value.message


def test_impossible_link_inertias_in_robot_descriptions_are_refused():
    zero = Inertia.zero()
    for inertia, code in (
        (dataclasses.replace(zero, mass=-1.0), "MASS_NEGATIVE"),
        (dataclasses.replace(zero, mass=math.inf), "NOT_FINITE"),
        (dataclasses.replace(zero, moment=Vec3(math.nan, 0.0, 0.0)), "NOT_FINITE"),
        (dataclasses.replace(zero, about=Symmetric3.diagonal(1.0, 1.0, 1e62)), "MAGNITUDE"),
        (dataclasses.replace(zero, mass="2"), "NUMBER"),
    ):
        with pytest.raises(ModelError, match=code) as caught:
            build_tree(Description("r", (LinkDescription("a", inertia),), ()))
        assert caught.value.code == code and "link 'a'" in caught.value.message


def test_warnings_of_a_reader_are_stored_in_the_tree():
    issue = Issue("SOMETHING", "was repaired")
    description = dataclasses.replace(described(links="a"), warnings=(issue,))
    assert build_tree(description).report.warnings == (issue,)
    with pytest.raises(ModelError, match="was repaired"):
        build_tree(description, strict=True)


def test_mimic_relations_are_stored_in_the_bodies_of_a_tree():
    follower = dataclasses.replace(turning("k", "b", "c"), mimic=Following("j", 2.0, 1.0))
    tree = build_tree(described(turning("j", "a", "b"), follower))
    assert [body.mimic for body in tree.bodies] == [None, Following("j", 2.0, 1.0)]


def test_shapes_of_welded_links_stay_with_their_link():
    sphere = "<geometry><sphere radius='1'/></geometry>"
    shapes = f"<visual>{sphere}</visual><collision>{sphere}</collision>"
    tree = read(robot(link("a"), link("b", shapes), joint("j", "a", "b", "fixed")))
    assert [(len(frame.visuals), len(frame.collisions)) for frame in tree.frames] == [(0, 0), (1, 1)]


def test_hash_of_a_tree_depends_on_its_values_and_on_the_process():
    """It is kept, so neither trees with other parts nor other processes, whose texts hash otherwise, may have it."""
    tree = read(welded())
    before = hash(tree)
    moon = tree.with_gravity(Vec3(0.0, 0.0, -1.62))
    assert moon != tree and hash(moon) != before and hash(tree.with_gravity(tree.gravity)) == before
    assert "_hash" not in tree.__getstate__()
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree and hash(again) == before
