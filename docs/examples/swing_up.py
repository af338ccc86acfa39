"""Swing-up of a cart-pole and an acrobot: each has one motor and one joint without a motor.

The variables are the motor's forces, within limits; forward dynamics gives the motion (iterative LQR).  The result also
contains feedback gains that stabilize the motion.
"""

import numpy as np

import linkwork as lw


def cart_pole():
    """A pole hangs from a cart on a rail."""
    return lw.Robot.build(
        "cart_pole",
        lw.Link("cart", mass=1.0),
        lw.Link("pole", mass=0.3, com=(0, 0, -0.5), inertia=(0.006, 0.006, 0.0)),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="cart"),
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="cart", child="pole"),
    )


def swing_up(robot, motor, effort, end, steps, duration, slowly):
    """The motion of least squares of the motor's force from hanging at rest to ``end`` at rest."""
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=duration)
    problem = problem.add(lambda w: w.torque(motor) / effort, "least_squares", name="motor")
    problem = problem.add("velocity", "least_squares", scale=slowly, name="slowly")
    problem = problem.add("configuration", "equality", steps=-1, target=end, name="upright")
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    return problem.solve(np.zeros(2), solver="ilqr", actuated=[motor], control_limits=effort, max_iterations=1000)


def moved(result, step):
    """q, v and a of each step, q and v where it begins."""
    q = np.vstack([np.zeros((2, 2)), result.q])
    v = np.diff(q, axis=0) / step
    return q[1:-1], v[:-1], np.diff(v, axis=0) / step


def solutions():
    """Return both by name: robot, motor, its largest force, result and time step."""
    results = {}
    for name, robot, motor, effort, end, steps, duration, slowly in (
        ("cart-pole", cart_pole(), "rail", 20.0, [0.0, np.pi], 60, 2.0, 0.0),
        ("acrobot", lw.load("double_pendulum"), "elbow", 15.0, [np.pi, 0.0], 80, 3.2, 0.1),
    ):
        result = swing_up(robot, motor, effort, np.array(end), steps, duration, slowly)
        results[name] = robot, robot.v_names.index(motor), effort, result, duration / steps
    return results


if __name__ == "__main__":
    said, runs = [], solutions()
    assert all(result.status == "solved" for _, _, _, result, _ in runs.values()), runs
    for name, (robot, motor, effort, result, step) in runs.items():
        q, v, a = moved(result, step)
        tau = robot.inverse_dynamics(q, v, a)
        assert np.abs(tau[:, 1 - motor]).max() < 1e-6  # nothing drives it
        assert np.abs(tau[:, motor]).max() < effort + 1e-6
        assert np.allclose(robot.forward_dynamics(q, v, tau), a, atol=1e-6)  # what the motor does leads along the path
        said.append(f"{name} {np.abs(tau[:, motor]).max():.1f}")
    print("the greatest force of the motors:", ", ".join(said))
