"""Trajectory files: NumPy archives (npz), which are exact, text tables (csv), and messages of ROS (yaml, json)."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.file_access import SCENE, NotRegularError, opened_regular, replaced
from linkwork._util.messages import untimed
from linkwork._util.npz_archive import ArchiveReader, OtherFileError, open_archive, write_archive
from linkwork._util.validation import integer, names, one_of, shown
from linkwork.errors import Findings, UnknownNameError
from linkwork.formats.data_documents import YAML, read_document, yaml_text
from linkwork.formats.ros_messages import MESSAGES, is_message, read_message, trajectory_message
from linkwork.joints.base.checks import SILENT_MANIFOLD_DISTANCE, has_manifold, manifold_distances
from linkwork.kinematics.state_tables import StateTable, state_variables
from linkwork.motion.algorithms.curves import KINDS, CurveKind, CurveSpace, TimeScaling
from linkwork.motion.arguments import times_at_rate, times_within
from linkwork.motion.trajectory.recorded_logs import read_log
from linkwork.motion.trajectory.robot_changes import have_same_joints
from linkwork.motion.trajectory.trajectory_construction import through_states
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["load_trajectory", "ros_message", "save_trajectory", "trajectory_table"]

_FORMAT = "linkwork trajectory 2"
_MESSAGES = (*YAML, ".json")  # endings of messages of ROS
_CONFIGURATIONS = ("base", "inner")  # arrays of configurations
_MAX_CSV = 1 << 30  # [bytes]


def save_trajectory(
    trajectory: Any,
    path: str | os.PathLike[str],
    samples: int | None,
    rate: float | None,
    message: str | None,
    ros_version: int,
) -> None:
    """Write a trajectory in the format of the file's suffix."""
    where = Path(path)
    if samples is not None and rate is not None:
        raise ValueError("save: expected either samples or rate, got both")
    if where.suffix.lower() in _MESSAGES:
        times = _equal_steps(trajectory, samples, None)
        document = ros_message("save", trajectory, times, rate, message, ros_version)
        text = json.dumps(document, indent=1) if where.suffix.lower() == ".json" else yaml_text(document)
        with replaced(where, text=True) as file:
            file.write(text)
        return
    if message is not None:
        raise ValueError(f"save: message is for .yaml and .json, got {str(where)!r}")
    if any(section.is_symbolic for section in trajectory.sections):
        raise TypeError("save: the trajectory contains symbols; save it with numeric values")
    if where.suffix == ".csv":
        times = _equal_steps(trajectory, samples, rate)
        trajectory_table("save", trajectory, times, both_sides=True).to_csv(where)
    elif where.suffix == ".npz":
        if samples is not None or rate is not None:
            raise ValueError("save: samples, rate: expected None for .npz, which has the curve itself; or save as .csv")
        _save_arrays(trajectory, where)
    else:
        raise ValueError(f"save: path: expected a file named .npz, .csv, .yaml or .json, got {str(where)!r}")


def _equal_steps(trajectory: Any, samples: int | None, rate: float | None) -> np.ndarray | None:
    """Return the times (n,) [s] at which a file is sampled; None if neither ``samples`` nor ``rate`` is set."""
    if rate is not None:
        return times_at_rate("save", trajectory.start_time, trajectory.end_time, rate)
    if samples is None:
        return None
    result: np.ndarray = trajectory.sampled(num_samples=samples)[0]
    return result


def load_trajectory(
    cls: Any, path: str | os.PathLike[str], robot: Any, rate: float | None, degrees: bool, trusted: bool
) -> Any:
    """Return the trajectory in a file.  Raises ValueError for another file or robot."""
    where = Path(path)
    if where.suffix == ".csv":
        return _load_text(cls, where, robot, rate, degrees)
    if rate is not None or degrees:
        raise ValueError(f"load: rate and degrees are for .csv, got {str(where)!r}")
    if where.suffix == ".npz":
        return _load_arrays(cls, where, robot)
    if where.suffix.lower() in _MESSAGES:
        return _load_message(cls, where, robot, trusted)
    raise ValueError(f"load: path: expected a file named .npz, .csv, .yaml or .json, got {str(where)!r}")


