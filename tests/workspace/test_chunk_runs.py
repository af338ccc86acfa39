"""Chunks of maps by workers and clusters that end early, on threads and a cluster in this process; files of chunks."""

import io
import json
import os
import threading
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest

from linkwork._util import own_code
from linkwork.workspace import block_evaluation, chunk_ledger, dask_cluster, local_workers, map_run
from linkwork.workspace.block_evaluation import BlockEvaluator, Measures
from linkwork.workspace.chunk_ledger import ChunkLedger, remove_ledger
from linkwork.workspace.voxel_counts import FIELDS, ReusedArrays, SparseCounts, VoxelCounts, sum_bits

CHUNKS = [(0, 3), (3, 4), (4, 9), (9, 11), (11, 12)]
JOB = b"a job"


def counts_of(job, begin, end):
    """Return counts of two voxels that differ for every chunk."""
    fields = {name: np.array([1, 0]).astype(dtype) for name, (_, dtype) in FIELDS.items()}
    fields["reached"] = np.array([end - begin, begin + 1])
    assert job == JOB
    return SparseCounts(np.array([[0, 0, 1], [0, 2, 0]], dtype=np.int32), fields)


class Worker:
    """A worker on a thread behind pipes, which ends without an answer at chunks in ``fatal``."""

    def __init__(self, fatal, code):
        self.code, self.ended = code, threading.Event()
        requests, self.stdin = (os.fdopen(x, mode) for x, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
        self.stdout, replies = (os.fdopen(x, mode) for x, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
        threading.Thread(target=self.work, args=(requests, replies, fatal), daemon=True).start()

    def work(self, requests, replies, fatal):
        with requests, replies:
            try:
                job = local_workers.receive(requests)
                while (chunk := local_workers.receive(requests)) not in fatal:
                    local_workers.send(replies, local_workers._answer(job, *chunk))
                fatal.remove(chunk)
            except (EOFError, OSError):
                pass
        self.ended.set()

    def kill(self):
        pass

    def wait(self):
        assert self.ended.wait(60.0)
        return self.code


@pytest.fixture
def workers(monkeypatch):
    """Chunks at which workers end, the exit code of these, and the workers that were started."""
    state = SimpleNamespace(fatal=[], code=-9, started=[])

    def start(pool):
        worker = Worker(state.fatal, state.code)
        state.started.append(worker)
        local_workers.send(worker.stdin, pool._job)
        return worker

    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(local_workers._Pool, "_start", start)
    monkeypatch.setattr(local_workers, "compute_chunk", counts_of)
    return state


def assert_all_once(results):
    assert sorted(chunk for chunk, _ in results) == CHUNKS
    for chunk, counts in results:
        expected = counts_of(JOB, *chunk)
        assert (counts.cells == expected.cells).all() and (counts.fields["reached"] == expected.fields["reached"]).all()


def test_chunks_of_workers_that_end_early_are_computed_by_other_workers(workers):
    assert_all_once([*local_workers.run_on_processes(JOB, CHUNKS, 2)])
    assert 1 <= len(workers.started) <= 2 and all(worker.ended.wait(60.0) for worker in workers.started)
    workers.started.clear()
    workers.fatal = [(3, 4), (3, 4), (11, 12)]
    assert_all_once([*local_workers.run_on_processes(JOB, CHUNKS, 2)])
    assert len(workers.started) >= 4 and not workers.fatal
    for code, words in ((-9, "(by SIGKILL|with exit code -9)"), (7, "with exit code 7"), (-777, "with exit code -777")):
        workers.fatal, workers.code = [(4, 9)] * 3, code
        with pytest.raises(RuntimeError, match=f"ended early 3 times, at last {words}; .*pass fewer workers"):
            [*local_workers.run_on_processes(JOB, CHUNKS, 2)]


def test_errors_of_chunks_in_workers_are_raised_with_a_remedy(workers, monkeypatch):
    for error, kind, words in (
        (ValueError("too large"), ValueError, "^too large$"),
        (OverflowError("too many"), OverflowError, "^too many$"),
        (KeyError("lost"), RuntimeError, "workspace_map: KeyError in a worker process: 'lost'"),
        (ImportError("no part"), ValueError, r"cannot load the robot or the scene \(no part\); .*pass workers=1"),
    ):

        def fail(job, begin, end, error=error):
            raise error

        monkeypatch.setattr(local_workers, "compute_chunk", fail)
        with pytest.raises(kind, match=words):
            [*local_workers.run_on_processes(JOB, CHUNKS, 2)]
    monkeypatch.setattr(local_workers, "start_thread", lambda function: False)
    with pytest.raises(RuntimeError, match="workspace_map: the system refuses to start a thread"):
        [*local_workers.run_on_processes(JOB, CHUNKS, 2)]


class KilledWorker(Exception):
    pass


class FakeClient:
    """A client of a cluster with one thread, which computes at once; ``events`` are errors of its next chunks."""

    def __init__(self, events=(), count=1):
        self.events, self.count, self.status, self.cancelled, self.submitted = [*events], count, "running", [], []

    def nthreads(self):
        return {"worker": self.count}

    def submit(self, function, job, begin, end, **options):
        self.submitted.append((begin, end))
        future = Future()
        error = self.events.pop(0) if self.events else None
        if error == "lost":
            future.status = "lost"
            future.set_result(None)
        elif error is None:
            future.status = "finished"
            future.set_result(function(job, begin, end))
        else:
            future.status = "error"
            future.set_exception(error)
        result, exception = future.result, future.exception
        future.result, future.exception = (lambda timeout: result()), (lambda timeout: exception())
        return future

    def as_current(self):
        return threading.Lock()

    def cancel(self, futures):
        self.cancelled.append(len(futures))


def cluster_of(client, *later):
    """Return a cluster with a client; ``later`` are those of the following connections, or errors."""
    cluster, following = object.__new__(dask_cluster.Cluster), [*later]

    def connect(address, **options):
        result = following.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    cluster._distributed = SimpleNamespace(
        wait=lambda *args, **options: None,
        CancelledError=type("CancelledError", (Exception,), {}),
        scheduler=SimpleNamespace(KilledWorker=KilledWorker),
        Client=connect,
    )
    cluster._lost, cluster._owned = (dask_cluster._LostError, TimeoutError), False
    cluster._address, cluster._security, cluster._client = "tcp://here:1", None, client
    return cluster


def test_clusters_compute_every_chunk_once_after_losing_workers_and_the_scheduler(monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(dask_cluster, "compute_chunk", counts_of)
    monkeypatch.setattr(dask_cluster, "_PAUSE", 0.0)
    client = FakeClient([None, KilledWorker(), KilledWorker()])
    assert_all_once([*cluster_of(client).run(JOB, CHUNKS)])
    assert len(client.submitted) == len(CHUNKS) + 2 and client.cancelled == [0]
    first, second = FakeClient([None, "lost"]), FakeClient()
    cluster = cluster_of(first, OSError("busy"), second)
    assert_all_once([*cluster.run(JOB, CHUNKS)])
    assert cluster._client is second and cluster._owned
    assert sorted(set(first.submitted) | set(second.submitted)) == CHUNKS
    for error, kind, words in (
        (KilledWorker("often"), RuntimeError, "workspace_map: KilledWorker on a worker of the cluster: often"),
        (ImportError("no linkwork"), ImportError, "cannot load the robot: no linkwork; install it there"),
        (ValueError("too large"), ValueError, "^too large$"),
        (KeyError("lost"), RuntimeError, "workspace_map: KeyError on a worker of the cluster"),
    ):
        client = FakeClient([error] * 20)
        with pytest.raises(kind, match=words):
            [*cluster_of(client).run(JOB, CHUNKS[:1])]
        assert len(client.submitted) == (dask_cluster._MAX_ATTEMPTS if isinstance(error, KilledWorker) else 1)
    monkeypatch.setattr(dask_cluster, "_RECONNECT", -1.0)
    with pytest.raises(ConnectionError, match="tcp://here:1 has no worker; start one by: dask worker tcp://here:1"):
        [*cluster_of(FakeClient(count=0)).run(JOB, CHUNKS)]
    with pytest.raises(ConnectionError, match="no Dask scheduler answers at 'tcp://here:1': busy"):
        [*cluster_of(FakeClient(["lost"]), OSError("busy")).run(JOB, CHUNKS)]


def job_of(**options):
    identity = {"version": 1, "robot": "arm", "fingerprint": "f", "frame": "hand", "samples": 12, **options}
    return SimpleNamespace(blocks=12, identity=lambda: identity)


def test_chunks_in_a_folder_are_read_again_and_merged_into_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(chunk_ledger, "_MAX_FILES", 5)
    folder = tmp_path / "map.npz.chunks"
    ledger = ChunkLedger(folder, job_of())
    for chunk in CHUNKS[:3]:
        ledger.write([chunk], counts_of(JOB, *chunk))
    again = ChunkLedger(folder, job_of())
    results = [*again.read()]
    assert [ranges for ranges, _ in results] == [[chunk] for chunk in CHUNKS[:3]]
    for ([chunk], counts), name in zip(results, ("reached", "limit_margin_max", "direction_bits"), strict=True):
        assert (counts.fields[name] == counts_of(JOB, *chunk).fields[name]).all()
    assert not again.has_many_files
    while not again.has_many_files:
        again.write([(11, 12)], counts_of(JOB, 11, 12))
    assert len([*folder.glob("chunk-*")]) == chunk_ledger._MAX_FILES + 1
    again.replace_all([(0, 9), (11, 12)], counts_of(JOB, 0, 9))
    assert not again.has_many_files and len([*folder.glob("chunk-*")]) == 1
    again.replace_all([(0, 9), (11, 12)], counts_of(JOB, 0, 9))  # the file that replaced others is replaced, too
    assert len([*folder.glob("chunk-*")]) == 1
    ((ranges, counts),) = ChunkLedger(folder, job_of()).read()
    assert ranges == [(0, 9), (11, 12)] and counts.fields["reached"].tolist() == [9, 1]
    remove_ledger(folder)
    remove_ledger(folder)  # it does not exist
    assert not folder.exists()


def test_refused_folders_and_files_of_chunks_are_named(tmp_path):
    folder = tmp_path / "map.npz.chunks"
    ChunkLedger(folder, job_of()).write([(0, 3)], counts_of(JOB, 0, 3))
    (chunk,) = folder.glob("chunk-*")
    for change, words in (
        ({"frame": "tip"}, "of frame 'hand', not 'tip'; pass the same arguments to continue it, or delete"),
        ({"fingerprint": "g"}, "of a robot, scene, limits or configuration with other values or code"),
        ({"later": None}, "with further options"),
    ):
        with pytest.raises(ValueError, match=f"path: .*map.npz.chunks' has the chunks of another map: {words}"):
            ChunkLedger(folder, job_of(**change))
    data = chunk.read_bytes()
    foreign = ChunkLedger(tmp_path / "other", job_of(frame="tip"))
    (foreign.folder / chunk.name).write_bytes(data)
    with pytest.raises(ValueError, match=r"path: .*chunk-00000000.*: a chunk of another map; delete the file"):
        [*foreign.read()]
    for ranges, words in (
        ([(3, 3)], r"expected pairs of ascending blocks, got \[3, 3\]"),
        ([(5, 13)], "ranges"),
        ([(-1, 2)], "ranges"),
    ):
        bad = ChunkLedger(tmp_path / f"bad {ranges}", job_of())
        bad.write(ranges, counts_of(JOB, 0, 3))
        with pytest.raises(ValueError, match=f"path: .*{words}"):
            [*bad.read()]
    bad = ChunkLedger(tmp_path / "unequal", job_of())
    bad.write([(0, 3), (4,)], counts_of(JOB, 0, 3))
    with pytest.raises(ValueError, match=r"expected pairs of ascending blocks, got \[0, 3, 4\]"):
        [*bad.read()]
    description = folder / "map.json"
    for text, words in (
        (json.dumps([1]), "expected a JSON object, got list"),
        ("{", "map.json: not a description of a map that workspace_map wrote"),
        (" " * ((1 << 20) + 1), "more bytes than the limit of 1048576"),
    ):
        description.write_text(text)
        with pytest.raises(ValueError, match=words):
            ChunkLedger(folder, job_of())
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "thesis.txt").write_text("text")
    with pytest.raises(ValueError, match=r"expected a folder of chunks, got .*strange' with other files"):
        ChunkLedger(strange, job_of())
    with pytest.raises(ValueError, match=r"contains 'thesis.txt', which is not a chunk of a map; move that file"):
        remove_ledger(strange)
    assert (strange / "thesis.txt").exists()


def measures(**change):
    fields = {"cell_x": [1.0, -2.0], "cell_y": [0.0, 3.0], "cell_z": [4.0, 4.0], "direction": [0.0, 63.0]}
    fields |= {
        "manipulability": [0.5, 0.75],
        "inverse_condition": [0.25, 0.5],
        "limit_margin": [0.1, 0.2],
        "scale": 1.0,
    }
    return Measures(**{name: np.array(x) for name, x in {**fields, **change}.items()})


def counted(job, m, free=None):
    counts = VoxelCounts()
    BlockEvaluator._add(SimpleNamespace(job=job), counts, ReusedArrays(), m, free)
    return counts.sparse()


def test_counts_of_samples_are_exact_and_refused_beyond_their_ranges():
    job = SimpleNamespace(samples=100, manipulability_unit=2.0**-20, voxel_size=0.1)
    result = counted(job, measures())
    assert result.cells.tolist() == [[-2, 3, 4], [1, 0, 4]]
    assert result.fields["manipulability_sum"].tolist() == [3 << 18, 1 << 19]
    assert result.fields["inverse_condition_sum"].tolist() == [1 << sum_bits(100) - 1, 1 << sum_bits(100) - 2]
    assert result.fields["direction_bits"].tolist() == [1 << 63, 1] and result.fields["limit_margin_max"][0] == 0.2
    assert counted(job, measures(), np.array([True, False])).fields["collision_free"].tolist() == [0, 1]
    most = job.manipulability_unit * 2.0 ** (sum_bits(100) + block_evaluation._HEADROOM_BITS)
    assert counted(job, measures(manipulability=[0.5, np.nextafter(most, 0.0)])).fields["reached"].sum() == 2
    with pytest.raises(OverflowError, match=r"workspace_map: a manipulability of .* is too large to be summed"):
        counted(job, measures(manipulability=[0.5, most]))
    far = float(block_evaluation._MAX_INDEX)
    for cells in ([1.0, 1.01 * far], [-1.01 * far, 1.0], [0.0, 1e7]):
        with pytest.raises(ValueError, match=r"voxel_size: expected at least some .* m, with which .*, got 0.1"):
            counted(job, measures(cell_x=cells, cell_y=cells))


def test_chunks_that_are_too_far_apart_together_are_refused_with_a_voxel_size():
    job, done = SimpleNamespace(voxel_size=0.1), np.zeros(12, dtype=bool)
    total, apart = VoxelCounts(), counts_of(JOB, 3, 4)
    map_run._count(job, total, done, [(0, 3)], counts_of(JOB, 0, 3))
    assert done.tolist() == [True] * 3 + [False] * 9
    with pytest.raises(ValueError, match=r"workspace_map: voxel_size: expected at least some .* m, .*, got 0.1"):
        map_run._count(job, total, done, [(3, 4)], SparseCounts(apart.cells + np.int32(1 << 20), apart.fields))
    assert not done[3:].any()


def test_clusters_with_a_scheduler_that_does_not_answer_are_lost():
    client = SimpleNamespace(status="running")
    dask_cluster.Cluster._check_connection(SimpleNamespace(_client=client))
    client.status = "closed"
    with pytest.raises(dask_cluster._LostError, match=r"^$"):
        dask_cluster.Cluster._check_connection(SimpleNamespace(_client=client))


def test_empty_counts_change_no_counts():
    empty = SparseCounts(np.zeros((0, 3), np.int32), {name: np.zeros(0, dtype) for name, (_, dtype) in FIELDS.items()})
    total = VoxelCounts()
    total.merge(empty)
    assert not len(total.sparse().cells)
    total.merge(counts_of(JOB, 0, 3))
    before = total.sparse()
    total.merge(empty)
    assert (total.sparse().cells == before.cells).all() and len(before.cells)


def test_messages_that_end_early_mean_that_the_process_ended():
    for message in ((3, 5), {"x": [1.5]}):
        pipe = io.BytesIO()
        local_workers.send(pipe, message)
        data = pipe.getvalue()
        assert local_workers.receive(io.BytesIO(data)) == message
        for cut in (0, 7, 8, len(data) - 1):
            with pytest.raises(EOFError, match=r"^$"):
                local_workers.receive(io.BytesIO(data[:cut]))


def test_jobs_that_cannot_be_sent_to_processes_are_refused_with_the_remedy(monkeypatch):
    with pytest.raises(ValueError, match=r"cannot be sent to other processes \(.*\); pass workers=1"):
        block_evaluation.packed(lambda: None)
    monkeypatch.setattr(own_code, "_replaced", {})
    evaluator = SimpleNamespace(counts=lambda begin, end: (begin, end))
    monkeypatch.setattr(block_evaluation, "BlockEvaluator", lambda job: evaluator if job == [1, 2] else None)
    assert block_evaluation.compute_chunk(block_evaluation.packed([1, 2]), 3, 5) == (3, 5)
