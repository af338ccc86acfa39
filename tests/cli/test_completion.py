"""Completion of commands, options and values, by the shells themselves."""

import argparse
import os
import select
import shutil
import subprocess
import time
from importlib import import_module

import pytest

import linkwork as lw
from linkwork.cli.commands import COMMANDS
from linkwork.cli.parser import CommandParser

pty = pytest.importorskip("pty", reason="of POSIX systems")
SHELLS = {"bash": ["bash", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"], "fish": ["fish", "--no-config"]}


def installed(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


@pytest.fixture
def script(linkwork, tmp_path):
    def write(shell):
        ran = linkwork("completion", shell)
        assert ran.code == 0 and ran.err == ""
        path = tmp_path / f"linkwork.{shell}"
        path.write_text(ran.out)
        return path

    return write


def options_of(command):
    parser = CommandParser(prog=command)
    import_module(f"linkwork.cli.commands.{command.replace('-', '_')}").add_arguments(parser)
    return parser._actions


def test_names_of_the_robot_on_the_line_complete_options_that_take_names(linkwork, tmp_path):
    robot = lw.load("arm6")
    frames, coordinates = [*robot.frames], [f"{name}=" for name in robot.q_names]

    def names(line, cursor=None):
        words = line.split(" ")
        ran = linkwork("completion", "names", str(len(words) - 1 if cursor is None else cursor), *words)
        assert ran.code == 0 and ran.err == "", line
        return ran.out.splitlines()

    for line in ("pose arm6 --frame ", "ik arm6 --relative-to w", "plan arm6 --seed 1 --pose ", "view arm6 --frame a "):
        assert names(f"linkwork {line}") == frames, line
    for line in ("plan arm6 --lock ", "plan arm6 --goal 1 2 --lock elbow "):
        assert names(f"linkwork {line}") == [joint.name for joint in robot.joints], line
    for line in ("pose arm6 --q ", "dynamics arm6 --v a=1 ", "plan arm6 --goal ", "map arm6 --position-limits "):
        assert names(f"linkwork {line}") == coordinates, line
    assert names("linkwork pose --frame  arm6 --json", cursor=3) == frames  # the robot stands after the cursor
    assert names("linkwork view --frame  arm6 --json", cursor=3) == frames
    for line in ("pose arm6 --frame tool ", "pose arm6 ", "pose arm6 --seed ", "pose --frame ", "pose none --frame "):
        assert names(f"linkwork {line}") == [], line
    for line in ("nothing --frame ", "demo --robot ", "plan arm6 --pose tool ", "pose - --frame "):
        assert names(f"linkwork {line}") == [], line
    saved = robot.with_named_configuration("home", dict.fromkeys(robot.q_names, 0.1))
    saved.save(tmp_path / "arm.json")
    assert names(f"linkwork pose {tmp_path / 'arm.json'} --configuration ") == ["home"]
    (tmp_path / "robot.xacro").write_text('<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"/>')
    assert names(f"linkwork pose {tmp_path / 'robot.xacro'} --xacro --frame ") == []


@pytest.mark.slow(every=5)
def test_names_of_files_are_never_run_by_the_shell(script, tmp_path):
    installed("bash")
    path = script("bash")
    file = tmp_path / "evil.urdf"
    file.write_text('<robot name="r"><link name="$(touch evil)"/></robot>')
    call = "COMP_WORDS=(linkwork pose evil.urdf --frame ''); COMP_CWORD=4; _linkwork; printf '%s' \"${COMPREPLY[@]}\""
    command = ["bash", "--norc", "-c", f"source {path}; compopt() {{ :; }}; {call}"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "touch" in ran.stdout and ran.stdout.startswith("\\$"), ran
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts_have_all_commands_options_and_choices(shell, script):
    path = script(shell)
    text = path.read_text()
    for command in COMMANDS:
        assert command in text
        for action in options_of(command):
            for option in action.option_strings:
                if option.startswith("--"):
                    assert (f"-l {option[2:]}" if shell == "fish" else option) in text, (command, option)
            for choice in action.choices or ():
                assert str(choice) in text
    installed(shell)
    assert subprocess.run([shell, "-n", str(path)], capture_output=True, check=False).stderr == b""


def typed(shell, path, folder, line, expected):
    """The text that an interactive shell shows after the line and two presses of Tab, up to the expected text."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        environment = {**os.environ, "TERM": "dumb", "PS1": "> ", "HOME": str(folder), "ZDOTDIR": str(folder)}
        os.execvpe(SHELLS[shell][0], SHELLS[shell], environment)
    start = "autoload -Uz compinit && compinit -u -D; " if shell == "zsh" else ""
    try:
        os.write(terminal, f"{start}source {path}; echo rea''dy\n".encode())
        read_until(terminal, "ready")
        os.write(terminal, f"{line}\t\t".encode())
        return read_until(terminal, expected)
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def read_until(terminal, end):
    """The text that a shell writes, up to ``end``, or for a minute."""
    text, last = "", time.monotonic() + 60.0
    while end not in text and time.monotonic() < last:
        if select.select([terminal], [], [], 1.0)[0]:
            text += os.read(terminal, 1 << 16).decode("utf-8", "replace").replace("\r", "")
    return text


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_interactive_shells_complete_commands_options_values_and_files(shell, script, tmp_path):
    installed(shell)
    path = script(shell)
    (tmp_path / "my cell.yaml").write_text("")
    (tmp_path / "cell.urdf").write_text('<robot name="cell"><link name="hand 1"/></robot>')
    for line, expected in (
        ("linkwork prec", "linkwork precompile"),
        ("linkwork plan --collision-ch", "--collision-check "),
        ("linkwork plan --collision-check samp", "sampled"),
        ("linkwork plan double_p", "double_pendulum"),
        ("linkwork plan arm6 --scene my", "my\\ cell.yaml"),
        ("linkwork completion zs", "zsh"),
        ("linkwork pose arm6 --frame wrist_3", "wrist_3_link"),
        ("linkwork pose cell.urdf --frame ha", "hand\\ 1"),
        ("linkwork dynamics arm6 --v shoulder_l", "shoulder_lift="),
    ):
        shown = typed(shell, path, tmp_path, line, expected)
        assert expected in shown, (line, shown)


@pytest.mark.slow(every=5)
def test_fish_completes_commands_options_values_and_files(script, tmp_path):
    installed("fish")
    path = script("fish")
    (tmp_path / "my cell.yaml").write_text("")

    def completed(line):
        command = ["fish", "--no-config", "-c", f"source {path}; complete -C{line!r}"]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
        return [row.partition("\t")[0] for row in ran.stdout.splitlines()]

    assert set(COMMANDS) <= set(completed("linkwork "))
    for command in ("plan", "cache", "check-scene"):
        names = {x for action in options_of(command) for x in action.option_strings if x.startswith("--")}
        assert names <= set(completed(f"linkwork {command} --"))
        for action in options_of(command):
            if action.option_strings and action.choices and not isinstance(action, argparse.BooleanOptionalAction):
                assert set(map(str, action.choices)) <= set(
                    completed(f"linkwork {command} {action.option_strings[0]} ")
                )
    (tmp_path / "cell.urdf").write_text('<robot name="cell"><link name="hand 1"/></robot>')
    assert completed("linkwork pose cell.urdf --frame ") == ["hand 1"]
    assert completed("linkwork plan arm6 --lock shoulder_l") == ["shoulder_lift"]
    assert "arm6" in completed("linkwork plan a") and "my cell.yaml" in completed("linkwork plan arm6 --scene my")
