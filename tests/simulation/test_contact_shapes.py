"""Contacts of shapes with ground, scenes and other links; materials; compliant contacts; records."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.simulation import ContactGround, ContactMaterial, ContactPair, ContactPoint, ContactScene
from linkwork.simulation.algorithms.compliant_forces import compliant_force

G = 9.81


def things(*shapes, mass=1.0):
    """Free bodies, "thing0", "thing1" ..."""
    parts = []
    for k, shape in enumerate(shapes):
        parts += [
            lw.Link(f"thing{k}", shape, mass=mass),
            lw.Joint.of(lw.joints.Floating(), name=f"free{k}", parent="world", child=f"thing{k}"),
        ]
    return lw.Robot.build("things", *parts)


def put(robot, *positions):
    """Return an upright configuration with the bodies' centres at given positions."""
    q = robot.neutral()
    for k, position in enumerate(positions):
        q[7 * k + 4 : 7 * k + 7] = position
    return q


@pytest.mark.slow(every=9)
def test_simulated_shapes_rest_on_floors_boxes_and_height_fields():
    """Shapes come to rest on a floor, a box and a field of heights: how high, and by which forces."""
    field = lw.shapes.HeightField(np.full((4, 4), 0.5), 1.0)
    scene = lw.Scene().with_half_space("floor").with_box("table", (1.0, 1.0, 1.0), (10, 0, 0))
    scene = scene.with_shape("hill", field, (20, 0, 0))
    shapes = {0.15: lw.shapes.Box((0.2, 0.2, 0.3)), 0.2: lw.shapes.Cylinder(0.1, 0.4)}
    for up, shape in shapes.items():
        robot = things(shape)
        q = np.stack([put(robot, (x, 0.013, z + up + 2e-3)) for x, z in ((0, 0), (10, 0.5), (20, 0.5))])
        result = robot.simulate(q, duration=0.5, dt=5e-3, contacts=ContactScene(scene), record_every=50)
        assert np.abs(result.q[:, -1, 4:] - q[:, 4:] + [0, 0, 2e-3]).max() < 2e-4, shape
        total = result.records["contact_forces"][:, -1].sum(axis=-2)
        assert np.abs(total - [0, 0, G]).max() < 1e-4 * G, shape


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(
    "shape", [lw.shapes.Sphere(0.05), lw.shapes.Box((0.1, 0.1, 0.1)), lw.shapes.Capsule(0.05, 0.1)]
)
def test_bodies_stop_at_the_side_of_terrain_and_slide_over_a_level_edge(shape):
    """The terrain covers |x|, |y| ≤ 0.5 m, and its surface is at z = 0, level with the floor."""
    scene = lw.Scene().with_height_field("hill", np.zeros((6, 6)), 0.2)
    robot, velocity = things(shape), np.array([0, 0, 0, 2.0, 0, 0])
    run = robot.simulate(put(robot, (-0.8, 0, -0.8)), velocity, duration=0.3, dt=1e-3, contacts=ContactScene(scene))
    x = run.q[:, 4]
    assert x.max() == pytest.approx(-0.55, abs=3e-3) and x[-1] < -0.54
    up = 0.1 if isinstance(shape, lw.shapes.Capsule) else 0.05
    smooth = ContactScene(scene.with_half_space("floor"), materials=ContactMaterial(friction=0.0))
    start = put(robot, (-0.7, 0.0, up))
    run = robot.simulate(start, 0.5 * velocity, duration=0.3, dt=1e-3, contacts=smooth)
    assert run.q[-1, 4] == pytest.approx(-0.4, abs=2e-3) and run.q[:, 6] == pytest.approx(up, abs=2e-3)


CUBE = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
PRISM = [(0.1 * np.cos(a), 0.1 * np.sin(a), z) for a in np.arange(6) * np.pi / 3 for z in (-0.1, 0.1)]


