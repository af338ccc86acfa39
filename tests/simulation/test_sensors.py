"""Sensors: readings against closed forms; noise, delays, periods, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.geometry import PointCore, Solid
from linkwork.geometry.pairs import distance_once
from linkwork.geometry.ray_casting import ray_length
from linkwork.geometry.solids import solid
from linkwork.simulation import (
    IMU,
    ContactGround,
    ContactPoint,
    ContactSensor,
    Encoder,
    Event,
    ForceTorqueSensor,
    RangeSensor,
    Sensor,
    TouchSensor,
)
from linkwork.simulation.sensors.sensor import SensorInput
from linkwork.simulation.sensors.sensor_suite import SensorSuite
from linkwork.spatial import Pose, Vec3
from oracles.trees import every_moving_type, robot_of, state

LENGTH, H = 0.7, 1e-3


def pendulum():
    bob = lw.shapes.Sphere(0.05)
    return lw.Robot.build(
        "pendulum",
        lw.Link("post", mass=1.0),
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="post", child="rod"),
        lw.Link("rod", bob.at((0.0, 0.0, -LENGTH)), mass=2.0, frames={"tip": lw.pose((0.0, 0.0, -LENGTH))}),
    )


def test_imu_reads_zero_in_free_fall_up_to_an_event():
    """The event may end a step early or at its start."""
    falling = lw.Robot.build(
        "falling",
        lw.Link("mass", mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass"),
    )
    for end, time in ((0.0437, 0.0437), (0.05, 0.05)):
        stop = Event("stop", lambda t, q, v, end=end: t - end, stop=True)
        result = falling.simulate([1.0], duration=0.1, dt=0.01, events=[stop], sensors={"i": IMU("mass")})
        assert np.isclose(result.stopped_at, time) and result.status == "ended_by_event"
        assert np.abs(result.records["i"][1:, 5]).max() < 1e-9, end


@every_moving_type
def test_sines_at_the_end_of_a_step_follow_from_those_at_its_start_and_middle(tree):
    """Compiled readings equal those of floats, which have sines of their own, for short steps and for many turns."""
    robot, frame = robot_of(tree), next(x.name for x in tree.frames if x.body == len(tree.bodies) - 1)

    def readings(of):
        unit = IMU(frame, of=of)
        sensors = SensorSuite((("twice", unit, 0), ("unit", unit, 0)))

        def function(q, v, a):
            dynamics = robot.twist(q, v, frame)  # sines of the start are known from it
            step = SensorInput(robot, 0.3, robot.integrate(q, 0.3 * v), v, a, a, start=(0.0, q, v))
            return dynamics, sensors.sensed(step, np.zeros(2 + 2 * unit.size(robot)))[2 + unit.size(robot) :]

        return function

    inputs = {"q": robot.configuration_space, "v": (robot.nv,), "a": (robot.nv,)}
    compiled = {of: lw.compile(readings(of), **inputs) for of in ("both", "specific_force")}
    counts = [kernel.operations.get("sin", 0) for kernel in compiled.values()]
    assert counts[0] == counts[1]
    for speed in (1.0, 1e3):
        for q, v, a in zip(*state(tree), strict=True):
            result, each = compiled["both"](q, speed * v, a)[1], ("angular_velocity", "specific_force")
            expected = np.concatenate([readings(of)(q, speed * v, a)[1] for of in each])
            assert np.abs(result - expected).max() <= 1e-14 * speed * np.abs(expected).max()


class TwoChannels(Sensor):
    """A sensor of the user."""

    def size(self, robot):
        return 2

    def readings(self, state):
        return [state.q[0], 2.0 * state.v[0]]


def test_sensor_readings_of_a_pendulum_equal_closed_forms():
    robot = pendulum()
    scene = lw.Scene().with_sphere("ball", 0.5, (3.0, 0.0, 0.2))
    sensors = {
        "unit": IMU("tip"),
        "angle": Encoder(resolution=0.01),
        "rate": Encoder(of="velocity", bias=0.25),
        "late": Encoder("hinge", delay=0.004),
        "hinge_wrench": ForceTorqueSensor("hinge"),
        "ahead": RangeSensor("post", (1.0, 0.0, 0.0), links="rod", scene=scene, max_range=4.0),
        "own": TwoChannels(),
    }
    result = robot.simulate([0.9], [0.4], duration=0.3, sensors=sensors)
    angle, rate = result.q[:, 0], result.v[:, 0]
    bent = np.diff(rate, prepend=rate[0]) / H
    read = result.records
    g = 9.81
    assert np.allclose(read["unit"][:, 1], rate)
    # turning by θ about y, what hangs down at length L moves by −L θ̇ along its own x, and upwards along the rod
    halfway, mean = (0.5 * (x + np.concatenate([x[:1], x[:-1]])) for x in (angle, rate))  # forces are means of steps
    assert np.allclose(read["unit"][:, 3], -LENGTH * bent - g * np.sin(halfway), atol=1e-12)
    assert np.allclose(read["unit"][:, 5], LENGTH * mean**2 + g * np.cos(halfway), atol=1e-12)
    assert np.array_equal(read["angle"][:, 0], 0.01 * np.floor(angle / 0.01 + 0.5))
    assert np.array_equal(read["rate"][:, 0], rate + 0.25)
    assert np.array_equal(read["late"][4:, 0], angle[:-4]) and (read["late"][:4, 0] == angle[0]).all()
    assert np.allclose(read["hinge_wrench"][:, 3], 2.0 * (-LENGTH * bent - g * np.sin(halfway)), atol=1e-9)
    assert np.allclose(read["own"], np.stack([angle, 2.0 * rate], axis=-1))
    assert np.allclose(read["ahead"], 3.0 - np.sqrt(0.25 - 0.04), atol=1e-6)  # the bob hangs below


def test_encoders_output_multiples_of_their_resolution():
    encoder = Encoder(noise=3e-3, bias=0.0123, resolution=0.01, delay=0.002)
    result = pendulum().simulate([0.9], [0.4], duration=0.2, sensors={"angle": encoder})
    read = result.records["angle"][:, 0]
    assert np.array_equal(read, 0.01 * np.floor(read / 0.01 + 0.5))
    error = read[2:] - result.q[:-2, 0]
    assert abs(error.mean() - 0.0123) < 1e-3 and 2e-3 < error.std() < 6e-3


@pytest.mark.slow(every=3)
def test_encoders_of_coupled_and_loop_joints_read_their_own_joint():
    y = lw.joints.Revolute((0, 1, 0))
    rod = {"mass": 1.0, "com": (0.2, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}
    parts = [
        (lw.Link(name, **rod), lw.Joint.of(y, name=name, parent=parent, child=name, placement=lw.pose((0.3, 0.0, 0.0))))
        for name, parent in (("m", "world"), ("f", "m"), ("g", "f"))
    ]
    coupled = lw.Robot.build("coupled", *(part for pair in parts for part in pair))
    coupled = coupled.with_couplings({"f": ("m", -1.5, 0.1), "g": ("m", 0.5)})
    q, v = [0.2], [0.3]
    sensors = {name: Encoder(of=of) for name, of in (("x", "position"), ("rate", "velocity"), ("force", "force"))}
    records = coupled.simulate(q, v, duration=0.01, dt=H, sensors=sensors).records
    np.testing.assert_allclose(records["x"][0], [0.2, -0.2, 0.1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(records["rate"][0], [0.3, -0.45, 0.15], rtol=0, atol=1e-15)
    assert records["force"].shape[1] == 1
    fourbar = lw.load("fourbar")
    sensors = {"x": Encoder(("pin", "crank_hinge")), "rate": Encoder("pin", of="velocity")}
    moved = fourbar.simulate(fourbar.neutral(), [6.0, -6.0, 1.5], duration=0.05, dt=H, sensors=sensors)
    x, rate = moved.records["x"], moved.records["rate"]
    np.testing.assert_allclose(x[:, 0], moved.q[:, 0] + moved.q[:, 1] - moved.q[:, 2], rtol=0, atol=1e-9)
    np.testing.assert_allclose(rate[:, 0], moved.v[:, 0] + moved.v[:, 1] - moved.v[:, 2], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(x[:, 1], moved.q[:, 0])
    for robot, start, joint, message in (
        (coupled, q, "f", "force of joint 'f': it follows joint 'm': name that joint"),
        (fourbar, fourbar.neutral(), "pin", "force of joint 'pin': it closes a loop"),
        (lw.load("stewart"), lw.load("stewart").neutral(), "ball_1", "'ball_1' .* has 4 coordinates for 3"),
    ):
        of = "position" if joint == "ball_1" else "force"
        with pytest.raises(ValueError, match=message):
            robot.simulate(start, duration=0.01, sensors={"s": Encoder(joint, of=of)})


@pytest.mark.slow(every=5)
def test_forces_read_by_sensors_have_errors_of_second_order_at_the_middle_of_a_step():
    robot, errors = pendulum(), []
    for h in (0.01, 0.005):
        sensors = {"unit": IMU("tip"), "hinge": ForceTorqueSensor("hinge")}
        result = robot.simulate([0.9], [0.4], duration=0.5, dt=h, method="rk4", sensors=sensors)
        middle = robot.simulate([0.9], [0.4], duration=0.5, dt=0.5 * h, method="rk4")
        angle, rate = middle.q[1::2, 0], middle.v[1::2, 0]
        across = -LENGTH * robot.forward_dynamics(angle[:, None], rate[:, None], np.zeros(1))[:, 0] - 9.81 * np.sin(
            angle
        )
        along = LENGTH * rate**2 + 9.81 * np.cos(angle)
        unit, hinge = result.records["unit"][1:], result.records["hinge"][1:]
        each = unit[:, 3] - across, unit[:, 5] - along, 0.5 * hinge[:, 3] - across, 0.5 * hinge[:, 5] - along
        errors.append([np.abs(x).max() for x in each])
    ratios = np.divide(*errors)
    assert (np.abs(ratios - 4.0) < 0.2).all(), ratios


def test_range_sensor_rays_end_at_the_surfaces_of_boxes_and_spheres():
    rng = np.random.default_rng(3)
    box, ball = lw.shapes.Box((1.0, 0.6, 0.8)), lw.shapes.Sphere(0.4)
    X = lw.pose((2.0, 0.3, 0.0), rpy=(0.3, -0.5, 0.8))
    center = np.array([-1.5, 1.0, 0.2])

    def length(o, d):
        solids = [solid(box, Pose.of(X)), solid(ball, Pose.of(lw.pose(center)))]
        return ray_length(Vec3(*o), Vec3(*d), solids, 9.0)

    kernel = lw.compile(length, o=(3,), d=(3,))
    o = rng.uniform(-0.5, 0.5, (4000, 3))
    d = np.where(np.arange(4000)[:, None] % 2, X[:3, 3], center) - o + 0.4 * rng.normal(size=(4000, 3))
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    # the box's slabs, in its own axes
    p, w = (o - X[:3, 3]) @ X[:3, :3], d @ X[:3, :3]
    half = np.array([0.5, 0.3, 0.4])
    ends = np.sort(np.stack([(-half - p) / w, (half - p) / w]), axis=0)
    enters, leaves = ends[0].max(axis=1), ends[1].min(axis=1)
    to_box = np.where((enters <= leaves) & (enters > 0.0), enters, 9.0)
    along = ((center - o) * d).sum(axis=1)
    square = 0.16 - ((center - o) ** 2).sum(axis=1) + along**2
    to_ball = np.where((square > 0.0) & (along > 0.0), along - np.sqrt(np.maximum(square, 0.0)), 9.0)
    expected = np.minimum(to_box, to_ball)
    assert 1000 < (expected < 9.0).sum() < 3500
    assert np.abs(kernel(o, d) - expected).max() < 1e-9
    assert float(kernel(center, d[0])) == 0.0  # inside


@pytest.mark.slow(every=9)
def test_grazing_range_sensor_rays_end_at_the_surface():
    """Closed-form shapes to rounding, and hulls by many spheres."""
    shapes = lw.shapes
    slab = [(x, y, z) for x in (-50.0, 50.0) for y in (-50.0, 50.0) for z in (-1.0, 0.0)]
    under = lw.pose((0.0, 0.0, -1.0))
    for degrees, high in ((0.2, 0.01), (1.0, 0.05), (30.0, 0.3)):
        angle = np.radians(degrees)
        d = Vec3(np.cos(angle), 0.0, -np.sin(angle))
        far = high / np.sin(angle)
        for shape, X, error in (
            (shapes.HalfSpace(), lw.pose(), 1e-12),
            (shapes.Box((100.0, 100.0, 2.0)), under, 1e-12),
            (shapes.Cylinder(50.0, 2.0), under, 1e-12),
            (shapes.Cylinder(1.0, 100.0), lw.pose((0, 0, -1.0), rpy=(0.0, 0.5 * np.pi, 0.0)), 1e-9),
            (shapes.Capsule(1.0, 100.0), lw.pose((0, 0, -1.0), rpy=(0.0, 0.5 * np.pi, 0.0)), 1e-9),
            (shapes.Polytope(slab), lw.pose(), 1e-4),
        ):
            if shape == shapes.Polytope(slab) and degrees < 1.0:  # 4000 spheres, of numbers one by one
                continue
            distance = ray_length(Vec3(0.0, 0.0, high), d, [solid(shape, Pose.of(X))], 10.0)
            assert abs(distance - min(far, 10.0)) < error * max(far, 1.0), (shape, degrees, distance)
    rng = np.random.default_rng(5)
    ball, away = solid(shapes.Ellipsoid((0.5, 0.2, 0.1)), Pose.of(lw.pose((2.0, 0, 0)))), Vec3(0.0, 0.0, 0.05)
    assert abs(ray_length(away, Vec3(1.0, 0.0, 0.0), [ball], 9.0) - (2.0 - 0.5 * np.sqrt(0.75))) < 1e-12
    for shape in (shapes.Capsule(0.3, 0.8), shapes.Cylinder(0.3, 0.8), shapes.Ellipsoid((0.5, 0.3, 0.2))):
        hull = solid(shape, Pose.of(lw.pose((0.1, 0.0, 0.0), rpy=(0.4, 0.5, 0.6))))
        met = 0
        for _ in range(60):  # the end of a ray is on the surface, and nothing is met before
            o, w = 2.0 * rng.normal(size=3), rng.normal(size=3)
            w = Vec3(*(0.2 * w - o) / np.linalg.norm(0.2 * w - o))
            length = ray_length(Vec3(*o), w, [hull], 9.0)
            near = [
                float(distance_once(Solid(PointCore(Vec3(*o) + w * t)), hull)) for t in np.linspace(0.0, length, 30)
            ]
            inside = near[0] < 0.0
            assert (length == 0.0) == inside and (inside or min(near) > -1e-9)
            met += 0.0 < length < 9.0
            assert not 0.0 < length < 9.0 or abs(near[-1]) < 1e-9
        assert met > 10


def test_range_sensors_measure_height_fields_of_scenes_and_links():
    """The nearer of two fields counts; each may be tilted."""
    flat = lw.shapes.HeightField(np.zeros((5, 9)), 0.25)
    lidar = lw.Robot.build(
        "lidar",
        lw.Link("mast", mass=1.0),
        lw.Link("tray", collisions=[flat], mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1)),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="lift", parent="mast", child="tray"),
    )
    tilt = 0.3
    scene = lw.Scene().with_shape("slope", flat, lw.pose((0.0, 0.0, -1.0), rpy=(tilt, 0.0, 0.0)))
    scene = scene.with_sphere("ball", 0.2, (3.0, 0.0, 0.0))
    directions = [(0, 0, -1), (1, 0, 0), (0, 1, 0), (0, 0.2, -1)]
    for at, below in ((-2.0, 1.0), (-0.4, 0.4)):  # the tray is below the slope, or above it
        sensors = {"seen": RangeSensor("mast", directions, scene=scene, links="tray", max_range=5.0)}
        distances = lidar.simulate([at], duration=0.002, sensors=sensors).records["seen"][0]
        to_slope = 1.0 / (1.0 + 0.2 * np.tan(tilt)) * np.hypot(1.0, 0.2)
        across = to_slope if at < -1.0 else 0.4 * np.hypot(1.0, 0.2)
        assert np.allclose(distances, [below, 2.8, 5.0, across], atol=1e-12), (at, distances)


def test_sensor_noise_is_normal_and_independent_for_each_environment():
    robot = pendulum()
    sensors = {"noisy": Encoder(noise=0.02, bias=0.1), "both": TwoChannels(noise=(0.0, 0.5), delay=0.003)}

    def controller(t, q, v, noisy, both):
        return robot.gravity_force(q) - 3.0 * noisy - 0.3 * both[1:]

    many = robot.simulate(np.zeros((5, 1)), controller=controller, duration=2.0, sensors=sensors, seed=40)
    alone = robot.simulate([0.0], controller=controller, duration=2.0, sensors=sensors, seed=43)
    each = robot.simulate(
        np.zeros((2, 1)), controller=controller, duration=0.1, sensors=sensors, seed=np.array([43, 41])
    )
    assert np.array_equal(many.q[3], alone.q) and np.array_equal(many.records["both"][3], alone.records["both"])
    assert np.array_equal(each.q, many.q[[3, 1], :101])
    z = (many.records["noisy"][..., 0] - many.q[..., 0] - 0.1) / 0.02
    assert abs(z.mean()) < 0.05 and abs(z.std() - 1.0) < 0.03
    assert np.abs(np.corrcoef(z) - np.eye(5)).max() < 0.1
    assert abs(np.corrcoef(z[:, 1:].ravel(), z[:, :-1].ravel())[0, 1]) < 0.05
    assert np.array_equal(many.records["both"][:, 3:, 0], many.q[:, :-3, 0])
    moved = robot.simulate([0.7], controller=controller, duration=0.1, sensors=sensors, seed=43)
    noise = moved.records["noisy"] - moved.q
    assert np.allclose(noise, (many.records["noisy"] - many.q)[3, :101], rtol=0.0, atol=1e-14)  # of any motion

    simulator = lw.Simulator(robot, controller=controller, batch=5, sensors=sensors, seed=40)
    state = simulator.state
    for _ in range(2):
        simulator.restore(state)
        simulator.step(count=7)
        assert np.array_equal(simulator.state.q, many.q[:, 7])
        assert np.array_equal(simulator.readings["noisy"], many.records["noisy"][:, 7])
    before = simulator.readings["noisy"][0]
    fresh = lw.Simulator(robot, controller=controller, batch=5, sensors=sensors, seed=40)
    for _ in range(2):  # before the first step each reset begins with the seed, and then noise goes on
        fresh.reset([0.0])
        assert np.array_equal(fresh.readings["noisy"], many.records["noisy"][:, 0])
    assert np.array_equal(fresh.step(count=7).q, many.q[:, 7])
    fresh.reset([0.0])
    assert not np.array_equal(fresh.readings["noisy"], many.records["noisy"][:, 0])
    simulator.reset([0.0], where=[True, False, False, False, False])
    assert simulator.readings["noisy"][0] != before and np.array_equal(simulator.state.q[1:], many.q[1:, 7])


@pytest.mark.slow(every=5)
def test_sensors_measure_contact_forces():
    robot = lw.Robot.build(
        "leg",
        lw.Link("body", lw.shapes.Sphere(0.1), mass=3.0),
        lw.Joint.of(
            lw.joints.Revolute((0, 1, 0)), name="knee", parent="body", child="shank", placement=lw.pose((0, 0, -0.1))
        ),
        lw.Link("shank", lw.shapes.Sphere(0.05).at((0, 0, -0.3)), mass=1.0, frames={"foot": lw.pose((0, 0, -0.4))}),
        floating_base=True,
    )
    q = robot.neutral()
    q[6] = 0.5  # the base's height, after its quaternion and the rest of its place
    ground = ContactGround(ContactPoint("foot"))
    sensors = {"touch": TouchSensor("foot"), "knee": ForceTorqueSensor("knee"), "unit": IMU("body")}
    sensors["contact"] = ContactSensor(ground)
    result = robot.simulate(q, duration=0.05, contacts=ground, sensors=sensors, record_every=50)
    # it stands upright on one foot, in unstable balance: what the foot carries is all of it, and the knee the body
    assert np.allclose(result.records["touch"][-1], 4.0 * 9.81, rtol=1e-6)
    assert np.allclose(result.records["knee"][-1, 3:], [0.0, 0.0, -3.0 * 9.81], atol=1e-4)
    assert np.allclose(result.records["unit"][-1], [0, 0, 0, 0, 0, 9.81], atol=1e-4)
    contact = result.records["contact"][-1]
    assert np.allclose(contact[:3], robot.pose(result.q[-1], "foot")[:3, 3], atol=1e-12)
    assert np.allclose(contact[3:], result.records["contact_forces"][-1, 0], atol=1e-9) and contact[5] > 39.0


@pytest.mark.slow(every=5)
def test_invalid_sensors_are_refused():
    class OneMethod(Sensor):
        def size(self, robot):
            return 1

    with pytest.raises(TypeError, match=r"abstract method '?readings"):
        OneMethod()
    robot = pendulum()
    cloud = lw.Scene().with_shape("cloud", lw.shapes.PointCloud(np.zeros((4, 3)), 0.1))

    def run(**sensors):
        return robot.simulate([0.1], duration=0.01, sensors=sensors)

    for make, error, words in (
        (lambda: run(a=IMU("tup")), lw.errors.UnknownNameError, "no frame, for .* IMU, .*'tip'"),
        (lambda: run(a=Encoder("hing")), lw.errors.UnknownNameError, "hinge"),
        (lambda: run(a=TouchSensor("rod")), ValueError, "pass contacts="),
        (lambda: run(a=ContactSensor(ContactGround("tip"))), ValueError, "ContactSensor: .* pass contacts="),
        (lambda: ContactSensor("tip"), TypeError, "ContactSensor: contacts: expected"),
        (lambda: ContactSensor(None), TypeError, "ContactSensor: contacts: expected .*, got None"),
        (
            lambda: robot.simulate(
                [0.1],
                duration=0.01,
                contacts=ContactGround("tip", height=-2.0),
                sensors={"a": ContactSensor([ContactGround("tip"), ContactGround("tip", height=-2.0)])},
            ),
            ValueError,
            "contacts: expected the contacts of the simulation, got 2 points of a simulation with 1",
        ),
        (
            lambda: run(a=RangeSensor("tip", scene=cloud)),
            ValueError,
            "RangeSensor: 'cloud': expected Sphere, .*, got PointCloud",
        ),
        (lambda: run(a=ForceTorqueSensor("hing")), lw.errors.UnknownNameError, "hinge"),
        (
            lambda: run(a=TwoChannels(noise=(0.1, 0.1, 0.1))),
            ValueError,
            r"noise: expected a number or \(2,\), got 3 values",
        ),
        (lambda: run(t=TwoChannels()), ValueError, "identifiers besides"),
        (lambda: run(a="imu"), TypeError, "expected a sensor"),
        (lambda: Encoder(noise=-1.0), ValueError, "noise: expected standard deviations >= 0"),
        (lambda: Encoder(delay=np.nan), ValueError, "delay"),
        (lambda: Encoder(of="torque"), ValueError, "'force'"),
        (lambda: Encoder(joints=0), TypeError, "Encoder: joints: expected None or names of joints, got 0"),
        (lambda: RangeSensor("tip"), ValueError, "expected a scene"),
        (lambda: RangeSensor("tip", (0, 0, 0), links="rod"), ValueError, "directions"),
        (lambda: robot.simulate([0.1], duration=0.01, sensors={"a": TwoChannels()}, seed=0.5), ValueError, "seed"),
        (
            lambda: lw.Simulator(robot, sensors={"a": TwoChannels()}, seed=None),
            ValueError,
            "seed: expected an integer >= 0",
        ),
    ):
        with pytest.raises(error, match=words):
            make()


def test_touch_sensors_of_links_without_contact_points_are_refused():
    """The foot's contact point is on a frame of the shank: a sensor of the shank would read 0 for ever."""
    robot = lw.load("quadruped", floating_base=True)
    q = robot.neutral()
    feet = ContactGround(("front_left_foot", "front_right_foot"), height=-1.0)

    def run(*links, contacts=feet):
        return robot.simulate(q, duration=0.002, contacts=contacts, sensors={"touch": TouchSensor(links)})

    assert run("front_left_foot", "front_right_foot").records["touch"].shape[-1] == 2
    with pytest.raises(ValueError, match="'front_right_foot', got 'trunk', which would always read 0"):
        run("front_left_foot", "trunk")
    with pytest.raises(ValueError, match="read 0; 'front_left_foot' moves with 'front_left_shank'"):
        run("front_left_shank")
    pair = lw.simulation.ContactPair("trunk", "hind_left_shank")
    assert run("trunk", "hind_left_shank", contacts=[feet, pair]).records["touch"].shape[-1] == 2
    assert "got 'trunk', which would always read 0" in str(
        lw.simulation.check_sensor(TouchSensor("trunk"), robot, q=q, contacts=feet)
    )
