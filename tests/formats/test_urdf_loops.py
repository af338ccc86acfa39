"""Loops in a URDF, in each of the forms that are in use."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.errors import ModelError
from urdf_texts import errors, joint, link, read, robot, warnings

HINGE = '<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="3" velocity="4"/>'
TREE = (
    *map(link, "abcd"),
    joint("j", "a", "b", inner='<origin xyz="0 0 0"/>' + HINGE),
    joint("k", "b", "c", inner='<origin xyz="0 0 1"/>' + HINGE),
    joint("l", "a", "d", inner='<origin xyz="1 0 0"/>' + HINGE),
)
AXIS = '<axis xyz="0 1 0"/>'


def ends(first="link1", second="link2"):
    return f'<{first} link="d" xyz="0 0 1" rpy="0 0 0"/><{second} link="c" xyz="1 0 0"/>'


def loop(inner, head='loop_joint name="pin" type="revolute"'):
    return robot(*TREE, f"<{head}>{inner}</{head.split()[0]}>\n")


URDF_PLUS = (
    '<predecessor link="d"><origin xyz="0 0 1"/></predecessor><successor link="c"><origin xyz="1 0 0"/></successor>'
)


def test_all_urdf_notations_of_a_loop_are_read_as_the_same_loop():
    texts = [
        loop(ends() + AXIS),
        loop(AXIS + ends(second="link1")),  # as Isaac Sim's documentation has it
        loop(URDF_PLUS + AXIS, 'loop name="pin" type="continuous"'),
        loop('<link1 link="d"><origin xyz="0 0 1"/></link1><link2 link="c" xyz="1 0 0"/>' + AXIS),
    ]
    trees = [read(text, strict=True) for text in texts]
    assert all(tree == trees[0] for tree in trees)
    (result,) = trees[0].constraints
    assert result.name == "pin" and result.joint == joints.Revolute((0, 1, 0))
    assert (result.relative_to, result.frame) == ("pin_F", "pin_M")  # from link1 to link2
    assert [tuple(trees[0].frame(name).placement.translation) for name in ("pin_F", "pin_M")] == [(0, 0, 1), (1, 0, 0)]
    closed = lw.Robot.from_urdf_string(texts[0])
    by_hand = (
        lw.Robot.from_urdf_string(robot(*TREE))
        .with_frame("pin_F", "d", (0, 0, 1))
        .with_frame("pin_M", "c", (1, 0, 0))
        .with_constraints(result)
    )
    assert closed == by_hand and closed.constraints["pin"] is closed.constraints[0]
    np.testing.assert_allclose(closed.constraint_error(closed.neutral()), 0.0, atol=1e-15)


def test_joint_types_of_urdf_loops_are_read():
    for word, kind in (
        ("revolute", joints.Revolute((0, 1, 0))),
        ("continuous", joints.Revolute((0, 1, 0))),
        ("prismatic", joints.Prismatic((0, 1, 0))),
        ("planar", joints.Planar.across(joints.Revolute((0, 1, 0)).axis)),
        ("spherical", joints.Spherical()),
        ("fixed", joints.Fixed()),
    ):
        (loaded_robot,) = read(loop(ends() + AXIS, f'loop_joint name="pin" type="{word}"')).constraints
        assert loaded_robot.joint == kind
    (loaded_robot,) = read(loop(ends(), 'loop_joint name="pin" type="revolute"')).constraints
    assert loaded_robot.joint == joints.Revolute((1, 0, 0))  # URDF's axis where none is given


@pytest.mark.light
@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (loop(ends() + AXIS, 'loop_joint type="revolute"'), "BAD_NAME", "needs a name"),
        (loop(ends() + AXIS, 'loop_joint name="pin"'), "JOINT_TYPE", "needs the attribute 'type'"),
        (loop(ends() + AXIS, 'loop_joint name="pin" type="revolut"'), "JOINT_TYPE", "did you mean 'revolute'"),
        (loop(ends() + AXIS, 'loop_joint name="pin" type="floating"'), "JOINT_TYPE", "removes no degree of freedom"),
        (loop('<link1 link="d"/>' + AXIS), "ELEMENT_MISSING", "needs a <link2>"),
        (loop('<link2 link="d"/>' + AXIS), "ELEMENT_MISSING", "needs a <link1>"),
        (loop(ends() + '<link1 link="a"/>' + AXIS), "DUPLICATE_ELEMENT", "a second <link1>"),
        (loop(URDF_PLUS + '<successor link="b"/>', 'loop name="p" type="fixed"'), "DUPLICATE_ELEMENT", "<successor>"),
        (loop('<link1/><link2 link="c"/>' + AXIS), "BAD_NAME", "attribute 'link'"),
        (loop('<link1 link="d"/><link2 link="cc"/>' + AXIS), "UNKNOWN_LINK", "'cc' does not exist"),
        (loop(ends().replace("0 0 1", "0 0")), "ARITY", "expected 3 numbers"),
        (loop(ends().replace("0 0 1", "0 0 nan")), "NUMBER", "nan"),
        (loop(ends() + '<axis xyz="0 0 0"/>'), "AXIS_ZERO", "must not be zero"),
        (loop(ends() + AXIS + AXIS), "DUPLICATE_ELEMENT", "a second <axis>"),
        (loop('<link1 link="d" xyz="0 0 1"><origin/></link1><link2 link="c"/>'), "DUPLICATE_ELEMENT", "stated twice"),
        (loop('<link1 link="c"/><link2 link="c" xyz="0 0 1"/>'), "CONSTRAINT", "of one body, 'c'"),
        (loop(ends() + AXIS, 'loop_joint name="j" type="revolute"'), "DUPLICATE_NAME", "name of a joint"),
        (
            robot(*TREE, *[f'<loop name="p" type="fixed">{URDF_PLUS}</loop>'] * 2),
            "DUPLICATE_NAME",
            "'p' is already the name",
        ),
    ],
)
def test_errors_of_urdf_loops_have_a_code_and_a_line(text, code, said):
    issues = errors(text)
    assert issues[0].code in code.split("|"), [str(issue) for issue in issues]
    assert said in f"{issues[0].message} {issues[0].hint}" and issues[0].where.line


def test_suspicious_urdf_loops_are_reported():
    (issue,) = warnings(loop(ends() + '<axis xyz="0 2 0"/>'))
    assert issue.code == "AXIS_NORM"
    ball = 'loop_joint name="pin" type="spherical"'
    for text in (
        loop(ends() + AXIS + '<dynamics armature="1"/>'),
        loop(ends() + AXIS + "<calibration/>"),
        loop(ends() + '<limit lower="0"/>', ball),
        loop(ends() + '<dynamics damping="1"/>', ball),
    ):
        (issue,) = warnings(text)
        assert issue.code in ("UNSUPPORTED", "UNKNOWN_TAG")
    with pytest.raises(ModelError, match="TWO_PARENTS") as caught:
        read(robot(*map(link, "ab"), joint("j", "a", "b"), joint("k", "a", "b")))
    assert "Robot.with_loop" in str(caught.value.hint)


def test_urdf_loops_have_limits_damping_friction_and_springs():
    inner = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
    inner += '<dynamics damping="0.1" friction="0.2" spring_stiffness="5" spring_reference="-0.3"/>'
    robot_ = lw.Robot.from_urdf_string(loop(ends() + AXIS + inner))
    by_hand = lw.Robot.from_urdf_string(loop(ends() + AXIS)).without_constraints()
    by_hand = by_hand.with_loop(
        "pin",
        "pin_F",
        "pin_M",
        joints.Revolute((0, 1, 0)),
        lower=-1.0,
        upper=2.0,
        velocity=3.0,
        effort=4.0,
        damping=0.1,
        friction=0.2,
        stiffness=5.0,
        rest=-0.3,
    )
    pin, same = (r.joint("pin").joint for r in (robot_, by_hand))
    assert pin == same and (pin.damping.tolist(), pin.rest.tolist()) == ([0.1], [-0.3])
    (free,) = read(loop(ends() + AXIS + '<limit lower="1"/>', 'loop_joint name="pin" type="continuous"')).constraints
    assert free.lower == free.upper == ()
    for wrong, code in (
        ('<limit lower="1" upper="0"/>', "LIMIT_ORDER"),
        ('<limit velocity="-1"/>', "NEGATIVE"),
        ('<limit lower="x"/>', "NUMBER"),
        ('<dynamics damping="-1"/>', "NEGATIVE"),
        ("<limit/><limit/>", "DUPLICATE_ELEMENT"),
    ):
        assert errors(loop(ends() + AXIS + wrong))[0].code == code
