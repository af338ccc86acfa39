"""Errors of distances: each names the argument, the value, and the remedy."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.balls import with_balls
from linkwork.errors import UnknownNameError
from linkwork.shapes import Box, HalfSpace, Mesh, Sphere

ROBOT = with_balls("arm7")
SCENE = lw.Scene().with_box("table", (1, 1, 1), (3, 0, 0))
Q = np.zeros(7)


def test_errors_of_distance_functions_name_the_argument_its_value_and_the_remedy() -> None:
    box, X, infinite = Box((1, 1, 1)), lw.pose(), np.full(7, np.nan)
    wrong = {
        r"distances: pairs: 'wrist' and 'wrist' are on the same body": lambda: ROBOT.distances(
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
    }  # fmt: skip
    for message, call in wrong.items():
        with pytest.raises((ValueError, TypeError, UnknownNameError), match=message):
            call()


def test_distance_of_a_shape_to_itself_at_the_same_pose_is_minus_its_depth() -> None:
    for shape, depth in ((Box((1, 2, 3)), 1.0), (Sphere(0.5), 1.0)):
        distances = lw.signed_distance(shape, lw.pose(), shape, lw.pose())
        assert distances.distance == -depth and distances.unique == 0.0 and np.linalg.norm(distances.normal) == 1.0
