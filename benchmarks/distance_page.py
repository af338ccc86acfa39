"""`python -m benchmarks.distance_page FILES` puts what `python -m benchmarks.distance --json` wrote into the page.

One file has the times, another the errors.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .figures import written
from .measure_time import shown_time

__all__ = ["PAGE", "main", "tables"]

PAGE = Path(__file__).parents[1] / "docs" / "distances_figures.md"


def tables(data: dict[str, Any]) -> dict[str, str]:
    """By the names that they have in the page: of what was measured."""
    found = {}
    if data.get("pairs"):
        found["pairs"] = "\n".join([*_pairs(data), "", _where(data["machine"])])
    if data.get("robots"):
        found["robots"] = "\n".join([*_robots(data), "", _where(data["machine"])])
    if data.get("accuracy"):
        found["accuracy"] = "\n".join(_accuracy(data["accuracy"]))
    return found


def _where(about: dict[str, Any]) -> str:
    busy = f"{about['cores']} cores that others used too"
    return f"{about['cpu']}, {busy}; coal {about['coal']}; {str(about['date'])[:10]}."


def _pairs(data: dict[str, Any]) -> list[str]:
    bounds = {x["robot"]: x["target_shown"] for x in data["targets"] if x["what"].startswith("batch")}
    lines = [
        "| | one of a batch | target | alone | operations | coal, call | coal, loop | beaten by [m] |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for x in data["pairs"]:
        times = " | ".join(shown_time(x[key]) for key in ("peer_call", "peer_loop"))
        ours = f"{shown_time(x['seconds'])} | {bounds.get(x['pair'], '-').removeprefix('<= ')}"
        lines.append(
            f"| {x['pair']} | {ours} | {shown_time(x['alone'])} | {x['operations']} | {times} | {_beaten(x)} |"
        )
    return lines


def _beaten(x: dict[str, Any]) -> str:
    """Rounding is none."""
    return "-" if x["beaten"] is None or x["beaten"] < 1e-9 else f"{x['beaten']:.0e}"


def _robots(data: dict[str, Any]) -> list[str]:
    lines = ["| | | linkwork | target | coal |", "|---|---|--:|--:|--:|"]
    for x in data["targets"]:
        if "batch" not in x["what"] and "coal" not in x["what"]:
            bound = x["target_shown"].removeprefix("<= ")
            lines.append(f"| {x['robot']} | {x['what']} | {x['ours']} | {bound} | {x['peer']} |")
    return lines


def _accuracy(found: Sequence[dict[str, Any]]) -> list[str]:
    lines = ["| | pairs | distance | normal [rad] | points | depth missed |", "|---|--:|--:|--:|--:|--:|"]
    for x in found:
        numbers = [x[key] for key in ("distance", "normal", "witnesses", "deeper")]
        shown = " | ".join("-" if v is None else f"{v:.0e}" for v in numbers)
        lines.append(f"| {x['family']} | {x['pairs']} | {shown} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables into the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distance_page", description="Put figures in place.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="what python -m benchmarks.distance --json wrote")
    page = PAGE.read_text(encoding="utf-8")
    for file in parser.parse_args(arguments).files:
        page = written(page, tables(json.loads(Path(file).read_text(encoding="utf-8"))))
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
