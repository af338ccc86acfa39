"""Cartesian paths: pose curves, and joint paths that follow them, checked by independent forward kinematics."""

from __future__ import annotations

import inspect
import itertools
import re

import numpy as np
import pytest

import linkwork as lw
from helpers.arms import chain_text, planar
from helpers.closed_form_arms import ur5
from helpers.linkages import hexapod
from linkwork.errors import UnknownNameError
from linkwork.motion.cartesian import path_following as following
from linkwork.motion.cartesian.arguments import PathRequest
from linkwork.motion.cartesian.configuration_choice import Labels, advanced
from linkwork.motion.cartesian.tracking_outcome import displacement_bounds

ARM = lw.load("arm6")
SEVEN = lw.load("arm7")
SMALL = chain_text(
    [
        ("revolute", "0 0 1", "0 0 0", -3, 3),
        ("revolute", "0 1 0", "0 0 0.3", -2, 2),
        ("revolute", "0 1 0", "0.4 0 0", -2.5, 2.5),
    ],
    "0.4 0 0",
)
Q = np.array([0.3, -1.2, 1.4, -0.9, -1.1, 0.2])
Q7 = np.array([0.2, 0.3, 0.1, -1.8, 0.3, 2.0, 0.4])
A = lw.pose()
B = lw.pose((0.4, 0.1, 0.0), rpy=(0.3, 0.2, 1.0))
C = lw.pose((0.4, 0.5, 0.2), rpy=(0.3, 0.8, -1.0))
VIA = (0.2, 0.3, 0.1)
UP = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.8]  # pose of a hexapod's platform

PATHS = {
    "line": lw.motion.line(A, B),
    "screw": lw.motion.line(A, B, orientation="screw"),
    "arc": lw.motion.arc(A, VIA, B),
    "carried": lw.motion.arc(A, center=(0.0, 0.3, 0.0), axis=(0.0, 0.1, 1.0), angle=-7.0, orientation="carried"),
    "spline": lw.motion.pose_spline([A, B, C]),
    "screws": lw.motion.pose_spline([A, B, C], orientation="screw"),
    "polyline": lw.motion.polyline([A, B, B, C, A]),
    "blends": lw.motion.polyline([A, B, C, A], blend=[0.05, 0.2]).with_approach(0.1).with_retreat(0.2, "-x"),
    "turn": lw.motion.line(A, lw.pose(rpy=(0.0, 0.0, 2.0))),
}


def far(robot, q, X, frame, rows=slice(None)):
    """Return deviations of a frame from poses [rad, m], by forward kinematics and the logarithm."""
    return np.abs(lw.pose_difference(robot.pose(q, frame), X)[..., rows]).max(initial=0.0)


@pytest.mark.slow(every=3)
def test_cartesian_paths_are_smooth_and_have_twists_as_derivatives():
    h = 1e-6
    for name, path in PATHS.items():
        s = np.linspace(0.0, path.length, 40)
        s = s[np.abs(s[:, None] - path.knots).min(axis=1) > 10 * h]
        X, V = path.twist(s)
        assert np.allclose(lw.pose_difference(path(s - h), path(s + h)) / (2 * h), V, atol=1e-7), name
        assert np.allclose(np.swapaxes(X[:, :3, :3], 1, 2) @ X[:, :3, :3], np.eye(3), atol=1e-12), name
        back = path.reversed()
        assert np.allclose(back(path.length - s), X, atol=1e-12) and np.allclose(back.reversed()(s), X, atol=1e-12)
        assert np.allclose(back.twist(path.length - s)[1], -V, atol=1e-9), name
        inner = path.knots[1:-1]
        jumps = [
            k for k in range(len(inner)) if not np.allclose(path.truncated(k)[1], path.twist(inner[k])[1], atol=1e-6)
        ]
        assert np.array_equal(inner[jumps], path.corners), name
        assert np.allclose(path(np.maximum(inner - 1e-9, 0.0)), path(inner), atol=1e-7), name


@pytest.mark.slow(every=5)
def test_cartesian_paths_pass_through_their_poses():
    line, screw, arc = PATHS["line"], PATHS["screw"], PATHS["arc"]
    for path, end in ((line, B), (screw, B), (arc, B), (PATHS["spline"], C), (PATHS["polyline"], A)):
        assert np.allclose(path(0.0), A, atol=1e-12) and np.allclose(path(path.length), end, atol=1e-9)
    assert line.length == pytest.approx(np.linalg.norm(B[:3, 3]), abs=1e-12)
    assert np.allclose(np.cross(line(line.length / 3)[:3, 3], B[:3, 3]), 0.0, atol=1e-12)
    twist = screw.twist([0.0, 0.3])[1]
    X = screw([0.0, 0.3])
    body_twists = [np.concatenate([x[:3, :3].T @ v[:3], x[:3, :3].T @ v[3:]]) for x, v in zip(X, twist, strict=True)]
    assert np.allclose(body_twists[0], body_twists[1], atol=1e-12)  # one screw, in the frame's own axes
    # a circle through three places: all as far from its center, and one of them is the middle one
    s = np.linspace(0.0, arc.length, 4001)
    p = arc(s)[:, :3, 3]
    u, v = p[1000] - p[0], p[3000] - p[0]
    n = np.cross(u, v)
    center = p[0] + (np.cross(n, u) * (v @ v) + np.cross(v, n) * (u @ u)) / (2 * n @ n)
    assert np.ptp(np.linalg.norm(p - center, axis=1)) < 1e-12 and np.linalg.norm(p - VIA, axis=1).min() < 1e-3
    turned = PATHS["carried"]
    assert np.allclose(turned(turned.length)[:3, :3], lw.pose(axis=(0.0, 0.1, 1.0), angle=-7.0)[:3, :3], atol=1e-12)
    assert np.allclose(
        turned(turned.length)[:3, 3] - (0.0, 0.3, 0.0),
        lw.pose(axis=(0.0, 0.1, 1.0), angle=-7.0)[:3, :3] @ (0.0, -0.3, 0.0),
    )
    near = np.linalg.norm(PATHS["blends"](np.linspace(0.0, PATHS["blends"].length, 2000))[:, :3, 3] - B[:3, 3], axis=1)
    assert 0.005 < near.min() < 0.05  # rounded, next to the corner
    assert np.allclose(PATHS["blends"](0.0), A @ lw.pose((0.0, 0.0, -0.1)))
    assert np.allclose(PATHS["blends"](PATHS["blends"].length), A @ lw.pose((0.2, 0.0, 0.0)), atol=1e-9)
    assert len(PATHS["blends"].corners) == 2 and len(PATHS["polyline"].corners) == 2
    # a spline of places is the spline of the poses' places
    clamped = lw.motion.pose_spline([A, B, C], boundary="clamped")
    times = np.concatenate([[0.0], np.cumsum([np.linalg.norm(B[:3, 3]), np.linalg.norm(C[:3, 3] - B[:3, 3])])])
    plain = lw.motion.spline(times, [A[:3, 3], B[:3, 3], C[:3, 3]], boundary="clamped")
    assert np.allclose(clamped(0.3)[:3, 3], plain(0.3).q, atol=1e-12)


