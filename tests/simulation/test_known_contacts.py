"""Contacts with known behaviour: stacks, Painlevé's rod, tumbling, and a drop against MuJoCo."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from invariants.changes import in_other_units
from linkwork import joints
from linkwork.errors import SimulationWarning
from linkwork.simulation import ContactGround, ContactMaterial, ContactPair, ContactPoint, ContactScene

G = 9.81
FLOOR = lw.Scene().with_half_space("floor")


def _stack(count):
    """Boxes of 0.2 m and 1 kg, one on the other; q is where they stand."""
    parts = []
    for k in range(count):
        parts += [
            lw.Link(f"box{k}", lw.shapes.Box((0.2, 0.2, 0.2)), mass=1.0),
            lw.Joint.of(lw.joints.Floating(), name=f"free{k}", parent="world", child=f"box{k}"),
        ]
    boxes = lw.Robot.build("boxes", *parts)
    contacts = [ContactScene(FLOOR, "box0"), *(ContactPair(f"box{k}", f"box{k + 1}") for k in range(count - 1))]
    q = boxes.neutral().reshape(count, 7)
    q[:, 6] = 0.1 + 0.2 * np.arange(count)
    return boxes, contacts, q.ravel()


@pytest.mark.slow(every=9)
def test_simulated_stack_of_three_boxes_stays_for_a_minute():
    """Steps of 10 ms; each box carries the boxes above it."""
    boxes, contacts, q = _stack(3)
    q = q.reshape(3, 7)
    q[:, 4:] = [[0.0, 0.0, 0.1], [0.012, -0.007, 0.3], [-0.004, 0.009, 0.5]]
    how = {"duration": 60.0, "dt": 1e-2, "record_every": 100, "record": ["contact_residual"]}
    result = boxes.simulate(q.ravel(), contacts=contacts, **how)
    assert np.abs(boxes.difference(result.q[0], result.q[-1])).max() < 1e-3
    assert np.abs(result.v[-1]).max() < 1e-6 and result.records["contact_residual"].max() < 1.0
    force = result.records["contact_forces"][-1]
    for part, carried in ((slice(0, 4), 3.0), (slice(4, 16), 2.0), (slice(16, 28), 1.0)):
        assert np.abs(force[part].sum(axis=0) - [0.0, 0.0, carried * G]).max() < 1e-4
    assert result.contact_names[3:5] == ("'box0' and 'floor' (4 of 4)", "'box0' and 'box1' (1 of 12)")


def _loads(boxes, masses):
    """Parameters of a stack of boxes of 1 kg with other masses (environments, boxes)."""
    nominal = boxes.parameters([f"inertia:box{k}" for k in range(masses.shape[1])])
    return {f"inertia:box{k}": masses[:, k, None] * nominal[f"inertia_box{k}"] for k in range(masses.shape[1])}


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow)])
def test_simulated_contacts_are_rigid_under_any_load(count):
    """Stacks of light and heavy boxes, up to a million times as heavy: every contact carries the boxes above it."""
    rng = np.random.default_rng(0)
    boxes, contacts, q = _stack(count)
    heavy = [np.eye(count), np.arange(count) % 2, np.linspace(0.0, 1.0, count), rng.random((3, count))]
    powers = np.concatenate([np.atleast_2d(x) for x in heavy])
    masses = np.concatenate([ratio**powers for ratio in (1e2, 1e4, 1e6)])
    parts = [slice(0, 4), *(slice(4 + 12 * k, 16 + 12 * k) for k in range(count - 1))]
    for step, every in ((1e-3, 10), (1e-2, 1)):
        result = boxes.simulate(q, duration=0.5, dt=step, record_every=every, contacts=contacts,
            parameters=_loads(boxes, masses), record=["contact_gap", "contact_residual"])  # fmt: skip
        gap, forces = result.records["contact_gap"], result.records["contact_forces"][:, -1, :, 2]
        assert np.all(result.success) and result.records["contact_residual"].max() < 1.0
        assert -gap.min() < 20.0 * step**2 and np.abs(result.v[:, -1]).max() < 1e-6, (step, -gap.min())
        for k, part in enumerate(parts):
            carried = G * masses[:, k:].sum(axis=1)
            assert np.abs(forces[:, part].sum(axis=1) / carried - 1.0).max() < 1e-4, (step, k)


def test_sliding_box_presses_on_the_ground_with_its_weight_at_any_speed():
    """Friction of speeds far above g h changes neither the normal force nor the deceleration μ g.

    The second run is a simulation on symbols, which solves its steps to rounding.
    """
    box = lw.Robot.build("box", lw.Link("body", lw.shapes.Box((0.4, 0.4, 0.1)), mass=2.0), floating_base=True)
    corners = [ContactPoint("body", (x, y, -0.05)) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]
    ground, friction = ContactGround(tuple(corners)), np.array([0.2, 0.5, 0.9, 1.1])
    q, weight = box.neutral(), 2.0 * G
    q[6] = 0.05
    for dt, speed in ((5e-4, 3.0), (2e-3, 1.3), (5e-3, 2.0)):
        v = np.array([0.0, 0.0, 0.0, 0.8 * speed, -0.6 * speed, 0.0])
        how = {"duration": 12 * dt, "dt": dt, "contacts": ground, "parameters": {"contact_friction": friction}}
        result = box.simulate(np.tile(q, (4, 1)), np.tile(v, (4, 1)), **how)
        normal = result.records["contact_forces"][:, 1:, :, 2].sum(axis=-1)
        assert np.abs(normal - weight).max() < 0.04 * weight and np.abs(normal[:, 8:] - weight).max() < 1e-3 * weight
        slowed = -np.diff(np.linalg.norm(result.v[..., 3:5], axis=-1), axis=-1) / dt
        assert np.allclose(slowed[:, 8:], friction[:, None] * G, rtol=2e-3)
    exact = lw.compile(
        lambda mu: box.simulate(q, v, **how | {"duration": 3 * dt, "parameters": {"contact_friction": mu}}).v[-1], mu=()
    )
    assert np.abs(exact(friction) - result.v[:, 3]).max() < 0.01 * G * dt


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("kind", [joints.Revolute((0, 0, 1)), joints.Spherical(), joints.Prismatic((1, 0, 0))])
def test_hooks_of_a_milligram_to_a_ton_carry_a_crane_of_a_ton(kind):
    """A ball of 5 mm, of any density, below a crane: the ground carries both, and no mass changes that."""
    lift = lw.Joint.of(joints.Prismatic((0, 0, 1)), name="lift", parent="world", child="crane")
    joint = lw.Joint.of(kind, name="joint", parent="crane", child="hook", placement=lw.pose((0.3, 0.0, 0.0)))
    hook = lw.Link("hook", mass=1.0, inertia=(1e-5, 1e-5, 1e-5))
    robot = lw.Robot.build("crane", lw.Link("crane", mass=1e3, inertia=(1.0, 1.0, 1.0)), hook, lift, joint)
    masses, point = np.geomspace(1e-6, 1e3, 10), (5e-3, 0.0, 0.0) if kind.type_name() == "revolute" else (0, 0, -5e-3)
    weights = {"inertia:hook": masses[:, None] * robot.parameters(["inertia:hook"])["inertia_hook"]}
    q = np.tile(robot.neutral(), (len(masses), 1))
    q[:, 0] = -point[2]
    ground = ContactGround(ContactPoint("hook", point), friction=0.6)
    run = robot.simulate(q, duration=0.5, record_every=100, contacts=ground, parameters=weights)
    assert np.all(run.success) and np.abs(run.q[:, :, 0] - q[:, :1]).max() < 1e-3
    forces = run.records["contact_forces"][:, -1].sum(axis=1)[:, 2]
    assert np.abs(forces / (9.81 * (1e3 + masses)) - 1.0).max() < 1e-3


@pytest.mark.slow(every=5)
def test_light_feet_that_loops_tie_to_a_crane_carry_it():
    """A foot of 10 mg to a ton, free or on a rail, and a crane of a ton: a constraint carries the crane's weight."""
    for kind, tie in ((joints.Prismatic((0, 0, 1)), joints.Fixed()), (joints.Floating(), joints.Revolute((0, 0, 1)))):
        lift = lw.Joint.of(joints.Prismatic((0, 0, 1)), name="lift", parent="world", child="crane")
        rail = lw.Joint.of(kind, name="rail", parent="world", child="foot")
        links = (lw.Link(x, mass=m, inertia=(I,) * 3) for x, m, I in (("crane", 1e3, 1.0), ("foot", 1.0, 1e-5)))
        robot = lw.Robot.build("crane", *links, lift, rail).with_loop("tie", "crane", "foot", tie)
        masses, count = np.geomspace(1e-5, 1e3, 9), 9
        weights = {"inertia:foot": masses[:, None] * robot.parameters(["inertia:foot"])["inertia_foot"]}
        point = ContactPoint("foot", (5e-3 if kind.nv > 1 else 0.0, 0.0, 0.0))
        options = {"duration": 0.5, "record_every": 100, "contacts": ContactGround(point, friction=0.6)}
        run = robot.simulate(np.tile(robot.neutral(), (count, 1)), **options, parameters=weights)
        forces = run.records["contact_forces"][:, 1:].sum(axis=2)[..., 2]
        assert np.all(run.success) and np.abs(run.q[:, :, 0]).max() < 2e-4
        assert np.abs(forces / (9.81 * (1e3 + masses[:, None])) - 1.0).max() < 1e-2


