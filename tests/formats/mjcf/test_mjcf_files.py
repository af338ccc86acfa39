"""MJCF files: which files are opened, what errors say, and what the report names."""

import os
import re
import struct
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import linkwork as lw
from linkwork._util.file_access import MODEL
from linkwork.errors import ModelError
from linkwork.formats.description import Findings
from linkwork.formats.mjcf.model_files import _Checker
from linkwork.formats.xml_document import Element
from linkwork.simulation import sensors_of_mujoco

mujoco = pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")

BODY = '<worldbody><body name="rod"><joint name="hinge"/><geom size=".1"/></body></worldbody>'


def written(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_mjcf_files_are_recognised_by_their_content(tmp_path):
    path = written(tmp_path, "robot.xml", f'<mujoco model="rig">{BODY}</mujoco>')
    robot = lw.load(path)
    assert robot.name == "rig" and robot == lw.load(str(path), format="mjcf")
    assert lw.load(written(tmp_path, "two.mjcf", f"<mujoco>{BODY}</mujoco>")).name == "two"
    with pytest.raises(ModelError, match="WRONG_FORMAT"):
        lw.load(written(tmp_path, "robot.urdf", f"<mujoco>{BODY}</mujoco>"))
    with pytest.raises(ModelError, match=r"Robot.from_mujoco\(mujoco.MjModel.from_binary_path"):
        lw.load(written(tmp_path, "robot.mjb", "binary"))
    with pytest.raises(TypeError, match="load: continuous: an MJCF file"):
        lw.load(path, continuous="sincos")


def test_included_mjcf_files_are_read(tmp_path):
    written(tmp_path, "parts/bodies.xml", '<mujoco><include file="more.xml"/><worldbody/></mujoco>')
    written(tmp_path, "parts/more.xml", f"<mujoco>{BODY}</mujoco>")
    path = written(tmp_path, "main.xml", '<mujoco><include file="parts/bodies.xml"/></mujoco>')
    robot = lw.load(path)
    assert robot.frames == ("world", "rod") and robot.gravity.tolist() == [0.0, 0.0, -9.81]


def test_mjcf_files_outside_the_models_folder_are_not_opened(tmp_path):
    outside = written(tmp_path, "outside/bodies.xml", f"<mujoco>{BODY}</mujoco>")
    written(tmp_path, "outside/wood.png", "no picture")
    folder = tmp_path / "model"
    folder.mkdir()
    os.symlink(outside, folder / "link.xml")
    texts = (
        '<include file="../outside/bodies.xml"/>',
        '<include file="..\\outside\\bodies.xml"/>',
        '<compiler assetdir="..\\outside"/><asset><hfield name="t" file="wood.png"/></asset>',
        '<include file="link.xml"/>',
        f'<include file="{outside}"/>',
        '<asset><model name="m" file="../outside/bodies.xml"/></asset>',
        '<asset><texture name="t" type="2d" file="../outside/wood.png"/></asset>',
        '<compiler texturedir="../outside"/><asset><texture name="t" type="2d" file="wood.png"/></asset>',
        '<compiler assetdir="../outside"/><asset><hfield name="t" file="wood.png"/></asset>',
    )
    for text in texts:
        with pytest.raises(ModelError, match="PATH_ESCAPE") as caught:
            lw.load(written(folder, "main.xml", f"<mujoco>{text}</mujoco>"))
        assert {issue.code for issue in caught.value.issues} == {"PATH_ESCAPE"}, text
        assert caught.value.line == 1 and "package_dirs=" in str(caught.value.hint)
    with pytest.raises(ValueError, match=r"load: package_dirs: .*nosuch' is not a folder"):
        lw.load(folder / "main.xml", package_dirs=str(outside.parent / "nosuch"))
    with pytest.raises(ModelError, match="PATH_ESCAPE"):  # the folder's path is one string, not a list of letters
        lw.load(written(folder, "main.xml", f"<mujoco>{texts[0]}</mujoco>"), package_dirs=str(folder))
    for roots in (str(outside.parent), [outside.parent], {"any": str(outside.parent)}):
        assert lw.load(written(folder, "main.xml", f"<mujoco>{texts[0]}</mujoco>"), package_dirs=roots).frames == (
            "world",
            "rod",
        )


def test_mjcf_files_that_would_exhaust_mujocos_compiler_are_refused(tmp_path):
    text = """<mujoco><asset><model name="m" file="{}"/></asset>
      <worldbody><attach model="m" body="b" prefix="p"/></worldbody></mujoco>"""
    written(tmp_path, "b.xml", text.format("a.xml"))
    with pytest.raises(ModelError, match=r"nested in a cycle: '(a|b)\.xml', '(a|b)\.xml' \[CYCLE\]"):
        lw.load(written(tmp_path, "a.xml", text.format("b.xml")))
    for k in range(70):
        written(tmp_path, f"{k}.xml", f'<mujoco><include file="{k + 1}.xml"/></mujoco>')
    with pytest.raises(ModelError, match="nested more than 64 deep"):
        lw.load(tmp_path / "0.xml")
    start = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 1 << 16, 1 << 16)
    (tmp_path / "vast.png").write_bytes(start)
    texture = '<mujoco><asset><texture name="t" type="2d" file="vast.png"/></asset></mujoco>'
    with pytest.raises(ModelError, match="more than 67108864 pixels"):
        lw.load(written(tmp_path, "vast.xml", texture))


