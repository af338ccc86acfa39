"""Random mechanisms: random trees, closed by joints of any type at their poses; and their functions on floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.constraints import LoopJoint
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.joints import ALL, Cylindrical, Floating, JointType, Prismatic, Revolute, Spherical, Universal
from linkwork.kinematics.algorithms.forward_kinematics import pose
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import constrained_forward_dynamics
from linkwork.mechanisms.algorithms.constraint_rows import (
    KinematicState,
    constraint_bias,
    constraint_error,
    constraint_jacobian,
)
from linkwork.model.body import Frame
from linkwork.model.random_tree import random_pose, random_tree
from linkwork.model.tree import Tree
from linkwork.model.tree_attachments import with_constraints
from linkwork.spatial import Pose
from oracles.coupling import randomly_coupled

__all__ = ["KINDS", "Mechanism", "closed", "mechanism", "mechanisms", "ring"]

KINDS = {kind.type_name(): kind for kind in ALL}
_CHAIN = (Spherical, Revolute, Cylindrical, Universal, Prismatic)


@dataclass(frozen=True)
class Mechanism:
    """A tree with constraints, assembled at q; all functions on floats."""

    tree: Tree
    q: list[float]

    @property
    def M(self) -> np.ndarray:
        return np.array(mass_matrix(self.tree, self.q), dtype=float)

    @property
    def error(self) -> np.ndarray:
        return self.error_at(self.q)

    def error_at(self, q: Sequence[float]) -> np.ndarray:
        return np.array(constraint_error(self.tree, list(q)), dtype=float)

    @property
    def G(self) -> np.ndarray:
        return np.array(constraint_jacobian(self.tree, self.q), dtype=float).reshape(-1, self.tree.nv)

    def h(self, v: np.ndarray) -> np.ndarray:
        return np.array(bias_force(self.tree, self.q, v.tolist()), dtype=float)

    def gamma(self, v: np.ndarray) -> np.ndarray:
        return np.array(constraint_bias(self.tree, self.q, v.tolist()), dtype=float)

    def feasible(self, seed: int = 0) -> np.ndarray:
        """A velocity of order 1 that the constraints allow; zero where they allow none."""
        drawn = np.random.default_rng(seed).normal(size=self.tree.nv)
        _, sizes, rows = np.linalg.svd(np.vstack([self.G, np.zeros((1, self.tree.nv))]))
        selected = rows[: int(np.sum(sizes > 1e-9))]
        moving: np.ndarray = drawn - selected.T @ (selected @ drawn)
        return moving

    def accelerations(self, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, forces = constrained_forward_dynamics(self.tree, self.q, v.tolist(), tau.tolist())
        return np.array(a, dtype=float), np.array(forces, dtype=float)

    def dense(self, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, float]:
        """a by dense least squares, and the condition of what was solved: of M, and of the rows' part of full rank."""
        M, G = self.M, self.G
        free = np.linalg.solve(M, tau - self.h(v))
        L = np.linalg.cholesky(M)
        J = np.linalg.solve(L, G.T).T
        a = free - np.linalg.solve(L.T, np.linalg.lstsq(J, G @ free + self.gamma(v), rcond=1e-11)[0])
        sizes = np.linalg.svd(J, compute_uv=False)
        nonzero = sizes[sizes > 1e-11 * np.max(sizes, initial=0.0)]
        cond = float(np.max(nonzero, initial=1.0) / np.min(nonzero, initial=np.inf)) if len(nonzero) else 1.0
        return a, float(np.linalg.cond(M)) * cond**2

    def at(self, q: Sequence[float]) -> Mechanism:
        return replace(self, q=[float(x) for x in q])


def closed(
    tree: Tree, q: Sequence[float], name: str, joint: JointType, frame: str, tree_value: str, seed: int = 0
) -> Tree:
    """The tree with a loop from one frame to the body of another, where M is placed so that the loop is closed at q."""
    rng = np.random.default_rng(seed)
    q_J = regular_values(joint, rng)
    body = tree.frame(tree_value).body
    X_WM = pose(tree, q, frame) @ joint.X(q_J)
    owner = next(f for f in tree.frames if f.body == body)
    X_WB = pose(tree, q, owner.name) @ owner.placement.inv()
    M = Frame(f"{name}_M", body, X_WB.inv() @ X_WM)
    return with_constraints(replace(tree, frames=(*tree.frames, M)), [LoopJoint(name, joint, M.name, frame)])


def regular_values(joint: JointType, rng: np.random.Generator) -> list[float]:
    """Return the first of 50 random configurations whose regularity exceeds 0.2, or half the largest of them."""
    free = np.full(joint.nq, np.inf)
    drawn: list[list[float]] = joint.random(rng, -free, free, (50,)).tolist()
    regularities = [float(joint.regularity(q)) for q in drawn]
    least = min(0.2, 0.5 * max(regularities))  # a composite may be less regular everywhere
    return next(q for q, x in zip(drawn, regularities, strict=True) if x >= least)


def random_regularities(joint: JointType) -> list[float]:
    """Return the joint's regularities at 50 random configurations."""
    free = np.full(joint.nq, np.inf)
    return [float(joint.regularity(q)) for q in joint.random(np.random.default_rng(0), -free, free, (50,)).tolist()]


def regular_example(kind: type[JointType], rng: np.random.Generator) -> JointType:
    """Return an example of ``kind`` with regularity above 0.2 at some random configuration.

    If the first has none, the example with the largest least regularity of ten others is returned.
    """
    joint = kind.example(rng)
    if max(random_regularities(joint)) > 0.2:
        return joint
    return max(map(kind.example, map(np.random.default_rng, range(10))), key=lambda j: min(random_regularities(j)))


