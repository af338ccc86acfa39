"""Coupled joints as constraints: the free tree with all of its joints, and multipliers that hold the followers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.joints.base.plain_coordinates import is_plain
from linkwork.model.body import Following
from linkwork.model.coupled_joints import with_couplings
from linkwork.model.tree import Tree

from .textbook import Textbook

__all__ = ["Constrained", "randomly_coupled"]


def randomly_coupled(tree: Tree, count: int, seed: int = 0) -> Tree:
    """Couple some joints of a tree to others, in chains and branches, at ratios of either sign."""
    rng = np.random.default_rng(seed)
    plain = [body for body in tree.bodies if body.joint.nv and is_plain(body.joint)]
    plain = [plain[k] for k in rng.permutation(len(plain))]
    couplings = {}
    for k, body in enumerate(plain):
        masters = [candidate for candidate in plain[:k] if candidate.joint.nv == body.joint.nv]
        if masters and len(couplings) < count:
            master = masters[rng.integers(len(masters))]
            ratio = float(rng.choice((-1.0, 1.0)) * rng.uniform(0.2, 2.0))
            couplings[body.joint_name] = Following(master.joint_name, ratio, float(rng.normal()))
    assert len(couplings) == count
    return with_couplings(tree, couplings)


class Constrained:
    """A tree with couplings as the free tree under the constraints A v = 0, with G a basis of what they allow."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.free = free = replace(tree, bodies=tuple(replace(body, coupling=None) for body in tree.bodies))
        self.G = np.zeros((free.nv, tree.nv))
        rows = []
        for i, body in enumerate(tree.bodies):
            free_slice, coupled_slice = free.v_slices[i], tree.v_slices[i]
            ratio = 1.0 if body.coupling is None else body.coupling.ratio
            self.G[free_slice, coupled_slice] = ratio * np.eye(body.joint.nv)
            if body.coupling is not None:
                master = free.v_slices[free.joint_index(body.coupling.joint)]
                row = np.zeros((body.joint.nv, free.nv))
                row[:, free_slice], row[:, master] = np.eye(body.joint.nv), -ratio * np.eye(body.joint.nv)
                rows.append(row)
        self.A = np.concatenate(rows) if rows else np.zeros((0, free.nv))
        assert not (self.A @ self.G).any()

    def q(self, q: np.ndarray) -> np.ndarray:
        """The free tree's configuration."""
        full = np.zeros((*q.shape[:-1], self.free.nq))
        for i, body in enumerate(self.tree.bodies):
            q_body = q[..., self.tree.q_slices[i]]
            if body.coupling is not None:
                q_body = body.coupling.ratio * q_body + body.coupling.offset
            full[..., self.free.q_slices[i]] = q_body
        return full

    def v(self, v: np.ndarray) -> np.ndarray:
        """The free tree's velocity or acceleration."""
        return v @ self.G.T

    def acceleration_under(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """The free tree's accelerations: M a + h = τ + Aᵀ λ with A a = 0, by textbook mechanics.

        τ acts on the masters alone.
        """
        full, rates = self.q(q), self.v(v)
        M = np.broadcast_to(Textbook(self.free, full).mass_matrix(), (*full.shape[:-1], *(self.free.nv,) * 2))
        h = Textbook(self.free, full, rates, np.zeros_like(rates)).inverse_dynamics()
        forces = np.zeros_like(h)
        for i, _ in self.tree.stacked():
            forces[..., self.free.v_slices[i]] = tau[..., self.tree.v_slices[i]]
        m = len(self.A)
        zero, A = np.zeros((*M.shape[:-2], m, m)), np.broadcast_to(self.A, (*M.shape[:-2], *self.A.shape))
        K = np.block([[M, np.swapaxes(A, -1, -2)], [A, zero]])
        right = np.concatenate([forces - h, np.zeros((*h.shape[:-1], m))], axis=-1)
        return np.linalg.solve(K, right[..., None])[..., : self.free.nv, 0]
