"""Tables of the results of inverse kinematics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchmarks.ik.protocol import Measured, microseconds
from benchmarks.tables.rows import table
from benchmarks.tables.targets import INVERSE_KINEMATICS, Target
from benchmarks.tables.verdicts import Verdict

__all__ = ["measured_data", "misses", "protocol_rows", "protocol_table", "row", "verdict_table"]


def protocol_rows(result: Iterable[Measured]) -> Iterator[Verdict]:
    """Return the targets of the protocol with linkwork's results."""
    known = list(result)
    for measured in known:
        if measured.solver != "linkwork":
            continue
        rivals = [x for x in known if x.robot == measured.robot and x.solver != "linkwork"]
        most = max(rivals, key=lambda x: (x.success, -x.seconds.mean()), default=None)
        fast = min((x for x in rivals if x.success >= 0.99), key=lambda x: x.seconds.mean(), default=None)
        mean, _, p99, _ = measured.percentiles()
        yield _row(measured, "success", measured.success, most and f"{most.solver} {100 * most.success:.2f} %")
        yield _row(measured, "mean call", mean, fast and f"{fast.solver} {1e6 * fast.seconds.mean():.3g} µs")
        yield _row(measured, "p99 call", p99, fast and f"{fast.solver} {1e6 * fast.percentiles()[2]:.3g} µs")
        if measured.batch is not None:
            yield _row(measured, "pose in a batch", measured.batch, None)


def _row(measured: Measured, measure: str, value: float, peer: str | None) -> Verdict:
    return row(measured.robot, measure, value, peer)


def row(robot: str, measure: str, value: float | None, peer: str | None = None, measure_name: str = "") -> Verdict:
    """Return a measured value with its target: a share if the target is one, seconds otherwise."""
    target: Target = INVERSE_KINEMATICS[measure]
    shown = "-" if value is None else _shown(target, value)
    bound = f"{'>=' if target.at_least else '<='} {_shown(target, target.bound)}"
    return Verdict(robot, measure_name or measure, shown, peer or "-", value, shown, target, bound)


def _shown(target: Target, value: float) -> str:
    if target.at_least:
        return f"{100 * value:.2f} %" if target.bound <= 1.0 else f"{value:.3g}x"
    return f"{1e6 * value:.3g} µs"


def protocol_table(result: Sequence[Measured], *, markdown: bool = False) -> list[str]:
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
        for x in result
    ]
    return table(header, cells, left=(0, 1, 2), markdown=markdown)


def verdict_table(rows: Sequence[Verdict], *, markdown: bool = False) -> list[str]:
    header = ["robot", "what", "linkwork", "target", "", "beside"]
    cells = [[x.robot, x.label, x.shown, x.target_shown, x.verdict, x.peer] for x in rows]
    return table(header, cells, left=(0, 1, 4, 5), markdown=markdown)


def misses(result: Sequence[Measured]) -> list[str]:
    return [
        f"{x.robot}, pose {miss['pose']}: {miss['status']}; off by {miss['position error']:.2g} m, "
        f"{miss['orientation error']:.2g} rad; {miss['iterations']} iterations, {miss['restarts']} restarts"
        + ("" if miss["within limits"] else "; OUT OF LIMITS")
        + ("; SAID TO BE SOLVED" if miss["said solved"] else "")
        for x in result
        for miss in x.misses
    ]


def measured_data(x: Measured) -> dict[str, Any]:
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
