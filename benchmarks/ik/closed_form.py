"""All branches of arms with a closed form, compared with EAIK and ssik: `python -m benchmarks.ik.closed_form`.

First the branches are compared for each pose, modulo full revolutions.  Each branch that reaches its pose must be among
the peer's, within 1e-9 rad plus the peer's own error.  Then the time for a pose is measured: in a batch on one core,
and in single calls from Python as for the peers.  Six-axis arms come from robot files and published tables.  For
seven-axis arms, which have a free angle, only the time is measured.  Times are processor times, which exclude other
processes.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

import linkwork as lw
from benchmarks.ik.peers import EAIK, SSIK, quiet, version
from benchmarks.ik.robots import ARMS, Arm
from benchmarks.measurement.machine import machine
from benchmarks.measurement.robots import NotInstalled
from benchmarks.peers.pinocchio_peer import CannotCompare
from benchmarks.tables.rows import table
from linkwork.cli.output import Stream, Terminal

__all__ = ["PUBLISHED", "BranchComparison", "ClosedFormResult", "arms_with_closed_form", "main", "measure_closed_form"]

SAME = 1e-9  # [rad]: branches nearer than this are the same
REACHED = 1e-7  # what leads to its pose within this is a branch
BATCH, POSES, FEW = 10_000, 300, 40

TABLES = {  # a [m], alpha [quarter turns], d [m] by joint, standard Denavit–Hartenberg
    # Corke and Armstrong-Helouvry, A search for consensus among model parameters, 1994
    "puma560": ((0, 1, 0), (0.4318, 0, 0), (0.0203, -1, 0.15005), (0, 1, 0.4318), (0, -1, 0), (0, 0, 0.06)),
    # an industrial arm with an offset shoulder
    "offset shoulder": ((0.26, -1, 0.675), (0.68, 0, 0), (-0.035, 1, 0), (0, -1, -0.67), (0, 1, 0), (0, 2, -0.158)),
}


def _of_table(name: str) -> Arm:
    """An arm of a table, as URDF: joint k turns about z of its link, whose frame is row k − 1's."""
    link = (
        '<link name="{}"><inertial><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    parts, names = [link.format("base")], ["base", *(f"link{k}" for k in range(1, len(TABLES[name]) + 1)), "tool"]
    steps = [(0.0, 0, 0.0), *TABLES[name]]
    for k, (a, quarters, d) in enumerate(steps):
        moving = k < len(TABLES[name])
        parts.append(
            f'<joint name="joint{k + 1}" type="{"revolute" if moving else "fixed"}"><parent link="{names[k]}"/>'
            f'<child link="{names[k + 1]}"/><origin xyz="{a} 0 {d}" rpy="{quarters * 0.5 * math.pi!r} 0 0"/>'
            + (f'<axis xyz="0 0 1"/><limit lower="-{2.0 * math.pi!r}" upper="{2.0 * math.pi!r}" ' if moving else "")
            + ('effort="100" velocity="3"/>' if moving else "")
            + "</joint>"
        )
        parts.append(link.format(names[k + 1]))
    return Arm(name.replace(" ", "_"), "", "base", "tool", f'<robot name="{name}">' + "\n".join(parts) + "</robot>")


PUBLISHED = {name: _of_table(name) for name in TABLES}


@dataclass(frozen=True)
class BranchComparison:
    """Comparison with a peer's branches, and the peer's time for one call [s]."""

    peer: str
    poses: int
    ours: int  # branches here
    same: int  # of them that are there too
    more: int  # there, and not here
    worst: float  # [rad], of those that are the same
    seconds: float


@dataclass
class ClosedFormResult:
    """Results for an arm: time for a pose in a batch and for a single call [s], and the peers' comparisons."""

    arm: str
    family: str
    batch: float
    call: float
    beside: list[BranchComparison] = field(default_factory=list)
    without: list[str] = field(default_factory=list)


def arms_with_closed_form(names: Sequence[str] = ()) -> Iterator[Arm]:
    """Yield the installed arms that have a closed form."""
    for name, arm in (PUBLISHED | ARMS).items():
        if names and name not in names:
            continue
        try:
            if arm.robot.closed_form(arm.tip, relative_to=arm.base) is not None:
                yield arm
        except NotInstalled:
            continue


def measure_closed_form(arm: Arm, poses: int = POSES, few: int = FEW, *, beside: bool = True) -> ClosedFormResult:
    """Raises AssertionError where a branch does not lead to its pose."""
    form = arm.robot.closed_form(arm.tip, relative_to=arm.base)
    rng = np.random.default_rng(0)
    Q = rng.uniform(-math.pi, math.pi, (BATCH, arm.n))
    X = np.asarray(arm.robot.pose(Q, arm.tip, relative_to=arm.base))
    arguments = [] if form.redundant is None else [form.redundant_angle(Q)]
    seed = np.zeros(arm.n)
    result = ClosedFormResult(arm.name, form.family, *_timed(form.kernel, X, seed, arguments))
    if not beside or form.redundant is not None:
        return result
    branches = form.branches(X[:poses], position_limits=False)
    again = np.asarray(arm.robot.pose(branches.q, arm.tip, relative_to=arm.base))
    assert np.abs(again - X[:poses, np.newaxis])[branches.valid].max() < SAME
    ours = [q[valid] for q, valid in zip(branches.q, branches.valid, strict=True)]
    # the world of a peer is the arm's base
    for name, peer, many in (("EAIK", _eaik, poses), ("ssik", _ssik, min(few, poses))):
        try:
            with quiet(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ask = peer(arm)
                ask(X[0])
                start = time.process_time()
                theirs = [ask(X[k]) for k in range(many)]
                seconds = (time.process_time() - start) / many
        except CannotCompare as reason:
            result.without.append(f"{name}: {reason}")
            continue
        except Exception as error:
            result.without.append(f"{name}: {type(error).__name__}: {error}")
            continue
        result.beside.append(_compared(name, arm, X, ours[:many], theirs, seconds))
    return result


def _timed(kernel: lw.Kernel, X: np.ndarray, seed: np.ndarray, arguments: list[np.ndarray]) -> tuple[float, float]:
    """Return the time for a pose in a batch on one core and for one call [s]: minima over repetitions."""
    threads = lw.get_num_threads()
    lw.set_num_threads(1)
    try:
        batch = min(_seconds(lambda: kernel(X, seed, *arguments)) for _ in range(7)) / len(X)
        single_pose = [X[0].copy(), seed, *(x[0] for x in arguments)]
        call = min(_seconds(lambda: [kernel(*single_pose) for _ in range(200)]) for _ in range(5)) / 200
    finally:
        lw.set_num_threads(threads)
    return batch, call


def _seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def _eaik(arm: Arm) -> Callable[[np.ndarray], np.ndarray]:
    return EAIK(arm).branches


def _ssik(arm: Arm) -> Callable[[np.ndarray], np.ndarray]:
    robot = SSIK(arm).robot

    def branches(X: np.ndarray) -> np.ndarray:
        solution = robot.solve(X, respect_limits=False, enumerate_windings=False)
        return np.array([x.q for x in solution]).reshape(-1, arm.n)

    return branches


def _compared(
    peer: str, arm: Arm, X: np.ndarray, ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], seconds: float
) -> BranchComparison:
    same = more = 0
    worst = 0.0
    for k, (mine, solutions) in enumerate(zip(ours, theirs, strict=True)):
        solutions = np.asarray(solutions, dtype=float).reshape(-1, arm.n)
        # what does not lead to the pose is no branch; what misses it by little may be off by so much, J δ = miss
        miss = np.abs(np.asarray(arm.robot.pose(solutions, arm.tip, relative_to=arm.base)) - X[k]).max(axis=(-2, -1))
        solutions, miss = solutions[miss < REACHED], miss[miss < REACHED]
        least = np.linalg.svd(np.asarray(arm.robot.jacobian(solutions, arm.tip)), compute_uv=False)[..., -1]
        between = mine[:, np.newaxis] - solutions
        away = np.abs(between - 2.0 * math.pi * np.round(between / (2.0 * math.pi))).max(axis=-1)
        close = away < SAME + 2.0 * miss / least
        same += int(close.any(axis=1).sum())
        more += int((~close.any(axis=0)).sum())
        worst = max(worst, away[close].max(initial=0.0))
    return BranchComparison(peer, len(ours), sum(map(len, ours)), same, more, worst, seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ik.closed_form", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--robot", nargs="+", metavar="NAME", default=[], help="which arms (default: all)")
    parser.add_argument("--quick", action="store_true", help="few poses")
    chosen = parser.parse_args(arguments)
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    poses, few = (40, 5) if chosen.quick else (POSES, FEW)
    results = [measure_closed_form(arm, poses, few) for arm in arms_with_closed_form(chosen.robot)]
    header = ["arm", "pose in a batch [µs]", "call [µs]", "family"]
    cells = [[x.arm, f"{1e6 * x.batch:.2f}", f"{1e6 * x.call:.1f}", x.family] for x in results]
    terminal.out.lines([*table(header, cells, left=(0, 3)), ""])
    header = ["arm", "beside", "version", "poses", "branches", "the same", "only there", "worst [rad]", "call [µs]"]
    cells = []
    for x in results:
        for b in x.beside:
            counts = [str(k) for k in (b.poses, b.ours, b.same, b.more)]
            cells.append([x.arm, b.peer, version(b.peer), *counts, f"{b.worst:.1e}", f"{1e6 * b.seconds:.3g}"])
    if cells:  # otherwise the next lines list the libraries that are missing
        terminal.out.lines([*table(header, cells, left=(0, 1, 2)), ""])
    terminal.out.lines([f"{x.arm}: {reason}" for x in results for reason in x.without])
    terminal.out.line("; ".join(f"{name} {value}" for name, value in machine().items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
