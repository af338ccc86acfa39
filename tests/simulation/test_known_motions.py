"""Motions with closed forms or textbook equations, and conservation of energy (invariants 42 to 45)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw

G = 9.81


def chain(*parts):
    """Build a chain from (joint type, position, mass, centre of mass, moments about it), starting at the world."""
    elements, parent = [], "world"
    for k, (joint, position, mass, center, moments) in enumerate(parts):
        elements += [
            lw.Link(f"link{k}", mass=mass, com=center, inertia=moments),
            lw.Joint.of(joint, name=f"joint{k}", parent=parent, child=f"link{k}", placement=position),
        ]
        parent = f"link{k}"
    return lw.Robot.build("chain", *elements)


def pendulum(m=1.3, l=0.7, I=0.05):
    return chain((lw.joints.Revolute((0, 1, 0)), (0, 0, 0), m, (0, 0, -l), (I, I, I)))


def test_simulated_periods_of_a_pendulum_equal_the_elliptic_integral():
    """Periods are 4 K(sin(θ₀/2))/ω, K by the arithmetic-geometric mean, to 1e-9; small angles' 2π/ω to 1e-4."""
    robot = pendulum()
    rate = math.sqrt(1.3 * G * 0.7 / (0.05 + 1.3 * 0.7**2))
    for start in (0.02, 2.5):
        a, b = 1.0, math.cos(0.5 * start)
        for _ in range(8):
            a, b = 0.5 * (a + b), math.sqrt(a * b)
        period = 2.0 * math.pi / (rate * a)
        if start < 0.1:
            assert abs(period * rate / (2.0 * math.pi) - 1.0) < 1e-4
        result = robot.simulate([start], duration=period, dt=period / 4000, method="rk4", record_every=4000)
        late = result.v[-1, 0] / (rate * rate * math.sin(start))  # it turns where v is zero
        assert abs(result.q[-1, 0] - start) < 1e-9 and abs(late) < 1e-9 * period


