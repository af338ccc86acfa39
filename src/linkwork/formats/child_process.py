"""Programs of this package that run in a process of their own: what they do to files of strangers stays there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["ChildProcessEnded", "run_child"]

_MOST_TEXT = 4000  # characters of the standard error


class ChildProcessEnded(Exception):
    """The process ended without an answer, or did not end in time; ``answers`` are the lines before."""

    def __init__(self, message: str, answers: list[Any]) -> None:
        super().__init__(message)
        self.answers = answers


def run_child(script: Path, request: Mapping[str, Any], seconds: float) -> list[Any]:
    """Return the answers of a script to a request: the JSON values in the lines of its standard output.

    The script reads the request from its standard input, with the modules' search path of this process as "path".
    Raises ChildProcessEnded after ``seconds`` [s], or if the script fails.
    """
    import subprocess

    text = json.dumps({**request, "path": [os.path.abspath(entry) for entry in sys.path]})
    command = [sys.executable, "-P", "-W", "ignore", str(script)]
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as late:
        message = f"it did not end within {seconds:g} s"
        raise ChildProcessEnded(message, _answers(late.stdout or b"")) from None
    answers = _answers(done.stdout)
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip()[-_MOST_TEXT:]
        raise ChildProcessEnded(f"it ended with code {done.returncode}: {lines}".strip(": "), answers)
    return answers


def _answers(output: bytes) -> list[Any]:
    """Return the values of complete lines."""
    result = []
    for line in output.split(b"\n")[:-1]:
        try:
            result.append(json.loads(line))
        except ValueError:
            break
    return result