@pytest.mark.slow(every=9)
def test_frame_follows_its_cartesian_path_within_tolerance_and_limits():
    """At a thousand parameters between way points, in both directions, with and without corners."""
    X, X7 = ARM.pose(Q, "tool"), SEVEN.pose(Q7, "hand")
    pose_there = lw.pose((-0.1, 0.15, 0.1), rpy=(0.2, 0.0, 0.3)) @ X
    cases = [
        (ARM, "tool", Q, lw.motion.polyline([X, pose_there, lw.pose((0.0, 0.1, 0.0)) @ X], blend=0.02), {}),
        (
            ARM,
            "tool",
            None,
            lw.motion.line(X, pose_there).with_approach(0.05),
            {"position_tolerance": 1e-5, "orientation_tolerance": 1e-4},
        ),
        (SEVEN, "hand", Q7, lw.motion.arc(X7, center=X7[:3, 3] + [0, 0, 0.1], axis=(1, 0, 0), angle=4.0), {}),
        (SEVEN, "hand", None, lw.motion.line(X7, lw.pose((0.0, 0.2, 0.05)) @ X7), {"orientation": "z"}),
        (SEVEN, "hand", Q7, lw.motion.line(X7, lw.pose((0.0, 0.3, 0.1)) @ X7), {"orientation": "free"}),
    ]
    for robot, frame, start, path, options in cases:
        tracked = robot.track_cartesian_path(path, frame, q_init=start, **options)
        assert tracked.success and tracked.fraction == 1.0 and tracked.reconfigurations == 0, tracked.message
        assert start is None or np.abs(tracked.q[0] - start).max() < 1e-6
        assert tracked.largest_step <= 0.2 + 1e-9
        trajectory = tracked.trajectory()
        s = np.linspace(0.0, path.length, 1000)
        q = trajectory(s).q
        assert (q >= robot.lower).all() and (q <= robot.upper).all()
        m, rad = options.get("position_tolerance", 1e-4), options.get("orientation_tolerance", 1e-3)
        off = lw.pose_difference(robot.pose(q, frame), path(s))
        assert np.linalg.norm(off[:, 3:], axis=1).max() <= m
        if options.get("orientation") == "z":
            assert np.arccos(np.clip((robot.pose(q, frame)[:, :3, 2] * path(s)[:, :3, 2]).sum(1), -1, 1)).max() <= rad
            assert np.linalg.norm(off[:, :3], axis=1).max() > 1e-3  # it did turn
        elif "orientation" not in options:
            assert np.linalg.norm(off[:, :3], axis=1).max() <= rad
        assert tracked.deviation.position <= m
        back = robot.track_cartesian_path(path.reversed(), frame, q_init=q[-1], **options)
        assert back.success and np.abs(back.q[0] - q[-1]).max() < 1e-6
        if robot is ARM:  # nothing is left over, so it is the same way back
            assert np.abs(back.q[-1] - q[0]).max() < 1e-5
    knots = tracked.trajectory(0.25)
    assert knots.duration == pytest.approx(path.length / 0.25) and knots.start_time == 0.0


