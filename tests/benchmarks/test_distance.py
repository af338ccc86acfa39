"""Benchmarks of distances: references are right in known cases, and the table shows the measured values."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.compiler.operation_counts import written
from benchmarks.distance import __main__ as command
from benchmarks.distance.accuracy import FAMILIES, measured
from benchmarks.distance.cases import CASES, kernel, poses, turned
from benchmarks.distance.exact import difference_distance, round_distance, segments_distance, triangles_distance
from benchmarks.distance.page import PAGE, tables
from benchmarks.distance.supports import KINDS, outside, support


def test_reference_implementation_of_distances_is_exact_for_known_pairs():
    pytest.importorskip("scipy")
    corner = np.array([[[1.0, -1, -1], [1, 3, -1], [1, -1, 3]], [[2.0, 0, 0], [2, 0, 1], [3, 0, 0]]], np.longdouble)
    assert triangles_distance(corner).tolist() == [1.0, 2.0]
    X = np.broadcast_to(np.eye(4), (3, 4, 4)).copy()
    Y = X.copy()
    Y[:, 0, 3] = (3.0, 1.5, 0.5)
    half = np.tile([1.0, 2.0, 3.0], (3, 1))
    result = difference_distance(("box", "box"), X, half, Y, half)
    assert np.abs(result.astype(float) - [1.0, -0.5, -1.5]).max() < 1e-15
    ends = np.array([[1.0]] * 3)
    assert segments_distance(("segment", "segment"), X, ends, Y, ends).tolist() == [3.0, 1.5, 0.5]
    assert segments_distance(("point", "segment"), X, ends, Y, ends).tolist() == [3.0, 1.5, 0.5]
    can = np.tile([1.0, 2.0], (3, 1))
    assert round_distance("cylinder", Y, X, can).tolist() == [2.0, 0.5, -0.5]
    slant = np.sqrt(np.longdouble(17))
    result = round_distance("cone", Y, X, can) - np.array([10.0, 4.0, 0.0]) / slant
    assert np.abs(result.astype(float)).max() < 1e-15


def test_farthest_surface_points_agree_with_support_functions_of_shapes():
    """The support point of a body in a direction is its farthest surface point in that direction."""
    rng = np.random.default_rng(0)
    X = np.broadcast_to(np.eye(4), (50, 4, 4)).copy()
    X[:, :3, :3], X[:, :3, 3] = turned(rng.normal(size=(50, 4))), rng.normal(size=(50, 3))
    n = rng.normal(size=(50, 3)).astype(np.longdouble)
    for kind in KINDS:
        x = rng.uniform(0.5, 1.5, (50, 60 if kind == "hull" else 3))
        step = 1e-9
        p = np.stack([(support(kind, X, x, n + step * e) - support(kind, X, x, n - step * e)) for e in np.eye(3)])
        p = p.T / (2 * step)
        assert outside(kind, X, x, p).max() < 1e-8, kind
        assert np.abs((p * n).sum(-1) - support(kind, X, x, n)).max() < 1e-8, kind
        if kind not in ("point", "hull"):
            assert outside(kind, X, x, p + 0.1 * n).min() > 0.01, kind


@pytest.mark.slow(every=3)
def test_distance_benchmark_measures_errors_near_rounding():
    figures = measured(("segment", "segment"), 100, 5)
    assert figures.apart.distance < 1e-12 and figures.apart.witnesses < 1e-12 and figures.apart.pairs == 100
    assert figures.overlap.pairs == 0 and figures.deeper is None
    boxes = measured(("box", "box"), 60, 5)
    assert boxes.apart.pairs + boxes.overlap.pairs == 60 and boxes.overlap.pairs > 5 and boxes.searched == 5
    assert boxes.overlap.distance < 1e-14 and boxes.deeper < 1e-14 and boxes.overlap.normal is None
    assert ("segment", "box") in FAMILIES and ("point", "point") not in FAMILIES


def test_distance_benchmark_command_prints_and_saves_tables(tmp_path, capsys):
    pytest.importorskip("coal")
    file = tmp_path / "found.json"
    code = command.main(["--quick", "--parts", "pairs", "--pairs", "capsule, capsule", "--json", str(file)])
    out = capsys.readouterr().out
    data = json.loads(file.read_text(encoding="utf-8"))
    (pair,) = data["pairs"]
    assert code == 0 and pair["difference"] < 1e-9 and 0.0 < pair["overlaps"] < 1.0 and pair["operations"] > 20
    assert [x["label"] for x in data["targets"]] == ["batch of 4096, one", "beside coal's call"]
    assert "capsule, capsule" in out and "of 2 targets met" in out and data["machine"]["coal"] != "-"
    with pytest.raises(SystemExit, match=r"^2$"):
        command.main(["--pairs", "sphere, moon"])


def test_random_pairs_of_the_distance_benchmark_overlap_or_are_apart_as_requested():
    case = CASES["box, box, overlap"]
    X = poses(np.random.default_rng(0), 20, 1.0)
    assert np.abs(X[:, :3, :3] @ np.swapaxes(X[:, :3, :3], -1, -2) - np.eye(3)).max() < 1e-14
    pytest.importorskip("coal")
    result = command.chosen_poses(case, command.Coal(case.a, case.b), 64)
    assert len(result) == 64 and (kernel(case.a, case.b)(result)[0] < 1e-6).all()


def test_distance_benchmark_times_each_searched_pair_apart_and_overlapping():
    names = {name.rsplit(", ", 1)[0] for name in CASES if name.endswith(("apart", "overlap"))}
    assert {f"{name}, {side}" for name in names for side in ("apart", "overlap")} <= {*CASES} and len(names) == 6
    assert [case.beside for case in CASES.values()].count(5.0) == 2 and CASES["hulls of 64, apart"].most == 400e-9
    with pytest.raises(SystemExit, match=r"^2$"):
        command.main(["--parts", "pairs,moon"])


def test_distances_page_shows_the_figures_measured_by_the_benchmark():
    machine = {"cpu": "a processor", "code for": "one, 4 lanes", "cores": 2, "coal": "3", "date": "2026-01-01T00"}
    pair = {
        "pair": "sphere, box",
        "seconds": 2e-9,
        "alone": None,
        "operations": 7,
        "beaten": 2e-3,
        "peer_call": 1e-6,
        "peer_loop": None,
    }
    row = {
        "robot": "sphere, box",
        "label": "batch of 4096, one",
        "target_shown": "<= 5 ns",
        "ours": "2 ns",
        "peer": "-",
    }
    robot_row = {**row, "robot": "panda", "label": "yes or no"}
    ratio = {**row, "label": "beside coal's call", "target_shown": ">= 20x"}
    apart = {"pairs": 3, "distance": 1e-15, "normal": 2e-13, "witnesses": 0.0}
    error = {"family": "point, box", "apart": apart, "overlap": {**apart, "pairs": 4}, "deeper": 0.0, "searched": 2}
    targets = [row, ratio, robot_row]
    result = tables({"machine": machine, "pairs": [pair], "robots": [{}], "targets": targets, "accuracy": [error]})
    page = written(PAGE.read_text(encoding="utf-8"), result)
    for line in ("| sphere, box | 2 ns | 1 µs | - | 500 × | - | - | 7 | 2e-03 |",
                 "| panda | yes or no | 2 ns | - |",
                 "| point, box | 3 | 1e-15 | 2e-13 | 0e+00 | 4 | 1e-15 | 0e+00 | 0e+00 | 2 |"):  # fmt: skip
        assert page.count(line) == 1, line
