"""Mechanisms compared with Pinocchio: `python -m benchmarks.mechanisms`.

The first part is forward dynamics and its derivatives for a four-bar, and for a humanoid with both feet fixed.  The
peers are Pinocchio's ``constraintDynamics`` and ``lcaba`` in the same run, with float64, one thread and new output
arrays.  Outputs are compared first.  Pinocchio has no batched calls and is called in a loop.  The second part is the
assembly of a four-bar from an initial guess, per state of a batch.  The third part is 1 to 40 four-bars side by side:
operations, compile time, times, and the exponents of their growth.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.dynamics.robot_figures import FULL, QUICK, STANDARD_BATCH
from benchmarks.measurement.machine import machine
from benchmarks.measurement.paired_timing import Comparison, compare
from benchmarks.mechanisms.peers import Mechanism, Peer, fixed_feet_humanoid, four_bar, four_bars, side_by_side
from benchmarks.peers.pinocchio_peer import CannotCompare
from benchmarks.tables.report import target_table
from benchmarks.tables.rows import table
from benchmarks.tables.targets import GROWTH_SLACK, MECHANISM_GROWTH, MECHANISMS, Target
from benchmarks.tables.verdicts import Verdict
from linkwork.cli.function_timings import Call, Effort, environment, threads
from linkwork.cli.output import Stream, Terminal

__all__ = ["Chain", "chains", "growths", "main", "mechanism_verdicts"]

METHODS = ("constraintDynamics", "lcaba")
_NEAR = {"constraintDynamics": 1e-8, "lcaba": 1e-3}  # how near outputs have to be, relative to the largest


def mechanism_verdicts(effort: Effort) -> Iterator[Verdict]:
    """The rows of the table of targets."""
    for mechanism in (four_bar(), fixed_feet_humanoid()):
        with threads(1):
            yield from _of_mechanism(mechanism, effort)
    yield from _assembly(effort)


def _of_mechanism(mechanism: Mechanism, effort: Effort) -> Iterator[Verdict]:
    robot, state, name = mechanism.robot, (mechanism.q, mechanism.v, mechanism.tau), mechanism.name
    batch, cold = mechanism.batch(STANDARD_BATCH), _cold(mechanism)
    peer = _peer(mechanism)
    single = {method: compare(_ours(robot, state), peer and peer.call(method, *state), effort) for method in METHODS}
    many = compare(_ours(robot, batch), None, effort).ours / STANDARD_BATCH
    fastest = min((x for x in single.values() if x.peer), key=lambda x: x.peer or math.inf, default=None)
    call = min(x.ours for x in single.values())
    for method, result in single.items():
        if result.peer:
            yield _row(name, "call", f"forward dynamics, one call, beside {method}", call, result.peer, None)
    yield _row(name, "batch", f"forward dynamics, batch of {STANDARD_BATCH}", many, None, None)
    if fastest is not None and fastest.peer is not None:
        for title, ours, ratio in (("call", call, fastest.ratio), ("batch", many, fastest.peer / many)):
            if (name, f"{title} beside") in MECHANISMS:
                yield _row(name, f"{title} beside", f"forward dynamics, {title}, the faster", ours, fastest.peer, ratio)
        result = compare(_derivatives(robot, state), peer and peer.derivatives(*state), effort)
        yield _row(name, "derivatives beside", "derivatives, one call", result.ours, result.peer, result.ratio)
    if (name, "compile") in MECHANISMS:
        yield _row(name, "compile", "forward dynamics, cold", cold, None, None)


def _peer(mechanism: Mechanism) -> Peer | None:
    """Raises AssertionError where outputs differ."""
    try:
        peer = mechanism.peer()
    except CannotCompare:
        return None
    state = mechanism.q, mechanism.v, mechanism.tau
    ours = mechanism.robot.forward_dynamics(*state)
    for method in METHODS:
        error = np.abs(peer.accelerations(*state, method) - ours).max() / np.abs(ours).max()
        assert error < _NEAR[method], f"{mechanism.name}: {method} differs by {error:.2g}"
    return peer


def _ours(robot: lw.Robot, state: tuple[np.ndarray, ...]) -> Call:
    robot.forward_dynamics(*state)
    return Call("robot.forward_dynamics(q, v, tau)", {"robot": robot, **_named(state)})


def _named(state: Sequence[np.ndarray]) -> dict[str, Any]:
    return dict(zip(("q", "v", "tau"), state, strict=True))


def _derivatives(robot: lw.Robot, state: tuple[np.ndarray, ...]) -> Call:
    robot.forward_dynamics_derivatives(*state)
    return Call("robot.forward_dynamics_derivatives(q, v, tau)", {"robot": robot, **_named(state)})


def _cold(mechanism: Mechanism) -> float:
    """Return the time to trace, compile and call once and with a batch, without the cache [s]."""
    with environment(LINKWORK_CACHE="off"):
        fresh = lw.Robot(mechanism.robot.tree)
        start = time.perf_counter()
        fresh.forward_dynamics(mechanism.q, mechanism.v, mechanism.tau)
        fresh.forward_dynamics(*mechanism.batch(STANDARD_BATCH))
        return time.perf_counter() - start


def _assembly(effort: Effort) -> Iterator[Verdict]:
    """Measure the assembly of a four-bar from guesses with errors of some degrees, with its driver fixed."""
    robot = four_bar().robot
    rng = np.random.default_rng(0)
    angles = rng.uniform(0.3, 1.2, STANDARD_BATCH)
    guess = np.array([side_by_side(robot, angle, 0.0)[0] for angle in angles])
    guess += rng.uniform(-0.1, 0.1, guess.shape)
    assembled = robot.assemble(guess, hold={"A0": -angles}, check=False)
    assert np.all(assembled.success) and np.abs(robot.constraint_error(assembled.q)).max() < 1e-10
    names = {"robot": robot, "guess": guess, "hold": {"A0": -angles}, "w": np.ones(robot.nv)}
    guess[:, 0] = -angles
    with threads(1):
        kernel = Call('robot.assemble_configuration(guess, guess, w, hold="A0")', names)
        seconds = compare(kernel, Call("robot.assemble(guess, hold=hold, check=False)", names), effort)
    assert seconds.peer is not None
    each, whole = (x / STANDARD_BATCH for x in (seconds.ours, seconds.peer))
    title = f"assembly, the kernel, a state in a batch; {_time(whole)} by assemble()"
    yield _row("four-bar", "assembly", title, each, None, None)


def _row(name: str, measure: str, title: str, ours: float, peer: float | None, ratio: float | None) -> Verdict:
    target = MECHANISMS[name, measure]
    value = ours if ratio is None else ratio
    shown, bound = (f"{ratio:.3g}x", f"{target.bound:g}x") if ratio is not None else (_time(ours), _time(target.bound))
    sign = ">=" if target.at_least else "<="
    return Verdict(
        name, title, _time(ours), "-" if peer is None else _time(peer), value, shown, target, f"{sign} {bound}"
    )


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


class Chain(dict[str, float]):
    """Measurements of several four-bars side by side; times in seconds."""


def chains(effort: Effort, counts: Sequence[int] = (1, 2, 5, 10, 20, 40)) -> list[Chain]:
    """Four-bars side by side."""
    results = []
    for count in counts:
        robot = four_bars(count)
        q, v = side_by_side(robot, 1.1, 0.7)
        state = q, v, np.zeros(robot.nv)
        with environment(LINKWORK_CACHE="off"), threads(1):
            start = time.perf_counter()
            kernel = robot.compile("forward_dynamics")
            kernel(*state)
            cold = time.perf_counter() - start
            batch = tuple(np.tile(x, (STANDARD_BATCH // 4, 1)) for x in state)
            times: list[Comparison] = []
            for arrays in (state, batch):
                kernel(*arrays)
                times.append(compare(Call("kernel(q, v, tau)", {"kernel": kernel, **_named(arrays)}), None, effort))
        single, many = (x.ours for x in times)
        results.append(
            Chain(count=count, operations=kernel.arithmetic, cold=cold, call=single, batch=many / (STANDARD_BATCH // 4))
        )
    return results


def growths(result: Sequence[Chain], least: int = 5) -> list[Verdict]:
    """Return the exponents with which figures grow with the number of four-bars, from a minimum number."""
    counted = [x for x in result if x["count"] >= least]
    target = Target(MECHANISM_GROWTH + GROWTH_SLACK)
    rows = []
    for figure in ("operations", "cold", "call", "batch"):
        values = np.log([[x["count"], x[figure]] for x in counted])
        power = float(np.polyfit(values[:, 0], values[:, 1], 1)[0])
        span = f"{int(counted[0]['count'])}-{int(counted[-1]['count'])} four-bars"
        rows.append(Verdict(span, f"growth of {figure}", "-", "-", power, f"n^{power:.2f}", target, "<= n^1"))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and, if asked, write the JSON.  Raises AssertionError if outputs differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mechanisms", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="short timings, short chains")
    parser.add_argument("--json", metavar="FILE", help="file for the results")
    parser.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    chosen = parser.parse_args(arguments)
    effort, about = (QUICK if chosen.quick else FULL).effort, machine()
    counts = (1, 5, 10) if chosen.quick else (1, 2, 5, 10, 20, 40)
    rows, measured = list(mechanism_verdicts(effort)), chains(effort, counts)
    rows += growths(measured)
    out = Terminal(Stream(sys.stdout), Stream(sys.stderr)).out
    out.lines([*target_table(rows, markdown=chosen.markdown), ""])
    cells = [
        [f"{int(x['count'])}", f"{int(x['operations'])}", *(_time(x[k]) for k in ("cold", "call", "batch"))]
        for x in measured
    ]
    out.lines([*table(["four-bars", "operations", "cold", "one call", "a state in a batch"], cells), ""])
    out.line("; ".join(f"{name} {value}" for name, value in about.items()))
    out.line(f"{sum(row.met for row in rows)} of {len(rows)} targets met")
    if chosen.json:
        written = {"machine": about, "targets": [asdict(row) for row in rows], "chains": measured}
        Path(chosen.json).write_text(json.dumps(written, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
