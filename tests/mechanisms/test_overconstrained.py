"""Overconstrained mechanisms that move: Bennett's, Bricard's, and flat ones closed in space."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import rod
from helpers.overconstrained import bennett, bennett_angles
from invariants.cases import Functions
from linkwork.spatial import Pose, Rotation, Vec3
from mechanisms.mechanisms import Mechanism

Z = Vec3(0.0, 0.0, 1.0)
HINGE = lw.joints.Revolute(Z)


def along(length: float, twist: float) -> np.ndarray:
    """Along x, and turned about it: from a hinge to the next."""
    pose = np.eye(4)
    c, s = math.cos(twist), math.sin(twist)
    pose[:3, 3] = length, 0.0, 0.0
    pose[1:3, 1:3] = [[c, -s], [s, c]]
    return pose


def ring_of_hinges(sides: list[tuple[float, float]]) -> lw.Robot:
    """Hinges about z, each a length and a twist after the one before, the last side being of the ground."""
    count = len(sides) - 1
    parts: list[object] = []
    for k in range(count):
        link = {"mass": 1.0 + 0.3 * k, "com": (0.4, 0.1 * k, 0.05), "inertia": (0.02, 0.05, 0.06)}
        position = np.eye(4) if k == 0 else along(*sides[k - 1])
        parent = "world" if k == 0 else f"link{k - 1}"
        parts += [lw.Link(f"link{k}", **link)]
        parts += [lw.Joint.of(HINGE, name=f"hinge{k}", parent=parent, child=f"link{k}", placement=position)]
    robot = lw.Robot.build("ring of hinges", *parts)
    robot = robot.with_frame("end", f"link{count - 1}", along(*sides[-2]))
    robot = robot.with_frame("ground", "world", np.linalg.inv(along(*sides[-1])))
    return robot.with_loop("pin", "end", "ground", HINGE)


def reduced(m: Mechanism, n: np.ndarray, n_rate: np.ndarray, rate: float, tau: np.ndarray) -> np.ndarray:
    """Accelerations of a mechanism with configurations q(y), n = dq/dy and n_rate = d²q/dy²: Lagrange's equation."""
    v = n * rate
    left = tau - m.h(v) - m.M @ n_rate * rate**2
    return n * (n @ left) / (n @ m.M @ n) + n_rate * rate**2


def test_bennetts_linkage_moves_as_its_closed_form() -> None:
    """Two of five rows count; angles θ₁ + θ₃ = θ₂ + θ₄ = 2π and tan(θ₁/2) tan(θ₂/2) = sin((β+α)/2) / sin((β−α)/2)."""
    a, alpha, beta = 1.0, 0.6, 1.1
    b = a * math.sin(beta) / math.sin(alpha)
    robot = ring_of_hinges([(a, alpha), (b, beta), (a, alpha), (b, beta)])
    k = math.sin((beta + alpha) / 2) / math.sin((beta - alpha) / 2)
    tau = np.array([0.4, -1.0, 0.7])
    for first in np.linspace(0.3, 6.0, 9).tolist():
        t = 0.5 * first
        second = 2.0 * math.atan2(k * math.cos(t), math.sin(t))
        m = Mechanism(robot.tree, [first, second, 2.0 * math.pi - first])
        assert np.max(np.abs(m.error)) < 1e-12
        assert robot.loops["pin"].configuration_from_pose(m.q) == pytest.approx(
            math.remainder(-second, 2.0 * math.pi), abs=1e-12
        )
        sizes = np.linalg.svd(m.G, compute_uv=False)
        assert sizes[1] > 1e-2 and sizes[2] < 1e-14
        below = math.sin(t) ** 2 + (k * math.cos(t)) ** 2
        n = np.array([1.0, -k / below, -1.0])
        n_rate = np.array([0.0, k * math.sin(t) * math.cos(t) * (1.0 - k * k) / below**2, 0.0])
        assert np.max(np.abs(m.G @ n)) < 1e-13
        result, _ = m.accelerations(1.7 * n, tau)
        expected = reduced(m, n, n_rate, 1.7, tau)
        assert np.max(np.abs(result - expected)) < 1e-11 * max(1.0, float(np.max(np.abs(expected))))


def test_derivatives_of_bennetts_linkage_do_not_amplify_rounding() -> None:
    """States that differ by rounding have equal derivatives; along the motion they equal differences."""
    robot, tau = bennett(), np.array([1.0, -0.5, 0.3])
    f, theta, h = Functions(robot.tree), 1.1, 1e-4

    def of(name: str, angles: np.ndarray) -> list[np.ndarray]:
        q, unit_rates = np.stack([bennett_angles(x) for x in angles]), np.ones((len(angles), 1))
        return list(f(name, q, 0.0 * q, tau * unit_rates))

    moved = bennett_angles(theta + h) - bennett_angles(theta - h)
    for name in ("constrained_forward_dynamics", "constrained_inverse_dynamics"):
        derivatives = of(f"{name}_derivatives", theta + 3e-15 * np.arange(4))
        for k, x in enumerate(derivatives):
            assert np.abs(x - x[0]).max() < 1e-8 * (1.0 + np.abs(x).max()), (name, k)
        before, after = of(name, theta + h * np.array([-1.0, 1.0]))[0]
        np.testing.assert_allclose(derivatives[0][0] @ moved, after - before, rtol=0, atol=1e-9)