def test_mjcf_errors_name_the_file_line_and_element(tmp_path):
    cases = {
        "\n\n<worldbod/>": (3, "Schema violation"),
        '\n<worldbody><body name="b"><joint/></body></worldbody>': (2, "mass and inertia of moving bodies"),
        '\n<worldbody><body><geom type="mesh" mesh="m"/></body></worldbody>': (2, "mesh 'm' not found"),
        '<worldbody><body><joint range="2 1"/><geom size=".1"/></body></worldbody>': (1, "LIMIT_ORDER"),
        '<worldbody><body><joint range="nan 1"/><geom size=".1"/></body></worldbody>': (1, "LIMIT_FINITE"),
        '<asset><mesh name="m" file="http://a/b.stl"/></asset>': (1, "files are not downloaded [URI_SCHEME]"),
        '<asset>\n<mesh name="m" file="gone.stl"/></asset>': (2, "the file 'gone.stl' is not found"),
        '\n<include file="parts/gone.xml"/>': (2, "the file 'parts/gone.xml' is not found"),
        "<worldbody>\n<body>": (2, "mismatched tag"),
        '<!DOCTYPE x [<!ENTITY a "b">]>': (1, "not well-formed"),
        '<worldbody><replicate count="1000"><replicate count="1000"/></replicate></worldbody>': (1, "1000000 copies"),
        '<asset><hfield name="h" nrow="100000" ncol="2000" size="1 1 1 1"/></asset>': (
            1,
            "30000000 numbers of height fields",
        ),
        '\n<worldbody><body><joint axis="1 Inf 0"/></body></worldbody>': (
            2,
            "axis: expected finite numbers, got '1 Inf 0'",
        ),
        '<worldbody><body><geom size="1e400"/></body></worldbody>': (1, "size: expected finite numbers, got '1e400'"),
        f"{'<worldbody>' * 600}": (1, "nested more than 500 deep"),
        '<worldbody><body name="b"><joint/><geom name="g" size="1e30"/></body></worldbody>': (1, "at most 1e"),
    }
    for text, (line, message) in cases.items():
        path = written(tmp_path, "main.xml", f"<mujoco>{text}</mujoco>")
        with pytest.raises(ModelError, match=re.escape(message)) as caught:
            lw.load(path)
        line = line if "COMPILER" not in str(caught.value) or "line" in caught.value.message else None
        assert caught.value.file == str(path) and caught.value.line == line, (text, str(caught.value))
    for data, code in (
        (b"", "XML_EMPTY"),
        (b"<mujoco/>\0", "XML_SYNTAX"),
        (b"\x1f\x8b\x08\x00", "XML_SYNTAX"),
        (b"<mujoco>\xff</mujoco>", "XML_ENCODING"),
        ("<mujoco/>".encode("utf-16"), "XML_ENCODING"),
        (b"<mujocoo/>", "WRONG_FORMAT"),
    ):
        path.write_bytes(data)
        with pytest.raises(ModelError, match=code) as caught:
            lw.load(path, format="mjcf")
        assert caught.value.code == code
    with pytest.raises(FileNotFoundError, match=r"gone.xml"):
        lw.load(tmp_path / "gone.xml")


