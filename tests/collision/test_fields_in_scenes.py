"""Height fields, clouds, distance fields and compounds in a robot's scene: compared with single pairs."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.balls import with_balls
from linkwork import shapes

ROBOT = with_balls("arm7")
RADIUS = 0.07


def scene(seed):
    rng = np.random.default_rng(seed)
    cloud = 0.3 * rng.normal(size=(20 + seed, 3))
    slab = lw.distance_field([shapes.Box((0.3, 0.3, 0.1)), shapes.Sphere(0.1).at((0, 0, 0.2))], 0.1)
    scene_value = lw.Scene().with_height_field("ground", 0.1 * rng.normal(size=(7, 6 + seed)), 0.3, (0.1, 0, -0.1))
    scene_value = scene_value.with_point_cloud("cloud", cloud, 0.02, lw.pose((0.5, 0, 0.5), rpy=(0.1, 0.2, 0.3)))
    scene_value = scene_value.with_distance_field("slab", slab, lw.pose((-0.5, 0, 0.3), rpy=(0.3, 0.0, 0.5)))
    return scene_value.with_compound("post", [shapes.Sphere(0.1), shapes.Sphere(0.05).at((0, 0, 0.3))], (0.0, 0.6, 0.2))


@pytest.mark.slow(every=5)
def test_robot_distances_to_fields_passed_per_call_equal_distances_of_single_pairs() -> None:
    q = ROBOT.random_configuration(seed=1, size=24)
    centres = {
        f.name: (ROBOT.pose(q, f.name) @ np.reshape(f.collisions[0].origin.elements(), (4, 4)))[..., :3, 3]
        for f in ROBOT.tree.frames
        if f.collisions
    }
    h = 1e-6
    for seed in (1, 2):  # one kernel: of equal capacities
        scene_k = scene(seed)
        assert scene_k.capacities == scene(1).capacities and scene_k.names[-2:] == ("post[0]", "post[1]")
        result = ROBOT.distance_derivatives(q, scene_k)
        pairs = [(k, a, b) for k, (a, b) in enumerate(result.pairs) if b in scene_k]
        assert len(pairs) >= 30
        for k, link, name in pairs:
            obstacle = scene_k[name]
            X = np.reshape(obstacle.pose.elements(), (4, 4))
            p = (centres[link] - X[:3, 3]) @ X[:3, :3]
            if name == "cloud":
                expected = np.linalg.norm(p[:, None] - obstacle.shape.points, axis=-1).min(1) - 0.02
            elif name.startswith("post"):
                expected = np.linalg.norm(p, axis=-1) - obstacle.shape.radius
            elif name == "slab":  # never too much
                gap = np.abs(p) - [0.15, 0.15, 0.05]
                box = np.linalg.norm(np.maximum(gap, 0.0), axis=-1) + np.minimum(gap.max(-1), 0.0)
                exact = np.minimum(box, np.linalg.norm(p - [0.0, 0.0, 0.2], axis=-1) - 0.1)
                assert (result.distance[:, k] + RADIUS <= exact + 1e-12).all()
                near = exact < 0.2
                assert (result.distance[:, k] + RADIUS >= exact - 2.0 * obstacle.shape.error - 1e-12)[near].all()
                continue
            else:
                continue
            assert np.abs(result.distance[:, k] + RADIUS - expected).max() < 1e-12, name
        assert np.array_equal(ROBOT.minimum_distance(q, scene_k), result.distance.min(-1))
        assert lw.Scene.from_json(scene_k.to_json()) == scene_k

        for axis in range(ROBOT.nv):
            step = h * np.eye(ROBOT.nv)[axis]
            after, before = (ROBOT.distance_derivatives(q[:6] + sign * step, scene_k) for sign in (1.0, -1.0))
            differences = (after.distance - before.distance) / (2.0 * h)
            exact = [k for k, (a, b) in enumerate(result.pairs) if b in ("cloud", "ground", "post[0]")]
            assert np.quantile(np.abs(differences - result.gradient[:6, ..., axis])[:, exact], 0.98) < 1e-7


def test_distance_of_a_ball_to_a_level_height_field_is_its_height() -> None:
    """Over level ground a ball's distance is its height."""
    q = ROBOT.random_configuration(seed=3, size=9)
    level = lw.Scene().with_height_field("ground", np.full((7, 6), -0.05), 1.0)
    distances = ROBOT.distances(q, level, pairs=[("wrist", "ground")])
    frame = next(f for f in ROBOT.tree.frames if f.name == "wrist")
    X = ROBOT.pose(q, "wrist") @ np.reshape(frame.collisions[0].origin.elements(), (4, 4))
    assert np.abs(distances.distance[:, 0] - (X[:, 2, 3] + 0.05 - RADIUS)).max() < 1e-13
    assert np.abs(np.abs(distances.normal[:, 0, 2]) - 1.0).max() < 1e-12


@pytest.mark.slow(every=3)
def test_motions_through_the_side_of_terrain_collide_and_those_beside_it_are_free() -> None:
    """A ball of radius 0.05 m passes below the surface of a field that covers |x|, |y| ≤ 0.5 m."""
    ball = lw.Robot.build(
        "ball",
        lw.Link("ball", shapes.Sphere(0.05), mass=1.0),
        lw.Joint.of(lw.joints.Translational(), name="free", parent="world", child="ball"),
    )
    hill = lw.Scene().with_height_field("hill", np.zeros((6, 6)), 0.2)
    start, end = np.array([[-1.5, y, -1.0] for y in (0.0, 0.6)]), np.array([[1.3, y, -1.0] for y in (0.0, 0.6)])
    check = ball.is_motion_free(start, end, hill)
    assert check.status.tolist() == ["colliding", "free"] and check.clearance[1] == pytest.approx(0.05, abs=1e-12)
    assert np.abs(check.q[0, 0]) <= 0.55  # within the walls, or the ball's radius before them
    for y, least in ((0.0, -0.55), (0.6, 0.05)):
        motion = ball.spline([0.0, 1.0], [[-1.5, y, -1.0], [1.3, y, -1.0]], boundary="clamped")
        gap = motion.clearance(hill, tolerance=1e-3)
        assert gap.distance == pytest.approx(least, abs=1e-3) and least - 1e-3 <= gap.lower_bound <= gap.distance


