"""Distances of robots: compared with single pairs of shapes, differences, and minima."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.balls import random_scene, with_balls
from linkwork.errors import UnknownNameError

ROBOT, SCENE = with_balls("arm7"), random_scene(5)
Q = ROBOT.random_configuration(seed=1, size=40)


def centres(q):
    return {f.name: ROBOT.pose(q, f.name) @ np.reshape(f.collisions[0].origin.elements(), (4, 4))
            for f in ROBOT.tree.frames if f.collisions}  # fmt: skip


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("function", ["minimum_distance", "distances", "nearest_pair"])
def test_pairs_with_obstacles_and_of_links_can_be_selected_by_group(function) -> None:
    robot = lw.load("double_pendulum")
    scene = lw.Scene().with_sphere("ball", 0.1, (0.6, 0.0, 0.4)).with_sphere("lamp", 0.2, (0.0, 0.0, -3.0))
    q = robot.random_configuration(seed=2)
    pairs = robot.distances(q, scene).pairs
    for group in ("self", "scene"):
        chosen = [pair for pair in pairs if (pair[1] in scene) == (group == "scene")]
        assert 0 < len(chosen) < len(pairs)
        result, expected = (getattr(robot, function)(q, scene, pairs=x) for x in (group, chosen))
        if function == "minimum_distance":
            assert result == expected
        else:
            assert result.pairs == expected.pairs and np.array_equal(result.distance, expected.distance)
    with pytest.raises(ValueError, match=f"{function}: pairs: expected pairs of links and obstacles, got none; pass a"):
        getattr(robot, function)(q, pairs="scene")
    with pytest.raises(ValueError, match=rf"{function}: pairs: expected .*, 'self' or 'scene', got 'world'"):
        getattr(robot, function)(q, scene, pairs="world")


def test_robot_distances_returns_all_collision_pairs_with_their_names() -> None:
    distances, X = ROBOT.distances(Q, SCENE), centres(Q)
    assert len(set(distances.pairs)) == len(distances.pairs) and distances.distance.shape == (40, len(distances.pairs))
    for k, (a, b) in enumerate(distances.pairs):
        at_b = X[b][..., :3, 3] if b in X else np.array([*SCENE[b].pose.translation])
        radius = 0.07 if b in X else SCENE[b].shape.radius
        d = np.linalg.norm(at_b - X[a][..., :3, 3], axis=-1) - 0.07 - radius
        assert np.abs(distances.distance[:, k] - d).max() < 1e-14
    n = distances.normal * distances.distance[..., np.newaxis]
    assert np.abs(distances.point_b - distances.point_a - n).max() < 1e-14
    assert ("base", "ball0") not in distances.pairs and ("base", "shoulder") not in distances.pairs
    pair_distances = (
        distances.of("ball0", "hand") if ("hand", "ball0") in distances.pairs else distances.of("ball0", "wrist")
    )
    assert np.array_equal(pair_distances.normal, -distances.of("wrist", "ball0").normal)
    chosen = ROBOT.distances(Q, SCENE, pairs=[("ball3", "wrist"), ("base", "wrist")])
    assert chosen.pairs == (("base", "wrist"), ("wrist", "ball3"))
    assert np.array_equal(chosen.distance[:, 1], distances.of("wrist", "ball3").distance)


def test_minimum_distance_nearest_pair_and_in_collision_agree_with_distances_of_all_pairs() -> None:
    d = ROBOT.distances(Q, SCENE).distance
    assert np.array_equal(ROBOT.minimum_distance(Q, SCENE), d.min(-1))
    single = ROBOT.minimum_distance(Q.astype(np.float32), SCENE)
    assert single.dtype == np.float32 and 0.0 < np.abs(single - d.min(-1)).max() < 1e-5
    for margin in (0.0, 0.05, -0.02):
        assert np.array_equal(ROBOT.in_collision(Q, SCENE, margin=margin), d.min(-1) <= margin)
    assert 0.1 < ROBOT.in_collision(Q, SCENE).mean() < 0.9
    for q in Q[:5]:
        distances, nearest = ROBOT.distances(q, SCENE), ROBOT.nearest_pair(q, SCENE)
        assert nearest.pairs[0] == distances.pairs[distances.distance.argmin()]
        assert repr(nearest) == "<RobotDistances: {!r} and {!r}, {:.6g} m>".format(
            *nearest.pairs[0], nearest.distance[0]
        )
        assert nearest.distance[0] == distances.distance.min()
        of_wrist = ROBOT.nearest_pair(q, SCENE, link="wrist")
        assert ROBOT.nearest_pair(q, SCENE, link="hand").pairs == ROBOT.nearest_pair(q, SCENE, link="flange").pairs
        indices = [k for k, pair in enumerate(distances.pairs) if "wrist" in pair]
        assert of_wrist.distance[0] == distances.distance[indices].min()


def test_distances_of_one_obstacle_are_those_of_all_pairs_with_it() -> None:
    distances = ROBOT.distances(Q, SCENE)
    name = SCENE.names[1]
    selected = distances.of(name)
    assert 0 < len(selected.pairs) < len(distances.pairs) and all(name in pair for pair in selected.pairs)
    for k, (a, b) in enumerate(selected.pairs):
        assert np.array_equal(selected.distance[:, k], distances.of(a, b).distance)
        assert np.array_equal(selected.point_a[:, k], distances.of(a, b).point_a)
    with pytest.raises(UnknownNameError, match="no shape or obstacle named 'wrst'; did you mean 'wrist'"):
        distances.of("wrst")


def test_pairs_of_a_base_and_an_obstacle_are_measured_if_they_are_named() -> None:
    arm = lw.load("arm6")
    base = arm.links[0].name
    table = lw.Scene().with_box("table", (1.0, 1.0, 0.1), (0.0, 0.0, -0.048))
    assert not any({base, "table"} == {*pair} for pair in arm.distances(arm.neutral(), table).pairs)
    named = arm.distances(arm.neutral(), table, pairs=[(base, "table")])
    assert named.distance[0] == pytest.approx(-0.002, abs=1e-9)  # the base stands on z = 0
    for choice in (None, "scene"):
        nearest = arm.nearest_pair(arm.neutral(), table, link=base, pairs=choice)
        assert nearest.pairs == ((base, "table"),) and nearest.distance[0] == named.distance[0]


@pytest.mark.slow(every=5)
def test_distance_gradients_equal_finite_differences_and_smooth_minima_are_lower_bounds() -> None:
    robot = with_balls("quadruped")
    scene, q, h = random_scene(3), robot.random_configuration(seed=2, size=3), 1e-6
    distance, gradient, pairs = robot.distance_derivatives(q, scene)
    everything = robot.distances(q, scene)
    assert pairs == everything.pairs and np.array_equal(distance, everything.distance)
    smooth = robot.smooth_minimum_distance(q, scene, sharpness=50.0)
    slope = robot.smooth_minimum_distance_gradient(q, scene, sharpness=50.0)
    for k in range(robot.nv):
        ahead, behind = (robot.integrate(q, s * h * np.eye(robot.nv)[k]) for s in (1.0, -1.0))
        rate = (robot.distances(ahead, scene).distance - robot.distances(behind, scene).distance) / (2.0 * h)
        assert np.abs(gradient[..., k] - rate).max() < 2e-9
        rise = [robot.smooth_minimum_distance(x, scene, sharpness=50.0) for x in (ahead, behind)]
        assert np.abs(slope[..., k] - (rise[0] - rise[1]) / (2.0 * h)).max() < 2e-8
    d = robot.distances(q, scene).distance
    least = d.min(-1)
    assert (smooth <= least).all() and (smooth >= least - np.log(d.shape[-1]) / 50.0).all()
    exact = least - np.log(np.exp(-50.0 * (d - least[:, np.newaxis])).sum(-1)) / 50.0
    assert np.abs(smooth - exact).max() < 1e-14


def test_distances_are_equal_for_single_calls_batches_and_any_scene_capacity() -> None:
    alone = np.array([ROBOT.minimum_distance(q, SCENE) for q in Q])
    assert np.array_equal(alone, ROBOT.minimum_distance(Q, SCENE))
    assert np.array_equal(ROBOT.distances(Q[7], SCENE).distance, ROBOT.distances(Q, SCENE).distance[7])
    far = SCENE
    for k in range(6):
        far = far.with_sphere(f"far{k}", 0.1, (50.0 + k, 0, 0))
    assert [c for _, c in SCENE.capacities] == [8] and [c for _, c in far.capacities] == [12]
    assert np.array_equal(ROBOT.minimum_distance(Q, far), alone)
    back = far
    for k in range(6):
        back = back.without(f"far{k}")
    assert back == SCENE and hash(back) == hash(SCENE)
    self_distances = ROBOT.distances(Q)
    assert np.array_equal(ROBOT.minimum_distance(Q, lw.Scene()), self_distances.distance.min(-1))


def test_invalid_arguments_of_robot_distances_are_refused() -> None:
    bare = lw.Robot(replace(ROBOT.tree, frames=tuple(replace(f, collisions=()) for f in ROBOT.tree.frames)))
    with pytest.raises(ValueError, match="no collision shapes"):
        bare.distances(Q)
    with pytest.raises(ValueError, match="q"):
        ROBOT.distances(np.full(7, np.nan), SCENE)
    with pytest.raises(ValueError, match="q"):
        ROBOT.minimum_distance(np.zeros(6), SCENE)
    with pytest.raises(UnknownNameError, match="wrist"):
        ROBOT.distances(Q, SCENE, pairs=[("writs", "ball0")])
    with pytest.raises(UnknownNameError, match="wrist"):
        ROBOT.nearest_pair(Q[0], link="writs")
    with pytest.raises(TypeError, match=r"nearest_pair: scene: .*pass a link by name: link='wrist'"):
        ROBOT.nearest_pair(Q[0], "wrist")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="both obstacles"):
        ROBOT.distances(Q, SCENE, pairs=[("ball0", "ball1")])
    for pairs in (3, "ab", ["ab"], [("base", "wrist", "x")]):
        with pytest.raises(ValueError, match="pairs of names"):
            ROBOT.distances(Q, SCENE, pairs=pairs)
    with pytest.raises(TypeError, match=r"linkwork\.Scene"):
        ROBOT.distances(Q, "kitchen")
    for sharpness in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="sharpness"):
            ROBOT.smooth_minimum_distance(Q, SCENE, sharpness=sharpness)


PAIRS = [("flange", "a"), ("upper_arm_proximal", "b"), ("wrist", "a"), ("wrist", "c"), ("base", "flange")]


@pytest.mark.parametrize(
    "pairs",
    [pytest.param(PAIRS[3:], marks=pytest.mark.slow(every=9)), pytest.param(PAIRS, marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_obstacles_are_checked_only_against_the_links_selected_for_them(pairs: list[tuple[str, str]]) -> None:
    """Shapes with different obstacles: every function against the distances of these pairs."""
    robot = lw.load("arm7")
    balls = {"a": (0.8, 0.0, 0.3), "b": (0.0, 0.4, 1.0)}
    scene = lw.Scene().with_box("c", (0.1, 0.1, 0.1), (0.0, -0.5, 0.5))
    for name, position in balls.items():
        scene = scene.with_sphere(name, 0.1, position)
    q, k = robot.random_configuration(seed=0, size=60), 30.0
    result = robot.distance_derivatives(q, scene, pairs=pairs)
    least = result.distance.min(axis=-1)
    soft = -np.log(np.exp(-k * result.distance).sum(axis=-1)) / k
    slope = (np.exp(-k * (result.distance - soft[:, None]))[..., None] * result.gradient).sum(axis=1)
    assert least.min() < 0.0 < least.max() and len(result.pairs) == len(pairs)
    options = {"scene": scene, "pairs": pairs}
    for margin in (0.0, 0.05, -0.01):
        assert np.array_equal(robot.in_collision(q, margin=margin, **options), least <= margin)
    near = robot.nearest_pair(q[0], **options)
    assert near.pairs[0] == result.pairs[int(result.distance[0].argmin())] and abs(near.distance[0] - least[0]) < 1e-12

    def all_of(q):
        smooth = {"sharpness": k, **options}
        return (
            robot.minimum_distance(q, **options),
            robot.smooth_minimum_distance(q, **smooth),
            robot.smooth_minimum_distance_gradient(q, **smooth),
        )

    for evaluated in (all_of(q), lw.compile(all_of, q=7)(q)):
        for value, expected in zip(evaluated, (least, soft, slope), strict=True):
            assert np.abs(value - expected).max() < 1e-9
    edges = robot.is_motion_free(q[:30], q[30:], scene, pairs=pairs)
    t = np.linspace(0.0, 1.0, 200)[:, None]
    for k, free in enumerate(edges.free):
        samples = robot.minimum_distance(q[k] + t * (q[30 + k] - q[k]), **options).min()
        if edges.status[k] != "undecided":
            assert free == (samples > 0.0)
            assert free or robot.minimum_distance(edges.q[k], **options) <= 0.0