def test_mjcf_values_that_no_robot_can_have_are_errors():
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{BODY}</mujoco>")
    for field, value, code in (
        ("body_mass", float("nan"), "NOT_FINITE"),
        ("body_pos", 1e300, "MAGNITUDE"),
        ("qpos0", float("nan"), "NOT_FINITE"),
        ("body_mass", -1.0, "MASS_NEGATIVE"),
    ):
        changed = mujoco.MjModel.from_xml_string(f"<mujoco>{BODY}</mujoco>")
        getattr(changed, field)[-1] = value
        with pytest.raises(ModelError, match=code):
            lw.Robot.from_mujoco(changed)
    model.opt.gravity[2] = float("inf")
    with pytest.raises(ModelError, match="gravity: expected three finite numbers"):
        lw.Robot.from_mujoco(model)


def test_report_of_an_mjcf_file_names_ignored_content(tmp_path):
    text = """<mujoco><option density="1000" wind="1 0 0"/><custom><numeric name="kept" data="1"/></custom>
      <worldbody><light name="lamp"/><camera name="eye"/>
      <body name="rod" gravcomp="1">
        <joint name="hinge"/><geom size=".1"/></body></worldbody>
      <deformable><skin name="fur" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2">
        <bone body="rod" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/></skin></deformable>
    </mujoco>"""
    path = written(tmp_path, "rod.xml", text)
    with pytest.warns(lw.errors.ModelWarning):
        robot = lw.load(path)
    named = {(issue.code, issue.message) for issue in robot.report.warnings}
    assert ("IGNORED", "lights are not taken: 'lamp'") in named and ("IGNORED", "cameras are not taken: 'eye'") in named
    assert ("IGNORED", "custom numbers are not taken: 'kept'") in named
    assert ("NOT_DRAWN", "skins are not taken and not drawn: 'fur'") in named
    repairs = [issue.message for issue in robot.report.repairs]
    assert len(repairs) == 2 and "gravcomp" in repairs[0] and "density 1000 kg/m³" in repairs[1]
    with pytest.raises(ModelError, match="UNSUPPORTED") as caught:
        lw.load(path, strict=True)
    assert [issue.code for issue in caught.value.issues] == ["UNSUPPORTED"] * 2


def test_suspicious_mjcf_ranges_and_keyframes_are_reported(tmp_path):
    for joint, code in (('range="-inf inf"', "LIMIT_FINITE"), ('range="-10 10"', "Q_OUT_OF_LIMITS")):
        text = BODY.replace('name="hinge"', f'name="hinge" {joint}')
        text = f'<mujoco>{text}<keyframe><key name="far" qpos="3"/></keyframe></mujoco>'
        with pytest.warns(lw.errors.ModelWarning, match=code):
            robot = lw.load(written(tmp_path, "rod.xml", text))
        assert [issue.code for issue in robot.report.repairs] == [code]
        with pytest.raises(ModelError, match=code):
            lw.load(tmp_path / "rod.xml", strict=True)


