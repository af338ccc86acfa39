"""Two motions at the same time: each joint moves as in its own motion, evaluated by itself."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.motion import Trajectory, time_optimal

ARM, SECOND = lw.load("arm6"), lw.load("arm7")
WALKER = lw.load("quadruped", floating_base=True)
CELL = lw.join_robots({"a": ARM, "b": SECOND.with_base((0.1, 1.3, 0.2)), "c": WALKER})
Q = {robot: robot.random_configuration(seed=3, size=3) for robot in (ARM, SECOND, WALKER)}
TIMES = [0.0, 0.4, 1.0]


def profile(robot):
    return robot.profile(Q[robot][0], Q[robot][1], kind="trapezoid", acceleration=1.5)


def timed(robot):
    return time_optimal(robot.spline(TIMES, Q[robot]), velocity=1.0, acceleration=2.0).trajectory


MOTIONS = {
    "cubic": lambda robot: robot.spline(TIMES, Q[robot]),
    "linear": lambda robot: robot.spline(TIMES, Q[robot], kind="linear"),
    "bspline": lambda robot: robot.spline(TIMES, Q[robot], kind="bspline", degree=2),
    "squad": lambda robot: robot.spline(TIMES, Q[robot], kind="squad"),
    "profile": profile,
    "timed": timed,
    "two sections": lambda robot: (
        timed(robot).concatenate(timed(robot).reversed()).concatenate(profile(robot), allow_jump=True)
    ),
}


def assert_runs_as_alone(whole, parts):
    """Assert that a motion of the cell is that of each part (prefix, motion), which rests outside of its times."""
    times = np.random.default_rng(1).uniform(whole.start_time, whole.end_time, 60)
    q, v, a = whole(times)
    rest_q, rest_v = set(range(CELL.nq)), set(range(CELL.nv))
    for prefix, motion in parts:
        in_q = CELL.q_index([prefix + name for name in motion.robot.q_names])
        in_v = CELL.v_index([prefix + name for name in motion.robot.v_names])
        alone = motion(times, outside="hold")
        for result, expected in ((q[:, in_q], alone.q), (v[:, in_v], alone.v), (a[:, in_v], alone.a)):
            assert np.abs(result - expected).max() < 1e-10 * max(1.0, np.abs(expected).max())
        rest_q, rest_v = rest_q - {*in_q.tolist()}, rest_v - {*in_v.tolist()}
    assert not v[:, sorted(rest_v)].any() and not np.ptp(q[:, sorted(rest_q)], axis=0).any()


@pytest.mark.costly
@pytest.mark.parametrize("first", sorted(MOTIONS))
@pytest.mark.parametrize("second", ["cubic", "profile", "timed"])
def test_each_arm_of_a_cell_moves_as_in_its_own_motion(first, second):
    a, b = MOTIONS[first](ARM), MOTIONS[second](SECOND).shifted(0.37)
    home = CELL.random_configuration(seed=5)
    whole = a.for_robot(CELL, prefix="a_", others=b.for_robot(CELL, prefix="b_", others=home))
    assert (whole.start_time, whole.end_time) == (0.0, max(a.end_time, b.end_time)) and whole.robot == CELL
    assert_runs_as_alone(whole, [("a_", a), ("b_", b)])
    resting = CELL.q_index(["c_" + name for name in WALKER.q_names])
    assert np.array_equal(whole(0.5).q[resting], home[resting])


@pytest.mark.slow(every=5)
def test_three_robots_with_a_floating_one_move_as_in_their_own_motions():
    a, b, c = MOTIONS["cubic"](ARM), MOTIONS["timed"](SECOND).shifted(-0.6), MOTIONS["cubic"](WALKER).shifted(0.2)
    whole = a.for_robot(CELL, prefix="a_", others=b.for_robot(CELL, prefix="b_"))
    assert_runs_as_alone(c.for_robot(CELL, prefix="c_", others=whole), [("a_", a), ("b_", b), ("c_", c)])


@pytest.mark.slow(every=3)
def test_motions_of_the_whole_cell_are_joined_by_the_joints_that_move():
    home = CELL.random_configuration(seed=5)
    a, b = MOTIONS["cubic"](ARM), MOTIONS["profile"](SECOND)
    films = [x.for_robot(CELL, prefix=prefix, others=home) for x, prefix in ((a, "a_"), (b, "b_"))]
    both = films[0].for_robot(CELL, others=films[1])
    assert_runs_as_alone(both, [("a_", a), ("b_", b)])
    elsewhere = b.for_robot(CELL, prefix="b_")
    with pytest.raises(
        ValueError, match=r"for_robot: others: joint 'c_\w+' rests in both motions, at \[.* here and at"
    ):
        films[0].for_robot(CELL, others=elsewhere)


@pytest.mark.slow(every=5)
def test_objects_that_both_arms_hold_belong_to_the_robot():
    cube = lw.shapes.Box((0.1, 0.1, 0.1))
    home = CELL.neutral()
    films = []
    for prefix, robot, frame in (("a_", ARM, "a_tool"), ("b_", SECOND, "b_flange")):
        loaded = CELL.with_attached(f"{prefix}cube", frame, cube, (0, 0, 0.1))
        motion = MOTIONS["profile"](robot)
        free, loading = (motion.for_robot(r, prefix=prefix, others=home) for r in (CELL, loaded))
        films.append(free.concatenate(loading.reversed()))
    films[1] = films[1].shifted(0.2)
    both = films[0].for_robot(CELL, others=films[1])
    last = CELL.with_attached("a_cube", "a_tool", cube, (0, 0, 0.1)).with_attached(
        "b_cube", "b_flange", cube, (0, 0, 0.1)
    )
    first, second = (film.sections[1].start for film in films)
    assert both.robot_at(0.0) == CELL and both.robot_at(max(first, second) + 1e-6) == last
    between = both.robot_at(0.5 * (first + second))
    assert between == last.without_attached("b_cube" if first < second else "a_cube")
    loads = [CELL.with_payload(f"{x}load", frame, 1.0) for x, frame in (("a_", "a_tool"), ("b_", "b_flange"))]
    films = [
        MOTIONS["profile"](robot).for_robot(loaded, prefix=prefix, others=home)
        for robot, loaded, prefix in ((ARM, loads[0], "a_"), (SECOND, loads[1], "b_"))
    ]
    with pytest.raises(ValueError, match="both motions carry loads at"):
        films[0].for_robot(CELL, others=films[1])


def test_objects_of_one_name_that_two_motions_hold_are_one_object_or_refused():
    cell = lw.join_robots({"a": ARM, "b": ARM})
    cube = lw.shapes.Box((0.1, 0.1, 0.1))

    def joined(frame_b, shape_b, cell_b=cell):
        loaded_cells = cell.with_attached("cube", "a_tool", cube), cell_b.with_attached("cube", frame_b, shape_b)
        motions = [
            MOTIONS["cubic"](ARM).for_robot(robot, prefix=prefix, others=cell.neutral())
            for robot, prefix in zip(loaded_cells, ("a_", "b_"), strict=True)
        ]
        return loaded_cells, motions[0].for_robot(cell, others=motions[1])

    loaded_cells, both = joined("a_tool", cube, cell.with_attached("lamp", "b_tool", cube))
    assert both.robot_at(0.5 * (both.start_time + both.end_time)).frames == (*loaded_cells[0].frames, "lamp")
    for frame, shape in (("b_tool", cube), ("a_tool", lw.shapes.Sphere(0.1))):
        with pytest.raises(ValueError, match=r"both motions hold a 'cube' at .*, at different poses or"):
            joined(frame, shape)


@pytest.mark.slow(every=5)
def test_object_that_one_of_two_motions_releases_belongs_to_neither_afterwards():
    """The other motion, which knows of the object, picks up one of its own in the meantime."""
    box, zero = lw.shapes.Box((0.1, 0.1, 0.1)), CELL.neutral()
    loaded = CELL.with_attached("box", "a_tool", box, (0.0, 0.0, 0.1))
    with_ball = loaded.with_attached("ball", "b_flange", box, (0.0, 0.0, 0.1))

    def moved(prefix, angle):
        return zero + np.where([name.startswith(prefix) for name in CELL.q_names], angle, 0.0)

    first = loaded.spline([0.0, 1.0], [zero, moved("a_", 0.1)])
    first = first.concatenate(CELL.spline([0.0, 1.0], [moved("a_", 0.1), moved("a_", 0.2)]))
    second = loaded.spline([0.0, 1.0], [zero, moved("b_", 0.1)])
    second = second.concatenate(with_ball.spline([0.0, 1.0], [moved("b_", 0.1), moved("b_", 0.2)]))
    for both in (first.for_robot(loaded, others=second), second.for_robot(loaded, others=first)):
        assert both.robot_at(0.5) == loaded
        assert {"box", "ball"} & {frame.name for frame in both.robot_at(1.5).tree.frames} == {"ball"}


def test_motions_that_cannot_run_together_are_refused():
    a = MOTIONS["cubic"](ARM)
    whole = a.for_robot(CELL, prefix="a_")
    with pytest.raises(
        ValueError, match=r"for_robot: others: expected a motion of other joints, got .*'a_shoulder_pan'"
    ):
        a.for_robot(CELL, prefix="a_", others=whole.shifted(0.3))
    path = Trajectory(a.sections, ARM, is_timed=False)
    with pytest.raises(ValueError, match=r"for_robot: expected a trajectory over time, got .*not timed"):
        path.for_robot(CELL, prefix="a_", others=MOTIONS["cubic"](SECOND).for_robot(CELL, prefix="b_"))
    for kind in ("bspline", "squad"):
        with pytest.raises(TypeError, match=r"others: joint 'c_\w+' \(floating\): expected polynomials, .*kind="):
            MOTIONS[kind](WALKER).for_robot(CELL, prefix="c_", others=whole)
    straight, screw = (WALKER.spline(TIMES, Q[WALKER], kind=kind) for kind in ("decoupled", "screw"))
    pair = lw.join_robots({"c": WALKER, "d": WALKER})
    with pytest.raises(ValueError, match="floating and planar joints translate along lines in one motion"):
        straight.for_robot(pair, prefix="c_", others=screw.for_robot(pair, prefix="d_"))


def test_resting_floating_base_may_have_any_kind_of_curve_beside_another_motion():
    resting = WALKER.spline(TIMES, [Q[WALKER][0]] * 3, kind="bspline", degree=2)
    a = MOTIONS["cubic"](ARM)
    both = a.for_robot(CELL, prefix="a_", others=resting.for_robot(CELL, prefix="c_"))
    assert_runs_as_alone(both, [("a_", a), ("c_", resting)])


def test_ends_of_sections_that_differ_by_rounding_are_one_end():
    points = ARM.random_configuration(seed=1, size=2)
    parts = []
    for first in (0.3, 0.1 + 0.2):
        forth, back = (ARM.spline([0.0, t], q, boundary="clamped") for t, q in ((first, points), (0.7, points[::-1])))
        parts.append(forth.concatenate(back))
    cell = lw.join_robots({"a": ARM, "b": ARM.with_base((0, 1, 0))})
    both = parts[0].for_robot(cell, prefix="a_", others=parts[1].for_robot(cell, prefix="b_"))
    assert [section.start for section in both.sections] == [0.0, 0.3] and both.end_time == parts[1].end_time
    q = both(np.linspace(0.0, 1.0, 11)).q
    assert np.abs(q[:, :6] - q[:, 6:]).max() < 1e-12


@pytest.mark.parametrize("kind", ["bspline", "squad"])
def test_floating_base_that_turns_back_in_the_middle_of_a_segment_counts_as_moving(kind):
    swung = Q[WALKER][0].copy()
    swung[4:7] += 0.4  # position
    options = {"degree": 2} if kind == "bspline" else {}
    swing = WALKER.spline([0.0, 1.0, 2.0], [Q[WALKER][0], swung, Q[WALKER][0]], kind=kind, **options)
    assert kind == "squad" or (np.abs(swing(1.0).v).max() < 1e-9 and len(swing.knots) == 2)
    with pytest.raises(TypeError, match="expected polynomials, got a curve of kind"):
        swing.for_robot(CELL, prefix="c_", others=MOTIONS["cubic"](ARM).for_robot(CELL, prefix="a_"))


@pytest.mark.slow(every=3)
def test_joints_rest_where_both_motions_have_the_same_rotation():
    home = CELL.random_configuration(seed=5)
    negated = home.copy()
    turned = CELL.q_index([f"c_{name}" for name in WALKER.q_names[:4]])  # unit quaternion
    negated[turned] *= -1.0
    films = [
        MOTIONS["cubic"](robot).for_robot(CELL, prefix=prefix, others=q)
        for robot, prefix, q in ((ARM, "a_", home), (SECOND, "b_", negated))
    ]
    assert np.array_equal(np.abs(films[0].for_robot(CELL, others=films[1])(0.5).q[turned]), np.abs(home[turned]))
    # a floating base at rest moves neither along lines nor along screws
    pair = lw.join_robots({"c": WALKER, "d": WALKER, "a": ARM})
    straight = WALKER.spline(TIMES, Q[WALKER], kind="decoupled").for_robot(pair, prefix="c_")
    both = straight.for_robot(pair, others=MOTIONS["cubic"](ARM).for_robot(pair, prefix="a_", others=straight(0.0).q))
    assert np.abs(both(0.3).q - straight(0.3).q)[: 2 * WALKER.nq].max() < 1e-12


def test_joint_that_jumps_between_sections_counts_as_moved():
    home, positions = CELL.neutral(), np.array([0.2, 0.5])
    k = CELL.q_index(["b_" + SECOND.q_names[0]])[0]
    films = []
    for position in positions:
        q = home.copy()
        q[k] = position
        films.append(CELL.spline([0.0, 0.5], [q, q]))
    jumping = films[0].concatenate(films[1], allow_jump=True)
    both = MOTIONS["cubic"](ARM).for_robot(CELL, prefix="a_", others=home).for_robot(CELL, others=jumping)
    assert both([0.2, 0.8]).q[:, k].tolist() == pytest.approx(positions, abs=1e-12)


def test_motions_with_symbols_are_refused():
    moving = MOTIONS["cubic"](ARM).for_robot(CELL, prefix="a_")
    home = CELL.neutral()
    for symbolic_first, message in ((True, r"for_robot: the trajectory contains"), (False, r"others: the trajectory")):

        def position(q, symbolic_first=symbolic_first):
            motions = [CELL.spline([0.0, 1.0], [home, q]), moving]
            first, second = motions if symbolic_first else motions[::-1]
            return first.for_robot(CELL, others=second)(0.5).q

        with pytest.raises(TypeError, match=message):
            lw.compile(position, q=CELL.nq)
