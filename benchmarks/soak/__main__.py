"""Soak test: random kernels, called in every supported manner until the time is over: `python -m benchmarks.soak`.

Each case is a random program for a random instruction set, with random segment and block sizes, with the cache or
without.  Every other program contains loops, choices, calls, tables and linear equations.  Its kernel is called with
float64, float32 and both, on batches of many sizes and arrays of many layouts, into existing arrays and arrays that
overlap the inputs, on 1 to 8 threads and from several Python threads simultaneously.  Every result is compared with a
`Reference` to the last bit.

A mismatch prints the seed and the number of the case, which repeat it (``--seed S --case N``), and the program.  The
exit code is then 1.  It is also 1 if memory grows.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import linkwork as lw
from benchmarks.fuzz.layouts import laid_out, overlapping
from benchmarks.soak.random_control import Control
from benchmarks.soak.random_programs import Reference, bits_equal, exact_program, random_program, text
from linkwork.compiler.codegen import batch_loop as loops
from linkwork.compiler.codegen import part_code
from linkwork.compiler.codegen.code_segments import MAX_SEGMENT, MAX_WHOLE, plan
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.codegen.loops import basic_blocks as control_pieces
from linkwork.compiler.codegen.loops import frame_layout as control_plan
from linkwork.compiler.codegen.loops import loop_program_code as control_layout
from linkwork.compiler.codegen.loops.basic_blocks import INLINE
from linkwork.compiler.codegen.target import Target, levels
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.operation_counts import listings
from linkwork.compiler.program import Program

__all__ = ["Mismatch", "Tally", "main", "run_case", "soak"]

_KINDS = ("level", "type", "threads", "layout", "out", "cache", "control")
_GROWTH = 48.0  # MiB that memory may grow by, from a fifth of the time to its end
_SPECIAL = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-40, 5e-324, 1e30, 1e300]


class Mismatch(AssertionError):
    """A kernel's result differs from the reference."""


@dataclass
class Tally:
    """Counts of the test run."""

    kernels: int = 0
    segmented: int = 0
    instructions: int = 0
    calls: int = 0
    compared: int = 0  # numbers
    finite: int = 0
    mismatches: int = 0
    by: dict[str, Counter[str]] = field(
        default_factory=lambda: {
            k: Counter() for k in ("level", "type", "threads", "layout", "out", "cache", "control")
        }
    )
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds, MiB

    def count(self, kind: str, label: object) -> None:
        self.by[kind][str(label)] += 1


@dataclass(frozen=True)
class _Data:
    """Samples that a kernel is called with, and the expected results."""

    label: str
    arrays: list[np.ndarray]
    expected: list[np.ndarray]


