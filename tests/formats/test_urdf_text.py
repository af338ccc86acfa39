"""Text of a URDF and the content that is read from it."""

from __future__ import annotations

import os
import pathlib
import socket

import pytest

from linkwork.errors import MOST_ISSUES, ModelError
from linkwork.formats import Budget, parse_urdf, read_urdf
from linkwork.shapes import Box, Capsule, Cylinder, Geometry, Material, Mesh, Sphere
from linkwork.spatial import Pose, Rotation, Vec3
from urdf_texts import INERTIAL, LIMIT, arm, error, errors, joint, link, one, read, robot, warning, warnings


def visual(shape: str, attributes: str = "", tag: str = "visual") -> str:
    return f"<{tag}>{attributes}<geometry>{shape}</geometry></{tag}>"


def shapes(text: str) -> tuple[Geometry, ...]:
    return parse_urdf(text).links[0].visuals


# -- good files


def test_every_element_of_a_urdf_link_is_read():
    text = one(
        INERTIAL
        + visual('<box size="1 2 3"/>', '<origin xyz="1 0 0" rpy="0 0 0"/>')
        + '<visual name="v"><geometry><cylinder radius="0.5" length="2"/></geometry></visual>'
        + visual('<sphere radius=".25"/>', tag="collision")
        + visual('<mesh filename="package://a/../b c.stl" scale="1 -2 1e-3"/>', tag="collision")
        + visual('<mesh filename="b.stl"/>', tag="collision")
        + visual('<capsule radius="0.1" length="0.5"/>', tag="collision")
        + visual('<capsule radius="0.2" length="0"/>', tag="collision")
    )
    (only,) = parse_urdf(text, source="arm.urdf").links
    identity = Pose.identity()
    assert only.visuals == (
        Geometry(Box((1.0, 2.0, 3.0)), Pose(Rotation.identity(), Vec3(1.0, 0.0, 0.0))),
        Geometry(Cylinder(0.5, 2.0), identity, "v"),
    )
    assert only.collisions == (
        Geometry(Sphere(0.25), identity),
        Geometry(Mesh("package://a/../b c.stl", (1.0, -2.0, 1e-3)), identity),
        Geometry(Mesh("b.stl"), identity),
        Geometry(Capsule(0.1, 0.5), identity),
        Geometry(Capsule(0.2, 0.0), identity),
    )
    assert (only.where.file, only.where.line, only.where.element) == ("arm.urdf", 2, "robot[r]/link[a]")


def test_correct_urdf_has_no_warnings():
    assert warnings(arm(f'<origin xyz="0 0 1"/><axis xyz="0 0 1"/><dynamics damping="1" friction="2"/>{LIMIT}')) == ()


def test_materials_of_urdf_shapes_are_read():
    text = robot(
        '<material name="red"><color rgba="1 0 0 1"/></material>',
        '<material name="skin"><texture filename="skin.png"/></material>',
        link(
            "a",
            visual("<sphere radius='1'/>", '<material name="red"/>')
            + visual("<sphere radius='1'/>", '<material name="skin"/>')
            + visual("<sphere radius='1'/>", '<material name="blue"><color rgba="0 0 1 0.5"/><texture/></material>')
            + visual("<sphere radius='1'/>", '<material name="blue"/>')
            + visual("<sphere radius='1'/>", '<material><color rgba="0 1 0 1"/></material>')
            + visual("<sphere radius='1'/>", "<material/>")
            + visual("<sphere radius='1'/>"),
        ),
    )
    assert warnings(text) == ()
    blue = Material("blue", (0.0, 0.0, 1.0, 0.5))
    assert [shape.material for shape in parse_urdf(text).links[0].visuals] == [
        Material("red", (1.0, 0.0, 0.0, 1.0)),
        Material("skin", None, "skin.png"),
        blue,
        blue,
        Material("", (0.0, 1.0, 0.0, 1.0)),
        Material(),
        None,
    ]


