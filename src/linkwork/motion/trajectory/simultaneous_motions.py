"""Two simultaneous motions of one robot, in which different joints move, joined to one motion.

Both motions are polynomials of time between their knots.  The knots of the result are those of both motions; each
joint's polynomials are those of the motion in which the joint moves.  Before its start and after its end a motion
rests.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.messages import listed, untimed
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.algorithms.curves.curve_space import JointSlice
from linkwork.motion.trajectory.piecewise_evaluation import segment_indices, shifted
from linkwork.motion.trajectory.time_polynomials import polynomials_of
from linkwork.motion.trajectory.trajectory_extremes import extremes_of
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["at_the_same_time"]

_STATIONARY_SPEED = 1e-9  # [rad/s, m/s] slower joints rest
_SAME_VALUE = 1e-9  # [rad, m] permitted difference of joints that rest in both motions
_NEAR = 1e-12  # of the times: knots of both motions that are nearer to each other count as one


class _Curve(NamedTuple):
    """Polynomials c (m, nv, terms) of time on m segments.

    For joints whose configurations are not a vector space, they are tangent vectors at ``base`` (m, nq).
    """

    base: np.ndarray
    c: np.ndarray


def at_the_same_time(caller: str, first: Any, second: Any, robot: Any, of_first: np.ndarray | None) -> list[Section]:
    """Return the sections of a motion of ``robot`` that joins its motions ``first`` and ``second``, run simultaneously.

    ``of_first`` is a mask (nv,) for joints that rest in both motions. True selects the joint's position in ``first``,
    and False that in ``second``; without a mask both positions must agree. Raises ValueError for a joint that moves in
    both motions, and TypeError for a joint whose curve is not a polynomial.
    """
    if first.is_timed != second.is_timed:
        raise ValueError(untimed(caller, first if not first.is_timed else second))
    for path, argument in ((first, ""), (second, "others: ")):
        if any(section.is_symbolic for section in path.sections):
            raise TypeError(f"{caller}: {argument}the trajectory contains symbols; expected numeric values")
    joints = _joints(robot.tree)
    taken, moving = _joints_of_second(caller, first, second, joints, of_first)
    apart = _translations_apart(caller, (first, second), joints, np.where(moving, taken, -1))
    space = CurveSpace.of(robot.tree, apart)
    ends = sorted({x for path in (first, second) for s in path.sections for x in (s.start, s.end)})
    ends = [ends[0], *_common_knots(ends[0], ends[-1], np.array(ends[1:-1])).tolist()[1:]]
    result = []
    for start, end in pairwise(ends):
        knots = _common_knots(start, end, np.concatenate([path.knots for path in (first, second)]))
        curves = [_curve_between(caller, path, knots, joints, taken == k) for k, path in enumerate((first, second))]
        terms = max(curve.c.shape[-1] for curve in curves)
        base, c = np.zeros((len(knots) - 1, space.nq)), np.zeros((len(knots) - 1, space.nv, terms))
        for joint, k in zip(joints, taken, strict=True):
            base[:, joint.in_q] = curves[k].base[:, joint.in_q]
            c[:, joint.in_v, : curves[k].c.shape[-1]] = curves[k].c[:, joint.in_v]
        arrays = {"starts": knots[:-1], "coefficients": c} | ({} if space.is_plain else {"base": base})
        kind = KINDS["polynomial" if space.is_plain else "retracted"]
        middle = 0.5 * (start + end)
        carrier = _carrier(caller, robot, first, second, middle)
        result.append(Section(space, kind, arrays, start, end, None, None if carrier == robot else carrier))
    return result


def _joints(tree: Tree) -> list[JointSlice]:
    """Return all joints with coordinates, in the order of q."""
    return [
        JointSlice(body.joint_name, body.joint, tree.q_slices[i].start, tree.v_slices[i].start)
        for i, body in tree.stacked()
    ]


def _joints_of_second(
    caller: str, first: Any, second: Any, joints: list[JointSlice], of_first: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the motion that determines each joint, 0 (``first``) or 1 (``second``), and True if the joint moves."""
    speeds = [np.abs(extremes_of(path, 1)).max(axis=0) for path in (first, second)]
    starts = [np.array([path(section.start).q for section in path.sections]) for path in (first, second)]
    result, moving, conflicts = [], [], []
    for joint in joints:
        moves_first, moves_second = (
            bool((speed[joint.in_v] > _STATIONARY_SPEED).any())
            or any(_apart(joint, q[0], q_start) for q_start in q[1:])
            for speed, q in zip(speeds, starts, strict=True)
        )
        moving.append(moves_first or moves_second)
        if moves_first and moves_second:
            conflicts.append(joint.name)
        if moving[-1]:
            result.append(int(moves_second))
            continue
        result.append(0 if of_first is None else int(not of_first[joint.in_v].all()))
        if of_first is None and _apart(joint, starts[0][0], starts[1][0]):
            a, b = (q[0, joint.in_q] for q in starts)
            raise ValueError(
                f"{caller}: others: joint {joint.name!r} rests in both motions, at {a.tolist()} here and at "
                f"{b.tolist()} there; make both with the same configuration of the joints at rest"
            )
    if conflicts:
        raise ValueError(
            f"{caller}: others: expected a motion of other joints, got one in which {listed(conflicts)} move as well"
        )
    return np.array(result, dtype=int), np.array(moving, dtype=bool)


def _apart(joint: JointSlice, a: np.ndarray, b: np.ndarray) -> bool:
    """Return True if a joint's positions at two configurations (nq,) differ."""
    phi = joint.difference(a[joint.in_q].tolist(), b[joint.in_q].tolist(), False)
    return bool(np.abs(np.array(phi, dtype=float)).max(initial=0.0) > _SAME_VALUE)


