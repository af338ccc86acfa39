"""Reading of hostile files in processes of their own: outcome, time and memory, as trusted and as untrusted files."""

from __future__ import annotations

import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.fuzz.hostile_files import FILES, escapes, outside_files
from linkwork._util.reader_process import end_waiting

__all__ = ["main", "measured", "read"]


def read(path: Path, trusted: bool) -> str:
    """Return the outcome of reading a file: "ok", or the class of the error and its code."""
    import warnings

    import linkwork as lw

    warnings.simplefilter("ignore")
    try:
        if path.suffix == ".zarr":
            from linkwork.workspace import WorkspaceMap

            WorkspaceMap.load(path, trusted=trusted)
        elif path.suffix in (".obj", ".glb", ".ply", ".dae", ".stl"):
            from linkwork._util.file_search import FileSearch
            from linkwork.shapes import Mesh, load_mesh
            from linkwork.viewer.mesh_surfaces import mesh_surfaces

            try:
                mesh_surfaces(Mesh(path.name), FileSearch((str(path.parent),), trusted=trusted))
            except ValueError as error:
                first = f"{type(error).__name__}: {error}"
                load_mesh(path.name, path.parent, trusted=trusted)
                return f"picture {first}"
            load_mesh(path.name, path.parent, trusted=trusted)
        else:
            lw.load(path, trusted=trusted)
    except Exception as error:
        return f"{type(error).__name__} {getattr(error, 'code', '')}: {str(error)[:300]}"
    return "ok"


def measured(path: Path, trusted: bool) -> tuple[str, float, float]:
    """Return the outcome of reading a file in a new process, the time [s], and the peak memory [MiB] of a process.

    The time is that of the processor, with all processes; other programs do not change it.
    """
    command = [sys.executable, "-m", "benchmarks.fuzz.hostile_run", "--one", str(path), str(int(trusted))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "hangs", 300.0, 0.0
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return f"ended with {done.returncode}: {done.stderr[-200:]}", 0.0, 0.0
    answer = json.loads(lines[-1])
    return answer["outcome"], answer["seconds"], answer["megabytes"]


def _one(path: str, trusted: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    outcome = read(Path(path), trusted == "1")
    end_waiting()  # the system counts processes that have ended
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds, peak = (
        sum(usage.ru_utime + usage.ru_stime for usage in used),
        max(usage.ru_maxrss for usage in used) / 1024,
    )
    print(json.dumps({"outcome": outcome, "seconds": seconds, "megabytes": peak}), flush=True)
    os._exit(0)


def opened_outside(trusted: bool, most: int | None = None) -> tuple[int, list[str]]:
    """Return the number of attempts to leave a folder, and the opened files outside, by system calls (strace)."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "calls"
        case_folder = Path(folder) / "case"
        command = ["strace", "-f", "-y", "-qq", "-o", str(log), "-e", "trace=open,openat,openat2,chdir"]
        command += [
            sys.executable,
            "-m",
            "benchmarks.fuzz.hostile_run",
            "--escape",
            str(case_folder),
            str(int(trusted)),
            str(most or 10**6),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        attempt = ""
        for line in log.read_text(errors="replace").splitlines():
            if "chdir(" in line and "/inside/" in line:
                attempt = line.partition('"')[2].partition('"')[0]
            if attempt and "/outside/" in line.rpartition(" = ")[2]:  # the path of the opened file
                results.append(f"{attempt}: {line}")
    return int(done.stdout.split()[-1]), results


def _escape(folder: str, trusted: str, most: str) -> None:
    """Read every file of `escapes`, from its own folder."""
    outside_files(Path(folder))
    attempts = [*itertools.islice(escapes(Path(folder)), int(most))]
    for _, path in attempts:
        os.chdir(path.parent)
        outcome = read(path, trusted == "1")
        print(path, outcome[:150], file=sys.stderr)
    print(len(attempts), flush=True)


def main(arguments: Sequence[str] = sys.argv[1:]) -> int:
    """Read all hostile files, or those named; return 1 if one of them is read badly."""
    if arguments[:1] == ["--one"]:
        _one(*arguments[1:])
    if arguments[:1] == ["--escape"]:
        _escape(*arguments[1:])
        return 0
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments or FILES:
            case_path = Path(folder) / name
            case_path.mkdir()
            path = FILES[name](case_path)
            for trusted in (False, True):
                outcome, seconds, megabytes = measured(path, trusted)
                most: Any = (30.0, 2000.0) if trusted else (10.0, 500.0)
                fine = (
                    seconds <= most[0]
                    and megabytes <= most[1]
                    and outcome.startswith(("ok", "ModelError", "ValueError", "picture"))
                )
                fine = fine and not (case_path / "code_ran").exists()
                bad += not fine
                print(
                    f"{'' if fine else 'BAD '}{name} trusted={trusted}: {seconds:.1f} s, {megabytes:.0f} MB, {outcome}",
                    flush=True,
                )
    if not arguments and shutil.which("strace"):
        for trusted in (False, True):
            number, opened = opened_outside(trusted)
            bad += len(opened)
            print(
                f"{number} attempts to leave a folder, trusted={trusted}: {len(opened)} opened a file",
                *opened,
                sep="\n",
            )
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
