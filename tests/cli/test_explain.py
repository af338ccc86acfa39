"""The command `linkwork explain`."""

from __future__ import annotations

import io
import json

import pytest

import linkwork as lw
from linkwork.cli.commands import explain
from linkwork.cli.commands.explain import _bodies
from linkwork.cli.main import main
from linkwork.cli.output import width
from linkwork.compiler.codegen.code_segments import plan
from linkwork.kernels import report_operations

WORK_KEYS = {"arithmetic", "by_pass", "share", "operations"}
CODE_KEYS = {
    *(
        "instructions",
        "fused",
        "max_live_values",
        "segments",
        "lanes",
        "code_bytes",
        "seconds",
        "cached",
        "compile_seconds",
    ),
    "trace_seconds",
}


def rows(out: str) -> dict[str, list[str]]:
    """The first table's lines by their first word."""
    table = out.split("\n\n")[1]
    return {line.split()[0]: line.split() for line in table.splitlines()}


def test_explain_prints_the_operation_count_of_each_body(linkwork):
    ran = linkwork("explain", "arm7_gripper", "inverse_dynamics")
    assert ran.code == 0 and "[MIMIC_FREE]" in ran.err and ran.err.count("linkwork: ") == 1
    robot = lw.load("arm7_gripper")
    kernel = robot.compile("inverse_dynamics")
    result = rows(ran.out)
    assert list(result) == ["body", "-" * len("upper_arm_proximal"), *robot.bodies, "total"]
    assert result["body"] == ["body", "joint", "type", "outward", "inward", "total", "share", "div", "sin,", "cos"]
    assert result["wrist"][1:3] == ["wrist_flex", "revolute"]
    values = [[int(cell) for cell in result[body][3:6]] for body in robot.bodies]
    total = [int(cell) for cell in result["total"][1:4]]
    assert [sum(column) for column in zip(*values, strict=True)] == total
    assert total[0] + total[1] == total[2] == kernel.arithmetic
    assert result["total"][4:] == ["100.0", "%", "-", "12"]
    shares = [float(result[body][6]) for body in robot.bodies]
    assert sum(shares) == pytest.approx(100.0, abs=0.05 * len(shares))


def test_explain_prints_operation_kinds_and_machine_code_size(linkwork):
    out = linkwork("explain", "arm7", "forward_dynamics").out
    kernel = lw.load("arm7").compile("forward_dynamics")
    assert out.startswith(f"arm7: forward_dynamics, {kernel.arithmetic} operations (mul, add, sub)\n")
    _, _, kinds, code = out.split("\n\n")
    result = dict(line.split() for line in kinds.splitlines()[2:])
    assert result == {name: str(count) for name, count in kernel.operations.items()}
    counts = [int(count) for count in result.values()]
    assert counts == sorted(counts, reverse=True)
    assert [line.split()[0] for line in code.splitlines()] == ["instructions", "live", "machine", "compilation"]


def test_explain_prints_the_operations_of_a_frames_jacobian(linkwork):
    ran = linkwork("explain", "humanoid", "jacobian", "--frame", "left_hand", "--floating-base")
    assert ran.code == 0
    assert ran.out.startswith("humanoid: jacobian of left_hand, ")
    result = rows(ran.out)
    robot = lw.load("humanoid", floating_base=True)
    hand = robot.tree.bodies[robot.tree.frame("left_hand").body].name
    leg = robot.tree.bodies[robot.tree.frame("left_foot").body].name
    assert result["body"][3:5] == ["chain", "total"]
    assert int(result[hand][3]) > 0
    assert result[leg][3:] == ["0", "0", "0.0", "%", "-", "-"]


@pytest.mark.parametrize("function", ["inverse_dynamics", "pose"])
def test_explain_prints_valid_json(linkwork, function):
    frame = ["--frame", "hand"] * (function == "pose")
    ran = linkwork("explain", "arm7", function, *frame, "--json")
    assert (ran.code, ran.err) == (0, "")
    data = json.loads(ran.out, parse_constant=pytest.fail)
    robot = lw.load("arm7")
    kernel = robot.compile((function, "hand") if frame else function)
    assert set(data) == {
        *("linkwork", "robot", "file", "floating_base", "function", "frame", "passes"),
        *("bodies", "elsewhere", "total", "code"),
    }
    assert (data["robot"], data["function"], data["frame"]) == ("arm7", function, "hand" if frame else None)
    assert data["floating_base"] is False and data["linkwork"] == lw.__version__
    for body, joint in zip(data["bodies"], robot.joints, strict=True):
        assert set(body) == WORK_KEYS | {"body", "joint", "type"}
        assert (body["body"], body["joint"], body["type"]) == (joint.child, joint.name, joint.type_name)
    parts = [*data["bodies"], data["elsewhere"]]
    assert set(data["elsewhere"]) == set(data["total"]) == WORK_KEYS
    assert sum(part["arithmetic"] for part in parts) == data["total"]["arithmetic"] == kernel.arithmetic
    assert data["total"]["operations"] == dict(kernel.operations)
    assert sum(part["share"] for part in parts) == pytest.approx(1.0)
    assert all(len(part["by_pass"]) == len(data["passes"]) for part in (*parts, data["total"]))


