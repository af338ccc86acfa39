"""Lagrange's equations, and the derivative of forward dynamics, by exact derivatives of traced expressions."""

import functools

import numpy as np

from linkwork import joints
from linkwork.expr import jacobian
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import ROBOT
from oracles.comparison import EPS, assert_close
from oracles.scalars import Direct
from oracles.trees import every_moving_tree, state


class Traced:
    """A tree's functions as expressions of q, v and a."""

    def __init__(self, tree):
        self.tree, graph = tree, Graph()
        self.q, self.v, self.a = (graph.inputs(*x) for x in (("q", (tree.nq,)), ("v", (tree.nv,)), ("a", (tree.nv,))))

    def potential_energy(self):
        """−Σ m g·c, from the poses of the bodies."""
        poses = ROBOT["forward_kinematics"].compute(self.tree, self.q)
        bodies = zip(self.tree.bodies, poses, strict=True)
        moments = [X.rotation @ body.inertia.moment + X.translation * body.inertia.mass for body, X in bodies]
        return sum((-self.tree.gravity.dot(moment) for moment in moments), start=0.0)

    def values(self, outputs, q, v, a):
        """The outputs' values, (samples, outputs)."""
        symbols = zip([*self.q, *self.v, *self.a], np.concatenate([q, v, a], axis=-1).T, strict=True)
        columns = [np.broadcast_to(x, len(q)) for x in evaluate(outputs, dict(symbols))]
        return np.stack(columns, axis=-1) if columns else np.zeros((len(q), 0))


traced = functools.cache(Traced)


def test_inverse_dynamics_satisfies_lagranges_equations():
    """τ_k = Σ M_kj a_j + Σ (∂M_kj/∂q_i − ½ ∂M_ij/∂q_k) v_i v_j + ∂PE/∂q_k, where q̇ = v."""
    plain = [kind for kind in joints.ALL if kind.q_dot is joints.JointType.q_dot and kind is not joints.Fixed]
    tree = random_tree(np.random.default_rng(1), 6, types=plain)
    t, (q, v, a), n = traced(tree), state(tree), tree.nv
    M = [x for row in ROBOT["mass_matrix"].compute(tree, t.q) for x in row]
    D = t.values([x for row in jacobian(M, t.q) for x in row], q, v, a).reshape(-1, n, n, n)  # ∂M_kj/∂q_i
    g = t.values(jacobian([t.potential_energy()], t.q)[0], q, v, a)
    expected = np.einsum("nkj,nj->nk", t.values(M, q, v, a).reshape(-1, n, n), a) + g
    expected += np.einsum("nkji,ni,nj->nk", D, v, v) - 0.5 * np.einsum("nijk,ni,nj->nk", D, v, v)
    assert_close(Direct(tree).inverse_dynamics(q, v, a), expected, 1e-12, core=1)


@every_moving_tree
def test_derivative_of_acceleration_by_torque_is_the_inverse_mass_matrix(tree):
    t, (q, v, tau) = traced(tree), state(tree)
    rows = jacobian(ROBOT["forward_dynamics"].compute(tree, t.q, t.v, t.a), t.a)
    inverse = t.values([x for row in rows for x in row], q, v, tau).reshape(-1, tree.nv, tree.nv)
    M = Direct(tree).mass_matrix(q)
    bound = 2.0 * EPS * float(np.max(np.linalg.cond(M))) * tree.nv
    assert_close(inverse @ M, np.broadcast_to(np.eye(tree.nv), M.shape), bound, core=2)
