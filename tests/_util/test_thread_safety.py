"""Caches that threads share: bounded, safe, and one class for all."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork._util.thread_safety import BoundedCache

SOURCE = Path(lw.__file__).parent
# modules whose containers are no caches by keys of callers, or have a lock of their own
SUBCLASSES = {
    "_util/collection_pauses.py": "an entry of each call, which removes it",
    "_util/console.py": "an entry of each task, which removes it",
    "_util/own_code.py": "under a lock",
    "_util/thread_tasks.py": "threads that run, each of which removes itself",
    "_util/reader_process.py": "under a lock",
    "compiler/cache/function_content.py": "digests of living objects, removed with them",
    "compiler/cache/key_lock.py": "cleared in a forked process",
    "compiler/codegen/object_loader.py": "pages of code in use, each removed when it is released",
    "compiler/pickling/kernel_pickle.py": "under a lock",
    "compiler/runtime/threads.py": "an entry of each call, which removes it",
    "compiler/trace/user_state.py": "facts of living objects, removed with them",
    "expr/scalar/operations.py": "operations of users, removed by the user",
}


def in_threads(work: Callable[[int], None], count: int = 8) -> None:
    """Run work in threads that take turns after every few instructions; raise the first error."""
    errors: list[BaseException] = []

    def guarded(k: int) -> None:
        try:
            work(k)
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    for error in errors:
        raise error


def test_full_bounded_cache_drops_its_oldest_entries() -> None:
    cache: BoundedCache[str, int] = BoundedCache(10, size=lambda value: value)
    assert cache.get("a") is None and cache.keep("a", 4) == 4 and cache.keep("b", 6) == 6
    assert (cache.get("a"), cache.get("b"), len(cache)) == (4, 6, 2)
    assert cache.keep("c", 5) == 5 and (cache.get("a"), cache.get("b"), cache.get("c")) == (None, None, 5)
    assert cache.keep("d", 99) == 99 and len(cache) == 1 and cache.get("d") == 99
    assert cache.keep("d", 3) == 3 and cache.keep("e", 7) == 7 and len(cache) == 2
    assert cache.keep("d", 9) == 9 and (cache.get("d"), cache.get("e"), len(cache)) == (9, None, 1)  # now the newest


def test_bounded_cache_can_be_filled_and_read_by_several_threads() -> None:
    cache: BoundedCache[tuple[int, int], int] = BoundedCache(16)

    def work(k: int) -> None:
        for n in range(400):
            assert cache.keep((k, n % 40), n) == n
            assert (cache.get((k, n % 40)) or n) % 40 == n % 40

    in_threads(work)
    assert len(cache) == 16


@pytest.mark.slow(every=5)
def test_several_threads_can_measure_distances_to_different_scenes() -> None:
    robot = lw.load("arm6")
    q, table = robot.neutral(), lw.Scene().with_box("table", (1.0, 1.0, 0.1), (0.5, 0.0, -0.4))
    robot.distances(q, table.with_sphere("ball", 0.1, (1.0, 0.0, 1.0)))  # the kernel
    results: dict[tuple[int, int], float] = {}

    def work(k: int) -> None:
        for n in range(100):
            scene = table.with_sphere(f"ball {k} {n}", 0.1, (1.0 + 0.01 * n, 0.1 * k, 1.0))
            results[k, n] = float(np.min(robot.distances(q, scene).distance))

    in_threads(work)
    assert len(results) == 800
    for (k, n), distance in list(results.items())[::97]:
        scene = table.with_sphere("ball", 0.1, (1.0 + 0.01 * n, 0.1 * k, 1.0))
        assert distance == float(np.min(lw.load("arm6").distances(q, scene).distance))


def test_all_caches_shared_between_threads_are_instances_of_bounded_cache() -> None:
    results = {path.relative_to(SOURCE).as_posix(): dropped(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    assert {name for name, tables in results.items() if tables} <= SUBCLASSES.keys(), "use BoundedCache or LazyCache"


def dropped(source: str) -> set[str]:
    """Return the names of a module's containers of which functions remove entries."""
    tables = set(re.findall(r"^(\w+)(?:: [^=]+)? = ", source, re.MULTILINE))
    removed = re.findall(r"(?<![.\w])(\w+)\.(?:clear|pop|popitem|discard|remove)\(|\bdel (\w+)\[", source)
    return tables & {name for pair in removed for name in pair}