def ros_message(
    caller: str,
    trajectory: Any,
    times: Any,
    rate: float | None,
    message: str | None,
    ros_version: int,
    joints: Any = None,
) -> dict[str, Any]:
    """Return a trajectory as a ROS message, sampled at its knots, at times (n,) [s], or in steps of 1/``rate``.

    The message has all joints, or those with the names ``joints``.

    Velocities are left out if a position or velocity jumps at a time of the message.  Accelerations are also left out
    if an acceleration jumps.  Raises ValueError for a trajectory without times, TypeError without a robot.
    """
    integer(caller, "ros_version", ros_version, least=1, most=2)
    if message is not None:
        one_of(caller, "message", message, MESSAGES)
    if trajectory.robot is None:
        raise TypeError(f"{caller}: expected joints for a ROS message, which names them: the trajectory has no robot")
    if not trajectory.is_timed:
        raise ValueError(untimed(caller, trajectory))
    chosen = None if joints is None else names(caller, "joints", joints)
    if chosen == ():
        raise ValueError(f"{caller}: joints: expected at least one name of a joint, got none")
    if rate is not None:
        times = times_at_rate(caller, trajectory.start_time, trajectory.end_time, rate)
    table = trajectory_table(caller, trajectory, times, both_sides=True)
    first = np.append(True, np.diff(table.times) > 0.0)
    q, v, a = (variable.values for variable in table.variables)
    twice = np.flatnonzero(~first)
    jumps = [np.abs(x[twice] - x[twice - 1]).max(initial=0.0) > _JUMP * np.abs(x).max(initial=0.0) for x in (q, v, a)]
    rates = (None if any(jumps[:2]) else v[first], None if any(jumps) else a[first])
    try:
        return trajectory_message(
            trajectory.robot.tree,
            table.times[first] - trajectory.start_time,
            q[first],
            *rates,
            message=message,
            ros_version=ros_version,
            names=chosen,
        )
    except UnknownNameError as error:
        raise error.at(f"{caller}: joints") from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"{caller}: {error}") from None


def _load_message(cls: Any, where: Path, robot: Any, trusted: bool) -> Any:
    """Return the trajectory of a message, as ROS's controllers interpolate it.

    Between points the trajectory is a quintic; without accelerations a cubic, and without velocities a straight line.
    """
    root = read_document(where, Findings(), SCENE, trusted=trusted)
    if not is_message(root):
        raise ValueError(f"{where}: expected a JointTrajectory or a RobotTrajectory of ROS")
    if robot is None:
        raise TypeError(f"load: {where}: a trajectory of a robot: pass that robot as robot=")
    states = read_message(root, robot.tree, str(where))
    return through_rows(cls, f"load: {where}", robot, states.t, states.q, states.v, states.a, "linear")


def through_rows(
    cls: Any, caller: str, robot: Any, t: np.ndarray, q: np.ndarray, v: Any, a: Any, without_velocities: str
) -> Any:
    """Return the trajectory through states: quintics, or cubics if a is None.

    If v is None, the trajectory is a spline of the kind ``without_velocities``.
    """
    if len(t) < 2:
        raise ValueError(f"{caller}: expected at least two points, got {len(t)}")
    if v is None:
        return robot.spline(t, q, without_velocities)
    if a is None:
        return robot.spline(t, q, "hermite", velocity=v)
    return cls([through_states(CurveSpace.of(robot.tree), t, q, v, a)], robot)


def _joints(space: CurveSpace, robot: Any) -> dict[str, Any]:
    """Return the header entries that identify a trajectory's coordinates: their number and names."""
    header: dict[str, Any] = {"nq": space.nq, "nv": space.nv, "apart": space.apart}
    if robot is not None:
        header["q_names"], header["v_names"] = [*robot.q_names], [*robot.v_names]
    return header


