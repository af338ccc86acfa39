"""Bundled mechanisms and published ones: closed forms, mobility, energy."""

import numpy as np
import pytest

import linkwork as lw

MOBILITY = {"fourbar": 1, "delta": 3, "stewart": 6, "leg": 7, "differential_drive": 2, "bicycle": 3}
CONFIGURATIONS = {**MOBILITY, "differential_drive": 7, "bicycle": 7}  # degrees of freedom of configuration
HINGE = lw.joints.Revolute((0, 1, 0))


def rank(J):
    s = np.linalg.svd(J, compute_uv=False)
    gap = s[s > 1e-9 * s[0]]
    assert gap.min() > 1e-3 * s[0]  # no singular value that is neither
    return len(gap)


def feasible(robot, q, v):
    """The nearest velocity that the constraints allow, number by number."""
    J = robot.constraint_jacobian(q)
    return v - np.linalg.pinv(J, rcond=1e-9) @ (J @ v)


@pytest.mark.costly
@pytest.mark.parametrize("name", MOBILITY)
def test_bundled_mechanisms_have_one_degree_of_freedom_and_conserve_energy(name):
    robot = lw.load(name)
    assert robot == lw.load(lw.robots.path(name), loops=lw.robots.loops(name))
    assert robot == lw.load(lw.robots.path(name)).with_loops_document(robot.loops_document())
    q, count = robot.neutral(), robot.nv
    assert np.abs(robot.constraint_error(q)).max() < 1e-15
    rng = np.random.default_rng(0)
    v = feasible(robot, q, 0.3 * rng.normal(size=count))
    J = robot.constraint_jacobian(q)
    holonomic = [row for c, row in zip(rows_of(robot), J, strict=True) if c.holonomic]
    assert count - rank(np.array(holonomic)) == CONFIGURATIONS[name]
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    h, steps = 1e-3, 60
    zero = np.zeros(count)
    for _ in range(steps):
        q, v = runge_kutta(lambda q, v: robot.forward_dynamics(q, v, zero), robot, q, v, h)
    assert count - rank(robot.constraint_jacobian(q)) == MOBILITY[name]  # after it has moved, too
    assert np.abs(robot.constraint_error(q)).max() < 1e-9
    after = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    moved = abs(robot.kinetic_energy(q, v)) + 1.0
    assert abs(after - energy) < 1e-8 * moved, (after - energy, moved)


@pytest.mark.slow(every=9)
def test_bundled_mechanisms_have_the_known_mobility(drawn):
    for name, count in drawn(MOBILITY.items()):
        report = lw.load(name).mobility()
        assert (report.mobility, report.dof, report.coordinates) == (count, count, CONFIGURATIONS[name])
        assert not (report.inconsistent or report.singular)
        planar = {"fourbar": "pin", "leg": "plantar"}.get(name)
        expected = (
            [f"{planar}: {rotation}" for rotation in ("rotation x", "rotation z", "translation y")] if planar else []
        )
        assert list(report.redundant) == (["right_wheel rolls: along y"] if name == "differential_drive" else expected)
    base = lw.load("differential_drive")
    reached = base.integrability(base.neutral())
    assert reached.configuration_dof == 6  # what both wheels have turned says the heading


def rows_of(robot):
    """The constraint of each row."""
    return [c for c in robot.constraints for _ in c.component_names]


def runge_kutta(a, robot, q, v, h):
    """A step of the fourth order along the manifold (Celledoni, Marthinsen and Owren, 2003)."""
    a1 = a(q, v)
    q2, v2 = robot.integrate(q, h / 2 * v), v + h / 2 * a1
    a2 = a(q2, v2)
    q3, v3 = robot.integrate(q, h / 2 * v2), v + h / 2 * a2
    a3 = a(q3, v3)
    q4, v4 = robot.integrate(q2, h * v3 - h / 2 * v), v + h * a3
    a4 = a(q4, v4)
    half = robot.integrate(q, h / 12 * (3 * v + 2 * v2 + 2 * v3 - v4))
    return robot.integrate(half, h / 12 * (-v + 2 * v2 + 2 * v3 + 3 * v4)), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def test_four_bar_satisfies_freudensteins_equation():
    """K1 cos θ4 − K2 cos θ2 + K3 = cos(θ2 − θ4), over the whole turn, and its derivative."""
    robot = lw.load("fourbar")
    a, b, c, d = 0.1, 0.5, 0.4, 0.4
    K1, K2, K3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
    crank = np.linspace(0.0, 2 * np.pi, 181)
    q = followed(robot, "crank_hinge", crank)
    theta2, theta4 = np.pi / 2 - crank, np.pi / 2 - q[:, robot.q_index(["rocker_hinge"])[0]]
    residual = K1 * np.cos(theta4) - K2 * np.cos(theta2) + K3 - np.cos(theta2 - theta4)
    assert np.abs(residual).max() < 1e-11
    np.testing.assert_allclose(q[-1] - q[0], [2 * np.pi, -2 * np.pi, 0.0], rtol=0, atol=1e-9)
    J = robot.constraint_jacobian(q)
    k, r = robot.v_index(["crank_hinge", "rocker_hinge"])
    ratio = np.array([null_direction(G, k)[r] for G in J])
    s24 = np.sin(theta2 - theta4)
    expected = (K2 * np.sin(theta2) + s24) / (K1 * np.sin(theta4) + s24)
    np.testing.assert_allclose(ratio, expected, rtol=0, atol=1e-9)


