"""Trajectories as messages of ROS: values at way points, twists by finite differences, round trips and bad messages."""

import json

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.errors import ModelError, UnknownNameError
from linkwork.motion import Trajectory

ARM = lw.load("arm6")


def arm_motion():
    rng = np.random.default_rng(0)
    return ARM.spline(np.cumsum(rng.uniform(0.2, 0.8, 6)), ARM.random_configuration(seed=1, size=6))


PLACEMENT = lw.pose((0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1))


def flying_motion(kind="floating"):
    """A motion of a robot with a floating or a planar base, in general position."""
    joint = {"floating": lw.joints.Floating(), "planar": lw.joints.Planar((0.6, 0.0, 0.8), (0.0, 1.0, 0.0))}[kind]
    robot = lw.Robot.build(
        "flyer",
        lw.Link("hull", mass=1.0),
        lw.Link("arm", mass=0.5),
        lw.Joint.of(joint, name="base", parent="world", child="hull", placement=PLACEMENT),
        lw.Joint.of(lw.joints.Revolute((0, 0.6, 0.8)), name="elbow", parent="hull", child="arm"),
    )
    rng = np.random.default_rng(2)
    q = robot.neutral()
    points = [q := robot.integrate(q, rng.normal(scale=0.8, size=robot.nv)) for _ in range(5)]
    return robot, robot.spline(np.linspace(0.0, 2.0, 5), points)


def seconds(duration, version=2):
    keys = ("sec", "nanosec") if version == 2 else ("secs", "nsecs")
    assert set(duration) == set(keys) and 0 <= duration[keys[1]] < 10**9
    return duration[keys[0]] + 1e-9 * duration[keys[1]]


@pytest.mark.parametrize("version", [1, 2])
def test_ros_joint_trajectory_has_the_states_at_knots_or_equal_steps(version):
    motion = arm_motion()
    forms = (
        ({}, motion.knots),
        ({"rate": 48.0}, [*(motion.start_time + np.arange(np.ceil(48 * motion.duration)) / 48), motion.end_time]),
        ({"times": [1, 2]}, [1, 2]),
    )
    for options, times in forms:
        message = motion.to_ros(**options, ros_version=version)
        assert message["joint_names"] == [*ARM.q_names] and set(message) == {"header", "joint_names", "points"}
        assert len(message["points"]) == len(times)
        for t, point in zip(times, message["points"], strict=True):
            state = motion(t)
            assert abs(seconds(point["time_from_start"], version) - (t - motion.start_time)) < 1e-9
            for key, x in (("positions", state.q), ("velocities", state.v), ("accelerations", state.a)):
                assert point[key] == x.tolist()


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("ending", [".yaml", ".yml", ".json"])
@pytest.mark.parametrize("version", [1, 2])
def test_saved_ros_message_loads_as_the_same_motion(ending, version, tmp_path):
    motion = arm_motion()
    path = tmp_path / f"motion{ending}"
    motion.save(path, rate=200.0, ros_version=version)
    read = json.loads if ending == ".json" else yaml.safe_load
    assert read(path.read_text()) == motion.to_ros(rate=200.0, ros_version=version)  # as other readers do
    for trusted in (True, False):
        loaded = Trajectory.load(path, robot=ARM, trusted=trusted)
        t = np.linspace(0.0, loaded.duration, 301)
        assert abs(loaded.duration - motion.duration) < 1e-9
        expected = motion(np.minimum(t + motion.start_time, motion.end_time))
        assert np.abs(loaded(t).q - expected.q).max() < 1e-5  # the jerk jumps between way points
    motion.save(path, ros_version=version)
    loaded = Trajectory.load(path, robot=ARM)
    inside = np.linspace(motion.start_time, motion.end_time, 301)
    later = np.clip(inside - motion.start_time, 0.0, loaded.end_time)
    assert np.abs(loaded(later).q - motion(inside).q).max() < 1e-7
    assert np.abs(loaded(later).v - motion(inside).v).max() < 1e-6


