"""Configurations of a robot in the arguments of a command, with the velocities and forces that belong to them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork import Robot, __version__
from linkwork._util.messages import first_of, nearest
from linkwork.cli.number_texts import is_number
from linkwork.cli.output import USAGE, CommandError, Terminal, escaped, label, number, table
from linkwork.cli.parser import NUMERIC
from linkwork.cli.stored_values import is_file
from linkwork.cli.values import chosen_rows, chosen_values, units_of
from linkwork.errors import AssemblyError, UnknownNameError
from linkwork.viewer.start_configuration import start_configuration

__all__ = [
    "acceleration_of",
    "add_configuration",
    "add_frames",
    "closed_configuration",
    "configuration_data",
    "configuration_of",
    "configurations_of",
    "force_of",
    "matrix_lines",
    "named_or_listed",
    "required_q",
    "velocity_of",
    "warn_of_limits",
    "warn_of_open_loops",
]

_CLOSED = 1e-6  # [m, rad] error of constraints that needs no warning
_MANY_TURNS = 6.0 * np.pi  # [rad] an axis with limits beyond this has large angles in rad
_MOST_SHOWN = 3  # coordinates beyond their limits
_DIGITS = 1e-3  # [m, rad] largest change of coordinates that closes loops of a configuration with few digits
_WORD = re.compile(r"[A-Za-z_][\w/-]*")  # a text that may be the name of a configuration
_DEPENDENT = 1e-9  # relative singular value below which rows of constraints are redundant


def add_configuration(parser: argparse.ArgumentParser) -> None:
    """Add the options that select one configuration."""
    parser.add_argument(
        "--q",
        metavar="Q",
        nargs="+",
        type=NUMERIC,
        help="configuration: all of q, NAME=NUMBER for some, or @FILE; other joints close loops (default: zero, or "
        "within limits)",
    )
    parser.add_argument("--configuration", metavar="CONFIGURATION", help="a named configuration of the robot's file")


def add_frames(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the options that name a frame, and the frame that it is relative to."""
    parser.add_argument("--frame", metavar="FRAME", required=True, help=about)
    parser.add_argument(
        "--relative-to", metavar="FRAME", default="world", help="the reference frame (default: the world)"
    )


def named_or_listed(robot: Robot, arguments: argparse.Namespace) -> np.ndarray | None:
    """Return the configuration that the options state; None if they state none. Raises CommandError."""
    try:
        q = None
        if arguments.configuration is not None:
            q = robot.named_configurations[arguments.configuration].q
        if arguments.q is not None:
            q = configuration_of(robot, "--q", arguments.q, start_configuration(robot) if q is None else q)
        return q
    except (UnknownNameError, ValueError) as error:
        raise CommandError(USAGE, escaped(str(error))) from error


def required_q(robot: Robot, arguments: argparse.Namespace, terminal: Terminal) -> np.ndarray:
    """Return the configuration that the options state, by default that in which `Robot.show` draws the robot.

    Warns if constraints do not hold there. Raises CommandError.
    """
    q = named_or_listed(robot, arguments)
    if q is not None:
        warn_of_limits(robot, q, terminal)
    q = start_configuration(robot) if q is None else q
    warn_of_open_loops(robot, q, terminal)
    return q


def warn_of_limits(robot: Robot, q: np.ndarray, terminal: Terminal) -> None:
    """Warn of coordinates beyond the limits of their joints, and of angles that are probably degrees."""
    slack = _CLOSED * np.maximum(1.0, np.abs(q))
    beyond = np.flatnonzero((q < robot.lower - slack) | (q > robot.upper + slack)).tolist()
    if not beyond:
        return
    names, units = robot.q_names, units_of(robot, "q")
    texts = [
        f"{label(names[k])} = {number(q[k])} is beyond its limits {number(robot.lower[k])} .. {number(robot.upper[k])}"
        for k in beyond
    ]
    bounds = np.maximum(np.abs(robot.lower), np.abs(robot.upper))
    degrees = [q[k] for k in beyond if abs(q[k]) > 2.0 * np.pi and q[k] % 1.0 == 0.0 and bounds[k] < _MANY_TURNS]
    is_angle = all(units[names[k]] == "rad" for k in beyond)
    remedy = f"; angles are in rad: write {degrees[0]:.0f}deg for degrees" if degrees and is_angle else ""
    terminal.warning(first_of(texts, _MOST_SHOWN) + remedy)


def warn_of_open_loops(robot: Robot, q: np.ndarray, terminal: Terminal) -> None:
    """Warn if the constraints of the robot do not hold in a configuration."""
    if _is_open(robot, q):
        error = number(_error(robot, q))
        remedy = "--q NAME=NUMBER holds coordinates, and the others close the loops"
        terminal.warning(f"the configuration violates the constraints: error {error}; {remedy}")