@pytest.mark.slow(every=5)
def test_tracked_cartesian_path_is_timed_within_limits():
    q = np.array([-0.3, 0.2, 0.9])
    X = SMALL.pose(q, "l4")
    path = lw.motion.polyline([X, lw.pose((-0.1, 0.15, 0.1)) @ X, lw.pose((0.0, 0.1, 0.0)) @ X])
    tracked = SMALL.track_cartesian_path(path, "l4", q_init=q, orientation="free")
    timed = tracked.timed(speed=0.2, acceleration=20.0, velocity=2.0)
    t = np.linspace(0.0, timed.duration, 500)
    q, v, a = timed.trajectory(t)
    speed = np.linalg.norm(SMALL.twist(q, v, "l4")[:, 3:], axis=1)
    assert speed.max() <= 0.2 * (1 + 1e-6) and speed.max() > 0.19
    assert np.abs(v).max() <= 2.0 + 1e-9 and np.abs(a).max() <= 20.0 + 1e-6
    corner = timed.t[np.argmin(np.abs(timed.s - path.corners[0]))]
    assert np.abs(timed.trajectory(corner).v).max() < 1e-6  # it stops there
    assert timed.duration > path.length / 0.2


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("robot", [ARM, SEVEN], ids=["closed form", "numerical"])
def test_tracked_path_begins_exactly_at_an_initial_configuration_within_a_tenth_of_the_tolerance(robot):
    q, frame = (Q, "tool") if robot is ARM else (Q7, "hand")
    X = robot.pose(q, frame)
    path = lw.motion.line(X, lw.pose((0.03, -0.02, -0.08)) @ X)
    near = q + 2e-6 * np.array([1.0, -2.0, 1.0, 2.0, -1.0, 2.0, 1.0])[: robot.nq]
    tracked = robot.track_cartesian_path(path, frame, q_init=near)
    timed = tracked.timed(velocity=1.0, acceleration=3.0).trajectory
    assert tracked.success and tracked.deviation.position <= 1e-4 and np.array_equal(timed(0.0).q, near)
    whole = robot.spline([0.0, 1.0], [q - 0.1, near], boundary="clamped").concatenate(timed)
    assert whole.duration == pytest.approx(1.0 + timed.duration)
    far = q + 30.0 * (near - q)
    moved = robot.track_cartesian_path(path, frame, q_init=far).timed(velocity=1.0, acceleration=3.0).trajectory
    assert np.abs(moved(0.0).q - far).max() > 1e-6
    np.testing.assert_allclose(robot.pose(moved(0.0).q, frame), X, atol=1e-7)
    with pytest.raises(ValueError, match=r"jumps by .*, more than tolerance=1e-06; a larger tolerance= permits"):
        robot.spline([0.0, 1.0], [q - 0.1, far], boundary="clamped").concatenate(moved)


def test_wrist_flip_along_a_cartesian_path_is_counted_as_a_reconfiguration():
    """The tool turns 4 rad about its own axis, and the last joint may turn 3.4: the wrist flips once."""
    q = np.array([0.3, -1.2, 1.4, -0.9, -1.1, -1.6])
    lower, upper = ARM.lower.copy(), ARM.upper.copy()
    lower[[0, 2, 5]], upper[[0, 2, 5]] = (-0.5, 0.2, -1.7), (1.0, 3.0, 1.7)  # neither shoulder nor elbow
    X = ARM.pose(q, "tool")
    path = lw.motion.polyline([X, X @ lw.pose(rpy=(0, 0, 2.0)), X @ lw.pose(rpy=(0, 0, 4.0))])
    refused = ARM.track_cartesian_path(path, "tool", q_init=q, position_limits=(lower, upper))
    assert (
        not refused.success
        and refused.status == "at_limits"
        and "'wrist_3' is at its upper limit, 1.7" in refused.message
    )
    assert refused.fraction == pytest.approx(3.3 / 4.0, abs=1e-3)
    assert far(ARM, refused.q[-1], path(refused.s[-1]), "tool") < 1e-7
    for start in (q, None):
        tracked = ARM.track_cartesian_path(path, "tool", q_init=start, position_limits=(lower, upper), reconfigure=True)
        assert tracked.success and tracked.reconfigurations == 1
        part_a, part_b = tracked.parts()
        assert part_a.end_time == part_b.start_time  # it stands still in space
        before, after = part_a(part_a.end_time).q, part_b(part_b.start_time).q
        assert far(ARM, before, path(part_a.end_time), "tool") < 1e-6 > far(ARM, after, path(part_a.end_time), "tool")
        assert np.sign(before[4]) == -np.sign(after[4]) and abs(abs(before[5] - after[5]) - np.pi) < 1e-3
        for part in (part_a, part_b):
            s = np.linspace(part.start_time, part.end_time, 200)
            assert far(ARM, part(s).q, path(s), "tool") < 1e-3
        with pytest.raises(ValueError, match="reconfigured at"):
            tracked.trajectory()
    # an arm without a closed form, by searches
    tracked = SEVEN.track_cartesian_path(
        lw.motion.line(SEVEN.pose(Q7, "hand"), SEVEN.pose(Q7, "hand") @ lw.pose(rpy=(0, 0, 2.0))), "hand", q_init=Q7
    )
    assert tracked.reconfigurations == 0


def test_arms_without_closed_form_ik_reconfigure_to_the_nearest_solution_along_a_path():
    """A bound of the first joint forces the elbow over while the tip follows a circle."""
    arm, tip = planar([1.0, 1.0], limits=[(-0.6, 0.6), (-2.5, 2.5)])
    q = np.array([0.5, -1.0])
    X = arm.pose(q, tip)
    path = lw.motion.arc(X, center=(0, 0, 0), axis=(0, 0, 1), angle=0.8)
    ended = arm.track_cartesian_path(path, tip, q_init=q, orientation="free")
    assert ended.status == "at_limits" and "'j0' is at its upper limit, 0.6" in ended.message
    assert ended.fraction == pytest.approx(0.1 / 0.8, abs=2e-3)
    tracked = arm.track_cartesian_path(path, tip, q_init=q, orientation="free", reconfigure=True)
    assert tracked.success and tracked.reconfigurations == 1
    part_a, part_b = tracked.parts()
    assert (part_a.sampled(num_samples=50)[1].q[:, 1] < 0.0).all() and (
        part_b.sampled(num_samples=50)[1].q[:, 1] > 0.0
    ).all()
    assert part_a.end_time == part_b.start_time == pytest.approx(ended.fraction * path.length, abs=2e-3)
    for part in (part_a, part_b):
        s = np.linspace(part.start_time, part.end_time, 300)
        assert far(arm, part(s).q, path(s), tip, slice(3, 6)) < 1e-4


