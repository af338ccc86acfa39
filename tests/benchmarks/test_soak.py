"""The soak test in a short form: random kernels called in every manner, and wrong kernels are detected."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.soak.__main__ import Mismatch, Tally, growth, main, run_case, soak
from benchmarks.soak.random_control import Control
from benchmarks.soak.random_programs import Reference, bits_equal, random_program, text

from linkwork.compiler.codegen import packing
from linkwork.compiler.codegen import register_loop as direct
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.codegen.target import levels
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import verify


@pytest.mark.slow
def test_soak_run_finds_random_kernels_equal_to_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    tally = Tally()
    soak(math.inf, 77, tally, cases=12, longest=600)
    assert tally.mismatches == 0 and tally.kernels == 12 and tally.calls > 50 * tally.kernels
    assert tally.finite > tally.compared // 2 > 1000
    assert tally.segmented > 0 and sum(tally.by["type"].values()) > 30 * tally.kernels


@pytest.mark.slow(every=9)
def test_soak_run_finds_random_kernels_with_loops_equal_to_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    tally = Tally()
    for case in range(5):
        run_case(5, case, tally, 100, control=True)
    assert tally.mismatches == 0 and tally.finite > 1000
    assert {"loop", "call", "take"} <= set(tally.by["control"])


@pytest.mark.slow(every=5)
def test_compiler_passes_preserve_results_of_random_programs_with_loops() -> None:
    compared = 0
    for case in range(30):
        rng = np.random.default_rng(case)
        program = random_program(rng, 60, Control(0.2))
        verify(program)
        arrays = [rng.normal(size=(5, *port.shape)) for port in program.inputs]
        right = program.interpret(*arrays)
        for got, expected in zip(
            optimize(program, without=["fuse"], debug=True).interpret(*arrays), right, strict=True
        ):
            assert bits_equal(got, expected)
            compared += got.size
    assert compared > 500


def test_random_programs_of_the_soak_run_are_valid_and_reproducible_from_a_seed() -> None:
    for case in range(20):
        program = random_program(np.random.default_rng(case), 50)
        assert program == random_program(np.random.default_rng(case), 50)
        assert len(program.instructions) >= 50
        verify(program)
        lines = text(program).splitlines()
        assert len(lines) == len(program.instructions) + 2


@pytest.mark.slow(every=9)
def test_reference_of_the_soak_run_equals_the_interpreter_for_exact_operations() -> None:
    target = next(iter(levels().values()))
    if target.fma:
        pytest.skip("products and sums are fused here")
    result = 0
    for case in range(40):
        program = random_program(np.random.default_rng(case), 40)
        arrays = [np.random.default_rng(case).normal(size=(9, *port.shape)) for port in program.inputs]
        got = Reference(target, DOUBLE).results(program, arrays)
        right = program.interpret(*arrays)
        result += all(bits_equal(a, b) for a, b in zip(got, right, strict=True))
        single = Reference(target, SINGLE).results(program, arrays)
        assert all(x.dtype == np.float32 and x.shape == y.shape for x, y in zip(single, right, strict=True))
    assert result >= 8  # those without transcendental functions, at least


@pytest.mark.slow(every=5)
def test_soak_run_detects_and_reports_wrong_machine_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The planted fault reads the elements that do not fit in a strip from a wrong address."""
    split, packed = packing._split, direct.pack_into_registers

    def wrong(size: int, lanes: int, *, loops: bool = True) -> tuple[int, list[tuple[int, int]], list[int]]:
        return (0, [], [max(k - 1, 0) for k in range(size)]) if loops else split(size, lanes, loops=False)

    def wrong_too(*arguments: Any) -> tuple[list[str], list[str]]:
        columns, totals = packed(*arguments)
        return [columns[max(k - 1, 0)] for k in range(len(columns))], totals

    monkeypatch.setattr(packing, "_split", wrong)
    monkeypatch.setattr(direct, "pack_into_registers", wrong_too)
    file = tmp_path / "figures.json"
    assert main(["--cases", "20", "--seed", "5", "--longest", "200", "--json", str(file)]) == 1
    printed = capsys.readouterr()
    assert "MISMATCH: seed 5, case " in printed.err and "v0 = input 0" in printed.err and "results: v" in printed.err
    figures = json.loads(file.read_text())
    assert figures["mismatches"] == 1 and figures["seed"] == 5
    case = printed.err.split("seed 5, case ")[1].split(":")[0]
    with pytest.raises(Mismatch, match=f"seed 5, case {case}"):
        run_case(5, int(case), Tally(), 200)
    monkeypatch.undo()
    assert main(["--seed", "5", "--case", case, "--longest", "200"]) == 0


def test_soak_run_detects_growing_memory() -> None:
    flat, growing = Tally(), Tally()
    for k in range(100):
        flat.memory.append((float(k), 100.0 + k % 7))
        growing.memory.append((float(k), 100.0 + 2.0 * k))
    assert growth(flat) <= 0.0 and growth(growing) > 50.0
