"""A compilation of more than a second says so on a terminal, once, and nowhere else.  The clock is the test's."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import linkwork as lw
from linkwork._util import console as _notice


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Time that passes by so much each time that it is looked at."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def at(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, step: float) -> io.StringIO:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(_notice, "_clock", Clock(step))
    return stream


def test_it_is_said_once_and_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = at(monkeypatch, Terminal(), 0.25)
    notice = _notice.Notice("it takes long")
    assert [notice() for _ in range(6)] == [0.75, 0.5, 0.25, None, None, None]
    assert stream.getvalue() == "it takes long\n"


def test_a_long_compilation_says_so_on_a_terminal(monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    line = "linkwork: compiling spring takes more than a second; the cache stores it for the next process\n"
    for kind, step, said in ((Terminal, 5.0, line), (Terminal, 1e-6, ""), (io.StringIO, 5.0, "")):
        for found in cache_folder.glob("*"):
            found.unlink()
        stream = at(monkeypatch, kind(), step)
        lw.compile(lambda x: x + 2.0, name="spring", x=3)([1.0, 2.0, 3.0])
        assert set(stream.getvalue().splitlines(keepends=True)) == ({said} if said else set())
    stream = at(monkeypatch, Terminal(), 5.0)
    lw.compile(lambda x: x + 2.0, name="spring", x=3)  # from the cache
    assert stream.getvalue() == ""
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    lw.compile(lambda x: x + 2.0, name="spring", x=3)([1.0, 2.0, 3.0])
    assert set(stream.getvalue().splitlines()) == {"linkwork: compiling spring takes more than a second"}


def test_nothing_is_said_beside_a_progress_bar_or_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    for progress in (True, False):
        stream = at(monkeypatch, Terminal(), 5.0)
        lw.load("double_pendulum").precompile(["mass_matrix"], progress=progress)
        assert "more than a second" not in stream.getvalue()
        assert bool(stream.getvalue()) == progress
    stream = at(monkeypatch, Terminal(), 5.0)
    lw.load("double_pendulum").mass_matrix([0.0, 0.0])
    assert "linkwork: compiling mass_matrix takes more than a second" in stream.getvalue()