def _translations_apart(caller: str, paths: tuple[Any, Any], joints: list[JointSlice], taken: np.ndarray) -> bool:
    """Return True if floating and planar joints rotate and translate separately along the curves of both motions.

    ``taken`` is, for each joint, the index of the motion in which it moves, or −1 for joints at rest. Raises ValueError
    if the motions differ.
    """
    choices = {
        section.space.apart
        for k, path in enumerate(paths)
        for section in path.sections
        for joint, chosen in zip(joints, taken, strict=True)
        if chosen == k and joint.goes_straight
    }
    if len(choices) > 1:
        raise ValueError(
            f"{caller}: others: floating and planar joints translate along lines in one motion and along screws in the "
            "other; create both with the same option of Robot.spline"
        )
    return any(choices)


def _common_knots(start: float, end: float, times: np.ndarray) -> np.ndarray:
    """Return ``start``, the ``times`` between both ends without near duplicates, and ``end``."""
    times = np.unique(times)
    near = _NEAR * max(end - start, abs(start), abs(end))
    times = times[(times > start + near) & (times < end - near)]
    times = np.concatenate([[start], times])
    return np.append(times[np.concatenate([[True], np.diff(times) > near])], end)


def _curve_between(caller: str, path: Any, knots: np.ndarray, joints: list[JointSlice], used: np.ndarray) -> _Curve:
    """Return polynomials of the motion ``path`` on the segments between ``knots``.

    The knots lie within a section of the motion, or before its start or after its end, where it rests. Only the joints
    that are ``used`` need to have polynomials.
    """
    middle = 0.5 * (knots[0] + knots[-1])
    if not path.start_time < middle < path.end_time:
        q = path(path.start_time if middle < path.start_time else path.end_time).q
        return _resting(q, len(knots) - 1, joints)
    section = next(s for s in path.sections if s.start < middle < s.end)
    times, c, _ = polynomials_of(section)
    middles = 0.5 * (knots[1:] + knots[:-1])
    index = segment_indices(times[:-1], middles)
    c = shifted(c[index], (knots[:-1] - times[index])[:, None])
    base = np.zeros((len(middles), section.space.nq))
    if section.kind.name == "by_coordinate":
        base[:] = section.arrays["base"]
    elif section.kind.name == "retracted":
        base[:] = section.arrays["base"][section.segments_at(middles)]
    resting = _resting(section.at(np.array([middle]), 1)[0][0], len(middles), joints)
    powers = np.arange(1, c.shape[-1])
    # the curves of all kinds rest exactly where their polynomials do
    speeds = (np.abs(c[..., 1:]) * powers * np.diff(knots)[:, None, None] ** (powers - 1)).sum(axis=-1)
    for joint, chosen in zip(joints, used, strict=True):
        if joint.is_plain or not chosen:
            base[:, joint.in_q] = 0.0
        elif speeds[:, joint.in_v].max(initial=0.0) <= _STATIONARY_SPEED:
            base[:, joint.in_q], c[:, joint.in_v] = resting.base[:, joint.in_q], 0.0
        elif section.kind.name in ("cumulative", "squad"):
            raise TypeError(
                f"{caller}: others: joint {joint.name!r} ({joint.joint.type_name()}): expected polynomials, got a "
                f"curve of kind {section.kind.name!r}; pass its samples to Robot.spline with another kind="
            )
    return _Curve(base, c)


def _resting(q: np.ndarray, count: int, joints: list[JointSlice]) -> _Curve:
    """Return the curve that rests at q (nq,) on a number of segments."""
    base, c = np.zeros((count, len(q))), np.zeros((count, sum(joint.joint.nv for joint in joints), 1))
    for joint in joints:
        if joint.is_plain:
            c[:, joint.in_v, 0] = q[joint.in_q]
        else:
            base[:, joint.in_q] = q[joint.in_q]
    return _Curve(base, c)


def _carrier(caller: str, robot: Any, first: Any, second: Any, t: float) -> Any:
    """Return the robot at a time, with the objects that it holds in both motions."""
    a, b = (path.robot_at(min(max(t, path.start_time), path.end_time)) for path in (first, second))
    if b in (robot, a):
        return a
    if a == robot:
        return b
    base, of_a, of_b = robot.tree, a.tree, b.tree
    if of_a.bodies != base.bodies or of_b.bodies != base.bodies:
        raise ValueError(
            f"{caller}: others: both motions carry loads at {t:.6g} s; attach one of them by with_payload to the robot "
            "of both motions"
        )
    known, frames = {frame.name: frame for frame in base.frames}, {frame.name: frame for frame in of_a.frames}
    for frame in of_b.frames:
        ours = frames.setdefault(frame.name, frame)
        if ours == known.get(frame.name):
            frames[frame.name] = frame
        elif frame not in (ours, known.get(frame.name)):
            raise ValueError(
                f"{caller}: others: both motions hold a {frame.name!r} at {t:.6g} s, at different poses or with "
                "different shapes; rename one of them in with_attached"
            )
    # what the robot of both motions holds, and one of them has released
    in_both = {frame.name for frame in of_a.frames} & {frame.name for frame in of_b.frames}
    for name in known.keys() - in_both:
        frames.pop(name, None)
    released = {*base.disabled_collisions} - ({*of_a.disabled_collisions} & {*of_b.disabled_collisions})
    pairs = dict.fromkeys((*of_a.disabled_collisions, *of_b.disabled_collisions))
    merged = replace(
        of_a,
        frames=tuple(frames.values()),
        disabled_collisions=tuple(pair for pair in pairs if pair not in released),
    )
    return type(robot)(merged)
