"""Inverse dynamics of mechanisms: forces of chosen actuators, against dense least squares and forward dynamics."""

import pickle

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import fourbars, parallel
from helpers.mechanisms import differences, driven, moving_fourbars, standing


def dense(robot, q, v, a, actuated, weights):
    """τ and what is left, by the equations' pseudo-inverse."""
    G, r = robot.constraint_jacobian(q), robot.inverse_dynamics(q, v, a)
    S = np.eye(robot.nv)[:, actuated] / np.sqrt(weights[actuated])
    G = G / np.maximum(1e-12, np.linalg.norm(G, axis=1, keepdims=True)) * (np.linalg.norm(G, axis=1)[:, None] > 1e-9)
    free = np.eye(robot.nv) - np.linalg.pinv(G, rcond=1e-10) @ G
    s = np.linalg.pinv(free @ S, rcond=1e-10) @ free @ r
    return S / np.sqrt(weights[actuated]) @ (s * np.sqrt(weights[actuated])), free @ (r - S @ s)


@pytest.mark.slow(every=9)
def test_constrained_inverse_dynamics_of_chosen_actuators_reproduces_the_motion():
    rng = np.random.default_rng(0)
    for (robot, q, v), actuators in (
        (moving_fourbars(), ["A0"]),
        (standing(), ["shoulder", "elbow"]),
        (standing(doubled=True), ["shoulder", "elbow"]),
        (driven(), None),
    ):
        indices = robot.v_index(actuators) if actuators else np.arange(robot.nv)
        tau = np.zeros(robot.nv)
        tau[indices] = rng.normal(size=len(indices)) * 3.0
        weights = rng.uniform(0.5, 2.0, robot.nv)
        more = {"time": 0.3, "gravity": (0.5, 1.0, -9.0)}
        a, _ = robot.constrained_forward_dynamics(q, v, tau, passive=True, **more)
        dynamics_result, forces, missing = robot.constrained_inverse_dynamics(
            q, v, a, actuators=actuators, weights=weights, passive=True, **more
        )
        size = max(1.0, np.abs(forces).max())
        np.testing.assert_allclose(missing, 0.0, rtol=0, atol=1e-10 * size)
        again, _ = robot.constrained_forward_dynamics(q, v, dynamics_result, passive=True, **more)
        np.testing.assert_allclose(again, a, rtol=0, atol=1e-10 * max(1.0, np.abs(a).max()))
        expected = robot.inverse_dynamics(q, v, a, passive=True, gravity=more["gravity"])
        pulled = robot.constraint_jacobian(q, time=0.3).T @ forces
        np.testing.assert_allclose(dynamics_result + pulled, expected, rtol=0, atol=1e-10 * size)
        if len(robot.constraints) == 2 and actuators == ["A0"]:  # the one actuator of one degree of freedom
            np.testing.assert_allclose(dynamics_result, tau, rtol=0, atol=1e-10)


def test_redundant_actuators_share_forces_of_least_norm():
    robot, q, v = moving_fourbars()
    a = robot.forward_dynamics(q, v, np.ones(5))
    for actuators, weights in ((None, np.ones(5)), (["A0", "B2", "A2"], np.array([1.0, 2.0, 3.0, 0.1, 5.0]))):
        indices = robot.v_index(actuators) if actuators else np.arange(5)
        dynamics_result, _, _ = robot.constrained_inverse_dynamics(q, v, a, actuators=actuators, weights=weights)
        expected, left = dense(robot, q, v, a, indices, weights)
        np.testing.assert_allclose(left, 0.0, rtol=0, atol=1e-11)
        np.testing.assert_allclose(dynamics_result, expected, rtol=0, atol=1e-11)
    zeros = np.zeros(5)
    static_torque, _, _ = robot.constrained_inverse_dynamics(q, zeros, zeros, actuators="A0")
    assert np.abs(robot.forward_dynamics(q, zeros, static_torque)).max() < 1e-11  # the static balance


def test_torques_at_the_three_hinges_of_a_four_bar_are_equal_if_all_are_actuated():
    robot = fourbars(1)
    q, v = parallel(robot, 0.8, rate=1.1)
    a = robot.forward_dynamics(q, v, np.array([2.0, 0.0, 0.0]))
    dynamics_result, *_ = robot.constrained_inverse_dynamics(q, v, a)
    np.testing.assert_allclose(dynamics_result, [2 / 3, -2 / 3, 2 / 3], rtol=0, atol=1e-13)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("case", ["one", "many"])
