"""Inverse kinematics compared with other libraries: `python -m benchmarks.ik`.

The main part is TRAC-IK's protocol (`ik_protocol`) on arms of real robots.  It measures the success rate, the time of a
call from Python with new arrays (including failures), and the time of a pose in a batch on one core.  Every other
installed library is called as its documentation shows (`ik_peers`), on the first poses of the same set.  The other
parts (`ik_parts`) are warm starts along a path, targets near limits and out of reach, nearest configurations compared
with IPOPT, a humanoid, and velocity steps compared with pink and mink.  All results are checked by Pinocchio's
kinematics.  `python -m benchmarks.optimal.quadratic` measures the quadratic programs.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.ik.cases import POSES, Linkwork, Own, Size, measured
from benchmarks.ik.parts import PARTS
from benchmarks.ik.peers import PEERS, Peer, quiet
from benchmarks.ik.protocol import Measured, configurations
from benchmarks.ik.report import measured_data, misses, protocol_rows, protocol_table, verdict_table
from benchmarks.ik.robots import ARMS, Arm
from benchmarks.measurement.machine import machine
from benchmarks.measurement.robots import NotInstalled
from benchmarks.peers.pinocchio_peer import CannotCompare
from benchmarks.tables.verdicts import Verdict
from linkwork._util.progress import ProgressBar
from linkwork.cli.output import Stream, Terminal

__all__ = ["main", "protocol"]

QUICK_ARMS = ("panda", "ur5", "arm7")
METHOD = (
    "float64; targets are poses of configurations drawn evenly within limits, the seed is the middle of the limits; "
    "an answer counts within 1e-5 m and 1e-5 rad on each of six axes by Pinocchio's kinematics, and within limits, "
    "exactly; calls from Python with new arrays, failures included, the shorter of the time that passes and the "
    "processor's; peers are asked the first poses of the same set"
)


def protocol(
    arms: Sequence[Arm], peers: Sequence[type[Peer]], size: Size, terminal: Terminal
) -> tuple[list[Measured], dict[str, list[str]]]:
    """Every library on every arm, and why some were left out."""
    results: list[Measured] = []
    without: dict[str, list[str]] = {}
    for arm in arms:
        Q = configurations(arm, size.poses)
        with ProgressBar(terminal.log, f"{arm.name}: libraries", len(peers)) as progress:
            for peer in peers:
                few = (
                    size.poses
                    if peer.count >= POSES
                    else min(size.poses, max(peer.count if peer.count > 200 else size.peers * peer.count // 200, 2))
                )
                try:
                    with quiet():
                        solver = peer(arm)
                    results.append(measured(arm, solver, Q[:few]))
                except CannotCompare as reason:
                    without.setdefault(f"{peer.name}: {reason}", []).append(arm.name)
                progress.advance(1)
    return results, without


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and, if asked, write the JSON.

    Raises AssertionError if the results of a batch differ from those of single calls.
    """
    chosen = _parser().parse_args(arguments)
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    logging.disable(logging.WARNING)  # libraries log each step that ends a rounding beyond a limit
    size = Size.quick() if chosen.quick else Size()
    if chosen.poses:
        size = replace(size, poses=chosen.poses, peers=min(size.peers, chosen.poses))
    arms = _arms(chosen.robot or (QUICK_ARMS if chosen.quick else tuple(ARMS)), terminal)
    chosen_peers = [peer for peer in PEERS if not chosen.peers or peer.package in chosen.peers]
    peers = [Linkwork, *([] if chosen.peers == ["none"] else chosen_peers)]
    result, without = protocol(arms, peers, size, terminal) if "protocol" in chosen.parts else ([], {})
    results, beside = Own(), chosen.peers != ["none"]
    for part, measure in PARTS.items():
        if part in chosen.parts:
            try:
                results += measure(arms, size, terminal, beside)
            except CannotCompare as reason:
                results.notes.append(f"{part}: {reason}")
    rows = [*protocol_rows(result), *results.rows]
    _shown(terminal.out, result, results, rows, without, chosen.markdown)
    if chosen.json:
        text = json.dumps(_data(result, results, rows, without), indent=1, allow_nan=False)
        Path(chosen.json).write_text(text + "\n", encoding="utf-8")
    return 0


def _shown(
    out: Stream,
    result: Sequence[Measured],
    results: Own,
    rows: Sequence[Verdict],
    without: dict[str, list[str]],
    markdown: bool,
) -> None:
    if result:
        out.lines([*protocol_table(result, markdown=markdown), ""])
    if rows:
        out.lines([*verdict_table(rows, markdown=markdown), ""])
    for title, of in (("misses", result), ("misses of other rows", results.measured)):
        if lines := misses(of):
            out.lines([f"{title}:", *lines, ""])
    settings = {x.solver: x.settings for x in result}
    out.lines([*results.notes, *(f"{name}: {text}" for name, text in settings.items()), ""])
    out.lines([f"left out: {reason} ({', '.join(names)})" for reason, names in without.items()])
    out.line("; ".join(f"{name} {value}" for name, value in machine().items()))
    out.line(METHOD)
    if rows:
        out.line(f"{sum(x.met for x in rows)} of {len(rows)} targets met")


def _arms(names: Sequence[str], terminal: Terminal) -> list[Arm]:
    arms = []
    for name in names:
        try:
            ARMS[name].text  # noqa: B018
            arms.append(ARMS[name])
        except NotInstalled as reason:
            terminal.warning(f"left out: {reason}")
    return arms


def _data(
    results: Sequence[Measured], result_data: Own, rows: Sequence[Verdict], without: dict[str, list[str]]
) -> dict[str, Any]:
    return {
        "machine": machine(),
        "method": METHOD,
        "protocol": [measured_data(x) for x in results],
        "own": [measured_data(x) for x in result_data.measured],
        "notes": result_data.notes,
        "targets": [
            {"robot": x.robot, "what": x.label, "value": x.value, "bound": x.target.bound, "met": x.met, "peer": x.peer}
            for x in rows
        ],
        "left out": without,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ik", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="three arms, few poses")
    parser.add_argument("--robot", nargs="+", metavar="NAME", choices=list(ARMS), help=f"of {', '.join(ARMS)}")
    packages = [peer.package for peer in PEERS]
    parser.add_argument(
        "--peers", nargs="+", metavar="NAME", choices=[*packages, "none"], help=f"of {', '.join(packages)}, or none"
    )
    parser.add_argument("--poses", type=int, metavar="N", help="poses of the protocol (default: 10000)")
    parts = ["protocol", *PARTS]
    parser.add_argument(
        "--parts", nargs="+", metavar="PART", choices=parts, default=parts, help=f"of {', '.join(parts)} (default: all)"
    )
    parser.add_argument("--json", metavar="FILE", help="file for the results")
    parser.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
