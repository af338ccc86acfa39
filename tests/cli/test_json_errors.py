"""Errors of all commands with --json: JSON documents, while exit code and standard error stay the same."""

from __future__ import annotations

import io
import json
import sys

import pytest

from linkwork.cli.commands import COMMANDS

BROKEN = (
    '<robot name="r">\n<link name="a"/>\n<link name="b"><inertial><mass value="-1"/></inertial></link>\n'
    '<joint name="j" type="fixd"><parent link="a"/><child link="c"/></joint></robot>'
)
OPTIONS = {  # that a command requires beside the file
    "pose": ("--frame", "a"),
    "jacobian": ("--frame", "a"),
    "ik": ("--frame", "a", "--position", "1", "2", "3"),
    "map": ("--frame", "a"),
    "bench-ik": ("--frame", "a"),
    "plan": ("--goal", "1"),
    "compare": ("arm6",),
    "convert": ("out.urdf",),
    "explain": ("mass_matrix",),
    "precompile": ("--functions", "mass_matrix"),
}
WITHOUT_ROBOT = ("demo", "robots", "selfcheck", "completion", "cache", "check-scene")


@pytest.mark.light
@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in WITHOUT_ROBOT])
def test_json_of_an_unreadable_robot_has_the_error_and_all_problems_of_the_file(command, linkwork, urdf):
    words = (command, urdf(BROKEN), *OPTIONS.get(command, ()))
    plain, ran = linkwork(*words), linkwork(*words, "--json")
    assert plain.code == ran.code == 3 and plain.out == "" and plain.err.startswith(ran.err) and ran.err != ""
    data = json.loads(ran.out)
    (warning,) = data["warnings"]
    assert (warning["code"], warning["line"]) == ("ELEMENT_MISSING", 3) and "ELEMENT_MISSING" not in ran.err
    assert "linkwork: warning: " in plain.err and warning["message"] in plain.err
    assert linkwork(*words, "--quiet").err == ran.err
    assert data["exit_code"] == 3 and "3 errors" in data["error"] and data["error"] in ran.err
    assert [(x["code"], x["line"]) for x in data["issues"]] == [
        ("MASS_NEGATIVE", 3),
        ("JOINT_TYPE", 4),
        ("UNKNOWN_LINK", 4),
    ]
    assert {x["file"] for x in data["issues"]} == {words[1]} and data["issues"][1]["hint"] == "did you mean 'fixed'?"
    missing = linkwork(command, "no such file.urdf", *OPTIONS.get(command, ()), "--json")
    data = json.loads(missing.out)
    assert missing.code == data["exit_code"] == 3 and data["issues"] == [] and "cannot read" in data["error"]


def test_json_of_other_errors_has_the_message_and_the_exit_code(linkwork, urdf, tmp_path, monkeypatch):
    scene = tmp_path / "scene.json"
    scene.write_text('{"obstacles": [{"name": "a", "shape": {"type": "sphere"}}]}')
    for words, code, text in (
        (("pose", "arm6"), 2, "required: --frame"),
        (("pose", "arm6", "--frame", "tol"), 2, "did you mean 'tool'"),
        (("pose", "arm6", "--frmae", "tool"), 2, "did you mean '--frame'"),
        (("info", "arm6", "--mimic", "fre"), 2, "did you mean 'free'"),
        (("poes", "arm6"), 2, "did you mean 'pose'"),
        (("bench", "arm7", "--batch", "0"), 2, "an integer >= 1"),
        (("convert", "arm6", str(tmp_path / "scene.json")), 2, "exists already"),
        (("distances", urdf('<robot name="r"><link name="a"/></robot>')), 3, "collision shape"),
    ):
        ran = linkwork(*words, "--json")
        data = json.loads(ran.out)
        assert ran.code == data["exit_code"] == code and text in data["error"], (words, ran)
        assert data["error"] in ran.err and data["issues"] == []
    ran = linkwork("check-scene", str(scene), "--json")
    assert {x["file"] for x in json.loads(ran.out)["issues"]} == {str(scene)} and ran.code == 3
    monkeypatch.setattr(sys, "stdin", type("Pipe", (), {"buffer": io.BytesIO(BROKEN.encode())}))
    data = json.loads(linkwork("info", "-", "--json").out)
    assert {x["file"] for x in data["issues"]} == {"standard input"} and "standard input:3" in data["error"]
    assert json.loads(linkwork("info", "arm6", "--json").out).keys().isdisjoint({"error", "exit_code"})
