"""Clearance of motions: the lower bound holds at dense samples, and the least distance is within the tolerance."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.collision.algorithms.displacement_bounds import pair_levers
from linkwork.errors import UnknownNameError
from linkwork.model.collision_pairs import link_shapes
from linkwork.model.random_tree import random_tree
from linkwork.motion import Trajectory, time_optimal

ARM = lw.load("arm7")
SCENE = lw.Scene().with_box("table", (0.9, 0.8, 0.07), (0.7, 0.1, 0.03)).with_sphere("ball", 0.12, (0.3, 0.5, 0.9))
POINTS = np.array([[-0.5, 0.7, 0.1, -1.3, 0.2, 1, 0], [1.5, 0.6, 0.4, -1.6, 0, 1, 0], [1.2, 0.2, 0, -0.7, 0.3, 1, 0]])
SCENE_PAIRS = [(shape.link, name) for shape in link_shapes(ARM.tree)[2:] for name in SCENE.names]


def motions():
    spline = ARM.spline([0.0, 0.7, 2.0], POINTS, boundary="clamped")
    yield "cubic", spline
    yield "linear", ARM.spline([0.0, 0.7, 2.0], POINTS, kind="linear")
    yield "timed", time_optimal(spline, velocity=1.5, acceleration=4.0).trajectory
    yield "profile", ARM.profile(POINTS[0], POINTS[2], acceleration=3.0, kind="trapezoid")
    yield "path", ARM.spline([0.0, 1.0], POINTS[:2], kind="linear").at_constant_speed()
    yield "rest", ARM.spline([0.0, 1.0], [POINTS[0]] * 2)
    yield "two sections", spline.concatenate(ARM.spline([0.0, 1.0], POINTS[[2, 0]], boundary="clamped"))


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-5])
def test_clearance_equals_the_least_distance_of_dense_samples_and_exceeds_its_lower_bound(tolerance):
    for name, motion in motions():
        gap = motion.clearance(SCENE, tolerance=tolerance, pairs=SCENE_PAIRS)
        states = motion.sampled(num_samples=4001)[1]
        distances = ARM.minimum_distance(states.q, SCENE, pairs=SCENE_PAIRS)
        least = float(distances.min())
        assert gap.lower_bound <= least and gap.distance <= least + tolerance, name
        assert gap.lower_bound <= gap.distance <= gap.lower_bound + tolerance + 1e-8, name
        assert abs(ARM.nearest_pair(gap.q, SCENE, pairs=SCENE_PAIRS).distance[0] - gap.distance) < 1e-12
        assert ARM.nearest_pair(gap.q, SCENE, pairs=SCENE_PAIRS).pairs[0] == gap.pair
        assert np.abs(motion(gap.time).q - gap.q).max() < 1e-12 and np.diff(gap.times).min() >= 0.0
        at_times = ARM.minimum_distance(motion(gap.times).q, SCENE, pairs=SCENE_PAIRS)
        assert np.abs(at_times - gap.distances).max() < 1e-9, name


def test_collision_between_coarse_samples_is_not_missed():
    thin = lw.Scene().with_box("sheet", (0.001, 1.0, 1.0), (0.5, 0.5, 0.5))
    slide = lw.Joint.of(
        lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart", lower=-2.0, upper=2.0
    )
    cart = lw.Robot.build("cart", lw.Link("cart", lw.shapes.Box((0.002, 0.4, 0.4)).at((0, 0.4, 0.3)), mass=1.0), slide)
    motion = cart.spline([0.0, 1.0], [[0.0], [1.1]], boundary="clamped")
    gap = motion.clearance(thin, tolerance=1e-4)
    assert cart.minimum_distance(motion(np.linspace(0.0, 1.0, 11)).q, thin).min() > 0.005
    assert gap.distance < 0.0 and gap.pair == ("cart", "sheet")
    assert abs(motion(gap.time).q[0] - 0.5) < 0.0015
    assert abs(gap.distance + 0.0015) < 1.1e-4  # half of both thicknesses deep at most


@pytest.mark.slow(every=3)
def test_object_belongs_to_the_robot_while_it_is_carried():
    loaded = ARM.with_attached("rod", "flange", lw.shapes.Cylinder(0.02, 0.5), (0, 0, 0.25), touching=["flange"])
    forth, back = (r.spline([0.0, 1.0], p, boundary="clamped") for r, p in ((ARM, POINTS[:2]), (loaded, POINTS[1::-1])))
    gap, alone = forth.concatenate(back).clearance(SCENE), forth.clearance(SCENE)
    carried = back.clearance(SCENE)
    assert abs(gap.distance - min(alone.distance, carried.distance)) < 1e-3
    assert carried.distance < alone.distance - 0.003 and gap.time >= 1.0 and "rod" in gap.pair


def test_pairs_of_an_object_count_while_it_is_carried():
    loaded = ARM.with_attached("rod", "flange", lw.shapes.Cylinder(0.02, 0.5), (0, 0, 0.25), touching=["flange"])
    forth, back = (r.spline([0.0, 1.0], p, boundary="clamped") for r, p in ((ARM, POINTS[:2]), (loaded, POINTS[1::-1])))
    motion, pairs = forth.concatenate(back), [("rod", "table")]
    gap = motion.clearance(SCENE, pairs=pairs)
    assert gap.distance == back.clearance(SCENE, pairs=pairs).distance and gap.times.min() == 1.0
    both = motion.clearance(SCENE, pairs=[("rod", "table"), ("flange", "ball")])
    assert both.times.min() == 0.0 and both.distance <= gap.distance
    with pytest.raises(UnknownNameError, match=r"clearance: pairs: no link with a collision shape.* named 'stick'"):
        motion.clearance(SCENE, pairs=[("rod", "table"), ("stick", "table")])
    with pytest.raises(ValueError, match="clearance: "):
        motion.clearance(pairs=[])


def test_robot_without_shapes_has_clearances_while_it_carries_an_object():
    slide = lw.Joint.of(joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart")
    cart = lw.Robot.build("cart", lw.Link("cart", mass=1.0), slide)
    loaded = cart.with_attached("ball", "cart", lw.shapes.Sphere(0.1))
    post = lw.Scene().with_sphere("post", 0.1, (0.5, 0.5, 0.0))
    forth, back = (
        robot.spline([0.0, 1.0], q, boundary="clamped") for robot, q in ((cart, [[0], [1]]), (loaded, [[1], [0]]))
    )
    for pairs in (None, [("ball", "post")], "scene"):
        gap = forth.concatenate(back).clearance(post, pairs=pairs)
        assert abs(gap.distance - 0.3) < 1e-3 and gap.times.min() == 1.0
    with pytest.raises(ValueError, match="clearance: robot 'cart' has no collision shapes"):
        forth.clearance(post)


@pytest.mark.parametrize("corner", [0.1, -0.1])
def test_interpolation_between_points_of_distance_fields_is_steeper_than_distances(corner):
    x = np.linspace(-0.5, 0.5, 6)
    grid = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1)
    field = lw.Scene().with_distance_field("dot", lw.shapes.DistanceField(np.linalg.norm(grid - corner, axis=-1), 0.2))
    ball = lw.Link("ball", lw.shapes.Sphere(0.005), mass=1.0)
    slides = [
        lw.Joint.of(joints.Prismatic(axis), name=name, parent=parent, child=child)
        for name, axis, parent, child in (("diagonal", (1, 1, 1), "world", "cart"), ("x", (1, 0, 0), "cart", "ball"))
    ]
    robot = lw.Robot.build("ball", lw.Link("cart", mass=1.0), ball, *slides)
    crossing = np.sqrt(3.0) * corner
    # the ball starts 0.02 m beside the dot, and crosses the dot along the diagonal of a cell at t = 2
    points = [[crossing, 0.02], [crossing + 0.1, 0.0], [crossing, 0.0], [crossing - 0.1, 0.0]]
    motion = robot.spline([0.0, 1.0, 2.0, 3.0], points, kind="linear")
    gap, least = motion.clearance(field), float(robot.minimum_distance(motion(2.0).q, field))
    assert gap.lower_bound <= least <= gap.distance <= least + 1e-3


UNBOUNDED = (joints.Composite, joints.Reversed)  # unless their twist is constant


@pytest.mark.costly
@pytest.mark.parametrize("joint_type", [x for x in joints.ALL[1:] if x not in UNBOUNDED], ids=lambda x: x.__name__)
def test_levers_bound_changes_of_distances_for_every_joint_type(joint_type):
    rng = np.random.default_rng(4)
    robot = lw.Robot(random_tree(rng, 4, types=[joint_type, joints.Revolute, joints.Prismatic]))
    for frame in [f.name for f in robot.tree.frames if f.body >= 0]:
        robot = robot.with_collisions(frame, lw.shapes.Sphere(0.05).at(tuple(rng.normal(scale=0.2, size=3))))
    shapes, tree = link_shapes(robot.tree), robot.tree
    pairs = [(i, j) for i in range(len(shapes)) for j in [*range(i), None]]
    q, v = robot.random_configuration(seed=1), 0.5 * rng.normal(size=robot.nv)
    steps = np.array([robot.integrate(q, s * v) for s in np.linspace(0.0, 1.0, 41)])
    slides = np.zeros(len(tree.bodies))
    for x in steps:
        for i, (body, coordinates) in enumerate(zip(tree.bodies, tree.split_q(x.tolist()), strict=True)):
            at = body.joint.X(coordinates if body.coupling is None else body.coupling.q(coordinates)).translation
            slides[i] = max(slides[i], np.linalg.norm([*map(float, at)]) + 1e-9)
    allowed = np.abs(v) @ pair_levers(tree, pairs, slides.tolist()).T
    centers = []
    for shape in shapes:
        local = np.array([*map(float, shape.placement.translation), 1.0])
        body = next(f for f in tree.frames if f.name == shape.link)
        in_link = np.linalg.inv(np.array(body.placement.matrix(), dtype=float)) @ local
        centers.append((robot.pose(steps, shape.link) @ in_link)[:, :3])
    obstacle = np.array([0.3, -1.1, 0.8])
    for (i, j), most in zip(pairs, allowed, strict=True):
        gap = np.linalg.norm(centers[i] - (obstacle if j is None else centers[j]), axis=1)
        assert np.ptp(gap) <= most + 1e-9, (i, j)


def test_joints_with_unbounded_twists_are_refused():
    joint = joints.Composite([joints.Prismatic((1, 0, 0)), joints.Ellipsoid(0.1, 0.2, 0.3)])
    robot = lw.Robot.build(
        "rocker",
        lw.Link("body", lw.shapes.Sphere(0.1), mass=1.0),
        lw.Joint.of(joint, name="base", parent="world", child="body"),
    )
    motion = robot.spline([0.0, 1.0], [robot.neutral(), robot.integrate(robot.neutral(), 0.2 * np.ones(robot.nv))])
    with pytest.raises(TypeError, match=r"joint 'base' \(composite\): no bound is known .*; use robot"):
        motion.clearance(SCENE)


@pytest.mark.slow(every=5)
def test_floating_and_spherical_motions_have_proved_clearances():
    base = lw.load("quadruped", floating_base=True)
    q = base.neutral()
    states = [q, base.integrate(q, 0.3 * np.random.default_rng(2).normal(size=base.nv))]
    post = lw.Scene().with_cylinder("post", 0.1, 2.0, (0.8, 0.3, 0.0))
    motion = base.spline([0.0, 1.0], states)
    pairs = [(shape.link, "post") for shape in link_shapes(base.tree)]
    gap = motion.clearance(post, tolerance=0.01, pairs=pairs)
    least = base.minimum_distance(motion.sampled(num_samples=501)[1].q, post, pairs=pairs).min()
    assert gap.lower_bound <= least <= gap.distance + 1e-12 + 0.01 and gap.distance - gap.lower_bound <= 0.01 + 1e-8


def test_clearance_of_unusable_motions_is_refused():
    with pytest.raises(ValueError, match="clearance: expected a motion of a robot, got one of plain coordinates"):
        Trajectory.polynomial([0.0, 1.0], [[[1.0]]]).clearance(SCENE)
    motion = ARM.spline([0.0, 1.0], POINTS[:2])
    with pytest.raises(ValueError, match="clearance: tolerance: expected a finite number > 0"):
        motion.clearance(SCENE, tolerance=0.0)
    with pytest.raises(TypeError, match=r"clearance: scene: expected a linkwork.Scene"):
        motion.clearance("table.yaml")
    with pytest.raises(TypeError, match="clearance: expected numeric values, got symbols"):
        lw.compile(lambda q: ARM.spline([0.0, 1.0], [POINTS[0], q]).clearance(SCENE).distance, q=7)
    plane = ARM.with_attached("plane", "flange", lw.shapes.HalfSpace())
    with pytest.raises(ValueError, match=r"clearance: a shape .*unbounded.*; use robot.minimum_distance"):
        plane.spline([0.0, 1.0], POINTS[:2]).clearance(SCENE)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 100.0])
def test_error_bound_of_clearances_is_relative_to_the_size_of_the_mechanism(scale):
    """A ball passes a wall: the least distance is 0.1 of the scale, and the bound is below it by 1e-9 of the scale."""
    slide = lw.Joint.of(lw.joints.Prismatic("x"), name="slide", parent="world", child="ball", lower=-1e3, upper=1e3)
    robot = lw.Robot.build("slider", [lw.Link("ball", mass=1.0)], [slide])
    robot = robot.with_collisions("ball", lw.shapes.Sphere(0.2 * scale))
    wall = lw.Scene().with_box("wall", np.array([1.0, 1.0, 1.0]) * scale, np.array([0.0, 0.8, 0.0]) * scale)
    motion = robot.spline([0.0, 1.0], [[-scale], [scale]], kind="linear")
    gap = motion.clearance(wall, tolerance=1e-3 * scale)
    assert gap.distance == pytest.approx(0.1 * scale, rel=1e-9)
    missing = (gap.distance - gap.lower_bound) / scale
    assert 1e-10 < missing <= 1e-3 + 5e-9
    resting = robot.spline([0.0, 1.0], [[0.0], [0.0]]).clearance(wall, tolerance=1e-6 * scale)
    assert 1e-10 < (resting.distance - resting.lower_bound) / scale < 5e-9
