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


def _solvers(arms: Sequence[Arm], what: str, terminal: Terminal) -> Iterator[tuple[Arm, Linkwork]]:
    """Raises CannotCompare if there is nothing to measure."""
    with ProgressBar(terminal.log, what, len(arms)) as progress:
        for arm in arms:
            yield arm, Linkwork(arm)
            progress.advance(1)


def paths(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Along a path, seeded by the answer before."""
    own = Own()
    for arm, solver in _solvers(arms, "paths", terminal):
        along, jump = warm(arm, solver, size)
        own.measured.append(along)
        own.rows.append(row(arm.name, "warm start", float(along.seconds.mean()), None, "warm start, mean call"))
        own.notes.append(
            f"{arm.name}: along a path of {len(along.reached)} poses {100 * along.success:.2f} % reached, median "
            f"{1e6 * np.median(along.seconds):.3g} µs, the largest step of a joint {jump:.2g}"
        )
    return own


def limits(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Targets of configurations near limits."""
    own = Own()
    for arm, solver in _solvers(arms, "near limits", terminal):
        own.measured.append(measured(arm, solver, near_limits(arm, size.poses)))
        own.rows.append(row(arm.name, "near limits", own.measured[-1].success))
    return own


def reach(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Targets out of reach."""
    own = Own()
    for arm, solver in _solvers([arm for arm in arms if arm.name in FAR], "out of reach", terminal):
        found = out_of_reach(arm, solver, size)
        if found.far:
            own.rows.append(row(arm.name, "out of reach, told", found.told / found.far))
            own.rows.append(row(arm.name, "out of reach, nearest", found.near / found.far))
        own.notes.append(
            f"{arm.name}: {found.far} of {found.asked} poses out of reach; nearest poses at most {found.worst:.4f} "
            f"times the best of {size.restarts} restarts; {found.statuses}"
        )
    return own


def near(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Measure nearest configurations, compared with IPOPT."""
    own = Own()
    for arm, solver in _solvers([arm for arm in arms if arm.name in NEAREST], "nearest configurations", terminal):
        try:
            found = nearest(arm, solver, size.near, size.ipopt if beside else 0)
        except TypeError as error:
            raise CannotCompare(str(error)) from None
        theirs = f"IPOPT, ten starts: {1e3 * found.their_seconds:.3g} ms" if beside else None
        own.rows.append(row(arm.name, "nearest, feasible", float(found.feasible.mean())))
        own.rows.append(row(arm.name, "nearest, mean call", float(found.seconds.mean()), theirs))
        if beside:
            own.rows.append(row(arm.name, "nearest, as near as IPOPT", found.as_near))
            once = float(np.mean(np.isfinite(found.first[: size.ipopt])))
            own.notes.append(
                f"{arm.name}: IPOPT reaches {100 * once:.0f} % of poses from q₀ alone, "
                f"{100 * np.mean(np.isfinite(found.theirs[: size.ipopt])):.0f} % by ten starts; ours {found.statuses}"
            )
    return own


def closed(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Measure all branches of arms with a closed form, compared with EAIK and ssik."""
    own = Own()
    known = list(arms_with_closed_form([*PUBLISHED, *(arm.name for arm in arms)]))
    with ProgressBar(terminal.log, "closed forms", len(known)) as progress:
        for arm in known:
            found = measure_closed_form(arm, min(size.poses, 300), min(size.peers, 40), beside=beside)
            told = ", ".join(f"{x.peer} {1e6 * x.seconds:.3g} µs a call" for x in found.beside)
            own.rows.append(row(arm.name, "closed form, pose in a batch", found.batch, told or None))
            for x in found.beside:
                share = x.same / (x.ours + x.more)
                own.rows.append(row(arm.name, "closed form, same branches", share, f"{x.peer}, {x.poses} poses"))
            own.notes += [f"{arm.name}: {found.family}; one call {1e6 * found.call:.3g} µs"]
            own.notes += [f"{arm.name}: without {reason}" for reason in found.without]
            progress.advance(1)
    return own


def whole(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Humanoids: both hands, both feet, centre of mass, base free."""
    own = Own()
    for name in HUMANOIDS:
        try:
            with quiet():
                robot = Humanoid(name)
        except NotInstalled as reason:
            terminal.warning(f"left out: {reason}")
            continue
        found = humanoid(robot, size.whole)
        own.measured.append(found)
        own.rows.append(row(name, "humanoid, success", found.success))
        own.rows.append(row(name, "humanoid, mean call", float(found.seconds.mean())))
        p50, p99, most = (1e6 * x for x in found.percentiles()[1:])
        own.notes.append(
            f"{name}: hands, feet and centre of mass: median {p50:.3g} µs, p99 {p99:.3g}, most {most:.3g}; "
            f"a target in a batch {1e6 * (found.batch or np.nan):.3g} µs"
        )
    return own


def steps(arms: Sequence[Arm], size: Size, terminal: Terminal, beside: bool) -> Own:
    """Measure velocity steps within limits, compared with pink and mink."""
    own = Own()
    for name in ("panda", *HUMANOIDS):
        try:
            found = stepped(name, Effort(rounds=25, at_least=0.002))
        except NotInstalled as reason:
            terminal.warning(f"left out: {reason}")
            continue
        kind = "an arm" if name == "panda" else "a humanoid"
        theirs = ", ".join(f"{peer} {1e6 * seconds:.3g} µs" for peer, seconds in found.others.items())
        own.rows.append(row(name, f"step of {kind}", found.ours, theirs or None))
        if found.others:
            own.rows.append(row(name, "step beside", min(found.others.values()) / found.ours))
        apart = ", ".join(f"{peer} {x:.1g}" for peer, x in found.apart.items())
        own.notes.append(f"{name}: velocities of others are apart from ours by (rad/s, m/s): {apart or '-'}")
    return own


PARTS: dict[str, Part] = {
    "paths": paths,
    "limits": limits,
    "reach": reach,
    "nearest": near,
    "closed": closed,
    "humanoid": whole,
    "steps": steps,
}
