"""Geometry of a planning space: differences, lengths and straight motions of configurations within limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from linkwork.joints import FloatingMRP, JointType, SphericalMRP
from linkwork.kinematics.algorithms.forward_kinematics import ancestors
from linkwork.model.periodic_coordinates import (
    PeriodicCoordinates,
    counting_angles,
    periodic_coordinates,
    revolutions,
)
from linkwork.model.tree import Tree
from linkwork.model.tree_edits import affine_coordinates, straight_tree
from linkwork.motion.algorithms.curves import CurveSpace

__all__ = ["HALF_TURN", "MAX_CONFIGURATIONS", "ConfigurationGeometry", "is_later"]

_CACHE_KEY = "planning"  # of a robot's cached space data
_ROWS_PER_BLOCK = 4096  # rows per block of distances
MAX_CONFIGURATIONS = 1 << 16  # maximum configurations checked together, which bounds memory
_SAME = 1e-6  # [rad, m] configurations that are nearer are the same
HALF_TURN = np.pi - 1e-6  # [rad] of rotations by more, rounding decides the direction


class _SpaceData(NamedTuple):
    """Cached data of a planning space within the robot's own limits.

    The data are the limits (nq,), the robot whose joints move straight, and True if q is Euclidean. Further data are
    the periodic angles without limits, and the indices in v of rotations that take the shorter direction, for each such
    joint.
    """

    lower: np.ndarray
    upper: np.ndarray
    straight: Any
    is_plain: bool
    turning: PeriodicCoordinates
    rotations: list[np.ndarray]


class ConfigurationGeometry:
    """Configurations of a robot within limits: their differences and lengths, and the straight motions between them.

    Lengths are √Σ (w φ)², with φ = q1 ⊖ q0 and weights w.  Periodic angles without limits take the shorter direction.

    An edge is a pair of configurations, which may differ by full revolutions from those of a continuous path.
    `straight_parts` describes its motion; checks of edges and paths for users both follow it.

    Planar and floating joints move straight while they rotate (`linkwork.joints.straight_motion`): φ contains the
    difference of positions in the axes of the limits, so everything between two configurations within limits is within
    limits.
    """

    def __init__(
        self,
        robot: Any,
        weights: np.ndarray | None,
        position_limits: tuple[np.ndarray, np.ndarray] | None,
        counted: frozenset[str],
    ) -> None:
        """Create the geometry; the angles of the joints named in ``counted`` are not periodic.

        Raise ValueError for an unbounded length, and for limits that may be exceeded between configurations.
        """
        self.robot = robot
        self.lower: np.ndarray
        self.upper: np.ndarray
        self.weights = np.ones(robot.nv) if weights is None else weights
        self._even = weights is None or bool((weights == 1.0).all())
        self.unit = (
            1.0 if self._even else float(np.sqrt((self.weights**2).mean()))
        )  # length that corresponds to about 1 rad or 1 m
        self.limited = position_limits is not None
        is_shared = not self.limited and not counted
        cached: _SpaceData | None = robot._calls.get(_CACHE_KEY) if is_shared else None
        if cached is None:
            self.lower, self.upper = (robot.lower, robot.upper) if position_limits is None else position_limits
            tree = straight_tree(robot.tree)
            self.straight = robot if tree is robot.tree else type(robot)(tree)
            plain, rotating = CurveSpace.of(tree).is_plain, self._rotating_coordinates(counted)
            cached = _SpaceData(self.lower, self.upper, self.straight, plain, *rotating)
            self._check_lengths()
            _check_limits(robot.tree, tree, self.lower, self.upper)
            if is_shared:
                robot._calls[_CACHE_KEY] = cached
        self.lower, self.upper, self.straight, self.is_plain, (self.turning, self._turning_q), self._rotations = cached
        self.turns = bool(self._turning_q.any())

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the difference q1 ⊖ q0 (..., nv); periodic angles without limits take the shorter direction."""
        phi = self.along(q0, q1)
        if self.turns:
            phi[..., self.turning] -= 2.0 * np.pi * revolutions(phi[..., self.turning])
        return phi

    def along(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the difference q1 ⊖ q0 (..., nv) with full revolutions, as between points of a continuous path."""
        result: np.ndarray = q1 - q0 if self.is_plain else self.straight.difference(q0, q1)
        return result

    def integrate(self, q: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """Return the configuration q ⊕ φ (..., nq) after a difference φ (..., nv) from q."""
        result: np.ndarray = q + phi if self.is_plain else self.straight.integrate(q, phi)
        return result

    def length(self, phi: np.ndarray) -> np.ndarray:
        """Return the weighted Euclidean norms √Σ (w_i φ_i)² (...) of differences φ (..., nv)."""
        scaled = phi if self._even else phi * self.weights
        result: np.ndarray = np.sqrt(np.einsum("...i,...i->...", scaled, scaled))
        return result

    def between(self, rows: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the squared lengths (b, n) of the differences between every q (b, nq) and every row (n, nq)."""
        if self.is_plain and not self.turns:
            a, b = (rows, q) if self._even else (rows * self.weights, q * self.weights)
            result: np.ndarray = b @ a.T
            result *= -2.0
            result += np.einsum("ij,ij->i", b, b)[:, None]
            result += np.einsum("ij,ij->i", a, a)
            np.maximum(result, 0.0, out=result)
            return result
        blocks = []
        for k in range(0, max(len(rows), 1), _ROWS_PER_BLOCK):  # bounds memory
            scaled = self.difference(q[:, None], rows[None, k : k + _ROWS_PER_BLOCK]) * self.weights
            blocks.append(np.einsum("...i,...i->...", scaled, scaled))
        return np.concatenate(blocks, axis=1)

    def looks(self, phi: np.ndarray, spacing: float) -> np.ndarray:
        """Return the number of configurations (n,) to be checked on segments φ (n, nv), at most ``spacing`` apart.

        The number is reduced for segments so long, or so many, that memory would not hold all configurations.
        """
        max_checks = max(MAX_CONFIGURATIONS // max(len(phi), 1), 1)
        return np.clip(np.ceil(self.length(phi) / spacing), 1.0, max_checks).astype(int)

    def path_parameters(self, path: np.ndarray) -> np.ndarray:
        """Return the length of a path (k, nq) up to each of its nodes (k,), from 0 to its `cost`."""
        lengths = self.length(self.difference(path[:-1], path[1:]))
        return np.concatenate([np.zeros(min(len(path), 1)), np.cumsum(lengths)])

    def cost(self, path: np.ndarray) -> float:
        """Return the length of a path (k, nq)."""
        return float(self.path_parameters(path)[-1])

    def counted(self, path: np.ndarray) -> np.ndarray:
        """Return a path (k, nq) with full revolutions added to angles, so that these are continuous along its edges."""
        if not self.turns:
            return path
        result, columns = path.copy(), self._turning_q
        steps = path[1:, columns] - path[:-1, columns]
        result[1:, columns] -= 2.0 * np.pi * np.cumsum(revolutions(steps), axis=0)
        return result

    def rotation(self, phi: np.ndarray, *, angles: bool = True) -> np.ndarray:
        """Return the largest rotation angle [rad] (...) in differences φ (..., nv) that take the shorter direction.

        Counted are the rotations of spherical, floating and similar joints, and with ``angles`` also those of periodic
        angles.
        """
        result: np.ndarray = np.zeros(phi.shape[:-1])
        if angles and self.turns:
            result = np.abs(phi[..., self.turning]).max(axis=-1)
        for columns in self._rotations:
            result = np.maximum(result, np.linalg.norm(phi[..., columns], axis=-1))
        return result

    def straight_parts(self, q0: np.ndarray, q1: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the straight motions that edges from q0 to q1 (n, nq) consist of: edge index, begin and end of each.

        The motions are in order along each edge. Angles go from begin to end, with revolutions added to the end. An
        edge has two parts if it turns a spherical, floating or similar joint by half a revolution, because rounding
        would decide its direction.
        """
        edge = np.arange(len(q0))
        if self._rotations:
            halved = np.flatnonzero(self.rotation(self.difference(q0, q1), angles=False) > HALF_TURN)
            if len(halved):
                later = is_later(q0[halved], q1[halved])[:, None]  # the middle is the same in both directions
                first, last = (np.where(later, a[halved], b[halved]) for a, b in ((q1, q0), (q0, q1)))
                middle = ConfigurationGeometry.integrate(self, first, 0.5 * self.difference(first, last))
                edge = np.sort(np.concatenate([edge, halved]), kind="stable")
                at = np.searchsorted(edge, halved)
                q0, q1 = q0[edge], q1[edge]
                q0[at + 1] = q1[at] = middle
        if self.turns:
            q1, columns = q1.copy(), self._turning_q
            q1[:, columns] -= 2.0 * np.pi * revolutions(q1[:, columns] - q0[:, columns])
        return edge, q0, q1

    def within(self, q: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the configurations (n, nq) within limits."""
        slack = 1e-9
        return np.asarray(((q >= self.lower - slack) & (q <= self.upper + slack)).all(-1))

    def dimension(self) -> int:
        """Return the number of degrees of freedom of the space's configurations."""
        return int(self.robot.nv)

    @property
    def is_flat(self) -> bool:
        """True if configurations are Euclidean and no angle is unbounded, so that the space is a box."""
        return self.is_plain and not self.turns

    def edge_lengths(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the lengths (n,) of collision-free edges (n, nq)."""
        return self.length(self.difference(q0, q1))

    def detailed(self, path: np.ndarray) -> np.ndarray:
        """Return waypoints (k, nq) such that straight motions between them follow the path's edges."""
        return np.concatenate([self.straight_parts(path[:-1], path[1:])[1], path[-1:]])

    def joint_columns(self) -> list[np.ndarray]:
        """Return for each joint the indices of its coordinates in q; coupled joints have the same indices."""
        return [np.arange(q.start, q.stop) for _, q, _ in self._joint_slices()]

    def resting_joints(self, q0: np.ndarray, q1: np.ndarray) -> list[np.ndarray]:
        """Return three arrays of coordinates that belong to joints with equal positions at q0 and q1 (nq,).

        The first array has all these joints. The second and third have only joints at the end of the robot, such as
        fingers: joints that at most one joint follows in the tree, and joints that no joint follows.
        """
        tree = self.straight.tree
        followers = np.zeros(tree.nq, dtype=int)  # longest chain of joints after each coordinate's joint
        for i in reversed(tree.order):
            after = 0
            for j in reversed([*ancestors(tree, i)]):
                in_q = tree.q_slices[j]
                followers[in_q] = np.maximum(followers[in_q], after)
                after += tree.bodies[j].joint.nq > 0
        same = np.abs(q0 - q1) < _SAME
        rests = np.zeros(tree.nq, dtype=bool)
        for columns in self.joint_columns():
            rests[columns] = same[columns].all()
        return [np.flatnonzero(rests & (followers <= count)) for count in (tree.nq, 1, 0)]

    def with_idle_joints(self, q: np.ndarray, q_init: np.ndarray, frames: Iterable[str]) -> np.ndarray:
        """Return configurations q (n, nq) in which joints that move no frame have their positions in ``q_init``.

        ``frames`` are the names of the frames. A joint of a loop moves a frame if another joint of the loop does. Equal
        configurations are returned once.
        """
        robot, tree = self.robot, self.robot.tree
        moving = np.zeros(tree.nv, dtype=bool)
        for frame in frames:
            for i in ancestors(tree, tree.frame(frame).body):
                moving[tree.v_slices[i]] = True
        if tree.constraints:
            J = np.asarray(robot.constraint_jacobian(np.concatenate([q, q_init[None]])))
            related = (J != 0.0).any(axis=0)
            for _ in range(len(related)):
                moving |= related[related[:, moving].any(axis=1)].any(axis=0)
        result = q.copy()
        for _, in_q, in_v in self._joint_slices():
            if not moving[in_v].any():
                result[:, in_q] = q_init[in_q]
        equal = (np.abs(result[:, None] - result) < _SAME).all(axis=-1)
        unique: np.ndarray = result[equal.argmax(axis=1) == np.arange(len(result))]
        return unique

    def _joint_slices(self) -> list[tuple[Any, slice, slice]]:
        """Return each joint's body with the joint's slices of q and of v."""
        tree = self.straight.tree
        return [(body, tree.q_slices[i], tree.v_slices[i]) for i, body in tree.stacked()]

    def _rotating_coordinates(self, counted: frozenset[str]) -> tuple[PeriodicCoordinates, list[np.ndarray]]:
        """Return the periodic angles without limits, and the rotations of joints that take the shorter direction.

        The rotations are indices in v, for each joint whose rotation has no angle as coordinate. Angles of joints in
        ``counted`` are not periodic.
        """
        periodic = periodic_coordinates(self.straight.tree, counted)
        in_v, in_q = (mask.copy() for mask in periodic)
        in_v[periodic.in_v] = in_q[periodic.in_q] = (np.isneginf(self.lower) & np.isposinf(self.upper))[periodic.in_q]
        rotations = []
        for body, _, v in self._joint_slices():
            rotates = np.array([unit == "rad/s" for unit in body.joint.v_units], dtype=bool)
            rotations.append(v.start + np.flatnonzero(rotates & ~counting_angles(body.joint).in_v))
        return PeriodicCoordinates(in_v, in_q), [columns for columns in rotations if len(columns)]

    def _check_lengths(self) -> None:
        """Raise ValueError for unbounded lengths, which cannot be sampled."""
        for body, q, _ in self._joint_slices():
            for k, unit in enumerate(body.joint.q_units):
                low, high = self.lower[q][k], self.upper[q][k]
                if unit == "m" and not (np.isfinite(low) and np.isfinite(high)):
                    name = self.robot.q_names[q.start + k]
                    raise ValueError(
                        f"plan: {name!r} is an unbounded length in [{low:g}, {high:g}] m, which cannot be sampled; "
                        f"set position_limits={{{name!r}: (lower, upper)}}"
                    )


def _check_limits(tree: Tree, straight: Tree, lower: np.ndarray, upper: np.ndarray) -> None:
    """Raise ValueError for limits that may be exceeded between two configurations within them."""
    for i, body in straight.stacked():
        at = straight.q_slices[i]
        low, high = lower[at], upper[at]
        if np.isinf(low).all() and np.isinf(high).all():
            continue
        may_exceed = ~affine_coordinates(body.joint) & ~_never_exceeded(body.joint, low, high)
        if may_exceed.any():
            k = int(np.argmax(may_exceed))
            raise ValueError(
                f"plan: limits of joint {body.joint_name!r} ({tree.bodies[i].joint.type_name()}): {low[k]:g} to "
                f"{high[k]:g} of coordinate {k} may be exceeded between waypoints, where it changes nonlinearly; "
                f"remove the limits and pass path_constraints=<task that bounds the motion>"
            )


def _never_exceeded(joint: JointType, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return a mask (nq,) of the coordinates whose limits no configuration exceeds.

    These limits are infinite, or contain [−1, 1] for a coordinate that is within [−1, 1] by definition.
    """
    within = {k for coordinates in joint.unit_length for k in coordinates}
    if isinstance(joint, (SphericalMRP, FloatingMRP)):
        within = {0, 1, 2}
    is_unit_length = np.array([k in within for k in range(joint.nq)], dtype=bool)
    result: np.ndarray = np.where(is_unit_length, (low <= -1.0) & (high >= 1.0), np.isinf(low) & np.isinf(high))
    return result


def is_later(q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """Return True where q0 (n, nq) is after q1 in lexicographic order."""
    differ = q0 != q1
    first = differ.argmax(axis=-1)[:, None]
    result: np.ndarray = np.take_along_axis(q0, first, -1)[:, 0] > np.take_along_axis(q1, first, -1)[:, 0]
    return result
