"""Simulations in files: arrays of NumPy (npz), to the bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..archive import npz_path, read_archive, write_archive
from .events import Occurrence

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
    where = Path(path)
    with read_archive(where, _FORMAT, "Simulation.save") as (said, arrays):
        state = {name: arrays[name] for name in _STATE}
        rows = [arrays[f"events.{name}"] for name in _EVENT]
    for key in ("q_names", "v_names"):
        own = [*getattr(robot, key)]
        if said[key] != own:
            raise ValueError(f"{where}: {key} are {said[key]}, and those of robot {robot.name!r} are {own}")
    events = [
        Occurrence(name, tuple(place), float(time), *states)
        for name, place, time, *states in zip(said["events"], said["environments"], *rows, strict=True)
    ]
    groups = {
        group: {name.partition(".")[2]: x for name, x in arrays.items() if name.startswith(f"{group}.")}
        for group in ("records", "parameters")
    }
    return cls(
        robot,
        state["t"],
        state["q"],
        state["v"],
        groups["records"],
        state["status"],
        state["stopped_at"],
        None,
        tuple(said["contacts"]),
        events,
        None,
        groups["parameters"],
        said.get("watched", ()),
    )
