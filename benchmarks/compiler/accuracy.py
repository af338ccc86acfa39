"""Errors and times of the elementary functions, as a table in Markdown: `python -m benchmarks.compiler.accuracy`.

Errors are the maximum over arguments, in units in the last place, against mpmath.  Times are nanoseconds per element in
batches of 4096, compared with NumPy's function and with the C library's function, which compiled code calls once per
element.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.compiler.vector_arguments import arguments, error_in_ulp, true_values
from benchmarks.compiler.vector_code import (
    TWO_ARGUMENTS,
    Compiled,
    Variant,
    compile_text,
    compiled,
    host_fuses,
    loop_text,
    real,
)
from benchmarks.measurement.paired_timing import compare
from linkwork.cli.function_timings import Call, Effort
from linkwork.cli.output import Stream
from linkwork.compiler.codegen.target import host
from linkwork.compiler.codegen.vector_math import CODES
from linkwork.expr.scalar import functions

BATCH = 4096
NOT_IN_LIBM = ("sinc", "mod", "nan_to_num")


@dataclass(slots=True)
class Worst:
    """The largest error, in the last place; and where."""

    error: float = -1.0
    position: str = ""
    searched: int = 0

    def see(self, error: float, position: str) -> None:
        self.searched += 1
        error = float("inf") if np.isnan(error) else error
        if error > self.error:
            self.error, self.position = error, position


def worst_errors(code: str, bits: int, samples: int, variants: Sequence[Variant]) -> list[Worst]:
    """The largest error of each variant, over `samples` arguments of each range."""
    results = [Worst() for _ in variants]
    for name, values in arguments(code, bits, samples).items():
        exact = true_values(code, values)
        for variant, worst in zip(variants, results, strict=True):
            for part, got in enumerate(compiled(code, bits, variant).functions[8](*values)):
                for row, value, true in zip(zip(*values, strict=True), got, exact, strict=True):
                    position = f"{', '.join(str(v) for v in row)} ({name})"
                    worst.see(error_in_ulp(value, true[part], bits), position)
    return results


def _timing_arguments(code: str, bits: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    ranges = {"asin": (-1.0, 1.0), "acos": (-1.0, 1.0), "atanh": (-1.0, 1.0), "acosh": (1.0, 10.0)}
    low, high = (0.01, 10.0) if code.startswith(("log", "pow")) else ranges.get(code, (-10.0, 10.0))
    return rng.uniform(low, high, BATCH).astype(real(bits)), rng.uniform(-3, 3, BATCH).astype(real(bits))


def _library(code: str, bits: int) -> Compiled:
    """The C library's function in a loop, as `compiled` has ours."""
    scalar, suffix = ("double", "") if bits == 64 else ("float", "f")
    names = ["sin", "cos"] if code == "sincos" else [code]
    count = 2 if code in TWO_ARGUMENTS else 1
    declared = [f"declare {scalar} @{name}{suffix}({', '.join([scalar] * count)})" for name in names]
    target = f"@{code}{suffix}"
    if code == "sincos":
        pair, target = f"{{ {scalar}, {scalar} }}", "@both"
        declared.append(
            f"define internal {pair} @both({scalar} %x) {{\n  %s = call {scalar} @sin{suffix}({scalar} %x)\n"
            f"  %c = call {scalar} @cos{suffix}({scalar} %x)\n  %a = insertvalue {pair} poison, {scalar} %s, 0\n"
            f"  %b = insertvalue {pair} %a, {scalar} %c, 1\n  ret {pair} %b\n}}"
        )
    text = "\n".join([*declared, loop_text(code, bits, 1, target)])
    return compile_text(text, code, bits, Variant(host_fuses(), False), (1,))


def times(code: str, bits: int, effort: Effort) -> list[float]:
    """Nanoseconds an element of ours, NumPy's and, where it has the function, the C library's."""
    lanes = host().lanes * (64 // bits)
    x, y = _timing_arguments(code, bits)
    ours = compiled(code, bits, Variant(host_fuses(), False))
    p, q = np.empty_like(x), np.empty_like(x)
    names = {
        "np": np,
        "x": x,
        "y": y,
        "p": p,
        "q": q,
        "run": ours.loops[lanes],
        "a": [v.ctypes.data for v in (x, y, p, q)],
        "n": BATCH,
    }
    if code == "sincos":
        statement = "np.sin(x, out=p); np.cos(x, out=q)"
    else:
        inputs = "x, y" if code in TWO_ARGUMENTS else "x"
        called = getattr(functions, code).operation.arrays[0]
        statement = f"np.{called}({inputs}{', out=p' if isinstance(getattr(np, called), np.ufunc) else ''})"
    call = Call("run(a[0], a[1], a[2], a[3], n)", names)
    compared = [compare(call, Call(statement, names), effort)]
    if code not in NOT_IN_LIBM:
        library = _library(code, bits)
        names["library"] = library.loops[1]
        compared.append(compare(call, Call("library(a[0], a[1], a[2], a[3], n)", names), effort))
    return [1e9 / BATCH * s for s in (compared[0].ours, *(comparison.peer for comparison in compared)) if s is not None]


def table(bits: int, samples: int, effort: Effort, codes: Sequence[str] = CODES) -> list[str]:
    """Lines of Markdown for one precision."""
    variants = [Variant(True, False), Variant(False, False)] if host_fuses() else [Variant(False, False)]
    heads = ["error, fma", "error, no fma"] if host_fuses() else ["error, no fma"]
    lines = [
        f"| float{bits} | {' | '.join(heads)} | points | largest error at | ns | NumPy ns | libm ns |",
        "|---|" + "---:|" * (len(heads) + 1) + "---|---:|---:|---:|",
    ]
    for code in codes:
        result = worst_errors(code, bits, samples, variants)
        largest = max(result, key=lambda worst: worst.error)
        errors = " | ".join(f"{worst.error:.3f}" for worst in result)
        took = " | ".join([*(f"{t:.2f}" for t in times(code, bits, effort)), "–"][:3])
        lines.append(f"| {code} | {errors} | {largest.searched} | {largest.position} | {took} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compiler.accuracy", description=__doc__.partition("\n\n")[0]
    )
    parser.add_argument("--samples", type=int, default=300, metavar="N", help="arguments per range (default 300)")
    parser.add_argument("--functions", nargs="+", default=CODES, choices=CODES, metavar="NAME")
    chosen = parser.parse_args(arguments)
    out = Stream(sys.stdout)
    out.line(f"Code for {host().cpu}, {host().lanes} lanes of float64; NumPy {np.__version__}.")
    for bits in (64, 32):
        out.lines(["", *table(bits, chosen.samples, Effort(rounds=5, at_least=0.01), chosen.functions)])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
