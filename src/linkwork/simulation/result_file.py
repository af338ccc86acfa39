"""Files of simulations (``.npz``): writing, and reading with all checks."""

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
from linkwork.collision.fingerprints import check_same_dynamics, dynamics_fingerprint
from linkwork.simulation.contacts.contact_materials import is_of_contacts
from linkwork.simulation.events import EventRecord
from linkwork.simulation.rollout.rollout import RUNNING, UNSOLVED

__all__ = ["load_simulation", "save_simulation"]

_FORMAT = "linkwork simulation 2"
_STATE = {"t": "t", "q": "q", "v": "v", "status": "_codes", "stopped_at": "stopped_at"}  # attributes by array
_EVENT = ("time", "q", "v", "next_q", "next_v")


def save_simulation(result: Any, path: str | os.PathLike[str]) -> None:
    """Write a simulation.  Raises ValueError for another suffix, TypeError for symbols."""
    remedy = "to_csv(path) writes a table, and scipy.io.savemat(path, {'t': run.t, 'q': run.q}) a file of MATLAB"
    where = npz_path("save", path, remedy=remedy)
    if np.asarray(result.q).dtype == object:
        raise TypeError(
            "save: expected a simulation of numbers, got one of symbols; save it outside compiled functions"
        )
    robot = result.robot_of()
    said = {
        "format": _FORMAT,
        "robot": robot.name,
        "of": dynamics_fingerprint(result._robot),
        "q_names": [*robot.q_names],
        "v_names": [*robot.v_names],
        "contacts": [*result.contact_names],
        "events": [event.name for event in result.events],
        "watched": [*result._watched],
        "passive": result._passive,
        "environments": [event.environment for event in result.events],
    }
    arrays = {name: np.asarray(getattr(result, attribute), dtype=float) for name, attribute in _STATE.items()}
    if result.saturation is not None:
        arrays["saturation"] = result.saturation
    arrays |= {f"records.{name}": np.asarray(x) for name, x in result.records.items()}
    arrays |= {f"events.{name}": np.array([getattr(e, name) for e in result.events]) for name in _EVENT}
    arrays |= {f"parameters.{name}": np.asarray(x) for name, x in result.parameters.items()}
    write_archive(where, said, arrays)


def load_simulation(cls: Any, path: str | os.PathLike[str], robot: Any) -> Any:
    """Read a simulation.  Raises ValueError for another kind of file, and for another robot."""
    where = npz_path("load", path)
    with open_archive(where, _FORMAT, "Simulation.save") as reader:
        for key in ("q_names", "v_names"):
            said, of_robot = reader.texts(key), [*getattr(robot, key)]
            if said != of_robot:
                raise OtherFileError(f"{key} are {said}, but those of robot {robot.name!r} are {of_robot}")
        check_same_dynamics(reader.text("of"), robot)
        t = reader.array("t", ("records",), ordered=True)
        if not t.size:
            raise ValueError("array 't': expected at least one record")
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
        of_robot = [name for name in parameters if not is_of_contacts(name)]
        sizes = (
            {name: np.shape(x) for name, x in zip(of_robot, robot.parameters(of_robot).values(), strict=True)}
            if of_robot
            else {}
        )
        for name, x in parameters.items():
            expected = (*lead, *sizes.get(name, x.shape[len(lead) :]))
            if x.shape != expected:
                raise ValueError(f"array 'parameters.{name}': expected shape {expected}, got {x.shape}")
        contacts, watched = reader.texts("contacts"), reader.texts("watched", [])
        passive = bool(reader.said.get("passive", True))
        saturation = reader.array("saturation", (*lead, robot.nv)) if "saturation" in reader else None
        events = _read_events(reader, robot, lead)
    groups = {"records": records, "parameters": parameters}
    return cls._make(
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
        passive=passive,
        saturation=saturation,
    )


def _read_events(reader: ArchiveReader, robot: Any, lead: tuple[int, ...]) -> list[EventRecord]:
    """Read the events; ``lead`` is the shape of the batch."""
    names = reader.texts("events")
    n, environments = len(names), reader.said["environments"]
    is_valid = (
        isinstance(environments, list)
        and len(environments) == n
        and all(isinstance(environment, list) for environment in environments)
    )
    if not is_valid or any(
        len(environment) != len(lead)
        or not all(type(i) is int and 0 <= i < size for i, size in zip(environment, lead, strict=True))
        for environment in environments
    ):
        raise ValueError(f"environments: expected {n} indices within the batch {lead}, got {environments!r:.80}")
    sizes = {"time": (), "q": (robot.nq,), "v": (robot.nv,), "next_q": (robot.nq,), "next_v": (robot.nv,)}
    rows = [reader.array(f"events.{name}", (n, *sizes[name]) if n else None, finite=False) for name in _EVENT]
    return [
        EventRecord(name, tuple(environment), float(time), *states)
        for name, environment, time, *states in zip(names, environments, *rows, strict=True)
    ]
