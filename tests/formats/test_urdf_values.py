"""Values in a URDF: which are read, refused or reported."""

from __future__ import annotations

import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import linkwork as lw
from linkwork.errors import SingularInertiaError
from linkwork.formats import parse_urdf
from linkwork.joints import Floating, Planar, Prismatic, Revolute
from linkwork.model.body import Limits
from linkwork.model.tree_builder import build_tree
from linkwork.robot.joint.joint import limits_of
from linkwork.robot.robot_table import ROBOT
from linkwork.spatial import Inertia, Pose, Symmetric3, Vec3
from urdf_texts import INERTIAL, LIMIT, arm, error, errors, joint, link, one, read, robot, warning, warnings

INF = math.inf


def inertial(mass: str = "1", moments: str = "1 0 0 1 0 1", origin: str = "") -> str:
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    attributes = " ".join(f'{name}="{value}"' for name, value in zip(names, moments.split(), strict=True))
    return f'<inertial>{origin}<mass value="{mass}"/><inertia {attributes}/></inertial>'


def inertia(text: str) -> Inertia:
    return parse_urdf(one(text)).links[0].inertia


# -- joints


def test_joint_types_of_urdf_are_read():
    assert read(arm('<axis xyz="0 1 0"/>' + LIMIT)).bodies[0].joint == Revolute(Vec3(0.0, 1.0, 0.0))
    assert read(arm('<axis xyz="0 1 0"/>' + LIMIT, "continuous")).bodies[0].joint == Revolute(Vec3(0.0, 1.0, 0.0))
    assert read(arm('<axis xyz="0 0 -1"/>' + LIMIT, "prismatic")).bodies[0].joint == Prismatic(Vec3(0.0, 0.0, -1.0))
    assert read(arm("", "floating")).bodies[0].joint == Floating()
    assert read(arm("", "fixed")).bodies == ()
    assert read(arm(LIMIT)).bodies[0].joint == Revolute(Vec3(1.0, 0.0, 0.0))


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_urdf_axis_of_length_zero_is_refused(kind: str):
    issue = error(arm('\n<axis xyz="0 -0 0"/>' + LIMIT, kind))
    assert issue.code == "AXIS_ZERO"
    assert (issue.where.line, issue.where.element) == (5, "robot[r]/joint[j]/axis")


def test_fixed_urdf_joint_may_have_an_axis_of_length_zero():
    assert [issue.code for issue in warnings(arm('<axis xyz="0 0 0"/>', "fixed"))] == ["IGNORED"]


@pytest.mark.light
@pytest.mark.parametrize("axis", ["0 0 2", "0 0 1.00001", "0 0 1e-200", "0 0 1e-320", "0 0 5e-324", "0 0 1e308"])
def test_urdf_axis_of_other_than_unit_length_is_normalised_with_a_warning(axis: str):
    text = arm(f'<axis xyz="{axis}"/>' + LIMIT, "prismatic")
    issue = warning(text)
    assert issue.code == "AXIS_NORM" and "normalised" in issue.message
    assert issue.where.element == "robot[r]/joint[j]/axis"
    assert read(text).bodies[0].joint == Prismatic(Vec3(0.0, 0.0, 1.0))


@pytest.mark.parametrize("axis", ["1e308 1e308 1e308", "5e-324 5e-324 5e-324", "3 3 3"])
def test_very_long_and_short_urdf_axes_are_normalised(axis: str):
    joint = read(arm(f'<axis xyz="{axis}"/>' + LIMIT)).bodies[0].joint
    assert isinstance(joint, Revolute)
    assert all(abs(a - 3**-0.5) < 1e-15 for a in joint.axis)


def test_urdf_axis_of_unit_length_up_to_rounding_has_no_warning():
    text = arm('<axis xyz="0.7071068 0.7071068 0"/>' + LIMIT)
    assert warnings(text) == ()
    joint = read(text).bodies[0].joint
    assert isinstance(joint, Revolute) and math.hypot(*joint.axis) == pytest.approx(1.0, abs=1e-15)


