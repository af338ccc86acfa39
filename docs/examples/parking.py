"""Parking a car between two others: axles do not slip sideways, steering is limited, and collisions are excluded.

The car is a robot: a body in the plane, a steered wheel, and a blade (`KnifeEdge`) at each axle as constraints of the
path.  Each car is a line of discs for collision checks.  The solver finds the directions of travel itself.
"""

import numpy as np

import linkwork as lw

STEPS, DURATION = 40, 8.0
BASE, RADIUS = 2.6, 1.0  # [m] between axles, and of the discs
DISCS = {"tail": -0.3, "middle": 1.3, "nose": 2.9}  # the car's discs, ahead of its rear axle
PARKED = np.array([[-4.5, 0.0], [-2.9, 0.0], [5.4, 0.0], [7.0, 0.0]])  # discs of parked cars
START, END = np.array([5.5, 2.4, 0.0, 0.0]), np.zeros(4)

car = lw.Robot.build(
    "car",
    lw.Link("chassis", mass=1000.0),
    lw.Link("wheel", mass=20.0),
    lw.Joint.of(lw.joints.Planar(), name="place", parent="world", child="chassis"),
    lw.Joint.of(
        lw.joints.Revolute((0, 0, 1)),
        name="steering",
        parent="chassis",
        child="wheel",
        placement=(BASE, 0, 0),
        lower=-0.65,
        upper=0.65,
    ),
).with_constraints(lw.constraints.KnifeEdge("chassis"), lw.constraints.KnifeEdge("wheel"))
for disc, ahead in DISCS.items():
    car = car.with_point(disc, "chassis", (ahead, 0.0, 0.0))


def bumps(w):
    """Overlaps of the car's discs with those of parked cars, by squared distances [m²]."""
    offsets = [w.point(disc)[:2] - center for disc in DISCS for center in PARKED]
    return np.array([4.0 * RADIUS**2 - offset @ offset for offset in offsets])


def parked():
    """The path of least accelerations to rest in the gap."""
    problem = lw.TrajectoryProblem(car, num_steps=STEPS, duration=DURATION)
    problem = problem.add("acceleration", "least_squares", scale=0.1).add("velocity", "least_squares", scale=0.1)
    problem = problem.add(bumps, "inequality", name="bumps")
    problem = problem.add(lambda w: np.array([-0.2 - w.point(disc)[1] for disc in DISCS]), "inequality", name="kerb")
    problem = problem.add("configuration", "equality", steps=-1, target=END, name="parked").add_limits()
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    return problem.solve(START, initial_guess=np.linspace(START, END, STEPS + 1)[1:], max_iterations=600)


if __name__ == "__main__":
    result = parked()
    assert result.status == "solved", result
    path = np.vstack([START, result.q])
    discs = np.stack(
        [path[:, :2] + x * np.stack([np.cos(path[:, 2]), np.sin(path[:, 2])], axis=1) for x in DISCS.values()]
    )
    apart = np.linalg.norm(discs[:, :, None] - PARKED, axis=-1)
    assert apart.min() > 2.0 * RADIUS - 1e-5 and np.abs(path[:, 3]).max() < 0.65 + 1e-5
    middle, step = 0.5 * (path[1:, 2] + path[:-1, 2]), np.diff(path[:, :2], axis=0)
    assert np.abs(-np.sin(middle) * step[:, 0] + np.cos(middle) * step[:, 1]).max() < 1e-3  # the rear axle rolls
    turns = int((np.diff(np.sign(np.cos(middle) * step[:, 0] + np.sin(middle) * step[:, 1])) != 0).sum())
    print(
        f"parked, {1e2 * (apart.min() - 2.0 * RADIUS):.1f} cm from the nearest car, after {turns} changes of direction"
    )
