"""Limits of joints that close loops, in trajectory problems."""

import numpy as np
import pytest

import linkwork as lw


@pytest.mark.slow(every=9)
def test_trajectory_problems_satisfy_limits_of_loop_joints():
    """The crank of a four-bar turns by 0.8 rad in 1 s at the speed limit of the pin, within its position limit."""
    fourbar = lw.load("fourbar")
    pin, start = fourbar.loops["pin"], fourbar.assemble(fourbar.neutral()).q

    def extreme_values(**limits):
        robot = fourbar.without_constraints().with_loop("pin", pin.frame, pin.other, pin.type, **limits)
        problem = lw.TrajectoryProblem(robot, num_steps=12, duration=1.0).add_limits()
        problem = problem.add("acceleration", "least_squares", scale=0.1)
        turned = lw.ik.JointTask("crank_hinge")
        return problem.add(turned, "equality", steps=-1, target=start[0] + 0.8, name="turned").solve(start)

    def moved(result):
        q = np.concatenate([start[None], result.q])
        return fourbar.loop_configuration(q)[:, 0], fourbar.loop_velocity(q[1:], np.diff(q, axis=0) * 12.0)[:, 0]

    free, slow = extreme_values(), extreme_values(velocity=0.25)
    assert free.success and slow.success
    assert np.abs(moved(free)[1]).max() > 0.255 > 0.25 + 1e-6 > np.abs(moved(slow)[1]).max() > 0.2499
    assert moved(free)[0].min() < -0.19 and extreme_values(lower=-0.3, upper=0.3).success
    assert not extreme_values(lower=-0.15, upper=0.3).success
