"""`linkwork plan`: plan a collision-free path of a robot from a configuration to a goal."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple, cast

import numpy as np

from linkwork import Robot, Scene, __version__
from linkwork._util.progress import Progress, ProgressBar
from linkwork.cli.arguments import (
    BAD_MODEL,
    FAILED,
    USAGE,
    CommandError,
    add_json,
    add_meshes,
    add_robot,
    robot_of,
    with_meshes,
)
from linkwork.cli.files import (
    PICTURES,
    add_files,
    add_scene,
    check_files,
    pictures,
    scene_setup,
    write_files,
    written_lines,
)
from linkwork.cli.number_texts import is_number
from linkwork.cli.output import Terminal, as_options, columns_of, escaped, finite, folded, label, number, quantity
from linkwork.cli.parser import FRAME_AND_NUMERIC, NUMERIC
from linkwork.cli.states import configuration_of
from linkwork.cli.values import add_limits, from_zero, limits_of, number_from, pose_of
from linkwork.collision import SceneSetup
from linkwork.errors import UnknownNameError
from linkwork.motion import Trajectory
from linkwork.planning import PlanResult
from linkwork.viewer.figures.robot_figures import frames_to_draw
from linkwork.viewer.start_configuration import start_configuration

__all__ = ["add_arguments", "run"]

_MOTIONS, _MESSAGES = (".npz", ".csv"), (".yaml", ".yml", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_meshes(parser)
    add_scene(parser)
    parser.add_argument(
        "--start",
        metavar="Q",
        nargs="+",
        type=NUMERIC,
        help="initial configuration: all of q, NAME=NUMBER for some, or @FILE (default: zero, or within the limits)",
    )
    parser.add_argument(
        "--goal",
        dest="goals",
        metavar="Q",
        nargs="+",
        type=NUMERIC,
        action="append",
        default=[],
        help="a goal: all of q, NAME=NUMBER for some, or @FILE, the others as at the start; may be repeated",
    )
    parser.add_argument(
        "--pose",
        dest="poses",
        metavar=("FRAME", "X"),
        nargs="+",
        type=FRAME_AND_NUMERIC,
        action="append",
        default=[],
        help="a goal: FRAME X Y Z and, as in URDF, roll, pitch and yaw, 0 if omitted [m, rad], or @FILE; repeatable",
    )
    parser.add_argument(
        "--margin",
        metavar="M",
        type=number_from(0.0, unit="m"),
        help="minimum clearance [m] (default: as the scene says, or 0)",
    )
    parser.add_argument(
        "--touching",
        metavar=("A", "B"),
        nargs=2,
        action="append",
        default=[],
        help="a pair of links, shapes or obstacles that may touch, as at the start; may be repeated",
    )
    parser.add_argument(
        "--collision-check",
        choices=("certified", "sampled"),
        default="certified",
        help="check motions by proof, or in steps (default: certified)",
    )
    parser.add_argument(
        "--method",
        choices=("connect", "optimal"),
        default="connect",
        help="connect: the first path, shortened; optimal: improved until the time limit",
    )
    parser.add_argument(
        "--max-iterations",
        metavar="N",
        type=from_zero,
        help="with --method optimal: maximum iterations; the path is then reproducible within the time limit",
    )
    add_limits(parser)
    parser.add_argument(
        "--lock", metavar="JOINT", nargs="+", action="extend", default=[], help="joints that stay where they start"
    )
    parser.add_argument(
        "--resolution", metavar="X", type=number_from(1e-6), default=0.05, help="step of sampled motions"
    )
    parser.add_argument("--seed", metavar="N", type=from_zero, default=0, help="seed of random numbers (default: 0)")
    parser.add_argument(
        "--time-limit", metavar="S", type=number_from(0.0, unit="s"), default=5.0, help="time limit [s] (default: 5)"
    )
    parser.add_argument(
        "--acceleration",
        metavar="A",
        type=number_from(1e-9),
        help="acceleration limit of all joints [rad/s², m/s²]: minimum time within it and the robot's limits, "
        "which are the default if all joints have one",
    )
    add_files(
        parser,
        "write the trajectory, exactly (.npz), as samples (.csv) or as a message of ROS (.yaml, .json), or show the "
        "path (.html, .glb, .png, .mp4)",
        "draw the path among the obstacles, with matplotlib",
    )
    parser.add_argument("--frame", metavar="FRAME", help="the frame whose path is drawn (default: the last one)")
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = with_meshes(robot_of(arguments, terminal), arguments)
    setup = scene_setup(arguments, robot, terminal) or SceneSetup(robot, Scene())
    robot, scene = cast(Robot, setup.robot), setup.scene
    margin = setup.margin if arguments.margin is None else arguments.margin
    check_files(arguments, (*_MOTIONS, *_MESSAGES, *PICTURES))
    arguments.acceleration = _acceleration(robot, arguments.acceleration)
    if arguments.acceleration is None and str(arguments.output).lower().endswith(_MESSAGES):
        raise CommandError(USAGE, "--output: a message of ROS has times: pass --acceleration")
    try:
        start = configuration_of(robot, "--start", arguments.start or [], start_configuration(robot))
        goals = _goals(robot, arguments, start)
        limits = _locked(robot, arguments.lock, start, goals) | (limits_of(robot, arguments.position_limits) or {})
        frames_to_draw(robot, arguments.frame)
    except (UnknownNameError, ValueError) as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    with ProgressBar(terminal.progress, "planning: seconds", arguments.time_limit) as bar:
        shown = [0.0]

        def report(progress: Progress) -> None:
            bar.advance(progress.done - shown[0])
            shown[0] = progress.done

        def planned(progress: Any) -> PlanResult:
            return robot.plan(
                start,
                goals,
                scene,
                method=arguments.method,
                collision_check=arguments.collision_check,
                resolution=arguments.resolution,
                margin=margin,
                touching=[*setup.touching, *map(tuple, arguments.touching)],
                seed=arguments.seed,
                time_limit=arguments.time_limit,
                position_limits=limits or None,
                max_iterations=arguments.max_iterations,
                progress=progress,
            )

        try:
            result = planned(report)
            first = result.seconds
            again = result.success and arguments.method != "optimal"  # which always uses its whole time
            if again:  # without compilation: the same path, by the same seed
                result = planned(False)
        except UnknownNameError as error:
            raise CommandError(USAGE, escaped(str(error))) from error
        except (TypeError, ValueError) as error:  # no shapes, constraints, joints without limits
            raise CommandError(BAD_MODEL, escaped(str(error))) from error
    moving = _moving(result, arguments)
    frames = None if arguments.frame is None else [arguments.frame]
    writers = dict(pictures(result.show, frames=frames, meshes=arguments.meshes))
    if moving is not None:
        writers |= dict.fromkeys((*_MOTIONS, *_MESSAGES), moving.trajectory.save)
    written = write_files(arguments, writers, lambda: result.plot(arguments.frame).figure)
    if arguments.json:
        terminal.out.json(_data(robot, result, first, moving, arguments, margin, written))
    else:
        terminal.out.lines(_text(robot, result, first, moving, arguments, columns_of(terminal.out), written))
    return 0 if result.success else FAILED


# -- inputs


def _acceleration(robot: Robot, limit: float | None) -> np.ndarray | None:
    """Return the acceleration limits (nv) of the motion: the robot's, and at most ``limit``; None if there are none."""
    known: np.ndarray = np.asarray(robot.acceleration_limits)
    if limit is not None:
        return np.asarray(np.minimum(known, limit))
    return known if np.isfinite(known).all() and known.size else None


