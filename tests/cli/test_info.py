"""The commands `linkwork info` and `linkwork robots`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import linkwork as lw

JOINT_KEYS = {
    *("name", "type", "axis", "parameters", "parent", "child", "q", "v", "lower", "upper", "velocity", "effort"),
    *("damping", "friction", "static_friction", "armature", "gear_ratio", "stiffness", "rest", "mimic", "coupling"),
}


def test_info_prints_the_tree_of_links_and_joints(linkwork):
    ran = linkwork("info", "double_pendulum")
    assert ran.code == 0
    lines = ran.out.splitlines()
    start = lines.index("world")
    assert [line.split() for line in lines[start + 1 : start + 5]] == [
        ["├─", "base", "-", "root"],
        ["└─", "upper_rod", "shoulder", "revolute", "y"],
        ["└─", "lower_rod", "elbow", "revolute", "y"],
        ["└─", "tip", "tip_mount", "welded"],
    ]
    assert lines[start + 3].startswith("   └─ ") and lines[start + 4].startswith("      └─ ")


def test_commands_load_the_robot_with_its_base_at_the_pose_of_the_option_base(linkwork):
    ran = linkwork("info", "arm6", "--base", "0.4", "-0.5", "0.8", "0", "0", "-1.5", "--tree")
    assert ran.code == 0 and ran.out.splitlines()[1].split() == ["├─", "base", "base_mount", "welded"]
    assert ran.out.splitlines() == str(lw.load("arm6", base=lw.pose((0.4, -0.5, 0.8), rpy=(0, 0, -1.5)))).splitlines()
    refused = linkwork("info", "quadruped", "--floating-base", "--base", *"000000")
    assert refused.code == 2 and "--base: robot 'quadruped' has no fixed base" in refused.err
    assert linkwork("info", "arm6", "--base", "0", "0", "1").code == 0
    refused = linkwork("info", "arm6", "--base", "0", "0", "1", "2")
    assert refused.code == 2 and "--base: expected X Y Z ROLL PITCH YAW, or X Y Z, got 4 numbers" in refused.err


def test_info_with_option_tree_prints_only_the_tree_of_links(linkwork):
    ran = linkwork("info", "fourbar", "--tree")
    lines = ran.out.splitlines()
    assert ran.code == 0 and lines == str(lw.load("fourbar")).splitlines()
    assert lines[0] == "world" and lines[-1].split() == ["pin", "revolute", "coupler_tip,", "rocker_tip"]
    refused = linkwork("info", "fourbar", "--tree", "--json")
    assert refused.code == 2 and "--json: not allowed with argument --tree" in refused.err


def test_info_table_has_columns_only_for_properties_that_some_joint_has(linkwork, tmp_path):
    text = lw.robots.path("double_pendulum").read_text(encoding="utf-8")
    file = tmp_path / "sprung.urdf"
    file.write_text(text.replace("</robot>", SPRUNG + "</robot>"), encoding="utf-8")
    plain, sprung = linkwork("info", "double_pendulum").out, linkwork("info", str(file)).out
    assert "stiffness" not in plain
    (header,) = (line.split() for line in sprung.splitlines() if line.split()[:2] == ["joint", "type"])
    (elbow,) = (line.split() for line in sprung.splitlines() if line.split()[:2] == ["elbow", "revolute"])
    assert "stiffness" in header and "armature" not in header and "7.5" in elbow
    data = json.loads(linkwork("info", str(file), "--json").out)
    assert [joint["stiffness"] for joint in data["joints"]] == [[0.0], [7.5]]


SPRUNG = """<gazebo reference="elbow"><springStiffness>7.5</springStiffness></gazebo>"""


def test_info_draws_the_branches_of_a_tree_of_links(linkwork):
    ran = linkwork("info", "quadruped", "--floating-base")
    tree = [line for line in ran.out.splitlines() if "─ " in line]
    assert tree[0].split() == ["└─", "trunk", "floating_base", "floating"]
    assert sum(line.startswith("   ├─ ") for line in tree) == 3
    assert sum(line.startswith("   │  ") for line in tree) == 9
    assert sum(line.startswith("   └─ ") for line in tree) == 1


def test_info_lists_joints_links_and_masses_of_a_robot(linkwork):
    out = linkwork("info", "arm7_gripper").out
    elbow = next(line for line in out.splitlines() if line.startswith("elbow"))
    assert elbow.split() == [
        "elbow",
        "revolute",
        "z",
        "3",
        "3",
        "-3.0718",
        "..",
        "0.0698",
        "2.175",
        "87",
        "1",
        "0.5",
        "-",
    ]
    robot = lw.load("arm7_gripper")
    assert all(name in out for name in (*robot.frames, *(joint.name for joint in robot.joints)))
    assert f"total mass {robot.mass:.6g} kg" in out


def test_info_lists_collision_shapes_of_each_link(linkwork, urdf):
    shapes = ('<box size="1 1 1"/>', '<sphere radius="1"/>', '<box size="2 1 1"/>', '<mesh filename="rod.stl"/>')
    inner = "".join(f"<collision><geometry>{shape}</geometry></collision>" for shape in shapes)
    path = urdf(
        f'<robot name="r"><link name="a">{inner}</link><link name="b"/><joint name="j" type="fixed"><parent link="a"/>'
        '<child link="b"/></joint></robot>'
    )
    lines = linkwork("info", path).out.splitlines()
    assert any("collision shapes" in line for line in lines)
    assert any(line.split()[:2] == ["a", "world"] and "2 Box, 1 Sphere, 1 Mesh" in line for line in lines)
    assert [line.split() for line in lines if line.startswith("b ")] == [["b", "world", "-", "-", "-", "j"]]
    links = json.loads(linkwork("info", path, "--json").out)["links"]
    assert [link["collision_shapes"] for link in links] == [{"Box": 2, "Sphere": 1, "Mesh": 1}, {}]


def test_info_shows_the_joint_that_a_mimic_joint_follows(linkwork, urdf):
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in "abc")
    ends = '<parent link="a"/><child link="{}"/><axis xyz="0 0.6 -0.8"/>'
    joints = f'<joint name="j" type="continuous">{ends.format("b")}</joint>'
    joints += (
        f'<joint name="k" type="continuous">{ends.format("c")}<mimic joint="j" multiplier="-2" offset="0.5"/></joint>'
    )
    path = urdf(f'<robot name="r">{links}{joints}</robot>')
    ran = linkwork("info", path)
    assert "-2 × j + 0.5" in ran.out
    assert "(0, 0.6, -0.8)" in ran.out
    (_, k) = json.loads(linkwork("info", path, "--json").out)["joints"]
    assert k["mimic"] == {"joint": "j", "ratio": -2.0, "offset": 0.5}
    assert k["lower"] == [None]
    assert k["axis"] == pytest.approx([0.0, 0.6, -0.8])


@pytest.mark.parametrize("name", lw.robots.names())
@pytest.mark.parametrize("floating", [False, True])
def test_info_prints_json_of_bundled_robots(linkwork, name, floating):
    if floating and name in ("bicycle", "differential_drive"):  # their files let them float
        assert linkwork("info", name, "--floating-base").code == 3
        return
    ran = linkwork("info", name, "--json", *["--floating-base"] * floating)
    assert (ran.code, ran.err) == (0, "")
    data = json.loads(ran.out, parse_constant=pytest.fail)
    robot = lw.load(name, floating_base=floating)
    has_free_link = name in ("bicycle", "delta", "differential_drive", "double_wishbone", "stewart")
    assert (data["nq"], data["nv"], data["floating_base"]) == (robot.nq, robot.nv, floating or has_free_link)
    assert data["mass"] == robot.mass == pytest.approx(sum(link["mass"] for link in data["links"]))
    assert [link["name"] for link in data["links"]] == list(robot.frames)
    for second, joint in zip(data["joints"], robot.joints, strict=True):
        assert set(second) == JOINT_KEYS
        assert (second["name"], second["type"]) == (joint.name, joint.type_name)
        assert slice(*second["q"]) == joint.q_slice and slice(*second["v"]) == joint.v_slice
        assert [len(second[key]) for key in ("lower", "upper", "velocity")] == [joint.nq, joint.nq, joint.nv]


def test_info_includes_reader_warnings_in_its_json(linkwork, urdf):
    path = urdf('<robot name="r"><link name="a"/><linkk name="b"/></robot>')
    ran = linkwork("info", path, "--json")
    assert ran.err == ""
    (warning,) = json.loads(ran.out)["warnings"]
    assert (warning["file"], warning["line"]) == (path, 1)
    assert warning["code"] and warning["message"]


def test_info_accepts_a_robot_of_a_single_link(linkwork, urdf):
    ran = linkwork("info", urdf('<robot name="r"><link name="world"/></robot>'))
    assert ran.code == 0
    assert "0 moving joints" in ran.out and "1 link," in ran.out


@pytest.mark.slow(every=5)
def test_info_shortens_long_chains_and_long_names(linkwork, urdf):
    count = 5000
    links = "".join(f'<link name="l{i}"/>' for i in range(count)) + f'<link name="{"x" * 100_000}"/>'
    ends = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i - 1}"/><child link="l{i}"/></joint>'
        for i in range(1, count)
    )
    last = f'<joint name="weld" type="fixed"><parent link="l{count - 1}"/><child link="{"x" * 100_000}"/></joint>'
    ran = linkwork("info", urdf(f'<robot name="chain">{links}{ends}{last}</robot>'))
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert max(map(len, lines)) < 250
    assert any(line.startswith("…4999… └─ l4999") for line in lines)


def test_robots_command_lists_the_bundled_robots(linkwork):
    ran = linkwork("robots")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()[2:]] == list(lw.robots.names())
    data = json.loads(linkwork("robots", "--json").out)
    assert [robot["name"] for robot in data["robots"]] == list(lw.robots.names())
    assert all(lw.load(robot["name"]).nv == robot["nv"] for robot in data["robots"])


def test_info_applies_a_loops_file_to_the_robot(linkwork, tmp_path):
    path, loops = lw.robots.path("fourbar"), tmp_path / "loops.json"
    loops.write_text('{"version": 2}', encoding="utf-8")
    ran = linkwork("info", str(path), "--loops", str(loops))
    assert ran.code == 3 and "[VERSION]" in ran.err and str(loops) in ran.err
    lw.load("fourbar").save_loops(loops, overwrite=True)
    assert "coupler_tip" in linkwork("info", str(path), "--loops", str(loops)).out
    ran = linkwork("info", str(path), "--loops", str(tmp_path / "none.json"))
    assert ran.code == 3 and "none.json" in ran.err


def test_info_lists_models_of_an_sdf_file(linkwork):
    folder = Path(__file__).parents[1] / "formats" / "sdf"
    command = ["info", str(folder / "world_of_1_9.sdf"), "--package-dirs", str(folder / "models")]
    assert "6 links" not in (output := linkwork(*command, "--model", "ball")).out and output.out.startswith("ball\n")
    assert "gripper::palm" in linkwork(*command).out
    assert linkwork(*command[:3], str(folder / "none")).code == 2
    assert linkwork(*command, "--model", "bal").code == 3 and "PACKAGE_UNKNOWN" in linkwork(*command[:2]).err


def test_info_lists_actuators_and_named_configurations(linkwork, monkeypatch):
    motor = lw.Actuator.motor("elbow_motor", "elbow", gear=100.0, force_range=(-0.8, 0.8))
    pull = lw.Actuator("pull", frame="hand", wrench=(0, 0, 0, 0, 0, 1.0))
    robot = lw.load("arm7").with_actuators(motor, pull)
    robot = robot.with_named_configuration("home", {"elbow": -1.2}, controls=[0.5, 0.0])
    monkeypatch.setattr("linkwork.cli.commands.info.robot_of", lambda arguments, terminal: robot)
    lines = linkwork("info", "arm7").out.splitlines()
    rows = {line.split()[0]: line.split() for line in lines if line}
    assert rows["elbow_motor"][1:] == ["motor", "elbow", "100", "-", "-0.8", "..", "0.8"]
    assert rows["pull"][1:3] == ["motor", "hand"] and " ".join(rows["pull"][3:9]) == "(0, 0, 0, 0, 0, 1)"
    assert rows["home"] == ["home", "elbow", "-1.2", "controls"]
    data = json.loads(linkwork("info", "arm7", "--json").out)
    assert [x["name"] for x in data["actuators"]] == ["elbow_motor", "pull"]
    assert data["actuators"][0]["force_range"] == [-0.8, 0.8] and data["actuators"][0]["control_range"] == [None, None]
    assert data["named_configurations"] == [
        {"name": "home", "q": {"elbow": [-1.2]}, "v": None, "controls": {"elbow_motor": 0.5, "pull": 0.0}}
    ]


def test_info_expands_xacro_files_on_request(linkwork, tmp_path):
    pytest.importorskip("xacro", reason="needs xacro")
    file = tmp_path / "arm.urdf.xacro"
    namespace = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    file.write_text(f'<robot name="r" {namespace}><xacro:arg name="p" default=""/><link name="$(arg p)a"/></robot>')
    refused = linkwork("info", str(file))
    assert refused.code == 3 and "is a program, which can run code" in refused.err
    expanded = linkwork("info", str(file), "--xacro", "--argument", "p=left_")
    assert linkwork("info", str(file), "--xacro", "--argument", "p:=left_").out == expanded.out  # as ROS writes it
    ran = linkwork("info", str(file), "--xacro", "p:=left_")
    assert ran.code == 2 and "an argument of a xacro file is --argument p=left_" in ran.err
    assert expanded.code == 0 and "left_a" in expanded.out
    wrong = linkwork("info", str(file), "--argument", "p")
    assert wrong.code == 2 and "expected NAME=VALUE" in wrong.err
    assert linkwork("info", str(file), "--argument", "p=x").code == 2


@pytest.mark.slow(every=9)
def test_info_reads_untrusted_files_in_a_separate_process(linkwork, tmp_path):
    pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")
    file = tmp_path / "arm.xml"
    file.write_text('<mujoco><worldbody><body name="a"><joint/><geom size="0.1"/></body></worldbody></mujoco>')
    trusted, untrusted = linkwork("info", str(file)), linkwork("info", str(file), "--untrusted")
    assert untrusted.code == 0 and untrusted.out == trusted.out
    refused = linkwork("info", str(file), "--untrusted", "--xacro")
    assert refused.code != 0 and "a xacro file is a program" in refused.err