def test_simulated_double_pendulum_and_cart_pole_equal_integrated_textbook_equations():
    """Spong, Hutchinson and Vidyasagar's equations, and Tedrake's, integrated by SciPy."""
    integrate = pytest.importorskip("scipy.integrate").solve_ivp
    m1, m2, l1, c1, c2, I1, I2 = 1.3, 0.8, 0.7, 0.3, 0.4, 0.05, 0.02
    hinge, back = lw.joints.Revolute((0, 1, 0)), lw.joints.Revolute((0, -1, 0))
    double = chain((hinge, (0, 0, 0), m1, (0, 0, -c1), (I1,) * 3), (hinge, (0, 0, -l1), m2, (0, 0, -c2), (I2,) * 3))

    def of_double(t, x):
        q1, q2, v1, v2 = x
        b = m2 * l1 * c2 * math.sin(q2)
        M12 = I2 + m2 * (c2**2 + l1 * c2 * math.cos(q2))
        M11 = I1 + I2 + m1 * c1**2 + m2 * (l1**2 + c2**2 + 2.0 * l1 * c2 * math.cos(q2))
        g2 = m2 * c2 * G * math.sin(q1 + q2)
        h1 = -b * (2.0 * v1 * v2 + v2**2) + (m1 * c1 + m2 * l1) * G * math.sin(q1) + g2
        return [v1, v2, *np.linalg.solve([[M11, M12], [M12, I2 + m2 * c2**2]], [-h1, -b * v1**2 - g2])]

    M, m, l, I = 2.0, 0.5, 0.6, 0.01
    cart = chain(
        (lw.joints.Prismatic((1, 0, 0)), (0, 0, 0), M, (0, 0, 0), (0.1,) * 3),
        (back, (0, 0, 0), m, (0, 0, -l), (I,) * 3),
    )

    def of_cart(t, x):
        _, angle, _, rate = x
        c, s = math.cos(angle), math.sin(angle)
        return [*x[2:], *np.linalg.solve([[M + m, m * l * c], [m * l * c, I + m * l * l]],
                                         [m * l * rate**2 * s, -m * G * l * s])]  # fmt: skip

    for robot, equations in ((double, of_double), (cart, of_cart)):
        start = np.array([0.4, 1.2, 0.3, -0.5])
        result = robot.simulate(start[:2], start[2:], duration=2.0, dt=0.05, method="dormand_prince", record_every=40)
        expected = integrate(equations, (0.0, 2.0), start, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
        assert np.abs([*result.q[-1], *result.v[-1]] - expected).max() < 1e-6


def test_simulated_tops_precess_and_cylinders_nutate_as_in_closed_form():
    """A top of spin ω₃ precesses where (I₁ cos θ) Ω² − I₃ ω₃ Ω + m g l = 0; a cylinder turns in vacuum."""
    m, l, about, I3 = 0.5, 0.1, 0.002, 0.001
    I1 = about + m * l * l  # about the tip
    top = chain((lw.joints.Spherical(), (0, 0, 0), m, (0, 0, l), (about, about, I3)))
    theta, spin = 0.5, 150.0
    a, b, c = I1 * math.cos(theta), -I3 * spin, m * G * l
    slow = (-b - math.sqrt(b * b - 4.0 * a * c)) / (2.0 * a)
    q = [math.cos(0.5 * theta), 0.0, math.sin(0.5 * theta), 0.0]
    # in the body's axes: Ω about the vertical is (−Ω sin θ, 0, Ω cos θ), and the spin makes it ω₃ about its own
    v = [-slow * math.sin(theta), 0.0, spin]
    duration = 0.25 * 2.0 * math.pi / slow
    result = top.simulate(q, v, duration=duration, dt=duration / 1000, method="rk4", record_every=250)
    axis = top.pose(result.q, "link0")[:, :3, 2]
    angle = slow * result.t
    axes = np.stack([math.sin(theta) * np.cos(angle), math.sin(theta) * np.sin(angle), np.full(5, math.cos(theta))], -1)
    assert np.abs(axis - axes).max() < 1e-6

    body = lw.Robot.build("can", lw.Link("can", lw.shapes.Cylinder(0.05, 0.3), mass=1.0), floating_base=True)
    can = body.with_parameters({"gravity": [0.0, 0.0, 0.0]})
    I1, I3 = (1.0 / 12.0) * (3.0 * 0.05**2 + 0.3**2), 0.5 * 0.05**2
    w = np.array([1.0, 0.0, 40.0])
    L = np.array([I1, I1, I3]) * w
    how = {"method": "rk4", "record_every": 500, "record": ["kinetic_energy"]}
    result = can.simulate(can.neutral(), [*w, 0, 0, 0], duration=1.0, dt=5e-4, **how)
    energy = result.records["kinetic_energy"]
    assert np.ptp(energy) < 1e-9 * energy[0]
    axis = can.pose(result.q, "can")[:, :3, 2]
    n, start, turned = L / np.linalg.norm(L), np.array([0.0, 0.0, 1.0]), np.linalg.norm(L) / I1 * result.t
    across = start - n * (n @ start)
    axes = n * (n @ start) + np.cos(turned)[:, None] * across + np.sin(turned)[:, None] * np.cross(n, across)
    assert np.abs(axis - axes).max() < 1e-8


@pytest.mark.slow(every=9)
def test_energy_errors_of_simulation_methods_have_their_order():
    """Runge–Kutta has fourth order; symplectic errors are bounded over 10⁵ steps; damping adds none."""
    robot = pendulum()
    how = {"record": ["kinetic_energy", "potential_energy"]}

    def energies(run):
        return run.records["kinetic_energy"] + run.records["potential_energy"]

    left = []
    for step in (0.01, 0.005):
        total = energies(robot.simulate([2.0], duration=0.8, dt=step, method="rk4", **how))
        left.append(np.abs(total - total[0]).max())
    assert 16.0 * 0.8 < left[0] / left[1] < 16.0 * 1.2, left
    total = energies(robot.simulate([2.0], duration=1000.0, dt=0.01, record_every=250, **how))
    early, late = total[: len(total) // 2], total[len(total) // 2 :]
    assert np.ptp(total) < 0.05 * 1.3 * G * 0.7 and abs(early.max() - late.max()) < 1e-3 * np.ptp(total) + 1e-6
    arm = lw.load("arm7").with_joint_dynamics(damping=0.5, friction=0.0, stiffness=0.0)
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (8, 7))
    for method in ("semi_implicit_euler", "rk4"):
        run = arm.simulate(q, 0.2 * q, duration=1.0, method=method, record_every=20, joint_limit_mode="ignored", **how)
        total = energies(run)
        assert (np.diff(total, axis=-1) < 1e-3 * np.abs(total).max()).all(), method


@pytest.mark.slow(every=5)
def test_feed_forward_torque_reduces_the_tracking_error_of_pd_control():
    """PD of 200 and 20 at 1 kHz follows 0.5 Hz: below 0.5° with inverse dynamics, about 7° without."""
    lengths, masses, axes = (0.3, 0.35, 0.3), (4.0, 5.0, 4.0), ((0, 0, 1), (0, 1, 0), (0, 1, 0))
    parts, parent = [], "world"
    for k, (length, mass, axis) in enumerate(zip(lengths, masses, axes, strict=True)):
        hinge = {
            "parent": parent,
            "child": f"link{k}",
            "placement": (0, 0, lengths[k - 1] if k else 0),
            "armature": 0.1,
        }
        parts += [
            lw.Link(f"link{k}", lw.shapes.Box((0.08, 0.08, length)).at((0, 0, 0.5 * length)), mass=mass),
            lw.Joint.of(lw.joints.Revolute(axis), name=f"joint{k}", **hinge),
        ]
        parent = f"link{k}"
    arm = lw.Robot.build("arm", *parts)
    middle, phase, w = np.array([0.0, 1.2, 0.4]), np.array([0.0, 1.0, 2.0]), math.pi

    def reference(t):
        return (
            middle + 0.5 * np.sin(w * t + phase),
            0.5 * w * np.cos(w * t + phase),
            -0.5 * w * w * np.sin(w * t + phase),
        )

    def controller(t, q, v, feed):
        q_d, v_d, a_d = reference(t)
        return 200.0 * (q_d - q) + 20.0 * (v_d - v) + feed * arm.inverse_dynamics(q_d, v_d, a_d, passive=True)

    q, v, _ = reference(0.0)
    start = np.stack([q, q]), np.stack([v, v])
    result = arm.simulate(
        *start, controller=controller, duration=4.0, dt=1e-3, constants={"feed": np.array([1.0, 0.0])}
    )
    left = np.degrees(result.q - reference(result.t[:, None])[0])
    fed, alone = np.sqrt((left**2).mean(axis=1))
    assert fed.max() < 0.5 and 5.0 < alone.max() < 9.0, (fed, alone)


@pytest.mark.slow(every=9)
def test_long_time_steps_of_orbits_and_fast_wheels_cause_no_warning():
    """A craft of 100 kg in orbit and pushed in free space, at 60 s a step, and fast wheels."""
    mu, radius, mass = 3.986e14, 7e6, 100.0
    craft = lw.Robot.build("craft", lw.Link("craft", lw.shapes.Box((1.0, 1.0, 1.0)), mass=mass), floating_base=True)
    craft = craft.with_gravity([0.0, 0.0, 0.0])

    def controller(t, q, v, pull, push):
        x, y, z = (q[k] for k in (4, 5, 6))
        c = -mass * pull / (x * x + y * y + z * z) ** 1.5
        return np.stack([0.0 * c, 0.0 * c, 0.0 * c, c * x + push, c * y, c * z])

    q, v = np.tile(craft.neutral(), (3, 1)), np.zeros((3, 6))
    q[:, 4], v[0, 4] = [radius, 1.0, 1.0], math.sqrt(mu / radius)
    long = {"duration": 600.0, "dt": 60.0, "method": "dormand_prince"}
    forces = {"pull": np.array([mu, 0.0, 0.0]), "push": np.array([0.0, 10.0, 1e20])}
    run = craft.simulate(q, v, controller=controller, constants=forces, **long)
    assert run.status.tolist() == ["completed", "completed", "controller_failed"]
    assert np.abs(np.linalg.norm(run.q[0, :, 4:], axis=1) / radius - 1.0).max() < 5e-3  # forces are held for a step
    assert run.q[1, -1, 4] == pytest.approx(1.0 + 0.5 * 10.0 / mass * 600.0**2, rel=1e-9)
    wheel = chain((lw.joints.Revolute((0, 0, 1)), None, 4.0, (0.0, 0.0, 0.0), (0.02, 0.02, 0.02)))
    spun = wheel.simulate([0.0], [0.0], controller=lambda t, q, v: np.array([0.02]), **long)
    assert spun.success and spun.v[-1, 0] == pytest.approx(600.0, rel=1e-9)
    fast = lw.load("double_pendulum").simulate([0.0, 0.0], [1e6, 0.0], duration=0.5, dt=0.1, method="implicit_euler")
    assert fast.success and fast.v[-1, 0] == pytest.approx(1e6, rel=1e-5)