def configuration_of(
    robot: Robot, option: str, texts: Sequence[str], defaults: np.ndarray, *, closes: bool = True
) -> np.ndarray:
    """Return a configuration (nq,) from the text of an option: all coordinates, or NAME=NUMBER for some.

    It may also be the name of a named configuration.  The other coordinates have their values in ``defaults`` (nq,).
    If the robot has loops and ``closes``, joints with named coordinates keep these values, and the others are
    assembled; all coordinates are changed by at most `_DIGITS`.  Raises ValueError and UnknownNameError.
    """
    known = [state.name for state in robot.named_configurations]
    if len(texts) == 1 and texts[0] in known:
        return np.array(robot.named_configurations[texts[0]].q, dtype=float)
    if len(texts) == 1 and _WORD.fullmatch(texts[0]) and not is_number(texts[0]):
        remedy = nearest(texts[0], known) if known else "the robot has none, and --srdf FILE reads some"
        raise ValueError(
            f"{option}: expected numbers, NAME=NUMBER or a named configuration, got {texts[0]!r}; {remedy}"
        )
    q, chosen = chosen_values(option, texts, defaults, robot.q_names, "q", units_of(robot, "q"))
    return _with_closed_loops(robot, option, q, chosen) if closes and texts else q


def configurations_of(robot: Robot, arguments: argparse.Namespace, terminal: Terminal) -> np.ndarray:
    """Return the configuration (nq,) that the options state, as `required_q`, or (n, nq) from a table.

    A table is ``--q @FILE`` with several rows. Raises CommandError.
    """
    texts = arguments.q or [""]
    if len(texts) > 1 or not is_file(texts):
        return required_q(robot, arguments, terminal)
    try:
        defaults = start_configuration(robot)
        if arguments.configuration is not None:
            defaults = robot.named_configurations[arguments.configuration].q
        rows, several = chosen_rows("--q", texts, defaults, robot.q_names, "q")
        q = np.array([_with_closed_loops(robot, "--q", x, chosen) for x, chosen in rows])
    except (UnknownNameError, ValueError) as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    for x in q:
        warn_of_limits(robot, x, terminal)
    if several:
        return q
    warn_of_open_loops(robot, q[0], terminal)
    only: np.ndarray = q[0]
    return only


def _with_closed_loops(robot: Robot, option: str, q: np.ndarray, chosen: Sequence[str]) -> np.ndarray:
    """Return q with closed loops; ``chosen`` coordinates keep the values of their joints. Raises ValueError."""
    if not _is_open(robot, q):
        return q
    try:
        if len(chosen) == robot.nq:
            closed = np.asarray(robot.project(q, weights="plain"))
            if float(np.abs(robot.difference(q, closed)).max()) <= _DIGITS:
                return closed
            error = number(_error(robot, q))
            remedy = "NAME=NUMBER holds coordinates, and the others close the loops"
            raise ValueError(f"{option}: the configuration leaves loops open, by {error}; {remedy}")
        return np.asarray(robot.assemble(q, hold=_values_by_joint(robot, q, chosen)).q)
    except AssemblyError as error:
        raise ValueError(f"{option}: {str(error).removeprefix('assemble: ').removeprefix('project: ')}") from None


def closed_configuration(robot: Robot, option: str, q: np.ndarray) -> np.ndarray:
    """Return a configuration with closed loops near ``q``. Raises ValueError if none is found."""
    if not _is_open(robot, q):
        return q
    result = robot.assemble(q, check=False)
    if not result.success:
        raise ValueError(f"{option}: {result.explain()}")
    return np.asarray(result.q)


def velocity_of(robot: Robot, q: np.ndarray, option: str, texts: Sequence[str], *, tables: bool = False) -> np.ndarray:
    """Return a velocity (nv,) from the text of an option: all elements, or NAME=NUMBER for some.

    With ``tables``, q may be (n, nq), and @FILE may have several rows; the velocities are (n, nv). The constraints of
    the robot determine the other elements, with the smallest norm where they leave a choice. Raises ValueError for
    velocities that the constraints do not permit, and UnknownNameError.
    """

    def rates(q: np.ndarray, _: int) -> Any:
        return robot.constraint_drift(q, **_now(robot))

    return _permitted_rows(robot, q, option, texts, rates, units_of(robot, "v"), tables)


def acceleration_of(
    robot: Robot, q: np.ndarray, v: np.ndarray, option: str, texts: Sequence[str], *, tables: bool = False
) -> np.ndarray:
    """Return an acceleration (nv,) as `velocity_of` returns a velocity, at the velocity v (nv,), or v (n, nv)."""

    def bias(q: np.ndarray, k: int) -> Any:
        return robot.constraint_bias(q, _row(v, k), **_now(robot))

    return _permitted_rows(robot, q, option, texts, bias, {}, tables)


