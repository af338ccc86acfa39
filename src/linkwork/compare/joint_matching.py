"""Matching of the joints of two robots by name, with maps of their configurations and velocities.

Joints of one name may differ in direction, in coordinates (an angle, or its sine and cosine), and in couplings.  A
configuration of one robot is taken to the other by the motion of each joint from its zero, as seen from the link that
it carries.  The velocities of matched joints follow from

    S_right v_right = S_left v_left

in the axes of that link.  If the robots have different roots, the link before a joint of one robot may be the link
after it in the other; the joint is then swapped, and its axis compared with the opposite sign.  A floating link has the
pose and the twist that it has in the left robot.  Joints that only one robot has stay at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.compare.state_comparison import Functions
from linkwork.errors import UnknownNameError
from linkwork.model import WORLD, Body, Tree, bounds, names_of
from linkwork.spatial import Motion, Pose, Vec3

__all__ = ["Names", "Pairing", "axis_at_zero", "neutral_of", "paired"]

_ALIGNED = 0.999  # cosine of the angle of two axes, from which on one is the other or its opposite


@dataclass(frozen=True, slots=True)
class Names:
    """Map between names in the left and in the right robot, of links, frames, joints, constraints and actuators."""

    left_to_right: Mapping[str, str]

    def right(self, name: str) -> str:
        """Return the name in the right robot of an element called ``name`` in the left robot."""
        return self.left_to_right.get(name, name)

    def left(self, name: str) -> str:
        """Return the name in the left robot of an element called ``name`` in the right robot."""
        return next((key for key, value in self.left_to_right.items() if value == name), name)

    @staticmethod
    def checked(caller: str, names: Mapping[str, str], left: Tree, right: Tree) -> Names:
        """Return the map of names after checks. Raises UnknownNameError for a name that a robot does not have."""
        for tree, listed_names in ((left, names.keys()), (right, names.values())):
            known = _names_in(tree)
            for name in listed_names:
                if name not in known:
                    raise UnknownNameError(f"link, joint or other part of robot {tree.name!r}", name, known).at(
                        f"{caller}: names"
                    )
        return Names(dict(names))


def _names_in(tree: Tree) -> dict[str, None]:
    named: list[Any] = [
        *tree.frames,
        *tree.constraints,
        *tree.force_elements,
        *tree.actuators,
        *tree.named_configurations,
    ]
    parts = [x.name for x in named]
    return dict.fromkeys([*parts, *(body.joint_name for body in tree.bodies), *tree.fixed_joints])


@dataclass(frozen=True, slots=True)
class JointPair:
    """The same joint in both robots, as the indices of the two bodies that it moves."""

    left: int
    right: int
    by_link: bool  # matched by the link that the joints carry, not by name
    direction: int  # −1 if one coordinate is the opposite of the other, 1 if it is the same, 0 if neither
    swapped: bool = False  # True if the link before the joint is the one after it in the other robot
    floating: str = ""  # if the right joint frees a body in the world, the left name of that body, else ""


@dataclass(frozen=True, slots=True)
class Pairing:
    """All joints of two robots, matched in pairs, and the velocities u that both robots have."""

    functions: Functions
    left: Tree
    right: Tree
    pairs: tuple[JointPair, ...]
    left_only: tuple[int, ...]
    right_only: tuple[int, ...]

    def random_configurations(self, rng: np.random.Generator) -> tuple[list[float], list[float]]:
        """Return a random configuration of the left robot, within its limits, and the same of the right robot."""
        q = np.zeros(self.left.nq)
        limits = bounds(self.left)
        shared = {pair.left for pair in self.pairs}
        for i, body in self.left.stacked():
            drawn = body.call_joint("random", rng, *limits[i], ())
            q[self.left.q_slices[i]] = drawn if i in shared else body.call_joint("zero")
        return self.configurations(q)

    def configurations(self, q: np.ndarray) -> tuple[list[float], list[float]]:
        """Return equal configurations of both robots near q, which satisfy the couplings of both."""
        q = np.array(q, dtype=float)
        for pair, master, sign in self._tied():
            relation = self.right.bodies[pair.right].coupling
            assert relation is not None
            q_left = self._own(self.left, q, master.left)
            value = [pair.direction * x for x in relation.q([sign * x for x in q_left])]
            q[self.left.q_slices[pair.left]] = value
        q_right = np.array(neutral_of(self.right))
        for pair in self.pairs:
            body = self.right.bodies[pair.right]
            if pair.floating:
                X = (
                    body.placement.inv()
                    @ self.functions["pose"].compute(self.left, q.tolist(), pair.floating)
                    @ body.rotor.inv().formed()
                )
                q_right[self.right.q_slices[pair.right]] = body.call_joint("configuration_from_pose", X)
            elif body.coupling is None:
                q_left = self._own(self.left, q, pair.left)
                q_right[self.right.q_slices[pair.right]] = _moved(self, pair, q_left)
        return q.tolist(), q_right.tolist()

    def velocity_maps(self, q: list[float], other: list[float]) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Return matrices that map common velocities u to v of the left and of the right robot, and the names of u."""
        left, right = self.left, self.right
        tied = {pair.left: (pair, master, sign) for pair, master, sign in self._tied()}
        shared = {pair.left for pair in self.pairs}
        free = [i for i, _ in left.stacked() if i in shared and i not in tied]
        names, columns = names_of(left, "v"), [k for i in free for k in range(left.nv)[left.v_slices[i]]]
        G = np.zeros((left.nv, len(columns)))
        G[columns, range(len(columns))] = 1.0
        for i, (pair, master, sign) in tied.items():
            relation = right.bodies[pair.right].coupling
            assert relation is not None
            follows = left.bodies[master.left].ratio * G[left.v_slices[master.left]]
            G[left.v_slices[i]] = pair.direction * relation.ratio * sign * follows
        T = np.zeros((right.nv, len(columns)))
        for pair in self.pairs:
            body = right.bodies[pair.right]
            if pair.floating:
                J = self.functions["jacobian"].compute(left, q, pair.floating, expressed_in=pair.floating)
                J = np.array(J, dtype=float)
                S = _columns(body, self._own(right, np.array(other), pair.right))
                T[right.v_slices[pair.right]] = np.linalg.lstsq(S, J @ G, rcond=None)[0]
            elif body.coupling is None:
                follows = left.bodies[pair.left].ratio * G[left.v_slices[pair.left]]
                values = (
                    self._own(tree, np.array(x), k) for tree, x, k in ((left, q, pair.left), (right, other, pair.right))
                )
                T[right.v_slices[pair.right]] = _rates(self, pair, *values) @ follows
        return G, T, [names[k] for k in columns]

    def _tied(self) -> list[tuple[JointPair, JointPair, int]]:
        """Return (pair, pair of the master, sign) for joints that follow a master only in the right robot."""
        by_right = {pair.right: pair for pair in self.pairs}
        result = []
        for pair in self.pairs:
            relation = self.right.bodies[pair.right].coupling
            if relation is None or self.left.bodies[pair.left].coupling is not None or not pair.direction:
                continue
            master = by_right.get(self.right.joint_index(relation.joint))
            if master is not None and master.direction and self.left.bodies[master.left].coupling is None:
                result.append((pair, master, master.direction))
        return result

    @staticmethod
    def _own(tree: Tree, q: np.ndarray, i: int) -> list[float]:
        """Return the configuration of the joint of body i; for a follower computed from the master's in q."""
        values = [float(x) for x in q[tree.q_slices[i]]]
        coupling = tree.bodies[i].coupling
        return values if coupling is None else [float(x) for x in coupling.q(values)]