@pytest.mark.parametrize("ending", [".csv", ".yaml"])
def test_trajectory_files_at_a_rate_have_steps_of_exactly_one_period_and_a_shorter_last_step(ending, tmp_path):
    motion = ARM.spline([0.0, 1.0333], [[0.0] * ARM.nq, [0.5] * ARM.nq])
    motion.save(tmp_path / f"motion{ending}", rate=50.0)
    if ending == ".csv":
        times = np.loadtxt(tmp_path / "motion.csv", delimiter=",", skiprows=1)[:, 0]
    else:
        points = yaml.safe_load((tmp_path / "motion.yaml").read_text())["points"]
        times = np.array([seconds(point["time_from_start"], 2) for point in points])
    np.testing.assert_allclose(times, [*(0.02 * np.arange(52)), 1.0333], atol=1e-9)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_moveit_robot_trajectory_contains_the_floating_base_with_its_twists(kind, tmp_path):
    robot, motion = flying_motion(kind)
    message = motion.to_ros(rate=40.0)
    assert message["joint_trajectory"]["joint_names"] == ["elbow"]
    multi = message["multi_dof_joint_trajectory"]
    assert multi["joint_names"] == ["base"] and multi["header"]["frame_id"] == "world"

    def transform(t):
        return np.linalg.inv(PLACEMENT) @ robot.pose(motion(t).q, "hull")

    h = 1e-5
    for t, point in zip(motion.sampled(dt=1.0 / 40.0)[0][1:-1], multi["points"][1:-1], strict=True):
        X, (now,) = transform(t), point["transforms"]
        quaternion = [now["rotation"][x] for x in "xyzw"]
        assert np.abs(Rotation.from_quat(quaternion).as_matrix() - X[:3, :3]).max() < 1e-14
        assert np.abs([now["translation"][x] for x in "xyz"] - X[:3, 3]).max() < 1e-14
        ahead, behind = transform(t + h), transform(t - h)
        (twist,), (second,) = point["velocities"], point["accelerations"]
        linear, angular = ([twist[key][x] for x in "xyz"] for key in ("linear", "angular"))
        assert np.abs((ahead[:3, 3] - behind[:3, 3]) / (2 * h) - linear).max() < 1e-8
        turn = Rotation.from_matrix(ahead[:3, :3] @ behind[:3, :3].T).as_rotvec() / (2 * h)
        assert np.abs(turn - angular).max() < 1e-8
        if np.abs(motion.knots - t).min() > 2 * h:
            sides = [motion.to_ros(times=[t - s * h, t + h])["multi_dof_joint_trajectory"]["points"][0] for s in (1, 0)]
            sides += [motion.to_ros(times=[t + h, t + 2 * h])["multi_dof_joint_trajectory"]["points"][0]]
            for key in ("linear", "angular"):
                rate = [sides[2]["velocities"][0][key][x] - sides[0]["velocities"][0][key][x] for x in "xyz"]
                assert np.abs(np.array(rate) / (2 * h) - [second[key][x] for x in "xyz"]).max() < 1e-5
    motion.save(tmp_path / "motion.yaml", rate=200.0)
    loaded = Trajectory.load(tmp_path / "motion.yaml", robot=robot)
    t = np.linspace(0.0, 2.0, 333)
    assert np.abs(robot.difference(motion(t).q, loaded(t).q)).max() < 1e-6
    assert np.abs(motion(t).v - loaded(t).v).max() < 1e-4
    knots = motion.to_ros()
    (tmp_path / "knots.json").write_text(json.dumps({"trajectory": knots}))
    again = Trajectory.load(tmp_path / "knots.json", robot=robot)
    for x, y in zip(motion(motion.knots), again(again.knots), strict=True):
        assert np.abs(x - y).max() < 1e-12


def test_ros_messages_omit_velocities_and_accelerations_that_jump_at_knots():
    q = ARM.random_configuration(seed=3, size=4)
    linear = ARM.spline([0, 1, 2, 3], q, "linear")
    hermite = ARM.spline([0, 1, 2, 3], q, "hermite")
    assert all(point["velocities"] == [] == point["accelerations"] for point in linear.to_ros()["points"])
    points = hermite.to_ros()["points"]
    assert all(point["accelerations"] == [] and len(point["velocities"]) == 6 for point in points)
    assert all(len(point["accelerations"]) == 6 for point in hermite.to_ros(times=[0.5, 1.5])["points"])
    inner = linear.to_ros(times=[0.5, 1.5])["points"]
    assert all(len(point["velocities"]) == 6 for point in inner)


