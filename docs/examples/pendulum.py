"""A thousand Runge-Kutta steps of a double pendulum as one `scan`, and the gradient by all controls."""

import numpy as np

import linkwork as lw
from linkwork import scan
from linkwork.expr import adjoint

robot = lw.load("double_pendulum")
T, h = 1000, 2e-3  # steps, and how long each takes [s]


def rate(state, u):
    q, v = state
    return v, robot.forward_dynamics(q, v, u)


def moved(state, rates, time):
    return tuple(x + time * dx for x, dx in zip(state, rates, strict=True))


def step(state, u):
    """A step under constant joint forces u."""
    k1 = rate(state, u)
    k2 = rate(moved(state, k1, h / 2), u)
    k3 = rate(moved(state, k2, h / 2), u)
    k4 = rate(moved(state, k3, h), u)
    mean = tuple((a + 2.0 * b + 2.0 * c + d) / 6.0 for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
    after = moved(state, mean, h)
    return after, after[0]


@lw.compile(q=(2,), v=(2,), u=(T, 2))
def roll_out(q, v, u):
    """The last state, and the angles of every step."""
    (q, v), path = scan(step, (q, v), u)
    return q, v, path


@lw.compile(q=(2,), v=(2,), u=(T, 2))
def cost(q, v, u):
    """Squared distance of the last state from rest upright, plus the cost of the controls."""
    q, v, _ = roll_out(q, v, u)
    end = q - np.array([np.pi, 0.0])
    return end @ end + v @ v + h * (u * u).sum()


@lw.compile(q=(2,), v=(2,), u=(T, 2))
def gradient(q, v, u):
    """The cost's derivatives by all controls, in reverse: the states of all steps are kept, 4 T numbers a sample."""
    return np.array(adjoint([cost(q, v, u)], list(u.ravel()), [1.0])).reshape(T, 2)


def energy(q, v):
    heights = sum(
        link.mass * (robot.pose(q, link.name) @ [*link.com, 1.0])[..., 2] for link in robot.links if link.mass
    )
    return 0.5 * np.einsum("...i,...ij,...j", v, robot.mass_matrix(q), v) + 9.81 * heights


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-0.5, 0.5, (2, 16, 2))
    free = roll_out(q, v, np.zeros((T, 2)))
    assert np.allclose(energy(*free[:2]), energy(q, v), rtol=0.0, atol=1e-6)  # no force, no friction
    u = rng.normal(size=(16, T, 2))
    state = (q[0], v[0])
    for k in range(T):  # Python's own loop, of one sample
        state, _ = step(state, u[0, k])
    assert np.allclose(roll_out(q, v, u)[0][0], state[0], rtol=0.0, atol=1e-9)

    slope = gradient(q, v, u)
    for _ in range(3):  # along random directions, against differences
        direction = rng.normal(size=u.shape)
        ahead, behind = (cost(q, v, u + s * direction) for s in (1e-5, -1e-5))
        assert np.allclose((slope * direction).sum(axis=(1, 2)), (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-5)
    better = cost(q, v, u - 1e-3 * slope / np.linalg.norm(slope, axis=(1, 2), keepdims=True))
    assert np.all(better < cost(q, v, u))
    print(f"derivatives of {T} steps by {u[0].size} controls, {len(q)} roll-outs at once")
