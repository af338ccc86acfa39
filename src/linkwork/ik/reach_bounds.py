"""Reach bounds between two frames that hold for every configuration and so prove targets unreachable.

Each revolute joint has a point c_i on its axis that is fixed in both of its bodies.  The link between two such points
of consecutive joints therefore has a constant length, whatever q.  With s a point of the first frame and e a point of
the second, placed at the first and the last of the c_i,

    |e − s| ≤ Σ |c_{i+1} − c_i|.

For two links with a joint between them, whose ends are a and b relative to c_i,

    |b − a|² = |a|² + |b|² − 2 a·R(q_i) b

has a maximum and a minimum over the range of q_i.  The maximum is below the sum of the lengths, and the minimum is
above zero.  Prismatic joints add the travel of their range.  If all axes are parallel, only prismatic joints move the
frame along the axes, and no joint rotates this direction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork import joints
from linkwork._util.cached_properties import cached_property
from linkwork._util.result import ReturnedValue
from linkwork.ik.tasks.frame_tasks import PoseTask, PositionTask
from linkwork.kinematics.algorithms.forward_kinematics import fork

__all__ = ["Chain", "UnreachableCertificate", "chain_between", "task_chain", "task_proofs"]

_ONE_AXIS_JOINTS = (joints.Revolute, joints.UnboundedRevolute)
_POINT_JOINTS = (joints.Spherical, joints.SphericalEuler, joints.SphericalMRP, joints.Universal)
_ROUNDING = 1e-9  # relative tolerance of lengths for rounding


@dataclass(frozen=True, init=False)
class UnreachableCertificate(ReturnedValue):
    """Proof that no configuration reaches a target: the required length and the bound that it violates.

    ``kind`` is "far", "near" (too near to a point, which lies in a hole of the workspace), "aside" (off along the
    common direction of all axes, along which no joint moves the frame) or "turned" (a direction that no joint
    rotates).  ``distance`` is the value that the target requires, and ``bound`` the largest or smallest attainable
    value [m, rad]. Distances are those of the frame's origin.  If the frame could reach its position alone, they are
    distances of the last rotating ``joint``, whose position follows from the target's position and orientation.
    ``point`` is the point from which the distance is measured, or the direction, in the frame that the target is
    relative to.  ``within_limits`` is True if the bound depends on joint limits.
    """

    kind: str
    distance: float
    bound: float
    point: np.ndarray
    frame: str
    relative_to: str
    within_limits: bool
    joint: str = ""
    proved: bool = True

    @property
    def beyond(self) -> float:
        """Absolute difference of ``distance``, which the target requires, and the attainable ``bound`` [m, rad]."""
        return abs(self.distance - self.bound)

    def __str__(self) -> str:
        required, attainable = f"{self.distance:.6g}", f"{self.bound:.6g}"
        condition = " within the joint limits" if self.within_limits else " for any joint positions"
        limit = f"{attainable} m{condition}"
        at = f"({', '.join(f'{x:.4g}' for x in self.point)}) of {self.relative_to!r}"
        needs = f"with its orientation, the target needs joint {self.joint!r} at" if self.joint else "the target needs"
        if self.kind == "far":
            return f"too far: {needs} a reach of {required} m from {at}, the maximum is {limit}"
        if self.kind == "near":
            return f"too near: {needs} a distance of {required} m from {at}, the minimum is {limit}"
        if self.kind == "aside":
            return f"it needs {required} m along {at}, parallel to all axes, only {attainable} m is possible{condition}"
        return f"it needs to rotate {at} by {required} rad, whose direction in {self.frame!r} is constant{condition}"


@dataclass(frozen=True)
class _RotatingJoint:
    """Rotating joint at the reference configuration: a point, an axis (None for several axes) and its range."""

    point: np.ndarray
    axis: np.ndarray | None
    low: float  # from the reference [rad]
    high: float


@dataclass(frozen=True)
class _Link:
    """Link between two points of a kinematic chain: its vector at the reference configuration, and sliding joints.

    ``slides`` has for each prismatic joint in the link its axis and its range relative to the reference configuration.
    """

    vector: np.ndarray
    slides: tuple[tuple[np.ndarray, float, float], ...]

    @cached_property
    def longest(self) -> float:
        if not all(math.isfinite(low) and math.isfinite(high) for _, low, high in self.slides):
            return math.inf
        ends = [(low * axis, high * axis) for axis, low, high in self.slides]
        return max(float(np.linalg.norm(self.vector + sum(corner))) for corner in itertools.product(*ends))

    @cached_property
    def shortest(self) -> float:
        if not self.slides:
            return float(np.linalg.norm(self.vector))
        if len(self.slides) > 1:
            return 0.0
        axis, low, high = self.slides[0]
        at = min(max(-float(axis @ self.vector), low), high)
        return float(np.linalg.norm(self.vector + at * axis))


@dataclass(frozen=True)
class Chain:
    """Kinematic chain between two frames at a reference configuration, for bounds of its reach.

    Vectors are in the axes of the frame ``relative_to``. ``turns`` are the rotating joints, and ``links`` lie between
    their points and the two frames.
    """

    frame: str
    relative_to: str
    X: np.ndarray  # (4, 4), of the frame
    turns: tuple[_RotatingJoint, ...]
    links: tuple[_Link, ...]  # between consecutive points, from the first frame's to the last frame's
    limited: bool  # True if a joint has limits
    last_joint: str  # name of the last rotating joint

    def proofs(
        self, X: np.ndarray, position: Any, rotation: Any, with_rotation: bool
    ) -> list[UnreachableCertificate | None]:
        """Return a certificate for each target X (F, 4, 4) that is proved unreachable, else None.

        ``position`` and ``rotation`` are the tolerances; ``with_rotation`` is True if the target's rotation must be
        met.
        """
        end = self.turns[-1].point if with_rotation else self.X[:3, 3]
        links = (
            self.links
            if with_rotation
            else (*self.links[:-1], _Link(end - self.turns[-1].point, self.links[-1].slides))
        )
        longest, hole = self._bounds(links)
        start, arm = self.turns[0].point, self.X[:3, :3].T @ (end - self.X[:3, 3])
        position_of_end = X[:, :3, 3] + (X[:, :3, :3] @ arm if with_rotation else 0.0)
        distance = np.linalg.norm(position_of_end - start, axis=-1)
        slack = position + rotation * float(np.linalg.norm(arm)) + _ROUNDING * (1.0 + distance)
        result: list[UnreachableCertificate | None] = [None] * len(X)
        for kind, bound, wrong in (
            ("far", longest, distance > longest + slack),
            ("near", hole, distance < hole - slack),
        ):
            for k in np.flatnonzero(wrong):
                joint = self.last_joint if with_rotation else ""
                result[k] = self._proof(kind, float(distance[k]), bound, start, joint)
        self._add_parallel_axis_certificates(result, X, position, rotation, with_rotation)
        return result

    def _proof(
        self, kind: str, distance: float, bound: float, point: np.ndarray, joint: str = ""
    ) -> UnreachableCertificate:
        where = (self.frame, self.relative_to)
        return UnreachableCertificate._make(kind, distance, bound, point, *where, self.limited, joint)

    def _add_parallel_axis_certificates(
        self,
        result: list[UnreachableCertificate | None],
        X: np.ndarray,
        position: Any,
        rotation: Any,
        with_rotation: bool,
    ) -> None:
        """Add proofs that targets X are unreachable to ``result``, for a chain whose rotation axes are all parallel.

        The proofs are about the position along the axes, and about the direction of the axes. Other arguments are those
        of `proofs`.
        """
        axis = self.turns[0].axis
        if axis is None or any(
            turn.axis is None or float(np.linalg.norm(np.cross(axis, turn.axis))) > _ROUNDING for turn in self.turns
        ):
            return
        slides = [abs(float(axis @ slide)) for link in self.links for slide, _, _ in link.slides]
        if with_rotation:
            after = X[:, :3, :3] @ (self.X[:3, :3].T @ axis)
            angle = np.arctan2(np.linalg.norm(np.cross(axis, after), axis=-1), after @ axis)
            for k in np.flatnonzero(angle > rotation + 1e3 * _ROUNDING):
                result[k] = result[k] or self._proof("turned", float(angle[k]), 0.0, axis)
        if max(slides, default=0.0) <= _ROUNDING * max(len(slides), 1):
            attainable, required = float(axis @ self.X[:3, 3]), X[:, :3, 3] @ axis
            for k in np.flatnonzero(np.abs(required - attainable) > position + _ROUNDING * (1.0 + np.abs(required))):
                result[k] = result[k] or self._proof("aside", float(required[k]), attainable, axis)

    def _bounds(self, links: Sequence[_Link]) -> tuple[float, float]:
        """Return the largest and the smallest possible distance between the ends of a chain of links [m]."""
        single = [(link.shortest, link.longest) for link in links]
        double = [self._two_link_lengths(turn, a, b) for turn, a, b in zip(self.turns, links, links[1:], strict=False)]
        count = len(links)
        fore, back = [0.0] * (count + 1), [0.0] * (count + 1)
        for j in range(1, count + 1):
            fore[j] = fore[j - 1] + single[j - 1][1]
            if j > 1:
                fore[j] = min(fore[j], fore[j - 2] + double[j - 2][1])
        for j in range(count - 1, -1, -1):
            back[j] = back[j + 1] + single[j][1]
            if j < count - 1:
                back[j] = min(back[j], back[j + 2] + double[j][1])
        holes = [shortest - fore[j] - back[j + 1] for j, (shortest, _) in enumerate(single)]
        holes += [shortest - fore[j] - back[j + 2] for j, (shortest, _) in enumerate(double)]
        return fore[count], max(holes)

    @staticmethod
    def _two_link_lengths(turn: _RotatingJoint, before: _Link, after: _Link) -> tuple[float, float]:
        """Return the minimum and the maximum length of two consecutive links with a joint between them."""
        if before.slides or after.slides:
            return max(
                before.shortest - after.longest, after.shortest - before.longest, 0.0
            ), before.longest + after.longest
        a, b = -before.vector, after.vector
        if turn.axis is None:
            return abs(before.shortest - after.shortest), before.longest + after.longest
        along = float(a @ turn.axis) * float(b @ turn.axis)
        cosine = float(a @ b) - along
        sine = float(a @ np.cross(turn.axis, b))
        size, phase = math.hypot(cosine, sine), math.atan2(sine, cosine)
        squares = a @ a + b @ b - 2.0 * along
        values = [cosine * math.cos(x) + sine * math.sin(x) for x in (turn.low, turn.high) if math.isfinite(x)]
        for angle, value in ((phase, size), (phase + math.pi, -size)):
            if _in_angle_range(angle, turn.low, turn.high):
                values.append(value)
        return (
            math.sqrt(max(squares - 2.0 * max(values), 0.0)),
            math.sqrt(max(squares - 2.0 * min(values), 0.0)),
        )


def _in_angle_range(angle: float, low: float, high: float) -> bool:
    """Return True if the angle, up to full revolutions, is in the range."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return True
    first = angle + math.tau * math.ceil((low - angle) / math.tau - 1e-12)
    return first <= high + 1e-12


