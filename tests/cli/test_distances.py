"""The command `linkwork distances`: its output equals the robot's distances."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linkwork as lw

ARM = """<robot name="arm"><link name="base"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="upper"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="hand"><collision><geometry><sphere radius="0.2"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/><origin xyz="0 0 0.5"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="k" type="revolute"><parent link="upper"/><child link="hand"/><axis xyz="0 1 0"/><origin xyz="0.4 0 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture
def files(tmp_path, urdf):
    scene = tmp_path / "scene.json"
    obstacles = lw.Scene().with_sphere("ball", 0.1, (0.4, 0, 0.5)).with_sphere("far", 0.1, (5.0, 0, 0))
    scene.write_text(obstacles.to_json(), encoding="utf-8")
    return urdf(ARM), str(scene), obstacles


def test_distances_command_prints_the_clearances_of_the_robot(linkwork, files):
    file, scene, obstacles = files
    data = json.loads(linkwork("distances", file, "--scene", scene, "--samples", "200", "--seed", "3", "--json").out)
    robot = lw.load(file)
    distances = robot.distances(robot.random_configuration(np.random.default_rng(3), size=200), obstacles)
    assert [(x["a"], x["b"]) for x in data["pairs"]] == list(distances.pairs)
    np.testing.assert_allclose([x["min"] for x in data["pairs"]], distances.distance.min(0), atol=1e-12)
    np.testing.assert_allclose([x["p50"] for x in data["pairs"]], np.median(distances.distance, axis=0), atol=1e-12)
    np.testing.assert_allclose([x["touching"] for x in data["pairs"]], (distances.distance <= 0).mean(0))
    assert data["samples"] == 200 and data["free"] == np.mean((distances.distance > 0).all(-1))
    assert ["hand", "far"] in data["never"] and {tuple(x) for x in data["always"]} <= set(distances.pairs)


def test_distances_command_counts_zero_distance_as_touching(linkwork, files, tmp_path):
    scene = tmp_path / "touching.json"
    scene.write_text(lw.Scene().with_sphere("side", 0.15, (0.25, 0, 0.5)).to_json(), encoding="utf-8")
    data = json.loads(linkwork("distances", files[0], "--scene", str(scene), "--samples", "9", "--json").out)
    (side,) = [x for x in data["pairs"] if (x["a"], x["b"]) == ("upper", "side")]
    assert side["min"] == side["p50"] == 0.0 and side["touching"] == 1.0 and data["free"] == 0.0


def test_distances_command_prints_a_table(linkwork, files):
    file, scene, _ = files
    ran = linkwork("distances", file, "--scene", scene, "--samples", "200")
    assert ran.code == 0, ran.err
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["hand", "far"] in [line[:2] for line in lines] and "touching [%]" in ran.out
    least = [float(line[2]) for line in lines if len(line) == 7 and line[0] in ("base", "upper", "hand")]
    assert least == sorted(least) and len(least) == 5
    assert "touching in all of them: " in ran.out and ran.err.splitlines()[-1] == "configurations: 100 % of 200"


def test_distances_command_reports_robots_and_scenes_without_measurable_distances(linkwork, files, tmp_path, urdf):
    file, _, _ = files
    broken = tmp_path / "broken.json"
    broken.write_text('{"version": 1, "obstacles": [{"name": "a", "shape": {"type": "bal"}}]}', encoding="utf-8")
    bare = urdf('<robot name="bare"><link name="a"/></robot>', "bare.urdf")
    for arguments, code, said in (
        ((file, "--scene", str(broken)), 2, "obstacles[a]/shape/type"),
        ((file, "--scene", "nowhere.json"), 2, "cannot read nowhere.json"),
        ((file, "--samples", "0"), 2, ">= 1"),
        ((bare,), 3, "no collision shapes"),
    ):
        ran = linkwork("distances", *arguments)
        assert ran.code == code and said in ran.err and not ran.out, (arguments, ran.err)
