"""Trajectories of a robot that picks up objects, their distances, and conversion to a larger robot."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, Self

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import positive
from linkwork.errors import UnknownNameError
from linkwork.geometry.scene import Scene
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.model.body import Frame
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves import KINDS, CurveSpace, TimeScaling
from linkwork.motion.algorithms.curves.curve_kinds import FAR
from linkwork.motion.arguments import times_within
from linkwork.motion.trajectory.motion_clearance import MotionClearance, clearance_of
from linkwork.motion.trajectory.simultaneous_motions import at_the_same_time
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["RobotChanges", "by_robot", "have_same_joints", "refuse_changes", "refuse_displaced_objects", "with_robot"]

_SAME_POSE = 1e-3  # [m, rad] an object is picked up where it lies, up to this error of inverse kinematics


@public
class RobotChanges:
    """Methods of `Trajectory` for robots that pick up objects, for larger robots, and for distances of shapes."""

    __slots__ = ()

    def robot_at(self, t: float) -> Any:
        """Return the robot with the objects that it carries at the time ``t`` [s]: see `concatenate`."""
        path: Any = self
        begins = [section.start for section in path.sections]
        time = float(times_within("robot_at", t, begins[0], path.end_time, is_timed=path.is_timed))
        section = path.sections[bisect_right(begins, time) - 1]
        return path.robot if section.robot is None else section.robot

    def for_robot(self, robot: RobotBase, *, prefix: str = "", others: Array | Self | None = None) -> Self:
        """Return this motion as a motion of a ``robot`` with further joints, such as a cell that contains the arm.

        A joint of this trajectory's robot has the name ``prefix + name`` in ``robot``, and moves as in this
        trajectory.  All other joints rest at ``others``: a configuration (nq,) or a dict by joint, by default
        `Robot.neutral`.

        ``others`` may also be a trajectory of ``robot``.  Then the other joints, and the joints that rest throughout
        this trajectory, move as in ``others``, at the same time.  Before its start and after its end each motion
        rests; `shifted` delays one of them.  The robot carries the objects that it holds in either motion.

        >>> import linkwork as lw
        >>> arm = lw.load("arm6")
        >>> cell = lw.join_robots({"left": arm, "right": arm.with_base((0, 1, 0))})
        >>> wave = arm.spline([0.0, 1.0], [arm.neutral(), 0.1 + arm.neutral()])
        >>> wave.for_robot(cell, prefix="right_")(1.0).q.tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]

        >>> both = wave.for_robot(cell, prefix="left_", others=wave.for_robot(cell, prefix="right_").shifted(0.5))
        >>> both(1.0).q.round(3).tolist()
        [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05]

        Raises UnknownNameError for a joint that ``robot`` does not have, and ValueError for a joint of another type
        and for a joint that moves in both motions. If ``others`` is a trajectory, raises TypeError for floating and
        spherical joints that move along B-splines and squads.
        """
        path: Any = self
        if not isinstance(others, RobotChanges):
            sections = _embedded_sections(path, robot, prefix, others)
        else:
            sections = _with_others(path, robot, prefix, others)
        result: Self = type(path)(sections, robot, is_timed=path.is_timed)
        return result

    @public(tolerance=positive)
    def clearance(
        self,
        scene: Scene | None = None,
        *,
        tolerance: float = 1e-3,
        pairs: Iterable[tuple[str, str]] | Literal["self", "scene"] | None = None,
    ) -> MotionClearance:
        """Return the least distance of collision shapes over all times, with the pair, the time and a lower bound.

        The shapes are those of the robot, including objects that it holds (see `robot_at`), and the obstacles of a
        ``scene``. ``pairs`` selects pairs of names, as in `Robot.distances`; pairs of an object count only while the
        object is held.  The lower bound is proved for all times, also between the times that are checked.  It is at
        most ``tolerance`` [m] below the least distance, unless 400 000 configurations do not suffice: a tenth of the
        tolerance needs up to ten times as many.

        >>> import linkwork as lw
        >>> arm = lw.load("arm6")
        >>> post = lw.Scene().with_cylinder("post", 0.05, 2.0, (-0.5, 0.0, 0.0))
        >>> swing = arm.spline([0.0, 2.0], [[-1.0, 0.8, 0.0, 0.0, 0.0, 0.0], [1.0, 0.8, 0.0, 0.0, 0.0, 0.0]])
        >>> gap = swing.clearance(post, pairs=[("forearm", "post")])
        >>> gap.pair, round(gap.time, 1), bool(gap.lower_bound <= gap.distance < 0.0)
        (('forearm', 'post'), 1.0, True)

        Raises ValueError for a trajectory of plain coordinates and an unbounded shape that moves, and TypeError for a
        joint whose motion has no bound.
        """
        path: Any = self
        if path.robot is None:
            raise ValueError("Trajectory: expected a motion of a robot, got one of plain coordinates")
        if any(section.is_symbolic for section in path.sections):
            raise TypeError("Trajectory: expected numeric values, got symbols")
        return clearance_of(path, scene, tolerance, pairs)


def have_same_joints(first: Any, second: Any) -> bool:
    """Return True if two robots have the same joints; attached objects, loads, frames and shapes may differ."""
    if first is None or second is None:
        return first is second
    return first == second or _joints(first.tree) == _joints(second.tree)


def _joints(tree: Tree) -> tuple[Any, ...]:
    joints = [(b.joint_name, b.parent, b.joint, b.placement, b.rotor, b.coupling) for b in tree.bodies]
    return (*joints, tree.stacking, tree.constraints)


def with_robot(sections: Sequence[Section], robot: Any, new: Any) -> list[Section]:
    """Return the sections of a trajectory of ``robot`` as sections of a trajectory of the robot ``new``."""
    result = []
    for section in sections:
        moving = robot if section.robot is None else section.robot
        carrier = None if moving == new else moving
        result.append(section if carrier is section.robot else section.carried_by(carrier))
    return result


def by_robot(trajectory: Any) -> list[Any]:
    """Return one trajectory for each robot in a trajectory, with only the sections in which it is the robot.

    Robots differ by the objects that they carry.
    """
    groups: dict[Any, list[Section]] = {}
    for section in trajectory.sections:
        groups.setdefault(section.robot, []).append(section)
    robot, is_timed = trajectory.robot, trajectory.is_timed
    return [type(trajectory)(sections, robot, is_timed=is_timed) for sections in groups.values()]


def refuse_changes(caller: str, trajectory: Any) -> None:
    """Raise ValueError for a trajectory whose robot picks up or puts down an object."""
    if any(section.robot is not None for section in trajectory.sections):
        raise ValueError(
            f"{caller}: expected a motion of one robot, got one that picks up or puts down objects; pass its "
            "parts, and join the results by concatenate"
        )


def refuse_displaced_objects(first: Any, second: Any, tolerance: float) -> None:
    """Raise ValueError if ``second`` picks up an object at another pose than that at which ``first`` releases it.

    Objects are attached objects and links of mounted robots, with shapes. Their poses in the world may differ by
    ``tolerance`` [m, rad], and at least by 1e-3.
    """
    before, after = _shapes_by_section(first), _shapes_by_section(second)
    if all(robot is before[0][0] for robot, _ in (*before, *after)):
        return
    for name in dict.fromkeys(name for _, objects in after for name in objects):
        last = next((k for k in reversed(range(len(before))) if name in before[k][1]), None)
        if last is None:
            continue
        begin = next(k for k, (_, objects) in enumerate(after) if name in objects)
        adjacent = last == len(before) - 1 and begin == 0
        if adjacent and before[last][1][name] == after[begin][1][name]:
            continue
        lies = before[last][0].pose(first(first.sections[last].end, side="left").q, name)
        taken = after[begin][0].pose(second(second.sections[begin].start).q, name)
        distance, chord = (float(np.linalg.norm((taken - lies)[:3, columns])) for columns in (3, slice(3)))
        angle = 2.0 * math.asin(min(chord / math.sqrt(8.0), 1.0))
        if max(angle, distance) > max(tolerance, _SAME_POSE):
            raise ValueError(
                f"concatenate: object {name!r}: expected the other trajectory to pick it up where it lies, at "
                f"{np.round(lies[:3, 3], 6).tolist()} m, got {np.round(taken[:3, 3], 6).tolist()} m, {distance:.3g} m "
                f"and {angle:.3g} rad away; a larger tolerance= permits small jumps, allow_jump=True all of them"
            )


def _shapes_by_section(trajectory: Any) -> list[tuple[Any, dict[str, Frame]]]:
    """Return the robot of each section, and its frames with shapes by name."""
    robots = [trajectory.robot if section.robot is None else section.robot for section in trajectory.sections]
    if any(robot is None for robot in robots):
        return [(None, {}) for _ in robots]
    return [(robot, {f.name: f for f in robot.tree.frames if f.visuals or f.collisions}) for robot in robots]


def _embedded_sections(trajectory: Any, robot: Any, prefix: str, others_at: Any) -> list[Section]:
    """Return the sections of a trajectory as a motion of a larger robot, in which joint names have a prefix.

    The other joints are at the configuration ``others_at`` (nq,).  Raises ValueError and UnknownNameError.
    """
    caller = "for_robot"
    refuse_changes(caller, trajectory)
    if trajectory.robot is None:
        raise ValueError(f"{caller}: expected a trajectory of a robot, got one of plain coordinates")
    if any(section.is_symbolic for section in trajectory.sections):
        raise TypeError(f"{caller}: the trajectory contains symbols; expected numeric values")
    of_q, of_v = _indices_in(trajectory.robot, robot, prefix)
    large = robot.tree
    q = robot.normalize(robot.neutral() if others_at is None else others_at)
    if q.shape != (large.nq,):
        raise ValueError(f"{caller}: others: expected {large.nq} numbers, got shape {q.shape}")
    return [_embedded(section, large, of_q, of_v, q) for section in trajectory.sections]


def _indices_in(part: Any, robot: Any, prefix: str) -> tuple[np.ndarray, np.ndarray]:
    """Return, for the coordinates of q and v of ``part``, their indices in q and v of the larger robot."""
    caller = "for_robot"
    small, large = part.tree, robot.tree
    of_q, of_v = np.empty(small.nq, dtype=int), np.empty(small.nv, dtype=int)
    for i, body in small.stacked():
        name = prefix + body.joint_name
        known = {b.joint_name: k for k, b in large.stacked()}
        if name not in known:
            kind, remedy = f"joint with coordinates of robot {robot.name!r}", _prefix_remedy(small, prefix, known)
            raise UnknownNameError(kind, name, known, remedy, where=f"{caller}: robot")
        k = known[name]
        if large.bodies[k].joint != body.joint:
            raise ValueError(f"{caller}: joint {name!r}: expected a joint of the same type in robot {robot.name!r}")
        of_q[small.q_slices[i]] = np.arange(large.nq)[large.q_slices[k]]
        of_v[small.v_slices[i]] = np.arange(large.nv)[large.v_slices[k]]
    return of_q, of_v


def _with_others(trajectory: Any, robot: Any, prefix: str, second: Any) -> list[Section]:
    """Return the sections of a trajectory as a motion of a robot whose other joints move as in ``second``."""
    if not have_same_joints(second.robot, robot):
        raise ValueError(
            f"for_robot: others: expected a trajectory of robot {robot.name!r}, got {second!r}; "
            "pass others.for_robot(robot, prefix=...)"
        )
    whole = not prefix and trajectory.robot is not None and have_same_joints(trajectory.robot, robot)
    of_first = None
    if not whole:
        resting = second(second.start_time).q
        sections = _embedded_sections(trajectory, robot, prefix, resting)
        of_first = np.zeros(robot.nv, dtype=bool)
        of_first[_indices_in(trajectory.robot, robot, prefix)[1]] = True
        trajectory = type(trajectory)(sections, robot, is_timed=trajectory.is_timed)
    return at_the_same_time("for_robot", trajectory, second, robot, of_first)


def _prefix_remedy(small: Tree, prefix: str, known: Collection[str]) -> str:
    """Return advice to pass a prefix with which all joints of ``small`` are known; "" without one."""
    names = [body.joint_name for _, body in small.stacked()]
    ends = [name.removesuffix(names[0]) for name in known if name.endswith(names[0])]
    fitting = [x for x in ends if x != prefix and all(x + name in known for name in names)]
    return f"pass prefix={' or prefix='.join(repr(x) for x in fitting)}" if fitting else ""


def _embedded(section: Section, tree: Tree, of_q: np.ndarray, of_v: np.ndarray, at_rest: np.ndarray) -> Section:
    space = CurveSpace.of(tree, section.space.apart)
    kind, arrays = section.kind, dict(section.arrays)
    if kind.name == "polynomial":  # of plain coordinates: q itself
        kind = KINDS["retracted"]
        arrays["base"] = np.zeros((len(arrays["starts"]), section.space.nq))
    fill = {"nq": (of_q, at_rest), "nv": (of_v, np.zeros(tree.nv))}
    result = {}
    for name, shape in kind.arrays:
        result[name] = _spread(arrays[name], shape, fill)
    if kind.name == "by_coordinate":
        resting = np.setdiff1d(np.arange(tree.nv), of_v)
        result["starts"][resting, 0], result["starts"][resting, 1:] = section.start, FAR
    clock = section.clock
    if clock is not None and clock.segments.ndim > 1:
        clock = TimeScaling(clock.starts, clock.coefficients, _spread(clock.segments, ("clocks", "nv"), fill))
    return Section(space, kind, result, section.start, section.end, clock)


def _spread(x: np.ndarray, shape: Sequence[str], fill: dict[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return an array x of coordinates of a small robot as an array for a larger robot.

    ``shape`` names the axes of x; the axis "nq" or "nv" becomes longer. ``fill`` maps its name to the indices of the
    small robot's coordinates, and the values of all coordinates of the larger robot.
    """
    axis = next((k for k, dimension in enumerate(shape) if dimension in fill), None)
    if axis is None:
        return x
    index, values = fill[shape[axis]]
    wide = [len(values) if k == axis else n for k, n in enumerate(x.shape)]
    result = np.broadcast_to(values.reshape([-1 if k == axis else 1 for k in range(x.ndim)]), wide).copy()
    result[(slice(None),) * axis + (index,)] = x
    return result