def null_direction(J, k):
    """The velocity of a mechanism of one degree of freedom whose number k moves at rate 1."""
    _, _, Vt = np.linalg.svd(J)
    return Vt[-1] / Vt[-1][k]


def followed(robot, joint, values):
    """Assembled configurations while a joint goes through values, each from the one before."""
    results, q = [], robot.neutral()
    k = robot.q_index([joint])[0]
    for value in values:
        q = q.copy()
        q[k] = value
        q = newton(robot, q, fixed=[joint])
        results.append(q)
    return np.array(results)


def newton(robot, q, fixed=()):
    """The configuration near q that satisfies the constraints while joints are held, by Newton's method."""
    columns = [k for k, name in enumerate(robot.v_names) if name.partition(".")[0] not in fixed]
    rows = np.flatnonzero([c.holonomic for c in rows_of(robot)])
    for _ in range(30):
        error = robot.constraint_error(q)
        if np.abs(error).max() < 1e-14:
            break
        J = robot.constraint_jacobian(q)[rows][:, columns]
        step = np.zeros(robot.nv)
        step[columns] = -np.linalg.lstsq(J, error, rcond=1e-9)[0]
        q = robot.integrate(q, step)
    assert np.abs(robot.constraint_error(q)).max() < 1e-12
    return q


def delta_shoulders(p):
    """The shoulder angles of the delta robot with its platform at p, in closed form; p may be (..., 3)."""
    results = []
    for angle in (0.0, 2 * np.pi / 3, -2 * np.pi / 3):
        c, s = np.cos(angle), np.sin(angle)
        x, y, z = c * p[..., 0] + s * p[..., 1] + 0.04 - 0.15, c * p[..., 1] - s * p[..., 0], p[..., 2]
        # |(x, y, z) − 0.25 (cos t, 0, −sin t)|² = 0.36, that is A cos t + B sin t = C
        A, B, C = 0.5 * x, -0.5 * z, x * x + y * y + z * z + 0.0625 - 0.36
        results.append(np.arctan2(B, A) - np.arccos(C / np.hypot(A, B)))
    return np.stack(results, axis=-1)


def test_delta_robot_has_its_closed_form_kinematics_in_both_directions():
    robot = lw.load("delta")
    rng = np.random.default_rng(1)
    shoulders, position = [f"shoulder_{i}" for i in (1, 2, 3)], slice(4, 7)
    for _ in range(5):
        p = np.array([0, 0, -0.48]) + rng.uniform(-0.08, 0.08, 3)
        angles = delta_shoulders(p)
        q = robot.neutral()
        q[robot.q_index(shoulders)] = angles
        q = newton(robot, q, fixed=shoulders)  # forward: from angles to the platform
        X = robot.pose(q, "platform")
        np.testing.assert_allclose(X[:3, 3], p, rtol=0, atol=1e-12)
        np.testing.assert_allclose(X[:3, :3], np.eye(3), rtol=0, atol=1e-12)  # it only translates
        start = robot.neutral()
        start[position] = q[position]
        back = newton(robot, start, fixed=["carried"])  # inverse: from the platform to angles
        np.testing.assert_allclose(back[robot.q_index(shoulders)], angles, rtol=0, atol=1e-12)


def stewart_legs(X):
    """Return the leg lengths of the hexapod with its platform at a pose."""
    base, top = np.deg2rad([10, 110, 130, 230, 250, 350]), np.deg2rad([50, 70, 170, 190, 290, 310])
    B = 0.5 * np.stack([np.cos(base), np.sin(base), 0 * base], -1)
    P = 0.3 * np.stack([np.cos(top), np.sin(top), 0 * top], -1)
    length = np.linalg.norm(P @ X[:3, :3].T + X[:3, 3] - B, axis=1)
    return length - np.linalg.norm(P - B + np.array([0, 0, 0.6]), axis=1)