@pytest.mark.slow(every=9)
def test_overlap_between_records_of_a_simulation_causes_a_warning():
    """A box that is too heavy passes through the lower one between two records, which both show no overlap."""
    boxes, contacts, q = _stack(2)
    masses = np.array([[1.0, 1.0], [1.0, 1e6], [1.0, 1e12]])
    how = {"duration": 5.0, "dt": 1e-2, "record_every": 500, "contacts": contacts, "record": ["contact_gap"]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = boxes.simulate(q, parameters=_loads(boxes, masses), **how)
        boxes.simulate(q, parameters=_loads(boxes, masses[:2]), **how)
    (message,) = [str(warning.message) for warning in caught]
    assert "are rigid and overlap by" in message and "mm at 0." in message
    assert "in environment 2; use a shorter dt" in message
    assert -result.records["contact_gap"].min() < 2e-3 and result.q[2, -1, 13] < -1.0
    # what began deep is no news, and the state after the last step is measured, too
    once = {"duration": 1e-2, "dt": 1e-2, "contacts": contacts}
    with pytest.warns(SimulationWarning) as begun:
        boxes.simulate(q - 0.05 * np.eye(14)[6], **once)
    assert ["overlap" in str(warning.message) for warning in begun] == [True]
    with pytest.warns(SimulationWarning, match=r"'box0' and 'box1' are rigid and overlap by 38.1 mm at 0.01 s"):
        boxes.simulate(q, -5.0 * np.eye(12)[11], parameters=_loads(boxes, masses[2:]), **once)


@pytest.mark.slow(every=9)
def test_overlaps_of_impacts_within_a_time_step_cause_no_warning():
    """Dropped boxes and balls, and a ball that bounces at 10 ms, may overlap within a step."""
    box = lw.Link("body", lw.shapes.Box((0.3, 0.2, 0.1)), mass=1.0), [0.8, 0.36, 0.48, 0.0]
    ball = lw.Link("body", lw.shapes.Sphere(0.005), mass=1e-3), [1.0, 0.0, 0.0, 0.0]
    corners = [(x, y, z) for x in (-0.15, 0.15) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]

    def warning_messages(link, turn, height, dt, restitution, L=1.0, T=1.0):
        robot = lw.Robot.build("thrown", link, floating_base=True)
        tree, s_q, s_v = in_other_units(robot.tree, L, L**3, T)
        robot, q = lw.Robot(tree), np.array([*turn, 0.0, 0.0, height]) * s_q
        v = np.array([2.0, 0.0, 0.0, 3.0 if height > 1.0 else 0.0, 0.0, 0.0]) * s_v
        centre = (ContactPoint("body", radius=0.005 * L),)
        points = centre if link is ball[0] else tuple(ContactPoint("body", offset=at) for at in corners)
        how = {"dt": dt * T, "contacts": ContactGround(points, restitution=restitution)}
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            end = robot.simulate(q, v, duration=2.0 * T, **how).q[-1]
            robot.simulate(end, duration=dt * T, **how)
        return [str(warning.message) for warning in messages]

    assert warning_messages(*box, 5.0, 1e-3, 0.0) == []
    for scale in ((1.0, 1.0), (2.0**-20, 2.0**-10)):
        for height, dt, restitution in ((5.0, 1e-3, 0.0), (0.3, 1e-2, 0.0), (0.3, 1e-2, 0.5)):
            assert warning_messages(*ball, height, dt, restitution, *scale) == []


def _press(lower):
    """A ball of a gram and a plate of half a kilogram above it, on vertical rails; the ball's lower limit."""
    up = lw.joints.Prismatic((0, 0, 1))
    return lw.Robot.build(
        "press",
        lw.Link("ball", lw.shapes.Sphere(0.05), mass=1e-3),
        lw.Joint.of(up, name="ball_rail", parent="world", child="ball", lower=lower, upper=2.0),
        lw.Link("plate", lw.shapes.Box((0.2, 0.2, 0.1)), mass=0.5),
        lw.Joint.of(up, name="plate_rail", parent="world", child="plate"),
    )


def _pressing(t, q, v, force):
    return np.stack([0.0 * force, -force])


@pytest.mark.slow(every=5)
def test_simulated_squeezed_bodies_stay_at_rest():
    """A plate presses a light ball onto the floor, or onto the ball's limit, with up to 10⁶ times its weight."""
    q, forces = np.array([0.05, 0.15]), np.array([1.0, 1e2, 1e4])
    between = ContactPair("ball", "plate")
    for lower, contacts in ((-1.0, [ContactScene(FLOOR, "ball"), between]), (0.05, between)):
        robot = _press(lower)
        for step in (1e-3, 1e-2):
            result = robot.simulate(
                np.tile(q, (3, 1)), controller=_pressing, constants={"force": forces}, duration=0.3, dt=step,
                record_every=10, contacts=contacts, joint_limit_mode="held", record=["contact_residual"],
            )  # fmt: skip
            assert np.all(result.success) and result.records["contact_residual"].max() < 1.0
            assert np.abs(result.q[:, -1] - q).max() < 50.0 * step**2 and np.abs(result.v[:, -1]).max() < 1e-5, lower

        def ends(x, robot=robot, contacts=contacts):
            end = robot.simulate(q, np.stack([0.0 * x[1], x[1]]), controller=_pressing, constants={"force": x[0]},
                duration=4e-3, record_every=4, contacts=contacts, joint_limit_mode="held")  # fmt: skip
            return np.concatenate([end.q[-1], end.v[-1]])

        function, x = lw.compile(ends, x=2), np.array([1e3, -0.3])
        slope = function.jacobian()(x)
        for k, size in enumerate((1e-2, 1e-6)):
            apart = size * np.eye(2)[k]
            difference = (function(x + apart) - function(x - apart)) / (2.0 * size)
            assert np.abs(slope[:, k] - difference).max() < 1e-4 * np.abs(difference).max() + 1e-8, (lower, k)


@pytest.mark.slow(every=5)
def test_simulated_chains_of_impacts_transfer_the_speed_to_the_last_ball():
    """Balls in a row with gaps that the first one closes within a step."""
    count, x = 5, lw.joints.Prismatic((1, 0, 0))
    parts = [(lw.Link(f"ball{k}", lw.shapes.Sphere(0.05), mass=1.0), f"ball{k}") for k in range(count)]
    rails = [lw.Joint.of(x, name=f"rail_{name}", parent="world", child=name) for _, name in parts]
    row = lw.Robot.build("row", *[link for link, _ in parts], *rails).with_gravity((0, 0, 0))
    steel = ContactMaterial(friction=0.0, restitution=1.0)
    contacts = [ContactPair(f"ball{k}", f"ball{k + 1}", steel) for k in range(count - 1)]
    v = np.eye(count)[0]
    gaps = np.array([1e-5, 1e-4, 3e-4, 0.0])
    q = (0.1 + gaps[:, None]) * np.arange(count) - 0.02 * v
    with pytest.warns(SimulationWarning, match="overlap by 0.99 mm"):  # 2 % of a ball's radius, in the step of impacts
        result = row.simulate(q, v, duration=0.2, contacts=contacts, record_every=200, record=["kinetic_energy"])
    assert np.abs(result.v[:3, -1] - np.eye(count)[-1]).max() < 5e-3, result.v[:, -1]
    assert np.abs(result.records["kinetic_energy"][:, -1] - 0.5).max() < 2e-3
    assert np.abs(result.v[3, -1] - [-0.6, 0.4, 0.4, 0.4, 0.4]).max() < 1e-2
    # balls of any masses, some of which touch, from one side, from both, and at random: no energy is lost or made
    rng, n = np.random.default_rng(0), 300
    gaps = np.where(rng.random((n, count - 1)) < 0.25, 0.0, 10.0 ** rng.uniform(-7, -2, (n, count - 1)))
    q = np.concatenate([np.zeros((n, 1)), np.cumsum(0.1 + gaps, axis=1)], axis=1)
    v = np.where((np.arange(n) % 3 == 2)[:, None], rng.normal(size=(n, count)), np.eye(count)[0])
    v[1::3, -1] = -1.0
    masses = np.where((np.arange(n) % 2)[:, None], 10.0 ** rng.uniform(-1, 1, (n, count)), 1.0)
    nominal = row.parameters([f"inertia:ball{k}" for k in range(count)])
    loads = {f"inertia:ball{k}": masses[:, k, None] * nominal[f"inertia_ball{k}"] for k in range(count)}
    for step in (1e-3, 1e-2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)  # chains within a long step overlap meanwhile
            result = row.simulate(q, v, duration=0.5, dt=step, contacts=contacts, parameters=loads)
        energy = (masses[:, None] * result.v**2).sum(axis=-1)
        energy /= energy[:, :1]
        assert energy.max() < 1.0 + 1e-3 and energy[:, -1].min() > 1.0 - 1e-2, step


@pytest.mark.slow(every=5)
def test_simulated_painleve_rod_jams_falls_and_comes_to_rest():
    """A rod that is pushed along where rigid bodies with friction have no force, or two."""
    half = 0.5
    rod = lw.Robot.build(
        "rod",
        lw.Link("rod", mass=1.0, com=(0, 0, 0), inertia=(1e-4, half**2 / 3.0, half**2 / 3.0)),
        floating_base=True,
    )
    ground = ContactGround((ContactPoint("rod", (-half, 0, 0)), ContactPoint("rod", (half, 0, 0))), friction=2.0)
    angles, speeds = np.meshgrid([0.5, 0.9, 1.2], [-3.0, -1.0, 1.0, 3.0])
    angles, speeds = angles.ravel(), speeds.ravel()
    assert (3.0 * np.cos(angles) * (2.0 * np.sin(angles) - np.cos(angles)) > 1.0).any()  # Painlevé's condition
    q, v = np.tile(rod.neutral(), (len(angles), 1)), np.zeros((len(angles), 6))
    q[:, 0], q[:, 2], q[:, 6] = np.cos(0.5 * angles), np.sin(0.5 * angles), half * np.sin(angles)
    v[:, 3], v[:, 5] = speeds * np.cos(angles), speeds * np.sin(angles)
    result = rod.simulate(q, v, duration=3.0, dt=1e-3, contacts=ground,
                         record=["kinetic_energy", "potential_energy"])  # fmt: skip
    energy = result.records["kinetic_energy"] + result.records["potential_energy"]
    assert np.all(result.success) and np.diff(energy, axis=-1).max() < 1e-3 * energy.max()
    assert np.abs(result.v[:, -1]).max() < 1e-2 and np.abs(result.q[:, -1, 6]).max() < 1e-3
    # a jam stops the tip: the angular momentum about it stays
    jammed = np.argmax((angles == 0.9) & (speeds == 3.0))
    assert abs(result.v[jammed, 10, 1] - 3.0 * half * np.sin(0.9) / (4.0 * half**2 / 3.0)) < 0.2


@pytest.mark.slow(every=5)
def test_simulated_tumbling_boxes_never_gain_energy():
    """Thrown boxes tumble, slide and come to rest: forces stay in their cones and oppose sliding."""
    box = lw.Robot.build("box", lw.Link("box", lw.shapes.Box((0.3, 0.2, 0.1)), mass=1.0), floating_base=True)
    rng = np.random.default_rng(3)
    q = box.random_configuration(rng, size=8)
    q[:, 4:] = rng.uniform(0.3, 0.5, (8, 3))
    v = 3.0 * rng.normal(size=(8, 6))
    mu = 0.4
    contacts = ContactScene(FLOOR, materials=ContactMaterial(friction=mu))
    result = box.simulate(q, v, duration=3.0, contacts=contacts, record=["kinetic_energy", "potential_energy"])
    energy = result.records["kinetic_energy"] + result.records["potential_energy"]
    assert np.diff(energy, axis=-1).max() < 2e-3 * energy.max() and np.abs(result.v[:, -1]).max() < 1e-3
    f = result.records["contact_forces"]
    assert f[..., 2].min() >= 0.0 and (np.hypot(f[..., 0], f[..., 1]) <= mu * f[..., 2] + 1e-6).all()
    assert np.abs(result.q[:, -1, 6] - 0.05).max() < 1e-3 or result.q[:, -1, 6].max() < 0.16


@pytest.mark.slow(every=5)
def test_dropped_quadruped_moves_as_in_mujoco():
    """Its joints are held; MuJoCo's contacts are a little softer."""
    mujoco = pytest.importorskip("mujoco")
    robot = lw.load("quadruped", floating_base=True)
    feet = [f"{x}_{y}_foot" for x in ("front", "hind") for y in ("left", "right")]
    q = robot.neutral()
    for joint in robot.joints:
        q[joint.q_slice] = 0.7 if "hip_flexion" in joint.name else -1.4 if "knee" in joint.name else q[joint.q_slice]
    q[6] -= min(robot.pose(q, foot)[2, 3] for foot in feet) - 0.02 - 0.05
    target = q[7:].copy()

    def controller(t, q, v):
        return np.concatenate([np.zeros(6), 20.0 * (target - q[7:]) - 0.5 * v[6:]])

    points = [ContactPoint(foot, radius=0.02) for foot in feet]
    result = robot.simulate(q, controller=controller, duration=1.0, contacts=ContactGround(points), record_every=50)

    xml = ET.fromstring(Path(str(robot.tree.source)).read_text(encoding="utf-8"))
    for link in xml.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    options = {"balanceinertia": "false", "fusestatic": "false", "discardvisual": "false"}
    ET.SubElement(ET.SubElement(xml, "mujoco"), "compiler", **options)
    spec = mujoco.MjSpec.from_string(ET.tostring(xml, encoding="unicode"))
    spec.worldbody.first_body().add_freejoint()
    plane = {"friction": [0.8, 0.005, 1e-4], "solref": [0.004, 1.0]}
    floor = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=1, conaffinity=0, **plane)
    assert floor is not None
    for foot in feet:
        spec.body(foot).add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0], mass=0.0, contype=0, conaffinity=1, **plane
        )
    model = spec.compile()
    model.opt.timestep = 1e-3
    data = mujoco.MjData(model)
    data.qpos[:3], data.qpos[3:7] = q[4:7], q[:4]
    indices = {robot.joints[k].name: k for k in range(len(robot.joints))}
    order = [model.joint(k).name for k in range(1, model.njnt)]
    ours = np.array([robot.joints[indices[name]].q_slice.start for name in order])
    data.qpos[7:] = q[ours]
    height = [data.qpos[2]]
    for _ in range(20):
        for _ in range(50):
            data.qfrc_applied[6:] = 20.0 * (q[ours] - data.qpos[7:]) - 0.5 * data.qvel[6:]
            mujoco.mj_step(model, data)
        height.append(data.qpos[2])
    assert np.abs(result.q[:, 6] - height).max() < 5e-3, np.abs(result.q[:, 6] - height)
    assert np.abs(result.q[-1, ours] - data.qpos[7:]).max() < 2e-2
