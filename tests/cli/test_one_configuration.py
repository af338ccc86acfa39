"""Commands that compute one thing at one configuration: their numbers equal those of Python."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest

import linkwork as lw

Q = (0.3, -0.7, 0.9, -0.4, 0.5, 0.6)
Q_TEXT = [str(x) for x in Q]


@pytest.mark.slow(every=3)
def test_pose_and_jacobian_commands_print_the_values_of_the_python_methods(linkwork):
    robot, q = lw.load("arm6"), np.array(Q)
    X = robot.pose(q, "tool", relative_to="forearm")

    def data(command, *options):
        ran = linkwork(command, *options, "--q", *Q_TEXT, "arm6", "--json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    result = data("pose", "--frame", "tool", "--relative-to", "forearm")
    np.testing.assert_array_equal(result["pose"], X)
    np.testing.assert_allclose(lw.pose(result["position"], rpy=result["rpy"]), X, atol=1e-14)
    np.testing.assert_allclose(lw.pose(quaternion_wxyz=result["quaternion_wxyz"])[:3, :3], X[:3, :3], atol=1e-14)
    assert result["q_names"] == list(robot.q_names) and result["q"] == list(Q)
    for options in ({}, {"relative_to": "forearm", "expressed_in": "world", "point": "forearm"}):
        words = [word for name, x in options.items() for word in (f"--{name.replace('_', '-')}", x)]
        result = data("jacobian", "--frame", "tool", *words)
        np.testing.assert_array_equal(result["jacobian"], robot.jacobian(q, "tool", **options))
    v, a = np.array([0, 0, 1.5, 0, 0, 0]), np.array([0, 2.0, 0, 0, 0, 0])
    result = data("dynamics", "--v", "elbow=1.5", "--a", "shoulder_lift=2")
    force = np.array(result["inverse_dynamics"])
    np.testing.assert_array_equal(force, robot.inverse_dynamics(q, v, a))
    np.testing.assert_allclose(np.array(result["mass_matrix"]) @ a + result["bias_force"], force, atol=1e-12)
    result = data("dynamics", "--v", "elbow=1.5", "--tau", *map(repr, force.tolist()))
    np.testing.assert_allclose(result["forward_dynamics"], a, atol=1e-9)
    assert result["kinetic_energy"] == robot.kinetic_energy(q, v)
    np.testing.assert_array_equal(result["center_of_mass"], robot.center_of_mass(q))


@pytest.mark.slow(every=5)
def test_ik_command_reaches_poses_and_positions(linkwork):
    robot = lw.load("arm6")
    target = lw.pose([0.3, 0.1, 0.4], rpy=[0.1, 0.2, 0.3])
    ran = linkwork("ik", "--frame", "tool", "--pose", "0.3", "0.1", "0.4", "0.1", "0.2", "0.3", "arm6", "--json")
    data = json.loads(ran.out)
    assert ran.code == 0 and data["success"] and data["status"] == "solved"
    np.testing.assert_allclose(robot.pose(data["q"], "tool"), target, atol=1e-4)
    ran = linkwork("ik", "arm6", "--frame", "tool", "--position", "0.3", "0.1", "0.4", "--q-init", "elbow=1")
    words = ran.out.partition("--q ")[2].split()
    assert ran.code == 0 and ran.out.startswith("arm6: solved\n")
    np.testing.assert_allclose(robot.pose([float(x) for x in words], "tool")[:3, 3], target[:3, 3], atol=1e-4)
    ran = linkwork("ik", "arm6", "--frame", "tool", "--position", "30", "0", "0", "--json")
    data = json.loads(ran.out)
    assert ran.code == 1 and not data["success"] and "Move the target" in data["message"]


@pytest.mark.slow(every=5)
def test_distances_command_at_one_configuration_prints_the_values_of_python(linkwork, urdf, tmp_path):
    file = urdf(
        '<robot name="ball"><link name="base"/><link name="arm"><collision><origin xyz="1 0 0"/>'
        '<geometry><sphere radius="0.1"/></geometry></collision></link><joint name="j" type="continuous">'
        '<parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>'
    )
    scene = tmp_path / "scene.json"
    scene.write_text(lw.Scene().with_sphere("post", 0.2, (0, 2, 0)).to_json(), encoding="utf-8")
    options = ("--scene", str(scene), "--q", str(np.pi / 2), file)
    (pair,) = json.loads(linkwork("distances", *options, "--json").out)["pairs"]
    assert (pair["a"], pair["b"]) == ("arm", "post") and pair["distance"] == pytest.approx(0.7, abs=1e-12)
    assert "700.0" in linkwork("distances", *options).out


def test_commands_read_a_robot_from_standard_input(linkwork, monkeypatch):
    class Pipe:
        def __init__(self, content):
            self.buffer = io.BytesIO(content)

    with open(lw.robots.path("double_pendulum"), "rb") as file:
        monkeypatch.setattr(sys, "stdin", Pipe(file.read()))
    assert json.loads(linkwork("info", "-", "--json").out)["name"] == "double_pendulum"
    monkeypatch.setattr(sys, "stdin", Pipe(b"<robot"))
    ran = linkwork("info", "-")
    assert ran.code == 3 and "linkwork: error: standard input:1" in ran.err and "stdin" not in ran.err
    link = '<link name="a"><inertial><mass value="1"/></inertial></link><link name="b"/>'
    joint = '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
    text = f'<robot name="r">{link}{joint}</robot>'.encode()
    monkeypatch.setattr(sys, "stdin", Pipe(text.replace(b"revolute", b"revolut")))
    ran = linkwork("check", "-")
    assert ran.code == 3 and "linkwork: error: standard input:1" in ran.err and "/linkwork-" not in ran.err
    monkeypatch.setattr(sys, "stdin", Pipe(text.replace(b"revolute", b"continuous").replace(b"<axis", b"<mimi/><axis")))
    ran = linkwork("check", "-", "--json")
    data = json.loads(ran.out)
    assert data["file"] == "standard input" and {x["file"] for x in data["repairs"]} == {"standard input"}, ran.out


def printed_pose(ran):
    assert ran.code == 0 and ran.err == "", ran
    return np.array(json.loads(ran.out)["pose"])


def test_named_coordinates_of_linkages_keep_their_values_and_the_others_close_the_loops(linkwork):
    robot, options = lw.load("fourbar"), ("pose", "fourbar", "--frame", "coupler_tip", "--json")
    q = robot.assemble(hold={"crank_hinge": 1.0}).q
    expected = robot.pose(q, "coupler_tip")
    assert np.abs(printed_pose(linkwork(*options, "--q", "crank_hinge=1")) - expected).max() < 1e-9
    rounded = [f"{x:.4f}" for x in q]  # digits of a printed table leave the loop open by less
    assert np.abs(robot.constraint_error([float(x) for x in rounded])).max() > 1e-6
    assert np.abs(printed_pose(linkwork(*options, "--q", *rounded)) - expected).max() < 1e-4


def test_velocities_and_accelerations_of_linkages_follow_from_those_that_are_named(linkwork):
    robot, state = lw.load("fourbar"), ("--q", "crank_hinge=1", "--v", "crank_hinge=6")
    motion = robot.drive_mechanism({"crank_hinge": [1.0]}, velocity={"crank_hinge": 6.0})
    ran = linkwork("dynamics", "fourbar", *state, "--a", "crank_hinge=0", "--actuators", "crank_hinge", "--json")
    data = json.loads(ran.out)
    np.testing.assert_allclose(data["v"], motion.v[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(data["inverse_dynamics"], motion.tau[0], rtol=0, atol=1e-9)
    assert data["kinetic_energy"] == pytest.approx(robot.kinetic_energy(motion.q[0], motion.v[0]), rel=1e-9)
    rounded = [f"{x:.5f}" for x in motion.v[0]]
    for v in (["crank_hinge=6"], rounded):
        ran = linkwork("simulate", "fourbar", *state[:2], "--v", *v, "--duration", "0.002", "--json")
        assert ran.code == 0 and abs(json.loads(ran.out)["v"][0][1] - motion.v[0, 1]) < 1e-4, ran.err
    for options, text in (
        (("fourbar", *state[:2], "--v", "6", "0", "0"), "--v: the constraints do not permit these values, by 2.9"),
        (("fourbar", *state, "--a", "0", "0", "0"), "--a: the constraints do not permit these values"),
        (("arm6", "--actuators", "elbow"), "--actuators: expected a robot with loops"),
    ):
        ran = linkwork("dynamics", *options)
        assert ran.code == 2 and text in ran.err and ran.out == "", ran


def test_configurations_that_leave_loops_open_are_refused(linkwork):
    for q, text in (
        (["1", "0", "0"], "--q: the configuration leaves loops open, by 0.52"),
        (["crank_hinge=1", "coupler_hinge=0"], "the fixed joints 'crank_hinge', 'coupler_hinge' determine each other"),
    ):
        ran = linkwork("pose", "fourbar", "--frame", "coupler_tip", "--q", *q)
        assert ran.code == 2 and text in ran.err and ran.out == "", ran


def test_named_configurations_of_files_that_leave_loops_open_are_reported(linkwork, tmp_path):
    robot = lw.load("fourbar").with_named_configuration("open", [1.0, 0.0, 0.0])
    file = tmp_path / "open.json"
    robot.save(file)
    options = (str(file), "--configuration", "open")
    for command in (
        ("pose", *options, "--frame", "coupler"),
        ("view", *options, "--html", str(tmp_path / "open.html")),
    ):
        ran = linkwork(*command)
        assert ran.code == 0 and "warning: the configuration violates the constraints: error 0.52" in ran.err, ran


@pytest.mark.parametrize("name", ["fourbar", "delta", "scissor_lift"])
def test_random_starts_of_simulations_of_linkages_are_assembled(name, linkwork):
    ran = linkwork("simulate", name, "--seed", "3", "--duration", "0.002", "--json")
    assert ran.code == 0, ran
    robot, data = lw.load(name), json.loads(ran.out)
    start = np.array(data["q"][0])
    assert np.abs(robot.constraint_error(start)).max() < 1e-9
    assert np.abs(robot.difference(start, robot.assemble().q)).max() > 1e-3
    joint = next(joint.name for joint in robot.joints if joint.nq == 1)
    (k,) = robot.q_index([joint])
    ran = linkwork("simulate", name, "--q", f"{joint}={start[k]}", "--duration", "0.002", "--json")
    assert ran.code == 0 and abs(json.loads(ran.out)["q"][0][k] - start[k]) < 1e-12, ran


def test_wrong_configurations_and_frames_on_the_command_line_are_refused(linkwork):
    for options, text in (
        (("pose", "arm6", "--frame", "tol"), "did you mean 'tool'"),
        (("pose", "arm6"), "required: --frame"),
        (("jacobian", "arm6", "--frame", "tool", "--point", "tol"), "did you mean 'tool'"),
        (("dynamics", "arm6", "--v", "1", "2"), "--v: expected 6 coordinates of v (shoulder_pan, "),
        (("ik", "arm6", "--frame", "tool"), "one of the arguments --pose --position is required"),
        (("ik", "arm6", "--frame", "tool", "--position", "1", "2"), "--position: expected X Y Z, got 2 numbers"),
        (
            ("ik", "arm6", "--frame", "tool", "--pose", "1", "2"),
            "--pose: expected X Y Z ROLL PITCH YAW, or X Y Z, got 2",
        ),
        (("distances", "arm6", "--q", "1"), "--q: expected 6 coordinates of q (shoulder_pan, "),
        (("distances", "arm6", "--q", "1"), "wrist_3), got 1 number"),
    ):
        ran = linkwork(*options)
        assert ran.code == 2 and text in ran.err and ran.out == "", (options, ran)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["fourbar", "delta", "differential_drive"])
def test_dynamics_command_of_robots_with_constraints_prints_the_values_of_the_python_methods(name, linkwork):
    robot = lw.load(name)
    q, rng = robot.assemble().q, np.random.default_rng(1)
    v, tau = robot.project(q, rng.normal(size=robot.nv))[1], rng.normal(size=robot.nv)
    a = robot.constrained_forward_dynamics(q, v, tau, passive=True).a
    texts = {key: [repr(x) for x in values.tolist()] for key, values in (("q", q), ("v", v), ("tau", tau), ("a", a))}
    options = [word for key, words in texts.items() for word in (f"--{key}", *words)]
    ran = linkwork("dynamics", name, "--passive", *options, "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    forward = robot.constrained_forward_dynamics(q, v, tau, passive=True)
    inverse = robot.constrained_inverse_dynamics(q, v, a, passive=True)
    assert data["constraint_names"] == [row for x in robot.constraints for row in x.component_names]
    for key, expected in (
        ("forward_dynamics", forward.a),
        ("forward_dynamics_constraint_forces", forward.constraint_forces),
        ("inverse_dynamics", inverse.tau),
        ("inverse_dynamics_constraint_forces", inverse.constraint_forces),
    ):
        np.testing.assert_array_equal(data[key], expected)
    G, M = robot.constraint_jacobian(q), np.array(data["mass_matrix"])
    for force, reaction in ((tau, "forward"), (data["inverse_dynamics"], "inverse")):
        acting = force + G.T @ data[f"{reaction}_dynamics_constraint_forces"] + robot.passive_force(q, v)
        np.testing.assert_allclose(M @ a + data["bias_force"], acting, rtol=0, atol=1e-9 * np.abs(acting).max())
    assert np.linalg.norm(G @ v) < 1e-9 < np.linalg.norm(v)
    ran = linkwork("dynamics", name, "--passive", *options)
    lines = ran.out.splitlines()
    header = next(k for k, line in enumerate(lines) if line.startswith("constraint forces"))
    assert ran.code == 0 and lines[header].split()[2:] == ["inverse", "dynamics", "forward", "dynamics"]
    rows = [line.split()[-2:] for line in lines[header + 2 : header + 2 + len(data["constraint_names"])]]
    printed = np.array(rows, dtype=float)
    np.testing.assert_allclose(printed[:, 1], forward.constraint_forces, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("line", "stated", "expected"),
    [
        (
            "pose arm6 --frame tool",
            "--q 30deg -90deg 60° 0.1 .5rad -1e1deg",
            f"--q {np.pi / 6} {-np.pi / 2} {np.pi / 3} 0.1 0.5 {-np.pi / 18}",
        ),
        ("pose arm6 --frame tool", "--base 300mm 2cm 1m 0 90deg 0.1rad", f"--base 0.3 0.02 1 0 {np.pi / 2} 0.1"),
        ("dynamics double_pendulum", "--q 30. deg -9 deg", f"--q {np.pi / 6} {-np.pi / 20}"),
        ("dynamics double_pendulum", "--v elbow=30rpm shoulder=-180deg/s", f"--v elbow={np.pi} shoulder={-np.pi}"),
        ("dynamics double_pendulum", "--payload tip 500g 0 1mm -2cm", "--payload tip 0.5 0 0.001 -0.02"),
        (
            "ik arm6 --frame tool",
            "--pose 300mm 0.1 40cm 0 90deg 0 --q-init elbow=-90deg",
            f"--pose 0.3 0.1 0.4 0 {np.pi / 2} 0 --q-init elbow={-np.pi / 2}",
        ),
    ],
    ids=["pose", "base", "apart", "velocity", "payload", "ik"],
)
def test_units_of_arguments_are_converted_to_si_units(line, stated, expected, linkwork):
    results = []
    for words in (stated, expected):
        ran = linkwork(*line.split(), *words.split(), "--json")
        assert ran.code == 0, ran.err
        data = json.loads(ran.out)
        results.append({name: x for name, x in data.items() if isinstance(x, list | float) and "names" not in name})
    assert results[0].keys() == results[1].keys() and results[0]
    for name, values in results[0].items():
        np.testing.assert_allclose(np.array(values, dtype=float), np.array(results[1][name], dtype=float), atol=1e-12)


@pytest.mark.light
@pytest.mark.parametrize(
    "text", ["0.3,-.7,0.9,-0.4,.5,.6", "[0.3, -0.7, 0.9, -0.4, 0.5, 0.6]", "(0.3,-0.7,0.9,-0.4,0.5,0.6)"]
)
def test_lists_of_python_and_of_spreadsheets_are_configurations(text, linkwork):
    robot = lw.load("arm6")
    for words in (["--q", text], ["--q", *text.split()]):
        ran = linkwork("pose", "--frame", "tool", *words, "arm6", "--json")
        np.testing.assert_array_equal(json.loads(ran.out)["pose"], robot.pose(np.array(Q), "tool"))
    ran = linkwork("pose", "arm6", "--frame", "tool", "--q", *["30", "deg", "-90", "deg", "0", "0", "0", "0"], "--json")
    expected = robot.pose([np.pi / 6, -np.pi / 2, 0, 0, 0, 0], "tool")
    np.testing.assert_allclose(json.loads(ran.out)["pose"], expected, atol=1e-15)


@pytest.mark.light
def test_payload_option_gives_the_same_robot_as_with_payload_in_python(linkwork):
    robot, q = lw.load("arm6"), np.array(Q)
    robot = robot.with_payload("load", "tool", 2.0, (0.0, 0.0, 0.1)).with_payload("case", "forearm", 1.0)
    options = ("--payload", "tool", "2", "0", "0", "0.1", "--payload", "forearm", "1")
    data = json.loads(linkwork("dynamics", *options, "arm6", "--q", *Q_TEXT, "--json").out)
    np.testing.assert_allclose(data["gravity_force"], robot.gravity_force(q), atol=1e-12)
    info = json.loads(linkwork("info", "arm6", *options, "--json").out)
    assert {"payload", "payload_2"} <= {link["name"] for link in info["links"]}


@pytest.mark.light
def test_files_of_moveit_add_named_configurations_and_limits(linkwork, tmp_path):
    srdf, limits = tmp_path / "arm.srdf", tmp_path / "joint_limits.yaml"
    state = '<group_state name="home" group="arm"><joint name="elbow" value="1.2"/></group_state>'
    srdf.write_text(f'<robot name="arm6">{state}<disable_collisions link1="forearm" link2="tol" reason="x"/></robot>')
    limits.write_text("joint_limits: {elbow: {has_velocity_limits: true, max_velocity: 2.5}}")
    options = ("arm6", "--srdf", str(srdf), "--joint-limits", str(limits))
    data = json.loads(linkwork("pose", *options, "--frame", "tool", "--configuration", "home", "--json").out)
    robot = lw.load("arm6")
    np.testing.assert_array_equal(data["pose"], robot.pose(robot.configuration({"elbow": 1.2}), "tool"))
    assert json.loads(linkwork("pose", *options, "--frame", "tool", "--q", "home", "--json").out) == data
    ran = linkwork("info", *options, "--json")
    elbow = next(joint for joint in json.loads(ran.out)["joints"] if joint["name"] == "elbow")
    assert "2.5" in json.dumps(elbow) and "2.5" not in json.dumps(json.loads(linkwork("info", "arm6", "--json").out))
    assert "of 'tol', which the robot does not have, is ignored [UNKNOWN_LINK]" in linkwork("info", *options).err
    for words, text in (
        (("--srdf", str(limits)), "not XML"),
        (("--srdf", "no.srdf"), "cannot read no.srdf"),
        (("--srdf", str(srdf), "--strict"), "[UNKNOWN_LINK]"),
        (("--joint-limits", str(srdf)), "arm.srdf"),
    ):
        ran = linkwork("info", "arm6", *words)
        assert ran.code == 3 and text in ran.err, ran.err


@pytest.mark.light
def test_configurations_beyond_limits_and_probable_degrees_are_reported(linkwork):
    ran = linkwork("pose", "arm7", "--frame", "tool", "--q", "elbow=90")
    assert ran.code == 0 and "warning: elbow = 90 is beyond its limits -3.07" in ran.err
    assert "; angles are in rad: write 90deg for degrees\n" in ran.err
    ran = linkwork("pose", "arm7", "--frame", "tool", "--q", *["9.5"] * 7)
    assert "and 4 more\n" in ran.err and "degrees" not in ran.err
    for words in (("--q", "elbow=-1"), ()):
        assert linkwork("pose", "arm7", "--frame", "tool", *words).err == ""
    for option in ("--q", "--target-q"):
        ran = linkwork("simulate", "arm7", option, "elbow=90", "--duration", "0.002", "--quiet", "--json")
        assert ran.code == 0 and ran.err == ""
        ran = linkwork("simulate", "arm7", option, "elbow=90", "--duration", "0.002")
        assert ran.err.count("write 90deg for degrees") == 1, ran.err
    slide = linkwork("pose", "arm7_gripper", "--frame", "tool", "--q", "left_finger_slide=90").err
    assert "left_finger_slide = 90 is beyond its limits" in slide and "degrees" not in slide


@pytest.mark.light
def test_large_angles_of_an_axis_with_large_limits_are_in_radians(linkwork, tmp_path):
    limit = '<axis xyz="0 0 1"/><limit lower="-400" upper="400" effort="1" velocity="1"/>'
    ends = '<parent link="base"/><child link="wheel"/>'
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = f'<link name="base"/><link name="wheel">{inertial}</link>'
    file = tmp_path / "wheel.urdf"
    file.write_text(f'<robot name="r">{links}<joint name="axle" type="revolute">{ends}{limit}</joint></robot>')
    ran = linkwork("pose", str(file), "--frame", "wheel", "--q", "500")
    assert "axle = 500 is beyond its limits -400 .. 400\n" in ran.err
    assert "beyond" not in linkwork("pose", str(file), "--frame", "wheel", "--q", "390").err


@pytest.mark.light
def test_gravity_option_of_commands_sets_the_gravity_of_load(linkwork):
    data = json.loads(linkwork("dynamics", "arm6", "--gravity", "1", "0", "-1.62", "--q", *Q_TEXT, "--json").out)
    robot = lw.load("arm6", gravity=(1.0, 0.0, -1.62))
    np.testing.assert_array_equal(data["gravity_force"], robot.gravity_force(np.array(Q)))
