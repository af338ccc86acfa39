"""Values of options from files: @FILE has the numbers that Python and other commands wrote."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.cli import states, stored_values, values

Q = np.array([0.3, -0.7, 0.9, -0.4, 0.5, 0.6])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(robot, *words, option="--q"):
    return states.configuration_of(robot, option, words, np.zeros(robot.nq))


def test_configurations_are_read_from_files_that_python_and_commands_write(files, linkwork):
    robot = lw.load("arm6")
    (files / "list.json").write_text(json.dumps(Q.tolist()))
    (files / "named.json").write_text(json.dumps({"elbow": 0.9, "shoulder_lift": -1}))
    backwards = {"q": Q[::-1].tolist(), "q_names": robot.q_names[::-1], "frame": "tool"}
    (files / "result.json").write_text(json.dumps(backwards))
    np.save(files / "q.npy", Q)
    np.savez(files / "q.npz", q=Q[::-1], q_names=np.array(robot.q_names[::-1]))
    np.savez(files / "one.npz", home=Q, away=-Q)
    np.savetxt(files / "column.txt", Q)
    np.savetxt(files / "row.csv", Q[None], delimiter=",")
    np.savetxt(files / "rows.csv", np.array([-Q, Q]), delimiter=",", header="comment")
    sorted_names = sorted(robot.q_names)
    header = ["t", *(f"q:{name}" for name in sorted_names), *(f"v:{name}" for name in sorted_names)]
    lines = [[k, *(k * Q[robot.q_names.index(x)] for x in sorted_names), *[7.0] * 6] for k in range(2)]
    (files / "motion.csv").write_text("\n".join([",".join(header), *(",".join(map(str, x)) for x in lines)]))
    for word in ("@list.json", "@result.json", "@q.npy", "@q.npz", "@one.npz:home", "@column.txt", "@row.csv"):
        np.testing.assert_array_equal(read(robot, word), Q, err_msg=word)
    for word in ("@rows.csv:1", "@rows.csv:-1", "@motion.csv:1", "@motion.csv:-1"):
        np.testing.assert_array_equal(read(robot, word), Q, err_msg=word)
    np.testing.assert_array_equal(read(robot, "@named.json"), [0, -1, 0.9, 0, 0, 0])
    np.testing.assert_array_equal(read(robot, "@list.json", "elbow=2"), [*Q[:2], 2, *Q[3:]])
    assert linkwork("ik", "arm6", "--frame", "tool", "--position", "0.3", "0.1", "0.4", "--output", "ik.csv").code == 0
    names, q = (files / "ik.csv").read_text().splitlines()
    assert names.split(",") == [*robot.q_names]
    np.testing.assert_array_equal(read(robot, "@ik.csv", option="--start"), [float(x) for x in q.split(",")])


def test_object_of_values_by_coordinate_may_have_the_symbol_of_the_vector_as_a_name(files):
    (files / "q.json").write_text('{"q": 0.25}')
    joint = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="q", parent="world", child="rod")
    robot = lw.Robot.build("pendulum", lw.Link("rod", mass=1.0), joint)
    np.testing.assert_array_equal(read(robot, "@q.json"), [0.25])


def test_state_of_a_stored_simulation_starts_a_command(files):
    robot = lw.load("double_pendulum")
    run = robot.simulate([0.4, 0.2], [1.0, -0.5], duration=0.02, dt=1e-3)
    run.save(files / "run.npz")
    run.to_csv(files / "run.csv")
    for word, symbol, expected in (("@run.npz:q:-1", "q", run.q[-1]), ("@run.npz:v:3", "v", run.v[3])):
        result = values.named_values(f"--{symbol}", [word], np.zeros(2), getattr(robot, f"{symbol}_names"), symbol)
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_allclose(read(robot, "@run.csv:-1"), run.q[-1], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(read(robot, "@run.npz:5"), run.q[5])  # the array "q" of the option --q


def test_poses_positions_and_limits_are_read_from_files(files, linkwork):
    X = lw.pose([0.3, 0.1, 0.4], rpy=[0.1, 0.2, 0.3])
    (files / "numbers.json").write_text("[0.3, 0.1, 0.4, 0.1, 0.2, 0.3]")
    (files / "matrix.json").write_text(json.dumps(X.tolist()))
    (files / "result.json").write_text(json.dumps({"pose": X.tolist(), "position": X[:3, 3].tolist(), "q": [1, 2]}))
    np.savetxt(files / "matrix.csv", X, delimiter=",")
    np.save(files / "path.npy", np.array([np.eye(4), X]))
    for word in ("@numbers.json", "@matrix.json", "@result.json", "@matrix.csv", "@path.npy:1"):
        np.testing.assert_allclose(values.pose_of("--pose tool", [word]), X, rtol=0, atol=1e-15, err_msg=word)
    np.testing.assert_array_equal(values.position_of("--position", ["@result.json"]), X[:3, 3])
    robot = lw.load("arm6")
    (files / "limits.json").write_text('{"elbow": [-1, 0.5]}')
    limits = values.limits_of(robot, ["@limits.json", "shoulder_lift=-2:2"])
    assert limits == {"elbow": (-1.0, 0.5), "shoulder_lift": (-2.0, 2.0)}
    ran = linkwork("pose", "arm6", "--frame", "tool", "--base", "@matrix.json", "--json")
    expected = X @ robot.pose(robot.neutral(), "tool")
    np.testing.assert_allclose(json.loads(ran.out)["pose"], expected, rtol=0, atol=1e-14)


def test_results_of_a_command_are_read_from_standard_input(monkeypatch, linkwork):
    class Pipe:
        buffer = io.BytesIO(json.dumps({"q": Q.tolist(), "q_names": lw.load("arm6").q_names}).encode())

    monkeypatch.setattr(sys, "stdin", Pipe())
    ran = linkwork("pose", "--frame", "tool", "--q", "@-", "arm6", "--json")
    assert json.loads(ran.out)["q"] == Q.tolist()


def test_tables_of_configurations_are_read_from_standard_input(monkeypatch, linkwork):
    robot = lw.load("arm6")
    rows = [Q.tolist(), (0.5 * Q).tolist()]
    table = "\n".join([",".join(robot.q_names), *(",".join(map(repr, row)) for row in rows)])
    for text in (table, "\n".join(" ".join(map(repr, row)) for row in rows), json.dumps(rows)):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        ran = linkwork("pose", "--frame", "tool", "--q", "@-", "arm6", "--json")
        np.testing.assert_allclose(json.loads(ran.out)["pose"], robot.pose(np.array(rows), "tool"), rtol=0, atol=1e-14)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"[1, 2")))
    ran = linkwork("pose", "--frame", "tool", "--q", "@-", "arm6")
    assert "--q: cannot read standard input as .json" in ran.err


def test_wrong_files_of_values_are_refused_with_a_remedy(files, linkwork):
    robot = lw.load("arm6")
    names = ",".join(robot.q_names)
    for name, content in {
        "short.json": "[1, 2]",
        "bad.json": "[1, 2",
        "typo.json": '{"elbo": 1}',
        "text.json": '{"q": ["a", "b"]}',
        "infinite.json": "[1, 2, 3, 4, 5, 1e999]",
        "several.json": '{"a": [1], "b": [2]}',
        "nothing.json": "null",
        "run.csv": f"{names}\n1,2,3,4,5,6\n2,3,4,5,6,7",
        "column.csv": "elbow,t\n1,2",
        "ragged.csv": "1,2\n3",
        "cell.csv": "1,2,3,4,5,6\n1,2,x,4,5,6",
    }.items():
        (files / name).write_text(content)
    np.savez(files / "object.npz", q=np.array([{}], dtype=object))
    (files / "bad.npz").write_bytes(b"PK no archive")
    for word, text in {
        "@short.json": "--q: expected 6 coordinates of q, got 2 numbers",
        "@bad.json": "--q: cannot read bad.json as .json",
        "@typo.json": "did you mean 'elbow'",
        "@text.json": "expected an array of numbers, got ['a', 'b']",
        "@infinite.json": "expected finite numbers, got inf",
        "@several.json": "expected an array 'q', got 'a', 'b'; name it: @FILE:NAME",
        "@several.json:c": "expected an array 'c', got 'a', 'b'",
        "@nothing.json": "expected an array with rows, got one of shape (0,)",
        "@run.csv": "expected one row, got 2; select one: @FILE:ROW, -1 for the last",
        "@run.csv:2": "expected a row from -2 to 1, got 2",
        "@run.csv:q": "run.csv has columns, expected @run.csv:ROW",
        "@column.csv": "also 'shoulder_pan', 'shoulder_lift', 'wrist_1', 'wrist_2', 'wrist_3', got 'elbow', 't'",
        "@ragged.csv": "expected rows of equal length",
        "@cell.csv": "could not convert string to float: 'x'",
        "@object.npz": "cannot read object.npz as .npz",
        "@bad.npz": "cannot read bad.npz as .npz",
        "@none.json": "--q: cannot read none.json: ",
        "@robot.urdf": "expected @FILE or @FILE:NAME:ROW, FILE a .json, .csv, .npz or .npy, got '@robot.urdf'",
    }.items():
        options = ("pose", "arm6", "--frame", "tool", "--q")
        if word == "@run.csv":  # of which `pose` takes all rows
            options = ("simulate", "arm6", "--duration", "0.1", "--q")
        ran = linkwork(*options, word)
        assert ran.code == 2 and text in ran.err and ran.out == "", (word, ran.err)
    ran = linkwork("ik", "arm6", "--frame", "tool", "--pose", "@short.json")
    assert "--pose: expected X Y Z ROLL PITCH YAW, or X Y Z, or a matrix (4, 4), got 2 numbers" in ran.err
    ran = linkwork("pose", "arm6", "--frame", "tool", "--q", "@run.csv:0", "3")
    assert ran.code == 2 and "expected NAME=NUMBER after a file" in ran.err
    (files / "limits.json").write_text('{"elbow": [1]}')
    with pytest.raises(ValueError, match=r"--position-limits: @limits.json: elbow: expected \[LOW, HIGH\], got \[1\]"):
        values.limits_of(robot, ["@limits.json"])


def test_pose_command_prints_the_poses_of_all_configurations_of_a_table(files, linkwork):
    robot, table = lw.load("arm6"), np.array([Q, -0.5 * Q, 0.2 * Q])
    X = robot.pose(table, "tool")
    np.savetxt(files / "rows.csv", table, delimiter=",")
    np.savez(files / "run.npz", q=table[:, ::-1], q_names=np.array(robot.q_names[::-1]))
    lines = [",".join(map(str, row)) for row in table.tolist()]
    (files / "named.csv").write_text("\n".join([",".join(f"q:{name}" for name in robot.q_names), *lines]))
    for file in ("@rows.csv", "@run.npz", "@run.npz:q", "@named.csv"):
        data = json.loads(linkwork("pose", "arm6", "--frame", "tool", "--q", file, "--json").out)
        np.testing.assert_array_equal(data["pose"], X, err_msg=file)
        np.testing.assert_array_equal(data["q"], table)
        np.testing.assert_allclose(data["position"], X[:, :3, 3])
    text = linkwork("pose", "arm6", "--frame", "tool", "--q", "@rows.csv").out.splitlines()
    assert text[2].split() == ["row", *"xyz", "roll", "pitch", "yaw", "qw", "qx", "qy", "qz"] and len(text) == 9
    printed = np.array([line.split() for line in text[4:7]], dtype=float)
    np.testing.assert_allclose(printed[:, 1:4], X[:, :3, 3], atol=1e-5)
    np.testing.assert_allclose(lw.pose(printed[:, 1:4], rpy=printed[:, 4:7]), X, atol=1e-5)
    second = linkwork("pose", "arm6", "--frame", "tool", "--q", "@rows.csv:1", "--json")
    np.testing.assert_array_equal(json.loads(second.out)["pose"], X[1])
    (files / "short.csv").write_text("1,2\n3,4\n")
    ran = linkwork("pose", "arm6", "--frame", "tool", "--q", "@short.csv")
    assert ran.code == 2 and "--q: expected 6 coordinates of q, got 2 numbers" in ran.err


def test_commands_write_the_results_of_a_table_as_a_table(files, linkwork):
    robot, q = lw.load("arm6"), np.array([Q, -0.5 * Q, 0.2 * Q])
    v, a = q[:, ::-1] + 0.1, 0.3 * q - 1.0
    for name, rows in (("q", q), ("v", v), ("a", a)):
        np.savetxt(files / f"{name}.csv", rows, delimiter=",")

    def written(command, *options):
        """Return the table as an array with names, and the arrays of the archive."""
        for ending in ("csv", "npz"):
            ran = linkwork(command, "arm6", *options, "--q", "@q.csv", "--output", f"{command}.{ending}")
            assert ran.code == 0 and f"written to {command}.{ending}" in ran.out, ran
        text = (files / f"{command}.csv").read_text().splitlines()
        return text[0].split(","), [line.split(",") for line in text[1:]], np.load(files / f"{command}.npz")

    names, rows, archive = written("pose", "--frame", "tool")
    X, table = robot.pose(q, "tool"), np.array(rows, dtype=float)
    np.testing.assert_array_equal(archive["pose"], X)
    np.testing.assert_allclose(lw.pose(table[:, :3], quaternion_wxyz=table[:, 6:]), X, atol=1e-14)
    assert names == ["x", "y", "z", "roll", "pitch", "yaw", "qw", "qx", "qy", "qz"]

    names, rows, archive = written("jacobian", "--frame", "tool")
    J = robot.jacobian(q, "tool")
    np.testing.assert_array_equal(archive["jacobian"], J)
    np.testing.assert_array_equal(np.array([row[2:] for row in rows], dtype=float).reshape(3, 6, 6), J)
    assert names == ["row", "component", *robot.v_names] and [*map(tuple, np.array(rows)[6:8, :2])] == [
        ("1", "wx"),
        ("1", "wy"),
    ]

    names, rows, archive = written("dynamics", "--v", "@v.csv", "--a", "@a.csv")
    table, expected = np.array(rows, dtype=float), robot.inverse_dynamics(q, v, a)
    np.testing.assert_array_equal(archive["inverse_dynamics"], expected)
    np.testing.assert_array_equal(archive["mass_matrix"], robot.mass_matrix(q))
    columns = [k for k, name in enumerate(names) if name.startswith("inverse_dynamics:")]
    np.testing.assert_array_equal(table[:, columns], expected)
    np.testing.assert_array_equal(table[:, names.index("kinetic_energy")], robot.kinetic_energy(q, v))

    names, rows, archive = written("distances")
    result = robot.distances(q)
    np.testing.assert_array_equal(np.array(rows, dtype=float), result.distance)
    assert names == [f"{a}:{b}" for a, b in result.pairs] == [f"{a}:{b}" for a, b in archive["pairs"].tolist()]
    ran = linkwork("distances", "arm6", "--q", "@q.csv")
    nearest = result.pairs[int(result.distance[1].argmin())]
    assert ran.out.splitlines()[5].split() == ["1", *nearest, f"{1e3 * result.distance[1].min():.1f}"]

    ran = linkwork("jacobian", "arm6", "--frame", "tool", "--q", "@q.csv:2", "--output", "one.json")
    assert ran.code == 0 and json.loads((files / "one.json").read_text())["jacobian"] == J[2].tolist()
    again = linkwork("jacobian", "arm6", "--frame", "tool", "--output", "one.json")
    assert again.code == 2 and "--force" in again.err


def test_tables_of_unequal_lengths_and_without_all_coordinates_are_refused(files, linkwork):
    np.savetxt(files / "q.csv", np.array([Q, Q, Q]), delimiter=",")
    np.savetxt(files / "v.csv", np.array([Q, Q]), delimiter=",")
    (files / "few.csv").write_text("elbow,t\n1,0\n2,1\n")
    pose = ("pose", "arm6", "--frame", "tool", "--q")
    for words, text in (
        (("dynamics", "arm6", "--q", "@q.csv", "--v", "@v.csv"), "--v: expected one row, or 3 as the"),
        (("dynamics", "arm6", "--q", "@q.csv", "--tau", "@v.csv"), "equal numbers of rows, got 3 of --q, 2 of --tau"),
        (("simulate", "arm6", "--v", "@v.csv", "--duration", "0.1"), "--v: @v.csv: expected one row, got 2"),
        ((*pose, "@few.csv"), "expected columns of all coordinates, also 'shoulder_pan', 'shoulder_lift'"),
        ((*pose, "-"), "got '-'; @- reads standard input"),
    ):
        ran = linkwork(*words)
        assert ran.code == 2 and text in ran.err and ran.out == "", ran


def test_velocities_of_all_rows_of_a_table_follow_from_the_constraints(files, linkwork):
    fourbar = lw.load("fourbar")
    driver = fourbar.v_names[0]
    motion = fourbar.drive_mechanism({driver: [0.3, 0.7]}, velocity={driver: 2.0})
    np.savez(files / "run.npz", q=motion.q, v=motion.v)
    options = ("dynamics", "fourbar", "--q", "@run.npz", "--json", "--actuators", driver, "--a", f"{driver}=0")
    for v in ("@run.npz", f"{driver}=2"):
        data = json.loads(linkwork(*options, "--v", v).out)
        np.testing.assert_allclose(data["v"], motion.v, rtol=0, atol=1e-9)
        np.testing.assert_allclose(data["inverse_dynamics"], motion.tau, rtol=0, atol=1e-8)


def test_a_table_is_read_once(files, linkwork, monkeypatch):
    np.savetxt(files / "one.csv", Q[None], delimiter=",")
    (files / "one.json").write_text(json.dumps(Q.tolist()))
    read, opened = stored_values.read_regular, []
    monkeypatch.setattr(stored_values, "read_regular", lambda file, budget: opened.append(file) or read(file, budget))
    for name in ("one.csv", "one.json"):
        assert linkwork("pose", "arm6", "--frame", "tool", "--q", f"@{name}").code == 0
    assert opened == ["one.csv", "one.json"]


def test_tables_of_configurations_of_mechanisms_close_their_loops(files, linkwork):
    fourbar = lw.load("fourbar")
    driver = fourbar.q_names[0]
    whole = np.array([fourbar.assemble(hold={driver: x}).q for x in (0.1, 0.4)])
    np.savetxt(files / "rows.csv", np.round(whole, 4), delimiter=",")
    data = json.loads(linkwork("pose", "fourbar", "--frame", fourbar.frames[-1], "--q", "@rows.csv", "--json").out)
    np.testing.assert_allclose(data["q"], whole, atol=3e-4)
    rounded, closed = (np.abs(fourbar.constraint_error(q)).max() for q in (np.round(whole, 4), np.array(data["q"])))
    assert closed < 1e-9 < 1e-6 < rounded


def test_quoted_names_in_the_header_of_a_table_may_have_commas_and_blanks():
    table = stored_values._cells('"slide, left","lift up"\n1,2\n3,4\n')
    assert table.header == ["slide, left", "lift up"] and table.rows == [["1", "2"], ["3", "4"]]


def test_files_of_failed_results_are_read_with_a_warning(files, linkwork):
    result = {"q": Q.tolist(), "success": False, "status": "out_of_reach"}
    (files / "failed.json").write_text(json.dumps(result))
    ran = linkwork("pose", "arm6", "--frame", "tool", "--q", "@failed.json")
    assert ran.code == 0 and "warning: --q: the result of @failed.json has the status out_of_reach" in ran.err
    (files / "solved.json").write_text(json.dumps(result | {"success": True}))
    assert linkwork("pose", "arm6", "--frame", "tool", "--q", "@solved.json").err == ""


def test_angles_of_poses_that_are_probably_degrees_are_a_warning_of_the_command(linkwork):
    options = ("ik", "arm6", "--frame", "tool", "--pose", "0.4", "0", "0.4", "180", "0", "0")
    ran = linkwork(*options)
    assert ran.err.startswith(
        "linkwork: warning: --pose: angles are in rad, and 180 rad are 28.6 revolutions; write deg"
    )
    assert linkwork(*options, "--quiet").err == ""
