"""A humanoid, seen from the side, squats and stands up again: what its soles push with is found, too.

Its base floats: what would drive it is zero, so all that moves it comes through its soles, which stay where they are
and only push, within friction, at a place that is under them.
"""

import numpy as np

import linkwork as lw

STEPS, DURATION, DEPTH = 16, 1.2, 0.3
pitch = lw.joints.Revolute((0, 1, 0))


def limb(name, parent, mass, length, placement, **limits):
    """A rod that hangs from another."""
    inertia = mass * length**2 / 12
    return [
        lw.Link(name, mass=mass, com=(0, 0, -length / 2), inertia=(inertia, inertia, 1e-3)),
        lw.Joint.of(pitch, name=f"{name}_joint", parent=parent, child=name, placement=placement, **limits),
    ]


human = lw.Robot.build(
    "human",
    lw.Link("torso", mass=40.0, com=(0, 0, 0.3), inertia=(2.0, 2.0, 0.5)),
    lw.Joint.of(lw.joints.Planar((1, 0, 0), (0, 0, 1)), name="base", parent="world", child="torso"),
    limb("thighs", "torso", 16.0, 0.42, (0, 0, 0), effort=400.0),
    limb("shanks", "thighs", 8.0, 0.42, (0, 0, -0.42), effort=400.0),
    limb("feet", "shanks", 2.0, 0.08, (0, 0, -0.42), effort=300.0),
)
human = human.with_frame("sole", "feet", (0.05, 0, -0.08))
START = np.array([0.0, 0.0, 0.0, -0.2, 0.4, -0.2])
START[1] -= human.pose(START, "sole")[2, 3]


def squat():
    """Down by so much at half time, and up again."""
    problem = lw.Problem(human, steps=STEPS, duration=DURATION)
    problem.add("acceleration", "squares", scale=0.1)
    problem.contact("sole", surface=(0.25, 0.3), friction=0.6)
    weight = 9.81 * human.mass
    problem.add(lw.optimal.TorqueFeature(["base"]), "equality", scale=1.0 / weight, name="no motor")
    problem.add(lambda w: w.q()[1] - START[1] + DEPTH, "equality", at=STEPS // 2, name="down")
    problem.add("configuration", "equality", at=-1, target=START, name="up")
    problem.add("velocity", "equality", at=-1, name="at rest")
    return problem.solve(START, solver="ipopt")


if __name__ == "__main__":
    found = squat()
    assert found.status == "solved", found
    moment, force = np.split(found.variables["sole"], 2, axis=1)  # in the sole's axes, of the ground on it
    com = human.center_of_mass(np.vstack([START, START, found.q]))
    a = np.diff(com, 2, axis=0) / (DURATION / STEPS) ** 2
    weight = 9.81 * human.mass
    assert np.abs(human.mass * a[:, [0, 2]] + [0.0, weight] - force[:, [0, 2]]).max() < 0.01 * weight  # Newton's law
    under = -moment[:, 1] / force[:, 2]  # where the ground pushes, ahead of the sole's middle
    assert np.abs(under).max() < 0.125 + 1e-6 and force[:, 2].min() > 0.0
    low = human.pose(found.q, "torso")[:, 2, 3] - START[1]
    assert np.isclose(low.min(), -DEPTH, atol=0.02)
    print(f"the ground pushes with {force[:, 2].min() / weight:.2f} to {force[:, 2].max() / weight:.2f} of the weight")
