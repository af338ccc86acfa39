"""Values in SDF files on both sides of each limit, and the elements that issues name."""

from __future__ import annotations

import pytest

from formats.test_sdf_bad_models import ERRORS, inertial, limits, mimic, shape
from sdf_texts import INERTIAL, arm, axis, errors, joint, link, model, one, sdf, warnings

JOINT, COLLISION = "sdf/model[m]/joint[j]", "sdf/model[m]/link[a]/collision[c]/geometry"
ELEMENTS = {
    "23 unknown child": f"{JOINT}/child",
    "23 unknown parent": f"{JOINT}/parent",
    "30 axis zero": f"{JOINT}/axis/xyz",
    "39 limits in the wrong order": f"{JOINT}/axis/limit",
    "41 negative damping": f"{JOINT}/axis/dynamics/damping",
    "66 size zero": f"{COLLISION}/sphere/radius",
    "thread pitch zero": f"{JOINT}/thread_pitch",
    "unknown frame": "sdf/model[m]/link[a]/pose",
    "unknown frame of an axis": f"{JOINT}/axis/xyz",
}


def quaternion(w: float) -> str:
    return one(f'<pose rotation_format="quat_xyzw">0.1 0.2 0.3 0 0 0 {w!r}</pose>' + INERTIAL)


def screw(pitch: str) -> str:
    return arm(axis() + f"<thread_pitch>{pitch}</thread_pitch>", "screw")


def nested(count: int) -> str:
    """Return models inside each other, the innermost of which has the only link."""
    text = link("a")
    for k in range(count):
        text = model(text, name=f"m{k}")
    return sdf(text)


def following(inner: str) -> str:
    return mimic(f'joint="k">{inner}</mimic>')


GEARBOX = "<gearbox_reference_body>a</gearbox_reference_body>"
DRAWN = '<visual name="v"><geometry><empty/></geometry><material><diffuse>{}</diffuse></material></visual>'

# Text of a file, and the codes of its issues in capitals for errors, in small letters for warnings.
LIMITS = {
    "axis within rounding": (arm(axis(xyz="0 0 1.0000005")), []),
    "axis beyond rounding": (arm(axis(xyz="0 0 1.000005")), ["axis_norm"]),
    "quaternion within rounding": (quaternion(1.0 + 5e-7), []),
    "quaternion beyond rounding": (quaternion(1.0 + 5e-6), ["quat_norm"]),
    "quaternion off by less than 1e-3": (quaternion(1.0 + 9e-4), ["quat_norm"]),
    "quaternion off by more than 1e-3": (quaternion(1.0 + 3e-3), ["QUAT_NORM"]),
    "largest mass": (one(inertial("1e20", "1e20 0 0 1e20 0 1e20")), ["magnitude"]),
    "mass too large": (one(inertial("1.000001e20")), ["MAGNITUDE"]),
    "largest offset": (one(INERTIAL + "<pose>-1e20 0 0 0 0 0</pose>"), ["magnitude"]),
    "offset too large": (one(INERTIAL + "<pose>-1.000001e20 0 0 0 0 0</pose>"), ["MAGNITUDE"]),
    "equal limits": (arm(limits("<lower>0.3</lower><upper>0.3</upper>")), []),
    "limits one digit apart": (arm(limits("<lower>0.3000000000000001</lower><upper>0.3</upper>")), ["LIMIT_ORDER"]),
    "smallest thread pitch": (screw("-1.2e-20"), []),
    "thread pitch too small": (screw("-0.9e-20"), ["ZERO_VALUE"]),
    "largest offset of a follower": (following("<multiplier>2</multiplier><reference>5e19</reference>"), []),
    "offset of a follower too large": (
        following("<multiplier>2</multiplier><reference>5.1e19</reference>"),
        ["MAGNITUDE"],
    ),
    "follower of two axes": (
        arm(
            axis('<mimic joint="k"/>') + axis(xyz="0 1 0", tag="axis2"),
            *("universal", "1.11", link("c") + joint("k", "b", "c")),
        ),
        ["unsupported"],
    ),
    "follower of no joint": (mimic("/>"), ["BAD_NAME"]),
    "model without a name": (sdf(model(link("a"), f"<model>{link('b')}</model>")), ["BAD_NAME"]),
    "nested models": (nested(100), []),
    "too many nested models": (nested(101), ["XML_DEPTH"]),
    "cylinder without volume": (
        one(shape("<cylinder><radius>0</radius><length>0.7</length></cylinder>")),
        ["GEOM_SIZE"],
    ),
    "capsule of no number": (
        one(shape("<capsule><radius>0.2</radius><length>x</length></capsule>")),
        ["NUMBER"],
    ),
    "white": (one(INERTIAL + DRAWN.format("1 1 1 1")), []),
    "beyond white": (one(INERTIAL + DRAWN.format("1.2 1 1 1")), ["color_range"]),
    "gearbox without a ratio": (
        arm(axis() + axis(tag="axis2") + GEARBOX + "<gearbox_ratio>0</gearbox_ratio>", "gearbox"),
        ["ZERO_VALUE"],
    ),
    "gearbox on no body": (
        arm(axis() + axis(tag="axis2") + GEARBOX.replace(">a<", ">c<"), "gearbox"),
        ["UNKNOWN_LINK"],
    ),
}


@pytest.mark.light
@pytest.mark.parametrize("name", LIMITS)
def test_limits_of_values_in_sdf_files_are_those_stated(name: str) -> None:
    text, codes = LIMITS[name]
    if codes and codes[0].isupper():
        assert [issue.code for issue in errors(text)][:1] == codes
    else:
        ignored = ("IGNORED", "MIMIC_FREE", "LIMIT_EQUAL")
        assert [issue.code.lower() for issue in warnings(text) if issue.code not in ignored] == codes


@pytest.mark.light
@pytest.mark.parametrize("name", ELEMENTS)
def test_issues_of_sdf_files_name_the_innermost_element(name: str) -> None:
    assert errors(ERRORS[name][0])[0].where.element == ELEMENTS[name]


def test_gearbox_issues_name_the_element_of_the_value() -> None:
    for name, tag in (("gearbox without a ratio", "gearbox_ratio"), ("gearbox on no body", "gearbox_reference_body")):
        assert errors(LIMITS[name][0])[0].where.element == f"{JOINT}/{tag}"


def test_content_that_is_not_read_is_counted_from_the_second_time_on() -> None:
    decay = "<velocity_decay><linear>0.1</linear></velocity_decay>"
    for links, text in ((("a",), ""), (("a", "b"), " (2 times, here first)")):
        (issue,) = warnings(sdf(model(*(link(name, INERTIAL + decay) for name in links))))
        assert issue.message.endswith(text) and ("times" in issue.message) is bool(text)


def test_continuous_sdf_joints_with_bounds_report_the_element_of_the_bounds() -> None:
    bounded = axis("<limit><lower>-1</lower><upper>2</upper></limit>")
    (issue,) = warnings(arm(bounded, "continuous"))
    assert issue.where.element == f"{JOINT}/axis/limit" and "revolute" in str(issue.hint)
