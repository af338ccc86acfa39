"""Impedance control: the hand behaves as a mass with a spring and a damper between it and a target."""

import numpy as np

import linkwork as lw

robot = lw.load("arm7")


@lw.compile(q=(7,), v=(7,), target=(4, 4), stiffness=(6,), damping=(6,))
def control(q, v, target, stiffness, damping):
    """The joint forces; the hand's inertia is what the arm has there."""
    X, J = robot.pose(q, "hand"), robot.jacobian(q, "hand")
    M = robot.mass_matrix(q)
    Lambda = lw.solve(J @ lw.solve(M, J.T), np.eye(6))
    error = lw.pose_difference(X, target)
    return J.T @ (Lambda @ (stiffness * error - damping * (J @ v))) + robot.bias_force(q, v)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    size = 256
    q, v = robot.random_configuration(seed=1, size=size), rng.normal(size=(size, 7))
    target = robot.pose(q + rng.uniform(-0.3, 0.3, q.shape), "hand")
    stiffness, damping = rng.uniform(50.0, 100.0, (size, 6)), rng.uniform(10.0, 20.0, (size, 6))
    tau = control(q, v, target, stiffness, damping)
    assert np.array_equal(control(q[0], v[0], target[0], stiffness[0], damping[0]), tau[0])

    # The function as it stands, on one state and on the batch
    reference = control.call_python(q, v, target, stiffness, damping)
    assert np.allclose(tau, reference, rtol=1e-9, atol=1e-9 * np.abs(reference).max())
    assert np.allclose(control.call_python(q[0], v[0], target[0], stiffness[0], damping[0]), reference[0], rtol=1e-9)

    # What it is for: under these forces the hand accelerates as the spring and the damper say
    acceleration = robot.forward_dynamics(q, v, tau)
    J = robot.jacobian(q, "hand")
    error = lw.pose_difference(robot.pose(q, "hand"), target)
    expected = stiffness * error - damping * np.einsum("sij,sj->si", J, v)
    assert np.allclose(np.einsum("sij,sj->si", J, acceleration), expected, rtol=1e-6, atol=1e-6)
    print("the hand accelerates as the spring and the damper say")
