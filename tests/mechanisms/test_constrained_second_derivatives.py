"""Second derivatives of the accelerations of mechanisms, beside differences of accelerations and first derivatives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import linkage
from helpers.overconstrained import bennett
from invariants.cases import Functions

STEP = 1e-5
PASSIVE = {"passive": True}


def _cases() -> Iterator[lw.Robot]:
    robot = linkage().with_joint_dynamics(damping={"crank": 0.2, "knee": 0.1}, friction={"rocker": 0.05})
    loop = robot.constraints[0]
    yield robot.without_constraints(loop.name).with_loop("pin", "end", "tip", loop.joint, damping=0.1, stiffness=0.5)
    yield lw.load("bicycle")  # constraints of velocities
    yield lw.load("delta")


@pytest.mark.slow(every=9)
def test_second_derivatives_of_constrained_dynamics_equal_differences_of_first_derivatives(drawn):
    """All directions, without redundant rows; the weighted Hessian is the sum of those of accelerations."""
    rng = np.random.default_rng(3)
    for robot in drawn(_cases()):
        f, n = Functions(robot.tree), robot.nv
        q, v = robot.project(robot.assemble().q, rng.normal(size=n))
        d, dv, dtau, tau, weights = rng.normal(size=(5, n))
        qq, qv, vv, qtau = f(("forward_dynamics_hessian", PASSIVE), q, v, tau, weights)

        def first(s, f=f, robot=robot, q=q, v=v, tau=tau, weights=weights, d=d, dv=dv, dtau=dtau):
            state = robot.integrate(q, s * d), v + s * dv, tau + s * dtau
            return [weights @ x for x in f(("forward_dynamics_derivatives", PASSIVE), *state)[:3]]

        by_q, by_v, by_tau = ((x - y) / (2.0 * STEP) for x, y in zip(first(STEP), first(-STEP), strict=True))
        expected = d @ (qq @ d + qv @ dv + qtau @ dtau)
        assert abs(by_q @ d - expected) < 1e-5 * (1.0 + abs(expected)), robot.name
        np.testing.assert_allclose(by_v, d @ qv + vv @ dv, rtol=0, atol=1e-5 * (1.0 + abs(by_v).max()))
        np.testing.assert_allclose(by_tau, d @ qtau, rtol=0, atol=1e-5 * (1.0 + abs(by_tau).max()))
        if n < 9:
            each = f(("forward_dynamics_second_derivatives", PASSIVE), q, v, tau)
            for of_all, part in zip(each, (qq, qv, vv, qtau), strict=True):
                np.testing.assert_allclose(np.tensordot(weights, of_all, 1), part, rtol=0, atol=1e-9)


def test_second_derivatives_with_redundant_constraints_predict_motions_along_the_mechanism():
    """Along a curve with velocities that the constraints allow, by second differences of the accelerations."""
    robot, rng, h = bennett(), np.random.default_rng(3), 1e-4
    f = Functions(robot.tree)
    q, v = robot.project(robot.assemble().q, rng.normal(size=robot.nv))
    tau, weights = rng.normal(size=(2, robot.nv))
    curve = [robot.project(robot.integrate(q, s * v), v) for s in (-h, 0.0, h)]
    values = [weights @ f("forward_dynamics", *at, tau) for at in curve]
    moves = [np.concatenate([robot.difference(q, at), velocity]) for at, velocity in curve]
    rate, bend = (moves[2] - moves[0]) / (2.0 * h), (moves[0] - 2.0 * moves[1] + moves[2]) / h**2
    qq, qv, vv, _ = f("forward_dynamics_hessian", q, v, tau, weights)
    by_q, by_v, _ = f("forward_dynamics_derivatives", q, v, tau)
    result = rate @ np.block([[qq, qv], [qv.T, vv]]) @ rate + weights @ np.hstack([by_q, by_v]) @ bend
    assert result == pytest.approx((values[0] - 2.0 * values[1] + values[2]) / h**2, rel=1e-5)
