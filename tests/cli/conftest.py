"""Fixtures that run the command line in this process, and in a separate one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from linkwork.cli.main import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def linkwork(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """The command in this process."""

    def run(*arguments: str) -> Ran:
        code = main(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """The command in a process of its own: bytes out, and environment variables in."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "linkwork", *arguments]
        return subprocess.run(command, capture_output=True, env={**os.environ, **environment}, check=False)

    return run


@pytest.fixture
def urdf(tmp_path: Path) -> Callable[[str], str]:
    """A file with a URDF's content; returns its path."""

    def write(content: str, name: str = "robot.urdf") -> str:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    return write
