"""Motions of a robot that picks up and puts down objects, and motions as those of a larger robot."""

import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.motion import Trajectory, time_optimal
from linkwork.viewer import scene_document

ARM = lw.load("arm6")
CUBE = lw.shapes.Box((0.1, 0.1, 0.1))
LOADED = ARM.with_attached("cube", "tool", CUBE, (0, 0, 0.05)).with_payload("load", "tool", 1.0)
Q = np.array([ARM.neutral(), ARM.neutral() + 0.3, ARM.neutral() - 0.2])


def between(robot, start, end, duration=1.0):
    return robot.spline([0.0, duration], [start, end], boundary="clamped")


@pytest.fixture(scope="module")
def film():
    approach, carry, back = between(ARM, Q[0], Q[1]), between(LOADED, Q[1], Q[2], 2.0), between(ARM, Q[2], Q[0])
    return approach.concatenate(carry).concatenate(back)


def test_motion_that_carries_an_object_has_the_loaded_robot_while_carrying(film, tmp_path):
    assert film.robot == ARM and film.duration == 4.0
    assert [film.robot_at(t) == LOADED for t in (0.0, 0.99, 1.0, 2.99, 3.0, 4.0)] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    assert np.array_equal(film(2.0).q, between(LOADED, Q[1], Q[2], 2.0)(1.0).q)
    changed = film.reversed().slice(0.5, 3.5).shifted(1.0).retimed(2.0)
    assert [changed.robot_at(t) == LOADED for t in (1.0, 1.9, 2.1, 5.9, 6.1, 7.0)] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    steady = film.at_constant_speed(1.0)
    assert steady.robot_at(0.5 * steady.duration) == LOADED and steady.robot_at(0.0) == ARM
    film.save(tmp_path / "film.npz")
    for again in (pickle.loads(pickle.dumps(film)), Trajectory.load(tmp_path / "film.npz", robot=ARM)):
        assert again == film and hash(again) == hash(film) and again.robot_at(2.0) == LOADED
    assert film != film.sections[0].space and film != between(ARM, Q[0], Q[1])
    only = LOADED.spline([0.0, 1.0], Q[:2]).concatenate(ARM.spline([0.0, 1.0], Q[1:]), allow_jump=True)
    assert only.robot == LOADED and only.robot_at(2.0) == ARM
    inside = film.slice(1.2, 1.5)
    assert inside.robot == LOADED == inside.robot_at(1.3) and inside.sections[0].robot is None
    assert "cube" in {part.link for part in scene_document(inside).actors[0].parts}
    film.to_csv(tmp_path / "film.csv")
    read = Trajectory.load(tmp_path / "film.csv", robot=ARM)
    assert np.abs(read(2.3).q - film(2.3).q).max() < 1e-12


def test_dynamics_of_carrying_motions_and_motions_of_other_robots_are_refused(film):
    longer = ARM.with_joint(ARM.joint("elbow").with_placements((0, 0, 0.5)))
    with pytest.raises(
        ValueError, match=r"concatenate: other: expected a trajectory of robot 'arm6', got .*, whose joints differ$"
    ):
        between(ARM, Q[0], Q[1]).concatenate(between(longer, Q[1], Q[0]))
    arm7 = lw.load("arm7")
    with pytest.raises(ValueError, match=r"expected a trajectory of robot 'arm6', got one of robot 'arm7'$"):
        film.concatenate(between(arm7, arm7.neutral(), arm7.neutral()))
    with pytest.raises(ValueError, match="time_optimal: expected a motion of one robot"):
        time_optimal(film, velocity=1.0, acceleration=1.0)
    with pytest.raises(ValueError, match="expected a motion of one robot"):
        film.for_robot(ARM)


def test_object_is_picked_up_where_it_lies(film):
    """Poses at the second pick-up and at a change of the grip are those at the end of the motion before."""
    to_place, from_place = between(ARM, Q[0], Q[2]), between(LOADED, Q[2], Q[1])
    again = film.concatenate(to_place).concatenate(from_place)
    assert again.robot_at(again.duration) == LOADED
    assert film.concatenate(to_place.concatenate(from_place)) == again
    elsewhere = between(ARM, Q[0], Q[1]), between(LOADED, Q[1], Q[2])
    distance = np.linalg.norm((LOADED.pose(Q[2], "cube") - LOADED.pose(Q[1], "cube"))[:3, 3])
    message = (
        rf"concatenate: object 'cube': expected the other .* where it lies, at \[.*\] m, got .*, {distance:.3g} m and"
    )
    moved = film.concatenate(elsewhere[0])
    for first, second in ((moved, elsewhere[1]), (film, elsewhere[0].concatenate(elsewhere[1]))):
        with pytest.raises(ValueError, match=message):
            first.concatenate(second)
    assert moved.concatenate(elsewhere[1], allow_jump=True).robot_at(6.0) == LOADED
    for angle, refused in ((5e-4, False), (2e-3, True)):
        grip = ARM.with_attached("cube", "tool", CUBE, lw.pose((0, 0, 0.05), axis=(0.6, 0.0, 0.8), angle=angle))
        carry, on = between(LOADED, Q[1], Q[2]), between(grip, Q[2], Q[1])
        if refused:
            with pytest.raises(ValueError, match=r"0 m and 0\.002 rad away"):
                carry.concatenate(on)
            assert carry.concatenate(on, tolerance=3e-3).robot_at(2.0) == grip
        else:
            assert carry.concatenate(on).robot_at(2.0) == grip


