"""A car parks between two others: its axles do not slip sideways, its wheels turn only so far, it bumps into nothing.

The car is a robot: a body in the plane, a wheel that is steered, and a blade (`Skate`) at each axle. Which way to go to
and fro is found, not told.
"""

import numpy as np

import linkwork as lw
from linkwork.joints import Planar, Revolute
from linkwork.shapes import Box

LONG, WIDE, BASE = 4.2, 1.8, 2.6  # [m] of the car, and between its axles
STEPS, DURATION = 60, 12.0

car = lw.Robot.build(
    "car",
    lw.Link("chassis", collisions=[Box((LONG, WIDE, 1.0)).at((BASE / 2, 0, 0.5))], frames={"rear": (0, 0, 0)}),
    lw.Link("wheel"),
    lw.Joint.of(Planar(), name="place", parent="world", child="chassis"),
    lw.Joint.of(
        Revolute((0, 0, 1)),
        name="steering",
        parent="chassis",
        child="wheel",
        placement=(BASE, 0, 0),
        lower=-0.65,
        upper=0.65,
    ),
).with_constraints(lw.constraints.Skate("rear"), lw.constraints.Skate("wheel"))
STREET = (
    lw.Scene()
    .with_box("in front", (LONG, WIDE, 1.0), (7.0, 0.0, 0.5))
    .with_box("behind", (LONG, WIDE, 1.0), (-4.4, 0.0, 0.5))
    .with_box("kerb", (20.0, 0.4, 1.0), (0.0, -1.4, 0.5))
)
START, END = np.array([6.0, 2.6, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0])


def parked():
    """The path of least accelerations, to rest in the gap."""
    problem = lw.Problem(car, steps=STEPS, duration=DURATION)
    problem.add("acceleration", "squares")
    problem.add("velocity", "squares", scale=0.1)
    problem.add("distance", "inequality", scene=STREET, margin=0.1)
    problem.add("configuration", "equality", at=-1, target=END, name="parked")
    problem.add("velocity", "equality", at=-1, name="at rest")
    problem.add_limits()
    return problem.solve(start=START, seeds=8)


if __name__ == "__main__":
    found = parked()
    assert found.status == "solved", found
