"""Soft tasks under hard ones: minima by the conditions of Karush, Kuhn and Tucker, and beside others' solvers."""

from __future__ import annotations

import numpy as np

import linkwork as lw

ARM = lw.load("arm7")
MIDDLE = 0.5 * (ARM.lower + ARM.upper)


def numeric(function, q, h=1e-6):
    """The Jacobian of a function of q, whose joints all have one number."""
    return np.stack([(function(q + h * e) - function(q - h * e)) / (2.0 * h) for e in np.eye(len(q))], axis=-1)


def gradient_left(errors, q, weights, multipliers, lower, upper):
    """∇ of ½ Σ (w e)² + λᵀ c, but for what limits hold, by differences."""
    e, J = errors(q), numeric(errors, q)
    g = J.T @ (weights**2 * e + multipliers)
    g[(q <= lower) & (g > 0.0)] = 0.0
    g[(q >= upper) & (g < 0.0)] = 0.0
    return g


def test_minima_are_those_of_the_conditions():
    q = ARM.random_configuration(seed=1, size=40)
    X, p = ARM.pose(q, "hand"), ARM.pose(ARM.random_configuration(seed=2, size=40), "forearm_distal")[:, :3, 3]
    problem = ARM.ik_problem([lw.ik.PoseTask("hand"), lw.ik.PositionTask("forearm_distal", weight=(1.0, 2.0, 0.5))])
    assert problem.solver == "augmented"
    found = problem.solve(hand=X, forearm_distal=p)
    assert found.feasible.all() and found.success.mean() >= 0.95
    assert (found.q >= ARM.lower).all() and (found.q <= ARM.upper).all()
    for k in np.flatnonzero(found.success)[:10]:

        def errors(q, k=k):
            X_q = ARM.pose(q, "hand")
            R = X[k, :3, :3].T @ X_q[:3, :3]
            phi = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
            F = ARM.pose(q, "forearm_distal")
            return np.concatenate([phi, X_q[:3, :3].T @ (X_q[:3, 3] - X[k, :3, 3]), F[:3, :3].T @ (F[:3, 3] - p[k])])

        g = gradient_left(errors, found.q[k], problem.weights, found.row_multipliers[k], ARM.lower, ARM.upper)
        assert np.abs(g).max() <= 1e-5
        assert np.abs(errors(found.q[k])[:6]).max() <= 1e-6
