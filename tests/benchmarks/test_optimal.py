"""Benchmarks of optimal motion and simulation: each part is on the page, and peers solve the same problem."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.compiler.operation_counts import written
from benchmarks.optimal.__main__ import PAGE, PARTS
from benchmarks.optimal.path_peers import CasadiPath, FatropPath, PathCase, SciPyPath
from benchmarks.simulation import __main__ as simulation
from benchmarks.tables.figure_pages import tables
from benchmarks.tables.figure_rows import MotionRow

import linkwork as lw


def test_optimal_benchmark_pages_have_all_their_sections():
    rows = [MotionRow("a measure", 1.0)]
    about = {"cpu": "a processor", "code for": "one, 4 lanes", "cores": 2, "date": "2000-01-01"}
    for page_path, parts in ((PAGE, PARTS), (simulation.PAGE, simulation.PARTS)):
        page = written(page_path.read_text(encoding="utf-8"), tables(dict.fromkeys(parts, rows), about))
        assert page.count("| a measure | 1 | - |") == len(parts)


@pytest.mark.slow(every=5)
def test_optimal_benchmark_finds_the_same_path_with_casadi():
    pytest.importorskip("casadi")
    robot = lw.load("arm7")
    case = PathCase(robot, "hand", 6, 0.2)
    start = np.array([0.4, 0.4, 0.4, -1.5, 0.4, 0.9, 0.4])
    X = robot.pose(start + 0.1, "hand")
    solution = [kind(case).solve(start, X) for kind in (CasadiPath, FatropPath, SciPyPath)]
    assert all(path.solved and path.violation < 1e-8 for path in solution)
    assert np.ptp([path.cost for path in solution]) < 1e-6 * solution[0].cost
    v = np.diff(np.vstack([start, start, solution[0].q]), axis=0) / case.step
    v[-1] *= 2.0  # the last configuration is half a step after the one before
    assert np.isclose(0.5 * (np.diff(v, axis=0) ** 2).sum() / case.step**2, solution[0].cost)
    assert np.allclose(robot.pose(solution[0].q[-1], "hand"), X, atol=1e-8)
