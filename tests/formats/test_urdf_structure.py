"""Links and joints of a URDF that do not make a tree."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from linkwork.errors import MOST_ISSUES, ModelError
from linkwork.formats import parse_urdf
from linkwork.joints import Revolute
from linkwork.model.tree_builder import build_tree
from urdf_texts import LIMIT, arm, error, errors, joint, link, read, robot, warnings


def test_urdf_without_links_is_refused():
    issue = error('<robot name="r"/>')
    assert issue.code == "NO_LINKS" and "one link" in str(issue.hint)
    assert errors(robot(joint("j", "a", "b")))[0].code == "NO_LINKS"
    lower = error('<?xml version="1.0"?>\n<!-- a robot -->\n  <robot name="r"/>')
    assert (lower.where.line, lower.where.column, lower.where.element) == (3, 3, "robot[r]")


def test_two_urdf_links_with_one_name_are_refused():
    issue = error(robot(link("a"), link("b"), link("a"), joint("j", "a", "b")))
    assert issue.code == "DUPLICATE_NAME"
    assert "links" in issue.message and "'a' (on line 2 and on line 4)" in issue.message
    assert (issue.where.line, issue.where.element) == (4, "robot[r]/link[a]")


def test_two_urdf_joints_with_one_name_are_refused():
    issue = error(robot(link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("j", "b", "c")))
    assert issue.code == "DUPLICATE_NAME"
    assert "joints" in issue.message and "(on line 5 and on line 6)" in issue.message
    assert (issue.where.line, issue.where.element) == (6, "robot[r]/joint[j]")


def test_urdf_link_and_joint_may_have_the_same_name():
    tree = read(robot(link("a"), link("b"), joint("b", "a", "b")))
    assert (tree.bodies[0].name, tree.bodies[0].joint_name) == ("b", "b")


@pytest.mark.parametrize("name", ["", 'name=""', 'name="  "', 'name="&#10;"'])
def test_missing_and_empty_urdf_names_are_refused(name: str):
    bad = robot(link("a"), link("b"), joint("j", "a", "b"))
    for attribute, tag in (('name="r"', "robot"), ('name="a"', "link"), ('name="j"', "joint"), ('link="b"', "child")):
        issues = errors(bad.replace(attribute, name.replace("name", attribute.partition("=")[0]), 1))[0]
        assert issues.code == "BAD_NAME" and f"<{tag}>" in issues.message
        assert issues.where.line == {"robot": 1, "link": 2, "joint": 4, "child": 4}[tag]
    material = robot(f'<material {name}><color rgba="1 1 1 1"/></material>', link("a"))
    assert error(material).code == "BAD_NAME"


@pytest.mark.parametrize("end", ["parent", "child"])
def test_urdf_joints_without_parent_or_child_are_refused(end: str):
    name = {"parent": "a", "child": "b"}[end]
    issue = error(arm().replace(f'<{end} link="{name}"/>', ""))
    assert issue.code == "ELEMENT_MISSING" and f"<{end}>" in issue.message
    assert (issue.where.line, issue.where.element) == (4, "robot[r]/joint[j]")


@pytest.mark.parametrize("end", ["parent", "child"])
def test_urdf_joints_of_unknown_links_are_refused(end: str):
    ends = {"parent": ("forarm", "hand"), "child": ("forearm", "hnd")}[end]
    issue = error(robot(link("forearm"), link("hand"), joint("wrist", *ends)))
    assert issue.code == "UNKNOWN_LINK" and end in issue.message and "'wrist'" in issue.message
    assert issue.hint == {"parent": "did you mean 'forearm'?", "child": "did you mean 'hand'?"}[end]
    assert (issue.where.line, issue.where.element) == (4, "robot[r]/joint[wrist]")


def test_urdf_joint_from_a_link_to_itself_is_refused():
    issue = error(robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "b")))
    assert issue.code == "SELF_JOINT" and "'k'" in issue.message and "'b'" in issue.message
    assert issue.where.line == 5


def test_cycle_of_urdf_joints_is_refused():
    joints = [joint("j", "a", "b"), joint("k", "b", "c"), joint("l", "c", "a"), joint("m", "c", "d")]
    issue = error(robot(*map(link, "abcd"), *joints))
    assert issue.code == "CYCLE"
    assert "'a' -> 'b' -> 'c' -> 'a'" in issue.message
    assert issue.where.line == 8


def test_every_cycle_outside_the_urdf_tree_is_reported():
    beside = robot(*map(link, "abc"), joint("k", "b", "c"), joint("l", "c", "b"))
    assert error(beside).code == "CYCLE"
    links = [link(f"{end}{i}", "") for i in range(100) for end in "ab"]
    joints = [joint(f"{a}{i}", f"{a}{i}", f"{b}{i}") for i in range(100) for a, b in ("ab", "ba")]
    issues = errors(robot(*links, *joints))
    assert len(issues) == MOST_ISSUES and {issue.code for issue in issues} == {"CYCLE"}


@pytest.mark.slow
def test_long_cycle_of_urdf_joints_is_printed_shortened():
    n = 20_000
    joints = [joint(f"j{i}", f"l{i}", f"l{(i + 1) % n}") for i in range(n)]
    issue = error(robot(*(link(f"l{i}", "") for i in range(n)), *joints))
    assert issue.code == "CYCLE" and "more" in issue.message and len(issue.message) < 2000


def test_urdf_link_with_two_parents_is_refused():
    joints = [joint("j", "a", "b"), joint("k", "a", "c"), joint("l", "b", "d"), joint("m", "c", "d")]
    issue = error(robot(*map(link, "abcd"), *joints))
    assert issue.code == "TWO_PARENTS"
    for name in ("'d'", "'l'", "'b'", "'m'", "'c'", "line 8", "line 9"):
        assert name in issue.message
    assert "remove one of these joints" in str(issue.hint)
    assert issue.where.line == 9


def test_urdf_with_two_root_links_is_refused():
    issue = error(robot(*map(link, "abcde"), joint("j", "a", "b"), joint("k", "c", "d")))
    assert issue.code == "MULTIPLE_ROOTS"
    assert "'a', 'c', 'e'" in issue.message and "3 links" in issue.message
    assert issue.where.line == 4


def test_urdf_with_two_root_links_is_read_with_option_multi_root():
    text = robot(*map(link, "abcde"), joint("j", "a", "b"), joint("k", "c", "d"))
    tree = build_tree(parse_urdf(text), multi_root=True)
    assert [body.name for body in tree.bodies] == ["b", "d"]
    assert {frame.name: frame.body for frame in tree.frames} == {"a": -1, "b": 0, "c": -1, "d": 1, "e": -1}
    with pytest.raises(ModelError, match="MULTIPLE_ROOTS") as caught:
        build_tree(parse_urdf(text), multi_root=True, floating_base=True)
    assert caught.value.code == "MULTIPLE_ROOTS" and "not float" in str(caught.value.hint)


@pytest.mark.slow
def test_urdf_of_a_long_chain_is_read():
    n = 20_000
    text = robot(*(link(f"l{i}", "") for i in range(n)), *(joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(n - 1)))
    tree = read(text)
    assert tree.nq == n - 1
    assert [body.parent for body in tree.bodies] == list(range(-1, n - 2))


@pytest.mark.slow
def test_long_chains_of_fixed_joints_and_of_mimic_joints_are_read():
    n = 5_000
    links = [link(f"l{i}") for i in range(n)]
    welded = [joint(f"j{i}", f"l{i}", f"l{i + 1}", "fixed", '<origin xyz="0 0 1"/>') for i in range(n - 1)]
    tree = read(robot(*links, *welded), floating_base=True)
    assert tree.bodies[0].inertia.mass == 2.0 * n
    assert tree.frames[-1].placement.translation.z == n - 1
    mimics = [joint(f"j{i}", f"l{i}", f"l{i + 1}", inner=LIMIT + f'<mimic joint="j{i + 1}"/>') for i in range(n - 1)]
    mimics[-1] = joint(f"j{n - 2}", f"l{n - 2}", f"l{n - 1}")
    tree = read(robot(*links, *mimics))
    assert {body.mimic.joint for body in tree.bodies if body.mimic} == {f"j{n - 2}"}


@pytest.mark.parametrize(
    ("kind", "message", "hint"),
    [
        ("revolut", "unknown joint type 'revolut'", "did you mean 'revolute'?"),
        ("Fixed", "unknown joint type 'Fixed'", "did you mean 'fixed'?"),
        ("", "unknown joint type ''", "None"),
        ("plane", "unknown joint type 'plane'", "did you mean 'planar'?"),
    ],
)
def test_unknown_urdf_joint_types_are_refused(kind: str, message: str, hint: str):
    issue = error(arm(kind=kind))
    assert issue.code == "JOINT_TYPE" and message in issue.message and hint in str(issue.hint)
    assert "revolute, continuous, prismatic, fixed, floating, planar" in issue.message
    assert (issue.where.line, issue.where.element) == (4, "robot[r]/joint[j]")


def test_urdf_joint_without_a_type_is_refused():
    issue = error(arm().replace(' type="revolute"', ""))
    assert issue.code == "JOINT_TYPE" and "needs the attribute 'type'" in issue.message


# -- mimics


def three(first: str = "", second: str = "", third: str = "", kind: str = "revolute") -> str:
    inner = [LIMIT + first, LIMIT + second, LIMIT + third]
    ends = [("a", "b"), ("b", "c"), ("c", "d")]
    joints = [joint(f"j{i}", *end, kind if i == 2 else "revolute", inner[i]) for i, end in enumerate(ends)]
    return robot(*map(link, "abcd"), *joints)


def test_mimic_of_an_unknown_urdf_joint_is_refused():
    issue = error(three(first='<mimic joint="j9"/>'))
    assert issue.code == "MIMIC_UNKNOWN" and "'j9'" in issue.message and "'j0', 'j1', 'j2'" in str(issue.hint)
    assert (issue.where.line, issue.where.element) == (6, "robot[r]/joint[j0]")
    assert error(three(first="<mimic/>")).code == "BAD_NAME"


def test_mimic_of_the_urdf_joint_itself_is_refused():
    issue = error(three(second='<mimic joint="j1"/>'))
    assert issue.code == "MIMIC_SELF" and "itself" in issue.message and issue.where.line == 7


def test_cyclic_mimic_relations_of_urdf_joints_are_refused():
    issue = error(three('<mimic joint="j1"/>', '<mimic joint="j2"/>', '<mimic joint="j1"/>'))
    assert issue.code == "MIMIC_CYCLE" and "'j1' -> 'j2' -> 'j1'" in issue.message and issue.where.line == 7
    assert error(three('<mimic joint="j1"/>', '<mimic joint="j0"/>')).code == "MIMIC_CYCLE"


def test_mimic_of_a_fixed_urdf_joint_is_refused():
    issue = error(three(first='<mimic joint="j2"/>', kind="fixed"))
    assert issue.code == "MIMIC_FIXED" and "'j2', which is fixed" in issue.message and issue.where.line == 6


def test_mimic_relations_of_urdf_joints_with_several_coordinates_are_refused():
    assert error(three(first='<mimic joint="j2"/>', kind="floating").replace(LIMIT, "")).code == "MIMIC_TYPE"
    assert error(three(third='<mimic joint="j1"/>', kind="floating").replace(LIMIT, "")).code == "MIMIC_TYPE"


def test_mimic_element_of_a_fixed_urdf_joint_is_reported():
    *_, issue = warnings(three(third='<mimic joint="nobody"/>', kind="fixed"))
    assert issue.code == "IGNORED" and issue.where.line == 8 and "mimic" in issue.message
    assert read(three(third='<mimic joint="j1"/>', kind="fixed"), strict=True).bodies[1].mimic is None


def test_chains_of_mimic_relations_refer_to_the_first_joint_after_reading():
    text = three('<mimic joint="j1" multiplier="2" offset="3"/>', '<mimic joint="j2" multiplier="-5" offset="7"/>')
    tree = read(text, strict=True)
    first, second, third = (body.mimic for body in tree.bodies)
    assert first is not None and second is not None and third is None
    assert (first.joint, first.ratio, first.offset) == ("j2", -10.0, 17.0)
    assert (second.joint, second.ratio, second.offset) == ("j2", -5.0, 7.0)
    plain = read(three('<mimic joint="j1"/>')).bodies[0].mimic
    assert plain is not None and (plain.ratio, plain.offset) == (1.0, 0.0)


def test_mimic_relation_with_multiplier_zero_is_reported():
    text = three('<mimic joint="j1" multiplier="0" offset="0.5"/>')
    issues, _ = warnings(text)
    assert error(text, strict=True).code == issues.code
    assert issues.code == "MIMIC_ZERO" and "never moves" in issues.message


def test_mimic_joints_read_as_free_joints_are_reported():
    (issue,) = warnings(three('<mimic joint="j1"/>'))
    assert issue.code == "MIMIC_FREE" and "joint 'j0' moves freely" in issue.message
    assert 'mimic="coupled"' in str(issue.hint) and issue.where.line == 6
    (issue,) = warnings(three('<mimic joint="j1"/>', third='<mimic joint="j1"/>'))
    assert "2 joints move freely" in issue.message
    assert read(three('<mimic joint="j1"/>'), strict=True).nv == 3


def test_mimic_multipliers_with_an_overflowing_product_are_refused():
    large = '<mimic joint="j{}" multiplier="1e15"/>'
    result = error(three(large.format(1), large.format(2)))
    assert result.code == "MAGNITUDE" and "'j0'" in result.message
    assert {issue.code for issue in errors(three(large.replace("1e15", "1e200").format(1)))} == {"MAGNITUDE"}


# -- the same in every process


PROGRAM = """
import sys
from linkwork.formats import read_urdf
from linkwork.model.tree_builder import build_tree
tree = build_tree(read_urdf(sys.argv[1]))
print([body.name for body in tree.bodies], [frame.name for frame in tree.frames])
print([str(issue) for issue in tree.report.warnings])
print(repr(tree))
"""


@pytest.mark.slow
def test_reading_a_urdf_gives_the_same_tree_in_every_process(tmp_path: pathlib.Path):
    names = [f"l{i}" for i in range(40)]
    joints = [joint(f"j{i}", names[(i - 1) // 3], names[i], ("revolute", "fixed")[i % 5 == 0]) for i in range(1, 40)]
    text = robot(*map(link, names), *reversed(joints), "<b/><a/><gazebo/><c/>")
    path = tmp_path / "r.urdf"
    path.write_text(text)
    outputs = []
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PROGRAM, str(path)]
        outputs.append(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(set(outputs)) == 1 and outputs[0].count("\n") == 3


def test_urdf_bodies_are_ordered_depth_first_by_their_joints():
    text = robot(
        *(link(name) for name in ("leaf", "root", "left", "right", "left hand")),
        joint("right", "root", "right"),
        joint("left hand", "left", "left hand"),
        joint("left", "root", "left"),
        joint("leaf", "right", "leaf"),
    )
    tree = read(text)
    assert [body.joint_name for body in tree.bodies] == ["right", "leaf", "left", "left hand"]
    assert [body.parent for body in tree.bodies] == [-1, 0, -1, 2]
    assert [frame.name for frame in tree.frames] == ["leaf", "root", "left", "right", "left hand"]
    assert all(isinstance(body.joint, Revolute) for body in tree.bodies)
