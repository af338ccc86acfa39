"""Chunks of a map by worker processes of this machine.

Each worker is a Python process that imports linkwork and reads tasks from a pipe, so the program that calls needs no
``if __name__ == "__main__"``.  A worker that ends early is replaced, and its chunk is computed again.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import IO, Any

from linkwork import set_num_threads
from linkwork._util.thread_tasks import start_thread
from linkwork.workspace.block_evaluation import compute_chunk
from linkwork.workspace.map_job import CALLER
from linkwork.workspace.voxel_counts import SparseCounts

__all__ = ["Chunk", "main", "receive", "run_on_processes", "send"]

Chunk = tuple[int, int]
_MAX_ATTEMPTS = 3
_POLL = 1e-3  # [s] between two looks for threads that have ended
_START = "import sys; sys.path[:] = sys.argv[1:]; from linkwork.workspace.local_workers import main; main()"


def run_on_processes(job: bytes, chunks: Sequence[Chunk], workers: int) -> Iterator[tuple[Chunk, SparseCounts]]:
    """Compute chunks (ranges of blocks) on worker processes; yield each chunk with its counts when it is done.

    Raises RuntimeError if workers end early several times at the same chunk, and the errors of the computation.
    """
    pool = _Pool(job, chunks)
    try:
        are_started = [start_thread(pool.work) for _ in range(min(workers, len(chunks)))]
        if not any(are_started):
            raise RuntimeError(f"{CALLER}: the system refuses to start a thread")
        for _ in chunks:
            result = pool.results.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        pool.stop()
        pool.join()


class _Pool:
    """Remaining chunks, their results, and threads that compute chunks, each with its own process."""

    def __init__(self, job: bytes, chunks: Sequence[Chunk]) -> None:
        self.results: queue.SimpleQueue[tuple[Chunk, SparseCounts] | BaseException] = queue.SimpleQueue()
        self._job = job
        self._remaining = deque((chunk, 1) for chunk in chunks)
        self._processes: set[Any] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._threads: set[int] = set()

    def join(self) -> None:
        """Wait until no thread computes a chunk."""
        while self._threads:
            time.sleep(_POLL)

    def work(self) -> None:
        """Compute chunks in this thread, by a process of its own, until no chunk remains."""
        process = None
        self._threads.add(threading.get_ident())
        try:
            while not self._stopped:
                try:
                    chunk, attempt = self._remaining.popleft()
                except IndexError:
                    return
                try:
                    if process is None:
                        process = self._start()
                    send(process.stdin, chunk)
                    answer = receive(process.stdout)
                except (OSError, EOFError):  # the process ended
                    if process is not None:
                        code = self._end(process)
                        process = None
                        if attempt < _MAX_ATTEMPTS:
                            self._remaining.append((chunk, attempt + 1))
                            continue
                        raise RuntimeError(
                            f"{CALLER}: a worker process ended early {attempt} times, at last {_ending(code)}; the "
                            f"memory may be too small: pass fewer workers or a larger voxel_size"
                        ) from None
                    raise
                if isinstance(answer, BaseException):
                    raise answer
                self.results.put((chunk, answer))
        except BaseException as error:  # `run_on_processes` raises it in the calling thread
            self.results.put(error)
        finally:
            try:
                if process is not None:
                    self._end(process)
            finally:
                self._threads.discard(threading.get_ident())

    def stop(self) -> None:
        """End all processes."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                with contextlib.suppress(OSError):
                    process.kill()

    def _start(self) -> Any:
        import subprocess

        environment = {key: x for key, x in os.environ.items() if key not in ("PYTHONSTARTUP", "PYTHONINSPECT")}
        with self._lock:
            if self._stopped:
                raise EOFError
            process = subprocess.Popen(
                [sys.executable, "-c", _START, *map(os.path.abspath, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C in a terminal interrupts this process alone
                env=environment,
            )
            self._processes.add(process)
        assert process.stdin is not None
        send(process.stdin, self._job)
        return process

    def _end(self, process: Any) -> int:
        """Kill a process and return its exit code."""
        with self._lock:
            self._processes.discard(process)
        with contextlib.suppress(OSError):
            process.stdin.close()  # it ends when it has no more tasks
        with contextlib.suppress(OSError):
            process.kill()
        code: int = process.wait()
        process.stdout.close()
        return code


def _ending(code: int) -> str:
    """Return a text that describes how a process ended, from its exit code."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"by {signal.Signals(-code).name}"
    return f"with exit code {code}"


# -- messages: their length, then a pickle; both ends are linkwork's own processes

_LENGTH = struct.Struct("<Q")


def send(pipe: IO[bytes], message: Any) -> None:
    """Write a message to a pipe.  Raises OSError."""
    data = pickle.dumps(message, protocol=5)
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Read a message from a pipe.  Raises EOFError if the other process ended."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(head)
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def main() -> None:
    """Main function of a worker process: compute chunks until standard input ends."""
    requests = sys.stdin.buffer
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of other code must not get between the replies
    set_num_threads(1)
    with contextlib.suppress(EOFError, OSError):  # the other process ended
        job = receive(requests)
        while True:
            begin, end = receive(requests)
            send(replies, _answer(job, begin, end))


def _answer(job: bytes, begin: int, end: int) -> object:
    """Return the counts of a chunk, or the error that ended their computation."""
    try:
        return compute_chunk(job, begin, end)
    except (AttributeError, ImportError) as error:
        text = f"{CALLER}: a worker process cannot load the robot or the scene ({error})"
        return ValueError(f"{text}; define their classes in a module that it can import, or pass workers=1")
    except Exception as error:
        if isinstance(error, (ValueError, OverflowError, MemoryError)):
            return type(error)(str(error))
        return RuntimeError(f"{CALLER}: {type(error).__name__} in a worker process: {error}")