def _space(header: dict[str, Any], robot: Any) -> CurveSpace:
    """Return the curve space of a file from its header.  Raises OtherFileError if the file is of another robot."""
    if robot is None:
        if "q_names" in header:
            raise OtherFileError("a trajectory of a robot: pass that robot as robot=")
        return CurveSpace(header["nq"], header["nv"])
    space = CurveSpace.of(robot.tree, bool(header.get("apart")))
    joints = _joints(space, robot)
    for key in ("q_names", "v_names"):
        if header.get(key, joints[key]) != joints[key]:
            raise OtherFileError(f"{key} are {header[key]}, and those of robot {robot.name!r} are {joints[key]}")
    if (header["nq"], header["nv"]) != (space.nq, space.nv):
        raise OtherFileError(
            f"a trajectory of nq {header['nq']} and nv {header['nv']}; robot {robot.name!r} has nq {space.nq} "
            f"and nv {space.nv}"
        )
    return space


def _save_arrays(trajectory: Any, where: Path) -> None:
    arrays: dict[str, np.ndarray] = {}
    sections = []
    for k, section in enumerate(trajectory.sections):
        sections.append(section.kind.name)
        arrays[f"{k}.times"] = np.array([section.start, section.end])
        arrays |= {f"{k}.{name}": x for name, x in section.arrays.items()}
        if section.clock is not None:
            arrays[f"{k}.clock.starts"] = section.clock.starts
            arrays[f"{k}.clock.coefficients"] = section.clock.coefficients
            arrays[f"{k}.clock.segments"] = section.clock.segments
    header = {"format": _FORMAT, "sections": sections, **_joints(trajectory.sections[0].space, trajectory.robot)}
    if not trajectory.is_timed:
        header["timed"] = False
    carriers = dict.fromkeys(section.robot for section in trajectory.sections if section.robot is not None)
    if carriers:
        from linkwork.formats import robot_text

        header["robots"] = [robot_text(robot.tree) for robot in carriers]
        header["robot_of"] = [[*carriers].index(s.robot) if s.robot else -1 for s in trajectory.sections]
    write_archive(where, header, arrays)


def _load_arrays(cls: Any, where: Path, robot: Any) -> Any:
    with open_archive(where, _FORMAT, "Trajectory.save") as reader:
        kinds = reader.texts("sections")
        if not kinds:
            raise ValueError("sections: expected at least one")
        header: dict[str, Any] = {
            "nq": reader.integer("nq", 0),
            "nv": reader.integer("nv", 0),
            "apart": reader.boolean("apart", False),
        }
        header |= {key: reader.texts(key) for key in ("q_names", "v_names") if key in reader.said}
        space = _space(header, robot)
        carriers = _carriers(reader, robot, len(kinds))
        sections: list[Section] = []
        for k, name in enumerate(kinds):
            if name not in KINDS:
                raise ValueError(f"section {k}: expected a kind of curve ({', '.join(KINDS)}), got {name!r}")
            section = _read_section(reader, k, KINDS[name], space)
            sections.append(section if carriers[k] is None else section.carried_by(carriers[k]))
            if k and sections[k].start != sections[k - 1].end:
                raise ValueError(
                    f"section {k} begins at {sections[k].start} s, but the previous section ends at another time"
                )
        return cls(sections, robot, is_timed=reader.boolean("timed", True))


def _carriers(reader: ArchiveReader, robot: Any, count: int) -> list[Any]:
    """Return, for each of ``count`` sections of a file, its robot, or None for the given ``robot``.

    Robots of sections differ by the objects that they carry. Raises OtherFileError for another robot.
    """
    if "robots" not in reader.said:
        return [None] * count
    from linkwork.formats import parse_robot

    origin = {key: getattr(robot.tree, key) for key in ("source", "part_sources", "trusted")}  # where its meshes are
    carriers = [type(robot)(replace(parse_robot(text), **origin)) for text in reader.texts("robots")]
    if not all(have_same_joints(carrier, robot) for carrier in carriers):
        raise OtherFileError(f"a trajectory of another robot than {robot.name!r}")
    which = reader.integers("robot_of", -1, len(carriers) - 1)
    if len(which) != count:
        raise ValueError(f"robot_of: expected {count} integers, got {len(which)}")
    return [None if k < 0 else carriers[k] for k in which]