def test_findings_of_an_mjcf_file_state_the_line_of_the_named_element(tmp_path):
    joint = '<joint name="hinge" type="ball" limited="true" range="0 30"/>'
    path = written(
        tmp_path, "rod.xml", "<mujoco>\n" + BODY.replace('<joint name="hinge"/>', f"\n  {joint}") + "</mujoco>"
    )
    with pytest.warns(lw.errors.ModelWarning):
        (issue,) = lw.load(path).report.repairs
    assert (issue.where.file, issue.where.line, issue.where.column) == (str(path), 3, 3)
    assert issue.where.element == "mujoco/body[rod]/joint[hinge]"


@pytest.mark.slow(every=5)
def test_reading_mjcf_writes_no_files_and_importing_linkwork_does_not_import_mujoco(tmp_path):
    """Warnings of MuJoCo are in the report, the folder stays as it is, and linkwork itself imports no mujoco."""
    path = written(tmp_path, "model.xml", f'<mujoco><compiler settotalmass="3"/>{BODY}</mujoco>')
    code = f"""
import sys, warnings
import linkwork as lw
assert "mujoco" not in sys.modules
lw.load("arm7")
assert "mujoco" not in sys.modules
robot = lw.load({str(path)!r})
print(len(robot.report.warnings))
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stderr == "" and os.listdir(tmp_path) == ["model.xml"]


def test_reading_mjcf_without_mujoco_installed_names_the_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    for call in (lw.Robot.from_mujoco, sensors_of_mujoco, partial(lw.formats.MujocoCoordinates, lw.load("arm6"))):
        with pytest.raises(ImportError, match=r'need the package mujoco.*pip install "linkwork\[mujoco\]"'):
            call(None)


def test_mjcf_files_in_the_package_of_the_model_are_opened(tmp_path):
    """Files beside the model's folder belong to it if a folder above has a mark of a package."""
    written(tmp_path, "secret.xml", f"<mujoco>{BODY}</mujoco>")
    written(tmp_path, "robots/objects/parts/arm.xml", f"<mujoco>{BODY}</mujoco>")
    shared = '<mujoco><include file="parts/arm.xml"/><include file="../scene/floor.xml"/></mujoco>'
    path = written(tmp_path, "robots/objects/arm.xml", shared)  # the name of a file that it includes: no cycle
    floor = '<mujoco><worldbody><geom type="plane" size="1 1 1"/></worldbody></mujoco>'
    written(tmp_path, "robots/scene/floor.xml", floor)
    with pytest.raises(ModelError, match=r"floor.xml' is outside .* \[PATH_ESCAPE\]"):
        lw.load(path)
    for mark in ("package.xml", "pyproject.toml", "setup.py", "__init__.py", ".git"):
        (tmp_path / "robots" / mark).touch()
        assert lw.load(path).frames == ("world", "rod"), mark
        outside = written(tmp_path, "robots/objects/out.xml", '<mujoco><include file="../../secret.xml"/></mujoco>')
        with pytest.raises(ModelError, match="PATH_ESCAPE"):
            lw.load(outside)
        (tmp_path / "robots" / mark).unlink()