AXES = {"nan 0 0": "NUMBER", "0 inf 0": "NUMBER", "1 0": "ARITY", "1 0 0 0": "ARITY", "": "ARITY", "x 0 0": "NUMBER"}


@pytest.mark.parametrize(("axis", "code"), AXES.items())
def test_urdf_axis_without_three_components_is_refused(axis: str, code: str):
    issue = error(arm(f'<axis xyz="{axis}"/>' + LIMIT))
    assert issue.code == code and issue.message.startswith("xyz: ")
    assert issue.where.element == "robot[r]/joint[j]/axis"


@pytest.mark.parametrize("text", ["1,5", "1abc", "0x10", "1_0", "", "\u0661\u0662"])
def test_urdf_values_that_are_no_floats_are_refused(text: str):
    for result in (
        error(one(inertial(mass=text))),
        error(arm(LIMIT.replace('"2"', f'"{text}"'))),
        error(arm(LIMIT + f'<dynamics damping="{text}"/>')),
        error(arm(LIMIT + f'<dynamics/><mimic joint="j" multiplier="{text}"/>')),
    ):
        assert result.code == "NUMBER" and repr(text) in result.message
        assert result.where.line is not None


@pytest.mark.parametrize("text", ["1e400", "nan", "inf", "-INF"])
def test_urdf_values_that_are_not_finite_are_refused(text: str):
    for result in (
        error(one(inertial(mass=text))),
        error(one(inertial(moments=f"1 0 {text} 1 0 1"))),
        error(arm(LIMIT + f'<dynamics friction="{text}"/>')),
        error(one(f'<visual><geometry><sphere radius="{text}"/></geometry></visual>')),
    ):
        assert result.code == "NOT_FINITE" and text in result.message