def test_suspicious_urdf_materials_are_reported():
    unknown = visual("<sphere radius='1'/>", '<material name="rad"/>')
    issue = warning(robot('<material name="red"><color rgba="1 0 0 1"/></material>', link("a", unknown * 2)))
    assert issue.code == "UNKNOWN_MATERIAL" and issue.hint == "did you mean 'red'?"
    twice = [f'<material name="red"><color rgba="{rgba}"/></material>' for rgba in ("1 0 0 1", "0.9 0 0 1")]
    assert warnings(robot(twice[0], twice[0], link("a"))) == ()
    assert warning(robot(*twice, link("a"))).code == "DUPLICATE_NAME"
    issue = warning(robot('<material name="red"><color rgba="255 0 0 1"/></material>', link("a")))
    assert issue.code == "COLOR_RANGE" and "255 0 0 1" in issue.message


def test_urdf_orientations_are_read_from_quaternions_in_version_1_1():
    def text(attributes: str, version: str = "1.1") -> str:
        return arm(f"<origin {attributes}/>{LIMIT}").replace("<robot", f'<robot version="{version}"')

    def placement(attributes: str) -> Pose:
        return read(text(attributes)).bodies[0].placement

    turned = placement('quat_xyzw="0 0 1 0"')
    assert turned.rotation.x.x == -1.0 and turned.rotation.z.z == 1.0
    assert error(text('quat_xyzw="0 0 1 0" rpy="0 0 0"')).code == "DUPLICATE_ELEMENT"
    assert error(text('quat_xyzw="0 0 1.1 0"')).code == "QUAT_NORM"
    assert error(text('quat_xyzw="0 0 0 0"')).code == "QUAT_NORM"
    assert warning(text('quat_xyzw="0 0 1.0001 0"')).code == "QUAT_NORM"
    assert placement('quat_xyzw="0 0 1.0001 0"') == turned
    assert warnings(text('quat_xyzw="0 0 1 0"', "1.2")) == ()
    for older in (text('quat_xyzw="0 0 1 0"', "1.0"), text('quat_xyzw="0 0 1 0"').replace(' version="1.1"', "")):
        issue = warning(older)
        assert issue.code == "VERSION" and "URDF 1.1" in issue.message and issue.hint
        assert str(issue.where.element).endswith("joint[j]/origin")


def test_urdf_with_byte_order_mark_and_crlf_is_read_as_the_same_robot():
    text = arm('<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>' + LIMIT)
    tree = read(text)
    assert read(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()) == tree
    assert read(text.encode("utf-16")) == tree


def test_urdf_with_xml_namespaces_is_read_as_the_same_robot():
    tree = read(arm())
    assert read(arm().replace("<robot", '<robot xmlns="http://www.ros.org"')) == tree
    assert read(arm().replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"')) == tree


# -- bad files


@pytest.mark.light
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<mujocoo/>", "did you mean 'mujoco'?"),
        ("<robt/>", "did you mean 'robot'?"),
        ("<mujoco><worldbody/></mujoco>", "MJCF"),
        ("<sdf version='1.7'><model name='a'/></sdf>", "SDF"),
        ("<COLLADA/>", "COLLADA"),
        ("<html/>", "web page"),
        ("<elsewhere/>", "got 'elsewhere'"),
        ('<robot name="r"><group name="arm"/></robot>', "SRDF"),
    ],
)
def test_files_of_other_formats_are_refused_by_the_urdf_reader(text: str, message: str):
    issue = error("\n" + text)
    assert issue.code == "WRONG_FORMAT" and message in str(issue)
    assert "expected" in issue.message
    assert issue.where.line == 2


@pytest.mark.parametrize("tag", ["xi:include", "include"])
def test_include_elements_in_urdf_are_refused(tag: str):
    issue = error(robot(link("a"), f'<{tag} href="../../etc/passwd"/>'))
    assert issue.code == "PATH_ESCAPE" and tag in issue.message
    assert (issue.where.line, issue.where.element) == (3, f"robot[r]/{tag}")


@pytest.mark.parametrize(
    "text",
    [
        '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:macro name="m"/><link name="a"/></robot>',
        '<robot name="r"><xacro:include filename="b.xacro"/></robot>',
        '<robot name="r"><property name="m" value="2"/><link name="a"/></robot>',
        one(INERTIAL.replace('"2"', '"${m}"')),
        one(visual('<mesh filename="$(find arm)/a.stl"/>')),
        robot('<link name="${prefix}a"/>'),
    ],
)
def test_unexpanded_xacro_is_refused_by_the_urdf_reader(text: str):
    issue = error(text)
    assert issue.code == "XACRO" and "expand" in str(issue.hint)