def bricard() -> tuple[lw.Robot, np.ndarray]:
    """Six sides of 1 m, twisted by right angles to one side and the other; and angles of it, three of 1 rad."""
    quarter = 0.5 * math.pi
    robot = ring_of_hinges([(1.0, quarter if k % 2 == 0 else -quarter) for k in range(6)])
    c = math.cos(1.0)
    angle = math.acos(-c / (1.0 + c))
    return robot, np.array([1.0, angle, 1.0, angle, 1.0])


@pytest.mark.slow(every=9)
def test_bricards_linkage_conserves_energy_while_it_swings() -> None:
    """One redundant row of five; ten seconds of swinging under gravity, by Runge and Kutta's method with projection."""
    robot, start = bricard()
    sign = next(s for s in ((1, 1), (1, -1)) if np.max(np.abs(robot.constraint_error(start * np.resize(s, 5)))) < 1e-12)
    q, v, tau = start * np.resize(sign, 5), np.zeros(5), np.zeros(5)
    kernel = robot.compile(["constrained_forward_dynamics"])

    def rates(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return v, kernel(q, v, tau)[0]

    def energy(q: np.ndarray, v: np.ndarray) -> float:
        return float(robot.kinetic_energy(q, v) + robot.potential_energy(q))

    h, before = 5e-4, energy(q, v)
    largest, kinetic = 0.0, 0.0
    for step in range(20000):
        k1 = rates(q, v)
        k2 = rates(q + 0.5 * h * k1[0], v + 0.5 * h * k1[1])
        k3 = rates(q + 0.5 * h * k2[0], v + 0.5 * h * k2[1])
        k4 = rates(q + h * k3[0], v + h * k3[1])
        q, v = (x + h / 6.0 * (a + 2.0 * b + 2.0 * c + d) for x, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True))
        q = q - np.linalg.pinv(robot.constraint_jacobian(q), rcond=1e-7) @ robot.constraint_error(q)
        G = robot.constraint_jacobian(q)
        v = v - np.linalg.pinv(G, rcond=1e-7) @ (G @ v)
        if step % 40 == 39:
            kinetic = max(kinetic, float(robot.kinetic_energy(q, v)))
            sizes = np.linalg.svd(G, compute_uv=False)
            assert sizes[3] > 1e-3 and sizes[4] < 1e-9
            largest = max(largest, abs(energy(q, v) - before))
    assert kinetic > 10.0
    assert largest < 1e-9 * kinetic
    assert np.max(np.abs(robot.constraint_error(q))) < 1e-12


def test_planar_four_bar_of_spatial_hinges_has_three_redundant_constraints() -> None:
    """A parallelogram in an inclined plane, its hinges along the plane's normal: three rows of five are redundant."""
    lean = Pose(Rotation.about(Vec3(*(np.array([1.0, -2.0, 0.5]) / math.sqrt(5.25)).tolist()), 0.9), Vec3.zero())
    R = np.array([list(row) for row in (lean.rotation.x, lean.rotation.y, lean.rotation.z)], dtype=float)
    placed, y = np.eye(4), lw.joints.Revolute((0, 1, 0))
    placed[:3, :3] = R
    tip = lw.pose((1.0, 0.0, 0.0))
    robot = lw.Robot.build(
        "leaning",
        *(rod("left"), rod("right"), rod("coupler")),
        lw.Joint.of(y, name="A", parent="world", child="left", placement=placed),
        lw.Joint.of(y, name="B", parent="world", child="right", placement=placed @ tip),
        lw.Joint.of(y, name="C", parent="left", child="coupler", placement=tip),
    )
    robot = robot.with_frame("end", "coupler", tip).with_frame("tip", "right", tip).with_loop("D", "end", "tip", y)
    g = R.T @ np.array([0.0, 0.0, -9.81])
    n = np.array([1.0 if joint.name == "C" else -1.0 for joint in robot.joints])
    for angle in (-2.0, 0.3, 1.4):
        m = Mechanism(robot.tree, (n * angle).tolist())
        sizes = np.linalg.svd(m.G, compute_uv=False)
        assert np.max(np.abs(m.error)) < 1e-14 and sizes[1] > 0.1 and sizes[2] < 1e-14
        rate = 0.8
        result, forces = m.accelerations(n * rate, np.zeros(3))
        expected = 2.0 * (g @ [-math.sin(angle), 0.0, math.cos(angle)]) / (2.0 / 3.0 + 1.0)
        assert np.max(np.abs(result - n * expected)) < 1e-11
        assert np.isfinite(forces).all()
