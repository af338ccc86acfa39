"""Workspace maps: measures by voxel against NumPy, equality to the bit, files, stops, and refused arguments."""

from __future__ import annotations

import pickle
import re
import shutil

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.workspace import WorkspaceMap
from linkwork.workspace.block_evaluation import BlockEvaluator, with_unit
from linkwork.workspace.map_job import BLOCK, JACOBIAN_ROWS, read_job
from linkwork.workspace.voxel_counts import (
    FIELDS,
    NUM_DIRECTIONS,
    BoxTooLargeError,
    SparseCounts,
    VoxelCounts,
    bin_centers,
    direction_bin,
)

DEFAULTS = {
    "seed": 0,
    "voxel_size": 0.1,
    "relative_to": "world",
    "approach_axis": "z",
    "part": "position",
    "collision": None,
    "margin": 0.0,
    "position_limits": None,
    "configuration": None,
}


def job_of(robot, frame, scene=None, **options):
    return with_unit(read_job(robot, frame, scene, **{"samples": 3000, **DEFAULTS, **options}))


@pytest.fixture(scope="module")
def arm():
    return lw.load("arm7")


@pytest.mark.costly
@pytest.mark.parametrize("part", ["position", "angular", "all"])
def test_workspace_map_values_are_those_of_the_robots_functions(arm, part):
    scene = lw.Scene().with_box("wall", (0.2, 2.0, 2.0), (0.6, 0.0, 0.5))
    options = {"part": part, "approach_axis": "-x", "relative_to": "shoulder", "samples": 2000}
    result = arm.workspace_map("hand", scene, voxel_size=0.25, margin=0.01, workers=1, **options)
    q = BlockEvaluator(job_of(arm, "hand", scene, margin=0.01, **options)).configurations(0)
    assert q.shape == (2000, 7) and (q >= arm.lower).all() and (q <= arm.upper).all()
    assert np.ptp(q[:, 0]) == 0.0 and (np.ptp(q[:, 1:], axis=0) > 1.5).all()  # the first joint moves the shoulder too
    X = arm.pose(q, "hand", relative_to="shoulder")
    cells = np.floor(X[:, :3, 3] / 0.25).astype(int)
    free = ~arm.in_collision(q, scene, margin=0.01)
    assert 0.2 < free.mean() < 0.98
    moving = np.array(arm.jacobian(q, "hand", relative_to="shoulder"))[:, JACOBIAN_ROWS[part]]
    singular = np.linalg.svd(moving, compute_uv=False)
    w = arm.manipulability(q, "hand", relative_to="shoulder", part=part)
    half = 0.5 * (arm.upper - arm.lower)[1:]
    margin = 1.0 - (np.abs(q[:, 1:] - 0.5 * (arm.lower + arm.upper)[1:]) / half).max(axis=1)
    bins = np.array([int(direction_bin(list(-x))) for x in X[:, :3, 0]])
    assert result.reached.sum() == 2000 and result.collision_free.sum() == free.sum()
    for k, cell in enumerate(result.cells):
        inside = (cells == cell).all(axis=1)
        assert result.reached[k] == inside.sum() > 0
        inside &= free
        assert result.collision_free[k] == inside.sum()
        if inside.any():
            assert result.max_manipulability[k] == pytest.approx(w[inside].max(), rel=1e-9, abs=1e-12)
            assert result.mean_manipulability[k] == pytest.approx(w[inside].mean(), rel=1e-9, abs=1e-12)
            condition = (singular[:, -1] / singular[:, 0])[inside]
            assert result.max_inverse_condition[k] == pytest.approx(condition.max(), abs=1e-9)
            assert result.mean_inverse_condition[k] == pytest.approx(condition.mean(), abs=1e-9)
            assert result.limit_margin[k] == pytest.approx(margin[inside].max(), abs=1e-12)
        assert set(np.flatnonzero(result.directions[k])) == set(bins[inside])
        assert result.orientation_coverage[k] == len(set(bins[inside])) / NUM_DIRECTIONS