def test_many_uses_of_unexpanded_xacro_are_one_error():
    assert (
        "(60 times" in error(robot(*(link(f"${{p}}{i}", INERTIAL.replace('"2"', '"${m}"')) for i in range(30)))).message
    )


@pytest.mark.parametrize(
    ("text", "element", "hint"),
    [
        (robot(link("a"), "<linkk/>"), "<linkk>", "did you mean 'link'?"),
        (robot(link("a"), "<Joint/>"), "<Joint>", "did you mean 'joint'?"),
        (one(INERTIAL + "<visuals/>"), "<visuals>", "did you mean 'visual'?"),
        (one(INERTIAL.replace("<mass", "<mas/><mass")), "<mas>", "did you mean 'mass'?"),
        (one(INERTIAL.replace("value=", "valeu='3' value=")), "'valeu'", "did you mean 'value'?"),
        (arm(LIMIT + '<dynamics dampin="1"/>'), "'dampin'", "did you mean 'damping'?"),
        (arm('<origin xyx="1 2 3"/>' + LIMIT), "'xyx'", "did you mean 'xyz'?"),
        (one(visual('<box size="1 1 1" sice=""/>')), "'sice'", "did you mean 'size'?"),
        (arm(LIMIT).replace("<robot", "<robot nam='x'"), "'nam'", "did you mean 'name'?"),
        (one(INERTIAL.replace("<mass", "2 kg<mass")), "'2 kg'", "write values in attributes"),
    ],
)
def test_unknown_urdf_elements_are_reported_with_a_hint(text: str, element: str, hint: str):
    issue = warning(text)
    assert issue.code == "UNKNOWN_TAG" and "ignored" in issue.message
    assert element in issue.message and issue.hint == hint
    assert issue.where.line is not None and issue.where.element is not None


def test_each_kind_of_unknown_urdf_element_is_reported_once():
    issues = warnings(robot(link("a"), *["<linkk><b/></linkk>"] * 9, "<c/>"))
    assert [issue.message.split(" in ")[0] for issue in issues] == ["<linkk>", "<c>"]
    assert "9 times" in issues[0].message and issues[0].where.line == 3


def test_many_kinds_of_unknown_urdf_elements_are_summarised():
    issues = warnings(robot(link("a"), *(f"<t{i}/>" for i in range(1000))))
    assert len(issues) == 201 and "800 times" in issues[-1].message


def test_urdf_extensions_are_reported_once_and_accepted_if_strict():
    text = robot(
        '<gazebo reference="a"><whatever/></gazebo>' * 7,
        "<transmission/><transmission/><ros2_control/><sensor/><drake:proximity><b/></drake:proximity>",
        link("a", INERTIAL + "<contact/><self_collision_checking/>" + visual("<sphere radius='1'/>", "<verbose/>")),
        link("b"),
        joint("j", "a", "b", inner=LIMIT + '<safety_controller k_velocity="x"/><calibration rising="0"/>'),
    )
    loaded_robot = read(text, strict=True).report.warnings
    assert {issue.code for issue in loaded_robot} == {"IGNORED"}
    tags = ["gazebo", "transmission", "ros2_control", "sensor", "drake:proximity", "contact", "self_collision_checking"]
    tags += ["verbose", "safety_controller", "calibration"]
    assert [issue.message.split(">")[0][1:] for issue in loaded_robot] == tags
    assert "7 times" in loaded_robot[0].message and "2 times" in loaded_robot[1].message


@pytest.mark.parametrize(
    ("text", "element"),
    [
        (arm(LIMIT + '<dynamics mu_coulomb="1"/>'), "mu_coulomb"),
        (arm(LIMIT.replace("/>", ' deceleration="3"/>')), "deceleration"),
        (robot(link("a"), '<coupling name="l"/>'), "coupling"),
    ],
)
def test_urdf_elements_that_affect_the_model_and_are_unsupported_are_errors_if_strict(text: str, element: str):
    issues = warnings(text)
    assert issues[0].code == "UNSUPPORTED" or issues[-1].code == "UNSUPPORTED"
    assert any(element in issue.message and issue.code == "UNSUPPORTED" for issue in issues)
    assert errors(text, strict=True)[0].code == "UNSUPPORTED"


NAMES = ["héllo wörld", "关节", "../../etc/passwd", "<script>alert(1)</script>", "$(reboot)", "a\nb", " a ", "x" * 5000]


