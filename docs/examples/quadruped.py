"""A quadruped in flight rotates by moving its legs: a thousand steps as one `scan`, and the gradient by all controls.

The configuration of a floating base is a point on a manifold.  The Runge-Kutta method has a form for manifolds with the
same order and number of evaluations (Celledoni, Marthinsen and Owren, 2003); its steps use `robot.integrate`.
"""

import numpy as np

import linkwork as lw
from linkwork import call, scan
from linkwork.expr import adjoint

robot = lw.load("quadruped", floating_base=True).with_gravity((0.0, 0.0, 0.0))  # seen from a frame that falls with it
T, h = 1000, 1e-3  # steps, and how long each takes [s]


def step(state, u):
    """A step in which servos turn the legs' joints to angles u [rad]; nothing drives the base."""

    def accelerated(q, v):
        servos = 0.5 * (u - q[7:]) - 0.02 * v[6:]
        return call(robot.forward_dynamics, q, v, np.concatenate([np.zeros(6), servos]))  # one code for the four

    q1, v1 = state
    a1 = accelerated(q1, v1)
    q2, v2 = robot.integrate(q1, h / 2 * v1), v1 + h / 2 * a1
    a2 = accelerated(q2, v2)
    q3, v3 = robot.integrate(q1, h / 2 * v2), v1 + h / 2 * a2
    a3 = accelerated(q3, v3)
    q4, v4 = robot.integrate(q2, h * v3 - h / 2 * v1), v1 + h * a3
    a4 = accelerated(q4, v4)
    half = robot.integrate(q1, h / 12 * (3.0 * v1 + 2.0 * v2 + 2.0 * v3 - v4))
    q = robot.integrate(half, h / 12 * (-v1 + 2.0 * v2 + 2.0 * v3 + 3.0 * v4))
    return (q, v1 + h / 6 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)), None


@lw.compile(q=(robot.nq,), v=(robot.nv,), u=(T, 12), target=(4, 4))
def flight(q, v, u, target):
    """Return the last state, the squared error of the trunk's pose, and its derivatives by all controls.

    In reverse, a scan needs the states of all steps: here T numbers for each of the 37 of a state, 300 kB a sample.
    With 32 segments, states at their beginnings are stored, and those of one segment at a time: 64 states, 19 kB, and
    each step is computed once more.
    """
    (q, v), _ = scan(step, (q, v), u, segments=32)
    error = lw.pose_difference(robot.pose(q, "trunk"), target)
    cost = error @ error
    return {"q": q, "v": v, "cost": cost, "gradient": np.array(adjoint([cost], list(u.ravel()), [1.0])).reshape(T, 12)}


def momentum(q, v):
    """Angular momentum about the world's origin, and linear momentum, in the world's axes."""
    base = robot.pose(q, "trunk")
    angular, linear = np.split((robot.mass_matrix(q) @ v)[:6], 2)  # about the trunk's origin, in its axes
    linear = base[:3, :3] @ linear
    return np.concatenate([base[:3, :3] @ angular + np.cross(base[:3, 3], linear), linear])


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    q, v = robot.neutral(), 0.3 * rng.normal(size=robot.nv)
    u = 0.3 * rng.normal(size=12) * np.sin(2.0 * np.pi * h * np.arange(T))[:, None]  # to and fro, in a second
    target = robot.pose(robot.integrate(q, np.r_[0.5, 0.2, 0.1, np.zeros(15)]), "trunk")
    result = flight(q, v, u, target)
    assert np.allclose(momentum(result.q, result.v), momentum(q, v), rtol=0.0, atol=1e-8)  # whatever the legs do
    assert np.abs(result.q - q)[7:].max() > 0.1  # and they do something

    for _ in range(3):  # the derivatives along random directions, against differences
        direction = rng.normal(size=u.shape)
        ahead, behind = (flight(q, v, u + s * direction, target).cost for s in (1e-5, -1e-5))
        assert np.isclose((result.gradient * direction).sum(), (ahead - behind) / 2e-5, rtol=1e-5)
    for _ in range(5):  # downhill
        u = u - 0.2 * result.cost / (result.gradient**2).sum() * result.gradient
        result, before = flight(q, v, u, target), result
        assert result.cost < before.cost
    print(f"derivatives of {T} steps by {u.size} controls")