def _read_section(reader: ArchiveReader, k: int, kind: CurveKind, space: CurveSpace) -> Section:
    """Return section k of a trajectory file, with all arrays checked."""
    reader.sizes = {"nq": space.nq, "nv": space.nv}
    start, end = reader.array(f"{k}.times", (2,)).tolist()
    if not start <= end:
        raise ValueError(f"section {k}: expected an end after its start, {start} s, got {end} s")
    arrays = {}
    for name, shape in kind.arrays:
        arrays[name] = reader.array(f"{k}.{name}", shape, ordered=name == "starts")
        if 0 in arrays[name].shape and 0 not in (space.nq, space.nv):
            raise ValueError(f"section {k}: array {name!r} is empty")
        if name in _CONFIGURATIONS:
            _check_configurations(k, name, arrays[name], space)
    clock = None
    if f"{k}.clock.starts" in reader:
        starts = reader.array(f"{k}.clock.starts", ("clocks",), ordered=True)
        c = reader.array(f"{k}.clock.coefficients", ("clocks", "clock terms"))
        segments = reader.array(f"{k}.clock.segments", ("clocks", "nv")[: arrays["starts"].ndim])
        if not c.size:
            raise ValueError(f"section {k}: its time scaling s(t) (clock.coefficients) is empty")
        count = arrays["starts"].shape[-1]
        if not np.isin(segments, np.arange(count)).all():
            raise ValueError(
                f"section {k}: clock.segments: expected indices of segments from 0 to {count - 1}, got others"
            )
        clock = TimeScaling(starts, c, segments)
    return Section(space, kind, arrays, start, end, clock)


def _check_configurations(k: int, name: str, q: np.ndarray, space: CurveSpace) -> None:
    """Raise ValueError if an array (..., nq) is not on the manifold of configurations."""
    for coordinates in space.joints:
        if not coordinates.is_plain and has_manifold(coordinates.joint):
            off = manifold_distances(coordinates.joint, q[..., coordinates.in_q])
            if off.size and not off.max() <= SILENT_MANIFOLD_DISTANCE:
                raise ValueError(f"section {k}: array {name!r}: joint {coordinates.name!r}: expected configurations")


def _is_saved(head: list[str], robot: Any) -> bool:
    """Return True if a table's header ``head`` is that of a trajectory saved by `save`, for any robot.

    A header with the robot's coordinates in another order is not.
    """
    letters = [name[:2] for name in head[1:]]
    order = sorted(letters, key=["q:", "v:", "a:"].index) if {*letters} == {"q:", "v:", "a:"} else []
    names = [name[2:] for name in head[1:] if name.startswith("q:")]
    shuffled = names != [*robot.q_names] and sorted(names) == sorted(robot.q_names)
    return head[:1] in (["t"], ["length"]) and letters == order and not shuffled


_JUMP = 1e-12  # of the largest value: a larger difference at a knot is a jump
_BESIDE = 2e-12  # of the times: so far from a jump its sides are chosen, as knots that are nearer count as one