def test_straight_line_near_a_singularity_fails_with_a_reason():
    """The two wrist axes nearly align, at 2 mm: from the side the wrist would have to turn at once."""
    X = ARM.pose(np.array([0.3, -1.2, 1.4, -0.9, 0.05, 0.2]), "tool")
    first, last = (X @ lw.pose(axis=(0, 1, 0), angle=a) @ lw.pose((0.002, y, 0)) for a, y in ((-0.3, 0.002), (0.3, 0)))
    path = lw.motion.line(first, last)
    starts = ARM.closed_form("tool").branches(first, q_init=Q).configurations
    tracked_paths = [ARM.track_cartesian_path(path, "tool", q_init=q, max_joint_step=0.1) for q in starts]
    (through,) = {tracked.status for tracked in tracked_paths} - {"solved"}
    assert through == "singular"
    for tracked in tracked_paths:
        if not tracked.success:
            J = ARM.jacobian(tracked.q[-1], "tool")
            assert np.linalg.svd(J)[1][-1] < 0.05 and "smallest singular value" in tracked.message
            assert 0.0 < tracked.fraction < 1.0 and f"{100 * tracked.fraction:.4g} %" in tracked.message
    assert ARM.track_cartesian_path(path, "tool").success  # another branch knows a way


def test_ik_branches_selected_along_a_path_are_the_best_of_all_sequences():
    """Compared with all sequences of a small case: fewest reconfigurations, then the least motion."""
    rng = np.random.default_rng(3)
    free = np.full(2, -np.inf), np.full(2, np.inf)
    for limits in (free, (np.full(2, -2.0), np.full(2, 2.0))):
        for _ in range(20):
            layers = [rng.uniform(-1.9, 1.9, (3, 2)) for _ in range(5)]
            largest = np.full(2, 1.5)
            zero = np.zeros(3, dtype=int)
            labels = Labels(0.0, layers[0], zero, zero.astype(float), zero, zero.astype(bool))
            turning = np.zeros(2, dtype=bool)  # plain numbers, so that there is one way between two
            for nodes in layers[1:]:
                labels, _ = advanced(labels, 0.0, nodes, turning, limits, largest, True)
            best = min(
                (
                    sum(bool((np.abs(b - a) > largest).any()) for a, b in itertools.pairwise(sequence)),
                    sum(np.linalg.norm(b - a) for a, b in itertools.pairwise(sequence)),
                )
                for sequence in itertools.product(*layers)
            )
            assert labels.count[0] == best[0] and labels.motion[0] == pytest.approx(best[1], abs=1e-12)
    # angles go the short way round, and are counted on
    start = Labels(
        0.0, np.array([[3.1]]), np.zeros(1, dtype=int), np.zeros(1), np.zeros(1, dtype=int), np.zeros(1, bool)
    )
    turns = np.ones(1, dtype=bool)
    near, whole = advanced(start, 1.0, np.array([[-3.1]]), turns, (free[0][:1], free[1][:1]), np.ones(1), False)
    assert whole and near.q[0, 0] == pytest.approx(2 * np.pi - 3.1)
    bound = np.full(1, np.pi)
    unmoved, whole = advanced(start, 1.0, np.array([[-3.1]]), turns, (-bound, bound), np.ones(1), False)
    assert not whole and not len(unmoved.q)
    over, _ = advanced(start, 1.0, np.array([[-3.1]]), turns, (-bound, bound), np.ones(1), True)
    assert over.q[0, 0] == -3.1 and over.count[0] == 1


def test_failed_cartesian_paths_state_where_and_why_they_end():
    """Out of reach, a collision: the fraction of the path and the bodies."""
    X = SEVEN.pose(Q7, "hand")
    far_away = SEVEN.track_cartesian_path(lw.motion.line(X, lw.pose((2.0, 0.0, 0.0)) @ X), "hand", q_init=Q7)
    assert far_away.status == "out_of_reach" and 0.0 < far_away.fraction < 0.5
    assert far_away.s[-1] == pytest.approx(2.0 * far_away.fraction, abs=2e-3)
    nowhere = lw.motion.line(lw.pose((5, 0, 0)) @ X, lw.pose((6, 0, 0)) @ X)
    tracked = SEVEN.track_cartesian_path(nowhere, "hand")
    assert tracked.status == "out_of_reach" and tracked.fraction == 0.0 and not len(tracked.q)
    with pytest.raises(ValueError, match="no part of the path"):
        tracked.trajectory()


@pytest.mark.slow(every=3)
def test_timing_of_a_path_that_could_not_be_tracked_reports_the_failed_tracking():
    arm = lw.load("arm6")
    X = arm.pose(arm.neutral() + 0.4, "tool")
    tracked = arm.track_cartesian_path(lw.motion.line(lw.pose((9, 0, 0)) @ X, lw.pose((3, 0, 0)) @ X), "tool")
    with pytest.raises(ValueError, match=r"^TrackedPath\.timed: no part of the path is followed: at 0 %.* of 'world'"):
        tracked.timed(speed=0.1, acceleration=3.0)


