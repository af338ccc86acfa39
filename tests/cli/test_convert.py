"""The command `linkwork convert`: the suffix selects the writer; losses and overwriting are reported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.cli.commands import convert
from linkwork.cli.commands.convert import split_differences, without_other_dynamics
from linkwork.errors import Issue, Location, ModelError
from linkwork.formats.registry import FORMATS
from linkwork.parts import Report, RobotDifference

LOSS = Issue("UNSUPPORTED", "robots in this format have no loop pin", Location(element="loop[pin\t]"))


@pytest.fixture
def writer(monkeypatch):
    """A format `.copy`, whose writer copies the robot's URDF file and cannot say one thing."""

    def to_copy(self, path, *, strict=False):
        if strict:
            raise ModelError(LOSS)
        shutil.copy(self.tree.source, path)
        return Report((LOSS,))

    monkeypatch.setattr(lw.Robot, "to_copy", to_copy, raising=False)
    monkeypatch.setattr(convert, "WRITERS", {".copy": "to_copy", ".other": "to_nothing"})


@pytest.mark.usefixtures("writer")
def test_convert_writes_the_file_and_reports_data_that_the_format_cannot_store(linkwork, tmp_path):
    out = tmp_path / "arm.copy"
    ran = linkwork("convert", "double_pendulum", str(out))
    assert ran.code == 0 and out.read_text() == Path(lw.robots.path("double_pendulum")).read_text()
    assert "no loop pin [UNSUPPORTED]" in ran.err and "\t" not in ran.err
    assert ran.out.startswith("double_pendulum: written to") and "; 1 thing not written as stated" in ran.out
    ran = linkwork("convert", "double_pendulum", str(out))
    assert ran.code == 2 and "exists already; pass --force to replace it" in ran.err
    data = json.loads(linkwork("convert", "double_pendulum", str(out), "--force", "--json", "--verify").out)
    assert data["losses"][0]["code"] == "UNSUPPORTED" and data["verified"]["same"] is True


@pytest.mark.usefixtures("writer")
def test_convert_rejects_lossy_conversions_with_strict_and_existing_files(linkwork, tmp_path):
    out = tmp_path / "strict.copy"
    ran = linkwork("convert", "double_pendulum", str(out), "--strict")
    assert ran.code == 1 and "is not written:" in ran.err and "no loop pin" in ran.err and not out.exists()
    for name, said in (
        ("arm.other", "no format to write has the suffix '.other'; formats are .copy"),
        ("nosuch/arm.copy", "the folder does not exist"),
        ("", "no format to write"),
    ):
        ran = linkwork("convert", "double_pendulum", str(tmp_path / name))
        assert ran.code == 2 and said in ran.err
    ran = linkwork("convert", "double_pendulum", str(out), "--to-loops", str(tmp_path / "loops.json"))
    assert ran.code == 2 and "--to-loops: files like" in ran.err
    (tmp_path / "folder.copy").mkdir()
    assert linkwork("convert", "double_pendulum", str(tmp_path / "folder.copy"), "--force").code == 2
    assert linkwork("convert", "nosuch", str(out)).code == 3 and not out.exists()


@pytest.mark.slow(every=5)
def test_convert_writes_every_format_and_each_file_is_read_as_the_same_mechanism(linkwork, tmp_path):
    """Each writer of `Robot` writes a file that is read as the same mechanism; JSON keeps all content."""
    read = {suffix for entry in FORMATS for suffix in entry.suffixes} | {".xml"}
    for suffix, name in convert.WRITERS.items():
        if hasattr(lw.Robot, name) and suffix in read:
            file = str(tmp_path / f"arm{suffix}")
            ran = linkwork("convert", "arm7_gripper", file, "--verify", "--json", "--force")
            data = json.loads(ran.out)
            groups = {entry["group"] for entry in data["verified"]["differences"]}
            assert groups.isdisjoint({"inertias", "poses", "dynamics", "names"}), ran.out
            assert ran.code == 0 and data["verified"]["unannounced"] == [] and (suffix != ".json" or not groups)


def difference(group, subject, quantity="value"):
    return RobotDifference(group, quantity, subject, "1", "2", 1.0, 0.5)


