"""A quadruped stands, trots in place and stands again: the contact phases are fixed, forces and motion are optimized.

Diagonal pairs of feet lift in turn.  Feet on the ground stay fixed and push within friction; only these forces
accelerate the robot, because its base has no motor.  Torques have limits.
"""

import numpy as np

import linkwork as lw

STEPS, DURATION, LIFT, FRICTION = 24, 1.2, 0.05, 0.6
PHASES = {"stand": (0, 4), "one pair": (4, 11), "all": (11, 13), "other pair": (13, 20), "rest": (20, 24)}
SWINGS = {
    "front_left_foot": "one pair",
    "front_right_foot": "other pair",
    "hind_left_foot": "other pair",
    "hind_right_foot": "one pair",
}

robot = lw.load("quadruped", floating_base=True)
WEIGHT = 9.81 * robot.mass
OPTIONS = {"step_tolerance": 1e-3}  # [rad, m], and of forces what they are
START = robot.neutral()
START[7:] = np.tile([0.0, 0.6, -1.2], 4)  # hips and knees bent
START[6] -= robot.pose(START, "front_left_foot")[2, 3]


def trotting():
    """Each foot lifts once, and lands where it stood, since all ends where it began."""
    problem = lw.TrajectoryProblem(robot, num_steps=STEPS, duration=DURATION, phases=PHASES)
    problem = problem.add("acceleration", "least_squares", scale=0.02)
    problem = problem.add(lw.optimal.UnactuatedFeature(), "equality", scale=1.0 / WEIGHT, name="no motor")
    problem = problem.add_limits(positions=False, torques=True)
    for foot, phase in SWINGS.items():
        begin, end = PHASES[phase]
        height = lambda w, foot=foot: w.pose(foot)[2, 3]  # noqa: E731
        problem = problem.add_contact(
            foot, steps=[t for t in range(STEPS) if not begin <= t < end], friction=FRICTION, effort=1.0
        )
        problem = problem.add(height, "inequality", steps=phase, lower=0.0, name=f"{foot} above the ground")
        problem = problem.add(
            height, "equality", steps=(begin + end) // 2, lower=LIFT, upper=LIFT, name=f"{foot} lifts"
        )
    problem = problem.add("configuration", "equality", steps=-1, target=START, name="back")
    problem = problem.add("velocity", "equality", steps=-1, name="still")
    return problem


def trot():
    return trotting().solve(START, **OPTIONS)


if __name__ == "__main__":
    result = trot()
    assert result.status == "solved", result
    tau = DURATION / STEPS
    com = robot.center_of_mass(np.vstack([START, START, result.q]))
    pushes = sum(result.variables[foot] for foot in SWINGS)
    momentum = robot.mass * np.diff(com, 2, axis=0) / tau**2 + [0.0, 0.0, WEIGHT]
    assert np.abs(momentum - pushes).max() < 0.02 * WEIGHT  # Newton's law
    print("push / weight   " + "".join(f"{foot.removesuffix('_foot'):>13}" for foot in SWINGS))
    for phase, (begin, end) in PHASES.items():
        shares = [abs(result.variables[foot][begin:end, 2].mean()) / WEIGHT for foot in SWINGS]
        print(f"{phase:16}" + "".join(f"{x:13.2f}" for x in shares))
    for foot, phase in SWINGS.items():
        begin, end = PHASES[phase]
        force, path = result.variables[foot], robot.pose(np.vstack([START, result.q]), foot)[:, :3, 3]
        assert np.abs(force[begin:end]).max() < 1e-5  # nothing pushes a foot in the air
        assert (np.hypot(*force[:, :2].T) <= FRICTION * force[:, 2] + 2e-3).all()  # [N]
        down = np.array([t for t in range(STEPS) if not begin <= t < end])
        assert np.abs(path[down + 1] - path[down]).max() < 1e-5  # nothing moves one on the ground
        assert np.isclose(path[:, 2].max(), LIFT, atol=0.02) and path[:, 2].min() > -1e-5
