"""Inverse kinematics beside others: `python -m benchmarks.ik`.

TRAC-IK's protocol (`ik_protocol`) on arms of robots that people have: success, the time of a call from Python with new
arrays, failures included, and the time of a pose in a batch on one core; every other library that is installed in the
same run, each as its documentation has it (`ik_peers`), on the first poses of the same set.  Then warm starts along a
path, targets near limits and out of reach.  All answers are checked by Pinocchio's kinematics.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._progress import Progress
from linkwork.cli.measure import threads
from linkwork.cli.output import Stream, Terminal, table
from linkwork.cli.peer import CannotCompare

from .ik_peers import PEERS, Peer, quiet, version
from .ik_protocol import (
    TOLERANCE,
    Measured,
    asked,
    brought_in,
    configurations,
    errors,
    microseconds,
    near_limits,
    path,
    reached,
    within,
)
from .ik_robots import ARMS, Arm
from .machine import machine
from .robots import NotInstalled
from .targets import INVERSE_KINEMATICS, Target
from .verdicts import Verdict

__all__ = ["Linkwork", "main", "measured", "protocol", "protocol_table", "verdict_table"]

POSES, QUICK_POSES = 10_000, 200
QUICK_ARMS = ("panda", "ur5", "arm7")
METHOD = (
    "float64; targets are poses of configurations drawn evenly within limits, the seed is the middle of the limits; "
    "an answer counts within 1e-5 m and 1e-5 rad on each of six axes by Pinocchio's kinematics, and within limits, "
    "exactly; calls from Python with new arrays, failures included; peers are asked the first poses of the same set"
)


class Linkwork(Peer):
    """`robot.inverse_kinematics`: one call, with a seed."""

    name, package, settings, count = "linkwork", "linkwork", "robot.inverse_kinematics(X, frame, seed=)", POSES

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        self.robot: Any = arm.robot
        if not hasattr(self.robot, "inverse_kinematics"):
            raise CannotCompare("this linkwork has no inverse_kinematics")

    def result(self, X: np.ndarray, seed: np.ndarray) -> Any:
        """Of one pose, or of a batch."""
        return self.robot.inverse_kinematics(X, self.arm.tip, seed=seed, tolerance=TOLERANCE)

    def solve(self, X: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        return np.asarray(self.result(X, seed).q)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    poses: int = POSES
    peers: int = 200  # of those that are slow
    steps: int = 2000  # of a path
    far: int = 20  # targets out of reach
    restarts: int = 100

    @classmethod
    def quick(cls) -> Size:
        return cls(QUICK_POSES, 20, 200, 3, 20)


def measured(arm: Arm, solver: Peer, Q: np.ndarray, seeds: np.ndarray | None = None) -> Measured:
    """One library on the poses of configurations, one call a pose."""
    X = arm.reference.pose(Q)
    seeds = np.tile(arm.middle, (len(Q), 1)) if seeds is None else seeds
    with quiet():
        solver.solve(X[0], seeds[0])  # whatever is made once
        q, seconds = asked(arm, solver.solve, X, seeds)
    ours = isinstance(solver, Linkwork)
    got = reached(arm, q if ours else brought_in(arm, q), X)
    found = Measured(arm.name, solver.name, version(solver.package), solver.settings, got, seconds)
    if isinstance(solver, Linkwork):
        _told(solver, found, X, seeds, q)
        found.batch = _batch(solver, X, seeds, q)
    return found


def _told(solver: Linkwork, found: Measured, X: np.ndarray, seeds: np.ndarray, q: np.ndarray) -> None:
    """What the result says of each miss."""
    arm = solver.arm
    for k in np.flatnonzero(~found.reached):
        result = solver.result(X[k], seeds[k])
        status = _text(result.status)
        off = np.abs(errors(arm.reference.pose(q[k]), X[k]))
        found.misses.append(
            {
                "pose": int(k),
                "status": status,
                "said solved": bool(np.all(result.success)),
                "position error": float(off[:3].max()),
                "orientation error": float(off[3:].max()),
                "within limits": bool(within(arm, q[k])),
                "iterations": int(np.max(result.iterations)),
                "restarts": int(np.max(result.restarts)),
            }
        )
    found.statuses = dict(Counter(str(miss["status"]) for miss in found.misses))


def _text(status: Any) -> str:
    one = np.asarray(status).ravel()[0] if not isinstance(status, str) else status
    return str(getattr(one, "name", one))


def _batch(solver: Linkwork, X: np.ndarray, seeds: np.ndarray, q: np.ndarray) -> float:
    """Seconds a pose on one core, median of five.  Raises AssertionError where a batch answers otherwise."""
    with threads(1):
        answers = np.asarray(solver.result(X, seeds).q)
        assert np.array_equal(answers, q), f"{solver.arm.name}: the batch's answers are not those of single calls"
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            solver.result(X, seeds)
            seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)) / len(X)


def protocol(
    arms: Sequence[Arm], peers: Sequence[type[Peer]], size: Size, terminal: Terminal
) -> tuple[list[Measured], dict[str, list[str]]]:
    """Every library on every arm, and why some were left out."""
    found: list[Measured] = []
    without: dict[str, list[str]] = {}
    for arm in arms:
        Q = configurations(arm, size.poses)
        with Progress(terminal.log, f"{arm.name}: libraries", len(peers)) as progress:
            for peer in peers:
                few = size.poses if peer.count >= POSES else min(size.poses, max(size.peers * peer.count // 200, 2))
                try:
                    with quiet():
                        solver = peer(arm)
                    found.append(measured(arm, solver, Q[:few]))
                except CannotCompare as reason:
                    without.setdefault(f"{peer.name}: {reason}", []).append(arm.name)
                progress.advance(1)
    return found, without


# -- one library's own rows


def warm(arm: Arm, solver: Linkwork, size: Size) -> tuple[Measured, float]:
    """Along a path, seeded by the answer before; and the largest step of a joint between two answers."""
    Q = path(arm, size.steps)
    X, q = arm.reference.pose(Q), np.empty_like(Q)
    seconds, seed = np.empty(len(Q)), Q[0]
    solver.solve(X[0], seed)
    for k in range(len(Q)):
        target = X[k].copy()
        start = time.perf_counter()
        answer = solver.solve(target, seed)
        seconds[k] = time.perf_counter() - start
        assert answer is not None
        q[k] = seed = answer
    found = Measured(arm.name, solver.name, "", "", reached(arm, q, X), seconds)
    _told(solver, found, X, np.concatenate([Q[:1], q[:-1]]), q)
    return found, float(np.abs(np.diff(q, axis=0)).max())


@dataclass
class Far:
    """Targets out of reach, by the best of many restarts of SciPy's solver on Pinocchio's kinematics."""

    robot: str
    asked: int
    far: int  # of those that were asked, by SciPy
    told: int  # of those, by the status
    near: int  # of those, whose nearest pose is within 1 % of SciPy's best
    worst: float  # times SciPy's best
    statuses: dict[str, int]


def out_of_reach(arm: Arm, solver: Linkwork, size: Size) -> Far:
    """Reached poses with positions scaled by 1.5, as far as they are out of reach then."""
    from scipy.optimize import least_squares

    at, rng = arm.reference, np.random.default_rng(3)
    X = at.pose(configurations(arm, size.far, 4))
    X[:, :3, 3] *= 1.5
    statuses: Counter[str] = Counter()
    far = told = near = 0
    worst = 0.0
    for target in X:
        goal = at.pin.SE3(target)
        best = np.inf
        for start in rng.uniform(*arm.ranges, (size.restarts, arm.n)):
            got = least_squares(at.residual, start, at.residual_jacobian, arm.limits, args=(goal,), max_nfev=200)
            best = min(best, float(np.sqrt(2.0 * got.cost)))
            if best < TOLERANCE:
                break
        if best < TOLERANCE:
            continue
        result = solver.result(target, arm.middle)
        status = _text(result.status)
        left = float(np.linalg.norm(errors(at.pose(np.asarray(result.q)), target)))
        statuses[status] += 1
        far, told, near = far + 1, told + ("reach" in status.lower()), near + (left <= 1.01 * best)
        worst = max(worst, left / best)
    return Far(arm.name, len(X), far, told, near, worst, dict(statuses))


def verdicts(found: Iterable[Measured]) -> Iterator[Verdict]:
    """The targets of the protocol, for what this package reached."""
    known = list(found)
    for one in known:
        if one.solver != "linkwork":
            continue
        others = [x for x in known if x.robot == one.robot and x.solver != "linkwork"]
        most = max(others, key=lambda x: (x.success, -x.seconds.mean()), default=None)
        fast = min((x for x in others if x.success >= 0.99), key=lambda x: x.seconds.mean(), default=None)
        mean, _, p99, _ = one.percentiles()
        yield _row(one, "success", one.success, most and f"{most.solver} {100 * most.success:.2f} %")
        yield _row(one, "mean call", mean, fast and f"{fast.solver} {1e6 * fast.seconds.mean():.3g} µs")
        yield _row(one, "p99 call", p99, fast and f"{fast.solver} {1e6 * fast.percentiles()[2]:.3g} µs")
        if one.batch is not None:
            yield _row(one, "pose in a batch", one.batch, None)


def _row(one: Measured, measure: str, value: float, peer: str | None) -> Verdict:
    return row(one.robot, measure, value, peer)


def row(robot: str, measure: str, value: float | None, peer: str | None = None, what: str = "") -> Verdict:
    """A measured number beside its target: a share where the target is one, seconds otherwise."""
    target: Target = INVERSE_KINEMATICS[measure]
    shown = "-" if value is None else _shown(target, value)
    bound = f"{'>=' if target.at_least else '<='} {_shown(target, target.bound)}"
    return Verdict(robot, what or measure, shown, peer or "-", value, shown, target, bound)


def _shown(target: Target, value: float) -> str:
    if target.at_least:
        return f"{100 * value:.2f} %" if target.bound <= 1.0 else f"{value:.3g}x"
    return f"{1e6 * value:.3g} µs"


# -- for people


def protocol_table(found: Sequence[Measured], *, markdown: bool = False) -> list[str]:
    """A line a library and arm."""
    header = [
        "robot",
        "library",
        "version",
        "poses",
        "success [%]",
        "mean [µs]",
        "p50",
        "p99",
        "most",
        "in a batch [µs]",
    ]
    cells = [
        [
            x.robot,
            x.solver,
            x.version,
            str(len(x.reached)),
            f"{100 * x.success:.2f}",
            *microseconds(x.percentiles()),
            "-" if x.batch is None else microseconds([x.batch])[0],
        ]
        for x in found
    ]
    return drawn(header, cells, (0, 1, 2), markdown)


def verdict_table(rows: Sequence[Verdict], *, markdown: bool = False) -> list[str]:
    header = ["robot", "what", "linkwork", "target", "", "beside"]
    cells = [[x.robot, x.what, x.shown, x.target_shown, x.verdict, x.peer] for x in rows]
    return drawn(header, cells, (0, 1, 4, 5), markdown)


def drawn(header: Sequence[str], cells: Sequence[Sequence[str]], left: Sequence[int], markdown: bool) -> list[str]:
    if not markdown:
        return table(header, cells, left=left)
    rule = [":--" if k in left else "--:" for k in range(len(header))]
    return ["| " + " | ".join(line) + " |" for line in (header, rule, *cells)]


def _misses(found: Sequence[Measured]) -> list[str]:
    return [
        f"{x.robot}, pose {miss['pose']}: {miss['status']}; off by {miss['position error']:.2g} m, "
        f"{miss['orientation error']:.2g} rad; {miss['iterations']} iterations, {miss['restarts']} restarts"
        + ("" if miss["within limits"] else "; OUT OF LIMITS")
        + ("; SAID TO BE SOLVED" if miss["said solved"] else "")
        for x in found
        for miss in x.misses
    ]


# -- the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and, if asked, write the JSON.

    Raises AssertionError where a batch answers otherwise.
    """
    chosen = _parser().parse_args(arguments)
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    logging.disable(logging.WARNING)  # libraries log each step that ends a rounding beyond a limit
    size = Size.quick() if chosen.quick else Size()
    if chosen.poses:
        size = Size(chosen.poses, min(size.peers, chosen.poses), size.steps, size.far, size.restarts)
    out, about = terminal.out, machine()
    arms = _arms(chosen.robot or (QUICK_ARMS if chosen.quick else tuple(ARMS)), terminal)
    wanted = [peer for peer in PEERS if not chosen.peers or peer.package in chosen.peers]
    peers = [] if chosen.peers == ["none"] else wanted
    found, without = protocol(arms, [Linkwork, *peers], size, terminal)
    out.lines([*protocol_table(found, markdown=chosen.markdown), ""])
    rows, extra = list(verdicts(found)), _own(arms, size, terminal, chosen.only_protocol)
    rows += extra.rows
    if rows:
        out.lines([*verdict_table(rows, markdown=chosen.markdown), ""])
    for title, lines in (("misses", _misses(found)), ("misses of other rows", _misses(extra.measured))):
        if lines:
            out.lines([f"{title}:", *lines, ""])
    out.lines([*extra.notes, *(f"{x.solver}: {x.settings}" for x in {x.solver: x for x in found}.values()), ""])
    out.lines([f"left out: {reason} ({', '.join(names)})" for reason, names in without.items()])
    out.line("; ".join(f"{name} {value}" for name, value in about.items()))
    out.line(METHOD)
    if rows:
        out.line(f"{sum(x.met for x in rows)} of {len(rows)} targets met")
    if chosen.json:
        text = json.dumps(_data(about, found, rows, extra, without), indent=1, allow_nan=False)
        Path(chosen.json).write_text(text + "\n", encoding="utf-8")
    return 0