@pytest.mark.slow(every=3)
def test_redundant_arms_track_cartesian_paths_to_the_end():
    """Hand paths of smooth joint motions are followed, with any choice of the redundant joint."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        middle = 0.5 * (SEVEN.lower + SEVEN.upper) + rng.uniform(-0.4, 0.4, 7)
        motion = SEVEN.spline([0.0, 1.0, 2.0], middle + np.cumsum(rng.normal(scale=0.2, size=(3, 7)), axis=0))
        path = lw.motion.pose_spline(SEVEN.pose(motion(np.linspace(0.0, 2.0, 30)).q, "hand"))
        tracked = SEVEN.track_cartesian_path(path, "hand", q_init=motion(0.0).q)
        assert tracked.success, tracked.message
        s = np.linspace(0.0, path.length, 300)
        assert far(SEVEN, tracked.trajectory()(s).q, path(s), "hand") < 1e-3


@pytest.mark.parametrize(
    ("name", "locked", "is_redundant"),
    [("arm7", (), True), ("arm7", (0,), False), ("leg", (), True), ("fourbar", (0, 1, 2), False)],
)
def test_robot_is_redundant_if_it_has_more_motions_than_the_path_determines(name, locked, is_redundant):
    """Dependent rows of planar loops, as in the leg, take no motions."""
    robot = lw.load(name)
    q, frame = robot.project(robot.neutral()) if robot.constraints else robot.neutral(), robot.frames[-1]
    path = lw.motion.line(robot.pose(q, frame), lw.pose((0.1, 0.0, 0.0)) @ robot.pose(q, frame))
    names = [robot.joints[k].name for k in locked]
    request = PathRequest(robot, path, frame, "world", "fixed", True, names, None, 1e-3, "follow")
    guesses = request.initial_guesses(np.repeat(q[None] + 0.1, 3, axis=0), 0.1, np.arange(3))
    assert request.is_redundant(q) == is_redundant == (guesses[2] != guesses[1]).any()


def test_joints_that_are_locked_or_do_not_move_the_frame_stay_along_a_tracked_path():
    """The fingers are at their lower limit, and the locked shoulder is near its own, from which others move away."""
    robot = lw.load("arm7_gripper")
    q = robot.neutral() + np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.6, 0.0, 0.0, 0.0])
    path = lw.motion.line(robot.pose(q, "hand"), lw.pose((-0.2, -0.3, 0.1)) @ robot.pose(q, "hand"))
    tracked = robot.track_cartesian_path(path, "hand", q_init=q)
    assert tracked.success and (tracked.q[:, 7:] == q[7:]).all()
    assert np.ptp(tracked.q[:, :7], axis=0).min() > 0.01
    q[0] = robot.lower[0] + 0.05
    request = PathRequest(robot, path, "hand", "world", "z", True, ["shoulder_pan"], None, 1e-3, "follow")
    guesses = request.initial_guesses(np.repeat(q[None], 3, axis=0), 0.1, np.arange(3))
    assert (guesses[:, [0, 7, 8]] == q[[0, 7, 8]]).all() and (guesses[2, [1, 3, 5]] != q[[1, 3, 5]]).all()


@pytest.mark.slow(every=5)
def test_loops_stay_closed_along_a_tracked_cartesian_path():
    leg = lw.load("leg")
    q = leg.assemble().q
    X = leg.pose(q, "foot")
    path = lw.motion.line(X, lw.pose((0.0, 0.0, 0.03)) @ X)
    tracked = leg.track_cartesian_path(path, "foot", q_init=q, orientation="free")
    assert tracked.success
    s = np.linspace(0.0, path.length, 300)
    q = tracked.trajectory()(s).q
    assert np.abs(leg.constraint_error(q)).max() < 1e-4 and far(leg, q, path(s), "foot", slice(3, 6)) < 1e-4


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ["delta", "stewart", "universal"])
def test_parallel_robots_track_straight_lines_of_the_platform(name):
    """Lines between poses of the workspace, in small steps, on the assembly of the start."""
    robot = lw.load(name) if name in ("delta", "stewart") else hexapod(lw.joints.Universal())
    q = robot.neutral() if name in ("delta", "stewart") else robot.assemble(hold={"carried": UP}).q
    rng, X = np.random.default_rng(0), robot.pose(q, "platform")
    reach, turn = {"delta": (0.06, 0.0), "stewart": (0.03, 0.1)}.get(name, (0.2, 0.3))
    ends = [lw.pose(rng.uniform(-reach, reach, 3)) @ X @ lw.pose(rpy=rng.uniform(-turn, turn, 3)) for _ in range(16)]
    starts = robot.inverse_kinematics(np.array(ends), "platform", q_init=q)
    assert starts.success.all()
    for start, end, begin in zip(ends, ends[1:], starts.q, strict=False):
        tracked = robot.track_cartesian_path(lw.motion.line(start, end), "platform", q_init=begin)
        assert tracked.success, tracked.message
        assert np.abs(np.diff(tracked.q, axis=0)).max() <= 0.2
        q = tracked.trajectory()(np.linspace(0.0, tracked.path.length, 50)).q
        assert np.abs(robot.constraint_error(q)).max() < 1e-4


@pytest.mark.slow(every=5)
def test_collision_along_a_cartesian_path_names_the_obstacle():
    """A spherical obstacle before a spherical hand: they meet where their surfaces touch."""
    q = np.array([-0.3, 0.2, 0.9])
    X = SMALL.pose(q, "l4")
    robot = SMALL.with_collisions("l4", lw.shapes.Sphere(0.05))
    path = lw.motion.line(X, lw.pose((0.0, 0.3, 0.0)) @ X)
    scene = lw.Scene().with_sphere("ball", 0.05, X[:3, 3] + [0.0, 0.25, 0.0])
    for edges, near in (("certified", 5e-3), ("sampled", 0.02)):
        met = robot.track_cartesian_path(
            path, "l4", q_init=q, orientation="free", scene=scene, collision_check=edges, resolution=0.01
        )
        assert met.status == "colliding" and "'l4'" in met.message and "'ball'" in met.message
        assert met.s[-1] <= 0.3 * met.fraction + 1e-12 and met.fraction == pytest.approx(0.5, abs=near)
        assert (robot.minimum_distance(met.q, scene) > 0.0).all()
    assert robot.track_cartesian_path(
        path, "l4", q_init=q, orientation="free", scene=scene.with_pose("ball", (0.0, 0.0, 3.0))
    ).success
    # beside the ball with some room, and no more: the curve itself is certified, not its chords alone
    beside = scene.with_pose("ball", X[:3, 3] + [0.11, 0.15, 0.0])
    for margin, free in ((0.005, True), (0.02, False)):
        passed = robot.track_cartesian_path(path, "l4", q_init=q, orientation="free", scene=beside, margin=margin)
        clearance = robot.minimum_distance(passed.trajectory()(np.linspace(0.0, passed.s[-1], 2000)).q, beside)
        assert passed.success == free and clearance.min() > margin
    assert passed.status == "colliding" and "m from 'ball'" in passed.message
    whole = robot.track_cartesian_path(path, "l4", q_init=q, orientation="free").trajectory()
    clearance = robot.minimum_distance(whole(np.linspace(0.0, whole.end_time, 2000)).q, beside)
    close = clearance.min() - 1e-5  # less than the certified check needs, and no collision
    between = robot.track_cartesian_path(path, "l4", q_init=q, orientation="free", scene=beside, margin=close)
    assert between.status == "undecided" and "m from 'ball'" in between.message
    # an arm with a closed form whose branches all meet the same
    six = ARM.with_collisions("tool", lw.shapes.Sphere(0.05)).with_collision_pairs([])
    X = six.pose(Q, "tool")
    path = lw.motion.line(X, lw.pose((0.0, 0.2, 0.0)) @ X)
    ball = lw.Scene().with_sphere("ball", 0.05, X[:3, 3] + [0.0, 0.15, 0.0])
    for start in (Q, None):
        met = six.track_cartesian_path(
            path, "tool", q_init=start, scene=ball, collision_check="sampled", resolution=0.01
        )
        assert met.status == "colliding" and "'tool' collides with 'ball'" in met.message
        assert met.fraction == pytest.approx(0.25, abs=0.02)
    # no point of the hand moves farther than the levers say
    rng = np.random.default_rng(0)
    q = rng.uniform(-2.0, 2.0, (200, 3))
    J = np.linalg.norm(robot.jacobian(q, "l4")[:, 3:], axis=1)
    bound = displacement_bounds(robot, robot.lower, robot.upper)
    assert (bound >= J).all() and (J.max(axis=0) > 0.8 * (bound - 0.35)).all()


@pytest.mark.slow(every=9)
def test_cube_on_a_tool_is_lifted_off_and_lowered_onto_a_table_that_it_may_touch():
    X = ARM.pose(Q, "tool")
    base, up = X[:3, 3] - (0.0, 0.0, 0.2), lw.pose((0.0, 0.0, 0.1)) @ X
    robot = ARM.with_attached("cube", "tool", lw.shapes.Box((0.05,) * 3), np.linalg.inv(X) @ lw.pose(base))
    table = lw.Scene().with_box("table", (0.2, 0.2, 0.02), base - (0.0, 0.0, 0.035))
    lift, options = lw.motion.line(X, up), {"q_init": Q, "scene": table}
    assert not robot.track_cartesian_path(lift, "tool", **options).success
    for check in ("certified", "sampled"):
        lifted = robot.track_cartesian_path(
            lift, "tool", touching=[("cube", "table")], collision_check=check, **options
        )
        assert lifted.success
        distance = robot.distances(lifted.q, table).of("cube", "table").distance
        assert distance.min() > -1e-4 and abs(distance[-1] - 0.1) < 1e-4
    margins = {("cube", "table"): -1e-3, "scene": 0.01}
    assert robot.track_cartesian_path(lift, "tool", margin=margins, **options).success
    lower = robot.track_cartesian_path(
        lw.motion.line(up, X), "tool", q_init=lifted.q[-1], scene=table, touching=[("cube", "table")]
    )
    assert lower.success
    into = robot.track_cartesian_path(
        lw.motion.line(up, lw.pose((0.0, 0.0, -0.01)) @ X),
        "tool",
        q_init=lifted.q[-1],
        scene=table,
        touching=[("cube", "table")],
    )
    assert into.status == "colliding" and "'cube' collides with 'table'" in into.message
    assert into.fraction == pytest.approx(0.1 / 0.11, abs=0.01)
    with pytest.raises(
        ValueError, match=r"^track_cartesian_path: touching: \('cube', 'wrist_3_link'\) is not a checked pair"
    ):
        robot.with_collision_pairs([("cube", "base")]).track_cartesian_path(
            lift, "tool", touching=[("cube", "wrist_3_link")], **options
        )


@pytest.mark.light
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("touching", [("a", "b")]),
        ("margin", 0.01),
        ("margin", {"scene": 0.01}),
        ("collision_check", "sampled"),
        ("resolution", 0.01),
    ],
)
def test_options_of_collision_checks_without_a_scene_are_refused(option, value):
    line = lw.motion.line(ARM.pose(Q, "tool"), lw.pose((0.0, 0.0, 0.01)) @ ARM.pose(Q, "tool"))
    expected = (
        rf"^track_cartesian_path: {option}: expected no such option without a scene.*pass scene=linkwork\.Scene\(\)"
    )
    with pytest.raises(ValueError, match=expected):
        ARM.track_cartesian_path(line, "tool", q_init=Q, **{option: value})
    defaults = {"touching": [], "margin": 0.0, "collision_check": "certified", "resolution": 0.05}
    assert inspect.signature(ARM.track_cartesian_path).parameters["resolution"].default == defaults["resolution"]
    if option == "touching":
        assert ARM.track_cartesian_path(line, "tool", q_init=Q, **defaults).success


def test_cartesian_paths_start_from_numerical_ik_if_no_closed_form_branch_exists(monkeypatch):
    X = ARM.pose(Q, "tool")
    path = lw.motion.line(X, lw.pose((0.0, 0.1, 0.0)) @ X)
    monkeypatch.setattr(following, "_within_limits", lambda request, q, turning: q[:0])
    assert ARM.track_cartesian_path(path, "tool", num_starts=2).success
    monkeypatch.setattr(following, "_candidates", lambda *arguments: [])
    tracked = ARM.track_cartesian_path(path, "tool")  # of collisions nothing is said without a scene
    assert tracked.status == "not_found" and "no start configuration was found" in tracked.message


def test_line_into_the_cylinder_about_the_pan_axis_ends_at_a_singularity():
    arm = lw.load("arm6")
    down = lw.pose(rpy=(np.pi, 0.0, 0.0))
    path = lw.motion.line(lw.pose((0.05, -0.5, 0.3)) @ down, lw.pose((0.05, 0.5, 0.3)) @ down)
    tracked = arm.track_cartesian_path(path, "tool")
    assert tracked.status == "singular" and "no configuration was found for the next pose" in tracked.message
    stated = float(re.search(r"smallest singular value of ([0-9.e-]+),", tracked.message).group(1))
    q = tracked.q[-1]
    values = np.linalg.svd(arm.jacobian(q, "tool"), compute_uv=False)
    assert stated == pytest.approx(values[-1], rel=0.05) and values[-1] < 0.05
    # the wrist's center, at a constant distance from the tool's axis, is on the cylinder whose radius is its offset
    end = path(tracked.fraction * path.length)[:2, 3]
    assert np.linalg.norm(end) == pytest.approx(np.linalg.norm(arm.pose(q, "tool")[:2, 3]), abs=1e-3)
    beyond = path(tracked.fraction * path.length + 0.02)
    assert not arm.inverse_kinematics(beyond, "tool").success


def test_displacement_bounds_of_points_and_shapes_equal_distances_from_the_joint_axes():
    point = lw.shapes.PointCloud([[0.0, 0.0, 0.0]])
    tip = SMALL.with_collisions("l4", point)
    assert np.allclose(
        displacement_bounds(tip, tip.lower, tip.upper), [1.1, 0.8, 0.4]
    )  # from frame to frame, and a reach of 0
    inner = SMALL.with_collisions("l3", point)
    assert np.allclose(displacement_bounds(inner, tip.lower, tip.upper), [0.7, 0.4, 0.0])  # the last one moves nothing
    with pytest.raises(ValueError, match=r'is unbounded.*: use collision_check="sampled"'):
        displacement_bounds(SMALL.with_collisions("l4", lw.shapes.HalfSpace()), tip.lower, tip.upper)
    # what slides is bounded by the limits that were asked for, and by none where there are none
    slider = chain_text([("revolute", "0 0 1", "0 0 0", -3, 3), ("prismatic", "1 0 0", "0 0 0", 0, 1)], "0.2 0 0")
    slider = slider.with_collisions("l3", point)
    assert np.allclose(displacement_bounds(slider, slider.lower, np.array([3.0, 0.5])), [0.7, 1.0])
    scene = lw.Scene().with_sphere("ball", 0.1, (0.0, 0.0, 2.0))
    path = lw.motion.line(slider.pose([0.0, 0.1], "l3"), slider.pose([0.0, 0.2], "l3"))
    with pytest.raises(ValueError, match=r'is unbounded.*: use collision_check="sampled"'):
        slider.track_cartesian_path(path, "l3", orientation="free", scene=scene, position_limits=False)
    assert slider.track_cartesian_path(
        path, "l3", orientation="free", scene=scene, position_limits=False, collision_check="sampled"
    ).success


def test_invalid_arguments_of_cartesian_paths_are_refused():
    X = ARM.pose(Q, "tool")
    nan = X.copy()
    nan[0, 3] = np.nan
    path = lw.motion.line(X, lw.pose((0.1, 0, 0)) @ X)
    motion = lw.motion
    for call, error, text in (
        (lambda: motion.polyline([X]), ValueError, "at least two poses"),
        (lambda: motion.pose_spline([X]), ValueError, "at least two poses"),
        (lambda: motion.line(X, X), ValueError, "same pose"),
        (lambda: motion.pose_spline([X, B, B]), ValueError, "poses 1 and 2 are equal"),
        (lambda: motion.polyline([X, X]), ValueError, "two different poses"),
        (lambda: motion.line(X, nan), ValueError, "X1: expected a pose, a matrix of shape"),
        (lambda: motion.polyline([A, nan]), ValueError, "pose 1"),
        (lambda: motion.polyline([A, B, C], blend=np.nan), ValueError, "blend: expected a number"),
        (
            lambda: motion.polyline([A, B, C], blend=0.1, orientation="screw"),
            ValueError,
            'blend: expected 0, since orientation="screw" cannot',
        ),
        (lambda: motion.line(A, B, orientation="screwed"), ValueError, "did you mean 'screw'"),
        (lambda: motion.arc(A, (0.1, 0, 0), (0.2, 0, 0)), ValueError, "on one line"),
        (
            lambda: motion.arc(A, (0.1, 0, 0), center=(0, 0, 0)),
            ValueError,
            "arc: expected either via and X1, or center, axis and angle, got ",
        ),
        (lambda: motion.arc(A, center=(0, 0, 1), axis=(0, 0, 1), angle=1.0), ValueError, "on the axis"),
        (lambda: motion.arc(A, center=(1, 0, 0), axis=(0, 0, 1), angle=np.nan), ValueError, "angle"),
        (lambda: path(0.2), ValueError, "from 0 to 0.1"),
        (lambda: path.with_approach(0.0), ValueError, "distance: expected a positive number"),
        (lambda: path.with_retreat(0.1, "w"), ValueError, "axis: expected"),
        (lambda: path.append(path), ValueError, "0.1 m and 0 rad from the end"),
        (lambda: ARM.track_cartesian_path(path, "tol"), UnknownNameError, "did you mean 'tool'"),
        (lambda: ARM.track_cartesian_path([X, B], "tool"), TypeError, "expected a CartesianPath, as from linkwork"),
        (lambda: ARM.track_cartesian_path(path, "tool", q_init=Q + 0.1), ValueError, "from the beginning of the"),
        (lambda: ARM.track_cartesian_path(path, "tool", q_init=Q[:3]), ValueError, "q_init: expected an array of"),
        (
            lambda: ARM.track_cartesian_path(path, "tool", q_init=Q + np.array([0, 0, 9, 0, 0, 0])),
            ValueError,
            "beyond its limits",
        ),
        (lambda: ARM.track_cartesian_path(path, "tool", q_init=Q * np.nan), ValueError, "track_cartesian_path: q_init"),
        (lambda: ARM.track_cartesian_path(path, "tool", position_tolerance=0.0), ValueError, "position_tolerance"),
        (lambda: ARM.track_cartesian_path(path, "tool", max_joint_step=np.nan), ValueError, "max_joint_step"),
        (lambda: ARM.track_cartesian_path(path, "tool", orientation="w"), ValueError, "orientation: got 'w': there"),
        (lambda: ARM.track_cartesian_path(path, "tool", num_starts=0), ValueError, "num_starts: expected an integer"),
        (lambda: ARM.track_cartesian_path(path, "tool", scene=3), TypeError, "expected a Scene"),
    ):
        with pytest.raises(error, match=text):
            call()


@pytest.mark.slow(every=5)
def test_jerk_limited_timing_does_not_stop_between_waypoints_of_a_cartesian_path():
    q0 = np.array([0.3, -1.2, 1.4, -0.9, -1.1, 0.2])
    arm = lw.load("arm6")
    X = arm.pose(q0, "tool")
    along = arm.track_cartesian_path(lw.motion.line(X, lw.pose((0.1, -0.2, 0.1)) @ X), "tool", q_init=q0)
    trajectory = along.trajectory()
    inner = trajectory.knots[1:-1]
    assert (
        np.abs(trajectory(inner + 1e-9).a - trajectory(inner - 1e-9).a).max() < 1e-6 * np.abs(trajectory(inner).a).max()
    )
    free, timed = (along.timed(speed=0.25, acceleration=10.0, jerk=jerk, num_points=100) for jerk in (None, 200.0))
    assert timed.speed[1:-1].min() > 0.0 and free.duration < timed.duration < 1.1 * free.duration
    times = np.linspace(0.0, timed.duration, 2001)
    assert np.abs(timed.trajectory.jerk(times)).max() < 200.0 * (1.0 + 1e-6)
    turned = lw.pose_difference(arm.pose(timed.trajectory(times).q, "tool"), X)[:, :3]
    assert np.linalg.norm(turned, axis=1).max() < 1e-3


def test_tracked_cartesian_paths_stay_within_the_tolerance_between_waypoints():
    """An example that exceeded the tolerance by 7 % when three parameters were measured."""
    robot = ur5()
    q = [[0.842359, 0.643991, 0.478179, 1.032435, 0.807018, -0.802343]]
    q += [[0.591163, 0.735858, 0.676901, 0.912324, 0.755201, -0.947601]]
    q += [[0.723975, 0.758122, 1.075441, 0.638456, 0.845827, -0.836604]]
    q += [[0.633865, 0.904006, 0.71581, 1.168157, 0.510316, -0.606652]]
    motion, frame = robot.spline([0.0, 1.0, 2.0, 3.0], q), robot.frames[-1]
    path = lw.motion.pose_spline(robot.pose(motion(np.linspace(0.0, 3.0, 100)).q, frame))
    tracked = robot.track_cartesian_path(path, frame, q_init=q[0])
    (part,) = tracked.parts()
    s = np.linspace(part.start_time, part.end_time, 8001)
    off = np.linalg.norm(lw.pose_difference(robot.pose(part(s).q, frame), path(s))[:, 3:], axis=-1).max()
    assert tracked.deviation.position <= off <= min(1e-4, 1.1 * tracked.deviation.position)


def test_advice_of_an_arm_with_too_few_joints_is_an_option_of_paths() -> None:
    (arm, tip), line = planar([1.0, 1.0]), lw.motion.line((1.2, 0.0, 0.0), (0.8, 0.8, 0.0))
    tracked = arm.track_cartesian_path(line, tip)
    assert not tracked.success and 'orientation="free" leaves its orientation free' in tracked.message
    assert str(tracked).startswith(f"{tracked!r}\nout_of_reach: ") and "np.inf" not in str(tracked)
    free = arm.track_cartesian_path(line, tip, orientation="free")
    assert free.success and str(free) == repr(free)


def test_polylines_of_positions_equal_those_of_poses_without_rotation() -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    path, expected = (lw.motion.polyline(x, blend=0.1) for x in (points, np.stack([lw.pose(x) for x in points])))
    s = np.linspace(0.0, path.length, 21)
    assert path.length == expected.length and np.array_equal(path(s), expected(s))
    with pytest.raises(ValueError, match=r"polyline: expected at least two poses \(n, 4, 4\)"):
        lw.motion.polyline(points[:1])
