"""Lifting a load near the torque limits of an arm's motors, along the whole path.

The first problem minimizes accelerations for a fixed duration within the torque limits.  The second one minimizes the
duration, which is a variable.
"""

import numpy as np

import linkwork as lw

STEPS = 24
arm = lw.load("arm7").with_payload("payload", "hand", 7.0, com=(0, 0, 0.1))
START = np.array([0.0, 0.9, 0.0, -1.6, 0.0, 2.0, 0.0])
END = np.array([0.8, -0.2, 0.3, -1.1, 0.0, 1.2, 0.5])


def lift(duration, limited=True):
    """Return the smoothest motion from rest to rest with the payload."""
    problem = lw.TrajectoryProblem(arm, num_steps=STEPS, duration=duration)
    problem = problem.add("acceleration", "least_squares")
    problem = problem.add("configuration", "equality", steps=-1, target=END, name="lifted")
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    if limited:
        problem = problem.add_limits().add("torque limits", "inequality", scale=0.01)
    return problem.solve(START)


def moved(result, duration):
    """q, v and a as differences, each at the step in the middle of them."""
    q, step = np.vstack([START, START, result.q]), duration / STEPS
    v = np.diff(q, axis=0) / step
    return q[1:-1], 0.5 * (v[1:] + v[:-1]), np.diff(v, axis=0) / step


def torques(result, duration):
    """Torques of the motors at each step [N·m]."""
    return arm.inverse_dynamics(*moved(result, duration), passive=True)


if __name__ == "__main__":
    limits = arm.effort_limits
    free, bounded = lift(0.9, limited=False), lift(0.9)
    used = [np.abs(torques(result, 0.9) / limits).max(axis=0) for result in (free, bounded)]
    assert free.status == bounded.status == "solved"
    assert used[0].max() > 1.2  # without limits the motors would need more torque than they have
    assert used[1].max() < 1.0 + 1e-6 and used[1].max() > 1.0 - 1e-3  # with them some give all they have
    assert bounded.cost > free.cost  # and the motion is less smooth for it
    hurried = lift(0.2)
    assert hurried.status != "solved" and "torque" in str(hurried)  # too fast for these motors, and it says so
    print(
        f"of their torque the motors use {used[1].round(2).tolist()}, at a cost of {bounded.cost / free.cost:.2f} times"
    )
