"""Parts of the benchmark of inverse kinematics besides the protocol: each takes arms, how much, and where to log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.ik.cases import Linkwork, Own, Size, measured, out_of_reach, warm
from benchmarks.ik.closed_form import PUBLISHED, arms_with_closed_form, measure_closed_form
from benchmarks.ik.nearest import nearest
from benchmarks.ik.peers import quiet
from benchmarks.ik.protocol import near_limits
from benchmarks.ik.report import row
from benchmarks.ik.robots import Arm
from benchmarks.ik.steps import stepped
from benchmarks.ik.whole_body import Humanoid, humanoid
from benchmarks.measurement.robots import NotInstalled
from benchmarks.peers.pinocchio_peer import CannotCompare
from linkwork._util.progress import ProgressBar
from linkwork.cli.function_timings import Effort
from linkwork.cli.output import Terminal

__all__ = ["PARTS"]

Part = Callable[[Sequence[Arm], Size, Terminal, bool], Own]
NEAREST = ("panda", "ur5", "arm7")
FAR = ("panda", "ur5", "tiago", "arm7")
HUMANOIDS = ("talos", "g1")


def _solvers(arms: Sequence[Arm], title: str, terminal: Terminal) -> Iterator[tuple[Arm, Linkwork]]:
    """Raises CannotCompare if there is nothing to measure."""
    with ProgressBar(terminal.log, title, len(arms)) as progress:
        for arm in arms:
            yield arm, Linkwork(arm)
            progress.advance(1)


def paths(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Along a path, seeded by the answer before."""
    results = Own()
    for arm, solver in _solvers(arms, "paths", terminal):
        along, jump = warm(arm, solver, size)
        results.measured.append(along)
        results.rows.append(row(arm.name, "warm start", float(along.seconds.mean()), None, "warm start, mean call"))
        results.notes.append(
            f"{arm.name}: along a path of {len(along.reached)} poses {100 * along.success:.2f} % reached, median "
            f"{1e6 * np.median(along.seconds):.3g} µs, the largest step of a joint {jump:.2g}"
        )
    return results


def limits(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Targets of configurations near limits."""
    results = Own()
    for arm, solver in _solvers(arms, "near limits", terminal):
        results.measured.append(measured(arm, solver, near_limits(arm, size.poses)))
        results.rows.append(row(arm.name, "near limits", results.measured[-1].success))
    return results


def reach(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Targets out of reach."""
    results = Own()
    for arm, solver in _solvers([arm for arm in arms if arm.name in FAR], "out of reach", terminal):
        result = out_of_reach(arm, solver, size)
        if result.far:
            results.rows.append(row(arm.name, "out of reach, told", result.claimed / result.far))
            results.rows.append(row(arm.name, "out of reach, nearest", result.near / result.far))
        results.notes.append(
            f"{arm.name}: {result.far} of {result.total} poses out of reach; nearest poses at most {result.worst:.4f} "
            f"times the best of {size.restarts} restarts; {result.statuses}"
        )
    return results


def near(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Measure nearest configurations, compared with IPOPT."""
    results = Own()
    for arm, solver in _solvers([arm for arm in arms if arm.name in NEAREST], "nearest configurations", terminal):
        try:
            result = nearest(arm, solver, size.near, size.ipopt if beside else 0)
        except TypeError as error:
            raise CannotCompare(str(error)) from None
        theirs = f"IPOPT, ten starts: {1e3 * result.their_seconds:.3g} ms" if beside else None
        results.rows.append(row(arm.name, "nearest, feasible", float(result.feasible.mean())))
        results.rows.append(row(arm.name, "nearest, mean call", float(result.seconds.mean()), theirs))
        if beside:
            results.rows.append(row(arm.name, "nearest, as near as IPOPT", result.as_near))
            once = float(np.mean(np.isfinite(result.first[: size.ipopt])))
            results.notes.append(
                f"{arm.name}: IPOPT reaches {100 * once:.0f} % of poses from q₀ alone, "
                f"{100 * np.mean(np.isfinite(result.theirs[: size.ipopt])):.0f} % by ten starts; ours {result.statuses}"
            )
    return results


def closed(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Measure all branches of arms with a closed form, compared with EAIK and ssik."""
    results = Own()
    known = list(arms_with_closed_form([*PUBLISHED, *(arm.name for arm in arms)]))
    with ProgressBar(terminal.log, "closed forms", len(known)) as progress:
        for arm in known:
            result = measure_closed_form(arm, min(size.poses, 300), min(size.peers, 40), beside=beside)
            figures = ", ".join(f"{x.peer} {1e6 * x.seconds:.3g} µs a call" for x in result.beside)
            results.rows.append(row(arm.name, "closed form, pose in a batch", result.batch, figures or None))
            for x in result.beside:
                share = x.same / (x.ours + x.more)
                results.rows.append(row(arm.name, "closed form, same branches", share, f"{x.peer}, {x.poses} poses"))
            results.notes += [f"{arm.name}: {result.family}; one call {1e6 * result.call:.3g} µs"]
            results.notes += [f"{arm.name}: without {reason}" for reason in result.without]
            progress.advance(1)
    return results


def whole(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Humanoids: both hands, both feet, centre of mass, base free."""
    results = Own()
    for name in HUMANOIDS:
        try:
            with quiet():
                robot = Humanoid(name)
        except NotInstalled as reason:
            terminal.warning(f"left out: {reason}")
            continue
        result = humanoid(robot, size.whole)
        results.measured.append(result)
        results.rows.append(row(name, "humanoid, success", result.success))
        results.rows.append(row(name, "humanoid, mean call", float(result.seconds.mean())))
        p50, p99, most = (1e6 * x for x in result.percentiles()[1:])
        results.notes.append(
            f"{name}: hands, feet and centre of mass: median {p50:.3g} µs, p99 {p99:.3g}, most {most:.3g}; "
            f"a target in a batch {1e6 * (result.batch or np.nan):.3g} µs"
        )
    return results


def steps(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Measure velocity steps within limits, compared with pink and mink."""
    results = Own()
    for name in ("panda", *HUMANOIDS):
        try:
            result = stepped(name, Effort(rounds=25, at_least=0.002))
        except NotInstalled as reason:
            terminal.warning(f"left out: {reason}")
            continue
        kind = "an arm" if name == "panda" else "a humanoid"
        theirs = ", ".join(f"{peer} {1e6 * seconds:.3g} µs" for peer, seconds in result.peer_seconds.items())
        results.rows.append(row(name, f"step of {kind}", result.ours, theirs or None))
        if result.peer_seconds:
            results.rows.append(row(name, "step beside", min(result.peer_seconds.values()) / result.ours))
        apart = ", ".join(f"{peer} {x:.1g}" for peer, x in result.apart.items())
        results.notes.append(f"{name}: velocities of others are apart from ours by (rad/s, m/s): {apart or '-'}")
    return results


PARTS: dict[str, Part] = {
    "paths": paths,
    "limits": limits,
    "reach": reach,
    "nearest": near,
    "closed": closed,
    "humanoid": whole,
    "steps": steps,
}
