"""Damped inverse kinematics of an arm: the whole loop in one kernel, for one target or thousands."""

import numpy as np

import linkwork as lw
from linkwork import while_loop

robot = lw.load("arm7")


@lw.compile(q=(7,), target=(4, 4))
def reach(q, target):
    """Joint angles that take the hand to a target, from angles q on; the squared error says how near it came."""

    def is_far(state):
        return state[1] > 1e-20

    def step(state):
        q, _ = state
        error = lw.pose_difference(robot.pose(q, "hand"), target)
        J = robot.jacobian(q, "hand")
        return q + lw.lstsq(J, error, damping=0.01), error @ error

    return while_loop(is_far, step, (q, 1.0), max_iterations=100)


if __name__ == "__main__":
    goals = robot.random_configuration(seed=1, size=512)
    targets = robot.pose(goals, "hand")
    nearby = goals + np.random.default_rng(2).uniform(-0.3, 0.3, goals.shape)
    (q, _), steps, status = reach(nearby, targets)
    arrived = status == 0.0
    assert arrived.mean() > 0.95  # the others are held up near singular poses
    assert np.abs(robot.pose(q[arrived], "hand") - targets[arrived]).max() < 1e-8

    alone, reference = reach(nearby[0], targets[0]), reach.call_python(nearby[0], targets[0])
    assert np.array_equal(alone.state[0], q[0])  # the same bits alone as in a batch
    assert np.allclose(reference.state[0], q[0], rtol=0.0, atol=1e-9)  # Python's own loop gets there too
    print(f"{arrived.mean():.1%} arrived, after {steps[arrived].mean():.1f} steps on average")
