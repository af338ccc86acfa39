"""Fuzzing with random input: `python -m benchmarks.fuzz reader`, `... sdf`, `... files FILE ...` and `... arguments`.

``reader`` modifies URDF files as damaged, hostile or careless files are, and reads them with random options; ``sdf``
does so with SDF files.  ``files`` modifies given files of any format, and reads them in processes with limits of time
and memory.
``arguments`` calls robots' functions and kernels with valid and invalid arrays of every kind.  Every case must end in a
valid robot or result, or in an error that describes the cause.

A find prints the seed and the number of the case, which repeat it (``--seed S --case N``), and the input.  The exit
code is then 1.  With ``--go-on`` all cases are run, and finds of one kind are reported once; ``files`` always runs all.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.fuzz.arguments import case as arguments_case
from benchmarks.fuzz.failures import Find
from benchmarks.fuzz.files import fuzz_files
from benchmarks.fuzz.reader import case as reader_case
from benchmarks.fuzz.sdf import case as sdf_case

__all__ = ["Case", "fuzz", "main"]

Case = Callable[[np.random.Generator, Counter[str]], None]
CASES: dict[str, Case] = {"reader": reader_case, "sdf": sdf_case, "arguments": arguments_case}


def fuzz(subject: str, seed: int, cases: Sequence[int] | None, seconds: float, *, go_on: bool = False) -> Counter[str]:
    """Run the cases with these numbers, or all from 0 until the time is over; count the outcomes.  Raises Find."""
    tally: Counter[str] = Counter()
    results: dict[str, str] = {}
    begin, number = time.monotonic(), 0
    while number < len(cases) if cases is not None else time.monotonic() - begin < seconds:
        case = number if cases is None else cases[number]
        number += 1
        try:
            CASES[subject](np.random.default_rng([seed, case]), tally)
        except Find as find:
            tally["finds"] += 1
            text = f"seed {seed}, case {case}: {find}"
            if not go_on:
                raise Find(find.kind, text) from find
            results.setdefault(find.kind, text)
    tally["cases"] = number
    for text in results.values():
        print(f"fuzz: FIND: {text}\n", file=sys.stderr)
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a fuzzer; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("what", choices=[*CASES, "files"], help="what to test with random input")
    parser.add_argument("files", nargs="*", type=Path, help="robot files, for files")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the run (60)")
    parser.add_argument("--count", type=int, default=None, help="number of cases instead of a duration")
    parser.add_argument("--seed", type=int, default=None, help="seed of the random numbers (from the clock)")
    parser.add_argument("--case", type=int, default=None, help="run only the case with this number")
    parser.add_argument("--go-on", action="store_true", help="do not stop at a find")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes, for files (1)")
    parser.add_argument("--folder", type=Path, default=None, help="folder for the texts of finds, for files")
    chosen = parser.parse_args(arguments)
    seed = int(time.time()) if chosen.seed is None else chosen.seed
    cases = range(chosen.count) if chosen.count is not None else None
    if chosen.case is not None:
        cases = range(chosen.case, chosen.case + 1)
    print(f"fuzz: seed {seed}", file=sys.stderr, flush=True)
    if (chosen.what == "files") != bool(chosen.files):
        parser.error("expected paths of robot files for files, and for nothing else")
    if chosen.what == "files":
        return _fuzz_files(chosen.files, cases or range(1000), seed, chosen.jobs, chosen.folder)
    try:
        tally = fuzz(chosen.what, seed, cases, chosen.seconds, go_on=chosen.go_on)
    except Find as find:
        print(f"fuzz: FIND: {find}", file=sys.stderr)
        return 1
    for name, count in sorted(tally.items()):
        print(f"{name:32} {count:,}")
    return 1 if tally["finds"] else 0


def _fuzz_files(files: Sequence[Path], cases: Sequence[int], seed: int, jobs: int, folder: Path | None) -> int:
    """Print the outcomes and the finds, and write the texts of these into the folder; return the exit code."""
    outcome = fuzz_files(files, cases, seed, jobs=jobs)
    for case, (result, source, text) in outcome.bad.items():
        print(f"fuzz: FIND: seed {seed}, case {case} of {source}: {result[:200]}", file=sys.stderr)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"case_{seed}_{case}{source.suffix}"
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
    print("\n".join(outcome.lines()))
    return 1 if outcome.bad else 0


if __name__ == "__main__":
    sys.exit(main())
