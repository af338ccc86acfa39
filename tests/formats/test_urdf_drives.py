"""Gear ratios, rotors and springs in URDF's extensions: read where they are unambiguous, else reported."""

from __future__ import annotations

import pytest

from linkwork.formats import parse_urdf
from linkwork.model.body import Body, Drive
from linkwork.model.tree_builder import build_tree
from urdf_texts import LIMIT, arm, error, errors, joint, link, read, robot, warnings


def transmission(inside: str = "", of_joint: str = "", actuator: str = "", name: str = "j") -> str:
    ends = f'<joint name="{name}">{of_joint}</joint><actuator name="m">{actuator}</actuator>'
    return f'<transmission name="t"><type>SimpleTransmission</type>{ends}{inside}</transmission>\n'


def with_more(*parts: str, kind: str = "revolute", inner: str = LIMIT) -> str:
    return robot(link("a"), link("b"), joint("j", "a", "b", kind, inner), *parts)


def body_of(text: str) -> Body:
    return read(text).bodies[0]


def reduction(value: object) -> str:
    return f"<mechanicalReduction>{value}</mechanicalReduction>"


SPRING = '<gazebo reference="j"><springStiffness>10</springStiffness><springReference>0.5</springReference></gazebo>'


def test_gear_ratios_are_read_from_every_urdf_extension() -> None:
    control = "<ros2_control>{}</ros2_control>".format(
        transmission(of_joint="<mechanical_reduction> -5e1 </mechanical_reduction>")
    )
    for text in (
        with_more(transmission(reduction(-50))),
        with_more(transmission(of_joint=reduction("-50.0"))),
        with_more(transmission(actuator=reduction(-50))),
        with_more(transmission(actuator='<drake:gear_ratio value="-50"/>')),
        with_more(transmission(actuator=reduction(-50), of_joint=reduction(-50))),
        with_more(control),
    ):
        assert body_of(text).drive == Drive(gear_ratio=(-50.0,))
        (note,) = read(text, strict=True).report.warnings
        assert note.code == "IGNORED" and "but for gear ratios and rotors, is ignored" in note.message
    assert body_of(with_more(transmission(reduction(1)))).drive == Drive()


def test_reflected_rotor_inertia_grows_with_the_squared_gear_ratio() -> None:
    rotor = '<drake:rotor_inertia value="2e-5"/>'
    assert body_of(with_more(transmission(actuator=rotor))).drive == Drive(armature=(2e-5,))
    (armature,) = body_of(with_more(transmission(actuator=rotor + reduction(-100)))).drive.armature
    assert armature == pytest.approx(0.2, rel=1e-15)
    text = with_more(transmission(actuator=rotor + reduction(3)), inner=LIMIT + '<dynamics armature="1"/>')
    assert [issue.code for issue in warnings(text)] == ["IGNORED", "DRIVE_CONFLICT"]
    assert body_of(text).drive == Drive(gear_ratio=(3.0,))


def test_joint_springs_are_read_from_urdf_extensions() -> None:
    assert body_of(with_more(SPRING)).drive == Drive(stiffness=(10.0,), rest=(0.5,))
    inside = LIMIT + '<dynamics spring_stiffness="10" spring_reference="0.5" armature="0.25" damping="1"/>'
    body = body_of(arm(inside))
    assert body.drive == Drive(armature=(0.25,), stiffness=(10.0,), rest=(0.5,)) and body.damping == (1.0,)
    assert not warnings(arm(inside))
    text = with_more(SPRING, kind="continuous", inner="")
    sine, cosine = build_tree(parse_urdf(text, continuous="sincos")).bodies[0].drive.rest
    assert (sine, cosine) == pytest.approx((0.479425538604203, 0.8775825618903728), rel=1e-15)
    (note,) = warnings(with_more(SPRING))
    assert note.message.startswith("<gazebo> in <robot>, but for springs of joints, is ignored")


def test_urdf_transmissions_of_several_joints_or_motors_are_ignored() -> None:
    two = transmission(inside='<joint name="k"/>' + reduction(7))
    without = transmission(inside=reduction(7)).replace('name="j"', "")
    for more in (two, without, "<gazebo><springStiffness>1</springStiffness></gazebo>", "<transmission/>"):
        (note,) = warnings(with_more(more))
        assert note.code == "IGNORED" and " but for" not in note.message
        assert body_of(with_more(more)).drive == Drive()


def test_contradictory_urdf_drives_are_ignored_or_errors_if_strict() -> None:
    for more in (
        transmission(actuator=reduction(2), of_joint=reduction(3)),
        transmission(actuator=reduction(2)) + transmission(actuator=reduction(3)),
        transmission(actuator=reduction(2) + '<drake:gear_ratio value="3"/><drake:rotor_inertia value="1"/>'),
    ):
        issues = [issue for issue in warnings(with_more(more)) if issue.code != "IGNORED"]
        assert [issue.code for issue in issues] == ["DRIVE_CONFLICT"] * (2 if "rotor" in more else 1)
        assert "two values of the gear ratio of joint 'j'" in issues[0].message and issues[0].where.line is not None
        assert body_of(with_more(more)).drive == Drive()
        assert errors(with_more(more), strict=True)[0].code == "DRIVE_CONFLICT"


def test_urdf_drives_with_meaningless_values_are_reported() -> None:
    issues = [issue.code for issue in warnings(with_more(transmission(reduction(0))))]
    assert issues == ["IGNORED", "DRIVE_ZERO"]
    rotor = '<drake:rotor_inertia value="1"/>'
    for more, code in (
        (transmission(reduction(2), name="jj"), "IGNORED"),
        (transmission(rotor, name="jj"), "UNKNOWN_JOINT"),
        (SPRING.replace('"j"', '"jj"'), "UNKNOWN_JOINT"),
    ):
        unknown = warnings(with_more(more))[-1]
        assert unknown.code == code and "joint 'jj', which does not exist" in unknown.message
        assert unknown.hint == "did you mean 'j'?"
    for kind, inner in (("planar", ""), ("floating", ""), ("fixed", "")):
        text = with_more(SPRING, kind=kind, inner=inner)
        assert warnings(text)[-1].code == "UNSUPPORTED"
        text = with_more(transmission(reduction(2)), kind=kind, inner=inner)
        assert {issue.code for issue in warnings(text)} == {"IGNORED"}
    for more, code in (
        (transmission(reduction("fast")), "NUMBER"),
        (transmission(reduction("")), "NUMBER"),
        (transmission(reduction("inf")), "NOT_FINITE"),
        (transmission(actuator="<drake:rotor_inertia/>"), "ATTRIBUTE_MISSING"),
        (transmission(actuator='<drake:rotor_inertia value="-1"/>'), "NEGATIVE"),
        (SPRING.replace("10", "-10"), "NEGATIVE"),
        (SPRING.replace("10", "1e30"), "MAGNITUDE"),
        (transmission(actuator=reduction("1e15") + '<drake:rotor_inertia value="1"/>'), "MAGNITUDE"),
    ):
        assert error(with_more(more)).code == code
    huge = with_more(transmission(actuator=reduction("1e200") + '<drake:rotor_inertia value="1"/>'))
    assert {issue.code for issue in errors(huge)} == {"NOT_FINITE", "MAGNITUDE"}
    assert errors(arm(LIMIT + '<dynamics armature="-1"/>'))[0].code == "NEGATIVE"