@pytest.mark.parametrize("name", NAMES)
def test_every_urdf_name_is_preserved(name: str):
    from xml.sax.saxutils import quoteattr

    quoted = quoteattr(name, {"\n": "&#10;"})[1:-1]
    text = robot(link(quoted), link("b"), joint(quoted, quoted, "b"))
    tree = read(text.replace('name="r"', f'name="{quoted}"'))
    assert tree.name == tree.frames[0].name == tree.bodies[0].joint_name == name


def test_duplicate_urdf_elements_are_refused():
    issue = error(one(INERTIAL + "\n" + INERTIAL))
    assert issue.code == "DUPLICATE_ELEMENT"
    assert (issue.where.line, issue.where.element) == (3, "robot[r]/link[a]/inertial")
    assert "the first is on line 2" in issue.message
    sphere = "<geometry><sphere radius='1'/></geometry>"
    assert error(one(f"<visual>{sphere}{sphere}</visual>")).code == "DUPLICATE_ELEMENT"
    assert error(one(visual("<sphere radius='1'/><sphere radius='2'/>"))).code == "DUPLICATE_ELEMENT"
    assert error(one(visual("<sphere radius='1'/><box size='1 1 1'/>"))).code == "DUPLICATE_ELEMENT"
    for inner in ("<origin/>", '<axis xyz="1 0 0"/>', LIMIT, '<mimic joint="k"/>', "<dynamics/>"):
        assert errors(arm(LIMIT + inner + inner))[0].code == "DUPLICATE_ELEMENT"


@pytest.mark.light
@pytest.mark.parametrize(
    "shape",
    [
        '<box size="1 0 1"/>',
        '<box size="1 -1 1"/>',
        '<sphere radius="0"/>',
        '<sphere radius="-1"/>',
        '<cylinder radius="1" length="-0"/>',
        '<cylinder radius="-1" length="1"/>',
        '<capsule radius="0" length="1"/>',
    ],
)
@pytest.mark.parametrize("tag", ["visual", "collision"])
def test_nonpositive_urdf_shape_sizes_are_refused(shape: str, tag: str):
    issue = error(one(visual(shape, tag=tag)))
    assert issue.code == "GEOM_SIZE" and "must be positive" in issue.message
    assert str(issue.where.element).startswith(f"robot[r]/link[a]/{tag}/geometry/")
    issue = error(one(visual('<capsule radius="1" length="-1"/>', tag=tag)))
    assert issue.code == "GEOM_SIZE" and "length must not be negative" in issue.message


def test_each_unreadable_urdf_shape_size_is_one_error():
    assert error(one(visual('<box size="1 x 1"/>'))).code == "NUMBER"
    assert error(one(visual('<box size="1 1"/>'))).code == "ARITY"
    assert error(one(visual("<box/>"))).code == "ATTRIBUTE_MISSING"
    assert error(one(visual('<cylinder radius="1"/>'))).code == "ATTRIBUTE_MISSING"
    assert error(one(visual('<mesh scale="1 1 1"/>'))).code == "ATTRIBUTE_MISSING"
    assert error(one(visual('<mesh filename=" "/>'))).code == "ATTRIBUTE_MISSING"


@pytest.mark.parametrize(
    ("scale", "code"), [("1 0 1", "SCALE"), ("nan 1 1", "SCALE"), ("2", "ARITY"), ("1 1 x", "NUMBER")]
)
def test_invalid_urdf_mesh_scales_are_refused(scale: str, code: str):
    assert error(one(visual(f'<mesh filename="a.stl" scale="{scale}"/>'))).code == code


@pytest.mark.parametrize("inner", ["<visual/>", "<visual><geometry/></visual>", "<collision><geometry/></collision>"])
def test_urdf_shape_without_geometry_is_refused(inner: str):
    issue = error(one(inner))
    assert issue.code == "ELEMENT_MISSING" and "geometry" in issue.message
    assert str(issue.where.element).startswith("robot[r]/link[a]/")


def test_unknown_urdf_shape_is_refused_with_a_hint():
    (missing,) = errors(one(visual("<shere radius='1'/>")))
    assert missing.code == "ELEMENT_MISSING" and missing.hint == "did you mean 'sphere'?"


# -- files and texts


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "arm.urdf"
    path.write_text(arm())
    return path


