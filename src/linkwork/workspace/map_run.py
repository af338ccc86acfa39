"""Computation of a workspace map: divides its blocks into chunks, and sums their counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linkwork import wait_for_compiler
from linkwork._util.progress import Progress, Reporter
from linkwork._util.thread_tasks import available_processors
from linkwork._util.validation import integer
from linkwork.workspace.block_evaluation import BlockEvaluator, named_box, packed, with_unit
from linkwork.workspace.chunk_ledger import ChunkLedger, about_path, differing, remove_ledger
from linkwork.workspace.dask_cluster import Cluster
from linkwork.workspace.local_workers import Chunk, run_on_processes
from linkwork.workspace.map_files import map_path, read_map, remove_map, write_map
from linkwork.workspace.map_job import BLOCK, CALLER, MapJob
from linkwork.workspace.voxel_counts import MAX_SAMPLES, SparseCounts, VoxelCounts
from linkwork.workspace.workspace_map import WorkspaceMap

__all__ = ["run_map"]

_MOST_SECONDS = 5.0  # [s] of processor time of a chunk, at most this much is lost by a stop
_LEAST_SECONDS = 0.25  # [s] of a chunk, twenty times what it costs to send and to add its counts
_SHARE = 3  # each chunk is this share of the remaining work of a worker, so that all end at about the same time
_BLOCKS_PER_WORKER = 64  # below this many blocks a worker process is not worth its start
_LONG = 10.0  # [s] of computation for which it is worth waiting for the best code
_MAX_WORKERS = 1024
_MAX_WAIT = 120.0  # [s] for the compiler


def run_map(
    job: MapJob,
    *,
    workers: int | None,
    scheduler: Any,
    path: Any,
    overwrite: bool,
    chunk: int | None,
    progress: bool | Callable[[Progress], Any] | None,
) -> WorkspaceMap:
    """Return the map of a job, read from its file if complete, else computed from its remaining chunks."""
    count = None if workers is None else integer(CALLER, "workers", workers, least=1, most=_MAX_WORKERS)
    blocks = None if chunk is None else -(-integer(CALLER, "chunk", chunk, least=1, most=MAX_SAMPLES) // BLOCK)
    if scheduler is not None and workers is not None:
        raise ValueError(f"{CALLER}: workers: expected None with a scheduler, got {workers!r}")
    file = None if path is None else map_path(CALLER, path)
    with Reporter(CALLER, progress, "map: samples", job.samples) as report:
        job = with_unit(job)
        if file is not None and overwrite:
            with about_path():
                remove_map(file)
            remove_ledger(_chunk_folder(file))
        if file is not None and file.exists():
            return _complete(file, job)
        ledger = None if file is None else ChunkLedger(_chunk_folder(file), job)
        total, done = VoxelCounts(), np.zeros(job.blocks, dtype=bool)
        if ledger is not None:
            for ranges, counts in ledger.read():
                if not any(done[begin:end].any() for begin, end in ranges):
                    _count(job, total, done, ranges, counts)
                    report.advance(sum(job.samples_in(*r) for r in ranges))
        if not done.all():
            with _source(job, count, scheduler, blocks, int((~done).sum())) as (run, sizes):
                for interval, counts in run(_chunks(done, sizes)):
                    if ledger is not None:
                        ledger.write([interval], counts)
                    _count(job, total, done, [interval], counts)
                    report.advance(job.samples_in(*interval))
                    if ledger is not None and ledger.has_many_files:
                        ledger.replace_all(_ranges(done), total.sparse())
    identity, counts = job.identity(), total.sparse()
    if file is not None and ledger is not None:
        write_map(file, identity, counts)
        remove_ledger(ledger.folder)
    return WorkspaceMap._make(identity, counts)


def _chunk_folder(file: Path) -> Path:
    return file.with_name(f"{file.name}.chunks")


def _complete(file: Path, job: MapJob) -> WorkspaceMap:
    """Return the map in a file.  Raises ValueError if it is of another job."""
    with about_path():
        identity, counts = read_map(file)
    if identity != job.identity():
        raise ValueError(
            f"{CALLER}: path: {str(file)!r} is another map: {differing(identity, job.identity())}; pass another path, "
            f"or delete the file"
        )
    remove_ledger(_chunk_folder(file))  # of a process that was stopped after it had written the file
    return WorkspaceMap._make(identity, counts)


def _count(job: MapJob, total: VoxelCounts, done: np.ndarray, ranges: list[Chunk], counts: SparseCounts) -> None:
    """Add counts of blocks to ``total``, and mark the blocks in ``done``. Raises ValueError for too many voxels."""
    with named_box(job):
        total.merge(counts)
    for begin, end in ranges:
        done[begin:end] = True


def _ranges(done: np.ndarray) -> list[Chunk]:
    """Return the ranges of consecutive blocks that are done."""
    steps = np.flatnonzero(np.diff(np.concatenate([[False], done, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in steps.reshape(-1, 2)]


def _chunks(done: np.ndarray, sizes: Sizes) -> list[Chunk]:
    """Divide the remaining blocks into chunks of ``sizes``; a chunk that ends at a finished block is shorter."""
    result = []
    remaining = int((~done).sum())
    for begin, end in _ranges(~done):
        while begin < end:
            stop = min(begin + sizes(remaining), end)
            result.append((begin, stop))
            remaining -= stop - begin
            begin = stop
    return result


Run = Callable[[list[Chunk]], Iterator[tuple[Chunk, SparseCounts]]]
Sizes = Callable[[int], int]
"""Returns the number of blocks of the next chunk for the number of blocks that remain."""


@contextmanager
def _source(
    job: MapJob, workers: int | None, scheduler: Any, blocks: int | None, remaining: int
) -> Iterator[tuple[Run, Sizes]]:
    """Yield a function that computes chunks, and a function that returns their sizes."""
    cluster = None if scheduler is None else Cluster(scheduler)
    try:
        if cluster is not None:
            count = cluster.threads()
        elif workers is not None:
            count = workers
        else:
            count = max(1, min(available_processors(), remaining // _BLOCKS_PER_WORKER))
        evaluator = BlockEvaluator(job)
        seconds = _seconds_per_block(evaluator)
        if seconds * remaining / count > _LONG:
            wait_for_compiler(_MAX_WAIT)  # then the workers find the best code in the cache
        sizes = (lambda _: blocks) if blocks else partial(_chunk_size, seconds, count)
        if cluster is not None:
            data = packed(job)
            yield lambda chunks: cluster.run(data, chunks), sizes
        elif count > 1:
            data = packed(job)
            yield lambda chunks: run_on_processes(data, chunks, count), sizes
        else:
            yield lambda chunks: ((chunk, evaluator.counts(*chunk)) for chunk in chunks), sizes
    finally:
        if cluster is not None:
            cluster.close()


def _chunk_size(seconds: float, workers: int, remaining: int) -> int:
    """Return the number of blocks in the next chunk, from the processor time ``seconds`` of a block."""
    least, most = round(_LEAST_SECONDS / seconds), round(_MOST_SECONDS / seconds)
    size = max(-(-remaining // (_SHARE * workers)), least)
    return max(1, min(size, most, max(-(-remaining // workers), least // 4)))


def _seconds_per_block(evaluator: BlockEvaluator) -> float:
    """Return the processor time [s] of a block, without compilation."""

    def evaluate() -> None:
        q = evaluator.configurations(0)
        evaluator.measures(q)
        evaluator.collision_free(q)

    evaluate()
    begin = time.process_time()
    evaluate()
    return max(time.process_time() - begin, 1e-4)