@dataclass
class Own:
    """What only this package was asked."""

    rows: list[Verdict]
    measured: list[Measured]
    notes: list[str]
    far: list[Far]


def _own(arms: Sequence[Arm], size: Size, terminal: Terminal, nothing: bool) -> Own:
    own = Own([], [], [], [])
    if nothing:
        return own
    for arm in arms:
        try:
            solver = Linkwork(arm)
        except CannotCompare:
            continue
        terminal.log.line(f"{arm.name}: paths, limits, out of reach")
        along, jump = warm(arm, solver, size)
        own.measured.append(along)
        own.rows.append(row(arm.name, "warm start", float(along.seconds.mean()), None, "warm start, mean call"))
        own.notes.append(
            f"{arm.name}: along a path of {len(along.reached)} poses {100 * along.success:.2f} % reached, "
            f"the largest step of a joint {jump:.2g}"
        )
        edge = measured(arm, solver, near_limits(arm, size.poses))
        own.measured.append(edge)
        own.rows.append(row(arm.name, "near limits", edge.success))
        if size.far:
            far = out_of_reach(arm, solver, size)
            own.far.append(far)
            if far.far:
                own.rows.append(row(arm.name, "out of reach, told", far.told / far.far))
                own.rows.append(row(arm.name, "out of reach, nearest", far.near / far.far))
                own.notes.append(
                    f"{arm.name}: {far.far} of {far.asked} poses out of reach; nearest poses at most {far.worst:.4f} "
                    f"times the best of {size.restarts} restarts; {far.statuses}"
                )
    return own