def _goals(robot: Robot, arguments: argparse.Namespace, start: np.ndarray) -> list[Any]:
    """Return the planning goals of the options: configurations of --goal, and poses of a frame of --pose.

    Raises ValueError and UnknownNameError.
    """
    result: list[Any] = [configuration_of(robot, "--goal", texts, start) for texts in arguments.goals]
    for frame, *texts in arguments.poses:
        if frame not in robot.frames and is_number(frame):
            raise ValueError(f"--pose: expected FRAME X Y Z and, if stated, ROLL PITCH YAW, got {frame!r} as the frame")
        if frame not in robot.frames:
            raise robot.tree.unknown_frame(frame)
        result.append({frame: pose_of(f"--pose {frame}", texts)})
    if not result:
        raise ValueError("expected a goal: --goal a configuration, or --pose of a frame")
    return result


def _locked(robot: Robot, joints: list[str], start: np.ndarray, goals: list[Any]) -> dict[str, tuple[float, float]]:
    """Return position limits {coordinate: (lower, upper)} that hold the given joints at the start.

    Raises UnknownNameError and ValueError.
    """
    result = {}
    for joint in joints:
        for k in robot.q_index([joint]).tolist():
            name, value = robot.q_names[k], float(start[k])
            moved = next((goal[k] for goal in goals if isinstance(goal, np.ndarray) and goal[k] != value), None)
            if moved is not None:
                raise ValueError(f"--lock: {name} starts at {value:g}, and a goal moves it to {moved:g}")
            result[name] = value, value
    return result


