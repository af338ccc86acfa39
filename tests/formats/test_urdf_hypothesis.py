"""Random URDF text: reading gives a model of finite values or a `ModelError`."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.errors import MOST_ISSUES, ModelError
from linkwork.formats import parse_urdf
from linkwork.formats.xml_document import parse
from linkwork.model.tree import Tree
from linkwork.model.tree_builder import build_tree
from urdf_texts import INERTIAL, LIMIT, joint, link, robot

MATERIAL = '<material name="red"><color rgba="1 0 0 1"/><texture filename="a.png"/></material>'
SHAPES = ['<box size="1 2 3"/>', '<cylinder radius="1" length="2"/>', '<sphere radius="1"/>', '<mesh filename="a"/>']
ORIGIN = '<origin xyz="1 0 0" rpy="0 1 0"/>'
VISUALS = "".join(f"<visual>{ORIGIN}<geometry>{shape}</geometry>{MATERIAL}</visual>" for shape in SHAPES)
AXIS = '<origin xyz="0 0 1" rpy="0 0.5 0"/><axis xyz="0 0 1"/><dynamics damping="1" friction="0.5"/>'
GOOD = '<?xml version="1.0"?>\n' + robot(
    MATERIAL,
    link("a", INERTIAL + VISUALS),
    *map(link, "bcdef"),
    joint("j", "a", "b", inner=LIMIT + AXIS),
    joint("k", "b", "c", "prismatic", LIMIT + AXIS + '<mimic joint="j" multiplier="2" offset="1"/>'),
    joint("l", "c", "d", "fixed", AXIS),
    joint("m", "d", "e", "continuous", AXIS + '<mimic joint="k"/><safety_controller k_velocity="1"/>'),
    joint("n", "a", "f", "floating", ""),
    '<gazebo reference="a"/>',
    '<gazebo reference="k"><springStiffness>10</springStiffness><springReference>-1</springReference></gazebo>',
    '<transmission name="t"><joint name="j"/><actuator name="m"><mechanicalReduction>50</mechanicalReduction>'
    '<drake:rotor_inertia value="1"/></actuator></transmission>',
)
TOKENS = re.findall(r'<[^>"]*|"[^"]*"|[^<"]+', GOOD)
SNIPPETS = ["<", ">", '"', "&", "]]>", "<!DOCTYPE a>", "<!--", "-->", "<?", "\0", "<![CDATA[", "</robot>", "<link"]
NUMERALS = [
    "0",
    "-0",
    "-1",
    "1e308",
    "-1e308",
    "5e-324",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "",
    "1 2",
    "1,5",
    "x",
    "1e-320",
]


def every_number(tree: Tree) -> list[float]:
    results: list[float] = [*tree.gravity]
    for element in (*tree.bodies, *tree.frames):
        inertia = element.inertia
        results += [*element.placement.elements(), inertia.mass, *inertia.moment, *inertia.about.elements()]
    for body in tree.bodies:
        results += [*body.damping, *body.friction, *body.rotor.elements(), *getattr(body.joint, "axis", ())]
        drive = body.drive
        results += [*drive.armature, *drive.gear_ratio, *drive.stiffness, *drive.rest]
        if body.mimic:
            results += [body.mimic.ratio, body.mimic.offset]
    return results


def check(text: str | bytes) -> Tree | None:
    """The tree of a text, if it has one; anything but a sound tree or a ModelError fails."""
    try:
        description = parse_urdf(text)
        trees = [build_tree(description, floating_base=floating_base) for floating_base in (False, True)]
    except ModelError as error:
        trees, issues = [], error.issues
    else:
        issues = ()
    assert len(issues) <= MOST_ISSUES and bool(issues) != bool(trees)
    for issue in issues:
        assert issue.code and "line None" not in issue.message and len(str(issue)) < 5000
    for tree in trees:
        assert all(map(math.isfinite, every_number(tree)))
        for body in tree.bodies:
            limits = body.limits
            assert all(low <= high for low, high in zip(limits.lower, limits.upper, strict=True))
            assert all(bound >= 0.0 for bound in (*limits.velocity, *limits.effort, *body.damping, *body.friction))
            assert math.isclose(math.hypot(*getattr(body.joint, "axis", (1.0,))), 1.0, abs_tol=1e-15)
    return trees[-1] if trees else None


def test_unmodified_text_of_the_urdf_mutation_tests_is_valid():
    tree = check(GOOD)
    assert tree is not None and len(tree.bodies) == 5 and "".join(TOKENS) == GOOD


@given(st.binary(max_size=400))
def test_random_bytes_are_not_read_as_urdf(data: bytes):
    assert check(data) is None
    assert check(b"<" + data) is None


@pytest.mark.slow
@given(st.text(max_size=400))
def test_random_text_in_a_urdf_is_read_or_refused(text: str):
    check(text)
    check(f'<robot name="r"><link name="a"/>{text}</robot>')


@pytest.mark.slow
@given(st.text(max_size=100))
def test_random_attributes_in_a_urdf_are_read_or_refused(text: str):
    for attribute in ("name", "value", "ixx", "xyz", "rgba", "filename", "link", "joint", "type", "radius", "lower"):
        check(re.sub(f' {attribute}="[^"]*"', lambda _, a=attribute: f' {a}="{text}"', GOOD, count=1))


@pytest.mark.slow
@given(st.data())
@settings(max_examples=1000)
def test_mutated_urdf_texts_are_read_or_refused(data: st.DataObject):
    tokens = list(TOKENS)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(tokens) - 1))
        match data.draw(st.sampled_from(["delete", "duplicate", "replace", "swap", "copy", "cut", "number"])):
            case "delete":
                del tokens[at]
            case "duplicate":
                tokens.insert(at, tokens[at])
            case "replace":
                tokens[at] = data.draw(st.sampled_from(SNIPPETS))
            case "swap":
                position = data.draw(st.integers(0, len(tokens) - 1))
                tokens[at], tokens[position] = tokens[position], tokens[at]
            case "copy":
                tokens[at] = data.draw(st.sampled_from(TOKENS))
            case "cut":
                tokens = tokens[: at + 1]
            case _:
                tokens[at] = f'"{data.draw(st.sampled_from(NUMERALS))}"'
        if not tokens:
            break
    check("".join(tokens))
    check("".join(tokens).encode("utf-8"))


VALUES = [i for i, token in enumerate(TOKENS) if token.startswith('"') and re.search(r"\d", token)]
ANY_NUMBER = st.one_of(
    st.floats().map(repr), st.sampled_from(NUMERALS), st.floats(-10.0, 10.0).map(repr), st.integers().map(str)
)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=1000)
def test_random_values_in_a_urdf_are_read_or_refused(data: st.DataObject):
    tokens = list(TOKENS)
    for at in data.draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=6, unique=True)):
        count = len(tokens[at].split())
        values = data.draw(st.lists(ANY_NUMBER, min_size=count, max_size=count))
        tokens[at] = '"' + " ".join(values) + '"'
    check("".join(tokens))


@given(st.integers(1, 12), st.data())
def test_random_graphs_of_urdf_links_and_joints_are_read_or_refused(n: int, data: st.DataObject):
    names = st.integers(0, n).map(lambda i: f"l{i}")  # the last one does not exist
    kinds = st.sampled_from(["revolute", "prismatic", "fixed", "floating", "continuous"])
    joints = data.draw(st.lists(st.tuples(names, names, kinds), max_size=n))
    mimics = data.draw(st.lists(st.integers(0, n), min_size=len(joints), max_size=len(joints)))
    parts = [link(f"l{i}") for i in range(n)]
    for i, ((parent, child, kind), mimic) in enumerate(zip(joints, mimics, strict=True)):
        parts.append(joint(f"j{i}", parent, child, kind, f'<mimic joint="j{mimic}"/>' if mimic % 3 else ""))
    check(robot(*parts))


@given(st.permutations(range(1, 10)), st.data())
def test_random_urdf_trees_in_any_order_are_read(order: list[int], data: st.DataObject):
    parents = [data.draw(st.integers(0, i - 1)) for i in range(1, 10)]
    kinds = data.draw(st.lists(st.sampled_from(["revolute", "fixed", "floating"]), min_size=9, max_size=9))
    joints = [joint(f"j{i}", f"l{parents[i - 1]}", f"l{i}", kinds[i - 1], LIMIT) for i in order]
    tree = check(robot(*(link(f"l{i}") for i in range(10)), *joints))
    assert tree is not None and len(tree.frames) == 10
    assert len(tree.bodies) == 1 + sum(kind != "fixed" for kind in kinds)
    assert all(body.parent < i for i, body in enumerate(tree.bodies))
    assert sum(body.inertia.mass for body in tree.bodies) == 20.0


@given(st.text(alphabet="<>/ab=\"' &;![]-?", max_size=60))
def test_random_markup_in_a_urdf_is_read_or_refused(text: str):
    try:
        outcome: str = parse(text).tag
    except ModelError as error:
        outcome = error.code
    assert outcome.startswith("XML_") or (text.lstrip().startswith("<") and outcome)
