"""Rigid-body mechanics by Lagrange, in homogeneous 4 × 4 matrices and their time derivatives.

A point of a body moves as r = X r_b, so its velocity is Ẋ r_b and its acceleration Ẍ r_b; a body's mass distribution
is the matrix P = ∫ρ r_b r_bᵀ (r_b with a fourth component 1), and every quantity of dynamics is a trace:

    kinetic energy  ½ tr(Ẋ P Ẋᵀ),     mass matrix  M_kl = Σ tr(J_k P J_lᵀ),     joint forces  u_k = Σ tr(J_k P (Ẍ − G)ᵀ)

with J_k what Ẋ is for the k-th unit velocity and G gravity in the last column.  Of linkwork it takes a joint's
transform and q̇, and their derivatives by dual numbers; no spatial algebra, no motion subspaces, no recursion over
wrenches.

Source: Uicker, Dynamic force analysis of spatial linkages, ASME J. Appl. Mech. 34, 1967; Kane's projection for
velocities that are not rates of coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr.autodiff.dual_numbers import Dual, parts
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree

__all__ = ["Jet", "Textbook"]


@dataclass(frozen=True)
class Jet:
    """A pose (..., 4, 4) and its first two time derivatives."""

    X: np.ndarray
    rate: np.ndarray
    second: np.ndarray

    @staticmethod
    def constant(X: Any) -> Jet:
        X = np.asarray(X, dtype=float)
        return Jet(X, np.zeros_like(X), np.zeros_like(X))

    def __matmul__(self, counterpart: Jet) -> Jet:
        return Jet(
            self.X @ counterpart.X,
            self.rate @ counterpart.X + self.X @ counterpart.rate,
            self.second @ counterpart.X + 2.0 * self.rate @ counterpart.rate + self.X @ counterpart.second,
        )

    def inverse(self) -> Jet:
        Y = np.linalg.inv(self.X)
        rate = -Y @ self.rate @ Y
        return Jet(Y, rate, -Y @ self.second @ Y - 2.0 * Y @ self.rate @ rate)


class Textbook:
    """The motion of a tree at q (..., nq), v, a (..., nv)."""

    def __init__(self, tree: Tree, q: Any, v: Any = None, a: Any = None) -> None:
        self.tree, self.q = tree, np.asarray(q, dtype=float)
        zero = np.zeros(tree.nv)
        self.v, self.a = zero if v is None else np.asarray(v, dtype=float), zero if a is None else np.asarray(a)
        self.bodies = _motion(tree, self.q, self.v, self.a)

    # -- kinematics

    def frame(self, name: str) -> Jet:
        """The pose of a frame in the world."""
        frame = self.tree.frame(name)
        return self.bodies[frame.body] @ Jet.constant(_matrix(frame.placement))

    def pose(self, B: str, A: str = "world") -> np.ndarray:
        return (self.frame(A).inverse() @ self.frame(B)).X

    def twist(self, B: str, A: str = "world", E: str = "world", point: str | None = None) -> np.ndarray:
        """(ω; v) of B relative to A at the origin of ``point``, in the axes of E."""
        X, point, R_EA = self._in_axes(B, A, E, point)
        R, R_dot = X.X[..., :3, :3], X.rate[..., :3, :3]
        return _stacked(R_EA, _vee(R_dot @ _T(R)), (X.rate @ point)[..., :3, 0])

    def acceleration(self, B: str, A: str = "world", E: str = "world", point: str | None = None) -> np.ndarray:
        """(ω̇; v̇) of B as seen from A: of the point of B that is at the origin of ``point``, in the axes of E."""
        X, point, R_EA = self._in_axes(B, A, E, point)
        R, R_dot, R_second = (Y[..., :3, :3] for Y in (X.X, X.rate, X.second))
        return _stacked(R_EA, _vee(R_second @ _T(R) + R_dot @ _T(R_dot)), (X.second @ point)[..., :3, 0])

    def jacobian(self, B: str, A: str = "world", E: str = "world", point: str | None = None) -> np.ndarray:
        """The twists of the unit velocities, in columns."""
        return np.moveaxis(self._along_units().twist(B, A, E, point), 0, -1)

    def marks(self, B: str, r: Any, A: str = "world", E: str = "world", *, directions: bool = False) -> Jet:
        """X r, Ẋ r, Ẍ r: points r (..., n, 3) of B from A's origin, and their rates as seen from A, in the axes of E.

        The fourth component of r is 1, and 0 of directions.
        """
        X, R_EA = self.frame(A).inverse() @ self.frame(B), self.pose(A, E)[..., None, :3, :3]
        r = np.asarray(r, dtype=float)
        column = np.concatenate([r, np.full((*r.shape[:-1], 1), 0.0 if directions else 1.0)], axis=-1)[..., None]
        return Jet(*((R_EA @ (Y[..., None, :, :] @ column)[..., :3, :])[..., 0] for Y in (X.X, X.rate, X.second)))

    def marks_jacobian(
        self, B: str, r: Any, A: str = "world", E: str = "world", *, directions: bool = False
    ) -> np.ndarray:
        """The rates of `marks` at the unit velocities, in columns (..., n, 3, nv)."""
        return np.moveaxis(self._along_units().marks(B, r, A, E, directions=directions).rate, 0, -1)

    def _in_axes(self, B: str, A: str, E: str, at: str | None) -> tuple[Jet, np.ndarray, np.ndarray]:
        """X_AB(t), the point of B that is asked about (a column, in B), and the rotation from A to E."""
        X = self.frame(A).inverse() @ self.frame(B)
        return X, self.pose(B if at is None else at, B)[..., :, 3:], self.pose(A, E)[..., :3, :3]

    def _along_units(self) -> Textbook:
        units = np.eye(self.tree.nv).reshape(self.tree.nv, *(1,) * (self.q.ndim - 1), self.tree.nv)
        return Textbook(self.tree, self.q, units)

    # -- dynamics

    def mass_matrix(self) -> np.ndarray:
        units = self._along_units()
        rates = [units.frame(f.name).rate for f in self.tree.frames]
        terms = [np.einsum("k...ij,jm,l...im->...kl", J, P, J) for J, P in zip(rates, self._masses(), strict=True)]
        return np.sum(terms, axis=0)

    def inverse_dynamics(self) -> np.ndarray:
        units = self._along_units()
        G = np.zeros((4, 4))
        G[:3, 3] = tuple(self.tree.gravity)
        total: Any = np.zeros((*np.broadcast_shapes(self.q.shape[:-1], self.v.shape[:-1]), self.tree.nv))
        for frame, P in zip(self.tree.frames, self._masses(), strict=True):
            force = P @ _T(self.frame(frame.name).second - G)
            total = total + np.einsum("k...ij,...ji->...k", units.frame(frame.name).rate, force)
        return total

    def kinetic_energy(self) -> np.ndarray:
        rates = [self.frame(f.name).rate for f in self.tree.frames]
        return sum(0.5 * np.einsum("...ij,jm,...im->...", X, P, X) for X, P in zip(rates, self._masses(), strict=True))

    def potential_energy(self) -> np.ndarray:
        """Zero where a mass is at the world's origin."""
        return -self._weighted("X") @ np.array([*self.tree.gravity])

    def center_of_mass(self, subtree: str | None = None, A: str = "world", E: str = "world") -> tuple[np.ndarray, ...]:
        """Place, velocity and acceleration as seen from A, in E's axes: of all links, or of what hangs on a link."""
        whole = subtree is None or self.tree.frame(subtree).body == WORLD
        inside = {
            f.name for f in self.tree.frames if whole or self._node(f.name) not in self._reached(self._node(subtree))
        }
        X_CA, R = self.frame(A).inverse(), self.pose(A, E)[..., :3, :3]
        parts = [
            (X_CA @ self.frame(f.name), P)
            for f, P in zip(self.tree.frames, self._masses(), strict=True)
            if f.name in inside
        ]
        mass = sum(P[3, 3] for _, P in parts)
        of = ([getattr(motion, name) @ P for motion, P in parts] for name in ("X", "rate", "second"))
        return tuple((R @ sum(terms)[..., :3, 3:])[..., 0] / mass for terms in of)

    def _link(self, name: str) -> str:
        """The link that carries a frame."""
        frame = self.tree.frame(name)
        return name if frame.is_link else self._link(frame.welded_to)

    def _node(self, name: str) -> str | int:
        """The link that carries a frame; the index of its body for links that are welded to no other one."""
        frame = self.tree.frame(self._link(name))
        if frame.body == WORLD or frame.welded_to is None or frame.welded_to == "world":
            return frame.body
        return frame.name

    def _reached(self, closed: str | int) -> set[str | int]:
        """All links to which a walk over welds and joints from the world leads that does not pass one link."""
        known = {frame.name: frame for frame in self.tree.frames}
        edges = [{self._node(name), self._node(f.welded_to)} for name, f in known.items() if f.welded_to in known]
        for i, body in enumerate(self.tree.bodies):
            ends = [self._node(name) for name in body.links or () if name in known and known[name].body == body.parent]
            at_joint = [self._node(name) for name in (body.links or ())[1:] if name in known and known[name].body == i]
            edges.append({(ends or [body.parent])[0], (at_joint or [i])[0]})
        reached: set[str | int] = set()
        new: set[str | int] = {WORLD}
        while new:
            reached |= new
            new = {x for edge in edges if edge & reached for x in edge} - reached - {closed}
        return reached

    def center_of_mass_acceleration(self) -> np.ndarray:
        return self._weighted("second") / sum(P[3, 3] for P in self._masses())

    def momentum(self) -> np.ndarray:
        """(angular about the world's origin; linear): Σ ∫ρ r × ṙ and Σ ∫ρ ṙ."""
        total = np.zeros(3)
        for frame, P in zip(self.tree.frames, self._masses(), strict=True):
            motion = self.frame(frame.name)
            moments = (motion.rate @ P @ _T(motion.X))[..., :3, :3]  # ∫ρ ṙ rᵀ
            total = total + _vee(moments - _T(moments))
        return np.concatenate([total, self._weighted("rate")], axis=-1)

    def rotational_inertia(self, point: np.ndarray) -> np.ndarray:
        """∫ρ (|r|² 1 − r rᵀ) with r from a point (..., 3), in the world's axes."""
        identity = np.broadcast_to(np.eye(4), (*point.shape[:-1], 4, 4)).copy()
        identity[..., :3, 3] -= point
        placed = [identity @ self.frame(frame.name).X for frame in self.tree.frames]
        second = sum((X @ P @ _T(X))[..., :3, :3] for X, P in zip(placed, self._masses(), strict=True))
        return np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second

    def angular_momentum_rate(self) -> np.ndarray:
        """ḣ about the world's origin: Σ ∫ρ r × r̈."""
        total = np.zeros(3)
        for frame, P in zip(self.tree.frames, self._masses(), strict=True):
            motion = self.frame(frame.name)
            moments = (motion.second @ P @ _T(motion.X))[..., :3, :3]  # ∫ρ r̈ rᵀ
            total = total + _vee(moments - _T(moments))
        return total

    def _weighted(self, part: str) -> np.ndarray:
        motions = [getattr(self.frame(f.name), part) for f in self.tree.frames]
        return sum((X @ P)[..., :3, 3] for X, P in zip(motions, self._masses(), strict=True))

    def _masses(self) -> list[np.ndarray]:
        """P of every link, from its own inertia: what is welded to a body is not lumped here."""
        return [_mass_distribution(frame.inertia) for frame in self.tree.frames]