def test_signed_distance_accepts_a_point_cloud_or_height_field_as_one_shape() -> None:
    rng = np.random.default_rng(7)
    ball, X = shapes.Sphere(0.1), lw.pose((0.1, 0.2, 0.3), rpy=(0.5, 0.6, 0.7))
    at = np.tile(np.eye(4), (20, 1, 1))
    at[:, :3, 3] = rng.normal(size=(20, 3))
    for count in (9, 16):  # one kernel
        cloud = shapes.PointCloud(rng.normal(size=(count, 3)), 0.05)
        points = cloud.points @ X[:3, :3].T + X[:3, 3]
        expected = np.linalg.norm(at[:, None, :3, 3] - points, axis=-1).min(1) - 0.15
        distances, back = lw.signed_distance(cloud, X, ball, at), lw.signed_distance(ball, at, cloud, X)
        assert np.abs(distances.distance - expected).max() < 1e-14 and np.array_equal(back.normal, -distances.normal)
        again = lw.signed_distance(cloud, X, ball, at[3])
        assert again.distance == distances.distance[3] and np.array_equal(again.point_a, distances.point_a[3])
        pair = shapes.Compound([cloud, shapes.Sphere(0.2)])
        centre = np.linalg.norm(at[:, :3, 3] - X[:3, 3], axis=-1) - 0.3
        distances = lw.signed_distance(pair, X, ball, at)
        assert np.abs(distances.distance - np.minimum(expected, centre)).max() < 1e-14
    level = shapes.HeightField(np.zeros((2, 2)), 10.0)
    assert float(lw.signed_distance(level, lw.pose(), ball, lw.pose((0, 0, -0.3))).distance) == pytest.approx(-0.4)
    with pytest.raises(TypeError, match="distance of a HeightField and a HeightField is not supported"):
        lw.signed_distance(level, lw.pose(), level, lw.pose())
    with pytest.raises(TypeError, match="signed_distance: b: expected a convex shape, a field or a compound"):
        lw.signed_distance(level, lw.pose(), shapes.Mesh("a.stl"), lw.pose())
    with pytest.raises(ValueError, match="X_a: expected poses"):
        lw.signed_distance(level, 2.0 * np.eye(4), ball, lw.pose())


def test_invalid_fields_in_scenes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"with_distance_field: .*'x': expected a linkwork.shapes.DistanceField"):
        lw.Scene().with_distance_field("x", np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="height field: spacing"):
        lw.Scene().with_height_field("x", np.zeros((2, 2)), 0.0)
    twice = lw.Scene().with_compound("x", [shapes.Sphere(1.0)])
    with pytest.raises(ValueError, match=r"an obstacle 'x\[0\]' exists already"):
        twice.with_compound("x", [shapes.Sphere(1.0)])


def test_proofs_with_negative_margins_are_refused_for_depths_in_terrain_that_may_jump() -> None:
    """The depth of a box at a peak jumps; that of a sphere changes at most as fast as the sphere moves."""
    heights = np.zeros((5, 5))
    heights[2, 2], heights[1] = 0.3, -0.1
    terrain = lw.shapes.HeightField(heights, 1.0)
    scene = lw.Scene().with_shape("terrain", terrain)
    x = np.linspace(-0.6, 0.6, 4001)
    X = np.tile(lw.pose(), (4001, 1, 1))
    X[:, :3, 3] = np.stack([x, 0.1 + 0.2 * x, np.full_like(x, 0.02)], axis=1)
    slide = lw.Joint.of(lw.joints.Prismatic("x"), name="slide", parent="world", child="body", lower=-1.0, upper=1.0)
    robot = lw.Robot.build("slider", [lw.Link("body", mass=1.0)], [slide])
    for shape, jumps in (
        (lw.shapes.Box((0.2, 0.3, 0.1)), True),
        (lw.shapes.Capsule(0.05, 0.3), True),
        (lw.shapes.Sphere(0.1), False),
        (lw.shapes.Cylinder(0.1, 0.2), False),
    ):
        slopes = np.abs(np.diff(lw.signed_distance(terrain, lw.pose(), shape, X).distance)) / np.diff(x)
        if isinstance(shape, lw.shapes.Box):
            assert slopes.max() > 5.0
        elif not jumps:
            assert slopes.max() < 1.1
        body = robot.with_collisions("body", shape)
        calls = (
            lambda check, body=body: body.is_motion_free([-0.2], [0.2], scene, margin=-0.5, collision_check=check),
            lambda check, body=body: body.plan([-0.2], [0.2], scene, margin=-0.5, collision_check=check),
            lambda check, body=body: body.plan([-0.2], [0.2], scene, margin={"scene": -0.5}, collision_check=check),
        )
        for call in calls:
            assert call("sampled").success
            if not jumps:
                assert call("certified").success
                continue
            with pytest.raises(
                ValueError, match=r"the depth of 'body' and 'terrain' may jump .*collision_check=\"sampled\""
            ):
                call("certified")
        assert body.is_motion_free([-0.2], [0.2], scene, margin=0.0).status == "colliding"