def test_losses_explain_differences_of_their_kind_in_the_elements_that_they_name():
    speeds = Issue(
        "NOT_WRITTEN",
        "MJCF has no velocity limits (at 2 places: 'joint[a]', 'joint[b]')",
        Location(element="robot[r]/joint[a]"),
    )
    message = "shapes are not written (at 2 places: 'link[l]/collision', 'link[m]/visual')"
    shapes = Issue("NOT_WRITTEN", message, Location(element="robot[r]/link[l]/collision"))
    loop = Issue("WRITTEN_AS", "the loop is written otherwise", Location(element="robot[r]/constraint[pin]"))
    gravity = Issue("NOT_WRITTEN", "a model has no gravity", Location(element="robot[r]/gravity"))
    cut = Issue("NOT_WRITTEN", speeds.message[:-1] + ", ... and 9 more)", speeds.where)
    explained = [
        (difference("limits", "a"), speeds),
        (difference("limits", "b"), speeds),
        (difference("collisions", "l/0"), shapes),
        (difference("visuals", "m"), shapes),
        (difference("constraints", "pin: contact"), loop),
        (difference("names", "pin_F"), loop),
        (difference("dynamics", "robot", "gravity [m/s²]"), gravity),
    ]
    unexplained = [
        difference("limits", "c"),
        difference("drives", "a"),
        difference("visuals", "l"),
        difference("collisions", "m"),
        difference("constraints", "pint"),
        difference("inertias", "l"),
    ]
    differences = [*unexplained, *(each for each, _ in explained)]
    assert split_differences(differences, [speeds, shapes, loop, gravity]) == (explained, unexplained)
    assert split_differences([difference("limits", "c"), difference("drives", "c")], [cut])[1] == [
        difference("drives", "c")
    ]
    assert split_differences(differences, []) == ([], differences)


def test_losses_explain_no_differences_of_other_parts_with_a_similar_name():
    message = "shapes are not written (at 2 places: 'link[cell/arm]/collision', 'link[cell/arm]/visual')"
    shapes = Issue("NOT_WRITTEN", message, Location(element="robot[r]/link[cell/arm]/collision"))
    wrist = Issue("NOT_WRITTEN", "MJCF has no velocity limits", Location(element="robot[r]/joint[wrist]"))
    pin = Issue("WRITTEN_AS", "the loop is written otherwise", Location(element="robot[r]/constraint[pin]"))
    stated = [
        difference("collisions", "cell/arm"),
        difference("visuals", "cell/arm/1"),
        difference("limits", "wrist"),
        difference("limits", "wrist_x"),  # a joint of the written file alone
        difference("names", "pin_F"),
    ]
    unstated = [difference("collisions", "cell"), difference("visuals", "cell/1"), difference("limits", "wrist_2")]
    names = {"cell/arm", "cell", "cell/1", "wrist", "wrist_2", "pin", "pin_F"}
    result = split_differences([*stated, *unstated], [shapes, wrist, pin], names)
    assert ([each for each, _ in result[0]], result[1]) == (stated, unstated)


@pytest.mark.parametrize(
    ("element", "message", "group"),
    [
        ("link[a]/collision", "shapes are written without their names and those of materials", "collisions"),
        ("link[a]/visual", "the texture 't' is not written", "visuals"),
        ("link[a]/visual/material", "the material 'red' of visuals is not written", "visuals"),
        ("link[a]/collision", "the friction of a visual shape is not written", "collisions"),
        ("collisions", "URDF has no disabled or enabled pairs of links: 3 pairs", "collisions"),
        ("links", "links without mass are added, which connect the others: 'x'", "dynamics"),
    ],
)
def test_losses_of_content_that_is_not_compared_explain_no_difference(element, message, group):
    """The sizes and poses of shapes are written, and links without mass change no forces: a difference is a fault."""
    loss, differs = Issue("WRITTEN_AS", message, Location(element=f"robot[r]/{element}")), [difference(group, "a")]
    assert split_differences(differs, [loss]) == ([], differs)


def test_verify_fails_for_no_difference_that_was_announced_of_names_with_slashes(linkwork, tmp_path):
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="cell/{name}">{inertial}</link>' for name in ("base", "arm"))
    limit = '<limit lower="-1" upper="2" effort="10" velocity="3"/>'
    ends = '<parent link="cell/base"/><child link="cell/arm"/>'
    source = tmp_path / "cell.urdf"
    source.write_text(f'<robot name="r">{links}<joint name="cell/j" type="revolute">{ends}{limit}</joint></robot>')
    ran = linkwork("convert", str(source), str(tmp_path / "cell.json"), "--verify")
    assert ran.code == 0
    pytest.importorskip("mujoco")
    ran = linkwork("convert", str(source), str(tmp_path / "cell.xml"), "--verify")
    assert ran.code == 0 and "1 difference announced" in ran.out


