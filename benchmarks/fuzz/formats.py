"""Mutations of files of every format, read as trusted and as untrusted files: `python -m benchmarks.fuzz.formats`.

A case changes a few tokens or bytes of a good file.  Reading it must give a result, or the error of its kind:
ModelError for robots, ValueError or FileNotFoundError for meshes and maps.  Everything else is a fault, also a crash of
the library that parses the file.  Cases run in a process that is started anew after a crash.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.fuzz.files import mutated
from benchmarks.fuzz.hostile_run import read

__all__ = ["FORMATS", "fault", "good_file", "main", "outcome", "run"]

_SECONDS = 60  # of one case by the clock, beyond which it hangs
FORMATS = ("urdf", "sdf", "json", "yaml", "xml", "usda", "usdc", "stl", "obj", "ply", "dae", "glb", "zarr", "npz")
FORMATS += ("srdf", "csv", "trajectory.npz")
_TEXTS = ("urdf", "sdf", "json", "yaml", "xml", "usda", "obj", "dae", "srdf", "csv")
_ROBOTS = ("urdf", "sdf", "json", "xml", "usda", "usdc", "srdf")
_EXPECTED = ("ok", "ModelError", "picture", "ValueError", "EmptyMeshError", "FileNotFoundError")


def good_file(kind: str, folder: Path) -> Path:
    """Write a good file of a format, with all that it needs, and return its path."""
    import linkwork as lw

    path = folder / f"good.{kind}"
    arm = lw.load("arm7_gripper" if kind in ("urdf", "sdf") else "double_pendulum")
    match kind:
        case "urdf":
            path.write_bytes(Path(lw.robots.path("arm7_gripper")).read_bytes())
        case "sdf":
            arm.to_sdf(path)
        case "json":
            arm.save(path)
        case "yaml":
            path.write_text("version: 1\nframes:\n- {name: end, on: upper_rod, placement: {xyz: [0, 0, 0.1]}}\n")
        case "xml":
            _mesh(folder / "part.stl")
            lw.load("arm6").to_mjcf(path)
            text = path.read_text().replace("<worldbody>", '<worldbody><geom type="mesh" mesh="part"/>', 1)
            texture = '<texture name="t" type="2d" builtin="checker" width="9" height="9"/>'
            asset = f'<asset><mesh name="part" file="part.stl"/>{texture}</asset>'
            path.write_text(text.replace("<worldbody>", f"{asset}<worldbody>", 1))
        case "usda" | "usdc":
            from pxr import Sdf

            from benchmarks.fuzz.hostile_files import stage_of_two_bodies

            text = stage_of_two_bodies(folder)
            if kind == "usdc":
                Sdf.Layer.FindOrOpen(str(text)).Export(str(path))
            return path if kind == "usdc" else text
        case "srdf":
            path.write_text(
                '<robot name="r"><group name="g"><joint name="elbow"/></group><group_state name="s" group="g">'
                '<joint name="elbow" value="1.5"/></group_state><disable_collisions link1="upper_rod" '
                'link2="lower_rod" reason="Adjacent"/><disable_default_collisions link="upper_rod"/></robot>'
            )
        case "csv" | "trajectory.npz":
            lw.motion.spline([0.0, 1.0, 2.0], [[0.0, 1.0], [1.0, 2.0], [0.5, 0.0]]).save(path)
        case "zarr" | "npz":
            arm.workspace_map(arm.frames[-1], samples=500, path=path, workers=1)
        case _:
            _mesh(path)
    return path


def _mesh(path: Path) -> None:
    import trimesh

    mesh = trimesh.creation.icosphere(subdivisions=1)
    mesh.visual.vertex_colors = [200, 100, 50, 255]
    mesh.export(path)


def _changed(data: bytes, draw: random.Random) -> bytes:
    """Return bytes of which some are changed, cut, left out, repeated, or replaced by extreme numbers."""
    for _ in range(draw.randint(1, 4)):
        at, size = draw.randrange(len(data) or 1), draw.randint(1, 64)
        match draw.choice(("bytes", "bytes", "number", "number", "cut", "delete", "repeat")):
            case "bytes":
                data = data[:at] + draw.randbytes(draw.randint(1, 4)) + data[at + 4 :]
            case "number":
                number = draw.choice((0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**16))
                width = draw.choice((2, 4, 8))
                data = data[:at] + (number % 2 ** (8 * width)).to_bytes(width, "little") + data[at + width :]
            case "cut":
                data = data[:at]
            case "delete":
                data = data[:at] + data[at + size :]
            case _:
                data = data[:at] + data[at : at + size] * draw.choice((2, 20)) + data[at + size :]
    return data


def _case(kind: str, valid: Path, folder: Path, draw: random.Random) -> Path:
    """Write a changed copy of a valid file, and return the path to read."""
    if kind == "zarr":
        import shutil

        path = folder / "case.zarr"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(valid, path)
        chosen = draw.choice(sorted(file for file in path.rglob("*") if file.is_file()))
        data = chosen.read_bytes()
        is_text = chosen.suffix == ".json" and draw.random() < 0.7
        chosen.write_bytes(mutated(data.decode(), draw).encode("utf-8", "replace") if is_text else _changed(data, draw))
        return path
    path = folder / f"case.{kind}"
    data = valid.read_bytes()
    if kind in _TEXTS and draw.random() < 0.8:
        path.write_bytes(mutated(data.decode("utf-8"), draw).encode("utf-8", "surrogatepass"))
    else:
        path.write_bytes(_changed(data, draw))
    return path


def outcome(kind: str, path: Path, trusted: bool) -> str:
    """Return "ok", or the class of the error and its message, of reading a file of a format."""
    import linkwork as lw
    from linkwork.workspace import WorkspaceMap

    robot = "double_pendulum"
    readers: dict[str, Callable[[], object]] = {
        "npz": lambda: WorkspaceMap.load(path, trusted=trusted),
        "yaml": lambda: lw.load(robot, loops=path, trusted=trusted),
        "srdf": lambda: lw.load(robot).with_srdf_document(path.read_bytes()),
        "csv": lambda: lw.motion.Trajectory.load(path, trusted=trusted),
        "trajectory.npz": lambda: lw.motion.Trajectory.load(path, trusted=trusted),
    }
    if kind not in readers:
        return read(path, trusted)
    try:
        readers[kind]()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "ok"


def fault(kind: str, outcome: str) -> bool:
    """Return True for an outcome of a format that is neither a result nor the error of its kind."""
    return not outcome.startswith(_EXPECTED[:2] if kind in _ROBOTS else _EXPECTED)


def _work(kind: str, trusted: bool, seed: int, first: int, count: int) -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        valid = good_file(kind, Path(folder))
        result = outcome(kind, valid, trusted)
        if result != "ok":
            raise SystemExit(f"the good file of {kind} is not read: {result}")
        for number in range(first, count):
            print(json.dumps({"case": number}), flush=True)
            path = _case(kind, valid, Path(folder), random.Random(f"{seed}/{kind}/{number}"))
            signal.alarm(_SECONDS)
            result = outcome(kind, path, trusted)
            signal.alarm(0)
            print(json.dumps({"case": number, "outcome": result[:300]}), flush=True)


def run(kind: str, trusted: bool, seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """Return the numbers of outcomes of mutations of a format, and the faults."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    first = 0
    while first < count:
        command = [sys.executable, "-m", "benchmarks.fuzz.formats", "--work", kind, str(int(trusted)), str(seed)]
        process = subprocess.Popen([*command, str(first), str(count)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        begun = None
        for line in process.stdout:
            data = json.loads(line)
            begun = data["case"]
            if "outcome" in data:
                first, begun = begun + 1, None
                counts[data["outcome"].partition(":")[0].strip()[:40]] += 1
                if fault(kind, data["outcome"]):
                    faults.append(f"case {data['case']}: {data['outcome']}")
        code = process.wait()
        if begun is None:
            if code:
                raise RuntimeError(f"fuzz_formats: {kind}: the process ended with {code} between two cases")
            break
        outcome = "hangs" if code == -signal.SIGALRM else f"crashes with {code}"
        counts[outcome] += 1
        faults.append(f"case {begun}: {outcome}")
        first = begun + 1
    return counts, faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzz; return 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("formats", nargs="*", default=FORMATS, help="formats to change (all)")
    parser.add_argument("--count", type=int, default=10_000, help="number of cases of a format (10000)")
    parser.add_argument("--untrusted", action="store_true", help="read the files as untrusted ones")
    parser.add_argument("--seed", type=int, default=0, help="seed of the cases (0)")
    parser.add_argument("--work", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.work:
        kind, trusted, seed, first, count = chosen.work
        _work(kind, trusted == "1", int(seed), int(first), int(count))
        return 0
    bad = 0
    for kind in chosen.formats:
        counts, faults = run(kind, not chosen.untrusted, chosen.seed, chosen.count)
        bad += len(faults)
        print(f"{kind}: {sum(counts.values())} cases, {len(faults)} faults: {dict(counts.most_common(8))}", flush=True)
        print(*faults[:10], sep="\n", end="\n" if faults else "", flush=True)
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
