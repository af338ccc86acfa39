"""The command `linkwork check`, and constraints in `linkwork info`."""

from __future__ import annotations

import json

import pytest

import linkwork as lw

RODS = """<robot name="rods"><link name="base"/>{}</robot>"""
ROD = """<link name="{0}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{0}_hinge" type="revolute"><parent link="base"/><child link="{0}"/><origin xyz="{1} 0 0"/>
<axis xyz="0 1 0"/><limit lower="{2}" upper="3" effort="1" velocity="1"/></joint>"""
PIN = {
    "version": 1,
    "frames": [
        {"name": "left_tip", "on": "left", "placement": {"xyz": [1, 0, 0]}},
        {"name": "right_tip", "on": "right", "placement": {"xyz": [1, 0, 0]}},
    ],
    "loops": [{"name": "pin", "type": "revolute", "axis": [0, 1, 0], "frame": "left_tip", "other": "right_tip"}],
}


def test_check_explains_the_mobility_of_a_four_bar(linkwork):
    ran = linkwork("check", "fourbar")
    assert ran.code == 0 and ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0] == "fourbar: 1 degree of freedom of velocity"
    assert "  redundant (dependent everywhere): pin: rotation x, pin: rotation z, pin: translation y" in lines
    assert ["pin", "revolute", "coupler_tip,", "rocker_tip", "5"] in [line.split() for line in lines]
    assert "within all joints' limits as assembled" in lines
    data = json.loads(linkwork("check", "fourbar", "--json").out)
    assert (data["dof"], data["rank"], data["counted"], data["assembled"]) == (1, 2, -2, True)
    assert data["redundant"] == ["pin: rotation x", "pin: rotation z", "pin: translation y"]
    assert data["linkwork"] == lw.__version__ and data["beyond_limits"] == []


def test_info_lists_the_constraints_of_a_robot_with_loops(linkwork):
    out = linkwork("info", "fourbar").out
    assert "fourbar: 1 degree of freedom of velocity" in out and "constraint  kind" in out
    data = json.loads(linkwork("info", "fourbar", "--json").out)
    assert [c["name"] for c in data["constraints"]] == ["pin"] and len(data["constraints"][0]["rows"]) == 5
    assert data["mobility"]["dof"] == 1
    plain = json.loads(linkwork("info", "double_pendulum", "--json").out)
    assert plain["constraints"] == [] and plain["mobility"] is None
    assert "degrees of freedom of velocity" not in linkwork("info", "double_pendulum").out


@pytest.mark.slow(every=5)
def test_check_fails_for_a_mechanism_that_cannot_be_assembled(linkwork, urdf, tmp_path):
    loops = tmp_path / "loops.json"
    loops.write_text(json.dumps(PIN), encoding="utf-8")
    for gap, lower, code, said in (
        (1.2, -4, 0, "within all joints' limits as assembled"),
        (1.2, 0.5, 0, "within all joints' limits as assembled"),
        (1.2, 2.9, 0, "beyond its limits: left_hinge at"),
        (2.5, -4, 1, "rods: inconsistent"),
    ):
        file = urdf(RODS.format(ROD.format("left", 0, lower) + ROD.format("right", gap, -4)))
        ran = linkwork("check", file, "--loops", str(loops))
        assert ran.code == code and said in ran.out, ran.out + ran.err
    data = json.loads(linkwork("check", file, "--loops", str(loops), "--json").out)
    assert data["assembled"] is False and {*data["inconsistent"]} == {"pin: translation x"}


def test_check_accepts_a_robot_without_loops_and_refuses_wrong_arguments(linkwork):
    ran = linkwork("check", "double_pendulum")
    assert ran.code == 0 and "unconstrained: shoulder, elbow" in ran.out
    assert linkwork("check", "nosuch").code == 3
    assert linkwork("check").code == 2


SUSPICIOUS = """<robot name="odd"><link name="base"/><link name="arm"><inertial><mass value="2"/>
<inertia ixx="{inertia}" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"/></inertial>
<collision><geometry><mesh filename="arm.stl"/></geometry></collision></link>{more}
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.3"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
MASSLESS = """<link name="tip"/><joint name="tip\t" type="revolute"><parent link="arm"/><child link="tip"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""


def test_check_lists_implausible_masses_and_inertias(linkwork, urdf):
    sound, placeholder = (
        urdf(SUSPICIOUS.format(inertia=0.003, more=""), "a.urdf"),
        urdf(SUSPICIOUS.format(inertia=1, more=""), "b.urdf"),
    )
    assert "odd: 1 note\n" in linkwork("check", sound).out  # the mesh is missing
    ran = linkwork("check", placeholder)
    assert ran.code == 0 and "odd: 1 warning, 1 note" in ran.out and "PLACEHOLDER" in ran.out
    assert linkwork("check", placeholder, "--strict").code == 1 and linkwork("check", sound, "--strict").code == 0
    massless = urdf(SUSPICIOUS.format(inertia=0.003, more=MASSLESS).replace("tip\t", "tip&#x9;"), "c.urdf")
    ran = linkwork("check", massless)
    assert ran.code == 1 and r"tip\t" in ran.out and "\t" not in ran.out
    data = json.loads(linkwork("check", massless, "--json").out)
    assert (data["model"]["errors"], data["model"]["findings"][0]["code"]) == (1, "MASSLESS_MOVING")
    assert (
        [repair["code"] for repair in data["repairs"]] == ["MESH_MISSING"]
        and data["beside"] == []
        and data["assembled"] is True
    )
    codes = [finding["code"] for finding in data["model"]["findings"]]
    assert "MESH_MISSING" in codes and all(code in ran.out for code in codes)


