"""The commands `linkwork demo` and `linkwork bench`."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.cli.commands import bench, demo
from linkwork.cli.function_timings import FUNCTIONS, Effort


@pytest.fixture(autouse=True)
def _short_timings(monkeypatch):
    monkeypatch.setattr(bench, "Effort", partial(Effort, at_least=1e-4))


@pytest.mark.slow(every=3)
def test_demo_prints_each_of_its_steps(linkwork):
    ran = linkwork("demo", "--samples", "20000")
    assert ran.code == 0
    for part in ("7 degrees of freedom", "└─ shoulder", "pose of hand", "relative to", "states/s", "compiled in"):
        assert part in ran.out
    assert ran.err.splitlines()[-1] == "inverse dynamics: 100 % of 20000"


def test_demo_prints_the_pose_of_the_robots_hand_in_its_json(linkwork):
    data = json.loads(linkwork("demo", "--samples", "10", "--json").out)
    robot = lw.load("arm7")
    pose = data["pose"]
    np.testing.assert_allclose(pose["matrix"], robot.pose(np.array(pose["q"]), pose["frame"]), atol=1e-15)
    lower = np.concatenate([joint.lower for joint in robot.joints])
    upper = np.concatenate([joint.upper for joint in robot.joints])
    np.testing.assert_allclose(pose["q"], (lower + upper) / 2)


@pytest.mark.parametrize("name", lw.robots.names())
def test_self_check_of_demo_passes_for_bundled_robots(linkwork, name):
    ran = linkwork("demo", "--robot", name, "--samples", "3", "--json")
    data = json.loads(ran.out)
    assert ran.code == 0
    assert data["check"]["holds"] and 0 < data["check"]["largest_residual"] < 1e-11
    assert data["inverse_dynamics"]["states"] == 3


def test_demo_fails_if_its_self_check_fails(linkwork, monkeypatch):
    monkeypatch.setattr(demo, "check", lambda robot: float("1e-3"))
    ran = linkwork("demo", "--samples", "10")
    assert ran.code == 1
    assert "WRONG" in ran.out


def test_self_check_of_demo_detects_wrong_dynamics(monkeypatch):
    robot = lw.load("double_pendulum")
    assert demo.check(robot) < 1e-12
    right = lw.Robot.forward_dynamics
    monkeypatch.setattr(lw.Robot, "forward_dynamics", lambda *arguments: right(*arguments) * (1 + 1e-6))
    assert demo.check(robot) > 1e-7


@pytest.mark.slow(every=3)
def test_bench_prints_the_times_of_the_robots_functions(linkwork):
    ran = linkwork("bench", "double_pendulum", "--batch", "16", "--json")
    assert ran.code == 0
    data = json.loads(ran.out)
    assert (data["robot"], data["nv"], data["batch"]) == ("double_pendulum", 2, 16)
    assert [row["name"] for row in data["functions"]] == list(FUNCTIONS)
    counts = {row["name"]: row["operations"] for row in data["functions"]}
    assert counts == {name: lw.load("double_pendulum").compile(name).arithmetic for name in FUNCTIONS}
    for row in data["functions"]:
        assert row["compile_seconds"] > 0 and row["batch_seconds_per_state"] > 0 and row["call_seconds"] > 0
    text = linkwork("bench", "double_pendulum", "--batch", "16")
    assert text.code == 0
    assert all(function in text.out for function in FUNCTIONS)
    assert "batch of 16 [ns/state]" in text.out


@pytest.mark.slow(every=5)
def test_bench_measures_robots_with_coupled_joints(linkwork):
    ran = linkwork("bench", "arm7_gripper", "--mimic", "coupled", "--batch", "4", "--json")
    assert ran.code == 0, ran.err
    assert all(row["call_seconds"] > 0 and row["note"] is None for row in json.loads(ran.out)["functions"])


def test_bench_reports_functions_that_need_inertias_of_a_robot_without_masses(linkwork, urdf):
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    path = urdf(f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>')
    ran = linkwork("bench", path, "--batch", "4")
    assert ran.code == 0
    assert "forward_dynamics: joint 'j' moves bodies without inertia" in ran.out


def test_bench_refuses_a_robot_without_joints(linkwork, urdf):
    ran = linkwork("bench", urdf('<robot name="r"><link name="a"/></robot>'))
    assert ran.code == 3
    assert "no degrees of freedom" in ran.err
