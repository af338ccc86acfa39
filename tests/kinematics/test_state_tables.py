"""Simulations and trajectories as datasets of xarray, tables of pandas and CSV files."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import linkwork as lw


@pytest.fixture(scope="module")
def arm() -> lw.Robot:
    return lw.load("arm7")


@pytest.fixture(scope="module")
def runs(arm: lw.Robot) -> lw.simulation.Simulation:
    q = arm.random_configuration(size=3, seed=0)
    records = ["kinetic_energy", ("pose", "hand")]
    return arm.simulate(q, duration=0.02, dt=0.005, record=records, parameters={"gravity": [[0, 0, -9.0]] * 3})


def test_simulation_result_can_be_converted_to_a_labelled_dataset(
    arm: lw.Robot, runs: lw.simulation.Simulation
) -> None:
    data = runs.to_xarray()
    assert data.q.dims == ("environment", "time", "coordinate") and data.v.dims == ("environment", "time", "dof")
    assert np.array_equal(data.q, runs.q) and np.array_equal(data.v, runs.v) and np.array_equal(data.time, runs.t)
    assert np.array_equal(data.q.sel(coordinate="elbow"), runs.q[..., arm.q_names.index("elbow")])
    assert (data.q.attrs["units"], data.v.attrs["units"], data.time.attrs["units"]) == ("rad", "rad/s", "s")
    assert np.array_equal(data.pose_hand.sel(row="x", column="position"), runs.records["pose_hand"][..., 0, 3])
    assert (data.kinetic_energy.dims, data.kinetic_energy.attrs["units"]) == (("environment", "time"), "J")
    assert data.gravity.dims[0] == "environment" and np.array_equal(data.gravity, runs.parameters["gravity"])
    assert data.attrs["robot"] == "arm7"


def test_batch_and_single_run_of_a_simulation_can_be_converted_to_tables(arm: lw.Robot) -> None:
    q = arm.random_configuration(size=(2, 3), seed=0)
    table = arm.simulate(q, duration=0.01, dt=0.005)
    assert table.to_xarray().q.dims[:2] == ("environment_1", "environment_2")
    assert table.to_pandas().index.names == ["environment_1", "environment_2", "t"]
    single = arm.simulate(q[1, 2], duration=0.01, dt=0.005)
    assert single.to_xarray().q.dims == ("time", "coordinate")
    assert single.to_pandas().index.name == "t"
    assert np.array_equal(table.to_pandas().loc[1, 2].to_numpy(), single.to_pandas().to_numpy())


def test_table_of_a_simulation_and_its_csv_file_have_all_digits(
    arm: lw.Robot, runs: lw.simulation.Simulation, tmp_path: Path
) -> None:
    frame = runs.to_pandas()
    assert frame.shape == (15, 7 + 7 + 1 + 16) and frame.attrs["units"]["q:elbow"] == "rad"
    assert np.array_equal(frame.loc[2, "v:elbow"], runs.v[2, :, arm.v_names.index("elbow")])
    assert np.array_equal(frame["pose_hand:x:position"].to_numpy(), runs.records["pose_hand"][..., 0, 3].ravel())
    path = tmp_path / "runs.csv"
    runs.to_csv(path)
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["environment", "t", *frame.columns]
    values = np.array(rows, dtype=float)
    assert np.array_equal(values[:, 2:], frame.to_numpy())
    assert np.array_equal(values[:, 1], np.tile(runs.t, 3)) and np.array_equal(values[:, 0], np.repeat([0, 1, 2], 5))
    read = pd.read_csv(path, index_col=[0, 1])
    assert [*read.columns] == [*frame.columns] and np.allclose(read, frame, rtol=1e-14)


def test_csv_file_of_a_table_is_replaced_only_when_complete(runs: lw.simulation.Simulation, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("before")
    with pytest.raises(FileNotFoundError, match="create it first"):
        runs.to_csv(tmp_path / "none" / "runs.csv")
    broken = lw.simulation.Simulation._make(
        runs._robot, runs.t[:-1], runs.q, runs.v, {}, runs._codes, runs.stopped_at, None
    )
    with pytest.raises(ValueError, match=r"shorter|longer"):
        broken.to_csv(path)
    assert path.read_text() == "before" and [x.name for x in tmp_path.iterdir()] == ["runs.csv"]


def test_trajectories_can_be_converted_to_datasets_tables_and_files(arm: lw.Robot, tmp_path: Path) -> None:
    q = arm.random_configuration(size=3, seed=1)
    motion = arm.spline([0.0, 1.0, 2.0], q)
    times = np.linspace(0.0, 2.0, 5)
    data, state = motion.to_xarray(times), motion(times)
    assert all(np.array_equal(data[name], getattr(state, name)) for name in "qva")
    assert (data.a.dims, data.a.attrs["units"]) == (("time", "dof"), "rad/s²")
    assert np.array_equal(motion.to_xarray().time, motion.knots)
    assert np.array_equal(motion.to_pandas(times)["a:elbow"], state.a[:, arm.v_names.index("elbow")])
    motion.to_csv(tmp_path / "motion.csv", times)
    motion.save(tmp_path / "saved.csv", samples=5)
    assert (tmp_path / "motion.csv").read_bytes() == (tmp_path / "saved.csv").read_bytes()
    again = lw.motion.Trajectory.load(tmp_path / "motion.csv", robot=arm)
    assert np.abs(again(times).q - state.q).max() < 1e-12  # through quintics
    plain = lw.motion.Trajectory.polynomial([0.0, 2.0], [[[1.0, 0.5]]])
    assert [*plain.to_pandas().columns] == ["q:0", "v:0", "a:0"] and plain.to_xarray().attrs == {}
    for wrong in ([3.0], [[0.0]], 0.5, [float("nan")], ["x"]):
        with pytest.raises(ValueError, match=r"to_xarray: times: expected an array \(n,\) of times from 0 to 2 s"):
            motion.to_xarray(wrong)  # type: ignore[arg-type]


def test_missing_table_library_gives_an_error_with_the_remedy(
    arm: lw.Robot, runs: lw.simulation.Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    lazy = da.zeros((4, 7), chunks=2)
    for library in ("xarray", "pandas", "dask.array"):
        monkeypatch.setitem(sys.modules, library, None)
    calls: list[tuple[str, Callable[[], object]]] = [
        ("xarray", lambda: arm.xarray),
        ("xarray", runs.to_xarray),
        ("xarray", runs.to_pandas),
        ("dask", lambda: arm.pose(lazy, "hand")),
    ]
    for extra, call in calls:
        with pytest.raises(ImportError, match=rf'not installed: pip install "linkwork\[{extra}\]"'):
            call()