def test_limit_margins_of_a_motion_that_carries_an_object_use_the_limits_of_the_loaded_robot(film):
    slow = LOADED
    for name in ARM.v_names:
        slow = slow.with_joint(slow.joint(name).with_velocity_limit(0.3))
    carry = between(slow, Q[1], Q[2], 2.0)
    path = between(ARM, Q[0], Q[1]).concatenate(carry)
    assert np.array_equal(path.limit_margins()["velocity"], carry.limit_margins()["velocity"])
    assert film.satisfies_limits() and not path.satisfies_limits()
    with pytest.raises(ValueError, match="lqr_about_trajectory: expected a motion of one robot"):
        lw.control.lqr_about_trajectory(ARM, film, Q=1.0, R=1.0)
    for call in (lambda: film.robot_at(5.0), lambda: film.slice(0.0, 5.0)):
        with pytest.raises(ValueError, match=r"t = 5 s is outside of \[0, 4\] s$"):
            call()


def test_robots_in_a_saved_motion_have_the_mesh_folders_of_the_robot(tmp_path):
    ARM.to_urdf(tmp_path / "arm.urdf")
    arm = lw.load(tmp_path / "arm.urdf")
    carrier = arm.with_attached("part", "tool", lw.shapes.Mesh("part.stl"))
    between(arm, Q[0], Q[1]).concatenate(between(carrier, Q[1], Q[0])).save(tmp_path / "film.npz")
    again = Trajectory.load(tmp_path / "film.npz", robot=arm).robot_at(2.0)
    assert again == carrier and again.tree.files == carrier.tree.files


def cube_of(document):
    (prop,) = [prop for prop in document.props if prop.name == "cube"]
    return np.broadcast_to(prop.pose, (len(document.times), 4, 4))


@pytest.mark.slow(every=2)
def test_carried_object_is_drawn_at_rest_before_and_after_it_is_carried(film):
    table = lw.Scene().with_box("table", (1.0, 1.0, 0.1), (0.0, 0.0, -1.0))
    moved = lw.pose((0.3, 0.3, 0.3))
    before, after = LOADED.pose(Q[1], "cube"), LOADED.pose(Q[2], "cube")
    for scene, start in ((table, before), (table.with_shape("cube", CUBE, moved), moved)):
        document = scene_document(film, scene=scene)
        poses, t = cube_of(document), document.times
        assert {prop.name for prop in document.props} == {"table", "cube"}
        assert document.actors[0].robot == ARM and "cube" not in {part.link for part in document.actors[0].parts}
        assert np.abs(poses[t < 1.0] - start).max() < 1e-14
        assert np.abs(poses[t >= 3.0] - after).max() < 1e-14
        carried = (t >= 1.0) & (t < 3.0)
        assert np.abs(poses[carried] - LOADED.pose(film(t[carried]).q, "cube")).max() < 1e-14
    whole = scene_document(between(LOADED, Q[1], Q[2]))
    assert not whole.props and {part.layer for part in whole.actors[0].parts if part.link == "cube"} >= {"visual"}
    assert "visual" not in whole.hidden
    first = LOADED.spline([0.0, 1.0], Q[1:]).concatenate(ARM.spline([0.0, 1.0], Q[:0:-1]), allow_jump=True)
    assert np.abs(cube_of(scene_document(first))[-1] - after).max() < 1e-14


def test_mounted_object_is_drawn_as_an_attached_object():
    carrier = ARM.with_mounted(lw.Robot.build("part", lw.Link("cube", CUBE, mass=1.0)), "tool", (0, 0, 0.05))
    carry = between(carrier, Q[1], Q[2])
    for path, time in (
        (between(ARM, Q[0], Q[1]).concatenate(carry), 1.5),
        (carry.concatenate(between(ARM, Q[2], Q[0])), 0.5),
    ):
        document = scene_document(path)
        assert "cube" not in {part.link for part in document.actors[0].parts}
        k = int(np.argmin(np.abs(document.times - time)))
        pose = carrier.pose(path(document.times[k]).q, "cube")
        assert np.abs(cube_of(document)[k] - pose).max() < 1e-14
        assert np.abs(cube_of(document)[-1] - carrier.pose(Q[2], "cube")).max() < 1e-14