def test_derivatives_of_constrained_inverse_dynamics_equal_finite_differences(case):
    robot, q, v = moving_fourbars()
    n, a = robot.nv, robot.forward_dynamics(q, v, np.zeros(5))
    more = {"actuators": "A0"} if case == "one" else {"weights": np.array([1.0, 2.0, 3.0, 4.0, 5.0]), "passive": True}
    dynamics_result = robot.constrained_inverse_dynamics_derivatives(q, v, a, **more)
    kernel = robot.compile(
        (
            "constrained_inverse_dynamics",
            {key: True if key == "weights" else value for key, value in more.items()},
        )
    )
    weights = [more["weights"]] if case == "many" else []

    def inverse(dq=0.0, dv=0.0, da=0.0):
        return kernel(q + dq, v + dv, a + da, *weights)

    for k, change in enumerate(("dq", "dv", "da")):
        tau, forces, missing = differences(lambda x, change=change: inverse(**{change: x}), n)
        size = max(1.0, np.abs(forces).max())
        np.testing.assert_allclose(dynamics_result[k], tau, rtol=0, atol=1e-7 * size)
        np.testing.assert_allclose(dynamics_result[3 + k], forces, rtol=0, atol=1e-7 * size)
        np.testing.assert_allclose(missing, 0.0, rtol=0, atol=1e-7 * size)


@pytest.mark.slow(every=5)
def test_directional_derivatives_of_constrained_inverse_dynamics_of_a_delta_robot_equal_differences():
    """Its matrices are so large that their code is loops and calls."""
    robot, rng = lw.load("delta"), np.random.default_rng(2)
    q, (v, a) = robot.neutral(), rng.normal(size=(2, robot.nv))
    weights = rng.uniform(0.5, 2.0, robot.nv)
    dynamics_result = robot.constrained_inverse_dynamics_derivatives(q, v, a, weights=weights)
    for k, step in enumerate((1e-6, 1e-3, 1e-3)):
        w = rng.normal(size=robot.nv)

        def moved(x, k=k, w=w):
            state = [robot.integrate(q, x * w), v, a] if k == 0 else [q, v + (k == 1) * x * w, a + (k == 2) * x * w]
            return robot.constrained_inverse_dynamics(*state, weights=weights)

        tau, forces, _ = differences(lambda x, moved=moved: moved(x[0]), 1, step)
        size = max(1.0, np.abs(forces).max())
        np.testing.assert_allclose(dynamics_result[k] @ w, tau[:, 0], rtol=0, atol=1e-7 * size)
        np.testing.assert_allclose(dynamics_result[3 + k] @ w, forces[:, 0], rtol=0, atol=1e-7 * size)


def test_motions_that_the_actuators_of_a_mechanism_cannot_produce_are_refused_with_their_names():
    robot, q, v = moving_fourbars()
    a = robot.forward_dynamics(q, v, np.ones(5))
    with pytest.raises(
        lw.errors.UnderactuatedError, match=r"actuators none cannot induce the motion \(B2 1, "
    ) as caught:
        robot.constrained_inverse_dynamics(q, v, a, actuators=[])
    assert len(caught.value.motions) == 1 and str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    free = robot.without_constraints()
    with pytest.raises(ValueError, match=r"'A0', 'A1' cannot induce the motions .*\(B1 1\)"):
        free.constrained_inverse_dynamics(q, v, a, actuators=["A0", "A1"])
    batch = np.stack([free.forward_dynamics(q, v, np.array([1.0, 0, 0, 0, 0])), a])
    with pytest.raises(lw.errors.UnderactuatedError, match="in state 1 "):
        free.constrained_inverse_dynamics(q, v, batch, actuators="A0")
    afloat = lw.load("quadruped", floating_base=True)
    q, n = afloat.neutral(), afloat.nv
    with pytest.raises(lw.errors.UnderactuatedError, match="floating_base"):
        afloat.constrained_inverse_dynamics(q, np.zeros(n), np.zeros(n))
    with pytest.raises(lw.errors.UnknownNameError, match="A0"):
        robot.constrained_inverse_dynamics(robot.neutral(), v, a, actuators=["A00"])


def test_constrained_inverse_dynamics_of_an_open_tree_is_inverse_dynamics():
    robot = lw.load("arm6")
    q, v, a = np.random.default_rng(0).normal(size=(3, 7, 6))
    tau, forces, _ = robot.constrained_inverse_dynamics(q, v, a)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, v, a), rtol=0, atol=1e-12)
    assert forces.shape == (7, 0)
