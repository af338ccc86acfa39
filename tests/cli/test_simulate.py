"""The command `linkwork simulate`: its output is the motion of `Robot.simulate`."""

from __future__ import annotations

import importlib.util
import json
from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.cli.commands import simulate

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0"
ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="50" velocity="2"/></joint></robot>"""


@pytest.mark.slow(every=5)
def test_simulate_command_prints_and_writes_the_robots_motion(linkwork, urdf, tmp_path):
    file, output, picture = urdf(ARM), tmp_path / "run.npz", tmp_path / "run.svg"
    robot = lw.load(file)
    command = (file, "--duration", "0.05", "--dt", "0.01", "--method", "rk4", "--q", "j=0.3", "--v", "1.5")
    plot = ("--plot", str(picture)) if importlib.util.find_spec("matplotlib") else ()
    ran = linkwork("simulate", *command, "--json", "--output", str(output), *plot)
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    run = robot.simulate([0.3], [1.5], duration=0.05, dt=0.01, method="rk4", record=["kinetic_energy"])
    assert data["q"] == run.q.tolist() and data["v"] == run.v.tolist() and data["t"] == run.t.tolist()
    assert data["success"] and data["records"]["kinetic_energy"] == run.records["kinetic_energy"].tolist()
    assert np.array_equal(lw.simulation.Simulation.load(output, robot=robot).q, run.q)
    assert not plot or "<svg" in picture.read_text(encoding="utf-8")
    ran = linkwork("simulate", *command[:5], "--controller", "pd", "--target-q", "0.5", "--kp", "30", "--kd", "2")
    assert ran.code == 0 and "arm: completed" in ran.out and "5 steps of 0.01 s by semi_implicit_euler" in ran.out
    pd = lw.control.PD(robot, 30.0, 2.0, feedforward="gravity")
    regulated = robot.simulate([0.0], controller=pd, constants={"target_q": [0.5]}, duration=0.05, dt=0.01)
    assert f"{regulated.q[-1, 0]:.4f}" in ran.out


@pytest.mark.slow(every=5)
def test_simulate_command_with_a_controller_reports_the_remaining_distance_to_the_target(linkwork):
    """Default gains suit light joints with friction, and the output states the remaining distance."""
    move = ("simulate", "arm6", "--target-q", *"111000", "--record-every", "100")
    for controller, duration in (("pd", "3"), ("computed-torque", "2")):
        ran = linkwork(*move, "--controller", controller, "--duration", duration, "--json")
        data = json.loads(ran.out)
        assert np.abs(np.subtract(data["q"][-1], [1, 1, 1, 0, 0, 0])).max() < 3e-3, controller
        assert len(data["saturation"]) == 6 and "unstable" not in ran.err
    for options, text in (
        (("--duration", "0.5"), "towards it; a longer --duration"),
        (("--kp", "5", "--duration", "4"), "shoulder_lift; dry friction of 1 N·m holds it; a larger --kp leaves less"),
    ):
        assert text in linkwork(*move, "--controller", "pd", *options).out


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("controller", ["pd", "computed-torque"])
def test_default_gains_of_the_simulate_command_carry_a_robot_on_its_feet(linkwork, controller):
    """Joint forces that hold the weight are those of the principle of virtual work; smaller gains let it fall."""
    sides = ("front_left", "front_right", "hind_left", "hind_right")
    bent = [f"{side}_{joint}={value}" for side in sides for joint, value in (("hip_flexion", 0.7), ("knee", -1.4))]
    stand = (
        "simulate",
        "quadruped",
        "--floating-base",
        "--q",
        *bent,
        "--contacts",
        *(f"{side}_foot" for side in sides),
    )
    robot = lw.load("quadruped", floating_base=True)
    q = robot.neutral()
    q[[8, 11, 14, 17]], q[[9, 12, 15, 18]] = 0.7, -1.4
    height = robot.point_position(q, "hind_left_foot")[2]
    stand += ("--height", str(height), "--dt", "0.002", "--controller", controller, "--duration", "0.6")
    data = json.loads(linkwork(*stand, "--json").out)
    assert abs(data["q"][-1][6]) < 0.02 and np.abs(np.subtract(data["q"][-1], q)).max() < 0.1
    assert np.abs(data["v"][-1]).max() < 0.05
    ran = linkwork(*stand, "--kp", "0.5" if controller == "pd" else "5")
    assert "a larger --kp" in ran.out and json.loads(linkwork(*stand, "--kp", "0.5", "--json").out)["q"][-1][6] < -0.1


def test_simulate_command_starts_within_the_joint_limits(linkwork, urdf):
    file = urdf(ARM.replace('lower="-3" upper="3"', 'lower="0.5" upper="2.5"'))
    data = json.loads(linkwork("simulate", file, "--duration", "0.01", "--dt", "0.01", "--json").out)
    assert data["q"][0] == [1.5]


def test_wrong_usage_of_the_simulate_command_is_refused(linkwork, urdf, tmp_path):
    file = urdf(ARM)
    for options, text in (
        (("--duration", "0.01", "--record-every", "3"), "--record-every: expected a divisor of the number of steps"),
        (("--q", "k=1"), "there are 'j'"),
        (("--v", "1", "2"), "expected 1 coordinate of v (j), got 2 numbers"),
        (("--contacts", "uper"), "did you mean 'upper'"),
        (("--output", str(tmp_path / "run.txt")), "ends in .npz, .csv, .yaml"),
        (("--plot", str(tmp_path / "no" / "run.svg")), "the folder does not exist"),
    ):
        ran = linkwork("simulate", file, *options)
        assert ran.code == 2 and text in ran.err, (options, ran.err)


def test_warnings_of_the_simulate_command_name_options_without_a_line_of_code(linkwork, urdf):
    slider = urdf(
        '<robot name="s"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="prismatic"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 0 1"/><limit lower="-0.1" upper="1" effort="1" velocity="1"/></joint></robot>',
        "slider.urdf",
    )
    ran = linkwork("simulate", slider, "--duration", "0.5")
    assert ran.code == 0 and "'j' passed" in ran.err and "--joint-limit-mode held enforces" in ran.err
    assert ".py" not in ran.err and "Warning" not in ran.err and "mode=" not in ran.err
    ran = linkwork("simulate", slider, "--duration", "0.5", "--joint-limit-mode", "held")
    assert ran.code == 0 and "'j'" not in ran.err


def test_default_gains_of_computed_torque_on_feet_damp_critically(monkeypatch):
    """A damping of the user replaces the default."""
    monkeypatch.setattr(simulate, "_stands", lambda robot, arguments: True)
    monkeypatch.setattr(simulate, "_velocities", lambda robot: (np.arange(2), np.arange(0)))
    monkeypatch.setattr(simulate, "_inverse_mass_matrix", lambda robot, target: np.diag([2.0, 4.0]))
    monkeypatch.setattr(simulate, "_carried", lambda *arguments: (np.array([1.0, 0.75]), np.zeros(2)))
    arguments = SimpleNamespace(kp=None, kd=None, dt=1e-3)
    kp, kd = simulate._acceleration_gains(None, arguments, np.zeros(2))
    assert np.allclose(kd, 2.0 * np.sqrt(kp * [2.0, 3.0])) and np.allclose(kp[1] / kp[0], 1.5)
    arguments.kd = 7.0
    assert simulate._acceleration_gains(None, arguments, np.zeros(2))[1] == 7.0


def test_simulate_of_a_walking_robot_on_the_ground_names_the_option_of_a_floating_base(linkwork, urdf):
    mass = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    joint = (
        '<joint name="j" type="continuous"><origin xyz="0 0 -0.1"/><parent link="trunk"/><child link="foot"/></joint>'
    )
    file = urdf(f'<robot name="hopper"><link name="trunk">{mass}</link><link name="foot">{mass}</link>{joint}</robot>')
    options = ("simulate", file, "--contacts", "foot", "--duration", "0.002", "--height")
    assert "load it with --floating-base" in linkwork(*options, "0.1").err
    assert "--floating-base" not in linkwork(*options, "-0.095").err
    assert "load it with" not in linkwork(*options, "0.1", "--floating-base").err