def test_mjcf_file_names_that_mujoco_would_interpret_differently_are_not_opened(tmp_path):
    """XML takes line breaks as blanks and knows encodings, MuJoCo does not; and it opens the meshes of URDF."""
    secret = written(tmp_path, "secret.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    mesh = '<?xml version="1.0" encoding="{}"?><mujoco><asset><mesh name="m" {}/></asset><worldbody><body name="rod">'
    mesh += '<joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    arm = written(tmp_path, "model/arm.urdf", ARM_WITH_MESH.format(secret))
    attached = '<mujoco><asset><model name="m" file="arm.urdf"/></asset><worldbody><frame>'
    attached += '<attach model="m" body="l" prefix="a"/></frame></worldbody></mujoco>'
    for text, name, code in (
        (mesh.format("utf-8", 'file="a\nb.obj"').encode(), b"a\nb.obj", "BAD_NAME"),
        (mesh.format("utf-8", "file = 'a\tb.obj'").encode(), b"a\tb.obj", "BAD_NAME"),
        (mesh.format("latin-1", 'file="\xe9.obj"').encode("latin-1"), b"\xe9.obj", "BAD_NAME"),
        (mesh.format("latin-1", 'file="\xe9.obj"').encode(), "\xe9.obj".encode(), "PATH_ESCAPE"),
        (attached.encode(), None, "PATH_ESCAPE"),
    ):
        path = os.path.join(os.path.dirname(arm), "model.xml")
        with open(path, "wb") as file:
            file.write(text)
        if name is not None:
            os.symlink(secret, os.path.join(os.path.dirname(arm).encode(), name))
        with pytest.raises(ModelError, match=rf"\[{code}\]"):
            lw.load(path)


ARM_WITH_MESH = """<robot name="r"><mujoco><compiler strippath="false"/></mujoco><link name="l">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>"""


def test_mjcf_text_that_is_not_valid_xml_is_read_as_mujoco_reads_it(tmp_path):
    text = '<mujoco model="a"><!-- - a -- b -----><include\nfile="b.xml"/><!--->-->'
    text += '<option gravity="0 0 -1"timestep=".1"/><worldbody><site name="a & b<c&amp;"/></worldbody></mujoco>'
    written(tmp_path, "b.xml", f"<mujoco>{BODY}</mujoco>".replace('name="rod"', 'name="rod"pos="1 0 0"'))
    path = written(tmp_path, "a.xml", text)
    with pytest.warns(lw.errors.ModelWarning, match="MuJoCo takes it"):
        robot = lw.load(path)
    assert robot.frames == ("world", "rod", "a & b<c&") and robot.gravity[2] == -1.0
    assert [repair.code for repair in robot.report.repairs] == ["XML_SYNTAX"] * 2
    with pytest.raises(ModelError, match="but MuJoCo takes it"):
        lw.load(path, strict=True)
    path = written(tmp_path, "a.xml", '<mujoco><!-- -- --><include file="../c.xml"/></mujoco>')
    written(tmp_path.parent, "c.xml", "<mujoco/>")
    with pytest.raises(ModelError, match="PATH_ESCAPE"):  # files are checked in such a document, too
        lw.load(path)


def test_negative_mjcf_springs_dampers_and_armatures_are_reported():
    bodies = "".join(
        f'<body><joint name="{x}" type="ball" {x}="-1"/><geom size=".1" friction="-1"/><site name="{x}"/></body>'
        for x in ("stiffness", "damping", "armature", "frictionloss")
    )
    rope = '<spatial name="rope" stiffness="-1"><site site="damping"/><site site="armature"/></spatial>'
    text = f"<mujoco><worldbody>{bodies}</worldbody><tendon>{rope}</tendon></mujoco>"
    with pytest.warns(lw.errors.ModelWarning):
        robot = lw.Robot.from_mujoco(mujoco.MjModel.from_xml_string(text))
    result = " ".join(repair.message for repair in robot.report.repairs)
    for finding_text in (
        "spring of negative stiffness",
        "negative damping",
        "negative armature",
        "negative friction",
        "rope",
    ):
        assert result.count(finding_text) == 1, finding_text
    assert {repair.code for repair in robot.report.repairs} == {"UNSUPPORTED"} and not robot.force_elements
    assert {shape.friction for frame in robot.tree.frames for shape in frame.collisions} == {0.0}


def test_mjcf_solver_parameters_and_flags_are_reported():
    text = """<mujoco><option><flag energy="enable" invdiscrete="enable" eulerdamp="disable" spring="disable"/></option>
      <worldbody><body name="a"><joint name="{}" {}/><geom name="{}" size=".1" {}/></body></worldbody></mujoco>"""
    of_joint = 'solreflimit=".1 2" solimplimit=".8 .9 .01" margin=".1"'
    of_geom = 'solref=".1 2" solimp=".8 .9 .01" margin=".1" gap=".01" condim="1" priority="2"'
    model = mujoco.MjModel.from_xml_string(text.format("one", of_joint, "two", of_geom))
    results = [issue.message for issue in lw.Robot.from_mujoco(model).report.warnings]
    for owner, kind, attributes in (("one", "joints", of_joint), ("two", "geoms", of_geom)):
        for attribute in (word.partition("=")[0] for word in attributes.split() if "=" in word):
            assert f"values of {attribute} of {kind} are not taken: {owner!r}" in results
    assert "flags that are enabled are not taken: 'energy', 'invdiscrete'" in results
    assert "flags that are disabled are not taken: 'eulerdamp'" in results
    plain = lw.Robot.from_mujoco(mujoco.MjModel.from_xml_string(f"<mujoco>{BODY}</mujoco>")).report.warnings
    assert len(plain) == 1 and "time step" in plain[0].message


def test_every_size_in_an_mjcf_file_counts_in_the_memory_budget() -> None:
    """A later version of MuJoCo may have further integers: each is a size that is counted, or states no size."""
    from linkwork.formats.mjcf.model_size import SIZES

    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    of_spec = (
        "mesh",
        "hfield",
        "texture",
        "material",
        "actuator",
        "sensor",
        "numeric",
        "tendon",
        "pair",
        "flex",
        "skin",
    )
    things = {name: getattr(spec, f"add_{name}")() for name in of_spec}
    things |= {name: getattr(body, f"add_{name}")() for name in ("joint", "geom", "site", "camera", "light", "frame")}
    integers = set()
    for element in (*things.values(), body):
        for name in dir(element):
            value = None if name.startswith("_") else getattr(element, name, None)
            if type(value) is int or (isinstance(value, np.ndarray) and value.dtype.kind in "iu"):
                integers.add(name)
    counted = {
        "width",
        "height",
        "nrow",
        "ncol",
        "size",
        "cellcount",
        "intprm",
        "resolution",
        *SIZES,
    }  # intprm: num of contacts
    harmless = {  # of bounded effect: masks, identifiers, choices and exponents
        *("conaffinity", "contype", "condim", "priority", "group", "id", "signature", "simple", "fuse", "output"),
        *("activelayers", "elastic2d", "elastic3d", "passive", "order", "interp", "ctrlspec", "gridsize", "nchannel"),
        *("maxhullvert", "octree_maxdepth"),
    }
    assert integers - counted - harmless == set()


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_every_mjcf_option_is_read_or_reported() -> None:
    actuated = '<body><joint name="j"/><geom size="1"/></body></worldbody><actuator><motor joint="j"/></actuator>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{actuated}</mujoco>")

    def outcome() -> tuple[object, ...]:
        robot = lw.Robot.from_mujoco(model)
        return robot.gravity.tolist(), [actuator.name for actuator in robot.tree.actuators], str(robot.report)

    first, silent = outcome(), []
    for name in dir(model.opt):
        if name.startswith("_"):
            continue
        value = np.copy(getattr(model.opt, name))
        setattr(model.opt, name, value + 1 if value.ndim else value.item() + 1)
        silent += [name] if outcome() == first else []
        setattr(model.opt, name, value if value.ndim else value.item())
    assert silent == []


def test_infinite_and_undefined_values_of_mjcf_files_are_reported_and_large_finite_values_are_not():
    for text, finite in (("1e+100 1E200 -1", True), ("1 1e309", False), ("1 NaN", False), ("-inf", False), ("1", True)):
        findings = Findings()
        checker = _Checker("robot.xml", [], findings, MODEL)
        checker.check_finite(Element("geom", {"pos": text, "rgba": "nan"}, None, 1, 1), "robot.xml")
        assert [issue.code for issue in findings.errors] == ([] if finite else ["NOT_FINITE"]), text
