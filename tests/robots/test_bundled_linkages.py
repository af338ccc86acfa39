"""Bundled linkages against published numbers and closed forms: legs, lifts, gears and suspensions."""

import numpy as np
import pytest

import linkwork as lw

# degrees of freedom, and the redundant equations: of planar loops of hinges, and of planets beside the first
LINKAGES = {
    "jansen_leg": (1, ("upper_pin", "lower_pin", "heel_pin")),
    "klann_leg": (1, ("elbow_pin", "hip_pin")),
    "scissor_lift": (1, ("carriage_pin", "stage_pin")),
    "planetary_gear": (2, ("ring and planet 2", "ring and planet 3", "ring and planet 4")),
    "double_wishbone": (3, ()),
}


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", LINKAGES)
def test_bundled_linkages_have_their_mobility_and_conserve_energy(name):
    robot = lw.load(name)
    assert robot == lw.load(lw.robots.path(name)).with_loops_document(robot.loops_document())
    q = robot.neutral()
    assert np.abs(robot.constraint_error(q)).max() < 1e-15
    mobility, (dof, redundant) = robot.mobility(), LINKAGES[name]
    assert (mobility.mobility, mobility.coordinates) == (dof, dof)
    hinges = [f"{pin}: {row}" for pin in redundant for row in ("rotation x", "rotation z", "translation y")]
    assert list(mobility.redundant) == (list(redundant) if name == "planetary_gear" else hinges)
    _, v = robot.project(q, 0.5 * np.random.default_rng(0).normal(size=robot.nv))
    run = robot.simulate(q, v, duration=0.1, method="rk4", passive=False, record=["kinetic_energy", "potential_energy"])
    energy = sum(run.records.values())
    assert np.abs(energy - energy[0]).max() < 1e-9 * (1.0 + abs(energy[0]))
    assert np.abs(robot.constraint_error(run.q[-1])).max() < 1e-9


def meeting(p, r, q, s, side):
    """The point at the distances r from p and s from q, on one side of the line from p to q."""
    line = q - p
    length = np.linalg.norm(line, axis=-1, keepdims=True)
    along = (r * r - s * s + length**2) / (2 * length)
    normal = np.stack([-line[..., 1], line[..., 0]], axis=-1) / length
    return p + along * line / length + side * np.sqrt(r * r - along**2) * normal


@pytest.mark.slow(every=5)
def test_bundled_jansen_leg_has_the_published_lengths():
    """Each point is the intersection of two circles, with Jansen's numbers (The Great Pretender, 2007) as radii."""
    a, b, c, d, e, f, g, h, i, j, k, l, m = 38, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49, 50, 61.9, 7.8, 15
    robot, angle = lw.load("jansen_leg"), np.linspace(0.0, 2 * np.pi, 73)
    pin = m * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    pivot = np.array([-a, -l])
    upper, knee = meeting(pivot, b, pin, j, 1), meeting(pivot, c, pin, k, -1)
    heel = meeting(knee, g, meeting(pivot, d, upper, e, 1), f, 1)
    toe = meeting(knee, i, heel, h, 1)
    motion = robot.drive_mechanism({"crank_hinge": -angle})  # x to −z is a positive angle about y
    for frame, expected in (("knee", knee), ("heel", heel), ("toe", toe)):
        point = 100.0 * robot.pose(motion.q, frame)[:, :3, 3]
        np.testing.assert_allclose(point[:, [0, 2]], expected, rtol=0, atol=1e-9, err_msg=frame)
    same = robot.q_index(["upper_hinge", "lower_hinge", "coupler_hinge", "foot_hinge"])
    np.testing.assert_allclose(motion.q[-1, same], motion.q[0, same], rtol=0, atol=1e-12)


