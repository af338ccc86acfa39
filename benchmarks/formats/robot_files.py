"""`python -m benchmarks.formats.robot_files FOLDER ...`: read robot files, and compare with other libraries.

Files of all formats that `linkwork.load` reads are read.  Robots of MJCF files are compared with MuJoCo, and those of
URDF files with Pinocchio, at random states, where these are installed.  An MJCF file that MuJoCo itself cannot compile
is not counted: it is a fragment that other files include, or a broken one; nor is a USD layer without bodies.  Without
folders, the bundled robots, those of the tests, and those of installed packages are read (example-robot-data, mujoco,
dm_control, gymnasium_robotics, robosuite).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import linkwork as lw
from linkwork.cli.output import Stream, Terminal
from linkwork.errors import ModelError, ModelWarning
from linkwork.formats import registry

__all__ = ["HEADER", "TOTALS_HEADER", "Row", "main", "markdown", "row", "rows", "summary", "totals"]

PACKAGES = ("mujoco", "dm_control", "gymnasium_robotics", "robosuite")
DISTRIBUTIONS = ("example-robot-data",)  # whose robots are in their folder "robots"
TESTS = tuple(Path(__file__).parents[2] / "tests" / "formats" / name for name in ("saved", "sdf", "usd/converted"))
TOLERANCE = 1e-12  # relative deviation that counts as rounding
MOST_VELOCITIES = 400  # of robots that are compared: mass matrices of larger ones take minutes without compilation
REFUSED, FAILS, DIFFERS = "refused", "fails", "differs"
QUANTITIES = ("M", "force", "poses", "centre", "equality")
HEADER = ("file", "format", "joints", "nv", "mass [kg]", "notes", "warnings", "outcome", *QUANTITIES)
TOTALS_HEADER = ("folder", "format", "files", "load", "share", "with joints", "compared", "equal", "with warnings")


@dataclass(frozen=True)
class Row:
    """Outcome of one file.

    ``outcome`` is "loads"; for compared robots "equal" or "differs"; "refused" with the error's ``code``; "fails" for
    any other error; or why the file is not counted.
    """

    file: str
    format: str
    outcome: str
    code: str = ""
    note: str = ""
    is_counted: bool = True
    joints: int = 0
    nv: int = 0
    mass: float = 0.0
    notes: int = 0
    warnings: int = 0
    seconds: float = 0.0
    beside: str = ""  # the library with its version
    deviations: dict[str, float] = field(default_factory=dict)  # relative, by quantity

    @property
    def loads(self) -> bool:
        return self.is_counted and self.outcome not in (REFUSED, FAILS)

    def cells(self) -> list[str]:
        """Return the cells of the row in the table."""
        shown = ["" if x is None else "0" if x == 0.0 else f"{x:.0e}" for x in map(self.deviations.get, QUANTITIES)]
        counts = [str(self.joints), str(self.nv), f"{self.mass:.6g}", str(self.notes), str(self.warnings)]
        counts = counts if self.loads else [""] * len(counts)
        summary = " ".join(filter(None, (self.outcome, self.code, f"({self.note})" if self.note else "")))
        return [self.file, self.format, *counts, summary, *shown]


def rows(folder: Path, states: int) -> Iterator[Row]:
    """Read the robot files of a folder."""
    for path in sorted(folder.rglob("*")):
        result = _format_of(path)
        if result is not None:
            yield row(path, folder, states, result)


def _format_of(path: Path) -> registry.Format | None:
    """Return the format of a robot file; None for another file, or one that only a suffix takes for a robot's."""
    suffix = path.suffix.lower()
    if suffix != ".xml" and not any(suffix in entry.suffixes for entry in registry.FORMATS):
        return None
    try:
        result = registry.find_format(path)
    except (ModelError, OSError):
        return registry.format_named("urdf") if suffix == ".urdf" and path.is_file() else None
    if suffix == ".json":
        with path.open("rb") as file:
            return result if b"".join(file.read(100).split()).startswith(result.starts) else None
    return None if result.name == "cell" else result


def row(path: Path, folder: Path, states: int, read: registry.Format | None = None) -> Row:
    """Read one file, which may use files of the whole folder, and compare."""
    read = read or registry.find_format(path)
    known = Row(path.relative_to(folder.parent).as_posix(), read.name, "loads")
    model = None
    if read.name == "mjcf" and importlib.util.find_spec("mujoco"):
        import mujoco

        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            note = " ".join(str(error).split())[:100]
            return replace(known, outcome="not compiled by MuJoCo", note=note, is_counted=False)
    roots = [root for root in (folder, folder / "models") if root.is_dir()]
    options: dict[str, Any] = {"package_dirs": roots} if "package_dirs" in read.options else {}
    start = time.perf_counter()
    try:
        robot = lw.load(path, format=read, **options)
    except ModelError as error:
        if read.name == "usd" and error.code == "NO_LINKS":
            return replace(known, outcome="no robot", note=error.issues[0].message, is_counted=False)
        return replace(known, outcome=REFUSED, code=error.code, note=error.issues[0].message[:200])
    except ImportError as error:
        return replace(known, outcome="not read", note=str(error), is_counted=False)
    except Exception as error:
        return replace(known, outcome=FAILS, note=f"{type(error).__name__}: {error}"[:200])
    repairs = robot.report.repairs
    known = replace(
        known,
        joints=len(robot.joints),
        nv=robot.nv,
        mass=robot.mass,
        notes=len(robot.report.warnings) - len(repairs),
        warnings=len(repairs),
        seconds=time.perf_counter() - start,
    )
    if robot.nv > MOST_VELOCITIES:
        return replace(known, note="too large to compare here")
    if model is not None:
        return _beside_mujoco(known, robot, model, states)
    return _beside_pinocchio(known, robot, states) if read.name == "urdf" else known


