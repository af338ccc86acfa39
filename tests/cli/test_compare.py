"""The command `linkwork compare`: tables, JSON, exit codes, and escaped names."""

from __future__ import annotations

import json

import pytest

import linkwork as lw

ARM = """<robot name="arm"><link name="base"/><link name="{name}"><inertial><mass value="{mass}"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="{name}"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="3" velocity="4"/></joint></robot>"""


def test_compare_exits_with_code_0_for_equal_robots_and_1_for_different_robots(linkwork, urdf):
    a = urdf(ARM.format(name="hand", mass=2), "a.urdf")
    b = urdf(ARM.format(name="hand", mass=2.002), "b.urdf")
    ran = linkwork("compare", a, a)
    assert ran.code == 0 and ran.err == "" and ran.out.startswith("arm (1) and arm (2): same")
    ran = linkwork("compare", a, b)
    assert ran.code == 1 and ran.err == ""
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["mass", "[kg]", "hand", "2", "2.002", "0.002", "0.001"] in lines
    assert linkwork("compare", a, b, "--tolerance", "0.01").code == 0
    assert linkwork("compare", a, b, "--ignore", "inertias", "dynamics").code == 0
    assert linkwork("compare", "--ignore", "inertias,dynamics", a, b).code == 0
    data = json.loads(linkwork("compare", a, b, "--json", "--samples", "2").out)
    assert data["same"] is False and data["linkwork"] == lw.__version__
    (comparison,) = data["comparisons"]
    assert comparison["samples"] == 2 and {x["quantity"] for x in comparison["differences"]} == {
        "total mass [kg]",
        "mass [kg]",
    }


def test_compare_accepts_renamed_links_and_loops_files(linkwork, urdf):
    a, b = urdf(ARM.format(name="hand", mass=2), "a.urdf"), urdf(ARM.format(name="tool", mass=2), "b.urdf")
    assert linkwork("compare", a, b).code == 1
    assert linkwork("compare", a, b, "--bodies").code == 0
    assert linkwork("compare", a, b, "--names", "hand=tool").code == 0
    ran = linkwork("compare", a, b, "--names", "hnad=tool")
    assert ran.code == 2 and "--names: no link, joint or other part of robot 'arm' named 'hnad'" in ran.err
    assert "did you mean 'hand'?" in ran.err
    assert linkwork("compare", a, b, "--names", "hand").code == 2
    tree, loops = str(lw.robots.path("fourbar")), str(lw.robots.loops("fourbar"))
    assert linkwork("compare", "fourbar", tree, "--other-loops", loops, "--samples", "1").code == 0
    assert linkwork("compare", "fourbar", tree, "--samples", "1").code == 1


def test_compare_refuses_wrong_usage_and_unreadable_robots(linkwork, urdf):
    a = urdf(ARM.format(name="hand", mass=2), "a.urdf")
    ran = linkwork("compare", a)
    assert ran.code == 2 and "expected a second robot to compare with, or --beside LIBRARY" in ran.err
    assert linkwork("compare", a, "nosuch").code == 3
    assert linkwork("compare", a, urdf("<robot", "bad.urdf")).code == 3
    assert linkwork("compare", a, a, "--ignore", "limit").code == 2
    assert linkwork("compare", a, a, "--tolerance", "-1").code == 2


def test_compare_escapes_control_characters_in_robot_names(linkwork, urdf):
    a = urdf(ARM.format(name="hand&#x9;&#xA;$(rm)", mass=2).replace('"arm"', '"arm&#x9;"'), "a.urdf")
    b = urdf(ARM.format(name="hand", mass=2), "b.urdf")
    out = linkwork("compare", a, b).out
    assert "\t" not in out and r"hand\t\n$(rm)" in out and r"arm\t" in out


@pytest.mark.parametrize("library", ["pinocchio", "mujoco"])
def test_compare_loads_a_robot_with_another_library(linkwork, urdf, library):
    pytest.importorskip(library, reason=f"compares with {library}, which is optional")
    a = urdf(ARM.format(name="hand", mass=2), "a.urdf")
    ran = linkwork("compare", a, "--beside", library)
    assert ran.code == 0 and f"arm and {'MuJoCo' if library == 'mujoco' else 'Pinocchio'}" in ran.out
    data = json.loads(linkwork("check", a, "--beside", library, "--json").out)
    assert data["beside"][0]["same"] is True
    ran = linkwork("compare", "stewart", "--beside", "mujoco")
    assert library != "mujoco" or (ran.code == 3 and "MuJoCo does not read this robot" in ran.err)