def test_explain_prints_properties_of_the_machine_code(linkwork, monkeypatch):
    """A long program, compiled and then loaded from the cache."""
    monkeypatch.setattr(explain, "robot_of", lambda *_: lw.load("quadruped"))
    arguments = ("explain", "quadruped", "forward_dynamics", "--json")
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    code_facts = json.loads(linkwork(*arguments).out)["code"]
    assert set(code_facts) == CODE_KEYS
    assert code_facts["cached"] is False
    assert code_facts["trace_seconds"] > 0.0
    assert 0.0 < code_facts["compile_seconds"] <= code_facts["trace_seconds"] + code_facts["seconds"]
    kernel = lw.load("quadruped").compile("forward_dynamics")
    program = kernel.program
    assert code_facts["instructions"] == sum(program.operations.values())
    assert code_facts["fused"] == sum(program.operations.get(name, 0) for name in ("fma", "fms", "fnma"))
    assert code_facts["segments"] == len(plan(program).segments)
    assert 1 < code_facts["max_live_values"] < code_facts["instructions"]
    assert code_facts["code_bytes"] > 4 * code_facts["instructions"]
    assert kernel.llvm_ir.count(f"<{code_facts['lanes']} x double>")


def test_explain_states_if_the_code_was_compiled_or_loaded_from_the_cache(linkwork, monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path))
    load = ("--payload", "tool", "0.1234")  # so that no other test has compiled the code in this process
    arguments = ("explain", "arm6", "mass_matrix", *load)
    assert "compilation   traced in " in linkwork(*arguments).out
    assert "compilation   loaded from the cache on disk in " in linkwork(*arguments).out
    again = json.loads(linkwork(*arguments, "--json").out)["code"]
    assert again["cached"] is True and again["compile_seconds"] > 0.0


class TestWrongUsage:
    def test_explain_refuses_an_unknown_function(self, linkwork):
        ran = linkwork("explain", "arm7", "gravity_forc")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == "linkwork: error: no function named 'gravity_forc'; did you mean 'gravity_force'?\n"

    def test_explain_refuses_an_unknown_frame(self, linkwork):
        ran = linkwork("explain", "arm7", "pose", "--frame", "hnd")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == "linkwork: error: no frame named 'hnd'; did you mean 'hand'?\n"

    def test_explain_requires_a_frame_for_functions_of_a_frame(self, linkwork):
        ran = linkwork("explain", "arm7", "twist")
        assert (ran.code, ran.out) == (2, "")
        assert "twist needs a frame: pass --frame" in ran.err

    def test_explain_rejects_a_frame_for_functions_of_no_frame(self, linkwork):
        ran = linkwork("explain", "arm7", "mass_matrix", "--frame", "hand")
        assert (ran.code, ran.out) == (2, "")
        assert "omit --frame" in ran.err

    def test_explain_requires_the_name_of_a_function(self, linkwork):
        assert linkwork("explain", "arm7").code == 2

    def test_explain_escapes_control_characters_in_a_function_name(self, linkwork):
        ran = linkwork("explain", "arm7", "\x1b[31m")
        assert ran.code == 2
        assert "\x1b" not in ran.err


def test_explain_reports_a_robot_that_cannot_be_loaded(linkwork, urdf):
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    path = urdf(f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>')
    ran = linkwork("explain", path, "forward_dynamics")
    assert (ran.code, ran.out) == (3, "")
    assert "joint 'j' moves bodies without inertia" in ran.err


def test_explain_accepts_a_robot_without_joints(linkwork, urdf):
    path = urdf('<robot name="r"><link name="world"/></robot>')
    ran = linkwork("explain", path, "inverse_dynamics")
    assert ran.code == 0
    assert "no operations" in ran.out
    data = json.loads(linkwork("explain", path, "inverse_dynamics", "--json").out)
    assert data["bodies"] == [] and data["total"]["share"] is None


INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def two_links(parent: str, child: str, joint: str) -> str:
    links = "".join(f'<link name="{name}">{INERTIAL}</link>' for name in (parent, child))
    ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 1 0"/>'
    return f'<robot name="r">{links}<joint name="{joint}" type="continuous">{ends}</joint></robot>'


def test_explain_escapes_control_characters_in_link_names(linkwork, urdf):
    evil = "a&#x9b;31m\u202eb&#10;c"
    ran = linkwork("explain", urdf(two_links("base", evil, f"j{evil}")), "gravity_force")
    assert ran.code == 0
    assert "a\\x9b31m\\u202eb\\nc" in ran.out
    assert not any(c in ran.out + ran.err for c in "\x9b\u202e")


def test_explain_distinguishes_a_link_named_total_from_the_total_row(linkwork, urdf):
    path = urdf(two_links("base", "total", "elsewhere"))
    data = json.loads(linkwork("explain", path, "pose", "--frame", "total", "--json").out)
    assert [body["body"] for body in data["bodies"]] == ["total"]


def test_explain_shortens_very_long_names(linkwork, urdf):
    ran = linkwork("explain", urdf(two_links("base", "x" * 1000, "y" * 1000)), "mass_matrix")
    assert max(map(len, ran.out.splitlines())) < 200


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [200, 80, 60])
def test_explain_shortens_its_table_in_narrow_terminals(monkeypatch, columns):
    """Joints go first, then the ends of names."""
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(("explain", "quadruped", "inverse_dynamics", "--floating-base")) == 0
    table = screen.getvalue().split("\n\n")[1].splitlines()
    assert max(map(width, table)) <= columns
    assert ("joint" in table[0].split()) == (columns > 80)
    assert any(line.startswith("front_right_thigh ") for line in table) == (columns > 60)
    assert table[-1].startswith("total ")


def test_explain_does_not_shorten_names_below_a_minimum_width_of_the_terminal():
    robot = lw.load("arm7")
    explained = report_operations(robot, "forward_dynamics")
    lines = _bodies(robot, explained, 20)
    assert [line.split()[0] for line in lines[2:5]] == ["shoul…", "upper…", "upper…"]
    assert lines == _bodies(robot, explained, 1)


def test_explain_prints_all_columns_to_a_pipe(linkwork, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert rows(linkwork("explain", "arm6", "bias_force").out)["body"][:3] == ["body", "joint", "type"]