def _beside_mujoco(known: Row, robot: lw.Robot, model: Any, states: int) -> Row:
    import mujoco

    from benchmarks.formats.mjcf_comparison import deviations

    result = deviations(robot.tree, model, states)
    if any(issue.code == "UNSUPPORTED" for issue in robot.report.warnings):
        result.pop("passive", None)  # forces that are named as not taken
    shown = {"M": result.get("M"), "force": result.get("bias"), "centre": result.get("center")}
    shown |= {"poses": max(result["position"], result["rotation"]), "equality": result["equality"]}
    further = {name: result[name] for name in ("mass", "passive") if name in result}
    return _judged(known, f"MuJoCo {mujoco.__version__}", {**shown, **further})


def _beside_pinocchio(known: Row, robot: lw.Robot, states: int) -> Row:
    try:
        result = robot.compare_with_library("pinocchio", samples=states, seed=0)
    except ValueError as error:
        return replace(known, note=f"not compared: {error}"[:200])
    largest: dict[str, float] = {}
    for quantity in result.quantities:
        first = quantity.quantity.split()[0]
        name = {"mass": "M", "gravity": "force", "position": "poses", "orientation": "poses"}.get(first)
        if name is not None:
            largest[name] = max(largest.get(name, 0.0), quantity.largest)
    return _judged(known, result.right, largest)


def _judged(known: Row, beside: str, result: Mapping[str, float | None]) -> Row:
    those = {name: x for name, x in result.items() if x is not None}
    wrong = [name for name, x in those.items() if not x <= TOLERANCE]
    outcome = DIFFERS if wrong else "equal"
    return replace(known, outcome=outcome, note=", ".join(wrong), beside=beside, deviations=those)


def totals(result: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the numbers of files by folder and format, and of all; the last is the sum."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in result:
        if row.is_counted:
            groups.setdefault((Path(row.file).parts[0], row.format), []).append(row)
    every = [row for those in groups.values() for row in those]
    return [_total(*name, those) for name, those in (*groups.items(), (("all", ""), every))]


def _total(folder: str, name: str, those: Sequence[Row]) -> tuple[str, ...]:
    loaded = [row for row in those if row.loads]
    counts = (
        sum(row.joints > 0 for row in loaded),
        sum(bool(row.beside) for row in loaded),
        sum(row.outcome == "equal" for row in loaded),
        sum(row.warnings > 0 for row in loaded),
    )
    share = f"{100.0 * len(loaded) / max(1, len(those)):.1f} %"
    return folder, name, str(len(those)), str(len(loaded)), share, *map(str, counts)


def summary(result: Sequence[Row]) -> str:
    """Return the number of files that load, and of robots that equal those of other libraries."""
    _, _, files, loaded, share, moving, compared, equal, warned = totals(result)[-1]
    beside = " and ".join(dict.fromkeys(row.beside for row in result if row.beside)) or "no library"
    return (
        f"{files} files, and {sum(not row.is_counted for row in result)} that are not counted; linkwork loads {loaded} "
        f"({share}), {moving} with joints; {equal} of {compared} that are compared with {beside} are equal to "
        f"{TOLERANCE:g}; {warned} have warnings"
    )


def markdown(result: Sequence[Row]) -> list[str]:
    """Return the summary, the totals and the table of all counted files in Markdown."""
    table = [tuple(row.cells()) for row in result if row.is_counted]
    return [f"{summary(result)}.", "", *_table(TOTALS_HEADER, totals(result)), "", *_table(HEADER, table)]


def _table(header: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *cells]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; the exit code is 1 where a robot differs from another library's, or a file is refused."""
    about = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formats.robot_files", description=about[2])
    parser.add_argument("folders", nargs="*", type=Path, help="folders of robots; installed packages by default")
    parser.add_argument("--states", type=int, default=10, help="random states in which each robot is compared (10)")
    parser.add_argument("--markdown", action="store_true", help="print the summary and tables in Markdown")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    chosen = parser.parse_args(arguments)
    folders = [folder.resolve() for folder in chosen.folders] or [*_installed()]
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    if importlib.util.find_spec("mujoco"):
        import mujoco

        mujoco.set_mju_user_warning(lambda text: None)
    results: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        for folder in folders:
            for state in rows(folder, chosen.states):
                line = f"{state.file}: {state.outcome} {state.code} {state.note} ({state.seconds:.2f} s)"
                (terminal.log if chosen.markdown or chosen.json else terminal.out).line(line)
                results.append(state)
    if chosen.json:
        document = {"files": [asdict(state) for state in results], "summary": summary(results)}
        terminal.out.line(json.dumps(document, indent=1, allow_nan=False))
    else:
        terminal.out.lines(
            markdown(results) if chosen.markdown else ["", *map(" ".join, totals(results)), summary(results)]
        )
    return 1 if any(state.outcome in (DIFFERS, REFUSED, FAILS) for state in results) else 0


def _installed() -> Iterator[Path]:
    yield Path(lw.robots.path("double_pendulum")).parents[1]
    yield from TESTS
    for name in DISTRIBUTIONS:
        try:
            files = importlib.metadata.files(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        result = next((Path(str(file.locate())) for file in files if "robots" in file.parts), None)
        if result is not None:
            yield next(folder for folder in result.parents if folder.name == "robots").parent
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            yield Path(spec.origin).parent


if __name__ == "__main__":
    sys.exit(main())
