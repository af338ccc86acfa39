"""Chunks of a map by the workers of a Dask cluster.

If a worker is lost, Dask computes its chunks on other workers.  If the scheduler is lost, this client connects again
and submits the chunks that had no result.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from linkwork.workspace.block_evaluation import compute_chunk
from linkwork.workspace.local_workers import Chunk
from linkwork.workspace.map_job import CALLER
from linkwork.workspace.voxel_counts import SparseCounts

__all__ = ["Cluster"]

_CONNECT = 10.0  # [s] of one attempt to connect
_RECONNECT = 300.0  # [s] without a scheduler or a worker after which the computation ends with an error
_PAUSE = 1.0  # [s] between two attempts to connect, and between two looks at the connection
_CHUNKS_AHEAD = 2  # chunks submitted for each thread of the cluster
_MAX_ATTEMPTS = 3


class Cluster:
    """A connection to a Dask cluster: the address of its scheduler, or a ``distributed.Client``.

    Raises ImportError without Dask, ConnectionError if no scheduler answers, ValueError for a text that is not an
    address, and TypeError for other objects.
    """

    def __init__(self, scheduler: Any) -> None:
        self._owned = isinstance(scheduler, str)
        if self._owned:
            _check_address(scheduler)
        elif not _is_client(scheduler):
            raise TypeError(
                f"{CALLER}: scheduler: expected the address of a Dask scheduler or a distributed.Client, got "
                f"{scheduler!r}"
            )
        try:
            import distributed as package
            from distributed.comm.core import CommClosedError
        except ImportError:
            raise ImportError(f'{CALLER}: scheduler needs Dask: pip install "linkwork[dask]"') from None
        distributed: Any = package
        self._distributed = distributed
        self._lost = (_LostError, CommClosedError, TimeoutError)
        if self._owned:
            self._address, self._security = scheduler, None
            self._client = self._connected(0.0)
        else:
            if getattr(scheduler, "asynchronous", False):
                raise TypeError(f"{CALLER}: scheduler: expected a synchronous Client, got an asynchronous one")
            self._address, self._security = scheduler.scheduler.address, scheduler.security
            self._client = scheduler

    def threads(self) -> int:
        """Return the number of threads of all workers; waits for a worker.  Raises ConnectionError without one."""
        end = time.monotonic() + _RECONNECT
        while True:
            self._check_connection()
            count = sum(self._client.nthreads().values())
            if count:
                return int(count)
            if time.monotonic() > end:
                raise ConnectionError(
                    f"{CALLER}: scheduler: {self._address} has no worker; start one by: dask worker {self._address}"
                )
            time.sleep(_PAUSE)

    def run(self, job: bytes, chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, SparseCounts]]:
        """Compute chunks (ranges of blocks) on the cluster; yield each chunk with its counts when it is done.

        Raises the errors of the computation, and ConnectionError if the scheduler is lost for longer than 5 minutes.
        """
        remaining = deque((chunk, 1) for chunk in chunks)
        running: dict[Any, tuple[Chunk, int]] = {}
        try:
            while remaining or running:
                try:
                    self._submit(job, remaining, running)
                    yield from self._finished(remaining, running)
                except self._lost:
                    self._resume(remaining, running)
        finally:
            with contextlib.suppress(Exception):
                self._client.cancel([*running])

    def close(self) -> None:
        """Close the connection, unless the caller passed it."""
        if self._owned:
            with contextlib.suppress(Exception):
                self._client.close(timeout=2)

    def _submit(self, job: bytes, remaining: deque[tuple[Chunk, int]], running: dict[Any, tuple[Chunk, int]]) -> None:
        capacity = _CHUNKS_AHEAD * self.threads()
        while remaining and len(running) < capacity:
            chunk, attempt = remaining[0]
            future = self._client.submit(compute_chunk, job, *chunk, pure=False, retries=1)
            running[future] = chunk, attempt
            remaining.popleft()

    def _finished(
        self, remaining: deque[tuple[Chunk, int]], running: dict[Any, tuple[Chunk, int]]
    ) -> Iterator[tuple[Chunk, SparseCounts]]:
        """Wait until a chunk is done, then yield all chunks that are done."""
        with self._client.as_current(), contextlib.suppress(TimeoutError, self._distributed.CancelledError):
            self._distributed.wait([*running], timeout=_PAUSE, return_when="FIRST_COMPLETED")
        for future in [future for future in running if future.done()]:
            chunk, attempt = running[future]
            if future.status == "finished":
                try:
                    counts = future.result(timeout=_RECONNECT)
                except self._distributed.CancelledError:
                    raise _LostError from None
                del running[future]
                yield chunk, counts
            elif future.status in ("cancelled", "lost"):
                raise _LostError
            else:
                error = future.exception(timeout=_RECONNECT)
                del running[future]
                if not isinstance(error, self._distributed.scheduler.KilledWorker) or attempt >= _MAX_ATTEMPTS:
                    raise _explained(error)
                remaining.append((chunk, attempt + 1))
        self._check_connection()

    def _check_connection(self) -> None:
        """Raise _LostError if the scheduler does not answer."""
        if self._client.status != "running":
            raise _LostError

    def _resume(self, remaining: deque[tuple[Chunk, int]], running: dict[Any, tuple[Chunk, int]]) -> None:
        """Connect again after the scheduler was lost, and submit again the chunks that have no result."""
        remaining.extendleft(reversed([*running.values()]))
        running.clear()
        if self._owned:
            with contextlib.suppress(Exception):
                self._client.close(timeout=1)
        self._client = self._connected(_RECONNECT)
        self._owned = True

    def _connected(self, seconds: float) -> Any:
        """Connect a new client, with attempts during ``seconds``. Raises ConnectionError."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self._distributed.Client(
                    self._address, timeout=_CONNECT, set_as_default=False, security=self._security
                )
            except (OSError, ValueError, TimeoutError) as error:
                if time.monotonic() > end:
                    raise ConnectionError(
                        f"{CALLER}: scheduler: no Dask scheduler answers at {self._address!r}: {error}"
                    ) from None
            time.sleep(_PAUSE)


def _is_client(x: Any) -> bool:
    """Return True for a ``distributed.Client``; the package `distributed` is not imported by this test."""
    distributed: Any = sys.modules.get("distributed")
    return distributed is not None and isinstance(x, distributed.Client)


def _check_address(address: str) -> None:
    """Raise ValueError for an invalid address, because a client for it would never be closed."""
    from distributed.comm.addressing import get_address_host_port, parse_address

    try:
        if parse_address(address)[0] != "inproc":
            get_address_host_port(address)
    except ValueError as error:
        raise ValueError(
            f"{CALLER}: scheduler: expected an address such as 'tcp://10.0.0.5:8786', got {address!r}: {error}"
        ) from None


class _LostError(Exception):
    """The scheduler was lost."""


def _explained(error: BaseException) -> Exception:
    """Return a worker's error, with a remedy if linkwork is missing on the worker."""
    if isinstance(error, ImportError):
        return ImportError(f"{CALLER}: a worker of the cluster cannot load the robot: {error}; install it there")
    if isinstance(error, (ValueError, OverflowError)):
        return error
    return RuntimeError(f"{CALLER}: {type(error).__name__} on a worker of the cluster: {error}")
