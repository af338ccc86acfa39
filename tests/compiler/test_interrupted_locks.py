"""Signal handlers that raise: locks are released, threads work, and the interrupt is raised.

`compiler.interruptions` has the places and the scenarios.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import linkwork
from compiler.interruptions import SCENARIOS, is_free, tried
from linkwork.kernels.kernel_cache import LazyCache

OFFSETS = 28  # of which a run draws some
STRIDES = {"entries": 301, "kernels": 3001}


@pytest.mark.costly
@pytest.mark.parametrize("name", SCENARIOS)
def test_interrupt_at_any_point_leaves_all_locks_free_and_no_thread_or_file_behind(name: str, drawn: Any) -> None:
    stride, count_of_positions = STRIDES.get(name, 31), 0
    for offset in drawn(range(OFFSETS)):
        count, wrong = tried(name, stride, offset * stride // OFFSETS)
        count_of_positions += count
        assert not wrong
    assert count_of_positions >= 4


def test_deleting_linkworks_objects_runs_no_python_code() -> None:
    """An exception that a signal handler raises there is printed and dropped."""
    root = Path(linkwork.__file__).parent
    calls = []
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "viewer" not in path.relative_to(root).parts and ("__del__" in text or "weakref" in text):
            calls += [f"{path.relative_to(root)}:{line}" for line in python_at_deletion(ast.parse(text))]
    assert not calls


def python_at_deletion(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that let Python code run when an object is deleted: methods, callbacks, and weak collections."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name="__del__") | ast.Constant(value="__del__"):
                yield node.lineno
            case ast.ImportFrom(module="weakref", names=names):
                if not {name.name for name in names} <= {"ref", "ReferenceType"}:
                    yield node.lineno
            case ast.Call(func=ast.Name(id="ref"), args=[_, callback]):
                if isinstance(callback, ast.Call) and callback.args:  # partial(table.pop, key)
                    callback = callback.args[0]
                if not isinstance(callback, ast.Attribute) or callback.attr not in ("append", "discard", "pop", "put"):
                    yield node.lineno


def test_check_for_python_code_at_deletion_detects_it() -> None:
    lines = [
        "import weakref",
        "from weakref import WeakSet",
        "ref(x, lambda r: None)",
        "ref(x, partial(forget, 1))",
        "class A:",
        "    def __del__(self): pass",
        "ref(x, table.discard)",
        "ref(x, partial(table.pop, 1))",
        "ref(x)",
    ]
    assert [*python_at_deletion(ast.parse("\n".join(lines)))] == [2, 3, 4, 6]


def test_lazy_cache_releases_the_key_of_a_failed_computation() -> None:
    once: LazyCache[int] = LazyCache()

    def fail() -> int:
        raise LookupError("cannot be made")

    for k in range(3):
        with pytest.raises(LookupError, match="cannot be made"):
            once.get(("key", k), fail)
    assert not len(once) and not len(once._key_locks) and is_free(once._lock)
    assert once.get(("key", 0), lambda: 5) == 5 and not len(once._key_locks)


FORKS = """
import os, sys, threading
import linkwork as lw
from linkwork._util import collection_pauses as collector
from linkwork.compiler.runtime import threads as llvm_lock
from compiler.interruptions import interrupted, is_free

def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

fork_only = 0
while interrupted(fork, fork_only) is not None:  # Python prints what hooks of a fork raise, and goes on
    assert all(is_free(lock) for lock in (llvm_lock.LLVM_LOCK, llvm_lock._entering))
    fork_only += 1

# a fork while other threads pause the collector and are in LLVM
paused, go_on = threading.Event(), threading.Event()

def pause():
    paused.set()
    go_on.wait()

other = threading.Thread(target=collector.without_collections(pause), daemon=True)
other.start()
paused.wait()
import gc
assert not gc.isenabled()
child = os.fork()
if child == 0:
    os._exit(0 if gc.isenabled() and not collector._pauses else 1)
code = os.waitpid(child, 0)[1]
assert not gc.isenabled()
go_on.set()
other.join()
print(fork_only >= 1, code, gc.isenabled())
"""


@pytest.mark.slow(every=5)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_processes_have_free_locks_and_a_running_garbage_collector() -> None:
    folder = os.path.dirname(os.path.dirname(__file__))
    ran = subprocess.run([sys.executable, "-c", FORKS], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.stdout == "True 0 True\n", ran.stderr
