"""Lazy results computed by a cluster of processes: the same bits, and errors and lost workers."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr

import linkwork as lw

pytestmark = pytest.mark.slow(every=3)  # the processes start in seconds


def states(robot: lw.Robot, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [robot.random_configuration(rng, size=count), *rng.normal(size=(2, count, robot.nv))]


def test_results_of_a_dask_cluster_are_equal_bit_for_bit_for_all_chunks(cluster: Any) -> None:
    robot = lw.load("arm7")
    q, v, a = states(robot, 600)
    torque, pose = robot.inverse_dynamics(q, v, a), robot.pose(q, "hand")
    kernel = lw.compile(lambda q, v: (q * v, np.sin(q).sum()), q=7, v=7)  # a function that workers do not have
    products = kernel(q, v)
    for cut in (50, 173, (1, 400, 199)):
        x, y, z = (da.from_array(part, chunks=(cut, 7)) for part in (q, v, a))
        lazy = [robot.inverse_dynamics(x, y, z), robot.pose(x, "hand"), *kernel(x, y)]
        lazy.append(x.map_blocks(robot.gravity_force, dtype=float))
        expected = [torque, pose, *products, robot.gravity_force(q)]
        for order in (slice(None), slice(None, None, -1)):
            for result, array in zip(dask.compute(*lazy[order]), expected[order], strict=True):
                assert result.tobytes() == array.tobytes()
    labelled = xr.DataArray(da.from_array(q, chunks=(100, 7)), dims=("sample", "coordinate"))
    assert robot.xarray.pose(labelled, "hand").compute().values.tobytes() == pose.tobytes()


def test_errors_of_nan_in_dask_arrays_are_raised_by_the_cluster_worker(cluster: Any) -> None:
    robot = lw.load("arm7")
    q, _, _ = states(robot, 100)
    q[77, 3] = np.inf
    with pytest.raises(ValueError, match=r"pose: q\[27, 3\] is inf \(joint 'elbow'\)") as raised:
        robot.pose(da.from_array(q, chunks=(50, 7)), "hand").compute()
    assert "within a block of the Dask arrays" in raised.value.__notes__[0]


def test_dask_cluster_computes_correct_results_although_a_worker_is_killed(cluster: Any) -> None:
    robot = lw.load("arm7")
    q, _, _ = states(robot, 400)

    def slowed(block: np.ndarray) -> np.ndarray:  # so that the worker is killed in the middle
        time.sleep(0.1)
        return block

    x = da.from_array(q, chunks=(10, 7)).map_blocks(slowed, dtype=float)
    future = cluster.compute(robot.mass_matrix(x))
    processes = cluster.run(os.getpid)
    while not (any(cluster.processing().values()) or future.done()):
        time.sleep(0.01)
    time.sleep(0.3)
    os.kill(next(iter(processes.values())), signal.SIGKILL)
    assert future.result(timeout=300).tobytes() == robot.mass_matrix(q).tobytes()
    assert next(iter(processes.values())) not in cluster.run(os.getpid).values()