def _times_of_lines(trajectory: Any, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the times of a table's lines, with a second line where q, v or a jumps.

    The second result are times inside the segment to evaluate for each line: before or after the jump.
    """
    first, last = trajectory.start_time, trajectory.end_time
    near = _BESIDE * max(last - first, abs(first), abs(last))
    before, after = (np.clip(times + x, first, last) for x in (-near, near))
    double = np.zeros(len(times), dtype=bool)
    for x, y in zip(trajectory._beside(times, before), trajectory._beside(times, after), strict=True):
        double |= (np.abs(y - x) > _JUMP * np.abs(y).max(initial=0.0)).any(axis=-1)
    order = np.concatenate([np.flatnonzero(double) - 0.5, np.arange(len(times))]).argsort()
    return np.append(times[double], times)[order], np.append(before[double], after)[order]


def trajectory_table(caller: str, trajectory: Any, times: Any, both_sides: bool = False) -> StateTable:
    """Return q, v and a at times (n,) [s], or at the knots if ``times`` is None.

    With ``both_sides``, and at the knots, a time at which q, v or a jumps occurs twice.  Raises TypeError for a
    trajectory of symbols, ValueError for other times.
    """
    if any(section.is_symbolic for section in trajectory.sections):
        raise TypeError(f"{caller}: the trajectory contains symbols; expected numeric values")
    first, last = trajectory.start_time, trajectory.end_time
    try:
        at = trajectory.knots if times is None else times_within(caller, times, first, last)
    except ValueError:
        at = np.empty(())
    if at.ndim != 1:
        raise ValueError(
            f"{caller}: times: expected an array (n,) of times from {first:g} to {last:g} s, got {shown(times)}"
        )
    robot, inside = trajectory.robot, at
    if times is None or both_sides:
        at, inside = _times_of_lines(trajectory, at)
    state = trajectory._beside(at, inside)
    variables = state_variables(robot, (trajectory.nq, trajectory.nv), q=state.q, v=state.v, a=state.a)
    if not trajectory.is_timed:  # v and a are derivatives by the path length
        variables = [replace(x, units=x.units if x.name == "q" else ()) for x in variables]
    index = ("t", "s") if trajectory.is_timed else ("length", "rad, m")
    return StateTable(at, variables, (), {} if robot is None else {"robot": robot.name}, {}, index)


def _rows(where: Path) -> list[list[str]]:
    """Return the cells of a text file, line by line.  Raises ValueError."""
    try:
        with opened_regular(where) as (file, size):
            if size > _MAX_CSV:
                raise ValueError(f"more bytes than the limit of {_MAX_CSV}")
            return [*csv.reader(io.StringIO(file.read(_MAX_CSV + 1).decode("utf-8"), newline=""))]
    except (NotRegularError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise ValueError(f"{where}: expected a table of text (csv): {error}") from None


def _load_text(cls: Any, where: Path, robot: Any, rate: float | None, degrees: bool) -> Any:
    rows = _rows(where)
    head = rows[0] if rows else []
    nq, nv, na = (sum(name.startswith(f"{x}:") for name in head) for x in "qva")
    if robot is not None and (rate is not None or degrees or not _is_saved(head, robot)):
        t, q, v, a = read_log(where, rows, robot, rate, degrees)
        return through_rows(cls, f"load: {where}", robot, t, q, v, a, "cubic")
    if rate is not None or degrees:
        raise ValueError(f"load: {where}: rate and degrees are for the log of a robot: pass robot=")
    if head[:1] not in (["t"], ["length"]) or len(head) != 1 + nq + nv + na or nv != na or not nv:
        raise ValueError(f"{where}: expected columns t or length, q:..., v:..., a:..., got {', '.join(head[:8])}")
    try:
        values = np.array(rows[1:], dtype=float)
    except ValueError as error:
        raise ValueError(f"{where}: expected {len(head)} numbers in each line: {error}") from None
    if values.ndim != 2 or len(values) < 2 or not np.isfinite(values).all():
        raise ValueError(f"{where}: expected at least two lines of finite numbers below the header")
    steps = np.diff(values[:, 0])
    twice = np.concatenate([[True], steps == 0.0, [True]])  # two lines at one time are the two sides of a jump
    bad = np.flatnonzero((steps < 0.0) | ((steps == 0.0) & (twice[:-2] | twice[2:])))
    if len(bad):
        k = int(bad[0])
        raise ValueError(
            f"{where}: line {k + 3}: expected times that increase, got {head[0]} = {values[k + 1, 0]:.9g} after "
            f"{values[k, 0]:.9g}"
        )
    t, q, v, a = values[:, 0], values[:, 1 : 1 + nq], values[:, 1 + nq : 1 + nq + nv], values[:, 1 + nq + nv :]
    if robot is None:
        if nq != nv:
            raise ValueError(f"{where}: nq = {nq} and nv = {nv}: pass the trajectory's robot as robot=")
        return cls([through_states(CurveSpace(nq, nv), t, q, v, a)], is_timed=head[0] == "t")
    header = {"nq": nq, "nv": nv, "q_names": [x[2:] for x in head[1 : 1 + nq]]}
    try:
        space = _space(header, robot)
    except OtherFileError as error:
        raise ValueError(f"{where}: {error}") from None
    return cls([through_states(space, t, q, v, a)], robot, is_timed=head[0] == "t")
