"""Bad SDF files, and the issues that reading them reports."""

from __future__ import annotations

import pytest

from linkwork._util.file_access import Budget
from linkwork.errors import MOST_ISSUES, ModelError
from linkwork.formats import parse_sdf, read_sdf
from sdf_texts import INERTIAL, arm, axis, error, errors, joint, link, model, one, read, sdf, warning, warnings, world

PAIR = link("a") + link("b")
DEEP = "".join(f'<model name="m{i}">' for i in range(300))


def limits(inner: str) -> str:
    return axis(f"<limit>{inner}</limit>")


def inertial(mass: str = "1", moments: str = "1 0 0 1 0 1", pose: str = "") -> str:
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in zip(names, moments.split(), strict=True))
    return f"<inertial>{pose}<mass>{mass}</mass><inertia>{inner}</inertia></inertial>"


def shape(inner: str) -> str:
    return f'{INERTIAL}<collision name="c"><geometry>{inner}</geometry></collision>'


def mimic(inner: str, more: str = "", kind: str = "revolute") -> str:
    """A joint "j" that mimics another one, beside a joint "k" from link b to link c and a fixed joint "f"."""
    text = link("c") + link("d") + joint("k", "b", "c", inner=axis(more)) + joint("f", "c", "d", "fixed", "")
    return arm(axis(f"<mimic {inner}"), kind, "1.11", text)


