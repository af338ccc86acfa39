"""A program in a process of its own that reads a message, and is ended when it takes too long."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Ended", "run_program"]


class Ended(NamedTuple):
    """The end of a program: its exit code, output and errors."""

    code: int
    output: bytes
    errors: bytes


def run_program(command: Sequence[str], message: bytes, seconds: float) -> Ended | None:
    """Run a program that reads a message from standard input; return its end, None if it does not end in time."""
    import subprocess

    pipe, is_late = subprocess.PIPE, threading.Event()
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:

        def kill() -> None:
            is_late.set()
            process.kill()

        limit = threading.Timer(seconds, kill)  # on Windows, `communicate` has no limit of time while it writes
        limit.start()
        try:
            output, errors = process.communicate(message)
        except BaseException:  # such as KeyboardInterrupt: the end of the `with` waits for the program
            process.kill()
            raise
        finally:
            limit.cancel()
    return None if is_late.is_set() else Ended(process.returncode, output, errors)
