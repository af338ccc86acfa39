"""Comparison of the joint-space dynamics of two trees."""

from __future__ import annotations

import numpy as np

from linkwork.model.tree import Tree

from .comparison import assert_close, solving_bound
from .scalars import Direct

__all__ = ["assert_same_dynamics"]


def assert_same_dynamics(tree_a: Tree, tree_b: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
    f, g = Direct(tree_a), Direct(tree_b)
    tau = f.inverse_dynamics(q, v, a)
    assert_close(g.inverse_dynamics(q, v, a), tau, 1e-13, "inverse_dynamics", core=1)
    assert_close(g.bias_force(q, v), f.bias_force(q, v), 1e-13, "bias_force", core=1)
    assert_close(g.gravity_force(q), f.gravity_force(q), 1e-13, "gravity_force", core=1)
    M = f.mass_matrix(q)
    assert_close(g.mass_matrix(q), M, 1e-13, "mass_matrix", core=2)
    bound = solving_bound(M, (tau, f.bias_force(q, v)), a)
    assert_close(g.forward_dynamics(q, v, tau), a, bound, "forward_dynamics", core=1)