# Text of a file, the code of its one error, a part of the message or the hint, and its line.
ERRORS = {
    "1 empty": ("", "XML_EMPTY", "empty", None),
    "1 white space": (" \n ", "XML_EMPTY", "empty", None),
    "2 not XML": ("robot", "NOT_TEXT", "path", None),
    "2 binary": (b"\x1f\x8b\x08\x00", "XML_SYNTAX", "gzip", 1),
    "3 truncated": (arm()[:-20], "XML_SYNTAX", "not closed", None),
    "4 another root": ('<robot name="r"/>', "WRONG_FORMAT", "URDF", 1),
    "4 MJCF": ("<mujoco/>", "WRONG_FORMAT", "MJCF", 1),
    "4 a model without sdf": (model(link("a")), "WRONG_FORMAT", '<sdf version="1.9">', 1),
    "5 doctype": ("<!DOCTYPE sdf>" + arm(), "XML_DTD", "DOCTYPE", 1),
    "6 entity": ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>' + arm(), "XML_DTD", "DOCTYPE", 1),
    "8 nesting of elements": (sdf(DEEP + "</model>" * 300), "XML_DEPTH", "256", 2),
    "10 attribute twice": ('<sdf version="1.9" version="1.8"/>', "XML_SYNTAX", "duplicate", 1),
    "11 invalid UTF-8": (b'<sdf version="1.9"><model name="\xff"/></sdf>', "XML_ENCODING", "UTF-8", 1),
    "14 a macro": (sdf('<xacro:macro name="a"/>', model(link("a"))), "XACRO", "xacro=True", 2),
    "14 an expression": (one(inertial("${m}")), "XACRO", "xacro=True", 3),
    "14 an expression in a name": (sdf(model(link("${n}"))), "XACRO", "'${n}'", 3),
    "16 no links": (sdf(model()), "NO_LINKS", "has no links", 2),
    "16 no models": (sdf(), "NO_LINKS", "<model>", 1),
    "16 only a light": (world('<light name="sun"/>'), "NO_LINKS", "no links", 2),
    "17 links of one name": (sdf(model(link("a"), link("a"))), "DUPLICATE_NAME", "<link> on line 3", 4),
    "18 joints of one name": (arm(more=link("c") + joint("j", "a", "c")), "DUPLICATE_NAME", "'j'", 8),
    "19 a link and a joint": (arm(more=link("c") + joint("b", "a", "c")), "DUPLICATE_NAME", "<link>", 8),
    "20 no name": (sdf(model("<link/>")), "BAD_NAME", "<link>", 3),
    "20 a reserved name": (sdf(model(link("__model__"))), "BAD_NAME", "reserved", 3),
    "20 the world's name": (sdf(model(link("world"))), "BAD_NAME", "reserved", 3),
    "20 a separator": (sdf(model(link("a::b"))), "BAD_NAME", "'::'", 3),
    "22 no child": (arm().replace("<child>b</child>", ""), "ELEMENT_MISSING", "<child>", 6),
    "22 an empty parent": (arm().replace("<parent>a</parent>", "<parent/>"), "ELEMENT_MISSING", "<parent>", 6),
    "23 unknown child": (sdf(model(link("hand"), joint("j", "world", "hnd"))), "UNKNOWN_LINK", "'hand'", 4),
    "23 unknown parent": (sdf(model(link("hand"), joint("j", "arm", "hand"))), "UNKNOWN_LINK", "'arm'", 4),
    "24 to itself": (arm(more=joint("k", "b", "b")), "SELF_JOINT", "'m::b'", 7),
    "29 no type": (arm().replace('type="revolute"', ""), "JOINT_TYPE", "universal", 6),
    "29 unknown type": (arm(kind="revolut"), "JOINT_TYPE", "'revolute'", 6),
    "30 axis zero": (arm(axis(xyz="0 -0 0")), "AXIS_ZERO", "zero", 6),
    "32 axis nan": (arm(axis(xyz="0 nan 0")), "NUMBER", "nan", 6),
    "32 axis of two numbers": (arm(axis(xyz="0 1")), "ARITY", "3 numbers", 6),
    "no axis": (arm(""), "ELEMENT_MISSING", "<axis>", 6),
    "parallel axes": (arm(axis() + axis(tag="axis2"), "universal"), "PARAMETER", "parallel", 6),
    "33 decimal comma": (one(inertial("1,5")), "NUMBER", "point", 3),
    "33 not a number": (one(inertial("1_0")), "NUMBER", "'1_0'", 3),
    "34 beyond float64": (one(inertial("1e400")), "NOT_FINITE", "1e400", 3),
    "34 inf": (one(inertial("inf")), "NOT_FINITE", "inf", 3),
    "36 pose of five": (one(INERTIAL + "<pose>0 0 0 0 0</pose>"), "ARITY", "6 numbers", 3),
    "36 pose nan": (one(INERTIAL + "<pose>0 0 0 0 0 nan</pose>"), "NUMBER", "nan", 3),
    "36 pose too far": (one(INERTIAL + "<pose>1e21 0 0 0 0 0</pose>"), "MAGNITUDE", "1e+20", 3),
    "39 limits in the wrong order": (arm(limits("<lower>2</lower><upper>1</upper>")), "LIMIT_ORDER", "above", 6),
    "40 limit nan": (arm(limits("<lower>nan</lower>")), "LIMIT_FINITE", "nan", 6),
    "41 negative damping": (arm(axis("<dynamics><damping>-1</damping></dynamics>")), "NEGATIVE", "<damping>", 6),
    "43 mimic unknown": (mimic('joint="kk"/>'), "MIMIC_UNKNOWN", "'k'", 6),
    "43 mimic itself": (mimic('joint="j"/>'), "MIMIC_SELF", "itself", 6),
    "43 mimic fixed": (mimic('joint="f"/>'), "MIMIC_FIXED", "fixed", 6),
    "43 mimic in a cycle": (mimic('joint="k"/>', '<mimic joint="j"/>'), "MIMIC_CYCLE", "cycle", 6),
    "45 negative mass": (one(inertial("-1")), "MASS_NEGATIVE", "negative", 3),
    "49 inertia not semi-definite": (one(inertial(moments="1 2 0 1 0 1")), "INERTIA_NOT_PSD", "eigenvalues", 3),
    "53 two inertials": (one(INERTIAL * 2), "DUPLICATE_ELEMENT", "<inertial>", 3),
    "53 two shapes": (one(shape("<empty/><plane/>")), "DUPLICATE_ELEMENT", "<plane>", 3),
    "54 quaternion": (
        one('<pose rotation_format="quat_xyzw">0 0 0 1 1 0 0</pose>' + INERTIAL),
        *("QUAT_NORM", "norm is 1.41", 3),
    ),
    "a quaternion in degrees": (
        one('<pose rotation_format="quat_xyzw" degrees="true">0 0 0 0 0 0 1</pose>' + INERTIAL),
        *("ROTATION", "unit", 3),
    ),
    "rotation format": (one('<pose rotation_format="xyz">0 0 0 0 0 0</pose>'), "ROTATION", "euler_rpy", 3),
    "64 scale zero": (one(shape("<mesh><uri>a.stl</uri><scale>1 0 1</scale></mesh>")), "SCALE", "zero", 3),
    "66 size zero": (one(shape("<sphere><radius>0</radius></sphere>")), "GEOM_SIZE", "'0'", 3),
    "66 negative size": (one(shape("<box><size>1 -1 1</size></box>")), "GEOM_SIZE", "'1 -1 1'", 3),
    "67 empty geometry": (one(shape("")), "ELEMENT_MISSING", "<sphere>", 3),
    "67 no size": (one(shape("<sphere/>")), "ELEMENT_MISSING", "<radius>", 3),
    "a plane without a normal": (one(shape("<plane><normal>0 0 0</normal></plane>")), "AXIS_ZERO", "normal", 3),
    "75 relative to itself": (one('<pose relative_to="a">0 0 0 0 0 0</pose>'), "FRAME_CYCLE", "itself", 3),
    "75 relative to each other": (
        sdf(model('<link name="a"><pose relative_to="b"/></link><link name="b"><pose relative_to="a"/></link>')),
        *("FRAME_CYCLE", "'m::a' -> 'm::b' -> 'm::a'", 3),
    ),
    "75 attached to each other": (
        sdf(
            model(
                link("a"),
                '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"><pose relative_to="a"/></frame>',
            )
        ),
        *("FRAME_CYCLE", "attached_to", 4),
    ),
    "75 a joint on its own frame": (
        sdf(model(link("a"), '<frame name="f" attached_to="j"><pose relative_to="a"/></frame>', joint("j", "a", "f"))),
        *("FRAME_CYCLE", "attached_to", 4),
    ),
    "unknown frame": (one('<pose relative_to="aa">0 0 0 0 0 0</pose>'), "UNKNOWN_FRAME", "'a'", 3),
    "unknown frame of an axis": (
        arm('<axis><xyz expressed_in="bb">0 0 1</xyz></axis>'),
        "UNKNOWN_FRAME",
        "expressed_in",
        6,
    ),
    "unknown canonical link": (sdf(model(link("a"), more=' canonical_link="b"')), "UNKNOWN_LINK", "canonical_link", 2),
    "unknown placement frame": (
        sdf(model(link("a"), more=' placement_frame="b"')),
        "UNKNOWN_FRAME",
        "placement_frame",
        2,
    ),
    "a nested model without links": (sdf(model(link("a"), model(name="n"))), "NO_LINKS", "'m::n'", 4),
    "not a switch": (sdf(model("<static>yes</static>", link("a"))), "BOOLEAN", "'yes'", 3),
    "version": (sdf(model(link("a")), version="one"), "VERSION", "'one'", 1),
    "two worlds": (sdf('<world name="a"/>\n<world name="b"/>'), "DUPLICATE_ELEMENT", "<world>", 3),
    "a model beside a world": (sdf('<world name="a"/>', model(link("a"))), "DUPLICATE_ELEMENT", "both", 2),
    "two models": (sdf(model(link("a")), model(link("a"), name="n")), "DUPLICATE_ELEMENT", "<world>", 5),
    "thread pitch zero": (arm(axis() + "<thread_pitch>0</thread_pitch>", "screw"), "ZERO_VALUE", "rad per metre", 6),
    "gearbox without reference": (arm(axis() + axis(tag="axis2"), "gearbox"), "ELEMENT_MISSING", "reference", 6),
    "automatic inertia of nothing": (one('<inertial auto="true"/>', "1.11"), "ELEMENT_MISSING", "<collision>", 3),
    "uri missing": (world("<include/>"), "ELEMENT_MISSING", "<uri>", 3),
    "58 uri to be fetched": (world("<include><uri>https://a/b</uri></include>"), "URI_SCHEME", "not downloaded", 3),
    "59 unknown package": (world("<include><uri>model://b</uri></include>"), "PACKAGE_UNKNOWN", "'b'", 3),
    "57 path": (world("<include><uri>/etc/passwd</uri></include>"), "PATH_ESCAPE", "out of", 3),
    "56 missing file": (world("<include><uri>b.sdf</uri></include>"), "FILE_MISSING", "no folders", 3),
}


