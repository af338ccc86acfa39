"""How far a frame can be from another: bounds that hold for every configuration, so that what is beyond them is proved.

Each joint that turns keeps a point c_i on its axis where both of its bodies have it, so the way between two of these
points, of joints that follow each other, has one length, whatever q.  With s a point of the one frame and e of the
other, placed at the first and the last of the points,

    |e − s| ≤ Σ |c_{i+1} − c_i|,

and of two ways with a joint between them, whose ends a and b are as seen from c_i,

    |b − a|² = |a|² + |b|² − 2 a·R(q_i) b

has a largest and a smallest value over the range of q_i, which is less than the sum, and more than nothing.  Joints
that slide add what their range lets them.  Where all axes are parallel, the way along them is the slides' alone, and
one direction never turns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linkwork import joints
from linkwork._util.result import Made
from linkwork.kinematics.algorithms.relative_kinematics import fork

__all__ = ["Chain", "UnreachableCertificate", "chain_between"]

_TURNING = (joints.Revolute, joints.UnboundedRevolute)
_POINTS = (joints.Spherical, joints.SphericalEuler, joints.SphericalMRP, joints.Universal)
_ROUNDING = 1e-9  # of lengths: what a proof leaves to rounding


@dataclass(frozen=True, init=False)
class UnreachableCertificate(Made):
    """Why no configuration reaches a target: a length that would have to be, and the bound that holds for all of them.

    ``kind`` is "far", "near" (in a hole around a point), "aside" (along an axis to which all are parallel) or "turned"
    (a direction that no joint turns); ``distance`` is what the target asks for and ``bound`` what there is at most, or
    at least [m, rad]; ``point`` is where it is measured from, in the frame that the target is relative to, and
    ``within_limits`` whether the bound needs limits of joints.
    """

    kind: str
    distance: float
    bound: float
    point: np.ndarray
    frame: str
    relative_to: str
    within_limits: bool
    proved: bool = True

    @property
    def beyond(self) -> float:
        """By how much the target is beyond the bound [m, rad]."""
        return abs(self.distance - self.bound)

    def __str__(self) -> str:
        ask, there = f"{self.distance:.6g}", f"{self.bound:.6g}"
        given = " within the joints' ranges" if self.within_limits else ", whatever the joints do"
        at = f"({', '.join(f'{x:.4g}' for x in self.point)}) of {self.relative_to!r}"
        if self.kind == "far":
            return f"it would need a reach of {ask} m from {at}, and there are {there} m{given}"
        if self.kind == "near":
            return f"it would have to come to {ask} m from {at}, and stays {there} m away{given}"
        if self.kind == "aside":
            return f"it would have to go {ask} m along {at}, to which all axes are parallel, and goes {there} m{given}"
        return f"{at} keeps its direction in {self.frame!r}{given}, and would have to turn by {ask} rad"


@dataclass(frozen=True)
class _Turn:
    """A joint that turns, at the reference: a point, an axis (nothing where it turns about several), its range."""

    point: np.ndarray
    axis: np.ndarray | None
    low: float  # from the reference [rad]
    high: float


@dataclass(frozen=True)
class _Way:
    """Between two points: the vector at the reference, and slides, an axis and the range from there each."""

    vector: np.ndarray
    slides: tuple[tuple[np.ndarray, float, float], ...]

    @cached_property
    def most(self) -> float:
        if not all(math.isfinite(low) and math.isfinite(high) for _, low, high in self.slides):
            return math.inf
        ends = [(low * axis, high * axis) for axis, low, high in self.slides]
        return max(float(np.linalg.norm(self.vector + sum(corner))) for corner in itertools.product(*ends))

    @cached_property
    def least(self) -> float:
        if not self.slides:
            return float(np.linalg.norm(self.vector))
        if len(self.slides) > 1:
            return 0.0
        axis, low, high = self.slides[0]
        at = min(max(-float(axis @ self.vector), low), high)
        return float(np.linalg.norm(self.vector + at * axis))


@dataclass(frozen=True)
class Chain:
    """What is between two frames, at a reference configuration, in the axes of the one that targets are relative to."""

    frame: str
    relative_to: str
    X: np.ndarray  # (4, 4), of the frame
    turns: tuple[_Turn, ...]
    ways: tuple[_Way, ...]  # from the first frame's point to the first joint's, and so on, to the last frame's point
    limited: bool  # whether any of it has a range

    def proofs(self, X: np.ndarray, position: Any, rotation: Any, turned: bool) -> list[UnreachableCertificate | None]:
        """Of targets X (F, 4, 4): why none of them can be, where that is proved.

        ``position`` and ``rotation`` are what may be left; ``turned`` says that the target's rotation counts.
        """
        end = self.turns[-1].point if turned else self.X[:3, 3]
        ways = self.ways if turned else (*self.ways[:-1], _Way(end - self.turns[-1].point, self.ways[-1].slides))
        most, hole = self._bounds(ways)
        start, arm = self.turns[0].point, self.X[:3, :3].T @ (end - self.X[:3, 3])
        place = X[:, :3, 3] + (X[:, :3, :3] @ arm if turned else 0.0)
        distance = np.linalg.norm(place - start, axis=-1)
        slack = position + rotation * float(np.linalg.norm(arm)) + _ROUNDING * (1.0 + distance)
        result: list[UnreachableCertificate | None] = [None] * len(X)
        for kind, bound, wrong in (
            ("far", most, distance > most + slack),
            ("near", hole, distance < hole - slack),
        ):
            for k in np.flatnonzero(wrong):
                result[k] = self._proof(kind, float(distance[k]), bound, start)
        self._flat(result, X, position, rotation, turned)
        return result

    def _proof(self, kind: str, distance: float, bound: float, point: np.ndarray) -> UnreachableCertificate:
        return UnreachableCertificate._make(kind, distance, bound, point, self.frame, self.relative_to, self.limited)

    def _flat(
        self, result: list[UnreachableCertificate | None], X: np.ndarray, position: Any, rotation: Any, turned: bool
    ) -> None:
        """Of chains whose axes are all parallel."""
        axis = self.turns[0].axis
        if axis is None or any(
            turn.axis is None or float(np.linalg.norm(np.cross(axis, turn.axis))) > _ROUNDING for turn in self.turns
        ):
            return
        slides = [abs(float(axis @ slide)) for way in self.ways for slide, _, _ in way.slides]
        if turned:
            after = X[:, :3, :3] @ (self.X[:3, :3].T @ axis)
            angle = np.arctan2(np.linalg.norm(np.cross(axis, after), axis=-1), after @ axis)
            for k in np.flatnonzero(angle > rotation + 1e3 * _ROUNDING):
                result[k] = result[k] or self._proof("turned", float(angle[k]), 0.0, axis)
        if max(slides, default=0.0) <= _ROUNDING * max(len(slides), 1):
            there, asked = float(axis @ self.X[:3, 3]), X[:, :3, 3] @ axis
            for k in np.flatnonzero(np.abs(asked - there) > position + _ROUNDING * (1.0 + np.abs(asked))):
                result[k] = result[k] or self._proof("aside", float(asked[k]), there, axis)

    def _bounds(self, ways: Sequence[_Way]) -> tuple[float, float]:
        """The largest and the smallest distance between the ends that any ranges allow."""
        single = [(way.least, way.most) for way in ways]
        double = [self._over(turn, a, b) for turn, a, b in zip(self.turns, ways, ways[1:], strict=False)]
        count = len(ways)
        fore, back = [0.0] * (count + 1), [0.0] * (count + 1)
        for j in range(1, count + 1):
            fore[j] = fore[j - 1] + single[j - 1][1]
            if j > 1:
                fore[j] = min(fore[j], fore[j - 2] + double[j - 2][1])
        for j in range(count - 1, -1, -1):
            back[j] = back[j + 1] + single[j][1]
            if j < count - 1:
                back[j] = min(back[j], back[j + 2] + double[j][1])
        holes = [least - fore[j] - back[j + 1] for j, (least, _) in enumerate(single)]
        holes += [least - fore[j] - back[j + 2] for j, (least, _) in enumerate(double)]
        return fore[count], max(holes)

    @staticmethod
    def _over(turn: _Turn, before: _Way, after: _Way) -> tuple[float, float]:
        """The least and the most of two ways together, with a joint between them."""
        if before.slides or after.slides:
            return max(before.least - after.most, after.least - before.most, 0.0), before.most + after.most
        a, b = -before.vector, after.vector
        if turn.axis is None:
            return abs(before.least - after.least), before.most + after.most
        along = float(a @ turn.axis) * float(b @ turn.axis)
        cosine = float(a @ b) - along
        sine = float(a @ np.cross(turn.axis, b))
        size, phase = math.hypot(cosine, sine), math.atan2(sine, cosine)
        squares = a @ a + b @ b - 2.0 * along
        values = [cosine * math.cos(x) + sine * math.sin(x) for x in (turn.low, turn.high) if math.isfinite(x)]
        for angle, value in ((phase, size), (phase + math.pi, -size)):
            if _among(angle, turn.low, turn.high):
                values.append(value)
        return (
            math.sqrt(max(squares - 2.0 * max(values), 0.0)),
            math.sqrt(max(squares - 2.0 * min(values), 0.0)),
        )


def _among(angle: float, low: float, high: float) -> bool:
    """Whether an angle, or it and whole turns, is in a range."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return True
    first = angle + math.tau * math.ceil((low - angle) / math.tau - 1e-12)
    return first <= high + 1e-12


