"""Arms of the families that have a closed form: by tables of published robots, and random ones of each family."""

import functools
import math

import numpy as np

import linkwork as lw
from linkwork.ik.algorithms.closed_form.arm_branches import arm_branches
from linkwork.spatial import Pose

RIGHT = math.pi / 2
COLUMNS = ("a", "alpha", "d", "theta")


def arm(name, *rows, **options):
    """A robot of rows (a, alpha, d, theta), its hand at the last link."""
    return lw.Robot.from_dh(
        name, [dict(zip(COLUMNS, row, strict=True)) for row in rows], convention="standard", **options
    )


@functools.cache
def puma560():
    """Corke and Armstrong-Helouvry, A search for consensus among model parameters, 1994."""
    return arm(
        "puma560",
        (0.0, RIGHT, 0.0, 0.0),
        (0.4318, 0.0, 0.0, 0.0),
        (0.0203, -RIGHT, 0.15005, 0.0),
        (0.0, RIGHT, 0.4318, 0.0),
        (0.0, -RIGHT, 0.0, 0.0),
        (0.0, 0.0, 0.06, 0.0),
    )


@functools.cache
def kr16():
    """An industrial arm with an offset shoulder."""
    return arm(
        "kr16",
        (0.26, -RIGHT, 0.675, 0.0),
        (0.68, 0.0, 0.0, -RIGHT),
        (-0.035, RIGHT, 0.0, 0.0),
        (0.0, -RIGHT, -0.67, 0.0),
        (0.0, RIGHT, 0.0, 0.0),
        (0.0, math.pi, -0.158, 0.0),
    )


@functools.cache
def ur5():
    """Return a UR5, which has three parallel axes."""
    return arm(
        "ur5",
        (0.0, RIGHT, 0.089159, 0.0),
        (-0.425, 0.0, 0.0, 0.0),
        (-0.39225, 0.0, 0.0, 0.0),
        (0.0, RIGHT, 0.10915, 0.0),
        (0.0, -RIGHT, 0.09465, 0.0),
        (0.0, 0.0, 0.0823, 0.0),
    )


@functools.cache
def iiwa14():
    """Seven axes, shoulder and wrist spherical."""
    twists = (-RIGHT, RIGHT, RIGHT, -RIGHT, -RIGHT, RIGHT, 0.0)
    return arm(
        "iiwa14",
        *((0.0, alpha, d, 0.0) for alpha, d in zip(twists, (0.36, 0.0, 0.42, 0.0, 0.4, 0.0, 0.126), strict=True)),
    )


def random_arm(family, rng, **options):
    """One of a family, with everything else at random: twists between half and 2.6 rad, lengths of 0.1 to 0.5 m."""
    a = rng.uniform(0.1, 0.5, 6)
    alpha = rng.uniform(0.5, 2.6, 6) * rng.choice([-1.0, 1.0], 6)
    d = rng.uniform(0.1, 0.5, 6)
    theta = rng.uniform(-math.pi, math.pi, 6)
    wrist = "wrist" in family
    if wrist:
        a[3] = a[4] = d[4] = 0.0
    if "parallel 1" in family:
        alpha[0] = 0.0
    if "intersect 1" in family:
        a[0] = 0.0
    if "parallel 2" in family:
        alpha[1] = math.pi
    if "intersect 2" in family:
        a[1] = 0.0
    if "hand parallel" in family:
        alpha[3], alpha[4] = rng.choice([0.0, math.pi], 2)
    if "middle" in family:
        a[2] = a[3] = d[3] = 0.0
    if "three parallel" in family:
        alpha[1], alpha[2] = rng.choice([0.0, math.pi], 2)
        a[4] = 0.0 if "intersect 5" in family else a[4]
    return arm(family.replace(" ", "_"), *zip(a, alpha, d, theta, strict=True), **options)


FAMILIES = {
    "wrist": "spherical wrist",
    "wrist parallel 1": "spherical wrist, first and second axis parallel",
    "wrist intersect 1": "spherical wrist, first and second axis intersect",
    "wrist parallel 2": "spherical wrist, second and third axis parallel",
    "wrist intersect 2": "spherical wrist, second and third axis intersect",
    "three parallel": "three parallel axes",
    "three parallel intersect 5": "three parallel axes, the last two intersect",
    "hand parallel": "the last three axes parallel",
    "hand parallel intersect 2": "the last three axes parallel, second and third axis intersect",
    "middle": "third to fifth axis through one point",
    "middle parallel 1": "third to fifth axis through one point, first and second axis parallel",
    "middle intersect 1": "third to fifth axis through one point, first and second axis intersect",
}


def random_pose(rng):
    """A pose, at random."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    Q[:, 0] *= np.sign(np.linalg.det(Q))
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = Q, rng.normal(size=3)
    return X


def on_arrays(robot, form, X, seed, parameter=None):
    """Evaluate a closed form's function on NumPy arrays, without limits: q (n, 8, nq), valid."""
    tree = robot.tree
    A, B = tree.frame(form.relative_to), tree.frame(form.frame)
    pose = Pose.of([[X[:, i, j] for j in range(4)] for i in range(4)])
    result = arm_branches(tree, A, B, form._arm, pose, list(seed.T), parameter, False)
    q = np.stack([np.stack(np.broadcast_arrays(*branch.q), axis=-1) for branch in result], axis=1)
    return q, np.stack([branch.valid for branch in result], axis=1)
