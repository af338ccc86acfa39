"""Motion checks: certified segments contain no colliding sample, and collisions are at the stated configuration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.geometry.scene import Scene
from linkwork.shapes import Box, Capsule, Cylinder, DistanceField, Ellipsoid, HeightField, Sphere

FAR = Scene().with_sphere("far", 0.1, (9.0, 0.0, 0.0)).with_shape("farther", Capsule(0.1, 0.1), (9.0, 1.0, 0.0))
METHOD = {"collision_check": "sampled", "resolution": 0.01}


def _arm() -> lw.Robot:
    """The arm inside, of capsules and a box."""
    tree = lw.load("arm7")._tree
    frames = []
    for frame in tree.frames:
        parts = []
        for geometry in frame.collisions:
            old = geometry.shape
            new = Capsule(old.radius, old.length - old.radius) if isinstance(old, Cylinder) else old
            parts.append(replace(geometry, shape=new))
        frames.append(replace(frame, collisions=tuple(parts)))
    return lw.Robot(replace(tree, frames=tuple(frames)))


def _scene(rng: np.random.Generator) -> Scene:
    """Boxes, spheres and capsules around an arm, not at its foot."""
    scene = Scene()
    for k in range(12):
        position = rng.uniform([-0.9, -0.9, -0.2], [0.9, 0.9, 1.2])
        position[:2] *= max(1.0, 0.4 / np.hypot(*position[:2]))
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = R * np.linalg.det(R), position
        a, b = rng.uniform(0.03, 0.12, 2).tolist()
        shape = (Box(rng.uniform(0.02, 0.3, 3).tolist()), Sphere(a), Capsule(a, 3.0 * b))[k % 3]
        scene = scene.with_shape(f"obstacle{k}", shape, X)
    return scene


def _edges(robot: lw.Robot, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    q0 = rng.uniform(robot.lower, robot.upper, (count, robot.nq))
    displacement = rng.normal(size=(count, robot.nq))
    return q0, q0 + displacement / np.linalg.norm(displacement, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def arm() -> lw.Robot:
    return _arm()


@pytest.mark.slow(every=5)
def test_motion_segments_certified_as_free_contain_no_collision(arm: lw.Robot) -> None:
    rng = np.random.default_rng(0)
    free = colliding = undecided = 0
    for seed in range(4):
        scene = _scene(np.random.default_rng(seed))
        q0, q1 = _edges(arm, rng, 700)
        check, samples = arm.is_motion_free(q0, q1, scene), arm.is_motion_free(q0, q1, scene, **METHOD)
        assert not (check.free & (samples.status == "colliding")).any()
        assert not ((check.status == "colliding") & (check.clearance > 0.0)).any()
        hit = check.status == "colliding"
        t = check.t[hit, np.newaxis]
        assert check.q[hit] == pytest.approx(arm.integrate(q0[hit], t * arm.difference(q0[hit], q1[hit])), abs=1e-12)
        assert (
            arm.is_motion_free(check.q[hit], check.q[hit], scene, **METHOD).status.tolist() == ["colliding"] * hit.sum()
        )
        near = check.status == "undecided"
        assert ((check.clearance[near] > 0.0) & (check.clearance[near] <= 1e-4)).all()
        assert np.isnan(check.q[check.free]).all()
        free, colliding, undecided = free + check.free.sum(), colliding + hit.sum(), undecided + near.sum()
        single = arm.is_motion_free(q0[3], q1[3], scene)  # the same bits alone
        assert (single.status, single.clearance, single.iterations) == (
            check.status[3],
            check.clearance[3],
            check.iterations[3],
        )
    assert free > 500 and colliding > 500 and undecided < 0.01 * 2800


@pytest.mark.slow(every=5)
def test_segments_certified_with_iteratively_computed_distances_contain_no_collision() -> None:
    swing = lw.load("double_pendulum").with_attached("can", "tip", Cylinder(0.05, 0.4))
    rng = np.random.default_rng(8)
    scene = Scene()
    for k in range(3):
        scene = scene.with_shape(
            f"egg{k}", Ellipsoid((0.2, 0.1, 0.05)), swing.pose(rng.uniform(-3.0, 3.0, 2), "tip")[:3, 3]
        )
    q0, q1 = rng.uniform(-3.0, 3.0, (2, 1500, swing.nq))
    q1 = q0 + 0.3 * (q1 - q0)
    pairs = [("can", name) for name in scene.names]
    check = swing.is_motion_free(q0, q1, scene, pairs=pairs)
    samples = swing.is_motion_free(q0, q1, scene, pairs=pairs, **METHOD)
    assert not (check.free & (samples.status == "colliding")).any()
    assert check.free.sum() > 100 and (check.status == "colliding").sum() > 100
    assert (check.status == "undecided").sum() < 15


def test_segments_certified_against_distance_fields_contain_no_collision() -> None:
    swing = lw.load("double_pendulum").with_attached("ball", "tip", Sphere(0.05))
    rng = np.random.default_rng(9)
    scene = Scene().with_shape("hills", HeightField(rng.uniform(0.0, 0.5, (5, 5)), 1.0), (0.3, 0.2, -1.0))
    q0, q1 = rng.uniform(-3.0, 3.0, (2, 600, swing.nq))
    q1 = q0 + 0.3 * (q1 - q0)
    pairs = [("ball", "hills")]
    check = swing.is_motion_free(q0, q1, scene, pairs=pairs)
    samples = swing.is_motion_free(q0, q1, scene, pairs=pairs, **METHOD)
    assert not (check.free & (samples.status == "colliding")).any()
    assert check.free.sum() > 60 and (check.status == "colliding").sum() > 60


def test_segments_past_a_scaled_distance_field_are_certified_by_its_slope() -> None:
    """The values of a ball of radius 0.1 m are 20 times its distances, so a step by the distance passes through it."""
    ball = lw.Robot.build(
        "ball",
        lw.Link("ball", Sphere(0.05), mass=1.0),
        lw.Joint.of(lw.joints.Translational(), name="free", parent="world", child="ball"),
    )
    grid = np.stack(np.meshgrid(*[np.linspace(-0.4, 0.4, 9)] * 3, indexing="ij"), axis=-1)
    values = 20.0 * (np.linalg.norm(grid, axis=-1) - 0.1)
    scene = Scene().with_distance_field("steep", DistanceField(values, 0.1))
    y = np.array([0.0, 0.39])
    q0, q1 = (np.stack([np.full(2, x), y, 0.0 * y], axis=1) for x in (-0.39, 3.0))
    check, samples = (ball.is_motion_free(q0, q1, scene, **kwargs) for kwargs in ({}, METHOD))
    assert samples.free.tolist() == check.free.tolist() == [False, True]
    # at the middle of the first segment the value is near 20 m, more than the segment's length
    assert float(ball.minimum_distance(0.5 * (q0 + q1)[0], scene)) > 3.4


@pytest.mark.slow(every=5)
def test_certified_segments_keep_the_required_margin_everywhere(arm: lw.Robot) -> None:
    scene = _scene(np.random.default_rng(5))
    q0, q1 = _edges(arm, np.random.default_rng(6), 300)
    check = arm.is_motion_free(q0, q1, scene, margin=0.03)
    samples = arm.is_motion_free(q0[check.free], q1[check.free], scene, **METHOD)
    assert check.free.sum() > 30 and samples.clearance.min() > 0.03
    assert (check.clearance[check.status == "colliding"] <= 0.03).all()


def test_certified_motion_checks_detect_collisions_between_samples(arm: lw.Robot) -> None:
    q0, q1 = (np.array([turn, 0.6, 0.0, -1.2, 0.0, 1.0, 0.0]) for turn in (-0.6, 0.6))
    hand = arm.pose([0.3, *q0[1:]], "flange")[:3, 3]
    plate = FAR.with_box("plate", (0.2, 1e-3, 0.2), lw.pose(hand, rpy=(0.0, 0.0, 0.3)))  # across the hand's way
    samples = {"collision_check": "sampled", "resolution": 0.6}
    assert arm.is_motion_free(q0, q1, plate, collision_check="sampled", resolution=0.01).status == "colliding"
    coarse, certified = arm.is_motion_free(q0, q1, plate, **samples), arm.is_motion_free(q0, q1, plate)
    assert (coarse.status, coarse.free, coarse.iterations) == ("free_at_samples", True, 3)
    assert (certified.status, certified.free) == ("colliding", False)
    assert coarse.success and not certified.success and 0.5 < certified.t < 1.0


def test_motion_check_of_a_segment_of_zero_length_equals_the_check_of_its_configuration(arm: lw.Robot) -> None:
    q = np.array([0.1, -0.3, 0.2, -1.5, 0.0, 1.2, 0.3])
    scene = FAR.with_box("box", (0.1, 0.1, 0.1), (0.0, 9.0, 0.0))
    check = arm.is_motion_free(q, q, scene)
    assert check.free and check.iterations == 1
    assert check.clearance == pytest.approx(arm.minimum_distance(q, scene), abs=1e-12)


def test_motion_segments_of_floating_and_rotating_bases_are_certified() -> None:
    robot = lw.load("quadruped", floating_base=True)
    scene = Scene().with_box("wall", (0.02, 4.0, 4.0), (1.0, 0.0, 0.0))
    q0 = robot.neutral()
    positions = dict(zip(robot.q_names, range(robot.nq), strict=True))
    q1 = q0.copy()
    q1[positions["floating_base.x"]] = 2.0
    check = robot.is_motion_free(np.stack([q0, q0]), np.stack([q1, q0]), scene, pairs=[("trunk", "wall")])
    assert check.status.tolist() == ["colliding", "free"]
    assert abs(check.q[0, positions["floating_base.x"]] - 1.0) <= 0.21 + 1e-9  # half of the trunk and of the wall


def test_invalid_arguments_of_motion_checks_are_refused(arm: lw.Robot) -> None:
    q, scene = arm.neutral(), FAR.with_box("box", (0.1, 0.1, 0.1), (0.0, 9.0, 0.0))
    with pytest.raises(
        ValueError, match="is_motion_free: collision_check: expected one of certified, sampled, got 'exact'"
    ):
        arm.is_motion_free(q, q, scene, collision_check="exact")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tolerance: expected a number >= 1e-07"):
        arm.is_motion_free(q, q, scene, tolerance=0.0)
    with pytest.raises(ValueError, match="resolution: expected a positive number"):
        arm.is_motion_free(q, q, scene, collision_check="sampled", resolution=-1.0)
    with pytest.raises(ValueError, match="margin"):
        arm.is_motion_free(q, q, scene, margin=float("nan"))
    with pytest.raises(ValueError, match=r"is_motion_free: q1\[0\] is NaN"):
        arm.is_motion_free(q, np.full(7, np.nan), scene)
    with pytest.raises(ValueError, match=r"shapes \(3, 7\) and \(2, 7\) do not broadcast"):
        arm.is_motion_free(np.zeros((3, 7)), np.zeros((2, 7)), scene)
    with pytest.raises(TypeError, match="is_motion_free: q0: expected numbers, got symbols"):
        lw.compile(lambda q: arm.is_motion_free(q, q, scene).clearance, q=7)
    with pytest.raises(TypeError, match=r"MotionCheck: a result has no truth value; use \.success"):
        bool(arm.is_motion_free(np.stack([q, q]), np.stack([q, q]), scene))
