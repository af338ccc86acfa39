"""Springs over centre: equilibria, stability and snap-through of von Mises' truss."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.force_elements import SpringDamper

WIDTH, HEIGHT, STIFFNESS, MASS = 0.3, 0.1, 2000.0, 1.5
LENGTH = np.hypot(WIDTH, HEIGHT)
CRITICAL = 2 * STIFFNESS * LENGTH * (1 - (WIDTH / LENGTH) ** (2 / 3)) ** 1.5  # [N] largest load before it snaps through


def truss(damping: float = 0.0) -> lw.Robot:
    """A mass on a vertical slide between two springs, which are at rest at its height."""
    slide = lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="height", parent="world", child="mass")
    body = lw.Link("mass", mass=MASS, inertia=(0.01, 0.01, 0.01))
    robot = lw.Robot.build("truss", body, slide, gravity=(0, 0, 0))
    robot = robot.with_frame("left", "world", (-WIDTH, 0, 0)).with_frame("right", "world", (WIDTH, 0, 0))
    springs = [
        SpringDamper(side, "mass", stiffness=STIFFNESS, damping=damping, rest_length=LENGTH, name=f"{side} spring")
        for side in ("left", "right")
    ]
    return robot.with_force_elements(*springs)


@pytest.mark.slow(every=5)
def test_von_mises_truss_has_the_known_equilibria_and_stability() -> None:
    """The load of a height y is 2 k y (l₀/l − 1), which is largest at l = (l₀ b²)^⅓ (von Mises 1923)."""
    robot = truss()
    for share in (-0.5, 0.0, 0.5, 0.999, 1.001):
        load = share * CRITICAL
        equilibrium_result = robot.equilibrium([HEIGHT], tau=[-load])
        y = float(equilibrium_result.q[0])
        length = np.hypot(WIDTH, y)
        assert equilibrium_result.success and equilibrium_result.stability == "stable"
        np.testing.assert_allclose(2 * STIFFNESS * y * (LENGTH / length - 1), load, rtol=0, atol=1e-9)
        assert (y > 0) == (share < 1), "it snaps through at the critical load"
        tangent = 2 * STIFFNESS * (1 - LENGTH * WIDTH**2 / length**3) / MASS
        np.testing.assert_allclose(equilibrium_result.stiffness, [tangent], rtol=1e-9)
    flat = robot.equilibrium([0.0])  # the springs push against each other
    assert flat.stability == "unstable" and abs(flat.q[0]) < 1e-12
    beside = robot.equilibrium([0.01], descend=False)
    assert beside.stability == "unstable" and abs(beside.q[0]) < 1e-9
    assert robot.equilibrium([-0.01]).q[0] == pytest.approx(-HEIGHT, abs=1e-9)


@pytest.mark.slow(every=5)
def test_von_mises_truss_snaps_through_at_the_critical_load() -> None:
    """Under a load that grows slowly, the mass stays up to the critical load and then falls to the other side."""
    robot = truss(damping=60.0)
    for share, below in ((0.99, False), (1.01, True)):
        run = robot.simulate(
            [HEIGHT],
            [0.0],
            duration=6.0,
            dt=1e-3,
            controller=lambda t, q, v, s=share: -s * CRITICAL * np.fmin(t / 3.0, 1.0),
        )
        equilibrium = robot.equilibrium(run.q[-1], tau=[-share * CRITICAL])
        assert (run.q[-1, 0] < 0) == below
        np.testing.assert_allclose(run.q[-1], equilibrium.q, rtol=0, atol=1e-3)