def _motion(tree: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[int, Jet]:
    """The motion of every body in the world, by its index."""
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], a.shape[:-1])
    jets = {WORLD: Jet.constant(np.broadcast_to(np.eye(4), (*batch, 4, 4)))}
    for i, body in enumerate(tree.bodies):
        joint, index, rates = body.joint, tree.q_slices[i], tree.v_slices[i]
        q_i, v_i, a_i = (list(np.moveaxis(x[..., s], -1, 0)) for x, s in ((q, index), (v, rates), (a, rates)))
        if body.coupling is not None:
            ratio, offset = body.coupling.ratio, body.coupling.offset
            q_i, v_i, a_i = [ratio * x + offset for x in q_i], [ratio * x for x in v_i], [ratio * x for x in a_i]
        q_dot = joint.q_dot(q_i, v_i)
        moving = joint.q_dot(*([Dual(*pair) for pair in zip(*x, strict=True)] for x in ((q_i, q_dot), (v_i, a_i))))
        q_t = [Dual(Dual(x, y), Dual(y, parts(z)[1])) for x, y, z in zip(q_i, q_dot, moving, strict=True)]
        X_J = _jet(joint.X(q_t).elements(), batch)
        X = jets[body.parent] @ Jet.constant(_matrix(body.placement)) @ X_J
        jets[i] = X @ Jet.constant(_matrix(body.rotor))
    return jets