@pytest.mark.slow(every=5)
def test_bundled_klann_leg_has_the_patented_points_and_path():
    """The points of US patent 6,260,862 (table 1), in loops that are intersections of circles.

    DIY Walkers' "Klann's linkage plans" has the bars for a crank of 3, bends of 12.83° and 30°, and a path of the foot
    of 90 mm by 47 mm for a crank of 24 mm.
    """
    crank, upper, lower = np.array([1.599, 0.750]), np.array([1.366, 1.366]), np.array([1.009, 0.574])
    pin, elbow, knee = np.array([1.331, 0.750]), np.array([0.741, 0.750]), np.array([0.232, 0.866])
    hip, foot = np.array([0.866, 1.500]), np.zeros(2)
    bars = ((pin, crank), (elbow, pin), (knee, elbow), (elbow, lower), (hip, upper), (hip, knee), (foot, knee))
    m, a, b, c, d, e, f = (np.linalg.norm(start - end) for start, end in bars)
    published = [3.0, 6.604, 5.844, 3.589, 5.795, 10.037, 10.036]
    np.testing.assert_allclose(np.array([m, a, b, c, d, e, f]) * 3.0 / m, published, rtol=0, atol=5e-4)

    def heading(x):
        return np.arctan2(x[..., 1], x[..., 0])

    def beyond(p, q, length, bend):  # the point at a length from q, in the direction from p to q turned by an angle
        angle = heading(q - p) + bend
        return q + length * np.stack([np.cos(angle), np.sin(angle)], axis=-1)

    bends = heading(knee - elbow) - heading(elbow - pin), heading(foot - knee) - heading(knee - hip)
    np.testing.assert_allclose(np.degrees(np.mod(bends, 2 * np.pi) - [2 * np.pi, 0]), [-12.83, 30.0], rtol=0, atol=0.03)
    angle = np.linspace(0.0, 2 * np.pi, 721)
    turning = crank - m * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    elbows = meeting(turning, a, lower, c, -1)
    knees = beyond(turning, elbows, b, bends[0])
    hips = meeting(knees, e, upper, d, 1)
    feet = beyond(hips, knees, f, bends[1])
    robot = lw.load("klann_leg")
    motion = robot.drive_mechanism({"crank_hinge": -angle}, velocity={"crank_hinge": -1.0})
    for frame, expected in (("elbow", elbows), ("hip", hips), ("foot", feet)):
        at = robot.pose(motion.q, frame)[:, :3, 3]
        np.testing.assert_allclose(at[:, [0, 2]], expected, rtol=0, atol=1e-9, err_msg=frame)
    np.testing.assert_allclose(np.ptp(feet, axis=0) * 24.0 / m, [90.0, 47.0], rtol=0, atol=0.5)
    # the crank lifts a load at the foot by the slope of the path
    load = {"foot": np.array([0, 0, 0, 0, 0, -1.0])}
    zero = np.zeros(5)
    static = robot.constrained_inverse_dynamics(
        motion.q, zero, zero, actuators="crank_hinge", wrenches=load, gravity=np.zeros(3)
    )
    slope = np.gradient(feet[:, 1], -angle, edge_order=2)
    np.testing.assert_allclose(static.tau[5:-5, 0], slope[5:-5], rtol=0, atol=2e-4)


@pytest.mark.slow(every=5)
def test_bundled_scissor_lift_needs_the_published_force():
    """F = n (W + B/2) / tan t (Spackman 1989), at heights of n L sin t."""
    robot, count, g = lw.load("scissor_lift"), 2, 9.81
    angle = np.arctan2(0.6, 0.8) + np.linspace(-0.5, 0.6, 12)
    motion = robot.drive_mechanism({"slide": np.cos(angle) - 0.8})
    X = robot.pose(motion.q, "platform")
    np.testing.assert_allclose(X[:, 2, 3], count * np.sin(angle), rtol=0, atol=1e-9)
    np.testing.assert_allclose(X[:, :3, :3], np.broadcast_to(np.eye(3), (12, 3, 3)), rtol=0, atol=1e-9)
    zero, load = np.zeros((12, robot.nv)), 500.0
    wrench = np.array([0, 0, 0, 0, 0, -load])
    result = robot.constrained_inverse_dynamics(motion.q, zero, zero, actuators="slide", wrenches={"platform": wrench})
    platform, bars = load + 20.0 * g, 4 * 4.0 * g
    expected = -count * (platform + bars / 2) / np.tan(angle)
    np.testing.assert_allclose(result.tau[:, robot.v_index(["slide"])[0]], expected, rtol=1e-9)