@pytest.mark.light
@pytest.mark.parametrize("name", ERRORS)
def test_sdf_with_a_fault_is_refused_with_its_code(name: str):
    text, code, said, line = ERRORS[name]
    issues = errors(text)
    assert issues[0].code == code and said in f"{issues[0].message} {issues[0].hint}", [str(issue) for issue in issues]
    assert line is None or issues[0].where.line == line
    assert len(issues) == 1 or name in ("75 a joint on its own frame", "a nested model without links")


# Text of a file, the code of its one warning, and a part of the message or the hint.
WARNINGS = {
    "15 unknown element": (sdf(model(link("a"), "<linkk/>")), "UNKNOWN_TAG", "'link'"),
    "15 unknown attribute": (arm().replace("<sdf ", '<sdf verson="1" '), "UNKNOWN_TAG", "'version'"),
    "15 text": (sdf("words", model(link("a"))), "UNKNOWN_TAG", "words"),
    "31 axis not of unit length": (arm(axis(xyz="0 0 2")), "AXIS_NORM", "normalised"),
    "54 quaternion almost of unit length": (
        one('<pose rotation_format="quat_xyzw">0 0 0 0 0 0 1.00001</pose>' + INERTIAL),
        *("QUAT_NORM", "normalised"),
    ),
    "37 tiny mass": (one(inertial("1e-320", "0 0 0 0 0 0")), "MAGNITUDE", "suspicious"),
    "50 triangle inequality": (one(inertial(moments="1 0 0 1 0 3")), "INERTIA_TRIANGLE", "moments"),
    "44 mimic with a multiplier of zero": (
        mimic('joint="k"><multiplier>0</multiplier></mimic>'),
        *("MIMIC_ZERO", "never moves"),
    ),
    "51 moments in other units": (one(inertial(moments="1e3 0 0 1e3 0 1e3")), "INERTIA_UNITS", "gyration"),
    "52 centre of mass far away": (
        one(
            inertial(pose="<pose>100 0 0 0 0 0</pose>")
            + '<visual name="v"><geometry><sphere><radius>1</radius></sphere></geometry></visual>'
        ),
        *("COM_FAR", "centre of mass"),
    ),
    "54 nearly a unit quaternion": (
        one('<pose rotation_format="quat_xyzw">0 0 0 0 0 0 1.0001</pose>' + INERTIAL),
        "QUAT_NORM",
        "normalised",
    ),
    "a version to come": (sdf(model(link("a")), version="1.13"), "VERSION", "1.12"),
    "an old version": (sdf(model(link("a")), version="1.3"), "VERSION", "1.4"),
    "no version": (arm().replace(' version="1.9"', ""), "VERSION", "1.12"),
    "an attribute of a later version": (
        one('<pose degrees="true">0 0 0 0 0 0</pose>' + INERTIAL, "1.7"),
        "VERSION",
        "read anyway",
    ),
    "an element of an earlier version": (
        arm(axis("<use_parent_model_frame>1</use_parent_model_frame>"), version="1.7"),
        "UNKNOWN_TAG",
        "up to version 1.6",
    ),
    "gravity": (one(INERTIAL + "<gravity>false</gravity>"), "UNSUPPORTED", "without gravity"),
    "kinematic": (one(INERTIAL + "<kinematic>1</kinematic>"), "UNSUPPORTED", "kinematic"),
    "velocity decay": (
        one(INERTIAL + "<velocity_decay><linear>0.1</linear></velocity_decay>"),
        "UNSUPPORTED",
        "velocity_decay",
    ),
    "fluid": (one(INERTIAL.replace("<mass>", "<fluid_added_mass/><mass>"), "1.10"), "UNSUPPORTED", "fluid_added_mass"),
    "polyline": (one(shape("<polyline/>")), "UNSUPPORTED", "polyline"),
    "submesh": (one(shape("<mesh><uri>a</uri><submesh><name>b</name></submesh></mesh>")), "UNSUPPORTED", "whole"),
    "parameters": (world(model(link("a")), "<state/>"), "UNSUPPORTED", "<state>"),
    "a floor": (
        world(model(link("a")), "<include><uri>model://ground_plane</uri></include>"),
        "UNSUPPORTED",
        "ground_plane",
    ),
    "damping of a ball": (arm(axis("<dynamics><damping>1</damping></dynamics>"), "ball"), "UNSUPPORTED", "ball"),
    "42 initial position": (
        arm(axis("<initial_position>3</initial_position><limit><upper>2</upper></limit>"), version="1.6"),
        *("Q_OUT_OF_LIMITS", "outside"),
    ),
    "colour": (
        one(
            INERTIAL
            + '<visual name="v"><geometry><empty/></geometry><material><diffuse>2 0 0</diffuse></material></visual>'
        ),
        *("COLOR_RANGE", "2 0 0"),
    ),
}


