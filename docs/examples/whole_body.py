"""A quadruped stands on four feet and moves its trunk: a quadratic program in each step, in the simulation's kernel.

Variables are the accelerations of the body and the forces at the feet, within friction cones and motor limits.  The
trunk tracks its reference as closely as these allow.  A foot that is switched off has no force.
"""

import numpy as np

import linkwork as lw
from linkwork.simulation import ContactGround, ContactPoint

robot = lw.load("quadruped", floating_base=True)
sides = [(x, y) for x in ("front", "hind") for y in ("left", "right")]
ground = ContactGround(tuple(ContactPoint(f"{x}_{y}_foot", radius=0.02) for x, y in sides), friction=0.7)
legs = [joint.name for joint in robot.joints if joint.nv == 1]
law = lw.control.WholeBody(
    robot,
    [lw.ik.PoseTask("trunk", weight=10.0), lw.ik.PostureTask(legs, weight=0.3)],
    stiffness={"trunk": 100.0, "posture": 50.0},
    contacts=ground,
)


def standing():
    """The configuration in which the feet are on the ground."""
    q = robot.neutral()
    for x, y in sides:
        q[robot.joint(f"{x}_{y}_hip_flexion").q_slice] = 0.7
        q[robot.joint(f"{x}_{y}_knee").q_slice] = -1.4
    q[6] += 0.02 - min(robot.pose(q, p.frame)[2, 3] for p in ground.points)
    return q


if __name__ == "__main__":
    q = standing()
    start = robot.pose(q, "trunk")
    aim = lw.pose((0.01, 0.02, -0.02)) @ start @ lw.pose(rpy=(0.0, 0.1, 0.05))
    how = {
        "duration": 1.0,
        "dt": 2e-3,
        "record_every": 50,
        "contacts": ground,
    }
    run = robot.simulate(q, controller=law, constants={"trunk": aim, "posture_q": q}, **how)
    end = run.q[-1]
    assert run.success and np.abs(robot.pose(end, "trunk") - aim).max() < 5e-3
    feet = run.records["contact_forces"][-1]
    assert abs(feet[:, 2].sum() - 9.81 * robot.mass) < 0.1

    # With one foot off, the other three do what they can to get the trunk over them
    over = robot.pose(end, "trunk").copy()
    over[:2, 3] = np.mean([robot.pose(end, p.frame)[:2, 3] for p in ground.points[1:]], axis=0)
    answer = law.answer(0.0, end, np.zeros(robot.nv), trunk=over, posture_q=end, contact=[0.0, 1.0, 1.0, 1.0])
    assert answer.found and not answer.contact_forces[0].any()
    assert (answer.contact_forces[1:, 2] > -1e-9).all() and (np.abs(answer.tau) <= robot.effort_limits + 1e-9).all()
    print(f"four feet carry {feet[:, 2].round(1)} N; three {answer.contact_forces[:, 2].round(1)} N")