def test_stewart_platform_has_its_closed_form_kinematics_in_both_directions():
    robot = lw.load("stewart")
    rng = np.random.default_rng(2)
    legs = [f"leg_{i}" for i in range(1, 7)]
    for _ in range(4):
        X = lw.pose(np.array([0, 0, 0.6]) + rng.uniform(-0.05, 0.05, 3), rpy=rng.uniform(-0.15, 0.15, 3))
        q = robot.neutral()
        q[robot.q_index(legs)] = stewart_legs(X)
        q = newton(robot, q, fixed=legs)
        np.testing.assert_allclose(robot.pose(q, "platform"), X, rtol=0, atol=1e-11)
        start = robot.neutral()
        start[:7] = q[:7]
        back = newton(robot, start, fixed=["carried"])
        np.testing.assert_allclose(back[robot.q_index(legs)], stewart_legs(X), rtol=0, atol=1e-12)


def test_bundled_spatial_slider_crank_satisfies_its_closure_equation():
    """RSSP: a crank about z drives a slider along x, above its plane, by a rod with balls at both ends."""
    r, rod, height = 0.3, 1.0, 0.4
    crank = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="crank", parent="world", child="disc")
    rail = lw.joints.Prismatic((1, 0, 0))
    slide = lw.Joint.of(rail, name="slide", parent="world", child="block", placement=lw.pose((0, 0, height)))
    parts = (lw.Link("disc", mass=1.0, inertia=(0.1, 0.1, 0.2)), crank, lw.Link("block", mass=2.0), slide)
    robot = lw.Robot.build("slider-crank", *parts).with_frame("pin", "disc", (r, 0, 0))
    robot = robot.with_constraints(lw.constraints.Distance("pin", "block", rod))
    t = np.linspace(0.0, 2 * np.pi, 61)
    s = r * np.cos(t) + np.sqrt(rod**2 - height**2 - (r * np.sin(t)) ** 2)
    q = np.stack([t, s], axis=-1)
    assert np.abs(robot.constraint_error(q)).max() < 1e-15
    G = robot.constraint_jacobian(q)[:, 0]
    slope = -r * np.sin(t) - r * r * np.sin(t) * np.cos(t) / (s - r * np.cos(t))
    np.testing.assert_allclose(-G[:, 0] / G[:, 1], slope, rtol=0, atol=1e-14)
    # one degree of freedom: (J + m s'²) ẗ + m s' s'' ṫ² = torque
    v = np.stack([np.full_like(t, 2.0), 2.0 * slope], axis=-1)
    a = robot.forward_dynamics(q, v, np.stack([np.full_like(t, 0.5), 0 * t], axis=-1))
    root = s - r * np.cos(t)
    curvature = -r * np.cos(t) - r * r * np.cos(2 * t) / root - (r * r * np.sin(t) * np.cos(t)) ** 2 / root**3
    expected = (0.5 - 2.0 * slope * curvature * 2.0**2) / (0.2 + 2.0 * slope**2)
    np.testing.assert_allclose(a[:, 0], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a[:, 1], slope * expected + curvature * 2.0**2, rtol=0, atol=1e-12)


# -- Whipple's bicycle: Meijaard, Papadopoulos, Ruina and Schwab, Proc. R. Soc. A 463, 2007: appendix A and table 2

M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
WEAVE = (  # real and imaginary part, from 1 m/s on
    (3.52696170990070, 0.80774027519930),
    (2.68234517512745, 1.68066296590675),
    (1.70675605663975, 2.31582447384325),
    (0.41325331521125, 3.07910818603206),
    (-0.77534188219585, 4.46486771378823),
    (-1.52644486584142, 5.87673060598709),
    (-2.13875644258362, 7.19525913329805),
    (-2.69348683581097, 8.46037971396931),
    (-3.21675402252485, 9.69377351531791),
    (-3.72016840437287, 10.90681139476287),
)
CAPSIZE = (-3.13423125066578, -3.07158645641514, -2.63366137253667, -1.42944427361326, -0.32286642900409)
CAPSIZE += (-0.00406690076970, 0.10268170574766, 0.14327879765713, 0.15790184030917, 0.16105338653172)
CASTERING = (-7.11008014637442, -8.67387984831735, -10.3510146724592, -12.1586142657645, -14.0783896927982)
CASTERING += (-16.0853712309803, -18.1578846612526, -20.2794089439457, -22.4378855904086, -24.6245963501740)