@pytest.mark.light
@pytest.mark.parametrize("name", WARNINGS)
def test_suspicious_sdf_is_reported_with_its_code(name: str):
    text, code, said = WARNINGS[name]
    issues = [issue for issue in warnings(text) if issue.code not in ("IGNORED", "MIMIC_FREE")]
    assert [issue.code for issue in issues] == [code], [str(issue) for issue in issues]
    assert said in f"{issues[0].message} {issues[0].hint}"
    assert error(text, strict=True).code == code


def test_ignored_sdf_content_is_reported_once_for_each_kind():
    lights = '<light name="l"/>' * 30
    sensors = "".join(link(f"l{i}", f'{INERTIAL}<sensor name="s" type="imu"><x/></sensor>') for i in range(30))
    tree = read(world(model(sensors), lights, "<gui/><scene/>"), strict=True)
    notes = [issue for issue in tree.report.warnings if issue.code == "IGNORED"]
    assert len(notes) == 4 and sum("30 times" in issue.message for issue in notes) == 2
    (note,) = warnings(sdf(model(link("a", ""), link("b", ""))))
    assert note.code == "INERTIA_DEFAULT" and "2 times" in note.message
    assert [link.inertia.mass for link in parse_sdf(sdf(model(link("a", "")))).links] == [0.0, 1.0]