def run_case(seed: int, case: int, tally: Tally, longest: int = 5000, control: bool | None = None) -> None:
    """Make a kernel and call it.  Raises Mismatch."""
    rng = np.random.default_rng([seed, case])
    length = int(np.exp(rng.uniform(np.log(10), np.log(1000 if rng.random() < 0.9 else longest))))
    looped = control if control is not None else case % 2 == 1
    if looped:
        length = min(length, 150)
    program = random_program(
        rng, min(length, longest), Control(float(rng.choice([0.02, 0.1, 0.3]))) if looped else None
    )
    level = str(rng.choice([*levels()]))
    target = levels()[level]
    whole, most = MAX_WHOLE, MAX_SEGMENT
    if rng.random() >= 0.4:
        whole, most = (int(n) for n in np.exp(rng.uniform(1.5, 5.5, size=2)))
    worth = float(rng.choice([0.0, 100.0, 2000.0]))
    total = sum(len(listing.instructions) for listing in listings(program))
    most = max(most, -(-total // 40))  # forty segments at the most: each takes some milliseconds to compile
    inline = int(rng.choice([20, INLINE])) if total < 1000 else INLINE
    cached = str(rng.choice(["off", "made", "found"]))
    about = f"{level}, {whole} and {most} instructions, {worth} ns a thread, cache {cached}"
    tally.kernels += 1
    tally.count("level", level)
    tally.count("cache", cached)
    try:
        with (
            mock.patch.object(part_code, "plan", lambda program: plan(program, whole, most)),
            mock.patch.object(control_plan, "MAX_SEGMENT", most),
            mock.patch.object(control_pieces, "INLINE", inline),
            mock.patch.object(control_layout, "INLINE", inline),
            mock.patch.object(loops, "_MIN_THREAD_WORK", worth),
            _no_cache() if cached == "off" else nullcontext(),
        ):
            if cached == "found":
                _called_once(Kernel(program, backend=CPUBackend(target)))
            kernel = Kernel(program, backend=CPUBackend(target))
            tally.instructions += len(kernel.program.instructions)
            tally.segmented += len(kernel.program.instructions) > whole
            for listing in listings(kernel.program):
                for instruction in listing.instructions:
                    if instruction.operation.arity < 0:
                        tally.count("control", instruction.operation.name)
            for data in _data(rng, kernel, program, target):
                for _ in range(12):
                    _call(rng, kernel, data, tally)
                _call_together(rng, kernel, data, tally)
    except AssertionError as error:
        tally.mismatches += 1
        raise Mismatch(f"seed {seed}, case {case}: {about}\n{error}\n{text(program)}") from error
    finally:
        lw.set_num_threads(1)


@contextmanager
def _no_cache() -> Iterator[None]:
    with mock.patch.dict(os.environ, {"LINKWORK_CACHE": "off"}):
        yield


def _called_once(kernel: Kernel) -> None:
    """Call a kernel once with float32 and with float64, so that both are in the cache."""
    for dtype in (np.float32, np.float64):
        kernel(*(np.ones((4, *port.shape), dtype) for port in kernel.inputs))


# -- samples


def _data(rng: np.random.Generator, kernel: Kernel, program: Program, target: Target) -> Iterator[_Data]:
    samples = int(rng.choice([7, 40, 150, 600] if len(kernel.program.instructions) < 500 else [7, 40]))
    wide = [_samples_of(rng, samples, *port.shape) for port in kernel.inputs]
    with np.errstate(all="ignore"):
        narrow = [x.astype(np.float32) for x in wide]
    every = exact_program(program)
    for label, arrays, real in (("float64", wide, DOUBLE), ("float32", narrow, SINGLE), ("mixed", narrow, DOUBLE)):
        if label == "mixed" and len(arrays) == 1:
            continue
        expected = Reference(target, real).results(kernel.program, arrays)
        if real is DOUBLE and every and not target.fma:
            for got, traced in zip(expected, program.interpret(*arrays), strict=True):
                _same(got, traced, "the interpreter of the program as traced, and after all passes")
        yield _Data(label, arrays, expected)


def _samples_of(rng: np.random.Generator, *shape: int) -> np.ndarray:
    usual = rng.normal(size=shape) * 10.0 ** rng.integers(-2, 2, size=shape)
    special = rng.random((shape[0], *[1] * (len(shape) - 1))) < 0.2  # in some samples, so that others stay finite
    return np.where(special & (rng.random(shape) < 0.3), rng.choice(_SPECIAL, size=shape), usual)


def _same(got: np.ndarray, expected: np.ndarray, label: str) -> None:
    if not bits_equal(got, expected):
        different = ~((got == expected) | (np.isnan(got) & np.isnan(expected))) if got.shape == expected.shape else None
        where = "types or shapes" if different is None else np.argwhere(different)[:5].tolist()
        sizes = f"{got.dtype} {got.shape}, expected {expected.dtype} {expected.shape}"
        raise AssertionError(f"{label}: {sizes}; they differ in {where}")


# -- calls


def _call(rng: np.random.Generator, kernel: Kernel, data: _Data, tally: Tally) -> None:
    """One call, on some of the samples."""
    samples, lanes = len(data.arrays[0]), 16
    batch = int(rng.choice([0, 1, 2, 3, lanes - 1, lanes + 1, samples, rng.integers(1, samples + 1)]))
    batch = min(batch, samples)
    start = int(rng.integers(samples - batch + 1))
    chosen = np.arange(start, start + batch)
    threads = int(rng.integers(1, 9))
    lw.set_num_threads(threads)
    tally.count("threads", threads)
    tally.count("type", data.label)
    same = int(rng.integers(len(data.arrays))) if rng.random() < 0.2 and batch and len(data.arrays) > 1 else -1
    expected = _expected(kernel, data, chosen, same) if same >= 0 else [y[chosen] for y in data.expected]
    arrays, layouts = [], []
    for k, x in enumerate(data.arrays):
        chunk = x[chosen]
        if data.label == "mixed" and k == chosen.size % len(data.arrays):
            chunk = chunk.astype(np.float64)
        layout, chunk = laid_out(rng, chunk)
        if k == same:
            layout, chunk = "one for all", np.broadcast_to(chunk[0], chunk.shape)
        arrays.append(chunk)
        layouts.append(layout)
    outs: list[np.ndarray | None] = [None] * len(expected)
    how = str(rng.choice(["none", "given", "over an input"]))
    dtype = expected[0].dtype
    if how != "none":
        for j, y in enumerate(expected):
            outs[j] = laid_out(rng, np.full(y.shape, -7.0, dtype))[1]
    if how == "over an input":
        matching = [(k, j) for k, x in enumerate(arrays) for j, y in enumerate(expected) if x.shape == y.shape]
        if matching and same < 0:
            k, j = matching[int(rng.integers(len(matching)))]
            if arrays[k].dtype == dtype:
                arrays[k], outs[j] = overlapping(rng, arrays[k])
    if rng.random() < 0.2 and batch % 2 == 0 and batch:
        arrays = [x.reshape(2, batch // 2, *x.shape[1:]) if x.flags.c_contiguous else x for x in arrays]
        if all(x.ndim == port_rank + 2 for x, port_rank in zip(arrays, _ranks(kernel), strict=True)):
            expected = [y.reshape(2, batch // 2, *y.shape[1:]) for y in expected]
            outs = [None] * len(outs)
        else:
            arrays = [x.reshape(batch, *port.shape) for x, port in zip(arrays, kernel.inputs, strict=True)]
    options = {} if all(y is None for y in outs) else {"out": tuple(outs)}
    result = kernel(*arrays, **options)
    results = result if len(kernel.outputs) > 1 else (result,)
    tally.count("out", how)
    for layout in layouts:
        tally.count("layout", layout)
    title = f"{data.label}, {batch} samples from {start}, {threads} threads, {layouts}, out {how}"
    for got, out, right in zip(results, outs, expected, strict=True):
        if out is not None and got is not out:
            raise AssertionError(f"{title}: another array than the one that was given came back")
        _same(np.asarray(got).astype(right.dtype) if out is not None else np.asarray(got), right, title)
        tally.compared += right.size
        tally.finite += int(np.isfinite(right).sum())
    tally.calls += 1


def _ranks(kernel: Kernel) -> list[int]:
    return [len(port.shape) for port in kernel.inputs]


def _expected(kernel: Kernel, data: _Data, chosen: np.ndarray, same: int) -> list[np.ndarray]:
    """Return the reference results with one input equal for all samples."""
    arrays = [x[chosen] for x in data.arrays]
    arrays[same] = np.ascontiguousarray(np.broadcast_to(arrays[same][0], arrays[same].shape))
    real = SINGLE if data.label == "float32" else DOUBLE
    return Reference(kernel._source.backend.processor, real).results(kernel.program, arrays)


def _call_together(rng: np.random.Generator, kernel: Kernel, data: _Data, tally: Tally) -> None:
    """Calls from several of Python's threads at once, each with other samples; some of a single one."""
    if data.label == "mixed":
        return
    samples = len(data.arrays[0])
    parts = [np.sort(rng.integers(samples, size=2)) for _ in range(4)] + [np.array([k, k]) for k in (0, samples - 1)]
    lw.set_num_threads(int(rng.integers(1, 5)))

    def work(part: np.ndarray) -> None:
        low, high = int(part[0]), int(part[1])
        chosen: Any = low if low == high else slice(low, high)
        for _ in range(3):
            result = kernel(*(x[chosen] for x in data.arrays))
            for got, y in zip(result if len(kernel.outputs) > 1 else (result,), data.expected, strict=True):
                _same(np.asarray(got), y[chosen], f"{data.label}, samples {low} to {high}, in several threads")

    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(work, parts))
    tally.calls += 3 * len(parts)


# -- the command


def soak(
    minutes: float, seed: int, tally: Tally, *, cases: float = math.inf, longest: int = 5000, log: Any = None
) -> None:
    """Run cases until the time or the count is over.  Raises Mismatch at the first mismatch."""
    begin = said = time.monotonic()
    case = 0
    while (now := time.monotonic()) - begin < 60.0 * minutes and case < cases:
        run_case(seed, case, tally, longest)
        case += 1
        if case % 10 == 0:
            gc.collect()
            tally.memory.append((now - begin, resident()))
        if log is not None and now - said > 15.0:
            said = now
            title = f"{tally.kernels} kernels, {tally.calls} calls, {tally.compared:,} numbers, {resident():.0f} MiB"
            print(f"soak: {(now - begin) / 60:.1f} min: {title}", file=log, flush=True)


def resident() -> float:
    """MiB of memory that this process has now; NaN where that is not known."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return float("nan")


def growth(tally: Tally) -> float:
    """Return the minimum memory in the last fifth of the time minus the maximum in the second fifth [MiB]."""
    if len(tally.memory) < 10:
        return 0.0
    end = tally.memory[-1][0]
    early = [m for t, m in tally.memory if 0.2 * end <= t < 0.4 * end]
    late = [m for t, m in tally.memory if t >= 0.8 * end]
    return min(late) - max(early) if early and late else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "--minutes", type=float, default=None, help="duration of the run (10, or unlimited with --cases)"
    )
    parser.add_argument("--cases", type=int, default=None, help="maximum number of cases (unlimited)")
    parser.add_argument("--seed", type=int, default=None, help="seed of the random numbers (from the clock)")
    parser.add_argument("--case", type=int, default=None, help="run only the case with this number")
    parser.add_argument("--longest", type=int, default=5000, help="maximum number of instructions of a program (5000)")
    parser.add_argument("--json", type=Path, default=None, help="file for the results")
    chosen = parser.parse_args(arguments)
    seed = int(time.time()) if chosen.seed is None else chosen.seed
    print(f"soak: seed {seed}", file=sys.stderr, flush=True)
    tally, begin, failure = Tally(), time.monotonic(), None
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"LINKWORK_CACHE": folder}):
        os.chmod(folder, 0o700)
        try:
            if chosen.case is None:
                cases = math.inf if chosen.cases is None else chosen.cases
                usual = 10.0 if chosen.cases is None else math.inf
                minutes = usual if chosen.minutes is None else chosen.minutes
                soak(minutes, seed, tally, cases=cases, longest=chosen.longest, log=sys.stderr)
            else:
                run_case(seed, chosen.case, tally, chosen.longest)
        except Mismatch as error:
            failure = error
    grown = growth(tally)
    figures = {
        "seed": seed,
        "seconds": round(time.monotonic() - begin, 1),
        "kernels": tally.kernels,
        "kernels in segments": tally.segmented,
        "instructions": tally.instructions,
        "calls": tally.calls,
        "numbers compared": tally.compared,
        "of them finite": tally.finite,
        "mismatches": tally.mismatches,
        "most memory [MiB]": round(max((m for _, m in tally.memory), default=resident()), 1),
        "memory at the end [MiB]": round(resident(), 1),
        "memory grown by [MiB]": round(grown, 1),
        **{f"by {kind}": dict(sorted(counts.items())) for kind, counts in tally.by.items()},
    }
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for name, value in figures.items():
        shown = ", ".join(f"{k} {n:,}" for k, n in value.items()) if isinstance(value, dict) else f"{value}"
        print(f"{name:24} {shown}")
    if failure is not None:
        print(f"soak: MISMATCH: {failure}", file=sys.stderr)
    if grown > _GROWTH:
        print(f"soak: memory grows: by {grown:.0f} MiB", file=sys.stderr)
    return 1 if failure is not None or grown > _GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
