"""Calls on linkwork's own thread: their results and errors, deletions there, and forked processes."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from linkwork._util import thread_tasks
from linkwork._util.thread_tasks import deleted_on_own_thread, on_own_thread


def test_on_own_thread_runs_all_calls_of_the_main_thread_on_one_worker_thread() -> None:
    main_thread, call_threads = threading.get_ident(), {on_own_thread(threading.get_ident) for _ in range(5)}
    assert len(call_threads) == 1 and main_thread not in call_threads
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: on_own_thread(threading.get_ident) == threading.get_ident()).result()

    def fail() -> None:
        raise LookupError("key")

    with pytest.raises(LookupError, match="key"):
        on_own_thread(fail)


def test_on_own_thread_calls_directly_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_tasks, "_servers", [])
    monkeypatch.setattr(thread_tasks, "_requests", thread_tasks.SimpleQueue())
    monkeypatch.setattr("_thread.start_new_thread", lambda *arguments: 1)  # as gevent's
    assert on_own_thread(threading.get_ident) == threading.get_ident()


def test_objects_waiting_for_deletion_on_an_ended_worker_thread_are_deleted_by_other_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thread_tasks, "_servers", [])
    monkeypatch.setattr(thread_tasks, "_requests", thread_tasks.SimpleQueue())
    deleted: list[int] = []

    def work() -> None:
        for _ in range(10):
            owner = deleted_on_own_thread(Thing(deleted))
            del owner
            on_own_thread(lambda: None)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    assert len(deleted) == 10


def test_idle_worker_thread_ends_and_a_later_call_starts_a_new_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_tasks, "_IDLE", 0.01)
    monkeypatch.setattr(thread_tasks, "_servers", [])
    monkeypatch.setattr(thread_tasks, "_requests", thread_tasks.SimpleQueue())
    for _ in range(3):
        assert on_own_thread(lambda: 5) == 5
        while thread_tasks._servers:
            time.sleep(1e-3)


class Thing:
    def __init__(self, deleted: list[int]) -> None:
        self.deleted = deleted

    def __del__(self) -> None:
        self.deleted.append(threading.get_ident())


def test_objects_of_the_worker_thread_are_deleted_on_that_thread() -> None:
    deleted: list[int] = []
    owner = deleted_on_own_thread(Thing(deleted))
    own_thread_id = on_own_thread(threading.get_ident)
    assert not deleted
    del owner
    on_own_thread(lambda: None)
    assert deleted == [own_thread_id]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_process_starts_a_new_worker_thread() -> None:
    on_own_thread(lambda: None)
    child = os.fork()
    if child == 0:
        os._exit(7 if on_own_thread(threading.get_ident) != threading.get_ident() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
