"""Benchmarks of motion: rows are judged by their targets, and each part is on the page."""

from __future__ import annotations

import json

import pytest
from benchmarks.compiler.operation_counts import written
from benchmarks.motion.__main__ import PARTS
from benchmarks.tables.figure_pages import PAGE, as_data, of_data, tables
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import Target

ROWS = [
    MotionRow("a call", 2e-6, "s", Target(3e-6), 8e-6, "other", Target(10.0, at_least=True)),
    MotionRow("solved", 99.8, "%", Target(99.7, at_least=True)),
    MotionRow("by the way", 3.0),
    MotionRow("none", None, "s", Target(1.0)),
    MotionRow("without a peer", 1.0, "s", beside=Target(2.0, at_least=True)),
]


def test_motion_benchmark_judges_each_figure_against_its_target():
    assert [row.verdict for row in ROWS] == ["MISSED", "met", "", "not measured", ""]
    assert ROWS[0].times == pytest.approx(4.0)
    assert (ROWS[0].ours_shown, ROWS[0].target_shown, ROWS[0].peer_shown) == (
        "2 µs",
        "≤ 3 µs, ≥ 10 ×",
        "other 8 µs, 4 ×",
    )
    assert MotionRow("x", 0.5e-6, "s", beside=Target(10.0, at_least=True), peer=8e-6).met


def test_motion_benchmark_page_has_all_its_sections():
    about = {"cpu": "a processor", "code for": "one, 4 lanes", "cores": 2, "date": "2000-01-01"}
    rows = of_data(json.loads(json.dumps(as_data(ROWS))))
    assert rows == ROWS
    page = written(PAGE.read_text(encoding="utf-8"), tables(dict.fromkeys(PARTS, rows), about))
    assert page.count("| solved | 99.8 % | - |") == len(PARTS)
