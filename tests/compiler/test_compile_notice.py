"""Compilations of more than a second are announced once and logged.  The test controls the clock."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import linkwork as lw
from linkwork._util import console


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Cell(io.StringIO):
    """Standard error as a notebook has it."""


Cell.__module__ = "ipykernel.iostream"


class Clock:
    """Time that passes by so much each time that it is looked at."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    """The logger with its own level as it was."""
    logger = logging.getLogger("linkwork")
    level = logger.level
    yield logger
    logger.setLevel(level)


def at(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, step: float) -> io.StringIO:
    """Begin a process that has announced nothing."""
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(console, "_clock", Clock(step))
    monkeypatch.setattr(console, "_announced", [])
    return stream


def compiled(name: str = "spring") -> None:
    lw.compile(lambda x: x + 2.0, name=name, x=3)([1.0, 2.0, 3.0])


def test_compile_notice_appears_after_one_second_and_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = at(monkeypatch, Terminal(), 0.25)
    notice = console.CompileNotice("spring", stored=False)
    assert [notice() for _ in range(6)] == [0.75, 0.5, 0.25, None, None, None]
    assert stream.getvalue() == (
        "linkwork: compiling spring to machine code takes more than a second (see docs/first_calls.md)\n"
    )
    assert console.CompileNotice("damper", stored=True)() is None and stream.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    ("kind", "step", "said"),
    [(Terminal, 5.0, True), (Cell, 5.0, True), (Terminal, 1e-6, False), (io.StringIO, 5.0, False)],
)
def test_long_compilation_is_announced_in_a_terminal(
    kind: type[io.StringIO],
    step: float,
    said: bool,
    monkeypatch: pytest.MonkeyPatch,
    cache_folder: Path,
) -> None:
    stream = at(monkeypatch, kind(), step)
    compiled()
    line = (
        "linkwork: compiling spring to machine code takes more than a second; the cache stores it for later processes "
    )
    assert stream.getvalue() == (f"{line}(see docs/first_calls.md)\n" if said else "")
    again = at(monkeypatch, kind(), step)
    compiled()  # from the cache
    assert again.getvalue() == ""


def test_every_long_compilation_is_logged_with_kernel_name_and_seconds(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, logger: logging.Logger
) -> None:
    """The line has the kernel's name and seconds, also without a terminal."""
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    with caplog.at_level(logging.INFO, logger="linkwork"):
        at(monkeypatch, io.StringIO(), 5.0)
        compiled("spring")
        compiled("damper")
        at(monkeypatch, io.StringIO(), 1e-6)
        compiled("mass")
    records = [(record.name, record.levelno, record.getMessage()) for record in caplog.records]
    texts = [text for name, level, text in records if (name, level) == ("linkwork", logging.INFO)]
    assert len(texts) == len(records) >= 2
    assert texts[0] == "compiled spring to machine code in 5.0 s"
    assert {text.split()[1] for text in texts} == {"spring", "damper"}


def test_log_level_of_linkworks_logger_turns_the_compile_notice_off(
    monkeypatch: pytest.MonkeyPatch, logger: logging.Logger
) -> None:
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    logger.setLevel(logging.WARNING)
    stream = at(monkeypatch, Terminal(), 5.0)
    compiled()
    assert stream.getvalue() == ""
    logger.setLevel(logging.NOTSET)
    compiled()
    assert stream.getvalue().startswith("linkwork: compiling spring")


def test_compile_notice_is_not_shown_together_with_a_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    for progress in (True, False):
        stream = at(monkeypatch, Terminal(), 5.0)
        lw.load("double_pendulum").precompile(["mass_matrix"], progress=progress)
        assert "more than a second" not in stream.getvalue()
        assert bool(stream.getvalue()) == progress
    stream = at(monkeypatch, Terminal(), 5.0)
    lw.load("double_pendulum").mass_matrix([0.0, 0.0])
    assert "linkwork: compiling mass_matrix to machine code takes more than a second" in stream.getvalue()
