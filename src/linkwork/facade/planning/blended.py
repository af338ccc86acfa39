"""A path without corners: parabolas from edge to edge, each proved to be free, as large as they can be.

At a corner c, a parabola leaves one edge and enters the next one at the same length d from c,

    q(s) = c + (s − d) u₀ + s² (u₁ − u₀)/(4 d),     0 ≤ s ≤ 2 d,

u₀ and u₁ being the rates along both edges: v has no jump.  It is proved by chords: of m equal ones, joint j is never
farther from a chord than δ_j = d |u₁ − u₀|_j/(4 m²), so no point of the robot is farther from where the chord has it
than Σ_j r_j δ_j, where r_j is how far a point may be from where joint j turns.  Chords that are free with that much
more margin prove the parabola.

Source: the parabolas of Kunz and Stilman, Time-optimal trajectory generation for path following with bounded
acceleration and velocity, 2012, who blend with arcs.
"""

from __future__ import annotations

import math

import numpy as np

from ...algorithms.distances.motion_bounds import constant_twist
from ...model.body import WORLD
from ...model.collisions import link_shapes
from ...model.tree import Tree
from .space import PlanningSpace

__all__ = ["blended", "joint_reaches"]

_CHORDS = 8
_SIZES = (0.5, 0.25, 0.12, 0.05)  # of the shorter edge: of which the first is taken that is free


def blended(space: PlanningSpace, path: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Times (k + 1,) and coefficients (k, nq, 3) of pieces along a path whose edges take ``lengths`` (n,) [s], without
    the corners that could be blended; nothing where no bound is known."""
    reaches = joint_reaches(space.robot.tree, space.lower, space.upper)
    if reaches is None or space.tasks or not space.is_plain or space.robot.tree.constraints:
        return None
    rates = (path[1:] - path[:-1]) / lengths[:, None]
    turn = rates[1:] - rates[:-1]
    size = np.minimum(lengths[1:], lengths[:-1])
    taken = np.zeros(len(turn))
    left = np.arange(len(turn))
    for part in _SIZES:
        if not len(left):
            break
        d = part * size[left]
        s = np.linspace(0.0, 2.0, _CHORDS + 1)[None, :, None] * d[:, None, None]
        at = path[1:-1][left][:, None] + (s - d[:, None, None]) * rates[:-1][left][:, None]
        at = at + s * s * turn[left][:, None] / (4.0 * d[:, None, None])
        off = (np.abs(turn[left]) * reaches).sum(axis=1) * d / (4.0 * _CHORDS**2)
        flat = at[:, :-1].reshape(-1, path.shape[1]), at[:, 1:].reshape(-1, path.shape[1])
        free = space.edges_are_clear(*flat, np.repeat(off, _CHORDS)).reshape(-1, _CHORDS).all(axis=1)
        taken[left[free]] = d[free]
        left = left[~free]
    return _pieces(path, lengths, rates, turn, taken)


def _pieces(
    path: np.ndarray, lengths: np.ndarray, rates: np.ndarray, turn: np.ndarray, d: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    before, after = np.concatenate([[0.0], d]), np.concatenate([d, [0.0]])
    times, rows = [0.0], []
    for k in range(len(lengths)):
        if k and d[k - 1] > 0.0:
            c = d[k - 1]
            rows.append([path[k] - c * rates[k - 1], rates[k - 1], turn[k - 1] / (4.0 * c)])
            times.append(at[k] + c)
        if lengths[k] - before[k] - after[k] > 1e-12 * lengths[k]:
            rows.append([path[k] + before[k] * rates[k], rates[k], np.zeros_like(rates[k])])
            times.append(at[k + 1] - after[k])
    return np.array(times), np.moveaxis(np.array(rows), 1, 2)


def joint_reaches(tree: Tree, lower: np.ndarray, upper: np.ndarray) -> np.ndarray | None:
    """By number of v (nv,): how far any point of a collision shape moves at most by a unit of it [m/rad, m/m].

    Of a joint whose twist (ω; v) in its moving frame stays: |ω| r + |v|, where r bounds how far from that frame's
    origin points of what it carries may be: the lengths from frame to frame, and how far joints slide.  Nothing where
    some joint is of another kind.
    """
    count = len(tree.bodies)
    far = np.full(count, -math.inf)  # from the body's origin, of what it carries
    for one in link_shapes(tree):
        if one.body == WORLD:
            continue
        reach = one.shape.reach
        if reach is None:
            return None
        far[one.body] = max(far[one.body], _size(one.placement.translation) + reach)
    found = np.zeros(tree.nv)
    for i in reversed(range(count)):
        body = tree.bodies[i]
        if body.joint.nv > 1 or body.joint.nq != body.joint.nv or not constant_twist(body.joint):
            return None
        own = far[i] + _size(body.rotor.translation)  # from the moving frame's origin
        slide = _size(body.joint.X(body.joint.zero()).translation)
        for k, column in zip(range(tree.v_slices[i].start, tree.v_slices[i].stop), _columns(body), strict=True):
            w, v = math.hypot(*column[:3]), math.hypot(*column[3:])
            ratio, offset = (1.0, 0.0) if body.coupling is None else (body.coupling.ratio, body.coupling.offset)
            if own > -math.inf:
                found[k] += abs(ratio) * (w * own + v)
            most = max(abs(lower[tree.q_slices[i]][0]), abs(upper[tree.q_slices[i]][0]))
            slide += v * (abs(ratio) * most + abs(offset)) if v > 0.0 else 0.0
        if body.parent != WORLD:
            far[body.parent] = max(far[body.parent], own + slide + _size(body.placement.translation))
    return found if np.isfinite(found).all() else None


def _columns(body: object) -> list[list[float]]:
    joint = body.joint  # type: ignore[attr-defined]
    return [[float(x) for x in column.elements()] for column in joint.S(joint.zero()).columns]


def _size(v: object) -> float:
    return math.hypot(*(float(x) for x in v))  # type: ignore[attr-defined]
