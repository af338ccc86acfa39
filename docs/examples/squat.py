"""A humanoid squats and stands up again: the wrenches of its soles are optimized with the motion of all joints.

The base floats and has no actuator, so only the wrenches of the soles accelerate the robot.  The soles stay fixed, push
within friction, and keep their centers of pressure inside.  Head and hands are fixed; joints and torques have limits.
"""

import numpy as np

import linkwork as lw

STEPS, DURATION, DEPTH = 12, 1.6, 0.3
SOLE, FRICTION = (0.24, 0.088), 0.6
FEET = ("left_foot", "right_foot")

human = lw.load("humanoid", floating_base=True)
wrists = [f"{side}_wrist_{axis}" for side in ("left", "right") for axis in ("yaw", "roll", "pitch")]
human = human.with_locked_joints(["neck_yaw", "neck_pitch", *wrists])
WEIGHT = 9.81 * human.mass
OPTIONS = {"step_tolerance": 1e-3}  # [rad, m], and of forces what they are
START = human.neutral()
for side in ("left", "right"):
    for name, angle in {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3, "elbow": -0.4}.items():
        START[human.joint(f"{side}_{name}").q_slice] = angle
START[6] -= human.pose(START, "left_foot")[2, 3]


def squatting():
    """Down by so much at half time, and up again."""
    problem = lw.TrajectoryProblem(human, num_steps=STEPS, duration=DURATION)
    problem = problem.add("acceleration", "least_squares", scale=0.1)
    for foot in FEET:
        problem = problem.add_contact(foot, surface=SOLE, friction=FRICTION, effort=1.0)
    problem = problem.add(lw.optimal.UnactuatedFeature(), "equality", scale=1.0 / WEIGHT, name="no motor")
    problem = problem.add_limits(torques=True)
    problem = problem.add(
        lambda w: w.pose("pelvis")[2, 3] - START[6] + DEPTH, "equality", steps=STEPS // 2 - 1, name="down"
    )
    problem = problem.add("configuration", "equality", steps=-1, target=START, name="up")
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    return problem


def squat():
    return squatting().solve(START, **OPTIONS)


if __name__ == "__main__":
    result = squat()
    assert result.status == "solved", result
    com = human.center_of_mass(np.vstack([START, START, result.q]))
    momentum = human.mass * np.diff(com, 2, axis=0) / (DURATION / STEPS) ** 2 + [0.0, 0.0, WEIGHT]
    pushes, under = [], []
    for foot in FEET:
        moment, force = np.split(result.variables[foot], 2, axis=1)  # in the sole's axes, of the ground on it
        pushes.append((human.pose(result.q, foot)[:, :3, :3] @ force[..., None])[..., 0])
        under.append(np.stack([-moment[:, 1], moment[:, 0]], axis=-1) / force[:, 2:])  # where it pushes
        assert force[:, 2].min() > 0.0 and (np.abs(force[:, :2]) <= FRICTION * force[:, 2:] + 1e-3).all()
        assert (np.abs(under[-1]) <= 0.5 * np.array(SOLE) + 1e-5).all()
        assert np.abs(human.pose(result.q, foot) - human.pose(START, foot)).max() < 1e-5  # no sole moves
    assert np.abs(momentum - sum(pushes)).max() < 0.02 * WEIGHT  # Newton's law
    low = human.pose(result.q, "pelvis")[:, 2, 3] - START[6]
    assert np.isclose(low.min(), -DEPTH, atol=0.02)
    print("time [s]  pelvis [m]  push / weight  ahead [m]")
    for t in range(STEPS):
        push = sum(x[t, 2] for x in pushes) / WEIGHT
        print(f"{result.times[t]:8.2f}{low[t]:12.3f}{push:15.2f}{under[0][t, 0]:11.3f}")
