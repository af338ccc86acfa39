"""The command `linkwork plan`: its output is the path that the robot plans."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import linkwork as lw

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><collision><origin xyz="0.2 0 0" rpy="0 1.5707963267948966 0"/>
<geometry><cylinder radius="0.03" length="0.34"/></geometry></collision></link>
<link name="hand"><collision><origin xyz="0.2 0 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="1" velocity="2"/></joint>
<joint name="k" type="revolute"><parent link="upper"/><child link="hand"/><axis xyz="0 0 1"/><origin xyz="0.4 0 0"/>
<limit lower="-2.5" upper="2.5" effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture
def files(tmp_path, urdf):
    scene = tmp_path / "scene.json"
    obstacles = lw.Scene().with_sphere("post", 0.06, (0.55, 0.0, 0.0))
    scene.write_text(obstacles.to_json(), encoding="utf-8")
    return urdf(ARM), str(scene), obstacles


@pytest.mark.slow(every=5)
def test_plan_command_starts_at_the_middle_of_joint_limits_that_exclude_zero(linkwork, urdf, files):
    file = urdf(ARM.replace('lower="-2.5"', 'lower="0.5"'), "bent.urdf")
    data = json.loads(linkwork("plan", file, "--scene", files[1], "--goal", "j=0.5", "--json").out)
    assert data["path"][0] == [0.0, 1.5] and data["path"][-1] == [0.5, 1.5]


def test_plan_command_locks_joints_where_they_start(linkwork, files):
    file, scene, _ = files
    command = ("plan", file, "--scene", scene, "--start", "j=1.2", "k=0.3")
    data = json.loads(linkwork(*command, "--goal", "j=0.7", "--lock", "k", "--json").out)
    assert data["status"] == "solved" and {q[1] for q in data["path"]} == {0.3} and data["path"][-1][0] == 0.7
    beyond = json.loads(linkwork(*command, "--goal", "j=-1.2", "--lock", "k", "--time-limit", "0.5", "--json").out)
    assert beyond["status"] != "solved"  # the post is in the way of the stretched arm
    for goal, joint, message in (
        (("k=0.4",), "k", "--lock: k starts at 0.3, and a goal moves it to 0.4"),
        (("j=0.4",), "kk", "did you mean 'k'"),
    ):
        ran = linkwork(*command, "--goal", *goal, "--lock", joint)
        assert ran.code == 2 and message in ran.err


@pytest.mark.slow(every=5)
def test_plan_command_prints_and_writes_the_robots_path(linkwork, files, tmp_path):
    file, scene, obstacles = files
    robot = lw.load(file)
    start, goal = np.array([-1.0, 0.3]), np.array([1.0, -0.3])
    command = (file, "--scene", scene, "--start", "j=-1", "k=0.3", "--goal", "1.0,", "-0.3", "--seed", "2")
    ran = linkwork("plan", *command, "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    plan = robot.plan(start, [goal], obstacles, seed=2)
    assert data["status"] == "solved" and data["path"] == plan.path.tolist() and data["cost"] == plan.cost
    assert data["names"] == ["j", "k"] and data["seed"] == 2 and not data["timed"] and data["output"] is None
    steps = np.linalg.norm(np.diff(plan.path, axis=0), axis=1)
    assert np.allclose(data["times"], [0.0, *np.cumsum(steps)])
    ran = linkwork("plan", *command, "--method", "optimal", "--max-iterations", "2", "--time-limit", "300", "--json")
    better = robot.plan(start, [goal], obstacles, seed=2, method="optimal", max_iterations=2, time_limit=300.0)
    assert json.loads(ran.out)["path"] == better.path.tolist() and better.cost <= plan.cost
    limits = {"j": (-1.5, 1.2), "k": (-2.0, 2.0)}
    ran = linkwork("plan", *command, "--position-limits", "j=-1.5:1.2", "--position-limits", "k=-2:2", "--json")
    assert (
        json.loads(ran.out)["path"]
        == robot.plan(start, [goal], obstacles, seed=2, position_limits=limits).path.tolist()
    )
    ran = linkwork("plan", *command, "--position-limits", "j=-1.5:0.5", "--json")
    assert ran.code == 1 and json.loads(ran.out)["status"] == "goal_outside_limits"
    # timed, and written: the same from the file as from the robot
    for ending in ("npz", "csv"):
        output = tmp_path / f"way.{ending}"
        ran = linkwork("plan", *command, "--acceleration", "5", "--output", str(output), "--json")
        data = json.loads(ran.out)
        timed = plan.timed(acceleration=5.0).trajectory
        written = lw.motion.Trajectory.load(output, robot=robot)
        assert data["timed"] and data["output"] == str(output)
        assert written.duration == pytest.approx(timed.duration) == pytest.approx(data["times"][-1])
        assert np.allclose(written(data["times"]).q, plan.path, atol=1e-6)
    assert written.extremes(1).upper.max() <= 2.0 + 1e-6
    # people get a table of the same way points
    ran = linkwork("plan", *command, "--acceleration", "5")
    rows = [line.split() for line in ran.out.splitlines()]
    first = next(k for k, row in enumerate(rows) if row == ["t", "[s]", "j", "k"])
    shown = np.array([[float(x) for x in row] for row in rows[first + 2 : first + 2 + len(plan.path)]])
    assert np.allclose(shown[:, 2:], plan.path, atol=5e-5) and np.allclose(shown[:, 1], data["times"], rtol=1e-3)
    assert "proved collision-free" in ran.out and "planning" not in ran.out


def test_plan_command_times_paths_within_the_acceleration_limits_of_the_robot(linkwork, tmp_path):
    """A straight path of 0.5 rad from rest to rest within a = 2 rad/s² takes 2 √(0.5/2) = 1 s."""
    limits = {
        "has_acceleration_limits": True,
        "max_acceleration": 2.0,
        "has_velocity_limits": True,
        "max_velocity": 1.0,
    }
    file = tmp_path / "joint_limits.json"
    file.write_text(json.dumps({"joint_limits": {"shoulder": limits, "elbow": limits}}), encoding="utf-8")
    command = ("double_pendulum", "--joint-limits", str(file), "--start", "0", "0", "--goal", "0.5", "0.3", "--json")
    for more, duration in (((), 1.0), (("--acceleration", "100"), 1.0), (("--acceleration", "1"), 2.0**0.5)):
        data = json.loads(linkwork("plan", *command, *more).out)
        assert data["timed"] and data["times"][-1] == pytest.approx(duration, rel=1e-4), more


@pytest.mark.slow(every=5)
def test_plan_command_accepts_poses_configurations_and_several_goals(linkwork, files):
    """A pose, several goals, sampled edges, and one that cannot be."""
    file, scene, _ = files
    robot = lw.load(file)
    X = robot.pose([0.9, -0.5], "hand")
    position = [f"{x:.17g}" for x in X[:3, 3]]
    yaw = f"{np.arctan2(X[1, 0], X[0, 0]):.17g}"
    command = ("--pose", "hand", *position, "0", "0", yaw, "--json")
    data = json.loads(
        linkwork("plan", file, "--scene", scene, "--start", "-1", "0.3", *command, "--collision-check", "sampled").out
    )
    assert data["status"] == "solved" and data["collision_check"] == "sampled" and data["goal"] == 0
    assert np.abs(lw.pose_difference(robot.pose(data["path"][-1], "hand"), X)).max() < 1e-5
    # two goals, the first of which is where the post is
    ran = linkwork("plan", file, "--scene", scene, "--start", "j=-1", "--goal", "j=0", "--goal", "j=-1.3", "--json")
    data = json.loads(ran.out)
    assert ran.code == 0 and data["goal"] == 1 and data["path"][-1] == [-1.3, 0.0]
    ran = linkwork("plan", file, "--scene", scene, "--start", "j=-1", "--goal", "j=0", "--json")
    data = json.loads(ran.out)
    assert ran.code == 1 and data["status"] == "goal_in_collision" and "post" in data["message"]
    assert data["path"] == [] and data["cost"] is None and data["times"] is None
    ran = linkwork("plan", file, "--scene", scene, "--start", "j=-1", "--goal", "j=0")
    assert ran.code == 1 and "goal_in_collision" in ran.out and "'post'" in ran.out


@pytest.mark.slow(every=5)
def test_plan_command_writes_a_picture(linkwork, files, tmp_path):
    pytest.importorskip("matplotlib")
    file, scene, _ = files
    picture = tmp_path / "way.svg"
    ran = linkwork("plan", file, "--scene", scene, "--start", "j=-1", "--goal", "j=1", "--plot", str(picture))
    assert ran.code == 0, ran.err
    assert picture.read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_plan_command_reports_wrong_usage(linkwork, files, tmp_path, urdf):
    file, scene, _ = files
    path_file = tmp_path / "way.csv"
    output_file = tmp_path / "there.csv"
    output_file.write_text("kept", encoding="utf-8")
    bare = urdf('<robot name="bare"><link name="a"/></robot>', "bare.urdf")
    for arguments, code, said in (
        ((file,), 2, "expected a goal"),
        ((file, "--goal", "1"), 2, "--goal: expected 2 coordinates of q (j, k), got 1 number"),
        ((file, "--goal", "1", "nan"), 2, "--goal: k: expected a finite number, got 'nan'"),
        ((file, "--goal", "jj=1"), 2, "did you mean 'j'"),
        ((file, "--goal", "j=1", "2"), 2, "got both"),
        ((file, "--start", "j=x", "--goal", "j=1"), 2, "--start: j: expected a finite number"),
        ((file, "--pose", "hnad", "0", "0", "0"), 2, "hand"),
        ((file, "--pose", "hand", "0", "0"), 2, "--pose hand: expected X Y Z"),
        ((file, "--goal", "j=1", "--output", "way.txt"), 2, ".npz, .csv, .yaml"),
        ((file, "--goal", "j=1", "--output", "nowhere/way.csv"), 2, "the folder does not exist"),
        ((file, "--goal", "j=1", "--output", str(output_file)), 2, "exists already; pass --force to replace it"),
        ((file, "--goal", "j=1", "--plot", str(tmp_path)), 2, "this is a directory"),
        ((file, "--goal", "j=1", "--scene", str(tmp_path)), 2, "expected a regular file, got a directory"),
        ((file, "--goal", "j=1", "--scene", os.devnull), 2, "expected a regular file, got a device"),
        ((file, "--goal", "j=1", "--time-limit", "nan"), 2, ">= 0"),
        ((file, "--goal", "j=1", "--scene", "nowhere.json"), 2, "cannot read nowhere.json"),
        ((bare, "--goal", "0"), 2, "expected 0 coordinates of q, got 1 number"),
        ((file, "--goal", "j=1", "--position-limits", "jj=0:1"), 2, "did you mean 'j'"),
        (
            (file, "--goal", "j=1", "--position-limits", "j=0"),
            2,
            "--position-limits: expected NAME=LOW:HIGH, got 'j=0'",
        ),
        (
            (file, "--goal", "j=1", "--position-limits", "j=0:x"),
            2,
            "--position-limits: j: expected a finite number, got 'x'",
        ),
        ((file, "--goal", "j=1", "--max-iterations", "-1"), 2, ">= 0"),
        ((file, "--goal", "j=1", "--frame", "hnad", "--output", str(path_file)), 2, "did you mean 'hand'"),
    ):
        ran = linkwork("plan", *arguments)
        assert ran.code == code and said in ran.err and not ran.out, (arguments, ran.err)
    assert not path_file.exists() and output_file.read_text(encoding="utf-8") == "kept"
    ran = linkwork(
        "plan", file, "--scene", scene, "--start", "j=-1", "--goal", "j=1", "--output", str(output_file), "--force"
    )
    assert ran.code == 0, ran.err
    assert output_file.read_text(encoding="utf-8").startswith("length,")


@pytest.mark.slow(every=5)
def test_plan_command_checks_meshes_by_their_convex_hulls(linkwork, files, tmp_path, urdf):
    trimesh = pytest.importorskip("trimesh")
    _, scene, obstacles = files
    models = tmp_path / "models"
    (models / "arm").mkdir(parents=True)
    trimesh.creation.box((0.1, 0.1, 0.1)).export(models / "arm" / "hand.stl")
    mesh = '<mesh filename="package://arm/hand.stl"/>'
    file = urdf(ARM.replace('<sphere radius="0.05"/>', mesh), "meshes.urdf")
    options = (file, "--scene", scene, "--start", "j=-1", "--goal", "j=1")
    for command in (("plan", *options), ("distances", file)):
        ran = linkwork(*command)
        assert ran.code == 2 and "package://arm/hand.stl; pass their folder as --meshes FOLDER: " in ran.err
        ran = linkwork(*command, "--meshes", str(tmp_path / "none"))
        assert ran.code == 3 and "is not a folder" in ran.err
    ran = linkwork("plan", *options, "--meshes", str(models), "--json")
    plan = lw.load(file).with_collision_hulls(models).plan([-1.0, 0.0], [[1.0, 0.0]], obstacles)
    data = json.loads(ran.out)
    assert ran.code == 0 and data["path"] == plan.path.tolist() and data["first_call_seconds"] >= data["seconds"] > 0.0
    ran = linkwork("distances", file, "--scene", scene, "--meshes", str(models), "--samples", "20", "--json")
    assert ran.code == 0 and len(json.loads(ran.out)["pairs"]) == 2
    beside = urdf(ARM.replace('<sphere radius="0.05"/>', mesh.replace("package://", "models/")), "beside.urdf")
    again = linkwork("distances", beside, "--scene", scene, "--samples", "20", "--json")  # where the file names it
    assert again.code == 0 and json.loads(again.out)["pairs"] == json.loads(ran.out)["pairs"]


def test_messages_of_failed_plans_name_options_of_the_command(linkwork, tmp_path):
    lw.Scene().with_sphere("ball", 3.0, (0.4, 0.0, 0.4)).save(tmp_path / "scene.json")
    words = ("plan", "arm6", "--goal", "0.3", "0.3", "0.3", "0", "0", "0", "--scene", str(tmp_path / "scene.json"))
    ran, data = linkwork(*words, "--quiet"), json.loads(linkwork(*words, "--json").out)
    assert ran.code == 1 and ran.err == ""  # progress is quiet, too
    for text in (ran.out, data["message"]):
        assert "--output FILE.html draws it" in text and "show()" not in text


def test_plan_command_plans_robots_without_pairs_that_can_collide(linkwork, urdf):
    link = '<link name="{}"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
    joint = '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>{}</joint>'
    limit = '<limit lower="-2" upper="2" effort="1" velocity="1"/>'
    file = urdf(f'<robot name="two">{link.format("a")}{link.format("b")}{joint.format(limit)}</robot>')
    ran = linkwork("plan", file, "--start", "-1", "--goal", "1.5", "--json")
    data = json.loads(ran.out)
    assert ran.code == 0 and data["status"] == "solved" and data["path"] == [[-1.0], [1.5]], ran
    ran = linkwork("distances", file, "--q", "0")
    assert ran.code == 3 and "no enabled collision pair: pass --scene FILE" in ran.err, ran


def test_plan_command_lets_pairs_touch_that_an_option_names(linkwork, urdf):
    shape = '<collision><origin xyz="{}"/><geometry><sphere radius="0.1"/></geometry></collision>'
    links = {"base": "0 0 0", "first": "1 0 0", "tip": "0 1 0"}
    text = "".join(f'<link name="{name}">{shape.format(at)}</link>' for name, at in links.items())
    limit = '<axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/>'
    for name, parent, child in (("j", "base", "first"), ("k", "first", "tip")):
        text += f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>{limit}</joint>'
    file = urdf(f'<robot name="three">{text.replace("0 1 0", "0.1998 0 0")}</robot>')
    options = ("plan", "--start", "0", "0", "--goal", "0.5", "0.1")
    ran = linkwork(*options, file)
    assert ran.code == 1 and "--touching base tip lets them touch" in ran.out, ran
    ran = linkwork(*options, "--touching", "base", "tip", file)
    assert ran.code == 0 and "three: solved" in ran.out, ran
    assert linkwork(*options, "--touching", "base", "tpi", file).code == 2