def neutral_of(tree: Tree) -> list[float]:
    """Return the configuration with every joint at zero."""
    q = [0.0] * tree.nq
    for i, body in tree.stacked():
        q[tree.q_slices[i]] = body.call_joint("zero")
    return q


def paired(functions: Functions, left: Tree, right: Tree, names: Names) -> Pairing:
    """Match the joints of two robots by name, or else by their child link, and return the pairs."""
    by_name = {body.joint_name: i for i, body in enumerate(right.bodies)}
    matched: dict[int, tuple[int, bool]] = {}
    for i, body in enumerate(left.bodies):
        j = by_name.get(names.right(body.joint_name))
        if j is not None:
            matched[i] = j, False
    taken = {j for j, _ in matched.values()}
    carried = {body.name: j for j, body in enumerate(right.bodies) if j not in taken}
    for i, body in enumerate(left.bodies):
        j = carried.get(names.right(body.name))
        if i not in matched and j is not None:
            matched[i] = j, True
    on_left, on_right = {frame.name: frame.body for frame in left.frames}, {frame.name for frame in right.frames}
    zero = neutral_of(right)

    def pose_of_link(frame: str, link: str) -> Pose:
        result: Pose = functions["pose"].compute(right, zero, frame, link)
        return result

    pairs = tuple(
        _pair(left, right, i, j, by_link, names, on_left, on_right, pose_of_link)
        for i, (j, by_link) in sorted(matched.items())
    )
    taken = {pair.right for pair in pairs}
    return Pairing(
        functions,
        left,
        right,
        pairs,
        tuple(i for i in range(len(left.bodies)) if i not in matched),
        tuple(j for j in range(len(right.bodies)) if j not in taken),
    )