# -- results


class Moving(NamedTuple):
    """Trajectory along a planned path, with the times at which it passes the way points.

    With an acceleration limit times are those of the fastest motion [s]; otherwise they are lengths along the path
    [rad, m].
    """

    trajectory: Trajectory
    times: np.ndarray


def _moving(result: PlanResult, arguments: argparse.Namespace) -> Moving | None:
    """Return the trajectory along the planned path; None if there is no path. Raises CommandError."""
    if not result.success:
        return None
    steps = np.linalg.norm(result._space.along(result.path[:-1], result.path[1:]), axis=-1)
    lengths = np.concatenate([[0.0], np.cumsum(steps)])
    if arguments.acceleration is None:
        return Moving(result.trajectory(), lengths)
    try:
        timed = result.timed(acceleration=arguments.acceleration)
    except ValueError as error:
        raise CommandError(FAILED, escaped(str(error))) from error
    return Moving(timed.trajectory, np.interp(lengths, timed.s, timed.t))


def _text(
    robot: Robot,
    result: PlanResult,
    first: float,
    moving: Moving | None,
    arguments: argparse.Namespace,
    columns: int | None,
    written: bool,
) -> list[str]:
    work = f"{quantity(result.nodes, 'configuration')} explored, {quantity(result.motions_checked, 'motion')} checked"
    lines = [f"{label(robot.name)}: {result.status}", "", escaped(as_options(result.message))]
    if moving is not None:
        free = (
            "proved collision-free"
            if arguments.collision_check == "certified"
            else f"collision-free in steps of {number(arguments.resolution)}"
        )
        lines += [f"{quantity(len(result.path), 'way point')}, {number(result.cost)} long [rad, m], {free}"]
        if arguments.acceleration is not None:
            lines += [f"duration {number(moving.trajectory.duration)} s"]
    compiling = (
        ", with compilation" if first == result.seconds else f"; the first call, with compilation, took {first:.3g} s"
    )
    lines += [f"{work}, in {result.seconds:.3g} s{compiling}"]
    if moving is not None:
        rows = [
            [str(k), f"{t:.4g}", *(f"{x:.4f}" for x in q)]
            for k, (t, q) in enumerate(zip(moving.times, result.path, strict=True))
        ]
        unit = "length" if arguments.acceleration is None else "t [s]"
        lines += ["", *folded(["", unit, *map(escaped, robot.q_names)], rows, columns, left=())]
    lines += written_lines(arguments, written)
    return [*lines, "", f"linkwork {__version__}; float64; seed {arguments.seed}"]


def _data(
    robot: Robot,
    result: PlanResult,
    first: float,
    moving: Moving | None,
    arguments: argparse.Namespace,
    margin: Any,
    written: bool,
) -> dict[str, Any]:
    return {
        "linkwork": __version__,
        "robot": robot.name,
        "scene": arguments.scene,
        "status": result.status,
        "message": as_options(result.message),
        "names": list(robot.q_names),
        "path": result.path.tolist(),
        "cost": finite([result.cost])[0],
        "goal": result.goal,
        "times": None if moving is None else moving.times.tolist(),
        "timed": arguments.acceleration is not None,
        "nodes": result.nodes,
        "collision_check": arguments.collision_check,
        "motions_checked": result.motions_checked,
        "margin": _plain_margin(margin),
        "seed": arguments.seed,
        "seconds": result.seconds,
        "first_call_seconds": first,
        "output": arguments.output if written else None,
    }


def _plain_margin(margin: Any) -> Any:
    """Return the margins of a scene file as data for JSON: pairs become lists of two names and a distance."""
    if not isinstance(margin, dict):
        return margin
    named = {key: value for key, value in margin.items() if isinstance(key, str)}
    return {**named, "pairs": [[*key, value] for key, value in margin.items() if not isinstance(key, str)]}
