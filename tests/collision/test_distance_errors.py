"""Errors of distances: each names the argument, the value, and the remedy."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.balls import with_balls
from linkwork.errors import UnknownNameError
from linkwork.shapes import Box, HalfSpace, Mesh, Sphere
from linkwork.spatial import Pose, Rotation, Vec3

ROBOT = with_balls("arm7")
SCENE = lw.Scene().with_box("table", (1, 1, 1), (3, 0, 0))
Q = np.zeros(7)


def test_errors_of_distance_functions_name_the_argument_its_value_and_the_remedy() -> None:
    box, X, infinite = Box((1, 1, 1)), lw.pose(), np.full(7, np.nan)
    wrong = {
        r"distances: pairs: expected links on different bodies, but 'wrist' and 'wrist' are": lambda: ROBOT.distances(
            Q, pairs=[("wrist", "wrist")]
        ),
        r"with_collision_pairs: pairs: expected two different links, got 'wrist'": lambda: ROBOT.with_collision_pairs(
            [("wrist", "wrist")]
        ),
        r"link with a collision shape named 'wrst'; did you mean 'wrist'\?": lambda: ROBOT.with_collision_pairs(
            [("wrst", "base")]
        ),
        r"no frame named 'wrst'; did you mean 'wrist'\?": lambda: ROBOT.with_collisions("wrst", box),
        r"or obstacle, named 'tabel'; did you mean 'table'\?": lambda: ROBOT.distances(
            Q, SCENE, pairs=[("wrist", "tabel")]
        ),
        r"or obstacle, named 'table'; there are 'base', ": lambda: ROBOT.distances(Q, pairs=[("wrist", "table")]),
        r"do not support shape 'hand', Mesh.*convex hulls by with_collision_hulls": lambda: ROBOT.with_collisions(
            "hand", Mesh("a.stl")
        ).distances(Q),
        r"with_attached: the robot already has a frame 'wrist': choose another name": (
            lambda: ROBOT.with_attached("wrist", "hand", box)
        ),
        r"no obstacle named 'tabel'; did you mean 'table'\?": lambda: SCENE.with_pose("tabel", (0, 0, 0)),
        r"Scene.with_box: 'x': pose: expected a pose, .* or three numbers \[m\], got \(0, 0, nan\)": (
            lambda: SCENE.with_box("x", (1, 1, 1), (0, 0, np.nan))
        ),
        r"'lamp'.*": lambda: SCENE.only(["lamp"]),
        r"the key 'obstacles' is missing": lambda: lw.Scene.from_json('{"version": 1}'),
        r"unknown type of shape 'bx'.*\n.*did you mean 'box'": lambda: lw.Scene.from_dict(
            {"version": 1, "obstacles": [{"name": "a", "shape": {"type": "bx", "size": [1, 1, 1]}}]}
        ),
        r"is_motion_free: q1\[0\] is NaN \(joint '": lambda: ROBOT.is_motion_free(Q, infinite, SCENE),
        r"is_motion_free: collision_check: expected .*, got 'smpled'": lambda: ROBOT.is_motion_free(
            Q, Q, SCENE, collision_check="smpled"
        ),
        r"margin: expected a finite number, got nan": lambda: ROBOT.in_collision(Q, SCENE, margin=np.nan),
        r"of a HalfSpace and a HalfSpace is not supported": lambda: lw.signed_distance(HalfSpace(), X, HalfSpace(), X),
        r"signed_distance: a: expected a convex shape.*Sphere\), got <class": lambda: lw.signed_distance(
            Box, X, box, X
        ),
        r"signed_distance: b: expected a convex shape.*, got None": lambda: lw.signed_distance(box, X, None, X),
        r"distances: pairs: 'wrist' is the name of a link and of an obstacle": lambda: ROBOT.distances(
            Q, SCENE.with_box("wrist", (1, 1, 1)), pairs=[("base", "wrist")]
        ),
        r"margin: expected names in a pair, got 3": lambda: ROBOT.plan(
            Q, Q, SCENE, margin={("wrist", 3): 0.1}
        ),
        r"margin: expected two names, got 'wrist' twice": lambda: ROBOT.plan(
            Q, Q, SCENE, margin={("wrist", "wrist"): 0.1}
        ),
        r"margin: expected a finite number, got 'wide'": lambda: ROBOT.in_collision(Q, margin="wide"),
        r"no pair named 'wrist, table'; .*'base, wrist'": lambda: ROBOT.distances(Q, pairs=[("base", "wrist")]).of(
            "wrist", "table"
        ),
        r"minimum_distance: q: expected an array of shape \(\.\.\., 7\), got shape \(6,\)": lambda: lw.compile(
            ROBOT.minimum_distance, q=(6,)
        )(Q[:6]),
        r"Scene: two obstacles are called 'table'": lambda: lw.Scene([*SCENE.obstacles, *SCENE.obstacles]),
    }  # fmt: skip
    for message, call in wrong.items():
        with pytest.raises((ValueError, TypeError, UnknownNameError), match=message):
            call()


def test_printed_distances_show_the_value_of_one_pair_and_the_shape_of_a_batch() -> None:
    box = Box((0.2, 0.4, 0.6))
    single = lw.signed_distance(box, lw.pose(), box, lw.pose((0.5, 0.1, 0.2)))
    assert repr(single) == f"<DistanceResult: {single.distance} m>" and single.distance == pytest.approx(0.3)
    batch = lw.signed_distance(box, lw.pose(), box, np.stack([lw.pose((0.5, 0.1, k)) for k in (0.2, 3.0)]))
    assert repr(batch) == "<DistanceResult of shape (2,)>"
    all_pairs = ROBOT.distances(np.stack([Q + 0.3, Q]), SCENE)
    count, nearest = len(all_pairs.pairs), ROBOT.nearest_pair(Q, SCENE)
    ((a, b),), d = nearest.pairs, float(nearest.distance[0])
    assert d == all_pairs.distance.min() < all_pairs.distance[0].min()
    text = f"{a!r} and {b!r}, {d:.6g} m"
    assert repr(all_pairs) == f"<RobotDistances: {count} pairs, shape (2, {count}); the nearest: {text} at (1,)>"
    single = ROBOT.distances(Q, SCENE)
    assert repr(single) == f"<RobotDistances: {count} pairs, shape ({count},); the nearest: {text}>"
    assert repr(ROBOT.distances(np.zeros((0, ROBOT.nq)), SCENE)).endswith(f"{count} pairs, shape (0, {count})>")


def test_positions_stand_for_poses_of_shapes() -> None:
    box, ball = Box((0.2, 0.4, 0.6)), Sphere(0.1)
    points = np.array([[0.5, 0.0, 0.0], [0.0, 1.0, 0.2]])
    X = np.stack([lw.pose(point) for point in points])
    expected = lw.signed_distance(box, lw.pose(), ball, X)
    for X_a, X_b in ((np.zeros(3), points), ((0, 0, 0), points.tolist()), (lw.pose(), points)):
        assert np.array_equal(lw.signed_distance(box, X_a, ball, X_b).distance, expected.distance)
    assert lw.signed_distance(box, (0, 0, 0), ball, (0.5, 0, 0)).distance == expected.distance[0]
    with pytest.raises(ValueError, match=r"X_b: expected poses \(..., 4, 4\), got an array of shape \(6,\)"):
        lw.signed_distance(box, lw.pose(), ball, np.zeros(6))


class Reciprocal(lw.joints.JointType):
    """A slide along x by 1/(2 + q): ball arithmetic does not divide by its coordinate."""

    nq, nv = 1, 1
    q_units, v_units = ("m",), ("m/s",)

    def X(self, q):
        return Pose(Rotation.identity(), Vec3(1.0 / (2.0 + q[0]), 0.0, 0.0))

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return 1


def test_motions_of_joints_without_bounds_are_checked_at_samples_alone() -> None:
    links = [lw.Link("base"), lw.Link("tool", mass=1.0)]
    joint = lw.Joint.of(Reciprocal(), name="slide", parent="base", child="tool")
    robot = lw.Robot.build("odd", *links, joint).with_collisions("tool", Sphere(0.1))
    wall = lw.Scene().with_sphere("ball", 0.1, (1.0, 0.02, 0.01))  # reached at q = -1
    message = (
        r"is_motion_free: joint 'slide' \(reciprocal\): no bound is known .*: div: .*; use collision_check=\"sampled\""
    )
    with pytest.raises(TypeError, match=message):
        robot.is_motion_free([0.0], [-0.8], wall)
    check = lambda q: bool(robot.is_motion_free([0.0], [q], wall, collision_check="sampled").free)  # noqa: E731
    assert check(-0.7) and not check(-0.8)  # at a distance of 0.23 and 0.17 m


def test_distance_of_a_shape_to_itself_at_the_same_pose_is_minus_its_depth() -> None:
    for shape, depth in ((Box((1, 2, 3)), 1.0), (Sphere(0.5), 1.0)):
        distances = lw.signed_distance(shape, lw.pose(), shape, lw.pose())
        assert distances.distance == -depth and distances.unique == 0.0 and np.linalg.norm(distances.normal) == 1.0
