"""The command line as a whole: exit codes, streams, and errors."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import os
import random
import signal
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

import linkwork as lw
from helpers.row_format import ROWS
from linkwork.cli import output
from linkwork.cli.commands import COMMANDS, OTHER_NAMES, demo
from linkwork.cli.files import written_lines
from linkwork.cli.parser import CommandParser, WordForm
from linkwork.formats import registry

NO_LINK = (
    '<robot name="r"><link name="a"/><joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint></robot>'
)
BENT = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.1" iyy="0.1" izz="0.2" ixy="0.11" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
WARNED = '<robot name="r"><link name="a"/><linkk name="b"/></robot>'
HULLS = lw.Robot.with_collision_hulls

posix = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX systems")


VIEW_OPTIONS = {"html", "glb", "png", "mp4", "configuration", "no_browser", "port", "motion", "map"}


class TestUsage:
    @pytest.mark.parametrize(
        ("line", "hint"),
        [
            ("fk arm6", "unknown command 'fk'; the command is pose"),
            ("sim arm6", "the command is simulate"),
            ("to-mjcf arm6", "the command is convert"),
            ("mass arm6", "the command is info"),
            ("simulate double_pendulum --output -", "got -; --json prints to standard output"),
            ("psoe arm6", "did you mean 'pose'?"),
            ("convert arm6 --to mjcf", "the suffix of the output selects its format"),
            ("simulate arm6 --time 5", "its name is --duration"),
            ("plan arm6 --time 5", "its name is --time-limit"),
            ("simulate arm6 --png a.png", "its name is --output"),
            ("simulate arm6 --steps 100", "--duration states seconds, --dt the time step"),
            ("simulate arm6 --gif a.gif", "--output writes .mp4, .png and .html"),
            ("pose arm6 --frame tool --q 0Deg 1 0 0 0 0", "angles are in rad, or in degrees as 90deg: 90° is 1.5708"),
            ("pose arm6 --frame tool --q -90degrees 1 0 0 0 0", "write deg after numbers that are degrees: --q 90deg"),
            ("pose arm6 --frame tool --degrees", "write deg after numbers that are degrees"),
            ("pose arm6 --frame tool --q elbow=60mm", "--q: elbow: expected a number in rad, got '60mm'"),
            ("dynamics double_pendulum --q 60rpm 1", "--q: shoulder: expected a number in rad, got '60rpm'"),
            ("dynamics double_pendulum --tau 5deg 1", "--tau: shoulder: expected a number without a unit, got '5deg'"),
            ("ik arm6 --frame tool --pose 0 90deg 0", "--pose: expected a number in m, got '90deg'"),
            ("plan arm6 --goal 1 --group arm", "--lock"),
            ("plan arm6 --pose 0.3 0.1 0.4", "--pose: expected FRAME X Y Z and, if stated, ROLL PITCH YAW, got '0.3'"),
            ("pose arm6 --frame tool 30deg 0", "unexpected argument '30deg'; numbers of a configuration follow --q"),
            (
                "pose arm6 --frame tool --q qs.csv",
                "expected numbers or NAME=NUMBER, got 'qs.csv'; @qs.csv reads a file",
            ),
            ("pose arm6 --frame tool --q home", "NAME=NUMBER or a named configuration, got 'home'"),
            ("dynamics double_pendulum --q 0,1 0,2", "expected numbers, got '0,1'; write a decimal point"),
            ("jacobian arm6 --frame tool --local", "--expressed-in FRAME selects the axes"),
            ("robots arm6", "unexpected argument 'arm6'"),
            ("info arm6 arm7", "the command reads one file; check reads several, and compare two"),
            ("pose arm6 tool", "required: --frame; a frame is an option: --frame tool"),
            ("simulate arm6 -t 2", "its name is --duration"),
            ("dynamics arm6 --gravity-torques", "linkwork dynamics prints gravity forces as they are"),
            ("view arm6 --svg a.svg", "of Python writes vector graphics"),
            ("plan arm6 --goal 1 --output a.svg", "of Python writes vector graphics"),
            ("compare arm6 arm7 --only inertias", "--ignore leaves out the others"),
            ("plan arm6 --goal 1 --obstacles cell.yaml", "its name is --scene"),
            ("simulate arm6 --initial-q 1", "its name is --q"),
            ("simulate arm6 --v0 1", "its name is --v"),
            ("dynamics arm6 --torques 1", "its name is --tau"),
            ("pose arm6 --ee tool", "its name is --frame"),
            ("info arm6 --joints", "linkwork info lists joints, limits and links"),
            ("dynamics arm6 --gravity 0 0 down", "--gravity: expected a finite number, got 'down'"),
            ("dynamics arm6 --gravity 0 0", "--gravity: expected X Y Z, got 2 numbers"),
            ("dynamics arm6 --load tool 2", "its name is --payload"),
            ("dynamics arm6 --payload tool", "--payload: expected FRAME MASS or FRAME MASS X Y Z, got 'tool'"),
            ("dynamics arm6 --payload tol 2", "did you mean 'tool'"),
            ("dynamics arm6 --payload tool 2mm", "--payload: expected a number in kg, got '2mm'"),
            ("dynamics arm6 --payload tool -2", "mass must not be negative"),
        ],
    )
    @pytest.mark.light
    def test_usual_words_for_commands_options_and_units_get_a_hint(self, linkwork, line, hint):
        ran = linkwork(*line.split())
        assert ran.code == 2 and hint in ran.err and ran.out == "", ran.err

    def test_version_is_printed_by_each_usual_option_and_as_a_command(self, linkwork):
        outputs = {linkwork(word).out for word in ("--version", "-V", "-v", "version")}
        assert outputs == {f"linkwork {lw.__version__}\n"}

    def test_other_names_of_commands_are_no_commands_and_lead_to_commands(self):
        for name, hint in OTHER_NAMES.items():
            assert name not in COMMANDS and hint.partition(",")[0].partition(";")[0] in COMMANDS, (name, hint)

    def test_lines_of_written_files_name_the_output_and_the_plot(self):
        both = argparse.Namespace(output="a.csv", plot="b.png")
        assert written_lines(both) == ["", "written to a.csv and b.png"]
        assert written_lines(both, written=False) == ["", "written to b.png"]
        assert written_lines(argparse.Namespace(output="a.csv")) == ["", "written to a.csv"]
        assert written_lines(argparse.Namespace(output=None, plot=None)) == []

    def test_help_lists_the_options_of_a_command_before_those_of_the_robot_file(self, linkwork):
        text = linkwork("pose", "--help").out
        assert text.startswith("usage: linkwork pose FILE --frame FRAME [options]\n")
        assert 0 < text.index("--relative-to") < text.index("options of the robot's file:") < text.index("--base")

    def test_the_word_help_prints_the_help_of_a_command(self, linkwork):
        assert linkwork("help", "pose") == linkwork("pose", "--help")
        assert linkwork("help", "check", "scene") == linkwork("check-scene", "--help")
        assert linkwork("help") == linkwork("--help")

    def test_option_version_prints_the_version_of_linkwork(self, linkwork):
        assert linkwork("--version").out == f"linkwork {lw.__version__}\n"

    def test_option_help_lists_all_commands(self, linkwork):
        ran = linkwork("--help")
        assert ran.code == 0
        assert all(
            command in ran.out for command in ("demo", "info", "robots", "explain", "distances", "ik", "bench", "cache")
        )

    @pytest.mark.parametrize(
        "arguments", [(), ("fly",), ("info",), ("demo", "--samples", "0"), ("bench", "arm7", "--batch", "x")]
    )
    def test_wrong_usage_of_a_command_exits_with_code_2(self, linkwork, arguments):
        ran = linkwork(*arguments)
        assert ran.code == 2
        assert ran.out == ""
        assert "usage: linkwork" in ran.err

    @pytest.mark.slow(every=5)
    def test_number_with_a_decimal_comma_in_an_option_gives_an_explaining_error(self, linkwork):
        """Decimal commas are refused, negative numbers read in every notation (argparse takes some for options)."""
        several = [("plan", "--start"), ("plan", "--goal"), ("plan", "--pose", "tool"), ("view", "--q")]
        several += (
            [("info", "--base")]
            + [("dynamics", option) for option in ("--q", "--v", "--a", "--tau")]
            + [("simulate", option) for option in ("--q", "--target-q", "--v")]
        )
        single = []
        for command in COMMANDS:
            parser = argparse.ArgumentParser()
            import_module(f"linkwork.cli.commands.{command.replace('-', '_')}").add_arguments(parser)
            values = [
                action
                for action in parser._actions
                if action.type is not None and action.nargs is None and action.metavar != "NAME=VALUE"
            ]
            single += [(command, action.option_strings[-1]) for action in values]
        assert len(single) > 20
        with_names = [(*example, "elbow=") for example in several if example[1] not in ("--pose", "--base")]
        commands = [[*example, text] for example in single + several for text in ("0,1", "-0,1", ",1", "-,1")]
        commands += [[*example, name + text] for *example, name in with_names for text in ("0,5", "-0,5", ",5")]
        commands += [
            [*example, "--position-limits", text]
            for example in (["plan", "--goal", "elbow=0"], ["map", "--frame", "tool"])
            for text in ("elbow=-0,5:0,5", "elbow=0:1,5", "elbow=,1:1")
        ]
        for command, *options in commands:
            ran = linkwork(command, "arm6", *options)
            assert ran.code == 2 and "write a decimal point (0.1 instead of 0,1)" in ran.err, (command, options, ran)
        assert linkwork("view", "arm6", "--q", "0, 1").err == linkwork("view", "arm6", "--q", "0", "1").err
        for text in ("-1e-3", "-1.", "-.5", "-1E+3", "-2"):
            for command, option, *frame in several:
                ran = linkwork(command, "arm6", option, *frame, text, text)
                assert ran.code == 2 and "got 2" in ran.err, (command, option, text, ran)
            for command, option in single:
                ran = linkwork(command, "arm6", option, text, "--no-such-option")
                assert "expected one argument" not in ran.err, (command, option, text, ran)
        for text in ("-inf", "-nan"):
            assert f"a finite number, got '{text}'" in linkwork("simulate", "arm6", "--height", text).err

    @pytest.mark.light
    def test_options_with_several_values_may_stand_before_the_robots_file(self):
        """The robot's file may stand before, between or after the options."""
        words = {"--goal": ["1", "j=-0.5"], "--position-limits": ["j=-1:2"]}
        words |= {"--functions": ["pose:tool", "plan"], "--beside": ["mujoco"], "--ignore": ["inertias"]}
        words["--names"] = ["a=b"]
        tried = set()
        for command in COMMANDS:
            parser = CommandParser(prog=command)
            import_module(f"linkwork.cli.commands.{command.replace('-', '_')}").add_arguments(parser)
            files = [x.dest for x in parser._actions if not x.option_strings and x.choices is None]
            required = [x.option_strings[0] for x in parser._actions if x.required and x.option_strings]
            for action in parser._actions if files else ():
                if action.nargs != "+" or not action.option_strings:
                    continue
                option, robots = action.option_strings[0], {name: f"2{name}.urdf" for name in files}
                form = action.type
                values = words.get(option, ["a", "b"])
                if command == "check" and option in ("--fail-on", "--ignore"):
                    values = ["MESH_MISSING", "DENSITY"]
                elif option not in words and isinstance(form, WordForm):
                    values = [*["tool"] * form.free, "0.1,", "-2e-3"]
                fixed = [f"{name}=tool" for name in required if name != option]
                groups = [[x.option_strings[0] for x in g._group_actions] for g in parser._mutually_exclusive_groups]
                fixed += [f"{names[0]}=0" for names in groups if command == "ik" and option not in names]
                if not isinstance(form, WordForm) and action.choices is None:
                    robots.pop(
                        "file" if command == "check-scene" else "other", None
                    )  # an optional file looks like a folder
                for order in (
                    [option, *values, *robots.values()],
                    [*robots.values(), option, *values],
                    [option, *values, "--", *robots.values()],
                    [option, *values, *robots.values(), "--strict"],
                ):
                    parsed = vars(parser.parse_args([*fixed, *order]))
                    read = {name: parsed[name] for name in robots}
                    listed = {name: [x] if isinstance(read[name], list) else x for name, x in robots.items()}
                    assert read == listed, (command, order)
                    result = parsed[action.dest]
                    assert (result[0] if isinstance(result[0], list) else result) == values, (command, order)
                    tried.add(option)
        assert {
            "--q",
            "--base",
            "--start",
            "--goal",
            "--pose",
            "--v",
            "--position-limits",
            "--names",
            "--meshes",
        } <= tried

    def test_command_lines_that_argparse_accepts_have_the_same_meaning_for_the_parser(self):
        """The order of arguments changes no command line that argparse accepts by itself."""
        rng = random.Random(5)
        compared = 0
        for command in ("view", "plan", "map", "explain", "cache"):
            parsers = CommandParser(prog=command), argparse.ArgumentParser(prog=command, allow_abbrev=False)
            for parser in parsers:
                parser._negative_number_matcher = parsers[0]._negative_number_matcher
                import_module(f"linkwork.cli.commands.{command}").add_arguments(parser)
            words = [x for x in parsers[0]._option_string_actions if x not in ("-h", "--help")]
            words += ["0", "-1", "a=1", "-0,1", "r.urdf", "s", "-", "--", "a b", "--q=1", "j=-1:2", "info"] * 2
            for _ in range(300):
                drawn = ["r.urdf", *rng.choices(words, k=rng.randint(0, 4))]
                rng.shuffle(drawn)
                expected = None
                with contextlib.suppress(SystemExit):
                    expected = parsers[1].parse_args(drawn)
                if expected is not None:
                    compared += 1
                    assert repr(parsers[0].parse_args(drawn)) == repr(expected), (command, drawn)
        assert compared > 100
        parser = CommandParser(prog="compare")
        import_module("linkwork.cli.commands.compare").add_arguments(parser)
        assert parser.parse_args(["a.urdf", "--base", "x"]).base == ["x"]  # an option keeps its first word

    @pytest.mark.parametrize(
        ("command", "functions", "more"),
        [
            ("plan", [lw.Robot.plan, lw.Robot.pose], {"goals", "poses", "acceleration", "lock"}),
            ("simulate", [lw.Robot.simulate, lw.simulation.ContactGround, lw.control.PD], {"height", "target_q"}),
            ("map", [lw.Robot.workspace_map], {"value"}),
            (
                "view",
                [lw.Robot.show, lw.viewer.View, lw.motion.Trajectory.show, lw.viewer.write_png],
                VIEW_OPTIONS,
            ),
            ("compare", [lw.Robot.compare], {"bodies", "other_format", "other_loops", "beside"}),
        ],
    )
    def test_command_line_options_are_named_as_the_arguments_in_python(self, command, functions, more):
        parser = CommandParser(prog=command)
        import_module(f"linkwork.cli.commands.{command.replace('-', '_')}").add_arguments(parser)
        allowed = {name for function in (*functions, lw.load, HULLS) for name in inspect.signature(function).parameters}
        names = {action.dest for action in parser._actions}
        assert names <= allowed | more | {
            "help",
            "file",
            "json",
            "output",
            "plot",
            "force",
            "argument",
            "meshes",
            "payload",
            "srdf",
            "joint_limits",
            "quiet",
        }
        assert {"time_limit", "max_iterations", "collision_check", "position_limits"} <= names or command != "plan"

    def test_missing_robot_file_is_reported_if_only_a_configuration_was_passed(self, linkwork):
        ran = linkwork("view", "--q", "0", "0", "0")
        assert ran.code == 2 and "required: FILE" in ran.err
        assert "unexpected argument 'b'" in linkwork("view", "arm6", "b").err

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ("plan", "arm7", "--method", "conect"),
                "expected connect or optimal, got 'conect'; did you mean 'connect'?",
            ),
            (("simulate", "arm7", "--controller", "gravty"), "got 'gravty'; did you mean 'gravity'?"),
            (("info", "arm7", "--mimic", "cupled"), "got 'cupled'; did you mean 'coupled'?"),
        ],
    )
    def test_wrong_choice_is_answered_in_two_lines_with_the_nearest_choice(self, linkwork, arguments, message):
        ran = linkwork(*arguments)
        usage, error = ran.err.splitlines()
        assert ran.code == 2 and error.endswith(message)
        assert usage.endswith(f"linkwork {arguments[0]} --help lists the options")

    def test_unknown_command_line_option_is_answered_with_the_nearest_option_and_the_usage(self, linkwork):
        for command, wrong, right in (
            ("info", "--jsno", "--json"),
            ("plan", "--margn=1", "--margin"),
            ("view", "--sceen", "--scene"),
        ):
            ran = linkwork(command, "arm6", wrong)
            assert ran.code == 2 and f"unknown option '{wrong.partition('=')[0]}'; did you mean '{right}'" in ran.err
            assert ran.err.startswith(f"usage: linkwork {command} ") and f"linkwork {command}: error: " in ran.err
        for command, former, present in (
            ("plan", "--budget", "--time-limit"),
            ("ik", "--budget=3", "--time-limit"),
            ("plan", "--from", "--start"),
            ("simulate", "--to", "--target-q"),
        ):
            ran = linkwork(command, "arm6", former, "1")
            assert ran.code == 2 and f"unknown option '{former[:8].rstrip('=3')}" in ran.err
            assert f"; its name is {present}" in ran.err
        assert linkwork("info", "--jsno", "--help").code == 0

    def test_installed_command_linkwork_runs_the_main_function_of_the_cli(self):
        from importlib.metadata import entry_points

        (entry,) = entry_points(group="console_scripts", name="linkwork")
        assert entry.value == "linkwork.cli.main:main"


