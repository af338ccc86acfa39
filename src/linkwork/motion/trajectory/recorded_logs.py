"""Recorded motions: tables of text with a column for each joint, in any order, and a column of time or a rate."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from linkwork._util.messages import listed, nearest, quoted
from linkwork._util.user_frames import levels_up
from linkwork._util.validation import boolean, positive
from linkwork.errors import ModelWarning
from linkwork.model.coordinate_names import units_of

__all__ = ["read_log"]

_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("q", "pos", "position", "positions", "angle"), "q"),
    **dict.fromkeys(("v", "vel", "velocity", "velocities", "dq", "qd", "speed"), "v"),
    **dict.fromkeys(("a", "acc", "acceleration", "accelerations", "ddq", "qdd"), "a"),
}
_TIMES = ("t", "time", "timestamp", "stamp", "seconds", "__time", "time_from_start", "elapsed")
_UNITS: Mapping[str, tuple[str, float]] = {  # of a column: dimension, and factor to SI
    **dict.fromkeys(("rad", "rad/s", "rad/s2", "rad/s^2", "rad/s²"), ("angle", 1.0)),
    **dict.fromkeys(("deg", "°", "deg/s", "°/s", "deg/s2", "deg/s^2", "deg/s²"), ("angle", np.pi / 180.0)),
    **dict.fromkeys(("m", "m/s", "m/s2", "m/s^2", "m/s²"), ("length", 1.0)),
    **dict.fromkeys(("mm", "mm/s", "mm/s2", "mm/s^2", "mm/s²"), ("length", 1e-3)),
    "1": ("number", 1.0),
    "s": ("time", 1.0),
    "sec": ("time", 1.0),
    "ms": ("time", 1e-3),
    "us": ("time", 1e-6),
    "µs": ("time", 1e-6),
    "ns": ("time", 1e-9),
}
_UNIT_AT_END = re.compile(r"^(?P<name>.*?)\s*(?:\[(?P<square>[^\]]*)\]|\((?P<round>[^)]*)\))$")
_TIME_SUFFIX = re.compile(r"^(?P<name>[a-z_]*?)_?(?P<unit>s|sec|ms|us|ns)$")
_DELIMITERS = ",;\t"


class _Column(NamedTuple):
    """Column of a table: the position of a coordinate in q, v or a, and the factor to SI units."""

    kind: str
    position: int
    factor: float


def read_log(
    where: Path, rows: list[list[str]], robot: Any, rate: float | None, degrees: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return times (n,) [s], q (n, nq), and v and a (n, nv), which are None unless all joints have columns.

    The name of a column is that of its coordinate, alone or with a word for q, v or a, and may end with a unit in
    brackets. ``degrees`` applies to angles without a unit, and ``rate`` [1/s] is for a table without a column of time.
    A warning names the columns that are not read, except further columns of `Simulation.to_csv`.  Raises ValueError
    for missing columns, and values that are not finite.
    """
    caller = f"load: {where}"
    boolean("load", "degrees", degrees)
    rows = _delimited(rows)
    head = [name.strip().removeprefix("#").strip().strip("\"'") for name in rows[0]] if rows else []
    columns, time, unread = _columns(caller, head, robot, degrees)
    if rate is not None:
        positive("load", "rate", rate, unit="1/s", symbols=False)
        if time is not None:
            raise ValueError(
                f"{caller}: rate: the table has a column of time, {quoted(head[time.position])}: leave rate out"
            )
    elif time is None:
        expected = f"expected a column of time ({', '.join(_TIMES[:5])}), got {listed(head)}"
        raise ValueError(f"{caller}: {expected}; pass rate= [1/s] for samples at equal steps")
    used = [*columns, *([] if time is None else [time.position])]
    values = _values(caller, rows[1:], head, used)
    arrays: dict[str, np.ndarray | None] = {}
    for kind, names in (("q", robot.q_names), ("v", robot.v_names), ("a", robot.v_names)):
        indices = {column.position: (k, column.factor) for k, column in columns.items() if column.kind == kind}
        missing = [name for j, name in enumerate(names) if j not in indices]
        if missing and kind == "q":
            hint = nearest(missing[0], head)
            raise ValueError(f"{caller}: no column for {listed(missing)} of robot {robot.name!r}; {hint}")
        if missing:
            arrays[kind] = None
            unread += [head[k] for k, _ in indices.values()]
            continue
        ordered = [indices[j] for j in range(len(names))]
        arrays[kind] = np.column_stack([values[used.index(k)] * factor for k, factor in ordered])
    if arrays["v"] is None and arrays["a"] is not None:
        unread += [head[k] for k, column in columns.items() if column.kind == "a"]
        arrays["a"] = None
    if time is None:
        t = np.arange(len(values[0])) / float(rate or 1.0)
    else:
        t = values[used.index(time.position)] * time.factor
        bad = np.flatnonzero(np.diff(t) <= 0.0)
        if len(bad):
            k = int(bad[0])
            message = f"expected times that increase, got {t[k + 1]:.17g} after {t[k]:.17g}"
            raise ValueError(f"{caller}: line {k + 3}: {message}")
    if {f"q:{name}" for name in robot.q_names} <= {*head}:  # a table of `Simulation.to_csv`, also with its records
        unread = [name for name in unread if name.startswith(("q:", "v:", "a:"))]
    if unread:
        warnings.warn(f"{caller}: columns that are not read: {listed(unread)}", ModelWarning, stacklevel=levels_up())
    q = arrays["q"]
    assert q is not None
    return t, q, arrays["v"], arrays["a"]