def _jet(elements: Any, batch: tuple[int, ...]) -> Jet:
    """Sixteen numbers of two derivatives each, as arrays."""
    values, rates = zip(*(parts(x) for x in elements), strict=True)
    numerals = [[parts(x)[0] for x in values], [parts(x)[0] for x in rates], [parts(x)[1] for x in rates]]
    full = [np.stack([np.broadcast_to(x, batch) for x in part], axis=-1) for part in numerals]
    return Jet(*(part.astype(float).reshape(*batch, 4, 4) for part in full))


def _matrix(X: Any) -> np.ndarray:
    return np.array(X.elements(), dtype=float).reshape(4, 4)


def _mass_distribution(inertia: Any) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = inertia.about.elements()
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    P = np.zeros((4, 4))
    P[:3, :3] = 0.5 * np.trace(J) * np.eye(3) - J
    P[:3, 3] = P[3, :3] = tuple(inertia.moment)
    P[3, 3] = inertia.mass
    return P


def _T(M: np.ndarray) -> np.ndarray:
    return np.swapaxes(M, -1, -2)


def _vee(M: np.ndarray) -> np.ndarray:
    """The vector w of the antisymmetric matrix [w×]."""
    return np.stack([M[..., 2, 1], M[..., 0, 2], M[..., 1, 0]], axis=-1)


def _stacked(R: np.ndarray, angular: np.ndarray, linear: np.ndarray) -> np.ndarray:
    return np.concatenate([(R @ x[..., None])[..., 0] for x in (angular, linear)], axis=-1)