class Linearised:
    """The bicycle near upright, straight motion: lean and steer accelerations by what moves them, exactly."""

    def __init__(self):
        self.robot = robot = lw.load("bicycle")
        self.q = robot.neutral()
        self.lean, self.steer, self.wheel = robot.v_index(["drifting.wx", "steer", "rear_axle"])
        self.a = robot.compile("constrained_forward_dynamics").jvp("q", "v", "tau")
        self.G = robot.compile("constraint_jacobian").jvp("q")

    def straight(self, speed):
        v = np.zeros(9)
        v[self.robot.v_index(["drifting.vx", "rear_axle", "front_axle"])] = speed, speed / 0.3, speed / 0.35
        assert np.abs(self.robot.constraint_jacobian(self.q) @ v).max() < 1e-14 * max(speed, 1.0)
        return v

    def perturbed(self, speed, lean, steer, lean_rate, steer_rate):
        """The changes of q and v that the constraints allow, with these, while the rear wheel turns as before."""
        v, dq, chosen = self.straight(speed), np.zeros(9), np.eye(9)[[self.lean, self.steer, self.wheel]]
        dq[[self.lean, self.steer]] = lean, steer
        rows = np.vstack([self.robot.constraint_jacobian(self.q), chosen])
        return dq, np.linalg.solve(rows, [*(-self.G(self.q, dq) @ v), lean_rate, steer_rate, 0.0])

    def matrices(self, speed):
        """A and B of (lean, steer)'' = A (lean, steer, rates) + B (lean and steer torque)."""
        zero, which, v = np.zeros(9), [self.lean, self.steer], self.straight(speed)
        moved = [self.a(self.q, v, zero, *self.perturbed(speed, *x), zero).d_a[which] for x in np.eye(4)]
        driven = [self.a(self.q, v, zero, zero, zero, np.eye(9)[k]).d_a[which] for k in which]
        return np.transpose(moved), np.transpose(driven)


def test_bicycle_has_the_published_benchmark_matrices():
    bicycle = Linearised()
    for speed in (1.0, 5.0, 10.0):
        A, B = bicycle.matrices(speed)
        inertia = np.linalg.inv(B)
        np.testing.assert_allclose(inertia, M, rtol=0, atol=1e-12)
        np.testing.assert_allclose(-inertia @ A[:, 2:] / speed, C1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(-inertia @ A[:, :2], 9.81 * K0 + speed**2 * K2, rtol=0, atol=1e-10)


@pytest.mark.slow(every=5)
def test_bicycle_has_the_published_eigenvalues():
    bicycle = Linearised()
    ride = bicycle.robot.minimal_coordinates(q=bicycle.q, speeds=["drifting.wx", "steer", "rear_axle"])
    at = ride.coordinates_of(bicycle.q)
    for speed in range(11):
        A, _ = bicycle.matrices(float(speed))
        result = np.sort_complex(np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [A]])))
        if speed == 0:
            expected = np.array([-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393])
        else:
            x, y = WEAVE[speed - 1]
            expected = [x + 1j * y, x - 1j * y, CAPSIZE[speed - 1], CASTERING[speed - 1]]
        expected = np.sort_complex(np.array(expected, dtype=complex))
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-10)
        A, _ = ride.linearize(
            at, [0.0, 0.0, speed / 0.3], near=bicycle.q
        )  # in minimal coordinates, six of them at rest
        values = np.linalg.eigvals(A)
        values = np.sort_complex(values[np.argsort(np.abs(values))[-4:]])
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)


def test_uncontrolled_bicycle_stays_upright_at_five_metres_per_second():
    """Between the weave speed, 4.292 m/s, and the capsize speed, 6.024 m/s, a push dies away: nonlinear motion."""
    bicycle = Linearised()
    robot, zero = bicycle.robot, np.zeros(9)
    v = bicycle.straight(5.0)
    _, pushed = bicycle.perturbed(5.0, 0.0, 0.0, 0.05, 0.0)
    q, v, h = robot.neutral(), v + pushed, 5e-3
    leans = []
    for _ in range(800):
        q, v = runge_kutta(lambda q, v: robot.forward_dynamics(q, v, zero), robot, q, v, h)
        leans.append(np.arcsin(robot.pose(q, "rear_frame")[2, 1]))
    leans = np.abs(leans)
    assert leans.max() > 5e-3 and leans[-200:].max() < 0.25 * leans.max()
    assert np.abs(robot.constraint_error(q)).max() < 1e-8