def _arms(names: Sequence[str], terminal: Terminal) -> list[Arm]:
    there = []
    for name in names:
        try:
            ARMS[name].text  # noqa: B018
            there.append(ARMS[name])
        except NotInstalled as reason:
            terminal.warning(f"left out: {reason}")
    return there


def _data(
    about: dict[str, object],
    found: Sequence[Measured],
    rows: Sequence[Verdict],
    own: Own,
    without: dict[str, list[str]],
) -> dict[str, Any]:
    return {
        "machine": about,
        "method": METHOD,
        "protocol": [_measured_data(x) for x in found],
        "own": [_measured_data(x) for x in own.measured],
        "out of reach": [vars(x) for x in own.far],
        "targets": [
            {"robot": x.robot, "what": x.what, "value": x.value, "bound": x.target.bound, "met": x.met} for x in rows
        ],
        "left out": without,
    }


def _measured_data(x: Measured) -> dict[str, Any]:
    mean, p50, p99, most = x.percentiles()
    return {
        "robot": x.robot,
        "library": x.solver,
        "version": x.version,
        "settings": x.settings,
        "poses": len(x.reached),
        "success": x.success,
        "seconds": {"mean": mean, "p50": p50, "p99": p99, "most": most, "batch": x.batch},
        "misses": x.misses,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ik", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="three arms, few poses")
    parser.add_argument("--robot", nargs="+", metavar="NAME", choices=list(ARMS), help=f"of {', '.join(ARMS)}")
    packages = [peer.package for peer in PEERS]
    parser.add_argument(
        "--peers", nargs="+", metavar="NAME", choices=[*packages, "none"], help=f"of {', '.join(packages)}, or none"
    )
    parser.add_argument("--poses", type=int, metavar="N", help=f"poses of the protocol (default: {POSES})")
    parser.add_argument("--only-protocol", action="store_true", help="no paths, limits and targets out of reach")
    parser.add_argument("--json", metavar="FILE", help="where to write everything measured")
    parser.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