def test_urdf_file_is_read_by_a_string_or_a_path(file: pathlib.Path):
    assert read_urdf(str(file)) == read_urdf(file) == parse_urdf(arm(), source=str(file))
    assert read_urdf(file).source == str(file)


def test_messages_about_a_urdf_name_the_file(tmp_path: pathlib.Path):
    path = tmp_path / "bad.urdf"
    path.write_text("<robot>\n<b")
    with pytest.raises(ModelError, match=r"bad\.urdf:2:1: robot: .*\[XML_SYNTAX\]") as caught:
        read_urdf(path)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(path), 2, 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs the files of Unix")
def test_paths_that_are_not_regular_files_are_refused_by_the_urdf_reader(tmp_path: pathlib.Path):
    os.mkfifo(tmp_path / "pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "s"))
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    kinds = [(tmp_path, "a directory"), (tmp_path / "pipe", "a pipe"), (tmp_path / "link", "a pipe")]
    kinds += [(tmp_path / "s", "a socket"), (pathlib.Path("/dev/zero"), "a device")]
    for path, kind in kinds:
        with pytest.raises(ModelError, match=kind) as caught:
            read_urdf(path)
        assert caught.value.code == "NOT_A_FILE" and caught.value.file == str(path)
    server.close()
    with pytest.raises(ModelError, match="NUL"):
        read_urdf("a\0b")


def test_symbolic_link_to_a_urdf_file_is_read(file: pathlib.Path):
    (file.parent / "link.urdf").symlink_to(file)
    assert [each.name for each in read_urdf(file.parent / "link.urdf").links] == ["a", "b"]


def test_urdf_file_larger_than_the_budget_is_refused(file: pathlib.Path):
    with pytest.raises(ModelError, match="more bytes than the limit of 10") as caught:
        read_urdf(file, budget=Budget(max_bytes=10))
    assert caught.value.code == "TOO_LARGE"
    if os.path.exists("/proc/self/environ"):  # has content, but says it has no size
        with pytest.raises(ModelError, match="more bytes than the limit of 3") as caught:
            read_urdf("/proc/self/environ", budget=Budget(max_bytes=3))
        assert caught.value.code == "TOO_LARGE"


def test_operating_system_errors_of_reading_urdf_propagate(file: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(FileNotFoundError, match=r"none.urdf"):
        read_urdf(file.parent / "none.urdf")

    def refuse(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(PermissionError, match="Permission denied"):
        read_urdf(file)


@pytest.mark.parametrize("text", [arm(), "  \n" + arm(), "\ufeff<?xml version='1.0'?>"])
def test_urdf_text_passed_as_a_path_is_refused(text: str):
    with pytest.raises(ModelError, match=r"Robot\.from_urdf_string") as caught:
        read_urdf(text)
    assert caught.value.code == "NOT_A_PATH"


@pytest.mark.parametrize("path", ["arm.urdf", "/home/me/arm", pathlib.Path("arm.urdf")])
def test_path_passed_as_a_urdf_text_is_refused(path: str):
    with pytest.raises(ModelError, match=r"linkwork\.load") as caught:
        parse_urdf(path)
    assert caught.value.code == "NOT_TEXT"


@pytest.mark.parametrize("value", [None, 3, ["<robot/>"]])
def test_urdf_arguments_that_are_not_a_path_or_text_are_refused(value: str):
    with pytest.raises(TypeError, match="expected"):
        parse_urdf(value)
    with pytest.raises(TypeError, match="expected"):
        read_urdf(value)


# -- many errors


def test_all_errors_of_a_urdf_are_reported_together():
    text = arm('<axis xyz="0 0 0"/><limit lower="2" upper="1" effort="-1" velocity="x"/>')
    assert [issue.code for issue in errors(text)] == ["AXIS_ZERO", "LIMIT_ORDER", "NUMBER", "NEGATIVE"]
    with pytest.raises(ModelError, match="4 errors:"):
        read(text)


def test_errors_of_a_urdf_are_reported_up_to_a_limit():
    assert len(errors(robot(*["<link/>\n"] * 100))) == MOST_ISSUES


def test_unknown_version_of_urdf_is_reported():
    assert warnings(arm().replace("<robot", '<robot version="1.0"')) == ()
    assert warning(arm().replace("<robot", '<robot version="3.0"')).code == "VERSION"
