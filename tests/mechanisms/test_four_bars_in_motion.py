"""Four-bars side by side through their flat positions, in which one degree of freedom becomes N + 1.

As long as rods stay side by side they are one pendulum, ((N+1)/3 + N) θ̈ = −((N+1)/2 + N) g cos θ.

At an angle with the sine s the rows of the loops differ by s, so the condition number of G M⁻¹ Gᵀ is some N/s².  With
the unit roundoff u a step of h from there adds the velocity error h a N u/s², for accelerations up to a = θ̇².
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from helpers.fourbars import fourbars, parallel, pendulum_acceleration

H, SECONDS = 1e-3, 20.0
TRUNCATION = 1e-9  # [m] error of the Runge-Kutta method for the pendulum, at most


def pendulum(count, times):
    """Return θ and θ̇ of rods that are released upright, with tips at 1 m/s."""

    def rates(_, state):
        return [state[1], pendulum_acceleration(count, state[0])]

    result = solve_ivp(rates, (0.0, SECONDS), [np.pi / 2, -1.0], "DOP853", times, rtol=1e-13, atol=1e-13)
    return result.y


def rounding(count, angles, rates):
    """Return the position error [m] at each step by rounding in the steps before it."""
    u = 0.5 * np.finfo(float).eps
    velocities = np.cumsum(H * rates**2 * count * u / np.sin(angles) ** 2)
    return H * np.cumsum(velocities)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 40])
def test_many_coupled_four_bars_swing_as_one_pendulum_for_twenty_seconds(count):
    robot = fourbars(count)
    accelerate = robot.compile("forward_dynamics")
    assembled, allowed = robot.compile("project_configuration"), robot.compile("project_velocity")
    q, v = parallel(robot, np.pi / 2, rate=-1.0)
    tau, turns, angles = np.zeros(robot.nv), np.zeros(robot.nv), []
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    for _ in range(round(SECONDS / H)):
        k1 = accelerate(q, v, tau)
        v2 = v + 0.5 * H * k1
        k2 = accelerate(q + 0.5 * H * v, v2, tau)
        v3 = v + 0.5 * H * k2
        k3 = accelerate(q + 0.5 * H * v2, v3, tau)
        v4 = v + H * k3
        k4 = accelerate(q + H * v3, v4, tau)
        q = assembled(q + H / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4))[0]
        v = allowed(q, v + H / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
        whole = np.round(q / (2.0 * np.pi))
        q, turns = q - 2.0 * np.pi * whole, turns + whole
        angles.append(-(q[0] + 2.0 * np.pi * turns[0]))
    expected, rates = pendulum(count, H * np.arange(1, len(angles) + 1))
    position = np.abs(2.0 * np.sin(0.5 * (np.array(angles) - expected)))  # of rods' tips [m]
    assert abs(expected[-1] - np.pi / 2) > 20.0  # through many flat positions
    assert (position < TRUNCATION + rounding(count, expected, rates)).all()
    assert abs(robot.kinetic_energy(q, v) + robot.potential_energy(q) - energy) < 1e-6 * energy
    signs, _ = parallel(robot, 1.0)
    assert np.ptp(((q + np.pi) % (2.0 * np.pi) - np.pi) * signs) < 1e-9  # rods are parallel
