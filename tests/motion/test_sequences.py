"""Sequences of named motions: their trajectory, the times of steps, rests, and refused steps."""

import numpy as np
import pytest

import linkwork as lw


def test_steps_of_a_sequence_follow_each_other_with_their_times():
    move = lw.motion.profile([0.0, 1.0], [1.0, -1.0], velocity=1.0, acceleration=4.0, kind="trapezoid")
    cycle = lw.motion.sequence(
        {"wait": 0.25, "forth": move.shifted(7.0), "grip": 0.4, "none": 0, "back": move.reversed()}
    )
    assert cycle.names == ("wait", "forth", "grip", "none", "back")
    assert cycle.durations.tolist() == [0.25, move.duration, 0.4, 0.0, move.duration]
    np.testing.assert_allclose(cycle.starts, [0.0, *np.cumsum(cycle.durations)[:-1]], rtol=0, atol=1e-12)
    whole = cycle.trajectory
    assert whole.start_time == 0.0 and whole.duration == pytest.approx(cycle.durations.sum(), abs=1e-12)
    for k, start in enumerate((0.25, cycle.starts[4])):
        t = np.linspace(0.0, move.duration, 9)[:-1]
        expected = move(t) if k == 0 else move.reversed()(t)
        for x, y in zip(whole(start + t), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-9)
    for t, q in ((0.1, [0.0, 1.0]), (cycle.starts[2] + 0.2, [1.0, -1.0])):
        assert np.allclose(whole(t).q, q) and not whole(t).v.any()
    rows = [line.split() for line in repr(cycle).splitlines()[2:]]
    assert [row[0] for row in rows] == [*cycle.names, "sum"]
    assert [float(row[2]) for row in rows] == pytest.approx([*cycle.durations, cycle.durations.sum()], rel=1e-4)
    assert sum(float(row[3]) for row in rows[:-1]) == pytest.approx(100.0, abs=0.3) and rows[-1][3] == "100.0"


@pytest.mark.slow(every=3)
def test_timed_paths_are_steps_of_a_sequence():
    arm = lw.load("arm6")
    path = arm.spline([0.0, 1.0], [arm.neutral(), arm.neutral() + 0.3])
    timed = lw.motion.time_optimal(path, velocity=1.0, acceleration=4.0)
    cycle, same = (lw.motion.sequence({"reach": x, "grip": 0.3}) for x in (timed, timed.trajectory))
    assert cycle.trajectory == same.trajectory and cycle.durations.tolist() == [timed.duration, 0.3]
    with pytest.raises(TypeError, match=r"concatenate: .*got <TimedPath.*; pass its trajectory"):
        path.concatenate(timed)
    plan = arm.plan(arm.neutral(), arm.neutral() + 0.3)
    with pytest.raises(TypeError, match=r"steps\['reach'\]: expected a timed motion or seconds, .*; its method timed"):
        lw.motion.sequence({"reach": plan})


def test_sequences_keep_the_objects_that_the_robot_holds_also_at_rest():
    arm = lw.load("arm6")
    with_cube = arm.with_attached("cube", arm.frames[-1], lw.shapes.Box((0.05,) * 3))
    q = np.array([arm.neutral(), arm.neutral() + 0.1, arm.neutral() + 0.2])
    approach, carry = (
        robot.profile(q[k], q[k + 1], velocity=1.0, acceleration=4.0, kind="trapezoid").retimed(3.0)
        for k, robot in enumerate((arm, with_cube))
    )
    cycle = lw.motion.sequence({"approach": approach, "grip": 0.5, "carry": carry, "settle": 0.5, "release": 0.5})
    film = cycle.trajectory
    carries = ["cube" in film.robot_at(t).frames for t in cycle.starts + 0.5 * cycle.durations]
    assert carries == [False, False, True, True, True]
    assert np.allclose(film(cycle.starts[4] + 0.4).q, q[2]) and np.allclose(film(cycle.starts[1] + 0.1).q, q[1])


def test_wrong_steps_of_sequences_are_refused():
    move = lw.motion.profile([0.0], [1.0], velocity=1.0, acceleration=4.0, kind="trapezoid")
    path = lw.motion.Trajectory(move.sections, is_timed=False)
    for steps, error, message in (
        ([move], TypeError, "sequence: steps: expected a dict of trajectories and seconds"),
        ({}, ValueError, "sequence: steps: expected a dict .* got no trajectory"),
        ({"wait": 1.0}, ValueError, "sequence: steps: expected a dict .* got no trajectory"),
        ({"move": move, "wait": -1.0}, ValueError, r"sequence: steps\['wait'\]: duration: expected"),
        ({"move": move, "wait": "long"}, (TypeError, ValueError), r"sequence: steps\['wait'\]: duration: expected"),
        ({"move": move, "again": move}, ValueError, r"sequence: steps\['again'\]: .*allow_jump"),
        ({"move": move, 3: move}, (TypeError, ValueError), "sequence: steps"),
    ):
        with pytest.raises(error, match=message):
            lw.motion.sequence(steps)
    with pytest.raises(ValueError, match=r"sequence: steps\['path'\]: expected a trajectory over time"):
        lw.motion.sequence({"path": path})
    assert lw.motion.sequence({"move": move, "again": move}, allow_jump=True).trajectory.duration == 2.0 * move.duration
