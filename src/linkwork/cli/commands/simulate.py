"""`linkwork simulate`: simulate a robot with or without a controller; print, draw and write its motion."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from linkwork import Robot, __version__
from linkwork.cli.arguments import BAD_MODEL, FAILED, USAGE, CommandError, add_json, add_robot, robot_of
from linkwork.cli.files import PICTURES, add_files, check_files, pictures, write_files, written_lines
from linkwork.cli.output import Terminal, columns_of, escaped, finite, folded, label, number, quantity
from linkwork.cli.parser import NUMERIC
from linkwork.cli.states import closed_configuration, configuration_of, velocity_of, warn_of_limits
from linkwork.cli.values import from_zero, number_from, positive
from linkwork.control import PD, ComputedTorque, GravityCompensation
from linkwork.errors import UnknownNameError
from linkwork.simulation import STEP_METHODS, ContactGround, Simulation
from linkwork.viewer.start_configuration import start_configuration

__all__ = ["add_arguments", "run"]

_MESSAGES = (".yaml", ".yml", ".json")
_CONTROLLERS = ("none", "gravity", "pd", "computed-torque")
_BANDWIDTH = 10.0  # [rad/s] natural frequency of joints under default gains
_REST_ERROR = 1e-2  # [rad, m] largest distance from the target at which dry friction holds joints under default gains
_WEIGHT_ERROR = 3e-2  # [rad, m] largest distance from the target at which default gains carry weight on contacts
_TOUCHING = 0.05  # [m] height above the lowest contact point up to which a point carries weight at the target
_HEAVIER = 100.0  # largest inertia of a joint with its contact points at rest, relative to that without contacts
_REACHED = 1e-3  # [rad, m] distance from the target that needs no explanation
_SETTLING = 0.1  # [1/s] speed, relative to the distance from the target, above which a joint still settles
_ROWS = 10  # of the table, in addition to the start


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument(
        "--q",
        metavar="Q",
        nargs="+",
        type=NUMERIC,
        help="initial configuration: all of q, NAME=NUMBER for some, or @FILE (default: zero, or within the limits)",
    )
    parser.add_argument(
        "--v",
        metavar="V",
        nargs="+",
        type=NUMERIC,
        help="initial velocity: all of v, NAME=NUMBER for some, or @FILE (default: at rest)",
    )
    parser.add_argument(
        "--duration", metavar="S", type=number_from(0.0, unit="s"), default=1.0, help="seconds of motion (default: 1)"
    )
    parser.add_argument(
        "--dt", metavar="S", type=number_from(1e-9, unit="s"), default=1e-3, help="time step [s] (default: 0.001)"
    )
    parser.add_argument(
        "--record-every", metavar="N", type=positive, default=1, help="steps between records (default: 1)"
    )
    parser.add_argument(
        "--method",
        choices=STEP_METHODS,
        default="semi_implicit_euler",
        help="integration method (default: semi_implicit_euler)",
    )
    parser.add_argument(
        "--controller",
        choices=_CONTROLLERS,
        default="none",
        help="none, gravity compensation, PD in the joints with gravity compensation, or computed torque",
    )
    parser.add_argument(
        "--target-q",
        metavar="Q",
        nargs="+",
        type=NUMERIC,
        help="target of the controller (default: the initial configuration)",
    )
    parser.add_argument(
        "--kp",
        metavar="K",
        type=number_from(0.0),
        help=f"proportional gain (default: {_BANDWIDTH**2:g}/s² times the inertia of each joint, more with friction "
        f"or weight on its contacts)",
    )
    parser.add_argument("--kd", metavar="K", type=number_from(0.0), help="derivative gain (default: critical damping)")
    parser.add_argument(
        "--contacts", metavar="FRAME", nargs="+", default=[], help="frames whose origins touch the ground z = HEIGHT"
    )
    parser.add_argument(
        "--height",
        metavar="M",
        type=number_from(-math.inf, unit="m"),
        default=0.0,
        help="height of the ground [m] (default: 0)",
    )
    parser.add_argument(
        "--friction", metavar="MU", type=number_from(0.0), default=0.8, help="friction coefficient (default: 0.8)"
    )
    parser.add_argument(
        "--joint-limit-mode",
        choices=("held", "soft", "ignored"),
        help="treatment of joint limits (default: a warning for a joint that exceeds one)",
    )
    parser.add_argument("--seed", metavar="N", type=from_zero, help="start in a random configuration instead")
    add_files(
        parser,
        "write all records (.npz, .csv) or the motion as a message of ROS (.yaml, .json), or show it (.html, .glb, "
        ".png, .mp4)",
        "draw joints, energies and contact forces, with matplotlib",
    )
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    check_files(arguments, (".npz", ".csv", *_MESSAGES, *PICTURES))
    try:
        seed = arguments.seed
        if seed is None:
            around = start_configuration(robot)
        else:
            around = closed_configuration(robot, "--seed", robot.random_configuration(seed=seed))
        start = configuration_of(robot, "--q", arguments.q or [], around)
        v = velocity_of(robot, start, "--v", arguments.v or [])
        target = configuration_of(robot, "--target-q", arguments.target_q or [], start)
    except (UnknownNameError, ValueError) as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    for texts, q in ((arguments.q, start), (arguments.target_q, target)):
        if texts:
            warn_of_limits(robot, q, terminal)
    try:
        controller, inputs = _controller(robot, arguments, target)
        ground = None
        if arguments.contacts:
            ground = ContactGround(tuple(arguments.contacts), friction=arguments.friction, height=arguments.height)
        result = robot.simulate(
            start,
            v,
            controller=controller,
            constants=inputs,
            duration=arguments.duration,
            dt=arguments.dt,
            record_every=arguments.record_every,
            method=arguments.method,
            contacts=ground,
            joint_limit_mode=arguments.joint_limit_mode,
            record=("kinetic_energy", "potential_energy"),
            progress=not (arguments.json or arguments.quiet),
        )
    except UnknownNameError as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    except ValueError as error:  # steps that record_every does not divide, or unsupported options
        raise CommandError(BAD_MODEL if robot.constraints else USAGE, escaped(str(error))) from error
    messages = dict.fromkeys(_MESSAGES, lambda file: result.trajectory().save(file))
    writers = {".npz": result.save, ".csv": result.to_csv, **messages, **pictures(result.show)}
    write_files(arguments, writers, lambda: result.plot()[0].figure)
    if arguments.json:
        terminal.out.json(_data(robot, result, arguments))
    else:
        left = _left(robot, result, controller, target, arguments)
        terminal.out.lines(_text(robot, result, arguments, columns_of(terminal.out), left))
    return 0 if result.success else FAILED


def _controller(robot: Robot, arguments: argparse.Namespace, target: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """Return the controller that the arguments select, or None, and its constant inputs by name."""
    inputs = {"target_q": target}
    if arguments.controller == "gravity":
        return GravityCompensation(robot), {}
    if arguments.controller == "pd":
        return PD(robot, *_pd_gains(robot, arguments, target), feedforward="gravity"), inputs
    if arguments.controller == "computed-torque":
        return ComputedTorque(robot, *_acceleration_gains(robot, arguments, target)), inputs
    return None, {}


def _dry_friction(robot: Robot) -> np.ndarray:
    """Return the dry friction (nv) of the joints during sliding [N·m, N]."""
    force, q = Robot.functions["passive_force"].compute, robot.neutral().tolist()
    at_rest, slow, fast = (np.array(force(robot.tree, q, [speed] * robot.nv)) for speed in (0.0, 1.0, 2.0))
    result: np.ndarray = np.abs(2.0 * slow - fast - at_rest)  # without damping, which is linear, and springs
    return result


def _pd_gains(robot: Robot, arguments: argparse.Namespace, target: np.ndarray) -> tuple[Any, Any]:
    """Return the gains of PD control, each a number or an array by actuated velocity.

    Default gains are critically damped, for steps of dt that resolve them. Friction, and weight on contact points at
    the target, leave a small position error.
    """
    M_inverse, (acting, _) = _inverse_mass_matrix(robot, target), _velocities(robot)
    m, friction = 1.0 / M_inverse.diagonal()[acting], _dry_friction(robot)[acting]
    carried, load = _carried(robot, arguments, target, M_inverse)
    needed = np.max([_BANDWIDTH**2 * carried, friction / _REST_ERROR, np.abs(load) / _WEIGHT_ERROR], axis=0)
    stiff = np.minimum(needed, m / (4.0 * arguments.dt**2))
    kp = stiff if arguments.kp is None else np.full(len(m), arguments.kp)
    return kp, np.minimum(2.0 * np.sqrt(kp * carried), m / arguments.dt) if arguments.kd is None else arguments.kd


def _acceleration_gains(robot: Robot, arguments: argparse.Namespace, target: np.ndarray) -> tuple[Any, Any]:
    """Return the gains of computed-torque control, as numbers or as arrays by actuated velocity.

    Computed torque takes no account of contact forces. Arrays are for a robot on contacts. There the weight
    accelerates joints by W τ, with the inverse inertia W of the actuated velocities and the force τ that supports the
    weight.
    """
    if arguments.kp is not None or not _stands(robot, arguments):
        return _BANDWIDTH**2 if arguments.kp is None else arguments.kp, arguments.kd
    M_inverse, (acting, _) = _inverse_mass_matrix(robot, target), _velocities(robot)
    mobility = M_inverse[np.ix_(acting, acting)]
    carried, load = _carried(robot, arguments, target, M_inverse)
    heavier = carried * mobility.diagonal()
    needed = np.maximum(_BANDWIDTH**2 * heavier, np.abs(mobility @ load) / _WEIGHT_ERROR)
    kp = np.minimum(needed, 1.0 / (4.0 * arguments.dt**2))
    kd = np.minimum(2.0 * np.sqrt(kp * heavier), 1.0 / arguments.dt)
    return kp, kd if arguments.kd is None else arguments.kd


def _velocities(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices in v of the velocities that controllers actuate, and the indices of all others."""
    acting = PD(robot, 0.0, 0.0).acting
    return acting, np.setdiff1d(np.arange(robot.nv), acting)


