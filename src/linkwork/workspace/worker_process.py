"""Main function of a worker process: reads a job and then chunks from standard input, writes counts to its output."""

from __future__ import annotations

import contextlib
import os
import sys

from linkwork import set_num_threads
from linkwork.workspace.block_evaluation import compute_chunk
from linkwork.workspace.local_workers import receive, send
from linkwork.workspace.map_job import CALLER

__all__ = ["main"]


def main() -> None:
    """Compute chunks until standard input ends."""
    requests = sys.stdin.buffer
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what other code prints does not get between the replies
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