class TestBadRobots:
    @pytest.mark.parametrize("command", [("info",), ("bench",), ("demo", "--robot")])
    def test_command_prints_a_single_message_for_a_bad_robot_file(self, linkwork, urdf, command):
        path = urdf(NO_LINK)
        ran = linkwork(*command, path)
        assert (ran.code, ran.out) == (3, "")
        assert ran.err.startswith(f"linkwork: error: {path}:1:")
        assert "UNKNOWN_LINK" in ran.err and "'b'" in ran.err

    @pytest.mark.slow(every=5)
    def test_command_prints_no_traceback_for_a_bad_robot_file(self, process, urdf):
        ran = process("info", urdf(NO_LINK))
        assert ran.returncode == 3
        assert ran.stdout == b""
        assert b"Traceback" not in ran.stderr

    def test_command_lists_all_errors_of_a_robot_file(self, linkwork, urdf):
        links = '<link name=""/><link name=""/>'
        ran = linkwork("info", urdf(f'<robot name="r">{links}</robot>'))
        assert ran.code == 3
        assert ran.err.startswith("linkwork: error: 2 errors:\n")

    def test_command_reports_a_robot_file_that_does_not_exist(self, linkwork, tmp_path):
        path = str(tmp_path / "none.urdf")
        try:
            os.stat(path)
        except OSError as error:  # the system's words
            missing = error.strerror
        assert linkwork("info", path).err == f"linkwork: error: cannot read {path}: {missing}\n"

    def test_command_answers_an_unknown_robot_name_with_the_nearest_bundled_name(self, linkwork):
        ran = linkwork("info", "arm77")
        assert ran.code == 3
        assert "did you mean 'arm7'" in ran.err

    def test_option_format_selects_the_reader_of_the_file(self, linkwork, tmp_path, monkeypatch):
        monkeypatch.setattr(registry, "FORMATS", (*registry.FORMATS, ROWS))
        path = tmp_path / "arm.txt"
        path.write_text("rows\nupper 0.5 2")
        assert linkwork("info", str(path)).code == linkwork("info", str(path), "--format", "rows").code == 0
        ran = linkwork("info", str(path), "--format", "rws")
        assert ran.code == 3 and "no format named 'rws'; did you mean 'rows'" in ran.err
        ran = linkwork("info", str(path), "--continuous", "sincos")
        assert ran.code == 2 and "continuous: a file of rows does not take this option" in ran.err

    def test_command_reports_that_a_folder_is_no_robot_file(self, linkwork, tmp_path):
        ran = linkwork("info", str(tmp_path))
        assert ran.code == 3
        assert "NOT_A_FILE" in ran.err

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
    def test_command_reports_a_robot_file_without_read_permission(self, linkwork, urdf):
        path = urdf(WARNED)
        Path(path).chmod(0)
        assert linkwork("info", path).code == 3

    def test_option_strict_turns_warnings_of_the_reader_into_errors(self, linkwork, urdf):
        path = urdf(WARNED)
        assert linkwork("info", path).code == 0
        ran = linkwork("info", path, "--strict")
        assert (ran.code, ran.out) == (3, "")

    @pytest.mark.slow(every=5)
    def test_every_command_that_reads_a_robot_file_accepts_the_options_of_load(self, linkwork, urdf):
        """Every command that reads a file takes the options of `linkwork.load`."""
        ran = linkwork("info", "arm7_gripper", "--mimic", "ignore", "--json")
        assert [j["mimic"] for j in json.loads(ran.out)["joints"]] == [None] * 9
        path = urdf(BENT)
        assert linkwork("info", path).code == 3
        for command in (("info",), ("explain", "mass_matrix"), ("bench", "--batch", "2")):
            ran = linkwork(command[0], path, *command[1:], "--inertia", "nearest", "--continuous", "sincos", "--json")
            assert ran.code == 0, ran.err
        data = json.loads(linkwork("info", path, "--inertia", "nearest", "--continuous", "sincos", "--json").out)
        assert (data["nq"], data["nv"]) == (2, 1) and "INERTIA_NEAREST" in [w["code"] for w in data["warnings"]]
        roots = urdf('<robot name="r"><link name="a"/><link name="b"/></robot>', "roots.urdf")
        assert [linkwork("info", roots, *options).code for options in ((), ("--multi-root",))] == [3, 0]

    def test_option_inertia_ignore_loads_robots_without_inertias(self, linkwork, urdf):
        path = urdf(BENT)
        ran = linkwork("info", path, "--inertia", "ignore")
        assert ran.code == 0 and "inertias ignored" in ran.out and "total mass" not in ran.out
        data = json.loads(linkwork("info", path, "--inertia", "ignore", "--json").out)
        assert data["mass"] is None and {link["mass"] for link in data["links"]} == {None}
        ran = linkwork("explain", path, "mass_matrix", "--inertia", "ignore")
        assert (ran.code, ran.out) == (2, "") and "mass_matrix depends on inertias: omit --inertia ignore" in ran.err
        assert linkwork("explain", path, "pose", "--frame", "b", "--inertia", "ignore").code == 0
        ran = linkwork("bench", path, "--inertia", "ignore", "--batch", "2", "--json")
        assert [row["name"] for row in json.loads(ran.out)["functions"]] == ["forward_kinematics"]

    def test_joint_that_moves_no_mass_is_reported_by_the_demo_command(self, linkwork, urdf):
        joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
        path = urdf(f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>')
        ran = linkwork("demo", "--robot", path)
        assert ran.code == 3
        assert "joint 'j' moves bodies without inertia" in ran.err

    def test_robot_names_with_terminal_escape_codes_are_printed_escaped(self, linkwork, urdf):
        evil = "a&#x9b;31m\u202eb&#10;c"
        ran = linkwork("info", urdf(f'<robot name="{evil}"><link name="{evil}"/></robot>'))
        assert ran.code == 0
        assert "a\\x9b31m\\u202eb\\nc" in ran.out
        assert not any(c in ran.out + ran.err for c in "\x9b\u202e")

    @posix
    def test_error_messages_print_names_with_terminal_escape_codes_escaped(self, linkwork, urdf):
        evil = "a&#x9b;31m\u202eb&#10;c"
        links = f'<link name="{evil}"><inertial><mass value="-1"/></inertial></link>'
        ran = linkwork("info", urdf(f'<robot name="r">{links}</robot>', "\x1b[31m.urdf"))
        assert ran.code == 3
        assert not any(c in ran.err for c in "\x9b\u202e\x1b")


class TestStreams:
    def test_commands_write_warnings_to_standard_error(self, linkwork, urdf):
        path = urdf(WARNED)
        ran = linkwork("info", path)
        assert ran.err.startswith(f"linkwork: warning: {path}:1:")
        assert "linkwork:" not in ran.out

    @pytest.mark.slow(every=5)
    @posix
    def test_command_exits_without_an_error_if_its_output_pipe_is_closed(self):
        command = [sys.executable, "-m", "linkwork", "info", "humanoid"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
            ran.stdout.close()
            assert ran.stderr.read() == b""
        assert ran.returncode == 141

    @pytest.mark.slow(every=5)
    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_command_reports_that_the_disk_of_its_output_is_full(self):
        with open("/dev/full", "wb") as full:
            command = [sys.executable, "-m", "linkwork", "robots"]
            ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
        assert ran.returncode == 1
        assert ran.stderr.startswith(b"linkwork: error: cannot write")
        assert b"Traceback" not in ran.stderr

    @pytest.mark.slow(every=3)
    def test_command_prints_only_ascii_to_an_ascii_terminal(self, process, urdf):
        names = '<robot name="Bräu"><link name="手"/></robot>'
        ran = process("info", urdf(names), PYTHONIOENCODING="ascii")
        assert ran.returncode == 0
        assert ran.stdout.startswith(b"Br\\xe4u" + os.linesep.encode())
        assert b"`- \\u624b" in ran.stdout

    @pytest.mark.slow(every=3)
    def test_command_prints_no_color_codes(self, process):
        assert b"\x1b" not in process("info", "arm7", TERM="xterm-256color", FORCE_COLOR="1").stdout

    def test_ctrl_c_ends_a_command_with_exit_code_130(self, linkwork, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(demo, "evaluate", interrupted)
        ran = linkwork("demo")
        assert ran.code == 130
        assert ran.err == "linkwork: interrupted\n"

    @pytest.mark.slow(every=3)
    @posix
    def test_ctrl_c_ends_the_process_of_a_command_by_sigint(self):
        command = [sys.executable, "-m", "linkwork", "demo", "--samples", str(10**9)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # also where the tests run in the background
        with subprocess.Popen(command, **pipes, preexec_fn=heard) as ran:
            assert any(b"random states" in line for line in ran.stdout)
            ran.send_signal(signal.SIGINT)
            errors = ran.stderr.read()
        assert ran.returncode == 130
        assert b"Traceback" not in errors

    def test_importing_the_cli_imports_no_optional_libraries(self):
        code = "import linkwork.cli.main, sys; print([m for m in ('pinocchio', 'scipy', 'jax') if m in sys.modules])"
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ran.stdout == "[]\n"


def test_errors_of_python_code_name_the_options_of_a_command(linkwork):
    ran = linkwork("simulate", "double_pendulum", "--duration", "1e9min")
    assert ran.code == 2 and ran.err.startswith("linkwork: error: --duration: expected at most"), ran
    ran = linkwork("map", "double_pendulum", "--frame", "tip", "--samples", "10", "--voxel-size", "1e-6")
    assert ran.code == 2 and "error: --voxel-size: expected at least some" in ran.err, ran
    ran = linkwork("info", "double_pendulum", "--gravity", "0", "0")
    assert ran.code == 2 and ran.err == "linkwork: error: --gravity: expected X Y Z, got 2 numbers\n"
    for message, expected in (
        ("plan: margin: too large", "--margin: too large"),
        ("increase max_iterations, or 'max_iterations'", "increase --max-iterations, or 'max_iterations'"),
        ("robot.max_iterations: x", "robot.max_iterations: x"),
        ("margins: too many", "margins: too many"),
    ):
        assert output.with_options(message, {"margin": "--margin", "max_iterations": "--max-iterations"}) == expected


def test_lists_with_commas_after_units_are_no_decimal_commas(linkwork):
    ran = linkwork("pose", "double_pendulum", "--frame", "tip", "--q", "90deg,0")
    assert ran.code == 0 and ran.out == linkwork("pose", "double_pendulum", "--frame", "tip", "--q", "90deg", "0").out
    assert linkwork("pose", "double_pendulum", "--frame", "tip", "--q", "90,0").code == 2


def test_words_that_are_no_names_of_configurations_and_results_as_robots_get_advice(linkwork, tmp_path):
    for words in (("dynamics", "arm6", "--q", "home"), ("plan", "arm6", "--goal", "home")):
        ran = linkwork(*words)
        assert ran.code == 2 and "a named configuration, got 'home'; the robot has none, and --srdf FILE" in ran.err
    lw.load("arm6").with_named_configuration("home", {"elbow": 1.0}).save(tmp_path / "arm.json")
    ran = linkwork("dynamics", str(tmp_path / "arm.json"), "--q", "hom")
    assert ran.code == 2 and "got 'hom'; did you mean 'home'?" in ran.err
    assert "got 1 number" in linkwork("pose", "arm6", "--frame", "tool", "--q", "nan").err
    (tmp_path / "run.csv").write_text("t,q:shoulder\n0,1\n")
    ran = linkwork("view", str(tmp_path / "run.csv"))
    assert ran.code == 3 and "hint: options read results: linkwork view ROBOT --motion FILE" in ran.err
    pairs = "touching=[('a/3', 'b'), ('c d', 'e')] lets them touch"
    assert output.as_options(pairs) == "--touching a/3 b --touching 'c d' e lets them touch"
    assert output.as_options('read it by load(path, format="cell")') == "read it by --format cell"
    assert output.as_options("load the file with floating_base=True") == "load the file with --floating-base"