PROGRAM = """
import locale, sys
from linkwork.formats import parse_urdf
locale.setlocale(locale.LC_ALL, sys.argv[1])
assert sys.argv[1] == "C" or locale.localeconv()["decimal_point"] == ","
print(ascii(parse_urdf(sys.argv[2])))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["de_DE", "tr_TR"])
def test_locale_of_the_process_does_not_affect_urdf_values(name: str, tmp_path: pathlib.Path):
    compiler = shutil.which("localedef")
    if compiler is None:
        pytest.skip("localedef is not installed")
    compilation = subprocess.run(
        [compiler, "-i", name, "-f", "UTF-8", str(tmp_path / f"{name}.UTF-8")], capture_output=True
    )
    if compilation.returncode > 1 or not (tmp_path / f"{name}.UTF-8").exists():
        pytest.skip(f"the sources of locale {name} are not installed")
    text = arm('<origin xyz="0.1 1.5e-3 2" rpy="0.1 0.2 0.3"/>' + LIMIT)

    def output(locale: str) -> str:
        environment = {**os.environ, "LOCPATH": str(tmp_path), "LC_ALL": locale}
        command = [sys.executable, "-c", PROGRAM, locale, text]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    assert output(f"{name}.UTF-8") == output("C") == ascii(parse_urdf(text)) + "\n"


@pytest.mark.light
@pytest.mark.parametrize("attribute", ["xyz", "rpy"])
@pytest.mark.parametrize(
    ("text", "code"), [("nan 0 0", "NUMBER"), ("0 0", "ARITY"), ("0 0 0 0", "ARITY"), ("0,0,0", "ARITY")]
)
def test_invalid_urdf_origins_are_refused(attribute: str, text: str, code: str):
    origin = f'\n<origin {attribute}="{text}"/>'
    issue = error(arm(origin + LIMIT))
    assert issue.code == code and issue.message.startswith(f"{attribute}: ")
    assert (issue.where.line, issue.where.element) == (5, "robot[r]/joint[j]/origin")
    assert error(one(inertial(origin=origin))).code == code
    assert error(one(f"<visual>{origin}<geometry><sphere radius='1'/></geometry></visual>")).code == code


def test_urdf_origins_become_joint_placements():
    assert read(arm(LIMIT)).bodies[0].placement == Pose.identity()
    half = repr(math.pi / 2)
    placement = read(arm(f'<origin xyz="1 -2 3e-1" rpy="0 0 {half}"/>' + LIMIT)).bodies[0].placement
    assert placement.elements() == (0, -1, 0, 1, 1, 0, 0, -2, 0, 0, 1, 0.3, 0, 0, 0, 1)


def test_planar_urdf_joint_moves_perpendicular_to_its_axis():
    planes = {
        "0 0 1": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        "1 0 0": ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        "0 1 0": ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0)),
        "0 0 -1": ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0)),
    }
    for axis, (x, y) in planes.items():
        body = read(arm(f'<axis xyz="{axis}"/>', "planar"), strict=True).bodies[0]
        assert body.joint == Planar(Vec3(*x), Vec3(*y))
        assert body.limits == Limits.none(body.joint) and body.damping == body.friction == (0.0,) * 3
    assert read(arm("", "planar")).bodies[0].joint == Planar.across(Vec3(1.0, 0.0, 0.0))
    skew = read(arm('<axis xyz="2 -3 6"/>', "planar")).bodies[0].joint
    assert [*skew.normal] == pytest.approx([2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0], abs=1e-15)
    issues = warnings(arm(LIMIT + '<dynamics damping="1"/>', "planar"))
    assert [(issue.code, "of a planar joint" in issue.message) for issue in issues] == [("UNSUPPORTED", True)] * 2


# -- limits


def test_limits_of_urdf_joints_are_read():
    for kind in ("revolute", "prismatic"):
        assert read(arm(LIMIT, kind)).bodies[0].limits == Limits((-1.0,), (2.0,), (4.0,), (3.0,))
    tree = read(arm('<limit effort="3" velocity="4"/>', "continuous"), strict=True)
    assert tree.bodies[0].limits == Limits((-INF,), (INF,), (4.0,), (3.0,))
    floating = read(arm("", "floating"), strict=True).bodies[0]
    assert floating.limits == Limits.none(Floating()) and floating.damping == floating.friction == (0.0,) * 6


def test_missing_urdf_position_bounds_are_zero():
    upper = arm('<limit upper="2" effort="3" velocity="4"/>')
    assert warnings(upper) == ()
    assert read(upper).bodies[0].limits == Limits((0.0,), (2.0,), (4.0,), (3.0,))
    unlimited = arm('<limit effort="3" velocity="4"/>')
    assert warning(unlimited).code == "LIMIT_MISSING" and "cannot move" in warning(unlimited).message
    assert read(unlimited).bodies[0].limits == Limits((0.0,), (0.0,), (4.0,), (3.0,))


def test_urdf_limits_of_acceleration_and_jerk_are_read_compared_and_written(tmp_path: pathlib.Path):
    """URDF 1.2 has them; they are compared, and written to URDF and to saved robots."""
    text = arm(LIMIT.replace("/>", ' acceleration="2.5" deceleration="2.5" jerk="1e300"/>'))
    assert [issue.code for issue in warnings(text)] == ["VERSION", "VERSION", "LIMIT_FINITE"]
    text = text.replace("<robot ", '<robot version="1.2" ')
    loaded = lw.Robot.from_urdf_string(text.replace("1e300", "40"))
    (limits,) = (body.limits for body in loaded.tree.bodies)
    assert (limits.acceleration, limits.jerk) == ((2.5,), (40.0,)) and not loaded.report.repairs
    assert loaded.joints[0].acceleration.tolist() == [2.5] and loaded.joints[0].jerk.tolist() == [40.0]
    loaded.save(tmp_path / "r.json")
    loaded.to_urdf(tmp_path / "r.urdf", strict=True)
    for name in ("r.json", "r.urdf"):
        back = lw.load(tmp_path / name)
        assert back.tree.bodies[0].limits == limits and not back.report.repairs
        assert not loaded.compare(back).differences
    plain = lw.Robot.from_urdf_string(arm(LIMIT))
    comparison = {difference.quantity for difference in loaded.compare(plain).differences}
    assert comparison == {"acceleration limit [rad/s², m/s²]", "jerk limit [rad/s³, m/s³]"}
    built = lw.Joint.of(Revolute((0, 0, 1)), acceleration=3.0, jerk=[5.0])
    assert limits_of(built).acceleration == (3.0,) and limits_of(built).jerk == (5.0,)
    assert error(text.replace('jerk="1e300"', 'jerk="-1"')).code == "NEGATIVE"
    for to in (loaded.to_mjcf, loaded.to_sdf):
        report = to(tmp_path / ("r.xml" if to == loaded.to_mjcf else "r.sdf"))
        assert "limits of acceleration and jerk" in str(report)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_urdf_joint_without_a_limit_is_unlimited_with_a_warning(kind: str):
    issue = warning(arm("", kind))
    assert issue.code == "LIMIT_MISSING" and "unlimited" in issue.message
    assert (issue.where.line, issue.where.element) == (4, "robot[r]/joint[j]")
    assert read(arm("", kind)).bodies[0].limits == Limits((-INF,), (INF,), (INF,), (INF,))
    assert warnings(arm("", "continuous")) == ()


@pytest.mark.parametrize("attribute", ["effort", "velocity"])
def test_urdf_limits_without_effort_or_velocity_are_unlimited_with_a_warning(attribute: str):
    text = arm(f'<limit lower="0" upper="1" {"velocity" if attribute == "effort" else "effort"}="4"/>')
    issue = warning(text)
    assert issue.code == "LIMIT_MISSING" and attribute in issue.message
    assert getattr(read(text).bodies[0].limits, attribute) == (INF,)


def test_position_bounds_of_a_continuous_urdf_joint_are_reported():
    tree = read(arm(LIMIT, "continuous"), strict=True)
    assert [issue.code for issue in tree.report.warnings] == ["IGNORED"]
    assert tree.bodies[0].limits == Limits((-INF,), (INF,), (4.0,), (3.0,))
    assert error(arm(LIMIT.replace('"2"', '"x"'), "continuous")).code == "NUMBER"


@pytest.mark.parametrize(("lower", "upper"), [("1", "0.5"), ("inf", "1"), ("1", "-inf"), ("inf", "inf")])
def test_lower_urdf_limit_above_the_upper_limit_is_refused(lower: str, upper: str):
    issue = error(arm(f'\n<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/>'))
    assert issue.code == "LIMIT_ORDER"
    assert (issue.where.line, issue.where.element) == (5, "robot[r]/joint[j]/limit")


@pytest.mark.light
@pytest.mark.parametrize("attribute", ["lower", "upper", "effort", "velocity"])
def test_infinite_urdf_limits_are_unlimited_with_a_warning(attribute: str):
    values = {"lower": "-1", "upper": "2", "effort": "3", "velocity": "4"}

    def text(value: str) -> str:
        attributes = " ".join(f'{name}="{number}"' for name, number in {**values, attribute: value}.items())
        return arm(f"<limit {attributes}/>")

    assert error(text("nan")).code == "LIMIT_FINITE"
    assert error(text("1e400")).code == "NOT_FINITE"
    infinite = text("-inf" if attribute == "lower" else "INF")
    issue = warning(infinite)
    assert issue.code == "LIMIT_FINITE" and "unlimited" in issue.message and attribute in issue.message
    assert getattr(read(infinite).bodies[0].limits, attribute) == (-INF if attribute == "lower" else INF,)


def test_negative_urdf_limits_and_damping_are_refused():
    for inner, name in (
        (LIMIT.replace('"3"', '"-3"'), "effort"),
        (LIMIT.replace('"4"', '"-inf"'), "velocity"),
        (LIMIT + '<dynamics damping="-1"/>', "damping"),
        (LIMIT + '<dynamics friction="-1e-300"/>', "friction"),
    ):
        issues = errors(arm(inner))[0]
        assert issues.code == "NEGATIVE" and name in issues.message
        assert str(issues.where.element).startswith("robot[r]/joint[j]/")


def test_urdf_damping_and_friction_are_read():
    body = read(arm(LIMIT + '<dynamics damping="0.5" friction="0.25"/>')).bodies[0]
    assert (body.damping, body.friction) == ((0.5,), (0.25,))
    plain = read(arm(LIMIT)).bodies[0]
    assert (plain.damping, plain.friction) == ((0.0,), (0.0,))


@pytest.mark.parametrize("inner", ["<limit/>", "<dynamics damping='1'/>"])
def test_dynamics_and_limits_of_a_floating_urdf_joint_are_reported(inner: str):
    assert warning(arm(inner, "floating")).code == "UNSUPPORTED"


# -- inertia


def test_urdf_inertia_is_converted_to_the_link_frame():
    assert inertia(INERTIAL).mass == 2.0
    result = inertia(inertial("2", "1 0 0 2 0 2.5", '<origin xyz="0 0 3" rpy="0 0 1.5707963267948966"/>'))
    assert result.moment == Vec3(0.0, 0.0, 6.0)
    # turned by a quarter about z: x and y change places; then moved by 3 m along z: 2 kg · 9 m² more about x and y
    assert result.about.elements() == (20.0, 0.0, 0.0, 19.0, 0.0, 2.5)


def test_urdf_masses_of_suspicious_magnitude_are_reported():
    for mass in ("1e-320", "5e-324", "1e-13", "1e13"):
        issue = warning(one(inertial(mass=mass, moments="0 0 0 0 0 0")))
        assert issue.code == "MAGNITUDE" and "suspicious magnitude" in issue.message
        assert issue.where.element == "robot[r]/link[a]/inertial"


def test_negative_urdf_mass_is_refused():
    issue = error(one("\n" + inertial(mass="-1")))
    assert issue.code == "MASS_NEGATIVE" and "-1" in issue.message
    assert (issue.where.line, issue.where.element) == (3, "robot[r]/link[a]/inertial")


def test_urdf_point_mass_is_read():
    assert warnings(one(inertial(moments="0 0 0 0 0 0", origin='<origin xyz="0 0 2"/>'))) == ()
    result = inertia(inertial(moments="0 0 0 0 0 0", origin='<origin xyz="0 0 2"/>'))
    assert result.about.elements() == (4.0, 0.0, 0.0, 4.0, 0.0, 0.0)


def test_urdf_link_without_inertial_element_has_no_mass():
    assert inertia("") == Inertia.zero() and warnings(one("")) == ()


def test_last_urdf_link_may_be_massless():
    assert read(arm(LIMIT).replace(INERTIAL, ""), strict=True).bodies[0].inertia == Inertia.zero()


@pytest.mark.parametrize("moments", ["-1 0 0 1 0 1", "1 2 0 1 0 1", "1 0 0 1 1.1 1", "0 1 0 0 0 0", "-1 0 0 -1 0 -1"])
def test_urdf_inertias_that_are_not_positive_semidefinite_are_refused(moments: str):
    issue = error(one(inertial(moments=moments)))
    assert issue.code == "INERTIA_NOT_PSD" and "eigenvalues" in issue.message
    assert issue.where.element == "robot[r]/link[a]/inertial"
    assert "-" in issue.message.split("are ")[1]


def test_urdf_inertias_singular_up_to_rounding_are_accepted():
    # a thin rod along (1, 1, 1), in six digits: its smallest moment is 0 and may come out below it
    assert warnings(one(inertial(moments="0.666667 -0.333333 -0.333333 0.666666 -0.333334 0.666666"))) == ()
    assert warnings(one(inertial(moments="0 1e-20 0 0 0 0"))) == ()


def test_urdf_inertias_that_violate_the_triangle_inequality_are_reported():
    issue = warning(one(inertial(moments="1 0 0 2 0 3.1")))
    assert issue.code == "INERTIA_TRIANGLE" and "1, 2, 3.1" in issue.message
    assert warnings(one(inertial(moments="1 0 0 2 0 3"))) == ()


def test_urdf_inertias_in_wrong_units_are_reported():
    box = '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual>'
    issue = warning(one(inertial(mass="1", moments="1000 0 0 1000 0 1000") + box))
    assert issue.code == "INERTIA_UNITS" and "radius of gyration is 31.6 m" in issue.message
    assert "kg m²" in str(issue.hint)
    assert warning(one(inertial(mass="1", moments="1000 0 0 1000 0 1000"))).code == "INERTIA_UNITS"
    assert warnings(one(inertial(mass="1", moments="0.002 0 0 0.002 0 0.002") + box)) == ()
    mesh = '<visual><geometry><mesh filename="a.stl"/></geometry></visual>'
    assert warnings(one(inertial(mass="1", moments="1 0 0 1 0 1") + box + mesh)) == ()


def test_urdf_centre_of_mass_far_from_the_shapes_is_reported():
    box = '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual>'
    moments = "0.001 0 0 0.001 0 0.001"
    issue = warning(one(inertial(moments=moments, origin='<origin xyz="0 0 50"/>') + box))
    assert issue.code == "COM_FAR" and "50 m" in issue.message
    assert warnings(one(inertial(moments=moments, origin='<origin xyz="0 0 0.2"/>') + box)) == ()


def test_urdf_moments_without_mass_are_reported():
    issue = warning(one(inertial(mass="0")))
    assert issue.code == "MASS_ZERO"
    assert warnings(one(inertial(mass="0", moments="0 0 0 0 0 0"))) == ()


def test_urdf_inertial_element_without_mass_is_refused():
    issue = error(one(re.sub("<mass [^>]*>", "", inertial())))
    assert issue.code == "ELEMENT_MISSING" and "<mass>" in issue.message


def test_missing_urdf_attributes_are_refused():
    assert error(one(inertial().replace('ixy="0"', ""))).code == "ATTRIBUTE_MISSING"
    issues = errors(one(inertial().replace('<mass value="1"/>', "<mass>1</mass>")))[0]
    assert issues.code == "ATTRIBUTE_MISSING" and issues.hint == 'write <mass value="..."/>'


def test_urdf_values_with_overflowing_products_are_refused():
    """Values beyond 1e20 are refused, and beyond 1e12 suspicious; a limit of this size means no limit."""
    for inner, title in (
        (inertial(mass="1e200"), "mass"),
        (inertial(origin='<origin xyz="0 1e200 0"/>'), "centre of mass"),
        (inertial(moments="1e200 0 0 1e200 0 1e200"), "moments of inertia"),
        (inertial(moments="1e308 1e308 0 1e308 0 1e308", origin='<origin rpy="1 1 1"/>'), "moments of inertia"),
    ):
        issue = error(one(inner))
        assert issue.code in ("MAGNITUDE", "NOT_FINITE") and title in issue.message
        assert issue.where.element == "robot[r]/link[a]/inertial"
    for inner, title in (
        ('<origin xyz="0 0 -1e200"/>', "its placement's offset"),
        ('<dynamics damping="1e21"/>', "damping"),
        ('<dynamics friction="1e21"/>', "friction"),
    ):
        issue = error(arm(inner + LIMIT))
        assert issue.code == "MAGNITUDE" and "joint 'j'" in issue.message and title in issue.message
        assert (issue.where.line, issue.where.element) == (4, "robot[r]/joint[j]")
    for kind in ("visual", "collision"):
        shape = f'<{kind}><origin xyz="{{}} 0 0"/><geometry><sphere radius="1"/></geometry></{kind}>'
        assert [issue.code for issue in warnings(one(shape.format("1e20")))] == ["MAGNITUDE"]
        issue = error(one(shape.format("1.0000001e20")))
        assert issue.code == "MAGNITUDE" and f"its {kind} shape's offset" in issue.message
    assert warning(arm('<origin xyz="0 0 -1e13"/>' + LIMIT)).code == "MAGNITUDE"
    assert warnings(arm('<origin xyz="0 0 -1e12"/>' + LIMIT)) == ()
    assert warning(one(inertial(origin='<origin xyz="0 1e13 0"/>'))).code == "MAGNITUDE"
    assert warning(one(inertial(mass="1e13", moments="1e13 0 0 1e13 0 1e13"))).code == "MAGNITUDE"


def test_urdf_limits_beyond_1e20_are_unlimited():
    largest = repr(sys.float_info.max)
    text = arm('<limit lower="-1e22" upper="1e21" effort="1e300" velocity="1e20"/>')
    issues = warnings(text)
    assert [issue.code for issue in issues] == ["LIMIT_FINITE"] * 3 and "taken as unlimited" in issues[0].message
    assert read(text).bodies[0].limits == Limits((-INF,), (INF,), (1e20,), (INF,))
    assert {issue.code for issue in errors(text, strict=True)} == {"LIMIT_FINITE"}
    text = arm(f'<limit lower="-{largest}" upper="{largest}" effort="{largest}" velocity="{largest}"/>')
    assert not warnings(text) and read(text).bodies[0].limits == Limits((-INF,), (INF,), (INF,), (INF,))


def test_urdf_limits_that_seem_to_be_in_degrees_are_reported():
    def limits(lower: float, upper: float) -> str:
        return f'<limit lower="{lower}" upper="{upper}" effort="3" velocity="4"/>'

    issue = warning(arm(limits(-170, 170)))
    assert issue.code == "LIMIT_UNITS" and "from -170 to 170 rad" in issue.message and "in rad" in (issue.hint or "")
    assert issue.where.element == "robot[r]/joint[j]/limit"
    assert warning(arm(limits(0, 90))).code == "LIMIT_UNITS"
    for lower, upper in (
        (-12, 12),
        (-12.566370614359172, 12.566370614359172),
        (-31.4, 31.4),
        (-1000, 1000),
        (-2.9, 20),
    ):
        assert warnings(arm(limits(lower, upper))) == (), (lower, upper)
    assert warnings(arm(limits(-170, 170), "prismatic")) == ()


def test_urdf_axis_element_without_xyz_is_the_x_axis_with_a_warning():
    issue = warning(arm("<axis/>" + LIMIT))
    assert issue.code == "ATTRIBUTE_MISSING" and "1 0 0" in issue.message
    assert issue.where.element == "robot[r]/joint[j]/axis"
    assert read(arm("<axis/>" + LIMIT)).bodies[0].joint == Revolute(Vec3(1.0, 0.0, 0.0))
    assert [issue.code for issue in warnings(arm("<axis/>", "fixed"))] == ["IGNORED"]


@pytest.mark.light
@pytest.mark.parametrize("length", [1.0, 1e20])
@pytest.mark.parametrize("mimic", ["free", "coupled"])
def test_functions_of_robots_with_the_largest_readable_urdf_values_are_finite(length: float, mimic: str):
    """Lengths, masses and moments at their bounds; accelerations may be refused by name, as those of unequal masses."""
    x = repr(length)
    moments = repr(0.1e20 * length**2)
    big = inertial("1e20", f"{moments} 0 0 {moments} 0 {moments}", f'<origin xyz="{x} -{x} {x}" rpy="1 2 3"/>')
    far = f'<origin xyz="{x} {x} -{x}" rpy="0.3 0.2 0.1"/>'
    joints = [
        joint("j", "a", "b", inner=far + LIMIT + '<axis xyz="0 0 1"/>'),
        joint("k", "b", "c", "prismatic", far + LIMIT + '<axis xyz="1 0 0"/>'),
        joint("l", "c", "d", inner=far + LIMIT + '<mimic joint="j" multiplier="1e20" offset="1"/>'),
    ]
    description = parse_urdf(robot(*(link(name, big) for name in "abcd"), *joints))
    tree = build_tree(description, floating_base=True, mimic=mimic, gravity=(1e20, 0.0, 0.0))
    q, v = [0.3] * tree.nq, [1.0] * tree.nv
    M = [x for row in ROBOT["mass_matrix"].compute(tree, q) for x in row]
    assert all(map(math.isfinite, [*M, *ROBOT["inverse_dynamics"].compute(tree, q, v, v)]))
    try:
        a = ROBOT["forward_dynamics"].compute(tree, q, v, v)
    except SingularInertiaError:
        a = []
    assert all(map(math.isfinite, a)) and (a or length > 1.0)


def test_urdf_mass_without_moments_is_a_point_mass():
    text = robot(link("a", '<inertial><origin xyz="0 0 2"/><mass value="3"/></inertial>'))
    assert warning(text).code == "ELEMENT_MISSING"
    inertia = read(text).frames[0].inertia
    assert inertia == Inertia.at_center(3.0, Vec3(0.0, 0.0, 2.0), Symmetric3.diagonal(0.0, 0.0, 0.0))
