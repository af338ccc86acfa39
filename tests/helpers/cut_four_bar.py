"""A planar four-bar that is cut at any of its hinges, and Newton's and Euler's equations of its bars, each alone."""

from __future__ import annotations

import numpy as np

import linkwork as lw

HINGE = lw.joints.Revolute((0, 1, 0))
GROUND, GRAVITY = 0.4, 9.81
LENGTHS = {"crank": 0.1, "coupler": 0.5, "rocker": 0.4}
MASSES = {"crank": 0.4, "coupler": 1.0, "rocker": 0.8}
CENTERS = {"crank": (0.03, 0.01), "coupler": (0.3, -0.04), "rocker": (0.15, 0.02)}  # along the bars' x and z
INERTIA = 0.02  # of each about y, through its centre of mass [kg·m²]
AFTER = {"A": "crank", "B": "coupler", "C": "rocker", "D": "ground"}  # the bar after each hinge, round the loop


def four_bar(cut, **resisting):
    """Bars along their own x, with hinges A (ground, crank), B (crank, coupler), C (coupler, rocker), D (rocker,
    ground), of which one closes the loop; what resists is in C."""
    ends = {name: lw.pose((length, 0.0, 0.0)) for name, length in LENGTHS.items()}
    links = {}
    for name, (x, z) in CENTERS.items():
        options = {"mass": MASSES[name], "com": (x, 0.0, z), "inertia": (0.01, INERTIA, 0.01)}
        links[name] = lw.Link(name, **options, frames={f"{name} end": ends[name]})
    far = lw.pose((GROUND, 0.0, 0.0))

    def hinge(name, parent, child, placement=None, rotor=None):
        more = resisting if name == "C" else {}
        return lw.Joint.of(HINGE, name=name, parent=parent, child=child, placement=placement, rotor=rotor, **more)

    by_its_end = {name: lw.pose((-length, 0.0, 0.0)) for name, length in LENGTHS.items()}
    A, B = hinge("A", "world", "crank"), hinge("B", "crank", "coupler", ends["crank"])
    D = hinge("D", "world", "rocker", far)
    joints = {
        "B": [A, D, hinge("C", "rocker", "coupler", ends["rocker"], by_its_end["coupler"])],
        "C": [A, B, D],
        "D": [A, B, hinge("C", "coupler", "rocker", ends["coupler"], by_its_end["rocker"])],
    }[cut]
    robot = lw.Robot.build(f"cut at {cut}", *(part for joint in joints for part in (links[joint.child], joint)))
    if cut == "B":
        return robot.with_loop("B", "crank end", "coupler", HINGE)
    if cut == "C":
        return robot.with_loop("C", "coupler end", "rocker end", HINGE, **resisting)
    return robot.with_frame("ground end", "world", far).with_loop("D", "ground end", "rocker", HINGE)


def by_bars(robot, values):
    """Return sums over joints for each bar: angles, rates or accelerations relative to the ground."""
    results = {}
    for body, x in zip(robot.tree.bodies, values, strict=True):
        before = 0.0 if body.parent < 0 else results[robot.tree.bodies[body.parent].name]
        results[body.name] = x + before
    return results


def by_joints(robot, bars):
    """The other way round."""
    names = [body.name for body in robot.tree.bodies]
    before = [0.0 if body.parent < 0 else bars[names[body.parent]] for body in robot.tree.bodies]
    return np.array([bars[name] - x for name, x in zip(names, before, strict=True)])


def turned(angle, r):
    """A way (x, z) that a bar carries, after a turn about y."""
    return np.array([r[0] * np.cos(angle) + r[1] * np.sin(angle), r[1] * np.cos(angle) - r[0] * np.sin(angle)])


def closed(crank):
    """The angles of the bars about y with the loop closed."""
    b, c = LENGTHS["coupler"], LENGTHS["rocker"]
    p = turned(crank, (LENGTHS["crank"], 0.0))
    w = np.array([GROUND, 0.0]) - p
    d = np.hypot(*w)
    along = (b * b - c * c + d * d) / (2.0 * d)
    x = p + along * w / d + np.sqrt(b * b - along * along) * np.array([-w[1], w[0]]) / d
    at = {"coupler": x - p, "rocker": x - [GROUND, 0.0]}
    return {"crank": crank} | {name: -np.arctan2(vector[1], vector[0]) for name, vector in at.items()}


def newton_euler(angle, rate, bend, spring=0.0):
    """The torque of the ground on the crank, and the forces (x, z) at A, B, C and D on the bar after it, of three bars
    in the plane that are free but for these; ``spring`` is a torque of the coupler on the rocker."""
    position = {"A": np.zeros(2), "D": np.array([GROUND, 0.0])}
    position["B"] = turned(angle["crank"], (LENGTHS["crank"], 0.0))
    position["C"] = position["B"] + turned(angle["coupler"], (LENGTHS["coupler"], 0.0))

    def accelerated(name, r):
        return bend[name] * np.array([r[1], -r[0]]) - rate[name] ** 2 * r  # θ̈ y × r − θ̇² r

    origins = {"crank": ("A", 0.0), "coupler": ("B", accelerated("crank", position["B"])), "rocker": ("D", 0.0)}
    matrix, right = np.zeros((9, 9)), np.zeros(9)
    pure = {"crank": 0.0, "coupler": -spring, "rocker": spring}
    for k, (name, hinges) in enumerate((("crank", "AB"), ("coupler", "BC"), ("rocker", "CD"))):
        start, base = origins[name]
        com = turned(angle[name], CENTERS[name])
        for sign, hinge in zip((1.0, -1.0), hinges, strict=True):
            j, arm = 2 * "ABCD".index(hinge), position[hinge] - position[start] - com
            matrix[3 * k : 3 * k + 2, j : j + 2] = sign * np.eye(2)
            matrix[3 * k + 2, j : j + 2] = sign * np.array([arm[1], -arm[0]])
        right[3 * k : 3 * k + 2] = MASSES[name] * (base + accelerated(name, com) + np.array([0.0, GRAVITY]))
        right[3 * k + 2] = INERTIA * bend[name] - pure[name]
    matrix[2, 8] = 1.0
    *forces, torque = np.linalg.solve(matrix, right)
    return torque, dict(zip("ABCD", np.reshape(forces, (4, 2)), strict=True))