def test_cubic_and_linear_motions_load_from_ros_messages_unchanged_between_points(tmp_path):
    q = ARM.random_configuration(seed=4, size=5)
    for kind, tolerance in (("linear", 1e-8), ("hermite", 1e-8)):
        motion = ARM.spline([0, 1, 2, 3, 4], q, kind)
        motion.save(tmp_path / "motion.json")
        loaded = Trajectory.load(tmp_path / "motion.json", robot=ARM)
        t = np.linspace(0, 4, 97)
        assert np.abs(loaded(t).q - motion(t).q).max() < tolerance


def test_ros_messages_state_angles_of_joints_with_sine_and_cosine(tmp_path):
    robot = lw.Robot.build(
        "wheel",
        lw.Link("hub", mass=1.0),
        lw.Link("rim", mass=1.0),
        lw.Joint.of(lw.joints.UnboundedRevolute((0, 0, 1)), name="turn", parent="hub", child="rim"),
    )
    angles = np.linspace(0.0, 9.0, 10)
    motion = robot.spline(np.arange(10.0), np.column_stack([np.sin(angles), np.cos(angles)]))
    message = motion.to_ros()
    assert np.abs([point["positions"][0] for point in message["points"]] - angles).max() < 1e-14
    motion.save(tmp_path / "motion.yaml")
    loaded = Trajectory.load(tmp_path / "motion.yaml", robot=robot)
    t = np.linspace(0, 9, 50)
    assert np.abs(loaded(t).q - motion(t).q).max() < 1e-8


def test_ros_message_of_some_joints_has_their_states_in_the_order_of_the_names():
    robot = lw.load("arm7_gripper")
    wave = robot.spline([0.0, 0.7], np.random.default_rng(0).uniform(0.01, 0.03, (2, robot.nq)))
    names = ["wrist_flex", "shoulder_pan", "elbow"]
    message, whole = wave.to_ros(joints=names), wave.to_ros()
    columns = [whole["joint_names"].index(name) for name in names]
    assert message["joint_names"] == names and len(whole["joint_names"]) == robot.nq
    for point, of_all in zip(message["points"], whole["points"], strict=True):
        for key in ("positions", "velocities", "accelerations"):
            assert point[key] == [of_all[key][k] for k in columns]
    ball = lw.Robot.build(
        "ball",
        *(lw.Link(name, mass=1.0, inertia=(0.1, 0.2, 0.15)) for name in "ab"),
        lw.Joint.of(lw.joints.Spherical(), name="ball", parent="world", child="a"),
        lw.Joint.of(lw.joints.Revolute((0.0, 0.6, 0.8)), name="hinge", parent="a", child="b"),
    )
    turn = ball.spline([0.0, 1.0], [ball.neutral(), ball.neutral()])
    assert turn.to_ros(joints="hinge")["joint_names"] == ["hinge"]  # the ball has no form in messages
    with pytest.raises(UnknownNameError, match=r"to_ros: joints: no joint .* named 'wrist'"):
        wave.to_ros(joints=["wrist"])
    with pytest.raises(ValueError, match="to_ros: joints: expected at least one name of a joint, got none"):
        wave.to_ros(joints=[])