CELL = lw.join_robots({"a": lw.load("quadruped", floating_base=True), "b": ARM, "c": lw.load("arm7")})


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("kind", ["cubic", "quintic", "linear", "bspline", "profile", "floating", "timed"])
def test_motion_of_a_mounted_robot_within_the_joined_robot_equals_its_original_motion(kind):
    robot, prefix = (lw.load("quadruped", floating_base=True), "a_") if kind == "floating" else (ARM, "b_")
    if kind == "floating":
        path = robot.spline([0.0, 0.4, 1.0], robot.random_configuration(seed=1, size=3))
    elif kind == "profile":
        path = robot.profile(Q[0], Q[1], kind="trapezoid", acceleration=1.0)
    elif kind == "timed":
        path = time_optimal(robot.spline([0.0, 1.0, 2.0], Q), velocity=1.0, acceleration=2.0).trajectory
    else:
        path = robot.spline([0.0, 0.4, 1.0], Q, kind=kind, **({"degree": 2} if kind == "bspline" else {}))
    resting = CELL.random_configuration(seed=2)
    whole = path.for_robot(CELL, prefix=prefix, others=resting)
    in_q, in_v = CELL.q_index([prefix + x for x in robot.q_names]), CELL.v_index([prefix + x for x in robot.v_names])
    q, v, a = whole(whole.sampled(num_samples=23)[0])
    expected = path(path.sampled(num_samples=23)[0])
    for result, alone, index in ((q, expected.q, in_q), (v, expected.v, in_v), (a, expected.a, in_v)):
        assert np.abs(result[:, index] - alone).max() < 1e-12 * max(1.0, np.abs(alone).max())
    assert np.abs(np.delete(q, in_q, axis=1) - np.delete(resting, in_q)).max() < 1e-15
    assert not np.delete(v, in_v, axis=1).any() and not np.delete(a, in_v, axis=1).any()
    assert whole.robot == CELL and whole.is_timed == path.is_timed
    assert path.for_robot(CELL, prefix=prefix, others={"c_elbow": -1.0})(0.0).q[CELL.q_index(["c_elbow"])] == [-1.0]


def test_motions_for_robots_without_their_joints_are_refused():
    path = between(ARM, Q[0], Q[1])
    unknown = r"for_robot: robot: no joint .* of robot 'cell' named '{}shoulder_pan'; pass .*prefix='b_'"
    for prefix in ("", "x_"):
        with pytest.raises(UnknownNameError, match=unknown.format(prefix)):
            path.for_robot(CELL, prefix=prefix)
    with pytest.raises(UnknownNameError, match=r"for_robot: robot: no joint .*; did you mean"):
        path.for_robot(lw.load("arm7"))
    with pytest.raises(ValueError, match=r"for_robot: others: expected a trajectory of robot 'cell', got .*prefix="):
        path.for_robot(CELL, prefix="b_", others=path)
    with pytest.raises(ValueError, match=r"for_robot: joint 'c_shoulder_lift': expected a joint of the same type"):
        path.for_robot(
            CELL.with_joint(CELL.joint("c_shoulder_lift").with_type(lw.joints.Revolute((1, 0, 0)))), prefix="c_"
        )
    with pytest.raises(ValueError, match=r"for_robot: others: .*got shape \(6,\)"):
        path.for_robot(CELL, prefix="b_", others=Q[0])
    with pytest.raises(TypeError, match="for_robot: the trajectory contains symbols; expected numeric values"):
        lw.compile(lambda q: ARM.spline([0.0, 1.0], [Q[0], q]).for_robot(CELL, prefix="b_")(0.5).q, q=6)
    with pytest.raises(ValueError, match="expected a trajectory of a robot, got one of plain coordinates"):
        Trajectory.polynomial([0.0, 1.0], [[[1.0]]]).for_robot(CELL)


def test_trajectories_with_and_without_a_robot_are_not_concatenated() -> None:
    robot = lw.load("double_pendulum")
    times, points = [0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]]
    of_robot, of_numbers = robot.spline(times, points), lw.motion.spline(times, points[::-1])
    for first, second, text in (
        (of_robot, of_numbers, "of robot 'double_pendulum', got one of 2 numbers"),
        (of_numbers, of_robot, "of 2 numbers, got one of robot 'double_pendulum'"),
    ):
        with pytest.raises(ValueError, match=f"other: expected a trajectory {text}"):
            first.concatenate(second)
    assert of_numbers.concatenate(lw.motion.spline(times, points), allow_jump=True).duration == 2.0
