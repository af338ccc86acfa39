"""`python -m benchmarks.mjcf_files FOLDER ...`: read every MJCF file of some folders, and compare with MuJoCo.

A file that MuJoCo itself cannot compile is not counted: it is a fragment that other files include, or a broken one.
Without folders, the models of installed packages are read (mujoco, dm_control, gymnasium_robotics, robosuite).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco

import linkwork as lw
from linkwork.cli.output import Stream, Terminal
from linkwork.errors import ModelError, ModelWarning

from .mjcf_comparison import deviations

PACKAGES = ("mujoco", "dm_control", "gymnasium_robotics", "robosuite")
TOLERANCE = 1e-12  # relative deviation that counts as rounding
MOST_VELOCITIES = 400  # of robots that are compared: mass matrices of larger ones take minutes without compilation
HEADER = (
    "file",
    "joints",
    "nv",
    "mass [kg]",
    "ignored",
    "not taken",
    "outcome",
    "M",
    "bias",
    "poses",
    "centre",
    "equality",
)


@dataclass(frozen=True)
class Row:
    """What became of one file."""

    file: str
    outcome: str  # "equal", "differs", "loads", "refused", or "not compiled by MuJoCo"
    joints: int = 0
    nv: int = 0
    mass: float = 0.0
    ignored: int = 0
    unsupported: int = 0
    seconds: float = 0.0
    found: dict[str, float] | None = None
    note: str = ""

    def cells(self) -> list[str]:
        found = self.found or {}
        poses = max(found.get("position", 0.0), found.get("rotation", 0.0))
        values = [
            found.get("M"),
            found.get("bias"),
            poses if found else None,
            found.get("center"),
            found.get("equality"),
        ]
        shown = ["" if x is None else "0" if x == 0.0 else f"{x:.0e}" for x in values]
        counts = [str(self.joints), str(self.nv), f"{self.mass:.6g}", str(self.ignored), str(self.unsupported)]
        return [self.file, *counts, f"{self.outcome} {self.note}".strip(), *shown]


def rows(folder: Path, states: int) -> Iterator[Row]:
    """Read the files of a folder."""
    for path in sorted((*folder.rglob("*.xml"), *folder.rglob("*.mjcf"))):
        if b"<mujoco" in path.read_bytes():
            yield row(path, folder, states)


def row(path: Path, folder: Path, states: int) -> Row:
    """Read one file, which may use files of the whole folder, and compare."""
    name = str(path.relative_to(folder.parent))
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        return Row(name, "not compiled by MuJoCo:", note=" ".join(str(error).split())[:100])
    start = time.perf_counter()
    try:
        robot = lw.load(path, format="mjcf", package_dirs=[folder])
    except ModelError as error:
        return Row(name, "refused:", note=str(error.issues[0].message)[:200])
    seconds = time.perf_counter() - start
    codes = [issue.code for issue in robot.report.warnings]
    known = (len(robot.joints), robot.nv, robot.mass, codes.count("IGNORED"), codes.count("UNSUPPORTED"), seconds)
    if robot.nv > MOST_VELOCITIES:
        return Row(name, "loads", *known, note="(too large to compare here)")
    found = deviations(robot.tree, model, states)
    judged = {key: x for key, x in found.items() if key != "passive" or not codes.count("UNSUPPORTED")}
    wrong = [key for key, x in judged.items() if not x <= TOLERANCE]
    return Row(name, "differs:" if wrong else "equal", *known, found, ", ".join(wrong))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit code is 1 where a robot differs from MuJoCo's model or a file is refused."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mjcf_files", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of models; installed packages by default")
    parser.add_argument("--states", type=int, default=10, help="random states in which each robot is compared")
    parser.add_argument("--all", action="store_true", help="list the files that MuJoCo cannot compile, too")
    chosen = parser.parse_args(arguments)
    folders = chosen.folders or [*_installed()]
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    mujoco.set_mju_user_warning(lambda text: None)
    found: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        for folder in folders:
            for one in rows(folder.resolve(), chosen.states):
                terminal.log.line(f"{one.file}: {one.outcome} {one.note} ({one.seconds:.2f} s)")
                found.append(one)
    terminal.out.lines(table(found if chosen.all else [one for one in found if counted(one)]))
    terminal.out.lines(["", summary(found)])
    return 1 if any(one.outcome in ("differs:", "refused:") for one in found) else 0


def counted(one: Row) -> bool:
    """Whether MuJoCo compiles the file."""
    return not one.outcome.startswith("not compiled")


def table(found: Sequence[Row]) -> list[str]:
    """The rows as a table in Markdown."""
    lines = [HEADER, tuple("---" for _ in HEADER), *(tuple(one.cells()) for one in found)]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]


def summary(found: Sequence[Row]) -> str:
    """How many files load, and how many robots equal MuJoCo's models."""
    those = [one for one in found if counted(one)]
    loaded = [one for one in those if one.outcome != "refused:"]
    equal = [one for one in loaded if one.outcome == "equal"]
    share, moving = 100.0 * len(loaded) / max(1, len(those)), sum(1 for one in loaded if one.nv)
    return (
        f"{len(found)} files; MuJoCo {mujoco.__version__} compiles {len(those)}; linkwork loads {len(loaded)} of these "
        f"({share:.1f} %), {moving} with joints; {len(equal)} equal MuJoCo's model to {TOLERANCE:g}; "
        f"{sum(1 for one in loaded if one.unsupported)} with content that is not taken"
    )


def _installed() -> Iterator[Path]:
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            yield Path(spec.origin).parent


if __name__ == "__main__":
    sys.exit(main())
