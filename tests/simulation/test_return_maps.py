"""Return map of a passive walker: against the textbook's equations, integrated by SciPy and differentiated by steps."""

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation import Event

integrate = pytest.importorskip("scipy.integrate")
MASS, HIP, BELOW, ABOVE, LENGTH, SLOPE, G = 4.0, 9.0, 0.55, 0.4, 0.95, 0.05, 9.81


def walker() -> tuple[lw.Robot, lw.Robot]:
    """Return a compass gait on its stance foot, and with free feet and the constraint of the landing foot."""
    hinge, point = lw.joints.Revolute((0, 1, 0)), np.zeros((3, 3))
    x, z = lw.joints.Prismatic((1, 0, 0)), lw.joints.Prismatic((0, 0, 1))
    free = lw.Robot.build(
        "walker",
        lw.Link("cart", mass=0.0),
        lw.Link("foot", mass=0.0),
        lw.Link("hip", mass=HIP, inertia=point),
        lw.Link("stance", mass=MASS, com=(0, 0, BELOW), inertia=point),
        lw.Link("swing", mass=MASS, com=(0, 0, -ABOVE), inertia=point, frames={"swing_foot": (0, 0, -LENGTH)}),
        lw.Joint.of(x, name="x", parent="world", child="cart"),
        lw.Joint.of(z, name="z", parent="cart", child="foot"),
        lw.Joint.of(hinge, name="stance_angle", parent="foot", child="stance"),
        lw.Joint.of(lw.joints.Fixed(), name="weld", parent="stance", child="hip", placement=(0, 0, LENGTH)),
        lw.Joint.of(hinge, name="hip_angle", parent="hip", child="swing"),
        gravity=G * np.array([np.sin(SLOPE), 0.0, -np.cos(SLOPE)]),
    )
    constrained = free.with_constraints(lw.constraints.Ball("swing_foot"))
    return free.with_locked_joints({"x": 0.0, "z": 0.0}), constrained


def textbook_step(x: np.ndarray) -> np.ndarray:
    """Return the state after a step by the equations of Goswami, Thuilot and Espiau (1998), in absolute angles."""
    m, h, a, b, l = MASS, HIP, BELOW, ABOVE, LENGTH

    def rates(_t: float, s: np.ndarray) -> Any:
        swing, stance, swing_rate, stance_rate = s
        c, d = np.cos(stance - swing), np.sin(stance - swing)
        M = np.array([[m * b * b, -m * l * b * c], [-m * l * b * c, (h + m) * l * l + m * a * a]])
        N = m * l * b * d * np.array([stance_rate**2, -(swing_rate**2)])
        weight = G * np.array([m * b * np.sin(swing + SLOPE), -(h * l + m * a + m * l) * np.sin(stance + SLOPE)])
        return [swing_rate, stance_rate, *np.linalg.solve(M, -N - weight)]

    def strike(_t: float, s: np.ndarray) -> float:
        return float(min(s[1], s[0] + s[1]))

    strike.terminal, strike.direction = True, 1.0  # type: ignore[attr-defined]
    start = [-x[0], x[0], x[1] + x[2], x[1]]
    options = {"rtol": 1e-11, "atol": 1e-13, "events": strike, "method": "DOP853"}
    swing, stance, *before = integrate.solve_ivp(rates, (0.0, 2.0), start, **options).y[:, -1]
    c = np.cos(stance - swing)
    Q_before = np.array([[-m * a * b, -m * a * b + (h * l * l + 2.0 * m * a * l) * c], [0.0, -m * a * b]])
    Q_after = np.array(
        [
            [m * b * b - m * b * l * c, m * l * l - m * b * l * c + m * a * a + h * l * l],
            [m * b * b, -m * b * l * c],
        ]
    )
    swing_rate, stance_rate = np.linalg.solve(Q_after, Q_before @ before)
    return np.array([swing, stance_rate, swing_rate - stance_rate])


@pytest.mark.slow(every=5)
def test_fixed_point_and_multipliers_of_a_passive_gait_are_those_of_the_textbook() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    stepping, landing = walker()
    strike = Event("strike", lambda t, q, v: np.minimum(q[0], 2.0 * q[0] + q[1]), direction=1, stop=True)

    def step(x: Any) -> Any:
        state = [x[0], -2.0 * x[0]], [x[1], x[2]]
        run = stepping.simulate(*state, duration=1.5, dt=0.005, method="rk4", events=[strike])
        q, v = run.q[-1], run.v[-1]
        after = landing.constrained_impact([0.0, 0.0, q[0], q[1]], [0.0, 0.0, v[0], v[1]])[0]
        return lw.expr.array([q[0] + q[1], after[2] + after[3], -after[3]])

    return_map = lw.compile(step, x=3)
    jacobian = return_map.jacobian()
    cycle = optimize.root(lambda x: return_map(x) - x, [-0.27, 1.1, -0.7], jac=lambda x: jacobian(x) - np.eye(3))
    assert cycle.success and np.abs(textbook_step(cycle.x) - cycle.x).max() < 1e-7
    h = 1e-5
    differences = [(textbook_step(cycle.x + d) - textbook_step(cycle.x - d)) / (2.0 * h) for d in h * np.eye(3)]
    expected = np.stack(differences, axis=1)
    assert np.abs(jacobian(cycle.x) - expected).max() < 1e-4 * np.abs(expected).max()
    sizes = [np.sort(np.abs(np.linalg.eigvals(x))) for x in (jacobian(cycle.x), expected)]
    assert np.abs(sizes[0] - sizes[1]).max() < 1e-4 and 0.1 < sizes[0][-1] < 1.0
    disturbed = cycle.x + np.array([0.002, 0.01, -0.01])
    for _ in range(25):
        disturbed = return_map(disturbed)
    assert np.abs(disturbed - cycle.x).max() < 1e-3 * 0.01
