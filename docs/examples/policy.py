"""Small neural network as the controller of an arm: network and dynamics in one kernel, the weights are inputs."""

from dataclasses import dataclass

import numpy as np

import linkwork as lw
from linkwork.expr import adjoint

robot = lw.load("arm6")
n, width, h = robot.nv, 16, 1e-3  # joints, hidden units, and how long a step takes [s]


@dataclass
class Weights:
    hidden: np.ndarray
    hidden_bias: np.ndarray
    out: np.ndarray
    out_bias: np.ndarray


SHAPES = Weights((width, 2 * n), (width,), (n, width), (n,))


def policy(weights, q, v):
    """Joint forces: two layers."""
    hidden = np.tanh(weights.hidden @ np.concatenate([q, v]) + weights.hidden_bias)
    return weights.out @ hidden + weights.out_bias


@lw.compile(weights=SHAPES, q=(n,), v=(n,))
def step(weights, q, v):
    """A step of the closed loop: semi-implicit Euler under the network's forces and what carries the arm's weight."""
    v = v + h * robot.forward_dynamics(q, v, robot.gravity_force(q) + policy(weights, q, v))
    return robot.integrate(q, h * v), v


@lw.compile(weights=SHAPES, q=(n,), v=(n,))
def gradient(weights, q, v):
    """The derivatives of the kinetic energy after a step by all weights, nested as they are."""
    q, v = step(weights, q, v)
    energy = 0.5 * (v @ robot.mass_matrix(q) @ v)
    parts = [weights.hidden, weights.hidden_bias, weights.out, weights.out_bias]
    derivatives = iter(adjoint([energy], [x for part in parts for x in part.ravel()], [1.0]))
    return Weights(*(np.array([next(derivatives) for _ in range(part.size)]).reshape(part.shape) for part in parts))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    weights = Weights(
        *(0.5 * rng.normal(size=shape) for shape in (SHAPES.hidden, SHAPES.hidden_bias, SHAPES.out, (n,)))
    )
    q, v = robot.random_configuration(seed=1, size=256), rng.normal(size=(256, n))  # many arms, one network
    q_next, v_next = step(weights, q, v)
    hidden = np.tanh(np.concatenate([q, v], axis=1) @ weights.hidden.T + weights.hidden_bias)
    tau = robot.gravity_force(q) + hidden @ weights.out.T + weights.out_bias
    # The other way round: the forces of this motion are those
    assert np.allclose(robot.inverse_dynamics(q, v, (v_next - v) / h), tau, rtol=0.0, atol=1e-8)
    assert np.allclose(q_next, q + h * v_next, rtol=0.0, atol=1e-14)

    def energy(weights):
        q_next, v_next = step(weights, q[0], v[0])
        return 0.5 * v_next @ robot.mass_matrix(q_next) @ v_next

    derivatives = gradient(weights, q[0], v[0])
    for name in vars(weights):
        direction = rng.normal(size=getattr(weights, name).shape)
        ahead, behind = (
            energy(Weights(**{**vars(weights), name: getattr(weights, name) + s * direction})) for s in (1e-4, -1e-4)
        )
        assert np.isclose((getattr(derivatives, name) * direction).sum(), (ahead - behind) / 2e-4, rtol=1e-6, atol=1e-9)
    print("network and dynamics agree with each alone")
