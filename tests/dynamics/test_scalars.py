"""Algorithms give equal values on every kind of scalar."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from linkwork import Robot
from linkwork.robot.robot_table import ROBOT
from oracles.comparison import EPS, assert_close, solving_bound
from oracles.scalars import Direct, arguments_of, listed, share
from oracles.trees import TREES, few_trees, robot_of

SOLVING = (
    "hybrid_dynamics",
    "impact",
    "mass_matrix_inverse",
    "mass_matrix_solve",
    "forward_dynamics_derivatives",
    "forward_dynamics_hessian",
    "forward_dynamics_second_derivatives",
    "linearize",
    "constrained_forward_dynamics",
    "constrained_forward_dynamics_derivatives",
    "constrained_impact",
    "constrained_mass_matrix_inverse",
    "constraint_power",
    "reduced_forward_dynamics",
    "reduced_linearize",
)
SECOND_ORDER = [name for name in ROBOT if name.endswith(("_hessian", "_second_derivatives"))]
every_function = pytest.mark.parametrize("name", ROBOT)


def bound(tree, name, arrays, expected):
    """Different orders of summation: a few roundings for each degree of freedom, and what solving makes of them."""
    rounding = 10.0 * EPS * max(1, tree.nv)
    if name in SOLVING and tree.nv:
        return rounding * float(np.max(np.linalg.cond(Direct(tree).mass_matrix(arrays[0])), initial=1.0))
    if name == "wrench_from_torque" and tree.nv:  # singular values down to 1e-5 of the largest count
        values = np.linalg.svd(Direct(tree).jacobian(arrays[0], tree.frames[-3].name), compute_uv=False)
        least = np.where(values > 1e-5 * values[..., :1], values, np.inf).min(axis=-1)
        return rounding * float(np.max(values[..., 0] / least, initial=1.0))
    if name in ("reduced_bias_force", "reduced_inverse_dynamics"):  # Kᵀ of forces, in which those of joints may cancel
        accelerations = arrays[2] if len(arrays) > 2 else np.zeros_like(arrays[1])
        forces = np.linalg.norm(Direct(tree).inverse_dynamics(*arrays[:2], accelerations), axis=-1)
        left = np.linalg.norm(np.reshape(expected, (len(forces), -1)), axis=-1)
        return rounding * float(np.max(forces / np.maximum(left, 1.0), initial=1.0))
    if name != "forward_dynamics":
        return rounding
    (q, v, tau), f = arrays, Direct(tree)
    return rounding + solving_bound(f.mass_matrix(q), (tau, f.bias_force(q, v)), f.forward_dynamics(q, v, tau))


@pytest.mark.slow
@few_trees
def test_dynamics_on_floats_batches_and_compiled_code_agree(tree):
    """One function in eight on each tree, so that each runs on two or three; inverse and forward dynamics on all."""
    turn = [*TREES.values()].index(tree) // 2
    for name in {*share(turn, 8), "inverse_dynamics", "forward_dynamics"}:
        tree_of_function = few_bodies(tree) if name in SECOND_ORDER else tree
        arrays, frame = arguments_of(tree_of_function, name, size=11)
        batch = getattr(Direct(tree_of_function), name)(*arrays, *frame)
        for kind, f, size in (
            ("floats", Direct(tree_of_function, "floats"), 3),
            ("compiled", robot_of(tree_of_function), 11),
        ):
            refuses = kind == "compiled" and name == "constrained_inverse_dynamics"  # what actuators alone cannot do
            function = f.compile(name) if refuses else getattr(f, name)
            results = function(*(x[:size] for x in arrays), *frame)
            expected = [x[:size] for x in listed(batch)]
            agree(results, tuple(expected), bound(tree_of_function, name, arrays, batch), f"{name}, {kind}")


@functools.cache
def few_bodies(tree):
    """A tree's first bodies, the joints of which have six velocities or more together."""
    if tree.has_couplings or tree.stacking:
        return tree
    sizes = np.cumsum([body.joint.nv for body in tree.bodies])
    count = max(2, int(np.searchsorted(sizes, 6)) + 1)
    frames = tuple(frame for frame in tree.frames if frame.body < count)
    return replace(tree, bodies=tree.bodies[:count], frames=frames, points=(), directions=())


def agree(results, expected, tolerance, label=""):
    """Compare the concatenated results of a function, since one may be small beside another."""
    actual, reference = (
        np.concatenate([x.reshape(len(x), -1) for x in listed(part)], axis=-1) for part in (results, expected)
    )
    assert_close(actual, reference, tolerance, label, core=1)


@pytest.mark.slow
@every_function
def test_robot_functions_on_casadi_scalars_agree_with_batches(name):
    pytest.importorskip("casadi")
    tree = TREES[["mixed_0", "floating_chain"][[*ROBOT].index(name) % 2]]
    tree = few_bodies(tree) if name in SECOND_ORDER else tree
    arrays, frame = arguments_of(tree, name)
    batch = getattr(Direct(tree), name)(*arrays, *frame)
    results = getattr(Direct(tree, "casadi"), name)(*arrays, *frame)
    agree(results, batch, bound(tree, name, arrays, batch))


@pytest.mark.costly
@pytest.mark.best_code
@every_function
def test_compiled_robot_functions_agree_with_the_interpreter(name):
    tree = few_bodies(TREES["mixed_1"]) if name in SECOND_ORDER else TREES["mixed_1"]
    arrays, frame = arguments_of(tree, name)
    kernel = Robot(tree).compile((name, *frame))
    compiled, interpreted = kernel(*arrays), kernel.interpret(*arrays)
    agree(compiled, interpreted, bound(tree, name, arrays, interpreted))
