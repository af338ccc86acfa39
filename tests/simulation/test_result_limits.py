"""Results of simulations on both sides of their limits: trajectories, tables, files, servos and fixed steps."""

from __future__ import annotations

import json
import math
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import SimulationWarning
from linkwork.expr.scalar.symbol import Graph
from linkwork.simulation import ContactGround, Event, Simulation
from linkwork.simulation.actuators import actuator_servos
from linkwork.simulation.algorithms.step_energy import is_free
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.contacts.penetration_depth import AT_START, allowed_depth
from linkwork.simulation.events import _has_happened
from linkwork.simulation.result_file import save_simulation

sensor_contract: Any = import_module("linkwork.simulation.sensors.check_sensor")
G = 9.81


@pytest.fixture(scope="module")
def falling() -> lw.Robot:
    """A mass that slides up and down."""
    return lw.Robot.build(
        "falling",
        lw.Link("mass", mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass"),
    )


@pytest.fixture(scope="module")
def run(falling: lw.Robot) -> Simulation:
    """Fall from 49 mm, with an impact at 0.1 s."""
    event = Event("floor", lambda t, q, v: q[0], direction=-1, jump=lambda t, q, v: (q, -0.5 * v))
    top = 0.5 * G * 0.1**2
    level = Event("level", lambda t, q, v: q[0] - 0.1 * top, direction=0)
    how: dict[str, Any] = {"duration": 0.18, "dt": 0.06, "events": [event, level], "passive": False}
    return falling.simulate([top], [0.0], method="dormand_prince", record=["kinetic_energy"], **how)


def test_dense_output_is_the_motion_between_records(run: Simulation) -> None:
    path, top = run.trajectory(), 0.5 * G * 0.1**2
    for t in (0.03, 0.06, 0.097, 0.101, 0.17):
        u = t - 0.1
        height = top - 0.5 * G * t * t if u < 0.0 else 0.5 * G * 0.1 * u - 0.5 * G * u * u
        speed = -G * t if u < 0.0 else 0.5 * G * 0.1 - G * u
        assert abs(path(t).q[0] - height) < 1e-12 and abs(path(t).v[0] - speed) < 1e-11, t
    times = {"level": (0.1 * math.sqrt(0.9), 0.15 - math.sqrt(0.0015)), "floor": (0.1,)}  # down and up, and the impact
    for name, expected in times.items():
        assert np.abs(np.array([x.time for x in run.events if x.name == name]) - expected).max() < 1e-12
    assert abs(path.duration - 0.18) < 1e-15


def test_damaged_files_of_simulations_are_refused(run: Simulation, falling: lw.Robot, tmp_path: Path) -> None:
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        arrays = {name: file[name] for name in file.files}
    assert Simulation.load(tmp_path / "run.npz", robot=falling).events[0].time == run.events[0].time
    said = json.loads(arrays["said"].tobytes())

    def with_said(**changes: Any) -> dict[str, Any]:
        return {"said": np.frombuffer(json.dumps({**said, **changes}).encode(), dtype=np.uint8)}

    energy = arrays["records.kinetic_energy"]
    indices = r"environments: expected 3 indices within the batch \(\)"
    for changes, words in (
        (
            {name: arrays[name][:0] for name in ("t", "q", "v", "records.kinetic_energy")},
            "array 't': expected at least one",
        ),
        (
            {"records.kinetic_energy": energy[:-1]},
            r"array 'records.kinetic_energy': expected records of shape \(\(4,\)\)",
        ),
        ({"records.kinetic_energy": np.append(energy, 0.0)}, "array 'records.kinetic_energy': expected records"),
        (with_said(environments=[[0]]), indices),
        (with_said(environments=[]), indices),
        (with_said(environments=[3]), indices),
        (with_said(environments="x"), indices),
    ):
        np.savez(tmp_path / "other.npz", **{**arrays, **changes})
        with pytest.raises(ValueError, match=rf"not a file that Simulation\.save wrote: {words}"):
            Simulation.load(tmp_path / "other.npz", robot=falling)
    symbols: Any = SimpleNamespace(q=np.array([[Graph().input("q")]], dtype=object))
    with pytest.raises(TypeError, match="save: expected a simulation of numbers, got one of symbols"):
        save_simulation(symbols, tmp_path / "symbols.npz")
    with pytest.raises(TypeError, match="to_csv: expected a simulation of numbers, got one of symbols"):
        Simulation._table(symbols, "to_csv")


def test_indices_of_events_in_files_are_within_the_batch() -> None:
    read: Any = import_module("linkwork.simulation.result_file")._read_events
    robot = SimpleNamespace(nq=1, nv=1)

    def reader(*environments: Any) -> Any:
        states = {"time": (), "q": (1,), "v": (1,), "next_q": (1,), "next_v": (1,)}
        return SimpleNamespace(
            texts=lambda key: ["floor"] * len(environments),
            said={"environments": list(environments)},
            array=lambda name, shape, finite: np.zeros((len(environments), *states[name.partition(".")[2]])),
        )

    events = read(reader([0, 0], [1, 2]), robot, (2, 3))
    assert [event.environment for event in events] == [(0, 0), (1, 2)]
    for wrong in ([2, 0], [0, 3], [-1, 0], [0], [0, 0, 0], [True, 0], [0.0, 0]):
        with pytest.raises(ValueError, match=r"environments: expected 2 indices within the batch \(2, 3\)"):
            read(reader([0, 0], wrong), robot, (2, 3))
    bits = 2.0**3 + 2.0
    assert [bool(_has_happened(bits, k)) for k in range(5)] == [False, True, False, True, False]


def test_servos_act_on_separate_velocities_of_a_joint() -> None:
    plate = lw.Robot.build(
        "plate",
        lw.Link("plate", mass=1.0, inertia=(0.1, 0.2, 0.3)),
        lw.Joint.of(lw.joints.Planar(), name="table", parent="world", child="plate"),
    )

    def servo(name: str, *gears: float) -> lw.Actuator:
        return lw.Actuator.position(name, "table", gear=gears, stiffness=30.0, force_range=(-4.0, 4.0))

    two = plate.with_actuators(servo("a", 0.0, 2.0, 0.0), servo("b", 0.5, 0.0, 0.0))
    servos = actuator_servos(two, [0.25, 0.5]).of(plate)
    assert list(servos.stiffness) == [7.5, 120.0, 0.0] and list(servos.limit) == [2.0, 8.0, 0.0]
    assert list(servos.force) == [7.5, 15.0, 0.0]
    same = plate.with_actuators(servo("a", 0.0, 2.0, 0.0), servo("b", 0.0, 0.5, 0.0))
    with pytest.raises(ValueError, match="another actuator acts on joint 'table', and one of them has a force range"):
        actuator_servos(same, [0.25, 0.5])


def test_robots_with_a_root_joint_of_several_velocities_count_as_floating() -> None:
    def on(joint: lw.joints.JointType) -> Any:
        return lw.Robot.build(
            "body",
            lw.Link("body", mass=1.0, inertia=(0.1, 0.2, 0.3)),
            lw.Joint.of(joint, name="root", parent="world", child="body"),
        ).tree

    assert is_free(on(lw.joints.Universal())) and is_free(on(lw.joints.Planar()))
    assert not is_free(on(lw.joints.Revolute((0.0, 1.0, 0.0))))


def noise_of(drawn: Any) -> Any:
    """Return the requirement on noise for draws in units of its standard deviation."""
    values = {"plain": np.ones_like(drawn), "noisy": 1.0 + sensor_contract._SIGMA * np.asarray(drawn)}
    return sensor_contract._noise(SimpleNamespace(records=values.__getitem__))


def test_noise_of_sensors_has_its_mean_and_deviation() -> None:
    n = 400
    drawn = np.random.default_rng(0).normal(size=(n, 1))
    drawn = (drawn - drawn.mean()) / drawn.std()
    bound = sensor_contract._DEVIATIONS / math.sqrt(n)
    assert noise_of(drawn) == noise_of(drawn + 0.9 * bound) == noise_of(np.zeros((0, 1))) == []
    for factor, accepted in ((1.0 + 0.6 * bound, True), (1.0 - 0.6 * bound, True), (1.0 + 0.8 * bound, False)):
        if accepted:
            assert noise_of(factor * drawn) == []
        else:
            with pytest.raises(ValueError, match="noise: expected mean 0 and standard deviation 1"):
                noise_of(factor * drawn)
    for wrong in (drawn + 1.1 * bound, (1.0 - 0.8 * bound) * drawn):
        with pytest.raises(ValueError, match="noise: expected mean 0 and standard deviation 1"):
            noise_of(wrong)
    twice = drawn.copy()
    twice[7] = twice[3]
    with pytest.raises(ValueError, match="noise: some readings have the same noise"):
        noise_of(twice)
    assert sensor_contract._traced(SimpleNamespace(contacts=ContactGround(("tip",)))) == []


def test_sizes_of_sensors_are_integers_from_zero() -> None:
    def sized(size: Any, count: int = 0) -> Any:
        sensor = SimpleNamespace(_check_fit=lambda robot, contacts: None, each=lambda name, size: [0.0] * size)
        return SimpleNamespace(size=size, sensor=sensor, robot=None, contacts=None, read=lambda k: [0.0] * count)

    assert sensor_contract._size(sized(0)) == [] and sensor_contract._size(sized(2, 2)) == []
    for size in (-1, True, 2.0, None):
        with pytest.raises(ValueError, match="size: expected an integer >= 0, got"):
            sensor_contract._size(sized(size))
    with pytest.raises(ValueError, match="readings: expected 2 readings, as size says, got 3"):
        sensor_contract._size(sized(2, 3))


def test_overlaps_at_the_start_are_reported_above_their_limits(falling: lw.Robot) -> None:
    """Soft contacts are reported where their force is above ten times the weight, too."""
    deep, weight = allowed_depth(falling, 0.001, AT_START), G
    for depth, stiffness, model, reported in (
        (1.01 * deep, None, "convex", True),
        (0.99 * deep, None, "convex", False),
        (2.0 * deep, 10.1 * weight / (2.0 * deep), "convex", True),
        (2.0 * deep, 9.9 * weight / (2.0 * deep), "convex", False),
        (2.0 * deep, 10.1 * weight / (2.0 * deep) ** 1.5, "compliant", True),
        (2.0 * deep, 9.9 * weight / (2.0 * deep) ** 1.5, "compliant", False),
        (2.0 * deep, 14.0 * weight / (2.0 * deep) ** 1.5, "compliant", True),
    ):
        candidate = SimpleNamespace(name="a and b", material=SimpleNamespace(stiffness=stiffness))
        contacts: Any = SimpleNamespace(
            model=model, measured=lambda *_, c=candidate, d=depth: [(c, np.array([-d, 1.0]))]
        )
        texts = ContactSet._too_deep(contacts, falling, np.zeros((2, 1)), 0.001, {})
        expected = [(f"a and b by {1e3 * depth:.3g} mm", depth)] if reported else []
        assert texts == expected, (depth, stiffness, model)
    for count, end in ((4, "c3 by 1 mm$"), (5, "c3 by 1 mm, and 1 more$")):
        listed: Any = SimpleNamespace(_too_deep=lambda *_, n=count: [(f"c{k} by 1 mm", 1e-3) for k in range(n)])
        with pytest.warns(SimulationWarning, match=f"overlap at the start are pushed apart: c0 by 1 mm; .*{end}"):
            ContactSet.warn_of_overlaps(listed, falling, np.zeros(1), 0.001)