@pytest.mark.parametrize(
    ("shape", "grounds"),
    [
        pytest.param(lw.shapes.Polytope(CUBE), 3, marks=pytest.mark.slow),
        pytest.param(lw.shapes.Polytope(PRISM), 3, marks=pytest.mark.slow),
        pytest.param(lw.shapes.Cone(0.1, 0.2), 3, marks=pytest.mark.slow),
        (lw.shapes.Polytope(CUBE), 1),
        (lw.shapes.Cone(0.1, 0.2), 1),
    ],
    ids=["cube", "prism", "cone", "cube on the floor", "cone on the floor"],
)
def test_simulated_hulls_and_cones_come_to_rest(shape, grounds):
    """A cube as a hull, dropped askew on the floor, a box and another hull, and a prism and a cone upright."""
    scene = lw.Scene().with_half_space("floor", lw.pose((0, 0, -1)))
    if grounds > 1:
        scene = scene.with_box("table", (1.0, 1.0, 0.2), (0, 0, -0.1))
        scene = scene.with_shape("hull", lw.shapes.Polytope(5.0 * np.array(CUBE)), lw.pose((10.0, 0, -0.5)))
    robot = things(shape)
    positions = ((5, -1), (0, 0), (10, 0))[:grounds]
    q = np.stack([put(robot, (x, 0.013, z + 0.102)) for x, z in positions])
    if shape == lw.shapes.Polytope(CUBE):
        q[:, :4], q[:, 6] = [np.cos(0.1), 0.8 * np.sin(0.1), 0.6 * np.sin(0.1), 0.0], q[:, 6] + 0.05
    result = robot.simulate(q, duration=1.5, dt=2e-3, contacts=ContactScene(scene), record_every=50)
    height = result.q[:, -1, 6] - [z for _, z in positions]
    assert np.abs(height - 0.1).max() < 1e-3 and np.abs(result.v[:, -1]).max() < 1e-3


@pytest.mark.slow(every=5)
def test_simulated_resting_bodies_with_many_corners_do_not_creep():
    """A hexagonal prism and a cylinder, dropped askew with some speed, on the floor and on a box, do not creep."""
    rng = np.random.default_rng(0)
    prism = [(0.1 * np.cos(a), 0.1 * np.sin(a), z) for a in 0.1 + np.arange(6) * np.pi / 3 for z in (-0.05, 0.05)]
    scene = lw.Scene().with_box("table", (1.0, 1.0, 0.2), (0, 0, -0.1)).with_half_space("floor", lw.pose((0, 0, -1)))
    for shape in (lw.shapes.Polytope(prism), lw.shapes.Cylinder(0.1, 0.1)):
        robot = things(shape)
        q = np.stack([put(robot, (x, 0.02, z + 0.055)) for x, z in ((0, 0), (5, -1)) for _ in range(6)])
        q[:, 1:4] = rng.normal(size=(12, 3)) * [0.01, 0.01, 0.5]
        v = np.zeros((12, 6))
        v[:, 3:5] = 0.1 * rng.normal(size=(12, 2))
        result = robot.simulate(
            robot.normalize(q), v, duration=4.0, dt=4e-3, contacts=ContactScene(scene), record_every=100
        )
        rested = result.t >= 1.5
        moved = result.q[:, rested] - result.q[:, rested][:, :1]
        assert np.abs(moved).max() < 1e-9 and np.abs(result.v[:, -1]).max() < 1e-9, shape
        assert np.abs(result.q[:6, -1, 6] - 0.05).max() < 1e-3 and np.abs(result.q[6:, -1, 6] + 0.95).max() < 1e-3


