"""The page of figures: `python -m benchmarks.ik.page FILES` updates it from files of `benchmarks.ik --json`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compiler.operation_counts import written
from benchmarks.measurement.machine import named

__all__ = ["PAGE", "main", "tables"]

_PROTOCOL = ("success", "mean call", "p99 call", "pose in a batch")

PAGE = Path(__file__).parents[2] / "docs" / "inverse_kinematics_figures.md"


def tables(data: dict[str, Any]) -> dict[str, str]:
    """Return the tables by their names in the page."""
    result = data["protocol"]
    about = data["machine"]
    ours = [x for x in result if x["library"] == "linkwork"]
    return {"arms": _ours(ours, about), "libraries": _beside(result), "others": _others(data["targets"])}


def _ours(results: Sequence[dict[str, Any]], about: dict[str, Any]) -> str:
    lines = [
        "| | poses | success | mean | median | 99th percentile | maximum | in a batch |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for x in results:
        times = [x["seconds"][name] for name in ("mean", "p50", "p99", "most", "batch")]
        cells = " | ".join("-" if t is None else time_of(t) for t in times)
        lines.append(f"| {x['robot']} | {x['poses']} | {100 * x['success']:.2f} % | {cells} |")
    missed = [(x["robot"], miss) for x in results for miss in x["misses"]]
    figures = "; ".join(
        f"{robot}, pose {miss['pose']}: {miss['status']}, {miss['position error']:.1g} m and "
        f"{miss['orientation error']:.1g} rad off"
        for robot, miss in missed
    )
    where = f"{named(about)}, {str(about['date'])[:10]}"
    return "\n".join([*lines, "", f"{where}. Unsolved poses: {figures or 'none'}."])


def _beside(result: Sequence[dict[str, Any]]) -> str:
    robots = list(dict.fromkeys(x["robot"] for x in result))
    lines = [f"| | poses | {' | '.join(robots)} |", f"|---|--:|{'--:|' * len(robots)}"]
    for name in dict.fromkeys(x["library"] for x in result):
        of = {x["robot"]: x for x in result if x["library"] == name}
        first = next(iter(of.values()))
        cells = [f"{_share(of[r]['success'])}, {time_of(of[r]['seconds']['mean'])}" if r in of else "-" for r in robots]
        lines.append(f"| {name} {first['version']} | {first['poses']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _others(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of measures outside the protocol: one line per measure with all its robots."""
    lines, known = ["| | | beside |", "|---|---|---|"], list(dict.fromkeys(x["what"] for x in rows))
    for measure in known:
        if measure in _PROTOCOL:
            continue
        of = [x for x in rows if x["what"] == measure and x["value"] is not None]
        beside = [f"{x['robot']}: {x['peer']}" for x in of if x["peer"] != "-"]
        shown = ", ".join(f"{x['robot']} {_value(x)}" for x in of)
        lines.append(f"| {measure} | {shown} | {'; '.join(beside) or '-'} |")
    return "\n".join(lines)


def _value(x: dict[str, Any]) -> str:
    """A time where the bound is one, else a share, or how many times as fast."""
    if x["bound"] < 0.1:
        return time_of(x["value"])
    return _share(x["value"]) if x["bound"] <= 1.0 else f"{x['value']:.0f}x"


def _share(x: float) -> str:
    return f"{100 * x:.4g} %"


def time_of(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.2g} {unit}" if seconds < 10 * scale else f"{seconds / scale:.0f} {unit}"
    return f"{1e6 * seconds:.2g} µs" if seconds < 10e-6 else f"{1e6 * seconds:.0f} µs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables into the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ik.page", description="Put figures into the page.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="files that python -m benchmarks.ik --json wrote")
    read = [json.loads(Path(file).read_text(encoding="utf-8")) for file in parser.parse_args(arguments).files]
    whole = {key: [x for data in read for x in data[key]] for key in ("protocol", "targets")}
    result = tables({"machine": read[0]["machine"], **whole})
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
    print(f"{PAGE.name}: tables written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