@pytest.mark.slow(every=5)
def test_bundled_planetary_gear_has_the_published_ratios():
    """Willis' equation, and example 13-6 of Shigley's Mechanical Engineering Design; torques as 20 : 80 : −100."""
    robot = lw.load("planetary_gear")
    index = {name: robot.v_index([name])[0] for name in ("sun", "ring", "carrier", "planet_1", "planet_4")}
    motion = robot.drive_mechanism({"sun": -100.0 * np.linspace(0.0, 0.1, 5), "ring": np.zeros(5)})
    end = motion.q[-1] / 0.1
    np.testing.assert_allclose(end[index["carrier"]], -20.0, rtol=1e-12)
    for planet in ("planet_1", "planet_4"):
        np.testing.assert_allclose(end[index["carrier"]] + end[index[planet]], 100.0 / 3.0, rtol=1e-12)
    _, v = robot.project(robot.neutral(), np.random.default_rng(0).normal(size=robot.nv))
    sun, ring, carrier = (v[index[name]] for name in ("sun", "ring", "carrier"))
    np.testing.assert_allclose((sun - carrier) / (ring - carrier), -80 / 20, rtol=1e-12)
    zero, torque = np.zeros(robot.nv), {"sun_gear": np.array([0, 0, 1.0, 0, 0, 0])}
    static = robot.constrained_inverse_dynamics(
        robot.neutral(), zero, zero, actuators=("ring", "carrier"), wrenches=torque
    )
    np.testing.assert_allclose(static.tau[[index["ring"], index["carrier"]]], [4.0, -5.0], rtol=1e-12)
    balanced = static.tau + np.eye(7)[index["sun"]]
    dynamic = robot.constrained_forward_dynamics(robot.neutral(), zero, balanced)
    np.testing.assert_allclose(dynamic.a, zero, rtol=0, atol=1e-9)
    # the tangential force of the sun, 1 N·m / 20 mm, is shared by four planets
    np.testing.assert_allclose(dynamic.constraint_forces, -np.full(8, 1.0 / 0.02 / 4), rtol=1e-9)


LOWER, LOWER_BALL = np.array([0.35, 0.23]), np.array([0.70, 0.20])  # y and z of the double wishbone's points
UPPER, UPPER_BALL = np.array([0.42, 0.497]), np.array([0.66, 0.521])
CENTER, CONTACT = np.array([-1.05, 0.35]), np.array([0.78, 0.0])  # where the arms' lines meet; the wheel's contact


@pytest.mark.slow(every=5)
def test_bundled_double_wishbone_is_a_four_bar_in_front_view():
    """The knuckle's inclination over the lower arm's angle, from the intersection of two circles."""
    robot, angle = lw.load("double_wishbone"), np.linspace(-0.15, 0.15, 7)
    turned = np.stack([np.cos(angle), np.sin(angle)], axis=-1) * np.linalg.norm(LOWER_BALL - LOWER)
    start = np.arctan2(*(LOWER_BALL - LOWER)[::-1])
    c, s = np.cos(start), np.sin(start)
    lower = LOWER + np.stack([c * turned[:, 0] - s * turned[:, 1], s * turned[:, 0] + c * turned[:, 1]], axis=-1)
    sizes = np.linalg.norm(UPPER_BALL - UPPER), np.linalg.norm(UPPER_BALL - LOWER_BALL)
    upper = meeting(UPPER, sizes[0], lower, sizes[1], 1)
    motion = robot.drive_mechanism({"lower_hinge": angle, "steering": np.zeros(7), "spin": np.zeros(7)})
    balls = [robot.pose(motion.q, name)[:, 1:3, 3] for name in ("lower_ball_pin", "upper_ball_pin")]
    np.testing.assert_allclose(balls, [lower, upper], rtol=0, atol=1e-9)


def test_bundled_double_wishbone_has_the_instant_center_of_its_arms():
    """Camber gain 1/fvsa, roll centre on the line from the contact to the instant centre, no bump steer (Milliken)."""
    robot = lw.load("double_wishbone")
    q, J = robot.neutral(), robot.constraint_jacobian(robot.neutral())
    fixed = np.eye(robot.nv)[robot.v_index(["steering", "spin"])]
    rate = np.linalg.svd(np.vstack([J, fixed]))[2][-1]  # of the motion that is left: bump
    wx, wy, wz, vx, vy, vz = rate[robot.v_index(["carried"])]
    np.testing.assert_allclose([wy, wz, vx], 0.0, rtol=0, atol=1e-14 * abs(wx) + 1e-15)
    patch = vy + 0.30 * wx, vz  # the wheel's center is 0.30 m above the contact
    np.testing.assert_allclose(wx / patch[1], 1.0 / (CONTACT - CENTER)[0], rtol=1e-12)
    height = 0.78 * CENTER[1] / (CONTACT - CENTER)[0]
    np.testing.assert_allclose(0.78 * patch[0] / patch[1], height, rtol=1e-12)
    # the wheel's load is the spring's force times the rate of its length over the wheel's travel
    seat = LOWER + 0.6 * (LOWER_BALL - LOWER)
    spring = seat - np.array([0.42, 0.66])
    travel = np.array([-(seat - LOWER)[1], (seat - LOWER)[0]]) * rate[robot.v_index(["lower_hinge"])[0]]
    length = np.linalg.norm(spring)
    load = -60e3 * (length - 0.53) * (spring @ travel / length) / patch[1]
    power = rate @ robot.passive_force(q, np.zeros(robot.nv))
    np.testing.assert_allclose(power, load * patch[1], rtol=1e-9)
