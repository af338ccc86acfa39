"""Loops of hinges that move although counting says that they do not: rods of 1 kg, by Denavit and Hartenberg."""

import numpy as np

import linkwork as lw

HINGE = lw.joints.Revolute((0, 0, 1))


def along(a, alpha):
    """A step by a along x, and a turn by alpha about it."""
    c, s = np.cos(alpha), np.sin(alpha)
    return np.array([[1, 0, 0, a], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def loop_of_hinges(name, links):
    """Π Rz(θ_i) along(a_i, α_i) = 1: a chain of all hinges but the last, which closes it; the last link is fixed."""
    parts, placement, parent = [], np.eye(4), "world"
    for i, (a, alpha) in enumerate(links[:-1], start=1):
        hinge = lw.Joint.of(HINGE, name=f"theta{i}", parent=parent, child=f"link{i}", placement=placement)
        inertia = (0.01, a * a / 12 + 0.01, a * a / 12 + 0.01)
        parts += [lw.Link(f"link{i}", mass=1.0, com=(a / 2, 0, 0), inertia=inertia), hinge]
        placement, parent = along(a, alpha), f"link{i}"
    robot = lw.Robot.build(name, *parts).with_frame("end", parent, placement)
    robot = robot.with_frame("start", "world", np.linalg.inv(along(*links[-1])))
    return robot.with_loop("closing", "end", "start", HINGE)


def bennett(a=1.0, alpha=0.7, beta=1.9):
    """Bennett's 4R: links of a and b, b/sin β = a/sin α, opposite ones alike."""
    b = a * np.sin(beta) / np.sin(alpha)
    return loop_of_hinges("Bennett", [(a, alpha), (b, beta), (a, alpha), (b, beta)])


def bennett_angles(theta, alpha=0.7, beta=1.9):
    """Return θ₁ to θ₃ in closed form: tan(θ₁/2) tan(θ₂/2) = sin((β + α)/2) / sin((β − α)/2), θ₃ = −θ₁."""
    ratio = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    return np.array([theta, 2 * np.arctan(ratio / np.tan(theta / 2)), -theta])


def bricard():
    """Bricard's rectangular 6R: links of 1 m, each hinge's axis at right angles to the next."""
    return loop_of_hinges("Bricard", [(1.0, sign * np.pi / 2) for sign in (1, -1, 1, -1, 1, -1)])
