"""Commands on both sides of their limits: inner functions with small values, and refusals of options."""

from __future__ import annotations

import argparse
import io
import json
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork._util.file_access import Budget
from linkwork.cli import arguments as robot_arguments
from linkwork.cli import states, stored_values, values
from linkwork.cli.commands import check, check_scene, convert, demo, precompile, simulate, view
from linkwork.cli.commands import map as map_command
from linkwork.cli.files import check_files, check_tools
from linkwork.cli.output import CommandError
from linkwork.cli.parser import _numeric
from linkwork.control import PD, ComputedTorque, GravityCompensation

ARM = lw.load("arm6")


class Warnings(list[str]):
    """A terminal that collects warnings."""

    def warning(self, text: str) -> None:
        self.append(text)


def row_of_boxes(*gaps: float) -> lw.Scene:
    scene, x = lw.Scene().with_box("b0", (0.2, 0.3, 0.4)), 0.0
    for k, gap in enumerate(gaps, 1):
        x += 0.2 + gap
        scene = scene.with_box(f"b{k}", (0.2, 0.3, 0.4), pose=lw.pose((x, 0.01, 0.02)))
    return scene


def test_scene_check_reports_overlaps_beyond_contact_up_to_a_number_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    result, skipped = check_scene._overlaps(check_scene._pairs_of_obstacles(row_of_boxes(-3e-4, -5e-5, 0.01, -2e-4)))
    assert [(x.a, x.b) for x in result] == [("b0", "b1"), ("b3", "b4")] and skipped == 0
    assert [x.depth for x in result] == pytest.approx([3e-4, 2e-4], abs=1e-12)
    monkeypatch.setattr(own_code, "_replaced", {})
    for most, expected in ((7, 0), (6, 1), (1, 6)):  # seven pairs whose spheres overlap
        monkeypatch.setattr(check_scene, "_MAX_PAIRS", most)
        assert (
            check_scene._overlaps(check_scene._pairs_of_obstacles(row_of_boxes(-3e-4, -5e-5, 0.01, -2e-4)))[1]
            == expected
        )
    touching = [check_scene._Overlap("hand", "post", 0.0125)]
    assert "is in collision at this configuration" in check_scene._robot_lines(ARM, touching, None)[0]
    free = check_scene._robot_lines(ARM, [], 0.125)
    assert free == ["arm6 is free of collisions at this configuration; the smallest distance is 0.125 m"]


def test_simulate_command_selects_the_controller_and_explains_the_remaining_distance() -> None:
    target = np.array([0.3, -0.7, 0.9, -0.4, 0.5, 0.6])
    chosen = argparse.Namespace(controller="gravity", kp=None, kd=None, dt=1e-3, contacts=None)
    controller, inputs = simulate._controller(ARM, chosen, target)
    assert isinstance(controller, GravityCompensation) and inputs == {}
    chosen.controller = "computed-torque"
    torque, inputs = simulate._controller(ARM, chosen, target)
    assert isinstance(torque, ComputedTorque) and inputs["target_q"] is target
    chosen.controller = "none"
    assert simulate._controller(ARM, chosen, target) == (None, {})
    pd = PD(ARM, 10.0, 1.0)
    smooth = ARM.with_joint_dynamics(friction=0.0)
    rubbing = smooth.with_joint_dynamics(friction={"elbow": 0.5})

    def line(left: float, v: float = 0.0, used: Any = None, by: Any = pd, robot: lw.Robot = smooth) -> str:
        q, speed = target.copy(), np.zeros(6)
        k = robot.v_names.index("elbow")
        q[k] += left
        speed[k] = v
        saturation = None if used is None else np.where(np.arange(6) == k, used, 0.0)
        (text,) = simulate._left(
            robot, SimpleNamespace(q=[q], v=speed[None], saturation=saturation), by, target, chosen
        )
        return text

    assert simulate._left(ARM, SimpleNamespace(), controller, target, chosen) == []
    assert "elbow" in line(5e-4) and ";" not in line(5e-4) and ";" not in line(9.9e-4)
    assert "it rests there" in line(5e-3)
    assert "at the effort limit" in line(5e-3, used=0.6) and "it rests there" in line(5e-3, used=0.4)
    assert "towards it; a longer --duration lets" in line(5e-3, v=-6e-4)
    assert "away from it; if it does not return" in line(5e-3, v=6e-4) and "it rests there" in line(5e-3, v=4.5e-4)
    assert "dry friction of 0.5 N·m" in line(5e-3, robot=rubbing)
    assert "it rests there" in line(5e-3, robot=rubbing, by=torque)