def chain_between(
    robot: Any, frame: str, relative_to: str, q: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> Chain | None:
    """What is between two frames, or nothing where a joint is of a kind that no bound is known of.

    ``q`` is the reference; ranges are those of q (nq), infinite where there are none.
    """
    tree = robot.tree
    B, A = tree.frame(frame), tree.frame(relative_to)
    _, to_B, to_A = fork(tree, B.body, A.body)
    X = robot.pose(q, frame, relative_to=relative_to)
    J = robot.jacobian(q, frame, relative_to=relative_to, expressed_in=relative_to)
    turns: list[_Turn] = []
    slides: list[list[tuple[np.ndarray, float, float]]] = [[]]
    limited = False
    for i in (*reversed(to_A), *to_B):
        body = tree.bodies[i]
        kind = type(body.joint)
        if body.joint.nv == 0:
            continue
        if body.coupling is not None or any(other.coupling is not None for other in tree.bodies):
            return None
        columns, places = J[:, tree.v_slices[i]], tree.q_slices[i]
        low = high = math.inf
        if body.joint.nq == 1:
            low, high = float(lower[places][0] - q[places][0]), float(upper[places][0] - q[places][0])
            limited = limited or math.isfinite(low) or math.isfinite(high)
        if kind is joints.Prismatic:
            slides[-1].append((columns[3:, 0], low, high))
        elif kind in _TURNING or kind in _POINTS:
            turns.append(_turn(columns, X[:3, 3], -high if low == math.inf else low, high, kind in _TURNING))
            slides.append([])
        else:
            return None
    if not turns:
        return None
    turns = _shortest(turns)
    points = [turns[0].point, *(turn.point for turn in turns), turns[-1].point]
    ways = tuple(_Way(b - a, tuple(s)) for (a, b), s in zip(itertools.pairwise(points), slides, strict=True))
    return Chain(frame, relative_to, X, tuple(turns), ways, limited)


def _turn(columns: np.ndarray, p: np.ndarray, low: float, high: float, one: bool) -> _Turn:
    """From columns (ω; v of a point p): the nearest point to p of the axis, or the one about which it turns."""
    if one:
        w, v = columns[:3, 0], columns[3:, 0]
        size = float(w @ w)
        return _Turn(p + np.cross(w, v) / size, w / math.sqrt(size), low, high)
    A = np.concatenate([np.cross(w, np.eye(3)).T for w in columns[:3].T])  # A (p − c) = v
    arm = np.linalg.lstsq(A, columns[3:].T.ravel(), rcond=None)[0]
    return _Turn(p - arm, None, -math.inf, math.inf)


def _shortest(turns: list[_Turn]) -> list[_Turn]:
    """Points on axes with a short way through all of them.  Any points make a bound; short ways make a good one."""
    where = np.array([turn.point for turn in turns])
    axes = np.array([np.zeros(3) if turn.axis is None else turn.axis for turn in turns])
    count = len(turns)
    for _ in range(60 if count > 1 else 0):  # least Σ wᵢ |c_{i+1} − cᵢ|², with wᵢ one by the length before
        gaps = np.diff(where, axis=0)
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
        where = where - np.linalg.solve(H, g)[:, None] * axes
    return [_Turn(point, turn.axis, turn.low, turn.high) for point, turn in zip(where, turns, strict=True)]
