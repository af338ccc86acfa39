"""Four-bar whose coupler draws a straight line: optimization of its lengths together with its angles at every step.

Lengths are parameters of the whole path, and angles are its configurations.  Closing the loop is an equation of both.
"""

import numpy as np

import linkwork as lw
from linkwork.expr import cos, sin
from linkwork.optimal import FunctionFeature, PerStep

STEPS = 25
TIMES = np.array([0.0, *np.arange(0.5, STEPS - 2.0), STEPS - 2.0]) / (STEPS - 2)  # [s] of a path without a start
LINE = np.stack([1.0 - TIMES, np.full(STEPS, 1.0)], axis=1)  # x and z [m]
turn = lw.joints.Revolute((0, -1, 0))  # angles from x towards z
bars = lw.Robot.build(
    "bars",
    [lw.Link(name, mass=1.0) for name in ("crank", "coupler", "rocker")],
    [lw.Joint.of(turn, name=f"{name}_angle", parent="world", child=name) for name in ("crank", "coupler", "rocker")],
)


def ray(angle, length):
    return np.array([length * cos(angle), length * sin(angle)])


def pin(q, lengths):
    """Positions of the pin between coupler and rocker: computed by the crank, and by the rocker."""
    (crank, coupler, rocker), (ground, a, b, c, _, _) = q, lengths
    return ray(crank, a) + ray(coupler, b), np.array([ground, 0.0]) + ray(rocker, c)


def drawn(q, lengths):
    """Position of the drawing point, by its distances along the coupler and across it."""
    (crank, coupler, _), (_, a, _, _, along, across) = q, lengths
    return ray(crank, a) + ray(coupler, along) + ray(coupler + np.pi / 2, across)


def loop(w):
    coupler_end, rocker_end = pin(w.q(), w.parameter("lengths"))
    return coupler_end - rocker_end


def synthesised():
    """The lengths [m] of ground, crank, coupler and rocker and the drawing point's position, and angles by step."""
    problem = lw.TrajectoryProblem(bars, num_steps=STEPS)
    problem = problem.add_parameter(
        "lengths", 6, lower=[0.2] * 4 + [-1.5] * 2, upper=1.5, initial_guess=[1.0, 0.5, 1.0, 1.0, 1.0, 0.3]
    )
    problem = problem.add(loop, "equality", name="loop")
    line = FunctionFeature("line", lambda w, x: drawn(w.q(), w.parameter("lengths")) - x, shape=(2,), units="m")
    problem = problem.add(line, "least_squares", target=PerStep(LINE))
    problem = problem.add("acceleration", "least_squares", steps=slice(2, None), scale=1e-3)
    result = problem.solve(initial_guess=np.linspace([0.6, 0.5, 1.8], [2.4, 0.5, 1.8], STEPS), max_iterations=3000)
    return result, result.parameters["lengths"]


if __name__ == "__main__":
    result, lengths = synthesised()
    assert result.status == "solved", result
    coupler_end, rocker_end = np.array([pin(q, lengths) for q in result.q]).swapaxes(0, 1)
    assert np.abs(coupler_end - rocker_end).max() < 1e-6
    crank_pin = np.array([ray(q[0], lengths[1]) for q in result.q])  # the loop, from the crank alone: two circles
    ground = np.array([lengths[0], 0.0])
    away = np.linalg.norm(crank_pin - ground, axis=1)
    along = (lengths[3] ** 2 - lengths[2] ** 2 + away**2) / (2.0 * away)
    unit = (crank_pin - ground) / away[:, None]
    high = np.sqrt(lengths[3] ** 2 - along**2)[:, None] * np.stack([unit[:, 1], -unit[:, 0]], axis=1)
    crossing = ground + along[:, None] * unit
    assert np.minimum(*(np.abs(crossing + s * high - coupler_end).max(axis=1) for s in (1.0, -1.0))).max() < 1e-6
    off = np.array([drawn(q, lengths) for q in result.q]) - LINE
    assert np.abs(off).max() < 5e-3
    print(f"a line of 1 m, straight within {1e3 * np.abs(off[:, 1]).max():.1f} mm, by bars of {lengths[:4].round(2)} m")
