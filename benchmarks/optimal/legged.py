"""Legged robots with contact phases: time of the first solve, with its kernel's compilation, and of a later solve."""

from __future__ import annotations

import os
import runpy
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import OPTIMAL

__all__ = ["legged_rows"]

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
CASES = {"quadruped trots": ("trot", "trotting"), "humanoid squats": ("squat", "squatting")}


def legged_rows(quick: bool) -> list[MotionRow]:
    """Measure the problems of the examples; the humanoid's only in a full run."""
    rows = []
    for name, (script, problem) in list(CASES.items())[: 1 if quick else None]:
        example = runpy.run_path(str(EXAMPLES / f"{script}.py"))
        example_problem = example[problem]()
        with patch.dict(os.environ, {"LINKWORK_CACHE": "off"}):
            begin = time.perf_counter()
            first = example_problem.solve(example["START"], **example["OPTIONS"])
            making = time.perf_counter() - begin
        assert first.success, first
        seconds = []
        for _ in range(3 if quick else 9):
            begin = time.perf_counter()
            solution = example_problem.solve(example["START"], **example["OPTIONS"])
            seconds.append(time.perf_counter() - begin)
            assert solution.iterations == first.iterations
        median = float(np.median(seconds))
        rows += [
            MotionRow(f"{name}, first solve, with making the kernel", making, "s", OPTIMAL["legged", name]),
            MotionRow(f"{name}, solve", median, "s"),
            MotionRow(f"{name}, iterations", float(first.iterations), ""),
            MotionRow(f"{name}, an iteration", median / first.iterations, "s"),
        ]
    return rows
