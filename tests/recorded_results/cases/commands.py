"""Output of the command line, comparisons and checks of robots."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.cli.main import main
from recorded_results.case import case
from recorded_results.contents import noted, placeless, texts
from recorded_results.machines import armed, linkage
from recorded_results.robots import arm

_TIMES = re.compile(r"\d+(\.\d+)? (ns|µs|ms|s)\b")


def _run(*words: str) -> list[Any]:
    """Return the exit code, output and messages of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = noted(lambda: main(list(words)))[0]
        except SystemExit as error:
            code = error.code
    return placeless([str(code), _TIMES.sub("TIME", out.getvalue()), err.getvalue()])


def _files() -> None:
    arm().save("arm.json")
    linkage().save("link.json")
    changed = arm().with_inertia("fore", mass=0.9).with_joint(arm().joint("lift").with_damping(0.9))
    changed.to_urdf("changed.urdf")
    Path("cell.yaml").write_text(
        "version: 1\nobstacles:\n  - {name: ball, shape: {type: sphere, radius: 0.2}, pose: [0.5, 0.3, 0.4]}\n"
        "  - {name: box, shape: {type: box, size: [0.2, 0.3, 0.4]}, pose: [0.5, 0.35, 0.7]}\n"
    )


Q = ("--q", "0.3", "-0.4", "0.5")
STATE = (*Q, "--v", "0.1", "20deg/s", "-0.3")


@case()
def commands_that_inspect_robots(folder: Path) -> Any:
    _files()
    commands: dict[str, tuple[str, ...]] = {
        "info": ("info", "arm.json"),
        "info json": ("info", "arm.json", "--json"),
        "check": ("check", "arm.json", "changed.urdf"),
        "check json": ("check", "link.json", "--json"),
        "compare": ("compare", "arm.json", "changed.urdf"),
        "compare json": ("compare", "arm.json", "changed.urdf", "--json"),
        "scene": ("check-scene", "cell.yaml", "arm.json"),
        "convert": ("convert", "arm.json", "out.urdf"),
        "again": ("convert", "arm.json", "out.urdf"),
        "robots": ("robots",),
        "missing": ("info", "arn.json"),
        "frame": ("pose", "arm.json", "--frame", "tol", *Q),
        "count": ("pose", "arm.json", "--frame", "tool", "--q", "0.3"),
        "unit": ("pose", "arm.json", "--frame", "tool", "--q", "0.3", "0.2kg", "0.1"),
        "payload": ("info", "arm.json", "--payload", "tool", "0.7", "0.1", "0.2", "0.3"),
    }
    return {**{name: _run(*words) for name, words in commands.items()}, "files": texts(folder, "out.*")}


@case(1e-7)
def commands_that_compute(folder: Path) -> Any:
    _files()
    Path("rows.csv").write_text("turn,lift,bend\n0.1,0.2,0.3\n0.4,-0.5,0.6\n")
    commands: dict[str, tuple[str, ...]] = {
        "pose": ("pose", "arm.json", "--frame", "tool", *Q),
        "poses": ("pose", "arm.json", "--frame", "tool", "--q", "@rows.csv", "--output", "poses.csv"),
        "jacobian": ("jacobian", "arm.json", "--frame", "tool", *Q, "--json"),
        "jacobian text": ("jacobian", "arm.json", "--frame", "tool", *Q),
        "dynamics": ("dynamics", "arm.json", *STATE),
        "dynamics json": ("dynamics", "arm.json", *STATE, "--json"),
        "distances": ("distances", "arm.json", "--scene", "cell.yaml", *Q),
        "distances json": ("distances", "arm.json", "--scene", "cell.yaml", *Q, "--json"),
        "simulate": ("simulate", "arm.json", *STATE, "--duration", "0.02", "--output", "run.csv"),
    }
    return {**{name: _run(*words) for name, words in commands.items()}, "files": texts(folder, "*.csv")}


@case()
def comparison_and_check_of_robots(_: Any) -> Any:
    robot = armed()
    moved = robot.with_joint(robot.joint("lift").with_damping(0.9).with_position_limits(-1.8, 1.7))
    moved = moved.with_inertia("fore", mass=0.9).with_gravity((0.1, 0.2, -9.3)).without_actuators("jet")
    comparison = robot.compare(moved, samples=3)
    loose = robot.compare(moved, samples=3, tolerance=0.3, by="bodies")
    odd = robot.with_inertia("upper", mass=250.0, com=(3.0, 0.1, 0.2)).with_inertia("column", mass=1e-7)
    report = odd.check_model()
    renamed = lw.Robot.from_urdf_string('<robot name="x"><link name="column"/></robot>')
    return {
        "comparison": [str(comparison), repr(comparison), str(loose)],
        "check": [str(report), [str(x) for x in report.findings]],
        "other": str(robot.compare(renamed, samples=2)),
        "plain": [str(robot.check_model()), str(linkage().check_model())],
        "tables": [str(robot), str(robot.joints), str(robot.links), str(robot.joint("lift")), str(robot.link("fore"))],
        "limits": np.array([robot.lower, robot.upper, robot.velocity_limits, robot.effort_limits]),
    }