def test_check_reads_mesh_files_relative_to_the_robots_file(linkwork, urdf, tmp_path):
    corners = ((0, 0, 0), (0.01, 0, 0), (0, 0.01, 0), (0, 0, 0.01))
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    facet = "facet normal 0 0 0\nouter loop\n{}endloop\nendfacet\n"
    vertices = ["".join("vertex {} {} {}\n".format(*corners[k]) for k in face) for face in faces]
    mesh = "solid arm\n" + "".join(map(facet.format, vertices)) + "endsolid arm\n"
    (tmp_path / "arm.stl").write_text(mesh, encoding="utf-8")
    file = urdf(SUSPICIOUS.format(inertia=0.02, more=""))
    assert "no findings" in linkwork("check", file).out
    ran = linkwork("check", file, "--meshes", str(tmp_path))
    assert ran.code == 0 and "DENSITY" in ran.out
    assert linkwork("check", file, "--meshes", str(tmp_path / "nosuch")).code == 3


def test_check_fails_for_named_codes_and_leaves_out_ignored_ones(linkwork, urdf):
    mesh = '<visual><geometry><mesh filename="package://nowhere/up.stl"/></geometry></visual>'
    joint = '<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>'
    mass = '<inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.015"/></inertial>'
    file = urdf(f'<robot name="ci"><link name="base">{mesh}</link><link name="a">{mass}</link>{joint}</robot>')

    def codes(*options):
        data = json.loads(linkwork("check", file, "--json", *options).out)
        return {x["code"] for x in data["model"]["findings"]}, {x["code"] for x in data["repairs"]}

    assert {"MESH_MISSING", "LIMIT_MISSING"} <= codes()[0] & codes()[1]
    assert not {"MESH_MISSING", "LIMIT_MISSING"} & set.union(*codes("--ignore", "MESH_MISSING,LIMIT_MISSING"))
    for code, options in (
        (0, ()),
        (1, ("--fail-on", "MESH_MISSING")),
        (1, ("--fail-on", "DENSITY", "MESH_MISSING")),
        (0, ("--fail-on", "DENSITY")),
        (0, ("--fail-on", "MESH_MISSING", "--ignore", "MESH_MISSING")),
        (1, ("--fail-on-warning",)),
        (0, ("--fail-on-warning", "--ignore", "LIMIT_MISSING")),
    ):
        assert linkwork("check", *options, file).code == code, options
    ran = linkwork("check", file, "--fail-on", "mesh_missing")
    assert ran.code != 0 and "mesh_missing" in ran.err, ran
    ran = linkwork("check", file, "--fail-on=Mesh")
    assert ran.code == 2 and "--fail-on: expected codes such as MESH_MISSING, got 'Mesh'" in ran.err


def test_check_fails_for_warnings_by_an_option_and_prints_none_when_quiet(linkwork, urdf):
    odd = """<robot name="odd"><link name="base"/><link name="a"><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="3"/></inertial></link><foo/>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint></robot>"""
    file = urdf(odd)
    assert linkwork("check", file).code == 0 and linkwork("check", file, "--fail-on-warning").code == 1
    assert linkwork("check", file, "--strict").code == 3 and linkwork("check", "arm7", "--fail-on-warning").code == 0
    only_read = urdf('<robot name="bare"><link name="a"/><foo/></robot>', "bare.urdf")
    assert linkwork("check", only_read, "--fail-on-warning").code == 1
    listed = linkwork("check", file)
    assert "UNKNOWN_TAG" in listed.out and listed.out.count("INERTIA_TRIANGLE  ") == 1
    assert listed.err == "" and "odd: 2 warnings\n" in listed.out
    assert listed.out.count("\nwarning ") == 2 and listed.out.count("(line 2)") == 1
    loud, quiet = linkwork("info", file), linkwork("info", file, "--quiet")
    assert "INERTIA_TRIANGLE" in loud.err and quiet.err == "" and quiet.out == loud.out


def test_hints_about_files_name_options_of_the_command_line(linkwork, urdf):
    indefinite = """<robot name="odd"><link name="a"><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="-1"/></inertial></link></robot>"""
    ran = linkwork("info", urdf(indefinite))
    assert ran.code == 3 and "--inertia nearest" in ran.err and "inertia=" not in ran.err
    fingers = """<robot name="g"><link name="a"/><link name="b"/><link name="c"/>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
      <joint name="k" type="continuous"><parent link="a"/><child link="c"/><mimic joint="j"/></joint></robot>"""
    assert "--mimic coupled" in linkwork("info", urdf(fingers)).err
    assert "--xacro expands it" in linkwork("info", urdf("<robot/>", "arm.urdf.xacro")).err


def test_several_files_are_checked_and_the_largest_exit_code_is_returned(linkwork, tmp_path):
    missing = str(tmp_path / "missing.urdf")
    ran = linkwork("check", "double_pendulum", "arm6")
    assert ran.code == 0
    assert ran.out == "".join(
        f"{line}{name}:\n{linkwork('check', name).out}" for line, name in (("", "double_pendulum"), ("\n", "arm6"))
    )
    ran = linkwork("check", "--beside", "mujoco", "double_pendulum", missing, "arm6")
    assert ran.code == 3 and ran.err == f"linkwork: error: cannot read {missing}: No such file or directory\n"
    assert "arm6: no findings" in ran.out
    data = json.loads(linkwork("check", missing, "arm6", "--json").out)
    assert [*data] == ["linkwork", "files"] and data["files"][0]["exit_code"] == 3
    alone = json.loads(linkwork("check", "arm6", "--json").out)
    assert {"linkwork": data["linkwork"], **data["files"][1]} == alone
