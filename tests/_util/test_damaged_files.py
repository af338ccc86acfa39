"""Damaged and foreign files: one kind of error that names the file, or a usable value.

A run of another seed: `LINKWORK_SEED=7 pytest tests/_util/test_damaged_files.py`.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.gantry import gantry
from linkwork.motion import Trajectory
from linkwork.planning import Roadmap
from linkwork.simulation import Simulation

SEED = int(os.environ.get("LINKWORK_SEED", "0"))
CASES = 150
ROBOT, SCENE = gantry(), lw.Scene().with_box("wall", (0.2, 3.0, 1.0))
GARBAGE: list[Any] = [None, True, -1, 10**30, 1.5, "", "x", [], [None], {}, {"a": 1}, ["a", 2], float("nan")]


def damaged_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes changed, cut, taken out or put in."""
    at, size = int(rng.integers(len(data))), int(rng.integers(1, 200))
    match int(rng.integers(4)):
        case 0:
            changed = bytearray(data)
            for _ in range(int(rng.integers(1, 8))):
                changed[int(rng.integers(len(data)))] = int(rng.integers(256))
            return bytes(changed)
        case 1:
            return data[:at]
        case 2:
            return data[:at] + data[at + size :]
        case _:
            return data[:at] + rng.bytes(size) + data[at:]


def damaged_array(x: np.ndarray, rng: np.random.Generator) -> Any:
    """An array of another type or shape, or with numbers that cannot be."""
    match int(rng.integers(9)):
        case 0:
            return x.astype("U5")
        case 1:
            return x[..., None]
        case 2:
            return x[:-1] if x.ndim and len(x) else np.zeros((0, 3))
        case 3:
            return x.astype(complex)
        case 4:
            return np.array(None)
        case 5:
            return np.zeros((0,) * x.ndim)
        case 6:
            return np.concatenate([x.ravel(), x.ravel()])
        case _:
            changed = np.array(x, dtype=float)
            worst = (np.nan, np.inf, -np.inf, 1e300, -1.0, 0.0, 1e18)
            changed.reshape(-1)[int(rng.integers(max(changed.size, 1))) :][:1] = worst[int(rng.integers(len(worst)))]
            return changed


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A file of arrays that is damaged, as a whole or in one of its parts."""
    if rng.random() < 0.4:
        return damaged_bytes(data, rng)
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    said = json.loads(arrays.pop("said").tobytes())
    match int(rng.integers(5)):
        case 0:
            said.pop([*said][int(rng.integers(len(said)))])
        case 1:
            said[[*said][int(rng.integers(len(said)))]] = GARBAGE[int(rng.integers(len(GARBAGE)))]
        case 2:
            arrays.pop([*arrays][int(rng.integers(len(arrays)))])
        case _:
            name = [*arrays][int(rng.integers(len(arrays)))]
            arrays[name] = damaged_array(arrays[name], rng)
    packed = io.BytesIO()
    np.savez(packed, said=np.frombuffer(json.dumps(said).encode(), np.uint8), **arrays, allow_pickle=True)
    return packed.getvalue()


def kinds(folder: Path) -> Iterator[tuple[str, Path, Callable[[Path], Any], Callable[[Any], None]]]:
    """A good file of each kind, what reads it, and what uses what was read."""
    ball = lw.Robot.build("ball", lw.Link("ball", lw.shapes.Sphere(0.1), mass=1.0), floating_base=True)
    q = ball.random_configuration(seed=0, size=4)
    q[:, 4:] = np.arange(12.0).reshape(4, 3)
    spline = ball.spline([0.0, 0.5, 1.0, 2.0], q)
    for name in ("way.npz", "way.csv"):
        spline.save(folder / name)
        yield (
            name,
            folder / name,
            lambda path: Trajectory.load(path, robot=ball),
            lambda trajectory: trajectory([*trajectory.knots[:3], trajectory.knots[-1]]),
        )
    run = ROBOT.simulate([0.1, 0.2], duration=0.02, record=["kinetic_energy"])
    run.save(folder / "run.npz")
    yield "run", folder / "run.npz", lambda path: Simulation.load(path, robot=ROBOT), lambda result: result.explain()
    roadmap = Roadmap(ROBOT, SCENE, num_nodes=30, lazy=True, seed=1)
    roadmap.save(folder / "map.npz")
    yield (
        "map",
        folder / "map.npz",
        lambda path: Roadmap.load(path, ROBOT, SCENE),
        lambda result: result.plan([-1.5, 0.1], [1.5, -0.1], simplify=False),
    )


def loaded(load: Callable[[Path], Any], path: Path) -> tuple[Any, str | None]:
    """Return the loaded value, or the error's message."""
    try:
        return load(path), None
    except ValueError as error:
        return None, str(error)


@pytest.mark.slow(every=5)
@pytest.mark.filterwarnings("ignore")
def test_saved_file_with_damaged_bytes_is_refused_or_read_completely(tmp_path: Path, drawn: Any) -> None:
    rng = np.random.default_rng(SEED)
    for kind, path, load, use in drawn(kinds(tmp_path)):
        content, refused = path.read_bytes(), 0
        load(path)
        bad = path.with_stem(f"bad_{path.stem}")
        for k in range(CASES):
            data = damaged_bytes(content, rng) if path.suffix == ".csv" else damaged(content, rng)
            bad.write_bytes(data)
            loaded_robot, said = loaded(load, bad)
            if said is None:
                use(loaded_robot)
            else:
                assert bad.name in said, (kind, k, said)
                refused += 1
        assert refused > CASES // 3, (kind, refused)


def test_reading_saved_files_never_calls_pickle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files of linkwork's own formats are read while `pickle` raises, also those with objects in them."""
    files = [(path, load) for _, path, load, _ in kinds(tmp_path)]
    ROBOT.save(tmp_path / "robot.json")
    files.append((tmp_path / "robot.json", lw.load))
    suffixes = ("npz", "zarr") if find_spec("zarr") else ("npz",)
    for suffix in suffixes:
        path = tmp_path / f"reach.{suffix}"
        ROBOT.workspace_map(ROBOT.frames[-1], samples=50, path=path, workers=1)
        files.append((path, lw.workspace.WorkspaceMap.load))
    kernel = lw.compile(lambda x: 2.0 * x, x=(3,))
    kernel.save(tmp_path / "kernel.lwk")
    files.append((tmp_path / "kernel.lwk", lw.load_kernel))

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a file is unpickled")

    for name in ("load", "loads", "Unpickler", "_Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    for path, load in files:
        assert load(path) is not None, path
    np.savez(tmp_path / "objects.npz", said=np.array([{"format": "x"}], dtype=object))
    for path, load in files:
        if path.suffix == ".npz":
            shutil.copy(tmp_path / "objects.npz", path)
            with pytest.raises(ValueError, match=path.name):
                load(path)