def regular(tree: Tree, seed: int) -> list[float]:
    """A configuration away from singular coordinates."""
    rng = np.random.default_rng(seed)
    q: list[float] = []
    for _, body in tree.stacked():
        q += regular_values(body.joint, rng)
    return q


def mechanism(kind: type[JointType], seed: int = 0) -> Mechanism:
    """A chain of joints of several types, closed from its end to the ground by a joint of this type."""
    tree = random_tree(np.random.default_rng(seed), 4, types=_CHAIN[:4], shape="chain")
    q = regular(tree, seed)
    joint = kind.example(np.random.default_rng(seed + 1))
    return Mechanism(closed(tree, q, "loop", joint, "ground0", "tool3", seed + 2), q)


def mechanisms() -> dict[str, Mechanism]:
    """Beside those of one type: several loops that share bodies, couplings, a floating base, loops of all types."""
    results = {}
    rng = np.random.default_rng(7)
    tree = random_tree(rng, 7, types=ALL)
    q = regular(tree, 1)
    for k, (kind, a, b) in enumerate(((Universal, 6, 2), (Cylindrical, 5, 3))):
        tree = closed(tree, q, f"loop{k}", kind.example(rng), f"tool{a}", f"tool{b}", k)
    results["two loops in a random tree"] = Mechanism(tree, q)
    tree = random_tree(rng, 8, types=(Floating, Revolute, Spherical, Prismatic), shape="random")
    tree = randomly_coupled(tree, 2, 3)
    q = regular(tree, 2)
    tree = closed(tree, q, "loop", Spherical(), "tool7", "tool1", 5)
    results["couplings and a floating body"] = Mechanism(tree, q)
    tree = random_tree(rng, 6, types=(Revolute, Universal), shape="star")
    q = regular(tree, 3)
    for k in range(2):
        tree = closed(tree, q, f"loop{k}", Spherical(), f"tool{k + 1}", f"tool{k + 3}", k)
    results["a platform's legs"] = Mechanism(tree, q)
    return results


def ring(
    kinds: tuple[type[JointType], type[JointType]], seed: int, **resisting: float
) -> tuple[list[Mechanism], list[np.ndarray], list[list[float]]]:
    """The world, b0, b1, b2 and back by joints of four types, opened at the last joint and at the one before it.

    Both at the same state, which is returned besides: q and v of the joints that they share are the same, others' are
    those of the loop.  What resists is in the third joint.
    """
    rng = np.random.default_rng(seed)
    types = [kind.example(rng) for kind in (Spherical, Cylindrical, *kinds)]
    q = [configuration(joint, rng) for joint in types]
    sides = ring_sides(types, q, rng)
    results = []
    for loop in (3, 2):
        robot = opened_ring(types, sides, loop, resisting)
        tree = robot.with_loop(f"j{loop}", "F", "M", types[loop], **(resisting if loop == 2 else {}))._tree
        results.append(Mechanism(tree, placed(tree.q_slices, tree, q)))
    tree_ring, loop_ring = results
    v = tree_ring.feasible(seed)
    V = KinematicState(tree_ring.tree, tree_ring.q, v.tolist()).between("M", "F").twist
    rates = [*split(tree_ring.tree, v), types[3].velocity_from_twist(q[3], V)]
    return results, [v, np.array(placed(loop_ring.tree.v_slices, loop_ring.tree, rates))], q


def ring_sides(
    types: Sequence[JointType], q: Sequence[Sequence[float]], rng: np.random.Generator
) -> list[tuple[Pose, Pose]]:
    """Return the placement and the rotor of the four joints of a ring that is closed at their q."""
    sides = [(random_pose(rng), random_pose(rng)) for _ in types]
    X = Pose.identity()
    for joint, q_k, (position, rotor) in zip(types[:3], q, sides, strict=False):
        X = X @ position @ joint.X(q_k) @ rotor
    sides[3] = (X @ sides[3][1].inv() @ types[3].X(q[3]).inv(), sides[3][1])
    return sides


def opened_ring(
    types: Sequence[JointType], sides: Sequence[tuple[Pose, Pose]], loop: int, resisting: Mapping[str, Any]
) -> lw.Robot:
    """Return a ring of four joints without the one of index ``loop``, whose ends are the frames F and M.

    ``resisting`` are options of the third joint.
    """
    ends = [("world", "b0"), ("b0", "b1"), ("b1", "b2"), ("world", "b2")]
    links = [lw.Link(f"b{k}", mass=1.0 + k, com=(0.1, 0.2, -0.1 * k), inertia=(0.3, 0.2, 0.25)) for k in range(3)]
    parts = []
    for k, (joint, (parent, child), (position, rotor)) in enumerate(zip(types, ends, sides, strict=True)):
        more = {"placement": position, "rotor": rotor, **(resisting if k == 2 else {})}
        if k != loop:
            parts.append(lw.Joint.of(joint, name=f"j{k}", parent=parent, child=child, **more))
    robot = lw.Robot.build("ring", *links, *parts).with_frame("F", ends[loop][0], sides[loop][0])
    return robot.with_frame("M", "b2", sides[loop][1].inv().formed())


def configuration(joint: JointType, rng: np.random.Generator) -> list[float]:
    """A regular one that the type prefers of its transform."""
    return [float(x) for x in joint.canonical(regular_values(joint, rng))]


def split(tree: Tree, v: np.ndarray) -> list[list[float]]:
    return [v[tree.v_slices[tree.joint_index(f"j{k}")]].tolist() for k in range(3)]


def placed(slices: Any, tree: Tree, values: list[list[float]]) -> list[float]:
    """The numbers of the tree's joints, where these are."""
    result = np.zeros(max(s.stop for s in slices))
    for i, body in enumerate(tree.bodies):
        result[slices[i]] = values[int(body.joint_name[1:])]
    return [float(x) for x in result]