def test_verification_passes_with_announced_losses_alone(linkwork, tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    file = str(tmp_path / "arm.xml")
    ran = linkwork("convert", "double_pendulum", file, "--verify", "--quiet")
    assert ran.code == 0 and ran.err == ""
    assert "2 differences announced as not written, or as written otherwise:\n- MJCF has no velocity" in ran.out
    monkeypatch.setattr(own_code, "_replaced", {})
    heavy = lw.load("double_pendulum").with_inertia("upper_rod", mass=9.0)
    monkeypatch.setattr(convert, "_read_again", lambda robot, arguments: heavy)
    ran = linkwork("convert", "double_pendulum", file, "--verify", "--quiet", "--force")
    assert ran.code == 1 and "not announced:\n- total mass [kg] of 'robot'" in ran.out
    data = json.loads(linkwork("convert", "double_pendulum", file, "--verify", "--json", "--force").out)
    groups = {entry["group"] for entry in data["verified"]["unannounced"]}
    assert groups == {"inertias", "dynamics"} and data["verified"]["same"] is False


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("suffix", ["xml", "sdf", "urdf"])
@pytest.mark.parametrize("name", ["arm7_gripper", "fourbar", "stewart", "planetary_gear", "bicycle", "double_wishbone"])
def test_all_differences_of_written_robots_are_announced(name, suffix, linkwork, tmp_path):
    ran = linkwork("convert", name, str(tmp_path / f"robot.{suffix}"), "--verify", "--quiet")
    assert ran.code == 0, ran.out[ran.out.find("not announced") :]


@pytest.mark.slow(every=5)
def test_convert_verifies_written_files_with_the_required_load_options(linkwork, tmp_path):
    for number, (name, suffix, options) in enumerate(
        (
            ("arm7", ".json", ("--floating-base",)),
            ("arm7", ".urdf", ("--floating-base",)),
            ("arm7_gripper", ".urdf", ("--mimic", "coupled")),
            ("double_pendulum", ".urdf", ("--continuous", "sincos")),
            ("double_pendulum", ".sdf", ("--inertia", "ignore")),
        )
    ):
        ran = linkwork("convert", name, str(tmp_path / f"{number}{suffix}"), "--verify", *options)
        assert ran.code == 0, ran.out + ran.err
        assert "linkwork: warning" not in ran.err  # what has another form is a note
    world = tmp_path / "room.world"
    assert linkwork("convert", "arm6", str(world)).code == 0 and "<world name=" in world.read_text()


def test_losses_of_inertias_explain_the_dynamics_that_follow_from_them_alone():
    robot = lw.load("double_pendulum")
    lost = Issue("WRITTEN_AS", "the inertia is replaced", Location(element="robot[r]/link[lower_rod]/inertial"))
    changed = robot.with_inertia("lower_rod", mass=2.0 * robot.link("lower_rod").mass)
    differences = robot.compare(changed).differences
    assert {difference.group for difference in differences} == {"inertias", "dynamics"}
    stated, unstated = split_differences(differences, [lost], {"lower_rod"})
    stated, unstated = without_other_dynamics(robot, changed, stated, unstated)
    assert {x.group for x, _ in stated} == {"inertias", "dynamics"} and not [
        x for x in unstated if x.group == "dynamics"
    ]
    both = changed.with_inertia("upper_rod", mass=3.0 * robot.link("upper_rod").mass)
    stated, unstated = split_differences(robot.compare(both).differences, [lost], {"lower_rod", "upper_rod"})
    assert "dynamics" not in {x.group for x in unstated}
    stated, unstated = without_other_dynamics(robot, both, stated, unstated)
    remaining = {(x.quantity, x.subject) for x in changed.compare(both).differences if x.group == "dynamics"}
    assert remaining and {(x.quantity, x.subject) for x in unstated if x.group == "dynamics"} == remaining
    assert remaining.isdisjoint((x.quantity, x.subject) for x, _ in stated)


def test_losses_of_elements_with_brackets_in_their_names_explain_their_differences():
    message = "MJCF has no velocity limits (at 2 places: 'joint[a[1]]', 'joint[b]')"
    speeds = Issue("NOT_WRITTEN", message, Location(element="robot[r]/joint[a[1]]"))
    single = Issue("NOT_WRITTEN", "no shapes", Location(element="robot[r]/link[l[2][x]]/visual"))
    stated = [difference("limits", "a[1]"), difference("limits", "b"), difference("visuals", "l[2][x]")]
    unstated = [difference("limits", "a"), difference("limits", "1"), difference("visuals", "l")]
    result = split_differences([*stated, *unstated], [speeds, single], {"a[1]", "a", "b", "l[2][x]", "l"})
    assert ([each for each, _ in result[0]], result[1]) == (stated, unstated)


def test_convert_writes_an_srdf_beside_a_urdf_and_names_its_option_in_losses(linkwork, tmp_path):
    robot = lw.load("arm6").with_named_configuration("home", {"elbow": 1.2})
    robot.save(tmp_path / "arm.json")
    source, urdf, srdf = (str(tmp_path / name) for name in ("arm.json", "arm.urdf", "arm.srdf"))
    ran = linkwork("convert", source, urdf)
    assert "no named configurations: 'home'" in ran.err and "hint: --to-loops FILE writes a file" in ran.err
    ran = linkwork("convert", source, urdf, "--force", "--to-srdf", srdf, "--verify")
    assert ran.code == 0 and not ran.err and "not written" not in ran.out, ran
    back = lw.load(urdf).with_srdf_document(srdf)
    assert back.configuration("home").tolist() == robot.configuration("home").tolist()
    for words, said in (
        ((source, urdf, "--force", "--to-srdf", str(tmp_path / "x.xml")), "--to-srdf: expected a file .srdf beside"),
        ((source, str(tmp_path / "a.xml"), "--to-srdf", str(tmp_path / "x.srdf")), "--to-srdf: expected a file .srdf"),
        ((source, urdf, "--force", "--to-srdf", srdf + "/x.srdf"), "the folder does not exist"),
        ((source, "-"), "OUTPUT: expected --to with standard output, json, mjcf, sdf, urdf, world, xml, got none"),
        ((source, "-", "--to", "dae"), "xml, got 'dae'"),
        ((source, "-", "--to", "urdf", "--verify"), "--verify: expected a file as OUTPUT, got the standard output"),
        ((source, str(tmp_path / "a.xml"), "--to", "urdf"), "--to is for standard output"),
        ((source, "-o", str(tmp_path / "a.xml")), "the second file is the output, and its suffix the format"),
    ):
        ran = linkwork("convert", *words)
        assert ran.code == 2 and said in ran.err, ran


def test_convert_writes_the_same_text_to_standard_output_and_to_a_file(linkwork, tmp_path):
    file = tmp_path / "arm.xml"
    assert linkwork("convert", "double_pendulum", str(file)).code == 0
    ran = linkwork("convert", "double_pendulum", "-", "--to", "xml")
    assert ran.code == 0 and ran.out == file.read_text(encoding="utf-8")


def test_convert_replaces_mesh_files_by_the_hulls_that_the_format_can_have(linkwork, urdf, tmp_path):
    corners = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.1]], dtype=float)
    facet = "facet normal 0 0 0\nouter loop\n{}endloop\nendfacet\n"
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    text = "".join(facet.format("".join(f"vertex {x} {y} {z}\n" for x, y, z in corners[face])) for face in faces)
    (tmp_path / "part.stl").write_text(f"solid part\n{text}endsolid part\n", encoding="utf-8")
    mesh = '<collision><geometry><mesh filename="part.stl"/></geometry></collision>'
    file = urdf(f'<robot name="r"><link name="base">{mesh}</link></robot>')
    ran = linkwork("convert", file, str(tmp_path / "lost.xml"))
    assert "shapes from mesh files are not written" in ran.err and "hint: --hulls replaces those" in ran.err
    ran = linkwork("convert", file, str(tmp_path / "kept.xml"), "--hulls")
    assert ran.code == 0 and ran.err == ""
    (shape,) = lw.load(tmp_path / "kept.xml").link("base").collisions
    X = np.array(shape.origin.elements()).reshape(4, 4)
    vertices = np.array(shape.shape.vertices) @ X[:3, :3].T + X[:3, 3]
    assert sorted(np.round(vertices, 6).tolist()) == sorted(np.round(corners, 6).tolist())
    folder = tmp_path / "hulls"
    ran = linkwork("convert", file, str(tmp_path / "same.urdf"), "--to-meshes", str(folder))
    assert "the robot has no convex hulls to write; --hulls makes them" in ran.err and not folder.exists()
    ran = linkwork("convert", file, str(tmp_path / "hull.urdf"), "--to-meshes", str(folder), "--hulls")
    assert ran.code == 0 and "no convex hulls" not in ran.err and len([*folder.iterdir()]) == 1
    ran = linkwork("convert", file, str(tmp_path / "a.xml"), "--to-meshes", str(folder))
    assert ran.code == 2 and "--hulls writes convex hulls into the file itself" in ran.err