def test_motions_without_a_form_in_ros_messages_are_refused_with_their_names(tmp_path):
    ball = lw.Robot.build(
        "ball",
        lw.Link("socket", mass=1.0),
        lw.Link("rod", mass=1.0),
        lw.Joint.of(lw.joints.Spherical(), name="shoulder", parent="socket", child="rod"),
    )
    constant = ball.spline([0, 1], [ball.neutral(), ball.neutral()])
    with pytest.raises(TypeError, match=r"have no coordinates of 'shoulder' \(spherical\); save"):
        constant.to_ros()
    _, flying = flying_motion()
    with pytest.raises(TypeError, match=r"a JointTrajectory has no joints with several degrees of freedom \('base'"):
        flying.save(tmp_path / "a.yaml", message="JointTrajectory")
    assert set(arm_motion().to_ros(message="RobotTrajectory")) == {"joint_trajectory", "multi_dof_joint_trajectory"}
    motion = arm_motion()
    for call, kind, said in (
        (lambda: motion.to_ros(ros_version=3), ValueError, "ros_version"),
        (lambda: motion.to_ros(message="Trajectory"), ValueError, "did you mean"),
        (lambda: motion.to_ros(times=[0.5, 1.0], rate=2.0), ValueError, "either times or rate"),
        (lambda: motion.to_ros(rate=-2.0), ValueError, "rate"),
        (lambda: motion.save(tmp_path / "a.json", samples=3, rate=2.0), ValueError, "either samples or rate"),
        (lambda: motion.save(tmp_path / "a.npz", rate=2.0), ValueError, "the curve itself"),
        (lambda: motion.save(tmp_path / "a.csv", message="JointTrajectory"), ValueError, "message is for .yaml"),
        (lambda: lw.motion.spline([0.0, 1.0], [[0.0], [1.0]]).to_ros(), TypeError, "has no robot"),
        (lambda: motion.to_ros(times=[1.0, 1.0 + 1e-11]), ValueError, "at least 1 ns"),
    ):
        with pytest.raises(kind, match=said):
            call()


def changed(**changes):
    message = arm_motion().to_ros()
    for path, value in changes.items():
        *keys, last = (int(x) if x.isdigit() else x for x in path.split("__"))
        inner = message
        for key in keys:
            inner = inner[key]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return message


WRONG = (
    ({"joint_names__2": "elbo"}, "UNKNOWN_JOINT", "did you mean 'elbow'"),
    ({"joint_names": [*ARM.q_names[:5]]}, "ARITY", "expected 5 numbers"),
    ({"points__1__positions": [0.0] * 5}, "ARITY", "expected 6 numbers"),
    ({"points__1__positions": []}, "KEY_MISSING", "'positions' is missing"),
    ({"points__1__velocities__0": "fast"}, "NUMBER", "expected a number"),
    ({"points__1__time_from_start": {"sec": 0, "nanosec": 0}}, "TIME_ORDER", "times that increase"),
    ({"points__1__time_from_start": {"second": 0}}, "UNKNOWN_KEY", "did you mean 'sec"),
    ({"points__1__time_from_start": None}, "KEY_MISSING", "time_from_start"),
    ({"points__1__position": []}, "UNKNOWN_KEY", "did you mean 'positions'"),
    ({"points": {}}, "DATA_TYPE", "expected a list"),
    ({"points": []}, "MESSAGE", "expected points"),
)


@pytest.mark.parametrize(("changes", "code", "said"), WRONG)
def test_broken_ros_messages_are_refused_with_their_lines(changes, code, said, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(changed(**changes), indent=1))
    with pytest.raises(ModelError, match=said) as caught:
        Trajectory.load(tmp_path / "a.json", robot=ARM)
    assert any(issue.code == code and issue.where.line for issue in caught.value.issues)


def test_ros_messages_of_a_different_robot_and_unrelated_documents_are_refused(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(arm_motion().to_ros()))
    with pytest.raises(ModelError, match="robot 'arm7' has no joint"):
        Trajectory.load(tmp_path / "a.json", robot=lw.load("arm7"))
    with pytest.raises(TypeError, match="pass that robot as robot="):
        Trajectory.load(tmp_path / "a.json")
    (tmp_path / "b.yaml").write_text("version: 1")
    with pytest.raises(ValueError, match="expected a JointTrajectory or a RobotTrajectory"):
        Trajectory.load(tmp_path / "b.yaml", robot=ARM)
    with pytest.raises(ValueError, match=r"rate and degrees are for \.csv"):
        Trajectory.load(tmp_path / "a.json", robot=ARM, degrees=True)
    few = arm_motion().to_ros(times=[1.0])
    (tmp_path / "a.json").write_text(json.dumps(few))
    with pytest.raises(ValueError, match="at least two points"):
        Trajectory.load(tmp_path / "a.json", robot=ARM)
    old = changed(points__1__time_from_start=0.7)
    del old["points"][2:]
    (tmp_path / "a.json").write_text(json.dumps(old))
    assert abs(Trajectory.load(tmp_path / "a.json", robot=ARM).duration - 0.7) < 1e-15