def test_queries_of_a_workspace_map_agree_with_its_voxels(arm):
    result = arm.workspace_map("hand", samples=3000, voxel_size=0.2, workers=1)
    html = result._repr_html_()
    assert "<iframe srcdoc=" in html and "no picture" not in html
    assert result.reachable(result.points).tolist() == (result.collision_free > 0).tolist()
    for name, values in result.values.items():
        assert result.at(name, result.points).tolist() == values.tolist()
        grid, corner = result.grid(name)
        index = np.rint((result.points - corner) / 0.2 - 0.5).astype(int)
        assert grid[tuple(index.T)].tolist() == values.tolist() and grid.sum() == pytest.approx(values.sum())
        everywhere = corner + 0.2 * (np.stack(np.indices(grid.shape), axis=-1) + 0.5)  # also in voxels without samples
        assert (result.reached < 1).sum() < grid.size and np.array_equal(result.at(name, everywhere), grid)
    assert result.volume == pytest.approx(0.2**3 * (result.collision_free > 0).sum())
    assert not result.reachable([[9.0, 9.0, 9.0], [-9.0, 0.0, 0.0]]).any()
    assert result.at("reached", np.zeros((2, 0, 3))).shape == (2, 0)
    assert pickle.loads(pickle.dumps(result)) == result and "hand" in repr(result) and len(result) == len(result.cells)
    with pytest.raises(ValueError, match=r"at: name: .*limit_margin"):
        result.at("limit_margins", [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"points: expected an array of finite numbers of shape \(..., 3\)"):
        result.reachable([0.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        result.reached[0] = 0


def test_approach_directions_of_workspace_maps_are_divided_into_equal_areas():
    n = 200_000
    x = np.random.default_rng(0).normal(size=(n, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    bins = np.asarray(direction_bin(list(x.T))).astype(int)
    counts = np.bincount(bins, minlength=NUM_DIRECTIONS)
    assert len(counts) == NUM_DIRECTIONS and np.abs(counts * NUM_DIRECTIONS / n - 1.0).max() < 5.0 * (64 / n) ** 0.5
    assert [int(direction_bin(list(c))) for c in bin_centers()] == [*range(NUM_DIRECTIONS)]
    np.testing.assert_allclose(np.linalg.norm(bin_centers(), axis=1), 1.0, atol=1e-15)
    assert (np.einsum("ij,ij->i", x, bin_centers()[bins]) > 0.9).all()  # each region is compact
    for edge in ([0.0, -0.0, 1.0], [1.0, -0.0, 0.0], [1.0, -1e-320, 0.0], [-1.0, 0.0, -0.0], [0.0, 0.0, -1.0]):
        assert 0 <= int(direction_bin(edge)) < NUM_DIRECTIONS


@pytest.mark.slow(every=5)
def test_workspace_maps_computed_in_any_order_are_equal_bit_for_bit(arm):
    job = job_of(arm, "hand", samples=4 * BLOCK + 500)
    evaluator = BlockEvaluator(job)
    whole = evaluator.counts(0, 5)
    for chunks in ([(4, 5), (0, 1), (2, 4), (1, 2)], [(1, 5), (0, 1)]):
        total = VoxelCounts()
        for chunk in chunks:
            total.merge(evaluator.counts(*chunk))
        sparse = total.sparse()
        assert np.array_equal(whole.cells, sparse.cells)
        assert all(np.array_equal(whole.fields[name], sparse.fields[name]) for name in FIELDS)
    q = np.concatenate([evaluator.configurations(block) for block in range(5)])
    assert len(q) == job.samples and len(np.unique(q[:, 0])) > 0.999 * len(q)


@pytest.mark.slow(every=9)
def test_worker_processes_compute_the_same_workspace_map(arm, tmp_path):
    options = {"samples": 3 * BLOCK, "voxel_size": 0.1}
    single_map = arm.workspace_map("hand", workers=1, **options)
    reports = []
    two = arm.workspace_map(
        "hand", workers=2, chunk=1, path=tmp_path / "map.npz", progress=lambda p: reports.append(p.done), **options
    )
    assert single_map == two == WorkspaceMap.load(tmp_path / "map.npz") and reports == [BLOCK, 2 * BLOCK, 3 * BLOCK]
    assert [file.name for file in tmp_path.iterdir()] == ["map.npz"]
    assert single_map != arm.workspace_map("hand", workers=1, seed=1, **options)


class StopError(Exception):
    pass


@pytest.mark.slow(every=9)
def test_interrupted_workspace_map_can_be_continued(arm, tmp_path, monkeypatch):
    options = {"samples": 5 * BLOCK, "voxel_size": 0.1, "workers": 1, "chunk": BLOCK}
    whole = arm.workspace_map("hand", **options)
    path, folder = tmp_path / "map.npz", tmp_path / "map.npz.chunks"

    def stop(progress):
        if progress.done >= 3 * BLOCK:
            raise StopError

    with pytest.raises(StopError, match=r"^$"):
        arm.workspace_map("hand", path=path, progress=stop, **options)
    chunks = sorted(folder.glob("chunk-*.npz"))
    assert len(chunks) == 3 and not path.exists()
    for change in ({"seed": 1}, {"samples": 6 * BLOCK}, {"voxel_size": 0.2}, {"position_limits": {"elbow": (-1, 0)}}):
        with pytest.raises(ValueError, match=f"map.npz.chunks.*another map: of ({next(iter(change))}|a robot)"):
            arm.workspace_map("hand", path=path, **{**options, **change})
    with pytest.raises(ValueError, match="another map: of frame 'hand', not 'flange'"):
        arm.workspace_map("flange", path=path, **options)

    shutil.copy(chunks[1], folder / "chunk-copy.npz")  # the same blocks twice
    damaged = folder / "chunk-damaged.npz"
    damaged.write_bytes(chunks[0].read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"^workspace_map: path: .*chunk-damaged.npz: not a file"):
        arm.workspace_map("hand", path=path, **options)
    damaged.unlink()
    computed = []
    counts = BlockEvaluator.counts
    monkeypatch.setattr(BlockEvaluator, "counts", lambda self, b, e: (computed.append((b, e)), counts(self, b, e))[1])
    reports = []
    assert arm.workspace_map("hand", path=path, progress=reports.append, **options) == whole
    assert computed == [(3, 4), (4, 5)] and reports[-1].done == 5 * BLOCK and not folder.exists()
    folder.mkdir()  # as if the last call had been stopped before it deleted the folder
    assert arm.workspace_map("hand", path=path, **options) == whole and len(computed) == 2  # read from the file
    assert not folder.exists()
    with pytest.raises(ValueError, match="another map: of seed 0, not 1"):
        arm.workspace_map("hand", path=path, **{**options, "seed": 1})
    assert arm.workspace_map("hand", path=path, overwrite=True, **options) == whole and len(computed) == 7


@pytest.mark.slow(every=5)
def test_many_chunks_of_a_workspace_map_are_merged_into_one_file(arm, tmp_path, monkeypatch):
    from linkwork.workspace import chunk_ledger

    monkeypatch.setattr(chunk_ledger, "_MAX_FILES", 2)
    options = {"samples": 5 * BLOCK, "voxel_size": 0.2, "workers": 1, "chunk": BLOCK, "path": tmp_path / "map.npz"}

    def stop(progress):
        if progress.done == 5 * BLOCK:
            raise StopError

    with pytest.raises(StopError, match=r"^$"):
        arm.workspace_map("hand", progress=stop, **options)
    assert len([*(tmp_path / "map.npz.chunks").glob("chunk-*.npz")]) == 3
    result = arm.workspace_map("hand", **options)
    assert result == arm.workspace_map("hand", **{**options, "path": None})


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("suffix", [".npz", ".zarr"])
def test_damaged_and_unsuitable_workspace_map_files_raise_errors(arm, tmp_path, suffix):
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    path = tmp_path / f"map{suffix}"
    result = arm.workspace_map("hand", samples=2000, voxel_size=0.2, workers=1, path=path)
    assert WorkspaceMap.load(path) == result
    result.save(path)
    assert WorkspaceMap.load(str(path)) == result and [file.name for file in tmp_path.iterdir()] == [path.name]

    def spoilt(name, change):
        identity, counts = dict(result._identity), {n: x.copy() for n, x in result._fields.items()}
        cells = result.cells.copy()
        change(identity, cells, counts)
        WorkspaceMap._make(identity, SparseCounts(cells, counts)).save(tmp_path / f"{name}{suffix}")
        return tmp_path / f"{name}{suffix}"

    for name, change, message in (
        ("size", lambda i, c, f: i.update(voxel_size=-1.0), "voxel_size: expected a positive number"),
        ("missing", lambda i, c, f: i.pop("frame"), "expected a dict with the keys"),
        ("kind", lambda i, c, f: i.update(frame=3), "frame: expected str"),
        ("order", lambda i, c, f: c.__setitem__(slice(None), c[::-1].copy()), "distinct voxels in ascending order"),
        ("count", lambda i, c, f: f["reached"].__setitem__(0, 0), "1 <= reached"),
        ("nan", lambda i, c, f: f["manipulability_max"].__setitem__(0, np.nan), "finite numbers"),
        ("share", lambda i, c, f: f["limit_margin_max"].__setitem__(0, 1.5), "numbers from 0 to 1"),
        ("type", lambda i, c, f: f.update(reached=f["reached"].astype(np.int32)), "expected int64"),
        ("length", lambda i, c, f: f.update(reached=f["reached"][1:]), "expected"),
    ):
        with pytest.raises(ValueError, match=f"{name}{suffix}: not a (file|store) that WorkspaceMap.save.*{message}"):
            WorkspaceMap.load(spoilt(name, change))
    foreign = tmp_path / f"foreign{suffix}"
    if suffix == ".npz":
        np.savez(foreign, cells=np.zeros((1, 3)))
        (tmp_path / "cut.npz").write_bytes(path.read_bytes()[:1000])
    else:
        foreign.mkdir()
        (foreign / "notes.txt").write_text("mine")
        shutil.copytree(path, tmp_path / "cut.zarr")
        (tmp_path / "cut.zarr" / "reached" / "zarr.json").write_text("{}")
        shutil.copytree(path, tmp_path / "without.zarr")
        (tmp_path / "without.zarr" / "direction_bits" / "c" / "0").unlink()  # Zarr reads zeros instead
        with pytest.raises(ValueError, match=r"without.zarr: .*another digest"):
            WorkspaceMap.load(tmp_path / "without.zarr")
    for file in (foreign, tmp_path / f"cut{suffix}"):
        with pytest.raises(ValueError, match=rf"^WorkspaceMap.load: path: .*{file.name}: "):
            WorkspaceMap.load(file)
        with pytest.raises(ValueError, match=rf"^workspace_map: path: .*{file.name}: "):
            arm.workspace_map("hand", samples=2000, voxel_size=0.2, workers=1, path=file)
    if suffix == ".zarr":
        with pytest.raises(ValueError, match="expected a Zarr store, got another folder"):
            result.save(foreign)
        assert (foreign / "notes.txt").read_text() == "mine"
    with pytest.raises(FileNotFoundError, match=f"none{suffix}"):
        WorkspaceMap.load(tmp_path / f"none{suffix}")


def _cam(advance, code):
    """The class of a joint with this code of its position along z."""
    space = {"__name__": __name__}
    exec(f"def X(self, q):\n    return Pose(Rotation.about(self.axis, q[0]), self.axis * ({code}))", CAM_GLOBALS, space)
    fields = {"nq": 1, "nv": 1, "q_units": ("rad",), "v_units": ("rad/s",), "axis": lw.spatial.Vec3(0.0, 0.0, 1.0)}
    kind = type(
        "Cam", (lw.joints.JointType,), {**fields, "advance": advance, "X": space["X"], "__hash__": object.__hash__}
    )
    links = lw.Link("base", mass=1.0), lw.Link("arm", mass=1.0, frames={"tip": (0.5, 0.0, 0.0)})
    return lw.Robot.build("cam", *links, lw.Joint.of(kind(), name="cam", parent="base", child="arm", lower=-1, upper=1))


CAM_GLOBALS = {"Pose": lw.spatial.Pose, "Rotation": lw.spatial.Rotation}


def test_workspace_map_of_a_users_joint_with_changed_code_is_refused(tmp_path):
    options = {"samples": 500, "workers": 1, "path": tmp_path / "map.npz"}
    result = _cam(0.2, "self.advance * q[0]").workspace_map("tip", **options)
    assert _cam(0.2, "self.advance * q[0]").workspace_map("tip", **options) == result
    for changed in (_cam(0.3, "self.advance * q[0]"), _cam(0.2, "self.advance * q[0] * q[0]")):
        with pytest.raises(ValueError, match="with other values or code"):
            changed.workspace_map("tip", **options)


def test_workspace_map_keeps_joints_that_do_not_move_the_frame_fixed(arm):
    q = arm.neutral()
    q[-1] = 3.5  # beyond the limits, as given; a default is within them
    options = {"relative_to": "base", "samples": 500}
    drawn = BlockEvaluator(job_of(arm, "forearm_distal", configuration=q, **options)).configurations(0)
    moving = [joint.name for joint in arm.joints if joint.name in arm.moving_joints("forearm_distal")]
    fixed_joints = np.setdiff1d(np.arange(arm.nq), arm.q_index(moving))
    assert (
        len(fixed_joints)
        and (drawn[:, fixed_joints] == q[fixed_joints]).all()
        and (np.ptp(drawn[:, arm.q_index(moving)], axis=0) > 0).all()
    )


def test_invalid_arguments_of_workspace_maps_are_refused(arm, tmp_path):
    four_bar = lw.load("fourbar")
    box = lw.Scene().with_sphere("ball", 0.1, (0.4, 0.0, 0.5))
    for options, kind, message in (
        ({"frame": "hnd"}, UnknownNameError, "did you mean 'hand'"),
        ({"relative_to": "wrld"}, UnknownNameError, "did you mean 'world'"),
        ({"relative_to": "hand"}, ValueError, "no joint moves 'hand' relative to 'hand'"),
        ({"samples": 0}, ValueError, "samples: expected an integer from 1"),
        ({"samples": 1e6}, (TypeError, ValueError), "samples: expected an integer from 1 to"),
        ({"samples": 2**35}, ValueError, "samples: expected an integer from 1 to"),
        ({"chunk": 10**30}, ValueError, "chunk: expected an integer from 1 to"),
        ({"voxel_size": 0.0}, ValueError, "voxel_size: expected a finite number"),
        ({"voxel_size": np.nan}, ValueError, "voxel_size: expected a finite number"),
        ({"voxel_size": 1e-3}, ValueError, "voxel_size: expected at least some 0.0"),
        ({"seed": -1}, ValueError, "seed: expected an integer from 0 to"),
        ({"approach_axis": "w"}, ValueError, "approach_axis: expected one of 'x', 'y', 'z'"),
        ({"part": "linear"}, ValueError, "part: expected one of 'position', 'angular'"),
        ({"margin": np.inf}, ValueError, "margin: expected a finite number"),
        ({"scene": box, "collision": False}, ValueError, "scene: expected collision=True"),
        ({"scene": "ball"}, TypeError, "scene: expected a linkwork"),
        ({"position_limits": {"elbw": (0, 1)}}, UnknownNameError, "did you mean 'elbow'"),
        ({"position_limits": {"elbow": (1, 2)}}, ValueError, "empty range"),
        ({"configuration": np.zeros((2, 7))}, ValueError, r"configuration: expected an array of shape \(7,\)"),
        ({"workers": 0}, ValueError, "workers: expected an integer from 1 to 1024"),
        ({"workers": 1, "scheduler": "tcp://127.0.0.1:1"}, ValueError, "workers: expected None with a scheduler"),
        ({"scheduler": 3}, TypeError, "scheduler: expected the address"),
        ({"scheduler": "localhost"}, ValueError, "scheduler: expected an address such as"),
        ({"chunk": 0}, ValueError, "chunk: expected an integer"),
        ({"path": "map.txt"}, ValueError, "ends in .npz or .zarr"),
        ({"path": tmp_path / "none" / "map.npz"}, FileNotFoundError, "create it first"),
        ({"progress": 3}, TypeError, "progress: expected True, False or a function of"),
    ):
        arguments = {"frame": "hand", "samples": 1000, **options}
        with pytest.raises(kind, match=message):
            arm.workspace_map(**arguments)
    with pytest.raises(ValueError, match="without kinematic loops"):
        four_bar.workspace_map(four_bar.frames[-1], samples=100)
    (tmp_path / "map.npz.chunks").mkdir()
    (tmp_path / "map.npz.chunks" / "notes.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(ValueError, match=r"is not a chunk of a map|with other files"):
            arm.workspace_map("hand", samples=1000, path=tmp_path / "map.npz", overwrite=overwrite)
    assert (tmp_path / "map.npz.chunks" / "notes.txt").read_text() == "mine"


@pytest.mark.slow(every=5)
def test_errors_about_workspace_maps_name_coordinates_without_limits():
    robot = lw.load("arm7", floating_base=True)
    with pytest.raises(ValueError, match=r"position_limits: coordinate 'floating_base.x' .*or relative_to="):
        robot.workspace_map("hand", samples=100)
    fixed = lw.load("arm7").workspace_map("hand", samples=1000, voxel_size=0.2, relative_to="base")
    moving = robot.workspace_map("hand", samples=1000, voxel_size=0.2, relative_to="base")
    assert np.array_equal(fixed.cells, moving.cells) and np.array_equal(fixed.reached, moving.reached)
    limits = {f"floating_base.{x}": (-1.0, 1.0) for x in "xyz"}
    assert robot.workspace_map("hand", samples=1000, voxel_size=0.2, position_limits=limits).reached.sum() == 1000


def test_workspace_maps_with_too_many_voxels_are_refused():
    counts = VoxelCounts()
    counts.merge(SparseCounts(np.zeros((1, 3), np.int32), {n: np.ones(1, t) for n, (_, t) in FIELDS.items()}))
    with pytest.raises(BoxTooLargeError, match="2500000125 voxels, more than the limit of 4194304"):
        counts.add(np.array([[0], [0], [10**8]]), {}, None)
    assert counts.sparse().fields["reached"].tolist() == [1]


@pytest.mark.slow(every=5)
def test_damaged_zarr_stores_of_workspace_maps_are_refused(tmp_path):
    """Format 3, known codecs and sizes; no links out of the store; the same map as an untrusted file."""
    zstd = pytest.importorskip("numcodecs.zstd")
    robot = lw.load("double_pendulum")
    valid_path = tmp_path / "good.zarr"
    result = robot.workspace_map(robot.frames[-1], samples=300, path=valid_path, workers=1)
    budget = lw.formats.Budget(max_seconds=60.0)
    assert WorkspaceMap.load(valid_path) == WorkspaceMap.load(valid_path, trusted=False, budget=budget) == result
    text = (valid_path / "cells" / "zarr.json").read_text()
    chunk = (valid_path / "cells" / "c" / "0" / "0").read_bytes()
    changes = {
        "format": ("cells/zarr.json", text.replace('"zarr_format": 3', '"zarr_format": 2').encode()),
        "codecs": ("cells/zarr.json", text.replace('"zstd"', '"blosc"').encode()),
        "int32": ("cells/zarr.json", text.replace('"int32"', '"float64"').encode()),
        "rows, got 1$": ("cells/zarr.json", re.sub(r'("chunk_shape":\s*\[\s*)\d+', r"\g<1>1", text).encode()),
        "chunks of one shape": ("cells/zarr.json", text.replace('"regular"', '"rectilinear"').encode()),
        "a frame of 1000000 bytes": ("cells/c/0/0", bytes(zstd.Zstd().encode(b"\0" * 10**6))),
        "not a frame": ("cells/c/0/0", b"\0" * 100),
        "symbolic link": ("cells/c/0/0", None),
        "damaged": ("reached/c/0", b""),
    }
    (tmp_path / "outside").write_bytes(chunk)
    for message, (name, data) in changes.items():
        bad = tmp_path / "bad.zarr"
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(valid_path, bad)
        (bad / name).unlink()
        if data is None:
            (bad / name).symlink_to(tmp_path / "outside")
        elif data:
            (bad / name).write_bytes(data)
        with pytest.raises(ValueError, match=rf"bad.zarr: not a store that WorkspaceMap.save wrote: .*{message}"):
            WorkspaceMap.load(bad)


def test_maps_of_robots_with_mesh_files_are_refused_with_both_remedies() -> None:
    robot = lw.load("double_pendulum")
    meshes = robot.with_collisions("lower_rod", lw.shapes.Mesh("rod.stl"))
    scene = lw.Scene().with_sphere("ball", 0.1, (1.0, 0.0, 0.0))
    for options in ({"scene": scene}, {"collision": True, "scene": scene}):
        words = r"^workspace_map: robot .*with_collision_hulls.*; collision=False maps with"
        with pytest.raises(ValueError, match=words):
            meshes.workspace_map("tip", samples=10, voxel_size=0.1, **options)
    assert meshes.workspace_map("tip", samples=10, voxel_size=0.1, collision=False).reached.sum() == 10
