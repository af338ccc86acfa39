"""Simulations in files: arrays of NumPy (npz), to the bit."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from linkwork._util.npz_archive import (
    ArchiveReader,
    OtherFileError,
    npz_path,
    open_archive,
    write_archive,
)
from linkwork.simulation.events import Occurrence
from linkwork.simulation.rollout.rollout import RUNNING, UNSOLVED

__all__ = ["load_simulation", "save_simulation"]

_FORMAT = "linkwork simulation 1"
_STATE = ("t", "q", "v", "status", "stopped_at")
_EVENT = ("time", "q", "v", "next_q", "next_v")


def save_simulation(found: Any, path: str | os.PathLike[str]) -> None:
    """Write it.  Raises ValueError for another name, TypeError for symbols."""
    where = npz_path("save", path)
    if np.asarray(found.q).dtype == object:
        raise TypeError("save: the simulation has symbols for its numbers")
    robot = found.robot_of()
    said = {
        "format": _FORMAT,
        "robot": robot.name,
        "q_names": [*robot.q_names],
        "v_names": [*robot.v_names],
        "contacts": [*found.contact_names],
        "events": [event.name for event in found.events],
        "watched": [*found._watched],
        "environments": [event.environment for event in found.events],
    }
    arrays = {name: np.asarray(getattr(found, name), dtype=float) for name in _STATE}
    arrays |= {f"records.{name}": np.asarray(x) for name, x in found.records.items()}
    arrays |= {f"events.{name}": np.array([getattr(e, name) for e in found.events]) for name in _EVENT}
    arrays |= {f"parameters.{name}": np.asarray(x) for name, x in found.parameters.items()}
    write_archive(where, said, arrays)


def load_simulation(cls: Any, path: str | os.PathLike[str], robot: Any) -> Any:
    """Read it.  Raises ValueError for what is no such file, and where the robot has other joints."""
    where = npz_path("load", path)
    with open_archive(where, _FORMAT, "Simulation.save") as reader:
        for key in ("q_names", "v_names"):
            said, own = reader.texts(key), [*getattr(robot, key)]
            if said != own:
                raise OtherFileError(f"{key} are {said}, and those of robot {robot.name!r} are {own}")
        t = reader.array("t", ("records",), ordered=True)
        if not t.size:
            raise ValueError("array 't': expected one record at least")
        status = reader.array("status", least=RUNNING, most=UNSOLVED)
        lead = status.shape
        state = {
            "t": t,
            "q": reader.array("q", (*lead, "records", robot.nq), finite=False),
            "v": reader.array("v", (*lead, "records", robot.nv), finite=False),
            "status": status,
            "stopped_at": reader.array("stopped_at", lead, finite=False),
        }
        records, parameters = reader.group("records"), reader.group("parameters")
        for name, x in records.items():
            if x.shape[: len(lead) + 1] != (*lead, len(t)):
                raise ValueError(
                    f"array 'records.{name}': expected records of shape ({(*lead, len(t))}), got {x.shape}"
                )
        contacts, watched = reader.texts("contacts"), reader.texts("watched", [])
        events = _read_events(reader, robot, lead)
    groups = {"records": records, "parameters": parameters}
    return cls(
        robot,
        state["t"],
        state["q"],
        state["v"],
        groups["records"],
        state["status"],
        state["stopped_at"],
        None,
        tuple(contacts),
        events,
        None,
        groups["parameters"],
        watched,
    )


def _read_events(reader: ArchiveReader, robot: Any, lead: tuple[int, ...]) -> list[Occurrence]:
    """What happened, in the environments of leading axes."""
    names = reader.texts("events")
    n, places = len(names), reader.said["environments"]
    fine = isinstance(places, list) and len(places) == n and all(isinstance(place, list) for place in places)
    if not fine or any(
        len(place) != len(lead)
        or not all(type(i) is int and 0 <= i < size for i, size in zip(place, lead, strict=True))
        for place in places
    ):
        raise ValueError(f"environments: expected {n} places of environments {lead}, got {places!r:.80}")
    sizes = {"time": (), "q": (robot.nq,), "v": (robot.nv,), "next_q": (robot.nq,), "next_v": (robot.nv,)}
    rows = [reader.array(f"events.{name}", (n, *sizes[name]) if n else None, finite=False) for name in _EVENT]
    return [
        Occurrence(name, tuple(place), float(time), *states)
        for name, place, time, *states in zip(names, places, *rows, strict=True)
    ]
