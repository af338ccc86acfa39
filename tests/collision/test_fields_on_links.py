"""Compounds and fields as shapes of links, and point clouds against other fields."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import shapes
from linkwork.joints import Revolute, Universal

RNG = np.random.default_rng(4)
POINTS = 0.1 * RNG.normal(size=(13, 3))
CLOUD = shapes.PointCloud(POINTS, 0.01)
FIELD = lw.distance_field([shapes.Sphere(0.2)], 0.1)
GROUND = shapes.HeightField(0.1 * RNG.normal(size=(4, 4)), 0.4)


def robot(*link_shapes: object) -> lw.Robot:
    """Two links that turn, something on the second one."""
    return lw.Robot.build(
        "holding",
        lw.Link("base", shapes.Box((0.2, 0.2, 0.2)), mass=1.0),
        lw.Link("upper", mass=1.0),
        lw.Link("hand", mass=1.0),
        lw.Joint.of(Universal((0, 0, 1), (0, 1, 0)), name="shoulder", parent="base", child="upper"),
        lw.Joint.of(Revolute((0, 1, 0)), name="elbow", parent="upper", child="hand", placement=(0.4, 0, 0)),
    ).with_collisions("hand", *link_shapes)


@pytest.mark.slow(every=5)
def test_distance_of_a_link_with_a_point_cloud_is_the_minimum_over_its_points() -> None:
    """Against a link, convex obstacles, a floor, and fields; gradients equal differences."""
    offset = lw.pose((0.3, 0, 0.05), rpy=(0.2, 0.4, 0.1))
    cloud_robot = robot(CLOUD.at(offset))
    scene = (
        lw.Scene()
        .with_box("box", (0.2, 0.3, 0.1), (0.3, 0.4, 0.2))
        .with_half_space("floor", (0, 0, -0.3))
        .with_shape("cloud", shapes.PointCloud(POINTS + 0.4), (0.1, 0.2, 0.1))
        .with_shape("field", FIELD, (0.2, -0.5, 0.1))
        .with_shape("ground", GROUND, (0.1, 0.1, -0.6))
    )
    q = cloud_robot.random_configuration(seed=3, size=12)
    result = cloud_robot.distance_derivatives(q, scene)
    assert [pair for pair in result.pairs if "base" not in pair] == [("hand", name) for name in scene.names]
    points = (cloud_robot.pose(q, "hand") @ offset)[:, None] @ np.concatenate([POINTS, np.ones((13, 1))], 1)[..., None]
    ball = shapes.Sphere(CLOUD.radius)
    X = np.tile(np.eye(4), (12, 13, 1, 1))
    X[..., :3, 3] = points[..., :3, 0]
    obstacles = {name: (scene[name].shape, np.reshape(scene[name].pose.elements(), (4, 4))) for name in scene}
    obstacles["base"] = (shapes.Box((0.2, 0.2, 0.2)), np.eye(4))
    for k, pair in enumerate(result.pairs):
        (obstacle,) = set(pair) - {"hand"}
        if "hand" in pair:
            shape, position = obstacles[obstacle]
            expected = lw.signed_distance(ball, X, shape, position).distance.min(-1) - FIELD.error * (
                obstacle == "field"
            )
            assert np.abs(result.distance[:, k] - expected).max() < 1e-12, obstacle
    h = 1e-6
    for k in range(cloud_robot.nv):
        e = h * np.eye(cloud_robot.nv)[k]
        ahead, behind = (cloud_robot.distances(cloud_robot.integrate(q, s * e), scene).distance for s in (1.0, -1.0))
        off = np.abs(result.gradient[..., k] - (ahead - behind) / (2.0 * h))
        exact = [obstacle != "field" for _, obstacle in result.pairs]  # whose normals are those of what is interpolated
        assert np.quantile(off[:, exact], 0.95) < 1e-7
    second = cloud_robot.distance_hessian(q, scene, pairs=[("hand", "box")])
    assert not second.exists.any() and np.isfinite(second.hessian).all()


def test_distance_of_a_link_with_a_compound_shape_is_the_minimum_over_its_shapes() -> None:
    parts = [shapes.Sphere(0.05).at((0.1, 0, 0)), shapes.Sphere(0.08).at((0.3, 0.1, 0))]
    turned = lw.pose((0, 0.1, 0), rpy=(0, 0.3, 0))
    apart = [p.shape.at(turned @ np.reshape(p.origin.elements(), (4, 4))) for p in parts]
    whole, two = robot(shapes.Compound(parts).at(turned)), robot(*apart)
    assert whole.collision_shapes == ("base", "hand[0]", "hand[1]") and whole.collision_pairs == (("base", "hand"),)
    q = whole.random_configuration(seed=3, size=9)
    assert np.array_equal(whole.distances(q).distance, two.distances(q).distance)


def test_distances_of_a_point_cloud_can_be_differentiated_in_reverse_mode() -> None:
    box = shapes.Box((0.2, 0.3, 0.4))

    def distance(x: object) -> object:
        X = lw.expr.array([1.0, 0.0, 0.0, x[0], 0.0, 1.0, 0.0, x[1], 0.0, 0.0, 1.0, x[2], 0.0, 0.0, 0.0, 1.0])
        return lw.signed_distance(CLOUD, X.reshape(4, 4), box, lw.pose()).distance

    kernel = lw.compile(distance, x=3)
    x = np.array([[0.5, 0.2, 0.3], [0.1, 0.5, 0.1], [0.15, 0.05, 0.1]])
    X = np.tile(np.eye(4), (3, 1, 1))
    X[:, :3, 3] = x
    normal = lw.signed_distance(CLOUD, X, box, lw.pose()).normal
    assert np.abs(kernel.jacobian(mode="reverse")(x) + normal).max() < 1e-12


def test_unsupported_distances_between_height_and_distance_fields_are_refused() -> None:
    with pytest.raises(
        TypeError, match=r"a HeightField and a DistanceField is not supported: one of them must be convex"
    ):
        lw.signed_distance(GROUND, lw.pose(), FIELD, lw.pose())
    with pytest.raises(ValueError, match=r"'hand', a DistanceField, and 'floor', a HalfSpace"):
        robot(FIELD.at((0, 0, 0))).distances(np.zeros(3), lw.Scene().with_half_space("floor", (0, 0, -1)))
    with pytest.raises(ValueError, match=r"Mesh.*with_collision_hulls"):
        robot(shapes.Mesh("hand.stl")).distances(np.zeros(3))