def force_of(robot: Robot, option: str, texts: Sequence[str]) -> np.ndarray:
    """Return joint forces (nv,) from the text of an option, or (n, nv) from a table.

    Raises ValueError and UnknownNameError.
    """
    rows, several = chosen_rows(option, texts, np.zeros(robot.nv), robot.v_names, "v")
    return np.array([x for x, _ in rows]) if several else rows[0][0]


def _permitted_rows(
    robot: Robot,
    q: np.ndarray,
    option: str,
    texts: Sequence[str],
    bias: Callable[[np.ndarray, int], Any],
    units: Mapping[str, str],
    tables: bool,
) -> np.ndarray:
    """Return the vectors in an option's text, completed so that the constraints permit them: G x = −bias(q_k, k)."""
    zero = np.zeros(robot.nv)
    if tables:
        rows, several = chosen_rows(option, texts, zero, robot.v_names, "v", units)
    else:
        rows, several = [chosen_values(option, texts, zero, robot.v_names, "v", units)], False
    counts = {n for n in (len(rows), len(np.atleast_2d(q))) if n > 1}
    if len(counts) > 1:
        raise ValueError(f"{option}: expected one row, or {len(q)} as the configurations have, got {len(rows)}")
    if not robot.constraints:
        return np.array([x for x, _ in rows]) if several else rows[0][0]
    result = []
    for k in range(max(counts, default=1)):
        x, chosen = rows[k if len(rows) > 1 else 0]
        at = _row(q, k)
        result.append(_permitted(robot, at, option, np.array(x), chosen, -np.asarray(bias(at, k))))
    return np.array(result) if several or q.ndim == 2 else result[0]


def _row(x: np.ndarray, k: int) -> np.ndarray:
    """Return row k of a table (n, ...), its only row if n = 1, or x itself if x is a vector."""
    row: np.ndarray = x if x.ndim == 1 else x[k if len(x) > 1 else 0]
    return row


def _permitted(
    robot: Robot, q: np.ndarray, option: str, x: np.ndarray, chosen: Sequence[str], c: np.ndarray
) -> np.ndarray:
    """Return x (nv,) with G x = c: ``chosen`` elements are unchanged, and the others have the smallest norm."""
    G = np.asarray(robot.constraint_jacobian(q, **_now(robot)))
    free = ~np.isin(robot.v_names, chosen)
    is_whole, missing = not free.any(), c - G @ x
    columns = G if is_whole else G[:, free]
    change = np.linalg.lstsq(columns, missing, rcond=_DEPENDENT)[0]
    size, width, rows = (float(np.abs(each).max(initial=0.0)) for each in (x, change, G))
    size = max(size, width, _DIGITS)
    permitted = _CLOSED * size * max(1.0, rows)
    if is_whole and (np.abs(missing) <= permitted).all():
        return x
    if (np.abs(columns @ change - missing) > permitted).any() or (is_whole and width > _DIGITS * size):
        error = number(float(np.abs(missing).max()))
        remedy = "NAME=NUMBER holds some elements, and the others follow"
        raise ValueError(f"{option}: the constraints do not permit these values, by {error}; {remedy}")
    x[free | is_whole] += change
    return x


def _now(robot: Robot) -> dict[str, Any]:
    """Return the keyword argument ``time`` for a robot with time-dependent constraints, else {}."""
    return {"time": 0.0} if any(c.time_dependent for c in robot.tree.constraints) else {}


def _values_by_joint(robot: Robot, q: np.ndarray, chosen: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the values in q of all joints that have a chosen coordinate, by joint name."""
    result, begin = {}, 0
    for _, body in robot.tree.stacked():
        end = begin + body.joint.nq
        if set(robot.q_names[begin:end]).intersection(chosen):
            result[body.joint_name] = q[begin] if end == begin + 1 else q[begin:end]
        begin = end
    return result


def _is_open(robot: Robot, q: np.ndarray) -> bool:
    return any(constraint.holonomic for constraint in robot.tree.constraints) and _error(robot, q) > _CLOSED


def _error(robot: Robot, q: np.ndarray) -> float:
    return float(np.abs(robot.constraint_error(q)).max(initial=0.0))


def configuration_data(robot: Robot, q: np.ndarray, **more: Any) -> dict[str, Any]:
    """Return results at one configuration for JSON; arrays become lists."""
    data = {"linkwork": __version__, "robot": robot.name, "q_names": list(robot.q_names), "q": q, **more}
    return {
        key: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value for key, value in data.items()
    }


def matrix_lines(title: str, rows: Sequence[str], columns: Sequence[str], values: np.ndarray) -> list[str]:
    """Return the lines of a table with the names of its rows and columns."""
    cells = [[label(name), *(number(x + 0.0) for x in row)] for name, row in zip(rows, values, strict=True)]
    return ["", *table([title, *map(label, columns)], cells)]
