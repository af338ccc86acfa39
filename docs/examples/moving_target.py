"""Model-predictive control at 1 kHz: a seven-joint arm follows a target that moves through obstacles.

Every millisecond the solver improves the plan of the next half second, and the robot applies its first forces.  The
target passes through a lamp; the arm moves around this lamp and another one, and catches up.
"""

import numpy as np

import linkwork as lw

STEPS, HORIZON, PERIOD, NEAR = 10, 0.5, 1e-3, 0.05
START = np.array([0.5, 0.5, 0.1, -1.7, 0.3, 1.4, 0.4])
LAMP, BALL, RADIUS = (0.55, 0.15, 0.28), (0.68, -0.14, 0.3), 0.05
LINKS = ("forearm_distal", "wrist", "flange")
arm = lw.load("arm7")
scene = lw.Scene().with_sphere("lamp", RADIUS, LAMP).with_sphere("ball", RADIUS, BALL)
pairs = [(link, obstacle) for link in LINKS for obstacle in ("lamp", "ball")]
begin = arm.pose(START, "hand")[:3, 3]


def target(t):
    """Target of the hand at times (...): an arc, with a wave."""
    turn = -0.5 * (1.0 - np.cos(1.6 * t))
    x, y, z = begin
    return np.stack(
        [np.cos(turn) * x - np.sin(turn) * y, np.sin(turn) * x + np.cos(turn) * y, z + 0.03 * turn], axis=-1
    )


def new_controller():
    """The controller of an arm whose joints have neither damping nor friction, as that of `followed`."""
    problem = lw.TrajectoryProblem(arm, num_steps=STEPS, duration=HORIZON)
    problem = problem.add(lw.ik.PositionTask("hand"), "least_squares", scale=30.0, name="target")
    problem = problem.add("velocity", "least_squares", scale=0.1).add("acceleration", "least_squares", scale=0.01)
    problem = problem.add(lw.optimal.Clearance(scene=scene, pairs=pairs, at_least=NEAR), "inequality")
    return problem.add_limits().controller(period=PERIOD, max_iterations=2, passive=False)


def followed(duration):
    """Times, configurations, targets, and commands of the controller."""
    controller, q, v, records = new_controller(), START, np.zeros(7), []
    for t in np.arange(0.0, duration, PERIOD):
        command = controller.step((q, v), {"target": target(t + 0.1)})
        records.append((t, q, target(t), command))
        v = v + PERIOD * arm.forward_dynamics(q, v, command.torque)
        q = arm.integrate(q, PERIOD * v)
    times, path, targets, commands = zip(*records, strict=True)
    return np.array(times), np.array(path), np.array(targets), commands


def distances(path, targets):
    """Distances of the hand to its target, of the arm to obstacles, and of the target to the lamp [m]."""
    hand = arm.pose(path, "hand")[:, :3, 3]
    clear = arm.distances(path, scene, pairs=pairs).distance.min(axis=-1)
    return np.linalg.norm(hand - targets, axis=-1), clear, np.linalg.norm(targets - LAMP, axis=-1) - RADIUS


if __name__ == "__main__":
    times, path, targets, commands = followed(2.0)
    behind, clear, through = distances(path, targets)
    assert {command.status for command in commands} == {"planned"}
    assert through.min() < -0.03 and clear.min() > 0.01  # the target goes through the lamp, and the arm does not
    assert behind[:450].max() < 0.02 and behind.max() > 0.06 and behind[-1] < 0.01  # it falls behind and catches up
    shown = (100 * clear.min(), 100 * behind.max(), 1000 * behind[-1])
    print("{:.1f} cm from obstacles, {:.1f} cm behind the target there, {:.1f} mm at the end".format(*shown))
