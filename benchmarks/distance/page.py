"""The page of figures, which `python -m benchmarks.distance --write` updates.

`python -m benchmarks.distance.page FILES` updates it from files that ``--json`` wrote.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compiler.operation_counts import written
from benchmarks.measurement.machine import named
from benchmarks.measurement.seconds import shown_time

__all__ = ["PAGE", "main", "tables", "write"]

PAGE = Path(__file__).parents[2] / "docs" / "distances_figures.md"


def tables(data: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the measured parts, by their names in the page."""
    results = {}
    if data.get("pairs"):
        results["pairs"] = "\n".join([*_pairs(data), "", _where(data["machine"])])
    if data.get("robots"):
        results["robots"] = "\n".join([*_robots(data), "", _where(data["machine"])])
    if data.get("accuracy"):
        results["accuracy"] = "\n".join(_accuracy(data["accuracy"]))
    return results


def _where(about: dict[str, Any]) -> str:
    return f"{named(about)}; coal {about['coal']}; {str(about['date'])[:10]}."


def _pairs(data: dict[str, Any]) -> list[str]:
    lines = [
        "| | one of a batch | coal, call | coal, loop | call | loop | alone | operations | beaten by [m] |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for x in data["pairs"]:
        times = " | ".join(shown_time(x[key]) for key in ("peer_call", "peer_loop"))
        ratios = " | ".join(_times(x[key], x["seconds"]) for key in ("peer_call", "peer_loop"))
        cells = f"{shown_time(x['alone'])} | {x['operations']} | {_beaten(x)}"
        lines.append(f"| {x['pair']} | {shown_time(x['seconds'])} | {times} | {ratios} | {cells} |")
    return lines


def _times(peer: float | None, ours: float) -> str:
    return "-" if peer is None else f"{float(f'{peer / ours:.2g}'):g} ×"


def _beaten(x: dict[str, Any]) -> str:
    """Rounding is none."""
    return "-" if x["beaten"] is None or x["beaten"] < 1e-9 else f"{x['beaten']:.0e}"


def _robots(data: dict[str, Any]) -> list[str]:
    lines = ["| | | linkwork | coal |", "|---|---|--:|--:|"]
    for x in data["targets"]:
        if "batch" not in x["label"] and "coal" not in x["label"]:
            lines.append(f"| {x['robot']} | {x['label']} | {x['ours']} | {x['peer']} |")
    return lines


def _accuracy(result: Sequence[dict[str, Any]]) -> list[str]:
    lines = [
        "| | apart | distance | normal [rad] | points | overlap | distance | points | depth missed | of |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for x in result:
        apart, overlap = x["apart"], x["overlap"]
        values = [apart["distance"], apart["normal"], apart["witnesses"]]
        inner = [overlap["distance"], overlap["witnesses"]] if overlap["pairs"] else [None, None]
        first, second = (" | ".join(_shown(v) for v in of) for of in (values, [*inner, x["deeper"]]))
        count = str(x["searched"] or "-")
        lines.append(f"| {x['family']} | {apart['pairs']} | {first} | {overlap['pairs']} | {second} | {count} |")
    return lines


def _shown(v: float | None) -> str:
    return "-" if v is None else f"{v:.0e}"


def write(data: dict[str, Any]) -> None:
    """Write the tables of the measured parts into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(written(page, tables(data)), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables into the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distance.page", description="Put figures in place.")
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="files that python -m benchmarks.distance --json wrote"
    )
    for file in parser.parse_args(arguments).files:
        write(json.loads(Path(file).read_text(encoding="utf-8")))
    print(f"{PAGE.name}: tables written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