def joint_map(body: Body, q: list[float]) -> Pose:
    """Return X_parent_body for a configuration of the body's joint itself, without its coupling."""
    X: Pose = body.placement @ body.call_joint("X", q)
    return X @ body.rotor


def _moved(pairing: Pairing, pair: JointPair, q_left: list[float]) -> list[float]:
    """Return the configuration of the right joint that equals the left joint's configuration ``q_left``."""
    left, right = pairing.left.bodies[pair.left], pairing.right.bodies[pair.right]
    if pair.direction and (left.joint.nq, right.joint.nq) == (1, 1):
        return [pair.direction * q_left[0]]  # keeps full turns
    if _are_equal(left, right, pair):
        return q_left
    X = joint_map(left, q_left)
    zero = joint_map(left, left.call_joint("zero")).inv() @ X
    X = joint_map(right, right.call_joint("zero")) @ zero
    inner = right.placement.inv() @ X @ right.rotor.inv().formed()
    return [float(x) for x in right.call_joint("configuration_from_pose", inner)]


def _are_equal(left: Body, right: Body, pair: JointPair) -> bool:
    """Return True if two joints have the same coordinates: equal types, or opposite types if swapped."""
    return (left.joint.reversed() if pair.swapped else left.joint) == right.joint


def _columns(body: Body, q: list[float]) -> np.ndarray:
    """Return the motion subspace (6, nv) of a body's joint without coupling, in the axes of the body."""
    S = body.call_joint("S", q)
    S = S if body.rotor.is_identity else body.rotor.inv() @ S
    return np.array([column.elements() for column in S.columns], dtype=float).reshape(-1, 6).T


def _rates(pairing: Pairing, pair: JointPair, q_left: list[float], q_right: list[float]) -> np.ndarray:
    """Return the matrix that maps velocities of the left joint to velocities of the right joint."""
    left, right = pairing.left.bodies[pair.left], pairing.right.bodies[pair.right]
    if pair.direction and (left.joint.nv, right.joint.nv) == (1, 1):
        return np.array([[float(pair.direction)]])
    if _are_equal(left, right, pair):
        return np.eye(left.joint.nv)
    return np.asarray(np.linalg.lstsq(_columns(right, q_right), _columns(left, q_left), rcond=None)[0])


def axis_at_zero(tree: Tree, i: int, X: Pose) -> tuple[str, np.ndarray] | None:
    """Return the axis (3,) in the world of a joint with one velocity, and "rad" or "m"; None for other joints.

    X is the pose of the body in the world with all joints at zero.
    """
    body = tree.bodies[i]
    if body.joint.nv != 1:
        return None
    zero = body.call_joint("zero")
    (column,) = (Motion.of(list(c)) for c in _columns(body, zero).T)
    unit = body.joint.v_units[0].partition("/")[0]
    vector = X.rotation @ (column.angular if unit == "rad" else column.linear)
    array = np.array([*vector], dtype=float)
    size = float(np.linalg.norm(array))
    return (unit, array / size) if size > 0.0 else None


def _pair(
    left: Tree,
    right: Tree,
    i: int,
    j: int,
    by_link: bool,
    names: Names,
    on_left: Mapping[str, int],
    on_right: Collection[str],
    pose_of_link: Callable[[str, str], Pose],
) -> JointPair:
    """Return the pair of bodies i and j with the sign of the joint's coordinates.

    The sign follows from the axes of both joints in the child link of the left joint. ``on_left`` has the body of each
    left link, ``on_right`` the right links; ``pose_of_link`` returns the pose of a right link in another right link
    with all joints at zero.
    """
    body, partner = left.bodies[i], right.bodies[j]
    link, carried = names.right(body.name), names.left(partner.name)
    if partner.parent == WORLD and partner.joint.is_floating and body.joint.is_floating and carried in on_left:
        return JointPair(i, j, by_link, 0, floating=carried)
    swapped = on_left.get(carried, i) == body.parent != WORLD
    axes = [axis_at_zero(tree, k, Pose.identity()) for tree, k in ((left, i), (right, j))]
    if axes[0] is None or axes[1] is None or axes[0][0] != axes[1][0]:
        return JointPair(i, j, by_link, 0, swapped)
    axis = axes[1][1]
    if link != partner.name and link in on_right:
        X = pose_of_link(partner.name, link)
        axis = np.array([*(X.rotation @ Vec3.of(axis.tolist()))], dtype=float)
    cosine = float(axes[0][1] @ axis) * (-1.0 if swapped else 1.0)
    return JointPair(i, j, by_link, 1 if cosine > _ALIGNED else -1 if cosine < -_ALIGNED else 0, swapped)