def test_warnings_about_joint_limits_begin_at_the_stated_rounding_and_guess_degrees_only_beyond_a_turn() -> None:
    robot = ARM.with_joint(ARM.joint("elbow").with_position_limits(-1.0, 0.5))
    k = robot.q_names.index("elbow")

    def said(x: float) -> list[str]:
        q, terminal = np.zeros(6), Warnings()
        q[k] = x
        states.warn_of_limits(robot, q, terminal)  # type: ignore[arg-type]
        assert bool(check._beyond_limits(robot, q)) == (x > 0.5 + 1e-9 or x < -1.0 - 1e-9)
        return terminal

    assert not said(0.5) and not said(0.5 + 5e-7) and not said(-1.0 - 5e-7) and not said(0.5 + 1e-10)
    (text,) = said(0.5 + 5e-6)
    assert "elbow = 0.5" in text and "is beyond its limits" in text and "deg" not in text
    assert said(-1.0 - 5e-6) and "deg" not in said(6.0)[0] and "deg" not in said(7.5)[0]
    assert said(7.0)[0].endswith("angles are in rad: write 7deg for degrees")


def test_configuration_of_a_mechanism_with_closed_loops_is_used_as_it_is() -> None:
    fourbar = lw.load("fourbar")
    q = np.asarray(fourbar.assemble().q)
    assert states.closed_configuration(fourbar, "--q", q) is q
    closed = states.closed_configuration(fourbar, "--q", q + 0.01)
    assert np.abs(fourbar.constraint_error(closed)).max() < 1e-9 < np.abs(closed - q).max()


def test_files_of_limits_and_options_with_two_sources_are_refused(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "list.json": [1, 2],
        "typo.json": {"elbo": [-1, 1]},
        "empty.json": {},
        "x.json": [0.1],
    }.items():
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"--position-limits: @list.json: expected an object of \[LOW, HIGH\]"):
        values.limits_of(ARM, ["@list.json"])
    with pytest.raises(lw.errors.UnknownNameError, match="no coordinate of q named 'elbo'; did you mean 'elbow'"):
        values.limits_of(ARM, ["@typo.json"])
    with pytest.raises(ValueError, match=r"--position: expected @x.json alone, or numbers, got both"):
        values.position_of("--position", ["@x.json", "0.2"])
    with pytest.raises(ValueError, match=r"expected an array 'position', got none|got none; name it: @FILE:NAME"):
        values.position_of("--position", ["@empty.json"])
    for size, text in ((4, "[1]"), (3, None)):
        monkeypatch.setattr(stored_values, "_BUDGET", Budget(max_bytes=size))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"[12]")))
        if text is None:
            with pytest.raises(ValueError, match="--q: @-: standard input has more bytes than the limit of 3"):
                stored_values.content_of("--q", "-", "json")
        else:
            assert stored_values.content_of("--q", "-", "json") == [12]
    np.savez(tmp_path / "q.npz", q=np.zeros(4))
    monkeypatch.setattr(stored_values, "_BUDGET", Budget(max_total_bytes=100))
    with pytest.raises(ValueError, match=r"its arrays have .* bytes, more than the limit of 100"):
        stored_values.content_of("--q", "q.npz", "npz")


def test_robots_on_standard_input_have_a_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b'<robot name="r"><link name="a"/></robot>'
    for limit in (len(text), len(text) - 1):
        monkeypatch.setattr(own_code, "_replaced", {})
        monkeypatch.setattr(robot_arguments, "_MAX_STDIN", limit)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
        if limit == len(text):
            assert robot_arguments.read_robot("-").name == "r"
        else:
            with pytest.raises(CommandError, match=f"-: standard input has more bytes than the limit of {limit}"):
                robot_arguments.read_robot("-")


def test_files_that_cannot_be_written_are_refused_before_the_computation(tmp_path, monkeypatch) -> None:
    plot = argparse.Namespace(output=None, plot=str(tmp_path / "a.xyz"), force=False)
    with pytest.raises(CommandError, match=r"--plot: expected a file that ends in \..*, got .*a\.xyz"):
        check_files(plot, (".npz",))
    plot.plot = str(tmp_path / "a.svg")
    check_files(plot, (".npz",))
    monkeypatch.setattr("linkwork.cli.files.find_spec", lambda name: None)
    with pytest.raises(CommandError, match=r'--png: \.png needs playwright: pip install "linkwork\[pictures\]"'):
        check_tools("--png", ".png")
    check_tools("--output", ".npz")