def test_sdf_encodings_and_unusual_names_are_read():
    text = '<?xml version="1.0" encoding="utf-16"?>\r\n' + arm().replace("\n", "\r\n")
    assert read(text.encode("utf-16")).nv == 1
    assert read(b"\xef\xbb\xbf" + arm().encode()).nv == 1
    assert read(arm().replace("<sdf ", '<sdf xmlns="http://a" ')).nv == 1
    for name in ("\u00e9\u00e8", "a b", "../x", "&lt;script&gt;", "$(cmd)"):
        assert len(read(sdf(model(link(name)))).bodies) == 1
    assert read(sdf(model(link("a::b")), version="1.7")).frame("a::b").name == "a::b"


def test_large_sdf_is_refused_and_errors_are_counted_up_to_a_limit():
    for budget in (Budget(max_bytes=10), Budget(max_elements=3)):
        with pytest.raises(ModelError, match="TOO_LARGE") as caught:
            parse_sdf(arm(), budget=budget)
        assert caught.value.code == "TOO_LARGE"
    many = sdf(model(*(link(f"l{i}", inertial("x")) for i in range(100))))
    assert len(errors(many)) == MOST_ISSUES


@pytest.mark.slow
def test_sdf_of_a_chain_of_20000_links_is_read():
    n = 20_000
    joints = (joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(n - 1))
    tree = read(sdf(model(*(link(f"l{i}") for i in range(n)), *joints)))
    assert tree.nv == n + 5 and tree.bodies[-1].name == f"l{n - 1}"


def test_paths_that_are_not_sdf_files_are_refused(tmp_path):
    for path, kind in ((tmp_path, ModelError), (tmp_path / "none.sdf", FileNotFoundError)):
        with pytest.raises(kind, match=r"NOT_A_FILE|none.sdf"):
            read_sdf(path)
    with pytest.raises(ModelError, match="NOT_A_PATH"):
        read_sdf(arm())


def test_sdf_links_with_zero_moments_or_mass_are_read():
    assert read(one(inertial("1", "0 0 0 0 0 0")), strict=True).bodies[0].inertia.mass == 1.0
    assert read(one(inertial("0", "0 0 0 0 0 0")), strict=True).bodies[0].inertia.mass == 0.0


def test_invalid_options_of_the_sdf_reader_are_refused():
    for options in ({"continuous": "x"}, {"inertia": "x"}, {"package_dirs": ["/none"]}, {"model": "x"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            parse_sdf(arm(), **options)  # type: ignore[arg-type]
    nearest = read(one(inertial(moments="1 0 0 1 0 3")), inertia="nearest")
    assert [issue.code for issue in nearest.report.warnings] == ["INERTIA_NEAREST"]
    ignored = read(one(inertial()), inertia="ignore")
    assert ignored.inertias_ignored and ignored.bodies[0].inertia.mass == 0.0
    assert warning(arm(axis(xyz="0 0 3"))).where.element == "sdf/model[m]/joint[j]/axis/xyz"