def _delimited(rows: list[list[str]]) -> list[list[str]]:
    """Return the cells of a table whose lines were split at commas, by the delimiter of its first line.

    With semicolons, numbers may have decimal commas.
    """
    head = ",".join(rows[0]) if rows else ""
    delimiter = max(_DELIMITERS, key=head.count)
    if delimiter == ",":
        return rows
    lines = [",".join(row).split(delimiter) for row in rows]
    if delimiter == ";":
        lines[1:] = [[cell.replace(",", ".") for cell in line] for line in lines[1:]]
    return lines


def _columns(
    caller: str, head: Sequence[str], robot: Any, degrees: bool
) -> tuple[dict[int, _Column], _Column | None, list[str]]:
    """Return the table columns of coordinates by their position, the column of time, and the names of ignored columns.

    ``head`` are the titles of all columns.
    """
    names = {"q": robot.q_names, "v": robot.v_names}
    names["a"] = names["v"]
    units = {kind: list(units_of(robot.tree, cast(Any, kind))) for kind in "qva"}
    result: dict[int, _Column] = {}
    time: _Column | None = None
    unread: list[str] = []
    titles: dict[tuple[str, int], str] = {}
    for k, title in enumerate(head):
        name, unit = _name_and_unit(title)
        meaning = _meaning(name, names)
        if meaning is None:
            factor = _time_factor(name, unit)
            if factor is not None and time is None:
                time = _Column("t", k, factor)
            else:
                unread.append(title)
            continue
        kind, index = meaning
        coordinate_unit = units[kind][index]
        dimension = (
            "angle" if coordinate_unit.startswith("rad") else "length" if coordinate_unit.startswith("m") else "number"
        )
        factor = np.pi / 180.0 if degrees and dimension == "angle" else 1.0
        if unit:
            stated, factor = _UNITS.get(unit, ("", 1.0))
            if stated != dimension:
                raise ValueError(
                    f"{caller}: column {quoted(title)}: expected a unit such as {coordinate_unit}, got {quoted(unit)}"
                )
        if meaning in titles:
            raise ValueError(f"{caller}: columns {quoted(titles[meaning])} and {quoted(title)} are the same coordinate")
        titles[meaning] = title
        result[k] = _Column(kind, index, factor)
    return result, time, unread


def _name_and_unit(title: str) -> tuple[str, str]:
    """Return the name and the unit of a column: ("elbow", "deg") for "elbow [deg]"."""
    match = _UNIT_AT_END.match(title)
    if match is None:
        return title, ""
    unit = (match["square"] or match["round"] or "").strip()
    return (match["name"], unit) if unit in _UNITS else (title, "")


def _meaning(name: str, names: Mapping[str, Sequence[str]]) -> tuple[str, int] | None:
    """Return the kind (q, v or a) and the index of the coordinate in a column's name, or None."""
    for kind in "qv":
        if name in names[kind]:
            return kind, names[kind].index(name)
    for word, kind in _KINDS.items():
        for separator in (":", "_", ".", "/", " "):
            for text in (name, name.rpartition("/")[2]):
                before = text.removeprefix(f"{word}{separator}") if text.startswith(f"{word}{separator}") else ""
                if before in names[kind]:
                    return kind, names[kind].index(before)
            if not name.endswith(f"{separator}{word}"):
                continue
            after = name.removesuffix(f"{separator}{word}")
            for text in (after, after.rpartition("/")[2]):
                if text in names[kind]:
                    return kind, names[kind].index(text)
    last = name.rpartition("/")[2]
    return ("q", names["q"].index(last)) if last in names["q"] else None


def _time_factor(name: str, unit: str) -> float | None:
    """Return the factor from a column's numbers to seconds, or None if its name does not mean time."""
    lower = name.lower()
    match = _TIME_SUFFIX.match(lower)
    if lower not in _TIMES and match is not None and match["name"] in _TIMES:
        lower, unit = match["name"], unit or match["unit"]
    dimension, factor = _UNITS.get(unit or "s", ("", 1.0))
    return factor if lower in _TIMES and dimension == "time" else None


def _values(caller: str, rows: Sequence[Sequence[str]], head: Sequence[str], used: Sequence[int]) -> list[np.ndarray]:
    """Return the numbers of the used columns.  Raises ValueError with the line of a cell that is not finite."""
    while rows and not "".join(rows[-1]).strip():  # blank lines at the end
        rows = rows[:-1]
    if len(rows) < 2:
        raise ValueError(f"{caller}: expected at least two lines below the header, got {len(rows)}")
    for k, row in enumerate(rows):
        if len(row) != len(head):
            raise ValueError(f"{caller}: line {k + 2}: expected {len(head)} cells, got {len(row)}")
    result = []
    for column in used:
        cells = [row[column] for row in rows]
        try:
            values = np.array(cells, dtype=float)
        except ValueError:
            values = np.array([_float(cell) for cell in cells])
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            k = int(bad[0])
            message = f"expected a finite number under {quoted(head[column])}, got {quoted(cells[k])}"
            raise ValueError(f"{caller}: line {k + 2}: {message}")
        result.append(values)
    return result


def _float(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")