def _stands(robot: Robot, arguments: argparse.Namespace) -> bool:
    """Return True if contacts support a part that no actuator moves, such as a floating base."""
    return bool(arguments.contacts) and len(_velocities(robot)[1]) > 0


def _inverse_mass_matrix(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return the inverse of the mass matrix (nv, nv), with armatures."""
    M_inverse = np.array(Robot.functions["mass_matrix_inverse"].compute(robot.tree, q.tolist(), passive=True))
    return M_inverse.astype(float).reshape(robot.nv, robot.nv)


def _carried(
    robot: Robot, arguments: argparse.Namespace, target: np.ndarray, M_inverse: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return inertia [kg·m², kg] and static force [N·m, N] of each actuated velocity, with contact points at rest.

    The contact points that are near the lowest one at the target support the parts that no actuator moves, by
    least-squares contact forces λ. Static forces are g − Jᵀλ. Without contacts, or if actuators move everything,
    inertias are those of joints while all other joints move freely, and the forces are 0.
    """
    acting, free = _velocities(robot)
    mobility = M_inverse.diagonal()[acting]
    if not _stands(robot, arguments):
        return 1.0 / mobility, np.zeros(len(acting))
    heights = np.array([float(robot.point_position(target, frame)[2]) for frame in arguments.contacts])
    low = [frame for frame, z in zip(arguments.contacts, heights, strict=True) if z <= heights.min() + _TOUCHING]
    J = np.concatenate([robot.point_jacobian(target, frame) for frame in low])
    gravity = robot.gravity_force(target)
    forces = np.linalg.lstsq(J[:, free].T, gravity[free], rcond=None)[0]
    W = M_inverse - M_inverse @ J.T @ np.linalg.pinv(J @ M_inverse @ J.T, hermitian=True) @ J @ M_inverse
    return 1.0 / np.maximum(W.diagonal()[acting], mobility / _HEAVIER), (gravity - J.T @ forces)[acting]


def _left(
    robot: Robot, result: Simulation, controller: Any, target: np.ndarray, arguments: argparse.Namespace
) -> list[str]:
    """Return a line with the final distance from the target, and the limit that stops the farthest joint."""
    if not isinstance(controller, PD | ComputedTorque):
        return []
    left = np.abs(robot.difference(result.q[-1], target))
    k = int(controller.acting[np.argmax(left[controller.acting])])
    unit = [unit.partition("/")[0] for _, body in robot.tree.stacked() for unit in body.joint.v_units][k]
    speed, friction = abs(float(result.v[-1, k])), 0.0
    line = f"{number(left[k])} {unit} from the target at the end: {escaped(robot.v_names[k])}"
    if left[k] <= _REACHED:
        return [line]
    if isinstance(controller, PD):
        friction = _dry_friction(robot)[k]
    if result.saturation is not None and result.saturation[k] > 0.5:
        why = "its force is at the effort limit"
    elif speed > _SETTLING * left[k]:
        towards = float(result.v[-1, k]) * float(robot.difference(result.q[-1], target)[k]) > 0.0
        advice = (
            "a longer --duration lets it settle" if towards else "if it does not return, pass a larger --kp and --kd"
        )
        why = f"it moves with {number(speed)} {unit}/s {'towards' if towards else 'away from'} it; {advice}"
    elif friction > 0.0:
        why = f"dry friction of {number(friction)} {'N' if unit == 'm' else 'N·m'} holds it; a larger --kp leaves less"
    else:
        why = "it rests there: the target may violate constraints, or other forces act"
        why = (
            "it rests there under the weight on the contacts; a larger --kp leaves less"
            if _stands(robot, arguments)
            else why
        )
    return [f"{line}; {why}"]


def _text(
    robot: Robot, result: Simulation, arguments: argparse.Namespace, columns: int | None, left: list[str]
) -> list[str]:
    energy = result.records["kinetic_energy"] + result.records["potential_energy"]
    steps = (len(result.t) - 1) * arguments.record_every
    lines = [
        f"{label(robot.name)}: {result.explain()}",
        "",
        f"{quantity(steps, 'step')} of {number(arguments.dt)} s by {arguments.method}",
        f"energy {number(energy[0])} J at the start, {number(energy[-1])} J at the end",
        *left,
    ]
    if arguments.contacts:
        force = result.records["contact_forces"][-1]
        lines += [f"the ground carries {number(force[:, 2].sum())} N at the end"]
    chosen = np.unique(np.linspace(0, len(result.t) - 1, _ROWS + 1).astype(int))
    rows = [[f"{result.t[k]:.4g}", *(f"{round(x, 4) + 0.0:.4f}" for x in result.q[k])] for k in chosen]
    lines += ["", *folded(["t [s]", *map(escaped, robot.q_names)], rows, columns, left=())]
    lines += written_lines(arguments)
    return [*lines, "", f"linkwork {__version__}; float64"]


def _data(robot: Robot, result: Simulation, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "linkwork": __version__,
        "robot": robot.name,
        "status": result.status,
        "success": result.success,
        "message": result.message,
        "method": arguments.method,
        "controller": arguments.controller,
        "dt": arguments.dt,
        "q_names": list(robot.q_names),
        "v_names": list(robot.v_names),
        "t": result.t.tolist(),
        "q": result.q.tolist(),
        "v": result.v.tolist(),
        "saturation": np.zeros(robot.nv).tolist() if result.saturation is None else result.saturation.tolist(),
        "stopped_at": finite([result.stopped_at])[0],
        "records": {name: x.tolist() for name, x in result.records.items()},
        "output": arguments.output,
    }