@pytest.mark.slow(every=9)
def test_simulated_box_slides_down_a_sloped_height_field_by_coulombs_law():
    """The acceleration is g (sin θ − μ cos θ); on its own points with more friction it sticks."""
    theta = 0.4
    x = 0.5 * np.arange(9.0) - 2.0
    field = lw.shapes.HeightField(-np.tan(theta) * np.repeat(x[:, np.newaxis], 3, axis=1), 0.5)
    scene = lw.Scene().with_shape("slope", field)
    box = lw.shapes.Box((0.2, 0.2, 0.1))
    robot = things(box)
    q = robot.neutral()
    q[:4] = np.cos(0.5 * theta), 0.0, np.sin(0.5 * theta), 0.0
    n, down = np.array([np.sin(theta), 0, np.cos(theta)]), np.array([np.cos(theta), 0, -np.sin(theta)])
    q[4:] = -1.0 * down + 0.05 * n
    rough, smooth = ContactMaterial(friction=0.8), ContactMaterial(friction=0.2)
    corners = [ContactPoint("thing0", (x, y, -0.05), friction=0.8) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    pair = {"thing0": rough, ("slope", "thing0"): smooth}
    for contacts, mu in ((ContactScene(scene, corners), 0.8), (ContactScene(scene, materials=pair), 0.2)):
        result = robot.simulate(q, duration=0.8, dt=2e-3, contacts=contacts, record_every=200, record=["contact_slip"])
        rate = max(G * (np.sin(theta) - mu * np.cos(theta)), 0.0)
        displacement = result.q[-1, 4:] - q[4:]
        assert np.abs(displacement - 0.5 * rate * 0.8**2 * down).max() < 4e-3
        assert np.abs(result.records["contact_slip"][-1].max() - rate * 0.8) < 2e-2


@pytest.mark.slow(every=9)
def test_simulated_bodies_rest_on_peaks_and_ridges():
    """A box rests on a peak below its centre, and falls off beside it; a capsule lies across a ridge."""
    heights = np.zeros((17, 17))
    heights[8, 8] = 0.15
    peak = lw.Scene().with_shape("peak", lw.shapes.HeightField(heights, 0.1))
    ridge = lw.Scene().with_shape(
        "ridge", lw.shapes.HeightField(np.where(np.arange(17)[:, None] == 8, 0.15, heights), 0.1)
    )
    capsule = lw.shapes.Capsule(0.05, 0.4).at(lw.pose(rpy=(0, 0.5 * np.pi, 0)))
    robot = things(lw.shapes.Box((0.3, 0.3, 0.1)), capsule)
    q = np.stack([put(robot, (x, 0.0, 0.2), (y, 0.0, 0.2)) for x, y in ((0.0, 0.0), (0.1, 0.15), (-0.6, -0.5))])
    q[2, [6, 13]] = 0.05
    v = np.zeros((3, 12))
    v[2, [3, 9]] = 0.5
    smooth = ContactMaterial(friction=0.1)
    contacts = [ContactScene(peak, "thing0", smooth), ContactScene(ridge, "thing1", smooth)]
    result = robot.simulate(q, v, duration=0.3, dt=2e-3, contacts=contacts, record_every=150)
    assert np.abs(result.q[0, -1] - q[0]).max() < 1e-3
    assert np.abs(result.records["contact_forces"][0, -1].sum(axis=0) - [0, 0, 2 * G]).max() < 1e-3 * G
    assert result.q[1, -1, 6] < 0.19 and result.q[1, -1, 13] < 0.19
    expected_displacement = 0.5 * 0.3 - 0.5 * 0.1 * G * 0.3**2
    assert (
        np.abs(result.q[2, -1, [4, 11]] - q[2, [4, 11]] - expected_displacement).max() < 2e-3
        and np.abs(result.v[2, -1, :3]).max() < 1e-2
    )


@pytest.mark.slow(every=5)
def test_simulated_box_tips_over_the_edge_of_a_table():
    """It stands as long as its centre is above the table; alone and in a batch it has the same bits."""
    scene = lw.Scene().with_box("table", (1.0, 1.0, 0.5))
    robot = things(lw.shapes.Box((0.2, 0.2, 0.2)))
    q = np.stack([put(robot, (x, 0.03, 0.35)) for x in (0.48, 0.52)])
    result = robot.simulate(q, duration=1.0, dt=2e-3, contacts=ContactScene(scene), record_every=100)
    assert np.abs(result.q[0, -1] - q[0]).max() < 1e-4 and result.q[1, -1, 6] < 0.3
    alone = robot.simulate(q[1], duration=1.0, dt=2e-3, contacts=ContactScene(scene), record_every=100)
    assert np.array_equal(alone.q, result.q[1])


@pytest.mark.slow(every=5)
def test_simulated_colliding_balls_conserve_momentum_and_gain_no_energy():
    """Momentum is conserved to first order of the step."""
    balls = things(lw.shapes.Sphere(0.1), lw.shapes.Sphere(0.1)).with_parameters({"gravity": [0.0, 0.0, 0.0]})
    q = put(balls, (0, 0, 0), (0.3, 0.08, 0.02))
    v = np.array([1.0, -2.0, 3.0, 2.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    stiff = ContactMaterial(friction=0.5, stiffness=1e6, dissipation=0.1)
    rigid = ContactMaterial(friction=0.5, restitution=0.8)
    for material, model in ((rigid, "convex"), (stiff, "compliant")):
        result = balls.simulate(q, v, duration=0.3, dt=2e-4, contacts=ContactPair("thing0", "thing1", material),
                               contact_model=model, record=["momentum", "kinetic_energy"], record_every=5)  # fmt: skip
        momentum, energy = result.records["momentum"], result.records["kinetic_energy"]
        assert np.abs(result.records["contact_forces"]).max() > 10.0
        assert np.abs(momentum - momentum[0]).max() < 1e-3, model
        assert energy[-1] < energy[0] and energy.max() < energy[0] * (1.0 + 1e-9)


@pytest.mark.slow(every=5)
def test_forces_of_compliant_contacts_stay_in_their_friction_cone():
    """A ball bounces by 1 − c u, gains no energy, and slides; methods have their orders."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        c, gap = rng.normal(size=3), 0.01 * rng.normal()
        f = np.array(compliant_force(list(c), gap, 0.6, 1e5, 0.4), float)
        assert f[2] >= 0.0 and np.hypot(*f[:2]) <= 0.6 * f[2] and f[:2] @ c[:2] <= 0.0 and (gap < 0.0 or not f.any())
    parts = [lw.Link("rail", mass=1e-9, com=(0, 0, 0), inertia=(1e-9,) * 3), lw.Link("ball", mass=1.0, com=(0, 0, 0))]
    slides = lw.joints.Prismatic((1, 0, 0)), lw.joints.Prismatic((0, 0, 1))
    ball = lw.Robot.build(
        "ball",
        *parts,
        lw.Joint.of(slides[0], name="x", parent="world", child="rail"),
        lw.Joint.of(slides[1], name="z", parent="rail", child="ball"),
    )
    k, c, mu = 1e6, 0.1, 0.3
    ground = ContactGround(ContactPoint("ball", radius=0.1), friction=mu, stiffness=k, dissipation=c)
    how = {"contacts": ground, "contact_model": "compliant"}
    fast = 1.0
    high = 0.1 + fast**2 / (2.0 * G)
    bounce = ball.simulate([0.0, high], duration=0.5, dt=2e-5, method="rk4", record_every=10,
                          record=["kinetic_energy", "potential_energy"], **how)  # fmt: skip
    energy = bounce.records["kinetic_energy"] + bounce.records["potential_energy"]
    assert abs(bounce.v[:, 1].max() / fast - (1.0 - c * fast)) < 1e-2 and (energy <= energy[0] + 1e-9).all()
    deep = (G / k) ** (2.0 / 3.0)
    q, v = [0.0, 0.1 - 1.3 * deep], [1.0, 0.0]
    best = ball.simulate(q, v, duration=0.02, dt=1e-5, method="dormand_prince", record_every=2000, **how)
    for method, order in (("semi_implicit_euler", 1), ("rk4", 4), ("implicit_midpoint", 2), ("implicit_euler", 1),
                          ("variational", 2)):  # fmt: skip
        left = []
        for step in (1e-3, 5e-4) if order == 4 else (2e-4, 1e-4):
            end = ball.simulate(q, v, duration=0.02, dt=step, method=method, **how)
            left.append(np.abs([*(end.q[-1] - best.q[-1]), *(end.v[-1] - best.v[-1])]).max())
        assert abs(np.log2(left[0] / left[1]) - order) < 0.5, (method, left)
    resting = ball.simulate([0.0, 0.1 - deep], v, duration=0.2, dt=1e-3, method="rk4", record_every=200,
                         record=["contact_gap", "contact_slip"], **how)  # fmt: skip
    assert abs(resting.v[-1, 0] - (1.0 - mu * G * 0.2)) < 1e-3
    assert abs(resting.records["contact_slip"][-1, 0] - resting.v[-1, 0]) < 1e-12
    assert abs(resting.records["contact_gap"][-1, 0] + deep) < 1e-9
    assert np.abs(resting.records["contact_forces"][-1, 0] - [-mu * G, 0, G]).max() < 1e-2


@pytest.mark.slow(every=3)
def test_compliant_contacts_of_initially_separated_bodies_are_simulated_and_differentiated():
    """Separated bodies have zero slope: every method continues, and so do derivatives through a landing."""
    ball = lw.Robot.build("ball", lw.Link("ball", mass=1.0, com=(0, 0, 0)),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="z", parent="world", child="ball"))  # fmt: skip
    ground = ContactGround(ContactPoint("ball"), stiffness=1e5, dissipation=0.5)
    how = {"contacts": ground, "contact_model": "compliant", "dt": 1e-3, "joint_limit_mode": "ignored"}
    ends = {}
    for method in ("rk4", "implicit_midpoint", "implicit_euler", "variational", "semi_implicit_euler"):
        result = ball.simulate([0.05], duration=0.13, method=method, record_every=10, **how)
        assert np.all(result.success) and result.records["contact_forces"][..., 2].any(), (method, result.explain())
        ends[method] = result.q[-1, 0]
    assert np.ptp(list(ends.values())) < 1e-2, ends

    def landed(v):
        return ball.simulate([0.05], v, duration=0.13, record_every=130, method="rk4", **how).q[-1]

    fall = lw.compile(landed, v=1)
    around = np.array([[-0.1 + 1e-5], [-0.1 - 1e-5]])
    slope = fall.jacobian()(np.array([-0.1]))[0, 0]
    assert abs(slope - np.diff(fall(around)[::-1, 0])[0] / 2e-5) < 1e-4 * abs(slope)


@pytest.mark.slow(every=9)
def test_contact_materials_of_simulations_may_be_parameters():
    """Values by environment give the bits of such materials, also at a reset and as symbols."""
    ball = things(lw.shapes.Sphere(0.1))
    q, v, many = put(ball, (0, 0, 0.3)), [0.3, 0.2, 0.0, 4.0, 0.5, -1.0], np.array([0.1, 0.4, 0.9])
    scene = lw.Scene().with_half_space("floor")
    mine = {"contact_friction": 0.5, "contact_friction:floor": many, "contact_restitution": 0.4}
    how = {"duration": 0.25, "record_every": 250}
    result = ball.simulate(q, v, contacts=ContactScene(scene), parameters=mine, **how)
    for k, friction in enumerate(many):
        alone = ContactScene(scene, materials=ContactMaterial(friction, restitution=0.4))
        assert np.array_equal(ball.simulate(q, v, contacts=alone, **how).q[-1], result.q[k, -1])
    assert (
        np.ptp(result.v[:, -1, 3:]) > 0.1 and np.ptp(result.q[:, -1, 4]) > 1e-3 and set(result.parameters) == set(mine)
    )
    simulator = lw.Simulator(ball, batch=2, contacts=ContactScene(scene), parameters={"contact_friction": 0.1})
    simulator.reset(q, v)
    simulator.reset(q, v, where=[False, True], parameters={"contact_friction": 0.9})
    assert simulator.parameters["contact_friction"].tolist() == [0.1, 0.9]
    simulator.step(count=250)
    assert abs(np.diff(simulator.state.q[:, 4])[0]) > 1e-3
    soft, hard = ContactGround(ContactPoint("thing0", radius=0.1)), ContactScene(scene)
    compliant = {"contact_model": "compliant", "method": "rk4"}
    for contacts, names, at, more in (
        (hard, ("contact_friction:thing0", "contact_restitution"), (0.4, 0.5), {}),
        (soft, ("contact_stiffness",), (1e4,), {}),
        (soft, ("contact_stiffness", "contact_friction:ground", "contact_dissipation"), (1e4, 0.3, 0.2), compliant),
    ):

        def ends(x, contacts=contacts, names=names, more=more):
            by_name = dict(zip(names, x, strict=True))
            end = ball.simulate(q, v, contacts=contacts, parameters=by_name, **how, **more)
            return np.concatenate([end.q[-1], end.v[-1]])

        function = lw.compile(ends, x=len(names))
        slope, x = function.jacobian()(np.array(at)), np.array(at)
        for k, size in enumerate(1e-5 * x):
            apart = size * np.eye(len(x))[k]
            difference = (function(x + apart) - function(x - apart)) / (2.0 * size)
            assert np.abs(slope[:, k] - difference).max() < 1e-4 * np.abs(difference).max() > 0.0, names


def test_invalid_parameters_of_contact_materials_are_refused():
    ball, q = things(lw.shapes.Sphere(0.1)), [0.0, 0.0, 0.0, 1.0, 0.1, 0.2, 0.3]
    ground = {"contacts": ContactGround(ContactPoint("thing0", radius=0.1)), "duration": 0.01}
    for by_name, error, message in (
        ({"contact_friction": -0.1}, ValueError, "contact_friction'.*>= 0, got -0.1"),
        ({"contact_restitution": [0.5, 1.5]}, ValueError, "from 0 to 1, got 1.5"),
        ({"contact_dissipation": 0.1}, UnknownNameError, "parameter of convex contacts named 'contact_dissipation'"),
        ({"contact_frictoin": 0.1}, UnknownNameError, "did you mean 'contact_friction'"),
        ({"contact_friction:thing": 0.1}, UnknownNameError, "did you mean 'thing0'"),
        (
            {"contact_friction:thing0": 0.1, "contact_friction:ground": 0.2},
            ValueError,
            "expected one friction for the contact of",
        ),
    ):
        with pytest.raises(error, match=message):
            ball.simulate(q, parameters=by_name, **ground)
    with pytest.raises(ValueError, match="needs contacts, got none"):
        ball.simulate(q, duration=0.01, parameters={"contact_friction": 0.1})


@pytest.mark.slow(every=5)
def test_invalid_contacts_and_materials_of_simulations_are_refused():
    robot = things(lw.shapes.Box((0.2, 0.2, 0.2)), lw.shapes.Sphere(0.1))
    floor = lw.Scene().with_half_space("floor")
    bouncy = ContactMaterial(restitution=0.5, stiffness=1e4)
    steel, meshed = ContactMaterial(friction=0.5), robot.with_collisions("thing0", lw.shapes.Mesh("a.stl"))

    def run(contacts, of=robot, **more):
        return of.simulate(of.neutral(), duration=0.1, contacts=contacts, **more)

    for kind, text, wrong in (
        (ValueError, "friction: expected a finite number >= 0", lambda: ContactMaterial(friction=-0.1)),
        (ValueError, "restitution: expected a finite number >= 0 and <= 1", lambda: ContactMaterial(restitution=1.1)),
        (
            TypeError,
            "materials\\['floor'\\]: expected a ContactMaterial",
            lambda: ContactScene(floor, None, {"floor": 3}),
        ),
        (UnknownNameError, "did you mean 'floor'", lambda: run(ContactScene(floor, materials={"flor": steel}))),
        (UnknownNameError, "did you mean 'thing0'", lambda: run(ContactScene(floor, "thing"))),
        (UnknownNameError, "did you mean 'thing1'", lambda: run(ContactPair("thing0", "thing11"))),
        (UnknownNameError, "did you mean 'compliant'", lambda: run(ContactScene(floor), contact_model="compliance")),
        (
            ValueError,
            "stiffness: expected a number > 0",
            lambda: run(ContactScene(floor), contact_model="compliant"),
        ),
        (
            ValueError,
            "'thing0' and .*: restitution: expected 0 with contact_model='compliant'",
            lambda: run(ContactScene(floor, materials=bouncy), contact_model="compliant"),
        ),
        (
            ValueError,
            "dissipation: expected 0 with contact_model='convex'",
            lambda: run(ContactScene(floor, materials=ContactMaterial(stiffness=1e4, dissipation=0.5))),
        ),
        (ValueError, "expected another link than first", lambda: ContactPair("thing0", "thing0")),
        (ValueError, "with_collision_hulls", lambda: run(ContactScene(floor), of=meshed)),
        (ValueError, "names a link and an obstacle", lambda: run(ContactScene(floor.with_sphere("thing0", 1.0)))),
        (ValueError, "at least one obstacle", lambda: ContactScene(lw.Scene())),
        (ValueError, "expected contacts for these records", lambda: run(None, record=["contact_gap"])),
    ):
        with pytest.raises(kind, match=text):
            wrong()
