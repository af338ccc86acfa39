"""Skeletons of robots without shapes: bars, pins, sliders on guides and the ground are where the joints are."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.shapes import Box, Cylinder, Sphere
from linkwork.viewer.scenes.robot_scenes import robot_document

MECHANISMS = ("fourbar", "delta", "jansen_leg", "klann_leg", "leg", "scissor_lift", "stewart", "double_wishbone")


def without_shapes(robot):
    frames = tuple(replace(frame, visuals=(), collisions=()) for frame in robot.tree.frames)
    return lw.Robot(replace(robot.tree, frames=frames))


def drawn_solids(document, body):
    """Return the vertices (n, 3) in the world of each solid on a body, with its colour."""
    (actor,) = document.actors
    pose = np.eye(4) if body < 0 else actor.poses[0, 0, body]
    result = []
    for part in actor.parts:
        if part.body == body and part.layer == "visual":
            X = pose @ part.placement
            vertices = np.asarray(document.surfaces[part.surface].vertices, dtype=float)
            result.append((vertices @ X[:3, :3].T + X[:3, 3], part.color))
    return result


def distance_to_hull(point, vertices, directions):
    """Return by how much a point is outside of the hull of vertices along some directions, at most."""
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return float((unit @ point - (unit @ vertices.T).max(axis=1)).max())


def ends_of_rod(vertices):
    """Return the middles of both ends of a cylinder, given by its vertices."""
    middle = vertices.mean(axis=0)
    _, _, axes = np.linalg.svd(vertices - middle, full_matrices=False)
    along = (vertices - middle) @ axes[0]
    return [vertices[np.isclose(along, side, atol=1e-5)].mean(axis=0) for side in (along.min(), along.max())]


def test_drawn_bars_of_a_four_bar_close_its_loop_on_two_supports():
    robot = without_shapes(lw.load("fourbar"))
    document = robot_document(robot)
    q = document.actors[0].q[0, 0]
    crank, coupler, rocker = (robot.pose(q, name)[:3, 3] for name in ("crank", "coupler", "rocker"))
    tip = robot.pose(q, "coupler_tip")[:3, 3]
    assert np.linalg.norm(robot.pose(q, "rocker_tip")[:3, 3] - tip) < 1e-9
    for body, expected in enumerate([(crank, coupler), (coupler, tip), (rocker, tip)]):
        bar = ends_of_rod(drawn_solids(document, body)[0][0])
        errors = [min(np.abs(end - x).max() for end in bar) for x in expected]
        assert max(errors) < 1e-5, robot.tree.bodies[body].name
    ground = drawn_solids(document, -1)
    assert len(ground) == 6  # a pin, a support and its plate at each hinge, and no bar from the world's origin
    for hinge in (crank, rocker):
        assert sum(np.abs(x.mean(axis=0) - hinge)[:2].max() < 1e-6 for x, _ in ground) == 3


def hinged(*shapes, com=(0.1, 0.0, -0.5)):
    return lw.Robot.build(
        "pendulum",
        lw.Link("rod", *shapes, mass=1.0, com=com, inertia=(0.1, 0.1, 0.1)),
        lw.Joint.of(lw.joints.Revolute("y"), name="hinge", parent="world", child="rod", placement=(0.2, 0.0, 0.3)),
    )


def test_link_with_a_hinge_alone_ends_at_its_center_of_mass():
    document = robot_document(hinged())
    rod, bob = (vertices for vertices, _ in drawn_solids(document, 0))
    hinge, center = np.array([0.2, 0.0, 0.3]), np.array([0.3, 0.0, -0.2])
    for x in (hinge, center):
        assert min(np.abs(end - x).max() for end in ends_of_rod(rod)) < 1e-6
    assert np.abs(bob.mean(axis=0) - center).max() < 1e-6 and 0.01 < np.ptp(bob[:, 2]) < 0.1
    assert drawn_solids(document, -1)  # bearing and support
    tip = robot_document(hinged().with_point("tip", "rod", (0.0, 0.0, -1.0)))
    assert len(drawn_solids(tip, 0)) == 1  # a bar to the point, as before


def test_shape_apart_from_its_hinge_has_a_rod_to_it():
    apart = robot_document(hinged(Sphere(0.1).at((0.0, 0.0, -1.0))))
    rods = [x for x, _ in drawn_solids(apart, 0) if np.ptp(x[:, 2]) > 0.5]
    assert len(rods) == 1 and min(np.abs(end - (0.2, 0.0, 0.3)).max() for end in ends_of_rod(rods[0])) < 1e-6
    (bearing,) = (vertices for vertices, _ in drawn_solids(apart, -1))
    assert np.abs(bearing.mean(axis=0) - (0.2, 0.0, 0.3)).max() < 1e-6
    joined = robot_document(hinged(Sphere(0.1).at((0.0, 0.0, -1.0)), Sphere(0.05)))
    assert len(drawn_solids(joined, 0)) == 2


def test_links_with_shapes_on_a_base_without_have_pins_plates_and_guides():
    turned = hinged(Sphere(0.1)).with_base(lw.pose((1.0, 2.0, 0.0), rpy=(0.0, 0.0, 0.7)))
    (pin, _), (plate, _) = drawn_solids(robot_document(turned), -1)
    center, axis = turned.pose([0.0], "rod")[:3, 3], np.array([-np.sin(0.7), np.cos(0.7), 0.0])
    assert np.abs(pin.mean(axis=0) - center).max() < 1e-6
    assert np.abs(np.cross(ends_of_rod(pin)[1] - ends_of_rod(pin)[0], axis)).max() < 1e-6
    beside = plate.mean(axis=0) - center
    assert np.abs(np.cross(beside, axis)).max() < 1e-6
    assert beside @ (1.0, -1.0, 0.0) < 0.0, "behind the link for cameras at +x and at −y"
    axes = [np.ptp(plate @ side) for side in (axis, np.cross(axis, (0, 0, 1.0)), np.array([0, 0, 1.0]))]
    assert axes[0] < 0.2 * axes[1] and axes[1] == pytest.approx(axes[2], rel=1e-5)
    cart = lw.Link("cart", Box((0.3, 0.2, 0.1)), mass=1.0)
    ground = lw.Link("ground", Box((1.0, 1.0, 0.1)), mass=1.0)
    upright = lw.joints.Revolute((0, 0, 1))
    cases = ((lw.joints.Prismatic((1, 0, 0)), 3), (upright, 0), (lw.joints.Floating(), 0), (lw.joints.Revolute("x"), 2))
    for joint, count in cases:
        for base in ((), (ground,)):
            parent = base[0].name if base else "world"
            robot = lw.Robot.build("r", *base, cart, lw.Joint.of(joint, name="j", parent=parent, child="cart"))
            solids = drawn_solids(robot_document(robot), -1)
            assert len(solids) == (1 if base else count), (joint, base)
    rail = lw.Robot.build("r", cart, lw.Joint.of(cases[0][0], name="j", parent="world", child="cart"))
    ends = np.concatenate([x for x, _ in drawn_solids(robot_document(rail, [[0.0], [2.0]], times=[0, 1]), -1)])
    assert ends[:, 0].min() < -0.15 and ends[:, 0].max() > 2.15, "the guide is longer than the cart"


def test_sliding_joint_is_drawn_as_a_block_on_its_guide_at_all_sizes():
    for scale in (0.001, 1.0):
        robot = lw.Robot.build(
            "slider crank",
            lw.Link("crank", mass=1.0, inertia=(0.1, 0.1, 0.1)),
            lw.Link("slider", mass=2.0),
            lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="turn", parent="world", child="crank"),
            lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="slider"),
        ).with_point("pin", "crank", (0.3 * scale, 0, 0))
        q = np.array([[1.0, 0.4 * scale], [1.0, 0.7 * scale]])
        document = robot_document(robot, q, times=[0.0, 1.0])
        ((block, _),) = drawn_solids(document, 1)
        assert np.abs(block.mean(axis=0) - (0.4 * scale, 0, 0)).max() < 1e-6 * scale
        assert 0.01 * scale < np.ptp(block, axis=0).max() < 0.2 * scale
        guides = [x for x, _ in drawn_solids(document, -1) if np.ptp(x[:, 0]) > 0.3 * scale]
        assert len(guides) == 1  # the guide reaches beyond both positions of the slider, and no bar leads to it
        assert guides[0][:, 0].min() < 0.39 * scale and guides[0][:, 0].max() > 0.71 * scale
        bar = ends_of_rod(drawn_solids(document, 0)[0][0])
        pin = robot.pose(q[0], "crank")[:3] @ [0.3 * scale, 0, 0, 1]
        assert min(np.abs(end - pin).max() for end in bar) < 1e-5 * scale


@pytest.mark.slow(every=5)
def test_all_links_of_bundled_mechanisms_are_drawn_without_shapes():
    for name in MECHANISMS:
        robot = without_shapes(lw.load(name))
        document = robot_document(robot)
        (actor,) = document.actors
        directions = np.random.default_rng(1).normal(size=(300, 3))
        q = actor.q[0, 0]
        positions = [(k, robot.pose(q, body.name)[:3, 3]) for k, body in enumerate(robot.tree.bodies)]
        positions += [(body.parent, x) for body, (_, x) in zip(robot.tree.bodies, positions, strict=True)]
        for loop in robot.constraints:
            if isinstance(loop, lw.constraints.LoopJoint):
                both = (loop.frame, loop.relative_to)
                positions += [(robot.tree.frame(name).body, robot.pose(q, loop.frame)[:3, 3]) for name in both]
        for body in {k for k, _ in positions}:
            if body >= 0 and robot.tree.bodies[body].joint.nv > 3:
                continue
            solids = drawn_solids(document, body)
            ends = [x for k, x in positions if k == body]
            if body < 0 or max(np.linalg.norm(x - y) for x in ends for y in ends) < 1e-3:
                continue
            for end in ends:  # one solid of the link is at each of its joints
                assert min(distance_to_hull(end, x, directions) for x, _ in solids) < 1e-5, (name, body)


def test_link_without_shapes_is_drawn_in_a_mechanism_with_shapes():
    robot = lw.load("fourbar")
    (coupler,) = (frame for frame in robot.tree.frames if frame.name == "coupler")
    frames = tuple(replace(f, visuals=(), collisions=()) if f == coupler else f for f in robot.tree.frames)
    document = robot_document(lw.Robot(replace(robot.tree, frames=frames)))
    q = document.actors[0].q[0, 0]
    bar = ends_of_rod(drawn_solids(document, coupler.body)[0][0])
    for name in ("coupler", "coupler_tip"):
        assert min(np.abs(end - robot.pose(q, name)[:3, 3]).max() for end in bar) < 1e-5


@pytest.mark.parametrize("name", ["bicycle", "differential_drive"])
def test_drawn_wheels_of_robots_without_shapes_touch_the_ground(name):
    """Each wheel is a disc of its radius about its axle, whose lowest point is on the ground in an upright pose."""
    robot = without_shapes(lw.load(name))
    q = robot.assemble().q
    document = robot_document(robot, q)
    wheels = {c.wheel: c for c in robot.constraints if hasattr(c, "wheel")}
    assert len(wheels) == (2 if name == "bicycle" else 3)
    for frame, rolling in wheels.items():
        body, X = robot.tree.frame(frame).body, robot.pose(q, frame)
        axis = None if rolling.axis is None else X[:3, :3] @ np.array([*rolling.axis])
        discs = []
        for vertices, _ in drawn_solids(document, body):
            offsets = vertices - X[:3, 3]
            across = offsets if axis is None else offsets - np.outer(offsets @ axis, axis)
            if abs(np.linalg.norm(across, axis=1).max() - rolling.radius) < 1e-5 * rolling.radius:
                discs.append(vertices)
        assert len(discs) == 1 and abs(discs[0][:, 2].min()) < 0.05 * rolling.radius
        assert np.abs(discs[0].mean(axis=0) - X[:3, 3]).max() < 1e-5


def test_rolling_balls_of_the_skeleton_are_drawn_once_with_their_radius():
    robot = lw.Robot.build(
        "ball",
        lw.Link("ball", mass=1.0),
        lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="ball"),
    ).with_constraints(lw.constraints.BallRolling("ball", radius=0.3))
    q = robot.neutral()
    q[-1] = 0.3
    solids = [x for x, _ in drawn_solids(robot_document(robot, q), 0)]
    (ball,) = [x for x in solids if abs(np.ptp(x[:, 2]) - 0.6) < 0.01]
    assert abs(ball[:, 2].min()) < 0.01 and np.abs(ball.mean(axis=0) - [0.0, 0.0, 0.3]).max() < 0.01


@pytest.mark.parametrize(
    "joint", [lw.joints.Floating(), lw.joints.Planar(), lw.joints.Spherical()], ids=["floating", "planar", "spherical"]
)
def test_free_body_without_shapes_is_drawn_as_the_box_of_its_inertia(joint):
    center = (0.0, 0.0, 0.0) if isinstance(joint, lw.joints.Spherical) else (0.03, -0.05, 0.08)
    box = Box((0.5, 0.3, 0.2)).at(lw.pose(center, rpy=(0.3, -0.5, 0.9)))
    body = lw.Link("body", box, density=300.0)
    solid = lw.Robot.build("free", body, lw.Joint.of(joint, name="free", parent="world", child="body"))
    expected = drawn_solids(robot_document(solid), 0)[0][0]
    drawn = drawn_solids(robot_document(without_shapes(solid)), 0)[0][0]
    for corners in (expected, drawn):  # the same eight corners, in another order
        assert max(np.linalg.norm(drawn - x, axis=1).min() for x in corners) < 1e-6
        assert max(np.linalg.norm(expected - x, axis=1).min() for x in corners) < 1e-6


def test_body_balanced_on_its_hinge_is_drawn_as_the_disc_of_its_inertia():
    wheel = lw.Link("wheel", Cylinder(0.3, 0.05).at((0.0, 0.0, 0.1)), density=500.0)
    turn = lw.Joint.of(lw.joints.Revolute("z"), name="turn", parent="world", child="wheel", placement=(0.1, 0.2, 0.7))
    robot = without_shapes(lw.Robot.build("flywheel", wheel, turn))
    disc, *spokes, shaft = (x for x, _ in drawn_solids(robot_document(robot), 0))
    assert np.linalg.norm(disc[:, :2] - (0.1, 0.2), axis=1).max() == pytest.approx(0.3, abs=1e-6)
    assert len(spokes) == 2 and np.ptp(disc[:, 2]) < 0.05 and disc[:, 2].mean() == pytest.approx(0.8, abs=1e-6)
    assert shaft[:, 2].min() == pytest.approx(0.7, abs=1e-6) and shaft[:, 2].max() == pytest.approx(0.8, abs=1e-6)
    coupled = lw.Robot.build("pair", lw.Link("a"), lw.Link("b"), turn_of("a"), turn_of("b", (0.5, 0.0, 0.0)))
    assert not drawn_solids(robot_document(coupled), 0)
    coupled = coupled.with_constraints(lw.constraints.Gear("turn a", "turn b", -2.0))
    for body, x in ((0, 0.0), (1, 0.5)):  # wheels without a mass
        disc = drawn_solids(robot_document(coupled), body)[0][0]
        assert 0.02 < np.linalg.norm(disc[:, :2] - (x, 0.0), axis=1).max() < 0.1


def turn_of(child, placement=(0.0, 0.0, 0.0), axis="z"):
    return lw.Joint.of(
        lw.joints.Revolute(axis), name=f"turn {child}", parent="world", child=child, placement=lw.pose(placement)
    )


def test_disc_of_a_cam_has_the_path_of_its_follower_as_contour():
    lift = lw.constraints.Curve(np.radians([0, 90, 120, 240, 360]), [0, 0.02, 0.02, 0, 0], "cycloidal", periodic=True)
    slide = lw.Joint.of(
        lw.joints.Prismatic((0.0, 0.6, 0.8)), name="lift", parent="world", child="rod", placement=(0.1, 0.05, 0.02)
    )
    robot = lw.Robot.build("cam", lw.Link("disc"), lw.Link("rod"), turn_of("disc", (0.1, 0.02, -0.01), "x"), slide)
    robot = robot.with_constraints(lw.constraints.CurveCoupling("lift", "turn disc", lift, unit="m"))
    for angle in 2.0 * np.pi * np.array([0, 7, 30, 71]) / 120:
        q = robot.configuration({"turn disc": angle, "lift": lift(angle)})
        contour = drawn_solids(robot_document(robot, q), 0)[0][0]
        origin = robot.pose(q, "rod")[:3, 3]
        radii, offsets = np.linalg.norm(contour[:, 1:] - (0.02, -0.01), axis=1), np.abs(contour[:, 0] - 0.1)
        assert np.ptp(offsets) < 1e-7 and 0.0 < offsets.max() < 0.005  # two faces, of a thin plate
        assert np.linalg.norm(contour[:, 1:] - origin[1:], axis=1).min() < 1e-7
        assert radii[radii > 1e-6].min() >= np.hypot(0.03, 0.03) - 1e-7


def test_disc_of_a_cam_has_the_path_of_the_tip_of_its_lever_as_contour():
    swing = lw.constraints.Curve(np.radians([0, 90, 120, 240, 360]), [0, 0.3, 0.3, 0, 0], "cycloidal", periodic=True)
    lever = lw.Joint.of(lw.joints.Revolute("x"), name="swing", parent="world", child="lever", placement=(0, 0.3, 0.1))
    links = lw.Link("disc"), lw.Link("lever", frames={"roller": lw.pose((0.0, -0.3, 0.02))})
    robot = lw.Robot.build("cam", *links, turn_of("disc", (0.0, 0.0, 0.0), "x"), lever)
    robot = robot.with_constraints(lw.constraints.CurveCoupling("swing", "turn disc", swing))
    for angle in 2.0 * np.pi * np.array([0, 7, 30, 71]) / 120:
        q = robot.configuration({"turn disc": angle, "swing": swing(angle)})
        contour = drawn_solids(robot_document(robot, q), 0)[0][0]
        tip = robot.pose(q, "roller")[:3, 3]
        assert np.linalg.norm(contour[:, 1:] - tip[1:], axis=1).min() < 1e-7
        assert len(contour) > 200 and np.ptp(np.linalg.norm(contour[:, 1:], axis=1)) > 0.05, "no circle"
    bare = lw.Robot.build("cam", lw.Link("disc"), lw.Link("lever"), turn_of("disc", (0.0, 0.0, 0.0), "x"), lever)
    bare = bare.with_constraints(lw.constraints.CurveCoupling("swing", "turn disc", swing))
    radii = np.linalg.norm(drawn_solids(robot_document(bare), 0)[0][0][:, 1:], axis=1)
    assert np.abs(radii[radii > 1e-3] - radii.max()).max() < 1e-6, "a disc: the lever has no tip"


def test_links_that_slide_without_shapes_are_drawn_in_a_robot_with_shapes():
    pole = lw.Link("pole", Box((0.04, 0.04, 0.5)).at((0, 0, 0.25)), density=300.0)
    slide = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart")
    hinge = lw.Joint.of(lw.joints.Revolute("y"), name="hinge", parent="cart", child="pole")
    for mass, count in ((1.0, 2), (1e-6, 0)):  # block and pin; a light link stands for a joint with several axes
        robot = lw.Robot.build("cart_pole", lw.Link("cart", mass=mass), slide, pole, hinge)
        solids = drawn_solids(robot_document(robot), 0)
        assert len(solids) == count
    heavy = lw.Robot.build("lift", lw.Link("plate", mass=10.0, com=(0.3, 0.2, 0.0), inertia=(1, 1, 1)), slide_of())
    rod = ends_of_rod(drawn_solids(robot_document(heavy), 0)[0][0])
    for x in ((0.0, 0.0, 0.0), (0.3, 0.2, 0.0)):
        assert min(np.abs(end - x).max() for end in rod) < 1e-6


def slide_of():
    return lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="heave", parent="world", child="plate")
