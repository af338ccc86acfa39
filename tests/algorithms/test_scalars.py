"""One text of each algorithm, and the same numbers on every kind of scalar that it runs on."""

import numpy as np
import pytest

from linkwork import Robot
from linkwork.algorithms import ROBOT
from oracles.comparison import EPS, assert_close, solving_bound
from oracles.scalars import Direct, arguments_of, listed, share
from oracles.trees import TREES, few_trees, robot_of

every_function = pytest.mark.parametrize("name", ROBOT)


def bound(tree, name, arrays):
    """Different orders of summation: a few roundings for each degree of freedom, and what solving makes of them."""
    rounding = 10.0 * EPS * max(1, tree.nv)
    if name in ("mass_matrix_inverse", "mass_matrix_solve") and tree.nv:
        return rounding * float(np.max(np.linalg.cond(Direct(tree).mass_matrix(arrays[0])), initial=1.0))
    if name != "forward_dynamics":
        return rounding
    (q, v, tau), f = arrays, Direct(tree)
    return rounding + solving_bound(f.mass_matrix(q), (tau, f.bias_force(q, v)), f.forward_dynamics(q, v, tau))


@few_trees
def test_floats_batches_and_compiled_code_agree(tree):
    """One function in four on each tree, so that each runs on four or five; inverse and forward dynamics on all."""
    turn = [*TREES.values()].index(tree) // 2
    for name in {*share(turn, 4), "inverse_dynamics", "forward_dynamics"}:
        arrays, frame = arguments_of(tree, name, size=11)
        batch = getattr(Direct(tree), name)(*arrays, *frame)
        for kind, f in (("floats", Direct(tree, "floats")), ("compiled", robot_of(tree))):
            agree(getattr(f, name)(*arrays, *frame), batch, bound(tree, name, arrays), f"{name}, {kind}")


def agree(found, expected, tolerance, what=""):
    for one, other in zip(listed(found), listed(expected), strict=True):
        assert_close(one, other, tolerance, what, core=other.ndim - 1)


@every_function
def test_casadi_agrees(name):
    pytest.importorskip("casadi")
    tree = TREES[["mixed_0", "floating_chain"][[*ROBOT].index(name) % 2]]
    arrays, frame = arguments_of(tree, name)
    batch = getattr(Direct(tree), name)(*arrays, *frame)
    found = getattr(Direct(tree, "casadi"), name)(*arrays, *frame)
    agree(found, batch, bound(tree, name, arrays))


@every_function
def test_the_interpreter_agrees(name):
    tree = TREES["mixed_1"]
    arrays, frame = arguments_of(tree, name)
    kernel = Robot(tree).compile((name, *frame))
    compiled, interpreted = kernel(*arrays), kernel.interpret(*arrays)
    agree(compiled, interpreted, bound(tree, name, arrays))
