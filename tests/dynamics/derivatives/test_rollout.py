"""Sensitivities of whole motions: kernels of loops of steps, against products of linear systems and differences."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import scan
from oracles.comparison import assert_close

H, STEPS = 0.02, 12


def motion_of(robot):
    """The last state of semi-implicit Euler steps, as a kernel of the first one, the joint forces and gravity."""

    def move(q, v, controls, gravity):
        def step(state, tau):
            q, v = state
            v = v + H * robot.forward_dynamics(q, v, tau, gravity=gravity)
            return (robot.integrate(q, H * v), v), None

        (q, v), _ = scan(step, (q, v), controls)
        return {"q": q, "v": v}

    return lw.compile(move, q=robot.configuration_space, v=(robot.nv,), controls=(STEPS, robot.nv), gravity=(3,))


@pytest.mark.slow(every=5)
def test_derivatives_of_a_rollout_equal_products_of_linearized_steps():
    """A floating body with two joints: jvp in random directions against linear systems, vjp against jvp."""
    robot = lw.load("double_pendulum", floating_base=True)
    move, n = motion_of(robot), robot.nv
    rng = np.random.default_rng(0)
    q, v = robot.random_configuration(rng), rng.normal(size=n)
    controls, gravity = rng.normal(size=(STEPS, n)), np.array([0.0, 0.0, -9.81])
    dx, du, dg = rng.normal(size=2 * n), rng.normal(size=(STEPS, n)), rng.normal(size=3)
    last = {"q": robot.configuration_space, "v": None}

    at, change = (q, v), dx
    for tau, d_tau in zip(controls, du, strict=True):
        A, B = robot.linearize(*at, tau, dt=H)
        change = A @ change + B @ d_tau
        faster = at[1] + H * robot.forward_dynamics(*at, tau)
        at = robot.integrate(at[0], H * faster), faster
    tangent = move.jvp(of=last)(q, v, controls, gravity, dx[:n], dx[n:], du, np.zeros(3))
    assert_close(np.concatenate(tangent), change, 1e-11)

    along = move.jvp(of=last)(q, v, controls, gravity, dx[:n], dx[n:], du, dg)
    e = 1e-6
    ends = [move(robot.integrate(q, s * dx[:n]), v + s * dx[n:], controls + s * du, gravity + s * dg) for s in (e, -e)]
    middle = move(q, v, controls, gravity)
    differences = [robot.difference(middle.q, end.q) for end in ends], [end.v for end in ends]
    expected = np.concatenate([(ahead - behind) / (2.0 * e) for ahead, behind in differences])
    assert_close(np.concatenate(along), expected, 1e-6)

    w = rng.normal(size=2 * n)
    gradient = move.vjp(of=last)(q, v, controls, gravity, w[:n], w[n:])
    total = gradient[0] @ dx[:n] + gradient[1] @ dx[n:] + np.sum(gradient[2] * du) + gradient[3] @ dg
    assert_close(total, w @ np.concatenate(along), 1e-11)


def test_gradient_of_a_rollout_needs_at_most_four_times_the_operations_of_the_rollout():
    """The cost of reverse mode does not depend on the number of controls."""
    move = motion_of(lw.load("arm7"))
    assert move.vjp().arithmetic <= 4.0 * move.arithmetic