def test_options_of_commands_that_exclude_each_other_are_refused(linkwork, urdf, tmp_path) -> None:
    chosen = {"html": None, "glb": None, "png": None, "mp4": None, "force": False, "motion": None, "no_browser": True}
    page = str(tmp_path / "a.html")
    both = argparse.Namespace(**chosen | {"html": page}, output=page, port=None)
    with pytest.raises(CommandError, match="--output: cannot be combined with --html; run the command for each file"):
        view._output(both)
    for port, accepted in ((65535, True), (65536, False)):
        live = argparse.Namespace(**chosen, output=None, port=port)
        if accepted:
            assert view._output(live)["port"] == port
        else:
            with pytest.raises(CommandError, match="--port: expected an integer from 0 to 65535, got 65536"):
                view._output(live)
    (tmp_path / "own.py").write_text("def f(robot):\n    return robot.nq\n\nsize = 3\n")
    file = str(tmp_path / "own.py")
    assert precompile._function(ARM, f"{file}:f")() == 6  # type: ignore[operator]
    assert precompile._function(ARM, "pose:tool") == ("pose", "tool") and precompile._function(ARM, "pose") == "pose"
    for name, got in (("size", "3"), ("g", "None")):
        with pytest.raises(ValueError, match=f"--functions: expected a function '{name}' in .*own.py, got {got}"):
            precompile._function(ARM, f"{file}:{name}")
    immobile = urdf('<robot name="still"><link name="a"/></robot>')
    ran = linkwork("bench-ik", immobile, "--frame", "a")
    assert ran.code == 3 and "still: the robot has no degrees of freedom" in ran.err
    ran = linkwork("plan", "arm6", "--goal", *"000000", "--output", str(tmp_path / "plan.yaml"))
    assert ran.code == 2 and "--output: a message of ROS has times: pass --acceleration" in ran.err
    with pytest.raises(CommandError, match=r"has the suffix '\.xyz'; formats are \.urdf"):
        convert._method_for("a.xyz")


def test_options_of_values_accept_values_with_and_without_names_and_files() -> None:
    for word, expected in (
        ("@q.json", True),
        ("@", True),
        ("0.5", True),
        ("elbow=-1:2,0", True),
        ("arm.urdf", False),
        ("elbow", False),
        (",", False),
    ):
        assert _numeric(word) is expected, word


def test_mesh_files_without_a_folder_are_listed_up_to_three(urdf) -> None:
    for count in (3, 4):
        shapes = "".join(
            f'<collision><geometry><mesh filename="m{k}.stl"/></geometry></collision>' for k in range(count)
        )
        robot = lw.load(urdf(f'<robot name="r"><link name="a">{shapes}</link></robot>', f"r{count}.urdf"))
        options = argparse.Namespace(meshes=None, max_vertices=None, decompose=False)
        with pytest.raises(CommandError, match=f"collision shapes are {count} mesh files") as caught:
            robot_arguments.with_meshes(robot, options)
        assert ("m0.stl, m1.stl, m2.stl ...;" in str(caught.value)) is (count == 4)


def test_maps_replace_folders_only_with_force_and_have_quantiles_of_free_voxels_only(tmp_path) -> None:
    folder = tmp_path / "a.zarr"
    folder.mkdir()
    chosen = argparse.Namespace(output=str(folder), plot=None, force=False)
    with pytest.raises(CommandError, match=r"--output: .*a\.zarr exists already; pass --force to replace it"):
        map_command._check_output(chosen)
    chosen.force = True
    map_command._check_output(chosen)
    absent = argparse.Namespace(output=str(tmp_path / "none" / "a.zarr"), plot=None, force=True)
    with pytest.raises(CommandError, match="the folder does not exist"):
        map_command._check_output(absent)
    score = np.array([0.0, 0.25, 0.5, 1.0, 9.0])
    free = np.array([1, 2, 1, 1, 0])  # the last voxel has no free sample
    result = map_command._statistics(SimpleNamespace(collision_free=free, values={"score": score}))  # type: ignore[arg-type]
    assert result == {"score": [0.0, 0.375, pytest.approx(0.85), 1.0]}
    assert map_command._statistics(SimpleNamespace(collision_free=0 * free, values={"score": score})) == {}  # type: ignore[arg-type]
    for text, value in (("1", 1), ("1e5", 100_000), (str(2**53 - 1), 2**53 - 1)):
        assert map_command._count(text) == value
    for text in ("0", "1.5e0", str(2**53), "many"):
        with pytest.raises(argparse.ArgumentTypeError, match="an integer >= 1, such as 100000 or 1e5"):
            map_command._count(text)


def test_demo_states_that_the_dynamics_are_consistent_up_to_the_stated_residual() -> None:
    for residual, holds in ((5e-10, True), (2e-9, False)):
        data = demo._data(ARM, "tool", np.zeros(6), np.eye(4), residual, 0.25, demo.Evaluation(100, 0.5))
        assert data["check"]["holds"] is holds and data["check"]["largest_residual"] == residual
        assert data["inverse_dynamics"] == {"states": 100, "seconds": 0.5, "states_per_second": 200.0}
