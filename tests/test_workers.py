"""Parallel tasks: results in order, the first error, and a single thread if no other can be started."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from compiler.knobs import sizes
from linkwork._util import thread_tasks
from linkwork._util.thread_tasks import run


def refuse(monkeypatch: pytest.MonkeyPatch, after: int) -> list[int]:
    """Let threads start only so often in all.  Returns a list that grows with each that is refused."""
    start, started = thread_tasks.start_new_thread, [0]
    refused: list[int] = []

    def limited(*arguments: Any) -> None:
        started[0] += 1
        if started[0] > after:
            refused.append(1)
            raise RuntimeError("can't start new thread")
        start(*arguments)

    monkeypatch.setattr(thread_tasks, "start_new_thread", limited)
    return refused


@pytest.mark.parametrize("after", [0, 1, 100])
def test_results_of_parallel_tasks_are_in_order_for_any_count_of_threads(
    monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    refused, done, main_thread = refuse(monkeypatch, after), [], threading.get_ident()
    where = run([lambda k=k: (k, threading.get_ident()) for k in range(20)], done=lambda: done.append(1))
    assert [k for k, _ in where] == [*range(20)] and len(done) == 20
    assert {thread == main_thread for _, thread in where} == {after == 0}
    assert refused or after
    assert run([]) == []


@pytest.mark.parametrize("after", [0, 100])
def test_first_error_of_parallel_tasks_is_raised_and_pending_tasks_are_cancelled(
    monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    refuse(monkeypatch, after)
    begun: list[int] = []

    def task(k: int) -> None:
        begun.append(k)
        raise LookupError(str(k))

    with pytest.raises(LookupError, match=r"^\d+$"):
        run([lambda k=k: task(k) for k in range(1000)])
    assert len(begun) < 1000


def test_compilation_succeeds_if_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = refuse(monkeypatch, 0)

    def long(x: Any) -> Any:
        return [sum(x[(k + j) % 3] * (k + j) for j in range(5)) for k in range(60)]

    with sizes(whole=100, most=50):
        kernel = lw.compile(long, x=3)
        assert np.allclose(kernel(np.ones(3)), long(np.ones(3)))
        robot = lw.load("double_pendulum")
        robot.precompile(["mass_matrix", "gravity_force"], progress=False)
        assert robot.mass_matrix(np.zeros(2)).shape == (2, 2)
    assert len(refused) >= 4


@pytest.mark.parametrize("size", [1 << 18, 1 << 24])
def test_starting_worker_threads_leaves_the_stack_size_setting_unchanged(size: int) -> None:
    before = threading.stack_size(size)
    try:
        run([lambda: None] * 3)
    finally:
        assert threading.stack_size(before) == size  # what it was: to ask for it sets it