def chain_between(
    robot: Any, frame: str, relative_to: str, q: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> Chain | None:
    """Return the chain between two frames, or None if it has a joint type without a known bound.

    ``q`` is the reference configuration; ``lower`` and ``upper`` (nq,) are the joint limits, infinite where absent.
    """
    tree = robot.tree
    B, A = tree.frame(frame), tree.frame(relative_to)
    _, to_B, to_A = fork(tree, B.body, A.body)
    X = robot.pose(q, frame, relative_to=relative_to)
    J = robot.jacobian(q, frame, relative_to=relative_to, expressed_in=relative_to)
    turns: list[_RotatingJoint] = []
    last_joint = ""
    slides: list[list[tuple[np.ndarray, float, float]]] = [[]]
    limited = False
    for i in (*reversed(to_A), *to_B):
        body = tree.bodies[i]
        kind = type(body.joint)
        if body.joint.nv == 0:
            continue
        if body.coupling is not None or any(link.coupling is not None for link in tree.bodies):
            return None
        columns, entries = J[:, tree.v_slices[i]], tree.q_slices[i]
        low = high = math.inf
        if body.joint.nq == 1:
            low, high = float(lower[entries][0] - q[entries][0]), float(upper[entries][0] - q[entries][0])
            limited = limited or math.isfinite(low) or math.isfinite(high)
        if kind is joints.Prismatic:
            slides[-1].append((columns[3:, 0], low, high))
        elif kind in _ONE_AXIS_JOINTS or kind in _POINT_JOINTS:
            turns.append(
                _rotating_joint(columns, X[:3, 3], -high if low == math.inf else low, high, kind in _ONE_AXIS_JOINTS)
            )
            slides.append([])
            last_joint = body.joint_name
        else:
            return None
    if not turns:
        return None
    turns = _shortened_chain(turns)
    points = [turns[0].point, *(turn.point for turn in turns), turns[-1].point]
    links = tuple(_Link(b - a, tuple(s)) for (a, b), s in zip(itertools.pairwise(points), slides, strict=True))
    return Chain(frame, relative_to, X, tuple(turns), links, limited, last_joint)


def _rotating_joint(columns: np.ndarray, p: np.ndarray, low: float, high: float, single_axis: bool) -> _RotatingJoint:
    """Return the axis and a point of a rotating joint, from its Jacobian columns (ω; velocity of the point p).

    The point is the point of the axis nearest to p, or for several axes the joint's center. ``low`` and ``high`` are
    the joint's limits.
    """
    if single_axis:
        w, v = columns[:3, 0], columns[3:, 0]
        size = float(w @ w)
        return _RotatingJoint(p + np.cross(w, v) / size, w / math.sqrt(size), low, high)
    A = np.concatenate([np.cross(w, np.eye(3)).T for w in columns[:3].T])  # A (p − c) = v
    arm = np.linalg.lstsq(A, columns[3:].T.ravel(), rcond=None)[0]
    return _RotatingJoint(p - arm, None, -math.inf, math.inf)


def _shortened_chain(turns: list[_RotatingJoint]) -> list[_RotatingJoint]:
    """Slide each joint's point along its axis so that the chain through all points is short.

    Any points give a valid bound; short chains give a tight bound.
    """
    points = np.array([turn.point for turn in turns])
    axes = np.array([np.zeros(3) if turn.axis is None else turn.axis for turn in turns])
    count = len(turns)
    for _ in range(60 if count > 1 else 0):  # minimise Σ wᵢ |c_{i+1} − cᵢ|², with wᵢ = 1 / previous length
        gaps = np.diff(points, axis=0)
        weights = 1.0 / np.maximum(np.linalg.norm(gaps, axis=1), 1e-6)
        H, g = 1e-9 * np.eye(count), np.zeros(count)
        for i, (gap, w) in enumerate(zip(gaps, weights, strict=True)):
            a, b = axes[i], axes[i + 1]
            H[i, i] += w * float(a @ a)
            H[i + 1, i + 1] += w * float(b @ b)
            H[i, i + 1] -= w * float(a @ b)
            H[i + 1, i] = H[i, i + 1]
            g[i] -= w * float(a @ gap)
            g[i + 1] += w * float(b @ gap)
        points = points - np.linalg.solve(H, g)[:, None] * axes
    return [_RotatingJoint(point, turn.axis, turn.low, turn.high) for point, turn in zip(points, turns, strict=True)]


def task_chain(robot: Any, task: Any, q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Chain | None:
    """Return the chain of a pose or position task; None for other tasks, for points and for unsupported joints."""
    if not isinstance(task, (PoseTask, PositionTask)) or task.frame not in robot.frames:
        return None
    return chain_between(robot, task.frame, task.relative_to, q, lower, upper)


def task_proofs(chain: Chain, task: Any, targets: np.ndarray, left: np.ndarray) -> list[UnreachableCertificate | None]:
    if isinstance(task, PositionTask):
        X = np.broadcast_to(np.eye(4), (len(targets), 4, 4)).copy()
        X[:, :3, 3] = targets
        rotation, position = np.full(len(targets), np.inf), np.linalg.norm(left, axis=-1)
    else:
        X = targets
        rotation, position = np.linalg.norm(left[:, :3], axis=-1), np.linalg.norm(left[:, 3:], axis=-1)
    result: list[UnreachableCertificate | None] = [None] * len(targets)
    for with_rotation in (False, True):  # the position alone first: its proof is easier to understand
        use = np.flatnonzero(np.isfinite(position) & (np.isfinite(rotation) if with_rotation else True))
        bounds = chain.proofs(
            X[use], position[use], rotation[use] if with_rotation else 0.0 * position[use], with_rotation
        )
        for k, proof in zip(use, bounds, strict=True):
            result[k] = result[k] or proof
    return result
